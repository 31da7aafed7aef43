"""The compiled part of `rank_swap`: draw a partner for each rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from riskcore.core.compiled.jit import kernel, native
from riskcore.data.unsigned import count_bits

_SHIFT = np.uint64(32)
_ONE = np.uint64(1)


@kernel
def _take(counts: Any, free: Any, words: int, rank: int) -> None:
    """Mark a rank as taken: its bit, and the counts of words of bits (Fenwick 1994)."""
    word = rank >> 6
    free[word] &= ~(_ONE << np.uint64(rank & 63))
    at = word + 1
    while at <= words:
        counts[at] -= 1
        at += at & -at


@kernel
def _free(counts: Any, free: Any, words: int, number: Any) -> int:
    """Return the free rank that has ``number`` free ones before it."""
    step = 1
    while 2 * step <= words:
        step *= 2
    at = 0
    while step > 0:
        if at + step <= words and counts[at + step] <= number:
            at += step
            number -= counts[at]
        step >>= 1
    left: Any = free[at]
    width = 32
    rank = at << 6
    while width > 0:
        inside: Any = np.int64(count_bits(left & ((_ONE << np.uint64(width)) - _ONE)))
        if inside <= number:
            number -= inside
            left >>= np.uint64(width)
            rank += width
        width >>= 1
    return rank


@native("int64, int64, uint64*, int64, uint64*, int64*, int64*")
def swap_partners(
    n: int, reach: int, draws: Any, words: int, free: Any, counts: Any, partner: Any
) -> None:
    """Draw for each rank a free one of the next ``reach``, or leave it alone."""
    for word in range(words):
        counts[word + 1] += np.int64(count_bits(free[word]))
        above = (word + 1) + ((word + 1) & -(word + 1))
        if above <= words:
            counts[above] += counts[word + 1]
    for rank in range(n):
        partner[rank] = -1
    # All ranks before the next one are taken: the free ones up to its reach.
    choice = min(reach, n)
    for rank in range(n):
        if rank + reach < n:
            choice += 1
        if partner[rank] >= 0:
            continue
        _take(counts, free, words, rank)
        choice -= 1
        partner[rank] = rank
        if choice > 0:
            # The upper 32 bits times the number of choices: no remainder is taken.
            drawn: Any = np.int64(
                ((draws[rank] >> _SHIFT) * np.uint64(choice)) >> _SHIFT
            )
            other = _free(counts, free, words, drawn)
            _take(counts, free, words, other)
            choice -= 1
            partner[other] = rank
            partner[rank] = other
