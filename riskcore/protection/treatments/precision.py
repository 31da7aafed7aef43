"""How many decimals the values of a column have, so that treated ones have no more."""

from __future__ import annotations

import numpy as np

from riskcore.common.arrays import Floats

_MOST = 6


def decimals_of(values: Floats) -> int | None:
    """Return the decimals that all values need, at most 6; None if they need more."""
    present = values[~np.isnan(values)]
    for decimals in range(_MOST + 1):
        if np.array_equal(np.round(present, decimals), present):
            return decimals
    return None


def rounded_as(values: Floats, original: Floats) -> Floats:
    """Return values rounded to the decimals of the original ones."""
    decimals = decimals_of(original)
    # Adding 0 turns -0 into 0.
    return values if decimals is None else np.round(values, decimals) + 0.0
