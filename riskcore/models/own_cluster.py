"""The probabilities of a latent class model without a part of each cell's own cluster.

People of a cluster share values of the keys, so they make each other's cells look less
rare than they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import in_threads, usual_threads
from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.floats import stack
from riskcore.models.clusters import Clusters
from riskcore.models.mixture import _joint

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

    A cell of several clusters gets the mean over its records; a cell without records
    of a kept cluster gets nan. ``part``, ``pseudo`` and ``prior`` are as for
    `write_without`.
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
    return np.divide(total, size, out=np.full(cells, np.nan), where=size > 0.0)


@kernel
def _add_cluster(
    first: int,
    last: int,
    codes: Any,
    cells: Any,
    records: Any,
    keys: int,
    classes: int,
    rows: int,
    share: Any,
    theta: Any,
    part: float,
    joint: Any,
    sums: Any,
) -> float:
    """Add a part of the pairs' records to the sums; return the number of records."""
    size = 0.0
    for i in range(first, last):
        total, _ = _joint(cells[i], codes, keys, classes, share, theta, joint)
        size += records[i]
        for c in range(classes):
            gone = part * records[i] * joint[c] / total if total > 0.0 else 0.0
            sums[rows * classes + c] += gone
            for j in range(keys):
                sums[codes[cells[i] * keys + j] * classes + c] += gone
    return size


@kernel
def _clear(
    first: int,
    last: int,
    codes: Any,
    cells: Any,
    keys: int,
    classes: int,
    rows: int,
    sums: Any,
) -> None:
    """Set the sums to which pairs were added to 0 again."""
    for c in range(classes):
        sums[rows * classes + c] = 0.0
    for i in range(first, last):
        for j in range(keys):
            row = codes[cells[i] * keys + j] * classes
            for c in range(classes):
                sums[row + c] = 0.0


@native(
    "int32*, int64*, float64*, int64*, int32*, int64, int64, int64, int64, int64, "
    "float64*, float64*, float64, float64, float64, float64*, float64*, float64*"
)
def write_without_cluster(
    codes: Any,
    cells: Any,
    records: Any,
    starts: Any,
    kept: Any,
    first: int,
    last: int,
    keys: int,
    classes: int,
    rows: int,
    share: Any,
    theta: Any,
    n: float,
    part: float,
    pseudo: float,
    prior: Any,
    sums: Any,
    probability: Any,
) -> None:
    """Write pi of each pair of a cluster and a cell, without a part of the cluster.

    ``sums`` has the expected records of the cluster in each category and class, and in
    the last row in each class; it is 0 before and after.
    """
    joint = stack()
    for m in range(first, last):
        if kept[m] == 0:
            continue
        size = _add_cluster(
            starts[m],
            starts[m + 1],
            codes,
            cells,
            records,
            keys,
            classes,
            rows,
            share,
            theta,
            part,
            joint,
            sums,
        )
        for i in range(starts[m], starts[m + 1]):
            pi = 0.0
            for c in range(classes):
                left = n * share[c] - sums[rows * classes + c]
                left = left if left > 0.0 else 0.0
                one = left / (n - part * size)
                for j in range(keys):
                    at = codes[cells[i] * keys + j]
                    seen = theta[at * classes + c] * (n * share[c] + pseudo)
                    seen -= sums[at * classes + c]
                    seen = seen if seen > prior[at] else prior[at]
                    one *= seen / (left + pseudo)
                pi += one
            probability[i] = pi
        _clear(starts[m], starts[m + 1], codes, cells, keys, classes, rows, sums)
