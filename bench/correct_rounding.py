"""Count where individual_risk is not the double nearest to r, by two proofs.

    python -m bench.correct_rounding                    # some minutes
    python -m bench.correct_rounding --random 1000000000 --hard 10000000 --arb 10000000

Random points of every region of the risk (bench/domains.py), and inputs within 2^-20
ulp of a midpoint (bench/hard_cases.py), are judged by the proven enclosures of r: the
nearest double is known where no midpoint is in them. Arb judges the others, and the
points of a second sample of its own, whose bounds and enclosures must contain r too.
Writes a table to bench/results/benches.md.
"""

import argparse
import functools
import math
import multiprocessing
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from flint import arb, ctx

import riskcore
from bench import hard_cases
from bench._common import command, publish, table
from bench.domains import RISK
from bench.references import exact_risk
from riskcore.core.risk.bounds import risk_enclosure

CHUNK = 200_000
HARD = "within 2^-20 ulp of a midpoint"


class Counted(NamedTuple):
    points: int = 0
    undecided: int = 0  # by the enclosures: left to Arb
    wrong: int = 0
    by_arb: int = 0  # points that Arb alone judged
    wrong_by_arb: int = 0
    outside: int = 0  # of the bounds or the enclosure, or bounds that are not neighbors

    def plus(self, other):
        return Counted(*(a + b for a, b in zip(self, other, strict=True)))


@functools.lru_cache(100_000)  # the doubles next to 1 come again and again
def nearest_by_arb(f, p):
    """Return the double nearest to r(f, p); r is never a midpoint."""
    bits = 120
    while bits < 20_000:
        r = exact_risk(f, p, bits)
        with ctx.workprec(bits + 1200):
            nearest = hard_cases.nearest_of(r)
        if nearest is not None:
            return nearest
        bits *= 2
    raise ArithmeticError(f"r({f!r}, {p!r}) is not told from a midpoint")


def nearest_by_enclosures(f, p):
    """Return the doubles nearest to r, and where the enclosures decide them."""
    # r is within radius of (high + low) 2^(-600 n).
    high, low, radius, n = risk_enclosure(f, p)
    # low may be half an ulp of high, and the sum be rounded to it: an ulp of low more.
    wide = 2.0 * radius + 2.0**-52 * np.abs(low)
    told = (high + (low - wide) == high) & (high + (low + wide) == high)
    back = (-600 * n).astype(int)
    nearest = np.ldexp(high, back)
    # Subnormal numbers are multiples of 2^-1074.
    small = np.flatnonzero(nearest <= 2.0**-1021)
    units = np.ldexp(high[small], back[small] + 1074)
    whole = np.floor(units)
    scale = np.ldexp(1.0, back[small] + 1074)
    beyond = (units - whole - 0.5) + low[small] * scale
    told[small] = np.abs(beyond) > wide[small] * scale + 2.0**-50 * np.abs(beyond)
    nearest[small] = np.ldexp(whole + (beyond > 0), -1074)
    return nearest, told


def enclosed(f, p, lower, upper, high, low, radius, n):
    """Return whether bounds and enclosure contain r, by as many bits as that takes."""
    if p == 1:  # no ball decides an equality; the product is exact
        below, above = arb(lower) * f <= 1, math.isinf(upper) or arb(upper) * f >= 1
        if not (below and above):
            return False
        lower, upper = -math.inf, math.inf
    bits = 160
    while bits < 5000:
        r = exact_risk(f, p, bits)
        distance = abs(arb(high) + arb(low) - r * arb(2) ** int(600 * n))
        if r < arb(lower) or r > arb(upper) or distance > arb(radius):
            return False
        if arb(lower) <= r <= arb(upper) and distance <= arb(radius):
            return True
        bits *= 2
    raise ArithmeticError(f"undecided at {f.hex()}, {p.hex()}")


