"""What the command says: on stderr progress, warnings, errors; and where nobody reads.

The work of a command ends, and its exit status is its own, although the reader of its
output has gone, as with ``| head``, or there is none (``>&-``). Only a disk that is
full is an error.
"""

from __future__ import annotations

import _thread
import io
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from riskcore.common.words import printable

_CLEAR_LINE = "\r\x1b[K"
# Characters of a message; of what is longer the begin and the end are shown.
_LONGEST = 2000
# Seconds after which a step tells its time, and between two tellings; room for it.
_PATIENCE = 2.0
_BEAT = 1.0
_ROOM = 12


@contextmanager
def safe_streams() -> Iterator[None]:
    """Let stdout and stderr stop no work, whatever they are connected to."""
    before = sys.stdout, sys.stderr
    _open_descriptors()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        # A missing stream is None. A stdout that cannot be written lacks results, which
        # is an error; there is nowhere to say that stderr cannot be written.
        sys.stdout = _Stream(sys.stdout or nowhere, "stdout", BrokenPipeError)
        sys.stderr = _Stream(sys.stderr or nowhere, "stderr", OSError)
        try:
            yield
        finally:
            with suppress(OSError):
                sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = before


def _open_descriptors() -> None:
    """Open descriptors 0 to 2 if they are closed: no file of ours may get them."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free: this one


class _Stream(io.TextIOBase):
    """A text stream that goes on nowhere after a failure."""

    def __init__(self, stream: Any, name: str, forgiven: type[OSError]) -> None:
        self._stream, self._name, self._forgiven = stream, name, forgiven
        if isinstance(stream, io.TextIOWrapper):
            # A label must not stop the summary where the terminal lacks its letters.
            stream.reconfigure(errors="backslashreplace")

    def write(self, text: str) -> int:
        """Write text."""
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Write what was kept back."""
        self._try(self._stream.flush)

    def isatty(self) -> bool:
        """Whether a person is watching."""
        return bool(self._stream.isatty())

    def fileno(self) -> int:
        """Return the descriptor."""
        return int(self._stream.fileno())

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """How letters are written."""
        return str(self._stream.encoding)

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as error:
            # What was kept back goes nowhere, or Python would fail on it at exit.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            if not isinstance(error, self._forgiven):
                raise OSError(error.errno, error.strerror, self._name) from None


class Progress:
    """One line on stderr that tells the step at work, if a person is watching.

    After some seconds it tells how long the step has been at work, each second, so that
    a person sees that it is.
    """

    _shown: ClassVar[Progress | None] = None  # whose line it is, if there is one

    def __init__(self, *, quiet: bool) -> None:
        self.on = sys.stderr.isatty() and not quiet
        self._step, self._begun = "", 0.0

    def __call__(self, step: str) -> None:
        """Show the step at work."""
        if not self.on:
            return
        if Progress._shown is not self:
            Progress._shown = self
            _thread.start_new_thread(self._tell_the_time, ())
        self._step, self._begun = step, time.monotonic()
        _show(f"{self._line()} ...")

    def share(self, step: str) -> Callable[[int, int], None]:
        """Return a callable of (done, total)."""
        self(step)
        return self.parts(step)

    def parts(self, step: str) -> Callable[[int, int], None]:
        """Return a callable of (done, total) of a step that is not begun yet."""
        return lambda done, total: self(f"{step}, {done / max(total, 1):.0%}")

    def done(self) -> None:
        """Clear the line."""
        if self.on:
            hush()
            _show("")

    def _line(self) -> str:
        line = printable(f"riskcore: {self._step}")
        return line[: shutil.get_terminal_size()[0] - _ROOM]

    def _tell_the_time(self) -> None:
        while True:
            time.sleep(_BEAT)
            if Progress._shown is not self:
                return
            seconds = time.monotonic() - self._begun
            if seconds >= _PATIENCE:
                _show(f"{self._line()} ... {seconds:.0f} s")


def hush() -> None:
    """Show no more progress, for a last word follows."""
    Progress._shown = None


def _show(line: str) -> None:
    """Put a line in the place of the last."""
    sys.stderr.write(f"{_CLEAR_LINE}{line}")
    sys.stderr.flush()


def show_warning(message: Any, *_: Any, **__: Any) -> None:
    """Print a warning as one line."""
    tell(f"warning: {message}")


def tell(message: str) -> None:
    """Print a line on stderr, in place of the progress line if there is one."""
    clear = _CLEAR_LINE if sys.stderr.isatty() else ""
    # In one piece, or the time of a step would be written into it.
    sys.stderr.write(f"{clear}riskcore: {one_line(message)}\n")


def one_line(message: str) -> str:
    """Return a message that cannot steer the terminal, nor fill it."""
    half = _LONGEST // 2
    if len(message) > _LONGEST:
        message = f"{message[:half]} ... {message[-half:]}"
    return printable(message)


def report_compilation(*, quiet: bool) -> None:
    """Say when a kernel is compiled, for that takes seconds, once per installation."""
    if not quiet and sys.stderr.isatty():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(f"{_CLEAR_LINE}riskcore: %(message)s"))
        logger = logging.getLogger("riskcore")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
