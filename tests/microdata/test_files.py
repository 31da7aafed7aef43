"""Reading and writing of files by suffix."""

import gzip
import math
import os
import sys
import tempfile
from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.microdata import files, replace
from riskcore.microdata.reading import Reading

CSV = 'sex,age,w\n1,"01",1.5\n2,,2\n'


def written(folder, text, name="a.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# Text


def test_csv_is_text_but_for_numeric_columns(tmp_path):
    table = files.read(written(tmp_path, CSV), numeric=["w"])
    assert table.to_pydict() == {
        "sex": ["1", "2"],
        "age": ["01", None],
        "w": [1.5, 2.0],
    }
    assert table.schema.field("w").type == pa.float64()


def test_only_columns_asked_for_in_their_order(tmp_path):
    path = written(tmp_path, CSV)
    assert files.read(path, ["w", "sex", "w"]).column_names == ["w", "sex"]
    assert files.read(path, ["sex"], numeric=["w"]).column_names == ["sex"]
    for bad in ({"columns": ["Age"]}, {"columns": ["sex"], "numeric": ["Age"]}):
        with pytest.raises(KeyError, match="no column 'Age'; close: age"):
            files.read(path, **bad)
    with pytest.raises(KeyError, match="no column 'u', 'v', 'x', 'y', 'z'; the col"):
        files.read(path, ["sex"], numeric={"z", "v", "x", "y", "u"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "a;b,c\n1;2\n"),
        ("a.csv", "a;b,c;d;e,f\n1;2;3;4\n"),
        ("a.tsv", "a,b\tc,d,e\n1\t2\n"),
        ("a.txt", "a\tb\n1\t2\n"),
        ("a.TXT", "a|b\r\n1|2\r\n"),
        ("a.csv", 'a;"b,c,d,e"\n1;2\n'),
        ("a.csv", "\ufeffa,b\n1,2\n"),
        ("a.csv", "a\n1\n"),
    ],
)
def test_delimiter_is_found_in_the_first_line(tmp_path, name, text):
    path = written(tmp_path, text, name)
    delimiter = {"a;": ";", "a,b\t": "\t", "a\t": "\t", "a|": "|"}
    expected = next(
        (d for start, d in delimiter.items() if text.startswith(start)), ","
    )
    if text == "a;b,c\n1;2\n":  # a tie: the comma comes first
        with pytest.raises(ValueError, match="do not have 2 fields"):
            files.read(path)
        expected = ";"
        table = files.read(path, reading=Reading(delimiter=";"))
    else:
        table = files.read(path)
    header = text.splitlines()[0].removeprefix("\ufeff").replace('"', "")
    assert table.column_names == header.split(expected)
    header = files.columns_of(path, Reading(delimiter=expected))
    assert table.column_names == list(header.names)
    assert [column[0].as_py() for column in table.columns] == (
        text.splitlines()[1].split(expected)
    )


def test_quotes_newlines_and_missing_values(tmp_path):
    path = written(tmp_path, '"x ""y""","b\nc"\n"1\r\n2",""\nNA,\n"NA",3\n\n')
    with pytest.warns(files.LineBreaksInFields, match="1 quoted fields .* 1 lines"):
        table, intake = files.read_counted(path)
    assert table.to_pydict() == {
        'x "y"': ["1\r\n2", "NA", "NA"],
        "b\nc": ["", None, "3"],
    }
    assert str(intake) == "7 lines: 2 of names, 3 records, 1 empty, 1 within 1 field"
    with pytest.warns(files.LineBreaksInFields):
        table = files.read(path, reading=Reading(missing_codes=["NA"]))
    assert table.column(0).to_pylist() == ["1\r\n2", None, "NA"]


def test_an_empty_line_is_a_record_of_a_single_column(tmp_path):
    assert files.read(written(tmp_path, "a\n1\n\n2\n")).column(0).to_pylist() == [
        "1",
        None,
        "2",
    ]


def test_a_header_alone_is_no_records(tmp_path):
    with pytest.raises(ValueError, match=r"a\.csv: a header, but no records"):
        files.read(written(tmp_path, "a,b\n"))


