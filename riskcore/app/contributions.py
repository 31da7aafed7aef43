"""What each key contributes to the risk: the file without the key, and by it alone.

It is computed from the cells, not from the records.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from riskcore.assessment.assessment import Assessment

if TYPE_CHECKING:
    from riskcore.protection.settings.settings import Settings
    from riskcore.protection.suppression.suppress import Aim


@dataclass(frozen=True, slots=True)
class Risk:
    """Figures of a file by some of its keys.

    ``expected``, the expected re-identifications, is None if the risk is that of a
    model, which would have to be fitted again; so is ``unsafe``, the unsafe records, if
    there is a threshold.
    """

    uniques: int
    unsafe: int | None
    expected: float | None


@dataclass(frozen=True, slots=True)
class Contribution:
    """A key, and the risk without it and by it alone."""

    key: Hashable
    without: Risk
    alone: Risk


def contributions(
    assessment: Assessment, aim: Aim, settings: Settings
) -> list[Contribution]:
    """Return the contribution of each key of a set of two keys or more."""
    free = [key for key in assessment.cells.keys if key not in aim.strata]
    if len(free) < 2:
        return []

    def by(some: Collection[Hashable]) -> Risk:
        return risk_by(assessment, aim, settings, [*some, *aim.strata])

    return [
        Contribution(key, by([other for other in free if other != key]), by([key]))
        for key in free
    ]


def risk_by(
    assessment: Assessment, aim: Aim, settings: Settings, keys: Collection[Hashable]
) -> Risk:
    """Return the risk by some of the keys."""
    if assessment.model is not None:
        cells, unsafe = assessment.cells.of_keys(keys), None
        if not aim.has_threshold:
            unsafe = cells.below(aim.k or 1).records
        return Risk(cells.totals.uniques, unsafe, None)
    merged_assessment = assessment.by(keys)
    unsafe = merged_assessment.cells.count_of(
        _aim_of(merged_assessment, aim, settings).unsafe(merged_assessment)
    )
    uniques = merged_assessment.cells.totals.uniques
    return Risk(uniques, unsafe, merged_assessment.expected_reidentifications)


def _aim_of(assessment: Assessment, aim: Aim, settings: Settings) -> Aim:
    """Return an aim with the thresholds that rates give for an assessment."""
    if settings.rate is not None:
        aim = replace(aim, threshold=assessment.risk_threshold(rate=settings.rate))
    if settings.household_rate is not None:
        threshold = assessment.household_threshold(rate=settings.household_rate)
        aim = replace(aim, household_threshold=threshold)
    return aim
