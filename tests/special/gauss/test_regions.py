import math
from functools import cache
from itertools import product

import mpmath
import numpy as np
import pytest

from riskcore.accuracy import reference
from riskcore.special.elementary import log_high_low
from riskcore.special.gauss import regions
from riskcore.special.gauss.regions import (
    BACKWARD_REAL,
    FORWARD_15,
    FORWARD_REAL,
    LEVELS_15,
    LEVELS_29,
    ONE,
    OTHER,
    SMALL,
    region,
)
from tests import thin


def up(x):
    return math.nextafter(x, math.inf)


def down(x):
    return math.nextafter(x, -math.inf)


@cache
def exact_resolvent(f, p):
    """Return (D, C) = (f/G, (f - D)/q) from the definition."""
    with mpmath.workprec(400):
        D = mpmath.mpf(f) / reference.gauss(f, p)
        return D, (f - D) / (1 - mpmath.mpf(p))


def by_logarithm(method):
    return lambda f, p: method(f, p, *log_high_low(p, 0.0))


RESOLVENTS = {
    ONE: by_logarithm(lambda f, p, high, low: regions.resolvent_one(p, high, low)),
    SMALL: by_logarithm(regions.resolvent_small),
    FORWARD_15: regions.resolvent_forward_15,
    LEVELS_29: regions.resolvent_29,
    LEVELS_15: regions.resolvent_15,
}


@pytest.mark.parametrize("p", [0.02, 0.4, 0.6, 0.9])
def test_a_region_for_every_frequency(p):
    downwards = LEVELS_15 if p >= regions.P_NEAR_ONE else LEVELS_29
    real = FORWARD_REAL if p < regions.P_FORWARD else BACKWARD_REAL
    expected = [
        (1.0, ONE if p < regions.P_NEAR_ONE else LEVELS_15),
        (2.0, SMALL if p < regions.P_SMALL else downwards),
        (4.0, SMALL if p < regions.P_SMALL else downwards),
        (5.0, FORWARD_15 if p < regions.P_FORWARD else downwards),
        (15.0, FORWARD_15 if p < regions.P_FORWARD else downwards),
        (2.5, real if p < regions.P_SMALL else downwards),
        (down(4.0), real if p < regions.P_SMALL else downwards),
        (up(4.0), FORWARD_REAL if p < regions.P_FORWARD else downwards),
        (down(16.0), FORWARD_REAL if p < regions.P_FORWARD else downwards),
        (16.0, downwards),
        (down(32.0), downwards),
        (32.0, LEVELS_15),
        (1.7e308, LEVELS_15),
        (down(2.0), real),
        (up(1.0), real),
        (down(1.0), real),
        (0.5, real),
        (regions.RARE, real),
        (down(regions.RARE), OTHER),
        (5e-324, OTHER),
    ]
    assert {f: region(f, p) for f, _ in expected} == dict(expected)


def test_the_shorter_questions_agree(cells, borders):
    f, p = (np.hstack(both).tolist() for both in zip(cells(3000), borders, strict=True))
    for x, y in zip([*f, -1.0, 0.0, 3.0], [*p, 0.1, 0.1, 2.0], strict=True):
        where = region(x, y)
        assert regions.is_one(x, y) == (where == ONE)
        assert regions.is_small(x, y) == (where in (ONE, SMALL))
        assert regions.is_levels_15(x, y) == (where == LEVELS_15)


def test_regions_meet_where_the_note_says():
    # notes/individual_risk.md has the table.
    assert region(1.0, down(0.75)) == ONE
    assert region(1.0, 0.75) == LEVELS_15
    assert region(2.0, down(0.5)) == SMALL
    assert region(2.0, 0.5) == LEVELS_29
    assert region(9.0, down(0.3)) == FORWARD_15
    assert region(9.0, 0.3) == LEVELS_29
    assert region(9.5, down(0.3)) == FORWARD_REAL
    assert region(9.5, 0.3) == LEVELS_29
    assert region(2.5, down(0.3)) == FORWARD_REAL
    assert region(2.5, 0.3) == BACKWARD_REAL
    assert region(2.5, down(0.5)) == BACKWARD_REAL
    assert region(2.5, 0.5) == LEVELS_29
    assert region(1.5, down(1.0)) == BACKWARD_REAL
    assert region(1.0, 2.0**-960) == ONE
    assert region(1.0, down(2.0**-960)) == OTHER
    assert region(1.5, 2.0**-960) == FORWARD_REAL
    assert region(1.5, down(2.0**-960)) == OTHER


@pytest.mark.parametrize("f", [0.0, -1.0, -2.0, -math.inf, math.nan])
def test_bad_frequencies_are_no_fast_cells(f):
    assert region(f, 0.5) == OTHER


@pytest.mark.parametrize("f", [0.5, 1.0, 3.0, 20.0, 1e9, math.inf])
@pytest.mark.parametrize("p", [0.0, -0.5, up(1.0), 2.0, math.inf, math.nan])
def test_bad_fractions_are_no_fast_cells(f, p):
    assert region(f, p) == OTHER


@pytest.mark.parametrize("p", [1e-9, 0.3, 1.0])
def test_an_infinite_frequency_gives_nan(p):
    assert region(math.inf, p) == LEVELS_15
    D, D_low, _ = regions.resolvent_15(math.inf, p)
    assert math.isnan(regions.quotient(p, 0.0, D, D_low))


@pytest.fixture(scope="module")
def by_region(cells):
    """Return some (f, p) of each region that has a resolvent."""
    f, p = cells(6000)
    places = np.array([region(x, y) for x, y in zip(f, p, strict=True)])
    keep = p > 1e-40  # the reference takes long below
    return {
        w: [(float(x), float(y)) for x, y in zip(f[at], p[at], strict=True)][:60]
        for w in RESOLVENTS
        for at in [(places == w) & keep & (f < 1e5)]
    }


# The slow cases have all points: the reference takes up to 0.1 s for one.
@pytest.mark.parametrize(
    ("where", "most"),
    thin.cases(product(RESOLVENTS, [25, 60]), lambda where, most: most == 25),
)
def test_resolvent(where, most, by_region):
    points = by_region[where][:most]
    assert len(points) > 20
    for f, p in points:
        D, D_low, E = RESOLVENTS[where](f, p)
        exact_D, exact_C = exact_resolvent(f, p)
        with mpmath.workprec(200):
            # Less than a quarter of an ulp is left for the quotient to add to.
            assert abs((mpmath.mpf(D) + D_low) / exact_D - 1) < 2.0**-54
            assert abs((1 - mpmath.mpf(E)) / exact_C - 1) < 2.0**-50
        assert abs(D_low) <= abs(D) * 2.0**-51


def test_the_resolvent_of_few_contains_that_of_one():
    for p in np.random.default_rng(3).uniform(0, regions.P_NEAR_ONE, 200).tolist():
        log_p = log_high_low(p, 0.0)
        alone = regions.resolvent_one(p, *log_p)
        assert regions.resolvent_small(1.0, p, *log_p) == alone


def test_quotient_is_rounded_little_more_than_once():
    rng = np.random.default_rng(5)
    for _ in range(500):
        a, b = (float(2.0**e) for e in rng.uniform(-50, 50, 2))
        a_low, b_low = (float(x * 2.0**-53 * rng.uniform(-1, 1)) for x in (a, b))
        got = regions.quotient(a, a_low, b, b_low)
        with mpmath.workprec(200):
            exact = (mpmath.mpf(a) + a_low) / (mpmath.mpf(b) + b_low)
            assert abs(got - exact) <= 0.5001 * math.ulp(got)
