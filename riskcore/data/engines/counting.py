"""What is asked of an engine: one row on the weights, then one row for each cell.

The same expressions of narwhals serve a whole lazy frame, which the engine evaluates,
and a piece of one that is in memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.engines.sums import WholeSums

# SQL ignores case, and its users have columns of any name: ours are put in their place.
RECORDS = "riskcore_records"


def key_column(i: int) -> str:
    """Return the name of key ``i`` in a table of cells."""
    return f"riskcore_key_{i}"


def sum_column(i: int) -> str:
    """Return the name of the sum of piece ``i`` of the weights."""
    return f"riskcore_sum_{i}"


@dataclass(frozen=True, slots=True)
class Weighed:
    """What is to be known of the weights before they are added.

    Attributes
    ----------
    n : int
        Number of records.
    missing, infinite, not_positive, broken : int
        How many weights are missing, infinite, zero or negative; no whole numbers.
    low, high : float
        The smallest and the largest, if none is missing; nan otherwise.
    missing_keys : tuple of int
        How many records lack which key, of those asked for.
    """

    n: int
    missing: int = 0
    infinite: int = 0
    not_positive: int = 0
    broken: int = 0
    low: float = np.nan
    high: float = np.nan
    missing_keys: tuple[int, ...] = ()

    @classmethod
    def joined(cls, parts: Iterable[Weighed]) -> Weighed:
        """Return what is known of all parts together."""
        parts = [part for part in parts if part.n] or [cls(0)]
        return cls(
            n=sum(part.n for part in parts),
            missing=sum(part.missing for part in parts),
            infinite=sum(part.infinite for part in parts),
            not_positive=sum(part.not_positive for part in parts),
            broken=sum(part.broken for part in parts),
            low=min(part.low for part in parts),
            high=max(part.high for part in parts),
            missing_keys=tuple(
                map(sum, zip(*(part.missing_keys for part in parts), strict=True))
            ),
        )

    @property
    def faults(self) -> dict[str, int]:
        """How many weights have which fault, as messages call it."""
        return {
            "missing": self.missing,
            "infinite": self.infinite,
            "zero or negative": self.not_positive,
        }


@dataclass(frozen=True, slots=True)
class Question:
    """What is counted: keys, weight, and how weights are added.

    Attributes
    ----------
    keys : sequence of hashable
        Names of the key variables.
    weight : hashable or None
        Name of the column of weights.
    sums : WholeSums or None
        How weights are cut; None if they are added as doubles.
    """

    keys: Sequence[Hashable]
    weight: Hashable | None = None
    sums: WholeSums | None = None

    @property
    def columns(self) -> list[Hashable]:
        """Names of the columns that are needed."""
        return [*self.keys, *([] if self.weight is None else [self.weight])]

    @property
    def sum_columns(self) -> list[str]:
        """Names of the columns of sums."""
        if self.weight is None:
            return []
        return [
            sum_column(i) for i in range(1 if self.sums is None else self.sums.pieces)
        ]

    @property
    def key_columns(self) -> list[str]:
        """Names of the keys in a table of cells."""
        return [key_column(i) for i in range(len(self.keys))]


def weigh(
    frame: Any, weight: Hashable | None, keys: Sequence[Hashable] = ()
) -> Weighed:
    """Return what is to be known of the weights and keys of a narwhals frame."""
    import narwhals.stable.v2 as nw

    def number(condition: Any) -> Any:
        # duckdb adds integers to some of 128 bits, which need not come as numbers.
        return condition.cast(nw.Int64).sum().cast(nw.Int64)

    wanted = {"n": nw.len()}
    columns = keys_of(frame, keys)
    if weight is not None:
        columns.append(_double(weight).alias("w"))
        w = nw.col("w")
        # Larger doubles are whole, and more than SQL rounds down.
        small = nw.when((w > 0) & (w < 2.0**53)).then(w).otherwise(1.0)
        wanted |= {
            "missing": number(w.is_null() | w.is_nan()),
            "infinite": number(~w.is_finite() & ~w.is_nan()),
            "not_positive": number((w <= 0) & w.is_finite()),
            "broken": number(small.floor() != small),
            "low": w.min(),
            "high": w.max(),
        }
    for i in range(len(keys)):
        wanted[f"missing_{i}"] = number(nw.col(key_column(i)).is_null())
    asked = (frame.select(*columns) if columns else frame).select(**wanted)
    if isinstance(asked, nw.LazyFrame):
        asked = asked.collect()
    (row,) = asked.rows(named=True)
    counts = ("n", "missing", "infinite", "not_positive", "broken")
    found: dict[str, Any] = {name: int(row.get(name) or 0) for name in counts}
    for name in ("low", "high"):
        value = row.get(name)
        found[name] = np.nan if value is None else float(value)
    missing = tuple(int(row[f"missing_{i}"] or 0) for i in range(len(keys)))
    return Weighed(**found, missing_keys=missing)


def count_cells(frame: Any, question: Question) -> Any:
    """Return the cells of a narwhals frame, lazy or not: a row for each.

    Columns are the keys, in the order asked for, the number of records and the sums of
    the weights' pieces.
    """
    import narwhals.stable.v2 as nw

    columns = keys_of(frame, question.keys)
    if question.weight is not None:
        columns.append(_double(question.weight).alias("riskcore_weight"))
    rows = frame.select(*columns)
    cut = []
    if question.weight is not None:
        w = nw.col("riskcore_weight")
        if question.sums is None:
            cut = [w.alias(sum_column(0))]
        else:
            cut = [
                piece.cast(nw.Int64).alias(sum_column(i))
                for i, piece in enumerate(question.sums.cut(w))
            ]
    whole = [RECORDS] if question.sums is None else [RECORDS, *question.sum_columns]
    return (
        (rows.with_columns(*cut) if cut else rows)
        .group_by(*question.key_columns)
        .agg(
            nw.len().alias(RECORDS),
            *(nw.col(name).sum() for name in question.sum_columns),
        )
        # polars counts in 32 bits, and duckdb adds integers to some of 128.
        .with_columns(nw.col(*whole).cast(nw.Int64))
    )


def keys_of(frame: Any, keys: Sequence[Hashable]) -> list[Any]:
    """Return the expressions of the keys under our names.

    NaN is missing, and zero has one sign.
    """
    import narwhals.stable.v2 as nw

    schema = frame.collect_schema()
    found = []
    name: Any
    for i, name in enumerate(keys):
        column = nw.col(name)
        if schema[name].is_float():
            column = (column.fill_nan(None) + 0.0).cast(schema[name])
        found.append(column.alias(key_column(i)))
    return found


def weight_type(schema: Mapping[str, Any], weight: Hashable) -> str | None:
    """Return the type of a column that holds no real numbers; None if it does."""
    dtype = schema[weight]  # type: ignore[index]
    return None if dtype.is_numeric() else str(dtype)


def records_of(cells: Any) -> NDArray[np.int64]:
    """Return the records of each row of cells."""
    records = np.ascontiguousarray(cells.get_column(RECORDS).to_numpy())
    return records.astype(np.int64, copy=False)


def frequencies(
    cells: Any, question: Question
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the records and the sum of the weights of each row of cells."""

    def numbers(name: str) -> NDArray[Any]:
        return np.ascontiguousarray(cells.get_column(name).to_numpy())

    records = records_of(cells)
    if question.weight is None:
        return records, records.astype(np.float64)
    if question.sums is None:
        return records, numbers(sum_column(0)).astype(np.float64, copy=False)
    sums = [numbers(name).astype(np.int64, copy=False) for name in question.sum_columns]
    return records, question.sums.joined(sums)


