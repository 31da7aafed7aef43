"""Change one place of a fast path: does the proof fail?

Every mutant of the kernels that the claims run is tried in a forked process, on part of
the boxes of the claims of its regions. A mutant *passes* if all bounds still hold.
"""

import hashlib
import importlib
import os
import sys
import time
import traceback

from bench._common import replace, table
from bench.mutation import another_program, mutants
from bench.proof import claims, prover, rebind

# In the order in which they import each other.
MODULES = (
    "riskcore/special/elementary.py",
    "riskcore/special/gauss/rounding.py",
    "riskcore/special/gauss/risk_pairs.py",
    "riskcore/special/gauss/risk_blocks.py",
)
FEW = 60  # boxes of a claim that are run
DEEP = 2  # how often they are cut
LIMIT = 300  # seconds


def names_of():
    """Return the names of all kernels that the claims run."""
    copier = claims.copies({})
    copier.of(claims.risk_blocks._pair)
    return {function.__name__ for function in copier.copies}


def candidates():
    """Return the mutants of the kernels that are run, and of their constants."""
    names = names_of()
    used = set()
    copier = claims.copies({})
    copier.of(claims.risk_blocks._pair)
    for function in copier.copies:
        used |= set(function.__code__.co_names)
    found = []
    for module in MODULES:
        for one in mutants(module):
            last = one.function.split(".")[-1]
            constant = one.function == "module" and any(
                name in one.before for name in used if name.strip("_").isupper()
            )
            if (last in names or constant) and another_program(one):
                found.append(one)
    return found


def put(mutant):
    """Make the package that of a mutant, in this process."""
    dotted = [m.removesuffix(".py").replace("/", ".") for m in MODULES]
    module = sys.modules[dotted[MODULES.index(mutant.module)]]
    exec(compile(mutant.source, module.__file__, "exec"), module.__dict__)
    first = MODULES.index(mutant.module) + 1
    for name in dotted[first:]:
        importlib.reload(sys.modules[name])
    importlib.reload(claims)
    importlib.reload(prover)


def noticed():
    """Return why the proof fails, or nothing."""
    try:
        rebind.check_theorems()
        for claim in sorted(claims.of_risk(), key=lambda c: len(c.boxes)):
            step = max(1, len(claim.boxes) // FEW)
            few = claim._replace(boxes=claim.boxes[::-step][::-1])
            result = prover.prove(few, deepest=DEEP)
            if not result.share <= 1.0:
                return f"{claim.region}, {claim.where}: {result.share:.3g} of claimed"
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0][:90]
    return ""


def verdict(mutant):
    """Return what `noticed` says of a mutant, by a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            sys.stdout = open(os.devnull, "w")
            try:
                put(mutant)
                text = noticed()
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
            os.write(write, (text or "PASSES").encode()[:2000])
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return "" if text == "PASSES" else text or "ended"


def drawn(number):
    """Return so many of the candidates, by their hash."""
    every = candidates()
    every.sort(key=lambda one: hashlib.sha256("\0".join(one.name).encode()).hexdigest())
    return every, every[:number]


def run(number, page, about):
    """Try mutants, and write those that pass; return the exit status."""
    every, chosen = drawn(number)
    passed, start = [], time.perf_counter()
    for one in chosen:
        why = verdict(one)
        print("noticed" if why else "PASSES", *one.name[:4], why, sep=" | ", flush=True)
        if not why:
            passed.append(one)
    rows = [
        [f"`{one.function}`", f"`{one.before}`", f"`{one.after}`"]
        for one in sorted(passed, key=lambda one: one.name)
    ]
    text = (
        f"{about}\n\nOf {len(chosen)} of {len(every)} mutants {len(chosen) - len(passed)} "
        f"make the proof fail; these {len(passed)} pass:\n\n"
        + table(["function", "line", "mutated"], rows, texts=3)
    )
    replace(page, "proof_mutants", text)
    print(f"{len(chosen)} mutants, {len(passed)} pass, {time.perf_counter() - start:.0f} s")
    return 0
