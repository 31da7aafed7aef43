"""Keys that follow from others, taken together as one key.

A commune tells its province, an occupation its sector, and the year of birth the age
within a year. A model whose classes have independent keys spends its classes on such
pairs, and the rest of the keys pays for it. Two keys are tied if records that
share a category of one nearly always share the category of the other: with A the share
of pairs that do, and B that among all pairs of records, 1 - log A/log B is at least
0.8 (0 if they are independent, 1 if one is a function of the other; an entropy of order
2, which has no bias in small samples). Their combinations that occur are then the
categories of one key, so rare exceptions stay rare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.models.cell_table import ANY, CellTable
from riskcore.models.codes import Ints

Floats = NDArray[np.float64]

_TIED = 0.8  # from which keys are one; notes/cell_models.md
_FEWEST = 30  # records that share a category with others, to tell


class Sums(NamedTuple):
    """Rows of a key that are sums of its categories: patterns with any value."""

    category: Ints
    row: Ints
    rows: int


NO_SUMS = Sums(np.zeros(0, np.int64), np.zeros(0, np.int64), 0)


class CodedCells(NamedTuple):
    """Cells, coded by the categories of tied keys and by the sums that they need."""

    table: CellTable
    sums: Sequence[Sums]

    def rows(self, values: Floats, unseen: float) -> Floats:
        """Return values of all categories with their sums, key by key."""
        # Combinations that the sample lacks have the value ``unseen``.
        levels = [
            n - of.rows for n, of in zip(self.table.levels, self.sums, strict=True)
        ]
        parts = []
        for own, (category, row, rows) in zip(
            np.split(values, np.cumsum(levels)[:-1]), self.sums, strict=True
        ):
            sums = np.zeros((rows, *values.shape[1:]))
            np.add.at(sums, row, own[category])
            sums[~np.isin(np.arange(rows), row)] = unseen
            parts += [own, sums]
        return np.concatenate(parts)


@dataclass(frozen=True, slots=True, eq=False)
class TiedKeys:
    """The keys of a sample, with those that are tied as one."""

    groups: tuple[tuple[int, ...], ...]
    table: CellTable  # the cells of the sample, with a code for each group
    parts: tuple[tuple[Ints, ...], ...]  # by group and key, the codes of categories

    @classmethod
    def of(cls, sample: CellTable, some: CellTable) -> Self | None:
        """Return the keys of a sample by what some of its records tell, if any tie."""
        groups: list[tuple[int, ...]] = [(key,) for key in range(len(sample.levels))]
        codes = [*some.codes]
        while pair := _most_tied(codes, some.records):
            first, second = sorted(pair)
            groups[first] = tuple(sorted(groups[first] + groups[second]))
            codes[first] = _joint([codes[first], codes[second]])
            del groups[second], codes[second]
        if len(groups) == len(sample.levels):
            return None
        columns, parts = [], list[tuple[Ints, ...]]()
        for group in groups:
            codes = [sample.codes[key] for key in group]
            columns.append(_joint(codes))
            part: tuple[Ints, ...] = (np.arange(sample.levels[group[0]]),)
            if len(group) > 1:
                _, first_cell = np.unique(columns[-1], return_index=True)
                part = tuple(code[first_cell] for code in codes)
            parts.append(part)
        table = _with_codes(sample, columns, [len(part[0]) for part in parts])
        return cls(tuple(groups), table, tuple(parts))

    def coded(self, table: CellTable) -> CodedCells:
        """Return cells, coded as the sample, by groups; and the rows that they need."""
        columns, levels, sums = [], [], []
        for group, parts in zip(self.groups, self.parts, strict=True):
            column, rows = table.codes[group[0]], NO_SUMS
            if len(group) > 1:
                column, rows = _of_group([table.codes[key] for key in group], parts)
            columns.append(column)
            levels.append(len(parts[0]) + rows.rows)
            sums.append(rows)
        return CodedCells(_with_codes(table, columns, levels), sums)


def _with_codes(table: CellTable, codes: list[Ints], levels: list[int]) -> CellTable:
    """Return cells with codes for groups of keys in place of those of keys."""
    new = replace(table, codes=tuple(codes), levels=tuple(levels), categories=None)
    return replace(new, keys=tuple(range(len(codes))))


def _of_group(codes: Sequence[Ints], parts: Sequence[Ints]) -> tuple[Ints, Sums]:
    """Return the rows of cells in a group of keys; some keys may have any value."""
    size, rows = len(parts[0]), 0
    column = np.full(len(codes[0]), ANY)
    category, row = [np.zeros(0, int)], [np.zeros(0, int)]
    has_value = np.stack([code != ANY for code in codes], axis=1)
    for kind in np.unique(has_value, axis=0):
        if not kind.any():
            continue
        cells = np.flatnonzero((has_value == kind).all(axis=1))
        some = np.flatnonzero(kind).tolist()
        both = _joint([np.concatenate([parts[i], codes[i][cells]]) for i in some])
        there, here = both[:size], both[size:]
        if kind.all():  # categories have rows, unseen combinations do not
            place = np.full(int(both.max()) + 1, -1)
            place[there] = np.arange(size)
            column[cells] = place[here]
            cells, here = cells[column[cells] < 0], here[column[cells] < 0]
        wanted, of = np.unique(here, return_inverse=True)
        column[cells] = size + rows + of
        match = np.flatnonzero(np.isin(there, wanted))
        category.append(match)
        row.append(rows + np.searchsorted(wanted, there[match]))
        rows += len(wanted)
    return column, Sums(np.concatenate(category), np.concatenate(row), rows)


def _most_tied(codes: Sequence[Ints], records: Ints) -> tuple[int, int] | None:
    """Return the two keys that are tied most, or None."""
    tied = {
        pair: strength
        for pair in permutations(range(len(codes)), 2)
        if (strength := tie(codes[pair[0]], codes[pair[1]], records)) >= _TIED
    }
    return max(tied, key=tied.__getitem__) if tied else None


def tie(first: Ints, second: Ints, records: Ints) -> float:
    """Return how far the first key tells the second, from 0 or below to 1."""
    size, of = np.bincount(second, records), float(records.sum())
    pairs, place = np.unique(first * len(size) + second, return_inverse=True)
    both = np.bincount(place, records)
    n_first = np.bincount(first, records)[pairs // len(size)]
    many = n_first > 1
    alike = float((size * (size - 1)).sum()) / (of * (of - 1.0))
    if not alike < 1.0 or not alike > 0.0 or both[many].sum() < _FEWEST:
        return 0.0
    share = both[many] * (both[many] - 1) / (n_first[many] - 1)
    shared = float(share.sum() / both[many].sum())
    return 1.0 - math.log(shared) / math.log(alike) if shared > 0.0 else 0.0


def _joint(codes: Sequence[Ints]) -> Ints:
    """Return one code for the combinations of codes."""
    joint = codes[0]
    for code in codes[1:]:
        size = int(code.max(initial=0)) + 1
        joint = np.unique(joint * size + code, return_inverse=True)[1]
    return np.asarray(joint, np.int64)
