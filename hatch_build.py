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
            library = compile_c(Path(self.root, "bindings", "c"), Path(self.place))
            if library is None:
                return
            build_data["tag"] = f"py3-none-{this_platform()}"
            build_data["force_include"][str(library)] = f"{LIBRARIES}/{library.name}"
        build_data["pure_python"] = False

    def finalize(self, version: str, build_data: dict[str, Any], path: str) -> None:
        """Remove what is not needed any more; hatchling calls this."""
        if hasattr(self, "place"):
            shutil.rmtree(self.place)


def compile_c(folder: Path, place: Path) -> Path | None:
    """Compile the functions in C; return the library, or None if that fails."""
    if sys.platform == "win32":  # not tried
        return None
    given = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    for compiler in (given, ["cc"], ["clang"]):
        try:
            return compile_with(compiler, folder, place)
        except (OSError, StopIteration, subprocess.CalledProcessError):
            continue
    return None


# Processors of x86-64, the best first: macros of compilers that tell them, and options.
PROCESSORS = {
    "x86-64-v4": (
        {"__AVX512BW__", "__AVX512CD__", "__AVX512DQ__", "__AVX512VL__", "__FMA__"},
        ["-march=skylake-avx512", "-mprefer-vector-width=512"],
    ),
    "x86-64-v3": ({"__AVX2__", "__FMA__"}, ["-march=haswell"]),
    "x86-64-v2": ({"__SSE4_2__"}, ["-march=nehalem"]),
}


def compile_with(compiler: list[str], folder: Path, place: Path) -> Path:
    """Compile the functions in C for the kind of processor that this one is."""
    processor, own = "generic", []
    if platform.machine() in ("x86_64", "AMD64"):
        command = [*compiler, "-march=native", "-dM", "-E", "-x", "c", os.devnull]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        macros = set(done.stdout.split())
        processor, own = next(
            (name, options)
            for name, (needed, options) in PROCESSORS.items()
            if needed <= macros
        )
    library = place / f"{processor}{'.dylib' if sys.platform == 'darwin' else '.so'}"
    general = ["-O2", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off"]
    # What asks the processor must run on any: only the rest is for this kind.
    ask = [*general, "-c", "processor.c", "-o", str(place / "processor.o")]
    rest = [*general, *own, f'-DPROCESSOR="{processor}"', "-shared", "entries.c"]
    rest += [str(place / "processor.o"), "-o", str(library), "-lm"]
    for options in (ask, rest):
        command = [*compiler, *options]
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return library


def this_platform() -> str:
    """Return the tag of wheels for this system alone."""
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
