"""The risk if numbers are known exactly: they are keys."""

import json
import math

import polars as pl
import pytest

import riskcore
from riskcore.cli import main

nan = math.nan
FILE = {
    "sex": ["f", "f", "m", "m", "m"],
    "income": [10, 10, 10, 25, 25],
    "debts": [0.0, nan, 0.0, 1.5, 1.5],
    "w": [3.0, 4.0, 5.0, 6.0, 7.0],
}


def as_keys(columns):
    """Return uniques, expected re-identifications and risks by columns as keys."""
    data = {name: [f"is {value}" for value in FILE[name]] for name in columns}
    data["w"] = FILE["w"]
    found = riskcore.assess(data, columns, "w")
    uniques = found.below(2).records
    return uniques, found.expected_reidentifications, found.individual_risk.tolist()


def test_matches_are_those_of_numbers_as_keys():
    found = riskcore.assess(FILE, ["sex"], "w", numeric=["income", "debts"])
    sets = [
        ("income",),
        ("debts",),
        ("income", "debts"),
        ("sex", "income", "debts"),
    ]
    assert [one.columns for one in found.numeric.matches] == sets
    for one in found.numeric.matches:
        uniques, expected, risk = as_keys(list(one.columns))
        assert one.sample_uniques == uniques
        assert one.expected_reidentifications == expected
        assert one.individual_risk.tolist() == risk
        assert one.reidentification_rate == expected / 5
    assert [one.sample_uniques for one in found.numeric.matches] == [0, 1, 1, 3]


@pytest.mark.parametrize("missing", ["category", "wildcard", "argus"])
def test_missing_keys_follow_their_rule_and_numbers_are_values(missing):
    data = {"sex": ["f", None, "m"], "income": [1.0, 1.0, nan]}
    found = riskcore.assess(data, ["sex"], missing=missing, numeric=["income"])
    both = found.numeric.matches[-1]
    assert both.sample_uniques == (3 if missing == "category" else 1)


def test_numbers_of_a_csv_file(tmp_path, capsys):
    path = tmp_path / "survey.csv"
    path.write_text("sex;income;w\nf;1,50;9\nf;1,5;8\nm;;7\n")
    ask = [
        "assess", str(path), "--keys", "sex", "--decimal", ",", "--numeric", "income",
    ]  # fmt: skip
    main([*ask, "--weight", "w", "--json"])
    (alone, both) = json.loads(capsys.readouterr().out)["numeric"]["matches"]
    assert alone["sample_uniques"] == 1
    assert alone["cells"] == 2
    assert both["columns"] == ["sex", "income"]
    main(
        ["assess", str(path), "--keys", "sex", "--decimal", ",", "--numeric", "income"]
    )
    assert "Risk if numbers are known" in capsys.readouterr().out


def test_a_column_of_text_is_not_numbers(tmp_path, capsys):
    path = tmp_path / "survey.csv"
    path.write_text("sex,income\nf,low\nm,9\n")
    assert main(["assess", str(path), "--keys", "sex", "--numeric", "income"]) == 2
    assert "income is not a number" in capsys.readouterr().err
    with pytest.raises(TypeError, match=r"'sex'.*not real numbers"):
        riskcore.assess(FILE, ["income"], numeric=["sex"])


def test_the_risk_of_other_results_is_unchanged():
    plain = riskcore.assess(FILE, ["sex"], "w")
    found = riskcore.assess(FILE, ["sex"], "w", numeric=["income"])
    assert plain.numeric is None
    assert found.individual_risk.tolist() == plain.individual_risk.tolist()
    assert found.figures == plain.figures


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"numeric": ["sex"]}, ValueError, "'sex' is a key"),
        ({"numeric": ["w"], "weight": "w"}, ValueError, "'w' is a key, the weight"),
        ({"numeric": ["income", "income"]}, ValueError, "'income' appears twice"),
        ({"numeric": "income"}, TypeError, "numeric is a list"),
        ({"numeric": ["wages"]}, KeyError, "wages"),
        (
            {"numeric": ["income"], "household": "debts", "level": "household"},
            ValueError,
            "leave out level='household'",
        ),
    ],
)
def test_what_assess_refuses(settings, error, message):
    with pytest.raises(error, match=message):
        riskcore.assess(FILE, ["sex"], **settings)


def test_whole_numbers_that_are_not_doubles_are_refused(tmp_path):
    """Neighbors would be equal: 2^53 and 2^53 + 1."""
    ids = [2**53 + i for i in range(3)]
    frame = pl.DataFrame({"sex": ["f", "f", "m"], "id": ids})
    frame.write_csv(tmp_path / "survey.csv")
    for data in (frame, tmp_path / "survey.csv"):
        with pytest.raises(ValueError, match=r"'id': numbers .* would lose digits"):
            riskcore.assess(data, ["sex"], numeric=["id"])
    below = frame.with_columns(id=pl.Series([2**53 - 1, 2**53 - 2, 1]))
    found = riskcore.assess(below, ["sex"], numeric=["id"]).numeric
    assert found.matches[0].sample_uniques == 3


def test_data_on_an_engine_are_refused():
    frame = pl.LazyFrame({"sex": ["f"], "income": [1.0]})
    with pytest.raises(TypeError, match="numeric: single records are needed"):
        riskcore.assess(frame, ["sex"], numeric=["income"])
