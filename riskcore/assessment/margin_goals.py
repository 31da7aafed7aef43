"""Goals of combinations of kept keys beside their risk: people, and sensitive values.

Each is measured for the original records that fit a combination, see
`riskcore.assessment.margins`. Records without a value of a kept key do not count, nor
do those without a sensitive value.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.distributions import Distributions
from riskcore.assessment.diversity_of_cells import (
    diverse,
    equal_distance,
    ordered_distance,
)
from riskcore.data.cells import Cells
from riskcore.data.columns import CodedColumn
from riskcore.data.count import count

Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]
Positions = NDArray[np.integer[Any]]
# The constant c of recursive (c, l)-diversity.
_C = Fraction(3)


@dataclass(frozen=True, slots=True)
class PopulationGoal:
    """The least number of people that fit, by the sum of the weights."""

    asked: float  # the limit
    rule: str = "min_population"  # the argument that asks for it
    sensitive: Hashable | None = None

    def measured(self, combination: Positions, F: Numbers) -> Numbers:
        """Return the people of each combination; ``combination`` is that of cells."""
        return F

    def fails(self, figures: Numbers) -> Mask:
        """Return which combinations have too few people."""
        return figures < self.asked

    def worst(self, figures: Numbers) -> float:
        """Return the smallest number of people."""
        return float(figures.min())


@dataclass(frozen=True, eq=False)
class SensitiveGoal:
    """The least l-diversity, of a ``kind``, or the largest distance t of a column."""

    rule: str
    asked: float
    column: CodedColumn
    cells: Cells
    kind: str = "distinct"
    ordered: bool = False

    @property
    def sensitive(self) -> Hashable | None:
        """The sensitive column."""
        return self.column.name

    @cached_property
    def _pairs(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
        """The cells and values that occur together, and their records."""
        levels = len(self.column.labels)
        there = np.flatnonzero(self.column.codes < levels)
        pairs = count(
            [self.cells.rows[there].astype(np.uint32), self.column.codes[there]],
            [len(self.cells), max(levels, 1)],
        )
        return pairs.codes[0], pairs.codes[1], pairs.frequency

    def measured(self, combination: Positions, F: Numbers) -> Numbers:
        """Return l or t of each combination; 0 or 1 without a sensitive value."""
        cell, value, records = self._pairs
        K, levels = len(F), max(len(self.column.labels), 1)
        both = count([combination[cell].astype(np.uint32), value], [K, levels])
        number: Numbers = np.bincount(both.inverse, records).astype(np.float64)
        begin = np.searchsorted(both.codes[0], np.arange(K + 1))
        total = np.bincount(value, records, levels).astype(np.float64)
        distributions = Distributions(
            begin, both.codes[1].astype(np.int64), number, total
        )
        if self.rule == "l":
            figures = getattr(diverse(distributions, _C), self.kind)
        else:
            figures = (ordered_distance if self.ordered else equal_distance)(
                distributions
            )
        without = 0.0 if self.rule == "l" else 1.0
        return np.where(np.diff(begin) == 0, without, figures.astype(np.float64))

    def fails(self, figures: Numbers) -> Mask:
        """Return which combinations are not diverse enough, or too far away."""
        return figures < self.asked if self.rule == "l" else figures > self.asked

    def worst(self, figures: Numbers) -> float:
        """Return the smallest l or the largest t."""
        return float(figures.min() if self.rule == "l" else figures.max())


MarginGoal: TypeAlias = PopulationGoal | SensitiveGoal
