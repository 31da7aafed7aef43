"""What the sizes of a key's categories in a sample say of their shares of all people.

A category that was seen once does not have the share 1/n if many were not seen at all,
and areas of equal size look unequal in a small sample. A category of size m has
Poisson(m) records in a sample, and is seen if it has some. So the numbers of categories
with 1, 2, ... records tell how the sizes of a key's categories are spread (Good 1953):
normally in their logarithm, or by a power of the size. Each law on a grid counts by its
likelihood, and under each a category of n_a records has a mean and a variance of its
size. Categories of many records have the share that they have in the sample, with
the relative variance 1/n_a. Of records in clusters, clusters are counted in place of
records, unless the strata tell the key: then its categories were all to be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.core.special.gamma.functions import exp, log, log_rising_factorial
from riskcore.models.cell_table import CellTable
from riskcore.models.clusters import Clusters
from riskcore.models.tied_keys import CodedCells

Floats = NDArray[np.float64]

MANY = 64  # records of a category that tell its share
_STEP = 0.125  # of the grid of the logarithm of sizes
_SMALLEST = 16  # times a category is smaller than one person, at least
_SPREADS = (0.18, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)  # of log sizes
_POWERS = tuple(0.1 * i for i in range(14))
_NONE, _CERTAIN = 2.0**-900, 2.0**-30  # a least chance, and a least variance


class Laws(NamedTuple):
    """What each law says of categories of 0, ..., MANY records."""

    mean: Floats  # of the size
    square: Floats
    log_chance: Floats  # of 1, ..., MANY records, among these


@lru_cache(maxsize=8)
def _laws(first: int) -> Laws:
    """Return all laws of sizes from e^(first/8) on."""
    logs = _STEP * np.arange(first, int(math.log(2 * MANY) / _STEP) + 1)
    sizes, records = exp(logs), np.arange(MANY + 1.0)
    heights = [-power * logs for power in _POWERS]
    for spread in _SPREADS:
        middle = logs[0] - (spread if spread >= 1.0 else 0.0)
        while middle < logs[-1]:
            heights.append(-0.5 * ((logs - middle) / spread) ** 2)
            middle += spread / 2.0
    weight = exp(np.array([height - height.max() for height in heights]))
    weight /= weight.sum(axis=1, keepdims=True)
    factorial = log_rising_factorial(1.0, records)
    chance, mean, square = np.zeros((3, len(weight), len(records)))
    for log_size, size, of_laws in zip(logs, sizes, weight.T, strict=True):
        part = np.outer(of_laws, exp(records * log_size - size - factorial))
        chance += part
        mean += size * part
        square += size * size * part
    chance = np.maximum(chance, _NONE)
    seen = chance[:, 1:]
    log_chance = log(seen / seen.sum(axis=1, keepdims=True))
    return Laws(mean / chance, square / chance, log_chance)


def moments_of(counts: Floats, fraction: float) -> tuple[Floats, Floats]:
    """Return the mean size of categories of 0, ..., MANY records, and its variance."""
    # The variance is relative. ``fraction`` of the people are in the sample.
    few = counts[(counts > 0.0) & (counts <= MANY)].astype(np.int64)
    records = np.arange(MANY + 1.0)
    if len(few) < 2:
        return records, 1.0 / np.maximum(records, 1.0)
    seen = np.bincount(few, minlength=MANY + 1)[1:]
    smallest = min(fraction, 0.5) / _SMALLEST
    laws = _laws(math.floor(math.log(smallest) / _STEP))
    height = (seen * laws.log_chance).sum(axis=1)
    likely = exp(height - height.max())
    likely = (likely / likely.sum())[:, np.newaxis]
    mean, square = (likely * laws.mean).sum(axis=0), (likely * laws.square).sum(axis=0)
    mean = np.maximum(mean, _NONE)
    return mean, np.maximum(square / mean / mean - 1.0, _CERTAIN)


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The shares of all categories, in one row of the keys; its end is any value."""

    gain: Floats  # the expected share over that in the sample
    others: Floats  # the same among the others, from a record of the category
    error: Floats  # relative variance of the share

    @classmethod
    def of(
        cls, table: CellTable, whole: bool = True, people: float | None = None
    ) -> Self:
        """Return the shares of categories in a sample of ``people``, see `units_of`."""
        fraction = table.n / (people or float(table.weight_sum.sum()))
        rows = [_of_key(units, fraction) for units in units_of(table, whole)]
        gain, others, error = map(np.concatenate, zip(*rows, strict=True))
        return cls(np.append(gain, 1.0), np.append(others, 1.0), np.append(error, 0.0))

    @classmethod
    def as_in_sample(cls, errors: Sequence[Floats]) -> Self:
        """Return shares as they are in a sample, with relative variances by key."""
        error = np.append(np.concatenate(errors), 0.0)
        return cls(np.ones(len(error)), np.ones(len(error)), error)

    def of_sums(self, cells: CodedCells, counts: Floats) -> Self:
        """Return the shares with those of sums of categories that cells need."""
        counts = np.maximum(counts, 1.0)
        size = cells.rows(counts, 1.0)
        gain, others = (
            np.append(cells.rows(counts * row[:-1], 1.0) / size, 1.0)
            for row in (self.gain, self.others)
        )
        error = np.append(1.0 / cells.rows(1.0 / self.error[:-1], 1.0), 0.0)
        return replace(self, gain=gain, others=others, error=error)

    def error_of(self, table: CellTable) -> Floats:
        """Return the relative variance of pi of cells that comes from the shares."""
        error: Floats = self.error[table.positions].sum(axis=1)
        return error


