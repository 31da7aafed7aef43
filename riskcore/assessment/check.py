"""Check a file against the rules of a release, for pipelines.

`check` counts and compares but does not change the file; `riskcore.protect` makes a
file that passes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np

from riskcore.assessment.assess import (
    Counting,
    assess_coded,
    assess_households,
    check_population,
    check_roles,
    held_assessment,
)
from riskcore.assessment.diversity import (
    Diversity,
    SensitiveRules,
    SensitiveVariable,
    diversity_of,
)
from riskcore.assessment.goals import Goal, KeyGoals, key_sets
from riskcore.assessment.recorded import Recorded
from riskcore.assessment.result import Assessment, HeldAssessment
from riskcore.assessment.settings_table import (
    BOTH,
    WEIGHTS,
    CheckSettings,
    Level,
    Method,
)
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

# Of the table of rules, as in `aligned`.
_SIDES = "<<<<>><"


# What the verdict says of a file that was written although it was not safe.
_UNSAFE = " The record says that it was written unsafe, or with open leaks."
_SAME = {
    True: "The file is the one that the record names.",
    False: "The file is NOT the one that the record names: it was changed or replaced.",
}


class AreasUnknown(UserWarning):
    """The area of some records is missing, so these records are in no area."""


@dataclass(frozen=True, slots=True, repr=False)
class Checked(OnASheet):
    """The result of `check`: the rules, and whether all are kept.

    Attributes
    ----------
    records : int
        Number of records; with ``level="household"``, of households.
    rules : tuple of Goal
    same_file : bool or None
        Whether the file is the one that the record names, by its SHA-256; None without
        a record, or for data in memory.
    level : {"record", "household"}
        What was counted.
    notes : tuple of str
        For each set of keys, how many records have missing keys, which match any value,
        and which rules are broken by the model beside the weights.
    recorded_safe : bool or None
        Whether the record says that the file was safe when it was written, with no leak
        open; None without a record.

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
    rules: tuple[Goal, ...]
    same_file: bool | None = None
    level: Level = "record"
    notes: tuple[str, ...] = ()
    recorded_safe: bool | None = None

    @property
    def broken(self) -> tuple[Goal, ...]:
        """The rules that are broken."""
        return tuple(rule for rule in self.rules if not rule.passed)

    @property
    def passed(self) -> bool:
        """Whether all rules are kept, by the safe file that a record names."""
        other = self.same_file is False or self.recorded_safe is False
        return not self.broken and not other

    @property
    def notes_and_verdict(self) -> tuple[str, ...]:
        """The sentences below the table of rules."""
        return (*self.notes, self.verdict)

    @property
    def verdict(self) -> str:
        """Whether the file passes, in words."""
        count, of = len(self.broken), len(self.rules)
        rules, checked = counted(of, "rule"), counted(self.records, self.level)
        found = f"{of - count} of {rules} kept"
        if count:
            found = f"{count} of {rules} broken"
        same = "" if self.same_file is None else f" {_SAME[self.same_file]}"
        word = "Passed" if self.passed else "FAILED"
        unsafe = _UNSAFE if self.recorded_safe is False else ""
        return f"{word}: {found} ({checked} checked).{same}{unsafe}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data for JSON.

        Returns
        -------
        dict
            "passed", "records", "level", "same_file", "recorded_safe", "notes" and
            "rules", a list with a dict of the attributes of each `Goal`.

        Examples
        --------
        >>> check({"age": [31, 31, 47]}, ["age"], k=2).to_dict()["rules"][0]["found"]
        1
        """
        return {
            "passed": self.passed,
            "records": self.records,
            "level": self.level,
            "same_file": self.same_file,
            "recorded_safe": self.recorded_safe,
            "notes": list(self.notes),
            "rules": [one.to_dict() for one in self.rules],
        }

    def text(self) -> str:
        """Return a table of the rules, and the verdict.

        Returns
        -------
        str
            A line for each rule.
        """
        lines = aligned(self._rows(), _SIDES)
        return "\n".join([*lines, *(f"  {note}" for note in self.notes_and_verdict)])

    def _sheet(self) -> Sheet:
        """Return the result as facts and a table."""
        facts = [(f"{self.level}s", f"{self.records:,}")]
        rules = Part("Rules", rows=self._rows(), sides=_SIDES)
        facts += [("missing keys", note) for note in self.notes]
        return Sheet("Check", facts, [rules], self.verdict)

    def _rows(self) -> list[tuple[str, ...]]:
        head = (
            "rule",
            "keys",
            "limit",
            "found",
            f"{self.level}s failing",
            "cells failing",
            "",
        )
        return [head, *map(_line, self.rules)]

    def __repr__(self) -> str:
        found = f"{len(self.broken)} of {counted(len(self.rules), 'rule')} broken"
        return f"<Checked: {counted(self.records, 'record')}, {found}>"


def _line(rule: Goal) -> tuple[str, ...]:
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
    if math.isnan(value):
        return "unknown"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


@takes(CheckSettings)
def check(
    data: Any,
    keys: Iterable[Any] | None = None,
    weight: Hashable | None = None,
    household: Hashable | None = None,
    *,
    record: str | os.PathLike[str] | Recorded | None = None,
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
        Needed unless a record is given.
    weight : column name, optional
        As for `assess`.
    household : column name, optional
        As for `assess`; needed with rules on households and ``level="household"``.
    level : {"record", "household"}
        What to count, as for `assess`; with "household" the rules are on k,
        ``max_risk`` and ``max_rate``, of households.
    k : int or mapping of sets of keys to int, optional
        Smallest sample frequency allowed for a record, as for `protect`.
    max_risk : float, optional
        Largest individual risk allowed for a record, in [0, 1].
    max_rate : float, optional
        Largest re-identification rate allowed, the expected re-identifications as a
        share of the records, in [0, 1].
    max_household_risk, max_household_rate : float, optional
        The same for the risk of households: the largest risk of a household, and the
        largest household re-identification rate, in [0, 1].
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
    population : {"auto", "weights", "latent-class", "log-linear"}, CellModel or frame
        What determines the population frequency, as for `protect`; a model is fitted to
        this file. By "weights", ``notes`` say how many records the model adds.
    method, missing, alpha : optional
        As for `assess`.
    record : path, optional
        The private record that `Protected.write` wrote of the file. It states the keys,
        the weight, the household, the level, the goals and how records are counted, so
        these arguments must be left out; others add rules. No risk may reach the
        record's threshold, and a rate is a rule on the safe file. The file's SHA-256 is
        compared with the record's.
    reading : Reading, optional
        How to read the file, if ``data`` is a path. By default as the record says.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Checked
        The rules, checked for each set of keys; ``passed`` is True if all are kept and
        the file is not another than the record names.

    Warns
    -----
    AreasUnknown
        If the area of some records is missing: they are in no area, and their people
        are not counted in any area.

    Raises
    ------
    KeyError, TypeError, ValueError, OSError
        As `assess`; ValueError also if no rule is given, a limit is invalid, the area
        of all records is missing, an argument is given that the record states, the
        record cannot be read, or its risks come from a model of the population.

    Examples
    --------
    >>> data = {"county": list("AAB"), "age": [31, 31, 47], "w": [15e3, 9e3, 2e4]}
    >>> check(data, ["age"], "w", min_population=20_000, area=["county"]).passed
    True
    >>> check(data, ["age"], "w", k=2).rules[0].cells
    1
    """
    say = progress or silent
    request = _Request.of(keys, weight, household, record, settings)
    recorded = request.recorded
    if recorded is not None and reading is None and isinstance(data, str | os.PathLike):
        reading = recorded.reading_of(data)
    source = Source.of(data, reading)
    if recorded is None and request.weight is None:
        request = request._replace(weight=source.weight)
    for names in request.sets:
        check_roles(names, request.weight, request.household)
    path = source.path
    same = None
    if path is not None and recorded is not None and path.is_file():
        same = recorded.is_of(path)
    if path is not None:
        say(f"reading {path}")
    seen = _Seen.of(source, request)
    rules = [*_rules(seen, request, say)]
    notes = [_note(n, keys, request.goals) for keys, n in seen.incomplete.items()]
    notes += seen.remarks
    safe = None if request.recorded is None else request.recorded.safe
    level = request.how["level"]
    return Checked(seen.records, tuple(rules), same, level, tuple(notes), safe)


