"""The file that comes in, and how the safe file is laid out."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from riskcore.files import arrow
from riskcore.microdata.columns import Records
from riskcore.microdata.source import Source
from riskcore.protection import layout as layout_module
from riskcore.protection.layout import Layout

IDS = np.array([2, 1, 1])


def new_ids(column, ids=IDS, path="safe.parquet"):
    data = {"id": column, "a": np.array(["x", "y", "z"])}
    layout = Layout.of(Source.of(data), data, path, ids={"id": ids})
    assert layout.renumbered == ("id",)
    assert layout.columns["a"] is data["a"]
    return layout.columns["id"]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (np.array([7, 8, 8], np.int16), "int16"),
        (np.array([7, 8, 8], np.uint64), "uint64"),
        (np.ma.array([7, 8, 8], mask=[False, True, False]), "int64"),
        (np.array([7, None, 8], object), "int64"),
        (np.array([7, "h", 8], object), "text"),
        (np.array([7.0, 8.0, 8.0]), "text"),
        (np.array(["h7", "h8", "h8"]), "text"),
        (pd.Series([7, 8, 8], dtype="int8"), "int8"),
        (pd.Series([7, None, 8], dtype="UInt16"), "uint16"),
        (pl.Series([7, 8, 8], dtype=pl.Int128), "text"),
        (pl.Series([7, 8, 8], dtype=pl.UInt8), "uint8"),
        (pl.Series(["h7", "h8", "h8"]), "text"),
    ],
)
def test_new_ids_are_of_the_type_of_the_old_ones(column, kind):
    ids = new_ids(column)
    assert ("text" if ids.dtype.kind == "U" else ids.dtype) == kind
    assert ids.astype(int).tolist() == IDS.tolist()
    # In text they are digits either way.
    assert new_ids(column, path="safe.csv").dtype == np.int64


def test_new_ids_that_the_old_type_cannot_hold():
    old = np.array([7, 8, 8], np.int8)
    assert new_ids(old, np.array([127, 1, 2])).dtype == np.int8
    wide = new_ids(old, np.array([128, 1, 2]))
    assert (wide.dtype, wide.tolist()) == (np.int64, [128, 1, 2])


@pytest.mark.parametrize("column", [np.array([7, 8, 9]), np.array(["7", "8", "9"])])
def test_ids_that_are_missing_stay_so(column):
    ids = new_ids(column, np.array([2, 0, 1]))
    assert ids.mask.tolist() == [False, True, False]
    assert [str(one) for one in ids.tolist()] == ["2", "None", "1"]


@pytest.mark.parametrize("make", [np.array, pd.Series, pl.Series, pa.array])
@pytest.mark.parametrize("values", [["a", None, "", "b"], [1, None, 3, 2]])
def test_columns_in_another_order(monkeypatch, make, values):
    monkeypatch.setattr(layout_module, "_ROWS", 2)
    column = Records.of({"a": make(values)}).column("a")
    there = layout_module.in_order(column, np.array([3, 0, 1, 2]))
    found = arrow.table_of({"a": there}, plain=True)["a"].to_pylist()
    assert found == [values[3], *values[:3]]


def test_the_types_of_arrow_stay():
    # Not text with long offsets, of which the order is made.
    types = [pa.string(), pa.large_string(), pa.binary(), pa.int8()]
    types.append(pa.dictionary(pa.int8(), pa.string()))
    for kind in types:
        values = [3, 4, 5] if kind == pa.int8() else ["x", None, "yy"]
        array = pa.array(values, kind)
        column = nw.from_native(pa.chunked_array([array] * 2), series_only=True)
        there = layout_module.in_order(column, np.array([5, 1, 0, 2, 4, 3])).to_native()
        assert there.type == kind
        assert there.to_pylist() == [array[i].as_py() for i in [2, 1, 0, 2, 1, 0]]
    empty = nw.from_native(pa.chunked_array([], pa.string()), series_only=True)
    assert len(layout_module.in_order(empty, np.array([], int))) == 0


def test_an_existing_file_is_kept_unless_asked_for(tmp_path):
    path = tmp_path / "safe.csv"
    source = Source.of({"a": [1]})
    assert source.check_writable(path) == path
    path.write_text("mine\n")
    with pytest.raises(FileExistsError, match=r"safe\.csv"):
        source.check_writable(path)
    assert source.check_writable(path, overwrite=True) == path
    assert path.read_text() == "mine\n"
