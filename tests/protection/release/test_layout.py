"""The file that comes in, and how the safe file is laid out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from riskcore.data.source import Source
from riskcore.protection.release.layout import Layout

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


def test_an_existing_file_is_kept_unless_asked_for(tmp_path):
    path = tmp_path / "safe.csv"
    source = Source.of({"a": [1]})
    assert source.check_writable(path) == path
    path.write_text("mine\n")
    with pytest.raises(FileExistsError, match=r"safe\.csv"):
        source.check_writable(path)
    assert source.check_writable(path, overwrite=True) == path
    assert path.read_text() == "mine\n"
