import math
from itertools import product

import mpmath
import numpy as np
import pytest

from riskcore.intruder import disclosure_risk, total_risk

FORMS = ["disjoint", "independent", "exponential"]


def exact(n, f_a, f_u, form):
    with mpmath.workprec(400):
        n = mpmath.mpf(float(n))
        f_a, f_u = ([mpmath.mpf(float(x)) for x in xs] for xs in (f_a, f_u))
        steps = zip(f_a, f_u, [mpmath.mpf(0), *f_u[:-1]], strict=True)
        p = [a * (u - v) for a, u, v in steps]
        if form == "disjoint":
            return 1 - (1 - sum(p)) ** n
        if form == "independent":
            return 1 - mpmath.fprod(1 - x for x in p) ** n
        return -mpmath.expm1(-n * sum(p))


@pytest.fixture(scope="module")
def keys():
    """Return n, f_a, f_u of nested keys."""
    rng = np.random.default_rng(1)
    f_a = 10 ** -rng.uniform(0, 6, (200, 4))
    f_u = 10 ** -rng.uniform(0, 10, (200, 4))
    n = np.ceil(10 ** rng.uniform(0, 8, 200))
    return n, -np.sort(-f_a, axis=1), np.sort(f_u, axis=1)


@pytest.mark.parametrize("form", FORMS)
def test_total_risk_is_right_to_a_few_ulp(form, keys, ulps):
    found = total_risk(*keys, form)
    wanted = [exact(*row, form) for row in zip(*keys, strict=True)]
    assert max(map(ulps, found, wanted)) < 3
    assert found.min() < 1e-8


def test_forms_have_their_order(keys):
    disjoint, independent, exponential = (total_risk(*keys, form) for form in FORMS)
    assert np.all(exponential <= independent * (1 + 1e-15))
    assert np.all(independent <= disjoint * (1 + 1e-15))
    assert np.count_nonzero(exponential < disjoint) > 100


def test_disjoint_events_by_counting():
    # 12 people, keys with circles {0..5}, {0..3}, {0} and uniques {0}, {0, 4}, {0, 3,
    # 4, 7}, placed independently: disclosed by some key or by none.
    N, circles, uniques = 12, [6, 4, 1], [1, 2, 4]
    chance = 0.0
    for x, y in product(range(N), repeat=2):  # places in the order of either
        chance += any(x < a and y < u for a, u in zip(circles, uniques, strict=True))
    chance /= N * N
    found = total_risk([1, 3], [np.divide(circles, N)] * 2, np.divide(uniques, N))
    assert found == pytest.approx([chance, 1 - (1 - chance) ** 3], rel=1e-15)


def test_one_circle_for_all_keys_is_one_key():
    for form in ("binomial", "exponential"):
        single = disclosure_risk(700, 63_000, 100, 0.02, form=form)
        of_keys = "disjoint" if form == "binomial" else form
        total = total_risk(700, [100 / 63_000] * 3, [0.001, 0.005, 0.02], of_keys)
        assert total == pytest.approx(float(single), rel=1e-14)


@pytest.mark.parametrize("form", FORMS)
def test_limits(form):
    assert total_risk(0, [1.0], [1.0], form) == 0.0
    assert total_risk(5, [0.0, 0.0], [0.3, 1.0], form) == 0.0
    certain = 1 - math.exp(-1) if form == "exponential" else 1.0
    assert total_risk(1, 1.0, 1.0, form) == pytest.approx(certain, rel=1e-15)
    assert total_risk(1, 1.0, [0.1, 0.3, 1.0], "disjoint") == 1.0


def test_sizes_broadcast():
    risk = total_risk([1, 10], [[0.5, 0.2], [0.5, 0.2]], [0.1, 0.2])
    assert risk.shape == (2,)
    assert risk[1] == total_risk(10, [0.5, 0.2], [0.1, 0.2])
