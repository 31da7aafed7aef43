"""Tables as plain text, and the rows of tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def aligned(
    rows: Iterable[Sequence[str]],
    sides: str,
    *,
    indent: int = 2,
    least: Sequence[int] = (),
) -> list[str]:
    """Return rows as lines of text with aligned columns."""
    rows = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for i, width in enumerate(least[: len(widths)]):
        widths[i] = max(widths[i], width)
    sides = sides.ljust(len(widths), sides[-1])
    lines = []
    for row in rows:
        cells = (
            cell.rjust(width) if side == ">" else cell.ljust(width)
            for cell, width, side in zip(row, widths, sides, strict=False)
        )
        lines.append((" " * indent + "  ".join(cells)).rstrip())
    return lines


def markdown_row(cells: Iterable[str]) -> str:
    """Return one row of a table in Markdown."""
    escaped = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"
