"""Time tabulate() where missing keys match any value.

    python -m bench.bench_wildcard [records] [rounds]

The file is that of bench_tabulate. In each key a share of the values is missing, at
random; the complete file is counted for comparison. Rounds interleave the cases in one
process; the figures are medians. The goal is at most 10 times the time of the complete
file, at 1e6 records, 6 keys and 2 % missing.
"""

from functools import partial

import numpy as np

from bench._common import given, interleaved, origin, publish, reached, table
from bench.bench_tabulate import LEVELS, make_columns
from riskcore.data.cells import tabulate

# Numbers of keys, and the share missing in each.
CASES = [(6, 0.02), (6, 0.1), (10, 0.02)]
RULES = {
    "category": {"missing": "category"},
    "wildcard": {"missing": "wildcard"},
    "wildcard, alpha 0.5": {"missing": "wildcard", "alpha": 0.5},
}
GOAL = 10


def with_holes(columns, keys, share):
    """Return the columns with a share of each key's values missing."""
    rng = np.random.default_rng(21)
    n = len(columns["weight"])
    holes = {key: np.ma.array(columns[key], mask=rng.random(n) < share) for key in keys}
    return columns | holes


def patterns(data, keys):
    """Return how many sets of missing keys occur."""
    bits = sum(data[key].mask.astype(int) << i for i, key in enumerate(keys))
    return len(np.unique(bits))


def rows_of(columns, keys, share, rounds):
    """Return the rows of one file, and the largest ratio to the complete file."""
    data = with_holes(columns, keys, share)
    work = {"complete": partial(tabulate, columns, keys, "weight")}
    work |= {
        rule: partial(tabulate, data, keys, "weight", **options)
        for rule, options in RULES.items()
    }
    medians = interleaved(work, rounds)
    rows = []
    for rule, median in medians.items():
        ratio = median / medians["complete"]
        cells = len(work[rule]())
        sets = 1 if rule == "complete" else patterns(data, keys)
        case = f"{len(keys)} keys, {share:.0%} missing: {rule}"
        rows.append([case, f"{cells:,}", f"{sets}", f"{median:.3f}", f"{ratio:.1f}"])
    return rows, max(medians.values()) / medians["complete"]


def main():
    records, rounds = given(1_000_000, 5)
    columns = make_columns(records)
    rows, ratios = [], {}
    for count, share in CASES:
        keys = list(LEVELS)[:count]
        more, ratios[count, share] = rows_of(columns, keys, share, rounds)
        rows += more
    header = ["tabulate", "cells", "sets of missing keys", "seconds", "times complete"]
    publish(
        "wildcard",
        f"{origin('numpy')}; {records:.0e} records, medians of "
        f"{rounds} interleaved rounds.\n\n{table(header, rows)}\n\n"
        f"Goal, 6 keys and 2 % missing within {GOAL} times the complete file: "
        f"{ratios[6, 0.02]:.1f} times, {reached(ratios[6, 0.02] <= GOAL)}.",
    )


if __name__ == "__main__":
    main()
