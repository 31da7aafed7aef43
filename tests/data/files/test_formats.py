"""Reading and writing of files by suffix."""

import itertools
import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore import assess
from riskcore.data.files import arrow, formats, replace
from riskcore.data.files.intake import Intake
from riskcore.data.files.reading import Reading
from riskcore.data.source import Source
from tests.data.files.conftest import written

CSV = 'sex,age,w\n1,"01",1.5\n2,,2\n'


# What cannot be opened


def test_unknown_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        formats.read(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="a directory"):
        formats.read(tmp_path)
    for name in ("a.xls", "a", "a.rda", "a.parquet.gz"):
        with pytest.raises(ValueError, match=r"known are \.csv"):
            formats.read(written(tmp_path, "x", name))
    with pytest.raises(FileNotFoundError, match=r"no metadata b\.rda"):
        formats.columns_of(written(tmp_path, "x", "b.asc"))


@pytest.mark.parametrize(
    ("suffix", "libraries", "to_write"),
    [
        (".csv", "pyarrow", ""), (".parquet", "pyarrow", ""),
        (".xlsx", "pyarrow openpyxl", ""), (".sav", "pyarrow pyreadstat", " pandas"),
    ],
)  # fmt: skip
def test_missing_libraries_are_named(
    tmp_path, monkeypatch, suffix, libraries, to_write
):
    monkeypatch.setattr("riskcore.common.needs.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=f"pip install {libraries}$"):
        formats.read(written(tmp_path, CSV, f"a{suffix}"))
    with pytest.raises(ImportError, match=f"pip install {libraries}{to_write}$"):
        formats.write(tmp_path / f"b{suffix}", {"a": [1]})
    assert len(list(tmp_path.iterdir())) == 1


# Writing

texts = st.one_of(
    st.none(), st.text(st.characters(codec="utf-8", exclude_characters="\0"))
)
numbers = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))
SUFFIXES = [".csv", ".tsv", ".csv.gz", ".parquet", ".feather", ".arrow"]


@pytest.mark.filterwarnings("ignore::riskcore.data.files.csv.LinesWithoutValues")
@pytest.mark.filterwarnings("ignore::riskcore.data.files.formats.LineBreaksInFields")
@settings(deadline=None)
@given(st.lists(st.tuples(texts, numbers), min_size=1), st.sampled_from(SUFFIXES))
def test_what_is_written_is_read_back_to_the_last_bit(tmp_path_factory, rows, suffix):
    path = tmp_path_factory.mktemp("write") / f"a{suffix}"
    text, number = ([row[i] for row in rows] for i in (0, 1))
    types = {"text": pa.array(text, pa.string()), "w": pa.array(number, pa.float64())}
    assert formats.write(path, types) == path
    table = formats.read(path, numeric=["w"])
    assert table.column("text").to_pylist() == text
    assert list(map(repr, table.column("w").to_pylist())) == list(map(repr, number))


def test_parquet_and_csv_are_converted(tmp_path):
    table = pa.table({"a": ["01", None], "w": [1.5, 2.0]})
    path = formats.write(tmp_path / "a.parquet", table)
    like = formats.format_of(path)
    assert formats.read(path, text=True).equals(table)
    text = formats.write(tmp_path / "a.csv", table, like=like)
    assert text.read_bytes() == b"a,w\n01,1.5\n,2\n"
    again = formats.write(
        tmp_path / "b.parquet", formats.read(text), like=formats.format_of(text)
    )
    assert formats.read(again).to_pydict() == {"a": ["01", None], "w": ["1.5", "2"]}


