"""The command ``riskcore error-table``: what it prints, writes and refuses."""

import os

import pytest

from riskcore import accuracy
from riskcore.data.files import formats

TABLE = "error-table --forms series7 franconi --f 3 4:6 --p"

pytestmark = pytest.mark.usefixtures("folder")


def expected(p):
    """Return the table of these p as numbers, and the summary as text."""
    table = accuracy.error_table(["series7", "franconi"], [3, 4, 5, 6], p)
    return table, accuracy.plain(accuracy.summary(table))


def test_as_text(run):
    points = "0.01:0.5:3:log 1-1e-8"
    status, out, err = run(f"{TABLE} {points}")
    assert (status, err) == (0, "")
    table, largest = expected([*accuracy.grid(0.01, 0.5, 3, "log"), 1 - 1e-8])
    assert out == f"{accuracy.plain(table)}\n\n{largest}\n"
    assert run(f"{TABLE} {points} --summary")[1] == f"{largest}\n"


def test_pairs(run):
    status, out, _ = run(f"{TABLE} 0.5 0.1:0.3:3 --paired")
    assert status == 0
    rows = [line.split()[:3] for line in out.splitlines()[1:9]]
    points = [["3", "0.5"], ["4", "0.1"], ["5", "0.2"], ["6", "0.3"]]
    forms = ("series7", "franconi")
    assert rows == [[*point, form] for form in forms for point in points]


@pytest.mark.parametrize("name", ["e.csv", "e.parquet"])
def test_as_a_file(run, name):
    status, out, err = run(f"{TABLE} 0.1:0.9:7 --output {name}")
    assert (status, err) == (0, "")
    table, largest = expected(accuracy.grid(0.1, 0.9, 7))
    assert out == f"{largest}\n\n  The table is in {name}.\n"
    written = formats.read(name, numeric=set(table) - {"form"})
    for column in table:
        assert written[column].to_pylist() == table[column].tolist()


@pytest.mark.parametrize(
    ("name", "start", "what"),
    [("e.md", b"| form |", "table"), ("e.png", b"\x89PNG", "map of errors")],
)
def test_as_markdown_and_picture(run, folder, name, start, what):
    status, out, _ = run(f"{TABLE} 0.1:0.9:7 --output {name}")
    assert status == 0
    assert out.endswith(f"The {what} is in {name}.\n")
    assert (folder / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--forms seris7", "unknown form 'seris7'; did you mean series7"),
        ("--forms truncated:x", "'x' is not a whole number from 0"),
        ("--forms series7 series7", "given twice: series7"),
        ("--f 1e999", "f are finite and at least"),
        ("--f 0.5:4", "'0.5:4': the ends are not whole numbers; give a count"),
        ("--f 1:9:3:log:2", "'1:9:3:log:2' is not START:STOP:COUNT:SCALE"),
        ("--f 1:4:x", "'x' is not a whole number >= 0"),
        ("--p 0.1:1:4:logit", "a logit grid must lie in"),
        ("--p 1.5 --output e.csv", "p are above 0 and at most 1"),
    ],
)
def test_refused(refused, options, message):
    given = {"--forms": "series7", "--f": "3 4:6", "--p": "0.1 0.5"}
    rest = " ".join(f"{k} {v}" for k, v in given.items() if f"{k} " not in options)
    assert message in refused(f"error-table {options} {rest}")
    assert os.listdir() == ["survey.csv"]
