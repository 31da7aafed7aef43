"""Stirling's series for log Gamma and its derivatives, as differences.

    log Gamma(x) = (x - 1/2) log x - x + log(2 pi)/2 + S(x)

Differences of S, S' and S'' are sums of powers of 1/x whose differences are products of
positive numbers: they do not cancel, however small the step. From x = ``LARGE`` on the
seven terms omit less than 2^-60 of the difference of log Gamma (DLMF 5.11.1, 5.11.2).
"""

from __future__ import annotations

from riskcore.core.compiled.jit import kernel

LARGE = 16.0

# B_2k/(2k (2k-1)), B_2k/(2k) and B_2k for k = 1, ..., 7 (`bench.coefficients`).
LOG_GAMMA_TERMS = (
    1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0,
    -691.0 / 360360.0, 1.0 / 156.0,
)  # fmt: skip
DIGAMMA_TERMS = (
    1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0,
    -691.0 / 32760.0, 1.0 / 12.0,
)  # fmt: skip
TRIGAMMA_TERMS = (
    1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0,
    -691.0 / 2730.0, 7.0 / 6.0,
)  # fmt: skip


@kernel
def _fall(
    coefficients: tuple[float, ...], a: float, c: float, quotient: float, power: float
) -> float:
    """Return the sum of coefficient times (a^j - c^j)/(a - c), j = i, i+2, i+4, ...

    ``quotient`` is the one of j = i, ``power`` is c^i.
    """
    total = 0.0
    for coefficient in coefficients:
        total += coefficient * quotient
        quotient = a * a * quotient + (a + c) * power
        power *= c * c
    return total


@kernel
def fall(x: float, m: float) -> float:
    """Return S(x) - S(x+m) for x, x+m >= ``LARGE``."""
    a, c = 1.0 / x, 1.0 / (x + m)
    return m * a * c * _fall(LOG_GAMMA_TERMS, a, c, 1.0, c)


@kernel
def rise_of_slope(x: float, m: float) -> float:
    """Return S'(x+m) - S'(x) for x, x+m >= ``LARGE``."""
    a, c = 1.0 / x, 1.0 / (x + m)
    return m * a * c * _fall(DIGAMMA_TERMS, a, c, a + c, c * c)


@kernel
def fall_of_bend(x: float, m: float) -> float:
    """Return S''(x) - S''(x+m) for x, x+m >= ``LARGE``."""
    a, c = 1.0 / x, 1.0 / (x + m)
    return m * a * c * _fall(TRIGAMMA_TERMS, a, c, a * a + a * c + c * c, c * c * c)


@kernel
def _second_fall(
    coefficients: tuple[float, ...], slope: bool, x: float, s: float, t: float
) -> float:
    """Return the sum of coefficient times a^j - b^j - c^j + d^j, j = 1, 3, 5, ...

    With a, b, c, d the reciprocals of x, x+s, x+t, x+s+t; j = 2, 4, ... for ``slope``.
    """
    a, b, c, d = 1.0 / x, 1.0 / (x + s), 1.0 / (x + t), 1.0 / (x + s + t)
    ab, ac, bd, cd = s * a * b, t * a * c, t * b * d, s * c * d  # a-b, a-c, b-d, c-d
    first = ab * t * (2.0 * x + s + t) * c * d
    squares = (a + d) * first + bd * ab + cd * ac
    bd *= b + d
    cd *= c + d
    if slope:
        second, ab, ac, power = squares, ab * (a + b), ac * (a + c), a * a
        power_b, power_c = b * b, c * c
    else:
        second, power, power_b, power_c = first, a, b, c
    total = 0.0
    for coefficient in coefficients:
        total += coefficient * second
        second = d * d * second + squares * power + bd * ab + cd * ac
        ab = a * a * ab + s * a * b * (a + b) * power_b
        ac = a * a * ac + t * a * c * (a + c) * power_c
        power *= a * a
        power_b *= b * b
        power_c *= c * c
    return total


@kernel
def second_difference(x: float, s: float, t: float) -> float:
    """Return S(x) - S(x+s) - S(x+t) + S(x+s+t) for x >= ``LARGE``, s, t >= 0."""
    return _second_fall(LOG_GAMMA_TERMS, False, x, s, t)


@kernel
def second_difference_of_slope(x: float, s: float, t: float) -> float:
    """Return -(S'(x) - S'(x+s) - S'(x+t) + S'(x+s+t)) for x >= ``LARGE``."""
    return _second_fall(DIGAMMA_TERMS, True, x, s, t)
