"""Cells that files share, against all pairs of records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.disclosure.common_cells import count_cells, count_targets
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


def test_files_of_other_keys_are_refused():
    with pytest.raises(ValueError, match="another number of keys"):
        count_cells([codes([(0, 0, 0)]), codes([(0, 0)])], LEVELS)
    with pytest.raises(ValueError, match="no keys"):
        count_cells([[], []], [])
