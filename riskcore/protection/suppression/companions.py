"""Companions: blanks after which nobody is named by elimination.

A record is named if it can belong to one person only once complete records account for
the others, see `riskcore.disclosure.elimination`. Another record that fits the same
keys is its companion: if it loses the keys in which the two people differ, the two
records can change places, and neither is named. Further blanks name nobody, as each
person remains a candidate where he was one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from riskcore.disclosure.elimination import eliminate
from riskcore.disclosure.kept_keys import Mask, cells, kept_sets, with_missing_drawn


def companions(
    codes: NDArray[np.integer], blanked: Mask, costs: NDArray[np.float64]
) -> Mask:
    """Return the values to blank so that nobody is named by elimination.

    A record whose companions would all lose a key that is never blanked stays named.

    Parameters
    ----------
    codes : int64, shape (n, K)
        The original keys after recoding, -1 for missing.
    blanked : bool, shape (n, K)
        Where the released record has no value.
    costs : float64, shape (K,) or (n, K)
        The cost of blanking each key, infinite for never.
    """
    more = np.zeros(blanked.shape, bool)
    people = with_missing_drawn(codes.astype(np.int64))
    now = blanked | (codes < 0)
    waiting = eliminate(codes, now).named
    for kept, rows in kept_sets(now.copy()):
        named = rows[waiting[rows]]
        if not len(named):
            continue
        lost = np.setdiff1d(np.arange(codes.shape[1]), kept)
        price = np.where(now, 0.0, costs)[:, lost].sum(axis=1)
        group = cells(people, kept)
        order = np.lexsort((price, group))
        # The cheapest record of the group, or the next one if it is the named one.
        first = np.searchsorted(group[order], group[named])
        companion = order[first + (order[first] == named)]
        may = np.isfinite(price[companion])
        named, companion = named[may], companion[may]
        differ = (people[companion] != people[named]) & ~now[companion]
        more[companion] |= differ
        now[companion] |= differ
        waiting[companion] = False
    return more
