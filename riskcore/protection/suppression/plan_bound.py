"""Lagrangian lower bound on the cost of a plan, from the unsafe units.

An unsafe unit must lose a key of its own, or at least d others must lose enough keys to
match it. For any prices u >= 0 of this rule the sum

    sum_j u_j + sum_i min_S [ c(S) - u_i [S not empty] - sum_j (u_j / d_j) ]

is at most the cost of every plan: i runs over all units and S over the sets of keys
that they may lose; the last sum is over the unsafe units that i would match without
the keys S, and does not match now (Lagrangian relaxation; for each i the best S is
found by trying all). The last sums are margins: tables of u/d over the kept keys.
Prices rise where the rule is broken and fall where it has slack (Held and Karp). The
bound holds whatever the prices are.

A match may also give a_j + b_j w to the need of j, not 1/d_j, with its weight w, if all
matches that suffice give at least 1 together. Units that cannot affect each other are
bounded separately.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.count import count
from riskcore.protection.suppression.matching import (
    Floats,
    Integers,
    KeyMasks,
    Risk,
)

# A call takes as long as this many numbers.
_CALL = 10_000
# The matches that are counted one by one, and the bisection of F.
_MATCHES = 16
_LARGEST = 1e15
_HALVINGS = 60
# Up to this many keys all sets are tried; of more keys sets of a few, and one more.
MOST_TRIED = 8
FEW_TRIED = 2
# The first prices are halved at most this often.
_SCALES = 10
# Steps are halved after this many without a better bound.
_PATIENCE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Unsafe:
    """All units, those that one set of keys makes unsafe, and who may help them."""

    codes: NDArray[np.int32]  # shape (U, m); -1 is missing
    size: Integers  # the records of each unit
    price: Floats  # what blanking each key of a record costs, shape (U, m) or (m,)
    may: KeyMasks  # the keys that may be blanked
    # How many others must lose keys if the unit loses none; infinity if that does not
    # help, 0 if the unit is safe.
    needs: Floats
    weight: Floats  # of the heaviest record of each unit
    # The part of its need that one match gives to each unit, and one unit of its
    # weight, shape (U, 2).
    share: Floats
    places: tuple[int, ...]  # of the keys among the keys of all sets

    def take(self, use: NDArray[np.bool_]) -> Unsafe:
        """Return the same for some of the units."""
        return replace(
            self,
            codes=self.codes[use],
            size=self.size[use],
            price=np.broadcast_to(self.price, self.codes.shape)[use],
            may=self.may[use],
            needs=self.needs[use],
            weight=self.weight[use],
            share=self.share[use],
        )


def least_helpers(
    f: Floats,
    F: Floats,
    limit: Floats,
    weight: Floats,
    helpers: Integers,
    alpha: float,
    risk: Risk,
) -> Floats:
    """Return the fewest further matches that units need, all of the heaviest weight."""
    low = np.ones(len(f), np.int64)
    high = helpers + 1
    # A little more than the truth: rounding must not raise the bound.
    heaviest = alpha * weight * (1 + 1e-9)
    while np.any(low < high):
        t = (low + high) // 2
        safe = risk(f + alpha * t, F * (1 + 1e-12) + heaviest * t) < limit
        safe |= t > helpers
        high = np.where(safe, t, high)
        low = np.where(safe, low, np.minimum(t + 1, high))
    return np.where(high > helpers, np.inf, np.maximum(high, 1))


def shares_of_count(needs: Floats) -> Floats:
    """Return 1 / needs, and 0 for a unit of weight, shape (U, 2)."""
    shares = np.zeros((len(needs), 2))
    asks = (needs > 0) & np.isfinite(needs)
    shares[asks, 0] = 1 / needs[asks]
    return shares


def shares_of_weight(
    f: Floats,
    F: Floats,
    limit: Floats,
    needs: Floats,
    helpers: Integers,
    alpha: float,
    risk: Risk,
) -> Floats:
    """Return shares by count and weight together, where many matches are needed.

    With t matches of weight W the unit is safe if F + alpha W is at least the least F
    for f + alpha t. So t s + W is at least the smallest sum over t, whatever s >= 0
    is; s is the fall of the least F where the unit's need is about met.
    """
    shares = np.zeros((len(f), 2))
    use = np.flatnonzero(np.isfinite(needs) & (needs > 1))
    if not alpha or not len(use):
        return shares
    f, F, limit, d = f[use], F[use], limit[use], needs[use]
    ends = f + alpha * helpers[use]
    times = np.arange(1, _MATCHES + 1)
    grid = np.concatenate([(f[:, None] + alpha * times).ravel(), ends])
    limits = np.concatenate([np.repeat(limit, _MATCHES), limit])
    pairs, pair = np.unique(np.stack([grid, limits]), axis=1, return_inverse=True)
    least = _least_weight(pairs[0], pairs[1], risk)[pair.reshape(-1)]
    at_end, least = least[-len(f) :], least[: -len(f)].reshape(len(f), _MATCHES)
    rows = np.arange(len(f))
    place = np.minimum(d, _MATCHES).astype(np.int64) - 1
    before, then = least[rows, np.maximum(place - 1, 0)], least[rows, place]
    with np.errstate(invalid="ignore"):
        slope = np.where(np.isfinite(before - then), (before - then) / alpha, 0.0)
        lacks = np.maximum(least - F[:, None] * (1 + 1e-12), 0.0) / alpha
        end = np.maximum(at_end - F * (1 + 1e-12), 0.0) / alpha
    # No more matches than there are helpers.
    many = helpers[use]
    lacks[times > many[:, None]] = np.inf
    end[many <= _MATCHES] = np.inf
    slope = np.maximum(slope, 0.0)
    total = np.minimum(
        (lacks + slope[:, None] * times).min(axis=1), end + slope * (_MATCHES + 1)
    )
    total *= 1 - 1e-9
    good = np.isfinite(total) & (total > 0)
    shares[use[good], 0] = slope[good] / total[good]
    shares[use[good], 1] = 1 / total[good]
    return shares


def _least_weight(f: Floats, limit: Floats, risk: Risk) -> Floats:
    """Return a lower bound of the least F at which the risk is below the limit."""
    low, high = f.copy(), np.full(len(f), _LARGEST)
    none = ~(risk(f, high) < limit)
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high)
        safe = risk(f, middle) < limit
        high = np.where(safe, middle, high)
        low = np.where(safe, low, middle)
    low[risk(f, f) < limit] = 0.0
    return np.where(none, np.inf, low)


def helpers_of(
    codes: NDArray[np.int32],
    may: KeyMasks,
    size: Integers,
    heaviest: Floats,
) -> tuple[Integers, Floats, Floats]:
    """Return how many records' own blanks may match units, top and mean weight."""
    units, m = codes.shape
    columns, levels = _as_columns(codes)
    lacks = (codes < 0) @ (1 << np.arange(m))
    free = may.astype(np.int64) | np.where(may != 0, lacks, 0)
    helpers, largest = np.zeros(units, np.int64), np.zeros(units)
    weights = np.zeros(units)
    for lost in np.unique(free[free != 0]).tolist():
        at = np.flatnonzero(free == lost)
        group, groups = _without(lost, columns, levels)
        helpers += np.bincount(group[at], size[at], groups).astype(np.int64)[group]
        weights += np.bincount(group[at], size[at] * heaviest[at], groups)[group]
        top = np.zeros(groups)
        np.maximum.at(top, group[at], heaviest[at])
        largest = np.maximum(largest, top[group])
    return helpers, largest, weights / np.maximum(helpers, 1)


