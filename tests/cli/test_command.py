"""The command: what it prints, writes and refuses, and how it ends."""

import gzip
import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from riskcore import accuracy, assess, cli, reproduce, simulate
from riskcore.assessment.assess import RECORD_COLUMNS
from riskcore.assessment.uniques import estimate_uniques
from riskcore.data.files import formats
from tests import needs, thin

SURVEY = b"""\
region,age,weight,household,note
02,30,10,x,"a,b"
01,30,20.5,y,
02,30,15.25,x,"\xc3\xa9"
01,40,40,z,-
"""
ROLES = ["--keys", "region", "age", "--weight", "weight", "--household", "household"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder that holds one survey."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.csv").write_bytes(SURVEY)
    return tmp_path


@pytest.fixture
def figures(run):
    """Run ``riskcore assess --json`` and return what a strict reader gets."""

    def command(*arguments):
        status, out, _ = run("assess", *arguments, "--json")
        assert status == 0
        return json.loads(out, parse_constant=lambda name: pytest.fail(name))

    return command


def start(*arguments, environment=(), **options):
    """Start the command in a process of its own."""
    source = str(Path(cli.__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-m", "riskcore", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": source, **dict(environment)},
        **options,
    )


def assert_refused(outcome, *parts):
    status, out, err = outcome
    assert (status, out) == (2, "")
    last = err.splitlines()[-1]
    starts = (
        "riskcore", "riskcore assess", "riskcore error-table", "riskcore demo",
        "riskcore uniques", "riskcore protect",
    )  # fmt: skip
    assert last.startswith(tuple(f"{start}: error: " for start in starts))
    for part in parts:
        assert part in last


# What it prints


def test_summary(run):
    status, out, err = run("assess", "survey.csv", *ROLES, "--rate", "1%")
    assert (status, err) == (0, "")
    assert out.startswith("riskcore 0.1.0: survey.csv\n  records ")
    result = assess("survey.csv", ["region", "age"], "weight", "household")
    assert f"{100 * result.reidentification_rate:.8g} %" in out
    assert f"{100 * result.household_reidentification_rate:.8g} %" in out
    assert f"{result.risk_threshold(rate=0.01):.8g}" in out


def test_json_has_every_bit(figures):
    result = assess("survey.csv", ["region", "age"], "weight", "household")
    found = figures(
        "survey.csv",
        *ROLES,
        "--rate",
        "0.7%",
        "--unsafe",
        1,
        "--threshold",
        0,
        "10%",
        1,
    )
    assert found["file"] == "survey.csv"
    assert found["max_risk"] == result.max_risk
    assert found["reidentification_rate"] == result.reidentification_rate
    assert found["expected_reidentifications"] == result.expected_reidentifications
    assert found["for_rate"]["rate"] == 0.007
    assert found["for_rate"]["threshold"] == result.risk_threshold(rate=0.007)
    assert found["for_unsafe"]["threshold"] == result.risk_threshold(unsafe=1)
    assert [row["threshold"] for row in found["unsafe_records"]] == [0.0, 0.1, 1.0]
    assert [row["records"] for row in found["unsafe_records"]] == [4, 1, 0]
    households = found["households"]
    assert households["reidentification_rate"] == result.household_reidentification_rate
    assert [row["region"] for row in found["riskiest"]] == ["01", "01", "02"]


@pytest.mark.parametrize("method", ["exact", "series7", "franconi"])
def test_method(figures, method):
    result = assess("survey.csv", ["region"], "weight", method=method)
    found = figures(
        "survey.csv", "--keys", "region", "--weight", "weight", "--method", method
    )
    assert (found["method"], found["max_risk"]) == (method, result.max_risk)


@pytest.mark.parametrize(
    ("options", "key", "threshold", "records"),
    [
        (["--rate", "0"], "for_rate", 0.0, 4),
        (["--rate", "100%"], "for_rate", None, 0),
        (["--rate", "99%"], "for_rate", None, 0),
        (["--unsafe", "0"], "for_unsafe", None, 0),
        (["--unsafe", "4"], "for_unsafe", "min", 4),
    ],
)
def test_ends_of_the_thresholds(figures, options, key, threshold, records):
    found = figures("survey.csv", *ROLES, *options)
    if threshold == "min":
        result = assess("survey.csv", ["region", "age"], "weight")
        threshold = result.individual_risk.min()
    assert (found[key]["threshold"], found[key]["records"]) == (threshold, records)


def test_top(run, figures):
    assert len(figures("survey.csv", *ROLES, "--top", 2)["riskiest"]) == 2
    assert "Riskiest" not in run("assess", "survey.csv", *ROLES, "--top", 0)[1]


def test_population_below_sample_is_never_silent(run, folder):
    (folder / "low.csv").write_text("k,w\n1,0.25\n1,0.5\n2,7\n")
    told = "in 1 of 2 cells (2 of 3 records) the weights add to less than the records"
    for options in ([], ["--json"], ["--quiet"]):
        status, out, err = run(
            "assess", "low.csv", "--keys", "k", "--weight", "w", *options
        )
        assert status == 0
        assert err.startswith("riskcore: warning: ")
        assert told in err
        assert len(err.splitlines()) == 1
        if options == ["--json"]:
            assert json.loads(out)["cells_below_sample"] == 1
            assert json.loads(out)["records_below_sample"] == 2
            assert json.loads(out)["max_risk"] == 0.5
        else:
            assert "(F < f) in 1 cell with 2 records: their risk is taken as 1/f" in out


def test_labels_and_names_cannot_steer_the_terminal(run, folder):
    name = "evil\x1b[31m.csv"
    (folder / name).write_bytes(b"k\x1b[1m,w\n\x1b[2J,2\n\xe2\x80\xaex,3\n")
    status, out, err = run("assess", name, "--keys", "k\x1b[1m", "--weight", "w")
    assert (status, err) == (0, "")
    assert "evil\\x1b[31m.csv" in out
    assert "\\x1b[2J" in out
    assert all(c.isprintable() for c in out.replace("\n", ""))
    for wrong in (["--keys", "k"], ["--keys", "\x1b[7m"]):
        _, out, err = run("assess", name, *wrong)
        assert err.endswith("\n")
        assert err.rstrip("\n").isprintable()


def test_json_keeps_labels_as_they_are(figures, folder):
    (folder / "s.csv").write_bytes("k\n\x1b[2J\né\n".encode())
    assert {row["k"] for row in figures("s.csv", "--keys", "k")["riskiest"]} == {
        "\x1b[2J", "é",
    }  # fmt: skip


