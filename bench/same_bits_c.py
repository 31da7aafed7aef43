"""Compare the bits of the C files with those of the ufuncs, by compiler and options.

    python -m bench.same_bits_c [points of the fastest builds]

Every build gets the points at the borders of the regions, the hardest cases known and
random points of ``bench.same_bits``; slow builds get fewer of these. Without hardware
for FMA, glibc computes it in software: a process of its own is told that the processor
has none. arm64 is emulated. The exit status is 1 if a bit differs.
"""

import csv
import ctypes
import itertools
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import riskcore
from bench import hard_cases, same_bits
from bench._common import HERE, given, origin, publish, table
from bindings import write_c

FOLDER = HERE.parent / "bindings" / "c"
FUNCTIONS = [name for names in write_c.NAMES.values() for name in names]
PER_GROUP = 20_000  # in a turn
NO_FMA = "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-FMA,-FMA_Usable,-FMA4,-FMA4_Usable"
# Compiler and options; every how many turns it gets points.
BUILDS = {
    "gcc -O0": 400,
    "gcc -O1": 10,
    "gcc -O2": 400,  # FMA is called, in hardware behind the call
    "gcc -O3": 400,
    "gcc -O0 -march=native": 100,
    "gcc -O2 -march=native": 1,
    "gcc -O3 -march=native": 1,
    "gcc -O3 -march=x86-64-v3": 10,
    "clang -O0": 400,
    "clang -O1 -march=native": 10,
    "clang -O2": 400,
    "clang -O2 -march=native": 1,
    "clang -O3 -march=native": 1,
    "gcc -O2, FMA in software": 2000,
    "clang -O3, FMA in software": 2000,
    "aarch64-linux-gnu-gcc -O2, emulated": 2000,
}

# --- points --------------------------------------------------------------------------


def near(values, steps):
    """Return doubles and their neighbors."""
    found = [np.asarray(values, float)]
    for direction in (0.0, np.inf):
        moved = found[0]
        for _ in range(steps):
            moved = np.nextafter(moved, direction)
            found.append(moved)
    return np.unique(np.concatenate(found))


def borders():
    """Return cells (f, p) at the borders of all regions and methods, and subnormal."""
    whole = [*range(1, 34), 100, 127, 128, 1000, 1023, 1024]
    powers = [2.0**k for k in (-1074, -1022, -960, -900, -400, -60, 50, 53, 60, 1023)]
    f = near([*whole, *powers, 0.5, 1.5, 2.5, 3.5, 15.5, 31.5], 2)
    tiny = [2.0**k for k in (-1074, -1022, -960, -900, -400, -60, -30, -6)]
    p = near([*tiny, 0.3, 0.35, 0.5, 0.7, 0.75, 1 - 2.0**-20, 1.0], 3)
    return np.array(list(itertools.product(f, p))).T.copy()


def hardest():
    """Return the hardest cells to round that are known."""
    with hard_cases.DATA.open() as lines:
        rows = csv.DictReader(line for line in lines if not line.startswith("#"))
        cells = {(float.fromhex(row["f"]), float.fromhex(row["p"])) for row in rows}
    return np.array(sorted(cells)).T.copy()


def turns(name, count):
    """Yield arguments of a function: borders, the hardest cells, then random ones."""
    rng = np.random.default_rng(0)
    for cells in (borders(), hardest()):
        yield same_bits._arguments(name, *cells, rng)
    few = same_bits.fewer(name, PER_GROUP)
    for turn in range(1, count + 1):
        yield same_bits.points(name, few, turn)


# --- builds --------------------------------------------------------------------------


def built(name, folder):
    """Return a library of a build."""
    compiler, *flags = name.partition(",")[0].split()
    path = Path(folder, f"{name.replace(' ', '_').replace(',', '')}.so")
    command = [compiler, "-std=c99", *flags, "-w", "-fPIC", "-shared", "-o", path]
    subprocess.run([*command, FOLDER / "riskcore.c", "-lm"], check=True)
    return path


def by_library(library, name, arguments):
    """Return the results of a C function on arrays."""
    outputs = getattr(riskcore, name).nout
    out = np.empty((outputs, len(arguments[0])))
    places = [ctypes.c_void_p(each.ctypes.data) for each in (*arguments, *out)]
    call = getattr(library, f"riskcore_{name}_array")
    call.restype = None
    call(*places, ctypes.c_int64(out.shape[1]))
    return out


def serve(path, receive, send):
    """Answer calls in a process of its own."""
    library = ctypes.CDLL(str(path))
    while (call := receive.recv()) is not None:
        send.send(by_library(library, *call))


class InProcess:
    """A build in a process with other variables of the environment."""

    def __init__(self, path, variables):
        context = multiprocessing.get_context("spawn")
        receive, self.send = context.Pipe(duplex=False)
        self.receive, send = context.Pipe(duplex=False)
        before = dict(os.environ)
        os.environ.update(variables)
        self.process = context.Process(
            target=serve, args=(path, receive, send), daemon=True
        )
        self.process.start()
        os.environ.clear()
        os.environ.update(before)

    def __call__(self, name, arguments):
        self.send.send((name, arguments))
        return self.receive.recv()


MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "riskcore.h"
int main(int argc, char **argv)
{
    const int64_t n = atoll(argv[1]);
    const int which = atoi(argv[2]), inputs = atoi(argv[3]), outputs = atoi(argv[4]);
    double *x[5];
    for (int i = 0; i < 5; i++)
        x[i] = malloc(8 * n);
    for (int i = 0; i < inputs; i++)
        if (fread(x[i], 8, n, stdin) != (size_t)n)
            return 1;
    switch (which) {
    CASES
    }
    for (int i = 0; i < outputs; i++)
        fwrite(x[inputs + i], 8, n, stdout);
    return 0;
}
"""


class Emulated:
    """A program for arm64, run by qemu."""

    def __init__(self, name, folder):
        cases = []
        for place, each in enumerate(FUNCTIONS):
            function = getattr(riskcore, each)
            arrays = ", ".join(f"x[{i}]" for i in range(function.nin + function.nout))
            cases.append(f"case {place}: riskcore_{each}_array({arrays}, n); break;")
        source = Path(folder, "main.c")
        source.write_text(MAIN.replace("CASES", "\n    ".join(cases)))
        compiler, *flags = name.partition(",")[0].split()
        self.path = Path(folder, "arm64")
        files = [source, FOLDER / "riskcore.c"]
        command = [compiler, "-std=c99", "-w", *flags, "-static", f"-I{FOLDER}"]
        subprocess.run([*command, "-o", self.path, *files, "-lm"], check=True)

    def __call__(self, name, arguments):
        function, n = getattr(riskcore, name), len(arguments[0])
        numbers = [n, FUNCTIONS.index(name), function.nin, function.nout]
        done = subprocess.run(
            ["qemu-aarch64", self.path, *map(str, numbers)],
            input=np.stack(arguments).tobytes(),
            stdout=subprocess.PIPE,
            check=True,
        )
        return np.frombuffer(done.stdout).reshape(function.nout, n)


def caller(name, folder):
    """Return what computes a function by a build: (name, arguments) -> results."""
    if name.startswith("aarch64"):
        return Emulated(name, folder)
    path = built(name, folder)
    if "software" in name:
        return InProcess(path, {"GLIBC_TUNABLES": NO_FMA})
    library = ctypes.CDLL(str(path))
    return lambda function, arguments: by_library(library, function, arguments)


# --- comparison ----------------------------------------------------------------------


def differing(a, b):
    """Return how many results differ in a bit; nan is nan."""
    unlike = a.view(np.int64) != b.view(np.int64)
    return int(np.sum(unlike & ~(np.isnan(a) & np.isnan(b))))


def available():
    """Return the builds whose programs are here."""
    here = [name for name in BUILDS if shutil.which(name.split()[0])]
    return [name for name in here if "emulated" not in name or _has_qemu()]


def _has_qemu():
    return shutil.which("qemu-aarch64") is not None


def main():
    (wanted,) = given(10**6)
    names = available()
    with tempfile.TemporaryDirectory() as folder:
        builds = {name: caller(name, folder) for name in names}
        found = {name: dict.fromkeys(FUNCTIONS, (0, 0)) for name in names}
        for function in FUNCTIONS:
            per_turn = same_bits.fewer(function, PER_GROUP) * len(same_bits.GROUPS)
            ufunc = getattr(riskcore, function)
            share = wanted if function == "individual_risk" else wanted // 20
            count = max(1, share // (PER_GROUP * len(same_bits.GROUPS)))
            for turn, arguments in enumerate(turns(function, count)):
                expected = np.atleast_2d(np.asarray(ufunc(*arguments)))
                for name in names:
                    # The first random turn is for all.
                    if turn > 2 and turn % BUILDS[name]:
                        continue
                    points, unlike = found[name][function]
                    results = builds[name](function, arguments)
                    found[name][function] = (
                        points + expected.shape[1],
                        unlike + differing(results, expected),
                    )
            print(function, per_turn, found[names[0]][function], flush=True)
    rows = []
    for name in names:
        points = [each for each, _ in found[name].values()]
        unlike = sum(each for _, each in found[name].values())
        rows.append(
            [f"`{name}`", f"{points[0]:,}", f"{sum(points[1:]):,}", f"{unlike}"]
        )
    total = sum(p for each in found.values() for p, _ in each.values())
    unlike = sum(u for each in found.values() for _, u in each.values())
    for each in builds.values():
        if isinstance(each, InProcess):
            each.send.send(None)
    header = ["build", "points of `individual_risk`", "of the others", "other bits"]
    text = f"""\
{origin("numpy", "numba")}.
**{total:,} results compared, {unlike} with other bits.**

{table(header, rows)}"""
    publish("c_bits", text)
    sys.exit(unlike > 0)


if __name__ == "__main__":
    main()
