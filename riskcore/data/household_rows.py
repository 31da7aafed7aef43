"""One row for each household of a file."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common.words import counted
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import Records
from riskcore.data.files.arrow import import_pyarrow

Positions = NDArray[np.int64]
Columns = Mapping[Hashable, NDArray[Any]]

_AT_ONCE = 1 << 16  # records of Arrow's text that are taken at once


@dataclass(frozen=True, slots=True, eq=False)
class HouseholdRows:
    """The households of a file."""

    first: Positions  # the first record of each household, shape (H,)
    of: Positions  # the household of each record, shape (n,)

    @classmethod
    def of_keys(cls, coded: CodedRecords, keys: Iterable[Hashable]) -> Self:
        """Return the households, whose members must agree in keys, weight, cluster."""
        assert coded.households is not None
        columns: dict[Hashable, NDArray[Any]] = {
            name: coded.columns[name].codes for name in keys
        }
        if coded.weights is not None:
            columns[coded.weight] = coded.weights
        if coded.design is not None:
            columns[coded.design.name] = coded.design.cluster
        return cls.agreeing(coded.households, columns)

    @classmethod
    def agreeing(cls, households: NDArray[Any], columns: Columns) -> Self:
        """Return the households; refuse columns in which their members differ."""
        _, first, of = np.unique(households, return_index=True, return_inverse=True)
        rows = cls(first.astype(np.int64), of.reshape(-1).astype(np.int64))
        counts = rows.differing(columns)
        faults = [f"{name!r} in {count:,}" for name, count in counts.items()]
        if faults:
            raise ValueError(
                f"level='household': members differ in {', '.join(faults)} of "
                f"{counted(len(rows.first), 'household')}; give all members of a "
                "household the same value, or none"
            )
        return rows

    def differing(self, columns: Columns) -> dict[Hashable, int]:
        """Return how many households have different values, by column if there are."""
        unlike = {
            name: self.of[column != column[self.first][self.of]]
            for name, column in columns.items()
        }
        return {name: len(np.unique(of)) for name, of in unlike.items() if of.size}

    @property
    def size(self) -> Positions:
        """The number of members of each household, shape (H,)."""
        return np.bincount(self.of, minlength=len(self.first))

    def codes(self, coded: CodedRecords, keys: Iterable[Hashable]) -> CodedRecords:
        """Return keys and weights with one element for each household."""
        columns = {name: coded.columns[name].some(self.first) for name in keys}
        weights = None if coded.weights is None else coded.weights[self.first]
        designs = coded.designs and {
            name: design._replace(rows=design.rows[self.first])
            for name, design in coded.designs.items()
        }
        rows = CodedRecords(len(self.first), columns, coded.weight, weights)
        return replace(rows, designs=designs, scale=coded.scale)

    def rows(self, data: Any, names: Iterable[Hashable]) -> dict[Any, Any]:
        """Return columns of data with one element for each household."""
        records = Records.of(data)
        rows = {name: in_order(records.column(name), self.first) for name in names}
        return {
            name: column if isinstance(column, np.ndarray) else column.to_native()
            for name, column in rows.items()
        }


def in_order(column: Any, order: Positions) -> Any:
    """Return a column in another order."""
    # Arrow joins the pieces of text, of two gigabytes at most without long offsets.
    if isinstance(column, np.ndarray) or not column.implementation.is_pyarrow():
        return column[order]
    import narwhals.stable.v2 as nw

    pyarrow = import_pyarrow()
    native = column.to_native()
    types = {pyarrow.string(): "large_string", pyarrow.binary(): "large_binary"}
    if native.type not in types:
        return column[order]
    whole = native.cast(types[native.type]).combine_chunks()
    pieces = [
        whole.take(pyarrow.array(order[i : i + _AT_ONCE])).cast(native.type)
        for i in range(0, len(order), _AT_ONCE)
    ]
    ordered = pyarrow.chunked_array(pieces, native.type)
    return nw.from_native(ordered, series_only=True)
