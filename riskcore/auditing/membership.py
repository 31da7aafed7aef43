"""Membership: whether the people near to a released record were in the original.

The intruder has the values of a person and asks whether the person was in the original:
yes, the nearer the closest released record is. A holdout of people who were not in it
tells how often that is right: the area under the curve is the probability that somebody
of the original is nearer to the release than somebody of the holdout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from riskcore.auditing.cell_trees import Floats
from riskcore.common import arguments


@dataclass(frozen=True, slots=True)
class Membership:
    """How well distances to the release tell the original from a holdout.

    Attributes
    ----------
    people : tuple of int
        People of the original and of the holdout whose distance is known.
    area : float
        P(d < h) + P(d = h)/2 for the distances d of the original and h of the holdout:
        1/2 if the release tells nothing.
    error : float
        Its standard deviation.
    """

    people: tuple[int, int]
    area: float
    error: float

    @classmethod
    def of(cls, original: Floats, holdout: Floats) -> Membership:
        """Compare distances to the closest released record."""
        nearer = _nearer(original, holdout)  # than so large a share of the holdout
        farther = 1.0 - _nearer(holdout, original)
        spread = sum(
            float(np.var(each, ddof=1)) / len(each) if len(each) > 1 else math.nan
            for each in (nearer, farther)
        )
        people = len(original), len(holdout)
        return cls(people, math.fsum(nearer.tolist()) / len(nearer), math.sqrt(spread))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for the area (DeLong, DeLong and Clarke-Pearson 1988)."""
        level = arguments.number_in("level", level, "(0, 1)")
        reach = NormalDist().inv_cdf((1.0 + level) / 2.0) * self.error
        return max(self.area - reach, 0.0), min(self.area + reach, 1.0)


def _nearer(distances: Floats, others: Floats) -> Floats:
    """Return than which share of others each distance is smaller; a tie is a half."""
    rising = np.sort(others)
    below = np.searchsorted(rising, distances, side="left")
    upto = np.searchsorted(rising, distances, side="right")
    share: Floats = 1.0 - (below + upto) / (2.0 * len(others))
    return share
