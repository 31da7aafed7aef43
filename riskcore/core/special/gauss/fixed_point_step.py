"""Decide on which side of a given number the risk lies, with the bits it takes.

r(f, p), p = a/b, is computed in fixed point with an error bound that the evaluation
itself proves, with 168 bits after the point and, if they do not suffice, 308 and 1008.
Before that the three families of numbers to which r comes arbitrarily near are decided
exactly (notes/correct_rounding.md, section 16):

    r < p/(f-1) for f > 1,    p/f < r < 1/f       (p < 1)

Methods are those of the enclosures, with the fraction for p >= 0.3 and f >= 1024.
"""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import kernel, shared
from riskcore.core.special.fixed_point import (
    WORD,
    WORDS,
    add,
    add_integer,
    divide,
    error,
    exp,
    is_zero,
    log,
    mantissa,
    multiply,
    negate,
    number,
    over,
    rounded,
    set_double,
    set_error,
    set_integer,
    shift,
    sign,
    sinc,
    subtract,
    times,
    units,
)
from riskcore.core.special.floats import bits

_FEW_WORDS = 7  # 168 bits after the point: exact products have 161
_MORE_WORDS = 12
_LARGE_ENOUGH = 2.0**-20
_FAR_ENOUGH = 2.0**-60  # of r from 1: few words leave 2^-86 of it
# Below this p, and below this f, contiguity or reflection.
_P_LEVELS = 0.3
_F_LEVELS = 1024.0
_MOST_LEVELS = 4000
_SMALLEST_Q = 2.0**-54
_FIRST_MANTISSA = 1 << 52
_TOP = 1 << 53


# --- the continued fraction ----------------------------------------------------------


@kernel
def _levels(f: float, p: float, n: int) -> int:
    """Return the number of levels that leave about the last bit, for p or for f.

    It need not be exact: the evaluation proves the error.
    """
    needed = float(WORD * n)
    # A level shrinks the error by (1 + sqrt p)^2/q, from p = 0.3 on by 2.39/q.
    _, by_q = mantissa(1.0 - p + _SMALLEST_Q)
    by_p = int(needed / max(1.7, 1.2 - by_q)) + 4
    gained, m = 0.0, 0
    while gained < needed and 2 * m < by_p:
        m += 1
        _, e = mantissa((f + m) / (m + 1.0))
        gained += 2.0 * (e - 1)
    levels = by_p if p >= _P_LEVELS else _MOST_LEVELS
    return min(levels, 2 * m + 4)


