"""The individual risk as a pair of doubles with a bound, for integers and large f.

One kernel for each region returns r = high + low within error, at most some thousandth
of the last place of r, so that the test in ``rounding_test.py`` nearly always passes
(notes/correct_rounding.md). Every kernel is straight-line IEEE arithmetic, so that
loops over it vectorize.
"""

from __future__ import annotations

from collections.abc import Callable

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.double_double import (
    DoubleDouble,
    product_pair,
    sum_pair,
)
from riskcore.core.special.floats import fast_two_sum, fma, from_hex, two_sum
from riskcore.core.special.gauss.rounding_test import (
    BESIDE_E_16,
    BESIDE_E_32,
    BY_LEVELS,
    BY_LEVELS_REAL,
    BY_LOGARITHM,
    BY_LOGARITHM_15,
    IN_PAIRS,
    OF_E_16,
    OF_E_32,
    OF_SERIES,
)

Triple = tuple[float, float, float]

# Regions of the risk. All but OTHER have loops that vectorize.
ONE = 0  # f = 1, p not near 1
SMALL = 1  # f = 2, 3, 4, p not near 1
FORWARD_15 = 2  # integer f from 5 to 15, p < 1/2
NEAR_ONE = 3  # f = 1, 2, 3, p near 1
LEVELS = 4  # integer f from 4 to 15 above these
FROM_16 = 5  # f from 16
FROM_32 = 6  # f from 32
LEVELS_REAL = 7  # other f < 16, p not small
FORWARD_REAL = 8  # other f < 16, p small
BACKWARD_REAL = 9  # f < 2, or f < 4 and not an integer
OTHER = 10  # p or f < 2^-900, f > 2^50; not in the domain
REGIONS = 11

# Below this p the steps r(n + 1) = v (1/n - r(n)) enlarge the error of the logarithm
# at most 64 times on the way to r(4),
P_NEAR_ONE = 0.75
# and below this one at most 3 times to any r(n).
P_HALF = 0.5
# Below this one real f that are not integers, by reflection.
P_FORWARD = 0.3
# From this f on the fraction with its levels serves real numbers from P_FORWARD on.
F_BACKWARD = 4.0
# Beyond these low parts may underflow, U, which grows like f^levels, may overflow, and
# f - 1 is not exact.
RARE = 2.0**-900
F_HUGE = 2.0**50
_TWO_52 = 2.0**52  # adding it rounds to an integer


@kernel
def region(f: float, p: float) -> int:
    """Return the number of the region of (f, p)."""
    # Branchless, so that a loop over it vectorizes.
    integer = ((f + _TWO_52) - _TWO_52 == f) & (f >= 1.0)
    few = f <= 4.0
    upwards = ONE if f == 1.0 else (SMALL if few else FORWARD_15)
    below = P_NEAR_ONE if few else P_HALF
    whole = upwards if p < below else (NEAR_ONE if f <= 3.0 else LEVELS)
    levels = (f >= F_BACKWARD) | ((f >= 2.0) & (p >= P_HALF))
    real = LEVELS_REAL if levels else BACKWARD_REAL
    real = FORWARD_REAL if p < P_FORWARD else real
    where = whole if integer else real
    where = where if f < 16.0 else FROM_16
    where = where if f < 32.0 else FROM_32
    inside = (p >= RARE) & (p <= 1.0) & (f >= RARE) & (f <= F_HUGE)
    return where if inside else OTHER


# The most common regions by fewer comparisons.


@kernel
def is_one(f: float, p: float) -> bool:
    """Return whether the region is ONE."""
    return (f == 1.0) & (p < P_NEAR_ONE) & (p >= RARE)


@kernel
def is_small(f: float, p: float) -> bool:
    """Return whether the region is ONE or SMALL."""
    integer = (f + _TWO_52) - _TWO_52 == f
    return integer & (f >= 1.0) & (f <= 4.0) & (p < P_NEAR_ONE) & (p >= RARE)


@kernel
def is_near_one(f: float, p: float) -> bool:
    """Return whether the region is NEAR_ONE."""
    integer = (f + _TWO_52) - _TWO_52 == f
    return integer & (f >= 1.0) & (f <= 3.0) & (p >= P_NEAR_ONE) & (p <= 1.0)


@kernel
def is_from_32(f: float, p: float) -> bool:
    """Return whether the region is FROM_32."""
    return (f >= 32.0) & (f <= F_HUGE) & (p >= RARE) & (p <= 1.0)


# --- f = 1 to 15, by the logarithm and contiguity upwards ----------------------------


