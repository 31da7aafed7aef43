"""Change one place of a fast path: does the proof fail?

Every mutant of the kernels that the claims run is tried in a forked process, on part of
the boxes of the claims of its regions. A mutant *passes* if all bounds still hold.
"""

import contextlib
import hashlib
import importlib
import os
import re
import sys
import time
import traceback

from bench._common import replace, table
from bench.mutation import ROOT, another_program, mutants
from bench.proof import claims, exact, parts, prover, reflection
from riskcore.special.gauss import rounding

# In the order in which they import each other.
MODULES = (
    "riskcore/special/elementary.py",
    "riskcore/special/double_double.py",
    "riskcore/special/near_one.py",
    "riskcore/special/gauss/enclosure.py",
    "riskcore/special/gauss/rounding.py",
    "riskcore/special/gauss/real_pairs.py",
    "riskcore/special/gauss/risk_pairs.py",
    "riskcore/special/gauss/risk_blocks.py",
)
DOTTED = [name.removesuffix(".py").replace("/", ".") for name in MODULES]
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


def constants(names):
    """Return the names of all constants of the kernels with these names."""
    copier = claims.copies({})
    copier.of(claims.risk_blocks._pair)
    used = set()
    for function in copier.copies:
        if function.__name__ in names:
            used |= set(function.__code__.co_names)
    # Those that come to a kernel by the function that makes it.
    bounds = {name for name in vars(rounding) if name.isupper()}
    return {name for name in used if name.strip("_").isupper()} | bounds


MAKES = re.compile(
    r"= (_by_e|_tail|_upwards|_levels|_downwards|_pairs|positive|series)\("
)


def numbers(source, module, used):
    """Return the constants of a module's source, as text."""
    scope = {"__name__": module}
    exec(compile(source, module, "exec"), scope)
    return {name: repr(scope[name]) for name in used if name in scope}


def candidates():
    """Return the mutants of the kernels that are run, and of their constants."""
    names = set().union(*kernels().values()) - {"_pair"}
    used, found = constants(names), []
    for path, module in zip(MODULES, DOTTED, strict=True):
        usual = numbers((ROOT / path).read_text(), module, used)
        for one in filter(another_program, mutants(path)):
            if one.function.split(".")[-1] in names or MAKES.search(one.before):
                found.append(one)
            elif one.function == "module":
                with contextlib.suppress(Exception):
                    if numbers(one.source, module, used) != usual:
                        found.append(one)
    return found


def put(mutant):
    """Make the package that of a mutant, in this process."""
    module = sys.modules[DOTTED[MODULES.index(mutant.module)]]
    exec(compile(mutant.source, module.__file__, "exec"), module.__dict__)
    first = MODULES.index(mutant.module) + 1
    for name in DOTTED[first:]:
        importlib.reload(sys.modules[name])
    for one in (parts, reflection, claims, prover):
        importlib.reload(one)


def shares(function=""):
    """Return the largest share of what each region claims, for those with a function.

    It is that of a part of the boxes, and the formulas are compared at few points.
    """
    last = function.split(".")[-1]
    exact.FEWER = POINTS
    found = {}
    try:
        reflection.check_theorems()
        names = kernels()
        every = set().union(*names.values())  # else what makes kernels, or constants
        for claim in claims.of_risk():
            if last in every and last not in names[claim.region, claim.where]:
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
            if share < usual.get(region, 0.0) * prover.WASTEFUL:
                return f"{region}: claims {usual[region] / share:.3g} times as much"
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0][:90]
    return ""


def begun(mutant, usual):
    """Let a process of its own look at a mutant; return how to get what it says."""
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

    def verdict():
        with os.fdopen(read) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        return "" if text == "PASSES" else text or "ended"

    return verdict


def verdicts(mutants, usual):
    """Yield mutants with why each is noticed, if it is; as many at once as CPUs."""
    waiting = []
    for mutant in mutants:
        waiting.append((mutant, begun(mutant, usual)))
        if len(waiting) == os.cpu_count():
            first, verdict = waiting.pop(0)
            yield first, verdict()
    for mutant, verdict in waiting:
        yield mutant, verdict()


def drawn(number):
    """Return so many of the candidates, by their hash."""
    every = candidates()
    every.sort(key=lambda one: hashlib.sha256("\0".join(one.name).encode()).hexdigest())
    return every, every[:number]


def run(number, page, about):
    """Try mutants, and write those that pass; return the exit status."""
    every, chosen = drawn(number)
    passed, start, usual = [], time.perf_counter(), shares()
    for one, why in verdicts(chosen, usual):
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
