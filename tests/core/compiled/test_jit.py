import ast
import functools
import inspect
import operator
import os
import shutil
import threading
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import riskcore
from riskcore.core import embed
from riskcore.core import published_forms as forms
from riskcore.core.compiled import jit
from riskcore.core.compiled.jit import Native, native, register_with_numba
from riskcore.core.risk import bounds, individual, posterior
from riskcore.core.special.gamma import functions
from tests import needs

PACKAGE = Path(riskcore.__file__).parent

# Printed: a number that compiled code returns, and whether Numba was there afterwards:
# that tells a compilation. The kernel is small, for it is compiled again and again.
VALUE = """
import sys
from riskcore.core.compiled.jit import Native
def third(x):
    return x / 3.0
print(Native(third, "float64", returns="float64")(2.0).hex(), "numba" in sys.modules)
"""
COMPILED, LOADED = f"{(2 / 3).hex()} True", f"{(2 / 3).hex()} False"

FOR_EVER = 600  # seconds: so long nothing takes on the busiest machine


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


def test_registering_while_another_thread_compiles(monkeypatch):
    # Numba may ask for the kernels with its compiler lock held.
    compiling = threading.Event()

    def content(identity, modules, compiled):
        compiling.set()  # the lock of this package is held; Numba's is waited for
        compiled()
        return b"another\n"

    monkeypatch.setattr(jit, "_content", content)
    monkeypatch.setattr(jit, "_loaded", lambda content: 0)
    another = Native(difference, "float64, float64", "another", "float64")
    thread = threading.Thread(target=another.address, daemon=True)
    registering = threading.Thread(target=register_with_numba, daemon=True)
    with global_compiler_lock:
        thread.start()
        compiling.wait()
        registering.start()
        registering.join(FOR_EVER)
        assert not registering.is_alive()
    thread.join(FOR_EVER)
    assert not thread.is_alive()


# --- numbers in compiled code -----------------------------------------------------

risk, truncated = riskcore.individual_risk, forms.truncated
franconi = forms.franconi  # of two numbers, and soon compiled


@numba.njit
def risks(f, p):
    out = np.empty(len(f))
    for i in range(len(f)):
        out[i] = franconi(f[i], p[i])
    return out


@numba.njit
def truncations(f, p, order):
    out = np.empty(len(f))
    for i in range(len(f)):
        out[i] = truncated(f[i], p[i], order)
    return out


@pytest.mark.parametrize("kind", ["f4", "i4", "u8", "?"])
def test_every_number_becomes_a_double(kind):
    # In single precision the risk would be wrong from the eighth digit on.
    f = np.tile(np.arange(1, 51), 4).astype(kind)
    p = np.linspace(0.01, 0.99, 200, dtype=np.float32)
    expected = franconi(f.astype(float), p.astype(float))
    for got in (risks(f, p), franconi(f, p)):
        assert got.dtype == np.float64
        assert got.tobytes() == expected.tobytes()


def test_integers_past_2_53_round_as_in_numpy():
    f = np.array([2**53 + 1, 2**53 + 3, 2**63 - 1, 2**62 + 2**9 + 1])
    p = np.full(4, 0.1)
    assert risks(f, p).tobytes() == franconi(f, p).tobytes()
    assert (franconi(f, p) != franconi(np.nextafter(f.astype(float), 0), p)).all()


def test_half_precision():
    f, p = np.array([1, 2.5, 60000], np.float16), np.array([0.1, 1], np.float16)
    got = riskcore.individual_risk(f[:, None], p)
    assert got.dtype == np.float32
    expected = riskcore.individual_risk(f.astype("f4")[:, None], p.astype("f4"))
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
    shutil.copytree(
        PACKAGE, tmp_path / "copy/riskcore", ignore=shutil.ignore_patterns("*.pyc")
    )
    return tmp_path / "copy"


@pytest.fixture(scope="module")
def first_run(python_in, tmp_path_factory):
    """Return what code prints that finds no cache, and the cache that it leaves."""

    @functools.cache
    def run(code):
        folder = tmp_path_factory.mktemp("first")
        return python_in(folder)(code, cache=folder / "cache"), folder / "cache"

    return run


@pytest.fixture
def cache_of(first_run, tmp_path):
    """Return a copy of the cache that a first run of some code leaves."""
    return lambda code: shutil.copytree(first_run(code)[1], tmp_path / "cache")


@pytest.mark.compiles
def test_a_second_process_loads_what_the_first_compiled(python, first_run):
    printed, cache = first_run(VALUE)
    assert printed == COMPILED
    assert python(VALUE, cache=cache) == LOADED


