"""Every published form of the individual risk, each under its own name.

They serve comparisons, and each says where it fails; use ``individual_risk`` for real
work. All take f and p as ``individual_risk`` does and are NumPy ufuncs, except for
``adaptive`` and ``published_order``, which are functions of arrays. Outside the domain
of a form, and where its sum would need more than ``MAX_TERMS`` terms, the value is nan.
Equation numbers are from Polettini (2003) and the CASC guidelines (2004).

=======================  =========================  ====================================
form                     source                     where it fails in double precision
=======================  =========================  ====================================
``closed_form``          Polettini 2003, section 2  f > 3; all digits as p -> 1
``binomial_sum``         CASC 2004, (7)             as p -> 1 and for large f; overflows
``log_form``             Polettini 2003, section 2  p > 1/2 (error grows by q/p a step)
``gauss_series``         Polettini (8), CASC (12)   slow for small f as p -> 0
``continued_fraction``   Gauss, DLMF 15.7.5         slow for small f as p -> 0
``truncated``            Polettini (9), CASC (13)   low by up to 1/C(f+J, J+1)
``adaptive``             Polettini 2003, section 3  nowhere (rule "sufficient")
``series7``              CASC (14), mu-Argus        f >= 4: low by up to 0.61 %
``franconi``             sdcMicro                   f >= 3: high by up to 4.0 %
=======================  =========================  ====================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from riskcore.common import arguments
from riskcore.core.compiled.jit import kernel
from riskcore.core.compiled.ufunc_maker import on_demand
from riskcore.core.special.elementary import log
from riskcore.core.special.gauss.extremes import gauss

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    closed_form: np.ufunc
    binomial_sum: np.ufunc
    log_form: np.ufunc
    gauss_series: np.ufunc
    continued_fraction: np.ufunc
    truncated: np.ufunc
    series7: np.ufunc
    franconi: np.ufunc
    sufficient_order: np.ufunc

MAX_TERMS = 10_000_000
RULES = ("sufficient", "published")
_CONVERGED = 2.0**-54


@kernel
def _outside(f: float, p: float) -> bool:
    return not (f > 0.0 and f < math.inf and p > 0.0 and p <= 1.0)


@kernel
def _not_countable(f: float) -> bool:
    return f > MAX_TERMS or f != math.floor(f)


_ARGUMENTS = """\
Parameters
----------
x1 : array_like
    f, the number of records, positive.
x2 : array_like
    p, the sampling fraction, above 0 and at most 1.

Returns
-------
float64 or ndarray of float64
    nan outside the domain.

