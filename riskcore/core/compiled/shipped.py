"""Machine code shipped with the package: one file for each kind of processor.

``python -m riskcore.core.compile_ahead`` makes the files, and wheels of a platform
contain them. A piece is loaded only if it fits: platform, processor, digest of its
sources, and its own digest. Otherwise the code is compiled.

Whoever can change these files can change the package, which is run as well, so owners
and modes are not checked.
"""

from __future__ import annotations

import hashlib
import logging
import os
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).with_name("objects")

# On Windows LLVM loads ELF alone, and llvmlite asks for it by the end of the triple.
TRIPLES = {
    "linux-x86_64": "x86_64-unknown-linux-gnu",
    "linux-arm64": "aarch64-unknown-linux-gnu",
    "macos-x86_64": "x86_64-apple-darwin",
    "macos-arm64": "arm64-apple-darwin",
    "windows-x86_64": "x86_64-pc-windows-msvc-elf",
}

# Features that a processor needs to run the code, in LLVM's names: the levels of the
# x86-64 psABI, each with those below it. The best first.
_V2 = {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}
_V3 = {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"} | _V2
_V4 = {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"} | _V3
PROCESSORS: dict[str, dict[str, set[str]]] = {
    "x86_64": {"x86-64-v4": _V4, "x86-64-v3": _V3, "x86-64-v2": _V2},
    "arm64": {"generic": set()},
}

_FIRST_LINE = "riskcore machine code 1, {triple}, {processor}"

_log = logging.getLogger("riskcore")


class Piece(NamedTuple):
    """One entry of a file."""

    sources: str  # digest of the sources
    content: bytes


class Place(NamedTuple):
    """Where in a file an entry is."""

    sources: str  # digest of the sources
    digest: str  # of the content
    start: int  # from the end of the file
    size: int  # compressed


def refused() -> bool:
    """Return whether the user wants all code compiled here, or for other features."""
    # Numba's variables disable features that are broken on the user's machine.
    names = ("RISKCORE_COMPILE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")
    return any(os.environ.get(name) for name in names)


def read(
    name: str, sources: str, triple: str, processor: str, features: Mapping[str, bool]
) -> bytes | None:
    """Return the machine code of a name that fits, or None.

    ``sources`` is the digest of its sources; ``triple`` and ``processor`` are LLVM's
    names. ``features`` matter for a processor whose name is not in `PROCESSORS`.
    """
    platform = platform_of(triple)
    if platform is None:
        return None
    for each in fitting(platform, processor, features):
        path = FOLDER / f"{each}.objects"
        place = index(path, TRIPLES[platform], each).get(name)
        if place is None:
            continue
        if place.sources != sources:
            _log.debug("%s of %s is of other sources", name, path)
            continue
        content = content_at(path, place)
        if content is not None:
            return content
        _log.debug("%s of %s is damaged", name, path)
    return None


def platform_of(triple: str) -> str | None:
    """Return the platform in `TRIPLES` of an LLVM triple, or None."""
    kind, _, system = triple.partition("-")
    kind = {"aarch64": "arm64"}.get(kind, kind)
    if system.endswith("x32"):  # pointers of 32 bits
        return None
    for name, mark in (("linux", "linux"), ("macos", "darwin"), ("windows", "windows")):
        if mark in system and f"{name}-{kind}" in TRIPLES:
            return f"{name}-{kind}"
    return None


def fitting(platform: str, processor: str, features: Mapping[str, bool]) -> list[str]:
    """Return the kinds of processors whose code runs on one, the best first."""
    known = PROCESSORS[platform.partition("-")[2]]
    if processor in known:
        return [processor]
    return [
        name
        for name, needed in known.items()
        if features and all(features.get(each) for each in needed)
    ]


@cache
def index(path: Path, triple: str, processor: str) -> dict[str, Place]:
    """Return the places of the pieces in a file, by name; none of a strange file."""
    found = {}
    try:
        with path.open("rb") as file:
            first = file.readline().decode().rstrip("\n")
            if first != _FIRST_LINE.format(triple=triple, processor=processor):
                _log.debug("%s is for another platform, or of another version", path)
                return {}
            while line := file.readline().decode().split():
                name, sources, digest, start, size = line
                found[name] = Place(sources, digest, int(start), int(size))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        _log.debug("%s cannot be read: %s", path, error)
        return {}
    return found


def content_at(path: Path, place: Place) -> bytes | None:
    """Return a piece if it is undamaged, else None."""
    try:
        with path.open("rb") as file:
            file.seek(-place.start, os.SEEK_END)
            content = zlib.decompress(file.read(place.size))
    except (OSError, ValueError, zlib.error):
        return None
    return content if _digest(content) == place.digest else None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write(
    folder: Path, platform: str, processor: str, pieces: Mapping[str, Piece]
) -> Path:
    """Write the file of a kind of processor, and return its path.

    A first line that says what it is for, a line for each piece, an empty line, and the
    compressed pieces. Their positions count from the end.
    """
    bodies = {
        name: zlib.compress(pieces[name].content, level=9) for name in sorted(pieces)
    }
    left = sum(map(len, bodies.values()))
    lines = [_FIRST_LINE.format(triple=TRIPLES[platform], processor=processor)]
    for name, body in bodies.items():
        sources, content = pieces[name]
        lines.append(f"{name} {sources} {_digest(content)} {left} {len(body)}")
        left -= len(body)
    head = "\n".join([*lines, "", ""]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{processor}.objects"
    path.write_bytes(head + b"".join(bodies.values()))
    return path
