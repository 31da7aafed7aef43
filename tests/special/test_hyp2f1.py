import math

import mpmath
import numpy as np
import pytest

from riskcore import reference
from riskcore.special import hyp2f1
from riskcore.special.hyp2f1 import OUTSIDE, region, resolvent, scale


def up(x):
    return math.nextafter(x, math.inf)


def down(x):
    return math.nextafter(x, -math.inf)


def exact_resolvent(f, p):
    """Return (D, C) = (f/G, (f - D)/q) from the definition."""
    with mpmath.workprec(600):
        D = mpmath.mpf(f) / reference.gauss(f, p)
        return D, (f - D) / (1 - mpmath.mpf(p))


def relative_errors(method, f, p):
    D, C = method(f, p)
    exact_D, exact_C = exact_resolvent(f, p)
    return float(abs(D / exact_D - 1)), float(abs(C / exact_C - 1))


@pytest.mark.parametrize("p", [0.02, 0.2, 0.5, 0.9])
def test_a_region_for_every_frequency(p):
    small = p < hyp2f1.P_FORWARD
    names = [
        (1.0, hyp2f1.ONE if p < hyp2f1.P_NEAR_ONE else None),
        (2.0, hyp2f1.FORWARD_4 if small else None),
        (4.0, hyp2f1.FORWARD_4 if small else None),
        (5.0, hyp2f1.FORWARD_15 if small else None),
        (15.0, hyp2f1.FORWARD_15 if small else None),
        (down(16.0), hyp2f1.REAL if small else None),
        (16.0, hyp2f1.LEVELS_32),
        (down(32.0), hyp2f1.LEVELS_32),
        (32.0, hyp2f1.LEVELS_14),
        (down(1000.0), hyp2f1.LEVELS_14),
        (1000.0, hyp2f1.LEVELS_4),
        (1.7e308, hyp2f1.LEVELS_4),
        (2.5, hyp2f1.REAL if small else None),
        (down(1.0), hyp2f1.REAL),
        (5e-324, hyp2f1.REAL),
    ]
    fraction = hyp2f1.LEVELS_14 if p >= hyp2f1.P_NEAR_ONE else hyp2f1.LEVELS_32
    for f, where in names:
        assert region(f, p) == (fraction if where is None else where), f


def test_regions_meet_at_their_borders():
    forward, near_one = hyp2f1.P_FORWARD, hyp2f1.P_NEAR_ONE
    assert region(1.0, down(near_one)) == hyp2f1.ONE
    assert region(1.0, near_one) == hyp2f1.LEVELS_14
    assert region(4.0, down(forward)) == hyp2f1.FORWARD_4
    assert region(5.0, down(forward)) == hyp2f1.FORWARD_15
    assert region(4.0, forward) == hyp2f1.LEVELS_32
    assert region(2.0, down(near_one)) == hyp2f1.LEVELS_32
    assert region(2.0, near_one) == hyp2f1.LEVELS_14
    assert region(up(1.0), 0.1) == hyp2f1.REAL


def test_outside():
    for bad in (0.0, -1.0, math.nan, math.inf, -math.inf):
        assert region(bad, 0.5) == OUTSIDE
        assert region(3.0, bad) == OUTSIDE
    assert region(3.0, up(1.0)) == OUTSIDE
    assert all(map(math.isnan, resolvent(0.0, 0.5, OUTSIDE)))


# --- each method on both sides of the border where another takes over --------------


@pytest.mark.parametrize("f", [2.0, 3.0, 4.0, 7.0, 15.0])
def test_forward_and_fraction_agree_at_their_border(f):
    p = hyp2f1.P_FORWARD
    forward = hyp2f1.resolvent_forward_4 if f <= 4 else hyp2f1.resolvent_forward_15
    for method in (forward, hyp2f1.resolvent_32):
        assert max(relative_errors(method, f, p)) < 2.0**-51


@pytest.mark.parametrize(
    ("method", "f", "p"),
    [
        (hyp2f1.resolvent_32, up(1.0), 0.3),
        (hyp2f1.resolvent_32, 16.0, 1e-3),
        (hyp2f1.resolvent_14, 1.0, 0.75),
        (hyp2f1.resolvent_14, 32.0, 1e-3),
        (hyp2f1.resolvent_4, 1000.0, 1e-3),
        (hyp2f1.resolvent_4, 2.0**70, 0.5),
    ],
)
def test_levels_are_enough_where_they_are_fewest(method, f, p):
    assert max(relative_errors(method, f, p)) < 2.0**-51


@pytest.mark.parametrize(
    ("method", "f", "p"),
    [
        (hyp2f1.resolvent_32, 1.0, 0.05),
        (hyp2f1.resolvent_14, 2.0, 0.3),
        (hyp2f1.resolvent_4, 16.0, 1e-3),
        (hyp2f1.resolvent_forward_15, 15.0, 0.9),
    ],
)
def test_borders_are_needed(method, f, p):
    assert max(relative_errors(method, f, p)) > 2.0**-48


REAL_POINTS = [
    (f, p)
    for f in (0.01, 0.5, up(0.5), 0.75, down(1.0), up(1.0), 1.5, up(1.5), 2.5, 15.9)
    for p in (1e-12, down(0.03), 0.03, down(0.1), 0.1, 0.29)
]


@pytest.mark.parametrize(("f", "p"), REAL_POINTS)
def test_ladder_of_real_frequencies(f, p):
    assert region(f, p) == hyp2f1.REAL
    s = scale(f, p)

    def method(f, p):
        D, C = hyp2f1.resolvent_real(f, p)
        return D / s, C

    assert max(relative_errors(method, f, p)) < 2.0**-50


def test_scale_keeps_tiny_resolvents():
    # D itself is about p f here: 1e-330 is no double.
    f, p = 1e-20, 1e-310
    D, _ = resolvent(f, p, region(f, p))
    assert scale(f, p) == 2.0**1000
    with mpmath.workprec(4000):
        expected = mpmath.mpf(p) / reference.individual_risk(f, p)
        assert abs(D / (expected * mpmath.mpf(2) ** 1000) - 1) < 2.0**-50


def test_invariants(cells):
    # D = f - q C lies between p and f, and C between 0 and 1.
    f, p = cells(400)
    for x, y in zip(f.tolist(), p.tolist(), strict=True):
        D, C = resolvent(x, y, region(x, y))
        D /= scale(x, y)
        assert 0 <= C <= 1
        assert y * (1 - 1e-15) * min(1, x) <= D <= x * (1 + 1e-15)
        assert abs(D - (x - (1 - y) * C)) <= 4e-16 * max(x, 1) + 1e-15 * D


def test_reflection_coefficients():
    with mpmath.workprec(200):
        terms = [float(mpmath.zeta(2 * k) / k) for k in range(27, 0, -1)]
        assert np.array_equal(hyp2f1._REFLECTION, terms)
        for e in (-0.5, -0.1, 1e-9, 0.25, 0.5):
            exact = mpmath.log(mpmath.pi * e / mpmath.sin(mpmath.pi * e)) / e
            assert abs(hyp2f1._reflection(e) / exact - 1) < 2.0**-51
    assert hyp2f1._reflection(0.0) == 0
