"""The Gauss function G(f, q) = 2F1(1, 1; f+1; q), f > 0, 0 <= q < 1, p = 1 - q.

Everything the package needs of it comes from one pair of numbers, its *resolvent*

    D = f/G        between p and f,
    C in [0, 1]    with  D = f - q C,

because G = f/D and (G - 1)/q = C/D, both without cancellation. Kernels return (D, E)
with E = 1 - C and D = (f - 1 + p) + q E; E satisfies a contiguity relation in f and a
continued fraction (notes/individual_risk.md, sections 3 and 4):

    E(f+1) = (p/q) (1 - (f+1) E(f)) / (f - 1 + E(f))
    D = S(1),   S(n) = f + n - 1 - k b q/S(n+1),
    k = 1 + floor((n-1)/2),  b = f + k - 1.

For f >= 2 the term q E is at most 10.4 % of D: E's own error hardly counts. D is a
double-double, D + D_low, so that a quotient by it is rounded little more than once.

The plane is cut into regions; each method stands under the test of where it holds.
"""

from __future__ import annotations

from collections.abc import Callable

from riskcore.compiled.jit import kernel
from riskcore.special.elementary import log_high_low
from riskcore.special.floats import fast_two_sum, fma, two_sum

DoubleDouble = tuple[float, float]
Triple = tuple[float, float, float]

# Regions. All but OTHER have loops that vectorise.
ONE = 0  # f = 1, p not near 1: by the logarithm
SMALL = 1  # f = 2, 3, 4, p not near 1: contiguity upwards from f = 2
FORWARD_15 = 2  # integer f from 5 to 15, p small: the same
LEVELS_29 = 3  # continued fraction, p not small or f >= 16
LEVELS_15 = 4  # the same, p near 1 or f >= 32
FORWARD_REAL = 5  # f < 16 that is no integer, p small: reflection, then upwards
BACKWARD_REAL = 6  # f < 2, or f < 4 and no integer: continued fraction, then downwards
OTHER = 7  # p or f < 2^-960; not in the domain
REGIONS = 8

# Below this p the contiguity relation runs upwards from f = 2 to any f: a relative
# error of E grows at most 1.9 and 1.2 times in the first two steps, and falls from then
# on. Above it the fraction needs no more than 32 levels.
P_FORWARD = 0.3
# Two steps are harmless up to here, for E(3) and E(4) count less than E(2) in D.
P_SMALL = 0.5
# Below this f, and p < P_SMALL or f < 2, numbers that are no integers come down to f
# from above it.
F_BACKWARD = 4.0
# From this p on the fraction needs 15 levels.
P_NEAR_ONE = 0.75
# Up to this f the logarithm serves integers, and beyond it contiguity alone.
F_SMALL = 4.0
# Below this f integers go upwards; from it on the fraction serves every p.
F_FRACTION = 16.0
# From this f on 15 levels do.
F_LARGE = 32.0
# Below it products of p underflow, and p is nothing beside 1.
RARE = 2.0**-960
_TWO_52 = 2.0**52  # adding it rounds to an integer
_TWO_60 = 2.0**60


@kernel
def region(f: float, p: float) -> int:
    """Return the number of the region of (f, p)."""
    # Nothing here branches, so that a loop of it vectorises.
    one = f == 1.0
    integer = ((f + _TWO_52) - _TWO_52 == f) & (f >= 1.0)
    few = integer & (f <= F_SMALL)
    upwards = SMALL if few else (FORWARD_15 if integer else FORWARD_REAL)
    upwards = ONE if one else upwards
    below = P_NEAR_ONE if one else (P_SMALL if few else P_FORWARD)
    levels = LEVELS_29 + ((p >= P_NEAR_ONE) | (f >= F_LARGE))
    enough = one | (f >= F_BACKWARD) | ((f >= 2.0) & (p >= P_SMALL))
    levels = levels if enough else BACKWARD_REAL
    where = upwards if (p < below) & (f < F_FRACTION) else levels
    return where if (p >= RARE) & (p <= 1.0) & (f >= RARE) else OTHER


# The commonest regions by fewer comparisons.


@kernel
def is_one(f: float, p: float) -> bool:
    """Return whether the region is ONE."""
    return (f == 1.0) & (p < P_NEAR_ONE) & (p >= RARE)


@kernel
def is_small(f: float, p: float) -> bool:
    """Return whether the region is ONE or SMALL."""
    integer = (f + _TWO_52) - _TWO_52 == f
    below = P_NEAR_ONE if f == 1.0 else P_SMALL
    return integer & (f >= 1.0) & (f <= F_SMALL) & (p < below) & (p >= RARE)


