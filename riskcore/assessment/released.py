"""The risk of released records, counted against the people of the original file.

The pattern of a released record is its keys, a blank standing for any value. Its
frequency is the number of original records that fit the pattern, see
`riskcore.assessment.margins`; blanked records never count as matches of others.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assessment import Assessment
from riskcore.assessment.cell_risk import Ends, risk_of
from riskcore.assessment.goals import Goal, Names
from riskcore.assessment.margin_goals import MarginGoal
from riskcore.assessment.margins import Margins
from riskcore.assessment.population import risks_of, sum_over_patterns
from riskcore.data.cells import Cells, attributes_of, counts_of
from riskcore.models.cell_model import CellModel
from riskcore.models.cell_table import ANY, CellTable
from riskcore.models.known_population import KnownPopulation
from riskcore.models.poisson_binomial import PoissonBinomial

Mask = NDArray[np.bool_]
Positions = NDArray[np.integer[Any]]
# Standard deviation of ln(sum of risks / truth) for each factor of e between sample and
# population: measured in populations that are known, see `bench/after_truth.py`.
_OFF = 0.045


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Patterns(Cells):
    """The patterns of released records, and the original records that fit them.

    Attributes
    ----------
    sample_frequency, population_frequency : ndarray, each shape (P,)
        The original records that fit each pattern, and the sum of their weights.
    records, weight_sum : ndarray, each shape (P,)
        The released records that have it.
    whole : int64 ndarray, shape (P,)
        The original records that fit it and have all its keys: what counts for k.
    failed : ndarray of bool, shape (P,)
        Whether it fails a goal beside k and the risk.
    """

    whole: NDArray[np.int64] = field(kw_only=True)
    failed: Mask = field(kw_only=True)

    @property
    def frequency_for_k(self) -> NDArray[np.int64]:
        """What counts for k-anonymity: original records that have the kept keys."""
        return self.whole

    @property
    def shared(self) -> bool:
        """Whether released records count in each other's patterns: they never do."""
        return False

    @property
    def incomplete(self) -> int:
        """Number of records that count for others because of missing keys: none."""
        return 0


def goal_in(
    cells: Cells, rule: str, keys: Names, sensitive: Hashable | None, asked: float,
    found: float, failed: Mask,
) -> Goal:  # fmt: skip
    """Return a goal that some cells fail, with their number and their records."""
    counts = int(cells.records[failed].sum()), int(np.count_nonzero(failed))
    return Goal(rule, keys, sensitive, asked, found, *counts, not failed.any())


class Measured(NamedTuple):
    """The figure of a goal for each pattern."""

    goal: MarginGoal
    figures: NDArray[np.float64]

    @property
    def failed(self) -> Mask:
        """Mask of the patterns that fail the goal."""
        return self.goal.fails(self.figures)

    def in_cells(self, cells: Cells) -> Goal:
        """Return the goal, what was found, and the records and patterns that fail."""
        goal, worst = self.goal, self.goal.worst(self.figures)
        named = goal.rule, cells.keys, goal.sensitive
        return goal_in(cells, *named, goal.asked, worst, self.failed)


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedAssessment(Assessment):
    """The risk of released records among the original ones, see `Assessment`.

    Attributes
    ----------
    cells : Patterns
    among : Cells
        The original records.
    codes : tuple of ndarray, each shape (P,)
        For each key the code of each pattern in ``among``; -1 for any value.
    measured : tuple of Measured
        The figures of goals beside k and the risk.
    """

    cells: Patterns
    among: Cells = field(kw_only=True)
    codes: tuple[NDArray[np.signedinteger[Any]], ...] = field(kw_only=True)
    measured: tuple[Measured, ...] = field(default=(), kw_only=True)

    @property
    def table(self) -> CellTable:
        """The patterns as a model of the population takes them."""
        cells = self.cells_by_weights or self.cells
        f, F = cells.sample_frequency, cells.population_frequency
        return CellTable.of_margins(self.among, self.codes, f, F)

    @cached_property
    def by_model(self) -> ReleasedAssessment | None:
        """The same records by the latent-class model, see `Assessment.by_model`."""
        model = None if self.beside is None else self.beside.model
        return None if model is None else self._by(model)

    def _by(self, model: CellModel) -> ReleasedAssessment:
        """Return the same records by a model of the population."""
        risk, unique, cells = risks_of(model, self.cells, self.table)
        assessment = replace(
            self,
            cells=cells,
            computed_risk=risk,
            model=model,
            unique=unique,
            cells_by_weights=self.cells,
            beside=None,
        )
        return assessment._with_households(self)

    def expected_reidentifications_interval(self, level: float = 0.95) -> Ends:
        """Return an interval for the sum of 1/F over the released records.

        See `Assessment.expected_reidentifications_interval`. Records of one pattern
        have the same F, and the errors of patterns that share people add up. Beside
        chance it holds that no model is true: of an unknown population the sum is off
        by 4.5 % (a standard deviation) for each factor of e from the sample to it, as
        in the hardest populations of ``bench/after_truth.py``; and that half of those
        who fit by the chance of their missing keys may not.
        """
        cells, off = self.cells, 0.0
        if not isinstance(self.model, KnownPopulation):
            people = max(float(cells.weight_sum.sum()), cells.n)
            off = _OFF * math.log(people / cells.n)
        by_chance = 1.0 - np.minimum(cells.whole / cells.sample_frequency, 1.0)
        risk = self.cell_risk * cells.records
        off = math.hypot(off, float(risk @ by_chance) / float(risk.sum()) / 2.0)
        return sum_over_patterns(self.model, self.table, cells.records, level, off)

    def expected_population_uniques_interval(self, level: float = 0.95) -> Ends:
        """Return an interval for the released records that only one person fits."""
        chance = np.repeat(self.cell_unique_probability, self.cells.records)
        return PoissonBinomial.of(chance[chance > 0.0]).interval(level)


