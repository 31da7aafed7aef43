"""The tails of the negative binomial distribution."""

from __future__ import annotations

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.double_double import DoubleDouble, dd_add, sqrt
from riskcore.core.special.elementary import exp_parts, exprel, log1p_positive
from riskcore.core.special.floats import fma, two_sum
from riskcore.core.special.negative_binomial.probability import (
    is_branchless,
    less_expm1,
    less_log1p,
    log_of_first,
    mean_excess,
    probability_exponent,
    probability_weight,
)
from riskcore.core.special.quadrature import (
    HALF_LINE_NODES,
    half_line_node,
    half_line_weight,
)

# Up to this f a tail is a sum of about a hundred terms at most, down to NEGLIGIBLE.
SHORT = 64.0
NEGLIGIBLE = 2.0**-60
_TWO_52 = 2.0**52  # adding it rounds to an integer


# --- an integral ---------------------------------------------------------------------


@kernel
def half_line_width(a: float, b: float, y: float, slope: float) -> float:
    """Return the unit of v in which the integral is taken."""
    return 1.0 / (max(slope, sqrt(a), min(b, sqrt(b)) * y) if b > 0.0 else a)


@kernel
def half_line_step(
    i: int,
    a: float,
    b: float,
    y: float,
    slope: float,
    width: float,
    total: float,
    low: float,
) -> DoubleDouble:
    """Add node i to the integral of exp(-a v) (1 + y (1 - exp(-v)))^b over v > 0.

    For b > 0; ``slope`` is a - b y >= 0. With u = 1 - exp(-v) the exponent is -slope u
    - a (v - u) - b (y u - log(1 + y u)): all terms have one sign.
    """
    v = width * half_line_node(i)
    bend = less_expm1(v)
    u = v - bend
    exponent = fma(slope, u, fma(a, bend, b * less_log1p(y * u)))
    value, correction = exp_parts(-exponent, 0.0)
    total, rest = two_sum(total, half_line_weight(i) * (value + correction))
    return total, low + rest


@kernel
def _half_line(a: float, b: float, y: float, slope: float) -> float:
    """Return the integral of exp(-a v) (1 + y (1 - exp(-v)))^b over v > 0, a >= 1."""
    width = half_line_width(a, b, y, slope)
    total, low = 0.0, 0.0
    if b > 0.0:
        for i in range(HALF_LINE_NODES):
            total, low = half_line_step(i, a, b, y, slope, width, total, low)
        return width * (total + low)
    for i in range(HALF_LINE_NODES):
        v = width * half_line_node(i)
        u = v - less_expm1(v)
        exponent = fma(a, v, -b * log1p_positive(y * u))
        value, correction = exp_parts(-exponent, 0.0)
        total, rest = two_sum(total, half_line_weight(i) * (value + correction))
        low += rest
    return width * (total + low)


@kernel
def is_long(f: float, p: float) -> bool:
    """Return whether both tails of a cell are integrals, for j > 0."""
    return (f > SHORT) & is_branchless(f, p)


@kernel
def long_start(
    f: float, j: float, j_low: float, p: float
) -> tuple[float, float, float, float, float]:
    """Return (a, b, y, slope, excess) of the integral that gives a tail."""
    q = 1.0 - p
    k, k_low = dd_add(j, j_low, f, 0.0)
    excess = mean_excess(f, k, k_low, p)[0]
    below = excess >= 0.0
    return (
        f if below else j + 1.0,
        j if below else f - 1.0,
        (p if below else q) / (q if below else p),
        (excess if below else 1.0 - excess) / (q if below else p),
        excess,
    )


@kernel
def long_end(excess: float, y: float, weight: float, integral: float) -> DoubleDouble:
    """Return P(F <= f + j) and P(F > f + j) from the integral and k P(F = k)."""
    below = excess >= 0.0
    tail = min(weight * (1.0 if below else y) * integral, 1.0)
    return tail if below else 1.0 - tail, 1.0 - tail if below else tail


# --- sums of positive terms ----------------------------------------------------------


@kernel
def is_short(f: float, p: float) -> bool:
    """Return whether both tails of a cell are short sums, for j > 0."""
    whole = (f + _TWO_52) - _TWO_52 == f
    return (f <= SHORT) & whole & is_branchless(f, p)