@kernel
def is_levels_15(f: float, p: float) -> bool:
    """Return whether the region is LEVELS_15."""
    near_one = (p >= P_NEAR_ONE) & ((f >= 2.0) | (f == 1.0))
    return (near_one | (f >= F_LARGE)) & (p <= 1.0) & (p >= RARE)


@kernel
def division(a: float, a_low: float, b: float, b_low: float) -> Triple:
    """Return r = a/b, the rest a + a_low - r (b + b_low), and 1/b."""
    reciprocal = 1.0 / b
    r = a * reciprocal
    return r, fma(-r, b_low, fma(-r, b, a) + a_low), reciprocal


@kernel
def quotient_pair(a: float, a_low: float, b: float, b_low: float) -> DoubleDouble:
    """Return (a + a_low)/(b + b_low) as a double and the rest, by one division."""
    r, rest, reciprocal = division(a, a_low, b, b_low)
    return r, rest * reciprocal


@kernel
def quotient(a: float, a_low: float, b: float, b_low: float) -> float:
    """Return (a + a_low)/(b + b_low), rounded little more than once."""
    r, rest, reciprocal = division(a, a_low, b, b_low)
    return fma(rest, reciprocal, r)


@kernel
def _from_e(f: float, p: float, E: float) -> Triple:
    """Return D = (f - 1) + p + q E as a double-double, and E, for f >= 1."""
    base = f - 1.0
    high, low = two_sum(base, p)
    low += (f - base) - 1.0  # f - 1 is not exact above 2^53
    q = 1.0 - p
    D = fma(q, E, high)
    return D, fma(q, E, high - D) + low, E


# --- f = 1 to 4, by the logarithm --------------------------------------------------


@kernel
def _times_log(p: float, high: float, low: float) -> tuple[float, float, float, float]:
    """Return q = 1 - p and p log p as double-doubles, given log p = high + low."""
    q = 1.0 - p
    n = p * high
    return q, (1.0 - q) - p, n, fma(p, low, fma(p, high, -n))


@kernel
def _e_two(p: float, high: float, low: float) -> DoubleDouble:
    """Return (a, b) with E(2) = v a/b = v ((1+p) L - 2q)/(q - p L), L = -high - low.

    Both differences may cancel to a tenth or less, hence the double-doubles.
    """
    q, q_low, n, n_low = _times_log(p, high, low)
    rest = q_low + n_low
    above = (fma(-2.0, q, -high) - n) - (low + (rest + q_low))
    below = (q + n) + rest
    return above, below


@kernel
def _e_small(f: float, p: float, high: float, low: float) -> Triple:
    """Return (a, b, v) with E(f) = v a/b, v = p/q, for f = 2, 3, 4."""
    v = p / (1.0 - p)
    a, b = _e_two(p, high, low)
    # The steps past f are taken and dropped: no branch, so the loop vectorises.
    t = v * a
    a_3, b_3 = fma(-3.0, t, b), b + t
    t = v * a_3
    a_4, b_4 = fma(-4.0, t, b_3), fma(2.0, b_3, t)
    a = a_4 if f == 4.0 else (a_3 if f == 3.0 else a)
    b = b_4 if f == 4.0 else (b_3 if f == 3.0 else b)
    return a, b, v


@kernel
def fraction_of_e(f: float, p: float, a: float, b: float) -> tuple[float, ...]:
    """Return p/D = p b/((f - 1 + p) b + p a), E = v a/b, as N + N_low over M + M_low.

    For f - 1 >= p.
    """
    base, base_low = fast_two_sum(f - 1.0, p)
    N = p * b
    product = base * b
    M = fma(p, a, product)
    M_low = fma(p, a, product - M) + fma(base_low, b, fma(base, b, -product))
    return N, fma(p, b, -N), M, M_low


@kernel
def resolvent_one(p: float, high: float, low: float) -> Triple:
    """Return (D, D_low, E) for f = 1: D = q/L, E = (q - p L)/(q L), L = -high - low."""
    q, q_low, n, n_low = _times_log(p, high, low)
    L, L_low = fast_two_sum(-high, -low)
    D, rest, reciprocal = division(q, q_low, L, L_low)
    above = q + n
    above_low = ((q - above) + n) + (q_low + n_low)
    below = q * L
    below_low = fma(q, L, -below) + fma(q, L_low, q_low * L)
    return D, rest * reciprocal, quotient(above, above_low, below, below_low)


@kernel
def resolvent_small(f: float, p: float, high: float, low: float) -> Triple:
    """Return (D, D_low, E) for f = 1, ..., 4, given log p = high + low."""
    a, b, v = _e_small(f, p, high, low)
    D, D_low, E = _from_e(f, p, v * a / b)
    D_one, D_one_low, E_one = resolvent_one(p, high, low)
    one = f == 1.0
    return (
        D_one if one else D,
        D_one_low if one else D_low,
        E_one if one else E,
    )