def test_encodings(tmp_path):
    path = written(tmp_path, "région,b\n1,é\n".encode("cp1252"))
    with pytest.raises(ValueError, match=r"not utf-8 at byte offset 1; give its enc"):
        files.columns_of(path)
    assert files.read(path, reading=Reading("cp1252")).to_pydict() == {
        "région": ["1"],
        "b": ["é"],
    }
    for encoding in ("utf-8-sig", "utf-16"):
        path = written(tmp_path, CSV.encode(encoding))
        table = files.read(path, reading=Reading(encoding))
        assert table.to_pydict()["age"] == ["01", None]
    late = b"a,b\n" + b"1,2\n" * 600_000 + b"1,\xe9\n"
    for name, content in (("b.csv", late), ("b.csv.gz", gzip.compress(late))):
        with pytest.raises(ValueError, match=f"byte offset {late.index(0xE9)};"):
            files.read(written(tmp_path, content, name))
    # A letter across the border of two parts of the file does not shift the offset.
    border = b"a,b\n" + b"1,2\n" * (2**18 - 2) + "1,xé\n".encode() + b"1,\xff\n"
    with pytest.raises(ValueError, match=f"byte offset {border.index(0xFF)};"):
        files.read(written(tmp_path, border))
    with pytest.raises(ValueError, match="encoding='martian' is unknown; use utf-8"):
        Reading("martian")


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_line_ends(tmp_path, line_end):
    path = written(tmp_path, CSV.replace("\n", line_end))
    assert files.read(path).column("w").to_pylist() == ["1.5", "2"]


def test_gzip(tmp_path):
    path = written(tmp_path, gzip.compress(CSV.encode()), "a.csv.gz")
    assert files.read(path).equals(files.read(written(tmp_path, CSV)))
    with pytest.raises(ValueError, match="not a gzip file"):
        files.read(written(tmp_path, CSV, "b.csv.gz"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n1,2\n", "first line"),
        ("a,b", "no records"),
        ("a,b,a,b\n1,2,3,4\n", "given twice: a, b"),
        ("a,b\n1,2\n1,2,3\n\n4\n", r"2 rows .* 2 fields .* row 2, line 3, has 3"),
        ('a,b\n"1\n2",2\n1\n', "1 rows .* row 2, line 4, has 1"),
        ('a,b\n1,2\n1,"2\n3,4\n', "the quote opened in line 3 is not closed"),
    ],
)
def test_bad_text_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        files.read(written(tmp_path, text))


@pytest.mark.parametrize(
    "text", ["x", "nan", "inf", "1e999", "0x10", "1_0", "1 2", "1.2.3", "-", "."]
)
def test_text_that_is_no_number_is_refused(tmp_path, text):
    path = written(tmp_path, f"w,v\n1,1\n{text},1\n{text},1\n")
    message = "w is not a number in 2 records, first in record 2: "
    with pytest.raises(ValueError, match=message) as caught:
        files.read(path, numeric=["w"])
    assert repr(text) in str(caught.value)


def test_decimal_commas_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"w is not a number in 1 records.*'1,5'"):
        files.read(written(tmp_path, "w;v\n1,5;1\n"), numeric=["w"])


@settings(deadline=None)
@given(st.from_regex(files._NUMBER, fullmatch=True, alphabet="0123456789+-.eE"))
def test_numbers_are_read_as_python_reads_them(text):
    expected = float(text)
    column = pa.chunked_array([[f" {text} ", None]])
    if math.isinf(expected):
        with pytest.raises(ValueError, match="not a number"):
            files._numbers("a.csv", "w", column)
    else:
        assert files._numbers("a.csv", "w", column).to_pylist() == [expected, None]


# Parquet


def test_parquet_keeps_its_types(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table(
        {"a.b": [1, None], "a": ["x", "y"], "w": ["1.5", "2"], "t": [1, 2]}
    )
    pq.write_table(table, path)
    assert files.columns_of(path).names == ("a.b", "a", "w", "t")
    assert files.read(path).equals(table)
    assert files.read(path, ["a", "a.b"]).equals(table.select(["a", "a.b"]))
    numbers = files.read(path, ["w", "t"], numeric=["w", "t"])
    assert numbers.to_pydict() == {"w": [1.5, 2.0], "t": [1, 2]}
    with pytest.raises(KeyError, match="no column 'c'"):
        files.read(path, ["c"])


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
    read = files.read(path, reading=Reading(missing_codes=own)).to_pydict()
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
def test_missing_codes_that_stand_nowhere_in_parquet(tmp_path, values):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": values}), path)
    assert files.read(path, reading=Reading(missing_codes=["9"])).num_rows == 2
    with pytest.warns(files.DoubtfulCodes, match="codes of a, '8', stand nowhere in"):
        files.read(path, reading=Reading(missing_codes={"": ["9"], "a": ["8"]}))


def test_bad_parquet_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"a\.parquet"):
        files.read(written(tmp_path, CSV, "a.parquet"))
    path = tmp_path / "b.parquet"
    pq.write_table(pa.table([[1], [2]], ["a", "a"]), path)
    with pytest.raises(ValueError, match="given twice: a"):
        files.read(path)


