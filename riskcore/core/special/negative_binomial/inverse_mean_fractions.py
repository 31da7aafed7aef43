"""E[1/(f + X)] for fractions f: pairs of doubles where rounding errors matter.

    r(f, s, p) = p N/M,    s r(f, s+1) = p (1 + (s - f) r(f, s))

Three methods (notes/posterior.md, sections 9 to 11):

- the reflection p -> q, at 1/2 <= f <= 3/2 and a shape from 1/2 to 3/2; from there
  upwards in the shape, and in f and the shape together;
- Gauss's fraction at a shape below f + 1, and upwards in the shape;
- Noerlund's fraction, its last levels as pairs.
"""

from __future__ import annotations

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_divide,
    dd_multiply,
    dd_multiply_double,
    dd_multiply_positive,
    quotient_pair,
)
from riskcore.core.special.elementary import log_high_low
from riskcore.core.special.floats import (
    fast_two_sum,
    fma,
    from_hex,
    table_of,
    two_product,
    two_sum,
)
from riskcore.core.special.near_one import expm1_pair
from riskcore.core.special.negative_binomial.inverse_mean_parts import (
    PAIR_STEPS,
    Ratio,
    base,
    cut,
    gauss_step,
    gauss_tail,
    mixture,
    noerlund_step,
    noerlund_tail,
    of_pairs,
    pair_upwards,
    upwards,
)

_TWO_52 = 2.0**52  # adding it rounds to an integer

# log Gamma(2 + z) = ... + a_2 z^2 + a_3 z^3 + ...: psi'(2 + z) at 32 Chebyshev points
# of [-1, 1], integrated twice (`bench.coefficients`): 2 a_2 and 3 a_3 in pairs, a_4 ...
TWICE_A2 = float.fromhex("0x1.4a34cc4a60fa6p-1")
TWICE_A2_LOW = float.fromhex("0x1.8268c7211b5f3p-56")
THRICE_A3 = float.fromhex("-0x1.9dd002780310ap-3")
THRICE_A3_LOW = float.fromhex("0x1.52a91ccfccf29p-57")
LOG_GAMMA = from_hex("""
    0x1.51322ac7d84f8p-6 -0x1.e404fc218f681p-8 0x1.7add6eadaf0f8p-9
    -0x1.38ac5c2bf33b3p-10 0x1.0b36af88614b4p-11 -0x1.d3fd4c7a44115p-13
    0x1.a127b035812fbp-14 -0x1.78de5b39eb797p-15 0x1.580de40e5116ap-16
    -0x1.3cbca89c7504fp-17 0x1.2595fb723617fp-18 -0x1.11b17223922e1p-19
    0x1.007cb56dd9ef7p-20 -0x1.e28b5a08a169dp-22 0x1.c5711d8785f83p-23
    -0x1.ad8925ecef2ebp-24 0x1.a94a705dcbe16p-25 -0x1.94a199598b072p-26
    0x1.196153808911dp-27 -0x1.0ee226c4bf7c8p-28 0x1.6edb44cb0239bp-28
    -0x1.5d21617b76fc5p-29 -0x1.c43a3ffb7d46bp-30 0x1.abf3d803edf45p-31
    0x1.6bd5b91bb8a0dp-30 -0x1.5c2a45e85c1f8p-31 -0x1.9ac4531999600p-32
    0x1.8a642af60faf6p-33 0x1.55439fb1794f4p-34 -0x1.497fad5250677p-35
""")
_log_gamma = table_of("log_gamma_at_two", LOG_GAMMA)

# Of Gauss's fraction, 2 GAUSS_PAIRS + 1 levels; the last four in pairs of doubles.
GAUSS_PAIRS = 11
# Of Noerlund's fraction, and how many of them as pairs of doubles.
NOERLUND_LEVELS = 60
NOERLUND_EXACT = 5


# --- the reflection: log Gamma -------------------------------------------------------


