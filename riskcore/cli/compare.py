"""``riskcore compare``: compare a safe file with its original."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from riskcore.cli.options import (
    add_columns,
    add_file,
    add_keys,
    add_quiet,
    add_reading,
    add_weight,
    reading,
    reading_over,
)
from riskcore.cli.results import (
    add_page,
    check_files,
    print_results,
    write_files,
)
from riskcore.cli.settings import add_setting, value_of
from riskcore.cli.terminal import Progress
from riskcore.common.settings import settings_of
from riskcore.common.warn import warn
from riskcore.protection.settings.settings_table import ProtectSettings

USAGE = (
    "riskcore compare ORIGINAL SAFE (--keys COLUMN [COLUMN ...] | --record "
    "JSON) [options]"
)
HELP = "whether models and tables survive protection, and what it has changed"
DESCRIPTION = """\
Compare a safe file with its original: what protection has changed, and how much.

With --model and --table you give your own analyses: they are repeated on both files,
and a verdict says whether their conclusions change. The comparison also shows the
categories, entropy and missing values of each key; distances of weighted tables; means,
quantiles and correlations of numbers; suppressed values by key and stratum; and how
well a logistic regression can tell the two files apart (pMSE). The records of SAFE may
be in any order and have new ids.
"""

EPILOG = """\
examples:
  riskcore compare survey.csv survey-safe.csv --keys REGION SEX AGE --weight WEIGHT \\
      --recode AGE=from:15,30,45,65 --strata REGION --columns INCOME
  riskcore compare survey.csv survey-safe.csv --keys REGION SEX --weight WEIGHT \\
      --model "EMPLOYED ~ SEX + REGION + AGE" --table "REGION x SEX"
  riskcore compare survey.csv survey-safe.csv --record survey-safe.csv.private.json \\
      --report utility.html

Keep the results to yourself: with figures of ORIGINAL anyone can work out suppressed
values by trial. Without its recoding, distances of a recoded key cannot be computed.

The exit status is 0; 2 if a file is refused and nothing is written; 74 if an error
occurred after files were written; or 130 if interrupted.
"""
_RECODINGS = replace(
    settings_of(ProtectSettings)["recodings"],
    help="recodings that were applied to ORIGINAL, as for riskcore protect",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_file(parser, "ORIGINAL", "the original survey file")
    parser.add_argument("safe", metavar="SAFE", type=Path, help="the safe file")
    add_keys(parser, needed=False)
    add_weight(parser)
    parser.add_argument(
        "--record",
        dest="of_record",
        type=Path,
        metavar="JSON",
        help="private record of the protection, which holds the keys, the weight, the "
        "recodings, and how ORIGINAL was read",
    )
    add_setting(parser, "recodings", _RECODINGS)
    add_columns(parser, "--columns", "numeric columns to compare")
    parser.add_argument(
        "--model",
        dest="models",
        action="append",
        default=[],
        metavar="FORMULA",
        help="a regression of yours, such as 'EMPLOYED ~ SEX + AGE', fitted to both "
        "files: logistic if the response has two categories, linear if it is a number; "
        "a*b adds an interaction, number(x) and category(x) say what x is; repeatable",
    )
    parser.add_argument(
        "--table",
        dest="tables",
        action="append",
        default=[],
        metavar="'COLUMN x COLUMN'",
        help="a table of yours, such as 'REGION x SEX', whose weighted shares are "
        "compared; repeatable",
    )
    add_columns(parser, "--strata", "also count suppressed values by these columns")
    parser.add_argument(
        "--id",
        metavar="COLUMN",
        help="column of record ids that both files share, if the ids were kept: allows "
        "counting the values changed and the information lost",
    )
    parser.add_argument(
        "--interactions",
        action="store_true",
        help="include terms for pairs of keys in the propensity score",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_page(parser, "report for internal use, with charts of the tables of all keys")
    add_reading(parser)
    add_quiet(parser)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from riskcore.comparison.compare import compare
    from riskcore.data.source import Source
    from riskcore.protection.release.record import read_with_population
    from riskcore.report import utility_text
    from riskcore.report.utility_view import comparison_page

    record = options.of_record
    before = None if record is None else read_with_population(record)
    how = _reading_as_recorded(options, before)
    settings = _settings(options, before)
    progress = Progress(quiet=options.quiet)
    original, safe = (
        replace(source, progress=progress.parts(f"reading {source.path}"))
        for source in Source.several(
            {"a": options.file, "b": options.safe}, how
        ).values()
    )
    check_files(options, original)
    comparison = compare(
        original,
        safe,
        columns=options.columns,
        strata=options.strata,
        id=options.id,
        interactions=options.interactions,
        models=options.models,
        tables=options.tables,
        progress=progress,
        **settings,
    )
    title = f"{options.file.name} and {options.safe.name}: utility"
    files = {options.report: lambda: comparison_page(comparison, title=title)}
    write_files(options, original, files)
    progress.done()
    figures = comparison.to_dict()
    text = partial(utility_text.comparison_text, figures)
    read = {"original": options.file, "safe": options.safe}
    title = f"{options.file} and {options.safe}"
    print_results(options, figures, text, {"report": options.report}, read, title)


def _reading_as_recorded(options: argparse.Namespace, before: Any) -> Any:
    """Return how to read the file, from the options, else from the record."""
    # A record never names files to open, so these must be given again.
    from riskcore.protection.release.record import reading_of

    if before is None:
        return reading(options)
    for name in ("metadata", "household_file"):
        if before.reading.get(name) is not None and getattr(options, name) is None:
            raise ValueError(
                f"{before.path}: input.reading.{name}: ORIGINAL was read with another "
                f"file; give it with --{name.replace('_', '-')}"
            )
    return reading_over(options, reading_of(before))


def _settings(options: argparse.Namespace, before: Any) -> dict[str, Any]:
    """Return keys, weight and recodings from the options or from a record."""
    if before is None:
        if options.keys is None:
            raise ValueError("give --keys, or --record with the private record")
        rules = value_of(options, "recodings", _RECODINGS)
        return {"keys": options.keys, "weight": options.weight, "recodings": rules}
    stated_options = [
        f"--{name}" for name in ("keys", "weight", "recode") if getattr(options, name)
    ]
    if stated_options:
        raise ValueError(
            f"--record already gives {', '.join(stated_options)}: leave out that option"
        )
    settings, weight = before.settings, before.settings.weight
    if weight in before.dropped:
        said = f"{weight!r} was left out of {options.safe}: compared without weights"
        warn(said, UserWarning)
        weight = None
    return {
        "keys": [key for key in settings.variables if key not in before.dropped],
        "weight": weight,
        "recodings": settings.recodings,
    }
