"""The units of a protection: records, households, persons of a panel, cells.

What is blanked is planned for each unit alone: for a record; for a household, whose
members share the keys; for a person, in all waves; or for all records of a cell that an
engine counted. A unit prepares its rows, plans, assesses the result, and gives it to
the records.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from riskcore.assessment.assessment import Assessment
from riskcore.assessment.released import assess_released
from riskcore.common.progress import Lines
from riskcore.common.words import counted
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import Records
from riskcore.data.source import Source
from riskcore.protection.records.on_engine import OnEngine
from riskcore.protection.records.prepare import (
    Prepared,
    blanked,
    code_source,
    prepare,
    prepare_households,
    prepare_rows,
    recode_rows,
    treated_columns,
    with_treated,
)
from riskcore.protection.records.treated import Treated
from riskcore.protection.secret import Draw
from riskcore.protection.settings.settings import Settings
from riskcore.protection.suppression.by_household import Units
from riskcore.protection.suppression.by_person import (
    Persons,
    assess_persons,
    suppress_persons,
)
from riskcore.protection.suppression.key_sets import present
from riskcore.protection.suppression.suppress import (
    Aim,
    Masks,
    costs_of_sets,
    suppress,
    with_companions,
)

Blanked = tuple[Records, CodedRecords]


@dataclass(frozen=True, slots=True)
class GivenBack:
    """The records after protection.

    Attributes
    ----------
    rows : Records
        Of data on an engine, its cells.
    coded : CodedRecords
        The same rows as codes, as they were verified.
    masks : dict of column name to bool ndarray
        The values that were blanked.
    treated : Treated or None
    on_engine : OnEngine or None
    """

    rows: Records
    coded: CodedRecords
    masks: Masks
    treated: Treated | None = None
    on_engine: OnEngine | None = None


class SingleRecords:
    """Records that are planned one by one."""

    units: Units | None = None  # the units, if they are not records

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

    def prepare(self) -> Prepared:
        """Return the rows of the units before suppression, with their risks."""
        return prepare(self.source, self.settings, self.say, self.secret)

    def plan(self, before: Prepared, aims: Sequence[Aim]) -> Masks:
        """Return the values of the units to blank."""
        recoded, settings = before.assessed, self.planned
        costs = costs_of_sets(recoded, settings)
        has_value = {name: present(before.rows, name) for name in settings.suppressible}
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

    def blank(self, before: Prepared, masks: Masks) -> Blanked:
        """Return the rows without the values that are blanked, and their codes."""
        if not _any(masks):
            return before.rows, before.coded
        coded = before.coded.blanked(masks)
        return blanked(before.rows, coded, masks), coded

    def assess(
        self, before: Prepared, aims: Sequence[Aim], masks: Masks, rows: Records
    ) -> list[Assessment]:
        """Return the risks of the units after suppression, by set of keys."""
        return [
            assess_released(assessment, masks, rows.data, aim.goals)
            for assessment, aim in zip(before.assessed, aims, strict=True)
        ]

    def give(self, before: Prepared, after: Blanked, masks: Masks) -> GivenBack:
        """Return the records of the units, verified; ``after`` are the units."""
        rows, coded = after
        # A file is read back when it is written.
        if _any(masks) and self.source.path is None:
            _refuse_other_keys(rows, coded, self.settings)
        return GivenBack(rows, coded, masks, before.treated)


class Households(SingleRecords):
    """Households: one row for each, whose blanks all members get."""

    @property
    def planned(self) -> Settings:
        """The settings of the rows that are planned."""
        return self.settings.of_rows()

    def prepare(self) -> Prepared:
        """Return one row for each household, with the risks."""
        self.coded = code_source(self.source, self.settings, self.say)
        self.units, before = prepare_households(
            self.source, self.coded, self.settings, self.say
        )
        return before

    def give(self, before: Prepared, after: Blanked, masks: Masks) -> GivenBack:
        """Blank the same keys for all members of a household."""
        source, settings, units = self.source, self.settings, self.units
        assert units is not None
        self.say("blanking keys of all members")
        rows, coded, treated = source.records, self.coded, None
        if settings.recodings:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # given already, for the households
                rows, coded, _ = recode_rows(rows, coded, settings.recodings)
        if settings.treat:
            # Keys and weights of households are not treated: no risk is needed.
            treated = treated_columns(source, rows, coded, [], settings, self.secret)
            rows = with_treated(rows, coded, treated)
        has_value = {name: present(rows, name) for name in settings.suppressible}
        of_members = units.spread(masks, has_value, settings)
        if _any(masks):
            coded = coded.blanked(of_members)
            rows = blanked(rows, coded, of_members)
        # Household by household, the members must now have the keys that were verified.
        merged = Units.found(coded, settings).row_codes(coded)
        columns = {name: after[1].columns[name] for name in merged.columns}
        if not merged.equals(replace(after[1], columns=columns)):
            raise _not_verified()
        if _any(masks) and source.path is None:
            _refuse_other_keys(rows, coded, settings)
        return GivenBack(rows, coded, of_members, treated)


class PanelPersons(SingleRecords):
    """Persons of a panel: a key is blanked in all waves of a person, or in none."""

    def prepare(self) -> Prepared:
        """Return the records of the panel, with the risks of persons."""
        source, settings, say = self.source, self.settings, self.say
        coded = code_source(source, settings, say)
        say("finding persons")
        rows, treated, columns = source.records, None, dict[Any, Any]()
        self.units = self.persons = Persons.of_panel(rows, coded, settings)
        coded = replace(coded, households=None, design=None)
        say("assessing the original file")
        original = recoded = assess_persons(coded, self.persons, settings, say)
        if settings.recodings:
            say("recoding")
            rows, coded, columns = recode_rows(rows, coded, settings.recodings)
            recoded = assess_persons(coded, self.persons, settings, say)
        if settings.treat:
            treated = treated_columns(source, rows, coded, [], settings, self.secret)
        return Prepared(rows, coded, columns, original, recoded, treated)

    def plan(self, before: Prepared, aims: Sequence[Aim]) -> Masks:
        """Return the values of persons to blank."""
        return suppress_persons(
            before.coded,
            self.persons,
            aims,
            self._has_value(before),
            self.settings,
            self.say,
            self.draw,
        )

    def blank(self, before: Prepared, masks: Masks) -> Blanked:
        """Return the records without the values that are blanked, and their codes."""
        return super().blank(before, self._of_records(before, masks))

    def assess(
        self, before: Prepared, aims: Sequence[Aim], masks: Masks, rows: Records
    ) -> list[Assessment]:
        """Return the risks of persons after suppression, by set of keys."""
        return assess_persons(
            before.coded, self.persons, self.settings, self.say, masks
        )

    def give(self, before: Prepared, after: Blanked, masks: Masks) -> GivenBack:
        """Return the records of the persons, verified."""
        return super().give(before, after, self._of_records(before, masks))

    def _has_value(self, before: Prepared) -> Masks:
        names = self.settings.suppressible
        return {name: present(before.rows, name) for name in names}

    def _of_records(self, before: Prepared, masks: Masks) -> Masks:
        """Return the masks of the records from the masks of persons."""
        return self.persons.spread(masks, self._has_value(before), self.settings)


class EngineCells(SingleRecords):
    """Cells that an engine counted; the engine blanks where the records are."""

    def prepare(self) -> Prepared:
        """Return the cells that the engine counts, with their risks."""
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
        self.held = OnEngine.count(engine, settings)
        rows = Records.of(self.held.rows)
        rows.coded.update(self.held.coded.columns)
        recodings = {
            name: rule
            for name, rule in settings.recodings.items()
            if name in rows.columns
        }
        return prepare_rows(rows, self.held.coded, settings, recodings, self.say)

    def give(self, before: Prepared, after: Blanked, masks: Masks) -> GivenBack:
        """Have the engine blank the records; it counts the result again."""
        self.say(f"counting again on {self.held.engine.name}")
        rows, coded = after
        given = self.held.given_back(before.columns, masks, coded)
        on_engine = replace(self.held, given=given)
        return GivenBack(rows, coded, masks, None, on_engine)


_BY_NAME = {
    "record": SingleRecords,
    "household": Households,
    "person": PanelPersons,
}


def unit_of(
    source: Source, settings: Settings, say: Lines, secret: str | None
) -> SingleRecords:
    """Return the units that settings protect."""
    kind = _BY_NAME[settings.unit] if source.engine is None else EngineCells
    return kind(source, settings, say, secret)


def _both(masks: Masks, others: Masks) -> Masks:
    """Return where both masks are true."""
    return {name: mask & others[name] for name, mask in masks.items()}


def _any(masks: Masks) -> bool:
    """Return whether any value is suppressed."""
    return any(mask.any() for mask in masks.values())


def _refuse_other_keys(rows: Records, coded: CodedRecords, settings: Settings) -> None:
    """Refuse rows whose keys differ from the codes that were verified."""
    if not coded.equals(CodedRecords.of(rows.data, settings.variables)):
        raise _not_verified()


def _not_verified() -> RuntimeError:
    return RuntimeError(
        "the protected data are not the data that were verified; nothing is returned. "
        "Please report this as a defect of riskcore, with the types of the columns"
    )
