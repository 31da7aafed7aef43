"""The error of estimated cell probabilities, and how far it spreads them.

An estimate of log pi is the truth and an error; so estimates are more spread out than
the truth: common cells look too common, rare ones too rare. A cell's prior is pulled
back by as much as its error explains of the spread, as in empirical Bayes estimation
(Efron and Morris 1973). What is pulled is the number of other people, mu, and it is
pulled to 1, where leaving out half of the own record makes no bias
(notes/cell_models.md).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from riskcore.core.special.gamma.functions import exp, log
from riskcore.models.cell_table import CellTable
from riskcore.models.clusters import Clusters

Floats = NDArray[np.float64]

# At least this part of the spread of log pi is taken as true.
_TRUE = 0.2


def category_errors(sample: CellTable) -> tuple[Floats, ...]:
    """Return by key and category the relative variance of its estimated share.

    With x_cj of the n_c records of a cluster in category j, of share p, it is
    sum_c (x_cj - p n_c)^2/x_j^2. A record without a cluster is one.
    """
    columns = zip(sample.codes, sample.levels, strict=True)
    if sample.clusters is not None:
        clusters = sample.clusters
        return tuple(_between(clusters, code, size) for code, size in columns)
    f = sample.records.astype(np.float64)
    variances = []
    for code, size in columns:
        x = np.bincount(code, f, size)
        variances.append((1.0 - x / sample.n) / np.maximum(x, 1.0))
    return tuple(variances)


def _between(clusters: Clusters, code: NDArray[np.int64], size: int) -> Floats:
    """Return the relative variance of the share of each category over clusters."""
    of = np.repeat(np.arange(len(clusters)), np.diff(clusters.starts))
    records = clusters.records.astype(np.float64)
    pairs, place = np.unique(of * size + code[clusters.cell], return_inverse=True)
    x, (cluster, category) = np.bincount(place, records), np.divmod(pairs, size)
    n = np.bincount(of, records, len(clusters))
    total = np.bincount(category, x, size)
    p = total / n.sum()
    squares = (
        np.bincount(category, x * x, size)
        - 2.0 * p * np.bincount(category, x * n[cluster], size)
        + p * p * (n * n).sum()
    )
    variances: Floats = np.maximum(squares, 0.0) / np.maximum(total, 1.0) ** 2
    return variances


def error_of(table: CellTable, errors: tuple[Floats, ...]) -> Floats:
    """Return the variance of log pi of cells; a key with any value adds none."""
    variance = np.zeros(len(table))
    for error, column in zip(errors, table.codes, strict=True):
        variance += np.append(error, 0.0)[column]
    return variance


def true_spread(pi: Floats, error: Floats, records: NDArray[np.int64]) -> float:
    """Return the variance of the true log pi over records, from estimates."""
    some = pi > 0.0
    f, height = records[some].astype(np.float64), log(pi[some])
    n = math.fsum(f.tolist())
    mean = math.fsum((f * height).tolist()) / n
    spread = math.fsum((f * (height - mean) ** 2).tolist()) / n
    noise = math.fsum((f * error[some]).tolist()) / n
    return max(spread - noise, _TRUE * spread)


def distance_from_one(mu: Floats, records: NDArray[np.int64]) -> float:
    """Return the square of the mean of log mu over records: the pull is to 1."""
    some = mu > 0.0
    f = records[some].astype(np.float64)
    if not len(f):
        return 0.0
    mean = math.fsum((f * log(mu[some])).tolist()) / math.fsum(f.tolist())
    return mean * mean


def pull(mu: Floats, error: Floats, spread: float) -> Floats:
    """Return the factors that pull numbers of other people towards 1."""
    factor = np.ones(len(mu))
    some = mu > 0.0
    if spread > 0.0:
        lost = error[some] / (spread + error[some])
        factor[some] = exp(-lost * log(mu[some]))
    return factor
