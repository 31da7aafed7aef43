"""Assessments of samples of clusters: which column is the cluster, and refusals."""

import json
from functools import partial

import numpy as np
import polars
import pytest

import riskcore
from riskcore import estimate_uniques
from riskcore.models import KnownPopulation, LatentClass
from riskcore.simulate import microdata
from tests.accepted import ANY_LEAK

KEYS = ["REGION", "SEX", "AGE", "HHSIZE"]


@pytest.fixture(scope="module")
def survey():
    data = microdata(1200, np.random.default_rng(6), fraction=0.05)
    psu = np.array([f"psu {number // 12}" for number in data["HOUSEHOLD"]])
    return {**data, "PSU": psu, "HALF": (data["HOUSEHOLD"] // 12) % 2}


@pytest.fixture
def assess(survey):
    return partial(riskcore.assess, survey, KEYS, "WEIGHT", population="latent-class")


@pytest.mark.parametrize("method", ["latent-class", "log-linear"])
def test_the_household_is_the_cluster_unless_said_otherwise(survey, assess, method):
    found = [
        assess(population=method, **how)
        for how in (
            {},
            {"household": "HOUSEHOLD"},
            {"cluster": "HOUSEHOLD"},
            {"household": "HOUSEHOLD", "cluster": "PSU"},
        )
    ]
    names = [
        one.model.sample.clusters and one.model.sample.clusters.name for one in found
    ]
    assert names == [None, "HOUSEHOLD", "HOUSEHOLD", "PSU"]
    risks = [one.individual_risk.tobytes() for one in found]
    assert risks[1] == risks[2]
    intervals = [one.expected_population_uniques_interval() for one in found]
    assert intervals[1] == intervals[2]
    assert len(set(intervals)) == 3
    if method == "latent-class":
        assert len(set(risks)) == 3


def test_the_model_is_the_one_of_the_columns(survey, assess):
    found = assess(cluster="PSU", strata=["HALF"])
    model = LatentClass.fit(
        survey, KEYS, weight="WEIGHT", cluster="PSU", strata=["HALF"]
    )
    risk = riskcore.assess(survey, KEYS, "WEIGHT", population=model)
    assert found.individual_risk.tobytes() == risk.individual_risk.tobytes()
    assert found.expected_reidentifications_interval() == (
        risk.expected_reidentifications_interval()
    )
    assert found.model.sample.clusters.stratum.max() == 1
    assert "clusters (PSU), " in found.summary()
    without_strata = assess(cluster="PSU")
    assert found.expected_reidentifications_interval() != (
        without_strata.expected_reidentifications_interval()
    )


def test_weights_alone_know_no_clusters(survey):
    plain = riskcore.assess(survey, KEYS, "WEIGHT")
    joint = riskcore.assess(survey, KEYS, "WEIGHT", "HOUSEHOLD")
    assert plain.individual_risk.tobytes() == joint.individual_risk.tobytes()


def test_one_row_for_each_household(survey):
    how = {"household": "HOUSEHOLD", "level": "household", "keys": ["REGION", "HHSIZE"]}
    run = partial(riskcore.assess, survey, weight="WEIGHT", population="latent-class")
    assert run(**how).model.sample.clusters is None
    found = run(**how, cluster="PSU").model.sample
    households = len(np.unique(survey["HOUSEHOLD"]))
    assert len(found.clusters) == len(np.unique(survey["PSU"]))
    assert found.clusters.records.sum() == households
    with pytest.raises(ValueError, match="members differ in 'PERSON'"):
        run(**how, cluster="PERSON")


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"population": "weights"}, ValueError, "cluster: by the weights alone"),
        ({"population": {"x": [1]}}, ValueError, "cluster: the population is given"),
        ({"cluster": "PSUU"}, KeyError, "did you mean 'PSU'"),
        ({"cluster": "AGE"}, ValueError, "'AGE' is the cluster, and a key"),
        ({"cluster": "WEIGHT"}, ValueError, "'WEIGHT' is the cluster, and a key"),
        ({"cluster": ["PSU"]}, TypeError, "cluster: give the name of a column"),
        ({"strata": "HALF"}, TypeError, "strata is a list of column names"),
        ({"strata": ["SEX"]}, ValueError, "records in several strata; if clusters"),
        ({"cluster": None, "strata": ["HALF"]}, ValueError, "strata: clusters are dr"),
    ],
)
def test_refusals(assess, how, error, message):
    with pytest.raises(error, match=message):
        assess(**{"cluster": "PSU", **how})


