"""Bounds and directed rounding by Arb and mpmath: regions, borders, hardest points."""

import csv
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numba
import numpy as np
import pytest
from flint import arb

import riskcore
from riskcore.accuracy import reference
from riskcore.core.risk import bounds
from riskcore.core.risk.bounds import risk_bounds, risk_enclosure
from riskcore.core.special.gauss import risk_blocks
from riskcore.core.special.gauss.ball_step import sides_slow
from riskcore.core.special.gauss.enclosure import (
    F_HUGE,
    F_LEVELS,
    P_LEVELS,
    P_SHORT,
)
from riskcore.core.special.gauss.fast_integer import OTHER, region
from riskcore.core.special.gauss.rounding_test import rounded_down
from tests.core.special.gauss.test_ball_step import exact

DATA = Path(__file__).parents[1] / "points"
SMALLEST, LARGEST = 5e-324, math.ldexp(1 - 2.0**-53, 1024)


DIRECTED = ["individual_risk_down", "individual_risk_up"]


def neighbors(x):
    return [math.nextafter(x, 0), x, math.nextafter(x, math.inf)]


def contained(f, p, lower, upper, ball, bits=180):
    """Return whether r lies in the bounds and in the ball; more bits until decided."""
    high, low, radius, n = ball
    r = exact(f, p, 1.0, bits)
    distance = abs(arb(high) + arb(low) - r * arb(2) ** int(600 * n))
    # Arb cannot decide equality; at p = 1 rational numbers do.
    above = math.isinf(upper) or p == 1 or r <= arb(upper)
    if (p == 1 or arb(lower) <= r) and above and distance <= arb(radius):
        if p < 1:
            return True
        ends = [
            x if math.isinf(x) else Fraction(x) * Fraction(f) for x in (lower, upper)
        ]
        return ends[0] < 1 < ends[1] or ends[0] == 1 == ends[1]
    return bits < 3000 and contained(f, p, lower, upper, ball, 2 * bits)


def down_and_up(f, p):
    return riskcore.individual_risk_down(f, p), riskcore.individual_risk_up(f, p)


def faults(f, p):
    """Return the points whose bounds or ball do not contain r, or are too wide.

    r rounded down and up must be the bounds.
    """
    bounds_there = riskcore.individual_risk_bounds(f, p)
    assert np.array_equal(down_and_up(f, p), bounds_there)
    balls = risk_enclosure(f, p)
    found = []
    for row in zip(f, p, *bounds_there, *balls, strict=True):
        x, y, lower, upper, *ball = map(float, row)
        narrow = lower < upper and math.nextafter(lower, math.inf) == upper
        if y == 1 and lower == upper:
            narrow = True
        if not (narrow and contained(x, y, lower, upper, ball)):
            found.append((x.hex(), y.hex(), lower, upper))
    return found


def test_every_region(cells, method):
    assert faults(*cells(700, method, seed=11)) == []


def test_borders(borders):
    assert faults(*borders) == []


def own_borders():
    f = [0.5, 1.0, 1.5, F_LEVELS, 128.0, 1000.0, F_HUGE, 2.0**53, 2.0**400, 2.0**-400]
    p = [P_LEVELS, P_SHORT, 1 - 2.0**-53, 2.0**-400, 2.0**-1022, 1e-5, SMALLEST]
    f = [y for x in f for y in neighbors(x)]
    p = [y for x in p for y in neighbors(x) if 0 < y <= 1]
    return np.array([(x, y) for x in f for y in p]).T


def test_own_borders():
    f, p = own_borders()
    assert faults(f, p) == []


def test_extreme_doubles():
    rng = np.random.default_rng(12)
    top = np.array([LARGEST]).view(np.int64)[0]
    f = rng.integers(1, top, 500).view(np.float64)
    p = rng.integers(1, np.array([1.0]).view(np.int64)[0], 500).view(np.float64)
    assert faults(f, p) == []


def test_subnormal_p():
    rng = np.random.default_rng(13)
    p = rng.integers(1, 2**52, 400).view(np.float64)
    f = np.where(rng.random(400) < 0.5, rng.integers(1, 60, 400), rng.uniform(0.01, 60))
    assert faults(f, p) == []


def test_next_to_the_reference_of_mpmath(cells):
    f, p = cells(400, seed=14)
    chosen = (p > 1e-30) & (f < 1e4) & (f > 1e-30)
    lower, upper = riskcore.individual_risk_bounds(f, p)
    rows = np.array([f, p, lower, upper]).T[chosen]
    for x, y, low, high in rows.tolist():
        assert low < reference.individual_risk(x, y) < high


