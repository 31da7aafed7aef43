"""The risk of persons over choices of waves if missing keys match any value.

Persons then are not in groups, and each choice of waves is counted by itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assess_settings import Method
from riskcore.assessment.cell_risk import Risks, risk_of
from riskcore.assessment.wave_choices import WaveRisks, choices_of, wave_risks
from riskcore.common.progress import Lines
from riskcore.data.cells import cells_of
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import CodedColumn
from riskcore.data.panel import Panel
from riskcore.data.wildcard import WILDCARDS

Numbers = NDArray[np.int64]


class Choice(NamedTuple):
    """A choice of waves."""

    waves: tuple[int, ...]
    candidates: Numbers  # the persons with a record in each of its waves, rising
    concerned: NDArray[np.bool_]  # whether it is one of the candidate's own choices


def choices_taken(panel: Panel) -> list[int]:
    """Return sets of waves as bits: all of the known number, all of short persons."""
    waves = range(len(panel.waves))
    most = len(waves) if panel.known is None else panel.known
    short = set(panel.taken[panel.needed < most].tolist())
    return [
        *(sum(1 << w for w in chosen) for chosen in combinations(waves, most)),
        *sorted(short),
    ]


def choice_of(panel: Panel, kind: int) -> Choice | None:
    """Return a choice with its candidates; None if it is nobody's."""
    bits = np.uint64(kind)
    candidates = np.flatnonzero((panel.taken & bits) == bits)
    waves = tuple(w for w in range(len(panel.waves)) if kind >> w & 1)
    concerned = panel.needed[candidates] == len(waves)
    return Choice(waves, candidates, concerned) if concerned.any() else None


def choices_with(panel: Panel, say: Lines, work: str) -> Iterator[Choice]:
    """Yield the choices that are somebody's, and say what work is done with each."""
    for kind in choices_taken(panel):
        choice = choice_of(panel, kind)
        if choice is not None:
            say(f"{work} waves {listed(panel, choice.waves)}")
            yield choice


def rows_of(panel: Panel) -> Numbers:
    """Return the record of each person in each wave, shape (T, P); -1 without one."""
    rows = np.full(panel.code.shape, -1, np.int64)
    rows[panel.wave, panel.person] = np.arange(len(panel.person))
    return rows


def histories(
    records: CodedRecords, panel: Panel, rows: Numbers, choice: Choice
) -> CodedRecords:
    """Return persons as records: a column for each key in each wave of a choice."""
    columns: dict[Hashable, CodedColumn] = {
        (wave, x): replace(column.some(rows[wave, choice.candidates]), name=(wave, x))
        for wave in choice.waves
        for x, column in records.columns.items()
    }
    weight = panel.weight[choice.candidates]
    n = len(choice.candidates)
    return CodedRecords(n, columns, records.weight, weight, designs={})


def risks_of(
    coded: CodedRecords, panel: Panel, missing: str, method: Method, progress: Lines
) -> WaveRisks:
    """Return the risk of each person by the weights."""
    if any_value(coded, missing):
        return wave_matches(coded, panel, missing, method, progress)
    return wave_risks(panel, method, progress)


def any_value(coded: CodedRecords, missing: str) -> bool:
    """Return whether there are missing keys that match any value."""
    return missing in WILDCARDS and any(
        column.missing for column in coded.columns.values()
    )


class Matched(NamedTuple):
    """The persons whose choice of waves it is, and who matches each of them."""

    persons: Numbers
    f: NDArray[np.float64]  # how many persons match, and the sum of their weights
    F: NDArray[np.float64]
    risk: Risks


def each_matched(
    records: CodedRecords, panel: Panel, missing: str, method: Method, progress: Lines
) -> Iterator[Matched]:
    """Yield what persons match in each choice of waves."""
    rows = rows_of(panel)
    for choice in choices_with(panel, progress, "matching persons in"):
        table = histories(records, panel, rows, choice)
        cells = cells_of(table, list(table.columns), missing, 1.0)
        f = cells.sample_frequency.astype(np.float64)
        F = cells.population_frequency
        cell = cells.inverse[choice.concerned]
        its = choice.candidates[choice.concerned]
        yield Matched(its, f[cell], F[cell], risk_of(method, f, F)[cell])


def wave_matches(
    records: CodedRecords, panel: Panel, missing: str, method: Method, progress: Lines
) -> WaveRisks:
    """Return the risk of each person over all choices of their waves."""
    persons = len(panel)
    unique, least = np.zeros(persons, np.int64), persons
    sums, largest = np.zeros(persons), np.zeros(persons)
    for matches in each_matched(records, panel, missing, method, progress):
        its = matches.persons
        unique[its] += matches.f == 1.0
        sums[its] += matches.risk
        largest[its] = np.maximum(largest[its], matches.risk)
        least = min(least, int(matches.f.min()))
    choices = choices_of(panel)
    average = np.minimum(sums / choices, 1.0)
    return WaveRisks(choices, unique, average, largest, least)


def listed(panel: Panel, waves: Sequence[int]) -> str:
    """Return the names of waves."""
    return ", ".join(str(panel.waves[w]) for w in waves)
