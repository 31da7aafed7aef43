"""What records of a sample see in their windows, of numbers within a tolerance.

Windows share records, so they are no partition of the sample; but each is seen because
a record is in its middle, as in `riskcore.models.overdispersion`. Of a sample of
clusters, the clusters in a window are counted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from riskcore.data.windows import SortedCells
from riskcore.models.cell_table import CellTable
from riskcore.models.clusters import Clusters
from riskcore.models.codes import Ints
from riskcore.models.overdispersion import Seen, part_of

Floats = NDArray[np.float64]


def seen_in_windows(
    sample: CellTable, probability: Callable[[Ints], Floats]
) -> tuple[Seen, float]:
    """Return what records see, and their share; ``probability`` is of cells."""
    cells = part_of(sample.records)
    expected, near = sample.n * probability(cells), sample.frequency[cells]
    if sample.clusters is None:
        return Seen.of(expected, near, sample.records[cells]), 1.0
    counted = clusters_in(sample, sample.clusters, cells)
    weight = sample.clusters.in_cells(len(sample))[cells]
    return Seen.of_clusters(expected, near, counted, weight)


def clusters_in(sample: CellTable, clusters: Clusters, cells: Ints) -> Ints:
    """Return the number of clusters that have records in the windows of some cells."""
    assert sample.matching is not None
    codes = [code.astype(np.uint32) for code in sample.codes]
    sorted_ = SortedCells.of(codes, sample.levels, sample.matching.windows)
    cell, cluster = clusters.cell[clusters.pairs], clusters.cluster[clusters.pairs]
    order = np.argsort(cell, kind="stable")
    begin = np.searchsorted(cell[order], np.arange(len(sample) + 1))
    return sorted_.distinct(begin, cluster[order], len(clusters), cells)
