"""The individual risk of re-identification, its logarithm and its gradient.

r(f, p) = E[1/F | f] = (p^f/f) 2F1(f, f; f+1; q) for a cell with f records in the sample
and an estimated sampling fraction p, q = 1-p (Benedetti and Franconi 1998; Polettini
2003, eq. 6). With the resolvent (D, C) of the Gauss function

    r = p/D,    dr/dp = C/D = (f r - p)/(p q),    (p/r) dr/dp = C.

Each quantity has a fast kernel of (f, p) and a pair with its error (``special/gauss``),
which returns nan where that does not decide, and a slow kernel for these cells. A
scalar kernel, which compiled user code calls, and a loop over blocks, which NumPy
calls, use both and give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from riskcore.core.compiled.jit import kernel
from riskcore.core.compiled.ufunc_maker import (
    Contract,
    UfuncSource,
    address,
    clear_flags,
    on_demand,
)
from riskcore.core.risk.single import (
    NEAREST,
    OF_FRACTION,
    OF_FREQUENCIES,
    rounded_to_single,
)
from riskcore.core.special.double_double import quotient, quotient_pair
from riskcore.core.special.elementary import log_high_low, log_pair
from riskcore.core.special.floats import (
    BLOCK,
    fast_two_sum,
    fma,
    offset,
    stack,
    two_sum,
)
from riskcore.core.special.gauss import risk_blocks
from riskcore.core.special.gauss.ball_step import (
    nearest_slow,
    nearest_slow_of,
)
from riskcore.core.special.gauss.blocks import Block, Value
from riskcore.core.special.gauss.enclosure import risk_midpoint
from riskcore.core.special.gauss.extremes import gauss_excess
from riskcore.core.special.gauss.fast_integer import F_HUGE, RARE, e_16, e_32
from riskcore.core.special.gauss.fixed_point_step import log_near_one
from riskcore.core.special.gauss.rounding_test import rounded
from riskcore.core.special.loops import cells_ahead

if TYPE_CHECKING:
    import numpy as np

    individual_risk: np.ufunc
    individual_risk_from_frequencies: np.ufunc
    log_individual_risk: np.ufunc
    individual_risk_gradient: np.ufunc

_NEAR_ONE = 2.0**-6  # where r is nearer to 1, log r needs more than its pair
_P_TO_ONE = 1.0 - 2.0**-20  # the same for f = 1
_AT_ONE = 2.0**-35  # where r is nearer to 1, log r needs more than its ball
_Q_SMALL = 2.0**-22  # below it two terms in q give the gradient
_CLOSE = 2.0**-12  # f/(f+1) for C is off by less where q or 1/f is below it

Evaluation = tuple[Callable[..., None], Callable[[float, float], float]]


@kernel
def _column(
    array: Any, first: int, step: int, room: Any, n: int, in_place: bool
) -> Any:
    """Return n contiguous doubles: in place, or copied to the stack."""
    if not in_place:
        for i in range(n):
            room[i] = array[(first + i) * (step >> 3)]
    return offset(array, first) if in_place else room


@kernel
def _store(room: Any, array: Any, first: int, step: int, n: int) -> None:
    """Copy n doubles from the stack to a strided array."""
    for i in range(n):
        array[(first + i) * (step >> 3)] = room[i]


@kernel
def _in_place(args: Any, steps: Any, k: int) -> bool:
    """Return whether a block may read argument ``k`` in place.

    It reads its arguments again after it has written results. NumPy lets results
    replace arguments that were read before, so the two may share memory.
    """
    gap = address(args[2]) - address(args[k])
    return bool((steps[k] == 8) & ((steps[2] != 8) | (abs(gap) >= 8 * BLOCK)))


def _loop(block: Block) -> Callable[..., None]:
    """Make NumPy's loop from the block kernel of a quantity of (f, p)."""

    def loop(args: Any, sizes: Any, steps: Any, _: Any) -> None:
        f_room, p_room, out_room = stack(), stack(), stack()
        f_is = _in_place(args, steps, 0)
        p_is = _in_place(args, steps, 1)
        out_is = steps[2] == 8
        first, ahead = 0, cells_ahead(args[0], steps[2], args[2])
        while first < sizes[0]:
            n = min(ahead, sizes[0] - first)
            f = _column(args[0], first, steps[0], f_room, n, f_is)
            p = _column(args[1], first, steps[1], p_room, n, p_is)
            out = offset(args[2], first) if out_is else out_room
            block(f, p, f, out, n)
            if not out_is:
                _store(out_room, args[2], first, steps[2], n)
            first += n
        clear_flags()

    return loop


