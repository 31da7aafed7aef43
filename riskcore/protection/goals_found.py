"""The goals of a release, each compared with what was found."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from typing import NamedTuple

import numpy as np

from riskcore.assessment.diversity import SensitiveVariable
from riskcore.assessment.goals import Goal
from riskcore.assessment.result import Assessment, HeldAssessment
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.data.cells import Cells


class AreasUnknown(UserWarning):
    """The area of some records is missing, so these records are in no area."""


class Limits(NamedTuple):
    """The limits on risks: thresholds that no risk may reach, and largest values."""

    threshold: float | None
    max_risk: float | None
    max_rate: float | None
    household_threshold: float | None
    max_household_risk: float | None
    max_household_rate: float | None

    @property
    def of_households(self) -> bool:
        """Whether there are rules on household risks."""
        return any(one is not None for one in self[3:])

    def __bool__(self) -> bool:
        return any(one is not None for one in self)


def goals_of_sensitive(
    variable: SensitiveVariable,
    keys: tuple[Hashable, ...],
    l: float | None,  # noqa: E741
    kind: str,
    t: float | None,
) -> Iterator[Goal]:
    """Yield the rules on one sensitive variable for a set of keys."""
    filled = ~variable.empty
    name, sizes = variable.name, variable.cells.records
    if l is not None:
        # A cell without a counted value has no l.
        least = variable.l_of(kind)[filled].min().item() if filled.all() else 0
        fails = variable.fails(l=l, kind=kind)
        counts = int(sizes[fails].sum()), int(np.count_nonzero(fails))
        yield Goal("l", keys, name, l, least, *counts, not fails.any())
    if t is not None:
        most = float(variable.closeness[filled].max()) if filled.any() else 1.0
        fails = variable.fails(t=t)
        counts = int(sizes[fails].sum()), int(np.count_nonzero(fails))
        yield Goal("t", keys, name, t, most, *counts, not fails.any())


def goal_of_k(cells: Cells, keys: tuple[Hashable, ...], k: int) -> Goal:
    """Return the rule of k-anonymity for a set of keys."""
    below, smallest = cells.below(k), cells.k_anonymity
    passed = not below.records
    return Goal("k", keys, None, k, smallest, below.records, below.cells, passed)


def goals_of_risk(
    found: Assessment, keys: tuple[Hashable, ...], limits: dict[str, float]
) -> Iterator[Goal]:
    """Yield the goals on risks for a set of keys."""
    for name, limit in limits.items():
        of_households = "household" in name
        if name.endswith("rate"):
            rate = (
                found.household_reidentification_rate
                if of_households
                else found.reidentification_rate
            )
            yield Goal(name, keys, None, limit, rate, None, None, rate <= limit)
            continue
        # A risk may equal a largest value, but not reach a threshold.
        unsafe = limit if name.endswith("threshold") else math.nextafter(limit, 2)
        if of_households:
            assert found.households is not None
            most = float(found.households.risk.max())
            records, cells = int(found.unsafe_households(unsafe).sum()), None
        else:
            most = found.max_risk
            records, cells = found.unsafe_count(unsafe), _cells_at(found, name, unsafe)
        yield Goal(name, keys, None, limit, most, records, cells, not records)


def goal_of_figure(
    name: str, keys: tuple[Hashable, ...], limit: float, figure: float
) -> Goal:
    """Return a goal whose figure a record holds."""
    if name == "k":
        passed = figure >= limit
    else:
        passed = figure < limit if name.endswith("threshold") else figure <= limit
    return Goal(name, keys, None, limit, figure, None, None, passed, recorded=True)


def not_judged(name: str, keys: tuple[Hashable, ...], limit: float) -> Goal:
    """Return a goal that could not be judged."""
    return Goal(name, keys, None, limit, math.nan, None, None, None)


def _cells_at(found: Assessment, name: str, unsafe: float) -> int | None:
    """Return how many cells break a rule on risks; None if an engine did not count."""
    if isinstance(found, HeldAssessment):
        return found.cells_above if name == "max_risk" else None
    return int(np.count_nonzero(found.cell_risk >= unsafe))


def goal_of_areas(cells: Cells, areas: tuple[Hashable, ...], least: float) -> Goal:
    """Return the rule on areas; a record whose area is missing is in no area."""
    known = np.logical_and.reduce([cells.present(i) for i in range(len(areas))])
    named = " x ".join(map(str, areas))
    if not known.any():
        raise ValueError(
            f"area {named}: missing in all {counted(cells.n, 'record')}: there are no "
            "areas, and a check without areas would always pass"
        )
    unknown = cells.n - int(cells.records[known].sum())
    if unknown:
        warn(
            f"area {named}: missing in {unknown:,} of {counted(cells.n, 'record')}, "
            "which are in no area and are not checked for min_population",
            AreasUnknown,
        )
    people = cells.weight_sum
    small = known & (people < least)
    smallest = float(people[known].min())
    return Goal(
        "min_population",
        areas,
        None,
        least,
        smallest,
        int(cells.records[small].sum()),
        int(np.count_nonzero(small)),
        not small.any(),
    )
