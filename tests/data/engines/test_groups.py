"""Rows that stand for many records: their sums have the bits of the records' sums."""

import math

import numpy as np
import polars as pl
import pytest

from riskcore.data.engines.counting import Question
from riskcore.data.engines.groups import Groups
from riskcore.data.engines.registry import engine_of
from riskcore.data.engines.sums import WholeSums
from riskcore.protection.records.on_engine import coded_cells

ENGINE = engine_of(pl.LazyFrame({"a": [1]}))


def test_sums_of_rows_are_those_of_their_records():
    rng = np.random.default_rng(4)
    weights = rng.lognormal(3, 2, 4000)
    row = rng.integers(0, 700, len(weights))
    group = rng.integers(0, 40, 700)
    group[:40] = range(40)
    whole = WholeSums.of(len(weights), weights.min(), weights.max(), whole=False)
    exact = []
    for piece in whole.cut(pl.Series(weights)):
        total = np.zeros(700, np.int64)
        np.add.at(total, row, piece.to_numpy().astype(np.int64))
        exact.append(total)
    records = np.bincount(row, minlength=700)
    groups = Groups(ENGINE, records, whole, exact)
    want = [math.fsum(weights[group[row] == one]) for one in range(40)]
    assert groups.weight_sum(group, 40).tolist() == want
    assert groups.n == 4000
    # Sums of rounded sums are others.
    rounded = whole.join(exact)
    assert [math.fsum(rounded[group == one]) for one in range(40)] != want


def test_without_whole_sums_records_are_counted_or_doubles_added():
    groups = Groups(ENGINE, np.array([3, 1, 2]), None, [])
    assert groups.weight_sum(np.array([1, 0, 1]), 2).tolist() == [1.0, 5.0]
    groups = Groups(ENGINE, np.array([1, 1]), None, [np.array([1e-40, 1e40])])
    assert groups.weight_sum(np.array([1, 0]), 2).tolist() == [1e40, 1e-40]


def test_cells_come_in_batches_of_other_categories(monkeypatch):
    """Also in empty ones; each category is one, whatever batch it comes in."""
    data = {"a": [3, 1, None, 3, 2, 1], "b": ["y", "x", "x", "x", None, "y"]}
    engine = engine_of(pl.LazyFrame(data))
    question = Question(("a", "b"))
    whole, values = coded_cells(engine, question)
    cells = engine.cells(question)
    parts = [cells[0:0], cells[0:2], cells[2:3], cells[3:6], cells[6:]]
    monkeypatch.setattr(type(engine), "batches", lambda *_: iter(parts))
    coded, again = coded_cells(engine, question)
    found = {}
    for name, column in coded.columns.items():
        assert column.labels.tolist() == whole.columns[name].labels.tolist()
        assert column.missing == whole.columns[name].missing == 1
        assert again[name].to_list() == values[name].to_list()
        found[name] = again[name][column.codes].to_list()
    rows = zip(found["a"], found["b"], strict=True)
    assert set(rows) == set(zip(data["a"], data["b"], strict=True))
    monkeypatch.setattr(type(engine), "batches", lambda *_: iter(parts[:1]))
    with pytest.raises(ValueError, match="have changed"):
        coded_cells(engine, question)
