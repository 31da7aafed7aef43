"""The individual risk in a finite population, by exact sums, Arb and its identities."""

import math
from fractions import Fraction
from importlib import import_module

import mpmath
import numba
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import riskcore
from riskcore import embed
from riskcore.accuracy import reference
from riskcore.risk import finite_population

bench = import_module("bench.finite_population")
errors_of = import_module("bench.prior").errors_of
CONTRACT = {
    contract.function: contract.ulps for contract in finite_population.CONTRACTS
}
risk = riskcore.individual_risk_finite_population
log_risk = riskcore.log_individual_risk_finite_population
complete = riskcore.cell_fully_sampled_probability_finite_population
binomial = riskcore.individual_risk_binomial
complete_binomial = riskcore.cell_fully_sampled_probability_binomial
log_complete = riskcore.log_cell_fully_sampled_probability_finite_population
ONE, TWO = 2.0**-51, 2.0**-50  # relative errors that the contract allows, of two risks

regions = [(name, region) for name in CONTRACT for region in bench.DRAWS[name]]


# --- accuracy ------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "region"), regions)
def test_error_in_every_region(name, region):
    rng = np.random.default_rng([7, *region.encode()])
    found = errors_of(name, bench.DRAWS[name][region](rng, 60), bench.error_at)
    assert len(found) > 20
    error, at = max(found)
    assert error < CONTRACT[name], [x.hex() for x in at]
    assert error > 0.3  # half an ulp of rounding must show


@pytest.mark.slow
@pytest.mark.parametrize(("name", "region"), regions)
def test_error_in_every_region_at_length(name, region):
    points = bench.DRAWS[name][region](np.random.default_rng(8), 3000)
    error, at = max(errors_of(name, points, bench.error_at))
    assert error < CONTRACT[name], [x.hex() for x in at]


POINTS = [(1.0, 1.5, 30.0, 1500.0), (3.0, 3.25, 40.0, 1000.0), (2.5, 0.75, 3.0, 900.0),
          (0.25, 5.0, 90.0, 1200.0), (7.0, 3.0, 6.0, 2000.0), (20.0, 25.0, 9.0, 1999.0),
          (0.5, 2.5, 0.5, 700.0), (5.0, 0.25, 0.5, 900.0)]  # fmt: skip


@pytest.mark.parametrize("at", POINTS)
def test_references_agree(at):
    """The sum in mpmath and in Arb, the reflection and the fraction are of one mind."""
    value = reference.individual_risk_finite_population(*at)
    balls = (bench.by_sum(*at), bench.by_reflection(*at, 500), bench.by_fraction(*at))
    for ball in balls:
        with mpmath.workprec(200):
            middle = mpmath.mpf(ball.mid().str(60, radius=False))
            assert abs(middle / value - 1) < 2.0**-70


@pytest.mark.parametrize(
    ("f", "alpha", "beta", "M"),
    [(1.5, 2.25, 4e3, 1e7), (3.0, 5.5, 700.0, 1e6), (0.75, 2.0, 90.0, 1e9)],
)
def test_a_large_population_by_an_integral(f, alpha, beta, M):
    """Equation (a) of notes/finite_population.md, by quadrature."""
    with mpmath.workdps(40):
        factor = mpmath.beta(f, beta) / mpmath.beta(alpha, beta)
        near = [1 - mpmath.mpf(k) / (M + f + beta) for k in (200, 40, 10, 2, 0.2)]

        def integrand(w):
            return w ** (M + f + beta - 1) * mpmath.hyp2f1(
                f + 1 - alpha, beta, f + beta, w
            )

        value = factor * mpmath.quad(integrand, [*near, 1], maxdegree=10)
    assert risk(f, alpha, beta, M) == pytest.approx(float(value), rel=1e-11)


# --- exact sums ----------------------------------------------------------------------

small = st.fractions(min_value=Fraction(1, 64), max_value=40, max_denominator=64).map(
    float
)


def exactly(f, alpha, beta, M):
    """Return the sum in rational numbers."""
    f, alpha, beta = Fraction(f), Fraction(alpha), Fraction(beta)
    weight = total = Fraction(1)
    mean = 1 / f
    for x in range(M):
        weight *= (M - x) * (alpha + x) / ((x + 1) * (beta + M - x - 1))
        total += weight
        mean += weight / (f + x + 1)
    return mean / total, 1 / total


