"""Tails for blocks of cells, in loops that vectorize.

Cells with small integers f, and those with a branchless probability, are evaluated one
step for all cells, then the next. Values have the bits of the kernel of one cell, which
serves the other cells.
"""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.elementary import exp_parts
from riskcore.core.special.floats import stack
from riskcore.core.special.negative_binomial.probability import (
    branchless_exponent,
    probability_weight,
)
from riskcore.core.special.negative_binomial.tails import (
    NEGLIGIBLE,
    half_line_step,
    half_line_width,
    long_end,
    long_start,
    short_end,
    short_start,
    short_step,
)
from riskcore.core.special.quadrature import HALF_LINE_NODES

_STEPS = 4  # terms of a sum between two checks


@kernel
def exponents(f: Any, j: Any, j_low: Any, p: Any, high: Any, low: Any, n: int) -> None:
    """Fill the exponents of the probabilities of n branchless cells."""
    for i in range(n):
        high[i], low[i] = branchless_exponent(f[i], j[i], j_low[i], p[i])


@kernel
def _weights(f: Any, j: Any, j_low: Any, p: Any, weight: Any, low: Any, n: int) -> None:
    """Fill k P(F = k), k = f + j, of n branchless cells; ``low`` is work space."""
    exponents(f, j, j_low, p, weight, low, n)
    for i in range(n):
        e, e_low = exp_parts(weight[i], low[i])
        weight[i] = probability_weight(f[i], j[i], e, e_low)


@kernel
def _going_on(term: Any, total: Any, n: int) -> bool:
    """Return whether a sum of n cells has terms that still count."""
    count = 0
    for i in range(n):
        count += term[i] > NEGLIGIBLE * total[i]
    return count > 0


@kernel
def short_tails(
    f: Any, j: Any, j_low: Any, p: Any, lower: Any, upper: Any, weight: Any, n: int
) -> None:
    """Fill P(F <= f + j), P(F > f + j) and k P(F = k), k = f + j, of n cells.

    For branchless cells with integers f <= ``SHORT``.
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
                    x,
                    top[i],
                    bottom[i],
                    odds[i],
                    term[i],
                    total[i],
                    rest[i],
                    moment[i],
                )
        k += _STEPS
    for i in range(n):
        lower[i], upper[i] = short_end(
            f[i], j[i], p[i], a[i], odds[i], weight[i], total[i], rest[i], moment[i]
        )


@kernel
def long_tails(
    f: Any, j: Any, j_low: Any, p: Any, lower: Any, upper: Any, weight: Any, n: int
) -> None:
    """Fill the results of ``short_tails`` for branchless cells with f > ``SHORT``."""
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
