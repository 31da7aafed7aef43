"""The compiled part of `microaggregation`: optimal groups of a column, and MDAV.

MDAV asks for the nearest points and the farthest point among those that are left. They
are kept in a k-d tree whose boxes shrink as points leave. Bounds and distances round in
the same order of operations, and rounding is monotonic, so the tree finds exactly the
points that a full search finds. ``ends`` is the span of each node; in leaves it ends
after the points that are left.
"""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.double_double import dd_add
from riskcore.core.special.floats import offset
from riskcore.data.kd_tree import enclose, exchange

_INFINITY = float("inf")


@native("float64*, int64, int64, float64*, int64*, int64*")
def optimal_groups(x: Any, n: int, k: int, cost: Any, cut: Any, group: Any) -> None:
    """Fill the group of n >= k sorted values: a shortest path over its ends."""
    cost[0] = 0.0
    for j in range(1, n + 1):
        cost[j] = _INFINITY
        cut[j] = 0
        # The mean and the sum of squares of the last values, by Welford's recurrence.
        mean = squares = 0.0
        for size in range(1, min(2 * k - 1, j) + 1):
            value = x[j - size]
            deviation = value - mean
            mean += deviation / size
            squares += deviation * (value - mean)
            if size >= k:
                path_cost = cost[j - size] + squares
                if path_cost < cost[j]:
                    cost[j] = path_cost
                    cut[j] = j - size
    number = 0
    end = n
    while end > 0:
        for i in range(cut[end], end):
            group[i] = number
        number += 1
        end = cut[end]


@kernel
def _join_boxes(box: Any, p: int, node: int) -> None:
    """Set the box of a node to that of its children."""
    at = 2 * p * node
    left = 2 * p * (2 * node + 1)
    right = left + 2 * p
    for j in range(0, 2 * p, 2):
        box[at + j] = min(box[left + j], box[right + j])
        box[at + j + 1] = max(box[left + j + 1], box[right + j + 1])


@kernel
def _part(difference: float, city: int) -> float:
    """Return the part of a distance that a coordinate adds: a square or a size."""
    return abs(difference) if city else difference * difference


@kernel
def _distance(tree: Any, p: int, i: int, center: Any, city: int) -> float:
    """Return the distance of a point from a center."""
    total = 0.0
    for j in range(p):
        total += _part(tree[i * p + j] - center[j], city)
    return total


@kernel
def _nearest_in_box(box: Any, p: int, node: int, center: Any, city: int) -> float:
    """Return a lower bound of the distances of a box, infinite if it is empty."""
    total = 0.0
    first = 2 * p * node
    for j in range(p):
        below = box[first + 2 * j] - center[j]
        above = center[j] - box[first + 2 * j + 1]
        total += _part(max(0.0, max(below, above)), city)
    return total


@kernel
def _farthest_in_box(box: Any, p: int, node: int, center: Any, city: int) -> float:
    """Return an upper bound of the distances of a box."""
    total = 0.0
    first = 2 * p * node
    for j in range(p):
        below = center[j] - box[first + 2 * j]
        above = box[first + 2 * j + 1] - center[j]
        total += _part(max(below, above), city)
    return total


@kernel
def _push_children(
    node: int, of_left: float, of_right: float, first_left: bool, ends: Any,
    stack: Any, bounds: Any, depth: int,
) -> int:  # fmt: skip
    """Put the children with points on the stack, the first one on top of it."""
    left = 2 * node + 1
    for turn in range(2):
        take_left = (turn == 1) == first_left
        child = left if take_left else left + 1
        if ends[2 * child] < ends[2 * child + 1]:
            stack[depth] = child
            bounds[depth] = of_left if take_left else of_right
            depth += 1
    return depth


@kernel
def _farthest(
    p: int, levels: int, tree: Any, order: Any, box: Any, ends: Any, center: Any,
    stack: Any, bounds: Any, city: int,
) -> int:  # fmt: skip
    """Return the position of the farthest point, of ties the first one of the file."""
    inner = (1 << levels) - 1
    best = -1
    longest = -1.0
    stack[0] = 0
    bounds[0] = _INFINITY
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if bounds[depth] < longest:
            continue
        if node < inner:
            of_left = _farthest_in_box(box, p, 2 * node + 1, center, city)
            of_right = _farthest_in_box(box, p, 2 * node + 2, center, city)
            depth = _push_children(
                node, of_left, of_right, of_left > of_right, ends, stack, bounds, depth
            )
            continue
        for i in range(ends[2 * node], ends[2 * node + 1]):
            length = _distance(tree, p, i, center, city)
            if length > longest or (length == longest and order[i] < order[best]):
                longest = length
                best = i
    return best


