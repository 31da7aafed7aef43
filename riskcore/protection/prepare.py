"""The records before suppression: recoded and treated, with their risks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
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
from riskcore.data.blank import without_notes
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import (
    CodedColumn,
    Records,
    code_column,
    code_keys,
    exact_numbers,
    with_columns,
)
from riskcore.data.files.reading import DoubtfulCodes
from riskcore.data.recode import Recoding, recoded_columns
from riskcore.data.source import Source
from riskcore.protection.settings import Settings
from riskcore.protection.suppression.by_household import Units
from riskcore.protection.suppression.key_sets import assess_key_sets, coded_records
from riskcore.protection.suppression.suppress import Aim
from riskcore.protection.treatments.records import Treated, treat_records


@dataclass(frozen=True)
class Prepared:
    """Rows before suppression.

    Attributes
    ----------
    recoded_data : frame or mapping
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

    recoded_data: Any
    coded: CodedRecords
    columns: dict[Any, Any]
    original: list[Assessment]
    recoded: list[Assessment]
    treated: Treated | None = None
    again: bool = False

    @cached_property
    def data(self) -> Any:
        """The rows with the recoded and the treated columns."""
        if self.treated is None:
            return self.recoded_data
        return without_notes(with_columns(self.recoded_data, self.treated.columns))

    @cached_property
    def assessed(self) -> list[Assessment]:
        """The assessments ``recoded`` with the data that they are of."""
        if not self.again:
            return self.recoded
        return [replace(one, data=self.data) for one in self.recoded]

    def aims(self, settings: Settings) -> list[Aim]:
        """Return what makes records safe, by set of keys."""
        sensitive = []
        if (settings.l, settings.t) != (None, None):
            records = Records.of(self.data)
            sensitive = [
                in_order(column) if column.name in settings.ordered else column
                for column in code_keys(records, settings.with_role("sensitive"))
            ]
        return [Aim.of(assessment, settings, sensitive) for assessment in self.recoded]


@dataclass(frozen=True, slots=True)
class Held:
    """The columns of a source as somebody holds them already.

    Attributes
    ----------
    numbers : callable
        Returns a column as `numbers_of` does.
    codes : callable
        Returns a column as `code_column` does.
    """

    numbers: Callable[[Hashable], NDArray[np.float64]]
    codes: Callable[[Hashable], CodedColumn]


def prepare(
    source: Source,
    settings: Settings,
    say: Lines,
    secret: str | None,
    coded: CodedRecords | None = None,
    original: list[Assessment] | None = None,
    held: Held | None = None,
) -> Prepared:
    """Recode and treat the records of a source.

    ``coded`` and ``original`` if they are coded and assessed already; ``held`` are the
    columns of the source.
    """
    if coded is None:
        coded = code_source(source, settings, say)
    rules = settings.recodings
    before = prepare_rows(source.data, coded, settings, rules, say, original)
    if not settings.treat:
        return before
    with quiet():
        say("treating columns")
        return _with_treatments(before, source, settings, secret, held)


def code_source(source: Source, settings: Settings, say: Lines) -> CodedRecords:
    """Read the file, if it is one, and return its keys, weights and households."""
    if source.path is not None:
        say(f"reading {source.path}")
    return coded_records(source.data, settings, source.numbers(settings.weight))


def prepare_rows(
    data: Any,
    coded: CodedRecords,
    settings: Settings,
    recodings: Mapping[Any, Recoding],
    say: Lines,
    original: list[Assessment] | None = None,
) -> Prepared:
    """Recode rows; ``recodings`` are those for which there are columns."""
    if original is None:
        say("assessing the original file")
        original = assess_key_sets(data, coded, settings)
    recoded = original
    columns: dict[Any, Any] = {}
    if settings.recodings:
        with quiet():
            say("recoding")
            columns = recoded_columns(data, recodings, coded.columns)
            data = without_notes(with_columns(data, columns))
            coded = coded.recoded(columns)
            recoded = assess_key_sets(data, coded, settings, original=original)
    return Prepared(data, coded, columns, original, recoded)


def prepare_households(
    source: Source, coded: CodedRecords, settings: Settings, say: Lines
) -> tuple[Units, Prepared]:
    """Recode one row of each household; return the households and their rows."""
    say("finding households")
    units, inner = Units.found(coded, settings), settings.of_rows()
    rows = units.rows(source.data, inner.suppressible)
    if settings.weight is not None:
        assert coded.weights is not None
        rows[settings.weight] = coded.weights[units.first]
    recodings = {k: rule for k, rule in settings.recodings.items() if k in rows}
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
    before: Prepared,
    source: Source,
    settings: Settings,
    secret: str | None,
    held: Held | None,
) -> Prepared:
    """Return rows with their treated columns, assessed again if the risk changes."""
    data, coded, recoded = before.data, before.coded, before.recoded
    treated = treated_columns(source, data, coded, recoded, settings, secret, held)
    coded = treated.recoded(coded)
    again = not {*settings.variables, settings.weight}.isdisjoint(treated.after)
    if again:
        recoded = assess_key_sets(data, coded, settings, original=recoded)
    return replace(before, coded=coded, recoded=recoded, treated=treated, again=again)


def treated_columns(
    source: Source,
    data: Any,
    coded: CodedRecords,
    assessments: Sequence[Assessment],
    settings: Settings,
    secret: str | None,
    held: Held | None = None,
) -> Treated:
    """Return the treated columns of recoded data; ``assessments`` are of them."""
    rules = [rule for each in settings.treat.values() for rule in each]
    risk: NDArray[np.float64] | None = None
    if any(rule.by_risk for rule in rules):
        risk = np.maximum.reduce([one.individual_risk for one in assessments])
    return treat_records(
        data,
        coded,
        settings,
        partial(numbers_of, source, data) if held is None else held.numbers,
        partial(_codes_of, data, coded, settings, held),
        decimal=source.reading.decimal,
        risk=risk,
        secret=secret if settings.is_random else None,
    )


def _codes_of(
    data: Any,
    coded: CodedRecords,
    settings: Settings,
    held: Held | None,
    name: Hashable,
) -> CodedColumn:
    """Return a column of recoded data as codes."""
    if name in settings.recodings and name in coded.columns:
        return coded.columns[name]
    if held is None or name in settings.recodings:
        return code_column(Records.of(data), name)
    return held.codes(name)


def numbers_of(source: Source, data: Any, name: Hashable) -> NDArray[np.float64]:
    """Return a column of the data as numbers, nan for missing."""
    numbers = source.numbers(name)
    given = data if numbers is None else {name: numbers}
    return exact_numbers(Records.of(given), name)
