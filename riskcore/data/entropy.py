"""The entropy of a variable."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray


def entropy(weight: NDArray[Any]) -> float:
    """Return the entropy of shares in bits, sum p log2(1/p) (Shannon 1948)."""
    positive = weight[weight > 0].tolist()
    if len(positive) < 2:
        return 0.0
    total = math.fsum(positive)
    return math.fsum(w * math.log2(total / w) for w in positive) / total
