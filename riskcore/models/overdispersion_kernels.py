"""Kernels of the zero-truncated negative binomial law, summed over cells.

A cell has f > 0 records, mean m and shape t = a e. With x = m/t the logarithm of its
probability, without log f!, is

    log (t)_f/t^f + f (log m - log(1+x)) - t log(1+x) - log(1 - (1+x)^-t).

Cells of more than ``MANY`` records lack the first term here.
"""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.elementary import (
    atanh_series,
    exp_parts,
    log,
    log1p_positive,
)
from riskcore.core.special.floats import BLOCK, stack, two_sum

MANY = 64.0
_NEAR = 0.41  # the series of 2 atanh s covers s = x/(2+x) up to here
_LARGE = 2.0**400


@kernel
def _seen(t: float, rate: float) -> float:
    """Return 1 - exp(-t rate), for t rate near 0 as well."""
    value, correction = exp_parts(-t * rate, 0.0)
    return (1.0 - value) - correction


@kernel
def _bend(x: float, rate: float) -> float:
    """Return log(1+x) - x/(1+x) from log(1+x); near 0 all terms are positive."""
    odds = x / (1.0 + x)
    s = x / (2.0 + x)
    near = x * odds / (2.0 + x) + s * s * s * atanh_series(s * s)
    return near if x < _NEAR else rate - odds


@native("float64*, float64*, float64*, float64, int64, float64*")
def add_slopes(m: Any, f: Any, e: Any, a: float, cells: int, sums: Any) -> None:
    """Add a times the derivative of the logarithms by a, as a pair."""
    slope = stack()
    for first in range(0, cells, BLOCK):
        size = min(BLOCK, cells - first)
        for i in range(size):
            t = a * e[first + i]
            x = m[first + i] / t
            rate = log1p_positive(x)
            gain = f[first + i] * (x / (1.0 + x))
            slope[i] = gain - t * _bend(x, rate) / _seen(t, rate)
        for i in range(size):
            records = f[first + i]
            if 1.0 < records <= MANY:
                t = a * e[first + i]
                for j in range(1, int(records)):
                    slope[i] -= j / (t + j)
            sums[0], rest = two_sum(sums[0], slope[i])
            sums[1] += rest


@native("float64*, float64*, float64*, float64*, float64, int64, float64*")
def add_heights(
    m: Any, log_m: Any, f: Any, e: Any, a: float, cells: int, sums: Any
) -> None:
    """Add the logarithms, as a pair."""
    height = stack()
    for first in range(0, cells, BLOCK):
        size = min(BLOCK, cells - first)
        for i in range(size):
            t = a * e[first + i]
            rate = log1p_positive(m[first + i] / t)
            power = f[first + i] * (log_m[first + i] - rate)
            height[i] = power - t * rate - log(_seen(t, rate))
        for i in range(size):
            records = f[first + i]
            if 1.0 < records <= MANY:
                # The product of all 1 + j/t, less 1: a sum of positive terms.
                t, above = a * e[first + i], 0.0
                for j in range(1, int(records)):
                    above += (1.0 + above) * (j / t)
                    if above > _LARGE:
                        height[i] += log(above)
                        above = 0.0
                height[i] += log1p_positive(above)
            sums[0], rest = two_sum(sums[0], height[i])
            sums[1] += rest
