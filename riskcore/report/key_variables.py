"""The key variables before and after: categories, the smallest one, missing values."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from riskcore.assessment.assess import Assessment
from riskcore.data.cells import Cells
from riskcore.data.engine_cells import HeldCells


@dataclass(frozen=True, slots=True)
class KeyVariable:
    """A key variable of a file at one stage.

    Attributes
    ----------
    categories : int
        How many occur, missing not counted.
    smallest : int
        Number of records in the smallest of them, 0 if there is none.
    missing : int
        Number of records without a value.
    """

    categories: int
    smallest: int
    missing: int


def key_variables(
    stages: Mapping[str, Assessment],
) -> dict[Hashable, list[KeyVariable]] | None:
    """Return each key variable at each stage, None if its values are on an engine."""
    files = [one.cells for one in stages.values()]
    # To collect the cells of an engine may take long; nobody has asked for it.
    if any(isinstance(each, HeldCells) and not each.collected for each in files):
        return None
    return {
        key: [_of(each, position) for each in files]
        for position, key in enumerate(files[0].keys)
    }


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
