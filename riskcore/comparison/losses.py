"""What each category of a key loses by suppression, and how its share changes.

A few blanks are nothing to a large category and all of a small one: means over a table
do not show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskcore.comparison.measures import fsum


@dataclass(frozen=True, slots=True)
class CategoryLoss:
    """A category of a key before and after suppression.

    Attributes
    ----------
    key : column name
    category : object
        As in the safe file.
    records_before, records_after : int
    lost : float
        The share of its records that lost the value; below 0 if it gained records.
    known_before, known_after : float
        Its share of the weight of the records with a value; 0 if there are none.
    """

    key: Any
    category: Any
    records_before: int
    records_after: int
    lost: float
    known_before: float
    known_after: float

    @property
    def change(self) -> float:
        """The change of its share of the records with a value."""
        return self.known_after - self.known_before


def losses_of(key: Any, table: Sequence[Any]) -> Iterable[CategoryLoss]:
    """Yield the losses of the categories of a key, from its `Category` rows."""
    known = [row for row in table if row.category is not None]
    before, after = (
        fsum(np.array([getattr(row, f"share_{when}") for row in known]))
        for when in ("before", "after")
    )
    for row in known:
        if not row.records_before:
            continue
        yield CategoryLoss(
            key,
            row.category,
            row.records_before,
            row.records_after,
            1 - row.records_after / row.records_before,
            row.share_before / before if before else 0.0,
            row.share_after / after if after else 0.0,
        )
