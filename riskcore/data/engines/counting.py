"""Questions to an engine: one row about the weights, then one row for each cell.

They are expressions of narwhals on a lazy frame, which the engine evaluates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riskcore.data.engines.sums import Squares, WholeSums

# Squares of larger weights, or their sum, may not be doubles.
LARGEST_SQUARED = 1e140
RECORDS = "riskcore_records"  # the number of records in a table of cells


def key_column(i: int) -> str:
    """Return the name of key ``i`` in a table of cells."""
    return f"riskcore_key_{i}"


def sum_column(i: int) -> str:
    """Return the name of the sum of piece ``i`` of the weights."""
    return f"riskcore_sum_{i}"


# The number of records and the sum of the weights of some cells.
Numbers: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]
# Where positive weights lie, in hundredths of a decade, and how many lie there.
Decades: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Weights:
    """Facts about the weights that are needed before they are added."""

    n: int  # records
    # How many weights are missing, infinite, negative, 0; above 0 not whole, not a
    # multiple of 100, below 1.
    missing: int = 0
    infinite: int = 0
    negative: int = 0
    zero: int = 0
    broken: int = 0
    uneven: int = 0
    below_one: int = 0
    # The least negative weight, the smallest above 0, the largest, and the sum of those
    # above 0, about; nan without any.
    least: float = np.nan
    low: float = np.nan
    high: float = np.nan
    total: float = np.nan
    squares: float = np.nan  # the sum of their squares; nan if it is not known
    missing_keys: tuple[int, ...] = ()  # how many records lack each key asked for
    decades: Decades | None = field(default=None, compare=False)  # of an engine

    @classmethod
    def of(cls, w: NDArray[np.float64]) -> Weights:
        """Return the facts about weights in memory."""
        clean = w.min() > 0 and w.max() < np.inf  # not so if one is nan
        positive = w if clean else w[(w > 0) & (w < np.inf)]
        with np.errstate(over="ignore"):  # refused where weights are added
            total = float(positive.sum())
        those = {
            "missing": np.isnan(w),
            "infinite": np.isinf(w),
            "negative": (negative := (w < 0) & (w > -np.inf)),
            "zero": w == 0,
            "broken": (broken := np.floor(positive) != positive),
            "uneven": broken if broken.any() else np.fmod(positive, 100.0) != 0,
            "below_one": positive < 1,
        }
        facts: dict[str, Any] = {x: int(np.count_nonzero(y)) for x, y in those.items()}
        low, high = positive.min(initial=np.inf), positive.max(initial=0.0)
        least = float(w[negative].min(initial=0.0))
        return cls(
            len(w), **facts, least=least, low=float(low), high=float(high), total=total
        )

    @property
    def faults(self) -> dict[str, int]:
        """How many weights have each fault, by its name in messages."""
        return {
            "missing": self.missing,
            "infinite": self.infinite,
            "negative": self.negative,
        }

    @property
    def whole_sums(self) -> WholeSums | None:
        """How the weights are cut into whole numbers; None if that is too dear."""
        return WholeSums.of(self.n, self.low, self.high, whole=not self.broken)


_COUNTS = (
    "n", "missing", "infinite", "negative", "zero", "broken", "uneven", "below_one"
)  # fmt: skip


def decades_of(w: NDArray[np.float64]) -> Decades:
    """Return where the positive weights of records in memory lie."""
    at = np.floor(100 * np.log10(w[w > 0])).astype(np.int32)
    first = at.min()
    records = np.bincount(at - first)
    there = np.flatnonzero(records)
    return (there + first) / 100, records[there]


@dataclass(frozen=True, slots=True)
class Question:
    """What is counted: keys, weight, and how weights are added."""

    keys: Sequence[Hashable]
    weight: Hashable | None = None
    sums: WholeSums | None = None  # how weights are cut; None to add them as doubles
    squares: Squares | None = None  # how their squares are cut; None not to add them
    scale: float | None = None  # what weights are multiplied by

    @property
    def columns(self) -> list[Hashable]:
        """Names of the keys, followed by the name of the weight."""
        return [*self.keys, *([] if self.weight is None else [self.weight])]

    @property
    def sum_columns(self) -> list[str]:
        """Names of the sums of weights in a table of cells."""
        if self.weight is None:
            return []
        pieces = 1 if self.sums is None else self.sums.pieces
        return [sum_column(i) for i in range(pieces)]

    @property
    def square_columns(self) -> list[str]:
        """Names of the sums of squares of weights in a table of cells."""
        pieces = 0 if self.squares is None else self.squares.whole.pieces
        return [f"riskcore_square_{i}" for i in range(pieces)]

    def squares_in(self, cells: Any) -> Squares | None:
        """Return the squares of the weights of cells; None if they are not added."""
        parts = [_numbers(cells, name, np.int64) for name in self.square_columns]
        return self.squares and replace(self.squares, parts=parts)

    @property
    def key_columns(self) -> list[str]:
        """Names of the keys in a table of cells."""
        return [key_column(i) for i in range(len(self.keys))]


def weigh(
    frame: Any, question: Question, collect: Callable[[Any], Iterator[Any]]
) -> Weights:
    """Return the facts about the weights and keys of a lazy narwhals frame."""
    import narwhals.stable.v2 as nw

    def number(condition: Any) -> Any:
        # duckdb adds integers to sums of 128 bits, which need not come as numbers.
        return condition.cast(nw.Int64).sum().cast(nw.Int64)

    keys = question.keys
    wanted = {"n": nw.len().cast(nw.Int64)}
    columns = _keys_of(frame, keys)
    if question.weight is not None:
        columns.append(_double(question).alias("w"))
        w, nan = nw.col("w"), _is_nan(frame, nw.col("w"))
        finite = w.is_finite() & ~nan
        above = finite & (w > 0)
        # Larger doubles are whole, and too large for SQL to round down.
        small = nw.when(above & (w < 2.0**53)).then(w).otherwise(1.0)
        hundreds = nw.when(above & (w < 2.0**53)).then(w).otherwise(100.0)
        positive = nw.when(above).then(w)
        wanted |= {
            "missing": number(w.is_null() | nan),
            "infinite": number(~finite & ~nan),
            "negative": number((w < 0) & finite),
            "zero": number(w == 0),
            "broken": number(small.floor() != small),
            "uneven": number((hundreds / 100).floor() * 100 != hundreds),
            "below_one": number((w > 0) & (w < 1)),
            "least": nw.when((w < 0) & finite).then(w).min(),
            "low": positive.min(),
            "high": positive.max(),
            "total": positive.sum(),
        }
    for i in range(len(keys)):
        wanted[f"missing_{i}"] = number(nw.col(key_column(i)).is_null())
    asked = frame.select(*columns) if columns else frame
    if question.weight is None:
        asked = asked.select(**wanted)
    else:  # in the same pass, by the place of the weight
        place = (positive.log(10) * 100).floor()
        asked = asked.with_columns(at=place).group_by("at").agg(**wanted)
    rows = [row for part in collect(asked) for row in part.rows(named=True)]
    return _added(rows, len(keys))


def _added(rows: list[dict[str, Any]], keys: int) -> Weights:
    """Return the facts about all records from those about the weights of each place."""

    def values(name: str) -> list[Any]:
        return [row[name] for row in rows if row.get(name) is not None]

    facts: dict[str, Any] = {name: int(sum(values(name))) for name in _COUNTS}
    of: dict[str, Callable[[list[Any]], float]]
    of = {"least": min, "low": min, "high": max, "total": math.fsum}
    for name, combined in of.items():
        facts[name] = float(combined(values(name))) if values(name) else np.nan
    missing = tuple(int(sum(values(f"missing_{i}"))) for i in range(keys))
    places = sorted((x["at"], x["n"]) for x in rows if x.get("at") is not None)
    at, records = np.array(places or np.empty((0, 2))).T
    decades = at / 100, records.astype(np.int64)
    return Weights(**facts, missing_keys=missing, decades=decades)


def count_cells(frame: Any, question: Question) -> Any:
    """Return, lazily, the keys, the records and the weight sums of a frame's cells."""
    import narwhals.stable.v2 as nw

    selected = _keys_of(frame, question.keys)
    if question.weight is not None:
        selected.append(_double(question).alias("riskcore_weight"))
    rows = frame.select(*selected)
    # Where the squares are not read, engines do not add them.
    columns = [*question.sum_columns, *question.square_columns]
    if question.weight is not None:
        w = nw.col("riskcore_weight")
        pieces = [w]
        if question.sums is not None:
            pieces = [piece.cast(nw.Int64) for piece in question.sums.cut(w)]
        if question.squares is not None:
            pieces += [piece.cast(nw.Int64) for piece in question.squares.cut(w)]
        named = zip(pieces, columns, strict=True)
        rows = rows.with_columns(*(piece.alias(name) for piece, name in named))
    whole = [RECORDS] if question.sums is None else [RECORDS, *columns]
    return (
        rows.group_by(*question.key_columns)
        .agg(nw.len().alias(RECORDS), *(nw.col(name).sum() for name in columns))
        # polars counts in 32 bits, and duckdb adds integers to sums of 128.
        .with_columns(nw.col(*whole).cast(nw.Int64))
    )


