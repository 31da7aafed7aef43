"""Files of rules: a line of the shell becomes a file, and the file does the same."""

import argparse
import json
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import csv

from riskcore import Release, simulate
from riskcore.cli import protect
from riskcore.cli import run as run_command
from riskcore.cli.options import reading
from riskcore.cli.rules import rules_of
from riskcore.cli.settings import arguments_of
from riskcore.common.settings import complete
from riskcore.data.files import formats
from riskcore.data.source import Source
from riskcore.protection.settings.settings import Settings
from riskcore.protection.settings.settings_table import ProtectSettings

ROOT = Path(__file__).parents[2]
LINE = (
    "protect survey.csv --keys REGION SEX AGE --weight WEIGHT --household HOUSEHOLD "
    "--recode REGION=truncate:2 AGE=age.grc --treat INCOME=top:1% INCOME=round:1000 "
    "--threshold 0.5% --household-threshold 3% --shuffle --drop PERSON "
    "--role '*=harmless:a test' --accept '*=a test' --output safe.csv"
)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Work in a folder that holds one survey."""
    monkeypatch.chdir(tmp_path)
    data = simulate.microdata(600, np.random.default_rng(4))
    formats.write("survey.csv", data)
    groups = [f"{low // 20}:{low}-{low + 19}\n" for low in range(0, 120, 20)]
    Path("age.grc").write_text("".join(groups))


def printed(run, line):
    """Return the rules that a line prints, and write them to release.toml."""
    status, out, _ = run(f"{line} --print-rules")
    assert status == 0
    Path("release.toml").write_text(out)
    return out


def without_names(out):
    return out.replace("other.csv", "safe.csv")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_rules_make_the_file_of_the_line_byte_for_byte(run):
    text = printed(run, LINE)
    assert not Path("safe.csv").exists()
    status, out, _ = run(f"{LINE} --json")
    assert status == 0
    first = Path("safe.csv").read_bytes()
    again = "run release.toml --output other.csv --secret safe.csv.private.json --json"
    status, again, _ = run(again)
    assert status == 0
    assert Path("other.csv").read_bytes() == first
    assert json.loads(without_names(again)) == json.loads(out)
    assert '[recodings]\nREGION = "truncate:2"\nAGE = "age.grc"\n' in text
    records = [
        json.loads(Path(f"{n}.csv.private.json").read_text()) for n in ("safe", "other")
    ]
    for one in records:
        del one["output"]["file"]
    assert records[0] == records[1]


def test_paths_are_relative_to_the_file_of_rules(run, tmp_path, monkeypatch):
    printed(run, LINE)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run("run ../release.toml")[0] == 0
    assert (tmp_path / "safe.csv").exists()
    assert not list(Path().iterdir())
    line = "check --rules ../release.toml --original ../survey.csv"
    assert run(line)[0] == 0


def test_a_run_replaces_nothing_unless_it_is_told(run):
    printed(run, LINE)
    assert run("run release.toml")[0] == 0
    status, _, err = run("run release.toml")
    assert status == 2
    assert "exists" in err
    assert run("run release.toml --overwrite")[0] == 0


def test_the_file_of_rules_is_never_written_over(run):
    text = printed(run, LINE).replace('"safe.csv"', '"release.toml"')
    Path("release.toml").write_text(text)
    status, _, err = run("run release.toml --overwrite")
    assert status == 2
    assert Path("release.toml").read_text() == text
    status, _, err = run("run release.toml --output age.grc --overwrite")
    assert status == 2, err


def test_an_unsafe_file_is_not_written(run):
    printed(run, LINE.replace("--role '*=harmless:a test' --accept '*=a test' ", ""))
    status, out, _ = run("run release.toml")
    assert status == 1
    assert "NOT SAFE" in out
    assert not Path("safe.csv").exists()
    assert run("run release.toml --data survey.csv --output safe.csv")[0] == 1


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ('[safe]\nk = "3"', "5:1", "safe.k: need a whole number or"),
        ("[safe]\nkk = 3", "5:1", "safe.kk: there is no setting of this name; did"),
        ("[safe]\nrate = 2", "5:1", "need a number in (0, 1] or a share"),
        ("[safe]\nk = 3\nrate = '0.1%'\nthreshold = 0.1", "7:1", "not both"),
        ("keys = 3", "4:1", "columns.keys: it belongs into"),
        ("[roles]\nINCOM = 'sensitive'\n[safe]\nk = 3", "5:1", "mean 'INCOME'?"),
        (
            "[safe]\nk = 3\n[suppress]\nhousehold_keys = ['SEX']",
            "7:1",
            "household_keys need",
        ),
        ("[recodings]\nSEX = 'map:1=1'\nAGE = 'from:x'", "6:1", "'x' is not a number"),
        ("[recodings]\nAGE = 'none.grc'", None, "none.grc"),
        ("[treat]\nINCOME = ['round:5', 'nosie:2']", "5:1", "nosie"),
        (
            "[output]\ndrop = ['PERSON', 'PERSONN']\n[safe]\nk = 3",
            "5:19",
            "did you mean 'PERSON'?",
        ),
        ("[output]\nfile = 'safe.csv'\noverwrite = true", "6:1", "no setting of this"),
        ("[data]\nfile = 'none.csv'", None, "none.csv"),
        ("[accept]\nINCOME = ' '", "5:1", "no reason"),
        ("[columns]\nweight = 'W'", "4:", "not TOML"),
    ],
)
def test_faults_are_refused_before_any_work(run, no_work, line, place, message):
    head = "format = 1\n[columns]\nkeys = ['SEX', 'AGE']\n"
    if line == "keys = 3":
        head, line, place = "format = 1\n[safe]\n", "keys = 3", "3:1"
        message = "safe.keys: it belongs into [columns]"
    elif "[data]" not in line:
        line += "\n[data]\nfile = 'survey.csv'\n"
    Path("release.toml").write_text(head + line + "\n")
    status, out, err = run("run release.toml")
    assert (status, out) == (2, "")
    assert message in err
    if place is not None:
        assert f"release.toml:{place}" in err
    assert list(Path().glob("safe*")) == []


def test_a_gate_takes_the_rules(run):
    printed(run, LINE)
    assert run("run release.toml")[0] == 0
    line = "check --rules release.toml --original survey.csv"
    status, out, _ = run(f"{line} --json")
    assert status == 0
    rules = [one["rule"] for one in json.loads(out)["rules"]]
    assert rules == ["threshold", "household_threshold"]
    # The risk is that among the people of the original.
    status, out, _ = run("check --rules release.toml")
    assert status == 1
    assert "NOT EXAMINED" in out
    assert "Not judged: risk below the threshold" in out
    other = run("check survey.csv --rules release.toml --original survey.csv")
    assert other[0] == 1
    assert run("check --rules release.toml --k 50")[0] == 1
    with Path("release.toml").open("a") as file:
        file.write("\n[check]\nmax_rate = '0.0001%'\n")
    status, out, _ = run(line)
    assert status == 1
    assert "FAILED: 1 of 3 rules broken" in out
    for option in ("--max-rate 1%", "--keys SEX", "--missing argus", "--weight WEIGHT"):
        status, _, err = run(f"check --rules release.toml {option}")
        assert status == 2, option
        assert "leave" in err
    status, _, err = run("check --k 3")
    assert status == 2
    assert "give --keys, --record" in err
    status, _, err = run("check --keys SEX --k 3")
    assert "give FILE" in err


def test_a_weight_that_is_left_out_is_that_of_the_original(run):
    printed(run, f"{LINE} --report r.html".replace("--drop", "--drop WEIGHT"))
    assert run("run release.toml")[0] == 0
    status, out, _ = run("check --rules release.toml")
    assert status == 1
    assert "the weights 'WEIGHT' were left out of the file" in out
    assert run("check --rules release.toml --original survey.csv")[0] == 0


def test_check_prints_its_rules(run):
    line = "check survey.csv --keys SEX AGE --keys SEX MARSTAT --k 2 3 --weight WEIGHT"
    line += " --max-risk 5% --sensitive EDUCATION --l 2 --missing argus"
    text = printed(run, line)
    assert "k = [2, 3]" in text
    lines = ("check --rules release.toml", line)
    one, other = (json.loads(run(f"{each} --json")[1]) for each in lines)
    assert one["rules"] == other["rules"]
    # By rules, as for run, every column has a role; options name only what is limited.
    assert (len(one["not_examined"]) > 0, other["not_examined"]) == (True, [])


def test_try_prints_the_rules_of_a_candidate(run):
    line = (
        "try survey.csv --keys SEX AGE --weight WEIGHT --candidate "
        "'coarse=--k 3 --household HOUSEHOLD --recode AGE=from:30,60'"
    )
    status, out, _ = run(f"{line} --print-rules coarse --shuffle")
    assert status == 0
    assert tomllib.loads(out) == {
        "format": 1,
        "data": {"file": "survey.csv"},
        "columns": {
            "keys": ["SEX", "AGE"], "weight": "WEIGHT", "household": "HOUSEHOLD",
        },
        "safe": {"k": 3},
        "recodings": {"AGE": "from:30,60"},
        "output": {"file": "safe.csv", "shuffle": True},
    }  # fmt: skip


def test_try_takes_roles_for_all_candidates(run, figures):
    line = "try survey.csv --keys SEX AGE --weight WEIGHT --drop WEIGHT HOUSEHOLD"
    candidates = "--candidate 'two=--k 2' 'three=--k 3 --role REGION=harmless'"
    roles = "--role '*=harmless:agreed' --accept '*=agreed'"
    bare = figures(f"{line} {candidates}", status=1)
    given = figures(f"{line} {roles} {candidates}", status=0)
    states = [[one["state"] for one in found["candidates"]] for found in (bare, given)]
    assert all("open" in one for one in states[0]), states
    assert all(one.startswith("safe except for") for one in states[1]), states
    rules = run(f"{line} {roles} {candidates} --print-rules three")[1]
    Path("three.toml").write_text(rules)
    status, _, error = run("run three.toml")
    assert status == 0, error


TRIED = """
[try.strict.safe]
k = 5  # as in the contract
[try.raw.safe]
threshold = false
k = 2
[try.raw]
recodings.AGE = false
suppress = { cost = "entropy" }
"""


def test_try_takes_candidates_from_the_rules(run, figures):
    printed(run, f"{LINE} --ties secret")
    given = Path("release.toml")
    with given.open("a") as file:
        file.write(TRIED)
    found = figures("try --rules release.toml")
    own, strict, raw = (one["settings"] for one in found["candidates"])
    assert [one["name"] for one in found["candidates"]] == ["release", "strict", "raw"]
    assert own["recodings"].keys() >= {"AGE"}
    assert "k" not in own
    assert strict == {**own, "k": 5}
    changed = {"threshold": None, "k": 2, "cost": "entropy"}
    del changed["threshold"], own["threshold"], own["recodings"]["AGE"]
    assert raw == {**own, **changed}
    # The rules of a candidate are those that were tried, and the rest is kept.
    status, out, _ = run("try --rules release.toml --print-rules raw")
    assert status == 0
    rules = tomllib.loads(given.read_text())
    del rules["try"], rules["safe"]["threshold"], rules["recodings"]["AGE"]
    rules["safe"]["k"] = 2
    rules["suppress"]["cost"] = "entropy"
    assert tomllib.loads(out) == rules
    # The other commands leave the candidates alone.
    assert run("run release.toml")[0] == 0
    line = "check --rules release.toml --original survey.csv"
    assert run(line)[0] == 0
    assert f"{TRIED}" in given.read_text()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("try.a.safe.kk = 2", "", "5:12: try.a.safe.kk: there is no setting"),
        ("try.a.safe.k = 0", "", "5:12: try.a.safe.k: need a whole number"),
        ("try.a.safe.kk = false", "", "5:12: try.a.safe.kk: there is no setting"),
        ("try.a.safe.k = true", "", "5:12: try.a.safe.k: need a whole number"),
        ("try.a.recodings.AG = false", "", "5:17: try.a.recodings.AG: survey.csv: no"),
        ("try.a.recodings.AGE = true", "", "5:17: try.a.recodings.AGE: need text"),
        (
            "try.a.recodings.AG = 'top:60'",
            "",
            "5:17: try.a.recodings.AG: survey.csv: no column 'AG'",
        ),
        ("try.a.accept.AGE = 'known'", "", "try.a.accept: a candidate changes only"),
        ("try.a.k = 3", "", "try.a.k: a candidate changes only safe, roles"),
        ("try.a.recodings = false", "", "5:7: try.a.recodings: need a table"),
        ("try.a = 3", "", "try.a: need tables, such as [try.a.recodings]"),
        ("try = 3", "", "try: need tables of candidates"),
        ("", "", "r.toml: no candidates; write one as a table such as [try.coarse."),
        ("try.r.safe.k = 3", "", "try.r: the name of the file"),
        ("try.a.safe.k = 3", "--print-rules b", "candidates are r, a"),
        ("try.a.safe.k = 3", "--keys AGE", "states what to try: leave out --keys"),
        ("try.a.safe.k = 3", "--candidate b=", "leave out --candidate"),
    ],
)
def test_refusals_of_candidates_in_rules(refused, text, line, message):
    Path("r.toml").write_text(
        "format = 1\ndata.file = 'survey.csv'\ncolumns.keys = ['SEX', 'AGE']\n"
        f"safe.k = 2\n{text}\n"
    )
    assert message in refused(f"try --rules r.toml {line}")


def blocks(language):
    text = (ROOT / "notes/howto/rules.md").read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_hook_and_the_action_gate_a_file(run):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert not hook["pass_filenames"]
    commit, action = map(yaml.safe_load, blocks("yaml"))
    (used,) = commit["repos"][0]["hooks"]
    assert used["id"] == hook["id"]
    steps = [one["run"] for one in action["jobs"]["check"]["steps"] if "run" in one]
    lines = [one for one in steps if one.startswith("riskcore ")]
    assert len(lines) == 1
    lines += [" ".join([hook["entry"], *used["args"]])]
    assert all("--original survey.csv" in line for line in lines)
    printed(run, LINE)
    assert run("run release.toml")[0] == 0
    for line in lines:
        assert run(line.removeprefix("riskcore "))[0] == 0
    Path("safe.csv").write_bytes(Path("survey.csv").read_bytes())
    for line in lines:
        assert run(line.removeprefix("riskcore "))[0] == 1


def test_the_model_of_dbt_makes_a_safe_table(run):
    (model,) = [one for one in blocks("python") if "def model" in one]
    names = {}
    exec(compile(model, "survey_safe.py", "exec"), names)
    table = csv.read_csv("survey.csv")
    relation = SimpleNamespace(to_arrow_table=lambda: table)
    dbt = SimpleNamespace(ref=lambda name: {"survey": relation}[name])
    rules = "format = 1\n[columns]\nkeys = ['SEX', 'AGE']\n[safe]\nk = 3\n"
    others = "[roles]\n'*' = 'harmless:a test'\n[accept]\n'*' = 'a test'\n"
    Path("release.toml").write_text(f"{rules}{others}")
    safe = names["model"](dbt, None)
    assert safe.num_rows == table.num_rows
    assert safe["SEX"].null_count + safe["AGE"].null_count > 0
    Path("release.toml").write_text(rules)
    with pytest.raises(ValueError, match="NOT SAFE"):
        names["model"](dbt, None)


RANDOM = LINE.replace(
    "--threshold 0.5%", "--threshold 0.5% --ties secret"
).replace("INCOME=round:1000", "INCOME=noise:5%")  # fmt: skip
RECORD = "safe.csv.private.json"


@pytest.fixture
def first(run):
    """Return the bytes of a safe file by random bits, and of its record."""
    printed(run, RANDOM)
    assert run("run release.toml")[0] == 0
    return Path("safe.csv").read_bytes(), Path(RECORD).read_bytes()


def test_the_secret_of_a_record_makes_the_same_file(run, first):
    assert run("run release.toml --output other.csv")[0] == 0
    assert Path("other.csv").read_bytes() != first[0]
    line = f"run release.toml --secret {RECORD}"
    status, out, err = run(f"{line} --output again.csv")
    assert status == 0, err
    assert "It is byte for byte the file of the record." in out
    assert Path("again.csv").read_bytes() == first[0]
    assert Path("again.csv.private.json").exists()
    # In its place the record is the same again.
    assert "safe.csv: already exists" in run(line)[2]
    status, out, err = run(f"{line} --overwrite")
    assert status == 0, err
    assert f"The private record is in {RECORD}" in out
    assert Path("safe.csv").read_bytes() == first[0]
    assert Path(RECORD).read_bytes() == first[1]


def test_no_other_file_is_made_by_the_secret_of_a_record(run, refused, first):
    text = Path("release.toml").read_text()
    line = f"run release.toml --secret {RECORD} --output again.csv"
    Path("release.toml").write_text(text.replace("truncate:2", "truncate:1"))
    said = refused(line)
    assert (
        f"again.csv: would not be the file of {RECORD} (the data, the rules or " in said
    )
    Path("release.toml").write_text(text)
    said = refused(line.replace("again.csv", "again.parquet"))
    assert "the format of the file differ" in said
    record = json.loads(first[1])
    record["versions"]["numpy"] = "1.0"
    record["output"]["sha256"] = "0" * 64
    Path("old.json").write_text(json.dumps(record))
    said = refused("run release.toml --secret old.json --output again.csv")
    assert "numpy was 1.0 and is " in said
    assert not list(Path().glob("again*"))
    report = text + f'report = "{RECORD}"\n'
    Path("release.toml").write_text(report.replace('"safe.csv"', '"other.csv"'))
    said = refused(f"run release.toml --secret {RECORD} --overwrite")
    assert "an input file" in said
    assert Path(RECORD).read_bytes() == first[1]


def test_the_secret_of_a_record_needs_its_data(refused, first):
    line = f"run release.toml --secret {RECORD} --output again.csv"
    lines = Path("survey.csv").read_text().splitlines()
    Path("short.csv").write_text("\n".join(lines[:-1]))
    said = refused(f"{line} --data short.csv")
    assert f"again.csv: would not be the file of {RECORD} (the data, the rules" in said
    Path("odd.json").write_text("{}")
    assert "not a record" in refused("run release.toml --secret odd.json")
    assert "no.json" in refused("run release.toml --secret no.json")
    assert not Path("again.csv").exists()


def test_the_outcome_speaks_of_the_rules(run):
    text = printed(
        run, LINE.replace("--role '*=harmless:a test' --accept '*=a test' ", "")
    )
    out = run("run release.toml")[1]
    assert out.endswith(
        "safe.csv is not written; set allow_unsafe = true in [output] to write it.\n"
    )
    Path("release.toml").write_text(f"{text}allow_unsafe = true\n")
    assert "The safe file is in safe.csv." in run("run release.toml")[1]
    Path("release.toml").write_text(text.replace('file = "safe.csv"\n', ""))
    assert run("run release.toml")[1].endswith(
        "Nothing is written: name a file in [output] or give --output to write the "
        "safe file.\n"
    )
    assert (
        "--overwrite needs --output, or a file or a report in [output]"
        in (run("run release.toml --overwrite")[2])
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("record = 'r'", "5:1: output.record: without an effect; also name file"),
        ("report_title = 'T'", "5:1: output.report_title: there is no setting"),
        ("renumber = ['AGE']", "output.renumber.*'AGE' is a key"),
        ("drop = ['AGEE']", "5:9: output.drop"),
        ("shuffle = 3", "5:1: output.shuffle: need true or false, not 3"),
    ],
)
def test_faults_of_the_output_are_told_by_their_rule(refused, no_work, lines, said):
    head = "format = 1\ndata.file = 'survey.csv'\ncolumns.keys = ['SEX', 'AGE']\n"
    Path("release.toml").write_text(f"{head}[output]\n{lines}\n[safe]\nk = 3\n")
    found = refused("run release.toml")
    assert re.search(said, found), found
    assert "--" not in found


def test_the_schema_is_printed(run):
    status, out, _ = run("run --schema")
    assert status == 0
    assert json.loads(out)["required"] == ["format"]
    assert "give RULES" in run("run")[2]


def test_rules_of_rules_are_refused(run):
    for line in ("--record r.json", "--rules r.toml", "--keys SEX --original s.csv"):
        status, _, err = run(f"check survey.csv {line} --print-rules")
        assert status == 2
        assert "leave out" in err


# Options of protect, each with some of its values.
NAMES = st.sampled_from(["REGION", "SEX", "AGE", "MARSTAT"])
OTHERS = st.sampled_from(["INCOME", "EDUCATION", "CITIZENSHIP"])
SHARES = st.sampled_from(["0.1%", "0.05", "12.5%", "1", "1e-3"])
WHOLES = st.integers(2, 9).map(str)


def several(words, most=3, key=None):
    """Return a strategy of lists of different words."""
    return st.lists(words, min_size=1, max_size=most, unique_by=key or (lambda w: w))


def by_column(columns, rules, most=3):
    pairs = st.tuples(columns, rules).map("=".join)
    return several(pairs, most, lambda pair: pair.partition("=")[0])


KEYED = by_column(NAMES, st.sampled_from(["2", "0.5", "never", "1e3"]))
CATEGORY = st.sampled_from(["SEX[1]=7", "AGE[under 30]=never", "AGE[x=y]=0"])
OPTIONS = {
    "--weight": st.just(["WEIGHT"]),
    "--household": st.just(["HOUSEHOLD"]),
    "--level": st.sampled_from([["record"], ["household"]]),
    "--subsets": st.just(["1"]),
    "--strata": st.just(["CITIZENSHIP"]),
    "--threshold": SHARES.map(lambda one: [one]),
    "--rate": SHARES.map(lambda one: [one]),
    "--household-rate": SHARES.map(lambda one: [one]),
    "--missing": st.sampled_from([["argus"], ["category"]]),
    "--population": st.sampled_from([["weights"], ["auto"], ["latent-class"]]),
    "--cluster": st.just(["PERSON"]),
    "--sampling-fraction": SHARES.map(lambda one: [one]),
    "--method": st.sampled_from([["series7"], ["franconi"]]),
    "--person": st.just(["PERSON"]),
    "--wave": st.just(["HHSIZE"]),
    "--known-waves": WHOLES.map(lambda one: [one]),
    "--role": by_column(OTHERS, st.sampled_from(["sensitive", "numeric", "harmless"])),
    "--accept": by_column(
        st.sampled_from(["*", "INCOME", "(order)"]), st.sampled_from(['a "b"', "é\n\\"])
    ),
    "--recode": by_column(
        NAMES, st.sampled_from(["truncate:1", "map:1=2", "age.grc", "top:60=60+"])
    ),
    "--treat": by_column(
        st.sampled_from(["INCOME", "INCOME+EDUCATION", "WEIGHT"]),
        st.sampled_from(["round:10", "top:1%=mean", "microaggregate:3:within=SEX"]),
    ),
    "--cost": KEYED | several(CATEGORY) | st.sampled_from([["equal"], ["entropy"]]),
    "--household-keys": several(NAMES),
    "--related": st.just(["derived"]) | by_column(NAMES, OTHERS),
    "--suppression": st.just(["argus"]),
    "--ties": st.just(["secret"]),
    "--output": st.just(["a safe.csv"]),
    "--record": st.just(["r.json"]),
    "--record-public": st.just(["p.json"]),
    "--report": st.just(["r.html"]),
    "--report-public": st.just(["p.html"]),
    "--form": st.just(["f.html"]),
    "--drop": several(OTHERS),
    "--shuffle": st.just([]),
    "--renumber": st.just([]) | several(st.sampled_from(["HOUSEHOLD", "PERSON"])),
    "--guard-formulas": st.just([]),
    "--allow-unsafe": st.just([]),
    "--delimiter": st.sampled_from([[","], ["tab"]]),
    "--encoding": st.just(["cp1252"]),
    "--decimal": st.just([","]),
    "--na": several(st.sampled_from(["NA", "AGE=99", "=A=B", "SEX=", "9"])),
    "--user-missing": st.just(["codes"]),
    "--sheet": st.just(["One"]),
    "--metadata": st.just(["x.rda"]),
}


@st.composite
def lines(draw):
    """Return the words of a protection."""
    words = ["survey.csv"]
    sets = draw(st.lists(several(NAMES), min_size=1, max_size=2, unique_by=frozenset))
    for keys in sets:
        words += ["--keys", *keys]
    k = draw(st.none() | st.lists(WHOLES, min_size=len(sets), max_size=len(sets)))
    words += [] if k is None else ["--k", *draw(st.sampled_from([k, k[:1]]))]
    for option in draw(st.lists(st.sampled_from(sorted(OPTIONS)), unique=True)):
        words += [option, *draw(OPTIONS[option])]
    return words


def resolved(source, asked):
    try:
        return Settings.resolve(source, **asked)
    except (KeyError, TypeError, ValueError) as error:
        return str(error.args[0])


@given(lines())
@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_options_and_their_rules_give_equal_settings(words):
    parser = argparse.ArgumentParser(add_help=False)
    protect.add(parser)
    options = parser.parse_args(words)
    options.words = []
    columns = Source.of("survey.csv").names
    asked = arguments_of(options, ProtectSettings, columns=columns)
    text = rules_of(options, asked, {}).to_toml()
    release = Release.parse(text, "release.toml")
    again = release.arguments()
    usual = complete(ProtectSettings, {})
    for name, value in asked.items():
        if name != "k":
            found = again.get(name, usual[name])
            assert found == value, name
    assert reading(options) == release._reading()
    source = Source.of("survey.csv")
    given = {
        "keys": options.keys if len(options.keys) > 1 else options.keys[0],
        "weight": options.weight,
        "household": options.household,
    }
    assert resolved(source, {**asked, **given}) == resolved(source, again)
    asked_to_run = argparse.Namespace(
        data=None, output=None, overwrite=False, json=False, quiet=False, words=[],
        rules=Path("release.toml"),
    )  # fmt: skip
    to_do = run_command.as_protect(release, asked_to_run)
    for name in OF_FILES:
        assert getattr(to_do, name) == getattr(options, name), name
    # A rule that names a file is its path by now.
    to_do.recode = [(column, str(rule)) for column, rule in to_do.recode]
    assert to_do.recode == options.recode


OF_FILES = (
    "file", "output", "record", "record_public", "report",
    "report_public", "form", "shuffle", "renumber", "guard_formulas",
    "allow_unsafe",
)  # fmt: skip
