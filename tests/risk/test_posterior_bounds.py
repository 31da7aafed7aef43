"""Proven bounds of the tails and quantiles of F, against Arb and rational numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

import riskcore
from riskcore.risk import posterior_bounds
from riskcore.special.negative_binomial import enclosure

DISTRIBUTION = posterior_bounds.population_frequency_distribution_bounds
SURVIVAL = posterior_bounds.population_frequency_survival_bounds
QUANTILE = posterior_bounds.population_frequency_quantile_bounds


@pytest.fixture(autouse=True)
def precision():
    before = ctx.prec
    yield
    ctx.prec = before


def rational_survival(f, k, p):
    """Return P(F > k): fewer than f successes in k trials."""
    a, scale = Fraction(p).as_integer_ratio()
    total, odds = 0, 1
    # Horner's rule from the last term, over a common denominator.
    for i in range(min(f, k + 1)):
        total += math.comb(k, i) * odds * (scale - a) ** (min(f, k + 1) - 1 - i)
        odds *= a
    total *= (scale - a) ** (k - min(f, k + 1) + 1)
    return Fraction(total, scale**k)


def exact_tails(f, k, p):
    """Return P(F <= k) and P(F > k) by the sum of f terms in Arb's arithmetic."""
    bits = 200
    while bits < 40_000:  # the smaller one has its digits at once
        ctx.prec = bits
        q = 1 - arb(p)
        odds = arb(p) / q
        term = upper = q**k
        for i in range(1, f):
            term = term * odds * (k - i + 1) / i
            upper += term
        lower = 1 - upper
        if min(lower.rel_accuracy_bits(), upper.rel_accuracy_bits()) > 90:
            return lower, upper
        bits *= 2
    raise AssertionError("Arb has no digits")


def assert_enclosed(lower, upper, exact):
    """Check that doubles are around a value, two ulp apart only if it nearly is one."""
    assert arb(lower) <= exact
    assert upper == 1.0 or exact <= arb(upper)
    between = math.nextafter(lower, math.inf)
    if upper not in (lower, between):
        assert upper == math.nextafter(between, math.inf)
        assert abs(exact - arb(between)) < arb(2.0**-90) * exact


whole = st.integers(1, 40) | st.integers(41, 3000)
shares = st.floats(1e-12, 1, exclude_max=True) | st.floats(1e-15, 0.1).map(
    lambda d: 1 - d
)


@given(f=whole, p=shares, z=st.floats(-37, 37))
def test_bounds_of_tails_are_neighbours_around_the_exact_value(f, p, z):
    mean, deviation = f / p, math.sqrt(f * (1 - p)) / p
    k = min(max(math.floor(mean + z * deviation), f), 10**15)
    lower, upper = exact_tails(f, k, p)
    for bounds, exact in ((DISTRIBUTION, lower), (SURVIVAL, upper)):
        assert_enclosed(*map(float, bounds(k, f, p)), exact)


@pytest.mark.parametrize("f", [1, 2, 3, 31, 32, 33, 80])
@pytest.mark.parametrize("p", [2.0**-900, 1e-100, 1e-9, 0.125, 0.3, 0.5, 0.875,
                               1 - 2.0**-53])  # fmt: skip
@pytest.mark.parametrize("beyond", [0, 1, 2, 31, 63, 64, 65])
def test_bounds_against_rational_numbers(f, p, beyond):
    k = f + beyond
    upper = rational_survival(f, k, p)
    for bounds, exact in ((DISTRIBUTION, 1 - upper), (SURVIVAL, upper)):
        low, high = map(float, bounds(k, f, p))
        assert Fraction(low) <= exact <= Fraction(high)
        ctx.prec = 400
        assert_enclosed(low, high, arb(exact.numerator) / exact.denominator)


