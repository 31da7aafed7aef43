"""Records of categories and numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.disclosure.common_cells import Columns

Floats = NDArray[np.float64]


class MixedRecords(NamedTuple):
    """Records of categories and numbers."""

    codes: Columns  # of each category, in the codes of all files, shape (n,)
    numbers: Floats  # shape (n, d), none missing; d may be 0

    @classmethod
    def of_categories(cls, codes: Columns) -> MixedRecords:
        """Return records without numbers."""
        return cls(codes, np.zeros((len(codes[0]), 0)))

    def at(self, rows: Any) -> MixedRecords:
        """Return some of the records."""
        return MixedRecords([one[rows] for one in self.codes], self.numbers[rows])

    def refuse_missing(self, name: str) -> None:
        """Refuse records with missing numbers."""
        missing = int(np.isnan(self.numbers).any(axis=1).sum())
        if missing:
            raise ValueError(
                f"{name}: {missing:,} of {len(self.numbers):,} records have missing "
                "numbers, which have no distance; leave these records out"
            )
