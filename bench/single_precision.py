"""Check that individual_risk of float32 is correctly rounded, for every float32 p.

    python -m bench.single_precision                # f = 1 to 16: hours
    python -m bench.single_precision --f 3 4        # the other rows stay as they are

The doubles that are proven to enclose r, rounded to float32, tell the nearest float32
unless one of them is a middle m of two. Then p/f < r < p/(f-1) tells, or Arb, which
also judges some p at random. Writes a row for each f to
bench/results/single_precision.md.
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
HEADER = ["f", "p", "not the nearest", "beside a middle", "judged by Arb",
          "wrong if rounded twice", "at random by Arb", "not the nearest",
          "minutes"]  # fmt: skip
TEXT = """\
# Single precision

Every float32 p in (0, 1], by f: results of `individual_risk` in float32 that are not
the nearest float32 to r(f, p). *Beside a middle*: one of the doubles around r is the
middle of two float32; *wrong if rounded twice*: there, the nearest double, rounded to
float32, is not the nearest float32.

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


def beside_a_middle(f, p, lower, upper):
    """Return the float32 nearest to r beside a middle, and how many Arb judges."""
    below, above = lower.astype(np.float32), upper.astype(np.float32)
    # One of the doubles is the middle: it rounds to the even float32 beside it.
    low = np.minimum(below, np.nextafter(above, np.float32(0)))
    high = np.nextafter(low, np.float32(2))
    middle = (low.astype(float) + high.astype(float)) / 2
    assert ((middle == lower) | (middle == upper)).all()
    result = np.where(middle * (f - 1) >= p, low, high)  # products are exact
    open_ = np.flatnonzero((middle * (f - 1) < p) & (middle * f > p))
    result[open_] = [nearest(float(f), float(p[i])) for i in open_]
    return result, len(open_)


def checked(f, rng, by_arb=1000):
    """Return the row of a table for one f."""
    wrong, beside, left, twice, start = 0, 0, 0, 0, time.perf_counter()
    for first in range(1, ONE + 1, CELLS):
        p = np.arange(first, min(first + CELLS, ONE + 1), dtype=np.int32)
        p = p.view(np.float32)
        got = riskcore.individual_risk(np.float32(f), p)
        p = p.astype(float)
        lower, upper = riskcore.individual_risk_bounds(f, p)
        expected = lower.astype(np.float32)
        where = np.flatnonzero(expected != upper.astype(np.float32))
        if len(where):
            around = p[where], lower[where], upper[where]
            expected[where], work = beside_a_middle(f, *around)
            once = riskcore.individual_risk(f, p[where]).astype(np.float32)
            beside, left = beside + len(where), left + work
            twice += int(np.count_nonzero(once != expected[where]))
        wrong += int(np.count_nonzero(got != expected))
    p = rng.integers(1, ONE + 1, by_arb, dtype=np.int32).view(np.float32)
    got = riskcore.individual_risk(np.float32(f), p)
    assert got.dtype == np.float32
    pairs = zip(got, p.tolist(), strict=True)
    by_arb_wrong = sum(x != nearest(float(f), each) for x, each in pairs)
    minutes = (time.perf_counter() - start) / 60
    counts = [ONE, wrong, beside, left, twice, by_arb, by_arb_wrong]
    return [str(f), *(f"{count:,}" for count in counts), f"{minutes:.1f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--f", type=int, nargs="+", default=range(1, 17))
    rows = {}
    if PAGE.exists():
        lines = [line.split(" | ") for line in PAGE.read_text().splitlines()]
        rows = {int(line[0][2:]): line for line in lines if line[0][2:].isdigit()}
    rows = {f: [each.strip("| ") for each in row] for f, row in rows.items()}
    for f in parser.parse_args().f:
        rows[f] = checked(f, np.random.default_rng(f))
        print(rows[f], flush=True)
        text = table(HEADER, [rows[each] for each in sorted(rows)], texts=0)
        PAGE.write_text(TEXT.format(machine("numpy"), text))


if __name__ == "__main__":
    main()
