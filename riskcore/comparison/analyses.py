"""Results of a user's own analyses before and after: models and tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from riskcore.assessment.reported_figures import code
from riskcore.common.words import (
    Number,
    by_count,
    counted,
    joined,
    listed,
    sentence,
    shortened,
)

Z = 1.959963984540054  # of a 95 % interval, by the normal distribution
_NAMED = 5
_LONGEST_NAME = 60

Status = Literal["unchanged", "changed", "no verdict"]
Interval = tuple[float, float]


def category_of(name: Any, category: Any) -> str:
    """Return a category with the name of its variable."""
    text = str(category)
    return f"{name} {'' if text[:1] in ('<', '>') else '= '}{text}"


def overlap(before: Interval, after: Interval) -> float | None:
    """Return the mean share of two intervals that they have in common.

    Karr et al. (2006). It is 1 if they are equal, and negative if they are disjoint:
    then minus the mean of the gap as a share of each. None if one has no length.
    """
    lengths = [high - low for low, high in (before, after)]
    if not min(lengths) > 0:
        return None
    common = min(before[1], after[1]) - max(before[0], after[0])
    return (common / lengths[0] + common / lengths[1]) / 2


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of a model before and after.

    Attributes
    ----------
    term : str
        The predictor, and its category; of an interaction both.
    before, after : float or None
        The estimates; None if there is no finite one.
    error_before, error_after : float or None
        Their standard errors; None if all residuals are 0.
    """

    term: str
    before: float | None
    error_before: float | None
    after: float | None
    error_after: float | None

    @property
    def interval_before(self) -> Interval | None:
        """The 95 % confidence interval before."""
        return _interval(self.before, self.error_before)

    @property
    def interval_after(self) -> Interval | None:
        """The 95 % confidence interval after."""
        return _interval(self.after, self.error_after)

    @property
    def overlap(self) -> float | None:
        """The overlap of the two confidence intervals (Karr et al. 2006).

        The mean share of each that both have in common: 1 if they are equal, negative
        if they are disjoint.
        """
        before, after = self.interval_before, self.interval_after
        if before is None or after is None:
            return None
        return 1.0 if before == after else overlap(before, after)

    @property
    def difference(self) -> float | None:
        """The change of the estimate in standard errors before (Snoke et al. 2018)."""
        if self.before is None or self.after is None or not self.error_before:
            return None
        return (self.after - self.before) / self.error_before

    @property
    def change(self) -> str:
        """The conclusion that changes: "sign", "significance", "estimate", or none.

        An estimate is significant if its interval does not have 0. A sign changes if
        both estimates are significant. "estimate" means that one of the files alone
        has a finite estimate.
        """
        signs = [_sign(x) for x in (self.interval_before, self.interval_after)]
        if signs[0] == signs[1]:
            return ""
        if None in signs:
            return "estimate"
        return "significance" if 0 in signs else "sign"

    @property
    def disjoint(self) -> bool:
        """Whether the two intervals have nothing in common."""
        return self.overlap is not None and self.overlap < 0


def _interval(estimate: float | None, error: float | None) -> Interval | None:
    if estimate is None or error is None:
        return None
    return estimate - Z * error, estimate + Z * error


