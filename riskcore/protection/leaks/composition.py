"""Households that are alone with the keys of their members.

Whoever knows the members of a household finds it by all of them together, even where
each member is one of many. Household ids, new ones too, tell who belongs together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from riskcore.common.scatter import scattered
from riskcore.data.count import count
from riskcore.protection.leaks.showing import codes_before
from riskcore.protection.protected_records import ProtectedRecords

Integers = NDArray[np.int64]


def records_by_composition(result: ProtectedRecords) -> int:
    """Return how many records are in a household that no other household equals.

    Households are equal if their members have the same keys, in any order; the set of
    keys by which most records are found counts. Households with a blank are left out,
    for they may equal others.
    """
    household = result.household_of
    if household is None:
        return 0
    codes = {
        name: np.where(result.masks[name], -1, codes_before(result, name))
        for name in result.settings.variables
    }
    return max(
        _alone([codes[name] for name in keys], household.astype(np.int64))
        for keys in result.settings.keys
    )


def _alone(codes: list[NDArray[np.signedinteger]], household: Integers) -> int:
    """Return how many records are in households that are alone by their members."""
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
    alone = (frequency[inverse] == 1) & ~blank
    return int(np.bincount(household, minlength=households)[alone].sum())
