"""Models of the histories of a panel: their codes, and populations of known truth."""

import json
import math
import re

import numpy as np
import pytest

import riskcore
from riskcore.assessment import wave_model, waves
from riskcore.cli import main
from riskcore.data.coded import CodedRecords
from riskcore.models import CellTable, LatentClass
from tests.assessment.test_waves import panel

nan = math.nan
T, FRACTION = 3, 0.1


def population(seed, n=20_000):
    """Return the keys of people in each wave, and their areas of 20 people."""
    rng = np.random.default_rng(seed)
    sex, age = rng.integers(0, 2, n), rng.integers(20, 70, n)
    area = np.arange(n) // 20
    region, work = rng.integers(0, 8, n), rng.integers(0, 4, n)
    found = []
    for _ in range(T):
        found.append(np.stack([sex, age, region, work], axis=1))
        age = age + 1
        region = np.where(rng.random(n) < 0.03, rng.integers(0, 8, n), region)
        leaves = rng.random(n) < np.where(work == 1, 0.4, 0.1)
        work = np.where(leaves, rng.integers(0, 4, n), work)
    return found, area


def sample(people, area, rows):
    data = {
        "id": np.tile(rows, T),
        "year": np.repeat(np.arange(T), len(rows)),
        "w": np.full(len(rows) * T, 1 / FRACTION),
        "area": np.tile(area[rows], T),
    }
    for k, key in enumerate(["sex", "age", "region", "work"]):
        data[key] = np.concatenate([wave[rows, k] for wave in people])
    return data


def assess(data, known=None, **settings):
    return riskcore.assess(
        data,
        ["sex", "age", "region", "work"],
        "w",
        person="id",
        wave="year",
        known_waves=known,
        population="latent-class",
        **settings,
    )


def truth(people, rows, choices):
    """Return 1/F and whether F = 1 for each person, in the mean over choices."""
    shares, uniques = np.zeros(len(rows)), np.zeros(len(rows))
    for chosen in choices:
        keys = np.concatenate([people[t] for t in chosen], axis=1)
        _, cell, many = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        F = many[cell.ravel()][rows]
        shares += 1 / F / len(choices)
        uniques += (F == 1) / len(choices)
    return shares, uniques


@pytest.fixture(scope="module")
def drawn():
    people, area = population(1)
    rows = np.flatnonzero(np.random.default_rng(2).random(len(area)) < FRACTION)
    return people, area, rows, sample(people, area, rows)


@pytest.mark.parametrize(
    ("known", "choices"),
    [(None, [(0, 1, 2)]), (2, [(0, 1), (0, 2), (1, 2)]), (1, [(0,), (1,), (2,)])],
)
def test_the_truth_is_met_where_weights_are_far_below(drawn, known, choices):
    people, _, rows, data = drawn
    found = assess(data, known)
    shares, uniques = truth(people, rows, choices)
    assert found.expected_reidentifications == pytest.approx(shares.sum(), rel=0.06)
    tau = found.expected_population_uniques
    # Of one wave seven are expected; by luck there are four.
    assert tau == pytest.approx(uniques.sum(), rel=0.12, abs=6)
    figures = found.to_dict()
    if known != 1:
        weights = figures["expected_reidentifications_by_weights"]
        assert weights < 0.65 * shares.sum()
    # The riskier half by the model is the riskier half in truth.
    order = np.argsort(found.person_risk)
    half = len(order) // 2
    assert shares[order[half:]].mean() > 1.1 * shares[order[:half]].mean()
    low, high = found.expected_reidentifications_interval()
    assert low < shares.sum() < high < 1.3 * shares.sum()
    least, most = found.expected_population_uniques_interval()
    assert least < uniques.sum() < most < 1.6 * uniques.sum() + 12


