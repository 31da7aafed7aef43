"""``riskcore try``: compare several protections of one file."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskcore.cli import protect
from riskcore.cli.options import (
    add_file,
    add_keys,
    add_quiet,
    add_reading,
    add_weight,
    reading,
    source_of,
)
from riskcore.cli.results import (
    add_page,
    check_files,
    print_files,
    print_json,
    write_files,
)
from riskcore.cli.rules import print_rules, rules_of
from riskcore.cli.settings import add_settings, arguments_of, options_of
from riskcore.cli.terminal import Progress
from riskcore.common.settings import gathered
from riskcore.common.version import __version__
from riskcore.protection.settings.settings_table import (
    ColumnSettings,
    ProtectSettings,
    WriteSettings,
)

if TYPE_CHECKING:
    from riskcore.data.files.reading import Reading
    from riskcore.protection.release_toml import Release


USAGE = (
    "riskcore try (FILE --keys COLUMN [COLUMN ...] --candidate NAME=OPTIONS "
    "... | --rules TOML) [options]"
)
HELP = "try several protections: risk, suppressed values, utility"
DESCRIPTION = """\
Try several protections of a file: what risk each leaves, and what it costs.

A candidate is a name with options of riskcore protect, or a table of a file of rules.
Each is carried out and compared with the unprotected file, but no safe file is written.
The table shows the unsafe records, the expected re-identifications and the largest
risk; the values suppressed, the share of the keys' information that is lost, distances
between tables, and pMSE. Candidates that no other candidate beats in both risk and
information are marked. The state of each is that of riskcore protect: a file in which
columns have no role is not examined: drop them, or give roles.
"""

EPILOG = """\
examples:
  riskcore try survey.csv --keys REGION SEX AGE --weight WEIGHT \\
      --candidate "coarse=--threshold 1% --recode AGE=from:15,30,45,65" \\
      "fine=--threshold 1% --recode AGE=from:15,20,25,30,40,50,60,70" \\
      --drop NAME WEIGHT --shuffle
  riskcore try --rules release.toml --report tried.html

candidates in a file of rules, beside its own rules; false takes one of these away:
  [try.coarse.recodings]
  AGE = "from:15,30,45,65"
  [try.strict.safe]
  k = 5
  [try.raw.recodings]
  AGE = false
The tables are safe, roles, recodings, treat and suppress.

"Largest loss" is the category that lost the largest share of its records.

--print-rules NAME prints the rules that make the safe file of one candidate.
Keep the results to yourself: they hold figures of FILE.

