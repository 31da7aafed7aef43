"""Look for the groups of rows that fit all members of a household."""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import kernel, native

CANDIDATES = 10_000  # groups whose rows are looked at for a household


@kernel
def rows_of_group(
    cell: int, group: int, most: int, patterns: int, first: Any, end: Any, groups: Any
) -> int:
    """Count the rows of a group that fit a cell, up to ``most``."""
    total = 0
    for run in range(cell * patterns, (cell + 1) * patterns):
        low = first[run]
        high = end[run]
        while low < high:
            middle = (low + high) // 2
            if groups[middle] < group:
                low = middle + 1
            else:
                high = middle
        while total < most and low < end[run] and groups[low] == group:
            total += 1
            low += 1
    return total


@native(
    "int64, int64, int64, int64*, int64*, int64*, int64*, int64*, int64*, int64*, "
    "int64*, int64*, int64*"
)
def look_for_groups(
    start: int, stop: int, patterns: int, first: Any, end: Any, groups: Any, size: Any,
    bits: Any, begin: Any, cell: Any, need: Any, mask: Any, claim: Any,
) -> None:  # fmt: skip
    """Look for the one group that has rows for all members of each household."""
    for unit in range(start, stop):
        a = begin[unit]
        b = begin[unit + 1]
        feasible = 0
        looked = 0
        match = -1
        for run in range(cell[a] * patterns, (cell[a] + 1) * patterns):
            last = -1
            for i in range(first[run], end[run]):
                group = groups[i]
                if feasible > 1 or looked > CANDIDATES:
                    break
                new = group != last and group != match
                last = group
                # Most groups lack a key of some member.
                if new and size[group] >= b - a and mask[unit] & ~bits[group] == 0:
                    looked += 1
                    j = a
                    while j < b and need[j] == rows_of_group(
                        cell[j], group, need[j], patterns, first, end, groups
                    ):
                        j += 1
                    if j == b:
                        feasible += 1
                        match = group
        if feasible == 1 and looked <= CANDIDATES:
            for j in range(a, b):
                if rows_of_group(cell[j], match, 2, patterns, first, end, groups) == 1:
                    claim[j] = match
