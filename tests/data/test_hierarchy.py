"""Hierarchies from files: trees, or the line that makes none."""

from pathlib import Path

import numpy as np
import pytest

from riskcore import Hierarchy, Recoding, protect
from riskcore.data.files import formats
from riskcore.data.recode_table import recode
from tests.made_again import made_again

AREAS = "Lyon;F;EU\nNice;F;EU\nBonn;D;EU\nOslo;N;no EU\n"
ALL = "".join(f"{line};*\n" for line in AREAS.splitlines())


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "area.csv").write_text(ALL)
    return tmp_path


def test_levels_from_the_value_up():
    areas = Hierarchy.read("area.csv")
    assert areas.values == ("Lyon", "Nice", "Bonn", "Oslo")
    assert [level["Nice"] for level in areas.levels] == ["F", "EU", "*"]
    assert areas == Hierarchy(areas.levels, "area.csv")
    data = {"area": ["Oslo", "Nice", "Lyon", None]}
    for level, codes in ((1, ["N", "F", "F"]), (2, ["no EU", "EU", "EU"])):
        rule = areas.recoding(level)
        assert recode(data, {"area": rule})["area"] == [*codes, None]
        assert Recoding.from_dict(rule.to_dict()) == rule
    with pytest.raises(ValueError, match="Rome"):
        recode({"area": ["Rome"]}, {"area": areas.recoding(1)})
    with pytest.raises(ValueError, match="level=4: need a level from 1 to 3"):
        areas.recoding(4)


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        (b"\xef\xbb\xbfa;x\nb;x\n", ("a", "b")),
        (b"a;x\r\n\r\nb;x", ("a", "b")),
        (b'"a;1";x\n"b\n2";x\n"c""";x\n', ("a;1", "b\n2", 'c"')),
        (b";x\nb;y\n", (None, "b")),
        (b" a;x\n", (" a",)),
    ],
)
def test_ways_to_write_it(folder, raw, values):
    (folder / "h.csv").write_bytes(raw)
    assert Hierarchy.read("h.csv").values == values


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "h.csv: empty; need value;group;all"),
        (b"a,x\n", "h.csv, line 1: one field; need the value and its groups"),
        (b"a;x\nb;x;*\n", "h.csv, line 2: 3 fields, the first line has 2"),
        (b"a;x\n\nb\n", "h.csv, line 3: one field"),
        (b"a;x\nb;\n", "h.csv, line 2: level 1 is empty; repeat the group"),
        (b"a;x\nb;y\na;y\n", "h.csv, line 3: its value stands in another line"),
        (b"a;x;1\nb;x;2\n", "level 2 of the hierarchy of h.csv: it separates values"),
        (b'a;"x\n', "h.csv, line 1: unexpected end of data"),
        (b"a;\xff\n", "h.csv: byte 2 is not utf-8"),
    ],
)
def test_what_is_no_hierarchy(folder, raw, message):
    (folder / "h.csv").write_bytes(raw)
    with pytest.raises(ValueError, match=message):
        Hierarchy.read("h.csv")


def test_files_that_are_none(folder):
    with pytest.raises(FileNotFoundError):
        Hierarchy.read("nil.csv")
    with pytest.raises(IsADirectoryError, match="a directory"):
        Hierarchy.read(folder)
    for levels, error in (([], ValueError), ([[1]], TypeError)):
        with pytest.raises(error, match="levels"):
            Hierarchy(levels)
    with pytest.raises(ValueError, match="level 2 of the hierarchy: no group for 'b'"):
        Hierarchy([{"a": 1, "b": 1}, {"a": 1}])


DATA = {
    "k": [1, 1, 1, 2, 2, 2],
    "area": ["Lyon", "Nice", "Nice", "Bonn", "Oslo", "Oslo"],
}


TEXT = {name: [*map(str, values)] for name, values in DATA.items()}


def test_recoding_on_the_command_line(run, folder):
    formats.write("survey.csv", TEXT)
    rule = "area=hierarchy:area.csv:2"
    command = ["protect", "survey.csv", "--keys", "area", "k", "--k", "2"]
    command += ["--recode", rule, "--accept", "area=all people are known"]
    status, _, err = run(*command, "--output", "safe.csv")
    assert status == 0, err
    rules = {"area": Hierarchy.read("area.csv").recoding(2)}
    by_python = protect("survey.csv", ["area", "k"], k=2, recodings=rules)
    safe = formats.read("safe.csv")
    assert safe["area"].to_pylist() == by_python.data["area"].to_pylist()
    (folder / "area.csv").unlink()
    # The record holds the rules.
    again = made_again("survey.csv", "safe.csv.private.json", "again.csv")
    assert again == Path("safe.csv").read_bytes()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("area=hierarchy:area.csv", "need hierarchy:FILE:LEVEL"),
        ("area=hierarchy:nil.csv:1", "nil.csv"),
        ("area=hierarchy:area.csv:9", "need a level from 1 to 3"),
        ("area=hierarchy:area.csv:x", "not a whole number"),
    ],
)
def test_refused_on_the_command_line(run, rule, message):
    formats.write("survey.csv", DATA)
    command = ["protect", "survey.csv", "--keys", "area", "--k", "2"]
    status, _, err = run(*command, "--recode", rule)
    assert status == 2
    assert message in err


def test_a_hierarchy_is_not_written_over(run, folder):
    formats.write("survey.csv", TEXT)
    rule = ["--recode", "area=hierarchy:area.csv:1", "--overwrite"]
    command = ["protect", "survey.csv", "--keys", "area", "--k", "2", *rule]
    status, _, err = run(*command, "--output", "area.csv")
    assert (status, "area.csv" in err) == (2, True)
    assert (folder / "area.csv").read_text() == ALL


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([85.1, 90.0], [85, 90]),
        (np.array([85.1, 90], "f4"), [85, 90]),
        ([90, 90], [90, 90]),
        (["85.1", "90.0"], ["85", "90"]),
    ],
)
def test_a_file_serves_columns_of_numbers(folder, values, expected):
    (folder / "h.csv").write_text("85.1;85;*\n90.0;90;*\n")
    for rule in ("hierarchy:h.csv:1", Hierarchy.read("h.csv").recoding(1)):
        assert list(recode({"v": values}, {"v": rule})["v"]) == expected


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 3], r"no rule for 3; add to h.csv a line 3;GROUP with all levels"),
        (["1", "a"], r"no rule for 'a'; add to h.csv a line a;GROUP"),
        ([1, 2], r"no rule for 2: h.csv has '02'"),
        (["1", " 2"], r"no rule for ' 2': h.csv has '02'"),
    ],
)
def test_codes_that_a_file_lacks_are_named_with_the_line_to_add(
    folder, values, message
):
    (folder / "h.csv").write_text("1;A\n02;B\n")
    with pytest.raises(ValueError, match=message):
        recode({"v": values}, {"v": "hierarchy:h.csv:1"})
