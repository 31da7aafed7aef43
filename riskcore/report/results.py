"""What results are asked for by name: their summary as text, and their report.

The package names this module to `riskcore.common.results`; results call it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from riskcore.assessment.assess import Assessment
from riskcore.assessment.uniques import UniquesEstimates
from riskcore.common.progress import Lines
from riskcore.common.results import Summary
from riskcore.common.sheet import Sheet
from riskcore.common.version import __version__
from riskcore.data.files import replace
from riskcore.protection.result import Protected
from riskcore.report import text
from riskcore.report.key_sets import sets_with_pages
from riskcore.report.page import assessment_page, protection_page, report_paths
from riskcore.report.provenance import Provenance, now, provenance_of
from riskcore.report.sheet_page import sheet_page
from riskcore.report.summary import summary
from riskcore.report.uniques_page import uniques_page
from riskcore.report.utility_view import utility_of


def summary_of(
    result: Assessment,
    thresholds: Sequence[float],
    rate: float | None,
    unsafe: int | None,
    top: int,
) -> Summary:
    """Return what `Assessment.summary` does."""
    figures = summary(result, thresholds=thresholds, rate=rate, unsafe=unsafe, top=top)
    return Summary(text.text(figures, f"riskcore {__version__}"))


def summary_of_protection(result: Protected) -> Summary:
    """Return what `Protected.summary` does."""
    path = result.source.path
    name = f"riskcore {__version__}" + ("" if path is None else f": {path.name}")
    return Summary(text.protection_text(result.to_dict(), name))


def summary_of_uniques(result: UniquesEstimates) -> Summary:
    """Return what `UniquesEstimates.summary` does."""
    return Summary(text.uniques_text(result.to_dict(), f"riskcore {__version__}"))


def report_of(
    result: Assessment,
    path: str | os.PathLike[str],
    *,
    title: str | None,
    threshold: float | None,
    household_threshold: float | None,
    top: int,
    overwrite: bool,
) -> None:
    """Do what `Assessment.report` does."""
    write_page(
        lambda: assessment_page(
            result,
            title="Re-identification risk" if title is None else title,
            thresholds=[] if threshold is None else [threshold],
            household_threshold=household_threshold,
            top=top,
            provenance=Provenance(when=now()),
        ),
        path,
        overwrite=overwrite,
    )


def report_of_protection(
    result: Protected,
    path: str | os.PathLike[str],
    *,
    title: str | None,
    top: int,
    overwrite: bool,
    progress: Lines,
) -> None:
    """Do what `Protected.report` does."""
    targets = report_paths(Path(path), len(result.sets))
    for target in targets:
        replace.refuse_existing(target, overwrite)
    inputs = [*result.source.paths, *result.settings.rule_files]
    replace.refuse_sources(targets, inputs)
    utility = utility_of(result, progress)
    pages = [
        protection_page(
            result,
            title="Re-identification risk and protection" if title is None else title,
            keys=position,
            riskiest=top,
            utility=utility,
            provenance=provenance_of(result.source, now()),
        )
        for position in sets_with_pages(result)
    ]
    with replace.replacing_all(overwrite, inputs) as create:
        for target, made in zip(targets, pages, strict=True):
            create(target, private=True).write(made.encode())


def page_of_uniques(result: UniquesEstimates, title: str | None) -> str:
    """Return the page of `UniquesEstimates.report`."""
    title = "Population uniques" if title is None else title
    return uniques_page(result, title=title, provenance=Provenance(when=now()))


def page_of_sheet(sheet: Sheet, title: str | None) -> str:
    """Return the page of the report of a result that has a sheet."""
    title = sheet.name if title is None else title
    return sheet_page(sheet, title=title, provenance=Provenance(when=now()))


def write_page(
    make: Callable[[], str], path: str | os.PathLike[str], *, overwrite: bool
) -> None:
    """Make a page and write it where only its owner can read it.

    It is not made if it cannot be written.
    """
    target = Path(path)
    replace.refuse_existing(target, overwrite)
    made = make()
    with replace.replacing_all(overwrite) as create:
        create(target, private=True).write(made.encode())
