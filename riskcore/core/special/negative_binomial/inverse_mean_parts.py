"""The steps of E[1/(f + X)]: of one cell, and of one level of a loop over many.

With r = p/D and a = s - f, D = b + h (A/B), b = f p + (s - 1) q: the kernels here
return b, the numbers A and B, and the quotient (notes/posterior.md, sections 7 to 10).
"""

from __future__ import annotations

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_multiply_double,
    dd_multiply_positive,
    quotient_pair,
)
from riskcore.core.special.floats import fast_two_sum, fma, two_product, two_sum
from riskcore.core.special.near_one import expm1_pair

Ratio = tuple[float, float, float, float]  # numerator and denominator, two pairs

# The first steps upwards, of f - n + k for k below this, are in pairs of doubles.
PAIR_STEPS = 4
# Up to this mean r of the Poisson law is 1 for f = 1; its inverse must be a double.
_SMALLEST_MEAN = 2.0**-200


@kernel
def base(f: float, s: float, p: float) -> DoubleDouble:
    """Return b = f p + (s - 1) q."""
    return mixture(f, *two_sum(s, -1.0), p)


@kernel
def mixture(f: float, less: float, less_low: float, p: float) -> DoubleDouble:
    """Return f p + (less + less_low) q."""
    q = 1.0 - p
    q_low = (1.0 - q) - p
    first, first_low = two_product(f, p)
    second, second_low = two_product(less, q)
    high, low = two_sum(first, second)
    rest = fma(less, q_low, less_low * q)
    return fast_two_sum(high, low + ((first_low + second_low) + rest))


@kernel
def of_parts(
    p: float, b: float, b_low: float, h: float, above: float, below: float
) -> DoubleDouble:
    """Return p/(b + h above/below) for positive b, below, by one division."""
    return of_pairs(p, b, b_low, h, (above, 0.0, below, 0.0))


@kernel
def of_pairs(p: float, b: float, b_low: float, h: float, ratio: Ratio) -> DoubleDouble:
    """Return p/(b + h A/B) for positive b and B, from pairs A and B."""
    A, A_low, B, B_low = ratio
    N = p * B
    N_low = fma(p, B_low, fma(p, B, -N))
    product = b * B
    M = fma(h, A, product)
    M_low = fma(h, A, product - M) + fma(b_low, B, fma(b, B, -product))
    return quotient_pair(N, N_low, M, M_low + fma(h, A_low, b * B_low))


@kernel
def cut(steps: float, ratio: Ratio) -> Ratio:
    """Return A and B as doubles if more steps follow than run in pairs."""
    A, A_low, B, B_low = ratio
    kept = steps < PAIR_STEPS
    return A, A_low if kept else 0.0, B, B_low if kept else 0.0


@kernel
def less_power(a: float, a_low: float, high: float, low: float) -> DoubleDouble:
    """Return T = (1 - p^a)/a for a != 0, given log p = high + low."""
    high, low = fast_two_sum(high, low)
    x, x_low = two_product(a, high)
    x_low = fma(a, low, fma(a_low, high, x_low))
    power, power_low = expm1_pair(*fast_two_sum(x, x_low))
    T = power / -a
    return T, (fma(T, a, power) + fma(T, a_low, power_low)) / -a


@kernel
def of_one(p: float, T: float, T_low: float) -> DoubleDouble:
    """Return r for f = 1: p T/q."""
    q = 1.0 - p
    N = p * T
    return quotient_pair(N, fma(p, T_low, fma(p, T, -N)), q, (1.0 - q) - p)


@kernel
def poisson_of_one(mu: float) -> DoubleDouble:
    """Return r = (1 - exp(-mu))/mu of the Poisson law for f = 1."""
    mu = max(mu, _SMALLEST_MEAN)
    less, less_low = expm1_pair(-mu, 0.0)
    return quotient_pair(-less, -less_low, mu, 0.0)


@kernel
def of_two(a: float, a_low: float, p: float, T: float, T_low: float) -> Ratio:
    """Return A and B with D = b + p A/B for f = 2, as pairs.

    A = T (1 + p + a q) - 2 q, B = q - p T: both may cancel to a tenth or less.
    """
    q = 1.0 - p
    q_low = (1.0 - q) - p
    aq, aq_low = two_product(a, q)
    c, c_low = two_sum(1.0 + p, aq)
    c_low += (p - ((1.0 + p) - 1.0)) + (aq_low + fma(a, q_low, a_low * q))
    product, product_low = two_product(T, c)
    product_low = fma(T, c_low, fma(T_low, c, product_low))
    A, A_low = two_sum(product, -2.0 * q)
    A, A_low = fast_two_sum(A, A_low + (product_low - 2.0 * q_low))
    product, product_low = two_product(p, T)
    B, B_low = two_sum(q, -product)
    return A, A_low, B, B_low + (q_low - fma(p, T_low, product_low))


