"""Every code block of the documentation runs, and prints what its page shows.

What a block is, its language says. `python` runs and may assert, `pycon` is a session
whose output is compared, `console` are commands after `$` whose output is compared
where the page shows it. The blocks of a page run one after the other in an empty
folder. A block after `<!-- file: NAME -->` is a file of that folder. `sh` is for
installing and for chores: what it names must exist.
"""

import ast
import contextlib
import doctest
import io
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from riskcore import cli
from tests import needs

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    path.relative_to(ROOT).as_posix()
    for folder in (".", "notes", "notes/*", "bench")
    for path in sorted(ROOT.glob(f"{folder}/*.md"))
]
BLOCK = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<language>\S*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
RUN = {"python", "pycon", "console", "sh"}
# Directives of the site, programs in files, and input of other tools.
NOT_RUN = {"{eval-rst}", "{toctree}", "text", "c", "r", "toml", "yaml"}
# Pages with programs that are tested elsewhere.
ELSEWHERE = {
    "notes/embedding.md": "tests/core/test_embed.py",
    "notes/other_languages.md": "tests/bindings/test_other_languages.py",
}
# Commands that not every machine has, and pages that need a package.
NEEDED = {"cc": needs.compiler}
NEEDED_BY = {"notes/tutorials/synthetic_file.md": needs.sdv}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page):
    """Return the blocks of a page: matches with file, language and body."""
    return list(BLOCK.finditer((ROOT / page).read_text()))


def with_blocks():
    """Return the pages that have something to run."""
    return [
        pytest.param(page, marks=marks_of(page))
        for page in PAGES
        if page not in ELSEWHERE
        and any(block["language"] in RUN for block in blocks(page))
    ]


def marks_of(page):
    marks = [mark for name, mark in NEEDED.items() if calls(page, name)]
    return [*marks, NEEDED_BY[page]] if page in NEEDED_BY else marks


def calls(page, command):
    """Tell whether a page calls a command."""
    return any(
        line.startswith(f"$ {command} ")
        for block in blocks(page)
        for line in block["body"].splitlines()
    )


def outside_blocks(page):
    return BLOCK.sub("", (ROOT / page).read_text())


@pytest.mark.parametrize("page", PAGES)
def test_blocks_say_what_they_are(page):
    if page in ELSEWHERE:
        assert Path(page).name in (ROOT / ELSEWHERE[page]).read_text()
        return
    assert "```" not in outside_blocks(page), "a block that is not closed, or indented"
    assert {block["language"] for block in blocks(page)} <= RUN | NOT_RUN


class Folder:
    """What the blocks of a page share: variables, files, the last exit status."""

    def __init__(self, page):
        self.page = page
        self.variables = {"__name__": "page"}
        self.status = 0
        self.last = ""

    def run(self, block):
        """Run one block."""
        if block["file"]:
            Path(block["file"]).write_text(block["body"])
        elif block["language"] in RUN:
            getattr(self, block["language"])(block["body"])

    def python(self, body):
        """Run a program."""
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(body, self.page, "exec"), self.variables)

    def pycon(self, body):
        """Run a session."""
        examples = doctest.DocTestParser().get_doctest(
            body, self.variables, self.page, self.page, 0
        )
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        said = []
        runner.run(examples, out=said.append, clear_globs=False)
        # A session adds to the variables of the page.
        self.variables.update(examples.globs)
        assert not runner.failures, "".join(said)

    def console(self, body):
        """Run commands and compare what they print."""
        for command, expected in commands(body):
            if command == "echo $?":
                got = f"{self.status}\n"
                self.status = 0
            else:
                self.finish()
                got = self.output_of(command)
                if "--output" in command:
                    # A file of an example reveals nothing that its page does not say.
                    assert " show in " not in got or " show in " in expected, got
            if expected.strip():
                assert_printed(got, expected, command)

    def sh(self, body):
        """Run the riskcore of a chore; what else it names must exist."""
        for line in re.sub(r"\\\n *", "", body).splitlines():
            for part in filter(str.strip, line.partition("  #")[0].split("&&")):
                words = shlex.split(part)
                check_chore(words)
                if Path(words[0]).name == "riskcore":
                    self.output_of(shlex.join(["riskcore", *words[1:]]))

    def output_of(self, command):
        """Return what a command prints, and keep its exit status."""
        self.last = command
        name, *arguments = shlex.split(command)
        if name != "riskcore":
            done = subprocess.run(
                ["sh", "-c", command],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            self.status = done.returncode
            return done.stdout
        *arguments, into = arguments if arguments[-2:-1] == [">"] else [*arguments, ""]
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                self.status = cli.main([one for one in arguments if one != ">"])
            except SystemExit as exit:
                self.status = exit.code or 0
        if not into:
            return said.getvalue()
        Path(into).write_text(said.getvalue())
        return ""

    def finish(self):
        """Fail if the last command failed and the page does not show it."""
        assert self.status == 0, f"$ {self.last}\nended with {self.status}"


def commands(body):
    """Yield each command of a console block, and what is shown below it."""
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)
    assert not parts[0].strip(), "a console block starts with $"
    for part in parts[1:]:
        whole = re.sub(r"\\\n", "", part)
        command, _, expected = whole.partition("\n")
        yield re.sub(r"\s+", " ", command).strip(), expected


