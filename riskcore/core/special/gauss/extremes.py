"""Tiny p and f, and (G - 1)/q for every p, from enclosures: what fast loops omit."""

from __future__ import annotations

import math

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.balls import (
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
    scaled_exp,
    sine_excess,
    subtract,
)
from riskcore.core.special.floats import two_sum
from riskcore.core.special.gauss.enclosure import (
    F_LEVELS,
    P_LEVELS,
    e_by_p,
    risk_midpoint,
    scaled,
    scaling,
)


@kernel
def gauss(f: float, p: float) -> Ball:
    """Return G(f, q) = f r/p as a double-double; infinite beyond the largest double.

    Its radius means nothing.
    """
    high, low, n = risk_midpoint(f, p)
    k = scaling(f)
    x = scaled(p, n + k)
    above = multiply_double((high, low, 0.0), scaled(f, k))
    if above[0] / x == math.inf:
        return math.inf, 0.0, 0.0
    return divide(above, (x, 0.0, 0.0))


@kernel
def gauss_excess(f: float, p: float) -> float:
    """Return (G(f, q) - 1)/q = C/D for f < 32 or p < 2^-960; nan outside the domain."""
    if not ((f > 0.0) & (f < math.inf) & (p > 0.0) & (p <= 1.0)):
        return math.nan
    q, q_low = two_sum(1.0, -p)
    if p < P_LEVELS and f >= F_LEVELS:  # p < 2^-960: the limit, where G is near 1
        base, base_low = two_sum(f, -1.0)
        value, _, _ = divide((1.0, 0.0, 0.0), (base, base_low, 0.0))
        return value
    if p < P_LEVELS:
        G = gauss(f, p)  # not near 1
        if G[0] == math.inf:
            return math.inf
        value, _, _ = divide(add_double(G, -1.0), (q, q_low, 0.0))
        return value
    if f >= 1.0:  # C = 1 - E, D = f - q C
        C = add_double(negate(e_by_p((f, 0.0), (p, 0.0))), 1.0)
        D = add_double(negate(multiply((q, q_low, 0.0), C)), f)
        value, _, _ = divide(C, D)
        return value
    # D = p f (f + w)/(p f + w), C = f w/(p f + w) with w = p + q E(f+1).
    E = e_by_p(two_sum(f, 1.0), (p, 0.0))
    w = add_double(multiply((q, q_low, 0.0), E), p)
    value, _, _ = divide(w, multiply_double(add_double(w, f), p))
    return value


@kernel
def rare_risk(f: float, F: float) -> tuple[Ball, int]:
    """Return r(f, f/F) 2^(600 n) up to a factor 1 + O(p log p), p = f/F, and n.

    For p < 2^-960, where p itself may be too small for a double.
    """
    size = (scaled(F, -1), 0.0, 0.0)  # F may be too large for the logarithm
    if f > 1.5:  # r = p/(f-1)
        base, base_low = two_sum(f, -1.0)
        return divide(divide((f, 0.0, 0.0), (base, base_low, 0.0)), size), 1
    k = scaling(f)
    x = scaled(f, k)
    log_p = subtract(log((x, 0.0, 0.0), -600.0 * k), log(size, 600.0))
    if f <= 0.5:  # r = p^f pi/sin(pi f)
        power, m = scaled_exp(multiply_double(log_p, f))
        limit = multiply(exp(power, m), add_double(sine_excess(f), 1.0))
        return divide(limit, (scaled(x, k - 1), 0.0, 0.0)), 1 - 2 * k
    e = f - 1.0  # r = p (1 - p^e pi e/sin(pi e))/e
    if e == 0.0:
        return divide(negate(log_p), size), 1
    power, m = scaled_exp(multiply_double(log_p, e))
    b, c = expm1(power, m), sine_excess(e)
    above = negate(add(add(b, c), multiply(b, c)))
    return divide(multiply_double(above, f), multiply_double(size, e)), 1