@kernel
def _ratio(p: float) -> DoubleDouble:
    """Return v = p/q as a pair."""
    q = 1.0 - p
    q_low = (1.0 - q) - p
    reciprocal = 1.0 / q
    v = p * reciprocal
    return v, fma(-v, q_low, fma(-v, q, p)) * reciprocal


@kernel
def by_logarithm_one(p: float, high: float, low: float) -> Triple:
    """Return r for f = 1, v L, given log p = high + low."""
    v, v_low = _ratio(p)
    r, r_low = product_pair(v, v_low, -high, -low)
    return r, r_low, BY_LOGARITHM * r


def _upwards(first: int, last: int) -> Callable[..., DoubleDouble]:
    """Make the kernel that takes r(first) to r(f), first <= f <= last.

    r(n + 1) = v (1/n - r(n)).
    """

    @kernel
    def steps(f: float, v: float, v_low: float, r: float, r_low: float) -> DoubleDouble:
        # The steps past f are taken and dropped: branchless, so the loop vectorizes.
        for n in range(first, last):
            m = float(n)
            c = 1.0 / m
            c_low = fma(-m, c, 1.0) / m
            s = c - r
            s_low = ((c - s) - r) + (c_low - r_low)
            x = v * s
            x_low = fma(v, s, -x) + fma(v, s_low, v_low * s)
            more = f > m
            r = x if more else r
            r_low = x_low if more else r_low
        return r, r_low

    return steps


_to_4 = _upwards(1, 4)
_to_8 = _upwards(4, 8)
_to_12 = _upwards(8, 12)
_to_15 = _upwards(12, 15)


@kernel
def by_logarithm_4(f: float, p: float, high: float, low: float) -> Triple:
    """Return r for f = 1, ..., 4, given log p = high + low."""
    v, v_low = _ratio(p)
    r, r_low = product_pair(v, v_low, -high, -low)
    r, r_low = _to_4(f, v, v_low, r, r_low)
    v2 = v * v
    return r, r_low, BY_LOGARITHM * fma(v2, v2, r)


# For f = 5 to 15 in two parts: a processor runs more iterations of two short loops at
# once than of one long loop. The same holds for the levels of the fraction below.


@kernel
def by_logarithm_8(
    f: float, p: float, high: float, low: float
) -> tuple[float, float, float, float]:
    """Return v and r(min(f, 8)) as pairs, f = 1, ..., 15, given log p = high + low."""
    v, v_low = _ratio(p)
    r, r_low = product_pair(v, v_low, -high, -low)
    r, r_low = _to_4(f, v, v_low, r, r_low)
    r, r_low = _to_8(f, v, v_low, r, r_low)
    return v, v_low, r, r_low


@kernel
def by_logarithm_15(f: float, v: float, v_low: float, r: float, r_low: float) -> Triple:
    """Return r for f = 1, ..., 15, given the results of ``by_logarithm_8``."""
    r, r_low = _to_12(f, v, v_low, r, r_low)
    r, r_low = _to_15(f, v, v_low, r, r_low)
    return r, r_low, BY_LOGARITHM_15 * r


# --- f = 1, 2, 3, p near 1 -----------------------------------------------------------

# atanh z = z + z^3 (1/3 + w (1/5 + w t)), w = z^2: t at seven Chebyshev points of
# w <= 1/49, by `bench.coefficients`. The remainder of t is below 2^-52.
_T0, _T1, _T2, _T3, _T4, _T5, _T6 = from_hex("""
    0x1.2492492492493p-3 0x1.c71c71c71babep-4 0x1.745d17482ef02p-4 0x1.3b13ae8511095p-4
    0x1.11128b4f08b5fp-4 0x1.e10ed2f5f2bd8p-5 0x1.cc292e0d0d89dp-5
""")
# Rounding errors of the doubles 1/3 and 1/5.
_THIRD_LOW = float.fromhex("0x1.5555555555555p-56")
_FIFTH_LOW = float.fromhex("-0x1.999999999999ap-57")


