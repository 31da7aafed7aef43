"""The cells that ``inverse_mean`` omits, in pairs of doubles: f below 1/2, s below f.

Three methods for r(f, s, p) = E[1/(f + X)], each where its parts do not cancel
(notes/posterior.md, section 12):

- the reflection p -> q, for f p <= 1 and p < 1/2, at a shape s near 1;
- Gauss's continued fraction, at a shape s < f + 1, where its terms have one sign;
- Noerlund's fraction at f + 1.

From the shapes of the first two contiguity leads upwards, r(f, s+1) = (p/s) (1 + (s -
f) r(f, s)).
"""

from __future__ import annotations

from riskcore.core.compiled.jit import kernel, shared
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_divide,
    dd_log,
    dd_multiply,
    dd_multiply_double,
    sqrt,
)
from riskcore.core.special.floats import two_sum
from riskcore.core.special.gamma.digamma import dd_digamma_difference
from riskcore.core.special.gamma.ratio import dd_log_gamma_quotient
from riskcore.core.special.near_one import dd_expm1, dd_log1p
from riskcore.core.special.negative_binomial.inverse_mean_parts import base

# Up to this f p the reflection, below P_REFLECTED.
FP_REFLECTED = 1.0
P_REFLECTED = 0.5
# From this s - f on Noerlund's fraction, and its number of levels.
A_NOERLUND = 64.0
_LEVELS = 140
END = 2.0**-80  # of a series


# --- Gauss's fraction ----------------------------------------------------------------


# Two levels at once (the even part), so that no number is much larger than D, as f
# would be where f p is moderate: D = W(0),
#
#     W(m) = f p + s q + 2 m - q (e(m) + e(m+1)) - q^2 e(m+1) (e(m+1) - a)/W(m+1).


@kernel
def gauss_levels(f: float, p: float) -> int:
    """Return the number of levels that leave less than 2^-60 of D, for s < f + 1.

    A level shrinks the error by (1 - sqrt p)/(1 + sqrt p), by more where f p is large.
    """
    x = f * p
    by_p = 23.0 / sqrt(p)
    by_x = 16.0 + 220.0 / sqrt(x * sqrt(x))
    return 10 + int(min(by_p, by_x))


@kernel
def gauss_part(f: float, s: float, m: float) -> DoubleDouble:
    """Return e(m) = m (s + m - 1)/(f + 2 m - 1)."""
    if m == 0.0:
        return 0.0, 0.0
    above, above_low = dd_multiply_double(*two_sum(s, m - 1.0), m)
    return dd_divide(above, above_low, *two_sum(f, 2.0 * m - 1.0))


@kernel
def gauss_sum(f: float, s: float, p: float) -> DoubleDouble:
    """Return f p + s q."""
    return dd_add(*base(f, s, p), *two_sum(1.0, -p))


@kernel
def gauss_guess(f: float, s: float, p: float, m: float) -> float:
    """Return a guess of W(m), as if W(m+1) were the same."""
    q = 1.0 - p
    e = (m + 1.0) * (s + m) / (f + (2.0 * m + 1.0))
    less = m * (s + (m - 1.0)) / (f + (2.0 * m - 1.0))
    half = 0.5 * (gauss_sum(f, s, p)[0] + 2.0 * m - q * (e + less))
    return half + sqrt(max(half * half - q * q * e * (e + (f - s)), 0.0))


@kernel
def gauss_in_pairs(f: float, s: float, p: float) -> DoubleDouble:
    """Return D by Gauss's fraction for s < f + 1."""
    q, q_low = two_sum(1.0, -p)
    a, a_low = two_sum(s, -f)
    total, total_low = gauss_sum(f, s, p)
    m = float((gauss_levels(f, p) + 1) >> 1)
    W, W_low = gauss_guess(f, s, p, m), 0.0
    e, e_low = gauss_part(f, s, m)
    while m > 0.0:
        m -= 1.0
        c, c_low = dd_multiply(e, e_low, *dd_add(e, e_low, -a, -a_low))
        c, c_low = dd_divide(*dd_multiply(c, c_low, q, q_low), W, W_low)
        c, c_low = dd_add(c, c_low, e, e_low)
        e, e_low = gauss_part(f, s, m)
        c, c_low = dd_multiply(*dd_add(c, c_low, e, e_low), q, q_low)
        W, W_low = dd_add(total, total_low, 2.0 * m, 0.0)
        W, W_low = dd_add(W, W_low, -c, -c_low)
    return W, W_low


# --- the reflection ------------------------------------------------------------------


@kernel
def log_of_gammas(f: float, p: float, e: float, e_low: float) -> DoubleDouble:
    """Return log(g p^e)."""
    x, x_low = dd_multiply(*dd_log(p, 0.0), e, e_low)
    return dd_add(x, x_low, *dd_log_gamma_quotient(f, e, e_low))


@kernel
def _slope(f: float, p: float) -> DoubleDouble:
    """Return -log p - psi(f) + psi(1), the limit of (1 - p^e g)/e for e = 0."""
    high, low = dd_digamma_difference(1.0, f)
    high, low = dd_add(high, low, *dd_log(p, 0.0))
    v, v_low = dd_divide(1.0, 0.0, f, 0.0)
    high, low = dd_add(v, v_low, -high, -low)
    return high, low


