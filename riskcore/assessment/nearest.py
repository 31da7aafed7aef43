"""Count the points that are nearer to a query than its own point.

The points of each group stand in a k-d tree: nodes halve them along the widest side of
their box, until a leaf has few. Points are distinct; each stands for some records. A
query asks how many records are nearer than its own point, and how many as near. It
ends as soon as two are nearer, because nobody asks for more: the cost depends little on
how far the own point is.

A distance is the sum of ((x - y) s)**2 over the columns, in their order, each operation
rounded. Rounding is monotone, so the distance of a box, computed in the same way, is
never above the distance of a point in it: the counts are those of all pairs compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import in_parts, parts_of, usual_threads
from riskcore.core.compiled.jit import kernel, native

LEAF = 8  # largest number of points in a leaf
NEARER = 2  # counting ends at so many nearer records
_STACK = 128  # two nodes for each level of a tree
_PARTS = 16  # for threads, of more than _FEW queries or points
_FEW = 10_000

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """Distinct points in groups, a k-d tree for each group."""

    point: Floats  # shape (K, d), by tree
    records: Integers  # how many records are at each point, shape (K,)
    place: Integers  # where each of the points given is now, shape (K,)
    root: Integers  # the first node of each group, and the end, shape (G + 1,)
    span: Integers  # the first point of each node, and the end, shape (nodes, 2)
    box: Floats  # the least and largest of each column of a node, shape (nodes, d, 2)

    @classmethod
    def of(
        cls, point: Floats, records: Integers, sizes: Integers, scale: Floats
    ) -> Trees:
        """Return the trees of points, shape (K, d), that stand in order of groups.

        ``sizes``: the number of points of each group. ``scale`` tells which side of a
        box is the widest; queries may have other scales.
        """
        K, d = point.shape
        begin = np.concatenate([[0], np.cumsum(sizes)])
        root = np.concatenate([[0], np.cumsum(_nodes(sizes))])
        tree = np.array(point, np.float64, order="C")
        number = np.arange(K)
        span = np.zeros((int(root[-1]), 2), np.int64)
        box = np.zeros((int(root[-1]), d, 2))

        def build(first: int, last: int) -> None:
            build_trees(first, last, d, begin, root, scale, tree, number, span, box)

        _in_threads(len(sizes), build)
        place = np.empty(K, np.int64)
        place[number] = np.arange(K)
        return cls(tree, records[number], place, root, span, box)

    def count(
        self, query: Floats, group: Integers, own: Integers, scale: Floats
    ) -> tuple[Integers, Integers]:
        """Return how many records are nearer than the own point, and how many as near.

        ``own`` is the number of a query's own point as given to ``of``. Counting ends
        at two nearer records; then the other count is of no use.
        """
        n, d = query.shape
        at = self.place[own]
        # Queries of neighbors find the same nodes in the cache.
        order = np.argsort(at, kind="stable")
        nearer, equal = np.empty(n, np.int64), np.empty(n, np.int64)

        def ask(first: int, last: int) -> None:
            stack = np.empty(_STACK, np.int64)
            count_nearer(
                first, last, d, order, np.ascontiguousarray(query), group, at, scale,
                self.point, self.records, self.root, self.span, self.box, stack,
                nearer, equal,
            )  # fmt: skip

        _in_threads(n, ask)
        return nearer, equal


def _in_threads(n: int, work: Any) -> None:
    parts = parts_of(n, _PARTS if n > _FEW else 1)
    in_parts(usual_threads(), work, parts)


def _nodes(sizes: Integers) -> Integers:
    """Return the number of nodes of a tree for each number of points."""
    levels = np.zeros(len(sizes), np.int64)
    largest = sizes.copy()
    while (more := largest > LEAF).any():
        levels += more
        largest = np.where(more, largest + 1 >> 1, largest)
    return (np.int64(2) << levels) - 1


@kernel
def swap(point: Any, number: Any, d: int, i: int, k: int) -> None:
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
    """Put the point of rank ``k`` by column ``j`` in its place, and parts around it.

    Quickselect (Hoare 1961): no point before it is above it, none after it below.
    ``high`` is the last point.
    """
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
                swap(point, number, d, i, m)
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
    """Write the box of the points from ``low`` to before ``high``."""
    for j in range(d):
        least = point[low * d + j]
        most = least
        for i in range(low + 1, high):
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
    first: int,
    last: int,
    d: int,
    begin: Any,
    root: Any,
    scale: Any,
    point: Any,
    number: Any,
    span: Any,
    box: Any,
) -> None:
    """Build the trees of groups; node v has the children 2v + 1 and 2v + 2."""
    for g in range(first, last):
        top = root[g]
        span[2 * top] = begin[g]
        span[2 * top + 1] = begin[g + 1]
        for v in range(root[g + 1] - top):
            node = top + v
            low, high = span[2 * node], span[2 * node + 1]
            if high <= low:
                continue
            enclose(point, d, low, high, box, node)
            if high - low <= LEAF:
                continue
            half = low + high >> 1
            side = widest(box, node, d, scale)
            select(point, number, d, side, low, high - 1, half)
            child = 2 * (top + 2 * v + 1)
            span[child] = low
            span[child + 1] = half
            span[child + 2] = half
            span[child + 3] = high


@kernel
def point_distance(point: Any, i: int, query: Any, q: int, d: int, scale: Any) -> float:
    """Return the squared distance of a point from a query."""
    total = 0.0
    for j in range(d):
        gap = (point[i * d + j] - query[q * d + j]) * scale[j]
        total += gap * gap
    return total


@kernel
def box_distance(box: Any, node: int, query: Any, q: int, d: int, scale: Any) -> float:
    """Return the squared distance of a box from a query, 0 inside."""
    total = 0.0
    for j in range(d):
        at = 2 * (node * d + j)
        x = query[q * d + j]
        gap = 0.0
        if x < box[at]:
            gap = (box[at] - x) * scale[j]
        elif x > box[at + 1]:
            gap = (box[at + 1] - x) * scale[j]
        total += gap * gap
    return total


@native(
    "int64, int64, int64, int64*, float64*, int64*, int64*, float64*, float64*, "
    "int64*, int64*, int64*, float64*, int64*, int64*, int64*"
)
def count_nearer(
    first: int,
    last: int,
    d: int,
    order: Any,
    query: Any,
    group: Any,
    own: Any,
    scale: Any,
    point: Any,
    records: Any,
    root: Any,
    span: Any,
    box: Any,
    stack: Any,
    nearer: Any,
    equal: Any,
) -> None:
    """Count the records nearer than the own point of each query, and those as near."""
    for t in range(first, last):
        q = order[t]
        top = root[group[q]]
        own_distance = point_distance(point, own[q], query, q, d, scale)
        less, same = 0, 0
        stack[0] = 0
        depth = 1
        while depth > 0 and less < NEARER:
            depth -= 1
            v = stack[depth]
            low, high = span[2 * (top + v)], span[2 * (top + v) + 1]
            if high - low <= LEAF:
                for i in range(low, high):
                    distance = point_distance(point, i, query, q, d, scale)
                    if distance < own_distance:
                        less += records[i]
                    elif distance == own_distance:
                        same += records[i]
                continue
            left = box_distance(box, top + 2 * v + 1, query, q, d, scale)
            right = box_distance(box, top + 2 * v + 2, query, q, d, scale)
            # The nearer child is looked at first: it stands last on the stack.
            if left <= right:
                if right <= own_distance:
                    stack[depth] = 2 * v + 2
                    depth += 1
                if left <= own_distance:
                    stack[depth] = 2 * v + 1
                    depth += 1
            else:
                if left <= own_distance:
                    stack[depth] = 2 * v + 1
                    depth += 1
                if right <= own_distance:
                    stack[depth] = 2 * v + 2
                    depth += 1
        nearer[q] = less
        equal[q] = same
