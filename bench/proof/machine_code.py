"""Compare machine code of the fast paths with their source, operation by operation.

The loops over cells of a region (``risk_blocks.by_region``) are compiled, by Numba and
LLVM as the package does or from ``bindings/c/riskcore.c`` by a C compiler, and run on
graphs (``processor.py``), and so is their source. For every relation of the numbers
that either compares, the graph of a cell's result must be that of the source.
"""

import bisect
import re
import tempfile
from pathlib import Path
from typing import ClassVar

from bench.proof import cases, graph, instructions
from bench.proof.processor import Processor, as_node
from bench.proof.program import Program, output
from bench.proof.rebind import Copies, inside
from riskcore.core.compiled import jit
from riskcore.core.risk import individual
from riskcore.core.special.gauss import fast_integer

REGIONS = (
    "ONE", "SMALL", "FORWARD_15", "NEAR_ONE", "LEVELS", "FROM_16", "FROM_32",
    "LEVELS_REAL", "FORWARD_REAL", "BACKWARD_REAL",
)  # fmt: skip
FILL = inside(individual._block, "fill")
C = Path(__file__).parents[2] / "bindings" / "c"
ARRAYS = 0x1000_0000, 0x2000_0000, 0x3000_0000  # where f, p and the results are
# Numbers of cells: one, then enough for loops over vectors and what follows them.
BY_LLVM, BY_C = (1, 32, 34), (1, 6, 14, 32, 34)
MOST = 20_000  # cases of a run, before it is given up


class Whole:
    """An integer of the source, as a node, and the double that it was cut from."""

    def __init__(self, number, uncut=None):
        self.node, self.uncut = number, uncut

    def __add__(self, other):
        return Whole(graph.plus(self.node, graph.word(other)))

    def __sub__(self, other):
        other = other.node if isinstance(other, Whole) else graph.word(other)
        return Whole(graph.minus(self.node, other))

    def __rshift__(self, places):
        return Whole(graph.right(self.node, places))

    def __lshift__(self, places):
        return Whole(graph.left(self.node, places))


def real(number):
    """float() of kernels."""
    if isinstance(number, Whole):
        return graph.to_double(number.node)
    return graph.node(number)


def whole(number):
    """int() of kernels."""
    if isinstance(number, graph.Node):
        return Whole(graph.to_integer(number), number)
    return int(number)


def real_with_sign(number):
    """float() that makes -0 of int() of a small negative number, as gcc may do."""
    if isinstance(number, Whole) and number.uncut is not None:
        return graph.truncated(number.uncut)
    return real(number)


NAMES = {
    "fma": graph.fma, "bits": Whole, "from_bits": lambda pattern: pattern.node,
    "float": real, "int": whole,
}  # fmt: skip
SOURCE = Copies(NAMES).of(FILL)
WITH_SIGN = Copies({**NAMES, "float": real_with_sign}).of(FILL)


def of_source(region, source=SOURCE):
    """Return the result of one cell, by what the oracle knows."""
    f, p = (graph.make("input", name) for name in ("f", "p"))
    out = [None]
    source(getattr(fast_integer, region), [f], [p], [f], out, 1)
    return graph.node(out[0])


def of_code(program, name, cells):
    """Run a function of (f, p, out, n); return the results and the processor."""
    cpu = Processor(program, instructions.run)
    for base, letter in zip(ARRAYS, "fp", strict=False):
        for i in range(cells):
            cpu.store(base + 8 * i, 64, graph.make("input", f"{letter}{i}"))
    arguments = zip(("rdi", "rsi", "rdx", "rcx"), (*ARRAYS, cells), strict=True)
    cpu.general.update(arguments)
    cpu.call(program.functions[name])
    results = [as_node(cpu.load(ARRAYS[2] + 8 * i, 64)) for i in range(cells)]
    return results, cpu


