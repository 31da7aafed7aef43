"""The commands for diversity and special uniques."""

import csv
import json
import os
import stat

import pytest

from riskcore import cli
from riskcore.assessment.diversity import diversity
from riskcore.assessment.suda import suda
from tests import needs

SURVEY = """\
REGION,SEX,AGE,PAY,ILL
1,f,30,10,flu
1,f,30,20,flu
1,f,40,30,flu
1,m,30,40,cancer
2,m,30,50,flu
2,m,40,60,cancer
2,m,40,70,
"""
SUDA = ["suda", "survey.csv", "--keys", "REGION", "SEX", "AGE"]
DIVERSE = ["diversity", "survey.csv", "--keys", "REGION", "SEX", "--sensitive"]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command in a folder with a survey; return status and output."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.csv").write_text(SURVEY)

    def run(*arguments):
        try:
            status = cli.main([*arguments, "--quiet"])
        except SystemExit as left:
            status = left.code
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def table(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_suda_as_text_json_and_table(run):
    found = suda("survey.csv", ["REGION", "SEX", "AGE"], fraction=0.01)
    status, out, _ = run(*SUDA, "--fraction", "1%", "--top", "2")
    assert status == 0
    assert found.text().partition("\n")[2] in out
    assert "  Highest scores\n" in out
    assert "minimal uniques\n" in out
    status, out, _ = run(
        *SUDA, "--fraction", "0.01", "--json", "--top", "1", "--output", "scores.csv"
    )
    figures = json.loads(out)
    assert figures["file"] == "survey.csv"
    assert len(figures["riskiest"]) == 1
    assert {**figures, **found.summary()} == figures
    rows = table("scores.csv")
    assert [float(row["suda_score"]) for row in rows] == (
        found.score[found.cells.inverse].tolist()
    )
    assert "PAY" in rows[0]
    assert "dis_suda_score" in rows[0]


def test_diversity_as_text_json_and_table(run):
    options = ["--missing-sensitive", "ignore"]
    found = diversity(
        "survey.csv", ["REGION", "SEX"], ["ILL"], missing_sensitive="ignore"
    )
    status, out, _ = run(*DIVERSE, "ILL", *options, "--l", "2", "--output", "out.csv")
    assert status == 0
    assert found.text().partition("\n")[2] in out
    assert "Goal: distinct l >= 2" in out
    assert "The table is in out.csv." in out
    rows = table("out.csv")
    assert [int(row["ILL_distinct_l"]) for row in rows] == [1, 1, 1, 1, 2, 2, 2]
    status, out, _ = run(*DIVERSE, "ILL", *options, "--l", "2", "--t", "50%", "--json")
    figures = json.loads(out)
    assert figures["goal"]["cells"] == 2
    assert figures["goal"]["records"] == 4
    assert figures["goal"]["t"] == 0.5
    assert len(figures["goal"]["failing"]) == 2


def test_numbers_in_order(run):
    found = diversity("survey.csv", ["REGION", "SEX"], "PAY", ordered=["PAY"])
    status, out, _ = run(*DIVERSE, "PAY", "--ordered", "PAY", "--json")
    assert status == 0
    assert json.loads(out)["variables"] == found.summary()["variables"]
    assert found["PAY"].distance == "ordered"


def test_pictures(run, tmp_path):
    assert run(*SUDA, "--plot", "keys.svg")[0] == 0
    assert b"share of the scores" in (tmp_path / "keys.svg").read_bytes()
    options = ["--missing-sensitive", "category", "--plot", "values.png"]
    status, out, _ = run(*DIVERSE, "ILL", "PAY", *options)
    assert status == 0
    assert "The plot is in values.png." in out
    assert (tmp_path / "values.png").read_bytes().startswith(b"\x89PNG")


@needs.posix
def test_tables_are_not_for_more_than_the_survey(run):
    os.chmod("survey.csv", 0o600)
    assert run(*SUDA, "--output", "scores.csv", "--plot", "keys.svg")[0] == 0
    assert run(*DIVERSE, "SEX", "--output", "d.csv")[0] == 2  # a key
    assert run(*DIVERSE, "PAY", "--output", "d.csv")[0] == 0
    for name in ("scores.csv", "keys.svg", "d.csv"):
        assert stat.S_IMODE(os.stat(name).st_mode) & 0o077 == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*SUDA, "--overwrite"], "--overwrite needs --output or --plot"),
        ([*SUDA, "--plot", "keys.txt"], "--plot keys.txt: give a .png"),
        ([*SUDA, "--output", "survey.csv", "--overwrite"], "is read from"),
        ([*SUDA, "--fraction", "0"], "fraction=0.0: need a number in (0, 1)"),
        ([*SUDA, "--max-size", "0"], "max_size=0: need"),
        ([*SUDA, "--weight", "PAY", "--fraction", "0.1"], "not both"),
        ([*SUDA, "--scoring", "best"], "invalid choice: 'best'"),
        ([*DIVERSE, "ILL"], "missing values of sensitive variables: 'ILL' in 1 of 7"),
        ([*DIVERSE, "PAY", "--kind", "entropy"], "--kind entropy needs --l"),
        ([*DIVERSE, "PAY", "--l", "0"], "--l 0.0: need a number >= 1"),
        ([*DIVERSE, "NONE"], "no column 'NONE'"),
        ([*DIVERSE, "ILL", "--missing-sensitive", "ignore", "--ordered", "ILL"],
         "'ILL' has values that are not numbers"),
    ],
)  # fmt: skip
def test_refused(run, arguments, message):
    status, out, err = run(*arguments)
    assert status == 2
    assert message in err
    assert out == ""