# What it reads


def test_semicolons_byte_order_mark_and_gzip(figures, folder):
    (folder / "bom.csv").write_bytes(b"\xef\xbb\xbfsex;w\r\n1;2,5\r\n2;3\r\n")
    assert figures("bom.csv", "--keys", "sex")["cells"] == 2
    (folder / "s.csv.gz").write_bytes(gzip.compress(SURVEY))
    expected = figures("survey.csv", *ROLES)
    assert figures("s.csv.gz", *ROLES) == {**expected, "file": "s.csv.gz"}


def test_encoding_and_delimiter(figures, folder):
    (folder / "old.csv").write_bytes(b"Stra\xdfe/w\nB\xf6/2\nC/3\n")
    found = figures(
        "old.csv", "--keys", "Straße", "--weight", "w", "--encoding", "cp1252",
        "--delimiter", "/",
    )  # fmt: skip
    assert {row["Straße"] for row in found["riskiest"]} == {"Bö", "C"}


def test_parquet_keys_of_every_type(figures, folder):
    table = pa.table(
        {
            "date": pa.array([0, 1, 0], pa.date32()),
            "time": pa.array([0, 1, 0], pa.timestamp("ns")),
            "flag": [True, False, True],
            "real": [0.5, float("inf"), 0.5],
            "code": pa.array(["a", "b", "a"]).dictionary_encode(),
            "weight": [2, 3, 4],
        }
    )
    pq.write_table(table, "t.parquet")
    keys = table.column_names[:-1]
    found = figures("t.parquet", "--keys", *keys, "--weight", "weight")
    assert found["cells"] == 2
    assert found["population"] == 9.0
    assert found["riskiest"][0]["date"] == "1970-01-02"
    assert found["riskiest"][0]["real"] == "inf"


def test_column_of_no_name(figures, folder):
    (folder / "r.csv").write_text('"",k\n2,a\n3,b\n')
    found = figures("r.csv", "--keys", "k", "--weight", "")
    assert found["population"] == 5.0


def test_missing_keys(run, figures, folder):
    (folder / "m.csv").write_text("a,b\n,1\n2,1\n,1\n")
    assert_refused(run("assess", "m.csv", "--keys", "a", "b"), "'a' in 2 of 3 records")
    # A rule that this command has is the first to be named.
    refused = run("uniques", "m.csv", "--keys", "a", "--population", "9")
    assert_refused(refused, "'a' in 2 of 3 records; missing='category' (--missing cat")
    assert "which the models of uniques do not have" in refused[2]
    found = figures("m.csv", "--keys", "a", "b", "--missing", "category")
    assert found["cells"] == 2
    status, out, _ = run("assess", "m.csv", "--keys", "a", "--missing", "category")
    assert status == 0
    assert "(missing)" in out


def test_missing_keys_as_wildcards(run, figures, folder):
    (folder / "m.csv").write_text("a,b,w\n1,1,10\n1,1,20\n2,1,30\n,1,40\n1,,50\n")
    roles = ["m.csv", "--keys", "a", "b", "--weight", "w", "--missing"]
    found = figures(*roles, "wildcard", "--alpha", "50%")
    assert (found["missing"], found["alpha"]) == ("wildcard", 0.5)
    assert (found["records"], found["cells"], found["population"]) == (5, 4, 150.0)
    assert found["riskiest"][0]["sample_frequency"] == 1.5
    status, out, _ = run("assess", *roles, "wildcard")
    assert status == 0
    assert (
        "missing keys                 match any value, as in sdcMicro, alpha 1" in out
    )
    assert "mu-Argus" in run("assess", *roles, "argus")[1]
    wrong = run("assess", *roles, "argus", "--alpha", "0.5")
    assert_refused(wrong, "--alpha 0.5 needs --missing wildcard")


# What it writes


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz", "out.parquet"])
def test_output_has_all_columns_in_record_order(run, name):
    status, out, _ = run("assess", "survey.csv", *ROLES, "--output", name)
    assert status == 0
    assert f"The risk of each record is in {name}" in out
    assert formats.columns_of(name).names == (
        "region", "age", "weight", "household", "note", *RECORD_COLUMNS,
    )  # fmt: skip
    written = formats.read(name, numeric=RECORD_COLUMNS)
    assert written["region"].to_pylist() == ["02", "01", "02", "01"]
    assert written["note"].to_pylist() == ["a,b", None, "é", "-"]
    result = assess("survey.csv", ["region", "age"], "weight", "household")
    for column in RECORD_COLUMNS:
        expected = np.asarray(result.records[column]).tolist()
        assert written[column].to_pylist() == expected


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_output_of_a_mu_argus_file(run, folder, name):
    (folder / "s.rda").write_text(
        "SEX 1 1 9\n <RECODABLE>\nW 2 5\n <WEIGHT>\nHH 7 2\n <HOUSE_ID>\n"
        "INCOME 9 4 9999\n <NUMERIC>\n"
    )
    (folder / "s.asc").write_text("112.50 7 100\n2 8.0012   5\n1 7.50 79999\n")
    outcome = run(
        "assess", "s.asc", "--keys", "SEX", "--household", "HH", "--output", name
    )
    assert outcome[0] == 0
    written = formats.read(name, numeric=["W", "INCOME", *RECORD_COLUMNS])
    assert written.column_names == ["SEX", "W", "HH", "INCOME", *RECORD_COLUMNS]
    assert written["SEX"].to_pylist() == ["1", "2", "1"]
    assert written["population_frequency"].to_pylist() == [20.0, 8.0, 20.0]
    result = assess("s.asc", ["SEX"], household="HH")
    assert written["individual_risk"].to_pylist() == result.individual_risk.tolist()
    assert written["household_risk"].to_pylist() == result.household_risk.tolist()


def test_output_replaces_only_if_told(run, folder):
    (folder / "out.csv").write_text("mine")
    refused = run("assess", "survey.csv", *ROLES, "--output", "out.csv")
    assert_refused(refused, "out.csv: exists")
    assert (folder / "out.csv").read_text() == "mine"
    done = run("assess", "survey.csv", *ROLES, "--output", "out.csv", "--overwrite")
    assert done[0] == 0
    assert (folder / "out.csv").read_text() != "mine"
    assert sorted(os.listdir()) == ["out.csv", "survey.csv"]


