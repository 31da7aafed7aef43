"""``riskcore check``: check a file against the rules of a release."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskcore.assessment.assess_settings import CheckSettings
from riskcore.cli.options import (
    add_file,
    add_keys,
    add_quiet,
    add_reading,
    add_roles,
    reading,
    reading_over,
    source_of,
)
from riskcore.cli.results import (
    add_page,
    check_files,
    print_results,
    report_text,
    write_files,
)
from riskcore.cli.rules import add_print_rules, print_rules, rules_of_check
from riskcore.cli.settings import add_settings, arguments_of, option_of
from riskcore.cli.terminal import Progress
from riskcore.common.settings import settings_of
from riskcore.common.words import printable

if TYPE_CHECKING:
    from riskcore.protection.release_toml import Release

USAGE = (
    "riskcore check FILE (--record JSON | --rules TOML | "
    "--keys COLUMN [COLUMN ...] (--k K | --max-risk RISK | --max-rate RATE | "
    "--min-population N | --l L | --t T)) [--original ORIGINAL] [options]"
)
HELP = "check a file against the rules of a release"
DESCRIPTION = """\
Check whether a released file keeps its goals, by the settings it was made by.

--record or --rules state the goals and how records are counted; or --keys and limits
do. Each goal is checked separately for each set of keys. The result shows the limit,
the value found, and how many records and cells fail. The file is not changed; "riskcore
protect" makes a file that passes. With --original, whoever fits a record of FILE is
counted among the people of ORIGINAL; beside --record or --rules, FILE is then examined
as "riskcore protect" examines a file that it writes. The file of its households is
found beside FILE, and --household-file is that of ORIGINAL.
"""

EPILOG = """\
examples:
  riskcore check safe.csv --record safe.csv.private.json --original survey.csv
  riskcore check --rules release.toml --original survey.csv
  riskcore check safe.csv --keys REGION SEX AGE --sensitive DISEASE --k 5 --l 3 --t 0.2
  riskcore check survey.parquet --keys REGION SEX AGE --weight W --max-risk 0.05 --json
  riskcore check safe.csv --keys SEX AGE --k 11 --strata COUNTY --weight W \\
      --area COUNTY --min-population 20000 --report check.html
  riskcore check synthetic.csv --original survey.csv --keys SEX AGE JOB --weight W \\
      --max-right-claims 5% --max-copy-excess 1% --target DISEASE --max-guess-excess 2%
  riskcore check public.csv --record public.csv.private.json --original survey.csv \\
      --with research.csv

FILE is the file that leaves, and ORIGINAL the records that it was made from. --record
states the keys, the goals and how records are counted, so leave those options out;
other limits may be added. FILE must be the file of the record, by its SHA-256.

Without ORIGINAL, k, l, t and areas are judged among the records of FILE, and risks only
if no record of FILE lacks a key, or if the record of exactly this file holds them. What
cannot be judged is named, and the check does not pass. With ORIGINAL all is judged if
the records of both files pair, in whatever order.

A value equal to its limit is kept; only the threshold of a record may not be reached. A
missing key of FILE matches any value, unless --missing says otherwise. The population
of an area is the sum of its weights; records without an area are shown as a number.
With --original, --weight names the weights of ORIGINAL. A limit "beyond chance" is one
for what is told of the people of ORIGINAL without what is told of others as well: the
people of --holdout, who were not in ORIGINAL, or people drawn from a model.

--report holds what is printed, for internal use. --report-public may go with FILE as it
is released: it lists the rules and whether they are kept, but no value that was found.