def _of_key(units: Floats, fraction: float) -> tuple[Floats, Floats, Floats]:
    """Return gains, those among others, and errors of the categories of one key."""
    mean, variance = moments_of(units, fraction)
    m, n = np.maximum(units, 1.0), float(units.sum())
    few, at = m <= MANY, np.minimum(m, MANY).astype(np.int64)
    gain, error = np.where(few, mean[at] / m, 1.0), np.where(few, variance[at], 1.0 / m)
    return gain, (m - 1.0) / max(n - 1.0, 1.0) * n / m, error


def units_of(table: CellTable, whole: bool = True) -> Sequence[Floats]:
    """Return by key the records of each category, or the clusters that have it."""
    # If clusters were not drawn ``whole``, records count where a key tells the cluster.
    clusters, records = table.clusters, np.split(table.counts, table.starts[1:-1])
    if clusters is None:
        return records
    of, cell = clusters.cluster[clusters.pairs], clusters.cell[clusters.pairs]
    strata, units = len(np.unique(clusters.stratum[of])), []
    for code, size, many in zip(table.codes, table.levels, records, strict=True):
        of_cluster, category = np.divmod(np.unique(of * size + code[cell]), size)
        few = np.bincount(category, minlength=size).astype(np.float64)
        pairs = len(np.unique(clusters.stratum[of_cluster] * size + category))
        by_design = pairs == strata or (not whole and _tells(many, few))
        units.append(many if by_design else few)
    return units


def telling_keys(table: CellTable) -> list[Hashable]:
    """Return the keys whose categories are mostly those of a single cluster."""
    if table.clusters is None:
        return []
    records = np.split(table.counts, table.starts[1:-1])
    by_key = zip(table.keys, records, units_of(table), strict=True)
    return [key for key, many, few in by_key if _tells(many, few)]


def _tells(records: Floats, clusters: Floats) -> bool:
    """Return whether most records are in categories of a single cluster."""
    single = records[(records > 1.0) & (clusters == 1.0)]
    return bool(single.sum() > 0.5 * records.sum())


def over_keys(row: Floats, table: CellTable) -> Floats:
    """Return the product over the keys of the numbers of cells' categories."""
    product: Floats = row[table.positions].prod(axis=1)
    return product


def without_clusters(table: CellTable, clusters: Clusters, prior: float) -> Floats:
    """Return what is left of the shares of each pair without a part of its cluster."""
    # The shares are of a fit with ``prior`` more records, spread as the sample is.
    of, records = clusters.cluster, clusters.records.astype(np.float64)
    left = np.ones(len(of))
    n = float(records[clusters.pairs].sum())
    all_own = np.bincount(of, records)[of]
    parts = clusters.own_parts[of] * n / (n + prior)
    for column, size in zip(table.codes, table.levels, strict=True):
        code = column[clusters.cell]
        _, place = np.unique(of * size + code, return_inverse=True)
        counts = np.bincount(code, records * clusters.pairs, size)
        own = np.bincount(place, records)[place]
        left *= 1.0 - parts * np.minimum(own / np.maximum(counts[code], 1.0), 1.0)
        left /= 1.0 - parts * np.minimum(all_own / n, 1.0)
    return left


def mean_in_cells(clusters: Clusters, values: Floats, cells: int) -> Floats:
    """Return the means of values of pairs over the records of cells, or nan."""
    cell, records = clusters.cell[clusters.pairs], clusters.records[clusters.pairs]
    total = np.bincount(cell, records * values[clusters.pairs], cells)
    size = np.bincount(cell, records, cells)
    mean = np.full(cells, np.nan)
    np.divide(total, size, out=mean, where=size > 0.0)
    return mean
