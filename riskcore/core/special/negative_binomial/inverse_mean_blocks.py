"""Blocks of cells for ``inverse_mean``: a loop for each region, which vectorizes.

The cells of each region are picked out, evaluated by the steps of ``inverse_mean``, one
step for all cells and then the next, and put back. Values have the bits of the kernel
of one cell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.elementary import log_high_low
from riskcore.core.special.floats import integer_stack, stack, two_sum
from riskcore.core.special.gauss.blocks import (
    code_stack,
    filled_up,
    gather,
    padded,
    pick,
    scatter,
)
from riskcore.core.special.loops import loop_of_blocks
from riskcore.core.special.negative_binomial.inverse_mean import (
    F_SMALL,
    FORWARD_31,
    FORWARD_PAIRS,
    GAUSS_23,
    GAUSS_41,
    NOERLUND_52,
    NOERLUND_60,
    ONE,
    OTHER,
    REFLECTED,
    REGIONS,
    levels_of,
    pairs_of,
    poisson_region,
    region,
)
from riskcore.core.special.negative_binomial.inverse_mean_fractions import (
    GAUSS_PAIRS,
    LOG_GAMMA,
    NOERLUND_EXACT,
    NOERLUND_LEVELS,
    gammas_end,
    gammas_step,
    gauss_pair_end,
    gauss_start,
    inverse_of,
    noerlund_pair_step,
    noerlund_parts,
    of_ratio,
    places,
    reflect,
    rise,
    series_end,
    series_step,
    to_next,
)
from riskcore.core.special.negative_binomial.inverse_mean_parts import (
    PAIR_STEPS,
    base,
    cut,
    gauss_end,
    gauss_step,
    gauss_tail,
    less_power,
    noerlund_step,
    noerlund_tail,
    of_one,
    of_pairs,
    of_parts,
    of_two,
    pair_upwards,
    poisson_of_one,
    upwards,
)


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
    A_low, B_low = stack(), stack()
    for i in range(n):
        a, a_low = two_sum(s[i], -f[i])
        A[i], A_low[i], B[i], B_low[i] = of_two(a, a_low, p[i], A[i], B[i])
    if w == FORWARD_PAIRS:
        for g in range(2, int(F_SMALL)):
            for i in range(n):
                a, a_low = two_sum(s[i], -f[i])
                A[i], A_low[i], B[i], B_low[i] = pair_upwards(
                    float(g), f[i], a, a_low, p[i], (A[i], A_low[i], B[i], B_low[i])
                )
        for i in range(n):
            b, b_low = base(f[i], s[i], p[i])
            ratio = (A[i], A_low[i], B[i], B_low[i])
            r, r_low = of_pairs(p[i], b, b_low, p[i], ratio)
            out[i] = r + r_low
        return
    for g in range(2, 31):
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
def _largest(x: Any, n: int) -> float:
    """Return the largest of n numbers."""
    largest: float = x[0]
    for i in range(n):
        largest = max(largest, x[i])
    return largest


@kernel
def _rise(
    shape: Any,
    a: Any,
    a_low: Any,
    p: Any,
    steps: Any,
    N: Any,
    N_low: Any,
    M: Any,
    M_low: Any,
    n: int,
) -> None:
    """Take N and M of the n cells upwards in the shape."""
    for k in range(int(_largest(steps, n))):
        for i in range(n):
            N[i], N_low[i], M[i], M_low[i] = rise(
                float(k),
                steps[i],
                shape[i],
                a[i],
                a_low[i],
                p[i],
                (N[i], N_low[i], M[i], M_low[i]),
            )


@kernel
def _fill_reflected(f: Any, s: Any, p: Any, out: Any, n: int) -> None:
    u, e, whole, steps = stack(), stack(), stack(), stack()
    N, N_low, M, M_low = stack(), stack(), stack(), stack()
    high, low, last = stack(), stack(), stack()
    for i in range(n):
        u[i], e[i], whole[i], steps[i] = places(f[i], s[i])
        N[i], N_low[i], M[i], M_low[i] = 0.0, 0.0, 0.0, 0.0
    for k in range(len(LOG_GAMMA) - 1, -1, -1):
        for i in range(n):
            N[i], N_low[i], M[i] = gammas_step(k, u[i], -e[i], N[i], N_low[i], M[i])
    for i in range(n):
        N[i], N_low[i] = gammas_end(u[i], -e[i], N[i], N_low[i], M[i])
        high[i], low[i] = log_high_low(p[i], 0.0)
        last[i] = series_end(high[i] + low[i])
        M[i], M_low[i] = 0.0, 1.0
    for j in range(int(_largest(last, n)), 2, -1):
        g = float(j)
        for i in range(n):
            M[i], M_low[i] = series_step(g, last[i], u[i], e[i], p[i], M[i], M_low[i])
    for i in range(n):
        N[i], N_low[i] = reflect(
            u[i], e[i], p[i], high[i], low[i], N[i], N_low[i], M[i], M_low[i]
        )
        M[i], M_low[i] = 1.0, 0.0
    shape, a, a_low = stack(), stack(), stack()
    for i in range(n):
        shape[i] = 1.0 + e[i]
        a[i], a_low[i] = two_sum(e[i], -u[i])
    _rise(shape, a, a_low, p, steps, N, N_low, M, M_low, n)
    for i in range(n):
        r, r_low = of_ratio(p[i], (N[i], N_low[i], M[i], M_low[i]))
        out[i] = r + r_low
    most = int(_largest(whole, n))
    if most > 0:
        for i in range(n):
            N[i], N_low[i], M[i], M_low[i] = to_next(
                u[i], shape[i] + steps[i], p[i], (N[i], N_low[i], M[i], M_low[i])
            )
            a[i], a_low[i] = two_sum(s[i], -f[i])
        for k in range(2, min(PAIR_STEPS, 1 + most)):
            g = float(k)
            for i in range(n):
                N[i], N_low[i], M[i], M_low[i] = pair_upwards(
                    u[i] + g,
                    f[i],
                    a[i],
                    a_low[i],
                    p[i],
                    (N[i], N_low[i], M[i], M_low[i]),
                )
        for i in range(n):
            N[i], N_low[i], M[i], M_low[i] = cut(
                whole[i], (N[i], N_low[i], M[i], M_low[i])
            )
        for k in range(PAIR_STEPS, 1 + most):
            g = float(k)
            for i in range(n):
                N[i], M[i] = upwards(u[i] + g, f[i], a[i], p[i], N[i], M[i])
        for i in range(n):
            b, b_low = base(f[i], s[i], p[i])
            ratio = (N[i], N_low[i], M[i], M_low[i])
            r, r_low = of_pairs(p[i], b, b_low, p[i], ratio)
            out[i] = r + r_low if whole[i] > 0.0 else out[i]


@kernel
def _fill_gauss_pairs(f: Any, s: Any, p: Any, out: Any, n: int) -> None:
    shape, a, a_low, steps = stack(), stack(), stack(), stack()
    N, N_low, M, M_low = stack(), stack(), stack(), stack()
    for i in range(n):
        steps[i], shape[i], a[i], a_low[i] = gauss_start(f[i], s[i])
        N[i], M[i] = gauss_tail(f[i], a[i], 1.0 - p[i], float(GAUSS_PAIRS))
    for m in range(GAUSS_PAIRS, 2, -1):
        k = float(m)
        for i in range(n):
            N[i], M[i] = gauss_step(f[i], shape[i], a[i], 1.0 - p[i], k, N[i], M[i])
    for i in range(n):
        N[i], N_low[i], M[i], M_low[i] = gauss_pair_end(
            f[i], shape[i], a[i], a_low[i], 1.0 - p[i], N[i], M[i]
        )
    _rise(shape, a, a_low, p, steps, N, N_low, M, M_low, n)
    for i in range(n):
        r, r_low = of_ratio(p[i], (N[i], N_low[i], M[i], M_low[i]))
        out[i] = r + r_low


@kernel
def _noerlund_levels(
    b: Any, p: Any, first: Any, x: Any, y: Any, levels: int, last: int, n: int
) -> None:
    """Fill V(last) = x/y of the n cells."""
    for i in range(n):
        x[i], y[i] = noerlund_tail(b[i], p[i] - (1.0 - p[i]), float(levels)), 1.0
    for j in range(levels - 1, last - 1, -1):
        k = float(j)
        for i in range(n):
            q = 1.0 - p[i]
            x[i], y[i] = noerlund_step(
                b[i], p[i], p[i] - q, p[i] * q, first[i], k, x[i], y[i]
            )


@kernel
def _fill_noerlund(w: int, f: Any, s: Any, p: Any, out: Any, n: int) -> None:
    x, y, b, b_low, first = stack(), stack(), stack(), stack(), stack()
    for i in range(n):
        b[i], b_low[i] = base(f[i], s[i], p[i])
        first[i] = (1.0 - (s[i] - f[i])) * (p[i] * (1.0 - p[i]))
    _noerlund_levels(b, p, first, x, y, levels_of(w), 1, n)
    for i in range(n):
        r, r_low = of_parts(p[i], b[i], b_low[i], first[i], y[i], x[i])
        out[i] = r + r_low


@kernel
def _noerlund_ends(
    b: Any,
    b_low: Any,
    p: Any,
    square_low: Any,
    first: Any,
    first_low: Any,
    x: Any,
    y: Any,
    out: Any,
    n: int,
) -> None:
    """Fill p/D of the n cells from V(5) = x/y."""
    x_low, y_low = stack(), stack()
    for i in range(n):
        x_low[i], y_low[i] = 0.0, 0.0
    for j in range(NOERLUND_EXACT - 1, -1, -1):
        k = float(j)
        for i in range(n):
            q = 1.0 - p[i]
            x[i], x_low[i], y[i], y_low[i] = noerlund_pair_step(
                b[i],
                b_low[i],
                p[i] - q,
                p[i] * q,
                square_low[i],
                first[i],
                first_low[i],
                k,
                (x[i], x_low[i], y[i], y_low[i]),
            )
    for i in range(n):
        r, r_low = inverse_of(p[i], (x[i], x_low[i], y[i], y_low[i]))
        out[i] = r + r_low


@kernel
def _fill_noerlund_pairs(f: Any, s: Any, p: Any, out: Any, n: int) -> None:
    x, y, b, b_low = stack(), stack(), stack(), stack()
    square_low, first, first_low = stack(), stack(), stack()
    for i in range(n):
        b[i], b_low[i] = base(f[i], s[i], p[i])
        _, square_low[i], first[i], first_low[i] = noerlund_parts(f[i], s[i], p[i])
    _noerlund_levels(b, p, first, x, y, NOERLUND_LEVELS, NOERLUND_EXACT, n)
    _noerlund_ends(b, b_low, p, square_low, first, first_low, x, y, out, n)


@kernel
def _fill(w: int, f: Any, s: Any, p: Any, out: Any, n: int) -> None:
    """Fill the n cells of a region that is not OTHER."""
    if w <= FORWARD_31:
        _fill_forward(w, f, s, p, out, n)
    elif w <= GAUSS_41:
        _fill_gauss(w, f, s, p, out, n)
    elif w <= NOERLUND_52:
        _fill_noerlund(w, f, s, p, out, n)
    elif w == REFLECTED:
        _fill_reflected(f, s, p, out, n)
    elif w == GAUSS_23:
        _fill_gauss_pairs(f, s, p, out, n)
    else:
        _fill_noerlund_pairs(f, s, p, out, n)


@kernel
def _fill_poisson(w: int, f: Any, mu: Any, p: Any, out: Any, n: int) -> None:
    """Fill the n cells of a region of the Poisson law that is not OTHER."""
    if w == ONE:
        for i in range(n):
            r, r_low = poisson_of_one(mu[i])
            out[i] = r + r_low
        return
    x, y, b, b_low, first = stack(), stack(), stack(), stack(), stack()
    for i in range(n):
        b[i], b_low[i] = two_sum(f[i], mu[i])
        first[i] = -mu[i]
    if w == NOERLUND_60:
        zero = stack()
        for i in range(n):
            zero[i] = 0.0
        _noerlund_levels(b, p, first, x, y, NOERLUND_LEVELS, NOERLUND_EXACT, n)
        _noerlund_ends(b, b_low, p, zero, first, zero, x, y, out, n)
    else:
        _noerlund_levels(b, p, first, x, y, levels_of(w), 1, n)
        for i in range(n):
            r, r_low = of_parts(1.0, b[i], b_low[i], first[i], y[i], x[i])
            out[i] = r + r_low


def _blockwise(
    code: Callable[[float, float, float], int],
    fill: Callable[[int, Any, Any, Any, Any, int], None],
    scalar: Callable[[float, float, float], float],
) -> Callable[[Any, Any, Any, Any, int], None]:
    """Make the kernel of a block: a loop for each region, ``scalar`` for OTHER."""

    @kernel
    def block(f: Any, s: Any, p: Any, out: Any, n: int) -> None:
        if n == 1:
            out[0] = scalar(f[0], s[0], p[0])
            return
        codes, picked = code_stack(), integer_stack()
        f_picked, s_picked, p_picked = stack(), stack(), stack()
        out_picked = stack()
        for i in range(n):
            codes[i] = code(f[i], s[i], p[i])
        words = padded(codes, n)
        for w in range(REGIONS):
            m = pick(codes, words, w, picked)
            if m > 0:
                full = filled_up(picked, m) if w < OTHER else m
                gather(f, s, p, picked, f_picked, s_picked, p_picked, full)
                if w < OTHER:
                    fill(w, f_picked, s_picked, p_picked, out_picked, full)
                else:
                    for i in range(full):
                        out_picked[i] = scalar(f_picked[i], s_picked[i], p_picked[i])
                scatter(out_picked, picked, out, full)

    return block


def loop_of(
    scalar: Callable[[float, float, float], float],
    inside: Callable[[float, float, float], bool],
) -> Callable[..., None]:
    """Make NumPy's loop of E[1/(f + X)] from the kernel of one cell and its domain.

    ``scalar`` serves the cells without a loop, and those outside the domain.
    """

    @kernel
    def code(f: float, s: float, p: float) -> int:
        a = s - f
        regular = inside(f, s, p) & (a != 0.0) & (a != 1.0) & (p < 1.0)
        return region(f, s, p) if regular else OTHER

    return loop_of_blocks(_blockwise(code, _fill, scalar), 3)


def poisson_loop_of(
    scalar: Callable[[float, float], float], inside: Callable[[float, float], bool]
) -> Callable[..., None]:
    """Make NumPy's loop of the Poisson law from one cell's kernel and its domain."""

    @kernel
    def code(f: float, mu: float, p: float) -> int:
        return poisson_region(f, mu) if inside(f, mu) & (mu > 0.0) else OTHER

    @kernel
    def one(f: float, mu: float, p: float) -> float:
        return scalar(f, mu)

    block = _blockwise(code, _fill_poisson, one)

    @kernel
    def with_p(f: Any, mu: Any, p: Any, out: Any, n: int) -> None:
        for i in range(n):
            p[i] = 1.0
        block(f, mu, p, out, n)

    return loop_of_blocks(with_p, 2)
