"""Parquet files."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from riskcore.files import formats


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


def test_bad_parquet_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"a\.parquet"):
        formats.read(path)
    path = tmp_path / "b.parquet"
    pq.write_table(pa.table([[1], [2]], ["a", "a"]), path)
    with pytest.raises(ValueError, match="given twice: a"):
        formats.read(path)


def test_row_groups_are_counted(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": range(10)}), path, row_group_size=4)
    assert str(formats.read_counted(path)[1]) == "10 records in 3 row groups"
