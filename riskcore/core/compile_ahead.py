"""Machine code ahead of its use: of every entry point, for the common processors.

    python -m riskcore.core.compile_ahead build/objects [--platforms linux-x86_64 ...]

makes a folder for each platform, and in it a file for each kind of processor. A wheel
that is built for the platform brings them (``nox -s wheels``), and a first result needs
no compiler. LLVM makes the code of all platforms here; Numba optimizes once for each
kind of processor, in a process of its own.
"""

from __future__ import annotations

import argparse
import os
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


def entries() -> dict[str, Native]:
    """Return every entry point of the package, by identity, without compiling it."""
    found = [*_of_modules(), *_of_ufuncs()]
    return {each.identity: each for each in sorted(found, key=lambda e: e.identity)}


def _of_modules() -> Iterator[Native]:
    """Yield the functions of arrays; this loads all modules."""
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
    """Make the files of one kind of processor, once in a process.

    Parameters
    ----------
    processor : str
        A name of `shipped.PROCESSORS`.
    platforms : iterable of str
        Names of `shipped.TRIPLES`, all with processors of that kind.
    folder : Path
        Where a folder for each platform is made.
    names : iterable of str
        Identities of the entry points; all by default.
    """
    machines = jit.machines_for(processor, {p: shipped.TRIPLES[p] for p in platforms})
    pieces: dict[str, dict[str, shipped.Piece]] = {each: {} for each in machines}
    known = entries()

    def add(name: str, modules: frozenset[str], code: Code) -> None:
        sources = jit.sources_digest(modules)
        for platform, machine in machines.items():
            content = jit.machine_code(code, machine)
            pieces[platform][name] = shipped.Piece(sources, content)
        for symbol in code.shared:
            if symbol not in pieces[platform]:
                its = jit.shared_kernel(symbol)
                add(symbol, its.modules, its.code())

    for name in names or known:
        add(name, known[name].modules, known[name].code())
    for platform, made in pieces.items():
        path = shipped.write(folder / platform, platform, processor, made)
        size = path.stat().st_size / 1e6
        print(f"{path}: {len(made)} pieces, {size:.2f} MB", flush=True)


def check(folder: Path) -> int:
    """Return 1 if a file is missing, is not of these sources, or lacks an entry point.

    Such code does no harm: it would not be loaded, and a wheel with it be a waste.
    """
    wanted = {
        name: jit.sources_digest(entry.modules) for name, entry in entries().items()
    }
    platforms = [each for each in shipped.TRIPLES if (folder / each).is_dir()]
    current = bool(platforms)
    for platform in platforms:
        for processor in shipped.PROCESSORS[platform.partition("-")[2]]:
            path = folder / platform / f"{processor}.objects"
            places = shipped.index(path, shipped.TRIPLES[platform], processor)
            found = {name: place.sources for name, place in places.items()}
            if not wanted.items() <= found.items():
                print(f"{path}: not there, or not of these sources: nox -s objects")
                current = False
    return 0 if current else 1


def main(arguments: list[str] | None = None) -> int:
    """Make the files of all platforms, or of those that are named."""
    parser = argparse.ArgumentParser(prog="python -m riskcore.core.compile_ahead")
    parser.add_argument("folder", type=Path, help="where a folder for each is made")
    parser.add_argument("--platforms", nargs="+", choices=shipped.TRIPLES, metavar="P")
    parser.add_argument("--processors", nargs="+", metavar="P")
    parser.add_argument("--entries", nargs="+", default=[], metavar="NAME")
    parser.add_argument(
        "--check", action="store_true", help="only see whether what is there is current"
    )
    chosen = parser.parse_args(arguments)
    if chosen.check:
        return check(chosen.folder)
    jobs = list(_jobs(chosen.platforms or shipped.TRIPLES, chosen.processors))
    if len(jobs) == 1:
        compile_for(*jobs[0], chosen.folder, chosen.entries)
        return 0
    for processor, platforms in jobs:
        given: list[Any] = [chosen.folder, "--processors", processor]
        given += ["--platforms", *platforms]
        given += ["--entries", *chosen.entries] if chosen.entries else []
        command = [
            sys.executable,
            "-m",
            "riskcore.core.compile_ahead",
            *map(str, given),
        ]
        subprocess.run(command, check=True, env=dict(os.environ))
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
