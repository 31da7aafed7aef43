"""``riskcore audit``, and the rules of an audit of ``riskcore check``."""

import csv
import gzip
import json
import os
import shlex
from pathlib import Path

import numpy as np
import pandas
import pyarrow.parquet
import pytest

from riskcore import audit
from riskcore.disclosure.audit_result import RECORD_COLUMNS
from tests import needs

KEYS = "--keys REGION SEX AGE"
AUDIT = f"audit survey.csv made.csv {KEYS}"
WEIGHTED = f"{AUDIT} --weight W"
CHECK = f"check made.csv {KEYS} --original survey.csv"


def survey(seed, n):
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "REGION": rng.choice(["01", "02", "03"], n),
            "SEX": rng.choice(list("fm"), n),
            "AGE": rng.integers(15, 90, n).astype(str),
            "JOB": rng.choice(["nurse", "smith", "baker"], n),
            "ID": [f"p{i}" for i in rng.permutation(n)],
        }
    )


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    original, made, holdout = survey(1, 120), survey(2, 90), survey(3, 60)
    made.iloc[:30] = original.iloc[:30]
    made["ID"] = original["ID"].iloc[:90]
    original.loc[50:55, "AGE"] = None
    original["W"] = np.random.default_rng(4).integers(5, 50, 120)
    original.to_csv("survey.csv", index=False)
    made.to_csv("made.csv", index=False)
    holdout.to_csv("others.csv", index=False)


def in_python(**options):
    """Return the same audit by the function, as the command shows it."""
    if "holdout" in options:
        options["holdout"] = "others.csv"
    weight = options.pop("weight", "W")
    found = audit("survey.csv", "made.csv", ["REGION", "SEX", "AGE"], weight, **options)
    names = {"original": "survey.csv", "released": "made.csv"}
    return {**names, **json.loads(json.dumps(found.to_dict()))}


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("--weight W", {}),
        ("", {"weight": None}),
        ("--weight W --holdout others.csv", {"holdout": True}),
        ("--weight W --target JOB", {"target": ["JOB"]}),
        (
            "--weight W --target JOB --holdout others.csv",
            {"target": ["JOB"], "holdout": True},
        ),
        ("--weight W --record-by ID", {"record_by": "ID"}),
        ("--weight W --population weights", {"population": "weights"}),
        ("--weight W --population latent-class", {"population": "latent-class"}),
        ("--sampling-fraction 5%", {"weight": None, "sampling_fraction": 0.05}),
        ("--weight W --missing category", {"missing": "category"}),
        ("--weight W --measures", {"measures": True}),
        ("--weight W --numeric AGE", None),
    ],
)
def test_options_are_those_of_the_function(figures, refused, line, options):
    if options is None:
        assert "AGE" in refused(f"{AUDIT} {line}")
    else:
        assert figures(f"{AUDIT} {line}") == in_python(**options)


def test_a_file_of_the_population(figures):
    people = pandas.concat([pandas.read_csv(f, dtype=str) for f in (
        "survey.csv", "made.csv", "others.csv")])  # fmt: skip
    people = people.dropna()
    people["population_frequency"] = 1
    people.to_csv("register.csv", index=False)
    found = figures(f"{WEIGHTED} --population register.csv")
    assert found["population_model"] == "known-population"
    assert found["compared_with"] == "model"
    assert found["expected_right_claims"] <= found["claims_of_somebody"]


def test_reading_options_hold_for_all_files(figures):
    expected = figures(f"{WEIGHTED} --holdout others.csv --target JOB --na JOB=smith")
    for name in ("survey", "made", "others"):
        frame = pandas.read_csv(f"{name}.csv", dtype=str).replace({"smith": "99"})
        frame.to_csv(f"{name}.txt", index=False, sep="|", encoding="utf-16")
    found = figures(
        f"audit survey.txt made.txt {KEYS} --weight W --holdout others.txt "
        "--target JOB --na JOB=99 --delimiter '|' --encoding utf-16"
    )
    names = {"original": "survey.txt", "released": "made.txt"}
    assert found == {**expected, **names}


