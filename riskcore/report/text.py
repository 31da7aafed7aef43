"""What an assessment, a protection and estimates of uniques say, as text."""

from __future__ import annotations

import textwrap
from typing import Any

from riskcore.assessment.figures import CELL_FIGURES, label, percent, rows, table
from riskcore.assessment.settings_table import WEIGHTS
from riskcore.common.text_table import aligned
from riskcore.common.words import counted, printable
from riskcore.data.files.labels import Labels, labels_of_plain
from riskcore.protection.suppression.certificate import certificate_facts
from riskcore.report.key_sets import set_rows
from riskcore.report.listed_settings import cost_text

# Of more sets of keys each has a line in place of a table.
_MOST_TABLES = 6
# The widths of counts by threshold, which so stand in line in most files.
_THRESHOLD, _COUNT = 12, 11


def text(figures: dict[str, Any], title: str) -> str:
    """Return the figures of `riskcore.report.summary.summary` as text."""
    lines = [printable(title), *aligned(rows(figures, "text"), "<")]
    if figures["cells_below_sample"]:
        lines.append(
            "  The weights add to less than the records (F < f) in "
            f"{counted(figures['cells_below_sample'], 'cell')} with "
            f"{counted(figures['records_below_sample'], 'record')}: "
            "their risk is taken as 1/f."
        )
    counts = [
        (f"{row['threshold']:.8g}", f"{row['records']:,}")
        for row in figures["unsafe_records"]
    ]
    lines += ["", "  Records at or above a risk"]
    lines += aligned(counts, "<>", indent=4, least=(_THRESHOLD, _COUNT))
    for name, what in (("for_rate", "rate"), ("for_unsafe", "unsafe")):
        if name in figures:
            lines += ["", _target(figures[name], what, "records")]
    if "households" in figures:
        lines += _household_lines(figures)
    if figures["riskiest"]:
        lines += ["", "  Riskiest combinations"]
        labels = labels_of_plain(figures.get("labels"))
        lines += _riskiest(figures["riskiest"], labels)
    return "\n".join(lines)


def _target(target: dict[str, Any], what: str, units: str) -> str:
    goal = (
        f"a re-identification rate of {percent(target['rate'])}"
        if what == "rate"
        else f"at most {counted(target['unsafe'], 'unsafe record')}"
    )
    if target["threshold"] is None and what == "rate":
        return f"  For {goal}: no threshold is needed, the file's own rate is no higher"
    if target["threshold"] is None:
        return f"  For {goal}: only a risk threshold above the maximum risk"
    return (
        f"  For {goal}: risk threshold {target['threshold']:.8g}; "
        f"{units} at or above it: {target[units]:,}"
    )


def _household_lines(figures: dict[str, Any]) -> list[str]:
    own = figures["households"]
    counts = [("at or above a risk", "households", "records")]
    counts += [
        (f"{row['threshold']:.8g}", f"{row['households']:,}", f"{row['records']:,}")
        for row in own["unsafe_households"]
    ]
    lines = [
        "",
        "  Households",
        *aligned(rows(figures, "households"), "<", indent=4),
        *aligned(counts, "<>", indent=4, least=(0, _THRESHOLD, _COUNT)),
    ]
    if "for_rate" in own:
        lines += ["", _target(own["for_rate"], "rate", "households")]
    return lines


def _riskiest(cells: list[dict[str, Any]], labels: Labels) -> list[str]:
    """Lay out the riskiest cells; numbers to the right, labels to the left."""
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
    return aligned([titles, *written], sides, indent=4)


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{float(value):.6g}"


# Protections


def protection_text(record: dict[str, Any], title: str) -> str:
    """Return what `Protected.to_dict` says as text: what was done, before and after."""
    settings = record["settings"]
    file = {name: record[name] for name in ("records", "intake")}
    if settings["population"] != WEIGHTS:
        file["population_model"] = settings["population"]
    missing = {name: settings[name] for name in ("missing", "alpha")}
    missing["missing_values"] = record["missing_values"]
    lines = [
        printable(title),
        *aligned(
            [
                *rows({**file, "method": settings["method"]}, "text"),
                *rows(missing, "text"),
                *(
                    [("level", "one row for each household")]
                    if settings["level"] == "household"
                    else []
                ),
                ("recoded", _recoded(settings["recodings"])),
                ("costs of suppression", cost_text(settings["cost"])),
            ],
            "<",
        ),
    ]
    many = len(record["sets"]) > _MOST_TABLES
    if many:
        lines += ["", *aligned(set_rows(record["sets"]), "<>", indent=2)]
    for one in [] if many else record["sets"]:
        stages = table(list(one["risk"].values()), "stages")
        lines += ["", f"  Keys {' x '.join(map(label, one['keys']))}"]
        lines += aligned(_thresholds(one, settings), "<")
        lines += aligned(
            [["", *one["risk"]], *([row.label, *row.values] for row in stages)],
            "<>",
            indent=4,
        )
    lines += ["", "  Suppressed values"]
    lines += aligned(_suppressed(record), "<>", indent=4)
    if settings["plan"] != "record":
        facts = certificate_facts(record["plan"])
        lines += ["", "  Plan of the file", *aligned(facts, "<", indent=4)]
    if len(record["rounds"]) > 1:
        lines += ["", *aligned(_rounds(record["rounds"]), "<>", indent=4)]
    if record["shown"]:
        lines += ["", "  What still shows", *_shown(record["shown"])]
    return "\n".join([*lines, "", f"  {printable(record['verdict'])}"])