# --- next to doubles -----------------------------------------------------------------


def structured():
    """Return points whose risk is far nearer to a double than the radius relative."""
    yield from ((2.0**k, 1 - n * 2.0**-53) for k in range(-4, 5) for n in range(1, 18))
    yield from ((2.0**k, p) for k in range(30, 1024, 17) for p in (0.5, 0.75, 2.0**-99))
    yield from ((2.0**-k, p) for k in range(30, 1022, 13) for p in (0.1, 0.5, 0.999))
    for f in (1.5, 2.0, 3.0, 4.0, 9.0, 17.0, 31.0, 33.0, 65.0, 129.0, 1025.0):
        yield from ((f, (f - 1) * 2.0**-k) for k in range(60, 1000, 47))
        yield from ((f, math.nextafter((f - 1) * 2.0**-k, 0)) for k in (99, 800))
    yield from ((f, SMALLEST * k) for f in (2.0, 3.0, 5.0) for k in (1, 2, 3, 8))
    yield 2.0**53 + 4, math.nextafter(2.0**-960, 1)
    yield 2.0**-1024, 0.5  # 1/f is just above the largest double


def test_results_that_nearly_are_doubles():
    f, p = np.array(list(structured())).T
    assert faults(f, p) == []


def test_equal_where_exact():
    f = np.array([2.0**k for k in range(-1023, 1024)])
    lower, upper = riskcore.individual_risk_bounds(f, 1.0)
    assert np.array_equal(lower, upper)
    assert np.array_equal(lower, 1 / f)
    assert np.array_equal(down_and_up(f, 1.0), [1 / f, 1 / f])


def test_neighbors_where_not_exact():
    rng = np.random.default_rng(15)
    f = np.append(
        rng.uniform(0.001, 100, 1000), [3.0, 5e-324, 1.7e308, 1.5 * 2.0**1023]
    )
    f = f[np.frexp(f)[0] != 0.5]
    lower, upper = riskcore.individual_risk_bounds(f, 1.0)
    assert (lower < upper).all()
    assert np.array_equal(np.nextafter(upper, 0), lower)
    for x, low, high in zip(f.tolist(), lower.tolist(), upper.tolist(), strict=True):
        with mpmath.workprec(200):
            assert mpmath.mpf(low) * x < 1 < mpmath.mpf(high) * x
    f, p = rng.uniform(0.001, 100, 20000), rng.uniform(0, 1, 20000)
    lower, upper = riskcore.individual_risk_bounds(f, p)
    assert np.array_equal(np.nextafter(lower, np.inf), upper)


def test_past_the_ends_of_the_doubles():
    assert risk_bounds(5e-324, 0.5) == (LARGEST, math.inf)
    assert risk_bounds(2.0**-1024, 0.5) == (LARGEST, math.inf)
    assert risk_bounds(2.0**-1023, 0.5)[1] == 2.0**1023
    assert risk_bounds(1.7e308, SMALLEST) == (0.0, SMALLEST)
    assert risk_bounds(2.0, SMALLEST) == (0.0, SMALLEST)
    assert risk_bounds(1.0, SMALLEST)[0] == 744 * SMALLEST
    f, p = [5e-324, 2.0**-1024, 2.0**-1023, 1.7e308, 2.0], [0.5] * 3 + [SMALLEST] * 2
    bounds_there = [risk_bounds(x, y) for x, y in zip(f, p, strict=True)]
    assert np.array_equal(np.transpose(down_and_up(f, p)), bounds_there)


def points_of(name):
    with (DATA / name).open() as file:
        lines = [line for line in file if not line.startswith("#")]
    return list(csv.DictReader(lines))


def hardest():
    return points_of("hardest_points.csv")


def test_the_hardest_points_found():
    rows = hardest()
    assert len(rows) > 50
    f, p = (np.array([float.fromhex(row[key]) for row in rows]) for key in "fp")
    assert faults(f, p) == []


@pytest.mark.parametrize("near", ["double", "midpoint"])
def test_the_hardest_points_are_as_hard_as_stated(near):
    rows = [row for row in hardest() if row["near"] == near]
    for row in rows:
        f, p = float.fromhex(row["f"]), float.fromhex(row["p"])
        lower, upper = risk_bounds(f, p)
        r = exact(f, p, 1.0, 300)
        place = (r - arb(lower)) / (arb(upper) - arb(lower))
        goals = [0, 1] if near == "double" else [arb(0.5)]
        distance = min(float(abs(place - goal).mid()) for goal in goals)
        assert abs(math.log2(distance) - float(row["log2_ulp"])) < 0.01


