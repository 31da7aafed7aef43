"""`assess` where numbers match within a tolerance."""

import json

import numpy as np
import polars
import pytest

import riskcore
from riskcore.models import LatentClass, LogLinear
from riskcore.report.public_page import public_page

DATA = {
    "sex": ["f", "m", "f", "m", "f"],
    "age": [31, 47, 32, 48, 60],
    "income": [1000.0, 2000.0, 1040.0, 2300.0, 900.0],
    "w": [10.0, 20.0, 15.0, 25.0, 30.0],
    "hh": [1, 1, 2, 2, 3],
}
KEYS = ["sex", "age", "income"]
TOLERANCE = {"age": 2, "income": "5%"}


def assess(**settings):
    return riskcore.assess(DATA, KEYS, "w", tolerance=TOLERANCE, **settings)


def test_records_share_their_windows():
    found = assess()
    f, F = np.array([2, 1, 2, 1, 1]), np.array([25.0, 20.0, 25.0, 25.0, 30.0])
    assert found.cells.sample_frequency[found.cells.inverse].tolist() == f.tolist()
    assert found.cells.population_frequency[found.cells.inverse].tolist() == F.tolist()
    expected = riskcore.individual_risk(f, f / F)
    np.testing.assert_allclose(found.individual_risk, expected, rtol=1e-15)
    assert found.records["sample_frequency"].tolist() == f.tolist()
    assert found.expected_reidentifications == pytest.approx(expected.sum())


def test_a_tolerance_lowers_the_risk_and_0_leaves_it():
    plain = riskcore.assess(DATA, KEYS, "w")
    exact = riskcore.assess(DATA, KEYS, "w", tolerance={"age": 0, "income": "0%"})
    assert np.array_equal(plain.individual_risk, exact.individual_risk)
    assert (assess().individual_risk <= plain.individual_risk).all()
    plain.expected_reidentifications_interval()
    exact.expected_reidentifications_interval()
    with pytest.raises(ValueError, match=r"age 2, income 5%.*cannot be an interval"):
        assess().expected_reidentifications_interval()


def test_households_have_the_risk_of_their_members():
    found = riskcore.assess(DATA, KEYS, "w", "hh", tolerance=TOLERANCE)
    r = found.individual_risk
    joint = [1 - (1 - r[0]) * (1 - r[1]), 1 - (1 - r[2]) * (1 - r[3]), r[4]]
    np.testing.assert_allclose(found.household_risk, np.repeat(joint, [2, 2, 1]))


def test_households_may_be_counted_once():
    data = {"size": [2, 2, 2, 2, 1], "rent": [800, 800, 830, 830, 500], **DATA}
    data["w"] = [10.0, 10.0, 15.0, 15.0, 30.0]
    found = riskcore.assess(
        data, ["size", "rent"], "w", "hh", level="household", tolerance={"rent": 50}
    )
    assert found.cells.sample_frequency.tolist() == [1, 2, 2]
    assert found.cells.population_frequency.tolist() == [30.0, 25.0, 25.0]


def test_the_summary_names_the_tolerance():
    found = assess()
    assert "tolerance                    age 2, income 5%" in found.summary()
    assert found.figures["tolerance"] == {"age": "2", "income": "5%"}
    assert "tolerance" not in riskcore.assess(DATA, KEYS, "w").figures


def test_reports_name_the_tolerance(tmp_path):
    assess().report(tmp_path / "report.html")
    for text in ((tmp_path / "report.html").read_text(), public_page(assess())):
        assert "tolerance" in text
        assert "age 2, income 5%" in text


def test_files_and_the_command(tmp_path, run):
    path = tmp_path / "survey.csv"
    lines = [",".join(map(str, row)) for row in zip(*DATA.values(), strict=True)]
    path.write_text("\n".join([",".join(DATA), *lines, ""]))
    found = riskcore.assess(path, KEYS, "w", tolerance=TOLERANCE)
    assert np.array_equal(found.individual_risk, assess().individual_risk)
    options = "assess", str(path), "--keys", *KEYS, "--weight", "w"
    status, out, _ = run(*options, "--tolerance", "age=2", "income=5%", "--json")
    figures = json.loads(out)
    assert status == 0
    assert figures["tolerance"] == {"age": "2", "income": "5%"}
    assert figures["expected_reidentifications"] == found.expected_reidentifications
    for words, phrase in (
        (["age=two"], "--tolerance age=two: give a number, or a share such as 5%"),
        (["age=2", "age=3"], "appears twice"),
        (["region=2"], "is not one of the keys"),
        (["sex=2"], "sex is not a number"),
    ):
        status, _, err = run(*options, "--tolerance", *words)
        assert status == 2
        assert phrase in err


