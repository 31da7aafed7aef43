"""Where the functions that `bench.search` measures are sampled.

A sampler takes a random generator and a number of points, and returns one array for
each argument. Tables map the names of regions to their samplers.
"""

import math
import sys

import numpy as np

import riskcore
from riskcore.core.special.gamma import functions
from riskcore.core.special.gauss import enclosure
from riskcore.core.special.gauss.ball_step import RARE as RARE_FREQUENCIES
from riskcore.core.special.gauss.fast_integer import (
    F_HUGE,
    P_FORWARD,
    P_HALF,
    P_NEAR_ONE,
    RARE,
)

SMALLEST, LARGEST = 5e-324, sys.float_info.max
F_SMALLEST = 1e-290  # the domain of the documentation
MIDDLE_CUTS = [P_FORWARD, P_HALF, P_NEAR_ONE]
MIDDLE_CUTS += [enclosure.P_LEVELS, enclosure.P_SHORT]
P_CUTS = [*MIDDLE_CUTS, 2.0**-20, 2.0**-22, 2.0**-400, RARE, RARE_FREQUENCIES]
P_CUTS += [2.0**-1022, 1 - 2.0**-22, 1 - 2.0**-20, 1.0]
F_CUTS = [*range(1, 18), 32, 128, 1000, F_HUGE, 2.0**52, 2.0**53, 2.0**60]
F_CUTS += [0.5, 1.5, 2.5, 3.5, 14.5, 15.5, 31.5, RARE, 2.0**-400, 2.0**400]
KEYS = 3  # of an intruder


# --- samplers of one argument --------------------------------------------------------


def together(*samplers):
    """Return a sampler of points whose arguments are drawn one after the other."""
    return lambda rng, n: tuple(sampler(rng, n) for sampler in samplers)


def constant(x):
    return lambda rng, n: np.full(n, x)


def uniform(low, high):
    return lambda rng, n: rng.uniform(low, high, n)


def powers(low, high):
    """Return a sampler of 10^x, x uniform."""
    return lambda rng, n: 10 ** rng.uniform(low, high, n)


def binary_powers(low, high):
    return lambda rng, n: 2.0 ** rng.uniform(low, high, n)


def log_uniform(rng, low, high, n):
    return np.exp(rng.uniform(math.log(low), math.log(high), n)).clip(low, high)


def integers(low, high):
    return lambda rng, n: rng.integers(low, high, n, endpoint=True).astype(float)


def either(one, other, share=0.5):
    """Return a sampler that takes a share of the values from the first sampler."""
    return lambda rng, n: np.where(rng.random(n) < share, one(rng, n), other(rng, n))


def both_signs(sampler):
    return lambda rng, n: rng.choice([-1.0, 1.0], n) * sampler(rng, n)


def plus(x, sampler, sign=1):
    return lambda rng, n: x + sign * sampler(rng, n)


def fractions(low, high):
    """Return a sampler of p in [low, high): even in p, log p and near 1 log(1 - p)."""

    def draw(rng, n):
        p, third = rng.uniform(low, high, n), n // 3
        p[:third] = log_uniform(rng, max(low, 1e-15), high, third)
        if high == 1.0:
            near = 1 - log_uniform(rng, 2.0**-54, 0.5, third)
            p[n - third :] = near.clip(low)
        return p.clip(low or SMALLEST, high)

    return draw


