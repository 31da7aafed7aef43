"""Compare the kernels' speed with numpy.log, numpy.power and scipy.special.hyp2f1.

    python -m bench.bench_kernel --rounds 15 --against REVISION
    python -m bench.bench_kernel --rounds 150 --in-cache
    python -m pytest bench -n 0 --benchmark-enable --benchmark-only

Rounds interleave all of them; the figures are medians. SciPy computes p/f 2F1(1, 1;
f+1; 1-p) for a thousand cells. An earlier commit runs in a process of its own,
which waits while others are timed.
"""

import argparse
import contextlib
import ctypes
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import process_time
from timeit import repeat

import numpy as np
import pytest
from scipy import stats
from scipy.special import hyp2f1

import riskcore
from bench._common import HERE, interleaved, origin, publish, reached, table
from bench.domains import constant, integers, plus, together, uniform
from bench.search import MODELS
from riskcore.core.embed import c_array_function
from riskcore.core.special.gamma import functions

CELLS = 1_000_000
MANY = 10_000_000
IN_CACHE = 10_000  # with their results
GOAL_LOG = 6.0  # times numpy.log, on mixed cells, where it has AVX-512
GOAL_POWER = 0.7  # times numpy.power, on mixed cells, elsewhere
GOAL_THREADS = 1.8  # times one thread
GOAL_BEFORE = 1.25  # times the commit before results were correctly rounded
GOAL_REAL = 60.0  # ns a cell of real f, and of bounds
GOAL_MEDIUM = 1.5  # times what f = 2 to 4 cost, for f = 5 to 15
FEW = 1000  # the cells that SciPy gets
SCALAR_CALLS = 2000
FUNCTIONS = [
    riskcore.individual_risk,
    riskcore.individual_risk_from_frequencies,
    riskcore.log_individual_risk,
    riskcore.individual_risk_gradient,
]


# --- cells -------------------------------------------------------------------------


def log_uniform(low, high):
    return lambda rng, n: np.exp(rng.uniform(np.log(low), np.log(high), n))


def geometric(rng, n):
    """Return sample frequencies, half of them 1."""
    return rng.geometric(0.5, n).astype(float)


def zipf(rng, n):
    return rng.zipf(1.7, n).clip(1, 10**9).astype(float)


def large(rng, n):
    return np.floor(log_uniform(32, 1e5)(rng, n))


P = log_uniform(1e-4, 1)
CASES = {
    "mixed: geometric f, p in [1e-4, 1)": together(geometric, P),
    "f = 1, p in [1e-4, 1)": together(constant(1.0), P),
    "integer f in 2 to 15, p in [1e-4, 1)": together(integers(2, 15), P),
    "integer f in 2 to 4, p in [1e-4, 1)": together(integers(2, 4), P),
    "integer f in 5 to 15, p in [1e-4, 1)": together(integers(5, 15), P),
    "Zipf f, p in [1e-4, 1)": together(zipf, P),
    "f in [32, 1e5), p in [1e-4, 1)": together(large, P),
    "geometric f, 1 - p in [1e-12, 0.1)": together(
        geometric, plus(1, log_uniform(1e-12, 0.1), -1)
    ),
    "real f in [0.1, 16), p in [1e-4, 1)": together(uniform(0.1, 16), P),
    "real f in [0.1, 16), p in [1e-4, 0.3)": together(
        uniform(0.1, 16), log_uniform(1e-4, 0.3)
    ),
    "real f in [0.1, 2), p in [0.3, 1)": together(uniform(0.1, 2), uniform(0.3, 1)),
}
MIXED, ONES, _, SMALL, MEDIUM, _, LARGE, NEAR_ONE, REAL, *_ = CASES
IN_LARGE_ARRAYS = [MIXED, ONES, LARGE, NEAR_ONE]


def cells(case, n=CELLS):
    return CASES[case](np.random.default_rng(1), n)


# --- rivals ------------------------------------------------------------------------


def by_scipy(f, p):
    return p / f * hyp2f1(1, 1, f + 1, 1 - p)


