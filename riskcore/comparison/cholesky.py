"""Cholesky factors of matrices that may be singular."""

from __future__ import annotations

import numpy as np

from riskcore.common.arrays import Mask
from riskcore.comparison.measures import Floats

ALIASED = 1e-10  # a smaller pivot, relative to the diagonal: the column depends


def factored(M: Floats, least: Floats) -> tuple[Floats, Mask]:
    """Return L of M = L L', and the mask of columns independent of earlier ones.

    The others, with a pivot of at most ``least``, are zero in L. Sums have a fixed
    order: the bits are the same on any machine, as noise that is added to a file needs.
    """
    rest = M.copy()
    L = np.zeros_like(M)
    sound = np.zeros(len(M), bool)
    for j in range(len(M)):
        pivot = rest[j, j]
        if not pivot > least[j]:
            continue
        sound[j] = True
        column = rest[j:, j] / np.sqrt(pivot)
        L[j:, j] = column
        rest[j:, j:] -= column[:, None] * column
    return L, sound


def inverse_of(M: Floats, kept: Mask, diagonal: Floats) -> Floats | None:
    """Return the inverse of M for the columns kept, 0 elsewhere; None if singular."""
    some = np.ix_(kept, kept)
    scale = np.sqrt(diagonal[kept])
    inverse = np.zeros_like(M)
    if not (scale > 0).all():
        return None
    scaled = M[some] / scale / scale[:, None]
    try:
        pivots = np.linalg.cholesky(scaled).diagonal() ** 2
        inverse[some] = np.linalg.inv(scaled) / scale / scale[:, None]
    except np.linalg.LinAlgError:
        return None
    return inverse if (pivots > ALIASED**1.5).all() else None
