"""What a released file may give away, and what chance gives.

All kinds of evidence share these limits: at most three records beyond chance whatever
the size of the file, and a level that leaves one examination in a thousand with a leak
that is none.
"""

from __future__ import annotations

import math

from riskcore.assessment.roles import ALLOWED, UNIQUE_SHARE

LEVEL = 1e-3  # the probability that chance opens a leak in one examination


def too_many(count: float, records: int) -> bool:
    """Return whether more than three records, or 1 % of a small file, are told."""
    return count > min(ALLOWED, UNIQUE_SHARE * records)


def by_chance(count: float, chance: float, comparisons: int) -> bool:
    """Return whether chance finds as many in one of so many comparisons.

    By Chernoff's bound of the tail of a sum of probabilities (of a Poisson variable).
    """
    if count <= chance:
        return True
    if chance <= 0.0:
        return False
    exponent = chance - count + count * math.log(count / chance)
    return exponent <= -math.log(LEVEL / max(comparisons, 1))
