"""Counting: from one code per record and key to the cells of a file.

Two ways give the same cells. ``_count_dense`` keeps one counter per combination of
levels and reads the records once; it serves when the combinations are few.
``_count_sorted`` sorts the records by their combination (stable radix sort on 64-bit
codes) and serves any number of keys and levels.

Cells are in lexicographic order of their codes, first key slowest. Within a cell the
weights are added in double-double arithmetic, in an order that depends on the records
alone, so that the number of threads does not show in a single bit of the result.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import in_threads, usual_threads
from riskcore.compiled.jit import kernel, native, primitive
from riskcore.special.double_double import dd_add_positive
from riskcore.special.floats import BLOCK

Codes = NDArray[np.unsignedinteger[Any]]
Pairs = tuple[NDArray[np.uint64], NDArray[np.int32]]

# Records in one block of a Python loop: their codes stay in a 1 MiB L2 cache.
CHUNK = 1 << 16
# Below this many records starting a thread costs more than it saves.
THREADED = 100_000
# Counters of the dense way: 24 bytes each, two tables stay in the L3 cache.
DENSE = 1 << 19
# Digits of the radix sort: 2048 open cache lines still fit the L2 cache.
DIGIT_BITS = 11
CODE_BITS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The cells of a file, in lexicographic order of their codes.

    Attributes
    ----------
    codes : list of ndarray, each shape (K,)
        The code of each cell in each key, of the type of the records' codes.
    frequency : int64 ndarray, shape (K,)
        Records in each cell.
    weight_sum : float64 ndarray, shape (K,)
        Sum of their weights, within one unit in the last place; the frequency if
        there are no weights.
    inverse : int32 ndarray, shape (n,)
        The cell of each record.
    """

    codes: list[Codes]
    frequency: NDArray[np.int64]
    weight_sum: NDArray[np.float64]
    inverse: NDArray[np.int32]

    def of_groups(self, records: NDArray[np.int64]) -> Counts:
        """Return the cells of what was counted if each of it stands for many records.

        Parameters
        ----------
        records : int64 ndarray, shape (n,)
            How many records each stands for.
        """
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
    """Count the records, and add their weights, by distinct combination of codes.

    Parameters
    ----------
    codes : sequence of uint8, uint16 or uint32 ndarray, each shape (n,)
        One array per key, n at least 1.
    cardinalities : sequence of int
        For each key a number above all its codes.
    weight : float64 ndarray, shape (n,), optional
        Positive and finite.
    threads : int, optional
        At most this many; by default two, if the machine has them.

    Returns
    -------
    Counts
        The same bits whatever ``threads``.

    Raises
    ------
    ValueError
        If there are 2**31 records or more, the keys differ in length, or a code is
        out of range.

    Examples
    --------
    >>> import numpy as np
    >>> sex = np.array([1, 0, 1], dtype=np.uint8)
    >>> region = np.array([2, 0, 2], dtype=np.uint8)
    >>> cells = count([sex, region], [2, 3], np.array([10.0, 20.0, 0.5]))
    >>> cells.frequency, cells.weight_sum, cells.inverse
    (array([1, 2]), array([20. , 10.5]), array([1, 0, 1], dtype=int32))
    """
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
        return _count_dense(codes, cardinalities, weight, threads)
    return _count_sorted(codes, cardinalities, weight, threads)


def _count_dense(
    codes: Sequence[Codes],
    cardinalities: Sequence[int],
    weight: NDArray[np.float64] | None,
    threads: int,
) -> Counts:
    """Count with one counter per combination of levels."""
    n = len(codes[0])
    size = math.prod(cardinalities)
    # The parts depend on n alone: they fix the order of the additions.
    parts = _parts(n, 2 if n >= THREADED else 1)
    frequency = np.zeros((len(parts), size), np.int64)
    sums = np.zeros((len(parts), size, 2))
    inverse = np.empty(n, np.int32)

    def tally(first: int, last: int, counts: Any, highs_and_lows: Any) -> None:
        code = np.empty(min(CHUNK, last - first), np.uint64)
        for start, stop in _chunks(first, last):
            _combine(codes, cardinalities, start, stop, code)
            count_codes(code, stop - start, counts, inverse[start:stop])
            if weight is not None:
                add_weights(code, weight[start:stop], stop - start, highs_and_lows)

    _run(threads, tally, parts, frequency, sums)
    for more in sums[1:]:
        add_sums(more, size, sums[0])
    total = frequency.sum(axis=0)
    occupied = np.flatnonzero(total)
    rank = np.zeros(size, np.int32)
    rank[occupied] = np.arange(len(occupied), dtype=np.int32)
    _run(
        threads,
        lambda start, stop: renumber(rank, inverse[start:stop], stop - start),
        parts,
    )
    cell_codes: list[Codes] = []
    digits = occupied
    for column, radix in reversed(list(zip(codes, cardinalities, strict=True))):
        digits, digit = np.divmod(digits, radix)
        cell_codes.insert(0, digit.astype(column.dtype))
    return Counts(
        cell_codes,
        total[occupied],
        total[occupied].astype(np.float64)
        if weight is None
        else sums[0, occupied].sum(axis=1),
        inverse,
    )