def _keys_of(frame: Any, keys: Sequence[Hashable]) -> list[Any]:
    """Return the keys as expressions: renamed, NaN as missing, -0.0 as 0.0."""
    import narwhals.stable.v2 as nw

    schema = frame.collect_schema()
    expressions = []
    name: Any
    for i, name in enumerate(keys):
        column = nw.col(name)
        if schema[name].is_float():
            nan = _is_nan(frame, column)
            column = nw.when(~nan).then(column + 0.0).cast(schema[name])
        expressions.append(column.alias(key_column(i)))
    return expressions


def _is_nan(frame: Any, column: Any) -> Any:
    """Return whether floats are NaN.

    duckdb's isnan believes the statistics of a Parquet file, which leave out NaN. What
    exp returns has no statistics.
    """
    of = frame.implementation
    return (column.exp() if of.is_duckdb() or of.is_ibis() else column).is_nan()


def _numbers(cells: Any, name: str, kind: type[np.generic]) -> NDArray[Any]:
    """Return a column of a table of cells."""
    column = np.ascontiguousarray(cells.get_column(name).to_numpy())
    return column.astype(kind, copy=False)


def records_of(cells: Any) -> NDArray[np.int64]:
    """Return the number of records of each cell."""
    return _numbers(cells, RECORDS, np.int64)


