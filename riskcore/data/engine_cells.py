"""Cells that an engine holds, collected when they are asked for.

The engine sends the frequencies of the cells in batches, without their keys. The totals
of the file and the distribution of the risk are computed from these.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.warn import warn
from riskcore.core.risk.anonymity import Below, count_below
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.data.cells import (
    Cells,
    Totals,
    cells_of,
    overflow,
    refuse_missing,
    result_row,
)
from riskcore.data.coded import CodedRecords, code_series, doubtful_codes
from riskcore.data.columns import CodedColumn, plain_value
from riskcore.data.engines.base import Counted
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


class HeldCells(Cells):
    """Cells on an engine, collected when a single cell is looked at."""

    __slots__ = ("_sizes", "_totals")

    _totals: Totals
    _sizes: Sizes  # the sample frequencies that occur, rising, and the cells of each

    def __init__(
        self, counted: Counted, missing: str, totals: Totals, sizes: Sizes
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
        return type(self), (self.held, self.missing, self._totals, self._sizes)

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

    def drawn(self, large: int, small: int) -> Cells:
        """Return some cells: each with the chance max(f/large, 1/small)."""
        try:
            counted = self.held.drawn(large, small)
        except TypeError as error:  # a backend of ibis may lack a hash
            raise ValueError(str(error)) from None
        coded = CodedRecords.of_counted(counted)
        return cells_of(coded, self.keys, self.missing, self.alpha)

    @property
    def collected(self) -> bool:
        """Whether the cells were collected."""
        try:
            object.__getattribute__(self, "codes")
        except AttributeError:
            return False
        return True


def tally(
    counted: Counted, missing: str, risk: Risk, warn_below: Callable[[Totals], None]
) -> tuple[HeldCells, RiskDistribution]:
    """Return the cells of an engine, and the distribution of their risk."""
    weighed = counted.weighed
    if missing == "refuse":
        refuse_missing(counted.question.keys, weighed.missing_keys, weighed.n)
    _warn_of_codes(counted)
    kind = np.int32 if weighed.n < 1 << 31 else np.int64
    uniques = below = records_below = 0
    risks: list[NDArray[np.float64]] = []
    records: list[NDArray[Any]] = []
    sizes: Sizes = (np.empty(0, np.int64), np.empty(0, np.int64))
    for f, F in counted.numbers():
        if not np.isfinite(F).all():
            raise overflow(counted.question.weight)
        uniques += int(np.count_nonzero(f == 1))
        less = f > F
        below += int(np.count_nonzero(less))
        records_below += int(f[less].sum())
        risks.append(risk(f.astype(np.float64), F))
        records.append(f.astype(kind))
        sizes = with_sizes(sizes, f)
    totals = Totals(
        weighed.n, sum(map(len, records)), uniques, counted.passes[0].weight, below,
        records_below,
    )  # fmt: skip
    warn_below(totals)
    distribution = RiskDistribution.of_own(_joined(risks), _joined(records))
    return HeldCells(counted, missing, totals, sizes), distribution


def with_sizes(sizes: Sizes, f: NDArray[np.int64]) -> Sizes:
    """Return the sample frequencies that occur, their cells, and those of more f."""
    # Distinct f of n records add to n at most, so there are fewer than sqrt(2n).
    values, cells = np.unique(f, return_counts=True)
    both, place = np.unique(np.concatenate([sizes[0], values]), return_inverse=True)
    total = np.zeros(len(both), np.int64)
    np.add.at(total, place, np.concatenate([sizes[1], cells]))
    return both.astype(np.int64), total


def riskiest(counted: Counted, risk: Risk, count: int) -> list[dict[Hashable, Any]]:
    """Return the cells of largest risk; the engine's batches are not kept."""
    import narwhals.stable.v2 as nw

    names = counted.question.keys
    best: Any = None
    for cells, (f, F) in counted.batches():
        risks = risk(f.astype(np.float64), F)
        least = 0.0 if best is None or len(best[0]) < count else best[0].min()
        chosen = np.flatnonzero(risks >= least)
        if not len(chosen):
            continue
        numbers = [column[chosen] for column in (risks, f, F)]
        frame = cells[chosen].select(*counted.question.key_columns)
        if best is not None:
            frame = nw.concat([best[3], frame])
            numbers = [
                np.concatenate(pair) for pair in zip(best[:3], numbers, strict=True)
            ]
        columns = _coded(counted, frame)
        codes = [column.codes for column in columns]
        order = np.lexsort((*reversed(codes), -numbers[0]))[:count]
        best = [column[order] for column in numbers] + [frame[order]]
    rows = []
    columns = _coded(counted, best[3])
    for i, (r, f, F) in enumerate(zip(*best[:3], strict=True)):
        values = [
            None if c.codes[i] == len(c.labels) else plain_value(c.labels[c.codes[i]])
            for c in columns
        ]
        row = result_row(names, values, f, F)
        rows.append({**row, "individual_risk": float(r)})
    return rows


def _coded(counted: Counted, cells: Any) -> list[CodedColumn]:
    """Return the keys in a frame of cells as codes."""
    columns = counted.keys_in(cells).items()
    return [code_series(key, values) for key, values in columns]


def _warn_of_codes(counted: Counted) -> None:
    """Warn of doubtful categories, as counting in memory does."""
    for key in counted.question.keys:
        values, records = counted.labels(key)
        for line in doubtful_codes([code_series(key, values)], records):
            warn(line, DoubtfulCodes)


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
