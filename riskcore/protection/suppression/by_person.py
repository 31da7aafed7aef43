"""Protect a panel: a key of a person is blanked in all waves, or in none.

A value of another wave would give a blanked one back. So the unit is a person, and a
key of a person is the history of its values. The file must be safe in every choice of
waves that an intruder may know: in each choice the persons are planned as records of
their histories. Blanks are kept from choice to choice; missing matches anything, so
that a person who is safe in one choice stays safe while others are planned.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assess import Counting, assess_coded
from riskcore.assessment.assess_settings import WEIGHTS
from riskcore.assessment.assessment import Assessment
from riskcore.assessment.released import assess_released
from riskcore.assessment.wave_choices import refuse_too_many
from riskcore.assessment.wave_matches import (
    Choice,
    Matched,
    choices_with,
    each_matched,
    rows_of,
)
from riskcore.common.arrays import Mask
from riskcore.common.progress import Lines, silent
from riskcore.data.cells import Cells, categories_of
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import BY_DESIGN, ByDesign, CodedColumn, plain_value
from riskcore.data.count import count
from riskcore.data.files.labels import code_text
from riskcore.data.files.reading import DoubtfulCodes
from riskcore.data.household_rows import HouseholdRows
from riskcore.data.missing_by_design import with_designs
from riskcore.data.panel import Panel
from riskcore.protection.settings.settings import Settings
from riskcore.protection.suppression.cheapest_blanks import Draw
from riskcore.protection.suppression.suppress import (
    Aim,
    Masks,
    Risks,
    costs_of_sets,
    suppress,
)

Numbers = NDArray[np.int64]
_ABSENT = "\N{MIDDLE DOT}"  # in the label of a history: no record in a wave


@dataclass(frozen=True, slots=True)
class Persons(HouseholdRows):
    """The persons of a panel, one row for each."""

    panel: Panel

    @classmethod
    def of_panel(cls, data: Any, coded: CodedRecords, settings: Settings) -> Persons:
        """Return the persons of a file; refuse a file that is not a panel."""
        wave_count = settings.known_waves
        panel = Panel.of(data, coded, settings.person, settings.wave, wave_count)
        refuse_too_many(panel)
        first = np.unique(panel.person, return_index=True)[1]
        return cls(first.astype(np.int64), panel.person.astype(np.int64), panel)


def assess_persons(
    coded: CodedRecords,
    persons: Persons,
    settings: Settings,
    say: Lines = silent,
    masks: Masks | None = None,
) -> list[Assessment]:
    """Return the worst risks of persons, by each set of keys; ``masks`` are blanked."""
    coded = with_designs(coded, settings.variables, settings.missing)
    return [
        _worst(replace(coded, columns={k: coded.columns[k] for k in keys}), persons,
               settings, say, masks)
        for keys in settings.keys
    ]  # fmt: skip


def _worst(
    coded: CodedRecords,
    persons: Persons,
    settings: Settings,
    say: Lines,
    masks: Masks | None,
) -> Assessment:
    """Return an assessment with a row for each person, of the worst choice of waves."""
    # f is the smallest, with its F, and the risk is the largest. Persons with the same
    # histories in the same waves are a cell.
    panel = persons.panel
    f, F, risk = np.full(len(panel), np.inf), np.zeros(len(panel)), np.zeros(len(panel))
    matches = (
        each_matched(coded, panel, settings.missing, settings.method, say)
        if masks is None
        else _each_released(coded, persons, settings, say, masks)
    )
    for match in matches:
        its = match.persons
        less = match.f < f[its]
        f[its] = np.minimum(f[its], match.f)
        F[its[less]] = match.F[less]
        risk[its] = np.maximum(risk[its], match.risk)
    if masks is not None:
        coded = coded.blanked({name: masks[name][persons.of] for name in coded.columns})
    cells, first = _cells(coded, persons, settings, (f, F))
    return Assessment({settings.person: panel.person[persons.first]}, cells,
                      risk[first], settings.method)  # fmt: skip


def _each_released(
    coded: CodedRecords, persons: Persons, settings: Settings, say: Lines, masks: Masks
) -> Iterator[Matched]:
    """Yield who fits the released histories of persons in each choice of waves."""
    panel, rows = persons.panel, rows_of(persons.panel)
    for choice in choices_with(panel, say, "matching persons in"):
        table = _table(coded, panel, rows, choice)
        before = _assessed(table, [*coded.columns], settings)
        blanks = {name: masks[name][choice.candidates] for name in coded.columns}
        after = assess_released(before, blanks)
        cell = after.cells.inverse[choice.concerned]
        yield Matched(
            choice.candidates[choice.concerned],
            after.cells.frequency_for_k.astype(np.float64)[cell],
            after.cells.population_frequency[cell],
            after.cell_risk[cell],
        )


def _cells(
    coded: CodedRecords,
    persons: Persons,
    settings: Settings,
    frequencies: tuple[Risks, Risks],
) -> tuple[Cells, Numbers]:
    """Return the cells of whole histories, and the first person of each."""
    panel, rows = persons.panel, rows_of(persons.panel)
    columns = [_history(column, rows) for column in coded.columns.values()]
    pattern = np.unique(panel.taken, return_inverse=True)[1].astype(np.uint32)
    codes = [*(column.codes for column in columns), pattern]
    levels = [*(column.levels for column in columns), int(pattern.max()) + 1]
    counts = count(codes, levels, panel.weight)
    first = np.zeros(len(counts.frequency), np.int64)
    first[counts.inverse[::-1]] = np.arange(len(panel) - 1, -1, -1)
    f, F = (frequency[first] for frequency in frequencies)
    cells = Cells(
        keys=tuple(coded.columns),
        categories=tuple(map(categories_of, columns)),
        codes=list(counts.codes)[:-1],
        sample_frequency=f.astype(np.int64),
        population_frequency=F,
        records=counts.frequency,
        weight_sum=counts.weight_sum,
        rows=counts.inverse,
        weighted=coded.weight is not None,
        missing=settings.missing,
        alpha=1.0,
        missing_values=tuple(column.missing for column in columns),
        record_weights=panel.weight,
    )
    return cells, first


def _history(column: CodedColumn, rows: Numbers) -> CodedColumn:
    """Return the histories of a key by waves of ``rows``, where -1 has no record."""
    # A history is missing if it has no value; a child's in any wave is one by design.
    levels = len(column.labels)
    codes = [
        np.where(index < 0, levels + 1, column.codes[index]).astype(np.uint32)
        for index in rows
    ]
    counts = count(codes, [levels + 2] * len(codes))
    kinds = np.stack([np.asarray(wave_codes) for wave_codes in counts.codes])
    values = levels - (levels > 0 and column.labels[-1] is BY_DESIGN)
    without: Mask = np.all(kinds >= values, axis=0)
    by_design = np.any((kinds >= values) & (kinds < levels), axis=0)
    nothing = without & ~by_design & np.any(kinds == levels, axis=0)
    empty = nothing[counts.inverse]
    kept, place = np.unique(counts.inverse[~empty], return_inverse=True)
    texts = [*(code_text(plain_value(label)) for label in column.labels), "", _ABSENT]
    labels = [
        (ByDesign if without[index] else str)(
            ", ".join(texts[code] for code in kinds[:, index])
        )
        for index in kept
    ]
    of_persons = np.full(len(empty), len(kept), np.uint32)
    of_persons[~empty] = place
    categories = np.fromiter(labels, object, len(labels))
    missing = int(np.count_nonzero(empty))
    return CodedColumn(column.name, of_persons, categories, missing)


# --- suppression -------------------------------------------------------------------


def suppress_persons(
    coded: CodedRecords,
    persons: Persons,
    aims: Sequence[Aim],
    has_value: Masks,
    settings: Settings,
    say: Lines,
    draw: Draw | None,
) -> Masks:
    """Return what to blank of persons to be safe in every choice of waves."""
    panel = persons.panel
    coded = with_designs(coded, settings.variables, settings.missing)
    rows = rows_of(panel)
    now = {name: np.zeros(len(panel), bool) for name in has_value}
    for choice in choices_with(panel, say, "suppressing for"):
        table = _table(coded, panel, rows, choice)
        of_choice = [replace(aim, among=choice.concerned) for aim in aims]
        sets = [_assessed(table, keys, settings) for keys in settings.keys]
        costs = costs_of_sets(sets, settings)
        masks = {name: mask[choice.candidates] for name, mask in now.items()}
        new = suppress(sets, of_choice, costs, settings, silent, draw, masks)
        for name, mask in new.items():
            now[name][choice.candidates] |= mask
    # A person has a key if it has a value in any wave.
    return {
        name: mask & (np.bincount(persons.of, has_value[name], len(panel)) > 0)
        for name, mask in now.items()
    }


def _table(
    coded: CodedRecords, panel: Panel, rows: Numbers, choice: Choice
) -> CodedRecords:
    """Return the persons of a choice as records of their histories."""
    people = choice.candidates
    of_waves = rows[np.array(choice.waves)[:, np.newaxis], people]
    columns: dict[Hashable, CodedColumn] = {
        name: _history(column, of_waves) for name, column in coded.columns.items()
    }
    weight = panel.weight[people]
    return CodedRecords(len(people), columns, coded.weight, weight, designs={})


def _assessed(
    table: CodedRecords, keys: Sequence[Hashable], settings: Settings
) -> Assessment:
    """Return the assessment of histories by a set of keys."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoubtfulCodes)  # histories are no codes
        how = Counting(WEIGHTS, settings.method, settings.missing)
        return assess_coded(None, table, keys, how)
