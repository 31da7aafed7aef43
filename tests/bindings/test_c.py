"""The C files: current, the bits of the ufuncs, no library but fma and sqrt."""

import ctypes
import re
import shutil
import subprocess
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

import riskcore
from bindings import write_c
from bindings.c_kernel import UntranslatableError
from riskcore.core.compiled import jit
from riskcore.core.compiled.ufunc_maker import made_from
from tests import needs

FOLDER = Path(__file__).parents[2] / "bindings"
CODE = FOLDER / "c" / "riskcore.c"


NAMES = [name for names in write_c.NAMES.values() for name in names]


WARNINGS = ["all", "extra", "pedantic", "conversion", "shadow", "error"]


def compiled(folder, *flags, compiler="cc"):
    library = folder / "riskcore.so"
    flags = ["-std=c99", *[f"-W{name}" for name in WARNINGS], *flags]
    command = [compiler, *flags, "-fPIC", "-shared", "-o", library, CODE]
    subprocess.run([*command, "-lm"], check=True)
    return ctypes.CDLL(str(library))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("c"), "-O0")


def points(name, n):
    """Return arguments over all regions, at their borders, and outside the domain."""
    rng = np.random.default_rng(7)
    f = np.where(rng.random(n) < 0.6, rng.integers(1, 40, n), rng.random(n) * 20)
    f[::9] = np.exp(rng.uniform(-700, 700, len(f[::9])))
    p = np.where(rng.random(n) < 0.5, rng.random(n), np.exp(rng.uniform(-745, 0, n)))
    p[::5] = 1 - np.exp(rng.uniform(-37, 0, len(p[::5])))
    f[1:40:3], p[2:44:3] = np.nan, [0, -1, 2, np.inf, 1, 5e-324, np.nan] * 2
    f[40:48] = [0, -1, np.inf, 5e-324, 2.0**50, 2.0**53, 1e308, 16]
    with np.errstate(all="ignore"):
        known = {
            "f": f,
            "p": p,
            "F": f / p,
            "shape": f * rng.random(n) * 3,
            "mu": f / p,
        }
    scalar = made_from(getattr(riskcore, name))[0].scalar
    return [known[each] for each in signature(scalar).parameters]


def on_arrays(library, name, arguments, results):
    out = [np.full(len(arguments[0]), -7.0) for _ in range(results)]
    places = [ctypes.c_void_p(each.ctypes.data) for each in (*arguments, *out)]
    call = getattr(library, f"riskcore_{name}_array")
    call.restype = None
    call(*places, ctypes.c_int64(len(arguments[0])))
    return out


def same_bits(a, b):
    return a.view(np.int64) == b.view(np.int64)


NAN = 0x7FF8000000000000  # the bits of every nan that is returned
# Others, signaling ones and negative ones among them, and numbers outside a domain.
BAD = np.array([NAN, NAN + 5, -5, -(2**51), 0x7FF0000000000001], np.int64).view(float)
BAD = np.concatenate([BAD, [np.inf, -np.inf, 0.0, -0.0, -1.0]])
GOOD = [0.5, 1.0, 2.0, 40.0, 5e-324, 1.7976931348623157e308]


@pytest.mark.parametrize("name", NAMES)
def test_every_nan_has_the_same_bits(library, name):
    function = getattr(riskcore, name)
    grid = np.meshgrid(*[[*BAD, *GOOD]] * function.nin)
    arguments = [np.ascontiguousarray(each.ravel()) for each in grid]
    arrays = np.atleast_2d(np.asarray(function(*arguments)))
    for results in (*arrays, *on_arrays(library, name, arguments, function.nout)):
        assert np.isnan(results).mean() > 0.5
        assert set(results[np.isnan(results)].view(np.int64)) == {NAN}


def test_special_values():
    smallest, largest, tiny = 5e-324, 1.7976931348623157e308, 2.0**-1024
    for name, f, p, expected in [
        ("", 3.0, 1.0, 1 / 3), ("", tiny, 1.0, np.inf), ("_gradient", 6.0, 1.0, 1 / 7),
        ("_from_frequencies", 7.0, 7.0, 1 / 7), ("_down", tiny, 0.5, largest),
        ("_from_frequencies", tiny, tiny, np.inf), ("_down", 1e300, 1e-300, 0.0),
        ("_up", 1e300, 1e-300, smallest), ("_up", tiny, 0.5, np.inf),
    ]:  # fmt: skip
        assert getattr(riskcore, f"individual_risk{name}")(f, p) == expected
    assert str(riskcore.log_individual_risk(1.0, 1.0)) == "0.0"


def test_files_are_what_would_be_written():
    jit.register_with_numba()  # what Numba has been told is still known
    for name, text in write_c.texts().items():
        assert (FOLDER / "c" / name).read_text() == text, f"{name}: run nox -s c"


@needs.compiler
@pytest.mark.parametrize("name", NAMES)
def test_arrays_have_the_bits_of_the_ufunc(library, name):
    function = getattr(riskcore, name)
    slow = name.endswith(("prior", "poisson", "deviation"))
    arguments = points(name, 1_200 if slow else 12_000)
    found = on_arrays(library, name, arguments, function.nout)
    expected = np.atleast_2d(np.asarray(function(*arguments)))
    for one, other in zip(found, expected, strict=True):
        assert same_bits(one, np.ascontiguousarray(other)).all()
    assert np.isfinite(expected).any()
    assert np.isnan(expected).any()