def _sign(interval: Interval | None) -> int | None:
    """Return the sign of what an interval shows, 0 if it has 0."""
    if interval is None:
        return None
    return (interval[0] > 0) - (interval[1] < 0)


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """A regression before and after.

    Attributes
    ----------
    formula : str
    kind : {"logistic", "linear"}
    response : str
        What is modeled: a number, or the category whose probability it is.
    variables : tuple of str
        The columns of the model, the response first.
    weighted : bool
        Whether weights were used; then standard errors are robust.
    base : dict of str to str
        The first category of each predictor, with which the others are compared.
    records_before, records_after : int
        The records with a value of every variable of the model.
    incomplete_before, incomplete_after : int
        The records left out because a value is missing.
    coefficients : tuple of Coefficient
        The intercept first; empty if the fit failed.
    notes : tuple of str
        What else the estimates leave out.
    reason : str
        Why there is no verdict.
    """

    formula: str
    kind: str
    response: str
    variables: tuple[str, ...]
    weighted: bool
    base: dict[str, str]
    records_before: int
    records_after: int
    incomplete_before: int
    incomplete_after: int
    coefficients: tuple[Coefficient, ...]
    notes: tuple[str, ...]
    reason: str

    @property
    def slopes(self) -> tuple[Coefficient, ...]:
        """The coefficients but the intercept that a file has an estimate of."""
        return tuple(
            coefficient
            for coefficient in self.coefficients[1:]
            if coefficient.before is not None or coefficient.after is not None
        )

    @property
    def changed(self) -> tuple[Coefficient, ...]:
        """The slopes whose sign or significance changes."""
        return tuple(slope for slope in self.slopes if slope.change)

    @property
    def disjoint(self) -> tuple[Coefficient, ...]:
        """The other slopes whose intervals are disjoint."""
        return tuple(x for x in self.slopes if x.disjoint and not x.change)

    @property
    def status(self) -> Status:
        """Whether conclusions change: "unchanged", "changed" or "no verdict"."""
        if self.reason:
            return "no verdict"
        return "changed" if self.changed or self.disjoint else "unchanged"

    @property
    def verdict(self) -> str:
        """The verdict as a sentence."""
        if self.reason:
            return sentence("no verdict: {why}", self.reason)
        m = len(self.slopes)
        if self.status == "unchanged":
            keep, least = _all_keep(m), _least(self.slopes)
            return sentence("conclusions unchanged: {keep}{overlap}", keep, least)
        said = []
        if n := len(self.changed):
            said.append(
                by_count(
                    n,
                    "{n} of {coefficients} changes sign or significance: {names}",
                    "{n} of {coefficients} change sign or significance: {names}",
                    *(n, counted(m, "coefficient"), _named(self.changed)),
                )
            )
        if n := len(self.disjoint):
            said.append(
                by_count(
                    n,
                    "{n} of {coefficients} keeps its conclusion, but its intervals "
                    "before and after do not overlap: {names}",
                    "{n} of {coefficients} keep theirs, but the intervals before and "
                    "after do not overlap: {names}",
                    *(n, counted(m, "coefficient"), _named(self.disjoint)),
                )
            )
        return joined("; ", said)

    def to_dict(self) -> dict[str, Any]:
        """Return the model before and after as plain data for JSON.

        Returns
        -------
        dict
            Text, finite numbers, None, dicts and lists.
        """
        rows = [
            {
                **asdict(coefficient),
                "interval_before": _list(coefficient.interval_before),
                "interval_after": _list(coefficient.interval_after),
                "overlap": coefficient.overlap,
                "difference": coefficient.difference,
                "change": coefficient.change,
            }
            for coefficient in self.coefficients
        ]
        return {
            **asdict(self),
            "status": self.status,
            "verdict": self.verdict,
            "coefficients": rows,
            "variables": list(self.variables),
            "notes": list(self.notes),
        }


def _all_keep(m: int) -> str:
    if m == 1:
        return sentence("the coefficient keeps its sign and significance")
    return sentence("all {n} coefficients keep their sign and significance", m)


def _least(coefficients: Sequence[Coefficient]) -> str:
    """Return how much the intervals overlap, in words."""
    overlaps = [(x.overlap, x.term) for x in coefficients if x.overlap is not None]
    if not overlaps:
        return ""
    least, term = min(overlaps, key=lambda pair: pair[0])
    if len(overlaps) == 1:
        return sentence(", its intervals overlap by {n} %", _percent(least))
    if least == 1:
        return sentence(", and no interval moves")
    where = shortened(term, _LONGEST_NAME)
    return sentence(
        ", their intervals overlap by at least {n} % ({term})", _percent(least), where
    )


def _percent(share: float, form: str = ".3g") -> Number:
    return Number(format(100 * share, form))


def _named(coefficients: Sequence[Coefficient]) -> str:
    return some([coefficient.term for coefficient in coefficients])