def test_the_text(run):
    status, out, err = run(f"{WEIGHTED} --target JOB --holdout others.csv --quiet")
    assert (status, err) == (0, "")
    found = audit(
        "survey.csv", "made.csv", ["REGION", "SEX", "AGE"], "W", target=["JOB"],
        holdout="others.csv",
    )  # fmt: skip
    assert out.startswith("riskcore ")
    assert ": survey.csv, made.csv" in out.splitlines()[0]
    assert found.verdict in " ".join(out.split())
    for said in ("120 records", "90 records", "60 records", "JOB"):
        assert said in out
    assert "is in" not in out


FILES = {"csv": pandas.read_csv, "parquet": pandas.read_parquet}


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "parquet", "feather"])
def test_the_output_is_the_release_with_two_columns(run, ending):
    status, out, _ = run(f"{WEIGHTED} --output claims.{ending}")
    assert status == 0
    assert f"The table of claims is in claims.{ending}." in out
    found = audit("survey.csv", "made.csv", ["REGION", "SEX", "AGE"], "W")
    records = {
        name: found.released_records[name].to_pylist() for name in RECORD_COLUMNS
    }
    path = Path(f"claims.{ending}")
    if ending == "parquet":
        table = pyarrow.parquet.read_table(path).to_pydict()
    elif ending == "feather":
        table = pandas.read_feather(path).to_dict("list")
    else:
        opened = gzip.open if ending.endswith("gz") else open
        with opened(path, "rt", encoding="utf-8", newline="") as file:
            rows = [*csv.DictReader(file, delimiter="\t" if ending == "tsv" else ",")]
        table = {name: [row[name] for row in rows] for name in rows[0]}
    assert [*table] == ["REGION", "SEX", "AGE", "JOB", "ID", *RECORD_COLUMNS]
    assert [str(x) for x in table["REGION"]] == [
        line.split(",")[0] for line in Path("made.csv").read_text().splitlines()[1:]
    ]
    for name in RECORD_COLUMNS:
        assert [*map(float, table[name])] == [*map(float, records[name])]


def test_pages(run):
    line = (
        f"{WEIGHTED} --target JOB --report a.html --report-top 3 --report-public p.html"
    )
    status, out, _ = run(line)
    assert status == 0
    assert "The report is in a.html." in out
    assert "The report for publication is in p.html." in out
    page, public = (Path(name).read_text("utf-8") for name in ("a.html", "p.html"))
    assert "<title>made.csv: audit</title>" in page
    assert "<title>Audit of the released file</title>" in public
    assert "For internal use" in page
    assert "most probably right" in page
    assert "--report-top 3" in page
    assert "For publication" in public
    for secret in ("survey.csv", "made.csv", "--report-top", "120 records"):
        assert secret not in public


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("audit survey.csv", "RELEASED"),
        ("audit survey.csv made.csv", "--keys"),
        (f"{AUDIT} --report-top 3", "--report-top needs --report"),
        (f"{AUDIT} --overwrite", "--overwrite needs"),
        (f"{AUDIT} --report-public r.docx", "name an .html file"),
        (f"{AUDIT} --report x --report-public ./x", "x"),
        (f"{AUDIT} --output claims.csv --report no/r.html", "no"),
        (f"{AUDIT} --weight NO", "NO"),
        (f"{AUDIT} --target SEX", "is a key, too"),
        (f"{AUDIT} --record-by JOB", "give distinct ids"),
        (f"{AUDIT} --population both", "an audit gives one answer"),
        (f"{AUDIT} --population no.csv", "no.csv"),
        (f"{AUDIT} --holdout no.csv", "no.csv"),
        (f"{AUDIT} --sampling-fraction 2", "2"),
        (f"{AUDIT} --missing no", "no"),
        (f"{AUDIT} --missing refuse", "missing key values: 'AGE' in 6 of 120"),
        ("audit survey.csv no.csv --keys SEX", "no.csv"),
        ("audit no.csv made.csv --keys SEX", "no.csv"),
        ("audit survey.csv made.csv --keys NO", "NO"),
        ("audit survey.csv empty.csv --keys SEX", "no records"),
        ("audit survey.csv other.csv --keys SEX", "SEX"),
        ("audit survey.csv taken.csv --keys SEX --output o.csv", "original_frequency"),
    ],
)
def test_refusals(refused, line, message):
    Path("empty.csv").write_text("SEX\n")
    Path("other.csv").write_text("GENDER\nf\n")
    Path("taken.csv").write_text("SEX,original_frequency\nf,1\n")
    assert message in refused(line)


