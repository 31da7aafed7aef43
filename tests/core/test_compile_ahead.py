"""Machine code made ahead: all entry points, the same bits, on every platform."""

import ast
import ctypes
import functools
import json
import mmap
import platform
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
from riskcore.core.compiled import jit, linker, shipped, ufunc_maker
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

# What the code may ask the system for. Mach-O has a _ before each.
CALLED = {
    system: {name for names in known.values() for name in names}
    for system, known in linker.SYSTEM.items()
}

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
    here = objects / f"linux-{needs.KINDS[platform.machine()]}"
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


@needs.lld
def test_a_first_result_needs_no_compiler(values, expected, tmp_path):
    how, got = values()
    assert how == "loaded"
    assert same(got, expected)
    assert not (tmp_path / "cache").exists()


@needs.lld
@pytest.mark.parametrize("level", needs.runnable(shipped.PROCESSORS))
def test_the_same_bits_on_every_level(values, expected, level):
    how, got = values(RISKCORE_CPU=level)
    assert how == "loaded"
    assert same(got, expected)


@needs.lld
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


@needs.lld
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


@needs.lld
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


@needs.lld
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


# --- for other platforms --------------------------------------------------------------


def every_library():
    return [
        (name, processor)
        for name in ahead.TRIPLES
        for processor in shipped.PROCESSORS[name.partition("-")[2]]
    ]


def read_library(objects, name, processor):
    """Return the bytes of a library."""
    suffix = shipped.SUFFIXES[name.partition("-")[0]]
    return (objects / name / f"{processor}{suffix}").read_bytes()


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


def commands_macho(code):
    """Yield the commands of a Mach-O file, and their places."""
    magic, _, _, _, commands = struct.unpack_from("<IIIII", code)
    assert magic == 0xFEEDFACF
    at = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", code, at)
        yield command, at
        at += size


def table_macho(code):
    """Return the symbols of a Mach-O file: name, kind and value."""
    ((_, at),) = [each for each in commands_macho(code) if each[0] == 2]
    start, count, names, _ = struct.unpack_from("<IIII", code, at + 8)
    rows = [struct.unpack_from("<IBBHQ", code, start + 16 * i) for i in range(count)]
    return [(text_at(code, names + name), kind, x) for name, kind, _, _, x in rows]


def symbols_macho(code):
    """Return the machine of a Mach-O file, the symbols that it lacks, and its own."""
    table = [each for each in table_macho(code) if each[1] & 1]
    found = set(), set()
    for name, kind, _ in table:
        if name != "dyld_stub_binder":
            found[kind & 0xE != 0].add(name.removeprefix("_"))
    return struct.unpack_from("<I", code, 4)[0], *found


class Portable:
    """A library for Windows: its sections at their places, imports and exports."""

    def __init__(self, code):
        (head,) = struct.unpack_from("<I", code, 60)
        self.machine, count = struct.unpack_from("<HH", code, head + 4)
        (rest,) = struct.unpack_from("<H", code, head + 20)
        (size,) = struct.unpack_from("<I", code, head + 24 + 56)
        self.image = bytearray(size)
        for i in range(count):
            section = head + 24 + rest + 40 * i
            at, length, start = struct.unpack_from("<III", code, section + 12)
            self.image[at : at + length] = code[start : start + length]
        directories = struct.unpack_from("<32I", code, head + 24 + 112)
        self.exports = self._exported(directories[0])
        self.imports = self._imported(directories[2])
        assert directories[10] == directories[11] == 0  # nothing to relocate

    def _exported(self, at):
        """Return the places of its symbols."""
        count, functions, names, numbers = struct.unpack_from(
            "<IIII", self.image, at + 24
        )
        found = {}
        for i in range(count):
            (name,) = struct.unpack_from("<I", self.image, names + 4 * i)
            (k,) = struct.unpack_from("<H", self.image, numbers + 2 * i)
            place = struct.unpack_from("<I", self.image, functions + 4 * k)[0]
            found[text_at(self.image, name)] = place
        return found

    def _imported(self, at):
        """Return where the address of each function that it lacks belongs."""
        found = {}
        while any(row := struct.unpack_from("<5I", self.image, at)):
            library, place = text_at(self.image, row[3]), row[4]
            while name := struct.unpack_from("<Q", self.image, place)[0]:
                found[library, text_at(self.image, name + 2)] = place
                place += 8
            at += 20
        return found


