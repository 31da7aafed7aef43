"""The mean weight of a cell, with the noise of single weights smoothed out.

The chance that a sample unique is unique in the population, e^-mu or p^s, is convex in
its weight. So weights with noise make more population uniques than there are, and a
model of the cells needs the mean weight of a cell's people, not the weight that one of
them happens to have. The records of a cell k have weights

    w = base prod_j a_j(k_j) (1 + d_k) (1 + e),

where a_j is the factor of a category of key j, d_k what the factors leave over in the
cell, and e what differs within it: noise, and columns that are not keys. Each has mean
1 or 0 and a variance of its own, found by moments; and each factor and cell is shrunk
to its mean, as in credibility theory (Bühlmann and Straub 1970), with fixed-point
rounds over the keys. Smoothing of weights: Beaumont (2008).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.core.risk.file_risk import sum_of_products
from riskcore.models.cell_table import CellTable
from riskcore.models.codes import Ints

Floats = NDArray[np.float64]

_ROUNDS, _AGAIN = 50, 2  # over all keys, of a fit and of a fit without a group
_TOLERANCE = 1e-4  # largest relative change of a factor by the last round


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SmoothedWeights:
    """The mean weight of cells: main effects of the keys, and shrunk own means."""

    base: float  # the mean weight, where all factors are 1
    factors: tuple[Floats, ...]  # of categories by key; 1 where one does not occur
    within: float  # relative variance of the weights of records within cells
    between: float  # and of the mean weights of cells around the factors

    @classmethod
    def of(cls, table: CellTable) -> Self | None:
        """Return the smoothing of the weights of a sample; None if no cell shows it."""
        if table.weight_spread is None or not table.weight_spread.any():
            return None
        weights = Weights.of(table, table.records)
        ones = tuple(np.ones(size) for size in table.levels)
        return cls._fitted(weights, ones, _ROUNDS)

    @classmethod
    def _fitted(cls, weights: Weights, factors: Sequence[Floats], rounds: int) -> Self:
        """Return the fixed point of rounds over the keys, from some factors on."""
        new_factors = list(factors)
        base, free = weights.mean, 1.0
        mean = _product(base, new_factors, weights.codes)
        for _ in range(rounds):
            residual = weights.residual(mean, free)
            far, free = 0.0, 1.0
            for key, old in enumerate(new_factors):
                code = weights.codes[key]
                others = mean / old[code]
                new_factors[key], parameters = weights.factor(key, others, residual)
                mean = others * new_factors[key][code]
                far = max(far, float(np.abs(new_factors[key] / old - 1.0).max()))
                free += parameters
            scale = weights.mean * weights.n / _sum(weights.f * mean)
            base, mean = base * scale, mean * scale
            if far < _TOLERANCE:
                break
        within, between = weights.variances(mean, free)
        return cls(base, tuple(new_factors), within, between)

    def without(self, table: CellTable, records: Ints) -> Self:
        """Return the smoothing with fewer records, each of its cell's mean weight."""
        smoothing = self._fitted(Weights.of(table, records), self.factors, _AGAIN)
        return smoothing if math.isfinite(smoothing.within) else self

    def mean_weight(self, table: CellTable, sample: CellTable | None = None) -> Floats:
        """Return the smoothed mean weight of cells, coded as the sample."""
        f = table.records.astype(np.float64)
        own: Floats = table.weight_sum / f
        if self.within == 0.0:
            return own
        expected = self._expected(table, own, sample)
        kept = self.between / (self.between + self.within / f)
        smoothed = expected + kept * (own - expected)
        # Records without a weight stand for nobody else.
        return np.where(own > 0.0, smoothed, 0.0)

    def _expected(
        self, table: CellTable, own: Floats, sample: CellTable | None
    ) -> Floats:
        """Return the product of the factors of cells; their mean over unknown keys."""
        product = _product(self.base, self.factors, table.codes)
        open_ = ~table.complete
        if not open_.any():
            return product
        product[open_] = own[open_]
        if sample is not None:
            sample_product = _product(self.base, self.factors, sample.codes)
            mean = table.some(open_).means_in(sample, sample_product)
            product[open_] = np.where(np.isnan(mean), own[open_], mean)
        return product

    @property
    def in_words(self) -> str:
        """The two spreads, as relative standard deviations."""
        within, between = math.sqrt(self.within), math.sqrt(self.between)
        return f"spread {within:.2f} within cells, {between:.2f} between"

    def __repr__(self) -> str:
        return f"<SmoothedWeights: {self.in_words}>"