def test_files_are_not_replaced(run):
    assert run(*SUDA, "--output", "scores.csv")[0] == 0
    assert run(*SUDA, "--output", "scores.csv")[0] == 2
    assert run(*SUDA, "--output", "scores.csv", "--overwrite")[0] == 0


GOAL = ["--l", "2", "--missing-sensitive", "ignore"]


@needs.posix
@pytest.mark.parametrize(
    ("arguments", "single"),
    [
        ([*DIVERSE, "ILL", *GOAL, "--top", "5"], "<bdi>f</bdi>"),
        ([*SUDA, "--top", "5"], "Highest scores"),
    ],
)
def test_reports(run, tmp_path, monkeypatch, arguments, single):
    """A page says what is printed; of single records and cells only if asked to."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    status, out, err = run(*arguments, "--report", "r.html")
    assert (status, err) == (0, "")
    assert out.endswith("  The report is in r.html.\n")
    path = tmp_path / "r.html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    page = path.read_text()
    assert "For internal use" in page
    assert f"<h1>survey.csv: {'diversity' if 'ILL' in arguments else ''}" in page
    assert "1970-01-01" in page
    assert f"riskcore {arguments[0]} survey.csv --keys REGION SEX" in page
    figures = [line.split()[-1] for line in out.splitlines()[1:8] if line.strip()]
    for figure in figures:
        assert figure in page
    assert single not in page
    status, _, _ = run(
        *arguments, "--report", "r.html", "--report-top", "9", "--overwrite",
        "--report-title", "My page",
    )  # fmt: skip
    page = path.read_text()
    assert status == 0
    assert single in page
    assert "<h1>My page" in page


@pytest.mark.parametrize("command", [SUDA, [*DIVERSE, "PAY"]])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--report-title", "T"], "--report-title needs --report"),
        (["--report-top", "3"], "--report-top"),
        (["--report", "survey.csv", "--overwrite"], "survey.csv"),
        (["--report", "old.html"], "exists"),
        (["--report", "nowhere/r.html"], "nowhere"),
        (["--overwrite"], "--overwrite needs --output or --plot or --report"),
    ],
)
def test_reports_are_refused_before_the_work(
    run, tmp_path, monkeypatch, command, options, message
):
    def work(*_, **__):
        raise AssertionError

    (tmp_path / "old.html").write_text("old")
    module = "suda.suda" if command is SUDA else "diversity.diversity"
    if "nowhere" not in message:  # the folder is seen when the page is written
        monkeypatch.setattr(f"riskcore.assessment.{module}", work)
    status, out, err = run(*command, *options)
    assert (status, out) == (2, "")
    assert message in err
    assert (tmp_path / "old.html").read_text() == "old"
    assert (tmp_path / "survey.csv").read_text() == SURVEY


def test_report_and_table_appear_together(run, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "r.html")

    monkeypatch.setattr("riskcore.report.sheet_page.sheet_page", full)
    status, _, err = run(*SUDA, "--output", "scores.csv", "--report", "r.html")
    assert status == 2
    assert "No space left" in err
    assert os.listdir(tmp_path) == ["survey.csv"]