def _note(count: int, keys: tuple[Hashable, ...], goals: KeyGoals) -> str:
    """Return how many records have missing keys, by name if there are several sets."""
    verb = "has" if count == 1 else "have"
    of = "" if len(goals.keys) == 1 else f" of {' x '.join(map(str, keys))}"
    return printable(
        f"{counted(count, 'record')} {verb} missing keys{of}; they match any value."
    )


class _Limits(NamedTuple):
    """The limits on risks: thresholds that no risk may reach, and largest values."""

    threshold: float | None
    max_risk: float | None
    max_rate: float | None
    household_threshold: float | None
    max_household_risk: float | None
    max_household_rate: float | None

    @property
    def of_households(self) -> bool:
        """Whether there are rules on household risks."""
        return any(one is not None for one in self[3:])

    def __bool__(self) -> bool:
        return any(one is not None for one in self)


class _Request(NamedTuple):
    """What is asked of a check, by its arguments or by a record."""

    recorded: Recorded | None
    weight: Hashable | None
    household: Hashable | None
    goals: KeyGoals
    limits: _Limits
    min_population: float | None
    areas: tuple[Hashable, ...]
    sensitive: tuple[Hashable, ...]
    how: Mapping[str, Any]  # all settings of `check`, by name

    @classmethod
    def of(
        cls,
        keys: Iterable[Any] | None,
        weight: Hashable | None,
        household: Hashable | None,
        record: str | os.PathLike[str] | Recorded | None,
        settings: CheckSettings,
    ) -> _Request:
        """Return what is asked; refuse what contradicts itself or the record."""
        recorded = record
        if recorded is not None and not isinstance(recorded, Recorded):
            recorded = Recorded.read(recorded)
        if recorded is not None:
            roles = {"keys": keys, "weight": weight, "household": household}
            given = {name: one for name, one in roles.items() if one is not None}
            recorded.refuse_other({**given, **settings})
            recorded.refuse_model()
            weight, household = recorded.weight, recorded.household
            counting = {**recorded.how, "population": recorded.population}
            settings = {**settings, **counting}  # type: ignore[typeddict-item]
        how: Mapping[str, Any] = complete(CheckSettings, settings)
        check_missing(how["missing"], how["alpha"])
        check_population(how["population"], how["method"])
        limits = _limits(recorded, how)
        least = _limit("min_population", how["min_population"])
        sensitive = _sensitive(how["sensitive"], how["l"], how["t"])
        goals = _goals(recorded, keys, how)
        if not any(goals.k) and not limits and least is None and not sensitive:
            raise ValueError(
                "no rule: give a limit (k, max_risk, max_rate, max_household_risk, "
                "max_household_rate, min_population, l or t); a check without rules "
                "would always pass"
            )
        household = _household(household, limits, how, is_recorded=bool(recorded))
        areas = _areas(how["area"], least)
        return cls(
            recorded, weight, household, goals, limits, least, areas, sensitive, how
        )

    @property
    def sets(self) -> tuple[tuple[Hashable, ...], ...]:
        """The sets of columns that are counted together."""
        return (*self.goals.keys, *([self.areas] if self.areas else []))


