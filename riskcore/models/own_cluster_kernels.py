"""Kernels of a latent class model without a part of each cell's own cluster."""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.floats import stack
from riskcore.models.mixture import _joint


@kernel
def _add_cluster(
    first: int, last: int, codes: Any, cells: Any, records: Any, keys: int,
    classes: int, rows: int, share: Any, theta: Any, part: float, joint: Any, sums: Any,
) -> float:  # fmt: skip
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
    first: int, last: int, codes: Any, cells: Any, keys: int, classes: int, rows: int,
    sums: Any,
) -> None:  # fmt: skip
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
    "float64*, float64*, float64, float64*, float64, float64*, float64*, float64*"
)
def write_without_cluster(
    codes: Any, cells: Any, records: Any, starts: Any, kept: Any, first: int, last: int,
    keys: int, classes: int, rows: int, share: Any, theta: Any, n: float, parts: Any,
    pseudo: float, prior: Any, sums: Any, probability: Any,
) -> None:  # fmt: skip
    """Write pi of each pair of a cluster and a cell, without a part of each cluster."""
    # ``sums`` has the expected records of the cluster in each category and class, and
    # in the last row in each class; it is 0 before and after.
    joint = stack()
    for m in range(first, last):
        if kept[m] == 0:
            continue
        size = _add_cluster(
            starts[m], starts[m + 1], codes, cells, records, keys, classes, rows,
            share, theta, parts[m], joint, sums,
        )  # fmt: skip
        for i in range(starts[m], starts[m + 1]):
            pi = 0.0
            for c in range(classes):
                left = n * share[c] - sums[rows * classes + c]
                left = left if left > 0.0 else 0.0
                term = left / (n - parts[m] * size)
                for j in range(keys):
                    at = codes[cells[i] * keys + j]
                    seen = theta[at * classes + c] * (n * share[c] + pseudo)
                    seen -= sums[at * classes + c]
                    seen = seen if seen > prior[at] else prior[at]
                    term *= seen / (left + pseudo)
                pi += term
            probability[i] = pi
        _clear(starts[m], starts[m + 1], codes, cells, keys, classes, rows, sums)
