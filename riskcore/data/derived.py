"""Columns of a file that other columns determine: what a blanked key is found from.

A column that is a copy, a recode or a square of a key tells the key's value, and a
household size that counts the members in the file can be counted again. A column is
listed if no record contradicts it, and if chance does not explain that: see `derived`.
"""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import in_threads, usual_threads
from riskcore.data.columns import (
    CodedColumn,
    Records,
    code_column,
    code_keys,
    household_codes,
)
from riskcore.data.determined_kernels import compare_alike

Kind: TypeAlias = Literal["equal", "square", "function", "household count"]
Codes = NDArray[np.int64]

# A column that agrees by chance this rarely is not listed.
CHANCE = 1e-6
# Records that are looked at first: mostly they contradict.
_FIRST = 20_000
# Of these, so many are compared before all: those with the rarest values of a column.
_RARE = 64
# Two columns determine a third only if each has at most so many values.
_MOST_OF_PAIR = 1_000
# So many columns are paired to find hidden values: 1,770 pairs.
_MOST_PAIRED = 60


@dataclass(frozen=True, slots=True)
class Derived:
    """A column that others determine; the column of households for a household count.

    Of "equal" columns each determines the other; a "square" is of numbers. A "household
    count" is a function of the number of records of the household, mostly this number.
    """

    column: Hashable
    of: tuple[Hashable, ...]
    kind: Kind


def derived(data: Any, household: Hashable | None = None) -> tuple[Derived, ...]:
    """Return the columns that another column determines, in their order.

    All columns are compared, except that the household column determines no other, and
    that columns of values without an order are left out. Of two equal columns the later
    is listed, and nothing is listed of it again.

    Records in which one of the columns is missing are left out. If y did not depend on
    x, every further record with a value of x would have the y of the first by the share
    of this y. The product of these shares is the chance that x determines y; for two
    columns, it is taken given either of them. The commonest value of x is left out:
    that all without an income pay no tax does not make the tax a function of income. A
    column is listed if its chance is below 10^-6. With households only their first
    records count there, for members are alike.
    """
    records = Records.of(data)
    names = [name for name in records.columns if name != household]
    groups = None if household is None else household_codes(records, household)
    columns = {column.name: column for column in _coded(records, names)}
    return derived_of_coded(columns, groups, household)


def _coded(records: Records, names: list[Hashable]) -> Iterator[CodedColumn]:
    """Yield the coded columns, without those whose values have no order."""
    try:
        yield from code_keys(records, names) if names else ()
    except TypeError:
        for name in names:
            with suppress(TypeError):
                yield code_column(records, name)


def related_columns(
    relations: Iterable[Derived],
    keys: Iterable[Hashable],
    without: Container[Hashable] = (),
) -> dict[Hashable, tuple[Hashable, ...]]:
    """Return the columns that would give the values of keys away, by key.

    Of each key these are the columns that determine it, and the columns that it
    determines and that are not keys: a key that it determines is known to an intruder
    anyhow, and counted. Columns in ``without``, such as the weight, are not blanked.
    """
    single = [x for x in relations if x.kind != "household count"]
    alike = {x.column: x.of[0] for x in single if x.kind != "function"}
    first = {name: alike.get(name, name) for x in single for name in (*x.of, x.column)}
    rules = {(x.of[0], x.column) for x in single if x.kind == "function"}

    def determines(x: Hashable, y: Hashable) -> bool:
        return first[x] == first[y] or (first[x], first[y]) in rules

    names = [name for name in dict.fromkeys(keys) if name in first]
    related = {
        key: tuple(
            other
            for other in first
            if other != key
            and other not in without
            and (
                determines(other, key)
                or (other not in names and determines(key, other))
            )
        )
        for key in names
    }
    return {key: others for key, others in related.items() if others}


def derived_of_coded(
    columns: Mapping[Hashable, CodedColumn],
    households: Codes | None = None,
    household: Hashable | None = None,
) -> tuple[Derived, ...]:
    """Return the columns that others determine, of columns as codes; see `derived`."""
    candidates = [entry for entry in columns.values() if len(entry.labels) > 1]
    result = _Search(candidates, households).single()
    if households is not None:
        result += _counts(candidates, households, household)
    place = {name: i for i, name in enumerate(columns)}
    return tuple(sorted(result, key=lambda entry: place[entry.column]))


