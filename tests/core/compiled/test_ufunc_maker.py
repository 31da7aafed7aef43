"""The functions behave as NumPy's own ufuncs do."""

import copy
import doctest
import math
import pickle
import subprocess
import sys

import cloudpickle
import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import riskcore
from riskcore.core import embed
from riskcore.core import published_forms as forms
from riskcore.core.compiled.jit import kernel
from riskcore.core.compiled.ufunc_maker import elementwise

r = riskcore.individual_risk

F = np.array([1.0, 2.0, 3.0, 0.7, 20.0, 400.0, 2000.0, 5.5])
P = np.array([0.01, 0.2, 0.5, 0.03, 0.9, 0.4, 1e-6, 0.25])
EXPECTED = np.array([r(f, p) for f, p in zip(F, P, strict=True)])

UFUNCS = [
    riskcore.individual_risk,
    riskcore.individual_risk_from_frequencies,
    riskcore.log_individual_risk,
    riskcore.individual_risk_gradient,
    forms.truncated,
    forms.sufficient_order,
]


def assert_same(got, expected=EXPECTED):
    assert np.asarray(got).dtype == np.float64
    assert np.asarray(got).tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_is_a_ufunc(ufunc):
    assert isinstance(ufunc, np.ufunc)
    assert ufunc.nout == 1
    assert "d" * ufunc.nin + "->d" in ufunc.types
    assert ufunc.__name__.isidentifier()
    assert "Parameters\n" in ufunc.__doc__ or "Examples\n" in ufunc.__doc__


@pytest.mark.parametrize("dtype", ["i1", "i8", "u4", "u8", "f4", "f8", ">f8", ">i4"])
def test_types_of_the_frequency(dtype):
    f = np.arange(1, 9).astype(dtype)
    # P are doubles, and two whole numbers make a double.
    assert_same(r(f, P), r(np.arange(1.0, 9.0), P))


def test_overlapping_memory():
    n = 3000  # more than one block
    memory = np.linspace(1, 50, n + 3)
    expected = r(memory[:n].copy(), 0.3)
    r(memory[:n], 0.3, out=memory[3:])
    assert_same(memory[3:], expected)


def test_step_of_zero():
    assert_same(r(np.broadcast_to(2.0, 2000), 0.1), [r(2.0, 0.1)] * 2000)
    p = np.resize(P, 2000)
    assert_same(r(np.broadcast_to(2.0, 2000), p), [r(2.0, x) for x in p])


def test_what_numpy_does_with_ufuncs():
    table = r(F[:, None], P)
    assert table.shape == (8, 8)
    assert_same(np.diag(table))
    assert r(np.ones((3, 0)), 0.5).shape == (3, 0)
    assert type(r(np.array(3.0), 0.5)) is np.float64
    out, where = np.full(8, -1.0), np.arange(8) % 3 == 0
    assert r(F, P, out=out, where=where) is out
    assert_same(out[where], EXPECTED[where])
    assert (out[~where] == -1).all()
    with pytest.raises(TypeError, match="cast"):
        r(F, P, out=np.zeros(8, np.int64))
    for wrong in ("text", 1j, None, np.longdouble(3), np.datetime64("2020")):
        with pytest.raises(TypeError):
            r(wrong, 0.5)


def test_what_other_libraries_do_with_ufuncs():
    f = pd.Series(F, index=list("abcdefgh"))
    assert list(r(f, pd.Series(P, index=f.index)).index) == list("abcdefgh")
    nullable = r(pd.Series([1, 2, None], dtype="Float64"), 0.5)
    assert nullable.isna().tolist() == [False, False, True]
    assert isinstance(r(pl.Series("f", F), pl.Series("p", P)), pl.Series)
    named = r(xr.DataArray(F, dims="cell"), xr.DataArray(P[:2], dims="scenario"))
    assert named.dims == ("cell", "scenario")
    lazy = r(da.from_array(F, chunks=3), da.from_array(P, chunks=3))
    assert_same(lazy.compute(scheduler="threads"))
    masked = r(np.ma.array(F, mask=[True] + [False] * 7), P)
    assert_same(masked.data[1:], EXPECTED[1:])


