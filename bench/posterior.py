"""Measure the moments of 1/F against Arb balls, and speeds beside scipy.stats.

    python -m bench.posterior [--points 20000] [--seed 1] [--no-speed | --only-speed]

Exact values come from rigorous integration of

    E[1/F^2] = int_0^inf exp(-f v) p (v + log(p + q e^-v))/(p + q e^-v) dv

which the kernels do not use. The worst points ever found, in worst_points.csv, are
evaluated too, and those of this sample join them if they are worse. Writes
bench/README.md; a broken contract ends the run with status 1.
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


FUNCTIONS = ("individual_risk_deviation", "individual_risk_second_moment")


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


def error_at(name, arguments):
    """Return the error in ulp of one function at one point."""
    exact = moments(*arguments)[name.endswith("deviation")]
    if not abs(exact) > 2.0**-960:
        raise ArithmeticError("bits are lost to underflow")
    return error_in_ulp(float(getattr(riskcore, name)(*arguments)), exact)


# --- points ------------------------------------------------------------------------


def powers(rng, low, high, n):
    return 10 ** rng.uniform(low, high, n)


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


NAMES = dict(zip(FUNCTIONS, ("deviation", "E[1/F^2]"), strict=True))


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


def moment_cases(rng, region, n):
    f, p = MOMENTS[region](rng, n)
    f, p = f[p < 1], p[p < 1]
    at = list(zip(f.tolist(), p.tolist(), strict=True))
    exact = zip(*(exact_moments(*cell) for cell in at), strict=True)
    return [
        Case(name, region, all_errors(getattr(riskcore, name)(f, p), values), at)
        for name, values in zip(FUNCTIONS[::-1], exact, strict=True)
    ]


def counted(case):
    """Return the worst point of a case."""
    k = case.largest
    return worst.Worst(case.function, case.at[k], case.errors[k], command())


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
    large = np.full(n, 1000.0)
    fraction = f + 0.5
    few = slice(None, n // 20)
    cases = {
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
    for region in MOMENTS:
        cases += moment_cases(rng, region, max(points // 20, 50))
    sample = [counted(case) for case in cases]
    ever = worst.measured_again(FUNCTIONS, error_at, sample)
    contracts, broken = contract_rows(sample, ever)
    rows = sorted(map(measure_row, cases), key=lambda row: row[0].partition(",")[0])
    header = ["function, region", "points", "largest error, ulp"]
    header += ["correctly rounded", "at f, p"]
    of_errors = ["worst of the sample, ulp", "worst ever found, ulp"]
    text = [
        f"`{command()}`: {machine('numpy', 'numba', 'python-flint')}.",
        table(["function", *of_errors, "at f, p", "contract"], contracts),
        table(header, rows),
    ]
    publish("posterior", "\n\n".join(text))
    return broken


if __name__ == "__main__":
    main()
