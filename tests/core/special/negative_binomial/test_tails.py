"""Tails and probabilities of the negative binomial law, against Arb and mpmath."""

import math

import mpmath
import numpy as np
import pytest
from flint import arb, ctx

from riskcore.core.compiled.jit import kernel
from riskcore.core.compiled.ufunc_maker import elementwise
from riskcore.core.special.negative_binomial.tails import tails

# Bounds of the errors at the points of these tests, in ulp.
WEIGHT, TAILS = 1.5, 8


@kernel
def _lower(f: float, j: float, p: float) -> float:
    return tails(f, j, 0.0, p)[0]


@kernel
def _upper(f: float, j: float, p: float) -> float:
    return tails(f, j, 0.0, p)[1]


@kernel
def _weight(f: float, j: float, p: float) -> float:
    return tails(f, j, 0.0, p)[2]


@pytest.fixture(scope="module")
def compiled():
    """Return P(F <= f+j), P(F > f+j) and k P(F = k), k = f+j, of arrays f, j, p."""
    kernels = (_lower, _upper, _weight)
    ufuncs = [elementwise(each.__name__, each) for each in kernels]
    return lambda f, j, p: [ufunc(f, j, p) for ufunc in ufuncs]


def exact_log_probability(f, j, p):
    """Return log P(F = f+j | f) by the definition; to be used at 400 bits."""
    f, j, p = mpmath.mpf(f), mpmath.mpf(j), mpmath.mpf(p)
    value = mpmath.loggamma(f + j) - mpmath.loggamma(f) - mpmath.loggamma(j + 1)
    return value + f * mpmath.log(p) + (j * mpmath.log(1 - p) if j else 0)


def as_mpf(ball):
    mantissa, exponent = ball.mid().man_exp()
    with mpmath.workprec(ctx.prec):
        return mpmath.ldexp(mpmath.mpf(int(mantissa)), int(exponent))


def exact_tails(f, j, p):
    """Return P(F <= f+j) and P(F > f+j) by Arb's incomplete beta function."""
    ctx.prec = 2000
    a, b, x = arb(f), arb(j) + 1, arb(p)
    exact = (
        x.beta_lower(a, b, regularized=True),
        (1 - x).beta_lower(b, a, regularized=True),
    )
    assert all(tail.rel_accuracy_bits() > 80 for tail in exact)
    return tuple(map(as_mpf, exact))


def law_cells(n):
    """Return f, j and p: f to 1e9, p to 1e-12, F to 1e15, most within 15 deviations."""
    rng = np.random.default_rng(8)
    f = np.floor(10 ** rng.uniform(0, rng.choice([1, 2, 9], n)))
    f = np.where(rng.random(n) < 0.3, 10 ** rng.uniform(-1.8, 3, n), f)
    p = np.where(
        rng.random(n) < 0.7,
        10 ** -rng.uniform(0, 12, n),
        1 - 10 ** -rng.uniform(0, 15, n),
    )
    away = rng.normal(0, 5, n) * np.sqrt(f * (1 - p)) / p
    j = np.floor(f * (1 - p) / p + away)
    j = np.where(rng.random(n) < 0.2, rng.integers(0, 40, n), j).clip(0, 1e15)
    return f, j, p


def test_error_of_the_weight(compiled, ulps):
    f, j, p = law_cells(1000)
    weights = compiled(f, j, p)[2]
    worst = 0.0
    for *cell, found in zip(f, j, p, weights, strict=True):
        with mpmath.workprec(400):
            f_, j_, p_ = map(mpmath.mpf, map(float, cell))
            exact = (f_ + j_) * mpmath.exp(exact_log_probability(f_, j_, p_))
            worst = max(worst, ulps(found, exact))
    assert 0.45 < worst < WEIGHT


@pytest.mark.parametrize("p", [5e-324, 2.0**-1040, 1e-300])
def test_weight_at_tiny_p(p, compiled, ulps):
    f, j = np.meshgrid([0.5, 1.0, 1.5, 2.0], [0.0, 3.0, 1e6, 2.0**60])
    weights = compiled(f, j, p)[2]
    for f_, j_, found in zip(f.flat, j.flat, weights.flat, strict=True):
        with mpmath.workprec(3000):
            exact = mpmath.exp(exact_log_probability(float(f_), float(j_), p))
            exact *= mpmath.mpf(float(f_)) + mpmath.mpf(float(j_))
            assert ulps(found, exact) < WEIGHT


def test_ends_of_the_fractions():
    assert tails(3.0, 0.0, 0.0, 1.0) == (1.0, 0.0, 3.0)
    assert tails(3.0, 1.0, 0.0, 1.0) == (1.0, 0.0, 0.0)


def test_error_of_the_tails(compiled, ulps):
    rng = np.random.default_rng(4)
    n = 500
    f = np.where(
        rng.random(n) < 0.5, rng.integers(1, 30, n), rng.uniform(1 / 64, 200, n)
    )
    p = np.where(
        rng.random(n) < 0.7,
        10 ** -rng.uniform(0, 3, n),
        1 - 10 ** -rng.uniform(1, 15, n),
    )
    j = np.floor(f * (1 - p) / p + rng.normal(0, 4, n) * np.sqrt(f * (1 - p)) / p)
    j = np.where(rng.random(n) < 0.3, rng.integers(0, 30, n), j).clip(0, 3e4)
    lower, upper, _ = compiled(f, j, p)
    assert lower + upper == pytest.approx(1, rel=1e-14)
    worst = 0.0
    for cell in zip(f, j, p, lower, upper, strict=True):
        exact = exact_tails(*map(float, cell[:3]))
        worst = max(worst, ulps(cell[3], exact[0]))
        # Below the mean and f < 1 the upper is 1 less the other.
        error = ulps(cell[4], exact[1])
        if cell[0] < 1 and cell[1] * cell[2] <= cell[0] * (1 - cell[2]):
            error = min(error, float(abs(cell[4] - exact[1])) * 2.0**53)
        worst = max(worst, error)
    assert 0.45 < worst < TAILS


@pytest.mark.parametrize(
    ("f", "p"), [(65.0, 1e-9), (1e5, 0.01), (1e6, 0.5), (1e7, 1e-4)]
)
def test_tails_of_large_frequencies(f, p, compiled, ulps):
    # P(fewer than f successes in k trials), term by term from the largest.
    for deviations in (-6.0, -1.0, 0.01, 2.0, 7.0):
        k = math.floor(f / p + deviations * math.sqrt(f * (1 - p)) / p)
        above = k * p > f
        with mpmath.workprec(200):
            log_mass = exact_log_probability(f, k - int(f), p)
            mass = mpmath.exp(log_mass) * k / int(f)  # P(f successes in k trials)
        ctx.prec = 200
        y, n = arb(p) / (1 - arb(p)), int(f)
        i = n - 1 if above else n
        term = arb(mass) * (arb(n) / (k - n + 1) / y if above else 1)
        total, small = arb(0), arb(2) ** -80
        while term > total * small:
            total += term
            term *= arb(i) / (k - i + 1) / y if above else arb(k - i) / (i + 1) * y
            i += -1 if above else 1
        assert total.rel_accuracy_bits() > 100
        found = compiled(f, float(k - n), p)[above]
        assert ulps(found, as_mpf(total)) < TAILS
