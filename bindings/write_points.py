"""Write points for tests in other languages: arguments and what the ufuncs return.

    python -m bindings.write_points            # bindings/r/tests/points.csv
    python -m bindings.write_points --check    # only tell whether it is current

A row has the arguments of all functions of riskcore.h, and the result of each, as
hexadecimal doubles.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

import riskcore

PATH = Path(__file__).with_name("r") / "tests" / "points.csv"

# The functions of riskcore.h, with their arguments.
FUNCTIONS = {
    "individual_risk": ("f", "p"),
    "individual_risk_from_frequencies": ("f", "F"),
    "log_individual_risk": ("f", "p"),
    "individual_risk_gradient": ("f", "p"),
    "individual_risk_bounds": ("f", "p"),
    "individual_risk_down": ("f", "p"),
    "individual_risk_up": ("f", "p"),
    "individual_risk_deviation": ("f", "p"),
    "individual_risk_with_prior": ("f", "shape", "p"),
    "log_individual_risk_with_prior": ("f", "shape", "p"),
    "individual_risk_poisson": ("f", "mu"),
    "log_individual_risk_poisson": ("f", "mu"),
}

_FREQUENCIES = (0.37, 1.0, 1.5, 2.0, 3.0, 4.0, 17.0, 250.5, 1e6)
_FRACTIONS = (2.0**-53, 1e-9, 0.004, 0.1, 0.317, 0.75, 0.999, 1 - 2.0**-40, 1.0)


def arguments() -> dict[str, Any]:
    """Return the arguments of all functions, by name."""
    f, p = np.array(list(itertools.product(_FREQUENCIES, _FRACTIONS))).T
    return {"f": f, "p": p, "F": f / p, "shape": f + 0.5, "mu": f * (1 - p) / p}


def columns() -> dict[str, Any]:
    """Return the arguments and the results, by name."""
    found = arguments()
    for name, needed in FUNCTIONS.items():
        result = getattr(riskcore, name)(*(found[each] for each in needed))
        if isinstance(result, tuple):
            found |= {f"{name}.lower": result[0], f"{name}.upper": result[1]}
        else:
            found[name] = result
    return found


def text() -> str:
    """Return the text of the file."""
    found = columns()
    rows = zip(*found.values(), strict=True)
    lines = [",".join(found), *(",".join(float(x).hex() for x in row) for row in rows)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the points, or end with an error if they are not current."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    if not parser.parse_args().check:
        PATH.write_text(text())
    elif not PATH.exists() or PATH.read_text() != text():
        sys.exit(f"{PATH} is not current: python -m bindings.write_points")


if __name__ == "__main__":
    main()
