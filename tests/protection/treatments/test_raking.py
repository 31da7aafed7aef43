"""Raking: totals are reached within bounds by the closest weights, or it says not."""

import hashlib
import math

import numpy as np
import pytest
from scipy import optimize

import riskcore
from riskcore.protection.settings import Settings
from riskcore.protection.treatments.raking import (
    Margin,
    _bracket,
    margins_of,
    rake,
)
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


@pytest.mark.parametrize(
    "bounds", [None, (0.5, 3.0), (0.78, 1.25), (0.0, 1.25), (0.78, np.inf)]
)
def test_raked_weights_reach_the_totals(bounds):
    margins = file()
    found = rake(WEIGHTS, margins, bounds=bounds)
    assert found.converged
    for codes, totals in margins.values():
        sums = np.bincount(codes, found.weights)
        assert sums == pytest.approx(totals, rel=1e-9)
    assert found.weights == pytest.approx(WEIGHTS * found.factors, rel=1e-15)
    low, high = bounds or (0.0, np.inf)
    assert low <= found.factors.min()
    assert found.factors.max() <= high
    told = found.to_dict()
    assert told["smallest_factor"] == found.factors.min()
    assert told["converged"] is True


def test_bounds_are_reached_in_these_cases():
    free = rake(WEIGHTS, file()).factors
    assert free.min() < 0.78 < 1.25 < free.max()
    cut = rake(WEIGHTS, file(), bounds=(0.78, 1.25)).factors
    assert (cut.min(), cut.max()) == (0.78, 1.25)


@pytest.mark.parametrize("bounds", [(1e-6, 1e3), (0.9, 1.3)])
def test_raked_weights_are_the_closest(bounds):
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
        jac=lambda g: weights * np.log(g), bounds=[bounds] * 6,
        constraints=constraints[:3], method="SLSQP", options={"ftol": 1e-15},
    )  # fmt: skip
    found = rake(weights, margins, bounds=bounds)
    assert found.converged
    assert found.factors == pytest.approx(best.x, abs=2e-6)


@pytest.mark.parametrize("bounds", [(0.7, 1.5), (0.0, 1.5), (0.7, np.inf)])
def test_the_total_lies_between_the_two_factors(bounds):
    margin = file()["age"]
    product = 0.5 + numbers(500, b"product") / 2.0**64
    free = margin.totals / np.bincount(margin.codes, WEIGHTS * product)
    found = _bracket(product, margin, free, *bounds)
    low, high = (
        np.bincount(margin.codes, WEIGHTS * np.clip(product * t[margin.codes], *bounds))
        for t in found
    )
    assert (found[0] > 0).all()
    assert np.isfinite(found[1]).all()
    assert (low <= margin.totals * (1 + 1e-14)).all()
    assert (high >= margin.totals * (1 - 1e-14)).all()


def test_weights_with_the_totals_stay():
    sex = np.arange(500) % 2
    found = rake(WEIGHTS, {"sex": Margin(sex, np.bincount(sex, WEIGHTS))})
    assert (found.rounds, found.converged) == (0, True)
    assert (found.factors == 1).all()
    assert rake(WEIGHTS, {}).converged


@pytest.mark.parametrize("bounds", [(0.78, 1.25), (0.82, 1.25), (0.99, 1.01)])
def test_it_converges_if_and_only_if_the_totals_can_be_reached(bounds):
    margins = file()
    rows = [
        WEIGHTS * (m.codes == i) for m in margins.values() for i in range(len(m[1]))
    ]
    totals = np.concatenate([m.totals for m in margins.values()])
    possible = optimize.linprog(np.zeros(500), A_eq=rows, b_eq=totals, bounds=bounds)
    found = rake(WEIGHTS, margins, bounds=bounds)
    assert found.converged == possible.success == (bounds[0] == 0.78)
    assert (found.largest_error > 1e-3) == (not found.converged)


def test_totals_that_no_weights_have():
    margins = file()
    # Both variables are the same, their totals are not.
    same = np.array([0, 1])
    apart = {
        "a": Margin(same, np.array([10.0, 20.0])),
        "b": Margin(same, np.array([20.0, 10.0])),
    }
    assert not rake(np.array([10.0, 10.0]), apart, rounds=50).converged
    assert rake(WEIGHTS, margins, rounds=2).rounds == 2
    assert not rake(WEIGHTS, margins, rounds=2).converged


@pytest.mark.parametrize("bounds", [(1.0, 2.0), (-0.1, 2.0), (0.5, 1.0), (0.5, np.nan)])
def test_bounds_that_are_refused(bounds):
    with pytest.raises(ValueError, match="need two numbers, the first in"):
        rake(WEIGHTS, {}, bounds=bounds)


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
    """Totals of a file are reached by the written weights, and by a replay."""
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
            data, ["area", "sex"], "w", k=10, cost=cost, accept={"*": "a test"},
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
        ("rake:area,a", "need a column, a category and its total"),
        ("rake:area,a,x;area,b,1", "not a total of area"),
        ("rake:area,a,1;area,a,2", "area a appears twice"),
        ("rake:none.csv", "none.csv"),
        ("rake:size,a,1;size,b,2", "the file has no column size"),
    ],
)
def test_totals_that_cannot_be_reached(rule, message):
    frame = {"area": ["a", "b"] * 5, "w": [1.5] * 10}
    with pytest.raises((ValueError, OSError), match=message):
        riskcore.protect(frame, ["area"], "w", k=2, treat={"w": rule})


def test_rules_of_totals_are_read_back():
    rule = Treatment.of("w", "rake:sex,f,510;sex,m,490.5")
    assert str(rule) == "rake:sex,f,510;sex,m,490.5"
    assert Treatment.from_dict(rule.to_dict()) == rule
    for bad in ({"totals": []}, {"totals": [["sex", 1, 2]]}, {"totals": [["a", "b"]]}):
        with pytest.raises(ValueError, match="totals"):
            Treatment.from_dict({"kind": "rake", **bad})