def _goals(
    recorded: Recorded | None, keys: Iterable[Any] | None, how: Mapping[str, Any]
) -> KeyGoals:
    """Return the sets of keys with their k."""
    if recorded is None:
        if keys is None:
            raise ValueError("give keys, or the record of a protection")
        return KeyGoals.of(key_sets(keys), how["k"], how["subsets"], how["strata"])
    goals = recorded.goals
    if how["k"] is None:
        return goals
    return replace(goals, k=KeyGoals.of(goals.keys, how["k"], None, None).k)


def _limits(recorded: Recorded | None, how: Mapping[str, Any]) -> _Limits:
    """Return the limits on risks: those that are asked for, and those of a record."""
    asked = {name: _limit(name, how[name]) for name in _Limits._fields if name in how}
    if recorded is None:
        return _Limits(threshold=None, household_threshold=None, **asked)
    if recorded.rate is not None:
        asked["max_rate"] = recorded.rate
    if recorded.household_rate is not None:
        asked["max_household_rate"] = recorded.household_rate
    return _Limits(
        threshold=recorded.threshold,
        household_threshold=recorded.household_threshold,
        **asked,
    )


def _household(
    household: Hashable | None,
    limits: _Limits,
    how: Mapping[str, Any],
    *,
    is_recorded: bool,
) -> Hashable | None:
    """Return the column of households if a rule needs it."""
    level = how["level"] == "household"
    if level and (limits.of_households or how["sensitive"] or how["area"]):
        raise ValueError(
            "level='household': each household counts as a record; give k, max_risk or "
            "max_rate, and check other rules with level='record'"
        )
    if household is None and (level or limits.of_households):
        what = "level='household'" if level else "a rule on household risks"
        raise ValueError(f"{what} needs the household column")
    if level or limits.of_households:
        return household
    if household is not None and not is_recorded:
        raise ValueError(
            f"household={household!r}: no rule is on households; give "
            "max_household_risk, max_household_rate or level='household'"
        )
    return None