# --- identity --------------------------------------------------------------------


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_pickles_by_name(ufunc):
    assert pickle.loads(pickle.dumps(ufunc)) is ufunc
    assert cloudpickle.loads(cloudpickle.dumps(ufunc)) is ufunc
    assert copy.copy(ufunc) is ufunc
    assert copy.deepcopy(ufunc) is ufunc


@pytest.mark.parametrize("ufunc", [r, forms.truncated], ids=["r", "truncated"])
def test_unpickles_in_another_process(ufunc, python):
    stored = pickle.dumps(ufunc).hex()
    code = f"import pickle; print(pickle.loads(bytes.fromhex('{stored}')).__name__)"
    assert python(code) == ufunc.__name__


# --- building --------------------------------------------------------------------


@kernel
def _scaled_sum(a: float, b: float, c: float) -> float:
    return a * b + c if a > 0 else math.nan


@kernel
def _positive_square(a: float) -> float:
    return a * a if a >= 0 else math.nan


@kernel
def _product_and_sum(a: float, b: float, c: float, d: float) -> float:
    return a * b + c * d if a > 0 else math.nan


@pytest.mark.parametrize(
    ("scalar", "arguments", "expected"),
    [
        (_positive_square, [np.arange(-8.0, 12)[::4][1:]], [math.nan, 0, 16, 64]),
        (_scaled_sum, [[1, 2, -1], 10.0, [5, 6, 7]], [15, 26, math.nan]),
        (_product_and_sum, [[1, 2, -1], 10.0, [5, 6, 7], 3], [25, 38, math.nan]),
    ],
)
def test_elementwise(scalar, arguments, expected):
    ufunc = elementwise(scalar.__name__[1:], scalar)
    assert ufunc.nin == len(arguments)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(ufunc(*arguments), expected)


# --- in compiled code ------------------------------------------------------------


IN_NUMBA = """
import math, numba
from riskcore import forms

one, other = forms.log_form, forms.closed_form  # soon compiled

@numba.njit
def total(f, p):
    total = 0.0
    for i in range(len(f)):
        total += one(f[i], p) + other(f[i], p)
    return total

import numpy as np
f = np.array([1.0, 2.0, 3.0])
expected = 0.0
for x in f:
    expected += one(x, 0.25) + other(x, 0.25)
assert total(f, 0.25) == expected, (total(f, 0.25), expected)
assert total(np.array([1, 2, 3]), 0.25) == expected
assert math.isnan(total(-f, 0.25))
print("same")
"""


def entry_points(folder, text):
    """Install only the package's entry point for Numba."""
    folder.joinpath("riskcore-0.dist-info").mkdir(parents=True)
    folder.joinpath("riskcore-0.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: riskcore\nVersion: 0\n"
    )
    folder.joinpath("riskcore-0.dist-info/entry_points.txt").write_text(text)


@pytest.mark.compiles
@pytest.mark.parametrize("first", ["import numba", "import riskcore.forms"])
def test_numba_calls_them(first, python, tmp_path):
    entry_points(
        tmp_path / "installed",
        "[numba_extensions]\ninit = riskcore.core.compiled.jit:register_with_numba\n",
    )
    code = f"import sys; sys.path.append({str(tmp_path / 'installed')!r})\n{first}\n"
    assert python(code + IN_NUMBA) == "same"


