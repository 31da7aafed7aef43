"""The command ``riskcore``: parse, call, print. One module, one command."""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Sequence

from riskcore import __version__
from riskcore.cli import assess, demo, error_table, protect
from riskcore.cli.terminal import report_compilation, show_warning, tell

# What bad input, a full disk or too large a file raises; all else is a defect.
_REFUSALS = (
    ImportError, LookupError, MemoryError, NotImplementedError, OSError, OverflowError,
    TypeError, ValueError,
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone, as with `| head`; keep Python from saying so at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        tell("interrupted")
        return 130
    except _REFUSALS as error:
        tell(f"error: {error.args[0] if isinstance(error, KeyError) else error}")
        return 2


def _run(arguments: Sequence[str] | None) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A label must not stop the summary where the terminal lacks its letters.
        sys.stdout.reconfigure(errors="backslashreplace")
    parsed = _parser().parse_args(arguments)
    if parsed.run is None:
        _parser().print_help(sys.stderr)
        return 2
    report_compilation(quiet=parsed.quiet)
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show_warning
        status: int | None = parsed.run(parsed)
    return status or 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="riskcore", description="Re-identification risk of survey microdata."
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.set_defaults(run=None, quiet=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    assess.add(commands)
    protect.add(commands)
    error_table.add(commands)
    demo.add(commands)
    return parser
