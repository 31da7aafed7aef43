"""Progress, warnings and errors on stderr, and streams that never stop the work.

A command finishes its work with its own exit status even if the reader of its output
is gone, as with ``| head``, or the stream is closed (``>&-``). Only a full disk is an
error.
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

from riskcore.cli.messages import in_options
from riskcore.common.words import printable

_CLEAR_LINE = "\r\x1b[K"
# Characters of a message; of a longer one only the beginning and the end are shown.
_LONGEST = 2000
# Seconds until a step shows its time, seconds between updates, and width of the time.
_PATIENCE = 2.0
_BEAT = 1.0
_ROOM = 12


@contextmanager
def safe_streams() -> Iterator[None]:
    """Keep broken or closed stdout and stderr from stopping the work."""
    before = sys.stdout, sys.stderr
    _open_descriptors()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        # A missing stream is None. If stdout cannot be written, results are lost, which
        # is an error. If stderr cannot be written, there is nowhere to report it.
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
    """Open descriptors 0 to 2 if they are closed, so that no output file gets them."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor


class _Stream(io.TextIOBase):
    """A text stream that writes to the null device after a failure."""

    def __init__(self, stream: Any, name: str, forgiven: type[OSError]) -> None:
        self._stream, self._name, self._forgiven = stream, name, forgiven
        if isinstance(stream, io.TextIOWrapper):
            # A label must not stop the summary if the terminal cannot show its letters.
            stream.reconfigure(errors="backslashreplace")

    def write(self, text: str) -> int:
        """Write text."""
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Write buffered text."""
        self._try(self._stream.flush)

    def isatty(self) -> bool:
        """Whether a person is watching."""
        return bool(self._stream.isatty())

    def fileno(self) -> int:
        """Return the descriptor."""
        return int(self._stream.fileno())

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The character encoding."""
        return str(self._stream.encoding)

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError as error:
            # Discard buffered text, or Python would fail on it at exit.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            if not isinstance(error, self._forgiven):
                raise OSError(error.errno, error.strerror, self._name) from None


class Progress:
    """A line on stderr with the current step and its time, if a person is watching."""

    _shown: ClassVar[Progress | None] = None  # the owner of the line on screen

    def __init__(self, *, quiet: bool) -> None:
        self.on = sys.stderr.isatty() and not quiet
        self._step, self._begun = "", 0.0

    def __call__(self, step: str) -> None:
        """Show the current step."""
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
        """Return a callable of (done, total) for a step that has not begun yet."""
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
    """Stop showing progress, because a final message follows."""
    Progress._shown = None


def _show(line: str) -> None:
    """Replace the progress line."""
    sys.stderr.write(f"{_CLEAR_LINE}{line}")
    sys.stderr.flush()


def show_warning(message: str) -> None:
    """Print a warning as one line."""
    tell(f"warning: {in_options(message)}")


def tell(message: str) -> None:
    """Print a line on stderr, in place of the progress line if there is one."""
    clear = _CLEAR_LINE if sys.stderr.isatty() else ""
    # Write it at once, or the time of a step could be written into the middle.
    sys.stderr.write(f"{clear}riskcore: {one_line(message)}\n")


def one_line(message: str) -> str:
    """Return a message as one line, shortened and without control characters."""
    half = _LONGEST // 2
    if len(message) > _LONGEST:
        message = f"{message[:half]} ... {message[-half:]}"
    return printable(message)


def report_compilation(*, quiet: bool) -> None:
    """Report the compilation of a kernel: it takes seconds, once per installation."""
    if not quiet and sys.stderr.isatty():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(f"{_CLEAR_LINE}riskcore: %(message)s"))
        logger = logging.getLogger("riskcore")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
