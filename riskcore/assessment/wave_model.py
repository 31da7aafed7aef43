"""The risk of the persons of a panel by a model of the cells of their histories.

Of the histories of most persons over some waves there is only one in the sample, and
the weights alone say too little of them. The model is fitted to the persons of each
choice of waves. If there are many choices, a random part of them is fitted.

The keys of later waves are nearly those of the first, which no model of few classes
can say. So a later wave is coded by what has changed since the wave before: "same", or
the new category; or, of whole numbers such as the age, the difference. The cells are
the same.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.cell_risk import Mask, Risks, risk_of
from riskcore.assessment.population import deviation_by, risk_by
from riskcore.assessment.wave_matches import (
    Choice,
    choice_of,
    choices_taken,
    listed,
    rows_of,
)
from riskcore.common.progress import Lines
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import CodedColumn
from riskcore.data.entropy import entropy
from riskcore.data.panel import Panel
from riskcore.data.sample_design import SampleDesign
from riskcore.models.cell_table import CellTable
from riskcore.models.latent_class import LatentClass

# With more choices than this, so many are fitted, and those that other persons need.
FITTED = 40
_SEED = 0
# A model of fewer persons says nothing: they are assessed by the weights.
_FEWEST = 30

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ModelRisks:
    """The risk of each person by the model, each of shape (P,).

    Attributes
    ----------
    average, largest : float64 ndarray
        The mean of the risk over the person's fitted choices, and the largest.
    unique : float64 ndarray
        The mean probability that the person is unique in the sample and the population.
    fitted : int
        The number of fitted choices.
    by_weights : int
        The number of other choices, whose few persons were assessed by the weights.
    left_out : int
        The number of choices that were not fitted because there are many.
    caution : str
        Why the risk may be far off, by the first model that has a reason.
    """

    average: Risks
    largest: Risks
    unique: Risks
    fitted: int
    by_weights: int
    left_out: int
    caution: str = ""


class Fit(NamedTuple):
    """The model of a choice of waves; None if its persons are too few."""

    choice: Choice
    table: CellTable
    cell: NDArray[np.int32]  # of each candidate
    model: LatentClass | None


def model_risks(
    coded: CodedRecords,
    panel: Panel,
    design: SampleDesign | None,
    progress: Lines,
    *,
    every: bool = False,
) -> ModelRisks:
    """Return the risk of each person by a model of each choice of waves."""
    persons = len(panel)
    sums, largest, unique = (np.zeros(persons) for _ in range(3))
    number = np.zeros(persons, np.int64)
    fitted, by_weights, caution = 0, 0, ""
    for fit in fits(coded, panel, design, progress, every=every):
        risk, chance = _of_cells(fit)
        its = fit.choice.candidates[fit.choice.concerned]
        cell = fit.cell[fit.choice.concerned]
        sums[its] += risk[cell]
        unique[its] += chance[cell]
        largest[its] = np.maximum(largest[its], risk[cell])
        number[its] += 1
        fitted += fit.model is not None
        by_weights += fit.model is None
        caution = caution or ("" if fit.model is None else fit.model.caution)
    return ModelRisks(
        np.minimum(sums / number, 1.0),
        largest,
        unique / number,
        fitted,
        by_weights,
        _number_of_choices(panel) - fitted - by_weights,
        caution,
    )


def fits(
    coded: CodedRecords,
    panel: Panel,
    design: SampleDesign | None,
    progress: Lines,
    *,
    every: bool = False,
) -> Iterator[Fit]:
    """Yield the models of choices of waves: of all, or enough to have every person."""
    rows = rows_of(panel)
    first = rows[np.argmax(rows >= 0, axis=0), np.arange(len(panel))]
    population = _population(coded, panel)
    for choice in _chosen(panel, every=every):
        progress(f"fitting the model to waves {listed(panel, choice.waves)}")
        yield _fit(coded, panel, choice, rows, design, first, population)


def _population(coded: CodedRecords, panel: Panel) -> float:
    """Return the size of the population: the largest sum of weights of a wave."""
    weights = panel.weight[panel.person] if coded.weights is None else coded.weights
    waves = range(len(panel.waves))
    return max(math.fsum(weights[panel.wave == w].tolist()) for w in waves)


def _chosen(panel: Panel, *, every: bool) -> Iterator[Choice]:
    """Yield the choices that are fitted, in a random order that is always the same."""
    kinds = choices_taken(panel)
    if every or len(kinds) <= FITTED:
        choices = (choice_of(panel, kind) for kind in kinds)
        yield from (choice for choice in choices if choice is not None)
        return
    rng, seen, fitted = np.random.default_rng(_SEED), np.zeros(len(panel), np.bool_), 0
    for at in rng.permutation(len(kinds)).tolist():
        choice = choice_of(panel, kinds[at])
        if choice is not None:
            yield choice
            seen[choice.candidates[choice.concerned]] = True
            fitted += 1
        if fitted == FITTED:
            break
    while not seen.all():
        choice = choice_of(panel, _some_waves(panel, seen, rng))
        assert choice is not None
        yield choice
        seen[choice.candidates[choice.concerned]] = True


def _some_waves(panel: Panel, seen: Mask, rng: np.random.Generator) -> int:
    """Return a choice of waves, as bits, of somebody who was not seen yet."""
    kind = int(panel.taken[~seen].min())
    waves = [w for w in range(len(panel.waves)) if kind >> w & 1]
    most = len(waves) if panel.known is None else min(panel.known, len(waves))
    return sum(1 << w for w in rng.permutation(waves)[:most].tolist())


def _number_of_choices(panel: Panel) -> int:
    """Return the number of choices that at least one person has."""
    kinds, first = np.unique(panel.taken, return_index=True)
    need = panel.needed[first]
    return sum(
        bool(np.any(((kinds & np.uint64(kind)) == kind) & (need == kind.bit_count())))
        for kind in choices_taken(panel)
    )


def _fit(
    coded: CodedRecords,
    panel: Panel,
    choice: Choice,
    rows: Numbers,
    design: SampleDesign | None,
    first: Numbers,
    population: float,
) -> Fit:
    """Fit the model to the persons of a choice, weighted up to the population."""
    # Who is not among them for lack of a record is taken to be like those who are.
    people = choice.candidates
    keys = list(coded.columns.values())
    history = history_of(keys, [rows[wave, people] for wave in choice.waves])
    table = CellTable.of(
        history.codes, levels=history.levels, weight_sum=panel.weight[people]
    )
    assert table.rows is not None
    cell = table.rows.cell
    total = math.fsum(panel.weight[people].tolist())
    few = len(people) < _FEWEST or len(table) == 1 or not total
    if not few:
        table = table.scaled(population / total)
    if design is not None:
        table = table.clustered(cell, design.some(first[people]))
    if few:
        return Fit(choice, table, cell, None)
    model = LatentClass.fit(table)
    if not model.converged:
        raise ValueError(
            f"population='latent-class': no estimate for waves "
            f"{listed(panel, choice.waves)}, {model.reason}"
        )
    return Fit(choice, table, cell, model)


def _of_cells(fit: Fit) -> tuple[Risks, Risks]:
    """Return E[1/F] and P(F = 1 | f) of the cells of a choice."""
    if fit.model is not None:
        prior = fit.model.prior()
        return risk_by(prior), prior.unique_probability()
    f, F = fit.table.records.astype(np.float64), fit.table.weight_sum
    chance = np.where(f == 1.0, 1.0 / np.maximum(F, 1.0), 0.0)
    return risk_of("exact", f, F), chance


class Intervals(NamedTuple):
    """Ends of intervals of the sum of the risks and of tau, over these sums."""

    risks: tuple[float, float]
    uniques: tuple[float, float]


def intervals(choice_fits: Iterable[Fit], level: float) -> Intervals:
    """Return intervals of sums over persons of their mean over choices."""
    # Taking the errors of choices as the same is careful: they are of the same persons.
    ends = np.array([_ends(fit, level) for fit in choice_fits if fit.model is not None])
    if not len(ends):
        return Intervals((math.nan, math.nan), (math.nan, math.nan))
    risks, low, high, uniques, least, most = ends.sum(axis=0).tolist()
    return Intervals(
        (low / risks, high / risks),
        (least / uniques, most / uniques) if uniques else (1.0, 1.0),
    )


def _ends(fit: Fit, level: float) -> list[float]:
    """Return the sums of the risks and of uniques with intervals, in proportion."""
    assert fit.model is not None
    total, low, high = fit.model.interval(None, risk_by, level, deviation=deviation_by)
    tau, (least, most) = fit.model.tau(), fit.model.tau_interval(None, level)
    share = np.count_nonzero(fit.choice.concerned) / len(fit.choice.candidates)
    return [share * figure for figure in (total, low, high, tau, least, most)]


class History(NamedTuple):
    """Numbers of persons, and above each the number of its levels."""

    codes: list[Numbers]
    levels: list[int]


def history_of(keys: Sequence[CodedColumn], rows: Sequence[Numbers]) -> History:
    """Return the histories of persons whose records in each wave are ``rows``."""
    # Keys that never change, or are the same for all, have no codes in later waves.
    code_columns: list[Numbers] = []
    for column in keys:
        code_columns.append(column.codes[rows[0]].astype(np.int64))
        for before, after in itertools.pairwise(rows):
            code_columns.append(_change(column, before, after))
    numbered = [
        np.unique(code_column, return_inverse=True) for code_column in code_columns
    ]
    kept = [(len(levels), codes) for levels, codes in numbered if len(levels) > 1]
    if not kept:
        return History([numbered[0][1]], [1])
    return History([codes for _, codes in kept], [levels for levels, _ in kept])


def _change(column: CodedColumn, before: Numbers, after: Numbers) -> Numbers:
    """Return the change of a key, in the coding that has the smaller entropy."""
    old, new = (column.codes[rows].astype(np.int64) for rows in (before, after))
    by_category: Numbers = np.where(old == new, 0, new + 1)
    numbers, whole = whole_numbers(column.labels)
    both = whole[old] & whole[new]
    if not both.any():
        return by_category
    difference = np.where(both, numbers[new] - numbers[old], 0)
    # Other categories, and missing, follow all differences.
    other = int(difference.max()) + 1 + new
    difference = np.where(both | (old == new), difference, other)
    return difference if _bits(difference) < _bits(by_category) else by_category


def _bits(codes: Numbers) -> float:
    return entropy(np.unique(codes, return_counts=True)[1])


def whole_numbers(labels: NDArray[Any]) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return labels, and then missing, as whole numbers, and which of them are."""
    # The keys of a text file are text. If two labels are one number, such as 1 and 01,
    # none is.
    values = [_whole(label) for label in labels.tolist()] + [None]
    whole = np.array([value is not None for value in values])
    numbers = np.array([value or 0 for value in values], np.int64)
    if len(np.unique(numbers[whole])) < np.count_nonzero(whole):
        whole[:] = False
    return numbers, whole


def _whole(label: Any) -> int | None:
    """Return a label as a whole number; None if it is not one, or a large one."""
    try:
        value = int(label)
    except (TypeError, ValueError, OverflowError):
        return None
    same = isinstance(label, str) or value == label
    return value if same and abs(value) < 2**53 else None
