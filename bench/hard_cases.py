"""Search inputs whose risk lies nearest to a midpoint of two doubles, or to a double.

    python -m bench.hard_cases                         # the data and the page
    python -m bench.hard_cases --quick                 # few points, no files
    python -m bench.hard_cases --make 1000000 hard.npy # many inputs near midpoints

For an integer f the doubles p of a run are next to each other, and r is next to linear
in their index i: r/ulp = a + b i + c i^2, c below 2^-50. Where a + b i is near a whole
number, modulo 1, is found from one hit to the next by Euclid's algorithm (Lefevre,
Muller and Tisserand 1998), at a cost of a division or two for each 2^12 doubles. Hits
are refined by the terms left out, and Arb decides each that is kept.

Beside them stand inputs of a form: few bits, next to powers of two, p next to 0 and 1.
Writes tests/core/points/hard_cases.csv and bench/results/hard_cases.md.
"""

import argparse
import csv
import math
import multiprocessing
import time
from importlib.metadata import version

import numba
import numpy as np
from flint import arb, arb_series, ctx

from bench._common import HERE, RESULTS, command, table
from bench.references import exact_risk
from riskcore.core.risk.bounds import risk_enclosure

DATA = HERE.parent / "tests" / "core" / "points" / "hard_cases.csv"
PAGE = RESULTS / "hard_cases.md"
LARGEST_F = 64
# Ranges of p; the regions of the kernel have their borders at 0.3, 0.5 and 0.75.
RANGES = {
    "p = 2^-60": (2.0**-60, 2.0**-59), "p = 2^-20": (2.0**-20, 2.0**-19),
    "0.001 to 0.1": (0.001, 0.1), "0.1 to 0.3": (0.1, 0.3), "0.3 to 0.5": (0.3, 0.5),
    "0.5 to 0.75": (0.5, 0.75), "0.75 to 0.99": (0.75, 0.99),
    "1 - p = 2^-20": (1 - 2.0**-19, 1 - 2.0**-20),
}  # fmt: skip
STRETCH = 2**25  # doubles with one polynomial
WINDOW = 2.0**-20  # ulp: what counts as a hit
M = 2**44  # parts of an ulp in Euclid's algorithm
KEPT = 1  # points of each f, range and kind that are verified


# --- r as a polynomial of the index --------------------------------------------------


def series(f, p, step, degree=5):
    """Return the coefficients of r(f, p + step x) in x, as Arb's numbers."""
    with ctx.workprec(300 + int(f * (8 + max(-math.log2(1 - p), -math.log2(p))))):
        before, ctx.cap = ctx.cap, degree
        x = arb_series([arb(p), arb(step)], prec=degree)
        v = x / (1 - x)
        r = -v * x.log()
        for g in range(1, f):
            r = v * (1 / arb(g) - r)
        ctx.cap = before
        return [r[k] for k in range(degree)]


def whole(x, scale):
    """Return an Arb number times a power of two, as an integer."""
    number = (x * arb(2) ** scale).floor().unique_fmpz()
    if number is None:
        raise ArithmeticError("too few bits for the coefficient")
    return int(number)


def wrapped(x):
    """Return an integer modulo 2^64, between -2^63 and 2^63."""
    return (x + 2**63) % 2**64 - 2**63


@numba.njit(cache=False)
def first_hit(a, m, low, high, limit, stack_a, stack_m, stack_low):
    """Return the least x >= 0 with low <= a x mod m <= high, -1 if above ``limit``."""
    depth = 0
    while True:
        if low == 0:
            x = 0
            break
        if 2 * a > m:
            a, low, high = m - a, m - high, m - low
        if a == 0:
            return -1
        c = (low + a - 1) // a
        if a * c <= high:
            x = c
            break
        stack_a[depth], stack_m[depth], stack_low[depth] = a, m, low
        depth += 1
        rest = m % a
        a, m, low, high = (a - rest if rest else 0), a, low % a, high % a
    while True:
        if x > limit:
            return -1
        if depth == 0:
            return x
        depth -= 1
        a = stack_a[depth]
        x = (stack_low[depth] + stack_m[depth] * x + a - 1) // a


