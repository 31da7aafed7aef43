"""Count how often each value of a column occurs in each cell.

A cell's distribution covers its own records. If missing key values match any value, it
covers all records that are compatible with the cell, counted as in its frequency: the
combinations of each pattern of missing keys are joined with the combinations of each
other pattern on the keys that both have, and linked to the values of the group that
agrees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from riskcore.core.compiled.jit import kernel, native
from riskcore.data.count import count
from riskcore.data.unsigned import Codes
from riskcore.data.wildcard import Patterns, patterns_of, slot_of, table_bits

if TYPE_CHECKING:
    from riskcore.data.cells import Cells

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
_CHUNK = 1 << 15  # combinations whose links are in memory at once
# Cells or their places, values, and the number of records with each value.
_Values: TypeAlias = tuple[Ints, Ints, Reals]


@dataclass(frozen=True, slots=True, eq=False)
class Distributions:
    """The values of a column in each cell."""

    begin: Ints  # (K + 1,): where the values of each cell begin, the end
    value: Ints  # (P,): codes of values, rising within each cell
    number: Reals  # (P,): records; a part of one if keys are missing
    total: Reals  # (S,): records of the file with each value


class _Own(NamedTuple):
    """The values of the records of each combination, in the order of patterns."""

    begin: Ints
    value: Ints
    number: Reals


class _Groups(NamedTuple):
    """The group of each combination, and the place of a group's values in the pool."""

    group: Ints
    begin: Ints
    end: Ints


class _Pool(NamedTuple):
    """The values of other combinations, group by group."""

    value: Ints
    number: Reals


# A link: where a group begins and ends in the pool, the link before it of the same
# combination, and whether the group surely belongs to it.
_BEGIN, _END, _BEFORE, _SURE, _LINK = 0, 1, 2, 3, 4


def distributions(cells: Cells, codes: Codes, levels: int) -> Distributions:
    """Count the values of a column in each cell."""
    K = len(cells)
    pairs = count([cells.rows.view(np.uint32), codes], [K, int(codes.max()) + 1])
    if cells.counted is not None:
        pairs = pairs.of_groups(cells.counted.records)
    cell, value = pairs.codes[0].astype(np.int64), pairs.codes[1].astype(np.int64)
    counted = value < levels
    cell, value = cell[counted], value[counted]
    number = pairs.frequency[counted].astype(np.float64)
    total = totals(value, number, levels)
    if cells.shared:
        cell, value, number = _compatible(cells, cell, value, number, levels)
    begin = np.searchsorted(cell, np.arange(K + 1))
    return Distributions(begin, value, number, total)


def _compatible(
    cells: Cells, cell: Ints, value: Ints, number: Reals, levels: int
) -> _Values:
    """Return the values of all records that are compatible with each cell."""
    K = len(cells)
    absent = [~cells.present(key) for key in range(len(cells.keys))]
    patterns = patterns_of(list(cells.codes), absent)
    place = np.argsort(patterns.order)[cell]
    by_pattern = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[by_pattern], np.arange(K + 1))
    own = _Own(starts, value[by_pattern], number[by_pattern])
    blank_matches = cells.missing == "argus" or len(cells.keys) == 1
    parts = []
    for a in range(len(patterns)):
        others = len(patterns)
        if patterns.blank and a == len(patterns) - 1:
            # The combination without any key has the values of the whole file.
            total = totals(own.value, own.number, levels)
            occurring = np.flatnonzero(total).astype(np.int64, copy=False)
            parts.append((np.full(len(occurring), K - 1), occurring, total[occurring]))
            continue
        if patterns.blank and patterns.complete and a == 0 and not blank_matches:
            others -= 1
        begin, end = patterns.begin[a : a + 2].tolist()
        for start in range(begin, end, _CHUNK):
            stop = min(start + _CHUNK, end)
            part = start, stop
            parts += _joined(patterns, own, levels, a, others, part, cells.alpha)
    at, values, numbers = map(np.concatenate, zip(*parts, strict=True))
    at = patterns.order[at]
    by_cell = np.argsort(at * levels + values)
    return at[by_cell], values[by_cell], numbers[by_cell]


