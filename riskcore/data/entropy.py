"""The entropy of a variable: what is not known of a record until its value is."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray


def entropy(weight: NDArray[Any]) -> float:
    """Return the entropy of shares in bits, sum p log2(1/p) (Shannon 1948).

    Examples
    --------
    >>> import numpy as np
    >>> entropy(np.array([1.0, 1.0, 2.0, 0.0]))
    1.5
    """
    there = weight[weight > 0].tolist()
    if len(there) < 2:
        return 0.0
    total = math.fsum(there)
    return math.fsum(w * math.log2(total / w) for w in there) / total
