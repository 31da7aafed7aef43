"""Count records whose missing key values match any value.

Two combinations of key values are compatible if they agree in every key that both
have. Distinct combinations with the same pattern of missing keys never are. Those of
two patterns are found by a join on the keys that both have: each pair of patterns is
joined once, by a hash table of the smaller pattern. The work is one reading of the
combinations for each pattern that occurs, however many records there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.double_double import dd_add_positive
from riskcore.core.special.floats import two_product, two_sum
from riskcore.data.count import CODE_BITS, count, sum_cells
from riskcore.data.unsigned import Codes

Frequencies = NDArray[np.int64] | NDArray[np.float64]
Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]

# The rules that let missing match any value.
WILDCARDS = ("wildcard", "argus")

# 2**64 over the golden ratio, odd: spreads codes over the hash table (Knuth 6.4).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def count_compatible(
    codes: Sequence[Codes],
    missing: Sequence[int | None],
    frequency: NDArray[np.int64],
    weight_sum: NDArray[np.float64],
    alpha: float = 1.0,
    *,
    blank_matches_complete: bool = False,
) -> tuple[Frequencies, NDArray[np.float64]]:
    """Count the records compatible with each combination of keys.

    f of a combination is its own records, plus all records of the compatible complete
    combinations, plus ``alpha`` times the records of the other compatible incomplete
    ones. A blank combination, without any key, has all records whatever ``alpha``. F is
    the same sum of weights. This is ``freqCalc`` of sdcMicro 5.8; with ``alpha=1`` and
    blank records that match complete ones it is ``AddMissing`` of mu-Argus.
    """
    arguments.number_in("alpha", alpha, "[0, 1]")
    if all(code is None for code in missing):
        return frequency, weight_sum
    absent = [
        np.zeros(len(frequency), bool) if code is None else column == code
        for column, code in zip(codes, missing, strict=True)
    ]
    patterns = patterns_of(codes, absent)
    del absent  # to save memory: there may be tens of millions of cells
    order, first = patterns.order, patterns.first
    own, own_weight = frequency[order], weight_sum[order]
    gained, gained_weight = _join(patterns, own, own_weight, blank_matches_complete)
    f = _frequencies(own, gained, first, alpha)
    del gained
    F = np.empty(len(order))
    weigh(own_weight, gained_weight, first, alpha, len(order), F)
    del gained_weight
    if patterns.blank:
        f[-1] = own.sum()
        sum_cells(np.array([0, len(order)]), own_weight, 0, 1, F[-1:])
    f_back, F_back = np.empty_like(f), np.empty_like(F)
    f_back[order], F_back[order] = f, F
    return f_back, F_back


@dataclass(frozen=True, slots=True, eq=False)
class Patterns:
    """Combinations ordered by their pattern of missing keys, complete ones first."""

    order: NDArray[np.int64]  # the combinations by pattern, shape (K,)
    begin: NDArray[np.int64]  # of each pattern, and the end, shape (P + 1,)
    code: Words  # all keys of each combination, by pattern, shape (K, W)
    present: Words  # the bits of the keys that a pattern has, shape (P, W)
    complete: bool  # whether the first pattern has all keys
    blank: bool  # whether the last pattern has no key

    def __len__(self) -> int:
        return len(self.present)

    @property
    def first(self) -> int:
        """The first combination that may gain from complete ones, or K."""
        return int(self.begin[1] if self.complete else self.begin[-1])


def patterns_of(codes: Sequence[Codes], absent: Sequence[Mask]) -> Patterns:
    """Return combinations, given by the codes and absence of each key, by pattern."""
    counts = count([flags.view(np.uint8) for flags in absent], [2] * len(codes))
    order = np.argsort(counts.inverse, kind="stable")
    code, fields = _pack(codes)
    present = np.zeros((len(counts.frequency), code.shape[1]), np.uint64)
    for flags, field in zip(counts.codes, fields, strict=True):
        present[flags == 0] |= field
    return Patterns(
        order,
        np.concatenate([[0], np.cumsum(counts.frequency)]),
        code[order],
        present,
        complete=not any(flags[0] for flags in counts.codes),
        blank=all(flags[-1] for flags in counts.codes),
    )


def _pack(codes: Sequence[Codes]) -> tuple[Words, Words]:
    """Pack the codes of each combination into words; also return each key's bits."""
    places = []
    word = shift = 0
    for column in codes:
        width = max(1, int(column.max()).bit_length())
        if shift + width > CODE_BITS:
            word, shift = word + 1, 0
        places.append((word, shift, width))
        shift += width
    packed = np.zeros((len(codes[0]), word + 1), np.uint64)
    fields = np.zeros((len(codes), word + 1), np.uint64)
    for column, field, (word, shift, width) in zip(codes, fields, places, strict=True):
        packed[:, word] |= column.astype(np.uint64) << np.uint64(shift)
        field[word] = ((1 << width) - 1) << shift
    return packed, fields


