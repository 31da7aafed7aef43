"""The negative binomial law: probabilities, tails and quantiles.

F is the number of trials up to and including the f-th success, p the probability of a
success and q = 1 - p:

    P(F = f + j) = Gamma(f+j)/(Gamma(f) j!) p^f q^j,    j = 0, 1, 2, ...,

a law for every real f > 0. Functions take (f, j, p); k = f + j is held as a pair.
Formulas, their derivation and their errors are in notes/posterior.md.
"""

from __future__ import annotations

import math

from riskcore.compiled.jit import kernel
from riskcore.special.double_double import (
    add_pairs,
    atanh_excess,
    atanh_excess_rounded,
    divide_pairs,
    log_pair,
    multiply_pairs,
    sqrt,
    sqrt_pair,
)
from riskcore.special.elementary import exp_parts, exprel, log, log1p
from riskcore.special.floats import fma, two_product, two_sum
from riskcore.special.quadrature import (
    HALF_LINE_NODES,
    half_line_node,
    half_line_weight,
)

Pair = tuple[float, float]

# 1/(2 pi) as a pair.
_INVERSE_TWO_PI = float.fromhex("0x1.45f306dc9c883p-3")
_INVERSE_TWO_PI_LOW = float.fromhex("-0x1.6b01ec5417056p-57")
# Stirling's error log n! - log(sqrt(2 pi n) (n/e)^n) for n = 1, ..., 15.
_STIRLING_ERRORS = (
    0.08106146679532726, 0.0413406959554093, 0.02767792568499834, 0.020790672103765093,
    0.016644691189821193, 0.013876128823070748, 0.01189670994589177,
    0.010411265261972096, 0.009255462182712733, 0.00833056343336287,
    0.007573675487951841, 0.006942840107209530, 0.006408994188004207,
    0.005951370112758848, 0.005554733551962801,
)  # fmt: skip
# Above this |s| the logarithm of a quotient is a difference of logarithms.
_NEAR = 0.17
# Below this f the tails are not offered: their integrand has two far scales.
SMALLEST_F = 2.0**-6
LARGEST = 2.0**1020  # of k: beyond it sums overflow
_LARGEST_EXACT = 2.0**53  # beyond it not every integer is a double
# Sums of pairs decide a comparison within _CLOSE, for at most _TERMS terms; what then
# still agrees to _EQUAL is taken as equal.
_CLOSE = 2.0**-40
_TERMS = 1024.0
_EQUAL = 2.0**-88
_STEPS = 400
# Up to this f a tail is a sum of at most some hundred terms, taken down to _NOTHING.
_SHORT = 64.0
_NOTHING = 2.0**-60


# --- probabilities -----------------------------------------------------------------


@kernel
def _stirling_series(x: float) -> float:
    """Return log Gamma(x+1) - log(sqrt(2 pi x) (x/e)^x) for x >= 16 (DLMF 5.11.1)."""
    w = 1.0 / (x * x)
    t = fma(w, -691.0 / 360360.0, 1.0 / 1188.0)
    t = fma(w, t, -1.0 / 1680.0)
    t = fma(w, t, 1.0 / 1260.0)
    t = fma(w, t, -1.0 / 360.0)
    t = fma(w, t, 1.0 / 12.0)
    return t / x


