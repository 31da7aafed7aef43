"""The cheapest plan of a small file, proven by branch and bound.

An unsafe unit is helped only by blanking a value of its own, or a value of another unit
in a key in which the two differ. So every plan that adds to what is blanked blanks one
of these values: each is tried in turn, and left out of later branches. A branch ends
where it costs as much as the best plan.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.core.compiled.jit import kernel, native
from riskcore.protection.suppression.matching import Integers, Matching
from riskcore.protection.suppression.matching_kernels import (
    Moves,
    blank,
    is_safe,
    moves_of,
    put_back,
    state_of,
    words,
)

# The chosen moves are the bits of one number.
MOST_MOVES = 63


def cheapest(
    matching: Matching,
    moves: Moves,
    cost: Integers,
    most: int,
    nodes: int,
    among: Integers | None = None,
    work: int = 1 << 62,
) -> tuple[NDArray[np.bool_] | None, bool, int]:
    """Return the cheapest moves to blank or None, if that is proven, and the work."""
    number = moves.number
    if number > MOST_MOVES:
        raise ValueError(f"{number} moves: at most {MOST_MOVES}")
    if among is None:
        among = np.flatnonzero((matching.limit >= 0).any(axis=0))
    found = np.zeros(4, np.uint64)
    stack = np.zeros((number + 2, 4), np.uint64)
    search(
        matching.words,
        words(moves),
        cost,
        most,
        nodes,
        work,
        among,
        len(among),
        stack,
        found,
    )
    proven, looked = bool(found[2]), matching.looked
    if not found[1]:
        return None, proven, looked
    bits = found[0] >> np.arange(number, dtype=np.uint64) & np.uint64(1)
    return bits.astype(bool), proven, looked


@kernel
def _first_unsafe(s: Any, among: Any, number: int) -> int:
    """Return the first unsafe unit of the first set of keys that has one, or -1."""
    for v in range(s.sets):
        for i in range(number):
            if not is_safe(s, v, among[i]):
                at: int = v * s.units + among[i]
                return at
    return -1


@kernel
def _what_helps(s: Any, moves: Any, bad: int, settled: Any) -> Any:
    """Return the moves that may make a unit safe, without those that are settled.

    A value of another unit helps only if it differs from the unit's own.
    """
    v, unit = bad // s.units, bad % s.units
    helps = np.uint64(0)
    for t in range(moves.number):
        bit = np.uint64(1) << np.uint64(t)
        if settled & bit != 0:
            continue
        for part in range(moves.begin[t], moves.begin[t + 1]):
            u = moves.unit[part]
            for k in range(s.shape[4 * v]):
                flag = s.bits[v * s.M + k]
                if moves.columns[part] & flag == 0:
                    continue
                mine = s.code[bad * s.M + k]
                hidden = s.blank[unit] & flag != 0 or mine < 0
                if u == unit or hidden or mine != s.code[(v * s.units + u) * s.M + k]:
                    helps |= bit
    return helps


@native("int64*, int64*, int64*, int64, int64, int64, int64*, int64, uint64*, uint64*")
def search(
    state: Any,
    given: Any,
    cost: Any,
    most: int,
    nodes: int,
    work: int,
    among: Any,
    number: int,
    stack: Any,
    found: Any,
) -> None:
    """Search depth first; write the moves found, whether any, and whether proven."""
    s, moves = state_of(state), moves_of(given)
    one = np.uint64(1)
    s.tally[1] = 0
    best = most
    cheap = cost[0]
    for t in range(moves.number):
        cheap = min(cheap, cost[t])
    # By depth: the moves chosen, left out and still to try, and whether it was entered.
    depth, tried, spent = 0, 0, 0
    while depth >= 0:
        at = 4 * depth
        if stack[at + 3] == 0:
            stack[at + 3] = one
            tried += 1
            if tried > nodes or s.tally[1] > work:
                break
            bad = _first_unsafe(s, among, number)
            helps = np.uint64(0)
            if bad < 0:
                if spent < best:
                    best = spent
                    found[0], found[1] = stack[at], one
            elif spent + cheap < best:
                helps = _what_helps(s, moves, bad, stack[at] | stack[at + 1])
            stack[at + 2] = helps
        if stack[at + 2] == 0:
            # Back: what led here is left out of what follows.
            depth -= 1
            if depth >= 0:
                for t in range(moves.number):
                    bit = one << np.uint64(t)
                    if stack[4 * depth + 4] & bit != 0 and stack[4 * depth] & bit == 0:
                        spent -= cost[t]
                        stack[4 * depth + 1] |= bit
                        put_back(s, moves, t)
            continue
        for t in range(moves.number):
            bit = one << np.uint64(t)
            if stack[at + 2] & bit != 0:
                stack[at + 2] &= ~bit
                if spent + cost[t] >= best:
                    stack[at + 1] |= bit
                    break
                spent += cost[t]
                blank(s, moves, t)
                stack[at + 4], stack[at + 5] = stack[at] | bit, stack[at + 1]
                stack[at + 6], stack[at + 7] = np.uint64(0), np.uint64(0)
                depth += 1
                break
    if depth < 0:
        found[2] = one
        return
    for t in range(moves.number):
        if stack[4 * depth] & (one << np.uint64(t)) != 0:
            put_back(s, moves, t)
