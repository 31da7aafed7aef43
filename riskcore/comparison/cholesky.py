"""Cholesky factors whose bits are the same on any machine: sums have a fixed order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from riskcore.comparison.measures import Floats

Mask = NDArray[np.bool_]
ALIASED = 1e-10  # a smaller pivot, relative to the diagonal: the column depends


def factored(M: Floats, least: Floats) -> tuple[Floats, Mask]:
    """Return L of M = L L', and the mask of columns independent of earlier ones.

    The others, with a pivot of at most ``least``, are zero in L.
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


def solved(L: Floats, b: Floats) -> Floats:
    """Return the solution x of L L' x = b, for a vector b or for each column of b."""
    x = b.copy()
    columns = (slice(None), *[None] * (b.ndim - 1))
    for j in range(len(x)):
        x[j] /= L[j, j]
        x[j + 1 :] -= L[j + 1 :, j][columns] * x[j]
    for j in reversed(range(len(x))):
        x[j] /= L[j, j]
        x[:j] -= L[j, :j][columns] * x[j]
    return x


def product(A: Floats, B: Floats) -> Floats:
    """Return the matrix product A B."""
    return np.array([(row[:, None] * B).sum(axis=0) for row in A]).reshape(
        len(A), B.shape[1]
    )
