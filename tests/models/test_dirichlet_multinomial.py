import math

import mpmath
import pytest

from riskcore.models import DirichletMultinomial, PoissonGamma, SizeIndices


def log_likelihood(alpha, K, sizes):
    """The law of the size indices to the letter."""
    value = mpmath.fac(sizes.n) / mpmath.rf(K * alpha, sizes.n)
    value *= mpmath.ff(K, sizes.u)
    for j, s in zip(sizes.sizes.tolist(), sizes.counts.tolist(), strict=True):
        value *= (mpmath.rf(alpha, j) / mpmath.fac(j)) ** s / mpmath.fac(s)
    return mpmath.log(value)


# --- published figures -------------------------------------------------------------


def test_the_first_row_of_the_thesis():
    # 292 sample uniques; its table says 87.58, which needs 301.
    model, N = DirichletMultinomial(8640, 0.0254), 3_000_000
    for m1, exact, asymptotic in ((292, 84.98, 84.96), (301, 87.60, 87.58)):
        sizes = SizeIndices({1: m1, 900_000 - m1: 1})
        assert round(model.tau(sizes, N), 2) == exact
        assert round(model.asymptotic_tau(sizes, N), 2) == asymptotic


@pytest.mark.parametrize(
    ("n", "N", "K", "alpha", "exact", "error"),
    [
        (900_000, 3_000_000, 8640, 0.0254, 0.2910152740, -0.017),
        (300_000, 1_000_000, 20_000, 1.0, 0.0984230500, -8.56),
        (30_000, 100_000, 10_000, 0.25, 0.2379230595, -6.68),
        (30_000, 100_000, 10_000, 1.97, 0.0734866958, -61.9),
        (4000, 1_010_466, 87_360, 0.15977, 0.0091863572, -82.2),
    ],
)
def test_exact_and_asymptotic_form(n, N, K, alpha, exact, error):
    model = DirichletMultinomial(K, alpha)
    assert round(model.uniqueness(n, N), 10) == exact
    sizes = SizeIndices({1: 1, n - 1: 1})
    ratio = model.asymptotic_tau(sizes, N) / model.tau(sizes, N)
    decimals = len(str(error).split(".")[1])
    assert round(100 * (ratio - 1), decimals) == error


def test_limits():
    n, N, K = 500, 2000, 40
    tiny = DirichletMultinomial(K, 1e-15).uniqueness(n, N)
    assert tiny == pytest.approx((n - 1) / (N - 1), rel=1e-12)
    large = DirichletMultinomial(K, 1e15).uniqueness(n, N)
    assert large == pytest.approx((1 - 1 / K) ** (N - n), rel=1e-10)
    assert DirichletMultinomial(1, 0.5).uniqueness(1, 2) == 0.0


def test_expectations_at_alpha_one():
    # Thesis 4.4: 300 000 of a million people in 20 000 cells.
    model = DirichletMultinomial(20_000, 1.0)
    uniques = model.population_uniques(300_000)
    assert round(uniques, 2) == 1171.83
    assert round(uniques * model.uniqueness(300_000, 1_000_000), 2) == 115.33


# --- maximum likelihood ------------------------------------------------------------


@pytest.mark.parametrize("K", [20, 45, 1000, 10**9])
@pytest.mark.parametrize("alpha", [1e-6, 0.3, 20.0])
def test_likelihood_is_the_formula(small, K, alpha):
    given = DirichletMultinomial(K, alpha).log_probability(small)
    if small.u > K:
        assert given == -math.inf
        return
    exact = float(log_likelihood(mpmath.mpf(alpha), K, small))
    assert given == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("K", [60, 1000, 10**9])
def test_maximum_and_curvature_by_mpmath(K):
    sizes = SizeIndices({1: 30, 2: 10, 9: 5})
    model = DirichletMultinomial.fit(sizes, K)
    with mpmath.workdps(50):
        alpha = mpmath.findroot(
            lambda a: mpmath.diff(lambda x: log_likelihood(x, K, sizes), a),
            (model.alpha, 1.01 * model.alpha),
        )
        curvature = mpmath.diff(lambda x: log_likelihood(x, K, sizes), alpha, 2)
    assert model.alpha == pytest.approx(float(alpha), rel=1e-13)
    assert model.standard_errors["alpha"] == pytest.approx(
        float(1 / mpmath.sqrt(-curvature)), rel=1e-11
    )
    assert model.log_likelihood == model.log_probability(sizes)
    assert model.aic == 2 - 2 * model.log_likelihood
    for factor in (0.1, 0.99, 1.01, 10.0):
        other = DirichletMultinomial(K, factor * model.alpha)
        assert other.log_probability(sizes) < model.log_likelihood


