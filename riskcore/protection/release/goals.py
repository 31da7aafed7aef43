"""The goals of a release, each compared with what was found."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator
from dataclasses import replace

import numpy as np

from riskcore.assessment.assessment import Assessment, HeldAssessment
from riskcore.assessment.diversity import SensitiveVariable
from riskcore.assessment.goals import Goal, l_parts
from riskcore.assessment.released import ReleasedAssessment, goal_in
from riskcore.common.warn import warn
from riskcore.common.words import counted
from riskcore.data.cells import Cells
from riskcore.data.files.labels import code_text


class AreasUnknown(UserWarning):
    """The area of some records is missing, so these records are in no area."""


def goals_of_sensitive(
    variable: SensitiveVariable,
    keys: tuple[Hashable, ...],
    l: float | str | None,  # noqa: E741
    t: float | None,
) -> Iterator[Goal]:
    """Yield the rules on one sensitive variable for a set of keys."""
    filled, name, cells = ~variable.empty, variable.name, variable.cells
    if l is not None:
        # A cell without a counted value has no l.
        definition, asked = l_parts(l)
        values = getattr(variable, f"{definition}_l")
        least = values.min().item() if filled.all() else 0
        yield goal_in(cells, "l", keys, name, asked, least, variable.fails(l=l))
    if t is not None:
        most = float(variable.closeness[filled].max()) if filled.any() else 1.0
        yield goal_in(cells, "t", keys, name, t, most, variable.fails(t=t))


def goal_of_k(cells: Cells, keys: tuple[Hashable, ...], k: int) -> Goal:
    """Return the rule of k-anonymity for a set of keys."""
    below, smallest = cells.below(k), cells.k_anonymity
    passed = not below.records
    return Goal("k", keys, None, k, smallest, below.records, below.cells, passed)


def goals_of_risk(
    assessment: Assessment, keys: tuple[Hashable, ...], limits: dict[str, float]
) -> Iterator[Goal]:
    """Yield the goals on risks for a set of keys."""
    for name, limit in limits.items():
        of_households = "household" in name
        if name.endswith("rate"):
            of = "household_" if of_households else ""
            rate = getattr(assessment, f"{of}reidentification_rate")
            yield Goal(name, keys, None, limit, rate, None, None, rate <= limit)
            continue
        # A risk may equal a largest value, but not reach a threshold.
        unsafe = limit if name.endswith("threshold") else math.nextafter(limit, 2)
        if of_households:
            assert assessment.households is not None
            most = float(assessment.households.risk.max())
            records, cells = int(assessment.unsafe_households(unsafe).sum()), None
        else:
            most = assessment.max_risk
            records = assessment.unsafe_count(unsafe)
            cells = _cells_at(assessment, name, unsafe)
        yield Goal(name, keys, None, limit, most, records, cells, not records)


def goals_beside(
    assessment: ReleasedAssessment | None,
    keys: tuple[Hashable, ...],
    k: int | None,
    limits: dict[str, float],
    unknown: int,
) -> Iterator[Goal]:
    """Yield the goals of released records; ``unknown`` ones fit nobody and fail k."""
    if assessment is None:
        if k is not None:
            yield Goal("k", keys, None, k, 0, unknown, None, passed=False)
        for name, limit in limits.items():
            yield Goal(name, keys, None, limit, math.nan, None, None, passed=None)
        return
    if k is not None:
        goal = goal_of_k(assessment.cells, keys, k)
        if unknown:
            records = (goal.records or 0) + unknown
            goal = replace(goal, found=0, records=records, passed=False)
        yield goal
    n = assessment.cells.n
    for goal in goals_of_risk(assessment, keys, limits):
        if goal.rule == "max_rate" and unknown:
            rate = goal.found * n / (n + unknown)
            goal = replace(goal, found=rate, passed=rate <= goal.asked)
        yield goal
    for one in assessment.measured:
        yield one.in_cells(assessment.cells)


def said_by_model(
    assessment: Assessment, keys: tuple[Hashable, ...], limits: dict[str, float]
) -> Iterator[str]:
    """Yield which goals on risks fail by the model beside the weights."""
    if assessment.beside is None or not limits:
        return
    if assessment.beside.failure:
        yield (
            "The weights may say far too little, and the latent-class model has no "
            f"estimate ({assessment.beside.failure})."
        )
    if assessment.by_model is None:
        return
    both = assessment, assessment.by_model
    goals = (goals_of_risk(x, keys, limits) for x in both)
    for mine, its in zip(*goals, strict=True):
        if mine.passed and not its.passed:
            yield (
                f"By the latent-class model, the one to believe, the {its.title} of "
                f"{its.of} is {its.found:.6g}, which breaks the rule."
            )


def goal_of_figure(goal: Goal, figure: float) -> Goal:
    """Return a goal that is judged by the figure that a record holds."""
    if goal.rule in ("k", "l", "min_population"):
        passed = figure >= goal.asked
    elif goal.rule.endswith("threshold"):
        passed = figure < goal.asked
    else:
        passed = figure <= goal.asked
    return replace(goal, found=figure, passed=passed, recorded=True)


def _cells_at(assessment: Assessment, name: str, unsafe: float) -> int | None:
    """Return how many cells break a rule on risks; None if an engine did not count."""
    if isinstance(assessment, HeldAssessment):
        return assessment.cells_above if name == "max_risk" else None
    return int(np.count_nonzero(assessment.cell_risk >= unsafe))


def goal_of_areas(cells: Cells, areas: tuple[Hashable, ...], least: float) -> Goal:
    """Return the rule on areas; a record whose area is missing is in no area."""
    in_area = np.logical_and.reduce([cells.present(i) for i in range(len(areas))])
    named = " x ".join(map(str, areas))
    if not in_area.any():
        raise ValueError(
            f"area {named}: missing in all {counted(cells.n, 'record')}: there are no "
            "areas, and a check without areas would always pass"
        )
    unknown = cells.n - int(cells.records[in_area].sum())
    if unknown:
        warn(
            f"area {named}: missing in {unknown:,} of {counted(cells.n, 'record')}, "
            "which are in no area and are not checked for min_population",
            AreasUnknown,
        )
    people = cells.weight_sum
    small = in_area & (people < least)
    smallest = float(people[in_area].min())
    return goal_in(cells, "min_population", areas, None, least, smallest, small)


def goal_of_values(cells: Cells, name: Hashable, pattern: str) -> Goal:
    """Return the rule on how the values of a column are written, missing ones aside."""
    values = cells.to_dict()[name].tolist()
    try:
        fit = re.compile(pattern).fullmatch
    except re.error as error:
        raise ValueError(f"values: {pattern!r} is not a pattern: {error}") from None
    wrong = np.array([x is not None and not fit(code_text(x)) for x in values], bool)
    return goal_in(cells, "values", (name,), None, 0, int(wrong.sum()), wrong)
