"""The cheapest plan of a small file, proven by trying what can matter.

An unsafe unit can be helped only by a value of its own, or by one of another unit in a
key in which the two differ. So one of these values is blanked in every plan that adds
to what is blanked: each is tried, those tried before it left out. A branch ends where
it costs as much as the best plan.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.core.compiled.jit import kernel, native
from riskcore.protection.suppression.matching import Integers, Matching, Moves
from riskcore.protection.suppression.matching_kernels import STATE, give, is_safe

# What is chosen is a set of so many bits.
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
    """Return the cheapest moves to blank, and whether it is proven that there are none.

    Examples
    --------
    >>> from riskcore.protection.suppression.matching import Parts, View
    >>> one = View((0, 1), np.full(3, 0.6), lambda f, F: 1 / f)
    >>> codes = np.array([[0, 0], [0, 1], [1, 1]], np.int32)
    >>> ones, none = np.ones(3, np.int64), np.zeros(3, np.uint64)
    >>> parts, all_keys = Parts.of(np.ones(3)), none + np.uint64(3)
    >>> state = Matching(codes, ones, parts, [one], 1.0, False, none, all_keys)
    >>> moves = Moves.of([[(u, 1 << k)] for u in range(3) for k in range(2)])
    >>> blanked, proven, _ = cheapest(state, moves, np.ones(6, np.int64), 7, 1000)
    >>> int(blanked.sum()), proven
    (2, True)
    """
    number = len(moves)
    if number > MOST_MOVES:
        raise ValueError(f"{number} moves: at most {MOST_MOVES}")
    if among is None:
        among = np.flatnonzero((matching.limit >= 0).any(axis=0))
    found = np.zeros(4, np.uint64)
    stack = np.zeros((number + 2, 4), np.uint64)
    search(
        *matching.state(),
        moves.begin,
        moves.unit,
        moves.columns,
        number,
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
def _first_unsafe(
    units: int,
    sets: int,
    shift: int,
    shape: Any,
    limit: Any,
    least: Any,
    f: Any,
    F: Any,
    among: Any,
    number: int,
) -> int:
    """Return the first unsafe unit of the first set of keys that has one, or -1."""
    for v in range(sets):
        for i in range(number):
            u = among[i]
            if not is_safe(v, u, units, shift, shape, limit, least, f, F):
                at: int = v * units + u
                return at
    return -1


@kernel
def _what_helps(
    bad: int,
    units: int,
    M: int,
    code: Any,
    bits: Any,
    shape: Any,
    blank: Any,
    begin: Any,
    unit: Any,
    columns: Any,
    moves: int,
    settled: Any,
) -> Any:
    """Return the moves that may make a unit safe, of those that are not settled.

    A value of another that agrees with the unit's own value is none of them.
    """
    v, of = bad // units, bad % units
    helps = np.uint64(0)
    for t in range(moves):
        bit = np.uint64(1) << np.uint64(t)
        if settled & bit != 0:
            continue
        for part in range(begin[t], begin[t + 1]):
            u = unit[part]
            for k in range(shape[4 * v]):
                flag = bits[v * M + k]
                if columns[part] & flag == 0:
                    continue
                mine = code[bad * M + k]
                hidden = blank[of] & flag != 0 or mine < 0
                if u == of or hidden or mine != code[(v * units + u) * M + k]:
                    helps |= bit
    return helps


@native(
    f"{STATE}, int64*, int64*, uint64*, int64, int64*, int64, int64, int64, int64*, "
    "int64, uint64*, uint64*"
)
def search(
    units: int,
    sets: int,
    M: int,
    shift: int,
    code: Any,
    key: Any,
    after: Any,
    order: Any,
    bits: Any,
    shape: Any,
    gives: Any,
    limit: Any,
    least: Any,
    blank: Any,
    f: Any,
    F: Any,
    tally: Any,
    begin: Any,
    unit: Any,
    columns: Any,
    moves: int,
    cost: Any,
    most: int,
    nodes: int,
    work: int,
    among: Any,
    number: int,
    stack: Any,
    found: Any,
) -> None:
    """Search in depth; found: the moves, whether any, whether all were tried."""
    one = np.uint64(1)
    tally[1] = 0
    best = most
    cheap = cost[0]
    for t in range(moves):
        cheap = min(cheap, cost[t])
    # Of each depth: chosen, left out, still to try, whether it was entered.
    depth, tried, spent = 0, 0, 0
    while depth >= 0:
        at = 4 * depth
        if stack[at + 3] == 0:
            stack[at + 3] = one
            tried += 1
            if tried > nodes or tally[1] > work:
                break
            bad = _first_unsafe(
                units, sets, shift, shape, limit, least, f, F, among, number
            )
            helps = np.uint64(0)
            if bad < 0:
                if spent < best:
                    best = spent
                    found[0], found[1] = stack[at], one
            elif spent + cheap < best:
                helps = _what_helps(
                    bad,
                    units,
                    M,
                    code,
                    bits,
                    shape,
                    blank,
                    begin,
                    unit,
                    columns,
                    moves,
                    stack[at] | stack[at + 1],
                )
            stack[at + 2] = helps
        if stack[at + 2] == 0:
            # Back: what led here is left out of what follows.
            depth -= 1
            if depth >= 0:
                for t in range(moves):
                    bit = one << np.uint64(t)
                    if stack[4 * depth + 4] & bit != 0 and stack[4 * depth] & bit == 0:
                        spent -= cost[t]
                        stack[4 * depth + 1] |= bit
                        give(
                            units,
                            sets,
                            M,
                            shift,
                            code,
                            key,
                            after,
                            order,
                            bits,
                            shape,
                            gives,
                            limit,
                            least,
                            blank,
                            f,
                            F,
                            tally,
                            begin[t],
                            begin[t + 1],
                            unit,
                            columns,
                            0,
                        )
            continue
        for t in range(moves):
            bit = one << np.uint64(t)
            if stack[at + 2] & bit != 0:
                stack[at + 2] &= ~bit
                if spent + cost[t] >= best:
                    stack[at + 1] |= bit
                    break
                spent += cost[t]
                give(
                    units,
                    sets,
                    M,
                    shift,
                    code,
                    key,
                    after,
                    order,
                    bits,
                    shape,
                    gives,
                    limit,
                    least,
                    blank,
                    f,
                    F,
                    tally,
                    begin[t],
                    begin[t + 1],
                    unit,
                    columns,
                    1,
                )
                stack[at + 4], stack[at + 5] = stack[at] | bit, stack[at + 1]
                stack[at + 6], stack[at + 7] = np.uint64(0), np.uint64(0)
                depth += 1
                break
    if depth < 0:
        found[2] = one
        return
    for t in range(moves):
        if stack[4 * depth] & (one << np.uint64(t)) != 0:
            give(
                units,
                sets,
                M,
                shift,
                code,
                key,
                after,
                order,
                bits,
                shape,
                gives,
                limit,
                least,
                blank,
                f,
                F,
                tally,
                begin[t],
                begin[t + 1],
                unit,
                columns,
                0,
            )
