"""Proven enclosures of the individual risk's integral, by double-double balls.

    r(f, p) = int_0^1 t^(f-1)/(1 + y t) dt,  y = q/p,  q = 1-p,  f > 0, 0 < p <= 1,

by three methods, each with a bound of its truncation error (notes/correct_rounding.md):

- the continued fraction of positive terms, where p or f is not small. A level shrinks
  the error of its tail by a known factor, so the deep levels run in doubles, the others
  in double-doubles, and the radius follows from their number.
- integer f and small p: from -log p by contiguity upwards.
- real f and small p: the reflection r(f, p) + v r(1-f, q) = v^f pi/sin(pi f), v = p/q,
  whose second term is again the fraction, near p = 1 and short.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from riskcore.core.compiled.jit import kernel, shared
from riskcore.core.special.balls import (
    UNDERFLOW,
    UNIT,
    Ball,
    add,
    add_double,
    divide,
    exp,
    expm1,
    log,
    multiply,
    multiply_double,
    negate,
    reciprocal,
    scaled_exp,
    shift,
    sine_excess,
    subtract,
)
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add_positive,
    dd_multiply_double,
    dd_multiply_positive,
)
from riskcore.core.special.floats import fast_two_sum, fma, two_sum

# Below this p contiguity and reflection, from it on the fraction.
P_LEVELS = 0.3
P_SHORT = 0.7  # from this p on with half the levels
# From this f on the fraction for every p.
F_LEVELS = 32.0
F_HUGE = 2.0**60  # E is below half an ulp of f

# Tiny p and f are multiplied by 2^600, huge f by 2^-600: no product leaves the doubles.
_UP = 2.0**600
_DOWN = 2.0**-600
_TINY = 2.0**-400
_HUGE = 2.0**400

# Relative radius of E by the levels for p, radius of f E by those for f
# (notes/correct_rounding.md, section 12).
E_RELATIVE = 2.0**-100
E_ABSOLUTE = 2.0**-100


# --- the continued fraction ----------------------------------------------------------


@kernel
def plus(f: DoubleDouble, m: float) -> DoubleDouble:
    """Return f + m."""
    f_high, f_low = f
    s, s_low = two_sum(f_high, m)
    return fast_two_sum(s, s_low + f_low)


@kernel
def level(
    k: float, b: DoubleDouble, p: DoubleDouble, x: DoubleDouble, y: DoubleDouble
) -> tuple[DoubleDouble, DoubleDouble]:
    """Return (p b y + k x, b y + k x)."""
    t = dd_multiply_positive(*b, *y)
    u = dd_multiply_double(*x, k)
    above = dd_add_positive(*dd_multiply_positive(*p, *t), *u)
    return above, dd_add_positive(*t, *u)


@kernel
def level_in_doubles(
    k: float, b: float, p: float, x: float, y: float
) -> tuple[float, float]:
    """Return (p b y + k x, b y + k x), in doubles."""
    t = b * y
    u = k * x
    return fma(p, t, u), t + u


def _fraction(
    levels: int, in_pairs: int
) -> Callable[[DoubleDouble, DoubleDouble], Ball]:
    """Make the kernel of E(f) without the truncation and rounding errors of its levels.

    X_n = (p b + k X_n+1)/(b + k X_n+1), k = 1 + ceil(n/2), b = f + floor(n/2), from the
    tail p at n = levels + 1; E = X_1/(f + X_1).
    """
    deepest, middle = levels // 2, in_pairs // 2

    @kernel
    def e_of_levels(f: DoubleDouble, p: DoubleDouble) -> Ball:
        f_high, f_low = f
        p_high, _ = p
        x, y = p_high, 1.0
        for m in range(deepest, middle, -1):
            k = m + 1.0
            x, y = level_in_doubles(k, f_high + m, p_high, x, y)
            x, y = level_in_doubles(k, f_high + (m - 1.0), p_high, x, y)
        above, below = (x / y, 0.0), (1.0, 0.0)
        for m in range(middle, 0, -1):
            k = m + 1.0
            above, below = level(k, plus(f, k - 1.0), p, above, below)
            above, below = level(k, plus(f, k - 2.0), p, above, below)
        x, x_low = above
        y, y_low = below
        X = (x, x_low, 0.0)
        return divide(X, add(multiply((f_high, f_low, 0.0), (y, y_low, 0.0)), X))

    return e_of_levels


# Levels, and how many of them in pairs: for p from P_LEVELS and from P_SHORT, and
# for f from 32, 128 and 1000. A test evaluates the bounds of the note for each.
LEVELS_BY_P = {P_LEVELS: (62, 32), P_SHORT: (32, 18)}
LEVELS_BY_F = {F_LEVELS: (58, 22), 128.0: (24, 12), 1000.0: (14, 8)}
_levels_far, _levels_near = (_fraction(*levels) for levels in LEVELS_BY_P.values())
_levels_32, _levels_128, _levels_1000 = (
    _fraction(*levels) for levels in LEVELS_BY_F.values()
)


@kernel
def _widen(a: Ball, radius: float) -> Ball:
    high, low, own = a
    return high, low, (1.0 + 4.0 * UNIT) * (own + radius)


@kernel
def e_by_p(f: DoubleDouble, p: DoubleDouble) -> Ball:
    """Return a ball that contains E(f, p), p >= P_LEVELS."""
    p_high, _ = p
    E = _levels_near(f, p) if p_high >= P_SHORT else _levels_far(f, p)
    return _widen(E, E_RELATIVE * E[0])


@kernel
def e_by_f(f: float, p: float) -> Ball:
    """Return a ball that contains E(f, p), f >= F_LEVELS."""
    if f >= F_HUGE:
        half = 0.5 / f  # may be subnormal, and rounded to more than UNIT of itself
        return half, 0.0, half * (1.0 + 8.0 * UNIT) + UNDERFLOW
    g, x = (f, 0.0), (p, 0.0)
    if f >= 1000.0:
        E = _levels_1000(g, x)
    elif f >= 128.0:
        E = _levels_128(g, x)
    else:
        E = _levels_32(g, x)
    return _widen(E, E_ABSOLUTE / f)


# --- small p -------------------------------------------------------------------------


@kernel
def _complement(p: float) -> Ball:
    """Return q = 1 - p, exactly."""
    q, q_low = two_sum(1.0, -p)
    return q, q_low, 0.0


@kernel
def _reflected(e: float, p: float, down: float, less: bool) -> Ball:
    """Return a ball around e r(e), or if ``less`` around e r(e) - 1 = -e r(1+e)/v.

    e r(e, p) = v^e pi e/sin(pi e) - e p/D(1-e, q), where the resolvent at the other end
    is D = q - e + p E(1-e, q); for |e| <= 0.51. Here and below the argument p is
    p/down.
    """
    q = _complement(p * down)
    q_high, q_low, _ = q
    log_v = log(divide((p, 0.0, 0.0), q), _exponent(down))
    power, m = scaled_exp(multiply_double(log_v, e))
    excess = sine_excess(e)
    if less:  # (1 + b) (1 + c) - 1 = b + c + b c
        b = expm1(power, m)
        first = add(add(b, excess), multiply(b, excess))
    else:
        first = multiply(exp(power, m), add_double(excess, 1.0))
    E = e_by_p(two_sum(1.0, -e), (q_high, q_low))
    D = add(add_double(q, -e), multiply_double(E, p * down))
    second = divide(multiply_double((p, 0.0, 0.0), e), D)
    return subtract(first, shift(second, down))


@kernel
def _exponent(down: float) -> float:
    return -600.0 if down < 1.0 else 0.0


@kernel
def _small(f: float, p: float, down: float) -> tuple[Ball, Ball]:
    """Return r(f, p)/down as a quotient, for 1/2 < f < F_LEVELS, p < P_LEVELS."""
    q = _complement(p * down)
    steps = int(f + 0.5) - 1
    e = f - steps - 1.0
    if e == 0.0:
        T = negate(log((p, 0.0, 0.0), _exponent(down)))
        e_T, divisor = T, 1.0
    else:
        e_T, divisor = negate(_reflected(e, p, down, True)), e
        T = e_T
    if steps == 0:
        return multiply_double(e_T, p), multiply_double(q, divisor)
    # r = v T: T(g+1) = 1/g - v T(g), in the last step as a quotient of two numbers
    # that are next to doubles for tiny p: r = p (1 - (f-1) r(f-1))/(q (f-1)).
    T = divide(e_T, (divisor, 0.0, 0.0))
    v = divide((p, 0.0, 0.0), q)
    for step in range(1, steps):
        T = subtract(reciprocal(e + step), shift(multiply(v, T), down))
    before = multiply_double(shift(multiply(v, T), down), f - 1.0)
    above = multiply_double(add_double(negate(before), 1.0), p)
    return above, multiply_double(q, f - 1.0)


# --- the whole plane -----------------------------------------------------------------


@kernel
def _below_one(f: float, p: float) -> Ball:
    """Return f r = 1 - q f/(f + w), w = p + q E(f+1), for f < 1 and p >= P_LEVELS."""
    q = _complement(p)
    E = e_by_p(two_sum(f, 1.0), (p, 0.0))
    w = add_double(multiply(q, E), p)
    part = divide(multiply_double(q, f), add_double(w, f))
    return add_double(negate(part), 1.0)


@kernel
def _resolvent(f: float, p: float) -> Ball:
    """Return D = (f - 1) + p + q E for f >= 1 and p >= P_LEVELS, or for large f."""
    E = e_by_f(f, p) if f >= F_LEVELS else e_by_p((f, 0.0), (p, 0.0))
    base, base_low = two_sum(f, -1.0)
    lower = add_double(multiply(_complement(p), E), p)
    return add((base, base_low, 0.0), lower)


@kernel
def scaling(f: float) -> int:
    """Return k such that the factor 2^(600 k) brings f near 1."""
    return (f < _TINY) - (f > _HUGE)


@kernel
def scaled(x: float, k: int) -> float:
    """Return x 2^(600 k) for k = -2, ..., 2."""
    factor = _UP if k > 0 else _DOWN if k < 0 else 1.0
    return x * factor * (factor if abs(k) > 1 else 1.0)


@kernel
def risk_ball(f: float, p: float) -> tuple[Ball, int]:
    """Return a ball that contains r(f, p) 2^(600 n), and n; nan outside the domain.

    The radius is below 2^-90 of the midpoint, as a rule below 2^-100.
    """
    if not ((f > 0.0) & (f < math.inf) & (p > 0.0) & (p <= 1.0)):
        return (math.nan, math.nan, math.nan), 0
    k = scaling(f)
    if f < 1.0 and (p >= P_LEVELS or f <= 0.5):
        tiny = scaling(p)
        x, down = scaled(p, tiny), scaled(1.0, -tiny)
        above = _below_one(f, p) if p >= P_LEVELS else _reflected(f, x, down, False)
        return divide(above, (scaled(f, k), 0.0, 0.0)), -k
    n = scaling(p)
    x, down = scaled(p, n), scaled(1.0, -n)
    if p < P_LEVELS and f < F_LEVELS:
        above, below = _small(f, x, down)
    else:
        D = _resolvent(f, p)
        above, below = (x, 0.0, 0.0), shift(D, scaled(1.0, k))
    return divide(above, below), n - k


@shared("float64, float64", "float64, float64, int64")
def risk_midpoint(f: float, p: float) -> tuple[float, float, int]:
    """Return the midpoint of `risk_ball`, a double-double, and n."""
    (high, low, _), n = risk_ball(f, p)
    return high, low, n
