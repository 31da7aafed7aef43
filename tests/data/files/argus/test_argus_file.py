"""mu-Argus files: how they are recognized, and which can be written."""

import os

import pytest

from riskcore.data.files import formats
from riskcore.data.files.reading import LastLineOpen, Reading
from tests.data.files.conftest import written

CSV = 'sex,age,w\n1,"01",1.5\n2,,2\n'


# Reading


@pytest.mark.parametrize("name", ["a.asc", "a.dat", "a.txt", "a.data"])
def test_metadata_next_to_a_file_make_it_argus(tmp_path, name):
    path = written(tmp_path, "011.5\n 2  2\n", name)
    written(tmp_path, "A 1 2\n<HOUSE_ID>\nW 3 3\n<WEIGHT>\n", "A.RDA")
    data = formats.read(path, ["W", "A"])
    assert list(data) == ["W", "A"]
    assert data["A"].tolist() == ["01", "2"]
    assert data["W"].tolist() == [1.5, 2.0]
    assert formats.columns_of(path) == formats.Header(("A", "W"), "W", "A")


def test_metadata_next_to_csv_are_ignored(tmp_path):
    written(tmp_path, b"RDX3\0", "a.rda")
    assert formats.read(written(tmp_path, CSV)).num_rows == 2


def test_metadata_given_make_any_file_argus(tmp_path):
    metadata = written(tmp_path, '<SEPARATOR> ","\nA 2\nB 1\n<NUMERIC>\n', "meta.rda")
    path = written(tmp_path, "01,2\n", "a.csv")
    data = formats.read(path, reading=Reading(metadata=metadata))
    assert data["A"].tolist() == ["01"]
    assert data["B"].tolist() == [2.0]
    assert formats.columns_of(path, Reading(metadata=metadata)).names == ("A", "B")


@pytest.mark.parametrize("name", ["a.saf", "a.asc", "a.dat"])
def test_safe_files_have_their_own_metadata(tmp_path, name):
    path = written(tmp_path, "12\n", name)
    written(tmp_path, "SAFE 1 2\n", "a.rds")
    assert formats.columns_of(path).names == ("SAFE",)
    written(tmp_path, "RAW 1 2\n", "a.rda")
    expected = "SAFE" if name == "a.saf" else "RAW"
    assert formats.columns_of(path).names == (expected,)


def test_data_of_r_next_to_text_are_not_metadata(tmp_path):
    written(tmp_path, b"\x1f\x8b\0", "a.rds")
    assert formats.read(written(tmp_path, CSV, "a.txt")).num_rows == 2


def test_text_is_left_as_it_stands(tmp_path):
    path = written(tmp_path, "01  1.50 9\n 2118.30 1\n", "a.asc")
    written(tmp_path, "A 1 2\nW 3 6\n<WEIGHT>\nV 10 1 9\n<NUMERIC>\n", "a.rda")
    data = formats.read(path, text=True)
    assert [data[name].tolist() for name in "AWV"] == [
        ["01", "2"],
        ["1.50", "118.30"],
        [None, "1"],
    ]
    data = formats.read(path, text=True, numeric=["W"])
    assert data["W"].tolist() == [1.5, 118.3]
    assert data["V"].tolist() == [None, "1"]
    like = formats.format_of(path)
    assert (like.kind, like.path, like.metadata.names) == ("argus", path, tuple("AWV"))


def argus(folder, data, metadata="A 1 1\nB 2 2\n"):
    (folder / "a.rda").write_text(metadata)
    return written(folder, data, "a.asc")


def test_lines_of_mu_argus_files(tmp_path):
    path = argus(tmp_path, "101\n202\n303\n\n\n")
    assert str(formats.opened(path).read()[1]) == "5 lines: 3 records, 2 empty"
    path = argus(tmp_path, "101\r\n202\r\n303\x1a")
    assert str(formats.opened(path).read()[1]) == "3 lines: 3 records"
    path = argus(
        tmp_path, "A;B\n1;2\n3;4", '<SEPARATOR> ";"\n<NAMESINFRONT>\nA 1\nB 1\n'
    )
    with pytest.warns(LastLineOpen, match="2 records, and no line end after the last"):
        counted = formats.opened(path).read()[1]
    assert str(counted) == "3 lines: a header, 2 records"


def test_two_records_in_a_line_of_a_mu_argus_file(tmp_path):
    with pytest.raises(ValueError, match="a carriage return within line 2, where"):
        formats.read(argus(tmp_path, "101\n202\r303\n404\n"))
    with pytest.raises(ValueError, match="a carriage return within line 1, where"):
        formats.read(argus(tmp_path, "101\r202\r303\r404\n"))
    assert len(formats.read(argus(tmp_path, "101\r202\r303\r"))["A"]) == 3


# Writing


def argus_survey(folder):
    path = written(folder, "12\n34\n", "a.asc")
    written(folder, "A 1 1\nB 2 1\n", "a.rda")
    return formats.format_of(path)


def test_argus_data_come_with_their_metadata(tmp_path):
    like = argus_survey(tmp_path)
    columns, seen = formats.read(like.path, text=True), []
    for name in ("a.saf", "b.dat", "C.ASC"):
        path = formats.write(
            tmp_path / name,
            columns,
            like=like,
            progress=lambda *part: seen.append(part),
        )
        assert path.read_text() == "12\n34\n"
        assert formats.files_written(path, like) == (path, path.with_suffix(".rds"))
        assert formats.columns_of(path).names == ("A", "B")
        assert seen.pop() == (5, 6)
    with pytest.raises(FileExistsError, match=r"a\.saf: already exists"):
        formats.write(tmp_path / "a.saf", columns, like=like)
    (tmp_path / "a.saf").unlink()
    with pytest.raises(FileExistsError, match=r"a\.rds: already exists"):
        formats.write(tmp_path / "a.saf", columns, like=like)


def test_argus_data_are_converted(tmp_path):
    like = argus_survey(tmp_path)
    columns = formats.read(like.path, text=True)
    path = formats.write(tmp_path / "b.csv", columns, like=like)
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
        formats.check_writable(tmp_path / name, overwrite=True, like=like)


def test_argus_data_are_written_from_such_alone(tmp_path):
    for like in (None, formats.Format("csv"), formats.Format("parquet")):
        with pytest.raises(ValueError, match="only a mu-Argus file can be written as"):
            formats.check_writable(tmp_path / "a.asc", like=like)
    with pytest.raises(ValueError, match="need a source"):
        formats.write(tmp_path / "a.asc", {"A": ["1"]}, like=formats.Format("argus"))
    assert os.listdir(tmp_path) == []


def test_metadata_that_are_read_are_not_written_over(tmp_path):
    path = argus_survey(tmp_path).path
    written(tmp_path, "A 1 1\nB 2 1\n", "c.rds")
    like = formats.format_of(path, Reading(metadata=tmp_path / "c.rds"))
    with pytest.raises(ValueError, match=r"c\.rds: an input file"):
        formats.check_writable(tmp_path / "c.saf", overwrite=True, like=like)