def _recoded(recodings: dict[str, Any]) -> str:
    """Name the recoded variables, and the files of their rules."""
    names = [
        label(name) + (f" ({label(rule['source'])})" if rule["source"] else "")
        for name, rule in recodings.items()
    ]
    return ", ".join(names) or "nothing"


def _thresholds(one: dict[str, Any], settings: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the thresholds of one set of keys, as asked for and as found."""
    pairs = [] if one["k"] is None else [("k", f"{one['k']:,}")]
    if settings["strata"]:
        pairs.append(("strata", ", ".join(map(label, settings["strata"]))))
    for unit, name in (("", "risk"), ("household_", "household risk")):
        asked = settings[f"{unit}rate"]
        value = one[f"{unit}threshold"]
        if asked is None and settings[f"{unit}threshold"] is None:
            continue
        found = "none needed" if value is None else f"{value:.8g}"
        why = "" if asked is None else f", for a rate of {percent(asked)}"
        pairs.append((f"{name} threshold", found + why))
    return pairs


def _suppressed(record: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the number and share of suppressed values by column, and in all."""
    counts = record["suppressed"]
    columns = [
        (label(name), f"{count:,}", f"{100 * count / record['records']:.3g} %")
        for name, count in counts.items()
    ]
    return [*columns, ("in all", f"{sum(counts.values()):,}", "")]


def _rounds(rounds: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    lines = [("round", "unsafe before", "values suppressed")]
    for number, each in enumerate(rounds, 1):
        values = sum(each["suppressed"].values())
        lines.append((str(number), f"{each['unsafe_records']:,}", f"{values:,}"))
    return lines


def _shown(shown: list[dict[str, Any]]) -> list[str]:
    """Say which suppressed values can be told from what, and what to do."""
    return [
        f"    {printable(one['text'])}; {printable(one['advice'])}" for one in shown
    ]


# Uniques

# Columns of a sentence.
_WIDE = 88
# Below half a person a ratio of estimates means nothing.
_HALF = 0.5


def uniques_text(figures: dict[str, Any], title: str) -> str:
    """Return what `UniquesEstimates.to_dict` says as text."""
    names = {
        "records": "records", "occupied_cells": "occupied cells",
        "cells": "possible cells", "sample_uniques": "sample uniques",
        "population": "population",
    }  # fmt: skip
    counts = [(name, f"{figures[key]:,}") for key, name in names.items()]
    if "truth" in figures:
        counts.append(("truth", f"{figures['truth']:,} unique in both"))
    lines = [
        printable(title),
        *aligned(counts, "<"),
        "",
        "  Sample uniques that are unique in the population",
        *aligned(_estimates(figures), "<>", indent=4),
    ]
    reasons = [
        f"    {one['model']}: {printable(one['reason'])}"
        for one in figures["estimates"]
        if one["reason"]
    ]
    if reasons:
        lines += ["", "  Boundaries, and models without an estimate", *reasons]
    if figures["best"] is not None:
        lines += [
            "",
            *textwrap.wrap(
                f"Smallest AIC: {figures['best']}; {figures['advice']}",
                _WIDE,
                initial_indent="  ",
                subsequent_indent="  ",
            ),
        ]
    if figures["disagreement"] == "infinite":
        largest = figures["range"][1]
        lines.append(f"  Some estimates are 0, others up to {largest:.3g}")
    elif figures["disagreement"] is not None and figures["range"][0] < _HALF:
        low, high = figures["range"]
        lines.append(f"  The estimates are between {low:.3g} and {high:.3g}")
    elif figures["disagreement"] is not None:
        ratio = figures["disagreement"]
        lines.append(f"  The largest estimate is {ratio:.3g} times the smallest")
    return "\n".join(lines)


def _estimates(figures: dict[str, Any]) -> list[list[str]]:
    interval = f"{100 * figures['level']:.4g} % interval"
    lines = [
        ["", "expected", interval, "with the fit's error", "AIC", "population uniques",
         "parameters"]
    ]  # fmt: skip
    for one in figures["estimates"]:
        lines.append(
            [
                one["model"],
                _or_dash(one["tau"], ",.6g"),
                _span(one["low"], one["high"]),
                _span(one["wide_low"], one["wide_high"]),
                _or_dash(one["aic"], ",.1f"),
                _or_dash(one["population_uniques"], ",.6g"),
                ", ".join(
                    f"{name} {_or_dash(value, '.6g')}"
                    for name, value in one["parameters"].items()
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
