"""A file planned as a whole: no value blanked that it can do without.

Planned record by record, each record is safe by its own blanks, and most of them would
be safe with fewer, since the blanks of others match them. `plan="restore"` puts back
whatever value can be put back while all stay safe; `plan="file"` looks for the fewest
blanks of all, whoever carries them. What they find is assessed again like any plan, and
comes with a bound that no plan of its kind can be below.

Related keys, and keys of a household, are blanked and put back together.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment import Assessment
from riskcore.common.progress import Lines
from riskcore.microdata.coded import CodedRecords
from riskcore.microdata.count import count
from riskcore.microdata.matching import (
    Floats,
    Integers,
    KeyMasks,
    Matching,
    Moves,
    Parts,
    View,
)
from riskcore.microdata.plan_bound import Bound, Unsafe, helpers_of, least_helpers
from riskcore.microdata.plan_exact import MOST_MOVES, cheapest
from riskcore.microdata.plan_greedy import greedy_cover
from riskcore.microdata.suppression import entropies
from riskcore.protection.rounds import Mask, Masks, margins_of
from riskcore.protection.settings import Settings

# Work is counted, not timed: the result depends on no machine.
_WORK = 100_000_000
_PASSES = 4
_NODES = 100_000
_STEPS = 300
# Prices of rules are changed while (steps x units x sets of keys) is below it.
_PRICED = 2_000_000_000
# Tables of 2**m sets of keys are made of no more.
_MOST_KEYS = 8
# Values of equal cost are counted by the fewest.
_COST_UNIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Certificate:
    """How good a plan is, and how much it counts on others' blanks.

    Attributes
    ----------
    plan : str
    cost : float
        The sum of the costs of the blanked keys; where each costs the same, their
        number.
    lower_bound : float or None
        No plan of this kind costs less; None if it is not known.
    optimal : bool
        Whether it is proven that none costs less than this one.
    by_record : int
        The values that the plan by record blanks.
    unsafe : int
        Records unsafe before.
    leaning : int
        Records that are safe only because values of others are blanked.

    Examples
    --------
    >>> Certificate("restore", 10.0, 9.0, False, 20, 15, 5).gap
    0.1
    """

    plan: str
    cost: float
    lower_bound: float | None
    optimal: bool
    by_record: int
    unsafe: int
    leaning: int

    @property
    def gap(self) -> float | None:
        """The share of the cost that is not proven to be needed."""
        if self.lower_bound is None:
            return None
        return 1 - self.lower_bound / self.cost if self.cost else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON: for the office alone."""
        return {
            "plan": self.plan,
            "cost": self.cost,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            "optimal": self.optimal,
            "values_by_record": self.by_record,
            "unsafe_records": self.unsafe,
            "leaning_records": self.leaning,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """What a whole file loses.

    Attributes
    ----------
    masks : dict of column name to bool ndarray, each shape (n,)
    lower_bound : float or None
    optimal : bool
    """

    masks: Masks
    lower_bound: float | None
    optimal: bool


def plan_whole(
    coded: CodedRecords,
    assessments: Sequence[Assessment],
    limits: Sequence[Floats],
    costs: Sequence[Floats],
    masks: Masks,
    still_unsafe: Mask,
    settings: Settings,
    say: Lines,
) -> Found:
    """Return what to blank instead of a plan by record.

    Parameters
    ----------
    coded : CodedRecords
        The file before suppression.
    assessments : sequence of Assessment
        Of it, from each set of keys.
    limits : sequence of float64 ndarray, each shape (n,)
        The risk that makes each record unsafe.
    costs : sequence of float64 ndarray, each shape (m,)
    masks : dict of column name to bool ndarray, each shape (n,)
        The plan by record.
    still_unsafe : bool ndarray, shape (n,)
        Records that it cannot make safe: they keep what it blanks.
    settings : Settings
    say : callable

    Returns
    -------
    Found
    """
    file = _File.of(coded, assessments, limits, costs, settings)
    by_record = file.packed(masks)
    say(f"plan {settings.plan!r}: putting values back")
    best = file.put_back(by_record, by_record, still_unsafe)
    spent = file.plain_cost(best)
    bound, worth = file.bound(by_record, spent, still_unsafe)
    if bound is not None and bound < spent:
        say(f"plan {settings.plan!r}: again, what helps others least first")
        other = file.put_back(by_record, by_record, still_unsafe, worth)
        if file.cost_of(other) < file.cost_of(best):
            best = other
    if settings.plan == "file" and file.apart:
        say(f"plan {settings.plan!r}: looking for the fewest blanks")
        for start in file.covers(by_record, still_unsafe):
            other = file.put_back(start, start, still_unsafe)
            if file.cost_of(other) < file.cost_of(best):
                best = other
    may = by_record
    if settings.plan == "file":
        may = file.all_keys(by_record, still_unsafe)
    exact, optimal = file.exact(best, may, by_record, still_unsafe)
    if exact is not None:
        best = exact
    spent = file.plain_cost(best)
    if optimal:
        bound = spent
    elif settings.plan == "file":
        say(f"plan {settings.plan!r}: a bound from below")
        bound, _ = file.bound(may, spent, still_unsafe)
    found = file.unpacked(best, masks, settings)
    return Found(found, bound, optimal or bound == spent)


@dataclass(frozen=True, slots=True, eq=False)
class _File:
    """Keys, limits and weights of all records, in an order of keys by content.

    Attributes
    ----------
    names : list of column names
    codes : int32 ndarray, shape (n, C)
    parts : Parts
    weight : float64 ndarray, shape (n,)
    price, loss : float64 ndarray, shape (C,)
        What blanking each key costs, and what it tells.
    units : int64 ndarray, shape (C,)
        The same as whole numbers, for exact sums.
    whole : bool
        Whether they are the costs themselves.
    bundles : list of int
        Masks of keys that are blanked together.
    shared : int
        The mask of the keys of households.
    household : int64 ndarray, shape (n,), or None
    assessments : sequence of Assessment
    limits : list of float64 ndarray, each shape (n,)
        Infinite for records that are safe anyhow.
    alpha : float
    blank_matches_complete : bool
    """

    names: list[Hashable]
    codes: NDArray[np.int32]
    parts: Parts
    weight: Floats
    price: Floats
    loss: Floats
    units: Integers
    whole: bool
    bundles: list[int]
    shared: int
    household: Integers | None
    assessments: Sequence[Assessment]
    limits: list[Floats]
    alpha: float
    blank_matches_complete: bool

    @classmethod
    def of(
        cls,
        coded: CodedRecords,
        assessments: Sequence[Assessment],
        limits: Sequence[Floats],
        costs: Sequence[Floats],
        settings: Settings,
    ) -> _File:
        names = list(settings.variables)
        if settings.by_content:
            names.sort(key=lambda name: (str(name), type(name).__name__))
        columns = [coded.columns[name] for name in names]
        codes = np.stack([column.codes.astype(np.int32) for column in columns], axis=1)
        for k, column in enumerate(columns):
            codes[codes[:, k] == len(column.labels), k] = -1
        n = len(codes)
        weight = np.ones(n) if coded.weights is None else coded.weights
        price, loss = {}, {}
        for one, cost in zip(assessments, costs, strict=True):
            price |= dict(zip(one.cells.keys, cost.tolist(), strict=True))
            loss |= dict(zip(one.cells.keys, entropies(one.cells).tolist(), strict=True))
        prices = np.array([price[name] for name in names])
        units, whole = _whole_costs(prices)
        watched = []
        for one, limit in zip(assessments, limits, strict=True):
            # With alpha = 1 no blank harms anybody.
            safe = (one.row_risk < limit) & (settings.alpha == 1)
            watched.append(np.where(safe, np.inf, limit))
        shared = [name in settings.household_keys for name in names]
        return cls(
            names,
            codes,
            Parts.of(weight),
            weight,
            prices,
            np.array([loss[name] for name in names]),
            units,
            whole,
            _bundles(names, settings),
            sum(1 << k for k, one in enumerate(shared) if one),
            coded.households,
            assessments,
            watched,
            settings.alpha,
            settings.missing == "argus",
        )

    @property
    def apart(self) -> bool:
        """Whether each value can be blanked by itself."""
        return not self.shared and all(b & (b - 1) == 0 for b in self.bundles)

    def packed(self, masks: Masks) -> KeyMasks:
        """Return masks of columns as masks of keys, by record."""
        packed = np.zeros(len(self.codes), np.uint64)
        for k, name in enumerate(self.names):
            packed |= masks[name].astype(np.uint64) << np.uint64(k)
        return packed

    def unpacked(self, packed: KeyMasks, before: Masks, settings: Settings) -> Masks:
        """Return the columns that are blanked; those related only where a key is."""
        masks = {
            name: (packed >> np.uint64(k) & np.uint64(1)).astype(bool)
            for k, name in enumerate(self.names)
        }
        for name in settings.suppressible:
            if name not in masks:
                needed = np.zeros(len(packed), bool)
                for key, others in settings.related.items():
                    if name in others:
                        needed |= masks[key]
                masks[name] = before[name] & needed
        return {name: masks[name] for name in settings.suppressible}

    def cost_of(self, packed: KeyMasks) -> int:
        """Return what a plan costs, in whole numbers, to compare."""
        return sum(
            int(self.units[k]) * int((packed >> np.uint64(k) & np.uint64(1)).sum())
            for k in range(len(self.names))
        )

    def plain_cost(self, packed: KeyMasks) -> float:
        """Return what a plan costs."""
        counts = [
            int((packed >> np.uint64(k) & np.uint64(1)).sum())
            for k in range(len(self.names))
        ]
        return float(sum(c * p for c, p in zip(counts, self.price.tolist()) if c))

    def all_keys(self, by_record: KeyMasks, still_unsafe: Mask) -> KeyMasks:
        """Return the keys that may be blanked at all, by record."""
        bits = np.where(np.isfinite(self.price), 1 << np.arange(len(self.price)), 0)
        every = ((self.codes >= 0) * bits).sum(axis=1).astype(np.uint64)
        return np.where(still_unsafe, by_record, every)

    def put_back(
        self,
        start: KeyMasks,
        most: KeyMasks,
        frozen: Mask,
        worth: Floats | None = None,
    ) -> KeyMasks:
        """Return a plan from which no value can be put back.

        ``worth``: what each record's blanks give to others; the least are tried first.
        """
        units = _Units.of(self, most != 0)
        state = units.matching(self, start, most)
        moves, cost = units.moves(self, np.where(frozen, np.uint64(0), start))
        if worth is not None:
            of_move = np.full(len(moves), -np.inf)
            move = np.repeat(np.arange(len(moves)), np.diff(moves.begin))
            np.maximum.at(of_move, move, worth[units.row[moves.unit]])
            order = np.argsort(of_move, kind="stable")
            moves, cost = moves.take(order), cost[order]
        made = state.try_moves(moves)
        for _ in range(_PASSES):
            left = _WORK - state.work
            before = made
            if left <= 0:
                break
            made = state.exchange(moves, cost, made, left)
            if np.array_equal(made, before):
                break
        return units.of_rows(state.blank, start)

    def exact(
        self, best: KeyMasks, may: KeyMasks, by_record: KeyMasks, frozen: Mask
    ) -> tuple[KeyMasks | None, bool]:
        """Return a cheaper plan of a small file, if there is one, and if it is proven."""
        free = np.where(frozen, np.uint64(0), may)
        if int(np.bitwise_count(free).sum()) > MOST_MOVES:
            return None, False
        units = _Units.of(self, may != 0)
        fixed = np.where(frozen, by_record, np.uint64(0))
        state = units.matching(self, fixed, may)
        if not len(free) or not free.any():
            return None, self.whole
        moves, cost = units.moves(self, free)
        most = self.cost_of(best) - self.cost_of(fixed)
        blanked, proven = cheapest(state, moves, cost, most, _NODES)
        if blanked is None:
            return None, proven and self.whole
        found = fixed.copy()
        for t in np.flatnonzero(blanked):
            for part in range(moves.begin[t], moves.begin[t + 1]):
                found[units.row[moves.unit[part]]] |= moves.columns[part]
        return found, proven and self.whole

    def covers(self, by_record: KeyMasks, frozen: Mask) -> list[KeyMasks]:
        """Return plans in which few records carry the blanks."""
        if len(self.assessments) > 1 or len(self.names) > _MOST_KEYS:
            return []
        n = len(self.codes)
        units = _Units.of(self, np.zeros(n, bool))
        assessment, limit = self.assessments[0], units.limits[0]
        at = [self.names.index(key) for key in assessment.cells.keys]
        order = np.lexsort((np.arange(n), -self.weight, units.of_row))
        first = np.searchsorted(units.of_row[order], np.arange(len(units.size)))
        heaviest = order[first]
        of = assessment.cells.rows[heaviest]
        may = self.all_keys(by_record, np.zeros(n, bool))[heaviest]
        cover = greedy_cover(
            units.unsafe(self, 0, may, np.zeros(len(of))),
            assessment.cells.sample_frequency[of].astype(np.float64),
            assessment.cells.population_frequency[of],
            np.where(assessment.row_risk[heaviest] >= limit, limit, np.inf),
            self.weight[heaviest],
            self.alpha,
            self.blank_matches_complete,
            margins_of(assessment).risk_of,
            most=max(64, n // 100),
        )
        plan = np.where(frozen, by_record, np.uint64(0))
        used = np.zeros(len(units.size), np.int64)
        for i, S in zip(cover.unit.tolist(), cover.columns.tolist(), strict=True):
            row = order[first[i] + used[i]]
            used[i] += 1
            plan[row] |= np.uint64(sum(1 << c for k, c in enumerate(at) if S >> k & 1))
        # Who is unsafe still loses what the plan by record takes.
        safe = self._safe(plan)
        return [np.where(safe, plan, plan | by_record)]

    def _safe(self, plan: KeyMasks) -> Mask:
        """Return which records are safe by a plan."""
        units = _Units.of(self, plan != 0)
        safe = units.matching(self, plan, plan).safe.all(axis=0)
        return safe[units.of_row]

    def bound(
        self, may: KeyMasks, goal: float, frozen: Mask
    ) -> tuple[float | None, Floats]:
        """Return a cost that no plan within some keys can be below, and worths."""
        worth = np.full(len(self.codes), -np.inf)
        if len(self.names) > _MOST_KEYS:
            return None, worth
        units = _Units.of(self, may != self._usual(may))
        heaviest = np.zeros(len(units.size))
        np.maximum.at(heaviest, units.of_row, self.weight)
        best = 0.0
        for v, assessment in enumerate(self.assessments):
            row, limit = units.row, units.limits[v]
            risk = assessment.row_risk[row]
            unsafe = (risk >= limit) & ~frozen[row]
            of = assessment.cells.rows[row[unsafe]]
            needs = np.zeros(len(row))
            part = units.unsafe(self, v, may[row], needs)
            helpers, top = helpers_of(part.codes, part.may, part.size, heaviest)
            needs[unsafe] = least_helpers(
                assessment.cells.sample_frequency[of].astype(np.float64),
                assessment.cells.population_frequency[of],
                limit[unsafe],
                top[unsafe],
                helpers[unsafe],
                self.alpha,
                margins_of(assessment).risk_of,
            )
            use = (needs > 0) | (part.may != 0)
            part = Unsafe(
                part.codes[use], part.size[use], part.price[use], part.may[use],
                part.needs[use],
            )  # fmt: skip
            sets = len(part.size) << part.codes.shape[1]
            steps = int(min(_STEPS, _PRICED // max(sets, 1)))
            bound = Bound(part)
            best = max(best, bound.raised(goal, steps))
            each = np.full(len(use), -np.inf)
            each[use] = bound.worth
            worth = np.maximum(worth, each[units.of_row])
        return best, worth

    def _usual(self, may: KeyMasks) -> KeyMasks:
        """Return the keys of which records that are alike may lose the same."""
        bits = np.where(np.isfinite(self.price), 1 << np.arange(len(self.price)), 0)
        every = ((self.codes >= 0) * bits).sum(axis=1).astype(np.uint64)
        return every if np.array_equal(may, every) else np.zeros_like(may)


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """Groups of records that stay alike, and single ones, in an order by content.

    Attributes
    ----------
    of_row : int64 ndarray, shape (n,)
    row : int64 ndarray, shape (U,)
        A record of each unit.
    size : int64 ndarray, shape (U,)
    parts : Parts
    limits : list of float64 ndarray, each shape (U,)
    """

    of_row: Integers
    row: Integers
    size: Integers
    parts: Parts
    limits: list[Floats]

    @classmethod
    def of(cls, file: _File, single: Mask) -> _Units:
        """Group the records that are not single."""
        n = len(single)
        levels = [np.unique(limit, return_inverse=True) for limit in file.limits]
        columns = [*(file.codes.T + 1), *(level for _, level in levels)]
        grouped, alone = np.flatnonzero(~single), np.flatnonzero(single)
        of_row = np.empty(n, np.int64)
        row = np.empty(0, np.int64)
        groups = 0
        if len(grouped):
            found = count(
                [column[grouped].astype(np.uint32) for column in columns],
                [int(column.max()) + 1 for column in columns],
            )
            groups = len(found.frequency)
            of_row[grouped] = found.inverse
            row = np.empty(groups, np.int64)
            row[found.inverse[::-1]] = grouped[::-1]
        number = file.parts.number
        order = np.lexsort([number[alone], *(c[alone] for c in reversed(columns))])
        of_row[alone[order]] = groups + np.arange(len(alone))
        row = np.concatenate([row, alone[order]])
        size = np.bincount(of_row, minlength=len(row))
        return cls(
            of_row,
            row,
            size.astype(np.int64),
            Parts(_exact_sums(of_row, number, len(row)), file.parts.of_one),
            [limit[row] for limit in file.limits],
        )

    def matching(self, file: _File, blank: KeyMasks, most: KeyMasks) -> Matching:
        """Return the state of a plan, in which values can be put back."""
        views = [
            View(
                tuple(file.names.index(key) for key in one.cells.keys),
                limit,
                margins_of(one).risk_of,
            )
            for one, limit in zip(file.assessments, self.limits, strict=True)
        ]
        return Matching(
            file.codes[self.row],
            self.size,
            self.parts,
            views,
            file.alpha,
            file.blank_matches_complete,
            blank[self.row],
            most[self.row],
        )

    def moves(self, file: _File, blank: KeyMasks) -> tuple[Moves, Integers]:
        """Return what can be put back, the dearest first, and what each is worth."""
        parts = []
        for bundle in file.bundles:
            mask = blank & np.uint64(bundle)
            rows = np.flatnonzero(mask)
            together = rows
            if bundle & file.shared and file.household is not None:
                together = file.household[rows]
            value, loss = np.zeros(len(rows), np.int64), np.zeros(len(rows))
            for k in range(len(file.names)):
                has = (mask[rows] >> np.uint64(k) & np.uint64(1)).astype(np.int64)
                value += has * file.units[k]
                loss += has * file.loss[k]
            parts.append((rows, mask[rows], together, value, loss))
        rows, mask, together, value, loss = map(np.concatenate, zip(*parts, strict=True))
        which = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        unit = self.of_row[rows]
        _, move = np.unique(
            np.stack([which, together]), axis=1, return_inverse=True
        )
        move = move.reshape(-1)
        J = int(move.max()) + 1 if len(move) else 0
        total = _exact_sums(move, value, J)
        first = np.full(J, len(self.row))
        np.minimum.at(first, move, unit)
        told = np.zeros(J)
        np.maximum.at(told, move, loss)
        bundle_of = np.zeros(J, np.int64)
        bundle_of[move] = which
        order = np.lexsort((bundle_of, first, -told, -total))
        rank = np.empty(J, np.int64)
        rank[order] = np.arange(J)
        by_move = np.lexsort((unit, rank[move]))
        begin = np.concatenate([[0], np.cumsum(np.bincount(rank[move], minlength=J))])
        return (
            Moves(begin.astype(np.int64), unit[by_move], mask[by_move]),
            total[order],
        )

    def of_rows(self, blank: KeyMasks, start: KeyMasks) -> KeyMasks:
        """Return what each record loses."""
        return np.where(start != 0, blank[self.of_row], np.uint64(0))

    def unsafe(self, file: _File, v: int, may: KeyMasks, needs: Floats) -> Unsafe:
        """Return the units as they look from one set of keys."""
        at = [file.names.index(key) for key in file.assessments[v].cells.keys]
        seen = np.zeros(len(self.row), np.uint64)
        for k, column in enumerate(at):
            seen |= (may >> np.uint64(column) & np.uint64(1)) << np.uint64(k)
        price = np.broadcast_to(file.price[at], (len(self.row), len(at)))
        return Unsafe(file.codes[self.row][:, at], self.size, price, seen, needs)


def _exact_sums(of: Integers, number: Integers, groups: int) -> Integers:
    """Return sums of whole numbers by group; doubles would round them."""
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, of, number)
    return sums


def _whole_costs(price: Floats) -> tuple[Integers, bool]:
    """Return costs as whole numbers with the number of values as tie, if they are."""
    finite = np.isfinite(price)
    plain = np.where(finite, price, 0.0)
    whole = bool(np.all(plain == np.rint(plain)) and plain.max(initial=0) < _COST_UNIT)
    if not whole:
        plain = np.rint(plain / plain.max() * _COST_UNIT)
    return (plain * _COST_UNIT).astype(np.int64) + 1, whole


def _bundles(names: Sequence[Hashable], settings: Settings) -> list[int]:
    """Return masks of keys that are related, however indirectly."""
    bundles = [1 << k for k in range(len(names))]
    for key, others in settings.related.items():
        for other in others:
            if other in names:
                pair = 1 << names.index(key) | 1 << names.index(other)
                joined = [b for b in bundles if b & pair]
                bundles = [b for b in bundles if not b & pair]
                bundles.append(sum(joined))
    return bundles


def leaning(
    assessments: Sequence[Assessment],
    limits: Sequence[Floats],
    masks: Masks,
    still_unsafe: Mask,
) -> int:
    """Return how many records are safe only because values of others are blanked.

    They would be unsafe with their own blanks if all others had their keys.
    """
    leans = np.zeros(len(still_unsafe), bool)
    for assessment, limit in zip(assessments, limits, strict=True):
        cells, margins = assessment.cells, margins_of(assessment)
        own = np.zeros(len(cells.rows), np.uint64)
        for k, key in enumerate(cells.keys):
            own |= masks[key].astype(np.uint64) << np.uint64(k)
        at = np.flatnonzero(((assessment.row_risk >= limit) | (own != 0)) & ~still_unsafe)
        for mask in np.unique(own[at]).tolist():
            rows = at[own[at] == mask]
            risk = margins.risk(margins.all_keys & ~mask, cells.rows[rows])
            leans[rows] |= risk >= limit[rows]
    return assessments[0].cells.count_of(leans)
