"""The figures of a file, with their names and forms in every report.

Reports take their rows from `FIGURES`: the summary in the terminal, the table of a
protection, the office's page and the short tables of notebooks. So each figure is
declared once. The page for publication has rounded figures of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from riskcore.assessment.beside import apart, which_to_believe
from riskcore.assessment.weight_figures import weights_text
from riskcore.common.html import all_digits, readable, short
from riskcore.common.sheet import Facts, Part
from riskcore.common.words import (
    Number,
    counted,
    joined,
    sentence,
    shortened,
)
from riskcore.core.risk.anonymity import SHOWN
from riskcore.core.risk.household import Households
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.data.cells import Cells
from riskcore.data.files.intake import intake_text

Plain = dict[str, Any]
# Where a figure is shown. "households" is a part of the summary, "stages" the table of
# a protection in the terminal.
Place = Literal[
    "text", "households", "stages", "page", "notebook", "notebook of stages"
]
# The page also shows all digits of the figures that it rounds.
Writing = Place | Literal["digits"]
# Writes a value, given all figures; returns None if there is nothing to say.
Form = Callable[[Any, Plain, Writing], str | None]

# The k at which records and cells are counted.
_SHOWN = " / ".join(map(str, SHOWN))
# An estimate of fewer records is written as 0.
_NOBODY = 1e-4
# A name or label of more characters is cut in text.
_LONGEST_LABEL = 40

METHOD_NAMES = {
    "exact": "exact",
    "series7": "series7, the formula of mu-Argus",
    "franconi": "franconi, the formula of sdcMicro",
}
MISSING_NAMES = {
    "category": "one more category",
    "wildcard": "match any value, as in sdcMicro",
    "argus": "match any value, as in mu-Argus",
}


# Numbers


def of_file(
    cells: Cells, distribution: RiskDistribution, groups: Households | None, method: str
) -> Plain:
    """Return the figures of a file as plain values, ready for JSON."""
    totals, households = cells.totals, None
    tolerance: Plain = {}
    if cells.windows is not None:
        named = cells.windows.tolerance.items()
        tolerance = {"tolerance": {str(key): str(amount) for key, amount in named}}
    if groups is not None:
        households = {
            "households": len(groups),
            "reidentification_rate": groups.reidentification_rate,
            "max_risk": groups.distribution.max_risk,
        }
    return {
        "records": totals.records,
        "cells": totals.cells,
        "sample_uniques": totals.uniques,
        "k_anonymity": cells.k_anonymity,
        "below": [asdict(cells.below(k)) for k in SHOWN],
        "intake": None if cells.intake is None else cells.intake.to_dict(),
        "keys": [code(key) for key in cells.keys],
        "labels": None if cells.labels is None else cells.labels.plain(cells.keys),
        "missing_values": {
            str(key): count
            for key, count in zip(cells.keys, cells.missing_values, strict=True)
        },
        "weighted": cells.weighted,
        "missing": cells.missing,
        "alpha": cells.alpha,
        **tolerance,
        "incomplete_records": cells.incomplete,
        "population": totals.population,
        "cells_below_sample": totals.below,
        "records_below_sample": totals.records_below,
        "method": method,
        "reidentification_rate": distribution.reidentification_rate,
        "expected_reidentifications": distribution.expected_reidentifications,
        "max_risk": distribution.max_risk,
        "households": households,
    }


def of_model(figures: Plain) -> list[str]:
    """Return the names of the figures that a population model adds."""
    names = ("population_model", "by_weights", "population_uniques")
    return [name for name in names if name in figures]


def code(value: Any) -> Any:
    """Return the name or a value of a key for JSON, as text if JSON cannot hold it."""
    plain = value is None or isinstance(value, str | int)
    finite = isinstance(value, float) and math.isfinite(value)
    return value if plain or finite else str(value)


# Forms of values


def label(value: Any) -> str:
    """Return the name or a value of a key, cut if it is long."""
    return shortened(value, _LONGEST_LABEL)


def percent(fraction: float) -> str:
    """Return a fraction in per cent, with eight digits."""
    return f"{100 * fraction:.8g} %"


def amount(value: float) -> str:
    """Return a sum of weights as text, with one decimal or with eight digits."""
    return f"{value:,.1f}" if 1 <= value < 1e15 else f"{value:.8g}"


def missing_rule(figures: Plain) -> str | None:
    """Return the rule for missing keys, or None if it was not needed."""
    rule, number = figures["missing"], figures.get("incomplete_records")
    if rule == "refuse":
        return None
    if number is not None and not any(figures["missing_values"].values()):
        return None
    # The figures of a protection have no alpha: it counts every match in full.
    has_alpha = rule == "wildcard" and "alpha" in figures
    alpha = f", alpha {figures['alpha']:.8g}" if has_alpha else ""
    named = MISSING_NAMES[rule] + alpha
    return f"in {counted(number, 'record')}; they {named}" if number else named


def _tolerances(tolerance: Mapping[str, str], *_: Any) -> str:
    return ", ".join(f"{label(key)} {text}" for key, text in tolerance.items())


def missing_counts(counts: Mapping[str, int]) -> str | None:
    """Return the number of missing values of each key that has some."""
    phrases = (f"{label(key)} {count:,}" for key, count in counts.items() if count)
    return ", ".join(phrases) or None


def _households_counted(file: Plain) -> str:
    """Return a note that records are households here."""
    return sentence(
        "one row for each household, called a record here; the file has {records}",
        counted(file["records"], "record"),
    )


def variable_labels(labels: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the labels of the keys that have a label."""
    phrases = (
        f"{label(key)}: {label(entry['label'])}"
        for key, entry in labels.items()
        if entry["label"]
    )
    return ", ".join(phrases) or None