@pytest.mark.parametrize("f", [2**14 + 1, 2**20 + 1])
@pytest.mark.parametrize(("p", "z"), [(1e-4, 0.5), (0.9, -20.0), (1e-4, 25.0)])
def test_large_frequencies(f, p, z):
    k = math.floor(f / p + z * math.sqrt(f * (1 - p)) / p)
    ball, n = enclosure.tail_ball(float(f), float(k), p)
    assert n == 0
    assert ball[2] < 2.0**-70 * ball[0]
    # Two neighbouring tails differ by the probability of one value.
    other, _ = enclosure.tail_ball(float(f), k - 1.0, p)
    ctx.prec = 200
    x, q = arb(p), 1 - arb(p)
    log = arb(k).lgamma() - arb(f).lgamma() - arb(k - f + 1).lgamma()
    probability = (log + f * x.log() + (k - f) * q.log()).exp()
    step = sum(map(arb, ball[:2])) - sum(map(arb, other[:2]))
    if enclosure.is_upper(f, k - 1.0, p):
        step = -step
    assert abs(step - probability) <= arb(ball[2]) + arb(other[2])


def test_tails_that_doubles_cannot_hold():
    low, high = map(float, SURVIVAL(10**6, 1, 0.01))
    assert (low, high) == (0.0, 5e-324)
    low, high = map(float, DISTRIBUTION(100, 50, 1e-30))
    assert (low, high) == (0.0, 5e-324)
    assert tuple(map(float, SURVIVAL(100, 50, 1e-30))) == (1 - 2.0**-53, 1.0)
    # Subnormal, and next to the smallest normal double.
    for k in range(70_400, 74_200, 100):
        ctx.prec = 200
        exact = (1 - arb(0.01)) ** k
        low, high = map(float, SURVIVAL(k, 1, 0.01))
        assert arb(low) <= exact
        assert exact <= arb(high)
        assert high == math.nextafter(low, 1)
        assert high < 1e-306


def test_a_tail_of_1e_90_is_no_zero():
    low, high = map(float, SURVIVAL(21_000, 1, 0.01))
    assert low == pytest.approx(2.1855e-92, rel=1e-4)
    assert_enclosed(low, high, exact_tails(1, 21_000, 0.01)[1])


# --- quantiles ---------------------------------------------------------------------


levels = st.floats(1e-12, 1, exclude_max=True) | st.floats(1e-300, 1e-12)


@given(f=whole, p=st.floats(1e-9, 1, exclude_max=True), level=levels)
def test_quantiles_are_proved(f, p, level):
    low, high = map(float, QUANTILE(level, f, p))
    assert low == high
    assert exact_tails(f, int(low), p)[0] >= arb(level)
    if low > f:
        assert exact_tails(f, int(low) - 1, p)[0] < arb(level)


