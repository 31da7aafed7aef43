"""Compile the kernels ahead of time, for wheels.

    python -m riskcore.core.compile_ahead build/objects [--platforms linux-x86_64 ...]

makes a folder for each platform and in it a shared library for each kind of processor.
A wheel of the platform contains them, so it needs no compiler. LLVM makes the code of
all platforms here; Numba optimizes once for each kind of processor, in a process of its
own. Code for x86-64 must be made on x86-64.
"""

from __future__ import annotations

import argparse
import pkgutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskcore.core import embed
from riskcore.core.compiled import jit, shipped, ufunc_maker
from riskcore.core.compiled.jit import Native

if TYPE_CHECKING:
    from riskcore.core.compiled.compiler import Code

TRIPLES = {
    "linux-x86_64": "x86_64-unknown-linux-gnu",
    "linux-arm64": "aarch64-unknown-linux-gnu",
    "macos-x86_64": "x86_64-apple-darwin",
    "macos-arm64": "arm64-apple-darwin",
    "windows-x86_64": "x86_64-pc-windows-msvc",
}


def entries() -> dict[str, Native]:
    """Return every entry point of the package, by identity, without compiling it."""
    found = [*_of_modules(), *_of_ufuncs()]
    return {each.identity: each for each in sorted(found, key=lambda e: e.identity)}


def _of_modules() -> Iterator[Native]:
    """Yield the functions of arrays, after importing all modules."""
    package = Path(__file__).parents[1]
    for each in pkgutil.walk_packages([str(package)], f"{package.name}."):
        if not each.name.endswith("__main__"):
            values = vars(import_module(each.name)).values()
            yield from (value for value in values if isinstance(value, Native))


def _of_ufuncs() -> Iterator[Native]:
    """Yield the loops of the ufuncs, their C functions and their integrands."""
    for identity, source in ufunc_maker.offered().items():
        yield ufunc_maker.code_of_loop(identity, source)
        if source.outputs == 1:
            yield jit.code_in_c(identity)
            if len(signature(source.scalar).parameters) == 2:
                yield embed.code_of_integrand(identity, source)


def compile_for(
    processor: str, platforms: Iterable[str], folder: Path, names: Iterable[str] = ()
) -> None:
    """Write the libraries of one kind of processor; works once in a process."""
    from riskcore.core.compiled.linker import LibraryMaker

    machines = jit.machines_for(processor, {each: TRIPLES[each] for each in platforms})
    makers = [LibraryMaker(each, processor, machines[each]) for each in machines]
    known, done = entries(), set()

    def add(name: str, sources: str | None, code: Code) -> None:
        for maker in makers:
            maker.add(name, sources, jit.module_for(code, maker.machine))
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
    for maker in makers:
        path = maker.write(folder)
        size = path.stat().st_size / 1e6
        print(f"{path}: {len(maker.sources)} entries, {size:.2f} MB", flush=True)


def check(folder: Path) -> int:
    """Return 1 if a library is missing, stale or lacks an entry point; else 0."""
    wanted = {
        name: jit.sources_digest(entry.modules) for name, entry in entries().items()
    }
    platforms = [each for each in TRIPLES if (folder / each).is_dir()]
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
    """Write the libraries of all platforms, or of those given."""
    parser = argparse.ArgumentParser(prog="python -m riskcore.core.compile_ahead")
    parser.add_argument("folder", type=Path, help="parent of the platforms' folders")
    parser.add_argument("--platforms", nargs="+", choices=TRIPLES, metavar="P")
    parser.add_argument("--processors", nargs="+", metavar="P")
    parser.add_argument("--entries", nargs="+", default=[], metavar="NAME")
    parser.add_argument(
        "--check", action="store_true", help="only check that they are current"
    )
    chosen = parser.parse_args(arguments)
    if chosen.check:
        return check(chosen.folder)
    jobs = list(_jobs(chosen.platforms or TRIPLES, chosen.processors))
    if len(jobs) == 1:
        compile_for(*jobs[0], chosen.folder, chosen.entries)
        return 0
    for processor, platforms in jobs:
        given: list[Any] = [chosen.folder, "--processors", processor]
        given += ["--platforms", *platforms]
        given += ["--entries", *chosen.entries] if chosen.entries else []
        command = [sys.executable, "-m", "riskcore.core.compile_ahead"]
        subprocess.run([*command, *map(str, given)], check=True)
    return 0


def _jobs(
    platforms: Iterable[str], processors: list[str] | None
) -> Iterator[tuple[str, list[str]]]:
    """Yield each kind of processor with the platforms that have it."""
    for kind, known in shipped.PROCESSORS.items():
        having = [each for each in platforms if each.endswith(f"-{kind}")]
        for processor in known:
            if having and (not processors or processor in processors):
                yield processor, having


if __name__ == "__main__":
    sys.exit(main())
