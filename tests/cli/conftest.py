"""A small survey, a terminal, and the command in a process of its own."""

import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from riskcore import cli

SURVEY = b"""\
region,age,weight,household,note
02,30,10,x,"a,b"
01,30,20.5,y,
02,30,15.25,x,"\xc3\xa9"
01,40,40,z,-
"""
ROLES = "--keys region age --weight weight --household household"
ASSESS = f"assess survey.csv {ROLES}"
# A command that starts soon.
SERIES = "error-table --forms series7 --f 1 --p 0.5"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in an empty folder that holds one survey."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.csv").write_bytes(SURVEY)
    return tmp_path


@pytest.fixture
def no_work(monkeypatch):
    """Fail if anything is computed."""

    def work(*_, **__):
        pytest.fail("it was computed")

    for function in (
        "riskcore.assessment.assess.assess",
        "riskcore.protection.check.check",
        "riskcore.assessment.diversity.diversity",
        "riskcore.assessment.suda.suda",
        "riskcore.assessment.uniques.estimate_uniques",
        "riskcore.disclosure.audit.audit",
        "riskcore.protection.protect.protect",
    ):
        monkeypatch.setattr(function, work)


@pytest.fixture
def no_libraries(monkeypatch):
    """Let no optional library be installed."""
    monkeypatch.setattr("riskcore.common.needs.find_spec", lambda _: None)


class Terminal(io.StringIO):
    """A stream that a person watches."""

    def isatty(self):
        return True


SOURCE = str(Path(cli.__file__).parents[2])


def start(line, after="", **options):
    """Start a command line by a shell, which also does what stands after it."""
    program = shlex.join([sys.executable, "-m", "riskcore"])
    return subprocess.Popen(
        ["sh", "-c", f"exec {program} {line} {after}"],
        env={**os.environ, "PYTHONPATH": SOURCE},
        **options,
    )
