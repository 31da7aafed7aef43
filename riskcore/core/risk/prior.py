"""The individual risk of a cell whose population frequency has its own prior.

The people of the cell outside the sample, X = F - f, are negative binomial with shape s
and success probability p, P(X = 0) = p^s, or Poisson with mean mu. The model of the
population gives s and p, or mu, for each cell: s = f is the individual risk of the
sources (prior 1/F), s = f + alpha a Poisson-gamma prior of shape alpha, and log-linear
models use the Poisson law. notes/posterior.md has the mathematics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from riskcore.core.compiled.jit import kernel
from riskcore.core.compiled.ufunc_maker import Contract, UfuncSource, on_demand
from riskcore.core.risk import individual
from riskcore.core.special.elementary import exp_parts
from riskcore.core.special.negative_binomial.inverse_mean import (
    inverse_mean,
    inverse_mean_poisson,
    log_inverse_mean,
    log_inverse_mean_poisson,
)
from riskcore.core.special.negative_binomial.inverse_mean_blocks import (
    loop_of,
    poisson_loop_of,
)
from riskcore.core.special.negative_binomial.inverse_square import (
    inverse_square,
    inverse_square_poisson,
)
from riskcore.core.special.negative_binomial.probability import log_of_first

if TYPE_CHECKING:
    import numpy as np

    cell_fully_sampled_probability: np.ufunc
    cell_fully_sampled_probability_poisson: np.ufunc
    individual_risk_poisson: np.ufunc
    individual_risk_second_moment_poisson: np.ufunc
    individual_risk_second_moment_with_prior: np.ufunc
    individual_risk_with_prior: np.ufunc
    log_individual_risk_poisson: np.ufunc
    log_individual_risk_with_prior: np.ufunc

_SMALLEST_F = 2.0**-10
_LARGEST = 2.0**60
_LARGEST_MEAN = 2.0**100
_SMALLEST_P = 2.0**-200

_risk_without_prior = individual.UFUNCS["individual_risk"].scalar
_log_risk_without_prior = individual.UFUNCS["log_individual_risk"].scalar


@kernel
def _is_law(shape: float, p: float) -> bool:
    inside = (shape > 0.0) & (shape <= _LARGEST)
    return inside & (p >= _SMALLEST_P) & (p <= 1.0)


@kernel
def _is_frequency(f: float) -> bool:
    return (f >= _SMALLEST_F) & (f <= _LARGEST)


@kernel
def _inside(f: float, shape: float, p: float) -> bool:
    return _is_frequency(f) & _is_law(shape, p)


@kernel
def _inside_poisson(f: float, mu: float) -> bool:
    return _is_frequency(f) & (mu >= 0.0) & (mu <= _LARGEST_MEAN)


@kernel
def _risk_with_prior(f: float, shape: float, p: float) -> float:
    if not _inside(f, shape, p):
        return math.nan
    if shape == f:
        without: float = _risk_without_prior(f, p)
        return without
    r, r_low = inverse_mean(f, shape, p)
    return r + r_low


@kernel
def log_individual_risk_with_prior_kernel(f: float, shape: float, p: float) -> float:
    """Natural logarithm of the individual risk with a prior; right also near r = 1.

    Parameters
    ----------
    f, shape, p : array_like
        Sample frequency of the cell, shape and success probability of the law of F - f,
        as for ``individual_risk_with_prior``.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    log_r : ndarray or scalar
        log r; nan outside the domain. Largest error found 0.63 ulp, for |log r| >=
        1/16, or f >= 1 and shape >= f; elsewhere the largest absolute error found is
        2^-55.0, at 20,000 points.

    See Also
    --------
    riskcore.individual_risk_with_prior : r itself, with the definition.

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.log_individual_risk_with_prior(1, 2.5, 1 - 2**-40))
    -1.1368...e-12
    """
    if not _inside(f, shape, p):
        return math.nan
    if shape == f:
        without: float = _log_risk_without_prior(f, p)
        return without
    return log_inverse_mean(f, shape, p)


@kernel
def _risk_poisson(f: float, mu: float) -> float:
    if not _inside_poisson(f, mu):
        return math.nan
    r, r_low = inverse_mean_poisson(f, mu)
    return r + r_low


@kernel
def log_individual_risk_poisson_kernel(f: float, mu: float) -> float:
    """Natural logarithm of the individual risk with a Poisson law; right near r = 1.

    Parameters
    ----------
    f, mu : array_like
        Sample frequency of the cell and mean of F - f, as for
        ``individual_risk_poisson``.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    log_r : ndarray or scalar
        log r; nan outside the domain. Largest error found 0.65 ulp, for f >= 1 or
        |log r| >= 1/16; elsewhere the largest absolute error found is 2^-58.0, at
        3,000 points.

    See Also
    --------
    riskcore.individual_risk_poisson : r itself, with the definition.

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.log_individual_risk_poisson(1, 1e-20))
    -5e-21
    """
    if not _inside_poisson(f, mu):
        return math.nan
    return log_inverse_mean_poisson(f, mu)


@kernel
def individual_risk_second_moment_with_prior_kernel(
    f: float, shape: float, p: float
) -> float:
    """Second moment E[1/F^2 | f] of a cell, its population frequency with a prior.

    Less the squared individual risk it is the variance of 1/F.

    Parameters
    ----------
    f : array_like
        Sample frequency of the cell, real, 1 <= f <= 2^60.
    shape, p : array_like
        Shape and success probability of the law of F - f, as for
        ``individual_risk_with_prior``.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    second_moment : ndarray or scalar
        E[1/F^2 | f], 1/f^2 at p = 1; nan outside the domain. Largest error found 0.73
        ulp.

    See Also
    --------
    riskcore.individual_risk_with_prior : the first moment, with the definition.
    riskcore.individual_risk_second_moment : without a prior, f < 1 too.

    Notes
    -----
    A cell takes 0.6 to 9 microseconds, up to 20 where f is large and f p near 0.36
    (``notes/posterior.md``, section 14).

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.individual_risk_second_moment_with_prior(1, 1, 0.5))  # Li2(1/2)
    0.58224...
    """
    if not (_inside(f, shape, p) & (f >= 1.0)):
        return math.nan
    return inverse_square(f, shape, p)


@kernel
def individual_risk_second_moment_poisson_kernel(f: float, mu: float) -> float:
    """Second moment E[1/F^2 | f] of a cell whose other people are Poisson.

    Parameters
    ----------
    f : array_like
        Sample frequency of the cell, real, 1 <= f <= 2^60.
    mu : array_like
        Expected number of people of the cell that are not in the sample, 0 <= mu <=
        2^100.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    second_moment : ndarray or scalar
        E[1/F^2 | f]; nan outside the domain. Largest error found 0.50 ulp.

    See Also
    --------
    riskcore.individual_risk_poisson : the first moment, with the definition.

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.individual_risk_second_moment_poisson(2, 0))
    0.25
    """
    if not (_inside_poisson(f, mu) & (f >= 1.0)):
        return math.nan
    return inverse_square_poisson(f, mu)


@kernel
def cell_fully_sampled_probability_kernel(shape: float, p: float) -> float:
    """Probability P(F = f | f) = p^s that a cell has nobody outside the sample.

    For f = 1 it is the probability that a sample unique is a population unique.

    Parameters
    ----------
    shape : array_like
        Shape s of the law of F - f, 0 < s <= 2^60.
    p : array_like
        Success probability of that law, 2^-200 <= p <= 1.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    probability : ndarray or scalar
        p^s; nan outside the domain. Largest error found 0.65 ulp, subnormal numbers
        included.

    See Also
    --------
    riskcore.cell_fully_sampled_probability_poisson : the limit of a large shape.

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.cell_fully_sampled_probability(1.5, 0.25))
    0.125
    """
    if not _is_law(shape, p):
        return math.nan
    value, rest = exp_parts(*log_of_first(shape, p))
    return value + rest


@kernel
def cell_fully_sampled_probability_poisson_kernel(mu: float) -> float:
    """Probability P(F = f | f) = exp(-mu) that a cell has nobody outside the sample.

    Parameters
    ----------
    mu : array_like
        Expected number of people of the cell that are not in the sample, 0 <= mu <=
        2^100.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc.

    Returns
    -------
    probability : ndarray or scalar
        exp(-mu); nan outside the domain. Largest error found 0.67 ulp, subnormal
        numbers included.

    See Also
    --------
    riskcore.cell_fully_sampled_probability : with overdispersion.

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.cell_fully_sampled_probability_poisson(2.0))
    0.1353352832366127
    """
    if not ((mu >= 0.0) & (mu <= _LARGEST_MEAN)):
        return math.nan
    value, rest = exp_parts(-mu, 0.0)
    return value + rest


# From bench/worst_points.csv.
CONTRACTS = (
    Contract("individual_risk_with_prior", ulps=1, worst=0.78,
             witness=("0x1.650bd3cf781aep+1", "0x1.115012899b221p+5",
                      "0x1.b1c5f7a1ab20ep-1")),
    Contract("log_individual_risk_with_prior", ulps=2, worst=0.63,
             witness=("0x1.14afaa96ddfb7p-1", "0x1.0a5a01e510e99p+0",
                      "0x1.7654080527461p-2"),
             region="f >= 1 and s >= f, or |log r| >= 1/16"),
    Contract("individual_risk_poisson", ulps=1, worst=0.73,
             witness=("0x1.0998d97f8d61ap+1", "0x1.b8b6e37218fdcp+2")),
    Contract("log_individual_risk_poisson", ulps=1, worst=0.65,
             witness=("0x1.120cdfa18c81ap+1", "0x1.40dc5e3e448bap+2"),
             region="f >= 1, or |log r| >= 1/16"),
    Contract("individual_risk_second_moment_with_prior", ulps=1, worst=0.73,
             witness=("0x1.3ce88dd3d7c8bp+0", "0x1.c9e4971964a26p-3",
                      "0x1.8b8fc258d0d7ap-3")),
    Contract("individual_risk_second_moment_poisson", ulps=1, worst=0.50,
             witness=("0x1.d60d1410c39efp+16", "0x1.07fc15e29686ep-761")),
    Contract("cell_fully_sampled_probability", ulps=1, worst=0.65,
             witness=("0x1.392958b94a7e1p+25", "0x1.fffff85a156dbp-1")),
    Contract("cell_fully_sampled_probability_poisson", ulps=1, worst=0.67,
             witness=("0x1.8c7a436aae4b7p+5",)),
)  # fmt: skip

UFUNCS: dict[str, UfuncSource | Callable[..., float]] = {
    "cell_fully_sampled_probability": cell_fully_sampled_probability_kernel,
    "cell_fully_sampled_probability_poisson": (
        cell_fully_sampled_probability_poisson_kernel
    ),
    "individual_risk_poisson": UfuncSource(
        poisson_loop_of(_risk_poisson, _inside_poisson),
        _risk_poisson,
        """
