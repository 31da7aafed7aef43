"""Hash the results of every ufunc, computed in every way and for every processor.

    python -m bench.same_bits [points per group]

The points are made by exact operations from seeds, so that they too are the same
everywhere: whoever runs this on another machine should see the hashes of the table. It
ends with exit status 1 if one way differs from another. For other processors LLVM
compiles the loops again, in processes with their own caches; Numba's vectorizer gets
the same processor, so that the width of the vectors changes too.
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
from inspect import signature
from pathlib import Path

import numba
import numpy as np

import riskcore
from bench._common import given, origin, publish, table
from riskcore.core import embed
from riskcore.core.compiled.ufunc_maker import made_from

PER_GROUP = 30_000
SLOWER = 30  # times fewer points for the posterior of F and risks with a prior
DIGITS = 16  # of a hash in the table
INTERPRETED = 15  # points of each group: exact rational arithmetic is slow
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


def points(name, n=PER_GROUP, turn=0):
    """Return the function's arguments at n points of each group, in mixed order.

    ``turn``: other points for each number.
    """
    parts = []
    for seed, draw in enumerate(GROUPS.values()):
        f, p = draw(np.random.default_rng([turn, seed] if turn else seed), n)
        parts.append(np.stack([f, p]))
    rng = np.random.default_rng([turn, len(GROUPS)] if turn else len(GROUPS))
    f, p = rng.permutation(np.hstack(parts).T).T.copy()
    return _arguments(name, f, p, rng)


def _arguments(name, f, p, rng):
    """Return the function's arguments for cells (f, p)."""
    level = rng.random(len(f))
    with np.errstate(all="ignore"):
        at = {"f": f, "p": p, "F": f / p, "level": level}
        # From shapes below f to far above, f itself and f + 1 among them.
        at["shape"] = f * np.floor(4 * level) / 2 + 64.0 * level * (level > 0.5)
        at["shape"][level < 0.1] = f[level < 0.1] + 1
        at["mu"] = 64.0 * level / p
        at["alpha"] = f * np.floor(4 * level + 1) / 2
        at["unsampled"] = np.minimum(np.floor(f / p * level), 2.0**53)
        at["beta"] = at["unsampled"] * np.ldexp(level, -3) + level
        at["share"] = level * level
        wanted = list(
            signature(made_from(getattr(riskcore, name))[0].scalar).parameters
        )
    return [at[argument] for argument in wanted]


