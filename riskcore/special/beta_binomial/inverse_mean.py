"""The mean of 1/(f + X), X beta-binomial: a population of a known finite size.

    P(X = x) = C(M, x) (alpha)_x (beta)_{M-x}/(alpha+beta)_M,   x = 0, ..., M

It is the limit M -> infinity, p = (alpha+beta)/(alpha+beta+M) held, that has the
negative binomial law of shape alpha (``special/negative_binomial``). Three ways, in
pairs of doubles (notes/finite_population.md, sections 2 to 4):

- the continued fraction of the Hahn polynomials, all of whose terms are positive: what
  its levels leave out is enclosed by two of its convergents;
- the reflection, for p < 1/2 and f p <= 1, from a shape near alpha = 1 upwards;
- for a whole f and p < 1/2, from f = 1 upwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from riskcore.compiled.jit import kernel, shared
from riskcore.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_divide,
    dd_log,
    dd_multiply,
    dd_multiply_double,
)
from riskcore.special.floats import two_product, two_sum
from riskcore.special.gamma.digamma import (
    dd_digamma_difference,
    dd_digamma_difference_at_pair,
)
from riskcore.special.gamma.ratio import (
    dd_log_gamma_quotient,
    dd_log_gamma_ratio_at_pair,
)
from riskcore.special.near_one import dd_expm1, dd_log1p

# From this p = (alpha+beta)/(alpha+beta+M) on, and up to this M, the fraction alone: it
# has at most M levels.
_P_LARGE = 0.5
_M_SMALL = 30.0
# The reflection serves up to this f p and below this alpha, the fraction beyond.
_FP_REFLECTED = 1.0
_ALPHA_LARGE = 32.0
# Whole f below this one are reached from f = 1.
_F_FRACTION = 32.0
_M_LARGE = 2.0**52  # M + f is exact below it

# What the fraction may leave out, and from where on it is continued in doubles, both
# relative to the value. No region needs more levels: a test has the largest numbers.
_LEFT_OUT = 2.0**-60
_IN_PAIRS = 2.0**-10
_LEVELS = 1000.0
_END = 2.0**-80  # of a series


# --- the fraction --------------------------------------------------------------------


# The coefficients of a level of the fraction, for parameters x and y of the law.
Four = tuple[float, float, float, float]
Pairs = tuple[DoubleDouble, DoubleDouble, DoubleDouble, DoubleDouble]


@kernel
def _in_pairs(f: float, alpha: float, beta: float, M: float, n: float) -> Pairs:
    """Return c(n), f (2n+g-1), a(n) and 2n+g, g = alpha + beta."""
    g, g_low = two_sum(alpha, beta)
    below, below_low = dd_add(g, g_low, n - 1.0, 0.0)  # n+g-1
    c, c_low = dd_add(below, below_low, M, 0.0)
    c, c_low = dd_multiply(c, c_low, *two_sum(beta, n - 1.0))
    c, c_low = dd_multiply_double(c, c_low, n)
    a, a_low = dd_multiply(below, below_low, *two_sum(alpha, n))
    a, a_low = dd_multiply_double(a, a_low, M - n)
    b, b_low = dd_add(below, below_low, n, 0.0)
    even, even_low = dd_multiply_double(b, b_low, f)
    odd = dd_add(b, b_low, 1.0, 0.0)
    return (c, c_low), (even, even_low), (a, a_low), odd


@kernel
def _in_doubles(f: float, alpha: float, beta: float, M: float, n: float) -> Four:
    """Return what ``_in_pairs`` does."""
    below = alpha + beta + (n - 1.0)
    c = n * (below + M) * (beta + (n - 1.0))
    a = below * (alpha + n) * (M - n)
    return c, f * (below + n), a, below + n + 1.0


@kernel
def _binomial_in_pairs(f: float, share: float, _: float, M: float, n: float) -> Pairs:
    """Return n (1-share), f, share (M-n) and 1."""
    c, c_low = dd_multiply_double(*two_sum(1.0, -share), n)
    return (c, c_low), (f, 0.0), two_product(share, M - n), (1.0, 0.0)


@kernel
def _binomial_in_doubles(f: float, share: float, _: float, M: float, n: float) -> Four:
    """Return what ``_binomial_in_pairs`` does."""
    return n * (1.0 - share), f, share * (M - n), 1.0


@kernel
def _step(
    a: DoubleDouble, b: DoubleDouble, k: DoubleDouble, change: DoubleDouble
) -> tuple[DoubleDouble, DoubleDouble]:
    """Return k = 1/(b + a k) and the change of the next convergent."""
    part = dd_multiply(*a, *k)
    k = dd_divide(1.0, 0.0, *dd_add(*b, *part))
    change = dd_multiply(*change, *dd_multiply(*part, *k))
    return k, (-change[0], -change[1])


def _fraction_of(
    in_pairs: Callable[[float, float, float, float, float], Pairs],
    in_doubles: Callable[[float, float, float, float, float], Four],
) -> Callable[[float, float, float, float, DoubleDouble], tuple[float, float, float]]:
    """Make the kernel of a law's fraction from its coefficients."""

    @kernel
    def fraction(
        f: float, x: float, y: float, M: float, k: DoubleDouble
    ) -> tuple[float, float, float]:
        change = dd_multiply(*two_product(x, M), *k)
        total, total_low = change
        n = 1.0
        while abs(change[0]) > _IN_PAIRS * (f + total):
            c, even, a, odd = in_pairs(f, x, y, M, n)
            k, change = _step(c, even, k, change)
            total, total_low = dd_add(total, total_low, *change)
            if n == M:
                return total, total_low, n
            k, change = _step(a, odd, k, change)
            total, total_low = dd_add(total, total_low, *change)
            n += 1.0
            if n > _LEVELS:
                return total, total_low, math.inf
        inverse, step, rest = k[0], change[0], 0.0
        while abs(step) > _LEFT_OUT * (f + total):
            above, even_b, next_above, odd_b = in_doubles(f, x, y, M, n)
            part = above * inverse
            inverse = 1.0 / (even_b + part)
            step *= -(part * inverse)
            rest += step
            if n == M:
                break
            part = next_above * inverse
            inverse = 1.0 / (odd_b + part)
            step *= -(part * inverse)
            rest += step
            n += 1.0
            if n > _LEVELS:
                return total, total_low, math.inf
        total, total_low = dd_add(total, total_low, rest, 0.0)
        return total, total_low, n

    return fraction


