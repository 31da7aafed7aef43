"""Charts of l-diversity and of contributions to SUDA scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from riskcore.common.drawing import new_figure
from riskcore.common.words import shortened
from riskcore.report.pictures import _BARS, _UNSAFE, _axes, _root, _title
from riskcore.report.sheet_charts import records_by_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from riskcore.assessment.diversity import Diversity
    from riskcore.assessment.suda import SpecialUniques

_LONGEST = 30


def contributions_figure(found: SpecialUniques, *, ax: Axes | None = None) -> Figure:
    """Draw the share of the SUDA scores that each key is part of.

    No single record shows in it, unless few have a score.

    Parameters
    ----------
    found : SpecialUniques
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
    >>> found = riskcore.suda({"sex": ["f", "f", "m"], "age": [30, 40, 30]}, ["sex"])
    >>> chart.contributions_figure(found).axes[0].get_xlabel()
    'share of the scores'
    """
    table = found.contributions()
    names = [shortened(key, _LONGEST) for key in table["key"].tolist()][::-1]
    ax = _axes(ax, 1.2 + 0.32 * len(names))
    ax.barh(range(len(names)), np.nan_to_num(table["share"][::-1]), color=_BARS)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlim=(0, 1), xlabel="share of the scores")
    records = f"{np.count_nonzero(found.number):,} of {found.cells.n:,} records"
    _title(ax, f"minimal uniques of {records}; one counts for each of its keys")
    return _root(ax)


def diversity_figure(found: Diversity, *, ax: Axes | None = None) -> Figure:
    """Draw how many records are in cells of how many values, for each variable.

    Parameters
    ----------
    found : Diversity
    ax : matplotlib.axes.Axes, optional
        Axes to draw the first sensitive variable on; by default a new figure of all.

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
    if ax is None:
        rows = len(found.variables)
        figure = new_figure(7.2, 0.6 + 2.2 * rows)
        axes = list(figure.subplots(rows, squeeze=False)[:, 0])
    else:
        axes = [ax]
    for one, each in zip(axes, found.variables, strict=False):
        labels, records = records_by_values(each)
        places = range(len(labels))
        colors = [_UNSAFE if place < 2 else _BARS for place in places]
        one.bar(places, records, color=colors)
        one.set_xticks(places, labels)
        one.set_xlabel(f"values of {shortened(each.name, _LONGEST)} in the cell")
        one.set_ylabel("records")
    return _root(axes[0])
