"""Cells that an engine counts are compared with those that were verified."""

import polars as pl
import pytest

import riskcore
from riskcore.data.engines.registry import engine_of
from riskcore.protection.records.on_engine import ExpectedCells

DATA = {"a": [1, 1, 2, 2, 3, 3], "b": ["x", "x", "y", "y", "x", "x"], "w": [2.0] * 6}


def found(**changed):
    """Whether data with other columns have the cells of the data above."""
    held = riskcore.protect(pl.LazyFrame(DATA), ["a", "b"], "w", k=2).on_engine
    expected = ExpectedCells.of(held.coded)
    engine = engine_of(pl.LazyFrame(DATA | changed))
    assert engine.count(["a", "b"], "w")
    return expected.are(engine.batches(held.question), held.question, [])


def test_the_same_cells():
    assert found()


@pytest.mark.parametrize(
    "changed",
    [
        {"a": [1, 1, 2, 2, 3, 9]},  # a value that is not there
        {"b": ["x", "x", "y", "y", "x", "y"]},  # a cell that is not there
        {"a": [1, 1, 2, 2, 2, 3], "b": ["x", "x", "y", "y", "y", "x"]},  # other counts
        {"a": [1, 1, 2, 2, 2, 2], "b": ["x", "x", "y", "y", "y", "y"]},  # one missing
        {"w": [2.0, 2.0, 2.0, 3.0, 2.0, 2.0]},  # another weight
    ],
)
def test_other_cells_are_noticed(changed):
    assert not found(**changed)
