"""Sheets of an assessment, a protection and estimates of uniques, as text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import Any

from riskcore.assessment.exact_matches import part_of_numbers
from riskcore.assessment.reported_figures import (
    CELL_FIGURES,
    LEAST,
    UNTITLED,
    label,
    percent,
    rows,
    table,
    target_part,
    target_parts,
)
from riskcore.common.sheet import Facts, Part, Sheet
from riskcore.common.words import counted, printable
from riskcore.data.files.labels import Labels, labels_of_plain
from riskcore.disclosure.verdict import listed_columns
from riskcore.report.key_sets import set_rows
from riskcore.report.listed_settings import cost_text

# With more sets of keys, each has a line instead of a table.
_MOST_TABLES = 6


def text(figures: dict[str, Any], title: str) -> str:
    """Return the figures of `riskcore.report.summary.summary` as text."""
    sentences = []
    for remark in figures["weight_remarks"]:
        # A number stays with its sign.
        lines = textwrap.wrap(remark.replace(" %", "\0%"), _WIDE)
        sentences += [line.replace("\0", " ") for line in lines]
    if figures["cells_below_sample"]:
        sentences.append(
            "The weights add to less than the records (F < f) in "
            f"{counted(figures['cells_below_sample'], 'cell')} with "
            f"{counted(figures['records_below_sample'], 'record')}: "
            "their risk is taken as 1/f."
        )
    parts = list(_assessment_parts(figures))
    facts = rows(figures, "text")
    return Sheet("Assessment", facts, parts, sentences=sentences).text(title)


def _assessment_parts(figures: dict[str, Any]) -> Iterator[Part]:
    yield from target_parts(figures, "records")
    if "households" in figures:
        yield _households(figures)
        if "for_rate" in figures["households"]:
            yield target_part(figures["households"]["for_rate"], "households")
    if figures.get("not_examined"):
        yield _not_examined(figures["not_examined"])
    if figures.get("not_read"):
        yield _not_read(figures["not_read"])
    if "numeric" in figures:
        yield part_of_numbers(figures["numeric"])
    if figures["riskiest"]:
        yield _riskiest(figures["riskiest"], labels_of_plain(figures.get("labels")))


def _not_examined(columns: list[dict[str, Any]]) -> Part:
    """Return the columns without a role: what they may be, and how many are unique."""
    rows = [["column", "type", "own value", "role", "why"]]
    for column in columns:
        role = "-" if column["proposed_role"] is None else f"{column['proposed_role']}?"
        own = f"{column['own_value']:,}"
        rows.append(
            [label(column["column"]), column["type"], own, role, column["reason"]]
        )
    title = "Not examined, as they have no role: records with a value of their own"
    said = ["A role with a question mark is a proposal: see riskcore describe."]
    return Part(title, rows=rows, sides="<<><<", sentences=said)


def _not_read(columns: list[str]) -> Part:
    """Return that columns without a role were not looked at, and why."""
    single = len(columns) == 1
    said = (
        f"Not examined, as {'it has' if single else 'they have'} no role, and the file "
        f"is counted in batches: {listed_columns(columns)}. riskcore describe reads "
        f"the whole file into memory and examines {'it' if single else 'them'}."
    )
    return Part(sentences=_wrapped(said), indents=UNTITLED)


def _households(figures: dict[str, Any]) -> Part:
    counts = [("at or above a risk", "households", "records")]
    counts += [
        (f"{row['threshold']:.8g}", f"{row['households']:,}", f"{row['records']:,}")
        for row in figures["households"]["unsafe_households"]
    ]
    facts, least = rows(figures, "households"), (0, *LEAST)
    return Part("Households", facts, counts, "<>", least=least)


def _riskiest(cells: list[dict[str, Any]], labels: Labels) -> Part:
    """Return the riskiest cells; numbers to the right, labels to the left."""
    names = list(cells[0])
    titles = [CELL_FIGURES[n][0] if n in CELL_FIGURES else label(n) for n in names]
    written = [
        [
            _number(row[n]) if n in CELL_FIGURES else label(labels.shown(n, row[n]))
            for n in names
        ]
        for row in cells
    ]
    sides = "".join(">" if name in CELL_FIGURES else "<" for name in names)
    return Part("Riskiest combinations", rows=[titles, *written], sides=sides)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{float(value):.6g}"


# Protections


def protection_text(record: dict[str, Any], title: str) -> str:
    """Return the figures of `Protected.to_dict` as text."""
    settings = record["settings"]
    file = {name: record[name] for name in ("records", "intake")}
    models = {
        name: None
        for entry in record["sets"]
        if (name := entry["risk"]["original"].get("population_model"))
    }
    if models:
        unit = settings["cluster"]
        drawn = "" if unit is None else f", by clusters of {label(unit)}"
        file["population_model"] = ", ".join(models) + drawn
    missing = {
        "missing": settings["missing"],
        "missing_values": record["missing_values"],
    }
    facts = [
        *rows({**file, "method": settings["method"]}, "text"),
        *rows(missing, "text"),
    ]
    if settings["level"] == "household":
        facts.append(("level", "one row for each household"))
    if settings["person"] is not None:
        wave_count = settings["known_waves"]
        waves = (
            "all waves" if wave_count is None else f"any {counted(wave_count, 'wave')}"
        )
        said = f"one row for each person; an intruder knows {waves} of a person"
        facts.append(("counted", said))
    facts.append(("recoded", _recoded(settings["recodings"])))
    facts.append(("costs of suppression", cost_text(settings["cost"])))
    parts = list(_protection_parts(record))
    return Sheet(
        "Protection",
        facts,
        parts,
        sentences=[
            line for entry in record["weight_remarks"] for line in _wrapped(entry)
        ],
        head=[*_verdict(record)],
    ).text(title)


def _protection_parts(record: dict[str, Any]) -> Iterator[Part]:
    settings, sets = record["settings"], record["sets"]
    if len(sets) > _MOST_TABLES:
        yield Part(rows=set_rows(sets), sides="<>", indents=UNTITLED)
    else:
        yield from (_key_set(key_set, settings) for key_set in sets)
    yield Part("Suppressed values", rows=_suppressed(record), sides="<>")
    if record["treated"] is not None:
        yield from _treated(record["treated"], record["records"])


def _verdict(record: dict[str, Any]) -> Iterator[Part]:
    """Yield the verdict in words and in five lines, and the leaks."""
    yield Part(sentences=_wrapped(record["verdict"]), indents=UNTITLED)
    yield Part("Verdict", [(name, text) for name, text in record["lines"]])
    leaks: dict[bool, list[str]] = {True: [], False: []}
    for leak in record["leaks"]:
        open_ = leak["accepted"] is None
        more = f"-> {leak['advice']}" if open_ else f"-> accepted: {leak['accepted']}"
        leaks[open_] += [*_wrapped(leak["text"]), *_wrapped(more, "   ")]
    for open_, title in ((True, "Open leaks"), (False, "Accepted leaks")):
        if leaks[open_]:
            yield Part(title, sentences=leaks[open_])


def _wrapped(text: str, indent: str = "") -> list[str]:
    """Return a text as lines; later lines are indented."""
    return textwrap.wrap(
        printable(text),
        _WIDE,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
    )


def _treated(treated: dict[str, Any], records: int) -> Iterator[Part]:
    """Yield what became of the treated columns."""
    said = []
    for treatment in treated["rules"]:
        names = ", ".join(map(label, treatment["columns"]))
        counts = [treated["altered"][name] for name in treatment["columns"]]
        shares = ", ".join(f"{100 * count / records:.3g} %" for count in counts)
        rules = "; then ".join(treatment["rules"])
        said += _wrapped(f"{names}: {rules} ({shares} of the values changed)")
    yield Part("Treated columns", sentences=said)
    if treated["columns"]:
        yield Part(rows=_effects(treated["columns"]), sides="<>")


def _effects(columns: dict[str, Any]) -> list[list[str]]:
    """Return moments and quantiles of columns before and after treatment."""
    head = ["", "", "mean", "sd", "5 %", "25 %", "median", "75 %", "95 %", "zero"]
    rows = [head]
    for name, effect in columns.items():
        for when in ("before", "after"):
            of = effect[when]
            if of is None:
                continue
            numbers = [of["mean"], math.sqrt(of["variance"]), *of["quantiles"]]
            written = [f"{number:.6g}" for number in numbers]
            title = label(name) if when == "before" else ""
            rows.append([title, when, *written, f"{100 * of['zeros']:.3g} %"])
    return rows


def _recoded(recodings: dict[str, Any]) -> str:
    """Return the names of the recoded variables, and the files of their rules."""
    names = [
        label(name) + (f" ({label(rule['source'])})" if rule["source"] else "")
        for name, rule in recodings.items()
    ]
    return ", ".join(names) or "nothing"


def _key_set(key_set: dict[str, Any], settings: dict[str, Any]) -> Part:
    """Return the thresholds and the figures at each stage of one set of keys."""
    stages = [
        ["", *key_set["risk"]],
        *(
            [row.label, *row.values]
            for row in table([*key_set["risk"].values()], "stages")
        ),
    ]
    title = f"Keys {' x '.join(map(label, key_set['keys']))}"
    return Part(title, _thresholds(key_set, settings), stages, "<>", indents=(2, 4))


def _thresholds(key_set: dict[str, Any], settings: dict[str, Any]) -> Facts:
    """Return the thresholds of one set of keys, given or found for a rate."""
    pairs = [] if key_set["k"] is None else [("k", f"{key_set['k']:,}")]
    if settings["strata"]:
        pairs.append(("strata", ", ".join(map(label, settings["strata"]))))
    for unit, name in (("", "risk"), ("household_", "household risk")):
        asked = settings[f"{unit}rate"]
        value = key_set[f"{unit}threshold"]
        if asked is None and settings[f"{unit}threshold"] is None:
            continue
        limit = "none needed" if value is None else f"{value:.8g}"
        why = "" if asked is None else f", for a rate of {percent(asked)}"
        pairs.append((f"{name} threshold", limit + why))
    return pairs


def _suppressed(record: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the number and share of suppressed values by column, and in all."""
    counts = record["suppressed"]
    columns = [
        (label(name), f"{count:,}", f"{100 * count / record['records']:.3g} %")
        for name, count in counts.items()
    ]
    return [*columns, ("total", f"{sum(counts.values()):,}", "")]


