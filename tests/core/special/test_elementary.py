import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.core.special.elementary import (
    LN2_HIGH,
    LN2_LOW,
    exp_parts,
    exprel,
    log,
    log1p_positive,
    log_parts,
)

PRECISE = 300  # bits
positive = st.floats(5e-324, 1.7976931348623157e308)


def positive_sample():
    rng = np.random.default_rng(7)
    spread = 2.0 ** rng.uniform(-1074, 1023, 300)
    near_one = 1 + rng.choice([-1, 1], 300) * 2.0 ** -rng.uniform(1, 53, 300)
    ends = [5e-324, 2.0**-1023, 2.0**-1022, 1.7976931348623157e308, 1.0]
    # z is reduced to [sqrt 1/2, sqrt 2): both sides of its ends.
    root = [math.sqrt(2) * (1 + k * 2.0**-21) for k in range(-5, 6)]
    return [float(x) for x in [*spread, *near_one, *ends, *root, *np.divide(root, 2)]]


def sum_of(parts):
    with mpmath.workprec(PRECISE):
        return mpmath.mpf(parts[0]) + parts[1]


def relative(value, exact):
    with mpmath.workprec(PRECISE):
        return float(abs(value / exact - 1)) if exact else float(abs(value))


def exact(function, x):
    with mpmath.workprec(PRECISE):
        return function(mpmath.mpf(x))


def test_two_words_of_log_two():
    with mpmath.workprec(PRECISE):
        assert abs(mpmath.mpf(LN2_HIGH) + LN2_LOW - mpmath.ln(2)) < 2.0**-98
    numerator, _ = LN2_HIGH.as_integer_ratio()
    assert numerator.bit_length() <= 53 - 11  # times any exponent it stays exact
    assert all(k * LN2_HIGH / k == LN2_HIGH for k in range(1, 1075))


def test_log_parts():
    worst = max(
        relative(sum_of(log_parts(x)), exact(mpmath.log, x)) for x in positive_sample()
    )
    assert 2.0**-75 < worst < 2.0**-57


def test_log(ulps):
    errors = [ulps(log(x), exact(mpmath.log, x)) for x in positive_sample() if x != 1]
    assert 0.4 < max(errors) < 0.55
    assert log(1.0) == 0


@given(positive)
def test_log_everywhere(x):
    assert log(x) == pytest.approx(math.log(x), rel=3e-16, abs=0)


def test_log1p(ulps):
    small = [2.0**-k for k in range(0, 80, 3)] + [
        5e-324, 0.3, 3.7, 1e10, 2.0**53, 1e300,
    ]  # fmt: skip
    errors = [ulps(log1p_positive(x), exact(mpmath.log1p, x)) for x in small]
    assert max(errors) < 1
    assert log1p_positive(0.0) == 0


def test_exp_parts(ulps):
    rng = np.random.default_rng(8)
    errors, rounded = [], []
    for x in [*rng.uniform(-700, 700, 300), *rng.uniform(-1, 1, 300), 0.0, 709.7]:
        x = float(x)
        low = x * float(rng.uniform(-1, 1)) * 2.0**-53
        with mpmath.workprec(PRECISE):
            value = mpmath.exp(mpmath.mpf(x) + low)
        parts = exp_parts(x, low)
        errors.append(relative(sum_of(parts), value))
        rounded.append(ulps(parts[0] + parts[1], value))
    assert max(errors) < 2.0**-54
    assert 0.4 < max(rounded) < 1


def test_exp_parts_at_the_ends(ulps):
    for x in (-720.5, -740.0, -744.9):
        value = sum(exp_parts(x, 0.0))
        assert 0 < value < 2.0**-1022
        assert ulps(value, exact(mpmath.exp, x)) <= 1.5
    assert sum(exp_parts(-750.0, 0.0)) == 0
    assert sum(exp_parts(711.0, 0.0)) == math.inf
    assert sum(exp_parts(0.0, 0.0)) == 1


def test_exprel(ulps):
    points = [*np.linspace(-0.5, 0.5, 101), 0.51, -0.51, 2.0, -3.0, 30.0, 700.0, 1e-300]
    errors = []
    for z in map(float, points):
        with mpmath.workprec(2500):
            value = -mpmath.expm1(-mpmath.mpf(z)) / z if z else mpmath.mpf(1)
        errors.append(ulps(exprel(z), value))
    assert 0.4 < max(errors) < 2
    assert exprel(0.0) == 1