"""


def _form(function: Callable[..., float]) -> Callable[..., float]:
    """Mark the kernel of a form of f and p, and describe them in its docstring."""
    before, examples, after = cleandoc(function.__doc__ or "").partition("Examples\n")
    function.__doc__ = f"{before}{_ARGUMENTS}{examples}{after}"
    return kernel(function)


@_form
def _closed_form(f: float, p: float) -> float:
    """
    Evaluate the closed forms for f = 1, 2, 3, as printed.

    f = 1: p/q log(1/p).  f = 2: p (p log p + q)/q^2.  f = 3: p (q (3q - 2) -
    2 p^2 log p)/(2 q^3), with the cube that Polettini (2003) misprints as a square.
    They cancel as p -> 1: at q = 1e-8 no digit is right for f = 3.

    Source: Polettini (2003) section 2; CASC (2004) section 3.4.

    Examples
    --------
    >>> from riskcore import forms
    >>> float(forms.closed_form(2, 0.5))
    0.3068528194400547
    """
    if _outside(f, p):
        return math.nan
    q = 1.0 - p
    if q == 0.0:
        return 1.0 / f if f == 1.0 or f == 2.0 or f == 3.0 else math.nan
    if f == 1.0:
        return p / q * log(1.0 / p) if p > 1e-300 else -p / q * log(p)
    if f == 2.0:
        return p / (q * q) * (p * log(p) + q)
    if f == 3.0:
        return p / (2.0 * q * q * q) * (q * (3.0 * q - 2.0) - 2.0 * p * p * log(p))
    return math.nan


@_form
def _binomial_sum(f: float, p: float) -> float:
    """
    Evaluate the alternating binomial sum, for integer f.

    r = (p/q)^f { sum_{j=0}^{f-2} (-1)^j C(f-1, j) (p^(j+1-f) - 1)/(f-1-j)
    + (-1)^f log p }. It cancels as p -> 1 (f = 10: 4e-5 at p = 0.9) and for large f
    (f = 40, p = 0.5: no digit), and overflows for small p.

    Source: CASC (2004) (7).

    Examples
    --------
    >>> from riskcore import forms
    >>> float(forms.binomial_sum(3, 0.25))
    0.106899...
    """
    if _outside(f, p) or _not_countable(f):
        return math.nan
    q = 1.0 - p
    if q == 0.0:
        return 1.0 / f
    n = int(f) - 1
    total = 0.0
    binomial = 1.0
    power = 1.0
    for m in range(1, n + 1):  # m = f-1-j
        binomial *= (n - m + 1.0) / m
        power /= p
        sign = 1.0 if (n - m) % 2 == 0 else -1.0
        total += sign * binomial * (power - 1.0) / m
    total += (1.0 if n % 2 == 1 else -1.0) * log(p)
    ratio = p / q
    factor = 1.0
    for _ in range(n + 1):
        factor *= ratio
    return factor * total


@_form
def _log_form(f: float, p: float) -> float:
    """
    Climb from r(1) = -p log(p)/q by contiguity, for integer f.

    r(f+1) = (p/q) (1/f - r(f)). The error grows by the factor q/p in each step: full
    precision for p < 1/2, none for large f above it.

    Source: Polettini (2003) section 2 (f = 1) with the contiguity relation of section
    3.

    Examples
    --------
    >>> from riskcore import forms
    >>> float(forms.log_form(4, 0.1))
    0.031884...
    """
    if _outside(f, p) or _not_countable(f):
        return math.nan
    q = 1.0 - p
    if q == 0.0:
        return 1.0 / f
    ratio = p / q
    r = -ratio * log(p)
    for g in range(1, int(f)):
        r = ratio * (1.0 / g - r)
    return r


@_form
def _gauss_series(f: float, p: float) -> float:
    """
    Sum Gauss's series until the remainder is below 2^-54.

    r = (p/f) sum_j j! q^j/(f+1)_j; all terms are positive. For q -> 1 the number of
    terms grows like 40/p for f = 1.

    Source: Polettini (2003) (8); CASC (2004) (12).

    Examples
    --------
    >>> from riskcore import forms
    >>> float(forms.gauss_series(5, 0.5))
    0.109813...
    """
    if _outside(f, p):
        return math.nan
    q = 1.0 - p
    term = 1.0
    total = 1.0
    for j in range(1, MAX_TERMS):
        term *= j * q / (f + j)
        total += term
        # The remainder is at most term q/p and, for f > 1, term (j+1)/(f-1).
        if term * q <= _CONVERGED * total * p or term * (j + 1) <= _CONVERGED * (f - 1):
            return p / f * total
    return math.nan


@_form
def _continued_fraction(f: float, p: float) -> float:
    """
    Evaluate Gauss's continued fraction by the modified Lentz method.

    r = (p/f)/(1 - a1 q/(1 - a2 q/(1 - ...))), a_{2m+1} = (m+1)(f+m)/((f+2m)(f+2m+1)),
    a_{2m} = m (f+m-1)/((f+2m-1)(f+2m)).

    Source: DLMF 15.7.5; the guidelines name the function, not the fraction.

    Examples
    --------
    >>> from riskcore import forms
    >>> float(forms.continued_fraction(5, 0.5))
    0.109813...
    """
    if _outside(f, p):
        return math.nan
    q = 1.0 - p
    value = 1.0
    upper = 1.0  # Lentz's C, ratio of successive numerators
    lower = 0.0  # Lentz's D, of denominators
    for n in range(1, MAX_TERMS):
        m = n // 2
        if n % 2 == 1:
            a = (m + 1.0) * ((f + m) / ((f + 2.0 * m) * (f + 2.0 * m + 1.0)))
        else:
            a = m * ((f + m - 1.0) / ((f + 2.0 * m - 1.0) * (f + 2.0 * m)))
        lower = 1.0 / (1.0 - a * q * lower)
        upper = 1.0 - a * q / upper
        change = upper * lower
        value *= change
        if abs(change - 1.0) <= _CONVERGED:
            return p / f / value
    return math.nan


@kernel
def _truncated(f: float, p: float, order: float) -> float:
    """
    Sum Gauss's series up to the power ``order`` of q.

    r_J = (p/f) sum_{j <= J} j! q^j/(f+1)_j, always below r. ``order`` is a whole
    number >= 0.

    Source: Polettini (2003) (10) has J = 1; Polettini (2003) (9) and CASC (2004) (13) J
    = 2; CASC (2004) (14) J = 7.

    Parameters
    ----------
    x1 : array_like
        f, the number of records, positive.
    x2 : array_like
        p, the sampling fraction, above 0 and at most 1.
    x3 : array_like
        The order, a whole number >= 0.

    Returns
    -------
    float64 or ndarray of float64
        nan outside the domain.

    Examples
    --------
    >>> from riskcore import forms
    >>> forms.truncated(4, 0.1, [1, 2, 7]).round(6)
    array([0.0295  , 0.03085 , 0.031822])
    """
    if _outside(f, p) or not (order >= 0.0 and order <= MAX_TERMS):
        return math.nan
    if order != math.floor(order):
        return math.nan
    q = 1.0 - p
    term = 1.0
    total = 1.0
    for j in range(1, int(order) + 1):
        term *= j * q / (f + j)
        total += term
    return p / f * total


@_form
def _series7(f: float, p: float) -> float:
    """
    Do what mu-Argus does: closed forms for f = 1, 2, 3, else order 7.

    Low by up to 0.61 % at f = 4, 0.20 % at f = 5, 0.004 % at f = 10 (all for small p);
    the closed forms lose their digits as p -> 1.

    Source: CASC (2004) (14); the program behind the guidelines' section 7.

    Examples
    --------
    >>> from riskcore import forms
    >>> float(forms.series7(4, 4 / 1063.1)), float(forms.gauss_series(4, 4 / 1063.1))
    (0.00124459..., 0.00125185...)
    """
    if f == 1.0 or f == 2.0 or f == 3.0:
        return _closed_form(f, p)
    return _truncated(f, p, 7.0)


@_form
def _franconi(f: float, p: float) -> float:
    """
    Do what sdcMicro does: closed forms for f = 1, 2, else p/(f - q).

    p/(f-q) is an upper bound: high by up to 4.0 % at f = 3 (p = 0.32), 2.0 % at f = 4,
    0.3 % at f = 10. As in the program, a real f < 2 other than 1 matches no case and
    gets the risk 0, and p = 1 gives 1/f.

    Source: Benedetti and Franconi (1998) as programmed in sdcMicro.

    Examples
    --------
    >>> from riskcore import forms
    >>> float(forms.franconi(3, 0.5))
    0.2
    """
    if _outside(f, p):
        return math.nan
    if p == 1.0:
        return 1.0 / f
    if f == 1.0 or f == 2.0:
        return _closed_form(f, p)
    return p / (f - (1.0 - p)) if f > 2.0 else 0.0


@kernel
def _sufficient_order(f: float, p: float, epsilon: float) -> float:
    """
    Return the smallest order with a relative error of at most ``epsilon``.

    With k = J+1 and t = k! q^k/(f+1)_k, the remainder R_J of the series lies in
    t (f+k+1)/(f+k+1-(k+1)q) <= R_J <= t (f+k)/(f+k-(k+1)q), the upper bound for a
    positive denominator. A bisection of the orders that they leave adds terms to the
    middle order's bounds until these decide. ``inf`` if more than ``MAX_TERMS`` terms
    would be needed; nan outside the domain 0 < epsilon < 1.

    Source: notes/individual_risk.md, section 9.

    Parameters
    ----------
    x1 : array_like
        f, the number of records, positive.
    x2 : array_like
        p, the sampling fraction, above 0 and at most 1.
    x3 : array_like
        epsilon, the largest relative error, between 0 and 1.

    Returns
    -------
    float64 or ndarray of float64
        A whole number, or infinity; nan outside the domain.

    Examples
    --------
    >>> from riskcore import forms
    >>> forms.sufficient_order([2, 4, 10, 100], 1e-12, 1e-3)
    array([998.,  16.,   4.,   1.])
    """
    if _outside(f, p) or not (epsilon > 0.0 and epsilon < 1.0):
        return math.nan
    G, _, _ = gauss(f, p)
    limit = epsilon * G
    q = 1.0 - p
    term = q / (f + 1.0)  # t_k, the first term that order k - 1 omits
    first = 0.0  # the least k that the lower bound admits, and its term
    first_term = 0.0
    last = 0.0  # the least k that the upper bound proves
    for n in range(1, MAX_TERMS):
        k = float(n)
        spread = f + k - (k + 1.0) * q
        if first == 0.0 and term * (f + k + 1.0) / (spread + 1.0) <= limit:
            first = k
            first_term = term
        if spread > 0.0 and term * (f + k) / spread <= limit:
            last = k
            break
        term *= (k + 1.0) * q / (f + k + 1.0)
    if last == 0.0:
        return math.inf
    while first < last:
        middle = math.floor((first + last) / 2.0)
        term = first_term
        for j in range(int(middle - first)):
            term *= (first + j + 1.0) * q / (f + first + j + 1.0)
        if _remainder_within(f, q, term, float(middle), limit):
            last = float(middle)
        else:
            # On to the next order, whose term follows from the middle's.
            first_term = term * (middle + 1.0) * q / (f + middle + 1.0)
            first = middle + 1.0
    return last - 1.0


@kernel
def _remainder_within(f: float, q: float, term: float, k: float, limit: float) -> bool:
    """Decide whether t_k + t_{k+1} + ... <= limit, t_k being ``term``."""
    added = 0.0
    for _ in range(MAX_TERMS):
        spread = f + k - (k + 1.0) * q
        if added + term * (f + k + 1.0) / (spread + 1.0) > limit:
            return False
        if spread > 0.0 and added + term * (f + k) / spread <= limit:
            return True
        added += term
        k += 1.0
        term *= k * q / (f + k)
    return False


def published_order(f: ArrayLike, epsilon: ArrayLike) -> NDArray[np.float64]:
    """
    Return the order that the sources prescribe for an error below ``epsilon``.

    The least integer j > -log(epsilon)/log(f). It is not a bound: it does not know
    p, is infinite at f = 1, and fails for small f (``notes/errata.md``). A quotient
    within rounding of an integer counts as that integer, so that epsilon = 1e-3 and
    f = 10 give 4.

    Parameters
    ----------
    f : array_like
        Sample frequency, f >= 1; nan otherwise.
    epsilon : array_like
        Absolute error asked for, 0 < epsilon < 1; nan otherwise.

    Returns
    -------
    order : ndarray

    See Also
    --------
    sufficient_order : the smallest order that is enough.

    References
    ----------
    Polettini (2003) section 3, last display but one.

    Examples
    --------
    >>> from riskcore import forms
    >>> forms.published_order([1, 2, 10, 1000], 1e-3)
    array([inf, 10.,  4.,  2.])
    """
    f, epsilon = np.broadcast_arrays(np.asarray(f, float), np.asarray(epsilon, float))
    inside = (f >= 1) & (epsilon > 0) & (epsilon < 1)
    with np.errstate(divide="ignore"):
        quotient = -np.log(np.where(inside, epsilon, 0.5)) / np.log(
            np.where(inside, f, 2.0)
        )
    finite = np.where(np.isfinite(quotient), quotient, 0.0)
    nearest = np.rint(finite)
    close = np.abs(finite - nearest) <= 4 * np.spacing(nearest)
    order = np.where(close, nearest, np.floor(finite)) + 1
    return np.where(inside, np.where(np.isfinite(quotient), order, np.inf), np.nan)


def adaptive(
    f: ArrayLike,
    p: ArrayLike,
    epsilon: ArrayLike,
    rule: Literal["sufficient", "published"] = "sufficient",
) -> NDArray[np.float64]:
    """
    Sum the series to an order that follows from the allowed error.

    Parameters
    ----------
    f, p : array_like
        Sample frequency (> 0) and sampling fraction (0 < p <= 1).
    epsilon : array_like
        Error allowed: relative for the rule "sufficient", absolute (and not kept
        everywhere) for "published".
    rule : {"sufficient", "published"}
        Take the order from ``sufficient_order`` or ``published_order``.

    Returns
    -------
    r : ndarray
        nan where the order is infinite.

    Raises
    ------
    ValueError
        If the rule is unknown.

    References
    ----------
    Polettini (2003) section 3 proposes to choose the order by the error.

    Examples
    --------
    >>> from riskcore import forms
    >>> forms.adaptive([4, 40], 0.01, 1e-6).round(6)
    array([0.003317, 0.000256])
    """
    if rule == "sufficient":
        order: Any = __getattr__("sufficient_order")(f, p, epsilon)
    elif rule == "published":
        order = published_order(f, epsilon)
    else:
        raise arguments.not_one_of("rule", rule, RULES)
    result: NDArray[np.float64] = __getattr__("truncated")(f, p, order)
    return result


UFUNCS: dict[str, Callable[..., float]] = {
    "closed_form": _closed_form,
    "binomial_sum": _binomial_sum,
    "log_form": _log_form,
    "gauss_series": _gauss_series,
    "continued_fraction": _continued_fraction,
    "truncated": _truncated,
    "series7": _series7,
    "franconi": _franconi,
    "sufficient_order": _sufficient_order,
}

__all__ = [*UFUNCS, "adaptive", "published_order"]


__getattr__ = on_demand(__name__, UFUNCS)
