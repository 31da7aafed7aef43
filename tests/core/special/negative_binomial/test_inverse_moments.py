"""Parts of the variance of 1/F, each against its definition."""

import math
from itertools import product

import mpmath
import numpy as np
import pytest

import riskcore
from riskcore.core.special.negative_binomial import inverse_moments
from riskcore.core.special.negative_binomial.inverse_moments import (
    F_LARGE,
    GAUSS,
    GAUSS_LEVELS,
    GAUSS_PAIRS,
    NOERLUND,
    P_LARGE,
    REFLECTED,
    SERIES_PAIRS,
    SERIES_TERMS,
    gauss_end,
    gauss_pair_step,
    gauss_start,
    gauss_step,
    noerlund_end,
    noerlund_start,
    noerlund_step,
    odds_of,
    place,
    power,
    region,
    series_pair_step,
    series_step,
)
from tests.core.special.pairs import relative

OFFSETS = [0.0, 2.0**-300, -(2.0**-53), 1e-9, 0.1, -0.1, 0.3, -0.37, 0.5, -0.5]


@pytest.mark.parametrize("d", OFFSETS)
def test_tables_of_the_reflection(d):
    with mpmath.workprec(1000):
        x = mpmath.mpf(d)
        if d == 0:
            slope = mpmath.zeta(2)
        else:
            slope = (mpmath.psi(0, 1 + x) - mpmath.psi(0, 1)) / x
            eta = mpmath.log(mpmath.pi * x / mpmath.sin(mpmath.pi * x)) / x
            assert relative(inverse_moments.eta_of_reflection(d), eta) < 2.0**-60
        assert relative(inverse_moments.slope_of_psi(d), slope) < 2.0**-60
    assert inverse_moments.eta_of_reflection(0.0) == (0.0, 0.0)


@pytest.mark.parametrize("d", OFFSETS)
@pytest.mark.parametrize("p", [5e-324, 1e-300, 1e-9, 0.03, 0.2])
def test_powers_of_the_reflection(d, p):
    X, X_low, Y, Y_low = power(d, p)
    with mpmath.workprec(2600):
        x, z = mpmath.mpf(d), mpmath.mpf(p) / (1 - mpmath.mpf(p))
        exact, limit = mpmath.mpf(1), -mpmath.log(z)
        if d != 0:
            exact = mpmath.pi * x / mpmath.sin(mpmath.pi * x) * z**x
            limit = -(exact - 1) / x
        assert relative((X, X_low), exact) < 2.0**-60
        assert relative((Y, Y_low), limit) < 2.0**-60


@pytest.mark.parametrize("d", OFFSETS)
@pytest.mark.parametrize("p", [1e-30, 0.01, 0.1, 0.2])
def test_series_of_the_reflection(d, p):
    z, z_low = odds_of(p)
    tau, omega = 0.0, 0.0
    for m in range(SERIES_TERMS, SERIES_PAIRS, -1):
        tau, omega = series_step(float(m), d, z, tau, omega)
    sums = (tau, 0.0, omega, 0.0)
    for m in range(SERIES_PAIRS, 0, -1):
        sums = series_pair_step(float(m), d, z, z_low, sums)
    with mpmath.workprec(200):
        x, w = mpmath.mpf(d), mpmath.mpf(p) / (1 - mpmath.mpf(p))
        first = second = harmonic = mpmath.mpf(0)
        for n in range(1, 90):
            term = (-w) ** (n - 1) / (n - x)
            first += term
            second += term * (mpmath.mpf(1) / n - harmonic)
            harmonic += 1 / (n - x)
        assert relative(sums[:2], first) < 2.0**-60
        assert relative(sums[2:], second) < 2.0**-59


def test_places_are_exact():
    rng = np.random.default_rng(3)
    for f in [*rng.uniform(0, 20, 200), *np.arange(0.5, 20, 0.5), 2.0**-320, 0.51]:
        d, n = place(float(f))
        assert n == int(n)
        if f <= 0.5:
            assert (d, n) == (f, -1.0)
        else:
            assert abs(d) <= 0.5
            assert mpmath.mpf(1) + mpmath.mpf(d) + n == mpmath.mpf(float(f))


def test_regions():
    below = [math.nextafter(x, 0) for x in (F_LARGE, P_LARGE)]
    assert region(F_LARGE, 1e-9) == region(F_LARGE, 1.0) == NOERLUND
    assert region(below[0], P_LARGE) == region(0.01, 1.0) == GAUSS
    assert region(below[0], below[1]) == region(2.0**-320, 5e-324) == REFLECTED


def by_gauss(f, p):
    S, slope = gauss_start(f, p)
    for n in range(GAUSS_LEVELS, GAUSS_PAIRS, -1):
        S, slope = gauss_step(n, f, p, S, slope)
    fraction = (S, 0.0, slope, 0.0)
    for n in range(GAUSS_PAIRS, 2, -1):
        fraction = gauss_pair_step(n, f, p, fraction)
    return gauss_end(f, p, fraction)


def by_noerlund(f, p):
    V, slope = noerlund_start(f, p)
    for k in range(inverse_moments.NOERLUND_LEVELS - 1, 1, -1):
        V, slope = noerlund_step(float(k), f, p, V, slope)
    return noerlund_end(f, p, V, slope)


def parts(moments):
    r, variance, b, spread = moments
    assert variance == pytest.approx(b * (b * spread), rel=5e-16)
    return r, b * math.sqrt(spread)


# Methods that share nothing, where each could take the other's place: beyond their
# borders their errors are still small.
by_reflection = inverse_moments.by_reflection
SMALL_F = [0.01, 0.5, 0.7, 1.0, 1.5, 2.0, 3.3, 7.0, 12.5, 19.0]
LARGE_F = [20.0, 20.5, 23.0, 30.0]


@pytest.mark.parametrize(
    ("one", "other", "f", "p", "rel"),
    [
        (by_reflection, by_gauss, SMALL_F, [0.17, 0.19], 2e-14),
        (by_noerlund, by_gauss, LARGE_F, [0.3, 0.5, 0.9, 1.0], 2e-15),
        (by_noerlund, by_reflection, LARGE_F[:3], [1e-300, 1e-9, 0.01, 0.19], 2e-15),
    ],
)
def test_methods_agree(one, other, f, p, rel):
    for cell in product(f, p):
        found = parts(one(*cell))
        assert found == pytest.approx(parts(other(*cell)), rel=rel), cell


def test_blocks_and_cells_give_the_same_bits():
    rng = np.random.default_rng(4)
    n = 3000
    f = np.where(rng.random(n) < 0.5, rng.integers(1, 40, n), rng.uniform(0.01, 40, n))
    p = np.where(rng.random(n) < 0.5, rng.random(n), 10 ** -rng.uniform(0, 300, n))
    f[::17], p[::29] = np.nan, 1.0
    for function in (
        riskcore.individual_risk_deviation,
        riskcore.individual_risk_second_moment,
    ):
        cells = np.array([function(*cell) for cell in zip(f, p, strict=True)])
        for some in (slice(None), slice(1, None, 3), slice(None, None, -1)):
            assert np.array_equal(function(f[some], p[some]), cells[some], True)


def test_accumulate_takes_one_cell_at_a_time():
    f = np.array([3.0, 0.5, 0.2, 0.9])
    found = riskcore.individual_risk_deviation.accumulate(f)
    expected = [f[0]]
    for p in f[1:]:
        expected.append(riskcore.individual_risk_deviation(expected[-1], p))
    assert found.tolist() == expected