# Uniques

# Longest line of a sentence, without its indent.
_WIDE = 86
# Below half a person a ratio of estimates means nothing.
_HALF = 0.5


def uniques_text(figures: dict[str, Any], title: str) -> str:
    """Return the figures of `UniquesEstimates.to_dict` as text."""
    names = {
        "records": "records",
        "occupied_cells": "occupied cells",
        "cells": "possible cells",
        "sample_uniques": "sample uniques",
        "population": "population",
    }
    facts = [(name, f"{figures[key]:,}") for key, name in names.items()]
    if "truth" in figures:
        facts.append(("truth", f"{figures['truth']:,} unique in both"))
    if (dis := figures["dis"]) is not None:
        most = f"without a model, {figures['right_matches']:,.6g} right matches or more"
        facts.append(("DIS", f"{dis:.6g}; {most}"))
    unique = "Sample uniques that are unique in the population"
    parts = [Part(unique, rows=_estimates(figures), sides="<>")]
    estimates = figures["estimates"]
    reasons = [f"{x['model']}: {x['reason']}" for x in estimates if x["reason"]]
    if reasons:
        missing = "Estimates in doubt, and models that could not be fitted"
        parts.append(Part(missing, sentences=reasons))
    sentences = []
    if figures["best"] is not None:
        best = f"Smallest AIC: {figures['best']}; {figures['advice']}"
        sentences = textwrap.wrap(best, _WIDE)
    sentences += _disagreement(figures)
    if sentences:
        parts.append(Part(sentences=sentences, indents=UNTITLED))
    return Sheet("Population uniques", facts, parts).text(title)