def test_an_engine_counts_the_cells():
    lazy = polars.LazyFrame(DATA)
    found = riskcore.assess(lazy, KEYS, "w", tolerance=TOLERANCE)
    one, other = found.cells, assess().cells
    assert np.array_equal(one.sample_frequency, other.sample_frequency)
    assert np.array_equal(one.population_frequency, other.population_frequency)


def test_missing_numbers_match_only_missing_ones():
    data = {**DATA, "age": [31, np.nan, 32, np.nan, 60]}
    with pytest.raises(ValueError, match=r"missing in 2 records.*missing='category'"):
        riskcore.assess(data, ["age"], "w", tolerance={"age": 2})
    found = riskcore.assess(
        data, ["age"], "w", tolerance={"age": 2}, missing="category"
    )
    f = found.cells.sample_frequency[found.cells.inverse]
    assert f.tolist() == [2, 2, 2, 2, 1]


@pytest.mark.parametrize(
    "population", ["log-linear", LogLinear, {"age": [1], "population_frequency": [2]}]
)
def test_other_populations_are_refused(population):
    if population is LogLinear:
        population = LogLinear.fit(DATA, ["sex", "age"])
    with pytest.raises(ValueError, match="only the weights and population='latent-cl"):
        riskcore.assess(DATA, KEYS, "w", tolerance=TOLERANCE, population=population)


def test_the_model_is_that_of_the_tabulation():
    rng = np.random.default_rng(1)
    data = {"sex": rng.integers(0, 2, 300), "age": rng.integers(20, 60, 300)}
    data["w"] = np.full(300, 12.0)
    keys, tolerance = ["sex", "age"], {"age": 3}
    found = riskcore.assess(
        data, keys, "w", tolerance=tolerance, population="latent-class"
    )
    model = LatentClass.fit(riskcore.tabulate(data, keys, "w", tolerance=tolerance))
    assert np.array_equal(found.cell_unique_probability, model.unique_probability())
    assert "age in 1 band," in found.model.fit_in_words
    assert found.by_weights.expected_reidentifications == pytest.approx(
        riskcore.assess(data, keys, "w", tolerance=tolerance).expected_reidentifications
    )


def test_the_model_stands_beside_the_weights():
    rng = np.random.default_rng(3)
    n = 400
    data = {"sex": rng.integers(0, 2, n), "job": rng.integers(0, 12, n)}
    data |= {"income": np.round(rng.lognormal(8, 0.7, n)), "w": np.full(n, 30.0)}
    keys, tolerance = ["sex", "job", "income"], {"income": "2%"}
    both = riskcore.assess(data, keys, "w", tolerance=tolerance)
    one = riskcore.assess(
        data, keys, "w", tolerance=tolerance, population="latent-class"
    )
    assert np.array_equal(both.by_model.individual_risk, one.individual_risk)
    told = both.figures["by_model"]
    assert told["expected_reidentifications_interval"] is None
    assert told["expected_reidentifications"] == one.expected_reidentifications
    assert "by the latent-class model" in both.summary()
    auto = riskcore.assess(data, keys, "w", tolerance=tolerance, population="auto")
    assert np.array_equal(auto.individual_risk, one.individual_risk)


def test_protect_refuses_a_tolerance():
    with pytest.raises(ValueError, match=r"riskcore\.assess of the protected file"):
        riskcore.protect(DATA, ["sex"], "w", threshold=0.1, tolerance={"age": 2})


def test_panels_take_no_tolerance():
    data = {"id": [1, 1, 2], "year": [1, 2, 1], "age": [30, 31, 50]}
    with pytest.raises(ValueError, match="cannot be combined with tolerance"):
        riskcore.assess(data, ["age"], person="id", wave="year", tolerance={"age": 2})
