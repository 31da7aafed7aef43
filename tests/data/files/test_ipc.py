"""Arrow files."""

import contextlib
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore import Reading, assess, protect
from riskcore.data.files import formats


def written(path, table, **options):
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, **options)
    return path


def test_types_are_kept(tmp_path):
    table = pa.table(
        {
            "a.b": [1, None], "a": ["01", None], "w": ["1.5", "2"],
            "day": [date(2020, 1, 9), None], "exact": [Decimal("9.00"), None],
            "codes": pa.array(["x", None]).dictionary_encode(),
            "time": pa.array([1, None], pa.timestamp("ns", "Europe/Rome")),
            "list": [[1], None], "flag": [True, None],
        }
    )  # fmt: skip
    path = written(tmp_path / "a.arrow", table)
    assert formats.columns_of(path).names == tuple(table.column_names)
    assert formats.read(path).equals(table)
    assert formats.read(path, ["a", "a.b"]).equals(table.select(["a", "a.b"]))
    assert formats.read(path, ["w"], numeric=["w"]).to_pydict() == {"w": [1.5, 2.0]}
    assert formats.read(path, []).num_columns == 0
    again = formats.write(tmp_path / "b.feather", formats.read(path))
    assert formats.read(again).equals(table)
    assert pyarrow.feather.read_table(again).equals(table)
    with pytest.raises(KeyError, match="no column 'A'"):
        formats.read(path, ["A"])


def test_files_of_other_programs(tmp_path):
    columns = {"sex": ["f", None, "m"], "w": [1.5, 2.0, 4.0]}
    pd.DataFrame(columns).to_feather(tmp_path / "pandas.feather")
    pl.DataFrame(columns).write_ipc(tmp_path / "polars.arrow", compression="zstd")
    for name in ("pandas.feather", "polars.arrow"):
        assert formats.read(tmp_path / name).to_pydict() == columns
        found = assess(tmp_path / name, ["sex"], "w", missing="category")
        assert found.cells.population_frequency.tolist() == [1.5, 4.0, 2.0]
    path = formats.write(tmp_path / "b.arrow", columns)
    assert pl.read_ipc(path).to_dict(as_series=False) == columns
    assert pd.read_feather(tmp_path / "b.arrow")["w"].tolist() == columns["w"]


def test_batches_are_counted_and_shown(tmp_path):
    path = written(tmp_path / "a.arrow", pa.table({"a": range(10)}), max_chunksize=4)
    parts = []
    _, intake = formats.opened(path).read(progress=lambda *one: parts.append(one))
    assert str(intake) == "10 records in 3 batches"
    assert intake.to_dict() == {"batches": 3, "records": 10}
    assert parts == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("rows", [[], None])
def test_no_records(tmp_path, rows):
    path = tmp_path / "a.arrow"
    with pa.ipc.new_file(path, pa.schema({"a": pa.int64()})) as file:
        if rows is not None:
            file.write_table(pa.table({"a": pa.array(rows, pa.int64())}))
    with pytest.raises(ValueError, match=r"a\.arrow: a header, but no records"):
        formats.read(path)


def test_other_files_than_arrow_are_refused(tmp_path):
    path = tmp_path / "a.feather"
    table = pa.table({"a": ["x", "y"] * 9})
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"a\.feather: "):
        formats.read(path)
    path.write_bytes(b"FEA1" + bytes(20))
    with pytest.raises(ValueError, match="Feather version 1"):
        formats.read(path)
    with pa.ipc.new_stream(path, table.schema) as file:
        file.write_table(table)
    with pytest.raises(ValueError, match=r"a\.feather: "):
        formats.read(path)
    written(path, pa.table([[1], [2]], ["a", "a"]))
    with pytest.raises(ValueError, match="given twice: a"):
        formats.read(path)


def test_a_damaged_file_ends_no_process(tmp_path):
    path = written(tmp_path / "a.arrow", pa.table({"a": ["x", "yy", None] * 9}))
    whole = path.read_bytes()
    refused = 0
    for place in range(8, len(whole)):
        path.write_bytes(
            whole[:place] + bytes([whole[place] ^ 0x7F]) + whole[place + 1 :]
        )
        with contextlib.suppress(ValueError):
            formats.read(path)
            continue
        refused += 1
    assert refused > 100


def test_missing_codes(tmp_path):
    path = written(tmp_path / "a.arrow", pa.table({"a": ["x", "9"], "b": [9, 7]}))
    read = formats.read(path, reading=Reading(missing_codes={"": ["9"], "b": ["7"]}))
    assert read.to_pydict() == {"a": ["x", None], "b": [None, None]}


HIDDEN = "a secret that was blanked"


@pytest.mark.parametrize("suffix", [".feather", ".arrow"])
def test_nothing_is_left_under_a_missing_value(tmp_path, suffix):
    # A buffer of Arrow keeps what a mask only marks as missing.
    texts = pa.array(["x", HIDDEN, "y"])
    number = np.array([1, 0x5EC5E75EC5E7, 3])
    mask = pa.array([True, False, True]).buffers()[1]
    columns = {
        "text": pa.Array.from_buffers(pa.string(), 3, [mask, *texts.buffers()[1:]]),
        "number": pa.Array.from_buffers(pa.int64(), 3, [mask, pa.py_buffer(number)]),
        "codes": pa.DictionaryArray.from_arrays([0, None, 1], ["x", "y", HIDDEN]),
        "none": pa.Array.from_buffers(
            pa.int64(), 3, [pa.py_buffer(bytes(1)), pa.py_buffer(number)]
        ),
    }
    path = formats.write(tmp_path / f"a{suffix}", columns)
    assert formats.read(path).to_pydict() == {
        "text": ["x", None, "y"], "number": [1, None, 3], "codes": ["x", None, "y"],
        "none": [None] * 3,
    }  # fmt: skip
    raw = path.read_bytes()
    assert HIDDEN.encode() not in raw
    assert number[1].tobytes() not in raw


def test_a_missing_code_leaves_nothing_of_itself(tmp_path):
    source = pa.table({"sex": ["f", "m", HIDDEN] * 9, "n": [1, 2, 0x5EC5E75EC5E7] * 9})
    path = written(tmp_path / "a.arrow", source)
    reading = Reading(missing_codes={"sex": HIDDEN, "n": str(0x5EC5E75EC5E7)})
    roles = {"n": "harmless"}
    result = protect(path, ["sex"], threshold=0.5, reading=reading, roles=roles)
    result.write(tmp_path / "b.arrow")
    raw = (tmp_path / "b.arrow").read_bytes()
    assert HIDDEN.encode() not in raw
    assert (0x5EC5E75EC5E7).to_bytes(6, "little") not in raw


values = {
    pa.string(): st.text(st.characters(codec="utf-8")),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint8(): st.integers(0, 255),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
}


@st.composite
def tables(draw):
    n = draw(st.integers(1, 9))
    kinds = draw(st.lists(st.sampled_from(list(values)), min_size=1, max_size=4))
    return pa.table(
        {
            str(i): pa.array(
                draw(st.lists(st.none() | values[kind], min_size=n, max_size=n)), kind
            )
            for i, kind in enumerate(kinds)
        }
    )


@settings(deadline=None)
@given(tables())
def test_what_is_written_is_read_back(tmp_path_factory, table):
    path = formats.write(tmp_path_factory.mktemp("ipc") / "a.feather", table)
    read = formats.read(path)
    assert read.equals(table)
    for one, other in zip(read.columns, table.columns, strict=True):
        assert list(map(repr, one.to_pylist())) == list(map(repr, other.to_pylist()))
