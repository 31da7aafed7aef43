"""Every line is accounted for: files are refused if records are lost."""

from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from riskcore.data.files import formats
from riskcore.data.files.intake import Intake

PATH = Path("a.csv")
LINES = Intake(records=3, lines=8, names=1, empty=2, within=2, broken_fields=1)


def test_lines_that_add_up():
    LINES.check(PATH, 3)
    Intake(records=3, row_groups=1).check(PATH, 3)
    assert str(LINES) == "8 lines: a header, 3 records, 2 empty, 2 within 1 field"


@pytest.mark.parametrize("read", [2, 4])
@pytest.mark.parametrize("intake", [LINES, Intake(records=3, row_groups=1)])
def test_records_that_are_lost_or_made(intake, read):
    with pytest.raises(ValueError, match=f"lost in reading.*{read} records came out"):
        intake.check(PATH, read)


@pytest.mark.parametrize("lines", [7, 9])
def test_lines_that_are_lost_or_made(lines):
    intake = Intake(records=3, lines=lines, names=1, empty=2, within=2, broken_fields=1)
    with pytest.raises(ValueError, match=f"The file holds {lines} lines: a header"):
        intake.check(PATH, 3)


class Shorter:
    """A reader of batches that loses the first record of each."""

    def __init__(self, reader):
        self.reader, self.schema = reader, reader.schema

    def __iter__(self):
        return (batch.slice(1) for batch in self.reader)


def test_a_reader_that_loses_a_record(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3,4\n5,6\n")
    reader = pyarrow.csv.open_csv
    monkeypatch.setattr(pyarrow.csv, "open_csv", lambda *a: Shorter(reader(*a)))
    with pytest.raises(ValueError, match=r"a\.csv: records were lost in reading"):
        formats.read(path)
    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"a": [1, 2, 3]}), path)
    whole = pyarrow.parquet.ParquetFile.read_row_groups
    monkeypatch.setattr(
        pyarrow.parquet.ParquetFile,
        "read_row_groups",
        lambda *a, **k: whole(*a, **k).slice(1),
    )
    with pytest.raises(ValueError, match=r"a\.parquet: records were lost in reading"):
        formats.read(path)
