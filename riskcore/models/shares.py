"""What the sizes of a key's categories in a sample say of their shares of all people.

A category that was seen once has not the share 1/n if many were not seen at all, and
areas of equal size look unequal in a small sample. So the sizes n_1, ..., n_u of the
categories that n records have get Pitman's law of two parameters (Pitman 1995),

    prod_{i=1}^{u-1} (theta + i sigma)/(theta+1)_{n-1} prod_a (1-sigma)_{n_a - 1},

where sigma below 0 is a finite number of categories (Dirichlet-multinomial), 0 Ewens'
law, and sigma above 0 Pitman's. Given it, the share of a category has the mean
(n_a - sigma)/(n + theta), and about the relative variance 1/(n_a - sigma). If all were
seen once, the likeliest theta is infinite: nothing speaks for others of a category. Of
records in clusters, clusters are counted in place of records, and at least half of the
share of a category is kept: its other people may live in the cluster that was drawn.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.core.special.gamma.functions import (
    digamma_difference,
    log_rising_factorial,
)
from riskcore.models.cell_table import CellTable
from riskcore.models.clusters import Clusters
from riskcore.models.solve import positive_root
from riskcore.models.tied_keys import CodedCells

Floats = NDArray[np.float64]

# Where the likelihood of sigma is looked at first, and how near its highest point.
_SIGMAS = (
    *(0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0, -0.1, -0.2, -0.4),
    *(-0.7, -1.2, -2.0, -4.0, -8.0, -16.0, -64.0, -256.0, -4096.0),
)
_NEAR, _TOLERANCE = 2.0**-6, 2.0**-20
LEAST = 0.5  # a category of one cluster keeps at least half of its share
FEW_CLUSTERS = 30
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class ShareLaw(NamedTuple):
    """The likeliest law of the sizes of the categories of one key.

    >>> law = ShareLaw.of(np.array([3.0, 1.0, 1.0, 1.0, 0.0, 1.0]))
    >>> round(law.theta, 2), round(law.sigma, 2)
    (3.47, 0.37)
    """

    theta: float = 0.0
    sigma: float = 0.0

    @classmethod
    def of(cls, counts: Floats) -> Self:
        """Return the law of categories of these sizes, of which 0 are not seen."""
        sizes, many = np.unique(counts[counts > 0.0], return_counts=True)
        if many.sum() < 2:
            return cls()
        if sizes[-1] == 1.0:
            return cls(theta=math.inf)

        def height(sigma: float) -> float:
            return _likeliest(sigma, sizes, many)[1]

        heights = [*map(height, _SIGMAS)]
        best = heights.index(max(heights))
        high, low = _SIGMAS[max(best - 1, 0)], _SIGMAS[best : best + 2][-1]
        tried = [(heights[best], _SIGMAS[best])]
        a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_a, at_b = height(a), height(b)
        while high - low > _NEAR * max(1.0, -low):
            tried += [(at_a, a), (at_b, b)]
            if at_a >= at_b:
                high, b, at_b = b, a, at_a
                a = high - _GOLDEN * (high - low)
                at_a = height(a)
            else:
                low, a, at_a = a, b, at_b
                b = low + _GOLDEN * (high - low)
                at_b = height(b)
        sigma = max(tried)[1]
        return cls(_likeliest(sigma, sizes, many)[0], sigma)


def _likeliest(sigma: float, sizes: Floats, many: NDArray[Any]) -> tuple[float, float]:
    """Return the likeliest theta for a sigma, and the height of the likelihood."""
    later, n = float(many.sum() - 1), float((sizes * many).sum())
    least = -sigma if sigma >= 0.0 else later * -sigma  # theta is above

    def first(over: float) -> float:
        """Return theta/abs(sigma) + 1, or its like where sigma is negative."""
        return (over + least) / sigma + 1.0 if sigma > 0.0 else over / -sigma

    def slope(over: float) -> float:
        opened = later / over
        if sigma:
            opened = float(digamma_difference(first(over), later)) / abs(sigma)
        every = float(digamma_difference(least + over + 1.0, n - 1.0))
        return over * (opened - every)

    over = max(positive_root(slope, later, _TOLERANCE), -sigma)  # K >= u
    rise = later * math.log(abs(sigma) or over)
    if sigma:
        rise += float(log_rising_factorial(first(over), later))
    own = float((many * log_rising_factorial(1.0 - sigma, sizes - 1.0)).sum())
    theta = least + over
    return theta, rise + own - float(log_rising_factorial(theta + 1.0, n - 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The shares of all categories, in one row of the keys; its end is any value."""

    gain: Floats  # the expected share over that in the sample
    others: Floats  # the same among the others, from a record of the category
    error: Floats  # relative variance of the share

    @classmethod
    def of(cls, table: CellTable, least: float = LEAST) -> Self:
        """Return the shares of the categories of a sample, of clusters ``least``."""
        rows = [_of_key(units) for units in units_of(table)]
        gain, others, error = map(np.concatenate, zip(*rows, strict=True))
        if table.clusters is not None:  # others may be in the cluster that was drawn
            gain = np.maximum(gain, least)
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
        return replace(
            self,
            gain=gain,
            others=others,
            error=np.append(1.0 / cells.rows(1.0 / self.error[:-1], 1.0), 0.0),
        )

    def error_of(self, table: CellTable) -> Floats:
        """Return the relative variance of pi of cells that comes from the shares."""
        error: Floats = self.error[table.positions].sum(axis=1)
        return error