The exit status is 0 if all rules are kept; 1 if a rule is broken or not judged, or the
file is not the one that the record names; 2 if the input is refused and nothing is
written; 70 if riskcore has a defect; 74 if an error occurred after files were written;
or 130 if interrupted.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_file(parser, what="the file to be released", needed=False)
    parser.add_argument(
        "--record",
        dest="of_record",
        type=Path,
        metavar="JSON",
        help="private record of the protection of FILE: it states --keys, the goals "
        "and how records are counted",
    )
    parser.add_argument(
        "--rules",
        type=Path,
        metavar="TOML",
        help="file of rules of riskcore run, in place of --keys and the goals; by "
        "default FILE is its safe file",
    )
    add_keys(parser, sets=True, needed=False)
    add_roles(parser)
    rules = parser.add_argument_group("rules")
    add_settings(rules, CheckSettings)
    _add_original(parser)
    add_page(parser)
    parser.add_argument(
        "--report-public",
        type=Path,
        metavar="HTML",
        help="report to publish with FILE: the rules and whether they are kept, but "
        "no value that was found",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_print_rules(parser)
    add_reading(parser)
    add_quiet(parser)
    # Nothing stands for an option that was not given, which a record may state.
    parser.set_defaults(**dict.fromkeys(_options()))


def _add_original(parser: argparse.ArgumentParser) -> None:
    """Add the files that FILE is compared with."""
    group = parser.add_argument_group("files beside FILE")
    files = {
        "original": "the records of the people to protect, from which FILE was made",
        "holdout": "with --original: people who were not in ORIGINAL; by default "
        "others are drawn from a model",
        "earlier": "with --original: an earlier release of ORIGINAL; what both files "
        "tell together",
    }
    for name, said in files.items():
        option, metavar = f"--{name}", name.upper()
        if name == "earlier":
            option = "--with"
        group.add_argument(option, dest=name, type=Path, metavar=metavar, help=said)


def _options() -> dict[str, str]:
    """Return the options of the settings, and the setting of each."""
    settings = settings_of(CheckSettings)
    return {option_of(name, setting): name for name, setting in settings.items()}


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from riskcore.report.sheet_page import public_rules_page

    progress = Progress(quiet=options.quiet)
    names_by_option = _options().items()
    setting_names = [x for y, x in names_by_option if getattr(options, y) is not None]
    release = _release(options)
    if options.keys is None and options.of_record is None and release is None:
        raise ValueError(
            "give --keys, --record with the record of a protection, or --rules with a "
            "file of rules"
        )
    if options.file is None:
        raise ValueError("give FILE, the file to be released")
    rules = arguments_of(options, CheckSettings, setting_names) if setting_names else {}
    if options.print_rules:
        return print_rules(rules_of_check(options, rules))
    others = _sources(options, release)
    source = source_of(options, progress, others.pop("file").reading)
    check_files(options, source, {"--report-public": options.report_public})
    checked = _found(options, release, source, {**others, **rules}, progress)
    files = {
        options.report: lambda: report_text(options, checked),
        options.report_public: lambda: public_rules_page(checked),
    }
    public = options.report_public
    write_files(options, source, files, public=[public])
    progress.done()
    read = _beside(options)
    title = "".join([str(options.file), *(f", {x} {path}" for x, path in read.items())])
    print_results(
        options,
        checked.to_dict(),
        lambda head: f"{printable(head)}\n{checked.text()}",
        {"report for publication": public, "report": options.report},
        {"file": options.file, **read},
        title,
    )
    return 0 if checked.passed else 1


def _beside(options: argparse.Namespace) -> dict[str, Any]:
    """Return the files that FILE is compared with, by what they are."""
    named = {
        name: getattr(options, name) for name in ("original", "holdout", "earlier")
    }
    return {name: path for name, path in named.items() if path is not None}


def _found(
    options: argparse.Namespace,
    release: Release | None,
    source: Any,
    arguments: dict[str, Any],
    progress: Progress,
) -> Any:
    """Return the rules of a file of rules, of a record or of the options, checked."""
    from riskcore.protection.check import check

    if release is not None:
        return release.check(source, progress=progress, **arguments)
    return check(
        source,
        options.keys,
        options.weight,
        options.household,
        record=options.of_record,
        progress=progress,
        **arguments,
    )


def _release(options: argparse.Namespace) -> Release | None:
    """Return the file of rules, which names the file to check if no option does."""
    if options.rules is None:
        return None
    from riskcore.protection.release_toml import Release

    for name in ("keys", "weight", "household", "of_record", "print_rules"):
        if getattr(options, name):
            option = name.removeprefix("of_").replace("_", "-")
            raise ValueError(f"--rules states what to check: leave out --{option}")
    release = Release.read(options.rules)
    if options.file is None:
        options.file = release.file("output")
    return release


def _sources(options: argparse.Namespace, release: Release | None) -> dict[str, Any]:
    """Return the files: read as the options say, otherwise as the record or rules."""
    from riskcore.data.source import Source
    from riskcore.protection.check import released_source
    from riskcore.protection.release.record import read_record, reading_of

    beside, how = _beside(options), reading(options)
    files = {"file": options.file, **beside}
    if how.household_file is not None:  # that of the first file
        files = {**beside, **files}
    sources = Source.several(files, how)
    if options.of_record is not None:
        record = read_record(options.of_record)
        recorded, of_file = reading_of(record), reading_of(record, released=True)
    elif release is not None:
        recorded = of_file = release._reading()
    else:
        return sources
    how = reading_over(options, recorded)
    if replace(how, household_file=recorded.household_file) == recorded:
        sources["file"] = released_source(options.file, of_file)
    return {**sources, **Source.several(beside, how)}
