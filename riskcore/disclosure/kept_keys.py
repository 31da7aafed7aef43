"""Records and people by the keys that a released record keeps.

Keys are codes of shape (n, K), -1 for missing; row i of the released file is the record
of person i. A blank stands for any value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Integers, Mask
from riskcore.data.count import count

_SEED = 0  # of the draw of missing keys: the same file gives the same figures


def cells(codes: NDArray[np.integer], keys: Iterable[int]) -> Integers:
    """Return the number of each record's combination of some keys, from 0."""
    columns = [(codes[:, key] + 1).astype(np.uint32) for key in keys]
    if not columns or not len(codes):
        return np.zeros(len(codes), np.int64)
    levels = [int(column.max()) + 1 for column in columns]
    return count(columns, levels).inverse.astype(np.int64)


def kept_sets(blanked: Mask) -> Iterator[tuple[Integers, Integers]]:
    """Yield each set of kept keys, and the rows that keep just these."""
    number = cells(blanked.astype(np.int64), range(blanked.shape[1]))
    small = np.min_scalar_type(int(number.max(initial=0)))  # which is sorted fast
    order = np.argsort(number.astype(small), kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        if len(rows):
            yield np.flatnonzero(~blanked[rows[0]]), rows


def with_missing_drawn(codes: Integers) -> Integers:
    """Return codes whose missing keys are drawn from complete records."""
    # A record takes them from one that agrees in its other keys, so that it fits a
    # pattern by the share of these which fit. Without such a record they stay missing.
    missing = codes < 0
    if not missing.any():
        return codes
    complete = np.flatnonzero(~missing.any(axis=1))
    drawn, random = codes.copy(), np.random.default_rng(_SEED)
    for keys, rows in kept_sets(missing):
        if len(keys) < codes.shape[1]:
            group = cells(codes, keys)
            donors = complete[np.argsort(group[complete], kind="stable")]
            first = np.searchsorted(group[donors], group[rows])
            last = np.searchsorted(group[donors], group[rows], side="right")
            donor = first + (random.random(len(rows)) * (last - first)).astype(np.int64)
            drawn[rows[last > first]] = codes[donors[donor[last > first]]]
    return drawn
