"""Checks of cells that are given as codes, for the models that know the keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Pair = tuple[int, int]

# n^2 must be a 64-bit integer, and the excesses of all pairs must fit in 1 GiB.
MOST_RECORDS = math.isqrt(2**63 - 1)
MOST_PAIRS = 2**27


def as_codes(codes: Sequence[ArrayLike], levels: Sequence[int] | None) -> list[Ints]:
    """Return the checked codes of each key."""
    if len(codes) == 0:
        raise ValueError("codes: no keys")
    if levels is not None and len(levels) != len(codes):
        raise ValueError(f"codes: {len(codes)} keys, but {len(levels)} levels")
    columns = []
    for key, values in enumerate(codes):
        column = arguments.numbers(
            f"key {key}", values, "integer codes", kinds="iu", dimensions=1
        )
        if len(column) != len(np.asarray(codes[0])):
            raise ValueError(
                f"key {key}: shape {column.shape}, but {len(np.asarray(codes[0]))} "
                "codes of key 0"
            )
        top = MOST_PAIRS if levels is None else levels[key]
        bad = int(np.count_nonzero((column < 0) | (column >= top)))
        if bad:
            raise ValueError(
                f"key {key}: {bad} of {len(column)} codes are not in 0..{top - 1}"
            )
        columns.append(column.astype(np.int64, copy=False))
    return columns


def as_frequency(values: ArrayLike | None, length: int) -> Ints:
    """Return the checked number of records of each cell."""
    counts = np.ones(length, np.int64) if values is None else values
    frequency = arguments.numbers("frequency", counts, "integers", kinds="iu")
    if frequency.shape != (length,):
        raise ValueError(f"frequency: shape {frequency.shape}, but {length} cells")
    bad = int(np.count_nonzero(frequency < 0))
    if bad:
        raise ValueError(f"frequency: {bad} of {length} values are negative")
    n = frequency.sum(dtype=np.float64)
    if not 0 < n <= MOST_RECORDS:
        raise ValueError(f"frequency: {n:.17g} records, need 1 to {MOST_RECORDS}")
    return frequency.astype(np.int64, copy=False)


def as_structural_zeros(
    masks: Mapping[Pair, ArrayLike], levels: tuple[int, ...]
) -> dict[Pair, Mask]:
    """Return the impossible pairs of categories, with the keys in rising order."""
    zeros: dict[Pair, Mask] = {}
    for (a, b), values in masks.items():
        keys = f"structural_zeros of keys {a} and {b}"
        if not (0 <= a < len(levels) and 0 <= b < len(levels) and a != b):
            raise ValueError(f"{keys}: need two of the keys 0 to {len(levels) - 1}")
        mask = np.asarray(values)
        if mask.dtype.kind != "b":
            raise TypeError(f"{keys}: need bool, got {mask.dtype}")
        if mask.shape != (levels[a], levels[b]):
            shape = (levels[a], levels[b])
            raise ValueError(f"{keys}: need shape {shape}, got {mask.shape}")
        pair, mask = ((a, b), mask) if a < b else ((b, a), mask.T)
        zeros[pair] = mask | zeros.get(pair, False)
    return {pair: mask for pair, mask in zeros.items() if mask.any()}


def refuse_records(records: int, n: int, a: int, b: int) -> None:
    """Refuse records in impossible cells."""
    if records:
        raise ValueError(
            f"structural_zeros of keys {a} and {b}: {records} of {n} records are "
            "in impossible pairs of categories"
        )
