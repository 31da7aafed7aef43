"""Time the C files beside the ufunc, numpy.log, FLINT, SciPy and sdcMicro's formula.

    python -m bench.bench_c [cells] [rounds]

Arrays: nanoseconds a cell, all in one run, in turn. Single cells: calls from a loop in
C. SciPy's hyp2f1 and FLINT's give 2F1(1, 1; f+1; 1-p); r is p/f times that.
"""

import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import flint as python_flint
import numpy as np
from scipy.special import hyp2f1

import riskcore
from bench._common import HERE, given, interleaved, origin, publish, table

FOLDER = HERE.parent / "bindings" / "c"
TWO = "-DRISKCORE_DISPATCH"
BUILDS = {
    "gcc -O2 -march=native": [],
    "gcc -O3 -march=native -mprefer-vector-width=512": [],
    f"gcc -O2 {TWO}": ["riskcore_fma.c"],
    "clang -O3 -march=native": [],
}
# One call for each cell, as programs make them; and sdcMicro's formula.
LOOPS = """
#include <math.h>
#include "riskcore.h"
void one_by_one(const double *f, const double *p, double *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = riskcore_individual_risk(f[i], p[i]);
}
void sdcmicro(const double *f, const double *p, double *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double q = 1 - p[i], v = p[i] / q;
        out[i] = f[i] == 1 ? -v * log(p[i])
            : f[i] == 2 ? v + v * v * log(p[i]) : p[i] / (f[i] - q);
    }
}
"""
FREQUENCIES = {
    "f = 1": lambda rng, n: np.ones(n),
    "f = 2 to 4": lambda rng, n: rng.integers(2, 5, n).astype(float),
    "f = 5 to 15": lambda rng, n: rng.integers(5, 16, n).astype(float),
    "f = 16 to 31": lambda rng, n: rng.integers(16, 32, n).astype(float),
    "f from 32": lambda rng, n: rng.integers(32, 1000, n).astype(float),
    "mixed": lambda rng, n: np.ceil(rng.exponential(3, n)),
    "real f": lambda rng, n: rng.uniform(0.1, 16, n),
}
FLINT_CALLS = 300
CORRECT_ROUNDING = 2  # FPWRAP_CORRECT_ROUNDING of arb_fpwrap.h


def built(build, more, folder):
    """Return the array functions of a build: C's, one by one, sdcMicro's formula."""
    compiler, *flags = build.split()
    loops = Path(folder, "loops.c")
    loops.write_text(LOOPS)
    files = [loops, *(FOLDER / name for name in ["riskcore.c", *more])]
    path = Path(folder, f"{len(list(Path(folder).iterdir()))}.so")
    command = [compiler, "-std=c99", "-w", *flags, "-fPIC", "-shared", f"-I{FOLDER}"]
    subprocess.run([*command, "-o", path, *files, "-lm"], check=True)
    library = ctypes.CDLL(str(path))
    names = ("riskcore_individual_risk_array", "one_by_one", "sdcmicro")
    return [getattr(library, name) for name in names]


def on(call, f, p, out):
    """Return a call of a C function on arrays."""
    places = [ctypes.c_void_p(each.ctypes.data) for each in (f, p, out)]
    return lambda: call(*places, ctypes.c_int64(len(f)))


def gauss_of_flint():
    """Return (f, p) -> G = 2F1(1, 1; f+1; 1-p), correctly rounded.

    The library is that of the wheel of python-flint.
    """
    place = Path(python_flint.__file__).parents[1] / "python_flint.libs"
    (path,) = place.glob("libflint*")
    double, whole = ctypes.c_double, ctypes.c_int
    call = ctypes.CDLL(str(path)).arb_fpwrap_double_hypgeom_2f1
    out = double()
    call.argtypes = [ctypes.POINTER(double), *[double] * 4, whole, whole]

    def gauss(f, p):
        call(ctypes.byref(out), 1.0, 1.0, f + 1, 1 - p, 0, CORRECT_ROUNDING)
        return out.value

    return gauss


def flint(f, p):
    """Return FLINT's seconds a cell, correctly rounded."""
    gauss = gauss_of_flint()
    start = time.perf_counter()
    for cell in zip(f[:FLINT_CALLS].tolist(), p[:FLINT_CALLS].tolist(), strict=True):
        gauss(*cell)
    return (time.perf_counter() - start) / FLINT_CALLS


def main():
    n, rounds = given(100_000, 9)
    rng = np.random.default_rng(1)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        known = {
            name: more for name, more in BUILDS.items() if shutil.which(name.split()[0])
        }
        builds = {name: built(name, more, folder) for name, more in known.items()}
        for name, draw in FREQUENCIES.items():
            f, p = draw(rng, n), np.exp(rng.uniform(np.log(1e-4), 0, n))
            out = np.empty(n)
            cases = {
                "ufunc": lambda f=f, p=p, out=out: riskcore.individual_risk(
                    f, p, out=out
                ),
                **{each: on(calls[0], f, p, out) for each, calls in builds.items()},
                "one by one": on(builds["gcc -O2 -march=native"][1], f, p, out),
                "sdcMicro's formula in C": on(
                    builds["gcc -O2 -march=native"][2], f, p, out
                ),
                "numpy.log": lambda p=p, out=out: np.log(p, out=out),
            }
            taken = interleaved(cases, rounds, clock=time.thread_time)
            some = slice(None, None, 20)
            scipy = interleaved(
                {"": lambda f=f, p=p, s=some: hyp2f1(1, 1, f[s] + 1, 1 - p[s])},
                3,
                clock=time.thread_time,
            )[""]
            taken["SciPy, 2F1"] = scipy * len(f) / len(f[some])
            taken["FLINT, 2F1"] = flint(f, p) * n
            rows.append([name, *(f"{each / n * 1e9:,.1f}" for each in taken.values())])
    header = ["cells", *(f"C, `{each}`" if each in builds else each for each in taken)]
    text = f"""\
{origin("numpy", "scipy", "python-flint")}. Nanoseconds of processor time
a cell, other programs running; "one by one" calls the function of one cell from a loop
in C, and FLINT is called from Python, which takes about a microsecond.

{table(header, rows)}"""
    publish("c_speed", text)


if __name__ == "__main__":
    main()
