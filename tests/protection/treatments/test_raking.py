"""Raking: totals are reached by the closest weights, or it says that they are not."""

import hashlib
import math

import numpy as np
import pytest
from scipy import optimize

import riskcore
from riskcore.protection.settings.settings import Settings
from riskcore.protection.treatments.raking import MOST_ROUNDS, Margin, margins_of, rake
from riskcore.protection.treatments.rules import Treatment


def numbers(n, label):
    """Return fixed random numbers, the same on every machine."""
    return np.frombuffer(hashlib.shake_256(label).digest(8 * n), "<u8")


WEIGHTS = 10 + 90 * (numbers(500, b"w") / 2.0**64)


def file():
    """Return weights, three margins that depend on each other, and true totals."""
    drawn = numbers(3 * 500, b"margins").reshape(3, 500)
    sex = (drawn[0] % 2).astype(np.int64)
    age = (drawn[1] % 4).astype(np.int64)
    region = (age + drawn[2] % 3).astype(np.int64)
    factor = 0.8 + 0.3 * sex + 0.1 * age - 0.05 * region
    codes = {"sex": sex, "age": age, "region": region}
    return {k: Margin(v, np.bincount(v, WEIGHTS * factor)) for k, v in codes.items()}


def test_raked_weights_reach_the_totals():
    margins = file()
    found, effects = rake(WEIGHTS, margins)
    for codes, totals in margins.values():
        assert np.bincount(codes, found) == pytest.approx(totals, rel=1e-9)
    factors = found / WEIGHTS
    assert effects["converged"] is True
    assert effects["smallest_factor"] == pytest.approx(factors.min(), rel=1e-15)
    assert effects["largest_factor"] == pytest.approx(factors.max(), rel=1e-15)


def test_raked_weights_are_the_closest():
    weights = np.array([10.0, 20.0, 15.0, 30.0, 12.0, 18.0])
    sex, age = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 1, 0, 0, 1])
    margins = {
        "sex": Margin(sex, np.array([50.0, 62.0])),
        "age": Margin(age, np.array([50.0, 62.0])),
    }
    constraints = [
        {"type": "eq", "fun": lambda g, m=m, i=i: (weights * g)[m.codes == i].sum()
         - m.totals[i]}
        for m in margins.values() for i in range(2)
    ]  # fmt: skip
    best = optimize.minimize(
        lambda g: (weights * (g * np.log(g) - g + 1)).sum(), np.ones(6),
        jac=lambda g: weights * np.log(g), bounds=[(1e-6, 1e3)] * 6,
        constraints=constraints[:3], method="SLSQP", options={"ftol": 1e-15},
    )  # fmt: skip
    found, effects = rake(weights, margins)
    assert effects["converged"]
    assert found / weights == pytest.approx(best.x, abs=2e-6)


def test_weights_with_the_totals_stay():
    sex = np.arange(500) % 2
    found, effects = rake(WEIGHTS, {"sex": Margin(sex, np.bincount(sex, WEIGHTS))})
    assert (effects["rounds"], effects["converged"]) == (0, True)
    assert (found == WEIGHTS).all()


def test_totals_that_no_weights_have():
    # Both variables are the same, their totals are not.
    same = np.array([0, 1])
    apart = {
        "a": Margin(same, np.array([10.0, 20.0])),
        "b": Margin(same, np.array([20.0, 10.0])),
    }
    _, effects = rake(np.array([10.0, 10.0]), apart)
    assert not effects["converged"]
    assert effects["rounds"] == MOST_ROUNDS


SEX = (np.array([0, 1, 1]), np.array(["f", "m"]))
AREA = (np.array([0, 0, 1]), np.array([7, 9]))


def test_margins():
    columns = {"sex": SEX, "area": AREA}
    totals = {"area": {9: 30, 7: 70}, "sex": {"f": 60, "m": 40}}
    found = margins_of(columns, totals)
    assert found["area"].totals.tolist() == [70.0, 30.0]
    assert list(found) == ["area", "sex"]


