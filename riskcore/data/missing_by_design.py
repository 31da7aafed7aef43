"""Values that are missing by design: children have no occupation.

Where a key is missing for all records of some categories of another key, its value is
not unknown: nothing was asked. Such values are a category of their own when records are
counted, and match no other value. In the data they stay missing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.warn import warn
from riskcore.common.words import counted, shortened
from riskcore.data.coded import CodedRecords, Sizes, count_records
from riskcore.data.columns import BY_DESIGN, CodedColumn, plain_value
from riskcore.data.files.labels import code_text
from riskcore.data.files.reading import DoubtfulCodes
from riskcore.data.wildcard import WILDCARDS

Mask = NDArray[np.bool_]
# What chance makes in more files than this is not a design.
_CHANCE = 1e-5
# Rare categories are what suppression empties, if they have fewer records than this.
_MANY = 50
# By name: the rows that are missing by design, and why.
Designs = Mapping[Hashable, tuple[Mask, str]]


def missing_by_design(
    columns: Iterable[CodedColumn], keys: Iterable[CodedColumn], sizes: Sizes = None
) -> Designs:
    """Return what is missing by design of columns, by the categories of keys.

    ``sizes`` says how many records each row stands for.
    """
    designs = {}
    lacking = [column for column in columns if column.missing]
    tables = [
        (key, np.bincount(key.codes, sizes, len(key.labels) + 1)[:-1])
        for key in (keys if lacking else ())
    ]
    for column in lacking:
        absent = column.codes == len(column.labels)
        absent_sizes = None if sizes is None else sizes[absent]
        rows, reasons = np.zeros(len(absent), bool), []
        for key, records in tables:
            table = np.bincount(key.codes[absent], absent_sizes, len(records) + 1)
            empty = _empty(records, table[:-1])
            if empty.any():
                rows |= np.append(empty, False)[key.codes]
                texts = [code_text(plain_value(label)) for label in key.labels[empty]]
                reasons.append(f"{key.name} {shortened(', '.join(texts), 40)}")
        if reasons:
            records_by_design = counted(count_records(rows, sizes), "record")
            reason = f"missing by design in {records_by_design}: all of "
            designs[column.name] = rows, reason + ", all of ".join(reasons)
    return designs


def designs_of(coded: CodedRecords, names: Sequence[Hashable], missing: str) -> Designs:
    """Return what is missing by design where missing matches any value, and say it."""
    keys = coded.keys(names) if missing in WILDCARDS else []
    designs = missing_by_design(keys, keys, coded.stands_for)
    for name, (_, reason) in designs.items():
        warn(f"key {name!r}: {reason}; taken as a category", DoubtfulCodes)
    return designs


def with_designs(coded: CodedRecords, designs: Designs) -> CodedRecords:
    """Return records to count: what is missing by design is the last category."""
    columns = {}
    for name, (rows, _) in designs.items():
        column = coded.columns[name]
        levels = len(column.labels)
        unknown = (column.codes == levels) & ~rows
        codes = column.codes.astype(np.min_scalar_type(levels + 1)) + unknown
        if (codes == levels).any():  # not recoded to a value
            labels = np.empty(levels + 1, object)
            labels[:-1] = [*map(plain_value, column.labels)]
            labels[-1] = BY_DESIGN
            missing = count_records(unknown, coded.stands_for)
            columns[name] = CodedColumn(name, codes, labels, missing)
    return coded.with_columns(columns)


def _empty(records: NDArray[Any], lacking: NDArray[Any]) -> Mask:
    """Return the categories in which all records lack a value.

    That may be chance: for any choice of as many categories it is at most the share of
    missing values, to the power of their records.
    """
    empty: Mask = records == lacking
    number, draws = np.count_nonzero(empty), records[empty].sum()
    if not number or draws < number * min(_MANY, records.mean() / 2):
        return np.zeros(len(records), bool)
    chance = number * math.log(len(records))
    chance += draws * math.log(lacking.sum() / records.sum())
    empty &= chance < math.log(_CHANCE)
    return empty
