"""The figures of a file, and how every report calls and writes them.

A report takes its rows from `FIGURES`: the summary in the terminal, the table of a
protection, the office's page and the short tables of notebooks. So a figure of the
report is declared once, with the names that it has here and there. The page to hand
out has figures of its own: those that may be told, rounded.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from riskcore.common.html import all_digits, readable, short
from riskcore.common.words import counted, printable, shortened
from riskcore.core.risk.anonymity import SHOWN
from riskcore.core.risk.household import Households
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.data.cells import Cells
from riskcore.data.files.intake import intake_text

Plain = dict[str, Any]
# Where a figure is shown. "households" is the part of the summary that is of them,
# "stages" the table of a protection in the terminal.
Place = Literal[
    "text", "households", "stages", "page", "notebook", "notebook of stages"
]
# All digits of what the page rounds are no place of their own.
Writing = Place | Literal["digits"]
# How a value is written, given all figures; None: there is nothing to tell.
Form = Callable[[Any, Plain, Writing], str | None]

# Times that the weights and a model of the population may be apart without a word.
DISAGREE = 2.0
# Sample uniques, in number and as a share of the records, and people for a record, from
# which on the weights alone tell little of the risk (notes/calibration_of_cells.md).
MANY_UNIQUES, SHARE_OF_UNIQUES, FEW_SAMPLED = 100, 0.1, 2.0
# The k at which records and cells are counted, in words.
_SHOWN = " / ".join(map(str, SHOWN))
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
    cells: Cells,
    distribution: RiskDistribution,
    groups: Households | None,
    method: str,
) -> Plain:
    """Return the figures of a file as plain values, ready for JSON."""
    totals = cells.totals
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
        "population": totals.population,
        "cells_below_sample": totals.below,
        "records_below_sample": totals.records_below,
        "method": method,
        "reidentification_rate": distribution.reidentification_rate,
        "expected_reidentifications": distribution.expected_reidentifications,
        "max_risk": distribution.max_risk,
        "households": None if groups is None else {
            "households": len(groups),
            "reidentification_rate": groups.reidentification_rate,
            "max_risk": groups.distribution.max_risk,
        },
    }  # fmt: skip


def weights_tell_little(figures: Plain) -> bool:
    """Return whether the keys say more of the population frequencies than the weights.

    It is a rule of thumb: many records are alone in their cell, and the sample is at
    most half of the population. In such samples of populations of known truth the
    weights alone gave a twentieth to four fifths of the re-identifications.
    """
    uniques, records = figures["sample_uniques"], figures["records"]
    return bool(
        figures["weighted"]
        and uniques >= MANY_UNIQUES
        and uniques >= SHARE_OF_UNIQUES * records
        and figures["population"] >= FEW_SAMPLED * records
    )


def of_model(figures: Plain) -> list[str]:
    """Return the names of the figures that there are with a population model."""
    names = ("by_weights", "population_uniques")
    return [name for name in names if name in figures]


def code(value: Any) -> Any:
    """Return the name or a value of a key as JSON can hold it: else as text."""
    plain = value is None or isinstance(value, str | int)
    finite = isinstance(value, float) and math.isfinite(value)
    return value if plain or finite else str(value)


# Numbers as they are written


def label(value: Any) -> str:
    """Return a key's name or value, cut if it is long."""
    return shortened(value, _LONGEST_LABEL)


def whole_label(value: Any) -> str:
    """Return a key's name or value with all its letters, for pages.

    Examples
    --------
    >>> len(label("x" * 50)), len(whole_label("x" * 50)), whole_label(None)
    (40, 50, '(missing)')
    """
    return "(missing)" if value is None else printable(str(value))


def percent(fraction: float) -> str:
    """Return a fraction in per cent, with eight digits."""
    return f"{100 * fraction:.8g} %"


def amount(value: float) -> str:
    """Return a sum of weights: with one decimal, or with eight digits."""
    return f"{value:,.1f}" if 1 <= value < 1e15 else f"{value:.8g}"


def missing_rule(figures: Plain) -> str | None:
    """Return what missing keys mean, None if they are refused."""
    rule = figures["missing"]
    if rule == "refuse":
        return None
    alpha = f", alpha {figures['alpha']:.8g}" if rule == "wildcard" else ""
    return MISSING_NAMES[rule] + alpha


def missing_counts(counts: Mapping[str, int]) -> str | None:
    """Return the keys of which values are missing, and how many."""
    found = (f"{label(key)} {count:,}" for key, count in counts.items() if count)
    return ", ".join(found) or None


def _households_counted(told: Plain) -> str:
    """Say what a record is where it is a household."""
    of = counted(told["records"], "record")
    return f"one row for each household, called a record here; the file has {of}"


