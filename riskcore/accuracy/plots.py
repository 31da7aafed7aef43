"""Maps of errors over f and p."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from riskcore.accuracy.grid import SCALES, transforms
from riskcore.accuracy.table import chosen_rows, columns_of
from riskcore.common.needs import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

# Bands of two decades: rounding errors below the first, no right digit above the last.
_BANDS = [10.0**k for k in range(-15, 0, 2)]
_AXES = {
    "sample_frequency": "sample frequency f",
    "sampling_fraction": "sampling fraction p",
}


def plot(table: Any) -> Figure:
    """
    Draw maps of the absolute relative errors over p and f, one for each form.

    Parameters
    ----------
    table : frame or dict
        The result of `error_table`, with every pair of f and p.

    Returns
    -------
    matplotlib.figure.Figure
        Write it with ``savefig``. Values that are not finite are hatched.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install matplotlib``).
    ValueError
        If there are fewer than 2 x 2 points, or holes.

    Examples
    --------
    >>> from riskcore import accuracy
    >>> p = accuracy.grid(1e-6, 1 - 1e-6, 30, "logit")
    >>> table = accuracy.error_table("franconi", accuracy.grid(1, 100, 20, "whole"), p)
    >>> accuracy.plot(table).axes[0].get_xlabel()
    'sampling fraction p'
    """
    need("plots", "matplotlib")
    columns = columns_of(table)
    names = list(dict.fromkeys(columns["form"].tolist()))
    wide = min(len(names), 2)
    high = -(-len(names) // wide)
    figure = new_figure(0.8 + 5.2 * wide, 0.6 + 3.6 * high)
    panels = figure.subplots(high, wide, squeeze=False, sharey=True).ravel()
    for axes, name in zip(panels, names, strict=False):
        rows = chosen_rows(columns, columns["form"] == name)
        axes.set_title(name)
        _draw_map(axes, rows)
    for axes in panels[len(names) :]:
        axes.remove()
    _add_scale(figure, panels[: len(names)], np.isfinite(columns["value"]).all())
    return figure


def _draw_map(axes: Axes, rows: Mapping[str, Any]) -> None:
    """Draw the errors of one form as a heat map."""
    f, i = np.unique(rows["sample_frequency"], return_inverse=True)
    p, j = np.unique(rows["sampling_fraction"], return_inverse=True)
    error = np.full((len(f), len(p)), -1.0)
    error[i, j] = np.abs(rows["relative_error"])
    there = np.count_nonzero(error != -1.0)
    if min(len(f), len(p)) < 2 or there < error.size:
        raise ValueError(
            "a heat map needs every pair of at least 2 values of f and of p; there are "
            f"{there} of {len(f)} x {len(p)}"
        )
    colors, norm = _colors()
    x, y = _edges(p, _scale_of(p)), _edges(f, _scale_of(f))
    shown = np.ma.masked_invalid(error)
    axes.pcolormesh(x, y, shown, cmap=colors, norm=norm, rasterized=True)
    _mark_not_finite(axes.patch)
    _set_axis(axes, "x", "sampling_fraction", p)
    _set_axis(axes, "y", "sample_frequency", f)


def _mark_not_finite(patch: Any) -> None:
    """Hatch a patch that shows values that are not finite."""
    patch.set(facecolor="0.85", hatch="////", edgecolor="0.55", linewidth=0)


def _colors() -> tuple[Any, Any]:
    """Return colors from light to dark, legible without hue, and their limits."""
    from matplotlib import colormaps
    from matplotlib.colors import BoundaryNorm, ListedColormap

    steps = len(_BANDS) - 1
    shades = colormaps["viridis_r"](np.linspace(0.08, 0.94, steps))
    colors = ListedColormap(shades).with_extremes(under="white", over="black")
    return colors, BoundaryNorm(_BANDS, steps)


def _add_scale(figure: Figure, panels: Any, finite: bool) -> None:
    """Add the color bar, and the hatching if some values are not finite."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.patches import Patch

    colors, norm = _colors()
    bar = figure.colorbar(
        ScalarMappable(norm, colors), ax=list(panels), extend="both", ticks=_BANDS
    )
    bar.set_label("|relative error|")
    bar.ax.set_yticks(_BANDS, [f"$10^{{{round(math.log10(b))}}}$" for b in _BANDS])
    if finite:
        return
    mark = Patch(label="not finite")
    _mark_not_finite(mark)
    figure.legend(handles=[mark], loc="outside lower right", frameon=False)


def _set_axis(axes: Axes, which: str, name: str, values: Floats) -> None:
    """Set label, limits and scale of an axis."""
    scale = _scale_of(values)
    edges = _edges(values, scale)
    # The limits first: without them the scale would look beyond the doubles.
    axes.set(**{f"{which}lim": (edges[0], edges[-1])})
    axes.set(**{f"{which}label": _AXES[name], f"{which}scale": scale})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_tick_params(labelsize="small")
    if scale == "log" and name == "sample_frequency" and values[-1] < 1e6:
        axis.set_major_formatter("{x:g}")
    if scale == "logit":
        from matplotlib.ticker import LogitLocator

        axis.set_major_locator(LogitLocator(nbins=8))


def _scale_of(values: Floats) -> Literal["linear", "log", "logit"]:
    """Return a scale on which the values are spread evenly."""
    low, high = values[0], values[-1]
    if low < 0.05 and 0.95 < high < 1:
        return "logit"
    return "log" if high > 30 * low else "linear"


def _edges(values: Floats, scale: str) -> Floats:
    """Return the borders of cells around the values."""
    there, back = transforms(scale)
    u = there(values)
    middle = (u[1:] + u[:-1]) / 2
    borders = np.concatenate([[2 * u[0] - middle[0]], middle, [2 * u[-1] - middle[-1]]])
    with np.errstate(over="ignore"):
        # At the ends of the doubles a border may be rounded off the scale.
        return np.asarray(back(borders)).clip(*SCALES[scale])


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, separate from pyplot, that shows itself in notebooks."""
    from matplotlib.figure import Figure

    figure = Figure((width, height), layout="constrained")
    # Notebooks ask an object for its picture; matplotlib answers only with pyplot.
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]
    return figure


def _png(figure: Figure) -> bytes:
    file = BytesIO()
    figure.savefig(file, format="png", dpi=100)
    return file.getvalue()
