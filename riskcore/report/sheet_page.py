"""The page of a result that is facts and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riskcore.common.sheet import Part, Sheet
from riskcore.report.provenance import Provenance
from riskcore.report.public import threshold_shown
from riskcore.report.sheet_charts import PartChart
from riskcore.report.templating import render

# Rules whose bound may be a figure of a file.
_MEASURED = (
    "threshold",
    "max_risk",
    "max_rate",
    "household_threshold",
    "max_household_risk",
    "max_household_rate",
    "t",
)


def sheet_page(
    sheet: Sheet,
    *,
    title: str,
    charts: Sequence[PartChart | None] = (),
    provenance: Provenance | None = None,
) -> str:
    """Return the figures of a result as HTML; ``charts`` are as of `part_charts`."""
    provenance = provenance or Provenance()
    return render(
        "sheet.html",
        title=title,
        verdict=sheet.verdict,
        sheet=sheet,
        charts=charts,
        facts=list(provenance.facts()),
        command=provenance.shown_command,
        public=False,
    )


def public_rules_page(checked: Any, *, title: str = "Rules of the release") -> str:
    """Return the rules kept or broken as HTML for all, without the numbers found."""
    rows = [("rule", "of", "asked", "")]
    for rule in checked.rules:
        asked = rule.asked
        if rule.rule in _MEASURED:
            asked = threshold_shown(asked)
        kept = {True: "kept", False: "BROKEN"}.get(rule.passed, "not judged")
        rows.append((rule.title, rule.of, f"{asked:,}", kept))
    part, facts = Part("Rules", rows=rows), [("records", f"{checked.records:,}")]
    sheet = Sheet("Rules of the release", facts, [part], checked.verdict_in_public)
    return public_sheet_page(sheet, title, "which rules the file keeps")


def public_sheet_page(sheet: Sheet, title: str, says: str) -> str:
    """Return figures for publication as HTML; ``says`` tells what they are."""
    return render(
        "sheet.html",
        title=title,
        verdict=sheet.verdict,
        sheet=sheet,
        charts=(),
        facts=[],
        command="",
        public=True,
        says=says,
    )
