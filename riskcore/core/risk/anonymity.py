"""Which cells have too few records: k-anonymity, as a count.

A file is k-anonymous if every record shares its keys with at least k - 1 others, that
is if no cell has a sample frequency f below k. Where missing keys match any value, f
counts what may match, and with ``alpha`` it is a real number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments

# The k at which every report counts.
SHOWN = (2, 3, 5)
# By how much, as a part of k, an f may be below k by rounding alone: a hundred records
# that count 0.29 each are 28.999999999999996. Whole numbers are compared exactly.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Below:
    """How much of a file lies in cells of too few records.

    Attributes
    ----------
    k : int
        The cells have a sample frequency below it.
    records, cells : int
        How many records they have, and how many cells they are: sdcMicro counts the
        first, mu-Argus the second.
    """

    k: int
    records: int
    cells: int


def short_of(f: NDArray[Any], k: int) -> NDArray[np.bool_]:
    """Return whether sample frequencies are below k, by more than rounding.

    Parameters
    ----------
    f : int64 or float64 ndarray, shape (K,)
    k : int

    Returns
    -------
    ndarray of bool, shape (K,)

    Examples
    --------
    >>> short_of(np.array([1, 2, 3]), 3)
    array([ True,  True, False])
    >>> short_of(np.array([100 * 0.29, 28.99]), 29)
    array([False,  True])
    """
    # Half at most, for the next whole number below k is below it.
    short: NDArray[np.bool_] = f < k - min(_ROUNDING * k, 0.5)
    return short


def count_below(
    f: NDArray[Any], cells: NDArray[np.int64] | None, records: NDArray[Any], k: int
) -> Below:
    """Return how many records and cells have a sample frequency below k.

    Parameters
    ----------
    f : int64 or float64 ndarray, shape (K,)
        Of single cells, or of several of one f each.
    cells : int64 ndarray, shape (K,), or None
        How many cells have this f; None: one each.
    records : int64 ndarray, shape (K,)
        Their own records.
    k : int

    Raises
    ------
    TypeError
        If k is not a whole number.
    ValueError
        If k is not in 1 to 2**53.
    """
    k = arguments.whole_from("k", k, 1, 2**53)
    short = short_of(f, k)
    several = int(np.count_nonzero(short) if cells is None else cells[short].sum())
    return Below(k, int(records[short].sum()), several)
