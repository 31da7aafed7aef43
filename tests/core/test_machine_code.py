"""Does the comparison of machine code with the source hold, and see a change?"""

import itertools
import re
import tempfile
from importlib import import_module
from pathlib import Path

import pytest

from tests import needs

cases = import_module("bench.proof.cases")
graph = import_module("bench.proof.graph")
machine_code = import_module("bench.proof.machine_code")
programs = import_module("bench.proof.program")
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


def reordered(text):
    before = "t_low + (x_low - shift_low)"
    assert before in text
    return text.replace(before, "(t_low + x_low) - shift_low")


@needs.compiler
@pytest.mark.parametrize(
    ("change", "same"), [(unchanged, True), (contracted, False), (reordered, False)]
)
def test_first_cases_of_real_frequencies(monkeypatch, change, same):
    """All cases take a minute; the first ones see what changes every one."""
    every = cases.every
    monkeypatch.setattr(cases, "every", lambda *args: itertools.islice(every(*args), 8))
    program = machine_code.by_c("cc -O2 -march=haswell", change)
    comparison = machine_code.Comparison(program, machine_code.WITH_SIGN)
    comparison._cells("FORWARD_REAL", "riskcore_FORWARD_REAL", 1)
    assert comparison.cases >= 8
    assert (comparison.different == []) == same


NEAREST = "x * 1.25 + (x > 0.0 ? 0.5 : -0.5)"
MULTIPLES = """
#include <stdint.h>
void multiples(double *f, double *p, double *out, int64_t n)
{{
    for (int64_t i = 0; i < n; i++) {{
        double x = f[i], k = {};
        out[i] = p[i] - k * 3.0;
    }}
}}
"""


def different(command, k, real):
    """Return the cases in which C code does not give p - 3 k, k nearest 5/4 f."""
    text = MULTIPLES.format(k).encode()
    with tempfile.NamedTemporaryFile(suffix=".o") as made:
        words = [*command.split(), "-ffp-contract=off", "-x", "c", "-", "-c"]
        programs.output(*words, "-o", made.name, input=text)
        program = programs.Program(Path(made.name).read_bytes())

    def run(each):
        f, p = (graph.make("input", name) for name in ("f0", "p0"))
        k = real(machine_code.whole(f * 1.25 + (0.5 if f > 0.0 else -0.5)))
        (mine,), _ = machine_code.of_code(program, "multiples", 1)
        return each.under(mine), each.under(p - k * 3.0)

    found = [pair for _, pair in cases.every(cases.Oracle(), run)]
    assert len(found) == 4
    return [pair for pair in found if pair[0] is not pair[1]]


@needs.compiler
@pytest.mark.parametrize(
    ("k", "count"),
    [
        (f"(double)(int64_t)({NEAREST})", 0),
        (f"-(double)(int64_t)(-({NEAREST}))", 4),  # -0 for 0
        (f"(double)(int64_t)({NEAREST.replace('>', '>=')})", 1),  # for 0
        ("(double)(int64_t)(x * 1.25)", 4),
        (f"(double)({NEAREST})", 4),
    ],
)
def test_numbers_that_are_cut(k, count):
    assert len(different("cc -O2", k, machine_code.real)) == count


@needs.compiler
def test_gcc_keeps_the_sign_of_numbers_that_are_cut():
    command, k = "gcc -O2 -msse4.1 -fno-trapping-math", f"(double)(int64_t)({NEAREST})"
    assert len(different(command, k, machine_code.real)) == 4
    assert different(command, k, machine_code.real_with_sign) == []


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


def cut_numbers(x):
    """Return a number cut after it is rounded down, in forms that differ at zeros."""
    y = x - 0.5
    whole = graph.to_double(graph.to_integer(y))
    yield from (whole, -whole, graph.truncated(y), graph.truncated(0.5 - x))
    yield from (graph.truncated(-y), 2.0 * whole - 0.0, whole + graph.truncated(-y))
    yield graph.to_double(graph.to_integer(-graph.truncated(x)))
    yield graph.plus_zero(graph.truncated(0.5 - x)) - x


@pytest.mark.parametrize("x", [0.0, -0.0, 0.5, 0.25, -0.25, 1.5, -1.75, 2.0**40])
def test_rewrites_of_cut_numbers_give_the_same_bits(x):
    """That is: the same as operations on constants."""
    number = graph.node(x)
    inputs = cut_numbers(graph.make("input", "x"))
    for built, expected in zip(inputs, cut_numbers(number), strict=True):
        assert cases.at(built, {"x": number}) is expected


def test_cut_numbers_have_one_form():
    x = graph.make("input", "x")
    y = x - 0.5
    whole = graph.to_double(graph.to_integer(y))
    cut = graph.truncated(y)
    assert graph.to_double(graph.to_integer(cut)) is whole
    assert graph.to_double(graph.to_integer(-(0.5 - x))) is whole
    assert graph.plus_zero(-graph.truncated(0.5 - x)) is whole
    assert graph.truncated(-y) is -cut
    # -1/4 is cut to -0, and 0 is not -(0.5 - 0.5).
    assert cut is not whole
    assert cut is not -graph.truncated(0.5 - x)
    assert -graph.to_double(graph.to_integer(-y)) is not whole
    assert all(cases.renamed(one, {}) is one for one in cut_numbers(x))
