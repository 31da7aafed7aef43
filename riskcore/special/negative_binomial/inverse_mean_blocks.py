"""Blocks of cells for ``inverse_mean``: a loop for each region, which vectorises.

The cells of each region are picked out, evaluated by the steps of ``inverse_mean``, one
step for all cells and then the next, and put back. A value has the bits of the kernel
of one cell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riskcore.compiled.jit import kernel
from riskcore.compiled.ufunc_maker import clear_flags
from riskcore.special.elementary import log_high_low
from riskcore.special.floats import BLOCK, integer_stack, stack, two_sum
from riskcore.special.gauss.blocks import code_stack, filled_up, gather, pick, scatter
from riskcore.special.negative_binomial.inverse_mean import (
    FORWARD_4,
    FORWARD_31,
    GAUSS_41,
    NOERLUND_52,
    ONE,
    OTHER,
    REGIONS,
    base,
    gauss_end,
    gauss_step,
    gauss_tail,
    less_power,
    levels_of,
    noerlund_step,
    noerlund_tail,
    of_one,
    of_parts,
    of_two,
    pairs_of,
    region,
    upwards,
)

_WORD = 64


@kernel
def _powers(f: Any, s: Any, p: Any, T: Any, T_low: Any, n: int) -> None:
    """Fill T = (1 - p^a)/a of the n cells."""
    high, low = stack(), stack()
    for i in range(n):
        high[i], low[i] = log_high_low(p[i], 0.0)
    for i in range(n):
        a, a_low = two_sum(s[i], -f[i])
        T[i], T_low[i] = less_power(a, a_low, high[i], low[i])


@kernel
def _fill_forward(w: int, f: Any, s: Any, p: Any, out: Any, n: int) -> None:
    A, B = stack(), stack()
    _powers(f, s, p, A, B, n)
    if w == ONE:
        for i in range(n):
            r, r_low = of_one(p[i], A[i], B[i])
            out[i] = r + r_low
        return
    for i in range(n):
        a, a_low = two_sum(s[i], -f[i])
        A[i], B[i] = of_two(a, a_low, p[i], A[i], B[i])
    for g in range(2, 4 if w == FORWARD_4 else 31):
        for i in range(n):
            A[i], B[i] = upwards(float(g), f[i], s[i] - f[i], p[i], A[i], B[i])
    for i in range(n):
        b, b_low = base(f[i], s[i], p[i])
        r, r_low = of_parts(p[i], b, b_low, p[i], A[i], B[i])
        out[i] = r + r_low


@kernel
def _fill_gauss(w: int, f: Any, s: Any, p: Any, out: Any, n: int) -> None:
    x, y = stack(), stack()
    pairs = pairs_of(w)
    for i in range(n):
        x[i], y[i] = gauss_tail(f[i], s[i] - f[i], 1.0 - p[i], float(pairs))
    for m in range(pairs, 1, -1):
        for i in range(n):
            x[i], y[i] = gauss_step(
                f[i], s[i], s[i] - f[i], 1.0 - p[i], float(m), x[i], y[i]
            )
    for i in range(n):
        q = 1.0 - p[i]
        above, below = gauss_end(f[i], s[i], q, x[i], y[i])
        b, b_low = base(f[i], s[i], p[i])
        h = (1.0 - (s[i] - f[i])) * q
        r, r_low = of_parts(p[i], b, b_low, h, above, below)
        out[i] = r + r_low


@kernel
def _fill_noerlund(w: int, f: Any, s: Any, p: Any, out: Any, n: int) -> None:
    x, y, b, b_low, first = stack(), stack(), stack(), stack(), stack()
    levels = levels_of(w)
    for i in range(n):
        q = 1.0 - p[i]
        b[i], b_low[i] = base(f[i], s[i], p[i])
        first[i] = (1.0 - (s[i] - f[i])) * (p[i] * q)
        x[i], y[i] = noerlund_tail(b[i], p[i] - q, float(levels)), 1.0
    for k in range(levels - 1, 0, -1):
        for i in range(n):
            q = 1.0 - p[i]
            x[i], y[i] = noerlund_step(
                b[i], p[i], p[i] - q, p[i] * q, first[i], float(k), x[i], y[i]
            )
    for i in range(n):
        r, r_low = of_parts(p[i], b[i], b_low[i], first[i], y[i], x[i])
        out[i] = r + r_low


def loop_of(
    scalar: Callable[[float, float, float], float],
    inside: Callable[[float, float, float], bool],
) -> Callable[..., None]:
    """Make NumPy's loop of E[1/(f + X)] from the kernel of one cell and its domain.

    ``scalar`` serves the cells that no loop is for, and those outside the domain.
    """

    @kernel
    def code(f: float, s: float, p: float) -> int:
        a, _ = two_sum(s, -f)
        b, _ = base(f, s, p)
        plain = inside(f, s, p) & (a != 0.0) & (a != 1.0) & (p < 1.0)
        return region(f, a, p, b) if plain else OTHER

    @kernel
    def block(f: Any, s: Any, p: Any, out: Any, n: int) -> None:
        codes, picked = code_stack(), integer_stack()
        f_picked, s_picked, p_picked = stack(), stack(), stack()
        out_picked = stack()
        words = (n + _WORD - 1) // _WORD
        for i in range(n):
            codes[i] = code(f[i], s[i], p[i])
        for i in range(n, words * _WORD):
            codes[i] = REGIONS
        for w in range(REGIONS):
            m = pick(codes, words, w, picked)
            if m > 0:
                full = filled_up(picked, m) if w < OTHER else m
                gather(f, s, p, picked, f_picked, s_picked, p_picked, full)
                if w <= FORWARD_31:
                    _fill_forward(w, f_picked, s_picked, p_picked, out_picked, full)
                elif w <= GAUSS_41:
                    _fill_gauss(w, f_picked, s_picked, p_picked, out_picked, full)
                elif w <= NOERLUND_52:
                    _fill_noerlund(w, f_picked, s_picked, p_picked, out_picked, full)
                else:
                    for i in range(full):
                        out_picked[i] = scalar(f_picked[i], s_picked[i], p_picked[i])
                scatter(out_picked, picked, out, full)

    def loop(args: Any, sizes: Any, steps: Any, _: Any) -> None:
        f, s, p, out = stack(), stack(), stack(), stack()
        first = 0
        while first < sizes[0]:
            n = min(BLOCK, sizes[0] - first)
            for i in range(n):
                f[i] = args[0][(first + i) * (steps[0] >> 3)]
                s[i] = args[1][(first + i) * (steps[1] >> 3)]
                p[i] = args[2][(first + i) * (steps[2] >> 3)]
            if n == 1:
                out[0] = scalar(f[0], s[0], p[0])
            else:
                block(f, s, p, out, n)
            for i in range(n):
                args[3][(first + i) * (steps[3] >> 3)] = out[i]
            first += n
        clear_flags()

    return loop
