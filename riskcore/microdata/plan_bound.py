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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riskcore.microdata.count import count
from riskcore.microdata.matching import Floats, Integers, KeyMasks, Risk

# A call takes as long as so many numbers.
_CALL = 10_000
# Matches that are counted one by one, and the bisection of F.
_MATCHES = 16
_LARGEST = 1e15
_HALVINGS = 60
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
    price : float64 ndarray, shape (U, m)
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
    """

    codes: NDArray[np.int32]
    size: Integers
    price: Floats
    may: KeyMasks
    needs: Floats
    weight: Floats | None = None
    share: Floats | None = None


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

    Parameters
    ----------
    f, F : float64 ndarray, shape (J,)
        Of the units as they are.
    limit : float64 ndarray, shape (J,)
    weight : float64 ndarray, shape (J,)
        The heaviest weight of a record that may match each unit.
    helpers : int64 ndarray, shape (J,)
        How many records may.
    alpha : float
        What each of them counts.
    risk : callable

    Returns
    -------
    float64 ndarray, shape (J,)
        Infinity if all of them are too few.

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

    Parameters
    ----------
    f, F, limit, helpers
        As of `least_helpers`.
    needs : float64 ndarray, shape (J,)
        What that returns.
    alpha : float
    risk : callable

    Returns
    -------
    float64 ndarray, shape (J, 2)
        Zeros where it does not hold or is of no use.

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

    Parameters
    ----------
    codes : int32 ndarray, shape (U, m)
    may : uint64 ndarray, shape (U,)
        The keys that each unit may lose.
    size : int64 ndarray, shape (U,)
        Its records.
    heaviest : float64 ndarray, shape (U,)
        The weight of the heaviest of them.

    Returns
    -------
    helpers : int64 ndarray, shape (U,)
        Counted are records that match already, too.
    heaviest : float64 ndarray, shape (U,)
        Of all helpers; 0 if there is none.
    mean : float64 ndarray, shape (U,)
        Of the heaviest of each helping unit.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 1], [1, 1]], np.int32)
    >>> may, ones = np.array([2, 0, 0], np.uint64), np.ones(3, int)
    >>> helpers_of(codes, may, ones, np.array([5.0, 6.0, 7.0]))
    (array([1, 1, 0]), array([5., 5., 0.]), array([5., 5., 0.]))
    """
    units, m = codes.shape
    columns, levels = as_columns(codes)
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


def as_columns(codes: NDArray[np.int32]) -> tuple[list[NDArray[np.uint32]], list[int]]:
    """Return codes from 0, by key, and how many each key has."""
    columns = [(column + 1).astype(np.uint32) for column in codes.T]
    return columns, [int(column.max()) + 1 for column in columns]


