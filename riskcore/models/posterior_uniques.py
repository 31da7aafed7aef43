"""The posterior distribution of tau, the sample uniques that are population uniques.

Given the sample, the M = N - n unseen records arrive one at a time, as from Polya's
urn. A sample unique that no record has joined yet keeps its weight b, so the number e
of such uniques is a pure death chain: at step t = 0, ..., M - 1 it falls by one with
probability e b/(A + t). It starts at m1, the number of sample uniques, and ends at tau.
The models differ only in A and b:

    Dirichlet-multinomial   A = n + K alpha   b = 1 + alpha
    Ewens                   A = n + theta     b = 1
    Pitman                  A = n + theta     b = 1 - sigma

The unseen records of each unique and of the rest are negative binomial numbers with
the given sum M. So with [z^M], the coefficient of z^M,

    P(tau = k) = C(m1, k) M!/(A)_M [z^M] (1-z)^-(A - m1 b) ((1-z)^-b - 1)^(m1-k).

For few steps the chain is run; otherwise the coefficients are Cauchy integrals through
the saddle point, at a cost that does not grow with M. Neither is an approximation
(notes/population_models.md).

All functions take A and b from 2^-90 to 2^90, with A >= m1 - 1 and m1 b <= A, and whole
M and m1 from 0 to 2^53.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.double_double import sqrt
from riskcore.core.special.elementary import exp
from riskcore.core.special.floats import BLOCK, fma, stack
from riskcore.core.special.gamma.functions import (
    expm1,
    gamma_ratio,
    log_gamma_ratio,
    log_gamma_ratio_curvature,
)
from riskcore.core.special.near_one import expm1 as expm1_of
from riskcore.core.special.near_one import log1p
from riskcore.core.special.trigonometry import angle_of, sine_cosine
from riskcore.models.poisson_binomial import equal_tails

Distribution = NDArray[np.float64]

_LARGEST = 2**53  # M, m1 and k are exact doubles up to here
_HEAVIEST = 2.0**90  # weights up to here stay in the domain of the Gamma functions
_STEPS = 4096  # of the chain: the variance is summed step by step up to here

# --- mean and variance ---------------------------------------------------------------


def tau_mean(A: float, b: float, M: int, m1: int) -> float:
    """Return the mean of tau, m1 Gamma(A) Gamma(A+M-b)/(Gamma(A-b) Gamma(A+M))."""
    A, b, M, m1 = checked(A, b, M, m1)
    return m1 * float(gamma_ratio(_less(A, 1, b), b, M)) if m1 else 0.0


def tau_variance(A: float, b: float, M: int, m1: int) -> float:
    """Return the variance of tau, in closed form.

    With p1 and p2 the probabilities that one unique, or both of two, remain unique,

        Var tau = m1 p1 (1-p1) + m1 (m1-1) p1^2 expm1(log p2 - 2 log p1).

    The second term is negative: only if almost all records are unique and M is much
    smaller than A the sum loses digits. For M up to 4096 it is summed step by step.
    """
    A, b, M, m1 = checked(A, b, M, m1)
    if m1 == 0:
        return 0.0
    x = _less(A, 1, b)
    p1, hit = float(gamma_ratio(x, b, M)), -float(expm1(log_gamma_ratio(x, b, M)))
    if m1 == 1:
        return p1 * hit
    if M <= _STEPS:
        return _variance_by_steps(A, b, M, m1)
    repelled = -float(expm1(log_gamma_ratio_curvature(_less(A, 2, b), b, M)))
    return m1 * p1 * (hit - (m1 - 1) * p1 * repelled)


def _variance_by_steps(A: float, b: float, M: int, m1: int) -> float:
    """Return the variance, m1 >= 2, along the chain; nothing is subtracted."""
    rest, x = _less(A, m1, b), _less(A, 1, b)
    left, hit, variance = float(m1), 0.0, 0.0
    for t in range(M):
        hazard = b / (A + t)  # at most 1/2
        deaths = hazard * left
        survival = (rest + t + b * hit) / (A + t)  # 1 - deaths
        variance = (1.0 - 2.0 * hazard) * variance + deaths * survival
        left *= (x + t) / (A + t)
        hit += deaths
    return variance


def _less(A: float, uniques: int, b: float) -> float:
    """Return A - uniques b, rounded once; 0 where rounding made it negative."""
    return max(fma(-float(uniques), b, A), 0.0)


def checked(A: float, b: float, M: int, m1: int) -> tuple[float, float, int, int]:
    """Return the checked arguments of the functions of this module."""
    A, b = float(A), float(b)
    for name, weight in (("A", A), ("b", b)):
        if not 1.0 / _HEAVIEST <= weight <= _HEAVIEST:
            raise ValueError(f"{name}={weight}: need a number from 2^-90 to 2^90")
    M = arguments.whole_from("M", M, 0, _LARGEST)
    m1 = arguments.whole_from("m1", m1, 0, _LARGEST)
    if m1 - 1 > A:
        raise ValueError(f"A={A}: need more than m1 - 1 = {m1 - 1}, as n >= m1")
    # m1 b = A of a model may exceed A by the rounding errors of both.
    if m1 * Fraction(b) > Fraction(A) * (1 + Fraction(2) ** -50):
        raise ValueError(f"m1={m1} uniques of weight b={b} weigh more than A={A}")
    return A, b, M, m1


# --- the distribution ----------------------------------------------------------------

_CHAIN = 2e5  # the chain is run up to this number of steps times states,
_FEW = 256.0  # or if fewer records miss all uniques: the integrals need more
_TAIL = 72.0  # -log(5e-32), the probability that either tail may lack


def tau_distribution(A: float, b: float, M: int, m1: int) -> Distribution:
    """Return P(tau = k) for k = 0, ..., m1; tails of less than 1e-30 together are 0."""
    A, b, M, m1 = checked(A, b, M, m1)
    first, distribution = law_of_uniques(A, b, M, m1)
    whole = np.zeros(m1 + 1)
    whole[first : first + len(distribution)] = distribution
    return whole


def tau_interval(
    A: float, b: float, M: int, m1: int, level: float = 0.95
) -> tuple[int, int]:
    """Return the interval of tau with at most (1 - level)/2 on either side."""
    A, b, M, m1 = checked(A, b, M, m1)
    level = arguments.number_in("level", level, "(0, 1)")
    return equal_tails(*law_of_uniques(A, b, M, m1), level)


def law_of_uniques(A: float, b: float, M: int, m1: int) -> tuple[int, Distribution]:
    """Return the first k of a range, and its probabilities; the rest is below 1e-30."""
    if m1 == 1:
        x = _less(A, 1, b)
        hit = 0.0 - expm1(log_gamma_ratio(x, b, M))
        return 0, np.array([hit, gamma_ratio(x, b, M)])
    mean, variance = tau_mean(A, b, M, m1), tau_variance(A, b, M, m1)
    first, last = _range(mean, variance, M, m1)
    missed = M - (m1 - mean)
    if M * (last - first + 1) <= _CHAIN or missed < _FEW:
        distribution = _by_chain(A, b, M, m1, first, last)
    else:
        distribution = _by_coefficients(A, b, M, m1, mean, first, last)
    distribution /= math.fsum(distribution)
    if last == m1:  # the integral has no digits if A - m1 b is tiny
        distribution[-1] = gamma_ratio(_less(A, m1, b), m1 * b, M)
    near = round(mean)
    found = math.fsum(distribution * (np.arange(first, last + 1) - near))
    if not abs(found - (mean - near)) <= 1e-8 * math.sqrt(variance) + 1e-15 * m1:
        raise ArithmeticError(
            f"tau for A={A}, b={b}, M={M}, m1={m1}: the distribution has the mean "
            f"{near + found}, not {mean}"
        )
    return first, distribution


def _range(mean: float, variance: float, M: int, m1: int) -> tuple[int, int]:
    """Return states outside which the distribution has less than 1e-30 (Bernstein)."""
    # Tau is distributed as a sum of independent indicators: a step of the chain leaves
    # the zeros of its generating function real (Laguerre).
    reach = _TAIL / 3.0 + math.sqrt((_TAIL / 3.0) ** 2 + 2.0 * _TAIL * variance)
    first = max(math.floor(mean - reach), m1 - M, 0)
    return first, min(math.ceil(mean + reach), m1)


# --- the chain -----------------------------------------------------------------------


def _by_chain(
    A: float, b: float, M: int, m1: int, first: int, last: int
) -> Distribution:
    """Return P(tau = first), ..., P(tau = last) from the steps of the chain."""
    hit = np.zeros(min(M, m1) + 1)
    run_chain(A, b, M, m1, _less(A, m1, b), hit)
    return hit[m1 - last : m1 - first + 1][::-1]


@native("float64, float64, int64, int64, float64, float64*")
def run_chain(A: float, b: float, M: int, m1: int, rest: float, hit: Any) -> None:
    """Write the distribution of the number of uniques hit; ``rest`` is A - m1 b."""
    hit[0] = 1.0
    low = high = 0  # range of states with a probability above 0
    for t in range(M):
        share = 1.0 / (A + t)
        if high < m1:
            high += 1
        for d in range(high, low, -1):
            stay = (rest + t) + b * d
            hit[d] = share * (stay * hit[d] + b * (m1 - d + 1) * hit[d - 1])
        hit[low] *= share * ((rest + t) + b * low)
        while hit[low] < 1e-60:
            hit[low] = 0.0
            low += 1
        while hit[high] < 1e-60:
            hit[high] = 0.0
            high -= 1


# --- coefficients by Cauchy's integral -----------------------------------------------

_FAR = -46.0  # logarithm of the neglected part of the integrand's maximum
_HALVINGS = 64


def _by_coefficients(
    A: float, b: float, M: int, m1: int, mean: float, first: int, last: int
) -> Distribution:
    """Return probabilities from ``first`` to ``last`` up to a common factor."""
    # Each follows from its neighbor, as a ratio of integrals along the same path.
    rest = _less(A, m1, b)
    top = m1 if rest > 0.0 else m1 - 1  # else the first record surely hits a unique
    start = min(max(round(mean), first), min(last, top))
    distribution = np.zeros(last - first + 1)
    up = np.empty(min(last, top) - start + 1)
    down = np.empty(start - first + 1)
    walk(rest, b, M, m1, start, 1, len(up), up)
    walk(rest, b, M, m1, start, -1, len(down), down)
    distribution[: len(down)] = down[::-1]
    distribution[start - first : start - first + len(up)] = up
    return distribution


@native("float64, float64, int64, int64, int64, int64, int64, float64*")
def walk(
    rest: float,
    b: float,
    M: int,
    m1: int,
    start: int,
    step: int,
    count: int,
    relative: Any,
) -> None:
    """Write P(start), P(start + step), ... over P(start)."""
    real, imaginary = stack(), stack()
    factor, factor_imaginary = stack(), stack()
    k, done, left = start, 0, 0
    value = before = scale = 1.0
    nodes = 0
    relative[0] = 1.0
    while done < count - 1:
        if left == 0:
            nodes, left, scale = lay_path(
                rest,
                b,
                float(M),
                float(m1 - k),
                step,
                real,
                imaginary,
                factor,
                factor_imaginary,
            )
            before = 0.0
            for i in range(nodes):
                before += real[i]
        after = 0.0
        for i in range(nodes):
            x, y = real[i], imaginary[i]
            real[i] = x * factor[i] - y * factor_imaginary[i]
            imaginary[i] = x * factor_imaginary[i] + y * factor[i]
            after += real[i]
        choices = (m1 - k) / (k + 1.0) if step > 0 else k / (m1 - k + 1.0)
        value *= choices * scale * (after / before)
        before = after
        k += step
        done += 1
        left -= 1
        relative[done] = value


@kernel
def lay_path(
    rest: float,
    b: float,
    M: float,
    j: float,
    step: int,
    real: Any,
    imaginary: Any,
    factor: Any,
    factor_imaginary: Any,
) -> tuple[int, int, float]:
    """Lay the path of [z^M] (1-z)^-rest ((1-z)^-b - 1)^j, and the integrand on it."""
    # The path is 1 - z = (1 - z0) (1 + i x)^2, a parabola around the cut z >= 1 through
    # the saddle point z0. The integrand at j - step is the integrand at j times a
    # factor. Return the number of nodes, the number of steps of j for which the path is
    # good, and the factor ((1-z)^-b - 1)^-step at z0.
    shape = rest + j * b
    odds = _saddle(rest, b, M, j)
    left, met = exp(-b * log1p(odds)), -expm1_of(-b * log1p(odds))  # sum to 1
    slope = b * odds / met
    spread = sqrt(odds * (1.0 + odds) * rest + j * slope * (1.0 + odds - slope * left))
    nodes, width = 0, 0.225 * odds / spread
    while nodes < BLOCK:
        log_z, angle_z, log_u, angle_u, log_q, angle_q = _on_path(
            width * nodes, odds, b, left / met
        )
        # dz/z adds one to the exponent of z and half of one to that of 1 - z.
        size = -(M + 1.0) * log_z - (shape - 0.5) * log_u
        turn = -(M + 1.0) * angle_z - (shape - 0.5) * angle_u
        if j > 0.0:
            size += j * log_q
            turn += j * angle_q
        if size < _FAR:
            break
        size = exp(size) * (0.5 if nodes == 0 else 1.0)
        sine, cosine = sine_cosine(turn)
        real[nodes] = size * cosine
        imaginary[nodes] = size * sine
        size = exp(step * (b * log_u - log_q))
        sine, cosine = sine_cosine(step * (b * angle_u - angle_q))
        factor[nodes] = size * cosine
        factor_imaginary[nodes] = size * sine
        nodes += 1
    # After this number of steps of j the saddle point has moved by one peak width.
    length = max(1, int(spread / slope))
    return nodes, length, left / met if step > 0 else met / left


@kernel
def _on_path(
    x: float, odds: float, b: float, share: float
) -> tuple[float, float, float, float, float, float]:
    """Return the logarithms of z/z0, u/u0 and (1 - u^b)/(1 - u0^b), where u = 1 - z."""
    # Each has the logarithm of the modulus and the angle; none cancels for small x.
    square = x * x
    w = square / odds
    log_z = 0.5 * log1p((2.0 + 4.0 / odds + w) * w)
    angle_z = angle_of(1.0 + w, -2.0 * x / odds)
    log_u = log1p(square)
    angle_u = 2.0 * angle_of(1.0, x)
    growth = expm1_of(b * log_u)
    sine, cosine = sine_cosine(0.5 * b * angle_u)
    v = -share * (growth - 2.0 * (1.0 + growth) * sine * sine)
    v_imaginary = -share * 2.0 * (1.0 + growth) * sine * cosine
    square = (2.0 + v) * v + v_imaginary * v_imaginary
    log_q = 0.5 * log1p(square) if square > -1.0 else -math.inf
    return log_z, angle_z, log_u, angle_u, log_q, angle_of(1.0 + v, v_imaginary)


@kernel
def _saddle(rest: float, b: float, M: float, j: float) -> float:
    """Return z/(1-z) at the saddle point on 0 < z < 1."""
    # There the logarithmic derivative of (1-z)^-rest ((1-z)^-b - 1)^j, which rises with
    # z, is M. The result is at most M, which keeps z^-M falling along the path.
    low = (M - j) / (rest + j * max(b, 1.0))
    high = min(M / (rest + j * b), M)
    if low >= high:
        return high
    for _ in range(_HALVINGS):
        odds = sqrt(low * high)
        slope = rest * odds + j * b * odds / -expm1_of(-b * log1p(odds))
        if slope < M:
            low = odds
        else:
            high = odds
    return high
