"""The command ``riskcore protect``: what it writes, says and refuses."""

import argparse
import collections
import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest

from riskcore import Recoding, protect, simulate
from riskcore.cli import protect as protect_command
from riskcore.data.files import formats
from riskcore.protection.settings.kinds import Recodings
from tests.accepted import ANY_LEAK
from tests.made_again import made_again

KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]
ROLES = "--keys REGION SEX AGE MARSTAT --weight WEIGHT"
RECODE = "--recode REGION=truncate:2 AGE=from:15,30,45,65"
PROTECT = f"protect survey.csv {ROLES}"
ACCEPT = "--role '*=harmless:a test' --accept '*=a test'"
LEAKY = f"{PROTECT} {RECODE} --threshold 0.01"
COARSE = f"{LEAKY} {ACCEPT}"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Work in a folder that holds one survey."""
    monkeypatch.chdir(tmp_path)
    data = simulate.microdata(2000, np.random.default_rng(4))
    # The file is sorted by household, and not by any key.
    formats.write("survey.csv", data)


def record_of(name="safe.csv"):
    return json.loads(Path(f"{name}.private.json").read_text())


def test_dropped_columns_are_no_leaks_of_a_file_that_cannot_be_made_safe(run):
    data = formats.read("survey.csv").to_pydict()
    formats.write(
        "named.csv", {**data, "NAME": [f"n{i}" for i, _ in enumerate(data["SEX"])]}
    )
    never = "--k 3 --cost REGION=never SEX=never AGE=never MARSTAT=never"
    unsafe = f"protect named.csv {ROLES} {never} --output safe.csv --shuffle"
    status, out, _ = run(unsafe)
    assert status == 1
    assert "no key is left to blank" in " ".join(out.split())
    assert "'NAME': " in out
    status, out, _ = run(f"{unsafe} --drop NAME --report page.html")
    assert status == 1
    assert "no key is left to blank" in " ".join(out.split())
    assert "NAME" not in out
    assert "NAME" not in Path("page.html").read_text().partition("Leaks")[2][:2000]


def test_the_whole_path(run):
    # The file is in the order of the regions, and so are its households.
    shows = [
        f"suppressed values of 'REGION' show in {what}"
        for what in ("'HOUSEHOLD': they can be", "the order of the records")
    ]
    status, out, err = run(f"{LEAKY} --output safe.csv --cost equal")
    assert status == 1
    assert "NOT SAFE: the goals are met, but 9 leaks are open. With the keys " in out
    opened, _, _ = " ".join(out.split()).partition("Accepted leaks")
    assert all(what in opened for what in shows)
    assert err == ""  # nothing is said twice
    assert "safe.csv is not written" in out
    assert os.listdir() == ["survey.csv"]
    status, out, err = run(f"{COARSE} --output safe.csv --cost equal")
    assert (status, err) == (0, "")
    said = " ".join(out.split())
    _, _, accepted = said.partition("Accepted leaks")
    assert all(what in accepted for what in shows)
    assert "accepted: a test" in accepted
    assert "recoded               REGION, AGE" in out
    assert "With the keys REGION x SEX x AGE x MARSTAT, no record has a risk" in said
    assert "The safe file is in safe.csv." in out
    before = formats.read("survey.csv").to_pydict()
    after = formats.read("safe.csv").to_pydict()
    assert list(before) == list(after)
    for name in set(before) - set(KEYS):
        assert before[name] == after[name]
    record = record_of()
    assert record["safe"]
    assert record["sets"][0]["risk"]["protected"]["max_risk"] < 0.01
    blanks = {key: after[key].count(None) for key in KEYS}
    assert record["suppressed"] == blanks
    assert sum(blanks.values()) > 0
    assert before["AGE"].count("44") > 0
    groups = {"< 15", "[15, 30)", "[30, 45)", "[45, 65)", ">= 65", None}
    assert set(after["AGE"]) <= groups


def test_the_same_file_again(run, refused):
    options = "--rate 0.2% --cost entropy --drop INCOME PERSON"
    roles = "--role CITIZENSHIP=sensitive '*=harmless:a test'"
    accept = "--accept WEIGHT='nobody has them' '*=a test'"
    run(f"{PROTECT} {RECODE} {options} {roles} {accept} --output safe.csv")
    record = record_of()
    assert record["settings"]["roles"]["CITIZENSHIP"] == "sensitive"
    assert record["settings"]["accept"]["WEIGHT"] == "nobody has them"
    again = made_again("survey.csv", "safe.csv.private.json", "again.csv")
    assert again == Path("safe.csv").read_bytes()
    assert "INCOME" not in formats.columns_of("again.csv").names


def sizes_of_households(data):
    return sorted(collections.Counter(data["HOUSEHOLD"]).values())


@pytest.mark.parametrize("keep_ids", [False, True])
@pytest.mark.parametrize("target", ["safe.csv", "safe.parquet"])
def test_shuffled(run, target, keep_ids):
    household = "--household HOUSEHOLD --household-keys REGION --cost equal"
    words = ["--output", target, "--shuffle", *["--renumber"] * keep_ids]
    status, out, _ = run(f"{LEAKY} {household}", *words)
    # The old numbers of the households follow the regions.
    out = " ".join(out.split())
    shows = " households show in 'HOUSEHOLD': they can be read off" in out
    kept = "'HOUSEHOLD': the original household ids are kept" in out
    ordered = "the order of the records" in out
    assert (status, shows, kept, ordered) == (1, keep_ids, keep_ids, False)
    assert run(f"{COARSE} {household}", *words)[0] == 0
    first = formats.read("survey.csv").to_pydict()
    then = formats.read(target).to_pydict()
    assert then["HOUSEHOLD"] != first["HOUSEHOLD"]
    old = set(first["HOUSEHOLD"])
    new = {str(i) for i in range(1, len(old) + 1)}
    assert set(then["HOUSEHOLD"]) == (old if keep_ids else new)
    changes = sum(a != b for a, b in itertools.pairwise(then["HOUSEHOLD"]))
    assert changes == len(old) - 1
    people = dict.fromkeys(zip(then["HOUSEHOLD"], then["PERSON"], strict=True))
    assert len(people) == len(first["PERSON"])
    assert sizes_of_households(then) == sizes_of_households(first)
    # Members, too, are in random order: their numbers do not rise.
    pairs = itertools.pairwise(zip(then["HOUSEHOLD"], then["PERSON"], strict=True))
    falls = sum(a[0] == b[0] and int(a[1]) > int(b[1]) for a, b in pairs)
    assert falls > 300
    # New ids do not follow the old ones.
    if not keep_ids:
        regions = then["REGION"]
        pairs = zip(then["HOUSEHOLD"], regions, strict=True)
        numbers = [int(id) for id, region in pairs if region]
        known = [int(region) for region in regions if region]
        assert abs(np.corrcoef(numbers, known)[0, 1]) < 0.3
    again = made_again("survey.csv", f"{target}.private.json", f"again-{target}")
    assert again == Path(target).read_bytes()


def test_mu_argus_shuffled(run):
    Path("s.rda").write_text(
        '<SEPARATOR> ","\n<NAMESINFRONT>\nA 2\nB 2 9\nW 4\n<WEIGHT>'
    )
    rows = [f"{i % 7},{i % 3},{i}.5" for i in range(1, 60)]
    Path("s.asc").write_text("\n".join(["A,B,W", *rows]) + "\n")
    goal = f"--keys A B --threshold 0.02 {ACCEPT}"
    for output in ("t.saf", "u.saf --shuffle"):
        assert run(f"protect s.asc {goal} --output {output}")[0] == 0
    plain, mixed = (Path(name).read_text().split("\n") for name in ("t.saf", "u.saf"))
    assert plain[0] == mixed[0] == "A,B,W"
    assert plain != mixed
    assert sorted(plain) == sorted(mixed)


def test_python_says_the_same(figures):
    ages = Recoding.intervals([15, 30, 45, 65], closed="left")
    recodings = {"REGION": Recoding.truncation(2), "AGE": ages}
    how = {"recodings": recodings, **ANY_LEAK}
    result = protect("survey.csv", KEYS, "WEIGHT", threshold=0.01, **how)
    assert figures(COARSE) == result.to_dict()


def test_an_unsafe_file_is_not_written(run):
    never = " ".join(f"{key}=never" for key in KEYS)
    line = f"{COARSE} --output safe.csv --cost {never}"
    status, out, _ = run(line)
    assert status == 1
    said = " ".join(out.split())
    assert "With the keys REGION x SEX x AGE x MARSTAT, " in said
    assert "safe.csv is not written" in out
    assert os.listdir() == ["survey.csv"]
    assert run(f"{line} --allow-unsafe")[0] == 1
    assert record_of()["safe"] is False


def test_nothing_is_replaced_unasked(run, refused):
    line = f"{COARSE} --output safe.csv"
    Path("safe.csv").write_text("mine")
    said = refused(line)
    assert "safe.csv: already exists; ask to overwrite" in said
    Path("safe.csv").rename("safe.csv.private.json")
    assert "safe.csv.private.json: already exists" in refused(line)
    assert not Path("safe.csv").exists()
    assert run(f"{line} --overwrite")[0] == 0


RISKY = f"{PROTECT} --threshold 0.1"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("protect survey.csv --threshold 0.1", "give --keys, the key variables"),
        (f"{RISKY} --recode AGE=foo:1", "neither a file nor a rule; rules are year, "),
        (f"{RISKY} --recode AGE=top:1%", "for the largest 99% of the values"),
        (f"{RISKY} --recode AGE=top:99.x%", "need a quantile above 0%"),
        (f"{RISKY} --recode AGE=round:0", "need a number above 0"),
        (f"{RISKY} --cost SEX=high", "'high' is not a number"),
        (f"{RISKY} --cost equal AGE=3", "--cost equal:"),
        (f"{RISKY} --output safe.xls", "safe.xls: can"),
        (f"{RISKY} --output safe.asc", "only a mu-Argus"),
        (f"{RISKY} --renumber AGE", "renumber: 'AGE' is a key or related to one"),
        (f"{RISKY} --renumber PERSON --drop PERSON", "'PERSON' is left out"),
    ],
)
def test_refusals(refused, line, message):
    output = "" if "--output" in line else "--output safe.csv"
    assert message in refused(f"{line} {output}")
    assert os.listdir() == ["survey.csv"]


def test_options_without_effect(run, refused):
    assert run(f"{COARSE} --output safe.csv")[0] == 0
    for name in ("--record r.json", "--record-public r.json"):
        assert f"{name.split()[0]} needs --output" in refused(f"{COARSE} {name}")


HOUSEHOLDS = f"{LEAKY} --household HOUSEHOLD --household-keys REGION --cost equal"


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--shuffle",
        "--drop HOUSEHOLD PERSON",
        "--drop INCOME CITIZENSHIP WEIGHT HOUSEHOLD PERSON --shuffle",
        "--renumber --shuffle",
        "--renumber PERSON",
        "--role INCOME=identifier --accept WEIGHT=known",
    ],
)
def test_without_output_the_file_that_would_be_written_is_judged(run, options):
    seen = json.loads(run(f"{HOUSEHOLDS} {options} --json")[1])
    status, out, _ = run(f"{HOUSEHOLDS} {options} --json --output s.csv --allow-unsafe")
    written = json.loads(out)
    assert status == (0 if written["safe"] else 1)
    same = ("safe", "verdict", "leaks", "not_examined", "suppressed")
    assert {name: seen[name] for name in same} == {n: written[n] for n in same}


@pytest.mark.parametrize("column", ["a=b", "my col", "x:y", "it's", 'q"q', "p+q"])
def test_columns_may_have_any_name(run, column):
    data = formats.read("survey.csv").slice(0, 300).to_pydict()
    formats.write("odd.csv", {**data, column: data["INCOME"]})
    line = f"protect odd.csv {ROLES} {RECODE} --threshold 1% --json"

    def figures(*words):
        return json.loads(run(line, *words)[1])

    assert column in [one["column"] for one in figures()["leaks"]]
    settings = figures("--role", f"{column}=numeric", "PERSON=harmless")["settings"]
    assert settings["roles"] == {column: "numeric", "PERSON": "harmless"}
    settings = figures("--accept", f"{column}=known, as 1=1")["settings"]
    assert settings["accept"] == {column: "known, as 1=1"}
    found = figures("--treat", f"{column}=top:5%=mean", f"{column}=round:9")
    (rules,) = found["treated"]["rules"]
    assert (rules["columns"], len(rules["rules"])) == ([column], 2)
    if "+" not in column:  # else it is refused
        rule = f"{column}+INCOME=microaggregate:3"
        (rules,) = figures("--treat", rule)["treated"]["rules"]
        assert rules["columns"] == [column, "INCOME"]
    settings = figures("--related", f"SEX={column}")["settings"]
    assert settings["related"] == {"SEX": [column]}
    recodings = Recodings(help="")
    words = [recodings.read(f"{column}=map:3=2")]
    assert [*recodings.value("--recode", words, [column])] == [column]


def test_a_pair_that_can_be_read_in_two_ways_is_refused(refused):
    data = formats.read("survey.csv").to_pydict()
    formats.write("odd.csv", {**data, "INCOME=b": data["INCOME"]})
    line = f"protect odd.csv {ROLES} --threshold 1%"
    said = refused(line, "--accept", "INCOME=b=known")
    assert "--accept 'INCOME=b=known': 'INCOME' and 'INCOME=b' are both columns" in said


def test_without_output_it_is_said_that_nothing_is_written(run):
    _, out, _ = run(f"{COARSE} --drop INCOME --shuffle")
    assert out.endswith("Nothing is written: give --output to write the safe file.\n")
    assert os.listdir() == ["survey.csv"]


@pytest.mark.usefixtures("no_work")
def test_what_cannot_be_written_is_refused_before_the_work(refused):
    all_ = " ".join(formats.columns_of("survey.csv").names)
    for output in ("", "--output safe.csv"):
        said = refused(f"{COARSE} --drop {all_} {output}")
        assert "--drop: no column would be left" in said


def test_a_record_knows_how_the_file_was_read(run):
    rows = [f"{'NA' if i % 9 == 0 else i % 3};{'üééé'[i % 4]};30.5" for i in range(60)]
    text = "\n".join(["Région;sex;w", *rows, ""])
    Path("s.csv").write_bytes(text.encode("cp1252"))
    reading = "--encoding cp1252 --na NA ''"
    roles = "--keys Région sex --weight w --threshold 0.005"
    assert run(f"protect s.csv {roles} {reading} --output t.csv")[0] == 0
    assert record_of("t.csv")["input"]["reading"] == {
        "metadata": None, "encoding": "cp1252", "delimiter": None, "decimal": ".",
        "sheet": None, "household_file": None, "household_id": None,
        "user_missing": "missing", "missing_codes": {"": ["NA", ""]},
        "weight_scale": None,
    }  # fmt: skip
    again = made_again("s.csv", "t.csv.private.json", "u.csv")
    assert again == Path("t.csv").read_bytes()
    assert Path("t.csv").read_bytes().decode("cp1252").startswith("Région;sex;w\n;")


def test_records_that_were_edited_badly(run, refused):
    run(f"{COARSE} --output safe.csv")
    for name, value in {
        "threshold": "0.03",
        "keys": "abc",
        "recodings": {"AGE": {"rules": [3]}},
        "cost": 3,
        "unknown": 1,
    }.items():
        record = record_of()
        record["settings"][name] = value
        Path("bad.json").write_text(json.dumps(record))
        said = refused("check safe.csv --record bad.json")
        assert name in said or "not the settings of a protection" in said


def test_help_teaches(run):
    status, out, _ = run("protect --help")
    assert status == 0
    assert len(out.splitlines()) <= 150
    for word in ("AGE=top:85", "--record", "exit status", "suppression  --cost"):
        assert word in out
    assert "the entropy of the" not in out
    topics = {"recodings": "truncate:2", "suppression": "the entropy of the"}
    topics |= {"reports": "propensity score", "examples": "--subsets 3"}
    for topic, word in topics.items():
        status, out, _ = run(f"protect --help {topic}")
        assert status == 0
        assert word in out


def test_the_help_lists_every_option_by_topic(run):
    listed = run("protect --help")[1].partition("topics, each")[2]
    parser = argparse.ArgumentParser(add_help=False)
    protect_command.add(parser)
    for action in parser._actions:
        for option in action.option_strings:
            assert option in ("-h", "--help") or option in listed.split()


def test_help_of_a_topic_that_does_not_exist(refused):
    assert "no topic 'colour'; give columns, goals" in refused("protect --help colour")


def test_reports(run, refused):
    sets = "--keys REGION SEX --keys SEX AGE --weight WEIGHT --threshold 0.02"
    files = "--output safe.csv --report report.html"
    status, out, _ = run(f"protect survey.csv {sets} {RECODE} {ACCEPT} {files}")
    assert status == 0
    assert "The report is in report.html." in out
    assert "The report is in report-2.html." in out
    text = Path("report-2.html").read_text()
    assert "survey.csv: re-identification risk and protection" in text
    assert '<h2 id="utility-title">Utility</h2>' in text
    assert "report.html: already exists" in refused(f"{COARSE} --report report.html")


def test_the_public_report_says_nothing_of_utility(run):
    reports = "--report-public about.html --report office.html"
    assert run(f"{PROTECT} {RECODE} --k 3 {ACCEPT} {reports}")[0] == 0
    for word in ("pMSE", "most changed", "entropy, bits"):
        assert word in Path("office.html").read_text()
        assert word not in Path("about.html").read_text()


def test_mu_argus(run):
    Path("s.rda").write_text(
        "REGION 1 1\n <RECODABLE>\n <RELATED> TOWN\nTOWN 2 3\n <RECODABLE>\n"
        "SEX 5 1 9\n <RECODABLE>\n <SUPPRESSWEIGHT> 90\nW 6 5\n <WEIGHT>\n"
    )
    rows = ["1A011100.5", "2A012100.5"] * 20 + ["1A021100.5", "3C099100.5"] * 2
    Path("s.asc").write_text("\r\n".join(rows) + "\r\n")
    status, out, err = run(
        "protect s.asc --keys REGION SEX --threshold 0.005 --output t.asc"
    )
    assert (status, err) == (0, "")
    assert "costs of suppression  REGION 50, SEX 90" in out
    before, after = formats.read("s.asc"), formats.read("t.asc")
    blanked = np.ma.getmaskarray(after["REGION"])
    assert blanked.sum() == 2
    assert np.array_equal(blanked, np.ma.getmaskarray(after["TOWN"]))
    assert (before["REGION"][blanked] == "3").all()
    assert after["W"].tolist() == before["W"].tolist()
    # The variables have no missing code: one is made and declared.
    assert "REGION 1 1 9" in Path("t.rds").read_text()
    assert Path("t.asc").read_text().count("9999") > 0


def test_what_is_said_of_the_file_written(run):
    status, out, _ = run(
        f"{COARSE} --output a.csv --renumber INCOME --shuffle "
        "--record-public public.json"
    )
    assert status == 0
    for line in (
        "It was read back and checked: every value and every risk agrees.",
        "New ids in random order in INCOME.",
        "The private record is in a.csv.private.json; do not publish it.",
        "The record for publication is in public.json.",
    ):
        assert line in out
    first, then = (formats.read(name)["INCOME"] for name in ("survey.csv", "a.csv"))
    assert first.null_count == then.null_count
    count = len(set(first.drop_null().to_pylist()))
    assert {*map(int, then.drop_null().to_pylist())} == set(range(1, count + 1))


def test_formulas_are_guarded(run, refused):
    jobs = ["=1+1", "-1", "plain", "+A1"]
    lines = Path("survey.csv").read_text().splitlines()
    rows = [f"{line},{jobs[i % 4]}" for i, line in enumerate(lines[1:])]
    Path("jobs.csv").write_text("\n".join([f"{lines[0]},JOB", *rows, ""]))
    options = f"{RECODE} --threshold 0.01 {ACCEPT} --output a.csv --guard-formulas"
    status, out, _ = run(f"protect jobs.csv {ROLES} {options}")
    assert status == 0
    assert "Text that a spreadsheet would run as a formula now begins with an '." in out
    written = [line.split(",")[-1] for line in Path("a.csv").read_text().splitlines()]
    assert written[1:5] == ["'=1+1", "-1", "plain", "'+A1"]
    again = made_again("jobs.csv", "a.csv.private.json", "b.csv")
    assert again == Path("a.csv").read_bytes()
    line = f"protect jobs.csv {ROLES} {options}".replace("a.csv", "b.parquet")
    assert "is not a CSV file" in refused(line)


def test_quantiles_and_multiples_are_recorded(run):
    """Of a key and of columns that are not keys; numbers of a CSV are text."""
    incomes = [str(v) for v in range(100, 300)]
    data = {"sex": [*"fm"] * 100, "income": incomes, "rent": [*incomes[1:], None]}
    formats.write("incomes.csv", data)
    rules = "--recode income=top:99.5% rent=round:50"
    line = f"protect incomes.csv --keys sex --k 2 {rules} {ACCEPT} --output safe.csv"
    assert run(line)[0] == 0
    safe = formats.read("safe.csv").to_pydict()
    assert safe["income"] == [*incomes[:-1], "298"]
    expected = [str(50 * round(int(v) / 50)) for v in incomes[1:]]
    assert safe["rent"] == [*expected, None]
    kept = record_of()["settings"]["recodings"]
    assert kept["income"]["words"] == "top:99.5%"
    assert [rule["low"] for rule in kept["income"]["rules"]] == [298]
    assert kept["rent"]["base"] == 50
    again = made_again("incomes.csv", "safe.csv.private.json", "again.csv")
    assert again == Path("safe.csv").read_bytes()
    # A record whose quantile was not found is refused.
    record = record_of()
    tail = {"side": "top", "percent": "99%", "label": None}
    record["settings"]["recodings"]["income"] = {"tails": [tail]}
    Path("bad.json").write_text(json.dumps(record))
    status, _, err = run("check safe.csv --record bad.json")
    assert (status, "need no quantiles" in err) == (2, True)


def test_a_comparison_finds_the_same_quantile(run, figures):
    line = "protect survey.csv --keys AGE SEX --weight WEIGHT --threshold 100%"
    assert run(f"{line} {ACCEPT} --recode AGE=top:90% --output safe.csv")[0] == 0
    line = "compare survey.csv safe.csv"
    keys = "--keys AGE SEX --weight WEIGHT"
    by_rule = figures(f"{line} {keys} --recode AGE=top:90%")
    by_record = figures(f"{line} --record safe.csv.private.json")
    assert by_rule["keys"] == by_record["keys"]


def test_a_demo_that_is_too_small_says_so(run):
    status, out, _ = run("demo --records 150 --seed 2 --file small.csv --quiet")
    assert status == 1
    assert "A survey of 150 records is small: " in out
    assert out.rstrip().endswith("Try riskcore demo --records 3000, or coarser keys.")
    assert not Path("small-safe.csv").exists()


def test_what_is_accepted_in_vain_is_said(run):
    _, out, _ = run(f"{LEAKY} --accept PERSON=none INCOME=known")
    assert "'PERSON' has no leak: there was nothing to accept." in out
    assert "'INCOME' has no leak" not in out


@pytest.mark.usefixtures("no_work")
def test_a_report_is_a_page(refused):
    for option in ("--report", "--report-public"):
        said = refused(f"{COARSE} {option} page.pdf")
        assert "page.pdf: a report is a page of HTML; name an .html file" in said
    assert "no column 'INCME'; did you mean 'INCOME'?" in refused(
        f"{COARSE} --treat INCME=round:10"
    )