def frequencies(cells: Any, question: Question) -> Numbers:
    """Return the number of records and the sum of the weights of each cell."""
    records = records_of(cells)
    if question.weight is None:
        return records, records.astype(np.float64)
    if question.sums is None:
        return records, _numbers(cells, sum_column(0), np.float64)
    sums = [_numbers(cells, name, np.int64) for name in question.sum_columns]
    return records, question.sums.join(sums)


def doubles(series: Any) -> NDArray[np.float64]:
    """Return a narwhals series of numbers as the nearest doubles, nan for null."""
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype.is_integer():
        # Not by a cast: Arrow refuses integers from 2**53 on, which are rounded here.
        missing = np.asarray(series.is_null().to_numpy(), bool)
        whole = np.asarray(series.fill_null(1).to_numpy())
        return np.where(missing, np.nan, whole.astype(np.float64))
    if dtype.is_decimal() and not series.implementation.is_polars():
        # By text: Arrow's own cast turns 9.7 into 9.700000000000001.
        texts = series.to_arrow().cast("string")
        values = texts.cast("double").to_numpy(zero_copy_only=False)
        return np.asarray(values, np.float64)
    return np.asarray(series.cast(nw.Float64).to_numpy(), np.float64)


def _double(question: Question) -> Any:
    import narwhals.stable.v2 as nw

    name: Any = question.weight
    # A product: polars divides by a number as if it took its rounded inverse times.
    return nw.col(name).cast(nw.Float64) * (question.scale or 1.0)