@pytest.mark.compiles
def test_an_edited_callee_gives_the_new_number(python, package, tmp_path):
    code = (
        "from riskcore.forms import closed_form;"
        "print(float(closed_form(2, 0.01)).hex())"
    )
    before = python(code, path=package, cache=tmp_path / "cache")
    callee = package / "riskcore/core/special/elementary.py"
    source = callee.read_text()
    assert source.count('LN2_HIGH = float.fromhex("0x1.62') == 1
    callee.write_text(source.replace("0x1.62", "0x1.63"))
    after = python(code, path=package, cache=tmp_path / "cache")
    assert float.fromhex(after) == pytest.approx(float.fromhex(before), rel=0.1)
    assert after != before


@pytest.mark.compiles
@needs.root
def test_code_that_another_user_planted_is_not_run(python, cache_of, tmp_path):
    cache = cache_of(VALUE)
    other = VALUE.replace("x / 3.0", "x / 7.0")
    python(other, cache=tmp_path / "evil")
    (file,), (planted,) = cache.rglob("*.o"), (tmp_path / "evil").rglob("*.o")
    shutil.copyfile(planted, file)
    assert python(VALUE, cache=cache) == f"{(2 / 7).hex()} False"  # it would be run
    os.chown(file, 12345, -1)
    assert python(VALUE, cache=cache) == COMPILED
    os.chown(file.parent, 12345, -1)
    assert python(VALUE, cache=cache) == COMPILED


