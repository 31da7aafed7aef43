"""Profiles of columns: types, extremes, and the values that only one unit has."""

import datetime as dt
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.data.profile import profile


def of(column, household=None, **options):
    """Return the profile of one column."""
    codes = None if household is None else np.asarray(household)
    (found,) = profile({"c": column}, ["c"], codes, **options)
    return found


DAY = dt.date(2020, 1, 1)
TYPES = [
    ([3, 1, 2], "whole number", 1, 3), ([3, None, 2], "whole number", 2, 3),
    (np.array([3, 1, 2], np.uint8), "whole number", 1, 3),
    ([3.0, 1.0, float("nan")], "whole number", 1.0, 3.0),
    ([2.5, 1.0], "number", 1.0, 2.5),
    ([Decimal("2.5"), Decimal(1)], "number", Decimal(1), Decimal("2.5")),
    (["10", "9", " 2 "], "whole number", 2, 10),
    (["-10", "+9"], "whole number", -10, 9),
    (["1.5", "10", "1e3"], "number", 1.5, 1000.0), (["1.5", "x"], "text", "1.5", "x"),
    (["10", ""], "text", "", "10"), (["1_000", "2"], "text", "1_000", "2"),
    (["nan", "2"], "text", "2", "nan"), (["٣", "2"], "text", "2", "٣"),
    (["5 6", "2"], "text", "2", "5 6"), (["\xa010", "9\t"], "whole number", 9, 10),
    ([str(2**63), "-1"], "whole number", -1, 2**63),
    (["9" * 5000, "2"], "number", 2.0, float("inf")),
    (["0.0", "-1e-9", "1."], "number", -1e-9, 1.0),
    (["31.12.2023", "1.2.2024"], "time", "2023-12-31", "2024-02-01"),
    (np.array([0.5, np.inf]), "number", 0.5, np.inf),
    (["b", "a", None], "text", "a", "b"),
    ([True, False, None], "true or false", False, True),
    (np.array([True, False]), "true or false", False, True),
    ([DAY, dt.date(2021, 1, 1)], "time", DAY, dt.date(2021, 1, 1)),
    ([None, None], None, None, None),
]  # fmt: skip


@pytest.mark.parametrize(("column", "kind", "smallest", "largest"), TYPES)
def test_types_and_extremes(column, kind, smallest, largest):
    found = of(column)
    if kind is not None:
        assert found.type == kind
    assert (found.smallest, found.largest) == (smallest, largest)
    assert found.records == len(column)
    assert found.is_number == (kind in ("whole number", "number"))


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"]
)
def test_frames(make):
    data = {
        "n": [1, 2, None, 2], "x": [1.5, 2.5, 2.5, None], "t": ["a", None, "b", "b"],
        "d": [dt.datetime(2020, 1, day) for day in (1, 2, 2, 3)],
        "b": [True, False, True, None],
    }  # fmt: skip
    found = profile(make(data), list(data))
    assert [one.type for one in found] == [
        "whole number", "number", "text", "time", "true or false"
    ]  # fmt: skip
    assert [one.missing for one in found] == [1, 1, 1, 0, 1]
    assert [one.distinct for one in found] == [2, 2, 2, 3, 2]
    assert [one.single for one in found] == [1, 1, 1, 2, 1]
    assert [(one.smallest, one.largest) for one in found[:3]] == [
        (1, 2), (1.5, 2.5), ("a", "b")
    ]  # fmt: skip


def test_marks_of_decimals():
    assert of(["1,5", "2,25"]).type == "text"
    found = of(["1,5", "2,25"], decimal=",")
    assert (found.type, found.smallest, found.largest) == ("number", 1.5, 2.25)


def test_the_longest_text():
    assert of(["a", "four", "é" * 7]).longest == 7
    assert of([1000, 2]).longest == 0


def test_values_without_an_order():
    found = of([[1, 2], [3], {"a": 1}])
    assert (found.type, found.distinct, found.single) == ("other", 3, 3)
    assert (found.smallest, found.largest) == (None, None)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 5)), min_size=1))
def test_single_values_by_counting(rows):
    column = [None if value == "d" else value for value, _ in rows]
    _, household = np.unique([one for _, one in rows], return_inverse=True)
    counts = Counter(one for one in column if one is not None)
    found = of(column)
    assert found.single == sum(count == 1 for count in counts.values())
    assert found.distinct == len(counts)
    assert found.missing == column.count(None)
    assert found.constant is None
    # With households, a value is own if all that have it are members of one.
    own = {
        value: {h for v, h in zip(column, household, strict=True) if v == value}
        for value in counts
    }
    shared = of(column, household)
    assert shared.single == sum(counts[v] for v in counts if len(own[v]) == 1)
    members = {}
    for value, one in zip(column, household, strict=True):
        members.setdefault(one, set()).add(value)
    assert shared.constant == all(len(values) == 1 for values in members.values())
