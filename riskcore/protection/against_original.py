"""A released file against its original: who fits each pattern of keys.

Which released record stands for which original one is not known, and not needed: the
original is recoded and treated as the settings say, and each pattern of the released
file, in which a blank stands for any value, is counted among its records.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riskcore.assessment.assess import Counting, assess_coded
from riskcore.assessment.assess_settings import AUTO, BOTH, WEIGHTS
from riskcore.assessment.assessment import Assessment
from riskcore.assessment.goals import Names
from riskcore.assessment.released import ReleasedAssessment
from riskcore.common.progress import Lines
from riskcore.common.settings import ANY as ANY_COLUMN
from riskcore.common.words import printable
from riskcore.core.risk.household import households
from riskcore.data.cells import Cells, refuse_missing, tabulate_coded
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import Records, code_column, plain_value, with_columns
from riskcore.data.files.labels import code_text
from riskcore.data.files.reading import Reading
from riskcore.data.household_rows import HouseholdRows
from riskcore.data.missing_by_design import designs_in
from riskcore.data.profile import profile
from riskcore.data.recode import column_like
from riskcore.data.recode_table import recode
from riskcore.data.source import Source
from riskcore.disclosure.audit import audit
from riskcore.disclosure.audit_result import Audit
from riskcore.disclosure.leaks import Leak, Remedy
from riskcore.disclosure.shared_columns import refuse_other_kinds, values_of
from riskcore.disclosure.two_releases import TwoReleases, assess_patterns, two_releases
from riskcore.models.cell_table import ANY, CellTable
from riskcore.protection.leaks.examination import called_harmless, examine, of_columns
from riskcore.protection.records.pairing import paired
from riskcore.protection.records.units import Households, Prepared, SingleRecords
from riskcore.protection.settings.settings import Settings

_HOUSEHOLDS = "households that are found"


@dataclass(frozen=True, slots=True, eq=False)
class AgainstOriginal:
    """The original records as the settings recode and treat them."""

    original: Source
    settings: Settings
    prepared: Prepared  # with the risks of records or households
    unknown: Names = ()  # columns whose random treatment cannot be made again

    @classmethod
    def of(
        cls, original: Source, settings: Settings, secret: str | None, say: Lines
    ) -> AgainstOriginal:
        """Return the original of a file, recoded and treated."""
        if original.engine is not None:
            raise original.engine.refuse_single("original")
        unknown: Names = ()
        if settings.is_random and secret is None:
            unknown = settings.treated
            settings = replace(settings, treat={})
        settings.check_names(original)
        # The persons of a panel are not counted here.
        unit = SingleRecords if settings.level == "record" else Households
        prepared = unit(original, settings, say, secret).prepare()
        return cls(original, settings, prepared, unknown)

    def refuse_missing(self) -> None:
        """Refuse missing keys."""
        columns = self.prepared.coded.keys(self.settings.variables)
        missing = [column.missing for column in columns]
        refuse_missing(self.settings.variables, missing, self.prepared.coded.n)

    def in_categories(self, source: Source, *, raw: bool = False) -> Source:
        """Return a file with the recoded categories that its codes stand for."""
        # Text of a CSV file is read as numbers where the original has numbers. Files of
        # SPSS and Stata hold recoded numbers as codes with labels.
        own = dict(self.original.records.columns)
        own |= self.prepared.recoded_rows.columns
        source = source.holding(source.numbers_beside(own))
        labels = source.value_labels
        columns = {}
        for name in self.settings.recodings if source.labels is not None else ():
            coded = self.prepared.coded.columns.get(name)
            categories = set() if coded is None else {*values_of(coded)}
            if name not in source.names or not any(
                isinstance(x, str) for x in categories
            ):
                continue
            column = code_column(source.records, name)
            texts = [code_text(plain_value(code)) for code in column.labels]
            named = labels.get(str(name), {})
            values = [x if x in categories else named.get(x, x) for x in texts]
            if not raw or categories >= {*values}:
                table = [*values, None][: len(values) + bool(column.missing)]
                columns[name] = column_like(source.records, name, table, column)
        return source.holding(columns) if columns else source

    def assessed(
        self, data: Any, coded: CodedRecords, names: Names
    ) -> tuple[ReleasedAssessment | None, int]:
        """Return released risks, None if no record fits, and how many fit none."""
        at = self.settings.keys.index(names)
        original = self.prepared.recoded[at]
        kept = [name for name in names if name in coded.columns]
        if self.settings.level == "household":
            # People are counted by the weights of the original.
            coded = replace(coded, weights=None, design=None)
            rows = HouseholdRows.of_keys(coded, kept)
            data, coded = rows.rows(data, kept), rows.codes(coded, kept)
        for name in kept:
            refuse_other_kinds([coded.columns[name], self.prepared.coded.columns[name]])
        designs = designs_in(self.prepared.coded, coded)
        coded = replace(coded, weights=None, designs=designs)
        released = tabulate_coded(coded, kept, "argus", 1.0)
        patterns = _patterns(released, names)
        cell, goals = released.inverse, self.prepared.aims(self.settings)[at].goals
        assessment, matches = assess_patterns(original, patterns, cell, data, goals)
        unknown = coded.n - len(matches)
        if assessment is None:
            return None, unknown
        if coded.households is not None and self.settings.level == "record":
            joint = households(assessment.individual_risk, coded.households[matches])
            assessment = replace(assessment, households=joint)
        return assessment, unknown

    def audit(
        self,
        released: Source,
        names: Names,
        say: Lines,
        holdout: Source | None = None,
        target: Sequence[Hashable] = (),
    ) -> Audit:
        """Audit the released file by a set of keys, beside the recoded original."""
        settings, weight = self.settings, self.settings.weight
        files: list[Any] = [self.original, released, holdout]
        if settings.recodings or settings.treat:
            files[0] = self.prepared.rows.data
            numbers = self.original.numbers(weight)
            if numbers is not None:
                files[0] = with_columns(files[0], {weight: numbers})
            if holdout is not None:
                files[2] = recode(holdout.data, settings.recodings)
        original, shown_file, others = files
        looked_at = Reading(weight_scale=self.original.scale or 1.0)
        return audit(
            Source.like(original, looked_at),
            shown_file,
            names,
            weight,
            holdout=others,
            target=target,
            population=AUTO if settings.population == BOTH else settings.population,
            sampling_fraction=settings.sampling_fraction,
            missing=settings.missing,
            progress=say,
        )

    def together(
        self, released: Source, earlier: Source, names: Names, *, derived: bool
    ) -> TwoReleases:
        """Return what the released file and an earlier one tell together.

        A key that is coarser in the released file than in the earlier one is a key of
        its own there, so that no category is lost; people are then counted by the
        weights, which no model of equal keys describes.
        """
        settings = self.settings
        if settings.level == "household":
            raise ValueError(
                "earlier: two releases are joined by records; leave out "
                "level='household'"
            )
        original = self.prepared.recoded[settings.keys.index(names)]
        before = earlier.data
        finer = {
            name: f"{name} before recoding"
            for name in names
            if name in settings.recodings
            and name in earlier.names
            and not self._is_recoded(before, name)
        }
        if finer:
            own = self.original.records.columns
            numbers = earlier.numbers_beside({name: own[name] for name in finer})
            earlier_records = Records.of(earlier.holding(numbers).data)
            raw = {finer[name]: earlier_records.column(name) for name in finer}
            rules = {name: settings.recodings[name] for name in finer}
            before = {**recode(earlier_records.columns, rules), **raw}
            original = self._with_raw(names, finer)
        keys = (*names, *finer.values())
        return two_releases(original, before, released.data, keys, derived=derived)

    def _is_recoded(self, data: Any, name: Hashable) -> bool:
        """Return whether a file has only categories that the recoding makes."""
        categories = {*values_of(self.prepared.coded.columns[name])}
        return {*values_of(code_column(Records.of(data), name))} <= categories

    def _with_raw(self, names: Names, raw: Mapping[Hashable, str]) -> Assessment:
        """Return the original by keys as recoded and as they were."""
        coded, records = self.prepared.coded, self.original.records
        columns = {name: coded.columns[name] for name in names}
        for name, other in raw.items():
            columns[other] = replace(code_column(records, name), name=other)
        coded = replace(coded, columns=columns, households=None, design=None)
        how = Counting(WEIGHTS, self.settings.method, self.settings.missing)
        return assess_coded(self.original.data, coded, (*names, *raw.values()), how)


def examine_released(
    source: Source,
    settings: Settings,
    against: AgainstOriginal | None,
    coded: CodedRecords | None,
    say: Lines,
    *,
    new_ids: Collection[str],
    shuffled: bool,
) -> tuple[tuple[Leak, ...], Names, tuple[str, ...]]:
    """Return the leaks of a file, columns without a role, and what is not judged."""
    say("examining each column")
    there = source.names
    column_leaks = [
        Leak(
            (name,),
            "identifier",
            f"{printable(str(name))!r} is an identifier, which was to be left out",
            (Remedy("drop it"),),
        )
        for name in settings.with_role("identifier")
        if name in there
    ]
    pair = None
    if against is not None and coded is not None:
        pair = paired(
            against.original, against.prepared, settings, source, coded.columns, new_ids
        )
    if pair is not None:
        examined = examine(
            pair.result,
            pair.shown(say, shuffled=shuffled),
            say=say,
            dropped=pair.dropped,
            renumbered=pair.renumbered,
            shuffled=pair.order is not None,
        )
        leaks = (*(x.under(settings.accepted) for x in column_leaks), *examined.leaks)
        # Values that a secret altered do not show which records are of one household.
        assert against is not None
        unknown = [_HOUSEHOLDS] if against.unknown else []
        unknown += pair.changed
        names = {str(name) for name in against.original.names}
        new = [printable(str(x)) for x in there if str(x) not in names]
        unknown += [f"{name!r} (not in the original)" for name in new]
        return leaks, examined.not_examined, tuple(unknown)
    named = {*settings.roles_of_columns, *settings.suppressible, *settings.treated}
    others = tuple(name for name in there if name not in named)
    if source.engine is None:
        weight = [settings.weight] if settings.weight in there else []
        column_leaks += of_columns(profile(source.data, [*others, *weight]), settings)
    others = tuple(x for x in others if all(x not in leak.of for leak in column_leaks))
    if others and settings.accepted(ANY_COLUMN):
        column_leaks.append(called_harmless(others))
        others = ()
    leaks = tuple(leak.under(settings.accepted) for leak in column_leaks)
    return leaks, others, _not_judged(settings, coded)


def _not_judged(settings: Settings, coded: CodedRecords | None) -> tuple[str, ...]:
    """Return what is judged only record by record, beside the original."""
    asked = {
        "numbers that find people": settings.with_role("numeric") or settings.treat,
        "sensitive values that keys tell": settings.with_role("sensitive"),
        _HOUSEHOLDS: settings.household,
        "hidden values that show": settings.recodings
        or coded is None
        or any(column.missing for column in coded.columns.values()),
    }
    return tuple(what for what, there in asked.items() if there)


def _patterns(cells: Cells, names: Names) -> CellTable:
    """Return the patterns of released records; a key that was left out is blank."""
    table = CellTable.of_margins(cells, cells.codes, cells.records, cells.weight_sum)
    codes = dict(zip(table.keys, table.codes, strict=True))
    assert table.categories is not None
    labels = dict(zip(table.keys, table.categories, strict=True))
    blank = np.full(len(table), ANY, np.int64)
    nothing = np.array([], object)
    categories = tuple(labels.get(name, nothing) for name in names)
    columns, levels = [codes.get(x, blank) for x in names], map(len, categories)
    f, F = table.records, table.weight_sum
    return CellTable(tuple(columns), tuple(levels), f, F, names, categories)
