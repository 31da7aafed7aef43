"""How often each value of a column occurs in each cell.

A cell's distribution is over its own records. Where missing key values match any value
it is over all records that are compatible with the cell, counted as its frequency is:
each pair of patterns of missing keys is joined once, as `join_patterns` of
`riskcore.microdata.wildcard` does, here with a number for each value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.compiled.jit import kernel, native
from riskcore.microdata.cells import WILDCARDS, Cells
from riskcore.microdata.count import count
from riskcore.microdata.unsigned import Codes
from riskcore.microdata.wildcard import Patterns, patterns_of, slot_of, table_bits

# Numbers of a table of cells by values that are held at once.
_ROOM = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class Distributions:
    """The values of a column in each cell.

    Attributes
    ----------
    begin : int64 ndarray, shape (K + 1,)
        Where the values of each cell begin in the other two, and their end.
    value : int64 ndarray, shape (P,)
        Codes of values, rising within each cell.
    number : float64 ndarray, shape (P,)
        How many records have them, more than 0; no whole number only where records
        with missing keys count a part.
    total : float64 ndarray, shape (S,)
        How many records of the file have each value.
    """

    begin: NDArray[np.int64]
    value: NDArray[np.int64]
    number: NDArray[np.float64]
    total: NDArray[np.float64]


def distributions(cells: Cells, codes: Codes, levels: int) -> Distributions:
    """Count the values of a column in each cell.

    Parameters
    ----------
    cells : Cells
    codes : unsigned integer ndarray, shape (n,)
        The value of each record, or of each row that an engine counted; what is
        ``levels`` or more is not counted.
    levels : int
        Number of values, S.

    Returns
    -------
    Distributions

    Examples
    --------
    >>> import numpy as np
    >>> from riskcore import tabulate
    >>> cells = tabulate({"sex": ["f", "m", "f"]}, ["sex"])
    >>> found = distributions(cells, np.array([0, 1, 1], np.uint8), 2)
    >>> found.begin, found.value, found.number
    (array([0, 2, 3]), array([0, 1, 1]), array([1., 1., 1.]))
    """
    K = len(cells)
    pairs = count([cells.rows.view(np.uint32), codes], [K, int(codes.max()) + 1])
    if cells.counted is not None:
        pairs = pairs.of_groups(cells.counted.records)
    cell, value = pairs.codes[0].astype(np.int64), pairs.codes[1].astype(np.int64)
    counted = value < levels
    cell, value = cell[counted], value[counted]
    number = pairs.frequency[counted].astype(np.float64)
    total = np.bincount(value, number, levels).astype(np.float64, copy=False)
    if cells.missing in WILDCARDS and any(cells.missing_values):
        cell, value, number = _compatible(cells, cell, value, number, levels)
    begin = np.searchsorted(cell, np.arange(K + 1))
    return Distributions(begin, value, number, total)


def _compatible(
    cells: Cells,
    cell: NDArray[np.int64],
    value: NDArray[np.int64],
    number: NDArray[np.float64],
    levels: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the values of all records that are compatible with each cell."""
    K = len(cells)
    absent = [~cells.present(key) for key in range(len(cells.keys))]
    patterns = patterns_of(list(cells.codes), absent)
    back = np.empty(K, np.int64)
    back[patterns.order] = np.arange(K)
    blank_matches = cells.missing == "argus" or len(cells.keys) == 1
    width = min(levels, max(1, _ROOM // K))
    parts = []
    for low in range(0, levels, width):
        own = np.zeros((K, width))
        here = (value >= low) & (value < low + width)
        own[back[cell[here]], value[here] - low] = number[here]
        surely, perhaps = _join(patterns, own, blank_matches)
        sums = own + surely + cells.alpha * perhaps
        if patterns.blank:
            sums[-1] = own.sum(axis=0)
        row, column = np.nonzero(sums)
        parts.append((patterns.order[row], low + column, sums[row, column]))
    at, values, numbers = map(np.concatenate, zip(*parts, strict=True))
    by_cell = np.argsort(at * levels + values)
    return at[by_cell], values[by_cell], numbers[by_cell]


def _join(
    patterns: Patterns, own: NDArray[np.float64], blank_matches: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each cell gains: from complete ones, and from others."""
    K, width = own.shape
    gained = np.zeros((2, K, width))
    room = int(np.sort(np.append(np.diff(patterns.begin), 1))[-2])
    scratch = (
        np.empty(patterns.code.shape[1], np.uint64),
        np.empty(1 << table_bits(room), np.int32),
        np.empty(room, np.int32),
        np.empty((2, room, width)),
    )
    complete = 0 if patterns.complete else -1
    for a in range(len(patterns)):
        stop = len(patterns)
        if a == complete and patterns.blank and not blank_matches:
            stop -= 1
        join_values(
            a, stop, complete, K, patterns.code.shape[1], width, patterns.begin,
            patterns.present, patterns.code, own, *scratch, room, gained,
        )  # fmt: skip
    return gained[0], gained[1]


@kernel
def _add(sums: Any, to: int, numbers: Any, of: int, width: int) -> None:
    """Add a row of numbers to a row of sums."""
    for v in range(width):
        sums[to * width + v] += numbers[of * width + v]


@native(
    "int64, int64, int64, int64, int64, int64, int64*, uint64*, uint64*, float64*, "
    "uint64*, int32*, int32*, float64*, int64, float64*"
)
def join_values(
    a: int,
    stop: int,
    complete: int,
    K: int,
    words: int,
    width: int,
    begin: Any,
    present: Any,
    code: Any,
    own: Any,
    joint: Any,
    table: Any,
    group: Any,
    sums: Any,
    room: int,
    gained: Any,
) -> None:
    """Join pattern ``a`` with each later one before ``stop``, see `join_patterns`."""
    for b in range(a + 1, stop):
        few, many = a, b
        if begin[a + 1] - begin[a] > begin[b + 1] - begin[b]:
            few, many = b, a
        for w in range(words):
            joint[w] = present[few * words + w] & present[many * words + w]
        start = begin[few]
        size = begin[few + 1] - start
        bits = table_bits(size)
        for slot in range(1 << bits):
            table[slot] = -1
        for j in range(size * width):
            sums[j] = 0.0
            sums[room * width + j] = 0.0
        for i in range(start, start + size):
            at = slot_of(code, i, words, joint, table, bits)
            if table[at] < 0:
                table[at] = i
            g = table[at] - start
            group[i - start] = g
            _add(sums, g, own, i, width)
        row = 0 if few == complete else K
        for i in range(begin[many], begin[many + 1]):
            g = table[slot_of(code, i, words, joint, table, bits)]
            if g >= 0:
                g -= start
                _add(gained, row + i, sums, g, width)
                _add(sums, room + g, own, i, width)
        row = 0 if many == complete else K
        for i in range(start, start + size):
            _add(gained, row + i, sums, room + group[i - start], width)
