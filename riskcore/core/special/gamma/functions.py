"""The special functions of the superpopulation models, as ufuncs.

Distributions of population uniques and likelihoods are ratios of Gamma functions, for
which log-gamma has no digits left when populations or numbers of cells are large. Here
each ratio, difference and remainder is a function of its own, without cancellation:

==============================  ====================================================
``log_gamma_ratio``             log[Gamma(x+s) Gamma(x+t)/(Gamma(x) Gamma(x+s+t))]
``gamma_ratio``                 the ratio itself
``log_gamma_ratio_curvature``   log P(two are unique) - 2 log P(one is)
``log_rising_factorial``        log (x)_m, (x)_m = Gamma(x+m)/Gamma(x)
``log_rising_excess``           log (x)_m - m log x
``digamma_difference``          psi(x+m) - psi(x)
``digamma_deficit``             m/x - (psi(x+m) - psi(x))
``trigamma_difference``         psi'(x) - psi'(x+m)
``trigamma_deficit``            m/x^2 - (psi'(x) - psi'(x+m))
``log``, ``log1p``, ``log1pmx`` log x, log(1+x), log(1+x) - x
``exp``, ``expm1``              e^x, e^x - 1
==============================  ====================================================

All give the same bits on every processor, which NumPy's own functions do not. Outside
the domain the value is nan: x and the steps s, t and m must be 0 or lie between 2^-150
and 2^150 (1e-45 and 1e45), x of psi and of rising factorials must be positive.
Formulas: notes/posterior.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from riskcore.core.compiled.jit import kernel
from riskcore.core.compiled.ufunc_maker import Contract, on_demand
from riskcore.core.special import elementary, near_one
from riskcore.core.special.gamma import digamma, ratio, rising

if TYPE_CHECKING:
    import numpy as np

    digamma_deficit: np.ufunc
    digamma_difference: np.ufunc
    exp: np.ufunc
    expm1: np.ufunc
    gamma_ratio: np.ufunc
    log: np.ufunc
    log1p: np.ufunc
    log1pmx: np.ufunc
    log_gamma_ratio: np.ufunc
    log_gamma_ratio_curvature: np.ufunc
    log_rising_excess: np.ufunc
    log_rising_factorial: np.ufunc
    trigamma_deficit: np.ufunc
    trigamma_difference: np.ufunc

# Where |log (x)_m| is smaller, its absolute error is below 2^-59.
ZERO = 2.0**-6

CONTRACTS = (
    Contract("log_gamma_ratio", ulps=1, worst=0.51,
             witness=("0x1.e59fc789daf78p+3", "0x1.bb6dfe8189464p-10",
                      "0x1.d1838b6b65e57p-4")),
    Contract("gamma_ratio", ulps=1, worst=0.65,
             witness=("0x1.742d7c05250fap+35", "0x1.284601529c0d1p+11",
                      "0x1.069a1b1000000p+29")),
    Contract("log_gamma_ratio_curvature", ulps=6, worst=4.66,
             witness=("0x1.eb2ecc09caf3bp+3", "0x1.e5fa03bf11bf0p-7",
                      "0x1.ea13ad2337b64p-7")),
    Contract("log_rising_factorial", ulps=1, worst=0.70,
             witness=("0x1.239bb364fb8e1p-2", "0x1.97ecaa2e6c10dp+1")),
    Contract("log_rising_excess", ulps=1, worst=0.59,
             witness=("0x1.e3ec84f650129p+3", "0x1.28c87eeaa53d9p-2")),
    Contract("digamma_difference", ulps=1, worst=0.51,
             witness=("0x1.fe886a29058edp+3", "0x1.b00eb255093aap-4")),
    Contract("digamma_deficit", ulps=1, worst=0.78,
             witness=("0x1.a41eeccb28441p+3", "0x1.05835bd408b37p-1")),
    Contract("trigamma_difference", ulps=1, worst=0.55,
             witness=("0x1.00065eb61c6dfp+4", "0x1.b359dc2c7218bp-9")),
    Contract("trigamma_deficit", ulps=3, worst=2.09,
             witness=("0x1.e15087ef249a5p+3", "0x1.668420edf8368p-1")),
    Contract("log", ulps=1, worst=0.56, witness=("0x1.68b4b20c98681p-1",)),
    Contract("log1p", ulps=1, worst=0.50, witness=("-0x1.85760efd6cfb5p-43",)),
    Contract("log1pmx", ulps=1, worst=0.50, witness=("0x1.4d13fbb1a0019p+53",)),
    Contract("exp", ulps=1, worst=0.68, witness=("-0x1.555fa173f2795p+8",)),
    Contract("expm1", ulps=2, worst=1.48, witness=("0x1.f5312ffeb8ecdp-32",)),
)  # fmt: skip


@kernel
def _argument(x: float) -> bool:
    return (x >= 1.0 / ratio.LARGEST) & (x <= ratio.LARGEST)


@kernel
def _or_zero(x: float) -> bool:
    return (x == 0.0) | _argument(x)


# --- ratios ------------------------------------------------------------------------


@kernel
def log_gamma_ratio_kernel(x: float, s: float, t: float) -> float:
    """Logarithm of Gamma(x+s) Gamma(x+t)/(Gamma(x) Gamma(x+s+t)); -inf at x = 0.

    The ratio is the probability that a sample unique is a population unique, with

    =====================  =====================  =========  =====
    model                  x                      s          t
    =====================  =====================  =========  =====
    Dirichlet-multinomial  (n-1) + (K-1) alpha    1 + alpha  N - n
    Ewens                  theta + n - 1          1          N - n
    Pitman                 theta + n - 1 + sigma  1 - sigma  N - n
    =====================  =====================  =========  =====

    Compute x as written there, from positive terms: the difference n + K alpha - (1 +
    alpha) would lose digits. Symmetric in s and t to the last bit. A relative error of
    an argument at most doubles in the result. Largest error found 0.51 ulp.
    """
    if not (_or_zero(x) & _or_zero(s) & _or_zero(t)):
        return math.nan
    return ratio.log_gamma_ratio(x, s, t)


@kernel
def gamma_ratio_kernel(x: float, s: float, t: float) -> float:
    """Return the exponential of ``log_gamma_ratio``, a probability.

    It is not computed from the rounded logarithm: largest error found 0.65 ulp. A
    relative error of an argument is enlarged up to |log ratio| times.
    """
    if not (_or_zero(x) & _or_zero(s) & _or_zero(t)):
        return math.nan
    return ratio.gamma_ratio(x, s, t)


@kernel
def log_gamma_ratio_curvature_kernel(x: float, s: float, t: float) -> float:
    """Third difference of log Gamma: how far two uniques are from independent.

    With p_r the probability that r given sample uniques are all unique in the
    population, log p_2 - 2 log p_1 is g(x) - 2 g(x+s) + g(x+2s), where g(y) =
    log(Gamma(y+t)/Gamma(y)) and x is 2 s less than the sum of all weights: (n-2) +
    (K-2) alpha for the Dirichlet-multinomial model, theta + n - 2 + 2 sigma for
    Pitman's. The variance of the number of population uniques among m1 sample uniques
    is m1 p_1 (1-p_1) + m1 (m1-1) p_1^2 expm1(this). Largest error found 4.66 ulp.
    """
    if not (_or_zero(x) & _or_zero(s) & _or_zero(t)):
        return math.nan
    return ratio.log_gamma_ratio_curvature(x, s, t)


# --- rising factorials -------------------------------------------------------------


@kernel
def log_rising_factorial_kernel(x: float, m: float) -> float:
    """Logarithm of the rising factorial (x)_m = Gamma(x+m)/Gamma(x).

    Largest error found 0.70 ulp, where |log (x)_m| > 2^-6; below, next to the zeros
    Gamma(x+m) = Gamma(x), errors are below 2^-59.
    """
    if not (_argument(x) & _or_zero(m)):
        return math.nan
    return rising.log_rising_factorial(x, m)


@kernel
def log_rising_excess_kernel(x: float, m: float) -> float:
    """Logarithm of (x)_m/x^m, the sum of log(1 + i/x) over i = 0, ..., m-1.

    The part of log (x)_m that remains in a likelihood of cell frequencies as alpha goes
    to infinity, where m log x cancels: with s_j cells of size j the
    Dirichlet-multinomial model has log L = const - n log K + sum_j s_j e(alpha, j) -
    e(K alpha, n). m is real. Largest error found 0.59 ulp.
    """
    if not (_argument(x) & _or_zero(m)):
        return math.nan
    return rising.log_rising_excess(x, m)


# --- differences of psi and psi' -----------------------------------------------------


@kernel
def digamma_difference_kernel(x: float, m: float) -> float:
    """psi(x+m) - psi(x), the derivative of log (x)_m with respect to x.

    For integer m the sum of 1/(x+i) over i = 0, ..., m-1. theta (psi(theta+n) -
    psi(theta)) is the expected number of cells of the Ewens model. Largest error found
    0.51 ulp.
    """
    if not (_argument(x) & _or_zero(m)):
        return math.nan
    return digamma.digamma_difference(x, m)


@kernel
def digamma_deficit_kernel(x: float, m: float) -> float:
    """m/x - (psi(x+m) - psi(x)), the rest of a likelihood's slope for large x.

    The sum of i/(x (x+i)) over i = 0, ..., m-1 for integer m. The derivative of the
    likelihood of ``log_rising_excess`` is -sum_j s_j d(alpha, j) + K d(K alpha, n).
    Largest error found 0.78 ulp.
    """
    if not (_argument(x) & _or_zero(m)):
        return math.nan
    return digamma.digamma_deficit(x, m)


@kernel
def trigamma_difference_kernel(x: float, m: float) -> float:
    """psi'(x) - psi'(x+m), minus the derivative of psi(x+m) - psi(x).

    For integer m the sum of 1/(x+i)^2 over i = 0, ..., m-1. Largest error found 0.55
    ulp.
    """
    if not (_argument(x) & _or_zero(m)):
        return math.nan
    return digamma.trigamma_difference(x, m)


@kernel
def trigamma_deficit_kernel(x: float, m: float) -> float:
    """m/x^2 - (psi'(x) - psi'(x+m)), minus the derivative of the digamma deficit.

    The sum of 1/x^2 - 1/(x+i)^2 over i = 0, ..., m-1 for integer m: the second
    derivative of the likelihood of ``log_rising_excess`` is sum_j s_j c(alpha, j) - K^2
    c(K alpha, n). Largest error found 2.09 ulp.
    """
    if not (_argument(x) & _or_zero(m)):
        return math.nan
    return digamma.trigamma_deficit(x, m)


# --- elementary functions ----------------------------------------------------------


@kernel
def log_kernel(x: float) -> float:
    """Natural logarithm of x, 0 < x < inf. Largest error found 0.56 ulp."""
    return elementary.log(x) if (x > 0.0) & (x < math.inf) else math.nan


@kernel
def log1p_kernel(x: float) -> float:
    """log(1 + x), -1 < x < inf. Largest error found 0.50 ulp."""
    return near_one.log1p(x) if (x > -1.0) & (x < math.inf) else math.nan


@kernel
def log1pmx_kernel(x: float) -> float:
    """log(1 + x) - x, -1 < x < inf. Largest error found 0.50 ulp."""
    return near_one.log1pmx(x) if (x > -1.0) & (x < math.inf) else math.nan


@kernel
def exp_kernel(x: float) -> float:
    """Exponential of x. Largest error found 0.68 ulp."""
    return elementary.exp(x) if x == x else math.nan


@kernel
def expm1_kernel(x: float) -> float:
    """exp(x) - 1. Largest error found 1.48 ulp."""
    return near_one.expm1(x) if x == x else math.nan


UFUNCS: dict[str, Callable[..., float]] = {
    "digamma_deficit": digamma_deficit_kernel,
    "digamma_difference": digamma_difference_kernel,
    "exp": exp_kernel,
    "expm1": expm1_kernel,
    "gamma_ratio": gamma_ratio_kernel,
    "log": log_kernel,
    "log1p": log1p_kernel,
    "log1pmx": log1pmx_kernel,
    "log_gamma_ratio": log_gamma_ratio_kernel,
    "log_gamma_ratio_curvature": log_gamma_ratio_curvature_kernel,
    "log_rising_excess": log_rising_excess_kernel,
    "log_rising_factorial": log_rising_factorial_kernel,
    "trigamma_deficit": trigamma_deficit_kernel,
    "trigamma_difference": trigamma_difference_kernel,
}


__getattr__ = on_demand(__name__, UFUNCS)