def _of_fraction(value: Value, block: Block) -> Evaluation:
    """Make NumPy's loop of a quantity of (f, p), and its scalar kernel."""

    @kernel
    def scalar(f: float, p: float) -> float:
        return value(f, p, 0.0)

    return _loop(block), scalar


# --- r -----------------------------------------------------------------------------


@kernel
def _risk(
    f: float, p: float, excess: float, high: float, low: float, error: float
) -> float:
    return rounded(high, low, error)


_value, _block = risk_blocks.by_region(_risk)
_complete = risk_blocks.completion(nearest_slow)


@kernel
def nearest_of_cell(f: float, p: float, excess: float) -> float:
    """Return the double nearest r(f, p (1 + excess)), or nan."""
    r = _value(f, p, excess)
    return r if r == r else nearest_slow(f, p)


@kernel
def nearest_of_block(f: Any, p: Any, excess: Any, out: Any, n: int) -> None:
    """Fill ``out`` with what ``nearest_of_cell`` returns for each of n cells."""
    _block(f, p, excess, out, n)
    _complete(f, p, out, n)


# --- r at p = f/F ------------------------------------------------------------------


@kernel
def _inside(f: float, F: float) -> bool:
    return (f > 0.0) & (f <= F) & (math.inf > F)


@kernel
def _fraction(f: float, F: float) -> tuple[float, float]:
    """Return p and excess with f/F = p (1 + excess); 0 for p outside the domain."""
    p = f / F if _inside(f, F) else 0.0
    return p, fma(-p, F, f) / f


@kernel
def _moved_risk(
    f: float, p: float, excess: float, high: float, low: float, error: float
) -> float:
    """Return the double nearest r(f, p (1 + d)) = r (1 + C d), up to d^2.

    C = (f - p/r)/q = 1 - E to 2^-12, as E lies between p/(f+p) and 1/(f+1).
    """
    q = 1.0 - p
    far = (q > _CLOSE) & (f < 1.0 / _CLOSE)
    C = (f - p / high if far else f) / (q if far else f + 1.0)
    low = fma(high, C * excess, low)
    return rounded(high, low, fma(_CLOSE * abs(excess), high, error))


_moved_value, _moved_block = risk_blocks.by_region(_moved_risk)
_complete_moved = risk_blocks.completion(nearest_slow_of)


@kernel
def from_frequencies_of_cell(f: float, F: float) -> float:
    """Return the double nearest r(f, f/F), or nan."""
    p, excess = _fraction(f, F)
    r = _moved_value(f, p, excess)
    return r if r == r else nearest_slow_of(f, F)


@kernel
def from_frequencies_of_block(f: Any, F: Any, _: Any, out: Any, n: int) -> None:
    """Fill ``out`` with what ``from_frequencies_of_cell`` returns for n cells."""
    p, excess = stack(), stack()
    for i in range(n):
        p[i], excess[i] = _fraction(f[i], F[i])
    _moved_block(f, p, excess, out, n)
    _complete_moved(f, F, out, n)


# --- the gradient and the logarithm ------------------------------------------------


@kernel
def _gradient_by_series(f: float, q: float) -> float:
    """Return 1/(f+1) (1 + 2q/(f+2) (1 + 3q/(f+3))), for q/(f+1) < 2^-22."""
    s = 2.0 * q / (f + 2.0) * (1.0 + 3.0 * q / (f + 3.0))
    a, a_low = fast_two_sum(1.0, s)
    return quotient(a, a_low, *two_sum(f, 1.0))


@kernel
def _gradient(
    f: float, p: float, excess: float, high: float, low: float, error: float
) -> float:
    """Return (f r - p)/(p q), or its limit for q -> 0, for f < 16.

    f r - p = p (G - 1), and G - 1 = q/(f+1) (1 + 2q/(f+2) (1 + 3q/(f+3) (...))): it
    cancels more the smaller q is, but there the pairs of r are more accurate.
    """
    q = 1.0 - p
    high, low = fast_two_sum(high, low)
    n = f * high
    n_low = fma(f, low, fma(f, high, -n))
    a, a_low = two_sum(n, -p)
    b = p * q
    b_low = fma(p, (1.0 - q) - p, fma(p, q, -b))
    far = quotient(a, a_low + n_low, b, b_low)
    return _gradient_by_series(f, q) if q < _Q_SMALL else far


