"""Microaggregation: values become the mean of a group of at least k records.

One column is grouped optimally: no groups of at least k have a smaller sum of squares
within (Hansen and Mukherjee 2003). Several columns are grouped by MDAV, maximum
distance to the average vector (Domingo-Ferrer and Mateo-Sanz 2002, as stated by
Domingo-Ferrer and Torra 2005); with categories by the distance of Gower (1971).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskcore.common.arrays import Floats, Integers, Mask
from riskcore.common.progress import Lines, silent
from riskcore.common.sums import rounded_sum
from riskcore.common.warn import warn
from riskcore.common.words import sentence
from riskcore.data.kd_tree import build_trees, nodes_of
from riskcore.data.ranks import stable_order
from riskcore.disclosure.gower import gower_scale
from riskcore.protection.treatments.microaggregation_kernels import (
    join_groups,
    mdav_steps,
    optimal_groups,
)
from riskcore.protection.treatments.rules import (
    Given,
    Names,
    Treatment,
    decimals_of,
    enter,
    mean_of,
    refuse_fewer,
    rounded_as,
    whole_of,
)
from riskcore.protection.treatments.strata import strata


class MeansRounded(UserWarning):
    """Means or medians of groups of whole numbers are rounded to whole ones."""


# Points in a leaf of the tree, at most; groups that are made before Ctrl-C is seen.
_LEAF = 32
_GROUPS_AT_ONCE = 2000


@enter
@dataclass(frozen=True, slots=True)
class Microaggregation(Treatment):
    """Values become the mean of a group of at least k records, categories its mode."""

    k: int  # the size of the smallest group, at least 2
    median: bool = False  # of the records of the group, in place of the mean
    decimals: bool = False  # whether means may have more decimals than the column
    categories: Names = ()  # the columns that are no numbers
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

    def describe(self, public: bool) -> str:
        """Return "the mean of groups of at least 3 records"."""
        return sentence(
            "the median of groups of at least {n} similar records{within}"
            if self.median
            else "the mean of groups of at least {n} similar records{within}",
            *(self.k, self.in_strata()),
        )

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the means of the groups."""
        codes = [name in self.categories for name in context.names]
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
            group = groups_of(x[rows], self.k, codes, context.say)
            weights = None if context.weights is None else context.weights[rows]
            numbers = _group_medians if self.median else _group_means
            of = [_group_modes if is_code else numbers for is_code in codes]
            out[rows] = _means(x[rows], group, weights, of)
        if self.decimals:
            return list(out.T.copy())
        rounded = [rounded_as(column.copy(), x[:, j]) for j, column in enumerate(out.T)]
        if any(
            decimals_of(new) == 0 and not np.array_equal(new, old, equal_nan=True)
            for new, old in zip(rounded, out.T, strict=True)
        ):
            warn(
                f"{context.label}: numbers of groups are rounded, as the column has "
                "whole numbers; add :decimals to the rule to keep decimals",
                MeansRounded,
            )
        return rounded


def groups_of(
    x: Floats, k: int, codes: Sequence[bool] = (), say: Lines = silent
) -> Integers:
    """Return the group of each record; at least k records of each are complete."""
    # An incomplete record joins the group whose centroid is nearest in the columns that
    # it has. With ``codes`` distances are those of Gower.
    if any(codes):
        x = _for_gower(x, codes)
    present = ~np.isnan(x)
    complete = present.all(axis=1)
    group = np.empty(len(x), np.int64)
    points = x[complete]
    if x.shape[1] == 1:
        group[complete] = univariate_groups(points[:, 0], k)
        return group
    city = int(any(codes))
    scale = [(0.0, 1.0) if city else _standard(column) for column in points.T]
    center, deviation = np.array(scale).T
    points = (points - center) / deviation
    group[complete] = mdav(points, k, city, say)
    if not complete.all():
        own = np.ascontiguousarray((x[~complete] - center) / deviation)
        group[~complete] = _joined(own, points, group[complete], city)
    return group


