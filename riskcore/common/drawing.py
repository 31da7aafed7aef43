"""Figures of matplotlib that show themselves in notebooks."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from riskcore.common.needs import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, which no window of pyplot holds.

    Parameters
    ----------
    width, height : float
        In inches.

    Returns
    -------
    matplotlib.figure.Figure
        A notebook shows it, ``%matplotlib inline`` or not.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install matplotlib``).

    Examples
    --------
    >>> new_figure(2.0, 1.0)._repr_png_()[1:4]
    b'PNG'
    """
    need("matplotlib", "charts")
    from matplotlib.figure import Figure

    figure = Figure((width, height), layout="constrained")
    # Notebooks ask an object for its picture; matplotlib answers only once pyplot has
    # told them of its figures.
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def _png(figure: Figure) -> bytes:
    file = BytesIO()
    figure.savefig(file, format="png", dpi=100)
    return file.getvalue()
