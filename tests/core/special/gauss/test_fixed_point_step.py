"""The risk in fixed point against Arb, and the side of numbers that it nearly is."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from riskcore.core.special import fixed_point
from riskcore.core.special.fixed_point import BASE, WORDS, error, number
from riskcore.core.special.gauss import fixed_point_step
from riskcore.core.special.gauss.ball_step import nearest_slow, sides_slow
from riskcore.core.special.gauss.fixed_point_step import risk_in_words, side
from tests.core.special.gauss.test_ball_step import exact

FEW = 7


def cells():
    """Return (f, a, b) for every method, their borders, and p no double."""
    f = [0.5, 1.0, 2.0, 3.0, 31.0, 1.5, 0.3, 2.75, 900.25, 1e-30, 2.0**-300]
    f += [1 + 2.0**-52, 1 - 2.0**-53, 2 - 2.0**-52, 7 + 2.0**-49, 0.5 + 2.0**-53]
    p = [0.9, 0.3, math.nextafter(0.3, 0), 0.01, 1 - 2.0**-53, 2.0**-60, 2.0**-400]
    yield from ((x, y, 1.0) for x in f for y in p)
    yield from ((x, x, x / y) for x in f[:10] for y in p[:4])
    yield from ((x, 0.01, 1.0) for x in (1024.0, 5000.5, 513.0))
    yield from ((x, y, 1.0) for x in (1024.0, 3e6) for y in (0.5, 2.0**-60))


@pytest.mark.parametrize("n", [FEW, WORDS])
def test_risk_in_words(n):
    chosen = list(cells())
    for f, a, b in chosen if n == FEW else chosen[::9]:
        if f > 1e6 and a < 0.1:
            continue  # Arb takes too long
        z = number()
        s = risk_in_words(z, f, a, b, n)
        ctx.prec = 40 * WORDS
        r = exact(f, a, b, 28 * n + 100) * arb(2) ** -s
        found = sum((arb(z[i]) / arb(BASE) ** i for i in range(n)), arb(0))
        distance = abs(found - r) * arb(BASE) ** (n - 1)
        assert distance <= arb(error(z, n)), (f.hex(), a.hex(), b.hex())
        # At worst next to an integer: 53 bits are lost there.
        assert error(z, n) < 2.0**75
        assert error(z, n) < 2.0**30 or f % 1 != 0
        assert abs(z[0]) < 2**12


def test_sides_of_neighbors():
    rng = np.random.default_rng(1)
    for _ in range(25):
        f = float(rng.choice([rng.integers(1, 60), rng.uniform(0, 40)]))
        p = float(2.0 ** -rng.uniform(0, 40))
        r = exact(f, p, 1.0, 200)
        x = float(r.mid())
        below = x if arb(x) < r else math.nextafter(x, 0)
        above = math.nextafter(below, math.inf)
        assert side(f, p, 1.0, below, False) == 1
        assert side(f, p, 1.0, above, False) == -1
        middle = (arb(below) + arb(above)) / 2
        assert side(f, p, 1.0, below, True) == (1 if r > middle else -1)


# r is nearer to these numbers than 10,000 bits could tell.
LIMITS = [
    (3.0, 2.0**-1000, 2.0**-1001, False, -1),  # p/(f-1)
    (2.5, 3 * 2.0**-900, 2.0**-899, False, -1),
    (1.0 + 2.0**-30, 2.0**-1040, 2.0**-1010, False, 1),  # p^(f-1) is not small
    (3.0, 3 * 5e-324, 5e-324, True, -1),  # the middle of two subnormal numbers
    (7.0, 9 * 5e-324, 5e-324, True, -1),
    (2.0**1000, 0.75, 0.75 * 2.0**-1000, False, 1),  # p/f
    (2.0**-500, 0.5, 2.0**500, False, -1),  # 1/f
    (2.0**-1074, 0.5, 2.0**1023, False, 1),
    (2.0**-1024, 0.5, math.ldexp(1 - 2.0**-53, 1024), True, 1),  # infinity is nearer
    (2.0, 5e-324, 0.0, True, 1),
    (2.0, 5e-324, 0.0, False, 1),
]


@pytest.mark.parametrize(("f", "p", "x", "middle", "expected"), LIMITS)
def test_sides_of_limits(f, p, x, middle, expected):
    if f == 1.0 + 2.0**-30:
        r = exact(f, p, 1.0, 300)
        expected = 1 if r > arb(x) else -1
    assert side(f, p, 1.0, x, middle) == expected


def test_sides_of_limits_for_quotients():
    # p = f/F with F and f - 1 such that p/(f-1) is a double.
    f, F = 3.0, 3.0 * 2.0**1000
    assert side(f, f, F, 2.0**-1001, False) == -1
    assert side(f, f, F, math.nextafter(2.0**-1001, 0), False) == 1
    assert side(2.0**600, 2.0**600, 2.0**1000, 2.0**-1000, False) == 1


def test_more_words_where_few_do_not_do():
    # r(2, p) = p (1 - p L + ...): B = p - p^2 L is not a double, but doubles come near
    # it only to 2^-107; a boundary that needs 400 bits is made of p alone.
    f, p = 2.0, 2.0**-450
    assert side(f, p, 1.0, p, False) == -1
    assert side(f, p, 1.0, math.nextafter(p, 0), True) == 1
    z = number()
    s = risk_in_words(z, f, p, 1.0, WORDS)
    # p itself is not told from r by 308 bits, but by 1008.
    few = number()
    s_few = risk_in_words(few, f, p, 1.0, FEW)
    for x, n, size, told in ((few, FEW, s_few, False), (z, WORDS, s, True)):
        found = sum(Fraction(x[i], BASE**i) for i in range(n)) * Fraction(2) ** size
        off = Fraction(error(x, n)) / BASE ** (n - 1) * Fraction(2) ** size
        assert (found + off < Fraction(p)) == told


# The products and quotients of 7 words by 7 that the slowest known cells take.
SLOW = [
    (1.0, 1 - 2.0**-53, 24),
    (1.0, 1 - 3 * 2.0**-53, 24),
    (4.0, 2.0**-53, 60),
    (66.0, 1.25 * 2.0**-49, 40),
    (267.0, 1.3125 * 2.0**-1016, 24),
    (974.0, 1.6875 * 2.0**-50, 24),
    (2.0**52, 0.5, 30),
    (4.5, 1.25 * 2.0**-53, 160),
    (3.25, 1.25 * 2.0**-54, 160),
]


@pytest.mark.parametrize(("f", "p", "most"), SLOW)
def test_the_slowest_cells_take_few_products_of_few_words(monkeypatch, f, p, most):
    asked = []

    def counted(operation):
        def count(z, x, y, n):
            asked.append(n)
            operation(z, x, y, n)

        return count

    for name in ("multiply", "divide"):
        for module in (fixed_point_step, fixed_point):
            operation = getattr(fixed_point, name)
            monkeypatch.setattr(module, name, counted(operation))
    sides_slow(f, p)
    nearest_slow(f, p)
    assert set(asked) == {7}
    assert len(asked) <= most
