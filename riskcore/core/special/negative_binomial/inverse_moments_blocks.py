"""Blocks of cells for ``inverse_moments``: a loop for each region, which vectorizes.

As in ``inverse_mean_blocks``: the cells of each region run one step of
``inverse_moments`` for all cells and then the next, with the bits of one cell's kernel.
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
    gather,
    padded,
    pick,
    scatter,
)
from riskcore.core.special.loops import loop_of_blocks
from riskcore.core.special.negative_binomial.inverse_moments import (
    GAUSS,
    GAUSS_LEVELS,
    GAUSS_PAIRS,
    NOERLUND,
    NOERLUND_LEVELS,
    OUTSIDE,
    REFLECTED,
    REGIONS,
    SERIES_PAIRS,
    SERIES_TERMS,
    first,
    gauss_end,
    gauss_pair_step,
    gauss_start,
    gauss_step,
    noerlund_end,
    noerlund_start,
    noerlund_step,
    odds_of,
    place,
    power,
    reflected_end,
    region,
    series_pair_step,
    series_step,
    upwards,
)


@kernel
def _fill_noerlund(
    f: Any, p: Any, r: Any, var: Any, b: Any, spread: Any, n: int
) -> None:
    V, slope = stack(), stack()
    for i in range(n):
        V[i], slope[i] = noerlund_start(f[i], p[i])
    for j in range(NOERLUND_LEVELS - 1, 1, -1):
        k = float(j)
        for i in range(n):
            V[i], slope[i] = noerlund_step(k, f[i], p[i], V[i], slope[i])
    for i in range(n):
        r[i], var[i], b[i], spread[i] = noerlund_end(f[i], p[i], V[i], slope[i])


@kernel
def _fill_gauss(f: Any, p: Any, r: Any, var: Any, b: Any, spread: Any, n: int) -> None:
    S, S_low, slope, slope_low = stack(), stack(), stack(), stack()
    for i in range(n):
        S[i], slope[i] = gauss_start(f[i], p[i])
        S_low[i], slope_low[i] = 0.0, 0.0
    for k in range(GAUSS_LEVELS, GAUSS_PAIRS, -1):
        for i in range(n):
            S[i], slope[i] = gauss_step(k, f[i], p[i], S[i], slope[i])
    for k in range(GAUSS_PAIRS, 2, -1):
        for i in range(n):
            S[i], S_low[i], slope[i], slope_low[i] = gauss_pair_step(
                k, f[i], p[i], (S[i], S_low[i], slope[i], slope_low[i])
            )
    for i in range(n):
        r[i], var[i], b[i], spread[i] = gauss_end(
            f[i], p[i], (S[i], S_low[i], slope[i], slope_low[i])
        )


@kernel
def _fill_reflected(
    f: Any, p: Any, r: Any, var: Any, b: Any, spread: Any, n: int
) -> None:
    d, steps, z, z_low = stack(), stack(), stack(), stack()
    tau, tau_low, omega, omega_low = stack(), stack(), stack(), stack()
    most = 0.0
    for i in range(n):
        d[i], steps[i] = place(f[i])
        z[i], z_low[i] = odds_of(p[i])
        tau[i], tau_low[i], omega[i], omega_low[i] = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        most = max(most, steps[i])
    for j in range(SERIES_TERMS, SERIES_PAIRS, -1):
        m = float(j)
        for i in range(n):
            tau[i], omega[i] = series_step(m, d[i], z[i], tau[i], omega[i])
    for j in range(SERIES_PAIRS, 0, -1):
        m = float(j)
        for i in range(n):
            tau[i], tau_low[i], omega[i], omega_low[i] = series_pair_step(
                m, d[i], z[i], z_low[i], (tau[i], tau_low[i], omega[i], omega_low[i])
            )
    X, X_low, Y, Y_low = stack(), stack(), stack(), stack()
    for i in range(n):
        X[i], X_low[i], Y[i], Y_low[i] = power(d[i], p[i])
    V, V_low = stack(), stack()
    for i in range(n):
        Y[i], Y_low[i], V[i], V_low[i] = first(
            d[i],
            p[i],
            z[i],
            z_low[i],
            (X[i], X_low[i], Y[i], Y_low[i]),
            (tau[i], tau_low[i], omega[i], omega_low[i]),
        )
    for j in range(1, int(most) + 1):
        k = float(j)
        for i in range(n):
            Y[i], Y_low[i], V[i], V_low[i] = upwards(
                k, d[i], steps[i], z[i], z_low[i], (Y[i], Y_low[i], V[i], V_low[i])
            )
    for i in range(n):
        r[i], var[i], b[i], spread[i] = reflected_end(
            d[i],
            steps[i],
            z[i],
            z_low[i],
            X[i],
            X_low[i],
            tau[i],
            tau_low[i],
            (Y[i], Y_low[i], V[i], V_low[i]),
        )


def loop_of(
    scalar: Callable[[float, float], float],
    finish: Callable[[float, float, float, float], float],
    inside: Callable[[float, float], bool],
) -> Callable[..., None]:
    """Make NumPy's loop of a quantity of the moments of 1/F.

    ``scalar`` is its kernel of one cell; ``finish`` takes r, variance, b and I to the
    value, with E[1/F] = r and Var(1/F) = b^2 I; outside the domain ``inside`` it is
    nan.
    """

    @kernel
    def block(f: Any, p: Any, _: Any, out: Any, n: int) -> None:
        if n == 1:
            out[0] = scalar(f[0], p[0])
            return
        codes, picked = code_stack(), integer_stack()
        x, y = stack(), stack()
        r, var, b, spread = stack(), stack(), stack(), stack()
        for i in range(n):
            codes[i] = region(f[i], p[i]) if inside(f[i], p[i]) else OUTSIDE
        words = padded(codes, n)
        for w in range(REGIONS):
            m = pick(codes, words, w, picked)
            if m > 0:
                full = filled_up(picked, m)
                gather(f, p, p, picked, x, y, b, full)
                if w == NOERLUND:
                    _fill_noerlund(x, y, r, var, b, spread, full)
                elif w == GAUSS:
                    _fill_gauss(x, y, r, var, b, spread, full)
                elif w == REFLECTED:
                    _fill_reflected(x, y, r, var, b, spread, full)
                for i in range(full):
                    value = finish(r[i], var[i], b[i], spread[i])
                    x[i] = math.nan if w == OUTSIDE else value
                scatter(x, picked, out, full)

    return loop_of_blocks(block, 2)