def totals(value: NDArray[Any], number: NDArray[Any], levels: int) -> Reals:
    """Return the sum of the numbers of each value."""
    return np.bincount(value, number, levels).astype(np.float64, copy=False)


def _joined(
    patterns: Patterns,
    own: _Own,
    levels: int,
    a: int,
    others: int,
    part: tuple[int, int],
    alpha: float,
) -> list[_Values]:
    """Return the values of some combinations of one pattern, joined with others."""
    start, stop = part
    size = stop - start
    sums, touched = np.zeros((2, levels)), np.empty(levels, np.int64)
    pool = _Pool(np.empty(len(own.value), np.int64), np.empty(len(own.value)))
    links = np.empty((size * others, _LINK), np.int64)
    last = np.full(size, -1, np.int64)
    largest = int(np.diff(patterns.begin).max())
    words = patterns.code.shape[1]
    link_values(
        start, stop, a, others, 0 if patterns.complete else -1, words, patterns.begin,
        patterns.present, patterns.code, np.empty(words, np.uint64),
        np.empty(1 << table_bits(min(size, largest)), np.int32), *own,
        *_Groups(*(np.empty(largest, np.int64) for _ in range(3))), sums, touched,
        *pool, links, last, np.zeros(2, np.int64),
    )  # fmt: skip
    parts, at, room = [], start, 4 * size + levels
    while at < stop:
        buffers = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
        done = np.array([at, 0], np.int64)
        gather_values(
            start, stop, *own, last, links, *pool, sums, touched, levels, alpha, room,
            *buffers, done,
        )  # fmt: skip
        at, number = done.tolist()
        parts.append((buffers[0][:number], buffers[1][:number], buffers[2][:number]))
        room *= 2
    return parts


@native(
    "int64, int64, int64, int64, int64, int64, int64*, uint64*, uint64*, uint64*, "
    "int32*, int64*, int64*, float64*, int64*, int64*, int64*, float64*, int64*, "
    "int64*, float64*, int64*, int64*, int64*"
)
def link_values(
    start: int, stop: int, a: int, others: int, complete: int, words: int,
    pattern_begin: Any, present: Any, code: Any, joint: Any, table: Any, begin: Any,
    value: Any, number: Any, group: Any, place: Any, finish: Any, sums: Any,
    touched: Any, pool_value: Any, pool_number: Any, links: Any, last: Any, ends: Any,
) -> None:  # fmt: skip
    """Link combinations to the values of agreeing combinations of other patterns."""
    # The combinations from ``start`` to ``stop`` have pattern ``a``; the others have
    # any pattern before ``others``. ``ends`` is how much of the pool and of the links
    # is used.
    own, groups = _Own(begin, value, number), _Groups(group, place, finish)
    pool = _Pool(pool_value, pool_number)
    for b in range(others):
        if b == a:
            continue
        for w in range(words):
            joint[w] = present[a * words + w] & present[b * words + w]
        low = pattern_begin[b]
        high = pattern_begin[b + 1]
        first, bits = _group_combinations(
            start, stop, low, high, words, code, joint, table, begin, groups
        )
        count = min(stop - start, high - low)
        _pool_groups(low, high, count, own, groups, sums, touched, pool, ends)
        for i in range(start, stop):
            g = table[slot_of(code, i, words, joint, table, bits)] - first
            if g >= 0 and finish[g] > place[g]:
                link = ends[1]
                at = _LINK * link
                links[at + _BEGIN] = place[g]
                links[at + _END] = finish[g]
                links[at + _BEFORE] = last[i - start]
                links[at + _SURE] = b == complete
                last[i - start] = link
                ends[1] = link + 1


