"""Machine code made ahead: all entry points, the same bits, on every platform."""

import ast
import functools
import json
import shutil
import struct
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import riskcore
from riskcore.core import compile_ahead as ahead
from riskcore.core import published_forms as forms
from riskcore.core.compiled import jit, shipped, ufunc_maker
from riskcore.core.risk import individual
from tests import needs

PACKAGE = Path(riskcore.__file__).parent
RISK = "riskcore.core.risk.individual.individual_risk"
CLOSED, SERIES = (
    f"riskcore.core.published_forms.{name}" for name in ("closed_form", "series7")
)
# Symbols of shared kernels, all known once the entry points are; the risk calls some.
SHARED = jit._shared.keys()

X86 = {"x86_64": shipped.PROCESSORS["x86_64"]}

# What the code may ask the system for. Mach-O has a _ before each, and Windows a check
# of the stack, which ntdll has.
CALLED = {"feclearexcept", "fma", "memcpy", "memmove", "memset"}

VALUES = """
import sys
from importlib import import_module
import numpy as np
folder, *names = sys.argv[1:]
f, p = np.load(folder + "/points.npy")
parts = [name.rpartition(".") for name in names]
risks = [getattr(import_module(module), name)(f, p) for module, _, name in parts]
np.save(folder + "/risks.npy", risks)
print("compiled" if "numba" in sys.modules else "loaded")
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
    """Return the folder with their code, and a C function's, for all platforms."""
    folder = tmp_path_factory.mktemp("objects")
    entries = {CLOSED, *names, f"{SERIES}.scalar"}
    command = [sys.executable, "-m", "riskcore.core.compile_ahead", folder]
    subprocess.run([*command, "--entries", *entries], check=True, cwd=PACKAGE.parent)
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
    here = shipped.platform_of(llvm.get_process_triple())
    shutil.copytree(
        objects / here, tmp_path / "copy/riskcore" / shipped.FOLDER.relative_to(PACKAGE)
    )
    return tmp_path / "copy"


@pytest.fixture
def values(python, installed, points, names, tmp_path):
    """Return what computes both functions in the copy: how, and the values."""
    np.save(tmp_path / "points.npy", points)
    code = f"import sys; sys.argv[1:] = {[str(tmp_path), *names]}\n{VALUES}"

    def compute(**variables):
        how = python(code, path=installed, cache=tmp_path / "cache", **variables)
        return how, np.load(tmp_path / "risks.npy")

    return compute


def same(got, expected):
    return got.tobytes() == expected.tobytes()


# --- with a wheel's code --------------------------------------------------------------


def test_a_first_result_needs_no_compiler(values, expected, tmp_path):
    how, got = values()
    assert how == "loaded"
    assert same(got, expected)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("level", needs.runnable(shipped.PROCESSORS))
def test_the_same_bits_on_every_level(values, expected, level):
    how, got = values(RISKCORE_CPU=level)
    assert how == "loaded"
    assert same(got, expected)


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


def test_a_lost_shared_kernel_is_compiled(values, expected, installed, names):
    if RISK not in names:
        return  # slow: it has one
    for path in (installed / "riskcore/core/compiled/objects").glob("*.objects"):
        path.write_bytes(
            path.read_bytes().replace(b"\nriskcore_core_special", b"\nlost")
        )
    how, got = values()
    assert how == "compiled"
    assert same(got, expected)


# --- for other platforms --------------------------------------------------------------


def pieces(objects, platform, processor):
    """Return what a file has: symbols and object file by name."""
    path = objects / platform / f"{processor}.objects"
    index = shipped.index(path, shipped.TRIPLES[platform], processor)
    found = {}
    for name, place in index.items():
        symbols, _, code = shipped.content_at(path, place).partition(b"\n")
        found[name] = symbols.decode().split(), code
    return found


def every_file():
    return [
        (platform, processor)
        for platform in shipped.TRIPLES
        for processor in shipped.PROCESSORS[platform.partition("-")[2]]
    ]


def called_elf(code):
    """Return the machine of an ELF file and the symbols that it lacks."""
    (machine,) = struct.unpack_from("<H", code, 18)
    (start,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", code, start + i * size) for i in range(count)
    ]
    lacking = set()
    for section in sections:
        if section[1] == 2:  # a table of symbols
            _, _, _, _, at, length, link, *_ = section
            names = sections[link][4]
            for i in range(at + 24, at + length, 24):
                name, _, _, index = struct.unpack_from("<IBBH", code, i)
                if index == 0:
                    end = code.index(b"\0", names + name)
                    lacking.add(code[names + name : end].decode())
    return machine, lacking


