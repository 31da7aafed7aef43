import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from riskcore.models import DirichletMultinomial, PoissonGamma, SizeIndices

SAMPLE = SizeIndices({1: 30, 2: 10, 9: 5})


def log_likelihood(alpha, K, sizes):
    """Negative binomial frequencies of K cells with mean n/K, to the letter."""
    m = mpmath.mpf(sizes.n) / K
    empty = -alpha * mpmath.log1p(m / alpha)
    value = (K - sizes.u) * empty
    for j, s in zip(sizes.sizes.tolist(), sizes.counts.tolist(), strict=True):
        cell = mpmath.rf(alpha, j) / mpmath.fac(j) * (m / (m + alpha)) ** j
        value += s * (mpmath.log(cell) + empty)
    return value


def test_mokken():
    # Table 1, by the larger root of f_u(63624) = 0.001.
    model = PoissonGamma(1108, 0.0074057310216)
    found = [1000 * model.population_uniques(N) / N for N in (31812, 63624, 127248)]
    assert [round(f, 6) for f in found] == [2.171128, 1.0, 0.460045]
    assert round(model.alpha, 6) == 0.121869


@pytest.mark.parametrize("beta", [1e-20, 1e-6, 3e-5, 0.01, 3.0, 1e6])
@pytest.mark.parametrize("K", [10, 1108, 10**12])
def test_formulas_lose_no_digits(beta, K):
    model = PoissonGamma(K, beta)
    for n, N in ((1, 2), (100, 5000), (10**5, 10**6), (10**8, 10**10)):
        with mpmath.workdps(60):
            alpha = 1 / (K * mpmath.mpf(beta))
            unhit = ((1 + n * mpmath.mpf(beta)) / (1 + N * mpmath.mpf(beta))) ** (
                1 + alpha
            )
            unique = (1 + N * mpmath.mpf(beta)) ** -(1 + alpha)
        found = model.uniqueness(n, N)
        assert abs(found - unhit) <= 2.0**-52 * unhit + 5e-324
        fraction = model.population_uniques(N) / N
        assert abs(fraction - unique) <= 2.0**-51 * unique + 5e-324


def test_poisson_limit():
    model = PoissonGamma(500, 0.0)
    assert model.alpha == math.inf
    assert model.uniqueness(100, 1100) == pytest.approx(math.exp(-2), rel=1e-15)
    assert model.population_uniques(1000) == pytest.approx(1000 * math.exp(-2))
    near = PoissonGamma(500, 1e-15)
    assert near.uniqueness(100, 1100) == pytest.approx(math.exp(-2), rel=1e-11)


@pytest.mark.parametrize("K", [60, 1000, 10**7])
def test_maximum_and_curvature_by_mpmath(K):
    model = PoissonGamma.fit(SAMPLE, K)
    with mpmath.workdps(50):
        alpha = mpmath.findroot(
            lambda a: mpmath.diff(lambda x: log_likelihood(x, K, SAMPLE), a),
            (model.alpha, 1.01 * model.alpha),
        )
        beta = 1 / (K * alpha)
        curvature = mpmath.diff(
            lambda b: log_likelihood(1 / (K * b), K, SAMPLE), beta, 2
        )
    assert model.beta == pytest.approx(float(beta), rel=1e-13)
    assert model.standard_errors["beta"] == pytest.approx(
        float(1 / mpmath.sqrt(-curvature)), rel=1e-11
    )
    # Given n it is the Dirichlet-multinomial model.
    same = DirichletMultinomial(K, model.alpha)
    assert model.log_likelihood == same.log_probability(SAMPLE)
    assert DirichletMultinomial.fit(SAMPLE, K).log_likelihood > model.log_likelihood


