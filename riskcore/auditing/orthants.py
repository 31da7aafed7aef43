"""Count the records that are as extreme as a query, in the cell of its categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
from riskcore.auditing.common_cells import Ints
from riskcore.core.compiled.jit import kernel, native


def count_as_extreme(
    query: MixedRecords,
    reference: MixedRecords,
    levels: Sequence[int],
    middle: Floats,
    most: int,
) -> Ints:
    """Return how many references have the categories of a query and its extremes.

    A number above the middle asks for numbers at least as large, another one for
    numbers at most as large. Counting ends at ``most``.
    """
    n, d = query.numbers.shape
    together = np.concatenate([query.numbers, reference.numbers])
    spread = together.max(axis=0) - together.min(axis=0)
    scale = np.divide(1.0, spread, out=np.ones(d), where=spread > 0.0)
    trees = CellTrees.of(query, reference, levels, range(len(levels)), scale)
    asked = np.ascontiguousarray(query.numbers)
    upwards: NDArray[np.uint8] = (asked > middle).astype(np.uint8)
    found = np.empty(n, np.int64)

    def ask(start: int, stop: int) -> None:
        stack = np.empty(STACK, np.int64)
        count_orthants(
            start, stop, d, most, trees.group, asked, upwards, trees.point, trees.root,
            trees.span, trees.box, stack, found,
        )  # fmt: skip

    ask_in_threads(n, ask)
    return np.minimum(found, most)


@kernel
def is_as_extreme(point: Any, i: int, query: Any, q: int, d: int, upwards: Any) -> bool:
    """Return whether a point is as extreme as a query in every number."""
    for j in range(d):
        x, y = query[q * d + j], point[i * d + j]
        if (y < x) if upwards[q * d + j] else (y > x):
            return False
    return True


@kernel
def place_of_box(box: Any, node: int, query: Any, q: int, d: int, upwards: Any) -> int:
    """Return 1 if all of a box is as extreme as a query, -1 if nothing is, else 0."""
    place = 1
    for j in range(d):
        x = query[q * d + j]
        at = 2 * (node * d + j)
        low, high = box[at], box[at + 1]
        if (high < x) if upwards[q * d + j] else (low > x):
            return -1
        if (low < x) if upwards[q * d + j] else (high > x):
            place = 0
    return place


@native(
    "int64, int64, int64, int64, int64*, float64*, uint8*, float64*, int64*, int64*, "
    "float64*, int64*, int64*"
)
def count_orthants(
    start: int,
    stop: int,
    d: int,
    most: int,
    group: Any,
    query: Any,
    upwards: Any,
    point: Any,
    root: Any,
    span: Any,
    box: Any,
    stack: Any,
    found: Any,
) -> None:
    """Count the points of the group of each query that are as extreme."""
    for q in range(start, stop):
        top = root[group[q]]
        number = 0
        stack[0] = 0
        depth = 1
        while depth > 0 and number < most:
            depth -= 1
            v = stack[depth]
            low, high = span[2 * (top + v)], span[2 * (top + v) + 1]
            place = place_of_box(box, top + v, query, q, d, upwards)
            if place > 0:
                number += high - low
            elif place == 0 and high - low <= LEAF:
                for i in range(low, high):
                    number += is_as_extreme(point, i, query, q, d, upwards)
            elif place == 0:
                stack[depth] = 2 * v + 1
                stack[depth + 1] = 2 * v + 2
                depth += 2
        found[q] = number
