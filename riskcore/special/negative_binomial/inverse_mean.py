"""The mean of 1/(f + X), X negative binomial of any shape, or Poisson.

    r(f, s, p) = E[1/(f + X)] = (p/f) 2F1(1, f+1-s; f+1; q),   q = 1 - p,

with P(X = 0) = p^s; f = s is the individual risk (``special/gauss``). With a = s - f
and the resolvent D = p/r,

    D = b + h (A/B),   b = f p + (s - 1) q,

where the second term is small beside b, and A/B comes from one of three places
(notes/prior.md, sections 2 to 4):

- f = 1, and integers from it: T = (1 - p^a)/a, then contiguity upwards;
- Gauss's continued fraction, for p that is not small;
- Noerlund's continued fraction, for b or s that are not small.

Everything else is left to ``inverse_mean_pairs``. The Poisson law is the limit s q/p =
mu, p -> 1, and has Noerlund's fraction alone.
"""

from __future__ import annotations

from riskcore.compiled.jit import kernel
from riskcore.special.double_double import DoubleDouble, dd_add
from riskcore.special.elementary import log_high_low
from riskcore.special.floats import fast_two_sum, fma, two_product, two_sum
from riskcore.special.gauss.regions import quotient_pair
from riskcore.special.near_one import dd_expm1, dd_log1p
from riskcore.special.negative_binomial.inverse_mean_pairs import (
    below_one,
    inverse_mean_pair,
)

# --- regions -------------------------------------------------------------------------

# From this b on Noerlund's fraction for every p: its error falls like n!/b^n at first.
B_LARGE = 30.0
# From this b on for every f and s.
B_HUGE = 64.0
_B_VAST = 2.0**30
_TWO_52 = 2.0**52  # adding it rounds to an integer
# From this a on, too, for f >= 1.
A_LARGE = 20.0
# Below this p integers go upwards from f = 2; up to f = 4 below the other. As without a
# prior: special/gauss/regions.py.
P_FORWARD = 0.3
P_SMALL = 0.5
F_SMALL = 4.0
# Integers from here on are like other numbers.
F_FRACTION = 32.0
# Below this a the terms of b cancel, and f is not the smaller part of s.
A_SMALLEST = -0.5
# Up to this a Gauss's fraction needs fewer levels.
A_SMALL = 4.0

# Regions. All but OTHER have loops that vectorise.
ONE = 0  # f = 1: by logarithm and exponential
FORWARD_4 = 1  # f = 2, 3, 4, p not near 1: contiguity upwards
FORWARD_31 = 2  # integer f from 5 to 31, p small: the same
GAUSS_31 = 3  # Gauss's fraction, 31 levels
GAUSS_41 = 4
NOERLUND_3 = 5  # Noerlund's fraction, 3 levels
NOERLUND_16 = 6
NOERLUND_22 = 7
NOERLUND_36 = 8
NOERLUND_52 = 9
OTHER = 10
REGIONS = 11


@kernel
def region(f: float, a: float, p: float, b: float) -> int:
    """Return the number of the region, for a = s - f, b = f p + (s - 1) q, p < 1."""
    if (f == 1.0) & (a < A_LARGE):
        return ONE
    if (f < 1.0) | (a < A_SMALLEST):
        return NOERLUND_22 if b >= B_HUGE else OTHER
    if (a >= A_LARGE) | (b >= B_LARGE):
        return noerlund_region(b, a < A_LARGE, p < P_SMALL)
    whole = (f < F_FRACTION) & ((f + _TWO_52) - _TWO_52 == f)
    if whole & (f <= F_SMALL) & (p < P_SMALL):
        return FORWARD_4
    if whole & (f > F_SMALL) & (p < P_FORWARD):
        return FORWARD_31
    few = a < A_SMALL
    if (f >= 2.0) & (p >= P_FORWARD) | few & (p >= P_SMALL):
        return GAUSS_31 if few else GAUSS_41
    return OTHER


@kernel
def noerlund_region(b: float, moderate: bool, small: bool) -> int:
    """Return the region whose levels leave less than 2^-54 of D.

    ``moderate`` says that b is large for f, not for a; ``small`` that p < 1/2: there
    the fraction diverges in the end, and more levels would be worse.
    """
    if b >= _B_VAST:
        return NOERLUND_3
    if b >= B_HUGE:
        return NOERLUND_22
    if moderate & (b >= B_LARGE):
        return NOERLUND_16
    return NOERLUND_36 if small else NOERLUND_52


