"""The spread of 1/F where F is negative binomial: its variance, without cancellation.

With r = E[1/F], p(t) = p/(p + q t) and C = (p/r) dr/dp,

    Var(1/F) = int_0^1 t^(f-1) [r^2 C (1 - p)] at p(t) dt,

an integral of positive terms, by a double-exponential rule; or, for f = 1, ..., 7 and
small p, E[1/F^2] - r^2 from the dilogarithm in pairs (notes/posterior.md, section 4).
"""

from __future__ import annotations

import math
from fractions import Fraction

from riskcore.compiled.jit import kernel
from riskcore.special.double_double import (
    dd_add,
    dd_divide,
    dd_log,
    dd_multiply,
    sqrt,
)
from riskcore.special.elementary import exp_parts, log_high_low
from riskcore.special.floats import fma, two_product, two_sum
from riskcore.special.gauss.enclosure import P_LEVELS, risk_ball, scaled, scaling
from riskcore.special.gauss.regions import (
    FORWARD_15,
    LEVELS_15,
    LEVELS_29,
    ONE,
    SMALL,
    quotient,
    region,
    resolvent_15,
    resolvent_29,
    resolvent_forward_15,
    resolvent_one,
    resolvent_small,
)
from riskcore.special.gauss.remaining import gauss_excess
from riskcore.special.quadrature import (
    HALF_LINE_NODES,
    INTERVAL_NODES,
    half_line_node,
    half_line_weight,
    interval_node,
    interval_weight,
)

DoubleDouble = tuple[float, float]

# Where one rule serves. Elsewhere the integrand of the variance has two features of
# very different widths.
_ONE_RULE_F = 8.0
_ONE_RULE_P = 0.1
_FORGOTTEN = 45.0  # exp(-45) is below 2^-64
# For f > 2, r/p and C have reached their limits p -> 0 and f -> inf here.
_P_LIMIT = 2.0**-300
_F_LIMIT = 2.0**60

_ZETA_TWO = float.fromhex("0x1.a51a6625307d3p+0")  # pi^2/6
_ZETA_TWO_LOW = float.fromhex("0x1.1873d8912200cp-55")


@kernel
def _resolvent(f: float, p: float) -> tuple[float, float, float]:
    """Return (D, D_low, E) with r = p/D, for p >= 2^-960; nan in the region OTHER."""
    where = region(f, p)
    if where == ONE:
        high, low = log_high_low(p, 0.0)
        return resolvent_one(p, high, low)
    if where == SMALL:
        high, low = log_high_low(p, 0.0)
        return resolvent_small(f, p, high, low)
    if where == FORWARD_15:
        return resolvent_forward_15(f, p)
    if where == LEVELS_29:
        return resolvent_29(f, p)
    if where == LEVELS_15:
        return resolvent_15(f, p)
    return math.nan, math.nan, math.nan


@kernel
def risk_and_condition(f: float, p: float) -> DoubleDouble:
    """Return r = E[1/F] and C = (p/r) dr/dp for f > 0 and 0 < p <= 1."""
    D, D_low, E = _resolvent(f, p)
    if D > 0.0:
        return quotient(p, 0.0, D, D_low), 1.0 - E
    (ball, ball_low, _), n = risk_ball(f, p)  # inlined: what f alone gives is hoisted
    r = scaled(ball, -n)
    if p >= P_LEVELS:
        return r, gauss_excess(f, p) * (p / r)
    # C = (f - D)/q, which cancels for large f: so D = p/r is a double-double.
    k = scaling(p)
    D, D_low = dd_divide(
        scaled(p, k), 0.0, scaled(ball, k - n), scaled(ball_low, k - n)
    )
    high, low = dd_add(f, 0.0, -D, -D_low)
    return r, (high + low) / (1.0 - p)


# --- the nodes of the integral -----------------------------------------------------

# Pieces of the integral. Each node gives (p(t), a, b): it counts (a r)^2 C b.
_WHOLE = 0  # t = exp(-v), v > 0, by one rule; times f^2 (f - 2 or f + 1)/p^2
_BELOW = 1  # p(t) < 1/2; times (q/p)^f, for f > 2 (q/p)^2
_BEYOND = 2  # p(t) > 1/2; the same
_END = 3

