"""Local suppression for several sets of keys at once, record by record.

Whether the keys that a record keeps of one set are unsafe does not depend on the other
sets. A set of its keys is minimal unsafe if it is unsafe and none of its parts is. The
record is safe from all sets of keys if it loses a key of each of its minimal unsafe
sets. So the cheapest keys solve a small hitting set problem, mostly the same for many
records. It is solved by branch and bound.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, pairwise
from operator import or_

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.margins import Floats, KeyMasks, Margins, Positions
from riskcore.common.arrays import Integers
from riskcore.common.progress import Lines, silent
from riskcore.protection.suppression.cheapest_blanks import (
    Draw,
    Preference,
    distinct_rows,
    members,
    preference_of,
)

# All keys are a mask of 64 bits, and one set has at most 2**10 margins.
MOST_KEYS = 63
MOST_IN_SET = 10
# The choices tried for one kind of record; then the best so far is taken.
_NODES = 20_000
# Report progress after this many sets of keys.
_SAID = 20
# The relative difference of sums of the same costs in another order is below this.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """What an intruder who knows one set of keys sees of the units."""

    margins: Margins
    columns: tuple[int, ...]  # the position of each of its keys among all keys
    cell: Positions
    threshold: Floats  # a unit is unsafe if its risk is not below it

    def unsafe(self, kept: int, units: Positions) -> NDArray[np.bool_]:
        """Return whether units are unsafe by the keys that are kept."""
        risk = self.margins.risk(kept, self.cell[units])
        return risk >= self.threshold[units]

    def seen(self, mask: int) -> int:
        """Return a mask of this set's keys as a mask of all keys."""
        return sum(1 << c for i, c in enumerate(self.columns) if mask >> i & 1)


def plan_together(
    sights: Sequence[Sight],
    names: Sequence[Hashable],
    cost: Floats,
    along: Sequence[int],
    progress: Lines | None = None,
    *,
    losses: Sequence[Integers] | None = None,
    draw: Draw | None = None,
) -> KeyMasks:
    """Return the keys to blank, so that units are safe from all sets of keys."""
    say = progress or silent
    units = len(sights[0].cell)
    result = np.zeros(units, np.uint64)
    unsafe = np.zeros(units, bool)
    for entry in sights:
        unsafe |= entry.unsafe(entry.margins.all_keys, np.arange(units))
    at = np.flatnonzero(unsafe)
    if not len(at):
        return result
    first, task = _distinct(sights, at)
    first = at[first]
    say(
        f"suppression for {len(at)} units unsafe from {len(sights)} sets of keys, "
        f"{len(first)} of them distinct"
    )
    costs = np.broadcast_to(cost, (units, len(names)))[first]
    preference = preference_of(names, by_name=losses is not None)
    prices, choice = distinct_rows(costs)
    choices = [Choice.of(row, along, preference) for row in prices]
    loss = _loss(sights, first, len(names), None if draw else losses)
    able = np.array([entry.affordable for entry in choices], np.uint64)[choice]
    unit: list[Positions] = [np.empty(0, np.int64)]
    mask = [np.empty(0, np.uint64)]
    forced = np.zeros(len(first), np.uint64)
    for number, entry in enumerate(sights):
        if number % _SAID == 0 and number:
            say(f"{number} of {len(sights)} sets of keys")
        for affordable in np.unique(able).tolist():
            some = np.flatnonzero(able == affordable)
            positions, asked, lost = _minimal_unsafe(entry, first[some], affordable)
            unit.append(some[positions])
            mask.append(asked)
            forced[some] |= lost
    units_of, masks = np.concatenate(unit), np.concatenate(mask)
    open_ = masks & forced[units_of] == 0
    blank = forced.copy()
    kinds = _kinds(units_of[open_], masks[open_])
    orders = [preference] * len(kinds)
    if draw is not None:
        numbers = draw(len(kinds) * len(names)).reshape(len(kinds), len(names))
        orders = [Preference(rank) for rank in np.argsort(np.argsort(numbers)).tolist()]
    for (kind, rows), order in zip(kinds.items(), orders, strict=True):
        units_of_kind = np.array(rows)
        for number in np.unique(choice[units_of_kind]).tolist():
            alike = units_of_kind[choice[units_of_kind] == number]
            own = replace(choices[number], preference=order)
            blank[alike] |= _of_least_loss(own.cheapest(kind), loss[alike])
    result[at] = blank[task]
    return result