@numba.njit(cache=False)
def hits(c0, c1, c1_low, c2, c3, c4, runs, n, window, keep, index, distance):
    """Write index and distance (ulp) of hits around index 0; return their number.

    c0 and c1 are in units of 2^-64, c1_low in 2^-96; the others are doubles.
    """
    stack_a = np.empty(64, np.int64)
    stack_m = np.empty(64, np.int64)
    stack_low = np.empty(64, np.int64)
    scale = 2.0**64
    W = np.int64(window * M)
    found = 0
    half = n // 2
    for run in range(runs):
        middle = run * n - runs * n // 2 + half
        x = float(middle)
        curved = x * x * (c2 + x * (c3 + x * c4))
        curved -= math.floor(curved + 0.5)
        y = c0 + c1 * middle + ((c1_low * middle) >> 32) + np.int64(curved * scale)
        b = c1 + np.int64(x * (2.0 * c2 + x * (3.0 * c3 + x * 4.0 * c4)) * scale)
        bend = c2 + x * (3.0 * c3 + x * 6.0 * c4)
        # The parabola within the run, by its mean height.
        a = y - b * half + np.int64(bend * half * half * 0.5 * scale)
        A = ((a >> 20) & (M - 1)) + W
        B = (b >> 20) & (M - 1)
        i = 0
        while i < n:
            at = (A + B * i) & (M - 1)
            if at > 2 * W:
                low = M - at
                step = first_hit(
                    B, M, low, low + 2 * W, n - i, stack_a, stack_m, stack_low
                )
                if step < 0:
                    break
                i += step
                if i >= n:
                    break
            s = i - half
            v = float(y + b * s) / scale
            v += float(s) * float(s) * (bend + float(s) * c3)
            v -= math.floor(v + 0.5)
            if abs(v) < keep:
                if found == len(index):
                    return found
                index[found] = middle + s
                distance[found] = v
                found += 1
            i += 1
    return found