# mu-Argus


@pytest.mark.parametrize("name", ["a.asc", "a.dat", "a.txt", "a.data"])
def test_metadata_beside_make_a_file_argus(tmp_path, name):
    path = written(tmp_path, "011.5\n 2  2\n", name)
    written(tmp_path, "A 1 2\n<HOUSE_ID>\nW 3 3\n<WEIGHT>\n", "A.RDA")
    data = files.read(path, ["W", "A"])
    assert list(data) == ["W", "A"]
    assert data["A"].tolist() == ["01", "2"]
    assert data["W"].tolist() == [1.5, 2.0]
    assert files.columns_of(path) == files.Header(("A", "W"), "W", "A")


def test_metadata_beside_csv_are_not_taken_for_it(tmp_path):
    written(tmp_path, b"RDX3\0", "a.rda")
    assert files.read(written(tmp_path, CSV)).num_rows == 2


def test_metadata_given_make_any_file_argus(tmp_path):
    metadata = written(tmp_path, '<SEPARATOR> ","\nA 2\nB 1\n<NUMERIC>\n', "meta.rda")
    path = written(tmp_path, "01,2\n", "a.csv")
    data = files.read(path, reading=Reading(metadata=metadata))
    assert data["A"].tolist() == ["01"]
    assert data["B"].tolist() == [2.0]
    assert files.columns_of(path, Reading(metadata=metadata)).names == ("A", "B")


@pytest.mark.parametrize("name", ["a.saf", "a.asc", "a.dat"])
def test_safe_files_have_their_own_metadata(tmp_path, name):
    path = written(tmp_path, "12\n", name)
    written(tmp_path, "SAFE 1 2\n", "a.rds")
    assert files.columns_of(path).names == ("SAFE",)
    written(tmp_path, "RAW 1 2\n", "a.rda")
    expected = "SAFE" if name == "a.saf" else "RAW"
    assert files.columns_of(path).names == (expected,)


def test_data_of_r_beside_text_are_not_taken_for_metadata(tmp_path):
    written(tmp_path, b"\x1f\x8b\0", "a.rds")
    assert files.read(written(tmp_path, CSV, "a.txt")).num_rows == 2


def test_text_is_left_as_it_stands(tmp_path):
    path = written(tmp_path, "01  1.50 9\n 2118.30 1\n", "a.asc")
    written(tmp_path, "A 1 2\nW 3 6\n<WEIGHT>\nV 10 1 9\n<NUMERIC>\n", "a.rda")
    data = files.read(path, text=True)
    assert [data[name].tolist() for name in "AWV"] == [
        ["01", "2"],
        ["1.50", "118.30"],
        [None, "1"],
    ]
    data = files.read(path, text=True, numeric=["W"])
    assert data["W"].tolist() == [1.5, 118.3]
    assert data["V"].tolist() == [None, "1"]
    like = files.format_of(path)
    assert (like.kind, like.path, like.metadata.names) == ("argus", path, tuple("AWV"))


# What cannot be opened


def test_what_is_no_known_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        files.read(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="a directory"):
        files.read(tmp_path)
    for name in ("a.xlsx", "a", "a.rda", "a.parquet.gz"):
        with pytest.raises(ValueError, match=r"known are \.csv"):
            files.read(written(tmp_path, "x", name))
    with pytest.raises(FileNotFoundError, match=r"no metadata b\.rda"):
        files.columns_of(written(tmp_path, "x", "b.asc"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX files")
@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.asc"])
def test_devices_and_pipes_are_refused(tmp_path, name):
    # A pipe is no file that can be read twice, and one without a writer never ends.
    (tmp_path / name).symlink_to(os.devnull)
    with pytest.raises(OSError, match=f"{name}: a device or pipe, not a file"):
        files.read(tmp_path / name)
    os.mkfifo(tmp_path / f"pipe_{name}")
    with pytest.raises(OSError, match=f"{name}: a device or pipe, not a file"):
        files.format_of(tmp_path / f"pipe_{name}")


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs POSIX permissions")
def test_permission_errors_name_the_file():
    # Not tmp_path: pytest keeps that from other users, and root may read any file.
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), CSV)
        files.read(path)
        Path(folder).chmod(0o755)
        path.chmod(0)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)
            with pytest.raises(PermissionError, match=r"a\.csv"):
                files.read(path)
        finally:
            os.seteuid(user)


