"""Sums of many doubles, rounded once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_FEW = 1 << 10  # below, `math.fsum` is as fast
_BLOCK = 1 << 14
_BITS = 15  # a block and 2 more are at most 2 to this power
_LARGEST = 1000  # exponent from which splitting could overflow
_SMALLEST = -900  # and from which on down it could lose bits
_PASSES = 6


def rounded_sum(values: NDArray[np.float64]) -> float:
    """Return the sum of doubles as `math.fsum` does: exact, then rounded once."""
    if values.size < _FEW:
        return math.fsum(values.tolist())
    return math.fsum(exact_parts(values))


def exact_parts(values: NDArray[np.float64]) -> list[float]:
    """Return few numbers whose exact sum is that of the values.

    Blocks are split at a power of two so that their upper parts add up exactly in any
    order, then the rest again (Rump, Ogita and Oishi 2008, SIAM Journal on Scientific
    Computing 31, 189-224, algorithm 3.2).
    """
    parts: list[float] = []
    for start in range(0, values.size, _BLOCK):
        parts += _exact_parts(values[start : start + _BLOCK])
    return parts


def _exact_parts(values: NDArray[np.float64]) -> list[float]:
    """Return numbers whose exact sum is that of the values of a block."""
    rest, parts = values.astype(np.float64), list[float]()
    for _ in range(_PASSES):
        largest = max(float(rest.max()), -float(rest.min()))
        if largest == 0.0:
            return parts
        exponent = math.frexp(largest)[1]
        if not (_SMALLEST < exponent < _LARGEST and math.isfinite(largest)):
            break
        split = math.ldexp(1.0, exponent + _BITS)
        upper = (rest + split) - split
        parts.append(float(upper.sum()))
        rest -= upper
    return [*parts, *rest.tolist()]
