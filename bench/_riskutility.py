"""The population uniques of the R package riskutility, run from its own source.

The environment variable RISKCORE_RISKUTILITY names a folder with its file
``R/population_uniqueness.R``: a peer. The project has no part of it.
"""

import csv
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

VARIABLE = "RISKCORE_RISKUTILITY"
METHODS = ("pitman", "zayatz", "snb")
_PROGRAM = """\
source(file.path("{source}", "R", "population_uniqueness.R"))
samples <- read.csv("samples.csv")
for (one in split(samples, samples$sample)) {{
  cells <- rep(one$size, one$cells)
  found <- population_uniqueness(
    data.frame(key = rep(seq_along(cells), cells)), "key", one$fraction[1])
  each <- sapply(found$comparison, function(x) x$n_population_uniques_est)
  cat("RESULT", one$sample[1], format(each[c({methods})], digits = 17), "\\n")
}}
"""


def lacking():
    """Return what is missing to run it, or None."""
    if not os.environ.get(VARIABLE):
        return f"{VARIABLE} does not name a copy of riskutility"
    return None if shutil.which("Rscript") else "R is not installed, Rscript"


def population_uniques(samples):
    """Return its estimates of samples, each the cells by size and the rate n/N.

    An estimate of tau for each of METHODS, in this order.
    """
    methods = ", ".join(f'"{method}"' for method in METHODS)
    program = _PROGRAM.format(source=os.environ[VARIABLE], methods=methods)
    with tempfile.TemporaryDirectory() as folder:
        with (Path(folder) / "samples.csv").open("w") as lines:
            rows = csv.writer(lines)
            rows.writerow(["sample", "fraction", "size", "cells"])
            for number, (sizes, fraction) in enumerate(samples):
                rows.writerows([number, fraction, *one] for one in sizes.items())
        (Path(folder) / "program.R").write_text(program)
        done = subprocess.run(
            ["Rscript", "program.R"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"R: {done.stderr[-2000:]}")
    told = {}
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            number, *found = map(float, line.split()[1:])
            told[int(number)] = found
    return [told[number] for number in range(len(samples))]
