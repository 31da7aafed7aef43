"""Check the proven bounds against Arb balls, and search the hardest points.

    python -m bench.enclosures [--points 2400000] [--search 20000000] [--quick]

Every point of the sweep (those of bench/accuracy.py: regions, borders, extremes) must
lie in its bounds and in its double-double ball by Arb's value, with as many bits as it
takes to decide; one failure ends the run. The search evaluates the balls of many more
points and keeps those next to a double or to the middle between two; Arb then measures
how near they are. It writes tests/core/points/hardest_points.csv.
"""

import argparse
import csv
import heapq
import math
import multiprocessing
import time
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from flint import arb, ctx

import riskcore
from bench._common import HERE, command, publish, table
from bench.accuracy import REGIONS, risk_and_gradient
from riskcore.core.risk.bounds import risk_enclosure

DATA = HERE.parent / "tests" / "core" / "points" / "hardest_points.csv"
CHUNK = 5000
SEARCH_CHUNK = 500_000
KEPT = 6


def exact(f, p, bits):
    """Return a ball around r(f, p) of a relative radius below 2^-bits."""
    spread = sum(max(0, -math.frexp(x)[1]) for x in (f, p))
    precision = bits + 40 + spread
    while True:
        ctx.prec = precision
        x, y = arb(f), arb(p)
        r, _ = risk_and_gradient(x, y, 1 - y)
        if r.is_finite() and r.rel_accuracy_bits() > bits:
            return r
        precision *= 2


# --- the sweep ---------------------------------------------------------------------


class Point(NamedTuple):
    f: float
    p: float
    lower: float
    upper: float
    high: float
    low: float
    radius: float
    n: float

    def holds(self, bits=160):
        """Return whether bounds and ball contain Arb's value."""
        while bits < 5000:
            r = exact(self.f, self.p, bits)
            middle = arb(self.high) + arb(self.low)
            distance = abs(middle - r * arb(2) ** int(600 * self.n))
            if self.outside(r) or distance > arb(self.radius):
                return False
            if self.inside(r) and distance <= arb(self.radius):
                return True
            bits *= 2
        raise ArithmeticError(f"undecided at {self.f.hex()}, {self.p.hex()}")

    def inside(self, r):
        if self.p == 1:  # no ball decides an equality; the product is exact
            r, one = arb(self.f), arb(1)
            above = math.isinf(self.upper) or arb(self.upper) * r >= one
            return arb(self.lower) * r <= one and above
        return arb(self.lower) <= r and (math.isinf(self.upper) or r <= arb(self.upper))

    def outside(self, r):
        above = not math.isinf(self.upper) and r > arb(self.upper)
        return r < arb(self.lower) or above


class Found(NamedTuple):
    points: int
    equal: int
    wider: int
    radius: float  # the largest relative to the risk


def sweep(work):
    """Check one part of a region; raise at the first failure."""
    region, seed, part, n = work
    rng = np.random.default_rng([seed, list(REGIONS).index(region), part])
    f, p = (np.asarray(x, float) for x in REGIONS[region](rng, n))
    lower, upper = riskcore.individual_risk_bounds(f, p)
    ball = risk_enclosure(f, p)
    for numbers in zip(f, p, lower, upper, *ball, strict=True):
        point = Point(*map(float, numbers))
        if not point.holds():
            raise AssertionError(f"r is outside {point}")
    with np.errstate(over="ignore"):
        wider = int((np.nextafter(lower, np.inf) < upper).sum())
    high, _, radius, _ = ball
    found = Found(n, int((lower == upper).sum()), wider, float((radius / high).max()))
    return region, found


# --- the search --------------------------------------------------------------------


def uniform_p(rng, n):
    """Return p in (1e-6, 1), half evenly, half in log p."""
    p = rng.uniform(1e-6, 1, n)
    p[::2] = np.exp(rng.uniform(math.log(1e-6), 0, len(p[::2])))
    return p


def near_one(rng, n):
    """Return f = 2^j, or f + 1 a divisor of q 2^53, and p within 2^-20 of 1."""
    f = 2.0 ** rng.integers(-6, 7, n)
    f[::3] = rng.integers(1, 40, len(f[::3]))
    steps = np.floor(2.0 ** rng.uniform(1, 33, n))
    return f, 1 - steps * 2.0**-53


def short(rng, n):
    """Return large f of few bits and p of few bits."""
    f = rng.integers(1, 64, n) * 2.0 ** rng.integers(5, 45, n)
    return f, rng.integers(1, 64, n) / 64.0


def multiples(rng, n):
    """Return integer f and small p near (f-1) 2^-k: r is near p/(f-1)."""
    f = rng.integers(2, 200, n).astype(float)
    scale = 2.0 ** -rng.integers(15, 40, n)
    return f, (f - 1) * scale * (1 + rng.integers(-(2**20), 2**20, n) * 2.0**-52)


FAMILIES = {
    "f = 1": lambda rng, n: (np.ones(n), uniform_p(rng, n)),
    "integer f to 31": lambda rng, n: (
        rng.integers(2, 32, n).astype(float),
        uniform_p(rng, n),
    ),
    "integer f from 32": lambda rng, n: (
        np.floor(np.exp(rng.uniform(math.log(32), math.log(1e6), n))),
        uniform_p(rng, n),
    ),
    "real f to 32": lambda rng, n: (rng.uniform(0, 32, n), uniform_p(rng, n)),
    "p near 1": near_one,
    "f and p of few bits": short,
    "p near a multiple of f - 1": multiples,
}