def real(low, high):
    """Return a sampler of f in [low, high), half of them even in f, half in log f."""

    def draw(rng, n):
        f = rng.uniform(low, high, n)
        f[: n // 2] = log_uniform(rng, low, high, n // 2)
        return f

    return draw


def half_integers(low, high):
    """Return a sampler of f, half of them integers from 1."""

    def draw(rng, n):
        f = real(low, high)(rng, n)
        f[::2] = np.rint(f[::2]).clip(1)
        return f

    return draw


def any_double(low, high):
    """Return a sampler of doubles with uniform bit patterns: all exponents alike."""
    bounds = np.array([low, high]).view(np.int64)
    return lambda rng, n: rng.integers(*bounds, n, endpoint=True).view(np.float64)


def beside(cuts):
    """Return a sampler of doubles up to two ulp away from the cuts."""
    cuts = np.array(cuts)
    return lambda rng, n: (
        rng.choice(cuts, n).view(np.int64) + rng.integers(-2, 3, n)
    ).view(float)


# --- the individual risk: f and p ----------------------------------------------------


def near_integers(rng, n):
    distance = rng.choice([-1, 1], n) * 2.0 ** -rng.uniform(1, 53, n)
    return rng.integers(1, 20, n) * (1 + distance)


def borders(rng, n):
    f, p = beside(F_CUTS)(rng, n), beside(P_CUTS)(rng, n)
    f[::3] = half_integers(0.1, 40)(rng, len(f[::3]))
    p[1::3] = fractions(0, 1)(rng, len(p[1::3]))
    return f, p.clip(SMALLEST, 1)


def strips(rng, n):
    """Return f < 17 with p just above and below the cuts, where errors are largest."""
    f = half_integers(0.01, 17)(rng, n)
    f[1::4] = rng.uniform(1.9, 2.1, len(f[1::4]))
    return f, (rng.choice(MIDDLE_CUTS, n) * rng.uniform(0.9, 1.1, n)).clip(None, 1)


def bisected(low, high, above):
    """Return the points between low and high at which ``above`` becomes true."""
    for _ in range(60):
        middle = (low + high) / 2
        too_high = above(middle)
        low, high = np.where(too_high, low, middle), np.where(too_high, middle, high)
    return middle


def near_zero_of_log(rng, n):
    """Return f < 1 and p where r(f, p) is near 1."""
    f = rng.uniform(0.02, 1, n)
    p = bisected(np.zeros(n), np.ones(n), lambda p: riskcore.individual_risk(f, p) > 1)
    distance = rng.choice([-1, 1], n) * 2.0 ** -rng.uniform(3, 60, n)
    return f, (p * (1 + distance)).clip(SMALLEST, 1)


def extremes(rng, n):
    f = any_double(F_SMALLEST, LARGEST)(rng, n)
    p = any_double(SMALLEST, 1.0)(rng, n)
    p[::8] = fractions(0, 1)(rng, len(p[::8]))
    f[1::8] = half_integers(0.1, 40)(rng, len(f[1::8]))
    f[2::8] = any_double(2.0**900, LARGEST)(rng, len(f[2::8]))  # r near its smallest
    return f, p


ANY_P = fractions(0, 1)
RISK = {
    "f = 1": together(constant(1.0), ANY_P),
    "f = 2, 3, 4, p < 0.75": together(integers(2, 4), fractions(0, P_NEAR_ONE)),
    "f = 5 to 15, p < 0.5": together(integers(5, 15), fractions(0, P_HALF)),
    "f = 2 to 15, p >= 0.5": together(integers(2, 15), fractions(P_HALF, 1)),
    "f in [16, 32)": together(half_integers(16, 32), ANY_P),
    "f in [32, 1000)": together(half_integers(32, 1000), ANY_P),
    "f from 1000": together(half_integers(1000, 1e12), ANY_P),
    "real f in [2, 16), p >= 0.5": together(real(2, 16), fractions(P_HALF, 1)),
    "real f in [2, 16), p < 0.5": together(real(2, 16), fractions(0, P_HALF)),
    "f in (1, 2)": together(real(1, 2), ANY_P),
    "f in (0.5, 1)": together(real(0.5, 1), ANY_P),
    "f <= 0.5": together(real(1e-6, 0.5), ANY_P), "f < 1, r near 1": near_zero_of_log,
    "f near integers": together(near_integers, ANY_P), "p near the cuts": strips,
    "borders and their neighbors": borders, "extreme f and p": extremes,
    "subnormal p": together(half_integers(1e-3, 50), any_double(SMALLEST, 2.0**-1022)),
}  # fmt: skip


def frequencies_of(sampler):
    """Return a sampler of f and F = f/p."""

    def draw(rng, n):
        f, p = sampler(rng, n)
        with np.errstate(over="ignore"):
            return f, np.minimum(f / p, LARGEST)

    return draw


FREQUENCIES = {name: frequencies_of(sampler) for name, sampler in RISK.items()}
FAINT = ("borders and their neighbors", "extreme f and p", "subnormal p")


# --- moments of 1/F: f and p ---------------------------------------------------------


MOMENTS = {
    "f = 1 to 7, p < 0.1": together(integers(1, 7), powers(-12, -1)),
    "f = 1 to 7, p >= 0.1": together(integers(1, 7), uniform(0.1, 1)),
    "f = 8 to 64": together(integers(8, 64), powers(-12, 0)),
    "real f in [64, 1e9)": together(powers(1.8, 9), powers(-9, 0)),
    "real f in (0, 8), p >= 0.1": together(powers(-3, 0.9), uniform(0.1, 1)),
    "real f in (0.01, 8), p < 0.1": together(uniform(0.01, 8), powers(-12, -1)),
    "real f in [8, 64)": together(uniform(8, 64), powers(-12, 0)),
    "1 - p to 2^-53": together(powers(-2, 6), plus(1, powers(-15.9, -1), -1)),
    "p to 1e-300": together(
        either(integers(1, 39), uniform(0.1, 40)), powers(-300, -12)
    ),
}


# --- the risk with a prior: f, s, p, or f and mu -------------------------------------


def sizes(rng, n):
    """Return f from 1e-3 to 100, and to 1e9."""
    high = np.where(rng.random(n) < 0.5, 2, 9)
    return np.maximum(10 ** rng.uniform(-3, high, n), 1e-3)


def any_fraction(rng, n):
    """Return p from 1e-15 to 1: over all magnitudes, evenly, and near 1."""
    kind = rng.random(n)
    p = np.where(kind < 0.5, 10 ** rng.uniform(-15, 0, n), rng.random(n))
    p = np.where(kind > 0.8, 1 - 10 ** rng.uniform(-15.9, 0, n), p)
    return np.clip(p, 1e-15, 1 - 2.0**-53)


def shapes_above(f, rng, n):
    """Return shapes f + alpha."""
    return f + either(powers(-6, 3), integers(0, 8), 0.8)(rng, n)


def with_prior(draw_f, draw_s):
    def points(rng, n):
        f = draw_f(rng, n)
        return f, draw_s(f, rng, n), any_fraction(rng, n)

    return points


def at_the_reflection(rng, n):
    """Return points where f p is near 1, the border of the reflection."""
    f = 10 ** rng.uniform(0, 9, n)
    s = 10 ** rng.uniform(-3, 1.5, n)
    return f, s, np.clip(10 ** rng.uniform(-1, 1, n) / f, 1e-15, 0.5)


def prior_borders(rng, n):
    """Return points on and next to the borders of regions, s - f next to 0 and 1."""
    tiny = powers(-16, -8)
    f = rng.choice([1.0, 2.0, 4.0, 5.0, 30.0, 31.0, 32.0, 1.5, 2.5, 3.5, 0.5], n)
    f = f * (1 + rng.choice([-1, 0, 1], n) * tiny(rng, n))
    a = rng.choice([-0.5, 0.0, 0.25, 0.5, 1.0, 4.0, 20.0, 60.0], n)
    s = (f + a) * (1 + rng.choice([-1, 0, 1], n) * tiny(rng, n))
    p = rng.choice([0.3, 0.5, 0.999, 1e-9], n)
    return f, np.maximum(s, 1e-9), p * (1 - rng.choice([0, 1], n) * tiny(rng, n))


def reflected(rng, n):
    """Return points of the reflection, some with s next to integers and halves.

    At such s the remainder e is 0, or the shape where the recurrence starts changes.
    """
    f = rng.uniform(0.5, 4, n)
    s = f + rng.choice([0.1, 1, 5, 20], n) * rng.random(n)
    few = rng.random(n)
    s = np.where(few < 0.2, np.rint(2 * s) / 2 + f % 1, s)
    s = np.where(few < 0.1, s * (1 + 10 ** rng.uniform(-16, -3, n)), s)
    return f, s, rng.uniform(0.02, 0.5, n)


def half_and_more(rng, n):
    """Return points with f below 2 and p from 1/2."""
    f = rng.uniform(0.5, 2, n)
    return f, f + 10 ** rng.uniform(-1, 3, n), rng.uniform(0.5, 1, n)


def magnitudes(rng, low, high, n):
    """Return numbers of every magnitude, some next to powers of 2 and 10 and halves."""
    exponent = rng.uniform(np.log2(low), np.log2(high), n)
    kind = rng.random(n)
    x = np.where(kind < 0.25, 2.0 ** np.rint(exponent), 2.0**exponent)
    x = np.where(kind > 0.85, 10 ** np.rint(exponent * math.log10(2)), x)
    x = np.where((kind > 0.6) & (kind < 0.8), np.rint(2 * x) / 2, x)
    x = x * (1 + 2.0**-52 * rng.choice([-1, 0, 0, 0, 1], n))
    return np.clip(x, low, high)


def of_every_size(rng, n):
    """Return points of the whole domain, many of them at borders of regions."""
    few = magnitudes(rng, 2.0**-10, 128, n)
    f = np.where(rng.random(n) < 0.5, few, magnitudes(rng, 2.0**-10, 2.0**60, n))
    a = rng.choice([-20, -1, -0.5, 0, 0.25, 0.5, 1, 4, 20, 21, 25, 30, 60, 64], n)
    near = magnitudes(rng, 2.0**-60, 128, n) * rng.choice([-1, 1, 1, 1], n)
    s = f + np.where(rng.random(n) < 0.5, a, near)
    kind = rng.random(n)
    s = np.where((kind < 0.4) | (s <= 0), magnitudes(rng, 2.0**-60, 2.0**60, n), s)
    s = np.where(kind < 0.05, magnitudes(rng, 2.0**-1074, 1, n), s)
    kind = rng.random(n)
    p = np.where(kind < 0.25, 1 - magnitudes(rng, 2.0**-53, 0.5, n), 0.0)
    p = np.where(kind < 0.22, magnitudes(rng, 0.1, 128, n) / f, p)
    p = np.where(kind < 0.14, rng.choice([0.35, 1, 30, 64, 2.0**30], n) / f, p)
    p = np.where(kind < 0.07, rng.choice([0.3, 0.5, 2.0**-30], n), p)
    p = p * (1 + rng.choice([-1, 0, 1], n) * 10 ** rng.uniform(-16, -8, n))
    p = np.where(p > 0, p, magnitudes(rng, 2.0**-200, 1, n))
    return f, s, np.clip(p, 2.0**-200, 1 - 2.0**-53)


def means_of_every_size(rng, n):
    """Return f and mu of the whole domain of the Poisson law."""
    few = rng.random(n) < 0.5
    mu = np.where(few, 2.0**-30, 2.0**-1074), np.where(few, 2.0**10, 2.0**100)
    return of_every_size(rng, n)[0], magnitudes(rng, *mu, n)


SMALL_F = integers(1, 39)
PRIOR = {
    "f = 1 to 39, s = f + alpha": with_prior(SMALL_F, shapes_above),
    "real f, s = f + alpha": with_prior(sizes, shapes_above),
    "real f, s < f": with_prior(sizes, lambda f, rng, n: f * rng.random(n)),
    "real f, s to 1e12": with_prior(
        sizes, lambda f, rng, n: 10 ** rng.uniform(-3, 12, n)
    ),
    "f p near 1": at_the_reflection,
    "borders": prior_borders,
    "f in [0.5, 4], p < 0.5": reflected,
    "f in [0.5, 2], p >= 0.5": half_and_more,
    "f, s, p of every size": of_every_size,
}
POISSON = {
    "f = 1 to 39": together(SMALL_F, powers(-6, 4)),
    "real f": together(sizes, powers(-3, 4)),
    "mu to 1e18": together(sizes, powers(-300, 18)),
    "f, mu of every size": means_of_every_size,
}
COMPLETE = {
    "p^s": together(powers(-3, 3), any_fraction),
    "p near 1": together(powers(0, 9), plus(1, powers(-15, -6), -1)),
    "s, p of every size": lambda rng, n: of_every_size(rng, n)[1:],
}
COMPLETE_POISSON = {
    "exp(-mu)": together(powers(-6, 2.8)),
    "mu of every size": lambda rng, n: (magnitudes(rng, 2.0**-1074, 700.0, n),),
}


# --- functions of the population models ----------------------------------------------


def whole(low, high):
    return lambda rng, n: np.floor(10 ** rng.uniform(low, high, n))


def next_to_zero(rng, n):
    """Return x and m with Gamma(x+m) near Gamma(x): x below psi's zero at 1.4616."""
    x = rng.uniform(0.01, 1.46, n)
    m = bisected(
        1.4617 - x,
        np.full(n, 200.0),
        lambda m: functions.log_rising_factorial(x, m) > 0,
    )
    return x, m * (1 + both_signs(powers(-17, -1))(rng, n))


def samples_and_cells(rng, n):
    """Return x, s, t of P(F = 1 | f = 1) for n, N to 1e10, K to 1e12 and alpha."""
    N = whole(2, 10)(rng, n)
    sample = np.floor(N * powers(-3, 0)(rng, n)).clip(2, N - 1)
    K, alpha = whole(0.4, 12)(rng, n), powers(-12, 6)(rng, n)
    return (sample - 1) + (K - 1) * alpha, 1 + alpha, N - sample


WIDE, WIDEST = powers(-20, 20), binary_powers(-150, 150)
RATIOS = {
    "x to 1e18, s to 1e6, t to 1e10": together(
        powers(-2, 18), powers(-6, 6), whole(0, 10)
    ),
    "x < 20": together(uniform(0, 20), powers(-3, 3), powers(-3, 3)),
    "1e-20 to 1e20": together(WIDE, WIDE, WIDE),
    "2^-150 to 2^150": together(WIDEST, WIDEST, WIDEST),
    "of the Dirichlet-multinomial model": samples_and_cells,
}
STEPS = {
    "integer m to 30": together(powers(-12, 18), integers(0, 30)),
    "x < 20": together(uniform(0, 20), powers(-3, 3)),
    "m near 1": together(powers(-3, 6), plus(1, both_signs(powers(-16, -0.4)))),
    "1e-20 to 1e20": together(WIDE, WIDE),
    "2^-150 to 2^150": together(WIDEST, WIDEST),
}
NEXT_TO_ZERO = {"next to its zeros": next_to_zero}
BELOW_ONE = {"abs(x) < 1": together(either(uniform(-1, 1), both_signs(powers(-30, 0))))}
LOG = {
    "all sizes": together(powers(-307, 308)),
    "near 1": together(plus(1, both_signs(powers(-16, -0.4)))),
}
LOG1P = BELOW_ONE | {"x to 1e308": together(powers(0, 308))}
EXP = BELOW_ONE | {"abs(x) < 700": together(uniform(-700, 700))}


# --- sample uniques that are population uniques: A, b, M, m1, k -----------------------


def frequency_of_tau(case):
    """Return a sampler of k from 0 to m1, the last argument."""
    return together(*map(constant, case), integers(0, int(case[-1])))


TAU = {
    name: frequency_of_tau(case)
    for name, case in {
        "thesis 4.1, simulation 1": (900_000 + 8640 * 0.0254, 1.0254, 2.1e6, 301.0),
        "thesis 4.4, simulation 1": (300_000 + 20_000 * 0.988, 1.988, 7e5, 1169.0),
        "all records unique": (1000.0, 1.0, 1e5, 1000.0),
        "N - n = 2e6, m1 = 1000": (3e6, 1.25, 2e6, 1000.0),
        "Pitman, N = 1e10": (1e8, 0.4, 1e10, 1000.0),
        "sigma = 1 - 1e-6": (1e5, 1e-6, 1e10, 1000.0),
        "small sample, N = 1e10": (30.0, 0.5, 1e10, 30.0),
        "chain, M = 1000": (2e4, 1.5, 1000.0, 1000.0),
        "chain, M = 4000": (100.0, 1e-4, 4000.0, 50.0),
    }.items()
}


# --- risks of an intruder ------------------------------------------------------------


def shares(decades):
    return powers(-decades, 0)


def often_whole(rng, x):
    return np.where(rng.random(len(x)) < 0.6, np.ceil(x), x)


def settings(rng, n):
    """Return n, N, a, f_u over many orders of magnitude."""
    N = np.floor(10 ** rng.uniform(0.5, 10, n))
    sample = often_whole(rng, N * shares(6)(rng, n))
    circle = often_whole(rng, N * shares(8)(rng, n))
    circle = np.where(rng.random(n) < 0.1, N, circle)
    f_u = either(plus(1, shares(16), -1), shares(17), 0.1)(rng, n)
    return sample, N, circle, f_u


def accepted(rng, n):
    """Return gamma, N, a, f_u."""
    return shares(12)(rng, n), *settings(rng, n)[1:]


def nested(rng, n):
    """Return n, three falling f_a and three rising f_u."""
    f_a = -np.sort(-(10 ** rng.uniform(-6, 0, (n, KEYS))), axis=1)
    f_u = np.sort(10 ** rng.uniform(-10, 0, (n, KEYS)), axis=1)
    return np.ceil(10 ** rng.uniform(0, 8, n)), *f_a.T, *f_u.T


def laws_of_sizes(rng, n):
    """Return N, K, beta."""
    N = np.floor(10 ** rng.uniform(0, 10, n))
    K = np.maximum(np.floor(N * 10 ** rng.uniform(-2.5, 4, n)), 1.0)
    beta = 10 ** -rng.uniform(-5, 30, n)
    return N, K, np.where(rng.random(n) < 0.1, 0.0, beta)


def circles(rng, n):
    """Return N, a, m."""
    _, N, a, _ = settings(rng, n)
    return N, a, np.floor(10 ** rng.uniform(0, 6, n))


def people(rng, n):
    return np.ceil(10 ** rng.uniform(0, 4, n))


LIMITS = together(shares(12), people, shares(6))  # gamma, a, f
PARTS = together(shares(6), people, shares(12))  # f, a, f_u
