"""Time the kernels beside numpy.log and scipy.special.hyp2f1.

    python -m bench.bench_kernel [rounds]
    python -m pytest bench -n 0 --benchmark-enable --benchmark-only

Rounds interleave all of them in one process; the figures are medians. SciPy computes
p/f 2F1(1, 1; f+1; 1-p) for one cell in a hundred.
"""

import ctypes
import sys
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter

import numpy as np
import pytest
from scipy.special import hyp2f1

import riskcore
from bench._common import command, interleaved, machine, publish, table
from riskcore.embed import c_array_function

CELLS = 1_000_000
MANY = 10_000_000
GOAL = 3.0  # times numpy.log
GOAL_THREADS = 1.8  # times one thread
SCIPY_SHARE = 100  # SciPy gets one cell in a hundred
SCALAR_CALLS = 2000
FUNCTIONS = [
    riskcore.individual_risk,
    riskcore.individual_risk_from_frequencies,
    riskcore.log_individual_risk,
    riskcore.individual_risk_gradient,
]


# --- cells -------------------------------------------------------------------------


def log_uniform(rng, low, high, n):
    return np.exp(rng.uniform(np.log(low), np.log(high), n))


def geometric(rng, n):
    """Return sample frequencies of which half are sample uniques."""
    return rng.geometric(0.5, n).astype(float)


CASES = {
    "mixed: geometric f, p in [1e-4, 1)": lambda rng, n: (
        geometric(rng, n),
        log_uniform(rng, 1e-4, 1, n),
    ),
    "f = 1, p in [1e-4, 1)": lambda rng, n: (
        np.ones(n),
        log_uniform(rng, 1e-4, 1, n),
    ),
    "integer f in 2 to 15, p in [1e-4, 1)": lambda rng, n: (
        rng.integers(2, 16, n).astype(float),
        log_uniform(rng, 1e-4, 1, n),
    ),
    "Zipf f, p in [1e-4, 1)": lambda rng, n: (
        rng.zipf(1.7, n).clip(1, 10**9).astype(float),
        log_uniform(rng, 1e-4, 1, n),
    ),
    "f in [32, 1e5), p in [1e-4, 1)": lambda rng, n: (
        np.floor(log_uniform(rng, 32, 1e5, n)),
        log_uniform(rng, 1e-4, 1, n),
    ),
    "geometric f, 1 - p in [1e-12, 0.1)": lambda rng, n: (
        geometric(rng, n),
        1 - log_uniform(rng, 1e-12, 0.1, n),
    ),
    "real f in [0.1, 16), p in [1e-4, 1)": lambda rng, n: (
        rng.uniform(0.1, 16, n),
        log_uniform(rng, 1e-4, 1, n),
    ),
    "real f in [0.1, 16), p in [1e-4, 0.3)": lambda rng, n: (
        rng.uniform(0.1, 16, n),
        log_uniform(rng, 1e-4, 0.3, n),
    ),
    "real f in [0.1, 2), p in [0.3, 1)": lambda rng, n: (
        rng.uniform(0.1, 2, n),
        rng.uniform(0.3, 1, n),
    ),
}
MIXED, ONES, _, _, LARGE, NEAR_ONE, REAL, *_ = CASES
WITH_GOALS = [MIXED, ONES, LARGE, NEAR_ONE]


def cells(case, n=CELLS):
    return CASES[case](np.random.default_rng(1), n)


# --- rivals ------------------------------------------------------------------------


def by_scipy(f, p):
    return p / f * hyp2f1(1, 1, f + 1, 1 - p)


def by_two_threads(pool, f, p, out):
    middle = len(f) // 2
    halves = [slice(None, middle), slice(middle, None)]
    jobs = [
        pool.submit(riskcore.individual_risk, f[half], p[half], out=out[half])
        for half in halves
    ]
    for job in jobs:
        job.result()


# --- benches for pytest ------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def bench_individual_risk(benchmark, case):
    f, p = cells(case)
    benchmark(riskcore.individual_risk, f, p, out=np.empty_like(p))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def bench_function(benchmark, function):
    f, p = cells(MIXED)
    second = f / p if function.__name__.endswith("frequencies") else p
    benchmark(function, f, second, out=np.empty_like(p))


def bench_two_threads(benchmark):
    f, p = cells(MIXED)
    with ThreadPoolExecutor(2) as pool:
        benchmark(by_two_threads, pool, f, p, np.empty_like(p))


def bench_numpy_log(benchmark):
    _, p = cells(MIXED)
    benchmark(np.log, p, out=np.empty_like(p))


