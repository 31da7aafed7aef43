"""A file of which each household is one row: assessed, protected, and merged back.

Keys that all members share, such as the size or the tenure of the household, are
counted once for each household, with its weight. What is blanked or recoded goes back
to all its members.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment import Assessment
from riskcore.microdata.coded import CodedRecords
from riskcore.microdata.columns import Records
from riskcore.protection.key_sets import assess_key_sets, coded_records
from riskcore.protection.layout import in_order
from riskcore.protection.rounds import Mask, Masks
from riskcore.protection.settings import Settings

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The households of a file.

    Attributes
    ----------
    first : int64 ndarray, shape (H,)
        The first record of each household.
    of : int64 ndarray, shape (n,)
        The household of each record.
    """

    first: Positions
    of: Positions

    @classmethod
    def found(cls, coded: CodedRecords, settings: Settings) -> Units:
        """Find the households, whose members must agree.

        Raises
        ------
        ValueError
            If members of a household differ in a key or the weight. The columns are
            named, with the number of households.
        """
        assert coded.households is not None
        _, first, of = np.unique(
            coded.households, return_index=True, return_inverse=True
        )
        units = cls(first.astype(np.int64), of.reshape(-1).astype(np.int64))
        columns: dict[Hashable, NDArray[Any]] = {
            name: coded.columns[name].codes for name in settings.variables
        }
        if coded.weights is not None:
            columns[settings.weight] = coded.weights
        counts = {name: units._differing(column) for name, column in columns.items()}
        faults = [f"{name!r} in {count:,}" for name, count in counts.items() if count]
        if faults:
            raise ValueError(
                f"level='household': members differ in {', '.join(faults)} of "
                f"{len(units.first):,} households; a household has one value, or none, "
                "for all its members"
            )
        return units

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

    def row_codes(self, coded: CodedRecords) -> CodedRecords:
        """Return coded records with one for each household: that of its first member.

        A key that members agree in has the same labels.
        """
        columns = {
            name: replace(
                one,
                codes=one.codes[self.first],
                missing=int(np.count_nonzero(one.codes[self.first] == len(one.labels))),
            )
            for name, one in coded.columns.items()
        }
        return CodedRecords(len(self.first), columns)

    def spread(self, masks: Masks, present: Masks, settings: Settings) -> Masks:
        """Return which values of the records to blank.

        Parameters
        ----------
        masks : dict of column name to bool ndarray, each shape (H,)
            What is blanked of the households.
        present : dict of column name to bool ndarray, each shape (n,)
            Which records have a value.
        settings : Settings

        Returns
        -------
        dict of column name to bool ndarray, each shape (n,)
            The keys of all members; of related columns, in which members may differ,
            the values that there are.
        """
        wide: dict[Any, Mask] = {name: mask[self.of] for name, mask in masks.items()}
        for name in settings.variables:
            goes = [name]
            for one in goes:
                more = settings.related.get(one, ())
                goes += [other for other in more if other not in goes]
            for other in goes:
                wide[other] = wide[other] | masks[name][self.of]
        return {name: mask & present[name] for name, mask in wide.items()}


def assess_again(
    columns: Any, settings: Settings, like: Sequence[Assessment]
) -> list[Assessment]:
    """Assess the households of a file that was read back, see `assess_key_sets`."""
    units = Units.found(coded_records(columns, settings), settings)
    inner = settings.of_rows()
    weight = () if inner.weight is None else (inner.weight,)
    rows = units.rows(columns, [*inner.variables, *weight])
    return assess_key_sets(rows, coded_records(rows, inner), inner, like)