Individual risk E[1/F | f] of a cell whose other people are Poisson.

F = f + X, X Poisson of mean mu: r = (1/f) 1F1(1; f+1; -mu), for f = 1 (1 -
exp(-mu))/mu. It is what log-linear models of the population give.

Parameters
----------
f : array_like
    Sample frequency of the cell, real, 2^-10 <= f <= 2^60.
mu : array_like
    Expected number of people of the cell that are not in the sample, 0 <= mu <=
    2^100.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
r : ndarray or scalar
    Individual risk, 1/(f + mu) <= r <= 1/f; nan outside the domain. Largest error
    found 0.73 ulp.

See Also
--------
riskcore.individual_risk_with_prior : with overdispersion.

References
----------
Skinner and Holmes (1998); Skinner and Shlomo (2008); notes/posterior.md.

Examples
--------
>>> import riskcore
>>> riskcore.individual_risk_poisson([1, 1, 2], [0.0, 2.0, 2.0]).round(6)
array([1.      , 0.432332, 0.283834])
""",
    ),
    "individual_risk_with_prior": UfuncSource(
        loop_of(_risk_with_prior, _inside),
        _risk_with_prior,
        """
Individual risk E[1/F | f] of a cell, its population frequency with a prior.

F = f + X, X negative binomial of any shape s: r = (p/f) 2F1(1, f+1-s; f+1; 1-p).