@kernel
def stirling_error(x: float) -> Pair:
    """Return log Gamma(x+1) - log(sqrt(2 pi x) (x/e)^x) for x > 0, to 2^-57 absolute.

    Below 16 from a table or, for a fraction, from y = x + n >= 16 by Gamma(y) =
    (x)_n Gamma(x).
    """
    if not x < 16.0:
        return _stirling_series(x), 0.0
    n = 1.0
    for value in _STIRLING_ERRORS:
        if x == n:
            return value, 0.0
        n += 1.0
    steps = 16.0 - float(int(x))
    y, y_low = two_sum(x, steps)
    high, low = multiply_pairs(y - 0.5, y_low, *log_pair(y, y_low))
    rising, rising_low = 1.0, 0.0
    for i in range(1, int(steps)):
        term, term_low = two_sum(x, float(i))
        rising, rising_low = multiply_pairs(rising, rising_low, term, term_low)
    part, part_low = log_pair(rising, rising_low)
    high, low = add_pairs(high, low, -part, -part_low)
    part, part_low = log_pair(x, 0.0)
    half, half_low = two_sum(x, 0.5)
    part, part_low = multiply_pairs(part, part_low, half, half_low)
    high, low = add_pairs(high, low, -part, -part_low)
    high, low = add_pairs(high, low, -steps, 0.0)
    return add_pairs(high, low, _stirling_series(y), 0.0)


@kernel
def _deviance_term(
    x: float, x_low: float, m: float, m_low: float, excess: float, excess_low: float
) -> Pair:
    """Return x log(x/m) - (x - m) >= 0, where ``excess`` is x - m.

    With s = (x - m)/(x + m) it is (x - m) s + 2 x (atanh s - s): nothing cancels.
    """
    total, total_low = add_pairs(x, x_low, m, m_low)
    s, s_low = divide_pairs(excess, excess_low, total, total_low)
    if abs(s) < _NEAR:
        rest, rest_low = atanh_excess(s, s_low)
        rest, rest_low = multiply_pairs(rest, rest_low, 2.0 * x, 2.0 * x_low)
        high, low = multiply_pairs(s, s_low, excess, excess_low)
        return add_pairs(high, low, rest, rest_low)
    high, low = log_pair(x, x_low)
    other, other_low = log_pair(m, m_low)
    high, low = add_pairs(high, low, -other, -other_low)
    high, low = multiply_pairs(high, low, x, x_low)
    return add_pairs(high, low, -excess, -excess_low)


@kernel
def _excess(f: float, k: float, k_low: float, p: float) -> Pair:
    """Return f - k p, the successes less their mean."""
    mean, mean_low = two_product(k, p)
    high, low = two_sum(f, -mean)
    rest, rest_low = two_product(k_low, p)
    high, low = add_pairs(high, low, -mean_low, 0.0)
    return add_pairs(high, low, -rest, -rest_low)


@kernel
def _exponent(f: float, j: float, j_low: float, p: float) -> Pair:
    """Return log(P(F = f+j) / sqrt(f/(2 pi k j))) for j > 0 (Loader 2000)."""
    q, q_low = two_sum(1.0, -p)
    k, k_low = add_pairs(j, j_low, f, 0.0)
    excess, excess_low = _excess(f, k, k_low, p)
    failures, failures_low = multiply_pairs(k, k_low, q, q_low)
    high, low = _deviance_term(j, j_low, failures, failures_low, -excess, -excess_low)
    if p < 2.0**-900:  # k p would lose bits: f log(f/(k p)) from three logarithms
        other, other_low = log_pair(k, k_low)
        part, part_low = log_pair(p, 0.0)
        other, other_low = add_pairs(other, other_low, part, part_low)
        part, part_low = log_pair(f, 0.0)
        other, other_low = add_pairs(part, part_low, -other, -other_low)
        other, other_low = multiply_pairs(other, other_low, f, 0.0)
        other, other_low = add_pairs(other, other_low, -excess, -excess_low)
    else:
        mean, mean_low = multiply_pairs(k, k_low, p, 0.0)
        other, other_low = _deviance_term(f, 0.0, mean, mean_low, excess, excess_low)
    high, low = add_pairs(high, low, other, other_low)
    part, part_low = stirling_error(f)
    high, low = add_pairs(high, low, part, part_low)
    high, low = add_pairs(high, low, stirling_error(j)[0], 0.0)
    part, part_low = stirling_error(k)
    high, low = add_pairs(part, part_low, -high, -low)
    return high, low


