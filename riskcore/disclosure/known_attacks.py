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
from riskcore.disclosure.all_pairs import link, selected
from riskcore.disclosure.common_cells import Columns, Ints, count_cells

_MOST_SETS = 256  # of keys


class SinglingOut(NamedTuple):
    """How many queries single out a person.

    ``right`` and ``control`` are expected in samples of the size that the smaller of
    original and holdout has; ``control`` is nan without a holdout.
    """

    queries: float  # sets of keys and released record that single out in the release
    successes: float  # of them single out in the original
    right: float
    control: float


def singling_out(
    files: Sequence[Columns], levels: Sequence[int], size: int = 3
) -> SinglingOut:
    """Return how many queries that are true of one released record are of one person.

    The files are the release, the original and perhaps a holdout, each without repeated
    records, as Anonymeter takes them. Giomi et al. (2023), after Cohen and Nissim
    (2020): a query states the values of ``size`` keys. Anonymeter draws from those that
    single out in the release; here are all, over all sets of keys, or over 256 of them.
    """
    sizes = [len(one[0]) for one in files[1:]]
    sets = [*combinations(range(len(levels)), min(size, len(levels)))]
    queries, successes, right = 0, 0, np.zeros(len(sizes))
    for at in selected(len(sets), 1, pairs=_MOST_SETS):
        columns = [[one[key] for key in sets[at]] for one in files]
        few = [levels[key] for key in sets[at]]
        claims, *people = count_cells(columns, few).records
        found = [records[claims == 1] for records in people]
        queries += len(found[0])
        successes += int(np.count_nonzero(found[0] == 1))
        right += [
            alone_in_sample(records, n, min(sizes))
            for records, n in zip(found, sizes, strict=True)
        ]
    expected, control = [*right.tolist(), math.nan][:2]
    return SinglingOut(queries, successes, expected, control)


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


class Links(NamedTuple):
    """How many persons are linked by the two halves of their keys."""

    persons: float  # expected number
    share: float
    asked: int  # persons who are attacked


def linkability(original: Columns, released: Columns, levels: Sequence[int]) -> Links:
    """Return the expected number of persons whose two halves the release links.

    Giomi et al. (2023), one neighbor: the first half of a person's keys has a closest
    released record, the second has one, and it is the same. Of several as close one is
    taken at random on each side, where Anonymeter's depends on how it sorts: a person
    with the closest sets A and B counts |A and B|/(|A| |B|).
    """
    n, d = len(original[0]), len(levels)
    rows = selected(n, len(released[0]), d)
    found = link([one[rows] for one in original], released, levels, d // 2)
    share = math.fsum((found.both / found.first / found.second).tolist()) / len(rows)
    return Links(share * n, share, len(rows))