@pytest.mark.parametrize("link", [None, os.symlink, os.link])
def test_output_is_never_the_input(run, folder, link):
    target = "survey.csv"
    if link:
        link("survey.csv", "link.csv")
        target = "link.csv"
    for options, said in (([], "exists"), (["--overwrite"], "is read from")):
        outcome = run("assess", "survey.csv", *ROLES, "--output", target, *options)
        assert_refused(outcome, target, said)
    assert (folder / "survey.csv").read_bytes() == SURVEY


def test_nothing_is_written_if_refused(run):
    for options in (["--unsafe", "5"], ["--missing", "x"], ["--keys", "region", "zip"]):
        assert_refused(
            run("assess", "survey.csv", *ROLES, "--output", "o.csv", *options)
        )
    assert os.listdir() == ["survey.csv"]


@pytest.mark.parametrize(
    ("output", "part"),
    [
        ("out.xlsx", "can write .csv"),
        ("out", "can write .csv"),
        ("no/out.csv", "no: no such directory"),
        ("folder.csv", "a directory"),
    ],
)
def test_output_refused_before_work(run, folder, output, part):
    (folder / "folder.csv").mkdir()
    assert_refused(run("assess", "absent.csv", "--keys", "k", "--output", output), part)


ASSESS = ["assess", "survey.csv", *ROLES]
PROTECT = ["protect", "survey.csv", *ROLES, "--threshold", "0.9"]
OUTPUTS = {
    "assess": [*ASSESS, "--output", "{}.csv"],
    "assess, report": [*ASSESS, "--report", "{}.csv"],
    "protect": [*PROTECT, "--output", "{}.csv"],
    "protect, record": [*PROTECT, "--output", "safe.csv", "--record", "{}.csv"],
    "protect, report": [*PROTECT, "--report", "{}.csv"],
    "uniques": ["uniques", "survey.csv", "--keys", "age", "--plot", "{}.png"],
    "uniques, report": ["uniques", "survey.csv", "--keys", "age", "--report", "{}.csv"],
    "simulate": ["simulate", "microdata", "--records", "9", "--output", "{}.csv"],
    "error-table": [
        "error-table", "--forms", "series7", "--f", "1", "--p", "0.5", "--output",
        "{}.csv",
    ],
    "error-table, text": [
        "error-table", "--forms", "series7", "--f", "1", "--p", "0.5", "--output",
        "{}.md",
    ],
    "demo": ["demo", "--file", "{}.csv"],
    "reproduce": ["reproduce", "mokken", "--output", "{}.csv"],
}  # fmt: skip


@pytest.mark.parametrize("command", OUTPUTS)
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("loop", "a loop of symbolic links"),
        ("loop.csv/x", "a loop of symbolic links"),
        ("dangling", "a link to nowhere"),
        ("folder", "a directory, not a file"),
        ("pipe", "a device, not a file"),
        ("survey.csv/x", "survey.csv: not a directory"),
        ("no/x", "no: no such directory"),
        ("x" * 253, "File name too long"),
        ("x\0y", "cannot have a NUL"),
    ],
)
def test_odd_outputs_are_refused(run, folder, monkeypatch, command, name, said):
    """In one line, and before any work."""
    words = [word.format(name) for word in OUTPUTS[command]]
    end = Path(next(word for word in words if name in word)).suffix
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / f"loop{end}").unlink(missing_ok=True)
    (folder / f"loop{end}").symlink_to(f"loop{end}")
    if end != ".csv":
        name = name.replace("loop.csv/", f"loop{end}/")
        words = [word.replace("loop.csv/", f"loop{end}/") for word in words]
    (folder / f"dangling{end}").symlink_to("nowhere")
    (folder / f"folder{end}").mkdir()
    os.mkfifo(folder / f"pipe{end}")
    if command == "reproduce" and name == "folder":
        (folder / "folder.csv" / "reproductions.md").mkdir()
    if command == "reproduce" and name == "pipe":
        said = "not a directory"
    before = sorted(os.listdir())

    def work(*_, **__):
        pytest.fail("work is done")

    for module, function in [
        (formats, "read"), (simulate, "microdata"), (reproduce, "compare"),
        (accuracy, "error_table"),
    ]:  # fmt: skip
        monkeypatch.setattr(module, function, work)
    status, out, err = run(*words, "--quiet")
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert said in err
    assert sorted(os.listdir()) == before


def test_table_and_report_appear_together(run, folder, monkeypatch):
    for name in ("out.csv", "out.html"):
        (folder / name).write_text("old")
    both = ["--output", "out.csv", "--report", "out.html", "--overwrite"]
    with monkeypatch.context() as patch:

        def broken(*_, **__):
            raise OSError("disk full")

        patch.setattr("riskcore.report.page.page", broken)
        assert_refused(run("assess", "survey.csv", *ROLES, *both), "disk full")
    assert {(folder / name).read_text() for name in ("out.csv", "out.html")} == {"old"}
    assert run("assess", "survey.csv", *ROLES, *both)[0] == 0
    assert "old" not in {Path(name).read_text() for name in ("out.csv", "out.html")}
    assert sorted(os.listdir()) == ["out.csv", "out.html", "survey.csv"]


@needs.posix
def test_outputs_are_not_more_open_than_the_survey(run, folder):
    (folder / "survey.csv").chmod(0o600)
    assert run(*ASSESS, "--output", "o.csv", "--report", "o.html")[0] == 0
    assert run(*PROTECT, "--report", "p.html")[0] in (0, 1)
    assert run(*PROTECT, "--output", "p.csv", "--allow-unsafe")[0] in (0, 1)
    assert run("uniques", "survey.csv", "--keys", "age", "--weight", "weight",
               "--plot", "u.svg")[0] == 0  # fmt: skip
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert len(modes) == 7
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("name", ["individual_risk", "Individual_Risk"])
def test_a_column_called_like_a_result(run, folder, name):
    (folder / "s.csv").write_text(f"k,{name}\n1,0.5\n2,0.5\n")
    assert run("assess", "s.csv", "--keys", "k")[0] == 0
    assert_refused(
        run("assess", "s.csv", "--keys", "k", "--output", "o.csv"), repr(name)
    )
    assert_refused(run("assess", "s.csv", "--keys", name), repr(name))


