"""The risk of released patterns among the original records, whoever stands for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assessment import Assessment
from riskcore.assessment.margin_goals import MarginGoal
from riskcore.assessment.released import ReleasedAssessment, assess_released
from riskcore.common.arrays import Integers
from riskcore.data.cells import Cells
from riskcore.data.count import count
from riskcore.models.cell_table import ANY, CellTable


def assess_patterns(
    original: Assessment,
    patterns: CellTable,
    rows: NDArray[Any],
    data: Any = None,
    goals: Sequence[MarginGoal] = (),
) -> tuple[ReleasedAssessment | None, Integers]:
    """Return the risk of released records, and the records that somebody fits."""
    before = original.cells_by_weights or original.cells
    fitting = _fitting_cells(before, patterns)[rows]
    matched_rows = np.flatnonzero(fitting >= 0)
    if not len(matched_rows):
        return None, matched_rows
    blank = {
        name: (column == ANY)[rows[matched_rows]]
        for name, column in zip(patterns.keys, patterns.codes, strict=True)
    }
    cells = replace(
        before, rows=fitting[matched_rows].astype(np.int32), record_weights=None
    )
    alone = replace(original, cells=cells, cells_by_weights=None, households=None)
    return assess_released(alone, blank, data, goals), matched_rows


def _fitting_cells(cells: Cells, patterns: CellTable) -> Integers:
    """Return for each pattern a cell of the original that fits it; -1 if none does."""
    table = CellTable.of_margins(cells, cells.codes, cells.records, cells.weight_sum)
    fitting = np.full(len(patterns), -1, np.int64)
    known_patterns = np.flatnonzero(patterns.known_in(table))
    asked = patterns.some(known_patterns).coded_as(table)
    for keys, at in asked.patterns():
        there = np.arange(len(table))
        if keys:
            some = [table.codes[key] != ANY for key in keys]
            there = np.flatnonzero(np.logical_and.reduce(some))
        number = np.zeros(len(there) + len(at), np.int64)
        if keys:
            both = [
                np.concatenate([table.codes[key][there], asked.codes[key][at]])
                for key in keys
            ]
            number = count(
                [codes.astype(np.uint32) for codes in both],
                [table.levels[key] for key in keys],
            ).inverse.astype(np.int64)
        place = np.full(int(number.max(initial=0)) + 1, -1, np.int64)
        place[number[: len(there)]] = there
        fitting[known_patterns[at]] = place[number[len(there) :]]
    return fitting
