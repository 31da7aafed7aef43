"""The numbers of a protected file that an intruder may know, before and after."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from contextlib import suppress

import numpy as np

from riskcore.assessment.exact_matches import code_numbers
from riskcore.common.arrays import Floats, Integers
from riskcore.data.cells import cells_of
from riskcore.data.coded import CodedRecords
from riskcore.data.columns import Records, code_column
from riskcore.disclosure.number_links import KnownNumbers
from riskcore.disclosure.shared_columns import coded_numbers
from riskcore.protection.records.protected_records import ProtectedRecords


def alone_with_numbers(
    result: ProtectedRecords, names: Iterable[Hashable], gone: Collection[str]
) -> int:
    """Return how many records are alone with keys, a blank for any, and numbers."""
    keys = {name: code_column(result.rows, name) for name in _keys_left(result, gone)}
    after = {name: numbers_of(result, name, after=True) for name in names}
    numbers = {x.name: x for x in code_numbers(Records.of(after), [*after])}
    coded = CodedRecords(result.n, {**keys, **numbers}, designs={})
    cells = cells_of(coded, [*keys, *numbers], "wildcard", 1.0)
    return int(cells.records[cells.sample_frequency == 1].sum())


def known_numbers(result: ProtectedRecords, gone: Collection[str]) -> KnownNumbers:
    """Return what links by keys and numbers are looked for in, and what rows tell."""
    settings = result.settings
    treated = () if result.treated is None else (*result.treated.after,)
    keys = {name: codes_of(result, name) for name in _keys_left(result, gone)}
    numbers = [name for name in result.numbers_known if str(name) not in gone]
    taken = {*settings.variables, *numbers, settings.weight}
    told = dict.fromkeys((*settings.with_role("sensitive"), *treated))
    others = {}
    for name in told:
        if name not in taken and str(name) not in gone:
            before, after = (np.where(x < 0, np.nan, x) for x in codes_of(result, name))
            others[name] = before, after
    return KnownNumbers(
        keys,
        {
            name: (numbers_of(result, name), numbers_of(result, name, after=True))
            for name in numbers
        },
        others,
        np.arange(result.n),
        {name: numbers_of(result, name, after=True) for name in _in_classes(result)},
        dict(_others_as_numbers(result, gone)),
        {x: numbers_of(result, x) for x in result.numbers_known if x not in numbers},
    )


def _others_as_numbers(
    result: ProtectedRecords, gone: Collection[str]
) -> Iterator[tuple[Hashable, tuple[Floats, Floats]]]:
    """Yield other columns of numbers, as released, if known ones were altered."""
    settings, known_columns = result.settings, {*result.numbers_known}
    altered = {*settings.treated, *result.masks}
    if not any(column in altered or str(column) in gone for column in known_columns):
        return
    roles = settings.weight, settings.household, settings.person
    known_columns |= {*settings.variables, *roles}
    for name in result.rows.columns:
        if name not in known_columns and str(name) not in gone:
            with suppress(TypeError):  # values without an order
                coded = code_column(result.rows, name)
                column = coded_numbers(coded, result.source.reading.decimal)
                if column is not None:
                    yield name, (column, column)


def _in_classes(result: ProtectedRecords) -> Iterator[Hashable]:
    """Yield the treated numbers that got the value of their class, by a public rule."""
    treated = {} if result.treated is None else result.treated.after
    for names, rules in result.settings.treat.items():
        if not any(rule.alters for rule in rules):
            yield from (name for name in names if name in treated)


def _keys_left(result: ProtectedRecords, gone: Collection[str]) -> list[Hashable]:
    """Return the keys of the file; all keys if it has none."""
    keys = result.settings.variables
    return [name for name in keys if str(name) not in gone] or [*keys]


def codes_of(result: ProtectedRecords, name: Hashable) -> tuple[Integers, Integers]:
    """Return the codes of a column as recoded, and as released; -1 for missing."""
    treated = result.treated
    if treated is not None and name in treated.after:
        both = np.concatenate([treated.before[name], treated.after[name]])
        values, codes = np.unique(both, return_inverse=True)
        codes = np.where(np.isnan(values)[codes.reshape(-1)], -1, codes.reshape(-1))
        before, after = np.split(codes.astype(np.int64), 2)
    else:
        before = after = result.prepared.codes(name).astype(np.int64)
    if name in result.masks:
        after = np.where(result.masks[name], -1, after)
    return before, after


def numbers_of(
    result: ProtectedRecords, name: Hashable, *, after: bool = False
) -> Floats:
    """Return a column as numbers, nan where it is missing or was blanked."""
    treated = result.treated
    if treated is not None and name in treated.after:
        numbers = (treated.after if after else treated.before)[name]
    else:
        numbers = result.numbers[name]
    if after and name in result.masks:
        numbers = np.where(result.masks[name], np.nan, numbers)
    return numbers
