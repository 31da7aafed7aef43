"""The units of a protection: records, households, persons of a panel, cells.

What is blanked is planned for each unit alone: for a record; for a household, whose
members share the keys; for a person, in all waves; or for all records of a cell that an
engine counted. All go one way: the records, or cells, are coded, recoded and treated,
and assessed as units; their blanks are planned, given to the records, and assessed.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assessment import Assessment
from riskcore.assessment.cell_risk import PopulationBelowSample
from riskcore.assessment.diversity import in_order
from riskcore.assessment.released import assess_released
from riskcore.common.progress import Lines
from riskcore.common.words import counted
from riskcore.data.blank import blank, without_notes
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import (
    CodedColumn,
    Records,
    code_column,
    code_keys,
    with_columns,
)
from riskcore.data.files.reading import DoubtfulCodes
from riskcore.data.household_rows import HouseholdRows
from riskcore.data.missing_by_design import knowing_designs
from riskcore.data.recode import recoded_columns
from riskcore.data.source import Source
from riskcore.protection.records.on_engine import OnEngine, rows_of
from riskcore.protection.records.treated import Treated, treat_records
from riskcore.protection.secret import Draw
from riskcore.protection.settings.settings import Settings
from riskcore.protection.suppression.by_person import (
    Persons,
    assess_persons,
    suppress_persons,
)
from riskcore.protection.suppression.key_sets import assess_key_sets, present
from riskcore.protection.suppression.suppress import (
    Aim,
    Masks,
    costs_of_sets,
    masks_of_members,
    suppress,
    with_companions,
)

Assessments: TypeAlias = list[Assessment]  # by set of keys


@dataclass(frozen=True)
class Prepared:
    """The records, or the cells of an engine, before suppression, with their risks."""

    recoded_rows: Records  # with the recoded columns, but before treatments
    coded: CodedRecords  # the same rows as codes, recoded and treated
    columns: dict[Any, Any]  # the recoded columns
    original: Assessments  # by set of keys, before recodings
    # After recodings and treatments; their data are not treated yet, see `assessed`.
    recoded: Assessments
    treated: Treated | None = None
    again: bool = False  # whether a key or the weight is treated, and assessed again

    @cached_property
    def rows(self) -> Records:
        """The rows with the recoded and the treated columns."""
        rows, treated = self.recoded_rows, self.treated
        if treated is None:
            return rows
        data = without_notes(with_columns(rows.data, treated.columns))
        coded = _named(self.coded, treated.after)
        return rows.with_data(data, treated.after, coded)

    @cached_property
    def assessed(self) -> Assessments:
        """The assessments ``recoded`` with the data that they are of."""
        if not self.again:
            return self.recoded
        return [replace(assessment, data=self.rows.data) for assessment in self.recoded]

    def aims(self, settings: Settings) -> list[Aim]:
        """Return what makes units safe, by set of keys."""
        if settings.unit == "household":
            settings = settings.of_rows()
        sensitive = []
        if (settings.l, settings.t) != (None, None):
            sensitive = [
                in_order(column) if column.name in settings.ordered else column
                for column in code_keys(self.rows, settings.with_role("sensitive"))
            ]
        return [Aim.of(assessment, settings, sensitive) for assessment in self.recoded]

    def codes(
        self, name: Hashable, *, recoded: bool = True
    ) -> NDArray[np.signedinteger[Any]]:
        """Return the codes of a column before suppression, -1 for missing."""
        rows = self.recoded_rows
        if recoded and name in self.coded.columns:
            column = self.coded.columns[name]
        else:
            column = code_column(rows if recoded else rows.origin or rows, name)
        signed = np.promote_types(np.min_scalar_type(column.codes.max()), np.int8)
        codes = column.codes.astype(signed)
        codes[codes == len(column.labels)] = -1
        return codes


@dataclass(frozen=True, slots=True)
class Blanked:
    """The records, or the cells of an engine, after suppression."""

    rows: Records
    coded: CodedRecords
    masks: Masks  # the values that were blanked


class SingleRecords:
    """Records that are planned one by one."""

    units: HouseholdRows | None = None  # the units, if they are not records

    def __init__(
        self, source: Source, settings: Settings, say: Lines, secret: str | None
    ) -> None:
        self.source, self.settings = source, settings
        self.say, self.secret = say, secret

    @property
    def planned(self) -> Settings:
        """The settings of the rows that are planned."""
        return self.settings

    @property
    def draw(self) -> Draw | None:
        """What decides between choices of equal cost, if a secret does."""
        by_secret = self.settings.ties == "secret"
        return Draw(self.secret) if self.secret and by_secret else None

    def prepare(self, original: Assessments | None = None) -> Prepared:
        """Recode and treat the records; return them with the risks of their units."""
        rows, coded = self.read()
        coded = knowing_designs(coded, self.settings.variables, self.settings.missing)
        if original is None:
            self.say("assessing the original file")
            original = self.measure(rows, coded)
        recoded, columns = original, dict[Any, Any]()
        if self.settings.recodings:
            with quiet():
                self.say("recoding")
                rules = self.settings.recodings
                rules = {name: rules[name] for name in rules if name in rows.columns}
                rows, coded, columns = self.recode(rows, coded, rules)
                recoded = self.measure(rows, coded, original)
        before = Prepared(rows, coded, columns, original, recoded)
        if not self.settings.treat:
            return before
        with quiet():
            self.say("treating columns")
            return self.treat(before)

    def recode(
        self, rows: Records, coded: CodedRecords, rules: Mapping[Any, Any]
    ) -> tuple[Records, CodedRecords, dict[Any, Any]]:
        """Return the records recoded, as codes too, and the recoded columns."""
        labels = self.source.value_labels
        columns = recoded_columns(rows, rules, coded.columns, labels)
        coded = coded.recoded(columns)
        data = without_notes(with_columns(rows.data, columns))
        return rows.with_data(data, columns, _named(coded, columns)), coded, columns

    def read(self) -> tuple[Records, CodedRecords]:
        """Return the records, with their keys, weights and households as codes."""
        source, settings = self.source, self.settings
        if source.path is not None:
            self.say(f"reading {source.path}")
        names, household = settings.variables, settings.household
        coded = CodedRecords.of(
            source.records, names, None, household, cluster=settings.cluster
        )
        weight = settings.weight
        if weight is not None:
            coded = replace(coded, weight=weight, weights=source.weights(weight))
        return source.records, coded.sampled(settings.sampling_fraction)

    def measure(
        self, rows: Records, coded: CodedRecords, original: Assessments | None = None
    ) -> Assessments:
        """Return the risks of the units before suppression, by set of keys."""
        return assess_key_sets(rows.data, coded, self.settings, original)

    def treat(self, before: Prepared) -> Prepared:
        """Return records with treated columns, assessed again if the risk changes."""
        settings, rows, recoded = self.settings, before.recoded_rows, before.recoded
        risk: NDArray[np.float64] | None = None
        if any(rule.by_risk for rules in settings.treat.values() for rule in rules):
            risk = np.maximum.reduce([one.individual_risk for one in recoded])
            risk = risk if self.units is None else risk[self.units.of]
        secret = self.secret if settings.is_random else None
        treated = treat_records(
            self.source, rows, before.coded, settings, risk, secret, self.say
        )
        coded = treated.recoded(before.coded)
        # Keys and weights of households and of persons are not treated.
        again = not {*settings.variables, settings.weight}.isdisjoint(treated.after)
        if again:
            recoded = self.measure(rows, coded, recoded)
        return replace(
            before, coded=coded, recoded=recoded, treated=treated, again=again
        )

    def plan(self, before: Prepared, aims: Sequence[Aim]) -> Masks:
        """Return the values of the units to blank."""
        recoded, settings = before.assessed, self.planned
        costs = costs_of_sets(recoded, settings)
        has_value = self.of_units(self.has_value(before))
        self.say("suppressing")
        masks = suppress(recoded, aims, costs, settings, self.say, self.draw)
        masks = _both(masks, has_value)
        if not settings.against_insiders:
            return masks
        blanks = sum(int(mask.sum()) for mask in masks.values())
        masks = _both(with_companions(recoded, costs, masks, settings), has_value)
        more = sum(int(mask.sum()) for mask in masks.values()) - blanks
        self.say(f"blanked {counted(more, 'value')} more of companions")
        return masks

    def has_value(self, before: Prepared) -> Masks:
        """Return which records have a value, of each column that may be blanked."""
        names = self.settings.suppressible
        return {name: present(before.rows, name) for name in names}

    def of_units(self, masks: Masks) -> Masks:
        """Return the masks of the units from those of the records, where they agree."""
        return masks

    def of_records(self, masks: Masks, before: Prepared) -> Masks:
        """Return the masks of the records from those of the units."""
        if self.units is None:
            return masks
        has_value = self.has_value(before)
        return masks_of_members(masks, self.units.of, has_value, self.settings)

    def blank(self, before: Prepared, masks: Masks) -> Blanked:
        """Return the records without the values of the units that are blanked."""
        masks = self.of_records(masks, before)
        if not _any(masks):
            return Blanked(before.rows, before.coded, masks)
        coded = before.coded.blanked(masks)
        data = blank(before.rows, masks)
        rows = before.rows.with_data(data, masks, _named(coded, masks))
        return Blanked(rows, coded, masks)

    def assess(
        self, before: Prepared, aims: Sequence[Aim], masks: Masks, after: Blanked
    ) -> Assessments:
        """Return the risks of the units after suppression, by set of keys."""
        data = self.data_of_units(after.rows, after.coded)
        return [
            assess_released(assessment, masks, data, aim.goals)
            for assessment, aim in zip(before.assessed, aims, strict=True)
        ]

    def data_of_units(self, rows: Records, coded: CodedRecords) -> Any:
        """Return the data that assessments of the units hold."""
        return rows.data

    def verify(self, before: Prepared, masks: Masks, after: Blanked) -> OnEngine | None:
        """Refuse records whose keys are not those that were assessed."""
        # A file is read back when it is written.
        if _any(masks) and self.source.path is None:
            read = CodedRecords.of(after.rows.data, self.settings.variables)
            if not after.coded.equals(read):
                raise _not_verified()
        return None


class Households(SingleRecords):
    """Households: assessed by one row for each, whose blanks all members get."""

    units: HouseholdRows

    @property
    def planned(self) -> Settings:
        """The settings of the rows that are planned."""
        return self.settings.of_rows()

    def read(self) -> tuple[Records, CodedRecords]:
        """Return the records as codes; find their households."""
        rows, coded = super().read()
        self.say("finding households")
        self.units = HouseholdRows.of_keys(coded, self.settings.variables)
        return rows, coded

    def measure(
        self, rows: Records, coded: CodedRecords, original: Assessments | None = None
    ) -> Assessments:
        """Return the risks of households before suppression, by set of keys."""
        data, keys = self.data_of_units(rows, coded), self.settings.variables
        of_units = self.units.codes(coded, keys)
        return assess_key_sets(data, of_units, self.planned, original)

    def of_units(self, masks: Masks) -> Masks:
        """Return the masks of the first members of households."""
        return {name: mask[self.units.first] for name, mask in masks.items()}

    def data_of_units(self, rows: Records, coded: CodedRecords) -> Any:
        """Return the keys and weights of the first member of each household."""
        data = self.units.rows(rows, self.planned.suppressible)
        if self.settings.weight is not None:
            assert coded.weights is not None
            data[self.settings.weight] = coded.weights[self.units.first]
        return data

    def verify(self, before: Prepared, masks: Masks, after: Blanked) -> OnEngine | None:
        """Refuse records whose households are not those that were assessed."""
        keys = self.settings.variables
        assessed = self.units.codes(before.coded, keys).blanked(masks)
        merged = HouseholdRows.of_keys(after.coded, keys).codes(after.coded, keys)
        if not merged.equals(assessed):
            raise _not_verified()
        return super().verify(before, masks, after)


class PanelPersons(SingleRecords):
    """Persons of a panel: a key is blanked in all waves of a person, or in none."""

    units: Persons

    def read(self) -> tuple[Records, CodedRecords]:
        """Return the records of the panel as codes; find its persons."""
        rows, coded = super().read()
        self.say("finding persons")
        self.units = Persons.of_panel(rows, coded, self.settings)
        return rows, replace(coded, households=None, design=None)

    def measure(
        self, rows: Records, coded: CodedRecords, original: Assessments | None = None
    ) -> Assessments:
        """Return the risks of persons before suppression, by set of keys."""
        return assess_persons(coded, self.units, self.settings, self.say)

    def plan(self, before: Prepared, aims: Sequence[Aim]) -> Masks:
        """Return the values of persons to blank."""
        has_value, settings = self.has_value(before), self.settings
        return suppress_persons(
            before.coded, self.units, aims, has_value, settings, self.say, self.draw
        )

    def assess(
        self, before: Prepared, aims: Sequence[Aim], masks: Masks, after: Blanked
    ) -> Assessments:
        """Return the risks of persons after suppression, by set of keys."""
        return assess_persons(before.coded, self.units, self.settings, self.say, masks)


class EngineCells(SingleRecords):
    """Cells that an engine counted; the engine blanks where the records are."""

    def read(self) -> tuple[Records, CodedRecords]:
        """Return the cells that the engine counts."""
        engine, settings = self.source.engine, self.settings
        assert engine is not None
        for what, asked in (
            ("treat: treatments", settings.treat),
            ("l and t: sensitive values", (settings.l, settings.t) != (None, None)),
            ("cluster: clusters", settings.cluster is not None),
            ("person: panels", settings.person is not None),
            ("against_insiders: companions", settings.against_insiders),
            ("roles: columns known as numbers", settings.with_role("numeric")),
        ):
            if asked:
                raise TypeError(
                    f"{what} need single records, but {engine.name} holds them; "
                    "collect the data first"
                )
        self.say(f"counting on {engine.name}")
        self.held = OnEngine.count(engine, settings, self.source.scale)
        return self.held.rows, self.held.coded

    def recode(
        self, rows: Records, coded: CodedRecords, rules: Mapping[Any, Any]
    ) -> tuple[Records, CodedRecords, dict[Any, Any]]:
        """Return the cells recoded, as codes too, and the new values by code."""
        old = {name: self.held.values[name].to_native() for name in rules}
        columns = {x: self.held.recoded(x, old[x], quiet=False) for x in rules}
        coded = coded.recoded(columns, by_code=True)
        return _derived(rows, coded, columns), coded, columns

    def blank(self, before: Prepared, masks: Masks) -> Blanked:
        """Return the cells without the values that are blanked."""
        coded = before.coded.blanked(masks)
        return Blanked(_derived(before.rows, coded, masks), coded, masks)

    def verify(self, before: Prepared, masks: Masks, after: Blanked) -> OnEngine | None:
        """Have the engine blank the records, and count the result again."""
        self.say(f"counting again on {self.held.engine.name}")
        return self.held.given_back(before.columns, masks, after.coded)


_BY_NAME = {"record": SingleRecords, "household": Households, "person": PanelPersons}


def unit_of(
    source: Source, settings: Settings, say: Lines, secret: str | None
) -> SingleRecords:
    """Return the units that settings protect."""
    kind = _BY_NAME[settings.unit] if source.engine is None else EngineCells
    return kind(source, settings, say, secret)


@contextmanager
def quiet() -> Iterator[None]:
    """Give no warning again that was given for the original file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationBelowSample)
        warnings.simplefilter("ignore", DoubtfulCodes)
        yield


def _named(coded: CodedRecords, names: Mapping[Any, Any]) -> dict[Any, CodedColumn]:
    """Return the coded columns among some columns."""
    return {name: one for name, one in coded.columns.items() if name in names}


def _derived(rows: Records, coded: CodedRecords, changed: Iterable[Any]) -> Records:
    """Return cells with some columns changed."""
    own = rows_of(coded)
    names = rows.changed.union(changed)
    return replace(own, origin=rows.origin or rows, changed=names)


def _both(masks: Masks, others: Masks) -> Masks:
    """Return where both masks are true."""
    return {name: mask & others[name] for name, mask in masks.items()}


def _any(masks: Masks) -> bool:
    """Return whether any value is suppressed."""
    return any(mask.any() for mask in masks.values())


def _not_verified() -> RuntimeError:
    return RuntimeError(
        "the protected data are not the data that were verified; nothing is returned. "
        "Please report this as a defect of riskcore, with the types of the columns"
    )
