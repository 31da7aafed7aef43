"""Singling out and linkability as Anonymeter defines them, without its random numbers.

Giomi, Boenisch, Wehmeyer and Tasnadi (2023) draw queries and records to attack. Here
the rates are the expectations of theirs: all queries are asked and all records
attacked, or of a large file as many as a second or two allow, the same in every run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from riskcore.core.risk.file_risk import sum_of_products
from riskcore.data.unsigned import combine
from riskcore.disclosure.all_pairs import (
    PAIRS,
    count_as_extreme,
    link,
    selected,
)
from riskcore.disclosure.common_cells import Columns, Ints, count_cells
from riskcore.disclosure.mixed_records import Floats, MixedRecords

_MOST_COUNTERS = 1 << 22  # of a table of the values of all keys of a query
_MOST_SETS = 256  # of columns


class SinglingOut(NamedTuple):
    """How many queries single out a person.

    ``right`` and ``control`` are counted in samples of the size that the smaller of
    original and control has, and expected over these; ``control`` is nan without one.
    ``baseline`` is nan if there are numbers, or if the keys have too many values. Where
    not all released records are asked about, all numbers but the last are estimates.
    """

    queries: float  # sets of columns and released record that single out in the release
    successes: float  # of them single out in the original
    right: float
    control: float
    baseline: float  # probability that a query at random singles out in the original
    asked: int  # released records from which queries with numbers are taken


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
    with equal probabilities; here are all of them, over all sets of columns, or over
    256 of them. Its baseline draws columns, values and "is" or "is not". Anonymeter
    drops repeated records from all files beforehand; do so to get its numbers. Domain:
    categories and numbers without missing ones. Blind spot: single in the file is not
    single in the population.
    """
    d = len(levels)
    columns = d + released.numbers.shape[1]
    others = [original] if control is None else [original, control]
    sizes = [len(one.numbers) for one in others]
    least = min(sizes)
    most = 2 if max(sizes) == least else max(sizes)
    sets = [*combinations(range(columns), min(size, columns))]
    sets = [sets[i] for i in selected(len(sets), 1, pairs=_MOST_SETS)]
    n = len(released.numbers)
    mixed = sum(max(chosen) >= d for chosen in sets)
    rows = selected(n, max(mixed, 1) * max(n, *sizes), pairs=8 * PAIRS)
    middle = np.median(released.numbers, axis=0) if mixed else np.zeros(0)
    files, total, guesses = [released, *others], np.zeros(4), []
    for chosen in sets:
        keys = [key for key in chosen if key < d]
        numbers = [key - d for key in chosen if key >= d]
        weight, guess = 1.0, math.nan
        if numbers:
            weight = n / len(rows)
            found = _by_numbers(files, levels, keys, numbers, (middle, most), rows)
        else:
            found, guess = _by_keys(files, levels, keys)
        singles = np.count_nonzero(found[0] == 1)
        right = [
            alone_in_sample(records, size, least)
            for records, size in zip(found, sizes, strict=True)
        ]
        held = right[1] if control is not None else math.nan
        total += weight * np.array([len(found[0]), singles, right[0], held])
        guesses.append(guess)
    baseline = math.fsum(guesses) / len(guesses)
    queries, successes, expected, held = total.tolist()
    asked = len(rows) if mixed else n
    return SinglingOut(queries, successes, expected, held, baseline, asked)


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
    how: tuple[Floats, int],
    rows: Ints,
) -> list[Ints]:
    """Return the records of the other files for each query of keys and numbers.

    The queries state the values of some released records, the rows. ``how`` has the
    medians of all numbers, and how far to count.
    """
    few = [levels[key] for key in keys]
    released, *others = (
        MixedRecords([one.codes[key] for key in keys], one.numbers[:, numbers])
        for one in files
    )
    middle, most = how[0][numbers], how[1]

    def count(asked: MixedRecords, one: MixedRecords, most: int) -> Ints:
        pair = asked.numbers, one.numbers
        return count_as_extreme(asked.codes, one.codes, few, pair, middle, most)

    asked = released.at(rows)
    asked = asked.at(count(asked, released, 2) == 1)
    return [count(asked, one, most) for one in others]


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


class Links(NamedTuple):
    """How many persons are linked by the two halves of their keys."""

    persons: float  # expected number
    share: float
    asked: int  # persons who are attacked


def linkability(
    original: Columns,
    released: Columns,
    levels: Sequence[int],
    first: Sequence[int],
    second: Sequence[int],
) -> Links:
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
    few = [levels[key] for key in both]
    n, known = len(original[0]), [released[key] for key in both]
    rows = selected(n, len(known[0]), len(both))
    asked = [original[key][rows] for key in both]
    found = link(asked, known, few, len(first))
    share = math.fsum((found.both / found.first / found.second).tolist()) / len(rows)
    return Links(share * n, share, len(rows))
