"""Fixed-point numbers of many words, each with a bound of its own error.

A number is a row of integers x[0], ..., x[n-1] with the value sum x[i] 2^(-28 i): x[0]
has the sign, the others are at least 0 and below 2^28. x[n] holds the bits of a double:
the exact value is within that many *units*, 2^(-28 (n-1)), of the number. An operation
drops less than one unit and adds it to the error, so a chain of operations proves the
error of its result (notes/correct_rounding.md, section 16). Speed does not matter here:
these numbers decide what double-doubles cannot.

Numbers must stay below 2^27. A result may replace an argument. An error that is
infinite or nan stays so, and decides nothing.
"""

from __future__ import annotations

import math
from typing import Any

from riskcore.core.compiled.jit import kernel, primitive, shared
from riskcore.core.special.floats import bits, from_bits

WORD = 28  # bits
BASE = 1 << WORD
_MASK = BASE - 1
_UNIT = 2.0**-WORD
# Words of a number at most, with the one before the point: 2^1008 is a double, 2^1036
# is not.
WORDS = 37
_ROOM = WORDS + 1
# Covers the few roundings in bounds of errors.
_OUTWARD = 1.0 + 2.0**-40
_TWO_54 = 2.0**54
_SMALLEST_NORMAL = 2.0**-1022
_SQRT_HALF = 0.70703125
_MANY = 1 << 30


def _emit_number(builder: Any) -> Any:
    from llvmlite import ir
    from numba.core import cgutils

    return cgutils.alloca_once(builder, ir.IntType(64), size=_ROOM)


@primitive("CPointer(int64)()", _emit_number)
def number() -> Any:
    """Return room for a number that lives as long as the caller."""
    return [0] * _ROOM


@kernel
def mantissa(x: float) -> tuple[float, int]:
    """Return m and e with x = m 2^e, 1/2 <= m < 1, for a double x > 0."""
    subnormal = x < _SMALLEST_NORMAL
    pattern = bits(x * _TWO_54 if subnormal else x)
    e = (pattern >> 52) - 1022
    return from_bits(pattern - (e << 52)), e - 54 if subnormal else e


@kernel
def error(x: Any, n: int) -> float:
    """Return the bound of a number's error, in units."""
    return from_bits(x[n])


@kernel
def set_error(x: Any, n: int, units: float) -> None:
    """Set the bound of a number's error."""
    x[n] = bits(units * _OUTWARD)


@kernel
def rounded(x: Any) -> float:
    """Return a number as a double, to 2^-50 of itself and 2^-79; if negative, 2^-51."""
    low = float(x[2]) + float(x[3]) * _UNIT
    return float(x[0]) + (float(x[1]) + low * _UNIT) * _UNIT


@kernel
def _size(x: Any) -> float:
    """Return an upper bound of |x|."""
    return abs(rounded(x)) * _OUTWARD + 2.0**-50


@kernel
def units(n: int) -> float:
    """Return 2^(-28 (n-1)), the weight of the last word."""
    unit = 1.0
    for _ in range(1, n):
        unit *= _UNIT
    return unit


@kernel
def _nearest(x: float) -> int:
    """Return the integer next to a double."""
    return int(x + (0.5 if x > 0.0 else -0.5))


# --- arithmetic ----------------------------------------------------------------------


@kernel
def set_integer(z: Any, n: int, k: int) -> None:
    """Let z be the integer k, |k| < 2^27."""
    for i in range(1, n + 1):
        z[i] = 0
    z[0] = k


@kernel
def set_double(z: Any, n: int, x: float) -> None:
    """Let z be the double 0 <= x < 2^27, as far as n words hold it."""
    rest = x
    for i in range(n):
        whole = int(rest)
        z[i] = whole
        rest = (rest - float(whole)) * BASE
    set_error(z, n, 1.0 if rest > 0.0 else 0.0)


@kernel
def add(z: Any, x: Any, y: Any, n: int) -> None:
    """Let z be x + y."""
    lost = error(x, n) + error(y, n)
    carry = 0
    for i in range(n - 1, 0, -1):
        t = x[i] + y[i] + carry
        z[i] = t & _MASK
        carry = t >> WORD
    z[0] = x[0] + y[0] + carry
    set_error(z, n, lost)


@kernel
def subtract(z: Any, x: Any, y: Any, n: int) -> None:
    """Let z be x - y."""
    lost = error(x, n) + error(y, n)
    carry = 0
    for i in range(n - 1, 0, -1):
        t = x[i] - y[i] + carry
        z[i] = t & _MASK
        carry = t >> WORD
    z[0] = x[0] - y[0] + carry
    set_error(z, n, lost)


@kernel
def add_integer(z: Any, x: Any, k: int, n: int) -> None:
    """Let z be x + k."""
    for i in range(1, n + 1):
        z[i] = x[i]
    z[0] = x[0] + k


