"""The figures of a result as facts and tables: for the terminal, a page, a notebook.

A result says once what its figures are called and how they are written, in a sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riskcore.common import html
from riskcore.common.results import WithPage, reports
from riskcore.common.text_table import aligned
from riskcore.common.words import printable

Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a sheet: facts, and below them a table.

    Attributes
    ----------
    title : str
    facts : sequence of (str, str)
        Names and values.
    rows : sequence of sequences of str
        The table, its head first.
    sides : str
        Of the columns of the table, as in `aligned`.
    """

    title: str
    facts: Sequence[tuple[str, str]] = ()
    rows: Sequence[Row] = ()
    sides: str = "<"

    def lines(self) -> list[str]:
        """Return the part as lines of text, an empty one before them."""
        made = ["", f"  {self.title}", *aligned(self.facts, "<", indent=4)]
        if self.facts and self.rows:
            made.append("")
        return made + aligned(self.rows, self.sides, indent=4)

    @property
    def kinds(self) -> list[str]:
        """What each column holds: "text" or "number"."""
        count = len(self.rows[0]) if self.rows else 0
        sides = (self.sides + self.sides[-1] * count)[:count]
        return ["number" if side == ">" else "text" for side in sides]


@dataclass(frozen=True, slots=True)
class Sheet:
    r"""The figures of a result.

    Attributes
    ----------
    name : str
        What the figures are of.
    facts : sequence of (str, str)
        Those of the whole file.
    parts : sequence of Part
    verdict : str
        What is to be said before all of them; empty if nothing is.

    Examples
    --------
    >>> part = Part("Sizes", rows=[("size", "cells"), ("1", "12")], sides=">")
    >>> print(Sheet("Cells", [("records", "40")], [part]).text("survey.csv"))
    survey.csv
      records  40
    <BLANKLINE>
      Sizes
        size  cells
           1     12
    """

    name: str
    facts: Sequence[tuple[str, str]]
    parts: Sequence[Part]
    verdict: str = ""

    def text(self, title: str) -> str:
        """Return the figures as text."""
        lines = [printable(title), *aligned(self.facts, "<")]
        for part in self.parts:
            lines += ["", f"  {part.title}", *aligned(part.facts, "<", indent=4)]
            lines += aligned(part.rows, part.sides, indent=4)
        return "\n".join(lines)

    def notebook(self) -> str:
        """Return the figures as HTML for a notebook."""
        title = f"{self.name}, for internal use"
        made = [html.figures(title, html.escape(self.verdict), self.facts)]
        for part in self.parts:
            name = part.title
            if part.facts:
                made.append(html.figures(name, "", part.facts))
                name = ""
            if part.rows:
                made.append(html.figures(name, "", part.rows[1:], head=part.rows[0]))
        return "".join(made)


class OnASheet(WithPage):
    """A result that has a sheet, and so shows itself in notebooks and has a report."""

    __slots__ = ()

    def _sheet(self) -> Sheet:
        """Return the figures of the result as facts and tables."""
        raise NotImplementedError

    def _page(self, title: str | None) -> str:
        return reports().page_of_sheet(self._sheet(), title)  # type: ignore[no-any-return]

    def _repr_html_(self) -> str:
        return self._sheet().notebook()
