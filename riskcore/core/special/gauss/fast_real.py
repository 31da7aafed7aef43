"""The individual risk as a pair of doubles with a bound, for real f below 16.

As in ``fast_integer.py``, r = high + low within error, in straight-line IEEE
arithmetic, by two methods (notes/individual_risk.md, sections 3 and 4):

- p small: with f = n + d, |d| <= 1/2, the reflection gives r(1+d) from v^d, v = p/q;
  contiguity leads upwards from there.
- p not small: the fraction of positive terms at f, or f + 1 for f < 1.

Levels of the fraction shrink errors, so only the last levels are pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.balls import PI
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_add_positive,
    dd_multiply_double,
    dd_multiply_positive,
    product_pair,
    quotient_pair,
    sum_pair,
)
from riskcore.core.special.elementary import log_pair
from riskcore.core.special.floats import fast_two_sum, fma, two_product, two_sum
from riskcore.core.special.gauss.enclosure import level, plus
from riskcore.core.special.gauss.rounding_test import BACKWARD, REFLECTED
from riskcore.core.special.near_one import exponentials, series

Triple = tuple[float, float, float]

_TWO_52 = 2.0**52  # adding it rounds to an integer

# (1 - sin(pi d)/(pi d))/d^2 = pi^2/3! - pi^4 d^2/5! + ..., |d| <= 1/2: four terms as
# pairs, eight as doubles. The first omitted is below 2^-74 of the sum.
_SINE = [(-1) ** j * PI ** (2 * j + 2) / math.factorial(2 * j + 3) for j in range(12)]
sine_first = series(_SINE[:4])
_S4, _S5, _S6, _S7, _S8, _S9, _S10, _S11 = map(float, _SINE[4:])


def positive(first: int, last: int) -> Callable[..., DoubleDouble]:
    """Make the kernel of the levels 2 first to 2 last - 1 of the positive fraction.

    X = x/y, X_n = (p b + k X_n+1)/(b + k X_n+1) with k = m + 1, b = f + m for n = 2m
    and b = f + m - 1 for n = 2m - 1.
    """

    @kernel
    def levels(f: float, p: float, x: float, y: float) -> DoubleDouble:
        for m in range(first, last - 1, -1):
            k = m + 1.0
            t, u = (f + m) * y, k * x
            x, y = fma(p, t, u), t + u
            t, u = (f + (m - 1.0)) * y, k * x
            x, y = fma(p, t, u), t + u
        return x, y

    return levels


# The compiler unrolls only short loops.
doubles_38 = positive(19, 12)
doubles_22 = positive(11, 5)
_doubles_20 = positive(10, 3)


def _pairs(first: int) -> Callable[..., tuple[DoubleDouble, DoubleDouble]]:
    """Make the kernel of the last 2*first levels in pairs: X_1 = x/y from a double."""

    @kernel
    def pairs(
        f: DoubleDouble, p: DoubleDouble, x: DoubleDouble, y: DoubleDouble
    ) -> tuple[DoubleDouble, DoubleDouble]:
        b, k = plus(f, first - 1.0), first + 1.0
        x, y = level(k, plus(f, float(first)), p, x, y)
        return level(k, b, p, x, y)

    if first == 1:
        return pairs
    further = _pairs(first - 1)

    @kernel
    def more(
        f: DoubleDouble, p: DoubleDouble, x: DoubleDouble, y: DoubleDouble
    ) -> tuple[DoubleDouble, DoubleDouble]:
        x, y = pairs(f, p, x, y)
        return further(f, p, x, y)

    return more


_pairs_8 = _pairs(4)
_pairs_4 = _pairs(2)


@kernel
def inverse_pair(g: float) -> DoubleDouble:
    """Return 1/g as a pair."""
    inverse = 1.0 / g
    return inverse, fma(-inverse, g, 1.0) * inverse


def _upwards(first: int, last: int) -> Callable[..., DoubleDouble]:
    """Make the kernel from T(d + first) to T(d + n), n <= last.

    T(g + 1) = 1/g - v T(g).
    """

    @kernel
    def steps(
        n: float, d: float, v: float, v_low: float, T: float, T_low: float
    ) -> DoubleDouble:
        for step in range(first, last):
            inverse, inverse_low = inverse_pair(d + step)
            t, t_low = product_pair(v, v_low, T, T_low)
            t, t_low = sum_pair(inverse, inverse_low, -t, -t_low)
            further = n > step
            T = t if further else T
            T_low = t_low if further else T_low
        return T, T_low

    return steps


_to_5 = _upwards(1, 5)
_to_9 = _upwards(5, 9)
_to_13 = _upwards(9, 13)
_to_16 = _upwards(13, 16)


@kernel
def sine_deficit(d: float) -> DoubleDouble:
    """Return (1 - s)/d^2, s = sin(pi d)/(pi d)."""
    w, w_low = two_product(d, d)
    tail = fma(_S11, w, _S10)
    tail = fma(tail, w, _S9)
    tail = fma(tail, w, _S8)
    tail = fma(tail, w, _S7)
    tail = fma(tail, w, _S6)
    tail = fma(tail, w, _S5)
    tail = fma(tail, w, _S4)
    return sine_first((w, w_low), (tail, 0.0))


@kernel
def reflected_fraction(d: float, p: float, q: float, q_low: float) -> DoubleDouble:
    """Return S = p/D(1-d, q) for |d| <= 1/2, p < 0.3, given q = 1 - p as a pair."""
    # S = p e/((q-d) e + p x), E(1-d, q) = x/e
    g, g_low = two_sum(1.0, -d)
    x, y = _doubles_20(g, q, q, 1.0)
    above, below = _pairs_4((g, g_low), (q, q_low), (x / y, 0.0), (1.0, 0.0))
    e, e_low = dd_multiply_positive(g, g_low, *below)
    e, e_low = dd_add_positive(e, e_low, *above)
    h, h_low = two_sum(q, -d)
    h, h_low = dd_multiply_positive(h, h_low + q_low, e, e_low)
    x, x_low = dd_multiply_double(*above, p)
    h, h_low = dd_add_positive(h, h_low, x, x_low)
    e, e_low = dd_multiply_double(e, e_low, p)
    return quotient_pair(e, e_low, h, h_low)


@kernel
def log_of_odds(v: float, v_low: float) -> DoubleDouble:
    """Return the logarithm of a pair."""
    high, low = log_pair(v)
    return high, low + v_low / v


@kernel
def by_reflection(n: float, d: float, p: float) -> Triple:
    """Return r for f = n + d, n an integer up to 16, |d| <= 1/2, and p < 0.3.

    With s = sin(pi d)/(pi d) and S = p/D(1-d, q): d r(d) = v^d/s - d S, and T(1+d) = (1
    - d r(d))/d = ((1 - v^d)/d - (1-s)/d)/s + S, r = v T.
    """
    q, q_low = fast_two_sum(1.0, -p)
    v, v_low = quotient_pair(p, 0.0, q, q_low)
    y, y_low = dd_multiply_double(*log_of_odds(v, v_low), d)
    power, power_low, less, less_low = exponentials(y, y_low)
    c, c_low = dd_multiply_double(*sine_deficit(d), d)
    C, C_low = dd_multiply_double(c, c_low, d)
    s, s_low = sum_pair(1.0, 0.0, -C, -C_low)
    S, S_low = reflected_fraction(d, p, q, q_low)
    T, T_low = quotient_pair(-less, -less_low, d, 0.0)
    T, T_low = dd_add(T, T_low, -c, -c_low)
    T, T_low = quotient_pair(T, T_low, s, s_low)
    T, T_low = dd_add(T, T_low, S, S_low)
    T, T_low = _to_5(n, d, v, v_low, T, T_low)
    T, T_low = _to_9(n, d, v, v_low, T, T_low)
    T, T_low = _to_13(n, d, v, v_low, T, T_low)
    T, T_low = _to_16(n, d, v, v_low, T, T_low)
    r, r_low = product_pair(v, v_low, T, T_low)
    # n = 0
    power, power_low = quotient_pair(power, power_low, s, s_low)
    S, S_low = dd_multiply_double(S, S_low, d)
    R, R_low = dd_add(power, power_low, -S, -S_low)
    R, R_low = quotient_pair(R, R_low, d, 0.0)
    least = n == 0.0
    high, low = fast_two_sum(R if least else r, R_low if least else r_low)
    return high, low, REFLECTED * high


@kernel
def forward_real(f: float, p: float) -> Triple:
    """Return r for f < 16 that is not an integer and p < 0.3."""
    n = (f + _TWO_52) - _TWO_52
    return by_reflection(n, f - n, p)


@kernel
def backward_real(f: float, p: float) -> Triple:
    """Return r for f < 4, p >= 0.3.

    r = p/(f - 1 + w) for f >= 1, r = (p f + w)/(f (f + w)) for f < 1, w = p + q E at f
    or at f + 1.
    """
    below_one = f < 1.0
    q = 1.0 - p
    q_low = (1.0 - q) - p
    g, g_low = two_sum(f, 1.0 if below_one else 0.0)
    x, y = doubles_38(g, p, p, 1.0)
    x, y = doubles_22(g, p, x, y)
    above, below = _pairs_8((g, g_low), (p, 0.0), (x / y, 0.0), (1.0, 0.0))
    # E = above/e; all that follows is multiplied by e.
    e, e_low = dd_multiply_positive(g, g_low, *below)
    e, e_low = dd_add_positive(e, e_low, *above)
    pe, pe_low = dd_multiply_double(e, e_low, p)
    w, w_low = dd_multiply_positive(q, q_low, *above)
    w, w_low = dd_add_positive(pe, pe_low, w, w_low)
    t, t_low = dd_multiply_double(pe, pe_low, f)
    N, N_low = dd_add_positive(w, w_low, t, t_low)
    t, t_low = dd_multiply_double(e, e_low, f if below_one else f - 1.0)
    M, M_low = dd_add_positive(w, w_low, t, t_low)
    t, t_low = dd_multiply_double(M, M_low, f)
    N, N_low = N if below_one else pe, N_low if below_one else pe_low
    M, M_low = t if below_one else M, t_low if below_one else M_low
    high, low = quotient_pair(N, N_low, M, M_low)
    return high, low, BACKWARD * high
