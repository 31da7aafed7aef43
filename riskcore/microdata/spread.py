"""Figures of cells spread over their records: four columns at one look at a cell.

The cells of neighbouring records lie far apart, and to look one up takes longer than
all else. So the figures of a cell are put side by side first.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import in_threads, usual_threads
from riskcore.compiled.jit import native
from riskcore.microdata.count import THREADED

_COLUMNS = 4


def spread(
    inverse: NDArray[np.int32], *columns: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    """Return the figures of the cell of each record.

    Parameters
    ----------
    inverse : int32 ndarray, shape (n,)
        The cell of each record.
    *columns : four ndarrays of int64 or float64, each shape (K,)
        Figures of the cells.

    Returns
    -------
    tuple of ndarray, each shape (n,)
        ``column[inverse]`` of each column, of its type.

    Examples
    --------
    >>> one, two, _, _ = spread(np.array([1, 0, 1], np.int32), *[np.array([5, 7])] * 4)
    >>> one
    array([7, 5, 7])
    """
    table = np.empty((len(columns[0]), _COLUMNS), np.int64)
    for k, column in enumerate(columns):
        table[:, k] = column.view(np.int64)
    n = len(inverse)
    out = [np.empty(n, np.int64) for _ in columns]
    inverse = np.ascontiguousarray(inverse, np.int32)
    threads = 1 if n < THREADED else usual_threads()
    edges = [n * part // threads for part in range(threads + 1)]

    def fill(start: int, stop: int) -> None:
        spread_rows(inverse, table, start, stop, *out)

    in_threads(threads, fill, pairwise(edges))
    return tuple(
        found.view(column.dtype) for found, column in zip(out, columns, strict=True)
    )


@native("int32*, int64*, int64, int64, int64*, int64*, int64*, int64*")
def spread_rows(
    inverse: Any, table: Any, start: int, stop: int, a: Any, b: Any, c: Any, d: Any
) -> None:
    """Write the row of each record's cell, from ``start`` to ``stop``."""
    for i in range(start, stop):
        row = 4 * inverse[i]
        a[i] = table[row]
        b[i] = table[row + 1]
        c[i] = table[row + 2]
        d[i] = table[row + 3]
