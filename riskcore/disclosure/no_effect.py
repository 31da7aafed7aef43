"""Treatments without effect: the released rows are those of the original."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.integer[Any]]


def has_no_effect(
    keys: Sequence[tuple[Codes, Codes]], treated: Sequence[tuple[Any, Any]]
) -> bool:
    """Return whether as many records have each combination after as before.

    ``keys`` and ``treated`` are columns before and after a treatment. Whoever knows the
    keys then reads the same numbers in the released file as in the original.

    >>> sex, pay = np.array([0, 0, 1]), np.array([10.0, 20.0, 30.0])
    >>> has_no_effect([(sex, sex)], [(pay, pay[[1, 0, 2]])])
    True
    >>> has_no_effect([(sex, sex)], [(pay, pay[[2, 0, 1]])])
    False
    """
    files = []
    for side in (0, 1):
        columns = np.stack([np.asarray(one[side], float) for one in (*keys, *treated)])
        files.append(columns[:, np.lexsort(columns)])
    before, after = files
    return np.array_equal(before, after, equal_nan=True)
