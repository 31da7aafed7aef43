"""``riskcore diversity``: l-diversity and t-closeness of the cells of a file."""

from __future__ import annotations

import argparse
from typing import Any

from riskcore.assessment.assess_settings import AssessSettings, CheckSettings
from riskcore.cli.options import EXIT_STATUS, add_file, add_keys, add_top, source_of
from riskcore.cli.results import (
    add_results,
    check_results,
    give_results,
)
from riskcore.cli.settings import add_settings, arguments_of, fraction, number
from riskcore.cli.terminal import Progress
from riskcore.common.sheet import Part
from riskcore.common.words import on_one_line, printable

USAGE = (
    "riskcore diversity FILE --keys COLUMN [COLUMN ...] --sensitive COLUMN "
    "[COLUMN ...] [options]"
)
HELP = "measure l-diversity and t-closeness of the cells of a file"
DESCRIPTION = """\
Measure what the cells of a file reveal about sensitive variables.

Anyone who knows the keys of a person learns what the records of the cell have in
common, even without finding the person's record. l-diversity measures how many values
of a sensitive variable each cell has: distinct, by entropy, or recursive (c, l).
t-closeness measures how far the distribution of the values in the cell is from their
distribution in the file.
"""

_EXAMPLES = """\
examples:
  riskcore diversity survey.csv --keys REGION SEX AGE --sensitive DISEASE \\
      --l 3 --t 0.2 --report diversity.html
  riskcore diversity survey.csv --keys REGION SEX AGE --sensitive DISEASE INCOME \\
      --ordered INCOME --missing-sensitive ignore --l 3 --t 0.2 \\
      --output diverse.csv

With --l or --t, the cells and records that fail are counted, and the largest of these
cells are listed. --output adds to each record, for each sensitive variable NAME,
NAME_distinct_l, NAME_entropy_l, NAME_recursive_l and NAME_closeness. They show about
whom something is known for certain: keep the file and the --report to yourself.
"""
EPILOG = _EXAMPLES + EXIT_STATUS
_LONGEST = 24


# Settings of `check` that `diversity` takes, too.
_SHARED = ("missing", "missing_sensitive", "ordered")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_file(parser)
    add_keys(parser)
    parser.add_argument(
        "--sensitive",
        nargs="+",
        required=True,
        metavar="COLUMN",
        help="sensitive variables; each is measured separately",
    )
    add_settings(parser, CheckSettings, *_SHARED)
    add_settings(parser, AssessSettings, "alpha")
    parser.add_argument(
        "--c",
        type=number,
        default=3.0,
        metavar="C",
        help="the constant c of recursive (c, l)-diversity (default 3)",
    )
    add_settings(parser, CheckSettings, "l")
    parser.add_argument(
        "--t", type=fraction, metavar="T", help="largest t that cells should have"
    )
    add_top(parser, "--top", 10, "number of failing cells to list")
    add_results(
        parser,
        "the diversity of each record's cell",
        "N of the cells that fail --l or --t",
    )


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from riskcore.assessment.diversity import diversity
    from riskcore.assessment.goals import l_parts

    if options.report_top and options.l is None and options.t is None:
        raise ValueError("--report-top lists failing cells, so it needs --l or --t")
    shared = arguments_of(options, CheckSettings, _SHARED)
    shared |= arguments_of(options, AssessSettings, ["alpha"])
    progress = Progress(quiet=options.quiet)
    source = source_of(options, progress)
    check_results(options, source)
    progress("measuring cells")
    measures = diversity(
        source if options.output is None else source.with_all_columns(),
        options.keys,
        options.sensitive,
        c=options.c,
        **shared,
    )
    figures = measures.summary()
    parts: list[Part] = []
    lines: list[str] = []
    if options.l is not None or options.t is not None:
        asked = {"l": options.l, "t": options.t}
        rows = measures.failing(options.top, **asked)
        definition, least = (
            ("distinct", None) if options.l is None else l_parts(options.l)
        )
        figures["goal"] = {
            "l": least,
            "kind": definition,
            "t": options.t,
            "cells": int(measures.fails(**asked).sum()),
            "records": measures.failing_records(**asked),
            "failing": [{str(name): _plain(v) for name, v in r.items()} for r in rows],
        }
        lines = _goal(figures["goal"], rows).lines()
        if options.report is not None:
            shown = measures.failing(options.report_top, **asked)
            parts = [_goal(figures["goal"], shown)]
    give_results(options, source, measures, progress, figures, lines, parts)


def _goal(goal: dict[str, Any], rows: list[dict[Any, Any]]) -> Part:
    """Return the counts of cells and records that fail, and a table of ``rows``."""
    words = []
    if goal["l"] is not None:
        words.append(f"{goal['kind']} l >= {goal['l']:g}")
    if goal["t"] is not None:
        words.append(f"t <= {goal['t']:g}")
    facts = [
        ("cells that fail", f"{goal['cells']:,}"),
        ("records that fail", f"{goal['records']:,}"),
    ]
    table = [[printable(str(name)) for name in row] for row in rows[:1]]
    table += [[_shown(value) for value in row.values()] for row in rows]
    most = [_LONGEST] * len(table[0]) if table else ()
    title = f"Goal: {' and '.join(words)}"
    return Part(title, facts, table, most=most, spaced=True)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else on_one_line(value)


def _plain(value: Any) -> Any:
    if value != value:  # nan
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
