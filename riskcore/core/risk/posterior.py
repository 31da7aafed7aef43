"""The posterior distribution of the population frequency F of a cell, given its f.

F is negative binomial: P(F = k | f) = C(k-1, f-1) p^f q^(k-f), q = 1-p; for real f the
binomial coefficient is Gamma(k)/(Gamma(f) (k-f)!) and k = f, f+1, f+2, ... (so that the
mean of 1/F is the individual risk for every real f > 0). This module has the quantiles
of F, and the spread and quantiles of 1/F, whose mean is r(f, p).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import cleandoc
from typing import TYPE_CHECKING

from riskcore.core.compiled.jit import kernel
from riskcore.core.compiled.ufunc_maker import Contract, UfuncSource, on_demand
from riskcore.core.special.double_double import sqrt
from riskcore.core.special.floats import fma
from riskcore.core.special.negative_binomial.inverse_moments import moments
from riskcore.core.special.negative_binomial.inverse_moments_blocks import loop_of
from riskcore.core.special.negative_binomial.probability import SMALLEST_F
from riskcore.core.special.negative_binomial.quantile import quantile
from riskcore.core.special.negative_binomial.quantile_blocks import (
    loop_of_quantile,
)

if TYPE_CHECKING:
    import numpy as np

    individual_risk_deviation: np.ufunc
    individual_risk_quantile: np.ufunc
    individual_risk_second_moment: np.ufunc
    population_frequency_quantile: np.ufunc

_SMALLEST_F = 2.0**-320  # of the moments, whose parts reach 1/f^3
_LARGE = 2.0**64  # from it on the moments need a mean of F, f/p, that is a double


@kernel
def _inside(f: float, p: float) -> bool:
    return (f > 0.0) & (f < math.inf) & (p > 0.0) & (p <= 1.0)


# --- quantiles ---------------------------------------------------------------------


@kernel
def _frequency(f: float, j: float) -> float:
    return f + j


@kernel
def _inverse(f: float, j: float) -> float:
    return 1.0 / (f + j)


@kernel
def _outside(level: float, f: float, p: float) -> bool:
    inside = _inside(f, p) & (f >= SMALLEST_F)
    return not (inside & (level > 0.0) & (level < 1.0))


@kernel
def population_frequency_quantile_kernel(level: float, f: float, p: float) -> float:
    """Quantile of the population frequency: the smallest k with P(F <= k | f) >= level.

    Parameters
    ----------
    level : array_like
        Probability, 0 < level < 1.
    f : array_like
        Sample frequency of the cell, real, f >= 2^-6.
    p : array_like
        Sampling fraction of the cell, 0 < p <= 1.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    quantile : ndarray or scalar
        The quantile, one of f, f+1, f+2, ...; nan outside the domain. It is the
        quantile of a level that differs from the given level by less than the error of
        P(<= k | f), 12 ulp; for integers f and F - f up to 1024, a level within 2^-88
        of a probability counts as equal. Above 2^53 it is a nearby double.

    See Also
    --------
    riskcore.individual_risk_quantile : quantiles of 1/F.

    Examples
    --------
    >>> import riskcore
    >>> riskcore.population_frequency_quantile([0.05, 0.5, 0.95], 1, 0.01)
    array([  6.,  69., 299.])
    """
    if _outside(level, f, p):
        return math.nan
    if level <= 0.5:
        return _frequency(f, quantile(f, p, False, level, False))
    return _frequency(f, quantile(f, p, True, 1.0 - level, False))


@kernel
def individual_risk_quantile_kernel(level: float, f: float, p: float) -> float:
    """Quantile of 1/F, the risk were the population frequency F known, given f.

    The smallest x with P(1/F <= x | f) >= level. It is 1/k for the largest k with
    P(F >= k | f) >= level; so its 5 % quantile is 1 over an upper quantile of F.

    Parameters
    ----------
    level : array_like
        Probability, 0 < level < 1.
    f : array_like
        Sample frequency of the cell, real, f >= 2^-6.
    p : array_like
        Sampling fraction of the cell, 0 < p <= 1.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    quantile : ndarray or scalar
        The quantile; nan outside the domain. k is found as in
        ``riskcore.population_frequency_quantile``, and 1/k is rounded once.

    See Also
    --------
    riskcore.individual_risk : the mean of 1/F.
    riskcore.individual_risk_deviation : its standard deviation.

    Examples
    --------
    >>> import riskcore
    >>> riskcore.individual_risk_quantile([0.05, 0.5, 0.95], 1, 0.01).round(5)
    array([0.00334, 0.01449, 0.16667])
    """
    if _outside(level, f, p):
        return math.nan
    if level <= 0.5:
        return _inverse(f, quantile(f, p, True, level, True))
    return _inverse(f, quantile(f, p, False, 1.0 - level, True))


# --- moments of 1/F ----------------------------------------------------------------


@kernel
def _has_moments(f: float, p: float) -> bool:
    inside = _inside(f, p) & (f >= _SMALLEST_F)
    return inside & ((f <= _LARGE) | (f / p < math.inf))


@kernel
def _deviation(r: float, variance: float, b: float, spread: float) -> float:
    return b * sqrt(spread)


@kernel
def _second_moment(r: float, variance: float, b: float, spread: float) -> float:
    return fma(r, r, variance)


@kernel
def individual_risk_deviation_kernel(f: float, p: float) -> float:
    """Return the standard deviation of 1/F given f; its mean is the individual risk.

    How far the risk of a record may lie from r(f, p) for the one population frequency F
    that its cell has, F being negative binomial given f.

    Parameters
    ----------
    f : array_like
        Sample frequency of the cell, real, f >= 2^-320: 1/f^3 must be a double.
    p : array_like
        Sampling fraction of the cell, 0 < p <= 1; for f > 2^64 with a finite f/p.
        Subnormal numbers are right.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    deviation : ndarray or scalar
        The standard deviation, 0 at p = 1; nan outside the domain. Largest error found
        3.00 ulp.

    See Also
    --------
    riskcore.individual_risk_second_moment : E[1/F^2 | f].
    riskcore.individual_risk_quantile : quantiles of 1/F.

    References
    ----------
    notes/posterior.md, section 4.

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.individual_risk(1, 0.01))
    0.04651687056...
    >>> float(riskcore.individual_risk_deviation(1, 0.01))
    0.11...
    """
    if not _has_moments(f, p):
        return math.nan
    return _deviation(*moments(f, p))


@kernel
def individual_risk_second_moment_kernel(f: float, p: float) -> float:
    """Second moment E[1/F^2 | f], the squared individual risk plus the variance.

    E[1/F^2 | f] = (p^f/f^2) 3F2(f, f, f; f+1, f+1; 1-p).

    Parameters
    ----------
    f : array_like
        Sample frequency of the cell, real, f >= 2^-320: 1/f^3 must be a double.
    p : array_like
        Sampling fraction of the cell, 0 < p <= 1; for f > 2^64 with a finite f/p.
        Subnormal numbers are right.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    second_moment : ndarray or scalar
        E[1/F^2 | f], 1/f^2 at p = 1; nan outside the domain. Largest error found 3.55
        ulp.

    See Also
    --------
    riskcore.individual_risk : the first moment.
    riskcore.individual_risk_deviation : the standard deviation, without cancellation.

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.individual_risk_second_moment(1, 0.5))  # Li2(1/2)
    0.58224...
    """
    if not _has_moments(f, p):
        return math.nan
    return _second_moment(*moments(f, p))


# Of values above 2^-960; from bench/worst_points.csv.
CONTRACTS = (
    Contract("individual_risk_deviation", ulps=8, worst=3.00,
             witness=("0x1.f000000000000p+4", "0x1.3ff9342be2700p-19")),
    Contract("individual_risk_second_moment", ulps=8, worst=3.55,
             witness=("0x1.0000000000000p+1", "0x1.0aa485c6d2af6p-22")),
)  # fmt: skip


def _source(loop: Callable[..., None], scalar: Callable[..., float]) -> UfuncSource:
    return UfuncSource(loop, scalar, cleandoc(scalar.__doc__ or ""))


def _of_quantile(
    scalar: Callable[[float, float, float], float],
    finish: Callable[[float, float], float],
    reflected: bool,
) -> UfuncSource:
    return _source(loop_of_quantile(scalar, _outside, finish, reflected), scalar)


def _of_moments(
    scalar: Callable[[float, float], float],
    finish: Callable[[float, float, float, float], float],
) -> UfuncSource:
    return _source(loop_of(scalar, finish, _has_moments), scalar)


UFUNCS: dict[str, UfuncSource | Callable[..., float]] = {
    "individual_risk_deviation": _of_moments(
        individual_risk_deviation_kernel, _deviation
    ),
    "individual_risk_quantile": _of_quantile(
        individual_risk_quantile_kernel, _inverse, True
    ),
    "individual_risk_second_moment": _of_moments(
        individual_risk_second_moment_kernel, _second_moment
    ),
    "population_frequency_quantile": _of_quantile(
        population_frequency_quantile_kernel, _frequency, False
    ),
}


__getattr__ = on_demand(__name__, UFUNCS)