def search(f, p, near, keep, most=100_000):
    """Return doubles p at which r is near a midpoint or a double, and distances.

    ``near`` is "midpoint", "double" or "either", where distances are those in half
    ulps. All doubles of a stretch around p within a power of two are tried; the third
    result is their number.
    """
    mantissa, exponent = math.frexp(p)
    whole_p = int(mantissa * 2**53)
    room = min(whole_p - 2**52, 2**53 - 1 - whole_p, STRETCH // 2)
    c = series(f, p, math.ulp(p))
    _, power = math.frexp(float(c[0].mid()))
    unit = math.ldexp(0.5 if near == "either" else 1.0, power - 53)
    with ctx.workprec(400):
        c = [x / unit for x in c]
        # r stays within a power of two.
        slope = max(abs(float(c[1].mid())), 1e-30)
        for end in (math.ldexp(1.0, power), math.ldexp(0.5, power)):
            gap = abs(float((arb(end) / unit - c[0]).mid()))
            room = min(room, int(gap / slope * 0.9))
        c0 = wrapped(whole(c[0] + (0.5 if near == "midpoint" else 0), 64))
        exact = whole(c[1], 96)
    c1, c1_low = wrapped(exact >> 32), exact % 2**32
    c2, c3, c4 = (float(x.mid()) for x in c[2:5])
    # The parabola may bend by at most a quarter of the window.
    n = 2 ** int(math.log2(math.sqrt(2.0 * WINDOW / max(abs(c2), 1e-25))))
    n = max(min(n, 2**16, 2 * room), 2)
    runs = 2 * room // n
    index, distance = np.empty(most, np.int64), np.empty(most)
    found = hits(
        c0, c1, c1_low, c2, c3, c4, runs, n, 1.25 * WINDOW, keep, index, distance
    )
    points = (whole_p + index[:found]) * 2.0 ** (exponent - 53)
    return points, distance[:found], runs * n


# --- what Arb says -------------------------------------------------------------------


def nearest_of(r):
    """Return the double nearest to an Arb number, None if the ball is too wide."""
    x = float(r.mid())
    for candidate in (x, math.nextafter(x, 0.0), math.nextafter(x, math.inf)):
        below = arb(math.nextafter(candidate, -math.inf)) + arb(candidate)
        above = arb(math.nextafter(candidate, math.inf)) + arb(candidate)
        if below / 2 < r and r < above / 2:
            return candidate
    return None


def judged(f, p, bits=400):
    """Return (near, log2 of the distance, nearest double); None if r is a double.

    The unit is the distance of the two doubles around r. The precision grows until the
    distance has eight digits.
    """
    while bits < 20_000:
        r = exact_risk(f, p, bits)
        with ctx.workprec(bits + 1200):
            nearest = nearest_of(r)
            if nearest is not None:
                away = abs(r - arb(nearest))
                side = math.inf if r > arb(nearest) else -math.inf
                away /= abs(arb(math.nextafter(nearest, side)) - arb(nearest))
                near = "double" if away < arb(0.25) else "midpoint"
                distance = away if near == "double" else arb(0.5) - away
                if distance.rel_accuracy_bits() > 27:
                    logarithm = float(distance.log().mid()) / math.log(2.0)
                    return near, round(logarithm, 2), nearest
        bits *= 2
    return None


# --- the search ----------------------------------------------------------------------


def places(name, rng, count):
    """Return random p in a range, by logarithms of p or of 1 - p."""
    low, high = RANGES[name]
    if low > 0.9:
        return 1 - np.exp(rng.uniform(math.log(1 - high), math.log(1 - low), count))
    return np.exp(rng.uniform(math.log(low), math.log(high), count))


def explore(work):
    """Return the nearest points of one f and range, as Arb measures them."""
    f, name, stretches, seed = work
    rng = np.random.default_rng([seed, f, list(RANGES).index(name)])
    nearest, tried = [], 0
    for p in places(name, rng, stretches).tolist():
        for kind in ("midpoint", "double"):
            keep = WINDOW if len(nearest) < 2 else 8.0 * max(x for x, _, _ in nearest)
            points, distance, count = search(f, p, kind, min(keep, WINDOW))
            tried += count
            nearest += [
                (abs(d), kind, x)
                for d, x in zip(distance.tolist(), points.tolist(), strict=True)
            ]
        nearest = [
            one
            for kind in ("midpoint", "double")
            for one in sorted(x for x in nearest if x[1] == kind)[:KEPT]
        ]
    return name, tried, [(f"f to {LARGEST_F}", float(f), x) for _, _, x in nearest]


def pairs(f, p):
    """Return every f with every p."""
    return [axis.ravel() for axis in np.meshgrid(f, p, indexing="ij")]


def beside_powers(exponents):
    """Return the doubles up to 8 ulp from powers of two."""
    ones = 1 + np.arange(-8, 9) * 2.0**-52
    return np.outer(2.0**exponents, ones).ravel()


def structured():
    """Return families of inputs of a form."""
    whole_f = np.arange(1.0, 257.0)
    odd = np.arange(1.0, 65.0)
    return {
        "f to 256, p of four bits": pairs(
            whole_f,
            np.outer(2.0 ** -np.arange(1.0, 1001), np.arange(8, 16) / 8).ravel(),
        ),
        "f to 256, q of few bits": pairs(whole_f, 1 - odd * 2.0**-53),
        "f to 256, p = m 2^-k, p below 2^-53": pairs(
            whole_f, np.outer(odd, 2.0 ** -np.arange(60.0, 1000.0, 20.0)).ravel()
        ),
        "f and p next to powers of two": pairs(
            beside_powers(np.arange(0.0, 60.0)),
            beside_powers(np.arange(-20.0, -0.5)),
        ),
        "f beyond 2^53, p next to powers of two": pairs(
            beside_powers(np.arange(60.0, 1000.0, 25.0)),
            beside_powers(np.arange(-60.0, -0.5, 7.0)),
        ),
        "f below 1 by powers of two": pairs(
            beside_powers(-np.arange(1.0, 900.0, 45.0)),
            beside_powers(-np.arange(1.0, 900.0, 45.0)),
        ),
    }


def nearest_structured(name, f, p, kept=3):
    """Return the points of a family next to midpoints and doubles, by the balls."""
    f, p = np.asarray(f, float), np.asarray(p, float)
    high, low, _, n = risk_enclosure(f, p)
    ulp = np.spacing(high)
    distance = np.abs(low) / ulp
    inside = (p < 1) & (p > 0) & np.isfinite(high) & (high > 0)
    # Subnormal results are apart.
    inside &= np.log2(high) - 600 * n > -1000
    chosen = []
    for hard in (distance, np.abs(0.5 - distance)):
        order = np.argsort(np.where(inside, hard, 9.0), kind="stable")[: 40 * kept]
        chosen += [(name, float(f[i]), float(p[i])) for i in order.tolist()]
    return chosen


def subnormal():
    """Return p and f with a result p/(f-1) next to the middle of two subnormals."""
    return [
        ("subnormal results", f, m * 2.0**-1074)
        for f in (3.0, 5.0, 7.0, 1.0 + 2.0**20)
        for m in (1, 2, 3, 5, 9, 15, 2**20, 3 * 2**19, 2**51 + 1)
    ]


def row_of(point):
    """Return (near, log2 of the distance, family, f, p, nearest), None for a double."""
    family, f, p = point
    found = judged(f, p)
    return found and (found[0], found[1], family, f, p, found[2])


def hardest(points, pool, kept):
    """Return the rows of each family and kind, the nearest first."""
    rows = {row for row in pool.imap_unordered(row_of, points, 8) if row is not None}
    chosen = []
    for family in dict.fromkeys(point[0] for point in points):
        for near in ("midpoint", "double"):
            of_both = [row for row in rows if (row[2], row[0]) == (family, near)]
            chosen += sorted(of_both, key=lambda row: row[1])[:kept]
    return chosen


def bits_of(distance):
    """Return how many bits of r decide on which side it lies."""
    return 54 + math.ceil(-distance)


# --- the page ------------------------------------------------------------------------


def write_data(rows):
    with DATA.open("w", newline="") as file:
        file.write(f"# {command()}: inputs whose risk lies nearest to a\n")
        file.write(
            "# midpoint of two doubles or to a double. log2_ulp: logarithm of the\n"
        )
        file.write(
            "# distance in ulp; bits: of r that decide; nearest: r rounded. By Arb.\n"
        )
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["near", "family", "log2_ulp", "bits", "f", "p", "nearest"])
        for near, distance, family, f, p, nearest in rows:
            numbers = [f.hex(), p.hex(), nearest.hex()]
            writer.writerow(
                [near, family, f"{distance:.2f}", bits_of(distance), *numbers]
            )


