"""The individual risk of re-identification, its logarithm and its gradient.

r(f, p) = E[1/F | f] = (p^f/f) 2F1(f, f; f+1; q) for a cell with f records in the
sample and an estimated sampling fraction p, q = 1-p (Benedetti and Franconi 1998;
Polettini 2003, eq. 6). With the resolvent (D, C) of the Gauss function

    r = p/D,    dr/dp = C/D,    (p/r) dr/dp = C,    log r = log p - log D.

Each quantity has one kernel of (f, p, D, C); a scalar kernel, which compiled user code
calls, and a loop over blocks, which NumPy calls, both end in it and give the same bits.
The four ufuncs are made when first asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from riskcore._contract import Contract
from riskcore._jit import kernel
from riskcore._ufunc import UfuncSource, address, build, clear_flags
from riskcore.special.elementary import log1p, log_parts
from riskcore.special.floats import BLOCK, fma, stack, two_sum
from riskcore.special.hyp2f1 import (
    P_FORWARD,
    rare_limit,
    region,
    resolvent,
    resolvent_block,
    scale,
)

if TYPE_CHECKING:
    import numpy as np

    individual_risk: np.ufunc
    individual_risk_from_frequencies: np.ufunc
    log_individual_risk: np.ufunc
    individual_risk_gradient: np.ufunc

Evaluation = tuple[Callable[..., None], Callable[[float, float], float]]

_RARE = 2.0**-960  # below it f/F loses bits to gradual underflow
_LARGE = 2.0**60


@kernel
def _load(source: Any, first: int, step: int, target: Any, n: int) -> None:
    """Copy n strided doubles to the stack."""
    if step == 1:
        for i in range(n):
            target[i] = source[first + i]
    else:
        for i in range(n):
            target[i] = source[(first + i) * step]


@kernel
def _ahead(args: Any, steps: Any) -> int:
    """Return how many cells may be read before the first result is written.

    One, if a result is the next argument, as in ``reduce`` and ``accumulate``.
    """
    shift = address(args[2]) - address(args[0])
    return 1 if (steps[2] == 0) | (shift == steps[2]) else BLOCK


@kernel
def _risk(f: float, p: float, D: float, C: float) -> float:
    return (p * scale(f, p)) / D


@kernel
def _gradient(f: float, p: float, D: float, C: float) -> float:
    return (C * scale(f, p)) / D


@kernel
def _log_risk(f: float, p: float, D: float, C: float) -> float:
    # Near r = 1, that is f = 1 and p = 1: -log1p((D - p)/p), D - p = f - 1 + q E.
    inner = (p >= P_FORWARD) & (f >= 1.0) & (f < _LARGE)
    near = -log1p((f - 1.0 + (1.0 - p) * (1.0 - C)) / p)
    p_high, p_low = log_parts(p * scale(f, p))
    D_high, D_low = log_parts(D)
    high, low = two_sum(p_high, -D_high)
    value = near if inner else high + (low + (p_low - D_low))
    return D if math.isnan(D) else value


def _of_resolvent(finish: Callable[[float, float, float, float], float]) -> Evaluation:
    """Make the scalar kernel and the ufunc loop of a quantity of (f, p, D, C)."""

    @kernel
    def scalar(f: float, p: float) -> float:
        D, C = resolvent(f, p, region(f, p))
        return finish(f, p, D, C)

    def loop(args: Any, sizes: Any, steps: Any, _: Any) -> None:
        f, p, D, C = stack(), stack(), stack(), stack()
        out, step = args[2], steps[2] >> 3
        first, ahead = 0, _ahead(args, steps)
        while first < sizes[0]:
            n = min(ahead, sizes[0] - first)
            _load(args[0], first, steps[0] >> 3, f, n)
            _load(args[1], first, steps[1] >> 3, p, n)
            resolvent_block(f, p, D, C, n)
            for i in range(n):
                out[(first + i) * step] = finish(f[i], p[i], D[i], C[i])
            first += n
        clear_flags()

    return loop, scalar


@kernel
def _inside(f: float, F: float) -> bool:
    return (f > 0.0) & (f <= F) & (math.inf > F)


@kernel
def _risk_at_quotient(f: float, F: float, p: float, D: float, C: float) -> float:
    # f/F is p (1 + d): r moves by the factor 1 + C d, C being (p/r) dr/dp. What the
    # division p/D leaves is of the same size, so both are added at once.
    d = fma(-p, F, f) / f
    scaled = p * scale(f, p)
    r = scaled / D
    return r + (fma(-r, D, scaled) / D + r * (C * d))


@kernel
def _rare_risk(f: float, F: float) -> float:
    """Return r for f/F < 2^-960, where the quotient itself is too coarse."""
    F_high, F_low = log_parts(F)
    f_high, f_low = log_parts(f)
    high, low = two_sum(F_high, -f_high)
    limit = rare_limit(f, high, low + (F_low - f_low))
    return limit / f if f <= 0.5 else f * limit / F


@kernel
def _from_frequencies_scalar(f: float, F: float) -> float:
    if not _inside(f, F):
        return math.nan
    p = f / F
    if p < _RARE:
        return _rare_risk(f, F)
    D, C = resolvent(f, p, region(f, p))
    return _risk_at_quotient(f, F, p, D, C)


def _from_frequencies_loop(args: Any, sizes: Any, steps: Any, _: Any) -> None:
    f, F, p, D, C = stack(), stack(), stack(), stack(), stack()
    out, step = args[2], steps[2] >> 3
    first, ahead = 0, _ahead(args, steps)
    while first < sizes[0]:
        n = min(ahead, sizes[0] - first)
        _load(args[0], first, steps[0] >> 3, f, n)
        _load(args[1], first, steps[1] >> 3, F, n)
        rare = 0
        for i in range(n):
            p[i] = f[i] / F[i] if _inside(f[i], F[i]) else 0.0
            rare += p[i] < _RARE
        resolvent_block(f, p, D, C, n)
        for i in range(n):
            out[(first + i) * step] = _risk_at_quotient(f[i], F[i], p[i], D[i], C[i])
        if rare > 0:
            for i in range(n):
                if p[i] < _RARE:
                    out[(first + i) * step] = _from_frequencies_scalar(f[i], F[i])
        first += n
    clear_flags()


_SOURCES = {
    "individual_risk": UfuncSource(
        *_of_resolvent(_risk),
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
    Individual risk, p/f <= r <= 1/f; nan outside the domain. Error below 4 ulp (the
    largest seen is in ``bench/README.md``).

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
0.04651686056...
>>> riskcore.individual_risk([1, 2, 3], 0.01).round(6)
array([0.046517, 0.009631, 0.00495 ])
""",
    ),
    "log_individual_risk": UfuncSource(
        *_of_resolvent(_log_risk),
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
    log r; nan outside the domain. Error below 4 ulp for f >= 1. For f < 1 the value
    passes through 0 inside the domain; there the absolute error is below 2^-51.

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
        *_of_resolvent(_gradient),
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
    dr/dp > 0; 1/(f+1) at p = 1; nan outside the domain. Error below 4 ulp.

See Also
--------
riskcore.individual_risk : r itself, with the definition and sources.

Examples
--------
>>> import riskcore
>>> float(riskcore.individual_risk_gradient(2, 1.0))
0.3333333333333333
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
    Individual risk, 1/F <= r <= 1/f; nan outside the domain. Error below 4 ulp.

See Also
--------
riskcore.individual_risk : the definition and sources.

Examples
--------
>>> import riskcore
>>> float(riskcore.individual_risk_from_frequencies(3, 3))
0.3333333333333333
>>> riskcore.individual_risk_from_frequencies([1, 2], [118.3, 203.9]).round(8)
array([0.0406911 , 0.00945222])
""",
    ),
}


def __getattr__(name: str) -> np.ufunc:
    if name not in _SOURCES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = build(name, _SOURCES[name])
    globals()[name] = made
    return made


# From bench/accuracy.md; a test evaluates the witnesses again.
CONTRACTS = (
    Contract(
        "individual_risk",
        ulps=4,
        worst=2.37,
        witness=("0x1.80c88838ecfd0p+0", "0x1.c2dc5f69212e3p-6"),
    ),
    Contract(
        "log_individual_risk",
        ulps=4,
        worst=3.77,
        witness=("0x1.0p+0", "0x1.fffffffc268e8p-1"),
    ),
    Contract(
        "individual_risk_gradient",
        ulps=4,
        worst=3.70,
        witness=("0x1.80c88838ecfd0p+0", "0x1.c2dc5f69212e3p-6"),
    ),
    Contract(
        "individual_risk_from_frequencies",
        ulps=4,
        worst=2.45,
        witness=("0x1.8356cf15c68ddp+0", "0x1.b260cf085e8dep+5"),
    ),
)
