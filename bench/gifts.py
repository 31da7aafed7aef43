"""Write what other projects may take from this one; run the reports of their errors.

    python -m bench.gifts                 # tables, hard cases, reports
    python -m bench.gifts gift_pycanon_1  # some of the reports

``bench/gifts/`` gets reference values of 2F1(1, 1; c; z) in the form of SciPy's xsref
and the hard cases of the individual risk in the form of CORE-MATH. In notes/gifts.md
each report has a program, and below it, between markers, what the program prints.
SciPy is here. RISKCORE_PYCANON names a Python that has pyCANON, RISKCORE_SDCMICRO and
RISKCORE_RISKUTILITY name copies of the sources; without them their parts stay.
"""

import csv
import hashlib
import math
import os
import re
import signal
import subprocess
import sys
import textwrap

import mpmath
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy
from flint import arb, ctx

from bench import _riskutility, _sdcmicro
from bench._common import HERE, machine, replace, table
from bench.hard_cases import DATA, nearest_of, whole
from bench.references import SERIES_FROM, exact_risk, excess_over_q

PAGE = HERE.parent / "notes" / "gifts.md"
# The folders of xsref and CORE-MATH into which the files go.
TABLES = HERE / "gifts/xsref/src/xsref/tables/individual_risk/hyp2f1"
HARD = HERE / "gifts/core-math/src/binary64/individual_risk/individual_risk.wc"
SIGNATURE = "d_d_d_d-d"

# --- reference values of 2F1(1, 1; c; z) ---------------------------------------------

F = [
    2.0**-20, 0.001, 0.1, 0.5, 0.9, 1, 1.0001, 1.5, 2, 2.5, 3, 4, 4.25, 5, 7, 10, 10.5,
    15, 20, 30, 37.3, 60, 98, 99, 99.5, 100, 101, 110, 150, 150.5, 169, 170, 171, 200,
    300, 500.25, 1000, 12345.6, 1e6, 1e10, 2.0**52,
]  # fmt: skip
Z = [
    2.0**-60, 1e-9, 0.01, 0.1, 0.25, 0.5, 0.7, 0.89, 0.9, math.nextafter(0.9, 1), 0.91,
    0.95, 0.99, 0.999, 1 - 1e-6, 1 - 2.0**-30, 1 - 2e-13, 1 - 5e-14, 1 - 2.0**-53, 1.0,
]  # fmt: skip


def points():
    """Return c and z of the table; the function is infinite at z = 1 for c up to 2."""
    cells = [(f + 1.0, z) for f in F for z in Z if z < 1 or f > 1]
    return np.array(cells).T


def gauss(c, z):
    """Return the double nearest to 2F1(1, 1; c; z) for c > 1 and 0 < z <= 1."""
    for bits in (200, 400, 800, 1600):
        ctx.prec = bits
        f, q = arb(c) - 1, arb(z)
        if z == 1:
            ball = f / (f - 1)
        elif f >= SERIES_FROM:
            ball = 1 + q * excess_over_q(f, q)
        else:
            ball = q.hypgeom_2f1(1, 1, f + 1)
        nearest = nearest_of(ball) if ball.is_finite() else None
        if nearest is not None:
            return nearest
    raise ArithmeticError(f"2F1(1, 1; {c!r}; {z!r}) is too near a midpoint")


def by_mpmath(c, z):
    """Return what xsref's reference gives, None if it takes its three seconds."""

    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(3)
    try:
        with mpmath.workdps(100):
            return float(mpmath.hyp2f1(1, 1, c, z))
    except TimeoutError:
        return None
    finally:
        signal.alarm(0)


def extended_error(given, right):
    """Return the relative error as xsref defines it, for values far from overflow."""
    return abs(given - right) / right if math.isfinite(given) else math.inf


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_table(name, columns, **facts):
    """Write a table of xsref, with what it says of itself; return its path."""
    path = TABLES / name
    about = {"in": "dddd", "out": "d", "function": "hyp2f1", **facts}
    made = pa.table(columns).replace_schema_metadata(about)
    pq.write_table(made, path, compression="zstd", compression_level=22)
    return path


