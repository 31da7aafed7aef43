"""``riskcore describe``: what each column of a file holds, and its likely role."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from riskcore.cli.options import (
    EXIT_STATUS,
    add_columns,
    add_file,
    add_roles,
    source_of,
)
from riskcore.cli.results import (
    add_last,
    add_page,
    check_files,
    print_results,
    report_text,
    write_files,
)
from riskcore.cli.settings import add_setting, value_of
from riskcore.cli.terminal import Progress
from riskcore.common.settings import settings_of
from riskcore.protection.settings.settings_table import ColumnSettings

USAGE = "riskcore describe FILE [options]"
HELP = "describe the columns of a file and propose their roles"
DESCRIPTION = """\
Describe each column of a file: its type, label, distinct and missing values, extremes,
how many records have a value that no other record has, and the role the column seems to
have. This is the first look at a file, before riskcore protect.

The roles are: key (known to an intruder), household and weight; numeric (known to an
intruder as a number, to some precision); sensitive (what the intruder wants to learn);
identifier (to be dropped); harmless. A role with a question mark is a proposal, from
the name, the label and the values of the column. You decide: --rules writes the
proposals as a file of rules for riskcore run, which refuses it until it is confirmed.
"""

_EXAMPLES = """\
examples:
  riskcore describe survey.csv
  riskcore describe survey.sav --keys REGION SEX AGE --weight W --household HH
  riskcore describe survey.csv --rules release.toml
  riskcore describe survey.csv --role INCOME=numeric HEALTH=sensitive NAME=identifier

Extremes are values of single records: keep the result to yourself, and the --report.
"""
EPILOG = _EXAMPLES + EXIT_STATUS
_ROLES = replace(
    settings_of(ColumnSettings)["roles"],
    help="roles of further columns: numeric, sensitive, identifier or harmless",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_file(parser)
    said = "key variables: what an intruder may know about a person"
    add_columns(parser, "--keys", said)
    add_roles(parser)
    add_setting(parser, "roles", _ROLES)
    parser.add_argument(
        "--rules",
        type=Path,
        metavar="TOML",
        help="write a file of rules for riskcore run, with the proposed role of each "
        "column and the proposed ladder of each key; riskcore run refuses it until you "
        "confirm the roles",
    )
    add_page(parser)
    add_last(parser)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from riskcore.assessment.describe import describe
    from riskcore.protection.proposals import proposed_rules

    progress = Progress(quiet=options.quiet)
    source = source_of(options, progress)
    check_files(options, source, {"--rules": options.rules})
    description = describe(
        source,
        options.keys,
        options.weight,
        options.household,
        roles=value_of(options, "roles", _ROLES, source.names) or {},
        progress=progress,
    )
    made = {
        options.report: lambda: report_text(options, description),
        options.rules: lambda: proposed_rules(source, description, options.rules),
    }
    write_files(options, source, made)
    progress.done()
    files = {"report": options.report, "file of rules": options.rules}
    print_results(options, description.to_dict(), description.text, files)
