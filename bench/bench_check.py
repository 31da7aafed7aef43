"""Compare riskcore.check on a large Parquet file with a group-by of duckdb.

    python -m bench.bench_check [records] [rounds]

Six keys and a weight, written once; every case reads them from the file. duckdb counts
the same cells and returns the smallest f and the counts below k, which must be equal.
Rounds interleave the cases in one process; the figures are medians.
"""

import tempfile
from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench._common import given, interleaved, origin, publish, table
from riskcore import check

K = 5
LEVELS = {"region": 50, "sex": 2, "age": 90, "marital": 5, "education": 7}
KEYS = [*LEVELS, "size"]


def make_file(path, records):
    """Write the file."""
    rng = np.random.default_rng(1)
    columns = {
        name: rng.integers(0, levels, records).astype(np.int16)
        for name, levels in LEVELS.items()
    }
    columns["size"] = np.minimum(rng.geometric(0.4, records), 8).astype(np.int16)
    columns["w"] = rng.uniform(1, 60, records)
    pq.write_table(pa.table(columns), path)


def by_duckdb(path):
    """Return the smallest f, and the records and cells below k."""
    cells = f"SELECT count(*) AS f FROM '{path}' GROUP BY {', '.join(KEYS)}"
    return duckdb.sql(
        f"SELECT min(f), sum(f) FILTER (f < {K}), count(*) FILTER (f < {K}) "
        f"FROM ({cells})"
    ).fetchall()[0]


def main():
    records, rounds = given(10_000_000, 3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.parquet"
        make_file(path, records)
        (rule,) = check(path, KEYS, k=K).rules
        peer = by_duckdb(path)
        if peer != (rule.found, rule.records, rule.cells):
            raise SystemExit(f"duckdb counts {peer}, check {rule}")
        medians = interleaved(
            {
                f"check, k = {K}": partial(check, path, KEYS, k=K),
                "duckdb, group-by": partial(by_duckdb, path),
                f"check, k = {K}, risk and rate with weights": partial(
                    check, path, KEYS, "w", k=K, max_risk=0.1, max_rate=0.01
                ),
            },
            rounds,
        )
    rows = [[name, f"{seconds:.1f}"] for name, seconds in medians.items()]
    publish(
        "check",
        f"{origin('numpy', 'duckdb')}; {records:.0e} records from "
        f"Parquet, medians of {rounds} interleaved rounds.\n\n"
        f"{table(['', 'seconds'], rows)}\n\n"
        f"Both count {rule.records:,} records in {rule.cells:,} cells below {K}; the "
        f"smallest f is {rule.found}.",
    )


if __name__ == "__main__":
    main()
