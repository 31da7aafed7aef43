"""The expected number of occupied cells, and what share of people it lets be found."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from riskcore.models import (
    DirichletMultinomial,
    Ewens,
    LogLinear,
    Pitman,
    PoissonGamma,
    SizeIndices,
)

URNS = [
    (Ewens(0.3), 0.3, 0.0),
    (Ewens(1e6), 1e6, 0.0),
    (Pitman(100.0, 0.5), 100.0, 0.5),
    (Pitman(-0.2, 0.7), -0.2, 0.7),
    (Pitman(3.0, 1e-12), 3.0, 1e-12),
    (DirichletMultinomial(50, 0.2), 10.0, -0.2),
    (DirichletMultinomial(10**9, 1e-6), 1e3, -1e-6),
    (DirichletMultinomial(1, 2.0), 2.0, -2.0),
]


@pytest.mark.parametrize(("model", "theta", "sigma"), URNS)
def test_each_person_opens_a_cell_with_its_chance(model, theta, sigma):
    """E K_{m+1} = E K_m + (theta + sigma E K_m)/(theta + m), from the urn itself."""
    with mpmath.workdps(50):
        cells = mpmath.mpf(0)
        for m in range(400):
            if m in (1, 2, 17, 399):
                assert math.isclose(model.expected_cells(m), cells, rel_tol=1e-13), m
            cells += (theta + sigma * cells) / (theta + m) if m else 1


@pytest.mark.parametrize("N", [1, 1000, 10**9, 2**53])
def test_a_pitman_model_of_any_size(N):
    for theta, sigma in ((100.0, 0.5), (1e-3, 0.9), (1e7, 0.01)):
        with mpmath.workdps(60):
            t, s = mpmath.mpf(theta), mpmath.mpf(sigma)
            ratio = mpmath.gammaprod([t + s + N, t], [t + s, t + N])
            want = t / s * (ratio - 1)
        found = Pitman(theta, sigma).expected_cells(N)
        assert math.isclose(found, want, rel_tol=1e-12)


def test_equal_cells_are_the_birthday_problem():
    for N in (1, 23, 1000):
        want = 365 * -math.expm1(N * math.log1p(-1 / 365))
        found = DirichletMultinomial(365, math.inf).expected_cells(N)
        assert math.isclose(found, want, rel_tol=1e-13)


def test_poisson_gamma_by_its_law():
    for beta, N in ((0.01, 5), (0.002, 1000), (1e-9, 10**6)):
        model = PoissonGamma(1000, beta)
        with mpmath.workdps(40):
            a = 1 / (1000 * mpmath.mpf(beta))
            want = 1000 * (1 - (1 + N * mpmath.mpf(beta)) ** -a)
        assert math.isclose(model.expected_cells(N), want, rel_tol=1e-12)
    equal = PoissonGamma(1000, 0.0).expected_cells(500)
    assert math.isclose(equal, 1000 * -math.expm1(-0.5), rel_tol=1e-14)


def test_correctness_where_a_replicate_gives_a_cell_probability_0():
    # Without its one record a category has probability 0, and its cell one person.
    rng = np.random.default_rng(2)
    x = rng.integers(0, 4, 300)
    y, z = (x + rng.integers(0, 2, 300)) % 4, rng.integers(0, 3, 300)
    x[0] = 9
    model = LogLinear.fit([x, y, z])
    assert not model.overdispersion.poisson
    low, high = model.correctness_interval(10**5)
    assert low <= model.correctness(10**5) <= high < 0.1


def test_correctness_is_the_mean_of_1_over_F():
    """In drawn populations: one guess for each cell is right once."""
    rng = np.random.default_rng(5)
    model, shares = Ewens(30.0), []
    for _ in range(300):
        sizes = []
        for m in range(200):
            x = rng.random() * (30.0 + m)
            for i, size in enumerate(sizes):
                x -= size
                if x < 0:
                    sizes[i] += 1
                    break
            else:
                sizes.append(1)
        F = np.repeat(sizes, sizes)
        shares.append((1.0 / F).mean())
    error = np.std(shares) / math.sqrt(300)
    assert abs(np.mean(shares) - model.correctness(200)) < 4 * error


def test_it_falls_with_the_population_and_starts_at_one():
    sizes = SizeIndices({1: 40, 2: 10, 5: 4})
    for model in (
        Ewens.fit(sizes), Pitman.fit(sizes), DirichletMultinomial.fit(sizes, 10_000),
    ):  # fmt: skip
        shares = [model.correctness(N) for N in (1, 10, 100, 10**4, 10**8)]
        assert shares[0] == pytest.approx(1.0)
        assert shares == sorted(shares, reverse=True)


def test_no_estimate_and_no_population():
    assert math.isnan(Ewens.none("ml", "why").correctness(10))
    with pytest.raises(ValueError, match="N"):
        Pitman(1.0, 0.5).expected_cells(0)


def test_parts_of_a_sample_by_counting_them():
    sizes = SizeIndices({1: 2, 2: 1, 3: 1})
    cells = [0, 1, 2, 2, 3, 3, 3]
    for m in range(1, 8):
        parts = [len(set(part)) for part in itertools.combinations(cells, m)]
        want = sum(parts) / len(parts)
        assert math.isclose(sizes.expected_cells(m), want, rel_tol=1e-13)
    for bad in (0, 8):
        with pytest.raises(ValueError, match="records"):
            sizes.expected_cells(bad)


def test_the_interval_holds_the_truth():
    """Samples of a known model: nineteen of twenty intervals hold its share."""
    rng, held = np.random.default_rng(6), 0
    truth = DirichletMultinomial(400, 0.3)
    for _ in range(200):
        f = rng.multinomial(500, rng.dirichlet(np.full(400, 0.3)))
        sizes = SizeIndices.from_frequencies(f)
        model = DirichletMultinomial.fit(sizes, 400)
        low, high = model.correctness_interval(sizes, 5000)
        held += low <= truth.correctness(5000) <= high
    assert 180 <= held <= 199
