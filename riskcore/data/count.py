"""Count records by distinct combinations of codes: the cells of a file.

Two ways give the same cells: ``count_dense``, one counter per combination of levels,
if there are few, and ``count_partitioned``, for any number of keys and levels. Cells
are in lexicographic order of their codes, first key slowest. The weights of a cell are
added in double-double arithmetic, in an order that depends on the records alone: the
number of threads changes no bit of the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import THREADED, in_parts, over, parts_of, usual_threads
from riskcore.core.compiled.jit import native
from riskcore.core.special.double_double import dd_add_positive
from riskcore.data.partition import CHUNK, number_cells
from riskcore.data.unsigned import Codes, combine

# Counters of the dense way: 24 bytes each, two tables stay in the L3 cache.
DENSE = 1 << 19
CODE_BITS = 64


class CellCodes(Sequence[Codes]):
    """The codes of the cells by key, which ``makers`` compute when asked: slowly."""

    def __init__(self, makers: Sequence[Callable[[], Codes]]) -> None:
        self._makers = makers
        self._made: dict[int, Codes] = {}

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._makers)

    def __getitem__(self, key: int) -> Codes:  # type: ignore[override]
        """Return the codes of one key, by its position."""
        key = range(len(self))[key]
        if key not in self._made:
            self._made[key] = self._makers[key]()
        return self._made[key]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The cells of a file, in lexicographic order of their codes."""

    codes: CellCodes  # for each key shape (K,), of the type of the records' codes
    frequency: NDArray[np.int64]  # records in each cell, shape (K,)
    # Sum of their weights within 1 ulp, shape (K,); the frequency without weights.
    weight_sum: NDArray[np.float64]
    inverse: NDArray[np.int32]  # the cell of each record, shape (n,)

    def of_groups(self, records: NDArray[np.int64]) -> Counts:
        """Return the cells of rows that stand for ``records`` records each."""
        frequency = np.zeros(len(self.frequency), np.int64)
        np.add.at(frequency, self.inverse, records)
        return replace(self, frequency=frequency)


def count(
    codes: Sequence[Codes],
    cardinalities: Sequence[int],
    weight: NDArray[np.float64] | None = None,
    *,
    threads: int | None = None,
) -> Counts:
    """Count the records, and add their weights, by distinct combination of codes."""
    n = len(codes[0])
    if n >= 1 << 31:
        raise ValueError(f"{n} records: at most 2**31 - 1 can be counted at once")
    if any(len(column) != n for column in codes):
        raise ValueError("the keys differ in length")
    if any(int(c.max()) >= k for c, k in zip(codes, cardinalities, strict=True)):
        raise ValueError("a code is not below the cardinality of its key")
    codes = [np.ascontiguousarray(column) for column in codes]
    if threads is None:
        threads = usual_threads()
    if n < THREADED:
        threads = 1
    if math.prod(cardinalities) <= min(DENSE, 4 * n + 64):
        return count_dense(codes, cardinalities, weight, threads)
    return count_partitioned(codes, cardinalities, weight, threads)


def count_dense(
    codes: Sequence[Codes],
    cardinalities: Sequence[int],
    weight: NDArray[np.float64] | None,
    threads: int,
) -> Counts:
    """Count with one counter per combination of levels."""
    n = len(codes[0])
    size = math.prod(cardinalities)
    # The parts depend on n alone: they fix the order of the additions.
    parts = parts_of(n, 2 if n >= THREADED else 1)
    frequency = np.zeros((len(parts), size), np.int64)
    sums = np.zeros((len(parts), size, 2))
    inverse = np.empty(n, np.int32)

    def tally(first: int, last: int, counts: Any, highs_and_lows: Any) -> None:
        code = np.empty(min(CHUNK, last - first), np.uint64)
        for start in range(first, last, CHUNK):
            stop = min(start + CHUNK, last)
            combine(codes, cardinalities, start, stop, code)
            count_codes(code, stop - start, counts, inverse[start:stop])
            if weight is not None:
                add_weights(code, weight[start:stop], stop - start, highs_and_lows)

    in_parts(threads, tally, parts, frequency, sums)
    for more in sums[1:]:
        add_sums(more, size, sums[0])
    total = frequency.sum(axis=0)
    occupied = np.flatnonzero(total)
    rank = np.zeros(size, np.int32)
    rank[occupied] = np.arange(len(occupied), dtype=np.int32)
    in_parts(
        threads,
        lambda start, stop: renumber(rank, inverse[start:stop], stop - start),
        parts,
    )
    units = [math.prod(cardinalities[key:]) for key in range(1, len(codes) + 1)]
    makers = [
        partial(_digit, occupied, unit, radix, column.dtype)
        for unit, radix, column in zip(units, cardinalities, codes, strict=True)
    ]
    records = total[occupied]
    if weight is None:
        return Counts(CellCodes(makers), records, records.astype(np.float64), inverse)
    return Counts(CellCodes(makers), records, sums[0, occupied].sum(axis=1), inverse)