@kernel
def near_one(f: float, p: float) -> Triple:
    """Return r for f = 1, 2, 3 and p >= 3/4, where contiguity upwards cancels.

    With z = q/(1 + p), w = z^2 and a = (atanh z - z)/z^3 = 1/3 + w/5 + ...,

        r(1) = (1-z) (1 + w a),     r(2) = (1-z)/2 (1 - z (1-z) a),
        r(3) = (1-z)/4 (1 + (1-z)^2 a).
    """
    q = 1.0 - p
    d = 1.0 + p
    d_low = p - (d - 1.0)
    reciprocal = 1.0 / d
    z = q * reciprocal
    z_low = fma(-z, d_low, fma(-z, d, q)) * reciprocal
    w = z * z
    w_low = fma(z + z, z_low, fma(z, z, -w))
    w2 = w * w
    t = fma(w2, fma(w, _T6, _T5), fma(w, _T4, _T3))
    t = fma(w2, fma(w, t, _T2), fma(w, _T1, _T0))
    b, b_low = fast_two_sum(0.2, w * t)
    b, b_low = product_pair(w, w_low, b, b_low + _FIFTH_LOW)
    a, a_low = sum_pair(1.0 / 3.0, _THIRD_LOW, b, b_low)
    m = 1.0 - z
    m_low = ((1.0 - m) - z) - z_low
    first, second = f == 1.0, f == 2.0
    x, x_low = m if f > 2.0 else z, m_low if f > 2.0 else z_low
    y, y_low = z if first else m, z_low if first else m_low
    x = -x if second else x
    x_low = -x_low if second else x_low
    a, a_low = product_pair(a, a_low, x, x_low)
    a, a_low = product_pair(a, a_low, y, y_low)
    a, a_low = sum_pair(1.0, 0.0, a, a_low)
    share = 1.0 if first else (0.5 if second else 0.25)
    r, r_low = product_pair(a, a_low, share * m, share * m_low)
    return r, r_low, r * fma(w2, OF_SERIES, IN_PAIRS)


# --- the continued fraction in pairs -------------------------------------------------


def _downwards(first: int, last: int) -> Callable[..., DoubleDouble]:
    """Make the kernel that takes U(n+1), U(n+2) from n = 2*first + 2 to 2*last + 1.

    The fraction is S(n) = f + n - 1 - k b q/S(n+1), k = 1 + floor((n-1)/2), b = f+k-1,
    with quotients S(n) = U(n)/U(n+1).
    """

    @kernel
    def downwards(f: float, q: float, x: float, y: float) -> DoubleDouble:
        for m in range(first, last - 1, -1):
            kbq = ((m + 1.0) * q) * (f + m)
            x, y = fma(f + (2.0 * m + 1.0), x, -(kbq * y)), x
            x, y = fma(f + 2.0 * m, x, -(kbq * y)), x
        return x, y

    return downwards


def _tail(levels: int, last: int) -> Callable[[float, float], DoubleDouble]:
    """Make the kernel (f, p) -> U(n), U(n+1), n = 2*last + 1, from a number of levels.

    ``levels`` is odd. In the tail, S = b + k X (see ``_by_e``), X is taken from the
    level after next as if that had the same b and k: X = p b/(b - k q).
    """
    half = levels // 2
    middle = (half + last) // 2
    upper = _downwards(half - 1, middle)
    lower = _downwards(middle - 1, last)

    @kernel
    def tail(f: float, p: float) -> DoubleDouble:
        q, k, b = 1.0 - p, half + 1.0, f + half
        y = fma(-k, q, b)
        x = b * fma(-k, q, fma(k, p, b))
        return lower(f, q, *upper(f, q, fma(b + half, x, -(((k * q) * b) * y)), x))

    return tail


@kernel
def _level(
    a: float,
    kb: float,
    q: float,
    q_low: float,
    x: float,
    x_low: float,
    y: float,
    y_low: float,
) -> DoubleDouble:
    """Return a x - kb q y as a pair, for doubles a and kb."""
    g = kb * q
    g_low = fma(kb, q_low, fma(kb, q, -g))
    s = a * x
    s_low = fma(a, x_low, fma(a, x, -s))
    t, t_low = product_pair(g, g_low, y, y_low)
    return sum_pair(s, s_low, -t, -t_low)


@kernel
def _last(
    p: float, u: float, u_low: float, t: float, t_low: float, bound: float
) -> Triple:
    """Return r = p u/t."""
    n = p * u
    n_low = fma(p, u_low, fma(p, u, -n))
    reciprocal = 1.0 / t
    r = n * reciprocal
    rest = fma(-r, t_low, fma(-r, t, n) + n_low)
    return r, rest * reciprocal, bound * r


tail_23 = _tail(23, 2)


@kernel
def by_levels(f: float, p: float, x: float, y: float) -> Triple:
    """Return r for integer f from 4 to 15 and p >= 1/2: p U(2)/U(1).

    An error of x/y = U(5)/U(6) is damped a thousandfold in r at least: from there on
    pairs.
    """
    q = 1.0 - p
    f_1 = f + 1.0
    # U(4), U(3), U(2), U(1)
    u, u_low = _level(f + 3.0, 2.0 * f_1, q, 0.0, x, 0.0, y, 0.0)
    t, t_low = _level(f + 2.0, 2.0 * f_1, q, 0.0, u, u_low, x, 0.0)
    u, u_low = _level(f_1, f, q, 0.0, t, t_low, u, u_low)
    t, t_low = _level(f, f, q, 0.0, u, u_low, t, t_low)
    return _last(p, u, u_low, t, t_low, BY_LEVELS)


