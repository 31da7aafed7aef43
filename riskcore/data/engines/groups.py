"""Rows that stand for many records each: the cells of all keys, as an engine counts.

Rows are protected as if they were records, since all records of a row have the same
keys. Weights stay whole numbers, so the sums over several rows have the bits that the
engine itself would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.engines.base import Engine
from riskcore.data.engines.sums import Squares, WholeSums, added


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The number of records that each row stands for, and the sums of their weights."""

    engine: Engine
    records: NDArray[np.int64]  # shape (R,)
    whole: WholeSums | None  # how the weights were cut; None if the sums are doubles
    # The sums of the pieces, each of shape (R,): one if doubles, none without weights.
    sums: Sequence[NDArray[Any]]
    squares: Squares | None = None  # those of the weights of each row

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.records.sum())

    def weight_sum(self, group: NDArray[Any], groups: int) -> NDArray[np.float64]:
        """Return the sums of the weights over groups, given the group of each row."""
        parts = self.sums or [self.records]
        totals = [added(part, group, groups) for part in parts]
        if self.whole is None:
            return totals[0].astype(np.float64, copy=False)
        return self.whole.join(totals)

    def refuse_single(self, what: str) -> TypeError:
        """Return the error for a task that needs single records."""
        return TypeError(
            f"{what}: single records are needed here, but {self.engine.name} holds "
            "them: assess .data of the result, or collect them first"
        )

    @property
    def row_of_records(self) -> NDArray[np.int32]:
        """The row of each record, which stays there."""
        raise self.refuse_single("the cell of each record")

    def records_with(self, results: Any, compute: Any = None) -> Any:
        """Refuse to add results of a stage to records."""
        raise self.refuse_single("the records of a stage of a protection")
