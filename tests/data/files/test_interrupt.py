"""Files are read in parts: progress is reported, and Ctrl-C leaves nothing behind."""

import os
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from riskcore.cli import main
from riskcore.cli.terminal import Progress
from riskcore.data.files import csv, formats, parquet, spss_stata_sas

ROWS = 1000
COLUMNS = {"sex": ["1", "2"] * (ROWS // 2), "age": [str(i % 7) for i in range(ROWS)]}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(csv, "_PART", 512)
    monkeypatch.setattr(spss_stata_sas, "_ROWS", 200)
    monkeypatch.setattr(parquet, "_ROWS", 200)
    monkeypatch.setattr("riskcore.data.files.ipc._ROWS", 200)


def source(folder, name):
    """Write a file of several parts."""
    path = folder / name
    if name.endswith(".parquet"):
        pq.write_table(pa.table(COLUMNS), path, row_group_size=100)
    elif name == "set":
        for i in range(3):
            formats.write(folder / f"{i}.parquet", COLUMNS)
        path.mkdir()
        for i in range(3):
            (folder / f"{i}.parquet").rename(path / f"{i}.parquet")
    else:
        formats.write(path, COLUMNS)
    return path


NAMES = ["a.csv", "a.csv.gz", "a.parquet", "a.feather", "a.sav", "a.dta", "set"]


@pytest.mark.parametrize("name", NAMES)
def test_progress_is_reported_from_beginning_to_end(tmp_path, name):
    parts = []
    path = source(tmp_path, name)
    table = formats.read(path, progress=lambda *one: parts.append(one))
    assert table["sex"].to_pylist() == COLUMNS["sex"] * (3 if name == "set" else 1)
    assert len(parts) >= 3
    assert parts == sorted(parts)
    done, whole = parts[-1]
    assert done == whole
    assert {one for _, one in parts} == {whole}


@pytest.mark.parametrize("command", ["assess", "protect"])
@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_between_two_parts_leaves_nothing(tmp_path, monkeypatch, name, command):
    path = source(tmp_path, name)
    threads = threading.active_count()
    before = sorted(os.listdir(tmp_path))

    def stop(step):
        calls = []

        def told(*part):
            calls.append(part)
            if len(calls) == 2:
                raise KeyboardInterrupt

        return told

    monkeypatch.setattr(Progress, "parts", lambda self, step: stop(step))
    target = tmp_path / "out.csv"
    options = ["--threshold", "0.9"] if command == "protect" else []
    arguments = [command, str(path), "--keys", "sex", "age", "--output", str(target)]
    assert main([*arguments, *options]) == 130
    assert sorted(os.listdir(tmp_path)) == before
    assert threading.active_count() == threads
    monkeypatch.undo()
    assert main([*arguments, *options]) == 0
