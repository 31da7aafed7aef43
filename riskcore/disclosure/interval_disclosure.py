"""Intervals around released numbers that still hold the original number."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.numeric_risk import RANK, SPREAD, IntervalDisclosure
from riskcore.disclosure.record_linkage import deviation_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def rank_interval(original: Floats, released: Floats, width: float) -> Mask:
    """Return the original numbers between released ones whose ranks differ at most.

    They may differ by ``width`` times the number of released numbers. Equal numbers
    have all ranks from the first to the last of them.
    """
    inside = np.zeros(len(original), bool)
    there = ~np.isnan(released)
    n = int(np.count_nonzero(there))
    if not n:
        return inside
    labels, code, records = np.unique(
        released[there], return_inverse=True, return_counts=True
    )
    ends = np.cumsum(records)
    steps = math.floor(Fraction(repr(float(width))) * n)
    # The number of each rank, from 0, is that of the first label that ends after it.
    low = labels[np.searchsorted(ends, np.maximum(ends - records - steps, 0), "right")]
    high = labels[np.searchsorted(ends, np.minimum(ends - 1 + steps, n - 1), "right")]
    values = original[there]
    inside[there] = (low[code] <= values) & (values <= high[code])
    return inside


def spread_interval(original: Floats, released: Floats, width: float) -> Mask:
    """Return the original numbers within ``width`` standard deviations of the released.

    The standard deviation is that of the released numbers, which the intruder has.
    """
    reach = width * deviation_of(released)
    inside: Mask = (released - reach <= original) & (original <= released + reach)
    return inside


INTERVALS: dict[str, Callable[[Floats, Floats, float], Mask]] = {
    RANK: rank_interval,
    SPREAD: spread_interval,
}


def interval_disclosure(
    measure: str,
    width: float,
    columns: Sequence[Hashable],
    original: Sequence[Floats],
    released: Sequence[Floats],
) -> IntervalDisclosure:
    """Return which original numbers are in the intervals of the released ones."""
    interval = INTERVALS[measure]
    pairs = list(zip(original, released, strict=True))
    given = np.stack([~np.isnan(one) for one in original], axis=1)
    return IntervalDisclosure(
        measure,
        width,
        tuple(columns),
        np.stack([interval(*pair, width) for pair in pairs], axis=1),
        given,
        given & np.stack([~np.isnan(one) for one in released], axis=1),
    )
