"""Command lines with invalid options, numbers, names and output paths."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from riskcore import cli

SURVEY = "REG,SEX,AGE,W,HH\n01,1,30,10,x\n01,2,40,20,x\n02,1,30,15,y\n02,1,30,16,z\n"
ASSESS = ["assess", "s.csv", "--keys", "REG", "SEX"]
PROTECT = ["protect", "s.csv", "--keys", "REG", "SEX", "--weight", "W"]
SAFE = [*PROTECT, "--threshold", "50%", "--output", "o.csv"]
UNIQUES = ["uniques", "s.csv", "--keys", "REG", "--population", "100"]
SIZES = ["uniques", "--sizes", "1=5", "2=2"]
ZIPF = ["simulate", "zipf", "--population", "100", "--cells", "10"]
POINT = ["--f", "1", "--p", "0.1"]
TABLE = ["error-table", "--forms", "series7"]
GRID = [*TABLE, "--f", "1", "2", "--p", "0.1"]
SUDA = ["suda", "s.csv", "--keys", "REG", "SEX"]
DIVERSE = ["diversity", "s.csv", "--keys", "REG", "--sensitive", "AGE"]
AUDIT = ["audit", "s.csv", "made.csv", "--keys", "REG", "SEX"]


@pytest.fixture(autouse=True)
def survey(folder):
    for name in ("s.csv", "made.csv"):
        (folder / name).write_text(SURVEY)


REFUSED = {
    # Commands and options
    "no such command": (["asess", "s.csv"], "asess"),
    "option for a command": (["--keys", "REG"], "invalid choice"),
    "assess: nothing": (["assess"], "required: FILE, --keys"),
    "assess: no keys": (["assess", "s.csv"], "required: --keys"),
    "assess: keys without names": (["assess", "s.csv", "--keys"], "at least one"),
    "assess: file behind keys": (["assess", "--keys", "REG", "s.csv"], "FILE"),
    "assess: two files": ([*ASSESS, "--quiet", "t.csv"], "t.csv"),
    "assess: unknown option": ([*ASSESS, "--wieght", "W"],
                               "no option --wieght; did you mean --weight?"),
    "assess: prefix of an option": ([*ASSESS, "--weigh=W"],
                                    "did you mean --weight or --weight-scale?"),
    "assess: prefix of one needed": (["assess", "s.csv", "--key", "REG"],
                                     "no option --key; did you mean --keys?"),
    "assess: long option": ([*ASSESS, "--" + "w" * 10**6], "no option --www"),
    "assess: option of protect": ([*ASSESS, "--shuffle", "1"], "--shuffle"),
    "assess: ambiguous": ([*ASSESS, "--re"],
                          "no option --re; did you mean --reference or --report"),
    "assess: weight without name": ([*ASSESS, "--weight"], "--weight"),
    "assess: two weights": ([*ASSESS, "--weight", "W", "AGE"], "AGE"),
    "assess: keys twice": ([*ASSESS, "--keys", "AGE"], "--keys: given twice"),
    "assess: weight twice": ([*ASSESS, "--weight", "W", "--weight=AGE"], "given twice"),
    "assess: output twice": ([*ASSESS, "--output", "a.csv", "--output", "b.csv"],
                             "--output: given twice; give all values at once"),
    "assess: method": ([*ASSESS, "--method", "fast"], "'fast'"),
    "assess: missing": ([*ASSESS, "--missing", "drop"], "'drop'"),
    "assess: flag with a value": ([*ASSESS, "--json=yes"], "--json"),
    # Names
    "keys with a comma": (["assess", "s.csv", "--keys", "REG,SEX"],
                          "give each name by itself, with blanks between: REG SEX"),
    "keys with comma and blank": (["assess", "s.csv", "--keys", "REG, SEX"],
                                  "with blanks between: REG SEX"),
    "keys ending in a comma": (["assess", "s.csv", "--keys", "REG,", "SEX"], "'REG,'"),
    "uniques: keys with a comma": (["uniques", "s.csv", "--keys", "REG,SEX",
                                    "--population", "9"], "blanks between: REG SEX"),
    "protect: keys with a comma": (["protect", "s.csv", "--keys", "REG,SEX", "--rate",
                                    "1%", "--output", "o.csv"], "blanks between"),
    "key of other case": (["assess", "s.csv", "--keys", "reg"], "did you mean 'REG'"),
    "empty key": (["assess", "s.csv", "--keys", ""], "no column ''"),
    "key twice": (["assess", "s.csv", "--keys", "REG", "REG"], "more than once: 'REG'"),
    "key and weight": ([*ASSESS, "--weight", "SEX"], "both a key and the weight"),
    "key and household": ([*ASSESS, "--household", "SEX"], "a key and the household"),
    "weight and household": ([*ASSESS, "--weight", "W", "--household", "W"],
                             "both the weight and the household"),
    "unknown weight": ([*ASSESS, "--weight", "WEIGHT"], "no column 'WEIGHT'"),
    "unknown household": ([*ASSESS, "--household", "hh"], "did you mean 'HH'"),
    "text as weight": ([*ASSESS, "--weight", "HH"], "HH is not a number in 4 records"),
    "key of a million letters": (["assess", "s.csv", "--keys", "k" * 10**6], "kk'"),
    "key with escapes": (["assess", "s.csv", "--keys", "\x1b[2J"], "\\x1b[2J"),
    "key with a line end": (["assess", "s.csv", "--keys", "RE\nG"], "RE\\nG"),
    "key with a direction": (["assess", "s.csv", "--keys", "\u202egER"], "\\u202e"),
    "key of bytes": (["assess", "s.csv", "--keys", "\udcff"], "\\udcff"),
    "weight with NUL": ([*ASSESS, "--weight", "W\0"], "W\\x00"),
    "method with escapes": ([*ASSESS, "--method", "\x1b[2J"], "x1b[2J"),
    "option with escapes": ([*ASSESS, "--\x1b[2J"], "\\x1b[2J"),
    "command with escapes": (["\x1b[2J"], "x1b[2J"),
    "method of a million letters": ([*ASSESS, "--method", "m" * 10**6], "invalid"),
    # Numbers
    "threshold nan": ([*ASSESS, "--threshold", "nan"], "'nan' is not a number"),
    "threshold inf": ([*ASSESS, "--threshold", "inf"], "'inf' is not a number"),
    "threshold snan": ([*ASSESS, "--threshold", "snan"], "'snan' is not a number"),
    "threshold negative": ([*ASSESS, "--threshold", "-0.1"], "-0.1 is not in [0, 1]"),
    "threshold 2": ([*ASSESS, "--threshold", "2"], "2 is not in [0, 1]"),
    "threshold 101%": ([*ASSESS, "--threshold", "101%"], "101% is not in [0, 1]"),
    "threshold empty": ([*ASSESS, "--threshold", ""], "'' is not a number"),
    "threshold %": ([*ASSESS, "--threshold", "%"], "'%' is not a number"),
    "threshold %%": ([*ASSESS, "--threshold", "1%%"], "'1%%' is not a number"),
    "threshold hexadecimal": ([*ASSESS, "--threshold", "0x1"], "'0x1' is not a number"),
    "threshold underscore": ([*ASSESS, "--threshold", "0.0_1"], "is not a number"),
    "threshold comma": ([*ASSESS, "--threshold", "0,1"], "'0,1' is not a number"),
    "threshold Arabic": ([*ASSESS, "--threshold", "\u0660"], "is not a number"),
    "threshold huge": ([*ASSESS, "--threshold", "1e999999999%"], "is not in [0, 1]"),
    "threshold huger": ([*ASSESS, "--threshold", "1e99999999999%"], "is not a number"),
    "threshold long": ([*ASSESS, "--threshold", "1" * 10**6], "1000000 characters"),
    "threshold words": ([*ASSESS, "--threshold", "one"], "'one' is not a number"),
    "rate above": ([*ASSESS, "--rate", "1.0000001"], "is not in [0, 1]"),
    "alpha above": ([*ASSESS, "--missing", "wildcard", "--alpha", "2"], "[0, 1]"),
    "alpha without wildcard": (
        [*ASSESS, "--alpha", "0.5", "--missing", "argus"],
        "needs --missing wildcard",
    ),
    "unsafe negative": ([*ASSESS, "--unsafe", "-1"], "'-1' is not a whole number"),
    "unsafe fraction": ([*ASSESS, "--unsafe", "1.5"], "'1.5' is not a whole number"),
    "unsafe Arabic": ([*ASSESS, "--unsafe", "٣"], "is not a whole number"),
    "unsafe superscript": ([*ASSESS, "--unsafe", "²"], "is not a whole number"),
    "unsafe plus": ([*ASSESS, "--unsafe", "+1"], "'+1' is not a whole number"),
    "unsafe many": ([*ASSESS, "--unsafe", "5"], "need 0 to 4 records"),
    "unsafe long": ([*ASSESS, "--unsafe", "9" * 5000], "5000 digits"),
    "unsafe of 200 digits": ([*ASSESS, "--unsafe", "9" * 200], "need 0 to 4 records"),
    "top negative": ([*ASSESS, "--top", "-1"], "'-1' is not a whole number"),
    # Contradictions
    "report-top without report": ([*ASSESS, "--report-top", "3"], "needs --report"),
    "overwrite without output": ([*ASSESS, "--overwrite"], "needs --output"),
    "metadata absent": ([*ASSESS, "--metadata", "s.rda"], "s.rda"),
    "output and report the same": ([*ASSESS, "--output", "x.csv", "--report", "x.csv"],
                                   "x.csv"),
    # protect
    "protect: role that is none": ([*SAFE, "--role", "AGE=key"], "'key' of column"),
    "protect: role without column": ([*SAFE, "--role", "AGE"], "'AGE' is not NAME="),
    "protect: two roles": ([*SAFE, "--role", "AGE=sensitive", "AGE=harmless"],
                           "--role: 'AGE' appears twice"),
    "protect: role of a key": ([*SAFE, "--role", "REG=sensitive"], "is key already"),
    "protect: role of no column": ([*SAFE, "--role", "NO=sensitive"], "'NO'"),
    "protect: reason that is empty": ([*SAFE, "--accept", "W="], "is not NAME=VALUE"),
    "protect: reason that is blank": ([*SAFE, "--accept", "*= "], "no reason"),
    "protect: reason without column": ([*SAFE, "--accept", "known"], "is not NAME="),
    "protect: reason for no column": ([*SAFE, "--accept", "NO=known"], "'NO'"),
    "protect: role with escapes": ([*SAFE, "--role", "AGE=\x1b[2J"], "\\x1b[2J"),
    "describe: nothing": (["describe"], "required: FILE"),
    "describe: role that is none": (["describe", "s.csv", "--role", "AGE=x"],
                                    "'x' of column 'AGE' is not a role"),
    "describe: role of a key": (["describe", "s.csv", "--keys", "AGE", "--role",
                                 "AGE=sensitive"], "'AGE' is key already"),
    "describe: no column": (["describe", "s.csv", "--weight", "NO"], "'NO'"),
    "describe: no file": (["describe", "no.csv"], "no.csv"),
    "protect: no threshold": ([*PROTECT, "--output", "o.csv"], "nothing to protect"),
    "protect: threshold 0": ([*PROTECT, "--threshold", "0", "--output", "o.csv"],
                             "need a risk in (0, 1]"),
    "protect: rate 0": ([*PROTECT, "--rate", "0%", "--output", "o.csv"], "(0, 1]"),
    "protect: both": ([*SAFE, "--rate", "1%"], "not both"),
    "protect: household threshold": ([*SAFE, "--household-threshold", "1%"],
                                     "needs the household column"),
    "protect: household key": ([*SAFE, "--household-keys", "REG"], "household column"),
    "protect: recode nothing": ([*SAFE, "--recode", "REG"], "REG"),
    "protect: recode unknown rule": ([*SAFE, "--recode", "REG=cut:2"], "cut"),
    "protect: recode unknown column": ([*SAFE, "--recode", "NO=truncate:1"], "'NO'"),
    "protect: recode the weight": ([*SAFE, "--recode", "W=truncate:1"], "the weight"),
    "protect: recode by 0": ([*SAFE, "--recode", "REG=truncate:0"], "REG"),
    "protect: recode by x": ([*SAFE, "--recode", "REG=truncate:x"], "x"),
    "protect: recode by nan": ([*SAFE, "--recode", "AGE=from:nan"], "nan"),
    "protect: recode falling": ([*SAFE, "--recode", "AGE=from:30,20"], "increase"),
    "protect: recode twice": ([*SAFE, "--recode", "AGE=from:30", "AGE=from:40"], "AGE"),
    "protect: recode file absent": ([*SAFE, "--recode", "AGE=no.grc"], "no.grc"),
    "protect: cost of no key": ([*SAFE, "--cost", "AGE=1"], "'AGE'"),
    "protect: cost negative": ([*SAFE, "--cost", "REG=-1"], "REG"),
    "protect: cost nan": ([*SAFE, "--cost", "REG=nan"], "REG"),
    "protect: cost word": ([*SAFE, "--cost", "cheap"], "cheap"),
    "protect: cost twice": ([*SAFE, "--cost", "REG=1", "REG=2"], "REG"),
    "protect: related of no key": ([*SAFE, "--related", "AGE=SEX"], "AGE"),
    "protect: related to nothing": ([*SAFE, "--related", "REG=NO"], "NO"),
    "protect: related to itself": ([*SAFE, "--related", "REG"], "REG"),
    "protect: drop no column": ([*SAFE, "--drop", "NO"], "NO"),
    "protect: suppression": ([*SAFE, "--suppression", "all"], "'all'"),
    "protect: method": ([*SAFE, "--method", "x"], "'x'"),
    "protect: refuse": ([*SAFE, "--missing", "refuse"], "'refuse'"),
    "protect: key sets": ([*SAFE, "--threshold", "1%"], "given twice"),
    "protect: output is the record": ([*SAFE, "--record", "o.csv"], "o.csv"),
    "protect: report is the output": ([*SAFE, "--report", "o.csv"], "o.csv"),
    # uniques
    "uniques: nothing": (["uniques"], "give FILE and --keys, or --sizes"),
    "uniques: no keys": (["uniques", "s.csv"], "give FILE and --keys"),
    "uniques: no population": (["uniques", "s.csv", "--keys", "REG"], "population"),
    "uniques: population below": ([*UNIQUES[:-1], "3"], "below the 4 records"),
    "uniques: population huge": ([*UNIQUES[:-1], "9" * 30], "population"),
    "uniques: population 0": ([*UNIQUES[:-1], "0"], "below the 4 records"),
    "uniques: population word": ([*UNIQUES[:-1], "many"], "is not a whole number"),
    "uniques: population 1e6": ([*UNIQUES[:-1], "1e6"], "'1e6' is not a whole number"),
    "uniques: cells below": ([*UNIQUES, "--cells", "1"], "below the 2 occupied cells"),
    "uniques: cells huge": ([*UNIQUES, "--cells", "9" * 400], "400 digits"),
    "uniques: cells of 200 digits": ([*UNIQUES, "--cells", "9" * 200], "--cells 99"),
    "uniques: level 0": ([*UNIQUES, "--level", "0"], "level"),
    "uniques: level 1": ([*UNIQUES, "--level", "1"], "level"),
    "uniques: level 95": ([*UNIQUES, "--level", "95"], "not in [0, 1]"),
    "uniques: level 0 of sizes": ([*SIZES, "--population", "99", "--cells", "99",
                                   "--level", "0"], "level"),
    "uniques: wildcard": ([*UNIQUES, "--missing", "wildcard"], "'wildcard'"),
    "uniques: sizes and file": ([*SIZES, "--keys", "REG"], "not both"),
    "uniques: sizes alone": (SIZES, "--population and --cells"),
    "uniques: sizes no pair": (["uniques", "--sizes", "1"], "'1' is not SIZE=CELLS"),
    "uniques: sizes negative": (["uniques", "--sizes", "1=-1"], "is not a whole"),
    "uniques: sizes twice": (["uniques", "--sizes", "1=1", "1=2", "--population", "99",
                              "--cells", "9"], "1 appears twice"),
    "uniques: sizes of 0": (["uniques", "--sizes", "0=5", "--population", "9",
                             "--cells", "9"], "sizes"),
    "uniques: no cells": (["uniques", "--sizes", "1=0", "--population", "9", "--cells",
                           "9"], "need 1 to 2^53 records"),
    "uniques: sizes huge": (["uniques", "--sizes", "9" * 30 + "=1", "--population", "9",
                             "--cells", "9"], "sizes"),
    "uniques: weight of sizes": ([*SIZES, "--weight", "W"], "with --weight"),
    # simulate
    "simulate: nothing": (["simulate"], "KIND"),
    "simulate: no law": (["simulate", "normal"], "'normal'"),
    "simulate: no exponent": (ZIPF, "zipf needs --exponent"),
    "simulate: other's option": ([*ZIPF, "--exponent", "1", "--theta", "1"],
                                 "zipf does not use --theta"),
    "simulate: exponent nan": ([*ZIPF, "--exponent", "nan"], "'nan' is not a number"),
    "simulate: exponent negative": ([*ZIPF, "--exponent", "-1"], "exponent"),
    "simulate: exponent huge": ([*ZIPF, "--exponent", "1e999"], "exponent"),
    "simulate: no people": (["simulate", "zipf", "--population", "0", "--cells", "9",
                             "--exponent", "1"], "N"),
    "simulate: people beyond": (["simulate", "zipf", "--population", "9" * 30,
                                 "--cells", "9", "--exponent", "1"], "N"),
    "simulate: cells beyond": (["simulate", "zipf", "--population", "9", "--cells",
                                "9" * 15, "--exponent", "1"], "K"),
    "simulate: sample beyond": ([*ZIPF, "--exponent", "1", "--sample", "101"], "n"),
    "simulate: alpha 0": (["simulate", "dirichlet-multinomial", "--population", "9",
                           "--cells", "9", "--alpha", "0"], "alpha"),
    "simulate: sigma 1": (["simulate", "pitman", "--population", "9", "--theta", "1",
                           "--sigma", "1"], "sigma"),
    "simulate: theta": (["simulate", "pitman", "--population", "9", "--theta", "-1",
                         "--sigma", "0.5"], "theta"),
    "simulate: pitman beyond": (["simulate", "pitman", "--population", "9" * 12,
                                 "--theta", "1", "--sigma", "0.5"], "2^31"),
    "simulate: no output": (["simulate", "microdata", "--records", "9"], "--output"),
    "simulate: no records": (["simulate", "microdata", "--records", "0", "--output",
                              "o.csv"], "need at least 1 record"),
    "simulate: records beyond": (["simulate", "microdata", "--records", "9" * 15,
                                  "--output", "o.csv"], "fewer than 2^31 records"),
    "simulate: seed": ([*ZIPF, "--exponent", "1", "--seed", "-1"], "is not a whole"),
    "simulate: sample of microdata": (["simulate", "microdata", "--records", "9",
                                       "--sample", "3", "--output", "o.csv"], "sample"),
    # demo
    "demo: records": (["demo", "--records", "0"], "need at least 1 record"),
    "demo: negative": (["demo", "--records", "-5"], "'-5' is not a whole number"),
    "demo: word": (["demo", "--records", "many"], "many"),
    "demo: seed": (["demo", "--seed", "-1"], "'-1' is not a whole number"),
    "demo: suffix": (["demo", "--file", "d.txt"], "d.txt"),
    "demo: report for a file": (["demo", "--file", "d.html"], "d.html"),
    "demo: folder": (["demo", "--file", "no/d.csv"], "no"),
    # error-table
    "table: nothing": (["error-table"], "--forms, --f, --p"),
    "table: no form": (["error-table", "--forms", "x", *POINT], "'x'"),
    "table: empty form": (["error-table", "--forms", "", *POINT], "''"),
    "table: order": (["error-table", "--forms", "truncated:-1", *POINT], "-1"),
    "table: huge order": (["error-table", "--forms", "truncated:" + "9" * 400, "--f",
                           "1", "--p", ".1"], "truncated"),
    "table: f 0": ([*TABLE, "--f", "0", "--p", "0.1"], "f"),
    "table: f nan": ([*TABLE, "--f", "nan", "--p", "0.1"], "'nan' is not a number"),
    "table: p 0": ([*TABLE, "--f", "1", "--p", "0"], "p"),
    "table: p 2": ([*TABLE, "--f", "1", "--p", "2"], "p"),
    "table: grid of 1": ([*TABLE, "--f", "1:2:1", "--p", "0.1"], "at least 2"),
    "table: grid down": ([*TABLE, "--f", "9:1", "--p", "0.1"], "must be above"),
    "table: huge grid": ([*TABLE, "--f", "1:1e15", "--p", "0.1"], "at most 10,000,000"),
    "table: huge count": ([*TABLE, "--f", "1:9:999999999", "--p", "0.1"], "10,000,000"),
    "table: endless": ([*TABLE, "--f", "1:1e999", "--p", "0.1"], "1:1e999"),
    "table: scale": ([*TABLE, "--f", "1:9:3:cubic", "--p", "0.1"], "cubic"),
    "table: parts": ([*TABLE, "--f", "1:2:3:log:5", "--p", "0.1"], "START:STOP"),
    "table: log from 0": ([*TABLE, "--f", "0:9:3:log", "--p", "0.1"], "log"),
    "table: pairs": ([*TABLE, "--f", "1:3", "--p", ".1", ".2", "--paired"], "not pair"),
    "table: output": ([*GRID, "--output", "t.xls"], "t.xls"),
    "table: 1-": ([*TABLE, "--f", "1", "--p", "1-"], "'1-' is not a number"),
    "table: 1-1e999": ([*TABLE, "--f", "1", "--p", "1-1e999"], "'1-1e999'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, refused):
    arguments, phrase = REFUSED[case]
    refused(*arguments, phrases=phrase)


# Output paths of every bad kind, for every option that writes

WRITERS = {
    "assess --output": ([*ASSESS, "--output"], ".csv"),
    "assess --report": ([*ASSESS, "--report"], ".html"),
    "protect --output": ([*PROTECT, "--threshold", "50%", "--output"], ".csv"),
    "protect --record": ([*SAFE, "--record"], ".json"),
    "protect --report": ([*SAFE, "--report"], ".html"),
    "uniques --report": ([*UNIQUES, "--report"], ".html"),
    "suda --output": ([*SUDA, "--output"], ".csv"),
    "suda --report": ([*SUDA, "--report"], ".html"),
    "diversity --report": ([*DIVERSE, "--report"], ".html"),
    "describe --report": (["describe", "s.csv", "--report"], ".html"),
    "audit --output": ([*AUDIT, "--output"], ".csv"),
    "audit --report-public": ([*AUDIT, "--report-public"], ".html"),
    "simulate --output": ([*ZIPF, "--exponent", "1", "--output"], ".csv"),
    "simulate microdata": (["simulate", "microdata", "--records", "9", "--output"],
                           ".csv"),
    "error-table --output": ([*GRID, "--output"], ".csv"),
    "error-table --output, text": ([*GRID, "--output"], ".md"),
    "demo --file": (["demo", "--records", "9", "--file"], ".csv"),
}  # fmt: skip


# A path, how it is made, and what is said.
TARGETS = {
    "exists": ("o{}", lambda path: path.write_text("mine"), "already exists"),
    "directory": ("o{}", Path.mkdir, "a directory, not a file"),
    "pipe": ("o{}", os.mkfifo, "a device, not a file"),
    "loop of links": ("o{}", lambda path: path.symlink_to(path.name), "a loop of"),
    "broken link": ("o{}", lambda path: path.symlink_to("nowhere"), "a broken link"),
    "no folder": ("no/o{}", None, "no: no such directory"),
    "under a file": ("s.csv/o{}", None, "s.csv: not a directory"),
    "long name": ("x" * 300 + "{}", None, "File name too long"),
    "NUL": ("o\0{}", None, "cannot have a NUL"),
    "device": ("/dev/null", None, "/dev/null"),
    "folder": (".", None, ""),
    "empty": ("", None, ""),
    "escape in a folder": ("\x1b[2J/o{}", None, "\\x1b[2J"),
    "the input": ("s.csv", None, "s.csv"),
    "the input, otherwise": ("./x/../s.csv", lambda _: Path("x").mkdir(), "s.csv"),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("writer", WRITERS)
def test_output_path(writer, target, refused, folder, monkeypatch):
    """In one line, and before any work."""
    name, make, phrase = TARGETS[target]
    arguments, suffix = WRITERS[writer]
    name = name.format(suffix)
    if make:
        make(folder / name)
    for work in ("simulate.microdata", "accuracy.error_table"):
        monkeypatch.setattr(f"riskcore.{work}", lambda *_, **__: pytest.fail("worked"))
    refused(*arguments, name, phrases=phrase)
    assert (folder / "s.csv").read_text() == SURVEY


def link_to_a_link(name):
    Path("between.csv").symlink_to("s.csv")
    Path(name).symlink_to("between.csv")


SPELLINGS = {
    "hard link": ("t.csv", lambda name: os.link("s.csv", name)),
    "symbolic link": ("t.csv", lambda name: os.symlink("s.csv", name)),
    "link to a link": ("t.csv", link_to_a_link),
    "relative": ("./s.csv", None),
    "by a folder": ("x/../s.csv", lambda _: Path("x").mkdir()),
    "two slashes": (".//s.csv", None),
    "absolute": ("{}/s.csv", None),
}


READERS = [writer for writer in WRITERS if writer.split()[0] in ("assess", "protect")]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("writer", READERS)
def test_the_input_is_never_replaced(writer, spelling, refused, folder):
    name, make = SPELLINGS[spelling]
    arguments, _ = WRITERS[writer]
    name = name.format(folder)
    if make:
        make(name)
    line = refused(*arguments, name, "--overwrite")
    assert Path(name).name in line
    assert (folder / "s.csv").read_text() == SURVEY


# What is odd but right

TAKEN = {
    "option with =": [*ASSESS, "--weight=W"],
    "threshold in percent": [*ASSESS, "--threshold", "1e-3%"],
    "threshold 0%": [*ASSESS, "--threshold", "0%"],
    "threshold tiny": [*ASSESS, "--threshold", "1e-999999999%"],
    "threshold with blanks": [*ASSESS, "--threshold", " 5 % "],
    "threshold with a sign": [*ASSESS, "--threshold", "+0.5"],
    "top beyond": [*ASSESS, "--top", "9" * 30],
    "unsafe all": [*ASSESS, "--unsafe", "4"],
    "keys behind --": ["assess", "--keys", "REG", "--", "s.csv"],
    "metadata and code with =": [*ASSESS, "--na", "=A=B"],
}


@pytest.mark.parametrize("case", TAKEN)
def test_odd_but_right(case, run):
    status, out, err = run(*TAKEN[case])
    assert (status, err) == (0, "")
    assert "records                      4\n" in out


def test_names_that_are_not_text():
    """In a process of its own, for such arguments come from the system alone."""
    name = b"bytes\xff \x1b[2J" + "ä\u202e.csv".encode()
    with open(name, "w") as file:
        file.write(SURVEY)
    command = [sys.executable, "-m", "riskcore", "assess", name, "--keys", "REG"]
    source = str(Path(cli.__file__).parents[2])
    for more, status in ((["--output", b"\xfe" + name], 0), (["--weight", b"\xff"], 2)):
        done = subprocess.run(
            [*command, *more],
            env={**os.environ, "PYTHONPATH": source},
            capture_output=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert b"Traceback" not in done.stderr
        text = (done.stdout + done.stderr).decode().replace("\n", "")
        assert text.isprintable()
