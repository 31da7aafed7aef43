"""What code, notes and pages say of each other is so: lists, names, links, sections."""

import argparse
import inspect
import re
import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

import riskcore
from riskcore import cli
from riskcore.core.risk.household import Households
from riskcore.core.risk.threshold import RiskDistribution

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))
tables = import_module("bench.tables")

PAGES = [
    path.relative_to(ROOT).as_posix()
    for folder in (".", "notes", "notes/*", "bench", "bench/results")
    for path in sorted(ROOT.glob(f"{folder}/*.md"))
]
SOURCES = [
    path.relative_to(ROOT).as_posix()
    for folder in ("riskcore", "tests", "bench", "notes")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
REFERENCE = ROOT / "notes" / "reference"


def text_of(page):
    """Return a page without its blocks of code."""
    text = (ROOT / page).read_text()
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


# Benches


def scripts():
    """Return the names of the benches that can be run."""
    return {
        path.name
        for path in (ROOT / "bench").glob("*.py")
        if '__name__ == "__main__"' in path.read_text()
    }


def test_the_list_of_benches_is_complete():
    page = (ROOT / "bench" / "README.md").read_text()
    listed = re.findall(r"^\| \[`(\w+\.py)`\]\(\1\) \|", page, re.MULTILINE)
    assert len(scripts()) > 20
    assert sorted(listed) == sorted(scripts())


def test_the_list_of_generated_sections_is_complete():
    marked = {
        (page, name)
        for page in PAGES
        for name in re.findall(r"^<!-- (\w+) -->$", text_of(page), re.MULTILINE)
    }
    listed = {(one.page, one.name) for one in tables.SECTIONS if one.name}
    assert marked
    assert listed == marked
    assert {f"{one.script}.py" for one in tables.SECTIONS} <= scripts()


def test_generated_sections_state_their_command():
    for script, sections in tables.by_script(tables.SECTIONS).items():
        for command in tables.commands_of(sections):
            assert re.match(rf"python -m bench\.{script}\b", command)
    (fraction,) = (one for one in tables.SECTIONS if one.name == "fraction")
    assert fraction.command() == "python -m bench.continued_fraction"


def test_what_must_not_differ_is_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    section = tables.Section("script", "page.md", "name", but=r"\| speed")

    def written(about, number, speed):
        page.write_text(
            f"<!-- name -->\n`python -m bench.script`: {about}\n| risk | {number} |\n"
            f"| speed | {speed} |\n<!-- /name -->\n"
        )
        return section.text()

    before = written("one machine", 1, 10)
    written("another", 1, 20)
    assert tables.differences(section, before) == []
    written("one machine", 2, 10)
    assert "+| risk | 2 |" in tables.differences(section, before)


# The reference


def public_names():
    """Yield (name, object) of every public name."""
    named = {name: getattr(riskcore, name) for name in sorted(riskcore.__all__)}
    modules = [f"riskcore.{name}" for name in named if inspect.ismodule(named[name])]
    for module in ("riskcore", *modules):
        for name in import_module(module).__all__:
            yield f"{module}.{name}", getattr(import_module(module), name)


@pytest.fixture(scope="module")
def directives():
    """Return the options of each directive of autodoc, by its kind and name."""
    return {
        (kind, name): options
        for page in REFERENCE.glob("*.md")
        for kind, name, options in re.findall(
            r"^\.\. auto(\w+):: (\S+)\n((?:   :.*\n)*)", page.read_text(), re.MULTILINE
        )
    }


def test_every_public_name_is_in_the_reference(directives):
    documented = {name for _, name in directives}
    public = {name for name, _ in public_names()}
    assert len(public) > 80
    assert sorted(public - documented) == []


def documented():
    """Yield (name, object, classes) of what a public docstring is asked of.

    The classes are those of a method: their examples may show it, too. Beside public
    names these are the classes that their attributes hold.
    """
    more = [("RiskDistribution", RiskDistribution), ("Households", Households)]
    for name, found in [*public_names(), *more]:
        if not callable(found) or name.endswith("Error"):
            continue
        yield name, found, []
        if not inspect.isclass(found):
            continue
        own = [one for one in found.__mro__ if one.__module__.startswith("riskcore")]
        for method in sorted({m for one in own for m in vars(one)}):
            kind = inspect.getattr_static(found, method)
            if method.startswith("_") or isinstance(kind, property):
                continue
            if callable(getattr(found, method, None)):
                yield f"{name}.{method}", getattr(found, method), own


def sections_of(found):
    doc = inspect.getdoc(found) or ""
    return set(re.findall(r"^(\w[\w ]*)\n-+$", doc, re.MULTILINE))


def lacks(name, found, classes):
    """Yield what a docstring lacks: parameters, what is returned, an example."""
    sections = sections_of(found)
    if not inspect.isclass(found):
        try:
            signature = inspect.signature(found)
        except ValueError:  # a ufunc has none
            parameters, returned = True, True
        else:
            parameters = set(signature.parameters) - {"self", "cls"}
            returned = signature.return_annotation not in (None, "None")
        if parameters and "Parameters" not in sections:
            yield f"{name}: no Parameters"
        if returned and not {"Returns", "Yields"} & sections:
            yield f"{name}: no Returns"
    call = f".{name.rpartition('.')[2]}("
    shown = any(call in (inspect.getdoc(each) or "") for each in classes)
    if "Examples" not in sections and not shown:
        yield f"{name}: no Examples"


def test_every_public_docstring_tells_what_goes_in_and_out_with_an_example():
    asked = list(documented())
    assert len(asked) > 150
    assert sorted(line for each in asked for line in set(lacks(*each))) == []


def test_a_docstring_that_lacks_something_is_seen():
    def named(x):
        """Return x."""
        return x

    assert list(lacks("named", named, [])) == [
        "named: no Parameters", "named: no Returns", "named: no Examples",
    ]  # fmt: skip


def test_classes_show_their_members(directives):
    for name, found in public_names():
        if inspect.isclass(found):
            options = directives["class", name]
            # What a named tuple has, its docstring says.
            assert ":members:" in options or issubclass(found, tuple), name


def test_the_reference_has_no_names_that_are_gone(directives):
    for _, name in directives:
        try:
            import_module(name)
        except ModuleNotFoundError:
            assert attrgetter(name.removeprefix("riskcore."))(riskcore) is not None


def test_every_command_is_in_the_reference():
    page = (REFERENCE / "command.md").read_text()
    shown = re.findall(r"^\.\. command-help:: (\S+)$", page, re.MULTILINE)
    (commands,) = (
        action.choices
        for action in cli.build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    assert sorted(shown) == sorted(commands)


@pytest.mark.slow  # half a minute
def test_the_site_is_built_without_a_warning(tmp_path):
    options = ["-b", "html", "-W", "--keep-going", "-q", "-d", tmp_path / "trees"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "notes", tmp_path / "html"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    pages = {path.name: path.read_text() for path in tmp_path.glob("html/**/*.html")}
    assert "individual_risk</span>" in pages["risk.html"].replace(
        '<span class="pre">', ""
    )
    # Nothing is loaded from elsewhere.
    loaded = r'(?:<(?:script|img|iframe)[^>]* src|<link[^>]* href)="(?:https?:)?//'
    assert [name for name, page in pages.items() if re.search(loaded, page)] == []


# Links and sections


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in headings
    }


@pytest.mark.parametrize("page", PAGES)
def test_links(page):
    links = re.findall(r"\[[^]]*\]\(([^)\s]+)\)", text_of(page))
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.resolve().relative_to(ROOT)), link


def one_line(text):
    """Return a text without line breaks, and the marks of comments after them."""
    return re.sub(r"\s*\n[ \t]*(?:#:? )?\s*", " ", text)


SECTION = re.compile(
    r"\b((?:notes/|bench/)?\w+\.md)`{0,2},? sections? (\d+)(?:(?:,| and| to| -) (\d+))?"
)


def sections(page):
    return set(re.findall(r"^#+ (\d+)\. ", page.read_text(), re.MULTILINE))


@pytest.mark.parametrize("folder", ["riskcore", "tests", "bench", "notes", "."])
def test_pages_and_sections_that_are_named_exist(folder):
    of_folder = [
        name
        for name in (*SOURCES, *PAGES)
        if name.partition("/")[0] == folder or (folder == "." and "/" not in name)
    ]
    assert of_folder
    for name in of_folder:
        text = one_line((ROOT / name).read_text())
        for page in re.findall(r"\b(?:notes|bench)/[\w/]*\w\.md\b", text):
            assert (ROOT / page).exists(), f"{name}: {page}"
        for page, *numbers in SECTION.findall(text):
            path = ROOT / page if "/" in page else ROOT / "notes" / page
            assert {number for number in numbers if number} <= sections(path), (
                f"{name}: {page}, section {' '.join(numbers)}"
            )


def test_a_section_that_is_gone_is_seen():
    text = one_line("# see notes/individual_risk.md,\n    # sections 3 and 99\n")
    assert SECTION.findall(text) == [("notes/individual_risk.md", "3", "99")]
    assert "99" not in sections(ROOT / "notes" / "individual_risk.md")


def test_errata_that_are_named_exist():
    page = (ROOT / "notes" / "errata.md").read_text()
    parts = re.split(r"^## (\d+)\. .*$", page, flags=re.MULTILINE)
    known = {
        f"{section}.{item}"
        for section, body in zip(parts[1::2], parts[2::2], strict=True)
        for item in re.findall(r"^(\d+)\. ", body, re.MULTILINE)
    }
    named = {
        (name, number)
        for name in (*SOURCES, *PAGES)
        for number in re.findall(r"\berrata (\d+\.\d+)\b", (ROOT / name).read_text())
    }
    assert len(named) > 10
    assert sorted(one for one in named if one[1] not in known) == []


# Names of files in texts: `riskcore/__main__.py`, `tests/core/risk/`, `core/embed.py`.
FILE = re.compile(r"`((?:[\w.]+/)+(?:\w+\.(?:py|md|csv|js|html))?)`")


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_exist(page):
    for name in FILE.findall(text_of(page)):
        made = name in {"dist/", "build/docs/html/"}
        places = (ROOT, ROOT / "riskcore", (ROOT / page).parent)
        assert made or any((place / name).exists() for place in places), name


SCRIPTS = [name.removesuffix(".py") for name in SOURCES if name.endswith(".py")]


@pytest.mark.parametrize("page", PAGES)
def test_scripts_and_commands_that_are_named_exist(page):
    """Names without a folder; the errata name scripts of others."""
    known = {name.rpartition("/")[2] for name in SCRIPTS}
    for name in re.findall(r"`(\w+)\.py`", text_of(page)):
        assert name in known or page == "notes/errata.md", name
    for name in re.findall(
        r"python -m ((?:bench|bindings)\.\w[\w.]*\b)", text_of(page)
    ):
        assert name.replace(".", "/") in SCRIPTS, name


# A line of a kernel in a table of mutants: | `function` | `line` | `mutated` |
MUTATED = re.compile(r"^\| `[\w.]+` \| `(.+?)` \| `.+` \|$", re.MULTILINE)


def test_lines_in_tables_of_mutants_are_in_the_kernels():
    code = "".join(p.read_text() for p in (ROOT / "riskcore" / "core").rglob("*.py"))
    squeezed = re.sub(r"\W", "", code)
    page = (ROOT / "bench" / "results" / "proof_of_rounding.md").read_text()
    lines = {line.partition(" #")[0] for line in MUTATED.findall(page)}
    assert [x for x in lines if re.sub(r"\W", "", x) not in squeezed] == []


def test_tests_that_are_named_exist():
    paths = [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "bench").glob("*.py")]
    known = {
        name
        for path in paths
        for name in re.findall(r"^ *def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    named = {
        (page, name)
        for page in PAGES
        for name in re.findall(r"::(test_\w+)", (ROOT / page).read_text())
    }
    assert len(named) > 20
    assert sorted(one for one in named if one[1] not in known) == []


# Versions


def test_versions_agree():
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == (
        riskcore.__version__
    )
    changes = (ROOT / "CHANGELOG.md").read_text()
    newest = re.search(r"^## (\S+?),? ", changes, re.MULTILINE)[1]
    assert newest == riskcore.__version__
    project = (ROOT / "pyproject.toml").read_text()
    assert f'\nversion = "{riskcore.__version__}"\n' in project


def test_actions_are_pinned_by_digest():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (.*)", path.read_text())
        assert used, path
        for action in used:
            assert re.fullmatch(r"\./\S+|\S+@[0-9a-f]{40} # v[\d.]+", action), action
