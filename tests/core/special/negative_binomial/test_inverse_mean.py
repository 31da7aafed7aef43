"""The fractions of E[1/(f + X)]: their identities, what they leave out, their steps."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from riskcore.core.special.negative_binomial import inverse_mean as regions
from riskcore.core.special.negative_binomial import (
    inverse_mean_fractions as fractions,
)
from riskcore.core.special.negative_binomial import inverse_mean_pairs as pairs
from riskcore.core.special.negative_binomial import inverse_mean_parts as parts
from tests import reference
from tests.core.special.pairs import relative

BITS = 400


def tail(f, a, p, k):
    """Return V(k) = k I(k-1)/I(k), as a quotient of hypergeometric functions."""
    q = 1 - p
    above = mpmath.hyp2f1(k, k - a, f + k, q)
    return (f + k) * above / mpmath.hyp2f1(k + 1, k + 1 - a, f + k + 1, q)


CELLS = [(2, 20, 0.3), (2, 33.5, 0.49), (2.5, 25, 0.01), (2, 60, 0.6), (2, 90, 0.75),
         (2, 400, 0.9), (31, 0.25, 0.2), (40, -0.5, 0.7), (3, 150, 0.4),
         (300, -200, 0.9), (0.5, 200, 0.6), (2, 20, 0.5), (2, 27, 2.0**-14),
         (1e3, 0.1, 1e-6)]  # fmt: skip


@pytest.mark.parametrize(("f", "a", "p"), CELLS)
def test_what_noerlunds_levels_leave_out(f, a, p):
    """Equation (d) of notes/posterior.md, with the true tails."""
    with mpmath.workprec(BITS):
        f, a, p = mpmath.mpf(f), mpmath.mpf(a), mpmath.mpf(p)
        q = 1 - p
        s, b = f + a, f * p + (f + a - 1) * q
        where = regions.region(float(f), float(s), float(p))
        assert regions.NOERLUND_3 <= where <= regions.NOERLUND_52
        levels = regions.levels_of(where)
        true = [tail(f, a, p, k) for k in range(levels + 1)]
        assert all(v >= k * p for k, v in enumerate(true))
        guess = [max(b + levels * (p - q), b / 2)]
        for k in range(levels - 1, -1, -1):
            c = (k + 1) * (k + 1 - a) * p * q
            guess.append(max(b + k * (p - q) + c / guess[-1], k * p))
        guess.reverse()
        assert abs(guess[0] / true[0] - 1) < 2.0**-53
        r = reference.individual_risk_with_prior(f, s, p)
        assert abs(true[0] * r / p - 1) < 2.0**-100
        for k in range(levels):
            c = (k + 1) * (k + 1 - a) * p * q
            assert abs(b + k * (p - q) + c / true[k + 1] - true[k]) < 1e-60 * true[k]


@pytest.mark.parametrize(
    ("f", "a", "p"),
    [(2, -0.5, 0.5), (2.1, 3.9, 0.5), (2.1, 19.9, 0.5), (4.1, 19.9, 0.3),
     (4.1, 3.9, 0.3), (29, 0.1, 0.3), (6, 0.001, 0.31), (2, 12.5, 0.5)],
)  # fmt: skip
def test_what_gauss_levels_leave_out(f, a, p):
    with mpmath.workprec(BITS):
        s, q = f + mpmath.mpf(a), 1 - mpmath.mpf(p)
        b = f * p + (s - 1) * q
        where = regions.region(f, float(s), p)
        assert where in (regions.GAUSS_31, regions.GAUSS_41)
        x, y = gauss_in_mpmath(f, s, mpmath.mpf(a), q, regions.pairs_of(where))
        D = b + (1 - a) * q * x / y
        r = reference.individual_risk_with_prior(f, s, p)
        assert abs(D * r / p - 1) < 2.0**-55


def gauss_in_mpmath(f, s, a, q, m):
    y = f + 2 * m + 1 - (m + 1) * q
    x = (f + 2 * m) * y - (m + 1 - a) * q * (f + m)
    for k in range(m, 1, -1):
        z = (f + 2 * k - 1) * x - k * q * (s + k - 1) * y
        x, y = (f + 2 * (k - 1)) * z - (k - a) * q * (f + k - 1) * x, z
    above = x - s * q * y
    return above, f * x + above


def test_steps_of_gauss_fraction():
    f, s, a, q = 3.0, 4.5, 1.5, 0.375
    found = parts.gauss(f, s, a, q, 15)
    above, below = gauss_in_mpmath(*map(mpmath.mpf, (f, s, a, q)), 15)
    assert found[0] / found[1] == pytest.approx(float(above / below), rel=1e-15)


@pytest.mark.parametrize(
    ("f", "s", "p"),
    [(1.25, 0.5, 0.4), (2.2e8, 1.2337, 5.7e-9), (1e9, 0.3, 1.01e-9), (0.01, 0.6, 0.51),
     (20.5, 21.2, 0.06), (1e4, 0.9, 1.5e-4), (40.0, 40.9, 0.03)],
)  # fmt: skip
def test_what_gauss_levels_in_pairs_leave_out(f, s, p):
    D, D_low = pairs.gauss_in_pairs(f, s, p)
    with mpmath.workprec(BITS):
        r = reference.individual_risk_with_prior(f, s, p)
        assert abs((mpmath.mpf(D) + D_low) * r / p - 1) < 2.0**-56


@pytest.mark.parametrize("e", [-0.9, -0.5, -1e-9, 0.0, 2.0**-52, 1e-3, 0.4999])
@pytest.mark.parametrize(
    ("f", "p"), [(0.6, 0.45), (1.7, 0.2), (1e6, 9e-7), (3.0, 1e-9)]
)
def test_reflection(f, p, e):
    s = 1.0 + e
    r, r_low = pairs.reflected(f, s, p)
    with mpmath.workprec(BITS):
        exact = reference.individual_risk_with_prior(f, s, p)
        assert relative((r, r_low), exact) < 2.0**-55


@pytest.mark.parametrize("s", [1e-9, 0.3, 1 - 2.0**-53, 1.5, 19.0, 64.0, 1e9, 2.0**60])
def test_the_closed_form_serves_every_shape(s):
    for p in (2.0**-200, 1e-9, 0.3, 0.9, 1 - 2.0**-53):
        with mpmath.workprec(BITS):
            assert regions.region(1.0, s, p) == regions.ONE
            pair = regions.inverse_mean(1.0, s, p)
            q, power = 1 - mpmath.mpf(p), mpmath.mpf(p) ** (mpmath.mpf(s) - 1)
            exact = p * (1 - power) / (q * (mpmath.mpf(s) - 1))
            assert relative(pair, exact) < 2.0**-55.5


def test_every_region_is_met():
    rng = np.random.default_rng(1)
    found = set()
    for _ in range(20_000):
        f = float(rng.integers(1, 40)) if rng.random() < 0.5 else rng.uniform(0.1, 99)
        f = rng.uniform(0.5, 1) if rng.random() < 0.1 else f
        s, p = f + 10 ** rng.uniform(-3, 11) - 0.6, rng.uniform(0, 1)
        found.add(regions.region(f, abs(s), p))
    assert found == set(range(regions.REGIONS))
    of_poisson = {
        regions.poisson_region(float(f), 10**x)
        for f in (0.1, 0.7, 1, 1.5, 3, 40)
        for x in np.linspace(-3, 10, 99)
    }
    assert of_poisson == {
        regions.ONE, regions.NOERLUND_3, regions.NOERLUND_16, regions.NOERLUND_22,
        regions.NOERLUND_52, regions.NOERLUND_60, regions.OTHER,
    }  # fmt: skip


# --- fractions -----------------------------------------------------------------------


def second_difference(u, v):
    """Return log(Gamma(2+u+v)/(Gamma(2+u) Gamma(2+v)))/(u v), by mpmath."""
    high = mpmath.loggamma(2 + u + v) - mpmath.loggamma(2 + u) - mpmath.loggamma(2 + v)
    return high / (u * v)


def test_polynomial_of_log_gamma():
    """The interpolant of psi'(2 + z), twice integrated, gives the numbers kept."""
    with mpmath.workprec(300):
        n = 32
        z = [mpmath.cos(mpmath.pi * (2 * j + 1) / (2 * n)) for j in range(n)]
        powers = mpmath.matrix([[x**k for k in range(n)] for x in z])
        c = mpmath.lu_solve(powers, mpmath.matrix([mpmath.psi(1, 2 + x) for x in z]))
        kept = [float(c[m] / ((m + 1) * (m + 2))) for m in range(2, n)]
        assert kept == list(fractions.LOG_GAMMA)
        for high, low, x in [
            (fractions.TWICE_A2, fractions.TWICE_A2_LOW, c[0]),
            (fractions.THRICE_A3, fractions.THRICE_A3_LOW, c[1] / 2),
        ]:
            assert abs((mpmath.mpf(high) + low) / x - 1) < 2.0**-105


