"""Mutate the package, one place at a time: a test must fail if a result changes.

    python -m bench.mutation [--modules GLOB ...] [--count N] [--seed S] [--survivors]

A mutant is the package with one operator, constant, bound or statement changed. The
sample is drawn by a hash of the changed text, so that it stays the same when other
lines change; a room's share of it is its share of all possible mutants, at least
``LEAST``, and a quarter for the kernels, which are compiled again each time. A smaller
``--count`` is the beginning of a larger one. Each mutant is written to a
copy of the package and tested in a forked process: the tests of its own module first,
then those of ``WIDER``, to the first failure. Machine code goes to a private copy of a
warm cache.

A mutant that no test kills is a survivor. Those that have been looked at and change no
result are in ``mutation_survivors.csv``, by their text. The command ends with exit
status 1 if there is any other, and writes ``mutation.md`` if it ran over all modules.
``--survivors`` runs nothing: it prints the others of the last run, as rows to fill in.

Results are kept in ``.mutation/``, which may be removed. A killed mutant is run again
when its module or the test that killed it has changed, a survivor when its module or
any of its tests has.
"""

import argparse
import ast
import csv
import fnmatch
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path

from bench._common import HERE, command, table

ROOT = HERE.parent
WORK = ROOT / ".mutation"
COPY = WORK / "copy"
WARM = WORK / "warm"
RESULTS = WORK / "results.json"
PAGE = HERE / "mutation.md"
LISTED = HERE / "mutation_survivors.csv"
COPIED = (
    "riskcore", "tests", "bench", "notes", "recipe", "README.md", "pyproject.toml",
    "hatch_build.py", "noxfile.py", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md",
    ".pre-commit-hooks.yaml",
)  # fmt: skip

# What the tests import: once, instead of once for every mutant.
PRELOADED = (
    "pytest", "hypothesis", "numba", "mpmath", "flint", "scipy.stats", "pandas",
)  # fmt: skip

COUNT = 200
KERNELS_SHARE = 0.25  # each of their mutants is compiled, for minutes
SEED = 1
LEAST = 0.02  # share of the sample of each room, however small

PYTEST = ("-x", "-q", "-n0", "-p", "no:cacheprovider", "--hypothesis-seed=0")
# Hypothesis is loaded before pytest could rewrite its assertions.
PYTEST += ("-W", "ignore::pytest.PytestAssertRewriteWarning")

# Processor time, not time: a busy machine must not kill a mutant.
SLOWER, GRACE = 3, 20  # times the unmutated tests, and seconds more
MEMORY = 8 << 30  # bytes: a loop without an end must not take all there is

# Machine code: a changed constant shows in the last digits only.
SPECIAL = ("riskcore/core/special/*", "riskcore/core/published_forms.py")
KERNELS = (
    *SPECIAL,
    "riskcore/core/risk/individual.py",
    "riskcore/core/risk/posterior.py",
    "riskcore/core/risk/bounds.py",
)

# Tests of other folders that see the results of a module, by the first pattern that
# fits. They follow its own tests and those of its folder.
PROTECT = ["protection/test_protect", "cli/test_protect", "test_published"]
WIDER = {
    "riskcore/core/special/gamma/*": [
        "models/test_polya_urn", "core/compiled/test_contract",
    ],
    "riskcore/core/special/negative_binomial/*": ["core/risk/test_posterior"],
    "riskcore/core/special/*": [
        "core/special/gauss/test_fast_integer", "core/special/gauss/test_enclosure",
        "core/risk/test_bounds", "core/risk/test_individual",
        "core/risk/test_posterior",
    ],
    "riskcore/core/published_forms.py": ["accuracy/test_table"],
    "riskcore/core/risk/*": [
        "core/compiled/test_ufunc_maker", "assessment/test_assess",
        "report/test_pictures",
    ],
    "riskcore/core/compiled/*": ["test_import"],
    "riskcore/models/*": ["assessment/test_uniques"],
    "riskcore/data/*": [
        "data/test_cells", "bad_inputs/test_csv", "bad_inputs/test_frames",
        "assessment/test_assess", *PROTECT, "protection/test_leftovers",
    ],
    "riskcore/assessment/*": [
        "common/test_html", "report/test_text", "test_published",
    ],
    "riskcore/protection/*": [
        "protection/**/test_*", "protection/test_attacks", *PROTECT,
    ],
    "riskcore/report/*": ["protection/test_attacks"],
    "riskcore/cli/*": ["bad_inputs/test_command_lines"],
    "riskcore/common/*": ["bad_inputs/test_core"],
    "riskcore/simulate/*": ["cli/test_simulate"],
    "riskcore/comparison/*": ["cli/test_utility"],
    "riskcore/*": PROTECT,
}  # fmt: skip