def test_output_names_are_refused_before_any_work(refused, monkeypatch):
    def work(*_, **__):
        pytest.fail("it was computed")

    monkeypatch.setattr("riskcore.disclosure.audit.audit", work)
    Path("old.html").write_text("old")
    for option in ("--report old.html", "--output o.html", "--report survey.csv",
                   "--report-top 1", "--report-public x.pdf"):  # fmt: skip
        refused(f"{AUDIT} {option}")
    Path("taken.csv").write_text("SEX,original_frequency\nf,1\n")
    refused("audit survey.csv taken.csv --keys SEX --output o.csv")


@needs.posix
def test_hostile_names(run):
    text = "<script>x\x1b[2J"
    for name in ("survey", "made", "others"):
        frame = pandas.read_csv(f"{name}.csv", dtype=str)
        frame = frame.rename(columns={"SEX": text, "JOB": f"{text}2"})
        frame.replace({"nurse": text, "f": text}).to_csv(
            f"{text}{name}.csv", index=False
        )
    words = [
        "audit", f"{text}survey.csv", f"{text}made.csv", "--holdout",
        f"{text}others.csv", "--keys", "REGION", text, "AGE", "--weight", "W",
        "--target", f"{text}2", "--report", "a.html", "--report-top", "20",
        "--report-public", "p.html",
    ]  # fmt: skip
    status, out, err = run(shlex.join(words))
    assert status == 0, err
    assert all(c.isprintable() or c == "\n" for c in out + err)
    for name in ("a.html", "p.html"):
        page = Path(name).read_text("utf-8")
        assert all(c.isprintable() or c in "\n\xa0" for c in page)
        assert "<script>x" not in page


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_json_has_only_numbers(run, value):
    Path("one.csv").write_text(f"SEX,JOB\nf,{value}\nf,{value}\n")
    status, out, _ = run("audit one.csv one.csv --keys SEX --target JOB --json")
    assert status == 0
    json.loads(out, parse_constant=pytest.fail)


def test_json_prints_nothing_else(run):
    status, out, _ = run(f"{WEIGHTED} --json --report a.html --output claims.csv")
    assert status == 0
    assert json.loads(out)["claims"] > 0
    assert sorted(os.listdir()) == [
        "a.html", "claims.csv", "made.csv", "others.csv", "survey.csv"
    ]  # fmt: skip


# The gate


def found_by(**options):
    weight = options.pop("weight", None)
    return audit("survey.csv", "made.csv", ["REGION", "SEX", "AGE"], weight, **options)


def test_the_gate_as_json_and_pages(figures):
    line = (
        f"{CHECK} --weight W --max-right-claims 100% --target JOB --max-guess-excess "
        "0.5 --k 2 --report c.html --report-public p.html"
    )
    found = found_by(weight="W", target=["JOB"])
    figures = figures(line, status=1)  # a rule of the file alone is broken
    assert figures["file"] == "made.csv"
    rules = {one["rule"]: one for one in figures["rules"]}
    assert set(rules) == {"k", "max_right_claims", "max_guess_excess"}
    share = found.expected_right_claims / found.claims
    passed = {name: one["passed"] for name, one in rules.items()}
    assert passed == {"k": False, "max_right_claims": True, "max_guess_excess": True}
    assert rules["max_right_claims"]["found"] == share
    assert rules["max_guess_excess"]["found"] == found.attributes[0].excess
    assert rules["max_guess_excess"]["sensitive"] == "JOB"
    assert "For internal use" in Path("c.html").read_text("utf-8")
    public = Path("p.html").read_text("utf-8")
    for shown in (f"{share:.3g}", f"{100 * share:.3g}", f"{share:.6g}"):
        assert shown not in public
    assert "share of right claims" in public
    assert "right guesses beyond others" in public
    assert "NOT kept: 1 of 3 rules." in public


