"""Find points where the proven bounds are two ulp apart: doubles that r nearly is.

    python -m bench.ties [--seed 1]

Each family of points is evaluated by individual_risk_bounds; where the bounds are not
neighbours, Arb decides whether they enclose r. Writes the points of the families that
are no sample to tests/data/two_ulp_points.csv, and a table to bench/README.md.
"""

import argparse
import csv
import math

import numpy as np
from flint import arb

import riskcore
from bench import accuracy
from bench._common import HERE, command, publish, table
from bench.enclosures import exact

DATA = HERE.parent / "tests" / "data" / "two_ulp_points.csv"
POINTS = 50_000  # of a region of bench/accuracy.py
SAMPLES = 6_000_000


def pairs(f, p):
    """Return every f with every p."""
    return [axis.ravel() for axis in np.meshgrid(f, p, indexing="ij")]


def beside_powers(exponents):
    """Return the doubles up to 8 ulp from powers of two."""
    ones = 1 + np.arange(-8, 9) * 2.0**-52
    return np.multiply.outer(2.0**exponents, ones).ravel()


def few_bits(_):
    """Return integers f to 256 and every p of four bits from 2^-1000."""
    mantissas = np.arange(8, 16) / 8
    return pairs(
        np.arange(1.0, 257),
        np.multiply.outer(2.0 ** -np.arange(1.0, 1001), mantissas).ravel(),
    )


def near_powers(_):
    """Return f and p up to 8 ulp from powers of two."""
    return pairs(
        beside_powers(np.arange(30.0, 80)), beside_powers(-np.arange(1.0, 21)).ravel()
    )


def regions(rng):
    """Return the random points of bench/accuracy.py, from all its regions."""
    parts = [draw(rng, SAMPLES // 2 // len(accuracy.REGIONS))
             for draw in accuracy.REGIONS.values()]  # fmt: skip
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def realistic(rng):
    """Return geometric f and log-uniform p."""
    n = SAMPLES // 2
    return rng.geometric(0.4, n).astype(float), np.exp(rng.uniform(-12, 0, n))


FAMILIES = {
    "f = 1 to 256, p of four bits from 2^-1000": few_bits,
    "f from 2^30 to 2^79, p from 2^-20, each within 8 ulp of a power of 2": near_powers,
    "random, the regions of `bench/accuracy.py`": regions,
    "random, geometric f, log-uniform p": realistic,
}


def apart(f, p):
    """Return the points whose bounds are neither equal nor neighbours."""
    f, p = (np.asarray(x, float) for x in (f, p))
    lower, upper = riskcore.individual_risk_bounds(f, p)
    with np.errstate(over="ignore"):
        wide = np.nextafter(lower, np.inf) < upper
    return sorted({*zip(f[wide].tolist(), p[wide].tolist(), strict=True)})


def checked(f, p):
    """Return log2 of the relative distance from r to the double between the bounds.

    The bounds must enclose r, and be two ulp apart.
    """
    lower, upper = map(float, riskcore.individual_risk_bounds(f, p))
    middle = math.nextafter(lower, math.inf)
    r = exact(f, p, 400)
    if not arb(lower) <= r <= arb(upper):
        raise AssertionError(f"r is outside its bounds at {f.hex()}, {p.hex()}")
    if math.nextafter(middle, math.inf) != upper:
        raise AssertionError(f"more than two ulp apart at {f.hex()}, {p.hex()}")
    return math.log2(abs(float((r / arb(middle) - 1).mid())))


def write(rows):
    with DATA.open("w", newline="") as file:
        file.write(f"# {command()}: where the bounds are two ulp apart.\n")
        file.write("# log2_distance: of r from the double between them, relative.\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["log2_distance", "f", "p"])
        for f, p, distance in rows:
            writer.writerow([f"{distance:.2f}", f.hex(), p.hex()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    lines, every = [], set()
    for name, draw in FAMILIES.items():
        f, p = draw(rng)
        found = apart(f, p)
        farthest = [checked(*point) for point in found]
        every |= {(*point, at) for point, at in zip(found, farthest, strict=True)}
        largest = f"2^{max(farthest):.1f}" if found else ""
        lines.append([name, f"{len(f):,}", f"{len(found)}", largest])
    write(sorted(every))
    header = ["points", "number", "bounds two ulp apart", "r from the double, at most"]
    text = f"`{command()}`: riskcore {riskcore.__version__}.\n\n{table(header, lines)}"
    publish("ties", text)


if __name__ == "__main__":
    main()
