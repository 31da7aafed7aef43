"""Scatter numbers over all of 64 bits, in the same way in every run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)


def scattered(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the hashes of numbers by splitmix64 (Steele, Lea and Flood 2014).

    >>> scattered(np.array([0], np.uint64)).tolist()
    [16294208416658607535]
    """
    mixed = numbers * _STEP + _STEP
    for shift, factor in _FACTORS:
        mixed = (mixed ^ (mixed >> shift)) * factor
    return mixed ^ (mixed >> np.uint64(31))


def shuffled(n: int) -> NDArray[np.int64]:
    """Return a pseudo-random order of n rows, the same in every run."""
    return np.argsort(scattered(np.arange(n, dtype=np.uint64)), kind="stable")


def selected(n: int, most: int) -> NDArray[np.int64]:
    """Return at most so many of n rows, rising: a selection by `shuffled`."""
    return np.arange(n) if most >= n else np.sort(shuffled(n)[:most])