def judge(f, p, arb_alone):
    """Return what is counted at points; those outside the domain are left out."""
    inside = (f > 0) & np.isfinite(f) & (p > 0) & (p <= 1)
    f, p = f[inside], p[inside]
    r = riskcore.individual_risk(f, p)
    lower, upper = riskcore.individual_risk_bounds(f, p)
    apart = upper > np.nextafter(lower, np.inf)
    outside = int(((r < lower) | (r > upper) | np.isnan(r) | apart).sum())
    if arb_alone:
        wrong = sum(
            nearest_by_arb(*at) != found
            for *at, found in zip(f.tolist(), p.tolist(), r.tolist(), strict=True)
        )
        columns = (f, p, lower, upper, *risk_enclosure(f, p))
        outside += sum(
            not enclosed(*map(float, numbers)) for numbers in zip(*columns, strict=True)
        )
        return Counted(by_arb=len(f), wrong_by_arb=wrong, outside=outside)
    nearest, told = nearest_by_enclosures(f, p)
    for i in np.flatnonzero(~told).tolist():
        nearest[i] = nearest_by_arb(float(f[i]), float(p[i]))
    return Counted(
        points=len(f),
        undecided=int((~told).sum()),
        wrong=int((r != nearest).sum()),
        outside=outside,
    )


def count(work):
    """Return a region and what is counted in one part of it."""
    region, seed, part, n, arb_alone = work
    if region == HARD:
        at = hard_cases.make(n, None, [seed, part, int(arb_alone)])
        return region, judge(at[:, 0].copy(), at[:, 1].copy(), arb_alone)
    number = list(RISK).index(region)
    rng = np.random.default_rng([seed, number, part, int(arb_alone)])
    f, p = RISK[region](rng, n)
    return region, judge(np.asarray(f, float), np.asarray(p, float), arb_alone)


def parts(options, hard):
    """Return the work, in parts of the same size whatever the processes."""
    each = {region: options.random // len(RISK) for region in RISK}
    by_arb = {region: options.arb // len(RISK) for region in RISK}
    each[hard], by_arb[hard] = options.hard, options.hard // 100
    for arb_alone, wanted, size in ((False, each, CHUNK), (True, by_arb, CHUNK // 40)):
        for region, n in wanted.items():
            for part in range(math.ceil(n / size)):
                left = min(size, n - part * size)
                yield region, options.seed, part, left, arb_alone


def text_of(counted, seed):
    rows = []
    whole = Counted()
    for c in counted.values():
        whole = whole.plus(c)
    for name, c in [*counted.items(), ("all", whole)]:
        share = 100.0 * (1.0 - c.wrong / c.points) if c.points else math.nan
        rows.append(
            [
                name, f"{c.points:,}", f"{c.undecided:,}", f"{c.wrong:,}",
                f"{share:.3f} %", f"{c.by_arb:,}", f"{c.wrong_by_arb:,}",
                f"{c.outside:,}",
            ]
        )  # fmt: skip
    header = [
        "region", "points", "left to Arb", "not correctly rounded", "right",
        "by Arb alone", "of them not", "outside the bounds or these apart",
    ]  # fmt: skip
    return (
        f"`{command()}`: riskcore {riskcore.__version__}, "
        f"python-flint {version('python-flint')}, seed {seed}.\n\n{table(header, rows)}"
    )


def sweep(about, section, count, hard, nothing, text_of):
    """Count in parts, in several processes, and publish the table."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--random", type=int, default=4_000_000)
    parser.add_argument("--hard", type=int, default=200_000)
    parser.add_argument("--arb", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="few points, no files")
    options = parser.parse_args()
    if options.quick:
        options.random, options.hard, options.arb = 20_000, 2_000, 400
    counted = dict.fromkeys([*RISK, hard], nothing)
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for region, found in pool.imap_unordered(count, parts(options, hard)):
            counted[region] = counted[region].plus(found)
    text = text_of(counted, options.seed)
    if options.quick:
        print(text)
    else:
        publish(section, text)


def main():
    sweep(__doc__, "correct_rounding", count, HARD, Counted(), text_of)


if __name__ == "__main__":
    main()
