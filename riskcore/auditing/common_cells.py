"""Cells of key variables that two or more files share.

Files are given as codes of the same labels: a file is one array of codes for each key,
``levels`` the number of labels of each key. Records are sorted by their codes, or
looked up in a table of them; pairs of records are never compared.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import in_parts, parts_of, usual_threads
from riskcore.core.compiled.jit import kernel, native
from riskcore.data.count import THREADED, count
from riskcore.data.unsigned import Codes, combine

Ints = NDArray[np.int64]
Columns = Sequence[Codes]  # the codes of a file, for each key shape (n,)
_MOST_CODES = 1 << 64  # of combinations that have a number


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


class Targets(NamedTuple):
    """The values of a target within the cells of an original and a released file."""

    keys: CommonCells  # of the original and the released file
    cell: Ints  # the cell of each pair of keys and value, shape (P,)
    value: Ints  # its value, shape (P,)
    original: Ints  # records of the original with these keys and this value
    released: Ints

    @property
    def in_original(self) -> Ints:
        """Records of the original in the cell of each pair."""
        return self.keys.records[0][self.cell]

    @property
    def in_released(self) -> Ints:
        """Released records in the cell of each pair."""
        return self.keys.records[1][self.cell]


def count_targets(
    keys: CommonCells, original: Codes, released: Codes, values: int
) -> Targets:
    """Return the records of each pair of a cell and a value of the target."""
    cells = [one.view(np.uint32) for one in keys.cell]
    columns = [np.concatenate(cells), np.concatenate([original, released])]
    found = count(columns, [len(keys.records[0]), values])
    n = len(found.frequency)
    pairs = np.split(found.inverse, [len(original)])
    first, second = (np.bincount(one, minlength=n) for one in pairs)
    cell, value = (found.codes[key].astype(np.int64) for key in (0, 1))
    return Targets(keys, cell, value, first, second)


class Located(NamedTuple):
    """In which cell queries and references are, by the keys that are looked at."""

    query: NDArray[np.int32]
    reference: NDArray[np.int32]  # -1 where no query is in its cell
    cells: int


def locate(
    query: Columns, reference: Columns, levels: Sequence[int], kept: Sequence[int]
) -> Located:
    """Return the cells of queries by the kept keys, and the references in them."""
    n, m = len(query[0]), len(reference[0])
    if not kept:
        return Located(np.zeros(n, np.int32), np.zeros(m, np.int32), 1)
    few = [levels[key] for key in kept]
    files = [[one[key] for key in kept] for one in (query, reference)]
    if math.prod(few) >= _MOST_CODES:
        records, cell = count_cells(files, few)
        number = np.cumsum(records[0] > 0, dtype=np.int32) - np.int32(1)
        number[records[0] == 0] = -1
        return Located(
            number[cell[0]], number[cell[1]], int(number.max(initial=-1)) + 1
        )
    asked, known = (_combined(columns, few) for columns in files)
    bits = max(2 * n - 1, 1).bit_length()
    slot = np.full(1 << bits, -1, np.int32)
    code = np.empty(1 << bits, np.uint64)
    first, second = np.empty(n, np.int32), np.empty(m, np.int32)
    enter_codes(asked, n, bits, code, slot, first)

    def look(start: int, stop: int) -> None:
        look_up_codes(known, start, stop, bits, code, slot, second)

    in_parts(usual_threads(), look, parts_of(m, 2 if m >= THREADED else 1))
    return Located(first, second, int(first.max(initial=-1)) + 1)


def _combined(columns: Columns, levels: Sequence[int]) -> NDArray[np.uint64]:
    """Return one number for the codes of each record."""
    code = np.empty(len(columns[0]), np.uint64)
    whole = [*map(np.ascontiguousarray, columns)]
    parts = parts_of(len(code), 2 if len(code) >= THREADED else 1)
    in_parts(
        usual_threads(),
        lambda start, stop: combine(whole, levels, start, stop, code[start:stop]),
        parts,
    )
    return code


@kernel
def place_of(code: Any, bits: int) -> Any:
    """Return where to look for a code first: the upper bits of a product."""
    mixed = np.uint64(code) * np.uint64(0x9E3779B97F4A7C15)
    return mixed >> np.uint64(64 - bits)


@native("uint64*, int64, int64, uint64*, int32*, int32*")
def enter_codes(asked: Any, n: int, bits: int, code: Any, slot: Any, cell: Any) -> None:
    """Enter the distinct codes into a table of 2^bits places, and number them."""
    one = np.uint64(1)
    last = (one << np.uint64(bits)) - one
    cells = 0
    for i in range(n):
        at = place_of(asked[i], bits)
        while slot[at] >= 0 and code[at] != asked[i]:
            at = (at + one) & last
        if slot[at] < 0:
            slot[at] = cells
            code[at] = asked[i]
            cells += 1
        cell[i] = slot[at]


@native("uint64*, int64, int64, int64, uint64*, int32*, int32*")
def look_up_codes(
    known: Any, start: int, stop: int, bits: int, code: Any, slot: Any, cell: Any
) -> None:
    """Write the number of each code, -1 for one that is not in the table."""
    one = np.uint64(1)
    last = (one << np.uint64(bits)) - one
    for i in range(start, stop):
        at = place_of(known[i], bits)
        while slot[at] >= 0 and code[at] != known[i]:
            at = (at + one) & last
        cell[i] = slot[at]
