"""The expected number of occupied cells."""

import math

import mpmath
import pytest

from riskcore.models import DirichletMultinomial, Ewens, Pitman, PoissonGamma

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


def test_no_estimate_and_no_population():
    assert math.isnan(Ewens.none("ml", "why").expected_cells(10))
    with pytest.raises(ValueError, match="N"):
        Pitman(1.0, 0.5).expected_cells(0)
