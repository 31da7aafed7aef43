"""The worst points ever found of every function whose accuracy is stated.

They are in worst_points.csv: the function, its arguments as hexadecimal floats, the
error there in ulp and how the point was found. Every bench of accuracy evaluates those
of its functions again beside its sample, and adds what the sample has that is worse;
``bench/adversary.py`` searches for more.
"""

import csv
import math
from typing import NamedTuple

from bench._common import HERE

DATA = HERE / "worst_points.csv"
KEPT = 3  # points of a function
HEADER = """\
# Points where errors are largest, of all that any sample or search has found: error in
# units in the last place of the exact value, by Arb. bench/worst.py tells more.
"""


class Worst(NamedTuple):
    function: str
    arguments: tuple[float, ...]
    error: float
    found: str

    @property
    def places(self):
        """The arguments as they are printed."""
        return [f"`{x.hex()}` ({x:.6g})" for x in self.arguments]


def read():
    """Return all points, the worst of each function first."""
    if not DATA.exists():
        return []
    with DATA.open() as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [
            Worst(
                row["function"],
                tuple(map(float.fromhex, row["arguments"].split())),
                float(row["error"]),
                row["found"],
            )
            for row in rows
        ]


def worst_first(points):
    """Return the worst points of each function, by its name, once for each place."""
    by_function = {}
    for point in sorted(points, key=lambda point: -point.error):
        kept = by_function.setdefault(point.function, [])
        known = any(point.arguments == other.arguments for other in kept)
        if not known and len(kept) < KEPT:
            kept.append(point)
    return by_function


def write(points):
    """Write the worst points of each function."""
    by_function = worst_first(points)
    with DATA.open("w", newline="") as file:
        file.write(HEADER)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["function", "arguments", "error", "found"])
        for name in sorted(by_function):
            for _, arguments, error, found in by_function[name]:
                place = " ".join(x.hex() for x in arguments)
                writer.writerow([name, place, f"{error:.4f}", found])


def measured_again(names, error_at, sample=(), keep=True):
    """Return the worst point of each function, after measuring all again.

    ``error_at(name, arguments)`` is the error in ulp. The points of a sample join those
    known; with ``keep`` the file has the result.
    """
    points = [
        point._replace(error=error_at(point.function, point.arguments))
        if point.function in names
        else point
        for point in read()
    ]
    points += sample
    if keep:
        write(points)
    by_function = worst_first(points)
    return {name: by_function[name][0] for name in names if name in by_function}


def rounded_up(error):
    """Return an error as text with two decimals, never below it."""
    return f"{math.ceil(round(error, 4) * 100) / 100:.2f}"
