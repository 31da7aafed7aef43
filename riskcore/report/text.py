"""What an assessment says, as numbers for a program and as text for a person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from riskcore.assessment import Assessment
from riskcore.files.intake import intake_text

# Risks at which the summary counts the unsafe records if none is asked for.
DEFAULT_THRESHOLDS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


def summary(
    assessment: Assessment,
    *,
    thresholds: Sequence[float] = (),
    rate: float | None = None,
    unsafe: int | None = None,
    top: int = 10,
) -> dict[str, Any]:
    """Return the figures of an assessment as plain Python values, ready for JSON.

    Parameters
    ----------
    assessment : Assessment
    thresholds : sequence of float, optional
        Risks at which to count the unsafe records; by default `DEFAULT_THRESHOLDS`.
    rate : float, optional
        Re-identification rate, a fraction, for which to give the risk threshold.
    unsafe : int, optional
        Number of unsafe records for which to give the risk threshold.
    top : int, optional
        How many of the riskiest cells to list.

    Returns
    -------
    dict
        Of text, finite numbers, None, dicts and lists. A threshold that no record
        reaches is None; what is neither text nor a finite number becomes text.
    """
    cells = assessment.cells
    below = cells.below_sample
    figures: dict[str, Any] = {
        "records": cells.n,
        "cells": len(cells),
        "sample_uniques": int(np.count_nonzero(cells.sample_frequency == 1)),
        "intake": None if cells.intake is None else cells.intake.to_dict(),
        "keys": [_code(key) for key in cells.keys],
        "missing_values": {
            str(key): count
            for key, count in zip(cells.keys, cells.missing_values, strict=True)
        },
        "weighted": cells.weighted,
        "missing": cells.missing,
        "alpha": cells.alpha,
        "population": math.fsum(cells.weight_sum),
        "cells_below_sample": int(np.count_nonzero(below)),
        "records_below_sample": int(cells.records[below].sum()),
        "method": assessment.method,
        "reidentification_rate": assessment.reidentification_rate,
        "expected_reidentifications": assessment.expected_reidentifications,
        "max_risk": assessment.max_risk,
        "unsafe_records": [
            {"threshold": float(t), "records": assessment.unsafe_count(t)}
            for t in thresholds or DEFAULT_THRESHOLDS
        ],
    }
    if rate is not None:
        threshold = assessment.risk_threshold(rate=rate)
        figures["for_rate"] = {"rate": rate, **_at(assessment, threshold)}
    if unsafe is not None:
        threshold = assessment.risk_threshold(unsafe=unsafe)
        figures["for_unsafe"] = {"unsafe": unsafe, **_at(assessment, threshold)}
    if assessment.households is not None:
        figures["households"] = _households(
            assessment, thresholds or DEFAULT_THRESHOLDS, rate
        )
    figures["riskiest"] = [
        {str(name): _code(value) for name, value in row.items()}
        for row in assessment.riskiest(top)
    ]
    return figures


def _code(value: Any) -> Any:
    """Return the name or a value of a key as JSON can hold it: else as text."""
    plain = value is None or isinstance(value, str | int)
    finite = isinstance(value, float) and math.isfinite(value)
    return value if plain or finite else str(value)


def _at(assessment: Assessment, threshold: float) -> dict[str, Any]:
    return {
        "threshold": threshold if math.isfinite(threshold) else None,
        "records": assessment.unsafe_count(threshold),
    }


def _households(
    assessment: Assessment, thresholds: Sequence[float], rate: float | None
) -> dict[str, Any]:
    groups = assessment.households
    assert groups is not None
    figures: dict[str, Any] = {
        "households": len(groups),
        "reidentification_rate": assessment.household_reidentification_rate,
        "max_risk": float(groups.risk.max()),
        "unsafe_households": [
            {
                "threshold": float(t),
                "households": assessment.unsafe_household_count(t),
                "records": groups.distribution.unsafe_count(t),
            }
            for t in thresholds
        ],
    }
    if rate is not None:
        threshold = assessment.household_threshold(rate=rate)
        figures["for_rate"] = {
            "rate": rate,
            "threshold": threshold if math.isfinite(threshold) else None,
            "households": assessment.unsafe_household_count(threshold),
        }
    return figures


def text(figures: dict[str, Any], title: str) -> str:
    """Return the figures of `summary` as text of a few dozen lines."""
    population = (
        f"{amount(figures['population'])}, the sum of the weights"
        if figures["weighted"]
        else "no weights: the file is taken to be the whole population"
    )
    lines = [
        printable(title),
        *_pairs(
            ("records", f"{figures['records']:,}"),
            *_intake(figures),
            ("keys", " x ".join(map(_label, figures["keys"]))),
            (
                "cells",
                f"{figures['cells']:,}, of them "
                f"{counted(figures['sample_uniques'], 'sample unique')}",
            ),
            *_missing(figures),
            ("population", population),
            ("individual risk", METHOD_NAMES[figures["method"]]),
            ("re-identification rate", _percent(figures["reidentification_rate"])),
            (
                "expected re-identifications",
                f"{figures['expected_reidentifications']:.8g}",
            ),
            ("maximum risk", f"{figures['max_risk']:.8g}"),
        ),
    ]
    if figures["cells_below_sample"]:
        lines.append(
            "  The weights add to less than the records (F < f) in "
            f"{counted(figures['cells_below_sample'], 'cell')} with "
            f"{counted(figures['records_below_sample'], 'record')}: "
            "their risk is taken as 1/f."
        )
    lines += ["", "  Records at or above a risk", *_counts(figures["unsafe_records"])]
    for name, label in (("for_rate", "rate"), ("for_unsafe", "unsafe")):
        if name in figures:
            lines += ["", _target(figures[name], label, "records")]
    if "households" in figures:
        lines += _household_lines(figures["households"])
    if figures["riskiest"]:
        lines += ["", "  Riskiest combinations"]
        lines += _table(figures["riskiest"])
    return "\n".join(lines)


def _missing(figures: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the line on missing keys, if they are not refused."""
    rule = figures["missing"]
    counts = figures.get("missing_values", {})
    found = ", ".join(f"{_label(key)} {k:,}" for key, k in counts.items() if k)
    lines = [("missing values", found)] if found else []
    if rule == "refuse":
        return lines
    text = MISSING_NAMES[rule]
    if rule == "wildcard":
        text = f"{text}, alpha {figures['alpha']:.8g}"
    return [*lines, ("missing keys", text)]


