import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from riskcore.models import DirichletMultinomial, Ewens, Pitman, SizeIndices, pitman

N = 4_867_000  # of Takemura's population
METHODS = ("ml", "moments")


def log_likelihood(theta, sigma, sizes):
    """Pitman's formula to the letter."""
    theta, sigma = mpmath.mpf(theta), mpmath.mpf(sigma)
    value = mpmath.fac(sizes.n) / mpmath.rf(theta + 1, sizes.n - 1)
    for i in range(1, sizes.u):
        value *= theta + i * sigma
    for j, s in zip(sizes.sizes.tolist(), sizes.counts.tolist(), strict=True):
        value *= (mpmath.rf(1 - sigma, j - 1) / mpmath.fac(j)) ** s / mpmath.fac(s)
    return mpmath.log(value)


def derivative(orders, theta, sigma, sizes):
    with mpmath.workdps(40):
        point = (mpmath.mpf(theta), mpmath.mpf(sigma))
        return float(
            mpmath.diff(lambda t, s: log_likelihood(t, s, sizes), point, orders)
        )


# --- published figures -------------------------------------------------------------


def test_takemura_whatever_the_tail(takemura):
    for sizes in takemura:
        model = Pitman.fit(sizes, method="moments")
        assert model.converged
        assert (round(model.theta, 2), round(model.sigma, 5)) == (487.89, 0.51694)
        expected = sizes.n / N * model.population_uniques(N)
        assert round(model.tau(sizes, N), 2) == round(expected, 2) == 114.81


def test_takemura_by_maximum_likelihood(takemura):
    found = []
    for sizes in takemura:
        model = Pitman.fit(sizes)
        assert len(model.solutions) == 1
        expected = sizes.n / N * model.population_uniques(N)
        found.append((round(model.tau(sizes, N), 2), round(expected, 2)))
    assert found == [(118.94, 119.49), (134.37, 137.04)]


def test_what_takemura_printed(takemura):
    # 213.96: sigma = s_1/u to three decimals, in the asymptotic form.
    sizes = takemura[0]
    rounded = Pitman(0.0, round(sizes[1] / sizes.u, 3))
    assert round(rounded.tau(sizes, N), 2) == 213.96


# --- maximum likelihood ------------------------------------------------------------


def test_sigma_is_sought_in_rising_points_close_to_either_end():
    points = pitman.GRID
    assert list(points) == sorted(set(points))
    assert points[0] == 0.0
    assert points[1] == 1.0 - points[-1] == 2.0**-50
    assert max(b - a for a, b in pairwise(points)) <= 1 / 64


@pytest.mark.parametrize(
    ("theta", "sigma"), [(-0.25, 0.5), (0.0, 0.5), (3.0, 0.0), (20.0, 0.01), (5.0, 0.9)]
)
def test_likelihood_score_and_information(small, theta, sigma):
    model = Pitman(theta, sigma)
    exact = float(log_likelihood(theta, sigma, small))
    assert model.log_probability(small) == pytest.approx(exact, rel=1e-12)
    by_theta, by_sigma = model.score(small)
    assert by_theta == pytest.approx(derivative((1, 0), theta, sigma, small), rel=1e-11)
    assert by_sigma == pytest.approx(derivative((0, 1), theta, sigma, small), rel=1e-11)
    (a, b), (c, d) = model.information(small)
    assert b == c
    assert -a == pytest.approx(derivative((2, 0), theta, sigma, small), rel=1e-9)
    assert -b == pytest.approx(derivative((1, 1), theta, sigma, small), rel=1e-9)
    assert -d == pytest.approx(derivative((0, 2), theta, sigma, small), rel=1e-9)


def test_no_other_parameters_are_more_likely(small):
    model = Pitman.fit(small)
    sigma = np.linspace(0, 0.995, 80)
    theta = np.concatenate([-sigma[1:] * 0.99, np.geomspace(0.01, 1000, 60)])
    best = max(
        Pitman(t, s).log_probability(small) for s in sigma for t in theta if t > -s
    )
    assert model.log_likelihood >= best
    assert model.log_likelihood - best < 0.5


@pytest.mark.parametrize("counts", [{1: 30, 2: 10, 9: 5}, {1: 200, 2: 20, 3: 4, 50: 1}])
def test_maximum_by_mpmath(counts):
    sizes = SizeIndices(counts)
    model = Pitman.fit(sizes)
    with mpmath.workdps(30):
        theta, sigma = mpmath.findroot(
            lambda t, s: [
                mpmath.diff(lambda x: log_likelihood(x, s, sizes), t),
                mpmath.diff(lambda x: log_likelihood(t, x, sizes), s),
            ],
            (model.theta, model.sigma),
        )
    assert model.theta == pytest.approx(float(theta), rel=1e-11)
    assert model.sigma == pytest.approx(float(sigma), rel=1e-11)
    (a, b), (_, d) = model.information(sizes)
    assert a > 0
    assert a * d > b * b
    assert model.standard_errors["theta"] == pytest.approx(
        math.sqrt(np.linalg.inv([[a, b], [b, d]])[0, 0])
    )
    assert model.standard_errors["sigma"] == pytest.approx(
        math.sqrt(np.linalg.inv([[a, b], [b, d]])[1, 1])
    )