def by_two_threads(pool, function, *columns, out):
    """Evaluate one half of the columns in each of two threads."""
    middle = len(out) // 2
    jobs = [
        pool.submit(function, *(x[half] for x in columns), out=out[half])
        for half in (slice(None, middle), slice(middle, None))
    ]
    for job in jobs:
        job.result()


class Earlier:
    """`individual_risk` of another commit, in a process that waits for its turn."""

    RUN = """
import sys

import numpy as np

import riskcore

assert riskcore.__file__.startswith(sys.argv[1]), riskcore.__file__
for line in sys.stdin:
    name = line.strip()
    if name:
        f, p = np.load(name)
        out = np.empty_like(p)
    riskcore.individual_risk(f, p, out=out)
    print(flush=True)
"""

    def __init__(self, tree, folder):
        environment = dict(
            os.environ, PYTHONPATH=str(tree), RISKCORE_CACHE_DIR=str(folder / "cache")
        )
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.RUN, str(tree)],
            env=environment, cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def take(self, f, p):
        """Let it load the cells that all further calls evaluate."""
        name = self.folder / "cells.npy"
        np.save(name, np.stack([f, p]))
        self(name)

    def __call__(self, name=""):
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        if not self.process.stdout.readline():
            raise RuntimeError("the earlier commit did not run")


@contextlib.contextmanager
def earlier(revision):
    """Yield the rival of a revision, or None without one."""
    if not revision:
        yield None
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        tree = folder / "tree"
        git = ["git", "-C", str(HERE.parent), "worktree"]
        subprocess.run([*git, "add", "-q", "--detach", tree, revision], check=True)
        try:
            rival = Earlier(tree, folder)
            yield rival
            rival.process.stdin.close()
            rival.process.wait()
        finally:
            subprocess.run([*git, "remove", "--force", tree], check=True)


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
        out, function = np.empty_like(p), riskcore.individual_risk
        benchmark(by_two_threads, pool, function, f, p, out=out)


def bench_numpy_log(benchmark):
    _, p = cells(MIXED)
    benchmark(np.log, p, out=np.empty_like(p))


def bench_scipy(benchmark):
    f, p = cells(MIXED, FEW)
    benchmark(by_scipy, f, p)


def bench_scalar(benchmark):
    benchmark(riskcore.individual_risk, 2.0, 0.01)


# --- tables ------------------------------------------------------------------------


def ns_rows(work, rounds, n, digits=2, repeat=1):
    """Return the ns of each callable for one of its n values."""
    medians = interleaved(work, rounds, repeat)
    return [[name, f"{1e9 * taken / n:.{digits}f}"] for name, taken in medians.items()]