def pairs_that_determine(
    columns: Mapping[Hashable, CodedColumn],
    hidden: Mapping[Hashable, CodedColumn],
    households: Codes | None = None,
) -> Iterator[Derived]:
    """Yield pairs of columns that determine a column hidden since, see `derived`."""
    few = [x for x in columns.values() if 1 < len(x.labels) <= _MOST_OF_PAIR]
    few = sorted(few, key=lambda column: -len(column.labels))[:_MOST_PAIRED]
    search = _Search([*few, *hidden.values()], households)
    targets = range(len(few), len(search.columns))
    alone = {(i, j) for i in range(len(few)) for j in targets if search.one(i, j)}
    for a, b in combinations(range(len(few)), 2):
        names = few[a].name, few[b].name
        small = _ranked(_both(search.small[a], search.small[b]))
        for j in targets:
            name = search.columns[j].name
            if name in names or not alone.isdisjoint(((a, j), (b, j))):
                continue
            if _table(small, search.small[j]) is not None and search.two(a, b, j):
                yield Derived(name, names, "function")


class _Search:
    """The search for columns that others determine, on some records first."""

    def __init__(self, columns: list[CodedColumn], households: Codes | None) -> None:
        self.columns = columns
        self.firsts: Any = slice(None)  # of households, if there are any
        if households is not None:
            self.firsts = np.unique(households, return_index=True)[1]
        n = len(columns[0].codes) if columns else 0
        rows = np.arange(n)[self.firsts]
        places = np.linspace(0, len(rows) - 1, min(len(rows), _FIRST))
        self.sample = rows[np.unique(places.astype(np.int64))]
        self.all_compared = len(self.sample) == len(rows)
        self.small = np.empty((len(columns), len(self.sample)), np.int32)
        self.rare = np.empty((len(columns), min(len(self.sample), _RARE)), np.int64)
        for j, column in enumerate(columns):
            codes = column.signed
            if len(self.sample) < n:
                codes = _ranked(codes[self.sample])
            self.small[j] = codes
            counts = np.bincount(codes + 1)
            counts[0] = len(codes) + 1  # missing
            rarity = counts[codes + 1]
            self.rare[j] = np.argpartition(rarity, self.rare.shape[1] - 1)[:_RARE]
        self.levels = int(self.small.max(initial=0)) + 1
        self.logs = np.log(np.maximum(np.arange(len(self.sample) + 1), 1))

    def single(self) -> list[Derived]:
        """Return the columns that one other determines."""
        relations: list[Derived] = []
        calls = [(i,) for i in range(len(self.columns))]
        perhaps = enumerate(in_threads(usual_threads(), self._perhaps, calls))
        by = {(i, j) for i, others in perhaps for j in others if self.one(i, j)}
        copies = {j for i, j in by if i < j and (j, i) in by}
        for i, j in sorted(by):
            x, y = self.columns[i], self.columns[j]
            equal = (j, i) in by
            if i in copies or (equal and j < i) or (j in copies and not equal):
                continue
            kind: Kind = "equal" if equal else "function"
            if _is_square(x, y):
                kind = "square"
            elif equal and _is_square(y, x):
                x, y, kind = y, x, "square"
            relations.append(Derived(y.name, (x.name,), kind))
        return relations

    def _perhaps(self, i: int) -> list[int]:
        """Return the columns that i may determine, by the records looked at first."""
        column = self.small[i]
        order = np.argsort(column.astype(np.int16), kind="stable")  # fast: 16 bits
        order = order[np.count_nonzero(column < 0) :]
        group = column[order]
        n, same = len(column), group[1:] == group[:-1]
        least = -math.log(CHANCE) * (1 - 1e-9) if self.all_compared else 0.0
        if np.count_nonzero(same) * self.logs[-1] < least:
            return []
        alike = np.full(n, -1, np.int64)
        alike[order[1:][same]] = order[:-1][same]
        alike[order[:-1][same]] = order[1:][same]
        told = np.empty(len(self.columns))
        compare_alike(
            self.small, len(told), n, self.rare, self.rare.shape[1], alike,
            order, group, len(order), self.logs, np.zeros(self.levels, np.int64), told,
        )  # fmt: skip
        told[i] = -1.0
        return np.flatnonzero(told >= least).tolist()

    def one(self, i: int, j: int) -> bool:
        """Return whether column i determines column j, not by chance."""
        x, y = self.columns[i], self.columns[j]
        if _table(self.small[i], self.small[j]) is None:
            return False
        table = _table(x.signed, y.signed)
        return table is not None and self._beyond_chance(x.signed, y, None)

    def two(self, a: int, b: int, j: int) -> bool:
        """Return whether two columns determine column j, given either not by chance."""
        column, other, y = self.columns[a], self.columns[b], self.columns[j]
        both = _both(column.signed, other.signed)
        if _table(both, y.signed) is None:
            return False
        return all(self._beyond_chance(both, y, x.signed) for x in (column, other))

    def _beyond_chance(self, x: Codes, y: CodedColumn, strata: Codes | None) -> bool:
        """Return whether x hardly determines y by chance."""
        first = self.firsts
        strata = None if strata is None else strata[first]
        return log_chance(x[first], y.signed[first], strata) < math.log(CHANCE)


