"""Random groups of records that are the same in every run, without a generator."""

from __future__ import annotations

import numpy as np

from riskcore.common.scatter import scattered
from riskcore.models.codes import Ints


def groups_of(records: Ints, groups: int) -> tuple[Ints, Ints]:
    """Return the cell and the group of each record, in groups of equal size."""
    cell = np.repeat(np.arange(len(records)), records)
    order = np.argsort(scattered(np.arange(len(cell), dtype=np.uint64)), kind="stable")
    rank = np.empty(len(cell), np.int64)
    rank[order] = np.arange(len(cell))
    return cell, rank % groups