def _loss(
    sights: Sequence[Sight],
    units: Positions,
    keys: int,
    losses: Sequence[Integers] | None,
) -> Integers:
    """Return what blanking each key of some units loses, shape (U, C)."""
    loss = np.zeros((len(units), keys), np.int64)
    if losses is None:
        return loss
    for sight in sights:
        cells = sight.cell[units]
        for codes, c in zip(sight.margins.cells.codes, sight.columns, strict=True):
            loss[:, c] = losses[c][codes[cells]]
    return loss


def _of_least_loss(masks: Sequence[int], loss: Integers) -> KeyMasks:
    """Return for each row of ``loss`` the first set of keys that loses least."""
    if len(masks) == 1:
        return np.full(len(loss), masks[0], np.uint64)
    has = np.array([[mask >> c & 1 for mask in masks] for c in range(loss.shape[1])])
    choice: KeyMasks = np.array(masks, np.uint64)[np.argmin(loss @ has, axis=1)]
    return choice


def _distinct(sights: Sequence[Sight], at: Positions) -> tuple[Positions, Positions]:
    """Return the first unit of each kind, and the kind of each unit."""
    label = np.zeros(len(at), np.int64)
    for sight in sights:
        for part in (sight.cell[at], sight.threshold[at]):
            values, level = np.unique(part, return_inverse=True)
            if len(values) > 1:
                both = label * len(values) + level.reshape(-1)
                label = np.unique(both, return_inverse=True)[1].reshape(-1)
    _, first, task = np.unique(label, return_index=True, return_inverse=True)
    return first, task.reshape(-1)


def _minimal_unsafe(
    sight: Sight, among: Positions, affordable: int
) -> tuple[Positions, KeyMasks, KeyMasks]:
    """Return the minimal unsafe sets of units, and what hopeless units lose."""
    # Pairs of a position in ``among`` and the keys that may be blanked. The largest
    # sets come first: a set is safe if a set with one more key is.
    margins, units = sight.margins, len(among)
    m = len(sight.columns)
    present = margins.present(sight.cell[among])
    may = np.uint64(
        sum(1 << i for i, c in enumerate(sight.columns) if affordable >> c & 1)
    )
    absent = present ^ np.uint64(margins.all_keys)
    lacks = [present >> np.uint64(i) & np.uint64(1) == 0 for i in range(m)]
    every = set(np.unique(present).tolist())
    unit, mask = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    hopeless = np.zeros(units, bool)
    above: dict[int, NDArray[np.bool_]] = {}
    for size in range(m, -1, -1):
        level: dict[int, NDArray[np.bool_]] = {}
        least = {kept: bad.copy() for kept, bad in above.items()}
        for keys in combinations(range(m), size):
            kept = sum(1 << i for i in keys)
            more = [i for i in range(m) if not kept >> i & 1]
            if kept not in every and not any(kept | 1 << i in above for i in more):
                continue
            perhaps = present & np.uint64(kept) == kept
            for i in more:
                larger = above.get(kept | 1 << i)
                perhaps &= lacks[i] if larger is None else larger | lacks[i]
            at = np.flatnonzero(perhaps)
            bad = np.zeros(units, bool)
            # Missing keys are kept: they cannot be blanked.
            for lack in np.unique(absent[at]).tolist():
                some = at[absent[at] == lack]
                bad[some] = sight.unsafe(kept | lack, among[some])
            if bad.any():
                level[kept] = bad
                for i in more:
                    if kept | 1 << i in least:
                        least[kept | 1 << i] &= ~bad
        if 0 in level:
            least[0] = level[0]
        for kept, bad in least.items():
            at = np.flatnonzero(bad)
            unit.append(at)
            mask.append(np.full(len(at), sight.seen(kept & int(may)), np.uint64))
            hopeless[at] |= kept & int(may) == 0
        above = level
    units_of, masks = np.concatenate(unit), np.concatenate(mask)
    lost = np.zeros(units, np.uint64)
    for keys_of in np.unique(present[hopeless]).tolist():
        at = hopeless & (present == keys_of)
        lost[at] = sight.seen(keys_of & int(may))
    use = ~hopeless[units_of]
    return units_of[use], masks[use], lost


