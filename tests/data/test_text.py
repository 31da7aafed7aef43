"""Text as codes: by a dictionary, and as numbers."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.data import text
from riskcore.data.columns import Records, code_column

many = st.lists(st.none() | st.text("ab\0é ", max_size=40) | st.text(max_size=3))


@settings(deadline=None)
@given(many.filter(len), st.sampled_from([pa.string(), pa.large_string()]))
def test_text_is_its_labels_and_its_numbers(values, kind):
    array = pa.array(values, kind)
    half = len(values) // 2
    table = pa.table({"a": pa.chunked_array([array[:half], array[half:]], kind)})
    (series,) = Records.of(table).columns.values()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_BATCH", 3)
        codes, labels = text.text_dictionary(series)
        short = text.short_text_codes(series)
    found = [None if code < 0 else labels()[code] for code in codes.tolist()]
    assert found == values
    long = max((len(value.encode()) for value in values if value), default=0)
    filled = any("\0" in value for value in values if value)
    assert (short is None) == (filled or not 0 < long <= 32)
    if short is not None:
        assert [code < 0 for code in short] == [value is None for value in values]
        pairs = {*zip(short.tolist(), values, strict=True)}
        assert len(pairs) == len({code for code, _ in pairs}) == len(set(values))


def series_of(frame):
    (series,) = Records.of(frame).columns.values()
    return series


def decoded(series):
    codes, labels = text.text_dictionary(series)
    given = labels()
    assert len(set(given)) == len(given)
    return [None if code < 0 else given[code] for code in codes.tolist()]


HOLDERS = {
    "polars": lambda values: pl.DataFrame({"a": pl.Series(values, dtype=pl.String)}),
    "pandas": lambda values: pd.DataFrame({"a": pd.Series(values, dtype="str")}),
    "string": lambda values: pa.table({"a": pa.array(values, pa.string())}),
    "large_string": lambda values: pa.table({"a": pa.array(values, pa.large_string())}),
}
LONG = "a text of more than twelve letters "


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize(
    "values",
    [
        ["b", None, "a", "", "b", None],
        [LONG + "1", LONG + "2", "a text of mo", LONG + "1", None, LONG],
        [f"{i % 9000}" for i in range(20_000)],
        [f"{LONG}{i % 300}" for i in range(2_000)],
        ["é" * 6, "é" * 7, "é" * 6, "\0", "", "\0\0", "\0"],
    ],
    ids=["short", "long", "many", "long and many", "letters of two bytes"],
)
def test_text_is_its_labels(holder, values):
    series = series_of(HOLDERS[holder](values))
    assert decoded(series) == values
    assert decoded(series[1:]) == values[1:]


def test_chunks_of_polars():
    frame = pl.concat([pl.DataFrame({"a": ["x", LONG]}), pl.DataFrame({"a": [LONG]})])
    assert decoded(series_of(frame)) == ["x", LONG, LONG]


def test_views_of_arrow_are_text():
    kind = pa.string_view()
    values = ["b", None, LONG, "b"]
    column = pa.chunked_array([pa.array(values[:1], kind), pa.array(values[1:], kind)])
    assert decoded(series_of(pa.table({"a": column}))) == values


def test_labels_come_in_order():
    found = code_column(Records.of(pl.DataFrame({"a": ["b", None, "a", "b"]})), "a")
    assert found.labels.tolist() == ["a", "b"]
    assert found.codes.tolist() == [1, 2, 0, 1]
    assert found.missing == 1
