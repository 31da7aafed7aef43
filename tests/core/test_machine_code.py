"""Does the comparison of machine code with the source hold, and see a change?"""

import re
from importlib import import_module

import pytest

from tests import needs

cases = import_module("bench.proof.cases")
graph = import_module("bench.proof.graph")
machine_code = import_module("bench.proof.machine_code")
jit = import_module("riskcore.core.compiled.jit")

pytestmark = [needs.x86, needs.binutils]
FEW = (1, 6, 14, 32)


def compared(program, region):
    comparison = machine_code.Comparison(program)
    comparison.region(region, FEW)
    return comparison


@pytest.mark.compiles
@pytest.mark.parametrize("region", ["LEVELS", "ONE"])
def test_machine_code_of_this_processor_does_what_the_source_does(region):
    comparison = compared(machine_code.by_llvm(jit._machine()[0], region), region)
    assert comparison.cases >= 4
    assert comparison.different == []


def fastmath(assembly):
    """Return LLVM code that lets operations be reordered and fused."""
    return re.sub(r"= (fadd|fsub|fmul) (?=<|double)", r"= \1 fast ", assembly)


@pytest.mark.compiles
def test_reordered_operations_are_seen():
    machine = jit._machine()[0]
    comparison = compared(machine_code.by_llvm(machine, "LEVELS", fastmath), "LEVELS")
    assert comparison.different


def unchanged(text):
    return text


def contracted(text):
    return text.replace("-ffp-contract=off", "-ffp-contract=fast")


def fast(text):
    return text.replace("-ffp-contract=off", "-ffast-math")


@needs.compiler
@pytest.mark.parametrize(
    ("change", "same"), [(unchanged, True), (contracted, False), (fast, False)]
)
def test_code_of_the_c_compiler(change, same):
    program = machine_code.by_c("cc -O2 -march=haswell", change)
    assert (compared(program, "LEVELS").different == []) == same


def factors(*numbers):
    """Return x^2 - y^2 in three ways; two differ in the order of a sum."""
    x, y = (graph.make("input", name) for name in numbers)
    return (x + y) * (x - y), (x - y) * (y + x), x * x - y * y


def test_graphs_are_the_same_up_to_order_alone():
    one, two, other = factors("x", "y")
    assert one is two
    assert one is not other


@pytest.mark.parametrize("x", [0.0, -0.0, 1.5, -3.0, float("inf")])
@pytest.mark.parametrize("y", [0.0, -0.0, 0.1, -1.5, 2.0**-1074])
def test_rewrites_give_the_same_bits(x, y):
    """Every rewrite of sums: compare a graph of constants with one of inputs."""

    def forms(x, y):
        s = x + (y + 0.0)
        yield from (s - (s - y), 0.0 + (x - y), 1.0 - (y - x), (x * 2.0) + y + 0.0)
        yield from (-x * y, x - -y, (x - x) - (y - s), y + y, -(x * -y) + 0.0)

    inputs = [graph.make("input", name) for name in "xy"]
    direct = list(forms(graph.node(x), graph.node(y)))
    names = {"x": graph.node(x), "y": graph.node(y)}
    for built, expected in zip(forms(*inputs), direct, strict=True):
        found = cases.at(built, names)
        assert found is expected or cases.both_nan(found, expected)
