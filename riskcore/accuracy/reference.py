"""Reference values in mpmath, from the definitions, by methods the kernels do not use.

Doubles given as arguments are taken as exact. Results have at least ``PRECISION`` bits;
differences that cancel are computed with more.
"""

from __future__ import annotations

from typing import Any

import mpmath

PRECISION = 120


def _working_precision(*numbers: Any) -> int:
    """Return bits that hold 1 - p and f - 1 exactly, with room for the result."""
    spread = sum(abs(int(mpmath.mag(x))) for x in numbers if x and mpmath.isfinite(x))
    return PRECISION + 2 * spread + 80


def gauss(f: Any, p: Any) -> Any:
    """Return 2F1(1, 1; f+1; 1-p), to the working precision."""
    return mpmath.hyp2f1(1, 1, mpmath.mpf(f) + 1, 1 - mpmath.mpf(p))


def individual_risk(f: Any, p: Any) -> Any:
    """Return r(f, p) = (p/f) 2F1(1, 1; f+1; 1-p), Polettini (2003) eq. 6 and 8."""
    with mpmath.workprec(_working_precision(f, p)):
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


def individual_risk_by_integral(f: Any, p: Any) -> Any:
    """Return r(f, p) = p^f int_0^1 t^(f-1) (1 - tq)^(-f) dt, Polettini eq. 5.

    Slow; a check of ``individual_risk`` for moderate f and p.
    """
    with mpmath.workprec(_working_precision(f, p)):
        f, p = mpmath.mpf(f), mpmath.mpf(p)
        q = 1 - p
        # t = s^(1/f) removes the pole of t^(f-1) at 0 for f < 1.
        return (
            p**f
            / f
            * mpmath.quad(lambda s: (1 - s ** (1 / f) * q) ** -f, [0, 0.5, 0.9, 1])
        )


def individual_risk_from_frequencies(f: Any, F: Any) -> Any:
    """Return r at the exact quotient p = f/F."""
    with mpmath.workprec(_working_precision(f, F) + _working_precision(f, F)):
        return individual_risk(mpmath.mpf(f), mpmath.mpf(f) / mpmath.mpf(F))


def log_individual_risk(f: Any, p: Any) -> Any:
    """Return log r(f, p)."""
    with mpmath.workprec(_working_precision(f, p)):
        return mpmath.log(individual_risk(f, p))


def individual_risk_gradient(f: Any, p: Any) -> Any:
    """Return dr/dp = (2F1(1, 1; f+1; 1-p) - 1)/(1-p); 1/(f+1) at p = 1."""
    with mpmath.workprec(_working_precision(f, p)):
        if p == 1:
            return 1 / (mpmath.mpf(f) + 1)
        return (gauss(f, p) - 1) / (1 - mpmath.mpf(p))


# --- a prior for each cell -----------------------------------------------------------


def individual_risk_with_prior(f: Any, shape: Any, p: Any) -> Any:
    """Return E[1/(f+X)], X negative binomial: (1/f) 2F1(1, s; f+1; -q/p)."""
    with mpmath.workprec(_working_precision(f, shape, p)):
        f, s, p = mpmath.mpf(f), mpmath.mpf(shape), mpmath.mpf(p)
        if p >= 0.5:
            return p / f * mpmath.hyp2f1(1, f + 1 - s, f + 1, 1 - p)
        return mpmath.hyp2f1(1, s, f + 1, (p - 1) / p) / f


def individual_risk_poisson(f: Any, mu: Any) -> Any:
    """Return E[1/(f+X)], X Poisson: (1/f) 1F1(1; f+1; -mu)."""
    with mpmath.workprec(_working_precision(f, mu)):
        return mpmath.hyp1f1(1, mpmath.mpf(f) + 1, -mpmath.mpf(mu)) / f


def log_individual_risk_with_prior(f: Any, shape: Any, p: Any) -> Any:
    """Return log E[1/(f+X)], X negative binomial."""
    with mpmath.workprec(_working_precision(f, shape, p)):
        return mpmath.log(individual_risk_with_prior(f, shape, p))


def log_individual_risk_poisson(f: Any, mu: Any) -> Any:
    """Return log E[1/(f+X)], X Poisson."""
    with mpmath.workprec(_working_precision(f, mu)):
        return mpmath.log(individual_risk_poisson(f, mu))


