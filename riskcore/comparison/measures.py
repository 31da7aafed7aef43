"""Measures of tables and columns: distances, association, moments.

Sums are those of `math.fsum`, rounded once: the order of the records changes no bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.sums import rounded_sum

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
fsum = rounded_sum
_ROUNDING = 1e-12  # one record of a million million moves more


def sums_by(codes: NDArray[Any], values: NDArray[Any], size: int) -> Floats:
    """Return the sum of the values of each code, in the order of the rows."""
    return np.asarray(np.bincount(codes, values, size), np.float64)


def total_variation(p: Floats, q: Floats) -> float:
    """Return half the sum of |p - q|: the share that would have to move.

    It is 0 if it may come from the rounding of shares alone.
    """
    moved = 0.5 * fsum(np.abs(p - q))
    return min(moved, 1.0) if moved > _ROUNDING else 0.0


def cramers_v(first: Ints, second: Ints, weight: Floats) -> float | None:
    """Return Cramer's V of a two-way table, not corrected for its bias.

    V = sqrt(phi^2/(min(r, c) - 1)), phi^2 the sum of (p_ij - p_i p_j)^2/(p_i p_j),
    r and c the numbers of categories that occur (Cramer 1946, section 21.9).
    """
    some = weight > 0
    first, second, weight = first[some], second[some], weight[some]
    if not len(weight):
        return None
    p = weight / fsum(weight)
    rows = np.asarray(np.bincount(first, p), np.float64)
    columns = np.asarray(np.bincount(second, p), np.float64)
    fewest = min(np.count_nonzero(rows), np.count_nonzero(columns))
    if fewest < 2:
        return None
    expected: Floats = rows[first] * columns[second]
    deviation = p - expected
    # Empty cells contribute p_i p_j each.
    empty = max(1.0 - fsum(expected), 0.0)
    phi2 = fsum(deviation * deviation / expected) + empty
    return min(math.sqrt(phi2 / (fewest - 1)), 1.0)


def mean_and_variance(values: Floats, weight: Floats) -> tuple[float, float]:
    """Return sum(w x)/sum(w), and sum(w (x - mean)^2)/sum(w)."""
    mean = _mean(values, weight)
    centered = values - mean
    return mean, fsum(weight * centered * centered) / fsum(weight)


def _mean(values: Floats, weight: Floats) -> float:
    return fsum(weight * values) / fsum(weight)


def quantiles(
    values: Floats, weight: Floats, shares: Sequence[float]
) -> tuple[float, ...]:
    """Return the smallest values at which the weight up to them reaches each share."""
    # Sorted by weight within a value, too: the order of the records must not matter.
    order = np.lexsort((weight, values))
    cumulated = np.cumsum(weight[order])
    at = np.searchsorted(cumulated, np.array(shares) * cumulated[-1])
    points = values[order][np.minimum(at, len(values) - 1)]
    return tuple(points.tolist())


def pearson(first: Floats, second: Floats, weight: Floats) -> float | None:
    """Return the weighted correlation of two columns of numbers."""
    if not len(weight):
        return None
    parts = [_centered(values, weight) for values in (first, second)]
    squares = [fsum(weight * part * part) for part in parts]
    if min(squares) == 0:
        return None
    product = fsum(weight * parts[0] * parts[1])
    return max(min(product / math.sqrt(squares[0] * squares[1]), 1.0), -1.0)


def _centered(values: Floats, weight: Floats) -> Floats:
    """Return the values less their mean, scaled by a power of two below 1."""
    if np.ptp(values) == 0:
        return np.zeros(len(values))
    part = values - _mean(values, weight)
    return np.ldexp(part, -int(np.frexp(np.abs(part).max())[1]))