def speed_row(case, n, rounds, pool, before):
    """Return a row: our time, the rivals', and SciPy's values that are not finite."""
    f, p = cells(case, n)
    ours, others = np.empty(n), np.empty(n)
    work = {
        "ours": lambda: riskcore.individual_risk(f, p, out=ours),
        "threads": lambda: by_two_threads(
            pool, riskcore.individual_risk, f, p, out=ours
        ),
        "log": lambda: np.log(p, out=others),
        "log threads": lambda: by_two_threads(pool, np.log, p, out=others),
        "power": lambda: np.power(p, f, out=others),
        "scipy": lambda: by_scipy(f[:FEW], p[:FEW]),
    }
    if before is not None:
        before.take(f, p)
        work["before"] = before
    medians = interleaved(work, rounds)
    ns = {name: 1e9 * seconds / n for name, seconds in medians.items()}
    ns["scipy"] *= n / FEW
    not_finite = ~np.isfinite(by_scipy(f[:FEW], p[:FEW]))
    return [
        case,
        f"{n:.0e}",
        f"{ns['ours']:.2f}",
        f"{ns['ours'] / ns['before']:.2f}" if before is not None else "",
        f"{ns['log']:.2f}",
        f"{ns['ours'] / ns['log']:.1f}",
        f"{ns['ours'] / ns['power']:.2f}",
        f"{ns['ours'] / ns['threads']:.2f}",
        f"{ns['log'] / ns['log threads']:.2f}",
        f"{ns['scipy']:.0f}",
        f"{ns['scipy'] / ns['ours']:.0f}",
        f"{not_finite.sum()} of {FEW}",
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
    return ns_rows(work, rounds, n)


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
    return ns_rows(work, rounds, n)


def scalar_rows(rounds):
    """Return the ns of one call with two Python numbers."""
    work = {
        "riskcore.individual_risk": lambda: riskcore.individual_risk(2.0, 0.01),
        "numpy.log": lambda: np.log(0.01),
        "numpy.power": lambda: np.power(2.0, 0.01),
        "scipy.special.hyp2f1": lambda: hyp2f1(1.0, 1.0, 3.0, 0.99),
    }
    return ns_rows(work, rounds, 1, 0, SCALAR_CALLS)


def bounds_row(case, n, rounds):
    """Return the ns per cell of both proven bounds."""
    f, p = cells(case, n)
    lower, upper = np.empty(n), np.empty(n)
    work = partial(riskcore.individual_risk_bounds, f, p, out=(lower, upper))
    return ns_rows({case: work}, rounds, n)[0]


def cache_row(case, rounds):
    """Return the least ns of processor time per cell, of few cells and of many."""
    f, p = cells(case)
    out, row = np.empty(CELLS), [case]
    for n in (IN_CACHE, CELLS):
        work = partial(riskcore.individual_risk, f[:n], p[:n], out=out[:n])
        taken = repeat(work, number=CELLS // n, repeat=rounds, timer=process_time)
        row.append(f"{1e9 * min(taken) / CELLS:.2f}")
    return row


def times_in_cache(rounds):
    """Write the table of cells in cache beside those in memory."""
    header = ["individual_risk, ns per cell", f"{IN_CACHE:,} cells", f"{CELLS:,} cells"]
    rows = [cache_row(case, rounds) for case in CASES]
    about = f"{origin('numpy', 'numba')}; processor time, the least of {rounds} rounds."
    publish("in_cache", f"{about}\n\n{table(header, rows)}")


def has_avx512():
    with open("/proc/cpuinfo") as lines:
        return "avx512f" in lines.read()


def goal_rows(speed, bounds, compared):
    """Return for each goal what was reached."""
    rows = []

    def add(goal, n, measured, good):
        rows.append([goal, n, measured, reached(good)])

    for case, n, ns, before, _, log, power, threads, *_ in speed:
        if compared and n == f"{CELLS:.0e}":
            good = float(before) <= GOAL_BEFORE
            add(f"{case}: {GOAL_BEFORE:g} times the earlier commit", n, before, good)
        if case == MIXED:
            if has_avx512():
                goal = f"{case}: {GOAL_LOG:g} times numpy.log"
                add(goal, n, log, float(log) <= GOAL_LOG)
            else:
                goal = f"{case}: {GOAL_POWER:g} times numpy.power"
                add(goal, n, power, float(power) <= GOAL_POWER)
            goal = f"{case}: two threads {GOAL_THREADS:g} times one"
            add(goal, n, threads, float(threads) >= GOAL_THREADS)
        if case.startswith("real"):
            add(f"{case}: {GOAL_REAL:g} ns", n, ns, float(ns) <= GOAL_REAL)
    ns = {case: float(ns) for case, n, ns, *_ in speed if n == f"{CELLS:.0e}"}
    ratio = ns[MEDIUM] / ns[SMALL]
    goal = f"{MEDIUM}: {GOAL_MEDIUM:g} times f in 2 to 4"
    add(goal, f"{CELLS:.0e}", f"{ratio:.2f}", ratio <= GOAL_MEDIUM)
    for case, found in bounds:
        goal = f"bounds, {case}: {GOAL_REAL:g} ns"
        add(goal, f"{CELLS:.0e}", found, float(found) <= GOAL_REAL)
    return rows


def speed_of_functions():
    """Time the functions of the posterior, with a prior and of the models."""
    n = 20_000
    rng = np.random.default_rng(1)
    f, p, level = geometric(rng, n), P(rng, n), rng.random(n)
    s = f + log_uniform(1e-6, 1e3)(rng, n)
    real, small = rng.uniform(1, 16, n), rng.uniform(0.1, 0.5, n)
    mu = 1e3 * (s - f)
    quantile = riskcore.population_frequency_quantile
    cases = {
        "population_frequency_quantile": lambda: quantile(level, f, p),
        "the same by scipy.stats.nbinom": lambda: stats.nbinom.ppf(level, f, p),
        "population_frequency_quantile, f = 1000": lambda: quantile(level, 1e3, p),
        "population_frequency_quantile, f + 1/2": lambda: quantile(level, f + 0.5, p),
    }
    for name, *arguments in (
        ("individual_risk_quantile", level, f, p),
        ("individual_risk_deviation", f, p),
        ("individual_risk_deviation, f = 1", 1.0, p),
        ("individual_risk_deviation, f = 100", 100.0, p),
        ("individual_risk_second_moment", f, p),
        ("individual_risk_with_prior", f, s, p),
        ("individual_risk_with_prior, f = 1", 1.0, s, p),
        ("individual_risk_with_prior, real f in [1, 16)", real, real + s, p),
        ("individual_risk_with_prior, real f in [0.1, 0.5)", small, small + s, p),
        ("individual_risk_poisson", f, mu),
        ("individual_risk_poisson, real f in [0.1, 0.5)", small, mu),
    ):
        cases[name] = partial(getattr(riskcore, name.partition(",")[0]), *arguments)
    for name, regions in MODELS.items():
        points = next(iter(regions.values()))(rng, n)
        cases[name] = partial(getattr(functions, name), *points)
    rows = ns_rows(cases, 5, n, 0)
    text = (
        f"{origin('numpy', 'scipy', 'numba')}; {n:,} cells, "
        "geometric f, p in [1e-4, 1), shape f + alpha with alpha in [1e-6, 1e3); "
        "functions of the models in the first region of bench/search.py."
    )
    publish("function_speed", f"{text}\n\n{table(['ns per value', ''], rows)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--against", metavar="REVISION", help="an earlier commit")
    parser.add_argument(
        "--functions", action="store_true", help="only those other than the risk's"
    )
    parser.add_argument("--in-cache", action="store_true", help="few cells, and many")
    options = parser.parse_args()
    if options.in_cache or options.functions:
        times_in_cache(options.rounds) if options.in_cache else speed_of_functions()
        return
    rounds, revision = options.rounds, options.against
    with ThreadPoolExecutor(2) as pool, earlier(revision) as before:
        speed = [speed_row(case, CELLS, rounds, pool, before) for case in CASES]
        speed += [speed_row(case, MANY, 5, pool, before) for case in IN_LARGE_ARRAYS]
    bounds = [bounds_row(case, CELLS, rounds) for case in CASES]
    header = ["individual_risk, ns per cell", "cells", "riskcore", "ratio to before"]
    header += ["numpy.log", "ratio to log", "ratio to power"]
    header += ["two threads", "log in two", "SciPy", "SciPy / riskcore"]
    header += ["SciPy not finite"]
    about = (
        f"{origin('numpy', 'scipy', 'numba')}, "
        f"{'with' if has_avx512() else 'without'} AVX-512; SciPy computes "
        f"{FEW} cells; medians of {rounds} interleaved rounds (5 for {MANY:.0e}); "
        "two threads: times faster than one."
    )
    if revision:
        about += f" Before: commit {revision}, in the same rounds."
    tables = [
        table(header, speed),
        table(["goal", "cells", "measured", ""], goal_rows(speed, bounds, revision)),
        table(["individual_risk_bounds", "ns per cell"], bounds),
        table(["mixed cells", "ns per cell"], function_rows(MIXED, CELLS, rounds)),
        table([REAL, "ns per cell"], function_rows(REAL, CELLS, rounds)),
        table(
            ["individual_risk, mixed cells", "ns per cell"], door_rows(CELLS, rounds)
        ),
        table(["call with two numbers", "ns"], scalar_rows(rounds)),
    ]
    publish("kernel", "\n\n".join([about, *tables]))


if __name__ == "__main__":
    main()
