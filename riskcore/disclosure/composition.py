"""Households that are alone with the keys of their members.

Whoever knows the members of a household finds it by all of them together, even where
each member is one of many. Household ids, new ones too, tell who belongs together. So
do columns that members share, such as the income of the household, and the order of
records that were not shuffled.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.scatter import scattered
from riskcore.data.count import count

Integers = NDArray[np.int64]
Codes = NDArray[np.integer[Any]]
KeySets = Sequence[Sequence[NDArray[np.signedinteger[Any]]]]
# A column is shared if members differ in at most this share of the households; so many
# columns in which some differ are tried.
_DIFFERING = 0.05
_TRIED = 20


class Rebuilt(NamedTuple):
    """Households that were rebuilt without their ids."""

    records: int  # in households that are alone by their members
    columns: tuple[Hashable, ...]  # that members share; none for the order


def records_by_composition(sets: KeySets, household: Integers) -> int:
    """Return how many records are in a household that no other household equals.

    ``sets`` holds the released codes of each set of keys, -1 for missing or blank.
    Households are equal if their members have the same keys, in any order; the set of
    keys by which most records are found counts. Households with a blank are left out,
    for they may equal others.
    """
    size = np.bincount(household)
    return max(int(size[_alone(codes, household)].sum()) for codes in sets)


def records_rebuilt(
    sets: KeySets,
    household: Integers,
    columns: Mapping[Hashable, Codes],
    *,
    shuffled: bool,
) -> Rebuilt:
    """Return how many records are in such households although the ids are left out.

    ``columns`` holds the codes of the released columns. Records with equal values in
    the columns that members share are taken for a household, and counted if they are
    one, of two members or more. If members stand together and the file is not shuffled,
    all households are taken as known.
    """
    household = np.unique(household, return_inverse=True)[1].reshape(-1)
    if not shuffled and np.count_nonzero(np.diff(household)) == household.max():
        return Rebuilt(_records_found(sets, household, household), ())
    shared = _shared(columns, household)
    names = [name for name, differing in shared.items() if not differing]
    group = _together([columns[name] for name in names], len(household))
    found = _records_found(sets, household, group)
    few = sorted(filter(shared.get, shared), key=shared.__getitem__)
    for name in few[:_TRIED]:
        finer = _together([group, columns[name]], len(household))
        if (more := _records_found(sets, household, finer)) > found:
            group, found, names = finer, more, [*names, name]
    return Rebuilt(found, tuple(names))


def _shared(
    columns: Mapping[Hashable, Codes], household: Integers
) -> dict[Hashable, int]:
    """Return the columns that members mostly share, and in how many they differ."""
    several = int(np.count_nonzero(np.bincount(household) > 1))
    found = {}
    for name, codes in columns.items():
        last = np.zeros(int(household.max()) + 1, codes.dtype)
        last[household] = codes
        differing = len(np.unique(household[codes != last[household]]))
        if differing <= _DIFFERING * several:
            found[name] = differing
    return found


def _together(columns: Sequence[NDArray[Any]], n: int) -> Integers:
    """Return the number of each combination of codes, from 0."""
    group = np.zeros(n, np.int64)
    for codes in columns:
        pair = group * (int(codes.max()) + 1) + codes
        group = np.unique(pair, return_inverse=True)[1].reshape(-1)
    return group


def _records_found(sets: KeySets, household: Integers, group: Integers) -> int:
    """Return how many records are in households that are groups and alone."""
    size = np.bincount(household)
    of = np.zeros(len(size), np.int64)
    of[household] = group
    whole = (np.bincount(group)[of] == size) & (size > 1)
    whole[household[of[household] != group]] = False
    if not whole.any():
        return 0
    return max(int(size[whole & _alone(codes, household)].sum()) for codes in sets)


def _alone(
    codes: Sequence[NDArray[np.signedinteger[Any]]], household: Integers
) -> NDArray[np.bool_]:
    """Return which households no other one equals by its members."""
    levels = [int(one.max()) + 2 for one in codes]
    cells = count([(one + 1).astype(np.uint64) for one in codes], levels)
    # Sums of hashes are as good as distinct.
    member = scattered(cells.inverse.astype(np.uint64))
    households = int(household.max()) + 1
    whole = np.zeros(households, np.uint64)
    np.add.at(whole, household, member)  # the order of the members does not count
    blank = np.zeros(households, bool)
    for one in codes:
        blank[household[one < 0]] = True
    _, inverse, frequency = np.unique(whole, return_inverse=True, return_counts=True)
    alone: NDArray[np.bool_] = (frequency[inverse] == 1) & ~blank
    return alone
