"""Effects of treatments, against NumPy."""

import json

import numpy as np
import pytest

from riskcore.protection.treatments.effects import effects


def test_figures_before_and_after():
    before = np.array([-1.0, 0, 2, 3, np.nan])
    after = np.array([1.0, 0, 2, 4, np.nan])
    found = effects({"x": before}, {"x": after}).columns["x"]
    assert (found.records, found.altered, found.signs) == (4, 2, 1)
    assert found.before.mean == 1.0
    assert found.before.variance == np.var(before[:4])
    assert (found.before.zeros, found.before.negatives) == (0.25, 0.25)
    assert (found.after.zeros, found.after.negatives) == (0.25, 0.0)
    assert found.before.quantiles == (-1.0, -1.0, 0.0, 2.0, 3.0)
    assert found.after.quantiles == (0.0, 0.0, 1.0, 2.0, 4.0)


def test_figures_are_weighted():
    values, weights = np.array([1.0, 2.0, np.nan]), np.array([1.0, 3.0, 9.0])
    found = effects({"x": values}, {"x": values}, weights).columns["x"]
    assert found.before.mean == 1.75
    assert found.before.variance == 0.1875
    assert found.altered == 0


def test_correlations_of_treated_columns():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 100))
    b[5] = np.nan
    present = ~np.isnan(b)
    after = {"a": np.round(a), "b": np.round(b), "c": np.ones(100)}
    found = effects({"a": a, "b": b, "c": a}, after).correlations
    assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    expected = [
        np.corrcoef(x[present], y[present])[0, 1]
        for x, y in ((a, b), (np.round(a), np.round(b)))
    ]
    assert found[("a", "b")] == pytest.approx(expected)
    assert found[("a", "c")] == (pytest.approx(1.0), None)


def test_a_column_without_values_or_weight():
    missing = np.array([np.nan])
    assert effects({"x": missing}, {"x": missing}).columns["x"].before is None
    one = np.ones(1)
    assert effects({"x": one}, {"x": one}, np.zeros(1)).columns["x"].after is None


def test_the_effects_are_json():
    x = np.arange(3.0)
    plain = effects({"x": x, "y": -x}, {"x": x, "y": -x}).to_dict()
    assert json.loads(json.dumps(plain))["correlations"] == [
        {"columns": ["x", "y"], "before": -1.0, "after": -1.0}
    ]
