"""A file of which each household is one row: whose the records are, and the rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common.words import counted
from riskcore.data.columns import Records
from riskcore.data.files.arrow import import_pyarrow

Positions = NDArray[np.int64]

# Records that are taken of Arrow's text at once.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class HouseholdRows:
    """The households of a file."""

    first: Positions  # shape (H,): The first record of each household
    of: Positions  # shape (n,): The household of each record

    @classmethod
    def agreeing(
        cls, households: NDArray[Any], columns: Mapping[Hashable, NDArray[Any]]
    ) -> Self:
        """Find the households, whose members must agree."""
        _, first, of = np.unique(households, return_index=True, return_inverse=True)
        rows = cls(first.astype(np.int64), of.reshape(-1).astype(np.int64))
        counts = {name: rows._differing(column) for name, column in columns.items()}
        faults = [f"{name!r} in {count:,}" for name, count in counts.items() if count]
        if faults:
            raise ValueError(
                f"level='household': members differ in {', '.join(faults)} of "
                f"{counted(len(rows.first), 'household')}; a household has one value, "
                "or none, for all its members"
            )
        return rows

    def _differing(self, column: NDArray[Any]) -> int:
        """Return in how many households members have different values."""
        unlike = column != column[self.first][self.of]
        return len(np.unique(self.of[unlike]))

    @property
    def size(self) -> Positions:
        """The number of members of each household, shape (H,)."""
        return np.bincount(self.of, minlength=len(self.first))

    def rows(self, data: Any, names: Iterable[Hashable]) -> dict[Any, Any]:
        """Return columns of data with one element for each household."""
        records = Records.of(data)
        taken = {name: in_order(records.column(name), self.first) for name in names}
        return {
            name: one if isinstance(one, np.ndarray) else one.to_native()
            for name, one in taken.items()
        }


def in_order(column: Any, order: Positions) -> Any:
    """Return the records of a column of any holder in an order, of the type it has.

    Arrow makes text one piece before it takes records of it, and its plain types hold
    two gigabytes a piece: so that is done with long offsets.
    """
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
