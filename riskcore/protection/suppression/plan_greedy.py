"""Few blanks for a whole file, by whoever they are carried: a greedy cover.

A record that loses the keys S matches all that agree with it in the others, a cell of
a margin, from each set of keys. Again and again the record and the keys are taken that
bring the unsafe units nearest to their limits for what they cost. Two such records with
nearly no key make most files safe by the rule that missing matches any value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from riskcore.data.count import count
from riskcore.protection.suppression.matching import (
    Floats,
    Integers,
    KeyMasks,
    Risk,
)
from riskcore.protection.suppression.plan_bound import (
    MOST_TRIED,
    Unsafe,
    as_columns,
    least_helpers,
    places_of,
)

# Of more keys those sets are tried that leave so many, or take so many.
_LEFT = 3
_TAKEN = 2


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """Units that lose keys.

    Attributes
    ----------
    unit : int64 ndarray
        A unit may come more than once: for one of its records each time.
    columns : uint64 ndarray
        The keys that they lose.
    """

    unit: Integers
    columns: KeyMasks


@dataclass(frozen=True, slots=True, eq=False)
class Unprotected:
    """Units as they are, seen from one set of keys.

    Attributes
    ----------
    units : Unsafe
        Groups of records with the same keys and limits.
    f, F : float64 ndarray, shape (U,)
    limit : float64 ndarray, shape (U,)
        nan for what is safe.
    risk : callable
    """

    units: Unsafe
    f: Floats
    F: Floats
    limit: Floats
    risk: Risk


def greedy_cover(
    views: Sequence[Unprotected],
    heaviest: Floats,
    alpha: float,
    blank_matches_complete: bool,
    together: Sequence[int],
    most: int,
) -> Cover:
    """Return records that make as many units safe as may be, for their cost.

    Parameters
    ----------
    views : sequence of Unprotected
        The same units, as they look from each set of keys.
    heaviest : float64 ndarray, shape (U,)
        The weight of the heaviest record of each unit.
    alpha : float
        What an incomplete record counts.
    blank_matches_complete : bool
        Whether one without any key counts for complete ones.
    together : sequence of int
        Masks of keys that are blanked together; keys in none of them stay.
    most : int
        The largest number of records that are taken.

    Returns
    -------
    Cover

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 1], [1, 0]], np.int32)
    >>> may, ones = np.full(3, 3, np.uint64), np.ones(3)
    >>> units = Unsafe(codes, np.ones(3, int), np.ones(2), may, ones)
    >>> view = Unprotected(units, ones, ones, np.full(3, 0.6), lambda f, F: 1 / f)
    >>> found = greedy_cover([view], ones, 1.0, False, [1, 2], 9)
    >>> found.unit.tolist(), found.columns.tolist()
    ([0, 1], [1, 1])
    """
    states = [_State(one, heaviest, alpha) for one in views]
    size = views[0].units.size
    sets = [
        one
        for one in _sets(views, together)
        # Who keeps no key counts no more for complete ones.
        if blank_matches_complete or not any(each.all_lost(one[0]) for each in states)
    ]
    used = np.zeros(len(size), np.int64)
    taken: list[tuple[int, int]] = []
    while len(taken) < most:
        asked = [one.ask() for one in states]
        if not any(asked):
            break
        best: tuple[float, float, int] | None = None
        who = -1
        for lost, cost, able in sets:
            score = np.zeros(len(size))
            for one in states:
                one.score(lost, score)
            ratio = np.where(able & (used < size), score / cost, 0.0)
            top = float(ratio.max())
            if top > 0 and (best is None or (-top, cost, lost) < best):
                best = (-top, cost, lost)
                at = np.flatnonzero(ratio == top)
                # The heaviest record helps most; of equal ones the first.
                who = int(at[np.lexsort((at, -heaviest[at]))[0]])
        if best is None:
            break
        taken.append((who, best[2]))
        used[who] += 1
        for one in states:
            one.take(who, best[2], used[who] == size[who])
    unit = np.array([i for i, _ in taken], np.int64)
    return Cover(unit, np.array([lost for _, lost in taken], np.uint64))


def _sets(
    views: Sequence[Unprotected], together: Sequence[int]
) -> Iterator[tuple[int, float, NDArray[np.bool_]]]:
    """Yield the keys that may be lost, what they cost, and by which units."""
    price: dict[int, float] = {}
    units = len(views[0].units.size)
    may, complete = np.zeros(units, np.uint64), np.ones(units, bool)
    for view in views:
        of = view.units
        complete &= np.all(of.codes >= 0, axis=1)
        for k, column in enumerate(places_of(of)):
            price[column] = float(of.price[k])
            may |= (of.may >> np.uint64(k) & np.uint64(1)) << np.uint64(column)
    bundles = [
        one
        for one in sorted(together)
        if all(np.isfinite(price.get(c, 0.0)) for c in range(64) if one >> c & 1)
    ]
    m = len(bundles)
    sizes = range(1, m + 1)
    if m > MOST_TRIED:
        sizes = [s for s in sizes if s <= _TAKEN or s >= m - _LEFT]  # type: ignore[assignment]
    for size in sizes:
        for some in combinations(bundles, size):
            lost = sum(some)
            cost = sum(p for c, p in sorted(price.items()) if lost >> c & 1)
            able = complete & (np.uint64(lost) & ~may == 0)
            if cost > 0 and able.any():
                yield lost, cost, able


class _State:
    """f and F from one set of keys while records are taken."""

    def __init__(self, view: Unprotected, heaviest: Floats, alpha: float) -> None:
        self._view, self._heaviest, self._alpha = view, heaviest, alpha
        self._f, self._F = view.f.copy(), view.F.copy()
        codes = view.units.codes
        self._unsafe = np.all(codes >= 0, axis=1) & ~np.isnan(view.limit)
        self._columns, self._levels = as_columns(codes)
        self._places = places_of(view.units)
        self._groups: dict[int, tuple[Integers, int]] = {}
        self._scores: dict[int, Floats] = {}
        self._rest = np.empty(0, np.int64)
        self._value = np.empty(0)

    def all_lost(self, lost: int) -> bool:
        """Whether no key of several is left."""
        m = len(self._places)
        return m > 1 and self._local(lost) == (1 << m) - 1

    def ask(self) -> bool:
        """See who is still unsafe, and how much one match is worth to each."""
        view, size = self._view, self._view.units.size
        self._unsafe &= ~(view.risk(self._f, self._F) < view.limit)
        self._scores = {}
        self._rest = np.flatnonzero(self._unsafe)
        if not len(self._rest):
            return False
        rest = self._rest
        top = np.full(len(rest), self._heaviest.max())
        many = np.full(len(rest), int(size.sum()))
        needs = least_helpers(
            self._f[rest], self._F[rest], view.limit[rest], top, many, self._alpha,
            view.risk,
        )  # fmt: skip
        self._value = size[rest] / needs
        return True

    def score(self, lost: int, score: Floats) -> None:
        """Add what each unit would give by losing keys."""
        local = self._local(lost)
        if not local or not len(self._rest):
            return
        if local not in self._scores:
            group, groups = self._group(local)
            gain: Floats = np.bincount(group[self._rest], self._value, groups).astype(
                np.float64
            )
            self._scores[local] = gain[group]
        score += self._scores[local]

    def take(self, who: int, lost: int, all_used: bool) -> None:
        """Let one record lose keys."""
        local = self._local(lost)
        if not local:
            return
        group, _ = self._group(local)
        helped = self._unsafe & (group == group[who])
        helped[who] = False
        self._f[helped] += self._alpha
        self._F[helped] += self._alpha * self._heaviest[who]
        self._unsafe[who] &= not all_used

    def _local(self, lost: int) -> int:
        return sum(1 << k for k, c in enumerate(self._places) if lost >> c & 1)

    def _group(self, gone: int) -> tuple[Integers, int]:
        """Return the combination of each unit in the keys that are left."""
        if gone not in self._groups:
            m, n = len(self._columns), len(self._f)
            group, groups = np.zeros(n, np.int64), 1
            kept = [k for k in range(m) if not gone >> k & 1]
            if kept:
                found = count(
                    [self._columns[k] for k in kept], [self._levels[k] for k in kept]
                )
                group, groups = found.inverse.astype(np.int64), len(found.frequency)
            self._groups[gone] = group, groups
        return self._groups[gone]