def test_an_existing_file_is_kept_unless_asked_for(tmp_path):
    path = formats.write(tmp_path / "a.csv", {"a": [1]})
    with pytest.raises(FileExistsError, match=r"a\.csv: already exists"):
        formats.write(path, {"a": [2]})
    assert path.read_bytes() == b"a\n1\n"
    formats.write(path, {"a": [2]}, overwrite=True)
    assert path.read_bytes() == b"a\n2\n"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_file_that_appears_meanwhile_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    monkeypatch.setattr(os, "fsync", lambda _: path.write_text("theirs"))
    with pytest.raises(FileExistsError):
        formats.write(path, {"a": [1]})
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize(
    ("name", "columns", "error", "message"),
    [
        ("a.xls", {"a": [1]}, ValueError, "can write .csv"),
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
        formats.write(tmp_path / name, columns)
    assert os.listdir(tmp_path) == []


def test_a_source_is_not_written_over(tmp_path):
    path = written(tmp_path, CSV)
    like = formats.format_of(path)
    (tmp_path / "link.csv").symlink_to(path)
    for target in (path, tmp_path / "link.csv"):
        with pytest.raises(ValueError, match="an input file"):
            formats.write(target, {"a": [1]}, like=like, overwrite=True)
    assert path.read_text() == CSV


def argus_survey(folder):
    path = written(folder, "12\n34\n", "a.asc")
    written(folder, "A 1 1\nB 2 1\n", "a.rda")
    return formats.format_of(path)


# Together with other files


@pytest.mark.parametrize(
    "name", ["b.csv", "b.csv.gz", "b.parquet", "b.feather", "b.saf"]
)
def test_what_is_written_can_be_read_before_it_appears(tmp_path, name):
    like, parts = argus_survey(tmp_path), []

    def opening(path):
        parts.append(create(path))
        return parts[-1]

    columns = formats.read(like.path, text=True)
    with replace.replacing_all(overwrite=False) as create:
        formats.write(tmp_path / name, columns, like=like, create=opening)
        early = [Path(part.name).read_bytes() for part in parts]
    targets = formats.files_written(tmp_path / name, like)
    assert early == [path.read_bytes() for path in targets]


# A new format


class JsonFile(arrow.ArrowFormat):
    """An object of columns: all that a format needs."""

    kind = "json"
    title = "JSON"
    suffixes = (".json",)
    targets = (".json",)
    typed = True

    def table(self):
        return pa.table(json.loads(self.path.read_text()))

    def read_header(self):
        return formats.Header(tuple(self.table().column_names))

    def read_table(self, columns, progress):
        table = self.table()
        return table.select(columns), Intake(records=table.num_rows)

    @classmethod
    def write_tables(cls, tables, file, path, how):
        (table,) = tables
        file.write(json.dumps(table.to_pydict()).encode())


@pytest.fixture
def with_json(monkeypatch):
    monkeypatch.setattr(formats, "FORMATS", (*formats.FORMATS, JsonFile))


@pytest.mark.usefixtures("with_json")
def test_a_format_is_one_class_and_one_line(tmp_path):
    columns = {"sex": ["f", "9", "m"], "w": ["1", "2.5", "4"], "age": [30, 40, None]}
    path = formats.write(tmp_path / "s.json", columns)
    assert formats.columns_of(path).names == ("sex", "w", "age")
    assert formats.format_of(path) == formats.Format("json", path=path)
    reading = Reading(missing_codes={"sex": "9", "age": ["40"]})
    table, intake = formats.opened(path, reading).read(numeric=["w"])
    assert table.to_pydict() == {
        "sex": ["f", None, "m"], "w": [1.0, 2.5, 4.0], "age": [30, None, None],
    }  # fmt: skip
    assert intake.records == 3
    found = assess(path, ["sex"], "w")
    assert found.cells.population_frequency.tolist() == [2.5, 1.0, 4.0]
    source = Source.of(path, reading)
    assert source.numbers("w").to_pylist() == [1.0, 2.5, 4.0]
    text = formats.write(tmp_path / "s.csv", source.data, like=source.format)
    assert text.read_text() == "sex,w,age\nf,1,30\n,2.5,\nm,4,\n"
    again = formats.write(tmp_path / "t.json", formats.read(text))
    assert json.loads(again.read_text())["sex"] == ["f", None, "m"]


@pytest.mark.usefixtures("with_json")
def test_messages_about_a_new_format(tmp_path):
    path = formats.write(tmp_path / "s.json", {"a": ["1"]})
    with pytest.raises(ValueError, match=r"\.saf, \.json$"):
        formats.read(written(tmp_path, "x", "a.xls"))
    with pytest.raises(
        ValueError, match=r"\.sav, \.zsav, \.dta, \.xlsx and \.json only$"
    ):
        formats.check_writable(tmp_path / "a.xls")
    with pytest.raises(ValueError, match="a JSON file; only a CSV has a delimiter"):
        formats.columns_of(path, Reading(delimiter=";"))
    with pytest.raises(KeyError, match=r"s\.json: no column 'A'; did you mean 'a'"):
        formats.read(path, ["A"])
    empty = formats.write(tmp_path / "e.json", {"a": []})
    with pytest.raises(ValueError, match=r"e\.json: a header, but no records"):
        formats.read(empty)


def test_each_format_has_a_name_and_suffixes_of_its_own():
    for one, other in itertools.combinations(formats.FORMATS, 2):
        assert one.kind != other.kind
        assert one.title != other.title
        assert not set(one.suffixes) & set(other.suffixes)
