"""Check a released file against the settings it was made by, or against limits.

`check` counts and compares but does not change the file; `riskcore.protect` makes a
file that passes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Unpack

from riskcore.assessment.assess import (
    Counting,
    assess_coded,
    assess_households,
    check_population,
    check_roles,
    held_assessment,
)
from riskcore.assessment.assess_settings import BOTH, WEIGHTS, CheckSettings
from riskcore.assessment.assessment import Assessment
from riskcore.assessment.diversity import SensitiveRules, diversity_of
from riskcore.assessment.goals import Goal, KeyGoals, Names, key_sets, l_parts
from riskcore.assessment.released import ReleasedAssessment
from riskcore.common import arguments
from riskcore.common.progress import Lines, silent
from riskcore.common.settings import complete, takes
from riskcore.common.words import counted, listed, printable
from riskcore.data.cells import Cells, check_missing, tabulate, tabulate_coded
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import Records
from riskcore.data.engines.registry import engine_of
from riskcore.data.files import formats
from riskcore.data.files.digest import digest
from riskcore.data.files.reading import Reading, beside_persons, with_household
from riskcore.data.missing_by_design import knowing_designs
from riskcore.data.source import Source, as_in_memory
from riskcore.disclosure.checked import Checked
from riskcore.disclosure.leaks import Leak
from riskcore.disclosure.two_releases import TwoReleases
from riskcore.protection.against_original import AgainstOriginal, examine_released
from riskcore.protection.release.goals import (
    goal_of_areas,
    goal_of_figure,
    goal_of_k,
    goal_of_values,
    goals_beside,
    goals_of_risk,
    goals_of_sensitive,
    said_by_model,
)
from riskcore.protection.release.record import (
    Record,
    is_input_of,
    read_record,
    reading_of,
)
from riskcore.protection.settings.settings import Settings

# The limits on risks, and the figure of a record that answers each.
_FIGURES = {
    "k": "k_anonymity",
    "threshold": "max_risk",
    "max_risk": "max_risk",
    "max_rate": "reidentification_rate",
    "household_threshold": "max_household_risk",
    "max_household_risk": "max_household_risk",
    "max_household_rate": "household_reidentification_rate",
}
_LIMITS = [name for name in _FIGURES if name != "k"]
# How settings say that records are counted.
_HOW = ("level", "method", "missing", "population", "sampling_fraction")
_OF_AUDIT = (
    "max_right_claims",
    "max_claim_excess",
    "max_guess_excess",
    "max_copy_excess",
)


@takes(CheckSettings)
def check(
    data: Any,
    keys: Iterable[Any] | None = None,
    weight: Hashable | None = None,
    household: Hashable | None = None,
    *,
    record: str | os.PathLike[str] | None = None,
    original: Any = None,
    holdout: Any = None,
    earlier: Any = None,
    reading: Reading | None = None,
    original_reading: Reading | None = None,
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
    values : mapping of column names to str, optional
        The pattern, a regular expression, that each value of a column must match as a
        whole, such as ``{"YEAR": "[0-9]{4}"}``. Missing values match.
    sensitive : iterable of column names, optional
        Sensitive variables; needed with ``l`` and ``t``.
    l, t : optional
        Smallest l-diversity allowed for a cell, as 3 or as "entropy:3", and the largest
        t-closeness allowed, for each sensitive variable; see `riskcore.diversity`. A
        cell without any counted value breaks these rules.
    ordered, missing_sensitive : optional
        As for `riskcore.diversity`.
    subsets, strata : optional
        As for `protect`.
    method, missing, population, sampling_fraction : optional
        As for `assess`, but ``population`` is "auto" by default, the number to believe.
    max_right_claims, max_claim_excess, max_copy_excess : float, optional
        With ``original``: limits of what `riskcore.audit` finds, see `Audit.check`.
    target, max_guess_excess : optional
        With ``original``: columns that an intruder wants to learn, and the limit of
        the right guesses, see `Audit.check`.
    record : path, optional
        The private record that `Protected.write` wrote of the file. It states the keys,
        the weight, the household, the level, the goals and how records are counted, so
        these arguments must be left out; others add rules. No risk may reach the
        record's threshold, and a rate is a rule on the safe file. The file's SHA-256 is
        compared with the record's.
    original : frame, mapping or path, optional
        The records that the file was made from. Each pattern of keys in the file, in
        which a blank stands for any value, is counted among them, after the recodings
        and treatments of the record. By a record, the file is then examined as
        `Protected.write` does, unless it is exactly the file of the record: each of its
        records is paired with an original one that has the values which it keeps. If
        they do not pair, ``unknown`` says what is not judged.
    holdout : frame, mapping or path, optional
        People who were not in the original, as for `audit`.
    earlier : frame, mapping or path, optional
        With ``original``: an earlier release of the same records, see `audit`.
    reading, original_reading : Reading, optional
        How to read the files, if they are paths. By default as the record says, or the
        original as the file; the record of two files is of a ``household_file``, here
        that beside the safe file, and ``original_reading`` names the original one.
    progress : callable, optional
        Called with a line of text at each step.

    Returns
    -------
    Checked
        The rules, checked for each set of keys; ``passed`` is True if all are kept and
        the file is not another than the record names. A rule that cannot be judged is
        not kept: its ``passed`` is None, and a note says why.

    Warns
    -----
    AreasUnknown
        If the area of some records is missing: they are in no area, and their people
        are not counted in any area.

    Raises
    ------
    KeyError, TypeError, ValueError, OSError
        As `assess`; ValueError also if no rule is given, a limit is invalid, the area
        of all records is missing, an argument is given that the record states, or the
        record cannot be read.

    Notes
    -----
    Without the original, k is counted among the records of the file, where a blank
    matches any value: each record of the original that fits is among them, so that a
    file that breaks this rule breaks k, too. Risks are of the people of the original.
    Where a key is missing they are known only with the original, or from the record of
    exactly this file.

    Examples
    --------
    >>> data = {"county": list("AAB"), "age": [31, 31, 47], "w": [15e3, 9e3, 2e4]}
    >>> check(data, ["age"], "w", min_population=20_000, area=["county"]).passed
    True
    >>> check(data, ["age"], "w", k=2).rules[0].cells
    1
    """
    files = {"original": original, "holdout": holdout, "earlier": earlier}
    reading, household = with_household(reading, household)
    if record is not None:
        protection_record = read_record(arguments.file_path("record", record))
        roles = {"keys": keys, "weight": weight, "household": household}
        role_arguments = {
            name: value for name, value in roles.items() if value is not None
        }
        if reading is None:
            data = released_source(data, reading_of(protection_record, released=True))
        paths = any(isinstance(value, str | os.PathLike) for value in files.values())
        how = reading_of(protection_record)
        original_reading = original_reading or (how if paths else as_in_memory(how))
        request = Request.of_settings(
            protection_record.settings,
            {**role_arguments, **settings},
            record=protection_record,
        )
    else:
        request = Request.of_arguments(keys, weight, household, settings)
    if original_reading is None:
        others = Source.several({"file": data, **files}, reading)
        source = others.pop("file")
    else:
        source = Source.of(data, reading)
        others = Source.several(files, original_reading)
    return checked(source, request, progress or silent, **others)


