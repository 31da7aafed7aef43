"""The entry points in C are current, and give the bits of the ufuncs."""

import ctypes
import subprocess
import warnings
from types import SimpleNamespace

import llvmlite.binding as llvm
import numpy as np
import pytest

from bindings import write_entries
from riskcore.core.compiled import shipped, signals, ufunc_maker
from riskcore.core.risk import single
from tests import needs

IDENTITIES = [*write_entries.names()]


def test_the_file_is_current():
    assert write_entries.main(["--check"]) == 0


def test_every_pointer_of_embed_is_there():
    # An entry point that is lacking would be compiled, or refused.
    index = write_entries.text()
    for identity in IDENTITIES:
        inputs = ufunc_maker.build(
            identity.rpartition(".")[2], ufunc_maker.offered()[identity]
        ).nin
        kinds = [".arrays"]
        if not identity.endswith("bounds"):
            kinds += [".scalar", ".integrand"] if inputs == 2 else [".scalar"]
        for kind in ["", *kinds]:
            assert f'"{identity}{kind} ' in index


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Return the compiled file, loaded as the package does it."""
    path = tmp_path_factory.mktemp("c") / "generic.so"
    options = ["-O1", "-fPIC", "-shared", "-ffp-contract=off", '-DPROCESSOR="generic"']
    command = ["cc", *options, "-o", path, "entries.c", "processor.c", "-lm"]
    subprocess.run(command, check=True, cwd=write_entries.PATH.parent)
    found = shipped.load(path, "generic")
    assert found is not None
    return found


@pytest.mark.compiles
@needs.compiler
@needs.x86
def test_the_processor_is_asked(library):
    theirs = llvm.get_host_cpu_features()
    known = shipped.PROCESSORS["x86_64"]["x86-64-v4"]
    expected = {name for name in known if theirs.get(name)}
    assert shipped.features(library.code) == expected


def argument(rng, name, n):
    """Draw an argument of a ufunc; some are outside its domain."""
    drawn = rng.random(n) if name == "p" else np.floor(10.0 ** rng.uniform(0, 3, n))
    drawn = drawn + (rng.random(n) if name != "p" else 0) * (rng.random(n) < 0.5)
    return np.where(rng.random(n) < 0.02, -1.0, drawn)


@pytest.mark.compiles
@needs.compiler
@pytest.mark.parametrize("identity", IDENTITIES)
def test_the_same_bits(library, identity, monkeypatch):
    source = ufunc_maker.offered()[identity]
    ufunc = ufunc_maker.build(identity.rpartition(".")[2], source)
    rng = np.random.default_rng(5)
    names = source.scalar.__code__.co_varnames[: ufunc.nin]
    given = [argument(rng, name, 5000) for name in names]  # two stretches
    expected = np.array(ufunc(*given)).reshape(ufunc.nout, -1)
    address, numbers = library.address(identity), (ufunc.nin, ufunc.nout)
    loop = None
    if source.single:
        loop = library.address(single.code().identity), source.single(address, 2)[1]
    hears = library.address(signals.code().identity)
    in_c = SimpleNamespace(address=lambda: hears)
    monkeypatch.setattr(signals, "code", lambda: in_c)
    made = ufunc_maker.from_loop(address, "made", "", numbers, loop)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # flags would make warnings
        got = np.array(made(*given)).reshape(ufunc.nout, -1)
        turned = np.array(made(*[each[::-2] for each in given]))
        if loop:
            subnormal = given[0].astype("f4"), (given[1] * 2.0**-130).astype("f4")
            for pair in ([each.astype("f4") for each in given], subnormal):
                np.testing.assert_array_equal(made(*pair), ufunc(*pair))
    assert got.tobytes() == expected.tobytes()
    assert turned.tobytes() == np.ascontiguousarray(expected[:, ::-2]).tobytes()
    arrays = np.array([*given, *np.empty_like(expected)])
    doubles = ctypes.POINTER(ctypes.c_double)
    kinds = [doubles] * len(arrays)
    many = ctypes.CFUNCTYPE(None, *kinds, ctypes.c_int64)
    pointers = [each.ctypes.data_as(doubles) for each in arrays]
    many(library.address(f"{identity}.arrays"))(*pointers, arrays.shape[1])
    assert arrays[ufunc.nin :].tobytes() == expected.tobytes()
    if ufunc.nout == 1:
        one = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * ufunc.nin)
        call = one(library.address(f"{identity}.scalar"))
        found = [call(*each) for each in zip(*given, strict=True)]
        assert np.array(found).tobytes() == expected.tobytes()
    if ufunc.nout == 1 and ufunc.nin == 2:
        kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, doubles)
        call = kind(library.address(f"{identity}.integrand"))
        pair = (ctypes.c_double * 2)(given[1][0], given[0][0])
        assert call(2, pair) == expected[0, 0] or np.isnan(expected[0, 0])
