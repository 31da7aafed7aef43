"""What commands read they never write over, nor let be read by more people."""

import argparse
import json
import os
import stat

import numpy as np
import pytest

import riskcore
from riskcore import cli, simulate
from riskcore.cli import paths
from riskcore.cli import words as readers
from riskcore.data.files import formats
from tests import needs

KEYS = ["--keys", "REGION", "SEX", "AGE"]
ROLES = [*KEYS, "--weight", "WEIGHT"]
# How values are read, and what they are called, that name no file.
NO_PATHS = {
    readers.fraction, readers.number, readers.whole, readers.records, readers.grid_of,
    readers.delimiter,
}  # fmt: skip
NO_FILES = {
    "C", "COLUMN", "COST", "CODE", "KEY=COLUMN", "NAME", "SIZE=CELLS", "TEXT",
    "[COLUMN=]CODE", "SEED",
}  # fmt: skip
# Written into a folder that is theirs alone, from nothing that is read.
MADE_OF_NOTHING = {"demo", "error-table", "reproduce", "simulate"}


def commands():
    """Return the parsers of all commands by name."""
    actions = cli._parser()._actions
    found = next(a for a in actions if isinstance(a, argparse._SubParsersAction))
    return found.choices


@pytest.mark.parametrize("name", commands())
def test_each_option_that_takes_a_path_is_known(name):
    for action in commands()[name]._actions:
        if action.nargs == 0 or action.choices or action.metavar in NO_FILES:
            continue
        if action.type in NO_PATHS or name in MADE_OF_NOTHING:
            continue
        assert (action.dest in paths.READ) != (action.dest in paths.WRITTEN), action


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with a survey and all that commands can read beside it."""
    monkeypatch.chdir(tmp_path)
    survey = simulate.microdata(300, np.random.default_rng(1))
    names = ["REGION", "SEX", "AGE"]
    formats.write("survey.csv", {**survey, "ILL": np.arange(300) % 3})
    cells = riskcore.tabulate(survey, names).to_dict()
    people = cells["sample_frequency"] * 50
    register = {name: cells[name] for name in names}
    formats.write("register.csv", {**register, "population_frequency": people})
    ages = sorted({str(age) for age in survey["AGE"]})
    tree = "".join(f"{age};{int(age) // 20};all\n" for age in ages)
    (tmp_path / "ages.csv").write_text(tree)
    (tmp_path / "ills.csv").write_text("0;a;all\n1;a;all\n2;b;all\n")
    rules = "".join(
        f"{lower // 20}:{lower}-{lower + 19}\n" for lower in range(0, 100, 20)
    )
    (tmp_path / "age.grc").write_text(rules)
    (tmp_path / "tried.json").write_text(json.dumps({"one": "--k 2"}))
    return tmp_path


HIERARCHY = "AGE=hierarchy:ages.csv:1"
ASSESS = ["assess", "survey.csv", *ROLES, "--population", "register.csv"]
PROTECT = ["protect", "survey.csv", *ROLES, "--k", "2", "--recode"]
TRY = ["try", "survey.csv", *KEYS]
DIVERSITY = [
    "diversity", "survey.csv", "--keys", "REGION", "--sensitive", "ILL", "--hierarchy",
    "ILL=ills.csv",
]  # fmt: skip
# A command, an input of it, and the options that would write there.
CASES = [
    (ASSESS, "register.csv", ["--output", "--report", "--report-public"]),
    (ASSESS, "survey.csv", ["--output", "--report", "--report-public"]),
    ([*PROTECT, "AGE=age.grc"], "age.grc", ["--report", "--report-public"]),
    ([*PROTECT, HIERARCHY], "ages.csv", ["--output", "--report", "--report-public"]),
    (
        [*PROTECT, HIERARCHY, "--output", "safe.csv"], "ages.csv",
        ["--record", "--record-public"],
    ),
    (
        [*TRY, "--candidate", "a=--k 2 --recode AGE=age.grc"], "age.grc", ["--report"],
    ),
    ([*TRY, "--candidate", f"a=--k 2 --recode {HIERARCHY}"], "ages.csv", ["--report"]),
    ([*TRY, "--candidates", "tried.json"], "tried.json", ["--report"]),
    (
        ["compare", "survey.csv", "survey.csv", *ROLES, "--recode", HIERARCHY],
        "ages.csv", ["--report"],
    ),
    (
        ["compare", "survey.csv", "survey.csv", *ROLES, "--recode", "AGE=age.grc"],
        "age.grc", ["--report"],
    ),
    (DIVERSITY, "ills.csv", ["--output", "--report"]),
    (
        ["check", *DIVERSITY[1:], "--t", "0.5"], "ills.csv",
        ["--report", "--report-public"],
    ),
    (["uniques", "survey.csv", *ROLES], "survey.csv", ["--report"]),
    (["suda", "survey.csv", *KEYS], "survey.csv", ["--output", "--report"]),
]  # fmt: skip


@pytest.mark.parametrize("link", [None, os.symlink, os.link], ids=["", "sym", "hard"])
@pytest.mark.parametrize(
    ("words", "name", "option"),
    [(words, name, option) for words, name, many in CASES for option in many],
)
def test_an_input_is_never_written_over(folder, run, words, name, option, link):
    ending = ".csv" if option == "--output" else ""
    target = f"./{name}" if link is None else f"link{ending}"
    if link is not None:
        link(name, target)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    status, _, err = run(*words, option, target, "--overwrite")
    assert status == 2, err
    assert "is read from" in err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_replayed_record_and_the_key_stay(folder, run, monkeypatch):
    monkeypatch.setenv("RISKCORE_CONFIG_DIR", str(folder))
    assert run(*PROTECT[:-1], "--output", "safe.csv")[0] == 0
    replay = ["protect", "survey.csv", "--replay", "safe.csv.private.json"]
    for words in (
        [*replay, "--output", "again.csv", "--record", "safe.csv.private.json"],
        [*replay, "--output", "again.csv", "--record", "record.key"],
        [*replay, "--report", "record.key"],
        ["compare", "survey.csv", "safe.csv", "--record", "safe.csv.private.json",
         "--report", "safe.csv.private.json"],
        ["assess", "survey.csv", *KEYS, "--report", "record.key"],
    ):  # fmt: skip
        status, _, err = run(*words, "--overwrite")
        assert (status, "is read from" in err) == (2, True), err


def test_nothing_is_written_into_a_folder_that_is_read(folder, run):
    (folder / "set").mkdir()
    formats.write("set/a.parquet", simulate.microdata(50, np.random.default_rng(2)))
    for option, name in (("--report", "set/b.parquet"), ("--output", "set/c.parquet")):
        status, _, err = run("assess", "set", *KEYS, option, name)
        assert status == 2
        assert "would become one of the files" in err
    assert os.listdir("set") == ["a.parquet"]


@pytest.mark.parametrize(
    ("first", "second"), [("a.html", "a.html"), ("a.html", "A.html"), ("é", "e\u0301")]
)
def test_two_outputs_are_never_one_file(run, first, second):
    words = ["--report", first, "--report-public", second]
    status, _, err = run("assess", "survey.csv", *KEYS, *words)
    assert (status, "two files of this name" in err) == (2, True), err
    default = ["--output", "s.csv", "--record-public", "s.csv.private.json"]
    status, _, err = run(*PROTECT[:-1], *default)
    assert (status, "two files of this name" in err) == (2, True), err


@needs.posix
@pytest.mark.parametrize(
    ("words", "name", "written"),
    [
        (
            [*ASSESS, "--output", "o.csv", "--report-public", "p.html"], "register.csv",
            ["o.csv", "p.html"],
        ),
        (
            [*PROTECT, HIERARCHY, "--output", "o.csv", "--report-public", "p.html"],
            "ages.csv", ["o.csv", "p.html"],
        ),
        (
            [*PROTECT, "AGE=age.grc", "--output", "o.csv"], "age.grc", ["o.csv"],
        ),
        ([*DIVERSITY, "--output", "o.csv"], "ills.csv", ["o.csv"]),
        (
            ["check", *DIVERSITY[1:], "--t", "1", "--report-public", "p.html"],
            "ills.csv", ["p.html"],
        ),
    ],
)  # fmt: skip
def test_no_output_is_more_open_than_any_input(run, words, name, written):
    for mode in (0o640, 0o600):
        os.chmod(name, mode)
        status, _, err = run(*words, *["--overwrite"] * (mode == 0o600))
        assert status in (0, 1), err
        for one in written:
            assert stat.S_IMODE(os.stat(one).st_mode) == mode


@needs.posix
def test_a_replay_is_as_open_as_the_file_that_it_makes_again(run):
    assert run(*PROTECT[:-1], "--output", "safe.csv")[0] == 0
    replay = ["--replay", "safe.csv.private.json", "--output", "again.csv"]
    assert run("protect", "survey.csv", *replay)[0] == 0
    modes = [os.stat(name).st_mode for name in ("safe.csv", "again.csv")]
    assert modes[0] == modes[1]


@needs.posix
@pytest.mark.filterwarnings(
    "ignore::riskcore.protection.leaks.showing.SuppressedValueShows"
)
def test_rules_that_python_reads_are_inputs_too(folder):
    os.chmod("age.grc", 0o600)
    result = riskcore.protect(
        "survey.csv", ["REGION", "AGE"], k=2, recodings={"AGE": "age.grc"}
    )
    result.write("safe.csv", shuffle=True, renumber=["HOUSEHOLD"])
    assert stat.S_IMODE(os.stat("safe.csv").st_mode) == 0o600
    with pytest.raises(ValueError, match="is read from"):
        result.report("age.grc", overwrite=True)