@shared("int64*, float64, float64, int64*, int64, int64*, int64*, int64")
def _e(
    z: Any, f: float, p_double: float, g: Any, s: int, p: Any, q: Any, n: int
) -> None:
    """Let z be E(f, p) 2^s for f = g 2^s, s >= 0, g >= 1/4.

    X_m = 1 - q b/(b + k X_m+1), k = 1 + ceil(m/2), b = f + floor(m/2). Any tail lies in
    [p, 1]: it is the middle, with half the length as its error.
    """
    x, b, t = number(), number(), number()
    add_integer(x, p, 1, n)
    over(x, x, 2, n)
    half = 0.5 * (1.0 - p_double) + 2.0**-40
    set_error(x, n, error(x, n) + half / units(n))
    for m in range(_levels(f, p_double, n), 0, -1):
        k = 1 + (m + 1) // 2
        set_integer(b, n, m // 2)
        shift(b, b, -s, n)
        add(b, b, g, n)
        times(t, x, k, n)
        shift(t, t, -s, n)
        add(t, t, b, n)
        multiply(b, q, b, n)
        divide(t, b, t, n)
        set_integer(b, n, 1)
        subtract(x, b, t, n)
    # E = X/(f + X)
    shift(t, x, -s, n)
    add(t, t, g, n)
    divide(z, x, t, n)


# --- the risk ------------------------------------------------------------------------


@kernel
def _by_fraction(
    z: Any, f: float, p_scale: int, p_mantissa: Any, p: Any, q: Any, n: int
) -> int:
    """Let z 2^s be r, return s: for f >= 1 with p not small or f large, r = p/D."""
    g, one, t = number(), number(), number()
    m, s = mantissa(f)
    set_double(g, n, m)
    _e(z, f, rounded(p), g, s, p, q, n)
    # D 2^-s = g - 2^-s + (p + q E) 2^-s, E = z 2^-s
    multiply(z, z, q, n)
    shift(z, z, -s, n)
    add(z, z, p, n)
    set_integer(one, n, 1)
    subtract(z, z, one, n)
    shift(t, z, -s, n)
    add(t, t, g, n)
    divide(z, p_mantissa, t, n)
    return p_scale - s


@kernel
def _below_one(z: Any, f: float, p: Any, q: Any, n: int) -> int:
    """Let z 2^s be r, return s: for f < 1, r = (p f + w)/(f (f + w))."""
    g, g_small, t = number(), number(), number()
    m, s = mantissa(f)
    set_double(g, n, m)
    shift(g_small, g, s, n)
    add_integer(t, g_small, 1, n)
    _e(z, f + 1.0, rounded(p), t, 0, p, q, n)
    multiply(z, z, q, n)
    add(z, z, p, n)  # w = p + q E(f+1)
    add(t, z, g_small, n)
    multiply(g_small, g_small, p, n)
    add(z, z, g_small, n)
    divide(z, z, t, n)
    divide(z, z, g, n)
    return -s


@kernel
def _reflected(
    z: Any,
    e: float,
    itself: bool,
    p_scale: int,
    p_mantissa: Any,
    p: Any,
    q: Any,
    v: Any,
    n: int,
) -> int:
    """Let z 2^s be r(e), if ``itself``, or (1 - e r(e))/e, and return s; |e| <= 1/2."""
    t, u, size_e, E = number(), number(), number(), number()
    below = e < 0.0
    m, s = mantissa(-e if below else e)
    set_double(size_e, n, m)
    shift(t, size_e, s, n)  # |e|
    log(u, v, p_scale, n)
    multiply(u, u, t, n)
    if below:
        negate(u, u, n)
    k = exp(z, u, n)
    sinc(u, t, n)
    divide(z, z, u, n)  # v^e/sinc e = z 2^k
    # D(1-e, q) = q - e + p E(1-e, q)
    if below:
        negate(t, t, n)
    set_integer(u, n, 1)
    subtract(u, u, t, n)
    _e(E, 1.0 - e, rounded(q), u, 0, q, p, n)
    multiply(u, E, p, n)
    add(u, u, q, n)
    subtract(u, u, t, n)
    multiply(t, t, p_mantissa, n)
    divide(t, t, u, n)  # e p/D = t 2^p_scale
    scaled_by = k if k > 0 or itself else 0
    shift(z, z, k - scaled_by, n)
    shift(t, t, p_scale - scaled_by, n)
    subtract(z, z, t, n)
    if itself:
        divide(z, z, size_e, n)
        return scaled_by - s
    set_integer(u, n, 1)
    shift(u, u, -scaled_by, n)
    subtract(z, u, z, n)
    shift(z, z, -s, n)
    divide(z, z, size_e, n)
    if below:
        negate(z, z, n)
    return scaled_by


@kernel
def _last_steps(p_scale: int, n: int) -> int:
    """Return how many steps leave about the last bit of an error of 1/2, times v each.

    It need not be exact: the evaluation proves the error.
    """
    # v is below 2^-1.2, and below 2^1.6 2^p_scale.
    return int(float(WORD * n) / max(1.2, -1.6 - p_scale)) + 1


@kernel
def _by_contiguity(
    z: Any, f: float, p_scale: int, p_mantissa: Any, p: Any, q: Any, n: int
) -> int:
    """Let z 2^s be r, return s, for small p and f < 1024.

    With e next to 0 and f = 1 + e + steps: e r(e) = v^e/sinc e - e p/D(1-e, q),
    T(1+e) = (1 - e r(e))/e, T(g+1) = 1/g - v T(g), r = v T(f). Where the last steps are
    enough they start from 0 < T(g) < 1, g > 2, as 1/2 with an error of 1/2.
    """
    v, t, u = number(), number(), number()
    divide(v, p_mantissa, q, n)  # v = p/q but for 2^p_scale
    steps = int(f + 0.5) - 1 if f > 0.5 else -1
    e = f if steps < 0 else f - steps - 1.0
    first = steps - _last_steps(p_scale, n)
    scaled_by = 0
    if first >= 2:
        set_integer(z, n, 1)
        over(z, z, 2, n)
        set_error(z, n, 0.5 / units(n))
    elif e == 0.0:
        log(z, p_mantissa, p_scale, n)
        negate(z, z, n)
    else:
        scaled_by = _reflected(z, e, steps < 0, p_scale, p_mantissa, p, q, v, n)
        if steps < 0:
            return scaled_by
    # T = z 2^scaled_by
    for step in range(first + 1 if first >= 2 else 1, steps + 1):
        multiply(z, z, v, n)
        shift(z, z, p_scale + scaled_by, n)
        scaled_by = 0
        set_double(t, n, e + step)
        set_integer(u, n, 1)
        divide(u, u, t, n)
        subtract(z, u, z, n)
    multiply(z, z, v, n)
    return p_scale + scaled_by


@shared("int64*, float64, float64, float64, int64", "int64")
def risk_in_words(z: Any, f: float, a: float, b: float, n: int) -> int:
    """Let z 2^s be r(f, a/b) for 0 < a < b, with its error, and return s."""
    p_mantissa, p, q, t = number(), number(), number(), number()
    m, s = mantissa(a)
    set_double(p_mantissa, n, m)
    m, s_b = mantissa(b)
    set_double(t, n, m)
    divide(p_mantissa, p_mantissa, t, n)
    p_scale = s - s_b
    shift(p, p_mantissa, p_scale, n)
    set_integer(q, n, 1)
    subtract(q, q, p, n)
    if rounded(p) < _P_LEVELS and f < _F_LEVELS:
        return _by_contiguity(z, f, p_scale, p_mantissa, p, q, n)
    if f < 1.0:
        return _below_one(z, f, p, q, n)
    return _by_fraction(z, f, p_scale, p_mantissa, p, q, n)


# --- the decision --------------------------------------------------------------------


@kernel
def _boundary(z: Any, x: float, middle: bool, n: int) -> int:
    """Let z 2^s be the double x >= 0, or the midpoint of x and the next double.

    1/2 <= z < 1, and s is returned. The double after the largest is 2^1024.
    """
    pattern = bits(x)
    e = pattern >> 52
    number_of_units = 2 * (pattern & (_FIRST_MANTISSA - 1)) + (1 if middle else 0)
    if e > 0:
        number_of_units += _TOP
        e -= 1
    s = e - 1075 + 54
    while number_of_units < _TOP:
        number_of_units *= 2
        s -= 1
    set_integer(z, n, 0)
    z[1] = number_of_units >> 26
    z[2] = (number_of_units & ((1 << 26) - 1)) << 2
    return s


@kernel
def _equal(x: Any, s: int, y: Any, n: int) -> bool:
    """Return whether x 2^s = y for exact numbers between 1/32 and 32."""
    t, same = number(), False
    if -6 < s < 6:
        shift(t, x, s, n)
        subtract(t, t, y, n)
        same = is_zero(t, n)
    return same


@kernel
def _at_a_limit(f: float, a: float, b: float, B: Any, s: int, n: int) -> int:
    """Return the sign of r - B 2^s if B 2^s is p/(f-1), p/f or 1/f, else 0.

    All products are exact: at most 54 + 53 + 54 bits. Above 2^54 f - 1 is odd and too
    large to be p/B.
    """
    t, u, w = number(), number(), number()
    f_mantissa, s_f = mantissa(f)
    m, s_a = mantissa(a)
    set_double(w, n, m)
    m, s_b = mantissa(b)
    set_double(u, n, m)
    multiply(u, u, B, n)  # B b
    set_double(t, n, f_mantissa)
    multiply(u, u, t, n)
    if _equal(u, s + s_b + s_f - s_a, w, n):  # B f b = a
        return 1
    multiply(t, t, B, n)
    set_integer(u, n, 1)
    if _equal(t, s + s_f, u, n):  # B f = 1
        return -1
    if f > 1.0 and s_f <= 54:
        set_double(t, n, f_mantissa)
        set_integer(u, n, 1)
        shift(u, u, -s_f, n)
        subtract(t, t, u, n)
        # f - 1 may be as small as 2^-52: back to the size of 1.
        while rounded(t) < 0.5:
            times(t, t, 2, n)
            s_f -= 1
        multiply(t, t, B, n)
        set_double(u, n, m)
        multiply(t, t, u, n)
        if _equal(t, s + s_b + s_f - s_a, w, n):  # B (f-1) b = a
            return -1
    return 0


@shared("float64, float64, float64, float64, boolean", "int64")
def side(f: float, a: float, b: float, x: float, middle: bool) -> int:
    """Return the sign of r(f, a/b) - x, or of r minus the midpoint above x.

    The midpoint, if ``middle``, is that of x and the next double, 2^1024 after the
    largest. For finite f, a < b > 0 and x >= 0. 0 if 1008 bits do not decide, which no
    input is known to need.
    """
    if x == 0.0 and not middle:
        return 1
    B, z = number(), number()
    n = _FEW_WORDS
    s = _boundary(B, x, middle, n)
    at = _at_a_limit(f, a, b, B, s, n)
    if at != 0:
        return at
    while True:
        size = risk_in_words(z, f, a, b, n)
        # The nearer their sizes, the more bits are left; far apart is decided.
        if s - size > 26:
            return -1
        if s - size < -60:
            return 1
        _boundary(B, x, middle, n)
        shift(B, B, s - size, n)
        subtract(z, z, B, n)
        found = sign(z, n)
        if found != 0 or n == WORDS:
            return found
        n = _MORE_WORDS if n < _MORE_WORDS else WORDS


@shared("float64, float64", "float64")
def log_near_one(f: float, p: float) -> float:
    """Return log r(f, p) to a unit in the last place, for p < 1 and |r - 1| < 2^-34.

    log r = x - x^2/2 + ..., x = r - 1.
    """
    z, t = number(), number()
    n, enough = _FEW_WORDS, False
    while not enough:
        s = risk_in_words(z, f, p, 1.0, n)
        shift(z, z, s, n)
        set_integer(t, n, 1)
        subtract(z, z, t, n)
        enough = n == _MORE_WORDS or abs(rounded(z)) > _FAR_ENOUGH
        n = n if enough else _MORE_WORDS
    multiply(t, z, z, n)
    shift(t, t, -1, n)
    subtract(z, z, t, n)
    # ``rounded`` keeps the digits of what is positive and not small.
    negative = z[0] < 0
    if negative:
        negate(z, z, n)
    unit = -1.0 if negative else 1.0
    for _ in range(n - 4):
        if rounded(z) < _LARGE_ENOUGH:
            shift(z, z, WORD, n)
            unit *= 2.0**-WORD
    return unit * rounded(z)
