"""The spread of 1/F where F is negative binomial: its variance, without cancellation.

The law of F - f does not depend on the f added to it, so E[1/F^2] is a slope of E[1/F]
(``inverse_square``), and with D = p/E[1/F]

    Var(1/F) = r^2 (dD/df - p)/p,

where p is removed from the continued fractions of D by hand, so that all terms are
positive. By region (notes/posterior.md, section 4):

- Noerlund's continued fraction and its slope, for f that is not small;
- Gauss's and its slope, for p that is not small;
- else the reflection at 1/2 < f <= 3/2, or one above f, and contiguity from there.
"""

from __future__ import annotations

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_divide,
    dd_log,
    dd_multiply,
    dd_multiply_double,
    sqrt,
)
from riskcore.core.special.elementary import polynomial
from riskcore.core.special.floats import fma, from_hex, two_product, two_sum
from riskcore.core.special.near_one import exponentials

# --- regions -------------------------------------------------------------------------

F_LARGE = 20.0  # from it on Noerlund's fraction, for every p
P_LARGE = 0.2  # from it on Gauss's fraction
# Levels that leave less than 2^-60 of the variance.
NOERLUND_LEVELS = 14
GAUSS_LEVELS = 44
GAUSS_PAIRS = 5  # levels 3 to 5 are pairs of doubles
SERIES_TERMS = 31  # of the reflection
SERIES_PAIRS = 6

NOERLUND = 0
GAUSS = 1
REFLECTED = 2
OUTSIDE = 3
REGIONS = 4

_TWO_52 = 2.0**52  # adding it rounds to an integer

# log(pi d/sin(pi d))/d^2 in powers of d^2 at 16 Chebyshev points of [0, 1/4], and
# (psi(2+d) - psi(2))/d in powers of d at 22 of [-1/2, 1/2], to 2^-64, by
# `bench.coefficients`. The first two coefficients are pairs.
_ETA = from_hex("0x1.a51a6625307d3p+0 0x1.151322ac7d849p-1")
_ETA_LOW = from_hex("0x1.17fa08959e912p-55 0x1.52113afd730c5p-56")
_ETA_REST = from_hex("""
    0x1.5b40cb100c081p-2 0x1.010b36af9b4f0p-2 0x1.9a01e37a4909ap-3
    0x1.556ad81ac9eeap-3 0x1.2496aab15e19ap-3 0x1.0004eed57e7d0p-3
    0x1.c6b27158a7797p-4 0x1.9dac32f3b7144p-4 0x1.5750d060d0c5ap-4
    0x1.eb92dac7891fbp-4 -0x1.dc2a23a936792p-5 0x1.a568f1cbee466p-2
    -0x1.e41a3404fd15dp-2 0x1.0106d088fc137p-1
""")
_eta_rest = polynomial(_ETA_REST)
_PSI = from_hex("0x1.4a34cc4a60fa6p-1 -0x1.9dd002780310ap-3")
_PSI_LOW = from_hex("0x1.188a998fc3477p-55 0x1.f1df36f5212fdp-58")
_PSI_REST = from_hex("""
    0x1.51322ac7d8483p-4 -0x1.2e831d94f99b6p-5 0x1.1c261302492d1p-6
    -0x1.1196d0a679df4p-7 0x1.0b36af861f527p-8 -0x1.073e7b02bc920p-9
    0x1.04b8cea3efc04p-10 -0x1.0318df315ae81p-11 0x1.020a576725459p-12
    -0x1.0159364bce0c4p-13 0x1.00e55d56ee60ep-14 -0x1.00986ae9f6177p-15
    0x1.0050b55d0a461p-16 -0x1.002eeebe41de1p-17 0x1.01a76859b73a0p-18
    -0x1.01987df631bc9p-19 0x1.ddf604085a8b9p-21 -0x1.dde8f66307ce5p-22
    0x1.6c159b22c4707p-22 -0x1.6c1230ae59a47p-23
""")
_psi_rest = polynomial(_PSI_REST)