@kernel
def levels_of(where: int) -> int:
    """Return the levels of a region of Noerlund's fraction."""
    if where == NOERLUND_3:
        return 3
    if where == NOERLUND_16:
        return 16
    if where == NOERLUND_22:
        return 22
    return 36 if where == NOERLUND_36 else 52


@kernel
def pairs_of(where: int) -> int:
    """Return half the levels, less one, of a region of Gauss's fraction."""
    return 15 if where == GAUSS_31 else 20


# --- the parts of D ------------------------------------------------------------------


@kernel
def base(f: float, s: float, p: float) -> DoubleDouble:
    """Return b = f p + (s - 1) q."""
    q = 1.0 - p
    q_low = (1.0 - q) - p
    less, less_low = two_sum(s, -1.0)
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
    N = p * below
    product = b * below
    M = fma(h, above, product)
    M_low = fma(h, above, product - M) + fma(b_low, below, fma(b, below, -product))
    return quotient_pair(N, fma(p, below, -N), M, M_low)


@kernel
def less_power(a: float, a_low: float, high: float, low: float) -> DoubleDouble:
    """Return T = (1 - p^a)/a for a that is not 0, given log p = high + low."""
    high, low = fast_two_sum(high, low)
    x, x_low = two_product(a, high)
    x_low = fma(a, low, fma(a_low, high, x_low))
    power, power_low = dd_expm1(*fast_two_sum(x, x_low))
    T = power / -a
    return T, (fma(T, a, power) + fma(T, a_low, power_low)) / -a


@kernel
def of_one(p: float, T: float, T_low: float) -> DoubleDouble:
    """Return r for f = 1: p T/q."""
    q = 1.0 - p
    N = p * T
    return quotient_pair(N, fma(p, T_low, fma(p, T, -N)), q, (1.0 - q) - p)


@kernel
def of_two(a: float, a_low: float, p: float, T: float, T_low: float) -> DoubleDouble:
    """Return (A, B) with D = b + p A/B for f = 2.

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
    A += A_low + (product_low - 2.0 * q_low)
    product, product_low = two_product(p, T)
    B, B_low = two_sum(q, -product)
    B += B_low + (q_low - fma(p, T_low, product_low))
    return A, B


@kernel
def upwards(
    g: float, f: float, a: float, p: float, A: float, B: float
) -> tuple[float, float]:
    """Return (A, B) for g + 1 from those for g, or as they are for g >= f."""
    t = p / (1.0 - p) * A
    A_next = fma(1.0 - a, B, -((g + 1.0) * t))
    B_next = fma(g + (a - 1.0), B, t)
    return A_next if g < f else A, B_next if g < f else B


@kernel
def gauss_tail(f: float, a: float, q: float, m: float) -> tuple[float, float]:
    """Return (U(2m+1), U(2m+2)) of Gauss's fraction, the last one guessed.

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
def _gauss(f: float, s: float, a: float, q: float, pairs: int) -> tuple[float, float]:
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
    b: float, p: float, step: float, square: float, first: float,
    k: float, x: float, y: float,
) -> tuple[float, float]:  # fmt: skip
    """Return numerator and denominator of V(k) from those of V(k+1).

    V(k) >= k p: for p < 1/2 the deep levels need to be told.
    """
    above = fma(fma(k, step, b), x, ((k + 1.0) * fma(k, square, first)) * y)
    return max(above, (k * p) * x), x


@kernel
def _noerlund(
    b: float, p: float, step: float, square: float, first: float, levels: int
) -> tuple[float, float]:
    """Return (A, B) with D = b + first A/B, B/A = V(1)."""
    x, y = noerlund_tail(b, step, float(levels)), 1.0
    for k in range(levels - 1, 0, -1):
        x, y = noerlund_step(b, p, step, square, first, float(k), x, y)
    return y, x


# --- the whole plane -----------------------------------------------------------------