def test_standard_error_of_a_large_alpha():
    # Cells nearly as equal as equally likely ones: little information, but it tells.
    sizes, K = SizeIndices({1: 980, 2: 10}), 50_000
    model = DirichletMultinomial.fit(sizes, K)
    assert model.alpha > 500
    with mpmath.workdps(60):
        a = mpmath.mpf(model.alpha)
        information = K**2 * (mpmath.psi(1, K * a + sizes.n) - mpmath.psi(1, K * a))
        for j, s in ((1, 980), (2, 10)):
            information += s * (mpmath.psi(1, a) - mpmath.psi(1, a + j))
        error = float(1 / mpmath.sqrt(information))
    assert model.standard_errors["alpha"] == pytest.approx(error, rel=1e-9)


def test_finite_exactly_under_the_condition():
    # sum f(f-1) against n (n-1)/K: 12 against 90/K is equal at K = 7.5.
    sizes = SizeIndices({1: 4, 3: 2})
    assert sizes.same_cell == 12
    for K in (6, 7):
        model = DirichletMultinomial.fit(sizes, K)
        assert model.converged
        assert model.alpha == math.inf
        assert "multinomial" in model.reason
        assert model.standard_errors == {}
        for alpha in (1.0, 1e3, 1e6):
            other = DirichletMultinomial(K, alpha)
            assert other.log_probability(sizes) < model.log_likelihood
        assert DirichletMultinomial.fit(sizes, K, method="moments").alpha == math.inf
    for K in (8, 9, 1000):
        model = DirichletMultinomial.fit(sizes, K)
        assert 0 < model.alpha < math.inf
        assert model.reason == ""
        limit = DirichletMultinomial(K, math.inf)
        assert limit.log_probability(sizes) < model.log_likelihood
    # Equality: 6 against 36/6.
    equal = SizeIndices({1: 3, 3: 1})
    assert (equal.same_cell, equal.n * (equal.n - 1)) == (6, 30)
    assert DirichletMultinomial.fit(equal, 5).alpha == math.inf
    assert DirichletMultinomial.fit(equal, 6).alpha < math.inf


def test_all_uniques_are_multinomial():
    sizes = SizeIndices({1: 50})
    model = DirichletMultinomial.fit(sizes, K=1000)
    assert model.alpha == math.inf
    exact = math.prod(1 - i / 1000 for i in range(50))
    assert model.log_likelihood == pytest.approx(math.log(exact), rel=1e-11)
    assert model.tau(sizes, 150) == pytest.approx(50 * 0.999**100, rel=1e-14)


@pytest.mark.parametrize("K", [200, 10**6, 10**12])
def test_moments_are_as_expected(K):
    sizes = SizeIndices({1: 30, 2: 10, 9: 5})
    alpha = DirichletMultinomial.fit(sizes, K, method="moments").alpha
    n = sizes.n
    expected = n * (n - 1) * (1 + alpha) / (1 + K * alpha)
    assert sizes.same_cell == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("counts", "K"),
    [({1: 10**9 - 200, 200: 1}, 10**15), ({10**9: 2}, 10), ({1: 1, 10**9: 1}, 10**12),
     ({1: 10**8, 10**9: 1}, 10**9), ({1: 1, 2: 1}, 5)],
    ids=str,
)  # fmt: skip
def test_large_and_lopsided_samples(counts, K):
    sizes = SizeIndices(counts)
    model = DirichletMultinomial.fit(sizes, K)
    with mpmath.workdps(60):
        alpha, psi = mpmath.mpf(model.alpha), mpmath.digamma
        score = -K * (psi(K * alpha + sizes.n) - psi(K * alpha))
        for j, s in zip(sizes.sizes.tolist(), sizes.counts.tolist(), strict=True):
            score += s * (psi(alpha + j) - psi(alpha))
    # Newton's step that is left, in standard errors.
    assert abs(score * model.standard_errors["alpha"]) < 1e-9


