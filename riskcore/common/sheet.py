"""The figures of a result as facts and tables: for the terminal, a page, a notebook.

A result says once what its figures are called and how they are written, in a sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riskcore.common import html
from riskcore.common.results import WithReport
from riskcore.common.text_table import aligned
from riskcore.common.words import printable

Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a sheet: facts, below them a table, and below it sentences.

    Attributes
    ----------
    title : str
    facts : sequence of (str, str)
        Names and values.
    rows : sequence of sequences of str
        The rows of the table, its head first.
    sides : str
        The sides of the table's columns, as in `aligned`.
    sentences : sequence of str
        Sentences below the table, in text only.
    least : sequence of int
        The least widths of the table's columns in text.
    indents : (int, int)
        The indents in text: of the facts, and of the table and the sentences.
    spaced : bool
        Whether an empty line separates the table from the facts in text.
    """

    title: str = ""
    facts: Sequence[tuple[str, str]] = ()
    rows: Sequence[Row] = ()
    sides: str = "<"
    sentences: Sequence[str] = ()
    least: Sequence[int] = ()
    indents: tuple[int, int] = (4, 4)
    spaced: bool = False

    def lines(self) -> list[str]:
        """Return the part as lines of text, after an empty line."""
        of_facts, indent = self.indents
        lines = ["", f"  {self.title}"] if self.title else [""]
        lines += aligned(self.facts, "<", indent=of_facts)
        if self.spaced and self.facts and self.rows:
            lines.append("")
        lines += aligned(self.rows, self.sides, indent=indent, least=self.least)
        return lines + _indented(self.sentences, indent)

    @property
    def kinds(self) -> list[str]:
        """The kind of each column: "text" or "number"."""
        count = len(self.rows[0]) if self.rows else 0
        sides = (self.sides + self.sides[-1] * count)[:count]
        return ["number" if side == ">" else "text" for side in sides]


@dataclass(frozen=True, slots=True)
class Sheet:
    r"""The figures of a result.

    Attributes
    ----------
    name : str
        What the figures describe.
    facts : sequence of (str, str)
        The facts of the whole file.
    parts : sequence of Part
    verdict : str
        What a page and a notebook say first; empty if there is nothing to say.
    sentences : sequence of str
        Sentences below the facts, in text only.
    """

    name: str
    facts: Sequence[tuple[str, str]]
    parts: Sequence[Part]
    verdict: str = ""
    sentences: Sequence[str] = ()

    def text(self, title: str) -> str:
        """Return the figures as text."""
        lines = [printable(title), *aligned(self.facts, "<")]
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
    return [" " * indent + printable(one) for one in sentences]


class OnASheet(WithReport):
    """A result with a sheet, which its report and notebooks show."""

    __slots__ = ()

    def _sheet(self) -> Sheet:
        """Return the figures of the result as facts and tables."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self._sheet().notebook()
