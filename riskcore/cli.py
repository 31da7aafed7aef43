"""The command ``riskcore``: parse, call, print."""

from __future__ import annotations

import argparse
import codecs
import io
import json
import logging
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from riskcore import __version__

_ASSESS = """\
Assess the re-identification risk of a file of survey microdata.

FILE is CSV with a line of column names (.csv, .tsv, .txt, also .gz), Parquet, or a
mu-Argus data file (.asc) with its metadata (.rda) beside it. The key variables are
those an intruder may know of a person, such as region, sex and age. Records with equal
keys form a cell. The f records of a cell stand for F persons in the population, the sum
of their weights as far as is known; the individual risk of a record, the chance to
re-identify it, is E[1/F | f]. Risks and rates are fractions.
"""

_ASSESS_EXAMPLES = """\
examples:
  riskcore assess survey.csv --keys REGION SEX AGE MARSTAT --weight WEIGHT
  riskcore assess survey.parquet --keys REGION SEX AGE --weight W --household HH \\
      --rate 0.1% --output survey-risk.parquet
  riskcore assess Demodata.asc --keys REGION SEX AGE MARSTAT --method series7 --json

Without --weight a mu-Argus file's own weight is used; a file without weights is taken
to be the whole population (risk 1/f). Cells whose weights add to less than their
records (F < f) get the risk 1/f, with a warning. --output adds to each record, in the
order of the file: sample_frequency (f), population_frequency (F), sampling_fraction
(f/F), individual_risk and, with --household, household_risk. The exit status is 0, 2 if
the input is refused, or 130 if interrupted.
"""

_ERROR_TABLE = """\
Tabulate the errors of forms of the individual risk r(f, p).

Each FORM is evaluated in doubles, as published or as other tools do it, at every f
(records of the cell in the sample) and every p (sampling fraction), and compared with
r itself in multi-precision. Forms, described in the module riskcore.forms:

  individual_risk          the kernel of riskcore
  series7                  mu-Argus: closed forms for f <= 3, else order 7
  franconi                 sdcMicro: closed forms for f <= 2, else p/(f - 1 + p)
  closed_form              f = 1, 2, 3
  binomial_sum, log_form   for whole f
  gauss_series, continued_fraction
  truncated:J              the series to the power J of 1-p
  adaptive:EPS             the series to the order sufficient for the error EPS, or, as
  adaptive:EPS:published   the sources prescribe, to the least j > -log(EPS)/log(f)
  scipy                    p/f hyp2f1(1, 1, f+1, 1-p) of SciPy

f and p are given as numbers or grids: 1:10 are the whole numbers from 1 to 10,
0.1:0.9:5 five numbers evenly, 0.001:0.9:20:log evenly in the logarithm,
0.001:0.999:20:logit as fine near 1 as near 0, and 1:1000:20:whole evenly in the
logarithm and rounded to whole numbers. 1-1e-8 is a number too.
"""

_ERROR_TABLE_EXAMPLES = """\
examples:
  riskcore error-table --forms series7 franconi --f 1 2 3 5 10 --p 0.001:0.9:20:log
  riskcore error-table --forms truncated:2 truncated:7 --f 4 50 --p 0.01:0.99:99 \\
      --output orders.csv
  riskcore error-table --forms binomial_sum scipy --f 1:1000:60:whole \\
      --p 1e-6:1-1e-6:60:logit --output errors.png

Printed are the table and, for each form, its largest relative error and where it is,
its largest error in ulp (spacings of the doubles at r), and the shares of values that
are correctly rounded and that are not finite; such values stay in the table as inf and
nan. With --output the table goes to a file: .csv, .tsv, .csv.gz, .parquet (to the last
bit; columns sample_frequency, sampling_fraction, form, value, exact, relative_error,
ulp_error), .md (Markdown), or as a plot .png, .svg, .pdf. The exit status is 0, 2 if
the request is refused, or 130 if interrupted.
"""

_DEMO = """\
Make a census-like sample survey with households and weights, write it to a file and
assess it: what riskcore does, on data that are nobody's.
"""

_DEMO_KEYS = ("REGION", "SEX", "AGE", "MARSTAT")


# What bad input, a full disk or too large a file raises; all else is a defect.
_REFUSALS = (
    ImportError, LookupError, MemoryError, NotImplementedError, OSError, OverflowError,
    TypeError, ValueError,
)  # fmt: skip
_CLEAR_LINE = "\r\x1b[K"


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
        _tell("interrupted")
        return 130
    except _REFUSALS as error:
        _tell(f"error: {error.args[0] if isinstance(error, KeyError) else error}")
        return 2


