"""Logarithms next to 1 and exponentials next to 0, where the usual forms cancel.

With s = v/(2+v), log(1+v) = 2 atanh s, and 2s - v = -v s: small v lose nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.balls import dd_constant
from riskcore.core.special.double_double import (
    DoubleDouble,
    atanh_excess,
    dd_add,
    dd_divide,
    dd_log,
    dd_multiply,
    dd_multiply_positive,
)
from riskcore.core.special.elementary import LN2_HIGH, LN2_LOW, exp_parts, exprel
from riskcore.core.special.floats import (
    fast_two_sum,
    fma,
    from_bits,
    two_product,
    two_sum,
)

# Between them |v/(2+v)| < 0.172; elsewhere the logarithm of 1 + v is far from 0.
SMALLEST = -0.29
LARGEST = 0.41
_ALL = 2.0**60  # x + 1 rounds to x from here on
_LOWEST = -80.0  # exp(x) is below 2^-115
_INVERSE_LN2 = 1.0 / LN2_HIGH
_SIXTH, _SIXTH_LOW = dd_constant(Fraction(1, 6))


def series(
    coefficients: list[Fraction],
) -> Callable[[DoubleDouble, DoubleDouble], DoubleDouble]:
    """Make the kernel (t, s) -> c_0 + t (c_1 + ... + t (c_n + t s)), in pairs.

    No sum may exceed its first summand: the terms must fall.
    """
    *before, last = coefficients
    high, low = dd_constant(last)
    further = series(before) if before else None

    @kernel
    def end(t: DoubleDouble, s: DoubleDouble) -> DoubleDouble:
        product, product_low = dd_multiply_positive(*s, *t)
        total, rest = fast_two_sum(high, product)
        return total, rest + (product_low + low)

    if further is None:
        return end

    @kernel
    def horner(t: DoubleDouble, s: DoubleDouble) -> DoubleDouble:
        return further(t, end(t, s))

    return horner


exp_first = series([Fraction(1, math.factorial(k)) for k in range(2, 8)])


@kernel
def dd_log1p(v: float, v_low: float) -> DoubleDouble:
    """Return log(1 + v) for v > -1, to 2^-75 of itself.

    Near v = -1 the argument should be exact: 1 + v keeps its absolute error.
    """
    if SMALLEST < v < LARGEST:
        s, s_low = dd_divide(v, v_low, *dd_add(2.0, 0.0, v, v_low))
        rest, rest_low = atanh_excess(s, s_low)
        return dd_add(2.0 * s, 2.0 * s_low, 2.0 * rest, 2.0 * rest_low)
    return dd_log(*dd_add(1.0, 0.0, v, v_low))


@kernel
def dd_log1pmx(v: float, v_low: float) -> DoubleDouble:
    """Return log(1 + v) - v for v > -1, to 2^-70 of itself."""
    if SMALLEST < v < LARGEST:
        s, s_low = dd_divide(v, v_low, *dd_add(2.0, 0.0, v, v_low))
        rest, rest_low = atanh_excess(s, s_low)
        s, s_low = dd_multiply(-v, -v_low, s, s_low)
        return dd_add(s, s_low, 2.0 * rest, 2.0 * rest_low)
    high, low = dd_log(*dd_add(1.0, 0.0, v, v_low))
    return dd_add(high, low, -v, -v_low)


@kernel
def log1p(x: float) -> float:
    """Return log(1 + x) for x > -1: a double-double, rounded once."""
    high, low = dd_log1p(x, 0.0)
    return high + low


@kernel
def log1pmx(x: float) -> float:
    """Return log(1 + x) - x for x > -1."""
    high, low = dd_log1pmx(x, 0.0)
    return high + low


@kernel
def expm1(x: float) -> float:
    """Return exp(x) - 1, within 2 ulp."""
    if abs(x) <= 0.5:
        return x * exprel(-x)
    value, correction = exp_parts(x, 0.0)
    if value > _ALL:
        return value + correction
    high, low = two_sum(value, -1.0)
    return high + (low + correction)


@kernel
def exponentials(x: float, x_low: float) -> tuple[float, float, float, float]:
    """Return exp(x) and exp(x) - 1 for -690 <= x <= 709, to 2^-70 of themselves.

    Method: x = k log 2 + t, |t| <= 0.35, Taylor's polynomial of degree 18 in t, six
    terms as pairs. Branchless, so that a loop over it vectorizes.
    """
    k = float(int(x * _INVERSE_LN2 + (0.5 if x > 0.0 else -0.5)))
    shift, shift_low = two_product(k, LN2_LOW)
    t, t_low = two_sum(fma(-k, LN2_HIGH, x), -shift)
    t, t_low = fast_two_sum(t, t_low + (x_low - shift_low))
    tail = 1.0 / 6402373705728000.0
    tail = fma(tail, t, 1.0 / 355687428096000.0)
    tail = fma(tail, t, 1.0 / 20922789888000.0)
    tail = fma(tail, t, 1.0 / 1307674368000.0)
    tail = fma(tail, t, 1.0 / 87178291200.0)
    tail = fma(tail, t, 1.0 / 6227020800.0)
    tail = fma(tail, t, 1.0 / 479001600.0)
    tail = fma(tail, t, 1.0 / 39916800.0)
    tail = fma(tail, t, 1.0 / 3628800.0)
    tail = fma(tail, t, 1.0 / 362880.0)
    tail = fma(tail, t, 1.0 / 40320.0)
    pair = (t, t_low)
    high, low = dd_multiply_positive(*exp_first(pair, (tail, 0.0)), *pair)
    high, low = dd_multiply_positive(high, low, *pair)
    high, rest = fast_two_sum(t, high)
    high, low = fast_two_sum(high, low + (rest + t_low))
    power = from_bits((int(k) + 1023) << 52)
    less, less_low = two_sum(power, -1.0)
    less, less_low = dd_add(less, less_low, high * power, low * power)
    high, rest = fast_two_sum(1.0, high)
    return high * power, (rest + low) * power, less, less_low


@kernel
def dd_expm1(x: float, x_low: float) -> DoubleDouble:
    """Return exp(x) - 1 for x <= 709, to 2^-70 of itself; -1 below -80."""
    x_low = x_low if x > _LOWEST else 0.0
    _, _, high, low = exponentials(max(x, _LOWEST), x_low)
    return high, low


@kernel
def expm1_pair(x: float, x_low: float) -> DoubleDouble:
    """Return exp(x) - 1 for x <= 709, to 2^-60, in half the time of ``dd_expm1``.

    Method: x = k log 2 + t, |t| <= 0.35, Taylor's polynomial of degree 15 in t, three
    terms as pairs; below -80 the value is -1 to 2^-115. Branchless.
    """
    x_low = x_low if x > _LOWEST else 0.0
    x = max(x, _LOWEST)
    k = float(int(x * _INVERSE_LN2 + (0.5 if x > 0.0 else -0.5)))
    t, t_low = fast_two_sum(fma(-k, LN2_HIGH, x), fma(-k, LN2_LOW, x_low))
    series = 1.0 / 1307674368000.0
    series = fma(series, t, 1.0 / 87178291200.0)
    series = fma(series, t, 1.0 / 6227020800.0)
    series = fma(series, t, 1.0 / 479001600.0)
    series = fma(series, t, 1.0 / 39916800.0)
    series = fma(series, t, 1.0 / 3628800.0)
    series = fma(series, t, 1.0 / 362880.0)
    series = fma(series, t, 1.0 / 40320.0)
    series = fma(series, t, 1.0 / 5040.0)
    series = fma(series, t, 1.0 / 720.0)
    series = fma(series, t, 1.0 / 120.0)
    series = fma(series, t, 1.0 / 24.0)
    high, low = fast_two_sum(_SIXTH, series * t)
    high, low = dd_multiply_positive(high, low + _SIXTH_LOW, t, t_low)
    high, rest = fast_two_sum(0.5, high)
    square, square_low = two_product(t, t)
    square_low = fma(2.0 * t, t_low, square_low)
    high, low = dd_multiply_positive(high, low + rest, square, square_low)
    high, rest = fast_two_sum(t, high)
    high, low = fast_two_sum(high, low + (rest + t_low))
    power = from_bits((int(k) + 1023) << 52)
    above, above_low = two_sum(power, -1.0)
    return dd_add(above, above_low, high * power, low * power)
