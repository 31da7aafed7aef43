"""Proven enclosures of the tails of the negative binomial distribution, integer f.

    P(F > k) = sum_{i < f} t(i),   P(F <= k) = sum_{i >= f} t(i),
    t(i) = C(k, i) p^i q^(k-i),

f successes in k trials. The sum on whose side of the mean k lies falls from its first
term on, and its ratios fall too: the rest is below a geometric series. The first term
is the exponential of Stirling's errors and deviances, and all of it is in balls
(notes/posterior.md, section 7).
"""

from __future__ import annotations

import math
from fractions import Fraction

from riskcore.compiled.jit import kernel
from riskcore.special.balls import (
    PI,
    UNIT,
    Ball,
    add,
    add_double,
    dd_constant,
    divide,
    exp,
    ln2_times,
    log,
    multiply,
    multiply_double,
    negate,
    polynomial,
    reciprocal,
    scaled_exp,
    subtract,
    tail,
)
from riskcore.special.floats import bits, from_bits, table_of, two_product, two_sum

LARGEST_F = 2.0**32  # sums of up to some 10^6 terms
LARGEST_K = 2.0**53  # up to it k is exact
SMALLEST_P = 2.0**-900  # smallest number of balls
# A radius larger than this, relative to the tail, would be a mistake of the proof.
WIDEST = 2.0**-60
UP = 2.0**600  # what the smallest tails are multiplied by

_SMALL = 32  # below it Stirling's error is from the factorial
_FACTORIALS = [dd_constant(Fraction(math.factorial(n))) for n in range(_SMALL)]
_factorial = table_of("riskcore_factorial", tuple(x for x, _ in _FACTORIALS))
_factorial_low = table_of("riskcore_factorial_low", tuple(x for _, x in _FACTORIALS))
# Bernoulli's numbers B_2, B_4, ..., B_26, over 2j (2j-1): Stirling's series.
_BERNOULLI = [
    Fraction(*pair)
    for pair in (
        (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6),
        (-3617, 510), (43867, 798), (-174611, 330), (854513, 138),
        (-236364091, 2730), (8553103, 6),
    )
]  # fmt: skip
_STIRLING = [B / (2 * j * (2 * j - 1)) for j, B in enumerate(_BERNOULLI, 1)]
_stirling_sum = polynomial(_STIRLING[:-1])
_NEXT = abs(float(_STIRLING[-1])) * (1.0 + 2.0**-40)
_TWO_PI_HIGH, _TWO_PI_LOW = dd_constant(2 * PI)
_TWO_PI_RADIUS = 2.0**-104
# atanh s - s = s w (1/3 + w/5 + ...), w = s^2 <= 0.0295, as in the logarithm of a ball.
_atanh_first = polynomial([Fraction(1, 2 * j + 3) for j in range(10)])
_atanh_last = tail([Fraction(1, 2 * j + 3) for j in range(10, 20)])
_NEAR = 0.17  # largest |s|
# The rest of a sum that is left out, against its first term.
_REST = 2.0**-110
# Exponentials: from the first on they are multiplied by 2^600, from the second on they
# are below the smallest double.
_LOW, _LOWEST = -400.0, -800.0


@kernel
def stirling_error(n: float) -> Ball:
    """Return a ball that contains log n! - log(sqrt(2 pi n) (n/e)^n), n = 1, 2, ..."""
    if n < _SMALL:
        i = int(n)
        high, low = _factorial(i), _factorial_low(i)
        value = log((high, low, high * (UNIT * UNIT)), 0.0)
        whole = multiply_double(log((n, 0.0, 0.0), 0.0), n)
        root = log(multiply_double((_TWO_PI_HIGH, _TWO_PI_LOW, _TWO_PI_RADIUS), n), 0.0)
        value = subtract(value, add_double(whole, -n))
        return subtract(value, multiply_double(root, 0.5))
    v = reciprocal(n)
    # What is left out is below the next term.
    return multiply(v, _stirling_sum(multiply(v, v), (0.0, 0.0, _NEXT)))


@kernel
def deviance(x: float, m: Ball, excess: Ball) -> Ball:
    """Return a ball that contains x log(x/m) - (x - m), ``excess`` is x - m."""
    s = divide(excess, add_double(m, x))
    if abs(s[0]) < _NEAR:  # (x - m) s + 2 x (atanh s - s)
        w = multiply(s, s)
        rest = multiply(multiply(s, w), _atanh_first(w, _atanh_last(w)))
        return add(multiply(excess, s), multiply_double(rest, 2.0 * x))
    quotient = log(divide((x, 0.0, 0.0), m), 0.0)
    return subtract(multiply_double(quotient, x), excess)


