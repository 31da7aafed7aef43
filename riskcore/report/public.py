"""Figures of a file for publication: classes of risk, and rounded numbers.

The risk of a record that is alone in its cell gives its weight exactly, and an exact
figure gives away which of two versions of a file it comes from. So only classes with
several records are published, the upper bound of each at least twice the lower, and
sums that narrow no single record's class. `notes/reports.md` has rules and reasons.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assessment import Assessment
from riskcore.assessment.beside import apart
from riskcore.assessment.released import ReleasedAssessment
from riskcore.common.html import short
from riskcore.core.risk.file_risk import Counts, Risks, as_threshold
from riskcore.core.risk.histogram import decimals
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.report.page_charts import nice

# Least number of records, cells and households in a class that is not empty.
FEWEST = 3
# How many times as many re-identifications the model expects, in words.
_TIMES = (
    (5.0, "at least five times as many"),
    (2.0, "at least twice as many"),
    (1.0, "more"),
    (0.0, "fewer"),
)
# A threshold with more digits may be a figure of the file.
_DIGITS_ASKED = 3
# Largest share of a sum that one of its parts may have.
_LARGEST_SHARE = 1 / 3

Ids = NDArray[Any]


@dataclass(frozen=True, eq=False)
class View:
    """The risk of each record, or of its household, to one intruder.

    ``limit`` is a threshold that the page says no risk reaches.
    """

    assessment: Assessment
    household: bool = False
    limit: float = math.inf

    @property
    def risk(self) -> Risks:
        """The risk of each record, shape (n,)."""
        file = self.assessment
        return file.household_risk if self.household else file.individual_risk

    @property
    def distribution(self) -> RiskDistribution:
        """The distribution of these risks."""
        groups = self.assessment.households
        if self.household and groups is not None:
            return groups.distribution
        return self.assessment.distribution

    @property
    def units(self) -> list[Ids]:
        """The cell and the household of each record; a class needs several of each."""
        groups = self.assessment.households
        inverse = self.assessment.cells.inverse
        return [inverse] if groups is None else [inverse, groups.inverse]

    @property
    def together(self) -> Counts:
        """How many records may share each risk: a cell of two, or a household."""
        groups, cells = self.assessment.households, self.assessment.cells
        few = np.where(cells.records < FEWEST, cells.records, 1)[cells.inverse]
        return few if groups is None else np.maximum(few, groups.size[groups.inverse])


def views_of(
    assessment: Assessment, limit: float = math.inf, household_limit: float = math.inf
) -> list[View]:
    """Return the view of the records and, if there are households, their view."""
    if assessment.households is None:
        return [View(assessment, limit=limit)]
    # No record has a larger risk than its household.
    own = View(assessment, limit=min(limit, household_limit))
    return [own, View(assessment, household=True, limit=household_limit)]


@dataclass(frozen=True, eq=False)
class PublicClasses:
    """Classes of risk that may be published, made by `public_classes`.

    ``edges`` rise; a class contains its lower bound, the last one also a risk of 1.
    ``counts`` has the number of records in each class for each view.
    """

    edges: Risks
    views: Sequence[View]
    counts: tuple[Counts, ...]

    @property
    def n(self) -> int:
        """The number of records."""
        return int(self.counts[0].sum())

    def at_least(self, view: int) -> Counts:
        """Return the number of records at or above each bound, shape (B + 1,)."""
        return np.append(self.counts[view][::-1].cumsum()[::-1], 0)

    def reaching(self, view: int, threshold: float) -> tuple[int, int]:
        """Return bounds of the number of records at a threshold, by whole classes."""
        at_least = self.at_least(view)
        edges = self.edges.copy()
        if edges[-1] == 1.0:  # the only upper bound that a risk can reach
            edges[-1] = math.nextafter(1.0, 2.0)
        above = int(np.searchsorted(edges, threshold))
        below = int(np.searchsorted(edges, threshold, "right")) - 1
        least = at_least[above] if above < len(at_least) else 0
        return int(least), int(at_least[max(below, 0)])

    def top(self, view: int) -> tuple[float, float]:
        """Return the bounds of the class with the largest risk."""
        k = int(np.flatnonzero(self.counts[view])[-1])
        return float(self.edges[k]), float(self.edges[k + 1])

    def rates(self) -> list[float | None]:
        """Return the re-identification rate by view, None if it would reveal too much.

        A rate is the mean risk of the records. Given the rate and the classes, every
        risk can still be anywhere in its class, and the difference of two rates comes
        from several records or households, and no single one makes up most of it.
        """
        rates: list[float | None] = []
        for k, view in enumerate(self.views):
            rated_views = [self.views[i] for i, x in enumerate(rates) if x is not None]
            spread = all(_spread(_differences(view, other)) for other in rated_views)
            safe = spread and self._leaves_all_open(k)
            rates.append(view.distribution.reidentification_rate if safe else None)
        return rates

    def _leaves_all_open(self, view: int) -> bool:
        """Return whether the sum of the risks narrows no record's class."""
        # A risk is largest if all others are at the lower bounds of their classes, and
        # smallest if they are at the upper bounds.
        own_view, counts = self.views[view], self.counts[view]
        low, high = self.edges[:-1], np.minimum(self.edges[1:], own_view.limit)
        classes = np.searchsorted(self.edges[1:-1], own_view.risk, "right")
        widest = float(np.max((high - low)[classes] * own_view.together))
        total = own_view.distribution.expected_reidentifications
        above = total - math.fsum((counts * low).tolist())
        below = math.fsum((counts * high).tolist()) - total
        return above >= widest and below >= widest


