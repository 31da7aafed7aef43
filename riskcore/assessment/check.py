"""Check a file against the rules of a release, for pipelines.

`check` counts and compares but does not change the file; `riskcore.protect` makes a
file that passes.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np

from riskcore.assessment.assess import assess_coded, check_roles
from riskcore.assessment.diversity import (
    Diversity,
    SensitiveRules,
    SensitiveVariable,
    diversity_of,
)
from riskcore.assessment.goals import KeyGoals, key_sets
from riskcore.assessment.result import Assessment, HeldAssessment
from riskcore.assessment.settings_table import WEIGHTS, CheckSettings, Method
from riskcore.common import arguments
from riskcore.common.progress import Lines, silent
from riskcore.common.settings import complete, takes
from riskcore.common.sheet import OnASheet, Part, Sheet
from riskcore.common.text_table import aligned
from riskcore.common.warn import warn
from riskcore.common.words import counted, printable
from riskcore.data.cells import Cells, check_missing, tabulate, tabulate_coded
from riskcore.data.coded import CodedRecords
from riskcore.data.engines.registry import engine_of
from riskcore.data.files.reading import Reading
from riskcore.data.source import Source
from riskcore.data.wildcard import WILDCARDS

_NAMES = {
    "k": "k-anonymity",
    "max_risk": "maximum risk",
    "max_rate": "re-identification rate",
    "min_population": "population of an area",
    "l": "l-diversity",
    "t": "t-closeness",
}
# Of the table of rules, as in `aligned`.
_SIDES = "<<<<>><"


class AreasUnknown(UserWarning):
    """The area of some records is missing, so these records are in no area."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a release, and the value found.

    Attributes
    ----------
    rule : str
        Name of the rule: the argument of `check`.
    keys : tuple of column names
        Columns of the rule: a set of keys with its strata, or the columns of areas.
    sensitive : column name or None
        The sensitive variable of a rule on l or t.
    asked, found : int or float
        The limit that was asked for, and the number that was found.
    records, cells : int or None
        Numbers of records and cells that break the rule; None for a rule on the whole
        file.
    passed : bool
    """

    rule: str
    keys: tuple[Hashable, ...]
    sensitive: Hashable | None
    asked: int | float
    found: int | float
    records: int | None
    cells: int | None
    passed: bool

    @property
    def title(self) -> str:
        """The name of the rule in words."""
        return _NAMES[self.rule]

    @property
    def of(self) -> str:
        """The columns of the rule, joined on one line."""
        keys = " x ".join(printable(str(name)) for name in self.keys)
        if self.sensitive is None:
            return keys
        return f"{printable(str(self.sensitive))} in {keys}"


@dataclass(frozen=True, slots=True, repr=False)
class Checked(OnASheet):
    """The result of `check`: the rules, and whether all are kept.

    Attributes
    ----------
    records : int
        Number of records.
    rules : tuple of Rule

    Examples
    --------
    >>> import riskcore
    >>> data = {"sex": list("ffmmm"), "age": list("12333")}
    >>> result = riskcore.check(data, ["sex", "age"], k=2, max_rate=0.7)
    >>> result
    <Checked: 5 records, 1 of 2 rules broken>
    >>> result.passed, result.rules[0].found, result.rules[0].records
    (False, 1, 2)
    >>> print(result.text())
      rule                    keys       limit  found  records failing  cells failing
      k-anonymity             sex x age  2      1                    2              2  FAILED
      re-identification rate  sex x age  0.7    0.6                  -              -  passed
      FAILED: 1 of 2 rules broken (5 records checked).
    """  # noqa: E501

    records: int
    rules: tuple[Rule, ...]

    @property
    def broken(self) -> tuple[Rule, ...]:
        """The rules that are broken."""
        return tuple(rule for rule in self.rules if not rule.passed)

    @property
    def passed(self) -> bool:
        """Whether all rules are kept."""
        return not self.broken

    @property
    def verdict(self) -> str:
        """Whether the file passes, in words."""
        count, of = len(self.broken), len(self.rules)
        rules, records = counted(of, "rule"), counted(self.records, "record")
        if not count:
            return f"Passed: {of} of {rules} kept ({records} checked)."
        return f"FAILED: {count} of {rules} broken ({records} checked)."

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON.

        Returns
        -------
        dict
            "passed", "records" and "rules", a list with a dict of the attributes of
            each `Rule`.

        Examples
        --------
        >>> check({"age": [31, 31, 47]}, ["age"], k=2).to_dict()["rules"][0]["found"]
        1
        """
        rules = [
            {
                **asdict(one),
                "keys": [str(name) for name in one.keys],
                "sensitive": None if one.sensitive is None else str(one.sensitive),
            }
            for one in self.rules
        ]
        return {"passed": self.passed, "records": self.records, "rules": rules}

    def text(self) -> str:
        """Return a table of the rules, and the verdict.

        Returns
        -------
        str
            A line for each rule.
        """
        lines = aligned(self._rows(), _SIDES)
        return "\n".join([*lines, f"  {self.verdict}"])

    def _sheet(self) -> Sheet:
        """Return the result as facts and a table."""
        facts = [("records", f"{self.records:,}")]
        rules = Part("Rules", rows=self._rows(), sides=_SIDES)
        return Sheet("Check", facts, [rules], self.verdict)

    def _rows(self) -> list[tuple[str, ...]]:
        head = (
            "rule",
            "keys",
            "limit",
            "found",
            "records failing",
            "cells failing",
            "",
        )
        return [head, *map(_line, self.rules)]

    def __repr__(self) -> str:
        found = f"{len(self.broken)} of {counted(len(self.rules), 'rule')} broken"
        return f"<Checked: {counted(self.records, 'record')}, {found}>"


