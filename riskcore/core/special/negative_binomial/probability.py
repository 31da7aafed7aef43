"""The negative binomial distribution: exponents and weights of its probabilities.

F is the number of trials up to and including the f-th success, p the probability of a
success and q = 1 - p:

    P(F = f + j) = Gamma(f+j)/(Gamma(f) j!) p^f q^j,    j = 0, 1, 2, ...,

a distribution for every real f > 0. Functions take (f, j, p); k = f + j is a pair.
Formulas, their derivation and their errors are in notes/posterior.md.
"""

from __future__ import annotations

import math

from riskcore.core.compiled.jit import kernel, shared
from riskcore.core.special.double_double import (
    atanh_excess,
    atanh_excess_rounded,
    dd_add,
    dd_divide,
    dd_log,
    dd_multiply,
    dd_sqrt,
)
from riskcore.core.special.elementary import (
    LN2_HIGH,
    LN2_LOW,
    exp_parts,
    log1p_positive,
    polynomial,
)
from riskcore.core.special.floats import (
    bits,
    fma,
    from_bits,
    table_of,
    two_product,
    two_sum,
)

DoubleDouble = tuple[float, float]

# 1/(2 pi) as a pair.
_INVERSE_TWO_PI = float.fromhex("0x1.45f306dc9c883p-3")
_INVERSE_TWO_PI_LOW = float.fromhex("-0x1.6b01ec5417056p-57")
# log n! - log(sqrt(2 pi n) (n/e)^n) for n = 1, ..., 15, by `bench.coefficients`.
_STIRLING_ERRORS = (
    0.08106146679532726, 0.0413406959554093, 0.02767792568499834, 0.020790672103765093,
    0.016644691189821193, 0.013876128823070748, 0.01189670994589177,
    0.010411265261972096, 0.009255462182712733, 0.00833056343336287,
    0.007573675487951841, 0.006942840107209530, 0.006408994188004207,
    0.0059513701127588475, 0.005554733551962801,
)  # fmt: skip
stirling_of_integer = table_of("stirling_of_integer", (0.0, *_STIRLING_ERRORS))
LARGE = 16.0  # Stirling's series serves from here on
_P_SMALL = 2.0**-900
_SQRT_HALF_BITS = 0x3FE6A09E00000000  # about sqrt(1/2): the mantissa's lower end
_LARGEST_SHIFT = 1000
_TWO_52 = 2.0**52  # adding it rounds to an integer
# Below this f tails are refused: their integrand has two features of very different
# widths, which one rule of integration does not resolve.
SMALLEST_F = 2.0**-6
LARGEST = 2.0**1020  # of k: beyond it sums overflow
LARGEST_EXACT = 2.0**53  # beyond it not every integer is a double


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
def _stirling_branchless(x: float) -> float:
    """Return ``stirling_error`` for x >= 16 or an integer, without a branch."""
    small = stirling_of_integer(int(max(min(x, 15.0), 0.0)))
    large = _stirling_series(max(x, LARGE))
    return large if x >= LARGE else small


@kernel
def stirling_error(x: float) -> DoubleDouble:
    """Return log Gamma(x+1) - log(sqrt(2 pi x) (x/e)^x) for x > 0, to 2^-57 absolute.

    Below 16 integers use a table, and fractions Gamma(x+n) = (x)_n Gamma(x), x+n >= 16.
    """
    if x >= LARGE or float(int(x)) == x:
        return _stirling_branchless(x), 0.0
    steps = 16.0 - float(int(x))
    y, y_low = two_sum(x, steps)
    high, low = dd_multiply(y - 0.5, y_low, *dd_log(y, y_low))
    rising, rising_low = 1.0, 0.0
    for i in range(1, int(steps)):
        term, term_low = two_sum(x, float(i))
        rising, rising_low = dd_multiply(rising, rising_low, term, term_low)
    part, part_low = dd_log(rising, rising_low)
    high, low = dd_add(high, low, -part, -part_low)
    part, part_low = dd_log(x, 0.0)
    half, half_low = two_sum(x, 0.5)
    part, part_low = dd_multiply(part, part_low, half, half_low)
    high, low = dd_add(high, low, -part, -part_low)
    high, low = dd_add(high, low, -steps, 0.0)
    return dd_add(high, low, _stirling_series(y), 0.0)


@kernel
def _deviance_term(
    x: float, x_low: float, m: float, m_low: float, excess: float, excess_low: float
) -> DoubleDouble:
    """Return x log(x/m) - (x - m) >= 0, where ``excess`` is x - m; branchless.

    With M = 2^e m next to x and s = (x - M)/(x + M) it is x e log 2 + (m - M) + (x - M)
    s + 2 x (atanh s - s): nothing cancels, and for e = 0 the first two terms are 0.
    """
    pattern = bits(x / m)
    e = (pattern - _SQRT_HALF_BITS) >> 52
    e = max(min(e, _LARGEST_SHIFT), -_LARGEST_SHIFT)
    near = e == 0
    scale = from_bits((e + 1023) << 52)
    M, M_low = m * scale, m_low * scale
    t, t_low = dd_add(x, x_low, -M, -M_low)
    t = excess if near else t
    t_low = excess_low if near else t_low
    s, s_low = dd_divide(t, t_low, *dd_add(x, x_low, M, M_low))
    high, low = atanh_excess(s, s_low)
    high, low = dd_multiply(high, low, 2.0 * x, 2.0 * x_low)
    part, part_low = dd_multiply(s, s_low, t, t_low)
    high, low = dd_add(part, part_low, high, low)
    k = float(e)
    shift, shift_low = two_product(k, LN2_LOW)
    shift, shift_low = dd_add(k * LN2_HIGH, 0.0, shift, shift_low)
    shift, shift_low = dd_multiply(shift, shift_low, x, x_low)
    part, part_low = dd_add(m, m_low, -M, -M_low)
    shift, shift_low = dd_add(shift, shift_low, part, part_low)
    far, far_low = dd_add(high, low, shift, shift_low)
    return high if near else far, low if near else far_low


