"""Companions: blanks after which elimination tells nothing.

The blanked keys of a record are told if other people do not remain once complete
records account for theirs, see `riskcore.disclosure.elimination`; if only one person
has these keys, he is named. Another record that fits the keys which are left is a
companion: if it loses the keys in which the two people differ, the two records can
change places. Further blanks tell nothing, as each person remains a candidate where he
was one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from riskcore.disclosure.elimination import eliminate
from riskcore.disclosure.kept_keys import Mask, cells, kept_sets, with_missing_drawn


def companions(
    codes: NDArray[np.integer], blanked: Mask, costs: NDArray[np.float64]
) -> Mask:
    """Return the values to blank so that elimination tells no blanked key.

    A record whose companions would all lose a key that is never blanked stays told.

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
    found = eliminate(codes, blanked)
    waiting = found.told | found.named
    cell = cells(people, range(codes.shape[1]))
    for kept, rows in kept_sets(now.copy()):
        told = rows[waiting[rows]]
        if not len(told):
            continue
        lost = np.setdiff1d(np.arange(codes.shape[1]), kept)
        price = np.where(now, 0.0, costs)[:, lost].sum(axis=1)
        group = cells(people, kept)
        # The cheapest record of each cell, and of these the cheapest of the group, or
        # the next one if that is of the same cell.
        order = np.lexsort((price, group))
        order = order[np.sort(np.unique(cell[order], return_index=True)[1])]
        first = np.searchsorted(group[order], group[told])
        companion = order[first + (cell[order[first]] == cell[told])]
        may = np.isfinite(price[companion])
        told, companion = told[may], companion[may]
        differ = (people[companion] != people[told]) & ~now[companion]
        for i, keys in zip(companion, differ, strict=True):
            more[i] |= keys
        now |= more
        waiting[companion] = False
    return more
