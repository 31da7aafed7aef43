"""Which variables of models are numbers, and which are categories."""

from decimal import Decimal

import numpy as np
import pytest

from riskcore import compare
from tests.comparison.survey import one_model, survey


@pytest.mark.parametrize("kind", [int, float, Decimal, str, np.int8, lambda x: f" {x}"])
def test_numbers_of_any_type(kind):
    data = {name: survey()[name].tolist() for name in ("age", "income")}
    after = {**data, "age": [None, *map(kind, data["age"][1:])]}
    data_of_kind = {**data, "age": [*map(kind, data["age"])]}
    models = ["number(income) ~ number(age)"]
    found = compare(data_of_kind, after, ["age"], models=models)
    (model,) = found.models
    slope = np.polyfit(data["age"], data["income"], 1)[0]
    assert model.coefficients[1].before == pytest.approx(slope, rel=1e-9)
    slope = np.polyfit(data["age"][1:], data["income"][1:], 1)[0]
    assert model.coefficients[1].after == pytest.approx(slope, rel=1e-9)


def test_whole_numbers_are_codes_without_a_point():
    data = {**survey(), "roof": survey()["roof"].astype(float)}
    model = one_model(data, data, "work ~ roof", ["sex"])
    assert [one.term for one in model.coefficients][1:] == [
        "roof = 4", "roof = 5", "roof = 9"
    ]  # fmt: skip


def test_how_variables_are_used():
    data = survey()
    data["size"] = np.arange(1000) % 10
    data["more"] = np.arange(1000) % 11

    def terms(formula, keys=("sex",), **options):
        return len(one_model(data, data, formula, keys, **options).coefficients)

    assert terms("work ~ sex + roof") == 5
    assert terms("work ~ size") == 10
    assert terms("work ~ number(size)") == 2
    assert terms("work ~ more") == 2
    assert terms("work ~ more", keys=("more",)) == 11
    assert terms("work ~ number(more)", keys=("more",)) == 2
    assert terms("work ~ category(more)") == 11
    assert terms("work ~ size", columns=["size"]) == 2
    assert terms("work ~ category(size)", columns=["size"]) == 10
    assert one_model(data, data, "size ~ sex").kind == "linear"
    assert one_model(data, data, "sex ~ roof").response == "sex = 2"
    assert one_model(data, data, "number(sex) ~ roof").kind == "linear"
