"""Mutate the fast paths and count the mutants that the proof does not notice.

Every mutant of the kernels that the claims run, or that stand around them, is tried in
a forked process, on all boxes of all claims whose proof may be another by it: those
with the largest bounds first, to the first that fails. So it *passes* if, and only if,
the whole proof does.
"""

import contextlib
import hashlib
import importlib
import os
import re
import sys
import time
import traceback
import types
from typing import NamedTuple

from bench._common import replace, table
from bench.proof import claims, parts, prover, reflection, ways
from bench.proof.source_mutants import ROOT, another_program, mutants
from riskcore.core.special.gauss import rounding_test as rounding

# In the order of their imports.
MODULES = (
    "riskcore/core/special/elementary.py",
    "riskcore/core/special/double_double.py",
    "riskcore/core/special/near_one.py",
    "riskcore/core/special/gauss/enclosure.py",
    "riskcore/core/special/gauss/rounding_test.py",
    "riskcore/core/special/gauss/fast_real.py",
    "riskcore/core/special/gauss/fast_integer.py",
    "riskcore/core/special/gauss/blocks.py",
    "riskcore/core/special/gauss/risk_blocks.py",
)
DOTTED = [name.removesuffix(".py").replace("/", ".") for name in MODULES]


class Proof(NamedTuple):
    """A claim, what its proof is made of, and its result if it is known."""

    claim: object
    kernels: str
    parts: str  # of FORWARD_REAL: the kernels that come as bounds
    result: object = None


