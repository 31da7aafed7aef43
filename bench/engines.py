"""Measure assessing data in an engine: time against a group-by, and memory.

    python -m bench.engines                           # 1e5 to 1e7 records
    python -m bench.engines duckdb --sizes 1e8        # one size, the engines named
    python -m bench.engines --sizes 1e6 --keys 2 12   # fewer points of the growth
    python -m bench.engines --sizes --keys            # nothing: the page again

duckdb makes files of Parquet with keys and a weight. Each engine assesses each file
in a process of its own; so does the rival, a streaming group-by of polars that adds
doubles. Its path is assessed, too, and by the command. Sizes have 10 keys. How cost
grows with the keys is measured at 1e6 records. duckdb has a limit of 1 GB
(RISKCORE_BENCH_LIMIT), and also writes the risk of each record, by `.records` and by a
query with the SQL function. So does Spark, once with two executors, one of which is
killed; its records are compared with duckdb's. engines.svg shows growth by records and
by keys. Names of engines stand before options.
Runs of some sizes or engines take the place of the same rows of engines.csv, from
which the table and the picture are made. RISKCORE_BENCH_SKEW makes levels less even
(1.6: 17.6 million cells of 1e8 records, not 39.6); keep its results apart.
"""

import argparse
import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

from bench._common import HERE, command, machine, publish, table

LIMIT = os.environ.get("RISKCORE_BENCH_LIMIT", "1GB")
LEVELS = (14, 2, 91, 5, 14, 7, 2, 5, 2, 10, 3, 6)
SKEW = float(os.environ.get("RISKCORE_BENCH_SKEW", "1"))
USUAL = 10
GROWTH = (2, 4, 6, 8, 10, 12)
GROWTH_SIZE = 1_000_000
RESULTS = HERE / "engines.csv"  # of all runs
FIELDS = ("records", "keys", "name", "cells", "seconds", "times", "peak")
KEYS = [f"k{i}" for i in range(int(os.environ.get("RISKCORE_BENCH_KEYS", USUAL)))]
NAMED = ", ".join(KEYS)


