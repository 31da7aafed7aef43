"""The individual risk in double-doubles without radii, over blocks of cells.

r to a relative ``ERROR``, which is proved for each group of cells as a whole
(notes/rounding_proof.md, section 10), at a tenth of the cost of a ball. It decides most
cells that the fast methods leave, and most bounds. Loops over levels are outside, loops
over cells inside, so that those vectorize.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from riskcore.core.compiled.jit import kernel, shared
from riskcore.core.special.balls import LN2_HIGH, LN2_LOW, LN2_MIDDLE, PI
from riskcore.core.special.double_double import (
    DoubleDouble,
    dd_add,
    dd_add_positive,
    dd_divide,
    dd_multiply_double,
    dd_multiply_positive,
)
from riskcore.core.special.floats import (
    bits,
    fast_two_sum,
    fma,
    from_bits,
    integer_stack,
    stack,
    two_product,
    two_sum,
)
from riskcore.core.special.gauss.blocks import (
    code_stack,
    filled_up,
    gather,
    padded,
    pick,
    scatter,
)
from riskcore.core.special.gauss.enclosure import level, plus
from riskcore.core.special.near_one import series

# Proved bound of the relative error.
ERROR = 2.0**-84

# Groups of cells.
_FEW = 0  # integer f to 4, by the logarithm and contiguity
_SOME = 1  # integer f from 5 to 31
_REAL = 2  # other f below 32, p small: reflection and contiguity
_BELOW_ONE = 3  # f < 1, p not small
_FRACTION = 4  # the fraction: from here on by the levels they need
_OTHER = 10  # left to the balls
_GROUPS = 10
# Levels, and how many of them in pairs, for f from 1000, f from 128, p from 0.75,
# f from 32, p from 0.5 and p from 0.3: a test evaluates the bounds of the note.
LEVELS = ((10, 4), (18, 6), (24, 10), (38, 10), (34, 16), (50, 22))
LEVELS_REFLECTED = (28, 12)  # from 0.7
P_LEVELS = 0.3
_F_CONTIGUITY = 32.0
_LOWEST = 2.0**-400
_F_HUGE = 2.0**60
_TWO_52 = 2.0**52
_SQRT_HALF_BITS = 0x3FE6A09E00000000  # about sqrt(1/2): the mantissa's lower end
_UNIT = 2.0**-53


@kernel
def _group(f: float, p: float) -> int:
    """Return the group of a cell; branchless."""
    integer = ((f + _TWO_52) - _TWO_52 == f) & (f >= 1.0)
    few = f <= 4.0
    contiguity = integer & (f < _F_CONTIGUITY) & (p < (0.75 if few else 0.5))
    by_p = _FRACTION + (2 if p >= 0.75 else (4 if p >= 0.5 else 5))
    levels = by_p if f < _F_CONTIGUITY else min(by_p, _FRACTION + 3)
    levels = _FRACTION + 1 if f >= 128.0 else levels
    levels = _FRACTION if f >= 1000.0 else levels
    served = (p >= P_LEVELS) | (f >= _F_CONTIGUITY)
    group = levels if f >= 1.0 else _BELOW_ONE
    group = group if served else _REAL
    group = (_FEW if few else _SOME) if contiguity else group
    inside = (p >= _LOWEST) & (p <= 1.0) & (f >= _LOWEST) & (f < _F_HUGE)
    return group if inside else _OTHER


# --- logarithm and contiguity --------------------------------------------------------

# log z = 2s + 2s w (1/3 + w/5 + ...), s = (z-1)/(z+1), w = s^2 <= 0.0295: seven terms
# as pairs, eleven as doubles. The omitted terms are below 2^-96.
_log_series = series([Fraction(1, 2 * j + 3) for j in range(7)])
_LOG_TAIL = tuple(1.0 / (2 * j + 3) for j in range(17, 6, -1))


@kernel
def _minus_log(p: float, p_low: float) -> DoubleDouble:
    """Return -log p for a normal p < 3/4."""
    pattern = bits(p)
    exponent = (pattern - _SQRT_HALF_BITS) >> 52
    z = from_bits(pattern - (exponent << 52))
    z_low = p_low * from_bits((1023 - exponent) << 52)
    k = float(exponent)
    above, above_low = two_sum(z - 1.0, z_low)
    below, below_low = two_sum(z, 1.0)
    below, below_low = fast_two_sum(below, below_low + z_low)
    s, s_low = dd_divide(above, above_low, below, below_low)
    w, w_low = dd_multiply_positive(s, s_low, s, s_low)
    tail = 0.0
    for coefficient in _LOG_TAIL:
        tail = fma(tail, w, coefficient)
    t, t_low = _log_series((w, w_low), (tail, 0.0))
    t, t_low = dd_multiply_positive(t, t_low, w, w_low)
    t, t_low = dd_multiply_positive(t, t_low, s, s_low)
    t, t_low = dd_add_positive(s, s_low, t, t_low)
    high, low = fast_two_sum(k * LN2_HIGH, k * LN2_MIDDLE)
    low = fma(k, LN2_LOW, low)
    high, low = dd_add(high, low, 2.0 * t, 2.0 * t_low)
    return -high, -low


@kernel
def _contiguity(f: Any, p: Any, high: Any, low: Any, n: int) -> None:
    """Fill in r for integer f < 32: T(1) = -log p, T(g+1) = 1/g - v T(g), r = v T."""
    v, v_low = stack(), stack()
    most = 1.0
    for i in range(n):
        high[i], low[i] = _minus_log(p[i], 0.0)
    for i in range(n):
        most = max(most, f[i])
    for i in range(n):
        q, q_low = fast_two_sum(1.0, -p[i])
        v[i], v_low[i] = dd_divide(p[i], 0.0, q, q_low)
    for step in range(1, int(most)):
        g = float(step)
        inverse = 1.0 / g
        inverse_low = fma(-inverse, g, 1.0) / g
        for i in range(n):
            t, t_low = dd_multiply_positive(v[i], v_low[i], high[i], low[i])
            t, t_low = dd_add(inverse, inverse_low, -t, -t_low)
            further = f[i] > g
            high[i] = t if further else high[i]
            low[i] = t_low if further else low[i]
    for i in range(n):
        high[i], low[i] = dd_multiply_positive(v[i], v_low[i], high[i], low[i])


# --- the fraction --------------------------------------------------------------------


@kernel
def _levels(
    levels: int,
    in_pairs: int,
    f: Any,
    f_low: Any,
    p: Any,
    p_low: Any,
    x: Any,
    x_low: Any,
    y: Any,
    y_low: Any,
    n: int,
) -> None:
    """Let x/y be X_1 of the positive fraction for f + f_low, as in the enclosures."""
    for i in range(n):
        x[i], y[i] = p[i], 1.0
    for m in range(levels // 2, in_pairs // 2, -1):
        k, b = m + 1.0, float(m)
        for i in range(n):
            t, u = (f[i] + b) * y[i], k * x[i]
            X, Y = fma(p[i], t, u), t + u
            t, u = (f[i] + (b - 1.0)) * Y, k * X
            x[i], y[i] = fma(p[i], t, u), t + u
    for i in range(n):
        x[i], x_low[i] = x[i] / y[i], 0.0
        y[i], y_low[i] = 1.0, 0.0
    for m in range(in_pairs // 2, 0, -1):
        k, b = m + 1.0, float(m)
        for i in range(n):
            g, tail = (f[i], f_low[i]), (p[i], p_low[i])
            above, below = (x[i], x_low[i]), (y[i], y_low[i])
            above, below = level(k, plus(g, b), tail, above, below)
            above, below = level(k, plus(g, b - 1.0), tail, above, below)
            x[i], x_low[i] = above
            y[i], y_low[i] = below


@kernel
def _fraction(
    levels: int, in_pairs: int, f: Any, p: Any, high: Any, low: Any, n: int
) -> None:
    """Fill in r = p/(f - 1 + p + q E), E = X/(f + X), for f >= 1."""
    x, x_low, y, y_low = stack(), stack(), stack(), stack()
    for i in range(n):
        low[i] = 0.0
    _levels(levels, in_pairs, f, low, p, low, x, x_low, y, y_low, n)
    for i in range(n):
        S, S_low = dd_multiply_double(y[i], y_low[i], f[i])
        S, S_low = dd_add_positive(S, S_low, x[i], x_low[i])
        base, base_low = two_sum(f[i], -1.0)
        base, base_low = dd_add_positive(base, base_low, p[i], 0.0)
        M, M_low = dd_multiply_positive(base, base_low, S, S_low)
        q, q_low = fast_two_sum(1.0, -p[i])
        t, t_low = dd_multiply_positive(q, q_low, x[i], x_low[i])
        M, M_low = dd_add_positive(M, M_low, t, t_low)
        N, N_low = dd_multiply_double(S, S_low, p[i])
        high[i], low[i] = dd_divide(N, N_low, M, M_low)


@kernel
def _below_one(f: Any, p: Any, high: Any, low: Any, n: int) -> None:
    """Fill in r = (p f + w)/(f (f + w)), w = p + q E(f+1), for f < 1."""
    x, x_low, y, y_low = stack(), stack(), stack(), stack()
    nothing = stack()
    for i in range(n):
        nothing[i] = 0.0
        high[i], low[i] = fast_two_sum(1.0, f[i])
    levels, in_pairs = LEVELS[5]
    _levels(levels, in_pairs, high, low, p, nothing, x, x_low, y, y_low, n)
    for i in range(n):
        S, S_low = dd_multiply_positive(high[i], low[i], y[i], y_low[i])
        S, S_low = dd_add_positive(S, S_low, x[i], x_low[i])
        q, q_low = fast_two_sum(1.0, -p[i])
        w, w_low = dd_multiply_positive(q, q_low, x[i], x_low[i])
        t, t_low = dd_multiply_double(S, S_low, p[i])
        w, w_low = dd_add_positive(w, w_low, t, t_low)
        t, t_low = dd_multiply_double(t, t_low, f[i])
        N, N_low = dd_add_positive(w, w_low, t, t_low)
        t, t_low = dd_multiply_double(S, S_low, f[i])
        t, t_low = dd_add_positive(w, w_low, t, t_low)
        M, M_low = dd_multiply_double(t, t_low, f[i])
        high[i], low[i] = dd_divide(N, N_low, M, M_low)


# --- reflection ----------------------------------------------------------------------

# exp t - 1 = t + t^2 (1/2 + t/6 + ...), |t| <= 0.36: nine terms as pairs, twelve as
# doubles.
_exp_series = series([Fraction(1, math.factorial(j)) for j in range(2, 11)])
_EXP_TAIL = tuple(1.0 / math.factorial(j) for j in range(22, 10, -1))
# (1 - sin(pi d)/(pi d))/d^2 = pi^2/3! - pi^4 d^2/5! + ..., |d| <= 1/2: eight as pairs,
# eight as doubles.
_SINE = [(-1) ** j * PI ** (2 * j + 2) / math.factorial(2 * j + 3) for j in range(16)]
_sine_series = series(_SINE[:8])
_SINE_TAIL = tuple(float(c) for c in reversed(_SINE[8:]))


@kernel
def _exponentials(x: float, x_low: float) -> tuple[float, float, float, float]:
    """Return exp x and exp x - 1 for |x| <= 600."""
    k = float(int(x / LN2_HIGH + (0.5 if x > 0.0 else -0.5)))
    shift, shift_low = fast_two_sum(k * LN2_HIGH, k * LN2_MIDDLE)
    t, t_low = dd_add(x, x_low, -shift, -fma(k, LN2_LOW, shift_low))
    tail = 0.0
    for coefficient in _EXP_TAIL:
        tail = fma(tail, t, coefficient)
    m, m_low = _exp_series((t, t_low), (tail, 0.0))
    m, m_low = dd_multiply_positive(m, m_low, t, t_low)
    m, m_low = dd_multiply_positive(m, m_low, t, t_low)
    m, m_low = dd_add(t, t_low, m, m_low)
    power = from_bits((int(k) + 1023) << 52)
    less, less_low = two_sum(power, -1.0)
    less, less_low = dd_add(less, less_low, m * power, m_low * power)
    high, low = dd_add(1.0, 0.0, m, m_low)
    return high * power, low * power, less, less_low


@kernel
def _sine_deficit(d: float) -> DoubleDouble:
    """Return (1 - s)/d^2, s = sin(pi d)/(pi d)."""
    w, w_low = two_product(d, d)
    tail = 0.0
    for coefficient in _SINE_TAIL:
        tail = fma(tail, w, coefficient)
    return _sine_series((w, w_low), (tail, 0.0))


@kernel
def _real(f: Any, p: Any, high: Any, low: Any, n: int) -> None:
    """Fill in r for f < 32 that is not an integer, and small p.

    With f = m + d, |d| <= 1/2, s = sin(pi d)/(pi d) and S = p/D(1-d, q): d r(d) = v^d/s
    - d S, and T(1+d) = (1 - d r(d))/d = ((1 - v^d)/d - (1-s)/d)/s + S; from there
    T(g+1) = 1/g - v T(g), r = v T.
    """
    v, v_low, S, S_low = stack(), stack(), stack(), stack()
    x, x_low, y, y_low = stack(), stack(), stack(), stack()
    q, q_low = stack(), stack()
    most = 0.0
    for i in range(n):
        most = max(most, f[i])
    for i in range(n):
        q[i], q_low[i] = fast_two_sum(1.0, -p[i])
        v[i], v_low[i] = dd_divide(p[i], 0.0, q[i], q_low[i])
        d = f[i] - ((f[i] + _TWO_52) - _TWO_52)
        S[i], S_low[i] = two_sum(1.0, -d)
    levels, in_pairs = LEVELS_REFLECTED
    _levels(levels, in_pairs, S, S_low, q, q_low, x, x_low, y, y_low, n)
    for i in range(n):
        # S = p/(q - d + p E), E = X/(1 - d + X)
        d = f[i] - ((f[i] + _TWO_52) - _TWO_52)
        e, e_low = dd_multiply_positive(S[i], S_low[i], y[i], y_low[i])
        e, e_low = dd_add_positive(e, e_low, x[i], x_low[i])
        t, t_low = dd_multiply_double(x[i], x_low[i], p[i])
        t, t_low = dd_divide(t, t_low, e, e_low)
        e, e_low = dd_add(q[i], q_low[i], -d, 0.0)
        e, e_low = dd_add_positive(e, e_low, t, t_low)
        S[i], S_low[i] = dd_divide(p[i], 0.0, e, e_low)
    for i in range(n):
        high[i], low[i] = _minus_log(v[i], v_low[i])
    for i in range(n):
        d = f[i] - ((f[i] + _TWO_52) - _TWO_52)
        t, t_low = dd_multiply_double(high[i], low[i], -d)
        x[i], x_low[i], y[i], y_low[i] = _exponentials(t, t_low)
    for i in range(n):
        d = f[i] - ((f[i] + _TWO_52) - _TWO_52)
        c, c_low = dd_multiply_double(*_sine_deficit(d), d)
        s, s_low = dd_multiply_double(c, c_low, d)
        s, s_low = dd_add(1.0, 0.0, -s, -s_low)
        t, t_low = dd_divide(-y[i], -y_low[i], d, 0.0)
        t, t_low = dd_add(t, t_low, -c, -c_low)
        t, t_low = dd_divide(t, t_low, s, s_low)
        high[i], low[i] = dd_add(t, t_low, S[i], S_low[i])
        # d r(d)/d, for f <= 1/2
        t, t_low = dd_divide(x[i], x_low[i], s, s_low)
        c, c_low = dd_multiply_double(S[i], S_low[i], d)
        t, t_low = dd_add(t, t_low, -c, -c_low)
        x[i], x_low[i] = dd_divide(t, t_low, d, 0.0)
    for step in range(1, int(most + 0.5)):
        for i in range(n):
            whole = (f[i] + _TWO_52) - _TWO_52
            g = (f[i] - whole) + step
            inverse = 1.0 / g
            inverse_low = fma(-inverse, g, 1.0) * inverse
            t, t_low = dd_multiply_positive(v[i], v_low[i], high[i], low[i])
            t, t_low = dd_add(inverse, inverse_low, -t, -t_low)
            further = whole > step
            high[i] = t if further else high[i]
            low[i] = t_low if further else low[i]
    for i in range(n):
        t, t_low = dd_multiply_positive(v[i], v_low[i], high[i], low[i])
        least = f[i] <= 0.5
        high[i] = x[i] if least else t
        low[i] = x_low[i] if least else t_low


# --- all groups ----------------------------------------------------------------------


@kernel
def _fill(group: int, f: Any, p: Any, high: Any, low: Any, n: int) -> None:
    if group <= _SOME:
        _contiguity(f, p, high, low, n)
    elif group == _REAL:
        _real(f, p, high, low, n)
    elif group == _BELOW_ONE:
        _below_one(f, p, high, low, n)
    else:
        levels, in_pairs = 0, 0
        for place, (all_levels, pairs) in enumerate(LEVELS):
            if group == _FRACTION + place:
                levels, in_pairs = all_levels, pairs
        _fraction(levels, in_pairs, f, p, high, low, n)


@shared("float64*, float64*, float64*, float64*, int64")
def risk_pairs(f: Any, p: Any, high: Any, low: Any, n: int) -> None:
    """Fill in r(f, p) as high + low for n <= BLOCK cells; nan where no method applies.

    |low| is at most half an ulp of high, the relative error of the sum is below
    ``ERROR``. The results must not overlap the cells.
    """
    codes, picked = code_stack(), integer_stack()
    f_picked, p_picked, nothing = stack(), stack(), stack()
    high_picked, low_picked = stack(), stack()
    for i in range(n):
        codes[i] = _group(f[i], p[i])
        high[i] = low[i] = math.nan
    words = padded(codes, n)
    for group in range(_GROUPS):
        m = pick(codes, words, group, picked)
        if m > 0:
            full = filled_up(picked, m)
            gather(f, p, f, picked, f_picked, p_picked, nothing, full)
            _fill(group, f_picked, p_picked, high_picked, low_picked, full)
            scatter(high_picked, picked, high, full)
            scatter(low_picked, picked, low, full)
