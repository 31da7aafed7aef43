"""Quantiles of the negative binomial distribution."""

from __future__ import annotations

import math

from riskcore.core.compiled.jit import kernel, shared
from riskcore.core.special.double_double import (
    dd_add,
    dd_divide,
    dd_log,
    dd_multiply,
    sqrt,
)
from riskcore.core.special.elementary import exp, exp_parts, log
from riskcore.core.special.floats import two_sum
from riskcore.core.special.negative_binomial.probability import (
    LARGEST,
    LARGEST_EXACT,
    DoubleDouble,
)
from riskcore.core.special.negative_binomial.tails import tails

# Sums of pairs decide a comparison within CLOSE, for at most _TERMS terms; agreement
# to _EQUAL counts as equality.
CLOSE = 2.0**-40
_TERMS = 1024.0
_EQUAL = 2.0**-88
_STEPS = 400
_TWO_PI = 6.283185307179586
_NEWTON = 8  # turns before the first bisection
_GAMMA = 0.1  # below this p the search starts at a gamma quantile


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


@shared("float64, float64, float64, boolean, float64", "float64")
def decided(f: float, j: float, p: float, above: bool, level: float) -> float:
    """Return the sign of (tail - level), 0 for equal, by sums of pairs.

    nan where the sums would take too long.
    """
    whole = float(int(min(f, _TERMS))) == f
    if not (whole & (f <= _TERMS) & (j <= _TERMS)):
        return math.nan
    tail = _sum_above(f, j, p, level) if above else _sum_below(f, j, p, level)
    return 0.0 if abs(tail) <= _EQUAL * level else tail


@kernel
def is_close(difference: float, level: float) -> bool:
    """Return whether a tail is too near a level to trust its sign."""
    return abs(difference) <= CLOSE * level


@kernel
def _normal_quantile(tail: float) -> float:
    """Return roughly the normal quantile with probability ``tail`` <= 1/2 above it.

    Abramowitz and Stegun 26.2.23, to 0.0005: a starting value.
    """
    t = sqrt(-2.0 * log(tail))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    return t - above / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))


@kernel
def start(f: float, p: float, above: bool, level: float) -> float:
    """Return a first guess >= 1 of the quantile, geometric or Cornish-Fisher."""
    q = 1.0 - p
    tail, tail_low = two_sum(0.0 if above else 1.0, level if above else -level)
    geometric = dd_log(tail, tail_low)[0] / dd_log(q, (1.0 - q) - p)[0] - 1.0
    z = _normal_quantile(level)
    z = z if above else -z
    # Wilson and Hilferty's for the gamma distribution, which F p is for small p.
    shape = 1.0 - 1.0 / (9.0 * f) + z / (3.0 * sqrt(f))
    gamma = f * shape * shape * shape
    # Far below: the first term of the series, x^f/Gamma(f+1), by Stirling's formula.
    first = f * exp((log(level) + 0.5 * log(_TWO_PI * f)) / f - 1.0)
    gamma = first if (shape < 0.4) & (not above) else gamma
    deviation = sqrt(f * q)
    skew = (1.0 + q) / deviation
    # The next order of Cornish and Fisher's, kurtosis (6 + p^2/q)/f.
    normal = z + (z * z - 1.0) * skew / 6.0
    normal += (z * z - 3.0) * z * (6.0 + p * p / q) / (24.0 * f)
    normal -= (2.0 * z * z - 5.0) * z * skew * skew / 36.0
    moved = gamma / p - 0.5 * (f + 1.0)
    moved = moved if p < _GAMMA else (f * q + deviation * normal) / p - 0.5
    j = geometric if f == 1.0 else moved
    j = min(max(j, 1.0), LARGEST)
    return float(int(min(j, LARGEST_EXACT))) if j < LARGEST_EXACT else j


@kernel
def _between(low: float, high: float) -> float:
    """Return an integer between two integers, their middle or geometric mean."""
    middle = low + 0.5 * (high - low)
    far = high > 8.0 * (low + 1.0)
    middle = sqrt(low + 1.0) * sqrt(high) if far else middle
    middle = 4.0 * low + 4.0 if high == math.inf else middle
    exact = middle < LARGEST_EXACT
    return float(int(middle if exact else 0.0)) if exact else middle