BY_ATTRIBUTE = """
import numba
import riskcore

@numba.njit(cache=True)
def total(f, p):
    total = 0.0
    for i in range(len(f)):
        total += riskcore.individual_risk(f[i], p) + riskcore.forms.series7(f[i], p)
    return total

@numba.njit(parallel=True, cache=True)
def all_at_once(f, p):
    found = f.copy()
    for i in numba.prange(len(f)):
        found[i] = riskcore.individual_risk(f[i], p)
    return found
"""
ITS_USE = """
import numpy as np
import users, riskcore
f = np.arange(1.0, 60.0)
found = users.all_at_once(f, 0.25)
assert found.tolist() == riskcore.individual_risk(f, 0.25).tolist()
expected = 0.0
for x in f:
    expected += riskcore.individual_risk(x, 0.25) + riskcore.forms.series7(x, 0.25)
assert users.total(f, 0.25) == expected
print(sum(users.total.stats.cache_hits.values()))
"""


@pytest.mark.compiles
def test_as_an_attribute_in_a_fresh_process_and_from_numbas_cache(python, tmp_path):
    entry_points(
        tmp_path,
        "[numba_extensions]\ninit = riskcore.core.compiled.jit:register_with_numba\n",
    )
    (tmp_path / "users.py").write_text(BY_ATTRIBUTE)
    here = f"import sys; sys.path.append({str(tmp_path)!r})\n"
    assert python(here + ITS_USE) == "0"
    assert python(here + ITS_USE) == "1"
    # The code in Numba's cache finds what the package has now.
    now = """
from riskcore.core.risk import individual
from riskcore.core.compiled import jit
jit._scalars["riskcore.core.risk.individual.individual_risk"] = lambda f, p: f * p
import numpy as np, users
print(users.all_at_once(np.array([1.0, 2.0]), 0.25))
"""
    assert python(here + now) == "[0.25 0.5 ]"


@pytest.mark.compiles
def test_where_numba_does_not_know_the_package_nothing_is_kept(python, tmp_path):
    (tmp_path / "users.py").write_text(BY_ATTRIBUTE)
    here = f"""
import sys, warnings, importlib.metadata
sys.path.append({str(tmp_path)!r})
importlib.metadata.entry_points = lambda **_: importlib.metadata.EntryPoints()
warnings.simplefilter("ignore")
"""
    assert python(here + ITS_USE) == "0"
    assert python(here + ITS_USE) == "0"


@pytest.mark.compiles
def test_machine_code_that_cannot_be_made_is_told_and_gives_nan(python):
    code = """
import numba, riskcore
from riskcore.core.compiled import jit

@numba.njit
def risk(f, p):
    return riskcore.individual_risk(f, p)

def fails(identity):
    raise OSError("no room")

jit.code_in_c = fails
print(risk(1.0, 0.5))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "nan\n"
    assert "OSError: no room" in done.stderr


@pytest.mark.parametrize(
    ("name", "start", "rest"),
    [
        ("individual_risk", 2.0, [0.5, 0.5, 0.9]),
        ("individual_risk_from_frequencies", 1, [2, 3, 4]),
        ("individual_risk_poisson", 2.0, [3, 4, 5]),
    ],
)
def test_reduce_and_accumulate_take_one_step_after_the_other(name, start, rest):
    function = getattr(riskcore, name)
    steps = [float(start)]
    for number in rest:
        steps.append(float(function(steps[-1], number)))
    assert function.accumulate([start, *rest]).tolist() == steps
    assert function.reduce([start, *rest]) == steps[-1]


def test_threads_that_ask_first_get_one_ufunc(python):
    code = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from riskcore.core.risk import individual
barrier = Barrier(8)
def ask(_):
    barrier.wait()
    return individual.individual_risk
with ThreadPoolExecutor(8) as pool:
    print(len(set(map(id, pool.map(ask, range(8))))))
"""
    assert python(code) == "1"


@pytest.mark.parametrize("name", embed.NAMES)
def test_the_examples_of_a_ufunc(name):
    # pytest collects doctests of functions and classes only.
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    text = getattr(riskcore, name).__doc__
    examples = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert examples.examples
    failed, _ = doctest.DocTestRunner(optionflags=flags).run(examples)
    assert failed == 0
