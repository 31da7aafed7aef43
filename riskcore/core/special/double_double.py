"""Double-doubles: numbers as the unevaluated sum of two doubles.

A double-double (high, low) has |low| <= ulp(high)/2 and carries about 106 bits. The
algorithms are from Joldes, Muller and Popescu (2017), "Tight and rigorous error bounds
for basic building blocks of double-word arithmetic"; their relative errors, below
2^-102, hold if no product of low parts underflows.
"""

from __future__ import annotations

import math
from typing import Any

from riskcore.core.compiled.jit import kernel, primitive
from riskcore.core.special.elementary import LN2_HIGH, LN2_LOW
from riskcore.core.special.floats import (
    bits,
    fast_two_sum,
    fma,
    from_bits,
    two_product,
    two_sum,
)

DoubleDouble = tuple[float, float]

# Rounding errors of the doubles 1/3, 1/5, 1/7, 1/9.
_THIRD_LOW = float.fromhex("0x1.5555555555555p-56")
_FIFTH_LOW = float.fromhex("-0x1.999999999999ap-57")
_SEVENTH_LOW = float.fromhex("0x1.2492492492492p-57")
_NINTH_LOW = float.fromhex("0x1.c71c71c71c71cp-58")
_TWO_52 = 4503599627370496.0
_TINY = 2.2250738585072014e-308  # the smallest normal double
_SQRT_HALF_BITS = 0x3FE6A09E00000000  # about sqrt(1/2): the mantissa's lower end


@kernel
def dd_add(a: float, a_low: float, b: float, b_low: float) -> DoubleDouble:
    """Return a + b; the error is relative even where a and b cancel."""
    high, low = two_sum(a, b)
    rest, rest_low = two_sum(a_low, b_low)
    high, low = fast_two_sum(high, low + rest)
    return fast_two_sum(high, low + rest_low)


@kernel
def dd_multiply(a: float, a_low: float, b: float, b_low: float) -> DoubleDouble:
    """Return a * b."""
    high, low = two_product(a, b)
    return fast_two_sum(high, low + fma(a, b_low, fma(a_low, b, a_low * b_low)))


@kernel
def dd_add_positive(a: float, a_low: float, b: float, b_low: float) -> DoubleDouble:
    """Return a + b for a, b of one sign; relative error below 4 UNIT^2."""
    high, low = two_sum(a, b)
    return fast_two_sum(high, low + (a_low + b_low))


@kernel
def dd_multiply_positive(
    a: float, a_low: float, b: float, b_low: float
) -> DoubleDouble:
    """Return a b without the product of the low parts; error below 8 UNIT^2."""
    high, low = two_product(a, b)
    return fast_two_sum(high, low + fma(a, b_low, a_low * b))


@kernel
def dd_multiply_double(a: float, a_low: float, b: float) -> DoubleDouble:
    """Return a b for a double b; relative error below 3 UNIT^2."""
    high, low = two_product(a, b)
    return fast_two_sum(high, fma(a_low, b, low))


@kernel
def product_pair(a: float, a_low: float, b: float, b_low: float) -> DoubleDouble:
    """Return a b as a double and the rest, which may exceed half an ulp."""
    high = a * b
    return high, fma(a, b, -high) + fma(a, b_low, a_low * b)


@kernel
def sum_pair(a: float, a_low: float, b: float, b_low: float) -> DoubleDouble:
    """Return a + b as a double and the rest; |a| >= |b|, or a and b differ in sign."""
    high, low = fast_two_sum(a, b)
    return high, low + (a_low + b_low)


@kernel
def dd_divide(a: float, a_low: float, b: float, b_low: float) -> DoubleDouble:
    """Return a / b."""
    high = a / b
    product, product_low = two_product(b, high)
    low = ((a - product) + (a_low - fma(b_low, high, product_low))) / b
    return fast_two_sum(high, low)


def _emit_sqrt(builder: Any, x: Any) -> Any:
    return builder.call(builder.module.declare_intrinsic("llvm.sqrt", [x.type]), [x])


@primitive("float64(float64)", _emit_sqrt)
def sqrt(x: float) -> float:
    """Return the square root of x >= 0, an operation of IEEE arithmetic."""
    return math.sqrt(x)


@kernel
def dd_sqrt(a: float, a_low: float) -> DoubleDouble:
    """Return the square root of a > 0."""
    high = sqrt(a)
    return fast_two_sum(high, (fma(-high, high, a) + a_low) / (2.0 * high))


