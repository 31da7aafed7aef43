"""Compare tabulate() with the group-by of polars and pandas.

    python -m bench.bench_tabulate [records] [rounds]

Each engine gets the frame as its users have it and returns the frequency and the sum of
weights of each cell; riskcore also returns the cell of each record. Rounds interleave
the engines in one process; the figures are medians. Peak memory is that of a fresh
process that runs one engine once, above what it held before.
"""

import multiprocessing
import resource
from functools import partial

import numpy as np
import pandas as pd
import polars as pl

from bench._common import given, interleaved, origin, publish, table
from riskcore.data.cells import tabulate

LEVELS = {"a": 14, "b": 2, "c": 91, "d": 5, "e": 14, "f": 7}
LEVELS |= {"g": 2, "h": 5, "i": 2, "j": 10}


def make_columns(records):
    """Return uint8 keys with Zipf(1) levels, and weights."""
    rng = np.random.default_rng(20)
    columns = {}
    for name, levels in LEVELS.items():
        share = 1 / np.arange(1, levels + 1)
        columns[name] = rng.choice(levels, records, p=share / share.sum())
        columns[name] = columns[name].astype(np.uint8)
    return columns | {"weight": rng.uniform(1, 100, records)}


def polars_streaming(frame, keys):
    cells = frame.lazy().group_by(keys).agg(pl.len(), pl.sum("weight"))
    return cells.collect(engine="streaming")


def pandas_groupby(frame, keys):
    groups = frame.groupby(keys, sort=False, observed=True)
    return groups["weight"].agg(["size", "sum"])


ENGINES = {
    "riskcore, polars frame": (
        pl.DataFrame,
        lambda frame, keys: tabulate(frame, keys, "weight"),
    ),
    "riskcore, pandas frame": (
        pd.DataFrame,
        lambda frame, keys: tabulate(frame, keys, "weight"),
    ),
    "polars streaming": (pl.DataFrame, polars_streaming),
    "pandas": (pd.DataFrame, pandas_groupby),
}


def peak_mib(engine, records, keys):
    """Run one engine once; return the growth of the peak resident memory."""
    make, run = ENGINES[engine]
    columns = make_columns(10_000)
    run(make(columns), keys)  # compiled code and thread pools are not counted
    frame = make(make_columns(records))
    held = resident_mib()
    reset_peak()
    run(frame, keys)
    return highest_mib() - held


def resident_mib():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 2**20


def reset_peak():
    """Make the kernel forget the peak of making the data."""
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")


def highest_mib():
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) / 2**10


def main():
    records, rounds = given(10_000_000, 5)
    columns = make_columns(records)
    frames = {make: make(columns) for make, _ in ENGINES.values()}
    rows = []
    for keys in (list(LEVELS)[:4], list(LEVELS)[:6], list(LEVELS)):
        work = {
            engine: partial(run, frames[make], keys)
            for engine, (make, run) in ENGINES.items()
        }
        medians = interleaved(work, rounds)
        cells = len(polars_streaming(frames[pl.DataFrame], keys))
        ours = medians["riskcore, polars frame"]
        for engine, median in medians.items():
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                peak = pool.apply(peak_mib, (engine, records, keys))
            numbers = [f"{cells:,}", f"{median:.3f}", f"{median / ours:.2f}"]
            rows.append([f"{len(keys)} keys: {engine}", *numbers, f"{peak:.0f}"])
    header = ["tabulate", "cells", "seconds", "times riskcore", "extra peak MiB"]
    about = (
        f"{origin('numpy', 'polars', 'pandas')}; "
        f"{records:.0e} records, medians of {rounds} interleaved rounds."
    )
    publish("tabulate", f"{about}\n\n{table(header, rows)}")


if __name__ == "__main__":
    main()
