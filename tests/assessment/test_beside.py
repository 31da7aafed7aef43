"""The model beside the weights: where it shows, what it says, what stays the same."""

import json
import re
from dataclasses import replace

import numpy as np
import polars
import pytest

import riskcore
from riskcore import simulate
from riskcore.assessment.beside import Beside, weights_tell_little
from riskcore.models import KnownPopulation
from riskcore.protection.release.record import about
from riskcore.protection.suppression.key_sets import ModelDisagrees
from riskcore.report.public_page import public_page, public_protection_page

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
        (20, 980, 1.25, True), (19, 51, 9.0, False), (20, 100_000, 9.0, True),
        (100, 0, 1.25, True), (100, 0, 1.24, False),
    ],
)  # fmt: skip
def test_where_the_weights_tell_little(uniques, others, weight, little):
    data = {"a": [*range(uniques), *[-1] * others]}
    data["w"] = [weight] * len(data["a"])
    cells = riskcore.assess(data, ["a"], "w").cells
    assert weights_tell_little(cells) is little


def test_a_diverse_few_among_many_that_are_alike():
    """Few of the records are alone, but those mostly in the population, too."""
    rng, N, n = np.random.default_rng(3), 50_000, 5_000
    diverse = rng.random(N) < 0.05
    odds = np.arange(1, 9) ** -1.5
    people = {
        f"key {key}": np.where(
            diverse,
            rng.choice(8, N, p=odds / odds.sum()) + 3,
            rng.choice(2, N, p=[0.8, 0.2]),
        )
        for key in range(5)
    }
    taken = rng.choice(N, n, replace=False)
    sample = {name: column[taken] for name, column in people.items()}
    sample["w"] = np.full(n, N / n)
    true, found, weights = (
        riskcore.assess(sample, [*people], "w", population=population)
        for population in (KnownPopulation(people, [*people]), "auto", "weights")
    )
    assert found.population_name == "latent-class"
    assert 0.03 < found.cells.totals.uniques / n < 0.05
    truth = true.expected_reidentifications
    assert found.expected_reidentifications == pytest.approx(truth, rel=0.1)
    assert weights.expected_reidentifications < 0.5 * truth
    alone = found.cells.records == 1
    assert found.cell_risk[alone].sum() == pytest.approx(
        true.cell_risk[alone].sum(), rel=0.1
    )
    safe = riskcore.protect(sample, [*people], "w", threshold=0.3)
    assert sum(safe.suppressed.values()) > 0
    (one,) = safe.sets
    assert one.protected.unsafe_count(0.3) == 0


def test_data_on_an_engine(survey, monkeypatch):
    frame = polars.DataFrame({name: survey[name] for name in [*KEYS, "WEIGHT"]})
    held = riskcore.assess(frame.lazy(), KEYS, "WEIGHT")
    auto = riskcore.assess(frame.lazy(), KEYS, "WEIGHT", population="auto")
    assert auto.population_name == "latent-class"
    found = held.figures["by_model"]["expected_reidentifications"]
    assert found == auto.expected_reidentifications > held.expected_reidentifications
    monkeypatch.setattr("riskcore.data.engine_cells.MANY_CELLS", 10)
    monkeypatch.setattr("riskcore.data.engine_cells.DRAWN_CELLS", 800)
    monkeypatch.setattr("riskcore.data.engine_cells.DRAWN_RECORDS", 2000)
    held = riskcore.assess(frame.lazy(), KEYS, "WEIGHT")
    drawn = held.figures["by_model"]
    assert re.search(r"3,001 records, of 1,\d\d\d drawn cells", drawn["model_fit"])
    assert drawn["expected_reidentifications"] == pytest.approx(found, rel=0.1)
    low, high = drawn["expected_reidentifications_interval"]
    assert low < found < high
    assert "the model: " in held.summary()
    assert not held.cells.collected
    in_memory = riskcore.assess(frame, KEYS, "WEIGHT")
    fit = in_memory.by_model.model.fit_in_words
    assert re.search(r"3,001 records, of 1,\d\d\d drawn cells", fit)
    for of_records in ("individual_risk", "population_unique_probability"):
        with pytest.raises(TypeError, match="figures of the file alone"):
            getattr(in_memory.by_model, of_records)
    usual = protected(survey, population="auto").sets[0].recoded.model
    assert usual.sample.drawn is None  # each record is decided by all cells


@pytest.mark.parametrize("n", [1900, 2100])
def test_no_more_are_expected_than_there_are(n, monkeypatch):
    frame = polars.DataFrame({"id": range(n), "w": np.linspace(2.0, 50.0, n)})
    for cells in (10_000, 10):
        monkeypatch.setattr("riskcore.data.engine_cells.MANY_CELLS", cells)
        monkeypatch.setattr("riskcore.data.engine_cells.DRAWN_RECORDS", 300)
        found = riskcore.assess(frame.lazy(), ["id"], "w").figures["by_model"]
        assert ("drawn" in found["model_fit"]) == (cells == 10)
        assert 0.9 * n < found["expected_reidentifications"] <= n
        assert found["expected_reidentifications_interval"][1] <= n
        assert found["population_uniques"] <= n


