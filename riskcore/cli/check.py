"""``riskcore check``: check a file against the rules of a release."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from riskcore.cli.options import (
    add_alpha,
    add_file,
    add_hierarchy,
    add_k,
    add_keys,
    add_method,
    add_quiet,
    add_reading,
    add_weight,
    fraction,
    goal_of,
    hierarchies_of,
    number,
    source_of,
    whole,
)
from riskcore.cli.paths import inputs
from riskcore.cli.results import (
    add_sheet_report,
    check_files,
    print_files,
    write_report,
)
from riskcore.cli.terminal import Progress
from riskcore.common.version import __version__
from riskcore.common.words import printable

_CHECK = """\
Check whether a file of survey microdata keeps the rules of a release.

Each rule is checked separately for each set of keys. The result shows the limit, the
value found, and how many records and cells break the rule. The file is not changed;
"riskcore protect" makes a file that passes.
"""

_CHECK_EXAMPLES = """\
examples:
  riskcore check safe.csv --keys REGION SEX AGE MARSTAT --k 5 --missing wildcard
  riskcore check safe.parquet --keys REGION SEX AGE --weight W --max-risk 0.05 \\
      --max-rate 0.1% --json
  riskcore check safe.csv --keys SEX AGE --keys SEX JOB --k 11 5
  riskcore check safe.csv --keys SEX AGE --k 11 --strata COUNTY --weight W \\
      --area COUNTY --min-population 20000

  riskcore check safe.csv --keys REGION SEX AGE --sensitive DISEASE --l 3 --t 0.2 \\
      --report check.html --report-public rules.html

A value equal to its limit keeps the rule: f = 5 keeps --k 5, a risk of 0.05 keeps
--max-risk 0.05. Missing keys are refused unless --missing says how to treat them; for a
file that "riskcore protect" made, give wildcard. An area is a combination of values of
the --area columns, and its population is the sum of its weights. A record whose area is
missing is in no area; the number of such records is shown, and a file in which all
areas are missing is refused.

--report holds what is printed, for internal use. --report-public may go with FILE as it
is released: it lists the rules and whether they are kept, but no value that was found.

The exit status is 0 if all rules are kept; 1 if a rule is broken; 2 if the input is
refused and nothing is written; 70 if riskcore has a defect; 74 if an error occurred
after files were written; or 130 if interrupted.
"""


def add(commands: Any) -> argparse.ArgumentParser:
    """Add the command to the parser, and return its own."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "check",
        usage="riskcore check FILE --keys COLUMN [COLUMN ...] "
        "(--k K | --max-risk RISK | --max-rate RATE | --min-population N | --l L | "
        "--t T) [options]",
        help="check a file against the rules of a release",
        description=_CHECK,
        epilog=_CHECK_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_file(parser, what="the file to be released")
    add_keys(parser, sets=True)
    add_weight(parser)
    rules = parser.add_argument_group("rules")
    add_k(rules)
    rules.add_argument(
        "--max-risk",
        type=fraction,
        metavar="RISK",
        help="largest individual risk allowed for a record",
    )
    rules.add_argument(
        "--max-rate",
        type=fraction,
        metavar="RATE",
        help="largest re-identification rate allowed, such as 0.001 or 0.1%%",
    )
    rules.add_argument(
        "--min-population",
        type=whole,
        metavar="N",
        help="smallest population allowed for an area, by the sum of the weights",
    )
    rules.add_argument(
        "--area",
        nargs="+",
        metavar="COLUMN",
        help="columns that together define the areas",
    )
    rules.add_argument(
        "--sensitive",
        nargs="+",
        metavar="COLUMN",
        help="sensitive variables, for --l and --t",
    )
    rules.add_argument(
        "--l",
        type=number,
        metavar="L",
        help="smallest l-diversity allowed for a cell, for each sensitive variable",
    )
    rules.add_argument(
        "--kind",
        choices=("distinct", "entropy", "recursive"),
        default="distinct",
        help="the definition of l that --l refers to (default distinct)",
    )
    rules.add_argument(
        "--t",
        type=fraction,
        metavar="T",
        help="t-closeness: largest distance allowed between a cell and the file",
    )
    rules.add_argument(
        "--ordered",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="sensitive variables of numbers; closeness takes their order into account",
    )
    add_hierarchy(rules)
    rules.add_argument(
        "--missing-sensitive",
        choices=("refuse", "category", "ignore"),
        default="refuse",
        help="how to treat missing values of sensitive variables: refuse the file "
        "(default), as one more value (category), or leave out these records (ignore)",
    )
    rules.add_argument(
        "--missing",
        choices=("refuse", "category", "wildcard", "argus"),
        default="refuse",
        help="how to treat missing key values: refuse the file (default), as one more "
        "category, or as any value, as in sdcMicro (wildcard) or mu-Argus (argus)",
    )
    add_alpha(rules)
    add_method(rules)
    add_sheet_report(parser)
    parser.add_argument(
        "--report-public",
        type=Path,
        metavar="HTML",
        help="report to publish with FILE: the rules and whether they are kept, but "
        "no value that was found",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_reading(parser)
    add_quiet(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from riskcore.assessment.check import check

    progress = Progress(quiet=options.quiet)
    source = source_of(options, progress)
    hierarchies = hierarchies_of(options)
    check_files(options, source, {"--report-public": options.report_public})
    found = check(
        source,
        options.keys,
        options.weight,
        k=goal_of(options),
        max_risk=options.max_risk,
        max_rate=options.max_rate,
        min_population=options.min_population,
        area=options.area,
        sensitive=options.sensitive,
        l=options.l,
        kind=options.kind,
        t=options.t,
        ordered=options.ordered,
        hierarchies=hierarchies,
        missing_sensitive=options.missing_sensitive,
        subsets=options.subsets,
        strata=options.strata,
        method=options.method,
        missing=options.missing,
        alpha=options.alpha,
        progress=progress,
    )
    _write(found, source, options)
    progress.done()
    if options.json:
        plain = {"file": str(options.file), **found.to_dict()}
        print(json.dumps(plain, indent=2, allow_nan=False))
    else:
        print(printable(f"riskcore {__version__}: {options.file}"))
        print(found.text())
        print_files(options, {"report for publication": options.report_public})
    return 0 if found.passed else 1


def _write(found: Any, source: Any, options: argparse.Namespace) -> None:
    """Write the reports: either both files or none."""
    from riskcore.data.files.replace import replacing_all
    from riskcore.report.sheet_page import public_rules_page

    if not (options.report or options.report_public):
        return
    with replacing_all(options.overwrite, inputs(options, source)) as create:
        if options.report is not None:
            write_report(options, found, create)
        if options.report_public is not None:
            title = options.report_title or "Rules of the release"
            text = public_rules_page(found, title=title)
            create(options.report_public).write(text.encode())
