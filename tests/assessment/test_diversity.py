"""l-diversity and t-closeness: published tables, the rules for missing, refusals."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import riskcore
from riskcore.assessment.diversity import diversity

# Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007), figures 1 to 3: the
# conditions of twelve inpatients in the cells of the 4-anonymous and 3-diverse table.
HEART, VIRAL, CANCER = "Heart Disease", "Viral Infection", "Cancer"
CONDITION = [
    HEART, HEART, VIRAL, VIRAL, CANCER, HEART, VIRAL, VIRAL,
    CANCER, CANCER, CANCER, CANCER,
]  # fmt: skip
FOUR_ANONYMOUS = [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]
THREE_DIVERSE = [1, 3, 3, 1, 2, 2, 2, 2, 1, 1, 3, 3]

# Li, Li and Venkatasubramanian (2007), tables 3 and 5: salaries in thousands.
SALARY = [3, 4, 5, 6, 11, 8, 7, 9, 10]
TABLE_3 = [1, 1, 1, 2, 2, 2, 3, 3, 3]
TABLE_5 = [1, 3, 1, 2, 2, 2, 3, 1, 3]


def test_the_inpatients_of_machanavajjhala():
    data = {"cell": FOUR_ANONYMOUS, "condition": CONDITION}
    found = diversity(data, ["cell"], "condition")["condition"]
    assert found.distinct_l.tolist() == [2, 3, 1]
    assert found.entropy_l.tolist() == pytest.approx([2, 2 * math.sqrt(2), 1])
    # Their homogeneity attack: everybody of the third cell has cancer.
    assert found.fails(l=2).tolist() == [False, False, True]
    data = {"cell": THREE_DIVERSE, "condition": CONDITION}
    found = diversity(data, ["cell"], "condition", c=3)["condition"]
    assert found.distinct_l.tolist() == [3, 3, 3]
    # r = (2, 1, 1): 2 < 3 * 1, so recursive (3, 3); 2 < 2 * 1 is not, 2 < 2 * 2 is.
    assert found.recursive_l.tolist() == [3, 3, 3]
    two = diversity(data, ["cell"], "condition", c=2)["condition"]
    assert two.recursive_l.tolist() == [2, 2, 2]


def test_the_salaries_of_li():
    data = {"cell": TABLE_3, "salary": SALARY}
    found = diversity(data, ["cell"], "salary", ordered=["salary"])["salary"]
    assert [round(t, 3) for t in found.closeness] == [0.375, 0.167, 0.236]
    data["cell"] = TABLE_5
    found = diversity(data, ["cell"], "salary", ordered=["salary"])["salary"]
    # "0.167-closeness with respect to salary"
    assert round(found.closeness.max(), 3) == 0.167


# --- missing values ---

HOLES = {
    "key": [1, 1, 2, 2, None],
    "condition": ["flu", None, None, None, "cancer"],
}


def test_missing_sensitive_values_are_refused_by_default():
    both = {"missing_sensitive": "ignore", "missing": "refuse"}
    with pytest.raises(ValueError, match="missing key values: 'key' in 1"):
        diversity(HOLES, ["key"], "condition", **both)
    usual = diversity(HOLES, ["key"], "condition", missing_sensitive="ignore")
    assert usual.cells.missing == "wildcard"
    with pytest.raises(
        ValueError, match="sensitive variables: 'condition' in 3 of 5 records"
    ):
        diversity(HOLES, ["key"], "condition", missing="category")


def test_missing_sensitive_values_are_a_value_or_not_counted():
    one_more = diversity(
        HOLES, ["key"], "condition", missing="category", missing_sensitive="category"
    )
    assert one_more["condition"].distinct_l.tolist() == [2, 1, 1]
    assert one_more["condition"].values == 3
    ignored = diversity(
        HOLES, ["key"], "condition", missing="category", missing_sensitive="ignore"
    )
    found = ignored["condition"]
    assert found.distinct_l.tolist() == [1, 0, 1]
    assert found.recursive_l.tolist() == [1, 0, 1]
    assert np.isnan(found.entropy_l).tolist() == [False, True, False]
    assert np.isnan(found.closeness).tolist() == [False, True, False]
    # Shares in the file are those of the two values that are known.
    assert found.closeness[[0, 2]].tolist() == [0.5, 0.5]
    # A cell without values satisfies nothing, by any definition.
    for asked in ({"l": 1}, {"l": "entropy:1"}, {"t": 1.0}, {"l": "recursive:1"}):
        assert found.fails(**asked).tolist() == [False, True, False]
    summary = ignored.summary()["variables"][0]
    assert summary["cells_without_values"] == 1
    assert summary["distinct_l"] == 1
    assert summary["by_distinct_l"] == [
        {"distinct_l": 0, "cells": 1, "records": 2},
        {"distinct_l": 1, "cells": 2, "records": 3},
    ]
    assert "cells without values" in ignored.text()
    json.dumps(ignored.summary(), allow_nan=False)


def test_missing_keys_match_any_value():
    data = {"key": [1, 1, 2, 2, None], "condition": ["a", "a", "b", "b", "c"]}
    found = diversity(data, ["key"], "condition", missing="wildcard")["condition"]
    # With one key the record without it is in every cell, and has all records.
    assert found.distinct_l.tolist() == [2, 2, 3]
    none = diversity(data, ["key"], "condition", missing="wildcard", alpha=0.0)
    assert none["condition"].distinct_l.tolist() == [1, 1, 3]
    other = diversity(data, ["key"], "condition", missing="category")["condition"]
    assert other.distinct_l.tolist() == [1, 1, 1]


def test_all_values_missing():
    data = {"key": [1, 2], "condition": [None, None]}
    with pytest.raises(ValueError, match="'condition': all values are missing"):
        diversity(data, ["key"], "condition", missing_sensitive="ignore")


# --- several sensitive variables ---

BOTH = {
    "key": [1, 1, 1, 1],
    "a": ["x", "x", "y", "y"],
    "b": ["p", "p", "q", "r"],
}


def test_several_sensitive_variables():
    apart = diversity(BOTH, ["key"], ["a", "b"])
    assert apart["a"].distinct_l.tolist() == [2]
    assert apart["b"].distinct_l.tolist() == [3]
    # Who knows b knows a: each value of b goes with one of a.
    assert diversity(BOTH, ["key", "b"], ["a"])["a"].distinct_l.tolist() == [1, 1, 1]
    assert apart.fails(l=2).tolist() == [False]
    assert apart.fails(l=3).tolist() == [True]
    b_alone = diversity(BOTH, ["key", "a"], ["b"])
    assert b_alone.failing_records(l=2) == 2
    assert b_alone["b"].distinct_l.tolist() == [1, 2]


def test_frames_files_and_columns(tmp_path):
    data = {"cell": FOUR_ANONYMOUS, "condition": CONDITION}
    plain = diversity(data, ["cell"], ["condition"])
    for frame in (pd.DataFrame, pl.DataFrame):
        found = diversity(frame(data), ["cell"], "condition").records
        assert isinstance(found, frame)
        added = list(found.columns)[2:]
        assert added == [
            "condition_distinct_l", "condition_entropy_l", "condition_recursive_l",
            "condition_closeness",
        ]  # fmt: skip
        for name in added:
            assert found[name].to_list() == plain.records[name].tolist()
    path = tmp_path / "inpatients.csv"
    pd.DataFrame(data).to_csv(path, index=False)
    again = riskcore.diversity(path, ["cell"], "condition")
    assert again.summary() == plain.summary()
    taken = {**data, "Condition_Closeness": [0] * 12}
    with pytest.raises(ValueError, match="'Condition_Closeness' has the name of"):
        diversity(taken, ["cell"], "condition").records  # noqa: B018


def test_data_that_an_engine_counts():
    data = {"cell": FOUR_ANONYMOUS, "condition": CONDITION}
    lazy = diversity(pl.LazyFrame(data), ["cell"], "condition")
    assert lazy.summary() == diversity(data, ["cell"], "condition").summary()
    assert lazy.failing_records(l=2) == 4
    with pytest.raises(TypeError):
        lazy.records  # noqa: B018


def test_failing_cells_and_text():
    data = {"cell": [*FOUR_ANONYMOUS, 4], "condition": [*CONDITION, HEART]}
    found = diversity(data, ["cell"], "condition")
    rows = found.failing(l=2)
    assert [row["cell"] for row in rows] == [3, 4]
    assert rows[0]["sample_frequency"] == 4
    assert rows[0]["condition_distinct_l"] == 1
    assert found.failing(1, l=2) == rows[:1]
    assert found.failing_records(l=2) == 5
    assert found.failing_records(t=1.0) == 0
    said = found.text("a title")
    assert said.startswith("a title\n  records  13\n")
    assert "smallest distinct l          1" in said
    assert repr(found).startswith("<Diversity: 13 records in 4 cells of cell; condi")
    assert repr(found["condition"]).startswith("<SensitiveVariable: condition, ")
    with pytest.raises(KeyError, match="'cell' is not a sensitive variable"):
        found["cell"]


@pytest.mark.parametrize("c", [0.1, Decimal("0.1"), Fraction(1, 10), np.float64(0.1)])
def test_c_is_what_is_written(c):
    values = ["a"] * 3 + list("bcdefghijk") * 3
    found = diversity({"k": [1] * 33, "s": values}, ["k"], "s", c=c)["s"]
    assert found.recursive_l.tolist() == [1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sensitive": "key"}, ValueError, "'key' is both a key and the sensitive"),
        ({"sensitive": []}, ValueError, "sensitive is empty"),
        ({"sensitive": ["s", "s"]}, ValueError, "sensitive names 's' more than once"),
        ({"sensitive": "none"}, KeyError, "no column 'none'"),
        ({"c": 0}, ValueError, "c=0: need a number > 0"),
        ({"c": Fraction(-1, 2)}, ValueError, r"c=Fraction\(-1, 2\): need a number > 0"),
        ({"c": math.inf}, ValueError, "c=inf"),
        ({"c": math.nan}, ValueError, "c=nan"),
        ({"c": "3"}, TypeError, "c='3': need a number"),
        ({"c": True}, TypeError, "c=True: need a number"),
        ({"c": 1 / 3}, ValueError, "c=0.333.*at most 15 digits"),
        (
            {"ordered": ["s"]},
            ValueError,
            "ordered: 's' has values that are not numbers",
        ),
        (
            {"ordered": ["key"]},
            ValueError,
            "ordered: 'key' is not a sensitive variable",
        ),
        ({"missing": "no"}, ValueError, "missing='no'"),
        ({"missing_sensitive": "no"}, ValueError, "missing_sensitive='no'"),
        ({"alpha": 0.5, "missing": "argus"}, ValueError, "alpha=0.5 needs"),
    ],
)
def test_refused(options, error, message):
    data = {"key": [1, 2], "s": ["a", "b"]}
    given = {"sensitive": "s", **options}
    with pytest.raises(error, match=message):
        diversity(data, ["key"], **given)


def test_order_needs_known_values():
    data = {"key": [1, 2, 2], "pay": [10, 20, None]}
    with pytest.raises(ValueError, match="no place in the order"):
        diversity(
            data, ["key"], "pay", ordered=["pay"], missing_sensitive="category"
        )  # fmt: skip
    found = diversity(data, ["key"], "pay", ordered=["pay"], missing_sensitive="ignore")
    assert found["pay"].closeness.tolist() == [0.5, 0.5]


def test_numbers_in_text_are_numbers():
    data = {"cell": TABLE_3, "salary": SALARY}
    numbers = diversity(data, ["cell"], "salary", ordered=["salary"])["salary"]
    data["salary"] = ["3", "4.0", "5", "6", "11", "8", " 7", "9", "10"]
    text = diversity(data, ["cell"], "salary", ordered=["salary"])["salary"]
    assert text.closeness.tolist() == numbers.closeness.tolist()
    data["salary"] = ["3", "3.0", "5", "6", "11", "8", "7", "9", None]
    text = diversity(
        data, ["cell"], "salary", ordered=["salary"], missing_sensitive="ignore"
    )["salary"]
    assert text.distinct_l.tolist() == [2, 3, 2]
    assert text.values == 7
    for bad in ("x", "nan", "inf", ""):
        data["salary"][0] = bad
        with pytest.raises(ValueError, match="values that are not numbers"):
            diversity(data, ["cell"], "salary", ordered=["salary"],
                      missing_sensitive="ignore")  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "give l, t or both"),
        ({"l": 0}, "l=0: need a number >= 1"),
        ({"t": 2}, r"t=2: need a number in \[0, 1\]"),
        ({"l": "other:2"}, "l='other:2': need a number, or one of 'distinct', 'entr"),
        ({"l": "entropy:0.5"}, "l=0.5: need a number >= 1"),
    ],
)
def test_refused_goals(asked, message):
    found = diversity({"key": [1, 2], "s": ["a", "b"]}, ["key"], "s")
    with pytest.raises(ValueError, match=message):
        found.fails(**asked)
