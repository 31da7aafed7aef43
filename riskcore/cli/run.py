"""``riskcore run``: make a safe file by a file of rules."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from riskcore.cli import protect
from riskcore.cli.options import add_overwrite, add_quiet
from riskcore.cli.results import print_json
from riskcore.cli.rules import files_of
from riskcore.cli.settings import option_of

if TYPE_CHECKING:
    from riskcore.protection.release_toml import Release

USAGE = "riskcore run RULES [options]"
HELP = "make a safe file by a file of rules"
DESCRIPTION = """\
Make a safe file by a file of rules, as riskcore protect does by its options: protect,
verify, write the reports and the records. The same rules make the same safe file, byte
for byte, unless random bits decide something: then --secret makes it again.
"""

EPILOG = """\
a file of rules, release.toml; paths are relative to it:
  format = 1
  [data]
  file = "survey.csv"
  [columns]
  keys = ["REGION", "SEX", "AGE"]
  weight = "WEIGHT"
  [roles]
  DISEASE = "sensitive"
  [safe]
  rate = "0.1%"
  [recodings]
  AGE = "from:15,30,45,65"
  [accept]
  WEIGHT = "nobody else has the weights"
  [output]
  file = "survey-safe.csv"
  shuffle = true
The other tables are treat, suppress, check, and try with candidates for riskcore
try. The names are those of the arguments of riskcore.protect. riskcore protect ...
--print-rules writes such a file, and riskcore describe FILE --rules release.toml a
proposal to confirm.

examples:
  riskcore run release.toml
  riskcore run release.toml --data survey-2027.csv --output survey-2027-safe.csv
  riskcore run release.toml --secret survey-safe.csv.private.json --output again.csv
  riskcore check --rules release.toml --original survey.csv

Random bits decide the order (shuffle = true), new ids, ties = "secret" and treatments
such as noise: --secret takes them from a private record, and nothing is written if the
file would be another one. A fault in the rules is refused before any work, with its
line and column. The exit status is that of riskcore protect.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "rules", metavar="RULES", type=Path, nargs="?", help="the file of rules"
    )
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="rules of an office (riskcore rules list), for RULES that name none",
    )
    parser.add_argument(
        "--data", type=Path, metavar="FILE", help="another survey file by these rules"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="another name for the safe file"
    )
    parser.add_argument(
        "--secret",
        type=Path,
        metavar="JSON",
        help="make the file of a private record again: take the secret behind the "
        "order, new ids, ties and treatments from it. The rules and the data must be "
        "those of the record",
    )
    add_overwrite(parser)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument(
        "--schema",
        action="store_true",
        help="print the JSON schema of a file of rules, for editors, and end",
    )
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from riskcore.protection.release.record import read_record
    from riskcore.protection.release_toml import Release
    from riskcore.protection.settings.rules_table import schema

    if options.schema:
        print_json(schema())
        return 0
    if options.rules is None:
        raise ValueError("give RULES, a file of rules such as release.toml")
    release = Release.read(options.rules)._by_preset(options.preset)
    to_do = as_protect(release, options)
    _refuse_idle(release, to_do)
    before = None if options.secret is None else read_record(options.secret)
    vars(options).update(vars(to_do))  # an error names all libraries that they need
    return protect.carry_out(to_do, release, before)


def _refuse_idle(release: Release, to_do: argparse.Namespace) -> None:
    """Refuse names of ``[output]``, and an option, that would have no effect."""
    from riskcore.report.release_files import idle

    wanted = files_of(to_do)
    name = idle(wanted)
    if name is not None:
        lacking = "without an effect; also name file, or leave it out"
        raise release._error(("output", name), lacking)
    files = ("file", "report", "report_public", "form")
    if to_do.overwrite and all(wanted[name] is None for name in files):
        raise ValueError(
            "--overwrite needs --output, or a file or a report in [output]"
        )


def as_protect(release: Release, options: argparse.Namespace) -> argparse.Namespace:
    """Return the options of ``protect`` that the rules and the options say."""
    from riskcore.protection.settings.rules_table import TABLES

    file = options.data or release.file("data")
    parser = argparse.ArgumentParser(add_help=False)
    protect.add(parser)
    found = parser.parse_args(["-"])
    known = TABLES["output"]
    assert isinstance(known, Mapping)
    given = release.output()
    for name, value in given.items():
        setattr(found, option_of(name, known[name]), value)
    found.output = options.output or given.get("file")
    found.recode = list(release.arguments().get("recodings", {}).items())
    found.file, found.rules = file, options.rules
    for name in ("overwrite", "json", "quiet", "words"):
        setattr(found, name, getattr(options, name))
    return found
