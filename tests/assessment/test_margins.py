"""Who fits the keys that a record keeps: by a count through all pairs of records."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from riskcore import tabulate
from riskcore.assessment.margins import Margins
from tests.fits import fits_of

KEYS = ["a", "b", "c"]
KEPT = [set(some) for size in range(4) for some in combinations(range(3), size)]
RULES = ["wildcard", "argus", "category"]


def file(seed, n=30, missing=0.2):
    """Return a small file with weights, in which some keys are missing."""
    rng = np.random.default_rng(seed)
    data = {
        key: [
            None if gone else str(value)
            for value, gone in zip(
                rng.integers(0, 2 + i, n), rng.random(n) < missing, strict=True
            )
        ]
        for i, key in enumerate(KEYS)
    }
    return {**data, "w": rng.uniform(1, 9, n).round(2)}


def margins_of(data, missing="wildcard", **options):
    cells = tabulate(data, KEYS, "w", missing=missing)
    return cells, Margins(cells, lambda f, F: 1 / f, **options)


def mask_of(kept):
    return sum(1 << i for i in kept)


def without(kept, n):
    """Return the masks of a file of which all records keep some keys only."""
    return {key: np.full(n, i not in kept) for i, key in enumerate(KEYS)}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("missing", RULES)
def test_fits_are_those_of_all_pairs(seed, missing):
    data = file(seed)
    cells, margins = margins_of(data, missing)
    for kept in KEPT:
        expected = fits_of(data, KEYS, without(kept, 30), data["w"], missing)
        found = margins.fits(mask_of(kept), cells.inverse)
        assert np.array_equal(found.whole, expected[0])
        assert found.f == pytest.approx(expected[1], rel=1e-13)
        assert pytest.approx(expected[2], rel=1e-13) == found.F


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("missing", RULES)
def test_whoever_fits_still_fits_when_a_key_is_blanked(seed, missing):
    cells, margins = margins_of(file(seed, missing=0.4), missing)
    every = np.arange(len(cells))
    fits = {frozenset(kept): margins.fits(mask_of(kept), every) for kept in KEPT}
    for more, fewer in ((x, y) for x in fits for y in fits if y < x):
        for before, after in zip(fits[more], fits[fewer], strict=True):
            assert np.all(after >= before * (1 - 1e-13))


def test_the_chances_of_a_record_are_by_all_its_keys():
    # Four records without a, whose b only the first record has: they are like it.
    data = {
        "a": ["x", *[None] * 4, *"yyyy"],
        "b": ["p", *"pppp", *"qqqq"],
        "c": ["r"] * 9,
        "w": [1.0] + [2.0] * 4 + [3.0] * 4,
    }
    cells, margins = margins_of(data)
    for kept in ({0, 1, 2}, {0, 2}, {0}):
        found = margins.fits(mask_of(kept), cells.inverse[:1])
        assert [*map(float, np.ravel(found))] == [1, 5, 9]
    found = margins.fits(mask_of({1}), cells.inverse[:1])
    assert [*map(float, np.ravel(found))] == [5, 5, 9]


def test_a_record_without_a_key_counts_by_its_share_and_not_for_k():
    # The one without a is x in two of three cases, by the records that share its b.
    data = {"a": ["x", "x", "y", None], "b": ["p"] * 4, "c": ["r"] * 4, "w": [6.0] * 4}
    cells, margins = margins_of(data, k=3)
    found = margins.fits(margins.all_keys, cells.inverse)
    assert found.whole.tolist() == [2, 2, 1, 4]
    assert found.f == pytest.approx([8 / 3, 8 / 3, 4 / 3, 4])
    assert pytest.approx([16, 16, 8, 24]) == found.F
    risk = margins.risk(margins.all_keys, cells.inverse)
    assert risk.tolist() == [np.inf, np.inf, np.inf, 1 / 4]
    # Nobody has all keys and its b: it has no chance anywhere.
    data["b"] = ["p", "p", "p", "q"]
    cells, margins = margins_of(data)
    assert margins.fits(margins.all_keys, cells.inverse).f.tolist() == [2, 2, 1, 1]


@pytest.mark.parametrize("missing", RULES)
def test_groups_on_an_engine_are_counted_as_records(missing):
    data = file(3, n=60)
    here, margins = margins_of(data, missing)
    lazy, grouped = margins_of(pl.LazyFrame(data), missing)
    every = np.arange(len(here))
    assert len(lazy) == len(here)
    for kept in KEPT:
        one, other = (x.fits(mask_of(kept), every) for x in (margins, grouped))
        assert np.array_equal(one.whole, other.whole)
        assert one.f == pytest.approx(other.f, rel=1e-13)
        assert pytest.approx(other.F, rel=1e-13) == one.F
