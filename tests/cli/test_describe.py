"""The command ``riskcore describe``."""

from pathlib import Path

import pytest

from riskcore import Release, describe

SURVEY = """\
id,region,sex,pay,weight
1,n,f,10.5,3
2,n,m,20.5,4
3,s,f,,3
4,s,m,20.5,4
"""
LINE = "describe survey.csv --keys region sex --weight weight --role pay=numeric"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.csv").write_text(SURVEY)


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


def test_the_report(run):
    status, out, _ = run(f"{LINE} --report r.html")
    assert status == 0
    assert "The report is in r.html." in out
    text = Path("r.html").read_text()
    for word in ("survey.csv", "identifier?", "numeric", "10.5"):
        assert word in text


def test_the_rules_have_a_ladder_of_each_key(run):
    rows = [f"{20 + x % 60},A0{x % 3}.{x % 5},{x % 2}" for x in range(600)]
    Path("survey.csv").write_text("\n".join(["age,nace,sex", *rows, ""]))
    status, _, _ = run("describe survey.csv --keys age nace sex --rules r.toml")
    assert status == 0
    text = Path("r.toml").read_text()
    assert "# age: 60 values become 12, 6, 3, 1\nage = [\n" in text
    nace = '# nace: 15 values become 3, 1\nnace = ["truncate:2", "map:*=all"]\n'
    assert f'{nace}# sex: 2 values become 1\nsex = ["map:*=all"]\n' in text
    assert text.index("# How each key may become") < text.index("[ladder]\n# age")
    # A person who changes nothing else gets the same release as without ladders.
    Path("r.toml").write_text(text.replace("confirmed = false\n", ""))
    rules = Release.read("r.toml")
    assert rules.best().rules == rules.with_rules(
        ladder=dict.fromkeys(rules.tables["ladder"])
    ).best().rules  # fmt: skip
    assert run("run r.toml --output safe.csv")[0] in (0, 1)
