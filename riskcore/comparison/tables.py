"""Two files as tables of the same categories, the original and the safe one.

A category of the original is mapped by the recodings to that of the safe file. Nothing
rests on the order of the records: each file is counted by its distinct records, and all
else is a margin of these counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.comparison.measures import Floats, Ints, fsum
from riskcore.data.columns import CodedColumn, plain_value
from riskcore.data.count import count
from riskcore.data.files.labels import Labels
from riskcore.data.recode import Recoding, recoded_columns

Codes = NDArray[Any]
_NAMED = 3
# Cells of a table that has a place for each combination.
_DENSE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class SharedColumn:
    """A column of both files as codes of the same categories."""

    name: Any
    # the categories: those of the original, recoded, then those of the safe file alone.
    # A code of ``len(labels)`` is missing
    labels: tuple[Any, ...]
    shown: tuple[Any, ...]  # the same with the labels that a file has for its codes
    # shape (n,): The original before recoding, as codes of ``own_labels``;
    # ``len(own_labels)`` is missing
    own: Codes
    own_labels: tuple[Any, ...]
    # shape (n,): The original, recoded, and the safe file, as codes of ``labels``
    before: Codes
    after: Codes
    recoded: bool  # whether a recoding is known
    reason: str  # why the two have no categories in common; empty if they do

    @property
    def levels(self) -> int:
        """Number of categories, missing being one."""
        return len(self.labels) + 1

    @classmethod
    def of(
        cls,
        original: CodedColumn,
        safe: CodedColumn,
        recoding: Recoding | None,
        labels: Labels | None = None,
    ) -> SharedColumn:
        """Code both on the categories of the original as recoded, and on new ones."""
        name = original.name
        own_labels = tuple(map(plain_value, original.labels))
        groups: list[Any] = [*own_labels, None]
        if recoding is not None:
            groups = recoded_columns({name: groups}, {name: recoding})[name]
        after_labels = tuple(map(plain_value, safe.labels))
        present = [group for group in groups if group is not None]
        code = {one: i for i, one in enumerate(dict.fromkeys(present))}
        reason = _apart(present, after_labels, recoding is not None)
        for one in after_labels:
            code.setdefault(one, len(code))
        missing = len(code)
        kind = np.min_scalar_type(missing)
        to_shared = np.array(
            [missing if one is None else code[one] for one in groups], kind
        )
        after = np.array([*(code[one] for one in after_labels), missing], kind)
        # The labels of a file are those of its own codes.
        known = labels if recoding is None else None
        return cls(
            name,
            tuple(code),
            tuple(one if known is None else known.shown(name, one) for one in code),
            original.codes,
            own_labels,
            to_shared[original.codes],
            after[safe.codes],
            recoding is not None,
            reason,
        )


def _apart(groups: Sequence[Any], safe: Iterable[Any], recoded: bool) -> str:
    """Say why tables of two columns cannot be compared; nothing if they can."""
    known = set(groups)
    new = [one for one in safe if one not in known]
    if not new:
        return ""
    named = ", ".join(map(repr, new[:_NAMED])) + (" ..." if len(new) > _NAMED else "")
    kinds = [{isinstance(one, str) for one in each} for each in (groups, new)]
    if all(len(kind) == 1 for kind in kinds) and kinds[0] != kinds[1]:
        what = "text" if True in kinds[1] else "numbers"
        why = f"its categories are {what} in the safe file alone"
    else:
        why = f"{len(new)} categories of the safe file are not in the original"
    advice = "the recoding given is another" if recoded else "give its recoding"
    return f"{why}: {named}; {advice}"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The distinct records of a file, with how many there are of each.

    Sums of weights are held in two parts, whole multiples of powers of two, of which
    sums are exact: so is every margin but for one rounding, and equal tables have equal
    bits whatever the other columns are.
    """

    # shape (K,): One for each column; the cells rise, the first column slowest
    codes: tuple[Codes, ...]
    levels: tuple[int, ...]  # numbers of categories, missing being the last one
    records: Ints  # shape (K,)
    # shape (K,): The parts of the sums of the weights; the records if there are none
    high: Floats
    low: Floats

    @classmethod
    def of(
        cls,
        codes: Sequence[Codes],
        levels: Sequence[int],
        weight: Floats | None = None,
        stands_for: Ints | None = None,
    ) -> Table:
        """Count rows; each stands for one record, or for as many as it is said."""
        found = count(codes, levels)
        records = found.frequency
        if stands_for is not None:
            records = found.of_groups(stands_for).frequency
        K = len(records)
        high, low = records.astype(np.float64), np.zeros(K)
        if weight is not None:
            high, low = (_sums(found.inverse, part, K) for part in parts(weight))
        return cls(tuple(found.codes), tuple(levels), records, high, low)

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.records.sum())

    @property
    def weight(self) -> Floats:
        """The weight of each cell, shape (K,)."""
        return self.high + self.low

    def margin(self, *columns: int) -> Table:
        """Return the table of some of the columns."""
        levels = tuple(self.levels[i] for i in columns)
        number = _numbers([self.codes[i] for i in columns], levels)
        size = math.prod(levels)
        if size > max(4 * len(number), _DENSE):
            cells, number = np.unique(number, return_inverse=True)
            size = len(cells)
        else:
            cells = np.arange(size)
        sums = [_sums(number, one, size) for one in (self.records, self.high, self.low)]
        there = sums[0] > 0
        records, high, low = (one[there] for one in sums)
        codes = np.unravel_index(cells[there], levels)
        return Table(tuple(codes), levels, records.astype(np.int64), high, low)

    def spread(self) -> Floats:
        """Return the weight of each category of a table of one column, shape (L,)."""
        weight = np.zeros(self.levels[0])
        weight[self.codes[0]] = self.weight
        return weight

    def spread_records(self) -> Ints:
        """Return the records of each category of a table of one column, shape (L,)."""
        records = np.zeros(self.levels[0], np.int64)
        records[self.codes[0]] = self.records
        return records

    @property
    def numbers(self) -> Ints:
        """The number of each cell among all combinations, shape (K,)."""
        return _numbers(self.codes, self.levels)

    def present(self) -> Table:
        """Return the cells in which no column is missing."""
        there = np.ones(len(self.records), bool)
        for codes, levels in zip(self.codes, self.levels, strict=True):
            there &= codes != levels - 1
        left = tuple(one[there] for one in self.codes)
        high, low = self.high[there], self.low[there]
        return Table(left, self.levels, self.records[there], high, low)


