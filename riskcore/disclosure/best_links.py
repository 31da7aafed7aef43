"""The candidates that fit each record best, by weight or by distance."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import in_parts, parts_of, usual_threads
from riskcore.disclosure.compared_records import Compared, Floats, Integers
from riskcore.disclosure.pair_kernels import (
    BLOCK,
    LEAST,
    link_by_distance,
    link_by_weight,
)

_TOGETHER = 32  # records that meet a block of candidates in the cache


class Best(NamedTuple):
    """The best candidates of each query."""

    score: Floats
    ties: Integers  # how many have this score, by run of the people, shape (n, runs)
    own: Floats  # the score of the query's own person; smaller than any for none


class Weights(NamedTuple):
    """Scores by the weights of agreements."""

    weight: NDArray[np.int32]  # of each level of each column, shape (J, 3)

    def best(
        self, records: Compared, rows: Integers, own: Integers, alone: Integers
    ) -> Best:
        """Return the people with the largest sum of weights for some records.

        The score is 0 if they are equal in all columns that the record has, so that
        scores of records with different blanks compare. ``own``: the person of each
        record; ``alone``: a person who is no candidate. Both are -1 for nobody.
        """
        people, end = records.people.codes, records.end
        query = _rows_of(records.released.codes, rows)
        near, weight = records.near, self.weight
        (n, columns), runs = query.shape, len(end) - 1
        most = np.full(n, 2 * LEAST + 1, np.int32)
        ties, of_own = np.zeros((n, runs), np.int64), np.full(n, 2 * LEAST, np.int32)

        def ask(start: int, stop: int) -> None:
            score = np.empty(BLOCK, np.int32)
            link_by_weight(
                start, stop, columns, runs, end, query, own, alone, people, near,
                weight, score, most, ties, of_own,
            )  # fmt: skip

        in_parts(usual_threads(), ask, parts_of(n, -(-n // _TOGETHER)))
        whole = (query >= 0) @ weight[:, 0].astype(np.float64)
        score, mine = (one.astype(np.float64) - whole for one in (most, of_own))
        return Best(score, ties, mine)


class Distances(NamedTuple):
    """Scores by distance, negative: the larger, the nearer.

    The distance is 1 for each key that differs, and the gap of each number times its
    scale, over the columns that the record has.
    """

    keys: int  # how many columns of codes count
    scale: Floats  # of each number, 0 if it does not count
    missing: float  # the distance in a column that the person has not

    def best(
        self, records: Compared, rows: Integers, own: Integers, alone: Integers
    ) -> Best:
        """Return the nearest people for some records, as `Weights.best` does."""
        (people, value), end = records.people, records.end
        keys, scale, missing = self
        codes = _rows_of(records.released.codes[:keys], rows)
        asked = _rows_of(records.released.values, rows)
        n, d, runs = len(rows), len(value), len(end) - 1
        score, of_own = np.full((2, n), -math.inf)
        ties = np.zeros((n, runs), np.int64)

        def ask(start: int, stop: int) -> None:
            link_by_distance(
                start, stop, keys, d, runs, end, codes, asked, own, alone, people,
                value, scale, missing, np.empty(BLOCK), score, ties, of_own,
            )  # fmt: skip

        in_parts(usual_threads(), ask, parts_of(n, -(-n // _TOGETHER)))
        return Best(score, ties, of_own)


def _rows_of(columns: NDArray[Any], rows: Integers) -> NDArray[Any]:
    """Return some records with their columns side by side, shape (n, J)."""
    return np.ascontiguousarray(columns[:, rows].T)
