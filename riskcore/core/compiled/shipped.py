"""Machine code shipped with the package: a shared library for each kind of processor.

``python -m bindings.compile_ahead`` makes the libraries, and wheels of a platform
contain them. The system loads them, so neither Numba nor llvmlite is needed. A library
tells what it is: ``riskcore_index`` names its entry points with the digests of their
sources, and ``riskcore_cpuid`` and ``riskcore_registers`` ask an x86-64 processor what
it can run. An entry point whose sources were edited is not used.

Whoever can change a library can change the package, which is run as well, so owners
and modes are not checked.
"""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).with_name("libraries")
SUFFIXES = {"linux": ".so", "macos": ".dylib", "windows": ".dll"}

# Features that a processor needs to run the code, in LLVM's names: the levels of the
# x86-64 psABI, each with those below it. The best first.
_V2 = {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}
_V3 = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"} | _V2
_V4 = {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"} | _V3
PROCESSORS: dict[str, dict[str, set[str]]] = {
    "x86_64": {"x86-64-v4": _V4, "x86-64-v3": _V3, "x86-64-v2": _V2},
    "arm64": {"generic": set()},
}

# Where CPUID tells of a feature: its leaf, the number of the register, and the bit.
_EBX, _ECX = 1, 2
BITS = {
    (0x1, _ECX): {
        "sse3": 0, "ssse3": 9, "fma": 12, "cx16": 13, "sse4.1": 19, "sse4.2": 20,
        "movbe": 22, "popcnt": 23, "xsave": 27, "avx": 28, "f16c": 29,
    },
    (0x7, _EBX): {
        "bmi": 3, "avx2": 5, "bmi2": 8, "avx512f": 16, "avx512dq": 17,
        "avx512cd": 28, "avx512bw": 30, "avx512vl": 31,
    },
    (0x80000001, _ECX): {"sahf": 0, "lzcnt": 5},
}  # fmt: skip
# Registers that the system must keep for each thread (bits of XCR0): those of SSE and
# AVX, and with AVX-512 three more.
_AVX_KEPT, _AVX512_KEPT = 0x06, 0xE6

_FIRST_LINE = "riskcore machine code 2, {processor}"

_log = logging.getLogger("riskcore")


class Library(NamedTuple):
    """A loaded library."""

    sources: dict[str, str]  # digests of the sources of the entry points, by name
    code: ctypes.CDLL

    def address(self, name: str) -> int:
        """Return the address of an entry point."""
        function = getattr(self.code, symbol_of(name))
        pointer = ctypes.cast(function, ctypes.c_void_p).value
        assert pointer is not None
        return pointer


def symbol_of(name: str) -> str:
    """Return the symbol of an entry point."""
    return name.replace(".", "_")


def refused() -> bool:
    """Return whether the user wants all code compiled here, or for other features."""
    # Numba's variables disable features that are broken on the user's machine.
    names = ("RISKCORE_COMPILE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
    return any(os.environ.get(name) for name in names)


def address(name: str, sources: Callable[[], str]) -> int | None:
    """Return the address of an entry point whose sources have a digest, or None."""
    shipped_library = library()
    if shipped_library is None or name not in shipped_library.sources:
        return None
    if shipped_library.sources[name] != sources():
        _log.debug("the shipped code of %s is of other sources", name)
        return None
    return shipped_library.address(name)


def has(name: str) -> bool:
    """Return whether there is an entry point of a name, of whatever sources."""
    shipped_library = library()
    return shipped_library is not None and name in shipped_library.sources


def library() -> Library | None:
    """Return the best library that this machine runs, unless the user refuses any."""
    return None if refused() else best_library(os.environ.get("RISKCORE_CPU") or None)


@cache
def best_library(chosen: str | None) -> Library | None:
    """Return the library of a chosen kind of processor, or the best that runs here."""
    for known in PROCESSORS.values():
        for processor, needed in known.items():
            if chosen in (None, processor):
                for suffix in SUFFIXES.values():
                    found = load(FOLDER / f"{processor}{suffix}", processor)
                    if found and (chosen or needed <= features(found.code)):
                        return found
    return None


def load(path: Path, processor: str) -> Library | None:
    """Load a library without running its code; None if it is missing or strange."""
    if not path.is_file():
        return None
    try:
        code = ctypes.CDLL(str(path))
        text = ctypes.c_char.in_dll(code, "riskcore_index")
    except (OSError, ValueError) as error:
        _log.debug("%s cannot be loaded: %s", path, error)
        return None
    index = ctypes.string_at(ctypes.addressof(text))
    sources = _sources_in(index, processor)
    if not sources:
        _log.debug("%s is for another processor, or of another version", path)
        return None
    return Library(sources, code)


def index_of(sources: dict[str, str], processor: str) -> bytes:
    """Return the index of a library: a line for each entry point, and a last one."""
    lines = [f"{name} {sources[name]}" for name in sorted(sources)]
    first = _FIRST_LINE.format(processor=processor)
    return "\n".join([first, *lines, ""]).encode() + b"\0"


def sources_of(path: Path, processor: str) -> dict[str, str]:
    """Return what the index of any platform's library says; {} of a strange one."""
    return _sources_in(path.read_bytes(), processor) if path.is_file() else {}


def _sources_in(index: bytes, processor: str) -> dict[str, str]:
    first = _FIRST_LINE.format(processor=processor).encode() + b"\n"
    _, separator, rest = index.partition(first)
    if not separator:
        return {}
    lines = rest.partition(b"\0")[0].decode().splitlines()
    return dict(line.split() for line in lines)


def features(code: Any) -> set[str]:
    """Return the features that a processor of x86-64 and the system have."""
    try:
        cpuid, registers = code.riskcore_cpuid, code.riskcore_registers
    except AttributeError:  # for any processor
        return set()
    cpuid.argtypes, cpuid.restype = [ctypes.c_uint32] * 2, ctypes.c_uint32
    feature_names = set()
    for (leaf, register), bits in BITS.items():
        if cpuid(leaf & 0x80000000, 0) >= leaf:  # the highest leaf of its kind
            word = cpuid(leaf, register)
            feature_names |= {name for name, bit in bits.items() if word >> bit & 1}
    kept = registers() if "xsave" in feature_names else 0
    if kept & _AVX_KEPT != _AVX_KEPT:
        return feature_names & _V2
    return feature_names if kept & _AVX512_KEPT == _AVX512_KEPT else feature_names & _V3