def modules(patterns):
    """Return the paths of the modules that fit a pattern, with their rooms."""
    found = sorted(ROOT.glob("riskcore/**/*.py"))
    paths = [path.relative_to(ROOT) for path in found if path.name != "__init__.py"]
    return {
        str(path): path.parts[1] if path.parts[2:] else "riskcore"
        for path in paths
        if any(fnmatch.fnmatch(str(path), f"*{like}*") for like in patterns)
    }


@cache
def tests_of(module):
    """Return the files that test a module in two parts: its own, and wider ones."""
    own = Path(module).relative_to("riskcore").with_name(f"test_{Path(module).stem}.py")
    first = [module] if ">>> " in (ROOT / module).read_text() else []
    first += [f"tests/{own}"] if (ROOT / "tests" / own).exists() else []
    wider = next(
        stems for like, stems in WIDER.items() if fnmatch.fnmatch(module, like)
    )
    stems = [f"{own.parent}/test_*", *wider, "test_frozen"]
    found = [p for stem in stems for p in sorted((ROOT / "tests").glob(f"{stem}.py"))]
    files = dict.fromkeys(str(p.relative_to(ROOT)) for p in found)
    return first, [file for file in files if file not in first]


# --- mutants -----------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """A module with one place changed, and what names that place."""

    module: str
    function: str
    before: str
    after: str
    occurrence: int
    source: str

    @property
    def name(self):
        """Return what stays the same when other lines change."""
        numbered = str(self.occurrence)
        return self.module, self.function, self.before, self.after, numbered

    @cached_property
    def key(self):
        return digest(self.module, self.source)


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


COMPARED = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
}  # fmt: skip
COMPUTED = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"), ast.Mod: ("%", "*"), ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
    ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
}  # fmt: skip
CALLED = {
    "min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum",
    "maximum": "minimum", "floor": "ceil", "ceil": "floor", "first": "last",
}  # fmt: skip