class Comparison:
    """What was found of one program: cases, differences, instructions that ran."""

    known: ClassVar = set()  # (region, graph with conditions) that are the source's

    def __init__(self, program, source=SOURCE):
        self.program, self.source = program, source
        self.cases, self.visited, self.different = 0, set(), []
        self.renamed = {}  # nodes with f and p for the numbers of one cell, by cell

    def region(self, region, sizes):
        """Compare a region's loops, until all their arithmetic has run.

        ``sizes`` are numbers of cells to try; (1,) is one run, whatever is left.
        """
        name = f"riskcore_{region}"
        for cells in sizes:
            self._cells(region, name, cells)
            if not self.left() or sizes == (1,):
                return
        raise NotImplementedError(f"{region}: arithmetic that no run came to")

    def left(self):
        """Return the arithmetic that did not run, of all functions that did."""
        starts = sorted(self.program.functions.values())
        ran = {bisect.bisect(starts, address) for address in self.visited}
        return [
            address
            for address in self.program.arithmetic
            if bisect.bisect(starts, address) in ran and address not in self.visited
        ]

    def _cells(self, region, name, cells):
        """Compare all cells; jumps of one cell at a time take every way."""

        def run(_):
            return of_code(self.program, name, cells)

        for free in range(cells):
            start = cases.Oracle(free={f"f{free}", f"p{free}"})
            for oracle, (results, cpu) in cases.every(start, run, MOST):
                self.visited |= cpu.visited
                for i, result in enumerate(results):
                    if i == free or free == 0:
                        self._cell(region, oracle, i, result)
            if not oracle.known:  # there are no jumps
                return

    def _cell(self, region, oracle, cell, result):
        names = {f"f{cell}": "f", f"p{cell}": "p"}
        memo = self.renamed.setdefault(cell, {})
        renamed = cases.renamed(result, names, memo)
        key = region, renamed.number, id(self.source)
        if key in self.known:
            return
        # What jumps have told of other cells does not matter.
        known = {
            tuple(cases.renamed(x, names, memo) for x in question): relation
            for question, relation in oracle.questions()
        }

        def run(each):
            return each.under(renamed), of_source(region, self.source)

        different = len(self.different)
        for each, (mine, its) in cases.every(cases.Oracle.of(known), run, MOST):
            self.cases += 1
            if mine is not its and not cases.both_nan(mine, its):
                self.different.append((region, each, mine, its))
        if not known and different == len(self.different):
            self.known.add(key)


def operations(region):
    """Return the number of operations of a region in the source, of any case."""
    found = set()
    for _, result in cases.every(cases.Oracle(), lambda _: of_source(region)):
        waiting = [result]
        while waiting:
            one = waiting.pop()
            if one.number not in found:
                found.add(one.number)
                waiting += [x for x in one.args if isinstance(x, graph.Node)]
    kinds = ("add", "mul", "div", "fma", "fnma")
    return sum(graph.Node.listed[number].kind in kinds for number in found)


# --- compilers


def entry(region):
    """Make the entry point of a region's loops."""

    def loops(f, p, out, n):
        FILL(region, f, p, f, out, n)

    return loops


def by_llvm(machine, region, change=lambda assembly: assembly):
    """Return the machine code of a region's loops, as the package makes it."""
    function = entry(getattr(fast_integer, region))
    signature = "float64*, float64*, float64*, int64"
    code = jit.Native(function, signature, f"riskcore.{region}").code()
    code = code._replace(assembly=change(code.assembly))
    return Program(jit.machine_code(code, machine).partition(b"\n")[2])


def by_c(command, change=lambda text: text):
    """Return the machine code of all loops by a C compiler; `change` edits the text."""
    text = change((C / "riskcore.c").read_text())
    # Each region by itself.
    text = re.sub(
        r"^RISKCORE_PLAIN (?=void risk_b)", "RISKCORE_KERNEL ", text, flags=re.M
    )
    start = re.search(r"^RISKCORE_\w+ void risk_blocks_fill\(", text, re.M).start()
    end = text.index("\n}\n", start) + 3  # what comes later is not needed
    for region in REGIONS:
        number = getattr(fast_integer, region)
        text = (
            f"{text[:end]}\nvoid riskcore_{region}(double *f, double *p, double *out,"
        )
        text += " int64_t n)\n{\n"
        text += f"    risk_blocks_fill({number}, f, p, f, out, n);\n}}\n"
        end = len(text)
    with tempfile.TemporaryDirectory() as folder:
        code, made = Path(folder, "kernels.c"), Path(folder, "kernels.o")
        code.write_text(text)
        words = [*command.split(), "-DRISKCORE_NO_CLONES", f"-I{C}", "-c"]
        output(*words, "-o", str(made), str(code))
        return Program(made.read_bytes())
