"""Every operation on balls contains the exact results, for members of its operands."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from riskcore.core.special import balls as of_balls
from riskcore.core.special import double_double as dd
from riskcore.core.special.floats import two_sum

UNIT = Fraction(1, 2**53)


def moderate(low, high):
    """Return doubles of either sign between 2**low and 2**high, many of short form."""
    exponents = st.integers(low, high)
    dense = st.integers(2**52, 2**53 - 1).map(lambda m: math.ldexp(m, -52))
    short = st.sampled_from([1.0, 1.5, 1.25, 2 - 2.0**-52, 1 + 2.0**-52, 1.75])
    return st.builds(
        lambda m, e, sign: sign * math.ldexp(m, e),
        st.one_of(dense, short),
        exponents,
        st.sampled_from([-1, 1]),
    )


@st.composite
def balls(draw, low=-300, high=300):
    """Draw balls, also with low parts that are 0, tiny or half an ulp."""
    x = draw(st.one_of(moderate(low, high), st.just(0.0)))
    part = draw(st.sampled_from([0.0, 0.5, -0.5, 0.25, 2.0**-40, -(2.0**-60)]))
    fine = draw(st.floats(-0.5, 0.5))
    rest = (part if draw(st.booleans()) else fine) * math.ulp(x) if x else 0.0
    x, rest = two_sum(x, rest)
    radius = draw(st.sampled_from([0.0, 2.0**-52, 2.0**-104, 2.0**-20]))
    return x, rest, radius * abs(x)


doubles = moderate(-300, 300)


def middle(ball):
    return Fraction(ball[0]) + Fraction(ball[1])


def members(ball):
    x, radius = middle(ball), Fraction(ball[2])
    return {x - radius, x, x + radius * Fraction(1, 3), x + radius}


def assert_contains(ball, values):
    for value in values:
        assert abs(middle(ball) - value) <= Fraction(ball[2])


def assert_narrow(ball, scale):
    """Check that an operation on points loses little: no radius is just made large."""
    assert Fraction(ball[2]) <= 12 * UNIT**2 * abs(scale) + Fraction(2) ** -900
    assert abs(ball[1]) <= float(UNIT) * abs(ball[0]) * (1 + 2.0**-50)


@given(balls(), balls())
@example((1.0, 0.0, 0.0), (-1.0, 2.0**-54, 0.0))
@example((1.0, 2.0**-54, 0.0), (-1.0, -(2.0**-54), 0.0))
@example((2.0**53, 1.0, 0.0), (2.0**-60, 2.0**-115, 0.0))
def test_add(a, b):
    values = [x + y for x, y in product(members(a), members(b))]
    assert_contains(of_balls.add(a, b), values)
    assert_contains(of_balls.subtract(a, of_balls.negate(b)), values)


@given(balls(), doubles)
@example((1.0, 2.0**-54, 0.0), -1.0)
def test_add_double(a, b):
    assert_contains(of_balls.add_double(a, b), [x + Fraction(b) for x in members(a)])


@given(balls(), balls())
def test_multiply(a, b):
    values = [x * y for x, y in product(members(a), members(b))]
    assert_contains(of_balls.multiply(a, b), values)


@given(balls(), doubles)
def test_multiply_double(a, b):
    assert_contains(
        of_balls.multiply_double(a, b), [x * Fraction(b) for x in members(a)]
    )


@given(balls(), balls())
@example((1.0, 0.0, 0.0), (3.0, 0.0, 0.0))
@example((1.0, 0.0, 0.0), (2.0**53 + 4, -1.0, 0.0))
@example((1.0, 0.0, 0.0), (1.0, 0.0, 2.0**-20))
def test_divide(a, b):
    assume(b[0] != 0)
    values = [x / y for x, y in product(members(a), members(b))]
    assert_contains(of_balls.divide(a, b), values)


@given(doubles)
def test_reciprocal(b):
    assert_contains(of_balls.reciprocal(b), [1 / Fraction(b)])
    assert_narrow(of_balls.reciprocal(b), 1 / Fraction(b))


@given(balls(-200, 200), st.sampled_from([2.0**-600, 0.5, 1.0, 2.0**600]))
def test_shift(a, power):
    values = [x * Fraction(power) for x in members(a)]
    assert_contains(of_balls.shift(a, power), values)


@given(balls(-150, 150), balls(-150, 150))
def test_radii_are_of_the_size_of_two_words(a, b):
    a, b = (*a[:2], 0.0), (*b[:2], 0.0)
    x, y = middle(a), middle(b)
    assert_narrow(of_balls.add(a, b), abs(x) + abs(y))
    assert_narrow(of_balls.multiply(a, b), x * y)
    if y:
        assert_narrow(of_balls.divide(a, b), x / y)


@given(balls(-1074, -900), balls(-100, 100))
def test_underflow_is_in_the_radius(a, b):
    a, b = (*a[:2], 0.0), (*b[:2], 0.0)
    assert_contains(of_balls.multiply(a, b), [middle(a) * middle(b)])
    assert_contains(of_balls.multiply_double(a, b[0]), [middle(a) * Fraction(b[0])])
    assert_contains(of_balls.add(a, b), [middle(a) + middle(b)])
    if b[0]:
        assert_contains(of_balls.divide(a, b), [middle(a) / middle(b)])


def test_a_result_next_to_a_double_has_a_smaller_radius():
    high, low, radius = of_balls.add((1.0, 0.0, 0.0), (2.0**-200, 2.0**-260, 0.0))
    assert (high, low) == (1.0, 2.0**-200)
    assert radius < 2.0**-250
    high, low, radius = of_balls.divide((1.0, 0.0, 0.0), (1.0, 2.0**-150, 0.0))
    assert (high, low) == (1.0, -(2.0**-150))
    assert radius < 2.0**-200


def test_exact_operations_have_no_radius():
    assert of_balls.add((1.0, 2.0**-60, 0.0), (3.0, 0.0, 0.0)) == (4.0, 2.0**-60, 0.0)
    assert of_balls.add_double((1.0, 2.0**-60, 0.0), -1.0) == (2.0**-60, 0.0, 0.0)
    assert of_balls.multiply((1.5, 0.0, 0.0), (3.0, 0.0, 0.0))[2] < 2.0**-1000
    assert of_balls.divide((3.0, 0.0, 0.0), (1.5, 0.0, 0.0))[2] < 2.0**-1000


def test_a_divisor_that_may_be_zero_has_an_infinite_radius():
    one = (1.0, 0.0, 0.0)
    assert of_balls.divide(one, (1.0, 0.0, 1.0))[2] == math.inf
    assert of_balls.divide(one, (1.0, 0.0, 0.26))[2] == math.inf
    assert of_balls.divide(one, (2.0**-1021, 0.0, 0.0))[2] == math.inf
    assert of_balls.divide(one, (1.0, 0.0, 0.25 - 2.0**-40))[2] < 0.4


def test_low_parts_stay_half_a_unit_among_the_smallest_numbers():
    high, low, radius = of_balls.shift((1.5, 1.4 * 2.0**-53, 0.0), 2.0**-1022)
    assert abs(low) <= high * 2.0**-53
    assert_contains((high, low, radius), [middle((1.5, 1.4 * 2.0**-53)) / 2**1022])


positive = moderate(-100, 100).map(abs)


@given(positive, positive, st.floats(-0.5, 0.5), st.floats(-0.5, 0.5))
def test_positive_double_doubles_keep_their_relative_bounds(x, y, u, v):
    a, b = two_sum(x, u * math.ulp(x)), two_sum(y, v * math.ulp(y))
    cases = [
        (dd.dd_add_positive(*a, *b), middle(a) + middle(b), 4),
        (dd.dd_multiply_positive(*a, *b), middle(a) * middle(b), 8),
        (dd.dd_multiply_double(*a, y), middle(a) * Fraction(y), 3),
    ]
    for got, exact, units in cases:
        assert abs(middle(got) - exact) <= units * UNIT**2 * exact


# --- constants and functions ---------------------------------------------------------


def as_mpf(ball):
    return mpmath.mpf(ball[0]) + mpmath.mpf(ball[1])


def assert_contains_real(ball, exact, bits=None):
    with mpmath.workprec(1200):
        assert abs(as_mpf(ball) - exact) <= ball[2]
        if bits is not None:
            assert ball[2] < mpmath.ldexp(abs(exact), -bits)


def test_constants():
    with mpmath.workprec(250):
        for digits, exact in (
            (of_balls.LN2, mpmath.log(2)),
            (of_balls.PI, +mpmath.pi),
        ):
            number = mpmath.mpf(digits.numerator) / digits.denominator
            assert abs(number - exact) < mpmath.ldexp(1, -190)
        parts = of_balls.LN2_HIGH, of_balls.LN2_MIDDLE, of_balls.LN2_LOW
        assert abs(mpmath.fsum(parts) - mpmath.log(2)) < mpmath.ldexp(1, -136)
    for part in parts[:2]:
        assert part * 2047 == Fraction(part) * 2047  # 42 bits


def test_the_double_double_of_a_fraction():
    rng = np.random.default_rng(3)
    for a, b in rng.integers(1, 10**9, (200, 2)).tolist():
        x = Fraction(a, b)
        assert abs(middle(of_balls.dd_constant(x)) - x) <= UNIT**2 * x


@pytest.mark.parametrize("k", [0, 1, -1, 537, -1074, 2047])
def test_multiples_of_log_2(k):
    with mpmath.workprec(300):
        assert_contains_real(of_balls.ln2_times(float(k)), k * mpmath.log(2))


@pytest.mark.parametrize("terms", [1, 4])
def test_polynomial(terms):
    coefficients = [Fraction((-1) ** k, 2 * k + 1) for k in range(terms)]
    kernel = of_balls.polynomial(coefficients)
    w, t = (0.3, 2.0**-60, 2.0**-100), (0.7, 0.0, 2.0**-90)
    for x, y in product(members(w), members(t)):
        exact = sum(c * x**k for k, c in enumerate(coefficients)) + y * x**terms
        assert_contains(kernel(w, t), [exact])


@pytest.mark.parametrize(
    ("last", "terms", "limit"),
    [
        (of_balls.log_last, lambda j: mpmath.mpf(1) / (2 * j + 23), 0.0295),
        (of_balls.exp_last, lambda j: 1 / mpmath.factorial(j + 14), 0.36),
        (
            of_balls.sine_last,
            lambda j: (
                (-1) ** j * mpmath.pi ** (2 * j + 22) / mpmath.factorial(2 * j + 23)
            ),
            0.2602,
        ),
    ],
    ids=["log", "exp", "sine"],
)
def test_ends_of_series_contain_the_whole_rest(last, terms, limit):
    with mpmath.workprec(200):
        for x in np.linspace(-limit if limit > 0.3 else 0, limit, 41).tolist():
            exact = mpmath.nsum(
                lambda j, x=x: terms(int(j)) * mpmath.mpf(x) ** int(j), [0, 60]
            )
            assert_contains_real(last((x, 0.0, 0.0)), exact)


@given(moderate(-480, 480).map(abs), st.sampled_from([0.0, -600.0]))
@example(0.7071067811865475, 0.0)
@example(0.7071067811865476, 0.0)
@example(1.4142135623730951, 0.0)
@example(0.9999999999999999, 0.0)
@example(1.0000000000000002, 0.0)
def test_log(x, exponent):
    with mpmath.workprec(300):
        exact = mpmath.log(mpmath.mpf(x)) + int(exponent) * mpmath.log(2)
    assert_contains_real(of_balls.log((x, 0.0, 0.0), exponent), exact)
    if abs(exact) > 0.3:
        assert_contains_real(of_balls.log((x, 0.0, 0.0), exponent), exact, 102)


def test_log_of_a_ball():
    ball = (0.3, 2.0**-57, 2.0**-100)
    with mpmath.workprec(300):
        for x in members(ball):
            exact = mpmath.log(mpmath.mpf(x.numerator) / x.denominator)
            assert_contains_real(of_balls.log(ball, 0.0), exact)


@given(st.floats(-390, 390))
@example(0.34657359027997264)
@example(0.3465735902799727)
@example(-0.34657359027997264)
@example(1e-300)
@example(2.0**-53)
def test_exponential(x):
    power, m = of_balls.scaled_exp((x, 0.0, 0.0))
    with mpmath.workprec(1200):
        exact = mpmath.exp(x)
        less = mpmath.expm1(x)
    assert_contains_real(of_balls.exp(power, m), exact, 94)
    assert_contains_real(of_balls.expm1(power, m), less)
    if abs(x) > 1e-250:
        assert_contains_real(of_balls.expm1(power, m), less, 93)


def test_functions_refuse_wide_balls():
    assert of_balls.log((3.0, 0.0, 2.0**-48), 0.0)[2] == math.inf
    assert of_balls.scaled_exp((2.0, 0.0, 2.0**-9))[1][2] == math.inf


@given(st.floats(-0.51, 0.51))
@example(0.5)
@example(-0.5)
@example(2.0**-53)
@example(0.0)
def test_sine_excess(e):
    ball = of_balls.sine_excess(e)
    with mpmath.workprec(1300):
        exact = 1 / mpmath.sincpi(e) - 1
    assert_contains_real(ball, exact)
    if abs(e) > 1e-100:
        assert_contains_real(ball, exact, 102)
