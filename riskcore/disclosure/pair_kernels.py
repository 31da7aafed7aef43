"""Compare attacked records with all candidates, block by block of the candidates.

A candidate's score says how likely it is; the candidates with the largest score are the
links of a record. They are counted in runs of candidates. A block of candidates stays
in the cache while the records of a part meet it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from riskcore.core.compiled.jit import kernel, native

BLOCK = 2048  # candidates that are compared together
MISSING = -1
LEVELS = 3  # of an agreement: equal, near, different
# The score of a person who is left out: smaller than any sum of weights.
LEAST = -(1 << 30)


@kernel
def count_largest(
    score: Any, size: int, q: int, run: int, runs: int, largest: Any, ties: Any
) -> None:
    """Raise the largest score of a record by those of a block, and count its ties."""
    most = score[0]
    for i in range(1, size):
        most = max(most, score[i])
    if most < largest[q]:
        return
    if most > largest[q]:
        largest[q] = most
        for other in range(runs):
            ties[q * runs + other] = 0
    same = 0
    for i in range(size):
        if score[i] == most:
            same += 1
    ties[q * runs + run] += same


@kernel
def add_weights(
    score: Any, size: int, at: int, reference: Any, x: int, near: int, weight: Any,
    j: int,
) -> None:  # fmt: skip
    """Add the weight of a column to the scores of a block."""
    equal, close, far = weight[3 * j], weight[3 * j + 1], weight[3 * j + 2]
    low, high = x - near, x + near
    for i in range(size):
        y = reference[at + i]
        one = close if (y >= low) & (y <= high) else far
        one = equal if y == x else one
        score[i] += one if y >= 0 else 0


@native(
    "int64, int64, int64, int64, int64*, int32*, int64*, int64*, int32*, int32*, "
    "int32*, int32*, int32*, int64*, int32*"
)
def link_by_weight(
    start: int,
    stop: int,
    columns: int,
    runs: int,
    end: Any,
    query: Any,
    own: Any,
    left_out: Any,
    reference: Any,
    near: Any,
    weight: Any,
    score: Any,
    largest: Any,
    ties: Any,
    of_own: Any,
) -> None:
    """Find the largest sum of weights of each query, its ties, and the own record's."""
    everybody = end[runs]
    for run in range(runs):
        for begin in range(end[run], end[run + 1], BLOCK):
            size = min(BLOCK, end[run + 1] - begin)
            for q in range(start, stop):
                for i in range(size):
                    score[i] = 0
                for j in range(columns):
                    x = query[q * columns + j]
                    if x >= 0:
                        at = j * everybody + begin
                        add_weights(score, size, at, reference, x, near[j], weight, j)
                here = left_out[q] - begin
                if 0 <= here < size:
                    score[here] = LEAST
                here = own[q] - begin
                if 0 <= here < size:
                    of_own[q] = score[here]
                count_largest(score, size, q, run, runs, largest, ties)


@kernel
def add_levels(
    code: Any, size: int, at: int, reference: Any, x: int, near: int, factor: Any
) -> None:
    """Add the level of agreement of a column, times a factor, to codes of patterns."""
    zero = np.uint64(0)
    close, far = factor + factor, factor + factor + factor
    low, high = x - near, x + near
    for i in range(size):
        y = reference[at + i]
        one = close if (y >= low) & (y <= high) else far
        one = factor if y == x else one
        code[i] += one if y >= 0 else zero


@native(
    "int64, int64, int64, int64, int32*, int32*, int32*, uint64*, int32*, int64, "
    "uint64*, int32*, int64, uint64*, int64*, int64*, int64*, int64*"
)
def count_patterns(
    q: int,
    columns: int,
    original: int,
    everybody: int,
    query: Any,
    reference: Any,
    near: Any,
    factor: Any,
    weight: Any,
    least: int,
    code: Any,
    score: Any,
    bits: int,
    known: Any,
    records: Any,
    example: Any,
    slots: Any,
    number: Any,
) -> None:
    """Count the patterns of agreement of a query with the original.

    Patterns whose sum of weights is below ``least`` are left out.
    ``records`` must be 0 in all 2^bits slots of the table; ``slots`` gets those used.
    """
    used = 0
    one = np.uint64(1)
    last = (one << np.uint64(bits)) - one
    golden = np.uint64(0x9E3779B97F4A7C15)
    for begin in range(0, original, BLOCK):
        size = min(BLOCK, original - begin)
        for i in range(size):
            code[i] = 0
            score[i] = 0
        for j in range(columns):
            x = query[q * columns + j]
            if x >= 0:
                at = j * everybody + begin
                add_levels(code, size, at, reference, x, near[j], factor[j])
                add_weights(score, size, at, reference, x, near[j], weight, j)
        for i in range(size):
            if score[i] < least:
                continue
            slot = (code[i] * golden) >> np.uint64(64 - bits)
            while records[slot] > 0 and known[slot] != code[i]:
                slot = (slot + one) & last
            if records[slot] == 0:
                known[slot] = code[i]
                example[slot] = begin + i
                slots[used] = slot
                used += 1
            records[slot] += 1
    number[0] = used
