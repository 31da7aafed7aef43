import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import mpmath
import numpy as np
import pytest

from riskcore.intruder import (
    acquaintances,
    acquaintances_distribution,
    disclosure_risk,
    expected_acquaintances,
)


def equation_20(N, circles, x):
    """C(N,x) sum_i (-1)^i C(x,i) prod_l C(x-i,a_l)/C(N,a_l)."""
    return math.comb(N, x) * sum(
        (-1) ** i
        * math.comb(x, i)
        * math.prod(Fraction(math.comb(x - i, a), math.comb(N, a)) for a in circles)
        for i in range(x + 1)
    )


def law_of(distribution):
    numbers = distribution.acquaintances.tolist()
    return dict(zip(numbers, distribution.probability.tolist(), strict=True))


def test_by_enumeration():
    N, circles = 5, (3, 2, 2)
    found = Counter(
        len(set().union(*sets))
        for sets in product(*(combinations(range(N), a) for a in circles))
    )
    draws = math.prod(math.comb(N, a) for a in circles)
    wanted = {x: count / draws for x, count in found.items()}
    assert law_of(acquaintances_distribution(N, circles)) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("N", "circles"),
    [
        (12, [3] * 4), (40, [7] * 6), (40, [11, 0, 3, 25]), (30, [1] * 30),
        (25, [24, 1, 1]), (9, [9, 4]), (60, [20, 20]), (1, [1, 0]), (6, [0, 0]),
    ],
)  # fmt: skip
def test_equation_20_in_rationals(N, circles):
    law = acquaintances_distribution(N, circles)
    wanted = {x: equation_20(N, circles, x) for x in range(N + 1)}
    wanted = {x: p for x, p in wanted.items() if p}
    assert law_of(law) == pytest.approx(wanted, rel=1e-14)
    mean = sum(x * p for x, p in wanted.items())
    assert law.mean == float(mean)
    assert law.variance == float(sum((x - mean) ** 2 * p for x, p in wanted.items()))
    shuffled = np.random.default_rng(1).permutation(circles)
    again = acquaintances_distribution(N, shuffled)
    assert np.array_equal(again.probability, law.probability)


def test_tails_of_a_large_law():
    # Multiprecision sees through the cancellation of equation 20.
    N, a, m = 2000, 150, 12
    law = acquaintances_distribution(N, a, m)
    found = law_of(law)
    with mpmath.workdps(1500):
        ways = math.comb(N, a)
        of_circle = [mpmath.mpf(math.comb(i, a)) / ways for i in range(N + 1)]
        for x in (min(found), 900, 1300, 1435, 1600, max(found)):
            total = mpmath.fsum(
                (-1) ** i * math.comb(x, i) * of_circle[x - i] ** m
                for i in range(x - a + 1)
            )
            assert found[x] == pytest.approx(float(math.comb(N, x) * total), rel=1e-13)
    assert min(found.values()) < 1e-200


@pytest.mark.parametrize(
    ("N", "a", "m"), [(63_624, 300, 200), (63_624, 1000, 200), (10**10, 30, 2)]
)
def test_mass_and_moments(N, a, m):
    law = acquaintances_distribution(N, a, m)
    x, p = law.acquaintances, law.probability
    assert math.fsum(p) == pytest.approx(1, abs=2e-14)
    assert math.fsum(p * (x - law.mean)) == pytest.approx(0, abs=1e-13 * law.mean)
    second = math.fsum(p * (x - law.mean) ** 2)
    assert second == pytest.approx(law.variance, rel=1e-12)
    assert p.min() >= 1e-270


def test_small_variances_are_right():
    # Two circles of 30 in 1e10 people: their overlap is hypergeometric.
    law = acquaintances_distribution(10**10, 30, 2)
    N, a = 10**10, 30
    wanted = Fraction(a * a * (N - a) ** 2, N * N * (N - 1))
    assert law.variance == float(wanted)


@pytest.mark.parametrize(
    ("N", "a"),
    [(7, [7]), (7, [3]), (7, [7, 2, 1]), (1, [0, 0]), (2, [0, 0]), (3, [0, 0])],
)
def test_no_chance_no_variance(N, a):
    law = acquaintances_distribution(N, a)
    assert (law.mean, law.variance) == (max(a), 0.0)
    assert law_of(law) == {max(a): 1.0}


def test_many_circles_cost_nothing_for_the_moments():
    law = acquaintances_distribution(10**9, 1000, 10**6)
    assert law.mean == expected_acquaintances(10**9, 1000, 10**6)
    assert 0 < law.variance < law.mean


def test_a_law_that_would_take_minutes_is_refused(monkeypatch):
    wanted = acquaintances_distribution(20, 8, 2).probability
    # One circle beyond the first: 8 steps over 21 numbers, in one part.
    work = 8 * 21 + acquaintances.CALL
    monkeypatch.setattr(acquaintances, "_MOST_WORK", work)
    assert np.array_equal(acquaintances_distribution(20, 8, 2).probability, wanted)
    monkeypatch.setattr(acquaintances, "_MOST_WORK", work - 1)
    law = acquaintances_distribution(20, 8, 2)
    with pytest.raises(ValueError, match=r"2 circles of up to 8 in 20 people would t"):
        law.probability  # noqa: B018
    assert law.mean == expected_acquaintances(20, 8, 2)
    # What is left of the work of 1e7 circles, once all people are reached.
    monkeypatch.setattr(acquaintances, "_MOST_WORK", 300 * acquaintances.CALL)
    (last,) = law_of(acquaintances_distribution(20, 19, 10**7)).items()
    assert last == (20, pytest.approx(1, rel=1e-13))


def test_expected_number_is_right_to_a_few_ulp(ulps):
    rng = np.random.default_rng(1)
    N = np.floor(10 ** rng.uniform(0, 15, 300))
    a = np.ceil(N * 10 ** -rng.uniform(0, 12, 300))
    a = np.where(rng.random(300) < 0.1, N, a)
    m = np.ceil(10 ** rng.uniform(0, 6, 300))
    found = expected_acquaintances(N, a, m)
    with mpmath.workprec(300):
        for number, n, size, count in zip(found, N, a, m, strict=True):
            n, size = mpmath.mpf(float(n)), mpmath.mpf(float(size))
            assert ulps(number, n - n * (1 - size / n) ** int(count)) < 3
    assert np.array_equal(expected_acquaintances(N, a, 1), a)
    assert expected_acquaintances(50, 0, 7) == 0.0


@pytest.mark.parametrize("form", ["hypergeometric", "binomial", "exponential"])
def test_average_risk(form):
    N, a, m, n, f_u = 60, 9, 4, 13, 0.07
    law = acquaintances_distribution(N, a, m)
    wanted = math.fsum(
        p * disclosure_risk(n, N, x, f_u, form=form) for x, p in law_of(law).items()
    )
    found = law.disclosure_risk(n, f_u, form)
    assert found == pytest.approx(wanted, rel=1e-15)
    at_mean = disclosure_risk(n, N, a, f_u, m, form)
    assert found < at_mean
    assert found == pytest.approx(at_mean, rel=0.05)