# --- f = 5 to 15, upwards from E(2) ------------------------------------------------


def forward(first: int, last: int) -> Callable[..., DoubleDouble]:
    """Make the kernel that takes E = v a/b from first + d up to n + d, n <= last."""

    @kernel
    def steps(n: float, d: float, v: float, a: float, b: float) -> DoubleDouble:
        for g in range(first, last):
            t = v * a
            a_next = fma(-(g + 1.0 + d), t, b)
            b_next = fma(g - 1.0 + d, b, t)
            a = a_next if g < n else a
            b = b_next if g < n else b
        return a, b

    return steps


# The compiler unrolls only short loops.
_forward_10 = forward(4, 10)
forward_16 = forward(10, 16)


@kernel
def resolvent_forward_15(f: float, p: float) -> Triple:
    """Return (D, D_low, E) for integer f from 5 to 15 by contiguity from f = 2."""
    high, low = log_high_low(p, 0.0)
    a, b, v = _e_small(4.0, p, high, low)
    a, b = _forward_10(f, 0.0, v, a, b)
    a, b = forward_16(f, 0.0, v, a, b)
    return _from_e(f, p, v * a / b)


# --- the continued fraction --------------------------------------------------------


def _downwards(first: int, last: int) -> Callable[..., DoubleDouble]:
    """Make the kernel that takes U(n+1), U(n+2) from n = 2*first + 2 to 2*last + 1."""

    @kernel
    def downwards(f: float, q: float, x: float, y: float) -> DoubleDouble:
        for m in range(first, last - 1, -1):
            kbq = ((m + 1.0) * q) * (f + m)
            x, y = fma(f + (2.0 * m + 1.0), x, -(kbq * y)), x
            x, y = fma(f + 2.0 * m, x, -(kbq * y)), x
        return x, y

    return downwards


def _levels(levels: int) -> Callable[[float, float], DoubleDouble]:
    """Make the kernel (f, q) -> (a, b), E = a/b, for an odd number of levels.

    a = U(3) - f q U(4), b = U(2).

    The fraction as S(n) = f + n - 1 - k b q/S(n+1), D = S(1), with quotients
    S(n) = U(n)/U(n+1) and the tail f + n - 1 - k q, that is X = p. It subtracts, always
    less than half, but is half as long a chain of operations as X. Levels are a
    constant, and the loop comes in two halves, so that the compiler unrolls it and
    vectorises the loop over cells. What 15 and 29 levels leave of D is below 2^-58
    (bench/continued_fraction.py).
    """
    half = levels // 2
    upper = _downwards(half - 1, half // 2 + 1)
    lower = _downwards(half // 2, 1)

    @kernel
    def e_of_levels(f: float, q: float) -> DoubleDouble:
        k = half + 1.0
        y = fma(-k, q, f + levels)
        x = fma(f + (levels - 1.0), y, -((k * q) * (f + half)))
        x, y = upper(f, q, x, y)
        x, y = lower(f, q, x, y)
        above = fma(-(f * q), y, x)
        return above, fma(f, x, above)

    return e_of_levels


levels_29 = _levels(29)
levels_15 = _levels(15)


@kernel
def e_29(f: float, p: float) -> float:
    """Return E for 16 <= f < 32, and for f >= 2 where p is not small."""
    above, below = levels_29(f, 1.0 - p)
    return above / below


@kernel
def resolvent_29(f: float, p: float) -> Triple:
    """Return (D, D_low, E) for 16 <= f < 32, and for f >= 2 where p is not small."""
    return _from_e(f, p, e_29(f, p))


@kernel
def e_15(f: float, p: float) -> float:
    """Return E for f >= 32, or f = 1 or f >= 2 and p near 1."""
    # The bound keeps U, which grows like f^15, from overflowing; past it D = f.
    above, below = levels_15(min(f, _TWO_60), 1.0 - p)
    return above / below


@kernel
def resolvent_of_e(f: float, p: float, E: float) -> Triple:
    """Return (D, D_low, E) from E where q C is small beside D = f - q C, C = 1 - E."""
    q, C = 1.0 - p, 1.0 - E
    D = fma(-q, C, f)
    return D, fma(-q, C, f - D), E


@kernel
def resolvent_15(f: float, p: float) -> Triple:
    """Return (D, D_low, E) for f >= 32, or f = 1 or f >= 2 and p near 1."""
    return resolvent_of_e(f, p, e_15(f, p))
