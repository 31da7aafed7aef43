"""Random groups of records that are the same in every run, without a generator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from riskcore.models.codes import Ints


def groups_of(records: Ints, groups: int) -> tuple[Ints, Ints]:
    """Return the cell and the group of each record, in groups of equal size.

    The numbers of the records are scattered by splitmix64 and ranked.
    """
    cell = np.repeat(np.arange(len(records)), records)
    rank = np.empty(len(cell), np.int64)
    order = np.argsort(scattered(np.arange(len(cell))), kind="stable")
    rank[order] = np.arange(len(cell))
    return cell, rank % groups


def scattered(numbers: Ints) -> NDArray[np.uint64]:
    """Return numbers that look random and differ where the given ones do."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