@pytest.mark.compiles
def test_without_a_cache_everything_works(python, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    assert python(VALUE, cache=tmp_path / "file/cache") == COMPILED
    before = set(tmp_path.iterdir())
    assert python(VALUE, cache="relative") == COMPILED
    homeless = "import os.path; os.path.expanduser = lambda path: path\n"
    assert (
        python(homeless + VALUE, RISKCORE_CACHE_DIR="", XDG_CACHE_HOME="") == COMPILED
    )
    assert set(tmp_path.iterdir()) == before


@pytest.mark.compiles
@needs.posix
def test_of_eight_cold_processes_one_compiles(python, tmp_path):
    cache = tmp_path / "cache"
    eight = [python(VALUE, cache=cache, wait=False) for _ in range(8)]
    results = [process.communicate() for process in eight]
    assert [process.returncode for process in eight] == [0] * 8, results
    assert sorted(out.strip() for out, _ in results) == [LOADED] * 7 + [COMPILED]
    names = sorted(path.name for path in cache.rglob("*") if path.is_file())
    assert names == ["__main__.third.o", "__main__.third.o.lock"]  # and no part


# Two entry points that call one shared kernel, and what each returns.
SHARED = """
import sys
from riskcore.core.compiled.jit import Native, kernel, shared
@kernel
def half(x):
    return x / 2.0
@shared("float64, int64", "float64, int64")
def parts(x, n):
    return half(x), n + 1
def total(x):
    whole, n = parts(x, 3)
    return whole + n
def first(x):
    return parts(x, 0)[0]
made = [Native(each, "float64", returns="float64") for each in (total, first)]
print(*(each(5.0) for each in made), "numba" in sys.modules)
"""


@pytest.mark.compiles
def test_a_shared_kernel_is_compiled_once(python, first_run):
    printed, cache = first_run(SHARED)
    assert printed == "6.5 2.5 True"
    names = {file.name for file in cache.rglob("*.o")}
    assert names == {"__main___parts.o", "__main__.total.o", "__main__.first.o"}
    for name in names:  # the others call it, and say so in their first line
        (file,) = cache.rglob(name)
        line = file.read_bytes()[32:].partition(b"\n")[0]  # after the digest
        assert b"__main___parts" in line
    assert python(SHARED, cache=cache) == "6.5 2.5 False"


# A kernel that is called for negative numbers alone, by several threads at once.
RARE = """
import sys, threading
from riskcore.core.compiled.jit import Native, kernel, shared
@shared("float64*, int64, boolean", "float64")
def rare(x, n, small):
    return x[0] - n - small
@kernel
def common(x, n):
    return rare(x, n, x[0] < -5.0) if x[0] < 0.0 else x[0]
def nested(x, n):
    return 2.0 * common(x, n)
import numpy as np
made = [Native(each, "float64*, int64", returns="float64") for each in (common, nested)]
"""


@pytest.mark.compiles
def test_a_shared_kernel_is_compiled_when_it_is_called(python, tmp_path):
    calls = """
print(*(each(np.array([3.0]), 2) for each in made))
print("__main___rare" in {path.stem for path in pathlib.Path(sys.argv[1]).rglob("*.o")})
found = []
def call():
    found.extend(each(np.array([-6.0]), 2) for each in made)
threads = [threading.Thread(target=call) for _ in range(4)]
for each in threads: each.start()
for each in threads: each.join()
print(sorted(found), "numba" in sys.modules)
"""
    code = RARE + calls.replace("sys.argv[1]", repr(str(tmp_path)))
    code = "import pathlib\n" + code
    results = "[-18.0, -18.0, -18.0, -18.0, -9.0, -9.0, -9.0, -9.0]"
    printed = python(code, cache=tmp_path / "cache")
    assert printed.split("\n") == ["3.0 6.0", "False", f"{results} True"]
    printed = python(code, cache=tmp_path / "cache")
    assert printed.split("\n") == ["3.0 6.0", "True", f"{results} False"]


@pytest.mark.compiles
def test_whole_code_does_not_ask_python(python, tmp_path):
    code = (
        RARE
        + """
from riskcore.core.compiled import jit
print(*(each(np.array([1.0]), 2) for each in made))  # by now there is a stand-in
made[1].address(whole=True)
jit.SHARED["__main___rare"].provide = None  # who asks ends the process
print(*(each(np.array([-1.0]), 2) for each in made))
"""
    )
    printed = python(code, cache=tmp_path / "cache")
    assert printed.split("\n") == ["1.0 2.0", "-3.0 -6.0"]


@pytest.mark.compiles
def test_a_shared_kernel_that_cannot_be_compiled_ends_the_process(python, tmp_path):
    code = RARE.replace("return x[0] - n - small", "return [x[0]][n]")
    code += "print(made[0](np.array([3.0]), 0), flush=True)\n"
    code += "print('result', made[0](np.array([-3.0]), 0), flush=True)"
    process = python(code, cache=tmp_path / "cache", wait=False)
    printed, errors = process.communicate()
    assert process.returncode != 0
    assert printed.strip() == "3.0"
    assert "__main___rare could not be compiled" in errors


@pytest.mark.compiles
@pytest.mark.parametrize("damage", ["gone", "cut"])
@pytest.mark.parametrize(
    ("code", "name", "printed"),
    [
        (VALUE, "__main__.third.o", (2 / 3).hex()),
        (SHARED, "__main___parts.o", "6.5 2.5"),
    ],
)
def test_a_lost_or_damaged_file_is_compiled_again(
    python, cache_of, code, name, printed, damage
):
    cache = cache_of(code)
    (file,) = cache.rglob(name)
    whole = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(whole[:-1])
    assert python(code, cache=cache) == f"{printed} True"
    assert len(file.read_bytes()) == len(whole)
    assert python(code, cache=cache) == f"{printed} False"


@pytest.mark.compiles
def test_shared_kernels_without_a_cache(python, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    assert python(SHARED, cache=tmp_path / "file/cache") == "6.5 2.5 True"


@pytest.mark.compiles
def test_code_of_users_has_its_own_copy_of_a_shared_kernel(python, tmp_path):
    code = (
        SHARED
        + """
from numba import njit
print(njit(lambda x: parts(x, 4))(3.0), njit(total)(5.0))
"""
    )
    assert python(code, cache=tmp_path / "cache").split("\n")[1] == "(1.5, 5) 6.5"


# --- the sources that a build depends on ----------------------------------------------


@functools.cache
def entry_modules():
    """Return the modules that make entry points."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        wanted = {"riskcore.core.compiled.jit": {"native", "Native"}}
        maker = "riskcore.core.compiled.ufunc_maker"
        wanted[maker] = {"build", "elementwise", "on_demand"}
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                names = {alias.name for alias in node.names}
                if names & wanted.get(node.module, set()):
                    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
                    found.append(".".join(parts).removesuffix(".__init__"))
                    break
    return found


def test_entry_modules_are_found():
    core = {f"riskcore.core.{name}" for name in ("embed", "published_forms")}
    assert {"riskcore.core.compiled.ufunc_maker", *core} < {*entry_modules()}
    assert {"riskcore.core.risk.individual", "riskcore.simulate.populations"} < {
        *entry_modules()
    }


def test_every_module_that_is_loaded_is_a_source(python):
    # Importing the package itself loads names only: no kernel is there, nor in what it
    # imports. Each module is loaded as if it were the first.
    code = f"""
import sys, importlib, riskcore
named = {{name for name in sys.modules if name.startswith("riskcore")}}
for module in {entry_modules()}:
    for name in [name for name in sys.modules if name.startswith("riskcore")]:
        del sys.modules[name]
    importlib.import_module(module)
    loaded = {{name for name in sys.modules if name.startswith("riskcore.")}}
    assert module in loaded
    from riskcore.core.compiled.jit import sources_of
    print(*sorted(loaded - named - sources_of(frozenset({{module}})).keys()), sep=", ")
"""
    # A module of which nothing but a comment is left would be missing too.
    assert python(code).strip() == ""


def functions_used(function, seen):
    """Add to ``seen`` every function of the package that compiled code may call."""
    if function in seen:
        return
    seen.add(function)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    codes = [function.__code__]
    names = set()
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [each for each in code.co_consts if inspect.iscode(each)]
    values = [function.__globals__.get(name) for name in names]
    inside = [
        getattr(value, name, None)
        for value in values
        if inspect.ismodule(value)
        for name in names
    ]
    for value in (*cells, *values, *inside):
        if inspect.isfunction(value) and value.__module__.startswith("riskcore"):
            functions_used(value, seen)


LOOPS = {
    **{name: source.loop for name, source in individual.UFUNCS.items()},
    **{name: source.loop for name, source in bounds.UFUNCS.items()},
    **{
        name: getattr(source, "loop", source)
        for name, source in posterior.UFUNCS.items()
    },
    **forms.UFUNCS,
    **functions.UFUNCS,
}


@pytest.mark.parametrize("name", LOOPS)
def test_every_function_that_a_ufunc_uses_is_in_its_sources(name):
    used = set()
    functions_used(LOOPS[name], used)
    modules = {function.__module__ for function in used}
    sources = jit.sources_of(frozenset(jit.modules_of(LOOPS[name])))
    assert modules <= sources.keys()


def test_functions_used_are_found():
    used = set()
    functions_used(LOOPS["individual_risk"], used)
    modules = {function.__module__ for function in used}
    assert {
        "riskcore.core.special.gauss.fast_integer",
        "riskcore.core.special.elementary",
    } < modules


def test_code_of_another_modules_kernel_depends_on_its_source(monkeypatch):
    # The function that is compiled may only enclose the kernel.
    made = []
    monkeypatch.setattr(
        Native, "address", lambda self, whole=False: made.append(self) or 1
    )
    ufunc = riskcore.individual_risk
    for make in (embed.make_scalar, embed.make_integrand):
        make(ufunc)
    for entry in made:
        sources = jit.sources_of(entry.modules)
        assert {
            "riskcore.core.risk.individual",
            "riskcore.core.special.gauss.fast_integer",
        } <= sources.keys()
    assert len(made) == 2


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import riskcore.a", "riskcore.a"),
        ("import riskcore.a as b", "riskcore.a"),
        ("import os, riskcore.a as b, riskcore.c.d", "riskcore.a riskcore.c.d"),
        ("import os; import riskcore.a", "riskcore.a"),
        ("def f():\n    import riskcore.a", "riskcore.a"),
        ("if True: import riskcore.a", "riskcore.a"),
        ("try:\n\tfrom riskcore.a import b", "riskcore.a riskcore.a.b"),
        ("from riskcore import a as b, c", "riskcore.a riskcore.c"),
        ("from riskcore.a import (\n    b,\n    c,\n)", "riskcore.a.b riskcore.a.c"),
        ("from riskcore.a import (b,  # (x)\n c)", "riskcore.a.b riskcore.a.c"),
        ("from riskcore.a import(b)", "riskcore.a.b"),
        ("from riskcore.a import \\\n    b, \\\r\n    c", "riskcore.a.b riskcore.a.c"),
        ("import \\\n  riskcore.a", "riskcore.a"),
        ("from riskcore.a import b\r\nx = 1", "riskcore.a.b"),
    ],
)
def test_every_form_of_import_is_seen(text, names):
    assert {*names.split()} <= {*jit.imported_modules(text.encode())}


def test_what_is_no_import_is_not_taken_for_one():
    text = "# import riskcore.a\nimported = 1\nx.riskcore.b\nimport myriskcore.c"
    assert [*jit.imported_modules(text.encode())] == []


def test_imports_for_types_alone_are_no_sources():
    text = """
if TYPE_CHECKING:
    from riskcore.a import b

    from riskcore.c import d
import riskcore.e
if typing.TYPE_CHECKING or other:
    import riskcore.f
"""
    assert [*jit.imported_modules(text.encode())] == ["riskcore.e", "riskcore.f"]


def test_kernels_read_no_files():
    # Numbers from a file would change without a change of a source.
    each = [jit.sources_of(frozenset({module})) for module in entry_modules()]
    for name, source in functools.reduce(operator.or_, each).items():
        calls = {
            getattr(node.func, "attr", getattr(node.func, "id", ""))
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Call)
        }
        reads = calls & {"open", "read_text", "read_bytes", "loadtxt", "fromfile"}
        assert not reads or name in {
            "riskcore.core.compiled.jit",
            "riskcore.core.compiled.code_cache",
            "riskcore.core.compiled.shipped",
            "riskcore.common.late",  # only where each name is
        }, name
