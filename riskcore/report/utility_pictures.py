"""Charts of utility: tables before and after, and risk against loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from riskcore.assessment.reported_figures import name_of
from riskcore.common.drawing import new_figure
from riskcore.common.needs import need
from riskcore.common.words import shortened
from riskcore.comparison.compare import Comparison, KeyComparison
from riskcore.protection.trials import Trials
from riskcore.report.pictures import _open, _root, _title
from riskcore.report.risk_utility_svg import nice
from riskcore.report.utility_page import most_changed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BEFORE, _AFTER = "#9db8d3", "#1f2d3d"
# Most bars of one key.
_BARS = 25
_LABEL = 18
_ACROSS = 2


def comparison_figure(found: Comparison) -> Figure:
    """Draw the weighted table of each key before and after.

    The figure is for internal use: it shows the original file.

    Parameters
    ----------
    found : Comparison

    Returns
    -------
    matplotlib.figure.Figure
        Write it with ``savefig``. It shows the 25 categories of each key that have
        changed most.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install matplotlib``).
    ValueError
        If no key has the same categories in both files.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": list("ffmm")}
    >>> found = riskcore.compare(data, {"sex": ["f", None, "m", "m"]}, ["sex"])
    >>> riskcore.chart.comparison_figure(found).axes[0].get_xlabel()
    '% of the weight'
    """
    need("matplotlib", "charts")
    keys = [one for one in found.keys if one.table]
    if not keys:
        raise ValueError(
            "no key has the same categories in both files: give the recodings"
        )
    drawn = [most_changed(one, _BARS) for one in keys]
    across = min(_ACROSS, len(keys))
    down = -(-len(keys) // across)
    rows = [
        max(len(one) for one in drawn[i * across : (i + 1) * across])
        for i in range(down)
    ]
    heights = [0.9 + 0.24 * n for n in rows]
    figure = new_figure(4.6 * across, sum(heights) + 0.5)
    grid = figure.add_gridspec(down, across, height_ratios=heights)
    for i, (one, table) in enumerate(zip(keys, drawn, strict=True)):
        ax = figure.add_subplot(grid[divmod(i, across)])
        # Bars of few categories are thinner than their places.
        thick = 0.36 * max(len(table) / rows[i // across], 0.4)
        _draw_shares(ax, one, table, thick)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper right",
        ncols=2,
        frameon=False,
        fontsize="small",
    )
    return figure


def _draw_shares(
    ax: Axes, one: KeyComparison, table: Sequence[Any], thick: float
) -> None:
    """Draw the categories of a key as pairs of bars, before and after."""
    places = range(len(table))
    for share, color, shift, label in (
        ("share_before", _BEFORE, -0.5, "before"),
        ("share_after", _AFTER, 0.5, "after"),
    ):
        values = [100 * getattr(row, share) for row in table]
        at = [place + shift * thick * 1.1 for place in places]
        ax.barh(at, values, height=thick, color=color, label=label)
    names = [_label(row.category, _LABEL) for row in table]
    ax.set_yticks(places, names, fontsize="small")
    ax.set_ylim(len(table) - 0.4, -0.6)
    title = f"{_label(one.key, _LABEL)}: TV {one.total_variation:.4g}"
    if len(table) < len(one.table):
        title += f"; {len(table)} most changed of {len(one.table)}"
    _title(ax, title)
    ax.set_xlabel("% of the weight", fontsize="small")
    ax.tick_params(axis="x", labelsize="small")
    ax.spines[["top", "right"]].set_visible(False)


def _label(name: Any, longest: int) -> str:
    # A dollar sign would begin a formula.
    return shortened(name, longest).replace("$", r"\$")


def risk_utility_figure(
    tried: Trials,
    *,
    risk: str = "expected_reidentifications",
    loss: str = "share_lost",
) -> Figure:
    """Draw the risk of the safe candidates against their loss.

    The figure is for internal use.

    Parameters
    ----------
    tried : Trials
    risk : {"expected_reidentifications", "max_risk"}
    loss : {"share_lost", "mean_total_variation", "pmse"}
        Only the first of the three counts what recoding loses.

    Returns
    -------
    matplotlib.figure.Figure
        The candidates of `Trials.front` are dark.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install matplotlib``).
    ValueError
        If a measure is unknown, or no safe candidate has both figures.

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": list("ffmff"), "age": [15, 16, 31, 32, 33]}
    >>> goals = {"threshold": 0.2, "sampling_fraction": 0.1}
    >>> tried = riskcore.try_out(data, ["sex", "age"], {"a": goals})
    >>> riskcore.chart.risk_utility_figure(tried).axes[0].get_xlabel()
    'information lost, share of the entropy of the keys'
    """
    need("matplotlib", "charts")
    points = tried.points(risk, loss)
    front = tried.front(risk)
    if not points:
        raise ValueError("no candidate is safe and has both figures: nothing to draw")
    ax = new_figure(7.2, 4.6).subplots()
    # The names of neighbors alternate above and below.
    ranked = sorted(points, key=lambda name: points[name][::-1])
    for name, (y, x) in points.items():
        color = _AFTER if name in front else _BEFORE
        ax.plot([x], [y], "o", color=color, ms=7, clip_on=False, zorder=2)
        ax.annotate(
            _label(name, _NAME),
            (x, y),
            fontsize="small",
            xytext=(7, -12 if ranked.index(name) % 2 else 5),
            textcoords="offset points",
        )
    ax.set_xlabel(_TITLES[loss])
    ax.set_ylabel(_TITLES[risk])
    ax.set_xlim(0, nice(max(x for _, x in points.values())))
    ax.set_ylim(0, nice(max(y for y, _ in points.values())))
    ax.grid(color="0.92")
    _open(ax)
    return _root(ax)


_NAME = 32
_TITLES = {
    "expected_reidentifications": name_of("expected_reidentifications", "stages"),
    "max_risk": "largest risk",
    "share_lost": "information lost, share of the entropy of the keys",
    "mean_total_variation": "mean total variation of the two-way tables",
    "pmse": "pMSE",
}
