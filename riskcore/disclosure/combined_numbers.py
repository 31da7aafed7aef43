"""Numbers that give hidden numbers back together: by a sum, or by a ratio."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Floats, Mask
from riskcore.data.columns import CodedColumn
from riskcore.disclosure.leaks import by_chance
from riskcore.disclosure.shared_columns import as_numbers

_SAMPLE = 20_000  # records by which a rule is learned and tried


def numbers_that_tell(
    columns: Mapping[Hashable, CodedColumn], hidden: CodedColumn, sought: Mask
) -> tuple[tuple[Hashable, ...], int] | None:
    """Return columns that together tell hidden numbers, and how many they tell."""
    tables: dict[Hashable, Floats] = {}
    for name, column in columns.items():
        numbers = None if name == hidden.name else as_numbers(column.labels)
        if numbers is not None:
            tables[name] = np.append(numbers, np.nan)
    y = as_numbers(hidden.labels)
    if y is None or not tables:
        return None
    values, place = np.unique(np.append(y, np.nan), return_inverse=True)
    codes = place.reshape(-1)[hidden.codes]
    for scale in (np.positive, np.log):
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = scale(values[:-1])
            first = len(scaled) - np.count_nonzero(np.isfinite(scaled))
            mask = (codes >= first) & (codes < len(scaled))
            learned = np.flatnonzero(mask & (~sought | sought.all()))
            learned = learned[:: len(learned) // _SAMPLE + 1]
            rows = np.concatenate([learned, np.flatnonzero(mask & sought)])
            predictors = [scale(tables[x])[columns[x].codes[rows]] for x in tables]
        x = np.column_stack(predictors)
        fit = _Fit(x, scaled[first:], codes[rows] - first, len(learned))
        if len(use := fit.least()) > 1:
            told = fit.right(use, slice(len(learned)), slice(len(learned), None))
            names = [*tables]
            return tuple(names[i] for i in use), int(np.count_nonzero(told))
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """Linear functions of columns, fitted to the numbers of records."""

    x: Floats  # shape (rows, columns)
    values: Floats  # the numbers, sorted
    codes: NDArray[Any]  # which of them each record has
    tried: int  # rows that functions are learned from

    def least(self) -> list[int]:
        """Return as few columns as tell, of those that half of the records have all."""
        has = np.isfinite(self.x[: self.tried])
        whole, use = np.ones(self.tried, bool), []
        for i in np.argsort(-has.sum(axis=0), kind="stable").tolist():
            if 2 * np.count_nonzero(whole & has[:, i]) >= self.tried:
                whole &= has[:, i]
                use.append(i)
        if not self.tell(use):
            return []
        for i in list(use):
            fewer = [column for column in use if column != i]
            use = fewer if self.tell(fewer) else use
        return use

    def tell(self, use: list[int]) -> bool:
        """Return whether a function of half of the records is right for the others."""
        others = slice(1, self.tried, 2)
        right = int(self.right(use, slice(0, self.tried, 2), others).sum())
        codes = self.codes[others]
        common = int(np.bincount(codes).max(initial=0))
        return 2 * right > common + len(codes) and not by_chance(
            right, common, 2 * self.x.shape[1]
        )

    def right(self, use: list[int], learned: slice, rows: slice) -> Mask:
        """Return where the number nearest to a function of other records is right."""
        whole: Mask = np.logical_and.reduce(np.isfinite(self.x[:, use]), axis=1)
        x = np.column_stack([np.ones(len(whole)), self.x[:, use]])
        x /= np.abs(x[whole]).max(axis=0, initial=1.0)
        at, y = whole[learned], self.values[self.codes[learned]]
        slopes = np.linalg.lstsq(x[learned][at], y[at], rcond=None)[0]
        middles = (self.values[1:] + self.values[:-1]) / 2
        with np.errstate(invalid="ignore"):  # of infinite logarithms
            nearest = np.searchsorted(middles, x[rows] @ slopes)
        hits: Mask = whole[rows] & (nearest == self.codes[rows])
        return hits
