"""Intervals around released numbers that still hold the original number."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.record_linkage import deviation_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

RANK, SPREAD = "rank", "spread"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IntervalDisclosure:
    """The original numbers that lie in an interval around the released ones.

    Attributes
    ----------
    measure : {"rank", "spread"}
        What the interval is measured by: ranks of the released numbers, or their
        standard deviation.
    width : float
        The interval reaches so far on each side: a share of the records, or of the
        standard deviation.
    columns : tuple of hashable
        Names of the columns, d of them.
    inside : bool ndarray, shape (n, d)
        Whether an original number is in the interval. A number that is missing in
        either file is not.
    given : bool ndarray, shape (n, d)
        Whether there is an original number.
    released : bool ndarray, shape (n, d)
        Whether there is one in both files.
    """

    measure: str
    width: float
    columns: tuple[Hashable, ...]
    inside: Mask
    given: Mask
    released: Mask

    @property
    def shares(self) -> dict[Hashable, float]:
        """By column, the share of the original numbers that are inside; nan of none."""
        inside = np.count_nonzero(self.inside, axis=0).tolist()
        given = np.count_nonzero(self.given, axis=0).tolist()
        return {
            name: a / b if b else math.nan
            for name, a, b in zip(self.columns, inside, given, strict=True)
        }

    @property
    def mean_share(self) -> float:
        """Mean of the shares of the columns that have numbers; nan of none."""
        shares = [one for one in self.shares.values() if not math.isnan(one)]
        return math.fsum(shares) / len(shares) if shares else math.nan

    @property
    def record_share(self) -> Floats:
        """Share of the original numbers of each record that are inside, shape (n,)."""
        given = np.count_nonzero(self.given, axis=1)
        share: Floats = np.count_nonzero(self.inside, axis=1) / np.maximum(given, 1)
        return share

    @property
    def disclosed(self) -> Mask:
        """Records with numbers in both files, all of them inside, shape (n,)."""
        found: Mask = (self.inside == self.released).all(1) & self.released.any(1)
        return found

    @property
    def disclosed_rate(self) -> float:
        """Share of the records that are disclosed."""
        return int(np.count_nonzero(self.disclosed)) / len(self.inside)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data for JSON; nan is None."""
        mean = self.mean_share
        return {
            "measure": self.measure,
            "width": self.width,
            "shares": {
                str(name): None if math.isnan(share) else share
                for name, share in self.shares.items()
            },
            "mean_share": None if math.isnan(mean) else mean,
            "disclosed_rate": self.disclosed_rate,
        }

    def __repr__(self) -> str:
        return (
            f"<IntervalDisclosure: by {self.measure} {self.width:g}, mean share "
            f"{self.mean_share:.6%}, disclosed records {self.disclosed_rate:.6%}>"
        )


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
