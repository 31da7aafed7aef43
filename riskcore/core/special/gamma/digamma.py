"""Differences of psi and psi', and their deficits from the limit for large x.

    psi(x+m) - psi(x) = sum_k m/((x+k) (x+k+m)) = m/x - deficit,

k = 0, 1, 2, ...: terms of one sign up to x+k >= 16, the rest by Stirling's series. The
deficits are of the order m (m-1)/(2 x^2); to find them without the two large terms,
also next to their zero m = 1, every part is computed with its own factor m or m-1.
"""

from __future__ import annotations

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_divide,
    dd_multiply,
)
from riskcore.core.special.floats import two_sum
from riskcore.core.special.gamma.stirling import (
    LARGE,
    fall_of_bend,
    rise_of_slope,
)
from riskcore.core.special.near_one import dd_log1p, dd_log1pmx


@kernel
def _gap(y: float, y_low: float, m: float) -> DoubleDouble:
    """Return 1/y - 1/(y+m)."""
    high, low = dd_divide(m, 0.0, *dd_add(y, y_low, m, 0.0))
    return dd_divide(high, low, y, y_low)


@kernel
def _gap_of_squares(y: float, y_low: float, m: float) -> DoubleDouble:
    """Return 1/y^2 - 1/(y+m)^2."""
    high, low = _gap(y, y_low, m)
    a, a_low = dd_divide(1.0, 0.0, y, y_low)
    c, c_low = dd_divide(1.0, 0.0, *dd_add(y, y_low, m, 0.0))
    return dd_multiply(high, low, *dd_add(a, a_low, c, c_low))


@kernel
def _up(y: float, y_low: float, m: float, squares: bool) -> tuple[float, float, float]:
    """Return the sum of gaps from y to below ``LARGE`` as a pair, and their number."""
    high, low, k = 0.0, 0.0, 0.0
    z, z_low = y, y_low
    while z < LARGE:
        part, part_low = _gap_of_squares(z, z_low, m) if squares else _gap(z, z_low, m)
        high, low = dd_add(high, low, part, part_low)
        k += 1.0
        z, z_low = dd_add(y, y_low, k, 0.0)
    return high, low, k


@kernel
def _beyond_log(y: float, y_low: float, m: float) -> DoubleDouble:
    """Return psi(y+m) - psi(y) - log((y+m)/y) for y >= ``LARGE``."""
    high, low = _gap(y, y_low, m)
    return dd_add(0.5 * high, 0.5 * low, rise_of_slope(y, m), 0.0)


@kernel
def _beyond_gap(y: float, y_low: float, m: float) -> DoubleDouble:
    """Return psi'(y) - psi'(y+m) - (1/y - 1/(y+m)) for y >= ``LARGE``."""
    high, low = _gap_of_squares(y, y_low, m)
    return dd_add(0.5 * high, 0.5 * low, fall_of_bend(y, m), 0.0)


@kernel
def dd_digamma_difference_at_pair(x: float, x_low: float, m: float) -> DoubleDouble:
    """Return ``dd_digamma_difference`` for a pair x."""
    if m == 0.0:
        return 0.0, 0.0
    high, low, k = _up(x, x_low, m, False)
    Y, Y_low = dd_add(x, x_low, k, 0.0)
    part, part_low = dd_log1p(*dd_divide(m, 0.0, Y, Y_low))
    high, low = dd_add(high, low, part, part_low)
    part, part_low = _beyond_log(Y, Y_low, m)
    return dd_add(high, low, part, part_low)


@kernel
def dd_digamma_difference(x: float, m: float) -> DoubleDouble:
    """Return psi(x+m) - psi(x) for x > 0, m >= 0, to 2^-60 of itself."""
    return dd_digamma_difference_at_pair(x, 0.0, m)


@kernel
def digamma_difference(x: float, m: float) -> float:
    """Return psi(x+m) - psi(x) for x > 0, m >= 0."""
    high, low = dd_digamma_difference(x, m)
    return high + low


@kernel
def trigamma_difference(x: float, m: float) -> float:
    """Return psi'(x) - psi'(x+m) for x > 0, m >= 0."""
    if m == 0.0:
        return 0.0
    high, low, k = _up(x, 0.0, m, True)
    Y, Y_low = two_sum(x, k)
    part, part_low = _gap(Y, Y_low, m)
    high, low = dd_add(high, low, part, part_low)
    part, part_low = _beyond_gap(Y, Y_low, m)
    high, low = dd_add(high, low, part, part_low)
    return high + low


@kernel
def _start(x: float, m: float) -> tuple[float, float, float, float]:
    """Return y as a pair, n and y - x, such that n is 0 where the deficit is.

    psi(x+m) - psi(x) is 1/x + psi(y+n) - psi(y) for y = x + 1, n = m - 1.
    """
    if 0.5 <= m < 2.0:
        y, y_low = two_sum(x, 1.0)
        return y, y_low, m - 1.0, 1.0
    return x, 0.0, m, 0.0


@kernel
def digamma_deficit(x: float, m: float) -> float:
    """Return m/x - (psi(x+m) - psi(x)) for x > 0, m >= 0."""
    y, y_low, n, steps = _start(x, m)
    if n == 0.0:
        return 0.0
    below, below_low, k = _up(y, y_low, n, False)
    Y, Y_low = dd_add(y, y_low, k, 0.0)
    v, v_low = dd_divide(n, 0.0, Y, Y_low)
    # n/x - n/Y, and n/Y - log((Y+n)/Y).
    high, low = dd_divide(k + steps, 0.0, x, 0.0)
    high, low = dd_multiply(high, low, v, v_low)
    part, part_low = dd_log1pmx(v, v_low)
    high, low = dd_add(high, low, -part, -part_low)
    part, part_low = _beyond_log(Y, Y_low, n)
    part, part_low = dd_add(part, part_low, below, below_low)
    high, low = dd_add(high, low, -part, -part_low)
    return high + low


@kernel
def trigamma_deficit(x: float, m: float) -> float:
    """Return m/x^2 - (psi'(x) - psi'(x+m)) for x > 0, m >= 0."""
    y, y_low, n, steps = _start(x, m)
    if n == 0.0:
        return 0.0
    below, below_low, k = _up(y, y_low, n, True)
    Y, Y_low = dd_add(y, y_low, k, 0.0)
    v, v_low = dd_divide(n, 0.0, Y, Y_low)
    # n/x^2 - n/Y^2, and n/Y^2 - (1/Y - 1/(Y+n)).
    ratio, ratio_low = dd_divide(k + steps, 0.0, x, 0.0)
    high, low = dd_divide(1.0, 0.0, x, 0.0)
    part, part_low = dd_divide(1.0, 0.0, Y, Y_low)
    high, low = dd_add(high, low, part, part_low)
    high, low = dd_multiply(high, low, ratio, ratio_low)
    part, part_low = dd_divide(v, v_low, *dd_add(Y, Y_low, n, 0.0))
    high, low = dd_add(high, low, part, part_low)
    high, low = dd_multiply(high, low, v, v_low)
    part, part_low = _beyond_gap(Y, Y_low, n)
    part, part_low = dd_add(part, part_low, below, below_low)
    high, low = dd_add(high, low, -part, -part_low)
    return high + low
