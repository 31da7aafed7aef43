"""Commands that are killed while they write: all files old, or all new."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from riskcore import cli, simulate
from riskcore.data.files import formats, replace
from tests import needs, thin

pytestmark = needs.posix

ROLES = ["--keys", "REGION", "SEX", "AGE", "--weight", "WEIGHT"]
COMMANDS = {
    "assess": [
        "assess", "survey.csv", *ROLES, "--output", "out/risk.csv", "--report",
        "report.html", "--overwrite", "--quiet",
    ],
    "protect": [
        "protect", "survey.csv", *ROLES, "--threshold", "0.01", "--output",
        "out/safe.csv", "--report", "report.html", "--overwrite", "--quiet",
        "--role", "*=harmless:a test", "--accept", "*=a test",
    ],
}  # fmt: skip
WRITTEN = {
    "assess": ["out/risk.csv", "report.html"],
    "protect": ["out/safe.csv", "out/safe.csv.private.json", "report.html"],
}
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(cli.__file__).parents[2]),
    "SOURCE_DATE_EPOCH": "1000000000",  # reports say when they were made
}
# Loads what the commands need, and for each k runs one in a child that kills itself
# before the k-th change of a file once all are complete: the journal, what is kept of
# old files, modes, renamings, and what is tidied up behind them. The next run looks.
DRIVER = """
import contextlib, json, os, signal, sys
from pathlib import Path
import narwhals.stable.v2, pandas, pyarrow.compute, pyarrow.csv
from riskcore import cli, page, protection
from riskcore.data.files import replace

words, names, changes = json.loads(sys.argv[1])


def child(number):
    calls, within, renaming = [], [], replace._renaming

    @contextlib.contextmanager
    def window():
        with renaming():
            within.append(None)
            yield
            within.clear()

    def count(event, _):
        if within and event in changes:
            calls.append(event)
            if len(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)

    replace._renaming = window
    sys.addaudithook(count)
    sys.stdout = open(os.devnull, "w")
    status = 99
    try:
        status = cli.main(words)
    finally:
        os._exit(status)


seen, status = [], -9
while status == -9:
    for name in names:
        Path(name).write_text("old")
    process = os.fork()
    if process == 0:
        child(len(seen) + 1)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    there = [Path(name).read_text() == "old" for name in names]
    replace.refuse_existing(Path("other"), True)
    seen.append([status, there, [Path(name).read_text() == "old" for name in names]])
print(json.dumps(seen))
"""


# Runs the command, says through a pipe that its n-th call of a function is reached, and
# waits there for the signal or, if n is odd, goes on; at the end it says how many calls
# there were.
COUNTED = """
import os, runpy, signal, sys

pipe, number = int(sys.argv[1]), int(sys.argv[2])
del sys.argv[1:3]
calls = 0


def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")
    if calls == number:
        sys.setprofile(None)
        os.write(pipe, b"here\\n")
        if number % 2 == 0:
            signal.pause()


sys.setprofile(count)
try:
    runpy.run_module("riskcore", run_name="__main__", alter_sys=True)
finally:
    sys.setprofile(None)
    os.write(pipe, b"%d\\n" % calls)
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a survey, and a folder for outputs."""
    survey = simulate.microdata(500, np.random.default_rng(1))
    formats.write(tmp_path / "survey.csv", survey)
    (tmp_path / "out").mkdir()
    return tmp_path


def start(*words, folder, **keywords):
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **keywords,
    )


def start_counted(words, folder, number):
    """Start a command; return it and the file in which it says where it is."""
    read, write = os.pipe()
    numbers = (str(write), str(number))
    process = start("-c", COUNTED, *numbers, *words, folder=folder, pass_fds=[write])
    os.close(write)
    return process, os.fdopen(read)


def finished(process):
    """Wait for a process; return what it printed, None if it was killed."""
    output, errors = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), errors
    return output if process.returncode == 0 else None


def outputs(folder, command):
    return [(folder / name).read_bytes() for name in WRITTEN[command]]


RENAMINGS = ["os.rename"]
CHANGES = [*RENAMINGS, "open", "os.link", "os.remove", "os.chmod", "os.chown"]


@pytest.mark.parametrize(
    ("command", "changes"),
    thin.cases(
        itertools.product(COMMANDS, (RENAMINGS, CHANGES)),
        lambda command, changes: command == "protect" and changes == RENAMINGS,
    ),
)
def test_killed_within_the_window_of_the_renamings(
    folder, command, changes, record_property
):
    names = WRITTEN[command]
    words = json.dumps([COMMANDS[command], names, changes])
    seen = json.loads(finished(start("-c", DRIVER, words, folder=folder)))
    killed = len(seen) - 1
    assert [status for status, _, _ in seen] == [-signal.SIGKILL] * killed + [0]
    mixed = 0
    for _, there, then in seen:
        assert then == [all(then)] * len(names)
        mixed += any(there) and not all(there)
        assert all(there) or not any(then)
    # Between two renamings others see a mixture.
    assert mixed == len(names) - 1 if changes == RENAMINGS else mixed >= len(names)
    # Two for the journal and the note of it, one for each file.
    assert killed == 2 + len(names) if changes == RENAMINGS else killed >= 30
    record_property("kills", killed)
    record_property("kills between the renamings", mixed)
    assert list(folder.rglob(".riskcore-*")) == []


@pytest.mark.parametrize(
    ("command", "kills"),
    [
        ("protect", 2),
        pytest.param("assess", 100, marks=pytest.mark.slow),
        pytest.param("protect", 100, marks=pytest.mark.slow),
    ],
)
def test_killed_at_random_moments(folder, command, kills, record_property):
    """From before the first import to after the last renaming.

    A moment is a number of calls of functions, drawn from those of a whole run. From
    odd ones the command goes on until the signal arrives, perhaps in a C function.
    """
    words = COMMANDS[command]
    process, told = start_counted(words, folder, 0)
    with told:
        calls = int(told.readline())
    assert finished(process) is not None
    new, old = outputs(folder, command), [b"old" for _ in WRITTEN[command]]
    draw, killed, completed = random.Random(f"{command} {kills}"), 0, 0
    moments = [draw.randrange(1, calls) for _ in range(kills)]
    for moment in moments:
        for name in WRITTEN[command]:
            (folder / name).write_text("old")
        process, told = start_counted(words, folder, moment)
        with told:
            waits = told.readline() == "here\n" and moment % 2 == 0
            process.kill()
        dead = finished(process) is None
        assert dead or not waits
        killed += dead
        there = outputs(folder, command)
        assert all(text in pair for text, *pair in zip(there, old, new, strict=True))
        replace.refuse_existing(folder / "other", overwrite=True)
        then = outputs(folder, command)
        assert then in (old, new)
        assert there == old or then == new
        completed += then == new
    record_property("killed", killed)
    record_property("all files new", completed)
    assert killed
    assert finished(start("-m", "riskcore", *words, folder=folder)) is not None
    assert outputs(folder, command) == new
