from fractions import Fraction

import mpmath
import numpy as np
import pytest

from riskcore.core.special.double_double import dd_divide
from riskcore.core.special.gamma.products import (
    ONE,
    log_of,
    log_of_quotient,
    times,
)
from tests.core.special.pairs import relative

PRECISE = 400  # bits


def double_double(x):
    high = float(x)
    return high, float(x - Fraction(high))


def multiplied(numbers):
    """Return the logarithm of a product of fractions, and its exact value."""
    product, exact = ONE, Fraction(1)
    for q in numbers:
        product = times(product, *double_double(q), *double_double(1 - q))
        exact *= q
    with mpmath.workprec(PRECISE):
        return log_of(product), mpmath.log(mpmath.mpf(exact.numerator)) - mpmath.log(
            mpmath.mpf(exact.denominator)
        )


@pytest.mark.parametrize("distance", [1e-1, 1e-9, 1e-30, 1e-100])
@pytest.mark.parametrize("sign", [-1, 1])
def test_factors_next_to_one(distance, sign):
    rng = np.random.default_rng(12)
    numbers = [1 + sign * Fraction(distance * u) for u in rng.uniform(0.1, 1, 16)]
    log, exact = multiplied(numbers)
    assert relative(log, exact) < 2.0**-70


@pytest.mark.parametrize("factor", [0.9, 1e-5, 2.0**-600])
def test_factors_that_multiply_to_nothing(factor):
    log, exact = multiplied([Fraction(factor) / (k + 1) for k in range(16)])
    assert relative(log, exact) < 2.0**-70


def test_quotient():
    for a, b in [(1.0, 3.0), (1e9, 1e9 + 1), (1e-120, 1e120), (7.0, 5.0)]:
        q = dd_divide(a, 0.0, b, 0.0)
        d = dd_divide(b - a, 0.0, b, 0.0)
        with mpmath.workprec(2000):
            exact = mpmath.log(mpmath.mpf(a) / b)
        assert relative(log_of_quotient(*q, *d), exact) < 2.0**-75


def test_no_factor():
    assert log_of(ONE) == (0.0, 0.0)
