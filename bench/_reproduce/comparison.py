"""Printed numbers of a source next to computed ones, and both as text."""

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

_FAR = 3.0  # standard deviations beyond which a printed run is unlikely
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
        The number as printed; empty if the source does not give it.
    computed : float
        The computed number, or the mean of the replicates of a simulation; nan if the
        source does not publish the data.
    low, high : float
        The range of a number computed from rounded ones; nan for other numbers.
    deviation : float
        The standard deviation of a replicate; nan if it is not simulated.
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
        """How the printed and the computed number compare.

        - "reproduced": they are equal after rounding;
        - "consistent": the printed number, before rounding, may lie in the computed
          range, or within three standard deviations of the mean of the replicates;
        - "differs": it does not;
        - "no data": the data are not published;
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
        """The computed number, with its range or its standard deviation."""
        if math.isnan(self.computed):
            return "-"
        if self.deviation > 0.0:
            decimals = max(0, 1 - math.floor(math.log10(self.deviation)))
            return f"{self.computed:.{decimals}f} +- {self.deviation:.{decimals}f}"
        if self.low <= self.high:
            return f"{_digits(self.low)} to {_digits(self.high)}"
        return _digits(self.computed)

    def _gap(self, low: float, high: float) -> float:
        """Return the distance of the printed number, before rounding, from a range."""
        least, largest = bounds(self.printed)
        return max(low - largest, least - high, 0.0)


def bounds(printed: str) -> tuple[float, float]:
    """Return the least and the largest number that round to a printed one."""
    number = Decimal(printed.replace(",", ""))
    half = Decimal((0, (5,), int(number.as_tuple().exponent) - 1))
    return float(number - half), float(number + half)


def exact(exhibit: str, item: str, printed: str, computed: float, why: str = "") -> Row:
    """Return the row of a number that is computed exactly."""
    return Row(exhibit, item, printed, float(computed), why=why)


def within(
    exhibit: str, item: str, printed: str, low: float, high: float, why: str = ""
) -> Row:
    """Return the row of a number for which the source allows a range."""
    middle = (low + high) / 2.0
    return Row(exhibit, item, printed, middle, float(low), float(high), why=why)


def simulated(
    exhibit: str, item: str, printed: str, replicates: ArrayLike, why: str = ""
) -> Row:
    """Return the row of a printed run of a simulation, which is repeated."""
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
        Functions that draw its figures, by name; each returns a
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
        numbers = ("computed", "low", "high", "deviation")
        found: dict[str, Any] = {"source": np.full(len(self.rows), self.source)}
        for name in ("exhibit", "item", "printed", *numbers, "verdict", "why"):
            values = [getattr(row, name) for row in self.rows]
            found[name] = np.array(values, dtype=float if name in numbers else str)
        return found


def summary(comparison: Comparison) -> str:
    """Return the number of rows with each verdict, in one line."""
    counts = comparison.counts.items()
    return ", ".join(f"{count} {verdict}" for verdict, count in counts if count)


def plain(comparison: Comparison) -> str:
    """Write a comparison as text in columns.

    Parameters
    ----------
    comparison : Comparison
        The result of `bench._reproduce.compare`.

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
    # One table, so that the columns of all exhibits line up.
    laid_out = iter(aligned(map(_cells, comparison.rows), "<>><<", indent=4))
    for exhibit, rows in _exhibits(comparison.rows):
        lines += ["", f"  {exhibit}", *(next(laid_out) for _ in rows)]
    return "\n".join([*lines, "", f"  {summary(comparison)}"])


def markdown(comparison: Comparison) -> str:
    """Write a comparison in Markdown, a table for each exhibit of the source.

    Parameters
    ----------
    comparison : Comparison
        The result of `bench._reproduce.compare`.

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
    """Return a whole number in full, others with seven digits."""
    if x.is_integer() and abs(x) < 1e15:
        return f"{int(x):,}"
    return f"{x:.7g}"
