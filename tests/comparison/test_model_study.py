"""Models of users before and after protection."""

import math

import numpy as np
import pytest
from scipy import special

import riskcore
from riskcore import Recoding
from tests.comparison.survey import blanked, one_model, survey


def by_hand(data, rows):
    """Return the logit of work on sex and roof by Newton's method."""
    X = np.column_stack(
        [
            np.ones(len(rows)),
            data["sex"][rows] == 2,
            *(data["roof"][rows] == one for one in (4, 5, 9)),
        ]
    ).astype(float)
    y = (data["work"][rows] == "yes").astype(float)
    beta = np.zeros(5)
    for _ in range(30):
        p = special.expit(X @ beta)
        A = X.T * (p * (1 - p)) @ X
        beta += np.linalg.solve(A, X.T @ (y - p))
    return beta, np.sqrt(np.diag(np.linalg.inv(A)))


def test_complete_records_of_both_files():
    data = survey()
    gone = set(range(0, 1000, 7))
    model = one_model(data, blanked(data, "roof", gone), "work ~ sex + roof")
    assert (model.kind, model.response) == ("logistic", "work = yes")
    assert (model.records_before, model.records_after) == (1000, 1000 - len(gone))
    assert (model.incomplete_before, model.incomplete_after) == (0, len(gone))
    assert model.base == {"sex": "1", "roof": "2"}
    names = ["(intercept)", "sex = 2", "roof = 4", "roof = 5", "roof = 9"]
    assert [one.term for one in model.coefficients] == names
    rows = np.array([i for i in range(1000) if i not in gone])
    before, after = by_hand(data, np.arange(1000)), by_hand(data, rows)
    for j, one in enumerate(model.coefficients):
        assert one.before == pytest.approx(before[0][j], rel=1e-9)
        assert one.error_before == pytest.approx(before[1][j], rel=1e-9)
        assert one.after == pytest.approx(after[0][j], rel=1e-9)
        assert one.error_after == pytest.approx(after[1][j], rel=1e-9)
        moved = (after[0][j] - before[0][j]) / before[1][j]
        assert one.difference == pytest.approx(moved, rel=1e-6)


def test_another_order_of_categories_and_text_are_one_model():
    data = survey()
    text = {name: [str(one) for one in data[name]] for name in data}
    text["w"] = data["w"]
    model = one_model(data, data, "income ~ sex + roof + age", weight="w")
    other = one_model(text, text, "income ~ sex + roof + age", weight="w")
    for one, two in zip(model.coefficients, other.coefficients, strict=True):
        assert one.before == pytest.approx(two.before, rel=1e-9)
        assert one.term == two.term


