"""The fraction of population uniques under the Poisson-gamma model."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import ArrayLike

from riskcore.core.compiled.jit import kernel
from riskcore.core.compiled.ufunc_maker import Contract, ufunc_of, with_ufunc
from riskcore.core.special.floats import bits, from_bits
from riskcore.core.special.near_one import log1p, log1pmx
from riskcore.core.special.uniques import unhit_poisson_gamma
from riskcore.intruder.arguments import LARGEST_BETA, as_beta, as_model, checked


def unique_fraction(N: ArrayLike, K: ArrayLike, beta: ArrayLike) -> Any:
    """Return f_u, the expected fraction of population uniques, Poisson-gamma model.

    f_u = (1 + N beta)^-(1 + 1/(K beta)).

    Parameters
    ----------
    N : array_like
        Size of the population or subpopulation, positive, up to 2^53.
    K : array_like
        Number of key values, at least 1.
    beta : array_like
        Parameter of the model, alpha = 1/(K beta); in [0, 1e280], where 0 is the
        Poisson model with f_u = exp(-N/K).

    Returns
    -------
    float or ndarray
        Error below 1 ulp; the largest found is 0.62 ulp.

    Raises
    ------
    TypeError
        If an argument is not numbers.
    ValueError
        If an argument is outside its domain.

    Notes
    -----
    Mokken et al. (1992), equation 10, and with N_j, beta_j equations 11 and 12.

    Examples
    --------
    >>> unique_fraction([31_812, 63_624], 1108, 0.0074057310216).round(6)
    array([0.002171, 0.001   ])
    """
    return ufunc_of(_unique_fraction)(*as_model(N, K), as_beta(beta))


def betas_for_unique_fraction(
    fraction: ArrayLike, N: ArrayLike, K: ArrayLike
) -> tuple[Any, Any]:
    """Return the values of beta at which f_u is a given fraction.

    For N <= 2K f_u falls from exp(-N/K), at beta = 0, to 0: a fraction up to exp(-N/K)
    has one beta. For N > 2K f_u rises first and then falls: a fraction above exp(-N/K),
    up to the highest f_u, has two.

    Parameters
    ----------
    fraction : array_like
        Fraction of population uniques, in (0, 1].
    N, K : array_like
        As in `unique_fraction`.

    Returns
    -------
    smaller, larger : float or ndarray
        The beta where f_u rises and the beta where it falls; nan where there is none,
        and above 1e280. `unique_fraction`, up to its error, crosses ``fraction`` there.

    Raises
    ------
    TypeError
        If an argument is not numbers.
    ValueError
        If an argument is outside its domain.

    Examples
    --------
    >>> smaller, larger = betas_for_unique_fraction(0.001, 63_624, 1108)
    >>> round(float(smaller), 10), round(float(larger), 10)
    (0.0025006335, 0.007405731)
    """
    fraction = checked("fraction", fraction, math.ulp(0.0), 1.0)
    N, K = as_model(N, K)
    smaller = ufunc_of(_beta_rising)(fraction, N, K)
    return smaller, ufunc_of(_beta_falling)(fraction, N, K)


@with_ufunc
def _unique_fraction(N: float, K: float, beta: float) -> float:
    return unhit_poisson_gamma(0.0, N, K, beta)


@kernel
def _rises(N: float, K: float, beta: float) -> bool:
    """Return whether f_u rises: (N/K) ((1+t) log(1+t) - t) > t^2, t = N beta."""
    t = N * beta
    return N / K * (log1pmx(t) / t + log1p(t)) > t


@kernel
def peak_beta(N: float, K: float) -> float:
    """Return the beta of the largest f_u, 0 for N <= 2K."""
    if N <= 2.0 * K:
        return 0.0
    low, high = bits(2.0**-200), bits(LARGEST_BETA)
    while high - low > 1:
        middle = low + ((high - low) >> 1)
        if _rises(N, K, from_bits(middle)):
            low = middle
        else:
            high = middle
    return from_bits(low)


@kernel
def _crossing(
    fraction: float, N: float, K: float, start: float, end: float, sign: float
) -> float:
    """Return the first beta from start to end where sign*(f_u - fraction) >= 0."""
    if sign * (_unique_fraction(N, K, start) - fraction) >= 0.0:
        return start
    low, high = bits(start), bits(end)
    while high - low > 1:
        middle = low + ((high - low) >> 1)
        if sign * (_unique_fraction(N, K, from_bits(middle)) - fraction) >= 0.0:
            high = middle
        else:
            low = middle
    return from_bits(high)


@with_ufunc
def _beta_rising(fraction: float, N: float, K: float) -> float:
    """Return the beta below the peak, nan if there is none."""
    peak = peak_beta(N, K)
    lowest, highest = _unique_fraction(N, K, 0.0), _unique_fraction(N, K, peak)
    if peak == 0.0 or not lowest <= fraction <= highest:
        return math.nan
    return _crossing(fraction, N, K, 0.0, peak, 1.0)


@with_ufunc
def _beta_falling(fraction: float, N: float, K: float) -> float:
    """Return the beta above the peak, nan if there is none."""
    peak = peak_beta(N, K)
    lowest = _unique_fraction(N, K, LARGEST_BETA)
    if not lowest <= fraction <= _unique_fraction(N, K, peak):
        return math.nan
    return _crossing(fraction, N, K, peak, LARGEST_BETA, -1.0)


# From bench/search.py; a test evaluates the witnesses again.
CONTRACTS = (
    Contract("unique_fraction", ulps=1, worst=0.62,
             witness=("0x1.18p+5", "0x1p+0", "0x1.86c43f0410c83p-61")),
)  # fmt: skip
