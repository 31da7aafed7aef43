"""The commands of other_languages.md, and the same bits in every language."""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import riskcore
from tests import needs
from tests.bindings.test_c import WARNINGS
from tests.test_docs import BLOCK, Folder

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "notes" / "other_languages.md"

sys.path.append(str(ROOT))
same_bits = import_module("bench.same_bits")

pytestmark = [needs.compiler, needs.posix]


class Commands(Folder):
    """Blocks that compile in less time and keep what the last command printed."""

    printed = ""

    def output_of(self, command):
        sooner = command.replace("-O2", "-O0")
        self.printed = super().output_of(sooner)
        return self.printed


def run(title):
    """Run a section of the page and return what its last command printed."""
    text = PAGE.read_text()
    (body,) = re.findall(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    commands = Commands(str(PAGE))
    for block in BLOCK.finditer(body):
        commands.run(block)
        assert commands.status == 0, commands.printed
    return commands.printed


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Return a folder with what the section on C compiles, once for all workers."""
    import fcntl

    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    folder = folder / "library"
    folder.mkdir(exist_ok=True)
    with open(folder / "lock", "w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        patch.chdir(folder)
        if not Path("libriskcore.so").exists():
            for name in ("bindings", "riskcore", "pyproject.toml"):  # as in a clone
                Path(name).symlink_to(ROOT / name)
            run("C")
    return folder


@pytest.fixture(autouse=True)
def folder(library, tmp_path, monkeypatch):
    """Work in a folder with the library; the page's python is this one."""
    shutil.copytree(library, tmp_path, symlinks=True, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")


@pytest.mark.parametrize(
    "title",
    [
        "Cython",
        "CFFI",
        pytest.param("Java", marks=needs.java),
        pytest.param("Rust", marks=needs.rustc),
    ],
)
def test_examples(title, monkeypatch):
    monkeypatch.setenv("CFLAGS", "-O0")  # sooner compiled
    if title == "Java":
        monkeypatch.setenv("PATH", str(needs.JAVA.parent), prepend=":")
    risks = [float(line) for line in run(title).split()[-5:]]
    f, p = [1, 2, 3, 2.5, 40], [0.01, 0.02, 0.5, 0.03, 0.3]
    assert risks == riskcore.individual_risk(f, p).tolist()


# --- databases ---------------------------------------------------------------------

FUNCTIONS = [
    n for n in same_bits.NAMES if not re.search("quantile|moment|sampled|bounds", n)
]


def case(name):
    """Return arguments and the ufunc's results for a function of the databases."""
    arguments = same_bits.points(name, 10)
    results = getattr(riskcore, name)(*arguments)
    assert 0 < np.isnan(results).mean() < 0.4
    return arguments, results


def test_every_function_is_on_the_page():
    named = set(re.findall(r"`(\w+)\(f", PAGE.read_text()))
    assert {name.removeprefix("log_") for name in FUNCTIONS} <= named


@pytest.mark.parametrize(
    "database", ["duckdb", pytest.param("sqlite", marks=needs.sqlite)]
)
def test_extensions_compile_without_warnings(database):
    strict = ["-std=c99", *[f"-W{name}" for name in WARNINGS], "-fsyntax-only"]
    file = f"bindings/{database}/riskcore_{database}.c"
    subprocess.run(["cc", *strict, "-Ibindings/c", file], check=True)


def sqlite_shell(*statements):
    """Return what the shell of SQLite prints, with the extension loaded."""
    command = ["sqlite3", "cells.db", ".load ./riskcore_sqlite", *statements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@needs.sqlite
def test_sqlite():
    assert run("SQLite") == f"{riskcore.individual_risk(1, 0.01):.15g}\n"
    with closing(sqlite3.connect("cells.db")) as database:
        for name in FUNCTIONS:
            arguments, expected = case(name)
            x = ", ".join(f"x{k}" for k in range(len(arguments)))
            marks = ", ".join("?" * len(arguments))
            database.execute(f"CREATE TABLE of_{name} ({x})")
            rows = np.stack(arguments, 1).tolist()
            database.executemany(f"INSERT INTO of_{name} VALUES ({marks})", rows)
            database.commit()
            # The results stay in the file, as the shell prints only 15 digits.
            query = f"SELECT {name}({x}) FROM of_{name} ORDER BY rowid"
            assert sqlite_shell(f"CREATE TABLE {name} AS {query}") == ""
            found = database.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall()
            found = np.array(found, float).ravel()  # NULL is nan again
            np.testing.assert_array_equal(found, expected, name)


@needs.sqlite
def test_sqlite_arguments():
    run("SQLite")
    nulls = "individual_risk(NULL, 1), individual_risk(1, NULL), individual_risk(-1, 1)"
    assert sqlite_shell(f"SELECT {nulls}, individual_risk(2, 1)") == "|||0.5\n"
    for text in ("'2'", "x'32'"):
        assert "individual_risk: an argument is text or a blob" in sqlite_shell(
            f"SELECT individual_risk({text}, 1)"
        )
    assert "wrong number of arguments" in sqlite_shell("SELECT individual_risk(2)")
    # Indexes want deterministic functions, untrusted schemas innocuous ones.
    table = "CREATE TABLE t (f, r AS (individual_risk(f, 1)) STORED)"
    index = "CREATE INDEX i ON t (individual_risk(f, 0.5))"
    assert sqlite_shell(table, index, "INSERT INTO t VALUES (4)") == ""
    query = ["PRAGMA trusted_schema = off", "INSERT INTO t VALUES (2)"]
    assert sqlite_shell(*query, "SELECT r FROM t") == "0.25\n0.5\n"


@pytest.fixture
def database():
    """Return a database of DuckDB with the extension."""
    import duckdb

    run("DuckDB")
    with duckdb.connect(config={"allow_unsigned_extensions": True}) as database:
        database.execute("LOAD './riskcore.duckdb_extension'")
        yield database


@needs.engine("duckdb")
def test_duckdb(database):
    n = 5000  # more than two vectors of DuckDB
    for name in FUNCTIONS:
        arguments, expected = case(name)
        masks = [np.arange(n) % (5 + k) == k for k in range(len(arguments))]
        cells = {
            f"x{k}": pa.array(np.resize(x, n), mask=masks[k])
            for k, x in enumerate(arguments)
        }
        database.register("cells", pa.table(cells))
        query = f"SELECT {name}({', '.join(cells)}) AS r FROM cells"
        found = database.sql(query).to_arrow_table()["r"].combine_chunks()
        null = np.any(masks, axis=0)
        assert np.array_equal(found.is_null().to_numpy(False), null), name
        found, expected = found.to_numpy(False)[~null], np.resize(expected, n)[~null]
        np.testing.assert_array_equal(found, expected, name)


@needs.engine("duckdb")
def test_duckdb_arguments(database):
    import duckdb

    risks = "individual_risk(2, 1), individual_risk(2.0, 1), individual_risk(NULL, 1)"
    assert database.execute(f"SELECT {risks}").fetchall() == [(0.5, 0.5, None)]
    outside = "isnan(individual_risk(-1, 1)), individual_risk(-1, 1) >= 0.01"
    assert database.execute(f"SELECT {outside}").fetchall() == [(True, True)]
    with pytest.raises(duckdb.BinderException, match="individual_risk"):
        database.execute("SELECT individual_risk(2)")
    with pytest.raises(duckdb.IOException, match="unsigned"):
        duckdb.connect().execute("LOAD './riskcore.duckdb_extension'")
