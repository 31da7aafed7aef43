import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import riskcore
from tests.core.special.negative_binomial.test_tails import as_mpf

# Bounds of the errors at the points of these tests, in ulp. Searches find larger ones:
# posterior.CONTRACTS, bench/worst_points.csv.
MOMENTS = 4

real_f = st.floats(0.02, 1e6) | st.integers(1, 100).map(float)
fractions = st.floats(1e-6, 1) | st.floats(1e-15, 1e-12).map(lambda d: 1 - d)
levels = st.floats(1e-12, 1, exclude_max=True)


# --- exact values ------------------------------------------------------------------


def rational_law(f, p, last):
    """Return P(F = f), ..., P(F = last) in rationals, for integer f."""
    p = Fraction(p)
    return [
        math.comb(k - 1, f - 1) * p**f * (1 - p) ** (k - f) for k in range(f, last + 1)
    ]


def dilogarithm(p, q):
    """Return Li2(q), q = 1 - p; by Euler's reflection if its series is the slower."""
    if p >= q:
        return mpmath.polylog(2, q)
    both = mpmath.pi**2 / 6 - mpmath.log(p) * mpmath.log(q)
    return both - mpmath.polylog(2, p)


def moments_by_dilogarithm(f, p):
    """Return E[1/F^2] and the deviation for integer f, upwards from Li2(1-p)."""
    lost = 60 + 2 * abs(math.log2(1 - p)) + abs(math.log2(p))
    with mpmath.workprec(200 + int(f * lost)):
        p = mpmath.mpf(p)
        q = 1 - p
        v = p / q
        r, second = -v * mpmath.log(p), v * dilogarithm(p, q)
        for g in range(1, int(f)):
            r, second = v * (mpmath.mpf(1) / g - r), v * (r / g - second)
        return second, mpmath.sqrt(second - r * r)


def moments_by_integral(f, p):
    """Return E[1/F^2] = E int_0^inf v exp(-F v) dv, by Arb, and the deviation."""
    bits = 140
    extra = 2 * int(abs(math.log2(f)))
    ctx.prec = bits + 2 * extra + 2 * int(-math.log2(p)) + 60
    f_, p_ = arb(f), arb(p)
    q = 1 - p_

    def integrand(v, _):
        fall = (-v).exp()
        d = p_ + q * fall
        return (-f_ * v).exp() * p_ * (v + d.log()) / d

    last = (bits * math.log(2) - 2 * math.log(p) + 20) / f
    cuts = [8 * 4**k / (f - 2 if f > 2.2 else f + 1) for k in range(12)]
    cuts += [-math.log(p) * k / 4 for k in range(1, 5)]
    cuts = [0.0, *sorted({cut for cut in cuts if 0 < cut < last}), last]
    small = (p_ / f_) ** 2 * arb(2) ** -(bits + extra)
    second = sum(
        acb.integral(
            integrand, acb(a), acb(b), rel_tol=arb(2) ** -bits, abs_tol=small
        ).real
        for a, b in pairwise(cuts)
    )
    r = (-q / p_).hypgeom_2f1(1, f_, f_ + 1) / f_
    deviation = (second - r * r).sqrt()
    assert deviation.rel_accuracy_bits() > 75
    return as_mpf(second), as_mpf(deviation)


@pytest.mark.parametrize("f", [0.3, 1.0, 2.5, 40.0])
def test_moments_are_those_of_the_law_of_scipy(f):
    p, j = 0.05, np.arange(6000.0)
    k, law = f + j, stats.nbinom.pmf(j, f, p)
    assert math.fsum(law) == pytest.approx(1, rel=1e-13)
    r = riskcore.individual_risk(f, p)
    assert math.fsum(law / k) == pytest.approx(r, rel=1e-13)
    second = riskcore.individual_risk_second_moment(f, p)
    assert math.fsum(law / k**2) == pytest.approx(second, rel=1e-13)
    variance = riskcore.individual_risk_deviation(f, p) ** 2
    assert math.fsum(law * (1 / k - r) ** 2) == pytest.approx(variance, rel=1e-13)


# --- quantiles ---------------------------------------------------------------------


def test_quantiles_beside_scipy():
    rng = np.random.default_rng(2)
    f, p = rng.integers(1, 60, 3000).astype(float), rng.uniform(0.01, 1, 3000)
    level = rng.random(3000)
    found = riskcore.population_frequency_quantile(level, f, p)
    assert (found == stats.nbinom.ppf(level, f, p) + f).all()


