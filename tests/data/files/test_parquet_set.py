"""Parquet files that are read as one."""

import json
import os

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from riskcore import Reading, assess, protect
from riskcore.data.files import formats
from riskcore.data.files.parquet_set import FilesPassedOver
from riskcore.data.source import Source
from tests import needs
from tests.accepted import ANY_LEAK


def put(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


@pytest.fixture
def survey(tmp_path):
    """Return a folder of two years, as Hive lays them out."""
    folder = tmp_path / "survey"
    put(folder / "year=2020" / "part-1.parquet", sex=["c"], w=[4.0])
    put(folder / "year=2020" / "part-0.parquet", sex=["a", "b"], w=[1.0, 2.0])
    put(folder / "year=2019" / "part-9.parquet", sex=["d"], w=[8.0])
    return folder


def test_files_in_folders_are_read_in_the_order_of_their_names(survey):
    assert formats.columns_of(survey).names == ("sex", "w", "year")
    table, intake = formats.opened(survey).read()
    assert table.to_pydict() == {
        "sex": ["d", "a", "b", "c"], "w": [8.0, 1.0, 2.0, 4.0],
        "year": ["2019", "2020", "2020", "2020"],
    }  # fmt: skip
    assert str(intake) == "4 records in 3 row groups of 3 files"
    assert intake.to_dict() == {"row_groups": 3, "files": 3, "records": 4}
    assert formats.read(survey, ["year"]).to_pydict() == {
        "year": table["year"].to_pylist()
    }
    assert formats.read(survey, ["year", "sex"]).column_names == ["year", "sex"]
    assert formats.read(survey, ["year"], numeric=["year"])["year"].to_pylist() == [
        2019.0, 2020.0, 2020.0, 2020.0,
    ]  # fmt: skip
    with pytest.raises(KeyError, match="no column 'month'"):
        formats.read(survey, ["month"])


def test_partition_columns_are_keys(survey, tmp_path):
    found = assess(survey, ["year"], "w")
    assert found.cells.population_frequency.tolist() == [8.0, 7.0]
    result = protect(survey, ["year", "sex"], threshold=0.9, **ANY_LEAK)
    record = result.write(tmp_path / "safe.parquet")
    assert pq.read_table(tmp_path / "safe.parquet").column_names == ["sex", "w", "year"]
    assert record["input"]["file"] == "survey"
    assert json.loads((tmp_path / "safe.parquet.private.json").read_text())["output"]


def test_patterns(survey, tmp_path):
    only = survey / "year=2020" / "*.parquet"
    assert formats.read(only)["sex"].to_pylist() == ["a", "b", "c"]
    assert formats.columns_of(only).names == ("sex", "w")
    years = survey / "year=20?0" / "part-[0-9].parquet"
    assert formats.read(years).to_pydict()["year"] == ["2020"] * 3
    every = survey / "**" / "*.parquet"
    assert formats.read(every)["sex"].to_pylist() == ["d", "a", "b", "c"]
    with pytest.raises(FileNotFoundError, match="no file matches this pattern"):
        formats.read(survey / "month=*" / "*.parquet")
    # A file that is called like a pattern is that file.
    put(tmp_path / "a[1].parquet", a=["x"])
    assert formats.read(tmp_path / "a[1].parquet")["a"].to_pylist() == ["x"]


def test_the_order_is_that_of_folders_and_names_on_every_system(tmp_path):
    # As one text "a-b/x" would come before "a/x", for "-" comes before "/".
    for name in ("a-b/x.parquet", "a/x.parquet", "a/B.parquet", "x.pq"):
        put(tmp_path / "s" / name, at=[name])
    assert formats.read(tmp_path / "s")["at"].to_pylist() == [
        "a/B.parquet", "a/x.parquet", "a-b/x.parquet", "x.pq",
    ]  # fmt: skip


def test_folders_that_other_programs_write(tmp_path):
    columns = {"year": ["2019", "2020", "2020"], "sex": ["f", "m", None]}
    pd.DataFrame(columns).to_parquet(tmp_path / "pandas", partition_cols=["year"])
    table = pa.table({**columns, "g": ["a/b=c", None, "ü %"]})
    pa.dataset.write_dataset(
        table, tmp_path / "arrow", format="parquet",
        partitioning=["year", "g"], partitioning_flavor="hive",
    )  # fmt: skip
    pl.DataFrame(columns).write_parquet(
        tmp_path / "polars", partition_by="year", mkdir=True
    )
    for name in ("pandas", "polars"):
        read = formats.read(tmp_path / name, ["year", "sex"]).to_pylist()
        assert sorted(map(str, read)) == sorted(
            str({"year": y, "sex": s}) for y, s in zip(*columns.values(), strict=True)
        )
    read = formats.read(tmp_path / "arrow", ["year", "sex", "g"]).to_pylist()
    assert sorted(map(str, read)) == sorted(map(str, table.to_pylist()))


def test_hidden_files_are_passed_over(survey):
    (survey / "_SUCCESS").touch()
    (survey / ".part-0.parquet.crc").write_text("x")
    assert formats.read(survey).num_rows == 4
    (survey / "_temporary").mkdir()
    (survey / "_temporary" / "half.parquet").write_text("x")
    with pytest.warns(FilesPassedOver, match="1 file or folder .*_temporary: names"):
        assert formats.read(survey).num_rows == 4
    (survey / "year=2020" / "._part-0.parquet").write_text("x")
    with pytest.warns(FilesPassedOver, match="2 files or folders with Parquet data"):
        assert formats.read(survey).num_rows == 4
    (survey / "codes.csv").write_text("a\n1\n")
    with pytest.raises(
        ValueError, match=r"1 files that are not Parquet, such as .*codes"
    ):
        formats.read(survey)


PLACES = ("", "*/*.parquet", "**/*.parquet", "year=*/**/*.parquet")


@pytest.fixture(params=PLACES)
def place(request, survey):
    """Return the folder of the survey, or a pattern for all its files."""
    return survey / request.param


@pytest.fixture
def later(tmp_path):
    """Return a folder with a year that is kept elsewhere."""
    put(tmp_path / "kept" / "part-0.parquet", sex=["e", "f"], w=[1.0, 1.0])
    return tmp_path / "kept"


def test_links_to_folders_are_followed(survey, later, place):
    (survey / "year=2021").symlink_to(later)
    assert formats.read(place)["sex"].to_pylist() == list("dabcef")
    assert len(assess(place, ["sex"]).individual_risk) == 6
    (survey / "year=2019" / "part-8.parquet").symlink_to(later / "part-0.parquet")
    with pytest.raises(ValueError, match=r"year=2021.*the same file as .*part-8"):
        formats.read(place)


def test_what_a_link_leads_to_is_not_written_into(survey, later, place):
    (survey / "year=2021").symlink_to(later)
    like = formats.format_of(place)
    with pytest.raises(ValueError, match="would become one of the files of"):
        formats.check_writable(later / "safe.parquet", like=like)
    formats.check_writable(later.parent / "safe.parquet", like=like)


def test_a_file_that_two_paths_lead_to_is_refused(survey, place):
    first = survey / "year=2019" / "part-9.parquet"
    os.link(first, survey / "year=2020" / "same.parquet")
    with pytest.raises(ValueError, match=r"same\.parquet: the same file as .*part-9"):
        formats.read(place)
    os.remove(survey / "year=2020" / "same.parquet")
    (survey / "year=2021").symlink_to(survey / "year=2020")
    with pytest.raises(ValueError, match="whose records would count twice"):
        formats.read(place)


@pytest.mark.parametrize("place", ["", "**/*.parquet"], indirect=True)
def test_links_in_a_circle_are_refused(survey, place):
    (survey / "year=2020" / "again").symlink_to(survey)
    with pytest.raises(
        ValueError, match=r"again: a link to .*, a folder that contains it"
    ):
        formats.read(place)
    os.remove(survey / "year=2020" / "again")
    (survey / "a").symlink_to(survey / "b")
    (survey / "b").symlink_to(survey / "a")
    if place == survey:
        with pytest.raises(ValueError, match="2 files that are not Parquet"):
            formats.read(place)
    (survey / "year=2020" / "c.parquet").symlink_to(survey / "a")
    if place != survey:
        with pytest.raises(OSError, match="symbolic links"):
            formats.read(place)


def test_a_link_that_leads_nowhere_is_refused(survey, place):
    (survey / "year=2020" / "part-2.parquet").symlink_to("gone.parquet")
    with pytest.raises(FileNotFoundError, match=r"part-2\.parquet"):
        formats.read(place)


def test_a_partition_without_files_is_refused(survey, place):
    (survey / "year=2021").mkdir()
    (survey / "year=2021" / ".part-0.parquet.crc").touch()
    with pytest.raises(ValueError, match="year=2021: a partition without files"):
        formats.read(place)


def test_a_partition_whose_name_begins_with_a_low_line_is_read(tmp_path):
    for year in (1, 2):
        put(tmp_path / "s" / f"_year={year}" / "a.parquet", a=["x"])
    assert formats.read(tmp_path / "s")["_year"].to_pylist() == ["1", "2"]


def test_a_folder_that_may_not_be_read_is_refused(survey, place, monkeypatch):
    listdir = os.listdir

    def refused(path):
        if str(path).endswith("2019"):
            raise PermissionError(13, "Permission denied", str(path))
        return listdir(path)

    monkeypatch.setattr(os, "listdir", refused)
    with pytest.raises(PermissionError, match="year=2019"):
        formats.read(place)


@needs.posix
def test_a_pipe_among_the_files_is_refused(survey, place):
    os.mkfifo(survey / "year=2020" / "pipe.parquet")
    with pytest.raises(OSError, match=r"pipe\.parquet: a device or pipe, not a file"):
        formats.read(place)


@pytest.mark.parametrize("log", ["_delta_log", ".hoodie"])
def test_a_table_with_a_log_is_refused(survey, place, log):
    (survey / log).mkdir()
    with pytest.raises(ValueError, match=f"{log}, says which of its files are"):
        formats.read(place)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"sex": [1], "w": [1.0]}, "'sex' is string in .*part-9.* int64 in .*new"),
        ({"sex": ["a"]}, "'w' is double in .* and not there in .*new"),
        ({"sex": ["a"], "w": [1.0], "x": [1]}, "'x' is not there in .* int64"),
        ({"sex": ["a"], "w": [1.0], "year": ["a"]}, "'year' is not there in"),
    ],
)
def test_mixed_schemas_are_refused(survey, columns, message):
    put(survey / "year=2020" / "new.parquet", **columns)
    with pytest.raises(ValueError, match=f"files with different columns: {message}"):
        formats.read(survey)


