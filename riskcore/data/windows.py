"""Count the records that match each cell where numbers match within a tolerance.

A window has the cells that are equal in the keys without a tolerance and within the
tolerance in each of the others: a box around the cell. The categories of a key are in
order, so that a window is a range of codes in each key. Cells are sorted by the other
keys, then by one number. If it is the only number, its windows move along the cells,
and sums over them are kept as two stacks of partial sums, which nothing is ever
subtracted from. With more numbers the cells of that window are looked through.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import THREADED, in_parts, parts_of, usual_threads
from riskcore.data.columns import CodedColumn
from riskcore.data.count import count
from riskcore.data.tolerance import Tolerance, values_of
from riskcore.data.unsigned import Codes
from riskcore.data.window_kernels import count_distinct, scan_windows, slide

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Which categories of each key match: ranges of codes, and missing only missing."""

    tolerance: Mapping[Hashable, Tolerance]  # by the name of the key
    key: tuple[int, ...]  # positions of the keys that have a tolerance
    low: tuple[Ints, ...]  # of each of them the first code that matches each code
    high: tuple[Ints, ...]  # and the last one, each shape (levels,)
    values: tuple[Floats, ...] = ()  # the numbers themselves, without missing ones

    @classmethod
    def of(
        cls, columns: Sequence[CodedColumn], tolerance: Mapping[Hashable, Tolerance]
    ) -> Windows:
        """Return the windows of coded columns."""
        places, low, high, numbers = [], [], [], []
        for place, column in enumerate(columns):
            if column.name not in tolerance:
                continue
            numbers.append(values_of(column))
            first, last = tolerance[column.name].windows(numbers[-1])
            if column.missing:
                first, last = (np.append(x, len(x)) for x in (first, last))
            places.append(place)
            low.append(first)
            high.append(last)
        ranges = tuple(places), tuple(low), tuple(high), tuple(numbers)
        return cls(dict(tolerance), *ranges)

    @property
    def wide(self) -> bool:
        """Whether a record may match others than those of its own cell."""
        return any(tolerance.amount > 0.0 for tolerance in self.tolerance.values())

    @property
    def in_words(self) -> str:
        """The tolerances in words: ``age 2, income 5%``."""
        return ", ".join(
            f"{name} {tolerance}" for name, tolerance in self.tolerance.items()
        )


def count_windows(
    codes: Sequence[Codes],
    levels: Sequence[int],
    windows: Windows,
    frequency: Ints,
    weight_sum: Floats,
) -> tuple[Ints, Floats]:
    """Return the records, and the sum of the weights, in the window of each cell."""
    if not windows.wide:
        return frequency, weight_sum
    sorted_ = SortedCells.of(codes, levels, windows)
    order = sorted_.order
    f, F = np.empty(len(order), np.int64), np.empty(len(order))
    sums = sorted_.sums(frequency[order], weight_sum[order])
    f[order], F[order] = sums
    return f, F


@dataclass(frozen=True, slots=True, eq=False)
class SortedCells:
    """Cells sorted by the keys without a tolerance, then by one of the numbers."""

    order: Ints  # the cell at each place, shape (K,)
    group: Ints  # rising, equal for cells of equal keys without a tolerance
    # Of each number the code, and the first and last one of its window, shape
    # (K, numbers); cells are sorted by the first number.
    code: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]

    @classmethod
    def of(
        cls, codes: Sequence[Codes], levels: Sequence[int], windows: Windows
    ) -> SortedCells:
        """Sort cells by the number whose windows have the fewest cells."""
        places = {key: place for place, key in enumerate(windows.key)}
        others = [key for key in range(len(codes)) if key not in places]
        widths = [_cells_met(codes, levels, windows, key) for key in windows.key]
        by = sorted(windows.key, key=lambda key: widths[places[key]])
        keys = [*others, *by]
        inverse = count([codes[k] for k in keys], [levels[k] for k in keys]).inverse
        order = np.argsort(inverse)
        group = np.zeros(len(order), np.int64)
        if others:
            some = [codes[k] for k in others], [levels[k] for k in others]
            group = count(*some).inverse[order].astype(np.int64)
        code = np.stack([codes[k][order] for k in by], axis=1).astype(np.int32)
        pairs = [
            (windows.low[places[k]], windows.high[places[k]], code[:, j])
            for j, k in enumerate(by)
        ]
        low = np.stack([first[c] for first, _, c in pairs], axis=1)
        high = np.stack([last[c] for _, last, c in pairs], axis=1)
        return cls(order, group, code, low.astype(np.int32), high.astype(np.int32))

    def sums(self, frequency: Ints, weight_sum: Floats) -> tuple[Ints, Floats]:
        """Return the sums of two numbers of the sorted cells over their windows."""
        K, numbers = self.code.shape
        f, F = np.empty(K, np.int64), np.empty(K)
        arrays = self.group, self.code, self.low, self.high, frequency, weight_sum
        if numbers == 1:
            slide(*arrays, K, np.empty((K, 2)), f, F)
            return f, F
        threads = 1 if K < THREADED // 10 else usual_threads()

        def scan(start: int, stop: int) -> None:
            scan_windows(*arrays, K, numbers, start, stop, f, F)

        in_parts(threads, scan, parts_of(K, 8 * threads))
        return f, F

    def distinct(self, begin: Ints, items: Ints, size: int, cells: Ints) -> Ints:
        """Return the number of distinct items in the windows of some cells."""
        K, numbers = self.code.shape
        counts = np.empty(len(cells), np.int64)
        arrays = self.group, self.code, self.low, self.high, self.order
        at = np.argsort(self.order)[cells]
        seen = np.full(size, -1, np.int64)
        count_distinct(*arrays, K, numbers, at, len(cells), begin, items, seen, counts)
        return counts


def _cells_met(
    codes: Sequence[Codes], levels: Sequence[int], windows: Windows, key: int
) -> int:
    """Return how many pairs of cells are within the tolerance of one number."""
    place = windows.key.index(key)
    cells = np.bincount(codes[key], minlength=levels[key])
    upto = np.append(0, np.cumsum(cells))
    met = upto[windows.high[place] + 1] - upto[windows.low[place]]
    return int((cells * met).sum())
