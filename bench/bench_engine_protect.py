"""Measure time and memory of protecting data in duckdb that exceed its limit.

    python -m bench.bench_engine_protect [records] [keys] [threshold] [limit]

Records go to Parquet; duckdb with a memory limit protects them and writes the result,
which is assessed again: no record may be unsafe. The peak is of the whole process,
including the memory of duckdb.
"""

import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

from bench._common import origin, table

KEYS = {
    "region": "hash(i * 7 + 1) % 17",
    "sex": "CASE WHEN hash(i * 3 + 2) % 50 > 0 THEN hash(i * 3 + 2) % 2 END",
    "age": "18 + hash(i * 5 + 3) % 70",
    "marital": "hash(i * 11 + 4) % 5",
    "job": "'job ' || sqrt(hash(i * 13 + 5) % 10000)::INT",
    "size": "hash(i * 17 + 6) % 12",
}


def make(connection, path, records):
    """Write the records: keys, a weight, and what has no part in the protection."""
    columns = ", ".join(f"{expression} AS {key}" for key, expression in KEYS.items())
    connection.execute(
        f"COPY (SELECT i AS id, {columns}, 1 + hash(i * 19 + 7) % 9000 / 10.0::DOUBLE "
        f"AS w, hash(i * 23 + 8) % 100000 AS income FROM range({records}) t(i)) "
        f"TO '{path}'"
    )


def peak():
    """Return the most memory of this process up to now, GB."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f}"


def main():
    import duckdb

    import riskcore

    given = sys.argv[1:]
    records = int(float(given[0])) if given else 20_000_000
    keys = list(KEYS)[: int(given[1]) if given[1:] else 5]
    threshold = float(given[2]) if given[2:] else 0.005
    limit = given[3] if given[3:] else "1GB"
    warnings.simplefilter("ignore")
    rows = []

    def step(what, begin, value):
        rows.append([what, f"{time.perf_counter() - begin:.0f}", peak(), value])

    with tempfile.TemporaryDirectory() as folder:
        connection = duckdb.connect()
        connection.execute(f"SET memory_limit = '{limit}'")
        connection.execute(f"SET temp_directory = '{folder}/spill'")
        connection.execute("SET preserve_insertion_order = false")
        path, safe = (str(Path(folder) / f"{name}.parquet") for name in "ab")
        begin = time.perf_counter()
        make(connection, path, records)
        step("made", begin, f"{records:,} records")
        begin = time.perf_counter()
        data = connection.sql(f"FROM '{path}'")
        result = riskcore.protect(data, keys, "w", threshold=threshold)
        unsafe = result.recoded.unsafe_count(threshold)
        cells = len(result.original.cells)
        step("protected", begin, f"{cells:,} cells, {unsafe:,} records were unsafe")
        begin = time.perf_counter()
        result.data.to_parquet(safe)
        step("written", begin, f"{sum(result.suppressed.values()):,} values blanked")
        begin = time.perf_counter()
        data = connection.sql(f"FROM '{safe}'")
        again = riskcore.assess(data, keys, "w", missing="wildcard")
        assert again.cells.n == records
        step("assessed", begin, f"{again.unsafe_count(threshold):,} unsafe")
    print(
        f"{origin('duckdb', 'pyarrow', 'numpy')}; {len(keys)} keys, "
        f"threshold {threshold:g}, limit {limit}\n"
    )
    print(table(["step", "seconds", "peak GB", "what"], rows))


if __name__ == "__main__":
    main()