def _digit(number: NDArray[np.int64], unit: int, radix: int, dtype: Any) -> Codes:
    """Return one digit of mixed-radix numbers."""
    return (number // unit % radix).astype(dtype)


def count_partitioned(
    codes: Sequence[Codes],
    cardinalities: Sequence[int],
    weight: NDArray[np.float64] | None,
    threads: int,
    code_bits: int = CODE_BITS,
) -> Counts:
    """Count by partitions; leading keys beyond ``code_bits`` bits become a number."""
    widths = [max(1, int(levels - 1).bit_length()) for levels in cardinalities]
    fitting = sum(total <= code_bits for total in accumulate(widths))
    if fitting == len(codes):
        return _number(codes, widths, weight, threads)
    head = _number(codes[:fitting], widths[:fitting], None, threads)
    rest = count_partitioned(
        [head.inverse.view(np.uint32), *codes[fitting:]],
        [len(head.frequency), *cardinalities[fitting:]],
        weight,
        threads,
        code_bits,
    )
    # The first code of the rest is the cell of the leading keys.
    makers: list[Callable[[], Codes]] = [
        *(partial(_leading, head.codes, rest.codes, key) for key in range(fitting)),
        *(partial(rest.codes.__getitem__, key) for key in range(1, len(rest.codes))),
    ]
    return replace(rest, codes=CellCodes(makers))


def _leading(head: CellCodes, rest: CellCodes, key: int) -> Codes:
    """Return the codes of one of the leading keys."""
    return head[key][rest[0]]


def _number(
    codes: Sequence[Codes],
    widths: Sequence[int],
    weight: NDArray[np.float64] | None,
    threads: int,
) -> Counts:
    """Count the cells of keys that have at most 64 bits together."""
    cells = number_cells(codes, widths, weight, threads)
    makers = [
        partial(_unpacked, cells.code, sum(widths) - end, width, column.dtype)
        for column, width, end in zip(codes, widths, accumulate(widths), strict=True)
    ]
    sums, records = cells.weight_sum, cells.frequency
    sums = records.astype(np.float64) if sums is None else sums
    return Counts(CellCodes(makers), records, sums, cells.inverse)


def _unpacked(packed: Codes, shift: int, width: int, dtype: Any) -> Codes:
    """Return the bits of one key from packed codes."""
    out = np.empty(len(packed), dtype)
    unsigned = packed.dtype.type

    def unpack(first: int, last: int) -> None:
        for start in range(first, last, CHUNK):
            block = packed[start : min(start + CHUNK, last)]
            bits = (block >> unsigned(shift)) & unsigned((1 << width) - 1)
            out[start : start + len(block)] = bits

    over(len(packed), unpack)
    return out


@native("uint64*, int64, int64*, int32*")
def count_codes(code: Any, n: int, frequency: Any, record_code: Any) -> None:
    """Count each code, and copy it to ``record_code``."""
    for i in range(n):
        frequency[code[i]] += 1
        record_code[i] = code[i]


@native("uint64*, float64*, int64, float64*")
def add_weights(code: Any, weight: Any, n: int, sums: Any) -> None:
    """Add each weight to the double-double sum of its code."""
    for i in range(n):
        c = 2 * code[i]
        sums[c], sums[c + 1] = dd_add_positive(sums[c], sums[c + 1], weight[i], 0.0)


@native("float64*, int64, float64*")
def add_sums(more: Any, size: int, sums: Any) -> None:
    """Add one table of double-double sums to another."""
    for i in range(0, 2 * size, 2):
        sums[i], sums[i + 1] = dd_add_positive(
            sums[i], sums[i + 1], more[i], more[i + 1]
        )


@native("int32*, int32*, int64")
def renumber(rank: Any, code: Any, n: int) -> None:
    """Replace each code by its rank."""
    for i in range(n):
        code[i] = rank[code[i]]


@native("int64*, float64*, int64, int64, float64*")
def sum_cells(begin: Any, weight: Any, start: int, stop: int, sums: Any) -> None:
    """Add the sorted weights of each cell in double-double arithmetic."""
    for cell in range(start, stop):
        high = 0.0
        low = 0.0
        for i in range(begin[cell], begin[cell + 1]):
            high, low = dd_add_positive(high, low, weight[i], 0.0)
        sums[cell] = high
