"""``riskcore demo``: simulate a survey, assess it and protect it."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import ModuleType

from riskcore.cli import assess, protect
from riskcore.cli.options import add_quiet
from riskcore.cli.settings import records, whole
from riskcore.cli.terminal import Progress
from riskcore.common.words import counted

USAGE = EPILOG = None
HELP = "simulate a survey file, assess it and protect it"
DESCRIPTION = """\
Simulate a census-like sample survey with households and weights, write it to a file,
assess it and protect it. This shows what riskcore does, on data about nobody. The safe
file, the private record of its protection and a report for the browser are written
beside the survey file.

The exit status is 0; 1 if the file is not safe, as a very small one may be; 2 if a file
exists already or cannot be written; 74 if an error occurred after files were written;
or 130 if interrupted.
"""

_DEMO_KEYS = ("REGION", "SEX", "AGE", "MARSTAT")
_ROLES = ("--weight", "WEIGHT", "--household", "HOUSEHOLD")
# The income is what users study and what intruders may know, so it becomes a key.
# Households are found by all their members together, so their numbers are left out,
# and weights tell no more than the region, which is never blanked.
_PROTECTION = (
    "--recode", "REGION=truncate:2", "AGE=from:15,30,45,65",
    "INCOME=from:1,15000,30000",
    "--treat", "WEIGHT=share-weights:1:within=REGION", "--cost", "REGION=never",
    "--drop", "HOUSEHOLD", "PERSON", "HHSIZE", "EDUCATION", "CITIZENSHIP",
    "--threshold", "0.5%", "--household-threshold", "1%", "--shuffle",
)  # fmt: skip
# From this number of records on, the protected file is safe for nearly all seeds.
_ENOUGH = 3000
_SMALL = (
    "A survey of {} is small: few people share their keys, so the rules of the demo do "
    f"not make it safe. Try riskcore demo --records {_ENOUGH}, or coarser keys."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--records",
        type=records,
        default=20_000,
        help="approximate number of records (default 20000); a survey of fewer than "
        f"{_ENOUGH} may be too small to be made safe",
    )
    parser.add_argument(
        "--seed",
        type=whole,
        default=2004,
        help="seed of the random generator that makes the survey (default 2004)",
    )
    parser.add_argument(
        "--file",
        type=Path,
        metavar="FILE",
        help="survey file to write, .csv or .parquet; the other files go beside it. By "
        "default riskcore-demo.csv, and existing files of the demo are replaced",
    )
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    import numpy as np

    from riskcore.common.needs import need
    from riskcore.data.files import formats
    from riskcore.data.files.replace import refuse_existing
    from riskcore.simulate import survey

    need("the pages of the demo", "jinja2", "pyarrow")
    target = options.file or Path("riskcore-demo.csv")
    replace = options.file is None
    safe = target.with_stem(f"{target.stem}-safe")
    report = target.with_suffix(".html")
    for path in (target, safe):
        formats.check_writable(path, overwrite=replace)
    for path in (report, Path(f"{safe}.private.json")):
        refuse_existing(path, replace)
    progress = Progress(quiet=options.quiet)
    progress(f"simulating {counted(options.records, 'record')}")
    data = survey.microdata(options.records, np.random.default_rng(options.seed))
    formats.write(target, data, overwrite=replace)
    progress.done()
    keys = [str(target), "--keys", *_DEMO_KEYS]
    _run(assess, [*keys, *_ROLES, "--rate", "1%"], options)
    print()
    outputs = ["--output", str(safe), "--report", str(report)]
    more = ["--overwrite"] if replace else []
    status = _run(
        protect, [*keys, "INCOME", *_ROLES, *_PROTECTION, *outputs, *more], options
    )
    if status == 1 and options.records < _ENOUGH:
        print(f"  {_SMALL.format(counted(options.records, 'record'))}")
    return status


def _run(command: ModuleType, words: list[str], options: argparse.Namespace) -> int:
    """Show a command line and run it."""
    parser = argparse.ArgumentParser(add_help=False)
    command.add(parser)
    name = command.__name__.rpartition(".")[2]
    print(f"$ riskcore {name} {' '.join(words)}\n")
    parsed = parser.parse_args([*words, *(["--quiet"] if options.quiet else [])])
    parsed.words = [name, *words]
    return command.run(parsed) or 0
