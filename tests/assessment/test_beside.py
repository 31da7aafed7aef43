"""The model beside the weights: where it shows, what it says, what stays the same."""

from dataclasses import replace

import numpy as np
import polars
import pytest

import riskcore
from riskcore import simulate
from riskcore.assessment.beside import Beside, weights_tell_little
from riskcore.protection.suppression.key_sets import ModelDisagrees

KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]


@pytest.fixture(scope="module")
def survey():
    return simulate.microdata(3000, np.random.default_rng(5))


@pytest.fixture(scope="module")
def few():
    """Return a survey in which every cell has many records."""
    return {"a": list("xy") * 200, "w": [9.0] * 400}


def both(survey, **settings):
    return riskcore.assess(survey, KEYS, "WEIGHT", **settings)


def test_the_risk_by_the_weights_does_not_change(survey):
    found, alone = both(survey), both(survey, population="weights")
    assert found.individual_risk.tobytes() == alone.individual_risk.tobytes()
    assert found.records.keys() == alone.records.keys()
    assert alone.by_model is None
    assert found.population_name == alone.population_name == "weights"


@pytest.mark.parametrize("more", [{}, {"household": "HOUSEHOLD"}])
def test_the_model_is_the_one_that_can_be_asked_for(survey, more):
    found = both(survey, **more).by_model
    asked = both(survey, **more, population="latent-class")
    assert found.individual_risk.tobytes() == asked.individual_risk.tobytes()
    figures = both(survey, **more).figures["by_model"]
    assert figures["expected_reidentifications"] == asked.expected_reidentifications
    assert (
        tuple(figures["population_uniques_interval"])
        == asked.expected_population_uniques_interval()
    )
    if more:
        assert found.household_risk.tobytes() == asked.household_risk.tobytes()
        assert found.households.ids.tolist() == asked.households.ids.tolist()


def test_nothing_is_fitted_before_it_is_asked_for(survey, monkeypatch):
    found = both(survey)
    monkeypatch.setattr("riskcore.models.LatentClass.fit", None)
    assert found.expected_reidentifications > 0
    with pytest.raises(TypeError):
        _ = found.by_model


def test_clusters_are_for_the_model_beside(survey):
    found = both(survey, cluster="HOUSEHOLD")
    assert found.by_model.model.sample.clusters.name == "HOUSEHOLD"


def test_auto_takes_the_one_to_believe(survey, few):
    assert both(survey, population="auto").population_name == "latent-class"
    found = riskcore.assess(few, ["a"], "w", population="auto")
    assert found.population_name == "weights"
    assert found.by_model is None


@pytest.mark.parametrize(
    ("uniques", "others", "weight", "little"),
    [
        (50, 950, 1.25, True), (49, 51, 9.0, False), (60, 1140, 1.25, True),
        (60, 1142, 9.0, False), (100, 0, 1.25, True), (100, 0, 1.24, False),
    ],
)  # fmt: skip
def test_where_the_weights_tell_little(uniques, others, weight, little):
    data = {"a": [*range(uniques), *[-1] * others]}
    data["w"] = [weight] * len(data["a"])
    cells = riskcore.assess(data, ["a"], "w").cells
    assert weights_tell_little(cells) is little


def test_data_on_an_engine(survey, monkeypatch):
    frame = polars.DataFrame({name: survey[name] for name in [*KEYS, "WEIGHT"]})
    held = riskcore.assess(frame.lazy(), KEYS, "WEIGHT")
    auto = riskcore.assess(frame.lazy(), KEYS, "WEIGHT", population="auto")
    assert auto.population_name == "latent-class"
    found = held.figures["by_model"]["expected_reidentifications"]
    assert found == auto.expected_reidentifications > held.expected_reidentifications
    monkeypatch.setattr("riskcore.assessment.beside.MANY_CELLS", 10)
    held = riskcore.assess(frame.lazy(), KEYS, "WEIGHT")
    assert held.by_model is None
    assert "cells stay on the engine" in held.figures["by_model"]["failure"]
    assert "neither: the model has no estimate" in held.summary()


def test_a_model_without_an_estimate(survey, monkeypatch):
    model = replace(both(survey).by_model.model, converged=False, reason="no luck")
    monkeypatch.setattr("riskcore.models.LatentClass.fit", lambda *_, **__: model)
    found = both(survey)
    assert found.by_model is None
    assert "neither: the model has no estimate" in found.summary()
    assert "no luck" in found.figures["by_model"]["failure"]