def _gradient_by_e(e: Callable[[float, float], float]) -> risk_blocks.Finish:
    @kernel
    def gradient(
        f: float, p: float, excess: float, high: float, low: float, error: float
    ) -> float:
        """Return C/D, D = f - q C, C = 1 - E, for f >= 16, where E is small."""
        E = e(f, p)
        q, C = 1.0 - p, 1.0 - E
        D = fma(-q, C, f)
        return quotient(C, (1.0 - C) - E, D, fma(-q, C, f - D))

    return gradient


@kernel
def _gradient_slow(f: float, p: float) -> float:
    if F_HUGE < f < math.inf and RARE <= p <= 1.0:
        return _gradient_by_series(f, 1.0 - p)
    return gauss_excess(f, p)


@kernel
def _log_risk(
    f: float, p: float, excess: float, high: float, low: float, error: float
) -> float:
    high, low = fast_two_sum(high, low)
    # Left to slow steps: r so near 1 that the pair has too few digits, for f = 1 later.
    near = (p > _P_TO_ONE) & (p < 1.0) if f == 1.0 else abs(high - 1.0) < _NEAR_ONE
    log, log_low = log_pair(high)
    value = log + (log_low + low / high)
    return math.nan if near else value


@kernel
def _log_risk_slow(f: float, p: float) -> float:
    if f == 1.0 and _P_TO_ONE < p <= 1.0:
        # r = (1-z) atanh(z)/z, log r = -z - z^2/6 - z^3/3 - ..., z = q/(1 + p).
        z, z_low = quotient_pair(1.0 - p, 0.0, *fast_two_sum(1.0, p))
        return -z - fma(z * z, 1.0 / 6.0 + z / 3.0, z_low)
    r, r_low, n = risk_midpoint(f, p)
    if abs((r - 1.0) + r_low) < _AT_ONE:
        return log_near_one(f, p)
    high, low = log_high_low(r, 600.0 * n)
    return high + (low + r_low / r)


def _with_slow(
    fast: tuple[Value, Block], slow: Callable[[float, float], float]
) -> Evaluation:
    """Make the loop and the scalar kernel; ``slow`` computes the cells that are nan."""
    value, block = fast
    complete = risk_blocks.completion(slow)

    @kernel
    def scalar(f: float, p: float) -> float:
        found = value(f, p, 0.0)
        return found if found == found else slow(f, p)

    @kernel
    def whole(f: Any, p: Any, excess: Any, out: Any, n: int) -> None:
        block(f, p, excess, out, n)
        complete(f, p, out, n)

    return _loop(whole), scalar


