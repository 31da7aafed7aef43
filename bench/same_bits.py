"""Hash the results of every ufunc, computed in every way and for every processor.

    python -m bench.same_bits [points per group]

The points are made by exact operations from seeds, so that they too are the same
everywhere: whoever runs this on another machine should see the hashes of the table. It
ends with exit status 1 if one way differs from another. For other processors LLVM
compiles the loops anew, in processes and caches of their own; Numba's vectoriser is
told of the same processor, so that the width of the vectors changes too.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numba
import numpy as np

import riskcore
from bench._common import command, machine, publish, table
from riskcore import embed
from riskcore._ufunc import made_from

PER_GROUP = 30_000
DIGITS = 12  # of a hash in the table
INTERPRETED = 50  # points of each group: exact rational arithmetic is slow
NAMES = embed.NAMES

# --- points ------------------------------------------------------------------------


def power(rng, low, high, n):
    """Draw doubles over the binades from 2**low to 2**high, by exact operations."""
    return np.ldexp(1.0 - rng.random(n) / 2, rng.integers(low + 1, high + 1, n))


def any_double(rng, n):
    """Draw doubles with random bits: any sign and size, nan and inf too."""
    return rng.integers(-(2**63), 2**63, n).view(np.float64)


GROUPS = {
    "f = 1": lambda rng, n: (np.ones(n), power(rng, -14, 0, n)),
    "f = 1, p near 1": lambda rng, n: (np.ones(n), 1.0 - power(rng, -54, -1, n)),
    "f = 2 to 15": lambda rng, n: (rng.integers(2, 16, n), power(rng, -14, 0, n)),
    "f = 2 to 15, p near 1": lambda rng, n: (
        rng.integers(2, 16, n),
        1.0 - power(rng, -54, -1, n),
    ),
    "f = 16 to 2000": lambda rng, n: (rng.integers(16, 2001, n), power(rng, -20, 0, n)),
    "f to 2^100": lambda rng, n: (power(rng, 4, 100, n), power(rng, -60, 0, n)),
    "real f < 1": lambda rng, n: (power(rng, -60, 0, n), power(rng, -60, 0, n)),
    "real f to 16": lambda rng, n: (power(rng, -1, 4, n), power(rng, -14, 0, n)),
    "f next to integers": lambda rng, n: (
        rng.integers(1, 16, n)
        * (1.0 + rng.choice([-1, 1], n) * power(rng, -52, -4, n)),
        power(rng, -14, 0, n),
    ),
    "any f, tiny p": lambda rng, n: (power(rng, -30, 30, n), power(rng, -1074, 0, n)),
    "any doubles": lambda rng, n: (any_double(rng, n), any_double(rng, n)),
}


def points(name, n=PER_GROUP):
    """Return n points of each group: f and p, or F = f/p, in mixed order."""
    parts = []
    for seed, draw in enumerate(GROUPS.values()):
        f, p = draw(np.random.default_rng(seed), n)
        parts.append(np.stack([f, p]))
    f, p = np.random.default_rng(len(GROUPS)).permutation(np.hstack(parts).T).T
    if not name.endswith("frequencies"):
        return f.copy(), p.copy()
    with np.errstate(all="ignore"):
        return f.copy(), f / p


# --- ways --------------------------------------------------------------------------


def whole(function, f, second):
    """Return the results at n points, for a pair of bounds with shape (2, n)."""
    return np.asarray(function(f, second))


def in_chunks(function, f, second, size):
    pieces = [slice(i, i + size) for i in range(0, len(f), size)]
    return np.concatenate([whole(function, f[i], second[i]) for i in pieces], axis=-1)


def in_threads(function, f, second, threads):
    pieces = np.array_split(np.arange(len(f)), 64)
    cuts = [slice(piece[0], piece[-1] + 1) for piece in pieces]
    with ThreadPoolExecutor(threads) as pool:
        results = pool.map(lambda i: whole(function, f[i], second[i]), cuts)
        return np.concatenate(list(results), axis=-1)


def strided(function, f, second):
    out = tuple(np.empty(2 * len(f))[::2] for _ in range(function.nout))
    return np.asarray(
        function(np.repeat(f, 3)[::3], np.repeat(second, 2)[::2], out=out)
    )


def unaligned(function, f, second):
    shifted = [
        np.frombuffer(b"\0" + values.tobytes(), np.float64, offset=1)
        for values in (f, second)
    ]
    return whole(function, *shifted)


def backwards(function, f, second):
    return whole(function, f[::-1], second[::-1])[..., ::-1]


def shuffled(function, f, second):
    order = np.random.default_rng(1).permutation(len(f))
    return whole(function, f[order], second[order])[..., np.argsort(order)]


def in_place(function, f, second):
    memory = f.copy(), second.copy()
    return np.asarray(function(*memory, out=memory[: function.nout]))


def one_by_one(function, f, second):
    pairs = zip(f.tolist(), second.tolist(), strict=True)
    return np.array([function(x, y) for x, y in pairs]).T


@cache
def under_njit(function):
    @numba.njit
    def fill(f, second, out):
        for i in range(len(f)):
            out[i] = function(f[i], second[i])

    return fill


def by_numba(function, f, second):
    out = np.empty((len(f), function.nout))
    under_njit(function)(f, second, out)
    return np.squeeze(out.T)


def by_c_function(function, f, second):
    if function.nout > 1:
        return None
    return one_by_one(embed.c_function(function), f, second)


def by_c_array(function, f, second):
    out, code = np.empty((function.nout, len(f))), embed.c_array_function(function)
    kind = code.argtypes[0]
    code(*[values.ctypes.data_as(kind) for values in (f, second, *out)], len(f))
    return np.squeeze(out)


WAYS = {
    "one array": whole,
    "chunks of 1": lambda *given: in_chunks(*given, 1),
    "chunks of 7": lambda *given: in_chunks(*given, 7),
    "chunks of 512": lambda *given: in_chunks(*given, 512),
    "chunks of 1000": lambda *given: in_chunks(*given, 1000),
    "1 thread": lambda *given: in_threads(*given, 1),
    "2 threads": lambda *given: in_threads(*given, 2),
    "4 threads": lambda *given: in_threads(*given, 4),
    "strided": strided,
    "unaligned": unaligned,
    "reversed": backwards,
    "in another order": shuffled,
    "in place": in_place,
    "Python numbers": one_by_one,
    "in @njit code": by_numba,
    "C function": by_c_function,
    "C function of arrays": by_c_array,
}


def interpreted(function, f, second):
    """Run the kernel as Python; return where it can and the results there.

    It cannot where a branch that is then discarded divides by zero or overflows.
    """
    scalar = made_from(function)[0].scalar
    chosen, results = np.ones(len(f), bool), []
    for i, (x, y) in enumerate(zip(f.tolist(), second.tolist(), strict=True)):
        try:
            results.append(scalar(x, y))
        except ArithmeticError:
            chosen[i] = False
    return chosen, np.array(results).T


# --- hashes ------------------------------------------------------------------------


def digest(values):
    """Return the hash of an array; None where a way leads to no result."""
    if values is None:
        return None
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def by_way(way, n=PER_GROUP):
    """Return the hash of each function's results."""
    return {
        name: digest(WAYS[way](getattr(riskcore, name), *points(name, n)))
        for name in NAMES
    }


