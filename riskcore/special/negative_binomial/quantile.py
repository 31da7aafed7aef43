"""Quantiles of the negative binomial distribution."""

from __future__ import annotations

import math

from riskcore.compiled.jit import kernel
from riskcore.special.double_double import (
    dd_add,
    dd_divide,
    dd_log,
    dd_multiply,
    sqrt,
)
from riskcore.special.elementary import log
from riskcore.special.floats import two_sum
from riskcore.special.negative_binomial.probability import (
    LARGEST,
    LARGEST_EXACT,
    DoubleDouble,
)
from riskcore.special.negative_binomial.tails import tails

# Sums of pairs decide a comparison within _CLOSE, for at most _TERMS terms; what then
# still agrees to _EQUAL is taken as equal.
_CLOSE = 2.0**-40
_TERMS = 1024.0
_EQUAL = 2.0**-88
_STEPS = 400


# --- quantiles ---------------------------------------------------------------------


@kernel
def _power(x: float, x_low: float, n: float) -> DoubleDouble:
    """Return (x + x_low)^n for an integer n >= 0 by squaring."""
    high, low = 1.0, 0.0
    left = int(n)
    while left > 0:
        if left & 1 == 1:
            high, low = dd_multiply(high, low, x, x_low)
        x, x_low = dd_multiply(x, x_low, x, x_low)
        left >>= 1
    return high, low


@kernel
def _sum_above(f: float, j: float, p: float, level: float) -> float:
    """Return P(F > f + j) - level for integers f, j: a sum of f pairs."""
    q, q_low = two_sum(1.0, -p)
    k = f + j
    t, t_low = _power(q, q_low, k)
    odds, odds_low = dd_divide(p, 0.0, q, q_low)
    total, total_low = t, t_low
    for i in range(1, int(f)):
        t, t_low = dd_multiply(t, t_low, odds, odds_low)
        t, t_low = dd_multiply(t, t_low, k + 1.0 - i, 0.0)
        t, t_low = dd_divide(t, t_low, float(i), 0.0)
        total, total_low = dd_add(total, total_low, t, t_low)
    return dd_add(total, total_low, -level, 0.0)[0]


@kernel
def _sum_below(f: float, j: float, p: float, level: float) -> float:
    """Return P(F <= f + j) - level for integers f, j: a sum of j + 1 pairs."""
    q, q_low = two_sum(1.0, -p)
    t, t_low = _power(p, 0.0, f)
    total, total_low = t, t_low
    for i in range(int(j)):
        t, t_low = dd_multiply(t, t_low, q, q_low)
        t, t_low = dd_multiply(t, t_low, f + i, 0.0)
        t, t_low = dd_divide(t, t_low, i + 1.0, 0.0)
        total, total_low = dd_add(total, total_low, t, t_low)
    return dd_add(total, total_low, -level, 0.0)[0]


@kernel
def _decided(f: float, j: float, p: float, above: bool, level: float) -> float:
    """Return the sign of (tail - level), 0 for equal, by sums of pairs."""
    tail = _sum_above(f, j, p, level) if above else _sum_below(f, j, p, level)
    return 0.0 if abs(tail) <= _EQUAL * level else tail


@kernel
def _compared(
    f: float, j: float, p: float, above: bool, level: float
) -> tuple[float, float]:
    """Return the sign of (tail - level) and the step in j to where they are equal.

    The tail is P(F > f+j) if ``above``, else P(F <= f+j).
    """
    lower, upper, weight = tails(f, j, 0.0, p)
    tail = upper if above else lower
    difference = tail - level
    if tail == 0.0:
        return difference, math.nan
    if abs(difference) <= _CLOSE * level:
        small = (f <= _TERMS) & (j <= _TERMS) & (float(int(min(f, _TERMS))) == f)
        if small:
            difference = _decided(f, j, p, above, level)
    # Newton's step for log tail, which is concave for f >= 1.
    step = log(tail / level) * (tail / weight) * (f + j) if weight > 0.0 else math.nan
    return difference, step if above else -step


@kernel
def _normal_quantile(tail: float) -> float:
    """Return about the normal quantile with that much above it, 0 < tail <= 1/2.

    Abramowitz and Stegun 26.2.23, to 0.0005: a starting value.
    """
    t = sqrt(-2.0 * log(tail))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    return t - above / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))


@kernel
def _start(f: float, p: float, above: bool, level: float) -> float:
    """Return a guess of the quantile, geometric or by Cornish and Fisher."""
    q = 1.0 - p
    if f == 1.0:
        tail = level if above else 1.0 - level
        j = log(tail) / dd_log(q, (1.0 - q) - p)[0] - 1.0
    else:
        z = _normal_quantile(level)
        z = z if above else -z
        # Wilson and Hilferty's for the gamma distribution, which F p is for small p.
        shape = 1.0 - 1.0 / (9.0 * f) + z / (3.0 * sqrt(f))
        gamma = f * shape * shape * shape
        deviation = sqrt(f * q)
        skew = (1.0 + q) / deviation
        normal = f * q + deviation * (z + (z * z - 1.0) * skew / 6.0)
        j = (gamma if p < 0.1 else normal) / p - 0.5 * (f + 1.0)
    j = max(j, 0.0)
    return float(int(j)) if j < LARGEST_EXACT else min(j, LARGEST)


@kernel
def _between(low: float, high: float) -> float:
    """Return an integer between two integers, by value or, if far apart, by size."""
    if high == math.inf:
        return 4.0 * low + 4.0
    middle = low + 0.5 * (high - low)
    if high > 8.0 * (low + 1.0):
        middle = sqrt(low + 1.0) * sqrt(high)
    return float(int(middle)) if middle < LARGEST_EXACT else middle


@kernel
def quantile(f: float, p: float, above: bool, level: float, strict: bool) -> float:
    """Return the smallest j where a tail passes a level in (0, 1/2].

    If ``above``, P(F > f+j) < level, or <= if not ``strict``; else P(F <= f+j) > level,
    or >= if not ``strict``. Above 2^53 not every j is a double: the result is then the
    first double found to pass. nan beyond ``LARGEST``; or if the search does not end,
    which was never seen.
    """
    if p == 1.0:
        return 0.0
    low, high = -1.0, math.inf  # it does not pass at low, it does at high
    at = _start(f, p, above, level)
    for i in range(_STEPS):
        sign, step = _compared(f, at, p, above, level)
        passed = not strict if sign == 0.0 else (sign < 0.0) == above
        unit = max(1.0, at * 2.0**-52)
        if passed:
            high = at
            guess = at + min(step, -unit)
        else:
            low = at
            guess = at + max(step, unit)
        if high - low <= 1.0:
            return high
        if abs(guess) < LARGEST_EXACT:
            guess = float(int(guess))
        at = guess
        # nan, a step out of the bracket, or many steps: halve it.
        if not ((guess > low) & (guess < high)) or i % 4 == 3:
            at = _between(low, high)
            if at <= low or at >= high:
                at = low + 0.5 * (high - low)
                if at <= low or at >= high:
                    return high  # neighbouring doubles
        if at > LARGEST:
            if low >= LARGEST:
                return math.nan
            at = LARGEST
    return math.nan