def variable_labels(labels: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the keys that have a label, and what it is."""
    found = (
        f"{label(key)}: {label(one['label'])}"
        for key, one in labels.items()
        if one["label"]
    )
    return ", ".join(found) or None


def _count(value: int, _: Plain, __: Writing) -> str:
    return f"{value:,}"


def _below(units: str) -> Form:
    """Return what writes the counts of records or cells of small f."""

    def written(counts: list[dict[str, int]], _: Plain, __: Writing) -> str:
        return " / ".join(f"{one[units]:,}" for one in counts)

    return written


def _risk(value: float, _: Plain, place: Writing) -> str:
    if place in ("page", "digits"):
        return readable(value) if place == "page" else all_digits(value)
    return f"{value:.6g}" if place.startswith("notebook") else f"{value:.8g}"


def _rate(value: float, _: Plain, place: Writing) -> str:
    if place in ("page", "digits"):
        return f"{readable(value, 2) if place == 'page' else all_digits(value, 2)} %"
    return f"{value:.6%}" if place.startswith("notebook") else percent(value)


def _population(value: float, figures: Plain, place: Writing) -> str:
    if figures.get("population_model") == "known-population":
        where = "" if place in ("page", "digits") else " cell by cell"
        return f"{value:,.0f}, counted{where}"
    if place in ("page", "digits"):
        if not figures["weighted"]:
            return "no weights: the file itself"
        return readable(value) if place == "page" else all_digits(value)
    if not figures["weighted"]:
        return "no weights: the file is taken to be the whole population"
    return f"{amount(value)}, the sum of the weights"


def _model(name: str, figures: Plain, place: Writing) -> str:
    fit = figures.get("population_model_fit")
    return f"{name}, {fit}" if fit and place == "text" else name


def _advice(weights_tell_little: bool, _: Plain, place: Writing) -> str | None:
    if not weights_tell_little:
        return None
    if place == "notebook":
        return "compare population='latent-class'"
    return "many sample uniques: compare the population model latent-class"


def _expected(value: float, _: Plain, place: Writing) -> str:
    """Return an expected number of records: no model knows more digits."""
    if place == "digits":
        return all_digits(value)
    return f"{value:,.1f}" if value >= 1 else f"{value:.2g}"


def _by_weights(value: float, figures: Plain, place: Writing) -> str:
    model = figures["expected_reidentifications"]
    most = max(model, value)
    apart = most / max(min(model, value), sys.float_info.min)
    said = _risk(value, figures, place)
    return (
        said
        if place == "digits" or apart <= DISAGREE
        else f"{said}, {apart:.1f} times apart"
    )


# The declaration


@dataclass(frozen=True)
class Figure:
    """A figure of a file, as reports show it.

    Attributes
    ----------
    name : str
        Its name among the figures; ``a.b`` is ``b`` of the dict ``a``, if there is one.
    form : callable
        How it is written.
    names : dict of place to str
        Where it is shown, and what it is called there. On the page, letters of formulas
        stand between asterisks.
    at : str
        The name of a threshold that the page adds to what it calls the figure.
    if_any : bool
        Whether a row of zeros is left out.
    each : bool
        Whether it is a dict with a row for each of its keys.
    """

    name: str
    form: Form
    names: Mapping[Place, str]
    at: str = ""
    if_any: bool = False
    each: bool = False

    def value(self, figures: Plain) -> Any:
        """Return the value, None if the file has no such figure."""
        found: Any = figures
        for part in self.name.split("."):
            found = None if found is None else found.get(part)
        return found


FIGURES = (
    Figure("records", _count, {
        "text": "records", "page": "Records", "notebook": "records",
    }),
    Figure("counted", lambda told, *_: _households_counted(told), {
        "text": "counted", "page": "Counted", "notebook": "counted",
    }),
    Figure("intake", lambda counts, *_: intake_text(counts), {"text": "file"}),
    Figure("keys", lambda keys, *_: " x ".join(map(label, keys)), {"text": "keys"}),
    Figure("labels", lambda labels, *_: variable_labels(labels), {
        "text": "labels", "page": "Labels of key variables",
    }),
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
    Figure("k_anonymity", lambda f, *_: f"{f:.6g}", {
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
    Figure("population", _population, {
        "text": "population", "page": "Population, by weights or counted",
    }),
    Figure("population_model", _model, {
        "text": "population model", "page": "Population model",
        "notebook": "population model",
    }),
    Figure("weights_tell_little", _advice, {
        "text": "advice", "notebook": "advice",
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
    Figure("below_k", lambda one, *_: f"{one['records']:,}", {
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
    """A row of a table of figures, with a value for each stage of a file.

    Attributes
    ----------
    label : str
        What the figure is called.
    of : str or None
        The name of the key that it is of, which comes from the file.
    values : list of str
    exact : list of str
        On the page, the values with all digits; elsewhere the same.
    """

    label: str
    of: str | None
    values: list[str]
    exact: list[str]

    @property
    def rounded(self) -> bool:
        """Whether there are more digits than are shown."""
        return self.exact != self.values


def table(stages: list[Plain], place: Place) -> list[Row]:
    """Return the rows of a place for a file at several stages, or for one file.

    Examples
    --------
    >>> table([{"records": 1200}, {"records": 1200}], "notebook")
    [Row(label='records', of=None, values=['1,200', '1,200'], exact=['1,200', '1,200'])]
    """
    shown = (figure for figure in FIGURES if place in figure.names)
    return [row for figure in shown for row in _rows(figure, stages, place)]


def rows(figures: Plain, place: Place) -> list[tuple[str, str]]:
    """Return the names and values of a place for one file."""
    return [(row.label, row.values[0]) for row in table([figures], place)]


def _rows(figure: Figure, stages: list[Plain], place: Place) -> Iterator[Row]:
    """Yield the rows of one figure, none if there is nothing to tell."""
    values = [figure.value(stage) for stage in stages]
    name = figure.names[place]
    if place == "page" and figure.at:
        limits = [stage[figure.at] for stage in stages if figure.at in stage]
        name = f"{name} {short(limits[0])}" if limits else name
    names = [None]
    if figure.each:
        names = list(dict.fromkeys(key for value in values for key in value or {}))
        columns = [[(value or {}).get(key) for value in values] for key in names]
    else:
        columns = [values]
    for of, column in zip(names, columns, strict=True):
        if not any(column) if figure.if_any else all(one is None for one in column):
            continue
        ways: tuple[Writing, Writing]
        ways = (place, "digits" if place == "page" else place)
        written, exact = (
            [
                None if value is None else figure.form(value, stage, way)
                for value, stage in zip(column, stages, strict=True)
            ]
            for way in ways
        )
        if any(one is not None for one in written):
            yield Row(name, of, *([x or "" for x in one] for one in (written, exact)))
