"""The risk in pairs: the bounds of its groups, and all groups against the balls."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from riskcore.core.special.gauss import double_double_step as pairs
from riskcore.core.special.gauss.double_double_step import (
    ERROR,
    LEVELS,
    LEVELS_REFLECTED,
    risk_pairs,
)
from riskcore.core.special.gauss.enclosure import risk_ball
from tests.core.special.gauss.test_enclosure import UNIT, by_f, by_p


def test_levels_are_enough():
    f_1000, f_128, p_75, f_32, p_50, p_30 = LEVELS
    for p, levels, bound in (
        (0.75, p_75, -87.5),
        (0.5, p_50, -86.8),
        (0.3, p_30, -87.3),
        (0.7, LEVELS_REFLECTED, -91),
    ):
        assert mpmath.log(by_p(p, *levels), 2) < bound
        assert 0.54 * by_p(p, *levels) + 60 * UNIT**2 < mpf(2) ** -87
    for f, levels, bound in (
        (32, f_32, -80.5),
        (128, f_128, -81.8),
        (1000, f_1000, -80.6),
    ):
        assert mpmath.log(by_f(f, *levels), 2) < bound
        assert by_f(f, *levels) / (f * (f - 1)) + 60 * UNIT**2 < mpf(2) ** -87


@pytest.mark.parametrize(("last", "top", "bound"), [(4, 0.75, -88), (31, 0.5, -89)])
def test_contiguity_loses_little(last, top, bound):
    # e(g+1) <= v e(g) + 30 u^2/g, T(f) >= q (f+1)/(f (f+p)).
    for p in np.append(np.linspace(0.001, top, 60), 2.0 ** -np.arange(2.0, 400)):
        p = mpf(float(min(p, top)))
        q = 1 - p
        e = mpf(2) ** -95 * -mpmath.log(p)
        for f in range(2, last + 1):
            e = p / q * e + 30 * UNIT**2 / (f - 1)
            least = q * (f + 1) / (f * (f + p))
            assert e / least + 28 * UNIT**2 < mpf(2) ** bound


def points(rng, n):
    """Return cells of every group, those next to borders among them."""
    f = np.concatenate(
        [
            rng.integers(1, 32, n),
            rng.uniform(0, 32, n),
            rng.integers(1, 32, n) * (1 + 2.0 ** -rng.uniform(4, 52, n)),
            2.0 ** rng.uniform(-300, 59, n),
            rng.choice(
                [4.0, 5.0, 31.0, 32.0, 128.0, 1000.0, 0.5, 1.5, 1 - 2.0**-53], n
            ),
        ]
    )
    p = np.where(
        rng.random(5 * n) < 0.6, rng.random(5 * n), 2.0 ** -rng.uniform(0, 399, 5 * n)
    )
    p[::7] = rng.choice([0.3, 0.5, 0.75, 1.0, 1 - 2.0**-53, 2.0**-400], len(p[::7]))
    return f.tolist(), p.tolist()


def test_all_groups():
    f, p = points(np.random.default_rng(1), 40)
    groups = {pairs._group(x, y) for x, y in zip(f, p, strict=True)}
    assert groups == set(range(pairs._GROUPS))
    for first in range(0, len(f), 50):
        x, y = f[first : first + 50], p[first : first + 50]
        n = len(x)
        high, low = [0.0] * n, [0.0] * n
        risk_pairs(x, y, high, low, n)
        for cell in zip(x, y, high, low, strict=True):
            assert_within(*cell)


def assert_within(f, p, high, low):
    (a, b, radius), n = risk_ball(f, p)
    exact = (Fraction(a) + Fraction(b)) / Fraction(2) ** (600 * n)
    off = Fraction(radius) / Fraction(2) ** (600 * n)
    found = Fraction(high) + Fraction(low)
    assert high == high + low
    # Far below what is proved: 64 times the largest ever found.
    assert abs(found - exact) + off <= Fraction(ERROR) / 2 * exact, (f.hex(), p.hex())


def test_cells_that_are_left_to_the_balls():
    f = [2.0**61, 2.0**-401, 3.0, 3.0, math.nan, -1.0, 3.0, math.inf, 0.0]
    p = [0.5, 0.5, 2.0**-401, 1.5, 0.5, 0.5, math.nan, 0.5, 0.5]
    high, low = [0.0] * 9, [0.0] * 9
    risk_pairs(f, p, high, low, 9)
    assert all(math.isnan(x) for x in high + low)
