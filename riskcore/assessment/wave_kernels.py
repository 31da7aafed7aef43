"""Compiled parts of the walk through choices of waves, see `wave_choices`."""

from __future__ import annotations

from typing import Any

import numpy as np

from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.double_double import dd_add_positive
from riskcore.core.special.floats import two_sum
from riskcore.data.unsigned import count_bits

SHORT = 24  # members of a group that are sorted by insertion


@kernel
def _sorted_few(
    code: Any, persons: Any, first: int, last: int, sorted_persons: Any, at: int
) -> int:
    """Write the members with a record, sorted by code; return where they end.

    Members of equal codes keep their order.
    """
    stop = at
    for i in range(first, last):
        person = persons[i]
        key = code[person]
        if key != 0:
            j = stop
            while j > at and code[sorted_persons[j - 1]] > key:
                sorted_persons[j] = sorted_persons[j - 1]
                j -= 1
            sorted_persons[j] = person
            stop += 1
    return stop


@kernel
def _sorted_many(
    code: Any,
    persons: Any,
    first: int,
    last: int,
    slot: Any,
    size: Any,
    sorted_persons: Any,
    at: int,
) -> int:
    """Write the members with a record by code; return where they end.

    ``slot`` has a place for each code, and is 0 before and after. Codes come in the
    order in which they first occur, members of equal codes in theirs.
    """
    groups = 0
    for i in range(first, last):
        key = code[persons[i]]
        if key != 0:
            if slot[key] == 0:
                groups += 1
                slot[key] = groups
                size[groups] = 0
            size[slot[key]] += 1
    stop = at
    for g in range(1, groups + 1):
        members = size[g]
        size[g] = stop
        stop += members
    for i in range(first, last):
        key = code[persons[i]]
        if key != 0:
            g = slot[key]
            sorted_persons[size[g]] = persons[i]
            size[g] += 1
    for i in range(at, stop):
        slot[code[sorted_persons[i]]] = 0
    return stop


@native(
    "uint32*, int64*, int32*, int64, int64, int32*, int64*, uint64*, int64*, int64, "
    "int64, int64, int64*, int64*, int32*, int64*, int64*"
)
def refine(
    code: Any,
    begin: Any,
    persons: Any,
    first: int,
    last: int,
    slot: Any,
    size: Any,
    taken: Any,
    need: Any,
    wave: int,
    known_waves: int,
    waves: int,
    choose: Any,
    unique: Any,
    kept_persons: Any,
    starts: Any,
    counts: Any,
) -> None:
    """Split groups of persons by their codes in one more wave.

    Groups of several persons are kept: their members in ``kept_persons``, where they
    begin in ``starts``, the number of groups in ``counts[0]``. A person who is alone is
    alone in every choice of waves that goes on from here; the number of their choices
    is added to ``unique``. Persons without a record in the wave drop out.
    """
    groups = 0
    at = 0
    later = np.uint64(wave) + np.uint64(1)
    for group in range(first, last):
        here, there = begin[group], begin[group + 1]
        if there - here <= SHORT:
            stop = _sorted_few(code, persons, here, there, kept_persons, at)
        else:
            stop = _sorted_many(
                code, persons, here, there, slot, size, kept_persons, at
            )
        i = at
        while i < stop:
            key = code[kept_persons[i]]
            j = i + 1
            while j < stop and code[kept_persons[j]] == key:
                j += 1
            if j - i == 1:
                person = kept_persons[i]
                more = need[person] - known_waves
                if more >= 0:
                    after: Any = taken[person] >> later if wave < 63 else np.uint64(0)
                    left = np.int64(count_bits(after))
                    unique[person] += choose[left * (waves + 1) + more]
            else:
                starts[groups] = at
                groups += 1
                for member in range(i, j):
                    kept_persons[at] = kept_persons[member]
                    at += 1
            i = j
    starts[groups] = at
    counts[0] = groups


@native("int64*, int32*, float64*, int64, int64, float64*, float64*")
def add_members(
    begin: Any, persons: Any, weight: Any, first: int, last: int, f: Any, F: Any
) -> None:
    """Write the number of members of each group, and the sum of their weights."""
    for group in range(first, last):
        high = 0.0
        low = 0.0
        for i in range(begin[group], begin[group + 1]):
            high, low = dd_add_positive(high, low, weight[persons[i]], 0.0)
        f[group] = begin[group + 1] - begin[group]
        F[group] = high


@native(
    "int64*, int32*, float64*, int64*, int64, int64, int64, float64*, float64*, "
    "float64*, int64*"
)
def add_risks(
    begin: Any,
    persons: Any,
    risk: Any,
    need: Any,
    known_waves: int,
    first: int,
    last: int,
    highs: Any,
    lows: Any,
    largest: Any,
    least: Any,
) -> None:
    """Add the risk of each group to its members who need ``known_waves`` waves.

    ``least[0]`` becomes the size of the smallest group with such a member, if it is
    smaller.
    """
    for group in range(first, last):
        members = begin[group + 1] - begin[group]
        r = risk[group]
        for i in range(begin[group], begin[group + 1]):
            person = persons[i]
            if need[person] == known_waves:
                highs[person], error = two_sum(highs[person], r)
                lows[person] += error
                if r > largest[person]:
                    largest[person] = r
                if members < least[0]:
                    least[0] = members