def test_without_pyarrow_it_is_named(tmp_path, monkeypatch):
    for module in ("pyarrow", "pyarrow.csv", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        files.read(written(tmp_path, CSV))
    with pytest.raises(ImportError, match="pip install pyarrow"):
        files.read(written(tmp_path, CSV, "a.parquet"))
    with pytest.raises(ImportError, match="pip install pyarrow"):
        files.write(tmp_path / "b.csv", {"a": [1]})


# Writing

names = st.text(min_size=1).filter(lambda name: not set(name) & set("\r\n\0"))
texts = st.one_of(
    st.none(), st.text(st.characters(codec="utf-8", exclude_characters="\0"))
)
numbers = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))
SUFFIXES = [".csv", ".tsv", ".csv.gz", ".parquet"]


line_breaks = pytest.mark.filterwarnings(
    "ignore::riskcore.microdata.files.LineBreaksInFields"
)


@line_breaks
@settings(deadline=None)
@given(st.lists(st.tuples(texts, numbers), min_size=1), st.sampled_from(SUFFIXES))
def test_what_is_written_is_read_back_to_the_last_bit(tmp_path_factory, rows, suffix):
    path = tmp_path_factory.mktemp("write") / f"a{suffix}"
    text, number = ([row[i] for row in rows] for i in (0, 1))
    types = {"text": pa.array(text, pa.string()), "w": pa.array(number, pa.float64())}
    assert files.write(path, types) == path
    table = files.read(path, numeric=["w"])
    assert table.column("text").to_pylist() == text
    assert list(map(repr, table.column("w").to_pylist())) == list(map(repr, number))


@line_breaks
@settings(deadline=None)
@given(st.lists(texts, min_size=1), st.sampled_from(",;\t|:"))
def test_a_single_column_is_read_back(tmp_path_factory, text, delimiter):
    path = tmp_path_factory.mktemp("write") / "a.csv"
    like = files.Format("csv", delimiter)
    files.write(path, {"text": pa.array(text, pa.string())}, like=like)
    assert files.read(path).column(0).to_pylist() == text


