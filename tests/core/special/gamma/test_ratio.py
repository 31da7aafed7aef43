"""What the tests of the ufuncs do not see: double-doubles and borders."""

import mpmath
import numpy as np
import pytest

from riskcore.core.special.gamma.ratio import (
    LARGEST,
    dd_log_gamma_ratio,
    log_gamma_ratio,
    log_gamma_ratio_curvature,
)
from riskcore.core.special.gamma.stirling import LARGE
from tests import reference

BORDER = [float(np.nextafter(LARGE, 0)), LARGE, LARGE - 1, 1.0, 1e-9]


def relative(value, exact):
    with mpmath.workprec(400):
        return float(abs(value / exact - 1))


@pytest.mark.parametrize("x", [*BORDER, 1e5, 1e12])
@pytest.mark.parametrize(
    ("s", "t"), [(1e-9, 3.0), (1.25, 1e9), (1e6, 1e6), (1e-9, 1e-9)]
)
def test_two_words(x, s, t):
    high, low = dd_log_gamma_ratio(x, s, t)
    exact = reference.by_arb("log_gamma_ratio", x, s, t)
    with mpmath.workprec(400):
        assert relative(mpmath.mpf(high) + low, exact) < 2.0**-59


@pytest.mark.parametrize("x", BORDER)
def test_curvature_on_both_sides_of_the_border(x):
    for s, t in [(1.5, 4.0), (1e6, 0.5), (1e-3, 1e9), (1e9, 1e9)]:
        exact = reference.by_arb("log_gamma_ratio_curvature", x, s, t)
        assert relative(log_gamma_ratio_curvature(x, s, t), exact) < 5e-16


def test_the_ends_of_the_domain():
    low, high = 1 / LARGEST, LARGEST
    for at in [(low, low, low), (low, high, high), (high, low, low)]:
        exact = reference.by_arb("log_gamma_ratio", *at)
        assert relative(log_gamma_ratio(*at), exact) < 2.3e-16
    exact = reference.by_arb("log_gamma_ratio_curvature", low, high, high)
    assert relative(log_gamma_ratio_curvature(low, high, high), exact) < 6e-16