def individual_risk_by_probabilities(f: Any, shape: Any, p: Any, last: int) -> Any:
    """Return the sum of P(X = j)/(f + j) to j = last, X negative binomial.

    It is below E[1/(f+X)] by at most P(X > last)/(f + last + 1).
    """
    with mpmath.workprec(_working_precision(f, shape, p)):
        f, s, p = mpmath.mpf(f), mpmath.mpf(shape), mpmath.mpf(p)
        term = p**s
        total = term / f
        for j in range(last):
            term *= (s + j) * (1 - p) / (j + 1)
            total += term / (f + j + 1)
        return total


# --- differences of log Gamma and psi ------------------------------------------------


def _differences(*numbers: Any) -> int:
    """Return bits for third differences of log Gamma and the zeros at m = 1."""
    return 3 * _working_precision(*numbers, *(x - 1 for x in numbers))


def log_gamma_ratio(x: Any, s: Any, t: Any) -> Any:
    """Return log(Gamma(x+s) Gamma(x+t)/(Gamma(x) Gamma(x+s+t)))."""
    with mpmath.workprec(_differences(x, s, t)):
        x, s, t = mpmath.mpf(x), mpmath.mpf(s), mpmath.mpf(t)
        return log_rising_factorial(x, s) - log_rising_factorial(x + t, s)


def gamma_ratio(x: Any, s: Any, t: Any) -> Any:
    """Return Gamma(x+s) Gamma(x+t)/(Gamma(x) Gamma(x+s+t))."""
    with mpmath.workprec(_differences(x, s, t)):
        return mpmath.exp(log_gamma_ratio(x, s, t))


def log_gamma_ratio_curvature(x: Any, s: Any, t: Any) -> Any:
    """Return g(x) - 2 g(x+s) + g(x+2s) for g(x) = log(Gamma(x+t)/Gamma(x))."""
    with mpmath.workprec(_differences(x, s, t)):
        x, s = mpmath.mpf(x), mpmath.mpf(s)
        low, middle, high = (log_rising_factorial(x + k * s, t) for k in range(3))
        return low - 2 * middle + high


def log_rising_factorial(x: Any, m: Any) -> Any:
    """Return log (x)_m = log(Gamma(x+m)/Gamma(x))."""
    with mpmath.workprec(max(mpmath.mp.prec, _differences(x, m))):
        x, m = mpmath.mpf(x), mpmath.mpf(m)
        return mpmath.loggamma(x + m) - mpmath.loggamma(x)


def log_rising_excess(x: Any, m: Any) -> Any:
    """Return log((x)_m/x^m)."""
    with mpmath.workprec(_differences(x, m)):
        return log_rising_factorial(x, m) - m * mpmath.log(x)


def _psi_difference(order: int, x: Any, m: Any) -> Any:
    """Return psi^(order)(x+m) - psi^(order)(x)."""
    x, m = mpmath.mpf(x), mpmath.mpf(m)
    return mpmath.psi(order, x + m) - mpmath.psi(order, x)


def digamma_difference(x: Any, m: Any) -> Any:
    """Return psi(x+m) - psi(x)."""
    with mpmath.workprec(_differences(x, m)):
        return _psi_difference(0, x, m)


def digamma_deficit(x: Any, m: Any) -> Any:
    """Return m/x - (psi(x+m) - psi(x))."""
    with mpmath.workprec(_differences(x, m)):
        return mpmath.mpf(m) / x - _psi_difference(0, x, m)


def trigamma_difference(x: Any, m: Any) -> Any:
    """Return psi'(x) - psi'(x+m)."""
    with mpmath.workprec(_differences(x, m)):
        return -_psi_difference(1, x, m)


def trigamma_deficit(x: Any, m: Any) -> Any:
    """Return m/x^2 - (psi'(x) - psi'(x+m))."""
    with mpmath.workprec(_differences(x, m)):
        return mpmath.mpf(m) / mpmath.mpf(x) ** 2 + _psi_difference(1, x, m)


def log1p(x: Any) -> Any:
    """Return log(1 + x)."""
    with mpmath.workprec(_working_precision(x, 1 + mpmath.mpf(x))):
        return mpmath.log(1 + mpmath.mpf(x))


def log1pmx(x: Any) -> Any:
    """Return log(1 + x) - x."""
    with mpmath.workprec(_working_precision(x, 1 + mpmath.mpf(x))):
        return mpmath.log(1 + mpmath.mpf(x)) - x


def expm1(x: Any) -> Any:
    """Return exp(x) - 1."""
    with mpmath.workprec(_working_precision(x)):
        return mpmath.exp(mpmath.mpf(x)) - 1