def _kinds(unit: Positions, mask: KeyMasks) -> dict[tuple[int, ...], list[int]]:
    """Return the units by their sets of keys."""
    order = np.lexsort((mask, unit))
    unit, mask = unit[order], mask[order]
    same = np.zeros(len(unit), bool)
    same[1:] = (unit[1:] == unit[:-1]) & (mask[1:] == mask[:-1])
    unit, mask = unit[~same], mask[~same]
    first = np.ones(len(unit), bool)
    first[1:] = unit[1:] != unit[:-1]
    bounds = [*np.flatnonzero(first).tolist(), len(unit)]
    masks, kinds = mask.tolist(), dict[tuple[int, ...], list[int]]()
    for begin, end in pairwise(bounds):
        kinds.setdefault(tuple(masks[begin:end]), []).append(int(unit[begin]))
    return kinds


@dataclass(frozen=True, slots=True)
class Choice:
    """How keys that hit all sets are chosen: by cost, with the keys blanked along."""

    cost: list[float]
    along: list[int]  # the mask of the keys that are blanked with each key
    affordable: int
    preference: Preference

    @classmethod
    def of(cls, cost: Floats, along: Sequence[int], preference: Preference) -> Choice:
        """Return the choice for keys; keys of infinite cost may not be blanked."""
        costs = cost.tolist()
        affordable = sum(
            1 << c
            for c, others in enumerate(along)
            if all(costs[i] < math.inf for i in members(others))
        )
        return cls(costs, list(along), affordable, preference)

    def cost_of(self, mask: int) -> float:
        """Return the cost of a set of keys."""
        return math.fsum(self.cost[i] for i in members(mask))

    def rank(self, mask: int) -> tuple[float, int]:
        """Return the cost and the size of a set of keys: the smallest are taken."""
        return self.cost_of(mask), mask.bit_count()

    def cheapest(self, sets: Iterable[int]) -> list[int]:
        """Return the sets of keys of the smallest rank that hit all, by preference."""
        # The set with the fewest free keys is hit by each of them in turn; what has
        # been tried is left out of later branches. A branch ends where sets without a
        # common key cost more than the best keys.
        needed = _without_larger(sets)
        best = {self._greedy(needed)}
        best_rank = self.rank(*best)
        stack, tried = [(0, 0)], 0
        while stack and tried < _NODES:
            chosen, banned = stack.pop()
            tried += 1
            left = [one for one in needed if not one & chosen]
            if not left:
                rank = self.rank(chosen)
                if rank < best_rank:
                    best, best_rank = {chosen}, rank
                elif rank == best_rank:
                    best.add(chosen)
                continue
            if self._hopeless(left, chosen, banned, best_rank):
                continue
            one = min(left, key=lambda x: ((x & ~banned).bit_count(), x.bit_count(), x))
            branches = []
            for i in self.preference.sorted(members(one & ~banned)):
                if not self.along[i] & banned:
                    branches.append((chosen | self.along[i], banned))
                banned |= 1 << i
            stack += branches[::-1]
        return sorted(best, key=lambda mask: self.preference.of(members(mask)))

    def _hopeless(
        self, left: Sequence[int], chosen: int, banned: int, best: tuple[float, int]
    ) -> bool:
        """Return whether a branch cannot become better than the best."""
        cost, size, used = self.cost_of(chosen), chosen.bit_count(), 0
        for one in left:
            free = one & ~banned
            if not free:
                return True
            if not free & used:
                used |= free
                cost += min(self.cost[i] for i in members(free))
                size += 1
        slack = _ROUNDING * abs(best[0])
        return cost > best[0] + slack or (cost >= best[0] - slack and size > best[1])

    def _greedy(self, sets: Sequence[int]) -> int:
        """Return keys that hit all sets, each in the most sets for its cost."""
        chosen = 0
        while left := [one for one in sets if not one & chosen]:
            keys = self.preference.sorted(members(reduce(or_, left)))
            gain = {i: sum(one >> i & 1 for one in left) for i in keys}
            chosen |= self.along[
                max(keys, key=lambda i: gain[i] / max(self.cost[i], 1e-300))
            ]
        return chosen


def _without_larger(sets: Iterable[int]) -> list[int]:
    """Return the sets that contain no other set, the smallest first."""
    kept: list[int] = []
    for key_mask in sorted(sets, key=lambda x: (x.bit_count(), x)):
        if not any(less & ~key_mask == 0 for less in kept):
            kept.append(key_mask)
    return kept