# r, the variance, and b and I with Var(1/F) = b^2 I: b and I are within the range of
# doubles wherever the deviation is.
Moments = tuple[float, float, float, float]
Fraction = tuple[float, float]  # a level of a continued fraction and its slope
Pairs = tuple[float, float, float, float]


@kernel
def region(f: float, p: float) -> int:
    """Return the number of the region, for f > 0 and 0 < p <= 1."""
    below = GAUSS if p >= P_LARGE else REFLECTED
    return NOERLUND if f >= F_LARGE else below


# --- Noerlund's fraction -------------------------------------------------------------


@kernel
def noerlund_start(f: float, p: float) -> Fraction:
    """Return a guess of V(k), and its slope, for k = ``NOERLUND_LEVELS``."""
    return f - (1.0 - p) + (NOERLUND_LEVELS * (2.0 * p) + 1.0), p


@kernel
def noerlund_step(k: float, f: float, p: float, V: float, slope: float) -> Fraction:
    """Return V(k) and its slope from those of k + 1.

    V(k) = f - q + k (p - q) + (k+1)^2 p q/V(k+1), D = V(0).
    """
    q = 1.0 - p
    part = (k + 1.0) * (p * q) / V
    slope = fma(part, 1.0 - (k + 1.0) * slope / V, p)
    return fma(k, p - q, f - q) + (k + 1.0) * part, slope


@kernel
def noerlund_end(f: float, p: float, V: float, slope: float) -> Moments:
    """Return the moments from V(2) and its slope.

    D = f - q + p q/V(1), and (dD/df - p)/p = (q/V(1)) (1 - V'(1)/V(1)).
    """
    q = 1.0 - p
    b, b_low = two_sum(f, -1.0)
    b, rest = two_sum(b, p)
    b_low += rest
    part = 4.0 * (p * q) / V
    slope = fma(2.0 * (p * q) / V, 1.0 - 2.0 * slope / V, p)
    V, V_low = two_sum(b, p - q)
    V += V_low + (b_low + part)
    b, rest = two_sum(b, p * q / V)
    r = p / b
    r = fma(fma(-r, b, p) - r * (rest + b_low), 1.0 / b, r)
    spread = q / V * (1.0 - slope / V)
    return r, r * (r * spread), r, spread


# --- Gauss's fraction ----------------------------------------------------------------


@kernel
def gauss_start(f: float, p: float) -> Fraction:
    """Return a guess of S(n), and its slope, for n = ``GAUSS_LEVELS`` + 1."""
    rise = 0.5 * (1.0 + sqrt(p))
    return fma(float(GAUSS_LEVELS), rise, f), rise


@kernel
def gauss_step(n: int, f: float, p: float, S: float, slope: float) -> Fraction:
    """Return S(n) and its slope from those of n + 1.

    S(n) = f + n - 1 - c q/S(n+1), with c = (m+1) (f+m) for n = 2m+1 and c = m (s+m-1)
    for n = 2m: the shape s is f, but is held fixed. D = S(1).
    """
    m = float(n >> 1)
    odd = n & 1 == 1
    q = (1.0 - p) / S
    c = (m + 1.0) * (f + m) if odd else m * (f + (m - 1.0))
    rise = f + (2.0 * m + 1.0) if odd else 0.0
    part = c * q
    slope = fma(part, slope / S, 1.0) - rise * q
    return (f + (n - 1.0)) - part, slope


