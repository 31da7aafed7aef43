"""Keys on and off, and the risk by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from riskcore.app.contributions import Contribution, contributions
from riskcore.app.forms import Form, place_in
from riskcore.app.jobs import Job, words_of
from riskcore.app.pages.page import Page, named
from riskcore.app.pages.values import label_of
from riskcore.app.session import RefusedError
from riskcore.app.texts import said, told
from riskcore.app.workbench import State, Workbench
from riskcore.assessment.assessment import Assessment
from riskcore.assessment.suda import suda
from riskcore.common.progress import Lines
from riskcore.report.office_charts import HOUSEHOLDS, RECORDS, class_chart
from riskcore.report.page_charts import column_plot
from riskcore.report.summary import (
    figure_rows,
    finite,
    model_view,
    remarks_on,
    stage_figures,
)

if TYPE_CHECKING:
    from riskcore.assessment.reported_figures import Row
    from riskcore.protection.suppression.suppress import Aim

# Most keys in a pattern, and most patterns shown.
_MOST, _PATTERNS = 3, 20
COUNTS = (10, 30, 100)
# Columns of the chart of sample frequencies.
_COLUMNS = 10
# Tables that change no risk.
_NOT_RISK = ("roles", "accept", "output", "check", "suppress")
# A page of a small file need not be shown twice.
_SOON = 0.15


@dataclass(frozen=True)
class _Set:
    """A set of keys with the file as it is before suppression."""

    at: int
    aim: Aim
    original: Assessment
    recoded: Assessment
    unsafe: int

    @property
    def stages(self) -> dict[str, Assessment]:
        """The file by stage; one stage if nothing was recoded or treated."""
        if self.recoded is self.original:
            return {said("risk", "file"): self.recoded}
        names = said("risk", "original"), said("risk", "recoded")
        return dict(zip(names, (self.original, self.recoded), strict=True))


def _sets(state: State) -> list[_Set]:
    """Return the sets of keys, assessed."""
    made = state.prepared.original, state.prepared.recoded
    parts = zip(state.aims, *made, state.unsafe, strict=True)
    return [_Set(at, *of_set) for at, of_set in enumerate(parts)]


def _shown_set(state: State, form: Form) -> _Set:
    """Return the set of keys that an address asks for, or the first."""
    sets = _sets(state)
    return sets[place_in(form.text("set"), len(sets)) or 0]


# --- the page ---


def view(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return the switches of the keys, and the risk by a set of them."""
    values: dict[str, Any] = {"switches": _switches(bench), "risk": None, "why": ""}
    values["without_role"] = sum(
        column["role"] is None for column in values["switches"]["columns"]
    )
    if bench.lacking:
        return values | {"why": bench.lacking}
    try:
        return values | {"risk": _risk(bench, form)}
    except RefusedError as error:
        return values | {"why": words_of(error)}


def _switches(bench: Workbench) -> dict[str, Any]:
    """Return the columns that are or could be keys, and the sets they are in."""
    description = bench.description()
    described = () if description is None else description.columns
    proposed = {str(column.name): column.proposed.role for column in described}
    columns = [
        {"at": at, "name": name, "label": label_of(bench, name), "role": role}
        for at, name in enumerate(bench.names)
        for role in [bench.role_of(name)]
        if role in ("key", None) or proposed.get(name) == "key"
    ]
    return {"columns": columns, "sets": bench.release.key_sets or [[]]}


def _risk(bench: Workbench, form: Form) -> dict[str, Any]:
    """Return what the page shows of the risk."""
    state = bench.tried()
    sets, shown = _sets(state), _shown_set(state, form)
    cells = shown.recoded.cells
    return {
        "at": shown.at,
        "households": state.settings.unit == "household",
        "unsafe": state.any_unsafe,
        "n": cells.n,
        "sets": sets if len(sets) > 1 else [],
        "keys": cells.keys,
        "k": shown.aim.k,
        "threshold": finite(shown.aim.threshold),
        "household_threshold": finite(shown.aim.household_threshold),
        "stages": [*shown.stages],
        "rows": _figure_rows(shown),
        "charts": _charts(shown),
        "frequencies": _frequencies(shown),
        "remarks": _remarks(bench),
        "beside": shown.recoded.beside is not None and shown.recoded.beside.needed,
        "counts": COUNTS,
    }