@kernel
def places(f: float, s: float) -> tuple[float, float, float, float]:
    """Return (u, e, g, n): f = 1 + u + g, s = 1 + e + g + n, |u|, |e| <= 1/2.

    Exact, for f >= 1/2 and s - g >= 1/2; g and n are integers.
    """
    whole = max((f + _TWO_52) - _TWO_52, 1.0)
    above = s - (whole - 1.0)
    shape = max((above + _TWO_52) - _TWO_52, 1.0)
    return f - whole, above - shape, whole - 1.0, shape - 1.0


@kernel
def gammas_step(
    k: int, u: float, v: float, U: float, V: float, W: float
) -> tuple[float, float, float]:
    """Return (U, V, W) of degree k + 3 from those of degree k + 4.

    For the polynomial P(z) = a_k z^k + ..., U = (P(u) - P(0))/u, V the same for v, W =
    (P(u+v) - P(u) - P(v) + P(0))/(u v), by the rule of Leibniz, without subtraction.
    """
    c = _log_gamma(k)
    return fma(u, U, c), fma(v, V, c), fma(u + v, W, U + V)


@kernel
def gammas_end(u: float, v: float, U: float, V: float, W: float) -> DoubleDouble:
    """Return ``gammas`` from U, V, W of degree 3."""
    w, w_low = two_sum(u, v)
    of_u, of_v = u * U, v * V
    W = fma(w, W, U + V)
    rest = fma(w, fma(w, W, of_u + of_v), fma(u, of_u, v * of_v))
    part, part_low = two_product(THRICE_A3, w)
    part_low = fma(THRICE_A3, w_low, fma(THRICE_A3_LOW, w, part_low))
    high, low = fast_two_sum(TWICE_A2, part)
    return fast_two_sum(high, low + (rest + (part_low + TWICE_A2_LOW)))


@kernel
def gammas(u: float, v: float) -> DoubleDouble:
    """Return log(Gamma(2+u+v)/(Gamma(2+u) Gamma(2+v)))/(u v)."""
    U, V, W = 0.0, 0.0, 0.0
    for k in range(len(LOG_GAMMA) - 1, -1, -1):
        U, V, W = gammas_step(k, u, v, U, V, W)
    return gammas_end(u, v, U, V, W)


# --- the reflection: the series ------------------------------------------------------


@kernel
def series_end(log_p: float) -> float:
    """Return the last k of the series: later terms are below 2^-58."""
    return 2.0 + float(int(-38.0 / log_p))


@kernel
def series_step(
    k: float, last: float, u: float, e: float, p: float, N: float, M: float
) -> tuple[float, float]:
    """Return numerator and denominator of G(k) from those of G(k+1).

    G(k) = 1/(k - e) + (k - u) p/(k + 1) G(k+1) for k <= last, then 0.
    """
    c = (k - u) * (p * (1.0 / (k + 1.0)))
    d = k - e
    N, M = fma(c * d, N, M), d * M
    return N if k <= last else 0.0, M if k <= last else 1.0


@kernel
def series(u: float, e: float, p: float, last: float) -> tuple[float, float]:
    """Return numerator and denominator of G(3)."""
    N, M = 0.0, 1.0
    for k in range(int(last), 2, -1):
        N, M = series_step(float(k), last, u, e, p, N, M)
    return N, M


@kernel
def end_of_series(u: float, e: float, p: float, N: float, M: float) -> DoubleDouble:
    """Return the sum over k > 1 of (1-u)(2-u)...(k-1-u) p^k/(k! (k-e)).

    p^2 (1-u)/2 G(2) with G(2) = (3 M + (2-u) p (2-e) N)/(3 (2-e) M), G(3) = N/M.
    """
    d, d_low = two_sum(2.0, -e)
    x, x_low = two_sum(2.0, -u)
    x, x_low = dd_multiply_positive(x, x_low, *two_product(p, N))
    x, x_low = dd_multiply_positive(x, x_low, d, d_low)
    y, y_low = two_product(3.0, M)
    x, x_low = dd_add(x, x_low, y, y_low)
    y, y_low = dd_multiply_positive(y, y_low, d, d_low)
    c, c_low = two_sum(1.0, -u)
    c, c_low = dd_multiply_positive(c, c_low, *two_product(0.5 * p, p))
    x, x_low = dd_multiply_positive(x, x_low, c, c_low)
    return quotient_pair(x, x_low, y, y_low)


