"""What each category loses by suppression, from the cells before and after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from riskcore.comparison.comparison import Category
from riskcore.comparison.losses import CategoryLoss, losses_of
from riskcore.comparison.measures import fsum
from riskcore.data.cells import Cells
from riskcore.data.columns import plain_value


def losses_of_cells(before: Cells, after: Cells) -> Iterator[CategoryLoss]:
    """Yield the losses of all categories; both files have the same keys.

    Examples
    --------
    >>> from riskcore.data.cells import tabulate
    >>> before = tabulate({"sex": ["f", "f", "m"]}, ["sex"])
    >>> after = tabulate({"sex": ["f", None, "m"]}, ["sex"])
    >>> [(one.category, one.lost) for one in losses_of_cells(before, after)]
    [('f', 0.5), ('m', 0.0)]
    """
    for i, key in enumerate(before.keys):
        old, new = _categories(before, i), _categories(after, i)
        rows = [
            Category(
                value,
                records,
                new.get(value, _NONE)[0],
                share,
                new.get(value, _NONE)[1],
            )
            for value, (records, share) in old.items()
        ]
        yield from losses_of(key, rows)


_NONE = (0, 0.0)


def _categories(cells: Cells, i: int) -> dict[Any, tuple[int, float]]:
    """Return the records of each category of a key, and its share of the weight."""
    codes, labels = np.asarray(cells.codes[i]), cells.categories[i]
    records = np.bincount(codes, cells.records, len(labels)).astype(np.int64)
    weight = np.bincount(codes, cells.weight_sum, len(labels)) / fsum(cells.weight_sum)
    values = [None if one is None else plain_value(one) for one in labels]
    return dict(
        zip(values, zip(records.tolist(), weight.tolist(), strict=True), strict=True)
    )
