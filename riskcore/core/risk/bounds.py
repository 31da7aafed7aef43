"""Directed rounding of the individual risk: down, up, and both as bounds.

The pairs of ``individual_risk`` determine the two doubles around r unless one of them
may be r itself. Slower steps decide these few cases. notes/correct_rounding.md
proves the error of both.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from riskcore.core.compiled.jit import kernel, shared
from riskcore.core.compiled.ufunc_maker import (
    Contract,
    UfuncSource,
    clear_flags,
    on_demand,
)
from riskcore.core.risk.individual import Evaluation, _column, _loop, _store
from riskcore.core.risk.single import DOWN, UP, rounded_to_single
from riskcore.core.special.floats import BLOCK, stack
from riskcore.core.special.gauss import risk_blocks
from riskcore.core.special.gauss.ball_step import double_above, sides_slow
from riskcore.core.special.gauss.enclosure import risk_ball
from riskcore.core.special.gauss.risk_blocks import missing
from riskcore.core.special.gauss.rounding_test import rounded_down

if TYPE_CHECKING:
    import numpy as np

    individual_risk_bounds: np.ufunc
    individual_risk_down: np.ufunc
    individual_risk_up: np.ufunc
    risk_enclosure: np.ufunc


@kernel
def _down(
    f: float, p: float, excess: float, high: float, low: float, error: float
) -> float:
    return rounded_down(high, low, error)


_value, _block = risk_blocks.by_region(_down)


@shared("float64*, float64*, float64*, int64")
def _lower_block(f: Any, p: Any, lower: Any, n: int) -> None:
    """Fill in the doubles below r, n <= BLOCK; nan where the pairs do not decide."""
    _block(f, p, f, lower, n)


@shared("float64, float64", "float64, float64")
def risk_bounds(f: float, p: float) -> tuple[float, float]:
    """Return the doubles around r(f, p); nan outside the domain."""
    lower = _value(f, p, 0.0)
    if lower == lower:
        return lower, double_above(lower)
    return sides_slow(f, p)


@kernel
def bounds_block(f: Any, p: Any, lower: Any, upper: Any, n: int) -> None:
    """Fill in the doubles around r(f, p) for n <= BLOCK cells; no array may overlap."""
    _lower_block(f, p, lower, n)
    for i in range(n):
        upper[i] = double_above(lower[i])
    if missing(lower, n):
        for i in range(n):
            if lower[i] != lower[i]:
                lower[i], upper[i] = sides_slow(f[i], p[i])


def _bounds_loop(args: Any, sizes: Any, steps: Any, _: Any) -> None:
    f_room, p_room, lower, upper = stack(), stack(), stack(), stack()
    first = 0
    while first < sizes[0]:
        n = min(BLOCK, sizes[0] - first)
        f = _column(args[0], first, steps[0], f_room, n, False)
        p = _column(args[1], first, steps[1], p_room, n, False)
        bounds_block(f, p, lower, upper, n)
        _store(lower, args[2], first, steps[2], n)
        _store(upper, args[3], first, steps[3], n)
        first += n
    clear_flags()


def _directed(up: bool) -> Evaluation:
    """Make NumPy's loop and the scalar kernel of r rounded up, or else down."""

    @kernel
    def slow(f: float, p: float) -> float:
        """Return one of the bounds, nan if they are not equal or neighbors."""
        lower, upper = sides_slow(f, p)
        decided = upper <= double_above(lower)
        return (upper if up else lower) if decided else math.nan

    complete = risk_blocks.completion(slow)

    @kernel
    def scalar(f: float, p: float) -> float:
        lower = _value(f, p, 0.0)
        if lower == lower:
            return double_above(lower) if up else lower
        return slow(f, p)

    @kernel
    def block(f: Any, p: Any, excess: Any, out: Any, n: int) -> None:
        _lower_block(f, p, out, n)
        if up:
            for i in range(n):
                out[i] = double_above(out[i])
        complete(f, p, out, n)

    return _loop(block), scalar


@kernel
def enclosure(f: float, p: float) -> tuple[float, float, float, float]:
    """Return (high, low, radius, n): r 2^(600 n) within radius of high + low."""
    (high, low, radius), n = risk_ball(f, p)
    return high, low, radius, float(n)


def _enclosure_loop(args: Any, sizes: Any, steps: Any, _: Any) -> None:
    for i in range(sizes[0]):
        high, low, radius, n = enclosure(
            args[0][i * (steps[0] >> 3)], args[1][i * (steps[1] >> 3)]
        )
        args[2][i * (steps[2] >> 3)] = high
        args[3][i * (steps[3] >> 3)] = low
        args[4][i * (steps[4] >> 3)] = radius
        args[5][i * (steps[5] >> 3)] = n
    clear_flags()


