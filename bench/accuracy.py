"""Measure the largest error of the four kernels against Arb balls.

    python -m bench.accuracy [--points 1000000] [--seed 1] [--quick]

Each region of the (f, p) plane, its borders and the extremes of the doubles get an
equal share of the points. The exact value is a ball of Arb (python-flint): 2F1 itself
for f < 200, above it the series with a proven bound of what is left out; the kernels
use neither. The precision is raised until the error in ulp is known to 0.005. Some
points of each region are computed again by mpmath. The worst points ever found, in
worst_points.csv, are evaluated too, and those of this sample join them if they are
worse. Writes accuracy.md and its summary; a broken contract ends the run with status 1.
"""

import argparse
import math
import multiprocessing
import random
import sys
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from flint import arb, ctx

import riskcore
from bench import worst
from bench._common import HERE, command, publish, table
from riskcore.accuracy import reference
from riskcore.core.risk.individual import CONTRACTS
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
# The enclosures have cuts of their own.
MIDDLE_CUTS = [P_FORWARD, P_HALF, P_NEAR_ONE]
MIDDLE_CUTS += [enclosure.P_LEVELS, enclosure.P_SHORT]
P_CUTS = [*MIDDLE_CUTS, 2.0**-20, 2.0**-22, 2.0**-400, RARE, RARE_FREQUENCIES]
P_CUTS += [2.0**-1022, 1 - 2.0**-22, 1 - 2.0**-20, 1.0]
F_CUTS = [*range(1, 18), 32, 128, 1000, F_HUGE, 2.0**52, 2.0**53, 2.0**60]
F_CUTS += [0.5, 1.5, 2.5, 3.5, 14.5, 15.5, 31.5, RARE, 2.0**-400, 2.0**400]
# Below it a value's second word loses bits, and mpmath takes minutes.
FAINT = 2.0**-960
CHUNK = 2500

ERROR_KNOWN = 0.005  # ulp
HALF = arb(0.5)  # ulp: an error below it is that of correct rounding
UNDECIDED = 8000  # bits at which an error is no longer told from 1/2
BALL_PRECISION = 128
SERIES_FROM = 200  # f from which the series needs fewer than 50 terms


# --- where the points lie ----------------------------------------------------------


def log_uniform(rng, low, high, n):
    return np.exp(rng.uniform(math.log(low), math.log(high), n)).clip(low, high)


