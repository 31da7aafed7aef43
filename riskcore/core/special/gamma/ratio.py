"""Second and third differences of log Gamma: distributions of population uniques.

    f = log Gamma(x) - log Gamma(x+s) - log Gamma(x+t) + log Gamma(x+s+t) >= 0

By the recurrence of Gamma, f(x) = f(x+1) - log(1 - s t/((x+s)(x+t))), up to x >= 16;
from there by Stirling's series

    f = (x-1/2) log(1 - s t/((x+s)(x+t))) + s log(1 + t/(x+s)) + t log(1 + s/(x+t))
        + S(x) - S(x+s) - S(x+t) + S(x+s+t),

where at most a few bits cancel, whatever the arguments: with logarithms as
double-doubles the result is rounded little more than once. Its condition is bounded
too: f is the integral of (1 - e^-su)(1 - e^-tu) e^-xu/(u (1 - e^-u)) over u > 0, so a
relative error of x changes f by at most twice as much, one of s or t by at most as
much.

x, s and t must be 0 or lie between 2^-150 and 2^150.
"""

from __future__ import annotations

import math

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_divide,
    dd_log,
    dd_multiply,
)
from riskcore.core.special.elementary import exp_parts
from riskcore.core.special.floats import two_sum
from riskcore.core.special.gamma.digamma import dd_digamma_difference
from riskcore.core.special.gamma.products import (
    ONE,
    log_of,
    log_of_quotient,
    times,
)
from riskcore.core.special.gamma.stirling import (
    LARGE,
    second_difference,
    second_difference_of_slope,
)
from riskcore.core.special.near_one import LARGEST as NEAR_ONE
from riskcore.core.special.near_one import SMALLEST, dd_log1p
from riskcore.core.special.quadrature import GAUSS_NODES, gauss_node, gauss_weight

LARGEST = 2.0**150  # nothing of the order s^2 t/x^2 underflows


@kernel
def _quotients(
    y: float, y_low: float, s: float, t: float
) -> tuple[float, float, float, float]:
    """Return y (y+s+t)/((y+s)(y+t)) and 1 minus it, two positive double-doubles."""
    ys, ys_low = dd_add(y, y_low, s, 0.0)
    yt, yt_low = dd_add(y, y_low, t, 0.0)
    q, q_low = dd_divide(y, y_low, ys, ys_low)
    r, r_low = dd_divide(*dd_add(ys, ys_low, t, 0.0), yt, yt_low)
    p, p_low = dd_multiply(q, q_low, r, r_low)
    q, q_low = dd_divide(s, 0.0, ys, ys_low)
    r, r_low = dd_divide(t, 0.0, yt, yt_low)
    d, d_low = dd_multiply(q, q_low, r, r_low)
    return p, p_low, d, d_low


@kernel
def _second_difference(x: float, x_low: float, s: float, t: float) -> DoubleDouble:
    """Return f for x >= ``LARGE``."""
    p, p_low, d, d_low = _quotients(x, x_low, s, t)
    high, low = log_of_quotient(p, p_low, d, d_low)
    high, low = dd_multiply(high, low, *dd_add(x, x_low, -0.5, 0.0))
    v, v_low = dd_divide(t, 0.0, *dd_add(x, x_low, s, 0.0))
    part, part_low = dd_log1p(v, v_low)
    part, part_low = dd_multiply(part, part_low, s, 0.0)
    high, low = dd_add(high, low, part, part_low)
    v, v_low = dd_divide(s, 0.0, *dd_add(x, x_low, t, 0.0))
    part, part_low = dd_log1p(v, v_low)
    part, part_low = dd_multiply(part, part_low, t, 0.0)
    high, low = dd_add(high, low, part, part_low)
    return dd_add(high, low, second_difference(x, s, t), 0.0)


@kernel
def dd_log_gamma_ratio_at_pair(
    x: float, x_low: float, s: float, t: float
) -> DoubleDouble:
    """Return ``dd_log_gamma_ratio`` for a pair x."""
    product, y, y_low, k = ONE, x, x_low, 0.0
    while y < LARGE:
        q, q_low, d, d_low = _quotients(y, y_low, s, t)
        product = times(product, q, q_low, d, d_low)
        k += 1.0
        y, y_low = dd_add(x, x_low, k, 0.0)
    high, low = _second_difference(y, y_low, s, t)
    return dd_add(*log_of(product), -high, -low)


@kernel
def dd_log_gamma_ratio(x: float, s: float, t: float) -> DoubleDouble:
    """Return -f = log(Gamma(x+s) Gamma(x+t)/(Gamma(x) Gamma(x+s+t))), x, s, t > 0.

    To 2^-60 of itself.
    """
    return dd_log_gamma_ratio_at_pair(x, 0.0, s, t)


