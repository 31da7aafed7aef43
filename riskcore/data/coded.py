"""The records of a file as codes: each column is coded once, and stays codes.

Recoding maps labels, suppression sets a code, counting takes codes. What comes out is
what coding the recoded or blanked data themselves would give, to the last label.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riskcore.data.columns import (
    CodedColumn,
    Records,
    code_column,
    code_keys,
    household_codes,
    weights,
)
from riskcore.data.count import count
from riskcore.data.engines.base import Counted
from riskcore.data.engines.groups import Groups
from riskcore.data.engines.which import engine_of

Mask = NDArray[np.bool_]
# How many records each element of a column stands for; None: one.
Sizes: TypeAlias = NDArray[np.int64] | None


@dataclass(frozen=True, slots=True, eq=False)
class CodedRecords:
    """Keys, weights and households of the records of a file.

    Attributes
    ----------
    n : int
        Number of records.
    columns : dict of column name to CodedColumn
        The keys.
    weight : column name or None
    weights : float64 ndarray, shape (n,), or None
    households : int64 ndarray, shape (n,), or None
        The number of each record's household.
    counted : Counted, Groups or None
        Of data on an engine, what it counted: columns and weights have an element for
        each row of cells then, not for each record.

    Examples
    --------
    >>> data = {"sex": ["f", "m", "f"], "age": [31, 47, 47]}
    >>> coded = CodedRecords.of(data, ["sex", "age"])
    >>> coded.blanked({"age": np.array([True, False, False])}).columns["age"].labels
    array([47], dtype=object)
    """

    n: int
    columns: Mapping[Hashable, CodedColumn]
    weight: Hashable | None = None
    weights: NDArray[np.float64] | None = None
    households: NDArray[np.int64] | None = None
    counted: Counted | Groups | None = None

    @classmethod
    def of(
        cls,
        data: Any,
        keys: Sequence[Hashable],
        weight: Hashable | None = None,
        household: Hashable | None = None,
    ) -> CodedRecords:
        """Code the columns of data in memory, or the cells of data on an engine."""
        engine = engine_of(data)
        if engine is not None:
            if household is not None:
                raise engine.refuse_single("household")
            return cls.of_counted(engine.count(keys, weight))
        records = Records.of(data)
        households = None if household is None else household_codes(records, household)
        numbers = None if weight is None else weights(records, weight)
        columns = {column.name: column for column in code_keys(records, keys)}
        return cls(records.n, columns, weight, numbers, households)

    @classmethod
    def of_counted(cls, counted: Counted) -> CodedRecords:
        """Code the cells that an engine has counted."""
        return cls(
            counted.n,
            code_cells(counted.keys, counted.records),
            counted.question.weight,
            counted.weight_sum,
            counted=counted,
        )

    def keys(self, names: Iterable[Hashable]) -> list[CodedColumn]:
        """Return the columns of some keys, in their order."""
        return [self.columns[name] for name in names]

    def blanked(self, masks: Mapping[Any, Mask]) -> CodedRecords:
        """Return the records with values set to missing."""
        blanked = {
            name: _blanked(self.columns[name], mask, self._stands_for)
            for name, mask in masks.items()
            if name in self.columns and mask.any()
        }
        return self.with_columns(blanked)

    def recoded(self, columns: Mapping[Any, Any]) -> CodedRecords:
        """Return the records with keys replaced by recoded ones."""
        recoded = {
            name: _recoded(self.columns[name], values, self._stands_for)
            for name, values in columns.items()
            if name in self.columns
        }
        return self.with_columns(recoded)

    @property
    def _stands_for(self) -> Sizes:
        return None if self.counted is None else self.counted.records

    def with_columns(self, columns: Mapping[Hashable, CodedColumn]) -> CodedRecords:
        """Return the records with keys replaced."""
        return replace(self, columns={**self.columns, **columns})

    def equals(self, other: CodedRecords) -> bool:
        """Tell whether all records have the same keys."""
        return self.columns.keys() == other.columns.keys() and all(
            _same(column, other.columns[name]) for name, column in self.columns.items()
        )


def code_cells(
    keys: Mapping[Hashable, Any],
    records: NDArray[np.int64],
    ticks: Collection[Hashable] = (),
) -> dict[Hashable, CodedColumn]:
    """Code the keys of cells, narwhals series, each of so many records.

    Of the keys in ``ticks`` the labels of times are those of NumPy, see `code_column`.
    """
    columns = {}
    for key, values in keys.items():
        values_here = Records.of({key: values.to_native()})
        column = code_column(values_here, key, ticks=key in ticks)
        missing = count_records(column.codes == len(column.labels), records)
        columns[key] = replace(column, missing=missing)
    each = columns.values()
    distinct = count([one.codes for one in each], [one.levels for one in each])
    if len(distinct.frequency) < len(records):
        types = ", ".join(f"{key!r}: {values.dtype}" for key, values in keys.items())
        raise TypeError(
            f"keys {types}: the engine counted {len(records):,} cells, of which only "
            f"{len(distinct.frequency):,} differ here; it tells values apart that come "
            "as one: give such a key as text"
        )
    return columns


def _blanked(column: CodedColumn, mask: Mask, sizes: Sizes) -> CodedColumn:
    """Return a column without some values, and without labels that nobody has left."""
    levels = len(column.labels) + 1
    records = np.bincount(column.codes[~mask], minlength=levels)
    return _relabelled(column, np.flatnonzero(records[:-1]), mask, sizes)


def count_records(mask: Mask, sizes: Sizes) -> int:
    """Return how many records the rows of a mask stand for."""
    return int(np.count_nonzero(mask) if sizes is None else sizes[mask].sum())


def _relabelled(
    column: CodedColumn, kept: NDArray[Any], mask: Mask, sizes: Sizes
) -> CodedColumn:
    """Return a column with the labels that are kept; the others are masked."""
    codes = np.full(len(column.labels) + 1, len(kept), np.min_scalar_type(len(kept)))
    codes[kept] = np.arange(len(kept))
    new = codes[column.codes]
    new[mask] = len(kept)
    missing = count_records(new == len(kept), sizes)
    return CodedColumn(
        column.name, _narrow(new, len(kept), missing), column.labels[kept], missing
    )


def _recoded(column: CodedColumn, values: Any, sizes: Sizes) -> CodedColumn:
    """Return the codes of a recoded column, of which one record for each old code."""
    first = np.zeros(column.levels, np.int64)
    first[column.codes[::-1]] = np.arange(len(column.codes) - 1, -1, -1)
    sample = Records.of({column.name: _taken(values, first)})
    small = code_column(sample, column.name)
    new = small.codes[column.codes]
    missing = 0
    if small.missing:
        missing = count_records(new == len(small.labels), sizes)
    return CodedColumn(column.name, new, small.labels, missing)


def _taken(values: Any, rows: NDArray[np.int64]) -> Any:
    """Return some values of a column of any holder."""
    if isinstance(values, np.ndarray):
        return values[rows]
    if isinstance(values, list | tuple):
        return [values[row] for row in rows.tolist()]
    import narwhals.stable.v2 as nw

    return nw.from_native(values, series_only=True)[rows].to_native()


def _narrow(codes: NDArray[Any], labels: int, missing: int) -> NDArray[Any]:
    """Return codes in the smallest type that holds them."""
    levels = labels + (missing > 0)
    return codes.astype(np.min_scalar_type(max(levels - 1, 0)), copy=False)


def _same(one: CodedColumn, other: CodedColumn) -> bool:
    return (
        one.missing == other.missing
        and one.labels.tolist() == other.labels.tolist()
        and np.array_equal(one.codes, other.codes)
    )
