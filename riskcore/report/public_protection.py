"""What the report for publication says of a protection, by the rules of `public`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from riskcore.common.html import digits
from riskcore.common.words import counted, listed, printable
from riskcore.data.recode import Recoding
from riskcore.protection.release.record import COARSE, about, coarse
from riskcore.protection.settings.settings import Settings
from riskcore.report.listed_settings import (
    k_facts,
    level_facts,
    method_facts,
    related_facts,
    suppression_facts,
)
from riskcore.report.page_charts import bar_top
from riskcore.report.public import threshold_shown, two_digits


def public_suppression(suppressed: Mapping[Any, int], n: int) -> dict[str, Any]:
    """Return about how many values of each column were suppressed in n records."""
    counts = {name: coarse(count) for name, count in suppressed.items()}
    rows = [
        {
            "name": name,
            "about": about(count),
            "share": _share(count, counts[name], n),
            "of_records": min(counts[name] / n, 1.0),
        }
        for name, count in suppressed.items()
    ]
    return {"rows": rows, "top": bar_top([row["of_records"] for row in rows])}


def _share(count: int, rounded: int, n: int) -> str:
    """Return the share of the records that a rounded count is."""
    if 0 < count < COARSE:
        return f"less than {two_digits(COARSE / n, 2)} %"
    return f"{two_digits(rounded / n, 2)} %" if count else "0 %"


def _goals(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the goals; a threshold found for a rate would be a figure of the file."""
    for unit, threshold, rate in (
        (settings.unit, settings.threshold, settings.rate),
        ("household", settings.household_threshold, settings.household_rate),
    ):
        if rate is not None:
            percent = digits(threshold_shown(rate), 2)
            yield unit, f"the threshold for a re-identification rate of {percent} %"
        elif threshold is not None:
            yield unit, digits(threshold_shown(threshold))


def public_facts(settings: Settings) -> list[tuple[str, str]]:
    """Return how the file was protected, without codes of its data."""
    facts = method_facts(settings)
    facts += [
        (f"recoding of {printable(str(name))}", _recoding_kind(recoding))
        for name, recoding in settings.recodings.items()
    ]
    facts += [
        (
            f"treatment of {listed(printable(str(name)) for name in names)}",
            "; ".join(rule.describe(public=True) for rule in rules),
        )
        for names, rules in settings.treat.items()
    ]
    facts += suppression_facts(settings, public=True)
    facts += [*level_facts(settings), *k_facts(settings)]
    for unit, goal in _goals(settings):
        facts.append((f"no {unit} may have a risk at or above", goal))
    return facts + related_facts(settings)


def _recoding_kind(recoding: Recoding) -> str:
    if recoding.drop:
        return f"without the last {counted(recoding.drop, 'character')}"
    if recoding.base:
        return f"rounded to multiples of {recoding.base:,}"
    if all(rule.single for rule in recoding.rules):
        return "single codes replaced" if recoding.rules else "missing values replaced"
    return "ranges of codes taken together"