@pytest.mark.parametrize("u", [-0.5, -0.3, 2.0**-40, 0.1, 0.5])
def test_second_difference_of_log_gamma(u):
    """It counts by u W beside |log p + u W| >= log 2, or so."""
    for v in (-0.5, -0.2, -(2.0**-50), 0.3, 0.5):
        high, low = fractions.gammas(u, v)
        with mpmath.workprec(BITS):
            exact = second_difference(mpmath.mpf(u), mpmath.mpf(v))
            error = abs(mpmath.mpf(high) + low - exact) * abs(u)
            assert error < 2.0**-56 * (mpmath.ln(2) - u * exact)


@pytest.mark.parametrize("p", [2.0**-150, 1e-9, 0.001, 0.1, 0.3, 0.49999])
def test_series_of_the_reflection(p):
    for u in (-0.5, -0.2, 2.0**-30, 0.5):
        for e in (-0.5, 0.0, 0.2, 0.5):
            above, below = fractions.series(u, e, p, fractions.series_end(np.log(p)))
            high, low = fractions.end_of_series(u, e, p, above, below)
            with mpmath.workprec(BITS):
                x = mpmath.mpf(p)
                c, exact = x, mpmath.mpf(0)
                for k in range(2, 500):
                    c *= (k - 1 - mpmath.mpf(u)) * x / k
                    exact += c / (k - mpmath.mpf(e))
                assert relative((high, low), exact) < 2.0**-53.5


