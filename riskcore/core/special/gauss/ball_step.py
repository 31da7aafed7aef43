"""The double nearest the individual risk, and the doubles on its sides: slow steps.

Where a midpoint of two doubles, or a double, lies inside the ball, ``side`` decides. If
it does not, which no input is known to cause, the result is nan, or the doubles on both
sides are two ulp apart (notes/correct_rounding.md, sections 15 and 16).
"""

from __future__ import annotations

import math

from riskcore.core.compiled.jit import kernel, shared
from riskcore.core.special.balls import UNIT, Ball, add, multiply_double
from riskcore.core.special.floats import (
    bits,
    fma,
    from_bits,
    two_sum,
)
from riskcore.core.special.gauss.enclosure import _widen, risk_ball, scaled, scaling
from riskcore.core.special.gauss.extremes import rare_risk
from riskcore.core.special.gauss.fixed_point_step import side

# A larger radius, relative to the risk, would contradict the proof.
_WIDEST = 2.0**-60
# Below it doubles are multiples of 2^-1074.
_COARSE = 2.0**-1021
_SMALLEST = 5e-324
_NEARLY_ALL = 1.0 - 2.0**-40
# Below this p = f/F, products of p underflow, and p is negligible against 1.
RARE = 2.0**-960
# Above the relative error of ``rare_risk``, 2 p^(1/2) next to f = 1/2 and 3/2.
_RARE_ERROR = 2.0**-470
_TINY = 2.0**-400
_UP = 2.0**460


@kernel
def double_above(x: float) -> float:
    """Return the double above x >= 0."""
    return from_bits(bits(x) + 1)


@kernel
def double_below(x: float) -> float:
    """Return the double below x > 0, for infinity the largest double."""
    return from_bits(bits(x) - 1)


@kernel
def _towards_zero(x: float, n: int) -> float:
    """Return the largest double not above x 2^(-600 n)."""
    step = 1 if n > 0 else -1
    for _ in range(abs(n)):
        y = scaled(x, -step)
        x = double_below(y) if scaled(y, step) > x else y
    return x


@kernel
def _from_zero(x: float, n: int) -> float:
    """Return the smallest double not below x 2^(-600 n)."""
    step = 1 if n > 0 else -1
    for _ in range(abs(n)):
        y = scaled(x, -step)
        x = double_above(y) if scaled(y, step) < x else y
    return x


# --- the nearest double --------------------------------------------------------------


@kernel
def _is_nearest(ball: Ball, n: int, result: float) -> bool:
    """Return whether high 2^(-600 n) rounded, ``result``, is nearest to all of a ball.

    Sums of low part and radius are compared with doubles, so rounding them changes
    nothing.
    """
    high, low, radius = ball
    up, down = 0.5 * (double_above(high) - high), 0.5 * (high - double_below(high))
    # high - back is exact: back is high rounded to fewer bits.
    back = scaled(result, n)
    most = abs(high - back) + (abs(low) + radius)
    half = 0.5 * scaled(_SMALLEST, n)
    coarse = most < half * _NEARLY_ALL
    fine = (low + radius < up) & (radius - low < down)
    return coarse if result < _COARSE else fine


@kernel
def _nearest(f: float, a: float, b: float, ball: Ball, n: int) -> float:
    """Return the double nearest r(f, a/b), a < b, where a ball contains r 2^(600 n).

    nan if all bits of ``side`` do not decide it.
    """
    high, low, radius = ball
    if not (radius <= _WIDEST * high < math.inf):
        return math.nan
    result = scaled(high, -n)
    if _is_nearest(ball, n, result):
        return result
    # r is nearest to x, which is finite, or the double above: a ball holds one midpoint
    # at most.
    x = _towards_zero(double_below(high) if low < 0.0 else high, n)
    where = side(f, a, b, x, True)
    return x if where < 0 else double_above(x) if where > 0 else math.nan


@kernel
def _inside(f: float, a: float, b: float) -> bool:
    return (f > 0.0) & (f < math.inf) & (a > 0.0) & (a <= b) & (b < math.inf)