def _as_columns(codes: NDArray[np.int32]) -> tuple[list[NDArray[np.uint32]], list[int]]:
    """Return the codes from 0 of each key, and their number."""
    columns = [(column + 1).astype(np.uint32) for column in codes.T]
    return columns, [int(column.max(initial=0)) + 1 for column in columns]


def _without(
    lost: int, columns: list[NDArray[np.uint32]], levels: list[int]
) -> tuple[Integers, int]:
    """Return the combination of each unit in the keys not lost, and their number."""
    kept = [k for k in range(len(columns)) if not lost >> k & 1]
    units = len(columns[0])
    if not kept or not units:
        return np.zeros(units, np.int64), 1
    found = count([columns[k] for k in kept], [levels[k] for k in kept])
    return found.inverse.astype(np.int64), len(found.frequency)


@dataclass(frozen=True, slots=True, eq=False)
class _Set:
    """Keys that units may lose together: a mask, their cost, and the units."""

    lost: int
    cost: Floats  # for each of the units
    at: Integers


@dataclass(frozen=True, slots=True, eq=False)
class _Margin:
    """What units match by one set of keys if they lose some of these."""

    at: Integers  # the units that may lose them
    most: NDArray[np.bool_]  # whether they may lose no other keys of the set
    # By the keys that units lack already: where in ``at`` they are, the groups of these
    # units and of the rules, and the number of groups.
    tables: list[tuple[Any, Integers, Integers, int]]


