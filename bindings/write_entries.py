"""Write the entry points in C that riskcore itself can load, from riskcore.c.

    python bindings/write_entries.py            # bindings/c/entries.c
    python bindings/write_entries.py --check    # only tell whether it is current

An installation from the source compiles them with the C compiler that it finds
(hatch_build.py). They have the names and the index of the libraries that
compile_ahead.py makes, with the digests of the sources as they are now: of
sources that were edited later nothing is used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from inspect import signature
from pathlib import Path

from bindings.compile_ahead import ENTRY, entries, index_in_c
from bindings.write_c import NAMES
from riskcore.core.compiled import jit, shipped, signals, ufunc_maker
from riskcore.core.risk import single

PATH = Path(__file__).parent / "c" / "entries.c"
LOOPS = Path(__file__).with_name("loops.c")
HEAD = """\
/* Entry points of riskcore.c, for the Python package. BSD-3-Clause, see LICENSE.

   Written by bindings/write_entries.py; never edit it. PROCESSOR is the kind of
   processor that it is compiled for, as riskcore.core.compiled.shipped calls it. */

#include "riskcore.c"

#include <fenv.h>

<ENTRY>
/* Flags become warnings in NumPy, but not that of inexact results. */
static void clear_flags(void)
{
#if defined(__x86_64__) || defined(_M_X64)
    if (_mm_getcsr() & 0x1D)
        _mm_setcsr(_mm_getcsr() & ~0x3Fu);
#else
    feclearexcept(FE_ALL_EXCEPT);
#endif
}

/* NumPy's inner loop: arguments and results, sizes, steps. */
#define LOOP(symbol, body) \\
    ENTRY void symbol(double **args, int64_t *sizes, int64_t *steps, void *data) \\
    { \\
        const Mode mode = read_mode(); \\
        (void)data; \\
        if (!is_usual(mode)) \\
            write_mode(usual(mode)); \\
        body(args, sizes, steps, 0); \\
        if (!is_usual(mode)) \\
            write_mode(mode); \\
        clear_flags(); \\
    }
"""


def names() -> Iterator[str]:
    """Yield the identities of the ufuncs in riskcore.c."""
    for module, known in NAMES.items():
        yield from (f"{module.__name__}.{name}" for name in known)


def functions(identity: str) -> Iterator[tuple[str, str]]:
    """Yield the entry points of a ufunc with their definitions in C."""
    name, symbol = identity.rpartition(".")[2], shipped.symbol_of(identity)
    source = ufunc_maker.offered()[identity]
    inputs = [*signature(source.scalar).parameters]
    yield identity, f"LOOP({symbol}, {name}_of_many)"
    results = [f"out{k}" for k in range(source.outputs)]
    given = [f"const double *{each}" for each in inputs]
    given += [f"double *{each}" for each in results]
    passed = ", ".join([*inputs, *results, "n"])
    yield (
        f"{identity}.arrays",
        f"ENTRY void {symbol}_arrays({', '.join(given)}, int64_t n)\n"
        f"{{\n    riskcore_{name}_array({passed});\n}}",
    )
    if source.outputs > 1:
        return
    given = ", ".join(f"double {each}" for each in inputs)
    yield (
        f"{identity}.scalar",
        f"ENTRY double {symbol}_scalar({given})\n"
        f"{{\n    return riskcore_{name}({', '.join(inputs)});\n}}",
    )
    if len(inputs) == 2:
        yield (
            f"{identity}.integrand",
            f"ENTRY double {symbol}_integrand(int n, double *x)\n"
            f"{{\n    (void)n;\n    return riskcore_{name}(x[1], x[0]);\n}}",
        )


def text() -> str:
    """Return the file."""
    known, loops, sources = entries(), LOOPS.read_text(), {}
    for mark, entry in ("<STRETCHES>", signals.code()), ("<SINGLE>", single.code()):
        loops = loops.replace(mark, shipped.symbol_of(entry.identity))
        sources[entry.identity] = jit.sources_digest(entry.modules)
    parts = [HEAD.replace("<ENTRY>\n", ENTRY + "\n"), loops]
    for identity in names():
        for name, definition in functions(identity):
            entry = known[identity if name.endswith(".arrays") else name]
            sources[name] = jit.sources_digest(entry.modules)
            parts.append(definition + "\n")
    return "\n".join([*parts, index_in_c(sources, '" PROCESSOR "')])


def main(arguments: list[str] | None = None) -> int:
    """Write the file, or compare it with what would be written."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    options = parser.parse_args(arguments)
    new = text()
    if PATH.exists() and PATH.read_text() == new:
        return 0
    if options.check:
        print(f"{PATH} is not current: run nox -s c")
        return 1
    PATH.write_text(new)
    print(f"{PATH}: {len(new.splitlines())} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