@kernel
def negate(z: Any, x: Any, n: int) -> None:
    """Let z be -x."""
    lost = error(x, n)
    carry = 0
    for i in range(n - 1, 0, -1):
        t = carry - x[i]
        z[i] = t & _MASK
        carry = t >> WORD
    z[0] = carry - x[0]
    set_error(z, n, lost)


@kernel
def times(z: Any, x: Any, k: int, n: int) -> None:
    """Let z be x k for an integer |k| < 2^30."""
    lost = error(x, n) * abs(k)
    carry = 0
    for i in range(n - 1, 0, -1):
        t = x[i] * k + carry
        z[i] = t & _MASK
        carry = t >> WORD
    z[0] = x[0] * k + carry
    set_error(z, n, lost)


@kernel
def over(z: Any, x: Any, k: int, n: int) -> None:
    """Let z be x/k for an integer 0 < k < 2^30."""
    lost = error(x, n) / k + 1.0
    rest = 0
    for i in range(n):
        t = rest * BASE + x[i]
        whole = t // k
        rest = t - whole * k
        z[i] = whole
    set_error(z, n, lost)


@kernel
def shift(z: Any, x: Any, s: int, n: int) -> None:
    """Let z be x 2^s for s < 28 n; numbers must stay below 2^27 to the left, too."""
    size = -s if s < 0 else s
    words, rest = size // WORD, size % WORD
    lost = error(x, n)
    if s >= 0:
        top = x[0]
        for i in range(words):
            top = top * BASE + x[i + 1]
            lost *= BASE
        z[0] = top
        for i in range(1, n):
            z[i] = x[i + words] if i + words < n else 0
        set_error(z, n, lost)
        times(z, z, 1 << rest, n)
    else:
        top = x[0]
        for i in range(n - 1, words, -1):
            z[i] = x[i - words]
        for i in range(min(words, n - 1), 0, -1):
            # The word before the point goes to place ``words``, its sign before it.
            z[i] = (top if i == words else top >> WORD) & _MASK
        z[0] = top if words == 0 else top >> WORD
        for _ in range(min(words, n)):
            lost *= _UNIT
        set_error(z, n, lost + 1.0 if words > 0 else lost)
        if rest > 0:
            over(z, z, 1 << rest, n)


@shared("int64*, int64*, int64*, int64")
def multiply(z: Any, x: Any, y: Any, n: int) -> None:
    """Let z be x y."""
    x_lost, y_lost = error(x, n), error(y, n)
    lost = _size(x) * y_lost + _size(y) * x_lost + x_lost * (y_lost * units(n)) + 1.0
    room = number()
    total = 0
    for k in range(2 * n - 2, 0, -1):
        for i in range(max(0, k - n + 1), min(k, n - 1) + 1):
            total += x[i] * y[k - i]
        if k < n:
            room[k] = total & _MASK
        total >>= WORD
    z[0] = total + x[0] * y[0]
    for i in range(1, n):
        z[i] = room[i]
    set_error(z, n, lost)


@shared("int64*, int64*, int64*, int64")
def divide(z: Any, x: Any, y: Any, n: int) -> None:
    """Let z be x/y for 2^-20 < y < 2^20 and |x/y| < 2^27.

    Digit by digit, each the integer next to a quotient of doubles: the rest of x is
    below 0.51 y, and digits have a sign until the end.
    """
    rest, digits = number(), number()
    for i in range(n):
        rest[i] = x[i]
    divisor = rounded(y)
    for i in range(n):
        digit = _nearest(rounded(rest) / divisor)
        digits[i] = digit
        carry = 0
        for j in range(n - 1, 0, -1):
            u = rest[j] - digit * y[j] + carry
            rest[j] = u & _MASK
            carry = u >> WORD
        top = rest[0] - digit * y[0] + carry
        rest[0] = top * BASE + rest[1]
        for j in range(1, n - 1):
            rest[j] = rest[j + 1]
        rest[n - 1] = 0
    x_lost, y_lost = error(x, n), error(y, n)
    u = carry = 0
    for i in range(n - 1, -1, -1):
        u = digits[i] + carry
        z[i] = u & _MASK
        carry = u >> WORD
    z[0] = u
    least = divisor * (1.0 - 2.0**-40) - y_lost * units(n)
    lost = (x_lost + _size(z) * y_lost) / least + 2.0
    set_error(z, n, lost if least > 0.0 else math.inf)


@kernel
def sign(x: Any, n: int) -> int:
    """Return the sign of a number, 0 if its error leaves it open."""
    # The first words tell the size to 2^-30 of itself.
    total, words = 0, 0
    while words < n and abs(total) < _MANY:
        total = total * BASE + x[words]
        words += 1
    least = float(abs(total) - 1)
    for _ in range(words, n):
        least *= BASE
    if least > error(x, n) * _OUTWARD:
        return 1 if total > 0 else -1
    return 0


