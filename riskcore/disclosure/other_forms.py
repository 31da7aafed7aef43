"""Columns that are another form of known numbers: rounded, a logarithm, a tax, a sum.

Whoever knows the numbers of a person can compute what such a column should be.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# What a normal column leaves of which known numbers explain 99 % (R^2 = 0.99).
_LEFT = 0.12
_MOSTLY = 0.9  # of the records count: errors in others do not hide the form
_SAMPLE = 4_000
_FEWEST = 20


def other_form(
    y: Floats, x: Floats, changed: Collection[int]
) -> tuple[tuple[int, ...], Floats] | None:
    """Return the columns of x that y follows from, and what y should be by them.

    None if it does not follow, or not from those that are ``changed``. The records are
    in a random order.
    """
    some = np.flatnonzero(~np.isnan(y))[:_SAMPLE]
    every = tuple(range(x.shape[1]))
    kept = tuple(j for j in every if j not in changed)
    ways = [
        (kept, _by_sum),
        *(((j,), _by_neighbors) for j in changed),
        (every, _by_sum),
    ]
    left = [_left(y[some], way(x[some][:, of], y[some])) for of, way in ways]
    best = int(np.argmin(np.round(left, 3)))
    of, way = ways[best]
    if left[best] > _LEFT or of == kept:
        return None
    without = [tuple(k for k in of if k != j) for j in of]
    alone = [_left(y[some], _by_sum(x[some][:, k], y[some])) for k in without]
    needed = tuple(j for j, one in zip(of, alone, strict=True) if one > _LEFT)
    return needed or of, way(x[:, of], y)


def _by_neighbors(x: Floats, y: Floats) -> Floats:
    """Return the mean of y of the two records on either side in the order of x."""
    found = np.full(len(y), math.nan)
    there = np.flatnonzero(~np.isnan(x[:, 0] + y))
    order = there[np.argsort(x[there, 0], kind="stable")]
    z = y[order]
    found[order[2:-2]] = (z[:-4] + z[1:-3] + z[3:-1] + z[4:]) / 4.0
    return found


def _by_sum(x: Floats, y: Floats) -> Floats:
    """Return the weighted sum of columns of x that fits nine in ten of y best."""
    table = np.column_stack([x, np.ones(len(x))])
    there = np.flatnonzero(~np.isnan(table.sum(axis=1) + y))[:_SAMPLE]
    if len(there) < _FEWEST * table.shape[1]:
        return np.full(len(y), math.nan)
    error = np.zeros(len(there))
    for _ in range(5):
        fit = there[error <= np.quantile(error, _MOSTLY)]
        factors = np.linalg.lstsq(table[fit], y[fit], rcond=None)[0]
        error = np.abs(table[there] @ factors - y[there])
    found: Floats = table @ factors
    return found


def _left(y: Floats, expected: Floats) -> float:
    """Return the errors of most values, as a part of those of the median.

    The commonest value does not count: that all without an income pay no tax does not
    make the tax a function of income.
    """
    there = ~np.isnan(y + expected)
    values, codes, counts = np.unique(y[there], return_inverse=True, return_counts=True)
    rest = there.copy()
    rest[there] = codes != counts.argmax() if len(values) else False
    if np.count_nonzero(rest) < _FEWEST:
        return math.inf
    error, spread = (
        np.quantile(np.abs(y[rest] - one), _MOSTLY)
        for one in (expected[rest], np.median(y[rest]))
    )
    return float(error / spread) if spread > 0.0 else math.inf
