"""The original and the safe file as tables of the same categories.

Recodings map the original categories to the safe categories. Each file is
counted by distinct records, and all other tables are margins of these counts: the order
of the records does not matter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.comparison.measures import Floats, Ints, fsum, sums_by
from riskcore.data.columns import CodedColumn, plain_value
from riskcore.data.count import count
from riskcore.data.files.labels import Labels, code_text
from riskcore.data.recode import Recoding, recoded_columns

Codes = NDArray[Any]
_NAMED = 3
# Cells of a table that has a place for each combination.
_DENSE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class SharedColumn:
    """A column of both files as codes of the same categories."""

    name: Any
    # Categories of the recoded original and of the safe file, numbers and intervals in
    # order; the code len(labels) is missing.
    labels: tuple[Any, ...]
    shown: tuple[Any, ...]  # the categories with the labels that a file has for them
    own: Codes  # the original before recoding, as codes of ``own_labels``
    own_labels: tuple[Any, ...]
    before: Codes  # the original, recoded, as codes of ``labels``
    after: Codes  # the safe file, as codes of ``labels``
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
        safe_labels: Labels | None = None,
    ) -> SharedColumn:
        """Code both by the categories of the recoded original, then by new ones."""
        name = original.name
        own_labels = tuple(map(plain_value, original.labels))
        groups: list[Any] = [*own_labels, None]
        if recoding is not None:
            groups = recoded_columns({name: groups}, {name: recoding})[name]
        after_labels = tuple(map(plain_value, safe.labels))
        present = [group for group in groups if group is not None]
        if safe_labels is not None and recoding is not None:
            after_labels = _as_categories(present, after_labels, name, safe_labels)
        reason = _apart(present, after_labels, recoding is not None)
        categories = in_order(dict.fromkeys([*present, *after_labels]))
        code = {category: i for i, category in enumerate(categories)}
        missing = len(code)
        kind = np.min_scalar_type(missing)
        to_shared = np.array([missing if x is None else code[x] for x in groups], kind)
        after = np.array([*(code[x] for x in after_labels), missing], kind)
        # The labels of a file are for its own codes.
        code_labels = labels if recoding is None else None
        return cls(
            name,
            tuple(code),
            tuple(
                category if code_labels is None else code_labels.shown(name, category)
                for category in code
            ),
            original.codes,
            own_labels,
            to_shared[original.codes],
            after[safe.codes],
            recoding is not None,
            reason,
        )


def _as_categories(
    groups: Sequence[Any], safe: tuple[Any, ...], name: Any, labels: Labels
) -> tuple[Any, ...]:
    """Return codes of a labelled safe file as categories of the recoded original."""
    if not any(isinstance(category, str) for category in groups):
        return safe
    if any(isinstance(category, str) for category in safe):
        return safe
    value_labels, texts = labels.values.get(str(name), {}), map(code_text, safe)
    return tuple(x if x in groups else value_labels.get(x, x) for x in texts)


def _apart(groups: Sequence[Any], safe: Iterable[Any], recoded: bool) -> str:
    """Return why tables of two columns cannot be compared, empty if they can."""
    categories = set(groups)
    new = [category for category in safe if category not in categories]
    if not new:
        return ""
    named = ", ".join(map(repr, new[:_NAMED])) + (" ..." if len(new) > _NAMED else "")
    kinds = [{isinstance(x, str) for x in values} for values in (groups, new)]
    if all(len(kind) == 1 for kind in kinds) and kinds[0] != kinds[1]:
        what = "text" if True in kinds[1] else "numbers"
        why = f"its categories are {what} only in the safe file"
    else:
        why = f"{len(new)} categories of the safe file are not in the original"
    advice = "the recoding given is another" if recoded else "give its recoding"
    return f"{why}: {named}; {advice}"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The distinct records of a file and their numbers.

    Sums of weights have two parts, multiples of powers of two that add exactly: a
    margin is rounded once, and equal tables have equal bits whatever the other columns.
    """

    codes: tuple[Codes, ...]  # of each column; rising, first column slowest, shape (K,)
    levels: tuple[int, ...]  # numbers of categories, missing being the last one
    records: Ints  # shape (K,)
    high: Floats  # first parts of the sums of weights, or the records, shape (K,)
    low: Floats  # second parts, shape (K,)

    @classmethod
    def of(
        cls,
        codes: Sequence[Codes],
        levels: Sequence[int],
        weight: Floats | None = None,
        stands_for: Ints | None = None,
    ) -> Table:
        """Count rows; each stands for one record, or for ``stands_for`` records."""
        cells = count(codes, levels)
        records = cells.frequency
        if stands_for is not None:
            records = cells.of_groups(stands_for).frequency
        K = len(records)
        high, low = records.astype(np.float64), np.zeros(K)
        if weight is not None:
            high, low = (sums_by(cells.inverse, part, K) for part in parts(weight))
        return cls(tuple(cells.codes), tuple(levels), records, high, low)

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
        sums = [sums_by(number, x, size) for x in (self.records, self.high, self.low)]
        there = sums[0] > 0
        records, high, low = (values[there] for values in sums)
        codes = np.unravel_index(cells[there], levels)
        return Table(tuple(codes), levels, records.astype(np.int64), high, low)

    def by_category(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the cells of one column, ordered by category, shape (L,)."""
        spread = np.zeros(self.levels[0], values.dtype)
        spread[self.codes[0]] = values
        return spread

    @property
    def numbers(self) -> Ints:
        """The number of each cell among all combinations, shape (K,)."""
        return _numbers(self.codes, self.levels)

    def shares(self, cells: Ints) -> Floats:
        """Return the share of the weight in each of the numbered cells."""
        return self.spread(self.weight / fsum(self.weight), cells)

    def spread(self, values: Floats, cells: Ints) -> Floats:
        """Return values of the cells at the numbered cells, 0 where there are none."""
        spread = np.zeros(len(cells))
        spread[np.searchsorted(cells, self.numbers)] = values
        return spread

    def present(self) -> Table:
        """Return the cells in which no column is missing."""
        there = np.ones(len(self.records), bool)
        for column, levels in zip(self.codes, self.levels, strict=True):
            there &= column != levels - 1
        codes = tuple(column[there] for column in self.codes)
        high, low = self.high[there], self.low[there]
        return Table(codes, self.levels, self.records[there], high, low)


def parts(weight: Floats) -> tuple[Floats, Floats]:
    """Cut weights in two parts, so that sums of the first parts are exact."""
    _, exponent = math.frexp(float(weight.max()))
    grid = math.ldexp(1.0, exponent + len(weight).bit_length() - 53)
    high = np.rint(weight / grid) * grid
    return high, weight - high


def _numbers(codes: Sequence[Codes], levels: Sequence[int]) -> Ints:
    number = np.zeros(len(codes[0]), np.int64)
    for column, size in zip(codes, levels, strict=True):
        number = number * size + column
    return number


def shares_of_both(before: Table, after: Table) -> tuple[Floats, Floats]:
    """Return the shares of cells in one table or both, in bits that do not vary."""
    cells = np.union1d(before.numbers, after.numbers)
    return before.shares(cells), after.shares(cells)


def stacked(before: Table, after: Table) -> tuple[tuple[Codes, ...], Ints, Ints]:
    """Return the distinct records of both files, and their numbers in each file."""
    pairs = zip(before.codes, after.codes, strict=True)
    both = count([np.concatenate(pair) for pair in pairs], before.levels)
    cut = len(before.records)
    counts = []
    for place, table in ((both.inverse[:cut], before), (both.inverse[cut:], after)):
        records = np.zeros(len(both.frequency), np.int64)
        records[place] = table.records
        counts.append(records)
    return tuple(both.codes), counts[0], counts[1]


_NUMBER = r"([+-]?[0-9]+(?:\.[0-9]+)?)"
# Each form with the places of its lower and upper end; 0 is an open end.
_FORMS = [
    (re.compile(form.replace("N", _NUMBER)), ends)
    for form, ends in (
        ("N", (1, 1)),
        (r"[\[(]\s*N\s*[,;]\s*N\s*[\])]", (1, 2)),
        (r"N\s*(?:-|\u2013|to|\.\.)\s*N", (1, 2)),
        (r"(?:<|<=|≤|under|below)\s*N", (0, 1)),
        (r"N\s*(?:-|and|or)?\s*(?:under|below|less)", (0, 1)),
        (r"(?:>|>=|≥|over|above)\s*N", (1, 0)),
        (r"N\s*(?:\+|(?:and|or)\s*(?:over|above|more))", (1, 0)),
    )
]


def in_order(categories: Iterable[Any]) -> list[Any]:
    """Return categories by their numbers, or as given if one is not of numbers."""
    given = list(categories)
    spans = []
    for one in given:
        span = _span(one)
        if span is None:
            return given
        spans.append(span)
    return [given[i] for i in sorted(range(len(given)), key=spans.__getitem__)]


def _span(category: Any) -> tuple[float, float] | None:
    """Return the ends of an interval, or a number twice; None of other categories."""
    if isinstance(category, int | float) and not isinstance(category, bool):
        return category, category
    if not isinstance(category, str):
        return None
    for form, ends in _FORMS:
        found = form.fullmatch(category.strip())
        if found is not None:
            low, high = ends
            return (
                float(found[low]) if low else -math.inf,
                float(found[high]) if high else math.inf,
            )
    return None