def _for_gower(x: Floats, codes: Sequence[bool]) -> Floats:
    """Return columns whose sums of absolute differences are distances of Gower."""
    # Numbers are divided by their range; a category is half in the column of its code.
    columns = []
    for column, is_code in zip(x.T, codes, strict=True):
        if not is_code:
            columns.append(column * gower_scale([column]))
            continue
        own = [np.where(column == code, 0.5, 0.0) for code in np.unique(column)]
        columns += [np.where(np.isnan(column), np.nan, half) for half in own]
    return np.stack(columns, axis=1)


def _standard(column: Floats) -> tuple[float, float]:
    """Return the mean and the standard deviation of a column, 1 if it is constant."""
    mean = mean_of(column, None)
    squares = (column - mean) ** 2
    return mean, math.sqrt(rounded_sum(squares) / column.size) or 1.0


def univariate_groups(x: Floats, k: int) -> Integers:
    """Return the groups of at least k values with the least sum of squares within."""
    labels, codes = np.unique(x, return_inverse=True)
    order = stable_order(codes, len(labels))
    n = len(x)
    group_of = np.empty(n, np.int64)
    cost, cut = np.empty(n + 1), np.empty(n + 1, np.int64)
    optimal_groups(x[order], n, k, cost, cut, group_of)
    group = np.empty(n, np.int64)
    group[order] = group_of
    return group


def mdav(points: Floats, k: int, city: int = 0, say: Lines = silent) -> Integers:
    """Return the groups of k to 2k - 1 points that MDAV makes; first ones win ties."""
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
    state = np.array([n, p, k, levels, n, 0, city], np.int64)
    space = (tree, order, where, box, ends, total, work, neighbors, stack, group)
    while state[4]:
        say(f"grouping similar records: {1 - state[4] / n:.0%}")
        mdav_steps(state, _GROUPS_AT_ONCE, *space)
    return group


def _joined(own: Floats, points: Floats, group: Integers, city: int) -> Integers:
    """Return the group whose centroid is nearest to each incomplete record."""
    count = np.bincount(group)
    centroid = np.stack([np.bincount(group, x) / count for x in points.T], axis=1)
    nearest = np.empty(len(own), np.int64)
    middle = np.ascontiguousarray(centroid)
    join_groups(len(own), own.shape[1], len(count), city, own, middle, nearest)
    return nearest


def _means(
    x: Floats,
    group: Integers,
    weights: Floats | None,
    of: Sequence[Callable[[Integers, Floats, Floats], Floats]],
) -> Floats:
    """Return what ``of`` gives for each record's group, of the values present."""
    out = x.copy()
    for j, column in enumerate(x.T):
        present: Any = ~np.isnan(column)
        if present.all():  # the arrays themselves, not copies
            present = slice(None)
        own, values = group[present], column[present]
        weight = np.ones(len(own)) if weights is None else weights[present]
        mean = of[j](own, values, weight)
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


def _group_medians(group: Integers, values: Floats, weight: Floats) -> Floats:
    """Return the median of each group."""
    order = np.lexsort((values, group))
    count = np.bincount(group)
    first = np.cumsum(count) - count
    last = len(values) - 1  # of a group without values nobody asks for the median
    low, high = (np.minimum(first + at, last) for at in ((count - 1) // 2, count // 2))
    middle: Floats = (values[order[low]] + values[order[high]]) / 2.0
    return middle


def _group_modes(group: Integers, values: Floats, weight: Floats) -> Floats:
    """Return the most frequent code of each group, the smallest one of ties."""
    levels = int(values.max()) + 1
    pairs, at = np.unique(group * levels + values.astype(np.int64), return_inverse=True)
    order = np.lexsort((-np.bincount(at.reshape(-1), weight), pairs // levels))
    groups, first = np.unique(pairs[order] // levels, return_index=True)
    mode = np.zeros(int(group.max()) + 1)
    mode[groups] = pairs[order][first] % levels
    return mode