def _figure_rows(shown: _Set) -> list[Row]:
    """Return the figures of the file, as reports have them."""
    aim = shown.aim
    several = aim.of_households or aim.k is not None
    by_stage = []
    for stage in shown.stages.values():
        count = shown.unsafe
        if stage is not shown.recoded:
            count = stage.cells.count_of(aim.unsafe(stage))
        thresholds = finite(aim.threshold), finite(aim.household_threshold)
        by_stage.append(
            stage_figures(
                stage, *thresholds, count if several else None, aim.k, beside=False
            )
        )
    return figure_rows(by_stage)


def _remarks(bench: Workbench) -> list[str]:
    """Return what is doubtful in the weights of the file."""
    settings, source = bench.settings(), bench.source
    key = settings.weight, settings.sampling_fraction
    return bench.keep("remarks", key, lambda: remarks_on(source, *key))


def _charts(shown: _Set) -> list[dict[str, Any]]:
    """Return the charts of the risk of records, and of households if it decides."""
    aim, charts = shown.aim, []
    levels = [(RECORDS, aim.threshold)]
    if aim.of_households:
        levels.append((HOUSEHOLDS, aim.household_threshold))
    for level, threshold in levels:
        name = f"chart-{level}"
        try:
            drawing, lines, others = class_chart(
                shown.stages, level, finite(threshold), f"{name}-text", told
            )
        except ValueError:  # a risk of 0 has no place on a log scale
            continue
        charts.append(
            {
                "id": name,
                "households": level == HOUSEHOLDS,
                "drawing": drawing,
                "lines": lines,
                "others": others,
                "threshold": finite(threshold),
            }
        )
    return charts


def _frequencies(shown: _Set) -> dict[str, Any] | None:
    """Return the chart of the records by sample frequency, if there is a k."""
    k = shown.aim.k
    if k is None:
        return None
    bounds = _bounds(k)
    below = [shown.recoded.below(bound).records for bound in bounds]
    counts = np.diff([*below, shown.recoded.cells.n]).tolist()
    labels = [
        str(low) if high == low + 1 else f"{low} to {high - 1}"
        for low, high in pairwise(bounds)
    ]
    labels.append(said("risk", "or_more", n=bounds[-1]))
    unsafe = bounds.index(k)
    title = said("risk", "frequency")
    drawing = column_plot(labels, counts, unsafe, title, title, told)
    return {"drawing": drawing, "rows": [*zip(labels, counts, strict=True)]}


