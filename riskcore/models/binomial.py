"""Equal tails of the binomial distribution."""

from __future__ import annotations

import math

import numpy as np

from riskcore.common import arguments


def interval(m: int, p: float, level: float) -> tuple[float, float]:
    """Return the quantiles of Binomial(m, p) at (1-level)/2 and (1+level)/2."""
    level = arguments.number_in("level", level, "(0, 1)")
    if math.isnan(p):
        return math.nan, math.nan
    if p in (0.0, 1.0):
        return int(m * p), int(m * p)
    tail = (1.0 - level) / 2.0
    start, distribution = _distribution(m, p)
    below, above = np.cumsum(distribution), np.cumsum(distribution[::-1])
    low = start + int(np.searchsorted(below, tail * below[-1]))
    last = start + len(distribution) - 1
    return low, last - int(np.searchsorted(above, tail * above[-1], side="right"))


def _distribution(m: int, p: float) -> tuple[int, np.ndarray]:
    """Return the first value that matters, and probabilities up to a common factor."""
    mode = min(int((m + 1) * p), m)
    spread = int(40.0 * math.sqrt(m * p * (1.0 - p))) + 60
    up = np.arange(mode, min(mode + spread, m))
    down = np.arange(mode, max(mode - spread, 0), -1)
    odds = p / (1.0 - p)
    rise = np.cumprod((m - up) / (up + 1.0) * odds)
    fall = np.cumprod(down / (m - down + 1.0) / odds)
    return mode - len(down), np.concatenate([fall[::-1], [1.0], rise])
