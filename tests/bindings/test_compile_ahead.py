"""Machine code made ahead: all entry points, the same bits, on every platform."""

import ast
import functools
import os
import runpy
import shutil
import struct
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import llvmlite.binding as llvm
import numpy as np
import pytest

import riskcore
from bindings import compile_ahead as ahead
from riskcore.core import published_forms as forms
from riskcore.core.compiled import jit, shipped, signals, ufunc_maker
from riskcore.core.risk import individual, single
from tests import needs

PACKAGE = Path(riskcore.__file__).parent
RISK = "riskcore.core.risk.individual.individual_risk"
CLOSED, SERIES = (
    f"riskcore.core.published_forms.{name}" for name in ("closed_form", "series7")
)
# Symbols of shared kernels, all known once the entry points are; the risk calls some.
SHARED = jit.SHARED.keys()

HERE = ahead.here()
# What the code may ask the system for.
CALLED = {"memcpy", "memmove", "memset", "feclearexcept", "fma"}

# Without a compiler, unless one is asked for.
VALUES = """
import sys
from importlib import import_module
if not sys.argv.pop():
    sys.modules["numba"] = sys.modules["llvmlite"] = None
import numpy as np
folder, *names = sys.argv[1:]
f, p = np.load(folder + "/points.npy")
parts = [name.rpartition(".") for name in names]
risks = [getattr(import_module(module), name)(f, p) for module, _, name in parts]
np.save(folder + "/risks.npy", risks)
print("compiled" if sys.modules.get("numba") else "loaded")
"""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(CLOSED, marks=pytest.mark.compiles),
        pytest.param(RISK, marks=pytest.mark.slow),
    ],
)
def names(request):
    """Return the ufuncs whose code is made ahead: quick ones, or the risk itself."""
    return [request.param, SERIES]


@pytest.fixture(scope="module")
def objects(names, tmp_path_factory):
    """Return the folder with their code, and a C function's, for this platform."""
    return make(tmp_path_factory.mktemp("objects"), names)


def entries(names):
    """Return the entry points that the ufuncs of these names need, and a C function."""
    loops = {entry.identity for entry in (signals.code(), single.code())}
    return {CLOSED, *names, f"{SERIES}.scalar", *loops}


def make(folder, names, *options, **variables):
    """Compile entry points ahead, and return the folder."""
    command = [sys.executable, "-m", "bindings.compile_ahead", folder, *options]
    subprocess.run(
        [*command, "--entries", *entries(names)],
        check=True,
        cwd=PACKAGE.parent,
        env=os.environ | variables,
    )
    return folder


@pytest.fixture(scope="module")
def points(cells, borders):
    """Return f and p in every region."""
    few = np.array([[1, 1, 2, 2, 3, 3], [0.1, 0.9, 0.1, 0.9, 0.1, 0.9]])
    return np.hstack([cells(4000), borders, few])


@pytest.fixture(scope="module")
def expected(points, names):
    """Return the values of code that was compiled for this processor."""
    known = {
        "riskcore.core.published_forms": forms,
        "riskcore.core.risk.individual": individual,
    }
    parts = [name.rpartition(".") for name in names]
    values = np.array([getattr(known[m], name)(*points) for m, _, name in parts])
    assert (np.isfinite(values).sum(axis=1) > 20).all()
    return values


@pytest.fixture
def installed(tmp_path, objects):
    """Return a copy of the package as a wheel brings it."""
    shutil.copytree(
        PACKAGE, tmp_path / "copy/riskcore", ignore=shutil.ignore_patterns("*.pyc")
    )
    here = objects / HERE
    target = tmp_path / "copy/riskcore" / shipped.FOLDER.relative_to(PACKAGE)
    shutil.copytree(here, target)
    return tmp_path / "copy"


@pytest.fixture
def values(python, installed, points, names, tmp_path):
    """Return what computes both functions in the copy: how, and the values."""
    np.save(tmp_path / "points.npy", points)

    def compute(compiler="", **variables):
        arguments = [str(tmp_path), *names, compiler]
        code = f"import sys; sys.argv[1:] = {arguments}\n{VALUES}"
        how = python(code, path=installed, cache=tmp_path / "cache", **variables)
        return how, np.load(tmp_path / "risks.npy")

    return compute


