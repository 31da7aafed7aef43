"""Cells that files share, against all pairs of records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.auditing import common_cells
from riskcore.auditing.common_cells import count_cells, count_targets, locate
from tests.thin import examples

LEVELS = [3, 2, 4]


def codes(rows):
    """Return the columns of records given as tuples."""
    return [np.array(column, np.uint8) for column in zip(*rows, strict=True)]


records = st.tuples(*(st.integers(0, k - 1) for k in LEVELS))
files = st.lists(records, min_size=1, max_size=12)


@examples(60)
@given(st.lists(files, min_size=1, max_size=3))
def test_cells_are_counted_in_every_file(several):
    found = count_cells([codes(one) for one in several], LEVELS)
    for file, number, cell in zip(several, found.records, found.cell, strict=True):
        for record, c in zip(file, cell, strict=True):
            assert number[c] == file.count(record)
    together = {record for one in several for record in one}
    assert all(len(number) == len(together) for number in found.records)
    assert [number.sum() for number in found.records] == [len(one) for one in several]


@examples(60)
@given(files, files)
def test_values_of_the_target_are_counted_in_cells(original, released):
    keys = count_cells(
        [codes([r[:2] for r in x]) for x in (original, released)], [3, 2]
    )
    targets = count_targets(keys, codes(original)[2], codes(released)[2], 4)
    assert len(targets.cell) == len({*original, *released})
    for i, record in enumerate(original):
        (p,) = np.flatnonzero(
            (targets.cell == keys.cell[0][i]) & (targets.value == record[2])
        )
        assert targets.original[p] == original.count(record)
        assert targets.released[p] == released.count(record)
        assert targets.in_original[p] == sum(r[:2] == record[:2] for r in original)
        assert targets.in_released[p] == sum(r[:2] == record[:2] for r in released)


@examples(60)
@given(files, files, st.booleans())
def test_references_are_located_in_the_cells_of_queries(query, reference, large):
    most = common_cells._MOST_CODES
    common_cells._MOST_CODES = 1 if large else most  # sorted, not in a table
    try:
        found = locate(codes(query), codes(reference), LEVELS, (0, 2))
    finally:
        common_cells._MOST_CODES = most
    cells = {}
    for record, cell in zip(query, found.query, strict=True):
        assert cells.setdefault((record[0], record[2]), cell) == cell
    assert sorted(cells.values()) == list(range(found.cells))
    for record, cell in zip(reference, found.reference, strict=True):
        assert cells.get((record[0], record[2]), -1) == cell


def test_combinations_beyond_64_bits_are_kept_apart():
    # As one number modulo 2^64 the two records would be equal.
    levels = [(1 << 31) + 1, 1 << 33]
    query, reference = (
        [np.array([a], np.uint64), np.array([5], np.uint64)] for a in (0, 1 << 31)
    )
    assert locate(query, query, levels, (0, 1)).reference.tolist() == [0]
    assert locate(query, reference, levels, (0, 1)).reference.tolist() == [-1]


def test_many_codes_share_places_of_the_table():
    rng = np.random.default_rng(3)
    query, reference = (rng.integers(0, 60_000, n) for n in (50_000, 120_000))
    found = locate([query], [reference], [60_000], (0,))
    assert found.cells == len(np.unique(query))
    for cells, codes_of in ((found.query, query), (found.reference, reference)):
        known = cells >= 0
        assert np.array_equal(known, np.isin(codes_of, query))
        pairs = np.unique(np.stack([codes_of[known], cells[known]]), axis=1)
        assert len(np.unique(pairs[0])) == len(np.unique(pairs[1])) == pairs.shape[1]


def test_files_of_other_keys_are_refused():
    with pytest.raises(ValueError, match="another number of keys"):
        count_cells([codes([(0, 0, 0)]), codes([(0, 0)])], LEVELS)
    with pytest.raises(ValueError, match="no keys"):
        count_cells([[], []], [])
