"""Probabilities that a unique stays one, against mpmath."""

import math

import mpmath
import pytest

from riskcore.core.compiled.ufunc_maker import ufunc_of
from riskcore.core.special import uniques

WORST = 1.0  # ulp; the largest found is 0.66


def ulps(found, exact):
    return float(abs(mpmath.mpf(found) - exact) / math.ulp(float(exact)))


@pytest.mark.parametrize("n", [0, 1, 1000, 10**5])
@pytest.mark.parametrize("N", [10**5, 10**6, 2**53])
@pytest.mark.parametrize("K", [1, 1108, 10**9])
@pytest.mark.parametrize("beta", [0.0, 1e-25, 1e-16, 1e-6, 0.0074, 3.0, 1e20])
def test_poisson_gamma(n, N, K, beta):
    found = float(ufunc_of(uniques.unhit_poisson_gamma)(n, N, K, beta))
    with mpmath.workdps(80):
        b = mpmath.mpf(beta)
        if beta:
            below, above = 1 + N * b, 1 + n * b
            exact = mpmath.exp(mpmath.log(above / below) * (1 + 1 / (K * b)))
        else:
            exact = mpmath.exp(-mpmath.mpf(N - n) / K)
        if exact > 1e-300:
            assert ulps(found, exact) <= WORST
        else:
            assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-320)


URNS = [
    # x + x_low, b + b_low, of weights that no double has
    (1e-300, 0.0, 1.0, 1e-300),
    (5e-324, 0.0, 1.0, 0.0),
    (2.0**-101, 0.0, 0.25, 2.0**-60),
    (2.0**-100, 2.0**-160, 0.25, 2.0**-60),
    (3.0, 1e-17, 0.1, 5e-18),
    (1000.0, 1e-14, 51.0, 3e-15),
    (1e5, -7e-12, 51.0, -3e-15),
    (2.0**80, 2.0**27, 2.0**70, 2.0**17),
]


@pytest.mark.parametrize(("x", "x_low", "b", "b_low"), URNS)
@pytest.mark.parametrize("M", [0, 1, 2, 1000, 10**6, 10**9])
def test_polya_urn(x, x_low, b, b_low, M):
    found = uniques.unhit_polya_urn((x, x_low), (b, b_low), M)
    with mpmath.workdps(400):
        X, B = mpmath.mpf(x) + x_low, mpmath.mpf(b) + b_low
        log = mpmath.loggamma
        exact = mpmath.exp(log(X + M) + log(X + B) - log(X) - log(X + B + M))
        if exact > 1e-290:
            assert ulps(found, exact) <= WORST
        else:
            assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-320)


def test_an_urn_of_uniques_alone():
    assert uniques.unhit_polya_urn((0.0, 0.0), (1.0, 0.0), 5) == 0.0


@pytest.mark.parametrize("n", [1, 7, 10**5, 2**53 - 1])
@pytest.mark.parametrize("times", [1, 1 + 2.0**-50, 1.001, 50, 10**7])
@pytest.mark.parametrize("e", [0.0, 2.0**-53, 0.3, 1.0, 51.0, 1e10])
def test_powers_of_shares(n, times, e):
    N, low = min(math.ceil(n * times), 2**53), e * 2.0**-55
    found = float(ufunc_of(uniques.power_of_share)(n, N, e, low))
    with mpmath.workdps(60):
        exact = (mpmath.mpf(n) / N) ** (mpmath.mpf(e) + low)
        if exact > 1e-300:
            assert ulps(found, exact) <= WORST
        else:
            assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-320)
