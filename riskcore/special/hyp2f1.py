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

For f >= 2 the term q E is at most 10.4 % of D: E's own error hardly counts.

The plane is cut into regions; each method stands under the test of where it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from riskcore._jit import kernel
from riskcore.special.elementary import exp_parts, exprel, log_parts
from riskcore.special.floats import (
    fast_two_sum,
    fma,
    integer_stack,
    stack,
    two_product,
    two_sum,
)

Pair = tuple[float, float]

# Regions, numbered as the blocks sort them.
ONE = 0  # f = 1, p not near 1: by the logarithm
FORWARD_4 = 1  # f = 2, 3, 4, p small: contiguity upwards from f = 2
FORWARD_15 = 2  # the same, integer f from 5 to 15
LEVELS_32 = 3  # continued fraction, p not small or f >= 16
LEVELS_14 = 4  # the same, p near 1 or f >= 32
LEVELS_4 = 5  # the same, f >= 1000
REAL = 6  # any other f: below 1.5, or not an integer with p small
OUTSIDE = 7  # not in the domain, or nan
REGIONS = 8

# Below this p the contiguity relation runs upwards from f = 2: a relative error of E
# grows at most 1.9 and 1.2 times in the first two steps, and falls from then on. Above
# it the fraction needs no more than 32 levels.
P_FORWARD = 0.3
# From this p on the fraction needs 14 levels.
P_NEAR_ONE = 0.75
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
    # Nothing here branches, so that a loop of it vectorises.
    large = LEVELS_32 + (f >= 32.0) + (f >= 1000.0)
    integer = (f + _TWO_52) - _TWO_52 == f
    upward = FORWARD_4 + (f > 4.0) if integer else REAL
    direct = (f >= 1.5) | (f == 1.0)
    downward = LEVELS_32 + (p >= P_NEAR_ONE) if direct else REAL
    small = downward if p >= P_FORWARD else upward
    several = large if f >= 16.0 else small
    where = ONE if (f == 1.0) & (p < P_NEAR_ONE) else several
    inside = (f > 0.0) & (f < math.inf) & (p > 0.0) & (p <= 1.0)
    return where if inside else OUTSIDE


@kernel
def scale(f: float, p: float) -> float:
    """Return the factor by which ``resolvent`` multiplies D: 1, or 2^1000.

    For f < 1 and tiny p, D (about p f for small f) may be too small for a double
    where p/D is not.
    """
    return _SCALE if (f < 1.0) & (p < 2.0**-40) else 1.0


@kernel
def resolvent(f: float, p: float, where: int) -> Pair:
    """Return (D, C) at a point of the region ``where``; D times ``scale(f, p)``."""
    if where == ONE:
        return resolvent_one(p)
    if where == FORWARD_4:
        return resolvent_forward_4(f, p)
    if where == FORWARD_15:
        return resolvent_forward_15(f, p)
    if where == LEVELS_32:
        return resolvent_32(f, p)
    if where == LEVELS_14:
        return resolvent_14(f, p)
    if where == LEVELS_4:
        return resolvent_4(f, p)
    if where == REAL:
        return resolvent_real(f, p)
    return math.nan, math.nan


@kernel
def _from_e(f: float, p: float, E: float) -> Pair:
    """Return D = (f - 1) + p + q E, its sum rounded once, and C = 1 - E."""
    base = f - 1.0
    high, low = two_sum(base, p)
    low += (f - base) - 1.0  # f - 1 is not exact above 2^53
    return high + fma(1.0 - p, E, low), 1.0 - E


@kernel
def resolvent_one(p: float) -> Pair:
    """Return (D, C) for f = 1: D = q/L, C = (L - q)/(q L), L = -log p (DLMF 15.4.1).

    Both quotients are formed with the one reciprocal of q L and put right by their
    remainders, in which the second words of q and L count.
    """
    q = 1.0 - p
    q_low = (1.0 - q) - p
    high, low = log_parts(p)
    L, L_low = -high, -low
    product = q * L
    product_low = fma(q, L, -product) + fma(q, L_low, q_low * L)
    reciprocal = 1.0 / product
    D = q * (q * reciprocal)
    D += (fma(-D, L, q) + fma(-D, L_low, q_low)) * (q * reciprocal)
    above = L - q
    above_low = (L - above) - q + (L_low - q_low)
    C = above * reciprocal
    C += (fma(-C, product, above) + fma(-C, product_low, above_low)) * reciprocal
    return D, C


