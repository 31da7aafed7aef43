"""Plan each of the parts of a file that do not affect each other exactly.

The values that a plan by record blanks mostly matter to few records, so that the file
falls into many small parts. A part in which the plan is above its bound is searched for
the cheapest plan that makes its records safe if all others lose what they may: no plan
of the file costs less than the sum of these. Mostly its records are safe even with the
blanks that the others have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riskcore.protection.suppression.matching import (
    Floats,
    Integers,
    KeyMasks,
    Matching,
)
from riskcore.protection.suppression.matching_kernels import Moves
from riskcore.protection.suppression.plan_exact import MOST_MOVES, cheapest
from riskcore.protection.suppression.plan_units import COST_BITS, File, Units
from riskcore.protection.suppression.rounds import Mask

# Work is counted, not timed: the sets of moves tried in one part, and the pairs of
# units compared there and in all.
_NODES = 100_000
_WORK = 20_000_000
_ALL_WORK = 200_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """A lower bound from prices of rules."""

    value: float | None  # what every plan within the open keys costs; None: not known
    each: Floats  # the same for each part of the file
    part: Integers  # the part of each record; -1 if it has none
    worth: Floats  # what the blanks of each record give to others


def in_parts(
    file: File, plan: KeyMasks, may: KeyMasks, frozen: Mask, priced: Priced
) -> tuple[KeyMasks, float | None]:
    """Return a plan that is the cheapest in each small part, and a lower bound."""
    # A blank that harms others links more than those it matches; costs must be exact.
    loses_all = file.loses_all(may).any() and not file.blank_matches_complete
    if priced.value is None or file.alpha < 1 or loses_all or not file.whole:
        return plan, priced.value
    units = Units.of(file, may != 0)
    moves, cost = units.moves(file, np.where(frozen, np.uint64(0), may))
    if not moves.number:
        return plan, priced.value
    part = _joined(priced.part[units.row], moves)
    number = int(part.max()) + 1
    lower = np.zeros(number)
    first = np.full(len(priced.each), -1)
    at = np.flatnonzero(priced.part[units.row] >= 0)
    first[priced.part[units.row[at]]] = part[at]
    np.add.at(lower, first[first >= 0], priced.each[first >= 0])
    state, helped = units.matching(file, plan, may), units.matching(file, may, may)
    of_move = part[moves.unit[moves.begin[:-1]]]
    blanked = (state.blank[moves.unit] & moves.columns)[moves.begin[:-1]] != 0
    spent = np.bincount(of_move[blanked], cost[blanked] >> COST_BITS, number)
    kept = np.zeros(number, bool)
    kept[part[frozen[units.row] & (may[units.row] != 0)]] = True
    order = np.argsort(of_move, kind="stable")
    begin = np.searchsorted(of_move[order], np.arange(number + 1))
    watched = np.argsort(part, kind="stable")
    watch = np.searchsorted(part[watched], np.arange(number + 1))
    size = np.diff(begin)
    left = _ALL_WORK
    open_ = np.flatnonzero((spent > lower) & ~kept & (size > 0) & (size <= MOST_MOVES))
    for p in open_[np.argsort(size[open_], kind="stable")].tolist():
        if left <= 0:
            break
        some = np.sort(order[begin[p] : begin[p + 1]])
        sub, worth, now = moves.take(some), cost[some], blanked[some]
        among, most = watched[watch[p] : watch[p + 1]], int(worth[now].sum())
        every = np.ones(len(some), bool)
        # The least cost of the part if others lose all they may is a bound.
        found, proven, looked = _searched(
            helped, sub, worth, every, most, among, min(_WORK, left)
        )
        left -= looked
        if proven:
            lower[p] = (most if found is None else int(worth[found].sum())) >> COST_BITS
        if found is None:
            continue
        state.change(sub, found)
        if not state.safe.all():
            found, _, looked = _searched(
                state, sub, worth, now, most, among, min(_WORK, left)
            )
            left -= looked
            state.change(sub, now if found is None else found)
            if not state.safe.all():
                state.change(sub, now)
    state.put_back(moves)
    return units.of_rows(state.blank, may), int(lower.sum())


def _searched(
    state: Matching,
    moves: Moves,
    cost: Integers,
    now: NDArray[np.bool_],
    most: int,
    among: Integers,
    work: int,
) -> tuple[NDArray[np.bool_] | None, bool, int]:
    """Search a part by `cheapest`, and restore what is blanked of it."""
    state.change(moves, np.zeros(moves.number, bool))
    found = cheapest(state, moves, cost, most, _NODES, among, work)
    state.change(moves, now)
    return found


def _joined(part: Integers, moves: Moves) -> Integers:
    """Return the parts of units, joined where values are blanked together."""
    number = int(part.max(initial=-1)) + 1
    label = np.where(part >= 0, part, number + np.arange(len(part)))
    at, move = label[moves.unit], moves.of_part
    least = np.arange(number + len(part))
    while True:
        before = least.copy()
        lowest = np.full(moves.number, len(least))
        np.minimum.at(lowest, move, least[at])
        np.minimum.at(least, at, lowest[move])
        least = least[least]
        if np.array_equal(least, before):
            return np.unique(least[label], return_inverse=True)[1].reshape(-1)
