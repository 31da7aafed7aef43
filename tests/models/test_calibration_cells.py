"""The calibration of the models of cells: estimates beside the truth."""

import math
from importlib import import_module

import numpy as np
import pytest

calibration = import_module("bench.calibration_cells")
OWN = [name for name in calibration.POPULATIONS if name not in calibration.NEEDED]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make populations of a tenth of the size."""
    monkeypatch.setattr(calibration, "N", 5000)
    monkeypatch.setattr(calibration, "TABLE", 0)


@pytest.mark.parametrize("name", OWN)
def test_every_model_runs_on_every_population(name):
    found = calibration.study(name, 0.05, 0)
    assert set(calibration.METHODS) >= found.scores.keys()
    assert {"weights", "independence", "classes"} <= found.scores.keys()
    areas = any(word in name for word in ("whole", "stages", "areas"))
    assert areas == ("classes, clusters" in found.scores)
    for method, one in found.scores.items():
        if method == "Pitman" and math.isnan(one.tau):  # no estimate
            continue
        assert 0.0 <= one.tau <= found.uniques
        assert 0.0 <= one.brier <= 1.0
        if method == "Pitman":  # no error of the fit at a boundary, and no other risks
            continue
        assert 0.0 <= one.low <= one.tau <= one.high <= found.uniques
        assert one.risks > 0.0
        assert math.isnan(one.risks_low) == (method not in calibration.METHODS[-2:])
    sums = found.risk_deciles.sum(axis=1)
    best = found.scores.get("classes, clusters", found.scores["classes"])
    assert sums[0] == pytest.approx(best.risks)
    assert sums[1] == pytest.approx(found.risks)
    assert found.deciles[2].sum() == found.uniques
    assert found.deciles[1].sum() == found.truth


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
    keys = calibration.FILES["adult.csv"]
    rows = [";".join(keys), *[";".join("abcdefg")] * 2, ";".join("abcdefh")]
    (tmp_path / "adult.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.setattr(calibration, "FOLDER", tmp_path)
    draw, _ = calibration.POPULATIONS["persons of 1994"]
    calibration.from_file.cache_clear()
    assert draw(None).frequencies.tolist() == [2, 1]
    calibration.from_file.cache_clear()


def test_models_of_pairs_are_fitted_where_the_table_is_small(monkeypatch):
    monkeypatch.setattr(calibration, "TABLE", 1000)
    monkeypatch.setattr(calibration, "CLASS_SIZES", (10, 5, 4))
    found = calibration.study("six classes", 0.05, 0)
    assert set(calibration.METHODS) - {"classes, clusters"} == found.scores.keys()


def test_scores():
    chance, hit = np.array([0.9, 0.6, 0.4, 0.4]), np.array([True, False, True, False])
    found = calibration.score(chance, hit)
    assert found.tau == pytest.approx(2.3)
    assert found.auc == pytest.approx(2.5 / 4)
    assert found.brier == pytest.approx((0.01 + 0.36 + 0.36 + 0.16) / 4)
    predicted, found, number = calibration.by_decile(chance, hit)
    assert number.tolist() == [0, 0, 0, 0, 2, 0, 1, 0, 0, 1]
    assert predicted[4] == pytest.approx(0.8)
    assert found.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 1]


def outcome(truth, tau, low=0.0, high=9.0, risks=5.0):
    score = calibration.Score(tau, low, high, 0.5, 0.1, risks, risks - 1, risks + 1)
    scores = dict.fromkeys(("weights", "classes", "classes, Poisson"), score)
    tenths = np.stack([np.full(10, risks), np.full(10, 5.0), np.full(10, 100.0)])
    return calibration.Outcome(
        truth, 5.0, 20, scores, 2, math.nan, np.ones((3, 10)), tenths
    )


def test_tables_say_what_was_found():
    found = [outcome(4, 4.0), outcome(6, 8.0), outcome(10, 8.0)]
    assert calibration.ratio(found, "classes") == (1.0, pytest.approx(0.3))
    assert calibration.coverage(found, "classes") == pytest.approx(2 / 3)
    results = {("six classes", 0.05): found}
    assert "| 1.00 ± 0.30 |" in calibration.ratio_table(results)
    assert calibration.misses(results) == ["- coverage of six classes, 5 %: 67 %"]
    assert "where the family holds, 5 %: 67 %." in calibration.pooled(results)
    far = {("census", 0.2): [outcome(4, 8.0), outcome(4, 8.0)]}
    assert calibration.misses(far) == ["- tau of census, 20 %: 2.00 of the truth"]
    assert calibration.within(results, "classes", (0.05,)) == "1 of 1 (1.00 to 1.00)"


def test_tables_of_the_sum_of_risks():
    low = {("census", 0.05): [outcome(4, 4.0, risks=3.0)] * 2}
    (first, second) = calibration.misses(low)
    assert first == "- sum of risks of census, 5 %: 0.60 of the truth"
    assert second == "- a tenth of census, 5 %: 1.67"
    near = {("census", 0.01): [outcome(4, 4.0, risks=6.0)] * 2}
    assert calibration.misses(near) == []
    assert "| 1.20 ± 0.00 | - | 100 | 0.83 |" in calibration.risk_table(near)


def test_tenths_of_the_records():
    risk, truth = np.array([0.5, 0.1]), np.array([0.25, 0.125])
    records = np.array([10, 10])
    predicted, true, number = calibration.by_tenth_of_records(risk, truth, records)
    assert number.tolist() == [10, 0, 0, 0, 0, 10, 0, 0, 0, 0]
    assert predicted[[0, 5]].tolist() == [1.0, 5.0]
    assert true[[0, 5]].tolist() == [1.25, 2.5]


def test_households_are_sampled_whole():
    rng = np.random.default_rng(1)
    draw, _ = calibration.POPULATIONS["census, whole households"]
    population = draw(rng)
    cells, clustered, seen = calibration.draw(population, 0.2, rng)
    assert (cells.records <= population.frequencies[seen]).all()
    assert cells.weight_sum.sum() == pytest.approx(population.frequencies.sum())
    assert cells.n == pytest.approx(1000, rel=0.2)
    assert clustered.same_as(cells)
    households = int(population.cluster.max()) + 1
    assert len(clustered.clusters) == round(0.2 * households)
    sizes = np.add.reduceat(clustered.clusters.records, clustered.clusters.starts[:-1])
    known = np.bincount(population.cluster)
    most = known.max() + 1
    assert (np.bincount(sizes, minlength=most) <= np.bincount(known)).all()


def test_of_areas_in_two_stages_a_part_of_the_households_is_sampled():
    rng = np.random.default_rng(1)
    draw, _ = calibration.POPULATIONS["census, two stages"]
    population = draw(rng)
    some = calibration.draw_clusters(population, 0.1, rng)
    areas = int(population.cluster.max()) + 1
    assert len(np.unique(population.cluster[some])) <= round(0.4 * areas)
    units, taken = np.unique(population.unit[some], return_counts=True)
    assert (taken == np.bincount(population.unit)[units]).all()
    assert len(some) == pytest.approx(500, rel=0.3)


def test_unequal_rates_are_unequal():
    rng = np.random.default_rng(1)
    draw, _ = calibration.POPULATIONS["census, unequal rates"]
    cells, clustered, _ = calibration.draw(draw(rng), 0.05, rng)
    assert clustered is None
    each = cells.weight_sum / cells.records
    assert each.max() > 3 * each.min()
