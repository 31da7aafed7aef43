"""Households that are alone with the keys of their members.

Whoever knows the members of a household finds it by all of them together, even where
each member is one of many. Household ids, new ones too, tell who belongs together. So
does the order of records that were not shuffled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.scatter import scattered
from riskcore.data.count import count

Integers = NDArray[np.int64]
KeyCodes = Sequence[NDArray[np.signedinteger[Any]]]
# For each set of keys its codes in the original and in the released file.
KeySets = Sequence[tuple[KeyCodes, KeyCodes]]
# With more candidates, one of them is taken to fit.
_CANDIDATES = 1000


def records_by_composition(
    sets: KeySets, household: Integers, *, least: int = 1
) -> int:
    """Return how many records are in a household that only one household fits."""
    # Members fit released records one by one, in any order, a blank standing for any
    # value; the set of keys by which most records are found counts.
    size = np.bincount(household)
    size[size < least] = 0
    counts = (int(size[_alone(*key_set, household)].sum()) for key_set in sets)
    return max(counts, default=0)


def _alone(
    original: KeyCodes, released: KeyCodes, household: Integers
) -> NDArray[np.bool_]:
    """Return which released households only one household of the original fits."""
    households = int(household.max()) + 1
    blank = np.zeros((households, len(released)), bool)
    mixed = np.zeros(households, bool)
    for i, codes in enumerate(released):
        blank[household[codes < 0], i] = True
        mixed[household[(codes >= 0) & blank[household, i]]] = True
    order = np.argsort(household, kind="stable")
    begin = np.searchsorted(household[order], np.arange(households + 1))
    before, after = np.stack(original, axis=1), np.stack(released, axis=1)
    alone = np.zeros(households, bool)
    kinds, kind = np.unique(blank, axis=0, return_inverse=True)
    for number, lacks in enumerate(kinds):
        # Whoever fits has the same members by the keys that all of them keep.
        alike = _by_members(before[:, ~lacks], household, households)
        some = np.flatnonzero(kind.reshape(-1) == number)
        frequency = np.bincount(alike)
        alone[some] = frequency[alike[some]] == 1
        if not (mixed[some] & ~alone[some]).any():
            continue
        by_kind = np.argsort(alike, kind="stable")
        first = np.searchsorted(alike[by_kind], np.arange(len(frequency) + 1))
        # They fit, unless some members keep a key that others lack.
        for unit in some[~alone[some] & mixed[some]].tolist():
            others = by_kind[first[alike[unit]] : first[alike[unit] + 1]]
            if len(others) <= _CANDIDATES:
                size = np.arange(begin[unit + 1] - begin[unit])
                people = before[order[begin[others[others != unit], None] + size]]
                pattern = after[order[begin[unit] + size], None]
                # By household, by row of the pattern, by member.
                fits = ((pattern == -1) | (pattern == people[:, None])).all(-1)
                near = fits[fits.any(2).all(1)].tolist()
                alone[unit] = not any(map(_one_by_one, near))
    return alone


def _by_members(
    codes: NDArray[np.signedinteger[Any]], household: Integers, households: int
) -> Integers:
    """Return a number for each household, the same if their members are."""
    of_record = np.zeros(len(household), np.uint64)
    if codes.shape[1]:
        columns = [(column + 1).astype(np.uint64) for column in codes.T]
        cells = count(columns, [int(column.max()) + 1 for column in columns])
        of_record = cells.inverse.astype(np.uint64)
    # Sums of hashes are as good as distinct; the order of the members does not count.
    whole = np.zeros(households, np.uint64)
    np.add.at(whole, household, scattered(of_record))
    alike: Integers = np.unique(whole, return_inverse=True)[1].reshape(-1)
    return alike


def _one_by_one(fits: list[list[bool]]) -> bool:
    """Return whether each row of a pattern has a member of its own that fits it."""
    taken: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for person in range(len(fits)):
            if fits[row][person] and person not in seen:
                seen.add(person)
                if person not in taken or place(taken[person], seen):
                    taken[person] = row
                    return True
        return False

    return all(place(row, set()) for row in range(len(fits)))
