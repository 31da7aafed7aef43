"""The report as one page of HTML, which loads nothing from elsewhere.

There are two kinds. The office's own, `page` and `protection_page`, has a risk chart
with a threshold slider. What its boxes show is what `RiskDistribution` returns, bit for
bit: its script computes in whole numbers. So it holds exact risks, from which weights
of single records follow. The one to hand out, `public_page` and
`public_protection_page`, holds classes and rounded figures.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from riskcore.assessment import Assessment
from riskcore.common.html import digits, escape, short
from riskcore.files import replace
from riskcore.microdata.recode import Recoding
from riskcore.protection.result import Protected, finite
from riskcore.protection.settings import Settings
from riskcore.report import parts
from riskcore.report.curve import RiskCurve, risk_curve, shared_edges
from riskcore.report.parts import Pairs
from riskcore.report.public_page import public_page, public_protection_page
from riskcore.report.svg import risk_plot
from riskcore.report.text import amount, cost_text, counted, printable, summary
from riskcore.risk.file_risk import Counts, as_threshold
from riskcore.risk.threshold import RiskDistribution

__all__ = [
    "page",
    "protection_page",
    "public_page",
    "public_protection_page",
    "recoding_facts",
    "write_page",
]

_USE = (
    "<b>For internal use:</b> this page holds exact risks. From the risk of a record "
    "that is alone in its cell its weight follows, to the last digit, and by its "
    "weight a record can be found in another file. To hand out there is another "
    "report: <code>--report-public</code>, in Python <code>public_page</code>."
)

_MISSING = "Missing values of"
_RECORDS, _HOUSEHOLDS = 0, 1
_LEVELS = {_RECORDS: "individual risk", _HOUSEHOLDS: "household risk"}


def write_page(
    path: str | os.PathLike[str],
    stages: Mapping[str, Assessment],
    *,
    title: str,
    threshold: float | None = None,
    household_threshold: float | None = None,
    suppression: Mapping[str, Any] | None = None,
    riskiest: Sequence[Mapping[Hashable, Any]] | None = None,
    facts: Pairs = (),
    verdict: str = "",
    unsafe: Mapping[str, int] | None = None,
    shown: Sequence[Mapping[str, Any]] = (),
    overwrite: bool = False,
) -> None:
    """Write the report to a file that only its owner can read, whole or not at all.

    Parameters
    ----------
    path : path
        Of the HTML file to write.
    stages, title, threshold, household_threshold, suppression, riskiest, facts
        As in `page`.
    verdict, unsafe, shown
        As in `page`.
    overwrite : bool
        Replace an existing file.

    Raises
    ------
    OSError
        If the file exists and is not to be overwritten, or cannot be written.
    ValueError
        As `page`.

    Examples
    --------
    >>> import tempfile
    >>> import riskcore
    >>> result = riskcore.assess({"sex": ["f", "m", "f"]}, ["sex"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page(f"{folder}/r.html", {"original": result}, title="Survey")
    ...     Path(f"{folder}/r.html").read_text()[:15]
    ...
    '<!DOCTYPE html>'
    """
    replace.refuse_existing(Path(path), overwrite)
    text = page(
        stages,
        title=title,
        threshold=threshold,
        household_threshold=household_threshold,
        suppression=suppression,
        riskiest=riskiest,
        facts=facts,
        verdict=verdict,
        unsafe=unsafe,
        shown=shown,
    )
    with replace.replacing_all(overwrite) as create:
        create(Path(path), private=True).write(text.encode())


def page(
    stages: Mapping[str, Assessment],
    *,
    title: str,
    threshold: float | None = None,
    household_threshold: float | None = None,
    suppression: Mapping[str, Any] | None = None,
    riskiest: Sequence[Mapping[Hashable, Any]] | None = None,
    facts: Pairs = (),
    verdict: str = "",
    unsafe: Mapping[str, int] | None = None,
    shown: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return the report of one file, or of the stages of its protection, as HTML.

    Parameters
    ----------
    stages : mapping of str to Assessment
        Assessments of the same records by name, in order: "original", "recoded",
        "protected", or one alone. The last one is shown first.
    title : str
        Title of the page.
    threshold, household_threshold : float, optional
        Thresholds of the tables, and at which the chart starts. By default the chart
        starts at the smallest risk that at most 1 % of the records reach, and the
        tables count no unsafe records.
    suppression : mapping, optional
        ``"variables"``: for each variable ``{"suppressed": count, "share": fraction of
        the records}``; ``"rounds"``: a list of dicts with the same keys.
    riskiest : sequence of mappings, optional
        Rows of `Assessment.riskiest` to list; no values of keys are in the page
        otherwise.
    facts : iterable of (str, value), optional
        Settings to list.
    verdict : str, optional
        What to say of the file at the top.
    unsafe : mapping of str to int, optional
        The number of records by stage that are unsafe by their own risk or by that of
        their household, as `protect` counts them.
    shown : sequence of mappings, optional
        What the file tells although it was suppressed, recoded or shuffled, each with
        "text" and "advice", as `riskcore.Protected.to_dict` gives them.

    Returns
    -------
    str
        A page that needs no network. The same arguments give the same text.

    Raises
    ------
    ValueError
        If there are no stages, their numbers of records differ, some have households
        and some have not, a threshold is nan or negative, a household threshold is
        given without households, or a risk is 0.

    See Also
    --------
    riskcore.risk.threshold.RiskDistribution : the numbers shown and their definitions.

    Examples
    --------
    >>> import riskcore
    >>> from riskcore.page import page
    >>> data = {"sex": ["f", "m", "f"], "age": [31, 47, 31], "w": [10.0, 20.0, 15.0]}
    >>> result = riskcore.assess(data, ["sex", "age"], weight="w")
    >>> text = page({"original": result}, title="Survey", threshold=0.1)
    >>> '<b data-slot="threshold">0.1</b>' in text
    True
    """
    _check(stages, threshold, household_threshold)
    views = _views(stages, {_RECORDS: threshold, _HOUSEHOLDS: household_threshold})
    sections = [
        _chart(views, list(stages)),
        _comparison(stages, threshold, household_threshold, unsafe),
        _suppression(suppression) if suppression else "",
        _shown(shown) if shown else "",
        _riskiest(riskiest) if riskiest else "",
        parts.settings_section(facts),
        _classes(views, len(stages)),
        _definitions(views),
    ]
    last = list(stages.values())[-1]
    listed = " and lists combinations of key values" if riskiest else ""
    return parts.framed(
        title=title,
        lead=_lead(last),
        use=_USE,
        verdict=verdict,
        sections=sections,
        footer=f"This page holds exact risks{listed}; it loads nothing from elsewhere.",
        chart=parts.chart_script(_json([view.data() for view in views])),
    )


def protection_page(
    protected: Protected,
    *,
    title: str,
    keys: int = 0,
    riskiest: int = 0,
    shown: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """Return the report of a protection as HTML, see `page`.

    Parameters
    ----------
    protected : Protected
    title : str
        Title of the page.
    keys : int
        Which of several sets of keys, by position.
    riskiest : int
        How many of the riskiest combinations of the protected file to list.
    shown : sequence of mappings, optional
        What the file tells that it does not show, in the order and with the columns
        with which it is written: "shown" of what `riskcore.Protected.write` returns.
        By default that of the data in memory.

    Returns
    -------
    str

    Raises
    ------
    IndexError
        If there is no such set of keys.
    ValueError
        As `page`.

    Examples
    --------
    >>> import riskcore
    >>> from riskcore.page import protection_page
    >>> data = {"sex": list("ffmff"), "age": list("11222"), "w": [30.0] * 5}
    >>> result = riskcore.protect(data, ["sex", "age"], "w", threshold=0.05)
    >>> "Values suppressed" in protection_page(result, title="Survey, protected")
    True
    """
    one, settings = protected.sets[keys], protected.settings
    suppressed = protected.suppressed
    several = len(protected.sets)
    if several > 1:
        title = f"{title}, set of keys {keys + 1} of {several}"
    comparison = one.comparison()
    return page(
        one.stages,
        title=title,
        threshold=finite(one.aim.threshold),
        household_threshold=finite(one.aim.household_threshold),
        suppression={
            "variables": {
                name: {"suppressed": count, "share": count / protected.n}
                for name, count in suppressed.items()
            },
            "rounds": [
                {
                    "round": number,
                    "unsafe_before": each.unsafe,
                    "suppressed": sum(each.suppressed.values()),
                }
                for number, each in enumerate(protected.rounds, 1)
            ],
        },
        riskiest=one.protected.riskiest(riskiest) or None,
        facts=[
            *parts.role_facts(settings.weight, settings.household),
            *parts.method_facts(settings.method, settings.missing, settings.alpha),
            *recoding_facts(settings.recodings),
            ("costs", cost_text(settings.cost)),
            ("suppression", parts.SUPPRESSION_NAMES[settings.suppression]),
            *_threshold_facts(settings),
            *parts.related_facts(settings),
        ],
        verdict=protected.verdict,
        unsafe={name: figures["unsafe_records"] for name, figures in comparison.items()}
        if one.aim.of_households
        else None,
        shown=protected.to_dict()["shown"] if shown is None else shown,
    )


def recoding_facts(recodings: Mapping[Any, Recoding]) -> list[tuple[str, str]]:
    """Return the rules of the recodings, for the settings of a report.

    Parameters
    ----------
    recodings : mapping of column names to Recoding

    Returns
    -------
    list of (str, str)
        What it is and the rules, one on each line.

    Examples
    --------
    >>> from riskcore import Recoding
    >>> recoding_facts({"age": Recoding.top_bottom(top=85)})
    [('recoding of age', '[85, inf) \u2192 85')]
    """
    return [
        (f"recoding of {printable(str(name))}", _rules(recoding))
        for name, recoding in recodings.items()
    ]


def _rules(recoding: Recoding) -> str:
    lines = str(recoding).split("\n")
    return "\n".join(line.replace(" -> ", " \u2192 ", 1) for line in lines)


def _threshold_facts(settings: Settings) -> list[tuple[str, str]]:
    """Return the thresholds as they were asked for."""
    asked = {
        "risk threshold": settings.threshold,
        "re-identification rate asked for": settings.rate,
        "household risk threshold": settings.household_threshold,
        "household rate asked for": settings.household_rate,
    }
    return [(name, f"{x:.8g}") for name, x in asked.items() if x is not None]


def _check(
    stages: Mapping[str, Assessment],
    threshold: float | None,
    household_threshold: float | None,
) -> None:
    if not stages:
        raise ValueError("no stages: give at least one assessment")
    sizes = {name: one.cells.n for name, one in stages.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(f"stages of different numbers of records: {sizes}")
    without = [name for name, one in stages.items() if one.households is None]
    if without and len(without) < len(stages):
        raise ValueError(f"stages without households: {', '.join(without)}")
    if household_threshold is not None and without:
        raise ValueError("household_threshold: the stages have no households")
    for one in (threshold, household_threshold):
        if one is not None:
            as_threshold(one)


def _json(value: Any) -> str:
    """Return JSON that no label can make end its script element."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@dataclass(frozen=True, eq=False)
class _View:
    """One chart: a stage, and individual or household risk."""

    stage: int
    level: int
    name: str
    distribution: RiskDistribution
    units: RiskDistribution
    curve: RiskCurve
    given: float | None
    only: bool

    @cached_property
    def start(self) -> float:
        """The threshold shown first, as the page can show it."""
        start = self.given
        if start is None:
            start = self.distribution.threshold_for_unsafe(self.distribution.n // 100)
            start = min(start, self.distribution.max_risk)
        k = int(np.searchsorted(self.curve.threshold, start))
        ends = k == 0 or k == len(self.curve.threshold)
        if self.curve.complete or ends or self.curve.threshold[k] == start:
            return start
        return float(self.curve.threshold[k - 1])

    def data(self) -> dict[str, Any]:
        """Return what the script of the page works with."""
        curve = self.curve
        values = {
            "stage": self.stage,
            "level": self.level,
            "name": printable(self.name),
            "n": curve.n,
            "rate": curve.rate,
            "complete": curve.complete,
            "axis": self.curve.edges[[0, -1]].tolist(),
            "start": self.start if math.isfinite(self.start) else None,
            "threshold": curve.threshold.tolist(),
            "records": curve.unsafe.tolist(),
            "sum": curve.risk_below.tolist(),
            "rest": curve.risk_below_rest.tolist(),
        }
        if self.level == _HOUSEHOLDS:
            values["count"] = self._unit_counts().tolist()
        return values

    def _unit_counts(self) -> Counts:
        return np.array([self.units.unsafe_count(t) for t in self.curve.threshold])


def _views(
    stages: Mapping[str, Assessment], thresholds: Mapping[int, float | None]
) -> list[_View]:
    """Return the charts, those of one level with the same classes."""
    views = []
    for level in _LEVELS:
        found = [_distributions(one, level) for one in stages.values()]
        if None in found:
            continue
        pairs = [pair for pair in found if pair]
        edges = shared_edges(pair[0] for pair in pairs)
        given = thresholds[level]
        include = [] if given is None else [given]
        for stage, (name, (own, units)) in enumerate(zip(stages, pairs, strict=True)):
            curve = risk_curve(own, include=include, edges=edges)
            only = len(stages) == 1
            views.append(_View(stage, level, name, own, units, curve, given, only))
    return views


def _distributions(
    assessment: Assessment, level: int
) -> tuple[RiskDistribution, RiskDistribution] | None:
    """Return the risk over records, and over what is counted: records or households."""
    if level == _RECORDS:
        return assessment.distribution, assessment.distribution
    groups = assessment.households
    if groups is None:
        return None
    return groups.distribution, RiskDistribution(groups.risk)


# Sections


def _lead(assessment: Assessment) -> str:
    cells = assessment.cells
    keys = parts.crossed(cells.keys)
    groups = assessment.households
    households = f" in {counted(len(groups), 'household')}" if groups else ""
    return (
        f"Re-identification risk of {counted(cells.n, 'record')}{households}; "
        f"key variable{'s' if len(cells.keys) > 1 else ''} {keys}."
    )


def _chart(views: list[_View], names: list[str]) -> str:
    initial = next(view for view in views if view.stage == len(names) - 1)
    levels = sorted({view.level for view in views})
    switches = _switch("stage", "File", dict(enumerate(map(parts.label, names))), -1)
    if len(levels) > 1:
        switches += _switch("level", "Risk of", {0: "records", 1: "households"}, 0)
    shown = [view for view in views if view.stage == initial.stage]
    return parts.section(
        "chart",
        "Risk chart",
        "\n".join(
            [
                switches
                and f'<div class="switches" hidden data-script>{switches}</div>',
                *(_figure(view) for view in views),
                '<div hidden data-script><input type="range" id="slider" min="0" '
                'max="10000" step="1" aria-label="Risk threshold, on the scale of the '
                'chart" aria-describedby="slider-help"></div>',
                _boxes(initial, len(levels) > 1),
                '<p id="error" role="alert"></p>',
                '<div aria-live="polite">',
                *(_reading(view) for view in shown),
                "</div>",
                '<p class="note slider-help" id="slider-help" hidden data-script>'
                "Move the handle, or with the arrow keys from one threshold to the "
                "next, or write in any of the three boxes: the other two follow.</p>",
            ]
        ),
    )


def _figure(view: _View) -> str:
    name = f"view-{view.stage}-{view.level}"
    drawing = risk_plot(
        view.distribution,
        view.curve.edges,
        view.start,
        _LEVELS[view.level],
        f"{name}-text",
    )
    return (
        f'<figure id="{name}">\n<figcaption id="{name}-text">Records by '
        f"{_title(view)}.{_thinned(view)}<br>"
        '<span class="key"><i class="b"></i>records per class (left)</span> '
        '<span class="key"><i class="l"></i>share of records at or above the risk '
        '(right)</span> <span class="key"><i class="u"></i>unsafe</span>'
        "</figcaption>\n"
        f"{drawing}\n</figure>"
    )


def _title(view: _View) -> str:
    risk = _LEVELS[view.level]
    return risk if view.only else f"{risk}, file “{parts.label(view.name)}”"


def _thinned(view: _View) -> str:
    if view.curve.complete:
        return ""
    return (
        f" The file has {len(view.distribution.risk):,} distinct risks; this page "
        f"holds {len(view.curve.threshold):,} thresholds and goes to one of them, on "
        "the safe side of what is written in a box. At these thresholds every number "
        "is exact."
    )


def _switch(name: str, legend: str, labels: Mapping[int, str], chosen: int) -> str:
    """Return radio buttons, none if there is nothing to choose."""
    if len(labels) < 2:
        return ""
    checked = list(labels)[chosen]
    buttons = "".join(
        f'<label><input type="radio" name="{name}" value="{value}"'
        f"{' checked' if value == checked else ''}> {label}</label>"
        for value, label in labels.items()
    )
    return f"<fieldset><legend>{legend}</legend>{buttons}</fieldset>"


def _boxes(view: _View, switched: bool) -> str:
    """Return the three boxes, with the numbers the page starts at.

    They show six digits; the script works with all of them.
    """
    t = view.start
    unsafe, capped = view.units.unsafe_count(t), view.distribution.capped_rate(t)
    boxes = [
        ("threshold", "Risk threshold", "decimal", short(t), digits(t)),
        ("count", "Unsafe records", "numeric", str(unsafe), str(unsafe)),
        (
            "rate",
            "Re-identification rate at most, %",
            "decimal",
            short(capped, 2),
            digits(capped, 2),
        ),
    ]
    names = {"count": "Unsafe households", "threshold": "Household risk threshold"}
    fields = []
    for name, title, mode, value, exact in boxes:
        caption = title
        if switched and name in names:
            caption = (
                f'<span data-level="0">{title}</span>'
                f'<span data-level="1" hidden>{names[name]}</span>'
            )
        fields.append(
            f'<label>{caption}<input id="{name}" inputmode="{mode}" '
            f'autocomplete="off" spellcheck="false" readonly value="{value}" '
            f'title="{exact}" data-exact="{exact}" aria-describedby="error"></label>'
        )
    return f'<div class="boxes">{"".join(fields)}</div>'


def _reading(view: _View) -> str:
    """Return the sentences that say what holds at the threshold."""
    t, own = view.start, view.distribution
    unsafe = own.unsafe_count(t)
    slots = {
        "name": printable(view.name),
        "threshold": short(t),
        "count": f"{view.units.unsafe_count(t):,}",
        "of": f"{view.units.n:,}",
        "records": f"{unsafe:,}",
        "n": f"{own.n:,}",
        "share": short(unsafe / own.n, 2),
        "rate": short(own.reidentification_rate, 2),
        "capped": short(own.capped_rate(t), 2),
        "safe": short(own.safe_rate(t), 2),
    }

    def slot(name: str, tag: str = "b") -> str:
        return f'<{tag} data-slot="{name}">{escape(slots[name])}</{tag}>'

    stage = "" if view.only else f"File “{slot('name', 'bdi')}”. "
    if view.level == _RECORDS:
        kind, unsafe_text = "risk", f"{slot('count')} of {slot('of')} records"
    else:
        kind = "household risk"
        unsafe_text = (
            f"{slot('count')} of {slot('of')} households, with {slot('records')} of "
            f"{slot('n')} records,"
        )
    return (
        f'<p class="reading" id="reading-{view.level}" data-level="{view.level}">'
        f"{stage}At a {kind} threshold of {slot('threshold')}, {unsafe_text} are "
        f"unsafe: {slot('share')}&nbsp;% of the records. The re-identification rate of "
        f"the file is {slot('rate')}&nbsp;%; it would be {slot('capped')}&nbsp;% if "
        "the risks above the threshold were lowered to it, and "
        f"{slot('safe')}&nbsp;% if the unsafe records could not be re-identified.</p>"
    )


def _comparison(
    stages: Mapping[str, Assessment],
    threshold: float | None,
    household_threshold: float | None,
    unsafe: Mapping[str, int] | None,
) -> str:
    """Return the table of the file, or of its stages side by side."""
    columns = [
        _column(one, threshold, household_threshold, (unsafe or {}).get(name))
        for name, one in stages.items()
    ]
    # A key of which nothing is missing anywhere has no row.
    for key in list(columns[0]):
        if key.startswith(_MISSING) and all(one[key] == "0" for one in columns):
            for one in columns:
                del one[key]
    rows = [
        [name, *(column.get(name, "0") for column in columns)]
        for name in dict.fromkeys(name for column in columns for name in column)
    ]
    several = len(stages) > 1
    title = "Before and after" if several else "The file"
    caption = "Figures of the file at each stage" if several else "Figures of the file"
    head = ["", *(map(parts.label, stages) if several else ["The file"])]
    return parts.section(
        "comparison",
        title,
        parts.table(caption, head, rows, [False] + [True] * len(columns)),
    )


def _column(
    assessment: Assessment,
    threshold: float | None,
    household_threshold: float | None,
    unsafe: int | None,
) -> dict[str, str]:
    figures = summary(assessment, top=0)
    column = {
        "Records": f"{figures['records']:,}",
        "Cells": f"{figures['cells']:,}",
        "Sample uniques": f"{figures['sample_uniques']:,}",
        **{
            f"{_MISSING} {parts.label(key)}": f"{count:,}"
            for key, count in figures["missing_values"].items()
        },
        "Population, the sum of the weights": (
            amount(figures["population"])
            if figures["weighted"]
            else "no weights: the file itself"
        ),
        "Re-identification rate": f"{short(figures['reidentification_rate'], 2)} %",
        "Expected re-identifications": short(figures["expected_reidentifications"]),
        "Maximum risk": short(figures["max_risk"]),
    }
    if figures["cells_below_sample"]:
        column |= {
            "Cells whose weights add to less than their records (<i>F</i> &lt; "
            "<i>f</i>), with the risk 1/<i>f</i>": f"{figures['cells_below_sample']:,}",
            "Records in such cells": f"{figures['records_below_sample']:,}",
        }
    if unsafe is not None:
        column["Unsafe records, by their own risk or their household's"] = f"{unsafe:,}"
    if threshold is not None:
        limit = short(threshold)
        column |= {
            f"Unsafe records, risk at or above {limit}": (
                f"{assessment.unsafe_count(threshold):,}"
            ),
            f"Rate with risks lowered to {limit}": (
                f"{short(assessment.distribution.capped_rate(threshold), 2)} %"
            ),
        }
    groups = assessment.households
    if groups is None:
        return column
    column |= {
        "Households": f"{len(groups):,}",
        "Household re-identification rate": (
            f"{short(groups.reidentification_rate, 2)} %"
        ),
        "Maximum household risk": short(groups.distribution.max_risk),
    }
    if household_threshold is not None:
        limit = short(household_threshold)
        households = assessment.unsafe_household_count(household_threshold)
        records = groups.distribution.unsafe_count(household_threshold)
        column |= {
            f"Unsafe households, risk at or above {limit}": f"{households:,}",
            "Records in unsafe households": f"{records:,}",
        }
    return column


def _suppression(suppression: Mapping[str, Any]) -> str:
    variables: Mapping[Any, Mapping[str, Any]] = suppression.get("variables", {})
    longest = max((row["suppressed"] for row in variables.values()), default=0)
    rows = [
        [
            parts.label(name),
            f"{row['suppressed']:,}",
            f"{short(row['share'], 2)} %",
            parts.bar(row["suppressed"] / longest if longest else 0.0),
        ]
        for name, row in variables.items()
    ]
    total = sum(row["suppressed"] for row in variables.values())
    rows.append(["all variables", f"{total:,}", "", ""])
    head = ["Variable", "Values suppressed", "Share of records", parts.BAR_TITLE]
    body = parts.table(
        "Values suppressed, by variable", head, rows, [False, True, True, False]
    )
    if suppression.get("rounds"):
        body += _rounds(suppression["rounds"])
    return parts.section("suppression", "Suppression", body)


def _shown(shown: Sequence[Mapping[str, Any]]) -> str:
    """Return what can be told from the file, and what can be done."""
    rows = [[parts.text(one["text"]), parts.text(one["advice"])] for one in shown]
    head = ["What shows", "What can be done"]
    body = parts.table("Told by a column or an order", head, rows, [False, False])
    return parts.section("shown", "What shows all the same", body)


def _rounds(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name) for name in names] for row in rows]
    return "<h3>Rounds</h3>\n" + parts.table(
        "Rounds of suppression",
        [parts.label(name.replace("_", " ")) for name in names],
        [list(map(parts.value, row)) for row in cells],
        [all(map(parts.is_number, column)) for column in zip(*cells, strict=True)],
    )


def _riskiest(rows: Sequence[Mapping[Hashable, Any]]) -> str:
    results = {
        "sample_frequency": "Records <i>f</i>",
        "population_frequency": "Population <i>F</i>",
        "sampling_fraction": "<i>p</i> = <i>f</i>/<i>F</i>",
        "individual_risk": "Risk",
    }
    names = list(rows[0])
    body = parts.table(
        "Cells of largest individual risk",
        [results.get(str(name)) or parts.label(name) for name in names],
        # The code of a key is a name, also where it is a number.
        [
            [
                (parts.value if name in results else parts.label)(row[name])
                for name in names
            ]
            for row in rows
        ],
        [name in results for name in names],
    )
    return parts.section("riskiest", "Riskiest combinations", body)


def _classes(views: list[_View], stages: int) -> str:
    """Return the numbers behind the charts."""
    tables = []
    for view in views:
        title = _title(view)
        own, edges = view.distribution, view.curve.edges.tolist()
        rows = []
        for low, high, count in zip(
            edges[:-1], edges[1:], view.curve.counts.tolist(), strict=True
        ):
            unsafe = own.unsafe_count(low)
            rows.append(
                [
                    f"{digits(low)} to {digits(high)}",
                    f"{count:,}",
                    f"{unsafe:,}",
                    f"{short(unsafe / own.n, 2)} %",
                    f"{short(own.capped_rate(low), 2)} %",
                ]
            )
        head = [
            "Risk",
            "Records",
            "At or above the lower bound",
            "Share",
            "Rate with risks lowered to it",
        ]
        table = parts.table(f"Records by {title}", head, rows, [False] + [True] * 4)
        tables.append(f"<details><summary>{title}</summary>{table}</details>")
    return parts.section("classes", "Classes of risk", "\n".join(tables))


def _definitions(views: list[_View]) -> str:
    lines = [
        parts.RISK_DEFINITION,
        "A record is unsafe if its risk is at or above the threshold.",
        "The rate in the third box, <i>g</i>(<i>t</i>), is that of the file with every "
        "risk above the threshold <i>t</i> lowered to <i>t</i>. If the file is "
        "protected so that no risk is above <i>t</i>, its rate is at most that. A rate "
        "written there gives the threshold with just this rate. A number of unsafe "
        "records gives the smallest risk in the file that at most so many records "
        "reach; records of equal risk are either all unsafe or none.",
    ]
    if any(view.level == _HOUSEHOLDS for view in views):
        lines.append(parts.HOUSEHOLD_DEFINITION)
    return parts.section(
        "definitions", "Definitions", "\n".join(f"<p>{line}</p>" for line in lines)
    )
