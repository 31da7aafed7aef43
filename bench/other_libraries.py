"""Time correctly rounded functions of several arguments in other libraries.

    python -m bench.other_libraries

FLINT and MPFR come from the wheel of python-flint. Calls go through ctypes,
one at a time, which takes about a microsecond. Writes a table to
notes/correct_rounding.md.
"""

import ctypes
import time
from pathlib import Path

import flint
import numpy as np

import riskcore
from bench._common import RESULTS, interleaved, origin, replace, table

PAGE = RESULTS / "correct_rounding.md"
CALLS = 300
CELLS = 100_000
CORRECT_ROUNDING = 2  # FPWRAP_CORRECT_ROUNDING of arb_fpwrap.h
TO_NEAREST = 0  # MPFR_RNDN
BITS = 53

FREQUENCIES = {
    "f = 1": lambda rng, n: np.ones(n),
    "f = 2..4": lambda rng, n: rng.integers(2, 5, n).astype(float),
    "f = 5..15": lambda rng, n: rng.integers(5, 16, n).astype(float),
    "f = 100": lambda rng, n: np.full(n, 100.0),
    "f = 1000": lambda rng, n: np.full(n, 1000.0),
    "real f in [0.1, 16)": lambda rng, n: rng.uniform(0.1, 16, n),
}


def library(name):
    """Load a C library of the wheel of python-flint."""
    folder = Path(flint.__file__).parents[1] / "python_flint.libs"
    found = sorted(folder.glob(f"{name}*"))
    if not found:
        raise SystemExit(f"{folder} has no {name}: a wheel of python-flint is needed")
    return ctypes.CDLL(str(found[0]))


def gauss_of_flint():
    """Return (f, p) -> G = 2F1(1, 1; f+1; 1-p), correctly rounded; None if it fails."""
    double, whole = ctypes.c_double, ctypes.c_int
    call = library("libflint").arb_fpwrap_double_hypgeom_2f1
    out = double()
    call.argtypes = [ctypes.POINTER(double), *[double] * 4, whole, whole]

    def gauss(f, p):
        failed = call(ctypes.byref(out), 1.0, 1.0, f + 1, 1 - p, 0, CORRECT_ROUNDING)
        return None if failed else out.value

    return gauss


class Number(ctypes.Structure):
    """A number of MPFR."""

    _fields_ = (
        ("precision", ctypes.c_long),
        ("sign", ctypes.c_int),
        ("exponent", ctypes.c_long),
        ("digits", ctypes.c_void_p),
    )


def seconds_of_mpfr(name, x, y):
    """Return the time of a call of a function of MPFR with two arguments."""
    mpfr = library("libmpfr")

    def number(value):
        made = Number()
        mpfr.mpfr_init2(ctypes.byref(made), ctypes.c_long(BITS))
        mpfr.mpfr_set_d(ctypes.byref(made), ctypes.c_double(value), TO_NEAREST)
        return made

    out, a, b = number(0.0), number(x), number(y)
    call, arguments = getattr(mpfr, name), [ctypes.byref(v) for v in (out, a, b)]
    call(*arguments, TO_NEAREST)
    start = time.perf_counter()
    for _ in range(CALLS):
        call(*arguments, TO_NEAREST)
    return (time.perf_counter() - start) / CALLS


def main():
    rng = np.random.default_rng(1)
    gauss, rows = gauss_of_flint(), []
    for name, draw in FREQUENCIES.items():
        f, p = draw(rng, CELLS), np.exp(rng.uniform(np.log(1e-4), 0, CELLS))
        out = np.empty(CELLS)
        cells = list(zip(f[:CALLS].tolist(), p[:CALLS].tolist(), strict=True))
        start = time.perf_counter()
        failed = [gauss(*cell) for cell in cells].count(None)
        theirs = (time.perf_counter() - start) / CALLS
        ours = interleaved({"": lambda: riskcore.individual_risk(f, p, out=out)}, 9)[""]  # noqa: B023
        rows.append(
            [f"FLINT, 2F1(1, 1; f+1; 1-p), {name}", f"{theirs * 1e6:,.0f}",
             f"{failed} of {CALLS}", f"{ours / CELLS * 1e9:.1f}"]
        )  # fmt: skip
    for name, x, y in [("mpfr_beta", 2.5, 0.3), ("mpfr_gamma_inc", 2.5, 0.3),
                       ("mpfr_atan2", 2.5, 0.3), ("mpfr_pow", 2.5, 0.3)]:  # fmt: skip
        taken = seconds_of_mpfr(name, x, y) * 1e6
        rows.append([f"MPFR, `{name}({x}, {y})`", f"{taken:,.1f}", "", ""])
    header = ["function", "microseconds a call", "gave up",
              "`individual_risk`, ns a cell"]  # fmt: skip
    where = f"{origin('python-flint', 'numpy')}."
    replace(PAGE, "other_libraries", f"{where}\n\n{table(header, rows)}")


if __name__ == "__main__":
    main()
