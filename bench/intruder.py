"""Measure the intruder's risks against their definitions in multi-precision.

    python -m bench.intruder [--points 4000] [--seed 1]

Exact values come from the definitions of Mokken et al. (1992) in mpmath, with 500 bits;
the arguments are taken as the doubles they are. From the worst points of the sample a
search goes on in ever smaller steps. The worst points ever found, in worst_points.csv,
are evaluated too, and new ones join them if they are worse. Writes bench/README.md; a
broken contract ends the run with status 1.
"""

import argparse
import sys

import mpmath
import numpy as np
from mpmath import mpf

from bench import worst
from bench._common import command, publish, table
from riskcore import intruder
from riskcore.intruder import acquaintances, keys, risk, subpopulations, uniques

CONTRACTS = [
    contract
    for module in (risk, keys, acquaintances, subpopulations, uniques)
    for contract in module.CONTRACTS
]
BITS = 500
SMALLEST = 2.0**-960  # below, bits are lost to underflow
KEYS = 3
ALIVE, SHRINKING = 12, 60  # points that the search goes on from, and its rounds


# --- definitions -------------------------------------------------------------------


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


def steps(f_a, f_u):
    """Return p_i = f_ai (f_ui - f_u,i-1)."""
    return [a * (u - v) for a, u, v in zip(f_a, f_u, [mpf(0), *f_u[:-1]], strict=True)]


def disjoint_keys(n, *fractions):
    hit = sum(steps(fractions[:KEYS], fractions[KEYS:]))
    return -mpmath.expm1(n * mpmath.log1p(-hit)) if hit < 1 else mpf(n > 0)


def independent_keys(n, *fractions):
    each = steps(fractions[:KEYS], fractions[KEYS:])
    if max(each) == 1:
        return mpf(n > 0)
    return -mpmath.expm1(n * sum(mpmath.log1p(-p) for p in each))


def exponential_keys(n, *fractions):
    return -mpmath.expm1(-n * sum(steps(fractions[:KEYS], fractions[KEYS:])))


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


# --- points ------------------------------------------------------------------------


def shares(rng, decades, n):
    return 10 ** -rng.uniform(0, decades, n)


def often_whole(rng, x):
    return np.where(rng.random(len(x)) < 0.6, np.ceil(x), x)


def settings(rng, n):
    """Return n, N, a, f_u over many orders of magnitude."""
    N = np.floor(10 ** rng.uniform(0.5, 10, n))
    sample = often_whole(rng, N * shares(rng, 6, n))
    circle = often_whole(rng, N * shares(rng, 8, n))
    circle = np.where(rng.random(n) < 0.1, N, circle)
    f_u = np.where(rng.random(n) < 0.1, 1 - shares(rng, 16, n), shares(rng, 17, n))
    return sample, N, circle, f_u


def accepted(rng, n):
    """Return gamma, N, a, f_u."""
    return shares(rng, 12, n), *settings(rng, n)[1:]


def nested(rng, n):
    """Return n, three falling f_a and three rising f_u."""
    f_a = -np.sort(-shares(rng, 6, (n, KEYS)), axis=1)
    f_u = np.sort(shares(rng, 10, (n, KEYS)), axis=1)
    return np.ceil(10 ** rng.uniform(0, 8, n)), *f_a.T, *f_u.T


def models(rng, n):
    """Return N, K, beta."""
    N = np.floor(10 ** rng.uniform(0, 10, n))
    K = np.maximum(np.floor(N * 10 ** rng.uniform(-2.5, 4, n)), 1.0)
    beta = 10 ** -rng.uniform(-5, 30, n)
    return N, K, np.where(rng.random(n) < 0.1, 0.0, beta)


def circles(rng, n):
    """Return N, a, m."""
    _, N, a, _ = settings(rng, n)
    return N, a, np.floor(10 ** rng.uniform(0, 6, n))


def limits(rng, n):
    """Return gamma, a, f."""
    return shares(rng, 12, n), np.ceil(10 ** rng.uniform(0, 4, n)), shares(rng, 6, n)


def by_form(function, form):
    return lambda *arguments: function(*arguments, form=form)


def by_key(form):
    def risk(n, *fractions):
        f_a, f_u = fractions[:KEYS], fractions[KEYS:]
        return intruder.total_risk(n, f_a, f_u, form)

    return risk