def _both(codes: Codes, other: Codes) -> Codes:
    """Return the codes of two columns together."""
    both = codes * (int(other.max(initial=0)) + 1) + other
    return np.where((codes < 0) | (other < 0), -1, both)


def _ranked(codes: Codes) -> Codes:
    """Return codes of few records as ranks of those that occur; -1 stays."""
    labels, rank = np.unique(codes, return_inverse=True)
    return rank.reshape(-1) - int(len(labels) > 0 and labels[0] < 0)


def _table(x: Codes, y: Codes) -> Codes | None:
    """Return the y of each x, -1 if there is none; None if an x has several."""
    table = np.full(int(x.max(initial=-1)) + 2, -1, np.int64)  # the last: missing
    ok = y >= 0
    if not ok.all():
        x, y = x[ok], y[ok]
    table[x] = y
    table[-1] = -1
    return table if np.all((table[x] == y) | (x < 0)) else None


def log_chance(x: Codes, y: Codes, given: Codes | None) -> float:
    """Return the log of the chance that x determines y, without the commonest x."""
    use = (x >= 0) & (y >= 0)
    x, y = _ranked(x[use]), _ranked(y[use])
    if not len(x):
        return 0.0
    within = np.zeros(len(x), np.int64) if given is None else _ranked(given[use])
    of_y = _ranked(within * (int(y.max()) + 1) + y)
    log = np.log(np.bincount(of_y))[of_y] - np.log(np.bincount(within))[within]
    first = np.zeros(int(x.max()) + 1, np.int64)
    first[x] = np.arange(len(x))
    each = np.bincount(x, log) - log[first]
    records = np.bincount(x)
    return float(np.sum(each) - np.min(each[records == records.max()]))


def _is_square(x: CodedColumn, y: CodedColumn) -> bool:
    """Return whether y is the square of x, by numbers that are not all 0 and 1."""
    table = _table(x.signed, y.signed)
    numbers, squares = _numbers(x.labels), _numbers(y.labels)
    if table is None or numbers is None or squares is None:
        return False
    table = table[: len(numbers)]
    at = np.flatnonzero(table >= 0)
    base = numbers[at]
    near = np.isclose(base * base, squares[table[at]], rtol=1e-9, atol=0)
    return bool(near.all() and not np.isin(base, (0, 1)).all())


def _numbers(labels: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return labels as numbers, None if one is not a number."""
    if labels.dtype.kind in "iufb":
        return labels.astype(np.float64)
    try:
        return np.array([float(label) for label in labels.tolist()])
    except (TypeError, ValueError):
        return None


def _counts(
    columns: list[CodedColumn], households: Codes, household: Hashable
) -> list[Derived]:
    """Return the columns that the number of records of the household determines."""
    _, firsts, of = np.unique(households, return_index=True, return_inverse=True)
    size = np.bincount(of)[of]
    limit = math.log(CHANCE)
    return [
        Derived(column.name, (household,), "household count")
        for column in columns
        if _table(size, column.signed) is not None
        and log_chance(size[firsts], column.signed[firsts], None) < limit
    ]
