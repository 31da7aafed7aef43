"""Code integers by their rank among those that occur."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.count import count
from riskcore.data.unsigned import Codes, mark_levels, rank_levels

Array = NDArray[Any]


def code_words(words: Iterable[Array], n: int) -> Codes:
    """Return codes of n records, equal where all their words, integers, are equal."""
    codes: Codes = np.zeros(n, np.uint64)
    for word in words:
        _, ranks = code_integers(np.ascontiguousarray(word))
        wide = ranks.astype(np.uint64)  # NumPy turns signed and unsigned into floats
        levels = wide.max(initial=0) + np.uint64(1)
        _, codes = code_integers(codes.astype(np.uint64) * levels + wide)
    return codes


def code_integers(values: Array) -> tuple[Array, Array]:
    """Code integers through a table of their range, or by counting if it is wide."""
    if len(values) == 0:
        return values, values.astype(np.uint8)
    low, high = int(values.min()), int(values.max())
    size = values.dtype.itemsize
    unsigned = values.view(f"u{size}")
    # Differences modulo 2**bits: right for negative numbers as well.
    origin = unsigned.dtype.type(low % (1 << 8 * size))
    if high - low < max(4 * len(values), 1 << 16):
        offsets, codes = _code_narrow(unsigned, origin, high - low + 1)
    else:
        offsets, codes = _code_wide(unsigned - origin)
    return (offsets.astype(unsigned.dtype) + origin).view(values.dtype), codes


def _code_narrow(
    values: Codes, origin: np.unsignedinteger[Any], span: int
) -> tuple[Array, Array]:
    """Code numbers by a table of ``span`` entries, the first for ``origin``."""
    column = values.ctypes.data, values.itemsize, int(origin), len(values)
    seen = np.zeros(span, np.uint8)
    mark_levels(*column, seen)
    offsets = np.flatnonzero(seen)
    if len(offsets) == span:
        return offsets, values - origin if origin else values
    codes = np.empty(len(values), np.uint32)
    rank_levels(*column, np.cumsum(seen, dtype=np.uint32) - np.uint32(1), codes)
    return offsets, codes


def _code_wide(values: Codes) -> tuple[Array, Array]:
    """Code numbers by counting pairs of their upper and lower halves."""
    upper = (values >> 16 >> 16).astype(np.uint32)  # two steps: 32 bits have no >> 32
    lower = values.astype(np.uint32)
    cells = count([upper, lower], [int(upper.max()) + 1, 1 << 32])
    high, low = (code.astype(np.uint64) for code in cells.codes)
    return (high << np.uint64(32)) | low, cells.inverse