NEAR = [1 - 2.0**-52, 1.0, 1 + 2.0**-52]


@pytest.mark.parametrize("f", [0.5, 1.5, 2.5, 3 - 1e-12, 3 + 1e-12, 1 + 2.0**-52, 1.2])
@pytest.mark.parametrize("a", [0.5, 1.5, 2.0**-50, 1e-9, 7.3, 19.999, -0.25])
def test_reflection_and_upwards(f, a):
    """Also where e = 0 (s - f + f0 whole), and next to it, and f next to integers.

    Steps in f enlarge the error of the logarithm, most for p near 1/2.
    """
    limit = 2.0**-58 if f < 1.5 else 2.0**-55
    for s in [f + a, *(round(f + a) * x for x in NEAR)]:
        for p in (2.0**-60, 0.01, 0.29999, 0.49999):
            if s > 0 and regions.region(f, s, p) == regions.REFLECTED:
                with mpmath.workprec(BITS):
                    pair = fractions.reflected(f, s, p)
                    exact = reference.individual_risk_with_prior(f, s, p)
                    assert relative(pair, exact) < limit


@pytest.mark.parametrize("f", [0.5, 0.75, 1 - 2.0**-53, 1.01, 1.5, 2 - 2.0**-52])
@pytest.mark.parametrize("a", [-0.4999, -(2.0**-40), 0.3, 0.9999, 1.5, 19.999])
def test_gauss_fraction_with_pairs(f, a):
    for p in (0.5, 0.6, 0.99, 1 - 2.0**-53):
        with mpmath.workprec(BITS):
            pair = fractions.by_gauss(f, f + a, p)
            exact = reference.individual_risk_with_prior(f, f + a, p)
            assert relative(pair, exact) < 2.0**-58


@pytest.mark.parametrize("f", [0.5, 0.75, 1 - 2.0**-53, 1.25])
@pytest.mark.parametrize("a", [20.0, 40.0, 111.5, 1e4, 1e12])
def test_noerlunds_fraction_with_pairs(f, a):
    for mean in (1e-9, 0.3, 1.0, 5.0, 16.0, 63.0):
        p = a / (a + mean)
        if not 0.5 <= p < 1:
            continue
        with mpmath.workprec(BITS):
            pair = fractions.by_noerlund(f, f + a, p)
            exact = reference.individual_risk_with_prior(f, f + a, p)
            assert relative(pair, exact) < 2.0**-56
            pair = fractions.poisson_by_noerlund(f, mean)
            exact = reference.individual_risk_poisson(f, mean)
            assert relative(pair, exact) < 2.0**-56


@pytest.mark.parametrize(("f", "s"), [(0.5, 0.75), (4.25, 9.0), (1.5, 1.5 + 2.0**-52)])
def test_places_are_exact(f, s):
    u, e, g, n = fractions.places(f, s)
    assert f == 1 + Fraction(u) + Fraction(g)
    assert s == 1 + Fraction(e) + Fraction(g) + Fraction(n)
    assert max(abs(u), abs(e)) <= 0.5


# --- logarithms ----------------------------------------------------------------------


@pytest.mark.parametrize("f", [1.0, 1 + 2.0**-52, 1 + 1e-9, 1.05, 1.5])
@pytest.mark.parametrize("a", [-0.5, -0.1, 2.0**-40, 0.7, 3.0, 19.9, 20.0, 1e3, 1e12])
def test_excess_where_the_risk_is_near_one(f, a):
    for mean in (1e-15, 1e-9, 1e-3, 0.4):
        s = f + a
        p = s / (s + mean)
        if not 0.5 <= p < 1:
            continue
        with mpmath.workprec(BITS):
            way = fractions.gauss_excess if a < 20 else fractions.noerlund_excess
            pair = way(f, s, p)
            exact = p / reference.individual_risk_with_prior(f, s, p) - mpmath.mpf(p)
            assert relative(pair, exact) < 2.0**-57
            pair = fractions.poisson_excess(f, mean)
            exact = 1 / reference.individual_risk_poisson(f, mean) - 1
            assert relative(pair, exact) < 2.0**-57
