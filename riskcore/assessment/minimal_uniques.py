"""Minimal sample uniques: the smallest sets of keys that single a record out.

A record is unique on a set of keys if no other record has the same values of all these
keys. The set is minimal if the record is not unique on any smaller part of it. Records
that are not yet unique are kept in groups of equal values; one more key splits the
groups, and a record left alone is unique. So each set of keys is visited once, after
all its subsets, and only with the records that are not unique yet.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.core.compiled.jit import kernel, native
from riskcore.data.unsigned import Codes, load

# Sets of keys are the bits of a word.
MOST_KEYS = 64
# Instead of the place where the members of a group go.
_SINGLE, _DROPPED = -1, -2
_CODES = 2  # in the array of sizes, the start of the codes of a group
# A search may look this often at cells and their known sets: ten minutes to an hour.
MOST_LOOKS = 1e11
LOOKS_OF_SET = 500  # further cost of a set of keys, in looks
_PROBES = 200  # random paths that estimate the looks
_REPORTS = 1000  # of the progress of a search
Words = NDArray[np.uint64]
Members = NDArray[np.int32]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class MinimalUniques:
    """Pairs of a cell and a minimal set of keys on which its record is unique.

    Attributes
    ----------
    cell : int32 ndarray, shape (Q,)
        Cells of one record each, rising.
    keys : uint64 ndarray, shape (Q,)
        Bit j stands for key j; rising within each cell.
    """

    cell: Members
    keys: Words

    @property
    def size(self) -> Numbers:
        """The number of keys of each set, shape (Q,)."""
        return np.bitwise_count(self.keys).astype(np.int64)


def minimal_uniques(
    codes: Sequence[Codes],
    levels: Sequence[int],
    frequency: Numbers,
    max_size: int,
    progress: Callable[[int, int], None] | None = None,
) -> MinimalUniques:
    """Find the minimal sets of keys on which records are unique."""
    if len(frequency) == 1:  # a single record is unique on any key
        unique_keys = range(len(codes) if frequency[0] == 1 else 0)
        words = np.array([1 << key for key in unique_keys], np.uint64)
        return MinimalUniques(np.zeros(len(words), np.int32), words)
    # Keys of many levels first: they leave few records in groups. A key with one value
    # is in no minimal set.
    order = sorted(range(len(codes)), key=lambda key: levels[key])
    order = [key for key in order if levels[key] > 1]
    columns = [np.ascontiguousarray(codes[key]) for key in order]
    search = Search(columns, [levels[key] for key in order], frequency, max_size)
    search.refuse_endless()
    search.run(progress)
    number = int(search.pairs[0])
    cell, bit_sets = search.cell[:number], search.keys[:number]
    keys = np.zeros_like(bit_sets)
    for bit, key in enumerate(order):
        keys |= ((bit_sets >> np.uint64(bit)) & np.uint64(1)) << np.uint64(key)
    by_cell = np.lexsort((keys, cell))
    return MinimalUniques(cell[by_cell], keys[by_cell])


class Splitter:
    """Splits groups of members by the codes of one more column.

    ``alone`` is 1 for members that count as single when they are left alone; a group
    without such members is dropped.
    """

    def __init__(self, alone: NDArray[np.uint8], levels: int) -> None:
        self.alone = alone
        self.counter = np.zeros(2 * levels, np.int64)
        self.single = np.empty(len(alone), np.int32)
        # Numbers of groups and of single members; then room for a group's codes.
        self.sizes = np.zeros(_CODES + levels, np.int64)

    def split(
        self, column: Codes, members: Members, begin: Numbers, deeper: bool = True
    ) -> tuple[Members, Numbers, Members]:
        """Return the members of the groups, where these begin, and single members."""
        to_members = np.empty(len(members), np.int32)
        to_begin = np.empty(len(members) // 2 + 2, np.int64)
        split_groups(
            column.ctypes.data, column.itemsize, members, begin, len(begin) - 1,
            self.alone, self.counter, int(deeper), to_members, to_begin, self.single,
            self.sizes,
        )  # fmt: skip
        groups, singles = self.sizes[:2].tolist()
        to_begin = to_begin[: groups + 1]
        return to_members[: to_begin[-1]], to_begin, self.single[:singles]


class Search:
    """The walk through the sets of keys, in the order of their bit patterns.

    A set grows only by keys of lower bits, the lowest first. So every set comes after
    all its subsets, whose bit patterns are smaller numbers.
    """

    def __init__(
        self,
        columns: Sequence[Codes],
        levels: Sequence[int],
        frequency: Numbers,
        max_size: int,
    ) -> None:
        K = len(frequency)
        self.columns, self.max_size = columns, max_size
        self.splitter = Splitter((frequency == 1).astype(np.uint8), max(levels))
        self.last = np.full(K, -1, np.int64)
        self.before = np.empty(K, np.int64)
        self.keys = np.empty(K, np.uint64)
        self.cell = np.empty(K, np.int32)
        self.pairs = np.zeros(1, np.int64)  # of a cell and a set, found so far
        members = np.arange(K, dtype=np.int32)
        self.start = members, np.array([0, K], np.int64)

    def run(self, progress: Callable[[int, int], None] | None) -> None:
        """Visit all sets."""
        self.progress = progress
        self.whole = _sets(len(self.columns), self.max_size)
        self.done = self.reported = 0
        self._extend(0, len(self.columns), 0, *self.start)

    def _report(self, sets: int) -> None:
        """Count sets that are done, and report progress now and then."""
        self.done += sets
        if (
            self.progress is not None
            and self.done * _REPORTS >= self.reported * self.whole
        ):
            self.progress(self.done, self.whole)
            self.reported = self.done * _REPORTS // self.whole + 1

    def refuse_endless(self) -> None:
        """Refuse a search that would take too long."""
        looks = self._looks(self.max_size)
        if looks <= MOST_LOOKS:
            return
        m = len(self.columns)
        fits = 1
        while fits + 1 < self.max_size and self._looks(fits + 1) <= MOST_LOOKS:
            fits += 1
        raise ValueError(
            f"{m} keys have {_sets(m, self.max_size):,.4g} sets of up to "
            f"{min(m, self.max_size)}, and trying them would take some {looks:.0e} "
            f"steps; the limit is {MOST_LOOKS:.0e}, up to two hours: "
            f"give max_size={fits}, or fewer keys"
        )

    def _looks(self, max_size: int) -> float:
        """Estimate how often cells, and their known sets, will be looked at."""
        draw = random.Random(0)
        paths = [self._path(draw, max_size) for _ in range(_PROBES)]
        looks, found = (sum(column) / _PROBES for column in zip(*paths, strict=True))
        # Each set that is found is compared with all earlier ones.
        return float(
            looks + found * found / (2 * max(int(self.splitter.alone.sum()), 1))
        )

    def _path(self, draw: random.Random, max_size: int) -> tuple[float, float]:
        """Estimate the looks and the sets found from one random path."""
        (members, begin), lowest = self.start, len(self.columns)
        looks, found, weight = 0.0, 0.0, 1.0
        for size in range(1, max_size + 1):
            looks += weight * lowest * (len(members) + LOOKS_OF_SET)
            below = [1.0 + _sets(bit, max_size - size) for bit in range(lowest)]
            bit = draw.choices(range(lowest), below)[0]
            weight *= sum(below) / below[bit]
            column = self.columns[bit]
            members, begin, single = self.splitter.split(column, members, begin)
            found += weight * len(single)
            lowest = bit
            if not len(members) or lowest == 0:
                break
        return looks, found

    def _extend(
        self, keys: int, lowest: int, size: int, members: Members, begin: Numbers
    ) -> None:
        """Visit the sets that extend a set, given its groups."""
        for bit in range(lowest):
            deeper = bit > 0 and size + 1 < self.max_size
            kept, starts, single = self.splitter.split(
                self.columns[bit], members, begin, deeper
            )
            self._note(single, keys | 1 << bit)
            if len(kept):
                self._extend(keys | 1 << bit, bit, size + 1, kept, starts)
                self._report(1)
            else:
                self._report(1 + _sets(bit, self.max_size - size - 1))

    def _note(self, single: Members, keys: int) -> None:
        """Add a set to the records that are unique on it, if the set is minimal."""
        need = int(self.pairs[0]) + len(single)
        if need > len(self.keys):
            room = max(need, 2 * len(self.keys))
            for name in ("before", "keys", "cell"):
                setattr(self, name, np.resize(getattr(self, name), room))
        note_minimal(
            single,
            len(single),
            keys,
            self.last,
            self.before,
            self.keys,
            self.cell,
            self.pairs,
        )


@cache
def _sets(keys: int, most: int) -> int:
    """Return the number of sets of 1 to ``most`` of some keys."""
    return sum(math.comb(keys, size) for size in range(1, min(most, keys) + 1))


@native(
    "uint64, int64, int32*, int64*, int64, uint8*, int64*, int64, int32*, int64*, "
    "int32*, int64*"
)
def split_groups(
    column: int, size: int, members: Any, begin: Any, groups: int, alone: Any,
    counter: Any, deeper: int, to_members: Any, to_begin: Any, single: Any, sizes: Any,
) -> None:  # fmt: skip
    """Split groups of cells by the codes of one more key."""
    sizes[0] = 0
    sizes[1] = 0
    to_begin[0] = 0
    for g in range(groups):
        start = begin[g]
        stop = begin[g + 1]
        if stop - start > 2:
            codes = _count_group(
                column, size, members, start, stop, alone, counter, sizes
            )
            _place_groups(counter, codes, deeper, to_begin, sizes)
            _move_group(
                column, size, members, start, stop, counter, to_members, single, sizes
            )
            for k in range(codes):
                c = sizes[_CODES + k]
                counter[c] = 0
                counter[c + 1] = 0
        elif load(column, size, members[start]) != load(
            column, size, members[start + 1]
        ):
            for i in range(start, stop):
                if alone[members[i]]:
                    single[sizes[1]] = members[i]
                    sizes[1] += 1
        elif deeper:
            to = to_begin[sizes[0]]
            to_members[to] = members[start]
            to_members[to + 1] = members[start + 1]
            sizes[0] += 1
            to_begin[sizes[0]] = to + 2


@kernel
def _count_group(
    column: int,
    size: int,
    members: Any,
    start: int,
    stop: int,
    alone: Any,
    counter: Any,
    sizes: Any,
) -> int:
    """Count the cells, and single-record cells, of each code; return the code count."""
    codes = 0
    for i in range(start, stop):
        c = 2 * load(column, size, members[i])
        if counter[c] == 0:
            sizes[_CODES + codes] = c
            codes += 1
        counter[c] += 1
        counter[c + 1] += alone[members[i]]
    return codes


@kernel
def _place_groups(
    counter: Any, codes: int, deeper: int, to_begin: Any, sizes: Any
) -> None:
    """Replace each code's counter by where its members go, or by their kind."""
    for k in range(codes):
        c = sizes[_CODES + k]
        number = counter[c]
        if number == 1 and counter[c + 1] == 1:
            counter[c] = _SINGLE
        elif counter[c + 1] == 0 or not deeper:
            counter[c] = _DROPPED
        else:
            counter[c] = to_begin[sizes[0]]
            sizes[0] += 1
            to_begin[sizes[0]] = counter[c] + number


@kernel
def _move_group(
    column: int,
    size: int,
    members: Any,
    start: int,
    stop: int,
    counter: Any,
    to_members: Any,
    single: Any,
    sizes: Any,
) -> None:
    """Move the members of a group to their places."""
    for i in range(start, stop):
        c = 2 * load(column, size, members[i])
        if counter[c] >= 0:
            to_members[counter[c]] = members[i]
            counter[c] += 1
        elif counter[c] == _SINGLE:
            single[sizes[1]] = members[i]
            sizes[1] += 1


@native("int32*, int64, uint64, int64*, int64*, uint64*, int32*, int64*")
def note_minimal(
    single: Any,
    number: int,
    keys: Any,
    last: Any,
    before: Any,
    found_keys: Any,
    found_cell: Any,
    pairs: Any,
) -> None:
    """Add a set to the cells on which none of its subsets is unique."""
    at = pairs[0]
    for i in range(number):
        cell = single[i]
        position = last[cell]
        while position >= 0 and (found_keys[position] & keys) != found_keys[position]:
            position = before[position]
        if position < 0:
            found_keys[at] = keys
            found_cell[at] = cell
            before[at] = last[cell]
            last[cell] = at
            at += 1
    pairs[0] = at