def _count_sorted(
    codes: Sequence[Codes],
    cardinalities: Sequence[int],
    weight: NDArray[np.float64] | None,
    threads: int,
    code_bits: int = CODE_BITS,
) -> Counts:
    """Count by sorting; keys that exceed ``code_bits`` together go in steps.

    A step numbers the cells of as many leading keys as fit; their number then stands
    for those keys.
    """
    widths = [max(1, int(levels - 1).bit_length()) for levels in cardinalities]
    fitting = sum(total <= code_bits for total in accumulate(widths))
    if fitting == len(codes):
        return _sort_once(codes, widths, weight, threads)
    head = _sort_once(codes[:fitting], widths[:fitting], None, threads)
    rest = _count_sorted(
        [head.inverse.view(np.uint32), *codes[fitting:]],
        [len(head.frequency), *cardinalities[fitting:]],
        weight,
        threads,
        code_bits,
    )
    number = rest.codes[0]
    return Counts(
        [code[number] for code in head.codes] + rest.codes[1:],
        rest.frequency,
        rest.weight_sum,
        rest.inverse,
    )


def _sort_once(
    codes: Sequence[Codes],
    widths: Sequence[int],
    weight: NDArray[np.float64] | None,
    threads: int,
) -> Counts:
    """Count by one sort on the keys' bit fields, which fit in 64 bits."""
    n = len(codes[0])
    parts = _parts(n, threads)
    code, record = np.empty(n, np.uint64), np.empty(n, np.int32)
    radices = [1 << width for width in widths]

    def combine(start: int, stop: int) -> None:
        _combine(codes, radices, start, stop, code[start:stop])
        record[start:stop] = np.arange(start, stop, dtype=np.int32)

    _run(threads, combine, parts)
    (code, record), (spare, inverse) = _radix_sort(code, record, sum(widths), threads)
    begin = _begin_cells(code, record, inverse, threads)
    frequency = np.diff(begin)
    return Counts(
        _cell_codes(code, begin, codes, widths, threads),
        frequency,
        frequency.astype(np.float64)
        if weight is None
        else _cell_sums(record, begin, weight, spare.view(np.float64), threads),
        inverse,
    )


