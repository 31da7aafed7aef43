"""Cells as sorted runs of numbers, against a count of tuples."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import riskcore
from riskcore.data.engines import batches
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


@pytest.mark.parametrize("values", [6, 30])
def test_a_dataset_of_many_small_batches(monkeypatch, values):
    monkeypatch.setattr(batches, "BATCH", 64)
    rng = np.random.default_rng(9)
    n = 3000
    columns = {f"k{i}": rng.integers(0, values, n) * 1.5 for i in range(14)}
    table = pa.table({**columns, "w": rng.lognormal(4, 1, n) + 1})
    keys = list(columns)
    assert Runs.fits([values] * 14) == (values == 6)
    want = riskcore.assess(table, keys, "w")
    got = riskcore.assess(pa.dataset.dataset(table), keys, "w")
    assert got.figures == want.figures
    np.testing.assert_array_equal(got.cell_risk, want.cell_risk)
    back = got.records.read_all()
    for name, column in want.records.to_pydict().items():
        assert back[name].to_pylist() == column


def test_a_dataset_that_changes_before_its_records_are_read(tmp_path):
    import pyarrow.parquet

    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"a": [1, 2, 1]}), path)
    result = riskcore.assess(pa.dataset.dataset(path), ["a"])
    reader = result.records
    pyarrow.parquet.write_table(pa.table({"a": [1, 5, 1]}), path)
    with pytest.raises(ValueError, match="the data have changed"):
        reader.read_all()
