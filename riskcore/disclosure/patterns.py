"""Patterns of agreement between released records and the people of the original."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from riskcore.common.scatter import scattered, selected
from riskcore.common.threads import in_parts, parts_of, usual_threads
from riskcore.disclosure.compared_records import Compared, Floats, Integers
from riskcore.disclosure.fellegi_sunter import Patterns, linked_at_first, weights_of
from riskcore.disclosure.pair_kernels import BLOCK, LEAST, MISSING, count_patterns

PAIRS = 10**8  # whose patterns are counted
RECORDS = 500  # whose patterns are kept
MANY = 50_000  # patterns: those of strangers are left out, see `_counted`
ROWS = 4_000_000  # of patterns by record, at most about
# Of a record: the code of each pattern, its pairs, and one of its people.
Counted = tuple[NDArray[np.uint64], Integers, Integers]
_TOGETHER = 20  # records after which the number of patterns is looked at, or fewer


def patterns_of(records: Compared, attacked: Integers, strangers: Floats) -> Patterns:
    """Return the patterns of attacked records, of a selection if they are many.

    If more than MANY patterns are possible, those are left out that are likelier for
    strangers by the weights with which the fit begins: they have next to no chance.
    ``strangers``: how often each level occurs among these, shape (J, 3).
    """
    number = min(max(PAIRS // records.original, 1), RECORDS)
    chosen = attacked[selected(len(attacked), number)]
    query = np.ascontiguousarray(records.released[:, chosen].T)
    factor = scattered(np.arange(len(records.near), dtype=np.uint64)) | np.uint64(1)
    found: list[Counted] = []
    rows, together = 0, min(max(ROWS // records.original, 2), _TOGETHER)
    while len(found) < len(chosen) and rows < ROWS:
        part = query[len(found) : len(found) + together]
        found += _counted(records, part, factor, strangers)
        rows += sum(len(code) for code, _, _ in found[-len(part) :])
    sizes = [len(code) for code, _, _ in found]
    record = np.repeat(np.arange(len(found)), sizes)
    code, pairs, example = (np.concatenate(each) for each in zip(*found, strict=True))
    _, first, pattern = np.unique(code, return_index=True, return_inverse=True)
    level = _levels(records, query[record[first]], example[first])
    return Patterns(record, pattern, pairs, level, len(found), records.original)


def _counted(
    records: Compared,
    query: NDArray[np.int32],
    factor: NDArray[np.uint64],
    strangers: Floats,
) -> list[Counted]:
    """Return the code of each pattern, its pairs and one of its people, by query."""
    n, columns = query.shape
    most = _most_patterns(records, strangers)
    bits = (2 * min(most, records.original)).bit_length()
    weight = weights_of(strangers, linked_at_first(strangers))
    least = 0 if most > MANY else LEAST
    people, near, original = records.people, records.near, records.original
    n_people = people.shape[1]

    def ask(start: int, stop: int) -> list[Counted]:
        code, score = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int32)
        known = np.empty(1 << bits, np.uint64)
        pairs = np.zeros(1 << bits, np.int64)
        example, slots = np.empty((2, 1 << bits), np.int64)
        number = np.zeros(1, np.int64)
        found = []
        for q in range(start, stop):
            count_patterns(
                q, columns, original, n_people, query, people, near, factor,
                weight, least, code, score, bits, known, pairs, example, slots, number,
            )  # fmt: skip
            used = np.sort(slots[: number[0]])
            found.append((known[used], pairs[used], example[used]))
            pairs[used] = 0
        return found

    parts = in_parts(usual_threads(), ask, parts_of(n, min(2, n)))
    return [one for part in parts for one in part]


def _most_patterns(records: Compared, strangers: Floats) -> int:
    """Return how many patterns are possible, by the levels of each column."""
    lacking = [bool((one == MISSING).any()) for one in records.people]
    levels = np.count_nonzero(strangers, axis=1).tolist()
    pairs = zip(levels, lacking, strict=True)
    return math.prod(max(seen, 1) + lacks for seen, lacks in pairs)


def _levels(
    records: Compared, query: NDArray[np.int32], people: Integers
) -> NDArray[np.int8]:
    """Return the levels of pairs of a query and a person: 0, 1, 2, or -1 if missing."""
    other = records.people[:, people].T
    away = np.abs(query.astype(np.int64) - other)
    level = np.where(away == 0, 0, np.where(away <= records.near, 1, 2))
    level[(query == MISSING) | (other == MISSING)] = -1
    return level.astype(np.int8)
