"""Measure the house: lines by wing, rooms and doors of a record, names, words.

    python -m bench.house [--against COMMIT]

writes `bench/results/house.md`: each figure at a commit and now, beside its budget.
`tests/test_house.py` keeps the budgets. What is counted:

- *lines* of Python, by wing of the package, and of tests and bench;
- *files reached*: those that a module imports, now or late, with all that they import;
- *rooms*: files of the package in which a function runs while a file goes through
  `assess` or `protect`; *doors*: pairs of a room and the room that it calls;
- *upward arrows*: imports inside protection against the order of its folders;
- *pronouns*: functions of the package in which one names a variable;
- *private names* of the package in tests; *options* of `protect` and lines of its help;
- *words* of the notes, of the manual (howto, tutorials, reference, guide), of README.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "bench" / "results" / "house.md"
WINGS = (
    "common", "core", "data", "models", "accuracy", "intruder", "simulate",
    "assessment", "disclosure", "comparison", "protection", "report", "cli", "app",
)  # fmt: skip
MANUAL = ("howto", "tutorials", "reference", "guide.md")
PRONOUNS = ("one", "found", "known", "each", "given")
# Inside protection each imports from those before it.
PROTECTION = (
    "presets", "secret", "treatments", "settings", "suppression", "records", "leaks",
    "release",
)  # fmt: skip

WALK = """
import json, sys
from pathlib import Path
import numpy as np
import riskcore
from riskcore.simulate import microdata

PACKAGE = str(Path(riskcore.__file__).parent)
data = microdata(2000, np.random.default_rng(1))
keys = ["REGION", "SEX", "AGE", "MARSTAT"]
given = {"weight": "WEIGHT", "household": "HOUSEHOLD"}
jobs = {
    "assess": lambda: riskcore.assess(data, keys, **given),
    "protect": lambda: riskcore.protect(
        data, keys, **given, k=3, recodings={"AGE": "from:15,30,45,65"},
        treat={"INCOME": "top:1%"}, roles={"*": "harmless:public"},
    ),
}
found = {}
for name, job in jobs.items():
    job()
    doors = set()

    def see(frame, event, argument):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE):
            caller = frame.f_back
            while caller and not caller.f_code.co_filename.startswith(PACKAGE):
                caller = caller.f_back
            before = caller.f_code.co_filename if caller else ""
            if before != path:
                doors.add((before, path))

    sys.setprofile(see)
    job()
    sys.setprofile(None)
    found[name] = [len({room for _, room in doors}), len(doors)]
print(json.dumps(found))
"""


def lines_of(folder: Path) -> int:
    """Return the lines of Python below a folder."""
    return sum(len(path.read_text().splitlines()) for path in folder.rglob("*.py"))


def words_of(*places: Path) -> int:
    """Return the words of pages, as wc counts them."""
    pages = {
        page
        for place in places
        for page in (place.rglob("*.md") if place.is_dir() else [place])
    }
    return sum(len(page.read_text().split()) for page in pages if page.exists())


def imports(path: Path) -> set[str]:
    """Return the dotted names of the package that a file imports, now or late."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("riskcore.")}


def file_of(root: Path, name: str) -> Path | None:
    """Return the file of a dotted name, if it is a module."""
    stem = root.joinpath(*name.split("."))
    places = (stem.with_suffix(".py"), stem / "__init__.py")
    return next((place for place in places if place.is_file()), None)


def reached(root: Path, name: str) -> int:
    """Return how many files a module imports, with all that they import."""
    seen, left = set(), [file_of(root, name)]
    while left:
        path = left.pop()
        if path is not None and path not in seen:
            seen.add(path)
            left += [file_of(root, other) for other in imports(path)]
    return len(seen)


def upward(root: Path) -> list[str]:
    """Return the imports inside protection from a folder that stands above."""
    place = root / "riskcore" / "protection"
    floor = {name: level for level, name in enumerate(PROTECTION)}
    top, found = len(PROTECTION), []
    for path in sorted(place.rglob("*.py")):
        parts = path.relative_to(place).parts
        own = floor.get(parts[0], top) if len(parts) > 1 else floor.get(path.stem, top)
        for name in sorted(imports(path)):
            inside = re.match(r"riskcore\.protection\.(\w+)", name)
            if inside and file_of(root, name) and floor.get(inside[1], top) > own:
                found.append(f"{path.relative_to(place)} imports {name}")
    return found


