"""The parts of the tails' integrand, each to its own size."""

import math

import mpmath
import numpy as np
import pytest

from riskcore.core.special.negative_binomial.probability import (
    less_expm1,
    less_log1p,
    stirling_error,
)


def ulps_of(found, exact):
    return abs(found - exact) / mpmath.mpf(float(np.spacing(found)))


def numbers(top, border):
    """Return numbers up to ``top``, many near it and on both sides of a border."""
    rng = np.random.default_rng(17)
    drawn = [*rng.uniform(0, border, 200), *(top * 2.0 ** -rng.uniform(0, 60, 200))]
    return [*map(float, drawn), math.nextafter(border, 0), border, border + 2.0**-53]


def test_what_the_exponential_is_less():
    # v - (1 - exp(-v)) by Taylor's series up to 1/2: no digit is lost to v.
    with mpmath.workprec(300):
        for v in numbers(700.0, 0.5):
            exact = v + mpmath.expm1(-mpmath.mpf(v))
            assert ulps_of(less_expm1(v), exact) < (1.5 if v <= 0.5 else 3.5)
    assert less_expm1(0.0) == 0.0


def test_what_the_logarithm_is_less():
    with mpmath.workprec(300):
        for z in numbers(1e6, 0.4):
            exact = z - mpmath.log1p(mpmath.mpf(z))
            assert ulps_of(less_log1p(z), exact) < 2
    assert less_log1p(0.0) == 0.0


@pytest.mark.parametrize("x", [0.001, 0.5, 1.0, 2.5, 7.0, 15.0, 15.999, 16.0, 1e5])
def test_errors_of_stirling(x):
    with mpmath.workprec(300):
        y = mpmath.mpf(x)
        exact = mpmath.loggamma(y + 1) - mpmath.log(2 * mpmath.pi * y) / 2
        exact -= y * mpmath.log(y) - y
        high, low = stirling_error(x)
        assert abs(mpmath.mpf(high) + low - exact) < 2.0**-57
