"""Proven bounds of the posterior of the population frequency F, integer f.

The functions of ``riskcore.risk.posterior`` are fast, and their errors are measured.
These are slow, and what they return is proved (notes/posterior.md, section 7).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from riskcore.compiled.contract import Contract
from riskcore.compiled.jit import kernel
from riskcore.compiled.ufunc_maker import UfuncSource, clear_flags, on_demand
from riskcore.risk.posterior import population_frequency_quantile_kernel
from riskcore.special.negative_binomial.enclosure import (
    LARGEST_F,
    LARGEST_K,
    SMALLEST_P,
    quantile_bounds,
    tail_bounds,
)

if TYPE_CHECKING:
    import numpy as np

    population_frequency_distribution_bounds: np.ufunc
    population_frequency_quantile_bounds: np.ufunc
    population_frequency_survival_bounds: np.ufunc


@kernel
def _inside(f: float, p: float) -> bool:
    whole = (f >= 1.0) & (f <= LARGEST_F)
    return whole & (p >= SMALLEST_P) & (p <= 1.0) and f == float(int(f))


@kernel
def _tail(F: float, f: float, p: float, above: bool) -> tuple[float, float]:
    if not _inside(f, p) or math.isnan(F):
        return math.nan, math.nan
    if math.isinf(F) and F > 0.0:
        return (0.0, 0.0) if above else (1.0, 1.0)
    if F > LARGEST_K:
        return math.nan, math.nan
    return tail_bounds(f, float(int(max(F, 0.0))), p, above)


@kernel
def distribution_bounds(F: float, f: float, p: float) -> tuple[float, float]:
    """Return doubles around P(<= F | f)."""
    return _tail(F, f, p, False)


@kernel
def survival_bounds(F: float, f: float, p: float) -> tuple[float, float]:
    """Return doubles around P(> F | f)."""
    return _tail(F, f, p, True)


@kernel
def bounds_of_quantile(level: float, f: float, p: float) -> tuple[float, float]:
    """Return integers around the quantile of F; inf beyond 2^53."""
    if not (_inside(f, p) & (level > 0.0) & (level < 1.0)):
        return math.nan, math.nan
    start = population_frequency_quantile_kernel(level, f, p)
    start = min(max(start, f), LARGEST_K) if start >= f else f
    return quantile_bounds(f, p, level, start)


def _distribution_loop(args: Any, sizes: Any, steps: Any, _: Any) -> None:
    for i in range(sizes[0]):
        lower, upper = distribution_bounds(
            args[0][i * (steps[0] >> 3)],
            args[1][i * (steps[1] >> 3)],
            args[2][i * (steps[2] >> 3)],
        )
        args[3][i * (steps[3] >> 3)] = lower
        args[4][i * (steps[4] >> 3)] = upper
    clear_flags()


def _survival_loop(args: Any, sizes: Any, steps: Any, _: Any) -> None:
    for i in range(sizes[0]):
        lower, upper = survival_bounds(
            args[0][i * (steps[0] >> 3)],
            args[1][i * (steps[1] >> 3)],
            args[2][i * (steps[2] >> 3)],
        )
        args[3][i * (steps[3] >> 3)] = lower
        args[4][i * (steps[4] >> 3)] = upper
    clear_flags()


def _quantile_loop(args: Any, sizes: Any, steps: Any, _: Any) -> None:
    for i in range(sizes[0]):
        lower, upper = bounds_of_quantile(
            args[0][i * (steps[0] >> 3)],
            args[1][i * (steps[1] >> 3)],
            args[2][i * (steps[2] >> 3)],
        )
        args[3][i * (steps[3] >> 3)] = lower
        args[4][i * (steps[4] >> 3)] = upper
    clear_flags()


UFUNCS = {
    "population_frequency_distribution_bounds": UfuncSource(
        _distribution_loop,
        distribution_bounds,
        """
Lower and upper bound of P(population frequency <= F | f): doubles proven to enclose it.

Parameters
----------
F : array_like
    Population frequency, up to 2^53, or infinite.
f : array_like
    Sample frequency of the cell, one of 1, 2, ..., 2^32.
p : array_like
    Sampling fraction of the cell, 2^-900 <= p <= 1, taken as the double it is.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
