"""The report as one page of HTML, which loads nothing from elsewhere.

The office's own, `page` and `protection_page`, has a risk chart with a threshold
slider. Its boxes show what `RiskDistribution` returns, bit for bit: its script computes
in whole numbers. So the page holds exact risks, from which weights of single records
follow. `form_page` is to print and to sign. The report for publication, `public_page`
and `public_protection_page`, holds classes and rounded figures.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from riskcore.assessment import reported_figures as figures
from riskcore.assessment.assessment import Assessment
from riskcore.assessment.exact_matches import part_of_numbers
from riskcore.assessment.reported_figures import FIGURES
from riskcore.assessment.weight_figures import weights_text
from riskcore.common.html import all_digits, readable
from riskcore.common.needs import need
from riskcore.common.progress import Lines, silent
from riskcore.common.sheet import Part
from riskcore.comparison.compare import Comparison
from riskcore.core.risk.file_risk import as_threshold
from riskcore.data.cells import Cells
from riskcore.data.engine_cells import HeldCells
from riskcore.data.files.digest import digest
from riskcore.data.files.labels import Labels
from riskcore.disclosure.verdict import listed_columns, no_role_text, tiles
from riskcore.protection.release.facts import remarks_of as protection_remarks
from riskcore.protection.release.facts import treatment_facts, verdict_facts
from riskcore.protection.release.record import versions
from riskcore.protection.result import Protected
from riskcore.protection.suppression.key_sets import KeySet
from riskcore.report.key_sets import MOST_PAGES, sets_view, sets_with_pages, worst_first
from riskcore.report.listed_settings import Pairs, asked_and_made, method_facts
from riskcore.report.office_charts import chart_views
from riskcore.report.page_charts import bar_top
from riskcore.report.provenance import Provenance, now, provenance_of
from riskcore.report.summary import (
    figure_rows,
    finite,
    model_view,
    remarks_of,
    stage_figures,
)
from riskcore.report.templating import render
from riskcore.report.utility_view import section_view, utility_of

_ARROW = " \u2192 "


def page(
    stages: Mapping[str, Assessment],
    *,
    title: str,
    threshold: float | None = None,
    household_threshold: float | None = None,
    suppressed: Mapping[Any, int] | None = None,
    records: int | None = None,
    riskiest: Sequence[Mapping[Hashable, Any]] | None = None,
    facts: Pairs = (),
    verdict: str = "",
    unsafe: Mapping[str, int] | None = None,
    k: int | None = None,
    leaks: Sequence[Mapping[str, Any]] = (),
    not_examined: Sequence[str] = (),
    remarks: Sequence[str] = (),
    tiles: Sequence[Tile] = (),
    treated: Mapping[str, Any] | None = None,
    numbers: Part | None = None,
    utility: Comparison | str | None = None,
    labels: Labels | None = None,
    provenance: Provenance | None = None,
    sets: Mapping[str, Any] | None = None,
) -> str:
    """Return the report of one file, or of the stages of its protection, as HTML."""
    # Without ``riskiest`` the page has no values of keys.
    need("reports", "jinja2")
    thresholds = threshold, household_threshold
    _check(stages, thresholds)
    views = chart_views(stages, *thresholds)
    file = list(stages.values())[-1]
    labels = labels or file.cells.labels
    provenance = provenance or Provenance()
    by_stage = [
        stage_figures(entry, *thresholds, (unsafe or {}).get(name), k)
        for name, entry in stages.items()
    ]
    return render(
        "office.html",
        moving=True,
        title=title,
        file=file,
        verdict=verdict,
        sets=sets,
        names=list(stages),
        of_households=file.households is not None,
        views=views,
        first=next(view for view in views if view.stage == len(stages) - 1),
        figures=figure_rows(by_stage),
        model=model_view(by_stage[0]),
        below=_below(by_stage),
        key_variables=key_variables(stages),
        suppression=_suppression(suppressed, records or file.cells.n)
        if suppressed
        else None,
        utility=None if utility is None else section_view(utility),
        open=[entry for entry in leaks if entry["accepted"] is None],
        accepted=[entry for entry in leaks if entry["accepted"] is not None],
        not_examined=not_examined and no_role_text(not_examined),
        remarks=remarks,
        tiles=tiles,
        treated=treated,
        numbers=numbers,
        said=labels.variables if labels else {},
        riskiest=riskiest_view(riskiest, labels) if riskiest else None,
        facts=[(name, str(x)) for name, x in [*provenance.facts(), *facts]],
        command=provenance.shown_command,
        curves=[view.data() for view in views],
    )


def assessment_page(
    assessment: Assessment,
    *,
    title: str = "Re-identification risk",
    thresholds: Sequence[float] = (),
    household_threshold: float | None = None,
    rate: float | None = None,
    unsafe: int | None = None,
    top: int = 0,
    roles: Pairs = (),
    not_examined: Sequence[str] = (),
    provenance: Provenance | None = None,
) -> str:
    """Return the report of an assessment as HTML, see `page`."""
    asked: dict[str, Iterable[float | None]] = {
        "risk threshold": thresholds,
        "household risk threshold": [household_threshold],
        "re-identification rate asked for": [rate],
        "unsafe records asked for": [unsafe],
    }
    numbers = {
        name: ", ".join(f"{x:.8g}" for x in values if x is not None)
        for name, values in asked.items()
    }
    numeric, weights = assessment.numeric, assessment.weights
    said = [] if weights is None else [f"Weights: {weights_text(weights.to_dict())}."]
    start = thresholds[0] if thresholds else None
    if rate is not None:
        rate_threshold = finite(assessment.risk_threshold(rate=rate))
        start = start if rate_threshold is None else rate_threshold
    return page(
        {"original": assessment},
        title=title,
        threshold=start,
        household_threshold=household_threshold,
        riskiest=assessment.riskiest(top) or None,
        facts=[
            *roles,
            *method_facts(assessment),
            *((name, text) for name, text in numbers.items() if text),
        ],
        not_examined=not_examined,
        remarks=[*said, *remarks_of(assessment)],
        numbers=None if numeric is None else part_of_numbers(numeric.to_dict()),
        provenance=provenance,
    )


def report_paths(path: Path, sets: int) -> list[Path]:
    """Return the files of the reports of a protection, see `sets_with_pages`."""
    last = min(sets, MOST_PAGES)
    more = [path.with_stem(f"{path.stem}-{i}") for i in range(2, last + 1)]
    return [path, *more]


def protection_page(
    protected: Protected,
    *,
    title: str,
    keys: int = 0,
    examined: Mapping[str, Any] | None = None,
    utility: Comparison | str | None = None,
    provenance: Provenance | None = None,
) -> str:
    """Return the report of a protection by a set of keys as HTML, see `page`."""
    key_set, settings = protected.sets[keys], protected.settings
    if examined is None:
        examined = verdict_facts(protected, protected.examination)
    if len(protected.sets) > 1:
        title = f"{title}, set of keys {keys + 1} of {len(protected.sets)}"
    unsafe = None
    if key_set.aim.of_households or key_set.aim.k is not None:
        comparison = key_set.comparison()
        unsafe = {stage: of["unsafe_records"] for stage, of in comparison.items()}
    return page(
        {name: key_set.stages[name] for name in ("original", "protected")},
        title=title,
        threshold=finite(key_set.aim.threshold),
        household_threshold=finite(key_set.aim.household_threshold),
        suppressed=protected.suppressed,
        records=protected.n,
        facts=[fact for facts in asked_and_made(settings) for fact in facts],
        verdict=examined["verdict"],
        unsafe=unsafe,
        k=key_set.aim.k,
        leaks=examined["leaks"],
        # In this state the verdict itself names them.
        not_examined=()
        if examined["state"] == "not examined"
        else examined["not_examined"],
        remarks=protection_remarks(protected),
        tiles=[
            *tiles_of(protected, key_set),
            *(Tile(name, [(x, x)], [note]) for name, x, note in tiles(examined)),
        ],
        treated=treatments_view(protected),
        utility=utility,
        labels=protected.labels,
        sets=sets_view(protected, keys),
        provenance=provenance or provenance_of(protected.source),
    )


def protection_pages(
    protected: Protected,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    provenance: Provenance | None = None,
    progress: Lines = silent,
) -> dict[Path, Callable[[Any], str]]:
    """Return by path what makes each report from the verdict on the written file."""
    need("reports", "jinja2")
    file = protected.source.path
    usual = "Re-identification risk and protection"
    if file is not None:
        usual = f"{file.name}: re-identification risk and protection"
    made = provenance or provenance_of(protected.source, now())
    utility = utility_of(protected, progress)

    def maker(position: int) -> Callable[[Any], str]:
        return lambda examined: protection_page(
            protected,
            title=usual if title is None else title,
            keys=position,
            examined=examined,
            utility=utility,
            provenance=made,
        )

    paths = report_paths(Path(path), len(protected.sets))
    positions = sets_with_pages(protected)
    return {x: maker(at) for x, at in zip(paths, positions, strict=True)}


def form_page(
    protected: Protected,
    examined: Mapping[str, Any] | None = None,
    provenance: Provenance | None = None,
) -> str:
    """Return the form to sign as HTML; ``examined`` also tells what was written."""
    source, settings = protected.source, protected.settings
    source.refuse_changed()
    sets = [{"keys": x.keys, "risk": x.comparison()} for x in protected.sets]
    read = [("original", path) for path in source.paths]
    read += [("file of rules", path) for path in settings.rule_files]
    return render(
        "form.html",
        printed=True,
        protected=protected,
        settings=settings,
        examined=examined or verdict_facts(protected, protected.examination),
        provenance=provenance or provenance_of(source, now()),
        sets=[sets[at] for at in worst_first(sets)],
        most=MOST_PAGES,
        figures=figures,
        listed=listed_columns,
        facts=asked_and_made(settings),
        treated=treatment_facts(protected),
        remarks=protection_remarks(protected),
        read=[(what, path.name, digest(path)) for what, path in read],
        versions=versions(),
    )


def _check(
    stages: Mapping[str, Assessment], thresholds: tuple[float | None, float | None]
) -> None:
    if not stages:
        raise ValueError("no stages: give at least one assessment")
    sizes = {name: assessment.cells.n for name, assessment in stages.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"stages with different numbers of records: {sizes}")
    without = [name for name, x in stages.items() if x.households is None]
    if without and len(without) < len(stages):
        raise ValueError(f"stages without households: {', '.join(without)}")
    if thresholds[1] is not None and without:
        raise ValueError("household_threshold: the stages have no households")
    for threshold in thresholds:
        if threshold is not None:
            as_threshold(threshold)


def _suppression(suppressed: Mapping[Any, int], n: int) -> dict[str, Any]:
    """Return the rows of the suppressed values of n records."""
    shares = [count / n for count in suppressed.values()]
    return {
        "variables": [*zip(suppressed, suppressed.values(), shares, strict=True)],
        "total": sum(suppressed.values()),
        "top": bar_top(shares),
    }


def _below(by_stage: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row for each k: the numbers of records and cells with f below k."""
    return [
        [str(row[0]["k"])]
        + [
            _at_stages([counts[units] for counts in row])
            for units in ("records", "cells")
        ]
        for row in zip(*(stage["below"] for stage in by_stage), strict=True)
    ]


