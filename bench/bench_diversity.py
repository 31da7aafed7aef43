"""Time diversity() and suda() on a large file.

    python -m bench.bench_diversity [records] [rounds]

The file is that of bench_tabulate: 8 keys for SUDA, all 255 sets of them, and 6 for
diversity of a variable of 10 and of one of 1,000 values, the latter in order. With 2 %
missing in each key they match any value. Rounds interleave the cases in one process;
the figures are medians. The goals are 10 seconds for SUDA and 1 for the diversity of a
complete file, at 1e6 records.
"""

from functools import partial

import numpy as np

from bench._common import given, interleaved, origin, publish, reached, table
from bench.bench_tabulate import LEVELS, make_columns
from bench.bench_wildcard import with_holes
from riskcore.assessment.diversity import diversity
from riskcore.assessment.suda import suda
from riskcore.data.cells import tabulate

KEYS = list(LEVELS)[:8]
FEW, MANY = "10 values", "1,000 values in order"
GOALS = {"suda, 8 keys": 10.0, f"diversity, 6 keys, {FEW}": 1.0}


def make_file(records):
    """Return keys and sensitive variables, and the same with holes in the keys."""
    rng = np.random.default_rng(22)
    columns = make_columns(records)
    columns[FEW] = rng.geometric(0.3, records).clip(1, 10)
    columns[MANY] = rng.gamma(2.0, 100.0, records).clip(0, 999).astype(np.int64)
    return columns, with_holes(columns, KEYS[:6], 0.02)


def cases(columns, holes):
    """Return what is timed, by name."""
    work = {
        "tabulate, 8 keys": partial(tabulate, columns, KEYS),
        "suda, 8 keys": partial(suda, columns, KEYS),
        "suda, 8 keys, sets of at most 3": partial(suda, columns, KEYS, 3),
    }
    for name in (FEW, MANY):
        ordered = [MANY] if name == MANY else []
        work[f"diversity, 6 keys, {name}"] = partial(
            diversity, columns, KEYS[:6], name, ordered=ordered
        )
        work[f"diversity, 6 keys, 2 % missing, {name}"] = partial(
            diversity, holes, KEYS[:6], name, ordered=ordered, missing="wildcard"
        )
    return work


def main():
    records, rounds = given(1_000_000, 3)
    medians = interleaved(cases(*make_file(records)), rounds)
    rows = [[name, f"{median:.2f}"] for name, median in medians.items()]
    goals = [
        f"{name}: {medians[name]:.2f} s of {goal:g}, {reached(medians[name] <= goal)}"
        for name, goal in GOALS.items()
    ]
    publish(
        "diversity",
        f"{origin('numpy')}; {records:.0e} records, medians of "
        f"{rounds} interleaved rounds.\n\n{table(['', 'seconds'], rows)}\n\n"
        f"Goals: {'; '.join(goals)}.",
    )


if __name__ == "__main__":
    main()
