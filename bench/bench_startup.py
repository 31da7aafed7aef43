"""Time the import of riskcore and its first call, in fresh processes.

    python -m bench.bench_startup [rounds]

The first call ever compiles and fills the cache (cold); every later process loads the
machine code (warm). Rounds interleave the commands; the figures are medians.
"""

import os
import subprocess
import sys
import tempfile

from bench._common import command, interleaved, machine, publish, table

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


def run(code, cache):
    """Run a statement in a fresh interpreter."""
    environment = os.environ | {"RISKCORE_CACHE_DIR": cache}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def run_cold():
    with tempfile.TemporaryDirectory() as empty:
        run(CALL, empty)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as cache:
        medians = interleaved(
            {name: lambda code=code: run(code, cache) for name, code in CASES.items()},
            rounds,
        )
    medians |= interleaved({COLD: run_cold}, COLD_ROUNDS)
    alone = medians["interpreter alone"]
    rows = [
        [name, f"{1000 * seconds:.0f}", f"{1000 * (seconds - alone):.0f}"]
        for name, seconds in medians.items()
    ]
    counts = f"{rounds} rounds, {COLD_ROUNDS} of the cold call"
    about = f"`{command()}`: {machine('numpy', 'numba')}; {counts}."
    header = ["process", "ms", "above the interpreter, ms"]
    publish("startup", f"{about}\n\n{table(header, rows)}")


if __name__ == "__main__":
    main()
