from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from riskcore.core.special.gamma import stirling

PRECISE = 900  # bits
X = [stirling.LARGE, 17.3, 100.0, 1e6, 1e15]
STEPS = [1e-12, 0.1, 1.0, 30.0, 1e9]


def series(x):
    """Return log Gamma(x) - ((x - 1/2) log x - x + log(2 pi)/2)."""
    main = (x - 0.5) * mpmath.log(x) - x + mpmath.log(2 * mpmath.pi) / 2
    return mpmath.loggamma(x) - main


def slope(x):
    return mpmath.psi(0, x) - mpmath.log(x) + 1 / (2 * x)


def bend(x):
    return mpmath.psi(1, x) - 1 / x - 1 / (2 * x * x)


def left_out(x):
    """Return the next term, B_16 17/x^18, by the first, 3 B_2/x^4."""
    return 241.0 / x**14


def relative(value, exact):
    return float(abs(value / exact - 1))


def test_coefficients_are_those_of_bernoulli():
    # What they add to the last digit is too little for the tests below.
    for k in range(1, 8):
        B = Fraction(*mpmath.bernfrac(2 * k))
        assert stirling.LOG_GAMMA_TERMS[k - 1] == float(B / (2 * k * (2 * k - 1)))
        assert stirling.DIGAMMA_TERMS[k - 1] == float(B / (2 * k))
        assert stirling.TRIGAMMA_TERMS[k - 1] == float(B)


@pytest.mark.parametrize(("x", "m"), [*product(X, STEPS), (16.5, -0.4), (1e6, -0.4)])
def test_differences(x, m):
    with mpmath.workprec(PRECISE):
        y, z = mpmath.mpf(x), mpmath.mpf(x) + m
        for function, sign, term in [
            (stirling.fall, 1, series),
            (stirling.rise_of_slope, -1, slope),
            (stirling.fall_of_bend, 1, bend),
        ]:
            exact = sign * (term(y) - term(z))
            assert relative(function(x, m), exact) < 3e-15 + left_out(x)


@pytest.mark.parametrize("x", X)
def test_second_differences(x):
    rng = np.random.default_rng(13)
    for s, t in rng.choice(STEPS, (6, 2)).tolist():
        with mpmath.workprec(PRECISE):
            y, u, v = mpmath.mpf(x), mpmath.mpf(s), mpmath.mpf(t)
            for function, sign, term in [
                (stirling.second_difference, 1, series),
                (stirling.second_difference_of_slope, -1, slope),
            ]:
                exact = term(y) - term(y + u) - term(y + v) + term(y + u + v)
                found = function(x, s, t)
                assert relative(found, sign * exact) < 5e-15 + left_out(x)
                assert found == pytest.approx(function(x, t, s), rel=5e-15)
