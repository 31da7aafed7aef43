"""Time riskcore describe on wide files, each in a fresh process.

    python -m bench.bench_wide [folder of an earlier version]

The columns are codes, amounts with codes, regions, decimals, dates in two orders and
numbers with blanks. Other work on the machine lengthens the seconds.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from numpy import random

from bench._common import origin, publish, table

HERE = str(Path(__file__).parent.parent)


def days(rng, n, form):
    numbers = rng.integers(0, 20_000, n)
    return pd.to_datetime(numbers, unit="D", origin="1950-01-01").strftime(form)


def lacking(rng, numbers, share, code=None):
    return pd.Series(numbers).mask(rng.random(len(numbers)) < share, code)


KINDS = [
    *[lambda rng, n: rng.integers(1, 9, n)] * 4,
    lambda rng, n: lacking(rng, rng.integers(100, 99_999, n), 0.03, 999_998),
    lambda rng, n: lacking(rng, rng.integers(0, 100, n), 0.7),
    lambda rng, n: rng.choice(["north", "south", "east", "west"], n),
    lambda rng, n: rng.normal(50, 20, n).round(2),
    lambda rng, n: days(rng, n, "%Y-%m-%d"),
    lambda rng, n: days(rng, n, "%d.%m.%Y"),
]
FILES = [
    ("mixed.csv", 10_000, 4_000, KINDS),
    ("few_records.csv", 60, 4_000, KINDS),
    ("dates.csv", 10_000, 100, KINDS[-1:]),
    ("mixed.parquet", 300, 12_000, KINDS),
]


def measured(path, source):
    """Return the seconds by the clock, of the processor, and MiB of a description."""
    command = [sys.executable, "-m", "riskcore", "describe", str(path)]
    start = time.perf_counter()
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    environment = os.environ | {"PYTHONPATH": source}
    child = os.posix_spawn(command[0], command, environment, file_actions=silent)
    _, status, used = os.wait4(child, 0)
    assert status == 0
    seconds = time.perf_counter() - start, used.ru_utime + used.ru_stime
    return [*(f"{x:.1f}" for x in seconds), f"{used.ru_maxrss / 2**10:,.0f}"]


def main():
    versions = [("now", HERE), *(("before", folder) for folder in sys.argv[1:2])]
    rows, rng = [], random.default_rng(47)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # where no other version is imported
        for name, n, columns, kinds in FILES:
            held = {f"v{j}": kinds[j % len(kinds)](rng, n) for j in range(columns)}
            frame = pd.DataFrame(held)
            (frame.to_parquet if "parquet" in name else frame.to_csv)(name, index=False)
            for version, source in versions:
                row = [name, version, f"{n:,}", f"{columns:,}"]
                rows.append(row + measured(name, source))
    header = ["file", "version", "records", "columns", "s", "processor s", "peak MiB"]
    publish("wide", f"{origin('pandas', 'pyarrow')}.\n\n{table(header, rows, 2)}")


if __name__ == "__main__":
    main()
