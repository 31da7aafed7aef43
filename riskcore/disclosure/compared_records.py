"""Columns of released records and of the people they are compared with, for kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.scatter import scattered, selected, shuffled
from riskcore.common.threads import parts_of
from riskcore.disclosure.pair_kernels import MISSING
from riskcore.disclosure.shared_columns import SharedColumn

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.int32]

RUNS = 20  # of the people of each of two files
NEAR = 0.05  # the share of all numbers of a column that lie between two near ones
_ENOUGH = 0.99  # released records for each person: they can stand for strangers


class Compared(NamedTuple):
    """Queries, as a rule released records, and the people who are compared with them.

    A number's rank is twice its mid-rank among the numbers of all files: ranks are
    equal if and only if the numbers are.
    """

    # Columns of keys, then ranks of numbers, -1 for missing, shape (J, n): of the
    # original, then of the holdout, each in a random order.
    people: Codes
    place: Integers  # where each person of the original is now
    released: Codes
    near: Codes  # the largest gap of near ranks of each column, 0 for keys, shape (J,)
    original: int  # how many of the people are of the original
    end: Integers  # where runs of people begin, and the end: see `_runs`

    @classmethod
    def of(
        cls, keys: Sequence[SharedColumn], numbers: Sequence[tuple[Floats, ...]]
    ) -> Compared:
        """Return the columns of files in the order original, released, holdout."""
        codes = [_codes(one) for one in keys]
        near = [0] * len(keys)
        for files in numbers:
            ranks, gap = _ranks(files)
            codes.append(ranks)
            near.append(gap)
        n, m, *h = map(len, keys[0].codes if keys else numbers[0])
        people, released = (
            table(codes, side, size) for side, size in enumerate((n + sum(h), m))
        )
        order = np.concatenate([shuffled(n), n + shuffled(sum(h))])
        place = np.empty(n, np.int64)
        place[order[:n]] = np.arange(n)
        gaps = np.array(near, np.int32)
        people = np.take(people, order, axis=1)
        return cls(people, place, released, gaps, n, _runs(n, sum(h)))

    def with_people(self, people: Codes) -> Compared:
        """Return the same released records with other people, in one run."""
        n, people = people.shape[1], np.ascontiguousarray(people)
        return self._replace(people=people, original=n, end=np.array([0, n]))


def _runs(original: int, holdout: int) -> Integers:
    """Return the ends of runs: one of the original alone, RUNS of each of two files."""
    if not holdout:
        return np.array([0, original])
    ends = [stop for _, stop in parts_of(original, RUNS)]
    return np.array(
        [0, *ends, *(original + stop for _, stop in parts_of(holdout, RUNS))]
    )


def _sides(files: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the values of people, of original and holdout, and of released records."""
    original, released, *holdout = files
    return np.concatenate([original, *holdout]), released


def table(columns: Sequence[tuple[Codes, ...]], side: int, n: int) -> Codes:
    """Return one side of columns, one below the other, also without columns."""
    found = np.empty((len(columns), n), np.int32)
    for j, column in enumerate(columns):
        found[j] = column[side]
    return found


def _codes(column: SharedColumn) -> tuple[Codes, Codes]:
    """Return the codes of people and released records, with -1 for missing."""
    people, released = _sides([one.astype(np.int32) for one in column.codes])
    for one in (people, released):
        one[one == column.levels - 1] = MISSING
    return people, released


def _ranks(files: tuple[Floats, ...]) -> tuple[tuple[Codes, Codes], int]:
    """Return the ranks of people and released records, and the gap of near ones."""
    everything = np.concatenate(files)
    there = np.flatnonzero(~np.isnan(everything))
    _, which, count = np.unique(
        everything[there], return_inverse=True, return_counts=True
    )
    upto = np.cumsum(count)
    rank = np.full(len(everything), MISSING, np.int32)
    rank[there] = (2 * upto - count)[which]
    sizes = np.cumsum([len(one) for one in files])[:-1]
    return _sides(np.split(rank, sizes)), int(2.0 * NEAR * len(there))


