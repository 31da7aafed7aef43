"""The individual risk for real f below 16, where no logarithm alone serves.

r = N/M and dr/dp = H/M, numerators and denominator as double-doubles, by two methods
(notes/individual_risk.md, section 5):

- p small: with f = n + d, |d| <= 1/2, the reflection gives r(1+d) from z^d, z = p/q;
  contiguity leads upwards from there, or one step down if n = 0.
- p not small: the continued fraction for f in [4, 5), then contiguity downwards, which
  shrinks errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from riskcore.compiled.jit import kernel
from riskcore.special.balls import PI
from riskcore.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_add_positive,
    dd_multiply_double,
    dd_multiply_positive,
)
from riskcore.special.elementary import log_high_low
from riskcore.special.floats import fast_two_sum, fma, two_product, two_sum
from riskcore.special.gauss.regions import (
    division,
    forward,
    forward_16,
    fraction_of_e,
    levels_15,
    quotient_pair,
)
from riskcore.special.near_one import exponentials, series

# N + N_low, M + M_low, H + H_low.
Parts = tuple[float, float, float, float, float, float]
Pairs = tuple[float, float, float, float]

_TWO_52 = 2.0**52  # adding it rounds to an integer
_forward_10 = forward(3, 10)

# (1 - sin(pi d)/(pi d))/d^2 = pi^2/3! - pi^4 d^2/5! + ..., |d| <= 1/2: four terms as
# pairs, eight as doubles. The first left out is below 2^-80 of the sum.
_SINE = [(-1) ** j * PI ** (2 * j + 2) / math.factorial(2 * j + 3) for j in range(12)]
_sine_first = series(_SINE[:4])
_S4, _S5, _S6, _S7, _S8, _S9, _S10, _S11 = map(float, _SINE[4:])


# --- p small -------------------------------------------------------------------------


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
    return _sine_first((w, w_low), (tail, 0.0))


@kernel
def _log_ratio(p: float, q: float, q_low: float) -> DoubleDouble:
    """Return log(p/q)."""
    z, rest, _ = division(p, 0.0, q, q_low)
    high, low = log_high_low(z, 0.0)
    return fast_two_sum(high, low + rest / p)


@kernel
def _reflected(d: float, p: float, q: float, q_low: float) -> Pairs:
    """Return K = q r(1+d)/p, and R = d r(d) for d > 0, as double-doubles.

    With z = p/q, s = sin(pi d)/(pi d) and S = p/D(1-d, q): R = z^d/s - d S and
    K = (1 - R)/d = ((1 - z^d)/d - (1 - s)/d)/s + S.
    """
    log_z, log_z_low = _log_ratio(p, q, q_low)
    x, x_low = two_product(d, log_z)
    x, x_low = fast_two_sum(x, fma(d, log_z_low, x_low))
    power, power_low, less, less_low = exponentials(x, x_low)
    c, c_low = dd_multiply_double(*sine_deficit(d), d)
    C, C_low = dd_multiply_double(c, c_low, d)
    s, s_low = fast_two_sum(1.0, -C)
    s_low -= C_low
    # S = p (q (2-d) + e)/(q (1-d) (1-d + q + e)), e = p E(2-d, q).
    above, below = levels_15(2.0 - d, p)
    e = p * above / below
    far, far_low = fast_two_sum(1.0, -d)
    h, h_low = two_product(q, far)
    h, h_low = fast_two_sum(h, h_low + fma(q, far_low, q_low * far))
    both, both_low = fast_two_sum(q, e)
    both_low += q_low
    above, above_low = dd_add_positive(h, h_low, both, both_low)
    below, below_low = dd_add_positive(far, far_low, both, both_low)
    above, above_low = dd_multiply_double(above, above_low, p)
    below, below_low = dd_multiply_positive(h, h_low, below, below_low)
    S, S_low = quotient_pair(above, above_low, below, below_low)
    # K = (T - c)/s + S, T = (1 - z^d)/d.
    T, T_low = quotient_pair(-less, -less_low, d, 0.0)
    T, T_low = dd_add(T, T_low, -c, -c_low)
    T, T_low = quotient_pair(T, T_low, s, s_low)
    K, K_low = dd_add(T, T_low, S, S_low)
    power, power_low = quotient_pair(power, power_low, s, s_low)
    S, S_low = dd_multiply_double(S, S_low, d)
    below, below_low = dd_add(power, power_low, -S, -S_low)
    return K, K_low, below, below_low


@kernel
def _e_next(
    d: float, p: float, q: float, q_low: float, K: float, K_low: float
) -> Pairs:
    """Return the pairs of (a, b) with E(2+d) = v a/b, v = p/q.

    a = (f+p) f K - q (f+1) and b = q - f p K, f = 1+d, may cancel to a thirteenth.
    """
    f = 1.0 + d
    c, c_low = two_sum(f, p)
    c, c_low = dd_multiply_double(c, c_low, f)
    c, c_low = dd_multiply_positive(c, c_low, K, K_low)
    u, u_low = dd_multiply_double(q, q_low, f + 1.0)
    a, a_low = dd_add(c, c_low, -u, -u_low)
    c, c_low = dd_multiply_double(K, K_low, p)
    c, c_low = dd_multiply_double(c, c_low, f)
    b, b_low = dd_add(q, q_low, -c, -c_low)
    return a, a_low, b, b_low


@kernel
def _up(
    g: float, p: float, q: float, q_low: float,
    a: float, a_low: float, b: float, b_low: float,
) -> Pairs:  # fmt: skip
    """Return the pairs of (a', b') with E(g+1) = v a'/b' from E(g) = v a/b.

    a' = q b - (g+1) p a, b' = (g-1) q b + p a.
    """
    x, x_low = dd_multiply_double(a, a_low, p)
    y, y_low = dd_multiply_positive(b, b_low, q, q_low)
    u, u_low = dd_multiply_double(x, x_low, g + 1.0)
    a, a_low = dd_add(y, y_low, -u, -u_low)
    u, u_low = dd_multiply_double(y, y_low, g - 1.0)
    b, b_low = dd_add_positive(u, u_low, x, x_low)
    return a, a_low, b, b_low


@kernel
def forward_real(f: float, p: float) -> Parts:
    """Return the parts of r for f < 16 that is no integer and p < 0.3."""
    n = (f + _TWO_52) - _TWO_52
    d = f - n
    q = 1.0 - p
    q_low = (1.0 - q) - p
    K, K_low, R, R_low = _reflected(d, p, q, q_low)
    # n = 0: r = R/f, dr/dp = f (R - p)/(q p f).
    H, H_low = two_sum(R, -p)
    H, H_low = dd_multiply_double(H, H_low + R_low, f)
    H, H_low = quotient_pair(H, H_low, *dd_multiply_double(q, q_low, p))
    N, N_low, M, M_low = R, R_low, f, 0.0
    # n = 1: r = p K/q, dr/dp = (f K - q)/q^2.
    one = n == 1.0
    N_one, N_one_low = dd_multiply_double(K, K_low, p)
    H_one, H_one_low = dd_multiply_double(K, K_low, f)
    H_one, H_one_low = dd_add(H_one, H_one_low, -q, -q_low)
    H_one, H_one_low = quotient_pair(H_one, H_one_low, q, q_low)
    # n >= 2: r = p b/((f - 1 + p) b + p a), dr/dp = (b - v a)/(...).
    # The first step upwards, which counts, in pairs.
    many = n > 1.0
    x, x_low, y, y_low = _e_next(d, p, q, q_low, K, K_low)
    a, a_low, b, b_low = _up(2.0 + d, p, q, q_low, x, x_low, y, y_low)
    two = n == 2.0
    a, a_low = x if two else a, x_low if two else a_low
    b, b_low = y if two else b, y_low if two else b_low
    v, v_low = quotient_pair(p, 0.0, q, q_low)
    x, y = _forward_10(n, d, v, a, b)
    x, y = forward_16(n, d, v, x, y)
    few = n <= 3.0
    a, a_low = a if few else x, a_low if few else 0.0
    b, b_low = b if few else y, b_low if few else 0.0
    N_many, N_many_low, M_many, M_many_low = fraction_of_e(f, p, a, b)
    N_many_low = fma(p, b_low, N_many_low)
    M_many_low += fma(p, a_low, (f - 1.0 + p) * b_low)
    x, x_low = two_product(v, a)
    x_low += fma(v, a_low, v_low * a)
    H_many, H_many_low = dd_add(b, b_low, -x, -x_low)
    return (
        N_many if many else (N_one if one else N),
        N_many_low if many else (N_one_low if one else N_low),
        M_many if many else (q if one else M),
        M_many_low if many else (q_low if one else M_low),
        H_many if many else (H_one if one else H),
        H_many_low if many else (H_one_low if one else H_low),
    )


# --- p not small ---------------------------------------------------------------------


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
_positive_32 = positive(16, 9)
_positive_16 = positive(8, 1)


@kernel
def _e_positive(f: float, p: float) -> DoubleDouble:
    """Return (a, b) with E = a/b for f >= 4 and p >= 0.3, to some 2^-52 of itself.

    The fraction of ``levels_29`` loses more of E, for it subtracts.
    """
    x, y = _positive_32(f, p, p, 1.0)
    x, y = _positive_16(f, p, x, y)
    return x, fma(f, y, x)


@kernel
def _down(
    less: float, p: float, q: float, q_low: float,
    a: float, a_low: float, b: float, b_low: float,
) -> Pairs:  # fmt: skip
    """Return the pairs of (a', b') with E(g) = a'/b' from E(g + 1) = a/b, less = g - 1.

    a' = p b - (g-1) q a, b' = q a + p (g+1) b.
    """
    t, t_low = dd_multiply_positive(q, q_low, a, a_low)
    x, x_low = dd_multiply_double(t, t_low, less)
    y, y_low = dd_multiply_double(b, b_low, p)
    a, a_low = dd_add(y, y_low, -x, -x_low)
    x, x_low = dd_multiply_double(y, y_low, less)
    x, x_low = dd_add_positive(2.0 * y, 2.0 * y_low, x, x_low)
    b, b_low = dd_add_positive(x, x_low, t, t_low)
    return a, a_low, b, b_low


@kernel
def backward_real(f: float, p: float) -> Parts:
    """Return the parts of r for f < 2 or f < 4, no integer, and p >= 0.3."""
    q = 1.0 - p
    q_low = (1.0 - q) - p
    n = 3.0 if f >= 3.0 else (2.0 if f >= 2.0 else 1.0)
    below_one = f < 1.0
    d = f if below_one else f - n
    # Down to n + d, for f < 1 to f + 1, in pairs.
    a, b = _e_positive(4.0 + d, p)
    a_low = b_low = 0.0
    for step in (3.0, 2.0):
        x, x_low, y, y_low = _down(step - 1.0 + d, p, q, q_low, a, a_low, b, b_low)
        down = step > n
        a, a_low = x if down else a, x_low if down else a_low
        b, b_low = y if down else b, y_low if down else b_low
    less = (n - 1.0) + d
    above, above_low, below, below_low = _down(less, p, q, q_low, a, a_low, b, b_low)
    # w = p + q E(g), times below.
    px, px_low = dd_multiply_double(below, below_low, p)
    qx, qx_low = dd_multiply_positive(above, above_low, q, q_low)
    w, w_low = dd_add_positive(px, px_low, qx, qx_low)
    # f < 1: r = (p f + w)/(f (f + w)), dr/dp = (f w/p)/(f (f + w)).
    y, y_low = dd_multiply_double(px, px_low, f)
    N, N_low = dd_add_positive(w, w_low, y, y_low)
    y, y_low = dd_multiply_double(below, below_low, f)
    y, y_low = dd_add_positive(w, w_low, y, y_low)
    M, M_low = dd_multiply_double(y, y_low, f)
    H, H_low = dd_multiply_double(w, w_low, f)
    H, H_low = quotient_pair(H, H_low, p, 0.0)
    # f > 1: r = p/(f - 1 + w), dr/dp = (1 - E)/(f - 1 + w).
    y, y_low = dd_multiply_double(below, below_low, less)
    y, y_low = dd_add_positive(w, w_low, y, y_low)
    C, C_low = dd_add(below, below_low, -above, -above_low)
    return (
        N if below_one else px,
        N_low if below_one else px_low,
        M if below_one else y,
        M_low if below_one else y_low,
        H if below_one else C,
        H_low if below_one else C_low,
    )
