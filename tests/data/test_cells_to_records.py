"""Figures of cells spread over records are those that indexing gives."""

import numpy as np
import pytest

from riskcore.data.cells_to_records import spread
from riskcore.data.count import THREADED


@pytest.mark.parametrize("n", [1, 7, THREADED - 1, THREADED + 3])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_every_bit_of_every_column(n, kind):
    rng = np.random.default_rng(n)
    cells = 1 + n // 3
    inverse = rng.integers(0, cells, n).astype(np.int32)
    f = (rng.integers(0, 2**62, cells) * rng.random(cells)).astype(kind)
    F, risk = (  # infinite ones and nan of every kind among them
        row.view(np.float64) for row in rng.integers(0, 2**64, (2, cells), np.uint64)
    )
    with np.errstate(all="ignore"):
        columns = f, F, f / F, risk
    found = spread(inverse, f, F, risk)
    for i, (one, column) in enumerate(zip(found, columns, strict=True)):
        assert one.dtype == column.dtype
        expected = column[inverse]
        if i == 2:  # of nan the bits are the processor's choice
            np.testing.assert_array_equal(one, expected)
            one, expected = (np.nan_to_num(x, nan=1.0) for x in (one, expected))
        assert one.view(np.int64).tolist() == expected.view(np.int64).tolist()


def test_positions_that_are_not_contiguous():
    inverse = np.array([0, 9, 1, 9], np.int32)[::2]
    f, F = np.array([2.5, 3.5]), np.array([4.0, 8.0])
    assert spread(inverse, f, F, F)[3].tolist() == [4.0, 8.0]