def _line(rule: Rule) -> tuple[str, ...]:
    return (
        rule.title,
        rule.of,
        _number(rule.asked),
        _number(rule.found),
        "-" if rule.records is None else f"{rule.records:,}",
        "-" if rule.cells is None else f"{rule.cells:,}",
        "passed" if rule.passed else "FAILED",
    )


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


@takes(CheckSettings)
def check(
    data: Any,
    keys: Iterable[Any],
    weight: Hashable | None = None,
    *,
    reading: Reading | None = None,
    progress: Lines | None = None,
    **settings: Unpack[CheckSettings],
) -> Checked:
    """Check whether a file keeps the rules of a release.

    Parameters
    ----------
    data : frame, mapping, path or data on an engine
        Records, one per row, as for `assess`.
    keys : iterable of column names, or of lists of column names
        The key variables; several lists for several intruders, as for `protect`.
    weight : column name, optional
        As for `assess`.
    k : int or mapping of sets of keys to int, optional
        Smallest sample frequency allowed for a record, as for `protect`.
    max_risk : float, optional
        Largest individual risk allowed for a record, in [0, 1].
    max_rate : float, optional
        Largest re-identification rate allowed, the expected re-identifications as a
        share of the records, in [0, 1].
    min_population : float, optional
        Smallest population allowed for an area, by the sum of the weights.
    area : iterable of column names, optional
        Columns whose combinations of values are the areas; needed with
        ``min_population``.
    sensitive : iterable of column names, optional
        Sensitive variables; needed with ``l`` and ``t``.
    l, kind, t : optional
        Smallest l-diversity allowed for a cell, its definition, and the largest
        t-closeness allowed, for each sensitive variable; see `riskcore.diversity`. A
        cell without any counted value breaks these rules.
    ordered, hierarchies, missing_sensitive : optional
        As for `riskcore.diversity`.
    subsets, strata : optional
        As for `protect`.
    method, missing, alpha : optional
        As for `assess`.
    reading : Reading, optional
        How to read the file, if ``data`` is a path.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Checked
        The rules, checked for each set of keys; ``passed`` is True if all are kept.

    Warns
    -----
    AreasUnknown
        If the area of some records is missing: they are in no area, and their people
        are not counted in any area.

    Raises
    ------
    KeyError, TypeError, ValueError, OSError
        As `assess`; ValueError also if no rule is given, a limit is invalid, or the
        area of all records is missing.

    Examples
    --------
    >>> data = {"county": list("AAB"), "age": [31, 31, 47], "w": [15e3, 9e3, 2e4]}
    >>> check(data, ["age"], "w", min_population=20_000, area=["county"]).passed
    True
    >>> check(data, ["age"], "w", k=2).rules[0].cells
    1
    """
    say = progress or silent
    asked = complete(CheckSettings, settings)
    l, t = asked["l"], asked["t"]  # noqa: E741
    max_risk = _limit("max_risk", asked["max_risk"])
    max_rate = _limit("max_rate", asked["max_rate"])
    least = _limit("min_population", asked["min_population"])
    goals = KeyGoals.of(key_sets(keys), asked["k"], asked["subsets"], asked["strata"])
    sensitive = _sensitive(asked["sensitive"], l, t)
    _refuse_no_rule(goals, [max_risk, max_rate, least, l, t])
    areas = _areas(asked["area"], least)
    check_missing(asked["missing"], asked["alpha"])
    source = Source.of(data, reading)
    weight = source.weight if weight is None else weight
    sets = (*goals.keys, *([areas] if areas else []))
    for names in sets:
        check_roles(names, weight, None)
    needed = list(dict.fromkeys(name for one in (*sets, sensitive) for name in one))
    if source.path is not None:
        say(f"reading {source.path}")
    held = None if sensitive else source.in_batches(sets, weight)
    if held is None:
        held, _ = source.read([*needed, weight], weight)
    seen = _Seen(
        held, needed, weight, asked["method"], asked["missing"], asked["alpha"]
    )
    rules: list[Rule] = []
    for names in goals.keys if sensitive else ():
        say(f"measuring sensitive variables by {' x '.join(map(str, names))}")
        how = SensitiveRules.of(
            names,
            list(sensitive),
            asked["missing_sensitive"],
            3,
            list(asked["ordered"]),
            asked["hierarchies"],
        )
        for variable in seen.diversity(names, how).variables:
            rules += _of_sensitive(variable, names, l, asked["kind"], t)
    of_risk = max_risk is not None or max_rate is not None
    for names, goal in zip(goals.keys, goals.k, strict=True):
        if goal is None and not of_risk:
            continue
        say(f"counting by {' x '.join(map(str, names))}")
        found = seen.assessed(names, max_risk) if of_risk else None
        if goal is not None:
            cells = seen.cells(names) if found is None else found.cells
            rules.append(_of_k(cells, names, goal))
        if found is not None:
            rules += _of_risk(found, names, max_risk, max_rate)
    if least is not None:
        say(f"counting by {' x '.join(map(str, areas))}")
        rules.append(_of_areas(seen.cells_of_areas(areas), areas, least))
    return Checked(seen.records, tuple(rules))


