"""A command ends soon after Ctrl-C although it is deaf, and is never mute for long."""

import functools
import os
import pkgutil
import signal
import time

import pytest

from riskcore.cli import terminal
from tests.cli.conftest import Terminal

# The process interrupts itself, then hears nothing for an hour.
DEAF = """
import os, signal, sys, time
from pathlib import Path
from riskcore.cli import main
from riskcore.common.interrupts import uninterrupted

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv = ["riskcore", "demo", "--file", "big.csv"]

def deaf(seconds, then=lambda *_: None, *arguments):
    with uninterrupted():
        os.kill(os.getpid(), SENT)
        time.sleep(seconds)
        then(*arguments)
"""
WHILE_WRITING = """
events = 0

def count(*_):
    global events
    events += 1
    if events == 100:
        sys.setprofile(None)
        print(len(list(Path().glob(".riskcore-*.part"))), flush=True)
        deaf(3600)

def watch(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".part") and not events:
        sys.setprofile(count)

sys.addaudithook(watch)
sys.exit(main())
"""
# Longer than the patience, shorter than for ever: the files take their places after it.
WHILE_PLACING = """
place = os.replace
os.replace = lambda *paths: deaf(3, place, *paths)
sys.exit(main())
"""


def ended(python, code):
    """Run a program; return its status, output and errors."""
    done = python(code, wait=False)
    out, err = done.communicate(timeout=600)
    return done.returncode, out, err


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_deaf_command_ends_and_leaves_nothing(tmp_path, python, sent, status):
    code = (DEAF + WHILE_WRITING).replace("SENT", str(int(sent)))
    assert ended(python, code) == (status, "1\n", "riskcore: interrupted\n")
    assert [*tmp_path.iterdir()] == []


def test_files_that_take_their_places_are_not_abandoned(tmp_path, python):
    code = (DEAF + WHILE_PLACING).replace("SENT", str(int(signal.SIGINT)))
    status, _, err = ended(python, code)
    assert (status, err) == (130, "riskcore: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["big.csv"]
    assert (tmp_path / "big.csv").read_text().endswith("\n")


def test_a_long_step_tells_its_time(monkeypatch):
    seen = Terminal()
    monkeypatch.setattr("sys.stderr", seen)
    monkeypatch.setattr(terminal, "_BEAT", 0.001)
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    progress = terminal.Progress(quiet=False)
    progress("counting cells")
    while "riskcore: counting cells ... 0 s" not in seen.getvalue():
        time.sleep(0.001)
    progress.done()
    assert seen.getvalue().endswith("\r\x1b[K")


def test_no_step_is_shown_after_the_last_word(monkeypatch):
    seen = Terminal()
    monkeypatch.setattr("sys.stderr", seen)
    started = []
    monkeypatch.setattr(
        "_thread.start_new_thread", lambda work, args: started.append(work)
    )
    terminal.Progress(quiet=False)("counting cells")
    terminal.hush()
    terminal.tell("interrupted")
    monkeypatch.setattr(terminal.time, "sleep", lambda _: None)
    started[0]()  # ends, and shows nothing
    assert seen.getvalue().endswith("\r\x1b[Kriskcore: interrupted\n")


TRY = (
    "try survey.csv --keys sex age --candidate 'a=--k 2' 'b=--k 3' 'c=--k 4' "
    "--report tried.html"
)


@pytest.mark.parametrize(
    ("place", "call", "files"),
    [
        ("protection.trials.protect", 2, 1),  # the second candidate begins
        ("protection.trials.Protected.compare", 2, 1),  # and is compared
        ("report.utility_view.trials_page", 1, 1),  # the report is begun
    ],
)
def test_trying_out_that_is_interrupted_leaves_nothing(
    tmp_path, run, monkeypatch, place, call, files
):
    monkeypatch.chdir(tmp_path)
    rows = [f"{'fm'[i % 2]},{i % 7}" for i in range(40)]
    survey = "\n".join(["sex,age", *rows, ""])
    (tmp_path / "survey.csv").write_text(survey)
    inner, calls, seen = pkgutil.resolve_name(f"riskcore.{place}"), [], []

    @functools.wraps(inner)
    def interrupted(*arguments, **options):
        calls.append(place)
        if len(calls) == call:
            seen.extend(os.listdir())
            signal.raise_signal(signal.SIGINT)
        return inner(*arguments, **options)

    monkeypatch.setattr(f"riskcore.{place}", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        # No figures.
        assert run(TRY) == (130, "", "riskcore: interrupted\n")
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(seen) == files
    assert os.listdir() == ["survey.csv"]
    assert (tmp_path / "survey.csv").read_text() == survey