def some(names: Sequence[str]) -> str:
    """Return the first names and the number of the others."""
    first = [shortened(name, _LONGEST_NAME) for name in names[:_NAMED]]
    more = len(names) - len(first)
    return listed([*first, sentence("{n} more", more)] if more else first)


def _list(interval: Interval | None) -> list[float] | None:
    return None if interval is None else list(interval)


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table before and after.

    Attributes
    ----------
    categories : tuple
        The category of each column.
    share_before, share_after : float
        Shares of the weight.
    margin : float
        Half the 95 % confidence interval of the share before.
    """

    categories: tuple[Any, ...]
    share_before: float
    share_after: float
    margin: float

    @property
    def change(self) -> float:
        """The share after less the share before."""
        return self.share_after - self.share_before

    @property
    def outside(self) -> bool:
        """Whether the share after is outside the interval of the share before."""
        return abs(self.change) > self.margin


@dataclass(frozen=True, slots=True)
class TableComparison:
    """A table of weighted shares before and after.

    Attributes
    ----------
    columns : tuple of column names
    records_before, records_after : int
        The records with a value in every column.
    incomplete_before, incomplete_after : int
        The records left out because a value is missing.
    total_variation : float or None
        Half the sum of the changes, see `KeyComparison`.
    cells : tuple of TableCell
        In the order of the categories; empty without a verdict.
    reason : str
        Why there is no verdict.
    weight_before, weight_after : float or None
        The weight of the complete records, of which the cells have shares.
    """

    columns: tuple[Any, ...]
    records_before: int
    records_after: int
    incomplete_before: int
    incomplete_after: int
    total_variation: float | None
    cells: tuple[TableCell, ...]
    reason: str
    weight_before: float | None = None
    weight_after: float | None = None

    @property
    def name(self) -> str:
        """The columns, with `` x `` in between."""
        return " x ".join(map(str, self.columns))

    @property
    def outside(self) -> tuple[TableCell, ...]:
        """The cells whose share leaves the interval that it had before."""
        return tuple(cell for cell in self.cells if cell.outside)

    @property
    def largest(self) -> TableCell | None:
        """The cell whose share changes most."""
        return max(self.cells, key=lambda cell: abs(cell.change), default=None)

    @property
    def status(self) -> Status:
        """Whether the shares change: "unchanged", "changed" or "no verdict"."""
        if self.reason:
            return "no verdict"
        return "changed" if self.outside else "unchanged"

    @property
    def verdict(self) -> str:
        """The verdict as a sentence."""
        if self.reason or self.largest is None:
            return sentence("no verdict: {why}", self.reason)
        largest = self.largest
        m, n = len(self.cells), len(self.outside)
        said = by_count(
            n,
            "{n} of {shares} leaves its 95 % interval",
            "{n} of {shares} leave their 95 % interval",
            *(n, counted(m, "share")),
        )
        if not n:
            said = sentence(
                "conclusions unchanged: the share stays within its 95 % interval"
                if m == 1
                else "conclusions unchanged: all {n} shares stay within their 95 % "
                "intervals",
                *[m][: m - 1],
            )
        if largest.change == 0:
            return sentence("{verdict}; no share changes", said)
        cell = zip(self.columns, largest.categories, strict=True)
        where = ", ".join(
            shortened(category_of(name, category), _LONGEST_NAME)
            for name, category in cell
        )
        return sentence(
            "{verdict}; the largest change is {change} percentage points, at {where}: "
            "{before} % before, {after} % after",
            *(said, _percent(largest.change, "+.3g"), where),
            *map(_percent, (largest.share_before, largest.share_after)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the table before and after as plain data for JSON.

        Returns
        -------
        dict
            Text, finite numbers, None, dicts and lists.
        """
        cells = [
            {
                **asdict(cell),
                "categories": list(map(code, cell.categories)),
                "change": cell.change,
                "outside": cell.outside,
            }
            for cell in self.cells
        ]
        return {
            **asdict(self),
            "columns": list(map(str, self.columns)),
            "status": self.status,
            "verdict": self.verdict,
            "cells": cells,
        }
