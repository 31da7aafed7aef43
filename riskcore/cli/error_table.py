"""``riskcore error-table``: numerical errors of published forms of the risk."""

from __future__ import annotations

import argparse
from pathlib import Path

from riskcore.cli.options import add_quiet
from riskcore.cli.settings import grid_of
from riskcore.cli.terminal import Progress
from riskcore.common.words import printable

USAGE = "riskcore error-table --forms FORM ... --f F ... --p P ... [options]"
HELP = "tabulate the numerical errors of published forms of the risk"
DESCRIPTION = """\
Tabulate the numerical errors of published forms of the individual risk r(f, p).

Each FORM is evaluated in doubles, as published or as other tools compute it, at every f
(records of the cell in the sample) and every p (sampling fraction), and compared with
the exact r in multi-precision. The module riskcore.forms describes the forms:

  individual_risk          the kernel of riskcore
  series7                  mu-Argus: closed forms for f <= 3, else order 7
  franconi                 sdcMicro: closed forms for f <= 2, else p/(f - 1 + p)
  closed_form              f = 1, 2, 3
  binomial_sum, log_form   for whole f
  gauss_series, continued_fraction
  truncated:J              the series to the power J of 1-p
  adaptive:EPS             the series to the order sufficient for the error EPS
  adaptive:EPS:published   the same to the least j > -log(EPS)/log(f), as published
  scipy                    p/f hyp2f1(1, 1, f+1, 1-p) of SciPy

Give f and p as numbers or grids: 1:10 means the whole numbers from 1 to 10; 0.1:0.9:5
five evenly spaced numbers; 0.001:0.9:20:log evenly spaced logarithms;
0.001:0.999:20:logit a grid as fine near 1 as near 0; and 1:1000:20:whole evenly spaced
logarithms, rounded to whole numbers. A number may also be written as 1-1e-8.
"""

EPILOG = """\
examples:
  riskcore error-table --forms series7 franconi --f 1 2 3 5 10 --p 0.001:0.9:20:log
  riskcore error-table --forms truncated:2 truncated:7 --f 4 50 --p 0.01:0.99:99 \\
      --output orders.csv
  riskcore error-table --forms binomial_sum scipy --f 1:1000:60:whole \\
      --p 1e-6:1-1e-6:60:logit --output errors.png

The command prints the table and, for each form, the largest relative error and where it
occurs, the largest error in ulp (spacings of the doubles at r), and the shares of
values that are correctly rounded and that are not finite. --output writes the table to
a file: .csv, .tsv, .csv.gz or .parquet (to the last bit), .md, or a plot: .png, .svg,
.pdf.

The exit status is 0; 2 if the request is refused and nothing is written; 74 if an error
occurred after files were written; or 130 if interrupted.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--forms",
        nargs="+",
        required=True,
        metavar="FORM",
        help="names of forms, see above",
    )
    for name in ("f", "p"):
        parser.add_argument(
            f"--{name}",
            nargs="+",
            type=grid_of,
            required=True,
            metavar=name.upper(),
            help=f"numbers or grids of {name}, see above",
        )
    parser.add_argument(
        "--paired",
        action="store_true",
        help="pair the first f with the first p, the second with the second, and so on",
    )
    parser.add_argument(
        "--summary",
        action="store_true",
        help="print only the largest errors of each form",
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the table to a file"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="let --output replace an existing file"
    )
    add_quiet(parser)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from riskcore.accuracy import error_files, error_text
    from riskcore.accuracy.table import error_table, summary

    if options.output is not None:
        error_files.check_writable(options.output, overwrite=options.overwrite)
    progress = Progress(quiet=options.quiet)
    table = error_table(
        options.forms,
        [number for part in options.f for number in part],
        [number for part in options.p for number in part],
        paired=options.paired,
        progress=progress.share("computing exact values"),
    )
    if options.output is not None:
        progress(f"writing {options.output}")
        error_files.write(options.output, table, overwrite=options.overwrite)
    progress.done()
    if options.output is None and not options.summary:
        print(error_text.plain(table), end="\n\n")
    print(error_text.plain(summary(table)))
    if options.output is not None:
        drawn = options.output.suffix.lower() in error_files.PICTURES
        what = "map of errors" if drawn else "table"
        print(f"\n  The {what} is in {printable(str(options.output))}.")
