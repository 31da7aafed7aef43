"""Measure the posterior of F against Arb balls, and its speed beside scipy.stats.

    python -m bench.posterior [--points 20000] [--seed 1]

Exact values come from the definitions: log-gamma functions for P(F | f), sums of
binomial probabilities (or Arb's incomplete beta function for a fraction f) for the
tails, and rigorous integration of

    E[1/F^2] = int_0^inf exp(-f v) p (v + log(p + q e^-v))/(p + q e^-v) dv

for the moments. The kernels use none of these integrals. Writes bench/README.md.
"""

import argparse
import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from flint import acb, arb, ctx
from scipy import stats

import riskcore
from bench._common import command, interleaved, machine, publish, table

BITS = 160
SPEED_CELLS = 20_000


# --- exact values ------------------------------------------------------------------


def exact_log_probability(f, j, p):
    ctx.prec = 400 + 2 * int(math.log2(f + j + 2)) + spread(p)
    f, j, p = arb(f), arb(j), arb(p)
    value = (f + j).lgamma() - f.lgamma() - (j + 1).lgamma() + f * p.log()
    return value + j * (1 - p).log() if j > 0 else value


def spread(*numbers):
    return sum(2 * abs(math.frexp(x)[1]) for x in numbers)


def exact_tails(f, j, p):
    """Return (P(F <= f+j), P(F > f+j)), or None where this would take too long."""
    if not f.is_integer():
        if f > 30 or j > 1e5:
            return None
        ctx.prec = 600
        a, b, x = arb(f), arb(j) + 1, arb(p)
        lower = x.beta_lower(a, b, regularized=True)
        upper = (1 - x).beta_lower(b, a, regularized=True)
        enough = min(lower.rel_accuracy_bits(), upper.rel_accuracy_bits()) > 80
        return (lower, upper) if enough else None
    probability = exact_log_probability(f, j, p).exp()
    ctx.prec = 200
    f_, j_, k, x = arb(f), arb(j), arb(f) + arb(j), arb(p) / (1 - arb(p))
    mass = probability * k / f_  # P(f successes in k trials)
    if k * arb(p) <= f_:
        lower = mass * falling_sum(lambda i: (j_ - i) * x / (f_ + 1 + i), int(j))
        return lower, 1 - lower
    mass *= f_ / x / (j_ + 1)
    ratios = falling_sum(lambda i: (f_ - 1 - i) / x / (j_ + 2 + i), int(f) - 1)
    return 1 - mass * ratios, mass * ratios


def falling_sum(ratio, last):
    """Return 1 + ratio(0) + ratio(0) ratio(1) + ..., the ratios falling."""
    term = total = arb(1)
    for i in range(last):
        factor = ratio(i)
        term *= factor
        total += term
        if term < total * arb(2) ** -130 and factor < 1:
            return total + arb(0.5, 0.5) * term * factor / (1 - factor)
    return total


def exact_moments(f, p):
    """Return E[1/F^2] and the standard deviation of 1/F by Arb's integration."""
    extra = 2 * int(abs(math.log2(f)))
    ctx.prec = BITS + 2 * extra + 2 * int(-math.log2(p)) + 60
    f_, p_ = arb(f), arb(p)
    q = 1 - p_
    size = (p_ / f_) ** 2
    last = (BITS * math.log(2) - 2 * math.log(p) + 20) / f

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
    small = size * arb(2) ** -(BITS + extra)
    second = sum(
        acb.integral(
            integrand, acb(a), acb(b), rel_tol=arb(2) ** -BITS, abs_tol=small
        ).real
        for a, b in pairwise(cuts)
    )
    rest = (-f_ * arb(last)).exp() * (arb(last) / f_ + 1 / f_**2)
    second += arb(0.5, 0.5) * rest
    r = (-q / p_).hypgeom_2f1(1, f_, f_ + 1) / f_
    return second, (second - r * r).sqrt()


def error_in_ulp(value, exact):
    mantissa, exponent = exact.mid().man_exp()
    if mantissa == 0:
        raise ArithmeticError("no exact value")
    exponent = max(abs(int(mantissa)).bit_length() + int(exponent), -1021)
    if not math.isfinite(value):
        raise AssertionError(f"{value}, exact value {exact}")
    # The division by 2^... in two steps: the unit may be subnormal.
    error = abs(arb(value) - exact) * arb(2) ** (53 - exponent)
    if error.rad() > 0.005:
        raise ArithmeticError(f"the exact value is known to {error.rad()} ulp only")
    return float(error.mid())


