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
    assert ufunc.types == ["d" * ufunc.nin + "->d"]
    assert ufunc.__name__.isidentifier()
    assert "Parameters\n" in ufunc.__doc__ or "Examples\n" in ufunc.__doc__


def test_broadcasts():
    table = r(F[:, None], P)
    assert table.shape == (8, 8)
    assert_same(np.diag(table))
    assert_same(r(F[:, None, None], P[:1]).ravel(), [r(f, P[0]) for f in F])
    with pytest.raises(ValueError, match="broadcast"):
        r(F, P[:3])
    assert_same(r.outer(F, P), table)
    assert r([], 0.5).shape == (0,)
    assert r(np.ones((3, 0)), 0.5).shape == (3, 0)


def test_scalars():
    assert type(r(3, 0.5)) is np.float64
    assert type(r(np.array(3.0), 0.5)) is np.float64
    assert r(np.array(3.0), 0.5, out=np.zeros(())).shape == ()


@pytest.mark.parametrize("dtype", ["i1", "i8", "u4", "u8", "f4", "f8", ">f8", ">i4"])
def test_types_of_the_frequency(dtype):
    f = np.arange(1, 9).astype(dtype)
    # float32 comes out as float64 too: a float32 is a double given in few digits.
    assert_same(r(f, P), r(np.arange(1.0, 9.0), P))


def test_other_types():
    assert_same(r(np.array([True, True]), 0.5), [r(1, 0.5)] * 2)
    half = P.astype(np.float32)
    assert_same(r(F, half), r(F, half.astype(float)))
    for wrong in ("text", 1j, None, np.longdouble(3), np.datetime64("2020")):
        with pytest.raises(TypeError):
            r(wrong, 0.5)


def test_out():
    out = np.full(8, -1.0)
    assert r(F, P, out=out) is out
    assert_same(out)
    with pytest.raises(TypeError, match="cast"):
        r(F, P, out=np.zeros(8, np.int64))
    single = r(F, P, out=np.zeros(8, np.float32), casting="same_kind")
    assert np.array_equal(single, EXPECTED.astype(np.float32))


def test_where_leaves_other_elements_alone():
    out, where = np.full(8, -1.0), np.arange(8) % 3 == 0
    r(F, P, out=out, where=where)
    assert_same(out[where], EXPECTED[where])
    assert (out[~where] == -1).all()


def test_out_may_be_an_argument():
    for position in (0, 1):
        arguments = [F.copy(), P.copy()]
        assert_same(r(*arguments, out=arguments[position]))


def test_overlapping_memory():
    n = 3000  # more than one block
    memory = np.linspace(1, 50, n + 3)
    expected = r(memory[:n].copy(), 0.3)
    r(memory[:n], 0.3, out=memory[3:])
    assert_same(memory[3:], expected)


def strided(values):
    """Yield views of every kind with the given values."""
    yield values.copy()[::-1][::-1]
    yield values[::-1].copy()[::-1]
    yield np.repeat(values, 3)[::3]
    yield np.frombuffer(b"\0" + values.tobytes(), float, offset=1)
    yield np.asfortranarray(np.vstack([values, values]))[1]
    packed = np.zeros(len(values), [("odd", "i4"), ("value", "f8")])
    packed["value"] = values
    yield packed["value"]
    yield values.astype(">f8")


def test_strides_alignment_and_byte_order():
    views_f, views_p = list(strided(F)), list(strided(P))
    assert not views_f[3].flags.aligned
    for f in views_f:
        for p in views_p:
            assert_same(r(f, p))
    for target in strided(np.zeros(8)):
        if target.flags.writeable:
            assert np.array_equal(r(F, P, out=target), EXPECTED)


def test_step_of_zero():
    assert_same(r(np.broadcast_to(2.0, 2000), 0.1), [r(2.0, 0.1)] * 2000)
    p = np.resize(P, 2000)
    assert_same(r(np.broadcast_to(2.0, 2000), p), [r(2.0, x) for x in p])


def test_memory_orders():
    f, p = np.resize(F, (30, 40)), np.resize(P, (30, 40))
    result = r(np.asfortranarray(f), np.asfortranarray(p))
    assert result.flags.f_contiguous
    assert_same(result.ravel(), r(f.ravel(), p.ravel()))
    assert_same(r(f.T, p.T).T.ravel(), r(f.ravel(), p.ravel()))


# --- other libraries -------------------------------------------------------------


def test_pandas():
    f = pd.Series(F, index=list("abcdefgh"), name="f")
    result = r(f, pd.Series(P, index=f.index))
    assert list(result.index) == list("abcdefgh")
    assert_same(result.to_numpy())
    frame = r(pd.DataFrame({"x": F, "y": F}), 0.5)
    assert list(frame.columns) == ["x", "y"]


def test_pandas_nullable():
    f = pd.Series([1, 2, None], dtype="Float64")
    result = r(f, 0.5)
    assert result.dtype == "Float64"
    assert result.isna().tolist() == [False, False, True]
    assert result[1] == r(2, 0.5)


def test_polars():
    result = r(pl.Series("f", F), pl.Series("p", P))
    assert isinstance(result, pl.Series)
    assert_same(result.to_numpy())
    assert_same(r(pl.Series("f", F), 0.5).to_numpy(), r(F, 0.5))


def test_xarray():
    f = xr.DataArray(F, dims="cell", coords={"cell": range(8)})
    p = xr.DataArray([0.1, 0.2], dims="scenario")
    result = r(f, p)
    assert result.dims == ("cell", "scenario")
    assert_same(result.values, r(F[:, None], [0.1, 0.2]))


def test_dask():
    result = r(da.from_array(F, chunks=3), da.from_array(P, chunks=3))
    assert isinstance(result, da.Array)
    assert_same(result.compute(scheduler="threads"))


def test_masked_arrays():
    f = np.ma.array(F, mask=[True] + [False] * 7)
    result = r(f, P)
    assert result.mask.tolist() == f.mask.tolist()
    assert_same(result.data[1:], EXPECTED[1:])


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
