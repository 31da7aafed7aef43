"""The clusters of a sample: which clusters have records in which cells.

People of a household or an area are alike, so what one of them tells of a cell the
others tell again. Pairs of records in different clusters tell how uneven cells are.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common.scatter import scattered, shuffled
from riskcore.common.words import counted
from riskcore.data.engines.sums import added
from riskcore.data.sample_design import SampleDesign
from riskcore.models.codes import Ints

_FEW = 8.0  # other records; clusters of so many leave out 2/3 of their own


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Clusters:
    """The records of each cluster in each cell, as pairs of a cluster and a cell.

    The clusters of a stratum are neighbors, in a random order that depends on their
    cells alone: neither on the order of the records nor on names.
    """

    cell: Ints  # of each pair, rising within a cluster, shape (P,)
    records: Ints  # of each pair
    starts: Ints  # where the pairs of each cluster begin, and the end, shape (M + 1,)
    stratum: Ints  # of each cluster, those of one side by side, shape (M,)
    kept: NDArray[np.bool_]  # False for clusters that a fit of the jackknife leaves out
    name: Hashable = None  # of the column; None if the clusters came as an array

    @classmethod
    def of(cls, cell: NDArray[Any], records: Ints, design: SampleDesign) -> Self:
        """Return the clusters of rows, given the cell and the records of each row."""
        _, first, of = np.unique(design.cluster, return_index=True, return_inverse=True)
        cells = int(cell.max()) + 1
        pairs, row = np.unique(of * cells + cell, return_inverse=True)
        number = added(records, row, len(pairs))
        cluster, at = np.divmod(pairs, cells)
        begins = np.flatnonzero(np.diff(cluster, prepend=-1))
        hashes = scattered(at.astype(np.uint64)) * number.astype(np.uint64)
        mark = scattered(np.add.reduceat(hashes, begins))
        stratum = np.zeros(len(first), np.int64)
        if design.stratum is not None:
            stratum = design.stratum[first]
        total = added(mark, stratum, int(stratum.max()) + 1)
        order = np.lexsort((mark, stratum, total[stratum]))
        place = np.argsort(order)
        by = np.argsort(place[cluster], kind="stable")
        starts = np.zeros(len(order) + 1, np.int64)
        np.cumsum(np.bincount(place[cluster], minlength=len(order)), out=starts[1:])
        kept = np.ones(len(order), np.bool_)
        return cls(at[by], number[by], starts, stratum[order], kept, design.name)

    def __len__(self) -> int:
        """Return the number of clusters, M."""
        return len(self.stratum)

    def groups(self, groups: int) -> Ints:
        """Return the group of each cluster: as many of each stratum, or one more."""
        return np.arange(len(self)) % groups

    def without(self, group: int, groups: int) -> Self:
        """Return the clusters of all groups but one."""
        return replace(self, kept=self.groups(groups) != group)

    def in_cells(self, cells: int) -> Ints:
        """Return the number of clusters that have each of K cells, shape (K,)."""
        return np.bincount(self.cell[self.pairs], minlength=cells)

    def records_in_cells(self, cells: int) -> Ints:
        """Return the clusters' records in each of K cells, shape (K,)."""
        return added(self.records[self.pairs], self.cell[self.pairs], cells)

    @property
    def sizes(self) -> Ints:
        """The number of records of each cluster."""
        return np.add.reduceat(self.records, self.starts[:-1])

    @property
    def own_parts(self) -> NDArray[np.float64]:
        """What part of its records each cluster's cells leave out: half and more."""
        others = self.sizes - 1.0
        return (others + _FEW) / (others + 2.0 * _FEW)

    @property
    def in_words(self) -> str:
        """The clusters in a few words."""
        named = "" if self.name is None else f" ({self.name})"
        many = counted(len(self), "cluster")
        return f"from records of different clusters{named}, {many}"

    @property
    def cluster(self) -> Ints:
        """The cluster of each pair."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @property
    def pairs(self) -> NDArray[np.bool_]:
        """Which pairs of a cluster and a cell are of clusters that are kept."""
        return self.kept[self.cluster]

    def __repr__(self) -> str:
        return f"<Clusters: {counted(len(self), 'cluster')}>"


def groups_of(records: Ints, groups: int) -> tuple[Ints, Ints]:
    """Return the cell and the group of each record, in groups of equal size."""
    cell = np.repeat(np.arange(len(records)), records)
    return cell, np.argsort(shuffled(len(cell))) % groups
