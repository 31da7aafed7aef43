"""Try public reports of bugs and questions, with invented values.

    python -m bench.public_reports [--files FOLDER] [NAME ...]

Each report of bench/public_reports.toml has its address, its input in a few words, and
what the tool does that it is about. The input is built here, goes through the public
doors, and a check would fail if the answer were wrong. A report without `runs` or
`gives` is a function of bench/_reports_of_risk.py or bench/_reports_of_files.py. With
a copy of sdcMicro (bench/_sdcmicro.py) its answer is computed, too.

`--files` names a folder with test files of other projects, which are not part of this
one: each file of bench/_files_of_others.py that is there is read, and compared with
what pandas or pyreadstat read.
"""

import argparse
import contextlib
import os
import re
import sys
import tempfile
import tomllib
import warnings

import numpy as np

from bench import _files_of_others, _public_cases, _reports_of_files, _reports_of_risk
from bench import _sdcmicro as peer
from bench._common import HERE, RESULTS, table

PAGE = RESULTS / "public_reports.md"
REPORTS = tomllib.loads((HERE / "public_reports.toml").read_text())


def told(name, report):
    """Return whether a report holds, and what riskcore said."""
    start = np.random.default_rng(5).bit_generator.state
    _public_cases.RNG.bit_generator.state = start
    homes = (_reports_of_risk, _reports_of_files)
    run = next((getattr(home, name) for home in homes if hasattr(home, name)), None)
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            return "holds", run() if run else _public_cases.declared(report)
        except _public_cases.MissError as miss:
            return "misses", str(miss)
        except Exception as error:
            return "misses", f"{type(error).__name__}: {error}"


def answers(names):
    """Return what sdcMicro answers to reports that have a program in R."""
    reason = peer.lacking()
    if reason:
        print(f"sdcMicro was not run: {reason}", file=sys.stderr)
        return {}
    parts = [
        f'cat("\\n@@{name} ")\ntryCatch({{{REPORTS[name]["r"]}\n}}, '
        'error = function(e) cat("error:", conditionMessage(e)))'
        for name in names
        if "r" in REPORTS[name]
    ]
    # The keys are factors, as sdcMicro wants them.
    parts.insert(0, 'letters <- function(x) factor(strsplit(x, "")[[1]])')
    found = peer.printed("\n".join(parts)).split("\n@@")[1:]
    return dict(part.split(" ", 1) for part in found)


def cell(text, size=200):
    """Return text for a cell of a table, cut at a word."""
    line = re.sub(r"\s+", " ", str(text)).strip().replace("|", "\\|")
    return line if len(line) <= size else line[:size].rsplit(" ", 1)[0] + " ..."


def link(address):
    """Return an address as a link."""
    short = re.fullmatch(r"([\w.-]+/[\w.-]+)#(\d+)", address)
    if short:
        return f"[{address}](https://github.com/{short[1]}/issues/{short[2]})"
    return f"[{address.split('/')[2].removeprefix('www.')}]({address})"


def rows_of(names):
    """Return the verdicts of reports, and the rows of their table."""
    ran = answers(names)
    verdicts, rows = [], []
    for name in names:
        report = REPORTS[name]
        verdict, said = told(name, report)
        verdicts.append(verdict)
        if verdict == "misses" and "reason" in report:
            said = f"{report['reason']}. {said}"
        theirs = report["tool"]
        if name in ran:
            theirs += f". Run: {cell(ran[name], 120)}"
        row = [link(report["address"]), report["input"], cell(said), verdict, theirs]
        rows.append([x.replace("\n", " ") for x in row])
        print(f"{verdict:6} {name}: {cell(said, 300)}", flush=True)
    return verdicts, rows


def page(verdicts, rows, files):
    """Return the text of the page."""
    holds = verdicts.count("holds")
    about = f"sdcMicro {peer.version()}" if not peer.lacking() else "without sdcMicro"
    parts = [
        "# Public reports",
        f"`python -m bench.public_reports`, {about}. {len(rows)} reports of bugs and "
        "questions of people who release microdata, tried with invented values: "
        f"{holds} hold, {len(rows) - holds} miss ({holds / len(rows):.0%} hold). A "
        "report holds if a check of the answer passes, not if the command only ran. "
        "The last column is what the report says, and what sdcMicro answers where it "
        "was run.",
        table(["report", "input", "riskcore", "verdict", "the tool"], rows, 5),
        "## Test files of other projects",
        "Files of pandas, pyreadstat, haven and readstata13 that are not part of this "
        "project (`--files FOLDER`): records, missing values and ends of numbers are "
        "compared with those of another reader.",
        files or "The folder was not given.",
    ]
    return "\n\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="these reports, and no page")
    parser.add_argument("--files", metavar="FOLDER", help="files of other projects")
    options = parser.parse_args()
    names = options.names or list(REPORTS)
    verdicts, rows = rows_of(names)
    files = (
        _files_of_others.tried(os.path.abspath(options.files)) if options.files else ""
    )
    if options.names:
        return
    if not files and PAGE.exists():  # what was found of the files stays
        files = PAGE.read_text().rpartition("another reader.\n\n")[2].strip()
    PAGE.write_text(page(verdicts, rows, files))
    print(f"{verdicts.count('holds')} of {len(rows)} hold")


if __name__ == "__main__":
    main()
