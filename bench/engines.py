"""Assessing data that an engine holds: time beside a plain group-by, and memory.

    python -m bench.engines                  # 1e6 and 1e7 records
    python -m bench.engines 1e8 duckdb       # one size, the engines named

duckdb makes files of Parquet with 10 keys and a weight. Each engine assesses each file
in a process of its own; so does the rival, a streaming group-by of polars that adds
doubles. duckdb has a limit of 2 GB (RISKCORE_BENCH_LIMIT), and writes the risk of each
record, too: by `.records`, and by a query with the SQL function, where no cell comes to
Python.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench._common import HERE, command, machine, publish, table

LIMIT = os.environ.get("RISKCORE_BENCH_LIMIT", "2GB")
LEVELS = (14, 2, 91, 5, 14, 7, 2, 5, 2, 10)
KEYS = [f"k{i}" for i in range(len(LEVELS))]
NAMED = ", ".join(KEYS)


def make(path, n):
    """Write n records; levels are 1/rank as frequent as the first, about."""
    import duckdb

    connection = duckdb.connect()
    # exp of a uniform number: the level after which the sums of 1/rank pass it.
    keys = ", ".join(
        f"CAST(floor(pow({levels + 1}, random()) - 1) AS UTINYINT) AS k{i}"
        for i, levels in enumerate(LEVELS)
    )
    connection.execute("SELECT setseed(0.5)")
    connection.execute("SET threads = 1")  # the seed is of one thread
    connection.execute(
        f"COPY (SELECT {keys}, 20 + 180 * random() AS w FROM range({n})) "
        f"TO '{path}' (FORMAT parquet)"
    )


def rival(path, _):
    import polars as pl

    lazy = pl.scan_parquet(path).group_by(KEYS).agg(pl.len(), pl.col("w").sum())
    return len(lazy.collect(engine="streaming"))


def connect(folder):
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET memory_limit = '{LIMIT}'")
    connection.execute(f"SET temp_directory = '{folder}/spill'")
    connection.execute("SET preserve_insertion_order = false")
    return connection


def assessed(data):
    import riskcore

    result = riskcore.assess(data, KEYS, weight="w")
    _ = result.reidentification_rate, result.risk_threshold(rate=0.001)
    return result


def duckdb(path, folder):
    return len(assessed(connect(folder).sql(f"FROM '{path}'")).cells)


def duckdb_records(path, folder):
    result = assessed(connect(folder).sql(f"FROM '{path}'"))
    result.records.to_parquet(f"{folder}/records.parquet")
    return len(result.cells)


def duckdb_query(path, folder):
    from riskcore.engines.duckdb import register

    connection = connect(folder)
    register(connection)
    connection.execute(
        f"COPY (WITH cells AS (SELECT {NAMED}, count(*) AS freq, sum(w) AS sums "
        f"FROM '{path}' GROUP BY ALL), risks AS MATERIALIZED (SELECT {NAMED}, "
        "individual_risk(freq, sums) AS individual_risk FROM cells) "
        f"SELECT data.*, individual_risk FROM '{path}' data JOIN risks "
        f"USING ({NAMED})) TO '{folder}/query.parquet'"
    )
    return connection.sql(
        f"SELECT count(*) FROM (SELECT DISTINCT {NAMED} FROM '{path}')"
    ).fetchall()[0][0]


def polars(path, _):
    import polars as pl

    return len(assessed(pl.scan_parquet(path)).cells)


def dataset(path, _):
    import pyarrow.dataset

    return len(assessed(pyarrow.dataset.dataset(path)).cells)


def ibis(path, _):
    import ibis as engine

    return len(assessed(engine.read_parquet(path)).cells)


def dask(path, _):
    import dask.dataframe

    return len(assessed(dask.dataframe.read_parquet(path)).cells)


def spark(path, folder):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    session = builder.config("spark.driver.memory", "3g").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return len(assessed(session.read.parquet(path)).cells)


CASES = {
    "group-by of polars, streaming": rival,
    "duckdb": duckdb,
    "duckdb, records to Parquet": duckdb_records,
    "duckdb, a query with the function": duckdb_query,
    "polars": polars,
    "dataset of pyarrow": dataset,
    "ibis": ibis,
    "dask": dask,
    "Spark, local[2]": spark,
}
RIVAL, *ENGINES = CASES
# From this many records on only what does not bring the cells to Python.
LARGE, AT_LARGE = 30_000_000, ("duckdb, a query with the function",)


def one(name, path):
    """Run a case in this process and print what it took."""
    import riskcore

    assessed({**{key: [1, 2] for key in KEYS}, "w": [1.5, 2.5]})  # compiled
    assert riskcore.__version__
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        start = time.perf_counter()
        cells = CASES[name](path, folder)
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([cells, seconds, peak]))


def measured(name, path):
    """Run a case in a process of its own; None if it fails."""
    words = [sys.executable, "-m", "bench.engines", "--one", name, path]
    done = subprocess.run(
        words, cwd=HERE.parent, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(name, done.stderr[-2000:], file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main():
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:])
        return
    sizes = [int(float(word)) for word in sys.argv[1:] if word[0].isdigit()]
    named = [word for word in sys.argv[1:] if not word[0].isdigit()]
    rows = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for n in sizes or [1_000_000, 10_000_000]:
            path = f"{folder}/{n}.parquet"
            make(path, n)
            base = measured(RIVAL, path)
            chosen = AT_LARGE if n >= LARGE else ENGINES
            chosen = [e for e in chosen if not named or any(w in e for w in named)]
            for name in (RIVAL, *chosen):
                found = base if name == RIVAL else measured(name, path)
                if found is None:
                    rows.append([name, f"{n:.0e}", "failed", "", "", ""])
                    continue
                cells, seconds, peak = found
                ratio = "" if base is None else f"{seconds / base[1]:.1f}"
                rows.append(
                    [name, f"{n:.0e}", f"{cells:,}", f"{seconds:.1f}", ratio,
                     f"{peak:.0f}"]
                )  # fmt: skip
                print(rows[-1], file=sys.stderr, flush=True)
            Path(path).unlink()
    about = machine("duckdb", "polars", "pyarrow", "narwhals")
    publish(
        "engines",
        f"`{command()}`: {about}; files of Parquet, 10 keys, one run each; peak memory "
        "of the process (of Spark without Java's).\n\n"
        + table(
            ["assess", "records", "cells", "seconds", "times the group-by", "peak MiB"],
            rows,
        ),
    )


if __name__ == "__main__":
    main()
