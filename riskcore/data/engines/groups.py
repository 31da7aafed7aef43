"""Rows that stand for many records each: the cells of all keys, as an engine counts.

What is done with records is done with these: a row has one value of each key, and all
its records have the same. Weights stay whole numbers, so that the sums over several
rows have the bits that the engine itself would give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.engines.base import Engine
from riskcore.data.engines.sums import WholeSums


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """How many records each row stands for, and the sums of their weights.

    Attributes
    ----------
    engine : Engine
        What holds the records.
    records : int64 ndarray, shape (R,)
        Number of records of each row.
    whole : WholeSums or None
        How the weights were cut; None if the sums are doubles.
    sums : sequence of ndarray, each shape (R,)
        The sums of the pieces, whole numbers; of doubles one; none without weights.

    Examples
    --------
    >>> import polars
    >>> from riskcore.data.engines.which import engine_of
    >>> engine = engine_of(polars.LazyFrame({"sex": ["f", "m"]}))
    >>> groups = Groups(engine, np.array([2, 1, 1]), None, [])
    >>> groups.n, groups.weight_sum(np.array([0, 1, 1]), 2)
    (4, array([2., 2.]))
    """

    engine: Engine
    records: NDArray[np.int64]
    whole: WholeSums | None
    sums: Sequence[NDArray[Any]]

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.records.sum())

    def weight_sum(self, of: NDArray[Any], groups: int) -> NDArray[np.float64]:
        """Return the sums of the weights over groups of rows."""
        parts = self.sums or [self.records]
        totals = []
        for part in parts:
            total = np.zeros(groups, part.dtype)
            with np.errstate(over="ignore"):  # refused where the sum is looked at
                np.add.at(total, of, part)
            totals.append(total)
        if self.whole is None:
            return totals[0].astype(np.float64, copy=False)
        return self.whole.joined(totals)

    def refuse_single(self, what: str) -> TypeError:
        """Make the error for what needs single records."""
        return TypeError(
            f"{what}: single records are needed here, but {self.engine.name} holds "
            "them: assess .data of the result, or collect them first"
        )

    def records_with(self, results: Any, compute: Any = None) -> Any:
        """Refuse to add results of a stage to records."""
        raise self.refuse_single("the records of a stage of a protection")
