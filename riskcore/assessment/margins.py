"""Who fits a released record: combinations of the keys that it keeps.

A released record keeps some of its keys. A blank stands for any value, whether the
value was missing or suppressed, for nobody can tell which. The original records that
agree with it in the keys it keeps *fit* it: they share a combination of the margin, the
table of the original over the kept keys. How many fit depends on the original and on
these keys alone, not on what other records lose, and only grows when more keys are
blanked. Sets of keys are bit masks: bit i is key i.

An original record without a value of a kept key may fit. Where missing keys match any
value it counts by the chance that it fits: the share, among the records with all keys
that agree with it in the keys it has, of those that fit. As a wildcard, which fits
everybody, it would make every record look safer than it is. Where missing is a
category, such a record has another value, and does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.margin_goals import MarginGoal
from riskcore.data.cells import Cells
from riskcore.data.count import count

Floats = NDArray[np.float64]
Positions = NDArray[np.integer[Any]]
KeyMasks = NDArray[np.uint64]


class Fits(NamedTuple):
    """The original records that fit some combinations of kept keys."""

    whole: NDArray[np.int64]  # with all the kept keys: what counts for k
    f: NDArray[Any]  # also by chance, without some of these keys
    F: Floats  # the sum of their weights

    def at(self, some: Any) -> Fits:
        """Return the numbers of some combinations."""
        return Fits(self.whole[some], self.f[some], self.F[some])


class Margins:
    """The risks of the combinations that remain when keys are blanked.

    A margin is counted when it is asked for, and not kept. ``risk`` takes f and F, must
    not rise when they grow, and returns no nan; F may be below f. With ``by_keys`` it
    also takes the codes of each key, None for a blanked one. Where fewer than ``k``
    whole records fit, or one of the goals fails, the risk is infinite.
    """

    def __init__(
        self,
        cells: Cells,
        risk: Callable[..., Floats],
        by_keys: bool = False,
        k: int | None = None,
        goals: Sequence[MarginGoal] = (),
    ) -> None:
        self.cells = cells
        self.all_keys = (1 << len(cells.keys)) - 1
        self._risk, self._by_keys, self._k, self._goals = risk, by_keys, k, goals
        self._missing_codes = [
            len(labels) - 1 if labels[-1] is None else None
            for labels in cells.categories
        ]

    def risk(self, kept: int, cells: Positions) -> Floats:
        """Return the risks of cells by the keys that are kept."""
        risk = np.empty(len(cells))
        for keys, at in self._each(kept, cells):
            risk[at] = self._risk_of(keys, cells[at])
        return risk

    def fits(self, kept: int, cells: Positions) -> Fits:
        """Return who fits cells by the keys that are kept."""
        whole, f, F = np.zeros(len(cells), np.int64), *np.zeros((2, len(cells)))
        for keys, at in self._each(kept, cells):
            margin_fits, combination = self._margin(keys)
            whole[at], f[at], F[at] = margin_fits.at(combination[cells[at]])
        return Fits(whole, f if self.cells.shared else whole, F)

    def measured(self, goal: MarginGoal, kept: int, cells: Positions) -> Floats:
        """Return the figures of a goal for cells by the keys that are kept."""
        figures = np.empty(len(cells))
        for keys, at in self._each(kept, cells):
            margin_fits, combination = self._margin(keys)
            figures[at] = goal.measured(combination, margin_fits.F)[
                combination[cells[at]]
            ]
        return figures

    def present(self, cells: Positions) -> KeyMasks:
        """Return for each cell the mask of the keys that are not missing."""
        present = np.full(len(cells), self.all_keys, np.uint64)
        for i, missing in enumerate(self._missing_codes):
            if missing is not None:
                absent = self.cells.codes[i][cells] == missing
                present[absent] &= np.uint64(self.all_keys ^ 1 << i)
        return present

    def _each(self, kept: int, cells: Positions) -> Iterator[tuple[int, Any]]:
        """Yield the keys that cells have and keep, and the positions of the cells."""
        if not any(self.cells.missing_values):
            yield kept, slice(None)
            return
        has = self.present(cells) & np.uint64(kept)
        for keys in np.unique(has).tolist():
            yield keys, np.flatnonzero(has == keys)

    def _risk_of(self, kept: int, cells: Positions) -> Floats:
        """Return the risks of cells that have all the kept keys."""
        fits, combination = self._margin(kept)
        at = combination[cells]
        asked = np.zeros(len(fits.f), bool)
        asked[at] = True
        failed = np.zeros(len(asked), bool)
        for goal in self._goals:
            failed |= goal.fails(goal.measured(combination, fits.F))
        fits, risk = fits.at(asked), np.empty(len(asked))
        more = []
        if self._by_keys:
            cell = np.empty(len(asked), np.intp)
            cell[at] = cells  # any cell of the combination
            of, codes = cell[asked], enumerate(self.cells.codes)
            more = [[column[of] if kept >> i & 1 else None for i, column in codes]]
        risks = self._risk(fits.f.astype(np.float64), fits.F, *more)
        undefined = np.count_nonzero(np.isnan(risks))
        if undefined:
            names = [key for i, key in enumerate(self.cells.keys) if kept >> i & 1]
            raise ValueError(f"keys {names}: {undefined} combinations have risk nan")
        if self._k is not None:
            risks = np.where(fits.whole < self._k, np.inf, risks)
        risk[asked] = np.where(failed[asked], np.inf, risks)
        return risk[at]

    def _margin(self, kept: int) -> tuple[Fits, Positions]:
        """Return who fits each combination, and the combination of each cell."""
        cells = self.cells
        if kept == self.all_keys and not any(cells.missing_values):
            f, F = cells.records, cells.weight_sum
            return Fits(f, f, F), np.arange(len(cells))
        if kept == 0:
            total = np.array([math.fsum(cells.weight_sum)])
            everybody = np.array([cells.records.sum()])
            return Fits(everybody, everybody, total), np.zeros(len(cells), np.intp)
        keys = [i for i in range(len(cells.keys)) if kept >> i & 1]
        weights = cells.weight_sum
        if cells.shared:
            gained, gained_weights = self._gained(kept)
            weights = weights + gained_weights
        codes = [cells.codes[i] for i in keys]
        margin = count(codes, [len(cells.categories[i]) for i in keys], weights)
        # Whole numbers below 2**53: the sums are exact.
        whole = np.bincount(margin.inverse, cells.records).astype(np.int64)
        f = whole + np.bincount(margin.inverse, gained) if cells.shared else whole
        return Fits(whole, f, margin.weight_sum), margin.inverse

    def _gained(self, kept: int) -> Any:
        """Return what records that lack a kept key add to f and F of each cell."""
        gained = np.zeros((2, len(self.cells)))
        for lacks, cells, adds in self._chances:
            if lacks & kept:
                gained[:, cells] += adds
        return gained

    @cached_property
    def _chances(self) -> list[tuple[int, Positions, Floats]]:
        """The keys that records lack, and what such records add to complete cells."""
        # The chances of a record are those by all the keys that it has, whatever others
        # keep: so f never falls when a key is blanked.
        cells = self.cells
        chances: list[tuple[int, Positions, Floats]] = []
        has = self.present(np.arange(len(cells)))
        complete = np.flatnonzero(has == self.all_keys)
        for kind in np.unique(has[has < self.all_keys]).tolist():
            some = np.flatnonzero(has == kind)
            both = np.concatenate([complete, some])
            keys = (i for i in range(len(cells.keys)) if kind >> i & 1)
            codes = [np.asarray(cells.codes[i])[both] for i in keys]
            group = np.zeros(len(both), np.int32)
            if kind:
                group = count(codes, [int(code.max()) + 1 for code in codes]).inverse
            of, lacking = group[: len(complete)], group[len(complete) :]
            size = int(group.max()) + 1
            records = cells.records[complete]
            hit = np.flatnonzero(np.bincount(lacking, minlength=size)[of])
            of, records = of[hit], records[hit]
            share = records / np.bincount(of, records, size)[of]
            adds = [
                share * np.bincount(lacking, own[some], size)[of]
                for own in (cells.records, cells.weight_sum)
            ]
            chances.append((self.all_keys ^ kind, complete[hit], np.array(adds)))
        return chances
