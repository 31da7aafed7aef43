"""Panels: the risk over choices of waves, against the definition person by person."""

import json
import math
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import riskcore
from riskcore.assessment.cell_risk import PopulationBelowSample, risk_of
from riskcore.cli import main

nan = math.nan
KEYS = ["a", "b"]


def panel(seed, persons=40, waves=4, taking_part=0.7, missing=0.0, levels=3):
    """Return a panel in random order, in which keys are missing and people leave."""
    rng = np.random.default_rng(seed)
    there = rng.random((persons, waves)) < taking_part
    there[np.arange(persons), rng.integers(0, waves, persons)] = True
    person, wave = np.nonzero(there)
    order = rng.permutation(len(person))
    n = len(order)
    keys = {
        "a": rng.integers(0, levels, n).astype(float),
        "b": rng.integers(0, 2, n).astype(float),
    }
    for column in keys.values():
        column[rng.random(n) < missing] = nan
    return {
        "id": person[order] * 7 + 3,
        "year": 2000 + 2 * wave[order],
        **keys,
        "w": rng.integers(1, 30, n).astype(float),
    }


def by_definition(data, known, match, method="exact", keys=KEYS, weighted=True):
    """Return for each person the choices, those in which they are unique, and risks."""
    histories, weights = {}, {}
    for i, person in enumerate(data["id"].tolist()):
        values = tuple(data[key][i] for key in keys)
        histories.setdefault(person, {})[int(data["year"][i])] = values
        weights.setdefault(person, []).append(data["w"][i] if weighted else 1.0)
    weight = {person: np.mean(each) for person, each in weights.items()}
    found = {}
    for person, own in histories.items():
        size = len(own) if known is None else min(known, len(own))
        unique, risks = 0, []
        for choice in combinations(sorted(own), size):
            alike = [
                other
                for other, theirs in histories.items()
                if all(w in theirs and match(own[w], theirs[w]) for w in choice)
            ]
            f, F = float(len(alike)), math.fsum(weight[other] for other in alike)
            risks.append(risk_of(method, np.array([f]), np.array([F]))[0])
            unique += f == 1
        found[person] = (len(risks), unique, math.fsum(risks) / len(risks), max(risks))
    return found


def equal(mine, theirs):
    return all(
        x == y or (math.isnan(x) and math.isnan(y))
        for x, y in zip(mine, theirs, strict=True)
    )


def compatible(mine, theirs):
    return all(
        x == y or math.isnan(x) or math.isnan(y)
        for x, y in zip(mine, theirs, strict=True)
    )


def assess(data, known=None, keys=KEYS, **settings):
    return riskcore.assess(
        data, keys, "w", person="id", wave="year", known_waves=known, **settings
    )


def check(data, known, match, method="exact", **settings):
    """Compare the average and the worst choice with the definition."""
    wanted = by_definition(data, known, match, method)
    average = assess(data, known, method=method, **settings)
    worst = assess(data, known, method=method, wave_choice="worst", **settings)
    choices, unique, mean, largest = np.array(
        [wanted[person] for person in data["id"].tolist()]
    ).T
    np.testing.assert_allclose(average.individual_risk, mean, rtol=1e-13)
    np.testing.assert_allclose(worst.individual_risk, largest, rtol=1e-14)
    np.testing.assert_array_equal(average.unique_share, unique / choices)
    total = math.fsum(one[2] for one in wanted.values())
    assert average.expected_reidentifications == pytest.approx(total, rel=1e-13)
    assert average.persons == len(wanted)
    first = list(dict.fromkeys(data["id"].tolist()))
    risks = [wanted[person][2] for person in first]
    np.testing.assert_allclose(average.person_risk, risks, rtol=1e-13)


