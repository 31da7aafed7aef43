"""Parquet files."""

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from riskcore import Reading
from riskcore.data.files import formats
from riskcore.data.files.reading import DoubtfulCodes


def test_parquet_keeps_its_types(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table(
        {"a.b": [1, None], "a": ["x", "y"], "w": ["1.5", "2"], "t": [1, 2]}
    )
    pq.write_table(table, path)
    assert formats.columns_of(path).names == ("a.b", "a", "w", "t")
    assert formats.read(path).equals(table)
    assert formats.read(path, ["a", "a.b"]).equals(table.select(["a", "a.b"]))
    numbers = formats.read(path, ["w", "t"], numeric=["w", "t"])
    assert numbers.to_pydict() == {"w": [1.5, 2.0], "t": [1, 2]}
    with pytest.raises(KeyError, match="no column 'c'"):
        formats.read(path, ["c"])


def test_row_groups_are_counted(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": range(10)}), path, row_group_size=4)
    assert str(formats.opened(path).read()[1]) == "10 records in 3 row groups"


def test_missing_codes_of_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    text = ["9", "x", "7"]
    table = pa.table(
        {
            "small": pa.array([9, 1, 7], pa.uint8()),
            "whole": [9, 2**60 + 1, 7],
            "real": pa.array([9, 1.5, 7], pa.float32()),
            "exact": [Decimal("9.00"), Decimal("1.50"), Decimal("7.00")],
            "text": text,
            "large": pa.array(text, pa.large_string()),
            "view": pa.array(text, pa.string_view()),
            "codes": pa.array(text).dictionary_encode(),
            "flag": [True, False, True],
            "day": [date(2020, 1, 9), date(2020, 1, 7), date(2020, 1, 8)],
        }
    )
    pq.write_table(table, path)
    # 9 is missing in all columns, 7 in two of them.
    own = {"": ["9", "NA"], "exact": ["7"], "text": ["7"]}
    read = formats.read(path, reading=Reading(missing_codes=own)).to_pydict()
    assert read == {
        "small": [None, 1, 7],
        "whole": [None, 2**60 + 1, 7],
        "real": [None, 1.5, 7],
        "exact": [None, Decimal("1.50"), None],
        "text": [None, "x", None],
        **{name: [None, "x", "7"] for name in ("large", "view", "codes")},
        **table.select(["flag", "day"]).to_pydict(),
    }


@pytest.mark.parametrize("values", [[1, 2], ["a", "b"], [True, False]])
def test_missing_codes_that_do_not_occur_in_parquet(tmp_path, values):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": values}), path)
    assert formats.read(path, reading=Reading(missing_codes=["9"])).num_rows == 2
    with pytest.warns(DoubtfulCodes, match="codes of a, '8', do not occur in"):
        formats.read(path, reading=Reading(missing_codes={"": ["9"], "a": ["8"]}))


def test_missing_codes_are_compared_as_the_values_they_are(tmp_path):
    path = tmp_path / "a.parquet"
    last = date(9999, 12, 31)
    table = pa.table(
        {
            "large": [2**53, 2**53 + 1, 9],
            "wide": pa.array([2**64 - 1, 2**64 - 2, 9], pa.uint64()),
            "exact": [Decimal(2**60), Decimal(2**60 + 1), Decimal(9)],
            "single": pa.array([0.1, 0.5, 9], pa.float32()),
            "half": pa.array(np.array([0.1, 0.5, 9], np.float16)),
            "day": [last, date(2020, 1, 7), None],
            "time": pa.array([last, None, None]).cast(pa.timestamp("us")),
            "bytes": [b"0.1", b"0.5", b"9"],
            "flag": [True, False, True],
        }
    )
    pq.write_table(table, path)
    codes = ["9.0", "0.1", str(2**53), str(2**60), str(2**64 - 1), str(last), "1"]
    read = formats.read(path, reading=Reading(missing_codes=codes)).to_pydict()
    assert read == {
        **table.to_pydict(),
        "large": [None, 2**53 + 1, None],
        "wide": [None, 2**64 - 2, None],
        "exact": [None, Decimal(2**60 + 1), None],
        "single": [None, 0.5, None],
        "half": [None, 0.5, None],
        "day": [None, date(2020, 1, 7), None],
        "time": [None, None, None],
        "bytes": [None, b"0.5", b"9"],
    }


def test_views_are_text(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {"w": ["1.5", "2", "9"], "sex": ["f", "NA", None]}
    table = pa.table({n: pa.array(v, pa.string_view()) for n, v in columns.items()})
    pq.write_table(table, path)
    reading = Reading(missing_codes={"": ["NA"], "w": ["9"]})
    found = formats.read(path, ["w", "sex"], numeric=["w"], reading=reading)
    assert found.to_pydict() == {"w": [1.5, 2.0, None], "sex": ["f", None, None]}
    whole = formats.read(path, numeric=["w"])
    assert whole["w"].to_pylist() == [1.5, 2.0, 9.0]
    assert whole["sex"].type == pa.large_string()
