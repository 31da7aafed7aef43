"""The pairs of the fast paths against Arb, and the doubles that come of them."""

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx

import riskcore
from riskcore.core.risk.bounds import risk_enclosure
from riskcore.core.special.elementary import log_pair
from riskcore.core.special.gauss import (
    fast_integer as risk_pairs,
)
from riskcore.core.special.gauss import (
    risk_blocks,
)
from riskcore.core.special.gauss import (
    rounding_test as rounding,
)
from riskcore.core.special.gauss.fast_integer import (
    BACKWARD_REAL,
    FORWARD_15,
    FORWARD_REAL,
    FROM_16,
    FROM_32,
    LEVELS,
    LEVELS_REAL,
    NEAR_ONE,
    ONE,
    OTHER,
    SMALL,
    region,
)
from tests.core.special.gauss.test_ball_step import exact, wrong

# f and p of each region; p gathers at both ends.
RANGES = {
    ONE: (1.0, 1.0, 1e-100, 0.75), SMALL: (2.0, 4.0, 1e-30, 0.75),
    FORWARD_15: (5.0, 15.0, 1e-30, 0.5), NEAR_ONE: (1.0, 3.0, 0.75, 1.0),
    LEVELS: (4.0, 15.0, 0.5, 1.0), FROM_16: (16.0, 32.0, 1e-20, 1.0),
    FROM_32: (32.0, 1e15, 1e-20, 1.0), LEVELS_REAL: (2.0, 16.0, 0.3, 1.0),
}  # fmt: skip
WHOLE = {ONE, SMALL, FORWARD_15, NEAR_ONE, LEVELS}
MARGIN = 4  # a bound is at least so many times what was ever found


def cells(which, n, seed=1):
    """Return random cells of a region."""
    rng = np.random.default_rng(seed)
    f_from, f_to, p_from, p_to = RANGES[which]
    f = np.exp(rng.uniform(math.log(f_from), math.log(f_to), n))
    if which in WHOLE:
        f = rng.integers(int(f_from), int(f_to) + 1, n).astype(float)
    elif which in {FROM_16, FROM_32}:
        f = np.where(rng.random(n) < 0.5, np.floor(f), f)
    logarithmic = np.exp(rng.uniform(math.log(p_from), math.log(p_to), n))
    at_the_top = p_to - (p_to - p_from) * np.exp(rng.uniform(-30, 0, n))
    even = rng.uniform(p_from, p_to, n)
    p = np.choose(rng.integers(0, 3, n), [logarithmic, at_the_top, even])
    inside = np.array(
        [region(*cell) == which for cell in zip(f.tolist(), p.tolist(), strict=True)]
    )
    return f[inside], p[inside]


def share_of_bound(which, f, p):
    """Return |r - (high + low)|/error of one cell."""
    high, low, error = risk_blocks.pair_of_region(which, f, p)
    r = exact(f, p, 1.0, 160)
    return float(abs(r - arb(high) - arb(low)) / arb(error))


@cache
def shares(which, n):
    f, p = cells(which, n, seed=2)
    found = [
        share_of_bound(which, *cell)
        for cell in zip(f.tolist(), p.tolist(), strict=True)
    ]
    return f, p, np.array(found)


@pytest.mark.parametrize("which", RANGES)
def test_errors_are_a_quarter_of_their_bounds(which):
    f, p, found = shares(which, 400)
    assert len(found) > 100
    worst = found.argmax()
    assert found.max() <= 1 / MARGIN, (f[worst].hex(), p[worst].hex(), found.max())


@pytest.mark.parametrize("which", RANGES)
def test_bounds_are_small(which):
    # Below 2^-60 of r, so that few cells fail the test of rounding.
    f, p = cells(which, 200)
    for x, y in zip(f.tolist(), p.tolist(), strict=True):
        high, _, error = risk_blocks.pair_of_region(which, x, y)
        assert 0 < error < 2.0**-57 * high


@pytest.mark.parametrize("which", RANGES)
def test_doubles_are_the_nearest(which):
    assert wrong(*cells(which, 1500, seed=3)) == []


def fast(f, p):
    """Return the fast path's double for one cell, nan where its test fails."""
    which = region(f, p)
    if which == OTHER:
        return math.nan
    return rounding.rounded(*risk_blocks.pair_of_region(which, f, p))