Node = tuple[float, float, float]


@kernel
def _pace(f: float) -> float:
    # As p -> 0 the integrand of the whole falls like exp(-(f-2) v).
    return f - 2.0 if f >= _ONE_RULE_F else f + 1.0


@kernel
def _whole(f: float, p: float, i: int) -> Node:
    """Return a node of the whole, for f >= 8 or p >= 0.1."""
    pace, x = _pace(f), half_line_node(i)
    fall, fall_low = exp_parts(-x / pace, 0.0)
    odds = (1.0 - p) * (fall + fall_low)
    growth = 1.0 / (p + odds)
    fall, fall_low = exp_parts(-(f / pace) * x, 0.0)
    at = min(p * growth, 1.0)
    if f > 2.0:  # r/p at the limit
        at = max(at, _P_LIMIT)
    part = (fall + fall_low) * (odds * growth)
    return at, min(f, _F_LIMIT) / at * growth, half_line_weight(i) * part


@kernel
def _beyond(f: float, high: float, i: int) -> Node:
    """Return a node past v = high = log(q/p), where p(t) = 1/2."""
    x = half_line_node(i) / (f + 1.0)
    fall, fall_low = exp_parts(-x, 0.0)
    odds = fall + fall_low
    fall, fall_low = exp_parts(-f * x - max(f - 2.0, 0.0) * high, 0.0)
    part = (fall + fall_low) * (odds / (1.0 + odds))
    return 1.0 / (1.0 + odds), 1.0, half_line_weight(i) / (f + 1.0) * part


@kernel
def _length(f: float, high: float) -> float:
    """Return the length of the piece below that counts."""
    if f == 2.0:
        return high
    return min(high, _FORGOTTEN / (f - 2.0 if f > 2.0 else min(f, 2.0 - f)))


@kernel
def _below(f: float, high: float, i: int) -> Node:
    """Return a node before v = high = log(q/p), where p(t) = 1/(1 + exp(w))."""
    near = i < INTERVAL_NODES  # the others mirror all but the first
    m = i if near else i - INTERVAL_NODES + 1
    length = _length(f, high)
    x = length * interval_node(m)
    x = x if near else length - x
    w = high - x if f > 2.0 else x  # x is from the end where the integrand is large
    fall, fall_low = exp_parts(-w, 0.0)
    odds = fall + fall_low
    q = 1.0 / (1.0 + odds)
    weight = length * interval_weight(m) * q
    if f > 2.0:  # exp(w) p = q
        fall, fall_low = exp_parts(-(f - 2.0) * x, 0.0)
        at = max(odds * q, _P_LIMIT)
        return at, q / at, (fall + fall_low) * weight
    half, half_low = two_product(0.5 * f, w)
    rise, rise_low = exp_parts(half, half_low)
    return odds * q, rise + rise_low, weight


@kernel
def _nodes(piece: int) -> int:
    return 2 * INTERVAL_NODES - 1 if piece == _BELOW else HALF_LINE_NODES


@kernel
def _integral(f: float, p: float, high: float, first: int, last: int) -> DoubleDouble:
    """Return the sum of the pieces from ``first`` to before ``last``, and r at p.

    Everything goes through one call of ``risk_and_condition``, which is large.
    """
    total, low, r = 0.0, 0.0, 0.0
    for piece in range(first, last + 1):
        count = 1 if piece == last else _nodes(piece)
        for i in range(count):
            if piece == last:
                at, a, b = p, 1.0, 0.0
            elif piece == _WHOLE:
                at, a, b = _whole(f, p, i)
            elif piece == _BELOW:
                at, a, b = _below(f, high, i)
            else:
                at, a, b = _beyond(f, high, i)
            r, C = risk_and_condition(f if piece == last else min(f, _F_LIMIT), at)
            a *= r
            total, rest = two_sum(total, b * C * (a * a))
            low += rest
    return total + low, r


# --- integer f and small p -----------------------------------------------------------


# 1/n^2 for n = 8, ..., 1: doubles, and what they lost.
_SQUARES = tuple(Fraction(1, n * n) for n in range(8, 0, -1))
_INVERSE_SQUARES = tuple(
    (float(square), float(square - Fraction(float(square)))) for square in _SQUARES
)


