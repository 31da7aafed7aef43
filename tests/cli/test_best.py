"""``riskcore best``: from ladders in a file of rules to rules of the best release."""

import json

import pytest

from riskcore import Release, simulate
from riskcore.cli import main
from riskcore.data.files import formats

RULES = """\
format = 1

[data]
file = "survey.csv"

[columns]
keys = ["SEX", "AGE", "EDUCATION"]

[roles]
"*" = "harmless:a test"

[safe]
k = 3

[ladder]
AGE = ["from:15,30,45,65", "from:30,65", "map:*=all"]
EDUCATION = "education.csv"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a survey, a hierarchy and rules."""
    import numpy as np

    monkeypatch.chdir(tmp_path)
    data = simulate.microdata(400, np.random.default_rng(1))
    names = ["SEX", "AGE", "EDUCATION", "INCOME"]
    formats.write(tmp_path / "survey.csv", {name: data[name] for name in names})
    lines = [f"{x};{'low' if x < 3 else 'high'};all\n" for x in range(7)]
    (tmp_path / "education.csv").write_text("".join(lines))
    (tmp_path / "release.toml").write_text(RULES)
    return tmp_path


def test_the_rules_of_the_best_release_make_it(folder, capsys):
    line = ["best", "--rules", "release.toml", "--output", "best.toml", "--json"]
    assert main([*line, "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["gap"] == 0.0
    assert found["combinations"] % (4 * 3) == 0
    assert found["certificate"].startswith("least loss")
    rules = Release.read("best.toml")
    assert "ladder" not in rules.tables
    assert rules.tables["recodings"] == found["recodings"]
    result = rules.protect()
    assert result.goals_met
    blanks = {name: n for name, n in result.suppressed.items() if n}
    assert blanks == found["blanks"]


def test_it_is_printed_and_options_count_more_than_rules(folder, capsys):
    (folder / "release.toml").write_text(f"{RULES}\n[best]\nprice = 3\n")
    line = ["best", "survey.csv", "--rules", "release.toml"]
    assert main([*line, "--quiet"]) == 0
    dear = capsys.readouterr().out
    assert "the best release" in dear
    assert "least loss" in dear
    assert main([*line, "--quiet", "--price", "1"]) == 0
    cheap = capsys.readouterr().out
    assert cheap != dear
    assert main([*line, "--quiet", "--price", "1", "--importance", "AGE=9"]) == 0
    assert capsys.readouterr().out != cheap


def test_the_search_ends_in_time(folder, capsys):
    line = ["best", "--rules", "release.toml", "--quiet", "--json", "--time", "1e-9"]
    assert main(line) == 2
    assert "in time: give more time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('\n[best]\nloss = "least"\n', "release.toml:20:1: best.loss"),
        ("\n[best]\nprice = 0.5\n", "best.price"),
        ("INCOME = []\n", "'INCOME' is not a key variable"),
        ("SEX = []\n", "a ladder needs rules"),
        ('SEX = "nothing.csv"\n', "nothing.csv"),
    ],
)
def test_what_is_refused(folder, capsys, more, message):
    (folder / "release.toml").write_text(RULES + more)
    assert main(["best", "--rules", "release.toml", "--output", "best.toml"]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "best.toml").exists()


def test_an_existing_file_stays(folder, capsys):
    (folder / "best.toml").write_text("mine")
    line = ["best", "--rules", "release.toml", "--output", "best.toml", "--quiet"]
    assert main(line) == 2
    assert (folder / "best.toml").read_text() == "mine"
    assert main([*line, "--overwrite"]) == 0
    assert "recodings" in (folder / "best.toml").read_text()


@pytest.mark.parametrize("rule", ["month", "quarter", "year"])
def test_dates_that_are_recoded_are_written_as_rules(folder, rule):
    days = [f"20{y}-{m:02}-{d:02}" for y in (20, 21) for m in (1, 5) for d in (1, 9)]
    formats.write(folder / "dates.csv", {"DAY": days, "SEX": ["f", "m"] * 4})
    (folder / "dates.toml").write_text(
        'format = 1\ndata.file = "dates.csv"\ncolumns.keys = ["DAY"]\nsafe.k = 2\n'
        f'roles = {{ SEX = "harmless" }}\nladder.DAY = ["{rule}", "map:*=all"]\n'
    )
    line = ["best", "--rules", "dates.toml", "--output", "best.toml", "--quiet"]
    assert main(line) == 0
    rules = Release.read("best.toml")
    assert rules.tables["recodings"] == {"DAY": rule}
    assert rules.protect().goals_met
