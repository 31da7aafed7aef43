import math

import mpmath
import numpy as np
import pytest

from riskcore.models import Ewens, SizeIndices, ewens

N = 4_867_000  # of Takemura's population


def log_likelihood(theta, sizes):
    """Ewens's formula to the letter."""
    value = mpmath.fac(sizes.n) / mpmath.rf(theta, sizes.n)
    for j, s in zip(sizes.sizes.tolist(), sizes.counts.tolist(), strict=True):
        value *= mpmath.mpf(theta) ** s / (mpmath.mpf(j) ** s * mpmath.fac(s))
    return mpmath.log(value)


def test_takemura_used_the_moments(takemura):
    for sizes in takemura:
        model = Ewens.fit(sizes, method="moments")
        assert model.theta == pytest.approx(2917.750265, abs=5e-7)
        assert model.tau(sizes, N) == pytest.approx(5.876941, abs=5e-7)
        # Given the sample or not: the sample uniques are as expected.
        assert sizes.n / N * model.population_uniques(N) == pytest.approx(
            model.tau(sizes, N), rel=1e-14
        )


def test_takemura_by_maximum_likelihood(takemura):
    for sizes in takemura:
        model = Ewens.fit(sizes)
        assert round(model.theta, 2) == 2076.34
        assert round(sizes.n / N * model.population_uniques(N), 2) == 4.18
        assert round(model.tau(sizes, N), 2) == 5.49


def test_likelihood_is_the_formula(small):
    for theta in (0.25, 3.0, 400.0):
        exact = float(log_likelihood(theta, small))
        assert Ewens(theta).log_probability(small) == pytest.approx(exact, rel=1e-13)


def test_maximum_and_curvature_by_mpmath(small):
    model = Ewens.fit(small)
    if small.u == small.n:
        assert not model.converged
        assert "all records are unique" in model.reason
        return
    with mpmath.workdps(40):
        exact = mpmath.findroot(
            lambda t: mpmath.diff(lambda x: log_likelihood(x, small), t), model.theta
        )
        curvature = mpmath.diff(lambda x: log_likelihood(x, small), exact, 2)
    assert model.theta == pytest.approx(float(exact), rel=1e-14)
    assert model.standard_errors["theta"] == pytest.approx(
        float(1 / mpmath.sqrt(-curvature)), rel=1e-12
    )
    assert model.log_likelihood == model.log_probability(small)
    assert model.aic == 2 - 2 * model.log_likelihood
    for factor in (0.5, 0.99, 1.01, 2.0):
        other = Ewens(factor * model.theta)
        assert other.log_probability(small) < model.log_likelihood


@pytest.mark.parametrize(
    "counts",
    [{1: 10**9 - 2, 2: 1}, {1: 10**9, 10**9: 1}, {10**9: 2}, {1: 1, 10**9: 1},
     {1: 5 * 10**8, 2: 25 * 10**7}, {1: 1, 2: 1}],
    ids=str,
)  # fmt: skip
def test_large_and_lopsided_samples(counts):
    sizes = SizeIndices(counts)
    theta = mpmath.mpf(Ewens.fit(sizes).theta)
    with mpmath.workdps(60):
        cells = theta * (mpmath.psi(0, theta + sizes.n) - mpmath.psi(0, theta))
        slope = mpmath.diff(
            lambda t: t * (mpmath.psi(0, t + sizes.n) - mpmath.psi(0, t)), theta
        )
        # As many digits as the estimate has: Newton's step that is left.
        assert abs((cells - sizes.u) / slope / theta) < 1e-14


def test_standard_error_of_the_moment_estimate(partitions):
    # Var S_1 by enumeration, and the derivative of E S_1.
    n, theta = 9, 2.5
    every = partitions(n)
    weight = [math.exp(Ewens(theta).log_probability(sizes)) for sizes in every]
    s1 = np.array([sizes[1] for sizes in every])
    mean = np.dot(weight, s1)
    slope = n * (n - 1) / (theta + n - 1) ** 2
    exact = math.sqrt(np.dot(weight, (s1 - mean) ** 2)) / slope
    assert math.sqrt(ewens.variance_of_theta(theta, n, "moments")) == pytest.approx(
        exact, rel=1e-12
    )