def key_variables(
    stages: Mapping[str, Assessment],
) -> list[tuple[Hashable, list[str]]] | None:
    """Return each key with its counts, None if its values are on an engine."""
    files = [assessment.cells for assessment in stages.values()]
    # Collecting the cells of an engine may take long, and was not asked for.
    if any(isinstance(cells, HeldCells) and not cells.collected for cells in files):
        return None
    variables = []
    for i, key in enumerate(files[0].keys):
        by_stage = zip(*(_counts_of_key(cells, i) for cells in files), strict=True)
        variables.append((key, [*map(_at_stages, by_stage)]))
    return variables


def _counts_of_key(cells: Cells, key: int) -> tuple[int, int, int]:
    """Return the categories of a key, records in the smallest, and missing values."""
    present = cells.present(key)
    # Sums of whole numbers below 2**53 are exact in doubles.
    sizes = np.bincount(cells.codes[key][present], cells.records[present])
    sizes = sizes[sizes > 0]
    smallest = int(sizes.min()) if len(sizes) else 0
    return len(sizes), smallest, cells.missing_values[key]


def _at_stages(counts: Sequence[int]) -> str:
    """Return the counts at the stages as text, one count if they agree."""
    shown = counts if len(set(counts)) > 1 else counts[:1]
    return _ARROW.join(f"{count:,}" for count in shown)


