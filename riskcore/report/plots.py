"""The risk chart: how many records have which risk, and what a threshold does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from riskcore.assessment import Assessment
from riskcore.report.public import (
    between,
    public_classes,
    threshold_shown,
    two_digits,
    views_of,
)
from riskcore.risk.file_risk import Counts, Risks
from riskcore.risk.histogram import class_counts, decimals, log_edges
from riskcore.risk.threshold import RiskDistribution
from riskcore.uniques import UniquesEstimates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """A distribution of risk at a number of thresholds, and in classes.

    Made by `risk_curve`. It tells of no record, only of sums over records.

    Attributes
    ----------
    threshold : float64 ndarray, shape (M,)
        Rising; the first is the smallest risk, the last the largest.
    unsafe : int64 ndarray, shape (M,)
        Number of records with risk >= threshold.
    risk_below, risk_below_rest : float64 ndarrays, shape (M,)
        Sum of the risks below the threshold: rounded to a double, and what is left.
    capped_rate : float64 ndarray, shape (M,)
        g(t), the re-identification rate if larger risks were lowered to t.
    safe_rate : float64 ndarray, shape (M,)
        The rate without the unsafe records.
    complete : bool
        Whether the thresholds are all distinct risks.
    edges : float64 ndarray, shape (B + 1,)
        Bounds of the classes of risk.
    counts : int64 ndarray, shape (B,)
        Number of records in each class, the lower bound belonging to it.
    n : int
        Number of records.
    max_risk, rate : float
        Largest risk and re-identification rate.
    """

    threshold: Risks
    unsafe: Counts
    risk_below: Risks
    risk_below_rest: Risks
    capped_rate: Risks
    safe_rate: Risks
    complete: bool
    edges: Risks
    counts: Counts
    n: int
    max_risk: float
    rate: float


def risk_curve(
    distribution: RiskDistribution,
    most: int = 2000,
    *,
    include: Iterable[float] = (),
    edges: ArrayLike | None = None,
) -> RiskCurve:
    """Return a distribution of risk at no more than a given number of thresholds.

    Parameters
    ----------
    distribution : RiskDistribution
    most : int
        Largest number of thresholds, 4 or more.
    include : iterable of float
        Thresholds to have in any case, if not all distinct risks are.
    edges : array_like, optional
        Rising bounds of the classes; by default those of `log_edges`.

    Returns
    -------
    RiskCurve
        Exact at each of its thresholds.

    Raises
    ------
    ValueError
        If ``most`` is below 4, or a risk is 0 and no edges are given.

    Notes
    -----
    The thresholds are all distinct risks if there are at most ``most``. Otherwise they
    are even over three scales: over log risk, the decimal numbers of two digits within
    the range (of one digit, or powers of ten, if those are more than ``most``/2); over
    the riskiest, the ``most``/4 largest risks; over records, the observed risks at even
    steps from the smallest to the largest.

    CASC (2004) deliverable 1.2-D3, sections 4 and 7.3.

    Examples
    --------
    >>> curve = risk_curve(RiskDistribution([0.5, 0.125, 0.25], frequency=[1, 4, 3]))
    >>> curve.threshold, curve.unsafe
    (array([0.125, 0.25 , 0.5  ]), array([8, 4, 1]))
    >>> curve.capped_rate
    array([0.125  , 0.1875 , 0.21875])
    """
    if most < 4:
        raise ValueError(f"most={most}: need 4 thresholds or more")
    complete = len(distribution.risk) <= most
    chosen = distribution.risk if complete else _chosen(distribution, most, include)
    thresholds = chosen.tolist()
    sums = [distribution.sum_below(t) for t in thresholds]
    below = [float(s) for s in sums]
    rest = [float(s - type(s)(b)) for s, b in zip(sums, below, strict=True)]
    if edges is None:
        edges = log_edges(float(distribution.risk[0]), distribution.max_risk)
    edges = np.asarray(edges, dtype=np.float64)
    return RiskCurve(
        threshold=chosen,
        unsafe=np.array([distribution.unsafe_count(t) for t in thresholds]),
        risk_below=np.array(below),
        risk_below_rest=np.array(rest),
        capped_rate=np.array([distribution.capped_rate(t) for t in thresholds]),
        safe_rate=np.array([distribution.safe_rate(t) for t in thresholds]),
        complete=complete,
        edges=edges,
        counts=class_counts(distribution, edges),
        n=distribution.n,
        max_risk=distribution.max_risk,
        rate=distribution.reidentification_rate,
    )


def _chosen(
    distribution: RiskDistribution, most: int, include: Iterable[float]
) -> Risks:
    """Return ``most`` thresholds or fewer, and those to include, within the range."""
    risk = distribution.risk
    low, high = float(risk[0]), distribution.max_risk
    round_numbers = _round_numbers(low, high, most // 2)
    riskiest = risk[-(most // 4) :]
    left = most - len(round_numbers) - len(riskiest)
    # The records at even steps, in whole numbers: the first is 0, the last is n - 1.
    steps = max(left - 1, 1)
    ranks = [i * (distribution.n - 1) // steps for i in range(steps + 1)]
    even = risk[np.searchsorted(np.cumsum(distribution.frequency), ranks, "right")]
    asked = np.array([t for t in include if low < t < high], dtype=np.float64)
    return np.unique(np.concatenate([round_numbers, riskiest, even, asked]))


def _round_numbers(low: float, high: float, most: int) -> Risks:
    """Return the decimal numbers of two digits within the range, or coarser ones."""
    numbers = np.zeros(0)
    for mantissas in (range(10, 100), range(1, 10), [1]):
        numbers = decimals(mantissas, max(low, 1e-320), high)
        numbers = numbers[(low < numbers) & (numbers < high)]
        if len(numbers) <= most:
            return numbers
    return numbers[:0]


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

    The figure is for internal use, unless ``public`` is set: its classes may hold a
    single record, and its title has exact rates.

    Parameters
    ----------
    assessment : Assessment
    threshold : float, optional
        Risk threshold to mark, with the number of unsafe records and the rate.
    household : bool
        Draw household risks, each record having that of its household.
    stages : mapping of str to Assessment, optional
        Assessments to compare with, by name, drawn in outline: the file before it was
        recoded or protected.
    public : bool
        Draw what may be published: the classes and rounded figures of
        `riskcore.page.public_page`, of one file alone.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a figure of its own.

    Returns
    -------
    matplotlib.figure.Figure
        Write it with ``savefig``.

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install matplotlib``).
    ValueError
        If household risks are asked for and there are none, the threshold is nan or
        negative, or a risk is 0; with ``public`` also if there are stages, or the file
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
    _need_matplotlib()
    from matplotlib.figure import Figure

    own = _distribution(assessment, household)
    if public:
        return _public_figure(assessment, threshold, household, stages, ax)
    others = {
        name: _distribution(other, household) for name, other in (stages or {}).items()
    }
    edges = shared_edges([own, *others.values()])
    if ax is None:
        ax = Figure((7.2, 4.0), layout="constrained").subplots()
    counts = class_counts(own, edges)
    _draw_classes(
        ax, edges, counts, {name: class_counts(o, edges) for name, o in others.items()}
    )
    _finish(ax, edges, counts, household)
    if threshold is not None:
        _shade(ax, threshold)
        _say(
            ax,
            f"threshold {threshold:.6g}: {own.unsafe_count(threshold):,} of {own.n:,} "
            f"records unsafe ({own.unsafe_count(threshold) / own.n:.2%})\n"
            f"rate {own.reidentification_rate:.4%}, capped at the threshold "
            f"{own.capped_rate(threshold):.4%}",
        )
    return _root(ax)


def _public_figure(
    assessment: Assessment,
    threshold: float | None,
    household: bool,
    stages: Mapping[str, Assessment] | None,
    ax: Axes | None,
) -> Figure:
    from matplotlib.figure import Figure

    if stages:
        raise ValueError("stages: what is published is of one file, of the last stage")
    classes = public_classes(views_of(assessment))
    if classes is None:
        raise ValueError("the file is too small for classes of risk to be published")
    view = int(household)
    counts = classes.counts[view]
    if ax is None:
        ax = Figure((7.2, 4.0), layout="constrained").subplots()
    _draw_classes(ax, classes.edges, counts, {})
    _finish(ax, classes.edges, counts, household)
    if threshold is not None:
        shown = threshold_shown(threshold)
        _shade(ax, shown)
        count = between(*classes.reaching(view, shown))
        rate = classes.rates()[view]
        known = "" if rate is None else f"\nrate {two_digits(rate, 2)} %"
        _say(ax, f"threshold {shown:g}: {count} of {classes.n:,} records unsafe{known}")
    return _root(ax)


def _finish(ax: Axes, edges: Risks, counts: Counts, household: bool) -> None:
    ax.set(xscale="log", xlim=(edges[0], edges[-1]), ylabel="records per class")
    ax.set_xlabel("household risk" if household else "individual risk")
    ax.spines["top"].set_visible(False)
    _draw_share(ax.twinx(), edges, counts)


def _root(ax: Axes) -> Figure:
    found = ax.get_figure(root=True)
    assert found is not None
    return found


def _need_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise ImportError("charts need matplotlib: pip install matplotlib")


def _distribution(assessment: Assessment, household: bool) -> RiskDistribution:
    if not household:
        return assessment.distribution
    if assessment.households is None:
        raise ValueError("no household risks: give assess(..., household=column)")
    return assessment.households.distribution


def shared_edges(distributions: Iterable[RiskDistribution]) -> Risks:
    """Return the bounds of classes that take in the risks of several distributions."""
    files = list(distributions)
    return log_edges(
        min(float(file.risk[0]) for file in files), max(file.max_risk for file in files)
    )


_BARS, _LINE, _UNSAFE = "#7a9cc0", "#1f2d3d", "#a8441f"


def _draw_classes(
    ax: Axes,
    edges: Risks,
    counts: Counts,
    others: Mapping[str, Counts],
) -> None:
    ax.stairs(counts, edges, fill=True, color=_BARS, alpha=0.85)
    most = int(counts.max())
    for name, other in others.items():
        ax.stairs(other, edges, lw=1.2, label=name)
        most = max(most, int(other.max()))
    if others:
        ax.legend(loc="upper left", frameon=False, fontsize="small")
    ax.set_ylim(0, 1.08 * most)


def _draw_share(ax: Any, edges: Risks, counts: Counts) -> None:
    """Draw the share of records at or above each bound, on an axis of its own."""
    at = np.append(counts[::-1].cumsum()[::-1], 0) / counts.sum()
    ax.plot(edges, 100.0 * at, color=_LINE, lw=1.4)
    ax.set(ylim=(0, 108), ylabel="records at or above, %")
    ax.spines["top"].set_visible(False)


def _shade(ax: Axes, threshold: float) -> None:
    low, high = ax.get_xlim()
    ax.axvspan(min(max(threshold, low), high), high, color=_UNSAFE, alpha=0.10, lw=0)
    if low <= threshold <= high:
        ax.axvline(threshold, color=_UNSAFE, lw=1.2)


def _say(ax: Axes, title: str) -> None:
    ax.set_title(title, fontsize="medium", loc="left")


def uniques_figure(found: UniquesEstimates, *, ax: Axes | None = None) -> Figure:
    """Draw the estimates of population uniques by model, with their intervals.

    Nothing in it is of a single record, but for the estimate by the weights if there
    are few sample uniques: it is the sum of their f/F. The number of sample uniques in
    the title is exact. To publish the figure beside `public_page`, look at both.

    Parameters
    ----------
    found : UniquesEstimates
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a figure of its own.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ImportError
        If matplotlib is not installed (``pip install matplotlib``).
    """
    _need_matplotlib()
    from matplotlib.figure import Figure

    if ax is None:
        height = 1.2 + 0.32 * len(found.estimates)
        ax = Figure((7.2, height), layout="constrained").subplots()
    rows = list(reversed(found.estimates))
    for y, one in enumerate(rows):
        if not math.isfinite(one.tau):
            ax.annotate(
                f" no estimate: {one.reason}", (0.0, y), va="center", fontsize="small",
                xycoords=("axes fraction", "data"), color=_UNSAFE,
            )  # fmt: skip
            continue
        ax.plot([one.wide_low, one.wide_high], [y, y], color=_BARS, lw=1.2)
        ax.plot([one.low, one.high], [y, y], color=_BARS, lw=5, solid_capstyle="butt")
        ax.plot([one.tau], [y], "o", color=_LINE, ms=5)
    ax.set_yticks(range(len(rows)), [one.model for one in rows])
    ax.set(ylim=(-0.7, len(rows) - 0.3))
    ax.set_xlim(left=0.0)
    ax.set_xlabel("sample uniques that are unique in the population")
    ax.set_title(
        f"{found.sizes[1]:,} sample uniques of {found.sizes.n:,} records, "
        f"population {found.population:,}\nbars: {found.level:.4g} "
        "intervals; lines: with the error of the fit",
        fontsize="medium",
        loc="left",
    )
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure
