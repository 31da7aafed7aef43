"""Exact values of the functions that `bench.search` measures, as balls of Arb.

A reference takes the bits wanted and the arguments as doubles. The ball may have fewer
good bits than wanted where terms cancel: who needs more asks for more. The kernels use
none of this code.
"""

import math
from functools import lru_cache
from itertools import pairwise

import mpmath
from flint import acb, arb, ctx, fmpz
from mpmath import mpf

SERIES_FROM = 200  # f from which the series of G needs fewer than 50 terms
SPARE = 48  # bits


def small_bits(*numbers):
    """Return how many bits 1 - p and f - 1 take, or lose where they cancel."""
    return sum(max(0, -math.frexp(x)[1]) for x in numbers)


def integral(integrand, cuts, bits, small):
    """Return a ball around an integral over all pieces between the cuts."""
    return sum(
        acb.integral(
            integrand, acb(a), acb(b), rel_tol=arb(2) ** -bits, abs_tol=small
        ).real
        for a, b in pairwise(cuts)
    )


# --- the individual risk -------------------------------------------------------------


def excess_over_q(f, q):
    """Return a ball around H = (G - 1)/q = sum q^(n-1) n!/(f+1)_n for large f."""
    term = total = 1 / (f + 1)
    enough = arb(2) ** -ctx.prec
    n = 1
    while True:
        n += 1
        term *= n * q / (f + n)
        if term < enough * total:
            # With q = 1 in the ratios the rest telescopes to term (f+n)/(f-1).
            return total + arb(0.5, 0.5) * term * (f + n) / (f - 1)
        total += term


def risk_and_gradient(f, p, q):
    """Return balls around r(f, p) and dr/dp for q = 1 - p."""
    if q == 0:
        return 1 / f, 1 / (f + 1)
    if f >= SERIES_FROM:
        H = excess_over_q(f, q)
        return p / f * (1 + q * H), H
    # Pfaff's form of p G/f: its argument keeps the bits of a small p.
    r = (-q / p).hypgeom_2f1(1, f, f + 1) / f
    return r, (f * r / p - 1) / q


def risk(bits, f, p):
    ctx.prec = bits + SPARE + small_bits(f, p)
    f, p = arb(f), arb(p)
    return risk_and_gradient(f, p, 1 - p)[0]


def log_risk(bits, f, p):
    return risk(bits, f, p).log()


def gradient(bits, f, p):
    ctx.prec = bits + SPARE + small_bits(f, f / p, p)
    f, p = arb(f), arb(p)
    return risk_and_gradient(f, p, 1 - p)[1]


def risk_of_frequencies(bits, f, F):
    ctx.prec = bits + SPARE + small_bits(f, f / F, F)
    f, F = arb(f), arb(F)
    return risk_and_gradient(f, f / F, (F - f) / F)[0]


def exact_risk(f, p, bits):
    """Return a ball around r(f, p) of a relative radius below 2^-bits."""
    wanted = bits
    while True:
        r = risk(wanted, f, p)
        if r.is_finite() and r.rel_accuracy_bits() > bits:
            return r
        wanted = 2 * wanted + SPARE


# --- the moments of 1/F --------------------------------------------------------------


def moments_by_integral(bits, f, p):
    """Return E[1/F^2] and the standard deviation of 1/F by Arb's integration.

    E[1/F^2] = int_0^inf exp(-f v) p (v + log(p + q e^-v))/(p + q e^-v) dv
    """
    extra = 2 * int(abs(math.log2(f)))
    ctx.prec = bits + 2 * extra + 2 * int(-math.log2(p)) + 60
    f_, p_ = arb(f), arb(p)
    q = 1 - p_
    last = (bits * math.log(2) - 2 * math.log(p) + 20) / f

    def integrand(v, _):
        fall = (-v).exp()
        d = p_ + q * fall
        return (-f_ * v).exp() * p_ * (v + d.log()) / d

    cuts, pace = [], f - 2 if f > 2.2 else f + 1
    cut = 8 / pace
    while cut < last:
        cuts.append(cut)
        cut *= 4
    cuts += [-math.log(p) * k / 4 for k in range(1, 5) if p < 0.4]
    cuts = [0.0, *sorted({cut for cut in cuts if cut < last}), last]
    small = (p_ / f_) ** 2 * arb(2) ** -(bits + extra)
    second = integral(integrand, cuts, bits, small)
    rest = (-f_ * arb(last)).exp() * (arb(last) / f_ + 1 / f_**2)
    second += arb(0.5, 0.5) * rest
    r = (-q / p_).hypgeom_2f1(1, f_, f_ + 1) / f_
    return second, (second - r * r).sqrt()


def moments_by_steps(bits, f, p):
    """Return E[1/F^2] and the deviation for integer f, upwards from Li2(1-p)."""
    lost = 60 + 2 * abs(math.log2(1 - p)) + abs(math.log2(p))
    ctx.prec = bits + 40 + int(f * lost)
    p = arb(p)
    q = 1 - p
    v = p / q
    r, second = -v * p.log(), v * acb(q).polylog(2).real
    for g in range(1, int(f)):
        r, second = v * (1 / arb(g) - r), v * (r / g - second)
    return second, (second - r * r).sqrt()


def moments(bits, f, p):
    few = f.is_integer() and f <= 40 and 1e-30 < p < 1 - 1e-6
    return (moments_by_steps if few else moments_by_integral)(bits, f, p)


def second_moment(bits, f, p):
    return moments(bits, f, p)[0]


def deviation(bits, f, p):
    return moments(bits, f, p)[1]


# --- the risk with a prior -----------------------------------------------------------

MODERATE = 300.0  # parameters up to it leave Arb's functions fast


def by_integral(f, mean, exponent, power=0, bits=90):
    """Return the integral of u^power exp(-f u - exponent(u)), whose slope is mean.

    E[1/(f+X)] = int_0^inf exp(-f u) (1 + (q/p) (1 - e^-u))^-s du with a prior, and
    exp(-f u - mu (1 - e^-u)) for the Poisson law: generating functions of X.
    """
    ctx.prec = bits + 45
    scale = 1 / (f + mean)
    last = (bits * math.log(2) + 2 * math.log1p(mean / f) + 20) / f
    cuts, cut = [0.0], 2 * scale
    while cut < last:
        cuts.append(cut)
        cut *= 8
    small = arb(scale) ** (1 + power) * arb(2) ** -(bits + 8)
    total = integral(
        lambda u, _: u**power * (-f * u - exponent(u)).exp(),
        [*cuts, last],
        bits,
        small,
    )
    rest = (arb(last) ** power + arb(f) ** -power) / f * (-arb(f) * arb(last)).exp()
    return total + arb(0.5, 0.5) * rest


def by_functions(value, bits):
    """Return a ball by a function at rising precision, None if that takes long."""
    for precision in (bits + 60, 300, 700, 1500):
        ctx.prec = precision
        ball = value()
        if ball.is_finite() and ball.rel_accuracy_bits() > bits:
            return ball
    return None


def with_prior_by_integral(bits, f, s, p, power=0):
    ctx.prec = bits + 45
    odds = (1 - arb(p)) / arb(p)
    return by_integral(
        f, s * (1 - p) / p, lambda u: s * (1 - odds * (-u).expm1()).log(), power, bits
    )


def poisson_by_integral(bits, f, mu, power=0):
    return by_integral(f, mu, lambda u: -mu * (-u).expm1(), power, bits)


def with_prior(bits, f, s, p):
    ball = None
    if s < MODERATE and f < MODERATE and p > 1e-3:
        if p >= 0.5:
            ball = by_functions(
                lambda: (1 - arb(p)).hypgeom_2f1(1, arb(f) + 1 - s, arb(f) + 1) * p / f,
                bits,
            )
        else:
            ball = by_functions(
                lambda: (1 - 1 / arb(p)).hypgeom_2f1(1, s, arb(f) + 1) / f, bits
            )
    return with_prior_by_integral(bits, f, s, p) if ball is None else ball


def poisson(bits, f, mu):
    ball = None
    if f < MODERATE and mu < 10 * MODERATE:
        ball = by_functions(lambda: (-arb(mu)).hypgeom_1f1(1, arb(f) + 1) / f, bits)
    return poisson_by_integral(bits, f, mu) if ball is None else ball


def fully_sampled(_, s, p):
    ctx.prec = 400
    return (arb(s) * arb(p).log()).exp()


def fully_sampled_poisson(_, mu):
    ctx.prec = 400
    return (-arb(mu)).exp()


# --- functions of the population models ----------------------------------------------


def rising(x, m):
    return (x + m).lgamma() - x.lgamma()


def digamma_gap(x, m):
    return (x + m).digamma() - x.digamma()


def trigamma_gap(x, m):
    return arb(2).zeta(x) - arb(2).zeta(x + m)


def curvature(x, s, t):
    return rising(x, t) - 2 * rising(x + s, t) + rising(x + 2 * s, t)


def exactly(formula):
    """Return the reference of a formula of balls, with bits for all that cancels."""

    def reference(bits, *at):
        spread = sum(abs(math.frexp(x)[1]) for one in at for x in (one, one - 1))
        ctx.prec = max(bits, 300) + 3 * spread
        return formula(*map(arb, at))

    return reference


GAMMA = {
    "log_gamma_ratio": lambda x, s, t: rising(x, s) - rising(x + t, s),
    "gamma_ratio": lambda x, s, t: (rising(x, s) - rising(x + t, s)).exp(),
    "log_gamma_ratio_curvature": curvature, "log_rising_factorial": rising,
    "log_rising_excess": lambda x, m: rising(x, m) - m * x.log(),
    "digamma_difference": digamma_gap,
    "digamma_deficit": lambda x, m: m / x - digamma_gap(x, m),
    "trigamma_difference": trigamma_gap,
    "trigamma_deficit": lambda x, m: m / x**2 - trigamma_gap(x, m), "log": arb.log,
    "log1p": arb.log1p, "log1pmx": lambda x: x.log1p() - x, "exp": arb.exp,
    "expm1": arb.expm1,
}  # fmt: skip


