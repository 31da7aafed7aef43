"""Records of categories and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.disclosure.common_cells import Columns

Floats = NDArray[np.float64]


class MixedRecords(NamedTuple):
    """Records of categories and numbers."""

    codes: Columns  # of each category, in the codes of all files, shape (n,)
    numbers: Floats  # shape (n, d); d may be 0

    @classmethod
    def of(cls, codes: Columns, numbers: Sequence[Floats]) -> MixedRecords:
        """Return the records of columns."""
        values = np.empty((len([*codes, *numbers][0]), len(numbers)))
        for j, column in enumerate(numbers):
            values[:, j] = column
        return cls(codes, values)

    def at(self, rows: Any) -> MixedRecords:
        """Return some of the records."""
        return MixedRecords([one[rows] for one in self.codes], self.numbers[rows])


def gower_scale(files: Sequence[Floats]) -> float:
    """Return 1 over the range of a number in all files, 0 if it does not vary."""
    there = [one[~np.isnan(one)] for one in files]
    high = max(float(one.max(initial=-math.inf)) for one in there)
    low = min(float(one.min(initial=math.inf)) for one in there)
    return 1.0 / (high - low) if high > low else 0.0
