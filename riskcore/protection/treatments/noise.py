"""Additive noise: normal deviates in proportion to the standard deviation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riskcore.common.arrays import Floats
from riskcore.common.words import sentence
from riskcore.comparison.regression import factored
from riskcore.protection.treatments.noise_kernels import fill_normal
from riskcore.protection.treatments.rules import (
    Given,
    ShareTreatment,
    enter,
    mean_of,
    percent_words,
    rounded_as,
    uniform,
)

_ALIASED = 1e-12


@enter
@dataclass(frozen=True, slots=True)
class Noise(ShareTreatment):
    """Values get normal noise; zeros, which often mean "none", stay zeros.

    ``share`` is its standard deviation, as a share of that of the values.
    ``correlated``: the noise of several columns has their covariance, and the sum is
    shrunk towards the mean so that means and covariances stay (Kim 1986), those of the
    records that have all the columns, none of them 0.
    """

    correlated: bool = False
    relative: bool = False  # of each value, in place of the standard deviation

    most = 10.0
    kind = "noise"
    alters = True
    random = True

    @property
    def columns(self) -> tuple[int, float]:
        """The fewest and the most columns that it takes together."""
        return (2, math.inf) if self.correlated and not self.relative else (1, 1)

    def describe(self, public: bool) -> str:
        """Return "with noise of 10 % of the standard deviation, zeros kept"."""
        of = sentence("each value" if self.relative else "the standard deviation")
        return sentence(
            "with noise of {share} of {what}, zeros kept, means and covariances kept"
            if self.correlated
            else "with noise of {share} of {what}, zeros kept",
            *(percent_words(self.share), of),
        )

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the values with noise."""
        n = len(values[0])
        # Standard normal ones, the same bits on every machine.
        deviates = uniform(context.numbers(n * len(values)))
        fill_normal(deviates.size, deviates)
        deviates = deviates.reshape(len(values), n)
        work = self._correlated if self.columns[1] > 1 else self._added
        return [
            np.where(old == 0.0, 0.0, rounded_as(new, old))
            for old, new in zip(values, work(values, deviates, context), strict=True)
        ]

    def _added(
        self, values: Sequence[Floats], deviates: Floats, context: Given
    ) -> list[Floats]:
        """Return the sum of one column and noise."""
        (x,) = values
        if self.relative:
            return [x + self.share * x * deviates[0]]
        present = ~np.isnan(x)
        if np.count_nonzero(present) < 2:
            return [x.copy()]
        weights = None if context.weights is None else context.weights[present]
        _, covariance = _moments(x[present][:, None], weights)
        return [x + self.share * math.sqrt(covariance[0, 0]) * deviates[0]]

    def _correlated(
        self, values: Sequence[Floats], deviates: Floats, context: Given
    ) -> list[Floats]:
        """Return columns with noise of their covariance, shrunk to keep it."""
        x = np.stack(values, axis=1)
        full = (~np.isnan(x) & (x != 0.0)).all(axis=1)
        fewest = 2 * (len(values) + 1)
        if np.count_nonzero(full) < fewest:
            raise ValueError(
                f"{context.label}: needs at least {fewest} records that have all the "
                f"columns, none of them 0, and there are {np.count_nonzero(full)}; "
                "treat the columns one by one"
            )
        weights = None if context.weights is None else context.weights[full]
        mean, covariance = _moments(x[full], weights)
        # A column that follows from those before it adds nothing.
        factor, _ = factored(covariance, _ALIASED * covariance.diagonal())
        shrink = math.sqrt(1.0 + self.share * self.share)
        out = []
        for j, row in enumerate(factor):
            noise = np.zeros(len(x))
            for part, deviate in zip(row[: j + 1], deviates, strict=False):
                noise = noise + part * deviate
            out.append(mean[j] + (x[:, j] - mean[j] + self.share * noise) / shrink)
        return out


def _moments(x: Floats, weights: Floats | None) -> tuple[list[float], Floats]:
    """Return the means and the covariances of columns, shape (n, p), n > 1."""
    n = len(x)
    mean = [mean_of(column, weights) for column in x.T]
    apart = [column - center for column, center in zip(x.T, mean, strict=True)]
    products = [[mean_of(a * b, weights) for b in apart] for a in apart]
    return mean, np.array(products) * (n / (n - 1))
