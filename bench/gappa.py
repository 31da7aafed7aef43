"""Prove parts of the fast paths once more, by Gappa and Sollya.

    python -m bench.gappa                          # all parts: ten minutes
    python -m bench.gappa --parts pairs sine       # some

Scripts are written from the source of the kernels (bench/proof/gappa.py). Gappa bounds
what roundings lose, Sollya what polynomials leave of their functions; both certify what
they say. The exit status is 1 unless both together are within what `python -m
bench.prove` claims of the same part (notes/correct_rounding.md).
"""

import argparse
import itertools
import math
import sys

from bench._common import RESULTS, command, replace, table
from bench.proof import gappa, gappa_kernels, gappa_parts, parts
from bench.proof.program import output
from riskcore.core.special import elementary

PAGE = RESULTS / "proof_of_rounding.md"


def pairs():
    """Yield the operations on pairs."""
    for name in gappa_parts.OPERATIONS:
        yield gappa_parts.operation(name)
    yield gappa_parts.quotient()


def sine():
    """Yield the pieces of the sine."""
    claim = parts.of_sine().error
    for ends in itertools.pairwise(gappa_parts.SINES):
        yield gappa_parts.sine(*ends, claim)


def logarithm():
    """Yield the pieces of the logarithm."""
    figure = parts.of_logarithm(elementary.log_pair, 22).error
    for case in gappa_kernels.LOGARITHMS:
        yield gappa_kernels.logarithm(*case, figure)


def near_one():
    """Yield the risk for f = 1, 2, 3 next to p = 1."""
    return map(gappa_kernels.all_near, gappa_kernels.RISKS)


PARTS = {
    "pairs": pairs,
    "polynomials": gappa_parts.polynomials,
    "sine": sine,
    "logarithm": logarithm,
    "near_one": near_one,
    "exponential": gappa_kernels.exponential,
}


def power(bound):
    if bound is None:
        return ""
    return "0" if bound == 0.0 else f"2^{math.log2(bound):.1f}"


def cells(row):
    claimed = f"({power(row.figure)})" if row.figure else power(row.claimed)
    return [row.part, row.where, claimed, power(row.rounding), power(row.left_out)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    if not gappa.READY:
        parser.error("this needs the programs gappa and sollya, of Debian's packages")
    found = []
    for row in itertools.chain.from_iterable(PARTS[one]() for one in options.parts):
        found.append(row)
        print(" | ".join(cells(row)), "" if row.holds() else "NOT PROVED", flush=True)
    failed = [row for row in found if not row.holds()]
    sollya = output("sollya", "--version").splitlines()[0]
    versions = [output("gappa", "--version").strip(), " ".join(sollya.split()[2:4])]
    header = ["part", "where", "claimed", "roundings, Gappa", "left out, Sollya"]
    text = table(header, list(map(cells, found)), texts=2)
    replace(PAGE, "proof_gappa", f"`{command()}`: {', '.join(versions)}.\n\n{text}")
    print(f"{len(found)} parts, {len(failed)} not within the claim")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
