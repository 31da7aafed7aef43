import shutil
from pathlib import Path

import numpy as np
import pytest

import riskcore
from riskcore._jit import native

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
    assert source.count("t = fma(w, t, 2.0 / 3.0)") == 1
    callee.write_text(source.replace("fma(w, t, 2.0 / 3.0)", "fma(w, t, 2.0 / 2.9)"))
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
    for damaged in (b"", whole[:10], whole[: len(whole) // 2], bytes(flipped)):
        file.write_bytes(damaged)
        assert python(VALUE, cache=cache) == value
        assert file.read_bytes()[32:64] == whole[32:64]
        assert len(file.read_bytes()) == len(whole)


def test_a_cache_that_cannot_be_written(python, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    value = python(VALUE)
    assert python(VALUE, cache=tmp_path / "file/cache") == value


def test_two_processes_compile_at_once(python, tmp_path):
    both = [python(VALUE, cache=tmp_path / "cache", wait=False) for _ in range(2)]
    results = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], results
    assert results[0][0] == results[1][0]
    assert len(list((tmp_path / "cache").rglob("*"))) == 2  # no part is left behind


BITS = """
import hashlib, numpy as np, riskcore
rng = np.random.default_rng(5)
f = np.concatenate([rng.integers(1, 50, 3000), rng.uniform(0, 40, 3000)])
p = 2.0 ** -rng.exponential(4, 6000)
print(hashlib.sha256(riskcore.individual_risk(f, p).tobytes()).hexdigest())
"""


def test_the_same_bits_on_an_old_processor(python):
    # Without vector units or a fused multiply-add of its own.
    assert python(BITS, RISKCORE_CPU="generic") == python(BITS)


def test_a_user_without_a_home(python):
    code = """
import os
from pathlib import Path
os.environ.pop("RISKCORE_CACHE_DIR", None)
def homeless(path):
    raise RuntimeError("Could not determine home directory.")
Path.expanduser = homeless
import riskcore
print(float(riskcore.individual_risk(1, 0.5)))
"""
    assert python(code) == "0.6931471805599453"


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