class Bound:
    """The bound, as prices are changed.

    Parameters
    ----------
    unsafe : Unsafe

    Attributes
    ----------
    work : int
        About how many numbers a step looks at.
    worth : float64 ndarray, shape (U,)
        By its prices, what the best set of keys that each unit may lose gives to the
        rules beyond its cost; below 0 where it gives less.

    Examples
    --------
    Three records of different sex and age need each a second one:

    >>> codes = np.array([[0, 0], [0, 1], [1, 0]], np.int32)
    >>> may, needs = np.full(3, 3, np.uint64), np.ones(3)
    >>> bound = Bound(Unsafe(codes, np.ones(3, int), np.ones((3, 2)), may, needs))
    >>> bound.raised(2.0, 50)
    2
    """

    def __init__(self, unsafe: Unsafe) -> None:
        self._of = unsafe
        self.worth = np.zeros(len(unsafe.size))
        units, m = unsafe.codes.shape
        self._whole = np.all(unsafe.price == np.rint(unsafe.price))
        self._rows = unsafe.needs > 0
        # Missing keys match anything: only complete units are asked for.
        self._rows &= np.all(unsafe.codes >= 0, axis=1)
        self._weight = np.zeros(units) if unsafe.weight is None else unsafe.weight
        share = unsafe.share
        if share is None:
            share = shares_of_count(unsafe.needs)
        self._share, self._by_weight = np.where(self._rows[:, None], share, 0.0).T
        missing = (unsafe.codes < 0) @ (1 << np.arange(m))
        finite = np.isfinite(unsafe.price) @ (1 << np.arange(m))
        may = unsafe.may.astype(np.int64) & finite & ~missing
        self._sets: list[tuple[int, Integers, Floats, Integers, int]] = []
        full = (1 << m) - 1
        columns, levels = as_columns(unsafe.codes)
        for lost in range(1 << m):
            at = np.flatnonzero((lost & ~may) == 0)
            if not len(at):
                continue
            cost = np.where(
                (lost >> np.arange(m) & 1).astype(bool), unsafe.price[at], 0.0
            ).sum(axis=1)
            for lacks in np.unique(missing[at]):
                part = at[missing[at] == lacks]
                kept = [k for k in range(m) if full & ~(lost | int(lacks)) >> k & 1]
                group, groups = np.zeros(units, np.int64), 1
                if kept:
                    found = count([columns[k] for k in kept], [levels[k] for k in kept])
                    group, groups = found.inverse.astype(np.int64), len(found.frequency)
                part_cost = cost[missing[at] == lacks]
                self._sets.append((lost, part, part_cost, group, groups))
        found = count(columns, levels)
        self._cell, self._cells = found.inverse.astype(np.int64), len(found.frequency)
        self._component = self._components(may)
        self._bests = np.zeros(int(self._component.max(initial=0)) + 1)
        self.work = sum(_CALL + len(one[3]) + len(one[1]) for one in self._sets)
        self._lost = np.array([one[0] for one in self._sets])

    def _components(self, may: Integers) -> Integers:
        """Return which units have to do with each other, however indirectly."""
        ties = []
        for lost, part, _, group, groups in self._sets:
            # By all keys that they may lose units match the most.
            most = part[(may[part] == lost) & (lost != 0)]
            if len(most):
                tied = np.zeros(groups, bool)
                tied[group[most]] = True
                at = np.flatnonzero(tied[group] & self._rows)
                ties.append((np.concatenate([at, most]), group, groups))
        units = len(may)
        label = np.arange(units)
        while True:
            before = label.copy()
            for at, group, groups in ties:
                least = np.full(groups, units)
                np.minimum.at(least, group[at], label[at])
                label[at] = np.minimum(label[at], least[group[at]])
            label = label[label]
            if np.array_equal(label, before):
                return np.unique(label, return_inverse=True)[1].reshape(-1)

    def _value(self, u: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the bounds of components, how much rules are broken, and worths."""
        of, units = self._of, len(u)
        pays = u * self._share * of.size
        by_weight = u * self._by_weight * of.size
        any_weight = bool(by_weight.any())
        alike = np.bincount(self._cell, by_weight, self._cells)[self._cell]
        of_cell = np.bincount(self._cell, pays, self._cells)[self._cell]
        own: Floats = of_cell + self._weight * alike
        best, worth = np.full(units, np.inf), np.full(units, -np.inf)
        chosen = np.zeros(units, np.int64)
        for number, (lost, part, cost, group, groups) in enumerate(self._sets):
            value: Floats = cost + own[part]
            value -= np.bincount(group, pays, groups)[group[part]]
            if any_weight:
                sums = np.bincount(group, by_weight, groups)
                value -= self._weight[part] * sums[group[part]]
            if lost:
                value -= u[part]
                worth[part] = np.maximum(worth[part], -value)
            better = np.flatnonzero(value < best[part])
            at = part[better]
            best[at] = value[better]
            chosen[at] = number
        best[np.isinf(best)] = 0.0
        gained: Floats = (u + best) * of.size
        parts = len(self._bests)
        each = np.bincount(self._component, gained, parts).astype(np.float64)
        # What the chosen sets give to each rule.
        loses = self._lost[chosen] != 0
        broken = 1.0 - loses
        for share, gives in (
            (self._share, of.size * loses),
            (self._by_weight, of.size * loses * self._weight),
        ):
            if not share.any():
                continue
            helped = -np.bincount(self._cell, gives, self._cells)[self._cell]
            for number in np.unique(chosen[loses]).tolist():
                _, _, _, group, groups = self._sets[number]
                at = np.flatnonzero(chosen == number)
                helped += np.bincount(group[at], gives[at], groups)[group]
            broken -= helped * share
        return each, np.where(self._rows, broken, 0.0), worth

    def raised(self, goal: float, steps: int) -> float:
        """Return the bound after some steps.

        Parameters
        ----------
        goal : float
            The cost of a plan: no bound is above it.
        steps : int

        Returns
        -------
        float or int
            A whole number if all prices are whole.
        """
        if not self._rows.any():
            return 0
        of = self._of
        cheapest = np.where(of.price > 0, of.price, np.inf).min(axis=1)
        u = np.where(self._rows, np.where(np.isfinite(cheapest), cheapest, 0.0), 0.0)
        u /= np.where(np.isfinite(of.needs), np.maximum(of.needs, 1.0), 1.0)
        parts = len(self._bests)
        best_u, theta = u.copy(), np.ones(parts)
        since = np.zeros(parts, np.int64)
        direction = np.zeros(len(u))
        asked = np.bincount(self._component, self._rows * of.size, parts)
        part = asked / asked.sum()
        for _ in range(steps):
            each, broken, worth = self._value(u)
            better = each > self._bests + 1e-4 * np.maximum(self._bests, 0.1)
            since = np.where(better, 0, since + 1)
            at = (each > self._bests)[self._component]
            best_u[at], self.worth[at] = u[at], worth[at]
            self._bests = np.maximum(self._bests, each)
            if self.value() >= goal:
                break
            direction = broken + 0.6 * direction
            # Those that stand still begin again at their best, with smaller steps.
            still = since > _PATIENCE
            theta, since = np.where(still, theta / 2, theta), np.where(still, 0, since)
            back = still[self._component]
            u, direction = np.where(back, best_u, u), np.where(back, 0.0, direction)
            squares = direction * direction * of.size
            norm = np.bincount(self._component, squares, parts)
            # Each component aims at its part of what the goal is above the bound.
            aim = self._bests + np.maximum(goal - self._bests.sum(), 0.0) * part + 0.1
            step = theta * (aim - each) / np.where(norm > 0, norm, np.inf)
            u = np.maximum(u + step[self._component] * direction, 0.0)
        return self.value()

    def value(self) -> float:
        """Return the bound: a whole number if all prices are whole."""
        # What has nothing to do with each other is bounded each by itself.
        certain = np.maximum(self._bests * (1 - 1e-9) - 1e-9, 0.0)
        if self._whole:
            return int(np.ceil(certain).sum())
        return math.fsum(certain.tolist()) * (1 - 1e-12)
