"""Numbers and labels as HTML, and small tables for notebooks, without Jinja2."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

from riskcore.common.words import Number, Sentence, printable, sentence

_CELL = "text-align:left;padding:0.15em 1em 0.15em 0"
_NUMBER = f"{_CELL};font-variant-numeric:tabular-nums"
_SMALL = "opacity:0.75;font-size:0.9em"
_WIDTH, _HEIGHT = 320, 48
_MARGIN, _LINE = 6, 20
# Numbers in this range are written whole; 999.5 becomes 1,000.
_WHOLE = (Decimal("999.5"), Decimal("1e15"))


def escape(value: object) -> str:
    """Return a value as text with all markup escaped."""
    # Half a surrogate pair, as in names of undecodable bytes, has no UTF-8.
    text = str(value).encode("utf-8", "backslashreplace").decode("utf-8")
    return html.escape(text)


def _shown(value: object) -> str:
    """Return a value as `escape` does, on one line of printable characters."""
    return escape(printable(str(value)))


def label(value: object) -> str:
    """Return a name or category, escaped, in an element with its own direction."""
    return f"<bdi>{escape(value)}</bdi>"


def digits(x: float, shift: int = 0) -> Number:
    """Return the shortest digits of x, as chart.js writes them, moved by ``shift``."""
    if x == math.inf:
        return Number("∞")
    if x == 0.0:
        return Number("0")
    number = Decimal(repr(float(x))).normalize().scaleb(shift)
    if -6 <= number.adjusted() < 21:
        return Number(f"{number:f}")
    mantissa = number.scaleb(-number.adjusted())
    return Number(f"{mantissa:f}e{number.adjusted()}")


def short(x: float, shift: int = 0, figures: int = 6) -> Number:
    """Return x with a number of digits, its point moved as by `digits`."""
    if not math.isfinite(x):
        return digits(x)
    context = Context(prec=figures, rounding=ROUND_HALF_UP)
    return digits(float(context.create_decimal(Decimal(x))), shift)


def readable(x: float, shift: int = 0) -> Number:
    """Return x with three digits, or more before the point, moved as by `digits`."""
    if not math.isfinite(x):
        return digits(x)
    moved = Decimal(x).scaleb(shift)
    if not _WHOLE[0] <= moved < _WHOLE[1]:
        return short(x, shift, 3)
    return Number(f"{moved.quantize(Decimal(1), ROUND_HALF_UP):,}")


def percent(share: float) -> Sentence:
    """Return a share in per cent, as `readable` does."""
    return sentence("{n} %", readable(share, 2))


def all_digits(x: float, shift: int = 0) -> Number:
    """Return x as `digits` does, with commas between thousands."""
    text = digits(x, shift)
    whole, point, rest = text.partition(".")
    return Number(f"{int(whole):,}{point}{rest}") if whole.isdecimal() else text


def known(x: float, form: str) -> str:
    """Return x in a form of `format`, empty if it is nan."""
    return "" if math.isnan(x) else format(x, form)


def figures(
    title: str,
    note: str,
    rows: Iterable[Sequence[str]],
    drawing: str = "",
    head: Sequence[str] = (),
) -> str:
    """Return a small table of figures, for notebooks."""
    heads = "".join(
        f'<th scope="col" style="{_CELL}">{_shown(name)}</th>' for name in head
    )
    body = "".join(
        f'<tr><th scope="row" style="{_CELL};font-weight:normal">{_shown(name)}</th>'
        + "".join(f'<td style="{_NUMBER}">{_shown(value)}</td>' for value in values)
        + "</tr>"
        for name, *values in rows
    )
    thead = f"<thead><tr>{heads}</tr></thead>" if head else ""
    return (
        f'<div><div><strong>{_shown(title)}</strong> <span style="{_SMALL}">{note}'
        f"</span></div><table>{thead}<tbody>{body}</tbody></table>{drawing}</div>"
    )


def bars(counts: Sequence[int], scale: str, top: int = 0) -> str:
    """Return a histogram without axes as SVG, in the color of the text."""
    width, top = _WIDTH / len(counts), top or max(max(counts), 1)
    shapes = "".join(
        f'<rect x="{i * width:.4g}" y="{_HEIGHT - height:.4g}" '
        f'width="{0.9 * width:.4g}" height="{height:.4g}"/>'
        for i, height in enumerate(_HEIGHT * count / top for count in counts)
        if height
    )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT + 1}" role="img" '
        f'aria-label="{_shown(f"Histogram: {scale}")}" fill="currentColor" '
        f'fill-opacity="0.55">{shapes}<path stroke="currentColor" '
        f'stroke-opacity="0.5" d="M0 {_HEIGHT + 0.5}H{_WIDTH}"/></svg>'
        f'<div style="{_SMALL}">{_shown(scale)}</div>'
    )


def intervals(
    rows: Iterable[tuple[str, float, float, float]], scale: str, mark: float = math.nan
) -> str:
    """Return estimates with their intervals, one below the other, and their scale."""
    drawing, end = interval_drawing(rows, scale, mark)
    return f'{drawing}<div style="{_SMALL}">{_shown(f"{scale}, 0 to {end}")}</div>'


def interval_drawing(
    rows: Iterable[tuple[str, float, float, float]], scale: str, mark: float = math.nan
) -> tuple[str, str]:
    """Return estimates with their intervals as SVG, and the end of the axis."""
    rows = list(rows)
    finite = [x for _, *numbers in rows for x in (*numbers, mark) if math.isfinite(x)]
    unit = (_WIDTH - 2 * _MARGIN) / (max(finite, default=0.0) or 1.0)
    names, marks = [], []
    for i, (name, at, low, high) in enumerate(rows):
        y = (i + 0.5) * _LINE
        names.append(f'<text x="{_WIDTH + 8}" y="{y + 4:g}">{_shown(name)}</text>')
        if math.isfinite(low) and math.isfinite(high):
            ends = (_MARGIN + unit * x for x in (low, high))
            x1, x2 = (f"{x:.4g}" for x in ends)
            marks.append(
                f'<line x1="{x1}" x2="{x2}" y1="{y:g}" y2="{y:g}" stroke-width="5" '
                'stroke-opacity="0.4"/>'
            )
        if math.isfinite(at):
            marks.append(f'<circle cx="{_MARGIN + unit * at:.4g}" cy="{y:g}" r="3.5"/>')
    height = len(rows) * _LINE
    if math.isfinite(mark):
        x = f"{_MARGIN + unit * mark:.4g}"
        marks.append(f'<line x1="{x}" x2="{x}" y1="0" y2="{height}"/>')
    drawing = (
        f'<svg width="{2 * _WIDTH}" height="{height + 1}" role="img" '
        f'aria-label="{_shown(f"Estimates: {scale}")}" fill="currentColor" '
        f'stroke="currentColor"><g font-size="12" stroke-width="0">'
        f"{''.join(names)}</g>{''.join(marks)}"
        f'<path fill="none" stroke-opacity="0.5" '
        f'd="M{_MARGIN} 0V{height}H{_WIDTH}"/></svg>'
    )
    return drawing, readable(max(finite, default=0.0))
