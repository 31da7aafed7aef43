"""The internal pages of a comparison and of a trial of protections."""

from __future__ import annotations

from functools import partial
from typing import Any

from riskcore.assessment.reported_figures import whole_label
from riskcore.comparison.compare import Comparison, KeyComparison
from riskcore.protection.trials import Trials
from riskcore.report import utility_text
from riskcore.report.risk_utility_svg import spots
from riskcore.report.templating import need_jinja, render
from riskcore.report.utility_view import studies_view, utility_view

# Longer tables show the categories that have changed most.
MOST_CATEGORIES = 40


def comparison_page(found: Comparison, *, title: str) -> str:
    """Return the report of a comparison as HTML, for internal use.

    Parameters
    ----------
    found : Comparison
    title : str
        Title of the page.

    Returns
    -------
    str
        A page that needs no network. It holds figures of the original file, so write
        it where only you can read it. The same arguments give the same text.

    Raises
    ------
    ImportError
        If Jinja2 is not installed (``pip install jinja2``).

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": list("ffmm")}
    >>> found = riskcore.compare(data, {"sex": ["f", None, "m", "m"]}, ["sex"])
    >>> text = comparison_page(found, title="Utility of the safe file")
    >>> "figures of the original" in text
    True
    """
    need_jinja()
    figures = found.to_dict()
    named = partial(utility_text.with_label, labels=figures["labels"], form=whole_label)
    return render(
        "utility.html",
        title=title,
        verdict="",
        found=found,
        names=[one.key for one in found.keys],
        keys=utility_text.key_rows(figures["keys"], named),
        missing=utility_text.distance_rows(figures["keys"], name=whole_label),
        percent=utility_text.percent,
        recoded=any(one.recoded is not None for one in found.keys),
        tables=[
            {**table_view(one), "name": named(one.key)}
            for one in found.keys
            if one.table
        ],
        numbers=utility_text.number_rows(figures, named),
        correlations=utility_text.correlation_rows(
            figures["correlations"], whole_label
        ),
        view=utility_view(found),
        studies=studies_view(found),
    )


def trials_page(tried: Trials, *, title: str) -> str:
    """Return the report of protections tried as HTML, for internal use.

    Parameters
    ----------
    tried : Trials
    title : str
        Title of the page.

    Returns
    -------
    str
        A page that needs no network. It holds figures of the original file. The same
        arguments give the same text.

    Raises
    ------
    ImportError
        If Jinja2 is not installed (``pip install jinja2``).

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": list("ffmff"), "age": [15, 16, 31, 32, 33]}
    >>> tried = riskcore.try_out(data, ["sex", "age"], {"a": {"threshold": 0.6}})
    >>> "<title>Tried" in trials_page(tried, title="Tried")
    True
    """
    need_jinja()
    figures = tried.to_dict()
    marks = {one.name: str(mark) for mark, one in enumerate(tried.trials, 1)}
    front = tried.front()
    points = [(*at, marks[name], name in front) for name, at in tried.points().items()]
    return render(
        "trials.html",
        title=title,
        verdict="",
        tried=len(tried.trials),
        drawing=spots(points, "tried-text") if points else "",
        rows=utility_text.trial_rows(figures, whole_label),
        by_key=utility_text.trial_key_rows(figures, whole_label),
        front=utility_text.FRONT,
        said=[
            {"mark": mark, "name": one.name, "text": text}
            for mark, one in enumerate(tried.trials, 1)
            for text in (*([one.reason] if one.reason else []), *one.warnings)
        ],
    )


def table_view(one: KeyComparison) -> dict[str, Any]:
    """Return the table of a key before and after, with the categories to draw."""
    rows = most_changed(one, MOST_CATEGORIES)
    most = max(max(row.share_before, row.share_after) for row in rows)
    return {
        "name": one.key,
        "rows": rows,
        "more": len(one.table) - len(rows),
        "most": most,
    }


def most_changed(one: KeyComparison, count: int) -> list[Any]:
    """Return the categories whose share has changed most, in the order of the table."""
    moved = [abs(row.share_after - row.share_before) for row in one.table]
    ranked = sorted(range(len(moved)), key=lambda i: (-moved[i], i))[:count]
    return [one.table[i] for i in sorted(ranked)]