def symbols_portable(code):
    """Return the machine of a library for Windows, what it lacks, and its own."""
    library = Portable(code)
    known = {
        (each, name)
        for each, names in linker.SYSTEM["windows"].items()
        for name in names
    }
    assert library.imports.keys() <= known
    return library.machine, {name for _, name in library.imports}, {*library.exports}


MACHINES = {
    "linux-x86_64": (symbols_elf, 62),
    "linux-arm64": (symbols_elf, 183),
    "macos-x86_64": (symbols_macho, 0x01000007),
    "macos-arm64": (symbols_macho, 0x0100000C),
    "windows-x86_64": (symbols_portable, 0x8664),
}


@needs.lld
@pytest.mark.parametrize(("name", "processor"), every_library())
def test_a_library_needs_nothing_but_the_c_library(objects, names, name, processor):
    symbols, machine = MACHINES[name]
    code = read_library(objects, name, processor)
    its, lacking, own = symbols(code)
    assert its == machine
    assert "feclearexcept" in lacking
    assert lacking <= CALLED[name.partition("-")[0]]
    entries = {CLOSED, *names, f"{SERIES}.scalar"}
    entries |= {f"{each}.arrays" for each in {CLOSED, *names}}
    asked = {"riskcore_cpuid", "riskcore_registers"} if "x86" in name else set()
    wanted = {shipped.symbol_of(each) for each in entries}
    assert own == wanted | asked | {"riskcore_index"}  # no shared kernel
    suffix = shipped.SUFFIXES[name.partition("-")[0]]
    index = shipped.sources_of(objects / name / f"{processor}{suffix}", processor)
    assert index.keys() == entries
    assert b"GLIBC" not in code  # any version of the C library will do


# Run here: libraries for macOS and Windows, laid out in memory as their systems do.
FOREIGN = """
import ctypes, sys
from pathlib import Path
import numpy as np
sys.path.insert(0, sys.argv[5])
from tests.core import test_compile_ahead as test
name, path, folder, names = sys.argv[1:5]
f, p = np.load(folder + "/points.npy")
names = names.split(",")
risks = np.empty_like([f, p])
lay_out = test.lay_out_macho if name.startswith("macos") else test.lay_out_portable
run = lay_out(Path(path).read_bytes())
for name, out in zip(names, risks):
    arrays = (ctypes.c_void_p * 3)(f.ctypes.data, p.ctypes.data, out.ctypes.data)
    size, steps = (ctypes.c_int64 * 1)(len(f)), (ctypes.c_int64 * 3)(8, 8, 8)
    symbol = name.replace(".", "_")
    run(symbol, *map(ctypes.addressof, (arrays, size, steps)))
np.save(folder + "/risks.npy", risks)
"""