def bench_scipy(benchmark):
    f, p = cells(MIXED, CELLS // SCIPY_SHARE)
    benchmark(by_scipy, f, p)


def bench_scalar(benchmark):
    benchmark(riskcore.individual_risk, 2.0, 0.01)


# --- tables ------------------------------------------------------------------------


def by_log_in_two_threads(pool, p, out):
    middle = len(p) // 2
    halves = [slice(None, middle), slice(middle, None)]
    for job in [pool.submit(np.log, p[half], out=out[half]) for half in halves]:
        job.result()


def speed_row(case, n, rounds, pool):
    """Return one case: our time, that of the rivals, SciPy's nan and inf."""
    f, p = cells(case, n)
    few = n // SCIPY_SHARE
    ours, logarithm = np.empty(n), np.empty(n)
    medians = interleaved(
        {
            "ours": lambda: riskcore.individual_risk(f, p, out=ours),
            "threads": lambda: by_two_threads(pool, f, p, ours),
            "log": lambda: np.log(p, out=logarithm),
            "log threads": lambda: by_log_in_two_threads(pool, p, logarithm),
            "scipy": lambda: by_scipy(f[:few], p[:few]),
        },
        rounds,
    )
    ns = {name: 1e9 * seconds / n for name, seconds in medians.items()}
    ns["scipy"] *= n / few
    not_finite = ~np.isfinite(by_scipy(f[:few], p[:few]))
    return [
        case,
        f"{n:.0e}",
        f"{ns['ours']:.2f}",
        f"{ns['log']:.2f}",
        f"{ns['ours'] / ns['log']:.1f}",
        f"{ns['ours'] / ns['threads']:.2f}",
        f"{ns['log'] / ns['log threads']:.2f}",
        f"{ns['scipy']:.0f}",
        f"{ns['scipy'] / ns['ours']:.0f}",
        f"{not_finite.sum()} of {few}",
    ]


def by_pointer(*columns):
    doubles = ctypes.POINTER(ctypes.c_double)
    pointers = [column.ctypes.data_as(doubles) for column in columns]
    c_array_function("individual_risk")(*pointers, len(columns[0]))


def door_rows(n, rounds):
    """Return the ns per mixed cell of each way to the same loop."""
    f, p = cells(MIXED, n)
    pair = np.stack([f, p], axis=1)
    out = np.empty(n)
    work = {
        "ufunc, contiguous arrays": lambda: riskcore.individual_risk(f, p, out=out),
        "ufunc, columns of one array": lambda: riskcore.individual_risk(
            pair[:, 0], pair[:, 1], out=out
        ),
        "ufunc, 1000 cells a call": lambda: [
            riskcore.individual_risk(f[i : i + 1000], p[i : i + 1000])
            for i in range(0, n, 1000)
        ],
        "C pointer": lambda: by_pointer(f, p, out),
    }
    out[:] = p
    medians = interleaved(work, rounds)
    return [[name, f"{1e9 * taken / n:.2f}"] for name, taken in medians.items()]


def function_rows(case, n, rounds):
    """Return each function's ns per cell of a case."""
    f, p = cells(case, n)
    F = f / p
    out = np.empty(n)
    work = {
        function.__name__: lambda function=function, second=second: function(
            f, second, out=out
        )
        for function, second in zip(FUNCTIONS, [p, F, p, p], strict=True)
    }
    medians = interleaved(work, rounds)
    return [[name, f"{1e9 * taken / n:.2f}"] for name, taken in medians.items()]


def scalar_rows(rounds):
    """Return the ns of one call with two Python numbers."""
    work = {
        "riskcore.individual_risk": lambda: riskcore.individual_risk(2.0, 0.01),
        "numpy.log": lambda: np.log(0.01),
        "scipy.special.hyp2f1": lambda: hyp2f1(1.0, 1.0, 3.0, 0.99),
    }
    medians = interleaved(work, rounds, SCALAR_CALLS)
    return [[name, f"{1e9 * taken:.0f}"] for name, taken in medians.items()]


def goal_rows(speed):
    """Return for each goal what was reached."""
    rows = []
    for case, n, _, _, ratio, threads, *_ in speed:
        reached = "reached" if float(ratio) <= GOAL else "missed"
        rows.append([f"{case}: {GOAL:g} times numpy.log", n, ratio, reached])
        if case == MIXED:
            reached = "reached" if float(threads) >= GOAL_THREADS else "missed"
            goal = f"{case}: two threads {GOAL_THREADS} times one"
            rows.append([goal, n, threads, reached])
    return rows


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with ThreadPoolExecutor(2) as pool:
        speed = [speed_row(case, CELLS, rounds, pool) for case in CASES]
        speed += [speed_row(case, MANY, 5, pool) for case in WITH_GOALS]
    header = ["individual_risk, ns per cell", "cells", "riskcore", "numpy.log"]
    header += ["ratio to log", "two threads", "log in two", "SciPy", "SciPy / riskcore"]
    header += ["SciPy not finite"]
    about = (
        f"`{command()}`: {machine('numpy', 'scipy', 'numba')}; SciPy computes one cell "
        f"in {SCIPY_SHARE}; medians of {rounds} interleaved rounds (5 for {MANY:.0e}); "
        "two threads: times faster than one."
    )
    goals = goal_rows([row for row in speed if row[0] in WITH_GOALS])
    tables = [
        table(header, speed),
        table(["goal", "cells", "measured", ""], goals),
        table(["mixed cells", "ns per cell"], function_rows(MIXED, CELLS, rounds)),
        table([REAL, "ns per cell"], function_rows(REAL, CELLS, rounds)),
        table(
            ["individual_risk, mixed cells", "ns per cell"], door_rows(CELLS, rounds)
        ),
        table(["call with two numbers", "ns"], scalar_rows(rounds)),
    ]
    shown = itemgetter(0, 2, 4, 8)  # the case, our ns, the two ratios
    brief = table(list(shown(header)), map(shown, speed[: len(CASES)]))
    publish("kernel", "\n\n".join([about, *tables]), f"{brief}\n\n{about}")


if __name__ == "__main__":
    main()
