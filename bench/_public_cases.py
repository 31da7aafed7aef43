"""The words in which bench/_reports_of_*.py and public_reports.toml try a report."""

import contextlib
import io
import json
import math
import shlex
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas

import riskcore
from riskcore.cli import main

RNG = np.random.default_rng(5)
KEYS = ["--keys", "REGION", "SEX", "AGE"]
# A case looks at one thing: every leak is accepted.
ACCEPT = {"accept": {"*": "a case", "(order)": "a case"}}
WRITE = ["--accept", "*=a case", "(order)=a case", "--allow-unsafe", "--output"]


class MissError(Exception):
    """What riskcore does not do, or does wrongly, in a few words."""


def need(good, reason):
    """Raise MissError with a reason unless something is so."""
    if not good:
        raise MissError(reason)


class Said(NamedTuple):
    """What a run of the command said."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        """The result that it printed as JSON."""
        need(self.out.startswith("{"), f"exit {self.status}: {self.words}")
        return json.loads(self.out)

    @property
    def words(self):
        """Its messages, or without any what it printed, on one line."""
        return " ".join((self.err or self.out).replace("riskcore: ", "").split())

    def has(self, *words):
        """Return the line with the first of some words; it must have said all."""
        text = self.err + self.out
        lacking = [word for word in words if word not in text]
        need(not lacking, f"does not say {lacking}, but: {self.words}")
        lines = [line for line in text.splitlines() if words and words[0] in line]
        return " ".join("".join(lines[:1]).replace("riskcore: ", "").split())


def say(*words):
    """Run the command and return what it said."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main([str(word) for word in words])
        except SystemExit as end:  # argparse refuses an option
            status = end.code
    return Said(status, out.getvalue(), err.getvalue())


def assess(*words, name="survey.csv"):
    """Return the summary of an assessment as JSON."""
    return say("assess", name, *words, "--json").json


def described(column, name="survey.csv", *words):
    """Return what describe says of a column."""
    columns = say("describe", name, *words, "--json").json["columns"]
    return next(one for one in columns if one["column"] == column)


def protect(*words, name="survey.csv"):
    """Protect a file, all leaks accepted, into safe.csv, or what its suffix is."""
    safe = f"safe{Path(name).suffix}"
    said = say("protect", name, *words, *WRITE, safe)
    need(Path(safe).exists(), f"exit {said.status}: {said.words}")
    return said


def safe(**types):
    """Return the safe file as a frame of text, empty text where it is missing."""
    return pandas.read_csv("safe.csv", dtype=str, keep_default_na=False).astype(types)


def protected(frame, keys, **how):
    """Return the result of protecting a frame, all leaks accepted."""
    return riskcore.protect(pandas.DataFrame(frame), keys, **ACCEPT, **how)


def treated(frame, rules):
    """Return a frame with its treatments, the records in their order."""
    wide = pandas.DataFrame(frame).assign(KEY=1)
    return protected(wide, ["KEY"], k=2, treat=rules).data


def blanks(frame):
    """Return how many values are missing in a frame."""
    return int(frame.isna().sum().sum())


def write(text, name="survey.csv", encoding="utf-8"):
    """Write a file of text or of bytes."""
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode(encoding))


def table(name="survey.csv", **columns):
    """Write columns as a CSV and return them as a frame."""
    frame = pandas.DataFrame(columns)
    frame.to_csv(name, index=False)
    return frame


def sample(n=300, **columns):
    """Write a survey of n invented people, with further columns, and return it."""
    rng = np.random.default_rng(1)
    keys = {"REGION": (1, 5), "SEX": (1, 3), "AGE": (20, 26)}
    people = {name: rng.integers(*ends, n) for name, ends in keys.items()}
    return table(**people, **columns)


def amounts(*codes, n=1000):
    """Return invented incomes, the first of them codes: pairs of code and times."""
    income = RNG.lognormal(10, 0.6, n).round().astype("int64")
    for (code, times), start in zip(codes, range(0, n, 100), strict=False):
        income[start : start + times] = code
    return income


def declared(report):
    """Try a report that says in public_reports.toml what must come out."""
    if "column" in report:
        return _column(report)
    if "excel" in report:
        return _workbook(report)
    for name, text in report.get("files", {}).items():
        write(text, name)
    if "survey" in report:
        names, end, rows = report["survey"].partition("\n")
        text = names + end + rows * report.get("times", 1)
        write(text, encoding=report.get("encoding", "utf-8"))
    elif "weights" in report:
        low, high, scale = report["weights"]
        sample(W=(RNG.uniform(low, high, 300) * scale).round())
    elif "codes" in report:
        sample(1000, INC=amounts(*report["codes"]))
    said = [_run(shlex.split(words), *asked) for words, *asked in report["runs"]]
    if "safe" in report:
        found, asked = safe().to_dict("list"), report["safe"]
        got = {x: found.get(x, []) for x in asked}
        need(got == asked, f"the safe file has {got}")
        said += [f"{name} {', '.join(values)}" for name, values in found.items()]
    return "; ".join(filter(None, said))


def _run(words, asked, *texts):
    """Run a command on survey.csv and compare what comes out with what is asked."""
    if words[0].startswith("-"):
        words = ["assess", *words]
    if words[0] == "write":
        words = ["protect", *words[1:], *WRITE, "safe.csv"]
    if len(words) == 1 or words[1].startswith("-"):
        words.insert(1, "survey.csv")
    if isinstance(asked, str):
        said = say(*words)
        status = {"said": 0, "unsafe": 1, "refused": 2}[asked]
        need(said.status == status, f"exit {said.status}: {said.words}")
        return said.has(*texts)
    said = say(*words, "--json")
    if texts and said.status == 2:
        return said.has(*texts)
    facts = said.json
    for name, value in asked.items():
        need(math.isclose(facts[name], value, rel_tol=1e-12), f"{name} {facts[name]}")
    return ", ".join(f"{name} {value:.6g}" for name, value in asked.items())


def _workbook(report):
    """Describe a column of an Excel file, numbers with the format of a date."""
    import openpyxl

    book = openpyxl.Workbook()
    if report.get("epoch") == 1904:
        book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    for value in ["D", *report["excel"]]:
        book.active.append([value, "A"])
        if isinstance(value, int):
            book.active.cell(book.active.max_row, 1).number_format = "yyyy-mm-dd"
    book.save("survey.xlsx")
    column = described("D", "survey.xlsx")
    found = [column["smallest"], column["largest"], column["missing"]]
    need(found == report["describes"], str(found))
    return f"{found[0]} to {found[1]}, {found[2]} missing"


def _column(report):
    """Treat or recode a column and compare what comes out."""
    frame = {"X": report["column"]}
    if "strata" in report:
        frame["S"] = report["strata"]
    try:
        if "treat" in report:
            got = treated(frame, {"X": report["treat"]})["X"].tolist()
        else:
            got = list(riskcore.recode(frame, {"X": report["recode"]})["X"])
    except ValueError as error:
        return Said(2, "", str(error)).has(*report.get("refused", ["is not refused"]))
    need(got == report.get("gives"), str(got))
    return " ".join(map(str, got))
