"""Local suppression: which keys of an unsafe record to blank.

A record is unsafe if its combination of keys is rare. Without some of the keys it is
one of more records: they share a combination of the margin, the table over the kept
keys. `Margins` has the risks of such combinations, `plan` chooses the keys to blank, at
the smallest cost or as mu-Argus does. Sets of keys are bit masks: bit i is key i.

Each unit is planned by itself, against the unchanged file. The risk must not rise when
f and F grow: then a record that is safe with the keys it keeps is safe with fewer keys,
too. E[1/F | f] falls in both, and so does its series ended after seven terms, since
each term is smaller than the one before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.assessment.margins import Floats, KeyMasks, Margins, Positions
from riskcore.common.arrays import Integers, Mask
from riskcore.common.progress import Lines, silent
from riskcore.data.cells import Cells
from riskcore.data.count import count
from riskcore.data.entropy import entropy
from riskcore.data.unsigned import Codes

Method = Literal["exact", "argus"]

# Returns as many secret 64-bit numbers as asked for, others at each call.
Draw = Callable[[int], KeyMasks]

# The most orders of ties that are drawn, and the most numbers in them.
_ORDERS, _MOST_RANKS = 64, 1 << 22
# The sets of keys after which tasks that no other set can improve are left out.
_TURNS = 16
# The most costs of sets of keys that are kept at once.
_MOST_SUMS = 1 << 23
# 2**16 sets of keys; mu-Argus has tables of at most ten.
MOST_KEYS = {"exact": 16, "argus": 10}
# The amount by which the second plan of mu-Argus must be cheaper than the first.
_ARGUS_MARGIN = 0.1
# The loss of a value that no other record has: losses are whole, so sums are exact.
_ONE = 1 << 50


def plan(
    margins: Margins,
    cell: Positions,
    threshold: ArrayLike,
    cost: ArrayLike,
    method: Method = "exact",
    progress: Lines | None = None,
    *,
    losses: Sequence[Integers] | None = None,
    draw: Draw | None = None,
) -> KeyMasks:
    """Return the keys to blank in each unit, each planned by itself.

    Notes
    -----
    "exact" blanks the cheapest set of keys without which the unit's risk is below the
    threshold. Ties go to the fewest keys, then to the smallest loss, then to the first
    names of keys, so that the order in which keys are given does not matter. The loss
    is the sum of ``losses`` of the unit's codes, see `losses_of`; a key that costs
    nothing loses nothing. Without ``losses`` ties go to the first positions of keys.
    With ``draw`` the order of sets of equal cost and size is drawn, whatever they lose.
    Keys that are missing already are not blanked. A unit without any key has the risk
    of f = n, and must be safe too.

    "argus" is the heuristic of mu-Argus (``MakeRecordSafe``). A set of keys that the
    unit has is unsafe if its risk is not below the threshold. Unsafe single keys are
    blanked; every set with a blanked key counts as safe. For the other sets there are
    two plans: (a) blank the key in most unsafe sets, then the cheapest, then the first,
    until no set is unsafe; (b) blank the cheapest, then the first key of each unsafe
    set, from the smallest set to the largest. First is the key of the smallest loss,
    then by name; without ``losses`` by position, as in mu-Argus. Plan (b) is taken if
    it is cheaper by more than 0.1. A unit without any key is safe.
    """
    m = len(margins.cells.keys)
    if m > MOST_KEYS[method]:
        raise ValueError(
            f"{m} keys: method={method!r} takes at most {MOST_KEYS[method]}"
        )
    units = len(cell)
    thresholds = np.broadcast_to(np.asarray(threshold, np.float64), units)
    costs = np.asarray(cost, np.float64)
    with np.errstate(over="ignore"):
        total = np.sum(costs, axis=-1, where=np.isfinite(costs))
    if not np.all(np.isfinite(total)):
        raise ValueError("cost: the sum over the keys overflows; give smaller costs")
    preference = preference_of(margins.cells.keys, by_name=losses is not None)
    result = np.zeros(units, np.uint64)
    unsafe = np.flatnonzero(margins.risk(margins.all_keys, cell) >= thresholds)
    if len(unsafe):
        say = progress or silent
        rows = costs if costs.ndim == 1 else costs[unsafe]
        of, limit, losses = cell[unsafe], thresholds[unsafe], None if draw else losses
        tasks, task = _tasks(margins, of, limit, rows, preference, losses)
        say(
            f"suppression for {len(unsafe)} unsafe units, {len(tasks)} of them distinct"
        )
        if method == "exact":
            blank = _cheapest(margins, tasks, say, draw)
        else:
            blank = _as_argus(margins, tasks, say)
        result[unsafe] = blank[task]
    return result


def entropies(cells: Cells) -> Floats:
    """Return the entropy of each key in bits, as CASC (2004) 1.2-D3, section 7."""
    keys = range(len(cells.keys))
    return np.array([entropy(records_of_codes(cells, i)) for i in keys])


def records_of_codes(cells: Cells, i: int) -> Integers:
    """Return the number of records with each code of a key; of missing values, 0."""
    labels = cells.categories[i]
    records = np.bincount(cells.codes[i], cells.records, len(labels)).astype(np.int64)
    if labels[-1] is None:
        records[-1] = 0
    return records


def losses_of(cells: Cells) -> list[Integers]:
    """Return for each key what blanking each code loses: 1/n if n records have it."""
    # 1/n is the share of a category, in units of 2**-50, rounded down.
    losses = []
    for i in range(len(cells.keys)):
        records = records_of_codes(cells, i)
        shares = np.where(records > 0, _ONE // np.maximum(records, 1), 0)
        losses.append(np.append(shares, 0))
    return losses


@dataclass(frozen=True, slots=True, eq=False)
class Preference:
    """Which of several sets of keys is taken if all else is equal."""

    rank: list[int]  # the rank of each key

    def of(self, keys: Iterable[int]) -> list[int]:
        """Return the order of a set of keys: the smallest is taken."""
        return sorted(self.rank[i] for i in keys)

    def sorted(self, keys: Iterable[int]) -> list[int]:
        """Return keys in the order in which they are taken."""
        return sorted(keys, key=lambda i: self.rank[i])

    def by_size(self, mask: int) -> tuple[int, list[int]]:
        """Return the order of a set of keys as a mask, the smallest sets first."""
        return mask.bit_count(), self.of(members(mask))


def preference_of(names: Sequence[Hashable], *, by_name: bool) -> Preference:
    """Return the preference by the names of keys, or by their positions."""
    m = len(names)
    if not by_name:
        return Preference(list(range(m)))
    order = sorted(range(m), key=lambda i: (str(names[i]), type(names[i]).__name__))
    return Preference([order.index(i) for i in range(m)])


@dataclass(frozen=True, slots=True, eq=False)
class _Tasks:
    """The distinct cells, thresholds and costs of unsafe units, planned once each."""

    cell: Positions
    threshold: Floats
    row: Positions  # the row of the costs
    costs: Floats  # shape (R, m)
    present: KeyMasks  # the keys that are not missing
    affordable: KeyMasks  # of these, the keys that may be blanked
    codes: Sequence[Codes]  # of each key, by cell
    losses: Sequence[Integers] | None  # what blanking each code of each key loses
    preference: Preference

    def __len__(self) -> int:
        return len(self.cell)

    def loss_of(self, keys: Sequence[int], at: Positions) -> Integers:
        """Return what some tasks lose without a set of keys."""
        loss = np.zeros(len(at), np.int64)
        if self.losses is None:
            return loss
        # Looked up anew: kept for each key it would be the most that planning holds.
        cell, free = self.cell[at], self.costs == 0
        for i in keys:
            lost = self.losses[i][self.codes[i][cell]]
            if free[:, i].any():
                lost[free[self.row[at], i]] = 0
            loss += lost
        return loss


def _tasks(
    margins: Margins,
    cell: Positions,
    threshold: Floats,
    costs: Floats,
    preference: Preference,
    losses: Sequence[Integers] | None,
) -> tuple[_Tasks, Positions]:
    """Return the tasks of unsafe units, and the task of each unit."""
    rows, row = distinct_rows(np.atleast_2d(costs))
    levels, level = _levels(threshold)
    parts = (cell, level, np.broadcast_to(row, len(cell)))
    distinct = count(
        [part.astype(np.uint32) for part in parts],
        [len(margins.cells), len(levels), len(rows)],
    )
    at, at_level, at_row = distinct.codes
    present = margins.present(at)
    bits = np.uint64(1) << np.arange(rows.shape[1], dtype=np.uint64)
    affordable = present & (np.isfinite(rows) @ bits)[at_row]
    threshold, codes = levels[at_level], margins.cells.codes
    tasks = _Tasks(
        at, threshold, at_row, rows, present, affordable, codes, losses, preference
    )
    return tasks, distinct.inverse


def distinct_rows(costs: Floats) -> tuple[Floats, Positions]:
    """Return the distinct rows of costs in their order, and the index of each row's."""
    code = np.zeros(len(costs), np.int64)
    most = 1
    for column in costs.T:
        levels, level = _levels(column)
        if most * len(levels) >= 1 << 62:
            codes, code = np.unique(code, return_inverse=True)
            most = len(codes)
        code = code * len(levels) + level
        most *= len(levels)
    _, first, row = np.unique(code, return_index=True, return_inverse=True)
    return costs[first], row


