"""k-anonymity: count the cells with too few records.

A file is k-anonymous if every record shares its keys with at least k - 1 others, that
is if no cell has a sample frequency f below k. Where missing keys match any value, f
counts possible matches, and with ``alpha`` it is a real number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments

# The k at which every report counts.
SHOWN = (2, 3, 5)
# The part of k by which rounding alone may lower f: a hundred records that count 0.29
# each are 28.999999999999996. Whole numbers are compared exactly.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Below:
    """The records (as sdcMicro) and cells (as mu-Argus) with a frequency below k."""

    k: int
    records: int
    cells: int


def short_of(f: NDArray[Any], k: int) -> NDArray[np.bool_]:
    """Return whether sample frequencies are below k, by more than rounding."""
    # Half at most: the next whole number below k must count as below.
    short: NDArray[np.bool_] = f < k - min(_ROUNDING * k, 0.5)
    return short


def count_below(
    f: NDArray[Any], cells: NDArray[np.int64] | None, records: NDArray[Any], k: int
) -> Below:
    """Return how many records and cells have a sample frequency below k.

    ``cells`` is the number of cells with each f, None if one each; ``records`` is the
    number of their records. k must be a whole number from 1 to 2**53.
    """
    k = arguments.whole_from("k", k, 1, 2**53)
    short = short_of(f, k)
    several = int(np.count_nonzero(short) if cells is None else cells[short].sum())
    return Below(k, int(records[short].sum()), several)
