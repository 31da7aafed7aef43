"""Halve and drop each use of a bound of an error: what does the proof say?

    python -m bench.prove --mutants uses

A use is a place of the kernels' source where a bound's name stands, or what is charged
beside it. Each is halved and dropped (a factor: the half of what it is above 1, and
all), and the programs whose lemmas are about the function run in a process of their
own. A mutant *fails*; or the same programs prove it, as *less would do*; or it *passes*
as no program is about its function.
"""

import ast
import functools
import importlib
import sys
import time
from collections import Counter

from bench._common import table
from bench.proof import (
    balls,
    claims,
    directed,
    enclosure,
    fixed_operations,
    fixed_point,
    in_words,
    last_steps,
    prover,
    quotients,
    ways,
)
from bench.proof import check as checker
from bench.proof.mutants import started
from bench.proof.source_mutants import ROOT, Places
from riskcore.core.risk import bounds

CORE = "riskcore/core/"
GAUSS = CORE + "special/gauss/"
FACTORS = "OUTWARD", "_OUTWARD"
# By file: names of bounds; functions whose sizes are bounds, too.
BOUNDS = {
    CORE + "special/balls.py": (
        "a_radius b_radius radius c_lost w_lost lost d_lost low_lost spread slope UNIT "
        "UNDERFLOW OUTWARD TAIL",
        "multiply multiply_double divide reciprocal horner ln2_times polynomial tail",
    ),
    CORE + "special/fixed_point.py": (
        "lost x_lost y_lost units more _OUTWARD",
        "set_error times _size multiply divide",
    ),
    GAUSS + "enclosure.py": ("radius own E_RELATIVE E_ABSOLUTE UNIT UNDERFLOW", ""),
    GAUSS + "fixed_point_step.py": ("half", ""),
    GAUSS + "ball_step.py": (
        "radius UNIT error lost by_risk _RARE_ERROR",
        "_is_nearest frequencies_ball",
    ),
    GAUSS + "rounding_test.py": ("error", ""),
    GAUSS + "fast_real.py": ("BACKWARD REFLECTED", ""),
    GAUSS + "fast_integer.py": (
        "BESIDE_E_16 BESIDE_E_32 BY_LEVELS BY_LEVELS_REAL BY_LOGARITHM BY_LOGARITHM_15 "
        "IN_PAIRS OF_E_16 OF_E_32 OF_SERIES bound of_e beside",
        "",
    ),
    CORE + "risk/individual.py": ("error _CLOSE", ""),
    CORE + "risk/bounds.py": ("error", ""),
}
# `individual.py` has functions whose bounds are not used, or that have none.
ONLY = {"individual.py": ("_risk", "_moved_risk", "module"), "bounds.py": ("_down",)}


VISITED = "FunctionDef ClassDef If JoinedStr Name Assign AugAssign Slice Call Constant"


class Uses(Places, ast.NodeVisitor):
    """The uses of bounds in a file, each as an edit that halves and one that drops."""

    def __init__(self, source, names, functions):
        self.names, self.functions = names.split(), functions.split()
        self.charged = False
        super().__init__(source)

    def visit(self, node):
        own = type(node).__name__ in VISITED
        return super().visit(node) if own else self.generic_visit(node)

    def use(self, node, factor=False):
        text = self.text(node)
        self.replace(node, f"(0.5 + 0.5 * {text})" if factor else f"(0.5 * {text})")
        self.replace(node, "1.0" if factor else "0.0")

    def visit_Name(self, node):
        if node.id in self.names and isinstance(node.ctx, ast.Load):
            self.use(node, node.id in FACTORS)

    def visit_Assign(self, node):
        names = {x.id for x in ast.walk(node.targets[0]) if isinstance(x, ast.Name)}
        before, self.charged = self.charged, bool(names & {"lost", "half"})
        self.charged &= "UNIT" not in self.names
        self.visit(node.value)
        self.charged = before

    def visit_AugAssign(self, node):
        self.visit(node.value)

    def visit_Slice(self, node):
        pass

    def visit_Call(self, node):
        name = getattr(node.func, "id", "")
        sized = name == "abs" and self.within and self.within[-1] in self.functions
        if sized or (name == "error" and "units" in self.names):
            self.use(node)
        before = self.charged
        self.charged |= name in ("set_error", "_add_to_error")
        for argument in node.args:
            self.visit(argument)
        self.charged = before

    def visit_Constant(self, node):
        if (
            self.charged
            and isinstance(node.value, float)
            and node.value not in (0.0, 0.5)
        ):
            self.use(node)


def mutants():
    """Yield (file, function, line, source) of each mutant of a use."""
    for path, (names, functions) in BOUNDS.items():
        source = (ROOT / path).read_text().encode()
        for function, begin, end, text in Uses(source.decode(), names, functions).found:
            name, only = function.split(".")[-1], ONLY.get(path.rpartition("/")[2])
            if not only or name in only:
                first = source.rfind(b"\n", 0, begin) + 1
                after = text.encode() + source[end:]
                line = (source[first:begin] + after).partition(b"\n")[0].decode()
                mutated = (source[:begin] + after).decode()
                yield path, name, " ".join(line.split()), mutated


# --- the programs --------------------------------------------------------------------

