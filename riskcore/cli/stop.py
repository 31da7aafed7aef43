"""Let Ctrl-C end a command within about a second, whatever the command is doing.

Python handles a signal between two of its own steps. A library that works on millions
of records returns to Python only after seconds, and freeing the memory of a large file
takes long. So a second thread waits for the signal, too. If the main thread has not
ended the process after a while, the second thread removes half-written files and ends
the process.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from riskcore.cli.terminal import hush, tell
from riskcore.data.files import replace

# Seconds that the main thread has to end properly, and seconds between two checks.
_GRACE = 0.6
_LOOK = 0.02
_STATUS = {signal.SIGINT: 130, signal.SIGTERM: 128 + signal.SIGTERM}

_said: list[None] = []


def end_in_time() -> None:
    """Let SIGINT and SIGTERM end this process in time, if it only runs riskcore."""
    import socket

    heard, told = socket.socketpair()
    told.setblocking(False)
    signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    _thread.start_new_thread(_hear, (heard, told))


def say_interrupted() -> None:
    """Print that the command was interrupted."""
    _said.append(None)
    hush()
    tell("interrupted")


@contextmanager
def stopped_like_interrupted() -> Iterator[None]:
    """Let SIGTERM clean up half-written files, as Ctrl-C does."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt(_STATUS[signal.SIGTERM])

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _hear(heard: Any, _: Any) -> None:
    """End the process some time after a signal."""
    number = 0
    while number not in _STATUS:
        number = heard.recv(1)[0]
    time.sleep(_GRACE)
    while not replace.abandon():
        time.sleep(_LOOK)
    with suppress(OSError, ValueError):
        if not _said:
            say_interrupted()
        sys.stderr.flush()
    os._exit(_STATUS[signal.Signals(number)])