class _View:
    """The rules of one set of keys, numbered from ``begin``, and who may match whom."""

    def __init__(self, given: Unsafe, begin: int) -> None:
        self.places = given.places
        complete = np.all(given.codes >= 0, axis=1)
        # Missing keys match anything: only complete units have rules.
        self.rows = np.flatnonzero((given.needs > 0) & complete)
        self.rules = slice(begin, begin + len(self.rows))
        self.share, self.by_weight = given.share[self.rows].T
        self.any_weight = bool(self.by_weight.any())
        units, m = given.codes.shape
        self._weight, self._size = given.weight, given.size
        self._lacks = (given.codes < 0) @ (1 << np.arange(m))
        self._columns, self._levels = _as_columns(given.codes)
        self.groups: dict[int, tuple[Integers, int]] = {}
        self.margins: dict[int, _Margin] = {}
        every = np.arange(units)
        self._now = self._margin(0, every, np.zeros(units, bool))

    def local(self, lost: int) -> int:
        """Return the mask of its own keys of a mask of all."""
        return sum(1 << k for k, c in enumerate(self.places) if lost >> c & 1)

    def add(self, lost: int, at: Integers, may: Integers) -> None:
        """Count what units match without some of its keys."""
        self.margins[lost] = self._margin(lost, at, may[at] == lost)

    def _margin(self, lost: int, at: Integers, most: NDArray[np.bool_]) -> _Margin:
        tables: list[tuple[Any, Integers, Integers, int]] = []
        lacks = self._lacks[at]
        kinds = np.unique(lacks)
        for lack in kinds.tolist():
            where: Any = slice(None)
            if len(kinds) > 1:
                where = np.flatnonzero(lacks == lack)
            gone = lost | lack
            if gone not in self.groups:
                self.groups[gone] = _without(gone, self._columns, self._levels)
            group, groups = self.groups[gone]
            tables.append((where, group[at[where]], group[self.rows], groups))
        return _Margin(at, most, tables)

    def gains(self, u: Floats) -> dict[int, Floats]:
        """Return what units give to the rules if they lose the keys of each margin."""
        rules = u[self.rules] * self._size[self.rows]
        pays, by_weight = rules * self.share, rules * self.by_weight
        now = self._sums(self._now, pays, by_weight)
        return {
            lost: self._sums(one, pays, by_weight) - now[one.at]
            for lost, one in self.margins.items()
        }

    def _sums(self, margin: _Margin, pays: Floats, by_weight: Floats) -> Floats:
        """Return the sums over the rules that units match."""
        sums = np.empty(len(margin.at))
        for where, of_unit, of_rule, groups in margin.tables:
            one = np.bincount(of_rule, pays, groups)[of_unit]
            if self.any_weight:
                more = np.bincount(of_rule, by_weight, groups)[of_unit]
                one += self._weight[margin.at[where]] * more
            sums[where] = one
        return sums

    def broken(self, lost: Integers) -> Floats:
        """Return by how much the rules are broken if units lose keys."""
        rules: Floats = 1.0 - (lost[self.rows] != 0)
        for number, one in self.margins.items():
            hit = lost[one.at] == number
            if hit.any():
                rules -= self._helped(one, hit)
                at = one.at[hit]
                rules += self._helped(
                    self._now, np.bincount(at, minlength=len(lost)) > 0
                )
        return rules

    def _helped(self, margin: _Margin, hit: NDArray[np.bool_]) -> Floats:
        """Return what some units of a margin give to each rule."""
        helped = np.zeros(len(self.rows))
        for where, of_unit, of_rule, groups in margin.tables:
            some = hit[where]
            at = margin.at[where][some]
            gives = self._size[at].astype(np.float64)
            sums = np.bincount(of_unit[some], gives, groups)[of_rule]
            helped += sums * self.share
            if self.any_weight:
                sums = np.bincount(of_unit[some], gives * self._weight[at], groups)
                helped += sums[of_rule] * self.by_weight
        return helped

    def ties(self) -> Iterator[tuple[Integers, Integers, int]]:
        """Yield units that may affect each other, and their groups."""
        for one in self.margins.values():
            for where, of_unit, of_rule, groups in one.tables:
                # Units match the most if they lose all keys that they may lose.
                most = one.most[where]
                if not most.any():
                    continue
                tied = np.zeros(groups, bool)
                tied[of_unit[most]] = True
                rules = tied[of_rule]
                yield (
                    np.concatenate([self.rows[rules], one.at[where][most]]),
                    np.concatenate([of_rule[rules], of_unit[most]]),
                    groups,
                )


