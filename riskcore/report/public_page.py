"""The report for publication: classes of risk and rounded figures.

It follows the rules of `riskcore.report.public`. For a protection it describes the
protected file alone: with a figure of the original file, anyone could try suppressed
values and recompute the figure.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from riskcore.assessment.assessment import Assessment
from riskcore.common import arguments
from riskcore.common.html import digits
from riskcore.common.needs import need
from riskcore.common.words import counted, listed, printable
from riskcore.core.risk.anonymity import SHOWN
from riskcore.data.recode import Recoding
from riskcore.protection.release.evidence import MANY
from riskcore.protection.release.facts import verdict_facts
from riskcore.protection.release.record import COARSE, about, coarse
from riskcore.protection.result import Protected
from riskcore.protection.settings.settings import Settings
from riskcore.report.listed_settings import (
    HOUSEHOLDS_COUNTED,
    Pairs,
    k_facts,
    level_facts,
    method_facts,
    related_facts,
    suppression_facts,
)
from riskcore.report.page_charts import bar_top, class_plot
from riskcore.report.public import (
    FEWEST,
    PublicClasses,
    View,
    between,
    model_facts,
    public_classes,
    public_population,
    public_rate,
    rounded,
    threshold_shown,
    two_digits,
    views_of,
)
from riskcore.report.templating import render

_NOT_SHOWN = "not shown"
_RISK = "Re-identification risk"
_AFTER = "Re-identification risk after protection"


def public_page(
    assessment: Assessment,
    *,
    title: str = _RISK,
    threshold: float | None = None,
    household_threshold: float | None = None,
) -> str:
    """Return a report of a file that may be published, as HTML.

    The file is one that users get, or that no one gets: beside another version of it
    the page would reveal what was suppressed there, see `public_protection_page`. Only
    whole classes are counted, so that a threshold inside a class gives a range.
    """
    need("reports", "jinja2")
    if household_threshold is not None and assessment.households is None:
        raise ValueError("household_threshold: the file has no households")
    cells = assessment.cells
    if cells.counted is not None and not cells.counted.engine.single:
        raise cells.counted.refuse_single("a page for publication")
    key_set = _KeySet(assessment, _shown(threshold), _shown(household_threshold))
    return _Report((key_set,)).page(
        title=title,
        what=_RISK,
        use=_ALONE,
        facts=[
            *method_facts(assessment),
            *model_facts(assessment),
            *([HOUSEHOLDS_COUNTED] if "counted" in assessment.figures else []),
        ],
    )


def public_protection_page(
    protected: Protected,
    *,
    title: str = _AFTER,
    drop: Iterable[Hashable] = (),
    examined: Mapping[str, Any] | None = None,
) -> str:
    """Return a report of a protection that may be published, as HTML.

    Columns to ``drop`` are not named unless they are keys. ``examined`` is as for
    `protection_page`. All sets of keys are on one page: two pages together would
    reveal what neither says.
    """
    need("reports", "jinja2")
    left_out = arguments.names("drop", drop)
    if examined is None:
        examined = verdict_facts(protected, protected.examination, left_out)
    settings = protected.settings.without(
        [*left_out, *protected.settings.with_role("identifier")]
    )
    protected = replace(protected, settings=settings)
    threshold = _shown(settings.threshold)
    household_threshold = _shown(settings.household_threshold)
    sets = [
        _KeySet(
            key_set.protected,
            threshold,
            household_threshold,
            examined["goals_met"],
            key_set.aim.k,
        )
        for key_set in protected.sets
    ]
    return _Report(tuple(sets)).page(
        title=title,
        what=_AFTER,
        use=_PROTECTED,
        verdict=printable(examined["verdict_in_public"]),
        suppressed={
            name: count
            for name, count in protected.suppressed_rows.items()
            if name in settings.suppressible
        },
        facts=public_facts(settings),
    )


def _shown(threshold: float | None) -> float | None:
    return None if threshold is None else threshold_shown(threshold)


_ALONE = (
    "It goes with the file it describes, or alone: do not publish it beside another "
    "version of that file, such as a protected one, or beside another report of it."
)
_PROTECTED = (
    "It describes only the protected file. It reveals no suppressed value and says "
    "nothing about the file before. It should be the only report of the file."
)


@dataclass(frozen=True, eq=False)
class _KeySet:
    """A file as an intruder sees it, and the thresholds that are shown.

    ``safe`` is whether the page says that no risk reaches them, or that some do; None
    if it says neither. In a safe file no f is below ``k``.
    """

    assessment: Assessment
    threshold: float | None
    household_threshold: float | None
    safe: bool | None = None
    k: int | None = None

    @cached_property
    def views(self) -> list[View]:
        limits = [
            math.inf if threshold is None or not self.safe else threshold
            for threshold in (self.threshold, self.household_threshold)
        ]
        limits[0] = min(limits[0], self._largest_by_counts)
        return views_of(self.assessment, *limits)

    @property
    def _largest_by_counts(self) -> float:
        """A bound that no risk reaches: 1/k is the largest risk if no f is below k."""
        below = self.assessment.cells.below
        published = [k for k in SHOWN if not below(k).records]
        if self.safe and self.k is not None:
            published.append(self.k)
        k = max(published, default=0)
        return math.nextafter(1 / k, 1) if k else math.inf

    def threshold_of(self, view: View) -> float | None:
        """Return the threshold at which to count the records of a view."""
        if self.safe:
            return None
        return self.household_threshold if view.household else self.threshold


class _Risk(NamedTuple):
    """A view, its position, its set of keys, and its classes and rate."""

    position: int
    of_set: int
    view: View
    counts: list[int]
    rate: float | None


@dataclass(frozen=True, eq=False)
class _Report:
    """A file as one or several intruders see it."""

    sets: tuple[_KeySet, ...]

    @cached_property
    def views(self) -> list[View]:
        return [view for key_set in self.sets for view in key_set.views]

    @cached_property
    def classes(self) -> PublicClasses | None:
        unsafe_at = [
            threshold
            for key_set in self.sets
            if key_set.safe is False
            for threshold in (key_set.threshold, key_set.household_threshold)
            if threshold is not None
        ]
        return public_classes(self.views, unsafe_at)

    def page(
        self,
        *,
        title: str,
        what: str,
        use: str,
        facts: Pairs,
        verdict: str = "",
        suppressed: Mapping[Any, int] | None = None,
    ) -> str:
        """Return the page."""
        return render(
            "public.html",
            title=title,
            what=what,
            use=use,
            verdict=verdict,
            n=self._n,
            keys=[key_set.assessment.cells.keys for key_set in self.sets],
            fewest=FEWEST,
            coarse=COARSE,
            of_households=self.sets[0].assessment.households is not None,
            many=self._many,
            columns=len(self.views),
            charts=self._charts(),
            figures=self._figures(),
            suppression=public_suppression(suppressed, self._n) if suppressed else None,
            classes=self._classes(),
            facts=[(name, str(value)) for name, value in facts],
        )

    @property
    def _n(self) -> int:
        return self.sets[0].assessment.cells.n

    @property
    def _many(self) -> bool:
        return len(self.sets) > MANY

    @cached_property
    def _risks(self) -> list[_Risk]:
        """The risks of records and of households, none without classes of risk."""
        if self.classes is None:
            return []
        sets = [i for i, key_set in enumerate(self.sets) for _ in key_set.views]
        counts = [part.tolist() for part in self.classes.counts]
        parts = zip(sets, self.views, counts, self.classes.rates(), strict=True)
        return [_Risk(k, *part) for k, part in enumerate(parts)]

    def _name(self, risk: _Risk) -> str:
        name = "household risk" if risk.view.household else "individual risk"
        return name if len(self.sets) == 1 else f"{name}, keys {risk.of_set + 1}"

    @cached_property
    def _ranked(self) -> list[int]:
        """The sets of keys, worst first, by what the page shows alone."""
        if not self._risks:
            return list(range(len(self.sets)))
        high = {risk.of_set: risk.counts[::-1] for risk in self._risks}
        return sorted(high, key=lambda i: ([-count for count in high[i]], i))

    def _charts(self) -> list[dict[str, str]]:
        charts, shown = [], self._ranked[:MANY] if self._many else self._ranked
        for risk in self._risks:
            if self.classes and risk.of_set in shown:
                name, at = self._name(risk), f"chart-{risk.position}"
                counts = self.classes.counts[risk.position]
                drawing = class_plot(counts, self.classes.edges, name, at)
                charts.append({"id": at, "name": name, "drawing": drawing})
        return charts

    def _figures(self) -> dict[str, Any]:
        """Return the table of figures, and those that are the same for many sets."""
        columns = [dict(self._column(i)) for i in range(len(self.sets))]
        names = dict.fromkeys(name for column in columns for name in column)
        if self._many:
            same = [n for n in names if len({x.get(n) for x in columns}) == 1]
            others = [name for name in names if name not in same]
            rows = [[columns[i][name] for name in others] for i in self._ranked]
            return {
                "head": ["Keys", *others],
                "lines": self._by_set(rows),
                "same": [(name, columns[0][name]) for name in same],
            }
        heads = ["The file"]
        if len(columns) > 1:
            heads = [f"Keys {i}" for i in range(1, len(columns) + 1)]
        lines = [[name, *(column[name] for column in columns)] for name in names]
        return {"head": ["", *heads], "lines": lines}

    def _by_set(self, rows: list[list[str]]) -> list[dict[str, Any]]:
        """Return the lines of the ranked sets of keys."""
        keys = [key_set.assessment.cells.keys for key_set in self.sets]
        return [
            {"number": i + 1, "keys": keys[i], "values": values}
            for i, values in zip(self._ranked, rows, strict=True)
        ]

    def _column(self, i: int) -> Iterator[tuple[str, str]]:
        """Yield the figures of one set of keys."""
        file = self.sets[i].assessment
        cells, groups = file.cells, file.households
        yield "Records", f"{cells.n:,}"
        if groups is not None:
            yield "Households", about(len(groups))
        yield "Cells", about(len(cells))
        uniques = int(np.count_nonzero(cells.sample_frequency == 1))
        yield "Sample uniques", about(uniques)
        # Those below 2 are the sample uniques.
        for below in map(cells.below, SHOWN[1:]):
            yield f"Records with f below {below.k}", about(below.records)
            yield f"Cells with f below {below.k}", about(below.cells)
        if cells.weighted:
            population = public_population(file)
            yield "Population, the sum of the weights", _rounded_text(population)
        for risk in self._risks:
            if risk.of_set == i:
                yield from self._figures_of(risk)

    def _figures_of(self, risk: _Risk) -> Iterator[tuple[str, str]]:
        """Yield the figures of the risks of records or of households."""
        assert self.classes is not None
        view = risk.view
        unit = "household " if view.household else ""
        most, rate = public_rate(risk.rate, view.assessment)
        percent = _NOT_SHOWN if rate is None else f"{most}{two_digits(rate, 2)} %"
        yield f"{unit}re-identification rate".capitalize(), percent
        if not view.household:
            # From the rounded rate, so that it reveals nothing more.
            expected = None if rate is None else rounded(rate) * self._n
            yield (
                "Expected re-identifications",
                _rounded_text(expected, most or "about "),
            )
        low, high = map(digits, self.classes.top(risk.position))
        yield f"Largest {unit}risk", f"{low} to {high}"
        threshold = self.sets[risk.of_set].threshold_of(view)
        if threshold is not None:
            where = "in households " if view.household else ""
            reaching = between(*self.classes.reaching(risk.position, threshold))
            yield f"Records {where}at or above {digits(threshold)}", reaching

    def _classes(self) -> dict[str, Any] | None:
        """Return the table of classes, None without classes of risk."""
        if self.classes is None:
            return None
        edges = [digits(edge) for edge in self.classes.edges.tolist()]
        names = [f"{low} to {high}" for low, high in pairwise(edges)]
        if self._many:
            return self._many_classes(names)
        # Many columns of counts leave no room for shares.
        shares = len(self.views) <= 2
        head, columns = ["Risk"], [names]
        for risk in self._risks:
            head.append(self._name(risk).capitalize())
            columns.append([f"{count:,}" for count in risk.counts])
            if shares:
                above = self.classes.at_least(risk.position)[:-1] / self.classes.n
                head.append("Share at or above")
                columns.append([f"{two_digits(x, 2)} %" for x in above.tolist()])
        lines = [list(line) for line in zip(*columns, strict=True)]
        return {"head": head, "lines": lines}

    def _many_classes(self, names: list[str]) -> dict[str, Any]:
        """Return the table with a line for each set of keys."""
        kinds = [""] if len(self.views) == len(self.sets) else ["", "household risk "]
        counts: dict[int, list[str]] = {i: [] for i in self._ranked}
        for risk in self._risks:
            counts[risk.of_set] += [f"{count:,}" for count in risk.counts]
        head = [f"{kind}{name}" for kind in kinds for name in names]
        lines = self._by_set([counts[i] for i in self._ranked])
        return {"head": ["Keys", *head], "lines": lines}


def _rounded_text(x: float | None, how: str = "about ") -> str:
    return _NOT_SHOWN if x is None else f"{how}{two_digits(x)}"


def public_suppression(suppressed: Mapping[Any, int], n: int) -> dict[str, Any]:
    """Return about how many values of each column were suppressed in n records."""
    counts = {name: coarse(count) for name, count in suppressed.items()}
    rows = [
        {
            "name": name,
            "about": about(count),
            "share": _share(count, counts[name], n),
            "of_records": min(counts[name] / n, 1.0),
        }
        for name, count in suppressed.items()
    ]
    return {"rows": rows, "top": bar_top([row["of_records"] for row in rows])}


def _share(count: int, rounded: int, n: int) -> str:
    """Return the share of the records that a rounded count is."""
    if 0 < count < COARSE:
        return f"less than {two_digits(COARSE / n, 2)} %"
    return f"{two_digits(rounded / n, 2)} %" if count else "0 %"


def _goals(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the goals; a threshold found for a rate would be a figure of the file."""
    for unit, threshold, rate in (
        (settings.unit, settings.threshold, settings.rate),
        ("household", settings.household_threshold, settings.household_rate),
    ):
        if rate is not None:
            percent = digits(threshold_shown(rate), 2)
            yield unit, f"the threshold for a re-identification rate of {percent} %"
        elif threshold is not None:
            yield unit, digits(threshold_shown(threshold))


def public_facts(settings: Settings) -> list[tuple[str, str]]:
    """Return how the file was protected, without codes of its data."""
    facts = method_facts(settings)
    facts += [
        (f"recoding of {printable(str(name))}", _recoding_kind(recoding))
        for name, recoding in settings.recodings.items()
    ]
    facts += [
        (
            f"treatment of {listed(printable(str(name)) for name in names)}",
            "; ".join(rule.describe(public=True) for rule in rules),
        )
        for names, rules in settings.treat.items()
    ]
    facts += suppression_facts(settings, public=True)
    facts += [*level_facts(settings), *k_facts(settings)]
    for unit, goal in _goals(settings):
        facts.append((f"no {unit} may have a risk at or above", goal))
    return facts + related_facts(settings)


def _recoding_kind(recoding: Recoding) -> str:
    if recoding.drop:
        return f"without the last {counted(recoding.drop, 'character')}"
    if recoding.base:
        return f"rounded to multiples of {recoding.base:,}"
    if all(rule.single for rule in recoding.rules):
        return "single codes replaced" if recoding.rules else "missing values replaced"
    return "ranges of codes taken together"
