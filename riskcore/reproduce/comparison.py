"""What a source prints beside what riskcore computes, and both as text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from riskcore.common.text_table import aligned, markdown_row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FAR = 3.0  # standard deviations from which a printed run is no likely one
VERDICTS = ("reproduced", "consistent", "differs", "no data", "added")


@dataclass(frozen=True)
class Row:
    """One number of a source.

    Attributes
    ----------
    exhibit : str
        The table, figure or section.
    item : str
        What the number is.
    printed : str
        The number as it stands in the source; empty for one that it does not give.
    computed : float
        The number computed, the mean of the replicates of a simulation, or nan if the
        source does not publish what it needs.
    low, high : float
        The range of a number computed from printed, that is rounded, ones; nan for all
        others.
    deviation : float
        The standard deviation of a replicate; nan for what is not simulated.
    why : str
        Why it differs, or how it was found.

    Examples
    --------
    >>> Row("table 1", "rate", "0.25", 0.2503, math.nan, math.nan, math.nan, "").printed
    '0.25'
    """

    exhibit: str
    item: str
    printed: str
    computed: float
    low: float = math.nan
    high: float = math.nan
    deviation: float = math.nan
    why: str = ""

    @property
    def verdict(self) -> str:
        """How the two compare.

        - "reproduced": the number computed, rounded, is the one printed;
        - "consistent": the printed one, unrounded, can lie in the range computed, or
          within three standard deviations of the mean of the replicates;
        - "differs": it cannot;
        - "no data": it cannot be computed from what is published;
        - "added": it is not in the source.
        """
        if not self.printed:
            return "added"
        if math.isnan(self.computed):
            return "no data"
        reach = 0.0
        low = high = self.computed
        if self.deviation >= 0.0:
            reach = _FAR * self.deviation
        elif self.low <= self.high:
            low, high = self.low, self.high
        else:
            return "reproduced" if self._gap(low, high) == 0.0 else "differs"
        return "consistent" if self._gap(low, high) <= reach else "differs"

    @property
    def computed_text(self) -> str:
        """The number computed, with its range or its standard deviation."""
        if math.isnan(self.computed):
            return "-"
        if self.deviation > 0.0:
            decimals = max(0, 1 - math.floor(math.log10(self.deviation)))
            return f"{self.computed:.{decimals}f} +- {self.deviation:.{decimals}f}"
        if self.low <= self.high:
            return f"{_digits(self.low)} to {_digits(self.high)}"
        return _digits(self.computed)

    def _gap(self, low: float, high: float) -> float:
        """Return how far the printed number, with its rounding, is from a range."""
        least, largest = bounds(self.printed)
        return max(low - largest, least - high, 0.0)


def bounds(printed: str) -> tuple[float, float]:
    """Return the least and the largest number that is printed so."""
    number = Decimal(printed.replace(",", ""))
    half = Decimal((0, (5,), int(number.as_tuple().exponent) - 1))
    return float(number - half), float(number + half)


def exact(exhibit: str, item: str, printed: str, computed: float, why: str = "") -> Row:
    """Return the row of a number that is computed from what is given."""
    return Row(exhibit, item, printed, float(computed), why=why)


def within(
    exhibit: str, item: str, printed: str, low: float, high: float, why: str = ""
) -> Row:
    """Return the row of a number of which the source allows a range."""
    middle = (low + high) / 2.0
    return Row(exhibit, item, printed, middle, float(low), float(high), why=why)


def simulated(
    exhibit: str, item: str, printed: str, replicates: ArrayLike, why: str = ""
) -> Row:
    """Return the row of one run of a simulation that is repeated."""
    values = np.asarray(replicates, dtype=np.float64)
    mean, deviation = float(values.mean()), float(values.std(ddof=1))
    return Row(exhibit, item, printed, mean, deviation=deviation, why=why)


def lacking(exhibit: str, item: str, printed: str, why: str) -> Row:
    """Return the row of a number that cannot be computed."""
    return Row(exhibit, item, printed, math.nan, why=why)


@dataclass(frozen=True)
class Comparison:
    """All numbers and figures of a source.

    Attributes
    ----------
    source : str
        Its short name.
    title : str
        Authors and year.
    rows : tuple of Row
        The numbers, in the order of the source.
    figures : mapping of str to callable
        Functions that draw its figures, by their names; they return a
        `matplotlib.figure.Figure`.

    Examples
    --------
    >>> row = Row("table 1", "rate", "0.25", 0.2503, math.nan, math.nan, math.nan, "")
    >>> Comparison("casc", "CASC (2004)", (row,), {}).rows[0].item
    'rate'
    """

    source: str
    title: str
    rows: tuple[Row, ...]
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows with each verdict."""
        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in VERDICTS}

    @property
    def columns(self) -> dict[str, Any]:
        """The rows as columns, ready for a frame or a file."""
        texts = ("source", "exhibit", "item", "printed", "verdict", "why")
        numbers = ("computed", "low", "high", "deviation")
        found: dict[str, Any] = {"source": np.full(len(self.rows), self.source)}
        for name in texts[1:4] + numbers + texts[4:]:
            values = [getattr(row, name) for row in self.rows]
            found[name] = np.array(values, dtype=float if name in numbers else str)
        return found


