"""Logarithms next to 1 and exponentials next to 0, where the textbook forms cancel.

With s = v/(2+v), log(1+v) = 2 atanh s, and 2s - v = -v s: small v lose nothing.
"""

from __future__ import annotations

from riskcore.compiled.jit import kernel
from riskcore.special.double_double import (
    DoubleDouble,
    atanh_excess,
    dd_add,
    dd_divide,
    dd_log,
    dd_multiply,
)
from riskcore.special.elementary import exp_parts, exprel
from riskcore.special.floats import two_sum

# Between them |v/(2+v)| < 0.172; elsewhere the logarithm of 1 + v is far from 0.
SMALLEST = -0.29
LARGEST = 0.41
_ALL = 2.0**60  # x + 1 rounds to x from here on


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
