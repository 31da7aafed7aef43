"""Which module may import which: data flows one way, and importing is light."""

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "riskcore"

# From the bottom. A wing, a folder of riskcore, may import wings of the floors below
# its own, none of its own floor.
FLOORS = [
    {"common"},
    {"core"},
    {"data", "intruder", "simulate"},
    {"models"},
    {"accuracy"},  # for researchers, as intruder and simulate are
    {"assessment"},
    {"comparison", "disclosure"},
    {"protection"},
    {"report"},
    {"app"},
    {"cli"},
    {"embed", "engines", "forms", "page"},  # public names of modules of wings
    {"__main__"},
]
HEIGHT = {unit: floor for floor, units in enumerate(FLOORS) for unit in units}
COMPILERS = {"numba", "llvmlite"}
HEAVY = {
    *COMPILERS, "pandas", "polars", "pyarrow", "mpmath", "scipy", "matplotlib",
    "jinja2", "markupsafe", "duckdb", "ibis", "pyspark", "dask", "starlette",
    "uvicorn", "anyio",
}  # fmt: skip

modules = {
    path.relative_to(ROOT).with_suffix("").as_posix(): ast.parse(path.read_text())
    for path in sorted(ROOT.rglob("*.py"))
}


def unit_of(module):
    return module.split("/")[0]


def imported(node):
    """Return the dotted names of one import statement; those of riskcore in full."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    assert node.level == 0, "imports are absolute"
    if node.module.split(".")[0] == "riskcore":
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return [node.module]


@cache
def imports(tree, enclosing=""):
    """Return (name, innermost function) of every import below a node."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found += [(name, enclosing) for name in imported(node)]
        elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            is_function = isinstance(node, ast.FunctionDef)
            found += imports(node, node.name if is_function else enclosing)
    return found