def riskiest_view(
    cells: Sequence[Mapping[Hashable, Any]], labels: Labels | None
) -> dict[str, Any]:
    """Return the figures of the cells and, as labels, their keys."""
    own = sorted(
        (name for name in cells[0] if name in figures.CELL_FIGURES),
        key=lambda name: name != "individual_risk",
    )
    keys = [name for name in cells[0] if name not in own]

    def shown(name: Hashable, code: Any) -> Any:
        return code if labels is None else labels.shown(name, code)

    return {
        "keys": keys,
        "titles": [figures.CELL_FIGURES[str(name)][1] for name in own],
        "lines": [
            ([cell[name] for name in own], [shown(name, cell[name]) for name in keys])
            for cell in cells
        ],
    }


# --- tiles at the head of the page, and treated columns ---

# What is shown, and the same with all digits.
Figure = tuple[str, str]


class Tile(NamedTuple):
    """A figure at the head of the page: its name, what is shown, and its unit."""

    name: str
    figures: list[Figure]
    notes: list[str]


_FIGURE_NAMES = {one.name: one.names.get("page", "") for one in FIGURES}


def tiles_of(protected: Protected, key_set: KeySet) -> list[Tile]:
    """Return unsafe records, the cost in values, and expected re-identifications."""
    stages = key_set.comparison()
    before, after = stages["original"], stages["protected"]

    def both(name: str) -> Figure:
        return arrow(before[name], after[name])

    unit = protected.settings.unit
    return [
        Tile(
            f"Unsafe {unit}s",
            [both("unsafe_records")],
            [f"of {key_set.protected.cells.n:,}, before \u2192 after"],
        ),
        _cost(protected),
        Tile(
            _FIGURE_NAMES["expected_reidentifications"],
            [both("expected_reidentifications")],
            ["before \u2192 after"],
        ),
    ]


