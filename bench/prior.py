"""Measure the individual risk with a prior against Arb balls, and its speed.

    python -m bench.prior [--points 20000] [--seed 1] [--processes 1] [--no-speed]

Exact values come from Arb's hypergeometric functions, or, where those take long, from
rigorous integration of the generating function of X,

    E[1/(f+X)] = int_0^inf exp(-f u) (1 + (q/p) (1 - e^-u))^-s du,

for the Poisson law of exp(-f u - mu (1 - e^-u)). The kernels use none of these. The
worst points ever found, in worst_points.csv, are evaluated too, and those of this
sample join them if they are worse. Writes bench/README.md; a broken contract ends the
run with status 1. A sweep is a run with many points, in several processes; a point
takes 1 to 4 milliseconds of a processor.
"""

import argparse
import math
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise

import numpy as np
from flint import acb, arb, ctx

import riskcore
from bench import worst
from bench._common import command, interleaved, machine, publish, table
from bench.posterior import error_in_ulp, powers
from riskcore.core.risk.prior import CONTRACTS

FUNCTIONS = (
    "individual_risk_with_prior",
    "log_individual_risk_with_prior",
    "individual_risk_poisson",
    "log_individual_risk_poisson",
    "individual_risk_second_moment_with_prior",
    "individual_risk_second_moment_poisson",
    "cell_fully_sampled_probability",
    "cell_fully_sampled_probability_poisson",
)
ENOUGH = 66  # bits: an ulp of a double, and 13 more
PRECISE = 150  # bits of r that leave as many of log r near 0
MODERATE = 300.0  # parameters up to it leave Arb's functions fast
PIECE = 500  # points that a process takes at once
SPEED_CELLS = 200_000


# --- exact values ------------------------------------------------------------------


