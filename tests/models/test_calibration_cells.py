"""The calibration of the models of cells: estimates beside the truth."""

import math
from importlib import import_module

import numpy as np
import pytest

calibration = import_module("bench.calibration_cells")
page = import_module("bench._cells_page")
kinds = import_module("bench._cell_kinds")
designs = import_module("bench._designs")
riskutility = import_module("bench._riskutility")
OWN = [name for name in kinds.KINDS if kinds.file_of(name) is None]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make populations of a tenth of the size."""
    monkeypatch.setattr(kinds, "N", 5000)
    monkeypatch.setattr(calibration, "TABLE", 0)


@pytest.mark.parametrize("name", OWN)
def test_every_model_runs_on_every_kind(name):
    found = calibration.study(name, 0.05, 0)
    assert set(page.METHODS) >= found.scores.keys()
    assert {"weights", "Pitman-Yor", "classes"} <= found.scores.keys()
    clusters = any(word in name for word in ("whole", "stages", "areas"))
    assert clusters == ("no clusters" in found.scores)
    assert sum(size * cells for size, cells in found.sizes.items()) > 150
    for method, one in found.scores.items():
        if method == "Pitman-Yor":  # has no interval at a boundary
            continue
        assert 0.0 <= one.low <= one.tau <= one.high <= found.uniques
        assert 0.0 <= one.brier <= 1.0
        assert math.isnan(one.risks_low) == (method == "weights")
        assert method == "weights" or one.risks_low <= one.risks <= one.risks_high
    sums = found.tenths.sum(axis=1)
    assert sums[0] == pytest.approx(found.scores["classes"].risks)
    assert sums[1] == pytest.approx(found.risks)


def test_a_study_is_the_same_each_time():
    first, again = (calibration.study("six classes", 0.05, 0) for _ in range(2))
    assert repr(first) == repr(again)
    assert repr(calibration.study("six classes", 0.05, 1)) != repr(first)


def test_a_run_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "outcomes"
    task = ("six classes", 0.05, 0)
    done = calibration.study(*task)
    path.write_text(calibration.line_of(task, done) + "\n" + "[not finis")
    line = calibration.line_of(task, done)
    for again in (calibration.read_outcomes(path), calibration.run([task], path, 1)):
        assert [calibration.line_of(*one) for one in again.items()] == [line]
    assert path.read_text() == line + "\n"


def test_a_population_from_a_file(tmp_path, monkeypatch):
    keys = kinds.FILES["adult.csv"].keys
    rows = [";".join([*keys, "salary-class"]), *[";".join("abcdefg>")] * 2]
    rows.append(";".join("abcdefh<"))
    (tmp_path / "adult.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.setattr(kinds, "FOLDER", tmp_path)
    kinds.from_file.cache_clear()
    population = kinds.KINDS["persons of 1994"].population(None)
    assert population.frequencies.tolist() == [2, 1]
    assert population.people["INCOME"].tolist() == [1, 1, 0]
    kinds.from_file.cache_clear()
    assert set(kinds.missing()) == {
        name for name in kinds.KINDS if kinds.file_of(name) not in (None, "adult.csv")
    }


def test_pairs_are_fitted_where_the_table_is_small(monkeypatch):
    monkeypatch.setattr(calibration, "TABLE", 1000)
    monkeypatch.setattr(kinds, "CLASS_SIZES", (10, 5, 4))
    found = calibration.study("six classes", 0.05, 0)
    assert found.scores.keys() == {"weights", "Pitman-Yor", "pairs", "classes"}


def test_scores():
    chance, hit = np.array([0.9, 0.6, 0.4, 0.4]), np.array([True, False, True, False])
    found = calibration.score(chance, hit)
    assert found.tau == pytest.approx(2.3)
    assert found.auc == pytest.approx(2.5 / 4)
    assert found.brier == pytest.approx((0.01 + 0.36 + 0.36 + 0.16) / 4)


def test_tenths_of_the_records():
    risk, truth = np.array([0.5, 0.1]), np.array([0.25, 0.125])
    records = np.array([10, 10])
    predicted, true, number = calibration.by_tenth_of_records(risk, truth, records)
    assert number.tolist() == [10, 0, 0, 0, 0, 10, 0, 0, 0, 0]
    assert predicted[[0, 5]].tolist() == [1.0, 5.0]
    assert true[[0, 5]].tolist() == [1.25, 2.5]


def test_the_scaling_law_of_pitman():
    """All of the population: the sum of 1/F is the number of cells."""
    sizes = {1: 30, 2: 10, 9: 5}
    n = sum(size * cells for size, cells in sizes.items())
    found = calibration.by_pitman(sizes, n, np.ones(30, bool))
    assert found.tau == pytest.approx(30.0)
    assert found.risks == pytest.approx(45.0, rel=0.05)


# --- the page ------------------------------------------------------------------------


def outcome(truth, tau, low=0.0, high=9.0, risks=5.0, **more):
    score = calibration.Score(tau, low, high, 0.5, 0.1, risks, risks - 1, risks + 1)
    scores = dict.fromkeys(("weights", "Pitman-Yor", "classes", *more), score) | more
    tenths = np.stack([np.full(10, risks), np.full(10, 5.0), np.full(10, 100.0)])
    return calibration.Outcome(truth, 5.0, {1: 20}, 1000, scores, 2, math.nan, tenths)


def test_ratios_and_coverage():
    found = [outcome(4, 4.0), outcome(6, 8.0), outcome(10, 8.0)]
    assert page.ratio(found, page.TAU) == (1.0, pytest.approx(0.3))
    assert page.covered(found, page.TAU) == [True, True, False]
    assert page.covered(found, page.RISKS) == [True] * 3
    results = {("six classes", 0.05): found}
    assert "| 1.00 ± 0.30 | 67 |" in page.figure_table(results, page.TAU)
    assert page.misses(results) == "- **six classes**. 5 %: coverage of tau 67 %"
    assert page.within(results, page.TAU, "classes", False) == "1 of 1 (1.00 to 1.00)"
    assert page.within(results, page.TAU, "classes", True) == "-"


def test_figures_without_an_estimate_are_left_out():
    none = calibration.Score(math.nan)
    known = [outcome(4, 4.0, pairs=none), outcome(4, 4.0, pairs=none._replace(tau=2.0))]
    assert page.ratio(known, page.TAU, "pairs")[0] == 0.5
    assert math.isnan(page.ratio([*known, outcome(4, 4.0)], page.TAU, "pairs")[0])
    assert page.covered(known, page.TAU, "pairs") == []


OUTSIDE = "coverage of sum of risks 0 %"


@pytest.mark.parametrize(
    ("size", "tau", "risks", "missed"),
    [
        (0.2, 4.7, 5.4, []),
        (0.2, 4.9, 5.6, ["sum of risks 1.12", "tau 1.23"]),
        (500, 5.3, 6.2, [OUTSIDE]),
        (500, 5.5, 6.3, ["sum of risks 1.26", OUTSIDE, "tau 1.38"]),
        (0.05, 4.0, 3.0, ["sum of risks 0.60", OUTSIDE, "a tenth 1.67"]),
    ],
)
def test_misses(size, tau, risks, missed):
    assert page.misses_of([outcome(4, tau, risks=risks)] * 2, size) == missed


def test_goals():
    good, bad = [outcome(4, 4.0)] * 4, [outcome(4, 8.0, low=5.0)] * 2
    results = {("census", 0.2): good, ("six classes", 500): bad}
    lines = page.goals(results).splitlines()
    assert "| sum of risks within 10 % of the truth, 5 and 20 % | 1 of 1 |" in lines[2]
    assert lines[5].endswith("| 0 of 1 | 2.00 to 2.00 | missed |")
    assert lines[8].endswith("| 67 % | 100, 0 % | missed |")
    assert lines[9].endswith("| 1 of 2 | 0 to 100 % | missed |")


def test_groups_of_designs():
    assert page.design_of("census, two stages, raked") == "clusters"
    assert page.design_of("Austria, raked") == "weights with noise"
    assert page.design_of("census, adjusted") == "non-response"
    assert page.design_of("census, one of a household") == "unequal rates"
    assert page.design_of("chain of keys") == "simple"
    own = calibration.Score(4.0, 3.0, 3.5, 0.5, 0.1, 5.0, 4.0, 6.0)
    raked = [outcome(4, 4.0, **{"own weights": own})] * 3
    other = [outcome(4, 8.0, low=5.0, **{"own weights": own})] * 2
    results = {("census, raked", 500): raked, ("Austria, raked", 500): other}
    (row,) = page.design_table(results).splitlines()[2:]
    assert row == (
        "| weights with noise, 500 and 1,000 | 5 | 1.00 to 1.00 | 100 | 100, - |"
        " 1.00 to 2.00 | 60 | 0, - |"
    )


def test_the_page():
    results = {("census", 0.2): [outcome(4, 4.0), outcome(4, 8.0)]}
    text = page.text(results, 2)
    assert "| census | 1.50 ± 0.71 | 100 |" in text
    assert f"Left out: {riskutility.lacking()}" in text
    peers = dict.fromkeys(page.PEERS, calibration.Score(9.0))
    with_peer = {("census", 0.2): [outcome(4, 4.0, **peers)]}
    assert "| census | 1.00 | 1.00 | 2.25 | 2.25 | 2.25 |" in page.text(with_peer, 1)


def test_riskutility_is_left_out_without_its_source(monkeypatch):
    monkeypatch.delenv(riskutility.VARIABLE, raising=False)
    results = {("census", 0.2): [outcome(4, 4.0)]}
    calibration.add_riskutility(results)
    assert page.PEERS[0] not in results["census", 0.2][0].scores
    assert riskutility.VARIABLE in riskutility.lacking()


# --- designs -----------------------------------------------------------------------


def drawn(name, n, rng):
    kind = kinds.KINDS[name]
    people = kind.population(rng).people
    return people, kind.sample(people, n, rng)


def test_households_are_sampled_whole():
    people, sample = drawn("census, whole households", 1000, np.random.default_rng(1))
    sampled, sizes = np.unique(people["HOUSEHOLD"][sample.rows], return_counts=True)
    assert (sizes == np.bincount(people["HOUSEHOLD"])[sampled]).all()
    assert len(sample.rows) == pytest.approx(1000, rel=0.2)
    assert len(np.unique(sample.cluster)) == len(sampled)
    assert sample.weights.sum() == pytest.approx(len(people["AGE"]))


def test_of_areas_in_two_stages_a_part_of_the_households_is_sampled():
    people, sample = drawn("census, two stages", 500, np.random.default_rng(1))
    areas = len(np.unique(people["AREA"]))
    assert len(np.unique(sample.cluster)) <= round(0.4 * areas)
    sampled, sizes = np.unique(people["HOUSEHOLD"][sample.rows], return_counts=True)
    assert (sizes == np.bincount(people["HOUSEHOLD"])[sampled]).all()
    assert len(sample.rows) == pytest.approx(500, rel=0.3)


def test_one_person_of_each_household_stands_for_all_of_it():
    name = "census, one of a household"
    people, sample = drawn(name, 1000, np.random.default_rng(1))
    household = people["HOUSEHOLD"][sample.rows]
    assert len(np.unique(household)) == len(household) == 1000
    share = sample.weights / people["HHSIZE"][sample.rows]
    assert share == pytest.approx(share[0])
    assert sample.weights.sum() == pytest.approx(len(people["AGE"]), rel=0.1)


@pytest.mark.parametrize("name", OWN)
def test_weights_add_to_the_population(name):
    """Within chance, except where the office takes the sample for a simple one."""
    people, sample = drawn(name, 1000, np.random.default_rng(1))
    number = len(next(iter(people.values())))
    assert sample.weights.min() >= 1.0
    assert sample.weights.sum() == pytest.approx(number, rel=0.15)


def test_raked_weights_have_the_margins_of_the_population():
    people, sample = drawn("census, raked", 500, np.random.default_rng(1))
    found = np.bincount(people["SEX"][sample.rows], sample.weights)
    assert found == pytest.approx(np.bincount(people["SEX"]), rel=0.01)
    assert np.log(sample.weights).std() > 0.5


def test_non_response_is_adjusted_by_age_and_region():
    rng = np.random.default_rng(1)
    people, sample = drawn("census, adjusted", 1500, rng)
    old, weights = people["AGE"] > 60, sample.weights
    share = weights[old[sample.rows]].sum() / weights.sum()
    assert share == pytest.approx(old.mean(), abs=0.01)
    people, sample = drawn("census, non-response", 1500, rng)
    old = people["AGE"] > 60
    assert old[sample.rows].mean() > old.mean() + 0.03
    assert np.ptp(sample.weights) == 0.0


def test_rates_by_income():
    rng = np.random.default_rng(1)
    people, sample = drawn("census, rates by income", 1000, rng)
    rich = people["INCOME"] > np.quantile(people["INCOME"], 2 / 3)
    assert rich[sample.rows].mean() > 0.6
    weights = sample.weights
    assert weights.max() / weights.min() == pytest.approx(7.5)
