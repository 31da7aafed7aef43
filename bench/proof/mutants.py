"""Change one place of a fast path: does the proof fail?

Every mutant of the kernels that the claims run is tried in a forked process, on part of
the boxes of the claims of its regions. A mutant *passes* if all bounds still hold.
"""

import hashlib
import importlib
import os
import re
import sys
import time
import traceback

from bench._common import replace, table
from bench.mutation import another_program, mutants
from bench.proof import claims, exact, prover, rebind

# In the order in which they import each other.
MODULES = (
    "riskcore/special/elementary.py",
    "riskcore/special/gauss/rounding.py",
    "riskcore/special/gauss/risk_pairs.py",
    "riskcore/special/gauss/risk_blocks.py",
)
FEW = 24  # boxes of a claim that are run
DEEP = 3  # how often they are cut
POINTS = 12  # of a formula


def called(region, f, p):
    """Return the names of the kernels that a cell of a region takes."""
    found = set()

    def see(frame, event, argument):
        if event == "call" and "riskcore" in frame.f_code.co_filename:
            found.add(frame.f_code.co_name)

    sys.setprofile(see)
    try:
        claims.risk_blocks._pair(region, f, p)
    finally:
        sys.setprofile(None)
    return found


def kernels():
    """Return the names of the kernels of each claim, by its region and place."""
    found = {}
    for claim in claims.of_risk():
        f, _, p, _ = claim.boxes[len(claim.boxes) // 2]
        region = getattr(claims.risk_pairs, claim.region)
        found[claim.region, claim.where] = called(region, float(f), float(p))
    return found


def constants():
    """Return the names of all constants of kernels that are run."""
    copier, used = claims.copies({}), set()
    copier.of(claims.risk_blocks._pair)
    for function in copier.copies:
        used |= set(function.__code__.co_names)
    return {name for name in used if name.strip("_").isupper()}


def candidates():
    """Return the mutants of the kernels that are run, and of their constants."""
    names, used = set().union(*kernels().values()) - {"_pair"}, constants()
    found = []
    for module in MODULES:
        for one in mutants(module):
            last = one.function.split(".")[-1]
            words = set(re.findall(r"\w+", one.before))
            constant = one.function == "module" and (words & used or "0x" in one.before)
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


def shares(function=""):
    """Return the largest share of what each region claims, for those with a function.

    It is that of a part of the boxes, and the formulas are compared at few points.
    """
    last = function.split(".")[-1]
    exact.FEWER = POINTS
    found = {}
    try:
        rebind.check_theorems()
        names = kernels()
        for claim in claims.of_risk():
            mine = names[claim.region, claim.where]
            if last not in mine and last not in ("", "module"):
                continue
            step = max(1, len(claim.boxes) // FEW)
            few = claim._replace(boxes=claim.boxes[::-step][::-1])
            result = prover.prove(few, deepest=DEEP)
            found[claim.region] = max(found.get(claim.region, 0.0), result.share)
            if not result.share <= 1.0:
                return found
    finally:
        exact.FEWER = None
    return found


def noticed(function, usual):
    """Return why the proof of the claims that run a function fails, or nothing.

    ``usual`` has the shares of the source as it is.
    """
    try:
        for region, share in shares(function).items():
            if not share <= 1.0:
                return f"{region}: {share:.3g} of claimed"
            if share < usual[region] * prover.WASTEFUL:
                return f"{region}: claims {usual[region] / share:.3g} times as much"
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0][:90]
    return ""


def verdict(mutant, usual):
    """Return what `noticed` says of a mutant, by a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            try:
                put(mutant)
                text = noticed(mutant.function, usual)
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
    passed, start, usual = [], time.perf_counter(), shares()
    for one in chosen:
        why = verdict(one, usual)
        print("noticed" if why else "PASSES", *one.name[:4], why, sep=" | ", flush=True)
        if not why:
            passed.append(one)
    rows = [
        [f"`{one.function}`", f"`{one.before}`", f"`{one.after}`"]
        for one in sorted(passed, key=lambda one: one.name)
    ]
    killed, seconds = len(chosen) - len(passed), time.perf_counter() - start
    text = (
        f"{about}\n\nOf {len(chosen)} of {len(every)} mutants {killed} make the proof "
        f"fail; these {len(passed)} pass:\n\n"
        + table(["function", "line", "mutated"], rows, texts=3)
    )
    replace(page, "proof_mutants", text)
    print(f"{len(chosen)} mutants, {len(passed)} pass, {seconds:.0f} s")
    return 0