def checked(
    source: Source,
    request: Request,
    say: Lines,
    *,
    original: Source | None = None,
    holdout: Source | None = None,
    earlier: Source | None = None,
) -> Checked:
    """Return the goals of a request, checked for a file; see `check`."""
    if request.record is None and request.settings is None:
        request = request.with_declared(original or source)
    for names in request.sets:
        check_roles(names, request.weight, request.household)
    against = None
    if original is not None:
        if source.path is not None:
            columns = Records.of(source.data).columns
            original = original.holding(original.numbers_beside(columns))
        if source.of_households and original.path and not original.of_households:
            raise ValueError(
                f"{original.path}: a file of persons without that of its households; "
                "give the file of the original households as household_file"
            )
        secret = None if request.record is None else request.record.secret
        made = request.settings_for(original)
        against = AgainstOriginal.of(original, made, secret, say)
        source = against.in_categories(source)
        earlier = earlier and against.in_categories(earlier, raw=True)
    else:
        _refuse_without_original(request, holdout, earlier)
    path = source.path
    same = None
    if path is not None and request.record is not None and path.is_file():
        same = [*map(digest, source.files)] == request.record.digests
    if path is not None:
        say(f"reading {path}")
    judged = _Judged(source, request, against, say, same=bool(same))
    rules = [*judged.goals()]
    if against is not None:
        rules += _of_audit(judged, against, holdout)
    state = None if request.record is None else request.record.state
    leaks: tuple[Leak, ...] = ()
    lacking: Names = ()
    unknown: tuple[str, ...] = ()
    if request.settings is not None and not same:
        leaks, lacking, unknown = examine_released(
            source,
            request.settings,
            against,
            judged.coded,
            say,
            new_ids=request.new_ids,
            shuffled=request.shuffled,
        )
        judged.note_unknown(unknown)
    together: tuple[TwoReleases, ...] = ()
    if against is not None and earlier is not None:
        record = request.record
        derived = bool(same and record is not None and is_input_of(record, earlier))
        # What follows from the earlier release does so by all sets of keys.
        together = tuple(
            against.together(source, earlier, names, derived=derived)
            for names in request.goals.keys[: 1 if derived else None]
        )
    return Checked(
        judged.records,
        tuple(rules),
        same,
        request.how["level"],
        judged.said,
        state,
        leaks,
        lacking,
        together,
        unknown,
        judged.weights_doubted,
    )


