"""The mean of 1/(f + X), X negative binomial of any shape, or Poisson.

    r(f, s, p) = E[1/(f + X)] = (p/f) 2F1(1, f+1-s; f+1; q),   q = 1 - p,

with P(X = 0) = p^s; f = s is the individual risk (``special/gauss``). With a = s - f
and the resolvent D = p/r,

    D = b + h (A/B),   b = f p + (s - 1) q,

where the second term is small compared to b. The plane is cut into regions with
different methods for A/B (notes/posterior.md, sections 7 to 10):

- f = 1, and integers from it: T = (1 - p^a)/a, then contiguity upwards;
- Gauss's continued fraction, for p that is not small;
- Noerlund's continued fraction, for b or s that are not small;
- fractions f: ``inverse_mean_fractions``; the rest: ``inverse_mean_pairs``.

The Poisson law is the limit s q/p = mu, p -> 1, and needs only Noerlund's fraction.
"""

from __future__ import annotations

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_divide,
    quotient_pair,
)
from riskcore.core.special.elementary import log_high_low
from riskcore.core.special.floats import fma, two_sum
from riskcore.core.special.near_one import dd_log1p
from riskcore.core.special.negative_binomial.inverse_mean_fractions import (
    by_gauss,
    by_noerlund,
    gauss_excess,
    noerlund_excess,
    poisson_by_noerlund,
    poisson_excess,
    reflected,
)
from riskcore.core.special.negative_binomial.inverse_mean_pairs import (
    below_one,
    inverse_mean_pair,
)
from riskcore.core.special.negative_binomial.inverse_mean_parts import (
    base,
    gauss,
    less_power,
    noerlund,
    of_one,
    of_pairs,
    of_parts,
    of_two,
    pair_upwards,
    poisson_of_one,
    upwards,
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
# Below this p integers go upwards from f = 2; up to f = 4 below the other.
P_FORWARD = 0.3
P_SMALL = 0.5
# Below this p three levels of Noerlund's fraction are enough where a is large; of 36
# the deep ones would shrink by p each, and underflow in the end.
P_TINY = 2.0**-30
F_SMALL = 4.0
# Below this a the terms of b cancel, and f is not the smaller part of s.
A_SMALLEST = -0.5
# Below this f the fractions, for p near 1, have their last levels as pairs.
F_PAIRS = 2.0
# Below this f only cells with a large b have a loop.
F_SMALLEST = 0.5
# Up to this a Gauss's fraction needs fewer levels.
A_SMALL = 4.0

# Regions. All but OTHER have loops that vectorize.
ONE = 0  # f = 1, all shapes: by logarithm and exponential
FORWARD_PAIRS = 1  # f = 2, 3, 4, p below 1/2: contiguity upwards, in pairs
FORWARD_31 = 2  # integer f from 5 to 31, p small: the same in doubles
GAUSS_31 = 3  # Gauss's fraction, 31 levels
GAUSS_41 = 4
NOERLUND_3 = 5  # Noerlund's fraction, 3 levels
NOERLUND_16 = 6
NOERLUND_22 = 7
NOERLUND_36 = 8
NOERLUND_52 = 9
REFLECTED = 10  # fractions f, p not near 1: the reflection, then upwards
GAUSS_23 = 11  # f < 2, p not small: Gauss's fraction, the last levels as pairs
NOERLUND_60 = 12  # f < 2, p not small: Noerlund's fraction, the last levels as pairs
OTHER = 13
REGIONS = 14


@kernel
def region(f: float, s: float, p: float) -> int:
    """Return the number of the region, for p < 1."""
    # Branchless, so that a loop over it vectorizes.
    a = s - f
    b = fma(f, p, (s - 1.0) * (1.0 - p))
    near = (f + _TWO_52) - _TWO_52
    upwards = FORWARD_PAIRS if f <= F_SMALL else FORWARD_31
    # The reflection begins at f - n in [1/2, 3/2], its shape must not be below 1/2.
    # A shape just below it may round to it, so that shape itself is left out too.
    begins = (f - max(near, 1.0)) + a > -0.5
    ladder = upwards if near == f else (REFLECTED if begins else OTHER)
    levels = GAUSS_31 if a < A_SMALL else GAUSS_41
    levels = GAUSS_23 if f < F_PAIRS else levels
    below = P_SMALL if f <= F_SMALL else P_FORWARD
    where = ladder if p < below else levels
    deep = noerlund_region(b, f < F_PAIRS, a < A_LARGE, p < P_SMALL, p < P_TINY)
    where = deep if (a >= A_LARGE) | (b >= B_LARGE) else where
    rest = deep if b >= B_HUGE else OTHER
    where = where if (f >= F_SMALLEST) & (a >= A_SMALLEST) else rest
    return ONE if f == 1.0 else where


@kernel
def noerlund_region(
    b: float, few: bool, moderate: bool, small: bool, tiny: bool
) -> int:
    """Return the region whose levels leave less than 2^-54 of D.

    ``few`` says that f < F_PAIRS; ``moderate`` that b is large because of f, not of a;
    ``small`` that p < 1/2: there the fraction diverges in the end, and more levels
    would be worse; ``tiny`` that p < P_TINY.
    """
    deep = NOERLUND_60 if few else NOERLUND_52
    deep = NOERLUND_36 if small else deep
    deep = NOERLUND_3 if tiny else deep
    deep = NOERLUND_16 if moderate & (b >= B_LARGE) else deep
    deep = NOERLUND_22 if b >= B_HUGE else deep
    return NOERLUND_3 if b >= _B_VAST else deep


@kernel
def poisson_region(f: float, mu: float) -> int:
    """Return the number of the region of the Poisson law, for mu > 0."""
    b = f + mu
    where = noerlund_region(b, f < F_PAIRS, f >= B_LARGE, False, False)
    where = ONE if f == 1.0 else where
    return where if (f >= F_SMALLEST) | (b >= B_HUGE) else OTHER


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
    """Return half the levels, minus one half, of a region of Gauss's fraction."""
    return 15 if where == GAUSS_31 else 20


# --- the whole plane -----------------------------------------------------------------


@kernel
def inverse_mean(f: float, s: float, p: float) -> DoubleDouble:
    """Return r(f, s, p) and its low part, for f, s > 0 and 0 < p <= 1."""
    a, a_low = two_sum(s, -f)
    if (p == 1.0) | ((a == 1.0) & (a_low == 0.0)):
        return quotient_pair(p, 0.0, f, 0.0)
    where = region(f, s, p)
    if where == REFLECTED:
        return reflected(f, s, p)
    if where == GAUSS_23:
        return by_gauss(f, s, p)
    if where == NOERLUND_60:
        return by_noerlund(f, s, p)
    if where == OTHER:
        return inverse_mean_pair(f, s, p)
    q = 1.0 - p
    b, b_low = base(f, s, p)
    if where <= FORWARD_31:
        T, T_low = less_power(a, a_low, *log_high_low(p, 0.0))
        if where == ONE:
            return of_one(p, T, T_low)
        ratio = of_two(a, a_low, p, T, T_low)
        if where == FORWARD_PAIRS:
            for g in range(2, int(F_SMALL)):
                ratio = pair_upwards(float(g), f, a, a_low, p, ratio)
            return of_pairs(p, b, b_low, p, ratio)
        above, _, below, _ = ratio
        for g in range(2, int(f)):
            above, below = upwards(float(g), f, a, p, above, below)
        return of_parts(p, b, b_low, p, above, below)
    if where <= GAUSS_41:
        above, below = gauss(f, s, a, q, pairs_of(where))
        return of_parts(p, b, b_low, (1.0 - a) * q, above, below)
    square = p * q
    first = (1.0 - a) * square
    above, below = noerlund(b, p, p - q, square, first, levels_of(where))
    return of_parts(p, b, b_low, first, above, below)


@kernel
def inverse_mean_poisson(f: float, mu: float) -> DoubleDouble:
    """Return E[1/(f + X)] and its low part, X Poisson of mean mu >= 0."""
    if mu == 0.0:
        return quotient_pair(1.0, 0.0, f, 0.0)
    where = poisson_region(f, mu)
    if where == ONE:
        return poisson_of_one(mu)
    if where == NOERLUND_60:
        return poisson_by_noerlund(f, mu)
    b, b_low = two_sum(f, mu)
    if where == OTHER:
        b, b_low = dd_add(b, b_low, 1.0, 0.0)
        return below_one(f, 1.0, (b, b_low), (1.0, 0.0), (0.0, 0.0), (-mu, 0.0))
    above, below = noerlund(b, 1.0, 1.0, 0.0, -mu, levels_of(where))
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
def _log_by_excess(excess: float, excess_low: float, p: float) -> float:
    """Return log(p/D) from D - p."""
    high, low = dd_log1p(*dd_divide(excess, excess_low, p, 0.0))
    return -(high + low)


@kernel
def log_inverse_mean(f: float, s: float, p: float) -> float:
    """Return log r(f, s, p).

    For f >= 1 and p near 1, -log(1 + (D - p)/p) with D - p as a sum of numbers of one
    sign: accurate also where r is near 1.
    """
    r, r_low = inverse_mean(f, s, p)
    a, a_low = two_sum(s, -f)
    if (r < _R_NEAR_ONE) | (f < 1.0) | (p < P_SMALL) | (a < A_SMALLEST):
        return _log_of(r, r_low)
    if (p == 1.0) | ((a == 1.0) & (a_low == 0.0)):  # r = p/f
        return _log_by_excess(*two_sum(f, -p), p)
    if a < A_LARGE:
        return _log_by_excess(*gauss_excess(f, s, p), p)
    return _log_by_excess(*noerlund_excess(f, s, p), p)


@kernel
def log_inverse_mean_poisson(f: float, mu: float) -> float:
    """Return log E[1/(f + X)]; for r near 1 from D - 1."""
    r, r_low = inverse_mean_poisson(f, mu)
    if (r < _R_NEAR_ONE) | (f < 1.0):
        return _log_of(r, r_low)
    return _log_by_excess(*poisson_excess(f, mu), 1.0)