@kernel
def _insert(
    length: float, point: int, count: int, k: int, lengths: Any, neighbors: Any
) -> int:
    """Insert a point into the nearest ones, and return their number, at most k."""
    if count == k:
        last = lengths[k - 1]
        if (length > last) | ((length == last) & (point > neighbors[k - 1])):
            return count
        count -= 1
    place = count
    while place > 0 and (
        lengths[place - 1] > length
        or (lengths[place - 1] == length and neighbors[place - 1] > point)
    ):
        lengths[place] = lengths[place - 1]
        neighbors[place] = neighbors[place - 1]
        place -= 1
    lengths[place] = length
    neighbors[place] = point
    return count + 1


@kernel
def _nearest(
    p: int, k: int, levels: int, tree: Any, order: Any, box: Any, ends: Any,
    center: Any, stack: Any, bounds: Any, lengths: Any, neighbors: Any, city: int,
) -> None:  # fmt: skip
    """Find the k points nearest to a center, the first ones of ties, by distance."""
    inner = (1 << levels) - 1
    count = 0
    stack[0] = 0
    bounds[0] = 0.0
    depth = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if count == k and bounds[depth] > lengths[k - 1]:
            continue
        if node < inner:
            of_left = _nearest_in_box(box, p, 2 * node + 1, center, city)
            of_right = _nearest_in_box(box, p, 2 * node + 2, center, city)
            depth = _push_children(
                node, of_left, of_right, of_left < of_right, ends, stack, bounds, depth
            )
            continue
        for i in range(ends[2 * node], ends[2 * node + 1]):
            length = _distance(tree, p, i, center, city)
            count = _insert(length, order[i], count, k, lengths, neighbors)


@kernel
def _remove(
    p: int, levels: int, tree: Any, order: Any, where: Any, box: Any, ends: Any,
    point: int,
) -> None:  # fmt: skip
    """Take a point out of the tree and shrink the boxes around it."""
    inner = (1 << levels) - 1
    position = where[point]
    node = 0
    while node < inner:
        # Where the right child begins, all its points or none of them left.
        right = 2 * node + 2
        node = right if position >= ends[2 * right] else right - 1
    last = ends[2 * node + 1] - 1
    exchange(tree, order, p, position, last)
    where[order[position]] = position
    ends[2 * node + 1] = last
    enclose(tree, p, ends[2 * node], last, box, node)
    while node > 0:
        node = (node - 1) >> 1
        _join_boxes(box, p, node)
        left = 2 * node + 1
        if (ends[2 * left] == ends[2 * left + 1]) & (
            ends[2 * left + 2] == ends[2 * left + 3]
        ):
            ends[2 * node + 1] = ends[2 * node]  # empty


@native(
    "int64*, int64, float64*, int64*, int64*, float64*, int64*, float64*, float64*, "
    "int64*, int64*, int64*"
)
def mdav_steps(
    state: Any, steps: int, tree: Any, order: Any, where: Any, box: Any, ends: Any,
    total: Any, work: Any, neighbors: Any, stack: Any, group: Any,
) -> None:  # fmt: skip
    """Make at most ``steps`` pairs of groups.

    ``state`` has n, p, k, the levels of the tree, how many points are left, how many
    groups are made and whether distances are of the city; ``total`` the sums of the
    points that are left, as double-doubles. ``work`` is room for a center, k distances
    and the bounds of the stack.
    """
    n, p, k, levels, city = state[0], state[1], state[2], state[3], state[6]
    center, lengths, bounds = work, offset(work, p), offset(work, p + k)
    for _ in range(steps):
        left = state[4]
        if left < 2 * k:
            for i in range(n):
                if group[i] < 0:
                    group[i] = state[5]
            state[4] = 0
            return
        for j in range(p):
            center[j] = total[2 * j] / left
        # One group around the point farthest from the average; one around the point
        # that is farthest from that one.
        for _turn in range(2 if left >= 3 * k else 1):
            best = _farthest(
                p, levels, tree, order, box, ends, center, stack, bounds, city
            )
            for j in range(p):
                center[j] = tree[best * p + j]
            _nearest(
                p, k, levels, tree, order, box, ends, center, stack, bounds, lengths,
                neighbors, city,
            )  # fmt: skip
            for i in range(k):
                point = neighbors[i]
                at = where[point] * p
                for j in range(p):
                    total[2 * j], total[2 * j + 1] = dd_add(
                        total[2 * j], total[2 * j + 1], -tree[at + j], 0.0
                    )
                group[point] = state[5]
                _remove(p, levels, tree, order, where, box, ends, point)
            state[5] += 1
            state[4] -= k


@native("int64, int64, int64, int64, float64*, float64*, int64*")
def join_groups(
    n: int, p: int, groups: int, city: int, x: Any, centroid: Any, nearest: Any
) -> None:
    """Find the centroid nearest to each point in the coordinates that are not nan."""
    for i in range(n):
        shortest = _INFINITY
        nearest[i] = 0
        for g in range(groups):
            total = 0.0
            for j in range(p):
                difference = x[i * p + j] - centroid[g * p + j]
                if difference == difference:
                    total += _part(difference, city)
            if total < shortest:
                shortest = total
                nearest[i] = g
