"""The chores of the project: `nox -s NAME`, `nox -l` lists them.

Each has an environment of its own, which is kept. `nox --no-venv -s NAME` uses the one
that nox runs in, with `pip install -e ".[dev]"`. What stands after `--` is passed on.
"""

import hashlib
import sys
import tempfile
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "test", "docs"]
nox.options.reuse_existing_virtualenvs = True

CODE = (
    "riskcore", "bindings", "tests", "bench", "notes", "noxfile.py", "hatch_build.py"
)  # fmt: skip
SITE = "build/docs"
OBJECTS = "build/objects"


def install(session, *what):
    """Install into the environment of the session, if it has one."""
    if session.virtualenv.venv_backend != "none":
        session.install(*what)


def run(session, *module, env=None):
    """Run a module with the Python of the session, or the one that nox runs in."""
    own = session.virtualenv.venv_backend != "none"
    session.run("python" if own else sys.executable, "-m", *module, env=env)


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
    """Run a bench, `-- bench_kernel --rounds 9`; by no name cases of the kernels."""
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
def c(session):
    """Write the kernels as C, in bindings/c; a test compares."""
    install(session, "-e", ".[test]")
    run(session, "bindings.write_c")
    run(session, "bindings.write_points")
    run(session, "bindings.write_entries")


@nox.session
def docs(session):
    """Make the site of the notes in build/docs/html; a warning is an error."""
    install(session, "-e", ".[docs]")
    options = ["-b", "html", "-W", "--keep-going", "-d", f"{SITE}/trees"]
    places = ("notes", f"{SITE}/html")
    run(session, "sphinx", *options, *session.posargs, *places)


@nox.session
def objects(session):
    """Make the machine code of the wheel of this platform; some minutes.

    It needs a C compiler. What stands after `--` is passed on: `-- --processors
    x86-64-v3`.
    """
    install(session, "-e", ".[jit]", "pyarrow", "jinja2")
    run(session, "bindings.compile_ahead", OBJECTS, *session.posargs)


@nox.session(venv_backend="none")
def install_lines(session):
    """Try each install line of the pages in an environment of its own: half an hour."""
    session.run(sys.executable, ".ci/install_lines", *session.posargs)


@nox.session
def dist(session):
    """Build the distributions, install each by itself, and try it.

    Beside the wheel for all platforms there is one for each that `nox -s objects` made
    machine code for, which is tried without a compiler; that of another platform is
    built, but not tried.
    """
    install(session, "-e", ".[jit]", "build>=1.2", "packaging")
    folder = Path("dist").absolute()
    for old in folder.glob("riskcore-*"):
        old.unlink()
    none = {"RISKCORE_OBJECTS": "none"}
    run(session, "build", "--outdir", str(folder), env=none)  # the wheel from the sdist
    made = sorted(Path(OBJECTS).glob("*"))
    if made:
        run(session, "bindings.compile_ahead", OBJECTS, "--check")
    for platform in made:
        env = {"RISKCORE_OBJECTS": str(platform)}
        run(session, "build", "--wheel", "--outdir", str(folder), env=env)
    for built in sorted(folder.glob("riskcore-*")):
        digest = hashlib.sha256(built.read_bytes()).hexdigest()
        size = built.stat().st_size / 1e6
        session.log(f"{built.name}: {size:.1f} MB, sha256 {digest}")
        if built.suffix == ".whl" and not runs_here(built):
            continue
        with tempfile.TemporaryDirectory() as place:
            folder_of_programs = "Scripts" if sys.platform == "win32" else "bin"
            python = Path(place, "env", folder_of_programs, "python")
            run(session, "venv", str(python.parents[1]))
            light = built.suffix == ".whl" and not built.stem.endswith("-any")
            what = [built, "pyarrow", "jinja2"] if light else [f"{built}[all]"]
            pip = [python, "-m", "pip", "install", "-q", *what]
            for command in (pip, [sys.executable, ".ci/smoke", python]):
                session.run(*map(str, command), external=True)


def runs_here(wheel):
    """Tell whether a wheel is for this machine."""
    from packaging.tags import sys_tags

    return wheel.stem.rpartition("-")[2] in {tag.platform for tag in sys_tags()}