_beta_binomial = _fraction_of(_in_pairs, _in_doubles)
_binomial = _fraction_of(_binomial_in_pairs, _binomial_in_doubles)


@kernel
def fraction(
    f: float, alpha: float, beta: float, M: float
) -> tuple[float, float, float]:
    """Return D - f = 1/r - f as a pair, and the number of levels, for M >= 1.

    D lies between any two successive convergents. Where too many levels would be
    needed the number is ``inf``.
    """
    k = dd_divide(1.0, 0.0, *two_sum(alpha, beta))
    return _beta_binomial(f, alpha, beta, M, k)


# --- the reflection ------------------------------------------------------------------


@kernel
def _rise(f: float, e: float, e_low: float, beta: float, M: float) -> DoubleDouble:
    """Return T = (1 - P)/e.

    P is (beta+1)_M/(beta+1+e)_M Gamma(f) Gamma(1-e)/Gamma(f-e); for e = 0 T is
    psi(beta+1+M) - psi(beta+1) - psi(f) + psi(1).
    """
    b, b_low = two_sum(beta, 1.0)
    if e == 0.0:
        high, low = dd_digamma_difference_at_pair(b, b_low, M)
        if f == 1.0:
            return high, low
        part, part_low = dd_digamma_difference(1.0, f)
        high, low = dd_add(high, low, -part, -part_low)
        return dd_add(high, low, *dd_divide(1.0, 0.0, f, 0.0))
    if e > 0.0:
        high, low = dd_log_gamma_ratio_at_pair(b, b_low, e, M)
    else:
        x, x_low = dd_add(b, b_low, e, e_low)
        high, low = dd_log_gamma_ratio_at_pair(x, x_low, -e, M)
        high, low = -high, -low
    if e_low != 0.0:  # then e < 0, and s = -e is not exact
        slope, _ = dd_digamma_difference(b, M)
        low -= e_low * slope
    if f != 1.0:
        high, low = dd_add(high, low, *dd_log_gamma_quotient(f, e, e_low))
    high, low = dd_expm1(high, low)
    return dd_divide(-high, -low, e, e_low)