def _count(value: int, _: Plain, __: Writing) -> str:
    return Number(f"{value:,}")


def _below(units: str) -> Form:
    """Return the form of the counts of records or cells with small f."""

    def written(counts: list[dict[str, int]], _: Plain, __: Writing) -> str:
        return " / ".join(f"{count[units]:,}" for count in counts)

    return written


def _risk(value: float, _: Plain, place: Writing) -> str:
    if place in ("page", "digits"):
        return readable(value) if place == "page" else all_digits(value)
    return f"{value:.6g}" if place.startswith("notebook") else f"{value:.8g}"


def _rate(value: float, _: Plain, place: Writing) -> str:
    if place in ("page", "digits"):
        number = readable(value, 2) if place == "page" else all_digits(value, 2)
        return sentence("{n} %", number)
    return f"{value:.6%}" if place.startswith("notebook") else percent(value)


def _population(value: float, figures: Plain, place: Writing) -> str:
    if figures.get("population_model") == "known-population":
        n, whole = Number(f"{value:,.0f}"), place in ("page", "digits")
        return sentence("{n}, counted", n) if whole else f"{n}, counted cell by cell"
    if place in ("page", "digits"):
        if not figures["weighted"]:
            return sentence("no weights: the file itself")
        return readable(value) if place == "page" else all_digits(value)
    if not figures["weighted"]:
        return "no weights: the file is taken to be the whole population"
    if figures.get("sampling_fraction") and not figures["weights"]:
        return f"{amount(value)}, the records over the sampling fraction"
    return f"{amount(value)}, the sum of the weights"


def _sampling_fraction(share: float, figures: Plain, _: Writing) -> str:
    if figures["weights"] is None:
        return f"{percent(share)}: each record counts for {1 / share:,.6g} people"
    by_weights = figures["weights"]["sampling_fraction"]
    remark = "" if by_weights is None else f", {100 * by_weights:.3g} % by the weights"
    return f"{percent(share)} as given{remark}"


def _model(name: str, figures: Plain, place: Writing) -> str:
    fit = figures.get("population_model_fit")
    return f"{name}, {fit}" if fit and place == "text" else name


