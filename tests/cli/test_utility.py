"""``riskcore compare`` and ``riskcore try``."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pandas
import pytest

from riskcore.common.shell_line import shell_line
from tests import needs

RULES = "--recode AGE=from:30,60"
WEIGHTED = "--keys REGION SEX AGE --weight W"
COMPARE = "compare survey.csv safe.csv"
ROLES = f"{COMPARE} {WEIGHTED} {RULES}"
TRY = f"try survey.csv {WEIGHTED}"
ACCEPT = "--role '*=harmless:a test' --accept '*=a test'"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    n = 300
    frame = pandas.DataFrame(
        {
            "REGION": rng.choice(list("abcdefg"), n),
            "SEX": rng.choice(list("fm"), n),
            "AGE": rng.integers(15, 90, n),
            "W": rng.integers(5, 50, n),
            "INCOME": rng.lognormal(7, 1, n).round(),
        }
    )
    frame.to_csv("survey.csv", index=False)


@pytest.fixture
def _protected(run):
    line = f"protect survey.csv {WEIGHTED} {RULES} --threshold 1% {ACCEPT}"
    status, _, errors = run(f"{line} --shuffle --output safe.csv")
    assert status == 0, errors


protected = pytest.mark.usefixtures("_protected")


@protected
def test_a_record_says_what_was_done(figures):
    found = figures(f"{COMPARE} --record safe.csv.private.json")
    assert found == figures(ROLES)
    record = json.loads(Path("safe.csv.private.json").read_text())
    assert {k["key"]: k["suppressed"] for k in found["keys"]} == record["suppressed"]
    assert (found["original"], found["safe"]) == ("survey.csv", "safe.csv")
    assert not found["aligned"]


@protected
def test_the_text_has_every_part(run):
    status, text, _ = run(f"{ROLES} --columns INCOME --strata SEX --interactions")
    assert status == 0
    for part in (
        "300",
        "records in the smallest",
        "Weighted tables",
        "mean total variation",
        "Cramer's V",
        "INCOME  records",
        "Suppressed values by SEX",
        "Propensity score (main effects and pairs",
        "certainty, because",
    ):
        assert part in text


@protected
def test_models_and_tables_have_verdicts(run, figures):
    studies = "--model 'SEX ~ AGE + INCOME' --model INCOME~SEX --table 'REGION x SEX'"
    line = f"{COMPARE} --record safe.csv.private.json {studies}"
    status, text, _ = run(line)
    assert status == 0
    verdicts, models = text.index("  Verdicts"), text.index("  Model SEX ~ AGE + INC")
    tables, keys = text.index("  Table REGION x SEX"), text.index("  Keys")
    assert verdicts < models < tables < keys
    assert "logistic model of     SEX = m" in text
    assert max(map(len, text[verdicts:models].splitlines())) < 90
    found = figures(line)
    assert len(found["verdicts"]) == 3
    first = found["models"][0]
    terms = [one["term"] for one in first["coefficients"]]
    assert terms == ["(intercept)", "AGE = [30, 60)", "AGE >= 60", "INCOME"]
    assert (first["weighted"], first["kind"]) == (True, "logistic")
    assert found["tables"][0]["columns"] == ["REGION", "SEX"]


@protected
def test_without_the_recoding_a_warning_stands_in_the_text(run):
    text = run(f"{COMPARE} --keys REGION SEX AGE")[1]
    assert "AGE: 3 categories of the safe file are not in the original" in text
    assert "without 'AGE', which cannot be compared" in text


@protected
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (COMPARE, "give --keys, or --record"),
        (f"{COMPARE} --record safe.csv.private.json --keys SEX", "already gives --key"),
        (f"{ROLES} --overwrite", "--overwrite needs --report"),
        (f"{ROLES} --columns INCOMES", "INCOME"),
        (f"{ROLES} --model 'INCOME ~ SEXX'", "SEXX"),
        (f"{ROLES} --model INCOME", "need one ~"),
        (f"{ROLES} --model 'REGION ~ SEX'", "'REGION' has 7 categories"),
        (f"{ROLES} --table 'SEX x SEX'", "name different columns"),
        (
            f"{COMPARE} {WEIGHTED} --recode AGE=from:x",
            "AGE': 'from:x': 'x' is not a number",
        ),
    ],
)
def test_refusals(refused, line, message):
    assert message in refused(line)


CANDIDATES = {
    "fine": "--threshold 2%",
    "coarse": "--threshold 2% --recode AGE=from:30,60",
    "wrong": "--threshold 2% --recode REGION=truncate:5",
}


def test_candidates_side_by_side(run):
    candidates = {"as in mu-Argus": "--threshold 2% --suppression argus", **CANDIDATES}
    words = [f"{name}={options} {ACCEPT}" for name, options in candidates.items()]
    line = f"{TRY} --report t.html --candidate"
    status, text, errors = run(line, *words)
    assert (status, errors) == (0, "")
    assert re.search(r"^ +1  as in mu-Argus", text, re.MULTILINE)
    assert "wrong: variable 'REGION': truncation by 5 leaves nothing" in text
    assert "failed" in text
    page = Path("t.html").read_text()
    assert page.count("<circle") == 3

    assert sorted(os.listdir(".")) == ["survey.csv", "t.html"]


def test_the_category_that_loses_most_is_named(run, figures):
    words = f"a=--k 3 --recode AGE=from:30,60 --cost entropy {ACCEPT}"
    options = shlex.join(["--candidate", words])
    entropy = figures(f"{TRY} {options}")["candidates"][0]
    assert entropy["settings"]["cost"] == "entropy"
    assert 'cost = "entropy"' in run(f"{TRY} {options} --print-rules a")[1]
    lost = entropy["largest_loss"]
    assert lost["lost"] == 1 - lost["records_after"] / lost["records_before"] > 0
    text = run(f"{TRY} {options} --report t.html")[1]
    name = f"{100 * lost['lost']:.3g} % of {lost['key']}={lost['category']}"
    assert name in text
    assert name in Path("t.html").read_text()


@needs.bash
def test_a_command_to_copy_steers_no_terminal_and_is_read_back():
    words = ["a b", "it's \x1b[31m", "\u202e$(x)`y`\n\\", "\x9b2J", "\U000e0001", "é"]
    line = shell_line(["printf", r"%s\0", *words])
    assert line.isprintable()
    locale = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(["bash", "-c", line], capture_output=True, env=locale)
    assert done.stdout.decode().split("\0")[:-1] == words


def test_the_rules_of_the_chosen_one(run):
    accept = f"{ACCEPT} 'INCOME=it is known'"
    candidates = [f"{name}={words} {accept}" for name, words in CANDIDATES.items()]
    line = f"{TRY} --shuffle --print-rules coarse --candidate"
    Path("chosen.toml").write_text(run(line, *candidates)[1])
    assert run("run chosen.toml")[0] == 0
    assert Path("safe.csv").exists()


def test_the_exit_status_is_1_if_none_is_safe(run):
    status, text, _ = run(f"{TRY} --candidate 'a=--threshold 1e-9'")
    assert status == 1
    assert "NOT SAFE" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "give --candidate"),
        ("--candidate a", "is not NAME=OPTIONS"),
        ("--candidate 'a=--threshold 2'", "candidate a: "),
        (
            "--candidate 'a=--output x.csv'",
            "candidate a: --output is not an option of candidates",
        ),
        (
            "--candidate 'a=--weight W'",
            "candidate a: --weight is not an option of candidates",
        ),
        ("--candidate 'a=--thresh 2%'", "candidate a: "),
        ("--candidate a= a=", "'a' appears twice"),
        ('--candidate "a=\'"', "candidate a: No closing quotation"),
        ("--candidate a= --print-rules b", "no candidate has this name"),
    ],
)
def test_refusals_of_candidates(refused, options, message):
    assert message in refused(f"try survey.csv --keys REGION SEX AGE {options}")