# --- points ------------------------------------------------------------------------


def powers(rng, low, high, n):
    return 10 ** rng.uniform(low, high, n)


def near_mean(rng, f, p):
    """Return j within some deviations of its mean, and some near 0."""
    deviation = np.sqrt(f * (1 - p)) / p
    j = np.floor(f * (1 - p) / p + rng.normal(0, 4, len(f)) * deviation)
    j = np.where(rng.random(len(f)) < 0.15, rng.integers(0, 40, len(f)), j)
    return j.clip(0, 2.0**51)


def fractions(rng, n, smallest=-12):
    near_one = 1 - powers(rng, -15, -1, n)
    return np.where(rng.random(n) < 0.75, powers(rng, smallest, 0, n), near_one)


LAWS = {
    "f to 64": lambda rng, n: (rng.integers(1, 65, n).astype(float), fractions(rng, n)),
    "f to 1e4": lambda rng, n: (np.floor(powers(rng, 1.8, 4, n)), fractions(rng, n)),
    "f to 1e9": lambda rng, n: (np.floor(powers(rng, 4, 9, n)), fractions(rng, n, -3)),
    "real f in [1/64, 1)": lambda rng, n: (
        rng.uniform(1 / 64, 1, n),
        fractions(rng, n),
    ),
    "real f to 1000": lambda rng, n: (powers(rng, 0, 3, n), fractions(rng, n)),
}

MOMENTS = {
    "f = 1 to 7, p < 0.1": lambda rng, n: (
        rng.integers(1, 8, n).astype(float),
        powers(rng, -12, -1, n),
    ),
    "f = 1 to 7, p >= 0.1": lambda rng, n: (
        rng.integers(1, 8, n).astype(float),
        rng.uniform(0.1, 1, n),
    ),
    "f = 8 to 64": lambda rng, n: (
        rng.integers(8, 65, n).astype(float),
        powers(rng, -12, 0, n),
    ),
    "real f in [64, 1e9)": lambda rng, n: (
        powers(rng, 1.8, 9, n),
        powers(rng, -9, 0, n),
    ),
    "real f in (0, 8), p >= 0.1": lambda rng, n: (
        powers(rng, -3, 0.9, n),
        rng.uniform(0.1, 1, n),
    ),
    "real f in (0.01, 8), p < 0.1": lambda rng, n: (
        rng.uniform(0.01, 8, n),
        powers(rng, -12, -1, n),
    ),
    "real f in [8, 64)": lambda rng, n: (
        rng.uniform(8, 64, n),
        powers(rng, -12, 0, n),
    ),
    "1 - p to 2^-53": lambda rng, n: (
        powers(rng, -2, 6, n),
        1 - powers(rng, -15.9, -1, n),
    ),
    "p to 1e-300": lambda rng, n: (
        np.where(rng.random(n) < 0.5, rng.integers(1, 40, n), rng.uniform(0.1, 40, n)),
        powers(rng, -300, -12, n),
    ),
}


class Worst(NamedTuple):
    error: float
    at: tuple[float, ...]


# --- tables ------------------------------------------------------------------------


def measure_row(name, region, computed, exact, arguments):
    """Return one row: points measured, worst error and where it is."""
    errors = [error_in_ulp(*pair) for pair in zip(computed, exact, strict=True)]
    worst = Worst(max(errors), arguments[int(np.argmax(errors))])
    at = ", ".join(f"{x:.9g}" for x in worst.at)
    right = sum(error <= 0.5 for error in errors) / len(errors)
    return [
        f"{name}, {region}",
        f"{len(errors)}",
        f"{worst.error:.2f}",
        f"{100 * right:.1f} %",
        at,
    ]