def page(rows, tried, seconds):
    """Return the text of bench/results/hard_cases.md."""
    total = sum(tried.values())
    by_range = [
        [name, f"2^{math.log2(count):.1f}" if count else "0"]
        for name, count in tried.items()
    ]
    first = {}
    for near, distance, family, f, p, _ in sorted(rows, key=lambda row: row[1]):
        first.setdefault((family, near), (distance, f, p))
    lines = [
        [family, near, f"2^{distance:.1f}", str(bits_of(distance)),
         f"`{f.hex()}`", f"`{p.hex()}`"]
        for (family, near), (distance, f, p) in sorted(first.items())
    ]  # fmt: skip
    by_f = {}
    for near, distance, family, f, _, _ in rows:
        if family == f"f to {LARGEST_F}":
            key = (int(f), near)
            by_f[key] = min(by_f.get(key, 0.0), distance)
    each = [
        [str(f)] + [f"2^{by_f[f, near]:.1f}" for near in ("midpoint", "double")]
        for f in range(1, LARGEST_F + 1)
        if (f, "midpoint") in by_f and (f, "double") in by_f
    ]
    searched_in = f"2^{math.log2(total):.1f} inputs in {seconds:.0f} s."
    searched = table(["p", "doubles tried"], by_range)
    nearest = table(["family", "near a", "ulp", "bits", "f", "p"], lines, texts=2)
    of_f = table(["f", "midpoint", "double"], each)
    return f"""# Hard cases of the individual risk

Generated; do not edit. `{command()}`: python-flint {version("python-flint")}, numba
{version("numba")}.

A rounding to the nearest double is hard where r(f, p) lies next to the middle of two
doubles, a bound where it lies next to a double. For integer f to {LARGEST_F} all p of
random stretches of 2^25 doubles were tried:
{searched_in}
Where r is next to linear in the index of p, Euclid's algorithm goes from one hit to
the next (Lefevre, Muller and Tisserand 1998). 2^k inputs come as near as 2^-k ulp by
chance; inputs of a form come much nearer, as r is next to a number of few bits there.
All points are in `tests/core/points/hard_cases.csv`, with the nearest double; they are
tests.

## The nearest

Distance from r in ulp, and how many bits of r tell the side.

{nearest}

## Integer f

Distance in ulp of the nearest found.

{of_f}

## What was tried

{searched}
"""


