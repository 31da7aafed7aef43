"""Make shared libraries of compiled kernels: LLVM's code, linked for its platform.

The linker is LLVM's ``lld``, which links for all platforms; for the platform that it
runs on, if that is Linux, ``ld`` serves, too. A library calls a few functions of the
system. It is linked to stand-ins of the system's libraries, which have only the names:
so any version of the system that has the functions will do.
"""

from __future__ import annotations

import platform as this_platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from riskcore.core.compiled import shipped

# What the code may call, by the library that has it.
_IN_MEMORY = ("memcpy", "memmove", "memset")
_OF_NUMBERS = ("feclearexcept", "fma")
SYSTEM: dict[str, dict[str, tuple[str, ...]]] = {
    "linux": {"libc.so.6": _IN_MEMORY, "libm.so.6": _OF_NUMBERS},
    "macos": {"/usr/lib/libSystem.B.dylib": (*_IN_MEMORY, "bzero", *_OF_NUMBERS)},
    "windows": {"ucrtbase.dll": _IN_MEMORY + _OF_NUMBERS, "ntdll.dll": ("__chkstk",)},
}

# What a processor of x86-64 can run: a register (0 is EAX) after CPUID of a leaf, and
# the low word of XCR0. Every processor runs these two.
_ASK = """
define i32 @riskcore_cpuid(i32 %leaf, i32 %register) "target-cpu"="x86-64" {
  %found = call { i32, i32, i32, i32 } asm sideeffect "cpuid",
    "={ax},={bx},={cx},={dx},{ax},{cx}"(i32 %leaf, i32 0)
  %eax = extractvalue { i32, i32, i32, i32 } %found, 0
  %ebx = extractvalue { i32, i32, i32, i32 } %found, 1
  %ecx = extractvalue { i32, i32, i32, i32 } %found, 2
  %first = icmp eq i32 %register, 0
  %second = icmp eq i32 %register, 1
  %other = select i1 %second, i32 %ebx, i32 %ecx
  %result = select i1 %first, i32 %eax, i32 %other
  ret i32 %result
}
define i32 @riskcore_registers() "target-cpu"="x86-64" {
  %found = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx}"(i32 0)
  %low = extractvalue { i32, i32 } %found, 0
  ret i32 %low
}
"""

# Windows wants it where there are floating-point numbers.
_MARK = "@_fltused = hidden global i32 1"


class LibraryMaker:
    """A library for a platform and a kind of processor, to which code is added."""

    def __init__(self, platform: str, processor: str, machine: Any) -> None:
        self.platform, self.processor, self.machine = platform, processor, machine
        self.system, _, self.kind = platform.partition("-")
        self.sources: dict[str, str] = {}
        self.module = parsed("", machine)
        if self.kind == "x86_64":
            llvm.initialize_native_asmparser()
            self.module.link_in(parsed(_ASK, machine))
            self._export("riskcore_cpuid", "riskcore_registers")
        if self.system == "windows":
            self.module.link_in(parsed(_MARK, machine))

    def add(self, name: str, sources: str | None, module: Any) -> None:
        """Add the module of an entry point; of a shared kernel without ``sources``."""
        self.module.link_in(module)
        if sources is None:
            self.module.get_function(name).visibility = "hidden"
        else:
            self.sources[name] = sources
            self._export(shipped.symbol_of(name))

    def write(self, folder: Path) -> Path:
        """Link the library, and return its path."""
        self.module.link_in(parsed(self._index(), self.machine))
        self.module.verify()
        suffix = shipped.SUFFIXES[self.system]
        path = folder / self.platform / f"{self.processor}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as place:
            code = bytes(self.machine.emit_object(self.module))
            Path(place, "code.o").write_bytes(code)
            command = _LINK[self.system](self.kind, self.machine, Path(place))
            subprocess.run([*command, "code.o"], check=True, cwd=place)
            shutil.move(Path(place, "linked"), path)
        return path

    def _export(self, *symbols: str) -> None:
        for symbol in symbols if self.system == "windows" else ():
            self.module.get_function(symbol).storage_class = "dllexport"

    def _index(self) -> str:
        content = shipped.index_of(self.sources, self.processor)
        text = "".join(f"\\{byte:02x}" for byte in content)
        export = "dllexport " if self.system == "windows" else ""
        kind = f"[{len(content)} x i8]"
        return f'@riskcore_index = {export}constant {kind} c"{text}"'