def taken(claim):
    """Return ``pair_of_region`` and the kernels that it calls for cells of a claim."""
    f, _, p, _ = claim.boxes[len(claim.boxes) // 2]
    pair, found = claims.risk_blocks.pair_of_region, []

    def seen(kernel):
        def call(*args):
            found.append(kernel)
            return kernel(*args)

        return call

    around = {
        name: seen(one) if isinstance(one, types.FunctionType) else one
        for name, one in vars(claims.risk_blocks).items()
    }
    region = getattr(claims.risk_pairs, claim.region)
    types.FunctionType(pair.__code__, around)(region, float(f), float(p))
    return pair, found


def below(kernels, but=()):
    """Return kernels and all that they call, and what those do."""
    found, waiting = [], list(kernels)
    while waiting:
        one = waiting.pop()
        module = getattr(one, "__module__", None) or ""
        if module.startswith("riskcore") and one not in [*found, *but]:
            found.append(one)
            names = [one.__globals__.get(name) for name in one.__code__.co_names]
            cells = [cell.cell_contents for cell in one.__closure__ or ()]
            every = [*names, *cells]
            waiting += [x for x in every if isinstance(x, types.FunctionType)]
    return found


def meaning(code, scope):
    """Return what a code does: instructions, constants, and what names stand for."""
    lines = [repr(code.co_code), repr(code.co_names)]
    for one in (*code.co_consts, *(scope.get(name) for name in code.co_names)):
        if isinstance(one, types.CodeType):
            lines.append(meaning(one, scope))
        elif isinstance(one, float | int | str | tuple):
            lines.append(repr(one))
    return "\n".join(lines)


def text(kernels):
    """Return what kernels do, without those that they call."""
    lines = []
    for one in kernels:
        cells = [cell.cell_contents for cell in one.__closure__ or ()]
        lines += [one.__qualname__, meaning(one.__code__, one.__globals__)]
        lines += [repr(x) for x in cells if isinstance(x, float | int)]
    return "\n".join(lines)


def claimed():
    """Return the proof of each claim, by its region and place."""
    found = {}
    for claim in claims.of_risk():
        pair, kernels = taken(claim)
        apart = reflection.INSTEAD if claim.region == "FORWARD_REAL" else ()
        first = below(kernels, apart)
        rest = [one for one in below(kernels) if one not in first]
        boxes = hashlib.sha256(claim.boxes.tobytes()).hexdigest()
        found[claim.region, claim.where] = Proof(
            claim, boxes + text([pair, *first]), text(rest)
        )
    return found


def of_blocks():
    """Return what the kernels of blocks do."""
    kernels = [*ways.around(), ways.completion(ways.slow)]
    return text(one for one in below(kernels) if one.__module__ in DOTTED[-2:])


# Other things that are known of the source as it is.
BLOCKS, PARTS = "blocks", "bounds of parts"


def unmutated(prove=False):
    """Return the proofs of the source as it is; the results are of use, if known."""
    found = claimed()
    if not prove:
        return {**found, BLOCKS: of_blocks()}
    for key, proof in found.items():
        found[key] = proof._replace(result=prover.prove(proof.claim))
        print(*key, f"{found[key].result.share:.2f}", sep=" | ", flush=True)
    return {**found, BLOCKS: of_blocks(), PARTS: bounds_of_parts()}


def names_run():
    """Return the names of all kernels whose mutants are tried, and of constants."""
    kernels = [
        claims.risk_blocks.pair_of_region,
        *ways.around(),
        ways.completion(ways.slow),
    ]
    every = below([*kernels, rounding.rounded])
    used = set().union(*(one.__code__.co_names for one in every))
    # Those that come to a kernel by the function that makes it.
    bounds = {name for name in vars(rounding) if name.isupper()}
    constants = {name for name in used if name.strip("_").isupper()} | bounds
    return {one.__name__ for one in every} | {"by_region"}, constants


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
    (names, used), found = names_run(), []
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
    """Load a mutant into the package of this process."""
    module = sys.modules[DOTTED[MODULES.index(mutant.module)]]
    exec(compile(mutant.source, module.__file__, "exec"), module.__dict__)
    first = MODULES.index(mutant.module) + 1
    for name in DOTTED[first:]:
        importlib.reload(sys.modules[name])
    for one in (parts, reflection, claims, prover, ways):
        importlib.reload(one)


def bounds_of_parts():
    """Return the bounds that FORWARD_REAL takes of its parts."""
    log, sine, quotient = parts.of_log_of_odds(), parts.of_sine(), parts.of_fraction()
    return [x for part in (log, sine, quotient, *parts.of_exponential()) for x in part]


def noticed(before):
    """Return why the proof fails, or nothing. ``before`` has the proofs unmutated.

    What is as it was is not proved again: claims whose kernels are, and FORWARD_REAL
    where its parts have no larger bounds than it took of them.
    """
    try:
        reflection.check_theorems()
        ways.check_rounding()
        if of_blocks() != before[BLOCKS]:
            ways.check_blocks(1)
        largest, every = {}, claimed()
        ways.check_regions([proof.claim for proof in every.values()])
        for key, proof in every.items():
            old = before.get(key, Proof(None, "", ""))
            result = old.result
            if proof.kernels == old.kernels and proof.parts != old.parts and result:
                proof.claim.formula()
                bounds = zip(bounds_of_parts(), before[PARTS], strict=True)
                same = all(new <= parts.RAISED * of_old for new, of_old in bounds)
            else:
                same = (proof.kernels, proof.parts) == (old.kernels, old.parts)
            if not same:
                shares = result and result.shares
                fits = shares is not None and len(shares) == len(proof.claim.boxes)
                result = prover.prove(proof.claim, shares if fits else None)
                if not result.share <= 1.0:
                    return f"{key[0]}: {result.share:.3g} of claimed"
            if result:
                largest[key[0]] = max(largest.get(key[0], 0.0), result.share)
            elif same:
                largest[key[0]] = 1.0  # not known: not wasteful
        for region, share in largest.items():
            if share < prover.WASTEFUL:
                return f"{region}: claims {1 / share:.3g} times what is proved"
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\n")[0][:90]
    return ""


def started(work):
    """Start a process that says a text; return a call that gets the text."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            try:
                text = work()
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
            os.write(write, (text or "PASSES").encode()[:2000])
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)

    def said():
        with os.fdopen(read) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        return text or "ended"

    return said


def begun(mutant, before):
    """Start a process that proves a mutant; return a call that gets its verdict."""

    def work():
        put(mutant)
        return noticed(before)

    said = started(work)
    return lambda: said().removesuffix("PASSES")


def verdicts(mutants, before):
    """Yield mutants with the reason why each is noticed; one process a CPU."""
    waiting = []
    for mutant in mutants:
        waiting.append((mutant, begun(mutant, before)))
        if len(waiting) == os.cpu_count():
            first, verdict = waiting.pop(0)
            yield first, verdict()
    for mutant, verdict in waiting:
        yield mutant, verdict()


def drawn(number):
    """Return all candidates and a number of them, drawn by their hash."""
    every = candidates()
    every.sort(key=lambda one: hashlib.sha256("\0".join(one.name).encode()).hexdigest())
    return every, every[:number]


def run(number, page, about):
    """Try mutants, and write those that pass; return the exit status."""
    every, chosen = drawn(number)
    passed, start, before = [], time.perf_counter(), unmutated(True)
    for one, why in verdicts(chosen, before):
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
