"""Ways to make synthetic records: codes of columns in, as many new records out.

Four are our own, two are packages: the Gaussian copula of SDV, in a Python that
RISKCORE_PEERS names, and the trees of synthpop's `syn`, from the copy of its repository
that RISKCORE_SYNTHPOP names; R needs rpart and stringr.
"""

import atexit
import csv
import os
import subprocess
import tempfile
import threading
from functools import cache
from pathlib import Path

import numpy as np

from bench import _audit_peers as peers
from riskcore.models import LatentClass

COPIED = 0.05
LEAF = 5  # records of a leaf
WIDE = 10  # categories of a column, above which the packages take it for numbers
LIMIT = 120  # seconds that a package may take


def margins(codes, rng):
    """Draw each column by itself."""
    n = len(codes[0])
    return [column[rng.integers(0, n, n)] for column in codes]


def trees(codes, rng):
    """Draw each column from the leaf of a tree on the columns before it."""
    from sklearn.tree import DecisionTreeClassifier

    n = len(codes[0])
    made = [codes[0][rng.integers(0, n, n)]]
    for i in range(1, len(codes)):
        tree = DecisionTreeClassifier(min_samples_leaf=LEAF, random_state=0)
        tree.fit(np.stack(codes[:i], 1), codes[i])
        leaves = tree.apply(np.stack(codes[:i], 1))
        order = np.argsort(leaves, kind="stable")
        asked = tree.apply(np.stack(made, 1))
        first = np.searchsorted(leaves[order], asked)
        last = np.searchsorted(leaves[order], asked, side="right")
        made.append(
            codes[i][order[first + (rng.random(n) * (last - first)).astype(int)]]
        )
    return made


def latent_classes(codes, rng):
    """Draw a class for each record, and each column from the class."""
    n = len(codes[0])
    model = LatentClass.fit(codes, overdispersion=False)
    share = model.mixture.share
    of = rng.choice(len(share), n, p=share / share.sum())
    made = []
    for profile in model.profiles:
        upto = np.cumsum(profile, axis=0).T[of, :-1]
        made.append((rng.random(n)[:, None] > upto).sum(axis=1))
    return made


def copying(codes, rng):
    """Draw by latent classes, and put copies of 5 % of the records among them."""
    made, n = latent_classes(codes, rng), len(codes[0])
    copied = rng.choice(n, round(COPIED * n), replace=False)
    for column, original in zip(made, codes, strict=True):
        column[: len(copied)] = original[copied]
    return made


# --- packages -----------------------------------------------------------------------

_IN_PYTHON = """\
import logging, sys, warnings
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
import pandas as pd
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer
for line in sys.stdin:
    folder, seed, wide = line.split()
    wide = int(wide)
    file = pd.read_csv(f"{folder}/original.csv")
    kinds = {c: "numerical" if file[c].max() >= wide else "categorical" for c in file}
    for name, kind in kinds.items():
        if kind == "categorical":
            file[name] = [f"v{code}" for code in file[name]]
    columns = {name: {"sdtype": kind} for name, kind in kinds.items()}
    maker = GaussianCopulaSynthesizer(
        Metadata.load_from_dict({"tables": {"file": {"columns": columns}}})
    )
    maker.fit({"file": file})
    made = maker.sample(num_rows=len(file))
    made = made["file"] if isinstance(made, dict) else made
    for name, kind in kinds.items():
        if kind == "categorical":
            made[name] = made[name].str[1:]
    made.astype(int).to_csv(f"{folder}/made.csv", index=False)
    print("DONE", flush=True)
"""
_IN_R = """\
suppressMessages({{library(rpart); library(stringr)}})
for (each in list.files("{source}/R", full.names = TRUE))
  try(sys.source(each, globalenv()), silent = TRUE)
lines <- file("stdin", "r")
while (length(line <- readLines(lines, 1)) > 0) {{
  told <- strsplit(line, " ")[[1]]
  original <- read.csv(file.path(told[1], "original.csv"))
  for (name in names(original))
    if (max(original[[name]]) < as.integer(told[3]))
      original[[name]] <- factor(original[[name]])
  made <- suppressWarnings(
    syn(original, method = "cart", seed = as.integer(told[2]), print.flag = FALSE))
  write.csv(made$syn, file.path(told[1], "made.csv"), row.names = FALSE)
  cat("\\nDONE\\n")
  flush(stdout())
}}
"""


@cache
def _program(package):
    """Return a running program that makes records, the same for all calls."""
    folder = Path(tempfile.mkdtemp())
    if package == "SDV":
        (folder / "program.py").write_text(_IN_PYTHON)
        words = [os.environ[peers.PYTHON], "program.py"]
    else:
        text = _IN_R.format(source=peers.source_of(peers.SYNTHPOP))
        (folder / "program.R").write_text(text)
        words = ["Rscript", "program.R"]
    running = subprocess.Popen(
        words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    atexit.register(running.kill)
    return running


def _made_by(package, codes, rng):
    """Return the records that a package makes; a TimeoutError if it takes too long."""
    running = _program(package)
    with tempfile.TemporaryDirectory() as folder:
        with (Path(folder) / "original.csv").open("w", newline="") as lines:
            rows = csv.writer(lines)
            rows.writerow([f"key{i}" for i in range(len(codes))])
            rows.writerows(np.stack(codes, axis=1).tolist())
        limit = threading.Timer(LIMIT, running.kill)
        limit.start()
        running.stdin.write(f"{folder} {rng.integers(1, 2**30)} {WIDE}\n")
        running.stdin.flush()
        while (line := running.stdout.readline()) not in ("DONE\n", ""):
            pass
        limit.cancel()
        if not line:
            _program.cache_clear()
            raise TimeoutError(f"{package}: no records within {LIMIT} s")
        found = np.loadtxt(
            Path(folder) / "made.csv", int, delimiter=",", skiprows=1, converters=_code
        )
    return list(found.T)


def _code(text):
    return int(text.strip('"'))


def copula(codes, rng):
    """Draw by the Gaussian copula of SDV."""
    return _made_by("SDV", codes, rng)


def carts(codes, rng):
    """Draw each column by a tree of synthpop on the columns before it."""
    return _made_by("synthpop", codes, rng)


OWN = {
    "margins": margins,
    "trees": trees,
    "latent classes": latent_classes,
    "5 % copied": copying,
}
PACKAGES = {"SDV copula": copula, "synthpop CART": carts}
NEEDED = {"SDV copula": peers.PYTHON, "synthpop CART": peers.SYNTHPOP}
