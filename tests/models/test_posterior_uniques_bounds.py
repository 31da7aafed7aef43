"""Proven bounds of the distribution of tau, against rational numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.models import posterior_uniques_bounds
from riskcore.models.posterior_uniques import tau_distribution, tau_mean
from riskcore.models.posterior_uniques_bounds import tau_distribution_bounds


def exact_law(A, b, M, m1):
    """Follow the chain of the number of uniques left, in rational numbers."""
    A, b = Fraction(A), Fraction(b)
    law = {m1: Fraction(1)}
    for t in range(M):
        following = {}
        for e, chance in law.items():
            hazard = e * b / (A + t)
            following[e] = following.get(e, 0) + chance * (1 - hazard)
            following[e - 1] = following.get(e - 1, 0) + chance * hazard
        law = following
    return [law.get(k, Fraction(0)) for k in range(m1 + 1)]


def assert_enclosed(bounds, law, ulps=1):
    for k, (low, high, exact) in enumerate(zip(*bounds, law, strict=True)):
        assert Fraction(float(low)) <= exact <= Fraction(float(high)), k
        if exact == 0:
            assert low == high == 0.0
        elif exact > 5e-324:
            assert low > 0.0
            assert high - low <= ulps * math.ulp(high)


@given(
    m1=st.integers(1, 6),
    M=st.integers(0, 14),
    b=st.sampled_from([1.0, 0.3, 0.75, 1.7, 2.0**-60, 40.1]),
    more=st.sampled_from([0.0, 0.1, 3.7, 1e6, 1e20]),
)
def test_bounds_are_neighbours_around_the_law(m1, M, b, more):
    A = max(m1 * b, m1) + more
    if Fraction(A) < m1 * Fraction(b):
        A = math.nextafter(A, math.inf)
    assert_enclosed(tau_distribution_bounds(A, b, M, m1), exact_law(A, b, M, m1), 2)


def test_nothing_underflows_to_zero():
    # P(tau = 0) and P(tau = m1) far below 1e-90.
    A, m1, M = 2000.5, 150, 300
    law = exact_law(A, 1.0, M, m1)
    assert law[0] < Fraction(10) ** -90
    assert_enclosed(tau_distribution_bounds(A, 1.0, M, m1), law, 2)
    assert tau_distribution(A, 1.0, M, m1)[0] == 0.0
    law = exact_law(A, 0.75, M, m1)
    assert law[0] < Fraction(10) ** -90
    assert_enclosed(tau_distribution_bounds(A, 0.75, M, m1), law, 2)


def test_down_to_the_smallest_doubles():
    A, m1 = 2.0**85, 40
    law = exact_law(A, 0.5, 14, m1)
    assert 0 < law[m1 - 14] < Fraction(5e-324)
    lower, upper = bounds = tau_distribution_bounds(A, 0.5, 14, m1)
    assert_enclosed(bounds, law, 2)
    assert (lower[m1 - 14], upper[m1 - 14]) == (0.0, 5e-324)
    assert lower[m1 - 13] > 0.0


@pytest.mark.parametrize(
    ("A", "m1"), [(1500.25, 300), (10.0, 10), (11.0, 10), (9e5, 3)]
)
@pytest.mark.parametrize("M", [400, 10**6, 2**53])
def test_ratios_for_weights_of_one(A, m1, M):
    """The chain's formula where it can be run; the sum and the mean elsewhere."""
    lower, upper = tau_distribution_bounds(A, 1.0, M, m1)
    assert math.fsum(lower) <= 1.0 <= math.fsum(upper)
    k = np.arange(m1 + 1)
    mean = tau_mean(A, 1.0, M, m1)
    assert math.fsum(k * lower) <= mean * (1 + 1e-15)
    assert math.fsum(k * upper) >= mean * (1 - 1e-15)
    if M == 400:
        chain = np.zeros(m1 + 1), np.zeros(m1 + 1)
        states = min(M, m1) + 1
        posterior_uniques_bounds.write_chain(
            A, 1.0, M, m1, np.zeros((states, 3)), *chain
        )
        assert np.all(np.maximum(chain[0], lower) <= np.minimum(chain[1], upper))


def test_the_fast_law_is_inside_but_for_its_error():
    A, b, M, m1 = 5000.0, 1.2, 20_000, 200
    lower, upper = tau_distribution_bounds(A, b, M, m1)
    fast = tau_distribution(A, b, M, m1)
    large = lower > 1e-20
    assert np.abs(fast[large] / lower[large] - 1).max() < 1e-12
    assert np.abs(upper[large] / lower[large] - 1).max() < 5e-16


def test_refusals():
    with pytest.raises(ValueError, match="need M min"):
        tau_distribution_bounds(1e6, 0.5, 10**7, 1000)
    with pytest.raises(ValueError, match="weigh more"):
        tau_distribution_bounds(10.0, 2.0, 5, 9)
    assert tau_distribution_bounds(1.0, 1.0, 7, 0)[0].tolist() == [1.0]
