"""Measure the risk in a finite population against Arb balls, and its speed.

    python -m bench.finite_population [--points 2000] [--seed 1] [--no-speed]

Exact values come from the sum over all X for M up to 2000. For larger M they come, for
the binomial law, from rigorous integration of its generating function, else from the
reflection (notes/finite_population.md, section 3) in balls, with a bound of what
its series leaves out, or, where that takes long, from the fraction, between two
convergents in balls; a test holds the three together. The worst points ever found, in
worst_points.csv, are evaluated too, and those of this sample join them if they are
worse. Writes bench/README.md; a broken contract ends the run with status 1.
"""

import argparse
import math
import sys

import numpy as np
from flint import arb, ctx

import riskcore
from bench import worst
from bench._common import command, interleaved, machine, publish, table
from bench.posterior import error_in_ulp, powers
from bench.prior import by_integral, contract_rows, measured
from riskcore.risk.finite_population import CONTRACTS

FUNCTIONS = (
    "individual_risk_finite_population",
    "log_individual_risk_finite_population",
    "cell_fully_sampled_probability_finite_population",
    "log_cell_fully_sampled_probability_finite_population",
    "individual_risk_binomial",
    "cell_fully_sampled_probability_binomial",
)
SUMMED = 2000  # M up to it: all terms
ENOUGH = 75  # bits of r
SMALLEST, LARGEST = 2.0**-10, 2.0**53
SPEED_CELLS = 20_000


# --- exact values ------------------------------------------------------------------


def by_sum(f, alpha, beta, M):
    """Return the sum of P(X = x)/(f + x)."""
    ctx.prec = 300
    f, alpha, beta = arb(f), arb(alpha), arb(beta)
    weight = total = arb(1)
    total_risk = 1 / f
    for x in range(int(M)):
        weight *= (M - x) * (alpha + x) / ((x + 1) * (beta + (M - x - 1)))
        total += weight
        total_risk += weight / (f + x + 1)
    return total_risk / total


def by_reflection(f, alpha, beta, M, precision):
    """Return r by Gamma functions and a series; a whole alpha from alpha = 1."""
    ctx.prec = precision
    steps = int(alpha) - 1 if alpha.is_integer() else 0
    f, b, m = arb(f), arb(beta), arb(M)
    e = arb(alpha) - steps - 1
    if steps or alpha == 1:
        head = 1 + b * (
            (b + 1 + m).digamma() - (b + 1).digamma() - f.digamma() + arb(1).digamma()
        )
    else:
        log = (b + 1 + m).lgamma() - (b + 1).lgamma()
        log += (b + 1 + e).lgamma() - (b + 1 + e + m).lgamma()
        if f - e > 40:  # all of one sign, and large
            quotient = (1 - e).gamma() * (f.lgamma() - (f - e).lgamma() + log).exp()
        else:
            quotient = f.gamma() * (1 - e).gamma() * (f - e).rgamma() * log.exp()
        head = ((b + e) - b * quotient) / e
    c, k = b + e, 0
    while True:
        k += 1
        c *= (k - f) * (b + (k - 1)) / (k * (m + b + k))
        head -= c / (k - e)
        left = abs(c) * (b + k + m) / m
        if k > f and left < abs(head) * arb(2) ** -(ENOUGH + 20):
            break
        if k > 20_000:
            return arb(0, math.inf)
    head += arb(0, 1) * left.upper()
    log = (m + 1).lgamma() + (m + 1 + f + b).lgamma()
    log -= (m + 1 + f).lgamma() + (m + 1 + b).lgamma()
    r = head * log.exp() / (m + f + b)
    for j in range(steps):
        a = arb(1 + j)
        r = (a + b) / (a * (a + b + m)) * (1 + (a - f) * r)
    return r


def by_fraction(f, alpha, beta, M):
    """Return r between two convergents of the fraction."""
    ctx.prec = 600
    f, a, b, m = arb(f), arb(alpha), arb(beta), arb(M)
    g = a + b
    inverse = 1 / g
    change = a * m * inverse
    D, n = f + change, 0
    while abs(change) > D * arb(2) ** -(ENOUGH + 20):
        n += 1
        part = n * (g + (n - 1) + m) * (b + (n - 1)) * inverse
        inverse = 1 / (f * (g + (2 * n - 1)) + part)
        change *= -part * inverse
        D += change
        if n == M:
            return 1 / D
        part = (g + (n - 1)) * (a + n) * (m - n) * inverse
        inverse = 1 / (g + 2 * n + part)
        change *= -part * inverse
        D += change
    return 1 / (D + arb(0, 1) * abs(change).upper())