def doubles(series: Any) -> NDArray[np.float64]:
    """Return a narwhals series of numbers as the doubles next to them.

    Examples
    --------
    >>> import narwhals.stable.v2 as nw, pyarrow
    >>> column = pyarrow.chunked_array([[2**53 + 1, None]])
    >>> doubles(nw.from_native(column, series_only=True))
    array([9.00719925e+15,            nan])
    """
    import narwhals.stable.v2 as nw

    dtype = series.dtype
    if dtype.is_integer():
        # Not by a cast: Arrow refuses integers from 2**53 on, which are rounded here.
        missing = np.asarray(series.is_null().to_numpy(), bool)
        whole = np.asarray(series.fill_null(1).to_numpy())
        return np.where(missing, np.nan, whole.astype(np.float64))
    if dtype.is_decimal() and not series.implementation.is_polars():
        # By text: Arrow's own cast makes 9.700000000000001 of 9.7.
        texts = series.to_arrow().cast("string")
        found = texts.cast("double").to_numpy(zero_copy_only=False)
        return np.asarray(found, np.float64)
    return np.asarray(series.cast(nw.Float64).to_numpy(), np.float64)


def _double(weight: Any) -> Any:
    import narwhals.stable.v2 as nw

    return nw.col(weight).cast(nw.Float64)
