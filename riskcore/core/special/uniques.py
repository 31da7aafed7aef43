"""Probabilities that a unique stays one, to their last digit.

They are powers and products of up to 2^53 factors, as small as doubles can be: an
exponent rounded to a double would lose as many ulp as its size. Here it is a pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from riskcore.core.compiled.jit import kernel, native
from riskcore.core.compiled.ufunc_maker import with_ufunc
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_divide,
    dd_multiply,
)
from riskcore.core.special.elementary import exp_parts
from riskcore.core.special.floats import two_product, two_sum
from riskcore.core.special.gamma.digamma import dd_digamma_difference
from riskcore.core.special.gamma.ratio import dd_log_gamma_ratio_at_pair
from riskcore.core.special.near_one import dd_log1p

_FAINT = 2.0**-200  # below it log(1 + g)/g is 1 to all digits of a pair
_TINY = 2.0**-100  # below it 1 + x is 1 to all digits of a pair


@with_ufunc
def unhit_poisson_gamma(n: float, N: float, K: float, beta: float) -> float:
    """Return ((1 + n beta)/(1 + N beta))^(1 + 1/(K beta)), 0 <= n <= N, beta >= 0.

    With g = (N-n) beta/(1 + n beta) and l = log(1 + g) its logarithm is
    -(l + (N-n)/(K (1 + n beta)) l/g). n, N and N - n are exact.
    """
    M = N - n
    below, below_low = dd_add(1.0, 0.0, *two_product(n, beta))
    g, g_low = dd_divide(*two_product(M, beta), below, below_low)
    high, low = dd_divide(*dd_divide(M, 0.0, K, 0.0), below, below_low)
    if g > _FAINT:
        log, log_low = dd_log1p(g, g_low)
        part, part_low = dd_divide(log, log_low, g, g_low)
        high, low = dd_multiply(high, low, part, part_low)
        high, low = dd_add(high, low, log, log_low)
    value, correction = exp_parts(-high, -low)
    return value + correction


def unhit_polya_urn(x: DoubleDouble, b: DoubleDouble, M: int) -> float:
    """Return prod_{m=0}^{M-1} (x+m)/(x+m+b) for pairs x >= 0 and b > 0.

    It is Gamma(x+M) Gamma(x+b)/(Gamma(x) Gamma(x+b+M)). A tiny x is negligible except
    in the first factor, so the result is proportional to it.
    """
    unhit = np.empty(1)
    write_unhit(*x, *b, float(M), unhit)
    return float(unhit[0])


@native("float64, float64, float64, float64, float64, float64*")
def write_unhit(
    x: float, x_low: float, b: float, b_low: float, M: float, unhit: Any
) -> None:
    """Write the result of `unhit_polya_urn`."""
    unhit[0] = _unhit(x, x_low, b, b_low, M)


@kernel
def _unhit(x: float, x_low: float, b: float, b_low: float, M: float) -> float:
    if M == 0.0:
        return 1.0
    if x == 0.0:
        return 0.0
    tiny = x < _TINY
    if tiny:
        high, low = _log_unhit(1.0, 0.0, b, b_low, M - 1.0)
    else:
        high, low = _log_unhit(x, x_low, b, b_low, M)
    value, correction = exp_parts(high, low)
    if tiny:
        share, share_low = dd_divide(value, correction, b, b_low)
        value, correction = dd_multiply(share, share_low, x, x_low)
    return value + correction


@kernel
def _log_unhit(
    x: float, x_low: float, b: float, b_low: float, M: float
) -> DoubleDouble:
    if M == 0.0:
        return 0.0, 0.0
    high, low = dd_log_gamma_ratio_at_pair(x, x_low, min(b, M), max(b, M))
    if b_low != 0.0:
        slope, _ = dd_digamma_difference(x + b, M)
        high, low = dd_add(high, low, -slope * b_low, 0.0)
    return high, low


@with_ufunc
def power_of_share(n: float, N: float, e: float, e_low: float) -> float:
    """Return (n/N)^(e + e_low) for 0 < n <= N and e >= 0."""
    v, v_low = dd_divide(*two_sum(N, -n), n, 0.0)
    high, low = dd_multiply(*dd_log1p(v, v_low), e, e_low)
    value, correction = exp_parts(-high, -low)
    return value + correction