def called_macho(code):
    """Return the machine of a Mach-O file and the symbols that it lacks."""
    magic, machine, _, _, commands = struct.unpack_from("<IIIII", code)
    assert magic == 0xFEEDFACF
    lacking, at = set(), 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", code, at)
        if command == 2:  # the table of symbols
            start, count, names, _ = struct.unpack_from("<IIII", code, at + 8)
            for i in range(start, start + count * 16, 16):
                name, kind, section = struct.unpack_from("<IBB", code, i)
                if kind & 1 and section == 0:
                    end = code.index(b"\0", names + name)
                    lacking.add(code[names + name : end].decode())
        at += size
    return machine, lacking


MACHINES = {
    "linux-x86_64": (called_elf, 62, ""),
    "linux-arm64": (called_elf, 183, ""),
    "macos-x86_64": (called_macho, 0x01000007, "_"),
    "macos-arm64": (called_macho, 0x0100000C, "_"),
    "windows-x86_64": (called_elf, 62, ""),
}


@pytest.mark.parametrize(("platform", "processor"), every_file())
def test_code_calls_nothing_but_the_c_library(objects, names, platform, processor):
    # What LLVM cannot find ends the process that loads it.
    called, machine, mark = MACHINES[platform]
    found = pieces(objects, platform, processor)
    assert {*names, f"{SERIES}.scalar"} <= set(found) | SHARED
    allowed = CALLED | ({"__chkstk"} if platform.startswith("windows") else set())
    for name, (symbols, code) in found.items():
        assert symbols[0] == name.replace(".", "_")
        assert set(symbols[1:]) <= SHARED
        assert len(symbols) > 1 or name != RISK
        known = {mark + each for each in allowed | set(symbols[1:])}
        assert called(code)[0] == machine
        assert called(code)[1] <= known, name
    assert mark + "feclearexcept" in called(found[SERIES][1])[1]


# Run here: code for macOS and Windows, which LLVM loads on any system of the same
# processor. On Windows functions are called in another way, and so are those that the
# code calls: win64cc.
FOREIGN = """
import ctypes, sys
import llvmlite.binding as llvm
import numpy as np
from riskcore.core.compiled import shipped
platform, level, folder, *names = sys.argv[1:]
convention = "win64cc " if platform.startswith("windows") else ""
mark = "_" if platform.startswith("macos") else ""
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
llvm.initialize_native_asmparser()
def engine(triple):
    target = llvm.Target.from_triple(triple).create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
between = engine(llvm.get_process_triple())
between.add_module(llvm.parse_assembly(f'''
declare double @fma(double, double, double)
declare i64 @memset(i64, i32, i64)
define {convention} double @its_fma(double %a, double %b, double %c) {{
  %r = call double @fma(double %a, double %b, double %c)
  ret double %r
}}
define {convention} i64 @its_memset(i64 %a, i32 %b, i64 %c) {{
  %r = call i64 @memset(i64 %a, i32 %b, i64 %c)
  ret i64 %r
}}
define {convention} i32 @its_feclearexcept(i32 %a) {{
  ret i32 0
}}
define void @its___chkstk() naked {{
  call void asm sideeffect "retq", ""()
  unreachable
}}
'''))
between.finalize_object()
for name in ("fma", "memset", "feclearexcept", "__chkstk"):
    llvm.add_symbol(mark + name, between.get_function_address("its_" + name))
there = engine(shipped.TRIPLES[platform])
path = shipped.Path(folder, platform, level + ".objects")
index = shipped.index(path, shipped.TRIPLES[platform], level)
def load(name):
    line, _, code = shipped.content_at(path, index[name]).partition(b"\\n")
    symbol, *needed = line.decode().split()
    for each in needed:
        load(each)
    there.add_object_file(llvm.ObjectFileRef.from_data(code))
    there.finalize_object()
    return there.get_function_address(symbol)
# Addresses are integers here: how LLVM writes pointers depends on its version.
def callable_from_c(name):
    llvm.add_symbol("loop_of_" + name, load(name))
    between.add_module(llvm.parse_assembly(f'''
declare {convention} void @"loop_of_{name}"(i64, i64, i64, i64)
define void @"run_{name}"(i64 %a, i64 %b, i64 %c) {{
  call {convention} void @"loop_of_{name}"(i64 %a, i64 %b, i64 %c, i64 0)
  ret void
}}
'''))
    between.finalize_object()
    address = between.get_function_address("run_" + name)
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(address)
f, p = np.load(folder + "/points.npy")
risks = np.empty_like([f, p])
for name, out in zip(names, risks):
    arrays = (ctypes.c_void_p * 3)(f.ctypes.data, p.ctypes.data, out.ctypes.data)
    size, steps = (ctypes.c_int64 * 1)(len(f)), (ctypes.c_int64 * 3)(8, 8, 8)
    callable_from_c(name)(*map(ctypes.addressof, (arrays, size, steps)))
np.save(folder + "/risks.npy", risks)
"""