# Protection


def protected(survey, **settings):
    settings = {"threshold": 0.1, "accept": {"*": "a test"}} | settings
    return riskcore.protect(survey, KEYS, "WEIGHT", **settings)


def test_a_warning_where_the_two_disagree(survey):
    with pytest.warns(ModelDisagrees, match="disagree about what is safe") as told:
        found = protected(survey)
    (one,) = found.sets
    reached = one.protected.by_model.individual_risk >= 0.1
    assert one.protected.unsafe_count(0.1) == 0
    assert one.unsafe_by_model == reached.sum() > 0
    assert f": {reached.sum():,} records of the protected" in str(told[0].message)
    assert f"by the latent-class model {reached.sum():,} more records" in found.verdict
    assert "by the latent-class model" in found.summary()
    stages = one.comparison()
    assert stages["protected"]["unsafe_by_model"] == reached.sum()
    # The same blanks as by the weights alone.
    alone = protected(survey, population="weights")
    assert found.suppressed == alone.suppressed
    assert alone.sets[0].unsafe_by_model == 0
    assert "latent-class" not in alone.verdict


def test_a_threshold_of_households_alone(survey):
    goals = {"threshold": None, "household_threshold": 0.6, "household": "HOUSEHOLD"}
    with pytest.warns(ModelDisagrees, match="at or above the threshold by the model"):
        found = protected(survey, **goals)
    (one,) = found.sets
    unsafe = one.protected.by_model.unsafe_households(0.6)
    # Of an unsafe household those members count whose own risk is large enough.
    assert 0.9 * np.count_nonzero(unsafe) < one.unsafe_by_model <= unsafe.sum()


def test_without_an_estimate_the_verdict_says_so(survey, monkeypatch):
    monkeypatch.setattr(Beside, "_found", (None, "no luck"))
    assert "has no estimate (no luck)" in protected(survey).verdict


def test_the_model_stays_when_it_protects(survey):
    coarser = {"recodings": {"REGION": riskcore.Recoding.intervals([400, 800])}}
    found = protected(survey, population="auto", **coarser)
    (one,) = found.sets
    names = [stage.population_name for stage in one.stages.values()]
    assert names == ["latent-class"] * 3
    assert one.protected.unsafe_count(0.1) == 0


def test_the_public_record_does_not_know_the_model(survey, tmp_path):
    path = tmp_path / "public.json"
    with pytest.warns(ModelDisagrees):
        found = protected({name: survey[name] for name in [*KEYS, "WEIGHT"]})
    found.write(tmp_path / "safe.csv", shuffle=True, public_record=path)
    assert "latent-class" not in path.read_text()
    assert "model" not in path.read_text()


def test_blanks_of_their_own_category_have_no_model(survey):
    found = protected(survey, missing="category")
    assert found.sets[0].unsafe_by_model == 0
    assert found.sets[0].original.beside is None


# Missing keys


@pytest.mark.parametrize("missing", ["wildcard", "argus"])
def test_records_with_missing_keys_do_not_switch_the_model_off(survey, missing):
    some = {name: survey[name] for name in [*KEYS, "WEIGHT"]}
    some["MARSTAT"] = some["MARSTAT"].astype(object)
    some["MARSTAT"][::20] = None
    found = both(some, missing=missing)
    complete = {name: np.delete(column, np.s_[::20]) for name, column in some.items()}
    model = both(complete).by_model.model
    assert found.by_model.model.n == model.n == len(complete["WEIGHT"])
    assert found.by_model.model.log_likelihood == pytest.approx(model.log_likelihood)
    assert found.figures["by_model"]["population_uniques_interval"] is None
    expected = found.figures["by_model"]["expected_reidentifications"]
    assert expected == pytest.approx(
        both(survey).by_model.expected_reidentifications, rel=0.15
    )
    assert both(some, missing=missing, population="auto").model.n == model.n


def test_a_warning_in_spite_of_a_missing_key(survey):
    some = {name: survey[name] for name in [*KEYS, "WEIGHT"]}
    some["AGE"] = some["AGE"].astype(object)
    some["AGE"][0] = None
    with pytest.warns(ModelDisagrees):
        protected(some)


def test_no_record_with_all_keys(survey):
    some = {"a": [None, 1] * 50, "b": [1, None] * 50, "w": [9.0] * 100}
    with pytest.raises(ValueError, match="no record has all keys"):
        riskcore.assess(some, ["a", "b"], "w", population="latent-class")
