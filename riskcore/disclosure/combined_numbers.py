"""Numbers that give hidden numbers back together: by a sum, or by a ratio."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.columns import CodedColumn
from riskcore.disclosure.chance import by_chance
from riskcore.disclosure.shared_columns import as_numbers

Floats = NDArray[np.float64]
Codes = NDArray[np.unsignedinteger[Any]]
Rows = NDArray[np.intp]

_SAMPLE = 20_000  # records by which a rule is learned and tried


def numbers_that_tell(
    columns: Mapping[Hashable, CodedColumn], hidden: Floats, sought: NDArray[np.bool_]
) -> tuple[tuple[Hashable, ...], int] | None:
    """Return columns that together tell hidden numbers, and how many they tell.

    ``hidden`` are the numbers before, NaN for missing; ``sought`` are those that the
    file hides. A linear function is fitted to the others, or to all if all are hidden,
    and then to their logarithms. On other records it must be right for at least half of
    those that the commonest number is not right for.
    """
    tables = {name: as_numbers(one.labels) for name, one in columns.items()}
    for scale in (np.positive, np.log):
        with np.errstate(divide="ignore", invalid="ignore"):
            x = {
                name: (np.append(scale(table), np.nan), columns[name].codes)
                for name, table in tables.items()
                if table is not None and len(table) > 1
            }
            y = scale(hidden)
        fit = _Fit(x, y, np.unique(y[np.isfinite(y)]))
        tried = np.flatnonzero(np.isfinite(y) & (~sought | sought.all()))
        tried = tried[:: len(tried) // _SAMPLE + 1]
        names = fit.of_most(tried)
        if not fit.tells(names, tried):
            continue
        for name in names:
            fewer = [one for one in names if one != name]
            names = fewer if fit.tells(fewer, tried) else names
        if len(names) > 1:
            rows = np.flatnonzero(np.isfinite(y) & sought)
            return tuple(names), int(fit.right(names, tried, rows).sum())
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """Linear functions of columns, fitted to numbers."""

    x: Mapping[Hashable, tuple[Floats, Codes]]  # the numbers of the codes, and these
    y: Floats
    values: Floats  # those that occur

    def of(self, names: Sequence[Hashable], rows: Rows) -> Floats:
        """Return the numbers of some columns at some records, after a column of 1."""
        tables = [self.x[name][0][self.x[name][1][rows]] for name in names]
        return np.column_stack([np.ones(len(rows)), *tables])

    def of_most(self, rows: Rows) -> list[Hashable]:
        """Return columns that half of the records have all, the fullest first."""
        has = {name: np.isfinite(self.of([name], rows)[:, 1]) for name in self.x}
        names: list[Hashable] = []
        whole = np.ones(len(rows), bool)
        for name in sorted(has, key=lambda name: -np.count_nonzero(has[name])):
            if 2 * np.count_nonzero(whole & has[name]) >= len(rows):
                whole &= has[name]
                names.append(name)
        return names

    def tells(self, names: Sequence[Hashable], rows: Rows) -> bool:
        """Return whether a fit to half of the records is right for the others."""
        if not names or len(rows) < 2:
            return False
        others = rows[1::2]
        right = np.count_nonzero(self.right(names, rows[::2], others))
        common = np.unique(self.y[others], return_counts=True)[1].max()
        enough = 2 * right >= common + len(others)
        return bool(enough and not by_chance(right, common, 2 * len(self.x)))

    def right(
        self, names: Sequence[Hashable], learned: Rows, rows: Rows
    ) -> NDArray[np.bool_]:
        """Return where the number nearest to a fit on other records is right."""
        known, asked = self.of(names, learned), self.of(names, rows)
        use = np.isfinite(known).all(axis=1)
        size = np.abs(known[use]).max(axis=0, initial=1.0)
        slopes = np.linalg.lstsq(known[use] / size, self.y[learned[use]], rcond=None)[0]
        middles = (self.values[1:] + self.values[:-1]) / 2
        nearest = np.searchsorted(middles, (asked / size) @ slopes)
        whole = np.isfinite(asked).all(axis=1)
        return whole & (self.values[nearest] == self.y[rows])