@kernel
def _dilogarithm(p: float) -> tuple[float, float]:
    """Return Li2(p) = p + p^2/4 + p^3/9 + ... as a pair, for p < 0.1, to 2^-75."""
    high = 0.0
    for n in range(22, 8, -1):
        high = fma(p, high, 1.0 / (n * n))
    low = 0.0
    for square, square_low in _INVERSE_SQUARES:
        high, low = dd_multiply(high, low, p, 0.0)
        high, low = dd_add(square, square_low, high, low)
    return dd_multiply(high, low, p, 0.0)


@kernel
def _by_steps(f: float, p: float) -> tuple[float, float]:
    """Return (b, I) with Var(1/F) = b^2 I, for integer f < 8 and p < 0.1.

    From E[1/F^2] = v Li2(q) and E[1/F] = v L at f = 1, v = p/q, L = -log p, upwards by
    contiguity, in pairs because the last difference cancels.
    """
    q, q_low = two_sum(1.0, -p)
    v, v_low = dd_divide(p, 0.0, q, q_low)
    L, L_low = dd_log(p, 0.0)
    product, product_low = dd_log(q, q_low)
    product, product_low = dd_multiply(product, product_low, L, L_low)
    series, series_low = _dilogarithm(p)
    series, series_low = dd_add(product, product_low, series, series_low)
    series, series_low = dd_add(_ZETA_TWO, _ZETA_TWO_LOW, -series, -series_low)
    first, first_low = dd_multiply(v, v_low, -L, -L_low)
    if f == 1.0:
        square, square_low = dd_multiply(first, first_low, -L, -L_low)
        return sqrt(v), dd_add(series, series_low, -square, -square_low)[0]
    # For f >= 2 both moments over v and v^2.
    second, second_low = dd_add(-L, -L_low, -series, -series_low)
    first, first_low = dd_add(1.0, 0.0, -first, -first_low)
    for g in range(2, int(f)):
        part, part_low = dd_multiply(v, v_low, second, second_low)
        second, second_low = dd_divide(first, first_low, float(g), 0.0)
        second, second_low = dd_add(second, second_low, -part, -part_low)
        part, part_low = dd_multiply(v, v_low, first, first_low)
        first, first_low = dd_divide(1.0, 0.0, float(g), 0.0)
        first, first_low = dd_add(first, first_low, -part, -part_low)
    square, square_low = dd_multiply(first, first_low, first, first_low)
    return v, dd_add(second, second_low, -square, -square_low)[0]


@kernel
def _odds_power(p: float, exponent: float) -> float:
    """Return (p/q)^exponent for p < 1/2."""
    q, q_low = two_sum(1.0, -p)
    high, low = dd_log(p, 0.0)
    other, other_low = dd_log(q, q_low)
    high, low = dd_add(high, low, -other, -other_low)
    high, low = dd_multiply(high, low, exponent, 0.0)
    high, low = exp_parts(high, low)
    return high + low


@kernel
def moments(f: float, p: float) -> tuple[float, float, float]:
    """Return (r, b, I) with E[1/F] = r and Var(1/F) = b^2 I.

    Neither b nor I is out of the doubles' range where the deviation is not.
    """
    high, low = dd_log(p, 0.0)
    other, other_low = dd_log(*two_sum(1.0, -p))
    high, _ = dd_add(other, other_low, -high, -low)
    whole = (f >= _ONE_RULE_F) | (p >= _ONE_RULE_P)
    steps = (not whole) & (float(int(min(f, _ONE_RULE_F))) == f)
    first = _WHOLE if whole else _BELOW
    last = _END
    if whole:
        last = _BELOW
    if steps | (p == 1.0):
        last = first  # r alone
    integral, r = _integral(f, p, high, first, last)
    if p == 1.0:
        return r, 0.0, 0.0
    if steps:
        b, integral = _by_steps(f, p)
        return r, b, integral
    if whole:
        return r, p / (f * sqrt(_pace(f))), integral
    if f > 2.0:
        return r, p / (1.0 - p), integral
    return r, _odds_power(p, 0.5 * f), integral