@shared("float64, float64", "float64")
def nearest_slow(f: float, p: float) -> float:
    """Return the double nearest r(f, p), or nan; nan outside the domain."""
    if not _inside(f, p, 1.0):
        return math.nan
    if p == 1.0:
        return 1.0 / f
    ball, n = risk_ball(f, p)
    return _nearest(f, p, 1.0, ball, n)


@kernel
def condition(f: float, p: float, D: float) -> tuple[float, float]:
    """Return C = (p/r) dr/dp and a bound of its error, given D = p/r to 4 units.

    C = (f - D)/q = 1 - E, p/(f+p) <= E <= 1/(f+1): the form with the smaller error.
    """
    q = 1.0 - p
    least, most = p / (f + p), 1.0 / (f + 1.0)
    C, error = 1.0 - 0.5 * (least + most), 0.5 * (most - least) + 8.0 * UNIT
    by_risk = (8.0 * UNIT) * f
    better = by_risk < q * error
    return (
        (f - D) / q if better else C,
        by_risk / q + 8.0 * UNIT if better else error,
    )


@kernel
def frequencies_ball(f: float, F: float) -> tuple[Ball, int]:
    """Return a ball that contains r(f, f/F) 2^(600 n), and n, for 0 < f < F.

    With f/F = p (1 + d), r(f, f/F) = r(f, p) (1 + C d) up to d^2.
    """
    p = f / F
    if p < RARE:
        ball, n = rare_risk(f, F)
        return _widen(ball, _RARE_ERROR * ball[0]), n
    up = _UP if f < _TINY else 1.0
    d = fma(-p, F * up, f * up) / (f * up)
    ball, n = risk_ball(f, p)
    r = ball[0]
    C, error = condition(f, p, scaled(p, n) / r)
    lost = abs(d) * (error + abs(d) + 12.0 * UNIT)
    return _widen(add(ball, multiply_double(ball, C * d)), r * lost), n


@shared("float64, float64", "float64")
def nearest_slow_of(f: float, F: float) -> float:
    """Return the double nearest r(f, f/F), or nan; nan outside the domain."""
    if not _inside(f, f, F):
        return math.nan
    if f == F:
        return 1.0 / f
    ball, n = frequencies_ball(f, F)
    return _nearest(f, f, F, ball, n)


# --- the doubles on both sides -------------------------------------------------------


@kernel
def _not_below(f: float, p: float, x: float, n: int) -> bool:
    """Return whether r(f, p) 2^(600 n) >= x follows from r >= p/f."""
    k = scaling(f)
    return fma(x, scaled(f, k), -scaled(p, n + k)) <= 0.0


@kernel
def _not_above(f: float, p: float, x: float, n: int) -> bool:
    """Return whether r(f, p) 2^(600 n) <= x follows from r <= 1/f, p/(f-1+p)."""
    k = scaling(f)
    if f < 1.0:
        return fma(x, scaled(f, k), -scaled(1.0, n + k)) >= 0.0
    base, base_low = two_sum(f, -1.0)
    s, s_low = two_sum(base, p)
    over = fma(x, scaled(s, k), -scaled(p, n + k))
    return (over >= 0.0) & (s_low + base_low >= 0.0)


@shared("float64, float64", "float64, float64")
def sides_slow(f: float, p: float) -> tuple[float, float]:
    """Return neighbors around r(f, p), or r twice if it is a double; else nan.

    If 1008 bits leave a side open the two are two ulp apart, and still enclose r.
    """
    (high, low, radius), n = risk_ball(f, p)
    if not ((radius <= _WIDEST * high < math.inf) & (abs(low) < high)):
        return math.nan, math.nan
    low_open = low <= radius and not _not_below(f, p, high, n)
    high_open = low >= -radius and not _not_above(f, p, high, n)
    if low_open and high_open and p < 1.0:
        # A scaled double that is not representable is rounded outwards below.
        x = scaled(high, -n)
        if scaled(x, n) == high:
            where = side(f, p, 1.0, x, False)
            low_open, high_open = where <= 0, where >= 0
    lower = double_below(high) if low_open else high
    upper = double_above(high) if high_open else high
    return _towards_zero(lower, n), _from_zero(upper, n)
