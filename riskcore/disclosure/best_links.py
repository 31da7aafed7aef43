"""The candidates that fit each record best, by the weights of agreements."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import in_parts, parts_of, usual_threads
from riskcore.disclosure.compared_records import Compared, Floats, Integers
from riskcore.disclosure.pair_kernels import BLOCK, LEAST, link_by_weight

_TOGETHER = 32  # records that meet a block of candidates in the cache


class Best(NamedTuple):
    """The best candidates of each query."""

    score: Floats
    ties: Integers  # how many have this score, by run of the people, shape (n, runs)
    own: Floats  # the score of the query's own person; smaller than any for none


def best_links(
    weight: NDArray[np.int32],
    records: Compared,
    rows: Integers,
    own: Integers,
    alone: Integers,
) -> Best:
    """Return the people with the largest sum of weights for some records.

    ``weight`` is that of each level of each column, shape (J, 3). The score is 0 if
    they are equal in all columns that the record has, so that scores of records with
    different blanks compare. ``own``: the person of each record; ``alone``: a person
    who is no candidate. Both are -1 for nobody.
    """
    people, end = records.people, records.end
    query = np.ascontiguousarray(records.released[:, rows].T)
    (n, columns), runs = query.shape, len(end) - 1
    most = np.full(n, 2 * LEAST + 1, np.int32)
    ties, of_own = np.zeros((n, runs), np.int64), np.full(n, 2 * LEAST, np.int32)

    def ask(start: int, stop: int) -> None:
        score = np.empty(BLOCK, np.int32)
        link_by_weight(
            start, stop, columns, runs, end, query, own, alone, people, records.near,
            weight, score, most, ties, of_own,
        )  # fmt: skip

    in_parts(usual_threads(), ask, parts_of(n, -(-n // _TOGETHER)))
    whole = (query >= 0) @ weight[:, 0].astype(np.float64)
    score, mine = (one.astype(np.float64) - whole for one in (most, of_own))
    return Best(score, ties, mine)
