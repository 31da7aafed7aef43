"""Pictures of l-diversity and of what contributes to SUDA scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from riskcore.common.drawing import new_figure
from riskcore.common.needs import need
from riskcore.common.words import shortened
from riskcore.report.pictures import _BARS, _UNSAFE, _root

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from riskcore.assessment.diversity import Diversity
    from riskcore.assessment.suda import SpecialUniques

# Beyond these cells of many values are drawn as one bar.
_MOST = 20
_LONGEST = 30


def contributions_figure(found: SpecialUniques, *, ax: Axes | None = None) -> Figure:
    """Draw the share of the SUDA scores that each key is part of.

    Nothing in it is of a single record, unless there are but few with a score.

    Parameters
    ----------
    found : SpecialUniques
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a figure of its own.

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
    >>> found = riskcore.suda({"sex": ["f", "f", "m"], "age": [30, 40, 30]}, ["sex"])
    >>> chart.contributions_figure(found).axes[0].get_xlabel()
    'share of the scores'
    """
    need("matplotlib", "charts")
    table = found.contributions()
    names = [shortened(key, _LONGEST) for key in table["key"].tolist()][::-1]
    ax = _axes(ax, 1.2 + 0.32 * len(names))
    ax.barh(range(len(names)), np.nan_to_num(table["share"][::-1]), color=_BARS)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlim=(0, 1), xlabel="share of the scores")
    with_sets = int(np.count_nonzero(found.number))
    ax.set_title(
        f"minimal uniques of {with_sets:,} of {found.cells.n:,} records; one counts "
        "for each of its keys",
        fontsize="medium",
        loc="left",
    )
    return _root(ax)


def diversity_figure(found: Diversity, *, ax: Axes | None = None) -> Figure:
    """Draw how many records are in cells of how many values, for each variable.

    Parameters
    ----------
    found : Diversity
    ax : matplotlib.axes.Axes, optional
        Where to draw the first sensitive variable alone; by default a figure of all.

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
    >>> data = {"zip": [1, 1, 2, 2], "disease": ["flu", "flu", "flu", "cancer"]}
    >>> found = riskcore.diversity(data, ["zip"], "disease")
    >>> chart.diversity_figure(found).axes[0].get_xlabel()
    'values of disease in the cell'
    """
    need("matplotlib", "charts")
    if ax is None:
        rows = len(found.variables)
        figure = new_figure(7.2, 0.6 + 2.2 * rows)
        axes = list(figure.subplots(rows, squeeze=False)[:, 0])
    else:
        axes = [ax]
    for one, each in zip(axes, found.variables, strict=False):
        values = np.minimum(each.distinct_l, _MOST)
        records = np.bincount(values, each.cells.records, _MOST + 1)
        last = int(values.max())
        places = np.arange(last + 1)
        colors = [_UNSAFE if place < 2 else _BARS for place in places]
        one.bar(places, records[: last + 1], color=colors)
        labels = [str(place) for place in places]
        if each.distinct_l.max() > _MOST:
            labels[-1] = f"{_MOST} or more"
        one.set_xticks(places, labels)
        one.set_xlabel(f"values of {shortened(each.name, _LONGEST)} in the cell")
        one.set_ylabel("records")
    return _root(axes[0])


def _axes(ax: Axes | None, height: float) -> Axes:
    if ax is not None:
        return ax
    return new_figure(7.2, height).subplots()
