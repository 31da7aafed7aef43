"""Figures of cells spread over their records: four columns at one look at a cell.

The cells of neighbouring records lie far apart, and to look one up takes longer than
all else. So the figures of a cell are put side by side first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import in_parts, parts_of, usual_threads
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
    K, n = len(columns[0]), len(inverse)
    table = np.empty((K, _COLUMNS), np.int64)
    numbers = [np.ascontiguousarray(column).view(np.int64) for column in columns]
    out = [np.empty(n, np.int64) for _ in columns]
    inverse = np.ascontiguousarray(inverse, np.int32)
    threads = 1 if n < THREADED else usual_threads()

    def lay(start: int, stop: int) -> None:
        lay_rows(*numbers, start, stop, table)

    def fill(start: int, stop: int) -> None:
        spread_rows(inverse, table, start, stop, *out)

    in_parts(threads, lay, parts_of(K, threads))
    in_parts(threads, fill, parts_of(n, threads))
    return tuple(
        found.view(column.dtype) for found, column in zip(out, columns, strict=True)
    )


@native("int64*, int64*, int64*, int64*, int64, int64, int64*")
def lay_rows(a: Any, b: Any, c: Any, d: Any, start: int, stop: int, table: Any) -> None:
    """Put four columns side by side, from ``start`` to ``stop``."""
    for i in range(start, stop):
        row = 4 * i
        table[row] = a[i]
        table[row + 1] = b[i]
        table[row + 2] = c[i]
        table[row + 3] = d[i]


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
