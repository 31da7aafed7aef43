"""The records before suppression: recoded and treated, with their risks."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.assessment import Assessment
from riskcore.assessment.cell_risk import PopulationBelowSample
from riskcore.assessment.diversity import in_order
from riskcore.common.progress import Lines
from riskcore.data.blank import blank, without_notes
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import Records, code_keys, exact_numbers, with_columns
from riskcore.data.files.reading import DoubtfulCodes
from riskcore.data.recode import Recoding, recoded_columns
from riskcore.data.source import Source
from riskcore.protection.records.treated import Treated, treat_records
from riskcore.protection.settings.settings import Settings
from riskcore.protection.suppression.by_household import Units
from riskcore.protection.suppression.key_sets import assess_key_sets, coded_records
from riskcore.protection.suppression.suppress import Aim, Masks


@dataclass(frozen=True)
class Prepared:
    """Rows before suppression.

    Attributes
    ----------
    recoded_rows : Records
        With the recoded columns, but before treatments.
    coded : CodedRecords
        The rows as codes, recoded and treated.
    columns : dict of column name to column
        The recoded columns.
    original, recoded : list of Assessment
        By set of keys, before recoding, and after recodings and treatments. The data
        that they hold are not treated yet, see `assessed`.
    treated : Treated or None
    again : bool
        Whether a key or the weight is treated, so that risks were computed again.
    """

    recoded_rows: Records
    coded: CodedRecords
    columns: dict[Any, Any]
    original: list[Assessment]
    recoded: list[Assessment]
    treated: Treated | None = None
    again: bool = False

    @cached_property
    def rows(self) -> Records:
        """The rows with the recoded and the treated columns."""
        return with_treated(self.recoded_rows, self.coded, self.treated)

    @cached_property
    def assessed(self) -> list[Assessment]:
        """The assessments ``recoded`` with the data that they are of."""
        if not self.again:
            return self.recoded
        return [replace(one, data=self.rows.data) for one in self.recoded]

    def aims(self, settings: Settings) -> list[Aim]:
        """Return what makes records safe, by set of keys."""
        sensitive = []
        if (settings.l, settings.t) != (None, None):
            sensitive = [
                in_order(column) if column.name in settings.ordered else column
                for column in code_keys(self.rows, settings.with_role("sensitive"))
            ]
        return [Aim.of(assessment, settings, sensitive) for assessment in self.recoded]


def prepare(
    source: Source,
    settings: Settings,
    say: Lines,
    secret: str | None,
    original: list[Assessment] | None = None,
) -> Prepared:
    """Recode and treat the records of a source.

    ``original`` are the assessments of the source, if they are known.
    """
    coded = code_source(source, settings, say)
    rules = settings.recodings
    before = prepare_rows(source.records, coded, settings, rules, say, original)
    if not settings.treat:
        return before
    with quiet():
        say("treating columns")
        return _with_treatments(before, source, settings, secret)


def code_source(source: Source, settings: Settings, say: Lines) -> CodedRecords:
    """Read the file, if it is one, and return its keys, weights and households."""
    if source.path is not None:
        say(f"reading {source.path}")
    return coded_records(source.records, settings, source.numbers(settings.weight))


def prepare_rows(
    rows: Records,
    coded: CodedRecords,
    settings: Settings,
    recodings: Mapping[Any, Recoding],
    say: Lines,
    original: list[Assessment] | None = None,
) -> Prepared:
    """Recode rows; ``recodings`` are those for which there are columns."""
    if original is None:
        say("assessing the original file")
        original = assess_key_sets(rows.data, coded, settings)
    recoded = original
    columns: dict[Any, Any] = {}
    if settings.recodings:
        with quiet():
            say("recoding")
            rows, coded, columns = recode_rows(rows, coded, recodings)
            recoded = assess_key_sets(rows.data, coded, settings, original=original)
    return Prepared(rows, coded, columns, original, recoded)


def recode_rows(
    rows: Records, coded: CodedRecords, recodings: Mapping[Any, Recoding]
) -> tuple[Records, CodedRecords, dict[Any, Any]]:
    """Return recoded rows, with their keys as codes, and the recoded columns."""
    columns = recoded_columns(rows, recodings, coded.columns)
    coded = coded.recoded(columns)
    data = without_notes(with_columns(rows.data, columns))
    known = {name: one for name, one in coded.columns.items() if name in columns}
    return rows.with_data(data, columns, known), coded, columns


def with_treated(
    rows: Records, coded: CodedRecords, treated: Treated | None
) -> Records:
    """Return rows with their treated columns; ``coded`` are their keys."""
    if treated is None:
        return rows
    data = without_notes(with_columns(rows.data, treated.columns))
    known = {n: one for n, one in coded.columns.items() if n in treated.after}
    return rows.with_data(data, treated.after, known)


def blanked(rows: Records, coded: CodedRecords, masks: Masks) -> Records:
    """Return rows without the masked values; ``coded`` are their keys, blanked."""
    known = {name: one for name, one in coded.columns.items() if name in masks}
    return rows.with_data(blank(rows, masks), masks, known)


def prepare_households(
    source: Source, coded: CodedRecords, settings: Settings, say: Lines
) -> tuple[Units, Prepared]:
    """Recode one row of each household; return the households and their rows."""
    say("finding households")
    units, inner = Units.found(coded, settings), settings.of_rows()
    columns = units.rows(source.records, inner.suppressible)
    if settings.weight is not None:
        assert coded.weights is not None
        columns[settings.weight] = coded.weights[units.first]
    rows = Records.of(columns)
    recodings = {k: rule for k, rule in settings.recodings.items() if k in columns}
    of_rows = coded_records(rows, inner)
    return units, prepare_rows(rows, of_rows, inner, recodings, say)


@contextmanager
def quiet() -> Iterator[None]:
    """Give no warning again that was given for the original file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationBelowSample)
        warnings.simplefilter("ignore", DoubtfulCodes)
        yield


def _with_treatments(
    before: Prepared, source: Source, settings: Settings, secret: str | None
) -> Prepared:
    """Return rows with their treated columns, assessed again if the risk changes."""
    coded, recoded = before.coded, before.recoded
    rows = before.recoded_rows
    treated = treated_columns(source, rows, coded, recoded, settings, secret)
    coded = treated.recoded(coded)
    again = not {*settings.variables, settings.weight}.isdisjoint(treated.after)
    if again:
        recoded = assess_key_sets(rows.data, coded, settings, original=recoded)
    return replace(before, coded=coded, recoded=recoded, treated=treated, again=again)


def treated_columns(
    source: Source,
    rows: Records,
    coded: CodedRecords,
    assessments: Sequence[Assessment],
    settings: Settings,
    secret: str | None,
) -> Treated:
    """Return the treated columns of recoded rows; ``assessments`` are of them."""
    rules = [rule for each in settings.treat.values() for rule in each]
    risk: NDArray[np.float64] | None = None
    if any(rule.by_risk for rule in rules):
        risk = np.maximum.reduce([one.individual_risk for one in assessments])
    return treat_records(
        rows,
        coded,
        settings,
        partial(numbers_of, source, rows),
        decimal=source.reading.decimal,
        risk=risk,
        secret=secret if settings.is_random else None,
    )


def numbers_of(source: Source, rows: Records, name: Hashable) -> NDArray[np.float64]:
    """Return a column of the rows as numbers, nan for missing."""
    numbers = source.numbers(name)
    return exact_numbers(rows if numbers is None else Records.of({name: numbers}), name)
