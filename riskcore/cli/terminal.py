"""What the command says on stderr: progress, warnings, errors."""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Callable
from typing import Any

_CLEAR_LINE = "\r\x1b[K"
# Characters of a message; of what is longer the begin and the end are shown.
_LONGEST = 2000


class Progress:
    """One line on stderr that tells the step at work, if a person is watching."""

    def __init__(self, *, quiet: bool) -> None:
        self.on = sys.stderr.isatty() and not quiet

    def __call__(self, step: str) -> None:
        """Show the step at work."""
        if self.on:
            from riskcore.report.text import printable

            line = printable(f"riskcore: {step}")[: shutil.get_terminal_size()[0] - 5]
            print(f"{_CLEAR_LINE}{line} ...", end="", file=sys.stderr, flush=True)

    def share(self, step: str) -> Callable[[int, int], None]:
        """Return a callable of (done, total)."""
        self(step)
        return lambda done, total: self(f"{step}, {done / max(total, 1):.0%}")

    def done(self) -> None:
        """Clear the line."""
        if self.on:
            print(_CLEAR_LINE, end="", file=sys.stderr, flush=True)


def show_warning(message: Any, *_: Any, **__: Any) -> None:
    """Print a warning as one line."""
    tell(f"warning: {message}")


def tell(message: str) -> None:
    """Print a line on stderr, in place of the progress line if there is one."""
    clear = _CLEAR_LINE if sys.stderr.isatty() else ""
    print(f"{clear}riskcore: {one_line(message)}", file=sys.stderr)


def one_line(message: str) -> str:
    """Return a message that cannot steer the terminal, nor fill it."""
    from riskcore.report.text import printable

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
