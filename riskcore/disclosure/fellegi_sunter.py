"""The weights of agreements by Fellegi and Sunter (1969), fitted without known links.

Columns agree, nearly agree (numbers alone) or differ; a missing value tells nothing. u
is the probability of a level among strangers, m among records of one person. u is
counted in all pairs. m is the maximum likelihood of a model in which each attacked
record has an original with the probability ``share``, and all are as likely: each has
at most one original, where the mixture of Jaro (1989) takes pairs for independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.disclosure.pair_kernels import LEVELS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

UNIT = 4096  # weights are whole multiples of 1/UNIT bit: ties are exact
MOST_BITS = 100.0  # of the weight of a level
CYCLES = 2000
TOLERANCE = 1e-5  # of each probability from cycle to cycle
# As if PRIOR linked records more had been seen, nine of ten equal in a column.
PRIOR, EQUAL = 2.0, 0.9
LARGEST = 1e280  # likelihood ratio: sums over pairs stay finite
_NEARLY_ALL = 1.0 - 1e-12  # the largest share of records with an original


class Patterns(NamedTuple):
    """How records agree with the candidates: each row is a pattern of one record."""

    record: Integers  # numbers of the records, from 0, rising, shape (E,)
    pattern: Integers  # row of ``level``, shape (E,)
    pairs: Integers  # candidates with this pattern, shape (E,)
    level: NDArray[np.int8]  # of each pattern and column, -1 if missing, shape (P, J)
    records: int
    candidates: int


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """The fitted probabilities of levels, and what they say of the best links.

    Attributes
    ----------
    strangers, linked : float64 ndarray, shape (J, 3)
        u and m: the probabilities of equal, near and different values.
    share : float
        The share of the records that have an original.
    best : float
        The mean probability that a candidate of the largest weight is the right one.
    converged : bool
        Whether the probabilities settled.
    cycles : int
        How many cycles the fit took.
    """

    strangers: Floats
    linked: Floats
    share: float
    best: float
    converged: bool
    cycles: int


def weights_of(strangers: Floats, linked: Floats) -> NDArray[np.int32]:
    """Return log2 m/u of each level, in units of 1/UNIT; 0 where u is 0."""
    weight = np.zeros(strangers.shape, np.int32)
    for at in zip(*np.nonzero(strangers), strict=True):
        m = max(float(linked[at]), 2.0**-MOST_BITS)
        bits = math.log2(m / float(strangers[at]))
        weight[at] = round(UNIT * min(max(bits, -MOST_BITS), MOST_BITS))
    return weight


def linked_at_first(strangers: Floats) -> Floats:
    """Return m as the fit begins: what is not equal is near or different alike."""
    rest = (1.0 - EQUAL) / 2.0
    begin = np.where(strangers > 0.0, np.array([EQUAL, rest, rest]), 0.0)
    total = begin.sum(axis=1, keepdims=True)
    found: Floats = np.divide(begin, total, out=begin, where=total > 0.0)
    return found


def fit(patterns: Patterns, strangers: Floats) -> Fitted:
    """Fit m and the share of records with an original by EM (Jaro 1989), given u."""
    possible = strangers > 0.0
    begin = linked_at_first(strangers)
    linked, share, change = begin, 0.5, math.inf
    cycle = 0
    while change > TOLERANCE and cycle < CYCLES:
        cycle += 1
        chance, _ = _chances(patterns, strangers, linked, share)
        seen = _levels(patterns, chance)
        found = float(seen.of_all) / patterns.records
        whole = seen.of_column + PRIOR
        newly = np.where(possible, (seen.levels + PRIOR * begin) / whole[:, None], 0.0)
        change = max(
            abs(min(found, _NEARLY_ALL) - share), float(np.max(np.abs(newly - linked)))
        )
        linked, share = newly, min(found, _NEARLY_ALL)
    _, best = _chances(patterns, strangers, linked, share)
    settled = change <= TOLERANCE
    return Fitted(strangers, linked, share, float(best.mean()), settled, cycle)


def _chances(
    patterns: Patterns, strangers: Floats, linked: Floats, share: float
) -> tuple[Floats, Floats]:
    """Return the chance that each row has the original, and each best candidate's."""
    ratio = np.ones(len(patterns.level))
    for j, level in enumerate(patterns.level.T):
        of_level = np.ones(LEVELS + 1)  # the last is for missing, level -1
        np.divide(linked[j], strangers[j], out=of_level[:-1], where=strangers[j] > 0.0)
        ratio = np.minimum(ratio * of_level[level], LARGEST)
    each = ratio[patterns.pattern]
    n = patterns.candidates
    total = np.bincount(patterns.record, each * patterns.pairs, patterns.records) / n
    scale = share / n / (1.0 - share + share * total)
    best = np.zeros(patterns.records)
    np.maximum.at(best, patterns.record, each)
    best *= scale
    return each * patterns.pairs * scale[patterns.record], best


class _Seen(NamedTuple):
    """Expected linked pairs: all, those with a column, and by level of it."""

    of_all: float
    of_column: Floats
    levels: Floats


def _levels(patterns: Patterns, chance: Floats) -> _Seen:
    """Return how often the linked pairs have each level of each column."""
    number, columns = patterns.level.shape
    of_pattern = np.bincount(patterns.pattern, chance, number)
    levels = np.empty((columns, LEVELS))
    for j, level in enumerate(patterns.level.T):
        levels[j] = np.bincount(level + 1, of_pattern, LEVELS + 1)[1:]
    return _Seen(math.fsum(of_pattern.tolist()), levels.sum(axis=1), levels)
