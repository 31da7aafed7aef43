"""Kernels that add records and weights up over windows of sorted cells."""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.double_double import dd_add_positive


@native(
    "int64*, int32*, int32*, int32*, int64*, float64*, int64, float64*, int64*, "
    "float64*"
)
def slide(
    group: Any, code: Any, low: Any, high: Any, frequency: Any, weight: Any, cells: int,
    stack: Any, f: Any, F: Any,
) -> None:  # fmt: skip
    """Sum over the windows of one number, which move on from cell to cell.

    ``stack`` has the sums of weights from each cell on to the cell before ``middle``;
    the sum from ``middle`` to before ``last`` is kept apart.
    """
    first, middle, last = 0, 0, 0
    records, top, rest = 0, 0.0, 0.0
    for i in range(cells):
        while last < cells and group[last] == group[i] and code[last] <= high[i]:
            top, rest = dd_add_positive(top, rest, weight[last], 0.0)
            records += frequency[last]
            last += 1
        while group[first] != group[i] or code[first] < low[i]:
            records -= frequency[first]
            first += 1
        if first > middle:
            top, rest = 0.0, 0.0
            for k in range(last - 1, first - 1, -1):
                top, rest = dd_add_positive(top, rest, weight[k], 0.0)
                stack[2 * k], stack[2 * k + 1] = top, rest
            middle = last
            top, rest = 0.0, 0.0
        f[i] = records
        F[i] = top
        if first < middle:
            at = 2 * first
            F[i], _ = dd_add_positive(stack[at], stack[at + 1], top, rest)


@kernel
def _first(i: int, group: Any, code: Any, low: Any, numbers: int) -> int:
    """Return the first cell of the window of the first number, by doubled steps."""
    step, start = 1, i
    while (
        start - step >= 0
        and group[start - step] == group[i]
        and (code[(start - step) * numbers] >= low[i * numbers])
    ):
        start -= step
        step *= 2
    while step > 0:
        before = start - step
        if (
            before >= 0
            and group[before] == group[i]
            and (code[before * numbers] >= low[i * numbers])
        ):
            start = before
        step //= 2
    return start


@kernel
def _inside(k: int, i: int, code: Any, low: Any, high: Any, numbers: int) -> bool:
    """Return whether a cell is within the other numbers of the window of another."""
    for j in range(1, numbers):
        other = code[k * numbers + j]
        if other < low[i * numbers + j] or other > high[i * numbers + j]:
            return False
    return True


@native(
    "int64*, int32*, int32*, int32*, int64*, float64*, int64, int64, int64, int64, "
    "int64*, float64*"
)
def scan_windows(
    group: Any, code: Any, low: Any, high: Any, frequency: Any, weight: Any, cells: int,
    numbers: int, start: int, stop: int, f: Any, F: Any,
) -> None:  # fmt: skip
    """Sum over windows of several numbers, looking through those of the first."""
    for i in range(start, stop):
        own = i * numbers
        records, top, rest = 0, 0.0, 0.0
        k = _first(i, group, code, low, numbers)
        while k < cells and group[k] == group[i] and code[k * numbers] <= high[own]:
            if _inside(k, i, code, low, high, numbers):
                records += frequency[k]
                top, rest = dd_add_positive(top, rest, weight[k], 0.0)
            k += 1
        f[i] = records
        F[i] = top


@native(
    "int64*, int32*, int32*, int32*, int64*, int64, int64, int64*, int64, int64*, "
    "int64*, int64*, int64*"
)
def count_distinct(
    group: Any, code: Any, low: Any, high: Any, order: Any, cells: int, numbers: int,
    at: Any, asked: int, begin: Any, items: Any, seen: Any, counts: Any,
) -> None:  # fmt: skip
    """Count the distinct items in some windows; ``seen`` has the last one with each."""
    for number in range(asked):
        i = at[number]
        distinct = 0
        k = _first(i, group, code, low, numbers)
        while (
            k < cells
            and group[k] == group[i]
            and (code[k * numbers] <= high[i * numbers])
        ):
            if _inside(k, i, code, low, high, numbers):
                for item in range(begin[order[k]], begin[order[k] + 1]):
                    if seen[items[item]] != number:
                        seen[items[item]] = number
                        distinct += 1
            k += 1
        counts[number] = distinct