def search(work):
    """Return (distance, near, family, f, p) of the hardest points of one part."""
    family, seed, part, n = work
    rng = np.random.default_rng([seed, 1000 + list(FAMILIES).index(family), part])
    f, p = FAMILIES[family](rng, n)
    high, low, _, _ = risk_enclosure(f, p)
    distance = np.abs(low) / np.spacing(high)  # 0 at a double, 1/2 in the middle
    hardest = []
    for near, hard in (("double", distance), ("midpoint", np.abs(0.5 - distance))):
        hard[p == 1] = 1.0
        for i in np.argpartition(hard, KEPT)[:KEPT].tolist():
            hardest.append((float(hard[i]), near, family, float(f[i]), float(p[i])))
    return hardest


def measured(near, f, p):
    """Return the distance from r to a double or a midpoint in ulp, by Arb."""
    lower, upper = map(float, riskcore.individual_risk_bounds(f, p))
    r = exact(f, p, 400)
    place = (r - arb(lower)) / (arb(upper) - arb(lower))
    goals = (arb(0), arb(1)) if near == "double" else (arb(0.5),)
    return min(float(abs(place - goal).mid()) for goal in goals)


def hardest_of(parts):
    """Return rows (near, family, log2 of the distance, f, p), the hardest first."""
    chosen = []
    for near in ("double", "midpoint"):
        for family in FAMILIES:
            points = {
                point
                for part in parts
                for point in part
                if point[1:3] == (near, family)
            }
            for _, _, _, f, p in heapq.nsmallest(KEPT, points):
                distance = math.log2(measured(near, f, p))
                chosen.append((near, family, distance, f, p))
    return sorted(chosen, key=lambda row: (row[0], row[2]))


def write_hardest(rows, counts):
    DATA.parent.mkdir(exist_ok=True)
    with DATA.open("w", newline="") as file:
        file.write(f"# {command()}: of {sum(counts.values())} points those where\n")
        file.write("# r(f, p) is nearest to a double or to the middle of two.\n")
        file.write("# log2_ulp: logarithm of the distance in ulp, by Arb.\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["near", "family", "log2_ulp", "f", "p"])
        for near, family, distance, f, p in rows:
            writer.writerow([near, family, f"{distance:.2f}", f.hex(), p.hex()])


# --- tables ------------------------------------------------------------------------


def merged(parts):
    return Found(
        sum(part.points for part in parts),
        sum(part.equal for part in parts),
        sum(part.wider for part in parts),
        max(part.radius for part in parts),
    )


def sweep_table(results):
    rows = []
    everything = merged([part for parts in results.values() for part in parts])
    for name, found in [
        *((region, merged(parts)) for region, parts in results.items()),
        ("all", everything),
    ]:
        rows.append(
            [
                name,
                f"{found.points}",
                "0",
                f"{found.equal}",
                f"{found.wider}",
                f"2^{math.log2(found.radius):.1f}",
            ]
        )
    header = ["region", "points", "failures", "bounds equal", "two ulp apart"]
    return table([*header, "largest radius / r"], rows)


def hardest_table(rows, counts):
    first = {}
    for near, family, distance, f, p in rows:
        first.setdefault((family, near), (distance, f, p))
    lines = []
    for (family, near), (distance, f, p) in sorted(first.items()):
        place = [f"`{f.hex()}`", f"`{p.hex()}`"]
        lines.append([family, near, f"{counts[family]}", f"2^{distance:.1f}", *place])
    header = ["family", "nearest to a", "points", "distance, ulp", "f", "p"]
    return table(header, lines)


def speed_table(seed, n=200_000):
    """Return nanoseconds a cell, the least of five rounds."""
    rng = np.random.default_rng(seed)
    cases = {
        "geometric f, p in [1e-4, 1)": (
            rng.geometric(0.4, n).astype(float),
            np.exp(rng.uniform(math.log(1e-4), 0, n)),
        ),
        "f in [32, 1e5)": (rng.uniform(32, 1e5, n), rng.random(n) + 1e-9),
        "real f in (0, 32), p in [1e-4, 1)": (
            rng.uniform(0, 32, n),
            np.exp(rng.uniform(math.log(1e-4), 0, n)),
        ),
    }
    rows = []
    for name, (f, p) in cases.items():
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            riskcore.individual_risk_bounds(f, p)
            seconds.append(time.perf_counter() - start)
        rows.append([name, f"{min(seconds) / n * 1e9:.0f}"])
    return table(["cells", "ns per cell"], rows)


def parts_of(total, names, seed, size):
    each = max(total // len(names), 1)
    return [
        (name, seed, part, min(size, each - part * size))
        for name in names
        for part in range(math.ceil(each / size))
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=2_400_000)
    parser.add_argument("--search", type=int, default=140_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="few points, no files")
    options = parser.parse_args()
    if options.quick:
        options.points, options.search = 16_000, 700_000
    results = {region: [] for region in REGIONS}
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        work = parts_of(options.points, REGIONS, options.seed, CHUNK)
        for region, found in pool.imap_unordered(sweep, work):
            results[region].append(found)
        work = parts_of(options.search, FAMILIES, options.seed, SEARCH_CHUNK)
        hardest = hardest_of(list(pool.imap_unordered(search, work)))
    counts = {
        name: sum(part[3] for part in work if part[0] == name) for name in FAMILIES
    }
    text = (
        f"`{command()}`: riskcore {riskcore.__version__}, "
        f"python-flint {version('python-flint')}, seed {options.seed}.\n"
        "Bounds and balls against Arb's value, each decided. Speed on one core.\n\n"
        f"{sweep_table(results)}\n\n"
        "The hardest points, all in `tests/core/points/hardest_points.csv`:\n\n"
        f"{hardest_table(hardest, counts)}\n\n{speed_table(options.seed)}"
    )
    if options.quick:
        print(text)
    else:
        write_hardest(hardest, counts)
        publish("enclosures", text)


if __name__ == "__main__":
    main()
