"""The commands for diversity and special uniques."""

import csv

import pytest

from riskcore.assessment.diversity import diversity
from riskcore.assessment.suda import suda

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
SUDA = "suda survey.csv --keys REGION SEX AGE"
DIVERSE = "diversity survey.csv --keys REGION SEX --sensitive"
IGNORED = f"{DIVERSE} ILL --missing-sensitive ignore"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with a survey."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.csv").write_text(SURVEY)
    return tmp_path


def table(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_suda_as_text_json_and_table(run, figures):
    found = suda("survey.csv", ["REGION", "SEX", "AGE"], fraction=0.01)
    status, out, _ = run(f"{SUDA} --fraction 1% --top 2")
    assert status == 0
    assert found.text().partition("\n")[2] in out
    assert "  Highest scores\n" in out
    assert "minimal uniques\n" in out
    said = figures(f"{SUDA} --fraction 0.01 --top 1 --output scores.csv")
    assert said["file"] == "survey.csv"
    assert len(said["riskiest"]) == 1
    assert {**said, **found.summary()} == said
    rows = table("scores.csv")
    scores = found.score[found.cells.inverse].tolist()
    assert [float(row["suda_score"]) for row in rows] == scores
    assert "PAY" in rows[0]
    assert "dis_suda_score" in rows[0]


def test_diversity_as_text_json_and_table(run, figures):
    found = diversity(
        "survey.csv", ["REGION", "SEX"], ["ILL"], missing_sensitive="ignore"
    )
    status, out, _ = run(f"{IGNORED} --l 2 --output out.csv")
    assert status == 0
    assert found.text().partition("\n")[2] in out
    assert "Goal: distinct l >= 2" in out
    assert "The table is in out.csv." in out
    rows = table("out.csv")
    assert [int(row["ILL_distinct_l"]) for row in rows] == [1, 1, 1, 1, 2, 2, 2]
    goal = figures(f"{IGNORED} --l 2 --t 50%")["goal"]
    assert (goal["cells"], goal["records"], goal["t"]) == (2, 4, 0.5)
    assert len(goal["failing"]) == 2


def test_numbers_in_order(figures):
    found = diversity("survey.csv", ["REGION", "SEX"], "PAY", ordered=["PAY"])
    said = figures(f"{DIVERSE} PAY --ordered PAY")
    assert said["variables"] == found.summary()["variables"]
    assert found["PAY"].distance == "ordered"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{SUDA} --overwrite", "--overwrite needs --output"),
        (f"{SUDA} --report-top 3", "--report-top needs --report"),
        (f"{DIVERSE} SEX --output d.csv", "SEX"),  # a key
        (f"{SUDA} --fraction 0", "--fraction 0.0: need a number in (0, 1)"),
        (f"{SUDA} --max-size 0", "--max-size 0: need"),
        (f"{SUDA} --weight PAY --fraction 0.1", "not both"),
        (f"{DIVERSE} ILL", "missing values of sensitive variables: 'ILL' in 1 of 7"),
        (f"{DIVERSE} PAY --l even:2", "--l 'even:2': need a number, or one of 'dis"),
        (f"{DIVERSE} PAY --l entropy:0", "--l 0.0: need a number >= 1"),
        (f"{DIVERSE} PAY --l 0", "--l 0.0: need a number >= 1"),
        (f"{DIVERSE} NONE", "no column 'NONE'"),
        (f"{IGNORED} --ordered ILL", "'ILL' has values that are not numbers"),
    ],
)
def test_refused(refused, line, message):
    assert message in refused(line)


@pytest.mark.parametrize(
    ("line", "title", "single"),
    [
        (f"{IGNORED} --l 2 --top 5", "diversity", "<bdi>f</bdi>"),
        (f"{SUDA} --top 5", "", "Highest scores"),
    ],
)
def test_reports(run, folder, monkeypatch, line, title, single):
    """A page says what is printed; of single records and cells only if asked to."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    status, out, err = run(f"{line} --report r.html")
    assert (status, err) == (0, "")
    assert out.endswith("  The report is in r.html.\n")
    page = (folder / "r.html").read_text()
    assert "For internal use" in page
    assert f"<h1>survey.csv: {title}" in page
    assert "1970-01-01" in page
    assert f"riskcore {line}".partition(" --sensitive")[0] in page
    for figure in [row.split()[-1] for row in out.splitlines()[1:8] if row.strip()]:
        assert figure in page
    assert single not in page
    more = "--report r.html --report-top 9 --overwrite"
    assert run(f"{line} {more}")[0] == 0
    assert single in (folder / "r.html").read_text()
