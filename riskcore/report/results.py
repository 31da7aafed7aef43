"""Summaries and reports of results, by kind of result.

The package names this module to `riskcore.common.results`, which results call.
"""

from __future__ import annotations

import os
from functools import singledispatch
from pathlib import Path
from typing import Any

from riskcore.assessment.assessment import Assessment
from riskcore.assessment.uniques import UniquesEstimates
from riskcore.common.progress import Lines, silent
from riskcore.common.results import Summary
from riskcore.common.sheet import OnASheet
from riskcore.common.version import __version__
from riskcore.comparison.comparison import Comparison
from riskcore.data.files import replace
from riskcore.disclosure.audit_result import Audit
from riskcore.disclosure.checked import Checked
from riskcore.protection.release.writing import Reports
from riskcore.protection.result import Protected
from riskcore.protection.trials import Trials
from riskcore.report import text
from riskcore.report.audit_page import public_audit_page
from riskcore.report.page import assessment_page, protection_pages, report_paths
from riskcore.report.provenance import Provenance, now
from riskcore.report.public_page import public_page, public_protection_page
from riskcore.report.release_files import check_release_files, write_texts
from riskcore.report.release_files import reports_with as reports_with
from riskcore.report.sheet_page import part_charts, public_rules_page, sheet_page
from riskcore.report.summary import summary
from riskcore.report.templating import write_page
from riskcore.report.uniques_page import uniques_page
from riskcore.report.utility_view import comparison_page, trials_page

_NAME = f"riskcore {__version__}"
StrPath = str | os.PathLike[str]


@singledispatch
def summary_of(result: Any, /, **options: Any) -> Summary:
    """Return the summary of a result."""
    raise TypeError(f"{type(result).__name__} has no summary")


@summary_of.register
def _(result: Assessment, /, **options: Any) -> Summary:
    return Summary(text.text(summary(result, **options), _NAME))


@summary_of.register
def _(result: Protected, /) -> Summary:
    path = result.source.path
    name = _NAME if path is None else f"{_NAME}: {path.name}"
    return Summary(text.protection_text(result.to_dict(), name))


@summary_of.register
def _(result: UniquesEstimates, /) -> Summary:
    return Summary(text.uniques_text(result.to_dict(), _NAME))


def report_of(
    result: Any, path: StrPath, /, *, overwrite: bool, title: str | None, **options: Any
) -> None:
    """Write the report of a result, where only its owner can read it."""
    if title is not None:
        options["title"] = title
    if isinstance(result, Protected):
        _write_pages(result, Path(path), overwrite, **options)
        return
    write_page(
        path,
        lambda: _page_of(result, provenance=Provenance(when=now()), **options),
        overwrite=overwrite,
    )


def public_report_of(
    result: Any, path: StrPath, /, *, overwrite: bool, title: str | None, **options: Any
) -> None:
    """Write the report of a result for publication."""
    if title is not None:
        options["title"] = title
    write_page(
        path,
        lambda: _public_page_of(result, **options),
        overwrite=overwrite,
        private=False,
    )


def form_of(result: Protected, path: StrPath, /, *, overwrite: bool) -> None:
    """Write the form to sign, where only its owner can read it."""
    wanted = {"form": Path(path)}
    check_release_files(result.source, result.settings, wanted, overwrite=overwrite)
    write_texts(result, reports_with(result, wanted), None, overwrite=overwrite)


@singledispatch
def _public_page_of(result: Any, /, **options: Any) -> str:
    """Return the page of a result for publication."""
    raise TypeError(f"{type(result).__name__} has no report for publication")


_public_page_of.register(Assessment, public_page)
_public_page_of.register(Protected, public_protection_page)
_public_page_of.register(Audit, public_audit_page)
_public_page_of.register(Checked, public_rules_page)


@singledispatch
def _page_of(result: Any, /, *, provenance: Provenance, **options: Any) -> str:
    """Return the one page of the report of a result."""
    raise TypeError(f"{type(result).__name__} has no report")


_page_of.register(UniquesEstimates, uniques_page)


@_page_of.register
def _(result: Assessment, /, *, threshold: float | None, **options: Any) -> str:
    return assessment_page(
        result, thresholds=[] if threshold is None else [threshold], **options
    )


@_page_of.register
def _(result: Comparison, /, *, provenance: Provenance, **options: Any) -> str:
    return comparison_page(result, **options)


@_page_of.register
def _(result: Trials, /, *, provenance: Provenance, **options: Any) -> str:
    return trials_page(result, **options)


@_page_of.register
def _(result: OnASheet, /, **options: Any) -> str:
    sheet = result._sheet()
    options.setdefault("title", sheet.name)
    return sheet_page(sheet, charts=part_charts(result), **options)


def _write_pages(
    result: Protected,
    path: Path,
    overwrite: bool,
    *,
    title: str = "Re-identification risk and protection",
    progress: Lines | None,
) -> None:
    """Write a page for each set of keys that has one."""
    targets = report_paths(path, len(result.sets))
    for target in targets:
        replace.refuse_existing(target, overwrite)
    inputs = [*result.source.paths, *result.settings.rule_files]
    replace.refuse_sources(targets, inputs)
    pages = protection_pages(result, path, title=title, progress=progress or silent)
    write_texts(result, Reports(pages), None, overwrite=overwrite)
