"""Count the points that are nearer to a query than its own point.

The points of each group stand in a k-d tree. Points are distinct; each stands for some
records. A query asks how many records are nearer than its own point, and how many as
near. It ends as soon as two are nearer, because nobody asks for more: the cost depends
little on how far the own point is.

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
from riskcore.data.kd_tree import build_trees, nodes_of

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
        root = np.concatenate([[0], np.cumsum(nodes_of(sizes, LEAF))])
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
            near, far = 2 * v + 1, 2 * v + 2
            if right < left:
                near, far, left, right = far, near, right, left
            if right <= own_distance:
                stack[depth] = far
                depth += 1
            if left <= own_distance:
                stack[depth] = near
                depth += 1
        nearer[q] = less
        equal[q] = same
