"""Measures of released files by other packages, run from their own source or Python.

RISKCORE_PEERS names a Python that has Anonymeter and SDV, RISKCORE_SYNTHPOP a copy of
synthpop's repository (a folder with ``R/``, or a git directory), and
RISKCORE_RISKUTILITY a folder with ``R/`` of riskutility. R needs stringr, data.table
and VIM. They are peers: the project has no part of them.
"""

import csv
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from bench._common import HERE

PYTHON, SYNTHPOP, RISKUTILITY = (
    f"RISKCORE_{name}" for name in ("PEERS", "SYNTHPOP", "RISKUTILITY")
)

SECONDS = 600  # for each package

_ANONYMETER = """\
import json, logging, time, warnings
import numpy as np, pandas as pd
logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
from importlib.metadata import version
setting = json.load(open("setting.json"))
keys = setting["keys"]
names = dict.fromkeys(keys, str)
original, released = (
    pd.read_csv(f"{name}.csv", dtype=names, keep_default_na=False)
    for name in ("original", "released")
)
def tell(name, value):
    print("RESULT", json.dumps({name: value}), flush=True)
def timed(name, work):
    start = time.perf_counter()
    value = work()
    tell(name, [value, time.perf_counter() - start])
tell("version", version("anonymeter"))
from anonymeter.evaluators import LinkabilityEvaluator, SinglingOutEvaluator
def single_out():
    one = SinglingOutEvaluator(
        original[keys], released[keys], setting["attacks"], 3, seed=1
    )
    return one.evaluate("multivariate")._n_success
def link(seed):
    mixed = released[keys].sample(frac=1, random_state=seed).reset_index(drop=True)
    one = LinkabilityEvaluator(
        original[keys], mixed, setting["sides"], len(original), 1
    ).evaluate(n_jobs=1)
    return one._attack_links.count_links(1) / len(original)
timed("singling out", single_out)
timed("linkability", lambda: [link(seed) for seed in range(setting["orders"])])
"""
_SYNTHESIZE = """\
import sys, warnings
import pandas as pd
warnings.simplefilter("ignore")
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer
original = pd.read_csv("original.csv", keep_default_na=False)
tables = {"people": original}
made = GaussianCopulaSynthesizer(Metadata.detect_from_dataframes(tables))
made.fit(tables)
released = made.sample(len(original))
released = released if isinstance(released, pd.DataFrame) else released["people"]
released.to_csv("released.csv", index=False)
"""
_IN_R = """\
setting <- list(keys = c({keys}), target = "{target}", numbers = c({numbers}))
read <- function(name) {{
  found <- read.csv(paste0(name, ".csv"), colClasses = "character")
  for (each in setting$numbers) found[[each]] <- as.numeric(found[[each]])
  found
}}
present <- Filter(function(name) file.exists(paste0(name, ".csv")),
                  c("original", "released", "holdout"))
for (file in present) assign(file, read(file))
for (each in c(setting$keys, setting$target)) {{
  values <- sort(unique(unlist(lapply(present, function(file) get(file)[[each]]))))
  for (file in present) {{
    one <- get(file); one[[each]] <- factor(one[[each]], levels = values)
    assign(file, one)
  }}
}}
tell <- function(name, ...) cat("RESULT", name, format(c(...), digits = 17), "\\n")
timed <- function(name, call) {{
  taken <- system.time(found <- call)[["elapsed"]]
  tell(paste0(name, ".seconds"), taken)
  found
}}
both <- c(setting$keys, setting$target)
"""
_WITH_SYNTHPOP = """
suppressMessages(library(stringr))
for (each in list.files("{source}/R", full.names = TRUE))
  try(sys.source(each, globalenv()), silent = TRUE)
found <- timed("disclosure", disclosure.data.frame(
  released[both], original[both], keys = setting$keys, target = setting$target,
  print.flag = FALSE, compare.synorig = FALSE))
for (part in c("ident", "attrib", "allCAPs"))
  for (each in names(found[[part]])) tell(each, found[[part]][[each]])
"""
_WITH_RISKUTILITY = """
suppressMessages({{library(data.table); library(VIM)}})
.datatable.aware <- TRUE
for (each in c("tcap", "nndr"))
  sys.source(file.path("{source}", "R", paste0(each, ".R")), globalenv())
found <- timed("tcap", tcap.default(
  original, released, setting$keys, setting$target))
tell("tcap", found$tcap_certain, found$tcap_matched, found$tcap_conditional)
if (length(present) < 3) quit()
few <- c(setting$keys, setting$numbers)
found <- timed("nndr", nndr(original[few], released[few], holdout[few]))
tell("nndr", median(found$dcr_train), mean(found$dcr_train < found$dcr_holdout),
     median(found$nndr_train))
# It gives no factors to gowerD, which takes their codes for numbers then.
nndr <- eval(parse(text = gsub(
  "VIM::gowerD(Y, combined_real)",
  "VIM::gowerD(Y, combined_real, numerical = setting$numbers, factors = setting$keys)",
  deparse(nndr), fixed = TRUE)))
found <- timed("gower", nndr(original[few], released[few], holdout[few]))
tell("gower", median(found$dcr_train), mean(found$dcr_train < found$dcr_holdout),
     median(found$nndr_train))
"""