# --- the reflection ------------------------------------------------------------------


@kernel
def reflect(
    u: float,
    e: float,
    p: float,
    high: float,
    low: float,
    W: float,
    W_low: float,
    above: float,
    below: float,
) -> DoubleDouble:
    """Return r/p for f = 1 + u and the shape 1 + e.

    q^f r/p = (1 - X)/e + u [(p f - X)/(f (1-e)) + series], X = p^e exp(e u W), from
    log p = high + low, W of ``gammas`` and G(3) = above/below of ``series``.
    """
    f = 1.0 + u
    total, total_low = end_of_series(u, e, p, above, below)
    high, low = fast_two_sum(high, low)
    Y, Y_low = two_product(u, W)
    Y_low = fma(u, W_low, Y_low)
    Y, rest = two_sum(high, Y)
    Y, Y_low = fast_two_sum(Y, rest + (low + Y_low))
    x, x_low = two_product(e, Y)
    X, X_low = expm1_pair(x, fma(e, Y_low, x_low))
    zero = e == 0.0
    reciprocal = 1.0 / (1.0 if zero else e)
    T = X * reciprocal
    T_low = (fma(-T, e, X) + X_low) * reciprocal
    T = -Y if zero else -T
    T_low = -Y_low if zero else -T_low
    X, rest = two_sum(1.0, X)
    N, N_low = two_product(p, f)
    N, more = two_sum(N, -X)
    N_low += more - (rest + X_low)
    shape, shape_low = two_sum(1.0, -e)
    M, M_low = two_product(f, shape)
    M_low = fma(f, shape_low, M_low)
    x, x_low = quotient_pair(N, N_low, M, M_low)
    x, rest = two_sum(x, total)
    x_low += rest + total_low
    N, N_low = two_product(u, x)
    N_low = fma(u, x_low, N_low)
    T, rest = two_sum(T, N)
    T, T_low = fast_two_sum(T, rest + (T_low + N_low))
    q = 1.0 - p
    high, low = log_high_low(q, 0.0)
    low += ((1.0 - q) - p) / q
    high, low = fast_two_sum(high, low)
    x, x_low = two_product(-f, high)
    X, X_low = expm1_pair(x, fma(-f, low, x_low))
    X, rest = two_sum(1.0, X)
    return dd_multiply_positive(T, T_low, X, rest + X_low)


@kernel
def rise(
    k: float, n: float, shape: float, a: float, a_low: float, p: float, ratio: Ratio
) -> Ratio:
    """Return N and M for the shape + k + 1 from those for the shape + k, if k < n.

    a is the first shape less f, as a pair.
    """
    N, N_low, M, M_low = ratio
    x, x_low = two_sum(k, a)
    y, y_low = two_product(x, p)
    y_low = fma(x_low + a_low, p, y_low)
    z, z_low = two_product(y, N)
    z_low = fma(y, N_low, fma(y_low, N, z_low))
    above, above_low = two_sum(M, z)
    above, above_low = fast_two_sum(above, above_low + (M_low + z_low))
    below, below_low = dd_multiply_double(M, M_low, shape + k)
    done = k >= n
    return (
        N if done else above,
        N_low if done else above_low,
        M if done else below,
        M_low if done else below_low,
    )