@kernel
def dd_log_gamma_quotient(f: float, e: float, e_low: float) -> DoubleDouble:
    """Return log of Gamma(f) Gamma(1-e)/Gamma(f-e) for e < f, e from -1 to 1/2.

    To 2^-60 of itself.
    """
    if e > 0.0:
        high, low = dd_log_gamma_ratio(1.0 - e, e, f)
        high, low = -high, -low
    else:
        high, low = dd_log_gamma_ratio(1.0, -e, f)
    if e_low != 0.0:
        slope, _ = dd_digamma_difference(1.0 - e, f)
        low += e_low * slope
    v, v_low = dd_divide(-e, -e_low, f, 0.0)
    if SMALLEST < v < NEAR_ONE:
        v, v_low = dd_log1p(v, v_low)
    else:
        v, v_low = dd_log(*dd_divide(*dd_add(f, 0.0, -e, -e_low), f, 0.0))
    return dd_add(high, low, v, v_low)


@kernel
def log_gamma_ratio(x: float, s: float, t: float) -> float:
    """Return log(Gamma(x+s) Gamma(x+t)/(Gamma(x) Gamma(x+s+t))), x, s, t >= 0.

    Symmetric in s and t to the last bit; the error is little more than half an ulp.
    """
    if s == 0.0 or t == 0.0:
        return 0.0
    if x == 0.0:
        return -math.inf
    high, low = dd_log_gamma_ratio(x, min(s, t), max(s, t))
    return high + low


@kernel
def gamma_ratio(x: float, s: float, t: float) -> float:
    """Return Gamma(x+s) Gamma(x+t)/(Gamma(x) Gamma(x+s+t)), x, s, t >= 0.

    The exponential of a double-double: equally accurate where it is tiny.
    """
    if s == 0.0 or t == 0.0:
        return 1.0
    if x == 0.0:
        return 0.0
    high, low = exp_parts(*dd_log_gamma_ratio(x, min(s, t), max(s, t)))
    return high + low


# --- the third difference ----------------------------------------------------------


@kernel
def _bend(y: float, b: float) -> float:
    """Return -(psi(y) - 2 psi(y+b) + psi(y+2b)) > 0 for y >= ``LARGE``."""
    r, r_low = dd_divide(b, 0.0, *two_sum(y, 2.0 * b))
    r, r_low = dd_multiply(r, r_low, *dd_divide(b, 0.0, y, 0.0))
    high, low = dd_log1p(r, r_low)
    return high + (low + r / (y + b) + second_difference_of_slope(y, b, b))


@kernel
def _integral(x: float, b: float, t: float) -> float:
    """Return the integral of ``_bend`` from x to x+t, for x >= ``LARGE``.

    Panels are as long as their distance from 0, the next singularity: twelve nodes omit
    less than 2^-60.
    """
    total, low, start, left = 0.0, 0.0, x, t
    while left > 0.0:
        half = 0.5 * min(start, left)
        for j in range(GAUSS_NODES):
            node, weight = gauss_node(j), gauss_weight(j)
            below = _bend(start + half * (1.0 - node), b)
            above = _bend(start + half * (1.0 + node), b)
            total, rest = two_sum(total, half * weight * (below + above))
            low += rest
        left -= 2.0 * half
        start += 2.0 * half
    return total + low


@kernel
def _quotients_of_quotients(
    y: float, y_low: float, b: float, t: float
) -> tuple[float, float, float, float]:
    """Return (1 - e^2)/(1 - h^2), e = b/(y+b), h = b/(y+t+b), and 1 minus it."""
    z, z_low = dd_add(y, y_low, t, 0.0)
    above, above_low, _, _ = _quotients(y, y_low, b, b)
    below, below_low, _, _ = _quotients(z, z_low, b, b)
    p, p_low = dd_divide(above, above_low, below, below_low)
    end, end_low = dd_add(z, z_low, b, 0.0)
    e, e_low = dd_divide(b, 0.0, *dd_add(y, y_low, b, 0.0))
    h, h_low = dd_divide(b, 0.0, end, end_low)
    d, d_low = dd_divide(t, 0.0, end, end_low)
    d, d_low = dd_multiply(d, d_low, e, e_low)  # e - h
    d, d_low = dd_multiply(d, d_low, *dd_add(e, e_low, h, h_low))
    d, d_low = dd_divide(d, d_low, below, below_low)
    return p, p_low, d, d_low


@kernel
def log_gamma_ratio_curvature(x: float, b: float, t: float) -> float:
    """Return g(x) - 2 g(x+b) + g(x+2b) <= 0, g(y) = log(Gamma(y+t)/Gamma(y)).

    For x, b, t >= 0; summed in doubles, so errors are some ulp.
    """
    if b == 0.0 or t == 0.0:
        return 0.0
    if x == 0.0:
        return -math.inf
    product, y, y_low, k = ONE, x, 0.0, 0.0
    while y < LARGE:
        q, q_low, d, d_low = _quotients_of_quotients(y, y_low, b, t)
        product = times(product, q, q_low, d, d_low)
        k += 1.0
        y, y_low = two_sum(x, k)
    high, low = dd_add(*log_of(product), -_integral(y, b, t), 0.0)
    return high + low