def by_enclosures(f, p):
    """Return the doubles nearest r where a ball tells them, else nan."""
    high, low, radius, n = risk_enclosure(f, p)
    up = 0.5 * (np.nextafter(high, np.inf) - high)
    down = 0.5 * (high - np.nextafter(high, 0))
    sure = (low + radius < up) & (radius - low < down) & (n == 0)
    return np.where(sure, high, math.nan)


# By default some 1e5 cells; the slow half has 1e6 of each region.
@pytest.mark.parametrize(
    ("which", "n"),
    [
        pytest.param(*case, marks=[pytest.mark.slow] * (case[1] > 20_000))
        for case in product(RANGES, [20_000, 2_000_000])
    ],
)
def test_many_doubles_are_the_nearest(which, n):
    # The vectors of a thousand cells are one region's, those of all are mixed.
    f, p = cells(which, n, seed=n)
    expected = by_enclosures(f, p)
    sure = ~np.isnan(expected)
    assert sure.mean() > 0.99
    assert (riskcore.individual_risk(f, p) == expected)[sure].all()
    assert wrong(f[~sure], p[~sure]) == []


@pytest.mark.parametrize("which", RANGES)
def test_few_cells_fail_the_test_of_rounding(which):
    f, p = cells(which, 3000, seed=4)
    failed = [
        math.isnan(fast(*cell)) for cell in zip(f.tolist(), p.tolist(), strict=True)
    ]
    # Near p = 1 and f = 1 risks crowd at middles: r = 1 - q/2 - q^2/6 ...
    assert np.mean(failed) < (0.05 if which == NEAR_ONE else 0.02)


def test_a_wrong_pair_fails_the_test_of_rounding():
    # Just above and below a middle, and within the error of it.
    half = 2.0**-53
    assert rounding.rounded(1.0, half * (1 - 2.0**-20), 2.0**-76) == 1.0
    assert rounding.rounded(1.0, half * (1 + 2.0**-20), 2.0**-76) == 1.0 + 2 * half
    assert math.isnan(rounding.rounded(1.0, half * (1 + 2.0**-20), 2.0**-72))
    assert math.isnan(rounding.rounded(1.0, half, 2.0**-90))
    assert rounding.rounded(0.25, 0.0, 2.0**-70) == 0.25


BORDERS_F = [1.0, 2.0, 3.0, 4.0, 5.0, 15.0, 16.0, 32.0, 2.0**50]
BORDERS_P = [
    risk_pairs.RARE, risk_pairs.P_FORWARD, risk_pairs.P_HALF, risk_pairs.P_NEAR_ONE,
    1.0, 11 / 16, 7 / 8, 5 / 8,
]  # fmt: skip


def around(x):
    return [math.nextafter(x, 0), x, math.nextafter(x, math.inf)]


def test_neighbors_of_borders():
    f, p = np.array(
        [
            (x, y)
            for a, b in product(BORDERS_F, BORDERS_P)
            for x, y in product(around(a), around(b))
            if y <= 1
        ]
    ).T
    assert wrong(f, p) == []


# p = 2^-53 and so on, where risks are nearly doubles; r(1, 1 - 2^-53) is nearly a
# middle; few bits, powers of two and their neighbors.
HARD = [
    (1.0, 1 - 2.0**-53), (1.0, 1 - 3 * 2.0**-53), (4.0, 2.0**-53),
    (8.0, 1.5 * 2.0**-52), (10.0, 2.0**-51), (11.0, 1.5 * 2.0**-52), (18.0, 2.0**-52),
    (2.0**49, 0.5), (2.0**52 + 1, 0.5), (2.0**50, 0.5), (2.0**50 + 1, 0.5),
    (2.0**51 + 4, 0.25), (1e300, 0.3), (1e300, 1e-300), (3.0, 5e-324), (1.0, 5e-324),
    (1.0, 2.0**-900), (2.0, 2.0**-901), (7.0, 1.0), (3.0, 1.0), (2.0**40, 1.0),
    (2.0, 1 - 2.0**-53), (3.0, 1 - 2.0**-53), (4.0, 1 - 2.0**-53),
    (2.0, 2.0**-53), (2.0, 2.0**-106), (3.0, 2.0**-60), (5.0, 2.0**-60),
]  # fmt: skip


def test_hard_cases():
    assert wrong(*np.array(HARD).T) == []