def _limit(name: str, value: float | None) -> float | None:
    """Return a limit as a float."""
    return None if value is None else arguments.number(name, value)


def _rules(seen: _Seen, request: _Request, say: Lines) -> Iterator[Goal]:
    """Yield the rules, each checked."""
    how, goals, limits = request.how, request.goals, request.limits
    for names in goals.keys if request.sensitive else ():
        say(f"measuring sensitive variables by {' x '.join(map(str, names))}")
        of = SensitiveRules.of(
            names,
            list(request.sensitive),
            how["missing_sensitive"],
            3,
            list(how["ordered"]),
            how["hierarchies"],
        )
        for variable in seen.diversity(names, of).variables:
            yield from _of_sensitive(variable, names, how["l"], how["kind"], how["t"])
    for names, k in zip(goals.keys, goals.k, strict=True):
        if k is None and not limits:
            continue
        say(f"counting by {' x '.join(map(str, names))}")
        found = seen.assessed(names, limits) if limits else None
        if k is not None:
            cells = seen.cells(names) if found is None else found.cells
            yield _of_k(cells, names, k)
        if found is not None:
            yield from _of_risk(found, names, limits)
            seen.remarks += _of_model(found, names, limits)
    if request.min_population is not None:
        say(f"counting by {' x '.join(map(str, request.areas))}")
        cells = seen.cells_of_areas(request.areas)
        yield _of_areas(cells, request.areas, request.min_population)


class _Seen:
    """The file to check: its columns are coded once, and its cells counted once."""

    def __init__(
        self, held: Any, columns: Sequence[Hashable], request: _Request
    ) -> None:
        how = request.how
        self.held, self.weight = held, request.weight
        # Of data on an engine only what is counted there is known.
        self.coded: CodedRecords | None = None
        if engine_of(held) is None or request.household is not None:
            self.coded = CodedRecords.of(
                held, columns, request.weight, request.household
            )
        self.level: Level = how["level"]
        self.population = BOTH if how["population"] == WEIGHTS else how["population"]
        self.method: Method = how["method"]
        self.missing: str = how["missing"]
        self.alpha: float = how["alpha"]
        self.records = 0
        self.counted: dict[tuple[Hashable, ...], Cells] = {}
        # How many records have missing keys that match any value, by set of keys.
        self.incomplete: dict[tuple[Hashable, ...], int] = {}
        self.remarks: list[str] = []

    @classmethod
    def of(cls, source: Source, request: _Request) -> _Seen:
        """Read the columns that are needed."""
        sets, weight, household = request.sets, request.weight, request.household
        needed = list(
            dict.fromkeys(name for one in (*sets, request.sensitive) for name in one)
        )
        held = None
        if not request.sensitive and household is None:
            held = source.in_batches(sets, weight)
        if held is None:
            held, _ = source.read([*needed, weight, household], weight)
        return cls(held, needed, request)

    def diversity(self, keys: tuple[Hashable, ...], how: SensitiveRules) -> Diversity:
        """Measure the sensitive variables by a set of keys."""
        coded = self.coded or CodedRecords.of(self.held, [*keys, *how.names])
        found = diversity_of(self.held, coded, keys, how, self.missing, self.alpha)
        self.counted[keys], self.records = found.cells, found.cells.n
        self._note(keys, found.cells)
        return found

    def cells(self, keys: tuple[Hashable, ...]) -> Cells:
        """Return the cells of a set of keys."""
        if self.coded is None or self.level == "household":
            return self.assessed(keys, None).cells
        if keys not in self.counted:
            found = tabulate_coded(self.coded, keys, self.missing, self.alpha)
            self.counted[keys] = found
        self.records = self.counted[keys].n
        self._note(keys, self.counted[keys])
        return self.counted[keys]

    def assessed(
        self, keys: tuple[Hashable, ...], limits: _Limits | None
    ) -> Assessment:
        """Return the risks by a set of keys; on an engine its cells stay there.

        Cells above the limits are counted there, too.
        """
        engine = engine_of(self.held)
        found: Assessment
        coded = self.coded
        population = WEIGHTS if limits is None else self.population
        how = Counting(population, self.method, self.missing, self.alpha)
        held: Assessment | None = None
        if engine is not None and coded is None:
            counts = engine.count(keys, self.weight)
            above = None if limits is None else limits.max_risk
            held = held_assessment(self.held, counts, how, above)
            coded = CodedRecords.of_counted(counts) if held is None else None
        if coded is None:
            assert held is not None
            found = held
        elif self.level == "household":
            found = assess_households(self.held, coded, keys, self.weight, how)
        else:
            found = assess_coded(self.held, coded, keys, *how)
        self.records = found.cells.n
        self._note(keys, found.cells)
        return found

    def _note(self, keys: tuple[Hashable, ...], cells: Cells) -> None:
        """Note how many records have missing keys that match any value."""
        if cells.incomplete:
            self.incomplete[keys] = cells.incomplete

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