def _levels(threshold: Floats) -> tuple[Floats, Positions]:
    """Return the distinct numbers, mostly one, and the index of each unit's."""
    if (threshold == threshold[0]).all():
        return threshold[:1], np.zeros(len(threshold), np.intp)
    levels, level = np.unique(threshold, return_inverse=True)
    return levels, level


def members(mask: int) -> list[int]:
    """Return the positions of the bits of a mask."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _subsets(
    preference: Preference,
) -> tuple[list[tuple[int, ...]], KeyMasks, Positions]:
    """Return the sets of keys by size and preference, as masks, and place by mask."""
    m = len(preference.rank)
    subsets = [
        s
        for size in range(1, m + 1)
        for s in sorted(combinations(range(m), size), key=preference.of)
    ]
    masks = np.array([sum(1 << i for i in s) for s in subsets], np.uint64)
    place = np.zeros(1 << m, np.intp)
    place[masks] = np.arange(len(masks))
    return subsets, masks, place


def _drawn_rows(tasks: _Tasks, subsets: int, draw: Draw) -> tuple[_Tasks, Floats]:
    """Return the tasks with a drawn order of ties each, their row, and the orders."""
    orders = max(1, min(_ORDERS, _MOST_RANKS // (subsets * len(tasks.costs))))
    row = tasks.row * orders + (draw(len(tasks)) % np.uint64(orders)).astype(np.intp)
    rows = len(tasks.costs) * orders
    ranks = draw(rows * subsets).reshape(rows, subsets).astype(np.float64)
    return replace(tasks, row=row, costs=np.repeat(tasks.costs, orders, axis=0)), ranks


def sums_of_costs(costs: Floats, subsets: Sequence[tuple[int, ...]]) -> Floats:
    """Return the cost of each set of keys by row of costs, rounded once."""
    open_ = np.isfinite(costs)
    plain = np.where(open_, costs, 0.0)
    if np.all(plain == np.rint(plain)) and plain.sum(axis=1).max() < 2.0**53:
        member = np.zeros((costs.shape[1], len(subsets)))
        for j, keys in enumerate(subsets):
            member[keys, j] = 1.0
        # Sums of whole numbers are exact in any order.
        sums: Floats = plain @ member
        sums[(~open_).astype(np.float64) @ member > 0] = np.inf
        return sums
    return np.array([[math.fsum(row[i] for i in s) for s in subsets] for row in costs])


def _cheapest(
    margins: Margins, tasks: _Tasks, say: Lines, draw: Draw | None
) -> KeyMasks:
    """Plan tasks as `_cheapest_of`; those of many different costs part by part."""
    step = max(1, _MOST_SUMS >> tasks.costs.shape[1])
    if len(tasks.costs) <= step:
        return _cheapest_of(margins, tasks, say, draw)
    blank = np.zeros(len(tasks), np.uint64)
    for begin in range(0, len(tasks.costs), step):
        rows = tasks.row - begin
        at = np.flatnonzero((rows >= 0) & (rows < step))
        part = replace(
            tasks,
            cell=tasks.cell[at],
            threshold=tasks.threshold[at],
            row=rows[at],
            costs=tasks.costs[begin : begin + step],
            present=tasks.present[at],
            affordable=tasks.affordable[at],
        )
        blank[at] = _cheapest_of(margins, part, say, draw)
    return blank


def _cheapest_of(
    margins: Margins, tasks: _Tasks, say: Lines, draw: Draw | None
) -> KeyMasks:
    """Return each task's cheapest set that makes it safe, all keys if none does."""
    subsets, masks, place = _subsets(tasks.preference)
    sums = sums_of_costs(tasks.costs, subsets)
    sizes = np.bitwise_count(masks).astype(np.int64)
    if draw is None:
        order = np.argsort(sums, axis=1, kind="stable")
    else:
        number = len(tasks.costs)
        tasks, ranks = _drawn_rows(tasks, len(subsets), draw)
        sums = np.repeat(sums, len(ranks) // number, axis=0)
        order = np.lexsort((ranks, np.broadcast_to(sizes, sums.shape), sums), axis=1)
    rank = np.argsort(order, axis=1).astype(np.int32)
    level = _levels_of(sums, sizes, order, rank)
    solvable = _solvable(margins, tasks)
    every = place[tasks.affordable]
    # The level, loss and rank of the best set so far. All keys share their level with
    # no part of them, so that their loss does not matter.
    best: list[NDArray[Any]] = [
        level[tasks.row, every],
        np.zeros(len(tasks), np.int64),
        rank[tasks.row, every],
    ]
    turns = np.argsort(rank.min(axis=0), kind="stable")
    # The first level to come, by order and turn.
    coming = np.minimum.accumulate(level[:, turns[::-1]], axis=1)[:, ::-1]
    open_tasks = np.flatnonzero(solvable)
    size = largest = 0
    for turn, s in enumerate(turns):
        if turn % _TURNS == 0 or sizes[s] != size:
            row = tasks.row[open_tasks]
            open_tasks = open_tasks[coming[row, turn] <= best[0][open_tasks]]
        size = int(sizes[s])
        at = open_tasks[masks[s] & ~tasks.affordable[open_tasks] == 0]
        row = tasks.row[at]
        candidate = (level[row, s], tasks.loss_of(subsets[s], at), rank[row, s])
        earlier = _comes_before(candidate, [part[at] for part in best])
        at = at[earlier]
        if len(at) == 0:
            continue
        if size > largest:
            largest = size
            say(f"blanking {size} of {len(margins.cells.keys)} keys: {len(at)} units")
        risk = margins.risk(margins.all_keys & ~int(masks[s]), tasks.cell[at])
        safe = risk < tasks.threshold[at]
        for part, new in zip(best, candidate, strict=True):
            part[at[safe]] = new[earlier][safe]
    blank = tasks.affordable.copy()
    blank[solvable] = masks[order[tasks.row[solvable], best[2][solvable]]]
    return blank


def _levels_of(
    sums: Floats, sizes: Positions, order: Positions, rank: Positions
) -> Positions:
    """Return the level of each set of keys: sets of equal cost and size share one."""
    costs = np.take_along_axis(sums, order, axis=1)
    numbers = sizes[order]
    level = np.zeros(order.shape, np.int32)
    level[:, 1:] = (costs[:, 1:] != costs[:, :-1]) | (numbers[:, 1:] != numbers[:, :-1])
    np.cumsum(level, axis=1, out=level)
    return np.take_along_axis(level, rank, axis=1)


def _comes_before(candidate: Sequence[Positions], other: Sequence[Positions]) -> Mask:
    """Return where one is less than another, by the first parts that differ."""
    less = np.zeros(len(candidate[0]), bool)
    for left, right in zip(reversed(candidate), reversed(other), strict=True):
        less = (left < right) | ((left == right) & less)
    return less


def _solvable(margins: Margins, tasks: _Tasks) -> Mask:
    """Return whether a task is safe if all keys that may be blanked are."""
    solvable = np.zeros(len(tasks), bool)
    for mask in np.unique(tasks.affordable):
        at = np.flatnonzero(tasks.affordable == mask)
        risk = margins.risk(margins.all_keys & ~int(mask), tasks.cell[at])
        solvable[at] = risk < tasks.threshold[at]
    return solvable


def _as_argus(margins: Margins, tasks: _Tasks, say: Lines) -> KeyMasks:
    """Return for each task the keys that mu-Argus blanks."""
    unsafe = _unsafe_sets(margins, tasks, say)
    packed = np.packbits(unsafe, axis=0).T
    rows = tasks.row.astype(np.int64)[:, None].view(np.uint8)
    every = np.arange(len(tasks))
    loss = np.stack([tasks.loss_of([i], every) for i in range(tasks.costs.shape[1])], 1)
    order = np.lexsort((np.broadcast_to(tasks.preference.rank, loss.shape), loss))
    ranks = np.argsort(order, axis=1).astype(np.uint8)
    _, first, alike = np.unique(
        np.hstack([rows, ranks, packed]), axis=0, return_index=True, return_inverse=True
    )
    _, masks, _ = _subsets(tasks.preference)
    covers = [
        _cover(
            masks[unsafe[:, j]],
            tasks.costs[tasks.row[j]],
            Preference(ranks[j].tolist()),
        )
        for j in first
    ]
    blank: KeyMasks = np.array(covers, np.uint64)
    return blank[alike.reshape(-1)]


def _unsafe_sets(margins: Margins, tasks: _Tasks, say: Lines) -> Mask:
    """Return which sets of the keys of each task are unsafe, shape (2**m - 1, J)."""
    # The largest come first: a set is safe if a set with one more key is.
    m = tasks.costs.shape[1]
    subsets, masks, place = _subsets(tasks.preference)
    lacks = [tasks.present >> np.uint64(i) & np.uint64(1) == 0 for i in range(m)]
    unsafe = np.zeros((len(masks), len(tasks)), bool)
    size = m + 1
    for s in reversed(range(len(masks))):
        keys, kept = subsets[s], int(masks[s])
        perhaps = tasks.present & masks[s] == masks[s]
        for i in set(range(m)).difference(keys):
            perhaps &= unsafe[place[kept | 1 << i]] | lacks[i]
        at = np.flatnonzero(perhaps)
        if len(at) == 0:
            continue
        if len(keys) < size:
            size = len(keys)
            say(f"combinations of {size} of {m} keys")
        unsafe[s, at] = margins.risk(kept, tasks.cell[at]) >= tasks.threshold[at]
    return unsafe


def _cover(unsafe: KeyMasks, cost: Floats, preference: Preference) -> int:
    """Return the keys that mu-Argus blanks."""
    # Of equal keys, and of equal sets, the first is taken.
    keys = preference.sorted(i for i in range(len(cost)) if cost[i] < np.inf)
    unsafe = np.array(sorted(unsafe.tolist(), key=preference.by_size), np.uint64)
    singles = sum(1 << i for i in keys if np.uint64(1 << i) in unsafe)
    rest = _without(unsafe, singles)
    plans = (_by_frequency(rest, keys, cost), _by_size(rest, keys, cost))
    sums = [math.fsum(cost[i] for i in keys if mask >> i & 1) for mask in plans]
    return singles | plans[sums[0] - sums[1] > _ARGUS_MARGIN]


def _without(sets: KeyMasks, blank: int) -> KeyMasks:
    """Return the sets without a blanked key."""
    left: KeyMasks = sets[sets & np.uint64(blank) == 0]
    return left


def _by_frequency(sets: KeyMasks, keys: list[int], cost: Floats) -> int:
    """Blank again and again the key in most of the sets: plan (a) of mu-Argus."""
    blank = 0
    while True:
        left = _without(sets, blank)
        hits = {i: int(np.count_nonzero(left & np.uint64(1 << i))) for i in keys}
        if not any(hits.values()):
            return blank
        blank |= 1 << min(keys, key=lambda i: (-hits[i], cost[i]))


def _by_size(sets: KeyMasks, keys: list[int], cost: Floats) -> int:
    """Blank the cheapest key of each set, the smallest first: plan (b) of mu-Argus."""
    blank = 0
    left = sets[sets & np.uint64(sum(1 << i for i in keys)) != 0]
    while len(left):
        own = [i for i in keys if int(left[0]) >> i & 1]
        blank |= 1 << min(own, key=lambda i: cost[i])
        left = _without(left, blank)
    return blank