class Bound:
    """The lower bound, as prices are changed.

    ``views`` are the same units by each set of keys. A unit has a rule for each set by
    which it is unsafe; what it loses counts for all of them, and costs once.

    Where a unit may lose more than `MOST_TRIED` keys, sets of a few are tried. All
    larger sets cost at least as much as the cheapest keys of one more, and give at most
    what all keys give: one set that costs so little and gives so much stands for them.

    Attributes
    ----------
    work : int
        About how many numbers a step looks at.
    worth : float64 ndarray, shape (U,)
        By its prices, what the best set of keys that each unit may lose gives to the
        rules beyond its cost; below 0 where it gives less.
    component : int64 ndarray, shape (U,)
        Units of different components cannot affect each other.
    """

    def __init__(self, views: Sequence[Unsafe]) -> None:
        self._size = views[0].size
        units = len(self._size)
        price: dict[int, Floats] = {}
        self._may = np.zeros(units, np.int64)
        for given in views:
            missing = given.codes < 0
            prices = np.broadcast_to(given.price, given.codes.shape)
            for k, column in enumerate(given.places):
                price[column] = prices[:, k]
                able = given.may.astype(np.int64) >> k & 1 & ~missing[:, k]
                self._may |= (able & np.isfinite(prices[:, k])) << column
        self._price = price
        finite = np.concatenate([p[np.isfinite(p)] for p in price.values()])
        self._whole = bool(np.all(finite == np.rint(finite)))
        self._cheapest = float(finite[finite > 0].min(initial=np.inf))
        self._views: list[_View] = []
        rules = 0
        for given in views:
            self._views.append(_View(given, rules))
            rules += len(self._views[-1].rows)
        self._unit = np.concatenate([one.rows for one in self._views])
        self._needs = np.concatenate(
            [
                given.needs[one.rows]
                for given, one in zip(views, self._views, strict=True)
            ]
        )
        self._sets = list(self._choices())
        self._parts = self._counted()
        self.component = self._components()
        self._of_rule = self.component[self._unit]
        self._bests = np.zeros(int(self.component.max(initial=-1)) + 1)
        self.worth = np.zeros(units)
        margins = [m for one in self._views for m in one.margins.values()]
        self.work = sum(_CALL + len(one.at) for one in margins)
        self.work += sum(len(one.rows) * len(one.margins) for one in self._views)
        if len(views) > 1:
            self.work += sum(
                (_CALL + len(one.at)) * len(parts) // 3
                for one, parts in zip(self._sets, self._parts, strict=True)
            )

    def _choices(self) -> Iterator[_Set]:
        """Yield the sets of keys that units may lose, without the empty set."""
        order = np.argsort(self._may, kind="stable")
        mays, begin = np.unique(self._may[order], return_index=True)
        units = dict(zip(mays.tolist(), np.split(order, begin[1:]), strict=True))
        who: dict[tuple[int, bool], list[tuple[Integers, Floats]]] = {}
        for may, at in units.items():
            keys = [c for c in range(may.bit_length()) if may >> c & 1]
            price = np.array([self._price[c][at] for c in keys])
            few = len(keys) if len(keys) <= MOST_TRIED else FEW_TRIED
            for size in range(1, few + 1):
                for some in combinations(range(len(keys)), size):
                    lost = sum(1 << keys[i] for i in some)
                    cost = self._sums(price[list(some)])
                    who.setdefault((lost, True), []).append((at, cost))
            if few < len(keys):
                cost = self._sums(np.sort(price, axis=0)[: few + 1])
                who.setdefault((may, False), []).append((at, cost))
        for (lost, _), parts in who.items():
            at, costs = (np.concatenate(each) for each in zip(*parts, strict=True))
            order = np.argsort(at, kind="stable")
            yield _Set(lost, costs[order], at[order])

    def _sums(self, prices: Floats) -> Floats:
        """Return the sum of the prices of keys by unit, rounded once."""
        if self._whole:
            sums: Floats = prices.sum(axis=0)
            return sums
        each, which = np.unique(prices, axis=1, return_inverse=True)
        return np.array([math.fsum(one) for one in each.T.tolist()])[which.reshape(-1)]

    def _counted(self) -> list[list[tuple[int, int, Integers | None]]]:
        """Count the margins; return the views of each set, their keys and places."""
        shown = [[view.local(one.lost) for one in self._sets] for view in self._views]
        for view, of_sets in zip(self._views, shown, strict=True):
            mays = {may: view.local(may) for may in np.unique(self._may).tolist()}
            may = np.array([mays[one] for one in self._may.tolist()], np.int64)
            who: dict[int, list[Integers]] = {}
            for lost, one in zip(of_sets, self._sets, strict=True):
                if lost and len(view.rows):
                    who.setdefault(lost, []).append(one.at)
            for lost, parts in who.items():
                at = parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
                view.add(lost, at, may)
            view.groups.clear()  # not needed any more
        found = []
        for number, one in enumerate(self._sets):
            parts_of: list[tuple[int, int, Integers | None]] = []
            for v, view in enumerate(self._views):
                margin = view.margins.get(shown[v][number])
                if margin is not None:
                    same = len(margin.at) == len(one.at)
                    where = None if same else np.searchsorted(margin.at, one.at)
                    parts_of.append((v, shown[v][number], where))
            found.append(parts_of)
        self._lost = np.array([[*one, 0] for one in shown], np.int64)
        return found

    def _components(self) -> Integers:
        """Return the component of each unit, linked by ties directly or not."""
        ties = [tie for view in self._views for tie in view.ties()]
        units = len(self._may)
        label = np.arange(units)
        while True:
            before = label.copy()
            for at, group, groups in ties:
                least = np.full(groups, units)
                np.minimum.at(least, group, label[at])
                label[at] = np.minimum(label[at], least[group])
            label = label[label]
            if np.array_equal(label, before):
                return np.unique(label, return_inverse=True)[1].reshape(-1)

    def _value(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the bounds of components, by how much rules are broken, and worths."""
        units = len(self._may)
        gains = [view.gains(u) for view in self._views]
        own = []
        for view in self._views:
            own.append(np.zeros(units))
            own[-1][view.rows] = u[view.rules]
        best, worth = np.zeros(units), np.full(units, -np.inf)
        # The last of all sets is the empty one.
        chosen = np.full(units, len(self._sets))
        for number, (one, parts) in enumerate(
            zip(self._sets, self._parts, strict=True)
        ):
            value = one.cost.copy()
            for v, lost, where in parts:
                gain = gains[v][lost]
                value -= own[v][one.at] + (gain if where is None else gain[where])
            worth[one.at] = np.maximum(worth[one.at], -value)
            better = value < best[one.at]
            at = one.at[better]
            best[at] = value[better]
            chosen[at] = number
        parts_of = len(self._bests)
        each: Floats = np.bincount(self.component, best * self._size, parts_of).astype(
            np.float64
        )
        each += np.bincount(self._of_rule, u * self._size[self._unit], parts_of)
        broken = [
            view.broken(lost[chosen])
            for view, lost in zip(self._views, self._lost, strict=True)
        ]
        return each, np.concatenate(broken), worth

    def _begun(self, u: Floats, steps: int) -> Floats:
        """Return the first prices: halved where together they are too high."""
        best, found = np.zeros(len(self._bests)), u
        for _ in range(min(steps, _SCALES)):
            each = self._value(u)[0]
            found = np.where((each > best)[self._of_rule], u, found)
            best = np.maximum(each, best)
            u = np.where((best <= 0)[self._of_rule], u / 2, u)
            if np.all(best > 0):
                break
        return np.where((best <= 0)[self._of_rule], u, found)

    def raised(self, goal: float, steps: int) -> float:
        """Return the bound after some steps."""
        if not len(self._unit):
            return 0
        # The first price of a unit is the cost of the cheapest key.
        cheapest = self._cheapest if self._cheapest < np.inf else 0.0
        u = cheapest / np.where(np.isfinite(self._needs), self._needs, 1.0)
        u /= np.bincount(self._unit)[self._unit]
        size, part_of = self._size[self._unit], self._of_rule
        parts = len(self._bests)
        u = self._begun(u, steps)
        best_u, theta = u.copy(), np.ones(parts)
        since = np.zeros(parts, np.int64)
        direction = np.zeros(len(u))
        asked = np.bincount(part_of, size, parts)
        part = asked / asked.sum()
        for _ in range(steps):
            each, broken, worth = self._value(u)
            better = each > self._bests + 1e-4 * np.maximum(self._bests, 0.1)
            since = np.where(better, 0, since + 1)
            risen = each > self._bests
            best_u = np.where(risen[part_of], u, best_u)
            self.worth = np.where(risen[self.component], worth, self.worth)
            self._bests = np.maximum(self._bests, each)
            if self.value() >= goal:
                break
            direction = broken + 0.6 * direction
            # Components without progress begin again at their best, with smaller steps.
            still = since > _PATIENCE
            theta, since = np.where(still, theta / 2, theta), np.where(still, 0, since)
            back = still[part_of]
            u, direction = np.where(back, best_u, u), np.where(back, 0.0, direction)
            norm = np.bincount(part_of, direction * direction * size, parts)
            # The gap between goal and bound is divided among the components.
            target = (
                self._bests + np.maximum(goal - self._bests.sum(), 0.0) * part + 0.1
            )
            step = theta * (target - each) / np.where(norm > 0, norm, np.inf)
            u = np.maximum(u + step[part_of] * direction, 0.0)
        return self.value()

    def value(self) -> float:
        """Return the bound: a whole number if all prices are whole."""
        each = self.of_components()
        return int(each.sum()) if self._whole else math.fsum(each.tolist())

    def of_components(self) -> Floats:
        """Return the bound of each component."""
        certain = np.maximum(self._bests * (1 - 1e-9) - 1e-9, 0.0)
        return np.ceil(certain) if self._whole else certain * (1 - 1e-12)