def test_finite_exactly_under_the_condition():
    # sum f(f-1) = 12 against n^2/K = 100/K: equal at K = 8.33.
    sizes = SizeIndices({1: 4, 3: 2})
    for K in (6, 8):
        for method in ("ml", "moments"):
            model = PoissonGamma.fit(sizes, K, method=method)
            assert model.converged
            assert model.beta == 0.0
            assert model.reason == "boundary beta = 0: the Poisson model"
            assert model.standard_errors == {}
        with mpmath.workdps(30):
            assert mpmath.diff(lambda a: log_likelihood(a, K, sizes), 1e4) > 0  # noqa: B023
    assert PoissonGamma.fit(sizes, 9).beta > 0
    # Equality: 4 against 16/4.
    assert PoissonGamma.fit(SizeIndices({2: 2}), 4).beta == 0.0


def test_next_to_the_boundary():
    # K sum f(f-1) = n^2 + 2: beta is positive, but where its digits do not tell.
    n, b, K = 64_176_922, 3, 686_446_219_565_681
    sizes = SizeIndices({1: n - 2 * b, 2: b})
    assert K * sizes.same_cell == n * n + 2
    model = PoissonGamma.fit(sizes, K)
    assert not model.converged
    assert model.reason == "beta is too small to determine in doubles"
    assert math.isnan(model.tau(sizes, 10**10))
    assert np.isnan(model.tau_interval(sizes, 10**10)).all()


def test_moments():
    K = 100
    f = [1] * 30 + [2] * 10 + [9] * 5 + [0] * (K - 45)
    m = sum(f) / K
    model = PoissonGamma.fit(SAMPLE, K, method="moments")
    assert model.beta == pytest.approx((np.var(f) / m - 1) / sum(f), rel=1e-13)


def test_no_variance_in_one_cell():
    for method in ("ml", "moments"):
        assert PoissonGamma.fit(SizeIndices({7: 1}), 1, method=method).beta == 0.0


@pytest.mark.parametrize(
    ("counts", "K"),
    [({50: 1}, 7), ({1: 10**9 - 2, 2: 1}, 10**18 // 200), ({10**9: 2}, 10),
     ({1: 1, 10**9: 1}, 10**12), ({1: 1}, 7), ({1: 50}, 10**6)],
    ids=str,
)  # fmt: skip
def test_large_and_lopsided_samples(counts, K):
    sizes = SizeIndices(counts)
    model = PoissonGamma.fit(sizes, K)
    assert model.converged
    overdispersed = sizes.same_cell > Fraction(sizes.n**2, K)
    assert (model.beta > 0) == overdispersed
    if not overdispersed:
        return
    with mpmath.workdps(60):
        alpha, psi = 1 / (K * mpmath.mpf(model.beta)), mpmath.digamma
        y = mpmath.mpf(sizes.n) / K / alpha
        score = -K * mpmath.log1p(y)
        for j, s in zip(sizes.sizes.tolist(), sizes.counts.tolist(), strict=True):
            score += s * (psi(alpha + j) - psi(alpha))
        step = score * alpha / model.beta * model.standard_errors["beta"]
    # Newton's step that is left, in standard errors.
    assert abs(step) < 1e-9


def test_interval_is_binomial():
    model, N = PoissonGamma.fit(SAMPLE, 1000), 2000
    p = model.uniqueness(SAMPLE.n, N)
    low, high = model.tau_interval(SAMPLE, N, level=0.9)
    assert (low, high) == stats.binom.interval(0.9, 30, p)
    assert model.tau(SAMPLE, N) == 30 * p


def test_parameters_come_back():
    rng, K, beta, n = np.random.default_rng(23), 3000, 0.001, 4000
    z = []
    for _ in range(60):
        rates = rng.gamma(1 / (K * beta), beta, K)
        f = rng.poisson(n * rates)
        model = PoissonGamma.fit(SizeIndices.from_frequencies(f), K)
        z.append((model.alpha - 1 / (K * beta)) * model.beta / model.alpha)
        z[-1] /= model.standard_errors["beta"]
    # Mean 0 and standard deviation 1, to 4 of their own standard errors.
    assert abs(np.mean(z)) < 4 / math.sqrt(60)
    assert abs(np.std(z) - 1) < 4 / math.sqrt(120)