def fewer(name, n):
    """Return how many points of each group a function gets."""
    slow = riskcore._HOMES[name].endswith(("posterior", "prior", "population"))
    return max(n // SLOWER, 1) if slow else n


# --- ways --------------------------------------------------------------------------


def whole(function, arguments):
    """Return the results at n points, for a pair of bounds with shape (2, n)."""
    return np.asarray(function(*arguments))


def cut(arguments, where):
    return [values[where] for values in arguments]


def in_chunks(function, arguments, size):
    pieces = [slice(i, i + size) for i in range(0, len(arguments[0]), size)]
    results = [whole(function, cut(arguments, piece)) for piece in pieces]
    return np.concatenate(results, axis=-1)


def in_threads(function, arguments, threads):
    n = len(arguments[0])
    pieces = [slice(i * n // 64, (i + 1) * n // 64) for i in range(64)]
    with ThreadPoolExecutor(threads) as pool:
        results = pool.map(lambda piece: whole(function, cut(arguments, piece)), pieces)
        return np.concatenate(list(results), axis=-1)


def strided(function, arguments):
    apart = [np.repeat(values, k)[::k] for k, values in enumerate(arguments, 2)]
    out = tuple(np.empty(2 * len(apart[0]))[::2] for _ in range(function.nout))
    return np.asarray(function(*apart, out=out))


def unaligned(function, arguments):
    shifted = [
        np.frombuffer(b"\0" + values.tobytes(), np.float64, offset=1)
        for values in arguments
    ]
    return whole(function, shifted)


def backwards(function, arguments):
    return whole(function, cut(arguments, slice(None, None, -1)))[..., ::-1]


def shuffled(function, arguments):
    order = np.random.default_rng(1).permutation(len(arguments[0]))
    return whole(function, cut(arguments, order))[..., np.argsort(order)]


def in_place(function, arguments):
    memory = tuple(values.copy() for values in arguments)
    return np.asarray(function(*memory, out=memory[: function.nout]))


def one_by_one(function, arguments):
    rows = zip(*[values.tolist() for values in arguments], strict=True)
    return np.array([function(*row) for row in rows]).T


@cache
def under_njit(function):
    """Return compiled code that calls a function for each row of its columns."""
    columns = [f"x{k}" for k in range(function.nin)]
    code = f"""
def fill(out, {", ".join(columns)}):
    for i in range(len(out)):
        out[i] = function({", ".join(f"{x}[i]" for x in columns)})
"""
    scope = {"function": function}
    exec(code, scope)
    return numba.njit(scope["fill"])


def by_numba(function, arguments):
    out = np.empty((len(arguments[0]), function.nout))
    under_njit(function)(out, *arguments)
    return out.T.squeeze()


def by_c_function(function, arguments):
    if function.nout > 1:
        return None
    return one_by_one(embed.c_function(function), arguments)


def by_c_array(function, arguments):
    n, code = len(arguments[0]), embed.c_array_function(function)
    out = np.empty((function.nout, n))
    kind = code.argtypes[0]
    code(*[values.ctypes.data_as(kind) for values in (*arguments, *out)], n)
    return out.squeeze()


WAYS = {
    "one array": whole, "chunks of 1": lambda *given: in_chunks(*given, 1),
    "chunks of 7": lambda *given: in_chunks(*given, 7),
    "chunks of 512": lambda *given: in_chunks(*given, 512),
    "chunks of 1000": lambda *given: in_chunks(*given, 1000),
    "1 thread": lambda *given: in_threads(*given, 1),
    "2 threads": lambda *given: in_threads(*given, 2),
    "4 threads": lambda *given: in_threads(*given, 4), "strided": strided,
    "unaligned": unaligned, "reversed": backwards, "in another order": shuffled,
    "in place": in_place, "Python numbers": one_by_one, "in @njit code": by_numba,
    "C function": by_c_function, "C function of arrays": by_c_array,
}  # fmt: skip


def interpreted(function, arguments):
    """Run the kernel as Python; return where that is possible and the results there.

    It fails where a branch that is discarded later divides by zero or overflows.
    """
    scalar = made_from(function)[0].scalar
    chosen, results = np.ones(len(arguments[0]), bool), []
    rows = zip(*[values.tolist() for values in arguments], strict=True)
    for i, row in enumerate(rows):
        try:
            results.append(scalar(*row))
        except ArithmeticError:
            chosen[i] = False
    return chosen, np.array(results).T


# --- hashes ------------------------------------------------------------------------


def digest(values):
    """Return the hash of an array, None for None."""
    if values is None:
        return None
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


def by_way(way, n=PER_GROUP):
    """Return the hash of each function's results."""
    return {
        name: digest(WAYS[way](getattr(riskcore, name), points(name, fewer(name, n))))
        for name in NAMES
    }


def by_python(n=INTERPRETED):
    """Return the hashes of the compiled and the interpreted kernels, at few points."""
    compiled, python = {}, {}
    for name in NAMES:
        function, arguments = getattr(riskcore, name), points(name, n)
        chosen, results = interpreted(function, arguments)
        compiled[name] = digest(whole(function, arguments)[..., chosen])
        python[name] = digest(results)
    return compiled, python


# --- other processors --------------------------------------------------------------

# LLVM's names, with a feature that this machine must have to run such code.
PROCESSORS = {
    "x86-64": "sse2", "x86-64-v2": "sse4.2", "x86-64-v3": "avx2",
    "x86-64-v4": "avx512vl", "znver4": "avx512vbmi2",
}  # fmt: skip
ELSEWHERE = {"generic": None}  # not an x86 machine


def runnable():
    """Return the processors whose code this machine runs."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    known = PROCESSORS if "sse2" in features else ELSEWHERE
    return [name for name, need in known.items() if not need or features.get(need)]


def target(processor):
    """Return environment variables that compile everything for a processor."""
    return {
        "RISKCORE_CPU": processor,
        "NUMBA_CPU_NAME": processor,
        "NUMBA_CPU_FEATURES": "",
    }


def on_target(processor, n=PER_GROUP):
    """Return the hashes from code for a processor, and what its machine code uses."""
    code = f"""
import json
from bench import same_bits
print(json.dumps(same_bits.by_way("one array", {n})))
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


def differing(hashes, expected):
    """Return the functions whose results differ."""
    return [name for name in NAMES if hashes[name] and hashes[name] != expected[name]]


def row(label, hashes, expected):
    have = sum(hashes[name] is not None for name in NAMES)
    others = differing(hashes, expected)
    return [label, f"{have - len(others)} of {have}", ", ".join(others)]


def main():
    (n,) = given(PER_GROUP)
    expected = by_way("one array", n)
    found = {way: by_way(way, n) for way in WAYS}
    for processor in runnable():
        hashes, uses = on_target(processor, n)
        found[f"code for {processor} ({uses})"] = hashes
    ways = [row(label, hashes, expected) for label, hashes in found.items()]
    compiled, python = by_python()
    ways.append(row("interpreted by Python, few points", python, compiled))
    same = not any(others for _, _, others in ways)
    functions = [
        [f"`{name}`", f"{fewer(name, n) * len(GROUPS):,}", f"`{hashed[:DIGITS]}`"]
        for name, hashed in expected.items()
    ]
    verdict = "All ways give the same bits." if same else "The ways differ."
    text = f"""\
{origin("numpy", "numba", "llvmlite")}.
**{verdict}**

{table(["function", "points", f"first {DIGITS} digits of SHA-256"], functions)}

{table(["way", "functions with these bits", "other bits"], ways)}"""
    publish("bits", text)
    sys.exit(not same)


if __name__ == "__main__":
    main()
