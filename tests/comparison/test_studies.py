"""Models and tables of users before and after protection."""

import json
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas
import polars
import pytest
from scipy import special

import riskcore
from riskcore import Recoding, compare
from riskcore.comparison.analyses import (
    Coefficient,
    ModelComparison,
    TableCell,
    TableComparison,
    Z,
    overlap,
)


def survey(seed=1, n=1000):
    """Return a file with categories, numbers, weights and responses."""
    rng = np.random.default_rng(seed)
    data = {
        "sex": rng.integers(1, 3, n),
        "roof": rng.choice([2, 4, 5, 9], n),
        "age": rng.integers(15, 90, n),
        "w": rng.integers(3, 30, n) / 2,
    }
    eta = -1 + 0.8 * (data["sex"] == 2) + 0.6 * (data["roof"] == 5)
    data["work"] = np.where(rng.random(n) < special.expit(eta), "yes", "no")
    data["income"] = 100 * eta + data["age"] + rng.normal(0, 50, n)
    return data


def blanked(data, name, rows):
    values = [None if i in rows else one for i, one in enumerate(data[name].tolist())]
    return {**data, name: values}


def one_model(before, after, formula, keys=("sex", "roof"), weight=None, **options):
    found = compare(before, after, list(keys), weight, models=[formula], **options)
    (model,) = found.models
    return model


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


def test_another_order_of_categories_and_text_are_one_model():
    data = survey()
    text = {name: [str(one) for one in data[name]] for name in data}
    text["w"] = data["w"]
    model = one_model(data, data, "income ~ sex + roof + age", weight="w")
    other = one_model(text, text, "income ~ sex + roof + age", weight="w")
    for one, two in zip(model.coefficients, other.coefficients, strict=True):
        assert one.before == pytest.approx(two.before, rel=1e-9)
        assert one.term == two.term


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


def test_overlap_of_intervals():
    assert overlap((0, 2), (1, 3)) == 0.5
    assert overlap((0, 4), (1, 3)) == 0.75
    assert overlap((0, 1), (0, 1)) == 1
    assert overlap((0, 1), (2, 3)) == -1
    assert overlap((0, 1), (0, 0)) is None
    one = Coefficient("x", 1.0, 0.5, 1.5, 0.25)
    assert one.interval_after == (1.5 - Z * 0.25, 1.5 + Z * 0.25)
    # The second lies in the first but for 0.5 - 0.25 Z/... of its upper half.
    common = min(1 + 0.5 * Z, 1.5 + 0.25 * Z) - max(1 - 0.5 * Z, 1.5 - 0.25 * Z)
    assert one.overlap == pytest.approx((common / (Z * 1) + common / (Z * 0.5)) / 2)
    assert one.difference == 1.0


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ((1, 0.1), (2, 0.1), ""), ((1, 0.1), (-1, 0.1), "sign"),
        ((1, 0.1), (0.1, 0.1), "significance"), ((0.1, 0.1), (-1, 0.1), "significance"),
        ((0.1, 0.1), (-0.1, 0.1), ""), ((1, 0.1), (None, None), "estimate"),
        ((None, None), (None, None), ""),
    ],
)  # fmt: skip
def test_what_changes(before, after, change):
    assert Coefficient("x", *before, *after).change == change


def model_of(*coefficients, reason=""):
    start = Coefficient("(intercept)", 1.0, 0.1, 1.0, 0.1)
    return ModelComparison(
        "y ~ x", "linear", "y", ("y", "x"), False, {}, 9, 9, 0, 0,
        (start, *coefficients), (), reason,
    )  # fmt: skip