@kernel
def gauss_pair_step(n: int, f: float, p: float, fraction: Pairs) -> Pairs:
    """Return ``gauss_step`` in pairs."""
    S, S_low, slope, slope_low = fraction
    m = float(n >> 1)
    odd = n & 1 == 1
    q, q_low = two_sum(1.0, -p)
    q, q_low = dd_divide(q, q_low, S, S_low)
    c, c_low = two_sum(f, m if odd else m - 1.0)
    c, c_low = dd_multiply_double(c, c_low, m + 1.0 if odd else m)
    part, part_low = dd_multiply(c, c_low, q, q_low)
    slope, slope_low = dd_divide(slope, slope_low, S, S_low)
    slope, slope_low = dd_multiply(slope, slope_low, part, part_low)
    slope, slope_low = dd_add(slope, slope_low, 1.0, 0.0)
    if odd:
        c, c_low = two_sum(f, 2.0 * m + 1.0)
        c, c_low = dd_multiply(c, c_low, q, q_low)
        slope, slope_low = dd_add(slope, slope_low, -c, -c_low)
    base, base_low = two_sum(f, n - 1.0)
    S, S_low = dd_add(base, base_low, -part, -part_low)
    return S, S_low, slope, slope_low


@kernel
def gauss_end(f: float, p: float, fraction: Pairs) -> Moments:
    """Return the moments from S(3) and its slope.

    With w = q/S(3): S(2) = f + 1 - f w, D = f (S(2) - q)/S(2), and (dD/df - p)/p =
    (q f/(p S(2))) (S'(2)/S(2) - w), S'(2) = 1 + f w S'(3)/S(3).
    """
    S, S_low, slope, slope_low = fraction
    q, q_low = two_sum(1.0, -p)
    w, w_low = dd_divide(q, q_low, S, S_low)
    part, part_low = dd_multiply_double(w, w_low, f)
    slope, slope_low = dd_divide(slope, slope_low, S, S_low)
    slope, slope_low = dd_multiply(slope, slope_low, part, part_low)
    slope, slope_low = dd_add(slope, slope_low, 1.0, 0.0)
    base, base_low = two_sum(f, 1.0)
    S, S_low = dd_add(base, base_low, -part, -part_low)
    slope, slope_low = dd_divide(slope, slope_low, S, S_low)
    bend, bend_low = dd_add(slope, slope_low, -w, -w_low)
    bend, bend_low = dd_multiply(bend, bend_low, q, q_low)
    base, base_low = two_sum(f, p)
    D, D_low = dd_add(base, base_low, -part, -part_low)
    D, D_low = dd_multiply_double(D, D_low, f)
    above, above_low = dd_multiply_double(S, S_low, p)
    r, r_low = dd_divide(above, above_low, D, D_low)
    r += r_low
    bend, bend_low = dd_divide(bend, bend_low, above, above_low)
    spread = f * (bend + bend_low)
    return r, r * (r * spread), r, spread


# --- the reflection ------------------------------------------------------------------


@kernel
def place(f: float) -> tuple[float, float]:
    """Return d and n with f = 1 + d + n: an integer n, |d| <= 1/2, or n = -1, d = f."""
    whole = (f + _TWO_52) - _TWO_52
    return f - whole, whole - 1.0


@kernel
def odds_of(p: float) -> DoubleDouble:
    """Return z = p/q."""
    return dd_divide(p, 0.0, *two_sum(1.0, -p))


@kernel
def series_step(m: float, d: float, z: float, tau: float, omega: float) -> Fraction:
    """Return tau(m) and omega(m) from those of m + 1.

    tau(m) = h - z tau(m+1) and omega(m) = h (1/m + z tau(m+1)) - z omega(m+1), with
    h = 1/(m - d).
    """
    h = 1.0 / (m - d)
    omega = fma(h, fma(z, tau, 1.0 / m), -z * omega)
    return fma(-z, tau, h), omega


