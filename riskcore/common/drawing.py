"""Matplotlib figures that display themselves in notebooks."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import IO, TYPE_CHECKING, Literal

from riskcore.common.needs import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_UNDATED = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, separate from pyplot.

    >>> new_figure(2.0, 1.0)._repr_png_()[1:4]
    b'PNG'
    """
    need("matplotlib", "charts")
    from matplotlib.figure import Figure

    figure = Figure((width, height), layout="constrained")
    # Notebooks ask an object for its picture; matplotlib answers only with pyplot.
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def _png(figure: Figure) -> bytes:
    file = BytesIO()
    figure.savefig(file, format="png", dpi=100)
    return file.getvalue()


def save(
    figure: Figure,
    file: IO[bytes],
    form: str,
    dpi: float | Literal["figure"] = "figure",
) -> None:
    """Write a figure without a date: the same figure gives the same bytes.

    >>> file = BytesIO()
    >>> save(new_figure(2.0, 1.0), file, "svg")
    >>> b"dc:date" in file.getvalue()
    False
    """
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "riskcore"}):
        figure.savefig(file, format=form, dpi=dpi, metadata=_UNDATED.get(form))
