"""Compile the kernels ahead of time, for the wheel of this platform.

    python -m bindings.compile_ahead build/objects

makes in ``build/objects/linux-x86_64`` a shared library for each kind of processor,
which ``hatch_build.py`` puts into a wheel. LLVM makes the code, and the C compiler (the
variable CC, or cc) links it. With ``--platform`` and a CC that links for it, the
libraries are those of another platform with processors of the same kind of pointers.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm

import riskcore
from riskcore.core import embed
from riskcore.core.compiled import jit, shipped, signals, ufunc_maker
from riskcore.core.compiled.jit import Native
from riskcore.core.risk import single

if TYPE_CHECKING:
    from riskcore.core.compiled.compiler import Code

TRIPLES = {
    "linux-x86_64": "x86_64-unknown-linux-gnu",
    "linux-arm64": "aarch64-unknown-linux-gnu",
    "macos-x86_64": "x86_64-apple-darwin",
    "macos-arm64": "arm64-apple-darwin",
    "windows-x86_64": "x86_64-pc-windows-msvc",
}
_C = Path(__file__).with_name("c")
_LINK = {
    "linux": "-fPIC -shared -s -Wl,-Bsymbolic,-z,defs,-z,relro,--as-needed",
    "macos": "-fPIC -dynamiclib",
    "windows": "-shared",  # by clang, for the libraries of Microsoft's compiler
}
# The oldest systems, as the tags in hatch_build.py say.
_MACOS = {"macos-x86_64": "10.12", "macos-arm64": "11.0"}


def here() -> str:
    """Return the name of this platform, one of `TRIPLES`."""
    system, kind = sys.platform, sysconfig.get_platform().rpartition("-")[2]
    system = {"darwin": "macos", "win32": "windows"}.get(system, system)
    return f"{system}-{ {'aarch64': 'arm64', 'amd64': 'x86_64'}.get(kind, kind) }"


def entries() -> dict[str, Native]:
    """Return every entry point of the package, by identity, without compiling it."""
    found = [*_of_modules(), *_of_ufuncs()]
    return {entry.identity: entry for entry in sorted(found, key=lambda e: e.identity)}


def _of_modules() -> Iterator[Native]:
    """Yield the functions of arrays, after importing all modules that have kernels."""
    package = Path(riskcore.__file__).parent
    for module in pkgutil.walk_packages([str(package)], f"{package.name}."):
        # The app needs what wheels are built without, and has no kernels.
        if "app" not in module.name.split(".") and module.name[-8:] != "__main__":
            values = vars(import_module(module.name)).values()
            yield from (value for value in values if isinstance(value, Native))


def _of_ufuncs() -> Iterator[Native]:
    """Yield the loops of the ufuncs, their C functions and their integrands."""
    yield from (signals.code(), single.code())
    for identity, source in ufunc_maker.offered().items():
        yield ufunc_maker.code_of_loop(identity, source)
        if source.outputs == 1:
            yield jit.code_in_c(identity)
            if len(signature(source.scalar).parameters) == 2:
                yield embed.code_of_integrand(identity, source)


class LibraryMaker:
    """A library for a platform and a kind of processor, to which code is added."""

    def __init__(self, platform: str, processor: str, machine: Any) -> None:
        self.platform, self.processor, self.machine = platform, processor, machine
        self.system = platform.partition("-")[0]
        self.sources: dict[str, str] = {}
        self.module = parsed("", machine)

    def add(self, name: str, sources: str | None, module: Any) -> None:
        """Add the module of an entry point; of a shared kernel without ``sources``."""
        self.module.link_in(module)
        function = self.module.get_function(shipped.symbol_of(name))
        if sources is None:
            function.visibility = "hidden"
        else:
            self.sources[name] = sources
            if self.system == "windows":
                function.storage_class = "dllexport"

    def write(self, folder: Path) -> Path:
        """Link the library, and return its path."""
        self.module.verify()
        suffix = shipped.SUFFIXES[self.system]
        path = folder / self.platform / f"{self.processor}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as place:
            code = Path(place, "code.o")
            code.write_bytes(self.machine.emit_object(self.module))
            index = Path(place, "index.c")
            index.write_text(ENTRY + index_in_c(self.sources, self.processor))
            subprocess.run(
                [
                    *shlex.split(os.environ.get("CC") or "cc"),
                    *shlex.split(f"-O2 {_LINK[self.system]}"),
                    *map(str, (code, index, _C / "processor.c", "-o", path)),
                    *([] if self.system == "windows" else ["-lm"]),
                ],
                check=True,
                env={"MACOSX_DEPLOYMENT_TARGET": _MACOS.get(self.platform, "")}
                | os.environ,
            )
        return path


ENTRY = """\
#if defined(_WIN32)
#define ENTRY __declspec(dllexport)
#elif defined(__GNUC__)
#define ENTRY __attribute__((visibility("default")))
#else
#define ENTRY
#endif
"""


def index_in_c(sources: dict[str, str], processor: str) -> str:
    """Return the index of a library as C; ``processor`` may hold quotes of its own."""
    index = shipped.index_of(sources, processor).decode().rstrip("\0")
    lines = "\n".join(f'    "{line}\\n"' for line in index.splitlines())
    return f"ENTRY const char riskcore_index[] =\n{lines};\n"


def parsed(assembly: str, machine: Any) -> Any:
    """Return a module for a machine."""
    module = llvm.parse_assembly(assembly)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return module


def compile_for(
    processor: str, platform: str, folder: Path, names: Iterable[str] = ()
) -> None:
    """Write the library of one kind of processor; works once in a process."""
    machine = jit.machine_for(processor, TRIPLES[platform])
    maker = LibraryMaker(platform, processor, machine)
    known, done = entries(), set()

    def add(name: str, sources: str | None, code: Code) -> None:
        maker.add(name, sources, jit.module_for(code, machine))
        for symbol in code.shared:
            if symbol not in done:
                done.add(symbol)
                add(symbol, None, jit.shared_kernel(symbol).code())

    for name in names or known:
        entry = known[name]
        sources = jit.sources_digest(entry.modules)
        add(name, sources, entry.code())
        if entry.signature == ufunc_maker.LOOP:
            add(f"{name}.arrays", sources, ufunc_maker.code_on_arrays(name))
    path = maker.write(folder)
    size = path.stat().st_size / 1e6
    print(f"{path}: {len(maker.sources)} entries, {size:.2f} MB", flush=True)


def check(folder: Path) -> int:
    """Return 1 if a library is missing, stale or lacks an entry point; else 0."""
    wanted = {
        name: jit.sources_digest(entry.modules) for name, entry in entries().items()
    }
    platforms = [platform for platform in TRIPLES if (folder / platform).is_dir()]
    current = bool(platforms)
    for platform in platforms:
        system, _, kind = platform.partition("-")
        for processor in shipped.PROCESSORS[kind]:
            path = folder / platform / f"{processor}{shipped.SUFFIXES[system]}"
            if not wanted.items() <= shipped.sources_of(path, processor).items():
                print(f"{path}: missing or stale: run nox -s objects")
                current = False
    return 0 if current else 1


def main(arguments: list[str] | None = None) -> int:
    """Write the libraries of a platform, one process for each kind of processor."""
    parser = argparse.ArgumentParser(prog="python -m bindings.compile_ahead")
    parser.add_argument("folder", type=Path, help="parent of the platform's folder")
    parser.add_argument("--platform", default=here(), choices=TRIPLES)
    parser.add_argument("--processors", nargs="+", metavar="P")
    parser.add_argument("--entries", nargs="+", default=[], metavar="NAME")
    parser.add_argument(
        "--check", action="store_true", help="only check that they are current"
    )
    chosen = parser.parse_args(arguments)
    if chosen.check:
        return check(chosen.folder)
    kind = chosen.platform.partition("-")[2]
    processors = chosen.processors or list(shipped.PROCESSORS[kind])
    if len(processors) == 1:
        compile_for(processors[0], chosen.platform, chosen.folder, chosen.entries)
        return 0
    for processor in processors:
        given = [str(chosen.folder), "--platform", chosen.platform]
        given += ["--processors", processor]
        given += ["--entries", *chosen.entries] if chosen.entries else []
        command = [sys.executable, "-m", "bindings.compile_ahead"]
        subprocess.run([*command, *given], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