def assert_printed(got, expected, command):
    """Compare line by line; `...` stands for any text."""
    lines = [
        "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())
        for text in (expected, got)
    ]
    same = doctest.OutputChecker().check_output(*lines, doctest.ELLIPSIS)
    assert same, f"$ {command}\n\nshown:\n{lines[0]}\nprinted:\n{lines[1]}"


def check_chore(words):
    """Check that what a command of a chore names exists."""
    name = Path(words[0]).name or words[0]
    if name == "nox":
        wanted = {w for k, w in enumerate(words) if words[k - 1] in {"-s", "-e"}}
        assert wanted <= sessions(), f"no session {wanted - sessions()}"
    elif words[1:2] == ["-m"] and words[2].startswith("bench"):
        assert (ROOT / f"{words[2].replace('.', '/')}.py").exists() or (
            words[2] == "bench"
        ), words[2]
    elif name == "R":
        assert words[1:3] == ["CMD", "INSTALL"], words
        assert (ROOT / words[3] / "DESCRIPTION").exists(), words[3]
    elif name == "pip" and words[1] == "install":
        asked = re.findall(r"\[([\w,]+)\]", " ".join(words))
        for extra in ",".join(asked).split(",") if asked else []:
            assert extra in extras(), extra
    else:
        known = {"python", "python3", "riskcore", "git", "pre-commit", "."}
        assert name in known, f"{name} is not known to this test"


def sessions():
    """Return the names of the sessions of the noxfile."""
    tree = ast.parse((ROOT / "noxfile.py").read_text())
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    }


def extras():
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]["optional-dependencies"].keys()


@pytest.mark.parametrize("page", with_blocks())
def test_blocks(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    folder = Folder(page)
    for block in blocks(page):
        folder.run(block)
    folder.finish()


# The runner itself


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Run blocks in an empty folder."""
    monkeypatch.chdir(tmp_path)
    page = Folder("page")

    def run(text):
        for block in BLOCK.finditer(text):
            page.run(block)
        page.finish()

    return run


@pytest.mark.parametrize(
    "text",
    [
        "```python\nassert 1 == 2\n```\n",
        "```pycon\n>>> 1 + 1\n3\n```\n",
        "```console\n$ riskcore --version\n9.9\n```\n",
        "```console\n$ riskcore assess nothing.csv --keys A\n```\n",
        "```console\n$ riskcore --version\n\n$ cat nothing\n```\n",
        "```sh\nnox -s nothing\n```\n",
        "```sh\npython -m bench.nothing\n```\n",
        "```sh\npip install '.[nothing]'\n```\n",
        "```sh\nR CMD INSTALL nothing\n```\n",
    ],
)
def test_what_is_wrong_is_seen(folder, text):
    with pytest.raises(AssertionError):
        folder(text)


def test_blocks_share_their_folder(folder):
    folder(
        "<!-- file: a.csv -->\n```text\nA,W\n1,2\n```\n"
        "```python\nfrom pathlib import Path\nx = Path('a.csv').read_text()\n```\n"
        "```pycon\n>>> x\n'A,W...'\n>>> y = 2\n```\n"
        "```python\nassert y == 2\n```\n"
        "```console\n$ riskcore assess a.csv --keys A \\\n    --weight W --top 1\n"
        "riskcore ...: a.csv\n  records ...\n$ cat b.csv\n...\n$ echo $?\n1\n```\n"
    )
