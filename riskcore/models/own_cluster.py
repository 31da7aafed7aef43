"""The probabilities of a latent class model without a part of each cell's own cluster.

People of a cluster share values of the keys, so they make each other's cells look less
rare than they are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import in_threads, usual_threads
from riskcore.models.clusters import Clusters
from riskcore.models.own_cluster_kernels import write_without_cluster

Floats = NDArray[np.float64]


def probability_without_cluster(
    positions: NDArray[np.int32],
    clusters: Clusters,
    mixture: tuple[Floats, Floats],
    prior: Floats,
    part: float,
    pseudo: float,
) -> Floats:
    """Return pi of the cells of a sample, each without a part of its own cluster.

    A cell of several clusters gets the mean over its records, one of none nan.
    """
    share, theta = (np.ascontiguousarray(each) for each in mixture)
    records = clusters.records.astype(np.float64)
    kept, cells = clusters.kept.astype(np.int32), len(positions)
    n = float(clusters.records_in_cells(cells).sum())
    found = np.zeros(len(records))

    def write(start: int, stop: int) -> None:
        sums = np.zeros((len(theta) + 1, len(share)))
        write_without_cluster(
            positions,
            clusters.cell,
            records,
            clusters.starts,
            kept,
            start,
            stop,
            positions.shape[1],
            len(share),
            len(theta),
            share,
            theta,
            n,
            part,
            pseudo,
            prior,
            sums,
            found,
        )

    half = int(np.searchsorted(clusters.starts, len(records) // 2))
    parts = [(0, half), (half, len(clusters))]
    in_threads(usual_threads(), write, parts)
    there = np.repeat(clusters.kept, np.diff(clusters.starts))
    cell, records = clusters.cell[there], records[there]
    total = np.bincount(cell, records * found[there], cells)
    size = np.bincount(cell, records, cells)
    mean = np.full(cells, np.nan)
    np.divide(total, size, out=mean, where=size > 0.0)
    return mean