def make(path, n, keys=USUAL):
    """Write n records; levels are 1/rank as frequent as the first, about."""
    import duckdb

    connection = duckdb.connect()
    # exp of a uniform number: the level after which the sums of 1/rank pass it.
    columns = ", ".join(
        f"CAST(floor(pow({levels + 1}, pow(random(), {SKEW})) - 1) AS UTINYINT) AS k{i}"
        for i, levels in enumerate(LEVELS[:keys])
    )
    connection.execute("SELECT setseed(0.5)")
    connection.execute("SET threads = 1")  # the seed is of one thread
    connection.execute(
        f"COPY (SELECT {columns}, 20 + 180 * random() AS w FROM range({n})) "
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

    scale = riskcore.Reading(weight_scale=1)  # they add up to more than a country
    result = riskcore.assess(data, KEYS, weight="w", reading=scale)
    _ = result.reidentification_rate, result.risk_threshold(rate=0.001)
    return result


def duckdb(path, folder):
    return len(assessed(connect(folder).sql(f"FROM '{path}'")).cells)


def duckdb_records(path, folder):
    result = assessed(connect(folder).sql(f"FROM '{path}'"))
    result.records.to_parquet(f"{folder}/records.parquet")
    return len(result.cells)


def duckdb_query(path, folder):
    from riskcore.data.engines.duckdb import register

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


def duckdb_protected(path, folder):
    """Protect from a threshold that about half of the cells reach."""
    import riskcore

    data = connect(folder).sql(f"FROM '{path}'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = riskcore.protect(data, KEYS, "w", threshold=0.02)
    assert result.safe
    return len(result.original.cells)


def duckdb_group_by(path, folder):
    cells = f"SELECT {NAMED}, count(*) AS n, sum(w) AS w FROM '{path}' GROUP BY ALL"
    return connect(folder).sql(f"SELECT count(n + w) FROM ({cells})").fetchall()[0][0]


def polars(path, _):
    import polars as pl

    return len(assessed(pl.scan_parquet(path)).cells)


def command_assess(path, _):
    from riskcore import cli

    words = ["assess", path, "--keys", *KEYS, "--weight", "w", "--weight-scale", "1"]
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        assert not cli.main([*words, "--rate", "0.001", "--json"])
    return json.loads(written.getvalue())["cells"]


def ibis(path, _):
    import ibis as engine

    return len(assessed(engine.read_parquet(path)).cells)


def session_of(master="local[2]", **settings):
    import pyspark
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # it has riskcore
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["PYTHONPATH"] = str(HERE.parent)
    settings = {"spark.ui.enabled": False, "spark.driver.memory": "3g"} | settings
    builder = SparkSession.builder.master(master)
    session = builder.config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def spark_records(path, folder):
    result = assessed(session_of().read.parquet(path))
    result.records.write.parquet(f"{folder}/out")
    return len(result.cells)


def spark_killed(path, folder):
    """Write the records with two executors and kill one meanwhile."""
    session = session_of(
        "local-cluster[2,1,3072]",
        **{
            "spark.executor.memory": "3g",
            "spark.sql.shuffle.partitions": 16,
            "spark.sql.adaptive.coalescePartitions.enabled": False,
        },
    )
    result = assessed(session.read.parquet(path))
    killed = []

    def kill():
        while not list(Path(folder).glob("out/_temporary/**/*.parquet")):
            time.sleep(0.02)
        killed.append(executors(session.sparkContext.applicationId)[0])
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    result.records.write.parquet(f"{folder}/out")
    thread.join()

    def check():
        own = assessed(connect(folder).sql(f"FROM '{path}'"))
        names = ["reidentification_rate", "max_risk", "expected_reidentifications"]
        assert [own.figures[x] for x in names] == [result.figures[x] for x in names]
        one = fingerprint(own.records)
        assert one == fingerprint(connect(folder).sql(f"FROM '{folder}/out/*.parquet'"))

    return len(result.cells), check


def executors(application):
    """Return the processes of the executors of an application of ours."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):
            continue
        if application in words and any("ExecutorBackend" in word for word in words):
            found.append(int(entry.name))
    return found


def fingerprint(records):
    """Return the number of records and a sum of their hashes, in any order."""
    columns = f"{NAMED}, w, sample_frequency, population_frequency, individual_risk"
    query = f"SELECT count(*), sum(hash({columns})::HUGEINT) FROM records"
    return records.query("records", query).fetchall()


CASES = {
    "group-by of polars, streaming": rival,
    "duckdb": duckdb,
    "duckdb, records to Parquet": duckdb_records,
    "duckdb, a query with the function": duckdb_query,
    "duckdb, protected": duckdb_protected,
    "group-by of duckdb": duckdb_group_by,
    "polars": polars,
    "a path": lambda path, _: len(assessed(path).cells),
    "the command": command_assess,
    "ibis": ibis,
    "Spark, local[2]": lambda path, _: len(
        assessed(session_of().read.parquet(path)).cells
    ),
    "Spark, local[2], records to Parquet": spark_records,
    "Spark, two executors, one killed, records the same": spark_killed,
}
RIVAL, *ENGINES = CASES
# From this many records on only what has a limit, or holds few bytes of each cell.
LARGE = 30_000_000
AT_LARGE = [name for name in ENGINES if not name.startswith("Spark")]


def one(name, path):
    """Run a case in this process and print what it took."""
    import riskcore

    assessed({**{key: [1, 2] for key in KEYS}, "w": [1.5, 2.5]})  # compiled
    assert riskcore.__version__
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
        start = time.perf_counter()
        cells = CASES[name](path, folder)
        seconds, most = time.perf_counter() - start, peak()
        if isinstance(cells, tuple):
            cells, check = cells
            check()
    print(json.dumps([cells, seconds, most]))


def peak():
    """Return the most memory of this process and of its children, Java's too, MiB."""
    parents = {}
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(fields[1])
        except (OSError, ValueError):
            continue
    own, more = {os.getpid()}, True
    while more:
        more = {pid for pid, parent in parents.items() if parent in own} - own
        own |= more
    total = 0
    for pid in own:
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(x.split()[1]) for x in lines if x.startswith("VmHWM"))
    return total / 1024


def measured(name, path, keys=USUAL):
    """Run a case in a process of its own; None if it fails."""
    words = [sys.executable, "-m", "bench.engines", "--one", name, path]
    done = subprocess.run(
        words, cwd=HERE.parent, capture_output=True, text=True, check=False,
        env={**os.environ, "RISKCORE_BENCH_KEYS": str(keys)},
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    if done.returncode or not lines:
        print(name, done.stderr[-2000:], file=sys.stderr)
        return None
    return json.loads(lines[-1])


def beside_the_rival(path, keys, names):
    """Return what each case takes: cells, seconds, times the rival, peak memory."""
    found = {}
    for name in (RIVAL, *names):
        one = measured(name, path, keys)
        base = found[RIVAL][1] if found.get(RIVAL) else None
        if one is not None:
            one.insert(2, one[1] / (base or one[1]))
        found[name] = one
        print(f"{keys} keys, {path}: {name}: {one}", file=sys.stderr, flush=True)
    return found


def draw(kept, sizes, growth):
    """Draw how the time and the memory grow with records and with keys."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "riskcore"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(10, 8), sharey="row")
    panels = {
        "records": {n: (n, USUAL) for n in sizes},
        f"keys, {GROWTH_SIZE:.0e} records": {n: (GROWTH_SIZE, n) for n in growth},
    }
    for (upper, lower), (title, runs) in zip(axes.T, panels.items(), strict=True):
        for name in CASES:
            rows = {x: kept.get((*run, name)) for x, run in runs.items()}
            rows = {x: row for x, row in rows.items() if row and row["seconds"]}
            if not rows:
                continue
            for panel, field in ((upper, "seconds"), (lower, "peak")):
                panel.plot(
                    list(rows), [float(row[field]) for row in rows.values()],
                    marker="o", markersize=3, label=name,
                    color="black" if name == RIVAL else None,
                    linestyle="--" if name == RIVAL else "-",
                )  # fmt: skip
        for panel in (upper, lower):
            panel.set_yscale("log")
            panel.grid(alpha=0.3)
            if title == "records":
                panel.set_xscale("log")
        lower.set_xlabel(title)
    axes[0][0].set_ylabel("seconds")
    axes[1][0].set_ylabel("peak memory, MiB")
    lines, names = axes[0][0].get_legend_handles_labels()
    figure.tight_layout(rect=(0, 0.1, 1, 1))
    figure.legend(lines, names, fontsize=8, loc="lower center", ncols=3)
    figure.savefig(HERE / "engines.svg", metadata={"Date": None})


def main():
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of names of engines")
    parser.add_argument("--sizes", nargs="*", type=float, default=[1e5, 1e6, 1e7])
    parser.add_argument("--keys", nargs="*", type=int, default=GROWTH)
    options = parser.parse_args()
    kept = read()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path = f"{folder}/data.parquet"
        for n in map(int, options.sizes):
            make(path, n)
            chosen = among(options.names, AT_LARGE if n >= LARGE else ENGINES)
            keep(kept, n, USUAL, beside_the_rival(path, USUAL, chosen))
        if options.keys:
            make(path, GROWTH_SIZE, max(options.keys))
        for keys in options.keys:
            chosen = among(options.names, ENGINES)
            keep(kept, GROWTH_SIZE, keys, beside_the_rival(path, keys, chosen))
    show(kept)


def read():
    """Return the results of all runs: by records, keys and name."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {(int(row["records"]), int(row["keys"]), row["name"]): row for row in rows}


def keep(kept, n, keys, run):
    """Put a run in the place of the last one, and write all of them."""
    origin = command(), machine("duckdb", "polars", "pyarrow", "narwhals")
    fields = [*FIELDS, "command", "machine"]
    for name, one in run.items():
        values = n, keys, name, *(one or ("", "", "", "")), *origin
        kept[n, keys, name] = dict(zip(fields, map(str, values), strict=True))
    names = list(CASES)
    rows = sorted(kept.items(), key=lambda x: (*x[0][:2], names.index(x[0][2])))
    with RESULTS.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for _, row in rows)


def show(kept):
    """Make the table and the picture of all runs."""
    sizes = sorted({n for n, keys, _ in kept if keys == USUAL})
    growth = sorted({keys for n, keys, _ in kept if n == GROWTH_SIZE})
    draw(kept, sizes, growth)
    rows = [
        [name, f"{n:.0e}", *figures(kept[n, USUAL, name])]
        for n in sizes
        for name in CASES
        if (n, USUAL, name) in kept
    ]
    by_keys = [
        [name, *(ratio(kept.get((GROWTH_SIZE, keys, name))) for keys in growth)]
        for name in CASES
    ]
    machines = sorted({row["machine"] for row in kept.values()})
    header = ["assess", "records", "cells", "seconds", "times the group-by", "peak MiB"]
    text = (
        f"`python -m bench.engines`: {'; '.join(machines)}; files of Parquet, {USUAL} "
        f"keys; limit of duckdb {LIMIT}; peak memory of the process and its children, "
        "so of Spark with Java's. The ratio is to the group-by in the same run; "
        "[`engines.csv`](../engines.csv) names the command of each row.\n\n"
        f"{table(header, rows)}\n\nTimes the group-by with other numbers of keys, "
        f"{GROWTH_SIZE:.0e} records:\n\n"
        + table(
            ["assess", *(f"{keys} keys" for keys in growth)],
            [row for row in by_keys if any(x not in ("", "failed") for x in row[1:])],
        )
        + "\n\n![Seconds and peak memory of each engine by records and by keys, on "
        "log scales](../engines.svg)"
    )
    publish("engines", text)


def among(names, engines):
    """Return the engines that some of the names are part of; all without names."""
    return [each for each in engines if not names or any(n in each for n in names)]


def ratio(row):
    """Return how many times the rival's time a run took; "" if it was not measured."""
    if row is None:
        return ""
    return f"{float(row['times']):.1f}" if row["seconds"] else "failed"


def figures(row):
    """Return the numbers of a row of the table."""
    if not row["seconds"]:
        return ["failed", "", "", ""]
    cells, seconds, most = int(row["cells"]), float(row["seconds"]), float(row["peak"])
    return [f"{cells:,}", f"{seconds:.1f}", ratio(row), f"{most:.0f}"]


if __name__ == "__main__":
    main()
