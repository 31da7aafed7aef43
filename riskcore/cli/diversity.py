"""``riskcore diversity``: l-diversity and t-closeness."""

from __future__ import annotations

import argparse
from typing import Any

from riskcore.cli.options import (
    add_alpha,
    add_file,
    add_hierarchy,
    add_keys,
    fraction,
    hierarchies_of,
    number,
    source_of,
    whole,
)
from riskcore.cli.results import (
    add_results,
    check_results,
    print_results,
    write_results,
)
from riskcore.cli.terminal import Progress
from riskcore.common.sheet import Part
from riskcore.common.words import shortened

_DIVERSITY = """\
Measure what the cells of a file tell of sensitive variables.

Who knows the keys of a person learns what the records of the cell have in common, also
without finding the record. l-diversity asks how many values of a sensitive variable
each cell has: distinct, by entropy, or recursive (c, l). t-closeness asks how far their
distribution in the cell is from that in the file.
"""

_DIVERSITY_EXAMPLES = """\
examples:
  riskcore diversity survey.csv --keys REGION SEX AGE --sensitive DISEASE
  riskcore diversity survey.csv --keys REGION SEX AGE --sensitive DISEASE \\
      --l 3 --t 0.2 --report diversity.html
  riskcore diversity survey.csv --keys REGION SEX AGE --sensitive DISEASE INCOME \\
      --ordered INCOME --missing wildcard --missing-sensitive ignore --l 3 --t 0.2 \\
      --output diverse.csv

With --l or --t it is said how many cells and records fail, and the largest of these
cells are listed. --output adds to each record, in the order of the file, for each
sensitive variable NAME: NAME_distinct_l, NAME_entropy_l, NAME_recursive_l,
NAME_closeness. It says of whom something is known for certain: it is for you, and so is
--report, which lists single cells only if --report-top asks for it.

The exit status is 0, 2 if the input is refused and nothing written, 74
if an error came after files were written, or 130 if interrupted.
"""
_LONGEST = 24


def add(commands: Any) -> argparse.ArgumentParser:
    """Add the command to the parser, and return its own."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "diversity",
        usage="riskcore diversity FILE --keys COLUMN [COLUMN ...] --sensitive COLUMN "
        "[COLUMN ...] [options]",
        help="l-diversity and t-closeness of the cells of a file",
        description=_DIVERSITY,
        epilog=_DIVERSITY_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_file(parser)
    add_keys(parser)
    parser.add_argument(
        "--sensitive",
        nargs="+",
        required=True,
        metavar="COLUMN",
        help="sensitive variables; each is measured by itself",
    )
    parser.add_argument(
        "--missing",
        choices=("refuse", "category", "wildcard", "argus"),
        default="refuse",
        help="missing key values: refuse the file (default), one more category, or "
        "any value, as in sdcMicro (wildcard) or mu-Argus (argus)",
    )
    add_alpha(parser)
    parser.add_argument(
        "--missing-sensitive",
        choices=("refuse", "category", "ignore"),
        default="refuse",
        help="missing values of sensitive variables: refuse the file (default), one "
        "more value, or do not count these records",
    )
    parser.add_argument(
        "--ordered",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="sensitive variables of numbers whose closeness is measured in order; "
        "else all values are equally far from each other",
    )
    add_hierarchy(parser)
    parser.add_argument(
        "--together",
        action="store_true",
        help="measure each sensitive variable within cells of the keys and all others",
    )
    parser.add_argument(
        "--c",
        type=number,
        default=3.0,
        metavar="C",
        help="of recursive (c, l)-diversity (default 3)",
    )
    parser.add_argument(
        "--l", type=number, metavar="L", help="l that cells should have"
    )
    parser.add_argument(
        "--kind",
        choices=("distinct", "entropy", "recursive"),
        default="distinct",
        help="which l --l asks for (default distinct)",
    )
    parser.add_argument(
        "--t", type=fraction, metavar="T", help="t that cells should not exceed"
    )
    parser.add_argument(
        "--top",
        type=whole,
        default=10,
        metavar="N",
        help="how many of the cells that fail to list (default 10)",
    )
    add_results(
        parser,
        "the diversity of each record's cell",
        "how many records have which l",
        "N of the cells that fail --l or --t",
    )
    return parser


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from riskcore.assessment.diversity import diversity
    from riskcore.report.disclosure_pictures import diversity_figure

    if options.kind != "distinct" and options.l is None:
        raise ValueError(f"--kind {options.kind} needs --l")
    if options.report_top and options.l is None and options.t is None:
        raise ValueError("--report-top lists the cells that fail: it needs --l or --t")
    hierarchies = hierarchies_of(options)
    progress = Progress(quiet=options.quiet)
    source = source_of(options, progress)
    check_results(options, source)
    needed = [*options.keys, *options.sensitive]
    if options.output is not None:
        needed = [*source.names, *needed]
    data, _ = source.read(needed)
    progress("measuring cells")
    found = diversity(
        data,
        options.keys,
        options.sensitive,
        missing=options.missing,
        alpha=options.alpha,
        missing_sensitive=options.missing_sensitive,
        c=options.c,
        ordered=options.ordered,
        hierarchies=hierarchies,
        together=options.together,
    )
    figures = found.summary()
    parts: list[Part] = []
    lines: list[str] = []
    if options.l is not None or options.t is not None:
        asked = {"l": options.l, "kind": options.kind, "t": options.t}
        rows = found.failing(options.top, **asked)
        figures["goal"] = {
            **asked,
            "cells": int(found.fails(**asked).sum()),
            "records": found.failing_records(**asked),
            "failing": [{str(name): _plain(v) for name, v in r.items()} for r in rows],
        }
        lines = _goal(figures["goal"], rows).lines()
        if options.report is not None:
            shown = found.failing(options.report_top, **asked)
            parts = [_goal(figures["goal"], shown)]
    write_results(options, source, found, diversity_figure, progress, parts)
    progress.done()
    print_results(
        options, figures, lambda title: "\n".join([found.text(title), *lines])
    )


def _goal(goal: dict[str, Any], rows: list[dict[Any, Any]]) -> Part:
    """Return what fails the goal, with these of the cells."""
    words = []
    if goal["l"] is not None:
        words.append(f"{goal['kind']} l >= {goal['l']:g}")
    if goal["t"] is not None:
        words.append(f"t <= {goal['t']:g}")
    facts = [
        ("cells that fail", f"{goal['cells']:,}"),
        ("records that fail", f"{goal['records']:,}"),
    ]
    table = [[shortened(name, _LONGEST) for name in row] for row in rows[:1]]
    table += [[_shown(value) for value in row.values()] for row in rows]
    return Part(f"Goal: {' and '.join(words)}", facts, table, "<")


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else shortened(value, _LONGEST)


def _plain(value: Any) -> Any:
    if value != value:  # nan
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
