"""Inputs whose risk lies next to a midpoint of two doubles, or next to a double."""

import csv
import math
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx

import riskcore

ROOT = Path(__file__).parents[4]
sys.path.append(str(ROOT))
hard_cases = import_module("bench.hard_cases")
correct_rounding = import_module("bench.correct_rounding")
directed_rounding = import_module("bench.directed_rounding")


def read():
    with hard_cases.DATA.open() as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [
            (
                row["near"],
                row["family"],
                float(row["log2_ulp"]),
                int(row["bits"]),
                *(float.fromhex(row[name]) for name in ("f", "p", "nearest")),
            )
            for row in rows
        ]


ROWS = read()
# Powers of Arb's precision that take seconds.
QUICK = [row for row in ROWS if row[3] < 400]


@pytest.fixture(autouse=True)
def precision():
    before = ctx.prec
    yield
    ctx.prec = before


def test_there_are_hard_cases_of_every_f_and_family():
    families = {row[1] for row in ROWS}
    assert len(families) == 8
    for near in ("midpoint", "double"):
        found = {row[4] for row in ROWS if row[:2] == (near, "f to 64")}
        assert found == set(range(1, 65))
    # Both kinds come as near as chance allows for what was tried, at least.
    for near in ("midpoint", "double"):
        found = [row[2] for row in ROWS if row[:2] == (near, "f to 64")]
        assert min(found) < -36


@pytest.mark.parametrize("row", QUICK, ids=lambda row: f"{row[4].hex()} {row[5].hex()}")
def test_the_nearest_double_by_arb(row):
    near, _, distance, bits, f, p, nearest = row
    assert hard_cases.judged(f, p) == (
        near,
        pytest.approx(distance, abs=0.0051),
        nearest,
    )
    assert bits == hard_cases.bits_of(distance)
    assert correct_rounding.nearest_by_arb(f, p) == nearest


def test_bounds_and_risk_at_hard_cases():
    columns = [np.array(column) for column in list(zip(*ROWS, strict=True))[4:]]
    f, p, nearest = columns
    lower, upper = riskcore.individual_risk_bounds(f, p)
    assert np.all((lower <= nearest) & (nearest <= upper))
    assert np.all(riskcore.individual_risk(f, p) == nearest)
    down, up = riskcore.individual_risk_down(f, p), riskcore.individual_risk_up(f, p)
    assert np.array_equal([down, up], [lower, upper])


@pytest.mark.parametrize("row", QUICK, ids=lambda row: f"{row[4].hex()} {row[5].hex()}")
def test_rounded_down_and_up_by_arb(row):
    f, p = row[4:6]
    found = riskcore.individual_risk_down(f, p), riskcore.individual_risk_up(f, p)
    assert found == directed_rounding.neighbors_by_arb(f, p)


def test_next_to_a_middle_that_only_many_bits_tell():
    # r is 2^-155 of itself below the middle of these two doubles (Arb).
    r = riskcore.individual_risk(2.0**52, 0.5 + 2.0**-53)
    assert r == float.fromhex("0x1.0000000000001p-53")


# --- the search --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "p"), [(1, 0.3), (1, 2.0**-20 * 1.7), (3, 0.4), (12, 0.13), (40, 0.9)]
)
@pytest.mark.parametrize("near", ["midpoint", "double", "either"])
def test_the_search_finds_what_trying_finds(f, p, near, monkeypatch):
    """All points within 2^-8 ulp of a short stretch, by Arb and by the search."""
    monkeypatch.setattr(hard_cases, "STRETCH", 2**10)
    monkeypatch.setattr(hard_cases, "WINDOW", 2.0**-8)
    found, distance, tried = hard_cases.search(f, p, near, 2.0**-8)
    assert tried == 2**10
    step, expected = math.ulp(p), {}
    with ctx.workprec(200):
        for i in range(-(2**9), 2**9):
            x = p + i * step
            r = hard_cases.exact_risk(float(f), x, 150)
            ulp = math.ulp(float(r.mid())) * (0.5 if near == "either" else 1.0)
            place = r / arb(ulp) + (0.5 if near == "midpoint" else 0)
            away = float((place - place.mid().floor()).mid())
            away = away - 1 if away > 0.5 else away
            if abs(away) < 2.0**-8:
                expected[x] = away
    assert set(found.tolist()) == set(expected)
    for x, away in zip(found.tolist(), distance.tolist(), strict=True):
        assert away == pytest.approx(expected[x], abs=1e-9)


