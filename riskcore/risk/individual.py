"""The individual risk of re-identification, its logarithm and its gradient.

r(f, p) = E[1/F | f] = (p^f/f) 2F1(f, f; f+1; q) for a cell with f records in the
sample and an estimated sampling fraction p, q = 1-p (Benedetti and Franconi 1998;
Polettini 2003, eq. 6). With the resolvent (D, C) of the Gauss function

    r = p/D,    dr/dp = C/D,    (p/r) dr/dp = C,    log r = log p - log D.

Each quantity has one kernel of (p, D, D_low, E), and for real f below 16 one of
numerators and denominator (``special/gauss/real.py``); a scalar kernel, which compiled
user code calls, and a loop over blocks, which NumPy calls, both end in it and give the
same bits. The four ufuncs are made when first asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from riskcore.compiled.contract import Contract
from riskcore.compiled.jit import kernel
from riskcore.compiled.ufunc_maker import UfuncSource, address, clear_flags, on_demand
from riskcore.special.double_double import dd_add
from riskcore.special.elementary import atanh_series, log_high_low, log_parts
from riskcore.special.floats import (
    BLOCK,
    fast_two_sum,
    fma,
    offset,
    stack,
    two_sum,
)
from riskcore.special.gauss import risk_blocks
from riskcore.special.gauss.blocks import Again, Block, Value, by_region
from riskcore.special.gauss.enclosure import risk_midpoint
from riskcore.special.gauss.nearest import (
    nearest_block,
    nearest_block_of,
    nearest_slow,
    nearest_slow_of,
)
from riskcore.special.gauss.real import backward_real, forward_real
from riskcore.special.gauss.regions import (
    P_NEAR_ONE,
    division,
    quotient,
    quotient_pair,
    resolvent_29,
    resolvent_forward_15,
    resolvent_of_e,
    resolvent_one,
    resolvent_small,
)
from riskcore.special.gauss.remaining import gauss_excess
from riskcore.special.gauss.rounding import rounded

if TYPE_CHECKING:
    import numpy as np

    individual_risk: np.ufunc
    individual_risk_from_frequencies: np.ufunc
    log_individual_risk: np.ufunc
    individual_risk_gradient: np.ufunc

_NEAR_ZERO = 0.25  # below this |log r| an error of r counts four times and more
_S_LARGEST = 0.17  # 2 atanh s has digits to spare up to here
_CLOSE = 2.0**-12  # f/(f+1) for C is off by less where q or 1/f is below it
_P_GRADIENT = 0.35  # from it on 29 levels of the fraction are enough for f = 2

Evaluation = tuple[Callable[..., None], Callable[[float, float], float]]
# (p, excess, D, D_low, E) -> value
Finish = Callable[[float, float, float, float, float], float]
# (p, excess, N, N_low, M, M_low, H, H_low) -> value, with r = N/M, dr/dp = H/M
FinishReal = Callable[[float, float, float, float, float, float, float, float], float]


@kernel
def _column(
    array: Any, first: int, step: int, room: Any, n: int, as_it_is: bool
) -> Any:
    """Return n doubles in a row: where they are, or copied to the stack."""
    if not as_it_is:
        for i in range(n):
            room[i] = array[(first + i) * (step >> 3)]
    return offset(array, first) if as_it_is else room


@kernel
def _store(room: Any, array: Any, first: int, step: int, n: int) -> None:
    """Copy n doubles from the stack to an array with gaps."""
    for i in range(n):
        array[(first + i) * (step >> 3)] = room[i]


@kernel
def _apart(args: Any) -> bool:
    """Return whether the result is none of the two arguments.

    NumPy lets it be one of them; a block must not, and then gets copies.
    """
    out = address(args[2])
    return (out != address(args[0])) & (out != address(args[1]))


@kernel
def _ahead(args: Any, steps: Any) -> int:
    """Return how many cells may be read before the first result is written.

    One, if a result is the next argument, as in ``reduce`` and ``accumulate``.
    """
    shift = address(args[2]) - address(args[0])
    return 1 if (steps[2] == 0) | (shift == steps[2]) else BLOCK


def _loop(block: Block) -> Callable[..., None]:
    """Make NumPy's loop of the block kernel of a quantity of (f, p)."""

    def loop(args: Any, sizes: Any, steps: Any, _: Any) -> None:
        f_room, p_room, out_room = stack(), stack(), stack()
        f_is = _apart(args) & (steps[0] == 8)
        p_is = _apart(args) & (steps[1] == 8)
        out_is = steps[2] == 8
        first, ahead = 0, _ahead(args, steps)
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