@kernel
def _log_of_term(k: float, i: float, p: float) -> Ball:
    """Return a ball that contains log t(i), for 0 < i < k."""
    j = k - i
    q, q_low = two_sum(1.0, -p)
    mean, mean_low = two_product(k, p)
    m = (mean, mean_low, 0.0)
    excess = add_double(negate(m), i)
    value = subtract(stirling_error(k), add(stirling_error(i), stirling_error(j)))
    value = subtract(value, deviance(i, m, excess))
    failures = multiply_double((q, q_low, 0.0), k)
    value = subtract(value, deviance(j, failures, negate(excess)))
    below = multiply_double((_TWO_PI_HIGH, _TWO_PI_LOW, _TWO_PI_RADIUS), i)
    square = divide((k, 0.0, 0.0), multiply_double(below, j))
    return add(value, multiply_double(log(square, 0.0), 0.5))


@kernel
def _term(k: float, i: float, p: float) -> tuple[Ball, int]:
    """Return (ball, n) with t(i) = x 2^(600 n), x in the ball; n = -2: below 2^-1100.

    The logarithm of a term may be rounded up to next to 0, as the exponential may be
    to next to 1.
    """
    q, q_low = two_sum(1.0, -p)
    if i == 0.0:
        x = multiply_double(log((q, q_low, 0.0), 0.0), k)
    elif i == k:
        x = multiply_double(log((p, 0.0, 0.0), 0.0), k)
    else:
        x = _log_of_term(k, i, p)
    if not x[0] >= _LOWEST:
        return (0.0, 0.0, 0.0), -2
    n = 0
    if x[0] < _LOW:
        x = add(x, ln2_times(600.0))
        n = -1
    return exp(*scaled_exp(x)), n


@kernel
def is_upper(f: float, k: float, p: float) -> bool:
    """Return whether `tail_ball` encloses P(F > k), else P(F <= k)."""
    return k * p >= f


@kernel
def tail_ball(f: float, k: float, p: float) -> tuple[Ball, int]:
    """Return (ball, n): the tail is x 2^(600 n), x in the ball; n = -2: below 2^-1100.

    P(F > k) where `is_upper`, else P(F <= k), for integers 1 <= f <= k, p < 1.
    """
    q, q_low = two_sum(1.0, -p)
    odds = divide((q, q_low, 0.0), (p, 0.0, 0.0))
    first, left, divisor = f - 1.0, f - 1.0, k - f + 2.0
    if not is_upper(f, k, p):
        odds = divide((p, 0.0, 0.0), (q, q_low, 0.0))
        first, left, divisor = f, k - f, f + 1.0
    term, n = _term(k, first, p)
    t = total = (1.0, 0.0, 0.0)
    while left > 0.0:
        # The ratio of this term and the one before; those that follow are smaller.
        ratio = (odds[0] * left / divisor) * (1.0 + 2.0**-40)
        rest = t[0] * ratio
        if rest < _REST * (1.0 - ratio):
            high, low, radius = total
            total = high, low, radius + 2.0 * _REST
            break
        t = multiply_double(multiply(t, odds), left)
        t = divide(t, (divisor, 0.0, 0.0))
        total = add(total, t)
        left -= 1.0
        divisor += 1.0
    return multiply(term, total), n


# --- doubles around a tail -----------------------------------------------------------


@kernel
def _fraction_bits(x: float) -> float:
    """Return e >= 0 with x 2^e whole, for 0 < x <= 1."""
    e = 0.0
    while x != float(int(x)):
        # x 2^53 is whole for x >= 1/2, and below nothing is lost.
        if x < 2.0**-60:
            x *= 2.0**60
            e += 60.0
        else:
            x *= 2.0
            e += 1.0
        x -= float(int(x))
    return e


@kernel
def _equal(k: float, p: float, x: float, distance: float) -> bool:
    """Return whether a tail at k less than ``distance`` from a double x <= 1 is x.

    Tails are whole multiples of 2^-e, if p^k is: two of them that differ by less are
    equal.
    """
    e = max(k * _fraction_bits(p), _fraction_bits(x))
    return e <= 1000.0 and distance < from_bits((1021 - int(e)) << 52)


