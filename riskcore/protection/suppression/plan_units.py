"""The records of a file as plans of the whole see them, and units of them.

Keys are in an order by content, unless their order decides; so are the units. Costs
are whole numbers too, whose sums are exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assess import Assessment
from riskcore.data.coded import CodedRecords
from riskcore.data.count import count
from riskcore.protection.settings import Settings
from riskcore.protection.suppression.matching import (
    Floats,
    Integers,
    KeyMasks,
    Matching,
    Moves,
    Parts,
    Risk,
    View,
)
from riskcore.protection.suppression.plan_bound import Unsafe
from riskcore.protection.suppression.plan_record import entropies
from riskcore.protection.suppression.rounds import Aim, Mask, Masks, margins_of

# A value costs so much more than it counts: of equal costs the fewest values.
COST_BITS = 20
COST_UNIT = 1 << COST_BITS


@dataclass(frozen=True, slots=True, eq=False)
class File:
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
    aims : sequence of Aim
    unsafe : list of bool ndarray, each shape (n,)
        Who is unsafe before.
    limits : list of float64 ndarray, each shape (n,)
        nan for records that are safe anyhow.
    all_limits : list of float64 ndarray, each shape (n,)
        The same of all records.
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
    aims: Sequence[Aim]
    unsafe: list[Mask]
    limits: list[Floats]
    all_limits: list[Floats]
    alpha: float
    blank_matches_complete: bool

    @classmethod
    def of(
        cls,
        coded: CodedRecords,
        assessments: Sequence[Assessment],
        aims: Sequence[Aim],
        costs: Sequence[Floats],
        settings: Settings,
    ) -> File:
        """Collect what plans need."""
        sets = list(zip(assessments, aims, costs, strict=True))
        if settings.by_content:
            sets.sort(key=lambda one: sorted(map(str, one[0].cells.keys)))
        assessments, aims, costs = (list(each) for each in zip(*sets, strict=True))
        names = list(settings.variables)
        if settings.by_content:
            names.sort(key=lambda name: (str(name), type(name).__name__))
        columns = [coded.columns[name] for name in names]
        codes = np.stack([column.codes.astype(np.int32) for column in columns], axis=1)
        for k, column in enumerate(columns):
            codes[codes[:, k] == len(column.labels), k] = -1
        n = len(codes)
        weight = np.ones(n) if coded.weights is None else coded.weights
        price: dict[Hashable, float] = {}
        loss: dict[Hashable, float] = {}
        for one, cost in zip(assessments, costs, strict=True):
            price |= dict(zip(one.cells.keys, cost.tolist(), strict=True))
            loss |= dict(
                zip(one.cells.keys, entropies(one.cells).tolist(), strict=True)
            )
        prices = np.array([price[name] for name in names])
        units, whole = _whole_costs(prices)
        unsafe = [aim.unsafe(one) for one, aim in zip(assessments, aims, strict=True)]
        limits = [aim.limit(one) for one, aim in zip(assessments, aims, strict=True)]
        # With alpha = 1 no blank harms anybody, but for the last key of a record.
        watched = [
            np.where(~bad & (settings.alpha == 1), np.nan, limit)
            for bad, limit in zip(unsafe, limits, strict=True)
        ]
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
            aims,
            unsafe,
            watched,
            limits,
            settings.alpha,
            settings.missing == "argus",
        )

    def risk_of(self, number: int) -> Risk:
        """Return the risk that decides by one set of keys, of f and F."""
        return margins_of(self.assessments[number], self.aims[number]).risk_of

    def places(self, number: int) -> tuple[int, ...]:
        """Return the positions of one set of keys, in order."""
        keys = self.assessments[number].cells.keys
        return tuple(sorted(self.names.index(key) for key in keys))

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
        return float(
            sum(c * p for c, p in zip(counts, self.price.tolist(), strict=True) if c)
        )

    def watching(self, most: KeyMasks) -> File:
        """Return the file with all records watched, if blanks may harm safe ones.

        A record that loses its last key of a set counts no more for complete ones.
        """
        if self.alpha < 1 or self.blank_matches_complete:
            return self
        if not self.loses_all(most).any():
            return self
        return replace(self, limits=self.all_limits)

    def loses_all(self, plan: KeyMasks) -> Mask:
        """Return which records lose the last key of a set of several."""
        bits = (1 << np.arange(len(self.names))).astype(np.uint64)
        has = ((self.codes >= 0) * bits).sum(axis=1, dtype=np.uint64)
        loses = np.zeros(len(plan), bool)
        for v in range(len(self.assessments)):
            keys = self.places(v)
            own = has & np.uint64(sum(1 << k for k in keys))
            if len(keys) > 1:
                loses |= (own != 0) & (own & ~plan == 0)
        return loses

    def usual(self, may: KeyMasks) -> KeyMasks:
        """Return what records may lose if it is every key of each, else nothing.

        Those that are alike may lose the same then, and are one unit.
        """
        bits = np.where(np.isfinite(self.price), 1 << np.arange(len(self.price)), 0)
        every = ((self.codes >= 0) * bits).sum(axis=1).astype(np.uint64)
        return every if np.array_equal(may, every) else np.zeros_like(may)


@dataclass(frozen=True, slots=True, eq=False)
class Units:
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
    def of(cls, file: File, single: Mask) -> Units:
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

    def matching(self, file: File, blank: KeyMasks, most: KeyMasks) -> Matching:
        """Return the state of a plan, in which values can be put back."""
        views = [
            View(
                file.places(number),
                limit,
                file.risk_of(number),
            )
            for number, (one, limit) in enumerate(
                zip(file.assessments, self.limits, strict=True)
            )
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

    def moves(self, file: File, blank: KeyMasks) -> tuple[Moves, Integers]:
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
        rows, mask, together, value, loss = map(
            np.concatenate, zip(*parts, strict=True)
        )
        which = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        unit = self.of_row[rows]
        _, move = np.unique(np.stack([which, together]), axis=1, return_inverse=True)
        move = move.reshape(-1)
        number = int(move.max()) + 1 if len(move) else 0
        total = _exact_sums(move, value, number)
        first = np.full(number, len(self.row))
        np.minimum.at(first, move, unit)
        told = np.zeros(number)
        np.maximum.at(told, move, loss)
        bundle_of = np.zeros(number, np.int64)
        bundle_of[move] = which
        order = np.lexsort((bundle_of, first, -told, -total))
        rank = np.empty(number, np.int64)
        rank[order] = np.arange(number)
        by_move = np.lexsort((unit, rank[move]))
        begin = np.concatenate(
            [[0], np.cumsum(np.bincount(rank[move], minlength=number))]
        )
        return (
            Moves(number, begin.astype(np.int64), unit[by_move], mask[by_move]),
            total[order],
        )

    def of_rows(self, blank: KeyMasks, start: KeyMasks) -> KeyMasks:
        """Return what each record loses."""
        return np.where(start != 0, blank[self.of_row], np.uint64(0))

    def unsafe(self, file: File, v: int, may: KeyMasks, needs: Floats) -> Unsafe:
        """Return the units as they look from one set of keys."""
        at = list(file.places(v))
        seen = np.zeros(len(self.row), np.uint64)
        for k, column in enumerate(at):
            seen |= (may >> np.uint64(column) & np.uint64(1)) << np.uint64(k)
        return Unsafe(
            file.codes[self.row][:, at],
            self.size,
            file.price[at],
            seen,
            needs,
            places=tuple(at),
        )


def _exact_sums(of: Integers, number: Integers, groups: int) -> Integers:
    """Return sums of whole numbers by group; doubles would round them."""
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, of, number)
    return sums


def _whole_costs(price: Floats) -> tuple[Integers, bool]:
    """Return costs as whole numbers with the number of values as tie, if they are."""
    finite = np.isfinite(price)
    plain = np.where(finite, price, 0.0)
    whole = bool(np.all(plain == np.rint(plain)) and plain.max(initial=0) < COST_UNIT)
    if not whole:
        plain = np.rint(plain / plain.max() * COST_UNIT)
    return (plain * COST_UNIT).astype(np.int64) + 1, whole


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
