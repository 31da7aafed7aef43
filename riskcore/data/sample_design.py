"""How the records of a sample were drawn: the cluster and the stratum of each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.data.columns import Records, code_column, household_codes
from riskcore.data.count import count

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SampleDesign:
    """The cluster, and the stratum in the order of names, of each record."""

    cluster: Numbers  # shape (n,)
    stratum: Numbers | None = None  # shape (n,); None: one stratum
    name: Hashable = None  # the column of clusters; None if they came as an array

    @classmethod
    def of(
        cls, data: Any, cluster: Hashable, strata: Iterable[Hashable] | None = None
    ) -> Self:
        """Return the design that columns of data describe."""
        records = Records.of(data)
        names = arguments.names("strata", strata or ())
        arguments.column_name("cluster", cluster)
        codes = household_codes(records, cluster, "cluster")
        columns = [code_column(records, name) for name in names]
        for column in columns:
            if column.missing:
                raise ValueError(
                    f"strata {column.name!r}: missing in {column.missing} of "
                    f"{records.n} records; fill them, or leave it out"
                )
        stratum = None
        if columns:
            counts = count([x.codes for x in columns], [x.levels for x in columns])
            stratum = counts.inverse.astype(np.int64)
        design = cls(codes, stratum, cluster)
        design._check()
        return design

    @classmethod
    def of_arrays(cls, cluster: ArrayLike, strata: ArrayLike | None, n: int) -> Self:
        """Return the design of n records from arrays of any type."""
        columns = {"cluster": np.asarray(cluster)}
        if strata is not None:
            columns["strata"] = np.asarray(strata)
        for name, values in columns.items():
            if values.shape != (n,):
                raise ValueError(
                    f"{name}: shape {values.shape}, but {n} records; give the "
                    f"{name} of each record"
                )
        design = cls.of(columns, "cluster", ["strata"] if "strata" in columns else None)
        return cls(design.cluster, design.stratum)

    def some(self, rows: NDArray[Any]) -> Self:
        """Return the design of some records."""
        stratum = None if self.stratum is None else self.stratum[rows]
        return type(self)(self.cluster[rows], stratum, self.name)

    def _check(self) -> None:
        """Refuse a single cluster, and clusters that lie in several strata."""
        _, first, of = np.unique(self.cluster, return_index=True, return_inverse=True)
        if len(first) < 2:
            raise ValueError(
                f"cluster {self.name!r}: all records are in one cluster, so nothing is "
                "known of other clusters; leave out cluster"
            )
        if self.stratum is None:
            return
        apart = self.stratum != self.stratum[first][of]
        if apart.any():
            raise ValueError(
                f"strata: {len(np.unique(of[apart]))} of {len(first)} clusters of "
                f"{self.name!r} have records in several strata; if clusters are "
                "numbered anew in each stratum, give each a number of its own"
            )