class Weights(NamedTuple):
    """Cells with records: codes, levels, f, W and the relative squares within them."""

    codes: tuple[Ints, ...]
    levels: tuple[int, ...]
    f: Floats
    W: Floats
    spread: Floats
    n: float
    mean: float

    @classmethod
    def of(cls, table: CellTable, records: Ints) -> Self:
        """Return cells with some of their records, of the mean weight."""
        assert table.weight_spread is not None
        left = np.flatnonzero(records)
        f = records[left].astype(np.float64)
        share = f / table.records[left]
        W = table.weight_sum[left] * share
        n = float(f.sum())
        codes = tuple(column[left] for column in table.codes)
        spread = table.weight_spread[left] * share
        return cls(codes, table.levels, f, W, spread, n, _sum(W) / n)

    def factor(self, key: int, others: Floats, residual: float) -> tuple[Floats, float]:
        """Return shrunk factors of a key given the others, and how many are free."""
        # Their variance is found by moments, from the ratios of the sums of weights of
        # the categories to what the other keys let expect.
        codes, size = self.codes[key], self.levels[key]
        factor = np.ones(size)
        records = np.bincount(codes, self.f, size)
        occurs = records > 0.0
        r, many = records[occurs], int(occurs.sum())
        if many < 2:
            return factor, 0.0
        expected = np.bincount(codes, self.f * others, size)[occurs]
        ratio = np.bincount(codes, self.W, size)[occurs] / expected
        ratio *= self.n / _sum(r * ratio)
        far = _sum(r * (ratio - 1.0) ** 2) - (many - 1) * residual
        variance = far / (self.n - _sum(r * r) / self.n)
        if not variance > 0.0:
            return factor, 0.0
        kept = variance / (variance + residual / r)
        factor[occurs] = 1.0 + kept * (ratio - 1.0)
        return factor, max(_sum(kept) - 1.0, 0.0)

    def residual(self, mean: Floats, free: float) -> float:
        """Return the relative variance of the weights of records around means."""
        within, between = self._squares(mean)
        return (_sum(within) + _sum(between)) / max(self.n - free, 1.0)

    def variances(self, mean: Floats, free: float) -> tuple[float, float]:
        """Return the relative variances within cells and between them, by moments."""
        within, between = self._squares(mean)
        pairs = self.n - len(self.f)
        if not pairs > 0.0:
            return math.nan, math.nan
        inside = _sum(within) / pairs
        far = _sum(between) - max(len(self.f) - free, 0.0) * inside
        spare = self.n - _sum(self.f * self.f) / self.n
        return inside, max(far / spare, 0.0) if spare > 0.0 else 0.0

    def _squares(self, mean: Floats) -> tuple[Floats, Floats]:
        """Return the sums of squares within each cell, and of cells around means."""
        ratio = self.W / (self.f * mean)
        return self.spread * ratio * ratio, self.f * (ratio - 1.0) ** 2


def _product(base: float, factors: Sequence[Floats], codes: Sequence[Ints]) -> Floats:
    """Return base times the factor of each cell's categories; any value counts as 1."""
    product = np.full(len(codes[0]) if codes else 1, base)
    for factor, column in zip(factors, codes, strict=True):
        product *= np.append(factor, 1.0)[column]
    return product


def _sum(values: NDArray[Any]) -> float:
    """Return the correctly rounded sum of numbers that are not negative."""
    return sum_of_products(np.ascontiguousarray(values))
