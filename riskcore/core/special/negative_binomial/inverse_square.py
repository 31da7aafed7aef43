"""The mean of 1/(f + X)^2, X negative binomial of any shape or Poisson, for f >= 1.

The law of X does not depend on f, so E[1/(f+X)^2] = -dr/df for r = E[1/(f+X)], at fixed
s and p: the methods of ``inverse_mean`` and ``inverse_mean_pairs``, with slopes. With D
= p/r it is r^2 D'/p (notes/posterior.md, section 14).
"""

from __future__ import annotations

from riskcore.core.compiled.jit import kernel, shared
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_divide,
    dd_multiply,
    dd_multiply_double,
    sqrt,
)
from riskcore.core.special.floats import fma, two_sum
from riskcore.core.special.gamma.digamma import (
    dd_digamma_difference,
    trigamma_difference,
)
from riskcore.core.special.near_one import dd_expm1, dd_log1p, exponentials
from riskcore.core.special.negative_binomial.inverse_mean import (
    A_LARGE,
    A_SMALLEST,
    B_HUGE,
    B_LARGE,
)
from riskcore.core.special.negative_binomial.inverse_mean_pairs import (
    END,
    P_REFLECTED,
    gauss_guess,
    gauss_part,
    gauss_sum,
    log_of_gammas,
    reflected,
)
from riskcore.core.special.negative_binomial.inverse_mean_parts import (
    base,
    noerlund_tail,
)

# Up to this f p the reflection: beyond, its slope cancels more than r does.
_FP_REFLECTED = 0.35
_EXACT = 8.0  # levels of Noerlund's fraction as pairs
_NEXT_TO_ZERO = 2.0**-60  # a step over which a slope does not change


# --- Noerlund's fraction -------------------------------------------------------------


@kernel
def _noerlund_square(
    b: float,
    b_low: float,
    p: float,
    square: DoubleDouble,
    first: DoubleDouble,
    of_b: float,
    of_first: DoubleDouble,
    levels: int,
) -> float:
    """Return p D'/D^2 from b, the coefficients and their slopes.

    V(k) = b + k (p-q) + c/V(k+1), V'(k) = b' + ((k+1) first' - c V'(k+1)/V(k+1))/V(k+1)
    with c = (k+1) (first + k square); D = V(0). The last levels are pairs.
    """
    step, step_low = dd_add(2.0 * p, 0.0, -1.0, 0.0)
    k = float(levels)
    V, slope = noerlund_tail(b, step, k), of_b
    while k > _EXACT:
        k -= 1.0
        part = (k + 1.0) * fma(k, square[0], first[0]) / V
        slope = of_b + ((k + 1.0) * of_first[0] - part * slope) / V
        V = fma(k, step, b) + part
    V_low, slope_low = 0.0, 0.0
    while k > 0.0:
        k -= 1.0
        c, c_low = dd_add(*dd_multiply_double(*square, k), *first)
        c, c_low = dd_multiply_double(c, c_low, k + 1.0)
        c, c_low = dd_divide(c, c_low, V, V_low)
        part, part_low = dd_multiply(c, c_low, -slope, -slope_low)
        rise, rise_low = dd_multiply_double(*of_first, k + 1.0)
        part, part_low = dd_add(part, part_low, rise, rise_low)
        part, part_low = dd_divide(part, part_low, V, V_low)
        slope, slope_low = dd_add(of_b, 0.0, part, part_low)
        shift, shift_low = dd_multiply_double(step, step_low, k)
        shift, shift_low = dd_add(b, b_low, shift, shift_low)
        V, V_low = dd_add(shift, shift_low, c, c_low)
    slope, slope_low = dd_divide(slope, slope_low, V, V_low)
    slope, slope_low = dd_divide(slope, slope_low, V, V_low)
    slope, slope_low = dd_multiply_double(slope, slope_low, p)
    return slope + slope_low


@kernel
def _levels(b: float, p: float) -> int:
    """Return the number of levels, all with b + k (p - q) > 0."""
    if b >= 2.0**30:
        return 4
    most = 30 if b >= B_HUGE else 80
    q = 1.0 - p
    if p < 0.5 and (q - p) * (most + 4) > b:
        return int(b / (q - p)) - 4
    return most


# --- in pairs ------------------------------------------------------------------------


