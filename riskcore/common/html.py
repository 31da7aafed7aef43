"""Numbers and labels as HTML, and small tables for notebooks.

They are made without templates: an assessment shows itself where there is no Jinja2.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

_CELL = "text-align:left;padding:0.15em 1em 0.15em 0"
_SMALL = "opacity:0.75;font-size:0.9em"
_WIDTH, _HEIGHT = 320, 48
# Numbers in this range are written whole; 999.5 becomes 1,000.
_WHOLE = (Decimal("999.5"), Decimal("1e15"))


def escape(value: object) -> str:
    """Return a value as text that HTML shows and does not run.

    Examples
    --------
    >>> escape("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    # Half a surrogate pair, as in names of undecodable bytes, has no UTF-8.
    text = str(value).encode("utf-8", "backslashreplace").decode("utf-8")
    return html.escape(text)


def label(value: object) -> str:
    """Return a name or category, escaped; its direction of writing stays its own."""
    return f"<bdi>{escape(value)}</bdi>"


def digits(x: float, shift: int = 0) -> str:
    """Return the shortest digits that give back x, as the script writes them.

    The decimal point is moved by ``shift`` digits: 2 for per cent.
    """
    if x == math.inf:
        return "∞"
    if x == 0.0:
        return "0"
    number = Decimal(repr(float(x))).normalize().scaleb(shift)
    if -6 <= number.adjusted() < 21:
        return f"{number:f}"
    mantissa = number.scaleb(-number.adjusted())
    return f"{mantissa:f}e{number.adjusted()}"


def short(x: float, shift: int = 0, figures: int = 6) -> str:
    """Return x with so many digits, the point moved as by `digits`."""
    if not math.isfinite(x):
        return digits(x)
    context = Context(prec=figures, rounding=ROUND_HALF_UP)
    return digits(float(context.create_decimal(Decimal(x))), shift)


def readable(x: float, shift: int = 0) -> str:
    """Return x as a person reads it: three digits, but all those before the point.

    The point is moved as by `digits`.

    Examples
    --------
    >>> readable(0.0453318775, 2), readable(906.637), readable(2000000.5)
    ('4.53', '907', '2,000,001')
    """
    if not math.isfinite(x):
        return digits(x)
    moved = Decimal(x).scaleb(shift)
    if not _WHOLE[0] <= moved < _WHOLE[1]:
        return short(x, shift, 3)
    return f"{moved.quantize(Decimal(1), ROUND_HALF_UP):,}"


def all_digits(x: float, shift: int = 0) -> str:
    """Return x as `digits` does, with separators of thousands.

    Examples
    --------
    >>> all_digits(1234567.25), all_digits(0.0000001)
    ('1,234,567.25', '1e-7')
    """
    text = digits(x, shift)
    whole, point, rest = text.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.isdecimal() else text


def figures(
    title: str,
    note: str,
    rows: Iterable[tuple[str, str]],
    counts: Sequence[int] = (),
    scale: str = "",
) -> str:
    """Return a small table of figures, for notebooks.

    Parameters
    ----------
    title : str
        What the figures are of.
    note : str
        HTML below the title.
    rows : iterable of (str, str)
        Names and values.
    counts : sequence of int, optional
        A histogram, drawn below the table.
    scale : str
        What its axis is.

    Returns
    -------
    str
        HTML; all but the note is escaped.
    """
    body = "".join(
        f'<tr><th scope="row" style="{_CELL};font-weight:normal">{escape(name)}</th>'
        f'<td style="{_CELL};font-variant-numeric:tabular-nums">{escape(value)}</td>'
        "</tr>"
        for name, value in rows
    )
    drawing = bars(counts, scale) if counts else ""
    return (
        f'<div><div><strong>{escape(title)}</strong> <span style="{_SMALL}">{note}'
        f"</span></div><table><tbody>{body}</tbody></table>{drawing}</div>"
    )


def bars(counts: Sequence[int], scale: str) -> str:
    """Return a histogram without axes as SVG, in the colour of the text.

    Examples
    --------
    >>> bars([1, 2], "risk").count("<rect")
    2
    """
    width, top = _WIDTH / len(counts), max(max(counts), 1)
    shapes = "".join(
        f'<rect x="{i * width:.4g}" y="{_HEIGHT - height:.4g}" '
        f'width="{0.9 * width:.4g}" height="{height:.4g}"/>'
        for i, height in enumerate(_HEIGHT * count / top for count in counts)
        if height
    )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT + 1}" role="img" '
        f'aria-label="{escape(f"Histogram: {scale}")}" fill="currentColor" '
        f'fill-opacity="0.55">{shapes}<path stroke="currentColor" '
        f'stroke-opacity="0.5" d="M0 {_HEIGHT + 0.5}H{_WIDTH}"/></svg>'
        f'<div style="{_SMALL}">{escape(scale)}</div>'
    )