def parsed(assembly: str, machine: Any) -> Any:
    """Return a module for a machine."""
    module = llvm.parse_assembly(assembly)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return module


def _link_elf(kind: str, machine: Any, place: Path) -> list[str]:
    linker, general = _linker("gnu", kind), ["-shared", "-s", "-z", "noexecstack"]
    stand_ins = []
    for name, symbols in SYSTEM["linux"].items():
        Path(place, f"{name}.o").write_bytes(_stand_in(symbols, machine))
        made = [*linker, *general, "-soname", name, "-o", name, f"{name}.o"]
        subprocess.run(made, check=True, cwd=place)
        stand_ins.append(name)
    options = ["-Bsymbolic", "-z", "defs", "-z", "relro", "--as-needed"]
    return [*linker, *general, *options, *stand_ins, "-o", "linked"]


def _stand_in(symbols: Iterable[str], machine: Any) -> bytes:
    """Return an object file that defines functions, which do nothing."""
    texts = [f"define void @{each}() {{\n  ret void\n}}" for each in symbols]
    return bytes(machine.emit_object(parsed("\n".join(texts), machine)))


def _link_macho(kind: str, machine: Any, place: Path) -> list[str]:
    oldest = {"x86_64": "10.12", "arm64": "11.0"}[kind]
    stand_ins = []
    for i, (name, symbols) in enumerate(SYSTEM["macos"].items()):
        listed = ", ".join(f"_{each}" for each in symbols)
        Path(place, f"{i}.tbd").write_text(
            f"--- !tapi-tbd\ntbd-version: 4\ntargets: [ {kind}-macos ]\n"
            f"install-name: '{name}'\nexports:\n  - targets: [ {kind}-macos ]\n"
            f"    symbols: [ {listed}, dyld_stub_binder ]\n...\n"
        )
        stand_ins.append(f"{i}.tbd")
    versions = ["-platform_version", "macos", oldest, oldest]
    options = ["-dylib", "-arch", kind, *versions, "-install_name", "riskcore"]
    return [*_linker("darwin", kind), *options, *stand_ins, "-o", "linked"]


def _link_coff(kind: str, machine: Any, place: Path) -> list[str]:
    options = ["/dll", "/noentry", "/nodefaultlib", "/machine:x64", "/Brepro"]
    general = [*_linker("link", kind), *options]
    stand_ins = []
    for name, symbols in SYSTEM["windows"].items():
        Path(place, f"{name}.o").write_bytes(_stand_in(symbols, machine))
        exports = [f"/export:{each}" for each in symbols]
        made = [*general, *exports, f"/implib:{name}.lib", f"/out:{name}", f"{name}.o"]
        subprocess.run(made, check=True, cwd=place)
        stand_ins.append(f"{name}.lib")
    return [*general, *stand_ins, "/out:linked"]


_LINK = {"linux": _link_elf, "macos": _link_macho, "windows": _link_coff}


def _linker(flavor: str, kind: str) -> list[str]:
    """Return the command of the linker; an error if it is missing."""
    found = shutil.which("lld")
    if found:
        return [found, "-flavor", flavor]
    here = {"AMD64": "x86_64", "aarch64": "arm64"}
    machine = this_platform.machine()
    own = flavor == "gnu" and here.get(machine, machine) == kind
    found = shutil.which("ld") if own else None
    if found is None:
        raise FileNotFoundError("no linker: install LLVM's lld (Debian's package lld)")
    return [found]