def _cost(protected: Protected) -> Tile:
    """Return the shares of values blanked and altered."""
    blanked = protected.suppressed
    name, parts = "Blanked values", [(blanked, protected.n * len(blanked), "the keys")]
    treated = treatment_facts(protected)
    if treated is not None:
        name = "Blanked and altered values"
        values = sum(treated["values"].values())
        parts.append((treated["altered"], values, "the treated columns"))
    figures, notes = [], []
    for counts, of, columns in parts:
        count = sum(counts.values())
        exact = f"{count:,} of {of:,} values"
        figures.append((f"{readable(count / of if of else 0.0, 2)} %", exact))
        notes.append(f"of the values of {columns}")
    return Tile(name, figures, notes)


def arrow(before: float | None, after: float | None) -> Figure:
    """Return a figure before and after, rounded and with all digits."""
    pair = before, after
    shown = ("\u2013" if x is None else readable(float(x)) for x in pair)
    exact = ("\u2013" if x is None else all_digits(float(x)) for x in pair)
    return _ARROW.join(shown), _ARROW.join(exact)


# Number of correlations that are listed.
_MOST_PAIRS = 10


def treatments_view(protected: Protected) -> dict[str, Any] | None:
    """Return the tables of the treated columns, None if no column was treated."""
    facts = treatment_facts(protected)
    if facts is None:
        return None
    pairs = [
        (effect["columns"], arrow(effect["before"], effect["after"]), _change(effect))
        for effect in facts["correlations"]
    ]
    pairs.sort(key=lambda effect: -effect[2])
    return {
        "rules": [
            _rule(name, treatment["rules"], facts)
            for treatment in facts["rules"]
            for name in treatment["columns"]
        ],
        "moments": [
            (name, _moments(effect["before"], effect["after"]))
            for name, effect in facts["columns"].items()
            if effect["before"] is not None
        ],
        "weighted": protected.settings.weight is not None,
        "correlations": [(names, figure) for names, figure, _ in pairs[:_MOST_PAIRS]],
        "more": len(pairs[_MOST_PAIRS:]),
    }


def _rule(name: str, rules: list[str], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a column was treated, and the share of its values that changed."""
    count, of = facts["altered"][name], facts["values"][name]
    exact = f"{count:,} of {of:,} values"
    share = f"{readable(count / of if of else 0.0, 2)} %"
    return {"name": name, "rules": "; ".join(rules), "share": (share, exact)}


def _moments(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Figure]:
    """Return mean, standard deviation and median, before and after."""
    both = before, after
    return [
        arrow(*(moments["mean"] for moments in both)),
        arrow(*(math.sqrt(moments["variance"]) for moments in both)),
        arrow(
            *(moments["quantiles"][len(moments["quantiles"]) // 2] for moments in both)
        ),
    ]


def _change(pair: Mapping[str, Any]) -> float:
    if pair["before"] is None or pair["after"] is None:
        return math.inf
    return abs(float(pair["after"] - pair["before"]))
