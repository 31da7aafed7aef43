"""Measure the posterior of F against Arb balls, and its speed beside scipy.stats.

    python -m bench.posterior [--points 20000] [--seed 1] [--no-speed | --only-speed]

Exact values come from the definitions: log-gamma functions for P(F | f), sums of
binomial probabilities (or Arb's incomplete beta function for a fraction f) for the
tails, and rigorous integration of

    E[1/F^2] = int_0^inf exp(-f v) p (v + log(p + q e^-v))/(p + q e^-v) dv

for the moments. The kernels use none of these integrals. The worst points ever found,
in worst_points.csv, are evaluated too, and those of this sample join them if they are
worse. Writes bench/README.md; a broken contract ends the run with status 1.
"""

import argparse
import math
import sys
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from flint import acb, arb, ctx
from scipy import stats

import riskcore
from bench import worst
from bench._common import command, interleaved, machine, publish, table
from riskcore.core.risk.posterior import CONTRACTS

BITS = 160
SPEED_CELLS = 10_000


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


FUNCTIONS = (
    "population_frequency_probability",
    "log_population_frequency_probability",
    "population_frequency_distribution",
    "population_frequency_survival",
    "individual_risk_deviation",
    "individual_risk_second_moment",
)


def moments_by_steps(f, p):
    """Return E[1/F^2] and the deviation for integer f, upwards from Li2(1-p)."""
    lost = 60 + 2 * abs(math.log2(1 - p)) + abs(math.log2(p))
    ctx.prec = 200 + int(f * lost)
    p = arb(p)
    q = 1 - p
    v = p / q
    r, second = -v * p.log(), v * acb(q).polylog(2).real
    for g in range(1, int(f)):
        r, second = v * (1 / arb(g) - r), v * (r / g - second)
    return second, (second - r * r).sqrt()


def moments(f, p):
    """Return what ``exact_moments`` does, in less time for small integers f."""
    few = f.is_integer() and f <= 40 and 1e-30 < p < 1 - 1e-6
    return moments_by_steps(f, p) if few else exact_moments(f, p)


def exact_of(name, arguments):
    """Return a ball around the value of one function at one point."""
    if name.startswith("individual"):
        return moments(*arguments)[name.endswith("deviation")]
    F, f, p = arguments
    j = F - f if f.is_integer() else float(round(F - f))
    if not (j >= 0 and j.is_integer() and f + j == F < 2.0**52 and 0 < p < 1):
        raise ValueError(f"{F} is not a frequency, given {f}")
    if name.endswith("probability"):
        logarithm = exact_log_probability(f, j, p)
        return logarithm if name.startswith("log") else logarithm.exp()
    if f.is_integer() and min(f, j) > 20_000:
        raise ArithmeticError("the sum would take too long")
    tails = exact_tails(f, j, p)
    if tails is None:
        raise ArithmeticError(f"no tail at {F}, {f}, {p}")
    if name.endswith("survival") and f < 1 and f / p > F:
        raise ArithmeticError("its error there is absolute")
    return tails[name.endswith("survival")]


def error_at(name, arguments):
    """Return the error in ulp of one function at one point."""
    exact = exact_of(name, arguments)
    if not abs(exact) > 2.0**-960:
        raise ArithmeticError("bits are lost to underflow")
    return error_in_ulp(float(getattr(riskcore, name)(*arguments)), exact)


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


class Case(NamedTuple):
    """Errors in ulp of one function in one region, and the points."""

    function: str
    region: str
    errors: list[float]
    at: list[tuple[float, ...]]

    @property
    def largest(self):
        return int(np.argmax(self.errors))


NAMES = dict(
    zip(
        FUNCTIONS,
        ("P(F)", "log P(F)", "P(<= F)", "P(> F)", "deviation", "E[1/F^2]"),
        strict=True,
    )
)


# --- tables ------------------------------------------------------------------------


def all_errors(computed, exact):
    return [error_in_ulp(*pair) for pair in zip(computed, exact, strict=True)]


def measure_row(case):
    """Return one row: points measured, worst error and where it is."""
    right = sum(error <= 0.5 for error in case.errors) / len(case.errors)
    return [
        f"{NAMES.get(case.function, case.function)}, {case.region}",
        f"{len(case.errors)}",
        worst.rounded_up(case.errors[case.largest]),
        f"{100 * right:.1f} %",
        ", ".join(f"{x:.9g}" for x in case.at[case.largest]),
    ]


