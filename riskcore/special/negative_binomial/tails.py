"""The tails of the negative binomial distribution."""

from __future__ import annotations

from riskcore.compiled.jit import kernel
from riskcore.special.double_double import (
    dd_add,
    sqrt,
)
from riskcore.special.elementary import exp_parts, exprel, log1p_positive
from riskcore.special.floats import fma, two_sum
from riskcore.special.negative_binomial.probability import (
    less_expm1,
    less_log1p,
    log_of_first,
    mean_excess,
    probability,
    probability_exponent,
    probability_weight,
)
from riskcore.special.quadrature import (
    HALF_LINE_NODES,
    half_line_node,
    half_line_weight,
)

# Up to this f a tail is a sum of at most some hundred terms, taken down to _NOTHING.
_SHORT = 64.0
_NOTHING = 2.0**-60


@kernel
def _half_line(a: float, b: float, y: float, slope: float) -> float:
    """Return the integral of exp(-a v) (1 + y (1 - exp(-v)))^b over v > 0, a >= 1.

    ``slope`` is a - b y, at least 0 where b > 0. With u = 1 - exp(-v) the exponent is
    -slope u - a (v - u) - b (y u - log(1 + y u)): for b > 0 it has one sign only.
    """
    pace = max(slope, sqrt(a), min(b, sqrt(b)) * y) if b > 0.0 else a
    width = 1.0 / pace
    total, low = 0.0, 0.0
    for i in range(HALF_LINE_NODES):
        node, weight = half_line_node(i), half_line_weight(i)
        v = width * node
        bend = less_expm1(v)
        u = v - bend
        if b > 0.0:
            exponent = fma(slope, u, fma(a, bend, b * less_log1p(y * u)))
        else:
            exponent = fma(a, v, -b * log1p_positive(y * u))
        value, correction = exp_parts(-exponent, 0.0)
        total, rest = two_sum(total, weight * (value + correction))
        low += rest
    return width * (total + low)


@kernel
def _lower(f: float, j: float, p: float, weight: float, excess: float) -> float:
    """Return P(F <= f + j) = I_p(f, j+1) for j not above its mean, j > 0."""
    q = 1.0 - p
    y = p / q
    if f <= _SHORT:
        # P(f or more successes in k trials), term by term (DLMF 8.17.7).
        term, total, low, moment, n = 1.0, 1.0, 0.0, 0.0, 0.0
        while (n < j) & (term > _NOTHING * total):
            term *= (j - n) * y / (f + 1.0 + n)
            n += 1.0
            total, rest = two_sum(total, term)
            low += rest
            moment = fma(n, term, moment)
        # The rounding error of y, which counts n times in its power n.
        error = (fma(-y, q, p) - y * (1.0 - q - p)) / p
        return weight / f * (total + fma(error, moment, low))
    return weight * _half_line(f, j, y, excess / q)


@kernel
def _upper(f: float, j: float, p: float, weight: float, excess: float) -> float:
    """Return P(F > f + j) = I_q(j+1, f) for j above its mean, j > 0."""
    q = 1.0 - p
    y = q / p
    if (f <= _SHORT) & (float(int(min(f, _SHORT))) == f):
        # P(fewer than f successes in k trials), term by term.
        term, total, low, moment, i = 1.0, 1.0, 0.0, 1.0, 1.0
        while (i < f) & (term > _NOTHING * total):
            term *= (f - i) * y / (j + 1.0 + i)
            i += 1.0
            total, rest = two_sum(total, term)
            low += rest
            moment = fma(i, term, moment)
        error = (fma(-y, p, q) + (1.0 - q - p)) / q
        return weight * (y / (j + 1.0)) * (total + fma(error, moment, low))
    slope = (1.0 - excess) / p
    return weight * y * _half_line(j + 1.0, f - 1.0, y, slope)


@kernel
def tails(f: float, j: float, j_low: float, p: float) -> tuple[float, float, float]:
    """Return P(F <= f + j), P(F > f + j) and k P(F = k) for k = f + j <= ``LARGEST``.

    For f >= ``SMALLEST_F``. The tail on whose side of the mean j lies is computed, the
    other is 1 less it.
    """
    if p == 1.0:
        return 1.0, 0.0, f if j == 0.0 else 0.0
    if j == 0.0:
        high, low = log_of_first(f, p)
        first = probability(f, 0.0, 0.0, p)
        return first, -high * exprel(-high) - low * first, f * first
    weight = probability_weight(f, j, *exp_parts(*probability_exponent(f, j, j_low, p)))
    k, k_low = dd_add(j, j_low, f, 0.0)
    excess = mean_excess(f, k, k_low, p)[0]
    if excess >= 0.0:
        lower = min(_lower(f, j, p, weight, excess), 1.0)
        return lower, 1.0 - lower, weight
    upper = min(_upper(f, j, p, weight, excess), 1.0)
    return 1.0 - upper, upper, weight
