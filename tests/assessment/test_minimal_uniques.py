"""Minimal sample uniques against all sets of keys."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.assessment.minimal_uniques import minimal_uniques
from riskcore.data.count import count


def brute_force(rows, max_size):
    """Try all sets of keys for every record, by the definition."""
    width = len(rows[0])
    found = {}
    for r, row in enumerate(rows):
        minimal = []
        for size in range(1, max_size + 1):
            for keys in combinations(range(width), size):
                same = sum(all(row[k] == other[k] for k in keys) for other in rows)
                if same == 1 and not any(set(m) <= set(keys) for m in minimal):
                    minimal.append(keys)
        found[r] = {sum(1 << k for k in keys) for keys in minimal}
    return found


def of_rows(rows, max_size):
    """Search cells of the rows; return the sets of each row."""
    columns = np.array(rows).T
    levels = [int(column.max()) + 1 for column in columns]
    kinds = [np.uint8, np.uint16, np.uint32]
    codes = [c.astype(kinds[k % 3]) for k, c in enumerate(columns)]
    cells = count(codes, levels)
    found = minimal_uniques(list(cells.codes), levels, cells.frequency, max_size)
    sets = {}
    for cell, keys in zip(found.cell.tolist(), found.keys.tolist(), strict=True):
        sets.setdefault(cell, []).append(keys)
    assert all(value == sorted(set(value)) for value in sets.values())
    assert (np.diff(found.cell) >= 0).all()
    sizes = [keys.bit_count() for keys in found.keys.tolist()]
    assert found.size.tolist() == sizes
    return {r: set(sets.get(int(c), [])) for r, c in enumerate(cells.inverse)}


files = st.integers(1, 6).flatmap(
    lambda width: st.lists(
        st.tuples(*[st.integers(0, 3)] * width), min_size=1, max_size=14
    )
)


@given(files, st.integers(1, 6))
def test_all_sets_of_keys(rows, max_size):
    assert of_rows(rows, max_size) == brute_force(rows, min(max_size, len(rows[0])))


@pytest.mark.parametrize("seed", range(6))
def test_larger_files(seed):
    rng = np.random.default_rng(seed)
    tops = rng.integers(2, 9, 7)
    rows = [tuple(rng.integers(0, tops).tolist()) for _ in range(60)]
    for max_size in (1, 3, 7):
        assert of_rows(rows, max_size) == brute_force(rows, max_size)


def test_one_record_is_unique_on_each_key():
    assert of_rows([(0, 0, 0)], 3) == {0: {1, 2, 4}}


def test_equal_records_are_not_unique():
    assert of_rows([(0, 1), (0, 1)], 2) == {0: set(), 1: set()}


def test_sets_of_64_keys():
    # Keys that all share cost nothing: 2**63 sets of them are never visited.
    rows = [(0,) * 63 + (k,) for k in range(3)]
    assert of_rows(rows, 64) == {k: {1 << 63} for k in range(3)}
    rows = [tuple(int(k == j) for j in range(64)) for k in range(64)]
    assert of_rows(rows, 1) == {k: {1 << k} for k in range(64)}


def test_progress_ends_with_all():
    said = []
    codes = [np.array([0, 1, 1], np.uint8), np.array([0, 0, 1], np.uint8)]
    minimal_uniques(
        codes, [2, 2], np.array([1, 1, 1]), 2, lambda *each: said.append(each)
    )
    assert said == [(1, 3), (2, 3), (3, 3)]  # sets of one key, and the one of both
