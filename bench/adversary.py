"""Search the worst points of every function whose accuracy is stated.

    python -m bench.adversary [--seconds 60] [--seed 1] [--only NAME ...]

Each search starts from random points of a region and from the worst points known, and
moves the worst so far by distances from 1/4 down to 2^-53, integers by whole steps.
Arb measures the errors; for the individual risk and its kin a faster measure, the
enclosure of r in extended precision, leads, and Arb has the last word. What is found
joins bench/worst_points.csv.
"""

import argparse
import math
import sys
import time
from functools import partial

import numpy as np

import riskcore
from bench import (
    accuracy,
    models_accuracy,
    posterior,
    prior,
    worst,
)
from bench._common import command
from riskcore.core.risk.bounds import risk_enclosure
from riskcore.core.special.gamma import functions
from riskcore.core.special.gauss.fast_integer import P_FORWARD, P_HALF, P_NEAR_ONE

ALIVE = 60  # points that the search goes on from
RESTARTS = 3
FRESH = 0.1  # share of the points of a round that are random again
EXTENDED = np.longdouble


# --- moves -------------------------------------------------------------------------


def moved(rng, parents, n):
    """Return n points near those given, by columns."""
    points = parents[rng.integers(len(parents), size=n)]
    distance = rng.choice([-1, 1], points.shape) * 2.0 ** -rng.uniform(
        2, 54, points.shape
    )
    near = points * (1 + distance)
    whole = (points == np.floor(points)) & (abs(points) < 2.0**40)
    steps = rng.integers(-1, 2, points.shape) * rng.choice([1, 1, 1, 30], points.shape)
    near = np.where(whole & (points != 0), points + steps, near)
    stay = rng.random(points.shape) < 0.4
    return np.where(stay, points, near)


def search(rng, draw, errors, starts, seconds, n):
    """Return (error, point) of the worst points of one search.

    ``draw(rng, n)`` returns random points, ``errors(points)`` their errors: nan for
    those that do not count.
    """
    alive = np.empty((0, starts.shape[1]))
    size = np.empty(0)
    fresh = np.vstack([starts, draw(rng, 5 * n)])
    end = time.monotonic() + seconds
    while True:
        found = np.nan_to_num(errors(fresh), nan=-1.0)
        alive, size = np.vstack([alive, fresh]), np.append(size, found)
        _, first = np.unique(alive, axis=0, return_index=True)
        first = first[np.argsort(-size[first])][:ALIVE]
        alive, size = alive[first], size[first]
        if time.monotonic() > end:
            return size, alive
        few = int(n * FRESH)
        fresh = np.vstack([moved(rng, alive, n - few), draw(rng, few)])


# --- the individual risk and its kin -----------------------------------------------

# One search for each: the worst of one region would crowd out the others.
RISKS = {
    "f = 1, p < 3/4": lambda rng, n: (np.ones(n), rng.uniform(1e-3, P_NEAR_ONE, n)),
    "f = 2, 3, 4, p < 3/4": lambda rng, n: (
        accuracy.integers(rng, 2, 4, n),
        rng.uniform(1e-3, P_NEAR_ONE, n),
    ),
    "f = 5 to 15, p < 1/2": lambda rng, n: (
        accuracy.integers(rng, 5, 15, n),
        rng.uniform(1e-3, P_HALF, n),
    ),
    "f from 2, p from 0.3": lambda rng, n: (
        accuracy.half_integers(rng, 2, 32, n),
        rng.uniform(P_FORWARD, 1, n),
    ),
    "f near 2, p from 0.3": lambda rng, n: (
        rng.uniform(2, 2.1, n),
        rng.uniform(P_FORWARD, 1, n),
    ),
    "f = 1, p >= 3/4": lambda rng, n: (np.ones(n), rng.uniform(P_NEAR_ONE, 1, n)),
    "real f below 16, p < 0.3": lambda rng, n: (
        accuracy.real(rng, 0.1, 16, n),
        rng.uniform(1e-3, P_FORWARD, n),
    ),
    "f below 4, p from 0.3": lambda rng, n: (
        accuracy.real(rng, 0.1, 4, n),
        rng.uniform(P_FORWARD, P_HALF, n),
    ),
    "f below 2, p from 0.3": lambda rng, n: (
        accuracy.real(rng, 0.1, 2, n),
        rng.uniform(P_FORWARD, 1, n),
    ),
    "f from 16": lambda rng, n: (
        accuracy.half_integers(rng, 16, 200, n),
        rng.uniform(1e-3, 1, n),
    ),
}

# Where the faster measure has too few digits.
BY_ARB = {
    "f < 1, r near 1": accuracy.near_zero_of_log,
    "f = 1 to 16, p near 1": lambda rng, n: (
        accuracy.half_integers(rng, 1, 16, n),
        1 - accuracy.log_uniform(rng, 2.0**-54, 2.0**-8, n),
    ),
    "f from 16, p near 1": lambda rng, n: (
        accuracy.half_integers(rng, 16, 40, n),
        1 - accuracy.log_uniform(rng, 2.0**-54, 0.5, n),
    ),
    "f from 16, any p": lambda rng, n: (
        accuracy.half_integers(rng, 16, 1e6, n),
        accuracy.fractions(rng, 0, 1, n),
    ),
}


