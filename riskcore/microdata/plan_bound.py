"""Fewer blanks than these no plan has: a bound from the unsafe units.

An unsafe unit must lose a key of its own, or at least d others must lose enough keys to
match it. For each choice of prices u >= 0 of this rule the sum

    sum_j u_j + sum_i min_S [ c(S) - u_i [S not empty] - sum_j (u_j / d_j) ]

is at most the cost of every plan: i runs over all units and S over the sets of keys
that they may lose; the last sum is over the unsafe units that i would match without the
keys S, and does not match now (Lagrange's relaxation; for each i the best S is found by
trying all). The last sums are margins: tables of u/d over the keys that are left. Prices
are raised where the rule is broken and lowered where it has slack (Held and Karp).
Whatever the prices are, the bound holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riskcore.microdata.count import count
from riskcore.microdata.matching import Floats, Integers, KeyMasks, Risk

Mask = NDArray[np.bool_]


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
    records: Integers,
    alpha: float,
    risk: Risk,
) -> Floats:
    """Return how many further matches units need at least, with the heaviest weights.

    Parameters
    ----------
    f, F : float64 ndarray, shape (J,)
        Of the units as they are.
    limit : float64 ndarray, shape (J,)
    weight, records : ndarray, shape (U,)
        The weight of a record of the units that may match, and how many they are.
    alpha : float
        What each of them counts.
    risk : callable

    Returns
    -------
    float64 ndarray, shape (J,)
        Infinity if all of them are too few.

    Examples
    --------
    >>> f, w = np.array([1.0, 3.0]), np.array([1.0, 1.0, 1.0])
    >>> least_helpers(
    ...     f, f, np.array([0.3, 0.3]), w, w.astype(int), 1.0, lambda f, F: 1 / f
    ... )
    array([3., 1.])
    """
    order = np.argsort(-weight, kind="stable")
    weights = np.repeat(weight[order], records[order])
    # A little more than the sum: the bound must not be above the truth by rounding.
    sums = np.concatenate([[0.0], np.cumsum(weights)]) * (1 + 1e-9)
    low = np.ones(len(f), np.int64)
    high = np.full(len(f), len(weights) + 1)
    while np.any(low < high):
        t = (low + high) // 2
        inside = np.minimum(t, len(weights))
        safe = risk(f + alpha * inside, F + alpha * sums[inside]) < limit
        safe |= t > len(weights)
        high = np.where(safe, t, high)
        low = np.where(safe, low, np.minimum(t + 1, high))
    return np.where(high > len(weights), np.inf, high)


class Bound:
    """The bound, as prices are changed.

    Parameters
    ----------
    unsafe : Unsafe

    Attributes
    ----------
    best : float
        The best bound so far.

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
        U, m = unsafe.codes.shape
        self._whole = np.all(unsafe.price == np.rint(unsafe.price))
        self._rows = unsafe.needs > 0
        # Missing keys match anything: only complete units are asked for.
        self._rows &= np.all(unsafe.codes >= 0, axis=1)
        asks = self._rows & np.isfinite(unsafe.needs)
        self._share = np.where(asks, 1 / np.where(asks, unsafe.needs, 1), 0.0)
        missing = (unsafe.codes < 0) @ (1 << np.arange(m))
        finite = np.isfinite(unsafe.price) @ (1 << np.arange(m))
        may = unsafe.may.astype(np.int64) & finite & ~missing
        self._sets = []
        full = (1 << m) - 1
        levels = [int(column.max()) + 2 for column in unsafe.codes.T]
        columns = [(column + 1).astype(np.uint32) for column in unsafe.codes.T]
        every = np.arange(U)
        for S in range(1 << m):
            at = np.flatnonzero((S & ~may) == 0)
            if not len(at):
                continue
            cost = np.where(
                (S >> np.arange(m) & 1).astype(bool), unsafe.price[at], 0.0
            ).sum(axis=1)
            for lacks in np.unique(missing[at]):
                part = at[missing[at] == lacks]
                kept = [k for k in range(m) if full & ~(S | int(lacks)) >> k & 1]
                group, groups = np.zeros(U, np.int64), 1
                if kept:
                    found = count([columns[k] for k in kept], [levels[k] for k in kept])
                    group, groups = found.inverse.astype(np.int64), len(found.frequency)
                allowed = np.ones(len(part), bool)
                if unsafe.enough is not None:
                    allowed = unsafe.enough[part, S]
                part_cost = cost[missing[at] == lacks]
                self._sets.append(
                    (S, part[allowed], part_cost[allowed], group, groups)
                )
        found = count(columns, levels)
        self._cell, self._cells = found.inverse.astype(np.int64), len(found.frequency)
        self._every = every

    def _value(self, u: Floats) -> tuple[float, Floats]:
        """Return the bound by some prices, and by how much each rule is broken."""
        of, U = self._of, len(u)
        pays = u * self._share * of.size
        own = np.bincount(self._cell, pays, self._cells)[self._cell]
        best = np.full(U, np.inf)
        chosen = np.zeros(U, np.int64)
        tables = []
        for number, (S, part, cost, group, groups) in enumerate(self._sets):
            sums = np.bincount(group, pays, groups)
            value = cost - (sums[group[part]] - own[part])
            if S:
                value -= u[part]
            better = value < best[part]
            best[part[better]] = value[better]
            chosen[part[better]] = number
            tables.append((S, group, groups))
        best[np.isinf(best)] = 0.0
        total = math.fsum((u * of.size).tolist()) + math.fsum((best * of.size).tolist())
        # What the chosen sets give to each rule.
        helped = np.zeros(U)
        broken = np.ones(U)
        for number, (S, group, groups) in enumerate(tables):
            at = np.flatnonzero(chosen == number)
            if not len(at) or S == 0:
                continue
            broken[at] -= 1.0
            number_of = np.bincount(group[at], of.size[at], groups)
            same = np.bincount(self._cell[at], of.size[at], self._cells)
            helped += number_of[group] - same[self._cell]
        broken -= helped * self._share
        return total, np.where(self._rows, broken, 0.0)

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
            value, broken = self._value(u)
            if value > self.best:
                if value > self.best + 1e-4 * max(goal, 1.0):
                    since = 0
                self.best, best_u = value, u
            since += 1
            if since > 12:
                theta, since, u = theta / 2, 0, best_u
                direction[:] = 0.0
                continue
            direction = broken + 0.6 * direction
            norm = float((direction * direction * of.size).sum())
            if norm == 0 or self.best >= goal - 1 + 1e-6:
                break
            step = theta * (goal - value) / norm
            u = np.maximum(u + step * direction, 0.0)
        certain = self.best * (1 - 1e-9) - 1e-9
        return math.ceil(certain) if self._whole else max(certain, 0.0)