@kernel
def expm1_limited(x: float) -> float:
    """Return roughly exp(x) - 1, with x limited to [-3, 3]."""
    x = min(max(x, -3.0), 3.0)
    value, rest = exp_parts(x, 0.0)
    return x + 0.5 * x * x if abs(x) < 2.0**-20 else (value - 1.0) + rest


# The tail in question, the other one, and k P(F = k).
Tails = tuple[float, float, float]
# low, where the tail does not pass, high, where it does, and the next point to try.
Bracket = tuple[float, float, float]


@kernel
def narrowed(
    f: float,
    p: float,
    above: bool,
    level: float,
    strict: bool,
    sign: float,
    at_point: Tails,
    bracket: Bracket,
    turn: int,
) -> tuple[float, float, float, bool]:
    """Return the bracket narrowed by the tail at its point, with the next point.

    The last result is whether high is the quantile. ``sign`` is the sign of tail -
    level, 0 for equal. The tail at the neighbor follows from the next probability; it
    counts too unless it is close to the level. Then a Newton step for the logarithm of
    tail over other tail, below the mean over log F; after some turns every second step
    is a bisection. Branchless.
    """
    tail, other, weight = at_point
    low, high, at = bracket
    passed = (not strict) if sign == 0.0 else (sign < 0.0) == above
    low, high = low if passed else at, at if passed else high
    k = f + at
    mass = weight / k
    beyond = mass * (k * (1.0 - p) / (at + 1.0))
    change = mass if passed else -beyond
    next_tail = tail + (change if above else -change)
    far = abs(next_tail - level) > CLOSE * max(tail, level)
    clear = far & (at < LARGEST_EXACT) & (at >= 1.0) & (tail > 0.0) & (weight > 0.0)
    passes = (next_tail < level) == above
    neighbor = at - 1.0 if passed else at + 1.0
    low = max(low, neighbor) if clear & (not passes) else low
    high = min(high, neighbor) if clear & passes else high
    middle = low + 0.5 * (high - low)
    done = (high < math.inf) & ((middle <= low) | (middle >= high))
    done = done | (high - low <= 1.0)
    # Where to look next.
    inside = (tail > 0.0) & (other > 0.0) & (weight > 0.0)
    odds = tail / other if inside else 1.0
    delta = log(odds * ((1.0 - level) / level))
    delta *= tail * other / (weight if inside else 1.0)
    step = delta if above else expm1_limited(-delta)
    guess = at + step * k
    unit = max(1.0, at * 2.0**-52)
    exact = abs(guess) < LARGEST_EXACT
    guess = float(int(guess if exact else 0.0)) + 1.0 if exact else guess
    guess = max(guess, low + unit)
    guess = min(guess, max(high - unit, low + unit))
    halve = (not inside) | ((turn >= _NEWTON) & (turn & 1 == 1))
    halve = halve | (not ((guess > low) & (guess < high)))
    guess = _between(low, high) if halve else guess
    return low, high, guess, done


@kernel
def quantile(f: float, p: float, above: bool, level: float, strict: bool) -> float:
    """Return the smallest j where a tail passes a level in (0, 1/2].

    If ``above``, P(F > f+j) < level, or <= if not ``strict``; else P(F <= f+j) > level,
    or >= if not ``strict``. Above 2^53 not every j is a double: the result is then the
    first double found to pass. nan beyond ``LARGEST``, or if the search does not end,
    which was never seen.
    """
    if p == 1.0:
        return 0.0
    low, high, at = -1.0, math.inf, start(f, p, above, level)
    for turn in range(_STEPS):
        lower, upper, weight = tails(f, at, 0.0, p)
        tail, other = (upper, lower) if above else (lower, upper)
        sign = tail - level
        if is_close(sign, level):
            exact = decided(f, at, p, above, level)
            sign = sign if math.isnan(exact) else exact
        low, high, at, done = narrowed(
            f,
            p,
            above,
            level,
            strict,
            sign,
            (tail, other, weight),
            (low, high, at),
            turn,
        )
        if done:
            return high
        if at > LARGEST:
            if low >= LARGEST:
                return math.nan
            at = LARGEST
    return math.nan
