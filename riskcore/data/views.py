"""Look up views of text in a table, in compiled code.

A view is two 64-bit words. The lower half of the first is the length. Up to twelve
bytes of text follow in the view; for longer text, the first four and its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from riskcore.core.compiled.jit import kernel, native
from riskcore.data.unsigned import load_uint8

# Labels that the table has room for, and the bits of a place in it.
MOST, PLACE_BITS = 1 << 14, 16
# Bytes of text in a view itself, and the bits of the length.
IN_VIEW, LENGTH = 12, 0xFFFFFFFF
# Odd numbers that mix all bits: Fowler, Noll and Vo's, and the golden ratio.
_PRIME, _GOLDEN = 0x100000001B3, 0x9E3779B97F4A7C15


@kernel
def same_text(a: Any, b: Any, other_a: Any, other_b: Any) -> bool:
    """Return whether two views are the same text; the second word may be an address."""
    length = np.int64(a & np.uint64(LENGTH))
    if a != other_a or b == other_b or length <= IN_VIEW:
        return bool(a == other_a and b == other_b)
    k = 0
    while k < length and load_uint8(b, k) == load_uint8(other_b, k):
        k += 1
    return bool(k == length)


@kernel
def place_of(a: Any, b: Any) -> Any:
    """Return the first place in which to look a view up."""
    length = np.int64(a & np.uint64(LENGTH))
    mixed = a
    if length > IN_VIEW:
        for k in range(length):
            mixed = (mixed ^ load_uint8(b, k)) * np.uint64(_PRIME)
    else:
        mixed = (a ^ (b >> np.uint64(29)) ^ b * np.uint64(_PRIME)) * np.uint64(_GOLDEN)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(_GOLDEN)
    return mixed >> np.uint64(64 - PLACE_BITS)


@native("uint64*, uint64*, int64, int32*, uint64*, int64*, int32*")
def look_up_views(
    view: Any,
    letters: Any,
    n: int,
    table: Any,
    label_views: Any,
    label_count: Any,
    codes: Any,
) -> None:
    """Write the label of each view; new views are added to ``label_views``.

    ``label_count`` is the number of labels so far; -1 if there are too many.
    """
    labels = label_count[0]
    for i in range(n):
        a = view[2 * i]
        b = view[2 * i + 1]
        if np.int64(a & np.uint64(LENGTH)) > IN_VIEW:
            b = letters[b & np.uint64(LENGTH)] + (b >> np.uint64(32))
        place = place_of(a, b)
        label = np.int64(table[place]) - 1
        while label >= 0 and not same_text(
            a, b, label_views[2 * label], label_views[2 * label + 1]
        ):
            place = (place + np.uint64(1)) & np.uint64((1 << PLACE_BITS) - 1)
            label = np.int64(table[place]) - 1
        if label < 0:
            if labels == MOST:
                label_count[0] = -1
                return
            label = labels
            labels += 1
            table[place] = labels
            label_views[2 * label] = a
            label_views[2 * label + 1] = b
        codes[i] = label
    label_count[0] = labels