def test_a_fitted_model_or_an_engine_takes_no_cluster(survey, assess):
    known = KnownPopulation(survey, KEYS)
    with pytest.raises(ValueError, match="cluster: the population is given"):
        assess(population=known, cluster="PSU")
    lazy = polars.DataFrame(survey).lazy()
    with pytest.raises(TypeError, match="cluster: single records are needed"):
        riskcore.assess(lazy, KEYS, population="latent-class", cluster="PSU")


def test_uniques(survey):
    found = estimate_uniques(survey, KEYS, "WEIGHT", cluster="PSU", strata=["HALF"])
    model = LatentClass.fit(
        survey, KEYS, weight="WEIGHT", cluster="PSU", strata=["HALF"]
    )
    one = next(one for one in found.estimates if one.model == "latent-class")
    assert one.tau == model.tau()
    assert (one.wide_low, one.wide_high) == model.tau_interval()
    with pytest.raises(ValueError, match="cluster: only models of cells use it"):
        estimate_uniques(survey, KEYS, "WEIGHT", cluster="PSU", cell_models=())


def test_the_commands(run, survey, tmp_path):
    path = tmp_path / "survey.csv"
    polars.DataFrame(survey).write_csv(path)
    words = [str(path), "--keys", *KEYS, "--weight", "WEIGHT", "--cluster", "PSU"]
    words += ["--strata", "HALF", "--json"]
    status, out, err = run("assess", *words, "--population", "latent-class")
    assert (status, err) == (0, "")
    how = {"cluster": "PSU", "strata": ["HALF"]}
    model = riskcore.assess(
        path, KEYS, "WEIGHT", population="latent-class", **how
    ).model
    assert json.loads(out)["population_uniques"] == model.tau()
    status, out, err = run("uniques", *words)
    assert (status, err) == (0, "")
    taus = {one["model"]: one for one in json.loads(out)["estimates"]}
    assert taus["latent-class"]["tau"] == model.tau()
    status, _, err = run("uniques", "--sizes", "1=2", "--cluster", "PSU")
    assert status == 2
    assert "--cluster needs keys" in err


def test_protect(survey):
    how = {"population": "latent-class", "threshold": 0.5, "weight": "WEIGHT"}
    run = partial(riskcore.protect, survey, ["SEX", "AGE", "HHSIZE"])
    found = run(**how, cluster="PSU", **ANY_LEAK)
    model = found.sets[0].original.model
    assert model.sample.clusters.name == "PSU"
    assert run(**how, **ANY_LEAK).sets[0].original.model.sample.clusters is None
    assert found.settings.to_dict()["cluster"] == "PSU"
    assert "latent-class, by clusters of PSU" in found.summary()
    # The model beside the weights is of the clusters, too.
    weights = run(**how | {"population": "weights"}, cluster="PSU", **ANY_LEAK)
    assert weights.sets[0].original.beside.model.sample.clusters.name == "PSU"
    with pytest.raises(ValueError, match="'AGE' is the cluster, and a key"):
        run(**how, cluster="AGE")
    with pytest.raises(ValueError, match="level='household' with cluster"):
        run(**how, household="HOUSEHOLD", level="household", cluster="PSU")


def test_a_protected_file_is_assessed_with_the_same_model(run, survey, tmp_path):
    source, safe = tmp_path / "survey.csv", tmp_path / "safe.csv"
    polars.DataFrame({**survey}).write_csv(source)
    status, _, err = run(
        *("protect", str(source), "--keys", "SEX", "AGE", "HHSIZE"),
        *("--weight", "WEIGHT", "--population", "latent-class", "--cluster", "PSU"),
        *("--role", "PSU=identifier", "*=harmless:a test", "--accept", "*=a test"),
        *("--threshold", "0.5", "--output", str(safe)),
    )
    assert status == 0, err
    assert "PSU" not in safe.read_text().splitlines()[0].split(",")
    record = json.loads((tmp_path / "safe.csv.private.json").read_text())
    assert record["settings"]["cluster"] == "PSU"
