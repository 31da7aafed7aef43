"""Count where individual_risk_down and individual_risk_up are not the doubles around r.

    python -m bench.directed_rounding                    # some minutes
    python -m bench.directed_rounding --random 50000000 --hard 2000000 --arb 200000

Random points of every region of the risk (bench/domains.py), and inputs within 2^-20
ulp of a double (bench/hard_cases.py), are judged by the proven enclosures of r, which
tell its neighbors where no double is in them. Arb judges the others, and a second
sample alone. Writes a table to bench/results/benches.md.
"""

import functools
import math
import sys
from fractions import Fraction
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from flint import arb, ctx

import riskcore
from bench import hard_cases
from bench._common import command, table
from bench.correct_rounding import sweep
from bench.domains import RISK
from bench.references import exact_risk
from riskcore.core.risk.bounds import risk_enclosure

HARD = "within 2^-20 ulp of a double"
LARGEST = sys.float_info.max


class Counted(NamedTuple):
    points: int = 0
    undecided: int = 0  # by the enclosures: left to Arb
    wrong: int = 0  # down or up
    exact: int = 0  # r is a double
    by_arb: int = 0  # points that Arb alone judged
    wrong_by_arb: int = 0

    def plus(self, other):
        return Counted(*(a + b for a, b in zip(self, other, strict=True)))


def largest_not_above(x, above):
    """Return the largest double that is not above r, from a double x >= 0 next to it.

    ``above(x)`` returns whether x > r.
    """
    while above(x):
        x = math.nextafter(x, 0.0)
    while x < LARGEST and not above(math.nextafter(x, math.inf)):
        x = math.nextafter(x, math.inf)
    return x


@functools.lru_cache(100_000)  # the doubles next to 1 come again and again
def neighbors_by_arb(f, p):
    """Return the largest double not above r(f, p), and the smallest not below."""
    if p == 1:  # no ball decides an equality; the product is exact
        r = 1 / Fraction(f)
        down = largest_not_above(min(1 / f, LARGEST), lambda x: r < Fraction(x))
        return down, down if down == r else math.nextafter(down, math.inf)
    bits = 120
    while bits < 20_000:
        r = exact_risk(f, p, bits)

        def above(x, r=r):
            if x and not (r < arb(x) or arb(x) < r):
                raise ArithmeticError("undecided")
            return x and r < arb(x)

        try:
            with ctx.workprec(bits + 1200):
                down = largest_not_above(min(float(r.mid()), LARGEST), above)
                return down, math.nextafter(down, math.inf)
        except ArithmeticError:
            bits *= 2
    raise ArithmeticError(f"r({f!r}, {p!r}) is not told from a double")


def neighbors_by_enclosures(f, p):
    """Return the doubles below and above r, and where the enclosures decide them."""
    # r is within radius of (high + low) 2^(-600 n).
    high, low, radius, n = risk_enclosure(f, p)
    told = np.abs(low) > 2.0 * radius
    below = np.where(low < 0, np.nextafter(high, 0), high)
    back = (-600 * n).astype(int)
    with np.errstate(over="ignore", under="ignore"):
        down = np.minimum(np.ldexp(below, back), LARGEST)
    # Subnormal numbers are multiples of 2^-1074.
    small = np.flatnonzero(down <= 2.0**-1021)
    whole = np.floor(np.ldexp(below[small], back[small] + 1074))
    down[small] = np.ldexp(whole, -1074)
    with np.errstate(over="ignore"):
        return down, np.nextafter(down, np.inf), told


def judge(f, p, arb_alone):
    """Return what is counted at points; those outside the domain are left out."""
    inside = (f > 0) & np.isfinite(f) & (p > 0) & (p <= 1)
    f, p = f[inside], p[inside]
    ufuncs = riskcore.individual_risk_down, riskcore.individual_risk_up
    found = np.array([ufunc(f, p) for ufunc in ufuncs])
    down, up, told = neighbors_by_enclosures(f, p)
    right, told = np.array([down, up]), told & (not arb_alone)
    for i in np.flatnonzero(~told).tolist():
        right[:, i] = neighbors_by_arb(float(f[i]), float(p[i]))
    wrong = int((found != right).any(axis=0).sum())
    if arb_alone:
        return Counted(by_arb=len(f), wrong_by_arb=wrong)
    exact = int((right[0] == right[1]).sum())
    return Counted(len(f), int((~told).sum()), wrong, exact)


def count(work):
    """Return a region and what is counted in one part of it."""
    region, seed, part, n, arb_alone = work
    if region == HARD:
        at = hard_cases.make(n, None, [seed, part, int(arb_alone)], "double")
        return region, judge(at[:, 0].copy(), at[:, 1].copy(), arb_alone)
    number = list(RISK).index(region)
    rng = np.random.default_rng([seed, number, part, int(arb_alone)])
    f, p = RISK[region](rng, n)
    return region, judge(np.asarray(f, float), np.asarray(p, float), arb_alone)


def text_of(counted, seed):
    whole = Counted()
    for c in counted.values():
        whole = whole.plus(c)
    rows = [
        [name, *(f"{number:,}" for number in c)]
        for name, c in [*counted.items(), ("all", whole)]
    ]
    header = [
        "region", "points", "left to Arb", "not rounded down or up", "r is a double",
        "by Arb alone", "of them not",
    ]  # fmt: skip
    return (
        f"`{command()}`: riskcore {riskcore.__version__}, "
        f"python-flint {version('python-flint')}, seed {seed}.\n\n{table(header, rows)}"
    )


def main():
    sweep(__doc__, "directed_rounding", count, HARD, Counted(), text_of)


if __name__ == "__main__":
    main()