@needs.compiler
@pytest.mark.parametrize("name", NAMES)
def test_single_cells_have_the_bits_of_arrays(library, name):
    function = getattr(riskcore, name)
    arguments = points(name, 400)
    expected = np.atleast_2d(np.asarray(function(*arguments)))
    call = getattr(library, f"riskcore_{name}")
    numbers = [
        [ctypes.c_double(x) for x in row] for row in zip(*arguments, strict=True)
    ]
    if function.nout == 1:
        call.restype = ctypes.c_double
        found = np.array([[call(*row) for row in numbers]])
    else:
        call.restype, pairs = None, []
        for row in numbers:
            out = [ctypes.c_double() for _ in range(function.nout)]
            call(*row, *map(ctypes.byref, out))
            pairs.append([each.value for each in out])
        found = np.array(pairs).T.copy()
    assert same_bits(found, np.ascontiguousarray(expected)).all()


@needs.compiler
def test_a_result_may_replace_an_argument(library):
    f, p = points("individual_risk", 5_000)
    expected = riskcore.individual_risk(f, p)
    out = p.copy()
    places = [ctypes.c_void_p(each.ctypes.data) for each in (f, out, out)]
    library.riskcore_individual_risk_array(*places, ctypes.c_int64(len(f)))
    assert same_bits(out, expected).all()
    library.riskcore_individual_risk_array(*places, ctypes.c_int64(0))
    assert same_bits(out, expected).all()


@needs.compiler
@needs.x86
def test_other_floating_point_modes_change_nothing_and_stay(library, tmp_path):
    source = tmp_path / "mode.c"
    source.write_text("""
#include <xmmintrin.h>
void set(unsigned mode) { _mm_setcsr(mode); }
unsigned get(void) { return _mm_getcsr(); }
""")
    command = ["cc", "-shared", "-fPIC", "-o", tmp_path / "mode.so", source]
    subprocess.run(command, check=True)
    mode = ctypes.CDLL(str(tmp_path / "mode.so"))
    f, p = points("individual_risk", 2_000)
    expected = riskcore.individual_risk(f, p)
    upwards_and_flushed = 0x1F80 | 0x4000 | 0x8040
    usual = mode.get()
    mode.set(upwards_and_flushed)
    try:
        (found,) = on_arrays(library, "individual_risk", [f, p], 1)
        left = mode.get()
    finally:
        mode.set(usual)
    assert left & ~0x3F == upwards_and_flushed
    assert same_bits(found, expected).all()


@needs.compiler
@pytest.mark.parametrize(
    "flag", ["-ffast-math", "-Ofast", "-fassociative-math -fno-signed-zeros -O1"]
)
def test_fast_math_is_refused(flag, tmp_path):
    flags = [*flag.split(), "-fno-trapping-math"]
    command = ["cc", "-std=c99", *flags, "-fsyntax-only", CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "without -ffast-math" in done.stderr


@needs.compiler
def test_only_fma_and_sqrt_of_the_library_are_called(library):
    listed = subprocess.run(
        ["nm", "-D", "--undefined-only", library._name],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    called = {re.sub(r"@.*", "", line.split()[-1]) for line in listed.splitlines()}
    ours = {each for each in called if not each.startswith("_")}
    assert ours <= {"fma", "sqrt", "memcpy", "memset", "memmove"}
    assert "fma" in ours


def test_unknown_source_is_refused():
    def kernel(x):
        return [x]

    with pytest.raises(UntranslatableError, match="List"):
        write_c.Whole().translation(kernel, ("double",))


@pytest.mark.slow
@needs.compiler
@pytest.mark.parametrize("compiler", [*filter(shutil.which, ["gcc", "clang"])])
@pytest.mark.parametrize("flags", ["-O1", "-O2", "-O3 -march=native"])
def test_every_optimization_gives_the_same_bits(compiler, flags, tmp_path):
    library = compiled(tmp_path, *flags.split(), compiler=compiler)
    for name in NAMES:
        arguments = points(name, 3_000)
        function = getattr(riskcore, name)
        found = on_arrays(library, name, arguments, function.nout)
        expected = np.atleast_2d(np.asarray(function(*arguments)))
        for one, other in zip(found, expected, strict=True):
            assert same_bits(one, np.ascontiguousarray(other)).all(), name


@pytest.mark.slow
@needs.compiler
@pytest.mark.parametrize("compiler", [*filter(shutil.which, ["gcc", "clang"])])
def test_two_versions_in_one_library_have_the_same_bits(compiler, tmp_path):
    more = [CODE.with_name("riskcore_fma.c"), "-DRISKCORE_DISPATCH"]
    library = compiled(tmp_path, "-O1", *more, compiler=compiler)
    for name in NAMES:
        arguments = points(name, 3_000)
        function = getattr(riskcore, name)
        expected = np.atleast_2d(np.asarray(function(*arguments)))
        found = on_arrays(library, name, arguments, function.nout)
        for one, other in zip(found, expected, strict=True):
            assert same_bits(one, np.ascontiguousarray(other)).all(), name
