"""The Gauss function G(f, q) = 2F1(1, 1; f+1; q), f > 0, 0 <= q < 1, p = 1 - q.

Everything the package needs of it comes from one pair of numbers, its *resolvent*

    D = f/G        between p and f,
    C in [0, 1]    with  D = f - q C,

because G = f/D and (G - 1)/q = C/D, both without cancellation. D itself is formed as
(f - 1 + p) + q E with E = 1 - C, which satisfies a contiguity relation in f and an
all-positive continued fraction in p (notes/individual_risk.md, sections 3 and 4):

    E(f+1) = (p/q) (1 - (f+1) E(f)) / (f - 1 + E(f))
    E(f) = X1/(f + X1),   Xn = (p b Y + k X)/(b Y + k X) with X/Y = Xn+1,
    k = 1 + ceil(n/2),  b = f + floor(n/2).

For f >= 2 the term q E is at most 10.4 % of D: E's own error hardly counts. D has two
words, D + D_low, so that a quotient by it is rounded little more than once.

The plane is cut into regions; each method stands under the test of where it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from riskcore._jit import kernel
from riskcore.special.elementary import exp_parts, exprel, log_parts, log_words
from riskcore.special.floats import fast_two_sum, fma, two_product, two_sum

Pair = tuple[float, float]
Triple = tuple[float, float, float]

# Regions. All but OTHER have loops that vectorise.
ONE = 0  # f = 1, p not near 1: by the logarithm
SMALL = 1  # f = 2, 3, 4, p not near 1: contiguity upwards from f = 2
FORWARD_15 = 2  # integer f from 5 to 15, p small: the same
LEVELS_32 = 3  # continued fraction, p not small or f >= 16
LEVELS_15 = 4  # the same, p near 1 or f >= 32
OTHER = (
    5  # other f below 2, or not integers with p small; p < 2^-960; not in the domain
)
REGIONS = 6

# Below this p the contiguity relation runs upwards from f = 2 to any f: a relative
# error of E grows at most 1.9 and 1.2 times in the first two steps, and falls from then
# on. Above it the fraction needs no more than 32 levels.
P_FORWARD = 0.3
# Two steps are harmless up to here, for E(3) and E(4) count less than E(2) in D.
P_SMALL = 0.5
# From this p on the fraction needs 15 levels.
P_NEAR_ONE = 0.75
# Below it products of p underflow, and p is nothing beside 1.
RARE = 2.0**-960
# Below these p the expansion in p/q, of at most 28 terms, takes over from the fraction:
# for f < 1.25, for f < 1.5 and for larger f. Above them it loses digits, in T for f up
# to 1.5 and then on the way up.
P_EXPANSION = (0.2, 0.1, 0.03)
_SCALE = 2.0**1000
_TWO_52 = 2.0**52  # adding it rounds to an integer
_TWO_60 = 2.0**60


@kernel
def region(f: float, p: float) -> int:
    """Return the number of the region of (f, p)."""
    # Nothing here branches, and comparisons are few, so that a loop of it is fast.
    one = f == 1.0
    integer = (f + _TWO_52) - _TWO_52 == f
    upwards = SMALL if f <= 4.0 else FORWARD_15
    upwards = (ONE if one else upwards) if integer & (f >= 1.0) else OTHER
    below = P_NEAR_ONE if one else (P_SMALL if f <= 4.0 else P_FORWARD)
    levels = LEVELS_32 + (p >= P_NEAR_ONE) if one | (f >= 2.0) else OTHER
    where = upwards if p < below else levels
    where = LEVELS_32 + (f >= 32.0) if f >= 16.0 else where
    return where if (p >= RARE) & (p <= 1.0) else OTHER


@kernel
def scale(f: float, p: float) -> float:
    """Return the factor by which the resolvent multiplies D: 1, or 2^1000.

    For f < 1 and tiny p, D (about p f for small f) may be too small for a double
    where p/D is not.
    """
    return _SCALE if (f < 1.0) & (p < 2.0**-40) else 1.0


@kernel
def quotient_parts(a: float, a_low: float, b: float, b_low: float) -> Pair:
    """Return (a + a_low)/(b + b_low) in two words."""
    reciprocal = 1.0 / b
    r = a * reciprocal
    return r, fma(-r, b_low, fma(-r, b, a) + a_low) * reciprocal


@kernel
def quotient(a: float, a_low: float, b: float, b_low: float) -> float:
    """Return (a + a_low)/(b + b_low), rounded little more than once."""
    r, r_low = quotient_parts(a, a_low, b, b_low)
    return r + r_low


@kernel
def _from_e(f: float, p: float, E: float) -> Triple:
    """Return D = (f - 1) + p + q E in two words and C = 1 - E, for f >= 1."""
    base = f - 1.0
    high, low = two_sum(base, p)
    low += (f - base) - 1.0  # f - 1 is not exact above 2^53
    q = 1.0 - p
    D = fma(q, E, high)
    return D, fma(q, E, high - D) + low, 1.0 - E


# --- f = 1 to 4, by the logarithm --------------------------------------------------


@kernel
def _times_log(p: float, high: float, low: float) -> tuple[float, float, float, float]:
    """Return q = 1 - p and p log p in two words each, given log p = high + low."""
    q = 1.0 - p
    n = p * high
    return q, (1.0 - q) - p, n, fma(p, low, fma(p, high, -n))


@kernel
def _e_two(p: float, high: float, low: float) -> Pair:
    """Return E(2) = v ((1+p) L - 2q)/(q - p L) as a/b; v = p/q, L = -high - low.

    Both differences may cancel to a tenth or less, hence the second words.
    """
    q, q_low, n, n_low = _times_log(p, high, low)
    rest = q_low + n_low
    above = (fma(-2.0, q, -high) - n) - (low + (rest + q_low))
    below = (q + n) + rest
    return p * above, q * below


@kernel
def _e_small(f: float, p: float, high: float, low: float) -> Pair:
    """Return E(f) as a/b for f = 2, 3, 4."""
    q = 1.0 - p
    a, b = _e_two(p, high, low)
    # The steps past f are taken and dropped: no branch, so the loop vectorises.
    a_3 = p * fma(-3.0, a, b)
    b_3 = q * (b + a)
    a_4 = p * fma(-4.0, a_3, b_3)
    b_4 = q * fma(2.0, b_3, a_3)
    a = a_4 if f == 4.0 else (a_3 if f == 3.0 else a)
    b = b_4 if f == 4.0 else (b_3 if f == 3.0 else b)
    return a, b


@kernel
def fraction_one(p: float, high: float, low: float) -> tuple[float, ...]:
    """Return p/D for f = 1, as N + N_low over M + M_low, and C to some ulp.

    p/D = p L/q, C = 1 - (q - p L)/(q L), L = -log p = -high - low (DLMF 15.4.1).
    """
    q, q_low, n, n_low = _times_log(p, high, low)
    return -n, -n_low, q, q_low, 1.0 + (q + n) / (q * high)


@kernel
def fraction_small(f: float, p: float, high: float, low: float) -> tuple[float, ...]:
    """Return p/D for f = 1, ..., 4, as N + N_low over M + M_low, and C to some ulp.

    With E = a/b, p/D = p b/((f - 1 + p) b + q a): one division instead of two.
    """
    q = 1.0 - p
    a, b = _e_small(f, p, high, low)
    base, base_low = fast_two_sum(f - 1.0, p)
    N = p * b
    product = base * b
    M = fma(q, a, product)
    M_low = fma(q, a, product - M) + fma(base_low, b, fma(base, b, -product))
    N_one, N_one_low, M_one, M_one_low, C_one = fraction_one(p, high, low)
    one = f == 1.0
    return (
        N_one if one else N,
        N_one_low if one else fma(p, b, -N),
        M_one if one else M,
        M_one_low if one else M_low,
        C_one if one else 1.0 - a / b,
    )


@kernel
def resolvent_one(p: float, high: float, low: float) -> Triple:
    """Return (D, D_low, C) for f = 1: D = q/L, C = (L - q)/(q L), L = -high - low."""
    q, q_low, _, _ = _times_log(p, high, low)
    D, D_low = quotient_parts(q, q_low, -high, -low)
    above = -high - q
    above_low = (-high - above) - q - (low + q_low)
    below = -q * high
    below_low = -fma(q, high, below) - fma(q, low, q_low * high)
    return D, D_low, quotient(above, above_low, below, below_low)


@kernel
def resolvent_small(f: float, p: float, high: float, low: float) -> Triple:
    """Return (D, D_low, C) for f = 1, ..., 4, given log p = high + low."""
    a, b = _e_small(f, p, high, low)
    D, D_low, C = _from_e(f, p, a / b)
    D_one, D_one_low, C_one = resolvent_one(p, high, low)
    one = f == 1.0
    return (
        D_one if one else D,
        D_one_low if one else D_low,
        C_one if one else C,
    )


# --- f = 5 to 15, upwards from E(2) ------------------------------------------------


def _forward(first: int, last: int) -> Callable[..., Pair]:
    """Make the kernel that takes E = a/b from f = first up to f, at most to last."""

    @kernel
    def forward(f: float, p: float, q: float, a: float, b: float) -> Pair:
        for g in range(first, last):
            a_next = p * fma(-(g + 1.0), a, b)
            b_next = q * fma(g - 1.0, b, a)
            a = a_next if g < f else a
            b = b_next if g < f else b
        return a, b

    return forward


_forward_10 = _forward(4, 10)
_forward_15 = _forward(10, 15)  # the compiler unrolls only short loops


@kernel
def resolvent_forward_15(f: float, p: float) -> Triple:
    """Return (D, D_low, C) for integer f from 5 to 15 by contiguity from f = 2."""
    q = 1.0 - p
    high, low = log_words(p, 0.0)
    a, b = _e_small(4.0, p, high, low)
    a, b = _forward_10(f, p, q, a, b)
    a, b = _forward_15(f, p, q, a, b)
    return _from_e(f, p, a / b)


# --- the continued fraction --------------------------------------------------------


def _climb(first: int, last: int) -> Callable[[float, float, float, float], Pair]:
    """Make the kernel that takes X/Y from level 2*first + 1 down to 2*last - 1."""

    @kernel
    def climb(f: float, p: float, x: float, y: float) -> Pair:
        for m in range(first, last - 1, -1):
            k = m + 1.0
            t = (f + m) * y
            u = k * x
            x, y = fma(p, t, u), t + u
            t = (f + (m - 1.0)) * y
            u = k * x
            x, y = fma(p, t, u), t + u
        return x, y

    return climb


def _levels(levels: int) -> Callable[[float, float], Pair]:
    """Make the kernel (f, p) -> (X, Y) with X1 = X/Y, for f <= 2^60.

    The number of levels is a constant and the loop comes in two halves, so that the
    compiler unrolls them and vectorises the loop over cells. With the tail X = p, 32
    levels leave an error below 2^-58 of D for p >= 0.3 or f >= 16, 64 for p >= 0.2 (0.1 from f = 2.25) and 112 for p >= 0.03
    and f >= 1.5.
    """
    pairs = levels // 2
    upper = _climb(pairs, pairs // 2 + 1)
    lower = _climb(pairs // 2, 1)

    @kernel
    def first_level(f: float, p: float) -> Pair:
        x, y = upper(f, p, p, 1.0)
        return lower(f, p, x, y)

    return first_level


def _by_levels(levels: int) -> Callable[[float, float], Triple]:
    """Make the kernel (f, p) -> (D, D_low, C) of the continued fraction, for f >= 1."""
    first_level = _levels(levels)

    @kernel
    def resolvent_levels(f: float, p: float) -> Triple:
        # Past 2^60 the term q E is far below an ulp of D; the bound keeps the
        # denominators, which grow like f^levels, from overflowing.
        g = min(f, _TWO_60)
        x, y = first_level(g, p)
        E = x / fma(g, y, x)
        return _from_e(f, p, E)

    return resolvent_levels


resolvent_32 = _by_levels(32)
_resolvent_112 = _by_levels(112)
_levels_64 = _levels(64)


def _downwards(first: int, last: int) -> Callable[..., Pair]:
    """Make the kernel that takes U(n+1), U(n+2) from n = 2*first + 2 to 2*last + 1."""

    @kernel
    def downwards(f: float, q: float, x: float, y: float) -> Pair:
        for m in range(first, last - 1, -1):
            kbq = ((m + 1.0) * q) * (f + m)
            x, y = fma(f + (2.0 * m + 1.0), x, -(kbq * y)), x
            x, y = fma(f + 2.0 * m, x, -(kbq * y)), x
        return x, y

    return downwards


_downwards_upper = _downwards(6, 4)
_downwards_lower = _downwards(3, 1)


@kernel
def resolvent_15(f: float, p: float) -> Triple:
    """Return (D, D_low, C) for f >= 32, or f = 1 or f >= 2 and p near 1.

    The same fraction as S(n) = f + n - 1 - k b q/S(n+1), D = S(1), with the quotients
    S(n) = U(n)/U(n+1): half as long a chain of operations. It subtracts, which is
    harmless here, where q C is small beside D = f - q C.
    """
    q = 1.0 - p
    # The bound keeps U, which grows like f^15, from overflowing; past it D = f.
    g = min(f, _TWO_60)
    y = fma(-8.0, q, g + 15.0)  # S(16) with the tail X = p
    x = fma(g + 14.0, y, -((8.0 * q) * (g + 7.0)))
    x, y = _downwards_upper(g, q, x, y)
    x, y = _downwards_lower(g, q, x, y)
    C = (g * x) / fma(g + 1.0, x, -((g * q) * y))
    D = fma(-q, C, f)
    return D, fma(-q, C, f - D), C


# --- other f ------------------------------------------------------------------------


@kernel
def resolvent_other(f: float, p: float) -> Triple:
    """Return (D, D_low, C) for f < 2, and for f below 16 where p is small."""
    if not ((f > 0.0) & (f < math.inf) & (p > 0.0) & (p <= 1.0)):
        return math.nan, math.nan, math.nan
    near_one, below_three_halves, beyond = P_EXPANSION
    if f < 1.5:
        if p >= (near_one if f < 1.25 else below_three_halves):
            return _resolvent_downward(f, p)
        return _resolvent_expansion(f, p) if f <= 0.5 else _resolvent_forward_real(f, p)
    return _resolvent_112(f, p) if p >= beyond else _resolvent_forward_real(f, p)


@kernel
def _resolvent_downward(f: float, p: float) -> Triple:
    """Return (D, D_low, C) from E(f+1) for f < 1.5, where D cancels or is mostly q E(f).

    r(f) = 1/f - (q/p) r(f+1) becomes, with w = p + q E(f+1), all positive:
    D = p f (f + w)/(p f + w), C = f w/(p f + w).
    """
    if p == 1.0:
        return f, 0.0, f / (f + 1.0)
    x, y = _levels_64(f + 1.0, p)
    w = p + (1.0 - p) * (x / fma(f + 1.0, y, x))
    below, rest = two_product(p, f)
    below, below_low = two_sum(below, w)
    below_low += rest
    above, above_low = two_product(f, w)
    C = quotient(above, above_low, below, below_low)
    total, total_low = two_sum(f, w)
    above, above_low = two_product(p * f, total)
    above_low += fma(p, f, -(p * f)) * total + (p * f) * total_low
    D, D_low = quotient_parts(above, above_low, below, below_low)
    return D, D_low, C


# zeta(2k)/k for k = 27, ..., 1: log(pi e/sin(pi e)) = sum zeta(2k)/k e^(2k).
_REFLECTION = (
    0.03703703703703704, 0.03846153846153847, 0.040000000000000036,
    0.04166666666666682, 0.043478260869565834, 0.04545454545454804,
    0.04761904761905845, 0.05000000000004547, 0.0526315789475599, 0.055555555556363996,
    0.05882352941518869, 0.06250000001455194, 0.06666666672875517, 0.07142857169466671,
    0.07692307806935036, 0.08333333830068242, 0.09090911258640934, 0.10000009539620339,
    0.11111153525480723, 0.12500191028242608, 0.14286589259072266, 0.166707681092218,
    0.2001989150255636, 0.2510193390494861, 0.3391143539948164, 0.5411616168555691,
    1.6449340668482264,
)  # fmt: skip


@kernel
def _reflection(e: float) -> float:
    """Return g(e) = log(pi e/sin(pi e))/e for |e| <= 1/2."""
    square = e * e
    total = 0.0
    for coefficient in _REFLECTION:
        total = fma(total, square, coefficient)
    return total * e


@kernel
def _odds_logarithm(p: float, shift: float) -> Pair:
    """Return log(q/p) - shift in two parts, for p < 0.2."""
    q = 1.0 - p
    q_high, q_low = log_parts(q)
    p_high, p_low = log_parts(p)
    # 1 - p loses at most 2^-54 of q; its logarithm gets it back.
    q_low += ((1.0 - q) - p) / q
    high, low = two_sum(q_high, -p_high)
    total, rest = two_sum(high, -shift)
    return total, rest + (low + (q_low - p_low))


@kernel
def rare_limit(f: float, high: float, low: float) -> float:
    """Return r(f, p) exp(L) for f > 1/2, or r f for f <= 1/2, as p falls to 0.

    L = high + low is -log p. What is left out is of relative size sqrt(p) or less,
    2^-480 for the p < 2^-960 that this is for. The numbers are those of
    ``_resolvent_forward_real`` and ``_resolvent_expansion``.
    """
    if f > 1.5:
        return 1.0 / (f - 1.0)
    e = f - 1.0 if f > 0.5 else f
    W, rest = two_sum(high, -_reflection(e))
    rest += low
    exponent = -e * W
    exponent_low = fma(-e, W, -exponent) - e * rest
    value, correction = exp_parts(exponent, exponent_low)
    if f <= 0.5:
        return value + correction
    if abs(exponent) > 0.5:
        return (1.0 - value - correction) / e
    return W * exprel(-exponent)


@kernel
def _odds_series(v: float, e: float) -> float:
    """Return sum_{k>=1} (-1)^(k+1) v^k/(k - e) for v <= 1/4, e <= 1/2."""
    total = 0.0
    for k in range(28, 0, -1):
        total = v * (1.0 / (k - e) - total)
    return total


@kernel
def _resolvent_expansion(f: float, p: float) -> Triple:
    """Return (D, D_low, C) for f <= 1/2, p < 0.2.

    r = p/D = exp(-f W)/f - v (1/(1-f) - v/(2-f) + ...), v = p/q, W = log(1/v) - g(f):
    the connection formula 15.8.2 of DLMF with pi/sin(pi f) = exp(f g(f))/f.
    """
    q = 1.0 - p
    v = p / q
    high, low = _odds_logarithm(p, _reflection(f))
    exponent = -f * high
    lead, lead_low = exp_parts(exponent, fma(-f, high, -exponent) - f * low)
    M, M_low = fast_two_sum(lead, lead_low - f * _odds_series(v, f))
    s = scale(f, p)
    above, above_low = two_product(p * s, f)
    D, D_low = quotient_parts(above, above_low, M, M_low)
    return D, D_low, (f - D / s) / q


@kernel
def _resolvent_forward_real(f: float, p: float) -> Triple:
    """Return (D, D_low, C) for f > 1/2 and p below ``P_EXPANSION``, from f = 1 + e.

    D(1+e) = q/T, T = (1 - exp(-e W))/e + S with W = log(q/p) - g(e) and
    S = v/(1-e) - v^2/(2-e) + ...: again 15.8.2, with the poles at e = 0 joined.
    """
    q = 1.0 - p
    v = p / q
    steps = int(f + 0.5) - 1
    e = f - steps - 1.0
    high, low = _odds_logarithm(p, _reflection(e))
    exponent = -e * high
    decay, decay_low = exp_parts(exponent, fma(-e, high, -exponent) - e * low)
    if abs(exponent) > 0.1:
        part, part_low = two_sum(1.0, -decay)
        t = part / e
        t_low = (fma(-t, e, part) + (part_low - decay_low)) / e
    else:
        shrink = exprel(-exponent)
        t, t_low = two_product(high, shrink)
        t_low += low * shrink
    S = _odds_series(v, e)
    T, T_low = two_sum(t, S)
    T_low += t_low
    if steps == 0:
        D, D_low = quotient_parts(q, (1.0 - q) - p, T, T_low)
        s = scale(f, p)
        return D * s, D_low * s, (f - D) / q
    E = (decay - p - e * S - p * T) / (q * T)
    g_less_one = q / T - p * (1.0 - E)  # = e + E, which would cancel for e < 0
    for step in range(1, steps + 1):
        E = v * (1.0 - (e + step + 1.0) * E) / g_less_one
        g_less_one = e + step + E
    return _from_e(f, p, E)