# --- sample uniques that are population uniques ---------------------------------------


@lru_cache
def law_of_tau(A, b, M, m1):
    """Return P(tau = k) for k = 0, ..., m1, by inclusion and exclusion."""
    A, b, M, m1 = arb(A), arb(b), int(M), int(m1)
    ratio = A.lgamma() - (A + M).lgamma()
    weights = []
    for r in range(m1 + 1):
        rest = A - r * b
        moment = (ratio + (rest + M).lgamma() - rest.lgamma()).exp() if rest > 0 else 0
        weights.append(fmpz(math.comb(m1, r)) * moment)
    law = []
    for k in range(m1 + 1):
        total, ways = arb(0), 1  # C(r, k)
        for r in range(k, m1 + 1):
            total += (ways if (r - k) % 2 == 0 else -ways) * weights[r]
            ways = ways * (r + 1) // (r + 1 - k)
        law.append(total)
    return law


def probability_of_tau(_, A, b, M, m1, k):
    ctx.prec = 4 * int(m1) + 400
    return law_of_tau(A, b, M, m1)[int(k)]


# --- risks of an intruder: the definitions of Mokken et al. (1992) ------------------


def as_ball(x):
    """Return a number of mpmath as a ball that allows for its last bits."""
    sign, mantissa, exponent, _ = x._mpf_
    ball = arb(int(mantissa)) * arb(2) ** int(exponent) * (-1) ** sign
    return ball + arb(0, abs(ball) * arb(2) ** -200)


def defined(definition):
    """Return the reference of a definition in mpmath."""

    def reference(bits, *at):
        ctx.prec = max(bits, 500)
        with mpmath.workprec(ctx.prec):
            return as_ball(definition(*map(mpf, at)))

    return reference


def binomial(n, N, a, f_u):
    return -mpmath.expm1(n * mpmath.log1p(-a * f_u / N)) if a * f_u < N else mpf(n > 0)


def exponential(n, N, a, f_u):
    return -mpmath.expm1(-n * a * f_u / N)


def hypergeometric(n, N, a, f_u):
    return sum(
        weight_i * weight_j * (1 - avoided(i, N, j))
        for i, weight_i in around(n)
        for j, weight_j in around(a * f_u)
    )


def around(x):
    """Return the whole numbers next to x, with weights of mean x."""
    low = mpmath.floor(x)
    return [(low, 1 - (x - low)), (low + 1, x - low)] if x > low else [(x, mpf(1))]


def avoided(n, N, j):
    """Return C(N-j, n)/C(N, n)."""
    if N - n - j + 1 <= 0:
        return mpf(0)
    log = mpmath.loggamma(N - j + 1) - mpmath.loggamma(N + 1)
    log += mpmath.loggamma(N - n + 1) - mpmath.loggamma(N - n - j + 1)
    return mpmath.exp(log)


def steps(fractions):
    """Return p_i = f_ai (f_ui - f_u,i-1) from all f_a followed by all f_u."""
    f_a, f_u = fractions[: len(fractions) // 2], fractions[len(fractions) // 2 :]
    return [a * (u - v) for a, u, v in zip(f_a, f_u, [mpf(0), *f_u[:-1]], strict=True)]


def disjoint_keys(n, *fractions):
    hit = sum(steps(fractions))
    return -mpmath.expm1(n * mpmath.log1p(-hit)) if hit < 1 else mpf(n > 0)


def independent_keys(n, *fractions):
    each = steps(fractions)
    if max(each) == 1:
        return mpf(n > 0)
    return -mpmath.expm1(n * sum(mpmath.log1p(-p) for p in each))


def exponential_keys(n, *fractions):
    return -mpmath.expm1(-n * sum(steps(fractions)))


def fraction_of_uniques(N, K, beta):
    if beta == 0:
        return mpmath.exp(-N / K)
    return mpmath.exp(-(1 + 1 / (K * beta)) * mpmath.log1p(N * beta))


def union(N, a, m):
    return -N * mpmath.expm1(m * mpmath.log1p(-a / N)) if a < N else N


def maximal_binomial(gamma, N, a, f_u):
    return mpmath.log1p(-gamma) / (N * mpmath.log1p(-a * f_u / N))


def maximal_exponential(gamma, N, a, f_u):
    return -mpmath.log1p(-gamma) / (a * f_u)


def maximal_linear(gamma, N, a, f_u):
    return gamma / (a * f_u)


def maximal_uniques(gamma, a, f):
    return -mpmath.log1p(-gamma) / (a * f)


def maximal_parts(f, a, f_u):
    return -mpmath.expm1(-f * a * f_u)