@kernel
def to_next(u: float, shape: float, p: float, ratio: Ratio) -> Ratio:
    """Return A and B with D = b + p A/B for f = 2 + u, from N and M for 1 + u.

    ``shape`` belongs to 1 + u. B = M - p f N, A = f N b - (f+1) M: both may cancel to a
    tenth or less.
    """
    N, N_low, M, M_low = ratio
    f = 1.0 + u
    x, x_low = dd_multiply_double(N, N_low, f)
    b, b_low = mixture(f + 1.0, shape, 0.0, p)
    y, y_low = dd_multiply_double(x, x_low, p)
    B, B_low = dd_add(M, M_low, -y, -y_low)
    x, x_low = dd_multiply_positive(x, x_low, b, b_low)
    y, y_low = dd_multiply_double(M, M_low, f + 1.0)
    A, A_low = dd_add(x, x_low, -y, -y_low)
    return A, A_low, B, B_low


@kernel
def reflected(f: float, s: float, p: float) -> DoubleDouble:
    """Return r and its low part for f >= 1/2, p < 1/2, s >= f - 1/2."""
    u, e, g, n = places(f, s)
    high, low = log_high_low(p, 0.0)
    above, below = series(u, e, p, series_end(high + low))
    R, R_low = reflect(u, e, p, high, low, *gammas(u, -e), above, below)
    ratio = (R, R_low, 1.0, 0.0)
    a, a_low = two_sum(e, -u)
    for k in range(int(n)):
        ratio = rise(float(k), n, 1.0 + e, a, a_low, p, ratio)
    if g == 0.0:
        return of_ratio(p, ratio)
    ratio = to_next(u, 1.0 + e + n, p, ratio)
    a, a_low = two_sum(s, -f)
    for k in range(2, PAIR_STEPS):
        ratio = pair_upwards(u + float(k), f, a, a_low, p, ratio)
    above, above_low, below, below_low = cut(g, ratio)
    for k in range(PAIR_STEPS, 1 + int(g)):
        above, below = upwards(u + float(k), f, a, p, above, below)
    b, b_low = base(f, s, p)
    return of_pairs(p, b, b_low, p, (above, above_low, below, below_low))


@kernel
def of_ratio(p: float, ratio: Ratio) -> DoubleDouble:
    """Return p N/M."""
    N, N_low, M, M_low = ratio
    return quotient_pair(*dd_multiply_double(N, N_low, p), M, M_low)


# --- Gauss's fraction ----------------------------------------------------------------


@kernel
def gauss_start(f: float, s: float) -> tuple[float, float, float, float]:
    """Return (n, s - n, s - n - f as a pair), the last from -1/2 to 1, n an integer."""
    n = float(int(max(s - f, 0.0)))
    shape = s - n
    a, a_low = two_sum(shape, -f)
    return n, shape, a, a_low


@kernel
def gauss_pair_step(
    f: float, s: float, a: float, a_low: float, q: float, m: float, ratio: Ratio
) -> Ratio:
    """Return U(2m-1) and U(2m) from U(2m+1) and U(2m+2), as pairs, for exact q."""
    x, x_low, y, y_low = ratio
    c, c_low = two_sum(s, m - 1.0)
    c, c_low = dd_multiply_double(c, c_low, -m * q)
    y, y_low = dd_multiply_positive(y, y_low, c, c_low)
    c, c_low = two_sum(f, 2.0 * m - 1.0)
    z, z_low = dd_multiply_positive(x, x_low, c, c_low)
    z, z_low = dd_add(z, z_low, y, y_low)
    c, c_low = dd_add(a, a_low, -m, 0.0)
    c, c_low = dd_multiply_double(c, c_low, q)
    x, x_low = dd_multiply_positive(x, x_low, c, c_low)
    c, c_low = two_sum(f, m - 1.0)
    x, x_low = dd_multiply_positive(x, x_low, c, c_low)
    c, c_low = two_sum(f, 2.0 * m - 2.0)
    c, c_low = dd_multiply_positive(z, z_low, c, c_low)
    x, x_low = dd_add(c, c_low, x, x_low)
    return x, x_low, z, z_low