# f and p of few bits, f and p beside powers of two: balls alone leave a side open.
NEAR_DOUBLES = [
    (4.0, 2.0**-53), (8.0, 1.5 * 2.0**-52), (10.0, 2.0**-51), (11.0, 1.5 * 2.0**-52),
    (18.0, 2.0**-52), (20.0, 1.125 * 2.0**-50), (22.0, 1.25 * 2.0**-50),
    (58.0, 1.75 * 2.0**-49), (2.0**52 + 1, 0.5), (2.0**51 + 2, 0.25 + 2.0**-53),
]  # fmt: skip


def near_doubles():
    rows = points_of("near_doubles.csv")
    return [
        (float.fromhex(row["f"]), float.fromhex(row["p"]), float(row["log2_distance"]))
        for row in rows
    ]


def test_the_data_has_points_of_both_kinds():
    assert set(NEAR_DOUBLES) <= {(f, p) for f, p, _ in near_doubles()}


@pytest.mark.parametrize(("f", "p", "distance"), near_doubles())
def test_bounds_are_neighbors_next_to_doubles(f, p, distance):
    lower, upper = risk_bounds(f, p)
    ball = tuple(map(float, risk_enclosure(f, p)))
    assert contained(f, p, lower, upper, ball)
    assert upper == math.nextafter(lower, math.inf)
    assert down_and_up(f, p) == (lower, upper)
    _, low, radius, _ = ball
    assert abs(low) <= radius  # the ball does not tell the side
    nearest = arb(float(riskcore.individual_risk(f, p)))
    found = abs(float((exact(f, p, 1.0, 400) / nearest - 1).mid()))
    assert abs(math.log2(found) - distance) < 0.01


# --- as a ufunc ----------------------------------------------------------------------


def test_is_a_ufunc_of_two_results():
    ufunc = riskcore.individual_risk_bounds
    assert isinstance(ufunc, np.ufunc)
    assert (ufunc.nin, ufunc.nout, ufunc.types) == (
        2,
        2,
        ["ff->ff", "dd->dd", "OO->OO"],
    )
    lower, upper = ufunc([1, 2, 3], [[0.1], [0.5]])
    assert lower.shape == upper.shape == (2, 3)
    assert (lower[1, 2], upper[1, 2]) == risk_bounds(3.0, 0.5)


@pytest.mark.parametrize("n", [5, 1100])
@pytest.mark.parametrize("places", [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)])
def test_results_in_the_place_of_arguments(cells, n, places):
    # In blocks, and by steps: arguments next to each other, and far apart.
    f, p = cells(n, seed=21)
    expected = np.array(riskcore.individual_risk_bounds(f, p))
    for step in (1, 2):
        memory = np.zeros((3, n, step))
        memory[:2, :, 0] = f, p
        rows = memory[..., 0]
        out = tuple(rows[k] for k in places)
        riskcore.individual_risk_bounds(rows[0], rows[1], out=out)
        assert np.array_equal(out, expected)


def test_outside_the_domain_without_a_warning():
    f = np.array([0.0, -1.0, math.nan, math.inf, 2.0, 2.0, 2.0])
    p = np.array([0.5, 0.5, 0.5, 0.5, 0.0, 1.5, math.nan])
    with np.errstate(all="raise"):
        assert np.isnan(riskcore.individual_risk_bounds(f, p)).all()
        assert np.isnan(down_and_up(f, p)).all()
        riskcore.individual_risk_bounds(2, SMALLEST)
        assert down_and_up(2, SMALLEST) == (0.0, SMALLEST)


def test_interpreted_gives_the_same_bits(cells):
    f, p = cells(150, seed=16)
    compiled = risk_enclosure(f, p)
    interpreted = [
        bounds.enclosure(x, y) for x, y in zip(f.tolist(), p.tolist(), strict=True)
    ]
    assert np.array_equal(np.array(compiled).T, interpreted)
    pairs = [risk_bounds(x, y) for x, y in zip(f.tolist(), p.tolist(), strict=True)]
    expected = np.array(riskcore.individual_risk_bounds(f, p))
    assert np.array_equal(expected.T, pairs)
    lower, upper = np.zeros_like(expected).tolist()
    bounds.bounds_block(f.tolist(), p.tolist(), lower, upper, len(f))
    assert np.array_equal([lower, upper], expected)