REGIONS = {
    "by_logarithm_one": "ONE", "by_logarithm_4": "SMALL", "near_one": "NEAR_ONE",
    "by_logarithm_15": "FORWARD_15", "_last": "LEVELS LEVELS_REAL",
    "by_levels": "LEVELS", "by_levels_real": "LEVELS_REAL",
    "by_e": "FROM_16 FROM_32", "by_reflection": "FORWARD_REAL",
    "backward_real": "BACKWARD_REAL",
}  # fmt: skip
# Of slow steps, by file or function: a sample first, as most mutants fail it.
PROGRAMS = {
    "balls.py": [lambda: balls.prove()],
    "enclosure.py": [lambda: enclosure.prove()],
    "fixed_point_step.py": [lambda: in_words.check_e()],
    "_is_nearest": [
        lambda: last_steps.check_balls(61),
        lambda: last_steps.check_balls(),
    ],
    "sides_slow": [lambda: directed.check_sides(61), lambda: directed.check_sides()],
    "condition": [lambda: quotients.prove()],
    "rounded": [lambda: ways.check_rounding()],
    "rounded_down": [lambda: directed.check_test()],
    "_moved_risk": [lambda: quotients.check_moved()],
}
for names, prove in {
    "add subtract negate times over multiply set_error _size _add_to_error": (
        fixed_operations.of_numbers
    ),
    "shift": lambda source, n: fixed_operations.shift(source, n, range(-60, 60)),
    "divide": fixed_operations.divide,
    "sign": fixed_operations.sign,
    "set_double": fixed_operations.conversions,
    "ln2 pi": functools.partial(fixed_point.prove_for, fixed_point.constants),
    **{
        name: functools.partial(fixed_point.prove_for, getattr(fixed_point, name))
        for name in ("log", "exp", "sinc")
    },
}.items():  # for the fewest words
    for name in names.split():
        PROGRAMS[name] = [
            lambda prove=prove: prove(
                module("special/fixed_point"), fixed_operations.FEW
            )
        ]
PROGRAMS["_nearest"] = PROGRAMS["_is_nearest"]
PROGRAMS["frequencies_ball"] = PROGRAMS["condition"]


def module(path):
    return sys.modules[CORE_MODULES + path.replace("/", ".")]


def of_claims(regions):
    """Return the largest share of what regions claim; raise if it is above 1."""
    worst = 0.0
    for claim in claims.of_risk():
        if claim.region in regions.split():
            share = prover.prove(claim).share
            if not share <= 1.0:
                raise ValueError(f"{claim.region}: {share:.3g} of claimed")
            worst = max(worst, share)
    return f"{worst:.2f} of claimed"


def fate(path, name, line, source):
    """Return why the proof of a mutant fails, "less would do: ...", or "PASSES"."""
    dotted = path.removesuffix(".py").replace("/", ".")
    first = ORDER.index(dotted)
    exec(
        compile(source, sys.modules[dotted].__file__, "exec"), vars(sys.modules[dotted])
    )
    for one in (*ORDER[first + 1 :], *PROOFS):
        importlib.reload(sys.modules[one])
    if path.endswith("fast_integer.py") and name == "module":
        name = "by_e"
    if name in REGIONS:
        return f"less would do: {of_claims(REGIONS[name])}"
    file = path.rpartition("/")[2]
    programs = PROGRAMS.get(file) or PROGRAMS.get(name)
    for program in programs or ():
        program()
    checker.check_texts({path: source})
    return "less would do" if programs else "PASSES"


# In the order of their imports.
CORE_MODULES = bounds.__name__.removesuffix("risk.bounds")
ORDER = """
    special.elementary special.double_double special.balls special.near_one
    special.fixed_point special.gauss.enclosure special.gauss.extremes
    special.gauss.fixed_point_step special.gauss.rounding_test special.gauss.ball_step
    special.gauss.fast_real special.gauss.fast_integer special.gauss.blocks
    special.gauss.risk_blocks risk.individual risk.bounds
"""
ORDER = [CORE_MODULES + name for name in ORDER.split()]
PROOFS = """
    parts reflection claims prover ball_symbols ball_functions balls enclosure_levels
    enclosure fixed_operations fixed_point words in_words sides last_steps directed
    quotients ways
"""
PROOFS = [f"bench.proof.{name}" for name in PROOFS.split()]


KINDS = "fails", "less would do", "PASSES"


def tried():
    """Yield (kind, file, function, line, what the proof says) of each mutant."""
    for path, name, line, source in mutants():
        said = started(lambda args=(path, name, line, source): fate(*args))()
        kind = said.partition(":")[0]
        yield kind if kind in KINDS else KINDS[0], path, name, line, said


def shown(results):
    """Return the tables of what was tried, and how many mutants pass."""
    counts = {path: Counter() for path in BOUNDS}
    for kind, path, *_ in results:
        counts[path].update([kind, "all"])
    total = sum(counts.values(), Counter())
    rows = [
        [path.removeprefix(CORE), *(f"{x[kind]}" for kind in ("all", *KINDS))]
        for path, x in [*counts.items(), ("all", total)]
    ]
    less = [
        [f"`{name}`", f"`{line}`", said.partition(": ")[2]]
        for kind, _, name, line, said in results
        if kind == KINDS[1]
    ]
    header = ["file", "mutants", "fail", "less would do", "pass"]
    listed = table(["function", "less would do", "proved"], less, texts=3)
    return f"{table(header, rows)}\n\n{listed}", total[KINDS[2]]


def run():
    """Try all mutants; return their tables, and how many pass."""
    start, results = time.perf_counter(), []
    for result in tried():
        print(*result, sep=" | ", flush=True)
        results.append(result)
    text, passed = shown(results)
    print(f"{len(results)} mutants, {passed} pass, {time.perf_counter() - start:.0f} s")
    return text, passed
