"""Who matches whom while values are blanked and put back, one value at a time.

Units are records, or groups of records that stay alike. `Matching` keeps f and F of
the units that are watched, as whole numbers of small parts: so a change taken back
leaves no trace, and the order of the records does not matter.

A unit is safe if its risk is below its limit. The risk falls in f and F, so a table has
the least F for each f, and no risk is computed while values change.

The units that may match a unit are found in a list sorted by the keys, in which those
that differ in a key are skipped together. A key that may ever be blanked matches
anything there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riskcore.protection.suppression.matching_kernels import (
    Moves,
    State,
    change_unit,
    count_units,
    exchange_units,
    put_back_units,
    words,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
KeyMasks = NDArray[np.uint64]
Mask = NDArray[np.bool_]
Risk = Callable[[Floats, Floats], Floats]

# Parts of one record, as a power of two; f has fewer in a table.
_F_BITS = 20
_TABLE_BITS = 6
_MOST_IN_TABLE = 1 << 18
# The bits of the sum of all weights.
_WEIGHT_BITS = 60


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What an intruder who knows one set of keys sees."""

    columns: tuple[int, ...]  # positions of the keys
    limit: Floats  # the risk that each unit may not reach; nan if it is not watched
    risk: Risk  # of f and F; does not rise in either


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Weights as whole numbers of equal parts, so that sums of them are exact."""

    number: Integers  # rounded down: a sum is too small by less than a part a weight
    of_one: float  # the number of parts in one

    @classmethod
    def of(cls, weight: Floats) -> Parts:
        """Return the parts of weights, fine enough that their sum still fits."""
        bits = _WEIGHT_BITS - math.frexp(math.fsum(weight.tolist()))[1]
        of_one = 2.0**bits
        return cls(np.floor(weight * of_one).astype(np.int64), of_one)


class Matching:
    """f and F of the watched units, as values are blanked and put back.

    Parameters
    ----------
    codes : int32 ndarray, shape (U, C)
        The codes of each unit; -1 is missing.
    size : int64 ndarray, shape (U,)
        The records of each unit.
    parts : Parts
        The weight of each unit.
    views : sequence of View
    alpha : float
        What an incomplete record counts where it may match.
    blank_matches_complete : bool
        Whether records without any key count for complete ones, if there are several
        keys.
    blank : uint64 ndarray, shape (U,)
        The columns that are blanked now.
    most : uint64 ndarray, shape (U,)
        The columns that may ever be blanked.
    """

    def __init__(
        self,
        codes: NDArray[np.int32],
        size: Integers,
        parts: Parts,
        views: Sequence[View],
        alpha: float,
        blank_matches_complete: bool,
        blank: KeyMasks,
        most: KeyMasks,
    ) -> None:
        units = len(codes)
        self.blank = blank.copy()
        self.work = 0
        self._size, self._parts = size, parts
        self._table_bits = 0 if alpha in (0.0, 1.0) else _TABLE_BITS
        perhaps = np.floor(alpha * parts.number).astype(np.int64)
        of_one = int(alpha * (1 << _F_BITS))
        sure = (size << _F_BITS, parts.number)
        gives = np.stack([*sure, size * of_one, perhaps], axis=1)
        M = max(len(view.columns) for view in views)
        sets = len(views)
        code = np.full((sets, units, M), -1, np.int32)
        key = np.full((sets, units, M), -1, np.int32)
        after = np.empty((sets, units, M), np.int32)
        order = np.empty((sets, units), np.int32)
        bits = np.zeros((sets, M), np.uint64)
        self.limit = np.empty((sets, units), np.int32)
        shape = np.empty((sets, 4), np.int64)
        tables: list[Integers] = []
        for v, view in enumerate(views):
            m = len(view.columns)
            code[v, :, :m] = codes[:, view.columns]
            bits[v, :m] = np.uint64(1) << np.array(view.columns, np.uint64)
            open_ = (most[:, None] & bits[v, :m]) != 0
            shown = np.where(open_, -1, code[v, :, :m])
            ranked = _ranked(shown)
            code[v, :, :m] = code[v][:, ranked]
            bits[v, :m] = bits[v, ranked]
            shown = shown[:, ranked]
            order[v] = np.lexsort(shown.T[::-1])
            key[v, :, :m] = shown[order[v]]
            after[v] = _after(key[v])
            table, self.limit[v] = self._table_of(view)
            at = sum(each.size for each in tables)
            shape[v] = m, m > 1 and not blank_matches_complete, at, table.shape[1]
            tables.append(table)
        self.f, self.F = np.zeros((2, sets, units), np.int64)
        self._tally = np.zeros(2, np.int64)
        self._state = State(
            units,
            sets,
            M,
            _F_BITS - self._table_bits,
            code,
            key,
            after,
            order,
            bits,
            shape,
            gives,
            self.limit,
            np.concatenate([each.ravel() for each in tables]),
            self.blank,
            self.f,
            self.F,
            self._tally,
        )
        # The addresses of the arrays, which the state keeps alive.
        self.words = words(self._state)
        count_units(self.words)

    def _table_of(self, view: View) -> tuple[Integers, NDArray[np.int32]]:
        """Return the least F for each limit and f, and the limit of each unit."""
        watched = ~np.isnan(view.limit)
        levels, level = np.unique(view.limit[watched], return_inverse=True)
        where = np.full(len(view.limit), -1, np.int32)
        where[watched] = level
        if not len(levels):
            return np.zeros((1, 1), np.int64), where
        n = int(self._size.sum())
        step = 1 << self._table_bits
        largest = int(self._parts.number.sum())
        lowest = levels[0]
        # Beyond the first f that needs no weight, none is needed.
        most = _first(lambda f: view.risk(f, f) < lowest, n) * step
        most = min(most, _MOST_IN_TABLE)
        f = np.maximum(np.arange(most + 1), 1) / step
        table = np.empty((len(levels), most + 1), np.int64)
        for at, limit in enumerate(levels):
            low, high = np.zeros(most + 1, np.int64), np.full(most + 1, largest + 1)
            while np.any(low < high):
                middle = low + (high - low) // 2
                F = np.maximum(middle, 1) / self._parts.of_one
                safe = np.asarray(view.risk(f, F)) < limit
                safe |= middle > largest
                high = np.where(safe, middle, high)
                low = np.where(safe, low, np.minimum(middle + 1, high))
            table[at] = high
        return table, where

    @property
    def looked(self) -> int:
        """The pairs of units that the last search compared."""
        return int(self._tally[1])

    @property
    def safe(self) -> Mask:
        """Whether each unit is safe from each view, shape (V, U)."""
        state = self._state
        found = np.ones(self.f.shape, bool)
        for v in range(state.sets):
            at = self.limit[v] >= 0
            most = state.shape[v, 3] - 1
            f = np.minimum(self.f[v, at] >> state.shift, most)
            row = state.shape[v, 2] + self.limit[v, at] * (most + 1)
            found[v, at] = self.F[v, at] >= state.least[row + f]
        return found

    def put_back(self, moves: Moves) -> Mask:
        """Put back each move that leaves every unit safe; return a mask of these."""
        done = np.zeros(moves.number, np.uint8)
        self._tally[1] = 0
        put_back_units(self.words, words(moves), done)
        self.work += int(self._tally[1])
        return done.astype(bool)

    def exchange(
        self, moves: Moves, cost: Integers, done: Mask, most_work: int
    ) -> Mask:
        """Blank moves again if this lets more be put back; return what is put back."""
        of_unit = np.argsort(moves.unit, kind="stable")
        first = np.searchsorted(moves.unit[of_unit], np.arange(self._state.units + 1))
        now = done.astype(np.uint8)
        self._tally[1] = 0
        exchange_units(
            self.words,
            words(moves),
            most_work,
            now,
            cost,
            first.astype(np.int64),
            moves.of_part[of_unit],
            np.empty(moves.number + 1, np.int64),
            np.zeros(moves.number, np.uint8),
        )
        self.work += int(self._tally[1])
        return now.astype(bool)

    def change(self, moves: Moves, blanked: Mask) -> None:
        """Blank some moves and put back the other moves, even if units turn unsafe."""
        taken = blanked[moves.of_part].tolist()
        parts = zip(moves.unit.tolist(), moves.columns.tolist(), taken, strict=True)
        for u, mask, take in parts:
            now = int(self.blank[u])
            new = now | mask if take else now & ~mask
            if new != now:
                change_unit(self.words, u, np.uint64(new))


def _first(holds: Callable[[Floats], Mask], n: int) -> int:
    """Return the first whole f from 1 to n for which a condition holds, else n."""
    low, high = 1, n
    while low < high:
        middle = (low + high) // 2
        if holds(np.array([float(middle)]))[0]:
            high = middle
        else:
            low = middle + 1
    return high


def _ranked(codes: NDArray[np.int32]) -> list[int]:
    """Return the keys by their number of values that cannot be blanked, most first."""
    shown = (codes >= 0).mean(axis=0)
    values = codes.max(axis=0) + 1
    return sorted(range(codes.shape[1]), key=lambda k: (-shown[k] * values[k], k))


def _after(key: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return for each row and key the next row that differs in it or a key before."""
    units, M = key.shape
    differs = np.zeros((units + 1, M), bool)
    differs[units] = True
    differs[1:units] = key[1:] != key[:-1]
    np.logical_or.accumulate(differs, axis=1, out=differs)
    at = np.where(differs, np.arange(units + 1)[:, None], units)
    nearest = np.minimum.accumulate(at[::-1], axis=0)[::-1]
    return np.ascontiguousarray(nearest[1:], dtype=np.int32)
