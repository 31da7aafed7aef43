import os
import shutil
import threading
import time
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import riskcore
from riskcore import forms
from riskcore._jit import Native, native, register_with_numba

PACKAGE = Path(riskcore.__file__).parent

VALUE = (
    "from riskcore.forms import closed_form; print(float(closed_form(2, 0.01)).hex())"
)
# A compilation is told by Numba being there afterwards.
VALUE_AND_NUMBA = VALUE + "; import sys; print('numba' in sys.modules)"


@native("float64*, float64, int64")
def fill(target, value, n):
    for i in range(n):
        target[i] = value


def test_native_runs_on_arrays_and_numbers():
    target = np.zeros(4)
    fill(target, 2.5, 3)
    assert target.tolist() == [2.5, 2.5, 2.5, 0.0]


@pytest.mark.parametrize(
    "wrong", [np.zeros(4, np.float32), np.zeros(8)[::2], np.zeros(4, np.int64)]
)
def test_native_refuses_other_arrays(wrong):
    with pytest.raises(TypeError, match="contiguous float64"):
        fill(wrong, 1.0, 4)


def test_native_refuses_a_wrong_number_of_arguments():
    with pytest.raises(ValueError, match="zip"):
        fill(np.zeros(4), 1.0)


def difference(a, b):
    return a - b


def test_native_returns_a_number():
    minus = Native(difference, "int64, int64", returns="int64")
    assert minus(2**62, 1) == 2**62 - 1


def raises(target, n):
    if n < 0:
        raise ValueError
    target[0] = 1.0


def allocates(target, n):
    scratch = np.empty(n)
    for i in range(n):
        scratch[i] = i
    target[0] = scratch[n - 1]


@pytest.mark.parametrize("function", [raises, allocates])
def test_a_kernel_that_raises_or_allocates_is_refused(function):
    with pytest.raises(RuntimeError, match=rf"{function.__name__} calls"):
        native("float64*, int64")(function)(np.zeros(1), 1)


def test_registering_while_another_thread_compiles():
    # Numba may ask for the kernels with its compiler lock held.
    ready = threading.Event()

    def compile_another():
        ready.set()
        Native(difference, "float64, float64", "another", "float64").address()

    thread = threading.Thread(target=compile_another, daemon=True)
    registering = threading.Thread(target=register_with_numba, daemon=True)
    with global_compiler_lock:
        thread.start()
        ready.wait()
        time.sleep(0.1)  # until it waits for the compiler
        registering.start()
        registering.join(10)
        assert not registering.is_alive()
    thread.join(60)
    assert not thread.is_alive()


# --- numbers in compiled code -----------------------------------------------------

risk, truncated = riskcore.individual_risk, forms.truncated
from_frequencies = riskcore.individual_risk_from_frequencies


@numba.njit
def risks(f, F):
    out = np.empty(len(f))
    for i in range(len(f)):
        out[i] = from_frequencies(f[i], F[i])
    return out


@numba.njit
def truncations(f, p, order):
    out = np.empty(len(f))
    for i in range(len(f)):
        out[i] = truncated(f[i], p[i], order)
    return out


@pytest.mark.parametrize("kind", ["f4", "i4", "u8", "?"])
def test_every_number_becomes_a_double(kind):
    # In single precision f/F, and so the risk, would be wrong from the eighth digit on.
    f = np.tile(np.arange(1, 51), 4).astype(kind)
    F = np.linspace(50, 1000, 200, dtype=np.float32)
    expected = from_frequencies(f.astype(float), F.astype(float))
    for got in (risks(f, F), from_frequencies(f, F)):
        assert got.dtype == np.float64
        assert got.tobytes() == expected.tobytes()


def test_integers_past_2_53_round_as_in_numpy():
    f = np.array([2**53 + 1, 2**53 + 3, 2**63 - 1, 2**62 + 2**9 + 1])
    F = np.full(4, 1e20)
    assert risks(f, F).tobytes() == from_frequencies(f, F).tobytes()


def test_half_precision():
    f, p = np.array([1, 2.5, 60000], np.float16), np.array([0.1, 1], np.float16)
    got = riskcore.individual_risk(f[:, None], p)
    assert got.dtype == np.float64
    expected = riskcore.individual_risk(f.astype(float)[:, None], p.astype(float))
    assert got.tobytes() == expected.tobytes()


def test_three_numbers_in_compiled_code():
    f, p = np.array([1, 2, 7]), np.array([0.1, 0.2, 0.3], np.float32)
    assert truncations(f, p, 3).tobytes() == truncated(f, p, 3).tobytes()


