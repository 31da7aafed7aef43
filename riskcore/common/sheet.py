"""The figures of a result as facts and tables: for the terminal, a page, a notebook.

A result names and formats its figures once, in a sheet.
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
    """Part of a sheet: facts (names and values), then a table with its head first."""

    title: str
    facts: Sequence[tuple[str, str]] = ()
    rows: Sequence[Row] = ()
    sides: str = "<"

    def lines(self) -> list[str]:
        """Return the part as lines of text, preceded by an empty line."""
        output = ["", f"  {self.title}", *aligned(self.facts, "<", indent=4)]
        if self.facts and self.rows:
            output.append("")
        return output + aligned(self.rows, self.sides, indent=4)

    @property
    def kinds(self) -> list[str]:
        """The kind of each column: "text" or "number"."""
        count = len(self.rows[0]) if self.rows else 0
        sides = (self.sides + self.sides[-1] * count)[:count]
        return ["number" if side == ">" else "text" for side in sides]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The figures of a result: facts of the whole file, parts, and a verdict first.

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
        output = [html.figures(title, html.escape(self.verdict), self.facts)]
        for part in self.parts:
            name = part.title
            if part.facts:
                output.append(html.figures(name, "", part.facts))
                name = ""
            if part.rows:
                output.append(html.figures(name, "", part.rows[1:], head=part.rows[0]))
        return "".join(output)


class OnASheet(WithPage):
    """A result with a sheet, which therefore has a report and displays in notebooks."""

    __slots__ = ()

    def _sheet(self) -> Sheet:
        """Return the figures of the result as facts and tables."""
        raise NotImplementedError

    def _page(self, title: str | None) -> str:
        return reports().page_of_sheet(self._sheet(), title)  # type: ignore[no-any-return]

    def _repr_html_(self) -> str:
        return self._sheet().notebook()