@kernel
def gauss_pair_end(
    f: float, s: float, a: float, a_low: float, q: float, x: float, y: float
) -> Ratio:
    """Return N and M from U(5) and U(6)."""
    ratio = gauss_pair_step(f, s, a, a_low, q, 2.0, (x, 0.0, y, 0.0))
    M, M_low, N, N_low = gauss_pair_step(f, s, a, a_low, q, 1.0, ratio)
    return N, N_low, M, M_low


@kernel
def by_gauss(f: float, s: float, p: float) -> DoubleDouble:
    """Return r and its low part for f >= 1/2, p >= 1/2, s >= f - 1/2."""
    q = 1.0 - p
    n, shape, a, a_low = gauss_start(f, s)
    x, y = gauss_tail(f, a, q, float(GAUSS_PAIRS))
    for m in range(GAUSS_PAIRS, 2, -1):
        x, y = gauss_step(f, shape, a, q, float(m), x, y)
    ratio = gauss_pair_end(f, shape, a, a_low, q, x, y)
    for k in range(int(n)):
        ratio = rise(float(k), n, shape, a, a_low, p, ratio)
    return of_ratio(p, ratio)


# --- Noerlund's fraction -------------------------------------------------------------


@kernel
def noerlund_pair_step(
    b: float,
    b_low: float,
    step: float,
    square: float,
    square_low: float,
    first: float,
    first_low: float,
    k: float,
    ratio: Ratio,
) -> Ratio:
    """Return numerator and denominator of V(k) from those of V(k+1), as pairs."""
    x, x_low, y, y_low = ratio
    c, c_low = dd_multiply_double(square, square_low, k)
    c, c_low = dd_add(first, first_low, c, c_low)
    c, c_low = dd_multiply_double(c, c_low, k + 1.0)
    y, y_low = dd_multiply_positive(y, y_low, c, c_low)
    shift, shift_low = two_product(k, step)
    c, c_low = dd_add(b, b_low, shift, shift_low)
    c, c_low = dd_multiply_positive(c, c_low, x, x_low)
    c, c_low = dd_add(c, c_low, y, y_low)
    return c, c_low, x, x_low


@kernel
def noerlund_pair_end(
    b: float,
    b_low: float,
    step: float,
    square: float,
    square_low: float,
    first: float,
    first_low: float,
    last: int,
    x: float,
    y: float,
) -> Ratio:
    """Return numerator and denominator of V(last), V(0) = D, from those of V(5)."""
    ratio = (x, 0.0, y, 0.0)
    for k in range(NOERLUND_EXACT - 1, last - 1, -1):
        ratio = noerlund_pair_step(
            b, b_low, step, square, square_low, first, first_low, float(k), ratio
        )
    return ratio


@kernel
def inverse_of(p: float, ratio: Ratio) -> DoubleDouble:
    """Return p/D from numerator and denominator of D."""
    M, M_low, N, N_low = ratio
    return of_ratio(p, (N, N_low, M, M_low))


@kernel
def noerlund_parts(f: float, s: float, p: float) -> tuple[float, float, float, float]:
    """Return p q and (1 - a) p q as pairs, for exact q = 1 - p."""
    square, square_low = two_product(p, 1.0 - p)
    a, a_low = two_sum(s, -f)
    less, less_low = two_sum(1.0, -a)
    first, first_low = dd_multiply_positive(less, less_low - a_low, square, square_low)
    return square, square_low, first, first_low


@kernel
def noerlund_pairs(f: float, s: float, p: float, last: int) -> Ratio:
    """Return numerator and denominator of V(last), for p >= 1/2."""
    b, b_low = base(f, s, p)
    step = p - (1.0 - p)
    square, square_low, first, first_low = noerlund_parts(f, s, p)
    x, y = noerlund_tail(b, step, float(NOERLUND_LEVELS)), 1.0
    for k in range(NOERLUND_LEVELS - 1, NOERLUND_EXACT - 1, -1):
        x, y = noerlund_step(b, p, step, square, first, float(k), x, y)
    return noerlund_pair_end(
        b, b_low, step, square, square_low, first, first_low, last, x, y
    )


