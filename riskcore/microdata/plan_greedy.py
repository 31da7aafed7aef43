"""Few blanks for a whole file, by whoever they are carried: a greedy cover.

A record that loses the keys S matches all that agree with it in the others, a cell of
a margin. Again and again the record and the keys are taken that bring the unsafe units
nearest to their limits for what they cost. Two such records with nearly no key make
most files safe by the rule that missing matches any value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from riskcore.microdata.count import count
from riskcore.microdata.matching import Floats, Integers, KeyMasks, Risk
from riskcore.microdata.plan_bound import Unsafe, least_helpers


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


def greedy_cover(
    units: Unsafe,
    f: Floats,
    F: Floats,
    limit: Floats,
    heaviest: Floats,
    alpha: float,
    blank_matches_complete: bool,
    risk: Risk,
    most: int,
) -> Cover:
    """Return records that make as many units safe as may be, for their cost.

    Parameters
    ----------
    units : Unsafe
        Groups of records with the same keys and limits.
    f, F : float64 ndarray, shape (U,)
        Frequencies as they are.
    limit : float64 ndarray, shape (U,)
        Infinite for what is safe.
    heaviest : float64 ndarray, shape (U,)
        The weight of the heaviest record of each unit.
    alpha : float
        What an incomplete record counts.
    blank_matches_complete : bool
        Whether one without any key counts for complete ones.
    risk : callable
    most : int
        The largest number of records that are taken.

    Returns
    -------
    Cover

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 1], [1, 0]], np.int32)
    >>> may, ones = np.full(3, 3, np.uint64), np.ones(3)
    >>> units = Unsafe(codes, np.ones(3, int), np.ones((3, 2)), may, ones)
    >>> limits = np.full(3, 0.6)
    >>> found = greedy_cover(
    ...     units, ones, ones, limits, ones, 1.0, False, lambda f, F: 1 / f, 9
    ... )
    >>> found.unit.tolist(), found.columns.tolist()
    ([0, 2], [1, 2])
    """
    f, F = f.copy(), F.copy()
    size = units.size
    U, m = units.codes.shape
    full = (1 << m) - 1
    levels = [int(column.max()) + 2 for column in units.codes.T]
    columns = [(column + 1).astype(np.uint32) for column in units.codes.T]
    complete = np.all(units.codes >= 0, axis=1)
    margins = []
    for S in range(1, full + 1):
        if S == full and m > 1 and not blank_matches_complete:
            continue
        lost = [k for k in range(m) if S >> k & 1]
        cost = units.price[:, lost].sum(axis=1)
        able = complete & ((np.uint64(S) & ~units.may) == 0) & np.isfinite(cost)
        if not able.any():
            continue
        group, groups = np.zeros(U, np.int64), 1
        kept = [k for k in range(m) if not S >> k & 1]
        if kept:
            found = count([columns[k] for k in kept], [levels[k] for k in kept])
            group, groups = found.inverse.astype(np.int64), len(found.frequency)
        price = np.full(groups, np.inf)
        np.minimum.at(price, group[able], cost[able])
        # The heaviest record of the cheapest units helps most; of equal ones the first.
        at = np.flatnonzero(able & (cost == price[group]))
        at = at[np.lexsort((at, -heaviest[at]))]
        who = np.full(groups, -1)
        who[group[at[::-1]]] = at[::-1]
        margins.append((S, group, groups, price, who, at))
    used = np.zeros(U, np.int64)
    taken: list[tuple[int, int]] = []
    unsafe = complete & np.isfinite(limit)
    while len(taken) < most:
        unsafe &= ~(risk(f, F) < limit)
        rest = np.flatnonzero(unsafe)
        if not len(rest):
            break
        top = np.full(len(rest), heaviest.max())
        many = np.full(len(rest), int(size.sum()))
        needs = least_helpers(f[rest], F[rest], limit[rest], top, many, alpha, risk)
        value = size[rest] / needs
        best: tuple[float, float, int, int, int] | None = None
        for number, (S, group, groups, price, who, _) in enumerate(margins):
            gain = np.bincount(group[rest], value, groups)
            ratio = np.where(who >= 0, gain / price, 0.0)
            at = int(np.argmax(ratio))
            one = (-float(ratio[at]), float(price[at]), S, at, number)
            if ratio[at] > 0 and (best is None or one < best):
                best = one
        if best is None:
            break
        _, _, S, at, number = best
        group, who = margins[number][1], margins[number][4]
        i = int(who[at])
        taken.append((i, S))
        used[i] += 1
        helped = rest[(group[rest] == at) & (rest != i)]
        f[helped] += alpha
        F[helped] += alpha * heaviest[i]
        unsafe[i] &= size[i] > used[i]
        if used[i] == size[i]:
            _replace(margins, used, size, i)
    unit = np.array([i for i, _ in taken], np.int64)
    return Cover(unit, np.array([S for _, S in taken], np.uint64))


def _replace(margins: list, used: Integers, size: Integers, i: int) -> None:
    """Let others stand for a unit of which every record is taken."""
    for _, group, _, _, who, order in margins:
        cell = group[i]
        if who[cell] == i:
            left = order[(group[order] == cell) & (used[order] < size[order])]
            who[cell] = left[0] if len(left) else -1
