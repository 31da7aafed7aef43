"""sdcMicro run from its own source, as a peer: nothing of it is part of the project.

The environment variable RISKCORE_SDCMICRO names a copy of its repository: a folder
with ``R/`` and ``src/``, or a git directory. R needs Rcpp, data.table and a C++
compiler. The functions are sourced, and the C++ is compiled once, in ``build/``.
"""

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from bench._common import HERE

VARIABLE = "RISKCORE_SDCMICRO"
_BUILD = HERE.parent / "build" / "sdcmicro"
# In the order in which they need each other.
_FILES = (
    "RcppExports.R", "0classes.r", "aux_functions.r", "freqCalc.r", "indivRisk.R",
    "measure_risk.R", "localSuppression.R", "suda2.R", "dRisk.R", "dRiskRMD.R",
    "dUtility.R", "methods.r", "mdav.R", "mafast.R", "microaggregation.R", "addNoise.r",
    "rankSwap.R", "pram.R", "printFunctions.R", "topBotCoding.R",
)  # fmt: skip
_PRELUDE = """\
suppressMessages({{library(Rcpp); library(data.table); library(methods)}})
.datatable.aware <- TRUE
native <- getDLLRegisteredRoutines(dyn.load("{library}"))[[".Call"]]
for (each in names(native)) assign(each, native[[each]])
for (each in c({files})) sys.source(file.path("{source}", "R", each), globalenv())
sdcdata <- function(name) {{
  path <- Sys.glob(file.path("{source}", "data", paste0(name, ".*")))[1]
  get(load(path))
}}
# Say a number, or several, under a name; say the seconds that a call takes.
tell <- function(name, ...) cat("RESULT", name, format(c(...), digits = 17), "\\n")
timed <- function(name, call, times = 1) {{
  work <- substitute(call)
  taken <- sapply(seq_len(times), function(i) {{
    system.time(found <<- eval(work, parent.frame(3)))[["elapsed"]]
  }})
  tell(paste0(name, ".seconds"), min(taken))
  found
}}
"""


def lacking():
    """Return what is missing to run it, or None."""
    if not os.environ.get(VARIABLE):
        return f"{VARIABLE} does not name a copy of sdcMicro's repository"
    if not shutil.which("Rscript"):
        return "R is not installed, Rscript"
    asked = "for (p in c('Rcpp', 'data.table')) library(p, character.only = TRUE)"
    done = subprocess.run(["Rscript", "-e", asked], capture_output=True, check=False)
    return "R has no Rcpp or no data.table" if done.returncode else None


@functools.cache
def source():
    """Return the folder with the source."""
    given = Path(os.environ[VARIABLE])
    if (given / "R").is_dir():
        return given
    folder = _BUILD / "source"
    if not folder.is_dir():
        folder.mkdir(parents=True)
        archive = ["git", "-C", str(given), "archive", "HEAD", "R", "src", "data"]
        packed = subprocess.run(archive, stdout=subprocess.PIPE, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    return folder


@functools.cache
def version():
    """Return the version and the commit of the source, as far as it tells."""
    given = os.environ[VARIABLE]
    shown = ["git", "-C", given, "show", "HEAD:DESCRIPTION"]
    done = subprocess.run(shown, capture_output=True, text=True, check=False)
    text = done.stdout or (source() / "DESCRIPTION").read_text()
    number = next(x for x in text.splitlines() if x.startswith("Version: "))
    head = ["git", "-C", given, "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, capture_output=True, text=True, check=False)
    return " ".join([number.removeprefix("Version: "), commit.stdout.strip()]).strip()


@functools.cache
def library():
    """Return the compiled C++."""
    target = _BUILD / "sdcMicro.so"
    if not target.exists():
        folder = _BUILD / "src"
        shutil.copytree(source() / "src", folder, dirs_exist_ok=True)
        asked = "cat(system.file('include', package = 'Rcpp'))"
        include = subprocess.run(
            ["Rscript", "-e", asked], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        parts = [one.name for one in sorted(folder.glob("*.c*"))]
        subprocess.run(
            ["R", "CMD", "SHLIB", "-o", str(target), *parts],
            cwd=folder,
            env={**os.environ, "PKG_CPPFLAGS": f"-I{include}"},
            capture_output=True,
            check=True,
        )
    return target


def printed(program, **files):
    """Return what a program prints in R.

    ``files`` are tables that the program reads as name.csv from its folder.
    """
    prelude = _PRELUDE.format(
        library=library(),
        source=source(),
        files=", ".join(f'"{name}"' for name in _FILES),
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, frame in files.items():
            frame.to_csv(Path(folder) / f"{name}.csv", index=False)
        (Path(folder) / "program.R").write_text(prelude + program)
        done = subprocess.run(
            ["Rscript", "program.R"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"R: {done.stderr[-2000:]}")
    return done.stdout


def run(program, **files):
    """Return what a program in R tells by name, as lists of numbers."""
    told = {}
    for line in printed(program, **files).splitlines():
        if line.startswith("RESULT "):
            _, name, *numbers = line.split()
            told[name] = [float(one) for one in numbers]
    return told


def table(name):
    """Return one of its data sets as a frame."""
    import pandas

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        run(f'write.csv(sdcdata("{name}"), "{path}", row.names = FALSE)')
        return pandas.read_csv(path)