@kernel
def series_pair_step(m: float, d: float, z: float, z_low: float, sums: Pairs) -> Pairs:
    """Return ``series_step`` in pairs."""
    tau, tau_low, omega, omega_low = sums
    h, h_low = dd_divide(1.0, 0.0, *two_sum(m, -d))
    tau, tau_low = dd_multiply(tau, tau_low, z, z_low)
    part, part_low = dd_divide(1.0, 0.0, m, 0.0)
    part, part_low = dd_add(part, part_low, tau, tau_low)
    part, part_low = dd_multiply(part, part_low, h, h_low)
    omega, omega_low = dd_multiply(omega, omega_low, z, z_low)
    omega, omega_low = dd_add(part, part_low, -omega, -omega_low)
    tau, tau_low = dd_add(h, h_low, -tau, -tau_low)
    return tau, tau_low, omega, omega_low


@kernel
def eta_of_reflection(d: float) -> DoubleDouble:
    """Return log(pi d/sin(pi d))/d."""
    w, w_low = two_product(d, d)
    high, low = two_sum(_ETA[1], _eta_rest(w) * w)
    high, low = dd_multiply(high, low + _ETA_LOW[1], w, w_low)
    high, low = dd_add(_ETA[0], _ETA_LOW[0], high, low)
    return dd_multiply_double(high, low, d)


@kernel
def slope_of_psi(d: float) -> DoubleDouble:
    """Return (psi(1+d) - psi(1))/d."""
    high, low = two_sum(_PSI[1], _psi_rest(d) * d)
    high, low = dd_multiply_double(high, low + _PSI_LOW[1], d)
    high, low = dd_add(_PSI[0], _PSI_LOW[0], high, low)
    part, part_low = dd_divide(1.0, 0.0, *two_sum(1.0, d))
    return dd_add(high, low, part, part_low)


@kernel
def power(d: float, p: float) -> tuple[float, float, float, float]:
    """Return X = (pi d/sin(pi d)) z^d and Y = -(X - 1)/d as pairs."""
    high, low = dd_log(p, 0.0)
    part, part_low = dd_log(*two_sum(1.0, -p))
    high, low = dd_add(high, low, -part, -part_low)
    part, part_low = eta_of_reflection(d)
    high, low = dd_add(high, low, part, part_low)
    x, x_low = dd_multiply_double(high, low, d)
    X, X_low, Y, Y_low = exponentials(x, x_low)
    zero = d == 0.0
    Y, Y_low = dd_divide(Y, Y_low, 1.0 if zero else d, 0.0)
    return X, X_low, -high if zero else -Y, -low if zero else -Y_low


@kernel
def first(
    d: float, p: float, z: float, z_low: float, powers: Pairs, sums: Pairs
) -> Pairs:
    """Return r/z and Var(1/F)/z at f = 1 + d as pairs.

    r/z = Y + z tau(1), and E[1/F^2]/z = X (psi(1+d) - psi(1))/d + Y log q - z omega(1).
    """
    X, X_low, Y, Y_low = powers
    tau, tau_low, omega, omega_low = sums
    part, part_low = dd_multiply(tau, tau_low, z, z_low)
    r, r_low = dd_add(Y, Y_low, part, part_low)
    V, V_low = dd_multiply(X, X_low, *slope_of_psi(d))
    part, part_low = dd_log(*two_sum(1.0, -p))
    part, part_low = dd_multiply(part, part_low, Y, Y_low)
    V, V_low = dd_add(V, V_low, part, part_low)
    part, part_low = dd_multiply(omega, omega_low, z, z_low)
    V, V_low = dd_add(V, V_low, -part, -part_low)
    part, part_low = dd_multiply(r, r_low, z, z_low)
    part, part_low = dd_multiply(part, part_low, r, r_low)
    V, V_low = dd_add(V, V_low, -part, -part_low)
    return r, r_low, V, V_low