def strangers_agree(records: Compared) -> Floats:
    """Return u: the shares of equal, near and different values, shape (J, 3).

    All pairs of a released record and one of the original are counted that have both
    values.
    """
    found = np.zeros((len(records.near), 3))
    original = records.people[:, : records.original]
    files = zip(original, records.released, records.near.tolist(), strict=True)
    for j, (people, released, gap) in enumerate(files):
        people, released = people[people >= 0], released[released >= 0]
        pairs = len(people) * len(released)
        if pairs:
            equal = _equal(people, released)
            close = _within(people, released, gap) if gap else equal
            found[j] = equal / pairs, (close - equal) / pairs, (pairs - close) / pairs
    return found


def _equal(people: Codes, released: Codes) -> int:
    """Return how many pairs of codes are equal."""
    length = 1 + max(int(one.max(initial=0)) for one in (people, released))
    counts = (np.bincount(one, minlength=length) for one in (people, released))
    return int(np.dot(*counts))


def _within(people: Codes, released: Codes, gap: int) -> int:
    """Return how many pairs of ranks are at most a gap apart."""
    rising, asked = np.sort(people), np.sort(released).astype(np.int64)
    low = np.searchsorted(rising, asked - gap, side="left")
    high = np.searchsorted(rising, asked + gap, side="right")
    return int((high - low).sum())


class Strangers(NamedTuple):
    """Records without an original among those they are compared with."""

    records: Compared
    rows: Integers  # the queries
    alone: Integers  # who is left out of the candidates of each query, -1 for nobody

    @classmethod
    def of(cls, records: Compared, attacked: Integers) -> Strangers:
        """Return strangers of the attacked records: the others of the same file.

        Released records are sought among the other released ones, in which values that
        only the release lacks are filled in. If there are fewer of them than people,
        people are sought among the other people, with the blanks of the records.
        """
        n, m = records.original, records.released.shape[1]
        if m < _ENOUGH * n:
            return cls._of_people(records, attacked)
        chosen = selected(m, n)
        place = np.full(m, -1)
        place[chosen] = np.arange(len(chosen))
        people = _filled(records.released, records.people)[:, chosen]
        return cls(records.with_people(people), attacked, place[attacked])

    @classmethod
    def _of_people(cls, records: Compared, attacked: Integers) -> Strangers:
        """Return people of the original, sought among the others there."""
        people = records.people[:, : records.original]
        rows = selected(records.original, len(attacked))
        like = attacked[np.arange(len(rows)) % len(attacked)]
        query = np.where(records.released[:, like] == MISSING, MISSING, people[:, rows])
        others = records._replace(released=query).with_people(people)
        return cls(others, np.arange(len(rows)), rows)


def _filled(released: Codes, people: Codes) -> Codes:
    """Return released records that lack values no more often than people do.

    A missing value is replaced by that of a pseudo-random record.
    """
    codes, (columns, n) = released.copy(), released.shape
    for j, column in enumerate(released):
        lack, have = np.flatnonzero(column == MISSING), np.flatnonzero(column >= 0)
        usual = np.count_nonzero(people[j] == MISSING) * n // people.shape[1]
        if len(lack) <= usual or not len(have):
            continue
        chance = scattered((lack * columns + j).astype(np.uint64))
        order = np.argsort(chance, kind="stable")[usual:]
        lack, chance = lack[order], chance[order]
        codes[j, lack] = column[have[scattered(chance) % np.uint64(len(have))]]
    return codes


def standard_scale(values: Floats) -> float:
    """Return 1 over the standard deviation (n - 1) of a column, 0 if it is constant.

    Sums are correctly rounded: the order of the records does not matter.
    """
    there = values[~np.isnan(values)]
    n = len(there)
    if n == 0 or there.min() == there.max():
        return 0.0
    mean = math.fsum(there.tolist()) / n
    spread = math.sqrt(math.fsum(((there - mean) ** 2).tolist()) / (n - 1))
    return 1.0 / spread if spread > 0.0 else 0.0