def law_cases(rng, region, n):
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
    values = [getattr(riskcore, name)(F, f, p).tolist() for name in FUNCTIONS[:4]]
    exact = [log.exp() for log in logs]
    cases = [
        Case(FUNCTIONS[0], region, all_errors(values[0], exact), at),
        Case(FUNCTIONS[1], region, all_errors(values[1], logs), at),
    ]
    few = max(n // 10, 50) if region != "f to 1e9" else n // 100
    found = []
    for i, cell in enumerate(zip(f.tolist(), j.tolist(), p.tolist(), strict=True)):
        if i == few:
            break
        tails = exact_tails(*cell)
        if tails is not None:
            found.append((values[2][i], values[3][i], *tails, at[i]))
    lower, upper, exact_lower, exact_upper, where = zip(*found, strict=True)
    cases.append(Case(FUNCTIONS[2], region, all_errors(lower, exact_lower), where))
    # Where the survival underflows its last digits mean nothing.
    cases.append(Case(FUNCTIONS[3], region, all_errors(upper, exact_upper), where))
    return cases


def moment_cases(rng, region, n):
    f, p = MOMENTS[region](rng, n)
    f, p = f[p < 1], p[p < 1]
    at = list(zip(f.tolist(), p.tolist(), strict=True))
    exact = zip(*(exact_moments(*cell) for cell in at), strict=True)
    return [
        Case(name, region, all_errors(getattr(riskcore, name)(f, p), values), at)
        for name, values in zip(FUNCTIONS[:3:-1], exact, strict=True)
    ]


def counted(case):
    """Return the worst point of a case that its contract counts, if there is one."""
    if case.function.endswith("survival") and case.region.endswith("1)"):
        return []  # for f < 1 the error below the mean is absolute
    k = case.largest
    return [worst.Worst(case.function, case.at[k], case.errors[k], command())]


def contract_rows(sample, ever):
    """Return the rows of worst errors, and whether one breaks its contract."""
    rows, broken = [], False
    for contract in CONTRACTS:
        name = contract.function
        largest = max(point.error for point in sample if point.function == name)
        known = ever[name]
        holds = known.error <= contract.ulps
        broken |= not holds
        rows.append(
            [
                name,
                worst.rounded_up(largest),
                worst.rounded_up(known.error),
                ", ".join(f"`{x.hex()}`" for x in known.arguments),
                f"{contract.ulps:g} ulp: {'holds' if holds else 'broken'}",
            ]
        )
    return rows, broken


def speed_rows(rng):
    n = SPEED_CELLS
    f = rng.geometric(0.5, n).astype(float)
    p = np.exp(rng.uniform(np.log(1e-4), 0, n))
    level = rng.random(n)
    F = riskcore.population_frequency_quantile(level, f, p)
    large = np.full(n, 1000.0)
    middle = riskcore.population_frequency_quantile(level, large, p)
    fraction = f + 0.5
    few = slice(None, n // 20)
    cases = {
        "P(F)": (
            lambda: riskcore.population_frequency_probability(F, f, p),
            lambda: stats.nbinom.pmf(F - f, f, p),
        ),
        "log P(F)": (
            lambda: riskcore.log_population_frequency_probability(F, f, p),
            lambda: stats.nbinom.logpmf(F - f, f, p),
        ),
        "P(<= F)": (
            lambda: riskcore.population_frequency_distribution(F, f, p),
            lambda: stats.nbinom.cdf(F - f, f, p),
        ),
        "P(> F)": (
            lambda: riskcore.population_frequency_survival(F, f, p),
            lambda: stats.nbinom.sf(F - f, f, p),
        ),
        "P(<= F), f = 1000": (
            lambda: riskcore.population_frequency_distribution(middle, large, p),
            lambda: stats.nbinom.cdf(middle - large, large, p),
        ),
        "P(<= F), f + 1/2, one in 20 cells": (
            lambda: riskcore.population_frequency_distribution(
                F[few] + 0.5, fraction[few], p[few]
            ),
            None,
        ),
        "quantile of F": (
            lambda: riskcore.population_frequency_quantile(level, f, p),
            lambda: stats.nbinom.ppf(level, f, p),
        ),
        "quantile of 1/F": (
            lambda: riskcore.individual_risk_quantile(level, f, p),
            None,
        ),
        "quantile of F, f = 1000": (
            lambda: riskcore.population_frequency_quantile(level, large, p),
            lambda: stats.nbinom.ppf(level, large, p),
        ),
        "quantile of F, f + 1/2, one in 20 cells": (
            lambda: riskcore.population_frequency_quantile(
                level[few], fraction[few], p[few]
            ),
            None,
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
        "deviation of 1/F, f + 1/2": (
            lambda: riskcore.individual_risk_deviation(fraction, p),
            None,
        ),
        "second moment of 1/F": (
            lambda: riskcore.individual_risk_second_moment(f, p),
            None,
        ),
    }
    work = {}
    for name, (ours, scipy) in cases.items():
        work[name, "ours"] = ours
        if scipy is not None:
            work[name, "scipy"] = scipy
    medians = interleaved(work, 5)
    cells = {name: n // 20 if name.endswith("cells") else n for name in cases}
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
    alone = parser.add_mutually_exclusive_group()
    alone.add_argument("--no-speed", action="store_true", help="errors alone")
    alone.add_argument("--only-speed", action="store_true", help="no errors")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    broken = False if options.only_speed else measure_errors(rng, options.points)
    if not options.no_speed:
        where = machine("numpy", "scipy", "numba")
        text = [
            f"`{command()}`: {where}; {SPEED_CELLS} cells with geometric f and p in "
            "[1e-4, 1).",
            table(["ns per cell", "riskcore", "scipy.stats.nbinom"], speed_rows(rng)),
        ]
        publish("posterior_speed", "\n\n".join(text))
    sys.exit(broken)


def measure_errors(rng, points):
    """Publish the errors, and return whether a contract is broken."""
    cases = []
    for region in LAWS:
        cases += law_cases(rng, region, points)
    for region in MOMENTS:
        cases += moment_cases(rng, region, max(points // 20, 50))
    sample = [point for case in cases for point in counted(case)]
    ever = worst.measured_again(FUNCTIONS, error_at, sample)
    contracts, broken = contract_rows(sample, ever)
    rows = sorted(map(measure_row, cases), key=lambda row: row[0].partition(",")[0])
    header = ["function, region", "points", "largest error, ulp"]
    header += ["correctly rounded", "at F, f, p or f, p"]
    of_errors = ["worst of the sample, ulp", "worst ever found, ulp"]
    text = [
        f"`{command()}`: {machine('numpy', 'numba', 'python-flint')}.",
        table(["function", *of_errors, "at F, f, p or f, p", "contract"], contracts),
        table(header, rows),
    ]
    publish("posterior", "\n\n".join(text))
    return broken


if __name__ == "__main__":
    main()