def _run(arguments: Sequence[str] | None) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A label must not stop the summary where the terminal lacks its letters.
        sys.stdout.reconfigure(errors="backslashreplace")
    parsed = _parser().parse_args(arguments)
    if parsed.run is None:
        _parser().print_help(sys.stderr)
        return 2
    _report_compilation(quiet=parsed.quiet)
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _show_warning
        parsed.run(parsed)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="riskcore", description="Re-identification risk of survey microdata."
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.set_defaults(run=None, quiet=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_assess(commands)
    _add_error_table(commands)
    _add_demo(commands)
    return parser


def _add_assess(commands: Any) -> None:
    assess = commands.add_parser(
        "assess",
        usage="riskcore assess FILE --keys COLUMN [COLUMN ...] [options]",
        help="risk of the records of a file",
        description=_ASSESS,
        epilog=_ASSESS_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    assess.set_defaults(run=_assess)
    assess.add_argument("file", metavar="FILE", type=Path, help="the survey")
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
        choices=("refuse", "category", "wildcard", "argus"),
        default="refuse",
        help="missing key values: refuse the file (default), one more category, or "
        "any value, as in sdcMicro (wildcard) or mu-Argus (argus)",
    )
    assess.add_argument(
        "--alpha",
        type=_fraction,
        default=1.0,
        metavar="SHARE",
        help="with --missing wildcard, what a record with missing keys counts for "
        "others, 0 to 1 (default 1)",
    )
    assess.add_argument(
        "--threshold",
        nargs="+",
        type=_fraction,
        default=[],
        metavar="RISK",
        help="count the records at or above these risks (by default 0.1 to 0.001)",
    )
    assess.add_argument(
        "--rate",
        type=_fraction,
        help="give the risk threshold for this re-identification rate, the mean risk: "
        "0.001 or 0.1%%",
    )
    assess.add_argument(
        "--unsafe",
        type=_count,
        metavar="RECORDS",
        help="give the risk threshold that at most so many records reach",
    )
    assess.add_argument(
        "--top",
        type=_count,
        default=10,
        metavar="N",
        help="how many of the riskiest combinations to list (default 10)",
    )
    assess.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="write all columns and the risk of each record to a .csv, .csv.gz, .tsv "
        "or .parquet file",
    )
    assess.add_argument(
        "--overwrite", action="store_true", help="let --output replace a file"
    )
    assess.add_argument("--json", action="store_true", help="print the summary as JSON")
    assess.add_argument(
        "--metadata",
        type=Path,
        metavar="RDA",
        help="mu-Argus metadata of FILE, if not the .rda beside it",
    )
    assess.add_argument(
        "--delimiter", metavar="C", help="of a CSV; by default found out"
    )
    assess.add_argument(
        "--encoding", type=_encoding, default="utf-8", help="of a CSV (default utf-8)"
    )
    _add_quiet(assess)