def test_one_theta_for_each_sigma(small):
    # The score by theta changes sign once.
    for sigma in (0.0, 1e-9, 0.1, 0.5, 0.9, 0.999):
        theta = np.geomspace(1e-6, 1e6, 400) - sigma
        score = [Pitman(t, sigma).score(small)[0] for t in theta if t > -sigma]
        assert np.count_nonzero(np.diff(np.sign(score))) == 1


def test_sigma_at_the_boundary_is_ewens():
    # Cells more alike than Ewens: the Dirichlet-multinomial model, sigma < 0.
    sizes = SizeIndices({1: 5, 2: 10, 3: 15, 4: 10, 5: 5})
    model = Pitman.fit(sizes)
    ewens = Ewens.fit(sizes)
    assert model.converged
    assert (model.sigma, model.reason) == (0.0, "boundary sigma = 0: the Ewens model")
    assert model.theta == pytest.approx(ewens.theta, rel=1e-13)
    assert model.log_likelihood == pytest.approx(ewens.log_likelihood, rel=1e-13)
    assert model.score(sizes)[1] < 0
    assert model.standard_errors == {}
    finite = DirichletMultinomial.fit(sizes, K=60)
    assert finite.log_likelihood > model.log_likelihood


@pytest.mark.parametrize(
    "counts",
    [{1: 10**9 - 2, 2: 1}, {1: 10**8, 10**9: 1}, {10**9: 2}, {1: 1, 10**9: 1},
     {1: 5 * 10**8, 2: 25 * 10**7}, {1: 1, 2: 1}, {1: 10**5, 2: 10**4, 10**8: 3}],
    ids=str,
)  # fmt: skip
def test_large_and_lopsided_samples(counts):
    sizes = SizeIndices(counts)
    model = Pitman.fit(sizes)
    assert model.converged
    n, u = sizes.n, sizes.u
    with mpmath.workdps(60):
        theta, sigma = mpmath.mpf(model.theta), mpmath.mpf(model.sigma)
        psi = mpmath.digamma
        opened = (u - 1) / theta if sigma == 0 else mpmath.mpf(0)
        if sigma > 0:
            opened = (psi(theta / sigma + u) - psi(theta / sigma + 1)) / sigma
        by_theta = opened - (psi(theta + n) - psi(theta + 1))
        by_sigma = mpmath.mpf(u * (u - 1)) / 2 / theta if sigma == 0 else 0
        if sigma > 0:
            by_sigma = (u - 1 - theta * opened) / sigma
        by_sigma -= sum(
            s * (psi(j - sigma) - psi(1 - sigma))
            for j, s in zip(sizes.sizes.tolist(), sizes.counts.tolist(), strict=True)
        )
    (a, b), (_, d) = model.information(sizes)
    # Newton's step that is left, in standard errors.
    if sigma == 0:
        assert by_sigma <= 0
        assert abs(by_theta) / math.sqrt(a) < 1e-9
    else:
        step = np.linalg.solve([[a, b], [b, d]], [float(by_theta), float(by_sigma)])
        errors = [model.standard_errors["theta"], model.standard_errors["sigma"]]
        rounding = np.array([0.0, np.spacing(model.sigma)])
        assert np.all(np.abs(step) < 1e-9 * np.array(errors) + rounding)


# --- moments -----------------------------------------------------------------------


def test_moments_are_as_expected(partitions):
    every = partitions(9)
    for theta, sigma in ((2.5, 0.25), (-0.5, 0.75), (2.5, 0.0), (0.0, 1e-9)):
        model = Pitman(theta, sigma)
        weight = [math.exp(model.log_probability(sizes)) for sizes in every]
        cells = np.dot(weight, [sizes.u for sizes in every])
        uniques = np.dot(weight, [sizes[1] for sizes in every])
        assert model.expected_cells(9) == pytest.approx(cells, rel=1e-13)
        assert model.population_uniques(9) == pytest.approx(uniques, rel=1e-12)


def test_moment_equations_hold(takemura):
    sizes = takemura[0]
    model = Pitman.fit(sizes, method="moments")
    assert model.population_uniques(sizes.n) == pytest.approx(sizes[1], rel=1e-12)
    assert model.expected_cells(sizes.n) == pytest.approx(sizes.u)
    assert model.standard_errors == {}


@pytest.mark.parametrize("counts", [{2: 5}, {1: 2, 2: 30, 3: 40}])
def test_moments_without_a_solution(counts):
    model = Pitman.fit(SizeIndices(counts), method="moments")
    assert not model.converged
    assert math.isnan(model.population_uniques(1000))
    assert model.reason
    assert Pitman.fit(SizeIndices(counts)).converged


@pytest.mark.parametrize(
    "counts", [{1: 10**9, 2: 1}, {1: 10**8, 2: 1}, {1: 10**9, 2: 7}]
)
def test_moments_that_rounding_alone_tells_apart(counts):
    model = Pitman.fit(SizeIndices(counts), "moments")
    assert not model.converged
    assert "no theta and sigma have E S_1 = s_1 and E K = u" in model.reason


@pytest.mark.parametrize("counts", [{1: 1, 10**9: 1}, {1: 100, 10**10: 1}])
def test_moments_next_to_theta_of_minus_sigma(counts):
    model = Pitman.fit(SizeIndices(counts), "moments")
    assert model.converged == (model.theta > -model.sigma)