RISKS = {
    "hypergeometric": hypergeometric,
    "binomial": binomial,
    "exponential": exponential,
}
TOTALS = {
    "disjoint": disjoint_keys,
    "independent": independent_keys,
    "exponential": exponential_keys,
}
MAXIMA = {
    "binomial": maximal_binomial,
    "exponential": maximal_exponential,
    "linear": maximal_linear,
}
# By label: the function, its definition, points.
CASES = {
    **{
        f"disclosure_risk, {form}": (
            by_form(intruder.disclosure_risk, form),
            definition,
            settings,
        )
        for form, definition in RISKS.items()
    },
    **{
        f"maximal_sampling_fraction, {form}": (
            by_form(intruder.maximal_sampling_fraction, form),
            definition,
            accepted,
        )
        for form, definition in MAXIMA.items()
    },
    **{
        f"total_risk, {form}": (by_key(form), definition, nested)
        for form, definition in TOTALS.items()
    },
    "expected_acquaintances": (intruder.expected_acquaintances, union, circles),
    "unique_fraction": (intruder.unique_fraction, fraction_of_uniques, models),
    "maximal_unique_fraction": (
        intruder.maximal_unique_fraction,
        maximal_uniques,
        limits,
    ),
    "maximal_subpopulation_risk": (
        lambda f, a, f_u: intruder.maximal_subpopulation_risk([f], a, [f_u]),
        maximal_parts,
        lambda rng, n: (
            shares(rng, 6, n),
            np.ceil(10 ** rng.uniform(0, 4, n)),
            shares(rng, 12, n),
        ),
    ),
}


def error_at(label, arguments):
    """Return the error in ulp at one point."""
    function, definition, _ = CASES[label]
    found = float(function(*arguments))
    with mpmath.workprec(BITS):
        exact = definition(*map(mpf, arguments))
        if not SMALLEST < exact < 2.0**1020:
            raise ArithmeticError(
                "bits are lost to underflow, or the value is infinite"
            )
        unit = mpf(2) ** (mpmath.frexp(exact)[1] - 53)
        return float(abs(mpf(found) - exact) / unit)


def errors_at(label, points):
    """Return the errors of points, nan outside the domain."""
    found = []
    for at in points.tolist():
        try:
            found.append(error_at(label, tuple(at)))
        except (ArithmeticError, ValueError):
            found.append(np.nan)
    return np.array(found)


def searched(label, rng, n):
    """Return points and their errors: a sample, and what is found from its worst."""
    points = np.stack(CASES[label][2](rng, n), axis=1)
    errors = errors_at(label, points)
    keep = ~np.isnan(errors)
    points, errors = points[keep], errors[keep]
    sample = len(errors), float(errors.max()), float(np.mean(errors <= 0.5))
    width = 0.1
    for _ in range(SHRINKING):
        best = np.argsort(-errors)[:ALIVE]
        points, errors = points[best], errors[best]
        moved = points * (1 + width * rng.standard_normal(points.shape))
        # Whole numbers stay whole.
        moved = np.where(points == np.floor(points), np.round(moved), moved)
        found = errors_at(label, moved)
        keep = ~np.isnan(found)
        points = np.concatenate([points, moved[keep]])
        errors = np.concatenate([errors, found[keep]])
        width *= 0.7
    return points, errors, sample


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    contracts = {contract.function: contract for contract in CONTRACTS}
    rows, found = [], []
    samples = {}
    for index, label in enumerate(CASES):
        rng = np.random.default_rng([options.seed, index])
        points, errors, samples[label] = searched(label, rng, options.points)
        found += [
            worst.Worst(label, tuple(points[i].tolist()), float(errors[i]), command())
            for i in np.argsort(-errors)[: worst.KEPT]
        ]
    known = worst.measured_again(list(CASES), error_at, found)
    broken = False
    for label in CASES:
        count, largest, right = samples[label]
        holds = known[label].error < contracts[label].ulps
        broken |= not holds
        rows.append(
            [
                label,
                f"{count}",
                worst.rounded_up(largest),
                worst.rounded_up(known[label].error),
                f"{100 * right:.1f} %",
                f"{contracts[label].ulps} ulp {'holds' if holds else 'BROKEN'}",
            ]
        )
    header = [
        "function", "points", "worst of the sample, ulp", "worst ever found, ulp",
        "correctly rounded", "contract",
    ]  # fmt: skip
    publish("intruder", f"`{command()}`\n\n{table(header, rows)}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