@kernel
def _scale(f: float, j: float, j_low: float) -> Pair:
    """Return sqrt(f/(2 pi k j)) for k = f + j."""
    k, k_low = add_pairs(j, j_low, f, 0.0)
    first, first_low = sqrt_pair(*divide_pairs(f, 0.0, k, k_low))
    high, low = divide_pairs(_INVERSE_TWO_PI, _INVERSE_TWO_PI_LOW, j, j_low)
    high, low = sqrt_pair(high, low)
    return multiply_pairs(high, low, first, first_low)


@kernel
def _weight(f: float, j: float, e: float, e_low: float) -> float:
    """Return k P(F = k), k = f + j, from its exponential: right where P underflows."""
    k, k_low = two_sum(j, f)
    high, low = divide_pairs(k, k_low, j, 0.0)
    high, low = multiply_pairs(high, low, _INVERSE_TWO_PI, _INVERSE_TWO_PI_LOW)
    high, low = sqrt_pair(high, low)
    root, root_low = sqrt_pair(f, 0.0)
    a, a_low = multiply_pairs(high, low, root, root_low)
    return fma(a, e, fma(a, e_low, a_low * e))


@kernel
def _log_of_first(f: float, p: float) -> Pair:
    """Return log P(F = f) = f log p."""
    high, low = log_pair(p, 0.0)
    return multiply_pairs(high, low, f, 0.0)


@kernel
def probability(f: float, j: float, j_low: float, p: float) -> float:
    """Return P(F = f + j), f > 0, 0 < p <= 1, for the integer j + j_low >= 0."""
    if p == 1.0:
        return 1.0 if j == 0.0 else 0.0
    if j == 0.0:
        high, low = exp_parts(*_log_of_first(f, p))
        return high + low
    e, e_low = exp_parts(*_exponent(f, j, j_low, p))
    a, a_low = _scale(f, j, j_low)
    return fma(a, e, fma(a, e_low, a_low * e))


@kernel
def log_probability(f: float, j: float, j_low: float, p: float) -> float:
    """Return log P(F = f + j), f > 0, 0 < p <= 1, for the integer j + j_low >= 0."""
    if p == 1.0:
        return 0.0 if j == 0.0 else -math.inf
    if j == 0.0:
        high, low = _log_of_first(f, p)
        return high + low
    high, low = _exponent(f, j, j_low, p)
    part, part_low = log_pair(*_scale(f, j, j_low))
    high, low = add_pairs(high, low, part, part_low)
    return high + low


# --- tails -------------------------------------------------------------------------


@kernel
def _less_log1p(z: float) -> float:
    """Return z - log(1 + z) for z >= 0."""
    if z > 0.4:
        return z - log1p(z)
    s = z / (2.0 + z)
    return fma(z, s, -2.0 * atanh_excess_rounded(s))


@kernel
def _less_expm1(v: float) -> float:
    """Return v - (1 - exp(-v)) for v >= 0."""
    if v > 0.5:
        value, correction = exp_parts(-v, 0.0)
        return (v - 1.0) + (value + correction)
    # Taylor's series to v^15: the next term is below 2^-58 of the sum.
    t = -1.0 / 1307674368000.0
    t = fma(v, t, 1.0 / 87178291200.0)
    t = fma(v, t, -1.0 / 6227020800.0)
    t = fma(v, t, 1.0 / 479001600.0)
    t = fma(v, t, -1.0 / 39916800.0)
    t = fma(v, t, 1.0 / 3628800.0)
    t = fma(v, t, -1.0 / 362880.0)
    t = fma(v, t, 1.0 / 40320.0)
    t = fma(v, t, -1.0 / 5040.0)
    t = fma(v, t, 1.0 / 720.0)
    t = fma(v, t, -1.0 / 120.0)
    t = fma(v, t, 1.0 / 24.0)
    t = fma(v, t, -1.0 / 6.0)
    return v * v * fma(v, t, 0.5)


