"""What commands read they never write over, nor let be read by more people."""

import argparse
import os
import stat

import numpy as np
import pytest

import riskcore
from riskcore import cli, simulate
from riskcore.assessment.assess_settings import Goals
from riskcore.cli import results
from riskcore.cli import settings as readers
from riskcore.common.settings import Number
from riskcore.data.files import formats
from tests import needs
from tests.accepted import ANY_LEAK

KEYS = "--keys REGION SEX AGE"
ROLES = f"{KEYS} --weight WEIGHT"
# Types of values, and their names in the help, that are not paths.
NO_PATHS = {
    readers.fraction, readers.number, readers.whole, readers.records, readers.grid_of,
}  # fmt: skip
NO_FILES = {
    "C", "COLUMN", "COST", "L", "CODE", "KEY=COLUMN", "NAME", "SIZE=CELLS", "TEXT",
    "[COLUMN=]CODE", "SEED", "COLUMN=ROLE", "COLUMN=REASON",
    "COLUMN=RULE", "COLUMN=PATTERN", "KEY=AMOUNT", "KEY=NUMBER", "FORMULA", "KEY",
    "TOPIC", "'COLUMN x COLUMN'",
}  # fmt: skip
# Options that name files to read.
READ = {
    "file", "safe", "released", "holdout", "original", "earlier", "metadata", "data",
    "household_file", "population", "recode", "secret", "rules", "of_record",
    "candidate", "reference",
}  # fmt: skip
# Commands that read no file.
READ_NOTHING = {"demo", "error-table", "simulate"}


def commands():
    """Return the parsers of all commands by name."""
    actions = cli.build_parser()._actions
    found = next(a for a in actions if isinstance(a, argparse._SubParsersAction))
    return found.choices


