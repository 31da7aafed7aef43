"""How long reading and coding a large file takes, how mute it is, how deaf to Ctrl-C.

    python -m bench.bench_reading [records]

A file with household ids of text is assessed in a process of its own: the seconds of
all and of the longest silence between two lines of progress. Then that is done again
and stopped at each tenth of the time: the longest wait from Ctrl-C to the end.
"""

import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from bench._common import command, machine, table

# Seconds after which a process is taken to hang.
_HANGS = 120
FILES = ["survey.csv", "survey.parquet", "survey.feather"]


def survey(records):
    """Return a survey whose households are named by text, in no order."""
    random = np.random.default_rng(1)
    return {
        "hh": [f"H{i:09d}" for i in random.integers(0, records // 2, records)],
        "region": random.integers(1, 400, records).astype(str),
        "sex": random.choice(["1", "2"], records),
        "age": random.integers(0, 99, records).astype(str),
        "w": np.round(random.uniform(5, 60, records), 2),
    }


def run(path, stop):
    """Assess a file in this process; print the seconds, or those after Ctrl-C."""
    from riskcore.assessment import assess_records
    from riskcore.microdata.source import Source

    begin = last = time.perf_counter()
    silences, sent = [], []

    def said(*_):
        nonlocal last
        now = time.perf_counter()
        silences.append(now - last)
        last = now

    def interrupt():
        time.sleep(stop)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    if stop:
        threading.Thread(target=interrupt, daemon=True).start()
    try:
        keys = ["region", "sex", "age"]
        data, intake = Source.of(path, progress=said).read([*keys, "w", "hh"], "w")
        assess_records(
            data, keys, "w", "hh", method="exact", missing="refuse", alpha=1.0,
            intake=intake, progress=said,
        )  # fmt: skip
        said()
        print(time.perf_counter() - begin, max(silences))
    except KeyboardInterrupt:
        print(time.perf_counter() - sent[0], 0)


def measured(path, stop=0.0):
    """Return what `run` prints in a process of its own; one that hangs is stopped."""
    line = [sys.executable, "-m", "bench.bench_reading", "run", str(path), str(stop)]
    try:
        done = subprocess.run(
            line, capture_output=True, text=True, check=True, timeout=_HANGS
        )
    except subprocess.TimeoutExpired:
        return [math.inf, math.inf]
    return [float(number) for number in done.stdout.split()]


def main():
    if sys.argv[1:2] == ["run"]:
        run(Path(sys.argv[2]), float(sys.argv[3]))
        return
    records = int(float(sys.argv[1])) if len(sys.argv) > 1 else 5_000_000
    from riskcore.files import formats

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = survey(records)
        for name in FILES:
            path = formats.write(Path(folder) / name, data)
            seconds, silence = measured(path)
            stops = [seconds * tenth / 10 for tenth in range(1, 9)]
            wait = max(measured(path, stop)[0] for stop in stops)
            rows.append([name, f"{seconds:.1f}", f"{silence:.1f}", f"{wait:.2f}"])
    print(
        f"`{command()}`: {machine('numpy', 'pyarrow')}; {records:.0e} records, "
        "household ids of text\n"
    )
    print(table(["file", "seconds", "longest silence", "longest after Ctrl-C"], rows))


if __name__ == "__main__":
    main()