@kernel
def short_start(
    f: float, j: float, j_low: float, p: float
) -> tuple[float, float, float, float]:
    """Return (a, b, y, excess): the sum of y^n a (a-1) .../(b (b+1) ...) gives a tail.

    Term by term P(f or more successes in k trials) up to the mean (DLMF 8.17.7), above
    it P(fewer than f successes); ``excess`` is f - k p.
    """
    q = 1.0 - p
    k, k_low = dd_add(j, j_low, f, 0.0)
    excess = mean_excess(f, k, k_low, p)[0]
    below = excess >= 0.0
    return (
        j if below else f - 1.0,
        f + 1.0 if below else j + 2.0,
        (p if below else q) / (q if below else p),
        excess,
    )


@kernel
def short_step(
    n: float,
    a: float,
    b: float,
    y: float,
    term: float,
    total: float,
    low: float,
    moment: float,
) -> tuple[float, float, float, float]:
    """Add term n + 1 to a sum, and n + 1 times it to its moment, if it counts."""
    more = (n < a) & (term > NEGLIGIBLE * total)
    term = term * ((a - n) * y / (b + n)) if more else 0.0
    total, rest = two_sum(total, term)
    return term, total, low + rest, fma(n + 1.0, term, moment)


@kernel
def short_end(
    f: float,
    j: float,
    p: float,
    excess: float,
    y: float,
    weight: float,
    total: float,
    low: float,
    moment: float,
) -> DoubleDouble:
    """Return P(F <= f + j) and P(F > f + j) from a sum and k P(F = k)."""
    q = 1.0 - p
    below = excess >= 0.0
    # The rounding error of y, which counts n times in its power n.
    rest = (1.0 - q) - p
    error = fma(-y, q, p) - y * rest if below else fma(-y, p, q) + rest
    error /= p if below else q
    moment = moment if below else moment + total
    scale = weight / f if below else weight * (y / (j + 1.0))
    tail = min(scale * (total + fma(error, moment, low)), 1.0)
    return tail if below else 1.0 - tail, 1.0 - tail if below else tail


@kernel
def _short(f: float, j: float, j_low: float, p: float, weight: float) -> DoubleDouble:
    """Return both tails for integer f <= SHORT, for other f the tail below the mean."""
    a, b, y, excess = short_start(f, j, j_low, p)
    term, total, low, moment, n = 1.0, 1.0, 0.0, 0.0, 0.0
    while (n < a) & (term > NEGLIGIBLE * total):
        term, total, low, moment = short_step(n, a, b, y, term, total, low, moment)
        n += 1.0
    return short_end(f, j, p, excess, y, weight, total, low, moment)


@kernel
def _is_short_at(f: float, excess: float) -> bool:
    whole = float(int(min(f, SHORT))) == f
    return (f <= SHORT) & ((excess >= 0.0) | whole)


# --- both tails ----------------------------------------------------------------------


@kernel
def tails(f: float, j: float, j_low: float, p: float) -> tuple[float, float, float]:
    """Return P(F <= f + j), P(F > f + j) and k P(F = k) for k = f + j <= ``LARGEST``.

    For f >= ``SMALLEST_F``. The tail on j's side of the mean is computed, the other is
    1 minus it.
    """
    if p == 1.0:
        return 1.0, 0.0, f if j == 0.0 else 0.0
    if j == 0.0:
        high, low = log_of_first(f, p)
        value, correction = exp_parts(high, low)
        first = value + correction
        return first, -high * exprel(-high) - low * first, f * first
    weight = probability_weight(f, j, *exp_parts(*probability_exponent(f, j, j_low, p)))
    k, k_low = dd_add(j, j_low, f, 0.0)
    excess = mean_excess(f, k, k_low, p)[0]
    if _is_short_at(f, excess):
        lower, upper = _short(f, j, j_low, p, weight)
        return lower, upper, weight
    a, b, y, slope, excess = long_start(f, j, j_low, p)
    lower, upper = long_end(excess, y, weight, _half_line(a, b, y, slope))
    return lower, upper, weight