def executable(size):
    """Return memory that can be written and run, and its address."""
    rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    memory = mmap.mmap(-1, size, prot=rights)
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def lay_out_macho(code):
    """Lay a library for macOS out in memory; return what calls a function of it.

    Functions are called as on Linux.
    """
    own = {name: value for name, kind, value in table_macho(code) if kind & 0xE}
    names = [name for name, *_ in table_macho(code)]
    (indirect,) = [at for command, at in commands_macho(code) if command == 0xB]
    (listed,) = struct.unpack_from("<I", code, indirect + 56)
    memory, base = executable(1 << 24)
    system = ctypes.CDLL("libm.so.6")  # which has those of the C library, too
    for command, at in commands_macho(code):
        if command != 0x19:
            continue
        start, _, place, size = struct.unpack_from("<QQQQ", code, at + 24)
        memory[start : start + size] = code[place : place + size]
        (count,) = struct.unpack_from("<I", code, at + 64)
        for section in range(at + 72, at + 72 + 80 * count, 80):
            start, size = struct.unpack_from("<QQ", code, section + 32)
            kind, first = struct.unpack_from("<II", code, section + 64)
            if kind & 0xFF not in (6, 7):  # pointers to symbols
                continue
            for i in range(size // 8):
                (k,) = struct.unpack_from("<I", code, listed + 4 * (first + i))
                if names[k] != "dyld_stub_binder":
                    function = getattr(system, names[k].removeprefix("_"))
                    found = ctypes.cast(function, ctypes.c_void_p).value
                    struct.pack_into("<Q", memory, start + 8 * i, found)

    def run(name, *arguments):
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
        kind(base + own[f"_{name}"])(*arguments, None)

    run.memory = memory
    return run


# Windows calls functions in another way.
THUNKS = """
declare double @fma(double, double, double)
declare i64 @memset(i64, i32, i64)
declare i64 @memcpy(i64, i64, i64)
declare i64 @memmove(i64, i64, i64)
define win64cc double @its_fma(double %a, double %b, double %c) {
  %r = call double @fma(double %a, double %b, double %c)
  ret double %r
}
define win64cc i64 @its_memset(i64 %a, i32 %b, i64 %c) {
  %r = call i64 @memset(i64 %a, i32 %b, i64 %c)
  ret i64 %r
}
define win64cc i64 @its_memcpy(i64 %a, i64 %b, i64 %c) {
  %r = call i64 @memcpy(i64 %a, i64 %b, i64 %c)
  ret i64 %r
}
define win64cc i64 @its_memmove(i64 %a, i64 %b, i64 %c) {
  %r = call i64 @memmove(i64 %a, i64 %b, i64 %c)
  ret i64 %r
}
define win64cc i32 @its_feclearexcept(i32 %a) {
  ret i32 0
}
define void @its___chkstk() naked {
  call void asm sideeffect "retq", ""()
  unreachable
}
"""
# Addresses are integers here: how LLVM writes pointers depends on its version.
CALL = """
declare win64cc void @"loop_of_{name}"(i64, i64, i64, i64)
define void @"run_{name}"(i64 %a, i64 %b, i64 %c) {{
  call win64cc void @"loop_of_{name}"(i64 %a, i64 %b, i64 %c, i64 0)
  ret void
}}
"""


def lay_out_portable(code):
    """Lay a library for Windows out in memory; return what calls a function of it."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(THUNKS), target)
    engine.finalize_object()
    library = Portable(code)
    memory, base = executable(len(library.image))
    memory[:] = bytes(library.image)
    for (_, name), place in library.imports.items():
        address = engine.get_function_address(f"its_{name}")
        assert address, name
        struct.pack_into("<Q", memory, place, address)

    def run(name, *arguments):
        llvm.add_symbol(f"loop_of_{name}", base + library.exports[name])
        engine.add_module(llvm.parse_assembly(CALL.format(name=name)))
        engine.finalize_object()
        address = engine.get_function_address(f"run_{name}")
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(address)(*arguments)

    run.memory = memory
    return run


@needs.lld
@needs.x86
@pytest.mark.parametrize("level", needs.runnable(X86))
@pytest.mark.parametrize("name", ["macos-x86_64", "windows-x86_64"])
def test_libraries_for_other_systems_give_the_same_bits(
    python, objects, names, points, expected, tmp_path, name, level
):
    np.save(tmp_path / "points.npy", points)
    path = objects / name / f"{level}{shipped.SUFFIXES[name.partition('-')[0]]}"
    arguments = [name, str(path), str(tmp_path), ",".join(names)]
    arguments.append(str(PACKAGE.parent))
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


@needs.lld
@needs.qemu
def test_code_for_arm64_gives_the_same_bits(objects, names, points, expected, tmp_path):
    (tmp_path / "main.c").write_text(MAIN)
    library = objects / "linux-arm64" / "generic.so"
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
    """Write a file that has the index of a library."""
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


def test_every_platform_has_a_wheel():
    # hatchling, which runs the hook, is where distributions are built.
    tree = ast.parse((PACKAGE.parent / "hatch_build.py").read_text())
    (tags,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "TAGS"
    )
    assert tags.keys() == ahead.TRIPLES.keys()
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