def test_a_model_without_an_estimate(survey, monkeypatch):
    model = replace(both(survey).by_model.model, converged=False, reason="no luck")
    monkeypatch.setattr("riskcore.models.LatentClass.fit", lambda *_, **__: model)
    found = both(survey)
    assert found.by_model is None
    assert "neither: the model has no estimate" in found.summary()
    assert "no luck" in found.figures["by_model"]["failure"]


# Protection


def protected(survey, **settings):
    usual = {"threshold": 0.1, "accept": {"*": "a test"}, "population": "weights"}
    settings = usual | settings
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
    # By default the model decides, and nothing more need be said.
    believed = protected(survey, population="auto")
    assert sum(believed.suppressed.values()) > sum(found.suppressed.values())
    assert believed.sets[0].unsafe_by_model == 0
    assert "latent-class" not in believed.verdict


def test_a_threshold_of_households_alone(survey):
    goals = {"threshold": None, "household_threshold": 0.6, "household": "HOUSEHOLD"}
    with pytest.warns(ModelDisagrees, match="at or above the threshold by the model"):
        found = protected(survey, **goals)
    (one,) = found.sets
    unsafe = one.protected.by_model.unsafe_households(0.6)
    # Of an unsafe household those members count whose own risk is large enough.
    assert 0.9 * np.count_nonzero(unsafe) < one.unsafe_by_model <= unsafe.sum()


@pytest.mark.parametrize("population", ["auto", "weights"])
def test_without_an_estimate_the_verdict_says_so(survey, monkeypatch, population):
    monkeypatch.setattr(Beside, "_found", (None, "no luck"))
    found = protected(survey, population=population)
    assert "has no estimate (no luck)" in found.verdict
    assert found.sets[0].unknown_by_model == "no luck"
    assert found.sets[0].original.population_name == "weights"


def test_the_model_stays_when_it_protects(survey):
    coarser = {"recodings": {"REGION": riskcore.Recoding.intervals([400, 800])}}
    found = protected(survey, population="auto", **coarser)
    (one,) = found.sets
    names = [stage.population_name for stage in one.stages.values()]
    assert names == ["latent-class"] * 3
    assert one.protected.unsafe_count(0.1) == 0


def test_public_pages_and_records_say_what_the_model_says(survey, tmp_path):
    path = tmp_path / "public.json"
    with pytest.warns(ModelDisagrees):
        found = protected({name: survey[name] for name in [*KEYS, "WEIGHT"]})
    found.write(tmp_path / "safe.csv", shuffle=True, public_record=path)
    left = found.sets[0].unsafe_by_model
    said = f"by the latent-class model {about(left)} more records"
    assert about(left) != f"about {left:,}"
    assert said in json.loads(path.read_text())["verdict"]
    assert said in public_protection_page(found)
    assert f"{left:,} more" not in path.read_text() + public_protection_page(found)
    by_weights = public_page(both(survey))
    assert "expects at least five times as many re-identifications" in by_weights
    believed = public_page(both(survey, population="auto"))
    assert "as many re-identifications" not in believed


def test_a_blank_is_any_value_to_the_model_not_a_category(survey):
    found, usual = (
        protected(survey, missing=missing, population="auto")
        for missing in ("category", "wildcard")
    )
    assert found.sets[0].protected.population_name == "latent-class"
    assert found.suppressed == usual.suppressed
    risk = usual.sets[0].protected.individual_risk
    assert found.sets[0].protected.individual_risk.tobytes() == risk.tobytes()


def test_a_check_by_the_weights_names_the_rules_that_the_model_breaks(survey):
    limits = {"max_rate": 0.3, "max_risk": 1.0}
    found = riskcore.check(survey, KEYS, "WEIGHT", population="weights", **limits)
    assert found.passed
    (note,) = found.notes
    assert note.startswith("By the latent-class model, the one to believe, the re-id")
    assert found.verdict_in_public.startswith("All rules are kept. Risks are by the w")
    believed = riskcore.check(survey, KEYS, "WEIGHT", **limits)
    assert believed.verdict_in_public == "NOT kept: 1 of 2 rules."
    rate = both(survey, population="auto").reidentification_rate
    assert [rule.found for rule in believed.rules if rule.rule == "max_rate"] == [rate]
    assert not believed.passed
    assert not believed.notes
    frame = polars.DataFrame({name: survey[name] for name in [*KEYS, "WEIGHT"]}).lazy()
    held = riskcore.check(frame, KEYS, "WEIGHT", **limits)
    assert [rule.found for rule in held.rules] == pytest.approx(
        [rule.found for rule in believed.rules], rel=0.01
    )


def test_the_model_is_shown_only_where_it_differs_by_a_quarter():
    rng = np.random.default_rng(1)
    alike = {"a": rng.integers(0, 60, 2000), "b": rng.integers(0, 40, 2000)}
    found = riskcore.assess({**alike, "w": np.full(2000, 1.5)}, ["a", "b"], "w")
    assert weights_tell_little(found.cells)
    expected = found.by_model.expected_reidentifications
    assert 0.8 < expected / found.expected_reidentifications < 1.25
    assert "by_model" not in found.figures
    assert "latent-class" not in found.summary() + public_page(found)


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
