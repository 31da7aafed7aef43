"""``riskcore best``: find the recodings and blanks that lose least."""

from __future__ import annotations

import argparse
from pathlib import Path

from riskcore.cli.options import add_overwrite, add_quiet
from riskcore.cli.results import print_files, print_json
from riskcore.cli.settings import add_settings, arguments_of
from riskcore.cli.terminal import Progress
from riskcore.common.version import __version__
from riskcore.protection.settings.best_settings import BestSettings

USAGE = "riskcore best [FILE] --rules RULES [options]"
HELP = "find the recodings and blanks that meet the goals at the least loss"
DESCRIPTION = """\
Find the recodings and blanks that meet the goals of a file of rules at the least loss.

Each key has a ladder of recodings from fine to coarse: those of the rules, or what its
values suggest. The command finds the combination that loses least, by its recodings and
its blanks, and proves that none loses less. If time runs out, it says how far its best
may be from the least. Of equal losses that with fewer blanks is taken.
"""

EPILOG = """\
ladders in a file of rules, beside its goals:
  [ladder]
  AGE = ["from:15,20,25,30,40,50,65", "from:15,30,50,65", "from:15,65", "map:*=all"]
  REGION = ["truncate:2", "truncate:4", "map:*=all"]
  OCCUPATION = "occupations.csv"
  [best]
  loss = "granularity"
  price = 2
  importance = {AGE = 3}
A file is a hierarchy: value;group;group;... in each line. A recoding of a ladder may
not separate what the one before it has joined. Keys with a recoding in [recodings]
keep it.

examples:
  riskcore best --rules release.toml --output best.toml
  riskcore best --rules release.toml --time 60 --json

The search looks at goals alone: riskcore run by the rules of --output looks for leaks,
too. Keep the results to yourself: they hold figures of FILE.

The exit status is 0; 2 if the input is refused, or no recodings meet the goals; 74 if
an error occurred after files were written; or 130 if interrupted.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="by default as in the rules",
    )
    parser.add_argument(
        "--rules", type=Path, required=True, metavar="RULES", help="the file of rules"
    )
    add_settings(parser, BestSettings)
    parser.set_defaults(loss=None, price=None)  # those of the rules
    parser.add_argument(
        "--output",
        type=Path,
        metavar="RULES",
        help="write the rules with the best recodings to this file",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_overwrite(parser)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from riskcore.data.files.replace import refuse_existing, refuse_sources
    from riskcore.protection.release_toml import Release

    release = Release.read(options.rules)
    options.file = options.file or release.file("data")
    source = release.source(options.file)
    if options.output is not None:
        read = [*source.paths, options.rules, *release.rule_files]
        refuse_sources([options.output], read)
        refuse_existing(options.output, options.overwrite)
    asked = arguments_of(options, BestSettings, columns=source.names)
    how = {name: value for name, value in asked.items() if value is not None}
    progress = Progress(quiet=options.quiet)
    result = release.best(source, progress=progress, **how)
    progress.done()
    if options.output is not None:
        rules = release.with_best(result)
        rules.write(options.output, overwrite=options.overwrite)
    if options.json:
        print_json({"file": str(options.file), **result.to_dict()})
    else:
        print(result.text(f"riskcore {__version__}: {options.file}, the best release"))
        print_files({"file of rules": options.output})
    return 0