def exact_quantiles(level, f, p):
    """Return the smallest k with P(F <= k) >= level, and with P(F > k) < level."""
    level, below = Fraction(level), Fraction(0)
    p = Fraction(p)
    term, k, smallest, strict = p**f, f, None, None
    while smallest is None or strict is None:
        below += term
        if smallest is None and below >= level:
            smallest = k
        if strict is None and 1 - below < level:
            strict = k
        term *= (1 - p) * k / (k - f + 1)
        k += 1
    return smallest, strict


def tie_cells():
    """Return levels that equal a probability exactly, and their neighbors."""
    cells = []
    for f in (1, 2, 3, 5):
        for p in (0.5, 0.25, 0.75, 0.875):
            below = Fraction(0)
            for probability in rational_law(f, p, f + 14):
                below += probability
                for x in (below, 1 - below):
                    if x == Fraction(float(x)):
                        level = float(x)
                        beside = np.nextafter(level, [0, 1])
                        cells += [(y, f, p) for y in [level, *beside] if 0 < y < 1]
    return cells


def test_quantiles_equal_exact_ones_with_ties():
    cells = tie_cells()
    assert len(cells) > 300
    rng = np.random.default_rng(6)
    cells += [
        (rng.random() ** 3, int(rng.integers(1, 8)), rng.uniform(0.1, 1))
        for _ in range(200)
    ]
    level, f, p = np.array(cells).T
    smallest = riskcore.population_frequency_quantile(level, f, p)
    risk = riskcore.individual_risk_quantile(level, f, p)
    for i, cell in enumerate(cells):
        expected = exact_quantiles(*cell)
        assert smallest[i] == expected[0], cell
        assert risk[i] == 1 / expected[1], cell


@given(levels, real_f, fractions)
def test_quantile_inverts_the_distribution(level, f, p):
    k = riskcore.population_frequency_quantile(level, f, p)
    if k >= 2**50:
        return
    slack = 1e-11
    j = round(k - f)
    lower, upper = stats.nbinom.cdf(j, f, p), stats.nbinom.sf(j, f, p)
    assert lower >= level * (1 - slack) or upper <= (1 - level) * (1 + slack)
    if j > 0:
        lower, upper = stats.nbinom.cdf(j - 1, f, p), stats.nbinom.sf(j - 1, f, p)
        assert lower < level * (1 + slack)
        assert upper > (1 - level) * (1 - slack)


@given(st.integers(1, 2**20 - 1), real_f, fractions)
def test_quantile_of_the_risk_is_that_of_the_reflected_level(n, f, p):
    x = riskcore.individual_risk_quantile(n / 2**20, f, p)
    assert 0 < x <= 1 / f
    k = riskcore.population_frequency_quantile(1 - n / 2**20, f, p)
    # The next of the lattice where level and probability tie.
    assert 1 / x == pytest.approx(k, rel=1e-14) or n / 2**20 == pytest.approx(
        stats.nbinom.sf(round(k - f), f, p), rel=1e-11
    )


@given(st.lists(levels, min_size=2, max_size=5), real_f, fractions)
def test_quantiles_rise_with_the_level(some, f, p):
    x = riskcore.individual_risk_quantile(sorted(some), f, p)
    assert (np.diff(x) >= 0).all()


def test_quantiles_of_large_and_rare_cells():
    # F p is then gamma distributed with shape f: its quantiles by SciPy.
    for f in (1.0, 2.0, 5.0, 300.0):
        for p in (1e-17, 1e-100, 1e-300):
            level = np.array([1e-9, 0.05, 0.5, 0.95, 1 - 1e-9])
            found = riskcore.population_frequency_quantile(level, f, p) * p
            assert found == pytest.approx(stats.gamma.ppf(level, f), rel=1e-9)
    # For f = 1e9 SciPy is off by 5e-6; three terms of Cornish and Fisher give 1e-9.
    z, f = stats.norm.ppf(1e-9), 1e9
    expected = f + z * math.sqrt(f) + (z * z - 1) / 3
    found = riskcore.population_frequency_quantile(1e-9, f, 1e-100) * 1e-100
    assert found == pytest.approx(expected, rel=2e-9)
    assert riskcore.individual_risk_quantile(0.5, 7, 1.0) == 1 / 7
    # The geometric law in closed form, far out: P(F > k) = q^k.
    k = riskcore.population_frequency_quantile(1 - 2.0**-53, 1, 0.25)
    assert k == math.ceil(53 * math.log(2) / -math.log(0.75))
    x = riskcore.individual_risk_quantile(1e-300, 1, 1e-3)
    assert 1 / x == pytest.approx(math.log(1e-300) / math.log1p(-1e-3), abs=1)