def _limit(name: str, value: float | None) -> float | None:
    """Return a limit as a float."""
    return None if value is None else arguments.number(name, value)


class _Seen:
    """The file to check: its columns are coded once, and its cells counted once."""

    def __init__(
        self,
        held: Any,
        columns: Sequence[Hashable],
        weight: Hashable | None,
        method: Method,
        missing: str,
        alpha: float,
    ) -> None:
        self.held = held
        # Of data on an engine only what is counted there is known.
        self.coded: CodedRecords | None = None
        if engine_of(held) is None:
            self.coded = CodedRecords.of(held, columns, weight)
        self.weight, self.method = weight, method
        self.missing, self.alpha = missing, alpha
        self.records = 0
        self.counted: dict[tuple[Hashable, ...], Cells] = {}

    def diversity(self, keys: tuple[Hashable, ...], how: SensitiveRules) -> Diversity:
        """Measure the sensitive variables by a set of keys."""
        coded = self.coded or CodedRecords.of(self.held, [*keys, *how.names])
        found = diversity_of(self.held, coded, keys, how, self.missing, self.alpha)
        self.counted[keys], self.records = found.cells, found.cells.n
        return found

    def cells(self, keys: tuple[Hashable, ...]) -> Cells:
        """Return the cells of a set of keys."""
        if self.coded is None:
            return self.assessed(keys, None).cells
        if keys not in self.counted:
            found = tabulate_coded(self.coded, keys, self.missing, self.alpha)
            self.counted[keys] = found
        self.records = self.counted[keys].n
        return self.counted[keys]

    def assessed(self, keys: tuple[Hashable, ...], above: float | None) -> Assessment:
        """Return the risks by a set of keys; on an engine its cells stay there.

        ``above`` is the risk above which cells are counted.
        """
        engine = engine_of(self.held)
        found: Assessment
        if engine is not None and self.missing not in WILDCARDS:
            counts = engine.count(keys, self.weight)
            found = HeldAssessment.of(
                self.held, counts, self.method, self.missing, above=above
            )
        else:
            coded = self.coded or CodedRecords.of(self.held, keys, self.weight)
            found = assess_coded(
                self.held,
                coded,
                keys,
                WEIGHTS,
                self.method,
                self.missing,
                self.alpha,
            )
        self.records = found.cells.n
        return found

    def cells_of_areas(self, areas: Sequence[Hashable]) -> Cells:
        """Return the cells of areas; each record is counted in one area only."""
        rule = "refuse" if self.missing == "refuse" else "category"
        if self.coded is None:
            found = tabulate(self.held, areas, self.weight, rule)
        else:
            found = tabulate_coded(self.coded, areas, rule, 1.0)
        self.records = found.n
        return found