@kernel
def _gauss(f: float, s: float, p: float) -> tuple[float, float, float, float]:
    """Return D and dD/df by Gauss's fraction, for s < f + 1.

    dD/df may be p times smaller than 1, and so are all terms of

        W'(m) = p + q (u(m) + u(m+1)) + (c W'(m+1) - q^2 u(m+1) (s+2m+1 - 2e))/W(m+1),

    e = e(m+1), u(m) = e(m)/(f+2m-1), c = q^2 e (e - a)/W(m+1).
    """
    q, q_low = two_sum(1.0, -p)
    a, a_low = two_sum(s, -f)
    total, total_low = gauss_sum(f, s, p)
    # A slope takes more levels than D; a test has the bound. A level shrinks errors by
    # (1 - sqrt p)/(1 + sqrt p) or more: doubles suffice for the deep levels.
    further = int(min(30.0 / sqrt(p), 300.0 / (f * p)))
    exact = 7.0 + float(further // 6)
    m = 20.0 + float((further + 1) // 2)
    W, slope = gauss_guess(f, s, p, m), p
    e, e_low = gauss_part(f, s, m)
    while m > exact:
        g, m = f + (2.0 * m - 1.0), m - 1.0
        part = q * e * (q * (e - a)) / W
        u = q * (e / g)
        slope = (u + p) + (part * slope - u * (q * (s + (2.0 * m + 1.0) - 2.0 * e))) / W
        W = (total + 2.0 * m) - (q * e + part)
        e, _ = gauss_part(f, s, m)
        W -= q * e
        slope += q * (e / (f + (2.0 * m - 1.0)))
    e, e_low = gauss_part(f, s, m)
    W_low, slope_low = 0.0, 0.0
    while m > 0.0:
        g, g_low = two_sum(f, 2.0 * m - 1.0)
        m -= 1.0
        c, c_low = dd_multiply(e, e_low, *dd_add(e, e_low, -a, -a_low))
        c, c_low = dd_multiply(*dd_multiply(c, c_low, q, q_low), q, q_low)
        c, c_low = dd_divide(c, c_low, W, W_low)
        e, e_low = dd_multiply(e, e_low, q, q_low)
        u, u_low = dd_divide(e, e_low, g, g_low)
        part, part_low = two_sum(s, 2.0 * m + 1.0)
        part, part_low = dd_multiply(part, part_low, q, q_low)
        part, part_low = dd_add(part, part_low, -2.0 * e, -2.0 * e_low)
        part, part_low = dd_multiply(part, part_low, u, u_low)
        slope, slope_low = dd_multiply(slope, slope_low, c, c_low)
        slope, slope_low = dd_add(slope, slope_low, -part, -part_low)
        slope, slope_low = dd_divide(slope, slope_low, W, W_low)
        slope, slope_low = dd_add(slope, slope_low, *dd_add(u, u_low, p, 0.0))
        W, W_low = dd_add(total, total_low, 2.0 * m, 0.0)
        c, c_low = dd_add(c, c_low, e, e_low)
        e, e_low = gauss_part(f, s, m)
        u, u_low = dd_multiply(e, e_low, q, q_low)
        c, c_low = dd_add(c, c_low, u, u_low)
        W, W_low = dd_add(W, W_low, -c, -c_low)
        if m > 0.0:
            u, u_low = dd_divide(u, u_low, *two_sum(f, 2.0 * m - 1.0))
            slope, slope_low = dd_add(slope, slope_low, u, u_low)
    return W, W_low, slope, slope_low


@kernel
def _reflected_square(f: float, s: float, p: float) -> DoubleDouble:
    """Return -dr/df where ``reflected`` gives r."""
    e, e_low = two_sum(s, -1.0)
    # (psi(f) - psi(f-e))/e g p^e, for e = 0 the slope of psi.
    step = e if e != 0.0 else _NEXT_TO_ZERO
    if step > 0.0:
        below, rest = two_sum(f, -step)
        high, low = dd_digamma_difference(below, step)
        low -= rest * trigamma_difference(below, step)
    else:
        high, low = dd_digamma_difference(f, -step)
    high, low = dd_divide(high, low, abs(step), 0.0)
    if e != 0.0:
        x, x_low, _, _ = exponentials(*log_of_gammas(f, p, e, e_low))
        high, low = dd_multiply(high, low, x, x_low)
    c, c_low, d, d_low, k = 1.0, 0.0, 0.0, 0.0, 0.0
    while abs(c) + abs(d) > END:
        k += 1.0
        part, part_low = two_sum(k, -f)
        d, d_low = dd_multiply(d, d_low, part, part_low)
        d, d_low = dd_add(d, d_low, -c, -c_low)
        d, d_low = dd_divide(*dd_multiply_double(d, d_low, p), k, 0.0)
        c, c_low = dd_multiply(c, c_low, part, part_low)
        c, c_low = dd_divide(*dd_multiply_double(c, c_low, p), k, 0.0)
        part, part_low = dd_divide(d, d_low, *dd_add(k, 0.0, -e, -e_low))
        high, low = dd_add(high, low, part, part_low)
    x, x_low = dd_log1p(-p, 0.0)
    y, y_low = dd_expm1(*dd_multiply_double(x, x_low, -f))
    high, low = dd_multiply(high, low, *dd_add(1.0, 0.0, y, y_low))
    high, low = dd_multiply_double(high, low, p)
    x, x_low = dd_multiply(x, x_low, *reflected(f, s, p))
    return dd_add(high, low, x, x_low)


@shared("float64, float64, float64", "float64")
def _square_pair(f: float, s: float, p: float) -> float:
    """Return E[1/(f+X)^2] by a shape below s, and upwards.

    s M(f, s+1) = p (r(f, s) + (s - f) M(f, s)) for the second moment M.
    """
    if (p < P_REFLECTED) & (f * p <= _FP_REFLECTED):
        steps = float(int(s - 0.5)) if s >= 0.5 else 0.0
        if s - steps >= f + 1.0:
            steps += 1.0
        r, r_low = reflected(f, s - steps, p)
        M, M_low = _reflected_square(f, s - steps, p)
    else:
        steps = float(int(s - f)) if s - f >= 1.0 else 0.0
        D, D_low, slope, slope_low = _gauss(f, s - steps, p)
        r, r_low = dd_divide(p, 0.0, D, D_low)
        M, M_low = dd_multiply(r, r_low, slope, slope_low)
        M, M_low = dd_divide(M, M_low, D, D_low)
    k = 0.0
    while k < steps:
        shape, shape_low = two_sum(s - steps, k)
        part, part_low = dd_add(shape, shape_low, -f, 0.0)
        M, M_low = dd_multiply(M, M_low, part, part_low)
        M, M_low = dd_multiply_double(*dd_add(M, M_low, r, r_low), p)
        M, M_low = dd_divide(M, M_low, shape, shape_low)
        r, r_low = dd_multiply(r, r_low, part, part_low)
        r, r_low = dd_multiply_double(*dd_add(1.0, 0.0, r, r_low), p)
        r, r_low = dd_divide(r, r_low, shape, shape_low)
        k += 1.0
    return M + M_low


# --- the whole plane -----------------------------------------------------------------


@kernel
def inverse_square(f: float, s: float, p: float) -> float:
    """Return E[1/(f + X)^2] for f >= 1."""
    if p == 1.0:
        return 1.0 / (f * f)
    a = s - f
    b, b_low = base(f, s, p)
    large = (b >= B_LARGE) | (a >= A_LARGE) if a >= A_SMALLEST else b >= B_HUGE
    if not large:
        return _square_pair(f, s, p)
    square, square_low = dd_multiply_double(*two_sum(1.0, -p), p)
    a, a_low = two_sum(s, -f)
    less, less_low = dd_add(1.0, 0.0, -a, -a_low)
    first = dd_multiply(less, less_low, square, square_low)
    pair = (square, square_low)
    return _noerlund_square(b, b_low, p, pair, first, p, pair, _levels(b, p))


@kernel
def inverse_square_poisson(f: float, mu: float) -> float:
    """Return E[1/(f + X)^2] for f >= 1, X Poisson of mean mu."""
    if mu == 0.0:
        return 1.0 / (f * f)
    b, b_low = two_sum(f, mu)
    zero = (0.0, 0.0)
    return _noerlund_square(b, b_low, 1.0, zero, (-mu, 0.0), 1.0, zero, _levels(b, 1.0))
