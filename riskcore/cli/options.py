"""Options shared by several commands, and how their values are read."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskcore.assessment.assess_settings import HOUSEHOLD, KEYS, WEIGHT
from riskcore.cli.settings import add_setting, add_settings, arguments_of, whole
from riskcore.common.settings import ReportSettings
from riskcore.data.files.read_settings import ReadSettings

if TYPE_CHECKING:
    from riskcore.cli.terminal import Progress
    from riskcore.data.files.reading import Reading
    from riskcore.data.source import Source
    from riskcore.report.provenance import Provenance


# The end of the help of commands that read a file and may write some.
EXIT_STATUS = """
The exit status is 0; 2 if the input is refused and nothing is written; 74 if an error
occurred after files were written; or 130 if interrupted.
"""


class _Household(argparse.Action):
    """One household column, or several whose last one is read as the numbers of all."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option: Any = None
    ) -> None:
        """Keep the last column, and all if there are several."""
        if getattr(namespace, "file", None) is None and Path(values[-1]).is_file():
            parser.error(f"--household takes columns: name {values[-1]} before it")
        namespace.household = values[-1]
        namespace.household_id = values if len(values) > 1 else None


def add_quiet(command: Any) -> None:
    """Add --quiet."""
    command.add_argument(
        "--quiet", action="store_true", help="show no progress on stderr"
    )


def add_overwrite(command: Any) -> None:
    """Add --overwrite."""
    said = "replace existing files"
    command.add_argument("--overwrite", action="store_true", help=said)


def add_output(command: Any, what: str) -> None:
    """Add the table to write, in a format that is for any data."""
    suffixes = ".csv, .csv.gz, .tsv, .parquet, .feather or .arrow file"
    said = f"write {what} to a {suffixes}"
    command.add_argument("--output", type=Path, metavar="FILE", help=said)


def add_top(command: Any, option: str, default: int, what: str) -> None:
    """Add how many rows of a result are listed."""
    said = f"{what} (default {default or 'none'})"
    command.add_argument(option, type=whole, default=default, metavar="N", help=said)


def add_file(
    command: argparse.ArgumentParser,
    name: str = "FILE",
    what: str = "the survey file",
    *,
    needed: bool = True,
) -> None:
    """Add the file to read."""
    count = None if needed else "?"
    command.add_argument("file", metavar=name, type=Path, nargs=count, help=what)


def add_keys(command: Any, *, sets: bool = False, needed: bool = True) -> None:
    """Add the key variables: one set or several."""
    command.add_argument(
        "--keys",
        nargs="+",
        action="append" if sets else "store",
        required=needed,
        metavar=KEYS.metavar,
        help=f"{KEYS.help}; give --keys once for each set" if sets else KEYS.help,
    )


def add_columns(command: Any, option: str, what: str) -> None:
    """Add names of columns, none by default."""
    command.add_argument(option, nargs="+", default=[], metavar="COLUMN", help=what)


def add_missing(command: Any) -> None:
    """Add what to do with missing keys where each record is in one cell."""
    command.add_argument(
        "--missing",
        choices=("refuse", "category"),
        default="refuse",
        help="how to treat missing key values: refuse the file (default), or as one "
        "more category. They cannot match any value here, as by default in riskcore "
        "assess, because each record must be in one cell",
    )


def add_weight(command: Any) -> None:
    """Add the column of weights."""
    add_setting(command, "weight", WEIGHT)


def add_roles(command: Any) -> None:
    """Add the columns of weights and of household ids."""
    add_weight(command)
    command.add_argument(
        "--household",
        nargs="+",
        action=_Household,
        metavar=HOUSEHOLD.metavar,
        help=f"{HOUSEHOLD.help}; several if ids are repeated, as by region",
    )


def add_reading(command: Any) -> None:
    """Add how to read the file."""
    add_settings(command, ReadSettings)


def add_report(command: Any) -> None:
    """Add the reports."""
    add_settings(command, ReportSettings)


def provenance(options: argparse.Namespace) -> Provenance:
    """Return the file, the time and the command of a report."""
    from riskcore.report.provenance import Provenance, now

    name = "" if options.file is None else options.file.name
    return Provenance(name, now(), shlex.join(["riskcore", *options.words]))


def check_reports(options: argparse.Namespace) -> None:
    """Refuse reports that cannot be made."""
    pages = options.report, options.report_public, getattr(options, "form", None)
    if any(pages):
        from riskcore.report.templating import need_reports

        need_reports(*pages)


def reading(options: argparse.Namespace) -> Reading:
    """Return how to read the file."""
    from riskcore.data.files.reading import Reading

    ids = getattr(options, "household_id", None)
    return Reading(**arguments_of(options, ReadSettings), household_id=ids)


def reading_over(options: argparse.Namespace, recorded: Reading) -> Reading:
    """Return how to read a file: as recorded where the options say nothing."""
    from riskcore.data.files.reading import Reading

    default = vars(Reading(missing_codes={}))
    chosen = vars(reading(options)).items()
    return replace(recorded, **{x: value for x, value in chosen if value != default[x]})


def source_of(
    options: argparse.Namespace, progress: Progress, how: Reading | None = None
) -> Source:
    """Return the file to read; ``how`` overrides the reading options."""
    from riskcore.data.source import Source

    step = progress.share(f"reading {options.file}")
    return Source.of(options.file, how or reading(options), progress=step)
