"""Microaggregation: values become the mean of a group of at least k records.

One column is grouped optimally: no groups of at least k have a smaller sum of squares
within (Hansen and Mukherjee 2003). Several columns are grouped by MDAV, maximum
distance to the average vector (Domingo-Ferrer and Mateo-Sanz 2002, as stated by
Domingo-Ferrer and Torra 2005).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.sums import rounded_sum
from riskcore.data.kd_tree import build_trees, nodes_of
from riskcore.data.ranks import ranked, stable_order
from riskcore.protection.treatments.microaggregation_kernels import (
    join_groups,
    mdav_steps,
    optimal_groups,
)
from riskcore.protection.treatments.precision import rounded_as
from riskcore.protection.treatments.rules import (
    Floats,
    Given,
    Integers,
    Names,
    Treatment,
    enter,
    mean_of,
    refuse_fewer,
    whole_of,
)
from riskcore.protection.treatments.strata import strata

Mask = NDArray[np.bool_]

# Points in a leaf of the tree, at most; groups that are made before Ctrl-C is seen.
_LEAF = 32
_GROUPS_AT_ONCE = 2000


@enter
@dataclass(frozen=True, slots=True)
class Microaggregation(Treatment):
    """Values become the mean of a group of at least k similar records.

    The mean is weighted if there are weights, and keeps the decimals of the column.
    """

    k: int  # the size of the smallest group, at least 2
    within: Names = ()  # the columns of the strata in which groups are made

    kind = "microaggregate"
    alters = True
    columns = (1, math.inf)

    def check(self) -> None:
        """Refuse groups of single records."""
        refuse_fewer("k", self.k, 2)

    @classmethod
    def read(cls, argument: str) -> dict[str, Any]:
        """Return the size of the smallest group."""
        return {"k": whole_of(argument, "the size of a group")}

    def argument(self) -> str:
        """Return the size of the smallest group."""
        return str(self.k)

    def describe(self, public: bool) -> str:
        """Return "the mean of groups of at least 3 records"."""
        groups = f"groups of at least {self.k} similar records"
        return f"the mean of {groups}{self.in_strata()}"

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the means of the groups."""
        x = np.stack(values, axis=1)
        present: Mask = ~np.isnan(x)
        out = x.copy()
        if not present.any():
            return list(out.T)
        complete = present.sum(axis=1) == len(values)
        for rows in strata(context.stratum, complete, self.k, context.label):
            if not complete[rows].any():
                continue
            rows = rows[present[rows].any(axis=1)]
            group = groups_of(x[rows], self.k)
            weights = None if context.weights is None else context.weights[rows]
            out[rows] = _means(x[rows], group, weights)
        return [rounded_as(out[:, j].copy(), values[j]) for j in range(x.shape[1])]


def groups_of(x: Floats, k: int) -> Integers:
    """Return the group of each record, shape (n, p); at least k of each are complete.

    An incomplete record joins the group whose centroid is nearest in the columns that
    it has.
    """
    present = ~np.isnan(x)
    complete = present.all(axis=1)
    group = np.empty(len(x), np.int64)
    points = x[complete]
    if x.shape[1] == 1:
        group[complete] = univariate_groups(points[:, 0], k)
        return group
    scale = [_standard(column) for column in points.T]
    center, deviation = np.array(scale).T
    points = (points - center) / deviation
    group[complete] = mdav(points, k)
    if not complete.all():
        own = np.ascontiguousarray((x[~complete] - center) / deviation)
        group[~complete] = _joined(own, points, group[complete])
    return group


def _standard(column: Floats) -> tuple[float, float]:
    """Return the mean and the standard deviation of a column, 1 if it is constant."""
    mean = mean_of(column, None)
    squares = (column - mean) ** 2
    return mean, math.sqrt(rounded_sum(squares) / column.size) or 1.0


def univariate_groups(x: Floats, k: int) -> Integers:
    """Return the groups of at least k values with the least sum of squares within."""
    labels, codes = ranked(x)
    order = stable_order(codes, len(labels))
    n = len(x)
    group_of = np.empty(n, np.int64)
    cost, cut = np.empty(n + 1), np.empty(n + 1, np.int64)
    optimal_groups(x[order], n, k, cost, cut, group_of)
    group = np.empty(n, np.int64)
    group[order] = group_of
    return group


def mdav(points: Floats, k: int) -> Integers:
    """Return the groups of k to 2k - 1 points, shape (n, p), that MDAV makes.

    Of points at an equal distance the first one is taken.
    """
    n, p = points.shape
    group = np.full(n, -1, np.int64)
    (nodes,) = nodes_of(np.array([n]), _LEAF).tolist()
    levels = nodes.bit_length() - 1
    tree = np.array(points, order="C")
    order, where = np.arange(n), np.empty(n, np.int64)
    box, ends = np.empty(2 * p * nodes), np.zeros(2 * nodes, np.int64)
    begin, root = np.array([0, n]), np.array([0, nodes])
    build_trees(0, 1, p, begin, root, np.ones(p), tree, order, ends, box)
    where[order] = np.arange(n)
    total = np.zeros(2 * p)
    for j in range(p):
        total[2 * j] = rounded_sum(points[:, j])
    stack = np.empty(2 * (levels + 2), np.int64)
    work, neighbors = np.empty(p + k + stack.size), np.empty(k, np.int64)
    state = np.array([n, p, k, levels, n, 0], np.int64)
    space = (tree, order, where, box, ends, total, work, neighbors, stack, group)
    while state[4]:
        mdav_steps(state, _GROUPS_AT_ONCE, *space)
    return group


def _joined(own: Floats, points: Floats, group: Integers) -> Integers:
    """Return the group whose centroid is nearest to each incomplete record."""
    count = np.bincount(group)
    centroid = np.stack(
        [np.bincount(group, column) / count for column in points.T], axis=1
    )
    nearest = np.empty(len(own), np.int64)
    join_groups(
        len(own), own.shape[1], len(count), own, np.ascontiguousarray(centroid), nearest
    )
    return nearest


def _means(x: Floats, group: Integers, weights: Floats | None) -> Floats:
    """Return the mean of each record's group, of the values that are present."""
    out = x.copy()
    for j, column in enumerate(x.T):
        present: Any = ~np.isnan(column)
        if present.all():  # the arrays themselves, not copies
            present = slice(None)
        own, values = group[present], column[present]
        weight = np.ones(len(own)) if weights is None else weights[present]
        mean = _group_means(own, values, weight)
        out[present, j] = mean[own]
    return out


def _group_means(group: Integers, values: Floats, weight: Floats) -> Floats:
    """Return the weighted mean of each group; without any weight the plain one."""
    count = np.bincount(group)
    plain = np.bincount(group, values) / np.maximum(count, 1)
    total = np.bincount(group, weight)
    # Deviations from the plain mean: a group of equal values keeps its value.
    shift = np.bincount(group, weight * (values - plain[group]))
    return plain + np.divide(shift, total, where=total > 0.0, out=np.zeros_like(shift))