@kernel
def _level_real(
    f: float,
    n: float,
    k: float,
    b: float,
    b_low: float,
    q: float,
    q_low: float,
    x: float,
    x_low: float,
    y: float,
    y_low: float,
) -> DoubleDouble:
    """Return (f + n) x - k b q y as a pair."""
    a, a_low = two_sum(f, n)
    s, s_low = product_pair(a, a_low, x, x_low)
    g, g_low = product_pair(b, b_low, k, 0.0)
    g, g_low = product_pair(g, g_low, q, q_low)
    t, t_low = product_pair(g, g_low, y, y_low)
    return sum_pair(s, s_low, -t, -t_low)


tail_35 = _tail(35, 3)


@kernel
def by_levels_real(f: float, p: float, x: float, y: float) -> Triple:
    """Return r for f < 16 and f >= 4, p >= 0.3 or f >= 2, p >= 1/2: p U(2)/U(1).

    x/y = U(7)/U(8).
    """
    q = 1.0 - p
    q_low = (1.0 - q) - p
    b, b_low = two_sum(f, 2.0)
    c, c_low = two_sum(f, 1.0)
    # U(6) to U(1)
    u, u_low = _level_real(f, 5.0, 3.0, b, b_low, q, q_low, x, 0.0, y, 0.0)
    t, t_low = _level_real(f, 4.0, 3.0, b, b_low, q, q_low, u, u_low, x, 0.0)
    u, u_low = _level_real(f, 3.0, 2.0, c, c_low, q, q_low, t, t_low, u, u_low)
    t, t_low = _level_real(f, 2.0, 2.0, c, c_low, q, q_low, u, u_low, t, t_low)
    u, u_low = _level_real(f, 1.0, 1.0, f, 0.0, q, q_low, t, t_low, u, u_low)
    t, t_low = _level_real(f, 0.0, 1.0, f, 0.0, q, q_low, u, u_low, t, t_low)
    return _last(p, u, u_low, t, t_low, BY_LEVELS_REAL)


# --- f from 16 on --------------------------------------------------------------------


def _levels_of_e(last: int) -> Callable[..., DoubleDouble]:
    """Make the kernel of (a, b), E = a/b, from x/y = U(2*last + 1)/U(2*last + 2).

    S(n + 2) = b + k X(n + 1), X(n) = (p b + k X(n + 1))/(b + k X(n + 1)) with
    k = 1 + ceil(n/2), b = f + floor(n/2); E = X(1)/(f + X(1)): nothing is subtracted.
    """

    @kernel
    def levels(f: float, p: float, x: float, y: float) -> DoubleDouble:
        b = (f + (last - 1.0)) * y
        u = fma(-(f + (last - 1.0)), y, x)
        above, below = fma(p, b, u), x
        for n in range(2 * last - 2, 0, -1):
            b, u = (f + n // 2) * below, (1.0 + (n + 1) // 2) * above
            above, below = fma(p, b, u), b + u
        return above, fma(f, below, above)

    return levels


def _by_e(
    levels: Callable[..., DoubleDouble], of_e: float, beside: float
) -> Callable[..., Triple]:
    """Make the kernel of r by D = (f - 1 + p) + q E as a pair, E a double.

    q E is accurate to some units of its last place.
    """

    @kernel
    def by_e(f: float, p: float, x: float, y: float) -> Triple:
        q = 1.0 - p
        above, below = levels(f, p, x, y)
        part = q * above / below
        D, D_low = fast_two_sum(f - 1.0, p)
        D, rest = fast_two_sum(D, part)
        D_low += rest
        reciprocal = 1.0 / D
        r = p * reciprocal
        low = fma(-r, D_low, fma(-r, D, p)) * reciprocal
        return r, low, r * fma(of_e * part, reciprocal, beside)

    return by_e


tail_17 = _tail(17, 2)
_levels_16 = _levels_of_e(3)  # after tail_35
_levels_32 = _levels_of_e(2)  # after tail_17
by_e_16 = _by_e(_levels_16, OF_E_16, BESIDE_E_16)
by_e_32 = _by_e(_levels_32, OF_E_32, BESIDE_E_32)


@kernel
def e_16(f: float, p: float) -> float:
    """Return E for 16 <= f < 32."""
    above, below = _levels_16(f, p, *tail_35(f, p))
    return above / below


@kernel
def e_32(f: float, p: float) -> float:
    """Return E for f >= 32."""
    above, below = _levels_32(f, p, *tail_17(f, p))
    return above / below
