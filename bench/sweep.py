"""Measure individual_risk at 1e8 points against the proven enclosures.

    python -m bench.sweep [--points 1.001e8] [--arb 1.25e6] [--seed 1] [--quick]

At each point of the kernel's fast regions the error in ulp comes from risk_enclosure,
which shares no code with them and is proven to 2^-90. Then a search around the worst
points looks for worse. Where the kernel itself takes the enclosures, Arb measures. At
every point individual_risk_bounds must be neighbors or equal, and r one of the two.
Writes the section on the kernel of notes/accuracy.md with its picture, and the summary
in bench/README.md; an error of 1 ulp or a failure of the bounds ends it with status 1.
"""

import argparse
import functools
import heapq
import math
import multiprocessing
import random
import sys
import time
from importlib.metadata import version

import numba
import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

import riskcore
from bench import accuracy
from bench._common import command, publish, replace, table
from bench.atlas import PAGE, paragraph, save
from riskcore.core.risk.bounds import risk_enclosure
from riskcore.core.special.gauss import fast_integer as regions
from riskcore.core.special.gauss.fast_integer import (
    F_BACKWARD,
    P_FORWARD,
    P_HALF,
    P_NEAR_ONE,
    RARE,
)

# By the number of the region.
NAMES = (
    "f = 1, p < 0.75",
    "f = 2, 3, 4, p < 0.75",
    "f = 5 to 15, p < 0.5",
    "f = 1, 2, 3, p >= 0.75",
    "other integers below 16",
    "f in [16, 32)",
    "f from 32",
    "real f, by the fraction",
    "real f below 16, p < 0.3",
    "real f below 4, p >= 0.3",
    "other: the slow steps alone",
)
FAST = range(regions.OTHER)
BLOCK = 1_000_000
ARB_BLOCK = 5000

BIN = 0.05  # ulp
BINS = 20  # and one more, for 1 ulp and above
KEPT = 50  # worst points of a region; the search starts from them
SHOWN = 3
ROUNDS = 30
AROUND = 200_000  # points of a round


# --- where the points lie ----------------------------------------------------------


def log_uniform(rng, low, high, n):
    return np.exp(rng.uniform(math.log(low), math.log(high), n)).clip(low, high)


def up_to(rng, high, n):
    """Return p below a cut: half evenly, half in log p."""
    p = rng.uniform(1e-12, high, n)
    p[::2] = log_uniform(rng, 1e-12, high, len(p[::2]))
    return p


def integers(rng, low, high, n):
    return rng.integers(low, high, n, endpoint=True).astype(float)


def realistic(rng, n):
    """Return geometric f, many of them 1, and the fractions of surveys."""
    return rng.geometric(0.4, n).astype(float), log_uniform(rng, 1e-5, 1, n)


def middle(rng, n):
    """Return integers from 5 and reals from 2 below 16, and any f in [16, 32)."""
    f = integers(rng, 5, 15, n)
    p = rng.uniform(P_HALF, P_NEAR_ONE, n)
    f[1::3] = rng.uniform(2, 16, len(f[1::3]))
    p[1::3] = rng.uniform(P_HALF, P_NEAR_ONE, len(p[1::3]))
    f[2::3] = rng.uniform(16, 32, len(f[2::3]))
    p[2::3] = up_to(rng, 1, len(p[2::3]))
    return f, p


def ends(rng, n):
    """Return p from 3/4 for f in [1, 32), any p for f from 32."""
    f = integers(rng, 1, 31, n)
    p = rng.uniform(P_NEAR_ONE, 1, n)
    f[1::3] = rng.uniform(2, 32, len(f[1::3]))
    f[2::3] = log_uniform(rng, 32, 1e12, len(f[2::3]))
    f[2::6] = np.floor(f[2::6])
    p[2::3] = up_to(rng, 1, len(p[2::3]))
    return f, p