@cache
def named(tree):
    """Return what is imported by a string: the name, or how it begins."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("import_module", "__import__")
        ):
            first = node.args[0]
            parts = first.values if isinstance(first, ast.JoinedStr) else [first]
            if isinstance(parts[0], ast.Constant):
                found.append(parts[0].value)
    return found


def units_imported(module):
    """Return the units that a module imports, now or late; "" is the package itself."""
    found = [name for name, _ in imports(modules[module])]
    names = [[*name.split("."), ""] for name in (*found, *named(modules[module]))]
    return {name[1] for name in names if name[0] == "riskcore"}


def test_the_walk_sees_imports():
    tree = ast.parse("import a.b\ndef f():\n    from riskcore import c\n    import d\n")
    assert imports(tree) == [("a.b", ""), ("riskcore.c", "f"), ("d", "f")]
    assert "core" in units_imported("data/cells")


def test_every_module_imports_only_what_lies_below():
    for module in modules.keys() - {"__init__"}:
        unit = unit_of(module)
        assert unit in HEIGHT, f"a new room needs a floor: {unit}"
        others = units_imported(module) - {unit, "__version__"}
        # The package gives every name away when it is asked: "" would be a circle.
        assert others <= HEIGHT.keys(), module
        above = [other for other in others if HEIGHT[other] >= HEIGHT[unit]]
        assert above == [], module


def test_imports_by_string_are_seen(monkeypatch):
    code = (
        'import_module("riskcore.cli")\nimportlib.import_module(f"riskcore.data.{n}")'
    )
    monkeypatch.setitem(modules, "core/new", ast.parse(code))
    assert units_imported("core/new") == {"cli", "data"}


def test_plain_imports_of_the_package_are_seen(monkeypatch):
    monkeypatch.setitem(modules, "core/new", ast.parse("import riskcore\n"))
    assert units_imported("core/new") == {""}


def modules_imported(names):
    """Return the modules of the package that are imported by some names."""
    found = set()
    for name in names:
        path = name.replace(".", "/").removeprefix("riskcore/")
        # What is imported is a module, or a name in one.
        of = ({each, f"{each}/__init__"} for each in (path, path.rpartition("/")[0]))
        found |= next(filter(None, (each & modules.keys() for each in of)), set())
    return found


def assert_no_circle(needed):
    """Fail if modules need each other, given which ones each of them needs."""
    left = {module: others - {module} for module, others in needed.items()}
    while left:
        loose = {module for module, others in left.items() if not others & left.keys()}
        assert loose, f"in a circle, or above one: {sorted(left)}"
        left = {module: left[module] for module in left.keys() - loose}


def test_no_modules_import_each_other_in_a_circle():
    # Late imports and those for types included; the package gives every name away.
    needed = {
        module: modules_imported(name for name, _ in imports(tree)) - {"__init__"}
        for module, tree in modules.items()
    }
    assert "core/special/floats" in needed["core/risk/individual"]
    assert "data/engines/polars/scan" in needed["data/engines/registry"]
    assert_no_circle(needed)


def test_a_circle_is_seen():
    tree = ast.parse("def f():\n    from riskcore.data.engines import base, registry\n")
    late = modules_imported(name for name, _ in imports(tree))
    assert late == {"data/engines/base", "data/engines/registry"}
    with pytest.raises(AssertionError, match=r"in a circle, .*\['a', 'b'\]"):
        assert_no_circle({"a": {"b"}, "b": {"a"}})


def test_the_reference_is_for_accuracy_alone():
    users = {
        module
        for module in modules
        if any("accuracy.reference" in name for name, _ in imports(modules[module]))
    }
    assert users
    assert {unit_of(user) for user in users} == {"accuracy"}
    assert units_imported("accuracy/reference") == set()


# What the app may use besides what is public, `common` and `report`: each with its
# reason. Types of what public verbs return are imported for annotations alone.
DOORS = {
    "riskcore.comparison.formula.formulas": "refuses a formula as it is typed",
    "riskcore.data.columns.code_column": "the values of a column, to recode and draw",
    "riskcore.data.columns.plain_value": "a category as rules name it",
    "riskcore.data.coded.doubtful_codes": "what `assess` warns of, before it runs",
    "riskcore.data.files.formats": "which files can be opened, and their sheets",
    "riskcore.data.files.labels.code_text": "a category as rules name it",
    "riskcore.data.likely_codes.numbers_in": "whether categories have a scale",
    "riskcore.data.files.read_settings.Codes": "codes that mean missing, as typed",
    "riskcore.data.files.replace.replacing_all": "the file of rules is private",
    "riskcore.data.files.replace.tidy": "parts of files that a killed app left",
    "riskcore.data.proposed_ladder.rungs_of": "the groups of a ladder as it is typed",
    "riskcore.data.recoding_words.is_rule": "a rule of recoding or the path of a file",
    "riskcore.disclosure.leaks.Remedy": "treatments are mends of a leak, too",
    "riskcore.protection.settings.rules_table.entries": "where a setting stands",
    "riskcore.protection.treatments.rules.Treatment": "a treatment in words",
    "riskcore.protection.trials.Trial": "what `Trials` is made of",
}
BELOW_THE_APP = {"common", "report", "app"}


def public_names():
    interface = ast.parse((ROOT / "__init__.pyi").read_text())
    return {name for name, _ in imports(interface)}


def test_the_app_uses_public_verbs():
    used = {
        name
        for module, tree in modules.items()
        if unit_of(module) == "app"
        for name in imports_at_run_time(tree)
        if name.startswith("riskcore.") and name.split(".")[1] not in BELOW_THE_APP
    }
    assert used - public_names() == DOORS.keys()
    assert used & public_names()


def test_a_late_import_of_the_app_is_seen():
    tree = ast.parse("if TYPE_CHECKING:\n    import a\ndef f():\n    import b.c\n")
    assert imports_at_run_time(tree) == ["b.c"]


# Modules that are imported late themselves.
LATE = {
    "core/compiled/compiler",
    "core/compiled/float_mode",
    "app/serve",
    "app/server",
}


def test_compilers_are_known_to_three_modules():
    # But for the emitters of single instructions, which are LLVM code by nature.
    found = {
        module
        for module, tree in modules.items()
        for name, function in imports(tree)
        if name.split(".")[0] in COMPILERS
        and not function.lstrip("_").startswith("emit")
    }
    assert "core/compiled/jit" in found
    assert found <= {"core/compiled/jit", *LATE}


def test_heavy_libraries_are_imported_late():
    late_modules = ("riskcore.core.compiled.compiler", "riskcore.app.serve")
    for module in modules.keys() - LATE:
        late = HEAVY - ({"mpmath"} if unit_of(module) == "accuracy" else set())
        if module in {"__init__", "core/compiled/code_cache", "core/compiled/jit"}:
            late |= {"numpy", "narwhals"}
        loaded = imports_when_loaded(modules[module])
        assert {name.split(".")[0] for name in loaded} & late == set(), module
        assert not any(name.startswith(late_modules) for name in loaded), module


def imports_when_loaded(tree):
    """Return the names that are imported when the module is loaded, not for typing."""
    return [name for name, inside in imports(without_typing(tree)) if not inside]


def imports_at_run_time(tree):
    """Return the names that are imported, now or late, and not for typing."""
    return [name for name, _ in imports(without_typing(tree))]


def without_typing(tree):
    """Return a module without what is imported for annotations."""
    body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    ]
    return ast.Module(body, [])


def test_every_library_is_declared():
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    optional = [each for name in ("jit", "all", "engines") for each in extras[name]]
    declared = [*project["dependencies"], *optional]
    names = {re.match(r"[\w-]+", each)[0] for each in declared}
    names |= {"markupsafe", "h11"}  # of Jinja2 and uvicorn, which bring them
    found = {name.split(".")[0] for m in modules for name, _ in imports(modules[m])}
    # Of these the caller has what is asked for: a frame of polars, a form of SciPy, a
    # picture, a learner in an audit.
    theirs = {"polars", "scipy", "matplotlib", "sklearn"}
    assert found - sys.stdlib_module_names - {"riskcore"} - theirs <= names


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "py.typed").exists()
