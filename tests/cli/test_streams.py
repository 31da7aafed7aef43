"""Streams that are closed, full or watched, and how a command ends there."""

import io
import logging
import os
import signal
import subprocess
import sys

import pytest

from tests import thin
from tests.cli.conftest import ASSESS, SERIES, Terminal, start

KEYS = "survey.csv --keys region age"
UNSAFE = f"protect {KEYS} --threshold 5e-9 --cost region=never age=never"
# One command for each exit status; the same code writes what all others say.
ENDS = {SERIES: 0, UNSAFE: 1, "assess": 2}

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def no_reader():
    """Return the writing end of a pipe whose reading end is closed."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@pytest.fixture
def full():
    """Return a descriptor of a full disk."""
    descriptor = os.open("/dev/full", os.O_WRONLY)
    yield descriptor
    os.close(descriptor)


def stream(descriptor, unbuffered):
    """Return a text stream as Python opens it, with PYTHONUNBUFFERED if asked."""
    raw = io.FileIO(os.dup(descriptor), "w")
    return io.TextIOWrapper(
        raw if unbuffered else io.BufferedWriter(raw), write_through=unbuffered
    )


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize(("line", "status"), ENDS.items())
@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_stream_without_a_reader(
    run, monkeypatch, no_reader, name, line, status, unbuffered
):
    with stream(no_reader, unbuffered) as broken:
        monkeypatch.setattr(sys, name, broken)
        ended, _, err = run(line)
    assert ended == status
    assert ("error" in err) == (name == "stdout" and status == 2)


@pytest.mark.parametrize(("line", "status"), ENDS.items())
def test_a_process_without_a_reader(no_reader, line, status):
    done = start(line, stdout=no_reader, stderr=subprocess.PIPE)
    said = done.communicate()[1]
    assert done.returncode == status
    assert (b"error" in said) == (status == 2)
    assert b"Traceback" not in said
    assert b"ignored" not in said
    if line == "assess":
        done = start(line, stdout=subprocess.DEVNULL, stderr=no_reader)
        assert done.wait() == status


def test_a_reader_that_leaves():
    done = start("--help", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    done.stdout.close()
    assert done.stderr.read() == b""
    assert done.wait() == 0
    done.stderr.close()


def test_the_work_ends_without_a_reader(folder, run, monkeypatch, no_reader):
    with stream(no_reader, unbuffered=True) as broken:  # the first line fails
        monkeypatch.setattr(sys, "stdout", broken)
        assert run("demo --file e.csv --records 6000 --quiet")[0] == 0
    assert (folder / "e-safe.csv").exists()


BOTH = ">&- 2>&-"


@pytest.mark.parametrize(
    ("line", "closed"),
    thin.cases(
        [(line, closed) for line in ENDS for closed in (">&-", "2>&-", "<&-", BOTH)],
        lambda line, closed: line != UNSAFE or closed == BOTH,
    ),
)
def test_streams_that_are_closed(folder, line, closed):
    status = ENDS[line]
    more = "" if status else "--output table.csv "
    done = start(line, more + closed, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, said = done.communicate()
    assert done.returncode == status
    assert b"Traceback" not in said
    if status == 0:
        # No file that was opened got the number of a closed stream.
        table = (folder / "table.csv").read_bytes()
        assert table.startswith(b"sample_frequency,")


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize("line", [SERIES, ASSESS])
def test_a_full_disk(run, monkeypatch, full, line, unbuffered):
    with stream(full, unbuffered) as broken:
        monkeypatch.setattr(sys, "stdout", broken)
        status, _, err = run(line)
    assert err == "riskcore: error: stdout: No space left on device\n"
    assert status == 2


def test_a_full_disk_of_a_process(full):
    done = start(SERIES, stdout=full, stderr=subprocess.PIPE)
    said = done.communicate()[1]
    assert said == b"riskcore: error: stdout: No space left on device\n"
    assert done.returncode == 2


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize(
    ("line", "status"), [(UNSAFE, 1), ("assess absent.csv --keys k", 2)]
)
def test_a_full_disk_for_errors(run, monkeypatch, full, line, status, unbuffered):
    with stream(full, unbuffered) as broken:
        monkeypatch.setattr(sys, "stderr", broken)
        assert run(line)[0] == status


@pytest.mark.parametrize(
    ("line", "written"),
    [
        (f"assess {KEYS} --output o.csv", ["o.csv"]),
        (f"assess {KEYS} --report r.html", ["r.html"]),
        (
            f"protect {KEYS} --k 2 --role '*=harmless:a test' --accept '*=a test'"
            " --output o.csv",
            ["o.csv", "o.csv.private.json"],
        ),
        (f"check {KEYS} --k 2 --report r.html", ["r.html"]),
        (f"suda {KEYS} --output o.csv", ["o.csv"]),
        (f"audit survey.csv {KEYS} --output o.csv", ["o.csv"]),
        ("demo --records 300 --file d.csv", ["d.csv"]),
    ],
)
def test_an_error_after_files_were_written(
    folder, run, monkeypatch, full, line, written
):
    """It is not a refusal: the status says that something was written."""
    with stream(full, unbuffered=False) as broken:
        monkeypatch.setattr(sys, "stdout", broken)
        status, _, err = run(line)
    paths = ", ".join(str(folder / name) for name in written)
    lost = "riskcore: error: stdout: No space left on device; written before that: "
    assert err.splitlines()[-1].startswith(lost + paths)
    assert status == 74
    assert all((folder / name).stat().st_size for name in written)


@pytest.mark.parametrize("fault", [OSError("gone"), ZeroDivisionError()])
def test_files_that_are_new_when_another_fails_are_named(
    folder, run, monkeypatch, fault
):
    real = os.replace

    def replace(source, target):
        if str(target).endswith("r.html"):
            raise fault
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    ended, _, err = run(f"assess {KEYS} --output o.csv --report r.html")
    assert ended == (74 if isinstance(fault, OSError) else 70)
    assert f"written before that: {folder / 'o.csv'}" in err
    assert sorted(os.listdir()) == ["o.csv", "survey.csv"]


def test_letters_the_terminal_lacks(folder, run, monkeypatch):
    (folder / "s.csv").write_text("k\né\n", encoding="utf-8")
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="ascii"))
    assert run("assess s.csv --keys k")[0] == 0
    assert b"\\xe9" in shown.getvalue()


def test_as_a_command_of_its_own():
    done = start(ASSESS, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = done.communicate()
    assert (done.returncode, err) == (0, b"")
    assert b"re-identification rate" in out


# Progress


@pytest.fixture
def on_a_terminal(run, monkeypatch):
    """Run a command that a person watches; return its status and what is sent."""

    def command(line):
        logger = logging.getLogger("riskcore")
        with monkeypatch.context() as patch:
            sent = Terminal()
            patch.setattr(sys, "stderr", sent)
            patch.setattr(logger, "handlers", [])
            patch.setattr(logger, "level", logger.level)
            return run(line)[0], sent.getvalue()

    return command


def test_progress_on_a_terminal(on_a_terminal):
    status, sent = on_a_terminal(f"{ASSESS} --output o.csv")
    assert status == 0
    for step in (
        "reading survey.csv",
        "counting cells",
        "computing the risk",
        "writing o",
    ):
        assert f"\r\x1b[Kriskcore: {step}" in sent
    assert sent.endswith("\r\x1b[K")
    assert "\n" not in sent.split("reading")[1]


def test_progress_makes_way_for_an_error(on_a_terminal):
    status, sent = on_a_terminal(f"{ASSESS} --unsafe 5")
    assert status == 2
    assert sent.endswith("\r\x1b[Kriskcore: error: --unsafe 5: need 0 to 4 records\n")


def test_no_progress_if_quiet(on_a_terminal):
    assert on_a_terminal(f"{ASSESS} --quiet") == (0, "")


def test_progress_of_a_process():
    ours, theirs = os.openpty()
    done = start(ASSESS, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    sent = b""
    try:
        while part := os.read(ours, 4096):
            sent += part
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(ours)
    assert done.wait() == 0
    assert b"\r\x1b[Kriskcore: counting cells" in sent
    assert sent.endswith(b"\r\x1b[K")


# Interrupts

INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from riskcore.cli import main

signal.signal(2, signal.default_int_handler)
events = 0

def count(*_):
    # Some calls after the hidden file was opened: it is being written.
    global events
    events += 1
    if events == 100:
        sys.setprofile(None)
        print(len(list(Path().glob(".riskcore-*.part"))), flush=True)
        os.kill(os.getpid(), SENT)

def watch(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".part") and not events:
        sys.setprofile(count)

sys.addaudithook(watch)
sys.exit(main(["demo", "--file", "big.csv"]))
"""


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_interrupt(folder, sent, status, python):
    # The process interrupts itself: no clock, and no other process to be in time.
    done = python(INTERRUPTED.replace("SENT", str(int(sent))), wait=False)
    out, err = done.communicate()
    assert (out, err) == ("1\n", "riskcore: interrupted\n")
    assert done.returncode == status
    assert os.listdir(folder) == ["survey.csv"]