@kernel
def _half_line(a: float, b: float, y: float, slope: float) -> float:
    """Return the integral of exp(-a v) (1 + y (1 - exp(-v)))^b over v > 0, a >= 1.

    ``slope`` is a - b y, at least 0 where b > 0. With u = 1 - exp(-v) the exponent is
    -slope u - a (v - u) - b (y u - log(1 + y u)): for b > 0 it has one sign only.
    """
    pace = max(slope, sqrt(a), min(b, sqrt(b)) * y) if b > 0.0 else a
    width = 1.0 / pace
    total, low = 0.0, 0.0
    for i in range(HALF_LINE_NODES):
        node, weight = half_line_node(i), half_line_weight(i)
        v = width * node
        bend = _less_expm1(v)
        u = v - bend
        if b > 0.0:
            exponent = fma(slope, u, fma(a, bend, b * _less_log1p(y * u)))
        else:
            exponent = fma(a, v, -b * log1p(y * u))
        value, correction = exp_parts(-exponent, 0.0)
        total, rest = two_sum(total, weight * (value + correction))
        low += rest
    return width * (total + low)


@kernel
def _lower(f: float, j: float, p: float, weight: float, excess: float) -> float:
    """Return P(F <= f + j) = I_p(f, j+1) for j not above its mean, j > 0."""
    q = 1.0 - p
    y = p / q
    if f <= _SHORT:
        # P(f or more successes in k trials), term by term (DLMF 8.17.7).
        term, total, low, moment, n = 1.0, 1.0, 0.0, 0.0, 0.0
        while (n < j) & (term > _NOTHING * total):
            term *= (j - n) * y / (f + 1.0 + n)
            n += 1.0
            total, rest = two_sum(total, term)
            low += rest
            moment = fma(n, term, moment)
        # The rounding error of y, which counts n times in its power n.
        error = (fma(-y, q, p) - y * (1.0 - q - p)) / p
        return weight / f * (total + fma(error, moment, low))
    return weight * _half_line(f, j, y, excess / q)


@kernel
def _upper(f: float, j: float, p: float, weight: float, excess: float) -> float:
    """Return P(F > f + j) = I_q(j+1, f) for j above its mean, j > 0."""
    q = 1.0 - p
    y = q / p
    if (f <= _SHORT) & (float(int(min(f, _SHORT))) == f):
        # P(fewer than f successes in k trials), term by term.
        term, total, low, moment, i = 1.0, 1.0, 0.0, 1.0, 1.0
        while (i < f) & (term > _NOTHING * total):
            term *= (f - i) * y / (j + 1.0 + i)
            i += 1.0
            total, rest = two_sum(total, term)
            low += rest
            moment = fma(i, term, moment)
        error = (fma(-y, p, q) + (1.0 - q - p)) / q
        return weight * (y / (j + 1.0)) * (total + fma(error, moment, low))
    slope = (1.0 - excess) / p
    return weight * y * _half_line(j + 1.0, f - 1.0, y, slope)


@kernel
def tails(f: float, j: float, j_low: float, p: float) -> tuple[float, float, float]:
    """Return P(F <= f + j), P(F > f + j) and k P(F = k) for k = f + j <= ``LARGEST``.

    For f >= ``SMALLEST_F``. The tail on whose side of the mean j lies is computed, the
    other is 1 less it.
    """
    if p == 1.0:
        return 1.0, 0.0, f if j == 0.0 else 0.0
    if j == 0.0:
        high, low = _log_of_first(f, p)
        first = probability(f, 0.0, 0.0, p)
        return first, -high * exprel(-high) - low * first, f * first
    weight = _weight(f, j, *exp_parts(*_exponent(f, j, j_low, p)))
    k, k_low = add_pairs(j, j_low, f, 0.0)
    excess = _excess(f, k, k_low, p)[0]
    if excess >= 0.0:
        lower = min(_lower(f, j, p, weight, excess), 1.0)
        return lower, 1.0 - lower, weight
    upper = min(_upper(f, j, p, weight, excess), 1.0)
    return 1.0 - upper, upper, weight


