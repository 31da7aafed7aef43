"""What wheels bring besides the source: machine code for their platform."""

import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The folders that bindings.compile_ahead makes, and the oldest systems that NumPy
# has wheels for. The code itself asks for none: it calls fma, feclearexcept and mem*.
TAGS = {
    "linux-x86_64": "manylinux_2_17_x86_64",
    "linux-arm64": "manylinux_2_17_aarch64",
    "macos-x86_64": "macosx_10_12_x86_64",
    "macos-arm64": "macosx_11_0_arm64",
    "windows-x86_64": "win_amd64",
}
# Where the package looks for libraries.
LIBRARIES = "riskcore/core/compiled/libraries"


class Objects(BuildHookInterface):  # type: ignore[type-arg]
    """Put machine code into a wheel.

    RISKCORE_OBJECTS names the folder of a platform; "none" stands for no machine code.
    Without it a C compiler, where there is one, makes the functions of bindings/c.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add to what is built; hatchling calls this."""
        if self.target_name != "wheel" or version == "editable":
            return
        given = os.environ.get("RISKCORE_OBJECTS")
        if given == "none":
            return
        if given:
            folder = Path(self.root, given)
            if folder.name not in TAGS or not any(folder.glob("*")):
                raise FileNotFoundError(
                    f"RISKCORE_OBJECTS={given!r}: need a folder named as one of "
                    f"{', '.join(TAGS)}, made by python -m bindings.compile_ahead"
                )
            build_data["tag"] = f"py3-none-{TAGS[folder.name]}"
            build_data["force_include"][str(folder)] = LIBRARIES
        else:
            self.place = tempfile.mkdtemp()
            made = compile_c(Path(self.root, "bindings", "c"), Path(self.place))
            if not made:
                return
            build_data["tag"] = f"py3-none-{this_platform()}"
            for library in made:
                build_data["force_include"][str(library)] = (
                    f"{LIBRARIES}/{library.name}"
                )
        build_data["pure_python"] = False

    def finalize(self, version: str, build_data: dict[str, Any], path: str) -> None:
        """Remove what is not needed any more; hatchling calls this."""
        if hasattr(self, "place"):
            shutil.rmtree(self.place)


def compile_c(folder: Path, place: Path) -> list[Path]:
    """Compile the functions in C; return the libraries, or none if that fails."""
    if sys.platform == "win32":  # not tried
        return []
    given = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    for compiler in (given, ["cc"], ["clang"]):
        try:
            return compile_with(compiler, folder, place)
        except (OSError, subprocess.CalledProcessError):
            continue
    return []


# Kinds of processors of x86-64, with options. All are made, and the package loads the
# best that runs: an environment may be copied to a machine with an older processor.
PROCESSORS = {
    "x86-64-v4": ["-march=skylake-avx512", "-mprefer-vector-width=512"],
    "x86-64-v3": ["-march=haswell"],
    "x86-64-v2": ["-march=nehalem"],
}


def compile_with(compiler: list[str], folder: Path, place: Path) -> list[Path]:
    """Compile the functions in C for each kind of processor, at the same time."""
    is_x86 = platform.machine() in ("x86_64", "AMD64")
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    general = ["-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off"]
    asks = str(place / "processor.o")  # must run on any processor: without the options
    command = [*compiler, *general, "-c", "processor.c", "-o", asks]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    running = []
    for processor, own in (PROCESSORS if is_x86 else {"generic": []}).items():
        library = place / f"{processor}{suffix}"
        rest = [*own, f'-DPROCESSOR="{processor}"', "-shared", "entries.c", asks]
        command = [*compiler, *general, *rest, "-o", str(library), "-lm"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running.append((subprocess.Popen(command, cwd=folder, **quiet), library))
    failed = [process.args for process, _ in running if process.wait()]
    if failed:
        raise subprocess.CalledProcessError(1, failed[0])
    return [library for _, library in running]


def this_platform() -> str:
    """Return the tag of wheels for this system alone."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