def same(got, expected):
    return got.tobytes() == expected.tobytes()


# --- with a wheel's code --------------------------------------------------------------


@needs.compiler
def test_a_first_result_needs_no_compiler(values, expected, tmp_path):
    how, got = values()
    assert how == "loaded"
    assert same(got, expected)
    assert not (tmp_path / "cache").exists()


@needs.compiler
@pytest.mark.parametrize("level", needs.runnable(shipped.PROCESSORS))
def test_the_same_bits_on_every_level(values, expected, level):
    how, got = values(RISKCORE_CPU=level)
    assert how == "loaded"
    assert same(got, expected)


@needs.compiler
def test_a_processor_of_another_name_is_compiled_for(python, installed, tmp_path):
    code = "import sys; from riskcore import forms; forms.closed_form(1, 0.1);"
    code += "print('numba' in sys.modules)"
    run = functools.partial(python, code, path=installed, cache=tmp_path / "cache")
    for variables, compiled in (
        ({}, False),
        ({"RISKCORE_CPU": llvm.get_host_cpu_name()}, True),
        ({"RISKCORE_COMPILE": "1"}, True),
    ):
        assert run(**variables) == str(compiled)
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)


@needs.compiler
def test_an_edited_source_is_compiled(python, installed, tmp_path):
    code = (
        "import sys; from riskcore.forms import closed_form;"
        "print(float(closed_form(2, 0.01)).hex(), 'numba' in sys.modules)"
    )
    before = python(code, path=installed, cache=tmp_path / "cache").split()
    callee = installed / "riskcore/core/special/elementary.py"
    source = callee.read_text()
    assert source.count('LN2_HIGH = float.fromhex("0x1.62') == 1
    callee.write_text(source.replace("0x1.62", "0x1.63"))
    after = python(code, path=installed, cache=tmp_path / "cache").split()
    assert [before[1], after[1]] == ["False", "True"]
    assert after[0] != before[0]


@needs.compiler
def test_an_edited_source_without_a_compiler_is_refused(python, installed):
    callee = installed / "riskcore/core/special/elementary.py"
    callee.write_text(callee.read_text() + "\n# edited\n")
    code = """
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None
from riskcore import forms
try:
    forms.closed_form(1, 0.1)
except ImportError as error:
    print(error)
"""
    said = "riskcore has no machine code for sources that were edited: pip install"
    assert python(code, path=installed).strip() == f"{said} 'riskcore[jit]'"


@needs.compiler
def test_pointers_for_c_need_no_compiler(python, installed, points, tmp_path):
    np.save(tmp_path / "points.npy", points)
    code = f"""
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None
import numpy as np
from ctypes import c_double
from riskcore import forms
from riskcore.embed import c_array_function, c_function
f, p = np.load({str(tmp_path / "points.npy")!r})
risks = np.empty_like(f)
arrays = [(c_double * len(f)).from_buffer(each) for each in (f, p, risks)]
c_array_function(forms.series7)(*arrays, len(f))
one = c_function(forms.series7)
assert risks.tobytes() == forms.series7(f, p).tobytes()
assert risks.tobytes() == np.array([one(*each) for each in zip(f, p)]).tobytes()
"""
    python(code, path=installed)


# --- what the libraries are -----------------------------------------------------------


def text_at(code, start):
    return code[start : code.index(b"\0", start)].decode()


def symbols_elf(code):
    """Return the machine of an ELF file, the symbols that it lacks, and its own."""
    (machine,) = struct.unpack_from("<H", code, 18)
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", code, start + i * size) for i in range(count)
    ]
    found = set(), set()
    for section in sections:
        if section[1] == 11:  # symbols of a library
            _, _, _, _, at, length, link, *_ = section
            for i in range(at + 24, at + length, 24):
                name, _, _, index = struct.unpack_from("<IBBH", code, i)
                found[index != 0].add(text_at(code, sections[link][4] + name))
    return machine, *found


def wanted(names):
    return entries(names) | {f"{name}.arrays" for name in {CLOSED, *names}}


