"""Time the import of riskcore and its first call, in fresh processes.

    python -m bench.bench_startup [rounds]

The first call ever compiles and fills the cache (cold); every later process loads the
machine code (warm). Code that a wheel brings is loaded without a cache or a compiler
(shipped); for that a copy of the package gets what `bindings.compile_ahead` makes.
Rounds interleave the commands; the figures are medians of processor time.
"""

import compileall
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench._common import given, interleaved, origin, publish, table

CALL = "import riskcore; riskcore.individual_risk(1, 0.01)"
CASES = {
    "interpreter alone": "pass",
    "import numpy": "import numpy",
    "import riskcore": "import riskcore",
    "first call of individual_risk, warm": CALL,
    "import numba": "import numba",
}
COLD = "first call of individual_risk, cold"
COLD_ROUNDS = 3
SHIPPED = "first call of individual_risk, code of a wheel, no compiler"
ALONE = f"import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None; {CALL}"
RISK = "riskcore.core.risk.individual.individual_risk"


def run(code, cache, path=""):
    """Run a statement in a fresh interpreter."""
    environment = os.environ | {"RISKCORE_CACHE_DIR": cache}
    environment |= {"PYTHONPATH": path} if path else {}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def of_children():
    """Return the processor seconds of the processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def run_cold():
    with tempfile.TemporaryDirectory() as empty:
        run(CALL, empty)


def make_copy(folder):
    """Copy the package as a wheel brings it: compiled, and with machine code."""
    import llvmlite.binding as llvm

    import riskcore
    from riskcore.core.compiled import shipped

    kind = {"x86_64": "x86_64", "aarch64": "arm64"}[os.uname().machine]
    platform, features = f"linux-{kind}", llvm.get_host_cpu_features()
    best = next(
        name
        for name, needed in shipped.PROCESSORS[kind].items()
        if all(features.get(each) for each in needed)
    )
    package = Path(riskcore.__file__).parent
    made = f"{folder}/objects"
    chosen = ["--platforms", platform, "--processors", best, "--entries", RISK]
    command = [sys.executable, "-m", "bindings.compile_ahead", made, *chosen]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    shutil.copytree(package, f"{folder}/copy/riskcore")
    target = Path(folder, "copy/riskcore", shipped.FOLDER.relative_to(package))
    shutil.copytree(f"{made}/{platform}", target)
    compileall.compile_dir(f"{folder}/copy", quiet=1)
    return f"{folder}/copy"


def main():
    (rounds,) = given(15)
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as place:
        copy, nothing = make_copy(place), f"{place}/no cache"
        cases = {
            name: lambda code=code: run(code, cache) for name, code in CASES.items()
        }
        cases[SHIPPED] = lambda: run(ALONE, nothing, copy)
        medians = interleaved(cases, rounds, clock=of_children)
        assert not os.path.exists(nothing), "it was compiled"
    medians |= interleaved({COLD: run_cold}, COLD_ROUNDS, clock=of_children)
    alone = medians["interpreter alone"]
    rows = [
        [name, f"{1000 * seconds:.0f}", f"{1000 * (seconds - alone):.0f}"]
        for name, seconds in medians.items()
    ]
    counts = f"{rounds} rounds, {COLD_ROUNDS} of the cold call"
    about = f"{origin('numpy', 'numba')}; {counts}."
    header = ["process", "processor ms", "above the interpreter, ms"]
    publish("startup", f"{about}\n\n{table(header, rows)}")


if __name__ == "__main__":
    main()
