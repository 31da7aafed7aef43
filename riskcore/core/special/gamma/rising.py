"""Rising factorials (x)_m = Gamma(x+m)/Gamma(x), and their excess over x^m.

From y = x (or x + 1) by the recurrence of Gamma up to Y >= 16, then by Stirling's
series: with v = m/Y

    log (Y)_m - m log Y = (Y+m-1/2) log(1+v) - m + S(Y+m) - S(Y)
                        = (m-1/2) v + (Y+m-1/2) (log(1+v) - v) + S(Y+m) - S(Y),

as a double-double; the second line for small v, where it is of the order of v^2 Y.
"""

from __future__ import annotations

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_divide,
    dd_log,
    dd_multiply,
)
from riskcore.core.special.floats import two_sum
from riskcore.core.special.gamma.products import ONE, log_of, times
from riskcore.core.special.gamma.stirling import LARGE, fall
from riskcore.core.special.near_one import dd_log1p, dd_log1pmx

_NEAR = 0.5  # up to this v the second line


@kernel
def _excess(y: float, y_low: float, m: float) -> DoubleDouble:
    """Return log (y)_m - m log y for y >= ``LARGE``, m >= -1/2."""
    v, v_low = dd_divide(m, 0.0, y, y_low)
    factor, factor_low = dd_add(y, y_low, *two_sum(m, -0.5))
    if v > _NEAR:
        high, low = dd_multiply(*dd_log1p(v, v_low), factor, factor_low)
        high, low = dd_add(high, low, -m, 0.0)
    else:
        high, low = dd_multiply(*dd_log1pmx(v, v_low), factor, factor_low)
        v, v_low = dd_multiply(v, v_low, *two_sum(m, -0.5))
        high, low = dd_add(high, low, v, v_low)
    return dd_add(high, low, -fall(y, m), 0.0)


@kernel
def _up(y: float, y_low: float, m: float) -> tuple[float, float, float]:
    """Return log((y)_m/(Y)_m) as a pair, and Y - y; Y is the first y+k >= ``LARGE``."""
    product, z, z_low, k = ONE, y, y_low, 0.0
    while z < LARGE:
        end, end_low = dd_add(z, z_low, m, 0.0)
        q, q_low = dd_divide(z, z_low, end, end_low)
        d, d_low = dd_divide(m, 0.0, end, end_low)
        product = times(product, q, q_low, d, d_low)
        k += 1.0
        z, z_low = dd_add(y, y_low, k, 0.0)
    high, low = log_of(product)
    return high, low, k


@kernel
def _log_excess(x: float, m: float) -> DoubleDouble:
    """Return log((x)_m/x^m); (x)_m = x (x+1)_(m-1) next to its zero m = 1."""
    y, y_low, n, steps = x, 0.0, m, 0.0
    if 0.5 <= m < 2.0:
        y, y_low = two_sum(x, 1.0)
        n, steps = m - 1.0, 1.0
    if n == 0.0:
        return 0.0, 0.0
    high, low, k = _up(y, y_low, n)
    Y, Y_low = dd_add(y, y_low, k, 0.0)
    high, low = dd_add(high, low, *_excess(Y, Y_low, n))
    if k + steps > 0.0:  # n log(Y/x)
        v, v_low = dd_log1p(*dd_divide(k + steps, 0.0, x, 0.0))
        v, v_low = dd_multiply(v, v_low, n, 0.0)
        high, low = dd_add(high, low, v, v_low)
    return high, low


@kernel
def log_rising_excess(x: float, m: float) -> float:
    """Return log((x)_m/x^m) for x > 0, m >= 0."""
    high, low = _log_excess(x, m)
    return high + low


@kernel
def log_rising_factorial(x: float, m: float) -> float:
    """Return log (x)_m for x > 0, m >= 0; next to its zeros the error is absolute."""
    high, low = _log_excess(x, m)
    part, part_low = dd_multiply(*dd_log(x, 0.0), m, 0.0)
    high, low = dd_add(high, low, part, part_low)
    return high + low
