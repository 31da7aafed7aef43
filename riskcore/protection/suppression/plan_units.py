"""The records of a file as plans of the whole file see them, and units of them.

Keys are in an order by content, unless their order decides; so are the units. Costs
are whole numbers, so that their sums are exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.result import Assessment
from riskcore.data.coded import CodedRecords
from riskcore.data.count import count
from riskcore.protection.settings import Settings
from riskcore.protection.suppression.matching import (
    Floats,
    Integers,
    KeyMasks,
    Matching,
    Parts,
    Risk,
    View,
)
from riskcore.protection.suppression.matching_kernels import Moves
from riskcore.protection.suppression.rounds import (
    Aim,
    Mask,
    Masks,
    by_name,
    margins_of,
    sets_in_order,
    tally,
)

# A cost of one in units; each value adds one unit, so ties go to the fewest values.
COST_BITS = 20
COST_UNIT = 1 << COST_BITS


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """Keys, limits and weights of all records; the keys in an order by content."""

    names: list[Hashable]
    codes: NDArray[np.int32]  # shape (n, C)
    parts: Parts
    weight: Floats
    price: Floats  # what blanking each value costs, shape (n, C)
    losses: list[Integers]  # what blanking each code of each key loses
    units: Integers  # the prices as whole numbers, for exact sums, shape (n, C)
    whole: bool  # whether all prices are whole numbers
    bundles: list[int]  # masks of keys that are blanked together
    shared: int  # the mask of the keys of households
    household: Integers | None
    assessments: Sequence[Assessment]
    aims: Sequence[Aim]
    # By set of keys: who is unsafe before, and the risk that each record may not reach;
    # nan for records that stay safe anyhow, and the same without nan.
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
        sets = sets_in_order(assessments, aims, costs, settings)
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
        prices, losses = by_name(names, assessments, costs)
        units, whole = _whole_costs(prices)
        unsafe = [aim.unsafe(one) for one, aim in zip(assessments, aims, strict=True)]
        limits = [aim.limit(one) for one, aim in zip(assessments, aims, strict=True)]
        # With alpha = 1 only the last blank of a record harms others.
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
            np.broadcast_to(prices, codes.shape),
            losses,
            np.broadcast_to(units, codes.shape),
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
        """Return the function of f and F that gives the risk by one set of keys."""
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
        """Return the masks of all columns; related columns follow a key."""
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

    def _blanked(self, packed: KeyMasks, prices: NDArray[Any]) -> Iterator[Any]:
        """Yield the prices of the values of each key that a plan blanks."""
        for k in range(len(self.names)):
            yield prices[packed & np.uint64(1 << k) != 0, k]

    def cost_of(self, packed: KeyMasks) -> int:
        """Return the cost of a plan as a whole number, to compare plans."""
        values = self._blanked(packed, self.units)
        return sum(count * cost for one in values for cost, count in tally(one))

    def plain_cost(self, packed: KeyMasks) -> float:
        """Return the cost of a plan."""
        values = self._blanked(packed, self.price)
        return float(sum(count * cost for one in values for cost, count in tally(one)))

    def watching(self, most: KeyMasks) -> File:
        """Return the file with all records watched, if blanks may harm safe ones.

        They may if a record that loses its last key counts no more for complete ones.
        """
        if self.alpha < 1 or self.blank_matches_complete:
            return self
        if not self.loses_all(most).any():
            return self
        return replace(self, limits=self.all_limits)

    def loses_all(self, plan: KeyMasks) -> Mask:
        """Return which records lose all their keys of a set of several keys."""
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
        """Return the keys that records may lose if they may lose all, else no keys.

        If it is, records with equal keys may lose the same, and are one unit.
        """
        bits = np.where(np.isfinite(self.price), 1 << np.arange(len(self.names)), 0)
        every = ((self.codes >= 0) * bits).sum(axis=1).astype(np.uint64)
        return every if np.array_equal(may, every) else np.zeros_like(may)


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Groups of records that stay alike, and single records, in an order by content."""

    of_row: Integers  # the unit of each record
    row: Integers  # a record of each unit
    size: Integers
    parts: Parts
    limits: list[Floats]  # by set of keys, the limit of each unit

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
            View(file.places(v), limit, file.risk_of(v))
            for v, limit in enumerate(self.limits)
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
        """Return the moves that put values back, the dearest first, and their costs."""
        parts = []
        for bundle in file.bundles:
            mask = blank & np.uint64(bundle)
            rows = np.flatnonzero(mask)
            together = rows
            if bundle & file.shared and file.household is not None:
                together = file.household[rows]
            value, loss = np.zeros((2, len(rows)), np.int64)
            for k in range(len(file.names)):
                has = (mask[rows] >> np.uint64(k) & np.uint64(1)).astype(np.int64)
                value += has * file.units[rows, k]
                loss += has * file.losses[k][file.codes[rows, k]]
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
        lost = _exact_sums(move, loss, number)
        bundle_of = np.zeros(number, np.int64)
        bundle_of[move] = which
        order = np.lexsort((bundle_of, first, -lost, -total))
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
        """Return the keys that each record loses."""
        return np.where(start != 0, blank[self.of_row], np.uint64(0))


def _exact_sums(group: Integers, number: Integers, groups: int) -> Integers:
    """Return sums of whole numbers by group; doubles would round them."""
    sums = np.zeros(groups, np.int64)
    np.add.at(sums, group, number)
    return sums


def _whole_costs(price: Floats) -> tuple[Integers, bool]:
    """Return costs in units, and whether the costs are whole numbers."""
    finite = np.isfinite(price)
    cost = np.where(finite, price, 0.0)
    whole = bool(np.all(cost == np.rint(cost)) and cost.max(initial=0) < COST_UNIT)
    if not whole:
        cost = np.rint(cost / cost.max() * COST_UNIT)
    return (cost * COST_UNIT).astype(np.int64) + 1, whole


def _bundles(names: Sequence[Hashable], settings: Settings) -> list[int]:
    """Return masks of keys that are related, directly or not."""
    bundles = [1 << k for k in range(len(names))]
    for key, others in settings.related.items():
        for other in others:
            if other in names:
                pair = 1 << names.index(key) | 1 << names.index(other)
                joined = [b for b in bundles if b & pair]
                bundles = [b for b in bundles if not b & pair]
                bundles.append(sum(joined))
    return bundles
