"""``riskcore diversity``: l-diversity and t-closeness."""

from __future__ import annotations

import argparse
from typing import Any

from riskcore.cli.options import add_alpha, fraction, number, source_of, whole
from riskcore.cli.results import (
    add_file_and_keys,
    add_results,
    check_results,
    print_results,
    write_results,
)
from riskcore.cli.terminal import Progress
from riskcore.common.text_table import aligned
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
  riskcore diversity survey.csv --keys REGION SEX AGE --sensitive DISEASE INCOME \\
      --ordered INCOME --missing wildcard --missing-sensitive ignore --l 3 --t 0.2 \\
      --output diverse.csv

With --l or --t it is said how many cells and records fail, and the largest of these
cells are listed. --output adds to each record, in the order of the file, for each
sensitive variable NAME: NAME_distinct_l, NAME_entropy_l, NAME_recursive_l,
NAME_closeness. It says of whom something is known for certain: it is for you.

The exit status is 0, 2 if the input is refused, or 130 if interrupted.
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
    add_file_and_keys(parser)
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
        parser, "the diversity of each record's cell", "how many records have which l"
    )
    return parser


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from riskcore.report.disclosure_pictures import diversity_figure
    from riskcore.sensitive import diversity

    if options.kind != "distinct" and options.l is None:
        raise ValueError(f"--kind {options.kind} needs --l")
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
        together=options.together,
    )
    figures = found.summary()
    lines: list[str] = []
    if options.l is not None or options.t is not None:
        figures["goal"], lines = _goal(found, options)
    write_results(options, source, found, diversity_figure, progress)
    progress.done()
    print_results(
        options, figures, lambda title: "\n".join([found.text(title), *lines])
    )


def _goal(found: Any, options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Return what fails the goal, as figures and as lines of text."""
    asked = {"l": options.l, "kind": options.kind, "t": options.t}
    cells = int(found.fails(**asked).sum())
    records = found.failing_records(**asked)
    goals = []
    if options.l is not None:
        goals.append(f"{options.kind} l >= {options.l:g}")
    if options.t is not None:
        goals.append(f"t <= {options.t:g}")
    lines = [
        "",
        f"  Goal: {' and '.join(goals)}",
        *aligned(
            [("cells that fail", f"{cells:,}"), ("records that fail", f"{records:,}")],
            "<>",
            indent=4,
        ),
    ]
    rows = found.failing(options.top, **asked)
    if rows:
        table = [[shortened(name, _LONGEST) for name in rows[0]]]
        table += [[_shown(value) for value in row.values()] for row in rows]
        lines += ["", *aligned(table, "<", indent=4)]
    plain = [{str(name): _plain(v) for name, v in row.items()} for row in rows]
    return {**asked, "cells": cells, "records": records, "failing": plain}, lines


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else shortened(value, _LONGEST)


def _plain(value: Any) -> Any:
    if value != value:  # nan
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