def exact_risk(f, alpha, beta, M):
    if M <= SUMMED:
        return by_sum(f, alpha, beta, M)
    p = (alpha + beta) / (alpha + beta + M)
    if alpha < 64 and p < 0.6 and f * max(p, 1 / M) < 20:
        for precision in (400, 900):
            ball = by_reflection(f, alpha, beta, M, precision)
            if ball.is_finite() and ball.rel_accuracy_bits() > ENOUGH:
                return ball
    return by_fraction(f, alpha, beta, M)


def exact_binomial(f, M, share):
    """Return E[1/(f+X)], X binomial."""
    if M <= SUMMED:
        ctx.prec = 300
        s, total = arb(share), arb(0)
        weight, q = (1 - s) ** int(M), 1 - s
        if q == 0:
            return 1 / (arb(f) + M)
        for x in range(int(M) + 1):
            total += weight / (arb(f) + x)
            weight *= s * (M - x) / (q * (x + 1))
        return total
    return by_integral(f, M * share, lambda u: -M * (1 + share * (-u).expm1()).log())


def exact_log_probability(alpha, beta, M):
    ctx.prec = 700
    a, b, m = arb(alpha), arb(beta), arb(M)
    return (b + m).lgamma() - b.lgamma() - (a + b + m).lgamma() + (a + b).lgamma()


def exact_of(name, at):
    """Return a ball around the value of one function at one point."""
    if name == "individual_risk_binomial":
        return exact_binomial(*at)
    if name == "cell_fully_sampled_probability_binomial":
        ctx.prec = 400
        return (at[0] * (1 - arb(at[1])).log()).exp()
    if "cell" in name:
        exact = exact_log_probability(*at)
        return exact if name.startswith("log") else exact.exp()
    r = exact_risk(*at)
    return r.log() if name.startswith("log") else r


def error_at(name, at):
    """Return the error in ulp of one function at one point that its contract counts."""
    if "cell" in name and (at[-1] == 0 or ("binomial" in name and at[0] == 0)):
        raise ArithmeticError("it is exact")
    exact = exact_of(name, at)
    if name == "log_individual_risk_finite_population":
        if abs(exact) < 1 / 16 and not (at[0] >= 1 and at[1] >= at[0]):
            raise ArithmeticError("its error there is absolute")
    elif not name.startswith("log") and not exact > 2.0**-960:
        raise ArithmeticError("bits are lost to underflow")
    return error_in_ulp(float(getattr(riskcore, name)(*at)), exact)


# --- points ------------------------------------------------------------------------


def people(rng, n, most=15.9):
    """Return numbers of people, from 0 on."""
    return np.floor(powers(rng, 0, most, n)) - (rng.random(n) < 0.02)


def law(alpha, M, rng, n):
    """Return (alpha, beta, M) with p of all sizes."""
    p = np.where(rng.random(n) < 0.7, powers(rng, -9, 0, n), rng.random(n))
    beta = np.where(
        rng.random(n) < 0.3,
        powers(rng, -3, 6, n),
        np.maximum(M, 1) * p / (1 - p) - alpha,
    )
    return (
        np.clip(alpha, SMALLEST, LARGEST),
        np.clip(beta, np.where(rng.random(n) < 0.5, 1.0, SMALLEST), LARGEST),
        M,
    )


def whole(rng, n):
    return rng.integers(1, 40, n).astype(float)


def anything(rng, n):
    return np.maximum(powers(rng, -3, np.where(rng.random(n) < 0.5, 2, 9), n), SMALLEST)


def more(f, rng, n):
    return f + powers(rng, -6, 3, n)


def cells(draw_f, draw_alpha, most=15.9):
    def points(rng, n):
        f = draw_f(rng, n)
        return f, *law(draw_alpha(f, rng, n), people(rng, n, most), rng, n)

    return points


def at_the_reflection(rng, n):
    """Return points where f p is near 1."""
    alpha, beta, M = law(powers(rng, -3, 1.6, n), people(rng, n), rng, n)
    p = (alpha + beta) / (alpha + beta + M)
    return np.clip(powers(rng, -0.5, 0.5, n) / p, SMALLEST, LARGEST), alpha, beta, M