def write_tables():
    """Write inputs, values and SciPy's errors; return what the page says of them."""
    c, z = points()
    value = np.array([gauss(*at) for at in zip(c.tolist(), z.tolist(), strict=True)])
    given = scipy.special.hyp2f1(1.0, 1.0, c, z)
    error = np.array([extended_error(*one) for one in zip(given, value, strict=True)])
    TABLES.mkdir(parents=True, exist_ok=True)
    ones = np.ones(len(c))
    inputs = write_table(
        f"In_{SIGNATURE}.parquet", {"in0": ones, "in1": ones, "in2": c, "in3": z}
    )
    # xsref computes these two again, and says then by which of its commits.
    facts = {"input_checksum": digest(inputs), "xsref_commit_hash": "NA",
             "working_tree_state": "NA"}  # fmt: skip
    outputs = write_table(
        f"Out_{SIGNATURE}.parquet",
        {"out0": value, "fallback": np.zeros(len(c), bool)},
        mpmath_version=mpmath.__version__,
        **facts,
    )
    config = scipy.__config__.show(mode="dicts")
    compiler, host = config["Compilers"]["c++"], config["Machine Information"]["host"]
    place = {
        "output_checksum": digest(outputs),
        "scipy_version": scipy.__version__,
        "cpp_compiler": compiler["name"],
        "cpp_compiler_version": compiler["version"],
        "architecture": host["cpu"],
        "operating_system": host["system"],
        **facts,
    }
    here = f"{compiler['name']}-{host['system']}-{host['cpu']}"
    write_table(f"Err_{SIGNATURE}_{here}.parquet", {"err0": error}, **place)
    loose = 4 * np.maximum(error, np.finfo(float).eps)
    nowhere = dict.fromkeys(place, "NA")
    write_table(f"Err_{SIGNATURE}_other.parquet", {"err0": loose}, **nowhere)
    return summary(c, z, given, value)


def summary(c, z, given, value):
    """Return a table of the errors of SciPy by region."""
    overflow = (c == np.rint(c)) & (c > 100) & (z > 0.9) & (z < 1)
    near_one = (1 - z < 1e-13) & (z < 1) & ~overflow
    regions = {
        "integer c > 100, 0.9 < z < 1": overflow,
        "1e-13 > 1 - z > 0, other c": near_one,
        "z = 1": z == 1,
        "all others": ~overflow & ~near_one & (z < 1),
    }
    rows = []
    for name, inside in regions.items():
        good = inside & np.isfinite(given)
        worst = np.abs(given[good] / value[good] - 1).max(initial=0.0)
        lost = np.count_nonzero(inside & ~np.isfinite(given))
        rows.append([name, str(np.count_nonzero(inside)), str(lost), f"{worst:.2g}"])
    header = ["region", "points", "inf or nan", "largest relative error of the others"]
    slow = [by_mpmath(*at) for at in zip(c.tolist(), z.tolist(), strict=True)]
    same = sum(x == y for x, y in zip(slow, value.tolist(), strict=True))
    told = (
        f"{same} of the {len(c)} values are those of xsref's own reference, which takes"
    )
    told += (
        f" too long for {slow.count(None)}. SciPy {scipy.__version__} at these points:"
    )
    return f"{told}\n\n{table(header, rows)}"


# --- hard cases ----------------------------------------------------------------------


def identical_bits(f, p, kept=1300):
    """Return how many bits of r after the round bit are the same."""
    with ctx.workprec(5 * kept):
        number = whole(exact_risk(f, p, 4 * kept), 3 * kept)
    lowest = max(number.bit_length() - 3 * kept - 53, -1074)  # place of the last bit
    rest = (number >> (2 * kept + lowest)) % 2**kept
    digits = f"{rest:0{kept}b}"[1:]
    return len(digits) - len(digits.lstrip(digits[0]))


