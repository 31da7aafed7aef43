"""Proven bounds of the posterior distribution of tau.

``riskcore.models.posterior_uniques`` follows its chain in doubles, or integrates; its
errors are measured, and tails below 1e-30 are 0. Here the same chain runs in balls,
which carry a proven bound of their error, and nothing is left out. For uniques of
weight b = 1 (Ewens) the distribution is negative hypergeometric, and neighbouring
probabilities have a rational ratio: no chain is needed (notes/population_models.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.compiled.jit import kernel, native
from riskcore.models.posterior_uniques import checked
from riskcore.special.balls import (
    Ball,
    add,
    add_double,
    divide,
    multiply,
    multiply_double,
    shift,
)
from riskcore.special.floats import bits, from_bits, two_product, two_sum

_MOST_STEPS = 2**27  # steps times states of the chain: some seconds
_MOST_UNIQUES = 2**24
# Probabilities are multiples of 2^-800: down to 2^-1074 they keep their digits.
_UNIT = 2.0**800


def tau_distribution_bounds(
    A: float, b: float, M: int, m1: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return doubles proven to enclose P(tau = k), for k = 0, ..., m1.

    Parameters
    ----------
    A, b, M, m1
        As for ``riskcore.models.posterior_uniques.tau_mean``, taken as the doubles they
        are. M min(M, m1) up to 2^27 (1.3e8), or b = 1 and m1 up to 2^24.

    Returns
    -------
    lower, upper : float64 ndarray, shape (m1 + 1,)
        Bounds of the probabilities, as a rule neighbours; both are 0 where tau cannot
        be k.

    Raises
    ------
    TypeError, ValueError
        As ``tau_mean`` does, and if the sizes are beyond those above: for them there is
        no proof.

    See Also
    --------
    riskcore.models.posterior_uniques.tau_distribution : fast, with measured errors.

    Notes
    -----
    All terms are positive, in arithmetic that carries its own error. Probabilities
    down to the smallest double are enclosed. A step of the chain takes some 0.05
    microseconds a state.

    Examples
    --------
    >>> lower, upper = tau_distribution_bounds(A=5.0, b=1.0, M=3, m1=2)
    >>> lower.round(6), bool((upper - lower).max() < 1e-15)
    (array([0.142857, 0.571429, 0.285714]), True)
    """
    A, b, M, m1 = checked(A, b, M, m1)
    lower, upper = np.zeros(m1 + 1), np.zeros(m1 + 1)
    states = min(M, m1) + 1
    if states == 1:  # nobody is unseen, or there is no unique
        lower[m1] = upper[m1] = 1.0
    elif b == 1.0 and m1 <= _MOST_UNIQUES:
        write_ratios(A, M, m1, np.empty((states, 3)), lower, upper)
    elif M * (states - 1) <= _MOST_STEPS:
        write_chain(A, b, M, m1, np.zeros((states, 3)), lower, upper)
    else:
        raise ValueError(
            f"M={M}, m1={m1}: need M min(M, m1) up to 2^27, or b = 1 and m1 up to 2^24"
        )
    return lower, upper


# --- the chain -----------------------------------------------------------------------


@kernel
def _rest(A: float, b: float, m1: float) -> Ball:
    """Return a ball around A - m1 b, 0 where that is below 0."""
    product, low = two_product(b, m1)
    s, s_low = two_sum(A, -product)
    high, low, radius = add((s, s_low, 0.0), (-low, 0.0, 0.0))
    if high <= 0.0:
        return 0.0, 0.0, 0.0
    return high, low, radius


