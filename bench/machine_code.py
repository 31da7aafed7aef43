"""Compare the machine code of the fast paths with their source.

    python -m bench.machine_code                         # all codes: 7 minutes
    python -m bench.machine_code --codes "gcc -O2 -mfma" # some, without the page
    python -m bench.machine_code --regions ONE LEVELS    # all codes of two regions

The loops of every region are compiled as the package compiles them, for three
processors, and from bindings/c/riskcore.c by gcc and clang. Their instructions are run
on graphs of operations, and so is the source: in every case of the comparisons that
either makes, the results must be the same graph (notes/correct_rounding.md). The exit
status is 1 unless they are.
"""

import argparse
import shutil
import sys
import time
from multiprocessing import get_context

from bench._common import RESULTS, command, replace, table
from bench.proof import machine_code
from bench.proof.machine_code import REGIONS, Comparison
from bench.proof.program import output
from riskcore.core.compiled import jit

PAGE = RESULTS / "proof_of_rounding.md"
PROCESSORS = "x86-64-v2", "x86-64-v3", "x86-64-v4"
COMMANDS = (
    "gcc -O2", "gcc -O2 -mfma", "gcc -O3 -march=haswell", "clang -O2 -mfma",
    "clang -O3 -march=haswell", "gcc -O0 -mfma",
)  # fmt: skip


def programs(code, regions):
    """Yield the regions with their machine code, the sizes to run, and the source."""
    if code in PROCESSORS:
        machine = jit.machines_for(code, {"linux": "x86_64-pc-linux-gnu"})["linux"]
        for region in regions:
            program = machine_code.by_llvm(machine, region)
            yield region, Comparison(program), machine_code.BY_LLVM
        return
    program = machine_code.by_c(code)
    names = [name for name, _, _ in program.instructions.values()]
    keeps = any(name.endswith("roundsd") for name in names)
    source = machine_code.WITH_SIGN if keeps else machine_code.SOURCE
    for region in regions:
        # Without optimization each function has the code of all regions.
        sizes = (1,) if "-O0" in code else machine_code.BY_C
        yield region, Comparison(program, source), sizes


def of_code(code, regions):
    """Compare one code; return its row and what differs."""
    start, arithmetic, cases, different = time.perf_counter(), 0, 0, []
    for region, comparison, sizes in programs(code, regions):
        comparison.region(region, sizes)
        ran = comparison.visited.intersection(comparison.program.arithmetic)
        arithmetic += len(ran)
        cases += comparison.cases
        different += [
            f"{region}: {mine!r}, not {its!r}"
            for _, _, mine, its in comparison.different
        ]
        taken = f"{time.perf_counter() - start:.0f} s"
        print(code, region, len(ran), comparison.cases, taken, sep=" | ", flush=True)
    return [code, f"{arithmetic}", f"{cases}", f"{len(different)}"], different


def page(rows, counts):
    """Put the results into their page."""
    versions = [output(name, "--version").splitlines()[0] for name in ("gcc", "clang")]
    header = ["code", "arithmetic instructions", "cases", "different"]
    text = f"`{command()}`: {', '.join(versions)}.\n\n{table(header, rows)}\n\n"
    header = ["region", "operations of the source"]
    replace(PAGE, "proof_code", text + table(header, counts))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--codes", nargs="+", metavar="CODE")
    parser.add_argument("--regions", nargs="+", metavar="NAME", default=REGIONS)
    options = parser.parse_args()
    every = [*PROCESSORS, *COMMANDS]
    codes = options.codes or [
        one for one in every if one in PROCESSORS or shutil.which(one.split()[0])
    ]
    rows, failed = [], 0
    # Numba optimizes for one processor in each process.
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        jobs = [(code, options.regions) for code in codes]
        for row, different in pool.starmap(of_code, jobs, chunksize=1):
            rows.append(row)
            failed += len(different)
            for text in different[:3]:
                print(f"DIFFERENT: {row[0]}, {text}")
    if not options.codes:
        counts = [[one, f"{machine_code.operations(one)}"] for one in options.regions]
        page(rows, counts)
    print(f"{len(rows)} codes, {failed} cases differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