@kernel
def _reflected(f: float, alpha: float, beta: float, M: float) -> DoubleDouble:
    """Return r for 0 < alpha < 3/2, alpha < f + 1 and f p <= 1.

    r = exp(R)/(M+f+beta) [1 + beta T - (beta+e) sum over k > 0 of c(k)/(k-e)], where
    c(k) = (1-f)_k (beta)_k/(k! (M+1+beta)_k) and exp(R) is the quotient
    Gamma(M+1) Gamma(M+1+f+beta)/(Gamma(M+1+f) Gamma(M+1+beta)).
    """
    e, e_low = two_sum(alpha, -1.0)
    high, low = dd_multiply_double(*_rise(f, e, e_low, beta, M), beta)
    high, low = dd_add(high, low, 1.0, 0.0)
    total, total_low = two_sum(M, beta)
    c, c_low = dd_add(*two_sum(alpha, beta), -1.0, 0.0)
    k = 0.0
    while abs(c) > _END * (1.0 + beta):
        k += 1.0
        c, c_low = dd_multiply(c, c_low, *two_sum(k, -f))
        c, c_low = dd_multiply(c, c_low, *two_sum(beta, k - 1.0))
        below, below_low = dd_add(total, total_low, k, 0.0)
        below, below_low = dd_multiply_double(below, below_low, k)
        c, c_low = dd_divide(c, c_low, below, below_low)
        part, part_low = dd_divide(c, c_low, *dd_add(k, 0.0, -e, -e_low))
        high, low = dd_add(high, low, -part, -part_low)
    one, one_low = two_sum(M, 1.0)
    small, large = min(f, beta), max(f, beta)
    x, x_low = dd_log_gamma_ratio_at_pair(one, one_low, small, large)
    x, x_low = dd_expm1(-x, -x_low)
    high, low = dd_multiply(high, low, *dd_add(1.0, 0.0, x, x_low))
    return dd_divide(high, low, *dd_add(total, total_low, f, 0.0))


@kernel
def _by_reflection(f: float, alpha: float, beta: float, M: float) -> DoubleDouble:
    """Return r from an alpha below 3/2 and below f + 1, and upwards.

    alpha (alpha+beta+M) r(alpha+1) = (alpha+beta) (1 + (alpha-f) r(alpha)).
    """
    steps = float(int(alpha - 0.5)) if alpha >= 0.5 else 0.0
    if alpha - steps >= f + 1.0:
        steps += 1.0
    r, r_low = _reflected(f, alpha - steps, beta, M)
    for k in range(int(steps)):
        shape = alpha - steps + float(k)
        g, g_low = two_sum(shape, beta)
        r, r_low = dd_multiply(r, r_low, *two_sum(shape, -f))
        r, r_low = dd_multiply(*dd_add(1.0, 0.0, r, r_low), g, g_low)
        below, below_low = dd_add(g, g_low, M, 0.0)
        below, below_low = dd_multiply_double(below, below_low, shape)
        r, r_low = dd_divide(r, r_low, below, below_low)
    return r, r_low


# --- whole f -------------------------------------------------------------------------


