"""Cells that an engine holds, collected when they are asked for.

The engine sends the cells in batches, once. The totals of the file and the distribution
of the risk are computed as they pass; a model is fitted to cells that are drawn then.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.warn import warn
from riskcore.core.risk.anonymity import Below, count_below
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.data.cells import (
    Cells,
    Totals,
    categories_of,
    cells_of,
    key_values,
    overflow,
    refuse_missing,
    result_row,
)
from riskcore.data.coded import CodedRecords, code_series, doubtful_codes
from riskcore.data.columns import CodedColumn
from riskcore.data.engines.base import HASH, PRIME, Counted, changed_meanwhile
from riskcore.data.engines.counting import RECORDS, records_of
from riskcore.data.engines.sums import added
from riskcore.data.files.reading import DoubtfulCodes

Sizes = tuple[NDArray[np.int64], NDArray[np.int64]]
Risk = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]

# The attributes of cells that are collected.
_COLLECTED = (
    "categories", "codes", "sample_frequency", "population_frequency", "records",
    "weight_sum", "rows",
)  # fmt: skip
# From this many cells on, they are not collected without being asked for.
MANY_CELLS = 1 << 20
# Of more cells about so many are drawn, and records to fit probabilities.
DRAWN_CELLS, DRAWN_RECORDS = 1 << 16, 1 << 17
# The riskiest of more cells that are kept as they pass.
SHOWN = 10


class Drawn(NamedTuple):
    """Some cells of a file, each with the chance max(f/large, 1/small)."""

    cells: Cells
    large: int
    small: int


def are_many(cells: Cells) -> bool:
    """Return whether a model for the figures of a file is fitted to some cells."""
    return len(cells) > MANY_CELLS


def draw_of(n: int, cells: int) -> tuple[int, int]:
    """Return the chances of a draw, as large and small of max(f/large, 1/small)."""
    return -(-n // DRAWN_RECORDS), -(-cells // DRAWN_CELLS)


class HeldCells(Cells):
    """Cells on an engine, collected when a single cell is looked at."""

    __slots__ = ("_drawn", "_sizes", "_totals")

    _totals: Totals
    _sizes: Sizes  # the sample frequencies that occur, rising, and the cells of each
    _drawn: Drawn | None  # None if there are few cells, or the engine cannot draw

    def __init__(
        self,
        counted: Counted,
        missing: str,
        totals: Totals,
        sizes: Sizes,
        drawn: Drawn | None,
    ) -> None:
        attributes = {
            "keys": tuple(counted.question.keys),
            "weighted": counted.question.weight is not None,
            "missing": missing,
            "alpha": 1.0,
            "missing_values": counted.weighed.missing_keys,
            "intake": counted.engine.intake,
            "counted": counted,
            "windows": None,
            "record_weights": None,
            "_totals": totals,
            "_sizes": sizes,
            "_drawn": drawn,
        }
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        # Called for attributes that are not set.
        if name not in _COLLECTED:
            raise AttributeError(f"cells have no attribute {name!r}")
        coded = CodedRecords.of_counted(self.held)
        cells = cells_of(coded, self.keys, self.missing, self.alpha)
        for attribute in _COLLECTED:
            object.__setattr__(self, attribute, getattr(cells, attribute))
        return getattr(cells, name)

    def __reduce__(self) -> Any:
        """Return the parts of a copy or pickle, which asks the engine for the cells."""
        parts = self._totals, self._sizes, self._drawn
        return type(self), (self.held, self.missing, *parts)

    def __len__(self) -> int:
        """Return the number of cells, K."""
        return self.totals.cells

    @property
    def totals(self) -> Totals:
        """Figures of all cells together."""
        return self._totals

    @property
    def k_anonymity(self) -> int | float:
        """The smallest sample frequency: the file is k-anonymous up to this k."""
        return int(self._sizes[0][0])

    def below(self, k: int) -> Below:
        """Count the records and cells with a sample frequency below k."""
        f, cells = self._sizes
        return count_below(f, cells, f * cells, k)

    @property
    def held(self) -> Counted:
        """What the engine counts."""
        assert isinstance(self.counted, Counted)
        return self.counted

    @property
    def drawn(self) -> Drawn:
        """Some of the cells, to fit a model to."""
        if self._drawn is None:
            raise ValueError("the engine has no hash of several columns to draw cells")
        return self._drawn

    @property
    def collected(self) -> bool:
        """Whether the cells were collected."""
        try:
            object.__getattribute__(self, "codes")
        except AttributeError:
            return False
        return True


class Tally(NamedTuple):
    """What was found as the cells of an engine passed by, once."""

    cells: HeldCells
    distribution: RiskDistribution
    riskiest: list[dict[Hashable, Any]]  # of many cells those of largest risk


def tally(
    counted: Counted, missing: str, risk: Risk, warn_below: Callable[[Totals], None]
) -> Tally:
    """Return the cells of an engine, the distribution of their risk, the riskiest."""
    weighed = counted.weighed
    if missing == "refuse":
        refuse_missing(counted.question.keys, weighed.missing_keys, weighed.n)
    kind = np.int32 if weighed.n < 1 << 31 else np.int64
    uniques = below = records_below = 0
    risks: list[NDArray[np.float64]] = []
    records: list[NDArray[Any]] = []
    sizes: Sizes = (np.empty(0, np.int64), np.empty(0, np.int64))
    # The squares are for a model of drawn cells, which is an estimate anyhow.
    passing = counted.with_rough_squares()
    drawing, top = _Drawing(weighed.n), _Riskiest(counted, SHOWN)
    categories = _Categories(counted)
    for cells, (f, F) in passing.batches(hashed=True):
        if not np.isfinite(F).all():
            raise overflow(counted.question.weight)
        uniques += int(np.count_nonzero(f == 1))
        less = f > F
        below += int(np.count_nonzero(less))
        records_below += int(f[less].sum())
        risks.append(risk(f.astype(np.float64), F))
        records.append(f.astype(kind))
        sizes = with_sizes(sizes, f)
        drawing.add(cells)
        top.add(cells, risks[-1], f, F)
        categories.add(cells)
    categories.warn()
    totals = Totals(
        weighed.n, sum(map(len, records)), uniques, counted.passes[0].weight, below,
        records_below,
    )  # fmt: skip
    warn_below(totals)
    many = totals.cells > MANY_CELLS
    drawn = drawing.of(passing, missing) if many else None
    held = HeldCells(counted, missing, totals, sizes, drawn)
    distribution = RiskDistribution.of_own(_joined(risks), _joined(records))
    return Tally(held, distribution, top.rows() if many else [])


class _Drawing:
    """Draws cells as they pass, each with the chance max(f/large, 1/small)."""

    def __init__(self, n: int) -> None:
        self.n, self.passed = n, 0
        self._frames: list[Any] = []

    def add(self, cells: Any) -> None:
        """Draw from a frame of cells, with their hash if the engine has one."""
        self.passed += len(cells)
        if HASH in cells.columns:
            self._frames.append(self._chosen(cells))

    def _chosen(self, cells: Any) -> Any:
        import narwhals.stable.v2 as nw

        large, small = draw_of(self.n, self.passed)  # fewer, the more have passed
        share = nw.col(HASH) / PRIME
        return cells.filter((share * small < 1.0) | (share * large < nw.col(RECORDS)))

    def of(self, counted: Counted, missing: str) -> Drawn | None:
        """Return the cells that were drawn; None if the engine has no hash."""
        import narwhals.stable.v2 as nw

        if not self._frames:
            return None
        some = counted.of_some(self._chosen(nw.concat(self._frames)).drop(HASH))
        coded = CodedRecords.of_counted(some)
        cells = cells_of(coded, counted.question.keys, missing, 1.0)
        return Drawn(cells, *draw_of(self.n, self.passed))


def with_sizes(sizes: Sizes, f: NDArray[np.int64]) -> Sizes:
    """Return the sample frequencies that occur, their cells, and those of more f."""
    # Distinct f of n records add to n at most, so there are fewer than sqrt(2n).
    values, cells = np.unique(f, return_counts=True)
    both, place = np.unique(np.concatenate([sizes[0], values]), return_inverse=True)
    total = added(np.concatenate([sizes[1], cells]), place, len(both))
    return both.astype(np.int64), total


def riskiest(counted: Counted, risk: Risk, count: int) -> list[dict[Hashable, Any]]:
    """Return the cells of largest risk; the engine's batches are not kept."""
    top = _Riskiest(counted, count)
    for cells, (f, F) in counted.batches():
        top.add(cells, risk(f.astype(np.float64), F), f, F)
    return top.rows()


