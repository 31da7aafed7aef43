"""The levels of the fraction, and the balls, against Arb and in exact arithmetic.

That balls contain r is proved by `bench/proof/enclosure.py`.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mpf

from riskcore.core.special.floats import two_sum
from riskcore.core.special.gauss import enclosure
from riskcore.core.special.gauss.enclosure import (
    F_LEVELS,
    P_LEVELS,
    P_SHORT,
    e_by_f,
    e_by_p,
    risk_ball,
    scaled,
    scaling,
)


@pytest.mark.parametrize("factor", [0.001, 0.3, 0.9])
def test_a_level_contracts_as_the_note_says(factor):
    rng = np.random.default_rng(1)
    p = mpf(factor)
    bound = (1 - mpmath.sqrt(p)) / (1 + mpmath.sqrt(p))
    for _ in range(300):
        k, b = mpf(rng.integers(1, 40)), mpf(rng.uniform(0.4, 100))
        x, z = (p + (1 - p) * mpf(u) for u in rng.random(2))
        image_x, image_z = ((p * b + k * u) / (b + k * u) for u in (x, z))
        assert p <= image_x <= 1
        assert abs(mpmath.log(image_x / image_z)) <= bound * abs(mpmath.log(x / z))
        assert abs(image_x - image_z) <= k / b * abs(x - z)


def test_the_contraction_is_attained():
    p, k, b = mpf("0.3"), mpf(3), mpf(4)
    x = b * mpmath.sqrt(p) / k
    slope = mpmath.diff(
        lambda s: mpmath.log((p * b + k * mpmath.exp(s)) / (b + k * mpmath.exp(s))),
        mpmath.log(x),
    )
    bound = (1 - mpmath.sqrt(p)) / (1 + mpmath.sqrt(p))
    assert abs(slope / bound - 1) < 1e-10


def arb_e(f, p):
    """Return a ball around E = (D - (f - 1) - p)/q, D = f/2F1(1, 1; f+1; q)."""
    ctx.prec = 500
    f, p = (sum((arb(x) for x in pair), arb(0)) for pair in (f, p))
    q = 1 - p
    D = f / q.hypgeom_2f1(1, 1, f + 1)
    return (D - (f - 1) - p) / q


def contains(ball, exact):
    high, low, radius = ball
    return abs(arb(high) + arb(low) - exact) <= arb(radius)


def test_e_by_p():
    rng = np.random.default_rng(2)
    for _ in range(60):
        f, p = rng.uniform(0.5, 40), rng.uniform(P_LEVELS, 0.99)
        pairs = (f, 0.0), two_sum(p, rng.uniform(-1, 1) * 2.0**-54)
        assert contains(e_by_p(*pairs), arb_e(*pairs))
    for p in (P_LEVELS, P_SHORT, math.nextafter(P_SHORT, 0)):
        assert contains(e_by_p((0.5, 0.0), (p, 0.0)), arb_e((0.5, 0.0), (p, 0.0)))


@pytest.mark.parametrize("f", [F_LEVELS, 127.9, 128.0, 999.0, 1000.0, 5000.0])
def test_e_by_f(f):
    for p in (5e-324, 1e-100, 1e-3, 0.02, 0.3, 0.9):
        if p < 1e-10:  # E is of the size of p: 0 to this radius
            high, _, radius = e_by_f(f, p)
            assert high < radius < 2.0**-99 / f
        else:
            assert contains(e_by_f(f, p), arb_e((f, 0.0), (p, 0.0)))


def test_e_of_huge_frequencies():
    # The last half of 1/f is subnormal: 4 UNIT of it would be rounded away.
    for f in (2.0**60, 2.0**200, 1.7e308, 1.2345678912345678e308):
        high, low, radius = e_by_f(f, 0.5)
        assert low == 0
        assert high - radius <= 0
        assert Fraction(high) + Fraction(radius) >= 1 / Fraction(f)


METHODS = ("e_by_f", "e_by_p", "_small", "_reflected", "_below_one")
TO = math.nextafter


@pytest.mark.parametrize(
    ("f", "p", "first"),
    [
        (1.0, 0.3, "e_by_p"),
        (1.0, 1.0, "e_by_p"),
        (TO(32.0, 0), 0.3, "e_by_p"),
        (32.0, 0.3, "e_by_f"),
        (32.0, TO(0.3, 0), "e_by_f"),
        (TO(1.0, 0), 0.3, "_below_one"),
        (0.5, 0.3, "_below_one"),
        (0.5, TO(0.3, 0), "_reflected"),
        (TO(0.5, 1), TO(0.3, 0), "_small"),
        (1.0, TO(0.3, 0), "_small"),
        (TO(32.0, 0), TO(0.3, 0), "_small"),
    ],
)
def test_methods_meet_where_the_note_says(monkeypatch, f, p, first):
    # notes/correct_rounding.md, section 14: each bound is proven where it is used.
    called = []

    def note(name, really):
        def noting(*arguments):
            called.append(name)
            return really(*arguments)

        monkeypatch.setattr(enclosure, name, noting)

    for name in METHODS:
        note(name, getattr(enclosure, name))
    (high, _, radius), _ = risk_ball(f, p)
    assert called[0] == first
    assert radius < 2.0**-90 * high


@pytest.mark.parametrize("border", [128.0, 1000.0, 2.0**60])
def test_levels_change_where_the_note_says(border):
    below, at = (e_by_f(f, 0.4)[2] for f in (TO(border, 0), border))
    assert abs(at / below - 1) > 1e-9


def test_the_edge_of_the_domain():
    inside = [(5e-324, 5e-324), (1.7e308, 1.0), (5e-324, 1.0), (1.7e308, 5e-324)]
    for f, p in inside:
        (high, _, radius), n = risk_ball(f, p)
        assert 0 <= radius < 2.0**-90 * high
        assert abs(n) <= 2
    outside = [(0.0, 0.5), (-1.0, 0.5), (math.inf, 0.5), (math.nan, 0.5)]
    outside += [(1.0, x) for x in (0.0, -0.5, math.nextafter(1, 2), math.nan)]
    for f, p in outside:
        assert all(map(math.isnan, risk_ball(f, p)[0]))


def test_scaling_is_exact():
    for x in (5e-324, 2.0**-401, 1.5 * 2.0**500, 1.7e308):
        k = scaling(x)
        assert k == (-1 if x > 1 else 1)
        assert scaled(scaled(x, k), -k) == x
    assert scaling(0.5) == scaling(2.0**-400) == scaling(2.0**400) == 0
    assert scaled(3.0, 0) == 3.0
    assert scaled(2.0**500, -2) == 2.0**-700
    assert scaled(5e-324, 2) == 2.0**126