@pytest.mark.parametrize("name", commands())
def test_each_option_that_takes_a_path_is_known(name):
    for action in commands()[name]._actions:
        if action.nargs == 0 or action.choices or action.metavar in NO_FILES:
            continue
        setting = getattr(getattr(action.type, "__wrapped__", None), "__self__", None)
        is_number = action.type in NO_PATHS or isinstance(setting, Number | Goals)
        if is_number or name in READ_NOTHING:
            continue
        assert (action.dest in READ) != (action.dest in results.WRITTEN), action


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with a survey and all other files that commands can read."""
    monkeypatch.chdir(tmp_path)
    survey = simulate.microdata(300, np.random.default_rng(1))
    names = ["REGION", "SEX", "AGE"]
    formats.write("survey.csv", {**survey, "ILL": np.arange(300) % 3})
    cells = riskcore.tabulate(survey, names).to_dict()
    people = cells["sample_frequency"] * 50
    register = {name: cells[name] for name in names}
    formats.write("register.csv", {**register, "population_frequency": people})
    ages = sorted({str(age) for age in survey["AGE"]})
    formats.write("made.csv", {**survey, "ILL": np.arange(300) % 3})
    tree = "".join(f"{age};{int(age) // 20};all\n" for age in ages)
    (tmp_path / "ages.csv").write_text(tree)
    rules = [f"{low // 20}:{low}-{low + 19}\n" for low in range(0, 100, 20)]
    (tmp_path / "age.grc").write_text("".join(rules))
    (tmp_path / "tried.toml").write_text(
        "format = 1\ndata.file = 'survey.csv'\ncolumns.keys = ['SEX', 'AGE']\n"
        "safe.k = 2\ntry.by_rules.recodings.AGE = 'age.grc'\n"
    )
    (tmp_path / "ladder.toml").write_text(
        "format = 1\ndata.file = 'survey.csv'\ncolumns.keys = ['SEX', 'AGE']\n"
        "safe.k = 2\nladder.AGE = 'ages.csv'\n"
    )
    return tmp_path


ASSESS = f"assess survey.csv {ROLES} --population register.csv"
ACCEPT = "--role '*=harmless:a test' --accept '*=a test'"
PROTECT = f"protect survey.csv {ROLES} --k 2 {ACCEPT}"
FORM = f"{PROTECT} --output o.csv"
BY_TREE = "--recode AGE=hierarchy:ages.csv:1"
BY_RULES = "--recode AGE=age.grc"
TRY = f"try survey.csv {KEYS}"
COMPARE = f"compare survey.csv survey.csv {ROLES}"
ILL = "survey.csv --keys REGION --sensitive ILL"
AUDIT = f"audit survey.csv made.csv {ROLES} --holdout ages.csv"
AUDIT = f"{AUDIT} --population register.csv"
# A command, a file that it reads, and the options that would write there.
CASES = [
    (ASSESS, "register.csv", "--output --report --report-public"),
    (f"{PROTECT} {BY_RULES}", "age.grc", "--report --report-public --form"),
    (f"{PROTECT} {BY_TREE}", "ages.csv", "--output --report --report-public --form"),
    (f"{PROTECT} {BY_TREE} --output safe.csv", "ages.csv", "--record --record-public"),
    (f"{TRY} --candidate 'a=--k 2 {BY_RULES}'", "age.grc", "--report"),
    (f"{TRY} --candidate 'a=--k 2 {BY_TREE}'", "ages.csv", "--report"),
    ("try --rules tried.toml", "tried.toml", "--report"),
    ("try --rules tried.toml", "age.grc", "--report"),
    ("try --rules tried.toml", "survey.csv", "--report"),
    ("best --rules ladder.toml", "survey.csv", "--output"),
    ("best --rules ladder.toml", "ladder.toml", "--output"),
    ("best --rules ladder.toml", "ages.csv", "--output"),
    (f"{COMPARE} {BY_TREE}", "ages.csv", "--report"),
    (f"{COMPARE} {BY_RULES}", "age.grc", "--report"),
    (f"diversity {ILL}", "survey.csv", "--output --report"),
    (f"check {ILL} --t 0.5", "survey.csv", "--report --report-public"),
    (f"uniques survey.csv {ROLES}", "survey.csv", "--report"),
    (f"suda survey.csv {KEYS}", "survey.csv", "--output --report"),
    (f"describe survey.csv {KEYS}", "survey.csv", "--report"),
    (AUDIT, "survey.csv", "--output --report --report-public"),
    (AUDIT, "made.csv", "--output --report --report-public"),
    (AUDIT, "ages.csv", "--output --report --report-public"),
    (AUDIT, "register.csv", "--output --report --report-public"),
]


@pytest.mark.parametrize("link", [None, os.symlink, os.link], ids=["", "sym", "hard"])
@pytest.mark.parametrize(
    ("line", "name", "option"),
    [(line, name, option) for line, name, many in CASES for option in many.split()],
)
def test_an_input_is_never_written_over(folder, refused, line, name, option, link):
    ending = ".csv" if option == "--output" else ""
    target = f"./{name}" if link is None else f"link{ending}"
    if link is not None:
        link(name, target)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert "an input file" in refused(f"{line} {option} {target} --overwrite")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_nothing_is_written_into_a_folder_that_is_read(folder, refused):
    (folder / "set").mkdir()
    formats.write("set/a.parquet", simulate.microdata(50, np.random.default_rng(2)))
    for option in ("--report", "--output"):
        said = refused(f"assess set {KEYS} {option} set/b.parquet")
        assert "would become one of the files" in said
    assert os.listdir("set") == ["a.parquet"]


@pytest.mark.parametrize(
    "line",
    [
        f"assess survey.csv {KEYS} --report a.html --report-public a.html",
        f"assess survey.csv {KEYS} --report a.html --report-public A.html",
        f"assess survey.csv {KEYS} --report \xe9 --report-public e\u0301",
        f"{PROTECT} --output s.csv --record x.txt --report x.txt",
        f"{PROTECT} --output s.csv --record x.txt --form x.txt",
        f"{PROTECT} --report x.html --form x.html",
        f"{PROTECT} --output s.csv --record-public s.csv.private.json",
    ],
)
def test_two_outputs_are_never_one_file(refused, line):
    assert "two output files have this name" in refused(line)


BOTH = ["o.csv", "p.html"]


@needs.posix
@pytest.mark.parametrize(
    ("line", "name", "written"),
    [
        (f"{ASSESS} --output o.csv --report-public p.html", "register.csv", BOTH),
        (
            f"{PROTECT} {BY_TREE} --output o.csv --report-public p.html",
            "ages.csv",
            BOTH,
        ),
        (f"{PROTECT} {BY_RULES} --output o.csv", "age.grc", ["o.csv"]),
        (f"diversity {ILL} --output o.csv", "survey.csv", ["o.csv"]),
        (f"check {ILL} --t 1 --report-public p.html", "survey.csv", ["p.html"]),
        (f"suda survey.csv {KEYS} --output o.csv", "survey.csv", ["o.csv"]),
        (
            f"audit survey.csv made.csv {ROLES} --output o.csv --report-public p.html",
            "survey.csv",
            BOTH,
        ),
    ],
)
def test_no_output_is_more_open_than_any_input(run, line, name, written):
    for mode in (0o640, 0o600):
        os.chmod(name, mode)
        status, _, err = run(line, *["--overwrite"] * (mode == 0o600))
        assert status in (0, 1), err
        for one in written:
            assert stat.S_IMODE(os.stat(one).st_mode) == mode


@needs.posix
@pytest.mark.parametrize(
    "line",
    [
        f"assess survey.csv {KEYS}",
        PROTECT,
        FORM,
        f"uniques survey.csv {ROLES}",
        f"suda survey.csv {KEYS}",
        f"diversity {ILL}",
        f"describe survey.csv {KEYS}",
        f"audit survey.csv made.csv {ROLES}",
        f"check {ILL} --t 1",
        COMPARE,
        f"{TRY} --candidate 'a=--k 2'",
    ],
)
def test_a_report_is_for_its_owner_even_where_an_open_one_stood(run, folder, line):
    (folder / "r.html").touch()
    (folder / "r.html").chmod(0o666)
    option = "--form" if line == FORM else "--report"
    status, _, err = run(f"{line} {option} r.html --overwrite")
    assert status in (0, 1), err
    assert "For internal use" in (folder / "r.html").read_text()
    assert stat.S_IMODE((folder / "r.html").stat().st_mode) == 0o600


@needs.posix
@pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.showing.SuppressedValueShows"
)
def test_rules_that_python_reads_are_inputs_too(folder):
    os.chmod("age.grc", 0o600)
    how = {"recodings": {"AGE": "age.grc"}, **ANY_LEAK}
    result = riskcore.protect("survey.csv", ["REGION", "AGE"], k=2, **how)
    result.write("safe.csv", shuffle=True, renumber=["HOUSEHOLD"])
    assert stat.S_IMODE(os.stat("safe.csv").st_mode) == 0o600
    with pytest.raises(ValueError, match="an input file"):
        result.report("age.grc", overwrite=True)


@pytest.mark.parametrize("line", ["check safe.csv", "compare survey.csv safe.csv"])
def test_a_record_that_is_read_stays(folder, run, refused, line):
    assert run(f"{PROTECT} --output safe.csv --overwrite")[0] == 0
    record = folder / "safe.csv.private.json"
    before = record.read_bytes()
    line = f"{line} --record {record} --report {record} --overwrite"
    assert "an input file" in refused(line)
    assert record.read_bytes() == before