UFUNCS = {
    "individual_risk": UfuncSource(
        *_of_fraction(nearest_of_cell, nearest_of_block),
        """
Individual risk r(f, p) = E[1/F | f]: the chance to re-identify a record.

r = (p^f/f) 2F1(f, f; f+1; 1-p), the mean of 1/F when F, the population frequency of
the record's cell, is negative binomial given the sample frequency f.

Parameters
----------
f : array_like
    Sample frequency of the cell, real, f > 0, up to the largest double.
p : array_like
    Sampling fraction of the cell, 0 < p <= 1, for example f over the sum of the
    weights. Subnormal numbers are right.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
r : ndarray or scalar
    Individual risk, p/f <= r <= 1/f: 1/f at p = 1; outside the domain, also at p = 0
    and f = inf, nan, always the same bits, without a warning. Correctly rounded: the
    double, of float32 arguments the float32, nearest to the exact value at the given f
    and p, also where that is subnormal, and inf where it is above the largest double,
    for f < 5.56e-309; the largest error found is 0.50 ulp. A result is right or nan:
    nan if 1,008 bits do not decide which of two doubles is nearer, which no input tried
    ever needed. A command proves the bounds of the fast paths and of the slower steps.
    ``notes/correct_rounding.md`` says how, what is proved by hand, and what rests on
    tests.

See Also
--------
riskcore.individual_risk_from_frequencies : the same at p = f/F, without rounding p.
riskcore.forms : the published formulas and their errors.

References
----------
Polettini (2003), eq. 6; CASC deliverable 1.2-D3 (2004), eq. 9.

Examples
--------
>>> import riskcore
>>> float(riskcore.individual_risk(1, 0.01))
0.04651687056...
>>> riskcore.individual_risk([1, 2, 3], 0.01).round(6)
array([0.046517, 0.009631, 0.004953])
""",
        single=rounded_to_single(OF_FRACTION),
    ),
    "log_individual_risk": UfuncSource(
        *_with_slow(risk_blocks.by_region(_log_risk), _log_risk_slow),
        """
Natural logarithm of the individual risk, log r(f, p).

It stays finite where r itself underflows, and keeps its digits where r is near 1.

Parameters
----------
f, p : array_like
    Sample frequency (real, > 0) and sampling fraction (0 < p <= 1) of the cell.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
log_r : ndarray or scalar
    log r, -log f at p = 1, finite in the whole domain; outside it, also at p = 0 and
    f = inf, nan as ``individual_risk``, without a warning. Error below 1 ulp, with
    proof (``notes/correct_rounding.md``, section 6); the largest found is 0.73 ulp
    (``bench/accuracy.md``), for f < 1 next to r = 1, where the value passes through 0.

See Also
--------
riskcore.individual_risk : r itself, with the definition and sources.

Examples
--------
>>> import riskcore
>>> float(riskcore.log_individual_risk(1, 1 - 2**-53))
-5.55111512312578...e-17
>>> float(riskcore.log_individual_risk(1e10, 5e-324))
-767.46...
""",
        single=rounded_to_single(NEAREST),
    ),
    "individual_risk_gradient": UfuncSource(
        *_with_slow(
            risk_blocks.by_region(
                _gradient, _gradient_by_e(e_16), _gradient_by_e(e_32)
            ),
            _gradient_slow,
        ),
        """
Derivative dr/dp of the individual risk with respect to the sampling fraction.

dr/dp = (2F1(1, 1; f+1; q) - 1)/q with q = 1-p: how far an error in the weights moves
the risk of a record.

Parameters
----------
f, p : array_like
    Sample frequency (real, > 0) and sampling fraction (0 < p <= 1) of the cell.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
gradient : ndarray or scalar
    dr/dp > 0, 1/(f+1) at p = 1, inf where it is above the largest double; outside the
    domain, also at p = 0 and f = inf, nan as ``individual_risk``, without a warning.
    Error below 1 ulp, with proof where dr/dp is a normal number
    (``notes/correct_rounding.md``, section 6); the largest found is 0.65 ulp
    (``bench/accuracy.md``).

See Also
--------
riskcore.individual_risk : r itself, with the definition and sources.

Examples
--------
>>> import riskcore
>>> float(riskcore.individual_risk_gradient(2, 0.01))
0.93558...
""",
        single=rounded_to_single(NEAREST),
    ),
    "individual_risk_from_frequencies": UfuncSource(
        _loop(from_frequencies_of_block),
        from_frequencies_of_cell,
        """
Individual risk of a cell from its sample and population frequencies.

r(f, p) at the exact quotient p = f/F: neither p nor 1-p is rounded first.

Parameters
----------
f : array_like
    Sample frequency of the cell, real, f > 0.
F : array_like
    Population frequency of the cell or its estimate, the sum of the weights; F >= f.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
r : ndarray or scalar
    Individual risk, 1/F <= r <= 1/f: 1/f at F = f. Outside the domain, also at f = 0
    and F = inf, nan, and where r is above the largest double, inf, as
    ``individual_risk``, without a warning. Correctly rounded: the double nearest the
    exact value at the exact quotient f/F, or nan, with the proof of
    ``individual_risk``. The largest error found is 0.50 ulp.

See Also
--------
riskcore.individual_risk : the definition and sources.

Examples
--------
>>> import riskcore
>>> float(riskcore.individual_risk_from_frequencies(3, 3))
0.3333333333333333
>>> riskcore.individual_risk_from_frequencies([1, 2], [118.3, 203.9]).round(8)
array([0.04069244, 0.00945211])
""",
        single=rounded_to_single(OF_FREQUENCIES),
    ),
}


__getattr__ = on_demand(__name__, UFUNCS)


# From bench/accuracy.md; a test evaluates the witnesses again.
CONTRACTS = (
    Contract("individual_risk", ulps=0.5, worst=0.50,
             witness=("0x1.0000000000000p+0", "0x1.fffffffffffffp-1"),
             region="the whole domain", shown="proved"),
    Contract("log_individual_risk", ulps=1, worst=0.73,
             witness=("0x1.73db070d65e1ep-2", "0x1.302977e0f1854p-5"), shown="proved"),
    Contract("individual_risk_gradient", ulps=1, worst=0.65,
             witness=("0x1.0f5b2da57f4ecp+4", "0x1.fbe2f1bd4168fp-1"), shown="proved"),
    Contract("individual_risk_from_frequencies", ulps=0.5, worst=0.50,
             witness=("0x1.fffffffffffffp-401", "0x1.1b6acecde4df3p-391"),
             region="the whole domain", shown="proved"),
)  # fmt: skip
