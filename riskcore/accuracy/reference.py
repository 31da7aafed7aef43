"""Reference values in mpmath, from the definitions, by methods the kernels do not use.

Doubles given as arguments are taken as exact. Results have at least ``PRECISION`` bits;
differences that cancel are computed with more.
"""

from __future__ import annotations

from typing import Any

import mpmath

PRECISION = 120


def gauss(f: Any, p: Any) -> Any:
    """Return 2F1(1, 1; f+1; 1-p), to the working precision."""
    return mpmath.hyp2f1(1, 1, mpmath.mpf(f) + 1, 1 - mpmath.mpf(p))


def individual_risk(f: Any, p: Any) -> Any:
    """Return r(f, p) = (p/f) 2F1(1, 1; f+1; 1-p), Polettini (2003) eq. 6 and 8."""
    # Bits hold 1 - p and f - 1 exactly, with room for the result.
    spread = sum(abs(int(mpmath.mag(x))) for x in (f, p) if x and mpmath.isfinite(x))
    with mpmath.workprec(PRECISION + 2 * spread + 80):
        if p == 1:
            return 1 / mpmath.mpf(f)
        return mpmath.mpf(p) / f * gauss(f, p)


def individual_risk_by_sums(f: Any, p: Any) -> Any:
    """Return r(f, p), mostly within a millisecond, while mpmath's 2F1 takes 20.

    For large f this is Gauss's series, for integer f and small p the closed form of
    int_0^1 t^(f-1)/(1 + y t) dt, y = q/p, otherwise ``individual_risk``.
    """
    if f >= _SERIES_FROM:
        return _series(f, p)
    if p < _CLOSED_BELOW and f == int(f):
        return _closed(int(f), p)
    return individual_risk(f, p)


# Below f = 64 the series may need more than 110 terms; above p = 1/4 mpmath's own 2F1
# needs fewer than 500, in compiled form.
_SERIES_FROM = 64
_CLOSED_BELOW = 0.25
_GUARD = 40  # bits for the roundings of some 100 terms, and f/q that cancel


def _series(f: Any, p: Any) -> Any:
    """Return (p/f) sum_n n! q^n/(f+1)_n; the remainder is below t_n (f+n)/(f-1)."""
    with mpmath.workprec(PRECISION + _GUARD):
        f, q = mpmath.mpf(f), 1 - mpmath.mpf(p)
        total = term = mpmath.mpf(1)
        n = 1
        while term * (f + n) > mpmath.ldexp(f - 1, -PRECISION):
            term *= n * q / (f + n)
            total += term
            n += 1
        return p / f * total


def _closed(f: int, p: Any) -> Any:
    """Return (-1)^(f-1) y^-f (log(1+y) - sum_{0<k<f} (-1)^(k-1) y^k/k), y = q/p.

    For y > 3 the last power of the sum is the largest, at most f y^f r/((f-1) q).
    """
    with mpmath.workprec(PRECISION + _GUARD):
        p = mpmath.mpf(p)
        y = (1 - p) / p
        total, power = -mpmath.log(p), mpmath.mpf(-1)
        for k in range(1, f):
            power *= -y
            total -= power / k
        return total / (power * -y)