@pytest.mark.parametrize("wrong", [1j, np.ones(2), None, "1", np.datetime64("2020")])
def test_what_is_not_a_real_number_is_refused(wrong):
    @numba.njit
    def one(x):
        return risk(x, 0.5)

    with pytest.raises(numba.TypingError, match="individual_risk"):
        one(wrong)


# --- the cache ----------------------------------------------------------------------


@pytest.fixture
def package(tmp_path):
    """Return the directory of a copy of the package, to be edited."""
    shutil.copytree(
        PACKAGE, tmp_path / "copy/riskcore", ignore=shutil.ignore_patterns("*.pyc")
    )
    return tmp_path / "copy"


def test_a_second_process_loads_what_the_first_compiled(python, tmp_path):
    first = python(VALUE_AND_NUMBA, cache=tmp_path / "cache").split()
    second = python(VALUE_AND_NUMBA, cache=tmp_path / "cache").split()
    assert first[1:] == ["True"]
    assert second == [first[0], "False"]


def test_an_edited_callee_gives_the_new_number(python, package, tmp_path):
    before = python(VALUE, path=package, cache=tmp_path / "cache")
    callee = package / "riskcore/special/elementary.py"
    source = callee.read_text()
    assert source.count('LN2_HIGH = float.fromhex("0x1.62') == 1
    callee.write_text(source.replace("0x1.62", "0x1.63"))
    after = python(VALUE, path=package, cache=tmp_path / "cache")
    assert float.fromhex(after) == pytest.approx(float.fromhex(before), rel=0.1)
    assert after != before


def test_a_damaged_cache_file_is_compiled_again(python, tmp_path):
    cache = tmp_path / "cache"
    value = python(VALUE, cache=cache)
    (file,) = cache.rglob("*.o")
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damaged in (b"", whole[: len(whole) // 2], bytes(flipped)):
        file.write_bytes(damaged)
        assert python(VALUE, cache=cache) == value
        assert file.read_bytes()[32:64] == whole[32:64]
        assert len(file.read_bytes()) == len(whole)


def test_a_cache_that_cannot_be_written(python, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    value = python(VALUE)
    assert python(VALUE, cache=tmp_path / "file/cache") == value


DAY = 86400


def make_old(path, days):
    then = time.time() - days * DAY
    os.utime(path, (then, then))


def test_a_new_build_removes_old_ones(python, tmp_path):
    cache = tmp_path / "cache"
    days = {"a" * 24: 31, "b" * 24: 29, "c" * 24 + ".old": 31, "d" * 24 + ".old": 0}
    not_ours = {"thesis": 900, "e" * 23: 900, "f" * 24 + ".bak": 900}
    for name, age in {**days, **not_ours}.items():
        (cache / name / "tmp").mkdir(parents=True)
        (cache / name / "kernel.o").write_text("code")
        make_old(cache / name, age)
    (cache / ("1" * 24)).write_text("a file")
    make_old(cache / ("1" * 24), 900)
    (tmp_path / "elsewhere").mkdir()
    (cache / ("2" * 24)).symlink_to(tmp_path / "elsewhere")
    before = {path.name for path in cache.iterdir()}
    python(VALUE, cache=cache)
    after = {path.name for path in cache.iterdir()}
    assert before - after == {"a" * 24, "c" * 24 + ".old"}
    assert len(after - before) == 1  # the new build
    assert (tmp_path / "elsewhere").is_dir()


def test_a_build_in_use_is_not_old(python, tmp_path):
    cache = tmp_path / "cache"
    value = python(VALUE, cache=cache)
    (build,) = cache.iterdir()
    make_old(build, 31)
    assert python(VALUE_AND_NUMBA, cache=cache).split() == [value, "False"]
    assert time.time() - build.stat().st_mtime < DAY


def test_two_processes_compile_at_once(python, tmp_path):
    both = [python(VALUE, cache=tmp_path / "cache", wait=False) for _ in range(2)]
    results = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], results
    assert results[0][0] == results[1][0]
    assert len(list((tmp_path / "cache").rglob("*"))) == 2  # no part is left behind


def test_a_user_without_a_home(python):
    code = """
import os
from pathlib import Path
os.environ.pop("RISKCORE_CACHE_DIR", None)
def homeless(path):
    raise RuntimeError("Could not determine home directory.")
Path.expanduser = homeless
"""
    assert python(code + VALUE) == python(VALUE)


def test_interrupting_the_compiler_is_not_lost(python):
    code = """
import os, signal
from riskcore import _jit
try:
    with _jit._uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        print("compiled")
    print("lost")
except KeyboardInterrupt:
    print("interrupted")
"""
    assert python(code).split() == ["compiled", "interrupted"]
