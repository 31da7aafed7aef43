"""``riskcore suda``: special uniques (SUDA) and their scores."""

from __future__ import annotations

import argparse
from typing import Any

from riskcore.cli.options import (
    EXIT_STATUS,
    add_file,
    add_keys,
    add_missing,
    add_top,
    source_of,
)
from riskcore.cli.results import (
    add_results,
    check_results,
    give_results,
)
from riskcore.cli.settings import fraction, whole
from riskcore.cli.terminal import Progress
from riskcore.common.sheet import Part
from riskcore.common.words import on_one_line, printable

USAGE = "riskcore suda FILE --keys COLUMN [COLUMN ...] [options]"
HELP = "find special uniques (SUDA) and score them"
DESCRIPTION = """\
Find special uniques, records that few keys single out, and score them (SUDA).

For each record that is unique in the file, the command finds all minimal sets of keys
on which the record differs from all others. The fewer keys these sets have, and the
more sets there are, the higher is the score of the record. The result shows the sizes
of the sets, and how much each key and its values contribute to the scores.
"""

_EXAMPLES = """\
examples:
  riskcore suda survey.csv --keys REGION SEX AGE MARSTAT
  riskcore suda survey.parquet --keys REGION SEX AGE --weight W --max-size 3 \\
      --output scores.parquet
  riskcore suda survey.csv --keys REGION SEX AGE --report suda.html

--output adds to each record suda_score, dis_suda_score (with --fraction or --weight),
minimal_uniques (their number) and smallest_unique (the number of keys in the smallest).
It points at records that are easy to find: keep it and the --report to yourself.
"""
EPILOG = _EXAMPLES + EXIT_STATUS
_LONGEST = 16


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_file(parser)
    add_keys(parser)
    parser.add_argument(
        "--max-size",
        type=whole,
        metavar="M",
        help="largest number of keys in a set (default all keys)",
    )
    parser.add_argument(
        "--fraction",
        type=fraction,
        help="sampling fraction, for DIS-SUDA scores: 0.01 or 1%%",
    )
    parser.add_argument(
        "--weight",
        metavar="COLUMN",
        help="column of sampling weights, in place of --fraction",
    )
    add_missing(parser)
    highest = "the N records with the highest scores"
    add_top(parser, "--top", 0, f"list {highest} and their sets")
    add_results(parser, "the scores of each record", highest)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from riskcore.assessment.suda import suda

    progress = Progress(quiet=options.quiet)
    source = source_of(options, progress)
    check_results(options, source)
    special_uniques = suda(
        source if options.output is None else source.with_all_columns(),
        options.keys,
        options.max_size,
        fraction=options.fraction,
        weight=options.weight,
        missing=options.missing,
        progress=progress,
    )
    parts = [_highest(special_uniques.riskiest(options.report_top))] * (
        options.report_top > 0
    )
    riskiest = special_uniques.riskiest(options.top)
    figures = special_uniques.summary()
    if options.top:
        figures["riskiest"] = [_plain(row) for row in riskiest]
    top = _highest(riskiest).lines() if riskiest else []
    give_results(options, source, special_uniques, progress, figures, top, parts)


def _highest(riskiest: list[dict[Any, Any]]) -> Part:
    """Return the records with the highest scores as a table."""
    rows = []
    for row in riskiest:
        names = [name for name in row if name != "sets"]
        sets = " | ".join(" ".join(map(str, keys)) for keys in row["sets"])
        rows.append([*(_shown(row[n]) for n in names), printable(sets)])
    most: list[int] = []
    if rows:
        head = [printable(str(name)) for name in riskiest[0] if name != "sets"]
        rows.insert(0, [*head, "minimal uniques"])
        most = [*[_LONGEST] * len(head), 6 * _LONGEST]
    return Part("Highest scores", rows=rows, sides="<", most=most)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else on_one_line(value)


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    plain = (str, int, float, list, type(None))
    return {
        str(name): value if isinstance(value, plain) else str(value)
        for name, value in row.items()
    }
