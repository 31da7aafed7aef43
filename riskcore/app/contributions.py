"""What each key contributes to the risk: the file without the key, and by it alone.

It is computed from the cells, not from the records.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from riskcore.assessment.assessment import Assessment
from riskcore.assessment.cell_risk import refuse_between_branches, risk_of
from riskcore.core.risk.household import households
from riskcore.data.cells import merged
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
    keys = assessment.cells.keys
    strata = [at for at, key in enumerate(keys) if key in aim.strata]
    free = [at for at in range(len(keys)) if at not in strata]
    if len(free) < 2:
        return []

    def by(some: Sequence[int]) -> Risk:
        return risk_by(assessment, aim, settings, sorted([*some, *strata]))

    return [
        Contribution(keys[at], by([one for one in free if one != at]), by([at]))
        for at in free
    ]


def risk_by(
    assessment: Assessment, aim: Aim, settings: Settings, keys: Sequence[int]
) -> Risk:
    """Return the risk by some of the keys, by position."""
    cells = merged(assessment.cells, keys)
    if assessment.model is not None:
        unsafe = None
        if not aim.has_threshold:
            unsafe = cells.below(aim.k or 1).records
        return Risk(cells.totals.uniques, unsafe, None)
    if assessment.method == "franconi":
        refuse_between_branches(cells)
    risk = risk_of(
        assessment.method, cells.sample_frequency, cells.population_frequency
    )
    joint, of_households = assessment.households, _of_households(settings)
    if joint is not None and of_households:
        joint = households(risk[cells.inverse], joint.inverse)
    found = Assessment(None, cells, risk, assessment.method, joint)
    return Risk(
        cells.totals.uniques,
        unsafe_count(found, _aim_of(found, aim, settings)),
        found.expected_reidentifications,
    )


def unsafe_count(assessment: Assessment, aim: Aim) -> int:
    """Return the number of unsafe records; by cell, unless households decide."""
    cells = assessment.cells
    if aim.of_households:
        return cells.count_of(aim.unsafe(assessment))
    risk = aim.risk(cells.sample_frequency, assessment.cell_risk)
    return int(cells.records[risk >= aim.threshold].sum())


def _of_households(settings: Settings) -> bool:
    """Return whether the risk of households decides what is unsafe."""
    return (settings.household_threshold, settings.household_rate) != (None, None)


def _aim_of(assessment: Assessment, aim: Aim, settings: Settings) -> Aim:
    """Return an aim with the thresholds that rates give for an assessment."""
    if settings.rate is not None:
        aim = replace(aim, threshold=assessment.risk_threshold(rate=settings.rate))
    if settings.household_rate is not None:
        threshold = assessment.household_threshold(rate=settings.household_rate)
        aim = replace(aim, household_threshold=threshold)
    return aim