class _Riskiest:
    """Keeps the cells of largest risk as they pass."""

    def __init__(self, counted: Counted, count: int) -> None:
        self.counted, self.count = counted, count
        self._best: tuple[Any, ...] = ()  # risk, f, F, and a frame of the keys

    def add(self, cells: Any, risks: Any, f: Any, F: Any) -> None:
        """Look at a frame of cells and at their numbers."""
        import narwhals.stable.v2 as nw

        full = self._best and len(self._best[0]) == self.count
        chosen = np.flatnonzero(risks >= (self._best[0].min() if full else 0.0))
        if not len(chosen):
            return
        numbers = [column[chosen] for column in (risks, f, F)]
        frame = cells[chosen].select(*self.counted.question.key_columns)
        if self._best:
            frame = nw.concat([self._best[3], frame])
            pairs = zip(self._best, numbers, strict=False)
            numbers = [np.concatenate(pair) for pair in pairs]
        codes = [column.codes for column in _coded(self.counted, frame)]
        order = np.lexsort((*reversed(codes), -numbers[0]))[: self.count]
        self._best = (*(column[order] for column in numbers), frame[order])

    def rows(self) -> list[dict[Hashable, Any]]:
        """Return the cells, the largest risk first."""
        columns = _coded(self.counted, self._best[3])
        keys, labels = self.counted.question.keys, [*map(categories_of, columns)]
        codes, rows = [column.codes for column in columns], []
        for i, (r, f, F) in enumerate(zip(*self._best[:3], strict=True)):
            row = result_row(key_values(keys, labels, codes, i), f, F)
            rows.append({**row, "individual_risk": float(r)})
        return rows