def near_one(rng, n):
    f = integers(rng, 1, 40, n)
    f[1::3] = log_uniform(rng, 2, 1e6, len(f[1::3]))
    return f, 1 - log_uniform(rng, 2.0**-54, 0.01, n)


def tiny(rng, n):
    f = integers(rng, 1, 15, n)
    f[1::3] = log_uniform(rng, 16, 1e300, len(f[1::3]))
    return f, log_uniform(rng, RARE, 1e-6, n)


def near_borders(rng, n):
    """Return points within a part in 2 to 2^52 of the cuts, in f or in p."""
    f = rng.choice([1.0, 2, 4, 5, 15, 16, 32, 128, 1000, 2.0**53, 2.0**60], n)
    f[::5] = rng.choice([0.5, 1.5, 2.5, 3.5, 14.5, 15.5], len(f[::5]))
    f[1::2] = integers(rng, 1, 17, len(f[1::2]))
    p = rng.choice([P_FORWARD, P_HALF, P_NEAR_ONE, 2.0**-400, RARE, 1.0], n)
    p[::2] = rng.choice([P_FORWARD, P_HALF, P_NEAR_ONE], len(p[::2]))
    distance = rng.choice([-1, 1], n) * 2.0 ** -rng.uniform(3, 53, n)
    moves = rng.random(n) < 0.25
    f = np.where(moves, f * (1 + distance), f)
    return f, np.where(moves, p, p * (1 + distance)).clip(RARE, 1)


def one(rng, n):
    return np.ones(n), up_to(rng, P_NEAR_ONE, n)


def two_to_four(rng, n):
    return integers(rng, 2, 4, n), up_to(rng, P_NEAR_ONE, n)


def five_to_fifteen(rng, n):
    return integers(rng, 5, 15, n), up_to(rng, P_HALF, n)


def real(rng, n):
    """Return f below 16 that are no integers, some next to one."""
    f = rng.uniform(0, 16, n)
    f[1::4] = log_uniform(rng, 1e-9, 1, len(f[1::4]))
    distance = rng.choice([-1, 1], n) * 2.0 ** -rng.uniform(1, 53, n)
    f[2::4] = (integers(rng, 1, 15, n) + distance)[2::4]
    p = up_to(rng, P_FORWARD, n)
    p[3::8] = log_uniform(rng, RARE, 1e-6, len(p[3::8]))
    return f, p


def real_few(rng, n):
    """Return f below 2, or below 4 with p < 1/2, that are no integers."""
    f = rng.uniform(0, 2, n)
    p = rng.uniform(P_FORWARD, 1, n)
    p[1::4] = 1 - log_uniform(rng, 2.0**-54, 0.5, len(p[1::4]))
    f[2::4] = rng.uniform(2, F_BACKWARD, len(f[2::4]))
    p[2::4] = rng.uniform(P_FORWARD, P_HALF, len(p[2::4]))
    distance = rng.choice([-1, 1], n) * 2.0 ** -rng.uniform(1, 53, n)
    f[3::8] = (integers(rng, 1, 2, n) + distance)[3::8]
    return f, p


# How the points divide, in hundredths.
FAMILIES = {
    "geometric f, log-uniform p": (16, realistic),
    "f = 1": (8, one),
    "f = 2, 3, 4": (10, two_to_four),
    "f = 5 to 15": (10, five_to_fifteen),
    "p in the middle": (10, middle),
    "p from 3/4 or f from 32": (8, ends),
    "p within 0.01 of 1": (6, near_one),
    "p below 1e-6": (6, tiny),
    "near the borders of regions": (6, near_borders),
    "real f below 16, p < 0.3": (12, real),
    "real f below 4, p >= 0.3": (8, real_few),
}

# Groups of bench/accuracy.py with cells that take the enclosures.
ARB_GROUPS = ("borders and their neighbors", "extreme f and p", "subnormal p")


# --- what is found -----------------------------------------------------------------


