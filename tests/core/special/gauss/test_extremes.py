"""Risks at tiny p, as a double-double, against Arb and mpmath."""

import math

import mpmath
import pytest

from riskcore.core.special.gauss.extremes import gauss_excess, rare_risk

LARGEST = math.ldexp(1 - 2.0**-53, 1024)


def assert_within_its_radius(ball, n, exact):
    high, low, radius = ball
    assert radius < 2.0**-90 * high
    with mpmath.workprec(3000):
        assert abs(mpmath.mpf(high) + low - mpmath.ldexp(exact, 600 * n)) <= radius


@pytest.mark.parametrize("F", [2.0**1000, LARGEST])
@pytest.mark.parametrize(
    "f", [0.01, 0.3, 0.5, 0.51, 1 - 2.0**-40, 1.0, 1.25, 1.5, 1.6, 3.0, 20.5]
)
def test_rare_risks_are_within_their_radius(f, F, enclosed):
    # What the limits leave out is smaller by far: p log p or sqrt(p), relative.
    exact = enclosed("individual_risk_from_frequencies", f, F)
    assert_within_its_radius(*rare_risk(f, F), exact)


@pytest.mark.parametrize("f", [2.0**-100, 2.0**-500, 2.0**-1074])
def test_rare_risks_of_tiny_frequencies(f):
    # Arb has no such f; r = p^f pi/sin(pi f) but for sqrt(p), relative.
    with mpmath.workprec(3000):
        x = mpmath.mpf(f)
        exact = (x / LARGEST) ** x * mpmath.pi / mpmath.sin(mpmath.pi * x)
    assert_within_its_radius(*rare_risk(f, LARGEST), exact)


@pytest.mark.parametrize("f", [32.0, 40.5, 1e10, 2.0**53 + 2])
def test_excess_of_gauss_at_the_smallest_p(f, ulps):
    # (G - 1)/q -> 1/(f - 1) as p -> 0.
    with mpmath.workprec(200):
        limit = 1 / (mpmath.mpf(f) - 1)
        for p in (2.0**-961, 5e-324):
            assert ulps(gauss_excess(f, p), limit) < 0.501