def _areas(
    area: Iterable[Hashable] | None, min_population: float | None
) -> tuple[Hashable, ...]:
    if (area is None) != (min_population is None):
        raise ValueError("min_population and area: give both, or neither")
    if area is None:
        return ()
    names = tuple(arguments.names("area", area))
    if not names:
        raise ValueError("area is empty: name the columns that define the areas")
    return names


def _sensitive(
    sensitive: Iterable[Hashable] | None,
    l: float | None,  # noqa: E741
    t: float | None,
) -> tuple[Hashable, ...]:
    asked = l is not None or t is not None
    if asked != (sensitive is not None):
        raise ValueError("sensitive and l or t: give both, or neither")
    return () if sensitive is None else tuple(arguments.names("sensitive", sensitive))


def _refuse_no_rule(goals: KeyGoals, bounds: Iterable[float | None]) -> None:
    if not any(goals.k) and all(one is None for one in bounds):
        raise ValueError(
            "no rule: give a limit (k, max_risk, max_rate, min_population, l or t); a "
            "check without rules would always pass"
        )


def _of_sensitive(
    variable: SensitiveVariable,
    keys: tuple[Hashable, ...],
    l: float | None,  # noqa: E741
    kind: str,
    t: float | None,
) -> Iterator[Rule]:
    """Yield the rules on one sensitive variable for a set of keys."""
    filled = ~variable.empty
    name, sizes = variable.name, variable.cells.records
    if l is not None:
        # A cell without a counted value has no l.
        least = variable.l_of(kind)[filled].min().item() if filled.all() else 0
        fails = variable.fails(l=l, kind=kind)
        counts = int(sizes[fails].sum()), int(np.count_nonzero(fails))
        yield Rule("l", keys, name, l, least, *counts, not fails.any())
    if t is not None:
        most = float(variable.closeness[filled].max()) if filled.any() else 1.0
        fails = variable.fails(t=t)
        counts = int(sizes[fails].sum()), int(np.count_nonzero(fails))
        yield Rule("t", keys, name, t, most, *counts, not fails.any())


def _of_k(cells: Cells, keys: tuple[Hashable, ...], k: int) -> Rule:
    """Return the rule of k-anonymity for a set of keys."""
    below, smallest = cells.below(k), cells.k_anonymity
    passed = not below.records
    return Rule("k", keys, None, k, smallest, below.records, below.cells, passed)


def _of_risk(
    found: Assessment,
    keys: tuple[Hashable, ...],
    max_risk: float | None,
    max_rate: float | None,
) -> Iterator[Rule]:
    """Yield the rules on risks for a set of keys."""
    if max_risk is not None:
        records = found.unsafe_count(math.nextafter(max_risk, math.inf))
        if isinstance(found, HeldAssessment):
            cells = found.cells_above
        else:
            cells = int(np.count_nonzero(found.cell_risk > max_risk))
        passed = not records
        at = found.max_risk
        yield Rule("max_risk", keys, None, max_risk, at, records, cells, passed)
    if max_rate is not None:
        rate = found.reidentification_rate
        passed = rate <= max_rate
        yield Rule("max_rate", keys, None, max_rate, rate, None, None, passed)


def _of_areas(cells: Cells, areas: tuple[Hashable, ...], least: float) -> Rule:
    """Return the rule on areas; a record whose area is missing is in no area."""
    known = np.logical_and.reduce([cells.present(i) for i in range(len(areas))])
    named = " x ".join(map(str, areas))
    if not known.any():
        raise ValueError(
            f"area {named}: missing in all {counted(cells.n, 'record')}: there are no "
            "areas, and a check without areas would always pass"
        )
    unknown = cells.n - int(cells.records[known].sum())
    if unknown:
        warn(
            f"area {named}: missing in {unknown:,} of {counted(cells.n, 'record')}, "
            "which are in no area and are not checked for min_population",
            AreasUnknown,
        )
    people = cells.weight_sum
    small = known & (people < least)
    smallest = float(people[known].min())
    return Rule(
        "min_population",
        areas,
        None,
        least,
        smallest,
        int(cells.records[small].sum()),
        int(np.count_nonzero(small)),
        not small.any(),
    )