@kernel
def is_zero(x: Any, n: int) -> bool:
    """Return whether all words are 0, whatever the error."""
    nothing = True
    for i in range(n):
        nothing &= x[i] == 0
    return nothing


# --- constants and functions ---------------------------------------------------------


@kernel
def _exponent(x: float) -> int:
    """Return the integer e with 2^e <= x < 2^(e+1), for a normal x."""
    return (bits(x) >> 52) - 1023


@kernel
def _add_to_error(z: Any, n: int, more: float) -> None:
    set_error(z, n, error(z, n) + more)


def _in_words(digits: str) -> tuple[float, ...]:
    """Return the words of a number 2^-1008 times hexadecimal digits, as doubles."""
    whole = int(digits, 16)
    return tuple(float(whole >> WORD * i & _MASK) for i in range(WORDS - 1, -1, -1))


# Rounded down, by `bench.coefficients`: hex(int(ln2 * 2**1008)), and so for pi.
_LN2 = _in_words(
    "b17217f7d1cf79abc9e3b39803f2f6af40f343267298b62d8a0d175b8baafa2be7b876206debac98"
    "559552fb4afa1b10ed2eae35c138214427573b291169b8253e96ca16224ae8c51acbda11317c387e"
    "b9ea9bc3b136603b256fa0ec7657f74b72ce87b19d6548caf5dfa6bd38303248655fa1872f20e3a2"
    "da2d97c50f3f"
)
_PI = _in_words(
    "3243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89452821e638d0137"
    "7be5466cf34e90c6cc0ac29b7c97c50dd3f84d5b5b54709179216d5d98979fb1bd1310ba698dfb5a"
    "c2ffd72dbd01adfb7b8e1afed6a267e96ba7c9045f12c7f9924a19947b3916cf70801f2e2858efc1"
    "6636920d87157"
)


@kernel
def ln2(z: Any, n: int) -> None:
    """Let z be log 2."""
    for i in range(n):
        z[i] = int(_LN2[i])
    set_error(z, n, 1.0)


@kernel
def pi(z: Any, n: int) -> None:
    """Let z be pi."""
    for i in range(n):
        z[i] = int(_PI[i])
    set_error(z, n, 1.0)


@shared("int64*, int64*, int64, int64")
def log(z: Any, x: Any, exponent: int, n: int) -> None:
    """Let z be log(x 2^exponent), 1/4 < x < 4, |exponent| < 2^12.

    log x = 2s (1 + w/3 + w^2/5 + ...), s = (x-1)/(x+1), w = s^2, w < 2^-5 for x
    between 0.707 and 1.415.
    """
    y, s, w, term, total = number(), number(), number(), number(), number()
    shift(y, x, 0, n)
    k = exponent
    while rounded(y) < _SQRT_HALF:
        times(y, y, 2, n)
        k -= 1
    while rounded(y) > 2.0 * _SQRT_HALF:
        over(y, y, 2, n)
        k += 1
    add_integer(s, y, -1, n)
    add_integer(y, y, 1, n)
    divide(s, s, y, n)
    multiply(w, s, s, n)
    times(s, s, 2, n)
    set_integer(total, n, 0)
    for j in range(WORD * n // 5 + 2):
        over(term, s, 2 * j + 1, n)
        add(total, total, term, n)
        multiply(s, s, w, n)
    _add_to_error(total, n, 2.0)
    ln2(y, n)
    times(y, y, k, n)
    add(z, y, total, n)


@shared("int64*, int64*, int64", "int64")
def exp(z: Any, x: Any, n: int) -> int:
    """Let z be exp(x)/2^k for |x| < 2^11, and return k, by Taylor's series.

    t = x - k log 2 is between -0.36 and 0.36.
    """
    t, term = number(), number()
    ln2(t, n)
    k = _nearest(rounded(x) / rounded(t))
    times(t, t, k, n)
    subtract(t, x, t, n)
    set_integer(term, n, 1)
    set_integer(z, n, 1)
    small, j = 0, 0
    while small < WORD * n + 2:
        j += 1
        multiply(term, term, t, n)
        over(term, term, j, n)
        add(z, z, term, n)
        small += _exponent(j / 0.37)
    _add_to_error(z, n, 2.0)
    return k


@shared("int64*, int64*, int64")
def sinc(z: Any, x: Any, n: int) -> None:
    """Let z be sin(pi x)/(pi x) for |x| <= 1/2, by Taylor's series."""
    w, term = number(), number()
    pi(w, n)
    multiply(w, w, x, n)
    multiply(w, w, w, n)
    set_integer(term, n, 1)
    set_integer(z, n, 1)
    small, j = 0, 0
    while small < WORD * n + 2:
        j += 1
        multiply(term, term, w, n)
        over(term, term, 2 * j * (2 * j + 1), n)
        if j % 2 == 1:
            subtract(z, z, term, n)
        else:
            add(z, z, term, n)
        small += _exponent(2.0 * j * (2 * j + 1) / 2.5)
    _add_to_error(z, n, 2.0)