@kernel
def mean_excess(f: float, k: float, k_low: float, p: float) -> DoubleDouble:
    """Return f - k p, the successes minus their mean."""
    mean, mean_low = two_product(k, p)
    high, low = two_sum(f, -mean)
    rest, rest_low = two_product(k_low, p)
    high, low = dd_add(high, low, -mean_low, 0.0)
    return dd_add(high, low, -rest, -rest_low)


@kernel
def is_branchless(f: float, p: float) -> bool:
    """Return whether ``branchless_exponent`` serves the cell, for any j > 0."""
    whole = (f >= LARGE) | ((f + _TWO_52) - _TWO_52 == f)
    return whole & (f > 0.0) & (p >= _P_SMALL) & (p < 1.0)


@kernel
def branchless_exponent(f: float, j: float, j_low: float, p: float) -> DoubleDouble:
    """Return ``probability_exponent`` without a branch, where ``is_branchless``."""
    q, q_low = two_sum(1.0, -p)
    k, k_low = dd_add(j, j_low, f, 0.0)
    excess, excess_low = mean_excess(f, k, k_low, p)
    mean, mean_low = dd_multiply(k, k_low, p, 0.0)
    high, low = _deviance_term(f, 0.0, mean, mean_low, excess, excess_low)
    mean, mean_low = dd_multiply(k, k_low, q, q_low)
    other, other_low = _deviance_term(j, j_low, mean, mean_low, -excess, -excess_low)
    high, low = dd_add(high, low, other, other_low)
    part, part_low = two_sum(_stirling_branchless(k), -_stirling_branchless(f))
    part, rest = two_sum(part, -_stirling_branchless(j))
    high, low = dd_add(part, part_low + rest, -high, -low)
    return high, low


@kernel
def probability_exponent(f: float, j: float, j_low: float, p: float) -> DoubleDouble:
    """Return log(P(F = f+j) / sqrt(f/(2 pi k j))) for j > 0 (Loader 2000)."""
    if is_branchless(f, p):
        return branchless_exponent(f, j, j_low, p)
    return _exponent_of_fraction(f, j, j_low, p)


@shared("float64, float64, float64, float64", "float64, float64")
def _exponent_of_fraction(f: float, j: float, j_low: float, p: float) -> DoubleDouble:
    """Return ``probability_exponent`` for fractions f < 16 and for tiny p."""
    q, q_low = two_sum(1.0, -p)
    k, k_low = dd_add(j, j_low, f, 0.0)
    excess, excess_low = mean_excess(f, k, k_low, p)
    failures, failures_low = dd_multiply(k, k_low, q, q_low)
    high, low = _deviance_term(j, j_low, failures, failures_low, -excess, -excess_low)
    if p < _P_SMALL:  # k p would lose bits: f log(f/(k p)) from three logarithms
        other, other_low = dd_log(k, k_low)
        part, part_low = dd_log(p, 0.0)
        other, other_low = dd_add(other, other_low, part, part_low)
        part, part_low = dd_log(f, 0.0)
        other, other_low = dd_add(part, part_low, -other, -other_low)
        other, other_low = dd_multiply(other, other_low, f, 0.0)
        other, other_low = dd_add(other, other_low, -excess, -excess_low)
    else:
        mean, mean_low = dd_multiply(k, k_low, p, 0.0)
        other, other_low = _deviance_term(f, 0.0, mean, mean_low, excess, excess_low)
    high, low = dd_add(high, low, other, other_low)
    part, part_low = stirling_error(f)
    high, low = dd_add(high, low, part, part_low)
    high, low = dd_add(high, low, stirling_error(j)[0], 0.0)
    part, part_low = stirling_error(k)
    high, low = dd_add(part, part_low, -high, -low)
    return high, low


@kernel
def probability_weight(f: float, j: float, e: float, e_low: float) -> float:
    """Return k P(F = k), k = f + j, from its exponential, even where P underflows."""
    k, k_low = two_sum(j, f)
    high, low = dd_divide(k, k_low, j, 0.0)
    high, low = dd_multiply(high, low, _INVERSE_TWO_PI, _INVERSE_TWO_PI_LOW)
    high, low = dd_sqrt(high, low)
    root, root_low = dd_sqrt(f, 0.0)
    a, a_low = dd_multiply(high, low, root, root_low)
    return fma(a, e, fma(a, e_low, a_low * e))


@kernel
def log_of_first(f: float, p: float) -> DoubleDouble:
    """Return log P(F = f) = f log p."""
    high, low = dd_log(p, 0.0)
    return dd_multiply(high, low, f, 0.0)


# --- tails -------------------------------------------------------------------------

# 1/2! - v/3! + v^2/4! - ...
_less_expm1 = polynomial(tuple((-1.0) ** n / math.factorial(n) for n in range(2, 16)))


@kernel
def less_log1p(z: float) -> float:
    """Return z - log(1 + z) for z >= 0; branchless."""
    s = z / (2.0 + z)
    near = fma(z, s, -2.0 * atanh_excess_rounded(s))
    far = z - log1p_positive(z)
    return far if z > 0.4 else near


@kernel
def less_expm1(v: float) -> float:
    """Return v - (1 - exp(-v)) for v >= 0; branchless."""
    value, correction = exp_parts(-v, 0.0)
    far = (v - 1.0) + (value + correction)
    # Taylor's series to v^15: the next term is below 2^-58 of the sum.
    near = v * v * _less_expm1(v)
    return far if v > 0.5 else near
