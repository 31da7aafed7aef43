"""Models and tables of users in a whole comparison."""

import json

import pandas
import polars
import pytest

import riskcore
from riskcore import Recoding, compare
from tests.comparison.survey import one_model, survey


def test_a_copy_changes_nothing():
    data = survey()
    shuffled = {name: one[::-1] for name, one in data.items()}
    formulas = ["work ~ sex*roof + age", "income ~ sex + roof:sex + roof + number(age)"]
    found = compare(
        data, shuffled, ["sex", "roof"], "w", models=formulas, tables=["sex x roof"]
    )
    for model in found.models:
        assert model.status == "unchanged"
        assert model.verdict.endswith("and no interval moves")
        # The order of the records changes no bit.
        assert all(one.before == one.after for one in model.coefficients)
        assert {one.overlap for one in model.coefficients} == {1.0}
    assert "and no interval moves" in found._repr_html_()
    (table,) = found.tables
    assert table.status == "unchanged"
    assert table.verdict.endswith("no share changes")
    assert table.total_variation == 0


def test_columns_that_are_not_there_are_refused():
    data = survey()
    with pytest.raises(KeyError, match="inco"):
        one_model(data, data, "inco ~ sex")
    with pytest.raises(KeyError, match="regio"):
        compare(data, data, ["sex"], tables=["regio x sex"])
    lazy = polars.DataFrame(data).lazy()
    with pytest.raises(TypeError, match="models: single records are needed"):
        one_model(lazy, lazy, "work ~ sex")
    with pytest.raises(TypeError, match="tables: single records are needed"):
        compare(lazy, lazy, ["sex"], tables=["sex"])


def test_a_protection_knows_its_recodings(tmp_path):
    data = pandas.DataFrame(survey())
    path = tmp_path / "survey.csv"
    data.to_csv(path, index=False)
    studies = {
        "models": ["work ~ sex + age", "income ~ roof"],
        "tables": ["age x sex"],
        "columns": ["income"],
    }
    groups = {"age": Recoding.intervals([30, 60])}
    options = {"threshold": 0.05, "recodings": groups}
    found = [
        riskcore.protect(one, ["sex", "age"], "w", **options).compare(**studies)
        for one in (data, path)
    ]
    terms = [one.term for one in found[0].models[0].coefficients]
    assert terms == ["(intercept)", "sex = 2", "age = (30, 60]", "age > 60"]
    first, second = (json.loads(json.dumps(one.to_dict())) for one in found)
    assert first["verdicts"] == second["verdicts"]
    assert len(first["verdicts"]) == 3
    for one, two in zip(first["models"], second["models"], strict=True):
        assert [x["term"] for x in one["coefficients"]] == [
            x["term"] for x in two["coefficients"]
        ]
        assert one["coefficients"][1]["after"] == pytest.approx(
            two["coefficients"][1]["after"], rel=1e-9
        )


def test_labels_of_a_file_are_shown(tmp_path):
    import pyreadstat

    path = tmp_path / "survey.sav"
    data = survey()
    frame = pandas.DataFrame(
        {name: data[name] for name in ("sex", "roof", "income", "age")}
    )
    pyreadstat.write_sav(
        frame,
        path,
        column_labels=["Sex of person", "Main material of the roof", None, None],
        variable_value_labels={
            "sex": {1: "male", 2: "female"},
            "income": {float(frame["income"][0]): "refused"},
            "age": {age: f"age {age}" for age in range(100)},
        },
    )
    found = compare(path, path, ["sex"], models=["income ~ sex + roof"])
    assert found.labels["roof"] == "Main material of the roof"
    assert "income" not in found.labels
    assert found.models[0].coefficients[1].term == "sex = 2 (female)"
    # Most ages have a label, and one income.
    (model,) = compare(path, path, ["sex"], models=["income ~ age"]).models
    assert model.kind == "linear"
    assert model.base == {"age": "15 (age 15)"}
