"""Sums over the cells of a file, with checks of risks and frequencies.

The exact sum is rounded once, so neither the order of the records nor the number of
threads changes a bit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.core.compiled.jit import native
from riskcore.core.special.floats import BLOCK, two_product, two_sum

Risks = NDArray[np.float64]
Counts = NDArray[np.int64]

_ROUNDOFF = 2.0**-53
# Products added at a time, after converting numbers of records to int64.
_PIECE = 1024 * BLOCK


def as_risk(values: ArrayLike) -> Risks:
    """Return risks as a contiguous array; refuse nan and numbers outside [0, 1]."""
    risk = as_doubles("risk", values)
    if len(risk) and not (risk.min() >= 0.0 and risk.max() <= 1.0):
        bad = np.count_nonzero(~((risk >= 0.0) & (risk <= 1.0)))
        raise ValueError(f"risk: {bad} of {len(risk)} values are nan or not in [0, 1]")
    return risk


def as_doubles(name: str, values: ArrayLike) -> Risks:
    """Return values as a contiguous array of one dimension, or refuse them."""
    numbers = arguments.numbers(name, values, dimensions=1)
    return np.ascontiguousarray(numbers, dtype=np.float64)


def as_frequency(values: ArrayLike | None, length: int) -> Counts | None:
    """Return numbers of records as integers, None if each is 1, or refuse them."""
    if values is None:
        if length == 0:
            raise ValueError("risk: the file has no records")
        return None
    counts = arguments.numbers("frequency", values, "numbers of records")
    if counts.shape != (length,):
        raise ValueError(f"frequency: shape {counts.shape}, but {length} risks")
    if counts.dtype.kind == "f" or counts.min(initial=0) < 0:
        # nan and infinity are not equal to their remainder's zero either.
        with np.errstate(invalid="ignore"):
            whole = (counts >= 0) & (np.mod(counts, 1) == 0)
        arguments.refuse("frequency", ~whole, "whole numbers of records")
    total = counts.sum(dtype=np.float64)
    if not 0 < total < 2.0**53:
        raise ValueError(f"frequency: the file has {total:.17g} records")
    return np.ascontiguousarray(counts, dtype=np.int64)


def as_threshold(value: float) -> float:
    """Return a risk threshold; refuse nan and negative numbers."""
    return arguments.number_in("threshold", value, "[0, inf]")


def sum_of_products(risk: Risks, frequency: NDArray[Any] | None = None) -> float:
    """Return sum f r, correctly rounded; without frequencies f = 1.

    Compensated sums enclose the exact sum; in the rare case that the two ends of the
    enclosure round differently, all products are added exactly.
    """
    parts = _partial_sums(risk, frequency)
    total = math.fsum(parts)
    # k terms in each of the BLOCK sums: at most 2 (k+1)^2 u^2 is lost, relatively.
    terms = len(risk) // BLOCK + 2
    bound = 4.0 * (terms * _ROUNDOFF) ** 2 * total
    if math.fsum([*parts, bound]) == math.fsum([*parts, -bound]):
        return total
    return math.fsum(_exact_products(risk, frequency))


def _partial_sums(risk: Risks, frequency: NDArray[Any] | None) -> list[float]:
    sums = np.zeros(BLOCK)
    errors = np.zeros(BLOCK)
    if frequency is None:
        ones = np.ones(BLOCK, dtype=np.int64)
        _add_products(risk, ones, 0, len(risk), sums, errors)
    else:
        for start in range(0, len(risk), _PIECE):
            part = risk[start : start + _PIECE]
            counts = frequency[start : start + _PIECE].astype(np.int64, copy=False)
            _add_products(part, counts, 1, len(part), sums, errors)
    return [*sums.tolist(), *errors.tolist()]


def _exact_products(risk: Risks, frequency: NDArray[Any] | None) -> Iterator[float]:
    # One term in each sum: product and rounding error, nothing is lost.
    for start in range(0, len(risk), BLOCK):
        block = slice(start, start + BLOCK)
        records = None if frequency is None else frequency[block]
        yield from _partial_sums(risk[block], records)


@native("float64*, int64*, int64, int64, float64*, float64*")
def _add_products(
    risk: Any, frequency: Any, step: int, n: int, sums: Any, errors: Any
) -> None:
    """Add product i to sum i mod BLOCK, its rounding errors to the sum of errors.

    A step of 0 reads the same BLOCK frequencies repeatedly.
    """
    for start in range(0, n, BLOCK):
        first = start * step
        left = n - start
        for j in range(left if left < BLOCK else BLOCK):
            product, error = two_product(float(frequency[first + j]), risk[start + j])
            sums[j], rest = two_sum(sums[j], product)
            errors[j] += error + rest
