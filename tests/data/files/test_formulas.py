"""Text that a spreadsheet would run is guarded, and nothing else is changed."""

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import riskcore
from riskcore.data.files.formulas import guard_formulas
from riskcore.protection.release.readback import ReadBackError
from tests.accepted import ANY_LEAK

FORMULAS = [
    "=1+1", "=cmd|' /C calc'!A0", "+A1", "-A1", "-1-1", "-1+cmd|' /C calc'!A0",
    "@SUM(A1)", "\t=1", "\rA", "\nA",
    " =1", "'=1", "''=1", "' =1", "--", "=", "@", "\uff1d1",
    "-1,000.5", "+4,1,2",
]  # fmt: skip
PLAIN = [
    "", "a=b", "-1", "+1", "-1.5", "-1,5", "-.5", "1e-5", "-1e-5", "-", " - ", "+",
    "'", "'a", "'-1", "a\t=1", "north-east", "12-15",
]  # fmt: skip


def guarded(texts):
    return guard_formulas(pa.array(texts, pa.large_string())).to_pylist()


def test_formulas_get_an_apostrophe_and_other_text_none():
    assert guarded(FORMULAS) == [f"'{text}" for text in FORMULAS]
    assert guarded(PLAIN) == PLAIN
    assert guarded([None, "=1"]) == [None, "'=1"]


@given(st.lists(st.text("'= +-@\t\r\n1.,eE;\"\uff1dx", max_size=7), min_size=1))
@example(["'=1", "=1", "''=1", "'-1", "-1"])
def test_what_is_guarded_can_be_told_from_all_else(texts):
    assert len({*guarded(texts)}) == len({*texts})


def protected(tmp_path, monkeypatch, notes, name="job"):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RISKCORE_CONFIG_DIR", str(tmp_path / "config"))
    with open("in.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sex", "age", name])
        writer.writerows([i % 2, 20 + i % 3, note] for i, note in enumerate(notes))
    return riskcore.protect("in.csv", ["sex", "age"], k=2, **ANY_LEAK)


@pytest.mark.filterwarnings("ignore::riskcore.data.files.csv.LineBreaksInFields")
@pytest.mark.parametrize("target", ["safe.csv", "safe.tsv", "safe.csv.gz"])
def test_a_guarded_file_is_read_back(tmp_path, monkeypatch, target):
    notes = [*FORMULAS, *PLAIN] * 2
    result = protected(tmp_path, monkeypatch, notes)
    record = result.write(target, guard_formulas=True, public_record="public.json")
    assert record["output"]["formulas_guarded"] is True
    assert json.loads(Path("public.json").read_text())["formulas_guarded"] is True
    raw = Path(target).read_bytes()
    text = (gzip.decompress(raw) if target.endswith(".gz") else raw).decode()
    rows = [
        *csv.reader(
            io.StringIO(text, newline=""), delimiter="\t" if "tsv" in target else ","
        )
    ]
    assert [row[2] for row in rows[1:]] == guarded(notes)
    plain = result.write(f"plain-{target}")
    assert plain["output"]["formulas_guarded"] is False
    assert Path(f"plain-{target}").read_bytes() != raw


def test_keys_may_be_formulas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("a,b\n" + "=1,x\n" * 5 + "'=1,x\n" * 5 + "=1,y\n")
    result = riskcore.protect("in.csv", ["a", "b"], k=3, **ANY_LEAK)
    record = result.write("safe.csv", guard_formulas=True, record="r.json")
    assert record["sets"][0]["risk"]["protected"]["cells"] == 3
    lines = Path("safe.csv").read_text().splitlines()
    assert lines[1:6] == ["'=1,x"] * 5
    assert lines[6:11] == ["''=1,x"] * 5


def test_the_reader_finds_a_guard_that_is_missing(tmp_path, monkeypatch):
    result = protected(tmp_path, monkeypatch, ["'=1", "=1", "a"] * 4)
    monkeypatch.setattr(
        "riskcore.data.files.csv_writer.guard_formulas", lambda text: text
    )
    with pytest.raises(ReadBackError, match="'job' in 8 records, first in record 1"):
        result.write("safe.csv", guard_formulas=True)
    assert not Path("safe.csv").exists()


def test_what_cannot_be_guarded_is_refused(tmp_path, monkeypatch):
    result = protected(tmp_path, monkeypatch, ["a"] * 12)
    with pytest.raises(
        ValueError, match=r"guard_formulas: safe.parquet is not a CSV file"
    ):
        result.write("safe.parquet", guard_formulas=True)
    result = protected(tmp_path, monkeypatch, ["a"] * 12, "=job")
    with pytest.raises(
        ValueError, match="the column name '=job' begins like a formula"
    ):
        result.write("safe.csv", guard_formulas=True)
    result.write("safe.csv", guard_formulas=True, drop=["=job"])