@kernel
def poisson_pairs(f: float, mu: float, last: int) -> Ratio:
    """Return numerator and denominator of V(last) of the Poisson law."""
    b, b_low = two_sum(f, mu)
    x, y = noerlund_tail(b, 1.0, float(NOERLUND_LEVELS)), 1.0
    for k in range(NOERLUND_LEVELS - 1, NOERLUND_EXACT - 1, -1):
        x, y = noerlund_step(b, 1.0, 1.0, 0.0, -mu, float(k), x, y)
    return noerlund_pair_end(b, b_low, 1.0, 0.0, 0.0, -mu, 0.0, last, x, y)


@kernel
def by_noerlund(f: float, s: float, p: float) -> DoubleDouble:
    """Return r and its low part for f >= 1/2, p >= 1/2, s - f >= A_LARGE."""
    return inverse_of(p, noerlund_pairs(f, s, p, 0))


@kernel
def poisson_by_noerlund(f: float, mu: float) -> DoubleDouble:
    """Return r and its low part of the Poisson law for f >= 1/2."""
    return inverse_of(1.0, poisson_pairs(f, mu, 0))


# --- D - p, where r is near 1 --------------------------------------------------------


@kernel
def gauss_excess(f: float, s: float, p: float) -> DoubleDouble:
    """Return D - p for f >= 1, p >= 1/2, r >= 1/2, s - f from -1/2 to A_LARGE.

    (f - 1) + q (U(2) - (1-a) f U(3))/U(2).
    """
    q = 1.0 - p
    a, a_low = two_sum(s, -f)
    x, y = gauss_tail(f, a, q, float(GAUSS_PAIRS))
    for m in range(GAUSS_PAIRS, 2, -1):
        x, y = gauss_step(f, s, a, q, float(m), x, y)
    ratio = gauss_pair_step(f, s, a, a_low, q, 2.0, (x, 0.0, y, 0.0))
    third, third_low, _, _ = ratio
    _, _, second, second_low = gauss_pair_step(f, s, a, a_low, q, 1.0, ratio)
    less, less_low = dd_add(a, a_low, -1.0, 0.0)
    x, x_low = dd_multiply_double(*dd_multiply(third, third_low, less, less_low), f)
    x, x_low = dd_add(x, x_low, second, second_low)
    x, x_low = dd_multiply_double(x, x_low, q)
    x, x_low = dd_divide(x, x_low, second, second_low)
    return dd_add(x, x_low, f - 1.0, 0.0)


@kernel
def noerlund_excess(f: float, s: float, p: float) -> DoubleDouble:
    """Return D - p for f >= 1, p >= 1/2, r >= 1/2, s - f >= A_LARGE.

    (f - 1) + q (a + (1-a) p/V(1)).
    """
    x, x_low, y, y_low = noerlund_pairs(f, s, p, 1)
    y, y_low = dd_divide(*dd_multiply_double(y, y_low, p), x, x_low)
    a, a_low = two_sum(s, -f)
    x, x_low = dd_multiply(y, y_low, *dd_add(1.0, 0.0, -a, -a_low))
    x, x_low = dd_multiply_double(*dd_add(x, x_low, a, a_low), 1.0 - p)
    return dd_add(x, x_low, f - 1.0, 0.0)


@kernel
def poisson_excess(f: float, mu: float) -> DoubleDouble:
    """Return D - 1 of the Poisson law for f >= 1: (f - 1) + mu (1 - 1/V(1))."""
    x, x_low, y, y_low = poisson_pairs(f, mu, 1)
    y, y_low = dd_divide(*dd_add(x, x_low, -y, -y_low), x, x_low)
    return dd_add(*dd_multiply_double(y, y_low, mu), f - 1.0, 0.0)