def test_conclusions_that_change():
    data = survey(2)
    after = {**data, "work": data["work"].copy()}
    mixed = np.random.default_rng(3).permutation(1000)
    after["work"] = data["work"][mixed]
    model = one_model(data, after, "work ~ sex + roof", keys=["age"])
    assert model.status == "changed"
    sex = model.coefficients[1]
    assert (sex.term, sex.change) == ("sex = 2", "significance")
    assert "of 4 coefficients change sign or significance: sex = 2" in model.verdict
    turned = {**data, "sex": 3 - data["sex"]}
    sex = one_model(data, turned, "work ~ sex + roof").coefficients[1]
    assert sex.change == "sign"
    assert sex.before == pytest.approx(-sex.after, rel=1e-9)
    assert sex.overlap < 0


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("roof ~ sex", "'roof' has 4 categories, and a response needs two"),
        ("constant ~ sex", "'constant' has 1 category"),
        ("income ~ number(work)", "some values of 'work' are not numbers"),
        ("income ~ category(many)", "500 parameters, at most 300; recode"),
    ],
)
def test_models_that_are_refused(formula, said):
    data = {**survey(), "constant": np.ones(1000), "many": np.arange(1000) // 2}
    with pytest.raises(ValueError, match=said):
        one_model(data, data, formula)


def test_a_category_with_one_response_has_no_estimate():
    data = survey()
    data["work"] = np.where(data["roof"] == 9, "yes", data["work"])
    model = one_model(data, data, "work ~ sex + roof")
    assert model.status == "unchanged"
    last = model.coefficients[-1]
    assert (last.term, last.before, last.error_before) == ("roof = 9", None, None)
    n = int((data["roof"] == 9).sum())
    said = f"before and after: all {n} records of roof = 9 have the same response (qua"
    (note,) = model.notes
    assert note.startswith(said)
    rare = {**data, "many": np.arange(1000) // 5}
    note = one_model(rare, rare, "work ~ number(age) + category(many)").notes[0]
    assert " more have the same response" in note
    # The others are as without these records.
    rows = np.flatnonzero(data["roof"] != 9)
    less = {name: one[rows] for name, one in data.items()}
    without = one_model(less, less, "work ~ sex + roof")
    for one, two in zip(model.coefficients[:-1], without.coefficients, strict=True):
        assert one.before == pytest.approx(two.before, rel=1e-12)
    assert "all 3 coefficients" in without.verdict
    assert "all 3 coefficients" in model.verdict


def test_an_estimate_that_is_lost_changes_the_conclusion():
    data = survey()
    safe = {**data, "work": np.where(data["roof"] == 9, "no", data["work"])}
    model = one_model(data, safe, "work ~ sex + roof")
    assert model.coefficients[-1].change == "estimate"
    assert "1 of 4 coefficients changes" in model.verdict
    # The first category that both can estimate is the base.
    first = {**data, "work": np.where(data["roof"] == 2, "no", data["work"])}
    model = one_model(data, first, "work ~ sex + roof")
    assert model.base["roof"] == "4"
    gone = {name: one[data["roof"] != 9] for name, one in data.items()}
    model = one_model(data, gone, "work ~ sex + roof")
    assert "after: no record has roof = 9" in model.notes


def test_no_verdict_without_estimates():
    data = survey()
    same = {**data, "work": np.where(data["sex"] == 2, "yes", "no")}
    model = one_model(data, same, "work ~ sex + roof")
    assert model.status == "no verdict"
    assert "after protection the predictors separate the two resp" in model.verdict
    assert model.coefficients == ()
    cut = {**data, "work": np.where(data["income"] > 0, "yes", "no")}
    model = one_model(data, cut, "work ~ sex + income")
    assert model.verdict.startswith("no verdict: after protection the predictors sep")
    assert all(one.after is None for one in model.coefficients)
    assert all(one.before is not None for one in model.coefficients)
    nothing = {**data, "roof": [None] * 1000}
    model = one_model(data, nothing, "work ~ sex + roof")
    assert "after protection no record has a value of every var" in model.verdict
    recoded = riskcore.recode(data, {"roof": Recoding.intervals([4])})
    model = one_model(data, recoded, "work ~ sex + roof")
    assert model.status == "no verdict"
    assert "give its recoding" in model.verdict
    groups = {"roof": Recoding.intervals([4])}
    model = one_model(data, recoded, "work ~ roof", recodings=groups)
    assert model.status == "unchanged"
    assert [one.term for one in model.coefficients][1:] == ["roof > 4"]


def test_interactions_are_the_cells_of_a_saturated_model():
    data = survey()
    model = one_model(data, data, "work ~ sex*roof")

    def logit(sex, roof):
        yes = data["work"][(data["sex"] == sex) & (data["roof"] == roof)] == "yes"
        return math.log(yes.sum() / (~yes).sum())

    found = {one.term: one.before for one in model.coefficients}
    assert found["(intercept)"] == pytest.approx(logit(1, 2), rel=1e-9)
    assert found["roof = 5"] == pytest.approx(logit(1, 5) - logit(1, 2), rel=1e-9)
    expected = logit(2, 5) - logit(1, 5) - logit(2, 2) + logit(1, 2)
    assert found["sex = 2 : roof = 5"] == pytest.approx(expected, rel=1e-9)
    linear = one_model(data, data, "income ~ sex*number(age)")
    groups = (data["sex"] == sex for sex in (1, 2))
    slopes = [np.polyfit(data["age"][one], data["income"][one], 1) for one in groups]
    found = [one.before for one in linear.coefficients]
    (b1, a1), (b2, a2) = slopes
    np.testing.assert_allclose(found, [a1, a2 - a1, b1, b2 - b1], rtol=1e-8)


def test_without_residuals_there_is_no_standard_error():
    data = survey()
    data["income"] = np.where(data["sex"] == 1, 0.0, data["income"])
    model = one_model(data, data, "income ~ sex", weight="w")
    intercept = model.coefficients[0]
    assert (intercept.before, intercept.error_before, intercept.change) == (0, None, "")
    assert any("residuals are all 0, of (intercept)" in note for note in model.notes)
