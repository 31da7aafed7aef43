"""``riskcore demo``: a survey made up, and assessed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from riskcore.cli import assess
from riskcore.cli.options import add_quiet
from riskcore.cli.terminal import Progress

_DEMO = """\
Make a census-like sample survey with households and weights, write it to a file and
assess it: what riskcore does, on data that are nobody's.
"""

_DEMO_KEYS = ("REGION", "SEX", "AGE", "MARSTAT")


def add(commands: Any) -> None:
    """Add the command to the parser."""
    demo = commands.add_parser(
        "demo", help="make a survey file and assess it", description=_DEMO
    )
    demo.set_defaults(run=run)
    demo.add_argument(
        "--records", type=int, default=20_000, help="about how many (default 20000)"
    )
    demo.add_argument("--seed", type=int, default=2004, help="of the random generator")
    demo.add_argument(
        "--file",
        type=Path,
        metavar="FILE",
        help="survey file to write, .csv or .parquet; by default riskcore-demo.csv, "
        "which is replaced",
    )
    add_quiet(demo)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    import numpy as np

    from riskcore import simulate
    from riskcore.microdata import files

    target = options.file or Path("riskcore-demo.csv")
    files.check_writable(target, overwrite=options.file is None)
    progress = Progress(quiet=options.quiet)
    progress(f"simulating {options.records} records")
    data = simulate.microdata(options.records, np.random.default_rng(options.seed))
    files.write(target, data, overwrite=options.file is None)
    progress.done()
    command = [
        str(target), "--keys", *_DEMO_KEYS, "--weight", "WEIGHT",
        "--household", "HOUSEHOLD", "--rate", "1%",
    ]  # fmt: skip
    print(f"$ riskcore assess {' '.join(command)}\n")
    if options.quiet:
        command.append("--quiet")
    parser = assess.add(argparse.ArgumentParser().add_subparsers())
    assess.run(parser.parse_args(command))