@native("float64, float64, int64, int64, float64*, float64*, float64*")
def write_chain(
    A: float, b: float, M: int, m1: int, hit: Any, lower: Any, upper: Any
) -> None:
    """Follow the number of uniques hit, and write bounds of its distribution."""
    rest = _rest(A, b, float(m1))
    states = min(M, m1) + 1
    hit[0] = _UNIT
    for t in range(M):
        high, low = two_sum(A, float(t))
        whole = (high, low, 0.0)
        share = divide((1.0, 0.0, 0.0), whole)
        for d in range(min(t + 1, states - 1), -1, -1):
            a, a_low = two_product(b, float(d))
            stay = add(add_double(rest, float(t)), (a, a_low, 0.0))
            value = multiply(stay, (hit[3 * d], hit[3 * d + 1], hit[3 * d + 2]))
            if d > 0:
                a, a_low = two_product(b, float(m1 - d + 1))
                i = 3 * (d - 1)
                come = multiply((a, a_low, 0.0), (hit[i], hit[i + 1], hit[i + 2]))
                value = add(value, come)
            value = multiply(value, share)
            if d == 0 and rest[0] == 0.0:  # the first record hits a unique
                value = (0.0, 0.0, 0.0)
            hit[3 * d], hit[3 * d + 1], hit[3 * d + 2] = value
    for d in range(states):
        value = (hit[3 * d], hit[3 * d + 1], hit[3 * d + 2])
        lower[m1 - d], upper[m1 - d] = _rounded(value)


# --- the negative hypergeometric distribution ----------------------------------------


@kernel
def _ratio(A: float, M: int, m1: int, k: int) -> Ball:
    """Return a ball around P(tau = k+1)/P(tau = k) for b = 1.

    (m1-k) (A-k-1)/((k+1) (M-m1+k+1)): from C(m1, k) (A-k)_(M-m1+k)/(M-m1+k)!.
    """
    high, low = two_sum(A, -float(k + 1))
    above = multiply_double((high, low, 0.0), float(m1 - k))
    product, product_low = two_product(float(k + 1), float(M - m1 + k + 1))
    return divide(above, (product, product_low, 0.0))


@native("float64, int64, int64, float64*, float64*, float64*")
def write_ratios(A: float, M: int, m1: int, odds: Any, lower: Any, upper: Any) -> None:
    """Write bounds of the distribution for b = 1, from the ratios of its terms."""
    least = m1 - min(M, m1)
    states = m1 - least + 1
    mode = 0
    while mode < states - 1 and _ratio(A, M, m1, least + mode)[0] > 1.0:
        mode += 1
    total = value = (_UNIT, 0.0, 0.0)
    odds[3 * mode], odds[3 * mode + 1], odds[3 * mode + 2] = value
    for i in range(mode, states - 1):
        ratio = _ratio(A, M, m1, least + i)
        value = multiply(value, ratio) if ratio[0] > 0.0 else (0.0, 0.0, 0.0)
        odds[3 * i + 3], odds[3 * i + 4], odds[3 * i + 5] = value
        total = add(total, value)
    value = (_UNIT, 0.0, 0.0)
    for i in range(mode - 1, -1, -1):
        value = divide(value, _ratio(A, M, m1, least + i))
        odds[3 * i], odds[3 * i + 1], odds[3 * i + 2] = value
        total = add(total, value)
    whole = shift(total, 1.0 / _UNIT)
    for i in range(states):
        value = (odds[3 * i], odds[3 * i + 1], odds[3 * i + 2])
        if value[0] > 0.0:
            value = divide(value, whole)
        lower[least + i], upper[least + i] = _rounded(value)


# --- doubles around a ball -----------------------------------------------------------


@kernel
def _rounded(x: Ball) -> tuple[float, float]:
    """Return doubles around the members of a ball, at least 0, over ``_UNIT``."""
    high, low, radius = x
    if high == 0.0 and radius == 0.0:
        return 0.0, 0.0
    if radius <= 2.0**-60 * high:  # low is at most half an ulp
        below = high if low >= radius else from_bits(bits(high) - 1)
        above = high if low <= -radius else from_bits(bits(high) + 1)
    else:
        below = max(high - 2.0 * radius, 0.0) * (1.0 - 2.0**-50)
        above = (high + 2.0 * radius) * (1.0 + 2.0**-50)
    lower, upper = below / _UNIT, above / _UNIT
    if lower * _UNIT > below:
        lower = from_bits(bits(lower) - 1)
    if upper * _UNIT < above:
        upper = from_bits(bits(upper) + 1)
    return lower, min(upper, 1.0)