def parts(weight: Floats) -> tuple[Floats, Floats]:
    """Cut weights in two, so that sums of the first parts are exact.

    Those of the second ones are, too, unless weights differ by many powers of ten.
    """
    _, exponent = math.frexp(float(weight.max()))
    grid = math.ldexp(1.0, exponent + len(weight).bit_length() - 53)
    high = np.rint(weight / grid) * grid
    return high, weight - high


def _sums(number: NDArray[Any], values: NDArray[Any], size: int) -> Floats:
    return np.asarray(np.bincount(number, values, size), np.float64)


def _numbers(codes: Sequence[Codes], levels: Sequence[int]) -> Ints:
    number = np.zeros(len(codes[0]), np.int64)
    for one, size in zip(codes, levels, strict=True):
        number = number * size + one
    return number


def shares_of_both(before: Table, after: Table) -> tuple[Floats, Floats]:
    """Return the shares of the weight in the cells that occur in one table or both.

    Equal tables give equal bits.
    """
    numbers = before.numbers, after.numbers
    cells = np.union1d(*numbers)
    shares = []
    for table, number in zip((before, after), numbers, strict=True):
        share = np.zeros(len(cells))
        total = fsum(table.weight)
        share[np.searchsorted(cells, number)] = table.weight / total
        shares.append(share)
    return shares[0], shares[1]


def stacked(before: Table, after: Table) -> tuple[tuple[Codes, ...], Ints, Ints]:
    """Return the distinct records of both files, and how many each has of them."""
    pairs = zip(before.codes, after.codes, strict=True)
    both = count([np.concatenate(pair) for pair in pairs], before.levels)
    cut = len(before.records)
    found = []
    for place, table in ((both.inverse[:cut], before), (both.inverse[cut:], after)):
        records = np.zeros(len(both.frequency), np.int64)
        records[place] = table.records
        found.append(records)
    return tuple(both.codes), found[0], found[1]