# --- quantiles ---------------------------------------------------------------------


@kernel
def _power(x: float, x_low: float, n: float) -> Pair:
    """Return (x + x_low)^n for an integer n >= 0 by squaring."""
    high, low = 1.0, 0.0
    left = int(n)
    while left > 0:
        if left & 1 == 1:
            high, low = multiply_pairs(high, low, x, x_low)
        x, x_low = multiply_pairs(x, x_low, x, x_low)
        left >>= 1
    return high, low


@kernel
def _sum_above(f: float, j: float, p: float, level: float) -> float:
    """Return P(F > f + j) - level for integers f, j: a sum of f pairs."""
    q, q_low = two_sum(1.0, -p)
    k = f + j
    t, t_low = _power(q, q_low, k)
    odds, odds_low = divide_pairs(p, 0.0, q, q_low)
    total, total_low = t, t_low
    for i in range(1, int(f)):
        t, t_low = multiply_pairs(t, t_low, odds, odds_low)
        t, t_low = multiply_pairs(t, t_low, k + 1.0 - i, 0.0)
        t, t_low = divide_pairs(t, t_low, float(i), 0.0)
        total, total_low = add_pairs(total, total_low, t, t_low)
    return add_pairs(total, total_low, -level, 0.0)[0]


@kernel
def _sum_below(f: float, j: float, p: float, level: float) -> float:
    """Return P(F <= f + j) - level for integers f, j: a sum of j + 1 pairs."""
    q, q_low = two_sum(1.0, -p)
    t, t_low = _power(p, 0.0, f)
    total, total_low = t, t_low
    for i in range(int(j)):
        t, t_low = multiply_pairs(t, t_low, q, q_low)
        t, t_low = multiply_pairs(t, t_low, f + i, 0.0)
        t, t_low = divide_pairs(t, t_low, i + 1.0, 0.0)
        total, total_low = add_pairs(total, total_low, t, t_low)
    return add_pairs(total, total_low, -level, 0.0)[0]


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
    """Return z with about that much of the normal law above it, 0 < tail <= 1/2.

    Abramowitz and Stegun 26.2.23, to 0.0005: a starting value.
    """
    t = sqrt(-2.0 * log(tail))
    above = 2.515517 + t * (0.802853 + t * 0.010328)
    return t - above / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))


@kernel
def _start(f: float, p: float, above: bool, level: float) -> float:
    """Return a guess of the quantile: the geometric law's, or Cornish-Fisher's."""
    q = 1.0 - p
    if f == 1.0:
        tail = level if above else 1.0 - level
        j = log(tail) / log_pair(q, (1.0 - q) - p)[0] - 1.0
    else:
        z = _normal_quantile(level)
        z = z if above else -z
        # Wilson and Hilferty's for the gamma law, which F p is for small p.
        shape = 1.0 - 1.0 / (9.0 * f) + z / (3.0 * sqrt(f))
        gamma = f * shape * shape * shape
        deviation = sqrt(f * q)
        skew = (1.0 + q) / deviation
        normal = f * q + deviation * (z + (z * z - 1.0) * skew / 6.0)
        j = (gamma if p < 0.1 else normal) / p - 0.5 * (f + 1.0)
    j = max(j, 0.0)
    return float(int(j)) if j < _LARGEST_EXACT else min(j, LARGEST)


@kernel
def _between(low: float, high: float) -> float:
    """Return an integer between two integers, by value or, if far apart, by size."""
    if high == math.inf:
        return 4.0 * low + 4.0
    middle = low + 0.5 * (high - low)
    if high > 8.0 * (low + 1.0):
        middle = sqrt(low + 1.0) * sqrt(high)
    return float(int(middle)) if middle < _LARGEST_EXACT else middle


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
        if abs(guess) < _LARGEST_EXACT:
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
