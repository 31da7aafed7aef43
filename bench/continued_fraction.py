"""Show how many levels of the continued fraction each region needs.

    python -m bench.continued_fraction

riskcore/core/special/gauss/fast_integer.py cuts the fraction
S(n) = f + n - 1 - k b q/S(n+1) of D = S(1) after a fixed number of levels; the next is
S = b + k X with X = p b/(b - k q). The table gives the largest relative error of D that
this cut leaves, in exact arithmetic (mpmath, 200 bits; D = f/2F1 by mpmath's own
2F1), over a grid that starts at the region's corner.
"""

from itertools import product
from typing import NamedTuple

import mpmath
from mpmath import mpf

from bench._common import command, publish, table

PRECISION = 200


class Region(NamedTuple):
    name: str
    levels: int
    f_from: float
    p_from: float


REGIONS = [
    Region("f >= 5, p >= 0.5", 23, 5, 0.5), Region("f >= 4, p >= 0.75", 23, 4, 0.75),
    Region("f >= 4, p >= 0.3", 35, 4, 0.3), Region("f >= 2, p >= 0.5", 35, 2, 0.5),
    Region("f >= 16, any p", 35, 16, 0), Region("f >= 32, any p", 17, 32, 0),
]  # fmt: skip


def resolvent(f, p, levels):
    """Return D from the fraction, level by level: S(levels + 1) down to S(1)."""
    q = 1 - p
    k = 1 + levels // 2
    b = f + k - 1
    level = b + k * p * b / (b - k * q)
    for n in range(levels, 0, -1):
        k = 1 + (n - 1) // 2
        level = f + n - 1 - k * (f + k - 1) * q / level
    return level


def truncation_error(f, p, levels):
    """Return the relative error of D."""
    exact = f / mpmath.hyp2f1(1, 1, f + 1, 1 - p)
    return abs(resolvent(f, p, levels) / exact - 1)


def grid(region):
    """Return points (f, p), closest together at the corner of the region."""
    f = [region.f_from * mpf(factor) for factor in (1, 1.01, 1.1, 1.5, 2, 3, 5, 20)]
    if region.p_from > 0:
        span = 1 - mpf(region.p_from)
        p = [region.p_from + span * mpf(i) ** 2 / 400 for i in range(20)]
    else:
        p = [mpf(10) ** -8] + [mpf(i) / 200 for i in range(1, 200, 2)]
    return product(f, p)


def largest(region, levels):
    """Return the largest error in the region and where it is."""
    return max((truncation_error(f, p, levels), f, p) for f, p in grid(region))


def power_of_two(error):
    return f"2^{float(mpmath.log(error, 2)):.1f}"


def main():
    rows = []
    with mpmath.workprec(PRECISION):
        for region in REGIONS:
            error, f, p = largest(region, region.levels)
            fewer, *_ = largest(region, region.levels - 2)
            rows.append(
                [
                    region.name, f"{region.levels}", power_of_two(error),
                    f"{float(f):g}", f"{float(p):.3g}", power_of_two(fewer),
                ]
            )  # fmt: skip
    header = ["region", "levels", "largest error of D", "at f", "at p", "2 levels less"]
    publish("fraction", f"`{command()}`\n\n{table(header, rows)}")


if __name__ == "__main__":
    main()
