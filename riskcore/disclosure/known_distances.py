"""Measures of others by the distance to the closest record.

A distance is Gower's (1971): 1 for each category that differs, and for each number the
gap over its range; the sum over the number of columns. Records with missing numbers
have none and must be left out before.
"""

from __future__ import annotations

import math

import numpy as np

from riskcore.disclosure.all_pairs import Nearest
from riskcore.disclosure.mixed_records import Floats

Figures = dict[str, float]


def ranges_of(*numbers: Floats) -> Floats:
    """Return the range of each column of numbers over all the files given.

    SDMetrics takes the reference alone, Anonymeter and riskutility all files.
    """
    together = np.concatenate(numbers)
    ranges: Floats = together.max(axis=0) - together.min(axis=0)
    return ranges


def closest_record(two: Nearest, columns: int) -> Figures:
    """Return the distance to the closest record (DCR) and its ratio to the second.

    Park et al. (2018); Zhao, Kunar, Birke and Chen (2021): median and 5th percentile
    over the released records of DCR = d1/columns and of NNDR = d1/d2, which is 0 for a
    copy (d1 = 0). ``copies`` is the share of those. Domain: categories and numbers.
    Blind spot: without a holdout, near to a record and near to everybody look the same.
    """
    distance = two.first / columns
    ratio = np.zeros(len(distance))
    np.divide(two.first, two.second, out=ratio, where=two.first > 0.0)
    return {
        "DCR": float(np.median(distance)),
        "DCR, 5th percentile": float(np.quantile(distance, 0.05)),
        "NNDR": float(np.median(ratio)),
        "NNDR, 5th percentile": float(np.quantile(ratio, 0.05)),
        "copies": float(np.count_nonzero(two.first == 0.0)) / len(distance),
    }


def holdout_share(to_original: Floats, to_holdout: Floats) -> Figures:
    """Return the share of released records that are closer to the original.

    Platzer and Reutterer (2021): P(d < h) + P(d = h)/2 for the distances d to the
    original and h to a holdout as large; 1/2 where neither is closer as a rule.
    ``closer`` and ``as close`` are its parts; riskutility gives the first for the sum.
    Domain: a holdout of the size of the original, from the same population. Blind spot:
    an average, in which copies of a few persons drown.
    """
    n = len(to_original)
    closer = float(np.count_nonzero(to_original < to_holdout)) / n
    tied = float(np.count_nonzero(to_original == to_holdout)) / n
    return {"DCR share": closer + tied / 2.0, "closer": closer, "as close": tied}


def overfitting_protection(to_original: Floats, to_holdout: Floats) -> Figures:
    """Return SDMetrics' DCROverfittingProtection, min(2 (1 - P(d < h)), 1).

    DataCebo's SDMetrics; d and h as in `holdout_share`, each by the ranges of its own
    reference. Domain: a holdout; its subsampling is not done. Blind spot: a release of
    categories, where d = h for most records, has the full score whatever it copies.
    """
    share = holdout_share(to_original, to_holdout)["closer"]
    score = math.nan if math.isnan(share) else min(2.0 * (1.0 - share), 1.0)
    return {"DCROverfittingProtection": score}
