import math

import mpmath
import numpy as np
import pytest

from riskcore.intruder import (
    disclosure_risk,
    maximal_sampling_fraction,
    maximal_subpopulation_risk,
    maximal_unique_fraction,
    minimal_subpopulation,
    subpopulation_risk,
    unique_fraction,
)

FORMS = ["hypergeometric", "binomial", "exponential"]


@pytest.mark.parametrize("form", FORMS)
def test_risks_of_independent_parts(form):
    rng = np.random.default_rng(1)
    N = np.floor(10 ** rng.uniform(1, 6, (50, 6)))
    n, a = np.ceil(0.01 * N), np.ceil(0.03 * N)
    f_u = 10 ** -rng.uniform(0, 8, (50, 6))
    found = subpopulation_risk(n, N, a, f_u, form)
    with mpmath.workprec(200):
        parts = disclosure_risk(n, N, a, f_u, form=form)
        wanted = [
            float(1 - mpmath.fprod(1 - mpmath.mpf(float(r)) for r in row))
            for row in parts
        ]
    # The parts themselves are rounded, which 1 - r may enlarge.
    assert found == pytest.approx(wanted, rel=1e-14)
    turned = subpopulation_risk(n.T, N.T, a.T, f_u.T, form, axis=0)
    assert np.array_equal(turned, found)
    order = rng.permutation(6)
    mixed = (one[:, order] for one in (n, N, a, f_u))
    assert np.array_equal(subpopulation_risk(*mixed, form), found)


def test_equation_13(ulps):
    n, N, a, f_u = [10, 200, 3], [1000, 9000, 40], [3, 20, 1], [0.3, 1e-9, 0.7]
    with mpmath.workprec(200):
        parts = zip(n, N, a, f_u, strict=True)
        wanted = -mpmath.expm1(-sum(mpmath.mpf(u) * i * j / k for i, k, j, u in parts))
    assert ulps(subpopulation_risk(n, N, a, f_u, "exponential"), wanted) < 3


@pytest.mark.parametrize("form", FORMS)
def test_one_subpopulation_is_the_population(form):
    one = subpopulation_risk(50, 1000, 30, 0.01, form)
    assert one == disclosure_risk(50, 1000, 30, 0.01, form=form)


def test_the_maximal_risk_is_the_worst_allocation():
    f, f_u, N = [0.01, 0.03, 0.02], [0.004, 0.001, 0.0009], [5000, 40_000, 9000]
    largest = maximal_subpopulation_risk(f, 60, f_u)
    n = np.multiply(f, N)
    risks = subpopulation_risk(n, N, np.diag([60, 60, 60]), f_u, "exponential").tolist()
    assert largest == pytest.approx(max(risks), rel=1e-15)
    assert risks.index(max(risks)) == 0
    spread = subpopulation_risk(n, N, [20, 20, 20], f_u, "exponential")
    assert spread < largest
    two = maximal_subpopulation_risk([f, f], [60, 30], f_u)
    assert two.shape == (2,)
    assert two[0] == largest


def definition(gamma, a, f, beta, K):
    C = -mpmath.log1p(-gamma) / (a * f)
    return (C ** (-1 / (1 + 1 / (K * beta))) - 1) / beta, C


def test_minimal_size_is_right_to_a_few_ulp(ulps):
    rng = np.random.default_rng(1)
    gamma, f = 10 ** -rng.uniform(0.1, 12, (2, 500))
    a = np.ceil(10 ** rng.uniform(0, 4, 500))
    K = np.floor(10 ** rng.uniform(0, 12, 500))
    beta = 10 ** -rng.uniform(-3, 30, 500)
    found = minimal_subpopulation(gamma, a, f, beta, K)
    rows = zip(found, gamma, a, f, beta, K, strict=True)
    safe = 0
    for size, *row in rows:
        with mpmath.workprec(500):
            wanted, C = definition(*(mpmath.mpf(float(x)) for x in row))
        safe += C >= 1
        assert (size <= 0) == (C >= 1)
        assert ulps(size, wanted) * min(1.0, abs(float(mpmath.log(C)))) < 3
    assert 50 < safe < 450


def test_minimal_size_has_the_risk_accepted():
    beta, K = 0.0074057310216, 1108
    for gamma, a, f in [(0.001, 300, 0.01), (0.001, 1000, 0.01), (0.01, 1000, 0.1)]:
        N = float(minimal_subpopulation(gamma, a, f, beta, K))
        f_u = float(unique_fraction(N, K, beta))
        assert f_u == pytest.approx(float(maximal_unique_fraction(gamma, a, f)), 1e-13)
        assert maximal_subpopulation_risk(f, a, f_u) == pytest.approx(gamma, 1e-13)
        fraction = maximal_sampling_fraction(gamma, N, a, f_u, form="exponential")
        assert fraction == pytest.approx(f, 1e-13)


def test_the_illustration():
    # One expected acquaintance in the sample, gamma = 0.001: C is close to f_u = 0.001.
    size = minimal_subpopulation(0.001, 1000, 0.001, 0.0074057310216, 1108)
    assert size == pytest.approx(63_624, rel=0.001)


def test_limits_of_the_minimal_size():
    assert minimal_subpopulation(0.0, 100, 0.1, 0.01, 50) == math.inf
    assert minimal_subpopulation(1.0, 100, 0.1, 0.01, 50) == -100.0
    assert minimal_subpopulation(0.1, 0, 0.1, 0.01, 50) == -100.0
    assert minimal_subpopulation(0.1, 0, 0.1, 0.0, 50) == -math.inf
    poisson = minimal_subpopulation(0.1, 100, 0.1, 0.0, 50)
    assert poisson == pytest.approx(-50 * math.log(-math.log1p(-0.1) / 10), rel=1e-15)
    near = minimal_subpopulation(0.1, 100, 0.1, [5e-324, 1e-300, 1e-19], 50)
    assert near == pytest.approx(poisson, rel=1e-15)
    assert maximal_unique_fraction(0.0, 0, 0.5) == math.inf
