"""The spread of the frequencies of windows, around each record of a sample.

Windows share records, so they are no partition of the sample, and those that are seen
are seen because a record is in their middle. Given that record, a window of mean m and
shape t has a gamma number of shape t + 1 instead of t, and the other f - 1 records are

    P(f - 1) = (t+1)_{f-1}/(f-1)! (m/(m+t))^(f-1) (t/(m+t))^(t+1).

The likeliest shape a m^b maximizes the product over all records, a composite likelihood
(Lindsay 1988): windows are not independent, which costs precision and no bias. Records
of a cluster count once, as in `riskcore.models.overdispersion`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from riskcore.core.special.gamma.functions import (
    digamma_deficit,
    log,
    log1p,
    log1pmx,
    log_rising_excess,
)
from riskcore.data.windows import SortedCells
from riskcore.models.cell_table import CellTable
from riskcore.models.clusters import Clusters
from riskcore.models.codes import Ints
from riskcore.models.overdispersion import (
    ALONE,
    EXPONENTS,
    NEXT_TO_NONE,
    POISSON,
    Overdispersion,
    by_record,
    clusters_per_record,
    kind_of,
    likeliest,
    part_of,
)

Floats = NDArray[np.float64]

_NONE = 2.0**-100  # practically no probability


def fit_in_windows(
    sample: CellTable, probability: Callable[[Ints], Floats], kind: str = "power"
) -> Overdispersion:
    """Return the likeliest law of the shape; ``probability`` gives pi of windows."""
    kind = kind_of(kind)
    cells = part_of(sample.records, "power")
    if kind == "none":
        return Overdispersion()
    pi, f = np.maximum(probability(cells), _NONE), sample.frequency[cells]
    r, share, between = sample.records[cells], 1.0, ""
    m = sample.n * pi
    if sample.clusters is not None:
        between = " of different clusters"
        counted = clusters_in(sample, sample.clusters, cells)
        m = m * clusters_per_record(pi, r * f, r * counted)
        share, f = float((r * counted).sum() / (r * f).sum()), counted
    if not (f > 1).any():
        return Overdispersion(kind=kind, reason=ALONE + between)
    windows = Windows(m, f.astype(np.float64), r.astype(np.float64))
    exponents = EXPONENTS if kind == "power" else (1.0,)
    scale, exponent = likeliest(windows, m, exponents, windows.poisson())
    reason = POISSON if math.isinf(scale) else NEXT_TO_NONE if math.isnan(scale) else ""
    return by_record(Overdispersion(scale, exponent, kind, reason), share)


class Windows:
    """Likelihood of records around ``r`` in the middle; shapes a times ``powers``."""

    def __init__(self, m: Floats, f: Floats, r: Floats) -> None:
        self.m, self.f, self.r, self.log_m = m, f, r, log(m)

    def poisson(self) -> float:
        """Return the sum of log P + log (f-1)! without overdispersion."""
        return math.fsum((self.r * ((self.f - 1.0) * self.log_m - self.m)).tolist())

    def height(self, a: float, each: Floats) -> float:
        """Return the sum of log P + log (f-1)!."""
        t, f = a * each, self.f
        logs = log_rising_excess(t, f) + (f - 1.0) * self.log_m
        logs -= (f + t) * log1p(self.m / t)
        return math.fsum((self.r * logs).tolist())

    def slope(self, a: float, each: Floats) -> float:
        """Return a times the derivative of `height` by a."""
        t, f = a * each, self.f
        x = self.m / t
        gain = f * (x / (1.0 + x)) - t * (log1pmx(x) + x * (x / (1.0 + x)))
        return math.fsum((self.r * (gain - t * digamma_deficit(t, f))).tolist())


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
