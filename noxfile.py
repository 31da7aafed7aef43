"""The chores of the project: `nox -s NAME`, `nox -l` lists them.

Each has an environment of its own, which is kept. `nox --no-venv -s NAME` uses the one
that nox runs in, with `pip install -e ".[dev]"`. What stands after `--` is passed on.
"""

import shutil
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


@nox.session
def test(session):
    """Run the tests: all, or what is named."""
    install(session, "-e", ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def lint(session):
    """Check the style; `-- --fix` mends what can be mended."""
    install(session, "ruff>=0.9")
    fix = "--fix" in session.posargs
    session.run("python", "-m", "ruff", "check", *(["--fix"] if fix else []), *CODE)
    session.run("python", "-m", "ruff", "format", *([] if fix else ["--check"]), *CODE)


@nox.session
def types(session):
    """Check the types."""
    install(session, "-e", ".[test]")
    session.run("python", "-m", "mypy", *session.posargs)


@nox.session
def bench(session):
    """Run a bench, `-- bench_kernel 9`; without a name single cases of the kernels."""
    install(session, "-e", ".[test]")
    name, *rest = session.posargs or [""]
    if name and not name.startswith("-"):
        session.run("python", "-m", f"bench.{name}", *rest)
    else:
        options = ["-n", "0", "--benchmark-enable", "--benchmark-only"]
        session.run("python", "-m", "pytest", "bench", *options, *session.posargs)


@nox.session
def tables(session):
    """Make generated pages again; fail if one differs that must not."""
    install(session, "-e", ".[test]")
    session.run("python", "-m", "bench.tables", *session.posargs)


@nox.session
def docs(session):
    """Make the site of the notes in build/docs/html; a warning is an error."""
    install(session, "-e", ".[docs]")
    options = ["-b", "html", "-W", "--keep-going", "-d", f"{SITE}/trees"]
    places = ("notes", f"{SITE}/html")
    session.run("python", "-m", "sphinx", *options, *session.posargs, *places)


@nox.session
def mutate(session):
    """Change the source and see a test fail; `-- --modules risk`: bench/README.md."""
    install(session, "-e", ".[test]")
    session.run("python", "-m", "bench.mutation", *session.posargs)


@nox.session
def dist(session):
    """Build the distributions, install each by itself, and run the demo with it."""
    install(session, "build>=1.2")
    folder = Path("dist").absolute()
    for old in folder.glob("riskcore-*"):
        old.unlink()
    session.run("python", "-m", "build", "--outdir", str(folder))
    for built in sorted(folder.glob("riskcore-*")):
        place = Path(tempfile.mkdtemp())
        python = place / "env" / "bin" / "python"
        session.run("python", "-m", "venv", str(place / "env"))
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
