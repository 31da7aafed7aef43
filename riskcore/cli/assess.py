"""``riskcore assess``: the re-identification risk of a file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from riskcore.assessment.assess_settings import BY_WEIGHTS, AssessSettings
from riskcore.cli.options import (
    EXIT_STATUS,
    add_file,
    add_keys,
    add_output,
    add_overwrite,
    add_quiet,
    add_reading,
    add_report,
    add_roles,
    add_top,
    check_reports,
    provenance,
    source_of,
)
from riskcore.cli.results import print_results, refuse_inputs, report_text, write_files
from riskcore.cli.settings import add_settings, arguments_of, fraction, whole
from riskcore.cli.terminal import Progress, tell

USAGE = "riskcore assess FILE --keys COLUMN [COLUMN ...] [options]"
HELP = "measure the re-identification risk of each record"
DESCRIPTION = """\
Assess the re-identification risk of a file of survey microdata.

FILE is CSV with a line of column names (.csv, .tsv, .txt, also .gz), Parquet (also a
folder of files, or a pattern in quotes: 'survey/year=*/*.parquet'), Arrow (.feather,
.arrow), a file of SPSS (.sav, .zsav), Stata (.dta) or SAS (.sas7bdat, .xpt), or a
mu-Argus data file (.asc) with its metadata (.rda) beside it. The key variables are
what an intruder may know about a person, such as region, sex and age. Records with
equal keys form a cell. The f records of a cell stand for F persons in the population,
estimated by the sum of their weights. The individual risk of a record is E[1/F | f],
the probability of re-identifying it. Risks and rates are fractions.
"""

_EXAMPLES = """\
examples:
  riskcore assess survey.csv --keys REGION SEX AGE MARSTAT --weight WEIGHT
  riskcore assess survey.parquet --keys REGION SEX AGE --weight W --household HH \\
      --rate 0.1% --output survey-risk.parquet
  riskcore assess survey.csv --keys REGION SEX AGE MARSTAT --weight WEIGHT \\
      --population latent-class --cluster PSU --strata REGION
  riskcore assess survey.csv --keys REGION SEX AGE INCOME --weight WEIGHT \\
      --tolerance AGE=2 INCOME=5%
  riskcore assess panel.csv --keys REGION SEX AGE MARSTAT --weight WEIGHT \\
      --person ID --wave YEAR --known-waves 2
  riskcore assess Demodata.asc --keys REGION SEX AGE MARSTAT --method series7 --json

