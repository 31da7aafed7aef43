"""Disclosure risk on one key, and the sampling fraction it allows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from riskcore.common.arguments import not_one_of
from riskcore.core.compiled.ufunc_maker import Contract, ufunc_of
from riskcore.intruder.arguments import FORMS, checked, people, setting
from riskcore.intruder.hazards import (
    expected_union,
    hazard_of_one,
    hazard_of_sample,
    hypergeometric_size,
    one_or_more,
)


def expected_disclosures(
    n: ArrayLike, N: ArrayLike, acquaintances: ArrayLike, unique_fraction: ArrayLike
) -> Any:
    """Return the expected number of unique acquaintances in the sample, n f_a f_u.

    Mokken et al. (1992), equation 4.

    Parameters
    ----------
    n, N, acquaintances, unique_fraction : array_like
        As in `disclosure_risk`.

    Returns
    -------
    float64 or ndarray of float64

    Examples
    --------
    >>> float(expected_disclosures(1000, 100_000, 300, 0.01))
    0.03
    """
    n, N, circle, fraction = setting(n, N, acquaintances, unique_fraction)
    return (n * (circle * fraction) / N)[()]


def disclosure_risk(
    n: ArrayLike,
    N: ArrayLike,
    acquaintances: ArrayLike,
    unique_fraction: ArrayLike,
    investigators: ArrayLike = 1,
    form: str = "hypergeometric",
) -> Any:
    """Return R, the probability of at least one disclosure.

    Parameters
    ----------
    n : array_like
        Size of the sample, a real number from 0 to N.
    N : array_like
        Size of the population, a positive number up to 2^53.
    acquaintances : array_like
        Size a of the circle of acquaintances, a real number from 0 to N.
    unique_fraction : array_like
        Fraction f_u of the population that is unique, in [0, 1], estimated by
        `unique_fraction`, or by another model as population uniques over N.
    investigators : array_like
        Number m of investigators, a whole number >= 1. Each has a circle of a people
        drawn at random; the expected size of the union replaces a (equation 21 in 19).
    form : {"hypergeometric", "binomial", "exponential"}
        - "hypergeometric": u = a f_u unique acquaintances, n records without
          replacement: R = 1 - C(N-u, n)/C(N, n). For n and u between whole numbers,
          R is the weighted mean of the risks at these, with means n and u (see Notes);
        - "binomial": 1 - (1 - f_a f_u)^n, equation 5;
        - "exponential": 1 - exp(-n f_a f_u), equation 6.

    Returns
    -------
    float or ndarray
        Error below 3 ulp, below 4 for "hypergeometric"; the largest found is 3.09 ulp.

    Raises
    ------
    TypeError
        If an argument is not numbers.
    ValueError
        If an argument is outside its domain, or the form is unknown.

    See Also
    --------
    AcquaintancesDistribution.disclosure_risk : m investigators without approximation.
    subpopulation_risk : unequal fractions in subpopulations.

    Notes
    -----
    Mokken et al. (1992), equations 5, 6, 18, 19. For whole n "exponential" <=
    "binomial" <= "hypergeometric" <= n f_a f_u; nearly equal when f_a f_u and n/N are
    small.

    The source does not define the hypergeometric form where u = N f_a f_u is not a
    whole number. The weighted mean keeps the expected number of disclosures n f_a f_u
    (equation 4), a bound of R, and no other distribution of u with this mean has a
    larger risk. For u < 1 R is n f_a f_u. Gamma functions instead of factorials would
    exceed equation 4 there; rounding u would give 0 for u < 1/2; a random number of
    uniques among a acquaintances would give less (``notes/errata.md``, section 6).

    Examples
    --------
    Last row of Table 1 of Mokken et al. (1992), with f_u in three digits:

    >>> f_u = np.array([0.00217, 0.001, 0.00046])
    >>> N = np.array([31_812, 63_624, 127_248])
    >>> disclosure_risk(0.01 * N, N, 1000, f_u, form="binomial").round(5)
    array([0.02147, 0.00995, 0.00459])
    """
    hazard = hazard_of_sample(n, N, acquaintances, unique_fraction, investigators, form)
    return ufunc_of(one_or_more)(1.0, hazard)


def maximal_sampling_fraction(
    gamma: ArrayLike,
    N: ArrayLike,
    acquaintances: ArrayLike,
    unique_fraction: ArrayLike,
    investigators: ArrayLike = 1,
    form: str = "hypergeometric",
) -> Any:
    """Return f_max, the sampling fraction at which the disclosure risk is gamma.

    Parameters
    ----------
    gamma : array_like
        Accepted risk, in [0, 1].
    N, acquaintances, unique_fraction, investigators : array_like
        As in `disclosure_risk`.
    form : {"hypergeometric", "binomial", "exponential", "linear"}
        The form of the risk: equations 7 (binomial), 8 (exponential) and 9 (linear,
        gamma/(a f_u), the smallest).

    Returns
    -------
    float or ndarray
        The fraction n/N. Above 1 (infinity for "hypergeometric", or if no acquaintance
        is unique) any sample is safe. Error below 3 ulp, for "hypergeometric" the error
        of the risk; the largest found is 2.41 ulp.

    Raises
    ------
    TypeError
        If an argument is not numbers.
    ValueError
        If an argument is outside its domain, or the form is unknown.

    Examples
    --------
    >>> float(maximal_sampling_fraction(0.001, 63_624, 300, 0.001))
    0.00333...
    """
    gamma = checked("gamma", gamma, 0.0, 1.0)
    N, circle, fraction = people(N, acquaintances, unique_fraction)
    circle = expected_union(N, circle, investigators)
    accepted = ufunc_of(hazard_of_one)(1.0, 1.0, gamma)
    uniques = circle * fraction
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if form == "hypergeometric":
            size = ufunc_of(hypergeometric_size)(accepted, N, uniques) / N
        elif form == "binomial":
            record_hazard = ufunc_of(hazard_of_one)(N, circle, fraction)
            size = accepted / (N * record_hazard)
            size = np.where(np.isinf(accepted), math.inf, size)
        elif form == "exponential":
            size = accepted / uniques
        elif form == "linear":
            size = gamma / uniques
        else:
            raise not_one_of("form", form, (*FORMS, "linear"))
    return np.where(uniques == 0.0, math.inf, size)[()]


# From bench/search.py; a test evaluates the witnesses again.
CONTRACTS = (
    Contract("disclosure_risk, hypergeometric", ulps=4, worst=3.09,
             witness=("0x1.08a882ec57b2p+26", "0x1.d155e6p+26", "0x1.2p+4",
                      "0x1.35d459ffb691cp-52")),
    Contract("disclosure_risk, binomial", ulps=3, worst=2.09,
             witness=("0x1.6e361c98304d8p+26", "0x1.cd80f78p+28", "0x1.9p+5",
                      "0x1.6ba3fe48c2146p-54")),
    Contract("disclosure_risk, exponential", ulps=3, worst=2.60,
             witness=("0x1.0180ccece1d74p+12", "0x1.2b9ce44p+26", "0x1.0e49ep+21",
                      "0x1.eb2c8d884e588p-15")),
    Contract("maximal_sampling_fraction, binomial", ulps=3, worst=2.41,
             witness=("0x1.1ee322a960939p-5", "0x1.1cbb4f1p+29",
                      "0x1.05f86f14aeap+27", "0x1.2042ff1b565afp-10")),
    Contract("maximal_sampling_fraction, exponential", ulps=3, worst=2.27,
             witness=("0x1.07bdb73288613p-28", "0x1.641bcp+18", "0x1.0bp+9",
                      "0x1.fb587987c19e8p-43")),
    Contract("maximal_sampling_fraction, linear", ulps=3, worst=1.43,
             witness=("0x1.f9bef25a12bebp-13", "0x1.45b7343p+28",
                      "0x1.0572b28d72418p+25", "0x1.fd3130e7dea3cp-1")),
)  # fmt: skip