@kernel
def _rounded(x: Ball, n: int) -> tuple[float, float]:
    """Return doubles around x 2^(600 n) for a ball x > 0, n = 0 or -1."""
    high, low, radius = x
    # low is below half an ulp of high, the radius far below.
    lower = high if low >= radius else from_bits(bits(high) - 1)
    upper = high if low <= -radius else from_bits(bits(high) + 1)
    if n == 0:
        return lower, upper
    below, above = lower / UP, upper / UP
    below = from_bits(bits(below) - 1) if below * UP > lower else below
    above = from_bits(bits(above) + 1) if above * UP < upper else above
    return below, above


@kernel
def tail_bounds(f: float, k: float, p: float, above: bool) -> tuple[float, float]:
    """Return doubles around P(F > k) if ``above``, else P(F <= k); nan: no proof."""
    if k < f:
        return (1.0, 1.0) if above else (0.0, 0.0)
    if p == 1.0:
        return (0.0, 0.0) if above else (1.0, 1.0)
    x, n = tail_ball(f, k, p)
    if is_upper(f, k, p) != above:
        if n < 0:  # 1 less something below 2^-500
            return 1.0 - UNIT, 1.0
        x, n = add_double(negate(x), 1.0), 0
    elif n == -2:
        return 0.0, from_bits(1)
    if not x[2] <= WIDEST * x[0]:
        return math.nan, math.nan
    high, low, radius = x
    if abs(low) < radius and n == 0 and _equal(k, p, high, abs(low) + radius):
        return high, high
    lower, upper = _rounded(x, n)
    return lower, min(upper, 1.0)


# --- comparisons with a level ------------------------------------------------------


@kernel
def compared(f: float, k: float, p: float, level: float) -> int:
    """Return 1 if P(F <= k) >= level is proved, -1 if it is below, 0 if undecided.

    For integers f and k, 0 < p <= 1, 0 < level < 1.
    """
    if k < f:
        return -1
    if p == 1.0:
        return 1
    upper = is_upper(f, k, p)
    x, n = tail_ball(f, k, p)
    if n == -2:
        return 1 if upper else -1
    if upper:  # P(F <= k) - level = (1 - level) - P(F > k)
        rest, rest_low = two_sum(1.0, -level)
        if n == -1:  # the tail is below 2^-500, 1 - level above
            return 1
        difference = add((rest, rest_low, 0.0), negate(x))
    elif n == -1:
        if level > 2.0**-400:
            return -1
        difference = add_double(x, -level * UP)
    else:
        difference = add_double(x, -level)
    high, _, radius = difference
    if abs(high) > 2.0 * radius:
        return 1 if high > 0.0 else -1
    return 1 if n == 0 and _equal(k, p, level, abs(high) + radius) else 0


@kernel
def _between(low: float, high: float) -> float:
    """Return an integer between two integers."""
    return low + float(int(0.5 * (high - low)))


@kernel
def _first_above(f: float, p: float, level: float, start: float, proved: bool) -> float:
    """Return the smallest k at which P(F <= k) >= level is proved, or not disproved.

    inf beyond `LARGEST_K`. By steps that double from ``start``, and bisection.
    """
    worst = 1 if proved else 0
    step = 1.0
    if compared(f, start, p, level) >= worst:
        high = start
        low = max(high - step, f - 1.0)
        while compared(f, low, p, level) >= worst:  # below f it is not
            high = low
            step *= 2.0
            low = max(high - step, f - 1.0)
    else:
        low = start
        high = low + step
        while high <= LARGEST_K and compared(f, high, p, level) < worst:
            low = high
            step *= 2.0
            high = low + step
        if high > LARGEST_K:
            if compared(f, LARGEST_K, p, level) < worst:
                return math.inf
            high = LARGEST_K
    while high - low > 1.0:
        middle = _between(low, high)
        if compared(f, middle, p, level) >= worst:
            high = middle
        else:
            low = middle
    return high


@kernel
def quantile_bounds(
    f: float, p: float, level: float, start: float
) -> tuple[float, float]:
    """Return integers around the smallest k with P(F <= k) >= level.

    As a rule they are equal, and the quantile is proved. ``start`` is a guess.
    """
    upper = _first_above(f, p, level, start, True)
    lower = upper
    if upper > LARGEST_K or compared(f, upper - 1.0, p, level) >= 0:
        lower = _first_above(f, p, level, min(upper, start), False)
    return lower, upper
