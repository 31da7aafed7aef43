import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.core.special import double_double
from tests.core.special.pairs import relative

PRECISE = 300  # bits
moderate = st.floats(2.0**-100, 2.0**100) | st.floats(-(2.0**100), -(2.0**-100))
small = st.floats(-1, 1)


def pair(high, share):
    """Return a pair whose low part is a share of half an ulp of the high one."""
    return high, 0.5 * math.ulp(high) * share


def value(parts):
    return Fraction(parts[0]) + Fraction(parts[1])


def assert_near(parts, exact, bits):
    assert abs(value(parts) - exact) <= abs(exact) * Fraction(2) ** -bits
    high, low = parts
    assert high + low == high


@given(moderate, small, moderate, small)
def test_arithmetic(a, a_share, b, b_share):
    x, y = pair(a, a_share), pair(b, b_share)
    exact_x, exact_y = value(x), value(y)
    assert_near(double_double.dd_multiply(*x, *y), exact_x * exact_y, 102)
    assert_near(double_double.dd_divide(*x, *y), exact_x / exact_y, 101)
    assert_near(double_double.dd_add(*x, *y), exact_x + exact_y, 103)


@given(moderate, small)
def test_sum_that_cancels(a, share):
    x = pair(a, share)
    y = pair(-a, 0.7)
    assert_near(double_double.dd_add(*x, *y), value(x) + value(y), 103)


@given(st.floats(2.0**-100, 2.0**100), small)
def test_sqrt(a, share):
    x = pair(a, share)
    root = value(double_double.dd_sqrt(*x))
    assert abs(root * root / value(x) - 1) < Fraction(2) ** -100


def test_log():
    rng = np.random.default_rng(3)
    near_one = 1 + rng.choice([-1, 1], 300) * 2.0 ** -rng.uniform(1, 52, 300)
    ends = [5e-324, 2.0**-1023, 2.0**-1022, 1.7976931348623157e308, 0.5, 2.0]
    root = [math.sqrt(2) * (1 + k * 2.0**-21) for k in range(-5, 6)]
    worst = 0.0
    for x in [*2.0 ** rng.uniform(-1074, 1023, 300), *near_one, *ends, *root]:
        share = rng.uniform(-1, 1) if x > 1e-290 else 0.0
        parts = pair(float(x), share)
        with mpmath.workprec(PRECISE):
            exact = mpmath.log(mpmath.mpf(parts[0]) + parts[1])
        worst = max(worst, relative(double_double.dd_log(*parts), exact))
    assert 2.0**-110 < worst < 2.0**-80
    assert double_double.dd_log(1.0, 0.0) == (0.0, 0.0)


def test_atanh_excess():
    rng = np.random.default_rng(4)
    worst = worst_rounded = 0.0
    for s in rng.choice([-1, 1], 500) * 0.1719 * 2.0 ** -rng.uniform(0, 40, 500):
        with mpmath.workprec(PRECISE):
            exact = mpmath.atanh(mpmath.mpf(s)) - mpmath.mpf(s)
        worst = max(worst, relative(double_double.atanh_excess(float(s), 0.0), exact))
        rounded = (double_double.atanh_excess_rounded(float(s)), 0.0)
        worst_rounded = max(worst_rounded, relative(rounded, exact))
    assert worst < 2.0**-75
    assert worst_rounded < 2.0**-51


@pytest.mark.parametrize("share", [-1.0, 1.0])
def test_atanh_excess_sees_the_low_word(share):
    s, s_low = pair(0.1, share)
    with mpmath.workprec(PRECISE):
        exact_s = mpmath.mpf(s) + s_low
        exact = mpmath.atanh(exact_s) - exact_s
    assert relative(double_double.atanh_excess(s, s_low), exact) < 2.0**-75


def test_quotient_is_rounded_little_more_than_once():
    rng = np.random.default_rng(5)
    for _ in range(500):
        a, b = (float(2.0**e) for e in rng.uniform(-50, 50, 2))
        a_low, b_low = (float(x * 2.0**-53 * rng.uniform(-1, 1)) for x in (a, b))
        got = double_double.quotient(a, a_low, b, b_low)
        r, rest = double_double.quotient_pair(a, a_low, b, b_low)
        with mpmath.workprec(200):
            exact = (mpmath.mpf(a) + a_low) / (mpmath.mpf(b) + b_low)
            assert abs(got - exact) <= 0.5001 * math.ulp(got)
            assert abs(mpmath.mpf(r) + rest - exact) <= 2.0**-103 * exact
