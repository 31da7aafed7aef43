"""Cells of key variables that two or more files share.

Files are given as codes of the same labels: a file is one array of codes for each key,
``levels`` the number of labels of each key. Pairs of records are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.data.count import count
from riskcore.data.unsigned import Codes

Ints = NDArray[np.int64]
Columns = Sequence[Codes]  # the codes of a file, for each key shape (n,)


class CommonCells(NamedTuple):
    """The cells that occur in any of several files."""

    records: tuple[Ints, ...]  # of each file the records in each cell, shape (K,)
    cell: tuple[NDArray[np.int32], ...]  # of each file the cell of each record


def count_cells(files: Sequence[Columns], levels: Sequence[int]) -> CommonCells:
    """Return the cells of files that have the same keys, in the same codes."""
    if not levels:
        raise ValueError("the files have no keys: give at least one")
    if any(len(one) != len(levels) for one in files):
        raise ValueError("the files have another number of keys than levels")
    columns = [np.concatenate(column) for column in zip(*files, strict=True)]
    found = count(columns, levels)
    K = len(found.frequency)
    ends = np.cumsum([len(one[0]) for one in files])[:-1]
    cell = tuple(np.split(found.inverse, ends))
    return CommonCells(tuple(np.bincount(one, minlength=K) for one in cell), cell)
