"""Find the tests that take too long for the default run.

    python -m bench.costly_tests

runs all tests but the slow ones, some 40 minutes of one processor, and writes
`tests/costly.csv`. A function of tests whose cases take more than half a second of
processor time together keeps its first case in the default run if that takes at most
0.6 seconds; its other cases are marked `thorough` (`tests/conftest.py`), and `.ci/run`
runs them. Programs that a test starts are counted with it.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "tests" / "costly.csv"
TOGETHER, ALONE = 0.5, 0.6  # seconds of processor time
_FILE = "RISKCORE_TEST_TIMES"


def spent() -> float:
    """Return the seconds of this process, and of those that it has waited for."""
    times = os.times()
    return sum(times[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note what a test takes; this module is a plugin of pytest, too."""
    before = spent()
    result = yield
    with open(os.environ[_FILE], "a") as file:
        file.write(f"{spent() - before:.3f},{item.nodeid}\n")
    return result


def costly(lines: list[str]) -> list[tuple[str, str]]:
    """Return the functions that are too long, and which of their cases are."""
    seconds: dict[str, list[float]] = {}
    for line in lines:
        time, _, name = line.partition(",")
        seconds.setdefault(name.partition("[")[0], []).append(float(time))
    return [
        (name, "all but the first" if cases[0] <= ALONE else "all")
        for name, cases in sorted(seconds.items())
        if sum(cases) > TOGETHER and (len(cases) > 1 or cases[0] > ALONE)
    ]


def main() -> None:
    """Run the tests, and write the table."""
    with tempfile.TemporaryDirectory() as folder:
        times = Path(folder, "times.csv")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "bench.costly_tests"]
        marks = "not slow and not compiles"
        subprocess.run(
            [*command, "-m", marks],
            cwd=ROOT,
            env=os.environ | {_FILE: str(times)},
            check=False,
        )
        write(times.read_text().splitlines())


def write(lines: list[str]) -> None:
    """Write the table of the functions that are too long."""
    with PAGE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("test", "thorough"), *costly(lines)])


if __name__ == "__main__":
    main()
