"""Cells that files share, against all pairs of records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.disclosure.known_measures import count_cells
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


def test_files_of_other_keys_are_refused():
    with pytest.raises(ValueError, match="another number of keys"):
        count_cells([codes([(0, 0, 0)]), codes([(0, 0)])], LEVELS)
    with pytest.raises(ValueError, match="no keys"):
        count_cells([[], []], [])
