"""Pointers to C functions, and the examples of notes/embedding.md."""

import ctypes
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numba
import numpy as np
import pytest
from scipy import LowLevelCallable
from scipy.integrate import quad

import riskcore
from riskcore.core import embed
from riskcore.core import published_forms as forms
from riskcore.core.embed import c_array_function, c_function, c_integrand
from tests import needs

PAGE = Path(__file__).parents[2] / "notes" / "embedding.md"


F = np.array([1.0, 2.0, 3.0, 0.7, 20.0, 400.0, 2000.0, 5.5, -1.0])
P = np.array([0.01, 0.2, 0.5, 0.03, 0.9, 0.4, 1e-6, 0.25, 0.5])


def arrays(pointer, *values, n):
    """Call a C function of arrays on NumPy's."""
    kinds = pointer.argtypes
    pointer(
        *[a.ctypes.data_as(kind) for a, kind in zip(values, kinds, strict=False)], n
    )


def test_every_ufunc_has_a_name():
    public = [getattr(riskcore, name) for name in riskcore.__all__]
    ufuncs = {value.__name__ for value in public if isinstance(value, np.ufunc)}
    assert ufuncs == set(embed.NAMES)


# --- the pointers ----------------------------------------------------------------


def test_declarations():
    name = "individual_risk_from_frequencies"
    assert c_function(name).declaration == f"double {name}(double f, double F);"
    assert c_array_function(name).declaration == (
        f"void {name}(const double *f, const double *F, double *out, int64_t n);"
    )
    assert c_integrand("individual_risk").declaration == (
        "double individual_risk(int n, double *x);"
    )


@pytest.mark.parametrize("make", [c_function, c_array_function, c_integrand])
def test_one_pointer_for_a_function(make):
    pointer = make("individual_risk")
    assert pointer is make("individual_risk")
    assert pointer is make(riskcore.individual_risk)
    assert pointer is not make(forms.series7)
    assert ctypes.cast(pointer, ctypes.c_void_p).value == pointer.address


def test_array_function_keeps_to_its_n_cells():
    out = np.full(9, -1.0)
    pointer = c_array_function("individual_risk")
    arrays(pointer, F, P, out, n=0)
    assert (out == -1).all()
    arrays(pointer, F, P, out, n=4)
    assert out[:4].tobytes() == riskcore.individual_risk(F[:4], P[:4]).tobytes()
    assert (out[4:] == -1).all()


def test_array_function_over_its_argument():
    n = 2000  # more than a block
    f, p = np.resize(F, n), np.resize(P, n)
    expected = riskcore.individual_risk(f, p)
    arrays(c_array_function("individual_risk"), f, p, p, n=n)
    assert p.tobytes() == expected.tobytes()


def test_forms():
    assert c_function(forms.truncated)(3, 0.1, 4) == forms.truncated(3, 0.1, 4)
    assert c_integrand(forms.series7)(2, (ctypes.c_double * 2)(0.1, 3)) == (
        forms.series7(3, 0.1)
    )


def test_several_results():
    name = "individual_risk_bounds"
    for make in (c_function, c_integrand):
        with pytest.raises(TypeError, match="2 results: use c_array_function"):
            make(name)
    pointer, lower, upper = c_array_function(name), np.empty(9), np.empty(9)
    assert pointer.declaration == (
        f"void {name}(const double *f, const double *p, double *out1, double *out2, "
        "int64_t n);"
    )
    arrays(pointer, F, P, lower, upper, n=9)
    expected = riskcore.individual_risk_bounds(F, P)
    assert lower.tobytes() == expected[0].tobytes()
    assert upper.tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("make", [c_function, c_array_function, c_integrand])
def test_refusals(make):
    with pytest.raises(
        ValueError, match="'household_risk' in riskcore: use one of ind"
    ):
        make("household_risk")
    for other in (np.log, riskcore.household_risk, 3):
        with pytest.raises(TypeError, match="not a ufunc of riskcore"):
            make(other)


def test_an_integrand_has_two_arguments():
    with pytest.raises(TypeError, match="truncated has 3 arguments"):
        c_integrand(forms.truncated)


def test_threads_that_ask_first_get_one_pointer(python):
    code = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from riskcore.embed import c_array_function, c_function
