"""The curve of thresholds, and the classes of risk that charts show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from riskcore.core.risk.file_risk import Counts, Risks
from riskcore.core.risk.histogram import class_counts, decimals, log_edges
from riskcore.core.risk.threshold import RiskDistribution


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """A distribution of risk at some thresholds and in classes, as sums of records."""

    threshold: Risks  # rising, from the smallest risk to the largest, shape (M,)
    unsafe: Counts  # records with risk >= threshold
    risk_below: Risks  # sum of the risks below the threshold, rounded to a double
    risk_below_rest: Risks  # the remainder of this sum
    complete: bool  # whether the thresholds are all distinct risks
    edges: Risks  # bounds of the classes of risk, shape (B + 1,)
    counts: Counts  # records in each class, which contains its lower bound
    n: int
    rate: float


def risk_curve(
    distribution: RiskDistribution,
    most: int = 2000,
    *,
    include: Iterable[float] = (),
    edges: ArrayLike | None = None,
) -> RiskCurve:
    """Return a distribution of risk, exact at ``most`` thresholds or fewer.

    The thresholds are all distinct risks if there are at most ``most``. Otherwise they
    are even over three scales: over log risk, the decimal numbers of two digits within
    the range (of one digit, or powers of ten, if those are more than ``most``/2); over
    the riskiest, the ``most``/4 largest risks; over records, the observed risks at even
    steps from the smallest to the largest. ``include`` are further ones. CASC (2004)
    deliverable 1.2-D3, sections 4 and 7.3.
    """
    if most < 4:
        raise ValueError(f"most={most}: need 4 thresholds or more")
    complete = len(distribution.risk) <= most
    chosen = distribution.risk if complete else _chosen(distribution, most, include)
    thresholds = chosen.tolist()
    sums = [distribution.sum_below(t) for t in thresholds]
    below = [float(s) for s in sums]
    rest = [float(s - type(s)(b)) for s, b in zip(sums, below, strict=True)]
    if edges is None:
        edges = log_edges(float(distribution.risk[0]), distribution.max_risk)
    edges = np.asarray(edges, dtype=np.float64)
    return RiskCurve(
        threshold=chosen,
        unsafe=np.array([distribution.unsafe_count(t) for t in thresholds]),
        risk_below=np.array(below),
        risk_below_rest=np.array(rest),
        complete=complete,
        edges=edges,
        counts=class_counts(distribution, edges),
        n=distribution.n,
        rate=distribution.reidentification_rate,
    )


def _chosen(
    distribution: RiskDistribution, most: int, include: Iterable[float]
) -> Risks:
    """Return at most ``most`` thresholds, and those to include, within the range."""
    risk = distribution.risk
    low, high = float(risk[0]), distribution.max_risk
    round_numbers = _round_numbers(low, high, most // 2)
    riskiest = risk[-(most // 4) :]
    # The records at even steps, in whole numbers: the first is 0, the last is n - 1.
    steps = max(most - len(round_numbers) - len(riskiest) - 1, 1)
    ranks = [i * (distribution.n - 1) // steps for i in range(steps + 1)]
    even = risk[np.searchsorted(np.cumsum(distribution.frequency), ranks, "right")]
    asked = np.array([t for t in include if low < t < high], dtype=np.float64)
    return np.unique(np.concatenate([round_numbers, riskiest, even, asked]))


def _round_numbers(low: float, high: float, most: int) -> Risks:
    """Return the decimal numbers of two digits within the range, or coarser ones."""
    numbers = np.zeros(0)
    for mantissas in (range(10, 100), range(1, 10), [1]):
        numbers = decimals(mantissas, max(low, 1e-320), high)
        numbers = numbers[(low < numbers) & (numbers < high)]
        if len(numbers) <= most:
            return numbers
    return numbers[:0]


def shared_edges(distributions: Iterable[RiskDistribution]) -> Risks:
    """Return bounds of classes for the risks, above 0, of several distributions."""
    files = list(distributions)
    return log_edges(
        min(float(file.risk[0]) for file in files), max(file.max_risk for file in files)
    )
