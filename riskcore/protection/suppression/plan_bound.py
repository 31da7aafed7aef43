"""Fewer blanks than these no plan has: a bound from the unsafe units.

An unsafe unit must lose a key of its own, or at least d others must lose enough keys to
match it. For each choice of prices u >= 0 of this rule the sum

    sum_j u_j + sum_i min_S [ c(S) - u_i [S not empty] - sum_j (u_j / d_j) ]

is at most the cost of every plan: i runs over all units and S over the sets of keys
that they may lose; the last sum is over the unsafe units that i would match without
the keys S, and does not match now (Lagrange's relaxation; for each i the best S is
found by trying all). The last sums are margins: tables of u/d over the keys that are
left. Prices are raised where the rule is broken and lowered where it has slack (Held
and Karp). Whatever the prices are, the bound holds.

What one match gives to the need of j need not be 1/d_j: it may be a_j + b_j w, w its
weight, if no matches that suffice give less than 1 together. Units that have nothing
to do with each other are bounded each by themselves.
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

# A call takes as long as so many numbers.
_CALL = 10_000
# Matches that are counted one by one, and the bisection of F.
_MATCHES = 16
_LARGEST = 1e15
_HALVINGS = 60
# Of so many keys all sets are tried; of more those of a few, and one for the others.
MOST_TRIED = 8
FEW_TRIED = 2
# Prices to begin with are halved so often at most.
_SCALES = 10
# So many steps without a better bound, and they are halved.
_PATIENCE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Unsafe:
    """The units that one set of keys makes unsafe, and who may help them.

    Attributes
    ----------
    codes : int32 ndarray, shape (U, m)
        The codes of all units; -1 is missing.
    size : int64 ndarray, shape (U,)
        The records of each unit.
    price : float64 ndarray, shape (m,)
        What blanking each key of a record costs.
    may : uint64 ndarray, shape (U,)
        The keys that may be blanked.
    needs : float64 ndarray, shape (U,)
        How many others must lose keys if the unit loses none; infinity if that does
        not help, 0 if it is safe.
    weight : float64 ndarray, shape (U,), or None
        The weight of the heaviest record of each unit; None: nobody asks.
    share : float64 ndarray, shape (U, 2), or None
        What part of its need one match gives to each unit, and one unit of its weight;
        by default 1 / needs and 0.
    places : tuple of int, or None
        The position of each key among the keys of all sets; None: there is one set.
    """

    codes: NDArray[np.int32]
    size: Integers
    price: Floats
    may: KeyMasks
    needs: Floats
    weight: Floats | None = None
    share: Floats | None = None
    places: tuple[int, ...] | None = None

    def take(self, use: NDArray[np.bool_]) -> Unsafe:
        """Return it of some of the units."""
        return replace(
            self,
            codes=self.codes[use],
            size=self.size[use],
            may=self.may[use],
            needs=self.needs[use],
            weight=None if self.weight is None else self.weight[use],
            share=None if self.share is None else self.share[use],
        )


def _places_of(of: Unsafe) -> tuple[int, ...]:
    """Return the positions of keys among those of all sets."""
    return tuple(range(of.codes.shape[1])) if of.places is None else of.places


def least_helpers(
    f: Floats,
    F: Floats,
    limit: Floats,
    weight: Floats,
    helpers: Integers,
    alpha: float,
    risk: Risk,
) -> Floats:
    """Return how many further matches units need at least, all of the heaviest weight.

    Examples
    --------
    >>> f, w, n = np.array([1.0, 3.0]), np.ones(2), np.array([9, 9])
    >>> least_helpers(f, f, np.full(2, 0.3), w, n, 1.0, lambda f, F: 1 / f)
    array([3., 1.])
    """
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
    """Return 1 / needs, and 0 for a unit of weight, shape (U, 2).

    Examples
    --------
    >>> shares_of_count(np.array([2.0, np.inf, 0.0]))
    array([[0.5, 0. ],
           [0. , 0. ],
           [0. , 0. ]])
    """
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

    Examples
    --------
    >>> f = np.ones(1)
    >>> shares_of_weight(
    ...     f, f, np.array([0.1]), np.array([2.0]), np.array([9]), 1.0,
    ...     lambda f, F: 1 / F,
    ... ).round(6)
    array([[0.      , 0.111111]])
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
    """Return an F for each f that is at most the least with a risk below the limit."""
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
    """Return how many records may match each unit by their own blanks alone.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 1], [1, 1]], np.int32)
    >>> may, ones = np.array([2, 0, 0], np.uint64), np.ones(3, int)
    >>> helpers_of(codes, may, ones, np.array([5.0, 6.0, 7.0]))
    (array([1, 1, 0]), array([5., 5., 0.]), array([5., 5., 0.]))
    """
    units, m = codes.shape
    columns, levels = _as_columns(codes)
    lacks = (codes < 0) @ (1 << np.arange(m))
    free = may.astype(np.int64) | np.where(may != 0, lacks, 0)
    helpers, largest = np.zeros(units, np.int64), np.zeros(units)
    weights = np.zeros(units)
    for lost in np.unique(free[free != 0]).tolist():
        at = np.flatnonzero(free == lost)
        kept = [k for k in range(m) if not lost >> k & 1]
        group, groups = np.zeros(units, np.int64), 1
        if kept:
            found = count([columns[k] for k in kept], [levels[k] for k in kept])
            group, groups = found.inverse.astype(np.int64), len(found.frequency)
        helpers += np.bincount(group[at], size[at], groups).astype(np.int64)[group]
        weights += np.bincount(group[at], size[at] * heaviest[at], groups)[group]
        top = np.zeros(groups)
        np.maximum.at(top, group[at], heaviest[at])
        largest = np.maximum(largest, top[group])
    return helpers, largest, weights / np.maximum(helpers, 1)


def _as_columns(codes: NDArray[np.int32]) -> tuple[list[NDArray[np.uint32]], list[int]]:
    """Return codes from 0, by key, and how many each key has."""
    columns = [(column + 1).astype(np.uint32) for column in codes.T]
    return columns, [int(column.max(initial=0)) + 1 for column in columns]


@dataclass(frozen=True, slots=True, eq=False)
class _Set:
    """Keys that units may lose together.

    Attributes
    ----------
    lost : int
    cost : float
    at : int64 ndarray
        The units.
    """

    lost: int
    cost: float
    at: Integers


@dataclass(frozen=True, slots=True, eq=False)
class _Margin:
    """What units match from one set of keys if they lose some of these.

    Attributes
    ----------
    at : int64 ndarray
        The units that may lose them.
    most : bool ndarray
        Whether they may lose no other keys of the set.
    tables : list of (slice or ndarray, group of at, group of rules, groups)
        By what units lack already, where in ``at`` they are, and what they agree with.
    """

    at: Integers
    most: NDArray[np.bool_]
    tables: list[tuple[Any, Integers, Integers, int]]


class _View:
    """The rules of one set of keys, and who may match whom.

    Parameters
    ----------
    of : Unsafe
    begin : int
        The number of its first rule.
    """

    def __init__(self, of: Unsafe, begin: int) -> None:
        self.places = _places_of(of)
        complete = np.all(of.codes >= 0, axis=1)
        # Missing keys match anything: only complete units are asked for.
        self.rows = np.flatnonzero((of.needs > 0) & complete)
        self.rules = slice(begin, begin + len(self.rows))
        share = shares_of_count(of.needs) if of.share is None else of.share
        self.share, self.by_weight = share[self.rows].T
        self.any_weight = bool(self.by_weight.any())
        units, m = of.codes.shape
        self._weight = np.zeros(units) if of.weight is None else of.weight
        self._size = of.size
        self._lacks = (of.codes < 0) @ (1 << np.arange(m))
        self._columns, self._levels = _as_columns(of.codes)
        self._groups: dict[int, tuple[Integers, int]] = {}
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
            group, groups = self._group(lost | lack)
            tables.append((where, group[at[where]], group[self.rows], groups))
        return _Margin(at, most, tables)

    def _group(self, gone: int) -> tuple[Integers, int]:
        """Return the combination of each unit in the keys that are left."""
        if gone not in self._groups:
            m, units = len(self._columns), len(self._lacks)
            kept = [k for k in range(m) if not gone >> k & 1]
            group, groups = np.zeros(units, np.int64), 1
            if kept and units:
                found = count(
                    [self._columns[k] for k in kept], [self._levels[k] for k in kept]
                )
                group, groups = found.inverse.astype(np.int64), len(found.frequency)
            self._groups[gone] = group, groups
        return self._groups[gone]

    def forget(self) -> None:
        """Drop what is needed no more."""
        self._groups = {}

    def gains(self, u: Floats) -> dict[int, Floats]:
        """Return what the units of each margin give to the rules if they lose it."""
        rules = u[self.rules] * self._size[self.rows]
        pays, by_weight = rules * self.share, rules * self.by_weight
        now = self._sums(self._now, pays, by_weight)
        return {
            lost: self._sums(one, pays, by_weight) - now[one.at]
            for lost, one in self.margins.items()
        }

    def _sums(self, margin: _Margin, pays: Floats, by_weight: Floats) -> Floats:
        """Return the sums over the rules of all that units match."""
        sums = np.empty(len(margin.at))
        for where, of_unit, of_rule, groups in margin.tables:
            one = np.bincount(of_rule, pays, groups)[of_unit]
            if self.any_weight:
                more = np.bincount(of_rule, by_weight, groups)[of_unit]
                one += self._weight[margin.at[where]] * more
            sums[where] = one
        return sums

    def broken(self, lost: Integers) -> Floats:
        """Return how much its rules are broken if units lose some of its keys."""
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
        """Return what each rule gets from some units of a margin."""
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
        """Yield units that have to do with each other, and in which groups."""
        for one in self.margins.values():
            for where, of_unit, of_rule, groups in one.tables:
                # By all keys that they may lose units match the most.
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
    """The bound, as prices are changed.

    Parameters
    ----------
    views : sequence of Unsafe
        The same units, as they look from each set of keys. A unit has a rule for each
        from which it is unsafe; what it loses counts for all of them, and costs once.

    Attributes
    ----------
    work : int
        About how many numbers a step looks at.
    worth : float64 ndarray, shape (U,)
        By its prices, what the best set of keys that each unit may lose gives to the
        rules beyond its cost; below 0 where it gives less.
    component : int64 ndarray, shape (U,)
        Units of different ones have nothing to do with each other.

    Notes
    -----
    Where a unit may lose more than `MOST_TRIED` keys, sets of a few are tried. All
    larger ones cost at least as much as the cheapest keys of one more, and give at most
    what all keys give: one set that costs so little and gives so much stands for them.

    Examples
    --------
    Three records of different sex and age need each a second one:

    >>> codes = np.array([[0, 0], [0, 1], [1, 0]], np.int32)
    >>> may, needs = np.full(3, 3, np.uint64), np.ones(3)
    >>> bound = Bound([Unsafe(codes, np.ones(3, int), np.ones(2), may, needs)])
    >>> bound.raised(2.0, 50)
    2
    """

    def __init__(self, views: Sequence[Unsafe]) -> None:
        self._size = views[0].size
        units = len(self._size)
        price: dict[int, float] = {}
        self._may = np.zeros(units, np.int64)
        for of in views:
            missing = of.codes < 0
            for k, column in enumerate(_places_of(of)):
                price[column] = float(of.price[k])
                able = of.may.astype(np.int64) >> k & 1 & ~missing[:, k]
                if np.isfinite(price[column]):
                    self._may |= able << column
        self._price = price
        finite = [p for p in price.values() if np.isfinite(p)]
        self._whole = all(p == round(p) for p in finite)
        self._views: list[_View] = []
        rules = 0
        for of in views:
            self._views.append(_View(of, rules))
            rules += len(self._views[-1].rows)
        self._unit = np.concatenate([one.rows for one in self._views])
        self._needs = np.concatenate(
            [of.needs[one.rows] for of, one in zip(views, self._views, strict=True)]
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
        """Yield the sets of keys that units may lose, not empty."""
        order = np.argsort(self._may, kind="stable")
        mays, begin = np.unique(self._may[order], return_index=True)
        units = dict(zip(mays.tolist(), np.split(order, begin[1:]), strict=True))
        who: dict[tuple[int, float], list[Integers]] = {}
        for may, at in units.items():
            keys = [c for c in range(may.bit_length()) if may >> c & 1]
            few = len(keys) if len(keys) <= MOST_TRIED else FEW_TRIED
            for size in range(1, few + 1):
                for some in combinations(keys, size):
                    cost = math.fsum(self._price[c] for c in some)
                    lost = sum(1 << c for c in some)
                    who.setdefault((lost, cost), []).append(at)
            if few < len(keys):
                least = sorted(self._price[c] for c in keys)[: few + 1]
                who.setdefault((may, math.fsum(least)), []).append(at)
        for (lost, cost), parts in who.items():
            yield _Set(lost, cost, np.sort(np.concatenate(parts)))

    def _counted(self) -> list[list[tuple[int, int, Integers | None]]]:
        """Count margins; return of each set its views, their keys, and places there."""
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
            view.forget()
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
        """Return which units have to do with each other, however indirectly."""
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
        """Return the bounds of components, how much rules are broken, and worths."""
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
            value = np.full(len(one.at), one.cost)
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
        """Return prices to begin with: halved where together they are too high."""
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
        # A unit that may lose something pays first what its cheapest key costs.
        cheapest = min((p for p in self._price.values() if 0 < p < np.inf), default=0.0)
        u = cheapest / np.where(np.isfinite(self._needs), self._needs, 1.0)
        u /= np.bincount(self._unit)[self._unit]
        size, of = self._size[self._unit], self._of_rule
        parts = len(self._bests)
        u = self._begun(u, steps)
        best_u, theta = u.copy(), np.ones(parts)
        since = np.zeros(parts, np.int64)
        direction = np.zeros(len(u))
        asked = np.bincount(of, size, parts)
        part = asked / asked.sum()
        for _ in range(steps):
            each, broken, worth = self._value(u)
            better = each > self._bests + 1e-4 * np.maximum(self._bests, 0.1)
            since = np.where(better, 0, since + 1)
            risen = each > self._bests
            best_u = np.where(risen[of], u, best_u)
            self.worth = np.where(risen[self.component], worth, self.worth)
            self._bests = np.maximum(self._bests, each)
            if self.value() >= goal:
                break
            direction = broken + 0.6 * direction
            # Those that stand still begin again at their best, with smaller steps.
            still = since > _PATIENCE
            theta, since = np.where(still, theta / 2, theta), np.where(still, 0, since)
            back = still[of]
            u, direction = np.where(back, best_u, u), np.where(back, 0.0, direction)
            norm = np.bincount(of, direction * direction * size, parts)
            # Each component aims at its part of what the goal is above the bound.
            aim = self._bests + np.maximum(goal - self._bests.sum(), 0.0) * part + 0.1
            step = theta * (aim - each) / np.where(norm > 0, norm, np.inf)
            u = np.maximum(u + step[of] * direction, 0.0)
        return self.value()

    def value(self) -> float:
        """Return the bound: a whole number if all prices are whole."""
        each = self.of_components()
        return int(each.sum()) if self._whole else math.fsum(each.tolist())

    def of_components(self) -> Floats:
        """Return the bounds of what has nothing to do with each other."""
        certain = np.maximum(self._bests * (1 - 1e-9) - 1e-9, 0.0)
        return np.ceil(certain) if self._whole else certain * (1 - 1e-12)