def public_classes(
    views: Sequence[View], unsafe_at: Iterable[float] = ()
) -> PublicClasses | None:
    """Return classes of risk that may be published for all views together."""
    risks = [view.risk for view in views]
    highest = max(float(risk.max()) for risk in risks)
    grid = _grid(
        min(float(risk.min()) for risk in risks),
        max([highest, *(2 * t for t in unsafe_at if math.isfinite(t))]),
    )
    columns = [_Column(view, grid) for view in views]
    barred = [(view.limit / 2, view.limit) for view in views]
    kept = [len(grid) - 1]
    for k in range(len(grid) - 2, -1, -1):
        free = not any(low < grid[k] < high for low, high in barred)
        if free and _may_end(columns, k, kept[-1]):
            kept.append(k)
    while kept[-1] != 0:
        # The rest at the lower end joins the class above it.
        kept.pop()
        if not kept:
            return None
        if all(column.may_be(0, kept[-1]) for column in columns):
            kept.append(0)
    positions = kept[::-1]
    return PublicClasses(
        grid[positions],
        views,
        tuple(np.diff(column.below[positions]) for column in columns),
    )


def _grid(low: float, high: float) -> Risks:
    """Return 1, 2 and 5 times powers of ten, from below the risks to above, or 1."""
    low = min(low, 0.5)
    numbers = decimals((1, 2, 5), low, min(high, 1.0))
    numbers = numbers[numbers <= 1.0]
    first = int(np.searchsorted(numbers, low, "right")) - 1
    last = int(np.searchsorted(numbers, high, "right"))
    return numbers[first : last + 1]


class _Column:
    """The records of a view by the bounds of a grid."""

    def __init__(self, view: View, grid: Risks) -> None:
        classes = np.searchsorted(grid[1:-1], view.risk, "right")
        self.order = np.argsort(classes, kind="stable")
        counts = np.bincount(classes, minlength=len(grid) - 1)
        self.below: Counts = np.concatenate([[0], np.cumsum(counts)])
        self.units = view.units

    def may_be(self, start: int, stop: int) -> bool:
        """Return whether a class is empty, or has several of everything."""
        first, last = int(self.below[start]), int(self.below[stop])
        if first == last:
            return True
        records = self.order[first:last]
        return all(_has_several(ids, records) for ids in self.units)

    def at_least(self, k: int) -> int:
        """Return the number of records at or above a bound."""
        return int(self.below[-1] - self.below[k])


