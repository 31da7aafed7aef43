"""The figures of a result as facts and tables: for the terminal, a page, a notebook.

A result names and formats its figures once, in a sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riskcore.common import html
from riskcore.common.results import WithReport
from riskcore.common.text_table import aligned
from riskcore.common.words import printable, shortened

Facts = list[tuple[str, str]]
Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a sheet: facts, then a table with a header row, then sentences.

    ``sides`` aligns the columns of the table, as in `aligned`. The other attributes are
    for text: the least widths of the columns, the most
    characters of their cells (0 for any number), the indents of the facts and of all
    below them, and whether an empty line separates the table from the facts.
    """

    title: str = ""
    facts: Sequence[tuple[str, str]] = ()
    rows: Sequence[Row] = ()
    sides: str = "<"
    sentences: Sequence[str] = ()
    least: Sequence[int] = ()
    most: Sequence[int] = ()
    indents: tuple[int, int] = (4, 4)
    spaced: bool = False

    def lines(self) -> list[str]:
        """Return the part as lines of text, after an empty line."""
        of_facts, indent = self.indents
        lines = ["", f"  {self.title}"] if self.title else [""]
        lines += aligned(self.facts, "<", indent=of_facts)
        if self.spaced and self.facts and self.rows:
            lines.append("")
        rows = self._cut()
        lines += aligned(rows, self.sides, indent=indent, least=self.least)
        return lines + _indented(self.sentences, indent)

    def _cut(self) -> list[Row]:
        """Return the rows, with long cells cut."""
        left = len(self.rows[0]) - len(self.most) if self.rows else 0
        most = [*self.most, *[0] * left]
        return [
            [shortened(x, m) if m else x for x, m in zip(row, most, strict=False)]
            for row in self.rows
        ]

    @property
    def kinds(self) -> list[str]:
        """The kind of each column: "text" or "number"."""
        count = len(self.rows[0]) if self.rows else 0
        sides = (self.sides + self.sides[-1] * count)[:count]
        return ["number" if side == ">" else "text" for side in sides]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The figures of a result: facts of the whole file, and parts.

    A page and a notebook begin with the name and the verdict, if there is one. Text has
    a title of its own, the parts of ``head`` above the facts, and the sentences below.
    """

    name: str
    facts: Sequence[tuple[str, str]]
    parts: Sequence[Part]
    verdict: str = ""
    sentences: Sequence[str] = ()
    head: Sequence[Part] = ()

    def text(self, title: str) -> str:
        """Return the figures as text."""
        lines = [printable(title)]
        for part in self.head:
            lines += part.lines()
        lines += [""] * bool(self.head) + aligned(self.facts, "<")
        lines += _indented(self.sentences, 2)
        for part in self.parts:
            lines += part.lines()
        return "\n".join(lines)

    def notebook(self) -> str:
        """Return the figures as HTML for a notebook."""
        title = f"{self.name}, for internal use"
        tables = [html.figures(title, html.escape(self.verdict), self.facts)]
        for part in self.parts:
            name = part.title
            if part.facts:
                tables.append(html.figures(name, "", part.facts))
                name = ""
            if part.rows:
                tables.append(html.figures(name, "", part.rows[1:], head=part.rows[0]))
        return "".join(tables)


def _indented(sentences: Sequence[str], indent: int) -> list[str]:
    return [" " * indent + printable(sentence) for sentence in sentences]


class OnASheet(WithReport):
    """A result with a sheet, which its report and notebooks show."""

    __slots__ = ()

    def _sheet(self) -> Sheet:
        """Return the figures of the result as facts and tables."""
        raise NotImplementedError

    def text(self, title: str | None = None) -> str:
        """Return the figures as text, for internal use.

        Parameters
        ----------
        title : str, optional
            The first line; by default the name of the result.

        Returns
        -------
        str

        Examples
        --------
        >>> import riskcore
        >>> print(riskcore.describe({"age": [31, 47, 31, 52]}).text())
        columns
          records  4
          columns  1
        ...
        """
        sheet = self._sheet()
        return sheet.text(title or sheet.name.lower())

    def _repr_html_(self) -> str:
        return self._sheet().notebook()
