"""Double-double balls: arithmetic that carries a proven bound of its own error.

A ball (high, low, radius) stands for all reals within ``radius`` of high + low, where
|low| is at most half an ulp of high. An operation returns a ball that contains every
exact result for members of its operands. Midpoints follow the double-word algorithms of
Joldes, Muller and Popescu (2017, ACM Trans. Math. Softw. 44(2), 15). Radii are not
their worst cases but sum the actual rounding errors, or half an ulp of each rounded
number. So the radius falls with the low part, and even a risk next to a double is told
apart from it (notes/correct_rounding.md, sections 8 to 10).

Underflow widens the radius. After an overflow a ball has a number that is not finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.double_double import DoubleDouble
from riskcore.core.special.floats import (
    bits,
    fma,
    from_bits,
    two_product,
    two_sum,
)

Ball = tuple[float, float, float]

UNIT = 2.0**-53  # half an ulp of 1: the relative error of one rounding
# More than the roundings of one operation lose by underflow, 2^-1075 each.
UNDERFLOW = 2.0**-1060
# Makes the radius an upper bound, in spite of its own roundings.
OUTWARD = 1.0 + 2.0**-48
# No divisor is smaller.
_SMALLEST = 2.0**-1020
# The largest relative radius of an argument of the logarithm.
_NARROW = 2.0**-50
# The largest radius of an argument of the exponential.
_SHORT = 2.0**-10
# Relative error of the end of a series in doubles.
TAIL = 2.0**-49


# --- arithmetic ----------------------------------------------------------------------


@kernel
def add(a: Ball, b: Ball) -> Ball:
    """Return a ball that contains x + y for all x in a, y in b."""
    a_high, a_low, a_radius = a
    b_high, b_low, b_radius = b
    s, s_low = two_sum(a_high, b_high)
    t, t_low = two_sum(a_low, b_low)
    c, c_lost = two_sum(s_low, t)
    v, v_low = two_sum(s, c)
    w, w_lost = two_sum(t_low, v_low)
    high, low = two_sum(v, w)
    return high, low, OUTWARD * (a_radius + b_radius + abs(c_lost) + abs(w_lost))


@kernel
def add_double(a: Ball, b: float) -> Ball:
    """Return a ball that contains x + b for all x in a."""
    a_high, a_low, a_radius = a
    s, s_low = two_sum(a_high, b)
    c, c_lost = two_sum(s_low, a_low)
    high, low = two_sum(s, c)
    return high, low, OUTWARD * (a_radius + abs(c_lost))


@kernel
def negate(a: Ball) -> Ball:
    """Return the ball of all -x."""
    high, low, radius = a
    return -high, -low, radius


@kernel
def subtract(a: Ball, b: Ball) -> Ball:
    """Return a ball that contains x - y for all x in a, y in b."""
    return add(a, negate(b))


@kernel
def multiply(a: Ball, b: Ball) -> Ball:
    """Return a ball that contains x y for all x in a, y in b."""
    a_high, a_low, a_radius = a
    b_high, b_low, b_radius = b
    product, rest = two_product(a_high, b_high)
    t = a_low * b_high
    m = fma(a_high, b_low, t)
    c = rest + m
    high, low = two_sum(product, c)
    spread = (abs(a_high) + abs(a_low)) * b_radius
    spread += (abs(b_high) + abs(b_low) + b_radius) * a_radius
    lost = UNIT * (abs(t) + abs(m) + abs(c)) + abs(a_low * b_low)
    return high, low, OUTWARD * (spread + lost + UNDERFLOW)


@kernel
def multiply_double(a: Ball, b: float) -> Ball:
    """Return a ball that contains x b for all x in a."""
    a_high, a_low, a_radius = a
    product, rest = two_product(a_high, b)
    c = fma(a_low, b, rest)
    high, low = two_sum(product, c)
    radius = OUTWARD * (abs(b) * a_radius + UNIT * abs(c) + UNDERFLOW)
    return high, low, radius


@kernel
def shift(a: Ball, power: float) -> Ball:
    """Return a ball that contains x 2^k for all x in a; ``power`` is 2^k."""
    a_high, a_low, a_radius = a
    high, low = two_sum(a_high * power, a_low * power)  # inexact among the subnormals
    return high, low, OUTWARD * (a_radius * power + UNDERFLOW)


@kernel
def divide(a: Ball, b: Ball) -> Ball:
    """Return a ball that contains x/y for all x in a, y in b.

    The radius is infinite if that of b is above a quarter of b, or b below 2^-1020.
    """
    a_high, a_low, a_radius = a
    b_high, b_low, b_radius = b
    z = a_high / b_high
    # With m = b_high + b_low: x/y - z = (x - z y)/y, and y is at least |m| - b_radius.
    rest = fma(-z, b_high, a_high)
    product, product_low = two_product(z, b_low)
    c, c_lost = two_sum(rest, -product)
    d, d_lost = two_sum(c, a_low)
    numerator, lost = two_sum(d, -product_low)
    z_low = numerator / b_high
    further = fma(-z_low, b_high, numerator)
    left = fma(-z_low, b_low, further)
    z_last = left / b_high
    high, middle = two_sum(z, z_low)
    low, low_lost = two_sum(middle, z_last)
    high, low = two_sum(high, low)
    least = abs(b_high) * (1.0 - 4.0 * UNIT) - b_radius
    # |x/y| is at most |z| (1 + 3 u), apart from a_radius.
    spread = a_radius + abs(z) * (1.0 + 4.0 * UNIT) * b_radius
    spread += abs(c_lost) + abs(d_lost) + abs(lost)
    spread += UNIT * (abs(further) + abs(left)) + UNDERFLOW
    radius = spread / least + abs(low_lost) + 3.0 * UNIT * abs(z_last)
    narrow = 4.0 * b_radius + _SMALLEST <= abs(b_high)
    return high, low, OUTWARD * (radius + UNDERFLOW) if narrow else math.inf


@kernel
def reciprocal(b: float) -> Ball:
    """Return a ball that contains 1/b; its radius is infinite for b = 0."""
    z = 1.0 / b
    z_low = fma(-z, b, 1.0) / b
    high, low = two_sum(z, z_low)
    return high, low, OUTWARD * (3.0 * UNIT * abs(z_low) + UNDERFLOW)


# --- constants and polynomials -------------------------------------------------------


def dd_constant(x: Fraction) -> DoubleDouble:
    """Return a number as the sum of two doubles, to a relative UNIT^2."""
    high = float(x)
    return high, float(x - Fraction(high))


def polynomial(coefficients: list[Fraction]) -> Callable[[Ball, Ball], Ball]:
    """Make the kernel (w, t) -> c_0 + w (c_1 + w (... + w (c_n + w t)))."""
    if not coefficients:
        return _rest
    *first, last = coefficients
    high, low = dd_constant(last)
    radius = abs(high) * (1.1 * UNIT * UNIT)
    further = polynomial(first)

    @kernel
    def horner(w: Ball, t: Ball) -> Ball:
        return further(w, add(multiply(w, t), (high, low, radius)))

    return horner


@kernel
def _rest(w: Ball, t: Ball) -> Ball:
    return t


def tail(coefficients: list[Fraction]) -> Callable[[Ball], Ball]:
    """Make the kernel of c_0 + c_1 w + ... in doubles, for the end of a series.

    Each term must be below an eighth of the one before, and the omitted terms below
    2^-50 of the first: TAIL covers them and the roundings. So the slope, by which the
    radius counts, is below 1 + 2/8 + 3/64 + ... = 64/49 times the first.
    """
    numbers = tuple(float(c) for c in reversed(coefficients))
    slope = 1.4 * abs(float(coefficients[1]))

    @kernel
    def horner(w: Ball) -> Ball:
        x = w[0]
        total = 0.0
        for number in numbers:
            total = fma(total, x, number)
        return total, 0.0, OUTWARD * (TAIL * abs(total) + slope * w[2])

    return horner


# --- elementary functions ------------------------------------------------------------

LN2 = Fraction("0.69314718055994530941723212145817656807550013436025525412068001")
PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459")
_SQRT_HALF_BITS = 0x3FE6A09E00000000  # about sqrt(1/2): the mantissa's lower end


def _short(x: Fraction) -> float:
    """Return x to 42 bits, so that its product with an exponent is exact."""
    _, exponent = math.frexp(float(x))
    unit = Fraction(2) ** (exponent - 42)
    return float(round(x / unit) * unit)


LN2_HIGH = _short(LN2)
LN2_MIDDLE = _short(LN2 - Fraction(LN2_HIGH))
LN2_LOW = float(LN2 - Fraction(LN2_HIGH) - Fraction(LN2_MIDDLE))


@kernel
def ln2_times(k: float) -> Ball:
    """Return a ball that contains k log 2, for an integer |k| <= 2^11."""
    high, low = two_sum(k * LN2_HIGH, k * LN2_MIDDLE)
    # The third part is below 2^-84; it and its product are rounded.
    return add((high, low, 0.0), (k * LN2_LOW, 0.0, abs(k) * 2.0**-135))


# log z = 2s (1 + w/3 + w^2/5 + ...), s = (z-1)/(z+1), w = s^2 <= 0.0295: ten terms
# as double-doubles, ten as doubles; the omitted terms are below 2^-110 of the first.
log_first = polynomial([Fraction(1, 2 * j + 3) for j in range(10)])
log_last = tail([Fraction(1, 2 * j + 3) for j in range(10, 20)])


@kernel
def log(a: Ball, exponent: float) -> Ball:
    """Return a ball that contains log(x 2^exponent) for all x in a.

    For 2^-1000 <= x <= 2^1000. The relative radius is some 2^-103, unless the logarithm
    is near 0; it is infinite or nan if that of x is above 2^-50, for then the series'
    argument may be too large.
    """
    high, low, radius = a
    radius = radius if radius <= _NARROW * high else math.inf
    k = (bits(high) - _SQRT_HALF_BITS) >> 52
    z = shift((high, low, radius), from_bits((1023 - k) << 52))
    s = divide(add_double(z, -1.0), add_double(z, 1.0))
    w = multiply(s, s)
    series = multiply(w, log_first(w, log_last(w)))
    s = multiply_double(s, 2.0)
    of_z = add(s, multiply(s, series))
    return add(ln2_times(float(k) + exponent), of_z)


# exp t - 1 = t (1 + t/2 + ...), |t| <= 0.36: to t^13 as double-doubles, to t^23 as
# doubles.
exp_first = polynomial([Fraction(1, math.factorial(j)) for j in range(1, 14)])
exp_last = tail([Fraction(1, math.factorial(j)) for j in range(14, 24)])


@kernel
def scaled_exp(a: Ball) -> tuple[float, Ball]:
    """Return (2^k, m) with 2^k (1 + m) around exp x for all x in a, |x| <= 600.

    The radius of m is relative to m, and k = 0 where |x| < 0.34. It is infinite or nan
    if that of x is above 2^-10.
    """
    high, low, radius = a
    radius = radius if radius <= _SHORT else math.inf
    k = int(high / LN2_HIGH + (0.5 if high > 0.0 else -0.5))
    t = subtract((high, low, radius), ln2_times(float(k)))
    return from_bits((k + 1023) << 52), multiply(t, exp_first(t, exp_last(t)))


@kernel
def exp(power: float, m: Ball) -> Ball:
    """Return a ball around the exponential with the given parts."""
    return shift(add_double(m, 1.0), power)


@kernel
def expm1(power: float, m: Ball) -> Ball:
    """Return a ball around the exponential with the given parts, minus 1."""
    above, above_low = two_sum(power, -1.0)
    return add((above, above_low, 0.0), shift(m, power))


# 1 - sin(pi e)/(pi e) = e^2 (pi^2/3! - pi^4 e^2/5! + ...), |e| <= 0.51: ten terms as
# double-doubles, eight as doubles.
_SINE = [(-1) ** j * PI ** (2 * j + 2) / math.factorial(2 * j + 3) for j in range(18)]
sine_first = polynomial(_SINE[:10])
sine_last = tail(_SINE[10:])


@kernel
def sine_excess(e: float) -> Ball:
    """Return a ball that contains pi e/sin(pi e) - 1, for |e| <= 0.51."""
    square, square_low = two_product(e, e)
    w = (square, square_low, UNDERFLOW)
    deficit = multiply(w, sine_first(w, sine_last(w)))
    return divide(deficit, add_double(negate(deficit), 1.0))
