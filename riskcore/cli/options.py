"""Options shared by several commands, and how their values are read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskcore.cli.shell import command_again
from riskcore.cli.words import delimiter, whole

if TYPE_CHECKING:
    from riskcore.cli.terminal import Progress
    from riskcore.data.files.reading import Reading
    from riskcore.data.source import Source
    from riskcore.report.provenance import Provenance


def add_quiet(command: argparse.ArgumentParser) -> None:
    """Add --quiet."""
    command.add_argument(
        "--quiet", action="store_true", help="show no progress on stderr"
    )


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


def add_keys(
    command: argparse.ArgumentParser, *, sets: bool = False, needed: bool = True
) -> None:
    """Add the key variables: one set or several."""
    known = "key variables: what an intruder may know about a person"
    command.add_argument(
        "--keys",
        nargs="+",
        action="append" if sets else "store",
        required=needed,
        metavar="COLUMN",
        help=f"{known}; give --keys once for each set" if sets else known,
    )


def add_weight(command: argparse.ArgumentParser) -> None:
    """Add the column of weights."""
    command.add_argument(
        "--weight",
        metavar="COLUMN",
        help="column of sampling weights, > 0; by default the weight that mu-Argus "
        "metadata declare",
    )


def add_roles(command: argparse.ArgumentParser) -> None:
    """Add the columns of weights and of household ids."""
    add_weight(command)
    command.add_argument(
        "--household",
        metavar="COLUMN",
        help="column of household ids, for household risks",
    )


def add_reading(command: argparse.ArgumentParser) -> None:
    """Add how to read the file."""
    command.add_argument(
        "--metadata",
        type=Path,
        metavar="RDA",
        help="mu-Argus metadata of the survey file (default: the .rda file beside it)",
    )
    command.add_argument(
        "--delimiter",
        type=delimiter,
        metavar="C",
        help="character between the fields of a CSV file; tab or \\t for a tab. By "
        "default comma, semicolon, tab or bar: the most frequent in the first line",
    )
    command.add_argument(
        "--encoding",
        metavar="NAME",
        default="utf-8",
        help="character encoding of a CSV file (default utf-8)",
    )
    command.add_argument(
        "--decimal",
        choices=(".", ","),
        default=".",
        help="decimal mark of the weights in a CSV file (default .)",
    )
    command.add_argument(
        "--na",
        nargs="+",
        default=[],
        metavar="[COLUMN=]CODE",
        help="codes that mean missing: NA in every column, MAR=9 in the column MAR "
        "(write =A=B for the code A=B in every column). Empty fields of a CSV file are "
        "always missing",
    )
    command.add_argument(
        "--user-missing",
        choices=("missing", "codes"),
        default="missing",
        help="how to read codes that an SPSS, Stata or SAS file declares missing: as "
        "missing (default), or as ordinary codes",
    )
    command.add_argument(
        "--sheet",
        metavar="NAME",
        help="sheet of an Excel file to read (default: the first)",
    )


def add_report(command: Any) -> None:
    """Add the reports."""
    command.add_argument(
        "--report",
        type=Path,
        metavar="HTML",
        help="report for internal use: one page for any browser, with a risk chart "
        "whose threshold can be moved. Its exact risks reveal weights of single "
        "records, so only you can read the file",
    )
    command.add_argument(
        "--report-top",
        type=whole,
        default=0,
        metavar="N",
        help="list the N riskiest combinations in --report (default none)",
    )
    command.add_argument(
        "--report-public",
        type=Path,
        metavar="HTML",
        help="report for publication: classes of at least 3 records and rounded "
        "figures, which reveal nothing about a single record",
    )
    command.add_argument(
        "--report-title",
        metavar="TEXT",
        help="title of the reports; the default title of --report names the file, the "
        "default title of --report-public does not",
    )


def provenance(options: argparse.Namespace) -> Provenance:
    """Return the file, the time and the command of a report."""
    from riskcore.report.provenance import Provenance, now

    name = "" if options.file is None else options.file.name
    return Provenance(name, now(), command_again(options.words))


# Suffixes of files that a browser does not take for a page.
_NOT_PAGES = (".docx", ".pdf", ".png", ".svg", ".xlsx")


def need_reports(*paths: Path | None) -> None:
    """Refuse reports that cannot be made, before any work."""
    from riskcore.report.provenance import now
    from riskcore.report.templating import need_jinja

    for path in paths:
        if path is not None and path.suffix.lower() in _NOT_PAGES:
            raise ValueError(f"{path}: a report is a page of HTML; name an .html file")
    need_jinja()
    now()


def check_reports(options: argparse.Namespace) -> None:
    """Refuse reports that cannot be made, and report options without a report."""
    if options.report or options.report_public:
        need_reports(options.report, options.report_public)
    if options.report_top and options.report is None:
        lacking = ""
        if options.report_public is not None:
            lacking = ": --report-public never lists combinations of key values"
        raise ValueError(f"--report-top needs --report{lacking}")
    if options.report_title is not None and not (
        options.report or options.report_public
    ):
        raise ValueError("--report-title needs --report or --report-public")


def population_of(given: str) -> Any:
    """Return the name of a model, or the path of a population file."""
    return Path(given) if Path(given).suffix else given


def reading(options: argparse.Namespace) -> Reading:
    """Return how to read the file."""
    from riskcore.data.files.reading import Reading

    codes: dict[str, list[str]] = {}
    for text in options.na:
        column, equals, code = text.partition("=")
        name, code = (column, code) if equals else ("", text)
        codes.setdefault(name, []).append(code)
    return Reading(
        encoding=options.encoding,
        delimiter=options.delimiter,
        decimal=options.decimal,
        missing_codes=codes,
        metadata=options.metadata,
        user_missing=options.user_missing,
        sheet=options.sheet,
    )


def source_of(
    options: argparse.Namespace, progress: Progress, how: Reading | None = None
) -> Source:
    """Return the file to read; ``how`` overrides the reading options."""
    from riskcore.data.source import Source

    step = progress.share(f"reading {options.file}")
    return Source.of(options.file, how or reading(options), progress=step)
