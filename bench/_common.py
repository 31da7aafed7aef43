"""What the benches share: interleaved timing, tables, generated pages."""

import os
import platform
import re
import statistics
import sys
import time
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def timed(work, clock=time.perf_counter):
    """Return the result of a call and its seconds."""
    start = clock()
    found = work()
    return found, clock() - start


def interleaved(cases, rounds, repeat=1, clock=time.perf_counter):
    """Return the median seconds of each callable; every round runs all of them."""
    times = {name: [] for name in cases}
    for _ in range(rounds + 1):  # the first round warms up
        for name, work in cases.items():
            start = clock()
            for _ in range(repeat):
                work()
            times[name].append((clock() - start) / repeat)
    return {name: statistics.median(taken[1:]) for name, taken in times.items()}


def reached(good):
    """Return whether a goal was reached, in a word."""
    return "reached" if good else "missed"


def machine(*packages):
    """Return a line that names the processor and the versions."""
    with open("/proc/cpuinfo") as lines:
        found = re.search(r"model name\s*: (.*)", lines.read())
    parts = [found.group(1) if found else platform.machine(), f"{os.cpu_count()} CPUs"]
    parts.append(f"Python {platform.python_version()}")
    parts += [f"{package} {version(package)}" for package in packages]
    return ", ".join(parts)


def command():
    """Return the command line that runs this script."""
    module = f"bench.{Path(sys.argv[0]).stem}"
    return " ".join(["python -m", module, *sys.argv[1:]])


def origin(*packages):
    """Return what a page says of its origin: command, machine and versions."""
    return f"`{command()}`: {machine(*packages)}"


def given(*defaults):
    """Return the whole numbers of the command line, then the other defaults."""
    first = [int(float(word)) for word in sys.argv[1:]]
    return [*first, *defaults[len(first) :]]


def table(header, rows, texts=1):
    """Return a markdown table; the first columns are text, the others are numbers."""
    rule = ["---"] * texts + ["---:"] * (len(header) - texts)
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, rule, *rows])


def publish(name, text):
    """Print a text and put it between its markers in bench/results/benches.md."""
    print(text)
    replace(RESULTS / "benches.md", name, text)


def replace(page, name, text):
    """Put a text between the markers of that name in a page."""
    before, begin, rest = page.read_text().partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- /{name} -->")
    if not (begin and end):
        raise ValueError(f"{page} has no markers of {name!r}")
    page.write_text(f"{before}{begin}{text}\n{end}{after}")