@kernel
def _never(f: float, value: float) -> bool:
    return False


def _of_resolvent(
    finish: Finish,
    finish_real: FinishReal,
    other: Value,
    again: Again = _never,
    **methods: Any,
) -> tuple[Value, Block]:
    """Make the kernels of one cell and of a block of a quantity of the resolvent.

    ``finish_real`` is for real f below 16, ``other`` for the cells without a resolvent
    as a double-double and where ``again`` says that a value of ``finish_real`` is not
    good enough; ``methods`` replaces the kernels of some regions.
    """

    def of(resolvent: Callable[..., Any]) -> Any:
        @kernel
        def value(f: float, p: float, excess: float) -> float:
            D, D_low, E = resolvent(f, p)
            return finish(p, excess, D, D_low, E)

        return value

    def of_real(parts: Callable[..., Any]) -> Any:
        @kernel
        def value(f: float, p: float, excess: float) -> float:
            N, N_low, M, M_low, H, H_low = parts(f, p)
            return finish_real(p, excess, N, N_low, M, M_low, H, H_low)

        return value

    @kernel
    def one(f: float, p: float, excess: float, high: float, low: float) -> float:
        D, D_low, E = resolvent_one(p, high, low)
        return finish(p, excess, D, D_low, E)

    @kernel
    def small(f: float, p: float, excess: float, high: float, low: float) -> float:
        D, D_low, E = resolvent_small(f, p, high, low)
        return finish(p, excess, D, D_low, E)

    @kernel
    def levels_15(f: float, p: float, excess: float, E: float) -> float:
        D, D_low, _ = resolvent_of_e(f, p, E)
        return finish(p, excess, D, D_low, E)

    general: dict[str, Any] = {
        "one": one,
        "small": small,
        "forward_15": of(resolvent_forward_15),
        "levels_29": of(resolvent_29),
        "levels_15": levels_15,
        "forward_real": of_real(forward_real),
        "backward_real": of_real(backward_real),
    }
    return by_region(**{**general, **methods}, other=other, again=again)


def _of_fraction(value: Value, block: Block) -> Evaluation:
    """Make NumPy's loop of a quantity of (f, p), and the kernel of one cell."""

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
_complete = risk_blocks.completion(nearest_block)


@kernel
def _nearest(f: float, p: float, excess: float) -> float:
    r = _value(f, p, excess)
    return r if r == r else nearest_slow(f, p)


@kernel
def _nearest_block(f: Any, p: Any, excess: Any, out: Any, n: int) -> None:
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
_complete_moved = risk_blocks.completion(nearest_block_of)


@kernel
def _from_frequencies_scalar(f: float, F: float) -> float:
    p, excess = _fraction(f, F)
    r = _moved_value(f, p, excess)
    return r if r == r else nearest_slow_of(f, F)


def _from_frequencies_loop(args: Any, sizes: Any, steps: Any, _: Any) -> None:
    f_room, F_room, out_room = stack(), stack(), stack()
    p, excess = stack(), stack()
    f_is = _apart(args) & (steps[0] == 8)
    F_is = _apart(args) & (steps[1] == 8)
    out_is = steps[2] == 8
    first, ahead = 0, _ahead(args, steps)
    while first < sizes[0]:
        n = min(ahead, sizes[0] - first)
        f = _column(args[0], first, steps[0], f_room, n, f_is)
        F = _column(args[1], first, steps[1], F_room, n, F_is)
        out = offset(args[2], first) if out_is else out_room
        for i in range(n):
            p[i], excess[i] = _fraction(f[i], F[i])
        _moved_block(f, p, excess, out, n)
        _complete_moved(f, F, out, n)
        if not out_is:
            _store(out_room, args[2], first, steps[2], n)
        first += n
    clear_flags()


