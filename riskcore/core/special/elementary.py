"""Logarithm and exponential as sums of two doubles, in IEEE operations alone.

No library is called: the loops vectorize, and the bits do not depend on the machine.
Head and tail carry 57 bits, so that functions built on them lose almost nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.floats import bits, fast_two_sum, fma, from_bits, from_hex

# log 2 in two parts; the first has 11 trailing zero bits, so k * LN2_HIGH is exact
# for every exponent k (fdlibm's split, checked against mpmath in the tests).
LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")
LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")
_TWO_52 = 4503599627370496.0
_TINY = 2.2250738585072014e-308  # the smallest normal double
_SQRT_HALF_BITS = 0x3FE6A09E00000000  # about sqrt(1/2): the mantissa's lower end


# log z = 2s + s^3 t(s^2): t at eight Chebyshev points of s^2 <= 0.0295, made by `python
# -m bench.coefficients`. The remainder is below 2^-60 of log z.
_T0, _T1, _T2, _T3, _T4, _T5, _T6, _T7 = from_hex("""
    0x1.5555555555555p-1 0x1.9999999999a38p-2 0x1.2492492476c87p-2 0x1.c71c720160b47p-3
    0x1.745cf901605f7p-3 0x1.3b1c360763b8ap-3 0x1.0fbe83c2cbcf3p-3 0x1.0c04595972ab8p-3
""")


def polynomial(coefficients: tuple[float, ...]) -> Callable[[float], float]:
    """Make the kernel x -> c_0 + x (c_1 + x (... + x c_n)), without a loop.

    So a loop over it vectorizes.
    """
    c = coefficients[0]
    if len(coefficients) == 1:

        @kernel
        def constant(x: float) -> float:
            return c

        return constant

    further = polynomial(coefficients[1:])

    @kernel
    def horner(x: float) -> float:
        return fma(further(x), x, c)

    return horner


@kernel
def atanh_series(w: float) -> float:
    """Return t with 2 atanh s = 2s + s^3 t, w = s^2 <= 0.0295."""
    # Two terms at a time (Estrin), for the sake of a short chain of operations.
    w2 = w * w
    low_half = fma(w2, fma(w, _T3, _T2), fma(w, _T1, _T0))
    high_half = fma(w2, fma(w, _T7, _T6), fma(w, _T5, _T4))
    return fma(w2 * w2, high_half, low_half)


@kernel
def log_high_low(x: float, scaled_by: float) -> tuple[float, float]:
    """Return log x - scaled_by log 2 as a head and a tail, for a normal x.

    Method: x = 2^k z with z in [sqrt 1/2, sqrt 2), s = (z-1)/(z+1) as a double-double,
    log z = 2s + s^3 t(s^2). The tail is below 2^-6 of the head; relative
    error of the sum below 2^-57.
    """
    pattern = bits(x)
    exponent = (pattern - _SQRT_HALF_BITS) >> 52
    z = from_bits(pattern - (exponent << 52))
    k = float(exponent) - scaled_by
    u = z - 1.0
    d = z + 1.0
    d_low = u - (d - 2.0)
    reciprocal = 1.0 / d
    s = u * reciprocal
    s_low = fma(-s, d_low, fma(-s, d, u)) * reciprocal
    w = s * s
    high, low = fast_two_sum(k * LN2_HIGH, s + s)
    return high, low + fma(k, LN2_LOW, fma(s * w, atanh_series(w), s_low + s_low))


# log c in two parts for c = 3/4 and 5/4, the first a multiple of 2^-42.
_LOG_3_4 = float.fromhex("-0x1.269621134e000p-2")
_LOG_3_4_LOW = float.fromhex("0x1.1b61f10522625p-44")
_LOG_5_4 = float.fromhex("0x1.c8ff7c79aa000p-3")
_LOG_5_4_LOW = float.fromhex("-0x1.7794f689f8434p-45")
# 2 atanh s = 2s + s^3 (2/3 + w t), w = s^2: t at six Chebyshev points of w <= 0.0059
# (`bench.coefficients`). The remainder is below 2^-53 of t. 2/3 has its rounding error.
_TWO_THIRDS_LOW = float.fromhex("0x1.5555555555555p-55")
_P0, _P1, _P2, _P3, _P4, _P5 = from_hex("""
    0x1.999999999999ap-2 0x1.24924924926b8p-2 0x1.c71c71c50ba18p-3
    0x1.745d1d15de7f9p-3 0x1.3b0c4de54996dp-3 0x1.1563274487784p-3
