"""Columns that are another form of known numbers: rounded, a logarithm, a tax, a sum.

Whoever knows the numbers of a person can compute what such a column should be.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from riskcore.common.arrays import Floats
from riskcore.common.scatter import scattered

# The errors that are left if known numbers explain 99 % of a normal column.
_LEFT = 0.12
_MOSTLY = 0.9  # of the records count: errors in others do not hide the form
_SAMPLE = 2_000
_FEWEST = 20


def other_form(
    y: Floats, columns: Sequence[Floats], changed: Collection[int]
) -> tuple[tuple[int, ...], Floats] | None:
    """Return what y follows from, only with ``changed`` columns, and what it gives."""
    some = np.flatnonzero(~np.isnan(y))
    some = some[:: len(some) // _SAMPLE + 1]
    every = tuple(range(len(columns)))
    kept = tuple(j for j in every if j not in changed)
    alone = [((j,), _by_neighbors) for j in changed]
    ways = [(kept, _by_sum), *alone, (every, _by_sum)]
    x, z = [column[some] for column in columns], y[some]
    left = [_left(z, way([x[j] for j in of], z)) for of, way in ways]
    best = int(np.argmin(np.round(left, 2)))
    of, way = ways[best]
    if min(left) > _LEFT or of == kept:
        return None
    if _left(z, _by_sum([x[j] for j in of], z)) < left[best]:
        way = _by_sum  # which knows the ends, too
    return of, way([columns[j] for j in of], y)


def _by_neighbors(columns: Sequence[Floats], y: Floats) -> Floats:
    """Return the mean of y of the two records on either side in the order of x."""
    (x,), means = columns, np.full(len(y), math.nan)
    there = np.flatnonzero(~np.isnan(x + y)).astype(np.uint64)
    # The order of equal numbers tells nothing: that of the file might.
    order = there[np.lexsort((scattered(there), x[there]))]
    z = y[order]
    means[order[2:-2]] = (z[:-4] + z[1:-3] + z[3:-1] + z[4:]) / 4.0
    return means


def _by_sum(columns: Sequence[Floats], y: Floats) -> Floats:
    """Return the weighted sum of columns that fits nine in ten of y best."""
    table = np.column_stack([*columns, np.ones(len(y))])
    there = np.flatnonzero(~np.isnan(table.sum(axis=1) + y))
    there = there[:: len(there) // _SAMPLE + 1]
    if len(there) < _FEWEST * table.shape[1]:
        return np.full(len(y), math.nan)
    error = np.zeros(len(there))
    for _ in range(3):
        fit = there[error <= np.quantile(error, _MOSTLY)]
        factors = np.linalg.lstsq(table[fit], y[fit], rcond=None)[0]
        error = np.abs(table[there] @ factors - y[there])
    sums: Floats = table @ factors
    return sums


def _left(y: Floats, expected: Floats) -> float:
    """Return the errors of most values, as a part of those of the median."""
    # The commonest value does not count: that all without an income pay no tax does not
    # make the tax a function of income.
    values, counts = np.unique(y, return_counts=True)
    rest = ~np.isnan(expected)
    rest &= y != values[counts.argmax()] if len(y) else False
    if np.count_nonzero(rest) < _FEWEST:
        return math.inf
    y, expected = y[rest], expected[rest]
    spread = np.quantile(np.abs(y - np.median(y)), _MOSTLY)
    error = np.quantile(np.abs(y - expected), _MOSTLY)
    return float(error / spread) if spread > 0.0 else math.inf