def _of_sensitive(
    variable: SensitiveVariable,
    keys: tuple[Hashable, ...],
    l: float | None,  # noqa: E741
    kind: str,
    t: float | None,
) -> Iterator[Goal]:
    """Yield the rules on one sensitive variable for a set of keys."""
    filled = ~variable.empty
    name, sizes = variable.name, variable.cells.records
    if l is not None:
        # A cell without a counted value has no l.
        least = variable.l_of(kind)[filled].min().item() if filled.all() else 0
        fails = variable.fails(l=l, kind=kind)
        counts = int(sizes[fails].sum()), int(np.count_nonzero(fails))
        yield Goal("l", keys, name, l, least, *counts, not fails.any())
    if t is not None:
        most = float(variable.closeness[filled].max()) if filled.any() else 1.0
        fails = variable.fails(t=t)
        counts = int(sizes[fails].sum()), int(np.count_nonzero(fails))
        yield Goal("t", keys, name, t, most, *counts, not fails.any())


def _of_k(cells: Cells, keys: tuple[Hashable, ...], k: int) -> Goal:
    """Return the rule of k-anonymity for a set of keys."""
    below, smallest = cells.below(k), cells.k_anonymity
    passed = not below.records
    return Goal("k", keys, None, k, smallest, below.records, below.cells, passed)


def _of_risk(
    found: Assessment, keys: tuple[Hashable, ...], limits: _Limits
) -> Iterator[Goal]:
    """Yield the rules on risks for a set of keys."""
    for name, limit in zip(limits._fields, limits, strict=True):
        if limit is None:
            continue
        of_households = "household" in name
        if name.endswith("rate"):
            rate = (
                found.household_reidentification_rate
                if of_households
                else found.reidentification_rate
            )
            yield Goal(name, keys, None, limit, rate, None, None, rate <= limit)
            continue
        # A risk may equal a largest value, but not reach a threshold.
        unsafe = limit if name.endswith("threshold") else math.nextafter(limit, 2)
        if of_households:
            assert found.households is not None
            most = float(found.households.risk.max())
            records, cells = int(found.unsafe_households(unsafe).sum()), None
        else:
            most = found.max_risk
            records, cells = found.unsafe_count(unsafe), _cells_at(found, name, unsafe)
        yield Goal(name, keys, None, limit, most, records, cells, not records)


def _of_model(
    found: Assessment, keys: tuple[Hashable, ...], limits: _Limits
) -> Iterator[str]:
    """Yield which rules on risks are broken by the model beside the weights."""
    if found.beside is None:
        return
    if found.beside.failure:
        yield (
            "The weights may say far too little, and the latent-class model has no "
            f"estimate ({found.beside.failure})."
        )
    if found.by_model is None:
        return
    rules = _of_risk(found, keys, limits), _of_risk(found.by_model, keys, limits)
    for mine, its in zip(*rules, strict=True):
        if mine.passed and not its.passed:
            yield (
                f"By the latent-class model, the one to believe, the {its.title} of "
                f"{its.of} is {its.found:.6g}, which breaks the rule."
            )


def _cells_at(found: Assessment, name: str, unsafe: float) -> int | None:
    """Return how many cells break a rule on risks; None if an engine did not count."""
    if isinstance(found, HeldAssessment):
        return found.cells_above if name == "max_risk" else None
    return int(np.count_nonzero(found.cell_risk >= unsafe))


def _of_areas(cells: Cells, areas: tuple[Hashable, ...], least: float) -> Goal:
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
    return Goal(
        "min_population",
        areas,
        None,
        least,
        smallest,
        int(cells.records[small].sum()),
        int(np.count_nonzero(small)),
        not small.any(),
    )
