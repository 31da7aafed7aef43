"""Codes that are recoded or blanked are those of recoded or blanked data."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskcore
from riskcore import Recoding, protect
from riskcore.data.blank import blank
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import with_columns
from riskcore.data.files.reading import DoubtfulCodes
from riskcore.data.recode import recoded_columns
from riskcore.data.recode_table import recode
from tests import thin

NUMBERS = st.lists(st.integers(-3, 300), min_size=1, max_size=30)
LABELS = st.sampled_from([[7, 8, 7], ["x", "y", "y"], [2.5, 1.0, 3.0]])


def text(values):
    return [None if value is None else str(value) for value in values]


HOLDERS = {
    "list": lambda values: {"a": values},
    "tuple": lambda values: {"a": tuple(values)},
    "objects": lambda values: {"a": np.array(values, object)},
    "pandas": lambda values: pd.DataFrame({"a": values}),
    "pandas text": lambda values: pd.DataFrame({"a": pd.array(text(values), "string")}),
    "pandas category": lambda values: pd.DataFrame({"a": pd.Categorical(text(values))}),
    "polars": lambda values: pl.DataFrame({"a": values}),
    "polars text": lambda values: pl.DataFrame({"a": text(values)}),
    "pyarrow": lambda values: pa.table({"a": values}),
    "pyarrow dictionary": lambda values: pa.table(
        {"a": pa.array(text(values), pa.string()).dictionary_encode()}
    ),
}
ARRAYS = {
    "int8": lambda values: np.array(values, np.int16),
    "uint": lambda values: np.array(values, np.int64).astype(np.uint64),
    "float": lambda values: np.where(np.array(values) < 0, np.nan, values),
    "text": lambda values: np.array([str(value) for value in values]),
    "masked": lambda values: np.ma.masked_less(np.array(values), 0),
    "times": lambda values: np.array(values, "datetime64[D]"),
}


def assert_the_same(coded, data, keys):
    found = CodedRecords.of(data, keys)
    for key in keys:
        one, other = coded.columns[key], found.columns[key]
        assert one.codes.tolist() == other.codes.tolist()
        assert one.codes.dtype == other.codes.dtype
        assert one.labels.dtype == other.labels.dtype
        assert one.labels.tolist() == other.labels.tolist()
        assert [*map(type, one.labels)] == [*map(type, other.labels)]
        assert one.missing == other.missing
    assert coded.equals(found)


def some(values, draw):
    n = len(values)
    return np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))


def check(data, values, draw, *, number):
    coded = CodedRecords.of(data, ["a"])
    masks = [some(values, draw), some(values, draw)]
    once = coded.blanked({"a": masks[0]})
    assert_the_same(once, blank(data, {"a": masks[0]}), ["a"])
    either = {"a": masks[0] | masks[1]}
    assert_the_same(once.blanked({"a": masks[1]}), blank(data, either), ["a"])
    if number is None:
        return
    rules = {"a": Recoding.intervals([0, 10], labels=number)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = recoded_columns(data, rules, coded.columns)
        recoded = recode(data, rules)
    fresh = with_columns(data, columns)
    assert_the_same(coded.recoded(columns), recoded, ["a"])
    assert_the_same(coded.recoded(columns), fresh, ["a"])
    blanked = coded.recoded(columns).blanked(either)
    assert_the_same(blanked, blank(recoded, either), ["a"])


# An example in a frame takes some 50 ms.
@pytest.mark.parametrize("holder", HOLDERS)
@thin.examples(25)
@given(st.data(), st.lists(st.none() | st.integers(-3, 300), min_size=1, max_size=30))
def test_of_any_holder(holder, data, values):
    if all(value is None for value in values) and "pyarrow" in holder:
        values = [*values, 1]  # a column of type null has no codes
    labels = data.draw(LABELS)
    check(HOLDERS[holder](values), values, data.draw, number=labels)


@pytest.mark.parametrize("kind", ARRAYS)
@thin.examples(50)
@given(st.data(), NUMBERS)
def test_of_arrays(kind, data, values):
    labels = data.draw(LABELS)
    number = None if kind == "times" else labels
    if kind == "uint":
        values = [abs(value) for value in values]
    check({"a": ARRAYS[kind](values)}, values, data.draw, number=number)


def test_protected_data_are_compared_with_what_was_verified(monkeypatch):
    data = {"sex": list("ffmff"), "age": list("11222"), "w": [30.0] * 5}
    # A blanking that leaves a value behind.
    monkeypatch.setattr(
        "riskcore.protection.records.units.blank", lambda rows, masks: dict(rows.data)
    )
    with pytest.raises(RuntimeError, match="not the data that were verified"):
        protect(data, ["sex", "age"], "w", threshold=0.05)


@pytest.mark.parametrize("ids", [["9.91214E+15", "9.91215E+15"], [9.9e18, 9.8e18]])
def test_ids_of_households_that_lost_digits_are_refused(ids):
    with pytest.raises(ValueError, match="have lost digits"):
        riskcore.assess({"a": [1, 2], "hid": ids}, ["a"], household="hid")


def test_households_of_many_records_are_doubted():
    data = {"a": [1, 2] * 42, "hid": [1, 2, 3, 4] * 21}
    with pytest.warns(DoubtfulCodes, match="21 records on average; .* begin anew"):
        riskcore.assess(data, ["a"], household="hid")
