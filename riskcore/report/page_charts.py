"""The charts of pages as SVG, in their style and right at any width.

Lengths across are in per cent of the plot, lengths down in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from riskcore.common.html import digits, escape, percent, readable, short
from riskcore.common.words import (
    Number,
    Sentence,
    Write,
    counted,
    joined,
    printable,
    sentence,
)
from riskcore.core.risk.file_risk import Counts, Risks
from riskcore.core.risk.histogram import class_counts
from riskcore.core.risk.threshold import RiskDistribution

_HEIGHT, _STEPS = 240, 1000
_MARKS = 8
# Height of a row of a share.
_ROW = 40
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Outline(NamedTuple):
    """The classes of another file, drawn in outline: its style, name and counts."""

    kind: str
    name: str
    counts: Counts


def risk_plot(
    distribution: RiskDistribution,
    edges: Risks,
    threshold: float | None,
    title: str,
    description: str,
    others: Sequence[Outline] = (),
    write: Write = str,
) -> str:
    """Return the classes of risk, the share at or above each risk, and a threshold."""
    beyond, line = _mark(threshold, edges, write)
    counts = class_counts(distribution, edges)
    parts = _drawing(counts, edges, _steps(distribution, edges), title, others, write)
    hover = _hover(edges, _descriptions(counts, edges, others), write)
    return _plot([beyond, *parts, line, hover], description)


def _mark(threshold: float | None, edges: Risks, write: Write) -> tuple[str, str]:
    """Return the area at and above a threshold, and its line; empty without one."""
    if threshold is None:
        return "", ""
    at = f"{_place(threshold, edges):.3f}"
    beyond = (
        f'<rect class="unsafe" x="{at}%" width="{100 - float(at):.3f}%" y="0" '
        f'height="{_HEIGHT}"/>'
    )
    anchor = "start" if float(at) < 20 else "end" if float(at) > 80 else "middle"
    line = (
        f'<line class="threshold" x1="{at}%" x2="{at}%" y1="0" y2="{_HEIGHT}"/>'
        f'<text class="mark" x="{at}%" y="-8" text-anchor="{anchor}">'
        f"{write(short(threshold))}</text>"
    )
    return beyond, line


def class_plot(counts: Counts, edges: Risks, title: str, description: str) -> str:
    """Return the classes of risk, and the share at or above each of their bounds."""
    parts = _drawing(counts, edges, _line(counts, edges), title, (), str)
    texts = [counted(count, "record") for count in counts.tolist()]
    return _plot([*parts, _hover(edges, texts, str)], description)


def _svg(kind: str, named: str, parts: Sequence[str]) -> str:
    """Return a drawing of a kind that the style knows."""
    return f'<svg class="{kind}" {named}>' + "\n".join(parts) + "</svg>"


def _named_image(description: str) -> str:
    return f'role="img" aria-label="{escape(printable(description))}"'


def _plot(parts: list[str], description: str) -> str:
    return _svg("plot", f'role="img" aria-labelledby="{description}"', parts)


def _drawing(
    counts: Counts,
    edges: Risks,
    path: str,
    title: str,
    others: Sequence[Outline],
    write: Write,
) -> list[str]:
    """Return bars, outlines, curve and axes."""
    most = max(int(x.max()) for x in (counts, *(other.counts for other in others)))
    marks = _count_marks(most)
    outlines = (
        f'<path class="other {outline.kind}" '
        f'd="{_outline(outline.counts, edges, marks[-1])}"/>'
        for outline in others
    )
    return [
        _classes(counts, edges, marks, write),
        f'<svg width="100%" height="{_HEIGHT}" preserveAspectRatio="none" '
        f'viewBox="0 0 {_STEPS} {_HEIGHT}" overflow="visible">'
        f'{"".join(outlines)}<path class="curve" d="{path}"/></svg>',
        f'<line class="axis" x1="0" x2="100%" y1="{_HEIGHT}" y2="{_HEIGHT}"/>',
        *(
            _risk_mark(value, spare, edges, write)
            for value, spare in _risk_marks(edges)
        ),
        *(_share_mark(share, write) for share in (0, 0.25, 0.5, 0.75, 1)),
        f'<text x="50%" y="{_HEIGHT + 42}" text-anchor="middle">'
        f"{escape(write(title))}</text>",
    ]


def column_plot(
    labels: Sequence[str],
    counts: Sequence[int],
    unsafe: int,
    title: str,
    description: str,
    write: Write = str,
) -> str:
    """Return columns of records; the first ones are marked as unsafe."""
    width, marks = 100 / len(counts), _count_marks(max(counts))
    parts = [_count_mark(value, marks[-1], write) for value in marks]
    for k, (label, count) in enumerate(zip(labels, counts, strict=True)):
        height = max(_HEIGHT * count / marks[-1], 0.5) if count else 0
        kind = "marked" if k < unsafe else "bars"
        spare = ' class="spare"' if len(counts) > _MARKS and k % 2 else ""
        parts.append(
            f'<g class="{kind}"><rect x="{(k + 0.1) * width:.3f}%" '
            f'width="{0.8 * width:.3f}%" y="{_HEIGHT - height:.2f}" '
            f'height="{height:.2f}"><title>{escape(label)}: '
            f"{escape(write(counted(count, 'record')))}</title></rect></g>"
            f'<text{spare} x="{(k + 0.5) * width:.3f}%" y="{_HEIGHT + 20}" '
            f'text-anchor="middle">{escape(label)}</text>'
        )
    parts += [
        f'<line class="axis" x1="0" x2="100%" y1="{_HEIGHT}" y2="{_HEIGHT}"/>',
        f'<text x="50%" y="{_HEIGHT + 42}" text-anchor="middle">{escape(title)}</text>',
    ]
    return _svg("plot", _named_image(description), parts)


def share_rows(names: Sequence[str], shares: Sequence[float], description: str) -> str:
    """Return a row for each share, with its name above a bar of 0 to 100 %."""
    parts = []
    for k, (name, share) in enumerate(zip(names, shares, strict=True)):
        y = k * _ROW
        parts.append(
            f'<text x="0" y="{y + 14}">{escape(printable(name))}</text>'
            f'<text x="100%" y="{y + 14}" text-anchor="end">{readable(share, 2)} %'
            f'</text><rect class="whole" width="100%" y="{y + 20}" height="10"/>'
            f'<rect width="{100 * share:.3f}%" y="{y + 20}" height="10"/>'
        )
    named = f'height="{_ROW * len(names)}" {_named_image(description)}'
    return _svg("shares", named, parts)


def bar_top(shares: Iterable[float]) -> float:
    """Return the share at the end of a scale for bars: 1, 10 or 100 %."""
    most = max(shares, default=0.0)
    return next((top for top in (0.01, 0.1) if most <= top), 1.0)


def _place(risk: float, edges: Risks) -> float:
    """Return the place of a risk on the log axis in per cent, at an end beyond it."""
    low, high = float(edges[0]), float(edges[-1])
    inside = min(max(risk, low), high)
    return 100 * math.log(inside / low) / math.log(high / low)


def _outline(counts: Counts, edges: Risks, top: int) -> str:
    """Return the path around the bars of a histogram."""
    path = [f"M0 {_HEIGHT}"]
    for right, count in zip(edges[1:].tolist(), counts.tolist(), strict=True):
        y = _HEIGHT * (1 - count / top)
        path.append(f"V{y:.2f}H{_STEPS * _place(right, edges) / 100:.2f}")
    return "".join([*path, f"V{_HEIGHT}"])


def _descriptions(counts: Counts, edges: Risks, others: Sequence[Outline]) -> list[str]:
    """Return the records in each class and above its lower bound, in words."""
    n = int(counts.sum())
    above = counts[::-1].cumsum()[::-1].tolist()
    lines: list[str] = []
    for k, count in enumerate(counts.tolist()):
        own = counted(count, "record"), percent(count / n)
        more = [sentence("{name}: {n}", x.name, int(x.counts[k])) for x in others]
        beyond = counted(above[k], "record"), percent(above[k] / n)
        start = sentence("at or above {risk}", digits(float(edges[k])))
        parts = [joined(", ", own), *more, joined(": ", [start, joined(", ", beyond)])]
        lines.append(joined("; ", parts))
    return lines


def _hover(edges: Risks, texts: Sequence[str], write: Write) -> str:
    """Return the areas of the classes, which show a text under the pointer."""
    bounds = edges.tolist()
    parts = []
    for low, high, text in zip(bounds[:-1], bounds[1:], texts, strict=True):
        left, right = _place(low, edges), _place(high, edges)
        told = joined(": ", [interval(low, high), text])
        shown = escape(printable(write(told)))
        parts.append(
            f'<rect x="{left:.3f}%" width="{right - left:.3f}%" y="0" '
            f'height="{_HEIGHT}"><title>{shown}</title></rect>'
        )
    return f'<g class="hover">{"".join(parts)}</g>'


def interval(low: float, high: float) -> Sentence:
    """Return an interval of numbers."""
    return sentence("{low} to {high}", digits(low), digits(high))


def _classes(counts: Counts, edges: Risks, marks: Sequence[int], write: Write) -> str:
    """Return the histogram with the axis on its left."""
    bounds = [_place(edge, edges) for edge in edges.tolist()]
    bars = []
    ends = zip(bounds[:-1], bounds[1:], counts.tolist(), strict=True)
    for left, right, count in ends:
        if count:
            # At least half a pixel: one record in a million must be visible.
            height = max(_HEIGHT * count / marks[-1], 0.5)
            bars.append(
                f'<rect x="{left:.3f}%" width="{right - left:.3f}%" '
                f'y="{_HEIGHT - height:.2f}" height="{height:.2f}"/>'
            )
    lines = [_count_mark(value, marks[-1], write) for value in marks]
    return "\n".join([*lines, f'<g class="bars">{"".join(bars)}</g>'])


def _count_marks(most: int) -> list[int]:
    """Return round numbers from 0 to at least ``most``, at most 7."""
    steps = (m * 10**e for e in range(19) for m in (1, 2, 5))
    step = next(step for step in steps if most <= 6 * step)
    return [k * step for k in range(max(-(-most // step), 1) + 1)]


def _count_mark(value: int, top: int, write: Write) -> str:
    y = f"{_HEIGHT * (1 - value / top):.2f}"
    text = write(Number(f"{value:,}"))
    if top >= 10**6:
        text = f"{write(Number(f'{value / 10**6:,g}'))} M"
    return (
        f'<line class="grid" x1="0" x2="100%" y1="{y}" y2="{y}"/>'
        f'<text x="0" dx="-8" y="{y}" dy="4" text-anchor="end">{text}</text>'
    )


def _steps(distribution: RiskDistribution, edges: Risks) -> str:
    """Return the path of the share at or above each risk, step by step."""
    low, high = float(edges[0]), float(edges[-1])
    risks = [low * (high / low) ** (step / _STEPS) for step in range(_STEPS + 1)]
    below = np.concatenate([[0], distribution.frequency.cumsum()])
    counts = distribution.n - below[np.searchsorted(distribution.risk, risks)]
    path: list[str] = []
    last = -1
    for step, count in enumerate(counts.tolist()):
        if count != last:
            y = f"{_HEIGHT * (1 - count / distribution.n):.2f}"
            path.append(f"H{step}V{y}" if path else f"M0 {y}")
            last = count
    path.append(f"H{_STEPS}V{_HEIGHT}")
    return "".join(path)


def _line(counts: Counts, edges: Risks) -> str:
    """Return the path through the shares of records at or above the bounds."""
    above = [*counts[::-1].cumsum()[::-1].tolist(), 0]
    points = [
        f"{_STEPS * _place(edge, edges) / 100:.2f} "
        f"{_HEIGHT * (1 - count / above[0]):.2f}"
        for edge, count in zip(edges.tolist(), above, strict=True)
    ]
    return "M" + "L".join(points)


def _share_mark(share: float, write: Write) -> str:
    y = _HEIGHT * (1 - share)
    return f'<text x="100%" dx="8" y="{y:.2f}" dy="4">{write(percent(share))}</text>'


def _risk_marks(edges: Risks) -> list[tuple[float, bool]]:
    """Return round risks on the log axis, and whether narrow pages leave them out."""
    low, high = float(edges[0]), float(edges[-1])
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    decades = last - first
    mantissas = (1, 2, 5) if decades <= 3 else (1,)
    every = next(e for e in (1, 2, 5, 10, 20, 50) if decades <= _MARKS * e)
    marks = [
        (float(f"{m}e{e}"), m != 1 or (decades > 5 and e % (2 * every) != 0))
        for e in range(first - first % every, last + 1, every)
        for m in mantissas
    ]
    return [(value, spare) for value, spare in marks if low <= value <= high]


def _risk_mark(value: float, spare: bool, edges: Risks, write: Write) -> str:
    x = f"{_place(value, edges):.3f}"
    kind = ' class="spare"' if spare else ""
    return (
        f'<line class="axis" x1="{x}%" x2="{x}%" y1="{_HEIGHT}" y2="{_HEIGHT + 5}"/>'
        f'<text{kind} x="{x}%" y="{_HEIGHT + 20}" text-anchor="middle">'
        f"{write(power_of_ten(value))}</text>"
    )


def power_of_ten(value: float) -> str:
    """Return a round number as text, a small one with a power of ten."""
    if value >= 1e-4:
        return digits(value)
    mantissa, _, exponent = f"{value:.0e}".partition("e")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPT)
    return power if mantissa == "1" else f"{mantissa}·{power}"


_SPOT_MARKS = 5


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
    for step in range(_SPOT_MARKS + 1):
        y, x = _HEIGHT * (1 - step / _SPOT_MARKS), 100 * step / _SPOT_MARKS
        spare = ' class="spare"' if step % 2 else ""
        parts += [
            f'<line class="grid" x1="0" x2="100%" y1="{y:.2f}" y2="{y:.2f}"/>',
            f'<text x="0" dx="-8" y="{y:.2f}" dy="4" text-anchor="end">'
            f"{write(short(top * step / _SPOT_MARKS, figures=3))}</text>",
            f'<text{spare} x="{x:.3f}%" y="{_HEIGHT + 20}" text-anchor="middle">'
            f"{write(short(right * step / _SPOT_MARKS, 2, figures=3))} %</text>",
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
            f'<circle class="{kind}" cx="{x:.3f}%" cy="{y:.2f}" r="5"/>'
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
    named = f'role="{role}" aria-labelledby="{description}"'
    return _svg("plot spots", named, parts)


def nice(most: float) -> float:
    """Return the least of 1, 2, 5, 10, 20, 50, ... that is not below it; 1 for 0."""
    if most <= 0:
        return 1.0
    power = math.floor(math.log10(most))
    steps = (float(f"{m}e{power}") for m in (1, 2, 5, 10))
    return next(step for step in steps if most <= step)
