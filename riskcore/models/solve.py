"""Roots of functions of one number, always between two points of opposite sign."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

Function = Callable[[float], float]

EXACT = 2.0**-52  # relative tolerance: neighboring doubles
_STEPS = 200  # bisection alone needs about 60
_LEAST, _LARGEST = 2.0**-140, 2.0**140  # in the domain of the Gamma functions


def root(
    function: Function, low: float, high: float, tolerance: float = EXACT
) -> float:
    """Return a root between two numbers where a function has opposite signs."""
    # The method is inverse quadratic interpolation where it is safe, else bisection
    # (Chandrupatla 1997). The interval around the root shrinks to neighboring doubles,
    # or to a fraction ``tolerance`` of the root. The result is nan if the function
    # becomes nan.
    a, b = high, low
    fa, fb = function(a), function(b)
    if fa == 0.0 or fb == 0.0:
        return a if fa == 0.0 else b
    if (fa > 0.0) == (fb > 0.0) or math.isnan(fa + fb):
        raise ValueError(f"no change of sign from {low:.17g} to {high:.17g}")
    c, fc = a, fa
    share = 0.5
    for _ in range(_STEPS):
        x = a + share * (b - a)
        fx = function(x)
        if math.isnan(fx):
            return math.nan
        if (fx > 0.0) == (fa > 0.0):
            c, fc = a, fa
        else:
            c, b, fc, fb = b, a, fb, fa
        a, fa = x, fx
        best = a if abs(fa) < abs(fb) else b
        least = tolerance * abs(best) / abs(b - a) if b != a else 1.0
        if least > 0.5 or fa == 0.0:
            return best
        share = min(max(_next_share(a, b, c, fa, fb, fc), least), 1.0 - least)
    return best


def _next_share(a: float, b: float, c: float, fa: float, fb: float, fc: float) -> float:
    """Return where to look next: 1/2 unless the inverse is monotone in three points."""
    across = (a - b) / (c - b)
    level = (fa - fb) / (fc - fb)
    if not (level * level < across and (1.0 - level) ** 2 < 1.0 - across):
        return 0.5
    return fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (
        fc - fb
    )


def positive_root(function: Function, start: float, tolerance: float = EXACT) -> float:
    """Return the root of a function that falls through zero once in (0, infinity)."""
    # The result is nan without a root from 2^-140 to 2^140, or if the function becomes
    # nan. The search leaves ``start`` in growing factors, then narrows by geometric
    # means and ends as `root` does.
    near = min(max(start, _LEAST), _LARGEST)
    positive = function(near) > 0.0
    step = 2.0
    while True:
        far = min(near * step, _LARGEST) if positive else max(near / step, _LEAST)
        value = function(far)
        if math.isnan(value):
            return math.nan
        if (value > 0.0) != positive:
            break
        if far in (_LEAST, _LARGEST):
            return math.nan
        near, step = far, step * step
    low, high = min(near, far), max(near, far)
    while high > 4.0 * low:
        middle = math.sqrt(low * high)
        if function(middle) > 0.0:
            low = middle
        else:
            high = middle
    return root(function, low, high, tolerance)


def all_roots(function: Function, points: Sequence[float]) -> list[float]:
    """Return a root between any two neighbors of opposite sign, without nan."""
    values = [(x, function(x)) for x in points]
    pairs = [(x, y) for x, y in values if not math.isnan(y)]
    return [
        root(function, low, high)
        for (low, at_low), (high, at_high) in pairwise(pairs)
        if (at_low > 0.0) != (at_high > 0.0)
    ]