@needs.x86
@pytest.mark.parametrize("level", needs.runnable(X86))
@pytest.mark.parametrize("platform", ["macos-x86_64", "windows-x86_64"])
def test_code_for_other_systems_gives_the_same_bits(
    python, objects, names, points, expected, tmp_path, platform, level
):
    np.save(tmp_path / "points.npy", points)
    shutil.copytree(objects / platform, tmp_path / platform)
    arguments = [platform, level, str(tmp_path), *names]
    python(f"import sys; sys.argv[1:] = {arguments}\n{FOREIGN}")
    assert same(np.load(tmp_path / "risks.npy"), expected)


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
def test_code_for_arm64_gives_the_same_bits(objects, names, points, expected, tmp_path):
    files = []
    for name, (_, code) in pieces(objects, "linux-arm64", "generic").items():
        files.append(tmp_path / f"{name}.o")
        files[-1].write_bytes(code)
    (tmp_path / "main.c").write_text(MAIN)
    build = ["aarch64-linux-gnu-gcc", "-static", "-no-pie", "main.c", *files, "-lm"]
    first = f"-DFIRST={names[0].replace('.', '_')}"
    subprocess.run([*build, first, "-o", "main"], check=True, cwd=tmp_path)
    run = ["qemu-aarch64", tmp_path / "main", str(points.shape[1])]
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
    piece = shipped.Piece(ahead.jit.sources_digest(entry.modules), b"code")
    for platform in ("linux-arm64", "macos-arm64"):
        shipped.write(tmp_path / platform, platform, "generic", {CLOSED: piece})
    shipped.index.cache_clear()
    return tmp_path


def test_code_of_these_sources_is_current(kept, capsys):
    assert ahead.main([str(kept), "--check"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("wrong", ["sources", "entry", "file", "level", "all"])
def test_what_is_not_current_is_said(kept, capsys, wrong):
    path = kept / "macos-arm64" / "generic.objects"
    others = shipped.Piece("0" * 64, b"code")
    name = {"sources": CLOSED, "entry": "riskcore.core.published_forms.none"}.get(wrong)
    if name:
        shipped.write(path.parent, "macos-arm64", "generic", {name: others})
    elif wrong == "file":
        path.unlink()
    elif wrong == "level":  # of x86-64 there are three
        path = kept / "linux-x86_64" / "x86-64-v2.objects"
        shipped.write(path.parent, "linux-x86_64", "x86-64-v3", {CLOSED: others})
    else:
        shutil.rmtree(path.parent)
        shutil.rmtree(kept / "linux-arm64")
    assert ahead.main([str(kept), "--check"]) == 1
    assert wrong == "all" or str(path) in capsys.readouterr().out


def test_every_platform_has_a_wheel():
    # hatchling, which runs the hook, is where distributions are built.
    tree = ast.parse((PACKAGE.parent / "hatch_build.py").read_text())
    (tags,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "TAGS"
    )
    assert tags.keys() == shipped.TRIPLES.keys()
    assert len({*tags.values()}) == len(tags)


# --- the command ----------------------------------------------------------------------


def test_a_platform_can_be_chosen(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(ahead, "compile_for", lambda *args: calls.append(args))
    monkeypatch.setattr(subprocess, "run", lambda command, **_: calls.append(command))
    ahead.main([str(tmp_path), "--platforms", "linux-arm64", "--entries", CLOSED])
    assert calls == [("generic", ["linux-arm64"], tmp_path, [CLOSED])]
    calls.clear()
    ahead.main([str(tmp_path)])
    chosen = [command[command.index("--processors") + 1] for command in calls]
    assert chosen == [name for known in shipped.PROCESSORS.values() for name in known]
    assert json.dumps(calls[0]).count("x86_64") == 3