@given(small, small, small, st.integers(0, 120))
@example(1.0, 1.0, 1.0, 120)
@example(2.0, 1.0, 0.25, 119)
def test_exact_sum(f, alpha, beta, M):
    r, none = exactly(f, alpha, beta, M)
    assert abs(Fraction(float(risk(f, alpha, beta, M))) / r - 1) < Fraction(2) ** -52
    found = Fraction(float(complete(alpha, beta, M)))
    assert abs(found / none - 1) < Fraction(2) ** -52


numbers = st.floats(2.0**-10, 1e9) | st.integers(1, 90).map(float)
shares = st.floats(2.0**-10, 2.0**53) | st.integers(1, 60).map(float)
people = st.integers(0, 2**53).map(float) | st.integers(0, 300).map(float)


@given(numbers, shares, shares)
def test_nobody_outside_the_sample(f, alpha, beta):
    assert risk(f, alpha, beta, 0) == 1 / f
    assert complete(alpha, beta, 0) == 1
    assert log_complete(alpha, beta, 0) == 0


@given(small, small, small)
def test_one_person_outside_the_sample(f, alpha, beta):
    x, a, b = map(Fraction, (f, alpha, beta))
    exact = (b / x + a / (x + 1)) / (a + b)
    found = Fraction(float(risk(f, alpha, beta, 1)))
    assert abs(found / exact - 1) <= Fraction(2) ** -52


@given(small, st.integers(0, 120), st.fractions(0, 1, max_denominator=64).map(float))
@example(1.0, 120, 0.25)
def test_exact_sum_of_the_binomial_law(f, M, share):
    x, s = Fraction(f), Fraction(share)
    weights = [math.comb(M, k) * s**k * (1 - s) ** (M - k) for k in range(M + 1)]
    r = sum(weight / (x + k) for k, weight in enumerate(weights))
    assert abs(Fraction(float(binomial(f, M, share))) / r - 1) <= Fraction(2) ** -52
    found = Fraction(float(complete_binomial(M, share)))
    assert abs(found - weights[0]) <= weights[0] * Fraction(2) ** -52


# --- facts ---------------------------------------------------------------------------


@given(numbers, shares, shares, people)
def test_bounds(f, alpha, beta, M):
    """1/(f + mean) <= r <= 1/f, by Jensen."""
    r = Fraction(float(risk(f, alpha, beta, M)))
    x, a, b = map(Fraction, (f, alpha, beta))
    mean = int(M) * a / (a + b)
    assert r * (x + mean) >= 1 - Fraction(ONE)
    assert r * x <= 1 + Fraction(ONE)


@given(numbers, shares, shares, people)
def test_a_large_population_is_never_safer(f, alpha, beta, M):
    """The negative binomial law is larger in convex order, with the same mean."""
    p = (alpha + beta) / (alpha + beta + M)
    assume(f <= 1e6 and p < 1)
    limit = riskcore.individual_risk_with_prior(f, alpha, p)
    rounding = 2.0**-50 / (1 - p)  # of p; the risk's is no larger, relative
    assert risk(f, alpha, beta, M) <= limit * (1 + rounding)


@pytest.mark.parametrize("f", [1.0, 2.5, 7.0, 300.0])
@pytest.mark.parametrize("p", [1e-6, 1e-3, 0.25, 0.75])
@pytest.mark.parametrize("M", [1e9, 1e12, 1e15])
def test_the_limit_of_a_large_population(f, p, M):
    alpha = f + np.array([-0.5, 0.25, 1.0, 3.5, 40.0])
    g = M * p / (1 - p)
    p = g / (g + M)
    limit = riskcore.individual_risk_with_prior(f, alpha, p)
    apart = limit / risk(f, alpha, g - alpha, M) - 1
    assert (np.abs(apart) < 40 / g + 1e-14).all()
    if g < 1e9:
        assert (apart > 0).all()


@given(numbers, shares, shares, people, people)
def test_risk_falls_with_the_number_of_people(f, alpha, beta, some, others):
    high, low = risk(f, alpha, beta, sorted([some, others]))
    assert low <= high * (1 + TWO)


