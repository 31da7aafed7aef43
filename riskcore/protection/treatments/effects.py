"""What treatments did to columns of numbers: moments, quantiles, correlations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from riskcore.comparison.measures import mean_and_variance, pearson, quantiles
from riskcore.protection.treatments.rules import Floats

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Distribution:
    """A column of numbers in a few figures, weighted if there are weights.

    Attributes
    ----------
    mean, variance : float
        The variance is the mean squared deviation.
    quantiles : tuple of float
        At 5, 25, 50, 75 and 95 %: the smallest value that this share does not exceed.
    zeros, negatives : float
        The shares of the values that are 0, and below 0.
    """

    mean: float
    variance: float
    quantiles: tuple[float, ...]
    zeros: float
    negatives: float

    @classmethod
    def of(cls, values: Floats, weight: Floats) -> Distribution:
        """Return the figures of values, none of them missing."""
        mean, variance = mean_and_variance(values, weight)
        zeros, _ = mean_and_variance((values == 0.0).astype(np.float64), weight)
        negatives, _ = mean_and_variance((values < 0.0).astype(np.float64), weight)
        found = quantiles(values, weight, SHARES)
        return cls(mean, variance, found, zeros, negatives)


@dataclass(frozen=True, slots=True)
class Effect:
    """What treatments did to one column.

    Attributes
    ----------
    records : int
        The records with a value.
    altered : int
        How many of them have another value now.
    signs : int
        How many went from above to below 0, or from 0 to either, or back.
    before, after : Distribution or None
        None if no weight is on records with a value.
    """

    records: int
    altered: int
    signs: int
    before: Distribution | None
    after: Distribution | None

    def to_dict(self) -> dict[str, Any]:
        """Return the effect as plain data for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> found = effects({"x": np.array([1.0, 9.0])}, {"x": np.array([1.0, 5.0])})
        >>> found.columns["x"].to_dict()["altered"]
        1
        """
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Effects:
    """What treatments did to the columns of a file.

    Attributes
    ----------
    columns : dict of str to Effect
    correlations : dict of (str, str) to (float or None, float or None)
        Of each pair of treated columns before and after; None if one is constant.
    """

    columns: dict[str, Effect]
    correlations: dict[tuple[str, str], tuple[float | None, float | None]]

    def to_dict(self) -> dict[str, Any]:
        """Return the effects as plain data for JSON.

        Returns
        -------
        dict

        Examples
        --------
        >>> effects({}, {}).to_dict()
        {'columns': {}, 'correlations': []}
        """
        return {
            "columns": {name: one.to_dict() for name, one in self.columns.items()},
            "correlations": [
                {"columns": list(names), "before": before, "after": after}
                for names, (before, after) in self.correlations.items()
            ],
        }


def effects(
    before: Mapping[str, Floats],
    after: Mapping[str, Floats],
    weights: Floats | None = None,
) -> Effects:
    """Return what treatments did to columns.

    Parameters
    ----------
    before : mapping of str to float64 ndarray, shape (n,)
        At least the treated columns; nan is missing.
    after : mapping of str to float64 ndarray, shape (n,)
        The treated columns, as `treated_columns` returns them.
    weights : float64 ndarray, shape (n,), optional

    Returns
    -------
    Effects

    Examples
    --------
    >>> found = effects({"x": np.array([1.0, 9.0])}, {"x": np.array([1.0, 5.0])})
    >>> found.columns["x"].after.mean
    3.0
    """
    pairs = {name: (before[name], after[name]) for name in after}
    return Effects(
        {name: _effect(*both, weights) for name, both in pairs.items()},
        {
            (first, second): (
                _correlation(before[first], before[second], weights),
                _correlation(after[first], after[second], weights),
            )
            for first, second in combinations(after, 2)
        },
    )


def _effect(before: Floats, after: Floats, weights: Floats | None) -> Effect:
    """Return the effect on one column."""
    present = ~np.isnan(before)
    old, new = before[present], after[present]
    weight = np.ones(old.size) if weights is None else weights[present]
    weighed = bool((weight > 0.0).any())
    return Effect(
        old.size,
        int(np.count_nonzero(old != new)),
        int(np.count_nonzero(np.sign(old) != np.sign(new))),
        Distribution.of(old, weight) if weighed else None,
        Distribution.of(new, weight) if weighed else None,
    )


def _correlation(first: Floats, second: Floats, weights: Floats | None) -> float | None:
    """Return the correlation of the records with both values."""
    present = ~(np.isnan(first) | np.isnan(second))
    weight = np.ones(first.size) if weights is None else weights
    return pearson(first[present], second[present], weight[present])
