"""Time all measures of numeric risk of a large file and its release.

    python -m bench.bench_numeric_risk [records] [rounds]

Three columns of numbers, skewed, with a third of zeros, and three keys with 3,600
combinations; the released numbers have noise. Each case changes one thing. Rounds
interleave the cases in one process; the figures are medians. Peak memory is that of a
fresh process that runs the case once, beyond the memory with the file.
"""

import multiprocessing
import time
from functools import partial

import numpy as np

from bench._common import given, interleaved, origin, publish, reached, table, timed
from bench.bench_tabulate import highest_mib, reset_peak, resident_mib
from riskcore import numeric_risk

SECONDS, MIB = 20.0, 3 * 1024.0
LEVELS = (20, 2, 90)
BASE = "noise of 10 %, complete"
CASES = {
    BASE: {},
    "noise of 1 %": {"noise": 0.01},
    "noise of 100 %": {"noise": 1.0},
    "unchanged": {"noise": 0.0},
    "nine tenths zeros, whole numbers": {"zeros": 0.9, "decimals": 0},
    "1 % of the numbers and 2 % of the keys blank": {"blank": 0.01, "blank_keys": 0.02},
    "six columns": {"columns": 6},
}


def make_file(
    records, *, columns=3, noise=0.1, zeros=0.3, decimals=6, blank=0.0, blank_keys=0.0
):
    """Return the arguments of a call: an original, its release, keys and weights."""
    rng = np.random.default_rng(23)
    x = np.exp(1.5 * rng.normal(size=(columns, records)))
    x[rng.random(x.shape) < zeros] = 0.0
    x = np.round(x, decimals)
    y = x + noise * x.std(axis=1, keepdims=True) * rng.normal(size=x.shape)
    y = np.round(y, decimals)
    y[rng.random(y.shape) < blank] = np.nan
    keys = np.stack([rng.integers(0, k, records) for k in LEVELS], axis=1)
    blanked = np.where(rng.random(keys.shape) < blank_keys, -1, keys)
    return {
        "original": dict(enumerate(x)),
        "released": dict(enumerate(y)),
        "keys": keys,
        "released_keys": blanked,
        "weight": rng.uniform(5, 50, records),
    }


def peak_mib(case, records):
    """Run one case once; return the growth of the peak resident memory."""
    numeric_risk(**make_file(10_000))  # compiled code is not counted
    file = make_file(records, **CASES[case])
    held = resident_mib()
    reset_peak()
    numeric_risk(**file)
    return highest_mib() - held


def main():
    records, rounds = given(1_000_000, 3)
    work = {
        case: partial(numeric_risk, **make_file(records, **how))
        for case, how in CASES.items()
    }
    medians = interleaved(work, rounds)
    rows = []
    for case, seconds in medians.items():
        found, cpu = timed(work[case], time.process_time)
        rates = [
            100 * found.linkage("robust distance", known=known).rate
            for known in ("numbers", "keys and numbers")
        ]
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            peak = pool.apply(peak_mib, (case, records))
        rows.append(
            [
                case,
                f"{seconds:.1f}",
                f"{cpu:.1f}",
                f"{peak:.0f}",
                *(f"{x:.2f}" for x in rates),
            ]
        )
    most = max(float(row[3]) for row in rows)
    head = [
        "", "seconds", "CPU seconds", "extra peak MiB", "linked by numbers, %",
        "with keys, %",
    ]  # fmt: skip
    publish(
        "numeric_risk",
        f"{origin('numpy')}; {records:.0e} records, 3 columns, medians of {rounds} "
        f"interleaved rounds.\n\n{table(head, rows)}\n\n"
        f"Goals: {BASE}: {medians[BASE]:.1f} s of {SECONDS:g}, "
        f"{reached(medians[BASE] <= SECONDS)}; {most:.0f} MiB of {MIB:g}, "
        f"{reached(most <= MIB)}.",
    )


if __name__ == "__main__":
    main()