@needs.compiler
@pytest.mark.parametrize("processor", shipped.PROCESSORS[HERE.partition("-")[2]])
def test_a_library_needs_nothing_but_the_c_library(objects, names, processor):
    path = objects / HERE / f"{processor}.so"
    machine, lacking, own = symbols_elf(path.read_bytes())
    assert machine == {"linux-x86_64": 62, "linux-arm64": 183}[HERE]
    # Where the code clears the flags by itself, a cell takes 100 nanoseconds less.
    assert ("feclearexcept" in lacking) == ("x86" not in HERE)
    assert {each for each in lacking if not each.startswith("_")} <= CALLED
    asked = {"riskcore_cpuid", "riskcore_registers"} if "x86" in HERE else set()
    symbols = {shipped.symbol_of(each) for each in wanted(names)}
    assert own == symbols | asked | {"riskcore_index"}  # no shared kernel
    assert shipped.sources_of(path, processor).keys() == wanted(names)


MAIN = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef void loop(double **, int64_t *, int64_t *, void *);
loop FIRST, riskcore_core_published_forms_series7;
double riskcore_core_published_forms_series7_scalar(double, double);
int main(int argc, char **argv) {
    int64_t n = atoll(argv[1]), steps[] = {8, 8, 8};
    double *x = malloc(5 * n * sizeof(double));
    if (fread(x, sizeof(double), 2 * n, stdin) != 2 * n) return 1;
    double *first[] = {x, x + n, x + 2 * n}, *series[] = {x, x + n, x + 3 * n};
    uint64_t mode = strtoull(argv[2], 0, 16), after;
    __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
    FIRST(first, &n, steps, 0);
    __asm__ volatile("mrs %0, fpcr" : "=r"(after) : : "memory");
    if (after != mode) return 2;
    riskcore_core_published_forms_series7(series, &n, steps, 0);
    for (int64_t i = 0; i < n; i++)
        x[4 * n + i] = riskcore_core_published_forms_series7_scalar(x[i], x[n + i]);
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
    return fwrite(x + 2 * n, sizeof(double), 3 * n, stdout) != 3 * n;
}
"""


@needs.qemu
def test_code_for_arm64_gives_the_same_bits(names, points, expected, tmp_path):
    make(tmp_path, names, "--platform", "linux-arm64", CC="aarch64-linux-gnu-gcc")
    (tmp_path / "main.c").write_text(MAIN)
    library = tmp_path / "linux-arm64" / "generic.so"
    build = ["aarch64-linux-gnu-gcc", "main.c", library, "-o", "main"]
    first = f"-DFIRST={shipped.symbol_of(names[0])}"
    subprocess.run([*build, first], check=True, cwd=tmp_path)
    system = "/usr/aarch64-linux-gnu"
    run = ["qemu-aarch64", "-L", system, tmp_path / "main", str(points.shape[1])]
    given = points.tobytes()
    # The default, then FPCR with rounding up, down and subnormal numbers as zero.
    for mode in ("0", "400000", "800000", "1000000"):
        result = subprocess.run(
            [*run, mode], check=True, input=given, capture_output=True
        )
        assert result.stdout == expected.tobytes() + expected[1].tobytes(), mode


# --- all entry points -----------------------------------------------------------------


def test_every_function_of_arrays_is_an_entry():
    marked = set()
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        for node in ast.parse(path.read_text()).body:
            for mark in getattr(node, "decorator_list", []):
                if ast.unparse(mark).startswith("native("):
                    marked.add(".".join([*parts, node.name]))
    assert len(marked) > 25
    assert marked <= ahead.entries().keys()


@pytest.mark.parametrize(
    "module",
    ["published_forms", "risk.individual", "risk.posterior", "risk.prior"],
)
def test_every_ufunc_is_an_entry(module):
    known = ahead.entries()
    for name in import_module(f"riskcore.core.{module}").UFUNCS:
        loop = known[f"riskcore.core.{module}.{name}"]
        assert loop.signature == "float64**, int64*, int64*, int64*"
        assert f"riskcore.core.{module}.{name}.scalar" in known


def test_integrands_are_entries():
    integrands = [name for name in ahead.entries() if name.endswith(".integrand")]
    assert f"{RISK}.integrand" in integrands
    # Of functions of two numbers.
    assert "riskcore.core.published_forms.truncated.integrand" not in integrands


def mean(a, b):
    return (a + b) / 2


def test_kernels_that_become_ufuncs_are_marked():
    # Others would be compiled by the user.
    with pytest.raises(TypeError, match="not marked"):
        ufunc_maker.ufunc_of(mean)


@pytest.mark.compiles
def test_what_an_assessment_compiles_is_made_ahead(python, tmp_path):
    # Not from a list of names: what a run leaves in its cache.
    code = "from riskcore.cli import main; main(['demo', '--records', '300'])"
    python(code, cache=tmp_path / "cache")
    left = {path.stem for path in (tmp_path / "cache").rglob("*.o")}
    assert len(left) > 10
    assert left <= ahead.entries().keys() | SHARED


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """Return a folder in which all is as it should be, for one entry point."""
    entry = ahead.entries()[CLOSED]
    monkeypatch.setattr(ahead, "entries", lambda: {CLOSED: entry})
    index = {CLOSED: jit.sources_digest(entry.modules)}
    for name in ("linux-arm64/generic.so", "macos-arm64/generic.dylib"):
        write_index(tmp_path / name, index)
    return tmp_path


def write_index(path, index):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"code" + shipped.index_of(index, path.stem) + b"code")


def test_code_of_these_sources_is_current(kept, capsys):
    assert ahead.main([str(kept), "--check"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("wrong", ["sources", "entry", "file", "level", "all"])
def test_what_is_not_current_is_said(kept, capsys, wrong):
    path = kept / "macos-arm64" / "generic.dylib"
    name = {"sources": CLOSED, "entry": "riskcore.core.published_forms.none"}.get(wrong)
    if name:
        write_index(path, {name: "0" * 64})
    elif wrong == "file":
        path.unlink()
    elif wrong == "level":  # of x86-64 there are three
        path = kept / "linux-x86_64" / "x86-64-v2.so"
        write_index(path.with_stem("x86-64-v3"), {CLOSED: "0" * 64})
    else:
        shutil.rmtree(path.parent)
        shutil.rmtree(kept / "linux-arm64")
    assert ahead.main([str(kept), "--check"]) == 1
    assert wrong == "all" or str(path) in capsys.readouterr().out


@pytest.fixture
def hook(monkeypatch):
    """Return what hatch_build.py defines; only builds have hatchling."""
    stand_in = SimpleNamespace(BuildHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin", stand_in)
    monkeypatch.setitem(
        sys.modules, "hatchling.builders.hooks.plugin.interface", stand_in
    )
    return SimpleNamespace(**runpy.run_path(str(PACKAGE.parent / "hatch_build.py")))


def test_every_platform_has_a_wheel(hook):
    assert hook.TAGS.keys() == ahead.TRIPLES.keys()
    assert len({*hook.TAGS.values()}) == len(hook.TAGS)


@needs.posix
@needs.x86
def test_a_build_from_source_is_for_all_kinds_of_processors(hook, tmp_path):
    """So an environment can be copied to a machine with an older processor."""
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done; echo >"$2"\n')
    compiler.chmod(0o700)
    made = hook.compile_with([str(compiler)], tmp_path, tmp_path)
    assert [path.stem for path in made] == [*shipped.PROCESSORS["x86_64"]]
    assert all(path.exists() for path in made)


# --- the command ----------------------------------------------------------------------


def test_each_kind_of_processor_is_made_in_its_own_process(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(ahead, "compile_for", lambda *args: calls.append(args))
    monkeypatch.setattr(subprocess, "run", lambda command, **_: calls.append(command))
    ahead.main([str(tmp_path), "--platform", "linux-arm64", "--entries", CLOSED])
    assert calls == [("generic", "linux-arm64", tmp_path, [CLOSED])]
    calls.clear()
    ahead.main([str(tmp_path), "--platform", "linux-x86_64"])
    chosen = [command[command.index("--processors") + 1] for command in calls]
    assert chosen == [*shipped.PROCESSORS["x86_64"]]
