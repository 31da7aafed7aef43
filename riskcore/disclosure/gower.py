"""The closest records by Gower's distance, among all pairs of queries and references.

Gower (1971): 1 for each category that differs, and for each number the gap over its
range. The codes of the queries are 0, 1, ..., those that no query has are one code: so
they fit into 16 bits, and a block of differences into the processor's vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Floats
from riskcore.common.scatter import selected
from riskcore.common.threads import in_parts, parts_of, usual_threads
from riskcore.core.compiled.jit import kernel, native
from riskcore.data.unsigned import Codes

Ints = NDArray[np.int64]
Columns = Sequence[Codes]  # the codes of a file, for each key shape (n,)

PAIRS = 1 << 31  # some seconds
MOST = 65_000  # queries: their codes have 16 bits
BLOCK = 2048  # references
_PARTS = 8


def affordable(n: int, references: int, columns: int, pairs: int = PAIRS) -> Ints:
    """Return rows of so many of n queries that there are at most so many pairs."""
    pairs = 10 * pairs // max(columns, 10)
    return selected(n, min(max(pairs // max(references, 1), 1), MOST))


class MixedRecords(NamedTuple):
    """Records of categories and numbers."""

    codes: Columns  # of each category, in the codes of all files, shape (n,)
    numbers: Floats  # shape (n, d); d may be 0

    @classmethod
    def of(cls, codes: Columns, numbers: Sequence[Floats]) -> MixedRecords:
        """Return the records of columns."""
        values = np.empty((len([*codes, *numbers][0]), len(numbers)))
        for j, column in enumerate(numbers):
            values[:, j] = column
        return cls(codes, values)

    def at(self, rows: Any) -> MixedRecords:
        """Return some of the records."""
        return MixedRecords([codes[rows] for codes in self.codes], self.numbers[rows])


def gower_scale(files: Sequence[Floats]) -> float:
    """Return 1 over the range of a number in all files, 0 if it does not vary."""
    there = [values[~np.isnan(values)] for values in files]
    high = max(float(values.max(initial=-math.inf)) for values in there)
    low = min(float(values.min(initial=math.inf)) for values in there)
    return 1.0 / (high - low) if high > low else 0.0


class Nearest(NamedTuple):
    """The two smallest distances of each query, and the references at the smallest."""

    first: Floats  # shape (n,)
    second: Floats  # infinite where there is no second record
    records: Ints  # how many references are at the first distance


def nearest_of_all(
    query: Columns,
    reference: Columns,
    levels: Sequence[int],
    numbers: tuple[Floats, Floats] | None = None,
    scale: Floats | None = None,
) -> Nearest:
    """Return the closest references by categories that differ and scaled gaps."""
    n, m = (len(values) for values in numbers or (query[0], reference[0]))
    d = len(levels)
    first, second = np.full((2, n), np.inf)
    records = np.zeros(n, np.int64)
    x, y = numbers or (np.zeros((n, 0)), np.zeros((m, 0)))
    asked, answers = np.ascontiguousarray(x), np.ascontiguousarray(y)
    wide = np.zeros(x.shape[1]) if scale is None else scale
    own, reference_codes = _in_few_bits(query, reference, levels)

    def look(start: int, stop: int) -> None:
        find_nearest(
            start, stop, n, m, d, x.shape[1], own, reference_codes, asked, answers,
            wide, np.empty(BLOCK, np.uint16), first, second, records,
        )  # fmt: skip

    in_parts(usual_threads(), look, parts_of(n, _PARTS))
    return Nearest(first, second, records)


def linked_by_halves(
    query: Columns, reference: Columns, levels: Sequence[int], half: int
) -> tuple[Ints, Ints, Ints]:
    """Return how many references are closest by the first keys, the rest, and both."""
    parts = slice(half), slice(half, None), slice(None)
    first, second, whole = (
        nearest_of_all(query[part], reference[part], levels[part]) for part in parts
    )
    both = np.where(whole.first == first.first + second.first, whole.records, 0)
    return first.records, second.records, both


def _in_few_bits(
    query: Columns, reference: Columns, levels: Sequence[int]
) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Return the codes in 16 bits, one row for each key; equal ones stay equal."""
    n, m = (len(columns[0]) if levels else 0 for columns in (query, reference))
    own = np.empty((len(levels), n), np.uint16)
    reference_codes = np.empty((len(levels), m), np.uint16)
    for j, (asked, column, k) in enumerate(zip(query, reference, levels, strict=True)):
        values = np.unique(asked)
        table = np.full(k, MOST, np.uint16)
        table[values] = np.arange(len(values))
        own[j], reference_codes[j] = table[asked], table[column]
    return own, reference_codes


@kernel
def count_apart(
    keys: int, q: int, n: int, own: Any, low: int, high: int, m: int,
    reference_codes: Any, apart: Any,
) -> None:  # fmt: skip
    """Write in how many keys each reference of a block differs from a query."""
    for i in range(high - low):
        apart[i] = 0
    for j in range(keys):
        code = own[j * n + q]
        row = j * m + low
        for i in range(high - low):
            apart[i] += reference_codes[row + i] != code


@kernel
def smallest(apart: Any, n: int) -> Any:
    """Return the smallest of n numbers."""
    least = apart[0]
    for i in range(1, n):
        least = min(least, apart[i])
    return least


@native(
    "int64, int64, int64, int64, int64, int64, uint16*, uint16*, float64*, float64*, "
    "float64*, uint16*, float64*, float64*, int64*"
)
def find_nearest(
    start: int, stop: int, n: int, m: int, keys: int, d: int, own: Any,
    reference_codes: Any, query: Any, reference: Any, scale: Any, apart: Any,
    first: Any, second: Any, records: Any,
) -> None:  # fmt: skip
    """Find the two smallest distances of queries, block by block of references."""
    for low in range(0, m, BLOCK):
        high = min(low + BLOCK, m)
        for q in range(start, stop):
            count_apart(keys, q, n, own, low, high, m, reference_codes, apart)
            least, next_least = first[q], second[q]
            number = records[q]
            limit = min(int(min(next_least, 1e9)), keys)
            if smallest(apart, high - low) > limit:
                continue
            for i in range(high - low):
                if apart[i] > limit:
                    continue
                x = float(apart[i])
                for j in range(d):
                    gap = abs(reference[(low + i) * d + j] - query[q * d + j])
                    if gap > 0.0:
                        x += min(gap * scale[j], 1.0)
                if x < least:
                    next_least = least
                    least = x
                    number = 1
                elif x == least:
                    next_least = x
                    number += 1
                elif x < next_least:
                    next_least = x
                limit = min(int(min(next_least, 1e9)), keys)
            first[q], second[q], records[q] = least, next_least, number