def _coded(counted: Counted, cells: Any) -> list[CodedColumn]:
    """Return the keys in a frame of cells as codes."""
    columns = counted.keys_in(cells).items()
    return [code_series(key, values) for key, values in columns]


class _Categories:
    """Counts the records of each category of each key as cells pass."""

    def __init__(self, counted: Counted) -> None:
        self.counted = counted
        self._parts: list[list[Any]] = [[] for _ in counted.question.keys]
        self._rows, self._most = 0, MANY_CELLS

    def add(self, cells: Any) -> None:
        """Count the records of a frame of cells."""
        for name, parts in zip(
            self.counted.question.key_columns, self._parts, strict=True
        ):
            parts.append(_records_by(name, [cells]))
            self._rows += len(parts[-1])
        if self._rows > self._most:
            self._join()

    def _join(self) -> None:
        """Make one table of each key."""
        names = self.counted.question.key_columns
        joined = map(_records_by, names, self._parts)
        self._parts = [[table] for table in joined]
        self._rows = sum(len(parts[0]) for parts in self._parts)
        self._most = 2 * self._rows + MANY_CELLS

    def warn(self) -> None:
        """Warn of doubtful categories, as counting in memory does."""
        self._join()
        missing = self.counted.weighed.missing_keys
        keys = zip(self.counted.question.keys, missing, self._parts, strict=True)
        for key, lacking, (table,) in keys:
            values, records = table.get_column(table.columns[0]), records_of(table)
            if records[np.asarray(values.is_null().to_numpy(), bool)].sum() != lacking:
                raise changed_meanwhile()
            for line in doubtful_codes([code_series(key, values)], records):
                warn(line, DoubtfulCodes)


def _records_by(name: str, tables: list[Any]) -> Any:
    """Return the records of each value of a column."""
    import narwhals.stable.v2 as nw

    both = nw.concat([table.select(name, RECORDS) for table in tables])
    return both.group_by(name).agg(nw.col(RECORDS).sum())


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays as one, and free each of them once it is copied."""
    whole = np.empty(sum(map(len, parts)), parts[0].dtype)
    parts.reverse()
    start = 0
    while parts:
        part = parts.pop()
        whole[start : start + len(part)] = part
        start += len(part)
    return whole