def _forward(first: int, last: int) -> Callable[..., Pair]:
    """Make the kernel that takes E = a/b from f = first up to f, at most to last."""

    @kernel
    def forward(f: float, v: float, a: float, b: float) -> Pair:
        for g in range(first, last):
            a_next = v * fma(-(g + 1.0), a, b)
            b_next = fma(g - 1.0, b, a)
            a = a_next if g < f else a
            b = b_next if g < f else b
        return a, b

    return forward


_forward_4 = _forward(2, 4)
_forward_8 = _forward(4, 8)
_forward_15 = _forward(8, 15)  # the compiler unrolls only short loops


@kernel
def _e_two(p: float, q: float, v: float) -> Pair:
    """Return E(2) = v ((1+p) L - 2q)/(q - p L) as numerator and denominator.

    L = -log p. For p near 0.3 both differences cancel to a tenth: so L has two words,
    and what q = 1 - p lost in rounding is put back.
    """
    high, low = log_parts(p)
    q_low = (1.0 - q) - p
    above = fma(-p, high, -high - 2.0 * q) - fma(p, low, low + 2.0 * q_low)
    below = fma(p, high, q) + fma(p, low, q_low)
    return v * above, below


@kernel
def resolvent_forward_4(f: float, p: float) -> Pair:
    """Return (D, C) for f = 2, 3, 4 by contiguity from f = 2.

    All steps are taken and those past f dropped: a loop without a branch is one that
    the compiler vectorises.
    """
    q = 1.0 - p
    v = p / q
    a, b = _e_two(p, q, v)
    a, b = _forward_4(f, v, a, b)
    return _from_e(f, p, a / b)


@kernel
def resolvent_forward_15(f: float, p: float) -> Pair:
    """Return (D, C) for integer f from 5 to 15, as ``resolvent_forward_4``."""
    q = 1.0 - p
    v = p / q
    a, b = _e_two(p, q, v)
    a, b = _forward_4(f, v, a, b)
    a, b = _forward_8(f, v, a, b)
    a, b = _forward_15(f, v, a, b)
    return _from_e(f, p, a / b)


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
    levels leave an error below 2^-56 of D for p >= 0.3 or f >= 16, 14 levels for
    f >= 32 or p >= 0.75, 4 for f >= 1000, 64 for p >= 0.2 (0.1 from f = 2.25) and 112
    for p >= 0.03 and f >= 1.5.
    """
    pairs = levels // 2
    upper = _climb(pairs, pairs // 2 + 1)
    lower = _climb(pairs // 2, 1)

    @kernel
    def first_level(f: float, p: float) -> Pair:
        x, y = upper(f, p, p, 1.0)
        return lower(f, p, x, y)

    return first_level


def _by_levels(levels: int) -> Callable[[float, float], Pair]:
    """Make the kernel (f, p) -> (D, C) of the continued fraction, for f >= 1."""
    first_level = _levels(levels)

    @kernel
    def resolvent_levels(f: float, p: float) -> Pair:
        # Past 2^60 the term q E is far below an ulp of D; the bound keeps the
        # denominators, which grow like f^levels, from overflowing.
        g = min(f, _TWO_60)
        x, y = first_level(g, p)
        E = x / fma(g, y, x)
        return _from_e(f, p, E)

    return resolvent_levels


resolvent_32 = _by_levels(32)
resolvent_14 = _by_levels(14)
resolvent_4 = _by_levels(4)
_resolvent_112 = _by_levels(112)
_levels_64 = _levels(64)


@kernel
def resolvent_real(f: float, p: float) -> Pair:
    """Return (D, C) for f < 1.5, and for real f below 16 where p is small."""
    near_one, below_three_halves, beyond = P_EXPANSION
    if f < 1.5:
        if p >= (near_one if f < 1.25 else below_three_halves):
            return _resolvent_downward(f, p)
        return _resolvent_expansion(f, p) if f <= 0.5 else _resolvent_forward_real(f, p)
    return _resolvent_112(f, p) if p >= beyond else _resolvent_forward_real(f, p)


@kernel
def _quotient(a: float, a_low: float, b: float, b_low: float) -> float:
    """Return (a + a_low)/(b + b_low), rounded little more than once."""
    r = a / b
    return r + (fma(-r, b, a) + (a_low - r * b_low)) / b


@kernel
def _resolvent_downward(f: float, p: float) -> Pair:
    """Return (D, C) from E(f+1) for f < 1.5, where D cancels or is mostly q E(f).

    r(f) = 1/f - (q/p) r(f+1) becomes, with w = p + q E(f+1), all positive:
    D = p f (f + w)/(p f + w), C = f w/(p f + w).
    """
    if p == 1.0:
        return f, f / (f + 1.0)
    x, y = _levels_64(f + 1.0, p)
    w = p + (1.0 - p) * (x / fma(f + 1.0, y, x))
    below, rest = two_product(p, f)
    below, below_low = two_sum(below, w)
    below_low += rest
    above, above_low = two_product(f, w)
    C = _quotient(above, above_low, below, below_low)
    total, total_low = two_sum(f, w)
    above, above_low = two_product(p * f, total)
    above_low += fma(p, f, -(p * f)) * total + (p * f) * total_low
    return _quotient(above, above_low, below, below_low), C


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
def _resolvent_expansion(f: float, p: float) -> Pair:
    """Return (D, C) for f <= 1/2, p < 0.2.

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
    D = _quotient(above, above_low, M, M_low)
    return D, (f - D / s) / q