def fast_errors(name, points):
    """Return errors in ulp, to 0.05, where they can be measured fast, else nan."""
    f, second = points.T
    of_frequencies = name.endswith("frequencies")
    with np.errstate(all="ignore"):
        exact_p = EXTENDED(f) / EXTENDED(second) if of_frequencies else EXTENDED(second)
        p = exact_p.astype(float)
        high, low, _, scale = risk_enclosure(f, p)
        r, r_low, q = EXTENDED(high), EXTENDED(low), 1 - EXTENDED(p)
        gradient = ((f * r - p) + f * r_low) / (q * p)
        if name.startswith("log"):
            near = (r - 1) + r_low
            r, r_low = np.where(abs(near) < 0.3, np.log1p(near), np.log(r + r_low)), 0
        elif name.endswith("gradient"):
            r, r_low = gradient, 0
        elif of_frequencies:
            r_low = r_low + gradient * (exact_p - p)
        value = getattr(riskcore, name)(f, second)
        error = abs((value - r) - r_low) / np.spacing(abs(r).astype(float))
    counts = (scale == 0) & (p > 1e-30) & (p < 1 - 1e-9) & (f < 1000)
    if name.endswith("gradient"):
        counts &= q / (f + 1) > 0.005  # else f r - p has too few digits
    return np.where(counts, error.astype(float), np.nan)


def within_risks(of_frequencies, columns):
    f, p = columns
    return np.stack([f, f / p if of_frequencies else p], axis=1)


def risk_points(name, rng, seconds, starts):
    """Return (error, arguments) of the worst points of all regions."""
    of_frequencies = name.endswith("frequencies")
    each = seconds / (len(RISKS) + len(BY_ARB)) / RESTARTS
    found = []
    for draw in BY_ARB.values():

        def points_by_arb(rng, n, draw=draw):
            return within_risks(of_frequencies, draw(rng, n))

        errors = partial(each_by_arb, accuracy.error_at, name)
        size, at = search(rng, points_by_arb, errors, starts, RESTARTS * each, 200)
        found += list(zip(size.tolist(), map(tuple, at.tolist()), strict=True))
    for draw in RISKS.values():
        for _ in range(RESTARTS):

            def points(rng, n, draw=draw):
                return within_risks(of_frequencies, draw(rng, n))

            errors = partial(fast_errors, name)
            _, worst_points = search(rng, points, errors, starts, each, 50_000)
            for at in map(tuple, worst_points[:10].tolist()):
                found.append((accuracy.error_at(name, at), at))
    return found


# --- the posterior and the functions of the models ---------------------------------


def each_by_arb(error_at, name, points):
    """Return the errors of points one by one, nan outside the domain."""
    found = []
    for at in map(tuple, points.tolist()):
        try:
            found.append(error_at(name, at))
        except (ArithmeticError, AssertionError, ValueError, OverflowError):
            found.append(math.nan)
    return np.array(found, float)


def arb_points(module, name, regions, rng, seconds, starts, n):
    """Return (error, arguments) of the worst points of all regions."""
    each = seconds / len(regions)
    found = []
    for draw in regions:
        errors = partial(each_by_arb, module.error_at, name)

        def points(rng, n, draw=draw):
            return np.stack(draw(rng, n), axis=1)

        size, at = search(rng, points, errors, starts, each, n)
        found += list(zip(size.tolist(), map(tuple, at.tolist()), strict=True))
    return found


def subjects():
    """Return, by function, what searches for its worst points."""
    found = {name: partial(risk_points, name) for name in accuracy.FUNCTIONS}
    slow = ("p to 1e-300", "1 - p to 2^-53", "real f in [64, 1e9)")
    moments = [draw for name, draw in posterior.MOMENTS.items() if name not in slow]
    for name in posterior.FUNCTIONS:
        found[name] = partial(_searched, posterior, name, moments, 20)
    for name, regions in models_accuracy.POINTS.items():
        draws = list(regions.values())
        found[name] = partial(_searched, models_accuracy, name, draws, 300)
    for name, regions in prior.DRAWS.items():
        n = 20 if "second_moment" in name else 60
        found[name] = partial(_searched, prior, name, list(regions.values()), n)
    return found


def _searched(module, name, regions, n, rng, seconds, starts):
    return arb_points(module, name, regions, rng, seconds, starts, n)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="for each function")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    options = parser.parse_args()
    every = subjects()
    for index, (name, work) in enumerate(every.items()):
        if options.only and name not in options.only:
            continue
        rng = np.random.default_rng([options.seed, index])
        known = [point for point in worst.read() if point.function == name]
        columns = len(known[0].arguments) if known else COLUMNS.get(name, 2)
        starts = np.array([point.arguments for point in known]).reshape(-1, columns)
        found = work(rng, options.seconds, starts)
        best = max(found)
        points = [worst.Worst(name, at, error, command()) for error, at in found]
        worst.write([*worst.read(), *(p for p in points if p.error > 0)])
        print(f"{name}: {best[0]:.4f} at {', '.join(x.hex() for x in best[1])}",
              flush=True)  # fmt: skip


COLUMNS = {
    **dict.fromkeys(list(models_accuracy.EXACT)[:3], 3),
    **dict.fromkeys(list(models_accuracy.EXACT)[9:], 1),
    **{name: 3 for name in prior.FUNCTIONS if name.endswith("with_prior")},
    prior.FUNCTIONS[-1]: 1,
}
assert set(functions.UFUNCS) == set(models_accuracy.EXACT)

if __name__ == "__main__":
    sys.exit(main())