def released_source(data: Any, reading: Reading) -> Source:
    """Return a safe file, read like its original as far as it can be."""
    # A missing value of a safe file is an empty field, whatever its code was.
    looked_at = reading.weight_scale or 1.0
    how = replace(reading, missing_codes={}, metadata=None, weight_scale=looked_at)
    how = replace(how, household_id=None)  # its ids are numbered already
    if isinstance(data, str | os.PathLike):
        how = how._with_files(lambda _: beside_persons(Path(data)))
        how = formats.opened(Path(data), how).fitting()
    return Source.like(data, how)


def _of_audit(
    judged: _Judged, against: AgainstOriginal, holdout: Source | None
) -> Iterator[Goal]:
    """Yield the goals of an audit, for each set of keys."""
    how = judged.request.how
    limits = {name: how[name] for name in _OF_AUDIT}
    if all(limit is None for limit in limits.values()):
        return
    for names in judged.request.goals.keys:
        audit = against.audit(
            judged.source, names, judged.say, holdout, list(how["target"])
        )
        checked = audit.check(**limits)
        judged.records = judged.records or checked.records
        yield from checked.rules


def _refuse_without_original(
    request: Request, holdout: Source | None, earlier: Source | None
) -> None:
    """Refuse what says nothing without the original."""
    asked = [name for name in (*_OF_AUDIT, "target") if request.how[name]]
    asked += ["holdout"] * (holdout is not None) + ["earlier"] * (earlier is not None)
    if asked:
        raise ValueError(f"{asked[0]}= needs the original: give original=")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of a file: by arguments, by a record, or by a file of rules."""

    goals: KeyGoals
    weight: Hashable | None
    household: Hashable | None
    limits: Mapping[str, float]  # thresholds and largest values of risks, by name
    how: Mapping[str, Any]  # all settings of `check`, by name
    areas: Names
    sensitive: Names
    settings: Settings | None = None  # of the protection that made the file
    record: Record | None = None
    left_out: frozenset[str] = frozenset()  # columns that the file need not have
    shuffled: bool = False  # whether the records were shuffled by secret bits
    new_ids: frozenset[str] = frozenset()  # columns that have new ids

    @classmethod
    def of_arguments(
        cls,
        keys: Iterable[Any] | None,
        weight: Hashable | None,
        household: Hashable | None,
        settings: CheckSettings,
    ) -> Request:
        """Return what the arguments of `check` ask for."""
        how: Mapping[str, Any] = complete(CheckSettings, settings)
        if keys is None:
            raise ValueError("give keys, or the record of a protection")
        goals = KeyGoals.of(key_sets(keys), how["k"], how["subsets"], how["strata"])
        return cls._of(goals, weight, household, how, how)

    def with_declared(self, source: Source) -> Request:
        """Return the request with weight and household ids that metadata declare."""
        weight = source.weight if self.weight is None else self.weight
        level, household = self.how["level"] == "household", self.household
        if level or self.limits_of(households=True):
            keys = [name for names in self.sets for name in names]
            household = source.household_of(household, [weight, *keys])
            if household is None:
                what = "level='household'" if level else "a rule on household risks"
                raise ValueError(f"{what} needs the household column")
        elif household is not None:
            raise ValueError(
                f"household={household!r}: no rule is on households; give "
                "max_household_risk, max_household_rate or level='household'"
            )
        return replace(self, weight=weight, household=household)

    @classmethod
    def of_settings(
        cls,
        made: Settings,
        rules: Mapping[str, Any],
        *,
        record: Record | None = None,
        where: Path | None = None,
        left_out: Iterable[str] = (),
        shuffled: bool = False,
        new_ids: Iterable[str] = (),
    ) -> Request:
        """Return the goals of a protection, and further rules of `check`."""
        stated = {"keys", "weight", "household", "subsets", "strata", *_HOW}
        stated |= {"k"} if any(made.k) else set()
        stated |= {"max_rate"} if made.rate is not None else set()
        stated |= {"max_household_rate"} if made.household_rate is not None else set()
        measured = {x for x in ("l", "t") if getattr(made, x) is not None}
        measured |= {"min_population"} if any(made.min_population) else set()
        stated |= measured
        idle = [name for name in rules if name in stated]
        if idle:
            what, verb = "rules", "the rules state, or check without them"
            if record is not None:
                what, verb = "record", "the record states, or check without a record"
                where = record.path
            raise ValueError(
                f"{what}: {where or 'they'} states {', '.join(idle)}: leave out what "
                f"{verb}"
            )
        by_settings = {name: getattr(made, name) for name in _HOW}
        settings: Any = {**rules, **by_settings}
        how: Mapping[str, Any] = complete(CheckSettings, settings)
        goals = KeyGoals(made.keys, made.k, made.strata)
        if how["k"] is not None:
            goals = replace(goals, k=KeyGoals.of(goals.keys, how["k"], None, None).k)
        limits = {
            **how,
            "threshold": made.threshold,
            "household_threshold": made.household_threshold,
        }
        if made.rate is not None:
            limits["max_rate"] = made.rate
        if made.household_rate is not None:
            limits["max_household_rate"] = made.household_rate
        request = cls._of(
            goals, made.weight, made.household, limits, how, measured=bool(measured)
        )
        if not request.limits_of(households=True) and made.level == "record":
            request = replace(request, household=None)
        if record is not None:
            left_out, new_ids = record.dropped, record.renumbered
            shuffled = record.shuffled
        return replace(
            request,
            settings=made,
            record=record,
            left_out=frozenset(left_out),
            shuffled=shuffled,
            new_ids=frozenset({*map(str, new_ids), str(made.household)}),
        )

    @classmethod
    def _of(
        cls,
        goals: KeyGoals,
        weight: Hashable | None,
        household: Hashable | None,
        limits: Mapping[str, Any],
        how: Mapping[str, Any],
        *,
        measured: bool = False,
    ) -> Request:
        """Return a request; refuse what contradicts itself, and one without a rule."""
        kept = {name: limits[name] for name in _LIMITS if limits.get(name) is not None}
        of_households = any("household" in name for name in kept)
        check_missing(how["missing"], 1.0)
        check_population(how["population"], how["method"])
        for name in _OF_AUDIT:
            if how[name] is not None:
                arguments.number_in(name, how[name], "[0, 1]")
        if how["min_population"] is not None:
            arguments.number("min_population", how["min_population"])
        of_values = how["t"] if how["l"] is None else how["l"]
        for names, two in {
            "min_population and area": (how["min_population"], how["area"]),
            "sensitive and l or t": (how["sensitive"], of_values),
            "target and max_guess_excess": (
                how["target"] or None,
                how["max_guess_excess"],
            ),
        }.items():
            if (two[0] is None) != (two[1] is None):
                raise ValueError(f"{names}: give both, or neither")
        areas = tuple(arguments.names("area", how["area"] or ()))
        sensitive = tuple(arguments.names("sensitive", how["sensitive"] or ()))
        if how["area"] is not None and not areas:
            raise ValueError("area is empty: name the columns that define the areas")
        of_file = "min_population", "values", *_OF_AUDIT
        asked = any(how[name] is not None for name in of_file)
        if not any([*goals.k, kept, asked, sensitive, measured]):
            raise ValueError(
                "no rule: give a limit (k, max_risk, max_rate, max_household_risk, "
                "max_household_rate, min_population, values, l or t); a check without "
                "rules would always pass"
            )
        of_records = of_households or how["sensitive"] or how["area"]
        if how["level"] == "household" and of_records:
            raise ValueError(
                "level='household': each household counts as a record; give k, "
                "max_risk or max_rate, and check other rules with level='record'"
            )
        return cls(
            goals=goals,
            weight=weight,
            household=household,
            limits=kept,
            how=how,
            areas=areas,
            sensitive=sensitive,
        )

    @property
    def sets(self) -> tuple[Names, ...]:
        """The sets of columns that are counted together."""
        return (*self.goals.keys, *([self.areas] if self.areas else []))

    def measured(self, names: Names) -> list[tuple[str, Hashable | None, float]]:
        """Return the goals of people and sensitive values: rule, column and limit."""
        made = self.settings
        if made is None:
            return []
        people = made.goal_of(names, "min_population")
        goals: list[tuple[str, Hashable | None, float]] = []
        goals += [] if people is None else [("min_population", None, people)]
        for name in made.with_role("sensitive"):
            least = None if made.l is None else l_parts(made.l)[1]
            for rule, limit in (("l", least), ("t", made.t)):
                goals += [] if limit is None else [(rule, name, limit)]
        return goals

    def limits_of(self, *, households: bool) -> dict[str, float]:
        """Return the limits on the risks of records, or of households, by name."""
        return {
            name: limit
            for name, limit in self.limits.items()
            if ("household" in name) == households
        }

    def settings_for(self, original: Source) -> Settings:
        """Return the settings by which the original is recoded and counted."""
        if self.settings is not None:
            return self.settings
        how = {name: self.how[name] for name in _HOW}
        if how["missing"] == "refuse":  # see `_Judged`
            how["missing"] = "category"
        return Settings.resolve(
            original,
            [list(keys) for keys in self.goals.keys],
            self.weight,
            self.household,
            k=2,  # no record is changed: the goals are those of the request
            cost="equal",
            related={},
            **how,
        )


class _Judged:
    """The file to check, and the goals that it keeps."""

    def __init__(
        self,
        source: Source,
        request: Request,
        against: AgainstOriginal | None,
        say: Lines,
        *,
        same: bool,
    ) -> None:
        self.request, self.against, self.say, self.same = request, against, say, same
        self.source = source
        self.lacking = request.left_out - set(map(str, source.names))
        self.weight = self._there(request.weight)
        self.household = self._there(request.household)
        self.records = 0
        self.counted: dict[Names, Cells] = {}
        self.notes: dict[str, None] = {}
        self.weights_doubted = False
        values = request.how["values"] or {}
        names = chain(*request.sets, request.sensitive, values)
        left = (name for name in names if str(name) not in self.lacking)
        self.columns = [*dict.fromkeys(left)]
        self.held = self._read()
        if against is not None and request.how["missing"] == "refuse":
            against.refuse_missing()
        self.coded: CodedRecords | None = None
        engine, keys = engine_of(self.held), {*chain(*request.goals.keys)}
        # Keys of one set may tell what is missing by design in another.
        together = len(request.goals.keys) > 1 and engine is not None
        if (
            engine is None
            or self.household is not None
            or request.how["values"]
            or (together and any(engine.count(self.columns, None).weighed.missing_keys))
        ):
            self.coded = CodedRecords.of(
                self.held, self.columns, self.weight, self.household, scale=source.scale
            ).sampled(request.how["sampling_fraction"])
            if against is None:
                there = [name for name in self.columns if name in keys]
                missing = request.how["missing"]
                self.coded = knowing_designs(self.coded, there, missing)
            if request.how["level"] == "record":
                self.records = self.coded.n

    def _there(self, name: Hashable | None) -> Hashable | None:
        """Return a column; None if it was left out of the file."""
        return None if str(name) in self.lacking else name

    def _read(self) -> Any:
        """Return the columns that are needed, or a large file as an engine."""
        source, request = self.source, self.request
        if self.against is not None and source.path is not None:
            source.check([*self.columns, *filter(None, [self.household])])
            self.weight = None  # people are counted by the weights of the original
            return source.data
        sets = [[key for key in keys if self._there(key)] for keys in request.sets]
        held = None
        names = request.sensitive or request.how["values"] or self.lacking
        if not names and self.household is None:
            held = source.in_batches(sets, self.weight)
        if held is None:
            names = [*self.columns, self.weight, self.household]
            held, _ = source.read(names, self.weight)
        return held

    @property
    def said(self) -> tuple[str, ...]:
        """What the result says below its rules."""
        return tuple(map(printable, self.notes))

    def goals(self) -> Iterator[Goal]:
        """Yield the goals, each compared with what was found."""
        request, goals = self.request, self.request.goals
        for names in goals.keys if request.sensitive else ():
            self.say(f"measuring sensitive variables by {' x '.join(map(str, names))}")
            yield from self._of_sensitive(names)
        for names, k in zip(goals.keys, goals.k, strict=True):
            if k is not None or request.limits or request.measured(names):
                self.say(f"counting by {' x '.join(map(str, names))}")
                yield from self._of_set(names, k)
        for name, pattern in (request.how["values"] or {}).items():
            if name in self.columns:
                assert self.coded is not None
                cells = tabulate_coded(self.coded, [name], "category", 1.0)
                yield goal_of_values(cells, name, pattern)
        if request.areas:
            self.say(f"counting by {' x '.join(map(str, request.areas))}")
            least = float(request.how["min_population"])
            if request.weight is not None and self._there(request.weight) is None:
                what = "min_population", None, request.areas
                yield self._by_figure(*what, least, None, self._weights_left_out())
                return
            yield goal_of_areas(self._cells_of_areas(), request.areas, least)

    def _of_sensitive(self, names: Names) -> Iterator[Goal]:
        """Yield the goals on sensitive variables by a set of keys."""
        how = self.request.how
        sensitive, ordered = list(self.request.sensitive), list(how["ordered"])
        missing = how["missing_sensitive"]
        rules = SensitiveRules.of(names, sensitive, missing, 3, ordered)
        coded = self.coded or CodedRecords.of(self.held, [*names, *rules.names])
        diversity = diversity_of(self.held, coded, names, rules, how["missing"], 1.0)
        self.counted[names], self.records = diversity.cells, diversity.cells.n
        self._note(names, diversity.cells)
        for variable in diversity.variables:
            yield from goals_of_sensitive(variable, names, how["l"], how["t"])

    def _of_set(self, names: Names, k: int | None) -> Iterator[Goal]:
        """Yield the goals on k and risks by a set of keys."""
        request = self.request
        risks = request.limits_of(households=False)
        of_households = request.limits_of(households=True)
        why = self._not_countable(names)
        if why:
            ks = {} if k is None else {"k": float(k)}
            yield from self._by_record(names, {**ks, **risks, **of_households}, why)
            yield from self._measured_by_record(names)
            return
        if self.against is not None:
            among, unknown = self._against(names)
            goals = goals_beside(among, names, k, risks, unknown)
            if unknown:
                # The file was not made by these settings: what it tells is unknown.
                goals = (
                    replace(goal, passed=None) if goal.passed else goal
                    for goal in goals
                )
            yield from goals
            if among is None:  # nor are the others judged
                others = [(rule, None, limit) for rule, limit in of_households.items()]
                for rule, of, limit in [*others, *request.measured(names)]:
                    yield Goal(rule, names, of, limit, math.nan, None, None, None)
                return
            assessment: Assessment = among
        else:
            cells = self._cells(names)
            if k is not None:
                yield goal_of_k(cells, names, k)
            yield from self._measured_by_record(names)
            why = self._risks_unknown(cells)
            if why:
                yield from self._by_record(names, {**risks, **of_households}, why)
                return
            if not risks and not of_households:
                return
            assessment = self._assessed(names)
            yield from goals_of_risk(assessment, names, risks)
        limits = risks if self.household is None else {**risks, **of_households}
        said = dict.fromkeys(said_by_model(assessment, names, limits))
        self.notes |= said
        self.weights_doubted |= bool(said)
        if of_households and self.household is None:
            yield from self._by_record(names, of_households, self._ids_left_out())
        else:
            yield from goals_of_risk(assessment, names, of_households)

    def _not_countable(self, names: Names) -> str:
        """Return why even k cannot be counted; empty if it can."""
        made = self.request.settings
        if made is not None and made.person is not None:
            return "the file is a panel, whose persons check does not count"
        if self.request.how["level"] == "household" and self.household is None:
            return self._ids_left_out()
        unknown = [] if self.against is None else self.against.unknown
        at_random = [str(name) for name in unknown if name in names]
        if at_random:
            return (
                f"{listed(at_random)} is treated at random by a secret, which the "
                "record holds; give the record"
            )
        return ""

    def _ids_left_out(self) -> str:
        """Return that households cannot be told, in words."""
        return f"the household ids {self.request.household!r} were left out of the file"

    def _weights_left_out(self) -> str:
        """Return that there are no weights, in words."""
        return f"the weights {self.request.weight!r} were left out of the file"

    def _risks_unknown(self, cells: Cells) -> str:
        """Return why the file alone does not tell the risks; empty if it does."""
        request = self.request
        if request.record is not None and request.record.given is not None:
            return f"a record cannot hold the population ({request.record.given})"
        if request.weight is not None and self.weight is None:
            return f"{self._weights_left_out()}; give the original"
        if cells.incomplete:
            verb = "has" if cells.incomplete == 1 else "have"
            return (
                f"{counted(cells.incomplete, 'record')} {verb} missing keys, whose "
                "risk is that among the people of the original; give the original"
            )
        return ""

    def _by_record(
        self, names: Names, limits: Mapping[str, float], why: str
    ) -> Iterator[Goal]:
        """Yield goals by the figures of the record of exactly this file, if any."""
        figures = self._recorded(names)
        for rule, limit in limits.items():
            figure = figures.get(_FIGURES[rule])
            yield self._by_figure(rule, None, names, limit, figure, why)

    def _recorded(self, names: Names) -> Mapping[str, Any]:
        """Return the figures of a set of keys in the record of exactly this file."""
        record = self.request.record
        if not self.same or record is None:
            return {}
        return record.figures.get(tuple(map(str, names)), {})

    def _by_figure(
        self, rule: str, of: Any, keys: Names, limit: float, figure: Any, why: str
    ) -> Goal:
        """Return a goal judged by a recorded figure; not judged without one."""
        goal = Goal(rule, keys, of, limit, math.nan, None, None, None)
        if isinstance(figure, int | float):
            self.notes["As recorded: the figure is the one in the record."] = None
            return goal_of_figure(goal, figure)
        self.notes[f"The {goal.title} is not judged: {why}."] = None
        return goal

    def _measured_by_record(self, names: Names) -> Iterator[Goal]:
        """Yield the goals of people and sensitive values, as the record has them."""
        entries = self._recorded(names).get("measured", [])
        figures = {
            (entry.get("rule"), entry.get("sensitive")): entry.get("found")
            for entry in entries
            if isinstance(entry, dict)
        }
        why = "it is of the people of the original; give the original"
        for rule, of, limit in self.request.measured(names):
            yield self._by_figure(rule, of, names, limit, figures.get((rule, of)), why)

    def _cells(self, names: Names) -> Cells:
        """Return the cells of the file alone by a set of keys."""
        # By the settings of a protection a blank matches any value: each record of the
        # original that fits is then among those that are counted.
        how = self.request.how
        missing = how["missing"] if self.request.settings is None else "argus"
        if self.coded is None:
            cells = self._assessed(names).cells
        elif how["level"] == "household":
            counting = Counting(WEIGHTS, "exact", missing)
            of_households = self.held, self.coded, names, self.weight, counting
            cells = assess_households(*of_households).cells
        elif names in self.counted:
            cells = self.counted[names]
        else:
            kept = [name for name in names if self._there(name)]
            cells = tabulate_coded(self.coded, kept, missing, 1.0)
        self.counted[names], self.records = cells, cells.n
        self._note(names, cells)
        return cells

    def _assessed(self, names: Names) -> Assessment:
        """Return the risks by a set of keys; on an engine its cells stay there."""
        how = self.request.how
        population = BOTH if how["population"] == WEIGHTS else how["population"]
        counting = Counting(population, how["method"], how["missing"])
        coded = self.coded
        if coded is None:
            engine = engine_of(self.held)
            assert engine is not None
            counts = engine.count(names, self.weight, self.source.scale)
            above = self.request.limits.get("max_risk")
            held = held_assessment(self.held, counts, counting, above)
            if held is not None and how["sampling_fraction"] is None:
                return held
            coded = CodedRecords.of_counted(counts).sampled(how["sampling_fraction"])
        if how["level"] == "household":
            return assess_households(self.held, coded, names, self.weight, counting)
        return assess_coded(self.held, coded, names, counting)

    def _against(self, names: Names) -> tuple[ReleasedAssessment | None, int]:
        """Return the risks by a set of keys, counted among the original records."""
        assert self.against is not None
        assert self.coded is not None
        assessment, unknown = self.against.assessed(self.held, self.coded, names)
        self.records = unknown + (0 if assessment is None else assessment.cells.n)
        if unknown:
            remedy = (
                ", so their risk is not known; if keys were recoded or treated, give "
                "the record of the protection (--record) or its rules (--rules), and "
                "if people were invented or values drawn, use audit"
            )
            self.notes[
                f"{counted(unknown, 'record')} fit no record of the original by "
                f"{' x '.join(map(str, names))}{remedy * (not self.request.settings)}."
            ] = None
        return assessment, unknown

    def _cells_of_areas(self) -> Cells:
        """Return the cells of areas; each record is counted in one area only."""
        areas = self.request.areas
        rule = "refuse" if self.request.how["missing"] == "refuse" else "category"
        weight = self.request.weight
        if self.against is not None and weight is not None:
            # The people of an area are those of the file, by its own weights.
            columns = {name: Records.of(self.held).column(name) for name in areas}
            columns[weight] = self.source.weights(weight)
            people = Source.like(columns, Reading(weight_scale=1.0))
            cells = tabulate(people, areas, weight, rule)
        elif self.coded is None:
            held = Source.like(self.held, self.source.reading)
            cells = tabulate(held, areas, self.weight, rule)
        else:
            cells = tabulate_coded(self.coded, areas, rule, 1.0)
        self.records = cells.n
        return cells

    def note_unknown(self, unknown: Sequence[str]) -> None:
        """Note why evidence is not judged."""
        if unknown and self.against is None:
            self.notes[f"Give the original to judge {listed(unknown)}."] = None
        elif unknown:
            self.notes[
                "The rules alone do not make this file of the original, so it is not "
                f"judged: {listed(unknown)}."
            ] = None

    def _note(self, keys: Names, cells: Cells) -> None:
        """Note how many records have missing keys that match any value."""
        if not cells.incomplete:
            return
        verb = "has" if cells.incomplete == 1 else "have"
        several = len(self.request.goals.keys) > 1
        of = f" of {' x '.join(map(str, keys))}" if several else ""
        records = counted(cells.incomplete, "record")
        self.notes[f"{records} {verb} missing keys{of}; they match any value."] = None