# What it refuses


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("s.csv", b"", "s.csv: the file is empty"),
        ("s.csv", b"k,w\n", "no records"),
        ("s.csv", b"k,w", "s.csv: no records"),
        ("s.csv", b"k,W\n1,2\n", "s.csv: no column 'w'"),
        ("s.csv", b"k,k,w\n1,1,2\n", "given twice: k"),
        ("s.csv", b"k,w\n1,many\n1,2\n", "w is not a number in 1 record,"),
        ("s.csv", b"k,w\n1,nan\n1,2\n", "w is not a number in 1 record,"),
        ("s.csv", b"k,w\n1,inf\n1,2\n", "w is not a number in 1 record,"),
        ("s.csv", b"k,w\n1,-1\n1,2\n", "weight 'w': 1 zero or negative in 2 records"),
        ("s.csv", b"k,w\n1,0\n1,0\n", "weight 'w': 2 zero or negative in 2 records"),
        ("s.csv", b"k,w\n1,\n1,2\n", "weight 'w': 1 missing in 2 records"),
        (
            "s.csv",
            b"k,w\n1,1e308\n1,1e308\n",
            "weight 'w': the sum overflows",
        ),
        ("s.csv", b"k,w\n,1\n,2\n", "'k' in 2 of 2 records"),
        ("s.csv", b"k,w\n1,1\n2\n", "s.csv: 1 row does not have 2 fields"),
        ("s.csv", b'k,w\n"1,1\n', "s.csv: the quote opened in line 2 is not closed"),
        ("s.csv", b"k,w\n\xe9,1\n", "not utf-8 at byte offset 4"),
        ("s.csv", bytes(range(256)), "s.csv: "),
        (
            "s.csv.gz",
            gzip.compress(b"k,w\n1,1\n" * 9)[:-9],
            "s.csv.gz: not a gzip file, or cut off",
        ),
        ("s.csv.gz", SURVEY, "s.csv.gz: not a gzip file, or cut off"),
        ("s.parquet", b"", "s.parquet: "),
        ("s.parquet", b"PAR1 of no use", "s.parquet: "),
        ("s.xls", b"\xd0\xcf", "s.xls: unknown kind of file"),
        ("s.sav", b"$FL2", "s.sav: Unable to read from file"),
        ("s.asc", b"1 2\n", "s.asc: no metadata s.rda"),
    ],
    ids=lambda value: None if isinstance(value, str) else "",
)
def test_bad_files(run, folder, name, content, part):
    (folder / name).write_bytes(content)
    assert_refused(run("assess", name, "--keys", "k", "--weight", "w"), part)


def test_damaged_gzip(run, folder):
    lines = np.random.default_rng(1).integers(0, 10**9, 50_000).astype(str)
    whole = gzip.compress("\n".join(["k", *lines]).encode())
    (folder / "s.csv.gz").write_bytes(whole[: len(whole) // 2])
    assert_refused(run("assess", "s.csv.gz", "--keys", "k"), "s.csv.gz: ", "cut off")
    (folder / "s.csv.gz").write_bytes(whole[:90_000] + b"\xff" * 500 + whole[90_500:])
    assert_refused(run("assess", "s.csv.gz", "--keys", "k"), "s.csv.gz: ", "cut off")


def test_damaged_parquet(run, folder):
    pq.write_table(pa.table({"k": np.arange(100_000)}), "s.parquet")
    whole = (folder / "s.parquet").read_bytes()
    (folder / "s.parquet").write_bytes(whole[: len(whole) // 2])
    assert_refused(run("assess", "s.parquet", "--keys", "k"), "s.parquet: ")
    (folder / "s.parquet").write_bytes(whole[:200] + bytes(50_000) + whole[50_200:])
    assert_refused(run("assess", "s.parquet", "--keys", "k"), "s.parquet: ")
    assert_refused(
        run("assess", ".", "--keys", "k"), "a directory with 1 other files beside"
    )
    assert_refused(
        run("assess", "absent.csv", "--keys", "k"), "absent.csv: no such file"
    )


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (["--keys", "regoin"], ["no column 'regoin'", "did you mean 'region'"]),
        (["--keys", "region", "region"], ["more than once: 'region'"]),
        (["--keys", "weight", "--weight", "weight"], ["both a key and the weight"]),
        (["--keys", "age", "--household", "age"], ["both a key and the household"]),
        (["--keys", "age", "--household", "id"], ["no column 'id'"]),
        (["--keys", "age", "--weight", "note"], ["note is not a number in 3 records"]),
        (["--keys", "age", "--household", "note"], ["'note': missing in 1 of 4"]),
        (["--keys", "age", "--unsafe", "5"], ["--unsafe 5: need 0 to 4 records"]),
        (["--keys", "age", "--unsafe", "-1"], ["--unsafe: '-1' is not a whole number"]),
        (
            ["--keys", "age", "--unsafe", "1.5"],
            ["--unsafe: '1.5' is not a whole number"],
        ),
        (["--keys", "age", "--top", "-1"], ["--top: '-1' is not a whole number"]),
        (["--keys", "age", "--rate", "101%"], ["--rate: 101% is not in [0, 1]"]),
        (["--keys", "age", "--rate", "-0.1"], ["--rate: -0.1 is not in [0, 1]"]),
        (["--keys", "age", "--rate", "nan"], ["--rate: ", "nan"]),
        (["--keys", "age", "--rate", "sNaN"], ["--rate: 'sNaN' is not a number"]),
        (["--keys", "age", "--rate", "1e999999"], ["--rate: 1e999999 is not in"]),
        (["--keys", "age", "--rate", "%"], ["--rate: '%' is not a number"]),
        (["--keys", "age", "--threshold", "2"], ["--threshold: 2 is not in [0, 1]"]),
        (["--keys", "age", "--encoding", "utf-99"], ["utf-99"]),
        (["--keys", "age", "--delimiter", "::"], ["delimiter"]),
        (["--keys", "age", "--metadata", "none.rda"], ["none.rda"]),
        ([], ["required: --keys"]),
    ],
)
def test_bad_options(run, options, parts):
    assert_refused(run("assess", "survey.csv", *options), *parts)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0.0), ("1", 1.0), ("0.125%", 0.00125), ("0.7%", 0.007), ("100 %", 1.0),
     (" 1e-3 ", 0.001), ("1e-400", 0.0), (".5", 0.5)],
)  # fmt: skip
def test_fractions(figures, text, value):
    found = figures("survey.csv", "--keys", "age", "--threshold", text)
    assert found["unsafe_records"][0]["threshold"] == value


# Error tables

TABLE = ["error-table", "--forms", "series7", "franconi", "--f", 3, "4:6", "--p"]


