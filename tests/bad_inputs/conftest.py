"""Bad inputs must end in one clear line, or the right answer.

The files of this folder are tables of cases. The command refuses a case with status 2,
a line that begins ``riskcore: error:`` (or names the command), no output file, and
phrases that say what was given and what to do. A call in Python raises an error of
riskcore itself, with the phrases, of a type that callers expect.
"""

import json
import re
import warnings
from pathlib import Path

import pytest

COMMANDS = (
    "assess", "protect", "uniques", "diversity", "suda", "simulate", "error-table",
    "demo", "describe", "audit",
)  # fmt: skip
BEGINNINGS = tuple(
    f"{name}: error: " for name in ("riskcore", *(f"riskcore {c}" for c in COMMANDS))
)
FORESEEN = (ValueError, TypeError, LookupError, OSError, ImportError, OverflowError)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(run):
    """Run the command, see that it refuses as it should, and return what it says."""

    def command(*arguments, phrases=()):
        before = set(Path().rglob("*"))
        status, out, err = run(*arguments)
        assert (status, out) == (2, ""), err
        assert set(Path().rglob("*")) == before, "files were left"
        assert "Traceback" not in err
        # A person sees the blanks of numbers.
        assert re.sub("[\n\xa0\u202f]", "", err).isprintable()
        *more, line = err.splitlines()
        assert line.startswith(BEGINNINGS)
        # Above it stand the usage or warnings, nothing else.
        told = ("usage: ", " ", "riskcore: warning: ")
        assert all(each.startswith(told) for each in more if each), more
        assert len(line) < 4000
        for phrase in as_phrases(phrases):
            assert phrase in line
        return line

    return command


@pytest.fixture
def summary(run):
    """Run ``riskcore assess --json`` on a good file; return the figures."""

    def command(*arguments):
        status, out, err = run("assess", *arguments, "--json")
        assert status == 0, err
        assert "Traceback" not in err
        return json.loads(out, parse_constant=lambda name: pytest.fail(name))

    return command


@pytest.fixture
def raises():
    """Call what must raise an error with phrases; return the error."""

    def refuse(call, *phrases, kind=FORESEEN):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", UserWarning)
            try:
                found = call()
            except kind as error:
                text = str(error)
            else:
                pytest.fail(f"was taken: {found!r}"[:500])
        assert "\n" not in text, text
        assert len(text) < 4000
        for phrase in phrases:
            assert phrase in text
        return text

    return refuse


def as_phrases(phrases):
    return (phrases,) if isinstance(phrases, str) else tuple(phrases)