class Found:
    """Errors by region: counts, histogram, worst points; failures."""

    def __init__(self):
        self.points = np.zeros(regions.REGIONS, int)
        self.rounded = np.zeros(regions.REGIONS, int)
        self.histogram = np.zeros((regions.REGIONS, BINS + 1), int)
        self.worst = [[] for _ in range(regions.REGIONS)]
        self.checked = 0
        self.failures = []

    def note(self, f, p, error, wanted):
        """Add the errors of the regions wanted."""
        code, error = region_of(f, p), np.abs(error)
        for number in wanted:
            (here,) = np.nonzero(code == number)
            if len(here) == 0:
                continue
            e, x, y = error[here], f[here], p[here]
            self.points[number] += len(e)
            self.rounded[number] += int((e <= 0.5).sum())
            bins = (e / BIN).astype(int).clip(max=BINS)
            self.histogram[number] += np.bincount(bins, minlength=BINS + 1)
            first = np.argpartition(-e, min(KEPT, len(e)) - 1)[:KEPT].tolist()
            points = [(float(e[i]), float(x[i]), float(y[i])) for i in first]
            self.keep(number, points)

    def check(self, f, p, r):
        """Count the points where bounds or r break their promise."""
        lower, upper = riskcore.individual_risk_bounds(f, p)
        with np.errstate(over="ignore"):
            near = (lower == upper) | (np.nextafter(lower, np.inf) == upper)
        good = near & ((r == lower) | (r == upper))
        self.checked += len(f)
        bad = np.flatnonzero(~good).tolist()
        self.failures += [(float(f[i]), float(p[i])) for i in bad]

    def keep(self, number, points):
        self.worst[number] = heapq.nlargest(KEPT, {*self.worst[number], *points})

    def add(self, other):
        self.points += other.points
        self.rounded += other.rounded
        self.histogram += other.histogram
        self.checked += other.checked
        self.failures += other.failures
        for number, points in enumerate(other.worst):
            self.keep(number, points)

    def largest(self, number):
        return self.worst[number][0][0] if self.worst[number] else 0.0


@functools.cache
def compiled_region():
    return numba.vectorize(["int64(float64, float64)"])(regions.region)


def region_of(f, p):
    return compiled_region()(f, p)


def error_in_ulp(r, high, low, n):
    """Return (r - (high + low))/ulp, given high and low times 2^(600 n)."""
    exponent = (600 * n).astype(int)
    ulp = np.spacing(np.ldexp(high, -exponent))
    below = (np.frexp(high)[0] == 0.5) & (low < 0)  # the exact value is less than 2^k
    ulp = np.where(below, np.maximum(ulp / 2, accuracy.SMALLEST), ulp)
    return (np.ldexp(r, exponent) - high - low) / np.ldexp(ulp, exponent)


def sweep(work):
    """Return what one block of a family shows."""
    family, seed, part, n = work
    rng = np.random.default_rng([seed, list(FAMILIES).index(family), part])
    f, p = FAMILIES[family][1](rng, n)
    r = riskcore.individual_risk(f, p)
    high, low, _, scale = risk_enclosure(f, p)
    found = Found()
    found.note(f, p, error_in_ulp(r, high, low, scale), FAST)
    found.check(f, p, r)
    return found


def sweep_by_arb(work):
    """Return what Arb shows at one block of cells that take the enclosures."""
    group, seed, part, n = work
    f, p, _ = accuracy.points(group, seed + 1, part, n)
    other = region_of(f, p) == regions.OTHER
    f, p = f[other], p[other]
    r = riskcore.individual_risk(f, p)
    cases = zip(r.tolist(), f.tolist(), p.tolist(), strict=True)
    errors = [accuracy.errors([value], exact_risk, x, y)[0] for value, x, y in cases]
    found = Found()
    found.note(f, p, np.array(errors), [regions.OTHER])
    found.check(f, p, r)
    return found


def exact_risk(f, p):
    return accuracy.risk_and_gradient(f, p, 1 - p)[:1]