@given(numbers, shares, shares, shares, people)
def test_risk_falls_with_alpha(f, a, b, beta, M):
    high, low = risk(f, sorted([a, b]), beta, M)
    assert low <= high * (1 + TWO)


@given(numbers, shares, shares, shares, people)
def test_risk_rises_with_beta(f, alpha, a, b, M):
    low, high = risk(f, alpha, sorted([a, b]), M)
    assert low <= high * (1 + TWO)


@given(numbers, numbers, shares, shares, people)
def test_risk_falls_with_the_sample_frequency(f1, f2, alpha, beta, M):
    high, low = risk(sorted([f1, f2]), alpha, beta, M)
    assert low <= high * (1 + TWO)


@given(
    st.integers(1, 2**12).map(lambda k: k / 64),
    st.integers(1, 2**12).map(lambda k: k / 64),
    st.integers(1, 2**50).map(lambda k: k / 64),
    st.integers(1, 2**53).map(float),
)
def test_contiguity(f, alpha, beta, M):
    """M alpha/(alpha+beta) r(f+1; alpha+1, M-1) = 1 - f r."""
    assume(Fraction(alpha + beta) == Fraction(alpha) + Fraction(beta))
    r = Fraction(float(risk(f, alpha, beta, M)))
    r_next = Fraction(float(risk(f + 1, alpha + 1, beta, M - 1)))
    x, a, b = map(Fraction, (f, alpha, beta))
    next_part = int(M) * a / (a + b) * r_next
    slack = Fraction(ONE) * (next_part + 1 + x * r)
    assert abs(next_part - (1 - x * r)) <= slack


def test_logarithm_near_a_risk_of_one():
    # The largest absolute error found there, next to the rounding of the result.
    at = (0.905544911205623, 0.0662653029689213, 7.932968959845568, 28.0)
    with mpmath.workdps(50):
        exact = mpmath.log(reference.individual_risk_finite_population(*at))
        error = abs(riskcore.log_individual_risk_finite_population(*at) - exact)
    assert 2.0**-58 < error < 2.0**-57.7


@given(numbers, shares, shares, people)
def test_logarithm_belongs_to_the_risk(f, alpha, beta, M):
    log_r = log_risk(f, alpha, beta, M)
    assert math.exp(log_r) == pytest.approx(risk(f, alpha, beta, M), rel=1e-13)


@given(shares, shares, people)
def test_logarithm_belongs_to_the_probability(alpha, beta, M):
    logarithm = log_complete(alpha, beta, M)
    value = complete(alpha, beta, M)
    assert math.exp(logarithm) == pytest.approx(value, rel=1e-12, abs=1e-300)
    # A risk is at least this probability over f.
    assert risk(1.0, alpha, beta, M) >= value * (1 - TWO)


probabilities = st.floats(0, 1) | st.integers(1, 60).map(lambda k: 2.0**-k)


@given(numbers, people, probabilities)
def test_a_known_share_is_never_riskier(f, M, share):
    """The binomial law is smaller in convex order than others of its mean."""
    r = binomial(f, M, share)
    mean = Fraction(int(M)) * Fraction(share)
    assert Fraction(float(r)) * (Fraction(f) + mean) >= 1 - Fraction(ONE)
    assert r <= riskcore.individual_risk_poisson(f, M * share) * (1 + TWO)
    if 1e-6 < share < 0.999:
        doubtful = risk(f, 50.0, 50.0 * (1 / share - 1), M)
        assert r <= doubtful * (1 + 2.0**-45)


@given(numbers, people)
def test_ends_of_the_share(f, M):
    assert binomial(f, M, 0) == 1 / f
    assert binomial(f, M, 1) == pytest.approx(float(1 / (Fraction(f) + int(M))), 1e-15)
    assert complete_binomial(M, 0) == 1
    assert complete_binomial(M, 1) == (M == 0)


@pytest.mark.parametrize("f", [1.0, 2.5, 0.01, 300.0])
@pytest.mark.parametrize("mean", [1e-3, 1.0, 30.0, 1e4])
def test_the_binomial_law_is_a_limit_and_has_one(f, mean):
    share = mean / 2.0**40
    r = binomial(f, 2.0**40, share)
    assert riskcore.individual_risk_poisson(f, mean) == pytest.approx(r, rel=1e-7)
    M = 2.0**20
    alpha = mean / M * 2.0**52
    limit = binomial(f, M, mean / M)
    assert risk(f, alpha, 2.0**52 - alpha, M) == pytest.approx(limit, rel=1e-9)


