"""Before and after: what the protection costs, and all versions side by side."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from riskcore.app import comparisons
from riskcore.app.comparisons import Compared, Study
from riskcore.app.forms import Form
from riskcore.app.pages.page import Page, named
from riskcore.app.pages.values import numbers_of
from riskcore.app.session import RefusedError
from riskcore.app.texts import said, told
from riskcore.app.workbench import Workbench
from riskcore.common.words import words_in
from riskcore.comparison.formula import formulas
from riskcore.report import utility_text
from riskcore.report.page_charts import spots
from riskcore.report.utility_view import studies_view, utility_view

if TYPE_CHECKING:
    from riskcore.comparison.analyses import TableComparison

# Larger tables show only the cells that changed most.
MOST_CELLS = 600
_PAIRS, _STRATA = 10, 20
_SHARES = 100  # sums of weights below are not rounded to whole numbers


def view(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return the comparison of the version that is shown, and the picture of all."""
    comparisons.note_figures(bench)
    common = {
        "columns": [*enumerate(map(str, bench.names))],
        "usual": _usual(bench),
        "chosen": comparisons.choices(bench),
        "lacking": "",
        "picture": picture(bench),
    }
    try:
        job = bench.comparison()
    except RefusedError as error:
        return {**common, "work": "lacking", "lacking": words_in(error)}
    values = {**common, "work": job.state, "why": job.error}
    if isinstance(job.result, Compared):
        values |= _compared(job.result)
    return values


def _usual(bench: Workbench) -> list[int]:
    """Return the positions of two columns for a table and of one with numbers."""
    names = bench.names
    keys = [at for at, name in enumerate(names) if name in bench.keys]
    numbers = [at for at, name in enumerate(names) if bench.role_of(name) == "numeric"]
    return [*[*keys, 0, 0][:2], [*numbers, 0][0]]


def _compared(result: Compared) -> dict[str, Any]:
    """Return the values of a comparison that is there."""
    comparison = result.found
    if comparison is None:
        return {"why": result.reason, "work": "failed"}
    view = utility_view(comparison, _PAIRS, _STRATA)
    places = {"tables": count(), "models": count()}
    return {
        "view": view,
        "missing": comparison.newly_missing,
        "lost": comparison.share_lost,
        "percent": utility_text.percent,
        "studies": [_study(x, next(places[x.kind])) for x in result.studies],
    }


# --- tables and models of the user ---


def _study(study: Study, place: int) -> dict[str, Any]:
    """Return what the page shows of a table or a model."""
    name = study.asked if study.kind == "models" else " x ".join(study.asked)
    shown = {"name": name, "place": place, "kind": study.kind}
    if study.found is None:
        return {**shown, "error": study.error}
    sections = studies_view(study.found)
    verdict = sections["verdicts"][0]
    parts = sections["models"] or sections["tables"]
    return {
        **shown,
        "error": "",
        "verdict": verdict,
        "part": parts[0] if parts else None,
        "crossed": [
            _crossed(part, study.found.weight is not None)
            for part in study.found.tables
            if part.cells
        ],
    }


def _crossed(table: TableComparison, weighted: bool) -> dict[str, Any] | None:
    """Return a two-way table of counts before and after; None if it is too large."""
    rows, columns = (
        list(dict.fromkeys(cell.categories[i] for cell in table.cells)) for i in (0, 1)
    )
    if len(rows) * len(columns) > MOST_CELLS:
        return None
    cells = {cell.categories: cell for cell in table.cells}
    sides = []
    for when in ("before", "after"):
        total = getattr(table, f"weight_{when}")
        counts = {key: total * getattr(x, f"share_{when}") for key, x in cells.items()}
        body = [[counts.get((a, b), 0.0) for b in columns] for a in rows]
        margins = [sum(column) for column in zip(*body, strict=True)]
        sides.append(
            {
                "when": when,
                "body": [
                    [_count(entry, total) for entry in [*row, sum(row)]] for row in body
                ],
                "total": [_count(entry, total) for entry in [*margins, total]],
            }
        )
    outside = {
        (i, j)
        for i, a in enumerate(rows)
        for j, b in enumerate(columns)
        if (a, b) in cells and cells[a, b].outside
    }
    return {
        "rows": rows,
        "columns": columns,
        "names": [str(entry) for entry in table.columns],
        "sides": sides,
        "outside": outside,
        "weighted": weighted,
    }


def _count(value: float, total: float) -> int | float:
    """Return a sum of weights for a table: whole if the weights are large."""
    return value if total < _SHARES else round(value)


# --- all versions that were carried out ---


def picture(bench: Workbench) -> dict[str, Any]:
    """Return the picture of risk and loss of the versions, and its figures."""
    tried, history = comparisons.trials(bench), bench.history
    shown, front = str(history.current.number), tried.front()
    points = [
        (
            trial.expected_reidentifications,
            trial.share_lost,
            trial.name,
            trial.name in front,
        )
        for trial in tried.trials
        if trial.expected_reidentifications is not None and trial.share_lost is not None
    ]
    kinds = {trial.name: "unsafe" for trial in tried.trials if not trial.safe}
    kinds[shown] = f"{kinds.get(shown, '')} shown".strip()
    links = {trial.name: f"/history?version={trial.name}" for trial in tried.trials}
    return {
        "drawing": spots(points, "states-text", links, kinds, told) if points else "",
        "rows": [(x, x.name in front) for x in reversed(tried.trials)],
        "more": len(history.figures) > len(tried.trials),
    }


# --- actions ---


def _add(bench: Workbench, kind: str, asked: Any) -> str:
    """Add a table, a model or a column of numbers, unless it is there."""
    chosen = comparisons.choices(bench)
    if asked not in chosen[kind]:
        chosen[kind].append(asked)
        bench.history.choose("compare", chosen)
    return said("compare", "added")


def table(bench: Workbench, form: Form) -> str:
    """Add a table of two columns."""
    asked = [bench.column(form.text(name)) for name in ("first", "second")]
    if asked[0] == asked[1]:
        raise RefusedError(said("compare", "twice"))
    return _add(bench, "tables", asked)


def model(bench: Workbench, form: Form) -> str:
    """Add a regression."""
    (asked,) = formulas([form.text("formula")])
    for variable in asked.variables:
        if variable.name not in bench.names:
            raise RefusedError(said("compare", "unknown", column=variable.name))
    return _add(bench, "models", asked.text)


def number(bench: Workbench, form: Form) -> str:
    """Add a column of numbers."""
    name = bench.column(form.text("column"))
    if bench.role_of(name) in ("key", "weight"):
        raise RefusedError(said("compare", "not_numbers", column=name))
    if numbers_of(bench, bench.coded_column(name)) is None:
        raise RefusedError(said("compare", "no_numbers", column=name))
    return _add(bench, "numbers", name)


def remove(bench: Workbench, form: Form) -> str:
    """Take a table, a model or a column of numbers away."""
    kind, position = form.text("kind"), form.whole("position")
    chosen = comparisons.choices(bench)
    if position >= len(chosen.get(kind, [])):
        raise RefusedError(said("compare", "gone"))
    del chosen[kind][position]
    bench.history.choose("compare", chosen)
    return said("compare", "removed")


PAGE = Page("compare", view, named(table, model, number, remove))