def assess_released(
    original: Assessment,
    blanked: Mapping[Hashable, Mask],
    data: Any = None,
    goals: Sequence[MarginGoal] = (),
) -> ReleasedAssessment:
    """Return the risk of records after keys were blanked in the rows of masks."""
    before = original.cells_by_weights or original.cells
    masks = {key: mask for key, mask in blanked.items() if mask.any()}
    lost = {i: masks[key] for i, key in enumerate(before.keys) if key in masks}
    cells, cell, first = _patterns(before, lost)
    margins = Margins(before, lambda f, _: f)
    bits = np.zeros(len(cell), np.uint64)
    for number, mask in enumerate(lost.values()):
        bits |= mask[first].astype(np.uint64) << np.uint64(number)
    fits = margins.fits(margins.all_keys, cell)
    figures = [margins.measured(goal, margins.all_keys, cell) for goal in goals]
    codes = []
    for labels, column in zip(before.categories, before.codes, strict=True):
        missing = len(labels) - (labels[-1] is None)
        code = column[cell].astype(np.promote_types(column.dtype, np.int8))
        code[code == missing] = ANY
        codes.append(code)
    for kind in np.unique(bits[bits > 0]).tolist():
        at = np.flatnonzero(bits == kind)
        gone = [key for number, key in enumerate(lost) if kind >> number & 1]
        kept = margins.all_keys ^ sum(1 << i for i in gone)
        for whole, part in zip(fits, margins.fits(kept, cell[at]), strict=True):
            whole[at] = part
        for goal, goal_figures in zip(goals, figures, strict=True):
            goal_figures[at] = margins.measured(goal, kept, cell[at])
        for i in gone:
            codes[i][at] = ANY
    measured = tuple(map(Measured, goals, figures))
    failed = np.logical_or.reduce([cells.failed, *(x.failed for x in measured)])
    cells = replace(
        cells,
        whole=fits.whole,
        sample_frequency=fits.f,
        population_frequency=fits.F,
        failed=failed,
    )
    assessment = ReleasedAssessment(
        original.data if data is None else data,
        cells,
        risk_of(original.method, fits.f.astype(np.float64), fits.F),
        original.method,
        sampling_fraction=original.sampling_fraction,
        weights=original.weights,
        beside=original.beside,
        among=before,
        codes=tuple(codes),
        measured=measured,
    )
    if original.model is not None:
        return assessment._by(original.model)._with_households(original)
    return assessment._with_households(original)


def _patterns(
    before: Cells, lost: Mapping[int, Mask]
) -> tuple[Patterns, Positions, Positions]:
    """Return the patterns, and an original cell and a row of each."""
    rows, codes, categories, lacking = before.rows, [], [], []
    for i, labels in enumerate(before.categories):
        code = before.codes[i][rows]
        if i in lost and labels[-1] is not None:
            labels = np.fromiter([*labels, None], object, len(labels) + 1)
        blank = len(labels) - (labels[-1] is None)
        if i in lost:
            code = np.where(lost[i], blank, code.astype(np.min_scalar_type(blank)))
        codes.append(code)
        categories.append(labels)
        lacking.append(before.count_of(code == blank))
    levels = [*map(len, categories)]
    counts = counts_of(codes, levels, before.record_weights, before.counted)
    first = np.zeros(len(counts.frequency), np.int64)
    first[counts.inverse[::-1]] = np.arange(len(rows) - 1, -1, -1)
    attributes = attributes_of(
        before,
        categories=tuple(categories),
        codes=counts.codes,
        sample_frequency=counts.frequency,
        population_frequency=counts.weight_sum,
        records=counts.frequency,
        weight_sum=counts.weight_sum,
        rows=counts.inverse,
        missing_values=tuple(lacking),
        windows=None,
    )
    failed = np.zeros(len(counts.frequency), bool)
    cells = Patterns(**attributes, whole=counts.frequency, failed=failed)
    return cells, rows[first], first
