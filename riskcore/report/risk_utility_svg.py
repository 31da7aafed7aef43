"""A chart of risk against loss with numbered spots, as SVG for pages.

Lengths across are in per cent of the plot, lengths down in pixels. The drawing holds no
text of a file or its user; a table next to it names the numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10

from riskcore.common.html import escape, short
from riskcore.common.words import Write, sentence

_HEIGHT = 240
_MARKS = 5


def spots(
    points: Sequence[tuple[float, float, str, bool]],
    description: str,
    links: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    write: Write = str,
) -> str:
    """Return an SVG chart of risk and loss, with links and classes of spots by mark."""
    top = nice(max(risk for risk, *_ in points))
    right = nice(max(loss for _, loss, *_ in points))
    parts = []
    for step in range(_MARKS + 1):
        y, x = _HEIGHT * (1 - step / _MARKS), 100 * step / _MARKS
        spare = ' class="spare"' if step % 2 else ""
        parts += [
            f'<line class="grid" x1="0" x2="100%" y1="{y:.2f}" y2="{y:.2f}"/>',
            f'<text x="0" dx="-8" y="{y:.2f}" dy="4" text-anchor="end">'
            f"{write(short(top * step / _MARKS, figures=3))}</text>",
            f'<text{spare} x="{x:.3f}%" y="{_HEIGHT + 20}" text-anchor="middle">'
            f"{write(short(right * step / _MARKS, 2, figures=3))} %</text>",
        ]
    parts.append(f'<line class="axis" x1="0" x2="100%" y1="{_HEIGHT}" y2="{_HEIGHT}"/>')
    # The marks of neighbors alternate above and below.
    ranked = sorted(points, key=lambda point: (point[1], point[0]))
    for i, (risk, loss, mark, best) in enumerate(ranked):
        x, y = 100 * loss / right, _HEIGHT * (1 - risk / top)
        kind = " ".join(
            ["best" if best else "one", *(kinds or {}).get(mark, "").split()]
        )
        spot = (
            f'<circle class="{kind}" cx="{x:.3f}%" cy="{y:.2f}" '
            'r="5"/>'
            f'<text x="{x:.3f}%" y="{y:.2f}" dx="8" dy="{14 if i % 2 else -5}">'
            f"{escape(mark)}</text>"
        )
        link = (links or {}).get(mark)
        parts.append(f'<a href="{escape(link)}">{spot}</a>' if link else spot)
    parts.append(
        f'<text x="50%" y="{_HEIGHT + 42}" text-anchor="middle">'
        f"{escape(write(sentence('information lost')))}</text>"
    )
    # What is in a picture cannot be reached; links can.
    role = "group" if links else "img"
    return (
        f'<svg class="plot spots" role="{role}" aria-labelledby="{description}">'
        + "\n".join(parts)
        + "</svg>"
    )


def nice(most: float) -> float:
    """Return a round number of at least ``most``; 1 for 0."""
    if most <= 0:
        return 1.0
    power = floor(log10(most))
    steps = (float(f"{m}e{power}") for m in (1, 2, 5, 10))
    return next(step for step in steps if most <= step)
