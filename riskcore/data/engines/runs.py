"""Cells as sorted runs of codes: counted batch by batch, in little memory.

The values of the keys are numbered, and the numbers of a record make a code of 64 bits.
A batch is sorted by it, and its cells become a run; runs whose lengths differ little
are merged. The code is scrambled first, so that its leading bits cut the cells into
parts of similar size, which are merged one at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.core.compiled.jit import native

# Odd, so that it has an inverse modulo 2**64: the golden ratio.
_SCRAMBLE = 0x9E3779B97F4A7C15
_PARTS_BITS = 6
# Each run of a part is at least this many times as long as the next one, so that few
# cells are in several runs.
_RATIO = 4
CODE_BITS = 64

# Codes in ascending order, and a row of counters for each: records and sums.
Run = tuple[NDArray[np.uint64], NDArray[np.int64]]


class Runs:
    """Counters of cells, to which batches of records are added."""

    def __init__(self, levels: Sequence[int], sums: int) -> None:
        """Take the number of values of each key, see ``fits``, and of the sums."""
        self.levels = levels
        self.kept = False  # whether the cells can be read again after ``finished``
        self.counters = 1 + sums
        self._parts: list[list[Run]] = [[] for _ in range(1 << _PARTS_BITS)]

    @staticmethod
    def fits(levels: Iterable[int]) -> bool:
        """Return whether all combinations of values have codes of 64 bits."""
        return math.prod(max(each, 1) for each in levels) <= 1 << CODE_BITS

    def code(self, places: Iterable[NDArray[Any]]) -> NDArray[np.uint64]:
        """Return the code of each record's cell, given the numbers of its values."""
        code: Any = np.uint64(0)
        for place, levels in zip(places, self.levels, strict=True):
            code = code * np.uint64(levels) + place.astype(np.uint64)
        scrambled: NDArray[np.uint64] = code * np.uint64(_SCRAMBLE)
        return scrambled

    def places(self, code: NDArray[np.uint64]) -> list[NDArray[np.int64]]:
        """Return for each key the numbers of the values of cells, given their codes."""
        code = code * np.uint64(pow(_SCRAMBLE, -1, 1 << 64))
        found = []
        for levels in reversed(self.levels):
            code, place = np.divmod(code, np.uint64(levels))
            found.append(place.astype(np.int64))
        return found[::-1]

    def add(
        self, places: Iterable[NDArray[Any]], sums: Sequence[NDArray[np.int64]]
    ) -> None:
        """Count the records of a batch, and add up their whole numbers."""
        code = self.code(places)
        order = np.argsort(code)
        code = code[order]
        new = np.ones(len(code), np.bool_)
        np.not_equal(code[1:], code[:-1], out=new[1:])
        first = np.flatnonzero(new)
        counters = np.empty((len(first), self.counters), np.int64)
        counters[:, 0] = np.diff(first, append=len(code))
        for i, column in enumerate(sums, 1):
            counters[:, i] = np.add.reduceat(column[order], first)
        code = code[first]
        bounds = np.arange(1, len(self._parts), dtype=np.uint64)
        cuts = np.searchsorted(code, bounds << np.uint64(CODE_BITS - _PARTS_BITS))
        pieces = zip(np.split(code, cuts), np.split(counters, cuts), strict=True)
        for runs, (codes, rows) in zip(self._parts, pieces, strict=True):
            if len(codes):
                runs.append((codes.copy(), rows.copy()))
                while len(runs) > 1 and len(runs[-2][0]) < _RATIO * len(runs[-1][0]):
                    self._merge_last(runs)

    def merged(self) -> int:
        """Merge the runs of each part into one, and return the number of cells."""
        for runs in self._parts:
            while len(runs) > 1:
                self._merge_last(runs)
        return sum(len(codes) for runs in self._parts for codes, _ in runs)

    def finished(self) -> Iterator[Run]:
        """Yield the cells in parts, codes ascending; a part is freed unless kept."""
        for runs in self._parts:
            while len(runs) > 1:
                self._merge_last(runs)
            if runs:
                yield runs[0] if self.kept else runs.pop()

    def _merge_last(self, runs: list[Run]) -> None:
        """Replace the last two runs by one."""
        (a, rows_a), (b, rows_b) = runs[-2:]
        codes = _pages(len(a) + len(b), np.uint64)
        rows = _pages((len(a) + len(b)) * self.counters, np.int64)
        length = np.zeros(1, np.int64)
        merge_runs(
            a, rows_a, len(a), b, rows_b, len(b), self.counters, codes, rows, length
        )
        k = int(length[0])
        runs[-2:] = [(codes[:k], rows.reshape(-1, self.counters)[:k])]


def _pages(length: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return an array in pages of its own, which return to the system when it is freed.

    Pages never written take no memory, so an array may be longer than its contents.
    """
    return np.frombuffer(mmap(-1, length * np.dtype(kind).itemsize), kind)


@native(
    "uint64*, int64*, int64, uint64*, int64*, int64, int64, uint64*, int64*, int64*"
)
def merge_runs(
    a: Any,
    rows_a: Any,
    len_a: int,
    b: Any,
    rows_b: Any,
    len_b: int,
    counters: int,
    codes: Any,
    rows: Any,
    length: Any,
) -> None:
    """Merge the codes of two runs in ascending order; add counters of equal codes."""
    i = 0
    j = 0
    k = 0
    while i < len_a or j < len_b:
        from_a = i < len_a and (j == len_b or a[i] <= b[j])
        from_b = j < len_b and (i == len_a or b[j] <= a[i])
        if from_a:
            codes[k] = a[i]
        else:
            codes[k] = b[j]
        for c in range(counters):
            total = 0
            if from_a:
                total += rows_a[i * counters + c]
            if from_b:
                total += rows_b[j * counters + c]
            rows[k * counters + c] = total
        if from_a:
            i += 1
        if from_b:
            j += 1
        k += 1
    length[0] = k