@line_breaks
@settings(deadline=None)
@given(
    st.lists(names, min_size=2, max_size=4, unique=True),
    st.sampled_from(",;\t|:"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.data(),
)
def test_a_file_is_written_like_its_source(
    tmp_path_factory, names, delimiter, encoding, data
):
    folder = tmp_path_factory.mktemp("like")
    rows = st.lists(texts, min_size=3, max_size=3)
    table = pa.table({name: pa.array(data.draw(rows), pa.string()) for name in names})
    like = files.Format("csv", delimiter, encoding)
    first = files.write(folder / "a.csv", table, like=like)
    given = delimiter if delimiter == ":" else None  # is not looked for
    source = Reading(encoding.removesuffix("-sig"), given)
    found = files.format_of(first, source)
    assert (found.delimiter, found.encoding) == (delimiter, encoding)
    rows = first.read_text(encoding).count("\n") - 1
    if rows > table.num_rows:
        # Text with line breaks may look like records in every line: it is refused.
        with suppress(ValueError):
            assert files.read(first, reading=source).equals(table)
        return
    read = files.read(first, reading=source)
    assert read.equals(table)
    second = files.write(folder / "b.csv", read, like=found)
    assert second.read_bytes() == first.read_bytes()


@line_breaks
def test_only_what_needs_quotes_is_quoted(tmp_path):
    text = 'a;"b,c";"d ""e"""\n01;x,y;\n"";"x;y";"""z"""\n"x\r";"\n";\t \n'
    path = written(tmp_path, text)
    safe = files.write(tmp_path / "b.csv", files.read(path), like=files.format_of(path))
    assert safe.read_bytes().decode() == text


def test_the_delimiter_of_tsv_is_the_tab(tmp_path):
    path = written(tmp_path, "a;b\n1;2\n")
    table = files.read(path)
    like = files.format_of(path)
    safe = files.write(tmp_path / "b.tsv", table, like=like)
    assert safe.read_bytes() == b"a\tb\n1\t2\n"
    packed = files.write(tmp_path / "b.csv.gz", table, like=like)
    assert gzip.decompress(packed.read_bytes()) == path.read_bytes()
    plain = files.write(tmp_path / "b.txt", table, like=like)
    assert plain.read_bytes() == path.read_bytes()


def test_text_that_the_encoding_lacks_is_refused(tmp_path):
    like = files.Format("csv", encoding="cp1252")
    columns = {"a": ["x", "é", "ł", "ń", "ł", None]}
    with pytest.raises(ValueError, match=r"column 'a': 3 values .* cp1252.*first 'ł'"):
        files.write(tmp_path / "a.csv", columns, like=like)
    with pytest.raises(ValueError, match="column name 'ł' has no cp1252 form"):
        files.write(tmp_path / "a.csv", {"ł": [1]}, like=like)
    assert os.listdir(tmp_path) == []
    columns = {"é": ["x", "€"]}
    path = files.write(tmp_path / "a.csv", columns, like=like)
    assert path.read_bytes() == "é\nx\n€\n".encode("cp1252")


def test_parquet_and_csv_are_converted(tmp_path):
    table = pa.table({"a": ["01", None], "w": [1.5, 2.0]})
    path = files.write(tmp_path / "a.parquet", table)
    like = files.format_of(path)
    assert files.read(path, text=True).equals(table)
    text = files.write(tmp_path / "a.csv", table, like=like)
    assert text.read_bytes() == b"a,w\n01,1.5\n,2\n"
    again = files.write(
        tmp_path / "b.parquet", files.read(text), like=files.format_of(text)
    )
    assert files.read(again).to_pydict() == {"a": ["01", None], "w": ["1.5", "2"]}


def test_progress_of_writing_reaches_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_ROWS", 3)
    seen = []
    files.write(
        tmp_path / "a.csv",
        {"a": range(7)},
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(3, 7), (6, 7), (7, 7)]
    assert files.read(tmp_path / "a.csv").num_rows == 7


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


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_all_kinds_of_columns_are_written(tmp_path, suffix):
    path = files.write(tmp_path / f"a{suffix}", COLUMNS)
    table = files.read(path)
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


def test_an_existing_file_is_kept_unless_asked_for(tmp_path):
    path = files.write(tmp_path / "a.csv", {"a": [1]})
    with pytest.raises(FileExistsError, match=r"a\.csv: exists"):
        files.write(path, {"a": [2]})
    assert path.read_bytes() == b"a\n1\n"
    files.write(path, {"a": [2]}, overwrite=True)
    assert path.read_bytes() == b"a\n2\n"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_link_is_written_through(tmp_path):
    path = files.write(tmp_path / "a.csv", {"a": [1]})
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    files.write(link, {"a": [2]}, overwrite=True)
    assert link.is_symlink()
    assert path.read_bytes() == b"a\n2\n"


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    path = files.write(tmp_path / "a.parquet", {"a": [1]})
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        files.write(path, {"a": [2]}, overwrite=True)
    with pytest.raises(OSError, match="disk full"):
        files.write(tmp_path / "b.csv", {"a": [2]})
    assert os.listdir(tmp_path) == ["a.parquet"]
    assert path.read_bytes() == before


def test_a_file_that_appears_meanwhile_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    monkeypatch.setattr(os, "fsync", lambda _: path.write_text("theirs"))
    with pytest.raises(FileExistsError):
        files.write(path, {"a": [1]})
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize(
    ("name", "columns", "error", "message"),
    [
        ("a.xlsx", {"a": [1]}, ValueError, "can write .csv"),
        ("a.parquet.gz", {"a": [1]}, ValueError, "can write .csv"),
        ("a.csv", {}, ValueError, "no columns"),
        ("a.csv", {"a": [1], "b": [1, 2]}, ValueError, "different length: .*'b': 2"),
        ("a.csv", {1: [1], "1": [2]}, ValueError, "the same name"),
        ("a.csv", {"a": [[1]]}, TypeError, "column 'a' of list"),
        ("a.csv", {"a": [1, "x"]}, TypeError, "column 'a' cannot be written"),
        ("no/a.csv", {"a": [1]}, FileNotFoundError, "no such directory"),
        ("", {"a": [1]}, ValueError, "can write"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, name, columns, error, message):
    with pytest.raises(error, match=message):
        files.write(tmp_path / name, columns)
    assert os.listdir(tmp_path) == []


def test_a_directory_is_not_overwritten(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(IsADirectoryError):
        files.write(tmp_path / "a.csv", {"a": [1]}, overwrite=True)


def test_a_source_is_not_written_over(tmp_path):
    path = written(tmp_path, CSV)
    like = files.format_of(path)
    (tmp_path / "link.csv").symlink_to(path)
    for target in (path, tmp_path / "link.csv"):
        with pytest.raises(ValueError, match="is read from"):
            files.write(target, {"a": [1]}, like=like, overwrite=True)
    assert path.read_text() == CSV


def argus_survey(folder):
    path = written(folder, "12\n34\n", "a.asc")
    written(folder, "A 1 1\nB 2 1\n", "a.rda")
    return files.format_of(path)


def test_argus_data_come_with_their_metadata(tmp_path):
    like = argus_survey(tmp_path)
    columns, seen = files.read(like.path, text=True), []
    for name in ("a.saf", "b.dat", "C.ASC"):
        path = files.write(
            tmp_path / name,
            columns,
            like=like,
            progress=lambda *part: seen.append(part),
        )
        assert path.read_text() == "12\n34\n"
        assert files.files_written(path, like) == (path, path.with_suffix(".rds"))
        assert files.columns_of(path).names == ("A", "B")
        assert seen.pop() == (5, 6)
    with pytest.raises(FileExistsError, match=r"a\.saf: exists"):
        files.write(tmp_path / "a.saf", columns, like=like)
    (tmp_path / "a.saf").unlink()
    with pytest.raises(FileExistsError, match=r"a\.rds: exists"):
        files.write(tmp_path / "a.saf", columns, like=like)


def test_argus_data_are_converted(tmp_path):
    like = argus_survey(tmp_path)
    columns = files.read(like.path, text=True)
    path = files.write(tmp_path / "b.csv", columns, like=like)
    assert path.read_text() == "A,B\n1,2\n3,4\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.asc", r"a\.rda: would be taken for the metadata of a\.asc"),
        ("A.DAT", r"a\.rda: would be taken for the metadata of A\.DAT"),
        ("a.rda", "can write .*, and .asc, .dat, .saf with metadata beside only"),
        ("b.rds", "can write"),
        ("b.txt", "can write"),
        ("b.asc.gz", "can write"),
        ("b", "can write"),
    ],
)
def test_where_argus_data_are_not_written(tmp_path, name, message):
    like = argus_survey(tmp_path)
    with pytest.raises(ValueError, match=message):
        files.check_writable(tmp_path / name, overwrite=True, like=like)


def test_argus_data_are_written_from_such_alone(tmp_path):
    for like in (None, files.Format("csv"), files.Format("parquet")):
        with pytest.raises(ValueError, match="only a mu-Argus file can be written as"):
            files.check_writable(tmp_path / "a.asc", like=like)
    with pytest.raises(ValueError, match="need a source"):
        files.write(tmp_path / "a.asc", {"A": ["1"]}, like=files.Format("argus"))
    assert os.listdir(tmp_path) == []


def test_metadata_that_are_read_are_not_written_over(tmp_path):
    path = argus_survey(tmp_path).path
    written(tmp_path, "A 1 1\nB 2 1\n", "c.rds")
    like = files.format_of(path, Reading(metadata=tmp_path / "c.rds"))
    with pytest.raises(ValueError, match=r"c\.rds: is read from"):
        files.check_writable(tmp_path / "c.saf", overwrite=True, like=like)


# Together with other files


@pytest.mark.parametrize("name", ["b.csv", "b.csv.gz", "b.parquet", "b.saf"])
def test_what_is_written_can_be_read_before_it_appears(tmp_path, name):
    like, parts = argus_survey(tmp_path), []

    def opening(path):
        parts.append(create(path))
        return parts[-1]

    columns = files.read(like.path, text=True)
    with replace.replacing_all(overwrite=False) as create:
        files.write(tmp_path / name, columns, like=like, create=opening)
        early = [Path(part.name).read_bytes() for part in parts]
    targets = files.files_written(tmp_path / name, like)
    assert early == [path.read_bytes() for path in targets]
