"""The order of codes, found through integers: faster than a stable sort."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

_FEW = 1 << 12  # below, plain sorting is as fast


def stable_order(codes: NDArray[Any], levels: int) -> Integers:
    """Return the positions of records by code; equal codes stay in their order."""
    bits = len(codes).bit_length()
    if len(codes) < _FEW or levels.bit_length() + bits > 64:
        return np.argsort(codes, kind="stable")
    packed = codes.astype(np.uint64) << np.uint64(bits)
    packed |= np.arange(len(codes), dtype=np.uint64)
    packed.sort()
    packed &= np.uint64((1 << bits) - 1)
    return packed.view(np.int64)


def random_order(
    codes: NDArray[Any], levels: int, numbers: NDArray[np.uint64]
) -> Integers:
    """Return the positions by code, then number: ``np.lexsort((numbers, codes))``."""
    bits = np.uint64((levels - 1).bit_length())
    packed = numbers
    if bits:
        packed = numbers >> bits
        packed |= codes.astype(np.uint64) << (np.uint64(64) - bits)
    order = np.argsort(packed)
    packed = packed[order]
    alike = np.flatnonzero(packed[1:] == packed[:-1])
    if alike.size:  # the bits that were cut off decide
        at = np.union1d(alike, alike + 1)
        some = order[at]
        order[at] = some[np.lexsort((some, numbers[some], packed[at]))]
    return order


def by_appearance(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return codes from 0 by their first appearance."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]