def search(work):
    """Return the worst points near those given, like an adversary would."""
    number, seed, worst = work
    rng = np.random.default_rng([seed, 1000 + number])
    found = Found()
    found.keep(number, worst)
    for _ in range(ROUNDS):
        parents = np.array([point[1:] for point in found.worst[number]])
        f, p = parents[rng.integers(len(parents), size=AROUND)].T
        steps = rng.choice([-1, 1], (2, AROUND)) * 2.0 ** -rng.uniform(2, 53, AROUND)
        moves = rng.random(AROUND) < 0.5
        whole = (f == np.floor(f)) & (f < 2.0**40)
        other = np.where(whole, f + rng.integers(-1, 2, AROUND), f * (1 + steps[1]))
        f = np.where(moves, other, f).clip(RARE, accuracy.LARGEST)
        p = (p * (1 + steps[0])).clip(RARE, 1)
        r = riskcore.individual_risk(f, p)
        high, low, _, scale = risk_enclosure(f, p)
        found.note(f, p, error_in_ulp(r, high, low, scale), [number])
    return number, found


# --- pictures and tables -----------------------------------------------------------


def draw_histogram(found):
    figure = Figure((7.6, 4.2), layout="constrained")
    axes = figure.subplots()
    shades = colormaps["viridis"](np.linspace(0, 0.9, regions.REGIONS))
    edges = BIN * np.arange(BINS + 1)
    for name, counts, shade in zip(NAMES, found.histogram, shades, strict=True):
        share = np.where(counts > 0, counts / max(counts.sum(), 1), np.nan)[:BINS]
        axes.stairs(share, edges, color=shade, label=name, baseline=None, lw=1.6)
    axes.axvline(0.5, color="0.5", lw=0.8, ls="--", zorder=0)
    axes.annotate("correctly rounded", (0.49, 0.98), ha="right", va="top",
                  xycoords=("data", "axes fraction"), color="0.4")  # fmt: skip
    axes.set(yscale="log", xlim=(0, 1), ylim=(None, 1))
    axes.set(xlabel="|error|, ulp", ylabel=f"share of the points, by {BIN} ulp")
    axes.legend(frameon=False, loc="upper right", fontsize="small")
    return save(figure, "kernel-histogram")


def rounded(found, number):
    points = found.points[number]
    return f"{100 * found.rounded[number] / points:.3f} %" if points else ""


def region_table(found, searched):
    rows = []
    for number, name in enumerate(NAMES):
        around = searched.get(number)
        rows.append(
            [
                name,
                "Arb" if number == regions.OTHER else "enclosures",
                f"{found.points[number]:,}",
                f"{found.largest(number):.3f}",
                rounded(found, number),
                f"{around.points[number]:,}" if around else "",
                f"{around.largest(number):.3f}" if around else "",
            ]
        )
    header = ["region", "reference", "points", "largest error, ulp"]
    header += ["correctly rounded", "points of the search", "its largest error"]
    return table(header, rows)


def worst_table(found, searched):
    rows = []
    for number, name in enumerate(NAMES):
        points = searched.get(number, found).worst[number]
        for error, f, p in points[:SHOWN]:
            place = [f"`{f.hex()}` ({f:.6g})", f"`{p.hex()}` ({p:.6g})"]
            rows.append([name, f"{error:.4f}", *place])
    return table(["region", "error, ulp", "f", "p"], rows)


def summary_table(found, searched):
    fast = [*FAST]
    points, right = found.points[fast].sum(), found.rounded[fast].sum()
    worst = max(
        (searched.get(number, found).worst[number] or [(0.0, 1.0, 1.0)])[0]
        for number in range(regions.REGIONS)
    )
    error, f, p = worst
    return table(
        [
            "points",
            "largest error, ulp",
            "at f",
            "at p",
            "correctly rounded",
            "bounds checked",
            "failures",
        ],
        [
            [
                f"{points:,}",
                f"{error:.3f}",
                f"`{f.hex()}`",
                f"`{p.hex()}`",
                f"{100 * right / points:.3f} %",
                f"{found.checked:,}",
                f"{len(found.failures)}",
            ]
        ],
    )


