"""The posterior distribution of the population frequency F of a cell, given its f.

F is negative binomial: P(F = k | f) = C(k-1, f-1) p^f q^(k-f), q = 1-p; for real f the
binomial coefficient is Gamma(k)/(Gamma(f) (k-f)!) and k = f, f+1, f+2, ... (so that the
mean of 1/F is the individual risk for every real f > 0). This module offers the
distribution itself, and the spread and the quantiles of 1/F beside its mean r(f, p).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import cleandoc
from typing import TYPE_CHECKING

from riskcore.core.compiled.contract import Contract
from riskcore.core.compiled.jit import kernel
from riskcore.core.compiled.ufunc_maker import UfuncSource, on_demand
from riskcore.core.special.double_double import sqrt
from riskcore.core.special.floats import fma, two_sum
from riskcore.core.special.negative_binomial.inverse_moments import moments
from riskcore.core.special.negative_binomial.inverse_moments_blocks import loop_of
from riskcore.core.special.negative_binomial.law_blocks import (
    loop_of_law,
    loop_of_tail,
)
from riskcore.core.special.negative_binomial.probability import (
    LARGEST,
    SMALLEST_F,
    log_probability,
    log_probability_of,
    probability,
    probability_of,
)
from riskcore.core.special.negative_binomial.quantile import quantile
from riskcore.core.special.negative_binomial.quantile_blocks import (
    loop_of_quantile,
)
from riskcore.core.special.negative_binomial.tails import tails

if TYPE_CHECKING:
    import numpy as np

    individual_risk_deviation: np.ufunc
    individual_risk_quantile: np.ufunc
    individual_risk_second_moment: np.ufunc
    log_population_frequency_probability: np.ufunc
    population_frequency_distribution: np.ufunc
    population_frequency_probability: np.ufunc
    population_frequency_quantile: np.ufunc
    population_frequency_survival: np.ufunc

_TWO_52 = 2.0**52


_SMALLEST_F = 2.0**-320  # of the moments, whose parts reach 1/f^3
_LARGE = 2.0**64  # from it on the moments need a mean of F, f/p, that is a double


@kernel
def _inside(f: float, p: float) -> bool:
    return (f > 0.0) & (f < math.inf) & (p > 0.0) & (p <= 1.0)


# --- the distribution of F -----------------------------------------------------------


@kernel
def _is_integer(x: float) -> bool:
    return (abs(x) >= _TWO_52) | ((abs(x) + _TWO_52) - _TWO_52 == abs(x))


@kernel
def _failures(F: float, f: float) -> tuple[float, float]:
    """Return F - f as a pair if it is one of 0, 1, 2, ..., else a negative number.

    For a fraction f, F counts as f + j if it is that sum rounded; nan where many j
    have the same sum.
    """
    high, low = two_sum(F, -f)
    if not f <= F:
        return math.nan if math.isnan(F) else -1.0, 0.0
    if F > LARGEST:
        return (-1.0 if math.isinf(F) else math.nan), 0.0
    if _is_integer(f):
        return (high, low) if _is_integer(F) else (-1.0, 0.0)
    if F >= _TWO_52:
        return math.nan, 0.0
    j = (high + _TWO_52) - _TWO_52
    return (j if f + j == F else -1.0), 0.0


@kernel
def _simple_failures(F: float, f: float) -> tuple[float, float]:
    """Return what ``_failures`` does if F is a frequency, else -1; nothing branches."""
    high, low = two_sum(F, -f)
    whole = _is_integer(f)
    j = high if whole else (high + _TWO_52) - _TWO_52
    fits = _is_integer(F) if whole else (f + j == F) & (F < _TWO_52)
    fits = fits & (f <= F) & (F <= LARGEST)
    return j if fits else -1.0, low if whole else 0.0


@kernel
def _simple_failures_up_to(F: float, f: float) -> tuple[float, float]:
    """Return what ``_failures_up_to`` does for whole f, else -1; nothing branches."""
    inside = (f <= F) & (F <= LARGEST) & _is_integer(f)
    whole = F if F >= _TWO_52 else float(int(F if inside else 0.0))
    high, low = two_sum(whole, -f)
    return high if inside else -1.0, low if F >= _TWO_52 else 0.0


@kernel
def _failures_up_to(F: float, f: float) -> tuple[float, float]:
    """Return the largest j with f + j <= F as a pair, negative if there is none."""
    if not f <= F:
        return math.nan if math.isnan(F) else -1.0, 0.0
    if F > LARGEST:
        return (-1.0 if math.isinf(F) else math.nan), 0.0
    high, low = two_sum(F, -f)
    if _is_integer(f):
        if F >= _TWO_52:
            return high, low
        return float(int(F)) - f, 0.0
    if F >= _TWO_52:
        return math.nan, 0.0
    j = float(int(high))
    if f + (j + 1.0) <= F:
        j += 1.0
    return (j if f + j <= F else j - 1.0), 0.0


@kernel
def population_frequency_probability_kernel(F: float, f: float, p: float) -> float:
    """Probability P(F | f) of a population frequency, given the sample frequency.

    F is negative binomial: P(F | f) = Gamma(F)/(Gamma(f) (F-f)!) p^f (1-p)^(F-f) for
    F - f = 0, 1, 2, ...; with integer f the trials up to the f-th success.

    Parameters
    ----------
    F : array_like
        Population frequency. Where F - f is not one of 0, 1, 2, ... the result is 0;
        for a fraction f, F is f + j rounded.
    f : array_like
        Sample frequency of the cell, real, f > 0.
    p : array_like
        Sampling fraction of the cell, 0 < p <= 1.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    probability : ndarray or scalar
        P(F | f), for the arguments as exact numbers. nan for f or p outside the domain,
        for F nan, and for a fraction f with F >= 2^52, where many F - f have the same
        sum. Largest error found 0.72 ulp.

    See Also
    --------
    riskcore.log_population_frequency_probability : its logarithm.
    riskcore.population_frequency_distribution : P(F <= k | f).

    References
    ----------
    Polettini (2003), eq. 2; Loader (2000), "Fast and accurate computation of binomial
    probabilities"; notes/posterior.md.

    Examples
    --------
    >>> import riskcore
    >>> riskcore.population_frequency_probability([1, 2, 3, 4], 2, 0.5)
    array([0.    , 0.25  , 0.25  , 0.1875])
    >>> float(riskcore.population_frequency_probability(1e12, 1e6, 1e-6))
    3.98942...e-10
    """
    if not _inside(f, p):
        return math.nan
    j, j_low = _failures(F, f)
    if not j >= 0.0:
        return math.nan if math.isnan(j) else 0.0
    return probability(f, j, j_low, p)


@kernel
def log_population_frequency_probability_kernel(F: float, f: float, p: float) -> float:
    """Natural logarithm of P(F | f); finite where the probability underflows.

    Parameters
    ----------
    F, f, p : array_like
        Population frequency, sample frequency (real, > 0) and sampling fraction
        (0 < p <= 1) of the cell.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    log_probability : ndarray or scalar
        log P(F | f), -inf where the probability is 0; nan as for the probability
        itself. Largest error found 0.52 ulp.

    See Also
    --------
    riskcore.population_frequency_probability : the distribution, its domain and
    sources.

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.log_population_frequency_probability(1e6, 1, 0.01))
    -10054.9...
    """
    if not _inside(f, p):
        return math.nan
    j, j_low = _failures(F, f)
    if not j >= 0.0:
        return math.nan if math.isnan(j) else -math.inf
    return log_probability(f, j, j_low, p)


@kernel
def _tails_at(F: float, f: float, p: float) -> tuple[float, float]:
    if not (_inside(f, p) & (f >= SMALLEST_F)):
        return math.nan, math.nan
    if math.isinf(F) and F > 0.0:
        return 1.0, 0.0
    j, j_low = _failures_up_to(F, f)
    if not j >= 0.0:
        return (math.nan, math.nan) if math.isnan(j) else (0.0, 1.0)
    lower, upper, _ = tails(f, j, j_low, p)
    return lower, upper


@kernel
def population_frequency_distribution_kernel(F: float, f: float, p: float) -> float:
    """Distribution function P(population frequency <= F | f).

    The regularised incomplete beta function I_p(f, j+1), j the whole part of F - f.

    Parameters
    ----------
    F : array_like
        Population frequency, any real number or infinite.
    f : array_like
        Sample frequency of the cell, real, f >= 2^-6.
    p : array_like
        Sampling fraction of the cell, 0 < p <= 1.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    probability : ndarray or scalar
        P(<= F | f); nan outside the domain, and for a fraction f with F >= 2^52. Error
        below 12 ulp; largest error found 6.79 ulp.

    See Also
    --------
    riskcore.population_frequency_survival : 1 less it, right where that is small.
    riskcore.population_frequency_quantile : its inverse.

    References
    ----------
    DLMF 8.17.1 and 8.17.5; notes/posterior.md.

    Examples
    --------
    >>> import riskcore
    >>> riskcore.population_frequency_distribution([1, 2, 3, 4.5], 2, 0.5)
    array([0.    , 0.25  , 0.5   , 0.6875])
    """
    return _tails_at(F, f, p)[0]


@kernel
def population_frequency_survival_kernel(F: float, f: float, p: float) -> float:
    """Probability P(population frequency > F | f).

    Parameters
    ----------
    F, f, p : array_like
        Population frequency (any number), sample frequency (real, f >= 2^-6) and
        sampling fraction (0 < p <= 1) of the cell.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    probability : ndarray or scalar
        P(> F | f); nan as for the distribution function. Error below 12 ulp; largest
        error found 8.10 ulp; but for f < 1 and F below its mean it is 1 less the
        distribution function, with an absolute error of some 2^-53.

    See Also
    --------
    riskcore.population_frequency_distribution : 1 less it, with the definition.

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.population_frequency_survival(5000, 1, 0.01))
    1.49...e-22
    """
    return _tails_at(F, f, p)[1]


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
        quantile of a level that differs by less than the distribution function's error
        from the one given; for integers f and F - f up to 1024 equality of level and
        probability is told from closeness to 2^-88. Above 2^53 it is a double near.

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
    Contract(
        "population_frequency_probability",
        ulps=1,
        worst=0.72,
        witness=(
            "0x1.306c18c500000p+33",
            "0x1.01ad440000000p+24",
            "0x1.b116da7a3b94ep-10",
        ),
    ),
    Contract(
        "log_population_frequency_probability",
        ulps=1,
        worst=0.52,
        witness=(
            "0x1.8ffe86b631f0ap+1",
            "0x1.1ffd0d6c63e13p+0",
            "0x1.2fa1b4fa8423dp-2",
        ),
    ),
    Contract(
        "population_frequency_distribution",
        ulps=12,
        worst=6.79,
        witness=(
            "0x1.2fdec80000000p+22",
            "0x1.2000000000000p+5",
            "0x1.da76a2d0b5f85p-18",
        ),
    ),
    Contract(
        "population_frequency_survival",
        ulps=12,
        worst=8.10,
        witness=(
            "0x1.25be780000000p+21",
            "0x1.1000000000000p+5",
            "0x1.d922f65152f2dp-17",
        ),
    ),
    Contract(
        "individual_risk_deviation",
        ulps=8,
        worst=3.00,
        witness=(
            "0x1.f000000000000p+4",
            "0x1.3ff9342be2700p-19",
        ),
    ),
    Contract(
        "individual_risk_second_moment",
        ulps=8,
        worst=3.55,
        witness=(
            "0x1.0000000000000p+1",
            "0x1.0aa485c6d2af6p-22",
        ),
    ),
)


def _source(loop: Callable[..., None], scalar: Callable[..., float]) -> UfuncSource:
    return UfuncSource(loop, scalar, cleandoc(scalar.__doc__ or ""))


def _of_law(
    scalar: Callable[[float, float, float], float],
    finish: Callable[[float, float, float, float, float], float],
) -> UfuncSource:
    return _source(loop_of_law(scalar, _simple_failures, finish), scalar)


def _of_tail(
    scalar: Callable[[float, float, float], float], above: bool
) -> UfuncSource:
    return _source(loop_of_tail(scalar, _simple_failures_up_to, above), scalar)


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
    "log_population_frequency_probability": _of_law(
        log_population_frequency_probability_kernel, log_probability_of
    ),
    "population_frequency_distribution": _of_tail(
        population_frequency_distribution_kernel, False
    ),
    "population_frequency_probability": _of_law(
        population_frequency_probability_kernel, probability_of
    ),
    "population_frequency_quantile": _of_quantile(
        population_frequency_quantile_kernel, _frequency, False
    ),
    "population_frequency_survival": _of_tail(
        population_frequency_survival_kernel, True
    ),
}


__getattr__ = on_demand(__name__, UFUNCS)