def test_error_table(run):
    status, out, err = run(*TABLE, "0.01:0.5:3:log", "1-1e-8")
    assert (status, err) == (0, "")
    p = [*accuracy.grid(0.01, 0.5, 3, "log"), 1 - 1e-8]
    table = accuracy.error_table(["series7", "franconi"], [3, 4, 5, 6], p)
    largest = accuracy.plain(accuracy.summary(table))
    assert out == f"{accuracy.plain(table)}\n\n{largest}\n"
    assert run(*TABLE, "0.01:0.5:3:log", "1-1e-8", "--summary")[1] == f"{largest}\n"


def test_error_table_of_pairs(run):
    status, out, _ = run(*TABLE, 0.5, "0.1:0.3:3", "--paired")
    assert status == 0
    rows = [line.split()[:3] for line in out.splitlines()[1:9]]
    points = [["3", "0.5"], ["4", "0.1"], ["5", "0.2"], ["6", "0.3"]]
    forms = ("series7", "franconi")
    assert rows == [[*point, form] for form in forms for point in points]


@pytest.mark.parametrize("name", ["e.csv", "e.parquet"])
def test_error_table_to_a_file(run, folder, name):
    status, out, err = run(*TABLE, "0.1:0.9:7", "--output", name)
    assert (status, err) == (0, "")
    p = accuracy.grid(0.1, 0.9, 7)
    table = accuracy.error_table(["series7", "franconi"], [3, 4, 5, 6], p)
    largest = accuracy.plain(accuracy.summary(table))
    assert out == f"{largest}\n\n  The table is in {name}.\n"
    written = formats.read(name, numeric=set(table) - {"form"})
    for column in table:
        assert written[column].to_pylist() == table[column].tolist()
    refused = run(*TABLE, 0.5, "--output", name)
    assert_refused(refused, f"{name}: exists")
    assert run(*TABLE, 0.5, "--output", name, "--overwrite")[0] == 0


def test_error_table_as_text_and_picture(run, folder):
    for name, start in (("e.md", b"| form |"), ("e.png", b"\x89PNG")):
        status, out, _ = run(*TABLE, "0.1:0.9:7", "--output", name)
        assert status == 0
        what = "map of errors" if name == "e.png" else "table"
        assert out.endswith(f"The {what} is in {name}.\n")
        assert (folder / name).read_bytes().startswith(start)


def test_error_table_leaves_no_file_if_refused(run):
    assert_refused(run(*TABLE, 1.5, "--output", "e.csv"), "p are above 0 and at most 1")
    assert os.listdir() == ["survey.csv"]


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--forms", "seris7"], "unknown form 'seris7'; did you mean series7"),
        (["--forms", "truncated:x"], "'x' is not a whole number from 0"),
        (["--forms", "series7", "series7"], "given twice: series7"),
        (["--f", "x"], "argument --f: 'x' is not a number"),
        (["--f", "nan"], "argument --f: 'nan' is not a number"),
        (["--f", "1e999"], "f are finite and at least"),
        (["--f", "0.5:4"], "'0.5:4': the ends are not whole numbers; give a count"),
        (["--f", "4:1"], "'4:1': a grid goes up, not from 4 to 1"),
        (["--f", "1:4:x"], "'x' is not a whole number >= 0"),
        (["--f", "1:4:1"], "'1:4:1': a grid has at least 2 numbers"),
        (["--f", "1:9:3:cubic"], "known are linear, log, logit, whole"),
        (["--f", "1:9:3:log:2"], "'1:9:3:log:2' is not START:STOP:COUNT:SCALE"),
        (["--p", "0.1:1:4:logit"], "a logit grid lies in"),
        (["--p", "1-x"], "argument --p: '1-x' is not a number"),
        (["--paired", "--f", 1, 2, 3], "make no pairs: 3 and 2 numbers"),
        (["--output", "e.xlsx"], "e.xlsx: can write .csv"),
        (["--output", "no/e.png"], "no: no such directory"),
    ],
)
def test_error_table_refused(run, options, part):
    given = {"--forms": ["series7"], "--f": [3, "4:6"], "--p": [0.1, 0.5]}
    rest = options[options[0] == "--paired" :]
    given[rest[0]] = rest[1:]
    words = [word for name, values in given.items() for word in (name, *values)]
    assert_refused(
        run("error-table", *words, *options[: len(options) - len(rest)]), part
    )


# Help, demo and how it ends


def test_help_teaches(run):
    status, out, _ = run("--help")
    assert status == 0
    assert "assess" in out
    assert "demo" in out
    assert "error-table" in out
    status, out, _ = run("assess", "--help")
    assert status == 0
    assert out.startswith("usage: riskcore assess FILE --keys COLUMN")
    for word in (
        "riskcore assess survey.csv",
        "E[1/F | f]",
        "0.1%",
        "exit status",
        *RECORD_COLUMNS,
    ):
        assert word in out
    assert max(map(len, out.splitlines())) <= 88


def test_help_of_the_error_table(run):
    status, out, _ = run("error-table", "--help")
    assert status == 0
    assert out.startswith("usage: riskcore error-table --forms FORM")
    names = {form.partition(":")[0] for form in accuracy.FORMS}
    for word in (*names, "1:1000:20:whole", "multi-precision", "exit status"):
        assert word in out
    assert max(map(len, out.splitlines())) <= 88


def test_usage_without_a_command(run):
    status, out, err = run()
    assert (status, out) == (2, "")
    usage, said = err.splitlines()
    assert usage == "usage: riskcore [-h] [--version] COMMAND ..."
    assert said == "riskcore: error: give a COMMAND; riskcore --help lists them"


def test_demo(run, folder, monkeypatch):
    monkeypatch.setattr(
        "riskcore.protection.release.writing.new_secret", lambda: "5" * 64
    )
    status, out, err = run("demo", "--records", 500, "--seed", 3)
    assert status == 0
    # In so small a file an order may tell two or three values by luck.
    assert all(" suppressed values of " in line for line in err.splitlines())
    lines = [line for line in out.splitlines() if line.startswith("$ riskcore ")]
    commands = [line.split()[2:] for line in lines]
    assert [words[:2] for words in commands] == [
        ["assess", "riskcore-demo.csv"],
        ["protect", "riskcore-demo.csv"],
    ]
    survey = simulate.microdata(500, np.random.default_rng(3))
    written = pyarrow.csv.read_csv("riskcore-demo.csv")
    assert written["WEIGHT"].to_pylist() == survey["WEIGHT"].tolist()
    # The commands shown are those run.
    again = zip(lines, commands, strict=True)
    shown = [f"{line}\n\n{run(*words)[1]}" for line, words in again]
    assert "\n".join(shown) == out
    assert run("demo", "--records", 500, "--seed", 3)[1] == out


