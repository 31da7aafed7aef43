"""Recodings in words, in Python as in the command."""

from dataclasses import replace
from pathlib import Path

import pyarrow
import pytest

import riskcore
from riskcore import Recoding
from riskcore.data.recoding_words import is_rule, recoding_of, rule_file

DATA = {"age": ["07", "31", "90"], "w": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("from:15,30", Recoding.intervals([15, 30], closed="left")),
        ("upto:15=a,b", Recoding.intervals([15], ["a", "b"], closed="right")),
        ("top:85=85+", Recoding.top_bottom(top=85, top_label="85+")),
        ("bottom:1%", Recoding.top_bottom(bottom="1%")),
        ("truncate:1", Recoding.truncation(1)),
        ("round:0.5", Recoding.rounding(0.5)),
        (
            "map:07=2,31=2",
            replace(Recoding.mapping({"07": "2", "31": "2"}), padded=True),
        ),
    ],
)
def test_words_are_what_a_recoding_makes(words, made):
    assert recoding_of(words) == made
    assert recoding_of(made) is made
    assert rule_file(words) is None
    by_words = riskcore.protect(DATA, ["age"], k=2, recodings={"age": words})
    by_recoding = riskcore.protect(DATA, ["age"], k=2, recodings={"age": made})
    assert by_words.data == by_recoding.data
    assert by_words.settings.to_dict() == by_recoding.settings.to_dict()


@pytest.mark.parametrize("codes", [[1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"]])
def test_a_map_fits_codes_as_they_are_written(codes):
    found = recoding_of("map:3=2,1=x").apply(codes).codes
    assert [str(code) for code in found] == ["x", str(codes[1]), "2"]


def test_files_of_rules(tmp_path):
    tree = tmp_path / "ages.csv"
    tree.write_text("07;young;all\n31;old;all\n90;old;all\n")
    words = f"hierarchy:{tree}:1"
    assert recoding_of(words).apply(DATA["age"]).codes == ("young", "old", "old")
    assert rule_file(words) == tree
    recode = tmp_path / "age.grc"
    recode.write_text("1: -29\n2: 30-\n")
    assert recoding_of(recode).apply(DATA["age"]).codes == ("1", "2", "2")
    assert rule_file(recode) == rule_file(str(recode)) == recode
    # A path is never a rule, whatever its name.
    odd = Path("top:85")
    assert is_rule(str(odd))
    with pytest.raises(FileNotFoundError):
        recoding_of(odd)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("from:x", "'x' is not a number"),
        ("truncate:-1", "not a whole number"),
        ("map:3", "'3' is not NAME=VALUE"),
        ("map:3=1,3=2", "'3' appears twice"),
        ("hierarchy:ages", "need hierarchy:FILE:LEVEL"),
    ],
)
def test_faults_name_the_rule(words, message):
    with pytest.raises(ValueError, match=message):
        recoding_of(words)
    with pytest.raises(ValueError, match=f"recodings of 'age': '{words}': .*{message}"):
        riskcore.protect(DATA, ["age"], k=2, recodings={"age": words})


@pytest.mark.parametrize(
    ("values", "words", "expected"),
    [
        ([1, 2, 3, None], "map:3=2", [1, 2, 2, None]),
        ([1, 2, 3, None], "map:3=2,*=9", [9, 9, 2, None]),
        (["1", "*", None], "map:*=9,1=1", ["1", "9", None]),
        ([1, 2, 3], "map:3=2,*=other", ["other", "other", "2"]),
        ([1, 2, 3], "map:3=02", ["1", "2", "02"]),
        ([20, 70, 85], "top:60,bottom:30", [30, 60, 60]),
        ([20, 70, 85], "bottom:30=29,top:60=61", [29, 61, 61]),
        ([20, 70, 85], "from:30,80=1,2,3", [1, 2, 3]),
        (["20", "70"], "top:60=61", ["20", "61"]),
    ],
)
def test_recode_takes_words_and_numbers_stay_numbers(values, words, expected):
    assert riskcore.recode({"v": values}, {"v": words})["v"] == expected
    if values[0] == 1:
        table = pyarrow.table({"v": pyarrow.array(values, pyarrow.int16())})
        found = riskcore.recode(table, {"v": words}).column("v")
        assert found.to_pylist() == expected
        assert (found.type == pyarrow.int16()) == isinstance(expected[-2], int)
    again = Recoding.from_dict(recoding_of(words).to_dict())
    assert riskcore.recode({"v": values}, {"v": again})["v"] == expected


@pytest.mark.parametrize("rule", [7, None, {}])
def test_what_recode_does_not_take(rule):
    with pytest.raises(TypeError, match=r"'v': .* neither a Recoding nor a rule"):
        riskcore.recode({"v": [1]}, {"v": rule})


def test_top_and_bottom_of_one_column_in_the_command(run, tmp_path):
    source = tmp_path / "a.csv"
    source.write_text("AGE,W\n20,5\n40,5\n70,5\n")
    command = ["protect", source, "--keys", "AGE", "--weight", "W"]
    command += ["--threshold", "100%", "--recode"]
    out = ["--output", tmp_path / "o.csv", "--accept", "*=test", "(order)=test"]
    status, _, err = run(*command, "AGE=top:60", "AGE=bottom:30=29", *out)
    assert status == 0, err
    assert (tmp_path / "o.csv").read_text() == "AGE,W\n29,5\n40,5\n60,5\n"
    status, _, err = run(*command, "AGE=top:60", "AGE=round:5", *out)
    assert (status, "'AGE' appears twice; only top: and bottom:" in err) == (2, True)