@kernel
def _tail(w: float) -> float:
    """Return 1/11 + w/13 + w^2/15 + ... for 0 <= w <= 0.0296.

    The first omitted term of atanh, 1/37, is below 2^-88 of s^3/3; these terms are so
    small that one double each is enough.
    """
    t = fma(w, 1.0 / 35.0, 1.0 / 33.0)
    t = fma(w, t, 1.0 / 31.0)
    t = fma(w, t, 1.0 / 29.0)
    t = fma(w, t, 1.0 / 27.0)
    t = fma(w, t, 1.0 / 25.0)
    t = fma(w, t, 1.0 / 23.0)
    t = fma(w, t, 1.0 / 21.0)
    t = fma(w, t, 1.0 / 19.0)
    t = fma(w, t, 1.0 / 17.0)
    t = fma(w, t, 1.0 / 15.0)
    t = fma(w, t, 1.0 / 13.0)
    return fma(w, t, 1.0 / 11.0)


@kernel
def atanh_excess_rounded(s: float) -> float:
    """Return atanh s - s for |s| < 0.172 as one double, within 2 ulp."""
    w = s * s
    t = fma(w, _tail(w), 1.0 / 9.0)
    t = fma(w, t, 1.0 / 7.0)
    t = fma(w, t, 1.0 / 5.0)
    return s * w * fma(w, t, 1.0 / 3.0)


@kernel
def atanh_excess(s: float, s_low: float) -> DoubleDouble:
    """Return atanh s - s = s^3/3 + s^5/5 + ... for |s| < 0.172, to 2^-75 of itself."""
    w, w_low = dd_multiply(s, s_low, s, s_low)
    high, low = dd_multiply(w, w_low, _tail(w), 0.0)
    high, low = dd_add(1.0 / 9.0, _NINTH_LOW, high, low)
    high, low = dd_multiply(w, w_low, high, low)
    high, low = dd_add(1.0 / 7.0, _SEVENTH_LOW, high, low)
    high, low = dd_multiply(w, w_low, high, low)
    high, low = dd_add(1.0 / 5.0, _FIFTH_LOW, high, low)
    high, low = dd_multiply(w, w_low, high, low)
    high, low = dd_add(1.0 / 3.0, _THIRD_LOW, high, low)
    high, low = dd_multiply(w, w_low, high, low)
    return dd_multiply(s, s_low, high, low)


@kernel
def dd_log(x: float, x_low: float) -> DoubleDouble:
    """Return log x for finite x > 0, to 2^-80 of itself.

    Method: x = 2^k z with z in [sqrt 1/2, sqrt 2) and log z = 2 atanh((z-1)/(z+1)).
    """
    subnormal = x < _TINY
    scaled = x * (_TWO_52 if subnormal else 1.0)
    pattern = bits(scaled)
    exponent = (pattern - _SQRT_HALF_BITS) >> 52
    z = from_bits(pattern - (exponent << 52))
    z_low = z * (x_low / x)
    k = float(exponent) - (52.0 if subnormal else 0.0)
    above, above_low = two_sum(z - 1.0, z_low)
    below, below_low = dd_add(1.0, 0.0, z, z_low)
    s, s_low = dd_divide(above, above_low, below, below_low)
    rest, rest_low = atanh_excess(s, s_low)
    high, low = dd_add(2.0 * s, 2.0 * s_low, 2.0 * rest, 2.0 * rest_low)
    shift, shift_low = two_product(k, LN2_LOW)
    high, low = dd_add(shift, shift_low, high, low)
    return dd_add(k * LN2_HIGH, 0.0, high, low)


@kernel
def _division(
    a: float, a_low: float, b: float, b_low: float
) -> tuple[float, float, float]:
    """Return r = a/b, the rest a + a_low - r (b + b_low), and 1/b."""
    reciprocal = 1.0 / b
    r = a * reciprocal
    return r, fma(-r, b_low, fma(-r, b, a) + a_low), reciprocal


@kernel
def quotient_pair(a: float, a_low: float, b: float, b_low: float) -> DoubleDouble:
    """Return (a + a_low)/(b + b_low) as a double and the rest, by one division."""
    r, rest, reciprocal = _division(a, a_low, b, b_low)
    return r, rest * reciprocal


@kernel
def quotient(a: float, a_low: float, b: float, b_low: float) -> float:
    """Return (a + a_low)/(b + b_low), rounded little more than once."""
    r, rest, reciprocal = _division(a, a_low, b, b_low)
    return fma(rest, reciprocal, r)
