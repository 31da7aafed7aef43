"""The compiled part of `rank_swap`: draw a partner for each rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from riskcore.core.compiled.jit import kernel, native

_SHIFT = np.uint64(32)


@kernel
def _before(counts: Any, end: int) -> int:
    """Return how many of the first ``end`` ranks are free (Fenwick 1994)."""
    total = 0
    while end > 0:
        total += counts[end]
        end &= end - 1
    return total


@kernel
def _take(counts: Any, n: int, rank: int) -> None:
    """Mark a rank as taken."""
    at = rank + 1
    while at <= n:
        counts[at] -= 1
        at += at & -at


@kernel
def _free(counts: Any, n: int, number: Any) -> int:
    """Return the free rank that has ``number`` free ones before it."""
    step = 1
    while 2 * step <= n:
        step *= 2
    at = 0
    while step > 0:
        if at + step <= n and counts[at + step] <= number:
            at += step
            number -= counts[at]
        step >>= 1
    return at


@native("int64, int64, uint64*, int64*, int64*")
def swap_partners(n: int, reach: int, draws: Any, counts: Any, partner: Any) -> None:
    """Draw for each rank a free one of the next ``reach``, or leave it alone."""
    for at in range(1, n + 1):
        counts[at] = at & -at
    for rank in range(n):
        partner[rank] = -1
    for rank in range(n):
        if partner[rank] >= 0:
            continue
        _take(counts, n, rank)
        partner[rank] = rank
        # All ranks before this one are taken.
        choice = _before(counts, min(rank + reach, n - 1) + 1)
        if choice > 0:
            # The upper 32 bits times the number of choices: no remainder is taken.
            drawn: Any = np.int64(
                ((draws[rank] >> _SHIFT) * np.uint64(choice)) >> _SHIFT
            )
            other = _free(counts, n, drawn)
            _take(counts, n, other)
            partner[rank] = other
            partner[other] = rank