@pytest.mark.parametrize("known", [None, 1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_the_definition_without_missing_keys(seed, known):
    part = (1.0, 0.7, 0.3)[seed % 3]
    check(panel(seed, taking_part=part), known, equal)


@pytest.mark.parametrize("method", ["series7", "franconi"])
def test_the_definition_by_other_formulas(method):
    check(panel(7), 2, equal, method)


@pytest.mark.parametrize("known", [None, 1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_missing_is_a_category(seed, known):
    check(panel(seed, missing=0.2), known, equal, missing="category")


@pytest.mark.parametrize("known", [None, 1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_missing_matches_any_value(seed, known):
    check(panel(seed, missing=0.2), known, compatible, missing="argus")


def test_wildcards_are_those_of_one_wave():
    """With one wave known, the risk is that of the wave by itself."""
    data = panel(3, persons=60, waves=3, missing=0.3, taking_part=1.0)
    of_person = dict.fromkeys(data["id"].tolist(), 0.0)
    mean = {}
    for person, w in zip(data["id"].tolist(), data["w"].tolist(), strict=True):
        mean.setdefault(person, []).append(w)
    for year in np.unique(data["year"]):
        rows = data["year"] == year
        one = {name: values[rows] for name, values in data.items()}
        one["w"] = np.array([np.mean(mean[person]) for person in one["id"].tolist()])
        found = riskcore.assess(one, KEYS, "w").individual_risk
        for person, risk in zip(one["id"].tolist(), found.tolist(), strict=True):
            of_person[person] += risk / 3
    wanted = [of_person[person] for person in data["id"].tolist()]
    np.testing.assert_allclose(assess(data, 1).individual_risk, wanted, rtol=1e-13)


def test_many_persons():
    """Groups of thousands are as by pandas."""
    data = panel(1, persons=3000, waves=6, taking_part=0.9, levels=2)
    found = assess(data, 2)
    np.testing.assert_allclose(found.individual_risk, by_pandas(data), rtol=1e-12)


@pytest.mark.parametrize("known", [None, 1, 2])
def test_a_single_person(known):
    check(panel(1, persons=1, taking_part=1.0), known, equal)


def by_pandas(data):
    """Return the mean risk over pairs of waves, by grouping each pair."""
    frame = pd.DataFrame(data)
    weight = frame.groupby("id").w.mean()
    cell = frame.assign(cell=frame.a * 10 + frame.b)
    cells = cell.pivot(index="id", columns="year", values="cell")
    sums, counts = pd.Series(0.0, weight.index), pd.Series(0, weight.index)
    waves = cells.notna().sum(axis=1)
    for known in (1, 2):
        for choice in combinations(cells.columns, known):
            there = cells[list(choice)].dropna()
            groups = weight[there.index].groupby([there[c] for c in choice])
            f, F = groups.transform("size"), groups.transform("sum")
            risk = riskcore.individual_risk_from_frequencies(f.astype(float), F)
            its = risk[np.minimum(waves, 2)[there.index] == known]
            sums[its.index] += its
            counts[its.index] += 1
    return (sums / counts)[data["id"]].to_numpy()


def test_the_order_of_records_and_the_type_of_ids_do_not_matter():
    data = panel(5)
    order = np.random.default_rng(2).permutation(len(data["id"]))
    moved = {name: values[order] for name, values in data.items()}
    moved["id"] = np.array([f"p{each}" for each in moved["id"]], object)
    moved["year"] = moved["year"].astype(str)
    found, same = assess(data, 2), assess(pl.DataFrame(moved), 2)
    np.testing.assert_array_equal(found.individual_risk[order], same.individual_risk)
    assert same.records.columns[-2:] == ["individual_risk", "unique_share"]
    assert found.reidentification_rate == same.reidentification_rate


def test_equal_weights_of_a_person_are_their_mean_to_the_last_bit():
    data = panel(5)
    data["w"] = 1.1 + data["id"] % 3
    found = assess(data)
    person, first = np.unique(data["id"], return_index=True)
    assert set(found.panel.weight.tolist()) == set(data["w"][first].tolist())
    assert len(found.panel) == len(person)


def test_weights_by_a_fraction_and_none():
    data = panel(4)
    ten = riskcore.assess(
        data, KEYS, person="id", wave="year", known_waves=2, sampling_fraction=0.1
    )
    given = assess({**data, "w": np.full(len(data["w"]), 10.0)}, 2)
    np.testing.assert_array_equal(ten.individual_risk, given.individual_risk)
    found = riskcore.assess(data, KEYS, person="id", wave="year")
    wanted = by_definition(data, None, equal, weighted=False)
    total = sum(one[2] for one in wanted.values())
    assert found.expected_reidentifications == pytest.approx(total, rel=1e-13)


def test_one_wave_is_the_risk_of_records():
    data = panel(2, waves=1)
    plain = riskcore.assess(data, KEYS, "w")
    found = assess(data)
    np.testing.assert_array_equal(found.individual_risk, plain.individual_risk)
    assert found.k_anonymity == plain.k_anonymity
    assert found.risk_threshold(rate=0.01) == plain.risk_threshold(rate=0.01)


def test_k_is_the_smallest_group_of_any_choice():
    data = {
        "id": [1, 1, 2, 2, 3, 3, 4, 4],
        "year": [1, 2] * 4,
        "job": ["a", "b", "a", "b", "a", "c", "a", "c"],
    }
    settings = {"person": "id", "wave": "year"}
    assert riskcore.assess(data, ["job"], **settings, known_waves=1).k_anonymity == 2
    # Person 5 took part once, and is like all others in that wave.
    more = {
        "id": [*data["id"], 5],
        "year": [*data["year"], 1],
        "job": [*data["job"], "a"],
    }
    found = riskcore.assess(more, ["job"], **settings)
    assert found.k_anonymity == 2
    assert found.person_risk.tolist() == [0.5, 0.5, 0.5, 0.5, 0.2]


def test_tables_and_thresholds():
    data = panel(6)
    found = assess(data, 2)
    for row in found.by_known_waves():
        other = assess(data, row["known_waves"])
        assert row["expected_reidentifications"] == other.expected_reidentifications
        assert row["persons_unique"] == other.expected_uniques
    figures = found.to_dict(thresholds=[0.05], rate=0.01, unsafe=3)
    assert json.loads(json.dumps(figures)) == figures
    unsafe = found.unsafe(0.05)
    assert figures["unsafe_persons"] == [
        {"threshold": 0.05, "persons": found.unsafe_count(0.05)}
    ]
    assert len(np.unique(data["id"][unsafe])) == found.unsafe_count(0.05)
    assert figures["for_unsafe"]["persons"] <= 3
    assert (
        found.unsafe_count(figures["for_rate"]["threshold"])
        == figures["for_rate"]["persons"]
    )
    share = dict(zip(data["id"], found.unique_share, strict=True))
    said = figures["persons_unique"]
    assert said["in_all_choices"] == sum(u == 1 for u in share.values())
    assert said["in_no_choice"] == sum(u == 0 for u in share.values())
    assert said["in_the_average_choice"] == pytest.approx(sum(share.values()))
    text = found.summary(thresholds=[0.05], rate=0.01, unsafe=3)
    for words in ("persons unique in all choices", "By the number of known waves"):
        assert words in text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"person": "id"}, "person='id' needs wave"),
        ({"wave": "year"}, "wave='year' needs person"),
        ({"known_waves": 2}, "needs person and wave"),
        ({"wave_choice": "worst"}, "needs person and wave"),
        ({"person": "id", "wave": "id"}, "both the person and the wave"),
        ({"person": "a", "wave": "year"}, "both a key and the person"),
        ({"person": "id", "wave": "w"}, "both the weight and the wave"),
        ({"known_waves": 9}, "known_waves=9: the file has 4 waves"),
        ({"known_waves": 0}, "known_waves=0"),
        ({"household": "b"}, "combined with household"),
        ({"cluster": "b", "population": "weights"}, "it changes nothing"),
        ({"strata": ["b"]}, "strata: clusters are drawn in strata"),
        ({"numeric": ["b"]}, "combined with numeric"),
        ({"alpha": 0.5}, "combined with alpha"),
        ({"missing": "refuse"}, "missing key values"),
    ],
)
def test_what_is_refused(settings, message):
    data = panel(1, missing=0.1)
    if "person" not in settings and {
        "household",
        "cluster",
        "strata",
        "numeric",
        "alpha",
        "missing",
    } & set(settings):
        settings = {**settings, "person": "id", "wave": "year"}
    if settings.get("known_waves") in (0, 9):
        settings = {**settings, "person": "id", "wave": "year"}
    with pytest.raises(ValueError, match=message):
        riskcore.assess(data, ["a"], "w", **settings)


def test_bad_panels_are_refused():
    data = panel(1)
    twice = {name: np.append(values, values[0]) for name, values in data.items()}
    with pytest.raises(ValueError, match="1 pair of person and wave on several"):
        assess(twice)
    gone = {**data, "year": data["year"].astype(float)}
    gone["year"][3] = nan
    with pytest.raises(ValueError, match="wave 'year': missing in 1"):
        assess(gone)
    names = np.array([f"p{each}" for each in data["id"]], object)
    names[:2] = None
    with pytest.raises(ValueError, match="person 'id': missing in 2"):
        assess({**data, "id": names})
    with pytest.raises(ValueError, match="waves; at most 64"):
        assess({**data, "year": np.arange(len(names))})
    with pytest.raises(TypeError, match="person"):
        assess(pl.LazyFrame(data))
    with pytest.raises(ValueError, match="name of a result"):
        assess({**data, "unique_share": data["a"]}, keys=["a", "unique_share"])


def test_too_many_choices_are_refused_before_they_are_walked():
    waves = 40
    data = {
        "id": np.repeat(np.arange(3), waves),
        "year": np.tile(np.arange(waves), 3),
        "a": np.zeros(3 * waves),
    }
    with pytest.raises(ValueError, match=r"known_waves=20: 137,846,528,820 choices"):
        riskcore.assess(data, ["a"], person="id", wave="year", known_waves=20)
    found = riskcore.assess(data, ["a"], person="id", wave="year")
    assert found.person_risk.tolist() == [1 / 3] * 3


def test_persons_of_few_waves_in_a_long_rotating_panel():
    """With 64 waves, and four for each person, few choices are walked."""
    persons, waves = 60, 64
    rng = np.random.default_rng(8)
    start = rng.integers(0, waves - 3, persons)
    data = {
        "id": np.repeat(np.arange(persons), 4),
        "year": (start[:, np.newaxis] + np.arange(4)).ravel(),
        "a": rng.integers(0, 2, 4 * persons).astype(float),
        "b": np.zeros(4 * persons),
        "w": np.full(4 * persons, 5.0),
    }
    data["year"][:4] = [0, 1, 62, 63]
    for known in (2, 3, None):
        check(data, known, equal)


def test_weights_below_one_are_told():
    data = panel(1)
    with pytest.warns(PopulationBelowSample, match="40 persons of 40"):
        assess({**data, "w": np.full(len(data["id"]), 0.5)})


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = pd.DataFrame(panel(9))
    data.to_csv("panel.csv", index=False)
    line = "assess panel.csv --keys a b --weight w --person id --wave year --quiet"
    wanted = assess(pd.read_csv("panel.csv", dtype={"a": str, "b": str}), 2)
    assert not main([*line.split(), "--known-waves", "2", "--json"])
    figures = json.loads(capsys.readouterr().out)
    assert figures.pop("file") == "panel.csv"
    assert figures == wanted.to_dict()
    more = ["--known-waves", "2", "--output", "risk.csv", "--report", "risk.html"]
    assert not main([*line.split(), *more])
    text = capsys.readouterr().out
    assert "persons unique in no choice" in text
    written = pd.read_csv("risk.csv")
    np.testing.assert_array_equal(written.individual_risk, wanted.individual_risk)
    assert "known waves" in (tmp_path / "risk.html").read_text()
    assert main([*line.split(), "--report-public", "public.html"]) == 2
    assert "--report-public: not for a panel" in capsys.readouterr().err