UFUNCS = {
    "individual_risk_down": UfuncSource(
        *_directed(up=False),
        """
Individual risk rounded down: the largest double that is not above r(f, p).

As r > 0, it is rounded to zero as well.

Parameters
----------
f : array_like
    Sample frequency of the cell, real, f > 0; any double.
p : array_like
    Sampling fraction of the cell, 0 < p <= 1; any double.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
r : ndarray or scalar
    The lower one of ``individual_risk_bounds``, with the same proof; nan outside the
    domain. 0 below the smallest double, the largest double above that. A result is
    right or nan: nan if 1,008 bits do not decide on which side of a double r lies,
    which no input tried ever needed.

See Also
--------
riskcore.individual_risk_up : r rounded up.
riskcore.individual_risk_bounds : both at once, in the time of one.
riskcore.individual_risk : r rounded to nearest, with the definition and sources.

Examples
--------
>>> from fractions import Fraction
>>> import riskcore
>>> 3 * Fraction(float(riskcore.individual_risk_down(3, 1.0))) < 1
True
>>> float(riskcore.individual_risk_down(1e10, 5e-324))
0.0
""",
        single=rounded_to_single(DOWN),
    ),
    "individual_risk_up": UfuncSource(
        *_directed(up=True),
        """
Individual risk rounded up: the smallest double that is not below r(f, p).

Parameters
----------
f, p : array_like
    As for ``individual_risk_down``.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
r : ndarray or scalar
    The upper one of ``individual_risk_bounds``, with the same proof; nan outside the
    domain. Infinite above the largest double. A result is right or nan, as for
    ``individual_risk_down``.

See Also
--------
riskcore.individual_risk_down : r rounded down.
riskcore.individual_risk_bounds : both at once, in the time of one.
riskcore.individual_risk : r rounded to nearest, with the definition and sources.

Examples
--------
>>> import riskcore
>>> float(riskcore.individual_risk_up(1e10, 5e-324))
5e-324
>>> riskcore.individual_risk_up([2, 4], 1.0)  # where r is a double it is the result
array([0.5 , 0.25])
""",
        single=rounded_to_single(UP),
    ),
    "individual_risk_bounds": UfuncSource(
        _bounds_loop,
        risk_bounds,
        """
Lower and upper bound of the individual risk: doubles proven to enclose r(f, p).

The exact value, for f and p taken as the doubles they are, is never below the first
nor above the second. The two are neighbors, or equal where r is itself a double: at
p = 1 where 1/f is one. For p < 1 and integer f it never is. If 1,008 bits do not decide
on which side of a double r lies they are two ulp apart; no such cell is known.

Parameters
----------
f : array_like
    Sample frequency of the cell, real, f > 0; any double.
p : array_like
    Sampling fraction of the cell, 0 < p <= 1; any double.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
lower, upper : ndarray or scalar
    Doubles with lower <= r <= upper; nan outside the domain. Above the largest double
    upper is infinite, below the smallest lower is 0.

See Also
--------
riskcore.individual_risk : r itself, rounded.
riskcore.individual_risk_down, riskcore.individual_risk_up : one bound alone, or nan.

Notes
-----
The pairs of doubles that ``individual_risk`` rounds, with a proven bound of their
error, some 2^-65 of r, decide nearly all cells; then double-double balls, as a rule
2^-103 of r, and fixed point with 168 bits, then 308, 1008, for r next to a double,
such as f = 4, p = 2^-53. ``notes/correct_rounding.md`` has the proofs. No cell is known
that 308 bits leave open.

References
----------
Joldes, Muller and Popescu (2017), doi 10.1145/3121432; Polettini (2003), eq. 8.

Examples
--------
>>> import math
>>> import riskcore
>>> lower, upper = riskcore.individual_risk_bounds(1, 0.01)
>>> float(lower), float(upper)
(0.04651687056..., 0.04651687056...)
>>> bool(lower <= riskcore.individual_risk(1, 0.01) <= upper)
True
>>> lower, upper = riskcore.individual_risk_bounds([2, 3], 1.0)
>>> lower == upper
array([ True, False])
>>> lower, upper = map(float, riskcore.individual_risk_bounds(4, 2.0**-53))
>>> (upper - lower) / math.ulp(lower)
1.0
""",
        outputs=2,
        single=rounded_to_single(DOWN, UP),
    ),
    "risk_enclosure": UfuncSource(
        _enclosure_loop,
        enclosure,
        "Midpoint and radius of the enclosure of r(f, p), for benches and tests.",
        outputs=4,
    ),
}


__getattr__ = on_demand(__name__, UFUNCS)

# The exact value lies between the two: proved in notes/correct_rounding.md. The bounds
# are one unit apart, or equal; rounded down or up, the result is one of them.
CONTRACTS = tuple(
    Contract(
        name,
        ulps=1,
        worst=1.0,
        witness=witness,
        region="the whole domain",
        shown="proved",
    )
    for name, witness in (
        ("individual_risk_bounds", ("0x1.0000000000000p+2", "0x1.0000000000000p-53")),
        ("individual_risk_down", ("0x1.0000000000000p+1", "0x1.8000000000000p-100")),
        ("individual_risk_up", ("0x1.0000000000000p+2", "0x1.0000000000000p-53")),
    )
)
