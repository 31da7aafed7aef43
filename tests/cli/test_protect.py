"""The command ``riskcore protect``: what it writes, says and refuses."""

import collections
import itertools
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from riskcore import assess, cli, protect, simulate
from riskcore.data.files import formats
from riskcore.protection.release import writing

KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]
ROLES = ["--keys", *KEYS, "--weight", "WEIGHT"]
RECODE = ["--recode", "REGION=truncate:2", "AGE=from:15,30,45,65"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder that holds one survey."""
    monkeypatch.chdir(tmp_path)
    data = simulate.microdata(2000, np.random.default_rng(4))
    # The file is sorted by household, and not by any key.
    formats.write("survey.csv", data)
    return tmp_path


@pytest.fixture
def run(run):
    """Run ``riskcore protect``; return its status, output and errors."""
    return partial(run, "protect")


def test_the_whole_path(run):
    status, out, err = run(
        "survey.csv", *ROLES, *RECODE, "--threshold", "0.01", "--output", "safe.csv",
        "--cost", "equal",
    )  # fmt: skip
    assert status == 0
    # The file is in the order of the regions, and so are its households.
    for what in ("'HOUSEHOLD': they can be", "the order of the records"):
        assert f"suppressed values of 'REGION' show in {what}" in err
        assert f"suppressed values of 'REGION' show in {what}" in out
    assert "recoded               REGION, AGE" in out
    assert "Safe: by REGION x SEX x AGE x MARSTAT, no record has a risk of" in out
    assert "The safe file is in safe.csv." in out
    before = formats.read("survey.csv").to_pydict()
    after = formats.read("safe.csv").to_pydict()
    assert list(before) == list(after)
    for name in set(before) - set(KEYS):
        assert before[name] == after[name]
    data = formats.read("safe.csv", numeric=["WEIGHT"])
    again = assess(data, KEYS, "WEIGHT", missing="wildcard")
    assert again.max_risk < 0.01
    record = json.loads(Path("safe.csv.private.json").read_text())
    assert record["safe"]
    assert record["sets"][0]["risk"]["protected"]["max_risk"] == again.max_risk
    blanks = {key: after[key].count(None) for key in KEYS}
    assert record["suppressed"] == blanks
    assert sum(blanks.values()) > 0
    assert before["AGE"].count("44") > 0
    assert set(after["AGE"]) <= {
        "< 15", "[15, 30)", "[30, 45)", "[45, 65)", ">= 65", None,
    }  # fmt: skip


def test_the_same_file_again(run):
    run("survey.csv", *ROLES, *RECODE, "--rate", "0.2%", "--output", "safe.csv",
        "--cost", "entropy", "--drop", "INCOME", "PERSON")  # fmt: skip
    status, out, _ = run(
        "survey.csv", "--replay", "safe.csv.private.json", "--output", "again.csv"
    )
    assert status == 0
    assert "It is byte for byte the file of the record." in out
    assert Path("again.csv").read_bytes() == Path("safe.csv").read_bytes()
    assert "INCOME" not in formats.columns_of("again.csv").names
    with Path("survey.csv").open("a") as file:
        file.write("99999,1,101,1,1,50,1,1,1,0,100\n")
    status, out, err = run(
        "survey.csv", "--replay", "safe.csv.private.json", "--output", "other.csv"
    )
    assert (status, out) == (2, "")
    assert "survey.csv is not the file that safe.csv.private.json was made from" in err
    assert not list(Path().glob("other*"))
    record = json.loads(Path("safe.csv.private.json").read_text())
    record["settings"]["rate"] = 0.004
    Path("changed.json").write_text(json.dumps(record))
    Path("survey.csv").write_bytes(
        b"\n".join(Path("survey.csv").read_bytes().split(b"\n")[:-2]) + b"\n"
    )
    status, out, _ = run(
        "survey.csv", "--replay", "changed.json", "--output", "third.csv"
    )
    assert status == 1
    assert "It is NOT the file of the record" in out


def sizes_of_households(data):
    return sorted(collections.Counter(data["HOUSEHOLD"]).values())


@pytest.mark.parametrize("ids", [(), ("--keep-ids",)])
@pytest.mark.parametrize("target", ["safe.csv", "safe.parquet"])
def test_shuffled(run, target, ids):
    arguments = [*ROLES, *RECODE, "--threshold", "0.01", "--cost", "equal"]
    run("survey.csv", *arguments, "--output", "plain.csv")
    status, _, err = run(
        "survey.csv", *arguments, "--household", "HOUSEHOLD", "--household-keys",
        "REGION", "--output", target, "--shuffle", *ids,
    )  # fmt: skip
    # The old numbers of the households follow the regions.
    told = " households show in 'HOUSEHOLD': they can be read off" in err
    assert (status, told, "the order of the records" in err) == (0, bool(ids), False)
    first = formats.read("survey.csv").to_pydict()
    then = formats.read(target).to_pydict()
    assert then["HOUSEHOLD"] != first["HOUSEHOLD"]
    count = len(set(first["HOUSEHOLD"]))
    new = {str(i) for i in range(1, count + 1)}
    old = set(first["HOUSEHOLD"])
    assert set(then["HOUSEHOLD"]) == (old if ids else new)
    changes = sum(a != b for a, b in itertools.pairwise(then["HOUSEHOLD"]))
    assert changes == count - 1
    people = dict.fromkeys(zip(then["HOUSEHOLD"], then["PERSON"], strict=True))
    assert len(people) == len(first["PERSON"])
    assert sizes_of_households(then) == sizes_of_households(first)
    # Members, too, are in random order: their numbers do not rise.
    pairs = itertools.pairwise(zip(then["HOUSEHOLD"], then["PERSON"], strict=True))
    falls = sum(a[0] == b[0] and int(a[1]) > int(b[1]) for a, b in pairs)
    assert falls > 300
    # New ids do not follow the old ones.
    if not ids:
        regions = then["REGION"]
        pairs = zip(then["HOUSEHOLD"], regions, strict=True)
        numbers = [int(id) for id, region in pairs if region]
        known = [int(region) for region in regions if region]
        assert abs(np.corrcoef(numbers, known)[0, 1]) < 0.3
    run(
        "survey.csv",
        "--replay",
        f"{target}.private.json",
        "--output",
        f"again-{target}",
    )
    assert Path(f"again-{target}").read_bytes() == Path(target).read_bytes()


def test_mu_argus_shuffled(run):
    Path("s.rda").write_text(
        '<SEPARATOR> ","\n<NAMESINFRONT>\nA 2\nB 2 9\nW 4\n<WEIGHT>'
    )
    rows = [f"{i % 7},{i % 3},{i}.5" for i in range(1, 60)]
    Path("s.asc").write_text("\n".join(["A,B,W", *rows]) + "\n")
    for target, more in (("t.saf", []), ("u.saf", ["--shuffle"])):
        run(
            "s.asc",
            "--keys",
            "A",
            "B",
            "--threshold",
            "0.02",
            "--output",
            target,
            *more,
        )
    plain, mixed = (Path(name).read_text().split("\n") for name in ("t.saf", "u.saf"))
    assert plain[0] == mixed[0] == "A,B,W"
    assert plain != mixed
    assert sorted(plain) == sorted(mixed)


def test_python_says_the_same(run):
    status, out, _ = run("survey.csv", *ROLES, *RECODE, "--threshold", "0.01", "--json")
    assert status == 0
    from riskcore import Recoding

    result = protect(
        "survey.csv", KEYS, "WEIGHT", threshold=0.01,
        recodings={
            "REGION": Recoding.truncation(2),
            "AGE": Recoding.intervals([15, 30, 45, 65], closed="left"),
        },
    )  # fmt: skip
    assert json.loads(out) == result.to_dict()


@pytest.mark.parametrize("target", ["safe.parquet", "safe.csv.gz", "safe.tsv"])
def test_formats(run, target):
    status, _, _ = run(
        "survey.csv", *ROLES, *RECODE, "--threshold", "0.01", "--output", target
    )
    assert status == 0
    data = formats.read(target, numeric=["WEIGHT"])
    assert assess(data, KEYS, "WEIGHT", missing="wildcard").max_risk < 0.01


def test_what_is_not_safe_is_not_written(run):
    unsafe = ["--missing", "category", "--rounds", "1"]
    arguments = [*ROLES, *RECODE, "--threshold", "0.01", "--output", "safe.csv"]
    status, out, _ = run("survey.csv", *arguments, *unsafe)
    assert status == 1
    assert "NOT SAFE: by REGION x SEX x AGE x MARSTAT" in out
    assert "safe.csv is not written" in out
    assert not list(Path.cwd().glob("safe*"))
    status, out, _ = run("survey.csv", *arguments, *unsafe, "--allow-unsafe")
    assert status == 1
    assert json.loads(Path("safe.csv.private.json").read_text())["safe"] is False


def test_nothing_is_replaced_unasked(run):
    arguments = ["survey.csv", *ROLES, *RECODE, "--threshold", "0.01"]
    Path("safe.csv").write_text("mine")
    status, out, err = run(*arguments, "--output", "safe.csv")
    assert (status, out) == (2, "")
    assert "safe.csv: exists; overwriting was not asked for" in err
    Path("safe.csv").unlink()
    Path("safe.csv.private.json").write_text("mine")
    status, _, err = run(*arguments, "--output", "safe.csv")
    assert status == 2
    assert "safe.csv.private.json: exists" in err
    assert not Path("safe.csv").exists()
    status, _, err = run(*arguments, "--output", "survey.csv", "--overwrite")
    assert status == 2
    assert "survey.csv: is read from" in err
    assert run(*arguments, "--output", "safe.csv", "--overwrite")[0] == 0


@pytest.mark.parametrize(
    ("rule", "code", "expected"),
    [
        ("AGE=upto:15,30", "15", "<= 15"),
        ("AGE=from:15,30", "15", "[15, 30)"),
        ("AGE=from:15,30=a,b,c", "15", "b"),
        ("AGE=top:15", "16", "15"),
        ("AGE=top:15=15+", "16", "15+"),
        ("AGE=bottom:16", "15", "16"),
        ("AGE=truncate:1", "15", "1"),
        ("AGE=map:15=x,16=x", "15", "x"),
    ],
)
def test_rules(rule, code, expected):
    from riskcore.cli.words import recoding as rule_of

    name, recoding = rule_of(rule)
    assert (name, str(recoding.apply([code]).codes[0])) == ("AGE", expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threshold", "0.1"], "give --keys, or --replay"),
        ([*ROLES], "nothing to protect against: give a threshold"),
        (
            [*ROLES, "--threshold", "0.1", "--rate", "1%"],
            "not both",
        ),
        ([*ROLES, "--threshold", "0.1", "--drop", "NIL"], "no column 'NIL'"),
        ([*ROLES, "--threshold", "0.1", "--recode", "AGE=no.grc"], "no.grc"),
        ([*ROLES, "--threshold", "0.1", "--recode", "AGE"], "'AGE' is not NAME=VALUE"),
        (
            [*ROLES, "--threshold", "0.1", "--recode", "AGE=top:x"],
            "'x' is not a number",
        ),
        (
            [*ROLES, "--threshold", "0.1", "--recode", "AGE=top:9", "AGE=top:8"],
            "--recode: 'AGE' appears twice",
        ),
        ([*ROLES, "--threshold", "0.1", "--recode", "NIL=top:9"], "no column 'NIL'"),
        (
            [*ROLES, "--threshold", "0.1", "--cost", "SEX=high"],
            "'high' is not a number",
        ),
        ([*ROLES, "--threshold", "0.1", "--cost", "PERSON=1"], "'PERSON' is not a key"),
        ([*ROLES, "--household-rate", "1%"], "needs the household column"),
        ([*ROLES, "--threshold", "0.1", "--cost", "foo"], "--cost foo: give fewest"),
        ([*ROLES, "--threshold", "0.1", "--cost", "equal", "AGE=3"], "--cost equal:"),
        ([*ROLES, "--threshold", "0.1", "--recode", "AGE=foo:1"], "rules are upto:"),
        ([*ROLES, "--threshold", "0.1", "--report-top", "3"], "needs --report"),
        ([*ROLES, "--threshold", "0.1", "--households", "all"], "--households needs"),
        ([*ROLES, "--replay", "no.json"], "leave out --keys, --weight"),
        (["--replay", "no.json"], "no.json"),
        (["--replay", "survey.csv"], "survey.csv: not a record of a protection"),
        ([*ROLES, "--threshold", "0.1", "--output", "safe.xls"], "safe.xls: can"),
        (
            [*ROLES, "--threshold", "0.1", "--output", "safe.asc"],
            "only a mu-Argus",
        ),
    ],
)
def test_refusals(run, arguments, message):
    output = [] if "--output" in arguments else ["--output", "safe.csv"]
    status, out, err = run("survey.csv", *arguments, *output)
    assert (status, out) == (2, "")
    assert message in err
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["survey.csv"]


@pytest.mark.parametrize(
    "option",
    [
        ["--drop", "INCOME"],
        ["--shuffle"],
        ["--shuffle", "4"],
        ["--renumber", "INCOME"],
        ["--keep-ids"],
        ["--no-read-back"],
        ["--record", "r.json"],
        ["--record-public", "r.json"],
    ],
)
def test_options_without_effect(run, option):
    arguments = [*ROLES, *RECODE, "--threshold", "0.01"]
    status, _, err = run("survey.csv", *arguments, *option)
    assert status == 2
    assert f"{option[0]} needs --output" in err
    run("survey.csv", *arguments, "--output", "safe.csv")
    if not option[0].startswith(("--record", "--no-read")):
        status, _, err = run(
            "survey.csv",
            "--replay",
            "safe.csv.private.json",
            "--output",
            "b.csv",
            *option,
        )
        assert status == 2
        assert (
            f"--replay takes all settings from the record: leave out {option[0]}" in err
        )


@pytest.mark.parametrize(
    "outputs",
    [
        ["--output", "safe.csv", "--record", "survey.csv"],
        ["--output", "safe.csv", "--report", "survey.csv"],
        ["--report", "survey.csv"],
        ["--report", "link.html"],
        ["--output", "safe.csv", "--report", "Age.grc"],
        ["--output", "safe.csv", "--record", "x.txt", "--report", "x.txt"],
    ],
)
def test_what_is_read_is_never_written(run, folder, outputs):
    Path("link.html").symlink_to("survey.csv")
    Path("Age.grc").write_text("1:-40\n2:41-\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    status, _, err = run(
        "survey.csv", *ROLES, "--recode", "AGE=Age.grc", "--threshold", "0.01",
        "--overwrite", *outputs,
    )  # fmt: skip
    assert status == 2
    assert "is read from, and cannot" in err or "two files of this name" in err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_report_of_an_assessment_does_not_replace_the_survey(folder):
    before = Path("survey.csv").read_bytes()
    arguments = ["assess", "survey.csv", *ROLES, "--report", "survey.csv"]
    assert cli.main([*arguments, "--overwrite"]) == 2
    assert Path("survey.csv").read_bytes() == before


def test_a_record_knows_how_the_file_was_read(run):
    text = "Région;sex;w\n" + "".join(
        f"{'NA' if i % 9 == 0 else i % 3};{'é' if i % 4 else 'ü'};30,5\n".replace(
            ",", "."
        )
        for i in range(60)
    )
    Path("s.csv").write_bytes(text.encode("cp1252"))
    status, _, _ = run(
        "s.csv", "--keys", "Région", "sex", "--weight", "w", "--threshold", "0.005",
        "--encoding", "cp1252", "--na", "NA", "", "--output", "t.csv",
    )  # fmt: skip
    assert status == 0
    assert json.loads(Path("t.csv.private.json").read_text())["input"]["reading"] == {
        "metadata": None, "encoding": "cp1252", "delimiter": None,
        "decimal": ".", "user_missing": "missing",
        "missing_codes": {"": ["NA", ""]},
    }  # fmt: skip
    status, out, _ = run("s.csv", "--replay", "t.csv.private.json", "--output", "u.csv")
    assert status == 0
    assert "byte for byte" in out
    assert Path("t.csv").read_bytes().decode("cp1252").startswith("Région;sex;w\n;")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threshold", "0.03"), ("rounds", 1.5), ("within_households", "no"),
        ("keys", "abc"), ("recodings", {"AGE": {"rules": [3]}}), ("cost", 3),
        ("unknown", 1),
    ],
)  # fmt: skip
def test_records_that_were_edited_badly(run, name, value):
    run("survey.csv", *ROLES, *RECODE, "--threshold", "0.01", "--output", "safe.csv")
    record = json.loads(Path("safe.csv.private.json").read_text())
    record["settings"][name] = value
    Path("bad.json").write_text(json.dumps(record))
    status, _, err = run("survey.csv", "--replay", "bad.json", "--output", "again.csv")
    assert status == 2
    assert name in err or "not the settings of a protection" in err
    assert not Path("again.csv").exists()


def test_help_teaches(run):
    status, out, _ = run("--help")
    assert status == 0
    for word in ("truncate:2", "--replay", "exit status", "never", "propensity score"):
        assert word in out


def test_reports(run):
    arguments = ["--weight", "WEIGHT", "--threshold", "0.02", *RECODE]
    status, out, _ = run(
        "survey.csv", "--keys", "REGION", "SEX", "--keys", "SEX", "AGE", *arguments,
        "--output", "safe.csv", "--report", "report.html", "--report-top", "2",
    )  # fmt: skip
    assert status == 0
    assert "The report is in report.html." in out
    assert "The report is in report-2.html." in out
    text = Path("report-2.html").read_text()
    assert "survey.csv: re-identification risk and protection" in text
    assert "Riskiest combinations" in text
    assert '<h2 id="utility-title">Utility</h2>' in text
    status, _, err = run(
        "survey.csv", *ROLES, *arguments[2:], "--report", "report.html"
    )
    assert status == 2
    assert "report.html: exists" in err


def test_the_public_report_says_nothing_of_utility(run):
    status, _, _ = run(
        "survey.csv", *ROLES, *RECODE, "--k", "3", "--report-public", "about.html",
        "--report", "office.html",
    )  # fmt: skip
    assert status == 0
    for word in ("pMSE", "Hellinger", "entropy, bits"):
        assert word in Path("office.html").read_text()
        assert word not in Path("about.html").read_text()


def test_the_report_of_an_assessment(folder):
    status = cli.main(
        ["assess", "survey.csv", *ROLES, "--report", "r.html", "--rate", "1%"]
    )
    assert status == 0
    assert "survey.csv: re-identification risk" in Path("r.html").read_text()


def test_mu_argus(run):
    Path("s.rda").write_text(
        "REGION 1 1\n <RECODABLE>\n <RELATED> TOWN\nTOWN 2 3\n <RECODABLE>\n"
        "SEX 5 1 9\n <RECODABLE>\n <SUPPRESSWEIGHT> 90\nW 6 5\n <WEIGHT>\n"
    )
    rows = ["1A011100.5", "2A012100.5"] * 20 + ["1A021100.5", "3C099100.5"] * 2
    Path("s.asc").write_text("\r\n".join(rows) + "\r\n")
    status, out, err = run(
        "s.asc", "--keys", "REGION", "SEX", "--threshold", "0.005", "--output", "t.asc"
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
    arguments = ["survey.csv", *ROLES, *RECODE, "--threshold", "0.01"]
    status, out, _ = run(
        *arguments, "--output", "a.csv", "--renumber", "INCOME", "--shuffle",
        "--record-public", "public.json",
    )  # fmt: skip
    assert status == 0
    assert "It was read back and checked: every value and every risk agrees." in out
    assert "New ids in random order in INCOME." in out
    assert "The private record is in a.csv.private.json; do not publish it." in out
    assert "The record for publication is in public.json." in out
    first, then = (formats.read(name)["INCOME"] for name in ("survey.csv", "a.csv"))
    assert first.null_count == then.null_count
    count = len(set(first.drop_null().to_pylist()))
    assert {*map(int, then.drop_null().to_pylist())} == set(range(1, count + 1))
    status, out, err = run(
        *arguments, "--output", "b.csv", "--no-read-back", "--shuffle", "3"
    )
    assert status == 0
    assert "It was NOT read back" in out
    assert "the order is that of seed 3: whoever tries seeds finds it" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shuffle", "x"], "argument --shuffle: 'x' is not a whole number"),
        (["--keep-ids", "--renumber", "PERSON"], "not allowed with"),
        (["--renumber", "AGE"], "renumber: 'AGE' is a key or related to one"),
        (["--renumber", "PERSON", "--drop", "PERSON"], "'PERSON' is left out"),
        (["--renumber", "NIL"], "no column 'NIL'"),
        (["--record-public", "safe.csv.private.json"], "two files of this name"),
    ],
)
def test_ids_and_orders_that_cannot_be(run, options, message):
    arguments = ["survey.csv", *ROLES, "--threshold", "0.1", "--output", "safe.csv"]
    status, _, err = run(*arguments, *options)
    assert status == 2
    assert message in err
    assert not list(Path.cwd().glob("safe*"))


def test_formulas_are_guarded_and_a_replay_guards_them(run):
    jobs = ["=1+1", "-1", "plain", "+A1"]
    lines = Path("survey.csv").read_text().splitlines()
    rows = [f"{line},{jobs[i % 4]}" for i, line in enumerate(lines[1:])]
    Path("jobs.csv").write_text("\n".join([f"{lines[0]},JOB", *rows, ""]))
    status, out, _ = run(
        "jobs.csv", *ROLES, *RECODE, "--threshold", "0.01", "--output", "a.csv",
        "--guard-formulas",
    )  # fmt: skip
    assert status == 0
    assert "Text that a spreadsheet would run as a formula now begins with an '." in out
    written = [line.split(",")[-1] for line in Path("a.csv").read_text().splitlines()]
    assert written[1:5] == ["'=1+1", "-1", "plain", "'+A1"]
    status, out, _ = run(
        "jobs.csv", "--replay", "a.csv.private.json", "--output", "b.csv"
    )
    assert (status, "byte for byte" in out) == (0, True)
    status, _, err = run("jobs.csv", "--replay", "a.csv.private.json", "--output",
        "b.parquet")  # fmt: skip
    assert status == 2
    assert "is not a CSV file" in err


def test_what_is_not_safe_as_read_back(run, monkeypatch):
    monkeypatch.setattr(
        writing, "random_ids", lambda secret, name, codes, taken: codes * 0 + 1
    )
    status, out, _ = run(
        "survey.csv", *ROLES, *RECODE, "--household", "HOUSEHOLD",
        "--household-threshold", "0.03", "--output", "safe.csv", "--report", "r.html",
    )  # fmt: skip
    assert status == 1
    assert "As read back: NOT SAFE: by REGION x SEX" in out
    assert "safe.csv is not written" in out
    assert {path.name for path in Path.cwd().iterdir()} == {"survey.csv"}


def test_the_record_that_is_replayed_is_not_replaced(run):
    run("survey.csv", *ROLES, *RECODE, "--threshold", "0.01", "--output", "safe.csv")
    status, _, err = run(
        "survey.csv", "--replay", "safe.csv.private.json", "--output", "safe.csv",
        "--overwrite",
    )  # fmt: skip
    assert status == 2
    assert "safe.csv.private.json: is read from" in err


def test_plans(run):
    words = [*ROLES, *RECODE, "--threshold", "0.01", "--quiet"]
    status, out, _ = run("survey.csv", *words, "--json")
    by_record = json.loads(out)
    assert status == 0
    assert by_record["plan"]["leaning_records"] == 0
    status, out, err = run(
        "survey.csv", *words, "--plan", "restore", "--output", "safe.csv", "--shuffle",
        "--record-public", "public.json", "--report", "office.html",
        "--report-public", "public.html",
    )  # fmt: skip
    assert status == 0, err
    for line in ("Plan of the file", "proven to be the least", "safe only by others'"):
        assert line in out
    status, out, _ = run("survey.csv", *words, "--plan", "restore", "--json")
    figures = json.loads(out)
    values = sum(figures["suppressed"].values())
    assert values < sum(by_record["suppressed"].values())
    plan = figures["plan"]
    assert (plan["plan"], plan["cost"]) == ("restore", values)
    # For the office: the bound, and who counts on others. For all: the method.
    public = json.loads(Path("public.json").read_text())
    assert public["plan"] == "restore"
    words = f"{plan['leaning_records']:,} of {plan['unsafe_records']:,} unsafe records"
    assert words in Path("office.html").read_text()
    everything = Path("public.json").read_text() + Path("public.html").read_text()
    for word in ("leaning", "costs less", "counting on others", "count on values"):
        assert word not in everything
    private = json.loads(Path("safe.csv.private.json").read_text())
    assert "plan" not in private
    assert private["settings"]["plan"] == "restore"
    status, out, err = run(
        "survey.csv", "--replay", "safe.csv.private.json", "--output", "again.csv"
    )
    assert status == 0, err
    assert "byte for byte" in out