A file without weights is taken to be the whole population (risk 1/f), unless
--sampling-fraction is given. Cells with F < f get the risk 1/f, with a warning.
--output adds to each record sample_frequency (f), population_frequency (F),
sampling_fraction (f/F), individual_risk and, with --household, household_risk; for a
panel individual_risk, of the person, and unique_share, the share of choices of waves in
which the person is unique. Keep it, --report and the printed result to yourself: the
exact risk of a record that is alone in its cell reveals its weight. You may publish
--report-public, but not together with a protected version of the file: "riskcore
protect" makes a report for that one.
"""
EPILOG = _EXAMPLES + EXIT_STATUS


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_file(parser)
    add_keys(parser)
    add_roles(parser)
    add_settings(parser, AssessSettings)
    parser.add_argument(
        "--threshold",
        nargs="+",
        type=fraction,
        default=[],
        metavar="RISK",
        help="count the records at or above these risks (default 0.1 to 0.001)",
    )
    parser.add_argument(
        "--rate",
        type=fraction,
        help="find the risk threshold for this re-identification rate, the mean risk "
        "of the file: 0.001 or 0.1%%",
    )
    parser.add_argument(
        "--household-rate",
        type=fraction,
        metavar="RATE",
        help="the same for households, if their rate is not that of --rate",
    )
    parser.add_argument(
        "--unsafe",
        type=whole,
        metavar="RECORDS",
        help="find the risk threshold that at most this many records reach",
    )
    add_top(parser, "--top", 10, "number of the riskiest combinations to list")
    add_output(parser, "all columns and the risk of each record")
    add_overwrite(parser)
    add_report(parser)
    add_top(parser, "--report-top", 0, "list the N riskiest combinations in --report")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    add_reading(parser)
    add_quiet(parser)


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    from riskcore.assessment.cell_risk import RECORD_COLUMNS, UNIQUE_COLUMN
    from riskcore.assessment.waves import RECORD_COLUMNS as OF_PERSONS
    from riskcore.data.cells import refuse_taken
    from riskcore.data.files import formats, replace

    if options.output is not None:
        formats.check_writable(options.output, overwrite=options.overwrite)
    progress = Progress(quiet=options.quiet)
    source = source_of(options, progress)
    columns = source.names if options.tolerance else ()
    asked = arguments_of(options, AssessSettings, columns=columns)
    refuse_inputs(options, source)
    if options.report_top and options.report is None:
        lacking = ""
        if options.report_public is not None:
            lacking = ": --report-public never lists combinations of key values"
        raise ValueError(f"--report-top needs --report{lacking}")
    check_reports(options)
    reports = [report for report in (options.report, options.report_public) if report]
    if reports:
        for path in reports:
            replace.refuse_existing(path, options.overwrite)
    elif options.overwrite and options.output is None:
        raise ValueError("--overwrite needs --output or a report")
    if options.output is not None:
        more = [] if asked["population"] in BY_WEIGHTS else [UNIQUE_COLUMN]
        added = RECORD_COLUMNS if asked["person"] is None else OF_PERSONS
        refuse_taken(source.names, [*added, *more])
        source = source.with_all_columns()
    weight = source.weight if options.weight is None else options.weight
    made = _of_file if asked["person"] is None else _of_panel
    figures, files, text = made(source, weight, asked, options, progress)
    if options.output is not None:
        progress(f"writing {options.output}")
    write_files(options, source, files, [options.report_public])
    progress.done()
    named = {"risk of each record": options.output, "report": options.report}
    named["report for publication"] = options.report_public
    print_results(options, figures, text, named)


# The figures, what makes each file, and what makes the text from its title.
_Made = tuple[
    dict[str, Any], dict[Path | None, Callable[[], Any]], Callable[[str], str]
]


def _of_file(
    source: Any,
    weight: Any,
    asked: dict[str, Any],
    options: argparse.Namespace,
    progress: Progress,
) -> _Made:
    """Return what was found in a file of records."""
    from riskcore.assessment.assess import assess
    from riskcore.report import summary, text

    options.household = source.household_of(
        options.household,
        (*options.keys, weight, options.cluster, *(options.strata or ())),
    )
    if options.household_rate is not None and options.household is None:
        raise ValueError("--household-rate needs --household")
    assessment = assess(
        _streamed(source, weight, asked, options),
        options.keys,
        weight,
        options.household,
        progress=progress,
        **asked,
    )
    figures = summary.summary(
        assessment,
        thresholds=options.threshold,
        rate=options.rate,
        household_rate=options.household_rate,
        unsafe=options.unsafe,
        top=options.top,
    )
    if assessment.cells.counted is None:
        figures["not_examined"] = _not_examined(source, weight, options, progress)
    else:
        roles = {*options.keys, weight}
        figures["not_read"] = [name for name in source.names if name not in roles]
    files = {
        options.output: lambda: assessment.records,
        options.report: lambda: _report(assessment, weight, options, figures),
        options.report_public: lambda: _public_report(assessment, options),
    }
    return figures, files, partial(text.text, figures)


def _of_panel(
    source: Any,
    weight: Any,
    asked: dict[str, Any],
    options: argparse.Namespace,
    progress: Progress,
) -> _Made:
    """Return what was found in a panel."""
    from riskcore.assessment.assess import assess
    from riskcore.assessment.wave_sheet import sheet_of

    if options.report_public or options.report_top:
        option = "--report-top" if options.report_top else "--report-public"
        raise ValueError(f"{option}: not for a panel (--person, --wave); leave it out")
    assessment: Any = assess(
        source, options.keys, weight, options.household, progress=progress, **asked
    )
    figures = assessment.to_dict(
        thresholds=options.threshold, rate=options.rate, unsafe=options.unsafe
    )
    files = {
        options.output: lambda: assessment.records,
        options.report: lambda: report_text(options, assessment),
    }
    return figures, files, sheet_of(figures).text


def _streamed(
    source: Any, weight: Any, asked: dict[str, Any], options: argparse.Namespace
) -> Any:
    """Return the source, as an engine if it can be counted and written in batches."""
    from dataclasses import replace

    from riskcore.assessment.assess import in_batches
    from riskcore.data.files import formats

    held, out = None, options.output
    if not (options.report or options.report_public):
        held = in_batches(source, options.keys, weight, options.household, asked)
    if held is None or (
        out and not formats.written_as(out).streams(held.given.file.schema)
    ):
        return replace(source, batches=False)
    held.given.as_table = False  # records are written as they pass
    return held


def _not_examined(
    source: Any, weight: Any, options: argparse.Namespace, progress: Progress
) -> list[dict[str, Any]]:
    """Return the columns that have no role, and the roles that they seem to have."""
    from riskcore.assessment.describe import describe

    try:
        description = describe(
            source,
            options.keys,
            None if options.reference else weight,
            options.household,
            roles=dict.fromkeys(options.numeric, "numeric"),
            progress=progress,
        )
    except (KeyError, ValueError) as error:
        # Such as a letter that is not UTF-8, or a column that only the metadata have.
        tell(f"warning: the columns without a role were not looked at: {error}")
        return []
    return [column.to_dict() for column in description.columns if column.role is None]


def _report(
    assessment: Any, weight: Any, options: argparse.Namespace, figures: dict[str, Any]
) -> str:
    from riskcore.report.listed_settings import role_facts
    from riskcore.report.page import assessment_page

    return assessment_page(
        assessment,
        title=f"{options.file.name}: re-identification risk",
        thresholds=options.threshold,
        rate=options.rate,
        unsafe=options.unsafe,
        top=options.report_top,
        roles=role_facts(weight, options.household),
        not_examined=[column["column"] for column in figures.get("not_examined", ())],
        provenance=provenance(options),
    )


def _public_report(assessment: Any, options: argparse.Namespace) -> str:
    from riskcore.report.public_page import public_page

    # A threshold found from a rate would reveal a figure of the file.
    threshold = options.threshold[0] if options.threshold else None
    return public_page(assessment, threshold=threshold)