def make(count, path, seed, near="midpoint"):
    """Return inputs nearer than 2^-20 ulp to a midpoint, or a double; write them."""
    rng = np.random.default_rng([*np.atleast_1d(seed).tolist(), 999])
    found, total = [], 0
    names = list(RANGES)
    while total < count:
        f = int(rng.integers(1, LARGEST_F + 1))
        name = names[int(rng.integers(len(names)))]
        p = float(places(name, rng, 1)[0])
        points, _, _ = search(f, p, near, WINDOW)
        found.append(np.column_stack([np.full(len(points), float(f)), points]))
        total += len(points)
    points = np.concatenate(found)[:count]
    if path:
        np.save(path, points)
    return points


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stretches", type=int, default=1000, help="of f and a range")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="few points, no files")
    parser.add_argument("--make", nargs=2, metavar=("COUNT", "FILE"))
    options = parser.parse_args()
    if options.make:
        count, path = options.make
        make(int(count), path, options.seed)
        return
    stretches = 2 if options.quick else options.stretches
    work = [
        (f, name, stretches, options.seed)
        for f in range(1, LARGEST_F + 1)
        for name in RANGES
    ]
    start = time.perf_counter()
    tried, points = dict.fromkeys(RANGES, 0), []
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for name, count, found in pool.imap_unordered(explore, work):
            tried[name] += count
            points += found
        seconds = time.perf_counter() - start
        points.sort()
        rows = sorted(
            {row for row in pool.imap_unordered(row_of, points, 8) if row},
            key=lambda row: (row[0], row[3], row[1]),
        )
        best = {}
        for row in sorted(rows, key=lambda row: row[1]):
            best.setdefault((row[3], row[0]), row)
        rows = sorted(best.values(), key=lambda row: (row[0], row[3]))
        families = [
            point
            for name, (f, p) in structured().items()
            for point in nearest_structured(name, f, p)
        ]
        rows += hardest(families + subnormal(), pool, 3)
    text = page(rows, tried, seconds)
    if options.quick:
        print(text)
    else:
        write_data(rows)
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