def _bounds(k: int) -> list[int]:
    """Return from which sample frequencies the columns of the chart begin."""
    step = -(-(k - 1) // (_COLUMNS - 1))
    bounds = [*range(1, k, step), k]
    while step == 1 and len(bounds) < _COLUMNS:
        bounds.append(bounds[-1] + 1)
    return bounds


# --- parts ---


def keys(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return what each key contributes to the risk."""
    state, text = bench.tried(), bench.key_of(*_NOT_RISK)
    shown = _shown_set(state, form)

    def make() -> list[Contribution]:
        return contributions(shown.recoded, shown.aim, state.settings)

    key_contributions = bench.keep("contributions", (text, shown.at), make)
    cells = shown.recoded.cells
    uniques = cells.totals.uniques
    by_model = shown.recoded.model is not None
    alone = by_model and shown.aim.has_threshold
    whole = uniques if alone else shown.unsafe
    left = "uniques" if alone else "unsafe"
    rows = [
        (x, label_of(bench, str(x.key)), _share(whole, getattr(x.without, left)))
        for x in key_contributions
    ]
    rows.sort(key=lambda row: -row[2])
    return {
        "rows": rows,
        "by_model": by_model,
        "alone": alone,
        "whole": whole,
        "uniques": uniques,
        "expected": shown.recoded.expected_reidentifications,
    }


def _share(whole: int, left: int | None) -> float:
    """Return the share of the unsafe records that are safe without a key."""
    assert left is not None
    return max(0.0, 1 - left / whole) if whole else 0.0


def patterns(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return which sets of few keys single out how many records."""
    shown = _shown_set(bench.tried(), form)
    cells, assessed = shown.recoded.cells, bench.prepared().assessed[shown.at]

    def work(say: Lines) -> Any:
        return pattern_counts(assessed, say)

    job = bench.jobs.start("patterns", (bench.key_of(*_NOT_RISK), shown.at), work)
    answer = _result(bench, job)
    if answer is None:
        return {"rows": None, "canceled": job.state == "canceled"}
    singled, counts = answer
    rows = [
        {"keys": [cells.keys[at] for at in keys], "records": count}
        for keys, count in counts[:_PATTERNS]
    ]
    return {
        "rows": rows,
        "singled": singled,
        "alone": int(np.count_nonzero(cells.records == 1)),
        "more": len(counts) - len(rows),
        "missing": any(cells.missing_values),
        "n_records": cells.n,
    }


def pattern_counts(
    assessment: Assessment, say: Lines
) -> tuple[int, list[tuple[tuple[int, ...], int]]]:
    """Return how many records at most 3 keys single out, and the patterns of keys."""
    # A pattern singles its records out, and no part of it does.
    keys = assessment.cells.keys
    uniques = suda(assessment.data, keys, _MOST, missing="category", progress=say).found
    words, numbers = np.unique(uniques.keys, return_counts=True)
    counts = [
        (tuple(at for at in range(len(keys)) if word >> at & 1), number)
        for word, number in zip(words.tolist(), numbers.tolist(), strict=True)
    ]
    counts.sort(key=lambda pair: (-pair[1], len(pair[0]), pair[0]))
    return len(np.unique(uniques.cell)), counts


def model(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return what the model beside the weights says."""
    shown = _shown_set(bench.tried(), form)
    stage, aim = shown.recoded, shown.aim
    if stage.beside is None or not stage.beside.needed:
        raise RefusedError(said("risk", "no_model"))

    def work(say: Lines) -> dict[str, Any]:
        say(said("risk", "model_work"))
        estimate = stage.by_model
        unsafe = (
            None if estimate is None else estimate.cells.count_of(aim.unsafe(estimate))
        )
        return {**stage.figures, "unsafe_by_model": unsafe}

    job = bench.jobs.start("model", (bench.key_of(*_NOT_RISK), shown.at), work)
    figures = _result(bench, job)
    if figures is None:
        return {"figures": None, "canceled": job.state == "canceled"}
    return {
        "figures": figures,
        **model_view(figures),
        "unsafe": figures["unsafe_by_model"] if aim.has_threshold else None,
        "n_records": stage.cells.n,
    }


def _result(bench: Workbench, job: Job) -> Any:
    """Return the result of a job, or None; one that was canceled is forgotten."""
    job.ended.wait(_SOON)
    if job.state == "canceled":
        bench.jobs.forget(job.kind)
    return job.outcome()


def riskiest(bench: Workbench, form: Form) -> Mapping[str, Any]:
    """Return the riskiest combinations with their values: single records may show."""
    from riskcore.report.page import riskiest_view

    state, text = bench.tried(), form.text("count")
    shown = _shown_set(state, form)
    count = int(text) if text in map(str, COUNTS) else COUNTS[0]
    combinations = shown.recoded.riskiest(count)
    labels = bench.source.labels
    if labels is not None:  # recoded columns have other codes
        labels = labels.without_codes_of([*map(str, state.settings.recodings)])
    view = riskiest_view(combinations, labels)
    return {"view": view, "count": len(combinations)}


# --- actions ---


def switch(bench: Workbench, form: Form) -> str:
    """Switch keys of a set on and off."""
    sets = bench.release.key_sets or [[]]
    at, last = place_in(form.text("at"), len(sets)), str(len(sets) - 1)
    if at is None or form.text("sets", last) != last:
        raise RefusedError(said("risk", "no_set"))
    offered = {bench.column(entry) for entry in form.all("offered")}
    chosen = {bench.column(entry) for entry in form.all("key")}
    now = {*sets[at]}
    # An old page takes nothing back that others chose meanwhile.
    was = now
    if "was" in form.fields:
        was = {bench.column(entry) for entry in form.text("was").split()}
    keys = (now - (offered & was - chosen)) | (chosen - was)
    words = [said("risk", "on", column=x) for x in bench.names if x in keys - now]
    off = [name for name in bench.names if name in now - keys]
    others = {name for i, entry in enumerate(sets) if i != at for name in entry}
    words += [said("risk", "off_here" if x in others else "off", column=x) for x in off]
    return bench.set_keys(at, keys, " ".join(words))


def add_set(bench: Workbench, form: Form) -> str:
    """Add a set of keys, which another intruder may know."""
    keys = {bench.column(column) for column in form.all("key")}
    if not keys:
        raise RefusedError(said("risk", "empty_set"))
    at = len(bench.release.key_sets)
    return bench.set_keys(at, keys, said("risk", "added_set", n=at + 1))


_PARTS = named(keys, patterns, model, riskiest)
PAGE = Page("risk", view, named(switch, add_set), _PARTS)
