"""What a test may need and a machine may lack: the only reasons to skip a test.

What ``pip install ".[test]"`` brings is not among them: without it tests fail.
`.ci/run` installs the browser, R, qemu with the compiler for arm64, SQLite and Rust. It
cannot have a JDK of Java 22 (Debian has 17), SDV 2 (it brings PyTorch), and what is not
ours to hand out: mu-Argus's demonstration data and a copy of sdcMicro.
"""

import importlib.util
import os
import platform
import re
import shutil
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import llvmlite.binding as llvm
import pytest

# mu-Argus's demonstration data, which are not the project's to hand out.
DEMODATA = Path(__file__).parents[2] / "shared" / "data" / "demodata"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HEADERS = Path(sysconfig.get_paths()["include"]) / "Python.h"
ON_POSIX = os.name == "posix"


def newest_java():
    """Return the newest program java of the installed JDKs from version 22 on."""
    homes = [Path(os.environ.get("JAVA_HOME", "/")), *Path("/usr/lib/jvm").glob("*")]
    versions = {
        int(
            re.search(r'^JAVA_VERSION="(\d+)', (home / "release").read_text(), re.M)[1]
        ): home
        for home in homes
        if (home / "release").exists() and (home / "bin" / "javac").exists()
    }
    newest = max(versions, default=0)
    return versions[newest] / "bin" / "java" if newest >= 22 else None


JAVA = newest_java()

demodata = pytest.mark.skipif(
    not (DEMODATA / "Demodata.asc").exists(),
    reason=f"needs mu-Argus's demonstration data in {DEMODATA.parent.name}/demodata "
    "beside the project",
)
chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs the browser Chromium")
compiler = pytest.mark.skipif(
    not shutil.which("cc") or not HEADERS.exists(),
    reason="needs a C compiler, cc, and the headers of Python",
)
binutils = pytest.mark.skipif(
    not all(map(shutil.which, ("as", "ld", "nm", "objdump"))),
    reason="needs the programs of GNU binutils, to read machine code",
)
qemu = pytest.mark.skipif(
    not shutil.which("qemu-aarch64") or not shutil.which("aarch64-linux-gnu-gcc"),
    reason="needs qemu-aarch64 and aarch64-linux-gnu-gcc, to run code for arm64",
)
x86 = pytest.mark.skipif(
    platform.machine() not in {"x86_64", "AMD64"}, reason="needs a processor of x86-64"
)
rscript = pytest.mark.skipif(not shutil.which("Rscript"), reason="needs R, Rscript")
rustc = pytest.mark.skipif(not shutil.which("rustc"), reason="needs Rust, rustc")
sqlite = pytest.mark.skipif(
    not shutil.which("sqlite3") or not Path("/usr/include/sqlite3ext.h").exists(),
    reason="needs the shell sqlite3 and the headers of SQLite",
)
java = pytest.mark.skipif(JAVA is None, reason="needs a JDK of Java 22 or later")
sdcmicro = pytest.mark.skipif(
    not os.environ.get("RISKCORE_SDCMICRO") or not shutil.which("Rscript"),
    reason="needs R with Rcpp and data.table, and in RISKCORE_SDCMICRO a copy of "
    "sdcMicro's repository",
)
sdv = pytest.mark.skipif(
    importlib.util.find_spec("sdv") is None or version("sdv").split(".")[0] != "2",
    reason="needs the synthesizer SDV 2, with scikit-learn and pandas",
)
bash = pytest.mark.skipif(not shutil.which("bash"), reason="needs the shell bash")
posix = pytest.mark.skipif(
    not ON_POSIX, reason="needs POSIX: modes, owners, locks and fork"
)
linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="needs Linux, which tells whose a connection is",
)
root = pytest.mark.skipif(
    not ON_POSIX or os.geteuid() != 0, reason="needs root, to give files to others"
)

# Engines that ``.[test]`` does not bring.
ENGINES = ("ibis", "spark")
_MODULES = {"dask": "dask.dataframe", "spark": "pyspark"}
_BESIDE = {"dask": ["pandas"], "spark": ["pandas"]}


def engine(name):
    """Return the mark of a test that needs an engine of the extra ``engines``."""
    module = _MODULES.get(name, name)
    lacking = [
        each
        for each in (module.partition(".")[0], *_BESIDE.get(name, []))
        if importlib.util.find_spec(each) is None
    ]
    if name == "spark" and not shutil.which("java"):
        lacking.append("Java")
    return pytest.mark.skipif(
        bool(lacking), reason=f"needs {', '.join(lacking)}, for the engine {name}"
    )


def is_of_an_engine(item):
    """Return whether a test needs an engine that ``.[test]`` does not bring."""
    reasons = [mark.kwargs["reason"] for mark in item.iter_markers("skipif")]
    ends = tuple(f"for the engine {name}" for name in ENGINES)
    return any(reason.endswith(ends) for reason in reasons)


duckdb = engine("duckdb")


def runnable(processors):
    """Return the names of processors that this machine runs, with reasons to skip."""
    features = llvm.get_host_cpu_features()
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                kind not in KINDS.get(platform.machine(), "")
                or not all(features.get(each) for each in needed),
                reason=f"needs a processor that runs code for {name}",
            ),
        )
        for kind, known in processors.items()
        for name, needed in known.items()
    ]


KINDS = {"x86_64": "x86_64", "AMD64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
