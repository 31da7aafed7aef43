"""Count records by codes of up to 64 bits, in partitions that fit the cache.

The records are moved, in order, to partitions by the leading bits of their codes. In
each partition the distinct codes are numbered, and the weights are added in the order
of the records. To number the records, they are read in order again: the next record of
a partition is the next there. Only these two passes over all records leave the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import in_parts, in_threads, parts_of
from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.double_double import dd_add_positive
from riskcore.data.unsigned import Codes, combine, count_bits, load, store

CHUNK = 1 << 16  # records whose codes are combined at once: they stay in the cache
_MOST_BITS = 12  # at most 2**12 partitions: their open lines fit the L2 cache
_RECORD_BITS = 12  # about 2**12 records in a partition, if they are spread evenly
_DIGIT_BITS = 10  # bits of the digits by which a partition is sorted
_PIECES = 16  # pieces of work for each thread: partitions differ in size


class Numbered(NamedTuple):
    """The cells of records by their codes."""

    code: Codes  # of each cell, rising, shape (K,)
    frequency: NDArray[np.int64]  # shape (K,)
    weight_sum: NDArray[np.float64] | None  # shape (K,)
    inverse: NDArray[np.int32]  # the cell of each record, shape (n,)


def number_cells(
    codes: Sequence[Codes],
    widths: Sequence[int],
    weight: NDArray[np.float64] | None,
    threads: int,
) -> Numbered:
    """Count the records of each code, which has ``widths`` bits for each key."""
    n, bits = len(codes[0]), sum(widths)
    split = min(bits, max(n.bit_length() - _RECORD_BITS, 0), _MOST_BITS)
    split = max(split, bits - 63)  # shifts by 64 are not defined
    low = bits - split
    parts = parts_of(n, threads)
    sizes = np.zeros((len(parts), 1 << split), np.int64)
    code = _pack(codes, widths, low, sizes, parts)
    packed = code.ctypes.data, code.itemsize
    # Where each part puts its records: by partition, then by part.
    ends = np.cumsum(sizes.T).reshape(sizes.T.shape).T
    begins = np.ascontiguousarray(ends - sizes)
    begin = np.append(begins[0], n)
    moved = np.empty_like(code)
    partitions = moved.ctypes.data, moved.itemsize, begin
    weighted = weight is not None
    moved_weight = np.empty(n if weighted else 1)
    weights = np.ascontiguousarray(weight) if weighted else moved_weight

    def move(start: int, stop: int, position: NDArray[np.int64]) -> None:
        to = moved.ctypes.data, weights, weighted, moved_weight
        scatter(*packed, start, stop, low, position, *to)

    in_parts(threads, move, parts, begins.copy())
    rank = np.empty(n, np.uint32)
    cells = np.zeros(1 << split, np.int64)
    pieces = _pieces(begin, threads * _PIECES)

    def sort(first: int, last: int) -> None:
        most = int(np.diff(begin[first : last + 1]).max())
        key, number = np.empty(2 * most, np.uint64), np.empty(2 * most, np.uint32)
        scratch = key, number, most, np.empty(1 << _DIGIT_BITS, np.int64)
        rank_codes(*partitions, first, last, low, *scratch, rank, cells)

    in_threads(threads, sort, pieces)
    first_cell = np.concatenate([[0], np.cumsum(cells)])
    K = int(first_cell[-1])
    cell_code = np.empty(K, code.dtype)
    frequency = np.zeros(K, np.int64)
    sums = np.empty(K if weighted else 0)

    def add(first: int, last: int) -> None:
        to = cell_code.ctypes.data, frequency
        write_cells(*partitions, first, last, low, first_cell, rank, *to)
        if weighted:
            scratch = np.empty(2 * int(cells[first:last].max()))
            records = rank, moved_weight
            weigh_cells(begin, first, last, first_cell, *records, scratch, sums)

    in_threads(threads, add, pieces)
    # The code of a record is read before its cell is written in the same place.
    inverse = code.view(np.int32) if bits <= 32 else np.empty(n, np.int32)

    def number(start: int, stop: int, position: NDArray[np.int64]) -> None:
        number_records(*packed, start, stop, low, position, first_cell, rank, inverse)

    in_parts(threads, number, parts, begins)
    return Numbered(cell_code, frequency, sums if weighted else None, inverse)


def _pack(
    codes: Sequence[Codes],
    widths: Sequence[int],
    low: int,
    sizes: NDArray[np.int64],
    parts: list[tuple[int, int]],
) -> Codes:
    """Return the code of each record, and count the partitions of each part."""
    n, bits = len(codes[0]), sum(widths)
    code: Codes = np.empty(n, np.uint32 if bits <= 32 else np.uint64)
    radices = [1 << width for width in widths]

    def pack(start: int, stop: int, size: NDArray[np.int64]) -> None:
        block = np.empty(min(CHUNK, stop - start), np.uint64)
        for first in range(start, stop, CHUNK):
            last = min(first + CHUNK, stop)
            combine(codes, radices, first, last, block)
            code[first:last] = block[: last - first]
            count_partitions(code.ctypes.data, code.itemsize, first, last, low, size)

    in_parts(len(parts), pack, parts, sizes)
    return code


def _pieces(begin: NDArray[np.int64], number: int) -> list[tuple[int, int]]:
    """Cut the partitions into pieces of about the same number of records."""
    goals = [int(begin[-1]) * piece // number for piece in range(number)]
    edges = np.unique([*np.searchsorted(begin[:-1], goals), len(begin) - 1])
    return list(pairwise(edges.tolist()))


@native("uint64, int64, int64, int64, int64, int64*")
def count_partitions(
    code: int, size: int, start: int, stop: int, low: int, sizes: Any
) -> None:
    """Count the records of each partition."""
    for i in range(start, stop):
        sizes[load(code, size, i) >> np.uint64(low)] += 1


@kernel
def low_bits(code: Any, low: Any) -> Any:
    """Return the last bits of a code."""
    return code & ((np.uint64(1) << np.uint64(low)) - np.uint64(1))


@native("uint64, int64, int64, int64, int64, int64*, uint64, float64*, int64, float64*")
def scatter(
    code: int, size: int, start: int, stop: int, low: int, position: Any, to_code: int,
    weight: Any, weighted: int, to_weight: Any,
) -> None:  # fmt: skip
    """Move the last bits and the weight of each record to its partition."""
    for i in range(start, stop):
        whole = load(code, size, i)
        partition = whole >> np.uint64(low)
        to = position[partition]
        position[partition] = to + 1
        store(to_code, size, to, low_bits(whole, low))
        if weighted:
            to_weight[to] = weight[i]


@native(
    "uint64, int64, int64*, int64, int64, int64, "
    "uint64*, uint32*, int64, int64*, uint32*, int64*"
)
def rank_codes(
    code: int, size: int, begin: Any, first: int, last: int, low: int, key: Any,
    number: Any, most: int, histogram: Any, rank: Any, cells: Any,
) -> None:  # fmt: skip
    """Give numbers to the distinct codes of partitions, and move these to the front."""
    for partition in range(first, last):
        start = begin[partition]
        n = begin[partition + 1] - start
        if low < 36 and 1 << max(low - 6, 0) <= n:
            cell_count = rank_by_bits(code, size, start, n, low, key, number, rank)
        else:
            cell_count = rank_by_order(
                code, size, start, n, low, key, number, most, histogram, rank
            )
        cells[partition] = cell_count


@kernel
def rank_by_bits(
    code: int,
    size: int,
    start: int,
    n: int,
    low: int,
    word: Any,
    before: Any,
    rank: Any,
) -> int:
    """Give numbers to the codes of a partition, by the bits set before their own."""
    words = 1 << max(low - 6, 0)
    for w in range(words):
        word[w] = 0
    for i in range(start, start + n):
        c = load(code, size, i)
        word[c >> np.uint64(6)] |= np.uint64(1) << low_bits(c, 6)
    cells = 0
    for w in range(words):
        before[w] = cells
        cells += int(count_bits(word[w]))
    for i in range(start, start + n):
        c = load(code, size, i)
        smaller = low_bits(word[c >> np.uint64(6)], low_bits(c, 6))
        rank[i] = before[c >> np.uint64(6)] + count_bits(smaller)
    to = start
    for w in range(words):
        left = word[w]
        while left:
            lowest = count_bits((left - np.uint64(1)) & ~left)
            store(code, size, to, np.uint64(w) << np.uint64(6) | lowest)
            to += 1
            left &= left - np.uint64(1)
    return cells


@kernel
def rank_by_order(
    code: int, size: int, start: int, n: int, low: int, key: Any, record: Any,
    most: int, histogram: Any, rank: Any,
) -> int:  # fmt: skip
    """Give numbers to the codes of a partition by sorting them, digit by digit."""
    passes = (low + _DIGIT_BITS - 1) // _DIGIT_BITS
    width = (low + passes - 1) // passes if passes else 0
    for i in range(n):
        key[i] = load(code, size, start + i)
        record[i] = i
    source = 0
    target = most
    for done in range(passes):
        shift = np.uint64(done * width)
        for digit in range(1 << width):
            histogram[digit] = 0
        for i in range(source, source + n):
            histogram[low_bits(key[i] >> shift, width)] += 1
        before = target
        for digit in range(1 << width):
            records = histogram[digit]
            histogram[digit] = before
            before += records
        for i in range(source, source + n):
            here = key[i]
            digit = low_bits(here >> shift, width)
            to = histogram[digit]
            histogram[digit] = to + 1
            key[to] = here
            record[to] = record[i]
        source, target = target, source
    cell = -1
    for i in range(source, source + n):
        if i == source or key[i] != key[i - 1]:
            cell += 1
            store(code, size, start + cell, key[i])
        rank[start + record[i]] = cell
    return cell + 1


@native("uint64, int64, int64*, int64, int64, int64, int64*, uint32*, uint64, int64*")
def write_cells(
    code: int, size: int, begin: Any, first: int, last: int, low: int, first_cell: Any,
    rank: Any, cell_code: int, frequency: Any,
) -> None:  # fmt: skip
    """Write the code of each cell, and count its records."""
    for partition in range(first, last):
        start = begin[partition]
        cell = first_cell[partition]
        leading = np.uint64(partition) << np.uint64(low)
        for c in range(first_cell[partition + 1] - cell):
            store(cell_code, size, cell + c, leading | load(code, size, start + c))
        for i in range(start, begin[partition + 1]):
            frequency[cell + rank[i]] += 1


@native("int64*, int64, int64, int64*, uint32*, float64*, float64*, float64*")
def weigh_cells(
    begin: Any,
    first: int,
    last: int,
    first_cell: Any,
    rank: Any,
    weight: Any,
    sums: Any,
    weight_sum: Any,
) -> None:
    """Add the weights of the records of each cell; ``sums`` are double-doubles."""
    for partition in range(first, last):
        cell = first_cell[partition]
        cells = first_cell[partition + 1] - cell
        for c in range(2 * cells):
            sums[c] = 0.0
        for i in range(begin[partition], begin[partition + 1]):
            c = 2 * rank[i]
            sums[c], sums[c + 1] = dd_add_positive(sums[c], sums[c + 1], weight[i], 0.0)
        for c in range(cells):
            weight_sum[cell + c] = sums[2 * c]


@native("uint64, int64, int64, int64, int64, int64*, int64*, uint32*, int32*")
def number_records(
    code: int,
    size: int,
    start: int,
    stop: int,
    low: int,
    position: Any,
    first_cell: Any,
    rank: Any,
    inverse: Any,
) -> None:
    """Write the cell of each record, the next one of its partition."""
    for i in range(start, stop):
        partition = load(code, size, i) >> np.uint64(low)
        to = position[partition]
        position[partition] = to + 1
        inverse[i] = first_cell[partition] + rank[to]
