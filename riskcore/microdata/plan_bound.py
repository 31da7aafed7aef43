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
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riskcore.microdata.count import count
from riskcore.microdata.matching import Floats, Integers, KeyMasks, Risk

Mask = NDArray[np.bool_]

# A call takes as long as so many numbers.
_CALL = 10_000


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
    enough : bool ndarray, shape (U, 2**m), or None
        Which sets of keys may be all that the unit loses; None: any.
    """

    codes: NDArray[np.int32]
    size: Integers
    price: Floats
    may: KeyMasks
    needs: Floats
    enough: Mask | None = None


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


def helpers_of(
    codes: NDArray[np.int32], may: KeyMasks, size: Integers, heaviest: Floats
) -> tuple[Integers, Floats]:
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

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 1], [1, 1]], np.int32)
    >>> may, ones = np.array([2, 0, 0], np.uint64), np.ones(3, int)
    >>> helpers_of(codes, may, ones, np.array([5.0, 6.0, 7.0]))
    (array([1, 1, 0]), array([5., 5., 0.]))
    """
    units, m = codes.shape
    columns, levels = as_columns(codes)
    lacks = (codes < 0) @ (1 << np.arange(m))
    free = may.astype(np.int64) | np.where(may != 0, lacks, 0)
    helpers, largest = np.zeros(units, np.int64), np.zeros(units)
    for lost in np.unique(free[free != 0]).tolist():
        at = np.flatnonzero(free == lost)
        kept = [k for k in range(m) if not lost >> k & 1]
        group, groups = np.zeros(units, np.int64), 1
        if kept:
            found = count([columns[k] for k in kept], [levels[k] for k in kept])
            group, groups = found.inverse.astype(np.int64), len(found.frequency)
        helpers += np.bincount(group[at], size[at], groups).astype(np.int64)[group]
        top = np.zeros(groups)
        np.maximum.at(top, group[at], heaviest[at])
        largest = np.maximum(largest, top[group])
    return helpers, largest


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
    best : float
        The best bound so far.
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
        self.best = 0.0
        self.worth = np.zeros(len(unsafe.size))
        units, m = unsafe.codes.shape
        self._whole = np.all(unsafe.price == np.rint(unsafe.price))
        self._rows = unsafe.needs > 0
        # Missing keys match anything: only complete units are asked for.
        self._rows &= np.all(unsafe.codes >= 0, axis=1)
        asks = self._rows & np.isfinite(unsafe.needs)
        self._share = np.where(asks, 1 / np.where(asks, unsafe.needs, 1), 0.0)
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
                allowed = np.ones(len(part), bool)
                if unsafe.enough is not None:
                    allowed = unsafe.enough[part, lost]
                part_cost = cost[missing[at] == lacks]
                self._sets.append(
                    (lost, part[allowed], part_cost[allowed], group, groups)
                )
        found = count(columns, levels)
        self._cell, self._cells = found.inverse.astype(np.int64), len(found.frequency)
        self.work = sum(_CALL + len(one[3]) + len(one[1]) for one in self._sets)
        self._lost = np.array([one[0] for one in self._sets])

    def _value(self, u: Floats) -> tuple[float, Floats, Floats]:
        """Return the bound by some prices, how much each rule is broken, and worth."""
        of, units = self._of, len(u)
        pays = u * self._share * of.size
        own = np.bincount(self._cell, pays, self._cells)[self._cell]
        best, worth = np.full(units, np.inf), np.full(units, -np.inf)
        chosen = np.zeros(units, np.int64)
        for number, (lost, part, cost, group, groups) in enumerate(self._sets):
            sums = np.bincount(group, pays, groups)
            value = cost + own[part] - sums[group[part]]
            if lost:
                value -= u[part]
                worth[part] = np.maximum(worth[part], -value)
            better = np.flatnonzero(value < best[part])
            at = part[better]
            best[at] = value[better]
            chosen[at] = number
        best[np.isinf(best)] = 0.0
        total = math.fsum((u * of.size).tolist()) + math.fsum((best * of.size).tolist())
        # What the chosen sets give to each rule.
        loses = self._lost[chosen] != 0
        alike = np.bincount(self._cell, of.size * loses, self._cells)
        helped = -alike[self._cell]
        for number in np.unique(chosen[loses]).tolist():
            _, _, _, group, groups = self._sets[number]
            at = np.flatnonzero(chosen == number)
            helped += np.bincount(group[at], of.size[at], groups)[group]
        broken = 1.0 - loses - helped * self._share
        return total, np.where(self._rows, broken, 0.0), worth

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
        u *= self._share
        best_u, theta, since = u, 1.0, 0
        direction = np.zeros(len(u))
        for _ in range(steps):
            value, broken, worth = self._value(u)
            if value > self.best:
                if value > self.best + 1e-4 * max(goal, 1.0):
                    since = 0
                self.best, best_u, self.worth = value, u, worth
            since += 1
            if since > 12:
                theta, since, u = theta / 2, 0, best_u
                direction[:] = 0.0
                continue
            direction = broken + 0.6 * direction
            norm = float((direction * direction * of.size).sum())
            if norm == 0 or self.best >= goal - 1 + 1e-6 or theta < 1e-3:
                break
            step = theta * (goal - value) / norm
            u = np.maximum(u + step * direction, 0.0)
        certain = self.best * (1 - 1e-9) - 1e-9
        return math.ceil(certain) if self._whole else max(certain, 0.0)
