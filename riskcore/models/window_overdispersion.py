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

_LIKE = 10  # parts of the records, by the probability of their cells


def seen_in_windows(
    sample: CellTable, probability: Callable[[Ints], Floats]
) -> tuple[Seen, float]:
    """Return what records see, and clusters per record; ``probability`` is of cells."""
    cells = part_of(sample.records, "power")
    pi, f, r = probability(cells), sample.frequency[cells], sample.records[cells]
    m, share = sample.n * pi, 1.0
    if sample.clusters is not None:
        counted = clusters_in(sample, sample.clusters, cells)
        m = m * clusters_per_record(pi, r * f, r * counted)
        share, f = float((r * counted).sum() / (r * f).sum()), counted
    return Seen.of(m, f, r), share


def clusters_per_record(probability: Floats, records: Ints, clusters: Ints) -> Floats:
    """Return clusters per record in cells of like probability: least in common ones."""
    order = np.argsort(probability, kind="stable")
    before = np.cumsum(records[order]) - records[order]
    part = np.empty(len(order), np.int64)
    part[order] = _LIKE * before // records.sum()
    part = np.minimum(part, _LIKE - 1)
    many, few = (np.bincount(part, counts, _LIKE) for counts in (records, clusters))
    return np.divide(few, many, out=np.ones(_LIKE), where=many > 0.0)[part]


def clusters_in(sample: CellTable, clusters: Clusters, cells: Ints) -> Ints:
    """Return the number of clusters that have records in the windows of some cells."""
    assert sample.matching is not None
    windows = sample.matching.windows
    codes = [code.astype(np.uint32) for code in sample.codes]
    sorted_ = SortedCells.of(codes, sample.levels, windows)
    there = np.repeat(clusters.kept, np.diff(clusters.starts))
    cell = clusters.cell[there]
    cluster = np.repeat(np.arange(len(clusters)), np.diff(clusters.starts))[there]
    order = np.argsort(cell, kind="stable")
    begin = np.searchsorted(cell[order], np.arange(len(sample) + 1))
    return sorted_.distinct(begin, cluster[order], len(clusters), cells)