def _add_error_table(commands: Any) -> None:
    table = commands.add_parser(
        "error-table",
        usage="riskcore error-table --forms FORM ... --f F ... --p P ... [options]",
        help="errors of published forms of the risk",
        description=_ERROR_TABLE,
        epilog=_ERROR_TABLE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    table.set_defaults(run=_error_table)
    table.add_argument(
        "--forms", nargs="+", required=True, metavar="FORM", help="names, see above"
    )
    table.add_argument(
        "--f", nargs="+", type=_grid, required=True, metavar="F", help="numbers, grids"
    )
    table.add_argument(
        "--p", nargs="+", type=_grid, required=True, metavar="P", help="numbers, grids"
    )
    table.add_argument(
        "--paired",
        action="store_true",
        help="take the first f with the first p, and so on",
    )
    table.add_argument(
        "--summary", action="store_true", help="print the largest errors only"
    )
    table.add_argument(
        "--output", type=Path, metavar="FILE", help="write the table to a file"
    )
    table.add_argument(
        "--overwrite", action="store_true", help="let --output replace a file"
    )
    _add_quiet(table)


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
        exact = Decimal(number.removesuffix("%"))
        value = float(exact.scaleb(-2) if number.endswith("%") else exact)
    except (InvalidOperation, ValueError):
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not in [0, 1] (or 0% to 100%)")
    return value


def _number(text: str) -> float:
    """Read 0.01, or 1-1e-8."""
    try:
        below_one = text.startswith("1-")
        number = Decimal(1) - Decimal(text[2:]) if below_one else Decimal(text)
        value = float(number)
    except (InvalidOperation, ValueError):
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
    return value


def _grid(text: str) -> list[float]:
    """Read a number, START:STOP, START:STOP:COUNT or START:STOP:COUNT:SCALE."""
    from riskcore.accuracy import grid

    first, *rest = text.split(":")
    if not rest:
        return [_number(first)]
    if len(rest) > 3:
        raise argparse.ArgumentTypeError(f"{text!r} is not START:STOP:COUNT:SCALE")
    start, stop = _number(first), _number(rest[0])
    if len(rest) == 1 and not (start.is_integer() and stop.is_integer()):
        raise argparse.ArgumentTypeError(
            f"{text!r}: between numbers that are not whole give a count, as in "
            f"{text}:20"
        )
    count = int(stop - start) + 1 if len(rest) == 1 else _count(rest[1])
    scale: Any = rest[2] if len(rest) == 3 else "linear"
    try:
        return list(map(float, grid(start, stop, count, scale)))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from None


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number >= 0")
    return int(text)


def _encoding(text: str) -> str:
    try:
        codecs.lookup(text)
    except LookupError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _assess(options: argparse.Namespace) -> None:
    from riskcore import report
    from riskcore.assessment import RECORD_COLUMNS, check_roles, refuse_taken
    from riskcore.microdata import files
    from riskcore.microdata.cells import check_missing

    check_missing(options.missing, options.alpha)
    if options.output is not None:
        _refuse_same_file(options)
        files.check_writable(options.output, overwrite=options.overwrite)
    source = {
        "metadata": options.metadata,
        "encoding": options.encoding,
        "delimiter": options.delimiter,
    }
    header = files.columns_of(options.file, **source)
    weight = header.weight if options.weight is None else options.weight
    check_roles(options.keys, weight, options.household)
    roles = (*options.keys, weight, options.household)
    needed = [name for name in roles if name is not None]
    if options.output is not None:
        refuse_taken(header.names, RECORD_COLUMNS)
        needed = [*header.names, *needed]
    progress = _Progress(quiet=options.quiet)
    data = files.read(
        options.file,
        needed,
        numeric=[] if weight is None else [weight],
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
        alpha=options.alpha,
        progress=progress,
    )


def _print(figures: dict[str, Any], options: argparse.Namespace) -> None:
    from riskcore import report

    if options.json:
        figures = {"file": str(options.file), **figures}
        print(json.dumps(figures, indent=2, allow_nan=False))
        return
    print(report.text(figures, f"riskcore {__version__}: {options.file}"))
    if options.output is not None:
        output = report.printable(str(options.output))
        print(f"\n  The risk of each record is in {output}")


def _refuse_same_file(options: argparse.Namespace) -> None:
    both = options.output.exists() and options.file.exists()
    if both and options.output.samefile(options.file):
        raise ValueError(f"--output {options.output} is the input file itself")


def _error_table(options: argparse.Namespace) -> None:
    from riskcore import accuracy

    if options.output is not None:
        accuracy.check_writable(options.output, overwrite=options.overwrite)
    progress = _Progress(quiet=options.quiet)
    table = accuracy.error_table(
        options.forms,
        [number for part in options.f for number in part],
        [number for part in options.p for number in part],
        paired=options.paired,
        progress=progress.share("computing exact values"),
    )
    if options.output is not None:
        progress(f"writing {options.output}")
        accuracy.write(options.output, table, overwrite=options.overwrite)
    progress.done()
    if options.output is None and not options.summary:
        print(accuracy.plain(table), end="\n\n")
    print(accuracy.plain(accuracy.summary(table)))
    if options.output is not None:
        from riskcore.report import printable

        print(f"\n  The table is in {printable(str(options.output))}")


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
            from riskcore.report import printable

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


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    _tell(f"warning: {message}")


def _tell(message: str) -> None:
    """Print a line on stderr, in place of the progress line if there is one."""
    from riskcore.report import printable

    clear = _CLEAR_LINE if sys.stderr.isatty() else ""
    print(f"{clear}riskcore: {printable(message)}", file=sys.stderr)


def _report_compilation(*, quiet: bool) -> None:
    """Say when a kernel is compiled, for that takes seconds, once per installation."""
    if not quiet and sys.stderr.isatty():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(f"{_CLEAR_LINE}riskcore: %(message)s"))
        logger = logging.getLogger("riskcore")
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
