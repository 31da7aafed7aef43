"""The chores of the project: `nox -s NAME`, `nox -l` lists them.

Each has an environment of its own, which is kept. `nox --no-venv -s NAME` uses the one
that nox runs in, with `pip install -e ".[dev]"`. What stands after `--` is passed on.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "test", "docs"]
nox.options.reuse_existing_virtualenvs = True

CODE = ("riskcore", "tests", "bench", "notes", "noxfile.py")
SITE = "build/docs"


def install(session, *what):
    """Install into the environment of the session, if it has one."""
    if session.virtualenv.venv_backend != "none":
        session.install(*what)


def run(session, *module):
    """Run a module with the Python of the session, or the one that nox runs in."""
    own = session.virtualenv.venv_backend != "none"
    session.run("python" if own else sys.executable, "-m", *module)


@nox.session
def test(session):
    """Run the tests: all, or what is named."""
    install(session, "-e", ".[test]")
    run(session, "pytest", *session.posargs)


@nox.session
def lint(session):
    """Check the style; `-- --fix` mends what can be mended."""
    install(session, "ruff>=0.9")
    fix = "--fix" in session.posargs
    run(session, "ruff", "check", *(["--fix"] if fix else []), *CODE)
    run(session, "ruff", "format", *([] if fix else ["--check"]), *CODE)


@nox.session
def types(session):
    """Check the types."""
    install(session, "-e", ".[test]")
    run(session, "mypy", *session.posargs)


@nox.session
def bench(session):
    """Run a bench, `-- bench_kernel 9`; without a name single cases of the kernels."""
    install(session, "-e", ".[test]")
    name, *rest = session.posargs or [""]
    if name and not name.startswith("-"):
        run(session, f"bench.{name}", *rest)
    else:
        options = ["-n", "0", "--benchmark-enable", "--benchmark-only"]
        run(session, "pytest", "bench", *options, *session.posargs)


@nox.session
def tables(session):
    """Make generated pages again; fail if one differs that must not."""
    install(session, "-e", ".[test]")
    run(session, "bench.tables", *session.posargs)


@nox.session
def docs(session):
    """Make the site of the notes in build/docs/html; a warning is an error."""
    install(session, "-e", ".[docs]")
    options = ["-b", "html", "-W", "--keep-going", "-d", f"{SITE}/trees"]
    places = ("notes", f"{SITE}/html")
    run(session, "sphinx", *options, *session.posargs, *places)


@nox.session
def mutate(session):
    """Change the source and see a test fail; `-- --modules risk`: bench/README.md."""
    install(session, "-e", ".[test]")
    run(session, "bench.mutation", *session.posargs)


@nox.session
def dist(session):
    """Build the distributions, install each by itself, and run the demo with it."""
    install(session, "build>=1.2")
    folder = Path("dist").absolute()
    for old in folder.glob("riskcore-*"):
        old.unlink()
    run(session, "build", "--outdir", str(folder))
    for built in sorted(folder.glob("riskcore-*")):
        place = Path(tempfile.mkdtemp())
        python = place / "env" / "bin" / "python"
        run(session, "venv", str(place / "env"))
        with session.chdir(place):  # where the source is not
            for command in (
                ["pip", "install", "-q", f"{built}[files]"],
                ["riskcore", "--version"],
                ["riskcore", "demo", "--records", "500"],
            ):
                # The key of the records is the user's own, and not for trials.
                session.run(
                    str(python),
                    "-m",
                    *command,
                    external=True,
                    env={"RISKCORE_CONFIG_DIR": str(place / "config")},
                )
        shutil.rmtree(place)
