"""The R package: built from this tree, the bits of the ufuncs, beside sdcMicro."""

import os
import re
import subprocess
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import riskcore
from bindings import write_points
from tests import needs

peer = import_module("bench._sdcmicro")

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bindings" / "r"
TESTS = sorted(path.name for path in (PACKAGE / "tests").glob("*.R"))


def r(*arguments, folder, library=None):
    """Run R and return what it prints; fail with all it says."""
    paths = [str(library) if library else "", os.environ.get("R_LIBS", "")]
    done = subprocess.run(
        ["R", *arguments],
        cwd=folder,
        env={**os.environ, "R_LIBS": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def run(program, folder, library):
    """Run a program in R with the package."""
    (folder / "program.R").write_text(program)
    return r("--vanilla", "-s", "-f", "program.R", folder=folder, library=library)


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Return what `R CMD check` says, and the library that it has made and tested."""
    folder = tmp_path_factory.mktemp("r")
    # The archive holds the C file itself, and building from it leaves the tree clean.
    r("CMD", "build", str(PACKAGE), folder=folder)
    (archive,) = folder.glob("riskcore_*.tar.gz")
    with pytest.MonkeyPatch.context() as patch:
        # sdcMicro is for some of the package's tests only.
        patch.setenv("_R_CHECK_FORCE_SUGGESTS_", "false")
        said = r("CMD", "check", "--no-manual", archive.name, folder=folder)
    return said, folder / "riskcore.Rcheck"


def field(name):
    text = (PACKAGE / "DESCRIPTION").read_text()
    return re.search(rf"^{name}: (.*)$", text, re.MULTILINE).group(1)


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert field("Version") == project["version"]
    assert field("Title") == "Exact Re-Identification Risk of Survey Microdata"


def test_the_c_files_are_links():
    for name in ("riskcore.c", "riskcore_fma.c", "riskcore.h"):
        file = PACKAGE / "src" / name
        assert file.is_symlink()
        assert file.resolve() == ROOT / "bindings" / "c" / name


def test_every_function_of_the_header_is_exported_and_explained():
    header = (ROOT / "bindings" / "c" / "riskcore.h").read_text()
    declared = set(re.findall(r"\briskcore_(\w+?)_array\(", header))
    exported = re.search(r"export\((.*?)\)", (PACKAGE / "NAMESPACE").read_text(), re.S)
    names = set(re.findall(r"\w+", exported.group(1))) - {"individual_risk_sdc"}
    explained = "".join(path.read_text() for path in (PACKAGE / "man").glob("*.Rd"))
    assert names == declared == set(write_points.FUNCTIONS)
    assert names <= set(re.findall(r"\\alias\{(\w+)\}", explained))


def test_the_points_are_current():
    assert write_points.PATH.read_text() == write_points.text()


def cells(n):
    """Return the arguments of all functions for n cells, over their domains."""
    rng = np.random.default_rng(12)
    whole = np.round(2.0 ** rng.uniform(0, 20, n))
    f = np.where(rng.random(n) < 0.7, whole, 2.0 ** rng.uniform(-9, 40, n))
    near, far = 1 - 2.0 ** -rng.uniform(0, 53, n), 2.0 ** -rng.uniform(0, 190, n)
    p = np.where(rng.random(n) < 0.5, near, far)
    p[:9] = 1.0
    above, below = f + rng.uniform(0, 3, n), f * 2 * rng.random(n)
    shape = 0.01 + np.where(rng.random(n) < 0.5, above, below)
    mu = 2.0 ** rng.uniform(-60, 90, n)
    return {"f": f, "p": p, "F": f / p, "shape": shape, "mu": mu}


# Write the results of all functions, one after the other, to a file.
BITS = """
library(riskcore)
values <- readBin("arguments", "double", 5 * {n})
arguments <- setNames(split(values, rep(1:5, each = {n})), c({names}))
file <- file("results", "wb")
for (name in c({functions})) {{
  compute <- getExportedValue("riskcore", name)
  result <- do.call(compute, arguments[names(formals(compute))])
  writeBin(unlist(result, use.names = FALSE), file)
}}
close(file)
"""


def quoted(names):
    """Return names as R writes them."""
    return ", ".join(f'"{name}"' for name in names)


def same_bits(folder, library, n):
    """Compare the results of R and of the ufuncs, nan with nan."""
    given = cells(n)
    np.concatenate(list(given.values())).tofile(folder / "arguments")
    functions = write_points.FUNCTIONS
    program = BITS.format(n=n, names=quoted(given), functions=quoted(functions))
    run(program, folder, library)
    found = np.fromfile(folder / "results").reshape(-1, n)
    expected = []
    for name, arguments in functions.items():
        result = getattr(riskcore, name)(*(given[each] for each in arguments))
        expected.extend(result if isinstance(result, tuple) else [result])
    assert len(found) == len(expected) == 13
    assert np.isfinite(expected).mean() > 0.97
    np.testing.assert_array_equal(found, expected)


def problems(said):
    """Return what `R CMD check` minds, except that sdcMicro is missing."""
    parts = re.split(r"^\* ", said, flags=re.MULTILINE)
    return [
        part
        for part in parts
        if re.search(r"\b(NOTE|WARNING|ERROR)$", part, re.MULTILINE)
        and not part.startswith(("DONE", "checking package dependencies"))
    ]


def test_a_note_is_seen():
    said = "* checking a ... OK\n* checking b ...{}\n  c\n* DONE\n\nStatus: 1 NOTE\n"
    assert problems(said.format("Warning: no network\n NOTE"))
    assert problems(said.format(" WARNING"))
    assert not problems(said.format(" OK"))


@needs.rscript
@pytest.mark.compiles
def test_the_package(checked, tmp_path):
    said, library = checked
    assert not problems(said), said
    for name in ("arguments", "points", "sdc"):
        assert f"{name}.R" in said
    same_bits(tmp_path, library, 100_000)


# What the block of the how-to page takes for granted: an object of sdcMicro.
OBJECT = """
setClass("sdcMicroObj", representation(
  origData = "data.frame", hhId = "numeric", risk = "list", originalRisk = "list"
))
cells <- cbind(risk = 0, fk = 3, Fk = 30)
risk <- list(individual = cells, global = list(max_risk = 0.1))
obj <- new("sdcMicroObj", risk = risk)
"""


@needs.rscript
@pytest.mark.compiles
def test_the_page(checked, tmp_path):
    page = (ROOT / "notes" / "other_languages.md").read_text()
    (block,) = re.findall(r"```r\n(.*?)```", page, re.DOTALL)
    shown = re.search(r"individual_risk\(c.* # (.*)", block).group(1)
    end = 'cat(signif(obj@risk$individual[, "risk"], 7))'
    assert run(OBJECT + block + end, tmp_path, checked[1]).splitlines() == [
        f"[1] {shown}",
        shown.split()[2],
    ]


BESIDE = """
library(riskcore, lib.loc = "{library}")
compared <- function(name, keys, weight, home = NULL) {{
  obj <- createSdcObj(sdcdata(name), keyVars = keys, weightVar = weight, hhId = home)
  obj <- kAnon(obj, k = 2)
  exact <- individual_risk_sdc(obj)
  r <- exact@risk$individual[, "risk"]
  tell(paste0(name, ".f"), obj@risk$individual[, "fk"])
  tell(paste0(name, ".F"), obj@risk$individual[, "Fk"])
  tell(paste0(name, ".risk"), r)
  tell(paste0(name, ".total"), exact@risk$global$risk_ER)
  tell(paste0(name, ".theirs"), obj@risk$individual[, "risk"])
  shown <- suppressMessages(print(exact, "risk"))[[1]]$reident
  tell(paste0(name, ".shown"), as.numeric(shown$mod))
  # sdcMicro's own threshold and household risk, for the exact risks.
  ours <- exact@risk$global$threshold
  limit <- exact@risk$global$max_risk
  theirs <- measure_threshold(sort(r, decreasing = TRUE), limit)$global_threshold
  tell(paste0(name, ".threshold"), if (is.na(ours)) max(r) else ours, theirs)
  if (!is.null(home)) {{
    safe <- tapply(1 - r, obj@origData[[home]], prod)
    theirs <- 1 - safe[as.character(obj@origData[[home]])]
    tell(paste0(name, ".home"), max(abs(exact@risk$individual[, "hier_risk"] - theirs)))
  }}
}}
compared("free1", c("REGION", "SEX", "AGE", "MARSTAT"), "WEIGHT")
compared("testdata2", c("urbrur", "roof", "walls", "relat", "sex"), "sampling_weight",
         "ori_hid")
"""


@needs.sdcmicro
@pytest.mark.compiles
def test_beside_sdcmicro(checked):
    told = peer.run(BESIDE.format(library=checked[1]))
    for name in ("free1", "testdata2"):
        f, F, found, theirs = (
            np.array(told[f"{name}.{each}"]) for each in ("f", "F", "risk", "theirs")
        )
        exact = riskcore.individual_risk_from_frequencies(f, F)
        np.testing.assert_array_equal(found, exact)
        assert told[f"{name}.total"][0] == pytest.approx(exact.sum(), rel=1e-14)
        assert told[f"{name}.shown"][0] == pytest.approx(exact.sum(), abs=0.00501)
        ours, measured = told[f"{name}.threshold"]
        assert ours == measured
        assert (theirs > exact * (1 - 1e-12)).all()
        assert (theirs < exact * 1.0404).all()
        assert (theirs > exact * 1.001).any()
    assert told["testdata2.home"][0] < 1e-14