def test_one_choice_is_the_model_of_its_cells(drawn):
    """With one wave known of one, all is as for records of that wave."""
    data = drawn[3]
    first = {name: values[data["year"] == 0] for name, values in data.items()}
    keys = ["sex", "age", "region", "work"]
    plain = riskcore.assess(first, keys, "w", population="latent-class")
    found = assess(first)
    risk = plain.individual_risk
    np.testing.assert_allclose(found.individual_risk, risk, rtol=1e-12)
    chance = plain.population_unique_probability
    np.testing.assert_allclose(found.population_unique_probability, chance, rtol=1e-12)
    tau = plain.expected_population_uniques_interval()
    assert found.expected_population_uniques_interval() == pytest.approx(tau)


def test_results_are_those_of_the_models_of_each_choice(drawn):
    """In a panel whose persons leave, each has the choices of their own waves."""
    data = {name: values.copy() for name, values in drawn[3].items()}
    there = np.random.default_rng(3).random(len(data["id"])) < 0.8
    data = {name: values[there] for name, values in data.items()}
    found = assess(data, 2)
    panel, coded = found.panel, found.coded
    sums, number = np.zeros(len(panel)), np.zeros(len(panel))
    waves = {p: set(np.flatnonzero(column)) for p, column in enumerate(panel.code.T)}
    rows = {
        (p, w): i
        for i, (p, w) in enumerate(zip(panel.person, panel.wave, strict=False))
    }
    for chosen in [(0, 1), (0, 2), (1, 2), (0,), (1,), (2,)]:
        people = [p for p in waves if set(chosen) <= waves[p]]
        records = [np.array([rows[p, w] for p in people]) for w in chosen]
        history = wave_model.history_of(list(coded.columns.values()), records)
        table = CellTable.of(
            history.codes, levels=history.levels, weight_sum=panel.weight[people]
        )
        # Who lacks a record is taken to be like the others.
        largest = np.bincount(panel.wave).max()
        prior = LatentClass.fit(table.scaled(largest / len(people))).prior()
        risk = wave_model.risk_by(prior)[table.rows.cell]
        for p, r in zip(people, risk, strict=True):
            if min(2, len(waves[p])) == len(chosen):
                sums[p] += r
                number[p] += 1
    np.testing.assert_allclose(found._risk, sums / number, rtol=1e-12)
    assert found.by_model.fitted == 6
    worst = assess(data, 2, wave_choice="worst")
    assert (worst.individual_risk >= found.individual_risk * (1 - 1e-12)).all()


def test_persons_who_leave_are_taken_to_be_like_those_who_stay(drawn):
    people, _, rows, data = drawn
    gone = np.random.default_rng(6).random(len(rows)) < 0.4
    there = ~np.tile(gone, T) | (data["year"] == 0)
    left = {name: values[there] for name, values in data.items()}
    found = assess(left)
    shares, _ = truth(people, rows, [(0, 1, 2)])
    first, _ = truth(people, rows, [(0,)])
    aim = shares[~gone].sum() + first[gone].sum()
    assert found.expected_reidentifications == pytest.approx(aim, rel=0.06)


def test_of_many_choices_a_part_is_fitted_that_has_every_person(drawn, monkeypatch):
    data = drawn[3]
    # One person lacks the first wave, another the second.
    gone = (data["id"] == data["id"][0]) & (data["year"] == 0)
    gone |= (data["id"] == data["id"][1]) & (data["year"] == 1)
    data = {name: values[~gone] for name, values in data.items()}
    every = assess(data, 2)
    monkeypatch.setattr(wave_model, "FITTED", 1)
    found = assess(data, 2)
    assert found.by_model.left_out == 1
    assert found.by_model.fitted + found.by_model.left_out == every.by_model.fitted
    assert np.isfinite(found.individual_risk).all()
    total = every.expected_reidentifications
    assert found.expected_reidentifications == pytest.approx(total, rel=0.1)
    assert "at random" in found.summary()
    assert assess(data, 2, wave_choice="worst").by_model.left_out == 0


def test_few_persons_are_assessed_by_the_weights(drawn):
    data = drawn[3]
    few = data["id"] < np.unique(data["id"])[20]
    data = {name: values[few] for name, values in data.items()}
    found = assess(data)
    assert (found.by_model.fitted, found.by_model.by_weights) == (0, 1)
    plain = found.risks.average[found.panel.person]
    np.testing.assert_allclose(found.individual_risk, plain, rtol=1e-14)
    assert "of few persons" in found.summary()