def test_interpreted_loops_give_the_same_bits(method, cells):
    # One region at a time: another's method may divide by zero, and Python raises.
    f, p = cells(60, method)
    chosen = (f > 1e-3) & (f < 1e100) & (p > 1e-200)
    f, p = f[chosen][:15], p[chosen][:15]
    expected = np.array(riskcore.individual_risk_bounds(f, p))
    out = np.zeros_like(expected)
    given = f.tolist(), p.tolist()
    bounds.UFUNCS["individual_risk_bounds"].loop([*given, *out], [len(f)], [8] * 4, 0)
    assert np.array_equal(out, expected)
    for name, row in zip(DIRECTED, out, strict=True):
        row[:] = 0.0
        bounds.UFUNCS[name].loop([*given, row], [len(f)], [8] * 3, 0)
    assert np.array_equal(out, expected)


def test_the_fast_path_and_the_balls_agree(cells, method):
    f, p = cells(60, method, seed=19)
    found = riskcore.individual_risk_bounds(f, p)
    slow = [sides_slow(x, y) for x, y in zip(f.tolist(), p.tolist(), strict=True)]
    assert np.array_equal(np.array(found).T, slow)


def test_a_pair_tells_its_neighbors_unless_a_double_is_within_its_error():
    ulp, error = 2.0**-52, 2.0**-60
    above_one = math.nextafter(1, 2)
    for low, expected in [
        (2 * error, 1.0),
        (math.nextafter(error, 1), 1.0),
        (-2 * error, math.nextafter(1, 0)),
        (ulp + 2 * error, above_one),
        (ulp - 2 * error, 1.0),
        (0.75 * ulp, 1.0),  # nearer to the double above
        (-1.25 * ulp, 1 - 1.5 * ulp),
    ]:
        assert rounded_down(1.0, low, error) == expected, low
    for low in (0.0, error, -error, 0.5 * error, ulp, ulp + error, -ulp, ulp / 2 - ulp):
        assert math.isnan(rounded_down(1.0, low, error)), low


def test_errors_of_pairs_are_small_enough_to_round_down(cells, method):
    for f, p in np.transpose(cells(100, method, seed=22)).tolist():
        where = region(f, p)
        if where != OTHER:
            high, low, error = risk_blocks.pair_of_region(where, f, p)
            assert abs(low) < 2.0**-16 * high
            assert error < 2.0**-56 * high


def test_a_pair_rounded_down_in_rational_numbers():
    rng = np.random.default_rng(20)
    high = 2.0 ** rng.uniform(-60, 60, 3000)
    low = np.spacing(high) * rng.uniform(-3, 3, 3000)
    low[::3] = np.spacing(high[::3]) * rng.choice([-2, -1, -0.5, 0, 0.5, 1, 2], 1000)
    error = high * 2.0 ** -rng.uniform(57, 120, 3000)
    low[::2] += error[::2] * rng.choice([-1.5, -1.0, -0.5, 0.5, 1.0, 1.5], 1500)
    undecided = 0
    for row in zip(high.tolist(), low.tolist(), error.tolist(), strict=True):
        middle, radius = Fraction(row[0]) + Fraction(row[1]), Fraction(row[2])
        below = rounded_down(*row)
        if math.isnan(below):  # then a double is within the error
            undecided += 1
            assert abs(Fraction(float(middle)) - middle) <= radius
        else:
            above = Fraction(math.nextafter(below, math.inf))
            assert Fraction(below) < middle - radius < middle + radius < above
    assert 500 < undecided < 2500


@pytest.mark.slow  # Numba takes some 10 s
def test_in_compiled_code():
    ufunc = riskcore.individual_risk_bounds

    @numba.njit
    def width(f, p):
        lower, upper = ufunc(f, p)
        return upper - lower

    assert width(3, 0.25) == np.spacing(riskcore.individual_risk(3, 0.25))


def test_monotone(cells):
    # r rises in p: the bounds of neighbors may touch but not change places.
    f, p = cells(2000, seed=17)
    p = np.minimum(p, 1 - 2.0**-53)
    lower, upper = riskcore.individual_risk_bounds(f, p)
    next_lower, next_upper = riskcore.individual_risk_bounds(f, np.nextafter(p, 1))
    assert (next_upper >= lower).all()
    assert (next_lower >= lower).all()
    assert (next_upper >= upper).all()


def test_the_risk_is_one_of_its_bounds(cells):
    f, p = cells(20_000, seed=18)
    assert np.array_equal(down_and_up(f, p), riskcore.individual_risk_bounds(f, p))
    lower, upper = riskcore.individual_risk_bounds(f, p)
    r = riskcore.individual_risk(f, p)
    inside = (lower <= r) & (r <= upper)
    assert inside.all(), (f[~inside][0].hex(), p[~inside][0].hex())
