"""The command ``riskcore``: parse, call, print."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from riskcore import __version__

_ASSESS = """\
Assess the re-identification risk of a file of survey microdata.

FILE is CSV (.csv, .tsv, .txt, also .gz), Parquet, or a mu-Argus data file with its .rda
metadata beside it. The key variables are those an intruder may know. Records with equal
keys form a cell; f records in the sample stand for F, the sum of their weights, in the
population; the individual risk of a record is E[1/F | f].
"""

_ASSESS_EXAMPLES = """\
examples:
  riskcore assess survey.csv --keys REGION SEX AGE MARSTAT --weight WEIGHT
  riskcore assess survey.parquet --keys REGION SEX AGE --weight W --household HH \\
      --rate 0.1% --output survey-risk.parquet
  riskcore assess Demodata.asc --keys REGION SEX AGE MARSTAT --method series7 --json

Without --weight a mu-Argus file's own weight is used; a file without weights is taken
to be the whole population (risk 1/f). --threshold and --rate speak of fractions; 0.1%
is 0.001. The exit status is 0, or 2 if the input is refused.
"""

_DEMO = """\
Make a census-like sample survey with households and weights, write it to a file and
assess it: what riskcore does, on data that are nobody's.
"""

_DEMO_KEYS = ("REGION", "SEX", "AGE", "MARSTAT")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parsed = _parser().parse_args(arguments)
    if parsed.run is None:
        _parser().print_help()
        return 2
    _report_compilation(quiet=parsed.quiet)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning
            run: Callable[[argparse.Namespace], None] = parsed.run
            run(parsed)
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone, as with `| head`; keep Python from saying so at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except (ImportError, KeyError, OSError, TypeError, ValueError) as error:
        message = error.args[0] if isinstance(error, KeyError) else error
        print(f"riskcore: error: {message}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="riskcore", description="Re-identification risk of survey microdata."
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.set_defaults(run=None, quiet=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_assess(commands)
    _add_demo(commands)
    return parser


def _add_assess(commands: Any) -> None:
    assess = commands.add_parser(
        "assess",
        help="risk of the records of a file",
        description=_ASSESS,
        epilog=_ASSESS_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    assess.set_defaults(run=_assess)
    assess.add_argument("file", metavar="FILE", type=Path)
    assess.add_argument(
        "--keys", nargs="+", required=True, metavar="COLUMN", help="key variables"
    )
    assess.add_argument("--weight", metavar="COLUMN", help="sampling weights, > 0")
    assess.add_argument(
        "--household", metavar="COLUMN", help="household ids, for household risks"
    )
    assess.add_argument(
        "--method",
        choices=("exact", "series7", "franconi"),
        default="exact",
        help="individual risk: exact (default), or as mu-Argus or sdcMicro compute it",
    )
    assess.add_argument(
        "--missing",
        choices=("refuse", "category"),
        default="refuse",
        help="missing key values: refuse the file (default), or one more category",
    )
    assess.add_argument(
        "--threshold",
        nargs="+",
        type=_fraction,
        default=[],
        metavar="RISK",
        help="count the records at or above these risks",
    )
    assess.add_argument(
        "--rate",
        type=_fraction,
        help="give the risk threshold for this re-identification rate",
    )
    assess.add_argument(
        "--unsafe",
        type=int,
        metavar="RECORDS",
        help="give the risk threshold for this number of unsafe records",
    )
    assess.add_argument(
        "--top", type=int, default=10, metavar="N", help="riskiest combinations listed"
    )
    assess.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="write all columns with the risk of each record to .csv or .parquet",
    )
    assess.add_argument(
        "--overwrite", action="store_true", help="let --output replace a file"
    )
    assess.add_argument("--json", action="store_true", help="print the summary as JSON")
    assess.add_argument(
        "--metadata", type=Path, metavar="RDA", help="mu-Argus metadata of FILE"
    )
    assess.add_argument("--delimiter", metavar="C", help="of CSV; by default found out")
    assess.add_argument("--encoding", default="utf-8", help="of CSV (default utf-8)")
    _add_quiet(assess)


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser(
        "demo", help="make a survey file and assess it", description=_DEMO
    )
    demo.set_defaults(run=_demo)
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
    _add_quiet(demo)


def _add_quiet(command: argparse.ArgumentParser) -> None:
    command.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _fraction(text: str) -> float:
    """Read 0.00125 or 0.125%."""
    number = text.strip()
    try:
        value = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not in [0, 1] (or 0% to 100%)")
    return value


def _assess(options: argparse.Namespace) -> None:
    from riskcore import report
    from riskcore.assessment import RECORD_COLUMNS
    from riskcore.microdata import files

    if options.top < 0:
        raise ValueError(f"--top: need a number >= 0, got {options.top}")
    if options.output is not None:
        files.check_writable(options.output, overwrite=options.overwrite)
    source = {
        "metadata": options.metadata,
        "encoding": options.encoding,
        "delimiter": options.delimiter,
    }
    header = files.columns_of(options.file, **source)
    weight = options.weight or header.weight
    needed = [*options.keys, *filter(None, (weight, options.household))]
    if options.output is not None:
        taken = [name for name in header.names if name.lower() in RECORD_COLUMNS]
        if taken:
            raise ValueError(f"{options.file} already has a column {taken[0]!r}")
        needed += [name for name in header.names if name not in needed]
    progress = _Progress(quiet=options.quiet)
    data = files.read(
        options.file,
        needed,
        numeric=[weight] if weight else [],
        progress=progress.share(f"reading {options.file}"),
        **source,
    )
    assessment = _assess_data(data, options, weight, progress)
    figures = report.summary(
        assessment,
        thresholds=options.threshold,
        rate=options.rate,
        unsafe=options.unsafe,
        top=options.top,
    )
    if options.output is not None:
        progress(f"writing {options.output}")
        files.write(options.output, assessment.records, overwrite=options.overwrite)
    progress.done()
    _print(figures, options)


def _assess_data(
    data: Any, options: argparse.Namespace, weight: str | None, progress: _Progress
) -> Any:
    from riskcore.assessment import assess

    return assess(
        data,
        options.keys,
        weight,
        options.household,
        method=options.method,
        missing=options.missing,
        progress=progress,
    )


def _print(figures: dict[str, Any], options: argparse.Namespace) -> None:
    from riskcore import report

    if options.json:
        print(json.dumps({"file": str(options.file), **figures}, indent=2, default=str))
    else:
        print(report.text(figures, f"riskcore {__version__}: {options.file}"))
        if options.output is not None:
            print(f"\n  The risk of each record is in {options.output}")


def _demo(options: argparse.Namespace) -> None:
    import numpy as np

    from riskcore import simulate
    from riskcore.microdata import files

    target = options.file or Path("riskcore-demo.csv")
    files.check_writable(target, overwrite=options.file is None)
    progress = _Progress(quiet=options.quiet)
    progress(f"simulating {options.records} records")
    data = simulate.microdata(options.records, np.random.default_rng(options.seed))
    files.write(target, data, overwrite=options.file is None)
    progress.done()
    command = [
        "assess", str(target), "--keys", *_DEMO_KEYS, "--weight", "WEIGHT",
        "--household", "HOUSEHOLD", "--rate", "1%",
    ]  # fmt: skip
    print(f"$ riskcore {' '.join(command)}\n")
    if options.quiet:
        command.append("--quiet")
    parsed = _parser().parse_args(command)
    _assess(parsed)


class _Progress:
    """One line on stderr that tells the step at work, if a person is watching."""

    def __init__(self, *, quiet: bool) -> None:
        self.on = sys.stderr.isatty() and not quiet

    def __call__(self, step: str) -> None:
        if self.on:
            print(f"\r\x1b[Kriskcore: {step} ...", end="", file=sys.stderr, flush=True)

    def share(self, step: str) -> Callable[[int, int], None]:
        """Return a callable of (done, total)."""
        self(step)
        return lambda done, total: self(f"{step}, {done / max(total, 1):.0%}")

    def done(self) -> None:
        """Clear the line."""
        if self.on:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print(f"riskcore: warning: {message}", file=sys.stderr)


def _report_compilation(*, quiet: bool) -> None:
    """Say when a kernel is compiled, for that takes seconds, once per installation."""
    if not quiet and sys.stderr.isatty():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("\r\x1b[Kriskcore: %(message)s"))
        logger = logging.getLogger("riskcore")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
