"""The charts of the office's page: their data, numbers and starting thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from riskcore.assessment.assessment import Assessment
from riskcore.common.html import digits, percent, readable, short
from riskcore.common.words import Number, Write, printable, sentence
from riskcore.core.risk.file_risk import Counts, Risks
from riskcore.core.risk.histogram import class_counts, decimals, log_edges
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.report.page_charts import Outline, interval, risk_plot


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


RECORDS, HOUSEHOLDS = 0, 1
# Number of outlines that the style knows.
_KINDS = 3
_LEVELS = {
    RECORDS: sentence("individual risk"),
    HOUSEHOLDS: sentence("household risk"),
}


@dataclass(frozen=True, eq=False)
class ChartView:
    """The chart of one stage, of individual or of household risk."""

    stage: int
    level: int
    name: str
    distribution: RiskDistribution
    units: RiskDistribution
    curve: RiskCurve
    given: float | None
    others: tuple[Outline, ...]

    @property
    def only(self) -> bool:
        """Whether this is the only stage."""
        return not self.others

    @property
    def id(self) -> str:
        """The id of the figure."""
        return f"view-{self.stage}-{self.level}"

    @property
    def risk(self) -> str:
        """The name of the risk."""
        return _LEVELS[self.level]

    @property
    def of_households(self) -> bool:
        """Whether the risk is the household risk."""
        return self.level == HOUSEHOLDS

    @property
    def drawing(self) -> str:
        """The chart as SVG."""
        own, edges, text = self.distribution, self.curve.edges, f"{self.id}-text"
        return risk_plot(own, edges, self.start, self.risk, text, self.others)

    @cached_property
    def start(self) -> float:
        """The threshold shown first, chosen among the thresholds of the page."""
        start = self.given
        if start is None:
            start = self.distribution.threshold_for_unsafe(self.distribution.n // 100)
            start = min(start, self.distribution.max_risk)
        k = int(np.searchsorted(self.curve.threshold, start))
        ends = k == 0 or k == len(self.curve.threshold)
        if self.curve.complete or ends or self.curve.threshold[k] == start:
            return start
        return float(self.curve.threshold[k - 1])

    @property
    def boxes(self) -> dict[str, tuple[str, str]]:
        """The numbers in the three boxes at first: as shown, and with all digits."""
        t = self.start
        count, rate = str(self.units.unsafe_count(t)), self.distribution.capped_rate(t)
        return {
            "threshold": (short(t), digits(t)),
            "count": (count, count),
            "rate": (short(rate, 2), digits(rate, 2)),
        }

    @property
    def slots(self) -> dict[str, str]:
        """The numbers of the sentences about the first threshold."""
        t, own = self.start, self.distribution
        unsafe = own.unsafe_count(t)
        return {
            "name": self.name,
            "threshold": short(t),
            "count": f"{self.units.unsafe_count(t):,}",
            "of": f"{self.units.n:,}",
            "records": f"{unsafe:,}",
            "n": f"{own.n:,}",
            **{name: readable(x, 2) for name, x in self._rates.items()},
        }

    @property
    def exact(self) -> dict[str, str]:
        """The rates of these sentences with all digits, in per cent."""
        return {name: digits(x, 2) for name, x in self._rates.items()}

    @property
    def _rates(self) -> dict[str, float]:
        t, own = self.start, self.distribution
        return {
            "share": own.unsafe_count(t) / own.n,
            "rate": own.reidentification_rate,
            "capped": own.capped_rate(t),
            "safe": own.safe_rate(t),
        }

    @property
    def classes(self) -> list[list[str]]:
        """The table behind the chart: a line for each class of risk."""
        return _class_lines(self.distribution, self.curve.edges, self.curve.counts)

    def data(self) -> dict[str, Any]:
        """Return the data for the script of the page."""
        curve = self.curve
        values = {
            "stage": self.stage,
            "level": self.level,
            "name": printable(self.name),
            "n": curve.n,
            "rate": curve.rate,
            "complete": curve.complete,
            "axis": curve.edges[[0, -1]].tolist(),
            "start": self.start if math.isfinite(self.start) else None,
            "threshold": curve.threshold.tolist(),
            "records": curve.unsafe.tolist(),
            "sum": curve.risk_below.tolist(),
            "rest": curve.risk_below_rest.tolist(),
        }
        if self.of_households:
            values["count"] = [self.units.unsafe_count(t) for t in curve.threshold]
        return values


def class_chart(
    stages: Mapping[str, Assessment],
    level: int,
    threshold: float | None,
    description: str,
    write: Write,
) -> tuple[str, list[list[str]], tuple[Outline, ...]]:
    """Return the chart of the last stage as SVG, its classes, and the other stages."""
    distributions = [_distributions(x, level) for x in stages.values()]
    risks = [pair[0] for pair in distributions if pair]
    edges = shared_edges(risks)
    outlines = [
        Outline(f"stage-{stage % _KINDS}", name, class_counts(own, edges))
        for stage, (name, own) in enumerate(zip(stages, risks, strict=True))
    ]
    *others, last = outlines
    name = _LEVELS[level]
    plot = risk_plot(risks[-1], edges, threshold, name, description, others, write)
    return plot, _class_lines(risks[-1], edges, last.counts), tuple(others)


def _class_lines(
    own: RiskDistribution, edges: Risks, counts: Counts
) -> list[list[str]]:
    """Return a line for each class of risk."""
    lines = []
    for (low, high), count in zip(
        pairwise(edges.tolist()), counts.tolist(), strict=True
    ):
        unsafe = own.unsafe_count(low)
        rates = unsafe / own.n, own.capped_rate(low)
        line = [interval(low, high), Number(f"{count:,}"), Number(f"{unsafe:,}")]
        lines.append([*line, *map(percent, rates)])
    return lines


def chart_views(
    stages: Mapping[str, Assessment],
    threshold: float | None,
    household_threshold: float | None,
) -> list[ChartView]:
    """Return the charts; charts of one level have the same classes."""
    views = []
    for level, limit in ((RECORDS, threshold), (HOUSEHOLDS, household_threshold)):
        distributions = [_distributions(entry, level) for entry in stages.values()]
        if None in distributions:
            continue
        pairs = [pair for pair in distributions if pair]
        edges = shared_edges(pair[0] for pair in pairs)
        include = [] if limit is None else [limit]
        curves = [risk_curve(own, include=include, edges=edges) for own, _ in pairs]
        outlines = [
            Outline(f"stage-{stage % _KINDS}", name, curve.counts)
            for stage, (name, curve) in enumerate(zip(stages, curves, strict=True))
        ]
        for stage, (entry, (own, units), curve) in enumerate(
            zip(outlines, pairs, curves, strict=True)
        ):
            others = tuple(outline for outline in outlines if outline is not entry)
            views.append(
                ChartView(stage, level, entry.name, own, units, curve, limit, others)
            )
    return views


def _distributions(
    assessment: Assessment, level: int
) -> tuple[RiskDistribution, RiskDistribution] | None:
    """Return the risks of records, and of the units counted: records or households."""
    if level == RECORDS:
        return assessment.distribution, assessment.distribution
    groups = assessment.households
    if groups is None:
        return None
    return groups.distribution, RiskDistribution(groups.risk)
