"""Figures of cells spread over records are those that indexing gives."""

import numpy as np
import pytest

from riskcore.microdata.count import THREADED
from riskcore.microdata.spread import spread


@pytest.mark.parametrize("n", [1, 7, THREADED - 1, THREADED + 3])
def test_every_bit_of_every_column(n):
    rng = np.random.default_rng(n)
    cells = 1 + n // 3
    inverse = rng.integers(0, cells, n).astype(np.int32)
    bits = rng.integers(0, 2**64, (2, cells), np.uint64)
    columns = [rng.integers(-(2**63), 2**63 - 1, cells), rng.random(cells)]
    columns += [row.view(np.float64) for row in bits]  # nan of every kind among them
    found = spread(inverse, *columns)
    for one, column in zip(found, columns, strict=True):
        assert one.dtype == column.dtype
        expected = column[inverse].view(np.int64)
        assert one.view(np.int64).tolist() == expected.tolist()


def test_positions_that_are_not_contiguous():
    inverse = np.array([0, 9, 1, 9], np.int32)[::2]
    assert spread(inverse, *[np.array([2.5, 3.5])] * 4)[3].tolist() == [2.5, 3.5]
