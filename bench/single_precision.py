"""Check that individual_risk of float32 is correctly rounded, for every float32 p.

    python -m bench.single_precision                # f = 1 to 16: a quarter of an hour
    python -m bench.single_precision --f 3 4        # the other rows stay as they are

The double nearest r, which is proven, tells the nearest float32 unless it is a middle m
of two. Then p/f < r < p/(f-1) tells, or Arb, which also judges some p at random. Writes
a row for each f to bench/results/single_precision.md.
"""

import argparse
import time

import numpy as np
from flint import arb

import riskcore
from bench._common import HERE, machine, table
from bench.references import exact_risk

PAGE = HERE / "results" / "single_precision.md"
ONE = 0x3F800000  # the bits of 1: every float32 p in (0, 1] has one of 1 to ONE
CELLS = 1 << 18
HEADER = ["f", "p", "not the nearest", "at a middle", "judged by Arb",
          "wrong if rounded twice", "at random by Arb", "not the nearest",
          "minutes"]  # fmt: skip
TEXT = """\
# Single precision

Every float32 p in (0, 1], by f: results of `individual_risk` in float32 that are not
the nearest float32 to r(f, p). *At a middle*: the nearest double is the middle of two
float32; *wrong if rounded twice*: rounded to float32, it is not the nearest float32.

Generated; do not edit. `python -m bench.single_precision`: {}

{}
"""


def nearest(f, p, bits=60):
    """Return the float32 nearest to r(f, p), by Arb with the bits it takes."""
    r = exact_risk(f, p, bits)
    x = np.float32(float(r.mid()))
    below, above = np.nextafter(x, np.float32(0)), np.nextafter(x, np.float32(2))
    low, high = (arb((float(x) + float(y)) / 2) for y in (below, above))
    if low < r < high:
        return x
    if r < low or r > high:
        return below if r < low else above
    return nearest(f, p, 2 * bits)


def checked(f, rng, by_arb=1000):
    """Return the row of a table for one f."""
    wrong, middles, left, twice, start = 0, 0, 0, 0, time.perf_counter()
    for first in range(1, ONE + 1, CELLS):
        p = np.arange(first, min(first + CELLS, ONE + 1), dtype=np.int32)
        p = p.view(np.float32)
        got = riskcore.individual_risk(np.float32(f), p)
        p = p.astype(float)
        r = riskcore.individual_risk(f, p)
        expected = r.astype(np.float32)
        other = r + (r - expected)  # as far on the other side
        at = np.flatnonzero((other.astype(np.float32) == other) & (other != expected))
        if len(at):
            p, r, low = p[at], r[at], np.minimum(expected[at], other[at])
            right = np.where(r * (f - 1) >= p, low, 2.0 * r - low)  # products are exact
            open_ = np.flatnonzero((r * (f - 1) < p) & (r * f > p))
            right[open_] = [nearest(float(f), each) for each in p[open_]]
            twice += int(np.count_nonzero(expected[at] != right))
            middles, left = middles + len(at), left + len(open_)
            expected[at] = right
        wrong += int(np.count_nonzero(got != expected))
    p = rng.integers(1, ONE + 1, by_arb, dtype=np.int32).view(np.float32)
    got = riskcore.individual_risk(np.float32(f), p)
    assert got.dtype == np.float32
    pairs = zip(got, p.tolist(), strict=True)
    by_arb_wrong = sum(x != nearest(float(f), each) for x, each in pairs)
    minutes = (time.perf_counter() - start) / 60
    counts = [ONE, wrong, middles, left, twice, by_arb, by_arb_wrong]
    return [str(f), *(f"{count:,}" for count in counts), f"{minutes:.1f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--f", type=int, nargs="+", default=range(1, 17))
    for f in parser.parse_args().f:
        row = checked(f, np.random.default_rng(f))
        print(row, flush=True)
        before = PAGE.read_text().splitlines() if PAGE.exists() else []
        rows = [line.strip("| ").split(" | ") for line in before if line[2:3].isdigit()]
        rows = sorted([each for each in rows if each[0] != row[0]] + [row], key=by_f)
        PAGE.write_text(TEXT.format(machine("numpy"), table(HEADER, rows, texts=0)))


def by_f(row):
    return int(row[0])


if __name__ == "__main__":
    main()