def write_hard_cases():
    """Write the hard cases that are known; return what the page says of them."""
    with DATA.open() as file:
        rows = list(csv.DictReader(line for line in file if line[0] != "#"))
    parts = {"midpoint": "hard to round to nearest: next to the middle of two doubles",
             "double": "hard to round up or down: next to a double"}  # fmt: skip
    lines = [
        "# Hard cases of the individual risk, r(f, p) = p/f 2F1(1, 1; f+1; 1-p), in",
        "# binary64, for f > 0 and 0 < p <= 1. Each line is f,p.",
        "# last number: how many bits after the round bit are identical",
    ]
    for near, what in parts.items():
        cases = {(row["f"], row["p"]) for row in rows if row["near"] == near}
        lines.append(f"# {what}")
        for f, p in sorted(cases, key=lambda case: tuple(map(float.fromhex, case))):
            same = identical_bits(float.fromhex(f), float.fromhex(p))
            lines.append(f"{f},{p} # {same}")
    HARD.parent.mkdir(parents=True, exist_ok=True)
    HARD.write_text("\n".join(lines) + "\n")
    return f"{len(lines) - 5} hard cases."


# --- reports -------------------------------------------------------------------------

REPORT = re.compile(
    r"^```\w+\n((?:(?!```).*\n)*)```\n\n<!-- (gift_(\w+)_\d+) -->", re.M
)
# The functions of sdcMicro that its peer does not load, and those of MASS that it
# imports; of robustbase, covMcd, MASS has another version.
OF_SDCMICRO = """\
suppressMessages(library(MASS)); covMcd <- function(x) cov.mcd(x)
for (each in c("modRisk.R", "muargus_compatibility_functions.R"))
  sys.source(file.path("{source}", "R", each), globalenv())
"""


def in_python(program, python=sys.executable):
    """Return what a program prints."""
    return subprocess.run(
        [python, "-W", "ignore", "-c", program],
        cwd=HERE.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def with_pycanon(program):
    python = os.environ.get("RISKCORE_PYCANON")
    return python and in_python(program, python)


def with_sdcmicro(program):
    if _sdcmicro.lacking():
        return None
    loaded = OF_SDCMICRO.format(source=_sdcmicro.source())
    program = program.replace("library(sdcMicro)\n", loaded)
    try:
        return _sdcmicro.printed(program)
    except RuntimeError as error:  # one of the reports is about a crash
        crash = re.search(r"\*\*\* caught .*", str(error))
        if crash is None:
            raise
        return crash[0]


def with_riskutility(program):
    if _riskutility.lacking():
        return None
    file = f"{os.environ[_riskutility.VARIABLE]}/R/population_uniqueness.R"
    program = program.replace("library(riskutility)\n", f'source("{file}")\n')
    return subprocess.run(
        ["Rscript", "-e", program], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


RUNNERS = {
    "scipy": in_python,
    "argus": in_python,
    "pycanon": with_pycanon,
    "sdcmicro": with_sdcmicro,
    "riskutility": with_riskutility,
}


def reports():
    """Return the programs of the page by the names of their markers, with the tool."""
    found = REPORT.findall(PAGE.read_text())
    return {name: (tool, program) for program, name, tool in found}


def run_reports(names):
    """Run the programs of the page; write below each what it prints."""
    for name, (tool, program) in reports().items():
        if names and name not in names:
            continue
        said = RUNNERS[tool](program)
        if said is None:
            print(f"{name}: {tool} is not here, so its text stays")
            continue
        print(name, textwrap.indent(said, "  "), sep="\n")
        replace(PAGE, name, f"```text\n{said.rstrip()}\n```")


def main():
    names = sys.argv[1:]
    if not names:
        about = (
            f"`python -m bench.gifts`: {machine('scipy', 'python-flint', 'pyarrow')}."
        )
        told = f"{about}\n\n{write_hard_cases()} {write_tables()}"
        print(told)
        replace(PAGE, "gifts", told)
    run_reports(names)


if __name__ == "__main__":
    main()