# --- the gradient and the logarithm ------------------------------------------------


@kernel
def _gradient(p: float, excess: float, D: float, D_low: float, E: float) -> float:
    C = 1.0 - E
    return quotient(C, (1.0 - C) - E, D, D_low)


@kernel
def _gradient_real(
    p: float, excess: float,
    N: float, N_low: float, M: float, M_low: float, H: float, H_low: float,
) -> float:  # fmt: skip
    return quotient(H, H_low, M, M_low)


@kernel
def _gradient_small(
    f: float, p: float, excess: float, high: float, low: float
) -> float:
    # C itself is wanted here, to which E(2) to E(4) by contiguity are not good enough.
    D, D_low, E = resolvent_small(f, p, high, low)
    D_29, D_29_low, E_29 = resolvent_29(f, p)
    far = (p >= _P_GRADIENT) & (f > 1.0)
    return _gradient(
        p,
        excess,
        D_29 if far else D,
        D_29_low if far else D_low,
        E_29 if far else E,
    )


@kernel
def _gradient_other(f: float, p: float, excess: float) -> float:
    return gauss_excess(f, p)


@kernel
def _log_risk(p: float, excess: float, D: float, D_low: float, E: float) -> float:
    p_high, p_low = log_parts(p)
    D_high, D_rest = log_parts(D)
    high, low = two_sum(p_high, -D_high)
    return high + (low + ((p_low - D_rest) - D_low / D))


@kernel
def _log_risk_real(
    p: float, excess: float,
    N: float, N_low: float, M: float, M_low: float, H: float, H_low: float,
) -> float:  # fmt: skip
    N_high, N_rest = log_parts(N)
    M_high, M_rest = log_parts(M)
    high, low = two_sum(N_high, -M_high)
    far = high + (low + ((N_rest - M_rest) + (N_low / N - M_low / M)))
    # r near 1: log r = 2 atanh s with s = (N - M)/(N + M). Where f > 1, all that M has
    # more than N is positive, so that it keeps its digits.
    above, above_low = dd_add(N, N_low, -M, -M_low)
    below, below_low = dd_add(N, N_low, M, M_low)
    s, s_low = quotient_pair(above, above_low, below, below_low)
    w = s * s
    near = 2.0 * s + fma(s * w, atanh_series(w), 2.0 * s_low)
    return near if abs(s) < _S_LARGEST else far


@kernel
def _is_near_zero(f: float, log_r: float) -> bool:
    # There N and M have a difference of both signs.
    return (f < 1.0) & (abs(log_r) < _NEAR_ZERO)


# log(atanh(z)/z)/z^2 at seven Chebyshev points of z^2 <= 1/49, by mpmath; what it
# leaves of log r below is less than 2^-57.
_NEAR_ONE = tuple(
    map(
        float.fromhex,
        (
            "0x1.1752ffc18d06ep-5", "0x1.3b38059e4dd24p-5",
            "0x1.8896b221a1f74p-5", "0x1.008612343f856p-4",
            "0x1.6aa4e3331c4d9p-4", "0x1.27d27d27d2447p-3",
            "0x1.5555555555555p-2",
        ),
    )
)  # fmt: skip


@kernel
def _log_risk_of_one(p: float) -> float:
    """Return log r(1, p) for p >= 3/4, to the last digits as r comes near 1.

    r = p L/q = (1 - z) atanh(z)/z with z = q/(1 + p) <= 1/7.
    """
    sum_, sum_low = fast_two_sum(1.0, p)
    z, z_rest, reciprocal = division(1.0 - p, 0.0, sum_, sum_low)
    z_low = z_rest * reciprocal
    rest, rest_low = fast_two_sum(1.0, -z)
    high, low = log_high_low(rest, 0.0)
    w = z * z
    series = 0.0
    for coefficient in _NEAR_ONE:
        series = fma(series, w, coefficient)
    return high + (low + fma(series, w, (rest_low - z_low) / rest))


@kernel
def _log_risk_15(f: float, p: float, excess: float, E: float) -> float:
    D, D_low, _ = resolvent_of_e(f, p, E)
    # Only for f = 1 does p near 1 bring r near 1.
    near = _log_risk_of_one(max(p, P_NEAR_ONE))
    return near if f == 1.0 else _log_risk(p, excess, D, D_low, E)


