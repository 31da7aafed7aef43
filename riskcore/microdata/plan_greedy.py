"""Few blanks for a whole file, by whoever they are carried: a greedy cover.

A record that loses the keys S matches all that agree with it in the others, a cell of
a margin. Again and again the record and the keys are taken that bring the unsafe units
nearest to their limits for what they cost. Two such records with nearly no key make
most files safe by the rule that missing matches any value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riskcore.microdata.count import count
from riskcore.microdata.matching import Floats, Integers, KeyMasks, Risk
from riskcore.microdata.plan_bound import Unsafe, as_columns, least_helpers


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
class _Margin:
    """What is left of all units without some keys.

    Attributes
    ----------
    lost : int
        The mask of these keys.
    group, groups : int64 ndarray, shape (U,), and int
        The combination of each unit, and how many there are.
    price : float64 ndarray, shape (groups,)
        What it costs to blank the keys of one record.
    who : int64 ndarray, shape (groups,)
        The unit of which one is taken; -1 if there is none.
    order : int64 ndarray
        All that may be taken, the best first.
    """

    lost: int
    group: Integers
    groups: int
    price: Floats
    who: Integers
    order: Integers


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
        nan for what is safe.
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
    ([0, 1], [1, 1])
    """
    f, F = f.copy(), F.copy()
    size = units.size
    n = len(size)
    complete = np.all(units.codes >= 0, axis=1)
    margins = _margins(units, heaviest, blank_matches_complete)
    used = np.zeros(n, np.int64)
    taken: list[tuple[int, int]] = []
    unsafe = complete & ~np.isnan(limit)
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
        for number, each in enumerate(margins):
            gain = np.bincount(each.group[rest], value, each.groups)
            ratio = np.where(each.who >= 0, gain / each.price, 0.0)
            at = int(np.argmax(ratio))
            one = (-float(ratio[at]), float(each.price[at]), each.lost, at, number)
            if ratio[at] > 0 and (best is None or one < best):
                best = one
        if best is None:
            break
        _, _, lost, at, number = best
        group = margins[number].group
        i = int(margins[number].who[at])
        taken.append((i, lost))
        used[i] += 1
        helped = rest[(group[rest] == at) & (rest != i)]
        f[helped] += alpha
        F[helped] += alpha * heaviest[i]
        unsafe[i] &= size[i] > used[i]
        if used[i] == size[i]:
            _replace(margins, used, size, i)
    unit = np.array([i for i, _ in taken], np.int64)
    return Cover(unit, np.array([lost for _, lost in taken], np.uint64))


def _replace(margins: list[_Margin], used: Integers, size: Integers, i: int) -> None:
    """Let others stand for a unit of which every record is taken."""
    for each in margins:
        cell = each.group[i]
        if each.who[cell] == i:
            alike = each.order[each.group[each.order] == cell]
            left = alike[used[alike] < size[alike]]
            each.who[cell] = left[0] if len(left) else -1


def _margins(
    units: Unsafe, heaviest: Floats, blank_matches_complete: bool
) -> list[_Margin]:
    """Return who may be taken for each combination of the keys that are left."""
    n, m = units.codes.shape
    columns, levels = as_columns(units.codes)
    complete = np.all(units.codes >= 0, axis=1)
    margins: list[_Margin] = []
    for lost in range(1, 1 << m):
        if lost == (1 << m) - 1 and m > 1 and not blank_matches_complete:
            continue
        gone = [k for k in range(m) if lost >> k & 1]
        cost = units.price[:, gone].sum(axis=1)
        able = complete & ((np.uint64(lost) & ~units.may) == 0) & np.isfinite(cost)
        if not able.any():
            continue
        group, groups = np.zeros(n, np.int64), 1
        kept = [k for k in range(m) if not lost >> k & 1]
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
        margins.append(_Margin(lost, group, groups, price, who, at))
    return margins
