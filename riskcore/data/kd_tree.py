"""k-d trees of points in groups (Friedman, Bentley and Finkel 1977).

Nodes halve the points along the widest side of their box, until leaves have few. Node v
of a tree has the children 2v + 1 and 2v + 2, and all leaves are equally deep. ``span``
has the first point of each node and the end, ``box`` the least and the largest value of
each column of a node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.core.compiled.jit import kernel, native

_INFINITY = float("inf")


def nodes_of(sizes: NDArray[np.int64], leaf: int) -> NDArray[np.int64]:
    """Return the nodes of a tree for numbers of points, at most ``leaf`` in a leaf."""
    levels = np.zeros(len(sizes), np.int64)
    largest = sizes.copy()
    while (more := largest > leaf).any():
        levels += more
        largest = np.where(more, largest + 1 >> 1, largest)
    return (np.int64(2) << levels) - 1


@kernel
def exchange(point: Any, number: Any, d: int, i: int, k: int) -> None:
    """Exchange two points and their numbers."""
    for j in range(d):
        held = point[i * d + j]
        point[i * d + j] = point[k * d + j]
        point[k * d + j] = held
    kept = number[i]
    number[i] = number[k]
    number[k] = kept


@kernel
def middle(a: float, b: float, c: float) -> float:
    """Return the median of three numbers."""
    return max(min(a, b), min(max(a, b), c))


@kernel
def select(
    point: Any, number: Any, d: int, j: int, low: int, high: int, k: int
) -> None:
    """Put the point of rank ``k`` by column ``j`` in its place, by quickselect."""
    while low < high:
        pivot = middle(
            point[low * d + j], point[(low + high >> 1) * d + j], point[high * d + j]
        )
        i, m = low, high
        while i <= m:
            while point[i * d + j] < pivot:
                i += 1
            while point[m * d + j] > pivot:
                m -= 1
            if i <= m:
                exchange(point, number, d, i, m)
                i += 1
                m -= 1
        if k <= m:
            high = m
        elif k >= i:
            low = i
        else:
            break


@kernel
def enclose(point: Any, d: int, low: int, high: int, box: Any, node: int) -> None:
    """Write the box of the points from ``low`` to before ``high``, empty of none."""
    for j in range(d):
        least = _INFINITY
        most = -_INFINITY
        for i in range(low, high):
            x = point[i * d + j]
            least = min(least, x)
            most = max(most, x)
        box[2 * (node * d + j)] = least
        box[2 * (node * d + j) + 1] = most


@kernel
def widest(box: Any, node: int, d: int, scale: Any) -> int:
    """Return the column in which a box is widest."""
    best, width = 0, -1.0
    for j in range(d):
        at = 2 * (node * d + j)
        w = (box[at + 1] - box[at]) * scale[j]
        if w > width:
            best, width = j, w
    return best


@native(
    "int64, int64, int64, int64*, int64*, float64*, float64*, int64*, int64*, float64*"
)
def build_trees(
    first: int, last: int, d: int, begin: Any, root: Any, scale: Any, point: Any,
    number: Any, span: Any, box: Any,
) -> None:  # fmt: skip
    """Build the trees of groups; node v has the children 2v + 1 and 2v + 2."""
    for g in range(first, last):
        top = root[g]
        span[2 * top] = begin[g]
        span[2 * top + 1] = begin[g + 1]
        nodes = root[g + 1] - top
        for v in range(nodes):
            node = top + v
            low, high = span[2 * node], span[2 * node + 1]
            enclose(point, d, low, high, box, node)
            if 2 * v + 2 >= nodes:
                continue
            half = low + high >> 1
            side = widest(box, node, d, scale)
            select(point, number, d, side, low, high - 1, half)
            child = 2 * (top + 2 * v + 1)
            span[child] = low
            span[child + 1] = half
            span[child + 2] = half
            span[child + 3] = high