""")
_LOWER_END_BITS = 0x3FE6000000000000  # 11/16
_TO_QUARTERS = 1.5 * 2.0**50  # adding it rounds to a multiple of 1/4


@kernel
def log_pair(x: float) -> tuple[float, float]:
    """Return log x as a head and a tail, for a normal x.

    Method: x = 2^k z with z in [11/16, 11/8), c the nearest of 3/4, 1, 5/4, s =
    (z-c)/(z+c), |s| <= 1/13, log x = k log 2 + log c + 2s + s^3 (2/3 + w t(w)), w =
    s^2, with second words for all but w t. The tail is below 2^-17 of the head; the
    relative error of the sum is below 2^-68 for x < 3/4.
    """
    pattern = bits(x)
    exponent = (pattern - _LOWER_END_BITS) >> 52
    z = from_bits(pattern - (exponent << 52))
    k = float(exponent)
    c = (z + _TO_QUARTERS) - _TO_QUARTERS
    few, many = c < 1.0, c > 1.0
    log_c = _LOG_3_4 if few else (_LOG_5_4 if many else 0.0)
    log_c_low = _LOG_3_4_LOW if few else (_LOG_5_4_LOW if many else 0.0)
    u = z - c
    d = z + c
    d_low = z - (d - c)
    reciprocal = 1.0 / d
    s = u * reciprocal
    s_low = fma(-s, d_low, fma(-s, d, u)) * reciprocal
    s2 = s + s
    w = s * s
    w_low = fma(s2, s_low, fma(s, s, -w))
    t = fma(fma(fma(fma(fma(_P5, w, _P4), w, _P3), w, _P2), w, _P1), w, _P0)
    t = fma(w, t, _TWO_THIRDS_LOW)
    a = s * w
    a_low = fma(s, w_low, fma(s_low, w, fma(s, w, -a)))
    b = a * (2.0 / 3.0)
    b_low = fma(a, 2.0 / 3.0, -b) + fma(a_low, 2.0 / 3.0, a * t)
    # k log 2 + log c is exact in its first parts, and 0 or larger than 2s.
    high, low = fast_two_sum(fma(k, LN2_HIGH, log_c), s2)
    high, rest = fast_two_sum(high, b)
    return high, (low + rest) + (b_low + fma(2.0, s_low, fma(k, LN2_LOW, log_c_low)))


@kernel
def log_parts(x: float) -> tuple[float, float]:
    """Return log x as a double and a correction, for finite x > 0.

    Relative error of the sum below 2^-57.
    """
    subnormal = x < _TINY
    high, low = log_high_low(
        x * (_TWO_52 if subnormal else 1.0), 52.0 if subnormal else 0.0
    )
    return fast_two_sum(high, low)


@kernel
def log(x: float) -> float:
    """Return log x for finite x > 0."""
    high, low = log_parts(x)
    return high + low


@kernel
def log1p_positive(x: float) -> float:
    """Return log(1 + x) for finite x >= 0, within 1 ulp."""
    s = 1.0 + x
    rounding = x - (s - 1.0) if x < 1.0 else 1.0 - (s - x)
    high, low = log_parts(s)
    # log(s + e) = log s + e/s up to e^2/s^2 < 2^-106.
    return high + (low + rounding / s)


@kernel
def exp_parts(high: float, low: float) -> tuple[float, float]:
    """Return exp(high + low), |low| <= ulp(high), as a double and a correction.

    Method: high + low = k log 2 + t, Taylor polynomial of degree 13 in t. Relative
    error of the sum below 2^-54, with gradual under- and overflow: beyond the limits
    below the sum is 0 or infinite. Branchless.
    """
    low = low if (high >= -746.0) & (high <= 710.0) else 0.0
    high = min(max(high, -746.0), 710.0)
    k = float(int(high / LN2_HIGH + (0.5 if high > 0.0 else -0.5)))
    t, t_low = fast_two_sum(fma(-k, LN2_HIGH, high), fma(-k, LN2_LOW, low))
    series = 1.0 / 6227020800.0
    series = fma(series, t, 1.0 / 479001600.0)
    series = fma(series, t, 1.0 / 39916800.0)
    series = fma(series, t, 1.0 / 3628800.0)
    series = fma(series, t, 1.0 / 362880.0)
    series = fma(series, t, 1.0 / 40320.0)
    series = fma(series, t, 1.0 / 5040.0)
    series = fma(series, t, 1.0 / 720.0)
    series = fma(series, t, 1.0 / 120.0)
    series = fma(series, t, 1.0 / 24.0)
    series = fma(series, t, 1.0 / 6.0)
    series = fma(series, t, 0.5)
    rest, rest_low = fast_two_sum(t, fma(series, t * t, t_low))
    mantissa, mantissa_low = fast_two_sum(1.0, rest)
    # Two factors: 2^k alone would not be a normal number at either end.
    half = int(k) >> 1
    first = from_bits((half + 1023) << 52)
    second = from_bits((int(k) - half + 1023) << 52)
    return mantissa * first * second, (mantissa_low + rest_low) * first * second


@kernel
def exp(x: float) -> float:
    """Return exp(x), within 1 ulp."""
    value, correction = exp_parts(x, 0.0)
    return value + correction


@kernel
def exprel(z: float) -> float:
    """Return (1 - exp(-z))/z, for z = 0 its limit 1, within 2 ulp."""
    if abs(z) > 0.5:
        value, correction = exp_parts(-z, 0.0)
        return (1.0 - value - correction) / z
    total = 1.0
    for k in range(17, 1, -1):
        total = 1.0 - z / k * total
    return total