@kernel
def pair_upwards(
    g: float, f: float, a: float, a_low: float, p: float, ratio: Ratio
) -> Ratio:
    """Return ``upwards`` times q, from pairs A and B.

    For p near 1/2 the first two steps enlarge errors, when the numbers are not yet
    small.
    """
    A, A_low, B, B_low = ratio
    q = 1.0 - p
    q_low = (1.0 - q) - p
    less, less_low = two_sum(1.0, -a)
    c, c_low = dd_multiply_positive(less, less_low - a_low, q, q_low)
    d, d_low = dd_multiply_double(q, q_low, g)
    d, d_low = dd_add(d, d_low, -c, -c_low)
    t, t_low = dd_multiply_double(A, A_low, p)
    x, x_low = dd_multiply_positive(d, d_low, B, B_low)
    x, x_low = dd_add(x, x_low, t, t_low)
    c, c_low = dd_multiply_positive(c, c_low, B, B_low)
    t, t_low = dd_multiply_double(t, t_low, g + 1.0)
    y, y_low = dd_add(c, c_low, -t, -t_low)
    done = g >= f
    return (
        A if done else y,
        A_low if done else y_low,
        B if done else x,
        B_low if done else x_low,
    )


@kernel
def upwards(
    g: float, f: float, a: float, p: float, A: float, B: float
) -> tuple[float, float]:
    """Return (A, B) for g + 1 from those for g, unchanged for g >= f."""
    t = p / (1.0 - p) * A
    A_next = fma(1.0 - a, B, -((g + 1.0) * t))
    B_next = fma(g + (a - 1.0), B, t)
    return A_next if g < f else A, B_next if g < f else B


@kernel
def gauss_tail(f: float, a: float, q: float, m: float) -> tuple[float, float]:
    """Return (U(2m+1), U(2m+2)) of Gauss's fraction, the second a guess.

    S(n) = f + n - 1 - c q/S(n+1), c = (m + 1 - a)(f + m) for n = 2m + 1, m (s + m - 1)
    for n = 2m, as quotients S(n) = U(n)/U(n+1); D = S(1).
    """
    y = f + 2.0 * m + 1.0 - (m + 1.0) * q
    return fma(f + 2.0 * m, y, -(((m + 1.0) - a) * q * (f + m))), y


@kernel
def gauss_step(
    f: float, s: float, a: float, q: float, m: float, x: float, y: float
) -> tuple[float, float]:
    """Return (U(2m-1), U(2m)) from (U(2m+1), U(2m+2))."""
    z = fma(f + (2.0 * m - 1.0), x, -((m * q) * (s + (m - 1.0)) * y))
    less = m - 1.0
    return fma(f + 2.0 * less, z, -(((m - a) * q) * (f + less) * x)), z


@kernel
def gauss_end(f: float, s: float, q: float, x: float, y: float) -> tuple[float, float]:
    """Return (A, B) with D = b + (1 - a) q A/B from (U(3), U(4))."""
    above = fma(-(s * q), y, x)
    return above, fma(f, x, above)


@kernel
def gauss(f: float, s: float, a: float, q: float, pairs: int) -> tuple[float, float]:
    """Return (A, B) with D = b + (1 - a) q A/B, by 2 pairs + 1 levels."""
    x, y = gauss_tail(f, a, q, float(pairs))
    for m in range(pairs, 1, -1):
        x, y = gauss_step(f, s, a, q, float(m), x, y)
    return gauss_end(f, s, q, x, y)


@kernel
def noerlund_tail(b: float, step: float, k: float) -> float:
    """Return a guess of V(k).

    V(k) = b + k step + (k+1)(first + k square)/V(k+1), D = V(0).
    """
    return max(fma(k, step, b), 0.5 * b)


@kernel
def noerlund_step(
    b: float,
    p: float,
    step: float,
    square: float,
    first: float,
    k: float,
    x: float,
    y: float,
) -> tuple[float, float]:
    """Return numerator and denominator of V(k) from those of V(k+1).

    V(k) >= k p: for p < 1/2 the deep levels need this bound.
    """
    above = fma(fma(k, step, b), x, ((k + 1.0) * fma(k, square, first)) * y)
    return max(above, (k * p) * x), x


@kernel
def noerlund(
    b: float, p: float, step: float, square: float, first: float, levels: int
) -> tuple[float, float]:
    """Return (A, B) with D = b + first A/B, B/A = V(1)."""
    x, y = noerlund_tail(b, step, float(levels)), 1.0
    for k in range(levels - 1, 0, -1):
        x, y = noerlund_step(b, p, step, square, first, float(k), x, y)
    return y, x
