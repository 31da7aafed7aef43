"""Fixed point with error bounds, in rational arithmetic and against mpmath.

``tests/core/test_proof_fixed_point.py`` proves the other operations for all numbers.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from riskcore.core.special import fixed_point

N = 12


def value(x, n=N):
    return sum(Fraction(x[i], fixed_point.BASE**i) for i in range(n))


def unit(n=N):
    return Fraction(1, fixed_point.BASE ** (n - 1))


def of(x, lost=0.0, n=N):
    """Return a number next to the rational x, with a bound of its error."""
    whole = math.floor(x / unit(n))
    z = fixed_point.number()
    for i in range(n - 1, 0, -1):
        z[i] = whole % fixed_point.BASE
        whole //= fixed_point.BASE
    z[0] = whole
    fixed_point.set_error(z, n, lost)
    return z


def numbers(seed, n, low=-6, high=6):
    """Return numbers of both signs over some orders of magnitude."""
    rng = np.random.default_rng(seed)
    size = 2.0 ** rng.uniform(low, high, n)
    rest = [Fraction(int(k), fixed_point.BASE**8) for k in rng.integers(0, 2**60, n)]
    signs = rng.choice([-1, 1], n)
    return [
        int(s) * (Fraction(x) + r) for s, x, r in zip(signs, size, rest, strict=True)
    ]


def assert_within(z, exact, most, n=N):
    """The true error is below the bound, and the bound below ``most`` units."""
    assert abs(value(z, n) - exact) <= Fraction(fixed_point.error(z, n)) * unit(n)
    assert fixed_point.error(z, n) <= most
    assert all(0 <= z[i] < fixed_point.BASE for i in range(1, n))


BOTH = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
}


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("lost", [0.0, 1000.0])
def test_operations_of_two_numbers(name, lost):
    for a, b in zip(numbers(1, 60), numbers(2, 60), strict=True):
        x, y, z = of(a, lost), of(b, lost), fixed_point.number()
        getattr(fixed_point, name)(z, x, y, N)
        # The members at the rim: exact values are up to ``lost`` units away.
        for i in (-1, 0, 1):
            for j in (-1, 0, 1):
                at_x = value(x) + i * Fraction(lost) * unit()
                at_y = value(y) + j * Fraction(lost) * unit()
                assert_within(z, BOTH[name](at_x, at_y), 2 + 600 * lost)


@pytest.mark.parametrize("lost", [0.0, 1000.0])
def test_quotients(lost):
    for a, b in zip(numbers(3, 60), numbers(4, 60, -19, 19), strict=True):
        x, y, z = of(a, lost), of(abs(b), lost), fixed_point.number()
        fixed_point.divide(z, x, y, N)
        most = 2.1 + (lost + abs(a / b) * lost) / abs(b) * 1.01
        for i in (-1, 1):
            for j in (-1, 1):
                at_x = value(x) + i * Fraction(lost) * unit()
                at_y = value(y) + j * Fraction(lost) * unit()
                assert_within(z, at_x / at_y, most)


def test_an_infinite_error_stays_infinite():
    x, z = of(Fraction(1), math.inf), fixed_point.number()
    fixed_point.divide(z, of(Fraction(1)), x, N)
    fixed_point.shift(z, z, -3000, N)
    assert fixed_point.error(z, N) == math.inf


@pytest.mark.parametrize(
    "s", [0, 1, 27, 28, 29, 60, -1, -27, -28, -29, -140, -500, -2000]
)
def test_shifts(s):
    for a in numbers(6, 20, -40, -38):
        x, z = of(a / 2**30, 3.0), fixed_point.number()
        fixed_point.shift(z, x, s, N)
        exact = value(x) * Fraction(2) ** s
        rim = 3 * unit() * Fraction(2) ** s
        for at in (exact - rim, exact, exact + rim):
            assert_within(z, at, 3.1 * 2.0 ** min(s, 100) + 2.1)
        y = of(value(x))
        fixed_point.shift(y, y, s, N)
        assert y[:N] == z[:N]


def test_signs():
    for a in (*numbers(8, 20), Fraction(1, 2**300), -Fraction(1, 2**300)):
        assert fixed_point.sign(of(a), N) == (1 if a > 0 else -1)
        lost = float(abs(value(of(a))) / unit())
        assert fixed_point.sign(of(a, lost), N) == 0
        assert fixed_point.sign(of(a, 0.9 * lost - 2), N) == (1 if a > 0 else -1)
    assert fixed_point.sign(of(Fraction(0)), N) == 0
    for nothing in (math.inf, math.nan, 2.0**1000):
        assert fixed_point.sign(of(Fraction(5), nothing), N) == 0


def assert_next_to(z, exact, n):
    with mpmath.workprec(28 * fixed_point.WORDS + 100):
        found = mpmath.mpf(value(z, n).numerator) / value(z, n).denominator
        assert abs(found - exact()) <= fixed_point.error(z, n) * fixed_point.units(n)
    assert fixed_point.error(z, n) < 2.0**22  # of up to 2^1064 units


@pytest.mark.parametrize("n", [N, fixed_point.WORDS - 1])
@pytest.mark.parametrize("x", [0.26, 0.5, 0.7071, 1.0, 1.4141, 3.9])
def test_logarithm(x, n):
    z, y = fixed_point.number(), fixed_point.number()
    fixed_point.set_double(y, n, x)
    for exponent in (0, 1, -1, -2100):
        fixed_point.log(z, y, exponent, n)
        assert_next_to(
            z, lambda e=exponent: mpmath.log(mpmath.mpf(x)) + e * mpmath.log(2), n
        )


@pytest.mark.parametrize("n", [N, fixed_point.WORDS - 1])
@pytest.mark.parametrize("x", [2.0**-60, 0.3465, 0.35, 1.0, 700.25])
def test_exponential(x, n):
    z, y = fixed_point.number(), fixed_point.number()
    for sign in (1, -1):
        fixed_point.set_double(y, n, x)
        if sign < 0:
            fixed_point.negate(y, y, n)
        k = fixed_point.exp(z, y, n)
        assert_next_to(
            z, lambda s=sign, k=k: mpmath.ldexp(mpmath.exp(s * mpmath.mpf(x)), -k), n
        )


@pytest.mark.parametrize("n", [N, fixed_point.WORDS - 1])
@pytest.mark.parametrize("x", [2.0**-60, 0.1, 0.3, 0.5])
def test_sinc(x, n):
    z, y = fixed_point.number(), fixed_point.number()
    fixed_point.set_double(y, n, x)
    fixed_point.sinc(z, y, n)
    assert_next_to(z, lambda: mpmath.sincpi(mpmath.mpf(x)), n)