The exit status is 0; 1 if no candidate is safe; 2 if the input is refused and nothing
is written; 74 if an error occurred after files were written; or 130 if interrupted.
"""
# How the file would be written, which decides what leaks.
_LAYOUT = ("drop", "shuffle", "renumber")
# Options for all candidates, which each may add to.
_OF_ALL = ("role", "accept")
# Options of riskcore protect that a candidate may use.
_OF_CANDIDATES = (options_of(ProtectSettings) | {"household"}) - {"ties"}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_file(parser, needed=False)
    parser.add_argument(
        "--rules",
        type=Path,
        metavar="TOML",
        help="file of rules of riskcore run with candidates, in place of --keys and "
        "--candidate; by default FILE is its survey file",
    )
    add_keys(parser, sets=True, needed=False)
    add_weight(parser)
    parser.add_argument(
        "--candidate",
        nargs="+",
        type=_candidate,
        default=[],
        metavar="NAME=OPTIONS",
        help="a name, and in quotes the options of riskcore protect",
    )
    parser.add_argument(
        "--print-rules",
        metavar="NAME",
        help="print a candidate as a file of rules, for riskcore run, and end",
    )
    add_settings(parser, ColumnSettings)
    add_settings(parser, WriteSettings, *_LAYOUT)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_page(parser, "report for internal use, with the chart")
    add_reading(parser)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from riskcore.protection.trials import try_out
    from riskcore.report import utility_text
    from riskcore.report.utility_view import trials_page

    release = _release(options)
    words = {} if release is not None else _words(options)
    named = words if release is None else release.candidates()
    if options.print_rules is not None:
        if options.print_rules not in named:
            raise ValueError(
                f"--print-rules {options.print_rules}: no candidate has this name; "
                f"candidates are {', '.join(named)}"
            )
        return print_rules(_rules(options, release, words))
    progress = Progress(quiet=options.quiet)
    source = source_of(options, progress, _reading(options, release))
    candidates = {
        name: _settings(options, name, entry, source.names)
        for name, entry in words.items()
    }
    check_files(options, source)
    if release is not None:
        tried = release.try_out(source, progress=progress)
    else:
        keys = options.keys if len(options.keys) > 1 else options.keys[0]
        asked = arguments_of(options, WriteSettings, _LAYOUT)
        layout = {name: entry for name, entry in asked.items() if entry or entry == []}
        tried = try_out(source, keys, candidates, layout=layout, progress=progress)
    title = f"{options.file.name}: protections tried"
    files = {options.report: lambda: trials_page(tried, title=title)}
    write_files(options, source, files)
    progress.done()
    figures = tried.to_dict()
    if options.json:
        print_json({"file": str(options.file), **figures})
    else:
        title = f"riskcore {__version__}: {options.file}, protections tried"
        print(utility_text.trials_text(figures, title))
        print_files({"report": options.report})
    return 0 if any(entry.safe for entry in tried.trials) else 1


def _candidate(text: str) -> tuple[str, str]:
    name, equals, words = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=OPTIONS")
    return name, words


def _release(options: argparse.Namespace) -> Release | None:
    """Return the file of rules, which names the survey file if no option does."""
    options.recode = []
    if options.rules is None:
        if options.file is None or options.keys is None:
            raise ValueError("give FILE and --keys, or --rules with a file of rules")
        return None
    from riskcore.protection.release_toml import Release

    for name in ("keys", "weight", "candidate", *_OF_ALL, *_LAYOUT):
        if getattr(options, name):
            raise ValueError(f"--rules states what to try: leave out --{name}")
    release = Release.read(options.rules)
    options.file = options.file or release.file("data")
    for rules in release.candidates().values():  # files that are read
        options.recode += rules.arguments().get("recodings", {}).items()
    return release


def _reading(options: argparse.Namespace, release: Release | None) -> Reading:
    """Return how to read the file: as the options say, or the rules."""
    from riskcore.data.files.reading import Reading

    chosen = reading(options)
    if release is not None and chosen == Reading(missing_codes={}):
        return release._reading()
    return chosen


def _words(options: argparse.Namespace) -> dict[str, list[str]]:
    """Return the options of each candidate as lists of words."""
    if not options.candidate:
        raise ValueError("give --candidate")
    words, common = {}, []
    for option in _OF_ALL:
        pairs = ["=".join(entry) for entry in getattr(options, option)]
        common += [f"--{option}", *pairs] if pairs else []
    for name, entry in gathered("--candidate", options.candidate).items():
        try:
            words[name] = [*common, *shlex.split(entry)]
        except ValueError as error:
            raise ValueError(f"candidate {name}: {error}") from None
    return words


class _Parser(argparse.ArgumentParser):
    """A parser that raises its errors, and takes options in full only."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> Any:
        """Raise the message as an error."""
        raise ValueError(message)


def _settings(
    options: argparse.Namespace, name: str, words: list[str], columns: Iterable[Any]
) -> dict[str, Any]:
    """Return the arguments of `riskcore.protect` for one candidate."""
    command = _Parser(add_help=False)
    protect.add(command)
    try:
        parsed = command.parse_args([str(options.file), *words])
    except ValueError as error:
        raise ValueError(f"candidate {name}: {error}") from None
    changes = {
        key
        for key, value in vars(parsed).items()
        if key != "file" and value != command.get_default(key)
    }
    if foreign := sorted(changes - _OF_CANDIDATES):
        option = f"--{foreign[0].replace('_', '-')}"
        raise ValueError(
            f"candidate {name}: {option} is not an option of candidates; give keys, "
            "weight and files to riskcore try"
        )
    parsed.keys = options.keys
    options.recode += parsed.recode  # files that are read
    asked = arguments_of(parsed, ProtectSettings, columns=columns)
    return {"weight": options.weight, "household": parsed.household, **asked}


def _rules(
    options: argparse.Namespace, release: Release | None, words: dict[str, list[str]]
) -> Release:
    """Return the rules of the candidate to print."""
    from riskcore.report.release_files import safe_name

    name = options.print_rules
    if release is not None:
        return release.candidates()[name]
    source = source_of(options, Progress(quiet=True))
    layout = arguments_of(options, WriteSettings, _LAYOUT)
    chosen = _settings(options, name, words[name], source.names)
    options.weight, options.household = chosen.pop("weight"), chosen.pop("household")
    return rules_of(options, chosen, {"file": safe_name(source), **layout})
