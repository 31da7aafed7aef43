"""Measure commands on a large file: time, longest silence, wait after Ctrl-C.

    python -m bench.bench_reading [records [stops]]

The command assesses and protects a file with household ids of text on a terminal. It is
timed, and so is the longest silence between two messages. Further runs are stopped, by
default at each tenth of the time, to find the longest wait from Ctrl-C to the end.
"""

import math
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bench._common import given, origin, publish, table

# Seconds after which a process counts as hung.
_HANGS = 600
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


def watched(line, stop=None):
    """Run a command; return its seconds, the longest silence, the wait after Ctrl-C."""
    terminal, given = pty.openpty()
    begin = last = time.perf_counter()
    silence, sent = 0.0, None
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=given)
    os.close(given)
    while True:
        now = time.perf_counter()
        if stop is not None and sent is None and now - begin >= stop:
            process.send_signal(signal.SIGINT)
            sent = now
        if now - begin > _HANGS:
            process.kill()
            return math.inf, math.inf, math.inf
        ready, _, _ = select.select([terminal], [], [], 0.01)
        try:
            said = os.read(terminal, 1 << 16) if ready else b""
        except OSError:  # nobody has the other end any more
            said = b"the end"
        now = time.perf_counter()
        if said:
            silence, last = max(silence, now - last), now
        if process.poll() is not None and (said == b"the end" or not ready):
            os.close(terminal)
            return now - begin, silence, 0.0 if sent is None else now - sent


def commands(path, folder):
    """Return the commands by name; protect writes a file and renumbers households."""
    line = [sys.executable, "-m", "riskcore"]
    roles = ["--keys", "region", "sex", "age", "--weight", "w", "--household", "hh"]
    output = ["--output", str(folder / f"safe{path.suffix}"), "--overwrite"]
    safe = ["--missing", "wildcard", "--threshold", "0.1", "--renumber", "hh"]
    return {
        "assess": [*line, "assess", str(path), *roles],
        "protect": [*line, "protect", str(path), *roles, *safe, *output],
    }


def main():
    records, pieces = given(5_000_000, 9)
    # In the background of a shell Ctrl-C is ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pieces += 1
    from riskcore.data.files import formats

    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = survey(records)
        for file in FILES:
            path = formats.write(folder / file, data)
            for task, line in commands(path, folder).items():
                seconds, silence, _ = watched(line)
                stops = [seconds * part / pieces for part in range(1, pieces)]
                wait = max(watched(line, stop)[2] for stop in stops)
                numbers = [f"{seconds:.1f}", f"{silence:.1f}", f"{wait:.2f}"]
                rows.append([f"{task} {file}", *numbers])
                print(*rows[-1], flush=True)
    header = ["command", "seconds", "longest silence", "longest after Ctrl-C"]
    publish(
        "reading",
        f"{origin('numpy', 'pyarrow')}; {records:.0e} records, "
        f"household ids of text; inf: the process hung.\n\n{table(header, rows)}",
    )


if __name__ == "__main__":
    main()
