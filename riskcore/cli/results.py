"""What the commands for diversity and special uniques have in common."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from riskcore import __version__
from riskcore.cli.options import add_quiet, add_reading, refuse_same_file
from riskcore.cli.terminal import Progress
from riskcore.common.drawing import save
from riskcore.common.needs import need
from riskcore.common.words import printable

_DRAWN = (".png", ".svg", ".pdf")


def add_file_and_keys(parser: argparse.ArgumentParser) -> None:
    """Add the file and its key variables."""
    parser.add_argument("file", metavar="FILE", type=Path, help="the survey")
    parser.add_argument(
        "--keys", nargs="+", required=True, metavar="COLUMN", help="key variables"
    )


def add_results(parser: argparse.ArgumentParser, what: str, drawn: str) -> None:
    """Add where the results go, how the file is read, and --quiet."""
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help=f"write all columns and {what} to a .csv, .csv.gz, .tsv, .parquet, "
        ".feather or .arrow file",
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help=f"draw {drawn}: .png, .svg, .pdf"
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="let --output and --plot replace files",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_reading(parser)
    add_quiet(parser)


def check_results(options: argparse.Namespace, source: Any) -> None:
    """Refuse files that cannot be written, before any work is done."""
    from riskcore.files import formats, replace

    if options.output is None and options.plot is None and options.overwrite:
        raise ValueError("--overwrite needs --output or --plot")
    if options.output is not None:
        refuse_same_file(options)
        formats.check_writable(options.output, overwrite=options.overwrite)
    if options.plot is not None:
        if options.plot.suffix.lower() not in _DRAWN:
            raise ValueError(f"--plot {options.plot}: can draw .png, .svg and .pdf")
        need("matplotlib", "charts")
        replace.refuse_existing(options.plot, options.overwrite)
    targets = [path for path in (options.output, options.plot) if path is not None]
    replace.refuse_sources(targets, source.paths)


def write_results(
    options: argparse.Namespace,
    source: Any,
    found: Any,
    draw: Callable[[Any], Any],
    progress: Progress,
) -> None:
    """Write the table and the picture, both or none."""
    from riskcore.files import formats, replace

    if options.output is None and options.plot is None:
        return
    with replace.replacing_all(options.overwrite, source.paths) as create:
        if options.output is not None:
            progress(f"writing {options.output}")
            formats.write(
                options.output,
                found.records,
                overwrite=options.overwrite,
                create=create,
            )
        if options.plot is not None:
            kind = options.plot.suffix.lstrip(".").lower()
            save(draw(found), create(options.plot), kind)


def print_results(
    options: argparse.Namespace, figures: dict[str, Any], text: Callable[[str], str]
) -> None:
    """Print the figures, and where the files are."""
    if options.json:
        figures = {"file": str(options.file), **figures}
        print(json.dumps(figures, indent=2, allow_nan=False))
        return
    print(text(f"riskcore {__version__}: {options.file}"))
    if options.output is not None or options.plot is not None:
        print()
    if options.output is not None:
        print(f"  The table is in {printable(str(options.output))}.")
    if options.plot is not None:
        print(f"  The plot is in {printable(str(options.plot))}.")