def _by_model(name: str) -> Form:
    """Return the form of a figure of the model beside the weights."""

    def written(value: float, figures: Plain, place: Writing) -> str:
        said = _estimated(value, place)
        ends = figures["by_model"][f"{name}_interval"]
        if ends is None:
            return said
        low, high = (_estimated(end, place) for end in ends)
        return sentence("{n} (95 %: {low} to {high})", said, low, high)

    return written


def _estimated(
    value: float, place: Writing, least: float = 100.0, form: str = ",.0f"
) -> str:
    """Return an estimate of a number of records with the digits it may have."""
    if place == "digits":
        return all_digits(value)
    value = value if value >= _NOBODY else 0.0
    if place == "page":
        return readable(value)
    return Number(format(value, form) if value >= least else f"{value:.2g}")


def _expected(value: float, _: Plain, place: Writing) -> str:
    """Return an expected number of records with the few digits a model knows."""
    return _estimated(value, place, 1.0, ",.1f")


def _by_weights(value: float, figures: Plain, place: Writing) -> str | None:
    if not apart(value, figures["expected_reidentifications"]):
        return None
    return _risk(value, figures, place)


# The declaration


@dataclass(frozen=True)
class Figure:
    """A figure of a file, as reports show it.

    ``name`` is its key among the figures; ``a.b`` is ``b`` of the dict ``a``. ``names``
    has a name for each place that shows it; on the page, letters of formulas stand
    between asterisks. ``at`` is the key of the threshold that the page adds to the
    name. ``if_any`` leaves out a row of zeros; ``each`` gives each key of a dict a row.
    """

    name: str
    form: Form
    names: Mapping[Place, str]
    at: str = ""
    if_any: bool = False
    each: bool = False

    def value(self, figures: Plain) -> Any:
        """Return the value, or None if the file does not have this figure."""
        node: Any = figures
        for part in self.name.split("."):
            node = None if node is None else node.get(part)
        return node

    def written(
        self, values: list[Any], stages: list[Plain], way: Writing
    ) -> list[str]:
        """Return the values at the stages as text; unknown values are empty."""
        return [
            "" if value is None else self.form(value, stage, way) or ""
            for value, stage in zip(values, stages, strict=True)
        ]

    def title(self, stages: list[Plain], place: Place) -> str:
        """Return the name that a place shows; the page adds the threshold."""
        limits = [stage[self.at] for stage in stages if self.at in stage]
        if place != "page":
            return self.names[place]
        return joined(" ", [sentence(self.names[place]), *map(short, limits[:1])])


