"""The two closest records in categories and numbers together (Gower 1971).

The distance of two records is the number of categories that differ plus, for each
number, the gap over the range of its column, at most 1. Records that differ from a
query in exactly h categories agree with it in one set of the others: they stand in one
cell of these, in a k-d tree of its numbers. No closer record can differ in h categories
if the second distance is at most h, so few values of h are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.auditing.cell_trees import (
    LEAF,
    STACK,
    CellTrees,
    Floats,
    MixedRecords,
    ask_in_threads,
)
from riskcore.auditing.common_cells import Columns, Ints
from riskcore.core.compiled.jit import kernel, native

_INFINITY = float("inf")


class TwoClosest(NamedTuple):
    """The distances of each query to its closest and its second closest record."""

    first: Floats  # shape (n,)
    second: Floats  # infinite where there is no second record


def two_closest(
    query: MixedRecords,
    reference: MixedRecords,
    levels: Sequence[int],
    ranges: Floats,
) -> TwoClosest:
    """Return the distances to the two closest references of each query.

    ``levels``: how many labels each category has. ``ranges``: the range of each number;
    of a column with the range 0, numbers that differ count as 1.
    """
    query.refuse_missing("query")
    reference.refuse_missing("reference")
    n, d = len(query.numbers), len(levels)
    found = TwoClosest(np.full(n, np.inf), np.full(n, np.inf))
    # By the numbers: queries of neighbors find the same nodes in the cache.
    left = np.lexsort(query.numbers.T[:2]) if query.numbers.size else np.arange(n)
    for h in range(d + 1):
        for dropped in combinations(range(d), h):
            kept = [key for key in range(d) if key not in dropped]
            _look(query, reference, levels, ranges, kept, dropped, left, found)
        left = left[found.second[left] > h + 1]
        if not len(left):
            break
    return found


def _look(
    query: MixedRecords,
    reference: MixedRecords,
    levels: Sequence[int],
    ranges: Floats,
    kept: Sequence[int],
    dropped: Sequence[int],
    left: Ints,
    found: TwoClosest,
) -> None:
    """Look for references that agree in the kept and differ in the dropped keys."""
    asked = query.at(left)
    scale = np.divide(1.0, ranges, out=np.full(len(ranges), np.inf), where=ranges > 0.0)
    width = np.where(np.isinf(scale), 1.0, scale)
    trees = CellTrees.of(asked, reference, levels, kept, width)
    other = _table([reference.codes[key][trees.rows] for key in dropped], trees.rows)
    own = _table([asked.codes[key] for key in dropped], left)
    numbers = np.ascontiguousarray(asked.numbers)
    first, second = found.first[left], found.second[left]

    def ask(start: int, stop: int) -> None:
        stack, bound = np.empty(STACK, np.int64), np.empty(STACK)
        find_two(
            start, stop, len(ranges), len(dropped), trees.group, numbers, own, scale,
            trees.point, other, trees.root, trees.span, trees.box, stack, bound, first,
            second,
        )  # fmt: skip

    ask_in_threads(len(left), ask)
    found.first[left], found.second[left] = first, second


def _table(columns: Columns, rows: Ints) -> NDArray[np.int32]:
    """Return columns side by side, one row for each of the rows."""
    table = np.empty((len(rows), len(columns)), np.int32)
    for j, column in enumerate(columns):
        table[:, j] = column
    return table


@kernel
def differs(other: Any, i: int, own: Any, q: int, h: int) -> bool:
    """Return whether a point differs from a query in all h categories."""
    for j in range(h):  # noqa: SIM110, the compiler knows no all()
        if other[i * h + j] == own[q * h + j]:
            return False
    return True


@kernel
def gap_of_point(point: Any, i: int, query: Any, q: int, d: int, scale: Any) -> float:
    """Return the sum of gaps between the numbers of a point and a query."""
    total = 0.0
    for j in range(d):
        gap = abs(point[i * d + j] - query[q * d + j])
        if gap > 0.0:
            total += min(gap * scale[j], 1.0)
    return total


@kernel
def gap_of_box(box: Any, node: int, query: Any, q: int, d: int, scale: Any) -> float:
    """Return a sum of gaps that no point in a box falls below."""
    total = 0.0
    for j in range(d):
        at = 2 * (node * d + j)
        x = query[q * d + j]
        gap = max(box[at] - x, x - box[at + 1])
        if gap > 0.0:
            total += min(gap * scale[j], 1.0)
    return total


@native(
    "int64, int64, int64, int64, int64*, float64*, int32*, float64*, float64*, int32*, "
    "int64*, int64*, float64*, int64*, float64*, float64*, float64*"
)
def find_two(
    start: int,
    stop: int,
    d: int,
    h: int,
    group: Any,
    query: Any,
    own: Any,
    scale: Any,
    point: Any,
    other: Any,
    root: Any,
    span: Any,
    box: Any,
    stack: Any,
    bound: Any,
    first: Any,
    second: Any,
) -> None:
    """Lower the two smallest distances of queries by the points of their groups."""
    for q in range(start, stop):
        top = root[group[q]]
        least, next_least = first[q], second[q]
        stack[0] = 0
        bound[0] = float(h)
        depth = 1
        while depth > 0:
            depth -= 1
            v = stack[depth]
            if bound[depth] >= next_least:
                continue
            low, high = span[2 * (top + v)], span[2 * (top + v) + 1]
            if high - low <= LEAF:
                for i in range(low, high):
                    if not differs(other, i, own, q, h):
                        continue
                    x = h + gap_of_point(point, i, query, q, d, scale)
                    if x < least:
                        next_least = least
                        least = x
                    elif x < next_least:
                        next_least = x
                continue
            near, far = 2 * v + 1, 2 * v + 2
            left = h + gap_of_box(box, top + near, query, q, d, scale)
            right = h + gap_of_box(box, top + far, query, q, d, scale)
            if right < left:
                near, far, left, right = far, near, right, left
            # The nearer child is looked at first: it stands last on the stack.
            stack[depth] = far
            bound[depth] = right
            stack[depth + 1] = near
            bound[depth + 1] = left
            depth += 2
        first[q] = least
        second[q] = next_least
