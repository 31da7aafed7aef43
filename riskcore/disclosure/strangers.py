"""Estimate right links from scores: those of strangers, who have no right link, help.

A link goes to the candidate with the largest score T. Among n candidates a stranger has
the largest score T0; a record that has an original is linked to it if its score W is
larger than T0. So T is the larger of W and T0, and the law of W follows from the two
that are seen: P(W <= t) = P(T <= t) / P(T0 <= t), if W and T0 are independent.

Strangers are the other records of the release. People of the original are no good
strangers: they are nearer to each other than released records are to them, if values
were swapped or noise was added. W and T0 are not quite independent, as records in dense
places have more similar strangers. This makes the estimate too low rather than too
high. It is about 0 if records are drawn from margins or a model: they are as near to
each other as to the original. It is larger for a generator that repeats records of the
original, as trees with small leaves do.
"""

from __future__ import annotations

import math

import numpy as np

from riskcore.disclosure.compared_records import Floats, Integers

_GROUPS = 20  # of the jackknife


def right_beyond(
    score: Floats, of_strangers: Floats, ties: Integers
) -> tuple[float, float]:
    """Return the share of right links among records, and its standard deviation.

    ``score`` has the largest score of each record, ``of_strangers`` that of each
    stranger, ``ties`` how many candidates of the stranger have it. The share may be
    negative. The deviation is that of a jackknife by groups, nan of too few.
    """
    share = _share(score, of_strangers, ties)
    groups = min(_GROUPS, len(score), len(of_strangers))
    if groups < 2:
        return share, math.nan
    group, other = (np.arange(len(one)) % groups for one in (score, of_strangers))
    without = [
        _share(score[group != g], of_strangers[other != g], ties[other != g])
        for g in range(groups)
    ]
    return share, math.sqrt((groups - 1) * float(np.var(without)))


def _share(score: Floats, of_strangers: Floats, ties: Integers) -> float:
    """Return the sum over t of P(W >= t) times the gain of P(right | W = t) at t.

    W = t is right with the probability P(T0 < t) + E[1/(ties + 1); T0 = t].
    """
    t, which = np.unique(of_strangers, return_inverse=True)
    n = len(of_strangers)
    below = np.searchsorted(np.sort(of_strangers), t) / n
    tied = np.bincount(which, 1.0 / (ties + 1.0)) / n
    right = np.append(below + tied, 1.0)
    seen = np.searchsorted(np.sort(score), t, side="left")
    beyond = np.searchsorted(np.sort(score), t[-1], side="right")
    lower = np.append(seen, beyond) / len(score)
    under = np.append(below, 1.0)
    # Below the least T0 nothing is known of W: as at the next score. A share below 0
    # stays, or errors would not cancel, down to -1: then it is of few strangers.
    reached = np.maximum(1.0 - lower[1:] / under[1:], -1.0)
    reached = np.concatenate([reached[:1], reached])
    return math.fsum((np.diff(right, prepend=0.0) * reached).tolist())
