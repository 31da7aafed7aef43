"""The fraction and the reflection: their identities, and what they leave out."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from riskcore.accuracy import reference
from riskcore.special.beta_binomial import inverse_mean as ways


def as_fraction(f, a, b, M):
    """Return r by the levels of notes/finite_population.md, section 2, in rationals."""
    f, a, b = Fraction(f), Fraction(a), Fraction(b)
    U, g = None, a + b
    for n in range(M, 0, -1):
        V = f * (2 * n + g - 1)
        if n < M:
            V += (n + g - 1) * (n + a) * (M - n) / U
        U = 2 * n + g - 2 + n * (n + g - 1 + M) * (n + b - 1) / V
    return 1 / (f + a * M / U)


def by_sum(f, a, b, M):
    f, a, b = Fraction(f), Fraction(a), Fraction(b)
    weight = total = Fraction(1)
    r = 1 / f
    for x in range(M):
        weight *= (M - x) * (a + x) / ((x + 1) * (b + M - x - 1))
        total += weight
        r += weight / (f + x + 1)
    return r / total


@pytest.mark.parametrize("M", [1, 2, 3, 7, 24])
@pytest.mark.parametrize(
    ("f", "a", "b"), [(1, 1, 1), (0.25, 0.5, 0.25), (2.5, 3.75, 9), (7, 0.125, 40)]
)
def test_the_fraction_is_the_sum(f, a, b, M):
    assert as_fraction(f, a, b, M) == by_sum(f, a, b, M)


CELLS = [
    (1.0, 20.0, 3.0, 40.0),
    (2.5, 0.25, 90.0, 60.0),
    (0.125, 1.5, 200.0, 150.0),
    (40.0, 41.5, 9.0, 300.0),
    (3.0, 64.0, 1.0, 29.0),
    (0.01, 0.3, 0.02, 12.0),
]


@pytest.mark.parametrize("cell", CELLS)
def test_what_the_fraction_leaves_out(cell):
    """It is enclosed by convergents, to 2^-60 of the value."""
    D, D_low, levels = ways.fraction(*cell)
    assert 1 <= levels <= cell[-1]
    with mpmath.workprec(200):
        exact = 1 / reference.individual_risk_finite_population(*cell)
        assert abs((mpmath.mpf(D) + D_low + cell[0]) / exact - 1) < 2.0**-59


def test_convergents_enclose_the_value():
    f, a, b, M = Fraction(3, 2), Fraction(5, 4), Fraction(7), 60
    value, g = 1 / by_sum(f, a, b, M), a + b
    inverse = 1 / g
    D, change, turn = f + a * M / g, a * M / g, 1
    for n in range(1, 12):
        for c, d in (
            (n * (n + g - 1 + M) * (n + b - 1), f * (2 * n + g - 1)),
            ((n + g - 1) * (n + a) * (M - n), 2 * n + g),
        ):
            assert (D - value) * turn > 0
            part = c * inverse
            inverse = 1 / (d + part)
            change *= -part * inverse
            D, turn = D + change, -turn


def draws(n):
    """Yield cells of the whole domain, many at borders of the regions."""
    rng = np.random.default_rng(5)
    for _ in range(n):
        M = float(int(10 ** rng.uniform(0, 15.9)))
        f = 10 ** rng.uniform(-3, rng.choice([2, 15]))
        alpha = rng.choice([10 ** rng.uniform(-3, 2), f + 10 ** rng.uniform(-3, 2), 32])
        beta = rng.choice([10 ** rng.uniform(-3, 6), M * rng.uniform(0, 2)])
        p = (alpha + beta) / (alpha + beta + M)
        if rng.random() < 0.3:
            f = rng.choice([1, 1.01]) / p
        cell = f, alpha, beta, M
        if min(cell) >= 2.0**-10 and max(cell) <= 2.0**53:
            yield cell


def levels_in_doubles(f, a, b, M):
    """Return the levels that ``fraction`` takes, without its pairs."""
    g = a + b
    inverse = 1 / g
    change = total = a * M / g
    n = 1
    while abs(change) > ways._LEFT_OUT * (f + total):
        part = n * (g + (n - 1) + M) * (b + (n - 1)) * inverse
        inverse = 1 / (f * (g + (2 * n - 1)) + part)
        change *= -part * inverse
        total += change
        if n == M:
            break
        part = (g + (n - 1)) * (a + n) * (M - n) * inverse
        inverse = 1 / (g + 2 * n + part)
        change *= -part * inverse
        total += change
        n += 1
    return n


@pytest.mark.parametrize("alpha", [-0.5, 0.0, 2.0**-52, 0.3, 7.0, 90.0])
@pytest.mark.parametrize(
    ("f", "beta", "M"),
    [
        (1.0, 2.0, 400.0),
        (2.0, 290.0, 400.0),
        (31.0, 100.0, 999.0),
        (12.0, 600.0, 900.0),
    ],
)
def test_whole_f(f, beta, M, alpha):
    alpha += f
    assert ways.is_forward(f, alpha, beta, M)
    r, r_low = ways._forward(f, alpha, beta, M)
    with mpmath.workprec(300):
        exact = reference.individual_risk_finite_population(f, alpha, beta, M)
        assert abs((mpmath.mpf(r) + r_low) / exact - 1) < 2.0**-58


def test_levels_in_the_whole_domain():
    numbers = {"real": [], "f >= 1": []}
    for cell in draws(4000):
        if not ways.is_reflected(*cell):
            numbers["real" if cell[0] < 1 else "f >= 1"].append(
                levels_in_doubles(*cell)
            )
    assert min(map(len, numbers.values())) > 500
    assert 60 < max(numbers["f >= 1"]) < 150
    assert max(numbers["real"]) < 300 < ways._LEVELS


def test_more_levels_than_allowed_are_refused():
    # At a cell of the reflection, which never comes here.
    assert ways.is_reflected(1.0, 2.0, 10.0, 1e9)
    assert ways.fraction(1.0, 2.0, 10.0, 1e9)[2] == math.inf


@pytest.mark.parametrize("e", [-0.9, -0.5, -1e-9, 0.0, 2.0**-52, 1e-3, 0.4999])
@pytest.mark.parametrize(
    ("f", "beta", "M"),
    [(0.6, 300.0, 400.0), (1.7, 20.5, 300.0), (40.0, 2.5, 900.0), (3.0, 0.01, 500.0)],
)
def test_reflection(f, beta, M, e):
    r, r_low = ways._reflected(f, 1.0 + e, beta, M)
    with mpmath.workprec(300):
        exact = reference.individual_risk_finite_population(f, 1.0 + e, beta, M)
        assert abs((mpmath.mpf(r) + r_low) / exact - 1) < 2.0**-58


@pytest.mark.parametrize("alpha", [0.1, 1 / 3, 0.0123, 0.4321])
@pytest.mark.parametrize(
    ("f", "beta", "M"),
    [
        (0.4, 0.7, 900.0),
        (0.3, 300.0, 1200.0),
        (30.0, 0.02, 950.0),
        (2.5, 300.0, 900.0),
        (2.4, 400.0, 500.0),
        (0.01, 400.0, 500.0),
    ],
)
def test_reflection_where_alpha_less_one_is_no_double(f, alpha, beta, M):
    assert ways.two_sum(alpha, -1.0)[1] != 0
    r, r_low = ways._reflected(f, alpha, beta, M)
    with mpmath.workprec(300):
        exact = reference.individual_risk_finite_population(f, alpha, beta, M)
        assert abs((mpmath.mpf(r) + r_low) / exact - 1) < 2.0**-58


@pytest.mark.parametrize("f", [43.0, 150.5, 640.0, 927.25])
def test_f_near_the_number_of_people(f):
    """The series of the reflection would grow like (f/M)^k there."""
    cell = f, 0.0015, 0.05, 338.0
    assert not ways.is_reflected(*cell)
    r, r_low = ways.inverse_mean(*cell)
    with mpmath.workprec(300):
        exact = reference.individual_risk_finite_population(*cell)
        assert abs((mpmath.mpf(r) + r_low) / exact - 1) < 2.0**-58


@pytest.mark.parametrize("alpha", [0.4, 1.6, 3.0, 7.75, 31.5])
def test_upwards_in_alpha(alpha):
    f, beta, M = 5.5, 30.0, 900.0
    assert ways.is_reflected(f, alpha, beta, M)
    r, r_low = ways._by_reflection(f, alpha, beta, M)
    with mpmath.workprec(300):
        exact = reference.individual_risk_finite_population(f, alpha, beta, M)
        assert abs((mpmath.mpf(r) + r_low) / exact - 1) < 2.0**-57