@kernel
def inverse_mean(f: float, s: float, p: float) -> DoubleDouble:
    """Return r(f, s, p) and its rest, for f, s > 0 and 0 < p <= 1."""
    a, a_low = two_sum(s, -f)
    if (p == 1.0) | ((a == 1.0) & (a_low == 0.0)):
        return quotient_pair(p, 0.0, f, 0.0)
    q = 1.0 - p
    b, b_low = base(f, s, p)
    where = region(f, a, p, b)
    if where <= FORWARD_31:
        T, T_low = less_power(a, a_low, *log_high_low(p, 0.0))
        if where == ONE:
            return of_one(p, T, T_low)
        above, below = of_two(a, a_low, p, T, T_low)
        for g in range(2, int(f)):
            above, below = upwards(float(g), f, a, p, above, below)
        return of_parts(p, b, b_low, p, above, below)
    if where <= GAUSS_41:
        above, below = _gauss(f, s, a, q, pairs_of(where))
        return of_parts(p, b, b_low, (1.0 - a) * q, above, below)
    if where <= NOERLUND_52:
        square = p * q
        first = (1.0 - a) * square
        above, below = _noerlund(b, p, p - q, square, first, levels_of(where))
        return of_parts(p, b, b_low, first, above, below)
    return inverse_mean_pair(f, s, p)


@kernel
def inverse_mean_poisson(f: float, mu: float) -> DoubleDouble:
    """Return E[1/(f + X)] and its rest, X Poisson of mean mu >= 0."""
    if mu == 0.0:
        return quotient_pair(1.0, 0.0, f, 0.0)
    if f == 1.0:
        less, less_low = dd_expm1(-mu, 0.0)
        return quotient_pair(-less, -less_low, mu, 0.0)
    b, b_low = two_sum(f, mu)
    if (f < 1.0) & (b < B_HUGE):
        b, b_low = dd_add(b, b_low, 1.0, 0.0)
        return below_one(f, 1.0, (b, b_low), (1.0, 0.0), 0.0, (-mu, 0.0))
    levels = levels_of(noerlund_region(b, f >= B_LARGE, False))
    above, below = _noerlund(b, 1.0, 1.0, 0.0, -mu, levels)
    return of_parts(1.0, b, b_low, -mu, above, below)


# --- logarithms ----------------------------------------------------------------------

# From this r, p and f on the logarithm is formed from D - p, not from r.
_R_NEAR_ONE = 0.5


@kernel
def _log_of(r: float, r_low: float) -> float:
    if abs(r - 1.0) < 0.25:
        high, low = dd_log1p(r - 1.0, r_low)
        return high + low
    high, low = log_high_low(r, 0.0)
    return high + (low + r_low / r)


@kernel
def log_inverse_mean(f: float, s: float, p: float) -> float:
    """Return log r(f, s, p).

    For f >= 1 and p near 1, -log(1 + (D - p)/p), D - p = (f - 1) + q (a + (1 - a) E),
    E = A/B of Gauss's fraction or p A/B of Noerlund's: right also where r is near 1.
    """
    r, r_low = inverse_mean(f, s, p)
    a, _ = two_sum(s, -f)
    if (r < _R_NEAR_ONE) | (f < 1.0) | (p < P_SMALL) | (a < A_SMALLEST):
        return _log_of(r, r_low)
    if (a == 1.0) | (p == 1.0):  # r = p/f
        high, low = dd_log1p(-((f - p) / f), 0.0)
        return high + low
    q = 1.0 - p
    if a < A_LARGE:
        above, below = _gauss(f, s, a, q, 20)
        E = above / below
    else:
        b, _ = base(f, s, p)
        first = (1.0 - a) * (p * q)
        levels = levels_of(noerlund_region(b, False, False))
        above, below = _noerlund(b, p, p - q, p * q, first, levels)
        E = p * above / below
    rest = (f - 1.0) + q * (a + (1.0 - a) * E)
    high, low = dd_log1p(rest / p, 0.0)
    return -(high + low)


@kernel
def log_inverse_mean_poisson(f: float, mu: float) -> float:
    """Return log E[1/(f + X)]; for f = 1 and small mu from 1 - r."""
    r, r_low = inverse_mean_poisson(f, mu)
    if (r < _R_NEAR_ONE) | (f < 1.0):
        return _log_of(r, r_low)
    # D - 1 = (f - 1) + mu (1 - 1/V).
    above, below = _noerlund(f + mu, 1.0, 1.0, 0.0, -mu, 52)
    rest = (f - 1.0) + mu * ((below - above) / below)
    high, low = dd_log1p(rest, 0.0)
    return -(high + low)
