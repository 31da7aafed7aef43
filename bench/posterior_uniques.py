"""Measure the law of tau: errors against exact sums, times, the normal interval.

    python -m bench.posterior_uniques [rounds]

Exact values are the alternating sums of factorial moments (inclusion and exclusion) in
as many bits as cancel in them; where these would be too many, the law is held to its
mean and its variance in closed form. Writes bench/README.md.
"""

import math
import sys
from functools import partial

import numpy as np
from flint import arb, ctx, fmpz

from bench._common import command, interleaved, machine, publish, table
from riskcore.models import posterior_uniques
from riskcore.models.posterior_uniques import (
    tau_distribution,
    tau_interval,
    tau_mean,
    tau_variance,
)

# A, b, M, m1. The fourth is the case that is to take about a second at most.
CASES = {
    "thesis 4.1, simulation 1": (900_000 + 8640 * 0.0254, 1.0254, 2_100_000, 301),
    "thesis 4.4, simulation 1": (300_000 + 20_000 * 0.988, 1.988, 700_000, 1169),
    "nothing but uniques": (1000.0, 1.0, 100_000, 1000),
    "N - n = 2e6, m1 = 1000": (3e6, 1.25, 2_000_000, 1000),
    "Pitman, N = 1e10": (1e8, 0.4, 10**10, 1000),
    "sigma = 1 - 1e-6": (1e5, 1e-6, 10**10, 1000),
    "small sample, N = 1e10": (30.0, 0.5, 10**10, 30),
    "chain, M = 1000": (2e4, 1.5, 1000, 1000),
    "chain, M = 4000": (100.0, 1e-4, 4000, 50),
}
LARGE = {
    "m1 = 1e6, N = 1e10": (1.1e8, 1.1, 10**10, 10**6),
    "m1 = 1e8, N = 1e10": (2e8, 1.1, 10**10, 10**8),
    "m1 = 1e9, N = 2e9": (1e9, 0.5, 10**9, 10**9),
    "chain, 1e6 records on 1e10 uniques": (1e10, 1.0, 10**6, 10**10),
}
SEEN = 1e-20  # relative errors are those of probabilities above it


def exact_law(A, b, M, m1):
    """Return P(tau = k) for k = 0, ..., m1."""
    ctx.prec = 4 * m1 + 400
    A, b = arb(A), arb(b)
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


def errors(case):
    """Return the largest relative error, and the largest error of P(tau <= k)."""
    exact = exact_law(*case)
    law = tau_distribution(*case)
    worst = 0.0
    for found, p in zip(law.tolist(), exact, strict=True):
        if p > SEEN:
            worst = max(worst, abs(float((found - p) / p)))
    distribution = np.cumsum(law) - np.cumsum([float(p) for p in exact])
    return worst, float(np.abs(distribution).max())


def deviations(case):
    """Return the errors of the law's mean and of its variance, in units of the latter.

    The mean's in standard deviations.
    """
    first, law = posterior_uniques._distribution(*case)
    mean, variance = tau_mean(*case), tau_variance(*case)
    k = first + np.arange(len(law)) - round(mean)
    away = mean - round(mean)
    of_mean = abs(math.fsum(law * k) - away) / math.sqrt(variance)
    return of_mean, abs(math.fsum(law * (k - away) ** 2) / variance - 1)


def normal(case):
    """Return the 95 % interval of the normal law of that mean and variance."""
    mean, half = tau_mean(*case), 1.959963985 * math.sqrt(tau_variance(*case))
    return max(round(mean - half), 0), min(round(mean + half), case[-1])


def row(name, case, seconds, found):
    low, high = tau_interval(*case)
    by_normal = normal(case)
    return [
        f"{name}: A = {case[0]:.6g}, b = {case[1]:g}, M = {case[2]:.4g}, "
        f"m1 = {case[3]:.4g}",
        f"{seconds * 1e3:.2f}",
        *(f"{error:.0e}" for error in found),
        f"{low} to {high}",
        f"{by_normal[0]} to {by_normal[1]}",
    ]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    every = CASES | LARGE
    work = {name: partial(tau_interval, *case) for name, case in every.items()}
    medians = interleaved(work, rounds)
    start = ["tau_interval", "ms"]
    end = ["95 % interval", "normal, rounded"]
    against = [*start, "largest relative error", "of P(tau <= k)", *end]
    rows = [
        row(name, case, medians[name], errors(case)) for name, case in CASES.items()
    ]
    held = [*start, "mean, in deviations", "variance, relative", *end]
    large = [
        row(name, case, medians[name], deviations(case)) for name, case in LARGE.items()
    ]
    publish(
        "posterior_uniques",
        f"`{command()}`: {machine('numpy', 'numba', 'python-flint')}; medians of "
        f"{rounds} interleaved rounds. No case is approximated. Errors of all "
        f"probabilities above {SEEN:g}, against exact sums:\n\n{table(against, rows)}"
        "\n\nErrors of the law's mean and variance, against their closed forms (a mean "
        "near 1e10 is itself rounded to 1e-7 deviations):\n\n"
        f"{table(held, large)}",
    )


if __name__ == "__main__":
    main()