def _join(
    patterns: Patterns,
    frequency: NDArray[np.int64],
    weight: NDArray[np.float64],
    blank_matches_complete: bool,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the records and the weights that each combination gains."""
    # The first K numbers come from incomplete combinations, then from `Patterns.first`
    # on what incomplete ones gain from complete ones. Weights are double-doubles.
    K, first, words = len(frequency), patterns.first, patterns.code.shape[1]
    gained = np.zeros(2 * K - first, np.int64)
    gained_weight = np.zeros((2 * K - first, 2))
    # The smaller of two patterns has at most the size of the second largest of all.
    room = int(np.sort(np.append(np.diff(patterns.begin), 1))[-2])
    joint = np.empty(words, np.uint64)
    table = np.empty((1 << table_bits(room)) + room, np.int32)
    sums, weight_sums = np.empty(2 * room, np.int64), np.empty((2 * room, 2))
    inputs = patterns.begin, patterns.present, patterns.code, frequency, weight
    gains = gained, gained_weight
    for a in range(len(patterns)):
        stop = len(patterns)
        complete = a == 0 and patterns.complete
        if complete and patterns.blank and not blank_matches_complete:
            stop -= 1
        task = np.array([a, stop, K - first if complete else 0, words])
        join_patterns(task, *inputs, joint, table, sums, weight_sums, *gains)
    return gains


def _frequencies(
    own: NDArray[np.int64], gained: NDArray[np.int64], first: int, alpha: float
) -> Frequencies:
    """Return f of each combination."""
    if alpha in (0, 1):
        whole = own + gained[: len(own)] if alpha else own.copy()
        whole[first:] += gained[len(own) :]
        return whole
    pairs = np.zeros((len(gained), 2))
    pairs[:, 0] = gained
    f = np.empty(len(own))
    weigh(own.astype(np.float64), pairs, first, alpha, len(own), f)
    return f


@kernel
def table_bits(entries: int) -> int:
    """Return log2 of the size of a hash table that is at most an eighth full."""
    bits = 3
    while (1 << bits) < 8 * entries:
        bits += 1
    return bits


@kernel
def slot_of(code: Any, i: int, words: int, joint: Any, table: Any, bits: int) -> Any:
    """Return the slot that has, or may take, the joint keys of combination ``i``."""
    spread = np.uint64(0)
    for w in range(words):
        spread = (spread ^ (code[i * words + w] & joint[w])) * _GOLDEN
        spread ^= spread >> _HALF
    at = (spread * _GOLDEN) >> np.uint64(64 - bits)
    last = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    while table[at] >= 0 and not _agree(code, table[at], i, words, joint):
        at = (at + np.uint64(1)) & last
    return at


@kernel
def _agree(code: Any, i: int, j: int, words: int, joint: Any) -> bool:
    """Return whether two combinations agree in their joint keys."""
    for w in range(words):
        if (code[i * words + w] ^ code[j * words + w]) & joint[w] != 0:
            return False
    return True


@kernel
def _add(
    count_to: Any, weight_to: Any, to: int, number: int, high: float, low: float
) -> None:
    """Add a number of records and their weights to element ``to`` of sums."""
    count_to[to] += number
    weight_to[2 * to], weight_to[2 * to + 1] = dd_add_positive(
        weight_to[2 * to], weight_to[2 * to + 1], high, low
    )


@native(
    "int64*, int64*, uint64*, uint64*, int64*, float64*, "
    "uint64*, int32*, int64*, float64*, int64*, float64*"
)
def join_patterns(
    task: Any, begin: Any, present: Any, code: Any, frequency: Any, weight: Any,
    joint: Any, table: Any, sums: Any, weight_sums: Any, gained: Any,
    gained_weight: Any,
) -> None:  # fmt: skip
    """Join pattern ``a`` with each later one before ``stop``.

    ``task`` holds ``a``, ``stop``, ``shift``, the places by which what ``a`` adds to
    others is moved, and the number of words of a code. ``sums`` are of groups of equal
    joint keys, first those of the smaller pattern, then those of the larger one.
    """
    a, stop, shift, words = task[0], task[1], task[2], task[3]
    for b in range(a + 1, stop):
        few, many = a, b
        if begin[a + 1] - begin[a] > begin[b + 1] - begin[b]:
            few, many = b, a
        for w in range(words):
            joint[w] = present[few * words + w] & present[many * words + w]
        start = begin[few]
        size = begin[few + 1] - start
        bits = table_bits(size)
        behind = 1 << bits  # the table is followed by the groups of combinations
        for slot in range(behind):
            table[slot] = -1
        for g in range(2 * size):
            sums[g] = 0
            weight_sums[2 * g] = 0.0
            weight_sums[2 * g + 1] = 0.0
        # A group has the number of its first combination.
        for i in range(start, start + size):
            at = slot_of(code, i, words, joint, table, bits)
            if table[at] < 0:
                table[at] = i
            g = table[at] - start
            table[behind + i - start] = g
            _add(sums, weight_sums, g, frequency[i], weight[i], 0.0)
        row = shift if few == a else 0
        for i in range(begin[many], begin[many + 1]):
            g = table[slot_of(code, i, words, joint, table, bits)]
            if g >= 0:
                g -= start
                high, low = weight_sums[2 * g], weight_sums[2 * g + 1]
                _add(gained, gained_weight, row + i, sums[g], high, low)
                _add(sums, weight_sums, size + g, frequency[i], weight[i], 0.0)
        row = shift if many == a else 0
        for i in range(start, start + size):
            g = size + table[behind + i - start]
            high, low = weight_sums[2 * g], weight_sums[2 * g + 1]
            _add(gained, gained_weight, row + i, sums[g], high, low)


@native("float64*, float64*, int64, float64, int64, float64*")
def weigh(own: Any, gained: Any, first: int, alpha: float, n: int, total: Any) -> None:
    """Write own + sure + alpha*possible of each combination, see `_join`."""
    for i in range(n):
        high, low = own[i], 0.0
        if i >= first:
            sure = 2 * (n + i - first)
            high, low = dd_add_positive(gained[sure], gained[sure + 1], high, low)
        product, error = two_product(alpha, gained[2 * i])
        s, t = two_sum(high, product)
        total[i] = s + (t + (low + (error + alpha * gained[2 * i + 1])))
