"""Compare the time of assess() with that of a plain group-by.

    python -m bench.bench_assess [records] [rounds]

The rival is the streaming group-by of polars on the same frame, which counts records
and adds weights by cell alone: it has neither risks nor records, and joins nothing.
Keys are codes of a byte, or the same as text. Rounds interleave the cases in one
process; the figures are medians. Peak memory is that of a fresh process that runs one
case once, above what it held before; the input is what its columns take.
"""

import multiprocessing
import statistics
import time
from functools import partial

import polars as pl

import riskcore
from bench._common import given, origin, publish, table
from bench.bench_tabulate import (
    LEVELS,
    highest_mib,
    make_columns,
    polars_streaming,
    reset_peak,
    resident_mib,
)
from riskcore.data.coded import CodedRecords
from riskcore.data.count import count

KEYS = list(LEVELS)


def codes(columns):
    return pl.DataFrame(columns)


def text(columns):
    return pl.DataFrame(columns).with_columns(pl.col(KEYS).cast(pl.String))


def assessed(frame):
    return riskcore.assess(frame, KEYS, "weight")


def with_records(frame):
    return assessed(frame).records


def counted(threads, frame):
    coded = CodedRecords.of(frame, KEYS, "weight")
    columns = coded.keys(KEYS)
    levels = [column.levels for column in columns]
    start = time.perf_counter()
    count([column.codes for column in columns], levels, coded.weights, threads=threads)
    return time.perf_counter() - start


RIVAL = partial(polars_streaming, keys=KEYS)
CASES = {
    "codes: group-by of polars, streaming": (codes, RIVAL),
    "codes: tabulate": (codes, lambda frame: riskcore.tabulate(frame, KEYS, "weight")),
    "codes: assess": (codes, assessed),
    "codes: assess and .records": (codes, with_records),
    "text: group-by of polars, streaming": (text, RIVAL),
    "text: assess": (text, assessed),
    "text: assess and .records": (text, with_records),
}


def peak_mib(case, records):
    """Run one case once; return the growth of the peak resident memory."""
    make, run = CASES[case]
    run(make(make_columns(10_000)))  # compiled code and thread pools are not counted
    frame = make(make_columns(records))
    held = resident_mib()
    reset_peak()
    run(frame)
    return highest_mib() - held


def main():
    records, rounds = given(10_000_000, 5)
    columns = make_columns(records)
    frames = {make: make(columns) for make in (codes, text)}
    size = sum(column.nbytes for column in columns.values()) / 2**20
    times = {case: [] for case in CASES}
    cpu = {case: [] for case in CASES}
    speedup = []
    for _ in range(rounds + 1):
        for case, (make, run) in CASES.items():
            start, used = time.perf_counter(), time.process_time()
            run(frames[make])
            times[case].append(time.perf_counter() - start)
            cpu[case].append(time.process_time() - used)
        speedup.append(counted(1, frames[codes]) / counted(2, frames[codes]))
    rows = []
    for case, (make, _) in CASES.items():
        rival = next(name for name, how in CASES.items() if how == (make, RIVAL))
        ratios = [
            statistics.median(a / b for a, b in zip(of[case], of[rival], strict=True))
            for of in ({k: v[1:] for k, v in each.items()} for each in (times, cpu))
        ]
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            peak = pool.apply(peak_mib, (case, records))
        seconds = statistics.median(times[case][1:])
        memory = [f"{peak:.0f}", f"{peak / size:.1f}" if make is codes else ""]
        rows.append(
            [case, f"{seconds:.2f}", *(f"{one:.2f}" for one in ratios), *memory]
        )
    header = [
        f"{len(KEYS)} keys", "seconds", "of the rival's time", "of its CPU time",
        "extra peak MiB", "of the input",
    ]  # fmt: skip
    publish(
        "assess",
        f"{origin('numpy', 'polars')}; {records:.0e} records of "
        f"{size:.0f} MiB as codes, medians of {rounds} interleaved rounds. Counting "
        f"with two threads: {statistics.median(speedup[1:]):.2f} times as fast as with "
        f"one.\n\n{table(header, rows)}",
    )


if __name__ == "__main__":
    main()
