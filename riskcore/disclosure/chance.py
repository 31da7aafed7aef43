"""What a released file may give away, and what chance gives.

All kinds of evidence share these limits: at most three records beyond chance whatever
the size of the file, and a level that leaves one examination in a thousand with a leak
that is none.
"""

from __future__ import annotations

import math

from riskcore.assessment.roles import ALLOWED, UNIQUE_SHARE

LEVEL = 1e-3  # the probability that chance opens a leak in one examination


def too_many(found: float, records: int) -> bool:
    """Return whether more records are given away than a file of this size may.

    More than three are too many, and more than 1 % of a small file.
    """
    return found > min(ALLOWED, UNIQUE_SHARE * records)


def by_chance(found: float, chance: float, comparisons: int) -> bool:
    """Return whether chance finds as many in one of so many comparisons.

    By Chernoff's bound of the tail of a sum of probabilities (of a Poisson variable).
    """
    if found <= chance:
        return True
    if chance <= 0.0:
        return False
    exponent = chance - found + found * math.log(found / chance)
    return exponent <= -math.log(LEVEL / max(comparisons, 1))