def _has_several(ids: Ids, records: Ids) -> bool:
    # In most classes the first records are enough.
    parts = (records[:1000], records)
    return any(len(np.unique(ids[part])) >= FEWEST for part in parts)


def _may_end(columns: Sequence[_Column], start: int, stop: int) -> bool:
    """Return whether a class may be published for all columns, also next to others."""
    above = [column.at_least(start) for column in columns]
    if any(0 < abs(a - b) < FEWEST for a, b in combinations(above, 2)):
        return False
    return all(column.may_be(start, stop) for column in columns)


def _differences(view: View, other: View) -> Risks:
    """Return the differences between the sums of risks by household, or by record."""
    difference = view.risk - other.risk
    difference[np.abs(difference) <= 1e-12 * view.risk] = 0.0
    groups = view.assessment.households or other.assessment.households
    if groups is None:
        return np.abs(difference)
    return np.abs(np.bincount(groups.inverse, difference))


def _spread(parts: NDArray[Any]) -> bool:
    """Return whether a sum comes from several of its parts, or all are 0."""
    # Three parts are too few: if none is above a third, each is known to be one.
    several = np.count_nonzero(parts) > FEWEST
    return not parts.any() or bool(
        several and parts.max() <= _LARGEST_SHARE * parts.sum()
    )


def public_population(assessment: Assessment) -> float | None:
    """Return the sum of the weights, None if it is unknown or would reveal too much."""
    cells, groups = assessment.cells, assessment.households
    if not cells.weighted or not _spread(cells.weight_sum):
        return None
    if groups is not None:
        mean = (cells.weight_sum / cells.records)[cells.inverse]
        if not _spread(np.bincount(groups.inverse, mean)):
            return None
    return math.fsum(cells.weight_sum.tolist())


def model_facts(assessment: Assessment) -> list[tuple[str, str]]:
    """Return what the model beside the weights says, in words without its figures."""
    beside, estimate = assessment.beside, assessment.by_model
    if estimate is None:
        failed = beside is not None and beside.failure
        words = "no estimate; the weights may say far too little"
        return [("latent-class model", words)] if failed else []
    by_model = estimate.expected_reidentifications
    times = by_model / assessment.expected_reidentifications
    if not apart(times, 1.0):
        return []
    many = next(words for least, words in _TIMES if times >= least)
    return [("latent-class model", f"expects {many} re-identifications")]


# Forms of numbers


def between(least: int, most: int) -> str:
    """Return bounds of a count in words, as `PublicClasses.reaching` gives them."""
    if least == most:
        return f"{most:,}"
    return f"{least:,} to {most:,}" if least else f"at most {most:,}"


def two_digits(x: float, shift: int = 0) -> str:
    """Return a number with two digits, its point moved by ``shift`` digits."""
    text = short(x, shift, 2)
    return f"{int(text):,}" if text.isdecimal() else text


def rounded(x: float) -> float:
    """Return the number that `two_digits` writes."""
    return float(short(x, 0, 2))


def public_rate(rate: float | None, assessment: Assessment) -> tuple[str, float | None]:
    """Return a rate as it is published, and the words before it.

    After protection it depends on the original: in steps it tells little of what was
    suppressed.
    """
    if rate is None or not isinstance(assessment, ReleasedAssessment):
        return "", rate
    return "at most ", nice(rate)


def threshold_shown(threshold: float) -> float:
    """Return a threshold, rounded up to two digits if it has more than three.

    A threshold of up to three digits is somebody's choice; another may be a figure of
    the file.
    """
    threshold = as_threshold(threshold)
    number = Decimal(repr(threshold)).normalize()
    if not number.is_finite() or len(number.as_tuple().digits) <= _DIGITS_ASKED:
        return threshold
    return float(Context(prec=2, rounding=ROUND_CEILING).plus(number))