barrier = Barrier(8)
def ask(k):
    barrier.wait()
    return (c_function if k % 2 else c_array_function)("individual_risk")
with ThreadPoolExecutor(8) as pool:
    print(len(set(map(id, pool.map(ask, range(8))))))
"""
    assert python(code) == "2"


def test_a_warm_process_needs_no_numba(python):
    c_function("individual_risk")
    code = """
import sys
from riskcore.embed import c_array_function, c_function
c_array_function("individual_risk")
print(c_function("individual_risk")(1, 0.5), "numba" in sys.modules)
"""
    assert python(code) == "0.6931471805599453 False"


def test_many_threads_at_once():
    n, pointer = 50_000, c_array_function("individual_risk")
    f, p = np.resize(F, n), np.resize(P, n)
    expected = riskcore.individual_risk(f, p)
    barrier = Barrier(4)

    def run(_):
        out = np.empty(n)
        barrier.wait()
        arrays(pointer, f, p, out, n=n)
        return out.tobytes()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(run, range(4))) == {expected.tobytes()}


# --- other callers ---------------------------------------------------------------


def test_in_compiled_code():
    one, many = c_function("individual_risk"), c_array_function("individual_risk")

    @numba.njit
    def both(f, p, out):
        many(f.ctypes, p.ctypes, out.ctypes, len(f))
        worst = 0.0
        for i in range(len(f)):
            worst = max(worst, abs(out[i] - one(f[i], p[i])))
        return worst

    out = np.empty(8)
    assert both(F[:8].copy(), P[:8].copy(), out) == 0
    assert out.tobytes() == riskcore.individual_risk(F[:8], P[:8]).tobytes()


def test_scipy_takes_the_pointers():
    assert LowLevelCallable(c_function("individual_risk")).signature == (
        "double (double, double)"
    )
    pointer = LowLevelCallable(c_integrand("individual_risk"))
    assert pointer.signature == "double (int, double *)"
    by_pointer = quad(pointer, 0.01, 0.02, args=(1.0,))
    assert by_pointer == quad(lambda p: riskcore.individual_risk(1.0, p), 0.01, 0.02)


def blocks(language):
    """Return the examples of the page in one language."""
    found = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    return found


@pytest.fixture
def library_of_the_page(tmp_path, monkeypatch):
    """Compile the page's example in C; the current folder is then that of cells.so."""
    (tmp_path / "cells.c").write_text("\n".join(blocks("c")))
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command = ["cc", "-O2", *strict, "-shared", "-fPIC", "cells.c", "-o", "cells.so"]
    subprocess.run(command, check=True, cwd=tmp_path)
    monkeypatch.chdir(tmp_path)


@needs.compiler
@pytest.mark.usefixtures("library_of_the_page")
def test_examples_of_the_page():
    # In this process, where other tests too have compiled the kernels with Numba.
    page = {}
    exec("\n".join(blocks("python")), page)
    fraction, uniform, rising = page["fraction"], page["total"] / 0.01, page["mean"]
    assert page["unsafe"] == 600_000
    at, above = riskcore.individual_risk(1, [fraction, np.nextafter(fraction, 1)])
    assert at <= 0.1 < above
    assert 0.0465 < uniform < rising < riskcore.individual_risk(1, 0.02)


@needs.compiler
@pytest.mark.usefixtures("library_of_the_page")
def test_the_example_in_c_needs_the_first_block_alone():
    first, *others = blocks("python")
    (in_c,) = (block for block in others if "CDLL" in block)
    page = {}
    exec(first + in_c, page)
    assert page["f"].dtype == page["p"].dtype == np.float64  # what C reads
    assert page["unsafe"] == 3


@pytest.mark.compiles
@needs.compiler
def test_example_in_cython(python, tmp_path):
    (tmp_path / "mean.pyx").write_text("\n".join(blocks("cython")))
    subprocess.run(
        [sys.executable, "-m", "Cython.Build.Cythonize", "-iq", "mean.pyx"],
        check=True,
        cwd=tmp_path,
        env={**os.environ, "CFLAGS": "-O0"},  # sooner compiled
    )
    code = "import mean, numpy; print(mean.mean_risk(numpy.ones(3), 0.5))"
    assert float(python(f"import sys; sys.path.append({str(tmp_path)!r}); {code}")) == (
        pytest.approx(float(np.log(2)), rel=1e-15)
    )
