"""Look up four figures of the cell of each record together.

The cells of neighboring records lie far apart, and the lookup takes most of the time.
So the figures of a cell are put side by side first, in half a cache line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import in_parts, parts_of, usual_threads
from riskcore.core.compiled.jit import native
from riskcore.data.count import THREADED

_COLUMNS = 4
_LINE = 64


def spread(
    inverse: NDArray[np.int32],
    frequency: NDArray[Any],
    weight_sum: NDArray[np.float64],
    risk: NDArray[np.float64],
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the figures of the cell of each record."""
    K, n = len(frequency), len(inverse)
    table = _aligned(K * _COLUMNS)
    columns = [np.ascontiguousarray(column) for column in (frequency, weight_sum, risk)]
    real = columns[0].dtype.kind == "f"
    bits = columns[0].view(np.int64)
    out = [np.empty(n, np.int64) for _ in range(_COLUMNS)]
    inverse = np.ascontiguousarray(inverse, np.int32)
    threads = 1 if n < THREADED else usual_threads()

    def lay(start: int, stop: int) -> None:
        by_bits = bits, bits.view(np.float64), real
        tables = table, table.view(np.float64)
        lay_rows(*by_bits, *columns[1:], start, stop, *tables)

    def fill(start: int, stop: int) -> None:
        spread_rows(inverse, table, start, stop, *out)

    in_parts(threads, lay, parts_of(K, threads))
    in_parts(threads, fill, parts_of(n, threads))
    f, *others = out
    F, p, r = (column.view(np.float64) for column in others)
    return f.view(frequency.dtype), F, p, r


def _aligned(length: int) -> NDArray[np.int64]:
    """Return an array of int64 that begins at a cache line."""
    raw = np.empty(length * 8 + _LINE, np.uint8)
    start = -raw.ctypes.data % _LINE
    return raw[start : start + length * 8].view(np.int64)


@native("int64*, float64*, int64, float64*, float64*, int64, int64, int64*, float64*")
def lay_rows(
    f: Any,
    f_real: Any,
    real: int,
    F: Any,
    risk: Any,
    start: int,
    stop: int,
    table: Any,
    table_real: Any,
) -> None:
    """Put f, F, f/F and the risk side by side, from ``start`` to ``stop``."""
    for i in range(start, stop):
        row = 4 * i
        table[row] = f[i]
        table_real[row + 1] = F[i]
        table_real[row + 2] = (f_real[i] if real else float(f[i])) / F[i]
        table_real[row + 3] = risk[i]


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
