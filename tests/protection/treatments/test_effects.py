"""Effects of treatments, against NumPy."""

import json

import numpy as np
import pytest

from riskcore.protection.records.treated import effects


def test_figures_before_and_after():
    before = np.array([-1.0, 0, 2, 3, np.nan])
    after = np.array([1.0, 0, 2, 4, np.nan])
    found = effects({"x": before}, {"x": after})["columns"]["x"]
    assert found == {
        "before": {
            "mean": 1.0,
            "variance": np.var(before[:4]),
            "quantiles": (-1.0, -1.0, 0.0, 2.0, 3.0),
            "zeros": 0.25,
        },
        "after": {
            "mean": 1.75,
            "variance": np.var(after[:4]),
            "quantiles": (0.0, 0.0, 1.0, 2.0, 4.0),
            "zeros": 0.25,
        },
    }


def test_figures_are_weighted():
    values, weights = np.array([1.0, 2.0, np.nan]), np.array([1.0, 3.0, 9.0])
    found = effects({"x": values}, {"x": values}, weights)["columns"]["x"]
    assert found["before"]["mean"] == 1.75
    assert found["before"]["variance"] == 0.1875


def test_correlations_of_treated_columns():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 100))
    b[5] = np.nan
    present = ~np.isnan(b)
    after = {"a": np.round(a), "b": np.round(b), "c": np.ones(100)}
    found = effects({"a": a, "b": b, "c": a}, after)["correlations"]
    pairs = {tuple(one["columns"]): (one["before"], one["after"]) for one in found}
    assert list(pairs) == [("a", "b"), ("a", "c"), ("b", "c")]
    expected = [
        np.corrcoef(x[present], y[present])[0, 1]
        for x, y in ((a, b), (np.round(a), np.round(b)))
    ]
    assert pairs[("a", "b")] == pytest.approx(expected)
    assert pairs[("a", "c")] == (pytest.approx(1.0), None)


def test_a_column_without_values_or_weight():
    missing = np.array([np.nan])
    found = effects({"x": missing}, {"x": missing})
    assert found["columns"]["x"]["before"] is None
    one = np.ones(1)
    found = effects({"x": one}, {"x": one}, np.zeros(1))
    assert found["columns"]["x"]["after"] is None


def test_the_effects_are_json():
    x = np.arange(3.0)
    plain = effects({"x": x, "y": -x}, {"x": x, "y": -x})
    assert json.loads(json.dumps(plain))["correlations"] == [
        {"columns": ["x", "y"], "before": -1.0, "after": -1.0}
    ]
