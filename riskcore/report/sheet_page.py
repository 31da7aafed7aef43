"""The page of a result that is facts and tables, and the charts of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from riskcore.assessment.diversity import Diversity, SensitiveVariable
from riskcore.assessment.suda import SpecialUniques
from riskcore.common.sheet import Part, Sheet
from riskcore.common.words import shortened
from riskcore.disclosure.audit_result import Audit
from riskcore.report.page_charts import column_plot, share_rows
from riskcore.report.provenance import Provenance
from riskcore.report.public import threshold_shown
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


# Cells with at least so many values share a bar.
MOST_VALUES = 20
_LONGEST = 40


class PartChart(NamedTuple):
    """A drawing as SVG, and what it shows."""

    caption: str
    drawing: str


@singledispatch
def part_charts(result: Any) -> list[PartChart | None]:
    """Return a chart, or None, for each of the first parts of a sheet."""
    return []


@part_charts.register
def _(result: Diversity) -> list[PartChart | None]:
    return [_by_values(variable) for variable in result.variables]


@part_charts.register
def _(result: SpecialUniques) -> list[PartChart | None]:
    table = result.contributions()
    names = [shortened(key, _LONGEST) for key in table["key"].tolist()]
    shares = np.nan_to_num(table["share"]).tolist()
    caption = (
        "Share of the scores by key, 0 to 100 %. A minimal unique counts for each of "
        "its keys, so the shares may add up to more."
    )
    return [None, PartChart(caption, share_rows(names, shares, caption))]


@part_charts.register
def _(result: Audit) -> list[PartChart | None]:
    charts: list[PartChart | None] = [_of_claims(result)]
    if result.attributes:
        charts.append(_of_guesses(result))
    return charts


def _of_claims(audit: Audit) -> PartChart | None:
    """Return the chart of the shares of claims that are right."""
    if not audit.claims:
        return None
    identity = audit.identity
    rows = {
        "with the keys of somebody": identity.matched,
        "expected to be right": identity.expected_right,
    }
    others = identity.others
    if others is not None and not np.isnan(others.right):
        rows["right about other people"] = others.right
    caption = "Shares of the claims, 0 to 100 %."
    shares = [min(max(count / audit.claims, 0.0), 1.0) for count in rows.values()]
    return PartChart(caption, share_rows([*rows], shares, caption))


def _of_guesses(audit: Audit) -> PartChart:
    """Return the chart of the shares of right guesses."""
    rows = {}
    for guesses in audit.attributes:
        name = shortened(guesses.target, _LONGEST)
        rows[f"{name}, people of the original"] = guesses.share
        rows[f"{name}, other people"] = guesses.share_there
    caption = "Shares of right guesses, 0 to 100 %."
    shares = np.nan_to_num([*rows.values()]).tolist()
    return PartChart(caption, share_rows([*rows], shares, caption))


def _by_values(variable: SensitiveVariable) -> PartChart:
    """Return the chart of the records by the number of values in their cell."""
    labels, counts = records_by_values(variable)
    name = shortened(variable.name, _LONGEST)
    caption = (
        f"Records by the number of different values of {name} in their cell. In cells "
        "with one value, marked, who finds the cell learns the value."
    )
    return PartChart(caption, column_plot(labels, counts, 2, "distinct l", caption))


def records_by_values(variable: SensitiveVariable) -> tuple[list[str], list[int]]:
    """Return numbers of values from 0, as text, and the records in such cells."""
    values = np.minimum(variable.distinct_l, MOST_VALUES)
    records = np.bincount(values, variable.cells.records).astype(int).tolist()
    labels = [str(place) for place in range(len(records))]
    if variable.distinct_l.max() > MOST_VALUES:
        labels[-1] = f"{MOST_VALUES} or more"
    return labels, records
