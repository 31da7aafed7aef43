"""Search a lattice, best first, with a bound below the loss of every node.

A node is a rung of each ladder. What the rungs lose grows with every step up: nodes can
be met in the order of it, without listing them all. Of a node that is met a better
bound is found, and the node is opened, its loss found exactly, when no other bound is
below it. What is left unopened is then above the best
loss: that is the certificate. (Best-first search with admissible bounds: Hart, Nilsson
and Raphael 1968; rungs in this order: Kohlmayer, Prasser and others 2012, Flash.)
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

from riskcore.common.arrays import Floats

Node = tuple[int, ...]
Opened = TypeVar("Opened")
# Sums of losses are rounded: what is above the best by less is opened, too.
_ROUNDING = 1e-12


class Loss(NamedTuple):
    """What a node loses; of equal losses that with fewer blanks, then lower rungs."""

    loss: float
    blanks: int
    node: Node


@dataclass(frozen=True, slots=True)
class Found(Generic[Opened]):
    """The best node so far, and what is known of all others."""

    nodes: int  # of the lattice
    best: Loss | None = None
    bound: float = 0.0  # no node loses less
    met: int = 0  # nodes whose bound was found
    # What was found of the nodes that were opened and meet the goals.
    opened: dict[Loss, Opened] = field(default_factory=dict)
    failed: int = 0  # nodes that were opened and do not


def search(
    rungs: Sequence[Floats],
    bound: Callable[[Node], tuple[float, float]],
    open_node: Callable[[Node], tuple[float, int, Any] | None],
    go_on: Callable[[Found[Any]], bool] = lambda state: True,
) -> Found[Any]:
    """Return the node that loses least.

    ``rungs`` is what each rung of each ladder loses at least. ``bound`` returns what a
    node and all above it lose at least, and what itself does; ``open_node`` its loss,
    its number of blanks, and anything else, or None if it cannot meet the goals. The
    search ends when ``go_on`` returns False.
    """
    state: Found[Any] = Found(math.prod(map(len, rungs)))
    lowest = (0,) * len(rungs)
    waiting = [(_sum(rungs, lowest), False, lowest)]
    while waiting:
        least, is_bounded, node = waiting[0]
        state = replace(state, bound=max(state.bound, least))
        if state.best is not None and least > state.best.loss + _ROUNDING:
            break
        if not go_on(state):
            return state
        heapq.heappop(waiting)
        if is_bounded:
            state = _with(state, node, open_node(node))
            continue
        floor, better = bound(node)
        for above in _above(node, rungs):
            start = max(floor, _sum(rungs, above))
            heapq.heappush(waiting, (start, False, above))
        state = replace(state, met=state.met + 1)
        if state.best is None or better <= state.best.loss + _ROUNDING:
            heapq.heappush(waiting, (better, True, node))
    return state if state.best is None else replace(state, bound=state.best.loss)


def _with(
    state: Found[Any], node: Node, opened: tuple[float, int, Any] | None
) -> Found[Any]:
    """Return the state with what was found of a node."""
    if opened is None:
        return replace(state, failed=state.failed + 1)
    loss, blanks, result = opened
    entry = Loss(loss, blanks, node)
    best = entry if state.best is None else min(state.best, entry)
    return replace(state, best=best, opened={**state.opened, entry: result})


def _above(node: Node, rungs: Sequence[Floats]) -> Iterator[Node]:
    """Yield nodes one step up, so that each node is above one other only."""
    last = max((i for i, rung in enumerate(node) if rung), default=0)
    for i in range(last, len(node)):
        if node[i] + 1 < len(rungs[i]):
            yield (*node[:i], node[i] + 1, *node[i + 1 :])


def _sum(rungs: Sequence[Floats], node: Node) -> float:
    """Return what the rungs of a node lose."""
    return math.fsum(float(of[i]) for of, i in zip(rungs, node, strict=True))
