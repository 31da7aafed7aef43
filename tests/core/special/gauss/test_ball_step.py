"""The nearest doubles by Arb: regions, borders, extremes, points that are hard."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx

import riskcore
from riskcore.core.risk import bounds, individual
from riskcore.core.special.gauss import (
    ball_step as nearest,
)
from riskcore.core.special.gauss import (
    fixed_point_step as decided,
)
from riskcore.core.special.gauss.ball_step import (
    frequencies_ball,
    nearest_slow,
    nearest_slow_of,
    sides_slow,
)

DATA = Path(__file__).parents[2] / "points"
SMALLEST, LARGEST = 5e-324, math.ldexp(1 - 2.0**-53, 1024)


def exact(f, a, b, bits):
    """Return a ball of Arb around r(f, a/b), to that many bits."""
    spread = sum(max(0, -math.frexp(x)[1]) for x in (f, a)) + max(0, math.frexp(b)[1])
    precision = bits + 60 + spread
    while True:
        ctx.prec = precision
        x, p = arb(f), arb(a) / arb(b)
        r = series(x, p) if f > 1e5 else (-(1 - p) / p).hypgeom_2f1(1, x, x + 1) / x
        if r.is_finite() and r.rel_accuracy_bits() > bits:
            return r
        precision *= 2


def series(f, p):
    """Return r = (p/f) sum n! q^n/(f+1)_n for large f; the rest is below the last."""
    q, total, term, n = 1 - p, arb(1), arb(1), 0
    while not term < arb(2) ** -ctx.prec:
        n += 1
        term *= n * q / (f + n)
        total += term
    return p / f * (total + arb(0, 1) * term)


def is_nearest(x, f, a, b, bits=160):
    """Return whether x is the double nearest r(f, a/b); more bits until decided."""
    if a == b:
        return x == 1 / f
    r = exact(f, a, b, bits)
    top, next_to_top = arb(2) ** 1024, arb(2) ** 1024 - arb(2) ** 970
    if math.isinf(x):
        return bool(r > next_to_top)
    above = math.nextafter(x, math.inf)
    high = (arb(x) + (top if math.isinf(above) else arb(above))) / 2
    low = (arb(x) + arb(math.nextafter(x, 0))) / 2 if x > 0 else arb(-1)
    if low < r < high:
        return True
    if r < low or r > high:
        return False
    return bits < 20_000 and is_nearest(x, f, a, b, 4 * bits)


def wrong(f, p):
    """Return the points at which `individual_risk` is not the nearest double."""
    r = riskcore.individual_risk(f, p)
    cells = zip(r.tolist(), f.tolist(), p.tolist(), strict=True)
    return [(y.hex(), z.hex()) for x, y, z in cells if not is_nearest(x, y, z, 1.0)]


def wrong_of(f, F):
    """The same for `individual_risk_from_frequencies`."""
    r = riskcore.individual_risk_from_frequencies(f, F)
    cells = zip(r.tolist(), f.tolist(), F.tolist(), strict=True)
    return [(y.hex(), z.hex()) for x, y, z in cells if not is_nearest(x, y, y, z)]


def test_every_region(cells, method):
    f, p = cells(300, method, seed=21)
    assert wrong(np.asarray(f, float), p) == []


def test_borders(borders):
    f, p = borders
    chosen = np.random.default_rng(22).random(len(f)) < 0.3
    assert wrong(f[chosen], p[chosen]) == []


def test_every_region_from_frequencies(cells, method):
    f, p = (np.asarray(x, float) for x in cells(200, method, seed=23))
    with np.errstate(over="ignore"):
        F = f / p
    F = np.maximum(F * (1 + np.random.default_rng(24).random(len(f)) / 1000), f)
    chosen = np.isfinite(F)
    assert wrong_of(f[chosen], F[chosen]) == []


def test_frequencies_next_to_each_other():
    rng = np.random.default_rng(25)
    f = np.where(
        rng.random(300) < 0.5, rng.integers(1, 40, 300), rng.uniform(0, 9, 300)
    )
    assert wrong_of(f, f * (1 + 2.0 ** -rng.uniform(0, 53, 300))) == []


def test_extreme_doubles():
    rng = np.random.default_rng(26)
    top = np.array([LARGEST]).view(np.int64)[0]
    f = rng.integers(1, top, 300).view(np.float64)
    p = rng.integers(1, np.array([1.0]).view(np.int64)[0], 300).view(np.float64)
    assert wrong(f, p) == []
    with np.errstate(over="ignore"):
        F = np.minimum(np.maximum(f / p, f), LARGEST)
    assert wrong_of(f, F) == []


def test_subnormal_results():
    # p/(f-1) is next to the middle of two doubles, or is it.
    rng = np.random.default_rng(27)
    f, p = rng.integers(2, 20, 300) * 1.0, rng.integers(1, 60, 300) * SMALLEST
    assert wrong(f, p) == []
    f = 2.0 ** rng.integers(1000, 1023, 100)
    assert wrong(f, rng.integers(1, 200, 100) * 2.0**-70) == []


def test_results_beyond_the_largest_double():
    f = np.array([SMALLEST, 2.0**-1024, 2.0**-1023, 1.1 * 2.0**-1024, 2.0**-1022])
    for p in (0.5, 1e-300, 1 - 2.0**-53):
        assert wrong(f, np.full(5, p)) == []
    assert np.array_equal(
        riskcore.individual_risk(f, 1.0), [math.inf, math.inf, *1 / f[2:]]
    )


def points(name):
    with (DATA / name).open() as file:
        rows = list(csv.DictReader(line for line in file if line[0] != "#"))
    return [np.array([float.fromhex(row[key]) for row in rows]) for key in "fp"]


@pytest.mark.parametrize("name", ["hardest_points.csv", "near_doubles.csv"])
def test_hard_points(name):
    f, p = points(name)
    assert wrong(f, p) == []
    F = f / p
    assert wrong_of(f, np.maximum(F, f)) == []


def test_frequencies_of_few_bits():
    # f/F is a double, or next to one that makes r next to a double.
    rng = np.random.default_rng(28)
    f, e = rng.integers(1, 9, 300) * 1.0, rng.integers(3, 1020, 300)
    F = rng.integers(4, 9, 300) * 2.0**e
    assert wrong_of(f, F) == []


def test_the_smallest_fractions():
    # p = f/F is too small for a double.
    f = np.array([1.0, 2.0, 0.5, 1e-200, 3.0, 1.5, 1e-300, 1 + 2.0**-52, 0.75])
    assert wrong_of(f, np.full(9, 1.7e308)) == []
    assert wrong_of(f[f < 1], np.full((f < 1).sum(), LARGEST)) == []


def test_balls_of_frequencies(cells):
    f, p = (np.asarray(x, float) for x in cells(120, seed=29))
    for x, y in zip(f.tolist(), p.tolist(), strict=True):
        F = x / y
        if not (x < F < math.inf):
            continue
        (high, low, radius), n = frequencies_ball(x, F)
        r = exact(x, x, F, 200) * arb(2) ** (600 * n)
        assert abs(arb(high) + arb(low) - r) <= arb(radius), (x.hex(), F.hex())
        assert radius < 2.0**-75 * high


def test_condition(cells):
    # C = (p/r) dr/dp, by differences of Arb's r, lies within the error that is stated.
    f, p = (np.asarray(x, float) for x in cells(60, seed=30))
    for x, y in zip(f.tolist(), p.tolist(), strict=True):
        if not (1e-8 < y < 1 - 1e-8 and 1e-8 < x < 1e5):
            continue
        r = exact(x, y, 1.0, 300)
        D = float((arb(y) / r).mid())
        C, error = nearest.condition(x, y, D)
        true = (x - arb(y) / r) / (1 - arb(y))
        assert abs(true - arb(C)) <= arb(error), (x.hex(), y.hex())


def test_interpreted_kernels_agree(cells):
    f, p = (np.asarray(x, float).tolist() for x in cells(25, seed=31))
    F = [x / y if x / y < math.inf else x for x, y in zip(f, p, strict=True)]
    r = riskcore.individual_risk(f, p)
    assert [nearest_slow(x, y) for x, y in zip(f, p, strict=True)] == r.tolist()
    of = riskcore.individual_risk_from_frequencies(f, F).tolist()
    assert [nearest_slow_of(x, y) for x, y in zip(f, F, strict=True)] == of
    lower, upper = riskcore.individual_risk_bounds(f, p)
    sides = [sides_slow(x, y) for x, y in zip(f, p, strict=True)]
    assert sides == [*zip(lower, upper, strict=True)]


FEW = 4  # words, 84 bits after the point: less than the balls have
NEAR_MIDDLES = [(66.0, 2.0**-54), (6.0, 2.0**-54), (1.0, 1 - 2.0**-53)]
NEAR_DOUBLE = (4.0, 2.0**-53)


@pytest.fixture
def _few_words(monkeypatch):
    """Let the last step have few bits, in kernels that are interpreted."""
    monkeypatch.setattr(decided, "_FEW_WORDS", FEW)
    monkeypatch.setattr(decided, "WORDS", FEW)


@pytest.mark.usefixtures("_few_words")
@pytest.mark.parametrize(("f", "p"), NEAR_MIDDLES)
def test_nan_where_the_last_step_does_not_decide(f, p):
    F = f / p  # p = f/F, where f is a power of two or p one
    far, out = (3.0, 0.1), [0.0, 0.0]
    assert math.isnan(nearest_slow(f, p))
    assert math.isnan(individual.nearest_of_cell(f, p, 0.0))
    individual.nearest_of_block([f, far[0]], [p, far[1]], [0.0, 0.0], out, 2)
    assert math.isnan(out[0])
    assert out[1] == riskcore.individual_risk(*far)
    if f / F == p and f > 1:
        assert math.isnan(nearest_slow_of(f, F))
        assert math.isnan(individual.from_frequencies_of_cell(f, F))
        individual.from_frequencies_of_block([f, 3.0], [F, 30.0], [0.0] * 2, out, 2)
        assert math.isnan(out[0])
        assert out[1] == riskcore.individual_risk_from_frequencies(3.0, 30.0)


@pytest.mark.usefixtures("_few_words")
def test_bounds_two_ulp_apart_where_the_last_step_does_not_decide():
    lower, upper = [0.0, 0.0], [0.0, 0.0]
    bounds.bounds_block([4.0, 3.0], [NEAR_DOUBLE[1], 0.1], lower, upper, 2)
    for found in (
        sides_slow(*NEAR_DOUBLE),
        bounds.risk_bounds(*NEAR_DOUBLE),
        (lower[0], upper[0]),
    ):
        middle = math.nextafter(found[0], 1)
        assert math.nextafter(middle, 1) == found[1]
        assert found[0] < exact(4.0, NEAR_DOUBLE[1], 1.0, 200) < found[1]
    assert (lower[1], upper[1]) == riskcore.individual_risk_bounds(3.0, 0.1)


@pytest.mark.usefixtures("_few_words")
@pytest.mark.parametrize("name", ["individual_risk_down", "individual_risk_up"])
def test_nan_where_the_last_step_does_not_decide_a_direction(name):
    far, out = (3.0, 0.1), np.zeros(2)
    source = bounds.UFUNCS[name]
    assert math.isnan(source.scalar(*NEAR_DOUBLE))
    f, p = zip(NEAR_DOUBLE, far, strict=True)
    source.loop([[*f], [*p], out], [2], [8] * 3, None)
    assert math.isnan(out[0])
    assert out[1] == source.scalar(*far) == getattr(riskcore, name)(*far)


UNDECIDED = f"""
from riskcore.core.special.gauss import fixed_point_step as decided
decided._FEW_WORDS = decided.WORDS = {FEW}
import numpy as np
import riskcore
f, p = np.array({NEAR_MIDDLES}).T
whole = f > 1
print(np.isnan([riskcore.individual_risk(x, y) for x, y in zip(f, p)]).all(),
      np.isnan(riskcore.individual_risk(np.tile(f, 3), np.tile(p, 3))).all(),
      np.isnan(riskcore.individual_risk_from_frequencies(f, f / p)[whole]).all(),
      np.isnan(riskcore.individual_risk_down([{NEAR_DOUBLE[0]}], {NEAR_DOUBLE[1]!r})),
      np.isnan(riskcore.individual_risk_up([{NEAR_DOUBLE[0]}], {NEAR_DOUBLE[1]!r})),
      riskcore.individual_risk_bounds({NEAR_DOUBLE[0]}, {NEAR_DOUBLE[1]!r}))
"""


@pytest.mark.compiles
def test_nan_where_the_compiled_last_step_does_not_decide(python, tmp_path):
    found = python(UNDECIDED, cache=tmp_path / "cache")
    assert found.startswith("True True True [ True] [ True]"), found


def test_outside_the_domain():
    outside = [(0.0, 0.5), (-1.0, 0.5), (math.nan, 0.5), (math.inf, 0.5)]
    outside += [(2.0, 0.0), (2.0, 1.5), (2.0, math.nan)]
    for f, p in outside:
        assert math.isnan(nearest_slow(f, p))
        assert all(math.isnan(x) for x in sides_slow(f, p))
    for f, F in [(0.0, 1.0), (2.0, 1.0), (1.0, math.inf), (math.nan, 1.0), (-1.0, 1.0)]:
        assert math.isnan(nearest_slow_of(f, F))