Parameters
----------
f : array_like
    Sample frequency of the cell, real, 2^-10 <= f <= 2^60.
shape : array_like
    Shape s of the law of X, 0 < s <= 2^60: f gives ``individual_risk``, to the last
    bit; f + alpha a gamma prior of shape alpha for the rate of the cell.
p : array_like
    Success probability of that law, 2^-200 <= p <= 1: P(X = 0) = p^s, and the mean
    of X is s (1-p)/p.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
r : ndarray or scalar
    Individual risk; nan outside the domain. Largest error found 0.78 ulp.

See Also
--------
riskcore.individual_risk : the risk without a prior of the cell's own.
riskcore.individual_risk_poisson : the limit of a large shape.

Notes
-----
A cell takes 0.02 to 0.1 microseconds, but 1 to 5 where f is below 1/2 or the shape
below f - 1/2.

References
----------
Bethlehem, Keller and Pannekoek (1990); Skinner and Shlomo (2008); notes/posterior.md.

Examples
--------
>>> import riskcore
>>> riskcore.individual_risk_with_prior(1, [1, 1.5, 2, 30], 0.01).round(6)
array([0.046517, 0.018182, 0.01    , 0.000348])
""",
    ),
    "individual_risk_second_moment_poisson": (
        individual_risk_second_moment_poisson_kernel
    ),
    "individual_risk_second_moment_with_prior": (
        individual_risk_second_moment_with_prior_kernel
    ),
    "log_individual_risk_poisson": log_individual_risk_poisson_kernel,
    "log_individual_risk_with_prior": log_individual_risk_with_prior_kernel,
}


__getattr__ = on_demand(__name__, UFUNCS)