def test_clusters_reach_the_model():
    """Where whole areas of people alike were drawn, they are not taken for common."""
    people, area = population(4)
    for wave in people:  # three of four have the region and the work of their area
        alike = np.arange(len(area)) % 4 > 0
        for k in (2, 3):
            wave[alike, k] = wave[area[alike] * 20, k]
    drawn = np.random.default_rng(5).random(area.max() + 1) < FRACTION
    rows = np.flatnonzero(drawn[area])
    data = sample(people, area, rows)
    shares, _ = truth(people, rows, [(0, 1, 2)])
    plain, found = assess(data), assess(data, cluster="area")
    aim = shares.sum()
    assert plain.expected_reidentifications < 0.95 * aim
    off = abs(found.expected_reidentifications - aim)
    assert off < 0.5 * abs(plain.expected_reidentifications - aim)
    data["few"] = data["area"] % 5
    assert "5 clusters cannot tell" in assess(data, cluster="few").summary()
    assert "caution" not in plain.summary()


def test_histories_have_the_cells_of_the_keys():
    """Whatever the codes, persons agree in them if they agree in all waves."""
    data = panel(3, persons=300, waves=3, taking_part=1.0, missing=0.1)
    data["age"] = 20 + data["year"] + data["id"] % 5
    coded = CodedRecords.of(data, ["a", "b", "age"])
    rows = [np.flatnonzero(data["year"] == year) for year in (2000, 2002, 2004)]
    rows = [one[np.argsort(data["id"][one])] for one in rows]
    history = wave_model.history_of(list(coded.columns.values()), rows)
    whole = np.stack([c.codes[r] for c in coded.columns.values() for r in rows])
    of_keys = np.unique(whole, axis=1, return_inverse=True)[1].ravel()
    of_codes = np.unique(np.stack(history.codes), axis=1, return_inverse=True)[1]
    pairs = set(zip(of_keys.tolist(), of_codes.ravel().tolist(), strict=True))
    assert len(pairs) == len(set(of_keys)) == len(set(of_codes.ravel().tolist()))
    assert all(c.max() < k for c, k in zip(history.codes, history.levels, strict=True))
    # Everybody grows older by two years, which tells nothing.
    assert len(history.codes) == 7


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        ([1, 5], [1, 5]), ([1.0, 5.0], [1, 5]), (["7", "10"], [7, 10]),
        (["07", "10"], [7, 10]), (["7", "07"], [None, None]), (["a", "3"], [None, 3]),
        ([1.5], [None]), ([nan], [None]), ([1e300], [None]),
        (["69", "70+"], [69, None]),
    ],
)  # fmt: skip
def test_whole_numbers(labels, numbers):
    found, whole = wave_model.whole_numbers(np.array(labels, object))
    assert [int(x) if yes else None for x, yes in zip(found, whole, strict=True)] == [
        *numbers,
        None,
    ]


def test_ages_keep_their_differences_beside_other_labels():
    """A top code, leading zeros or a missing age cost only their own records."""
    rng = np.random.default_rng(3)
    age = rng.integers(20, 72, 800)
    region = rng.integers(0, 6, 800)
    person, wave = np.repeat(np.arange(800), 3), np.tile([1, 2, 3], 800)
    years = np.repeat(age, 3) + wave
    rest = {"id": person, "wave": wave, "region": np.repeat(region, 3)}
    rest["w"] = np.full(2400, 20.0)

    def expected(ages):
        found = riskcore.assess(
            {**rest, "age": ages}, ["age", "region"], "w", person="id", wave="wave",
            population="latent-class", missing="category",
        )  # fmt: skip
        return found.expected_reidentifications

    plain = expected(years)
    zeros = expected([f"{year:03d}" for year in years])
    assert zeros == pytest.approx(plain, rel=0.02)
    # A person with another label is alone; the others are as they were.
    missing = [None if i == 0 else int(x) for i, x in enumerate(years)]
    assert plain < expected(missing) < plain + 1.5


