"""Compare protecting a file with the same steps in plain pandas: time and memory.

    python -m bench.bench_protect [records] [rounds]

A CSV file of `simulate.microdata` is recoded (province, five-year ages), counted, its
unsafe records suppressed by the cheapest keys, who fits them counted in the original,
and written. The rival does these steps with groupby and merge, and the
risk by sdcMicro's formula, as a careful analyst would. Each run is a process of its own
and rounds are interleaved; times are medians, memory the largest peak. Both must
suppress the same number of values in the same keys.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import combinations
from pathlib import Path
from unittest import mock

import numpy as np

from bench._common import given, origin, publish, table

KEYS = ["REGION", "SEX", "AGE", "MARSTAT", "EDUCATION", "CITIZENSHIP"]
THRESHOLD = 0.01
AGES = list(range(5, 100, 5))
STEPS = ["read", "recode", "count", "suppress", "verify", "write"]


class Clock:
    """Seconds of each step."""

    def __init__(self):
        self.seconds = dict.fromkeys(STEPS, 0.0)
        self.step, self.since = "read", time.perf_counter()

    def begin(self, step):
        now = time.perf_counter()
        self.seconds[self.step] += now - self.since
        self.step, self.since = step, now


def by_riskcore(source, target, clock):
    from riskcore import Recoding, protect

    said = {"reading": "read", "recoding": "recode", "assessing": "count"}

    def progress(line):
        after = line == "assessing the protected file"
        step = "verify" if after else said.get(line.split()[0], "suppress")
        clock.begin(step)

    recodings = {
        "REGION": Recoding.truncation(2),
        "AGE": Recoding.intervals(AGES, closed="left"),
    }
    result = protect(
        source, KEYS, "WEIGHT", threshold=THRESHOLD, method="franconi",
        recodings=recodings, cost="equal", progress=progress,
    )  # fmt: skip
    clock.begin("write")
    # pandas does not read back what it wrote: see `bench_readback`.
    with mock.patch("riskcore.protection.release.writing._read_back"):
        result.write(target, allow_unsafe=True)
    clock.begin("write")
    return {key: result.suppressed[key] for key in KEYS}, result.protected.max_risk


def franconi(f, F):
    """Return sdcMicro's approximation of the risk."""
    p = f / F
    q = 1 - p
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.where(p < 1, p / q * -np.log(p), 1.0)
        two = np.where(p < 1, p * (p * np.log(p) + q) / q**2, 0.5)
    return np.select([f == 1, f == 2], [one, two], p / (f - q))


def by_pandas(source, target, clock):
    import pandas as pd

    text = dict.fromkeys(KEYS, str)
    data = pd.read_csv(source, dtype=text)
    clock.begin("recode")
    data["REGION"] = data["REGION"].str[:-2]
    edges = [-np.inf, *AGES, np.inf]
    data["AGE"] = pd.cut(data["AGE"].astype(int), edges, right=False).astype(str)
    clock.begin("count")

    def counted(frame, keys):
        if not keys:
            return len(frame), frame["WEIGHT"].sum()
        groups = frame.groupby(keys, sort=False)["WEIGHT"]
        return groups.transform("size"), groups.transform("sum")

    risk = franconi(*counted(data, KEYS))
    unsafe = risk >= THRESHOLD
    clock.begin("suppress")
    left = np.asarray(unsafe).copy()
    holes = {key: np.zeros(len(data), bool) for key in KEYS}
    subsets = [s for size in range(1, 7) for s in combinations(KEYS, size)]
    for blanked in subsets:
        if not left.any():
            break
        kept = [key for key in KEYS if key not in blanked]
        done = left & np.asarray(franconi(*counted(data, kept)) < THRESHOLD)
        for key in blanked:
            holes[key] |= done
        left &= ~done
    safe = data.copy()
    for key in KEYS:
        safe[key] = safe[key].mask(holes[key])
    clock.begin("verify")
    largest = 0.0
    columns = np.stack([*holes.values()], axis=1)
    for lost in np.unique(columns, axis=0):
        kept = [key for key, gone in zip(KEYS, lost, strict=True) if not gone]
        risk = np.broadcast_to(franconi(*counted(data, kept)), len(data))
        largest = max(largest, risk[(columns == lost).all(axis=1)].max())
    clock.begin("write")
    safe.to_csv(target, index=False)
    clock.begin("write")
    return {key: int(holes[key].sum()) for key in KEYS}, float(largest)


WORKERS = {"riskcore": by_riskcore, "pandas": by_pandas}


def work(name, source, target):
    """Do the steps once, in this process, and print what was measured."""
    warnings.simplefilter("ignore")
    clock = Clock()
    suppressed, largest = WORKERS[name](source, target, clock)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {"seconds": clock.seconds, "peak": peak, "suppressed": suppressed}
    print(json.dumps({**figures, "largest": largest}))


def measured(name, source, target):
    target.unlink(missing_ok=True)
    Path(f"{target}.private.json").unlink(missing_ok=True)
    arguments = [sys.executable, "-m", "bench.bench_protect"]
    arguments += ["work", name, str(source), str(target)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def ratio_row(label, form, values):
    shown = [form.format(values[name]) for name in WORKERS]
    return [label, *shown, f"{values['pandas'] / values['riskcore']:.1f}"]


def main():
    records, rounds = given(1_000_000, 3)
    from riskcore import simulate
    from riskcore.data.files import formats

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "survey.csv", Path(folder) / "safe.csv"
        formats.write(source, simulate.microdata(records, np.random.default_rng(9)))
        measured("riskcore", source, target)  # compiles, once
        runs = {name: [] for name in WORKERS}
        for _ in range(rounds):
            for name, results in runs.items():
                results.append(measured(name, source, target))
    first = {name: results[0] for name, results in runs.items()}
    assert first["riskcore"]["suppressed"] == first["pandas"]["suppressed"], first
    assert first["riskcore"]["largest"] - first["pandas"]["largest"] < 1e-12, first
    seconds = {
        name: {
            step: statistics.median(each["seconds"][step] for each in results)
            for step in STEPS
        }
        for name, results in runs.items()
    }
    rows = [
        ratio_row(step, "{:.2f}", {name: seconds[name][step] for name in WORKERS})
        for step in STEPS
    ]
    totals = {name: sum(seconds[name].values()) for name in WORKERS}
    peaks = {name: max(each["peak"] for each in runs[name]) for name in WORKERS}
    rows.append(ratio_row("all", "{:.2f}", totals))
    rows.append(ratio_row("peak memory, MiB", "{:.0f}", peaks))
    values = sum(first["riskcore"]["suppressed"].values())
    text = (
        f"{origin('numpy', 'pandas', 'pyarrow')}; {records:.0e} "
        f"records of a CSV file, {len(KEYS)} keys, {values:,} values suppressed by "
        f"both; medians of {rounds} interleaved rounds, seconds.\n\n"
        + table(["step", *WORKERS, "pandas / riskcore"], rows)
    )
    publish("protect", text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(sys.argv[2], *map(Path, sys.argv[3:]))
    else:
        main()
