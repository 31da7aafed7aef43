"""What treatments did to columns of numbers: moments, quantiles, correlations."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from riskcore.common.arrays import Floats
from riskcore.comparison.comparison import Moments
from riskcore.comparison.measures import mean_and_variance
from riskcore.comparison.statistics import correlation


def effects(
    before: Mapping[str, Floats],
    after: Mapping[str, Floats],
    weights: Floats | None = None,
) -> dict[str, Any]:
    """Return what treatments did to columns of numbers, as plain data."""
    files = {"before": before, "after": after}
    weight = (
        np.ones(len(next(iter(after.values()), ()))) if weights is None else weights
    )
    return {
        "columns": {
            name: {when: _distribution(of[name], weight) for when, of in files.items()}
            for name in after
        },
        "correlations": [
            {
                "columns": [*pair],
                **{
                    when: correlation(of[pair[0]], of[pair[1]], weight)
                    for when, of in files.items()
                },
            }
            for pair in combinations(after, 2)
        ],
    }


def _distribution(values: Floats, weight: Floats) -> dict[str, Any] | None:
    """Return weighted figures of values; zeros are a share."""
    present = ~np.isnan(values)
    values, weight = values[present], weight[present]
    if not (weight > 0.0).any():
        return None
    moments = Moments.of(values, weight)
    zeros, _ = mean_and_variance((values == 0.0).astype(np.float64), weight)
    return {
        "mean": moments.mean,
        "variance": moments.variance,
        "quantiles": moments.quantiles,
        "zeros": zeros,
    }