def law_rows(rng, region, n):
    f, p = LAWS[region](rng, n)
    j = near_mean(rng, f, p)
    F = f + j
    j = np.where(f == np.floor(f), F - f, j)
    keep = (p < 1) & (j > 0)
    f, p, j, F = f[keep], p[keep], j[keep], F[keep]
    at = list(zip(F.tolist(), f.tolist(), p.tolist(), strict=True))
    logs = [
        exact_log_probability(*cell)
        for cell in zip(f.tolist(), j.tolist(), p.tolist(), strict=True)
    ]
    probability = riskcore.population_frequency_probability(F, f, p).tolist()
    rows = [
        measure_row("P(F)", region, probability, [log.exp() for log in logs], at),
        measure_row(
            "log P(F)",
            region,
            riskcore.log_population_frequency_probability(F, f, p).tolist(),
            logs,
            at,
        ),
    ]
    few = slice(0, max(n // 10, 50) if region != "f to 1e9" else n // 100)
    lower = riskcore.population_frequency_distribution(F, f, p).tolist()
    upper = riskcore.population_frequency_survival(F, f, p).tolist()
    found = []
    for i, cell in enumerate(zip(f.tolist(), j.tolist(), p.tolist(), strict=True)):
        if i == few.stop:
            break
        tails = exact_tails(*cell)
        if tails is not None:
            found.append((lower[i], upper[i], *tails, at[i]))
    computed_lower, computed_upper, exact_lower, exact_upper, where = zip(
        *found, strict=True
    )
    rows.append(
        measure_row("P(<= F)", region, computed_lower, exact_lower, list(where))
    )
    # Where the survival underflows its last digits mean nothing.
    rows.append(measure_row("P(> F)", region, computed_upper, exact_upper, list(where)))
    return rows


def moment_rows(rng, region, n):
    f, p = MOMENTS[region](rng, n)
    f, p = f[p < 1], p[p < 1]
    at = list(zip(f.tolist(), p.tolist(), strict=True))
    exact = [exact_moments(*cell) for cell in at]
    return [
        measure_row(
            "E[1/F^2]",
            region,
            riskcore.individual_risk_second_moment(f, p).tolist(),
            [second for second, _ in exact],
            at,
        ),
        measure_row(
            "deviation",
            region,
            riskcore.individual_risk_deviation(f, p).tolist(),
            [deviation for _, deviation in exact],
            at,
        ),
    ]


def speed_rows(rng):
    n = SPEED_CELLS
    f = rng.geometric(0.5, n).astype(float)
    p = np.exp(rng.uniform(np.log(1e-4), 0, n))
    level = rng.random(n)
    F = riskcore.population_frequency_quantile(level, f, p)
    cases = {
        "P(F)": (
            lambda: riskcore.population_frequency_probability(F, f, p),
            lambda: stats.nbinom.pmf(F - f, f, p),
        ),
        "P(<= F)": (
            lambda: riskcore.population_frequency_distribution(F, f, p),
            lambda: stats.nbinom.cdf(F - f, f, p),
        ),
        "quantile of F": (
            lambda: riskcore.population_frequency_quantile(level, f, p),
            lambda: stats.nbinom.ppf(level, f, p),
        ),
        "deviation of 1/F": (lambda: riskcore.individual_risk_deviation(f, p), None),
        "deviation of 1/F, f = 1": (
            lambda: riskcore.individual_risk_deviation(1.0, p),
            None,
        ),
        "deviation of 1/F, f = 100": (
            lambda: riskcore.individual_risk_deviation(100.0, p),
            None,
        ),
        "deviation of 1/F, f = 2.5": (
            lambda: riskcore.individual_risk_deviation(2.5, p[:500]),
            None,
        ),
    }
    work = {}
    for name, (ours, scipy) in cases.items():
        work[name, "ours"] = ours
        if scipy is not None:
            work[name, "scipy"] = scipy
    medians = interleaved(work, 5)
    cells = {name: 500 if name.endswith("2.5") else n for name in cases}
    return [
        [
            name,
            f"{1e9 * medians[name, 'ours'] / cells[name]:.0f}",
            f"{1e9 * medians[name, 'scipy'] / n:.0f}" if scipy else "-",
        ]
        for name, (_, scipy) in cases.items()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    rows = []
    for region in LAWS:
        rows += law_rows(rng, region, options.points)
    for region in MOMENTS:
        rows += moment_rows(rng, region, max(options.points // 20, 50))
    rows.sort(key=lambda row: row[0].partition(",")[0])
    header = ["function, region", "points", "largest error, ulp"]
    header += ["correctly rounded", "at F, f, p or f, p"]
    text = [
        f"`{command()}`: {machine('numpy', 'scipy', 'numba', 'python-flint')}; "
        f"{SPEED_CELLS} cells with geometric f and p in [1e-4, 1).",
        table(["ns per cell", "riskcore", "scipy.stats.nbinom"], speed_rows(rng)),
        table(header, rows),
    ]
    publish("posterior", "\n\n".join(text))


if __name__ == "__main__":
    main()
