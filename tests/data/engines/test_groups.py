"""Rows that stand for many records: their sums have the bits of the records' sums."""

import math

import numpy as np
import polars as pl

from riskcore.data.engines.groups import Groups
from riskcore.data.engines.registry import engine_of
from riskcore.data.engines.sums import WholeSums

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