def test_inputs_next_to_midpoints_are_made():
    points = hard_cases.make(500, None, 3)
    assert points.shape == (500, 2)
    for f, p in points[::25].tolist():
        near, distance, _ = hard_cases.judged(f, p)
        assert near == "midpoint"
        assert distance < -19.9


def test_euclid_finds_the_first_hit():
    rng = np.random.default_rng(1)
    stacks = [np.empty(64, np.int64) for _ in range(3)]
    for _ in range(300):
        m = int(rng.integers(2, 2000))
        a, low = int(rng.integers(0, m)), int(rng.integers(0, m))
        high = min(low + int(rng.integers(0, 20)), m - 1)
        hits = [x for x in range(400) if low <= a * x % m <= high]
        found = hard_cases.first_hit(a, m, low, high, 399, *stacks)
        assert found == (hits[0] if hits else -1)


# --- the count ---------------------------------------------------------------------


def test_enclosures_tell_subnormal_results():
    rng = np.random.default_rng(3)
    f = np.concatenate([rng.integers(1, 50, 300), rng.uniform(0.01, 50, 300)])
    p = 2.0 ** rng.uniform(-1074, -1015, 600)
    nearest, told = correct_rounding.nearest_by_enclosures(f, p)
    assert (nearest < 2.0**-1022).sum() > 300
    assert told.mean() > 0.95
    for at in zip(f[told].tolist(), p[told].tolist(), nearest[told], strict=True):
        assert correct_rounding.nearest_by_arb(*at[:2]) == at[2]
    # Just below p/(f-1): 1.5 units, a midpoint, and one unit.
    nearest, told = correct_rounding.nearest_by_enclosures(
        np.array([3.0, 2.0]), np.array([3 * 2.0**-1074, 2.0**-1074])
    )
    assert not told[0]
    assert (nearest[1], told[1]) == (2.0**-1074, True)


def test_wrong_results_are_counted(monkeypatch):
    rng = np.random.default_rng(2)
    f, p = rng.integers(16, 2000, 400).astype(float), rng.uniform(0.01, 1.0, 400)
    right = np.array(
        [correct_rounding.nearest_by_arb(*at) for at in zip(f, p, strict=True)]
    )
    nearest, told = correct_rounding.nearest_by_enclosures(f, p)
    assert told.all()
    assert np.array_equal(nearest, right)
    changed = right.copy()
    changed[:7] = np.nextafter(changed[:7], 0)
    monkeypatch.setattr(riskcore, "individual_risk", lambda f, p: changed)
    for arb_alone in (False, True):
        counted = correct_rounding.judge(f, p, arb_alone)
        assert counted.wrong + counted.wrong_by_arb == 7
        assert counted.points + counted.by_arb == 400
        assert counted.undecided == 0


def test_neighbors_by_enclosures_and_by_arb_agree():
    rng = np.random.default_rng(4)
    f = np.concatenate([rng.integers(1, 50, 200), 10.0 ** rng.uniform(-320, 308, 200)])
    f = np.maximum(f, 5e-324)
    p = 2.0 ** rng.uniform(-1074, 0, 400)
    down, up, told = directed_rounding.neighbors_by_enclosures(f, p)
    assert told.mean() > 0.95
    for at in np.array([f, p, down, up]).T[told].tolist():
        assert directed_rounding.neighbors_by_arb(*at[:2]) == tuple(at[2:])
    assert directed_rounding.neighbors_by_arb(4.0, 1.0) == (0.25, 0.25)
    assert directed_rounding.neighbors_by_arb(3.0, 1.0) == (
        1 / 3,
        np.nextafter(1 / 3, 1),
    )


@pytest.mark.parametrize("name", ["individual_risk_down", "individual_risk_up"])
def test_results_rounded_to_the_wrong_side_are_counted(monkeypatch, name):
    rng = np.random.default_rng(5)
    f, p = rng.integers(16, 2000, 400).astype(float), rng.uniform(0.01, 1.0, 400)
    p[:10], f[:10] = 1.0, 32.0
    changed = getattr(riskcore, name)(f, p)
    changed[20:27] = np.nextafter(changed[20:27], 0.5)
    changed[30] = np.nan
    monkeypatch.setattr(riskcore, name, lambda f, p: changed)
    for arb_alone in (False, True):
        counted = directed_rounding.judge(f, p, arb_alone)
        assert counted.wrong + counted.wrong_by_arb == 8
        assert counted.points + counted.by_arb == 400
        assert counted.exact == (0 if arb_alone else 10)
