"""Blanked values are gone, whatever holds them, and nothing else changes."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from riskcore.data.blank import blank

MASK = np.array([True, False, True])
VALUES = {
    "integer": [1, 2, 3],
    "text": ["a", "b", "c"],
    "float": [1.5, 2.5, 3.5],
    "flag": [True, False, True],
    "day": [datetime.date(2020, 1, day) for day in (1, 2, 3)],
}
MASKS = dict.fromkeys(VALUES, MASK)


def plain(frame):
    """Return the columns of a frame as lists with None for missing."""
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    return {
        name: [None if pd.isna(value) else value for value in column]
        for name, column in frame.items()
    }


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table])
def test_of_frames(make):
    given = make(VALUES)
    blanked = blank(given, MASKS)
    assert type(blanked) is type(given)
    assert plain(blanked) == {name: [None, v[1], None] for name, v in VALUES.items()}
    assert plain(given) == VALUES


def test_of_polars_keeps_types():
    given = pl.DataFrame(VALUES).with_columns(
        pl.col("text").cast(pl.Categorical).alias("category")
    )
    blanked = blank(given, {**MASKS, "category": MASK})
    assert blanked.schema == given.schema
    assert blanked.null_count().row(0) == (2,) * 6
    assert blanked.row(1) == given.row(1)


def test_of_pandas_keeps_index_and_integers():
    given = pd.DataFrame(VALUES, index=[7, 7, 9])
    blanked = blank(given, {"integer": MASK, "flag": MASK})
    assert blanked.index.equals(given.index)
    kinds = [str(blanked[name].dtype) for name in ("integer", "flag")]
    assert kinds == ["Int64", "boolean"]
    assert blanked["text"].equals(given["text"])
    for kind in ("Int64", "boolean", "int64[pyarrow]", "uint8[pyarrow]"):
        nullable = pd.DataFrame({"a": pd.Series([1, 0, 1], dtype=kind)})
        left = blank(nullable, {"a": MASK})["a"]
        assert str(left.dtype) == kind
        assert left.isna().tolist() == MASK.tolist()
    small = pd.DataFrame({"a": np.array([1, 2, 3], np.uint8)})
    assert str(blank(small, {"a": MASK})["a"].dtype) == "UInt8"


@pytest.mark.parametrize(
    "kind",
    [
        "int64", "uint8", "float32", "bool", "Int64", "boolean", "object", "str",
        "string", "category", "datetime64[ns]", "timedelta64[ns]", "int64[pyarrow]",
        "string[pyarrow]",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "index", [range(3), [2, 1, 0], [1, 1, 1], [5.0, np.nan, 0.0], ["a", "b", "c"]]
)
def test_a_whole_column_of_pandas(kind, index):
    # An index may hold the positions: by them a value must not find its way back.
    values = pd.Series([1, 1, 1], index).astype(kind)
    blanked = blank(pd.DataFrame({"a": values}), {"a": np.ones(3, bool)})["a"]
    assert blanked.isna().all()
    assert blanked.index.equals(values.index)
    if kind == "category":
        assert blanked.cat.categories.empty
    else:
        partly = blank(pd.DataFrame({"a": values}), {"a": MASK})["a"]
        assert blanked.dtype == partly.dtype


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2, 3], np.int16),
        np.array(["a", "b", "c"]),
        np.array([True, True, True]),
        np.ma.MaskedArray([4, 5, 6], [False, True, False]),
        np.ma.MaskedArray([4.5, 5.5, 6.5], [False, True, False]),
    ],
)
def test_under_a_mask_the_value_is_gone(values):
    blanked = blank({"a": values}, {"a": MASK})["a"]
    before = np.ma.getmaskarray(values)
    assert np.array_equal(np.ma.getmaskarray(blanked), before | MASK)
    left = np.ma.getdata(blanked)
    assert not np.isin(left[MASK], np.ma.getdata(values)[MASK]).any()
    assert left[1] == np.ma.getdata(values)[1]
    assert blanked.dtype == values.dtype


def test_arrays_with_a_missing_value_of_their_own():
    times = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[D]")
    data = {"f": np.array([1.0, 2.0, 3.0]), "t": times, "o": np.array([1, "a", 2], "O")}
    blanked = blank(data, dict.fromkeys(data, MASK))
    assert np.isnan(blanked["f"]).tolist() == MASK.tolist()
    assert np.isnat(blanked["t"]).tolist() == MASK.tolist()
    assert blanked["o"].tolist() == [None, "a", None]
    assert data["f"].tolist() == [1.0, 2.0, 3.0]


def test_of_lists_and_series_in_a_mapping():
    data = {"l": [1, 2, 3], "t": (1, 2, 3), "r": range(3), "s": pl.Series([1, 2, 3])}
    blanked = blank(data, dict.fromkeys(data, MASK))
    assert blanked["l"] == [None, 2, None]
    assert blanked["t"] == (None, 2, None)
    assert blanked["r"] == [None, 1, None]
    assert blanked["s"].to_list() == [None, 2, None]


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_that_are_gone_are_not_listed(ordered):
    values = pd.Categorical(["rare", "b", "c"], ["rare", "c", "b"], ordered=ordered)
    blanked = blank(pd.DataFrame({"a": values}), {"a": np.array([True, False, False])})
    assert blanked["a"].cat.categories.tolist() == ["c", "b"]
    assert blanked["a"].cat.ordered == ordered
    series = pl.Series(["rare", "b", "c"], dtype=pl.Enum(["rare", "c", "b"]))
    blanked = blank(pl.DataFrame({"a": series}), {"a": np.array([True, False, False])})
    assert blanked["a"].dtype == pl.Enum(["c", "b"])
    assert blanked["a"].to_list() == [None, "b", "c"]


def test_a_column_that_is_not_there():
    with pytest.raises(KeyError, match="no column 'b'"):
        blank({"a": [1, 2, 3]}, {"b": MASK})