def _of_key(units: Floats) -> tuple[Floats, Floats, Floats]:
    """Return gains, those among others, and errors of the categories of one key."""
    theta, sigma = ShareLaw.of(units)
    m, n = np.maximum(units, 1.0), float(units.sum())
    left, before = m - sigma, n / m
    others = np.maximum(left - 1.0, 0.0) / max(n - 1.0 + theta, 1.0)
    return left / (n + theta) * before, others * before, 1.0 / left


def units_of(table: CellTable) -> Sequence[Floats]:
    """Return by key the records of each category, or the clusters that have it."""
    clusters = table.clusters
    if clusters is None:
        return np.split(table.counts, table.starts[1:-1])
    of = np.repeat(np.arange(len(clusters)), np.diff(clusters.starts))
    of, cell = of[clusters.pairs], clusters.cell[clusters.pairs]
    units = []
    for code, size in zip(table.codes, table.levels, strict=True):
        pairs = np.unique(of * size + code[cell])
        units.append(np.bincount(pairs % size, minlength=size).astype(np.float64))
    return units


def telling_keys(table: CellTable) -> list[Hashable]:
    """Return the keys whose categories are mostly those of a single cluster."""
    told = []
    if table.clusters is not None:
        records = np.split(table.counts, table.starts[1:-1])
        for key, size, units in zip(table.keys, records, units_of(table), strict=True):
            if size[(size > 1.0) & (units == 1.0)].sum() > 0.5 * size.sum():
                told.append(key)
    return told


def over_keys(row: Floats, table: CellTable) -> Floats:
    """Return the product over the keys of the numbers of cells' categories."""
    product: Floats = row[table.positions].prod(axis=1)
    return product


def without_clusters(
    table: CellTable, clusters: Clusters, parts: Floats, prior: float
) -> Floats:
    """Return what is left of the shares of each pair without a part of its cluster.

    The shares are those of a fit with ``prior`` more records, spread as the sample is.
    """
    of = np.repeat(np.arange(len(clusters)), np.diff(clusters.starts))
    records, left = clusters.records.astype(np.float64), np.ones(len(of))
    n = float(records[clusters.pairs].sum())
    all_own = np.bincount(of, records)[of]
    parts = parts[of] * n / (n + prior)
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
