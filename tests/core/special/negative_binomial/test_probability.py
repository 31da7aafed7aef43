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


@pytest.mark.parametrize(
    ("kernel", "exact", "top", "border", "above"),
    [
        # v - (1 - exp(-v)) by Taylor's series up to 1/2: no digit is lost to v.
        (less_expm1, lambda v: v + mpmath.expm1(-v), 700.0, 0.5, 3.5),
        (less_log1p, lambda z: z - mpmath.log1p(z), 1e6, 0.4, 2),
    ],
)
def test_differences_that_cancel(kernel, exact, top, border, above):
    with mpmath.workprec(300):
        for x in numbers(top, border):
            limit = 1.5 if kernel is less_expm1 and x <= border else above
            assert ulps_of(kernel(x), exact(mpmath.mpf(x))) < limit
    assert kernel(0.0) == 0.0


@pytest.mark.parametrize("x", [0.001, 0.5, 1.0, 2.5, 7.0, 15.0, 15.999, 16.0, 1e5])
def test_errors_of_stirling(x):
    with mpmath.workprec(300):
        y = mpmath.mpf(x)
        exact = mpmath.loggamma(y + 1) - mpmath.log(2 * mpmath.pi * y) / 2
        exact -= y * mpmath.log(y) - y
        high, low = stirling_error(x)
        assert abs(mpmath.mpf(high) + low - exact) < 2.0**-57
