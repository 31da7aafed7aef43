import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.core.risk.file_risk import sum_of_products
from riskcore.core.risk.threshold import RiskDistribution

risks = st.floats(0.0, 1.0)
cells = st.lists(st.tuples(risks, st.integers(1, 2**40)), min_size=1, max_size=40).map(
    lambda pairs: tuple(np.array(column) for column in zip(*pairs, strict=True))
)


def exact_sum(risk, frequency):
    pairs = zip(risk, frequency, strict=True)
    return sum((int(f) * Fraction(float(r)) for r, f in pairs), Fraction(0))


def expected_reidentifications(risk, frequency=None):
    return RiskDistribution(risk, frequency).expected_reidentifications


@settings(deadline=None)
@given(cells)
def test_expected_reidentifications_is_correctly_rounded(cells):
    want = float(exact_sum(*cells))
    assert expected_reidentifications(*cells) == sum_of_products(*cells) == want


@pytest.mark.parametrize(
    ("risk", "want"),
    [
        ([1.0, 2.0**-53], 1.0),
        ([1.0, 2.0**-53, 5e-324], 1.0 + 2.0**-52),
        ([1.0, 2.0**-52, 2.0**-53], 1.0 + 2.0**-51),
        ([5e-324] * 7, 7 * 5e-324),
        ([0.0, 0.0], 0.0),
    ],
)
def test_ties_are_decided_by_the_exact_sum(risk, want):
    assert expected_reidentifications(risk) == want


def test_a_sum_with_bits_far_apart_keeps_every_term():
    # Enough cells for two terms in each partial sum, of very unequal size.
    risk = np.tile([1.0, 2.0**-60, 2.0**-110], 400)
    risk[-1] = 2.0**-44
    assert sum_of_products(risk) == math.fsum(risk)


def test_a_tie_below_the_last_bit_of_two_doubles():
    risk = np.zeros(1025)
    # All three go to one partial sum.
    risk[[0, 512, 1024]] = 1.0, 2.0**-53, 2.0**-110
    assert sum_of_products(risk) == 1.0 + 2.0**-52


@pytest.mark.parametrize("n", [1, 511, 512, 513, 100_003])
def test_order_does_not_change_a_bit(n):
    rng = np.random.default_rng(n)
    risk = rng.random(n) ** 20
    frequency = rng.integers(1, 1000, n)
    want = math.fsum(risk)
    for _ in range(5):
        order = rng.permutation(n)
        assert sum_of_products(risk[order]) == want
        again = sum_of_products(risk[order], frequency[order])
        assert again == sum_of_products(risk, frequency)


def test_frequencies_repeat_records():
    risk, frequency = np.array([0.1, 0.7, 0.3]), np.array([3, 1, 2])
    records = np.repeat(risk, frequency)
    assert expected_reidentifications(records) == expected_reidentifications(
        risk, frequency
    )
    single, grouped = RiskDistribution(records), RiskDistribution(risk, frequency)
    assert single.reidentification_rate == grouped.reidentification_rate
    assert single.capped_rate(0.2) == grouped.capped_rate(0.2)
    assert grouped.reidentification_rate == pytest.approx((0.3 + 0.7 + 0.6) / 6)


@pytest.mark.parametrize("kind", ["int8", "uint64", "float64", "float32"])
def test_frequencies_of_any_numeric_type(kind):
    assert expected_reidentifications([0.5, 0.25], np.array([2, 4], kind)) == 2.0


def test_strided_input():
    risk = np.linspace(0, 1, 2001)
    assert expected_reidentifications(risk[::2]) == math.fsum(risk[::2])
    assert expected_reidentifications(risk[::-1]) == math.fsum(risk)
