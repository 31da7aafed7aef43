"""Blocks of cells for probabilities and tails: loops that vectorise.

Cells of small integers f and those whose probability has no branch are picked out and
evaluated one step for all cells and then the next. A value has the bits of the kernel
of one cell, which serves the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.elementary import exp_parts
from riskcore.core.special.floats import integer_stack, stack
from riskcore.core.special.gauss.blocks import code_stack, filled_up, pick
from riskcore.core.special.negative_binomial.loops import loop_of_three
from riskcore.core.special.negative_binomial.probability import (
    is_plain,
    plain_exponent,
    probability_weight,
)
from riskcore.core.special.negative_binomial.tails import (
    NOTHING,
    half_line_step,
    half_line_width,
    is_long,
    is_short,
    long_end,
    long_start,
    short_end,
    short_start,
    short_step,
)
from riskcore.core.special.quadrature import HALF_LINE_NODES

_WORD = 64
_STEPS = 4  # of a sum between two looks at its terms

Failures = Callable[[float, float], tuple[float, float]]


@kernel
def exponents(f: Any, j: Any, j_low: Any, p: Any, high: Any, low: Any, n: int) -> None:
    """Fill the exponents of the probabilities of n plain cells."""
    for i in range(n):
        high[i], low[i] = plain_exponent(f[i], j[i], j_low[i], p[i])


@kernel
def _weights(f: Any, j: Any, j_low: Any, p: Any, weight: Any, low: Any, n: int) -> None:
    """Fill k P(F = k), k = f + j, of n plain cells; ``low`` is room."""
    exponents(f, j, j_low, p, weight, low, n)
    for i in range(n):
        e, e_low = exp_parts(weight[i], low[i])
        weight[i] = probability_weight(f[i], j[i], e, e_low)


@kernel
def _going_on(term: Any, total: Any, n: int) -> bool:
    """Return whether a sum of n cells has terms that count."""
    count = 0
    for i in range(n):
        count += term[i] > NOTHING * total[i]
    return count > 0


@kernel
def short_tails(
    f: Any, j: Any, j_low: Any, p: Any, lower: Any, upper: Any, weight: Any, n: int
) -> None:
    """Fill P(F <= f + j), P(F > f + j) and k P(F = k), k = f + j, of n cells.

    For plain cells with integers f <= ``SHORT``.
    """
    a, top, bottom, odds = stack(), stack(), stack(), stack()
    _weights(f, j, j_low, p, weight, a, n)
    term, total, rest, moment = stack(), stack(), stack(), stack()
    for i in range(n):
        top[i], bottom[i], odds[i], a[i] = short_start(f[i], j[i], j_low[i], p[i])
        term[i], total[i], rest[i], moment[i] = 1.0, 1.0, 0.0, 0.0
    k = 0
    while _going_on(term, total, n):
        for m in range(k, k + _STEPS):
            x = float(m)
            for i in range(n):
                term[i], total[i], rest[i], moment[i] = short_step(
                    x, top[i], bottom[i], odds[i],
                    term[i], total[i], rest[i], moment[i],
                )  # fmt: skip
        k += _STEPS
    for i in range(n):
        lower[i], upper[i] = short_end(
            f[i], j[i], p[i], a[i], odds[i], weight[i], total[i], rest[i], moment[i]
        )


@kernel
def long_tails(
    f: Any, j: Any, j_low: Any, p: Any, lower: Any, upper: Any, weight: Any, n: int
) -> None:
    """Fill what ``short_tails`` does, for plain cells with f > ``SHORT``."""
    a, b, y, slope, excess = stack(), stack(), stack(), stack(), stack()
    width, total, low = stack(), stack(), stack()
    _weights(f, j, j_low, p, weight, low, n)
    for i in range(n):
        a[i], b[i], y[i], slope[i], excess[i] = long_start(f[i], j[i], j_low[i], p[i])
        width[i] = half_line_width(a[i], b[i], y[i], slope[i])
        total[i], low[i] = 0.0, 0.0
    for m in range(HALF_LINE_NODES):
        for i in range(n):
            total[i], low[i] = half_line_step(
                m, a[i], b[i], y[i], slope[i], width[i], total[i], low[i]
            )
    for i in range(n):
        integral = width[i] * (total[i] + low[i])
        lower[i], upper[i] = long_end(excess[i], y[i], weight[i], integral)


def loop_of_law(
    scalar: Callable[[float, float, float], float],
    failures: Failures,
    finish: Callable[[float, float, float, float, float], float],
) -> Callable[..., None]:
    """Make NumPy's loop of a probability of F.

    Parameters
    ----------
    scalar : kernel
        (F, f, p) -> value.
    failures : kernel
        (F, f) -> F - f as a pair where that is simple, else a negative number.
    finish : kernel
        (f, j, j_low, exponent, exponent_low) -> value, for a cell with j > 0.
    """

    @kernel
    def block(F: Any, f: Any, p: Any, out: Any, n: int) -> None:
        if n == 1:
            out[0] = scalar(F[0], f[0], p[0])
            return
        codes, picked = code_stack(), integer_stack()
        j, j_low = stack(), stack()
        words = (n + _WORD - 1) // _WORD
        for i in range(n):
            j[i], j_low[i] = failures(F[i], f[i])
        for i in range(n):
            codes[i] = (j[i] > 0.0) & is_plain(f[i], p[i])
        for i in range(n, words * _WORD):
            codes[i] = 2
        m = pick(codes, words, 0, picked)
        for at in range(m):
            i = picked[at]
            out[i] = scalar(F[i], f[i], p[i])
        m = pick(codes, words, 1, picked)
        if m == 0:
            return
        full = filled_up(picked, m)
        w, x, y, z = stack(), stack(), stack(), stack()
        for at in range(full):
            i = picked[at]
            w[at], x[at], y[at], z[at] = f[i], j[i], j_low[i], p[i]
        high, low = stack(), stack()
        exponents(w, x, y, z, high, low, full)
        for at in range(full):
            z[at] = finish(w[at], x[at], y[at], high[at], low[at])
        for at in range(full):
            out[picked[at]] = z[at]

    return loop_of_three(block)


def loop_of_tail(
    scalar: Callable[[float, float, float], float], failures: Failures, above: bool
) -> Callable[..., None]:
    """Make NumPy's loop of a tail of F.

    Parameters
    ----------
    scalar : kernel
        (F, f, p) -> value.
    failures : kernel
        (F, f) -> the largest j with f + j <= F as a pair where that is simple, else a
        negative number.
    above : bool
        Whether the tail is P(> F | f).
    """

    @kernel
    def block(F: Any, f: Any, p: Any, out: Any, n: int) -> None:
        if n == 1:
            out[0] = scalar(F[0], f[0], p[0])
            return
        codes, picked = code_stack(), integer_stack()
        j, j_low = stack(), stack()
        words = (n + _WORD - 1) // _WORD
        for i in range(n):
            j[i], j_low[i] = failures(F[i], f[i])
        for i in range(n):
            kind = 1 if is_short(f[i], p[i]) else (2 if is_long(f[i], p[i]) else 0)
            codes[i] = kind if j[i] > 0.0 else 0
        for i in range(n, words * _WORD):
            codes[i] = 3
        m = pick(codes, words, 0, picked)
        for at in range(m):
            i = picked[at]
            out[i] = scalar(F[i], f[i], p[i])
        w, x, y, z = stack(), stack(), stack(), stack()
        lower, upper, weight = stack(), stack(), stack()
        for kind in range(1, 3):
            m = pick(codes, words, kind, picked)
            full = filled_up(picked, m)
            for at in range(full):
                i = picked[at]
                w[at], x[at], y[at], z[at] = f[i], j[i], j_low[i], p[i]
            if (m > 0) & (kind == 1):
                short_tails(w, x, y, z, lower, upper, weight, full)
            elif m > 0:
                long_tails(w, x, y, z, lower, upper, weight, full)
            for at in range(full):
                out[picked[at]] = upper[at] if above else lower[at]

    return loop_of_three(block)
