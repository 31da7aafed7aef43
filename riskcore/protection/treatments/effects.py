"""What treatments did to columns of numbers: moments, quantiles, correlations."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from riskcore.comparison.comparison import QUANTILES
from riskcore.comparison.measures import mean_and_variance, pearson, quantiles
from riskcore.protection.treatments.rules import Floats


def effects(
    before: Mapping[str, Floats],
    after: Mapping[str, Floats],
    weights: Floats | None = None,
) -> dict[str, Any]:
    """Return what treatments did to columns of numbers, as plain data.

    ``before`` has at least the columns of ``after``; nan is missing. Without a weight
    on records with a value a column has no distribution, None, and constant columns
    have no correlation.

    >>> found = effects({"x": np.array([1.0, 9.0])}, {"x": np.array([1.0, 5.0])})
    >>> found["columns"]["x"]["altered"], found["columns"]["x"]["after"]["mean"]
    (1, 3.0)
    """
    return {
        "columns": {
            name: _effect(before[name], after[name], weights) for name in after
        },
        "correlations": [
            {
                "columns": [first, second],
                "before": _correlation(before[first], before[second], weights),
                "after": _correlation(after[first], after[second], weights),
            }
            for first, second in combinations(after, 2)
        ],
    }


def _effect(before: Floats, after: Floats, weights: Floats | None) -> dict[str, Any]:
    """Return the effect on the values of one column."""
    present = ~np.isnan(before)
    old, new = before[present], after[present]
    weight = np.ones(old.size) if weights is None else weights[present]
    return {
        "records": old.size,
        "altered": int(np.count_nonzero(old != new)),
        "signs": int(np.count_nonzero(np.sign(old) != np.sign(new))),
        "before": _distribution(old, weight),
        "after": _distribution(new, weight),
    }


def _distribution(values: Floats, weight: Floats) -> dict[str, Any] | None:
    """Return weighted figures of values; zeros and negatives are shares."""
    if not (weight > 0.0).any():
        return None
    mean, variance = mean_and_variance(values, weight)
    zeros, _ = mean_and_variance((values == 0.0).astype(np.float64), weight)
    negatives, _ = mean_and_variance((values < 0.0).astype(np.float64), weight)
    return {
        "mean": mean,
        "variance": variance,
        "quantiles": quantiles(values, weight, QUANTILES),
        "zeros": zeros,
        "negatives": negatives,
    }


def _correlation(first: Floats, second: Floats, weights: Floats | None) -> float | None:
    """Return the correlation of the records with both values."""
    present = ~(np.isnan(first) | np.isnan(second))
    weight = np.ones(first.size) if weights is None else weights
    return pearson(first[present], second[present], weight[present])