def test_no_quantile_search_is_lost():
    rng = np.random.default_rng(1)
    n = 3000
    level = np.where(rng.random(n) < 0.5, 10 ** -rng.uniform(0, 300, n), rng.random(n))
    f = np.maximum(10 ** rng.uniform(-1.8, 15, n), 1 / 64)
    p = 10 ** -rng.uniform(0, 280, n)
    x = riskcore.individual_risk_quantile(level, f, p)
    assert (x > 0).all()
    assert (x <= 1 / f).all()
    # F would be past the largest double.
    assert np.isnan(riskcore.individual_risk_quantile(0.5, 1e10, 5e-324))


@pytest.mark.parametrize(
    "name", ["individual_risk_quantile", "population_frequency_quantile"]
)
def test_quantile_outside_its_domain(name):
    bad = [(0, 2, 0.5), (1, 2, 0.5), (-1, 2, 0.5), (math.nan, 2, 0.5), (0.5, 0, 0.5)]
    bad += [(0.5, 0.01, 0.5), (0.5, 2, 0), (0.5, 2, 1.5), (0.5, math.inf, 0.5)]
    assert np.isnan(getattr(riskcore, name)(*np.array(bad).T)).all()


# --- moments of 1/F ----------------------------------------------------------------


def assert_moments(f, p, exact, ulps):
    second, deviation = exact
    found = riskcore.individual_risk_second_moment(f, p)
    assert ulps(found, second) < MOMENTS, (f, p)
    found = riskcore.individual_risk_deviation(f, p)
    assert ulps(found, deviation) < MOMENTS, (f, p)


@pytest.mark.parametrize("f", [1, 2, 3, 4, 7, 8, 15, 16])
def test_moments_against_the_dilogarithm(f, ulps):
    rng = np.random.default_rng(f)
    p = [*10 ** -rng.uniform(0, 9, 12), *rng.uniform(0.1, 1, 6), 0.1, 1 - 2.0**-30]
    for x in map(float, p):
        assert_moments(f, x, moments_by_dilogarithm(f, x), ulps)


def test_moments_against_the_integral(ulps):
    rng = np.random.default_rng(5)
    f = [*rng.uniform(0.05, 10, 25), *10 ** rng.uniform(-2, 9, 25), 2.0, 8.0]
    p = [*10 ** -rng.uniform(0, 12, 25), *10 ** -rng.uniform(0, 6, 25), 1e-9, 1e-9]
    for cell in zip(map(float, f), map(float, p), strict=True):
        assert_moments(*cell, moments_by_integral(*cell), ulps)


@pytest.mark.parametrize(
    "f",
    [0.3, 0.5, 0.5 + 2.0**-53, 1.0, 1.5, 1.5 + 2.0**-52, 2.5, 20 - 2.0**-48, 20.0],
)
def test_moments_on_both_sides_of_the_borders(f, ulps):
    for p in (1e-3, np.nextafter(0.2, 0), 0.2, 1 - 2.0**-53):
        assert_moments(f, float(p), moments_by_integral(f, float(p)), ulps)


@pytest.mark.parametrize("f", [0.5, 1.7, 2.01, 6.5])
def test_moments_at_tiny_p(f, ulps):
    assert_moments(f, 1e-30, moments_by_integral(f, 1e-30), ulps)


@pytest.mark.parametrize("f", [1, 2, 3, 7])
def test_moments_at_tiny_p_and_integers(f, ulps):
    for p in (1e-30, 1e-100, 1e-300 if f < 4 else 1e-60):
        assert_moments(f, p, moments_by_dilogarithm(f, p), ulps)