def _radix_sort(
    code: NDArray[np.uint64], record: NDArray[np.int32], bits: int, threads: int
) -> tuple[Pairs, Pairs]:
    """Sort records by code, stably; also return the spare arrays."""
    source, target = (code, record), (np.empty_like(code), np.empty_like(record))
    passes = -(-bits // DIGIT_BITS)
    width = -(-bits // passes)
    for shift in range(0, bits, width):
        _sort_digit(source, target, shift, width, threads)
        source, target = target, source
    return source, target


def _sort_digit(
    source: Pairs, target: Pairs, shift: int, width: int, threads: int
) -> None:
    """Move the records to the target in the order of one digit of their codes."""
    code, record = source
    parts = _parts(len(code), threads)
    sizes = np.zeros((len(parts), 1 << width), np.int64)
    _run(
        threads,
        lambda start, stop, size: count_digits(code, start, stop, shift, width, size),
        parts,
        sizes,
    )
    # Where each part puts its records of each digit: by digit, then by part.
    ends = np.cumsum(sizes.T).reshape(sizes.T.shape).T
    _run(
        threads,
        lambda start, stop, position: scatter(
            code, record, start, stop, shift, width, position, *target
        ),
        parts,
        np.ascontiguousarray(ends - sizes),
    )


def _begin_cells(
    code: NDArray[np.uint64],
    record: NDArray[np.int32],
    inverse: NDArray[np.int32],
    threads: int,
) -> NDArray[np.int64]:
    """Return where each cell begins, and the end; write the cell of each record."""
    n = len(code)
    parts = _parts(n, threads)
    cells = np.zeros((len(parts), 1), np.int64)
    _run(
        threads,
        lambda start, stop, number: count_boundaries(code, start, stop, number),
        parts,
        cells,
    )
    before = [0, *accumulate(int(number) for number in cells[:, 0])]
    begin = np.empty(before[-1] + 1, np.int64)
    begin[-1] = n
    _run(
        threads,
        lambda start, stop, first: number_cells(
            code, record, start, stop, first, begin, inverse
        ),
        parts,
        before[:-1],
    )
    return begin


def _cell_codes(
    code: NDArray[np.uint64],
    begin: NDArray[np.int64],
    codes: Sequence[Codes],
    widths: Sequence[int],
    threads: int,
) -> list[Codes]:
    """Take the keys' codes of each cell out of its bit fields."""
    cells = len(begin) - 1
    out = [np.empty(cells, column.dtype) for column in codes]
    shifts = [np.uint64(sum(widths) - end) for end in accumulate(widths)]
    masks = [np.uint64((1 << width) - 1) for width in widths]

    def extract(first: int, last: int) -> None:
        for start, stop in _chunks(first, last):
            block = code[begin[start:stop]]
            for column, shift, mask in zip(out, shifts, masks, strict=True):
                column[start:stop] = (block >> shift) & mask

    _run(threads, extract, _parts(cells, threads))
    return out


def _cell_sums(
    record: NDArray[np.int32],
    begin: NDArray[np.int64],
    weight: NDArray[np.float64],
    ordered: NDArray[np.float64],
    threads: int,
) -> NDArray[np.float64]:
    """Add the weights of each cell, put into sorted order first."""
    _run(
        threads,
        lambda start, stop: gather(record, weight, start, stop, ordered),
        _parts(len(record), threads),
    )
    sums = np.empty(len(begin) - 1)
    _run(
        threads,
        lambda start, stop: sum_cells(begin, ordered, start, stop, sums),
        _parts(len(sums), threads),
    )
    return sums


def _combine(
    codes: Sequence[Codes],
    radices: Sequence[int],
    start: int,
    stop: int,
    out: NDArray[np.uint64],
) -> None:
    """Write the mixed-radix number of each record from ``start`` to ``stop``."""
    combine_codes(
        np.array([column.ctypes.data for column in codes], np.uint64),
        np.array([column.itemsize for column in codes], np.int64),
        np.array(radices, np.uint64),
        len(codes),
        start,
        stop,
        out,
    )


def _parts(n: int, number: int) -> list[tuple[int, int]]:
    """Cut ``range(n)`` into ``number`` parts."""
    edges = [n * part // number for part in range(number + 1)]
    return list(pairwise(edges))


def _chunks(start: int, stop: int) -> Iterator[tuple[int, int]]:
    for block in range(start, stop, CHUNK):
        yield block, min(block + CHUNK, stop)


def _run(
    threads: int,
    work: Callable[..., None],
    parts: Sequence[tuple[int, int]],
    *more: Sequence[Any] | NDArray[Any],
) -> None:
    """Call ``work(start, stop, ...)`` on each part, on several threads if asked to."""
    calls = [(*part, *rest) for part, *rest in zip(parts, *more, strict=True)]
    in_threads(threads, work, calls)


def _emit_load(bits: int) -> Callable[..., Any]:
    def emit(builder: Any, address: Any, i: Any) -> Any:
        from llvmlite import ir

        number: Any = ir.IntType
        start = builder.inttoptr(address, number(bits).as_pointer())
        return builder.zext(builder.load(builder.gep(start, [i])), number(64))

    return emit


@primitive("uint64(uint64, int64)", _emit_load(8))
def load_uint8(address: int, i: int) -> int:
    """Return element ``i`` of the bytes at ``address``."""
    return ctypes.c_uint8.from_address(address + i).value


@primitive("uint64(uint64, int64)", _emit_load(16))
def load_uint16(address: int, i: int) -> int:
    """Return element ``i`` of the 16-bit numbers at ``address``."""
    return ctypes.c_uint16.from_address(address + 2 * i).value


@primitive("uint64(uint64, int64)", _emit_load(32))
def load_uint32(address: int, i: int) -> int:
    """Return element ``i`` of the 32-bit numbers at ``address``."""
    return ctypes.c_uint32.from_address(address + 4 * i).value


@primitive("uint64(uint64, int64)", _emit_load(64))
def load_uint64(address: int, i: int) -> int:
    """Return element ``i`` of the 64-bit numbers at ``address``."""
    return ctypes.c_uint64.from_address(address + 8 * i).value


@kernel
def load(address: int, size: int, i: int) -> int:
    """Return element ``i`` of the unsigned numbers of ``size`` bytes at ``address``."""
    if size == 1:
        return load_uint8(address, i)
    if size == 2:
        return load_uint16(address, i)
    if size == 4:
        return load_uint32(address, i)
    return load_uint64(address, i)


@native("uint64, int64, uint64, int64, uint8*")
def mark_levels(column: int, size: int, origin: int, n: int, seen: Any) -> None:
    """Mark the numbers that occur, counted from ``origin``."""
    mask = origin_mask(size)
    for i in range(n):
        seen[(load(column, size, i) - origin) & mask] = 1


@native("uint64, int64, uint64, int64, uint32*, uint32*")
def rank_levels(
    column: int, size: int, origin: int, n: int, rank: Any, codes: Any
) -> None:
    """Write the rank of each number, given by number from ``origin`` on."""
    mask = origin_mask(size)
    for i in range(n):
        codes[i] = rank[(load(column, size, i) - origin) & mask]


@kernel
def origin_mask(size: int) -> Any:
    """Return the largest unsigned number of ``size`` bytes."""
    return np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 8 * size)


@native("uint64*, int64*, uint64*, int64, int64, int64, uint64*")
def combine_codes(
    address: Any, size: Any, radix: Any, keys: int, start: int, stop: int, code: Any
) -> None:
    """Write the mixed-radix number of the keys' codes of each record."""
    for first in range(start, stop, BLOCK):
        last = first + BLOCK if first + BLOCK < stop else stop
        for i in range(first, last):
            code[i - start] = 0
        for key in range(keys):
            column = address[key]
            bytes_each = size[key]
            r = radix[key]
            for i in range(first, last):
                code[i - start] = code[i - start] * r + load(column, bytes_each, i)


@native("uint64*, int64, int64*, int32*")
def count_codes(code: Any, n: int, frequency: Any, record_code: Any) -> None:
    """Count each code, and keep the codes of the records."""
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


@kernel
def digit_of(code: Any, shift: int, width: int) -> Any:
    """Return ``width`` bits of a code from bit ``shift`` on."""
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    return (code >> np.uint64(shift)) & mask


@native("uint64*, int64, int64, int64, int64, int64*")
def count_digits(
    code: Any, start: int, stop: int, shift: int, width: int, sizes: Any
) -> None:
    """Count the records of each digit."""
    for i in range(start, stop):
        sizes[digit_of(code[i], shift, width)] += 1


@native("uint64*, int32*, int64, int64, int64, int64, int64*, uint64*, int32*")
def scatter(
    code: Any,
    record: Any,
    start: int,
    stop: int,
    shift: int,
    width: int,
    position: Any,
    to_code: Any,
    to_record: Any,
) -> None:
    """Move each record to the next position of its digit."""
    for i in range(start, stop):
        digit = digit_of(code[i], shift, width)
        to = position[digit]
        to_code[to] = code[i]
        to_record[to] = record[i]
        position[digit] = to + 1


@native("uint64*, int64, int64, int64*")
def count_boundaries(code: Any, start: int, stop: int, cells: Any) -> None:
    """Count the cells that begin between ``start`` and ``stop``."""
    number = 0
    for i in range(start, stop):
        number += i == 0 or code[i] != code[i - 1]
    cells[0] = number


@native("uint64*, int32*, int64, int64, int64, int64*, int32*")
def number_cells(
    code: Any, record: Any, start: int, stop: int, before: int, begin: Any, inverse: Any
) -> None:
    """Give numbers from ``before`` on to the cells that begin here, and records."""
    cell = before - 1
    for i in range(start, stop):
        if i == 0 or code[i] != code[i - 1]:
            cell += 1
            begin[cell] = i
        inverse[record[i]] = cell


@native("int32*, float64*, int64, int64, float64*")
def gather(record: Any, weight: Any, start: int, stop: int, to: Any) -> None:
    """Put the weights into sorted order."""
    for i in range(start, stop):
        to[i] = weight[record[i]]


@native("int64*, float64*, int64, int64, float64*")
def sum_cells(begin: Any, weight: Any, start: int, stop: int, sums: Any) -> None:
    """Add the sorted weights of each cell in double-double arithmetic."""
    for cell in range(start, stop):
        high = 0.0
        low = 0.0
        for i in range(begin[cell], begin[cell + 1]):
            high, low = dd_add_positive(high, low, weight[i], 0.0)
        sums[cell] = high
