"""Hazards h of risks R = 1 - exp(-h): they add up over independent events."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from riskcore.common.arguments import not_one_of
from riskcore.core.compiled.ufunc_maker import ufunc_of, with_ufunc
from riskcore.core.special.double_double import dd_add, dd_divide, dd_log
from riskcore.core.special.elementary import exp_parts, exprel
from riskcore.core.special.floats import bits, fma, from_bits, two_product
from riskcore.core.special.gamma.ratio import log_gamma_ratio
from riskcore.core.special.near_one import dd_log1p, log1p
from riskcore.intruder.arguments import FORMS, LARGEST, Floats, setting, whole

_CERTAIN = 800.0  # a hazard at which 1 - exp(-h) is 1


def hazard_of_sample(
    n: ArrayLike,
    N: ArrayLike,
    acquaintances: ArrayLike,
    unique_fraction: ArrayLike,
    investigators: ArrayLike,
    form: str,
) -> Floats:
    """Return -log(1 - R) for the risk R of `disclosure_risk`."""
    n, N, circle, fraction = setting(n, N, acquaintances, unique_fraction)
    circle = expected_union(N, circle, investigators)
    hazard: Floats
    if form == "hypergeometric":
        hazard = ufunc_of(hazard_without_replacement)(n, N, circle * fraction)
    elif form == "binomial":
        record_hazard = ufunc_of(hazard_of_one)(N, circle, fraction)
        hazard = np.multiply(
            n, record_hazard, where=n > 0.0, out=np.zeros((n + record_hazard).shape)
        )
    elif form == "exponential":
        hazard = n * (circle * fraction) / N
    else:
        raise not_one_of("form", form, FORMS)
    return hazard


def expected_union(
    N: Floats, circle: Floats, m: ArrayLike, name: str = "investigators"
) -> Floats:
    """Return the expected size of the union of m circles."""
    circles = whole(name, m, 1.0, LARGEST)
    missed = ufunc_of(hazard_of_one)(N, circle, 1.0)
    return np.where(circles == 1, circle, N * ufunc_of(one_or_more)(circles, missed))


def sum_along(values: Floats, axis: int) -> Floats:
    """Return sums along an axis, correctly rounded."""
    return np.apply_along_axis(math.fsum, axis, values)


@with_ufunc
def hazard_of_one(N: float, a: float, f_u: float) -> float:
    """Return -log(1 - a f_u/N), rounded once."""
    x, x_low = two_product(a, f_u)
    if x == 0.0:
        return 0.0
    hit, hit_low = dd_divide(x, x_low, N, 0.0)
    rest, rest_low = dd_divide(*dd_add(N, 0.0, -x, -x_low), N, 0.0)
    if not rest > 0.0:
        return math.inf
    if hit < 0.25:
        high, low = dd_log1p(-hit, -hit_low)
    else:
        high, low = dd_log(rest, rest_low)
    return -(high + low)


@with_ufunc
def hazard_without_replacement(n: float, N: float, u: float) -> float:
    """Return -log of C(N-u, n)/C(N, n), averaged over the whole n and u next to them.

    Another record in the sample is a factor 1 - u/(N-n), another unique 1 - n/(N-u).
    """
    if n == 0.0 or u == 0.0:
        return 0.0
    i, j = float(int(n)), float(int(u))
    record, unique = n - i, u - j
    base = ((N - i) - j) + 1.0
    if base <= 0.0:
        return math.inf
    chance = 0.0
    if record > 0.0:
        chance = (1.0 - unique) * record * min(j / (N - i), 1.0)
    if unique > 0.0:
        before = min(i / (N - j), 1.0)
        after = record * min((j + 1.0) / (N - i), 1.0) if record > 0.0 else 0.0
        chance += unique * (before + after * (1.0 - before))
    if chance >= 1.0:
        return math.inf
    return -(log_gamma_ratio(base, j, i) + log1p(-chance))


@with_ufunc
def one_or_more(n: float, hazard: float) -> float:
    """Return 1 - exp(-n hazard)."""
    if n == 0.0 or hazard == 0.0:
        return 0.0
    t, t_low = two_product(n, hazard)
    if not t < _CERTAIN:
        return 1.0
    if t < 0.5:
        rate = exprel(t)
        return fma(t, rate, t_low * (1.0 - t * rate))
    value, correction = exp_parts(-t, -t_low)
    return (1.0 - value) - correction


@with_ufunc
def hypergeometric_size(accepted: float, N: float, u: float) -> float:
    """Return the largest n with an accepted hazard, infinity if N is accepted."""
    if hazard_without_replacement(N, N, u) <= accepted:
        return math.inf
    low, high = bits(0.0), bits(N)
    while high - low > 1:
        middle = low + ((high - low) >> 1)
        if hazard_without_replacement(from_bits(middle), N, u) <= accepted:
            low = middle
        else:
            high = middle
    return from_bits(low)
