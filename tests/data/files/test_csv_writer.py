"""Writing CSV: quotes, delimiters, encodings."""

import gzip
import os
from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.data.files import csv_writer, formats
from riskcore.data.files.reading import Reading
from tests.data.files.conftest import written

names = st.text(min_size=1).filter(lambda name: not set(name) & set("\r\n\0"))
texts = st.one_of(
    st.none(), st.text(st.characters(codec="utf-8", exclude_characters="\0"))
)
line_breaks = pytest.mark.filterwarnings(
    "ignore::riskcore.data.files.formats.LineBreaksInFields"
)


@line_breaks
@settings(deadline=None)
@given(st.lists(texts, min_size=1), st.sampled_from(",;\t|:"))
def test_a_single_column_is_read_back(tmp_path_factory, text, delimiter):
    path = tmp_path_factory.mktemp("write") / "a.csv"
    like = formats.Format("csv", delimiter)
    formats.write(path, {"text": pa.array(text, pa.string())}, like=like)
    assert formats.read(path).column(0).to_pylist() == text


@pytest.mark.filterwarnings("ignore::riskcore.data.files.csv.LinesWithoutValues")
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
    like = formats.Format("csv", delimiter, encoding)
    first = formats.write(folder / "a.csv", table, like=like)
    given = delimiter if delimiter == ":" else None  # is not looked for
    source = Reading(encoding.removesuffix("-sig"), given)
    found = formats.format_of(first, source)
    assert (found.delimiter, found.encoding) == (delimiter, encoding)
    rows = first.read_text(encoding).count("\n") - 1
    if rows > table.num_rows:
        # Text with line breaks may look like records in every line: it is refused.
        with suppress(ValueError):
            assert formats.read(first, reading=source).equals(table)
        return
    read = formats.read(first, reading=source)
    assert read.equals(table)
    second = formats.write(folder / "b.csv", read, like=found)
    assert second.read_bytes() == first.read_bytes()


@line_breaks
def test_only_what_needs_quotes_is_quoted(tmp_path):
    text = 'a;"b,c";"d ""e"""\n01;x,y;\n"";"x;y";"""z"""\n"x\r";"\n";\t \n'
    path = written(tmp_path, text)
    safe = formats.write(
        tmp_path / "b.csv", formats.read(path), like=formats.format_of(path)
    )
    assert safe.read_bytes().decode() == text


@pytest.mark.filterwarnings("ignore::riskcore.data.files.csv.LinesWithoutValues")
def test_values_that_equal_a_missing_code_stay_values(tmp_path):
    # NA in quotes is Namibia.
    text = 'a,b\n"NA",x\n"-9","NA"\nNAM,y\n,z\n'
    reading = Reading(missing_codes={"": ["NA", "-9"], "b": ["z"]})
    path = written(tmp_path, text.replace(",z", "NA,z"))
    like = formats.format_of(path, reading)
    table = formats.read(path, reading=reading)
    assert table["a"].to_pylist() == ["NA", "-9", "NAM", None]
    safe = formats.write(tmp_path / "b.csv", table, like=like)
    assert safe.read_text() == text.replace(",z", ",")
    assert formats.read(safe, reading=Reading(missing_codes=["NA", "-9"])) == table
    numbers = formats.write(tmp_path / "c.csv", {"a": [-9, 9]}, like=like)
    assert numbers.read_text() == 'a\n"-9"\n9\n'


def test_the_delimiter_of_tsv_is_the_tab(tmp_path):
    path = written(tmp_path, "a;b\n1;2\n")
    table = formats.read(path)
    like = formats.format_of(path)
    safe = formats.write(tmp_path / "b.tsv", table, like=like)
    assert safe.read_bytes() == b"a\tb\n1\t2\n"
    packed = formats.write(tmp_path / "b.csv.gz", table, like=like)
    assert gzip.decompress(packed.read_bytes()) == path.read_bytes()
    plain = formats.write(tmp_path / "b.txt", table, like=like)
    assert plain.read_bytes() == path.read_bytes()


def test_text_that_the_encoding_lacks_is_refused(tmp_path):
    like = formats.Format("csv", encoding="cp1252")
    columns = {"a": ["x", "é", "ł", "ń", "ł", None]}
    with pytest.raises(ValueError, match=r"column 'a': 3 values .* cp1252.*first 'ł'"):
        formats.write(tmp_path / "a.csv", columns, like=like)
    with pytest.raises(ValueError, match="column name 'ł' has no cp1252 form"):
        formats.write(tmp_path / "a.csv", {"ł": [1]}, like=like)
    assert os.listdir(tmp_path) == []
    columns = {"é": ["x", "€"]}
    path = formats.write(tmp_path / "a.csv", columns, like=like)
    assert path.read_bytes() == "é\nx\n€\n".encode("cp1252")


def test_progress_of_writing_reaches_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_writer, "_ROWS", 3)
    seen = []
    formats.write(
        tmp_path / "a.csv",
        {"a": range(7)},
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(3, 7), (6, 7), (7, 7)]
    assert formats.read(tmp_path / "a.csv").num_rows == 7
