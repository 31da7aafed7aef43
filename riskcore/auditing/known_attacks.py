"""Singling out and linkability as Anonymeter defines them, without its random numbers.

Giomi, Boenisch, Wehmeyer and Tasnadi (2023) draw queries and records to attack. Here
all queries are asked and all records attacked: the rates are the expectations of
theirs, and an interval tells how far a run of so many attacks strays from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.auditing.cell_trees import MixedRecords
from riskcore.auditing.common_cells import (
    Columns,
    Ints,
    agreeing,
    count_cells,
    matching,
)
from riskcore.auditing.orthants import count_as_extreme
from riskcore.core.risk.file_risk import sum_of_products
from riskcore.data.unsigned import combine

_MOST_COUNTERS = 1 << 24  # of a table of the values of all keys of a query


class SuccessRate(NamedTuple):
    """The success rate of an attack, with half the width of its interval."""

    value: float
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """Its interval, cut off at 0 and 1."""
        low, high = self.value - self.error, self.value + self.error
        return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


def success_rate(successes: float, attacks: int, level: float = 0.95) -> SuccessRate:
    """Return the center and half the width of Wilson's (1927) interval.

    (k + z^2/2)/(n + z^2), z sqrt(k (n - k)/n + z^2/4)/(n + z^2), as in Anonymeter.
    Domain: n independent attacks. Blind spot: 0 successes of 10 are reported as 0.14.
    """
    if attacks < 1:
        raise ValueError(f"attacks={attacks}: need at least one")
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    whole = attacks + z * z
    spread = successes * (attacks - successes) / attacks + z * z / 4.0
    return SuccessRate((successes + z * z / 2.0) / whole, z * math.sqrt(spread) / whole)


def residual_rate(attack: SuccessRate, control: SuccessRate) -> SuccessRate:
    """Return the success of an attack beyond that on persons who were not released.

    Giomi et al. (2023): (a - c)/(1 - c), with errors propagated; negative where the
    control is easier to attack, nan where c = 1. Domain: a control of the same
    population. Blind spot: what the attack does to the control is called no risk.
    """
    left = 1.0 - control.value
    if left == 0.0:
        return SuccessRate(math.nan, math.nan)
    error = math.hypot(
        attack.error / left, control.error * (attack.value - 1.0) / left**2
    )
    return SuccessRate((attack.value - control.value) / left, error)


class SinglingOut(NamedTuple):
    """How many queries single out a person.

    ``right`` and ``control`` are counted in samples of the size that the smaller of
    original and control has, and expected over these; ``control`` is nan without one.
    ``baseline`` is nan if there are numbers, or if the keys have too many values.
    """

    queries: int  # pairs of columns and released record that single out in the release
    successes: int  # of them single out in the original
    right: float
    control: float
    baseline: float  # probability that a query at random singles out in the original


def singling_out(
    released: MixedRecords,
    original: MixedRecords,
    levels: Sequence[int],
    size: int = 3,
    control: MixedRecords | None = None,
) -> SinglingOut:
    """Return how many queries that are true of one released record are of one person.

    Giomi et al. (2023), after Cohen and Nissim (2020): a query states the values of
    ``size`` columns; of a number it says "at least" above the median of the release,
    "at most" below. Anonymeter draws from the queries that single out in the release,
    with equal probabilities; here are all of them, over all sets of columns. Its
    baseline draws columns, values and "is" or "is not". Anonymeter drops repeated
    records from all files beforehand; do so to get its numbers. Domain: categories and
    numbers without missing ones. Blind spot: single in the file is not single in the
    population.
    """
    d = len(levels)
    columns = range(d + released.numbers.shape[1])
    others = [original] if control is None else [original, control]
    for name, one in (("released", released), ("original", original)):
        one.refuse_missing(name)
    sizes = [len(one.numbers) for one in others]
    least = min(sizes)
    queries, successes, guesses = 0, 0, []
    expected = [0.0, 0.0]
    for chosen in combinations(columns, min(size, len(columns))):
        keys = [key for key in chosen if key < d]
        if len(keys) == len(chosen):
            found, guess = _by_keys([released, *others], levels, keys)
        else:
            numbers = [key - d for key in chosen if key >= d]
            most = 2 if max(sizes) == least else max(sizes)
            found = _by_numbers([released, *others], levels, keys, numbers, most)
            guess = math.nan
        queries += len(found[0])
        successes += int(np.count_nonzero(found[0] == 1))
        for i, records in enumerate(found):
            expected[i] += alone_in_sample(records, sizes[i], least)
        guesses.append(guess)
    baseline = math.fsum(guesses) / len(guesses)
    held = math.nan if control is None else expected[1]
    return SinglingOut(queries, successes, expected[0], held, baseline)


def _by_keys(
    files: Sequence[MixedRecords], levels: Sequence[int], keys: Sequence[int]
) -> tuple[list[Ints], float]:
    """Return the records of the other files for each query of keys, and the baseline.

    The queries are those that are true of one record of the first file, the release.
    """
    few = [levels[key] for key in keys]
    columns = [[one.codes[key] for key in keys] for one in files]
    claims, *found = _count(columns, few)
    guess = _guess(claims, found[0], few)
    return [records[claims == 1] for records in found], guess


def _by_numbers(
    files: Sequence[MixedRecords],
    levels: Sequence[int],
    keys: Sequence[int],
    numbers: Sequence[int],
    most: int,
) -> list[Ints]:
    """Return the records of the other files for each query of keys and numbers."""
    few = [levels[key] for key in keys]
    released, *others = (
        MixedRecords([one.codes[key] for key in keys], one.numbers[:, numbers])
        for one in files
    )
    middle = np.median(released.numbers, axis=0)
    claims = count_as_extreme(released, released, few, middle, 2)
    asked = released.at(claims == 1)
    return [count_as_extreme(asked, one, few, middle, most) for one in others]


def alone_in_sample(records: Ints, size: int, sample: int) -> float:
    """Return the expected number of cells with one record in a sample from a file.

    The hypergeometric law: c C(N - c, m - 1)/C(N, m) for a cell of c of N records.
    """
    if sample == size:
        return float(np.count_nonzero(records == 1))
    values, cells = np.unique(records, return_counts=True)
    c = np.arange(1, max(int(values[-1]), 1) + 1) if len(values) else np.arange(0)
    # P(1 of c) / P(1 of c - 1) = c/(c - 1) (N - m - c + 2)/(N - c + 1).
    steps = (size - sample - c[1:] + 2.0) / (size - c[1:] + 1.0)
    none_else = np.concatenate([[1.0], np.cumprod(np.maximum(steps, 0.0))])
    chance = np.concatenate([[0.0], np.minimum(c * sample / size * none_else, 1.0)])
    return sum_of_products(chance[values], cells, np.inf)


def _count(files: Sequence[Columns], levels: Sequence[int]) -> Sequence[Ints]:
    """Return the records of each file in each cell, a table of all if it is small."""
    if math.prod(levels) > _MOST_COUNTERS:
        return count_cells(files, levels).records
    tables = []
    for columns in files:
        code = np.empty(len(columns[0]), np.uint64)
        combine([*map(np.ascontiguousarray, columns)], levels, 0, len(code), code)
        tables.append(np.bincount(code.view(np.int64), minlength=math.prod(levels)))
    return tables


def _guess(released: Ints, original: Ints, levels: Sequence[int]) -> float:
    """Return the probability that a random query singles out in the original.

    Both are tables of records in cells. A query states of each key that it is, or is
    not, one of the values that the release has, each with the same probability.
    """
    if math.prod(levels) > _MOST_COUNTERS:
        return math.nan
    d = len(levels)
    counts = [original.reshape(levels)]
    for axis in range(d):
        counts += [one.sum(axis, keepdims=True) - one for one in counts]
    table = released.reshape(levels)
    others = [tuple(key for key in range(d) if key != axis) for axis in range(d)]
    asked = np.ix_(*(np.flatnonzero(table.sum(axes)) for axes in others))
    return math.fsum(float(np.mean(one[asked] == 1)) for one in counts) / len(counts)


def linkability(
    original: Columns,
    released: Columns,
    levels: Sequence[int],
    first: Sequence[int],
    second: Sequence[int],
) -> float:
    """Return the expected number of persons whose two halves the release links.

    Giomi et al. (2023), one neighbor: the ``first`` keys of a person have a closest
    released record, the ``second`` have one, and it is the same. Of several as close
    one is taken at random on each side, where Anonymeter's depends on how it sorts: a
    person with the closest sets A and B counts |A and B|/(|A| |B|). By chance it is 1/m
    for m released records. Domain: keys of categories, one neighbor. Blind spot: with
    few categories all neighbors tie, and copies of persons are hardly linked.
    """
    if not first or not second or set(first) & set(second):
        raise ValueError("the two sets of keys must be disjoint, neither empty")
    both = [*first, *second]
    files = [[one[key] for key in both] for one in (original, released)]
    few = [levels[key] for key in both]
    cell = count_cells(files, few).cell[0]
    _, row, persons = np.unique(cell, return_index=True, return_counts=True)
    asked = [column[row] for column in files[0]]
    a, b = len(first), len(second)
    one = agreeing(asked[:a], files[1][:a], few[:a])
    two = agreeing(asked[a:], files[1][a:], few[a:])
    common = np.zeros(len(row), np.int64)
    for near, far in {*zip(one.distance.tolist(), two.distance.tolist(), strict=True)}:
        these = np.flatnonzero((one.distance == near) & (two.distance == far))
        group = [column[these] for column in asked]
        common[these] = _in_both(group, files[1], few, (a, near), (b, far))
    share = common / one.records / two.records
    return sum_of_products(share, persons, np.inf)


def _in_both(
    query: Columns,
    reference: Columns,
    levels: Sequence[int],
    first: tuple[int, int],
    second: tuple[int, int],
) -> NDArray[np.int64]:
    """Return how many references differ from each query in so many keys of each half.

    A half is given by its number of keys and how many of these differ; no reference
    differs in fewer.
    """
    (a, near), (b, far) = first, second
    total = np.zeros(len(query[0]), np.int64)
    for left in combinations(range(a), a - near):
        for right in combinations(range(a, a + b), b - far):
            total += matching(query, reference, levels, (*left, *right))[0]
    return total