@pytest.mark.parametrize("p", [0.5, 0.25, 0.75, 0.125, 1 - 2.0**-20])
@pytest.mark.parametrize("f", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("beyond", range(12))
def test_where_a_probability_is_the_level(f, p, beyond):
    k = f + beyond
    exact = 1 - rational_survival(f, k, p)
    level = float(exact)
    for given_level in (math.nextafter(level, 0), level, math.nextafter(level, 1)):
        if 0 < given_level < 1:
            low, high = map(float, QUANTILE(given_level, f, p))
            assert low == high
            assert 1 - rational_survival(f, int(low), p) >= Fraction(given_level)
            before = 1 - rational_survival(f, int(low) - 1, p)
            assert before < Fraction(given_level)


def test_quantiles_up_to_the_last_exact_integer():
    f, p = 3, 1e-14
    low, high = map(float, QUANTILE(0.5, f, p))
    assert low == high
    assert low == pytest.approx(
        float(riskcore.population_frequency_quantile(0.5, f, p))
    )
    assert tuple(map(float, QUANTILE(0.5, 3, 1e-17))) == (math.inf, math.inf)


def test_a_wrong_guess_costs_time_alone():
    expected = tuple(map(float, QUANTILE(0.3, 7, 0.001)))
    for start in (7.0, 8.0, 1e4, 2.0**53):
        assert enclosure.quantile_bounds(7.0, 0.001, 0.3, start) == expected


def test_undecided_is_said(monkeypatch):
    # With balls that are too wide to tell, the bounds differ.
    def wide(f, k, p):
        (high, low, _), n = exact(f, k, p)
        return (high, low, 1e-3 * high), n

    exact = enclosure.tail_ball
    monkeypatch.setattr(enclosure, "tail_ball", wide)
    level = 1 - rational_survival(3, 4000, 1 / 1024)
    low, high = enclosure.quantile_bounds(3.0, 1 / 1024, float(level), 4000.0)
    assert low <= 4000 <= high
    assert low < high


# --- the domain --------------------------------------------------------------------


@pytest.mark.parametrize("bounds", [DISTRIBUTION, SURVIVAL, QUANTILE])
def test_outside_the_domain_is_nan(bounds):
    for f, p in ((0, 0.5), (1.5, 0.5), (2**33, 0.5), (1, 0.0), (1, 1.5), (1, -0.1),
                 (math.nan, 0.5), (1, math.nan), (1, 1e-300)):  # fmt: skip
        assert np.isnan(bounds(0.5, f, p)).all()


def test_ends():
    assert tuple(map(float, DISTRIBUTION(math.inf, 3, 0.1))) == (1.0, 1.0)
    assert tuple(map(float, SURVIVAL(math.inf, 3, 0.1))) == (0.0, 0.0)
    assert np.isnan(SURVIVAL([math.nan, 2.0**53 + 2], 3, 0.1)).all()
    assert tuple(map(float, DISTRIBUTION(2.5, 3, 0.1))) == (0.0, 0.0)
    assert tuple(map(float, SURVIVAL(-math.inf, 3, 0.1))) == (1.0, 1.0)
    assert tuple(map(float, DISTRIBUTION(3.5, 3, 1.0))) == (1.0, 1.0)
    assert tuple(map(float, SURVIVAL(3, 3, 1.0))) == (0.0, 0.0)
    assert tuple(map(float, QUANTILE(0.99, 3, 1.0))) == (3.0, 3.0)
    for level in (0.0, 1.0, math.nan, -1.0):
        assert np.isnan(QUANTILE(level, 3, 0.1)).all()


@settings(max_examples=15)
@given(f=st.integers(1, 60), p=st.floats(1e-6, 0.999), z=st.floats(-8, 8),
       level=st.floats(1e-6, 1, exclude_max=True))  # fmt: skip
def test_the_same_bits_interpreted(f, p, z, level):
    k = float(max(math.floor((f + z * math.sqrt(f * (1 - p))) / p), f))
    x = float(f)
    assert tuple(map(float, DISTRIBUTION(k, f, p))) == (
        posterior_bounds.distribution_bounds(k, x, p)
    )
    assert tuple(map(float, SURVIVAL(k, f, p))) == (
        posterior_bounds.survival_bounds(k, x, p)
    )
    assert tuple(map(float, QUANTILE(level, f, p))) == (
        posterior_bounds.bounds_of_quantile(level, x, p)
    )


@given(f=whole, p=shares, z=st.floats(-20, 20))
def test_the_fast_functions_are_within_their_contracts(f, p, z):
    k = max(math.floor((f + z * math.sqrt(f * (1 - p))) / p), f)
    if k > 2**53:
        return
    for bounds, fast, ulps in (
        (DISTRIBUTION, riskcore.population_frequency_distribution, 8),
        (SURVIVAL, riskcore.population_frequency_survival, 10),
    ):
        low, high = map(float, bounds(k, f, p))
        if low > 1e-290:
            away = max(low - fast(k, f, p), fast(k, f, p) - high)
            assert away <= ulps * math.ulp(low)