def lacking(variable):
    """Return what is missing to run a peer, or None."""
    if not os.environ.get(variable):
        return f"{variable} is not set"
    if variable != PYTHON and not shutil.which("Rscript"):
        return "R is not installed, Rscript"
    return None


def source_of(variable):
    """Return the folder with the R source of a package."""
    given = Path(os.environ[variable])
    if (given / "R").is_dir():
        return given
    folder = HERE.parent / "build" / variable.lower()
    if not folder.is_dir():
        folder.mkdir(parents=True)
        archive = ["git", "-C", str(given), "archive", "HEAD", "R", "DESCRIPTION"]
        packed = subprocess.run(archive, stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    return folder


def _write(folder, files):
    """Write files, dicts of columns, as name.csv."""
    for name, columns in files.items():
        with (Path(folder) / f"{name}.csv").open("w", newline="") as lines:
            rows = csv.writer(lines)
            rows.writerow(columns)
            rows.writerows(zip(*columns.values(), strict=True))


def _run(words, folder, seconds=SECONDS):
    """Return the lines that a program prints, and whether it ended in time."""
    with (Path(folder) / "errors").open("w") as errors:
        program = subprocess.Popen(
            words, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            told, _ = program.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            program.kill()
            return program.communicate()[0].splitlines(), False
    if program.returncode:
        said = (Path(folder) / "errors").read_text()[-2000:]
        raise RuntimeError(f"{words[0]}: {said}")
    return told.splitlines(), True


def synthesized(columns):
    """Return a file as large that SDV's Gaussian copula makes, as text."""
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, {"original": columns})
        (Path(folder) / "program.py").write_text(_SYNTHESIZE)
        _run([os.environ[PYTHON], "program.py"], folder)
        with (Path(folder) / "released.csv").open(newline="") as lines:
            rows = [*csv.DictReader(lines)]
    return {name: [row[name] for row in rows] for name in columns}


def told_by(package, files, setting):
    """Return what a package finds, by name."""
    return (
        _anonymeter(files, setting)
        if package == "Anonymeter"
        else _in_r(package, files, setting)
    )


def _anonymeter(files, setting):
    """Return what Anonymeter finds, by name with seconds."""
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, files)
        (Path(folder) / "setting.json").write_text(json.dumps(setting))
        (Path(folder) / "program.py").write_text(_ANONYMETER)
        lines, in_time = _run([os.environ[PYTHON], "program.py"], folder)
    told = {} if in_time else {"late": True}
    for line in lines:
        if line.startswith("RESULT "):
            told |= json.loads(line.removeprefix("RESULT "))
    return told


def _in_r(package, files, setting):
    """Return what synthpop or riskutility find, by name as lists of numbers."""
    variable, program = {
        "synthpop": (SYNTHPOP, _WITH_SYNTHPOP),
        "riskutility": (RISKUTILITY, _WITH_RISKUTILITY),
    }[package]
    lists = {
        name: ", ".join(f'"{one}"' for one in setting[name])
        for name in ("keys", "numbers")
    }
    head = _IN_R.format(**lists, target=setting["target"])
    with tempfile.TemporaryDirectory() as folder:
        _write(folder, files)
        text = head + program.format(source=source_of(variable))
        (Path(folder) / "program.R").write_text(text)
        lines, in_time = _run(["Rscript", "program.R"], folder)
    told = {} if in_time else {"late": True}
    for line in lines:
        if line.startswith("RESULT "):
            _, name, *numbers = line.split()
            told[name] = [float(one) for one in numbers]
    return told