@kernel
def reflected(f: float, s: float, p: float) -> DoubleDouble:
    """Return r for 0 < s < 3/2, s < f + 1 and f p <= 1.

    With e = s - 1 and g = Gamma(f) Gamma(1-e)/Gamma(f-e),
    r = p q^-f [(1 - g p^e)/e - sum over k > 0 of (1-f)_k p^k/(k! (k-e))].
    """
    e, e_low = two_sum(s, -1.0)
    if e == 0.0:
        high, low = _slope(f, p)
    else:
        x, x_low = dd_expm1(*log_of_gammas(f, p, e, e_low))
        high, low = dd_divide(-x, -x_low, e, e_low)
    c, c_low, k = 1.0, 0.0, 0.0
    while abs(c) > END:
        k += 1.0
        part, part_low = two_sum(k, -f)
        c, c_low = dd_multiply(c, c_low, part, part_low)
        c, c_low = dd_multiply_double(c, c_low, p)
        c, c_low = dd_divide(c, c_low, k, 0.0)
        part, part_low = dd_divide(c, c_low, *dd_add(k, 0.0, -e, -e_low))
        high, low = dd_add(high, low, -part, -part_low)
    x, x_low = dd_log1p(-p, 0.0)
    x, x_low = dd_expm1(*dd_multiply_double(x, x_low, -f))
    high, low = dd_multiply(high, low, *dd_add(1.0, 0.0, x, x_low))
    return dd_multiply_double(high, low, p)


# --- Noerlund's fraction -------------------------------------------------------------


@kernel
def below_one(
    f: float,
    p: float,
    b: DoubleDouble,
    step: DoubleDouble,
    square: DoubleDouble,
    first: DoubleDouble,
) -> DoubleDouble:
    """Return r for f < 1 from D at f + 1, whose b and parts are given.

    f r = (p (f+1) + first/V(1))/D, a difference that cancels little.
    """
    k = float(_LEVELS)
    step_high, step_low = step
    first_high, first_low = first
    V, V_low = max(b[0] + k * step_high, b[0]), 0.0
    while k > 0.0:
        k -= 1.0
        part, part_low = dd_multiply_double(*square, k)
        part, part_low = dd_add(first_high, first_low, part, part_low)
        part, part_low = dd_multiply_double(part, part_low, k + 1.0)
        part, part_low = dd_divide(part, part_low, V, V_low)
        shift, shift_low = dd_multiply_double(step_high, step_low, k)
        if k == 0.0:
            break
        V, V_low = dd_add(*dd_add(*b, shift, shift_low), part, part_low)
    D, D_low = dd_add(*b, part, part_low)
    above, above_low = dd_multiply_double(*two_sum(f, 1.0), p)
    above, above_low = dd_add(above, above_low, part, part_low)
    return dd_divide(above, above_low, *dd_multiply_double(D, D_low, f))


# --- all cells ------------------------------------------------------------------


@kernel
def _upwards(
    f: float, s: float, p: float, steps: float, r: float, r_low: float
) -> DoubleDouble:
    """Return r(f, s + steps) from r(f, s)."""
    k = 0.0
    while k < steps:
        shape, shape_low = two_sum(s, k)
        part, part_low = dd_add(shape, shape_low, -f, 0.0)
        r, r_low = dd_multiply(r, r_low, part, part_low)
        r, r_low = dd_multiply_double(*dd_add(1.0, 0.0, r, r_low), p)
        r, r_low = dd_divide(r, r_low, shape, shape_low)
        k += 1.0
    return r, r_low


@shared("float64, float64, float64", "float64, float64")
def inverse_mean_pair(f: float, s: float, p: float) -> DoubleDouble:
    """Return r(f, s, p) in the region OTHER of ``inverse_mean``."""
    a = s - f
    if (p < P_REFLECTED) & (f * p <= FP_REFLECTED):
        steps = float(int(s - 0.5)) if s >= 0.5 else 0.0
        if s - steps >= f + 1.0:
            steps += 1.0
        r, r_low = reflected(f, s - steps, p)
        return _upwards(f, s - steps, p, steps, r, r_low)
    if a >= A_NOERLUND:  # f < 1 and p near 1
        q, q_low = two_sum(1.0, -p)
        rest, rest_low = dd_add(*two_sum(f, 1.0), -s, 0.0)  # 1 - a
        square, square_low = dd_multiply_double(q, q_low, p)
        first, first_low = dd_multiply(rest, rest_low, square, square_low)
        b, b_low = dd_multiply_double(*two_sum(f, 1.0), p)
        b, b_low = dd_add(b, b_low, *dd_multiply_double(q, q_low, s))
        step = dd_add(p, 0.0, -q, -q_low)
        return below_one(
            f, p, (b, b_low), step, (square, square_low), (first, first_low)
        )
    steps = float(int(a)) if a >= 1.0 else 0.0
    D, D_low = gauss_in_pairs(f, s - steps, p)
    r, r_low = dd_divide(p, 0.0, D, D_low)
    return _upwards(f, s - steps, p, steps, r, r_low)