# --- the same bits -------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed():
    """Cells of every region in one array, some outside the domain."""
    rng = np.random.default_rng(9)
    parts = [draw(rng, 60) for draw in bench.RISK.values()]
    f, alpha, beta, M = rng.permutation(np.hstack(parts).T).T.copy()
    f[::50], alpha[7::50], beta[11::50], M[13::50] = -1.0, np.nan, np.inf, 0.5
    return f, alpha, beta, M


@pytest.mark.compiles
@pytest.mark.parametrize("function", [risk, log_risk])
def test_array_scalar_and_pointer_have_the_same_bits(mixed, function):
    whole = function(*mixed)
    assert 0.02 < np.isnan(whole).mean() < 0.15
    one_by_one = np.array([function(*cell) for cell in zip(*mixed, strict=True)])
    assert one_by_one.tobytes() == whole.tobytes()
    pointer = embed.c_function(function.__name__)
    by_pointer = np.array([pointer(*cell) for cell in zip(*mixed, strict=True)])
    assert by_pointer.tobytes() == whole.tobytes()
    assert "double alpha, double beta, double unsampled" in pointer.declaration


@pytest.mark.slow
def test_compiled_code_of_users_has_the_same_bits(mixed):
    @numba.njit
    def fill(f, alpha, beta, M, out):
        for i in range(len(f)):
            out[i] = riskcore.individual_risk_finite_population(
                f[i], alpha[i], beta[i], M[i]
            )

    out = np.empty(len(mixed[0]))
    fill(*mixed, out)
    assert out.tobytes() == risk(*mixed).tobytes()


def test_interpreted_kernel(mixed):
    f, alpha, beta, M = (x[:40] for x in mixed)
    kernel = finite_population.UFUNCS["individual_risk_finite_population"]
    one_by_one = np.array(
        [kernel(*map(float, cell)) for cell in zip(f, alpha, beta, M, strict=True)]
    )
    assert one_by_one.tobytes() == risk(f, alpha, beta, M).tobytes()


# --- domain --------------------------------------------------------------------------

NOTHING = [-1.0, 0.0, math.nan, math.inf, -math.inf, 5e-324, 2.0**-11, 2.0**54]


@pytest.mark.parametrize("function", [risk, log_risk])
def test_nan_outside_the_domain(function):
    with np.errstate(all="raise"):
        for wrong in NOTHING:
            assert np.isnan(function(wrong, 2.0, 5.0, 10))
            assert np.isnan(function(2.0, [wrong, wrong], 5.0, 10)).all()
            assert np.isnan(function(2.0, 2.0, wrong, 10))
        for wrong in [-1.0, 0.5, 1e6 + 0.5, math.nan, math.inf, 2.0**53 + 2]:
            assert np.isnan(function(2.0, 2.0, 5.0, wrong))


@pytest.mark.parametrize("function", [complete, log_complete])
def test_nan_outside_the_domain_of_probabilities(function):
    for wrong in NOTHING:
        assert np.isnan(function(wrong, 2.0, 5))
        assert np.isnan(function(2.0, wrong, 5))
    for wrong in [-1.0, 0.5, 1e6 + 0.5, math.nan, math.inf, 2.0**53 + 2]:
        assert np.isnan(function(2.0, 5.0, wrong))


def test_nan_outside_the_domain_of_the_binomial_law():
    for wrong in NOTHING:
        assert np.isnan(binomial(wrong, 5, 0.5))
    for wrong in [-1.0, 0.5, 1e6 + 0.5, math.nan, math.inf, 2.0**53 + 2]:
        assert np.isnan(binomial(2.0, wrong, 0.5))
        assert np.isnan(complete_binomial(wrong, 0.5))
    for wrong in [-(2.0**-60), 1 + 2.0**-52, math.nan, math.inf]:
        assert np.isnan(binomial(2.0, 5, wrong))
        assert np.isnan(complete_binomial(5, wrong))


def test_a_probability_too_small_for_a_double():
    assert complete(1e6, 1e6, 1e6) == 0
    assert log_complete(1e6, 1e6, 1e6) < -5e5