def by_integral(f, mean, exponent, power=0, bits=90):
    """Return the integral of u^power exp(-f u - exponent(u)), whose slope is mean."""
    ctx.prec = bits + 45
    scale = 1 / (f + mean)
    last = (bits * math.log(2) + 2 * math.log1p(mean / f) + 20) / f
    cuts, cut = [0.0], 2 * scale
    while cut < last:
        cuts.append(cut)
        cut *= 8
    small = arb(scale) ** (1 + power) * arb(2) ** -(bits + 8)
    total = sum(
        acb.integral(
            lambda u, _: u**power * (-f * u - exponent(u)).exp(),
            acb(a),
            acb(b),
            rel_tol=arb(2) ** -bits,
            abs_tol=small,
        ).real
        for a, b in pairwise([*cuts, last])
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


def exact_with_prior(f, s, p, bits=PRECISE):
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
        if ball is not None:
            return ball
    return _integral_with_prior(f, s, p, 0, bits)


def _integral_with_prior(f, s, p, power, bits):
    ctx.prec = bits + 45
    odds = (1 - arb(p)) / arb(p)
    return by_integral(
        f, s * (1 - p) / p, lambda u: s * (1 - odds * (-u).expm1()).log(), power, bits
    )


def exact_poisson(f, mu, bits=PRECISE):
    if f < MODERATE and mu < 10 * MODERATE:
        ball = by_functions(lambda: (-arb(mu)).hypgeom_1f1(1, arb(f) + 1) / f, bits)
        if ball is not None:
            return ball
    return by_integral(f, mu, lambda u: -mu * (-u).expm1(), 0, bits)


def exact_second_moment(f, *law):
    if len(law) == 1:
        return by_integral(f, law[0], lambda u: -law[0] * (-u).expm1(), 1, ENOUGH)
    return _integral_with_prior(f, *law, 1, ENOUGH)


def exact_of(name, at):
    """Return a ball around the value of one function at one point."""
    if "second_moment" in name:
        return exact_second_moment(*at)
    if name == "cell_fully_sampled_probability":
        ctx.prec = 400
        return (arb(at[0]) * arb(at[1]).log()).exp()
    if name == "cell_fully_sampled_probability_poisson":
        ctx.prec = 400
        return (-arb(at[0])).exp()
    exact = exact_with_prior if "prior" in name else exact_poisson
    r = exact(*at, ENOUGH)
    if not name.startswith("log"):
        return r
    if r.log().rel_accuracy_bits() < ENOUGH - 5:
        r = exact(*at, PRECISE)
    return r.log()


def error_at(name, at):
    """Return the error in ulp of one function at one point that its contract counts."""
    if "second_moment" in name and at[0] < 1:
        raise ArithmeticError("f is outside the domain")
    exact = exact_of(name, at)
    if name.startswith("log"):
        near = abs(exact) < 1 / 16
        if near and not (at[0] >= 1 and ("poisson" in name or at[1] >= at[0])):
            raise ArithmeticError("its error there is absolute")
    elif not exact > 2.0**-960:
        raise ArithmeticError("bits are lost to underflow")
    return error_in_ulp(float(getattr(riskcore, name)(*at)), exact)


# --- points ------------------------------------------------------------------------


def whole(rng, n):
    return rng.integers(1, 40, n).astype(float)


def anything(rng, n):
    return np.maximum(powers(rng, -3, np.where(rng.random(n) < 0.5, 2, 9), n), 1e-3)


def fractions(rng, n):
    """Return p from 1e-15 to 1: over all magnitudes, evenly, and near 1."""
    kind = rng.random(n)
    p = np.where(kind < 0.5, powers(rng, -15, 0, n), rng.random(n))
    p = np.where(kind > 0.8, 1 - powers(rng, -15.9, 0, n), p)
    return np.clip(p, 1e-15, 1 - 2.0**-53)


def near(f, rng, n):
    """Return shapes f + alpha."""
    return f + np.where(
        rng.random(n) < 0.8, powers(rng, -6, 3, n), rng.integers(0, 9, n)
    )


def with_prior(draw_f, draw_s):
    def points(rng, n):
        f = draw_f(rng, n)
        return f, draw_s(f, rng, n), fractions(rng, n)

    return points


def at_the_reflection(rng, n):
    """Return points where f p is near 1, the border of the reflection."""
    f = powers(rng, 0, 9, n)
    s = powers(rng, -3, 1.5, n)
    return f, s, np.clip(powers(rng, -1, 1, n) / f, 1e-15, 0.5)


def borders(rng, n):
    """Return points on and next to the borders of regions, s - f next to 0 and 1."""
    f = rng.choice([1.0, 2.0, 4.0, 5.0, 30.0, 31.0, 32.0, 1.5, 2.5, 3.5, 0.5], n)
    f = f * (1 + rng.choice([-1, 0, 1], n) * powers(rng, -16, -8, n))
    a = rng.choice([-0.5, 0.0, 0.25, 0.5, 1.0, 4.0, 20.0, 60.0], n)
    s = (f + a) * (1 + rng.choice([-1, 0, 1], n) * powers(rng, -16, -8, n))
    s = np.maximum(s, 1e-9)
    p = rng.choice([0.3, 0.5, 0.999, 1e-9], n)
    return f, s, p * (1 - rng.choice([0, 1], n) * powers(rng, -16, -8, n))


def reflected(rng, n):
    """Return points of the reflection, s next to integers and half-integers for some.

    There is e = 0, or the shape from which one goes upwards changes.
    """
    f = rng.uniform(0.5, 4, n)
    s = f + rng.choice([0.1, 1, 5, 20], n) * rng.random(n)
    few = rng.random(n)
    s = np.where(few < 0.2, np.rint(2 * s) / 2 + f % 1, s)
    s = np.where(few < 0.1, s * (1 + powers(rng, -16, -3, n)), s)
    return f, s, rng.uniform(0.02, 0.5, n)


def half_and_more(rng, n):
    """Return points with f below 2 and p from 1/2."""
    f = rng.uniform(0.5, 2, n)
    return f, f + powers(rng, -1, 3, n), rng.uniform(0.5, 1, n)


def extremes(rng, low, high, n):
    """Return numbers of every magnitude, among them powers of 2 and 10 and halves.

    Some are one double beside such a number.
    """
    exponent = rng.uniform(np.log2(low), np.log2(high), n)
    kind = rng.random(n)
    x = np.where(kind < 0.25, 2.0 ** np.rint(exponent), 2.0**exponent)
    x = np.where(kind > 0.85, 10 ** np.rint(exponent * math.log10(2)), x)
    x = np.where((kind > 0.6) & (kind < 0.8), np.rint(2 * x) / 2, x)
    x = x * (1 + 2.0**-52 * rng.choice([-1, 0, 0, 0, 1], n))
    return np.clip(x, low, high)


def of_every_size(rng, n):
    """Return points of the whole domain, many of them at borders of regions."""
    few = extremes(rng, 2.0**-10, 128, n)
    f = np.where(rng.random(n) < 0.5, few, extremes(rng, 2.0**-10, 2.0**60, n))
    a = rng.choice([-20, -1, -0.5, 0, 0.25, 0.5, 1, 4, 20, 21, 25, 30, 60, 64], n)
    near = extremes(rng, 2.0**-60, 128, n) * rng.choice([-1, 1, 1, 1], n)
    s = f + np.where(rng.random(n) < 0.5, a, near)
    kind = rng.random(n)
    s = np.where((kind < 0.4) | (s <= 0), extremes(rng, 2.0**-60, 2.0**60, n), s)
    s = np.where(kind < 0.05, extremes(rng, 2.0**-1074, 1, n), s)
    kind = rng.random(n)
    p = np.where(kind < 0.25, 1 - extremes(rng, 2.0**-53, 0.5, n), 0.0)
    p = np.where(kind < 0.22, extremes(rng, 0.1, 128, n) / f, p)
    p = np.where(kind < 0.14, rng.choice([0.35, 1, 30, 64, 2.0**30], n) / f, p)
    p = np.where(kind < 0.07, rng.choice([0.3, 0.5, 2.0**-30], n), p)
    p = p * (1 + rng.choice([-1, 0, 1], n) * powers(rng, -16, -8, n))
    p = np.where(p > 0, p, extremes(rng, 2.0**-200, 1, n))
    return f, s, np.clip(p, 2.0**-200, 1 - 2.0**-53)


def means_of_every_size(rng, n):
    """Return f and mu of the whole domain of the Poisson law."""
    few = rng.random(n) < 0.5
    mu = np.where(few, 2.0**-30, 2.0**-1074), np.where(few, 2.0**10, 2.0**100)
    return of_every_size(rng, n)[0], extremes(rng, *mu, n)


PRIOR = {
    "f = 1 to 39, s = f + alpha": with_prior(whole, near),
    "real f, s = f + alpha": with_prior(anything, near),
    "real f, s < f": with_prior(anything, lambda f, rng, n: f * rng.random(n)),
    "real f, s to 1e12": with_prior(anything, lambda f, rng, n: powers(rng, -3, 12, n)),
    "f p near 1": at_the_reflection,
    "borders": borders,
    "f in [0.5, 4], p < 0.5": reflected,
    "f in [0.5, 2], p >= 0.5": half_and_more,
    "f, s, p of every size": of_every_size,
}
POISSON = {
    "f = 1 to 39": lambda rng, n: (whole(rng, n), powers(rng, -6, 4, n)),
    "real f": lambda rng, n: (anything(rng, n), powers(rng, -3, 4, n)),
    "mu to 1e18": lambda rng, n: (anything(rng, n), powers(rng, -300, 18, n)),
    "f, mu of every size": means_of_every_size,
}
COMPLETE = {
    "p^s": lambda rng, n: (powers(rng, -3, 3, n), fractions(rng, n)),
    "p near 1": lambda rng, n: (powers(rng, 0, 9, n), 1 - powers(rng, -15, -6, n)),
    "s, p of every size": lambda rng, n: of_every_size(rng, n)[1:],
}
COMPLETE_POISSON = {
    "exp(-mu)": lambda rng, n: (powers(rng, -6, 2.8, n),),
    "mu of every size": lambda rng, n: (extremes(rng, 2.0**-1074, 700.0, n),),
}
DRAWS = {
    name: POISSON if name.endswith("poisson") else PRIOR for name in FUNCTIONS[:6]
} | {FUNCTIONS[6]: COMPLETE, FUNCTIONS[7]: COMPLETE_POISSON}


# --- tables ------------------------------------------------------------------------


def errors_of(name, points, error_at=error_at):
    """Return (error, arguments) of the points that the contract counts."""
    found = []
    for at in zip(*(column.tolist() for column in points), strict=True):
        try:
            found.append((error_at(name, at), at))
        except ArithmeticError:
            continue
    return found


def errors_in_pieces(name, points, error_at, run):
    """Return ``errors_of`` by pieces, which ``run``, a map, evaluates."""
    pieces = max(1, len(points[0]) // PIECE)
    columns = zip(*(np.array_split(column, pieces) for column in points), strict=True)
    work = partial(errors_of, name, error_at=error_at)
    return [found for part in run(work, columns) for found in part]


def measured(name, region, draw, n, seed, error_at=error_at, run=map):
    """Return a row of the table, and the worst points as records."""
    rng = np.random.default_rng([seed, *name.encode(), *region.encode()])
    found = errors_in_pieces(name, draw(rng, n), error_at, run)
    error, at = max(found)
    right = Counter(error <= 0.5 for error, _ in found)[True] / len(found)
    row = [
        f"{name}, {region}",
        f"{len(found)}",
        worst.rounded_up(error),
        f"{100 * right:.1f} %",
        ", ".join(f"{x:.9g}" for x in at),
    ]
    return row, worst.Worst(name, at, error, command())


def contract_rows(promised, sample, ever):
    """Return the rows of worst errors, and whether one breaks its contract."""
    rows, broken = [], False
    for contract in promised:
        name, known = contract.function, ever[contract.function]
        largest = max(point.error for point in sample if point.function == name)
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


def speed_rows():
    rng = np.random.default_rng(1)
    n = SPEED_CELLS
    alpha, p = powers(rng, -6, 3, n), powers(rng, -4, 0, n)
    few = rng.integers(1, 11, n).astype(float)
    geometric = np.minimum(rng.geometric(0.4, n), 200).astype(float)
    real, below = rng.uniform(1, 16, n), rng.uniform(0.5, 1, n)
    small = rng.uniform(0.1, 0.5, n)
    risk, poisson = (
        riskcore.individual_risk_with_prior,
        riskcore.individual_risk_poisson,
    )
    cases = {
        "prior: f = 1 to 10": lambda: risk(few, few + alpha, p),
        "prior: geometric f": lambda: risk(geometric, geometric + alpha, p),
        "prior: f = 1": lambda: risk(1.0, 1.0 + alpha, p),
        "prior: f = 2, s = 2.5": lambda: risk(2.0, 2.5, p),
        "prior: f = 100": lambda: risk(100.0, 100.0 + alpha, p),
        "prior: real f in [1, 16)": lambda: risk(real, real + alpha, p),
        "prior: real f in [0.5, 1)": lambda: risk(below, below + alpha, p),
        "prior: real f in [0.1, 0.5)": lambda: risk(small, small + alpha, p),
        "no prior: s = f": lambda: risk(geometric, geometric, p),
        "Poisson: f = 1 to 10": lambda: poisson(few, 1e3 * alpha),
        "Poisson: real f in [0.5, 1)": lambda: poisson(below, 1e3 * alpha),
        "Poisson: real f in [0.1, 0.5)": lambda: poisson(small, 1e3 * alpha),
    }
    seconds = interleaved(cases, 5)
    return [[name, f"{1e9 * seconds[name] / n:.0f}"] for name in cases]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=FUNCTIONS)
    parser.add_argument("--no-speed", action="store_true", help="errors alone")
    options = parser.parse_args()
    rows, sample = [], []
    with ProcessPoolExecutor(options.processes) as pool:
        run = pool.map if options.processes > 1 else map
        for name in options.only:
            start = time.perf_counter()
            for region, draw in DRAWS[name].items():
                row, point = measured(
                    name, region, draw, options.points, options.seed, run=run
                )
                rows.append(row)
                sample.append(point)
                print(*row, sep=" | ", flush=True)
            print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    if len(options.only) < len(FUNCTIONS):  # a look, which changes no page
        return
    ever = worst.measured_again(FUNCTIONS, error_at, sample)
    contracts, broken = contract_rows(CONTRACTS, sample, ever)
    at = "at f, shape, p or f, mu"
    of_errors = ["worst of the sample, ulp", "worst ever found, ulp"]
    header = ["function, region", "points", "largest error, ulp", "correctly rounded"]
    text = [
        f"`{command()}`: {machine('numpy', 'numba', 'python-flint')}.",
        table(["function", *of_errors, at, "contract"], contracts),
        table([*header, at], rows),
    ]
    publish("prior", "\n\n".join(text))
    if not options.no_speed:
        text = [
            f"`{command()}`: {machine('numpy', 'numba')}; {SPEED_CELLS} cells, alpha "
            "in [1e-6, 1e3), p in [1e-4, 1), s = f + alpha.",
            table(["individual risk", "ns per cell"], speed_rows()),
        ]
        publish("prior_speed", "\n\n".join(text))
    sys.exit(broken)


if __name__ == "__main__":
    main()