def _disagreement(figures: dict[str, Any]) -> Iterator[str]:
    """Yield how far the estimates differ, if they differ much."""
    if figures["disagreement"] is None:
        return
    low, high = figures["range"]
    if figures["disagreement"] == "infinite":
        yield f"Some estimates are 0, others up to {high:.3g}"
    elif low < _HALF:
        yield f"The estimates are between {low:.3g} and {high:.3g}"
    else:
        ratio = figures["disagreement"]
        yield f"The largest estimate is {ratio:.3g} times the smallest"


def _estimates(figures: dict[str, Any]) -> list[list[str]]:
    """Return the table of estimates, with its head."""
    interval = f"{100 * figures['level']:.4g} % interval"
    head = ["", "expected", interval, "with the fit's error", "AIC"]
    lines = [[*head, "population uniques", "parameters"]]
    for estimate in figures["estimates"]:
        lines.append(
            [
                estimate["model"],
                _or_dash(estimate["tau"], ",.6g"),
                _span(estimate["low"], estimate["high"]),
                _span(estimate["wide_low"], estimate["wide_high"]),
                _or_dash(estimate["aic"], ",.1f"),
                _or_dash(estimate["population_uniques"], ",.6g"),
                ", ".join(
                    f"{name} {_or_dash(value, '.6g')}"
                    for name, value in estimate["parameters"].items()
                ),
            ]
        )
    return lines


def _span(low: float | None, high: float | None) -> str:
    return "-" if low is None else f"{low:,.0f} to {high:,.0f}"


def _or_dash(value: float | str | None, form: str) -> str:
    if isinstance(value, str):
        return value
    return "-" if value is None else format(value, form)
