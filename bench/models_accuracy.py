"""Measure the special functions of the population models against Arb balls.

    python -m bench.models_accuracy [--points 4000] [--seed 1] [--no-speed]

Exact values are differences of Arb's log-gamma, digamma and Hurwitz zeta functions, at
a precision that covers what cancels; the kernels use none of them. A second table takes
log P(F = 1 | f = 1) of the Dirichlet-multinomial model from n, N, K and alpha, so that
the rounding of the arguments counts. The worst points ever found, in worst_points.csv,
are evaluated too, and those of this sample join them if they are worse. Writes
bench/README.md; a broken contract ends the run with status 1.
"""

import argparse
import math
import sys
from functools import partial

import numpy as np
from flint import arb, ctx
from scipy.special import gammaln

from bench import worst
from bench._common import command, interleaved, machine, publish, table
from bench.posterior import Case, all_errors, error_in_ulp, measure_row, powers
from riskcore.core.special.gamma import functions
from riskcore.core.special.gamma.functions import CONTRACTS, ZERO

SPEED_POINTS = 20_000
GOAL = 1e-15  # relative error of log P(F = 1 | f = 1)


# --- exact values ------------------------------------------------------------------


def rising(x, m):
    return (x + m).lgamma() - x.lgamma()


def digamma_gap(x, m):
    return (x + m).digamma() - x.digamma()


def trigamma_gap(x, m):
    return arb(2).zeta(x) - arb(2).zeta(x + m)


def curvature(x, s, t):
    return rising(x, t) - 2 * rising(x + s, t) + rising(x + 2 * s, t)


EXACT = {
    "log_gamma_ratio": lambda x, s, t: rising(x, s) - rising(x + t, s),
    "gamma_ratio": lambda x, s, t: (rising(x, s) - rising(x + t, s)).exp(),
    "log_gamma_ratio_curvature": curvature,
    "log_rising_factorial": rising,
    "log_rising_excess": lambda x, m: rising(x, m) - m * x.log(),
    "digamma_difference": digamma_gap,
    "digamma_deficit": lambda x, m: m / x - digamma_gap(x, m),
    "trigamma_difference": trigamma_gap,
    "trigamma_deficit": lambda x, m: m / x**2 - trigamma_gap(x, m),
    "log": lambda x: x.log(),
    "log1p": lambda x: x.log1p(),
    "log1pmx": lambda x: x.log1p() - x,
    "exp": lambda x: x.exp(),
    "expm1": lambda x: x.expm1(),
}


def exact(name, arguments):
    sizes = [*arguments, *(x - 1 for x in arguments)]
    ctx.prec = 300 + 3 * sum(abs(math.frexp(x)[1]) for x in sizes)
    return EXACT[name](*map(arb, arguments))


def error_at(name, arguments):
    """Return the error in ulp of one function at one point."""
    ball = exact(name, arguments)
    least = ZERO if name == "log_rising_factorial" else 2.0**-1000
    if not abs(ball) > least:
        raise ArithmeticError("next to a zero, where the error is absolute")
    return error_in_ulp(float(getattr(functions, name)(*arguments)), ball)


# --- points ------------------------------------------------------------------------


def both_signs(rng, low, high, n):
    return rng.choice([-1.0, 1.0], n) * powers(rng, low, high, n)


def whole(rng, low, high, n):
    return np.floor(powers(rng, low, high, n))


def next_to_zero(rng, n):
    """Return x and m with Gamma(x+m) near Gamma(x): x below psi's zero at 1.4616."""
    x = rng.uniform(0.01, 1.46, n)
    low, high = 1.4617 - x, np.full(n, 200.0)
    for _ in range(60):
        middle = (low + high) / 2
        above = functions.log_rising_factorial(x, middle) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return x, low * (1 + both_signs(rng, -17, -1, n))


