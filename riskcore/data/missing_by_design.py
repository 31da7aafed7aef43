"""Values that are missing by design: children have no occupation.

Where a key is missing for nearly all records of some categories of another key, its
value is not unknown: nothing was asked. Such values are a category of their own when
records are counted, and match no other value. In the data they stay missing.

Of a category one record in a hundred may have a value, as miscoded records do, or one.
The categories must have 20 records together, or a tenth of a small file: a village that
did not answer is smaller. And chance must not explain it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import lgamma, log
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.warn import warn
from riskcore.common.words import counted, joined, sentence, shortened
from riskcore.data.coded import CodedRecords, Sizes, count_records
from riskcore.data.columns import BY_DESIGN, CodedColumn, comparable, plain_value
from riskcore.data.files.labels import code_text
from riskcore.data.files.reading import DoubtfulCodes
from riskcore.data.wildcard import WILDCARDS

Mask = NDArray[np.bool_]
# What chance makes in more files than this is not a design.
_CHANCE = 1e-5
_FEW = 0.01  # of the records of a category may have a value
_ONE = 50  # in a category of so many records one may
# Smaller categories are of a village, or emptied by suppression; the least share of a
# file of fewer records.
_MANY, _SHARE = 20, 0.1


class Design(NamedTuple):
    """Where a column is missing by design."""

    rows: Mask
    by: Sequence[Hashable]  # the keys whose categories say so
    reason: str  # in words


Designs = Mapping[Hashable, Design]


def missing_by_design(
    columns: Iterable[CodedColumn], keys: Iterable[CodedColumn], sizes: Sizes = None
) -> Designs:
    """Return what is missing by design of columns, by the categories of keys."""
    designs = {}
    lacking = [column for column in columns if column.missing]
    tables = [(key, _records(key, sizes)) for key in (keys if lacking else ())]
    for column in lacking:
        left = np.ones(len(column.codes), bool)
        absent = np.flatnonzero(column.codes == len(column.labels))
        rest, by, reasons = tables, [], []
        while told := [
            said
            for key, records in rest
            if (said := _told(key, records, _records(key, sizes, absent[left[absent]])))
        ]:
            # What the key with most records tells, further keys do not tell again.
            _, key, empty, others = max(told, key=itemgetter(0))
            left &= ~np.append(empty, False)[key.codes]
            rest = [(key, _records(key, sizes, left)) for key, _ in tables]
            by.append(key.name)
            reasons.append(_reason(key, empty, others))
        if reasons:
            rows = ~left & (column.codes == len(column.labels))
            records_by_design = counted(count_records(rows, sizes), "record")
            reason = sentence(
                "missing by design in {records}: {categories}",
                *(records_by_design, joined(", ", reasons)),
            )
            designs[column.name] = Design(rows, by, reason)
    return designs


def knowing_designs(
    coded: CodedRecords, keys: Iterable[Hashable], missing: str
) -> CodedRecords:
    """Return records that know what is missing by design, if it matches any value."""
    if missing not in WILDCARDS or coded.designs is not None:
        return coded
    columns = coded.keys(keys)
    designs = missing_by_design(columns, columns, coded.stands_for)
    for name, design in designs.items():
        warn(f"key {name!r}: {design.reason}; taken as a category", DoubtfulCodes)
    return replace(coded, designs=designs)


def with_designs(
    coded: CodedRecords, keys: Iterable[Hashable], missing: str
) -> CodedRecords:
    """Return records to count: what is missing by design is the last category."""
    if missing not in WILDCARDS:
        return coded
    designs: Designs = knowing_designs(coded, keys, missing).designs or {}
    columns = {}
    for name in coded.columns.keys() & designs.keys():
        column = coded.columns[name]
        levels = len(column.labels)
        unknown = (column.codes == levels) & ~designs[name].rows
        codes = column.codes.astype(np.min_scalar_type(levels + 1)) + unknown
        if (codes == levels).any():  # not recoded to a value
            values = [*map(plain_value, column.labels), BY_DESIGN]
            labels = np.fromiter(values, object, len(values))
            number = count_records(unknown, coded.stands_for)
            columns[name] = CodedColumn(name, codes, labels, number)
    return replace(coded.with_columns(columns), designs={})


def designs_in(coded: CodedRecords, other: CodedRecords) -> Designs:
    """Return the designs of records in another file, by the same categories."""
    designs = {}
    known_designs: Designs = coded.designs or {}
    for name in other.columns.keys() & known_designs.keys():
        column, design = other.columns[name], known_designs[name]
        told = np.zeros(len(column.codes), bool)
        for key in [coded.columns[x] for x in design.by if x in other.columns]:
            records = _records(key, coded.stands_for)[:-1]
            without = _records(key, coded.stands_for, design.rows)[:-1]
            empty = _nearly_all(without, records)
            labels = {*map(comparable, key.labels[empty])}
            theirs = other.columns[key.name]
            same = [comparable(label) in labels for label in theirs.labels]
            told |= np.array([*same, False])[theirs.codes]
        absent = column.codes == len(column.labels)
        designs[name] = design._replace(rows=absent & told)
    return designs


def _records(key: CodedColumn, sizes: Sizes, rows: Any = slice(None)) -> NDArray[Any]:
    """Return how many of some records each category has; the last is missing."""
    each_size = None if sizes is None else sizes[rows]
    return np.bincount(key.codes[rows], each_size, len(key.labels) + 1)


def _reason(key: CodedColumn, empty: Mask, others: int) -> str:
    """Return the categories of a key in words, and how many records have a value."""
    most = 2 * np.count_nonzero(empty) > len(empty) > 2
    named = key.labels[~empty] if most else key.labels[empty]
    texts = shortened(", ".join(code_text(plain_value(x)) for x in named), 40)
    told = sentence(
        "all of {key} except {categories}" if most else "all of {key} {categories}",
        *(key.name, texts),
    )
    if not others:
        return told
    return sentence("{what} ({records} excepted)", told, counted(others, "record"))


def _nearly_all(some: NDArray[Any], records: NDArray[Any]) -> Mask:
    """Return whether nearly all records of each category are among some."""
    most: Mask = records - some <= _FEW * records + (records >= _ONE)
    return most & (records > 0)


def _told(
    key: CodedColumn, records: NDArray[Any], lacking: NDArray[Any]
) -> tuple[float, CodedColumn, Mask, int] | None:
    """Return the categories in which nearly all records lack a value, beyond chance.

    Chance draws the missing values from all records: by the hypergeometric distribution
    these have as few others, for one of the choices of as many categories. The result
    has their records, the key, the categories and the records with a value.
    """
    records, lacking = records[:-1], lacking[:-1]
    empty = _nearly_all(lacking, records)
    if not empty.any():
        return None
    number, draws, n = int(empty.sum()), float(records[empty].sum()), records.sum()
    without, usual = lacking.sum(), n / len(records)
    least = max(min(_MANY, _SHARE * n), number * min(_MANY, usual / 2))
    others = int(draws - lacking[empty].sum())
    # Above the mean no bound is needed: chance has so many others.
    if draws < least or others > draws * (n - without) / n or without == n:
        return None
    # Below it, no term of the distribution is above the last.
    chance = _choices(len(records), number) + log(others + 1) - _choices(n, draws)
    chance += _choices(n - without, others) + _choices(without, draws - others)
    return (draws, key, empty, others) if chance < log(_CHANCE) else None


def _choices(n: float, k: float) -> float:
    """Return the logarithm of the number of choices of k out of n."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
