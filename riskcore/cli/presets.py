"""``riskcore rules``: the rules of offices, ready."""

from __future__ import annotations

import argparse

USAGE = "riskcore rules list\n       riskcore rules show NAME"
HELP = "show the rules of offices that are ready to use"
DESCRIPTION = """\
Show presets: the rules of offices for microdata, each with its source, what it asks and
what it cannot check, as a file of rules to which you add the columns of each class.
"""
EPILOG = """\
examples:
  riskcore rules list
  riskcore rules show netherlands-research > release.toml
  riskcore run release.toml
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("action", choices=("list", "show"), help="what to do")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the preset to show")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from riskcore.common import arguments
    from riskcore.common.text_table import aligned
    from riskcore.protection.presets import NAMES, read, shown

    if options.action == "list":
        rows = [(name, read(name)["about"]["title"]) for name in NAMES]
        print("\n".join(aligned(rows, "<<")))
        return 0
    arguments.one_of("NAME", options.name or "", NAMES)
    print(shown(options.name))
    return 0