def test_waves_of_a_text_file_are_in_the_order_of_their_numbers(tmp_path):
    lines = [
        "id,wave,a,w",
        *(f"{i},{t},{i % 3},5" for i in range(4) for t in (9, 10, 11)),
    ]
    path = tmp_path / "p.csv"
    path.write_text("\n".join(lines) + "\n")
    found = riskcore.assess(path, ["a"], "w", person="id", wave="wave")
    assert "3: 9 to 11" in found.summary()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"population": "log-linear"}, "with person and wave use 'latent-class'"),
        ({"population": {"a": [1]}}, "with person and wave use 'latent-class'"),
        ({"population": "latent-class"}, "a model needs each person in one cell"),
        ({"population": "latent-class", "method": "series7"}, "for weights only"),
    ],
)
def test_what_is_refused(settings, message):
    data = panel(1, missing=0.1)
    with pytest.raises(ValueError, match=message):
        riskcore.assess(data, ["a", "b"], "w", person="id", wave="year", **settings)


def test_there_is_no_interval_by_weights_or_of_the_worst(drawn):
    data = panel(1)
    found = riskcore.assess(data, ["a", "b"], "w", person="id", wave="year")
    with pytest.raises(ValueError, match="an interval needs a model"):
        found.expected_reidentifications_interval()
    with pytest.raises(ValueError, match="'worst' has no interval"):
        assess(drawn[3], 2, wave_choice="worst").expected_population_uniques_interval()


def test_the_command_and_the_text(drawn, tmp_path, monkeypatch, capsys):
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    data = pd.DataFrame(drawn[3])
    data.to_csv("panel.csv", index=False)
    line = "assess panel.csv --keys sex age region work --weight w --person id --wave "
    line += (
        "year --population latent-class --cluster area --quiet --json --output r.csv"
    )
    assert not main(line.split())
    figures = json.loads(capsys.readouterr().out)
    wanted = assess(data, cluster="area")
    # Text is in another order than numbers, and starts of the fit are near records.
    total = wanted.expected_reidentifications
    assert figures["expected_reidentifications"] == pytest.approx(total, rel=0.05)
    assert figures["population_model"] == "latent-class"
    written = pd.read_csv("r.csv")
    chance = written.population_unique_probability[written.year == 0].sum()
    assert chance == pytest.approx(figures["population_uniques"])
    assert "by the weights alone" in wanted.summary()
    keys = ["sex", "age", "region", "work"]
    panel = {"person": "id", "wave": "year"}
    plain = riskcore.assess(data, keys, "w", **panel, population="weights")
    assert "compare the population model latent-class" in plain.summary()
    assert "advice" not in wanted.summary()


def test_the_model_is_shown_beside_the_weights(drawn, monkeypatch):
    data = drawn[3]
    keys, panel = ["sex", "age", "region", "work"], {"person": "id", "wave": "year"}
    wanted = assess(data)
    both = riskcore.assess(data, keys, "w", **panel)
    plain = riskcore.assess(data, keys, "w", **panel, population="weights")
    np.testing.assert_array_equal(both.individual_risk, plain.individual_risk)
    beside = both.to_dict()["by_model"]
    total = wanted.expected_reidentifications
    assert beside["expected_reidentifications"] == total
    assert beside["population_uniques"] == wanted.expected_population_uniques
    assert re.search("which to believe  +the model", both.summary())
    auto = riskcore.assess(data, keys, "w", **panel, population="auto")
    np.testing.assert_array_equal(auto.individual_risk, wanted.individual_risk)
    # Where the weights tell enough there is no model, nor where it would take long.
    few = riskcore.assess(data, ["sex"], "w", **panel)
    assert "by_model" not in few.to_dict()
    assert few.population_name == "weights"
    alike = riskcore.assess(data, ["sex"], "w", **panel, population="auto")
    assert alike.population_name == "weights"
    monkeypatch.setattr(waves, "_FITTED_AT_ONCE", 100)
    assert "by_model" not in both.to_dict()
    assert "compare the population model" in both.summary()
