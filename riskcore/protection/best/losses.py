"""What a release loses: published measures, for each value and each blank.

All are between 0 for the value itself and 1 for a blank, as a mean over records and
keys, the keys weighted by their importance; discernibility is one over records.

granularity
    The share of the domain that the group of a value covers besides the value itself,
    (g - 1)/(D - 1) for g of D values (Iyengar 2002).
entropy
    The information that is lost of a value, log2(1/P(value | group)), as a share of
    the entropy of the key (Gionis and Tassa 2009, non-uniform entropy).
discernibility
    The share of the records that have the keys of a record, 1 for one with a blank
    (Bayardo and Agrawal 2005). It does not add up over the keys, see `Nodes`.
blanks
    Recoding costs nothing: only blanks count.
"""

from __future__ import annotations

import numpy as np

from riskcore.common.arrays import Floats
from riskcore.data.entropy import entropy
from riskcore.data.ladder import Rungs
from riskcore.protection.settings.best_settings import Measure


def losses_of(rungs: Rungs, measure: Measure) -> tuple[list[Floats], Floats]:
    """Return what each category loses on each rung, and what a blank of it loses.

    Missing values, the last category, lose nothing.
    """
    column = rungs.column
    levels = len(column.labels)
    nothing, whole = np.zeros(levels + 1), np.append(np.ones(levels), 0.0)
    if measure in ("blanks", "discernibility"):
        return [nothing] * len(rungs), whole if measure == "blanks" else nothing
    if measure == "granularity":
        others = max(rungs.domain - 1, 1)
        shares = [np.append((size - 1.0) / others, 0.0) for size in rungs.sizes]
        return shares, whole
    records = np.bincount(column.codes, minlength=levels + 1).astype(np.float64)
    records[levels] = 0.0
    bits = entropy(records)
    if bits == 0.0:
        return [nothing] * len(rungs), nothing
    losses = []
    for group in rungs.groups:
        of_group = np.bincount(group, records)[group]
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = np.log2(of_group / records) / bits
        losses.append(np.where(records > 0.0, lost, 0.0))
    with np.errstate(divide="ignore"):
        blank = np.log2(records.sum() / records) / bits
    return losses, np.where(records > 0.0, blank, 0.0)
