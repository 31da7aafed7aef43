import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from riskcore.models import DirichletMultinomial, Ewens, Pitman, SizeIndices, polya_urn

# Doubles, so that rationals of them are what the models have.
URNS = [
    (Ewens(2.5), 2.5, 0), (Ewens(1000.0), 1000, 0), (Pitman(2.5, 0.25), 2.5, 0.25),
    (Pitman(-0.5, 0.75), -0.5, 0.75), (Pitman(0.0, 0.5), 0, 0.5),
    (Pitman(3.0, 0.0), 3, 0), (DirichletMultinomial(7, 0.5), 3.5, -0.5),
    (DirichletMultinomial(40, 3.0), 120, -3), (DirichletMultinomial(1, 2.0), 2, -2),
]  # fmt: skip


@pytest.mark.parametrize(("model", "theta", "sigma"), URNS, ids=lambda x: str(x))
@pytest.mark.parametrize(
    ("n", "N"), [(1, 1), (1, 2), (1, 60), (5, 5), (5, 6), (20, 300)]
)
def test_uniqueness_is_the_product_over_unseen_records(
    urn_uniqueness, model, theta, sigma, n, N
):
    exact = float(urn_uniqueness(theta, sigma, n, N))
    assert model.uniqueness(n, N) == pytest.approx(exact, rel=4e-15, abs=0)
    assert model.population_uniques(N) == pytest.approx(
        N * float(urn_uniqueness(theta, sigma, 1, N)), rel=4e-15, abs=0
    )


@pytest.mark.parametrize(
    "model",
    [Ewens(2.5), Pitman(2.5, 0.25), Pitman(-0.5, 0.75), DirichletMultinomial(9, 0.5),
     DirichletMultinomial(4, 3.0), DirichletMultinomial(9, math.inf)],
    ids=str,
)  # fmt: skip
def test_probabilities_and_uniques_of_all_partitions(partitions, model):
    every = partitions(9)
    if isinstance(model, DirichletMultinomial):
        every = [sizes for sizes in every if sizes.u <= model.K]
    probability = [math.exp(model.log_probability(sizes)) for sizes in every]
    assert math.fsum(probability) == pytest.approx(1.0, rel=1e-13)
    uniques = math.fsum(
        p * sizes[1] for p, sizes in zip(probability, every, strict=True)
    )
    assert model.population_uniques(9) == pytest.approx(uniques, rel=1e-13)


def test_the_models_are_one():
    n, N = 1000, 10**6
    assert Pitman(70.0, 0.0).uniqueness(n, N) == Ewens(70.0).uniqueness(n, N)
    fine = DirichletMultinomial(10**12, 70.0 / 10**12)
    assert fine.uniqueness(n, N) == pytest.approx(
        Ewens(70.0).uniqueness(n, N), rel=1e-9
    )
    sizes = SizeIndices({1: 30, 2: 10, 9: 5})
    same = Ewens(70.0).log_probability(sizes)
    assert Pitman(70.0, 0.0).log_probability(sizes) == pytest.approx(same, rel=1e-14)
    assert Pitman(70.0, 1e-300).log_probability(sizes) == pytest.approx(same, rel=1e-14)
    assert fine.log_probability(sizes) == pytest.approx(same, rel=1e-8)


def test_closed_forms():
    n, N, theta = 500, 10**7, 123.0
    model = Ewens(theta)
    assert model.population_uniques(N) == pytest.approx(
        theta * N / (theta + N - 1), rel=1e-15
    )
    assert model.uniqueness(n, N) == pytest.approx(
        (theta + n - 1) / (theta + N - 1), rel=1e-15
    )


def test_extremes_lose_no_digits():
    cases = [
        (DirichletMultinomial(10**12, 1e-12), 10**8, 10**10),
        (DirichletMultinomial(10**12, 1.0), 10**8, 10**10),
        (DirichletMultinomial(10**12, 1e6), 10**8, 10**10),
        (Pitman(1e12, 0.3), 10**6, 10**10),
        (Pitman(1e9, 0.9), 10**6, 10**10),
        (Ewens(1e12), 10**6, 10**10),
    ]
    with mpmath.workdps(60):
        for model, n, N in cases:
            if isinstance(model, DirichletMultinomial):
                theta, sigma = (
                    model.K * mpmath.mpf(model.alpha),
                    -mpmath.mpf(model.alpha),
                )
            else:
                theta = mpmath.mpf(model.theta)
                sigma = mpmath.mpf(getattr(model, "sigma", 0.0))
            exact = mpmath.exp(
                mpmath.loggamma(theta + N - 1 + sigma)
                + mpmath.loggamma(theta + n)
                - mpmath.loggamma(theta + n - 1 + sigma)
                - mpmath.loggamma(theta + N)
            )
            error = abs(model.uniqueness(n, N) / exact - 1)
            assert error < 1e-15 * (1 + abs(mpmath.log(exact)))


def test_multinomial_limit():
    n, N, K = 10, 1000, 50
    exact = (1 - Fraction(1, K)) ** (N - n)
    model = DirichletMultinomial(K, math.inf)
    assert model.uniqueness(n, N) == pytest.approx(float(exact), rel=1e-14)
    assert model.asymptotic_tau(SizeIndices({1: 10}), N) == 0.0


