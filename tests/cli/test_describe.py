"""The command ``riskcore describe``."""

import stat
from pathlib import Path

import pytest

from riskcore import describe
from tests import needs

SURVEY = """\
id,region,sex,pay,weight
1,n,f,10.5,3
2,n,m,20.5,4
3,s,f,,3
4,s,m,20.5,4
"""
LINE = "describe survey.csv --keys region sex --weight weight --role pay=numeric"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with a survey."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.csv").write_text(SURVEY)
    return tmp_path


def found():
    return describe("survey.csv", ["region", "sex"], "weight", roles={"pay": "numeric"})


def test_as_text(run):
    status, out, err = run(LINE)
    assert (status, err) == (0, "")
    assert out.startswith("riskcore 0.1.0: survey.csv\n")
    assert found().text("x").partition("\n")[2] in out
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[5:] if line}
    assert rows["id"][-9] == "identifier?"
    assert rows["pay"] == ["number", "2", "1", "1", "10.5", "20.5", "numeric", "given"]


def test_as_json(figures):
    assert figures(LINE) == {"file": "survey.csv", **found().to_dict()}
    (first, *_) = figures("describe survey.csv")["columns"]
    assert (first["column"], first["role"]) == ("id", None)
    assert first["proposed_role"] == "identifier"


@needs.posix
def test_the_report_is_for_the_office(run, refused):
    status, out, _ = run(f"{LINE} --report r.html")
    assert status == 0
    assert "The report is in r.html." in out
    text = Path("r.html").read_text()
    for word in ("survey.csv", "identifier?", "numeric", "10.5"):
        assert word in text
    assert stat.S_IMODE(Path("r.html").stat().st_mode) == 0o600
    assert "r.html: already exists" in refused(f"{LINE} --report r.html")
    assert run(f"{LINE} --report r.html --overwrite")[0] == 0


def test_hostile_names_and_roles(run, refused):
    Path("odd.csv").write_text('"<i>\x1b[2J</i>",b\n1,2\n2,2\n')
    status, out, _ = run("describe odd.csv --report r.html")
    assert status == 0
    assert "\\x1b[2J" in out
    assert "<i>" not in Path("r.html").read_text()
    assert "\x1b" not in out + Path("r.html").read_text()
    said = refused("describe survey.csv --role", "pay=\x1b[2J")
    assert "\\x1b[2J" in said
    assert "'pay' appears twice" in refused(f"{LINE} pay=sensitive")


def test_help_teaches(run):
    status, out, _ = run("describe --help")
    assert status == 0
    for word in ("identifier", "question mark", "--role", "exit status", "proposal"):
        assert word in out