def test_nothing_shows_in_the_demo(run, folder, monkeypatch):
    monkeypatch.setattr(
        "riskcore.protection.release.writing.new_secret", lambda: "5" * 64
    )
    status, out, err = run("demo", "--records", 6000)
    assert (status, err) == (0, "")
    assert "SEX 0" not in " ".join(out.split())


def test_demo_refused(run, folder):
    refused = run("demo", "--file", "survey.csv")
    assert_refused(refused, "survey.csv: exists")
    (folder / "other.html").touch()
    assert_refused(run("demo", "--file", "other.csv"), "other.html: exists")
    assert_refused(run("demo", "--records", 0), "need at least 1 record")
    assert (folder / "survey.csv").read_bytes() == SURVEY


def test_as_a_command_of_its_own():
    done = start(
        "assess", "survey.csv", *ROLES, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = done.communicate()
    assert (done.returncode, err) == (0, b"")
    assert b"re-identification rate" in out
    done = start("assess", "absent.csv", "--keys", "k", stderr=subprocess.PIPE)
    assert done.communicate()[1] == b"riskcore: error: absent.csv: no such file\n"
    assert done.returncode == 2


def test_letters_the_terminal_lacks(folder):
    (folder / "s.csv").write_text("k\né\n", encoding="utf-8")
    done = start(
        "assess", "s.csv", "--keys", "k",
        environment={"PYTHONIOENCODING": "ascii"}, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert b"\\xe9" in done.communicate()[0]
    assert done.returncode == 0


def test_a_tab_can_be_given(run, folder):
    (folder / "t.csv").write_text("k\tw,\n1\t2\n1\t3\n")
    for tab in ("tab", "\\t", "\t"):
        status, out, _ = run("assess", "t.csv", "--keys", "k", "--delimiter", tab)
        assert (status, "records                      2\n" in out) == (0, True)
    wrong = run("assess", "t.csv", "--keys", "k", "--delimiter", "ab")
    assert_refused(wrong, "--delimiter ab: give one ASCII character")


def test_weights_that_are_wrong_have_a_place(run, folder):
    (folder / "w.csv").write_text("k,w\n1,2\n1,3\n1,-4\n2,0\n")
    wrong = run("assess", "w.csv", "--keys", "k", "--weight", "w")
    assert_refused(wrong, "2 zero or negative in 4 records, first in record 3")


def test_options_are_called_as_they_are_typed(run, folder):
    (folder / "c.csv").write_text("k;w\n1;2,5\n")
    wrong = run("assess", "c.csv", "--keys", "k", "--weight", "w")
    assert_refused(wrong, "the decimal mark may be a comma (--decimal ',')")
    options = ["--keys", "age", "--threshold", "0"]
    assert_refused(run("protect", "survey.csv", *options), "--threshold 0.0: ")
    options = ["--keys", "age", "--threshold", "1%"]
    for more, said in (
        (["--cost", "sex=1"], "error: --cost: 'sex' is not a key"),
        (["--related", "sex=note"], "error: --related: 'sex' is not a key"),
        (["--household", "hh", "--household-keys", "sex"],
         "error: --household-keys: 'sex' is not a key"),
        (["--household-threshold", "1%", "--household-rate", "1%"],
         "error: give --household-threshold or --household-rate, not both"),
    ):  # fmt: skip
        assert_refused(run("protect", "survey.csv", *options, *more), said)
    sizes = ["uniques", "--sizes", "1=5", "--cells", "9", "--population"]
    assert_refused(run(*sizes, "4"), "--population 4: below the 5 records")
    sizes[4] = str(2**53 + 1)
    assert_refused(run(*sizes, "9"), "--cells 9007199254740993: need a number of cells")
    (folder / "c.csv").write_text("household_rate,cost\n1,2\n")
    roles = ["c.csv", "--keys", "household_rate", "--threshold", "1%"]
    wrong = run("protect", *roles, "--cost", "cost=1")
    assert_refused(
        wrong, "error: --cost: 'cost' is not a key; keys are 'household_rate'"
    )


def test_a_seed_that_is_a_file(run):
    wrong = run("protect", "--shuffle", "survey.csv", "--keys", "age")
    assert_refused(
        wrong, "'survey.csv' is not a whole number", "--shuffle -- survey.csv"
    )


def test_a_plot_is_refused_before_the_work(run, monkeypatch):
    def work(*_, **__):
        pytest.fail("it was estimated")

    monkeypatch.setattr("riskcore.assessment.uniques.estimate_uniques", work)
    monkeypatch.setattr("riskcore.common.needs.find_spec", lambda _: None)
    options = ["--keys", "age", "--weight", "weight", "--plot", "p.png"]
    assert_refused(run("uniques", "survey.csv", *options), "need matplotlib")


@pytest.mark.parametrize("option", ["--report", "--report-public"])
@pytest.mark.parametrize("command", ["assess", "protect"])
def test_a_report_is_refused_before_the_work(run, folder, monkeypatch, command, option):
    def work(*_, **__):
        pytest.fail("it was computed")

    monkeypatch.setattr("riskcore.assessment.assess.assess", work)
    monkeypatch.setattr("riskcore.protection.protect.protect", work)
    monkeypatch.setattr("riskcore.common.needs.find_spec", lambda _: None)
    words = ["survey.csv", "--keys", "age", "--output", "o.csv", option, "r.html"]
    more = ["--threshold", "0.1"]
    refused = run(command, *words, *more)
    assert_refused(refused, "reports need jinja2: pip install jinja2")
    assert not list(folder.glob("*.html")) + list(folder.glob("o.csv*"))


def test_a_report_of_uniques_is_refused_before_the_work(run, folder, monkeypatch):
    def work(*_, **__):
        pytest.fail("it was estimated")

    monkeypatch.setattr("riskcore.assessment.uniques.estimate_uniques", work)
    words = ["uniques", "survey.csv", "--keys", "age", "--weight", "weight"]
    assert_refused(run(*words, "--report", "survey.csv", "--overwrite"), "survey.csv")
    (folder / "r.html").write_text("old")
    assert_refused(run(*words, "--report", "r.html"), "r.html: exists")
    monkeypatch.setattr("riskcore.common.needs.find_spec", lambda _: None)
    wanted = "reports need jinja2: pip install jinja2"
    assert_refused(run(*words, "--report", "s.html"), wanted)


@needs.posix
def test_the_report_of_uniques(run, folder, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    words = ["uniques", "survey.csv", "--keys", "age", "--weight", "weight"]
    (folder / "r.html").write_text("old")
    (folder / "r.html").chmod(0o666)
    status, out, err = run(*words, "--report", "r.html", "--overwrite")
    assert (status, err) == (0, "")
    assert "The report is in r.html." in out
    assert stat.S_IMODE((folder / "r.html").stat().st_mode) == 0o600
    text = (folder / "r.html").read_text()
    assert "<h1>survey.csv: population uniques</h1>" in text
    assert " ".join(words) in text
    # But for the file and the command it is what Python writes.
    found = estimate_uniques("survey.csv", ["age"], "weight")
    found.report("p.html", title="survey.csv: population uniques")
    command = re.search("<h3>To make this report again</h3>.*?</div>\n", text, re.S)[0]
    row = '<tr><th scope="row" class="text">file</th>'
    file = re.search(f"{row}.*?</tr>\n", text, re.S)[0]
    ours = (folder / "p.html").read_text()
    assert text.replace(command, "").replace(file, "") == ours


def test_the_report_of_sizes_names_no_file(run, folder):
    words = ["uniques", "--sizes", "1=40", "2=9", "--population", "9000"]
    assert run(*words, "--cells", "5000", "--report", "r.html", "--json")[0] == 0
    text = (folder / "r.html").read_text()
    assert "<h1>Population uniques</h1>" in text
    assert "49 sample" not in text
    assert "40 sample uniques" in text
    assert '<th scope="row" class="text">file</th>' not in text


def test_plots_and_the_report_of_uniques_appear_together(run, folder, monkeypatch):
    def broken(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr("riskcore.report.uniques_page.uniques_page", broken)
    words = ["uniques", "survey.csv", "--keys", "age", "--weight", "weight"]
    refused = run(*words, "--report", "r.html", "--plot", "r.svg")
    assert_refused(refused, "disk full")
    assert sorted(os.listdir()) == ["survey.csv"]


def test_the_demo_is_refused_before_the_work(run, folder, monkeypatch):
    monkeypatch.setattr("riskcore.common.needs.find_spec", lambda _: None)
    assert_refused(run("demo"), "reports need jinja2: pip install jinja2")
    assert not list(folder.glob("riskcore-demo*"))


def test_files_written_are_named_in_one_way(run):
    files = ["--output", "o.csv", "--report", "r.html", "--report-public", "p.html"]
    _, out, _ = run("assess", "survey.csv", *ROLES, *files)
    assert out.endswith(
        "\n\n  The risk of each record is in o.csv.\n  The report is in r.html.\n"
        "  The report for publication is in p.html.\n"
    )


@pytest.mark.parametrize("arguments", [("assess", "survey.csv", *ROLES), ("--help",)])
def test_a_reader_that_leaves(arguments):
    done = start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done.stdout.close()
    assert done.stderr.read() == b""
    assert done.wait() == 0
    done.stderr.close()


UNSAFE = [
    "protect", "survey.csv", *ROLES[:5], "--threshold", "5e-9",
    "--cost", "region=never", "age=never",
]  # fmt: skip


@pytest.fixture
def no_reader():
    """Return the writing end of a pipe of which nobody reads the other end."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


# The same code writes what all commands say. By default it is looked at with one that
# starts soon; the slow cases have the others.
SOON = ["error-table", "--forms", "series7", "--f", "1", "--p", "0.5"]
WITH_STATUS = [(SOON, 0), (ASSESS, 0), (UNSAFE, 1), (["assess"], 2)]


@pytest.mark.parametrize(
    ("arguments", "status", "unbuffered"),
    thin.cases(
        [(*case, unbuffered) for case in WITH_STATUS for unbuffered in ("", "1")],
        lambda words, _, unbuffered: (
            words in (SOON, ["assess"]) or (words is UNSAFE and not unbuffered)
        ),
    ),
)
def test_the_exit_status_without_a_reader(no_reader, arguments, status, unbuffered):
    environment = {"PYTHONUNBUFFERED": unbuffered}
    done = start(
        *arguments, environment=environment, stdout=no_reader, stderr=subprocess.PIPE
    )
    said = done.communicate()[1]
    assert done.returncode == status
    assert (b"error" in said) == (status == 2)
    assert b"Traceback" not in said
    assert b"ignored" not in said
    done = start(
        *arguments, environment=environment, stdout=subprocess.DEVNULL, stderr=no_reader
    )
    assert done.wait() == status


# Unbuffered the first line fails; at the end of all lines: slow.
@pytest.mark.parametrize("unbuffered", [pytest.param("", marks=pytest.mark.slow), "1"])
def test_the_work_ends_without_a_reader(folder, no_reader, unbuffered):
    done = start(
        "demo", "--file", "e.csv", "--records", 300, "--quiet", stdout=no_reader,
        environment={"PYTHONUNBUFFERED": unbuffered},
    )  # fmt: skip
    assert done.wait() == 0
    assert (folder / "e-safe.csv").exists()


CLOSED = [">&-", "2>&-", "<&-", ">&- 2>&-"]


@pytest.mark.parametrize(
    ("arguments", "status", "closed"),
    thin.cases(
        [(*case, closed) for case in WITH_STATUS for closed in CLOSED],
        lambda words, _, closed: (
            words in (SOON, ["assess"]) or (words is UNSAFE and closed == CLOSED[-1])
        ),
    ),
)
def test_streams_that_are_closed(folder, arguments, status, closed):
    source = str(Path(cli.__file__).parents[2])
    command = shlex.join([sys.executable, "-m", "riskcore", *arguments])
    more = " --output table.csv" if status == 0 else ""
    done = subprocess.run(
        ["sh", "-c", f"{command}{more} {closed}"],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == status
    assert b"Traceback" not in done.stderr
    if status == 0:
        # No file that was opened got the number of a closed stream.
        first = b"sample_frequency," if arguments == SOON else b"region,age,"
        assert (folder / "table.csv").read_bytes().startswith(first)


@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    thin.cases(product([SOON, ASSESS], ["", "1"]), lambda words, _: words == SOON),
)
def test_a_full_disk(arguments, unbuffered):
    with open("/dev/full", "wb") as full:
        done = start(
            *arguments, stdout=full, stderr=subprocess.PIPE,
            environment={"PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
        said = done.communicate()[1]
        assert said == b"riskcore: error: stdout: No space left on device\n"
        assert done.returncode == 2


ROLES_OF_TWO = ["survey.csv", "--keys", "region", "age"]


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (["assess", *ROLES_OF_TWO, "--output", "o.csv"], ["o.csv"]),
        (["assess", *ROLES_OF_TWO, "--report", "r.html"], ["r.html"]),
        (
            ["protect", *ROLES_OF_TWO, "--k", "2", "--output", "o.csv"],
            ["o.csv", "o.csv.private.json"],
        ),
        (["check", *ROLES_OF_TWO, "--k", "2", "--report", "r.html"], ["r.html"]),
        (["suda", *ROLES_OF_TWO, "--output", "o.csv"], ["o.csv"]),
        (["demo", "--records", "300", "--file", "d.csv"], ["d.csv"]),
    ],
)
def test_an_error_after_files_were_written_is_no_refusal(folder, words, written):
    with open("/dev/full", "wb") as full:
        done = start(*words, stdout=full, stderr=subprocess.PIPE)
        said = done.communicate()[1].decode().splitlines()[-1]
    paths = ", ".join(str(folder / name) for name in written)
    lost = "riskcore: error: stdout: No space left on device; written before that: "
    assert said.startswith(lost + paths)
    assert done.returncode == 74
    assert all((folder / name).stat().st_size for name in written)


@pytest.mark.parametrize("fault", [OSError("gone"), ZeroDivisionError()])
def test_what_was_undone_was_not_written(folder, run, monkeypatch, fault):
    real, calls = os.replace, []

    def replace(source, target):
        calls.append(target)
        if str(target).endswith("r.html"):
            raise fault
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    outputs = ["--output", "o.csv", "--report", "r.html"]
    status, _, err = run("assess", *ROLES_OF_TWO, *outputs)
    assert status == (2 if isinstance(fault, OSError) else 70)
    assert str(folder / "o.csv") in map(str, calls)
    assert "written before" not in err
    assert os.listdir() == ["survey.csv"]


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("arguments", "status"), [(UNSAFE, 1), (["assess", "absent.csv"], 2)]
)
def test_a_full_disk_for_errors(arguments, status, unbuffered):
    with open("/dev/full", "wb") as full:
        done = start(
            *arguments, stdout=subprocess.DEVNULL, stderr=full,
            environment={"PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
        assert done.wait() == status


INTERRUPTED = """
import os, sys
from pathlib import Path
from riskcore.cli import main

events = 0

def count(*_):
    # Some calls after the hidden file was opened: it is being written.
    global events
    events += 1
    if events == 100:
        sys.setprofile(None)
        print(len(list(Path().glob(".riskcore-*.part"))), flush=True)
        os.kill(os.getpid(), SENT)

def watch(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".part") and not events:
        sys.setprofile(count)

sys.addaudithook(watch)
sys.exit(main(["demo", "--file", "big.csv"]))
"""


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_interrupt(folder, sent, status, python):
    # The process interrupts itself: no clock, and no other process to be in time.
    before = {path.name for path in folder.iterdir()}
    code = f"import signal; signal.signal(2, signal.default_int_handler)\n{INTERRUPTED}"
    done = python(code.replace("SENT", str(int(sent))), wait=False)
    out, err = done.communicate()
    assert (out, err) == ("1\n", "riskcore: interrupted\n")
    assert done.returncode == status
    assert {path.name for path in folder.iterdir()} == before


def test_a_pipe_is_no_file(folder, run):
    # Its records could be read only once.
    os.mkfifo("pipe.csv")
    assert_refused(run("assess", "pipe.csv", *ROLES), "pipe.csv: a device or pipe")


def on_a_terminal(*arguments):
    """Return the status and what a terminal at stderr is sent."""
    ours, theirs = os.openpty()
    done = start(*arguments, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    sent = b""
    try:
        while part := os.read(ours, 4096):
            sent += part
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(ours)
    return done.wait(), sent.decode()


def test_progress_on_a_terminal():
    status, sent = on_a_terminal("assess", "survey.csv", *ROLES, "--output", "o.csv")
    assert status == 0
    for step in (
        "reading survey.csv",
        "counting cells",
        "computing the risk",
        "writing o",
    ):
        assert f"\r\x1b[Kriskcore: {step}" in sent
    assert sent.endswith("\r\x1b[K")
    assert "\n" not in sent.split("reading")[1]


def test_progress_makes_way_for_an_error():
    status, sent = on_a_terminal("assess", "survey.csv", *ROLES, "--unsafe", "5")
    assert status == 2
    assert sent.endswith("\r\x1b[Kriskcore: error: --unsafe 5: need 0 to 4 records\r\n")


def test_no_progress_if_quiet():
    assert on_a_terminal("assess", "survey.csv", *ROLES, "--quiet") == (0, "")


def test_options_without_effect(run, folder):
    assert_refused(
        run("assess", "survey.csv", *ROLES, "--overwrite"), "--overwrite needs"
    )
    assert_refused(
        run("assess", "survey.csv", *ROLES, "--report-top", 3), "needs --report"
    )
    (folder / "s.asc").write_text("1 10.5\n2 20.5\n")
    (folder / "s.rda").write_text("A 1 1\n<RECODABLE>\nW 3 4\n<WEIGHT>\n")
    assert run("assess", "s.asc", "--keys", "A")[0] == 0
    refused = run("assess", "s.asc", "--keys", "A", "--delimiter", ";")
    assert_refused(refused, "s.asc: a mu-Argus file; only a CSV has a delimiter")


@pytest.mark.parametrize(
    "fault",
    [IndexError("list index out of range"), KeyError("age\x1b[2J"), AttributeError()],
)
def test_a_defect_is_no_refusal(run, monkeypatch, fault):
    """An error of our own is told as one: the file may be as it should."""

    def fail(*_, **__):
        raise fault

    monkeypatch.setattr("riskcore.assessment.assess.tabulate_coded", fail)
    status, out, err = run("assess", "survey.csv", *ROLES)
    assert (status, out) == (70, "")
    assert "Traceback" in err
    assert "in fail" in err
    assert "\x1b" not in err
    last = err.splitlines()[-1]
    assert last.startswith("riskcore: error: this is a defect of riskcore")
    assert type(fault).__name__ in last


def test_a_column_that_there_is_not_is_a_refusal(run):
    status, _, err = run("assess", "survey.csv", "--keys", "regio")
    assert status == 2
    assert "no column 'regio'; did you mean 'region'?" in err
    assert len(err.splitlines()) == 1
