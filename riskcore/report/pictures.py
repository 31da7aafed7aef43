"""The risk chart, and charts of estimates of population uniques."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from riskcore.assessment.result import Assessment
from riskcore.assessment.uniques import CorrectnessCurve, UniquesEstimates
from riskcore.common.drawing import new_figure
from riskcore.common.needs import need
from riskcore.common.words import counted
from riskcore.core.risk.file_risk import Counts, Risks
from riskcore.core.risk.histogram import class_counts
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.report.public import (
    between,
    public_classes,
    public_rate,
    threshold_shown,
    two_digits,
    views_of,
)
from riskcore.report.risk_curve import shared_edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def figure(
    assessment: Assessment,
    *,
    threshold: float | None = None,
    household: bool = False,
    stages: Mapping[str, Assessment] | None = None,
    public: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """Draw the risk chart: classes of risk on a log scale and the cumulative curve.

    The figure is for internal use unless ``public`` is set: a class may hold a single
    record, and the title has exact rates.

    Parameters
    ----------
    assessment : Assessment
    threshold : float, optional
        Risk threshold to mark, with the number of unsafe records and the rate.
    household : bool
        Draw household risks: each record has the risk of its household.
    stages : mapping of str to Assessment, optional
        Assessments to compare with by name, drawn in outline, such as the file before
        it was recoded or protected.
    public : bool
        Draw the classes and rounded figures of `riskcore.page.public_page`, which may
        be published, of one file alone.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default the axes of a new figure.

    Returns
    -------
    matplotlib.figure.Figure
        Write it with ``savefig``.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install matplotlib``).
    ValueError
        If household risks are asked for but missing, the threshold is nan or
        negative, or a risk is 0; with ``public`` also if stages are given, or the file
        is too small for any class.

    Examples
    --------
    >>> import riskcore
    >>> from riskcore import chart
    >>> data = {"sex": ["f", "m", "f"], "age": [31, 47, 31], "w": [10.0, 20.0, 15.0]}
    >>> result = riskcore.assess(data, ["sex", "age"], weight="w")
    >>> chart.figure(result, threshold=0.1).axes[0].get_xlabel()
    'individual risk'
    """
    need("matplotlib", "charts")
    own = _distribution(assessment, household)
    if public:
        return _public_figure(assessment, threshold, household, stages, ax)
    others = {
        name: _distribution(other, household) for name, other in (stages or {}).items()
    }
    edges = shared_edges([own, *others.values()])
    outlines = {name: class_counts(other, edges) for name, other in others.items()}
    ax = _draw(ax, edges, class_counts(own, edges), outlines, household)
    if threshold is not None:
        unsafe = own.unsafe_count(threshold)
        title = (
            f"threshold {threshold:.6g}: {unsafe:,} of {own.n:,} records unsafe "
            f"({unsafe / own.n:.2%})\nrate {own.reidentification_rate:.4%}, "
            f"capped at the threshold {own.capped_rate(threshold):.4%}"
        )
        _mark(ax, threshold, title)
    return _root(ax)


def _public_figure(
    assessment: Assessment,
    threshold: float | None,
    household: bool,
    stages: Mapping[str, Assessment] | None,
    ax: Axes | None,
) -> Figure:
    if stages:
        raise ValueError("stages: only one file, the last stage, may be published")
    classes = public_classes(views_of(assessment))
    if classes is None:
        raise ValueError("the file is too small for classes of risk to be published")
    view = int(household)
    ax = _draw(ax, classes.edges, classes.counts[view], {}, household)
    if threshold is not None:
        shown = threshold_shown(threshold)
        count = between(*classes.reaching(view, shown))
        most, rate = public_rate(classes.rates()[view], assessment)
        total = counted(classes.n, "record")
        known = "" if rate is None else f"\nrate {most}{two_digits(rate, 2)} %"
        _mark(ax, shown, f"threshold {shown:g}: {count} of {total} unsafe{known}")
    return _root(ax)


def _axes(ax: Axes | None, height: float) -> Axes:
    return new_figure(7.2, height).subplots() if ax is None else ax


def _root(ax: Axes) -> Figure:
    found = ax.get_figure(root=True)
    assert found is not None
    return found


def _distribution(assessment: Assessment, household: bool) -> RiskDistribution:
    if not household:
        return assessment.distribution
    if assessment.households is None:
        raise ValueError("no household risks: give assess(..., household=column)")
    return assessment.households.distribution


_BARS, _LINE, _UNSAFE = "#7a9cc0", "#1f2d3d", "#a8441f"


def _draw(
    ax: Axes | None,
    edges: Risks,
    counts: Counts,
    others: Mapping[str, Counts],
    household: bool,
) -> Axes:
    """Draw classes, other files in outline, and the share at or above each risk."""
    ax = _axes(ax, 4.0)
    bars = "the file itself" if others else None
    ax.stairs(counts, edges, fill=True, color=_BARS, alpha=0.85, label=bars)
    for name, other in others.items():
        ax.stairs(other, edges, lw=1.2, label=name)
    if others:
        # Above the axes: within them the curve runs from one corner to the other.
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=3,
            frameon=False,
            fontsize="small",
        )
    most = max(int(each.max()) for each in (counts, *others.values()))
    ax.set(ylim=(0, 1.08 * most), ylabel="records per class")
    ax.set(xscale="log", xlim=(edges[0], edges[-1]))
    ax.set_xlabel("household risk" if household else "individual risk")
    ax.spines["top"].set_visible(False)
    share: Any = ax.twinx()
    above = np.append(counts[::-1].cumsum()[::-1], 0) / counts.sum()
    share.plot(edges, 100.0 * above, color=_LINE, lw=1.4)
    share.set(ylim=(0, 108), ylabel="records at or above, %")
    share.spines["top"].set_visible(False)
    return ax


def _mark(ax: Axes, threshold: float, title: str) -> None:
    """Shade the risks at or above a threshold, and set the title above any legend."""
    low, high = ax.get_xlim()
    ax.axvspan(min(max(threshold, low), high), high, color=_UNSAFE, alpha=0.10, lw=0)
    if low <= threshold <= high:
        ax.axvline(threshold, color=_UNSAFE, lw=1.2)
    legend = ax.get_legend()
    above = 0 if legend is None else 20 * -(-len(legend.get_texts()) // 3)
    _title(ax, title, pad=6 + above)


def _title(ax: Axes, title: str, pad: float | None = None) -> None:
    ax.set_title(title, fontsize="medium", loc="left", pad=pad)


def _open(ax: Axes) -> None:
    """Remove the upper and right edges, and put the grid behind the drawing."""
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def curve_figure(curve: CorrectnessCurve, *, ax: Axes | None = None) -> Figure:
    """Draw the share of people that one guess for each cell finds, as N grows.

    No single record shows in it.

    Parameters
    ----------
    curve : CorrectnessCurve
        From `riskcore.assessment.uniques.UniquesEstimates.curve`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default the axes of a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install matplotlib``).

    Examples
    --------
    >>> import riskcore
    >>> from riskcore import chart
    >>> found = riskcore.estimate_uniques(
    ...     {"age": list(range(40)) * 2 + [50, 51]}, ["age"], population=900
    ... )
    ...
    >>> chart.curve_figure(found.curve()).axes[0].get_xscale()
    'log'
    """
    ax = _axes(ax, 4.6)
    for name, share in curve.models.items():
        (line,) = ax.plot(curve.people, share, lw=1.4, label=name)
        low, high = curve.intervals[name]
        ax.fill_between(
            curve.people, low, high, color=line.get_color(), alpha=0.15, lw=0
        )
    known = "parts of the sample"
    ax.plot(curve.people, curve.sample, color="black", lw=2.2, label=known)
    ax.set(xscale="log", ylim=(0.0, 1.02), xlim=(curve.people[0], curve.people[-1]))
    ax.set_xlabel("people in the population, N")
    ax.set_ylabel("share found by one guess for each cell, E K/N")
    level = f"{100 * curve.level:.4g} %"
    _title(ax, f"bands: {level} intervals for the error of the parameters")
    ax.legend(fontsize="small", frameon=False)
    ax.grid(alpha=0.3)
    return _root(ax)


def sizes_figure(
    found: UniquesEstimates, *, most: int = 12, ax: Axes | None = None
) -> Figure:
    """Draw how many cells of each size the sample has, and the models expect.

    A model that misses the points is wrong; a model that fits them may still be wrong
    about the population, see `riskcore.assessment.uniques.UniquesEstimates.advice`. The
    numbers are exact, for internal use.

    Parameters
    ----------
    found : UniquesEstimates
    most : int
        Largest size of a cell to draw, unless the largest of the sample is smaller.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default the axes of a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install matplotlib``).
    TypeError, ValueError
        If ``most`` is not a whole number >= 1.

    Examples
    --------
    >>> import riskcore
    >>> from riskcore import chart
    >>> found = riskcore.estimate_uniques(
    ...     {"age": list(range(40)) * 2 + [50, 51]}, ["age"], population=900
    ... )
    ...
    >>> chart.sizes_figure(found).axes[0].get_xlabel()
    'records in the cell'
    """
    ax = _axes(ax, 4.2)
    most = max(min(most, int(found.sizes.sizes[-1])), 2)
    cells = found.fitted_sizes(most)
    observed = cells.pop("observed")
    sizes = np.arange(1, most + 1)
    for name, expected in cells.items():
        ax.plot(sizes, expected, lw=1.4, label=name)
    points = sizes[observed > 0], observed[observed > 0]
    ax.plot(*points, "o", color="black", ms=5, label="the sample", zorder=3)
    # The limits first: a scale without positive numbers would have none.
    ax.set_ylim(0.5, 2.0 * max(observed.max(), 1.0))
    ax.set_yscale("log")
    ax.set_xticks(sizes)
    ax.set_xlabel("records in the cell")
    ax.set_ylabel("cells")
    ax.legend(fontsize="small", frameon=False)
    ax.grid(color="0.9")
    _open(ax)
    return _root(ax)


def uniques_figure(found: UniquesEstimates, *, ax: Axes | None = None) -> Figure:
    """Draw the estimates of population uniques by model, with their intervals.

    Below them it draws `sizes_figure`, unless axes are given. For a simulation, a line
    shows the truth.

    No single record shows in it, except in the estimate by the weights if there are
    few sample uniques: it is the sum of their f/F. The number of sample uniques in the
    title is exact. Before you publish the figure with `public_page`, look at both.

    Parameters
    ----------
    found : UniquesEstimates
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default the axes of a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install matplotlib``).

    Examples
    --------
    >>> import riskcore
    >>> from riskcore import chart
    >>> found = riskcore.estimate_uniques(
    ...     {"age": list(range(40)) * 2 + [50, 51]}, ["age"], population=900
    ... )
    ...
    >>> chart.uniques_figure(found).axes[0].get_xlabel()
    'sample uniques that are unique in the population'
    """
    if ax is None:
        height = 1.2 + 0.32 * len(found.estimates)
        ax, below = new_figure(7.2, height + 3.4).subplots(
            2, height_ratios=[height, 3.4]
        )
        sizes_figure(found, ax=below)
    rows = list(reversed(found.estimates))
    for y, one in enumerate(rows):
        if not math.isfinite(one.tau):
            ax.annotate(
                f" no estimate: {one.reason}",
                (0.0, y),
                va="center",
                fontsize="small",
                xycoords=("axes fraction", "data"),
                color=_UNSAFE,
            )
            continue
        ax.plot([one.wide_low, one.wide_high], [y, y], color=_BARS, lw=1.2)
        ax.plot([one.low, one.high], [y, y], color=_BARS, lw=5, solid_capstyle="butt")
        ax.plot([one.tau], [y], "o", color=_LINE, ms=5, clip_on=False, zorder=3)
    if found.truth is not None:
        ax.axvline(found.truth, color=_UNSAFE, lw=1.2, label="the truth")
        ax.legend(fontsize="small", frameon=False)
    ax.set_yticks(range(len(rows)), [one.model for one in rows])
    ax.set(ylim=(-0.7, len(rows) - 0.3))
    ax.set_xlim(left=0.0)
    ax.set_xlabel("sample uniques that are unique in the population")
    sample = f"{counted(found.sizes[1], 'sample unique')} of "
    sample += f"{counted(found.sizes.n, 'record')}, population {found.population:,}"
    level = f"{100 * found.level:.4g} %"
    bars = f"bars: {level} intervals; lines: with the error of the fit"
    _title(ax, f"{sample}\n{bars}")
    ax.grid(axis="x", color="0.9")
    _open(ax)
    return _root(ax)
