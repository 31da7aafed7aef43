"""Cells as sorted runs of numbers, against a count of tuples."""

from collections import Counter

import numpy as np
import pytest

from riskcore.data.engines.runs import Runs


@pytest.mark.parametrize("levels", [[3], [7, 1, 9], [2**20, 2**20, 2**24]])
def test_cells_of_batches(levels):
    rng = np.random.default_rng(2)
    runs = Runs(levels, 2)
    records, first, second = Counter(), Counter(), Counter()
    for size in (1, 400, 37, 2, 2000, 2000, 5):
        places = [rng.integers(0, min(k, 60), size) for k in levels]
        places[-1] = levels[-1] - 1 - places[-1]  # the last number is one, too
        sums = [rng.integers(0, 2**40, size) for _ in range(2)]
        runs.add(places, sums)
        for cell, a, b in zip(
            zip(*(p.tolist() for p in places), strict=True), *sums, strict=True
        ):
            records[cell] += 1
            first[cell] += int(a)
            second[cell] += int(b)
    assert runs.merged() == len(records)
    found, last = {}, -1
    for codes, rows in runs.finished():
        assert (np.diff(codes.astype(object), prepend=last) > 0).all()
        last = int(codes[-1])
        cells = zip(*(p.tolist() for p in runs.places(codes)), strict=True)
        found.update(zip(cells, rows.tolist(), strict=True))
    assert found == {cell: [records[cell], first[cell], second[cell]] for cell in first}


def test_combinations_of_64_bits_and_beyond():
    assert Runs.fits([2**32, 2**32])
    assert not Runs.fits([2**32, 2**32, 2])