def test_next_to_the_boundary():
    # K sum f(f-1) = n (n-1) + 2: alpha is finite, but where its digits do not tell.
    n, b, K = 926_757_582, 137, 3_134_597_134_553_756
    sizes = SizeIndices({1: n - 2 * b, 2: b})
    assert K * sizes.same_cell == n * (n - 1) + 2
    model = DirichletMultinomial.fit(sizes, K)
    assert not model.converged
    assert model.reason == "alpha is too large to determine in doubles"
    assert math.isnan(model.population_uniques(10**10))


# --- without an estimate -----------------------------------------------------------


@pytest.mark.parametrize("model", [DirichletMultinomial, PoissonGamma])
def test_arguments_are_checked(model):
    sizes = SizeIndices({1: 4, 2: 1})
    with pytest.raises(ValueError, match=r"K: need 5 occupied cells to 2\^53, got 4"):
        model.fit(sizes, 4)
    with pytest.raises(TypeError):
        model.fit(sizes, 5.0)
    with pytest.raises(ValueError, match=r"method='mle': use 'ml'(,| or) 'moments'"):
        model.fit(sizes, 5, method="mle")
    with pytest.raises(ValueError, match="K: need at least one cell, got 0"):
        model(0, 1.0)


# --- simulated ---------------------------------------------------------------------


def test_intervals_at_the_multinomial_boundary():
    # Cells that are no more unequal than equally likely ones: alpha is infinite.
    sizes = SizeIndices({1: 400})
    model = DirichletMultinomial.fit(sizes, 10**15)
    assert math.isinf(model.alpha)
    p = math.exp((10**14 - 400) * math.log1p(-1e-15))
    assert model.tau(sizes, 10**14) == pytest.approx(400 * p, rel=1e-9)
    low, high = model.tau_interval(sizes, 10**14)
    sd = math.sqrt(400 * p * (1 - p))
    assert low == pytest.approx(400 * p - 1.96 * sd, abs=2)
    assert high == pytest.approx(400 * p + 1.96 * sd, abs=2)


ALPHAS = [5e-324, 1e-300, 2.0**-160, 2.0**-100, 2.0**-61, 2.0**-60, 2.0**-59, 1e-6]
CELLS = [2, 7, 10**6, 2**53]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("K", CELLS)
def test_every_small_alpha_is_right(alpha, K):
    sizes = SizeIndices({1: 1, 5: 1})
    model, n = DirichletMultinomial(K, alpha), sizes.n
    with mpmath.workdps(800):
        a = mpmath.mpf(alpha)
        rising = [mpmath.rf(a, j) / mpmath.factorial(j) for j in (1, 5)]
        whole = mpmath.factorial(n) / mpmath.rf(K * a, n) * K * (K - 1)
        assert model.log_probability(sizes) == pytest.approx(
            float(mpmath.log(whole * rising[0] * rising[1])), rel=1e-14
        )
        N = 1000
        empty = mpmath.rf((K - 1) * a, N) / mpmath.rf(K * a, N)
        assert model.expected_cells(N) == pytest.approx(
            float(K * (1 - empty)), rel=3e-15
        )
        for start in (1, 6):
            unhit = mpmath.rf((K - 1) * a + start - 1, N - start)
            unhit = float(unhit / mpmath.rf(K * a + start, N - start))
            found = model.uniqueness(start, N)
            assert found == pytest.approx(unhit, rel=5e-16, abs=1e-323)
        # P(a cell has j of N) is Polya's; the last is that of one cell for all.
        expected = [
            K * mpmath.binomial(4, j) * mpmath.rf(a, j)
            * mpmath.rf((K - 1) * a, 4 - j) / mpmath.rf(K * a, 4)
            for j in range(1, 5)
        ]  # fmt: skip
        found = model.expected_sizes(4, 5)
        assert found[:4] == pytest.approx(list(map(float, expected)), rel=2e-15, abs=0)
        assert found[4] == 0.0


@pytest.mark.parametrize("K", CELLS)
def test_large_alphas_are_that_of_equal_cells(K):
    sizes, N = SizeIndices({1: 1, 5: 1}), 10**6
    equal = DirichletMultinomial(K, math.inf)
    for alpha in (2.0**90, 2.0**101, 1e300, 1.7e308):
        model = DirichletMultinomial(K, alpha)
        assert model.uniqueness(6, N) == equal.uniqueness(6, N)
        assert model.expected_cells(N) == equal.expected_cells(N)
        assert model.log_probability(sizes) == equal.log_probability(sizes)
        assert model.tau_interval(sizes, N) == equal.tau_interval(sizes, N)
