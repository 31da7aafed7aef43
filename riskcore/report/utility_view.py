"""The costs of a protection on internal pages: of a comparison, and of trials."""

from __future__ import annotations

from functools import partial
from typing import Any

from riskcore.common.progress import Lines, silent
from riskcore.common.words import on_one_line
from riskcore.comparison.compare import Comparison, KeyComparison
from riskcore.comparison.losses import CategoryLoss, losses_of_cells
from riskcore.protection.result import Protected
from riskcore.protection.trials import Trials
from riskcore.report import utility_text
from riskcore.report.page_charts import spots
from riskcore.report.templating import render

# Largest file that a report compares; a million records take about 2 s.
MOST_RECORDS = 5_000_000
# Longer tables show the cells, or the categories, that have changed most.
MOST_CELLS = MOST_CATEGORIES = 40
# Numbers of pairs of keys and of strata in the report of a protection.
_PAIRS, _STRATA = 5, 20


def utility_of(protected: Protected, progress: Lines = silent) -> Comparison | str:
    """Return the comparison of a file before and after, or why it is missing."""
    if protected.on_engine is not None:
        return "An engine holds the records; Protected.compare compares them."
    if protected.n > MOST_RECORDS:
        return too_long(protected.n)
    progress("comparing the file before and after")
    return protected.compare(strata=protected.settings.strata, progress=progress)


def too_long(n: int) -> str:
    """Return why a file is not compared here."""
    return (
        f"The file has {n:,} records, and at most {MOST_RECORDS:,} are compared here; "
        "riskcore compare takes more."
    )


def losses_of(protected: Protected) -> list[CategoryLoss]:
    """Return what the categories of all keys lost by suppression, each key once."""
    losses: dict[Any, list[CategoryLoss]] = {}
    for keys in protected.sets:
        own: dict[Any, list[CategoryLoss]] = {}
        for loss in losses_of_cells(keys.recoded.cells, keys.protected.cells):
            own.setdefault(loss.key, []).append(loss)
        losses = {**own, **losses}
    return [loss for of_key in losses.values() for loss in of_key]


def utility_view(
    comparison: Comparison, pairs: int | None = None, strata: int | None = None
) -> dict[str, Any]:
    """Return the values that every page of a comparison shows."""
    figures = comparison.to_dict()
    named = partial(utility_text.with_label, labels=figures["labels"], form=on_one_line)
    ranked = utility_text.most_changed(figures["pairs"])
    by_stratum = utility_text.stratum_rows(figures, on_one_line)
    listed = by_stratum if strata is None else by_stratum[: strata + 1]
    return {
        "keys": utility_text.key_rows(figures["keys"], named),
        "distances": utility_text.distance_rows(figures["keys"], name=on_one_line),
        "tables": [
            {**_table_of_key(entry), "name": named(entry.key)}
            for entry in comparison.keys
            if entry.table
        ],
        "numbers": utility_text.number_rows(figures, named),
        "correlations": utility_text.correlation_rows(
            figures["correlations"], on_one_line
        ),
        "pairs": utility_text.pair_rows(ranked[:pairs], on_one_line),
        "more_pairs": len(ranked) - len(ranked[:pairs]),
        "mean": utility_text.number(comparison.mean_total_variation),
        "means_known": comparison.mean_total_variation is not None,
        "losses": utility_text.loss_rows(figures, on_one_line),
        "strata": listed,
        "more_strata": len(by_stratum) - len(listed),
        "reasons": [
            {"name": entry.key, "reason": entry.reason}
            for entry in comparison.keys
            if entry.reason
        ],
        "propensity": utility_text.propensity_lines(figures),
    }


def _table_of_key(one: KeyComparison) -> dict[str, Any]:
    """Return the categories whose share changed most, in the order of the table."""
    moved = [abs(row.share_after - row.share_before) for row in one.table]
    ranked = sorted(range(len(moved)), key=lambda i: (-moved[i], i))
    rows = [one.table[i] for i in sorted(ranked[:MOST_CATEGORIES])]
    return {
        "rows": rows,
        "more": len(one.table) - len(rows),
        "most": max(max(row.share_before, row.share_after) for row in rows),
    }


def studies_view(comparison: Comparison) -> dict[str, Any]:
    """Return the values of the sections on the models and tables of a user."""
    figures = comparison.to_dict()
    models, tables = figures["models"], figures["tables"]
    return {
        "verdicts": [
            *(_verdict(study["formula"], study) for study in models),
            *(
                _verdict(f"Table {' x '.join(study['columns'])}", study)
                for study in tables
            ),
        ],
        "models": [
            {
                "name": study["formula"],
                "facts": utility_text.model_facts(
                    study, figures["labels"], on_one_line
                ),
                "rows": utility_text.coefficient_rows(study, on_one_line, "below"),
                "notes": [note[0].upper() + note[1:] for note in study["notes"]],
            }
            for study in models
        ],
        "tables": [_table_view(study) for study in tables if study["cells"]],
    }


def _verdict(name: str, study: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "status": study["status"], "text": study["verdict"]}


def _table_view(table: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a table of a user."""
    rows = utility_text.cell_rows(table, MOST_CELLS, on_one_line)
    variation = utility_text.number(table["total_variation"])
    return {
        "name": " x ".join(table["columns"]),
        "facts": [*utility_text.records_facts(table), ("total variation", variation)],
        "rows": rows,
        "more": max(len(table["cells"]) - MOST_CELLS, 0),
    }


def section_view(utility: Comparison | str) -> dict[str, Any]:
    """Return the values of the section on utility in the report of a protection."""
    if isinstance(utility, str):
        return {"why_not": utility}
    keys = utility.to_dict()["keys"]
    return {
        "why_not": "",
        "missing": utility_text.whole(utility.newly_missing),
        "lost": utility_text.percent(utility.share_lost),
        **utility_view(utility, _PAIRS, _STRATA),
        "distances": utility_text.distance_rows(keys, entropy=True, name=on_one_line),
    }


def comparison_page(
    found: Comparison, *, title: str = "Utility of the safe file"
) -> str:
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


def trials_page(tried: Trials, *, title: str = "Protections tried") -> str:
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
