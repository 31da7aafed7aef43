"""Disclosure risk in subpopulations, and the smallest safe subpopulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from riskcore.core.compiled.ufunc_maker import Contract, ufunc_of, with_ufunc
from riskcore.core.special.double_double import dd_add, dd_divide, dd_log, dd_multiply
from riskcore.core.special.elementary import exp_parts, exprel
from riskcore.core.special.floats import two_product, two_sum
from riskcore.intruder.arguments import LARGEST, as_beta, checked
from riskcore.intruder.hazards import (
    hazard_of_one,
    hazard_of_sample,
    one_or_more,
    sum_along,
)


def subpopulation_risk(
    n: ArrayLike,
    N: ArrayLike,
    acquaintances: ArrayLike,
    unique_fraction: ArrayLike,
    form: str = "hypergeometric",
    axis: int = -1,
) -> Any:
    """Return the risk of at least one disclosure in several subpopulations.

    ln(1 - R) is the sum of ln(1 - R_j) over the subpopulations j.

    Parameters
    ----------
    n, N, acquaintances, unique_fraction : array_like
        As in `disclosure_risk`, for each subpopulation.
    form : {"hypergeometric", "binomial", "exponential"}
        As in `disclosure_risk`; "exponential" is equation 13 of Mokken et al. (1992).
    axis : int
        The axis of the subpopulations, after broadcasting.

    Returns
    -------
    float or ndarray
        Error below 3 ulp in the samples of the tests; sums are rounded once.

    Raises
    ------
    TypeError
        If an argument is not numbers.
    ValueError
        If an argument is outside its domain, or the form is unknown.

    Examples
    --------
    >>> float(subpopulation_risk([50, 80], [5000, 9000], 20, [0.01, 0.02]))
    0.00554...
    """
    hazard = hazard_of_sample(n, N, acquaintances, unique_fraction, 1, form)
    return ufunc_of(one_or_more)(1.0, sum_along(np.atleast_1d(hazard), axis))


def maximal_subpopulation_risk(
    sampling_fraction: ArrayLike,
    acquaintances: ArrayLike,
    unique_fraction: ArrayLike,
    axis: int = -1,
) -> Any:
    """Return the largest risk, with all acquaintances in the worst subpopulation.

    R = 1 - exp(-a max_j f_j f_uj).

    Parameters
    ----------
    sampling_fraction, unique_fraction : array_like
        Sampling fraction f_j and fraction f_uj of uniques of each subpopulation, in
        [0, 1].
    acquaintances : array_like
        Size a of the whole circle, without the axis of the subpopulations.
    axis : int
        The axis of the subpopulations, after broadcasting.

    Returns
    -------
    float or ndarray
        The risk in exponential form. Error below 3 ulp; the largest found is 1.81 ulp.

    Raises
    ------
    TypeError
        If an argument is not numbers.
    ValueError
        If an argument is outside its domain.

    Notes
    -----
    Mokken et al. (1992), equation 14, there for equal f_j.

    Examples
    --------
    >>> float(maximal_subpopulation_risk(0.01, 1000, [0.001, 0.0005]))
    0.00995...
    """
    f = checked("sampling_fraction", sampling_fraction, 0.0, 1.0)
    f_u = checked("unique_fraction", unique_fraction, 0.0, 1.0)
    a = checked("acquaintances", acquaintances, 0.0, LARGEST)
    worst = np.max(np.atleast_1d(f * f_u), axis=axis)
    return ufunc_of(one_or_more)(a, worst)


def maximal_unique_fraction(
    gamma: ArrayLike, acquaintances: ArrayLike, sampling_fraction: ArrayLike
) -> Any:
    """Return C = -ln(1 - gamma)/(a f), the fraction f_u at which the risk is gamma.

    Parameters
    ----------
    gamma : array_like
        Accepted risk, in [0, 1].
    acquaintances : array_like
        Size a of the circle, not negative.
    sampling_fraction : array_like
        Sampling fraction f, in [0, 1].

    Returns
    -------
    float or ndarray
        The fraction, infinity for a f = 0; from 1 on, any fraction is safe. Error below
        3 ulp; the largest found is 2.28 ulp.

    Raises
    ------
    TypeError
        If an argument is not numbers.
    ValueError
        If an argument is outside its domain.

    Notes
    -----
    Mokken et al. (1992), equations 15 and 16.

    Examples
    --------
    >>> float(maximal_unique_fraction(0.001, 300, 0.01))
    0.00033350...
    """
    gamma = checked("gamma", gamma, 0.0, 1.0)
    a = checked("acquaintances", acquaintances, 0.0, LARGEST)
    sampled_acquaintances = a * checked(
        "sampling_fraction", sampling_fraction, 0.0, 1.0
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        limit = ufunc_of(hazard_of_one)(1.0, 1.0, gamma) / sampled_acquaintances
    return np.where(sampled_acquaintances == 0.0, math.inf, limit)[()]


def minimal_subpopulation(
    gamma: ArrayLike,
    acquaintances: ArrayLike,
    sampling_fraction: ArrayLike,
    beta: ArrayLike,
    K: ArrayLike,
) -> Any:
    """Return N_min, the size of a subpopulation at which the largest risk is gamma.

    N_min = (C^(-1/(1 + alpha)) - 1)/beta with alpha = 1/(K beta) and C from
    `maximal_unique_fraction`; every larger subpopulation is safe.

    Parameters
    ----------
    gamma, acquaintances, sampling_fraction : array_like
        As in `maximal_unique_fraction`.
    beta : array_like
        Parameter of the Poisson-gamma model, in [0, 1e280]; for 0 N_min is -K ln C.
    K : array_like
        Number of key values without the subpopulations, at least 1.

    Returns
    -------
    float or ndarray
        The size; zero or negative where C >= 1 and every size is safe. Error of a few
        ulp, times 1/|ln C| near C = 1, where N_min is 0.

    Raises
    ------
    TypeError
        If an argument is not numbers.
    ValueError
        If an argument is outside its domain.

    Notes
    -----
    Mokken et al. (1992), equation 17.

    Examples
    --------
    >>> float(minimal_subpopulation(0.001, 100, 0.01, 0.0074057310216, 1108))
    63595.57...
    """
    limit = maximal_unique_fraction(gamma, acquaintances, sampling_fraction)
    K = checked("K", K, 1.0, LARGEST)
    return ufunc_of(_minimal_subpopulation)(limit, as_beta(beta), K)


@with_ufunc
def _minimal_subpopulation(limit: float, beta: float, K: float) -> float:
    """Return (exp(y) - 1)/beta, y = -log(limit) K beta/(1 + K beta)."""
    if limit == 0.0:
        return math.inf
    if math.isinf(limit):
        return -1.0 / beta if beta > 0.0 else -math.inf
    spread, spread_low = two_product(K, beta)
    total, total_low = dd_add(1.0, 0.0, spread, spread_low)
    log, log_low = dd_log(limit, 0.0)
    share, share_low = dd_divide(spread, spread_low, total, total_low)
    y, y_low = dd_multiply(-log, -log_low, share, share_low)
    if abs(y) <= 0.5:
        return -log * (K / total) * exprel(-y)
    value, correction = exp_parts(y, y_low)
    high, low = two_sum(value, -1.0)
    return (high + (low + correction)) / beta


# From bench/search.py; a test evaluates the witnesses again.
CONTRACTS = (
    Contract("maximal_unique_fraction", ulps=3, worst=2.28,
             witness=("0x1.014f4da47bd77p-7", "0x1.f3cp+11", "0x1.0c53967c64c28p-16")),
    Contract("maximal_subpopulation_risk", ulps=3, worst=1.81,
             witness=("0x1.94b5761c8a5a9p-9", "0x1.f6cp+10", "0x1.4575c8a2efab2p-17")),
)  # fmt: skip