def test_verdicts_in_words():
    kept = Coefficient("a", 1.0, 0.1, 1.1, 0.1)
    turned = Coefficient("b", 1.0, 0.1, -1.0, 0.1)
    far = Coefficient("c", 1.0, 0.1, 9.0, 0.1)
    assert model_of(kept).verdict == (
        "conclusions unchanged: the coefficient keeps its sign and significance, its "
        "intervals overlap by 74.5 %"
    )
    two = model_of(kept, replace(kept, term="d", after=1.2))
    assert two.verdict == (
        "conclusions unchanged: all 2 coefficients keep their sign and significance, "
        "their intervals overlap by at least 49 % (d)"
    )
    assert model_of(kept, turned).verdict == (
        "1 of 2 coefficients changes sign or significance: b"
    )
    found = model_of(kept, turned, far)
    assert found.status == "changed"
    assert (found.changed, found.disjoint) == ((turned,), (far,))
    assert found.verdict.endswith(
        "; 1 of 3 coefficients keeps its conclusion, but its intervals before and "
        "after do not overlap: c"
    )
    many = model_of(*(replace(turned, term=f"t{i}") for i in range(7)))
    assert many.verdict == (
        "7 of 7 coefficients change sign or significance: t0, t1, t2, t3, t4 and 2 more"
    )
    assert model_of(reason="the fit failed").verdict == "no verdict: the fit failed"


# Tables


def test_shares_of_a_table_and_their_margins():
    before = {"a": list("xxxyyyyyyy"), "b": [1, 1, 2, 1, 1, 1, 2, 2, 2, 2]}
    after = {**before, "a": [None, *before["a"][1:]]}
    (table,) = compare(before, after, ["a", "b"], tables=["a x b"]).tables
    assert (table.records_before, table.records_after) == (10, 9)
    assert (table.incomplete_before, table.incomplete_after) == (0, 1)
    cells = {one.categories: one for one in table.cells}
    assert list(cells) == [("x", 1), ("x", 2), ("y", 1), ("y", 2)]
    first = cells["x", 1]
    assert first.share_before == pytest.approx(0.2)
    assert first.share_after == pytest.approx(1 / 9)
    assert first.margin == pytest.approx(Z * math.sqrt(0.2 * 0.8 / 9))
    assert table.largest is first
    assert table.total_variation == pytest.approx(0.2 - 1 / 9)
    assert "points, at a = x, b = 1: 20 % before, 11.1 % after" in table.verdict
    assert table.verdict.startswith("conclusions unchanged: all 4 shares stay")


def test_weighted_margins_are_those_of_a_sample_with_replacement():
    data = survey()
    (table,) = compare(data, data, ["sex"], "w", tables=[("roof",)]).tables
    w = data["w"]
    for cell in table.cells:
        d = data["roof"] == cell.categories[0]
        p = (w * d).sum() / w.sum()
        variance = (w**2 * (d - p) ** 2).sum() / w.sum() ** 2 * 1000 / 999
        assert cell.share_before == pytest.approx(p, rel=1e-12)
        assert cell.margin == pytest.approx(Z * math.sqrt(variance), rel=1e-10)


def test_shares_that_leave_their_intervals():
    data = survey()
    safe = blanked(data, "roof", {i for i in range(1000) if data["roof"][i] == 9})
    (table,) = compare(data, safe, ["roof"], tables=["roof x sex"]).tables
    assert table.status == "changed"
    assert len(table.cells) == 8
    assert all(one.outside for one in table.cells if one.categories[0] == 9)
    n = len(table.outside)
    assert table.verdict.startswith(f"{n} of 8 shares leave their 95 % interval; the ")
    one = TableCell(("x",), 0.5, 0.75, 0.1)
    found = TableComparison(("a",), 9, 9, 0, 0, 0.25, (one, replace(one, margin=1)), "")
    assert found.verdict.startswith("1 of 2 shares leaves its 95 % interval; the large")
    other = {**data, "roof": list("abcde") * 200}
    (table,) = compare(data, other, ["sex"], tables=["roof"]).tables
    assert (table.status, table.cells) == ("no verdict", ())
    assert table.verdict.startswith("no verdict: 'roof': its categories are text only")
    nothing = {**data, "roof": [None] * 1000}
    (table,) = compare(data, nothing, ["sex"], tables=["roof"]).tables
    assert table.verdict == (
        "no verdict: after protection no record has a value in each column"
    )


# The whole comparison


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