@kernel
def _resolvent_forward_real(f: float, p: float) -> Pair:
    """Return (D, C) for f > 1/2 and p below ``P_EXPANSION``, from f = 1 + e.

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
        D = _quotient(q, (1.0 - q) - p, T, T_low)
        return D * scale(f, p), (f - D) / q
    E = (decay - p - e * S - p * T) / (q * T)
    g_less_one = q / T - p * (1.0 - E)  # = e + E, which would cancel for e < 0
    for step in range(1, steps + 1):
        E = v * (1.0 - (e + step + 1.0) * E) / g_less_one
        g_less_one = e + step + E
    return _from_e(f, p, E)


# Cells that the compiler's loops take at once, at most; a divisor of BLOCK.
_UNROLLED = 64


@kernel
def _fill(w: int, f: Any, p: Any, D: Any, C: Any, n: int) -> None:
    """Evaluate n cells by the method of region ``w``.

    One loop per region, so that each is free of branches and vectorises.
    """
    if w == ONE:
        for i in range(n):
            D[i], C[i] = resolvent_one(p[i])
    elif w == FORWARD_4:
        for i in range(n):
            D[i], C[i] = resolvent_forward_4(f[i], p[i])
    elif w == FORWARD_15:
        for i in range(n):
            D[i], C[i] = resolvent_forward_15(f[i], p[i])
    elif w == LEVELS_32:
        for i in range(n):
            D[i], C[i] = resolvent_32(f[i], p[i])
    elif w == LEVELS_14:
        for i in range(n):
            D[i], C[i] = resolvent_14(f[i], p[i])
    elif w == LEVELS_4:
        for i in range(n):
            D[i], C[i] = resolvent_4(f[i], p[i])
    elif w == REAL:
        for i in range(n):
            D[i], C[i] = resolvent_real(f[i], p[i])
    else:
        for i in range(n):
            D[i], C[i] = math.nan, math.nan


@kernel
def resolvent_block(f: Any, p: Any, D: Any, C: Any, n: int) -> None:
    """Fill D and C with the resolvents of n <= BLOCK cells.

    The commonest region's method is run over all cells in place; then the cells of
    each other region are picked out, evaluated and put back. Each value is the one
    that ``resolvent`` returns, bit for bit.
    """
    if n == 1:
        D[0], C[0] = resolvent(f[0], p[0], region(f[0], p[0]))
        return
    where, count, picked = integer_stack(), integer_stack(), integer_stack()
    f_picked, p_picked, D_picked, C_picked = stack(), stack(), stack(), stack()
    for i in range(n):
        where[i] = region(f[i], p[i])
    commonest = 0
    for w in range(REGIONS):
        cells = 0
        for i in range(n):
            cells += where[i] == w
        count[w] = cells
        # REAL is slow and made for its own cells alone; OUTSIDE makes none.
        if cells > count[commonest] and w < REAL:
            commonest = w
    if count[commonest] > 0:
        _fill(commonest, f, p, D, C, n)
    for w in range(REGIONS):
        if w != commonest and count[w] > 0:
            m = 0
            for i in range(n):
                picked[m] = i  # kept if the cell is of this region
                m += where[i] == w
            for j in range(m):
                f_picked[j] = f[picked[j]]
                p_picked[j] = p[picked[j]]
            full = m
            if w < REAL:
                # Whole vectors: the rest of a loop would run cell by cell.
                full = (m + _UNROLLED - 1) // _UNROLLED * _UNROLLED
                for j in range(m, full):
                    f_picked[j] = f_picked[0]
                    p_picked[j] = p_picked[0]
            _fill(w, f_picked, p_picked, D_picked, C_picked, full)
            for j in range(m):
                D[picked[j]] = D_picked[j]
                C[picked[j]] = C_picked[j]
