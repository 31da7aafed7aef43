"""Compare people with the released rows that fit their keys, and look for the nearest.

A row fits if it has the person's keys; a blank key fits everybody. So rows that lack
the same keys stand together, sorted by the keys that they have, and a person meets one
run of rows for each such pattern: no other pair is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Floats, Integers
from riskcore.common.threads import in_parts, parts_of, usual_threads
from riskcore.core.compiled.jit import kernel, native
from riskcore.data.count import count

NEXT = 8  # rows after the nearest ones, by which chance is told
_PARTS = 16
_INFINITY = float("inf")


class Runs(NamedTuple):
    """The released rows that fit each person."""

    rows: Integers  # released rows, those of a run next to each other
    first: Integers  # where each person's runs begin, shape (n, patterns)
    end: Integers

    @classmethod
    def of(
        cls, people: Sequence[Integers], released: Sequence[Integers], m: int
    ) -> Runs:
        """Return the runs of m rows, by the codes of keys; -1 is blank."""
        n = len(people[0]) if people else 1
        if not people:
            zero = np.zeros((1, 1), np.int64)
            return cls(np.arange(m), zero, zero + m)
        lacking = [(column < 0).view(np.uint8) for column in released]
        patterns = count(lacking, [2] * len(lacking))
        rows, first, end = [], [], []
        begin = 0
        for pattern in range(len(patterns.frequency)):
            of = np.flatnonzero(patterns.inverse == pattern)
            kept = [k for k in range(len(people)) if not patterns.codes[k][pattern]]
            group = np.zeros(n + len(of), np.int64)
            if kept:
                codes = [
                    (np.concatenate([people[k], released[k][of]]) + 1).astype(np.uint64)
                    for k in kept
                ]
                levels = [int(column.max()) + 1 for column in codes]
                group = count(codes, levels).inverse.astype(np.int64)
            order = np.argsort(group[n:], kind="stable")
            there = group[n:][order]
            rows.append(of[order])
            first.append(begin + np.searchsorted(there, group[:n], "left"))
            end.append(begin + np.searchsorted(there, group[:n], "right"))
            begin += len(of)
        return cls(np.concatenate(rows), np.stack(first, 1), np.stack(end, 1))

    @property
    def fits(self) -> Integers:
        """How many rows fit each person."""
        counts: Integers = (self.end - self.first).sum(axis=1)
        return counts

    def of_people(self, which: Integers) -> Runs:
        """Return the runs of some people."""
        if len(self.first) == 1:  # all rows fit everybody
            which = np.zeros(len(which), np.int64)
        first, end = (np.ascontiguousarray(x[which]) for x in self[1:])
        return Runs(self.rows, first, end)


class Nearest(NamedTuple):
    """The rows nearest to each person by numbers, and how often columns agree there."""

    candidates: Integers  # rows that fit and have the numbers, shape (n,)
    ties: Integers  # how many of them are nearest
    own: NDArray[np.uint8]  # whether the person's own row is one of these
    agree: Floats  # in how many of the nearest rows a column agrees, shape (n, C)
    agree_fitting: Floats  # the share of the candidates that agree
    agree_next: Floats  # the share that agrees among the rows that are next


def nearest_rows(
    runs: Runs,
    numbers: tuple[Floats, Floats],
    told: tuple[Floats, Floats],
    within: Floats,
    own: Integers,
) -> Nearest:
    """Return the rows nearest to people by numbers, and which columns agree there."""
    people, rows = numbers
    (n, d), c = people.shape, told[0].shape[1]
    place = np.full(len(rows) + 1, -1, np.int64)
    place[runs.rows] = np.arange(len(runs.rows))
    mine = place[own]
    asked, there = (np.ascontiguousarray(x) for x in (people, rows[runs.rows]))
    true, tells = (np.ascontiguousarray(x) for x in (told[0], told[1][runs.rows]))
    candidates, ties = np.zeros((2, n), np.int64)
    is_own = np.zeros(n, np.uint8)
    agree, fitting, following = np.zeros((3, n, c))
    patterns = runs.first.shape[1]

    def ask(start: int, stop: int) -> None:
        look_at_fitting(
            start, stop, patterns, d, c, runs.first, runs.end, asked, there, true,
            tells, within, mine, np.empty(NEXT), candidates, ties, is_own, agree,
            fitting, following,
        )  # fmt: skip

    in_parts(usual_threads(), ask, parts_of(n, _PARTS))
    return Nearest(candidates, ties, is_own, agree, fitting, following)


@kernel
def gap_between(people: Any, q: int, rows: Any, i: int, d: int) -> float:
    """Return the squared distance of a row from a person; nan if a number lacks."""
    total = 0.0
    for j in range(d):
        gap = rows[i * d + j] - people[q * d + j]
        total += gap * gap
    return total


@kernel
def keep_smallest(near: Any, x: float) -> None:
    """Put a number among the smallest ones, in their order."""
    i = NEXT - 1
    if x >= near[i]:
        return
    while i > 0 and near[i - 1] > x:
        near[i] = near[i - 1]
        i -= 1
    near[i] = x


@kernel
def least_gap(
    q: int, patterns: int, d: int, first: Any, end: Any, people: Any, rows: Any,
    near: Any, candidates: Any, ties: Any,
) -> float:  # fmt: skip
    """Return the least gap of the rows that fit a person, and count those at it."""
    best, same, number = _INFINITY, 0, 0
    for i in range(NEXT):
        near[i] = _INFINITY
    for run in range(q * patterns, (q + 1) * patterns):
        for i in range(first[run], end[run]):
            gap = gap_between(people, q, rows, i, d)
            if gap != gap:
                continue
            number += 1
            if gap < best:
                for _ in range(min(same, NEXT)):
                    keep_smallest(near, best)
                best = gap
                same = 0
            if gap == best:
                same += 1
            else:
                keep_smallest(near, gap)
    candidates[q] = number
    ties[q] = same
    return best


@kernel
def count_agreeing(
    q: int, i: int, c: int, told: Any, tells: Any, within: Any, nearest: bool,
    is_next: bool, agree: Any, fitting: Any, following: Any,
) -> None:  # fmt: skip
    """Count the columns of a row that agree with a person."""
    for k in range(c):
        if abs(tells[i * c + k] - told[q * c + k]) <= within[k]:
            at = q * c + k
            fitting[at] += 1.0
            if nearest:
                agree[at] += 1.0
            elif is_next:
                following[at] += 1.0


@native(
    "int64, int64, int64, int64, int64, int64*, int64*, float64*, float64*, float64*, "
    "float64*, float64*, int64*, float64*, int64*, int64*, uint8*, float64*, float64*, "
    "float64*"
)
def look_at_fitting(
    start: int, stop: int, patterns: int, d: int, c: int, first: Any, end: Any,
    people: Any, rows: Any, told: Any, tells: Any, within: Any, own: Any, near: Any,
    candidates: Any, ties: Any, is_own: Any, agree: Any, fitting: Any, following: Any,
) -> None:  # fmt: skip
    """Find the nearest fitting rows of people, and count the columns that agree."""
    for q in range(start, stop):
        best = least_gap(
            q, patterns, d, first, end, people, rows, near, candidates, ties
        )
        others = 0
        for run in range(q * patterns, (q + 1) * patterns):
            for i in range(first[run], end[run]):
                gap = gap_between(people, q, rows, i, d)
                if gap != gap:
                    continue
                if gap == best and i == own[q]:
                    is_own[q] = 1
                is_next = gap > best and gap <= near[NEXT - 1]
                others += is_next
                count_agreeing(
                    q, i, c, told, tells, within, gap == best, is_next, agree, fitting,
                    following,
                )  # fmt: skip
        for k in range(c):
            fitting[q * c + k] /= max(candidates[q], 1)
            following[q * c + k] /= max(others, 1)