@kernel
def _log_risk_other(f: float, p: float, excess: float) -> float:
    r, r_low, n = risk_midpoint(f, p)
    high, low = log_high_low(r, 600.0 * n)
    return high + (low + r_low / r)


UFUNCS = {
    "individual_risk": UfuncSource(
        *_of_fraction(_nearest, _nearest_block),
        """
Individual risk r(f, p) = E[1/F | f]: the chance to re-identify a record.

r = (p^f/f) 2F1(f, f; f+1; 1-p), the mean of 1/F when F, the population frequency of
the record's cell, is negative binomial given the sample frequency f.

Parameters
----------
f : array_like
    Sample frequency of the cell, real, f > 0. From 1e-290 to the largest double.
p : array_like
    Sampling fraction of the cell, 0 < p <= 1, for example f over the sum of the
    weights. Subnormal numbers are right.
out, where, casting, order, dtype, subok
    As for any NumPy ufunc; the arguments broadcast.

Returns
-------
r : ndarray or scalar
    Individual risk, p/f <= r <= 1/f; nan outside the domain. Correctly rounded: the
    double nearest to the exact value at the given f and p, also where that is
    subnormal; so the error is at most 0.5 ulp. It rests on the bounds of fast paths
    that searches have found at least four times too wide; what is proven of them, and
    of the slower steps, is in ``notes/correct_rounding.md``.

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
    ),
    "log_individual_risk": UfuncSource(
        *_of_fraction(
            *_of_resolvent(
                _log_risk,
                _log_risk_real,
                _log_risk_other,
                again=_is_near_zero,
                levels_15=_log_risk_15,
            )
        ),
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
    log r; nan outside the domain. Error below 2 ulp; the largest found is 0.80 ulp
    (``bench/accuracy.md``). For f < 1 the value passes through 0 inside the domain;
    within 2^-50 of it the absolute error is below 2^-101.

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
    ),
    "individual_risk_gradient": UfuncSource(
        *_of_fraction(
            *_of_resolvent(
                _gradient, _gradient_real, _gradient_other, small=_gradient_small
            )
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
    dr/dp > 0; 1/(f+1) at p = 1; nan outside the domain. Error below 2 ulp; the
    largest found is 1.76 ulp (``bench/accuracy.md``).

See Also
--------
riskcore.individual_risk : r itself, with the definition and sources.

Examples
--------
>>> import riskcore
>>> float(riskcore.individual_risk_gradient(2, 0.01))
0.93558...
""",
    ),
    "individual_risk_from_frequencies": UfuncSource(
        _from_frequencies_loop,
        _from_frequencies_scalar,
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
    Individual risk, 1/F <= r <= 1/f; nan outside the domain. Correctly rounded: the
    double nearest the exact value at the exact quotient f/F. The fast paths' bounds are
    those of ``individual_risk``; what they leave open is decided with proof
    (``notes/rounding_proof.md``).

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
    ),
}


__getattr__ = on_demand(__name__, UFUNCS)


# From bench/accuracy.md; a test evaluates the witnesses again.
CONTRACTS = (
    Contract(
        "individual_risk",
        ulps=0.5,
        worst=0.50,
        witness=(
            "0x1.0000000000000p+0",
            "0x1.fffffffffffffp-1",
        ),
        region="the whole domain",
    ),
    Contract(
        "log_individual_risk",
        ulps=2,
        worst=0.80,
        witness=(
            "0x1.0000000000000p+2",
            "0x1.ff85750192073p-2",
        ),
    ),
    Contract(
        "individual_risk_gradient",
        ulps=2,
        worst=1.76,
        witness=(
            "0x1.01f4182911533p+1",
            "0x1.01c5d77811679p-1",
        ),
    ),
    Contract(
        "individual_risk_from_frequencies",
        ulps=0.5,
        worst=0.50,
        witness=(
            "0x1.8000000000000p+1",
            "0x1.816985bfbffb4p+2",
        ),
        region="the whole domain",
    ),
)