def by_python(n=INTERPRETED):
    """Return the hashes of the compiled and the interpreted kernels, at few points."""
    compiled, python = {}, {}
    for name in NAMES:
        function, (f, second) = getattr(riskcore, name), points(name, n)
        chosen, results = interpreted(function, f, second)
        compiled[name] = digest(whole(function, f, second)[..., chosen])
        python[name] = digest(results)
    return compiled, python


# --- other processors --------------------------------------------------------------

# LLVM's names, with a feature that this machine must have to run such code.
PROCESSORS = {
    "x86-64": "sse2",
    "x86-64-v2": "sse4.2",
    "x86-64-v3": "avx2",
    "x86-64-v4": "avx512vl",
    "znver4": "avx512vbmi2",
}
ELSEWHERE = {"generic": None}  # not an x86 machine


def runnable():
    """Return the processors whose code this machine runs."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    known = PROCESSORS if "sse2" in features else ELSEWHERE
    return [name for name, need in known.items() if not need or features.get(need)]


def target(processor):
    """Return the environment in which everything is compiled for a processor."""
    return {
        "RISKCORE_CPU": processor,
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": "",
    }


def on_target(processor, n=PER_GROUP):
    """Return the hashes from code for a processor, and what its machine code uses."""
    ways = ["one array", "C function"]
    code = f"""
import json
from bench import same_bits
print(json.dumps([same_bits.by_way(way, {n}) for way in {ways}]))
"""
    with tempfile.TemporaryDirectory() as cache:
        variables = target(processor) | {"RISKCORE_CACHE_DIR": cache}
        found = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | variables,
            check=True,
            stdout=subprocess.PIPE,
        )
        return json.loads(found.stdout), instructions(Path(cache))


def instructions(cache):
    """Return the widest registers in the cached loops, and how they fuse products."""
    if not shutil.which("objdump"):
        return "?"
    uses = Counter()
    for path in cache.rglob("*.o"):
        with tempfile.NamedTemporaryFile(suffix=".o") as file:
            # The cache's own two fields stand before the object code.
            file.write(path.read_bytes()[32:].partition(b"\n")[2])
            file.flush()
            text = subprocess.run(
                ["objdump", "-d", file.name], check=True, capture_output=True, text=True
            ).stdout
        for mark in ("zmm", "ymm", "xmm", "vfmadd"):
            uses[mark] += text.count(mark)
    widest = next((mark for mark in ("zmm", "ymm", "xmm") if uses[mark]), "other")
    return f"{widest}, {'vfmadd' if uses['vfmadd'] else 'fma()'}"


# --- table -------------------------------------------------------------------------


def row(label, hashes):
    shown = [f"`{hashes[name][:DIGITS]}`" if hashes[name] else "" for name in NAMES]
    return [label, *shown]


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else PER_GROUP
    found = {way: by_way(way, n) for way in WAYS}
    for processor in runnable():
        (arrays, numbers), uses = on_target(processor, n)
        found[f"for {processor} ({uses})"] = arrays
        found[f"for {processor}, C function"] = numbers
    compiled, python = by_python()
    rows = [row(label, hashes) for label, hashes in found.items()]
    rows += [row("few points, one array", compiled), row("few points, Python", python)]
    expected = {name: {hashed, None} for name, hashed in found["one array"].items()}
    same = compiled == python and all(
        hashes[name] in expected[name] for hashes in found.values() for name in NAMES
    )
    verdict = "All ways give the same bits." if same else "The ways differ."
    text = f"""\
`{command()}`: {machine("numpy", "numba", "llvmlite")}.
The first {DIGITS} digits of the SHA-256 of the results at {n * len(GROUPS):,} points,
{n:,} from each group; of f and p themselves: `{arguments(n)}`. The few points are
{INTERPRETED} of each group, without those where Python divides by 0.
**{verdict}**"""
    publish("bits", f"{text}\n\n{table(['way', *NAMES], rows)}")
    sys.exit(not same)


def arguments(n):
    """Return the hash of f and p."""
    return digest(np.stack(points("individual_risk", n)))[:DIGITS]


if __name__ == "__main__":
    main()
