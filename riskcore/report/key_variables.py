"""The key variables before and after: categories, and records without a value."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np

from riskcore.assessment.assessment import Assessment
from riskcore.data.cells import Cells
from riskcore.data.engine_cells import HeldCells


class KeyVariable(NamedTuple):
    """Counts for a key: categories, records in the smallest one, missing values.

    A missing value is not a category; without categories ``smallest`` is 0.
    """

    categories: int
    smallest: int
    missing: int


def key_variables(
    stages: Mapping[str, Assessment],
) -> dict[Hashable, list[KeyVariable]] | None:
    """Return each key variable at each stage, None if its values are on an engine."""
    files = [assessment.cells for assessment in stages.values()]
    # Collecting the cells of an engine may take long, and was not asked for.
    if any(isinstance(cells, HeldCells) and not cells.collected for cells in files):
        return None
    return {key: [_of(x, i) for x in files] for i, key in enumerate(files[0].keys)}


def _of(cells: Cells, key: int) -> KeyVariable:
    present = cells.present(key)
    # Sums of whole numbers below 2**53 are exact in doubles.
    sizes = np.bincount(cells.codes[key][present], cells.records[present])
    sizes = sizes[sizes > 0]
    return KeyVariable(
        categories=len(sizes),
        smallest=int(sizes.min()) if len(sizes) else 0,
        missing=cells.missing_values[key],
    )