RATIOS = {
    "x to 1e18, s to 1e6, t to 1e10": lambda rng, n: (
        powers(rng, -2, 18, n),
        powers(rng, -6, 6, n),
        whole(rng, 0, 10, n),
    ),
    "x < 20": lambda rng, n: (
        rng.uniform(0, 20, n),
        powers(rng, -3, 3, n),
        powers(rng, -3, 3, n),
    ),
    "1e-20 to 1e20": lambda rng, n: tuple(powers(rng, -20, 20, n) for _ in range(3)),
    "2^-150 to 2^150": lambda rng, n: tuple(
        2.0 ** rng.uniform(-150, 150, n // 4) for _ in range(3)
    ),
}
STEPS = {
    "integer m to 30": lambda rng, n: (
        powers(rng, -12, 18, n),
        rng.integers(0, 31, n).astype(float),
    ),
    "x < 20": lambda rng, n: (rng.uniform(0, 20, n), powers(rng, -3, 3, n)),
    "m near 1": lambda rng, n: (
        powers(rng, -3, 6, n),
        1 + both_signs(rng, -16, -0.4, n),
    ),
    "1e-20 to 1e20": lambda rng, n: (powers(rng, -20, 20, n), powers(rng, -20, 20, n)),
    "2^-150 to 2^150": lambda rng, n: tuple(
        2.0 ** rng.uniform(-150, 150, n // 4) for _ in range(2)
    ),
}
SMALL = {
    "abs(x) < 1": lambda rng, n: (
        np.where(
            rng.random(n) < 0.5, rng.uniform(-1, 1, n), both_signs(rng, -30, 0, n)
        ),
    ),
}
POINTS = {
    **dict.fromkeys(list(EXACT)[:3], RATIOS),
    **dict.fromkeys(list(EXACT)[3:9], STEPS),
    "log_rising_factorial": STEPS | {"next to its zeros": next_to_zero},
    "log": {
        "all sizes": lambda rng, n: (powers(rng, -307, 308, n),),
        "near 1": lambda rng, n: (1 + both_signs(rng, -16, -0.4, n),),
    },
    "log1p": SMALL | {"x to 1e308": lambda rng, n: (powers(rng, 0, 308, n),)},
    "log1pmx": SMALL | {"x to 1e308": lambda rng, n: (powers(rng, 0, 308, n),)},
    "exp": SMALL | {"abs(x) < 700": lambda rng, n: (rng.uniform(-700, 700, n),)},
    "expm1": SMALL | {"abs(x) < 700": lambda rng, n: (rng.uniform(-700, 700, n),)},
}


# --- tables ------------------------------------------------------------------------


def measured(name, points):
    """Return computed and exact values with their arguments, without the zeros."""
    computed = getattr(functions, name)(*points).tolist()
    rows = []
    arguments = np.transpose(points).tolist()
    for value, at in zip(computed, map(tuple, arguments), strict=True):
        ball = exact(name, at)
        if ball.contains(0):  # m = 0, m = 1 and the like
            if value != 0:
                raise AssertionError(f"{name}{at} is {value}, exactly 0")
            continue
        if abs(ball) > 2.0**-1000:
            rows.append((value, ball, at))
    return zip(*rows, strict=True)


def function_rows(rng, name, n):
    """Return table rows of a function, and its worst error with the arguments."""
    rows, largest = [], (0.0, ())
    for region, draw in POINTS[name].items():
        computed, balls, at = measured(name, draw(rng, n))
        if name == "log_rising_factorial":
            far = [abs(ball) > ZERO for ball in balls]
            computed, balls, at = (
                [x for x, keep in zip(column, far, strict=True) if keep]
                for column in (computed, balls, at)
            )
        case = Case(name, region, all_errors(computed, balls), list(at))
        rows.append(measure_row(case))
        largest = max(largest, (case.errors[case.largest], at[case.largest]))
    return rows, largest


def zero_row(rng, n):
    """Return the row of log (x)_m where it is below ``ZERO``, in units of 2^-59."""
    computed, balls, at = measured("log_rising_factorial", next_to_zero(rng, n))
    errors = [
        float(abs(arb(value) - ball).mid()) * 2.0**59
        for value, ball in zip(computed, balls, strict=True)
        if abs(ball) < ZERO
    ]
    k = int(np.argmax(errors))
    where = ", ".join(f"{x:.9g}" for x in at[k])
    name = "log_rising_factorial, abs(log (x)_m) < 2^-6, error in 2^-59"
    return [name, f"{len(errors)}", f"{max(errors):.2f}", "-", where]


def unique_rows(rng, n):
    """Return the rows of log P(F = 1 | f = 1) from n, N, K, alpha."""
    N = whole(rng, 2, 10, n)
    sample = np.floor(N * powers(rng, -3, 0, n)).clip(2)
    K = whole(rng, 0.4, 12, n)
    alpha = powers(rng, -12, 6, n)
    x, s, t = (sample - 1) + (K - 1) * alpha, 1 + alpha, N - sample
    keep = t > 0
    ours, naive = [], []
    stable = functions.log_gamma_ratio(x, s, t)
    with np.errstate(all="ignore"):
        textbook = gammaln(x + s) + gammaln(x + t) - gammaln(x) - gammaln(x + s + t)
    for i in np.flatnonzero(keep).tolist():
        ctx.prec = 600
        a = arb(alpha[i])
        start = (arb(sample[i]) - 1) + (arb(K[i]) - 1) * a
        ball = EXACT["log_gamma_ratio"](start, 1 + a, arb(t[i]))
        for errors, value in ((ours, stable[i]), (naive, textbook[i])):
            errors.append(float(abs(arb(float(value)) / ball - 1).mid()))
    return [
        [name, f"{len(errors)}", f"{max(errors):.1e}", f"{np.median(errors):.1e}"]
        for name, errors in (("log_gamma_ratio", ours), ("four log-gammas", naive))
    ], max(ours)


def contract_rows(sample, ever):
    """Return the rows of worst errors, and whether one breaks its contract."""
    promised = {contract.function: contract.ulps for contract in CONTRACTS}
    rows, broken = [], False
    for point in sample:
        known = ever[point.function]
        holds = known.error <= promised[point.function]
        broken |= not holds
        rows.append(
            [
                point.function,
                worst.rounded_up(point.error),
                worst.rounded_up(known.error),
                ", ".join(f"`{x.hex()}`" for x in known.arguments),
                f"{promised[point.function]:g} ulp: {'holds' if holds else 'broken'}",
            ]
        )
    return rows, broken


def speed_rows(rng):
    cases = {}
    for name, regions in POINTS.items():
        points = next(iter(regions.values()))(rng, SPEED_POINTS)
        cases[name] = partial(getattr(functions, name), *points)
    medians = interleaved(cases, 5)
    return [[name, f"{1e9 * medians[name] / SPEED_POINTS:.0f}"] for name in cases]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-speed", action="store_true", help="errors alone")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    rows, sample = [], []
    for name in EXACT:
        found, (error, at) = function_rows(rng, name, options.points)
        rows += found
        sample.append(worst.Worst(name, at, error, command()))
    ever = worst.measured_again(list(EXACT), error_at, sample)
    contracts, broken = contract_rows(sample, ever)
    rows.append(zero_row(rng, options.points))
    unique, largest = unique_rows(rng, options.points)
    reached = "reached" if largest <= GOAL else "missed"
    header = ["function, region", "points", "largest error, ulp"]
    of_errors = ["worst of the sample, ulp", "worst ever found, ulp", "at", "contract"]
    text = [
        f"`{command()}`: {machine('numpy', 'scipy', 'numba', 'python-flint')}.",
        table(["function", *of_errors], contracts),
        table([*header, "correctly rounded", "at"], rows),
        "log P(F = 1 | f = 1) of the Dirichlet-multinomial model, the arguments formed "
        "in doubles\nfrom n, N to 1e10, K to 1e12 and alpha in [1e-12, 1e6]; goal "
        f"{GOAL:g}: {reached}.",
        table(
            ["method", "points", "largest relative error", "median"],
            unique,
        ),
    ]
    publish("models_accuracy", "\n\n".join(text))
    if not options.no_speed:
        speed = table(["ns per value, first region", "riskcore"], speed_rows(rng))
        where = machine("numpy", "scipy", "numba")
        publish("models_speed", f"`{command()}`: {where}.\n\n{speed}")
    sys.exit(broken)


if __name__ == "__main__":
    main()
