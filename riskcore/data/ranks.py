"""Codes and order of numbers, found through integers: faster than sorting doubles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.integers import code_integers

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FEW = 1 << 12  # below, plain sorting is as fast
_MOST_DECIMALS = 6
_LOOKED_AT = 1 << 8  # values from which the decimals are guessed
_EXACT = 2.0**53


def ranked(values: Floats) -> tuple[Floats, Integers]:
    """Return the distinct values, sorted, and the code of each; no value may be nan."""
    ranking = _by_decimals(values) if len(values) >= _FEW else None
    if ranking is None:
        labels, codes = np.unique(values, return_inverse=True)
        return labels, codes
    return ranking


def _by_decimals(values: Floats) -> tuple[Floats, Integers] | None:
    """Return labels and codes by whole numbers of the last decimal; None if unsafe."""
    some = values[:: len(values) // _LOOKED_AT]
    for decimals in range(_MOST_DECIMALS + 1):
        if np.array_equal(np.round(some, decimals), some):
            break
    else:
        return None
    unit = 10.0**decimals
    if max(-float(values.min()), float(values.max())) * unit >= _EXACT:
        return None
    # Rounding keeps the order, so equal values in each class are proof enough.
    scaled = np.rint(values * unit) if decimals else values
    whole, codes = code_integers(scaled.astype(np.int64))
    labels = np.empty(len(whole))
    labels[codes] = values
    if not np.array_equal(labels[codes], values):
        return None
    if (labels == 0.0).any() and np.signbit(values[values == 0.0]).any():
        return None
    return labels, codes.astype(np.int64)


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
    place = np.empty(first.size, np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(first.size)
    return place[inverse]
