"""Treatments without effect: the released rows are those of the original."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Floats
from riskcore.disclosure.number_links import precision

Codes = NDArray[np.integer[Any]]

MOSTLY = 0.9  # the share of the rows that are left as they are


def to_precision(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Return numbers before and after a treatment as multiples of the released unit."""
    unit = 2.0 * precision(after)
    if unit == 0.0:
        return before, after
    return np.rint(before / unit), np.rint(after / unit)


def rows_left(
    keys: Sequence[tuple[Codes, Codes]], treated: Sequence[tuple[Any, Any]]
) -> int:
    """Return how many rows of the original are rows of the released file as well.

    ``keys`` and ``treated`` are columns before and after a treatment. Whoever knows the
    keys reads from these rows what the original says.

    >>> sex, pay = np.array([0, 0, 1]), np.array([10.0, 20.0, 30.0])
    >>> rows_left([(sex, sex)], [(pay, pay[[1, 0, 2]])])
    3
    >>> rows_left([(sex, sex)], [(pay, pay[[2, 0, 1]])])
    1
    """
    n = len(treated[0][0])
    row = np.zeros(2 * n, np.int64)
    for column in (*keys, *treated):
        code = np.unique(np.concatenate(column), return_inverse=True)[1].reshape(-1)
        row = np.unique(row * (int(code.max()) + 1) + code, return_inverse=True)[1]
        row = row.reshape(-1)
    before, after = (
        np.bincount(half, minlength=int(row.max()) + 1) for half in np.split(row, 2)
    )
    return int(np.minimum(before, after).sum())