def private_names(root: Path) -> int:
    """Return how often a file of tests uses a private name of the package."""
    count = 0
    for path in (root / "tests").rglob("*.py"):
        tree = ast.parse(path.read_text())
        ours, used = set(), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "riskcore"
            ):
                names = {alias.name for alias in node.names}
                used |= {name for name in names if is_private(name)}
                ours |= {alias.asname or alias.name for alias in node.names}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and is_private(node.attr)
                and isinstance(node.value, ast.Name)
                and node.value.id in ours
            ):
                used.add(f"{node.value.id}.{node.attr}")
        count += len(used)
    return count


def is_private(name: str) -> bool:
    """Return whether a name is for the file alone that has it."""
    return name.startswith("_") and not name.startswith("__")


def pronouns(root: Path) -> dict[str, int]:
    """Return how many functions of the package have a pronoun as a variable."""
    counts = dict.fromkeys(PRONOUNS, 0)
    for path in (root / "riskcore").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                names = {
                    part.id
                    for part in ast.walk(node)
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
                }
                names |= {
                    part.arg for part in ast.walk(node) if isinstance(part, ast.arg)
                }
                for name in names & counts.keys():
                    counts[name] += 1
    return {f"functions with a variable '{name}'": n for name, n in counts.items()}


def printed(root: Path, *arguments: str) -> str:
    """Return what a Python of the checkout prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        check=True,
        text=True,
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root), "COLUMNS": "80"},
    )
    return done.stdout


def static(root: Path) -> dict[str, int]:
    """Return the figures that are read from the files."""
    package, notes = root / "riskcore", root / "notes"
    figures = {f"lines: {wing}": lines_of(package / wing) for wing in WINGS}
    figures["lines: riskcore"] = lines_of(package)
    figures["lines: tests"] = lines_of(root / "tests")
    figures["lines: bench"] = lines_of(root / "bench")
    figures |= {
        f"files that {name} reaches": reached(root, f"riskcore.{module}")
        for name, module in {
            "individual_risk": "core.risk.individual",
            "assess": "assessment.assess",
            "protect": "protection.protect",
        }.items()
    }
    figures["upward arrows inside protection"] = len(upward(root))
    figures["private names in tests"] = private_names(root)
    figures |= pronouns(root)
    figures["words: notes"] = words_of(notes)
    figures["words: manual"] = words_of(*(notes / name for name in MANUAL))
    figures["words: README"] = words_of(root / "README.md")
    return figures


def measured(root: Path) -> dict[str, int]:
    """Return the figures that need the package to run."""
    code = "from riskcore.cli import main; main(['protect', '--help'])"
    text = printed(root, "-c", code)
    walked = json.loads(printed(root, "-c", WALK, str(root)))
    options = set(re.findall(r"--[a-z][a-z-]*", text)) - {"--help"}
    return {
        **{f"rooms of {name}": both[0] for name, both in walked.items()},
        **{f"doors of {name}": both[1] for name, both in walked.items()},
        "options of protect": len(options),
        "lines of protect --help": len(text.splitlines()),
    }


def page(before: dict[str, int], now: dict[str, int], commit: str) -> str:
    """Return the page."""
    from tests.test_house import BUDGETS, GOALS

    rows = [
        f"| {name} | {before.get(name, ''):,} | {value:,} | "
        f"{BUDGETS.get(name, '')} | {GOALS.get(name, '')} |"
        for name, value in now.items()
    ]
    head = f"| | {commit[:8]} | now | budget | goal |\n|---|---:|---:|---:|---:|"
    return (
        "# The house in numbers\n\nGenerated, nothing here is edited by hand: "
        f"`python -m bench.house --against {commit[:8]}`.\nWhat is counted, its "
        "docstring says; the budgets are those of `tests/test_house.py`.\n\n"
        + "\n".join([head, *rows])
        + "\n"
    )


def main() -> None:
    """Measure a commit and what stands here, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", default="HEAD", metavar="COMMIT")
    commit = parser.parse_args().against
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", str(ROOT)]
        subprocess.run([*git, "worktree", "add", "-q", folder, commit], check=True)
        try:
            old = Path(folder)
            before = static(old) | measured(old)
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", folder], check=True)
    now = static(ROOT) | measured(ROOT)
    PAGE.write_text(page(before, now, commit))
    print(PAGE.read_text())


if __name__ == "__main__":
    main()