def page(found, searched, seed):
    """Return the summary and the section of the notes."""
    origin = (
        f"`{command()}`: riskcore {riskcore.__version__}, numpy {np.__version__}, "
        f"python-flint {version('python-flint')}, seed {seed}."
    )
    shares = ", ".join(f"{share} % {name}" for name, (share, _) in FAMILIES.items())
    text = paragraph(
        f"""Error of individual_risk in ulp of the exact value, which is known to 2^-90:
        from the enclosures, with code of their own, in the fast regions; from Arb where
        the kernel takes the midpoints of the enclosures. Correctly rounded is an error
        of at most 1/2. The points are {shares}. The search starts from the {KEPT} worst
        of each region: {ROUNDS} rounds of {AROUND} points at distances from 1/4 down to
        2^-53 around the {KEPT} worst so far."""
    )
    bounds = paragraph(
        f"""At all {found.checked:,} points the bounds of individual_risk_bounds are
        neighbors or equal and the risk is one of the two, which is faithful rounding:
        {len(found.failures)} failures."""
    )
    section = f"""\
{origin}

{text}

{region_table(found, searched)}

{bounds}

![Histogram of the errors by region]({draw_histogram(found)})

The worst points, with those of the search:

{worst_table(found, searched)}"""
    return f"{origin}\n\n{summary_table(found, searched)}", section


# --- the run -----------------------------------------------------------------------


def blocks(names, shares, total, seed, size):
    """Return the work (name, seed, part, points), in random order."""
    work = []
    for name, share in zip(names, shares, strict=True):
        points = math.ceil(total * share)
        count = math.ceil(points / size)
        work += [
            (name, seed, part, min(size, points - part * size)) for part in range(count)
        ]
    random.Random(seed).shuffle(work)
    return work


def gather(pool, task, work, label):
    """Return what all blocks show; tell how far they are."""
    found, start, last = Found(), time.monotonic(), 0.0
    for done, part in enumerate(pool.imap_unordered(task, work), 1):
        found.add(part)
        now = time.monotonic() - start
        if now - last > 10 or done == len(work):
            last = now
            worst = max(map(found.largest, range(regions.REGIONS)))
            print(f"{label}: {found.checked:,} points, {now:.0f} s, {worst:.3f} ulp",
                  file=sys.stderr, flush=True)  # fmt: skip
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=float, default=1.001e8)
    parser.add_argument("--arb", type=float, default=1.25e6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="few points, no page")
    options = parser.parse_args()
    if options.quick:
        options.points, options.arb = 1e6, 2e3
    shares = [share / 100 for share, _ in FAMILIES.values()]
    work = blocks(FAMILIES, shares, options.points, options.seed, BLOCK)
    even = [1 / len(ARB_GROUPS)] * len(ARB_GROUPS)
    by_arb = blocks(ARB_GROUPS, even, options.arb, options.seed, ARB_BLOCK)
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        found = gather(pool, sweep, work, "enclosures")
        found.add(gather(pool, sweep_by_arb, by_arb, "Arb"))
        starts = [(number, options.seed, found.worst[number]) for number in FAST]
        searched = {} if options.quick else dict(pool.imap_unordered(search, starts))
    if options.quick:
        print(region_table(found, searched))
        print(worst_table(found, searched))
    else:
        summary, section = page(found, searched, options.seed)
        publish("sweep", summary)
        replace(PAGE, "kernel", section)
    for f, p in found.failures[:20]:
        print(f"bounds fail at {f.hex()}, {p.hex()}", file=sys.stderr)
    worst = max(
        searched.get(number, found).largest(number) for number in range(regions.REGIONS)
    )
    return 1 if found.failures or worst >= 1 else 0


if __name__ == "__main__":
    sys.exit(main())
