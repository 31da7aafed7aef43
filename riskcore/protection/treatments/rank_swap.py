"""Rank swapping: records exchange values whose ranks are close."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from riskcore.common.arrays import Floats, Integers
from riskcore.common.words import sentence
from riskcore.data.ranks import random_order
from riskcore.protection.treatments.rank_swap_kernels import swap_partners
from riskcore.protection.treatments.rules import (
    Given,
    Names,
    ShareTreatment,
    enter,
    percent_words,
)
from riskcore.protection.treatments.strata import strata

_ROUNDING = 1e-12


@enter
@dataclass(frozen=True, slots=True)
class RankSwap(ShareTreatment):
    """Records exchange values whose ranks differ by at most a share of the records.

    Each record has one partner, drawn from those within reach that have none yet, all
    with equal chances (Moore 1996). The few that find no partner keep their value.
    ``share`` is how far ranks may be apart, as a share of the records with a value.
    """

    within: Names = ()  # the columns of the strata in which values are exchanged

    kind = "swap"
    alters = True
    random = True

    def describe(self, public: bool) -> str:
        """Return "exchanged with a record of similar rank".

        An intruder who knows how far ranks may be apart can narrow the partners down
        (Nin, Herranz and Torra 2008), so the public phrase does not tell.
        """
        reach = sentence(
            ", at most {share} of the ranks away", percent_words(self.share)
        )
        return sentence(
            "exchanged with a record of similar rank{reach}{within}",
            *("" if public else reach, self.in_strata()),
        )

    def treated(self, values: Sequence[Floats], context: Given) -> list[Floats]:
        """Return the exchanged values."""
        (x,) = values
        out = x.copy()
        present = ~np.isnan(x)
        if not present.any():
            return [out]
        # In a stratum of fewer records nobody would be within reach.
        fewest = max(2, math.ceil((1.0 - _ROUNDING) / self.share))
        numbers = context.numbers(2 * x.size)
        ties, draws = numbers[: x.size], numbers[x.size :]
        for rows in strata(context.stratum, present, fewest, context.label):
            chosen = rows[present[rows]]
            if context.stratum is None and len(chosen) == x.size:
                order = _order(x, ties)
            else:
                order = chosen[_order(x[chosen], ties[chosen])]
            out[order] = x[order[self._partners(draws[order])]]
        return [out]

    def _partners(self, draws: NDArray[np.uint64]) -> Integers:
        """Return the rank with which each rank exchanges its value."""
        n = draws.size
        partner = np.empty(n, np.int64)
        reach = math.floor(self.share * n * (1.0 + _ROUNDING))
        words = (n + 63) // 64
        free = np.full(words, -1, np.int64).view(np.uint64)
        free[-1] >>= np.uint64(64 * words - n)
        counts = np.zeros(words + 1, np.int64)
        draws = np.ascontiguousarray(draws)
        swap_partners(n, reach, draws, words, free, counts, partner)
        return partner


def _order(values: Floats, ties: NDArray[np.uint64]) -> Integers:
    """Return the positions of values by rank; equal ones are ranked at random."""
    labels, codes = np.unique(values, return_inverse=True)
    return random_order(codes, len(labels), ties)
