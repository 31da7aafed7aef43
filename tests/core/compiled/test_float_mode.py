"""The same bits in every floating-point mode, which is then as it was before."""

import ctypes
import subprocess
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

import riskcore
from riskcore.core import embed
from tests import needs

sys.path.append(str(Path(__file__).resolve().parents[3]))
same_bits = import_module("bench.same_bits")

pytestmark = needs.x86

# Bits of MXCSR, with the traps masked unless said otherwise.
MODES = {
    "subnormal results are zero": 0x9F80, "subnormal arguments are zero": 0x1FC0,
    "both": 0x9FC0, "down": 0x3F80, "up": 0x5F80,
    "towards zero, subnormals are zero": 0xFFC0, "traps": 0x0000,
}  # fmt: skip
MODE_BITS = 0xFFC0


@pytest.fixture(scope="module")
def control():
    """Return functions that read and write MXCSR."""
    module = ir.Module()
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
    for name in ("stmxcsr", "ldmxcsr"):
        function = ir.Function(module, kind, name)
        build = ir.IRBuilder(function.append_basic_block())
        build.call(ir.Function(module, kind, f"llvm.x86.sse.{name}"), function.args)
        build.ret_void()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    kind_in_c = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_uint32))
    store = kind_in_c(engine.get_function_address("stmxcsr"))
    load = kind_in_c(engine.get_function_address("ldmxcsr"))

    def read():
        value = ctypes.c_uint32()
        store(value)
        return value.value

    yield read, lambda value: load(ctypes.c_uint32(value))
    engine.close()


@contextmanager
def mode(control, bits):
    """Run in a mode; what ran must have left it as it was."""
    read, write = control
    before = read()
    write(bits)
    try:
        yield
        after = read()
    finally:
        write(before)
    assert after & MODE_BITS == bits & MODE_BITS


@pytest.mark.parametrize("name", same_bits.NAMES)
def test_ufuncs_give_the_same_bits(control, name):
    function = getattr(riskcore, name)
    arguments = same_bits.points(name, same_bits.fewer(name, 100))
    expected = np.asarray(function(*arguments))
    results = {}
    out = tuple(np.empty_like(expected).reshape(function.nout, -1))
    for each, bits in MODES.items():
        with mode(control, bits):
            function(*arguments, out=out)
        results[each] = np.reshape(out, expected.shape).tobytes()
    wrong = [each for each in MODES if results[each] != expected.tobytes()]
    assert not wrong


@pytest.mark.parametrize("name", ["individual_risk", "individual_risk_with_prior"])
def test_pointers_give_the_same_bits(control, name):
    arguments = [list(map(float, a[:40])) for a in same_bits.points(name, 4)]
    function = embed.c_function(name)
    expected = np.array(list(map(function, *arguments)))
    for bits in MODES.values():
        found = np.empty_like(expected)
        for i, given in enumerate(zip(*arguments, strict=True)):
            with mode(control, bits):
                value = function(*given)
            found[i] = value
        assert found.tobytes() == expected.tobytes()


def test_a_subnormal_fraction_ends(control):
    with mode(control, MODES["both"]):
        risk = riskcore.individual_risk(3, 2.6e-318)
    assert risk == riskcore.individual_risk(3, 2.6e-318) > 0


def test_numpy_sees_no_flags(control):
    with np.errstate(all="raise"), mode(control, MODES["up"]):
        riskcore.individual_risk([0.5, 3.0, 1e300], [5e-324, 0.3, 1e-300])


def test_a_loop_leaves_no_flag_that_numpy_warns_of(control):
    read, write = control
    cell = (ctypes.c_double * 3)(3.0, 0.3)
    doubles = ctypes.POINTER(ctypes.c_double)
    f, p, r = (ctypes.cast(ctypes.byref(cell, 8 * i), doubles) for i in range(3))
    loop = embed.c_array_function("individual_risk")
    write(read() | 0x3F)
    loop(f, p, r, 1)
    assert read() & 0x1D == 0
    assert cell[2] == riskcore.individual_risk(3, 0.3)


# Nothing that another process may find is made of numbers that Python has misread.
DIRECTED = """
import ctypes.util, sys
libm = ctypes.CDLL(ctypes.util.find_library("m"))
when = sys.argv[1]
if when == "import":
    libm.fesetround(0x800)
import riskcore.core.risk.individual
libm.fesetround(0x800 if when == "call" else 0)
try:
    riskcore.forms.franconi(2, 0.1)
except RuntimeError as error:
    libm.fesetround(0)
    print("refused" if "FE_TONEAREST" in str(error) else error)
"""


@pytest.mark.parametrize("when", ["import", "call"])
def test_no_code_is_compiled_in_another_rounding_direction(when, tmp_path, monkeypatch):
    monkeypatch.setenv("RISKCORE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RISKCORE_COMPILE", "1")
    run = [sys.executable, "-c", DIRECTED, when]
    result = subprocess.run(run, check=True, capture_output=True, text=True)
    assert result.stdout == "refused\n"
    assert not list(tmp_path.rglob("*.o"))