@pytest.mark.parametrize(
    ("totals", "message"),
    [
        ({"sex": {"f": 60}}, "margin 'sex': no total is given for 'm'"),
        ({"sex": {"f": 1, "m": 2, "x": 3}}, "margin 'sex': no record has 'x'"),
        ({"sex": {"f": 0, "m": 2}}, "a total is positive and finite"),
        ({"sex": {"f": math.inf, "m": 2}}, "a total is positive and finite"),
        (
            {"sex": {"f": 60, "m": 40}, "area": {7: 50, 9: 51}},
            "different populations, 'sex' to 100, 'area' to 101",
        ),
    ],
)
def test_margins_that_are_refused(totals, message):
    with pytest.raises(ValueError, match=message):
        margins_of({"sex": SEX, "area": AREA}, totals)


def test_missing_categories():
    missing = (np.array([0, 1, 2]), np.array(["f", "m"]))
    with pytest.raises(ValueError, match="'sex': missing in 1 record"):
        margins_of({"sex": missing}, {"sex": {"f": 1, "m": 2}})


def test_a_rule_rakes_to_totals_after_all_other_treatments(tmp_path):
    """Totals of a file are reached by the written weights."""
    n = 600
    frame = {
        "area": ["a", "b", "c"] * (n // 3),
        "sex": ["f", "m"] * (n // 2),
        "w": [10.0, 20.0, 30.0] * (n // 3),
    }
    file = tmp_path / "totals.csv"
    file.write_text("column,category,total\narea,a,2500\narea,b,4000\narea,c,5500\n")
    result = riskcore.protect(
        frame,
        ["area", "sex"],
        "w",
        k=3,
        treat={"w": [f"rake:{file}", "share-weights:1"]},
        accept={"*": "a test"},
        roles={"*": "harmless:a test"},
    )
    areas, weights = np.array(result.data["area"]), np.array(result.data["w"])
    sums = {one: float(weights[areas == one].sum()) for one in "abc"}
    assert sums == pytest.approx({"a": 2500, "b": 4000, "c": 5500})
    plain = result.settings.to_dict()
    assert Settings.from_dict(plain).treat == result.settings.treat
    assert (
        "raked to known totals of area"
        in result.to_dict()["treated"]["rules"][0]["rules"]
    )


def test_what_suppression_takes_from_the_totals_is_said():
    data = {
        "area": ["a"] * 30 + ["b"] * 30,
        "sex": [*["f"] * 3, *["m"] * 27, *["f", "m"] * 15],
        "w": [5.0] * 30 + [10.0] * 30,
    }
    totals = {"a": 300, "b": 600}

    def said(cost):
        """Return what is said, and how many values suppression took."""
        result = riskcore.protect(
            data, ["area", "sex"], "w", k=10, cost=cost,
            accept={"*": "a test"}, roles={"*": "harmless:a test"},
            treat={"w": "rake:area,a,300;area,b,600"},
        )  # fmt: skip
        area, w = (np.array(result.data[name], object) for name in ("area", "w"))
        lost = [1 - w[area == one].sum() / total for one, total in totals.items()]
        (_, *found) = result.to_dict()["treated"]["rules"][0]["rules"]
        if found:
            text = " ".join(result.summary().split())
            assert "then suppression took" in text
        return found, result.suppressed["area"], 100 * max(lost)

    (found,), count, most = said({"area": 1, "sex": 100})
    assert count > 0
    assert f"took {count} value" in found
    assert f"are up to {most:.3g} % too low" in found
    assert said({"area": math.inf, "sex": 1})[0] == []


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("rake:area,a,10", "no total is given for 'b'"),
        ("rake:area,a,10;area,b,10;area,c,30", "no record has 'c'"),
        ("rake:none.csv", "none.csv"),
        ("rake:size,a,1;size,b,2", "no column 'size'"),
    ],
)
def test_totals_that_cannot_be_reached(rule, message):
    frame = {"area": ["a", "b"] * 5, "w": [1.5] * 10}
    with pytest.raises((ValueError, OSError, KeyError), match=message):
        riskcore.protect(frame, ["area"], "w", k=2, treat={"w": rule})


def test_names_of_a_file_of_totals_may_have_commas(tmp_path):
    file = tmp_path / "totals.csv"
    file.write_text('column,category,total\narea,"North, and ""East""",5\narea,b,6\n')
    rule = Treatment.of("w", f"rake:{file}")
    assert rule.margins == {"area": {'North, and "East"': 5.0, "b": 6.0}}
    assert Treatment.of("w", str(rule)) == rule
    file.write_text("column,category,total\narea,a;b,5\n")
    with pytest.raises(ValueError, match="recode a category with ';'"):
        Treatment.of("w", f"rake:{file}")