@kernel
def upwards(
    k: float, d: float, n: float, z: float, z_low: float, moments: Pairs
) -> Pairs:
    """Return r/z and Var(1/F)/z^2 at 1 + d + k from those at d + k, if k <= n.

    r(f+1)/z = 1/f - r(f), Var(f+1)/z = (r(f+1)/z) (r(f) - r(f+1)) - Var(f). For k = 1
    the given variance is divided by z once only.
    """
    r, r_low, V, V_low = moments
    below, below_low = dd_multiply(r, r_low, z, z_low)
    above, above_low = dd_divide(1.0, 0.0, *two_sum(k, d))
    above, above_low = dd_add(above, above_low, -below, -below_low)
    fall, fall_low = dd_add(r, r_low, -above, -above_low)
    fall, fall_low = dd_multiply(fall, fall_low, above, above_low)
    v, v_low = dd_multiply(V, V_low, 1.0 if k == 1.0 else z, 0.0 if k == 1.0 else z_low)
    v, v_low = dd_add(fall, fall_low, -v, -v_low)
    more = k <= n
    return (
        above if more else r,
        above_low if more else r_low,
        v if more else V,
        v_low if more else V_low,
    )


@kernel
def reflected_end(
    d: float,
    n: float,
    z: float,
    z_low: float,
    X: float,
    X_low: float,
    tau: float,
    tau_low: float,
    moments: Pairs,
) -> Moments:
    """Return the moments at 1 + d + n from the results of ``upwards``.

    For n = -1: r(f) = X/f - z tau(1), one step down from 1 + f.
    """
    r, r_low, V, V_low = moments
    above, above_low = dd_multiply(r, r_low, z, z_low)
    down = n < 0.0
    x, x_low = dd_divide(X, X_low, d if down else 1.0, 0.0)
    y, y_low = dd_multiply(tau, tau_low, z, z_low)
    x, x_low = dd_add(x, x_low, -y, -y_low)
    y, y_low = dd_add(x, x_low, -above, -above_low)
    y, y_low = dd_multiply(y, y_low, r, r_low)
    y = dd_add(y, y_low, -V, -V_low)[0]
    b = sqrt(z) if n == 0.0 else z
    variance = z * (V if n == 0.0 else z * V)
    return (
        x + x_low if down else above + above_low,
        y if down else variance,
        1.0 if down else b,
        y if down else V,
    )


@kernel
def by_reflection(f: float, p: float) -> Moments:
    """Return the moments of 1/F by the reflection of psi."""
    d, n = place(f)
    z, z_low = odds_of(p)
    tau, omega = 0.0, 0.0
    for m in range(SERIES_TERMS, SERIES_PAIRS, -1):
        tau, omega = series_step(float(m), d, z, tau, omega)
    sums = (tau, 0.0, omega, 0.0)
    for m in range(SERIES_PAIRS, 0, -1):
        sums = series_pair_step(float(m), d, z, z_low, sums)
    powers = power(d, p)
    moments = first(d, p, z, z_low, powers, sums)
    for k in range(1, int(n) + 1):
        moments = upwards(float(k), d, n, z, z_low, moments)
    return reflected_end(
        d, n, z, z_low, powers[0], powers[1], sums[0], sums[1], moments
    )


# --- the whole plane -----------------------------------------------------------------


@kernel
def moments(f: float, p: float) -> Moments:
    """Return E[1/F], Var(1/F), b and I with Var(1/F) = b^2 I; f > 0, 0 < p <= 1."""
    where = region(f, p)
    if where == NOERLUND:
        V, slope = noerlund_start(f, p)
        for k in range(NOERLUND_LEVELS - 1, 1, -1):
            V, slope = noerlund_step(float(k), f, p, V, slope)
        return noerlund_end(f, p, V, slope)
    if where == GAUSS:
        S, slope = gauss_start(f, p)
        for n in range(GAUSS_LEVELS, GAUSS_PAIRS, -1):
            S, slope = gauss_step(n, f, p, S, slope)
        fraction = (S, 0.0, slope, 0.0)
        for n in range(GAUSS_PAIRS, 2, -1):
            fraction = gauss_pair_step(n, f, p, fraction)
        return gauss_end(f, p, fraction)
    return by_reflection(f, p)