def test_deviation_at_the_smallest_p():
    # For f < 2 it goes like p^(f/2) as p -> 0.
    for f in (0.1, 0.5, 1.5, 1.7):
        near, far = (riskcore.individual_risk_deviation(f, p) for p in (2e-250, 1e-300))
        with mpmath.workprec(200):
            ratio = (mpmath.mpf(2e-250) / mpmath.mpf(1e-300)) ** (mpmath.mpf(f) / 2)
            assert abs(near / far / ratio - 1) < 1e-15


def test_moments_at_subnormal_p(ulps):
    # Limits p -> 0: p^2/((f-1)(f-2)) and p/((f-1) sqrt(f-2)) for f > 2,
    # p pi^2/6 for f = 1.
    for p in (5e-324, 2.0**-1040):
        for f in (4.0, 6.5, 9.0, 50.0):
            with mpmath.workprec(100):
                limit = mpmath.mpf(p) / ((f - 1) * mpmath.sqrt(f - 2))
                assert ulps(riskcore.individual_risk_deviation(f, p), limit) <= 1
        with mpmath.workprec(100):
            limit = mpmath.sqrt(mpmath.mpf(p) * mpmath.pi**2 / 6)
            assert ulps(riskcore.individual_risk_deviation(1, p), limit) < MOMENTS
            assert ulps(riskcore.individual_risk_second_moment(1, p), limit**2) <= 1


def test_moments_of_huge_frequencies():
    # To first order in 1/f: E[1/F^2] = p^2/f^2, Var(1/F) = q p^2/f^3.
    p = np.array([1e-3, 0.5, 0.99])
    for f in (1e15, 1e25, 1e100):
        second = riskcore.individual_risk_second_moment(f, p)
        assert second == pytest.approx((p / f) ** 2, rel=1e-12)
        deviation = riskcore.individual_risk_deviation(f, p)
        assert deviation == pytest.approx(
            p * np.sqrt(1 - p) / f / np.sqrt(f), rel=1e-12
        )
    assert riskcore.individual_risk_deviation(1e300, 0.5) == 0  # below any double


@pytest.mark.parametrize(("f", "p"), [(1, 0.5), (2, 0.25), (3, 0.75), (6, 0.5)])
def test_moments_equal_sums_of_rationals(f, p):
    law = rational_law(f, p, f + 400)
    assert 1 - sum(law) < Fraction(1, 10**35)
    r, second = (
        sum(x / Fraction(k) ** n for k, x in enumerate(law, f)) for n in (1, 2)
    )
    found = riskcore.individual_risk_second_moment(f, p)
    assert float(second) == pytest.approx(found, rel=5e-16)
    deviation = math.sqrt(second - r * r)
    assert riskcore.individual_risk_deviation(f, p) == pytest.approx(
        deviation, rel=5e-16
    )


@given(real_f, fractions)
def test_bounds_of_the_moments(f, p):
    r = riskcore.individual_risk(f, p)
    second = riskcore.individual_risk_second_moment(f, p)
    deviation = riskcore.individual_risk_deviation(f, p)
    assert second >= r * r * (1 - 1e-15)
    assert second <= r / f * (1 + 1e-15)
    # 1/F lies in (0, 1/f]: its variance is at most r (1/f - r) (Bhatia and Davis).
    largest = float(Fraction(float(r)) * (1 / Fraction(f) - Fraction(float(r))))
    assert deviation**2 <= largest * (1 + 1e-12) + 4e-16 * r / f
    assert deviation**2 + r * r == pytest.approx(second, rel=2e-15)


def test_moments_at_their_ends():
    f = np.array([0.5, 1.0, 3.0, 1e6])
    assert (riskcore.individual_risk_deviation(f, 1.0) == 0).all()
    second = riskcore.individual_risk_second_moment(f, 1.0)
    assert second == pytest.approx(1 / f**2, rel=2.3e-16)
    bad = [(0, 0.5), (-1, 0.5), (math.inf, 0.5), (math.nan, 0.5)]
    bad += [(1, 0), (1, 1.5), (1, math.nan)]
    # From 2^-320 on the cube of 1/f is a double; f/p must be one, too.
    least, huge = 2.0**-320, 2.0**1023
    bad += [(np.nextafter(least, 0), 0.5), (huge, 0.5)]
    for name in ("individual_risk_deviation", "individual_risk_second_moment"):
        function = getattr(riskcore, name)
        assert np.isnan(function(*np.array(bad).T)).all()
        assert np.isfinite(function([least, huge], [0.5, 0.75])).all()