def test_the_gate_without_rules_on_the_file_alone(run):
    """The released file has no weights; they are those of the original."""
    status, out, _ = run(f"{CHECK} --weight W --max-right-claims 1")
    assert status == 0
    assert "k-anonymity" not in out
    status, out, _ = run(f"{CHECK} --weight W --max-right-claims 1 --k 2")
    assert status == 1
    assert "k-anonymity" in out
    # A rule on risks is about the people of the original, and needs no weights here.
    status, out, _ = run(f"{CHECK} --weight W --max-right-claims 1 --max-risk 0.5")
    assert status in (0, 1)
    assert "maximum risk" in out


def test_the_gate_counts_missing_keys_as_asked(run, figures):
    found = found_by(weight="W", missing="category")
    assert found.expected_right_claims != found_by(weight="W").expected_right_claims
    line = f"{CHECK} --weight W --max-right-claims 1 --missing category"
    (rule,) = figures(line)["rules"]
    assert rule["found"] == found.expected_right_claims / found.claims
    status, _, err = run(f"{CHECK} --max-right-claims 1 --missing refuse")
    assert status == 2
    assert "missing key values: 'AGE'" in err


def test_the_gate_compares_guesses_with_a_holdout(figures):
    line = f"{CHECK} --target JOB --max-guess-excess 1"
    by_holdout = found_by(target=["JOB"], holdout="others.csv").attributes[0].excess
    by_model = found_by(target=["JOB"]).attributes[0].excess
    assert by_holdout != by_model
    assert figures(line)["rules"][0]["found"] == by_model
    (rule,) = figures(f"{line} --holdout others.csv")["rules"]
    assert rule["found"] == by_holdout


def test_the_gate_for_several_sets_of_keys(run):
    line = (
        "check made.csv --keys REGION SEX AGE --keys SEX AGE --original survey.csv "
        "--weight W --max-right-claims 1 --json"
    )
    status, out, _ = run(line)
    assert status == 0
    rules = json.loads(out)["rules"]
    assert [one["keys"] for one in rules] == [["REGION", "SEX", "AGE"], ["SEX", "AGE"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"check made.csv {KEYS} --k 2 --max-right-claims 0.1", "needs the original"),
        (f"check made.csv {KEYS} --k 2 --max-copy-excess 0.1", "needs the original"),
        (f"check made.csv {KEYS} --k 2 --target JOB", "give both"),
        (f"check made.csv {KEYS} --k 2 --holdout others.csv", "needs the original"),
        (f"check made.csv {KEYS} --k 2 --with others.csv", "needs the original"),
        (CHECK, "no rule: give a limit"),
        (f"{CHECK} --max-guess-excess 0.1", "give both"),
        (f"{CHECK} --max-right-claims 0.1 --target JOB", "give both"),
        (f"{CHECK} --max-right-claims 2", "2"),
        (f"{CHECK} --max-right-claims 0.1 --weight NO", "NO"),
        ("check made.csv --original survey.csv --max-right-claims 1", "give --keys"),
        (f"check made.csv {KEYS} --original no.csv --max-right-claims 1", "no.csv"),
        (f"{CHECK} --max-right-claims 1 --holdout no.csv", "no.csv"),
        (f"{CHECK} --max-right-claims 1 --target SEX --max-guess-excess 1", "a key"),
        (f"{CHECK} --max-right-claims 1 --report survey.csv --overwrite", "an input"),
        (f"{CHECK} --max-right-claims 1 --report made.csv --overwrite", "an input"),
        (
            f"{CHECK} --max-right-claims 1 --holdout others.csv --report-public "
            "others.csv --overwrite",
            "an input",
        ),
    ],
)
def test_refusals_of_the_gate(refused, line, message):
    assert message in refused(line)


def test_a_limit_of_0_is_a_limit(run):
    """No claim may be right: 0 is not the same as no limit."""
    assert run(f"{CHECK} --weight W --max-right-claims 0")[0] == 1
    assert run(f"{CHECK} --weight W --target JOB --max-guess-excess 0")[0] in (0, 1)


def test_an_unknown_excess_breaks_the_rule(run):
    Path("one.csv").write_text("SEX,JOB\n" + "f,x\n" * 9)
    line = (
        "check one.csv --keys SEX --original one.csv --target JOB --max-guess-excess 1"
    )
    status, out, _ = run(f"{line} --json --report r.html --report-public p.html")
    assert status == 1
    assert json.loads(out)["rules"][0]["found"] is None