@kernel
def _forward(f: float, alpha: float, beta: float, M: float) -> DoubleDouble:
    """Return r for a whole f, from f = 1 upwards.

    r = (1 + beta T)/(M+1) for f = 1, and M alpha r(f+1; alpha+1, M-1) = (alpha+beta)
    (1 - f r).
    """
    a = alpha - f  # exact for alpha >= f/2
    high, low = dd_multiply_double(*_rise(1.0, a, 0.0, beta, M + (f - 1.0)), beta)
    high, low = dd_add(high, low, 1.0, 0.0)
    r, r_low = dd_divide(high, low, *two_sum(M, f))
    for k in range(1, int(f)):
        shape, shape_low = two_sum(a, float(k))
        g, g_low = dd_add(shape, shape_low, beta, 0.0)
        r, r_low = dd_multiply_double(r, r_low, -float(k))
        r, r_low = dd_multiply(*dd_add(1.0, 0.0, r, r_low), g, g_low)
        below, below_low = dd_multiply(shape, shape_low, *two_sum(M, f - float(k)))
        r, r_low = dd_divide(r, r_low, below, below_low)
    return r, r_low


# --- the whole domain ----------------------------------------------------------------


@kernel
def is_forward(f: float, alpha: float, beta: float, M: float) -> bool:
    """Whether a cell is reached from f = 1, which is stable for small p."""
    p = (alpha + beta) / (alpha + beta + M)
    whole = (f < _F_FRACTION) & (float(int(f)) == f)
    return whole & (p < _P_LARGE) & (alpha >= f - 0.5) & (M > _M_SMALL) & (M < _M_LARGE)


@kernel
def is_reflected(f: float, alpha: float, beta: float, M: float) -> bool:
    """Whether the reflection serves a cell."""
    p = (alpha + beta) / (alpha + beta + M)
    small = (p < _P_LARGE) & (f * p <= _FP_REFLECTED)
    return small & (alpha < _ALPHA_LARGE) & (M > _M_SMALL) & (8.0 * f <= M)


@shared("float64, float64, float64, float64", "float64, float64")
def inverse_mean(f: float, alpha: float, beta: float, M: float) -> DoubleDouble:
    """Return r = E[1/(f + X)] and its rest, for f, alpha, beta > 0 and a whole M."""
    if M == 0.0:
        return dd_divide(1.0, 0.0, f, 0.0)
    if is_forward(f, alpha, beta, M):
        return _forward(f, alpha, beta, M)
    if is_reflected(f, alpha, beta, M):
        return _by_reflection(f, alpha, beta, M)
    D, D_low, levels = fraction(f, alpha, beta, M)
    if levels == math.inf:
        return math.nan, 0.0
    return dd_divide(1.0, 0.0, *dd_add(D, D_low, f, 0.0))


@shared("float64, float64, float64", "float64, float64")
def inverse_mean_binomial(f: float, share: float, M: float) -> DoubleDouble:
    """Return E[1/(f + X)] and its rest, X binomial of M people and a share."""
    if M == 0.0:
        return dd_divide(1.0, 0.0, f, 0.0)
    D, D_low, levels = _binomial(f, share, 0.0, M, (1.0, 0.0))
    if levels == math.inf:
        return math.nan, 0.0
    return dd_divide(1.0, 0.0, *dd_add(D, D_low, f, 0.0))


@shared("float64, float64, float64, float64", "float64")
def log_inverse_mean(f: float, alpha: float, beta: float, M: float) -> float:
    """Return log r; by the fraction for f >= 1 from D - 1, right also near r = 1."""
    few = is_forward(f, alpha, beta, M) | is_reflected(f, alpha, beta, M)
    if (M > 0.0) & (f >= 1.0) & (not few):
        D, D_low, levels = fraction(f, alpha, beta, M)
        if levels == math.inf:
            return math.nan
        high, low = dd_log1p(*dd_add(D, D_low, f - 1.0, 0.0))
        return -(high + low)
    r, r_low = inverse_mean(f, alpha, beta, M)
    if abs(r - 1.0) < 0.25:
        high, low = dd_log1p(*dd_add(r, r_low, -1.0, 0.0))
    else:
        high, low = dd_log(r, r_low)
    return high + low
