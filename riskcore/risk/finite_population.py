"""The individual risk of a cell in a population of a known finite size.

The M = N - n people of the population that are not in the sample are shared out over
the cells; X = F - f of them are in the cell of f records. Where the cells'
probabilities have a Dirichlet law, X is beta-binomial with parameters alpha, beta and
M: ``individual_risk_with_prior`` has the limit of a large population, with p =
(alpha+beta)/(alpha+beta+M) and shape alpha. notes/finite_population.md has the
mathematics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from riskcore.compiled.contract import Contract
from riskcore.compiled.jit import kernel
from riskcore.compiled.ufunc_maker import UfuncSource, on_demand
from riskcore.special.beta_binomial.inverse_mean import (
    inverse_mean,
    inverse_mean_binomial,
    log_inverse_mean,
)
from riskcore.special.double_double import dd_multiply_double
from riskcore.special.elementary import exp_parts
from riskcore.special.gamma.ratio import gamma_ratio, log_gamma_ratio
from riskcore.special.near_one import dd_log1p

if TYPE_CHECKING:
    import numpy as np

    cell_fully_sampled_probability_binomial: np.ufunc
    cell_fully_sampled_probability_finite_population: np.ufunc
    individual_risk_binomial: np.ufunc
    individual_risk_finite_population: np.ufunc
    log_cell_fully_sampled_probability_finite_population: np.ufunc
    log_individual_risk_finite_population: np.ufunc

_SMALLEST = 2.0**-10
_LARGEST = 2.0**53
_TWO_52 = 2.0**52  # adding it rounds to an integer


@kernel
def _is_parameter(x: float) -> bool:
    return (x >= _SMALLEST) & (x <= _LARGEST)


@kernel
def _is_number(unsampled: float) -> bool:
    whole = (unsampled >= _TWO_52) | ((unsampled + _TWO_52) - _TWO_52 == unsampled)
    return whole & (unsampled >= 0.0) & (unsampled <= _LARGEST)


@kernel
def _is_law(alpha: float, beta: float, unsampled: float) -> bool:
    return _is_number(unsampled) & _is_parameter(alpha) & _is_parameter(beta)


@kernel
def individual_risk_finite_population_kernel(
    f: float, alpha: float, beta: float, unsampled: float
) -> float:
    """Individual risk E[1/F | f] of a cell in a population of known size.

    F = f + X, and X is beta-binomial: P(X = x) = C(M, x) (alpha)_x
    (beta)_{M-x}/(alpha+beta)_M for x = 0, ..., M. For a sample of n records from N
    people and a Dirichlet law of the cells' probabilities, of precision A and with mean
    pi for this cell, alpha = f + A pi, beta = n - f + A (1 - pi), M = N - n.

    Parameters
    ----------
    f : array_like
        Sample frequency of the cell, real, 2^-10 <= f <= 2^53.
    alpha, beta : array_like
        Parameters of the law of F - f, from 2^-10 to 2^53: the cell has a share
        alpha/(alpha+beta) of the people not in the sample, on average.
    unsampled : array_like
        Number M of people of the population that are not in the sample, whole, 0 <= M
        <= 2^53.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    r : ndarray or scalar
        Individual risk, 1/(f+M) <= r <= 1/f; nan outside the domain. Largest error
        found 0.51 ulp.

    See Also
    --------
    riskcore.individual_risk_with_prior : the limit of a large population, faster.
    riskcore.cell_fully_sampled_probability_finite_population : P(F = f | f).

    Notes
    -----
    A cell takes 1 to 10 microseconds, and the number of people matters little
    (``notes/finite_population.md``, section 6).

    References
    ----------
    Bethlehem, Keller and Pannekoek (1990); Takemura (1999); notes/finite_population.md.

    Examples
    --------
    A sample unique among 100 records from 1,000 people, its cell's share of the
    population expected to be 1 in 500 with a precision of 50:

    >>> import riskcore
    >>> r = riskcore.individual_risk_finite_population(1, 1.1, 148.9, 900)
    >>> round(float(r), 6)
    0.293767
    >>> p = (1.1 + 148.9) / (1.1 + 148.9 + 900)
    >>> round(float(riskcore.individual_risk_with_prior(1, 1.1, p)), 6)
    0.294715
    """
    if not (_is_law(alpha, beta, unsampled) & _is_parameter(f)):
        return math.nan
    r, r_low = inverse_mean(f, alpha, beta, unsampled)
    return r + r_low


@kernel
def log_individual_risk_finite_population_kernel(
    f: float, alpha: float, beta: float, unsampled: float
) -> float:
    """Natural logarithm of the individual risk in a population of known size.

    Parameters
    ----------
    f, alpha, beta, unsampled : array_like
        Sample frequency of the cell, parameters of the law of F - f and number of
        people not in the sample, as for ``individual_risk_finite_population``.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    log_r : ndarray or scalar
        log r; nan outside the domain. Largest error found 0.53 ulp, for |log r| >=
        1/16, or f >= 1 and alpha >= f, or M <= 30; elsewhere the largest absolute
        error found is 2^-57.7, at 17,000 points.

    See Also
    --------
    riskcore.individual_risk_finite_population : r itself, with the definition.

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.log_individual_risk_finite_population(1, 1, 2**40, 1))
    -4.547...e-13
    """
    if not (_is_law(alpha, beta, unsampled) & _is_parameter(f)):
        return math.nan
    return log_inverse_mean(f, alpha, beta, unsampled)


@kernel
def cell_fully_sampled_probability_finite_population_kernel(
    alpha: float, beta: float, unsampled: float
) -> float:
    """Probability P(F = f | f) that nobody of a cell is outside the sample.

    (beta)_M/(alpha+beta)_M; for f = 1 it is the probability that a sample unique is a
    population unique.

    Parameters
    ----------
    alpha, beta : array_like
        Parameters of the law of F - f, from 2^-10 to 2^53.
    unsampled : array_like
        Number M of people of the population that are not in the sample, whole, 0 <= M
        <= 2^53.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    probability : ndarray or scalar
        P(X = 0); nan outside the domain. Largest error found 0.66 ulp.

    See Also
    --------
    riskcore.cell_fully_sampled_probability : the limit of a large population.
    riskcore.individual_risk_finite_population : the risk, with the definition.

    Examples
    --------
    One of three balls of a colour, two of three others: the next one is another.

    >>> import riskcore
    >>> float(riskcore.cell_fully_sampled_probability_finite_population(1, 2, 1))
    0.6666666666666666
    """
    if not _is_law(alpha, beta, unsampled):
        return math.nan
    return gamma_ratio(beta, alpha, unsampled)


@kernel
def log_cell_fully_sampled_probability_finite_population_kernel(
    alpha: float, beta: float, unsampled: float
) -> float:
    """Natural logarithm of P(F = f | f), also where that is 0 as a double.

    Parameters
    ----------
    alpha, beta, unsampled : array_like
        Parameters of the law of F - f and number of people not in the sample, as for
        ``cell_fully_sampled_probability_finite_population``.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    logarithm : ndarray or scalar
        log P(X = 0); nan outside the domain. Largest error found 0.51 ulp.

    See Also
    --------
    riskcore.cell_fully_sampled_probability_finite_population : the probability.

    Examples
    --------
    >>> import riskcore
    >>> name = riskcore.log_cell_fully_sampled_probability_finite_population
    >>> round(float(name(1e6, 1e6, 1e6)), 3)
    -523248.288
    """
    if not _is_law(alpha, beta, unsampled):
        return math.nan
    return log_gamma_ratio(beta, alpha, unsampled)


@kernel
def individual_risk_binomial_kernel(f: float, unsampled: float, share: float) -> float:
    """Individual risk E[1/F | f] where the share of a cell in the population is known.

    F = f + X, and each of the M people not in the sample is in the cell with the same
    probability: X is binomial. It is the limit of ``individual_risk_finite_population``
    for a law of the share that leaves no doubt, alpha -> infinity.

    Parameters
    ----------
    f : array_like
        Sample frequency of the cell, real, 2^-10 <= f <= 2^53.
    unsampled : array_like
        Number M of people of the population that are not in the sample, whole, 0 <= M
        <= 2^53.
    share : array_like
        Probability of the cell, from 0 to 1.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    r : ndarray or scalar
        Individual risk, 1/(f+M) <= r <= 1/f; nan outside the domain. Largest error
        found 0.51 ulp.

    See Also
    --------
    riskcore.individual_risk_finite_population : with a law of the share.
    riskcore.individual_risk_poisson : the limit of a large population.

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.individual_risk_binomial(1, 1, 0.5))  # (1 + 1/2)/2
    0.75
    """
    inside = _is_number(unsampled) & (share >= 0.0) & (share <= 1.0)
    if not (inside & _is_parameter(f)):
        return math.nan
    r, r_low = inverse_mean_binomial(f, share, unsampled)
    return r + r_low


@kernel
def cell_fully_sampled_probability_binomial_kernel(
    unsampled: float, share: float
) -> float:
    """Probability (1 - share)^M that nobody of a cell is outside the sample.

    Parameters
    ----------
    unsampled : array_like
        Number M of people of the population that are not in the sample, whole, 0 <= M
        <= 2^53.
    share : array_like
        Probability that one of them is in the cell, from 0 to 1.
    out, where, casting, order, dtype, subok
        As for any NumPy ufunc; the arguments broadcast.

    Returns
    -------
    probability : ndarray or scalar
        P(X = 0); nan outside the domain. Largest error found 0.62 ulp.

    See Also
    --------
    riskcore.cell_fully_sampled_probability_finite_population : with a law of the share.

    Examples
    --------
    >>> import riskcore
    >>> float(riskcore.cell_fully_sampled_probability_binomial(2, 0.5))
    0.25
    """
    if not (_is_number(unsampled) & (share >= 0.0) & (share <= 1.0)):
        return math.nan
    if (unsampled == 0.0) | (share == 1.0):
        return 1.0 if unsampled == 0.0 else 0.0
    value, rest = exp_parts(*dd_multiply_double(*dd_log1p(-share, 0.0), unsampled))
    return value + rest


# From bench/worst_points.csv.
CONTRACTS = (
    Contract(
        "individual_risk_finite_population",
        ulps=1,
        worst=0.51,
        witness=(
            "0x1.9d50b1cbd0a49p-10",
            "0x1.3604ef9608cccp-4",
            "0x1.52855c14a68e2p+15",
            "0x1.134c000000000p+14",
        ),
        region="the whole domain",
    ),
    Contract(
        "log_individual_risk_finite_population",
        ulps=1,
        worst=0.53,
        witness=(
            "0x1.0000000000000p-1",
            "0x1.0000000000000p+1",
            "0x1.ee00000000000p+8",
            "0x1.f000000000000p+7",
        ),
        region="f >= 1 and alpha >= f, or |log r| >= 1/16",
    ),
    Contract(
        "cell_fully_sampled_probability_finite_population",
        ulps=1,
        worst=0.66,
        witness=(
            "0x1.168e6d9705697p+26",
            "0x1.8b0f076731a5ep-2",
            "0x1.0000000000000p+0",
        ),
    ),
    Contract(
        "log_cell_fully_sampled_probability_finite_population",
        ulps=1,
        worst=0.51,
        witness=(
            "0x1.2c7a44b02c827p+2",
            "0x1.82daa39b8031ep+2",
            "0x1.4000000000000p+3",
        ),
        region="M > 0",
    ),
    Contract(
        "individual_risk_binomial",
        ulps=1,
        worst=0.51,
        witness=(
            "0x1.4000000000000p+2",
            "0x1.d3fb540000000p+23",
            "0x1.4cc024695dc2cp-21",
        ),
        region="the whole domain",
    ),
    Contract(
        "cell_fully_sampled_probability_binomial",
        ulps=1,
        worst=0.62,
        witness=(
            "0x1.3ee0000000000p+12",
            "0x1.01cab01757db9p-9",
        ),
    ),
)

UFUNCS: dict[str, UfuncSource | Callable[..., float]] = {
    "cell_fully_sampled_probability_binomial": (
        cell_fully_sampled_probability_binomial_kernel
    ),
    "individual_risk_binomial": individual_risk_binomial_kernel,
    "cell_fully_sampled_probability_finite_population": (
        cell_fully_sampled_probability_finite_population_kernel
    ),
    "individual_risk_finite_population": individual_risk_finite_population_kernel,
    "log_cell_fully_sampled_probability_finite_population": (
        log_cell_fully_sampled_probability_finite_population_kernel
    ),
    "log_individual_risk_finite_population": (
        log_individual_risk_finite_population_kernel
    ),
}


__getattr__ = on_demand(__name__, UFUNCS)