lower, upper : ndarray or scalar
    Doubles with lower <= P <= upper: neighbours, as a rule; equal where P is known to
    be a double, and two ulp apart where it nearly is one, to 2^-90. Where P is below
    the smallest double, 0 and that. nan outside the domain, and for a fraction f.

See Also
--------
riskcore.population_frequency_distribution : the value, with a measured error.
riskcore.risk.posterior_bounds.population_frequency_quantile_bounds : its inverse.

Notes
-----
A sum of positive terms in arithmetic that carries its own error: some 10 microseconds
a cell, and as many terms as 12 standard deviations of k p at most; 0.03 s at f = 2^32.

References
----------
notes/posterior.md, section 7.

Examples
--------
>>> from riskcore.risk import posterior_bounds
>>> bounds = posterior_bounds.population_frequency_distribution_bounds(100, 1, 0.01)
>>> [float(x).hex() for x in bounds]
['0x1.449768b1e805ap-1', '0x1.449768b1e805bp-1']
""",
        outputs=2,
    ),
    "population_frequency_survival_bounds": UfuncSource(
        _survival_loop,
        survival_bounds,
        """
Lower and upper bound of P(population frequency > F | f): doubles proven to enclose it.

Parameters
----------
F, f, p : array_like
    Population frequency (up to 2^53, or infinite), sample frequency (1, 2, ..., 2^32)
    and sampling fraction (2^-900 <= p <= 1) of the cell.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
lower, upper : ndarray or scalar
    Doubles with lower <= P <= upper: neighbours, as a rule; equal where P is known to
    be a double, and two ulp apart where it nearly is one, to 2^-90. Where P is below
    the smallest double, 0 and that. nan outside the domain, and for a fraction f.

See Also
--------
riskcore.population_frequency_survival : the value, with a measured error.

Examples
--------
>>> from riskcore.risk import posterior_bounds
>>> bounds = posterior_bounds.population_frequency_survival_bounds(20_000, 1, 0.01)
>>> [f"{float(x):.4g}" for x in bounds]
['5.057e-88', '5.057e-88']
""",
        outputs=2,
    ),
    "population_frequency_quantile_bounds": UfuncSource(
        _quantile_loop,
        bounds_of_quantile,
        """
Proven bounds of a quantile of F, the smallest k with P(F <= k) >= level: integers.

As a rule they are equal, and the quantile is proved: P(F <= k-1) < level <= P(F <= k)
by enclosures of both. They differ where a probability is too near to the level to be
told from it; where it equals the level, as at level = p = 1/2, that is proved too.

Parameters
----------
level : array_like
    Probability, 0 < level < 1, taken as the double it is.
f : array_like
    Sample frequency of the cell, one of 1, 2, ..., 2^32.
p : array_like
    Sampling fraction of the cell, 2^-900 <= p <= 1.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
lower, upper : ndarray or scalar
    Integers with lower <= quantile <= upper. Infinite above 2^53; nan outside the
    domain, and for a fraction f.

See Also
--------
riskcore.population_frequency_quantile : the quantile, fast.

Examples
--------
>>> from riskcore.risk import posterior_bounds
>>> levels = [0.05, 0.5, 0.95]
>>> posterior_bounds.population_frequency_quantile_bounds(levels, 1, 0.01)
(array([  6.,  69., 299.]), array([  6.,  69., 299.]))
""",
        outputs=2,
    ),
}


__getattr__ = on_demand(__name__, UFUNCS)

CONTRACTS = (
    Contract(
        "population_frequency_distribution_bounds",
        ulps=2,
        worst=2.0,
        witness=(
            "0x1.0000000000000p+1",
            "0x1.0000000000000p+0",
            "0x1.bff2ee48e0530p-333",
        ),
        region="integer f to 2^32, F to 2^53, p from 2^-900",
        shown="proved",
    ),
    Contract(
        "population_frequency_survival_bounds",
        ulps=2,
        worst=2.0,
        witness=(
            "0x1.0000000000000p+2",
            "0x1.8000000000000p+1",
            "0x1.fffffffffffffp-1",
        ),
        region="integer f to 2^32, F to 2^53, p from 2^-900",
        shown="proved",
    ),
)