def test_tau_is_the_share_of_sample_uniques():
    sizes, N = SizeIndices({1: 30, 2: 10, 9: 5}), 10**5
    for model in (Ewens(50.0), Pitman(50.0, 0.3), DirichletMultinomial(1000, 0.1)):
        assert model.tau(sizes, N) == 30 * model.uniqueness(sizes.n, N)
        assert model.tau(sizes, sizes.n) == 30.0
        assert model.tau(SizeIndices({2: 4}), N) == 0.0


@pytest.mark.parametrize("theta", [2.0**88, 2.0**100 / 3, 2.0**100])
def test_an_urn_of_any_weight_has_a_law(theta):
    # Of 50 sample uniques the 50 unseen records hit none.
    sizes = SizeIndices({1: 50, 25: 2})
    model = Ewens(theta)
    assert model.tau_interval(sizes, 150) == (50, 50)
    assert model.tau_variance(sizes, 150) < 1e-20


def test_asymptotic_form():
    sizes, N = SizeIndices({1: 30, 2: 10, 9: 5}), 10**5
    assert Pitman(50.0, 0.3).asymptotic_tau(sizes, N) == pytest.approx(
        30 * (95 / N) ** 0.7
    )
    assert DirichletMultinomial(1000, 0.2).asymptotic_tau(sizes, N) == pytest.approx(
        30 * (95 / N) ** 1.2
    )


@pytest.mark.parametrize("model", [Ewens(5.0), Pitman(5.0, 0.5)], ids=str)
@pytest.mark.parametrize(("n", "N"), [(0, 5), (6, 5), (1, 2**53 + 1)])
def test_sizes_are_checked(model, n, N):
    with pytest.raises(ValueError, match=f"need 1 <= n <= N <= 2.53, got {n} and {N}"):
        model.uniqueness(n, N)
    with pytest.raises(TypeError):
        model.uniqueness(1.5, 10)
    with pytest.raises(ValueError, match="N: need"):
        model.population_uniques(0)
    with pytest.raises(ValueError, match="need 1 <= n <= N"):
        model.tau(SizeIndices({1: 9}), 5)


def test_interval_takes_the_urn_as_the_law_does(monkeypatch):
    given = {}

    def record(*arguments):
        given.update(zip(("A", "b", "M", "m1", "level"), arguments, strict=True))
        return 1, 2

    monkeypatch.setattr(polya_urn.posterior_uniques, "tau_interval", record)
    sizes = SizeIndices({1: 30, 2: 10, 9: 5})
    assert DirichletMultinomial(1000, 0.25).tau_interval(sizes, 10**4, 0.9) == (1, 2)
    assert given == {
        "A": 95 + 250.0,
        "b": 1.25,
        "M": 10**4 - 95,
        "m1": 30,
        "level": 0.9,
    }
    Pitman(50.0, 0.25).tau_interval(sizes, 10**4)
    assert given == {"A": 145.0, "b": 0.75, "M": 10**4 - 95, "m1": 30, "level": 0.95}


@pytest.mark.parametrize(("model", "theta", "sigma"), URNS, ids=lambda x: str(x))
def test_law_and_variance_by_the_death_chain(model, theta, sigma):
    sizes, N = SizeIndices({1: 3, 2: 1, 4: 2}), 60
    if getattr(model, "K", 9) < sizes.u:
        with pytest.raises(ValueError, match="6 occupied cells, the model has 1"):
            model.tau_distribution(sizes, N)
        return
    A, b = Fraction(theta) + sizes.n, 1 - Fraction(sigma)
    law = {3: Fraction(1)}
    for t in range(N - sizes.n):
        following: dict[int, Fraction] = {}
        for e, p in law.items():
            death = e * b / (A + t)
            following[e] = following.get(e, 0) + p * (1 - death)
            following[e - 1] = following.get(e - 1, 0) + p * death
        law = following
    exact = [law.get(e, 0) for e in range(4)]
    found = model.tau_distribution(sizes, N)
    assert found == pytest.approx(list(map(float, exact)), rel=1e-12)
    mean = sum(e * p for e, p in enumerate(exact))
    variance = sum(e * e * p for e, p in enumerate(exact)) - mean**2
    assert model.tau_variance(sizes, N) == pytest.approx(float(variance), rel=1e-12)
    ends = np.searchsorted(np.cumsum(list(map(float, exact))), [0.1, 0.9])
    assert model.tau_interval(sizes, N, 0.8) == tuple(ends.tolist())
    assert model.tau(sizes, N) == pytest.approx(float(mean), rel=1e-13)
    assert model.unique_fraction(N) == model.population_uniques(N) / N


@pytest.mark.parametrize(
    ("model", "own"),
    [(Ewens(10.0), 1), (Pitman(10.0, 0.7), 1 - Fraction(0.7))]
    + [(DirichletMultinomial(9, a), 1 + Fraction(a)) for a in (0.1, 50.1, 1e4)],
    ids=str,
)
def test_no_digits_of_the_asymptotic_tau_are_lost(model, own):
    sizes = SizeIndices({1: 3, 2: 2, 300: 4})
    for N in (sizes.n + 1, 50 * sizes.n, 10**8):
        computed = model.asymptotic_tau(sizes, N)
        with mpmath.workdps(50):
            share = mpmath.mpf(sizes.n) / N
            exact = 3 * share ** (mpmath.mpf(own.numerator) / own.denominator)
        if exact > 1e-300:
            assert abs(mpmath.mpf(computed) / exact - 1) < 2.0**-51
        else:
            assert computed == pytest.approx(float(exact), rel=1e-12, abs=1e-320)