def _intake(figures: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the line on what the lines of the file have become."""
    counts = figures.get("intake")
    return [("file", intake_text(counts))] if counts else []


MISSING_NAMES = {
    "category": "one more category",
    "wildcard": "match any value, as in sdcMicro",
    "argus": "match any value, as in mu-Argus",
}
METHOD_NAMES = {
    "exact": "exact",
    "series7": "series7, the formula of mu-Argus",
    "franconi": "franconi, the formula of sdcMicro",
}


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.8g} %"


def amount(value: float) -> str:
    """Return a sum of weights: with one decimal, or with eight digits."""
    return f"{value:,.1f}" if 1 <= value < 1e15 else f"{value:.8g}"


def _pairs(*pairs: tuple[str, str]) -> list[str]:
    width = max(len(label) for label, _ in pairs)
    return [f"  {label:<{width}}  {value}" for label, value in pairs]


def _counts(rows: list[dict[str, Any]]) -> list[str]:
    return [f"    {row['threshold']:<12.8g} {row['records']:>12,}" for row in rows]


def _target(target: dict[str, Any], label: str, units: str) -> str:
    goal = (
        f"a re-identification rate of {_percent(target['rate'])}"
        if label == "rate"
        else f"at most {target['unsafe']:,} unsafe records"
    )
    if target["threshold"] is None and label == "rate":
        return f"  For {goal}: no threshold is needed, the file's own rate is no higher"
    if target["threshold"] is None:
        return f"  For {goal}: only a risk threshold above the maximum risk"
    return (
        f"  For {goal}: risk threshold {target['threshold']:.8g}; "
        f"{units} at or above it: {target[units]:,}"
    )


def _household_lines(figures: dict[str, Any]) -> list[str]:
    lines = [
        "",
        "  Households",
        *(
            "  " + line
            for line in _pairs(
                ("households", f"{figures['households']:,}"),
                ("re-identification rate", _percent(figures["reidentification_rate"])),
                ("maximum risk", f"{figures['max_risk']:.8g}"),
            )
        ),
        "    at or above a risk    households      records",
        *(
            f"    {row['threshold']:<16.8g} {row['households']:>15,} "
            f"{row['records']:>12,}"
            for row in figures["unsafe_households"]
        ),
    ]
    if "for_rate" in figures:
        lines += ["", _target(figures["for_rate"], "rate", "households")]
    return lines


def _table(rows: list[dict[str, Any]]) -> list[str]:
    """Lay out the riskiest cells; numbers to the right, labels to the left."""
    titles = {
        "sample_frequency": "f",
        "population_frequency": "F",
        "sampling_fraction": "p",
        "individual_risk": "risk",
    }
    columns = []
    for name in rows[0]:
        values = [row[name] for row in rows]
        number = name in titles
        cells = [_number(v) if number else _label(v) for v in values]
        cells = [titles.get(name, _label(name)), *cells]
        width = max(map(len, cells))
        columns.append([c.rjust(width) if number else c.ljust(width) for c in cells])
    return ["    " + "  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{float(value):.6g}"


def _label(value: Any) -> str:
    """Return a key's name or value, cut if it is long."""
    return shortened(value, 40)


def shortened(value: Any, longest: int) -> str:
    """Return a name or value on one line of so many characters at most."""
    if value is None:
        return "(missing)"
    label = printable(str(value))
    return label if len(label) <= longest else label[: longest - 1] + "…"


def counted(count: int, noun: str) -> str:
    """Return a number of things, in the singular if there is one."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def printable(text: str) -> str:
    """Return text on one line; what could steer a terminal is escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def protection_text(record: dict[str, Any], title: str) -> str:
    """Return what `Protected.to_dict` says as text: what was done, before and after."""
    settings = record["settings"]
    lines = [
        printable(title),
        *_pairs(
            ("records", f"{record['records']:,}"),
            *_intake(record),
            ("individual risk", METHOD_NAMES[settings["method"]]),
            *_missing({**settings, "missing_values": record["missing_values"]}),
            ("recoded", _recoded(settings["recodings"])),
            ("costs of suppression", cost_text(settings["cost"])),
        ),
    ]
    for one in record["sets"]:
        lines += ["", f"  Keys {' x '.join(map(_label, one['keys']))}"]
        lines += _thresholds(one, settings)
        lines += _aligned(_stage_rows(one["risk"]))
    lines += ["", "  Suppressed values", *_aligned(_suppressed_rows(record))]
    if len(record["rounds"]) > 1:
        lines += ["", *_aligned(_round_rows(record["rounds"]))]
    if record["shown"]:
        lines += ["", "  What shows all the same", *_shown_lines(record["shown"])]
    return "\n".join([*lines, "", f"  {printable(record['verdict'])}"])


def _recoded(recodings: dict[str, Any]) -> str:
    """Name the recoded variables, and the files of their rules."""
    names = [
        _label(name) + (f" ({_label(rule['source'])})" if rule["source"] else "")
        for name, rule in recodings.items()
    ]
    return ", ".join(names) or "nothing"


def cost_text(cost: Any) -> str:
    """Say what blanking each key costs."""
    if isinstance(cost, str):
        return {
            "fewest": "equal for all keys, ties by entropy and name",
            "equal": "equal for all keys, ties by their order",
            "entropy": "entropy",
        }[cost]
    numbers = {
        key: float("inf" if one == "never" else one) for key, one in cost.items()
    }
    return ", ".join(
        f"{_label(key)} {format(one, '.8g') if math.isfinite(one) else 'never'}"
        for key, one in numbers.items()
    )


def _thresholds(one: dict[str, Any], settings: dict[str, Any]) -> list[str]:
    """Return the lines on the thresholds of one set of keys."""
    pairs = []
    for unit, name in (("", "risk"), ("household_", "household risk")):
        asked = settings[f"{unit}rate"]
        value = one[f"{unit}threshold"]
        if asked is None and settings[f"{unit}threshold"] is None:
            continue
        text = "none needed" if value is None else f"{value:.8g}"
        why = "" if asked is None else f", for a rate of {_percent(asked)}"
        pairs.append((f"{name} threshold", text + why))
    return _pairs(*pairs)


_STAGE_ROWS = {
    "cells": "cells",
    "sample_uniques": "sample uniques",
    "reidentification_rate": "re-identification rate",
    "expected_reidentifications": "expected re-identifications",
    "max_risk": "maximum risk",
    "unsafe_records": "unsafe records",
    "at_risk_threshold": "  by their own risk",
    "unsafe_households": "unsafe households",
}


def _stage_rows(stages: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Return the figures by stage: a line of names, then one line a figure."""
    rows = [["", *stages]]
    for name, label in _STAGE_ROWS.items():
        values = [figures.get(name) for figures in stages.values()]
        if values[0] is None:
            continue
        show: Any = _percent if name == "reidentification_rate" else _figure
        rows.append([label, *map(show, values)])
    return rows


def _suppressed_rows(record: dict[str, Any]) -> list[list[str]]:
    """Return the number and share of suppressed values by column, and in all."""
    counts = record["suppressed"]
    rows = [
        [_label(name), f"{count:,}", f"{100 * count / record['records']:.3g} %"]
        for name, count in counts.items()
    ]
    return [*rows, ["in all", f"{sum(counts.values()):,}", ""]]


def _round_rows(rounds: list[dict[str, Any]]) -> list[list[str]]:
    rows = [["round", "unsafe before", "values suppressed"]]
    for number, each in enumerate(rounds, 1):
        values = sum(each["suppressed"].values())
        rows.append([str(number), f"{each['unsafe_records']:,}", f"{values:,}"])
    return rows


def _shown_lines(shown: list[dict[str, Any]]) -> list[str]:
    """Say which suppressed values can be told from what, and what to do."""
    return [
        f"    {printable(one['text'])}; {printable(one['advice'])}" for one in shown
    ]


def _figure(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.8g}"


def _aligned(rows: list[list[str]]) -> list[str]:
    """Lay out rows: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "    "
        + "  ".join(
            text.rjust(width) if i else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


# Below half a person a ratio of estimates means nothing.
_HALF = 0.5


def uniques_text(figures: dict[str, Any], title: str) -> str:
    """Return what `UniquesEstimates.to_dict` says as text."""
    lines = [
        printable(title),
        *_pairs(
            ("records", f"{figures['records']:,}"),
            ("occupied cells", f"{figures['occupied_cells']:,}"),
            ("possible cells", f"{figures['cells']:,}"),
            ("sample uniques", f"{figures['sample_uniques']:,}"),
            ("population", f"{figures['population']:,}"),
        ),
        "",
        "  Sample uniques that are unique in the population",
        *_aligned(_uniques_rows(figures)),
    ]
    reasons = [
        f"    {one['model']}: {printable(one['reason'])}"
        for one in figures["estimates"]
        if one["reason"]
    ]
    if reasons:
        lines += ["", "  Boundaries, and models without an estimate", *reasons]
    if figures["best"] is not None:
        lines += ["", f"  Smallest AIC: {figures['best']}"]
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


def _uniques_rows(figures: dict[str, Any]) -> list[list[str]]:
    interval = f"{100 * figures['level']:.4g} % interval"
    rows = [
        ["", "expected", interval, "with the fit's error", "AIC", "population uniques",
         "parameters"]
    ]  # fmt: skip
    for one in figures["estimates"]:
        rows.append(
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
    return rows


def _span(low: float | None, high: float | None) -> str:
    return "-" if low is None else f"{low:,.0f} to {high:,.0f}"


def _or_dash(value: float | str | None, form: str) -> str:
    if isinstance(value, str):
        return value
    return "-" if value is None else format(value, form)