FIGURES = (
    Figure("records", _count, {
        "text": "records", "page": "Records", "notebook": "records",
    }),
    Figure("counted", lambda file, *_: _households_counted(file), {
        "text": "counted", "page": "Counted", "notebook": "counted",
    }),
    Figure("intake", lambda counts, *_: intake_text(counts), {"text": "file"}),
    Figure("keys", lambda keys, *_: " x ".join(map(label, keys)), {"text": "keys"}),
    Figure("labels", lambda labels, *_: variable_labels(labels), {"text": "labels"}),
    Figure(
        "cells",
        lambda cells, figures, _: (
            f"{cells:,}, of them {counted(figures['sample_uniques'], 'sample unique')}"
        ),
        {"text": "cells", "notebook": "cells"},
    ),
    Figure("cells", _count, {"page": "Cells", "stages": "cells"}),
    Figure("sample_uniques", _count, {
        "page": "Sample uniques", "stages": "sample uniques",
    }),
    Figure("k_anonymity", lambda f, *_: Number(f"{f:.6g}"), {
        "text": "k-anonymity (smallest f)", "page": "k-anonymity (smallest *f*)",
        "stages": "k-anonymity (smallest f)", "notebook": "k-anonymity",
    }),
    Figure("below", _below("records"), {
        "text": f"records, f below {_SHOWN}",
        "stages": f"records, f below {_SHOWN}",
        "notebook": f"records, f below {_SHOWN}",
    }),
    Figure("below", _below("cells"), {
        "text": f"cells, f below {_SHOWN}",
        "stages": f"cells, f below {_SHOWN}",
    }),
    Figure(
        "missing_values", lambda counts, *_: missing_counts(counts),
        {"text": "missing values"},
    ),
    Figure(
        "missing_values", _count, {"page": "Missing values of"}, if_any=True, each=True,
    ),
    Figure(
        "missing", lambda _, figures, __: missing_rule(figures),
        {"text": "missing keys"},
    ),
    Figure("tolerance", _tolerances, {"text": "tolerance", "notebook": "tolerance"}),
    Figure("population", _population, {
        "text": "population", "page": "Population, by weights or counted",
    }),
    Figure("weights", lambda figures, *_: weights_text(figures), {"text": "weights"}),
    Figure("sampling_fraction", _sampling_fraction, {"text": "sampling fraction"}),
    Figure("population_model", _model, {
        "text": "population model", "page": "Population model",
        "notebook": "population model",
    }),
    Figure("method", lambda method, *_: METHOD_NAMES[method], {
        "text": "individual risk",
    }),
    Figure("reidentification_rate", _rate, {
        "text": "re-identification rate", "page": "Re-identification rate",
        "notebook": "re-identification rate", "stages": "re-identification rate",
        "notebook of stages": "re-identification rate",
    }),
    Figure("expected_reidentifications", _risk, {
        "text": "expected re-identifications", "page": "Expected re-identifications",
        "notebook": "expected re-identifications",
        "stages": "expected re-identifications",
    }),
    Figure("by_weights", _by_weights, {
        "text": "  by the weights alone",
        "page": "Expected re-identifications by the weights alone",
        "notebook": "by the weights alone", "stages": "  by the weights alone",
    }),
    Figure(
        "by_model.expected_reidentifications",
        _by_model("expected_reidentifications"),
        {
            "text": "  by the latent-class model",
            "page": "Expected re-identifications by the latent-class model",
            "notebook": "by the latent-class model",
        },
    ),
    Figure("by_model.population_uniques", _by_model("population_uniques"), {
        "text": "  population uniques by it",
        "page": "Sample uniques expected to be population uniques, by this model",
        "notebook": "population uniques by it",
    }),
    Figure("by_model", lambda _, figures, __: which_to_believe(figures), {
        "text": "  which to believe", "notebook": "which to believe",
    }),
    Figure("population_uniques", _expected, {
        "text": "expected population uniques",
        "page": "Sample uniques expected to be population uniques",
        "notebook": "expected population uniques",
        "stages": "expected population uniques",
    }),
    Figure("max_risk", _risk, {
        "text": "maximum risk", "page": "Maximum risk", "notebook": "maximum risk",
        "stages": "maximum risk", "notebook of stages": "maximum risk",
    }),
    # In text a sentence.
    Figure("cells_below_sample", _count, {
        "page": "Cells whose weights add to less than their records (*F* < *f*), "
        "with the risk 1/*f*",
    }, if_any=True),
    Figure("records_below_sample", _count, {
        "page": "Records in such cells",
    }, if_any=True),
    Figure("unsafe_records", _count, {
        "page": "Unsafe records, by any goal",
        "stages": "unsafe records", "notebook of stages": "unsafe records",
    }),
    Figure("unsafe_by_model", _count, {
        "stages": "  by the latent-class model",
    }),
    Figure("below_k", lambda one, *_: Number(f"{one['records']:,}"), {
        "page": "Records, *f* below the *k* asked for", "stages": "  f below k",
    }),
    Figure("at_risk_threshold", _count, {
        "page": "Unsafe records, risk at or above", "stages": "  by their own risk",
    }, at="threshold"),
    Figure("capped_rate", _rate, {
        "page": "Rate with risks lowered to",
    }, at="threshold"),
    Figure("households.households", _count, {
        "households": "households", "page": "Households", "notebook": "households",
    }),
    Figure("households.reidentification_rate", _rate, {
        "households": "re-identification rate",
        "page": "Household re-identification rate",
        "notebook": "household re-identification rate",
    }),
    Figure("households.max_risk", _risk, {
        "households": "maximum risk", "page": "Maximum household risk",
    }),
    Figure("unsafe_households", _count, {
        "page": "Unsafe households, risk at or above", "stages": "unsafe households",
    }, at="household_threshold"),
    Figure("records_in_unsafe_households", _count, {
        "page": "Records in unsafe households",
    }),
)  # fmt: skip


