"""The internal pages of a comparison and of a trial of protections."""

from __future__ import annotations

from riskcore.common.words import on_one_line
from riskcore.comparison.compare import Comparison
from riskcore.protection.trials import Trials
from riskcore.report import utility_text
from riskcore.report.risk_utility_svg import spots
from riskcore.report.templating import render
from riskcore.report.utility_view import studies_view, utility_view


def comparison_page(found: Comparison, *, title: str) -> str:
    """Return the report of a comparison as HTML, for internal use."""
    return render(
        "utility.html",
        title=title,
        verdict="",
        found=found,
        names=[key_comparison.key for key_comparison in found.keys],
        percent=utility_text.percent,
        recoded=any(
            key_comparison.recoded is not None for key_comparison in found.keys
        ),
        view=utility_view(found),
        studies=studies_view(found),
    )


def trials_page(tried: Trials, *, title: str) -> str:
    """Return the report of protections tried as HTML, for internal use."""
    figures = tried.to_dict()
    marks = {trial.name: str(mark) for mark, trial in enumerate(tried.trials, 1)}
    front = tried.front()
    points = [(*at, marks[name], name in front) for name, at in tried.points().items()]
    return render(
        "trials.html",
        title=title,
        verdict="",
        tried=len(tried.trials),
        drawing=spots(points, "tried-text") if points else "",
        rows=utility_text.trial_rows(figures, on_one_line),
        by_key=utility_text.trial_key_rows(figures, on_one_line),
        front=utility_text.FRONT,
        said=[
            {"mark": mark, "name": trial.name, "text": text}
            for mark, trial in enumerate(tried.trials, 1)
            for text in (*([trial.reason] if trial.reason else []), *trial.warnings)
        ],
    )
