"""What each category of a key loses by suppression, and how its share changes.

A few blanks are nothing to a large category and all of a small one: means over a table
do not show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskcore.comparison.measures import fsum
from riskcore.data.cells import Cells
from riskcore.data.columns import plain_value

_NONE = (0, 0.0)


@dataclass(frozen=True, slots=True)
class Category:
    """A category of a key in both files.

    Attributes
    ----------
    category : object
        As in the safe file; None for missing.
    records_before, records_after : int
    share_before, share_after : float
        Share of the weight.
    """

    category: Any
    records_before: int
    records_after: int
    share_before: float
    share_after: float


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
    rows = [row for row in table if row.category is not None]
    before, after = (
        fsum(np.array([getattr(row, f"share_{when}") for row in rows]))
        for when in ("before", "after")
    )
    for row in rows:
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


def losses_of_cells(before: Cells, after: Cells) -> Iterator[CategoryLoss]:
    """Yield the losses of all categories; both files have the same keys."""
    for i, key in enumerate(before.keys):
        old, new = _categories(before, i), _categories(after, i)
        rows = [
            Category(value, records, left, share, share_left)
            for value, (records, share) in old.items()
            for left, share_left in [new.get(value, _NONE)]
        ]
        yield from losses_of(key, rows)


def _categories(cells: Cells, i: int) -> dict[Any, tuple[int, float]]:
    """Return the records of each category of a key, and its share of the weight."""
    codes, labels = np.asarray(cells.codes[i]), cells.categories[i]
    records = np.bincount(codes, cells.records, len(labels)).astype(np.int64)
    weight = np.bincount(codes, cells.weight_sum, len(labels)) / fsum(cells.weight_sum)
    values = [None if one is None else plain_value(one) for one in labels]
    return dict(
        zip(values, zip(records.tolist(), weight.tolist(), strict=True), strict=True)
    )