def test_regions_meet_where_the_note_says():
    # notes/correct_rounding.md has the table.
    below_p, below_f = around(risk_pairs.P_NEAR_ONE)[0], around(16.0)[0]
    assert region(1.0, below_p) == ONE
    assert region(1.0, 0.75) == region(2.0, 0.75) == region(3.0, 0.75) == NEAR_ONE
    assert region(2.0, below_p) == region(4.0, below_p) == SMALL
    assert region(4.0, 0.75) == LEVELS
    assert region(5.0, around(0.5)[0]) == region(15.0, around(0.5)[0]) == FORWARD_15
    assert region(5.0, 0.5) == region(15.0, 0.5) == LEVELS
    assert region(9.5, around(0.3)[0]) == region(below_f, 0.1) == FORWARD_REAL
    assert region(9.5, 0.3) == region(below_f, 0.9) == LEVELS_REAL
    assert region(around(4.0)[0], 0.3) == region(2.5, around(0.5)[0]) == BACKWARD_REAL
    assert region(around(4.0)[2], 0.3) == region(2.5, 0.5) == LEVELS_REAL
    assert region(around(2.0)[0], 0.5) == region(1.5, 1.0) == BACKWARD_REAL
    assert region(0.5, 0.5) == region(risk_pairs.RARE, 0.5) == BACKWARD_REAL
    assert region(16.0, 1e-9) == region(around(32.0)[0], 1.0) == FROM_16
    assert region(32.0, 1e-9) == region(risk_pairs.F_HUGE, 1.0) == FROM_32
    assert region(1.0, risk_pairs.RARE) == ONE
    assert region(1.5, risk_pairs.RARE) == FORWARD_REAL
    for cell in [
        (around(risk_pairs.F_HUGE)[2], 0.5),
        (1.0, around(risk_pairs.RARE)[0]),
        (around(risk_pairs.RARE)[0], 0.5),
    ]:
        assert region(*cell) == OTHER


def test_ends_of_the_domain():
    cells = [(0.0, 0.5), (-1.0, 0.5), (2.0, 0.0), (2.0, -0.5), (2.0, 1.5)]
    cells += [(math.nan, 0.5), (2.0, math.nan), (math.inf, 0.5), (2.0, math.inf)]
    f, p = np.array(cells).T
    assert np.isnan(riskcore.individual_risk(f, p)).all()
    assert all(region(*cell) == OTHER for cell in cells)


def test_predicates_agree_with_the_region():
    rng = np.random.default_rng(5)
    f = np.concatenate([rng.integers(0, 40, 2000), rng.uniform(0, 40, 500)])
    p = rng.uniform(0, 1.1, 2500)
    for x, y in zip(f.tolist(), p.tolist(), strict=True):
        where = region(x, y)
        assert risk_pairs.is_one(x, y) == (where == ONE)
        assert risk_pairs.is_small(x, y) == (where in {ONE, SMALL})
        assert risk_pairs.is_near_one(x, y) == (where == NEAR_ONE)
        assert risk_pairs.is_from_32(x, y) == (where == FROM_32)


def test_logarithm_as_a_pair():
    rng = np.random.default_rng(6)
    p = np.concatenate(
        [rng.uniform(0.3, 0.75, 500), 2.0 ** -rng.uniform(0.5, 900, 500)]
    )
    ctx.prec = 200
    worst = 0.0
    for x in p.tolist():
        high, low = log_pair(x)
        error = abs(arb(x).log() - arb(high) - arb(low)) / abs(arb(high))
        worst = max(worst, float(error))
        assert abs(low) < 2.0**-17 * abs(high)
    assert worst < 2.0**-68
    assert log_pair(1.0) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("which", "e"), [(FROM_16, risk_pairs.e_16), (FROM_32, risk_pairs.e_32)]
)
def test_e_counts_little_in_the_gradient(which, e):
    # dr/dp = C/D, C = 1 - E, D = f - q C: E is off by less than u/4, C near 1.
    f, p = cells(which, 300, seed=7)
    few = (f < 1e4) & (p < 1.0)
    assert few.sum() > 40
    for x, y in zip(f[few].tolist(), p[few].tolist(), strict=True):
        r, q = exact(x, y, 1.0, 400), 1 - arb(y)
        D = arb(y) / r
        assert abs((arb(x) - D) / q - (1 - arb(e(x, y)))) < 2.0**-55
