"""Templates: all text is escaped, nothing is undefined, and Jinja2 comes late."""

import base64
import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import riskcore
from riskcore import assess, protect
from riskcore.report.page import page, protection_page
from riskcore.report.public_page import public_page, public_protection_page
from riskcore.report.templating import environment

FOLDER = Path(riskcore.__file__).parent / "report" / "templates"
TEMPLATES = sorted(FOLDER.glob("*.html"))
# What is written as it is: made here, of no text of a file or its user.
TRUSTED = {
    "policy", "style", "theme_script", "chart_code", "view.drawing", "chart.drawing",
    "drawing",
}  # fmt: skip


def rendered(source, **values):
    return environment("riskcore.report").from_string(source).render(**values)


def test_templates_trust_no_text_of_others():
    found = set()
    for path in TEMPLATES:
        text = path.read_text()
        assert not re.search(r"autoescape|Markup|\|\s*(forceescape|xmlattr)", text)
        found |= {
            re.search(r"([\w.]+)\s*$", before)[1]
            for before in re.split(r"\|\s*safe\b", text)[:-1]
        }
    assert found == TRUSTED


def test_python_makes_no_html_but_drawings_and_notebooks():
    root = FOLDER.parents[1]
    files = {path.relative_to(root).as_posix() for path in root.rglob("*.py")}
    assert "report/page.py" in files
    tag = re.compile(r"</?(p|b|i|td|th|tr|div|span|section|table|h[1-6])[ >]")
    with_tags = {
        name for name in files if tag.search(code_of((root / name).read_text()))
    }
    with_tags -= {"common/toml_text.py"}  # a named group of an expression
    # The pages before the app's own have fixed words, and no template need be loaded.
    assert with_tags <= {"common/html.py", "app/guard.py", "app/serve.py"}


def code_of(source):
    """Return a source without its docstrings."""
    return re.sub(r'"""(.*?)"""', "", source, flags=re.DOTALL)


def test_text_is_escaped_and_steers_nothing():
    hostile = "<b>\x1b[31m\n&\"'\udcff\u202e"
    shown = rendered("{{ x }}", x=hostile)
    assert not set(shown) & set("<>\"'\n\x1b\u202e\udcff")
    assert "\\x1b[31m\\n&amp;" in shown
    assert rendered("{{ x|label }}", x=hostile).startswith("<bdi>&lt;b&gt;\\x1b")
    assert rendered("{{ x|label }}", x=None) == "(missing)"
    assert rendered("{{ x|label }}", x="x" * 256) == f"<bdi>{'x' * 256}</bdi>"
    assert rendered("{{ x|label }}", x="x" * 300) == f"<bdi>{'x' * 255}…</bdi>"


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        (1200, "1,200"), (0.5, "0.5"), (float("nan"), "nan"), (True, "<bdi>True</bdi>"),
        ("1200", "<bdi>1200</bdi>"), (None, "(missing)"),
    ],
)  # fmt: skip
def test_cells(item, shown):
    assert rendered("{{ x|cell }}", x=item) == shown


def test_what_is_not_given_is_an_error():
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="'x' is undefined"):
        rendered("{{ x }}")
    with pytest.raises(UndefinedError):
        rendered("{{ x.y }}", x={})


# Pages


@pytest.fixture(scope="module")
def result():
    return assess({"k": ["a", "b"] * 9, "w": [5.0] * 18}, ["k"], "w")


@pytest.fixture(scope="module")
def protected():
    return protect({"k": ["a", "b"] * 9, "w": [5.0] * 18}, ["k"], "w", threshold=0.9)


@pytest.fixture
def pages(result, protected):
    return {
        "page": lambda: page({"original": result}, title="T"),
        "protection": lambda: protection_page(protected, title="T"),
        "public": lambda: public_page(result),
        "public protection": lambda: public_protection_page(protected),
    }


KINDS = ["page", "protection", "public", "public protection"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_policy_names_the_style_and_scripts_of_the_page(pages, kind):
    made = pages[kind]()
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', made)[1]
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        parts = re.findall(rf"<{tag}>(.*?)</{tag}>", made, re.DOTALL)
        digests = [hashlib.sha256(part.encode()).digest() for part in parts]
        hashes = [f"'sha256-{base64.b64encode(one).decode()}'" for one in digests]
        assert hashes
        assert f"{rule} {' '.join(hashes)};" in policy
    assert policy.startswith("default-src 'none'; ")


@pytest.mark.parametrize("kind", KINDS)
def test_without_jinja_it_is_named_before_the_work(pages, kind, monkeypatch):
    monkeypatch.setattr("riskcore.common.needs.find_spec", lambda _: None)

    def work(*_, **__):
        pytest.fail("it was computed")

    monkeypatch.setattr("riskcore.report.page.chart_views", work)
    monkeypatch.setattr("riskcore.report.public_page._Report", work)
    with pytest.raises(ImportError, match="reports need jinja2: pip install jinja2"):
        pages[kind]()


LATE = """
import sys
import riskcore.report.page, riskcore.report.text, riskcore.report.templating
from riskcore.cli import main
main(["assess", "s.csv", "--keys", "k", "--quiet"])
try:
    main(["--help"])
except SystemExit:
    pass
print({"jinja2", "markupsafe"} & set(sys.modules))
main(["assess", "s.csv", "--keys", "k", "--quiet", "--report", "r.html"])
print({"jinja2", "markupsafe"} <= set(sys.modules))
"""


def test_jinja_is_imported_for_a_page_alone(tmp_path):
    (tmp_path / "s.csv").write_text("k\n1\n2\n")
    done = subprocess.run(
        [sys.executable, "-c", LATE], cwd=tmp_path, capture_output=True, text=True,
        check=True, env={"PYTHONPATH": str(FOLDER.parents[2])},
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert "set()" in lines
    assert lines[-1] == "True"


def test_templates_are_files_of_the_package():
    """The wheel is the folder of the package as it is; `nox -s dist` tries it."""
    build = tomllib.loads((FOLDER.parents[2] / "pyproject.toml").read_text())
    wheel = build["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == [FOLDER.parents[1].name]
    assert wheel.keys() == {"packages", "hooks"}  # the hook adds machine code, no more
    names = {path.name for path in FOLDER.iterdir()}
    assert names >= {
        "base.html", "office.html", "public.html", "macros.html", "style.css",
        "theme.js", "chart.js",
    }  # fmt: skip
    assert set(environment("riskcore.report").list_templates()) == names