def summary(comparison: Comparison) -> str:
    """Return how many numbers have each verdict, in one line."""
    counts = comparison.counts.items()
    return ", ".join(f"{count} {verdict}" for verdict, count in counts if count)


def plain(comparison: Comparison) -> str:
    """Write a comparison as text in columns.

    Parameters
    ----------
    comparison : Comparison
        What `riskcore.reproduce.compare` returns.

    Returns
    -------
    str

    Examples
    --------
    >>> rows = (exact("Table 1", "pi", "3.14", 3.14159265, why="by hand"),)
    >>> print(plain(Comparison("me", "Somebody", rows)))
    Somebody
    <BLANKLINE>
      Table 1
        pi    3.14  3.141593  reproduced  by hand
    <BLANKLINE>
      1 reproduced
    """
    lines = [comparison.title]
    # One table, so that columns stand in line from exhibit to exhibit.
    laid_out = iter(aligned(map(_cells, comparison.rows), "<>><<", indent=4))
    for exhibit, rows in _exhibits(comparison.rows):
        lines += ["", f"  {exhibit}", *(next(laid_out) for _ in rows)]
    return "\n".join([*lines, "", f"  {summary(comparison)}"])


def markdown(comparison: Comparison) -> str:
    """Write a comparison in Markdown, a table for each exhibit of the source.

    Parameters
    ----------
    comparison : Comparison
        What `riskcore.reproduce.compare` returns.

    Returns
    -------
    str

    Examples
    --------
    >>> rows = (exact("Table 1", "pi", "3.14", 3.14159265),)
    >>> print(markdown(Comparison("me", "Somebody", rows)).splitlines()[-1])
    | pi | 3.14 | 3.141593 | reproduced |  |
    """
    lines = [f"## {comparison.title}", "", f"{summary(comparison)}."]
    for exhibit, rows in _exhibits(comparison.rows):
        lines += ["", f"### {exhibit}", ""]
        lines += [
            "| | printed | computed | | why |",
            "| --- | ---: | ---: | --- | --- |",
        ]
        lines += [markdown_row(_cells(row)) for row in rows]
    return "\n".join(lines)


def _exhibits(rows: Iterable[Row]) -> Iterable[tuple[str, Iterable[Row]]]:
    return groupby(rows, key=lambda row: row.exhibit)


def _cells(row: Row) -> tuple[str, str, str, str, str]:
    return row.item, row.printed or "-", row.computed_text, row.verdict, row.why


def _digits(x: float) -> str:
    """Write whole numbers whole, others with seven digits."""
    if x.is_integer() and abs(x) < 1e15:
        return f"{int(x):,}"
    return f"{x:.7g}"