class Places(ast.NodeVisitor):
    """Collect the edits of one module: function, begin, end, new text."""

    def __init__(self, source, kernel):
        self.source = source.encode()
        self.kernel = kernel
        self.lines = [0]
        for line in self.source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.within = []
        self.found = []
        self.visit(ast.parse(source))

    def begin(self, node):
        return self.lines[node.lineno - 1] + node.col_offset

    def end(self, node):
        return self.lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node):
        return self.source[self.begin(node) : self.end(node)].decode()

    def edit(self, begin, end, text):
        function = ".".join(self.within) or "module"
        self.found.append((function, begin, end, text))

    def replace(self, node, text):
        self.edit(self.begin(node), self.end(node), text)

    def operator(self, left, right, old, new):
        """Replace the operator that stands between two nodes."""
        begin, end = self.end(left), self.begin(right)
        between = self.source[begin:end].decode()
        pattern = r"\s+".join(map(re.escape, old.split()))
        match = re.search(pattern, between)
        if match:
            self.edit(begin + match.start(), begin + match.end(), new)

    # Not changed, as no result depends on it: annotations, docstrings, messages.

    def visit_FunctionDef(self, node):
        arguments = node.args
        self.inside(node, arguments.defaults + [x for x in arguments.kw_defaults if x])

    def visit_ClassDef(self, node):
        self.inside(node, [])

    def inside(self, node, defaults):
        self.within.append(node.name)
        for each in [*defaults, *node.decorator_list, *node.body]:
            self.visit(each)
        self.within.pop()

    def visit_AnnAssign(self, node):
        if node.value:
            self.visit(node.value)
            self.assigned(node, [node.target])

    def visit_JoinedStr(self, node):
        pass

    def visit_If(self, node):
        if "TYPE_CHECKING" not in self.text(node.test):
            self.generic_visit(node)

    # Changed.

    def visit_Assign(self, node):
        self.assigned(node, node.targets)
        self.generic_visit(node)

    def assigned(self, node, targets):
        if isinstance(targets[0], ast.Subscript | ast.Attribute):
            self.replace(node, "pass")

    def visit_AugAssign(self, node):
        self.replace(node, "pass")
        if type(node.op) in COMPUTED:
            old, new = COMPUTED[type(node.op)]
            self.operator(node.target, node.value, f"{old}=", f"{new}=")
        self.generic_visit(node)

    def visit_Raise(self, node):
        self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Call):
            self.replace(node, "pass")
        self.generic_visit(node)

    def visit_Return(self, node):
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1:
            a, b = node.value.elts[:2]
            between = self.source[self.end(a) : self.begin(b)].decode()
            self.edit(
                self.begin(a), self.end(b), f"{self.text(b)}{between}{self.text(a)}"
            )
        self.generic_visit(node)

    def visit_Compare(self, node):
        values = [node.left, *node.comparators]
        for left, op, right in zip(values, node.ops, values[1:], strict=False):
            self.operator(left, right, *COMPARED[type(op)])
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if type(node.op) in COMPUTED:
            self.operator(node.left, node.right, *COMPUTED[type(node.op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.operator(left, right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not | ast.USub):
            self.replace(node, self.text(node.operand))
        self.generic_visit(node)

    def visit_Call(self, node):
        function = node.func
        name = getattr(function, "id", getattr(function, "attr", ""))
        if name in CALLED:
            self.edit(self.end(function) - len(name), self.end(function), CALLED[name])
        if name == "sorted" and all(k.arg != "reverse" for k in node.keywords):
            self.edit(self.end(node) - 1, self.end(node), ", reverse=True)")
        self.generic_visit(node)

    def visit_Slice(self, node):
        for bound in (node.lower, node.upper):
            if bound is not None:
                self.replace(bound, "")
        self.generic_visit(node)

    def visit_Constant(self, node):
        value = node.value
        if isinstance(value, bool):
            self.replace(node, str(not value))
        elif isinstance(value, int):
            self.replace(node, str(value + 1))
        elif isinstance(value, float):
            other = value * 1.0000001 if self.kernel and value else value + 1.0
            self.replace(node, repr(other))


def mutants(module):
    """Return every mutant of a module, also those that are the same program."""
    source = (ROOT / module).read_text()
    kernel = any(fnmatch.fnmatch(module, like) for like in KERNELS)
    data = source.encode()
    seen, result = {}, []
    for function, begin, end, text in Places(source, kernel).found:
        first = data.rfind(b"\n", 0, begin) + 1
        last = data.find(b"\n", end)
        before = data[first:last]
        after = data[first:begin] + text.encode() + data[end:last]
        name = (function, *(" ".join(t.decode().split()) for t in (before, after)))
        seen[name] = seen.get(name, 0) + 1
        other = data[:first] + after + data[last:]
        result.append(Mutant(module, *name, seen[name], other.decode()))
    return result


def another_program(mutant):
    """Return whether a mutant is Python, and not the same program as the module."""
    with suppress(SyntaxError):
        ast.parse(mutant.source)
        return mutant.before != mutant.after
    return False


def sample(count, seed, patterns):
    """Return all mutants and the drawn ones, the rooms in turn: the smallest hashes."""
    rooms = {}
    for module, room in modules(patterns).items():
        slow = any(fnmatch.fnmatch(module, like) for like in SPECIAL)
        weight = KERNELS_SHARE if slow else 1
        rooms.setdefault(room, []).extend((m, weight) for m in mutants(module))
    every = [mutant for found in rooms.values() for mutant, _ in found]
    total = sum(weight for found in rooms.values() for _, weight in found)
    turns = []
    for found in rooms.values():
        share = max(LEAST, sum(weight for _, weight in found) / total)
        found = sorted((m for m, _ in found), key=lambda m: digest(str(seed), *m.name))
        chosen = islice(filter(another_program, found), count)
        turns += [((i + 0.5) / share, mutant) for i, mutant in enumerate(chosen)]
    turns.sort(key=lambda turn: turn[0])
    return every, [mutant for _, mutant in turns[:count]]


# --- running -----------------------------------------------------------------------


def prepare():
    """Copy what the tests need, and import here what every forked process needs."""
    COPY.mkdir(parents=True, exist_ok=True)
    WARM.mkdir(exist_ok=True)
    here = set()
    for name in COPIED:
        source = ROOT / name
        paths = [p for p in source.rglob("*") if p.is_file()] or [source]
        here |= {p.relative_to(ROOT) for p in paths if "__pycache__" not in p.parts}
    for path in [p for p in COPY.rglob("*") if p.is_file()]:
        if "__pycache__" not in path.parts and path.relative_to(COPY) not in here:
            path.unlink()
    for path in here:
        (COPY / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, COPY / path)
    for name in PRELOADED:
        with suppress(ImportError):
            import_module(name)
    if any(name.split(".")[0] == "riskcore" for name in sys.modules):
        raise RuntimeError("riskcore is already imported: every mutant would be it")


class Report:
    """A pytest plugin: quick tests first, and the name of the first to fail."""

    def __init__(self, known):
        self.failed = ""
        self.taken = {}
        self.known = known

    def pytest_collection_modifyitems(self, items):
        files = list(dict.fromkeys(item.path for item in items))
        items.sort(key=lambda i: (files.index(i.path), self.known.get(i.nodeid, 0)))

    def pytest_runtest_logreport(self, report):
        if report.failed and not self.failed:
            self.failed = report.nodeid
        taken = self.taken.get(report.nodeid, 0)
        self.taken[report.nodeid] = taken + report.duration


def run(tests, machine_code, taken, limit=None):
    """Run tests in a forked process; return what failed and the processor time.

    What failed is ``""`` if nothing did, ``"import"``, ``"time"`` or ``"crash"``, or
    the name of the first test. ``taken`` has the seconds of tests by name; without a
    limit the source is not mutated, and they are measured.
    """
    said, output = WORK / "said.json", WORK / "output.txt"
    said.unlink(missing_ok=True)
    shutil.rmtree(COPY / ".hypothesis", ignore_errors=True)
    child = os.fork()
    if not child:
        try:
            in_child(tests, machine_code, Report(taken), limit, said, output)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(70)
    deadline = time.monotonic() + 40 * (limit or 100)
    ended = 0
    while not ended:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if not ended and time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.02)
    code = os.waitstatus_to_exitcode(status)
    seconds = used.ru_utime + used.ru_stime
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "time", seconds
    if code < 0:
        return "crash", seconds
    # Passed, failed, not collected, no conftest, no tests (examples that are skipped).
    if code not in (0, 1, 2, 4, 5):
        raise RuntimeError(f"pytest ended with status {code}, see {output}")
    failed, measured = json.loads(said.read_text())
    if not limit:
        taken.update(measured)
    return failed or ("import" if code in (1, 2, 4) else ""), seconds


def in_child(tests, machine_code, report, limit, said, output):
    import pytest

    os.setpgid(0, 0)
    with open(output, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    for name in [n for n in sys.modules if n.split(".")[0] == "bench"]:
        del sys.modules[name]
    sys.path[:] = [str(COPY), *(p for p in sys.path if p not in ("", str(ROOT)))]
    os.environ["PYTHONPATH"] = str(COPY)
    os.environ["RISKCORE_CACHE_DIR"] = str(machine_code)
    if limit:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    os.chdir(COPY)
    status = pytest.main([*PYTEST, *tests], plugins=[report])
    said.write_text(json.dumps([report.failed, report.taken]))
    sys.stdout.flush()
    os._exit(int(status))


def without_mutation(tests, results):
    """Return the processor time of tests without any mutation; they must pass."""
    total = 0
    for test in tests:
        key = digest("unmutated", test, *texts([test]))
        if key not in results:
            # This warms the cache of machine code, too.
            failed, results[key] = run([test], WARM, results.setdefault("taken", {}))
            if failed:
                raise SystemExit(f"{failed} fails unmutated, see {WORK}/output.txt")
        total += results[key]
    return total


def texts(paths):
    """Return the texts of files as they were copied, which are those that run."""
    return [(COPY / path).read_text() for path in paths]


def verdict(mutant, results):
    """Return what kills a mutant, or "" if nothing does."""
    stages = tests_of(mutant.module)
    tests = digest(*texts(stages[0] + stages[1]))
    known = results.get(mutant.key)
    if known:
        by, of = known
        if of == (test_text(by) if by else tests):
            return by
    place = COPY / mutant.module
    unmutated = place.read_text()
    machine_code = WORK / "machine_code"
    shutil.rmtree(machine_code, ignore_errors=True)
    shutil.copytree(WARM, machine_code, copy_function=os.link)
    by = ""
    for stage in filter(None, stages):
        limit = int(SLOWER * without_mutation(stage, results) + GRACE)
        try:
            place.write_text(mutant.source)
            by, _ = run(stage, machine_code, results.get("taken", {}), limit)
        finally:
            place.write_text(unmutated)
            os.utime(place, (1, 1))  # not that of a mutant: its code is not taken
        if by:
            break
    results[mutant.key] = (by, test_text(by) if by else tests)
    return by


def test_text(name):
    """Return the hash of the source of a test, "" if there is none."""
    file, _, inner = name.partition("::")
    if not inner or not (COPY / file).exists() or not file.startswith("tests"):
        return ""
    source = (COPY / file).read_text()
    wanted = re.sub(r"\[.*", "", inner.split("::")[-1])
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == wanted:
            first = min([node, *node.decorator_list], key=lambda n: n.lineno).lineno
            return digest(*source.splitlines()[first - 1 : node.end_lineno])
    return ""


# --- the page ----------------------------------------------------------------------


FIELDS = ("module", "function", "before", "after", "occurrence", "verdict")


def listed():
    """Return the verdicts on the survivors that have been looked at."""
    if not LISTED.exists():
        return {}
    with open(LISTED, newline="") as file:
        rows = list(csv.DictReader(file))
    return {tuple(row[name] for name in FIELDS[:5]): row["verdict"] for row in rows}


def page(drawn, killed, known):
    """Return the table of all rooms, and the reasons for the equivalent mutants."""
    room_of, rooms = modules(["*"]), {}
    for mutant in drawn:
        rooms.setdefault(room_of[mutant.module], []).append(mutant)
    header = ["room", "modules drawn", "mutants", "killed", "survivors", "equivalent"]
    rows = [
        [room, str(len({m.module for m in found})), *counted(found, killed, known)]
        for room, found in [*sorted(rooms.items()), ("all", drawn)]
    ]
    reasons = [
        [name[0], name[1], f"`{name[2]}`", f"`{name[3]}`", known[name]]
        for name in sorted(mutant.name for mutant in drawn)
        if name in known and not killed[name]
    ]
    parts = [
        "# Mutation testing",
        f"`{command()}`: every mutant is the package with one place changed. *Killed*: "
        "a test fails. *Survivors*: no test fails, and nobody has shown that no result "
        "changes. *Equivalent*: no test fails, looked at, and no result changes, for "
        "the reason below.",
        table(header, rows),
        "## Equivalent mutants",
        table(
            ["module", "function", "line", "mutated", "why no result changes"],
            [[cell.replace("|", "\\|") for cell in row] for row in reasons],
        ).replace("---:", "---"),
    ]
    return "\n\n".join(parts) + "\n"


def counted(drawn, killed, known):
    alive = [mutant.name for mutant in drawn if not killed[mutant.name]]
    same = sum(name in known for name in alive)
    counts = len(drawn), len(drawn) - len(alive), len(alive) - same, same
    return list(map(str, counts))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--modules", nargs="+", default=["*"], metavar="GLOB")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--survivors", action="store_true")
    options = parser.parse_args()
    every, drawn = sample(options.count, options.seed, options.modules)
    known = listed()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.survivors:
        rows = [m.name for m in drawn if results.get(m.key, ["?"])[0] == ""]
        csv.writer(sys.stdout).writerows([*n, ""] for n in rows if n not in known)
        return 0
    killed = {}
    prepare()
    for i, mutant in enumerate(drawn, 1):
        start = time.monotonic()
        killed[mutant.name] = verdict(mutant, results)
        RESULTS.write_text(json.dumps(results))
        by = killed[mutant.name] or "SURVIVES" + "\n    ".join(["", *mutant.name[1:4]])
        seconds = f"{time.monotonic() - start:.0f} s"
        print(f"{i}/{len(drawn)}", mutant.module, seconds, by, flush=True)
    gone = set()
    if options.modules == ["*"]:
        gone = set(known) - {mutant.name for mutant in every}
        PAGE.write_text(page(drawn, killed, known))
    for name in sorted(gone):
        print("LISTED, and no longer in the source:", *name)
    alive = [name for name, by in killed.items() if not by and name not in known]
    print(f"{len(killed)} mutants, {len(alive)} survivors not looked at")
    return 1 if alive or gone else 0


if __name__ == "__main__":
    sys.exit(main())