def name_of(name: str, place: Place) -> str:
    """Return the name of a figure at a place."""
    (figure_name,) = (figure.names[place] for figure in FIGURES if figure.name == name)
    return figure_name


def text_of(name: str, figures: Plain, place: Place) -> str:
    """Return the value of a figure as a place shows it; empty if it is unknown."""
    (figure,) = (candidate for candidate in FIGURES if candidate.name == name)
    return figure.written([figure.value(figures)], [figures], place)[0]


# The figures of a cell among the riskiest: in text, and on the page.
CELL_FIGURES = {
    "sample_frequency": ("f", "Records *f*"),
    "population_frequency": ("F", "Population *F*"),
    "sampling_fraction": ("p", "*p* = *f*/*F*"),
    "individual_risk": ("risk", "Risk"),
    "population_unique_probability": ("P(F=1)", "P(*F* = 1)"),
}


@dataclass(frozen=True)
class Row:
    """A row of a table of figures, by stage of the file; ``exact`` has all digits."""

    label: str
    of: str | None
    values: list[str]
    exact: list[str]


def table(stages: list[Plain], place: Place) -> list[Row]:
    """Return the rows that a place shows, for a file at one stage or several."""
    shown = (figure for figure in FIGURES if place in figure.names)
    return [row for figure in shown for row in _rows(figure, stages, place)]


def rows(figures: Plain, place: Place) -> Facts:
    """Return the names and values that a place shows for one file."""
    return [(row.label, row.values[0]) for row in table([figures], place)]


def _rows(figure: Figure, stages: list[Plain], place: Place) -> Iterator[Row]:
    """Yield the rows of one figure that say something."""
    values = [figure.value(stage) for stage in stages]
    columns: dict[str | None, list[Any]] = {None: values}
    if figure.each:
        keys = dict.fromkeys(key for value in values for key in value or {})
        columns = {key: [(value or {}).get(key) for value in values] for key in keys}
    for of, column in columns.items():
        if figure.if_any and not any(column):
            continue
        shown = figure.written(column, stages, place)
        if any(shown):
            digits = place == "page"
            exact = figure.written(column, stages, "digits") if digits else shown
            yield Row(figure.title(stages, place), of, shown, exact)


# Parts of a sheet

# Least widths of thresholds and counts, so that the tables of most files line up.
LEAST = (12, 11)
# Parts without a title begin where titles do.
UNTITLED = (2, 2)


def target_parts(
    figures: Plain, units: str, head: Sequence[tuple[str, str]] = ()
) -> Iterator[Part]:
    """Yield the figures of `unit_risk.at_targets` as parts of a sheet."""
    unsafe = figures[f"unsafe_{units}"]
    counts = [(f"{row['threshold']:.8g}", f"{row[units]:,}") for row in unsafe]
    title = f"{units.capitalize()} at or above a risk"
    yield Part(title, rows=[*head, *counts], sides="<>", least=LEAST)
    for name in ("for_rate", "for_unsafe"):
        if name in figures:
            yield target_part(figures[name], units)


def target_part(target: Plain, units: str) -> Part:
    """Return the threshold for a rate or a number of unsafe units."""
    of_rate = "rate" in target
    goal = (
        f"a re-identification rate of {percent(target['rate'])}"
        if of_rate
        else f"at most {counted(target['unsafe'], f'unsafe {units[:-1]}')}"
    )
    if target["threshold"] is not None:
        answer = (
            f"risk threshold {target['threshold']:.8g}; "
            f"{units} at or above it: {target[units]:,}"
        )
    elif of_rate:
        answer = "no threshold is needed, the rate of the file is low enough"
    else:
        answer = "only a risk threshold above the maximum risk"
    return Part(sentences=[f"For {goal}: {answer}"], indents=UNTITLED)
