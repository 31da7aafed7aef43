"""Tables of Arrow: numbers of text, columns of all kinds."""

import math
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.data.files import arrow, formats


@settings(deadline=None)
@given(st.from_regex(arrow.NUMBER, fullmatch=True, alphabet="0123456789+-.eE"))
def test_numbers_are_read_as_python_reads_them(text):
    expected = float(text)
    column = pa.chunked_array([[f" {text} ", None]])
    if math.isinf(expected):
        with pytest.raises(ValueError, match="not a number"):
            arrow.as_numbers("a.csv", "w", column)
    else:
        assert arrow.as_numbers("a.csv", "w", column).to_pylist() == [expected, None]


COLUMNS = {
    "masked": np.ma.MaskedArray(["1", "2"], [False, True]),
    "integer": np.array([2**62, -1]),
    "single": np.array([0.1, np.nan], np.float32),
    "category": pd.Categorical(["a", None]),
    "pandas": pd.Series([1.5, np.nan]),
    "polars": pl.Series(["a", "b"], dtype=pl.Categorical),
    "list": [True, None],
    "dates": [date(2020, 1, 2), None],
    "object": np.array(["a", None], object),
}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".parquet"])
def test_all_kinds_of_columns_are_written(tmp_path, suffix):
    path = formats.write(tmp_path / f"a{suffix}", COLUMNS)
    table = formats.read(path)
    assert table.column("masked").to_pylist() == ["1", None]
    assert list(map(str, table.column("integer").to_pylist())) == [str(2**62), "-1"]
    for name in ("category", "object"):
        assert table.column(name).to_pylist() == ["a", None]
    assert table.column("polars").to_pylist() == ["a", "b"]
    assert str(table.column("pandas")[0]) == "1.5"
    assert not table.column("list")[1].is_valid
    assert str(table.column("dates")[0]) == "2020-01-02"
    if ".parquet" not in suffix:
        assert table.column("single").to_pylist() == ["0.1", None]


def test_python_objects_of_polars_cannot_be_written():
    # Arrow would take their addresses.
    column = pl.Series([{1}, {2}], dtype=pl.Object)
    with pytest.raises(TypeError, match=r"column 'a' cannot be written: .*objects"):
        arrow.table_of({"a": column}, plain=False)