@kernel
def _group_combinations(
    start: int, stop: int, low: int, high: int, words: int, code: Any, joint: Any,
    table: Any, begin: Any, groups: Any,
) -> tuple[int, int]:  # fmt: skip
    """Group combinations from ``low`` to ``high`` by their joint keys."""
    # A group is named by a combination of the smaller side. Return the first
    # combination of this side and the bits of the table; ``groups.begin`` gets the
    # number of values of each group.
    first, end = start, stop
    if stop - start > high - low:
        first, end = low, high
    bits = table_bits(end - first)
    for slot in range(1 << bits):
        table[slot] = -1
    for i in range(first, end):
        at = slot_of(code, i, words, joint, table, bits)
        if table[at] < 0:
            table[at] = i
        groups.begin[i - first] = 0
    for j in range(low, high):
        g = table[slot_of(code, j, words, joint, table, bits)] - first
        groups.group[j - low] = g
        if g >= 0:
            groups.begin[g] += begin[j + 1] - begin[j]
    return first, bits


@kernel
def _pool_groups(
    low: int,
    high: int,
    count: int,
    own: Any,
    groups: Any,
    sums: Any,
    touched: Any,
    pool: Any,
    ends: Any,
) -> None:
    """Move values to the pool, group by group, and add up equal values."""
    to = ends[0]
    for g in range(count):
        pairs = groups.begin[g]
        groups.begin[g] = to
        groups.end[g] = to
        to += pairs
    ends[0] = to
    for j in range(low, high):
        g = groups.group[j - low]
        if g >= 0:
            for k in range(own.begin[j], own.begin[j + 1]):
                pool.value[groups.end[g]] = own.value[k]
                pool.number[groups.end[g]] = own.number[k]
                groups.end[g] += 1
    for g in range(count):
        first = groups.begin[g]
        occurring = 0
        for k in range(first, groups.end[g]):
            occurring = _add(sums, pool.value[k], pool.number[k], touched, occurring)
        for k in range(occurring):
            pool.value[first + k] = touched[k]
            pool.number[first + k] = sums[touched[k]]
            sums[touched[k]] = 0.0
        groups.end[g] = first + occurring


@kernel
def _add(sums: Any, v: Any, more: float, touched: Any, occurring: int) -> int:
    """Add to the sum of a value, note a new value; return the number of values."""
    new = sums[v] == 0.0
    sums[v] += more
    if new:
        touched[occurring] = v
        return occurring + 1
    return occurring


@native(
    "int64, int64, int64*, int64*, float64*, int64*, int64*, int64*, float64*, "
    "float64*, int64*, int64, float64, int64, int64*, int64*, float64*, int64*"
)
def gather_values(
    start: int, stop: int, begin: Any, value: Any, number: Any, last: Any, links: Any,
    pool_value: Any, pool_number: Any, sums: Any, touched: Any, levels: int,
    alpha: float, room: int, at: Any, values: Any, numbers: Any, done: Any,
) -> None:  # fmt: skip
    """Write the values of each combination: its own, and the values it is linked to."""
    # Begin at ``done[0]``, stop when the room is used up, and write there where it
    # stopped. The second row of sums is for combinations that may belong to the cell.
    to = 0
    i = done[0]
    while i < stop and to + levels <= room:
        occurring = 0
        for k in range(begin[i], begin[i + 1]):
            sums[value[k]] += number[k]
            touched[occurring] = value[k]
            occurring += 1
        link = last[i - start]
        while link >= 0:
            at_link = _LINK * link
            row = 0 if links[at_link + _SURE] else levels
            for k in range(links[at_link + _BEGIN], links[at_link + _END]):
                v = pool_value[k]
                if sums[v] == 0.0 and sums[levels + v] == 0.0:
                    touched[occurring] = v
                    occurring += 1
                sums[row + v] += pool_number[k]
            link = links[at_link + _BEFORE]
        for k in range(occurring):
            v = touched[k]
            total = sums[v] + alpha * sums[levels + v]
            sums[v] = 0.0
            sums[levels + v] = 0.0
            if total > 0.0:
                at[to] = i
                values[to] = v
                numbers[to] = total
                to += 1
        i += 1
    done[0] = i
    done[1] = to