def fractions(rng, low, high, n):
    """Return p in [low, high), evenly in p, log p and, up to 1, in log(1 - p)."""
    p = rng.uniform(low, high, n)
    p[: n // 3] = log_uniform(rng, max(low, 1e-15), high, n // 3)
    if high == 1.0:
        near = 1 - log_uniform(rng, 2.0**-54, 0.5, n // 3)
        p[-(n // 3) :] = near.clip(low)
    return p.clip(low or SMALLEST, high)


def integers(rng, low, high, n):
    return rng.integers(low, high, n, endpoint=True).astype(float)


def real(rng, low, high, n):
    """Return f in [low, high), evenly in f and in log f."""
    f = rng.uniform(low, high, n)
    f[: n // 2] = log_uniform(rng, low, high, n // 2)
    return f


def half_integers(rng, low, high, n):
    """Return f of which half are integers from 1."""
    f = real(rng, low, high, n)
    f[::2] = np.rint(f[::2]).clip(1)
    return f


def any_double(rng, low, high, n):
    """Return doubles whose bit patterns are uniform: every exponent as often."""
    bounds = np.array([low, high]).view(np.int64)
    return rng.integers(*bounds, n, endpoint=True).view(np.float64)


def beside(rng, cuts, n):
    """Return doubles up to two ulp away from the cuts."""
    return (rng.choice(cuts, n).view(np.int64) + rng.integers(-2, 3, n)).view(float)


def near_integers(rng, n):
    distance = rng.choice([-1, 1], n) * 2.0 ** -rng.uniform(1, 53, n)
    return rng.integers(1, 20, n) * (1 + distance)


def borders(rng, n):
    f = beside(rng, np.array(F_CUTS), n)
    p = beside(rng, np.array(P_CUTS), n)
    f[::3] = half_integers(rng, 0.1, 40, len(f[::3]))
    p[1::3] = fractions(rng, 0, 1, len(p[1::3]))
    return f, p.clip(SMALLEST, 1)


def strips(rng, n):
    """Return f < 17 with p just above and below the cuts, where errors are largest."""
    f = half_integers(rng, 0.01, 17, n)
    f[1::4] = rng.uniform(1.9, 2.1, len(f[1::4]))
    return f, (rng.choice(MIDDLE_CUTS, n) * rng.uniform(0.9, 1.1, n)).clip(None, 1)


def near_zero_of_log(rng, n):
    """Return f < 1 and p where r(f, p) is near 1."""
    f = rng.uniform(0.02, 1, n)
    low, high = np.zeros(n), np.ones(n)
    for _ in range(60):
        p = (low + high) / 2
        above = riskcore.individual_risk(f, p) > 1
        low, high = np.where(above, low, p), np.where(above, p, high)
    distance = rng.choice([-1, 1], n) * 2.0 ** -rng.uniform(3, 60, n)
    return f, (p * (1 + distance)).clip(SMALLEST, 1)


def extremes(rng, n):
    f = any_double(rng, F_SMALLEST, LARGEST, n)
    p = any_double(rng, SMALLEST, 1.0, n)
    p[::8] = fractions(rng, 0, 1, len(p[::8]))
    f[1::8] = half_integers(rng, 0.1, 40, len(f[1::8]))
    f[2::8] = any_double(rng, 2.0**900, LARGEST, len(f[2::8]))  # r near its smallest
    return f, p


REGIONS = {
    "f = 1": lambda rng, n: (np.ones(n), fractions(rng, 0, 1, n)),
    "f = 2, 3, 4, p < 0.75": lambda rng, n: (
        integers(rng, 2, 4, n),
        fractions(rng, 0, P_NEAR_ONE, n),
    ),
    "f = 5 to 15, p < 0.5": lambda rng, n: (
        integers(rng, 5, 15, n),
        fractions(rng, 0, P_HALF, n),
    ),
    "f = 2 to 15, p >= 0.5": lambda rng, n: (
        integers(rng, 2, 15, n),
        fractions(rng, P_HALF, 1, n),
    ),
    "f in [16, 32)": lambda rng, n: (
        half_integers(rng, 16, 32, n),
        fractions(rng, 0, 1, n),
    ),
    "f in [32, 1000)": lambda rng, n: (
        half_integers(rng, 32, 1000, n),
        fractions(rng, 0, 1, n),
    ),
    "f from 1000": lambda rng, n: (
        half_integers(rng, 1000, 1e12, n),
        fractions(rng, 0, 1, n),
    ),
    "real f in [2, 16), p >= 0.5": lambda rng, n: (
        real(rng, 2, 16, n),
        fractions(rng, P_HALF, 1, n),
    ),
    "real f in [2, 16), p < 0.5": lambda rng, n: (
        real(rng, 2, 16, n),
        fractions(rng, 0, P_HALF, n),
    ),
    "f in (1, 2)": lambda rng, n: (real(rng, 1, 2, n), fractions(rng, 0, 1, n)),
    "f in (0.5, 1)": lambda rng, n: (real(rng, 0.5, 1, n), fractions(rng, 0, 1, n)),
    "f <= 0.5": lambda rng, n: (real(rng, 1e-6, 0.5, n), fractions(rng, 0, 1, n)),
    "f < 1, r near 1": near_zero_of_log,
    "f near integers": lambda rng, n: (near_integers(rng, n), fractions(rng, 0, 1, n)),
    "p near the cuts": strips,
    "borders and their neighbors": borders,
    "extreme f and p": extremes,
    "subnormal p": lambda rng, n: (
        half_integers(rng, 1e-3, 50, n),
        any_double(rng, SMALLEST, 2.0**-1022, n),
    ),
}


# --- exact values ------------------------------------------------------------------


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


def exact_of_fraction(f, p):
    r, gradient = risk_and_gradient(f, p, 1 - p)
    return r, r.log(), gradient


def exact_of_frequencies(f, F):
    return risk_and_gradient(f, f / F, (F - f) / F)[:1]


def error_in_ulp(value, exact):
    """Return (value - exact)/ulp(exact) as a ball."""
    mantissa, exponent = exact.mid().man_exp()
    if mantissa == 0:
        return arb(0 if value == 0 else math.inf)
    exponent = max(abs(int(mantissa)).bit_length() + int(exponent), -1021)
    if math.isinf(value) and exponent > 1024:
        return arb(0)  # beyond the doubles: infinite is its rounding
    if not math.isfinite(value):
        raise AssertionError(f"{value} in the domain, exact value {exact}")
    return (arb(value) - exact) * arb(2) ** (53 - exponent)


def rounded_down_below_half(error):
    """Return an error as a double, less than 1/2 in size if it is."""
    size = float(error.mid())
    below = math.copysign(math.nextafter(0.5, 0.0), size)
    return below if abs(size) >= 0.5 and abs(error) < HALF else size


def errors(values, exact, x, y):
    """Return the errors in ulp of ``values`` at (x, y), known to ``ERROR_KNOWN``."""
    # Bits to hold 1 - p and f - 1, and as many to lose where they cancel.
    spread = sum(max(0, -math.frexp(number)[1]) for number in (x, x / y, y))
    precision = BALL_PRECISION + spread
    while precision < 100_000:
        ctx.prec = precision
        balls = exact(arb(x), arb(y))
        found = [
            error_in_ulp(*case)
            for case in zip(values, balls, strict=True)
            if case[1].is_finite()
        ]
        if len(found) == len(values) and all(
            error.rad() < ERROR_KNOWN
            and (not abs(error).overlaps(HALF) or precision > UNDECIDED)
            for error in found
        ):
            return [rounded_down_below_half(error) for error in found]
        precision *= 2
    raise ArithmeticError(f"no narrow ball at {x.hex()}, {y.hex()}")


FUNCTIONS = [
    "individual_risk",
    "log_individual_risk",
    "individual_risk_gradient",
    "individual_risk_from_frequencies",
]


def error_at(name, arguments):
    """Return the size of the error in ulp of one function at one point."""
    value = float(getattr(riskcore, name)(*arguments))
    if name.endswith("frequencies"):
        return abs(errors([value], exact_of_frequencies, *arguments)[0])
    index = FUNCTIONS.index(name)

    def exact(f, p):
        return exact_of_fraction(f, p)[index : index + 1]

    return abs(errors([value], exact, *arguments)[0])


# --- the sweep ---------------------------------------------------------------------


class Found(NamedTuple):
    """Errors of one function in one region, and the worst point."""

    points: int
    worst: float
    rounded: int
    at: tuple[float, float]


def found_at(x, y, error):
    """Return what the errors at points (x, y) show."""
    if len(error) == 0:
        return Found(0, 0.0, 0, (math.nan, math.nan))
    i = error.argmax()
    at = (float(x[i]), float(y[i]))
    return Found(len(error), float(error[i]), int((error < 0.5).sum()), at)


def summarize(parts):
    worst = max(parts, key=lambda part: (part.worst, part.at))
    return Found(
        sum(part.points for part in parts),
        worst.worst,
        sum(part.rounded for part in parts),
        worst.at,
    )


def points(region, seed, part, n):
    """Return f, p and F = f/p of one part of a region."""
    number = list(REGIONS).index(region)
    rng = np.random.default_rng([seed, number, part])
    f, p = REGIONS[region](rng, n)
    with np.errstate(over="ignore"):
        F = np.minimum(f / p, LARGEST)
    return f, p, F


def sweep(work):
    """Return the region and, for each function, what one part of it shows."""
    region, *_ = work
    f, p, F = points(*work)
    risks = [getattr(riskcore, name)(f, p) for name in FUNCTIONS[:3]]
    risks_at_quotient = riskcore.individual_risk_from_frequencies(f, F)
    measured = []
    for i, (x, y, z) in enumerate(zip(f.tolist(), p.tolist(), F.tolist(), strict=True)):
        values = [float(risk[i]) for risk in risks]
        of_fraction = errors(values, exact_of_fraction, x, y)
        of_frequencies = errors(
            [float(risks_at_quotient[i])], exact_of_frequencies, x, z
        )
        measured.append(of_fraction + of_frequencies)
    values = [*risks, risks_at_quotient]
    apart = [value < FAINT for value in values]
    apart[1] = np.zeros(len(f), bool)
    found = []
    for error, y, aside in zip(np.abs(measured).T, [p, p, p, F], apart, strict=True):
        parts = [found_at(f[m], y[m], error[m]) for m in (~aside, aside)]
        found.append(tuple(parts))
    return region, found


def check_reference(seed):
    """Compare the balls with mpmath at a few points; return how many."""
    ctx.prec = 1000
    count = 0
    for region in REGIONS:
        f, p, _ = points(region, seed, 0, 600)
        for x, y in zip(f[::60].tolist(), p[::60].tolist(), strict=True):
            if not (1e-30 < x < 1e6 and y > 1e-30):
                continue  # mpmath would take minutes
            exact, by_mpmath = exact_of_fraction(arb(x), arb(y)), reference
            for ball, name in zip(exact, FUNCTIONS[:3], strict=True):
                sign, man, exponent, _ = getattr(by_mpmath, name)(x, y)._mpf_
                other = arb(int(man)) * arb(2) ** exponent * (-1) ** sign
                if not abs(ball - other) <= abs(ball) * arb(2) ** -90:
                    raise AssertionError(f"{name}: Arb and mpmath differ at {x}, {y}")
            count += 1
    return count


# --- tables ------------------------------------------------------------------------


# Points that do not count in the row of the function.
APART = {
    "individual_risk": "r < 2^-960",
    "individual_risk_gradient": "dr/dp < 2^-960",
    "individual_risk_from_frequencies": "r < 2^-960",
}


def row(name, found):
    first, second = found.at
    if found.points == 0:
        return [name, "0", "", "", "", ""]
    return [
        name,
        f"{found.points}",
        worst.rounded_up(found.worst),
        f"{100 * found.rounded / found.points:.1f} %",
        f"`{first.hex()}` ({first:.6g})",
        f"`{second.hex()}` ({second:.6g})",
    ]


def promised(name):
    """Return the bound of the error that a function promises, in ulp."""
    (ulps,) = (contract.ulps for contract in CONTRACTS if contract.function == name)
    return ulps


def label_of(name, apart):
    return f"{name}, {APART[name]}" if apart else name


LABELS = [
    label_of(name, apart)
    for name in FUNCTIONS
    for apart in ([False, True] if name in APART else [False])
]


def totals(results):
    """Return what the sample shows of each function, its points and those apart."""
    found = {}
    for index, name in enumerate(FUNCTIONS):
        for apart in (False, True):
            parts = [region[index][apart] for region in results.values()]
            if not apart or name in APART:
                found[label_of(name, apart)] = summarize(parts)
    return found


def worst_ever(found, keep):
    """Return the worst point known of each row, those of this sample included."""

    def error(label, arguments):
        return error_at(label.partition(",")[0], arguments)

    sample = [
        worst.Worst(label, total.at, total.worst, command())
        for label, total in found.items()
        if total.points > 0
    ]
    return worst.measured_again(LABELS, error, sample, keep=keep)


def total_row(label, total, ever):
    """Return one row of the summary."""
    ulps = promised(label.partition(", ")[0])
    holds = max(total.worst, ever.error) <= ulps
    name, points, largest, rounded, *_ = row(label, total)
    verdict = f"{ulps} ulp: {'holds' if holds else 'BROKEN'}"
    known = worst.rounded_up(ever.error)
    return [name, points, largest, known, rounded, *ever.places, verdict]


def header(of, second):
    return [of, "points", "largest error, ulp", "correctly rounded", "at f", second]


def page(results, ever, count, seed):
    """Return the summary and the page of all regions."""
    packages = ["python-flint", "numpy", "mpmath"]
    versions = [f"riskcore {riskcore.__version__}"]
    versions += [f"{package} {version(package)}" for package in packages]
    sections = []
    for index, name in enumerate(FUNCTIONS):
        by_region = {region: found[index] for region, found in results.items()}
        rows = [row(region, found) for region, (found, _) in by_region.items()]
        second = "at F" if name.endswith("frequencies") else "at p"
        sections.append(f"## {name}\n\n{table(header('region', second), rows)}")
    intro = (
        f"`{command()}`: {', '.join(versions)}, seed {seed}.\n"
        f"Reference: Arb balls; at {count} points also mpmath, to 2^-90. No nan,\n"
        "and inf only where the exact value is beyond the largest double. The worst\n"
        "error ever found, by any sample or search, is at the place shown; errors\n"
        "are rounded up. Values below 2^-960, where bits are lost to underflow, have\n"
        "rows of their own and are in no others."
    )
    errors_of = ["worst of the sample, ulp", "worst ever found, ulp"]
    columns = ["function", "points", *errors_of, "correctly rounded"]
    summary = [
        total_row(label, total, ever[label]) for label, total in totals(results).items()
    ]
    columns += ["at f", "at p, or F", "contract"]
    short = f"{intro}\n\n{table(columns, summary)}"
    title = "# Accuracy of the kernels\n\nGenerated; do not edit. "
    return short, title + short + "\n\n" + "\n\n".join(sections) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=1_005_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="15000 points, no page")
    options = parser.parse_args()
    per_region = (15_000 if options.quick else options.points) // len(REGIONS)
    work = [
        (region, options.seed, part, min(CHUNK, per_region - part * CHUNK))
        for region in REGIONS
        for part in range(math.ceil(per_region / CHUNK))
    ]
    random.Random(options.seed).shuffle(work)  # slow regions not all at the end
    parts = {region: [] for region in REGIONS}
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for region, found in pool.imap_unordered(sweep, work):
            parts[region].append(found)
    results = {
        region: [
            tuple(summarize(part) for part in zip(*function, strict=True))
            for function in zip(*found, strict=True)
        ]
        for region, found in parts.items()
    }
    ever = worst_ever(totals(results), keep=not options.quick)
    count = check_reference(options.seed)
    short, whole = page(results, ever, count, options.seed)
    if options.quick:
        print(whole)
    else:
        publish("accuracy", short)
        (HERE / "accuracy.md").write_text(whole)
    return 1 if "BROKEN" in short else 0


if __name__ == "__main__":
    sys.exit(main())