def test_the_order_of_columns_may_differ(survey):
    put(survey / "year=2021" / "new.parquet", w=[9.0], sex=["z"])
    assert formats.read(survey).slice(4).to_pylist() == [
        {"sex": "z", "w": 9.0, "year": "2021"}
    ]


def test_folders_that_do_not_agree_are_refused(survey, tmp_path):
    put(survey / "new.parquet", sex=["a"], w=[1.0])
    with pytest.raises(
        ValueError, match=r"different columns: none for new.*'year' for"
    ):
        formats.read(survey)
    put(tmp_path / "s" / "a=1" / "x.parquet", a=[1], b=["x"])
    assert formats.read(tmp_path / "s").to_pylist() == [{"a": 1, "b": "x"}]
    put(tmp_path / "t" / "a=1" / "a=2" / "x.parquet", b=["1"])
    with pytest.raises(ValueError, match="the folders give 'a' twice"):
        formats.read(tmp_path / "t")


def test_nothing_to_read_is_refused(tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    for _ in ("empty", "text"):
        with pytest.raises(IsADirectoryError, match="only a directory of Parquet"):
            formats.read(folder)
        (folder / "a.csv").write_text("a\n1\n")
    none = pa.table({"a": pa.array([], pa.string())})
    put(tmp_path / "none" / "a.parquet", a=none["a"])
    with pytest.raises(ValueError, match="a header, but no records"):
        formats.read(tmp_path / "none")
    put(tmp_path / "none" / "b.parquet", a=["x"])
    assert formats.read(tmp_path / "none")["a"].to_pylist() == ["x"]
    with pytest.raises(ValueError, match="only a CSV has a delimiter"):
        formats.read(tmp_path / "none", reading=Reading(delimiter=";"))


def test_a_set_that_changes_is_refused(survey):
    for change in (
        lambda: put(survey / "year=2021" / "a.parquet", sex=["q"], w=[1.0]),
        lambda: os.utime(survey / "year=2019" / "part-9.parquet", (0, 0)),
    ):
        source = Source.of(survey)
        assert source.names == ("sex", "w", "year")
        change()
        with pytest.raises(ValueError, match="start again"):
            source.read(["sex"])


def test_a_set_is_not_written_into(survey, tmp_path, monkeypatch):
    like = formats.format_of(survey)
    for name in ("safe.parquet", "year=2020/safe.csv"):
        with pytest.raises(ValueError, match="would become one of the files of"):
            formats.check_writable(survey / name, like=like)
    with pytest.raises(ValueError, match="an input file"):
        formats.check_writable(like.files[0], like=like, overwrite=True)
    monkeypatch.chdir(survey / "year=2020")
    pattern = formats.format_of("part-*.parquet")
    with pytest.raises(ValueError, match="would become one of the files of"):
        formats.check_writable("part-safe.parquet", like=pattern)
    formats.check_writable("safe.parquet", like=pattern)
    formats.check_writable("part-safe.csv", like=pattern)
    with pytest.raises(ValueError, match="would become one of the files of"):
        formats.check_writable("x.parquet", like=formats.format_of("**/*.parquet"))


def test_progress_by_file(survey):
    parts = []
    formats.read(survey, progress=lambda *one: parts.append(one))
    assert parts == [(1, 3), (2, 3), (3, 3)]
