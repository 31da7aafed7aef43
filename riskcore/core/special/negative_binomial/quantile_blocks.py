"""Quantiles for blocks of cells: one search for all, in loops that vectorize.

Every turn evaluates a tail of the cells still searching, in the steps of ``quantile``
for one cell, which gives the same bits and serves the other cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.floats import integer_stack, stack
from riskcore.core.special.gauss.blocks import (
    code_stack,
    filled_up,
    list_of,
    padded,
    pick,
)
from riskcore.core.special.loops import loop_of_blocks
from riskcore.core.special.negative_binomial.law_blocks import (
    long_tails,
    short_tails,
)
from riskcore.core.special.negative_binomial.quantile import (
    decided,
    is_close,
    narrowed,
    start,
)
from riskcore.core.special.negative_binomial.tails import is_long, is_short, tails

_TURNS = 400
_F_EXACT = 2.0**50  # a mean of F from which the search is left to single cells


@kernel
def _tails(
    short: bool,
    f: Any,
    at: Any,
    zero: Any,
    p: Any,
    lower: Any,
    upper: Any,
    weight: Any,
    n: int,
) -> None:
    """Fill both tails and k P(F = k) at f + at >= f of n cells, short or long."""
    if short:
        short_tails(f, at, zero, p, lower, upper, weight, n)
    else:
        long_tails(f, at, zero, p, lower, upper, weight, n)
    for i in range(n):
        if at[i] == 0.0:
            lower[i], upper[i], weight[i] = tails(f[i], 0.0, 0.0, p[i])


@kernel
def _quantiles(
    short: bool, f: Any, p: Any, above: Any, level: Any, strict: bool, out: Any, n: int
) -> None:
    """Fill the quantiles of n cells, short or long."""
    codes, picked, cells = code_stack(), integer_stack(), integer_stack()
    low, high, at = stack(), stack(), stack()
    x, y, u, v = stack(), stack(), stack(), stack()
    a, b, c, zero = stack(), stack(), stack(), stack()
    lower, upper, weight = stack(), stack(), stack()
    tail, other, sign = stack(), stack(), stack()
    for i in range(n):
        at[i] = start(f[i], p[i], above[i] > 0.0, level[i])
    for i in range(n):
        low[i], high[i], zero[i], cells[i] = -1.0, math.inf, 0.0, i
    left, turn = n, 0
    while (left > 0) & (turn < _TURNS):
        full = filled_up(cells, left)
        for m in range(full):
            i = cells[m]
            x[m], y[m], u[m], v[m] = f[i], p[i], above[i], level[i]
            a[m], b[m], c[m] = low[i], high[i], at[i]
        _tails(short, x, c, zero, y, lower, upper, weight, full)
        for m in range(full):
            up = u[m] > 0.0
            tail[m] = upper[m] if up else lower[m]
            other[m] = lower[m] if up else upper[m]
            sign[m] = tail[m] - v[m]
        for m in range(full):
            if is_close(sign[m], v[m]):
                exact = decided(x[m], c[m], y[m], u[m] > 0.0, v[m])
                sign[m] = sign[m] if math.isnan(exact) else exact
        for m in range(full):
            at_point = (tail[m], other[m], weight[m])
            bracket = (a[m], b[m], c[m])
            a[m], b[m], c[m], done = narrowed(
                x[m], y[m], u[m] > 0.0, v[m], strict, sign[m], at_point, bracket, turn
            )
            x[m] = 1.0 if done else 0.0
        for m in range(left):
            i = cells[m]
            low[i], high[i], at[i] = a[m], b[m], c[m]
            out[i] = b[m]
            codes[m] = x[m] > 0.0
        left = list_of(codes, left, 0, picked)
        for m in range(left):
            picked[m] = cells[picked[m]]
        for m in range(left):
            cells[m] = picked[m]
        turn += 1
    for m in range(left):
        out[cells[m]] = math.nan


def loop_of_quantile(
    scalar: Callable[[float, float, float], float],
    outside: Callable[[float, float, float], bool],
    finish: Callable[[float, float], float],
    reflected: bool,
) -> Callable[..., None]:
    """Make NumPy's loop of a quantile.

    ``scalar`` is the kernel of one cell, ``outside`` says whether (level, f, p) are
    outside the domain, and ``finish`` takes f and j of the quantile f + j of F to the
    value. If ``reflected``, it is a quantile of 1/F: F has the level 1 - level, and
    ties go upwards.
    """

    @kernel
    def block(level: Any, f: Any, p: Any, out: Any, n: int) -> None:
        if n == 1:
            out[0] = scalar(level[0], f[0], p[0])
            return
        codes, picked = code_stack(), integer_stack()
        for i in range(n):
            kind = 1 if is_short(f[i], p[i]) else (2 if is_long(f[i], p[i]) else 0)
            inside = (not outside(level[i], f[i], p[i])) & (f[i] / p[i] < _F_EXACT)
            codes[i] = kind if inside else 0
        words = padded(codes, n)
        m = pick(codes, words, 0, picked)
        for at in range(m):
            i = picked[at]
            out[i] = scalar(level[i], f[i], p[i])
        x, y, z, above, j = stack(), stack(), stack(), stack(), stack()
        for kind in range(1, 3):
            m = pick(codes, words, kind, picked)
            if m > 0:
                full = filled_up(picked, m)
                for at in range(full):
                    i = picked[at]
                    x[at], y[at] = f[i], p[i]
                    above[at] = 1.0 if (level[i] > 0.5) != reflected else 0.0
                    z[at] = level[i] if level[i] <= 0.5 else 1.0 - level[i]
                _quantiles(kind == 1, x, y, above, z, reflected, j, full)
                for at in range(full):
                    out[picked[at]] = finish(x[at], j[at])

    return loop_of_blocks(block, 3)