def borders(rng, n):
    """Return points on and next to the borders of regions."""
    f = rng.choice([1.0, 2.0, 31.0, 1.5, 0.5], n)
    alpha = rng.choice([0.5, 1.0, 1.5, 2.0, 32.0], n)
    alpha *= 1 + rng.choice([-1, 0, 1], n) * powers(rng, -16, -8, n)
    M = rng.choice([0.0, 1.0, 2.0, 30.0, 31.0, 248.0, 1e9, 2.0**53], n)
    beta = np.where(rng.random(n) < 0.5, M / f, M)
    return f, alpha, np.clip(beta - alpha, SMALLEST, LARGEST), M


RISK = {
    "f = 1 to 39, alpha > f": cells(whole, more),
    "real f, alpha > f": cells(anything, more),
    "real f, any alpha": cells(anything, lambda f, rng, n: anything(rng, n)),
    "M to 300": cells(anything, lambda f, rng, n: anything(rng, n), most=2.5),
    "f p near 1": at_the_reflection,
    "borders": borders,
}
COMPLETE = {
    name: lambda rng, n, draw=RISK[name]: draw(rng, n)[1:]
    for name in ("f = 1 to 39, alpha > f", "M to 300")
}


def binomial(draw_f):
    """Return points of all means and shares."""

    def points(rng, n):
        M = people(rng, n)
        mean = powers(rng, -3, np.where(rng.random(n) < 0.7, 2.5, 15), n)
        share = np.where(rng.random(n) < 0.8, mean / np.maximum(M, 1), rng.random(n))
        near = 1 - powers(rng, -15, 0, n)
        return draw_f(rng, n), M, np.where(share < 1, share, near)

    return points


BINOMIAL = {"f = 1 to 39": binomial(whole), "real f": binomial(anything)}
COMPLETE_BINOMIAL = {"all": lambda rng, n: binomial(whole)(rng, n)[1:]}
DRAWS = (
    dict.fromkeys(FUNCTIONS[:2], RISK)
    | dict.fromkeys(FUNCTIONS[2:4], COMPLETE)
    | {FUNCTIONS[4]: BINOMIAL, FUNCTIONS[5]: COMPLETE_BINOMIAL}
)


# --- tables ------------------------------------------------------------------------


def speed_rows():
    rng = np.random.default_rng(1)
    n = SPEED_CELLS
    risk = riskcore.individual_risk_finite_population
    limit = riskcore.individual_risk_with_prior
    few, real = rng.integers(1, 11, n).astype(float), rng.uniform(1, 16, n)
    cases = {}
    for f, text in ((few, "f = 1 to 10"), (real, "real f in [1, 16)")):
        alpha = f + powers(rng, -3, 1, n)
        for M in (1e3, 1e5, 1e7, 1e9):
            beta = M * powers(rng, -2, -0.5, n) + 1
            p = (alpha + beta) / (alpha + beta + M)
            name = f"{text}, M = {M:.0e}".replace("e+0", "e")
            cases[name] = (
                lambda f=f, a=alpha, b=beta, M=M: risk(f, a, b, M),
                lambda f=f, a=alpha, p=p: limit(f, a, p),
            )
    ours = interleaved({name: case[0] for name, case in cases.items()}, 5)
    theirs = interleaved({name: case[1] for name, case in cases.items()}, 5)
    return [
        [name, f"{1e9 * ours[name] / n:.0f}", f"{1e9 * theirs[name] / n:.0f}"]
        for name in cases
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-speed", action="store_true", help="errors alone")
    options = parser.parse_args()
    rows, sample = [], []
    for name, regions in DRAWS.items():
        for region, draw in regions.items():
            row, point = measured(
                name, region, draw, options.points, options.seed, error_at
            )
            rows.append(row)
            sample.append(point)
    ever = worst.measured_again(FUNCTIONS, error_at, sample)
    contracts, broken = contract_rows(CONTRACTS, sample, ever)
    at = "at f, alpha, beta, M, or f, M, share, without f for probabilities"
    of_errors = ["worst of the sample, ulp", "worst ever found, ulp"]
    header = ["function, region", "points", "largest error, ulp", "correctly rounded"]
    text = [
        f"`{command()}`: {machine('numpy', 'numba', 'python-flint')}.",
        table(["function", *of_errors, at, "contract"], contracts),
        table([*header, at], rows),
    ]
    publish("finite_population", "\n\n".join(text))
    if not options.no_speed:
        text = [
            f"`{command()}`: {machine('numpy', 'numba')}; {SPEED_CELLS} cells, alpha "
            "- f in [0.001, 10), beta/M in [0.01, 0.3).",
            table(["individual risk, ns per cell", "finite", "limit"], speed_rows()),
        ]
        publish("finite_population_speed", "\n\n".join(text))
    sys.exit(broken)


if __name__ == "__main__":
    main()
