"""What a test may need and a machine may lack: the only reasons to skip a test.

What ``pip install ".[test]"`` brings is not among them: without it tests fail.
"""

import importlib.util
import os
import shutil
import sysconfig
from pathlib import Path

import pytest

# mu-Argus's demonstration data, which are not the project's to hand out.
DEMODATA = Path(__file__).parents[2] / "shared" / "data" / "demodata"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HEADERS = Path(sysconfig.get_paths()["include"]) / "Python.h"
ON_POSIX = os.name == "posix"

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
posix = pytest.mark.skipif(
    not ON_POSIX, reason="needs POSIX: modes, owners, locks and fork"
)
root = pytest.mark.skipif(
    not ON_POSIX or os.geteuid() != 0, reason="needs root, to give files to others"
)

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
