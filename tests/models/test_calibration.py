"""The calibration study: estimates beside the truth that simulations know."""

import math
from collections import Counter
from importlib import import_module

import numpy as np
import pytest
from scipy.stats import binom

from riskcore.models import DirichletMultinomial, Ewens, Pitman, SizeIndices
from riskcore.simulate import uniques

calibration = import_module("bench.calibration")
populations = import_module("bench._populations")
RARE = 1e-5  # of a test that fails by chance


def holds(hits, chance, replicates):
    """Whether a number of hits is where 1 - 2 RARE of the binomial law is."""
    low, high = binom.ppf([RARE, 1 - RARE], replicates, chance)
    return low <= hits <= high


@pytest.mark.parametrize("name", calibration.POPULATIONS)
def test_every_method_runs_on_every_population(name):
    by_fraction = calibration.study(name, 2, fractions=(0.05,))
    found = by_fraction[0.05]
    assert set(calibration.METHODS) <= found.keys()
    assert (calibration.ADDITIVE[0] in found) == name.startswith("census")
    for one in found.values():
        assert one.replicates == 2
        assert one.fitted == 2 or one.reasons
        assert math.isnan(one.ratio) == (one.fitted == 0)


def test_a_study_is_the_same_each_time():
    first, second = (calibration.study("Zipf 1", 2, (0.1,)) for _ in range(2))
    assert repr(first) == repr(second)
    assert first[0.1]["DM"].truth > 100


@pytest.mark.parametrize("name", calibration.OWN_CASES)
def test_intervals_hold_as_often_as_they_promise(name):
    found = calibration.own_coverage(calibration.OWN_CASES[name], 0.1, 40)
    assert 0.95 <= found.promised < 0.98
    assert holds(found.given * 40, found.promised, 40)


@pytest.mark.slow
@pytest.mark.parametrize("fraction", calibration.FRACTIONS)
@pytest.mark.parametrize("name", calibration.OWN_CASES)
def test_coverage_on_the_model_s_own_data(name, fraction):
    case, replicates = calibration.OWN_CASES[name], 500
    found = calibration.own_coverage(case, fraction, replicates)
    assert holds(found.given * replicates, found.promised, replicates)
    # The delta method is no exact one: its coverage may be 2 % off.
    assert binom.cdf(found.widened * replicates, replicates, 0.93) > RARE


def test_intervals_of_a_wrong_model_do_not_hold():
    case = calibration.OWN_CASES["DM 10^4 cells, alpha 1"]
    wrong = case._replace(model=Ewens(3000.0), fit=Ewens.fit)
    found = calibration.own_coverage(wrong, 0.1, 10)
    assert (found.given, found.fitted) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("model", "theta", "sigma"),
    [
        (DirichletMultinomial(40, 0.5), 20.0, -0.5),
        (Ewens(20.0), 20.0, 0.0),
        (Pitman(20.0, 0.5), 20.0, 0.5),
    ],
)
def test_the_law_of_a_case_is_that_of_its_model(model, theta, sigma):
    case = calibration.urn_case(model, theta, sigma, None, None)
    sizes = SizeIndices({1: 12, 2: 3, 7: 1})
    law = case.law(sizes, 200)
    mean = law @ np.arange(len(law))
    assert mean == pytest.approx(model.tau(sizes, 200), rel=1e-12)
    assert len(law) == 13


def test_widening_adds_the_error_of_the_parameters():
    sizes = SizeIndices({1: 600, 2: 120, 3: 40, 10: 9})
    model = Ewens.fit(sizes)
    low, high = model.tau_interval(sizes, 10_000)
    wide = calibration.widened(model, sizes, 10_000)
    # d tau/d theta = s_1 (N-n)/(theta+N-1)^2
    slope = 600 * (10_000 - sizes.n) / (model.theta + 9999) ** 2
    extra = 1.959964 * slope * model.standard_errors["theta"]
    tau = model.tau(sizes, 10_000)
    assert wide == (
        math.floor(tau - math.hypot(tau - low, extra)),
        math.ceil(tau + math.hypot(high - tau, extra)),
    )
    pitman = Pitman.fit(sizes)
    low, high = calibration.widened(pitman, sizes, 10_000)
    assert low < pitman.tau_interval(sizes, 10_000)[0]
    assert high > pitman.tau_interval(sizes, 10_000)[1]


def test_independent_events_of_one_chance_are_binomial():
    found = calibration.by_independent(np.full(50, 0.1), 4)
    low, high = binom.ppf([0.025, 0.975], 50, 0.1)
    assert found[:3] == (pytest.approx(5.0), low, high)
    assert calibration.by_independent(np.array([]), 0)[:3] == (0.0, 0, 0)


def test_the_risk_sum_is_exact_for_a_census():
    found = calibration.by_risk(np.ones(7), 7.0)
    assert found[:3] == (7.0, 7.0, 7.0)


def test_calibrations_sum_up_estimates():
    found = [
        calibration.Estimate(2.0, 1.0, 3.0, 1.0),
        calibration.Estimate(4.0, 3.0, 5.0, 2.0),
        calibration.Estimate(math.nan, math.nan, math.nan, 3.0, "why"),
    ]
    one = calibration.calibrate(found)
    spread = np.std([1.0, 2.0], ddof=1) / 1.5
    assert one == (2.0, 2.0, pytest.approx(spread), 0.5, 2, 3, Counter({"why": 1}))
    none = calibration.calibrate(found[2:])
    assert none.fitted == 0
    assert math.isnan(none.coverage)


def test_samples_with_unequal_rates_have_weights_that_add_up():
    rng = np.random.default_rng(1)
    population = calibration.census(populations.PROVINCES[:4], rng, stratified=True)
    sampled = populations.sample_of(population.frequencies, population.strata, 0.1, rng)
    weights = calibration.design_weights(
        population.frequencies, sampled, population.strata
    )
    people = population.frequencies.sum()
    assert weights @ sampled == pytest.approx(people)
    assert weights.max() > 3 * weights.min()
    assert uniques(population.frequencies, sampled).both > 0


def test_tables_say_what_was_found():
    name = "DM 10^4 cells, alpha 1"
    results = {name: calibration.study(name, 2)}
    found = results[name][0.1]
    ratios = calibration.result_table(
        results, calibration.METHODS, calibration.ratio_cell
    )
    row = next(line for line in ratios.splitlines() if f"{name}, 10 %" in line)
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[3] == f"{found['DM'].ratio:.2f} ± {found['DM'].spread:.2f}"
    assert cells[8] == "-"  # Pitman's moments have no solution
    reasons = calibration.reason_table(results)
    assert "E K = u | DM 10^4 cells, alpha 1 | Pitman mom |" in reasons
    assert f"| {name} | " in calibration.chosen_table(results)
    assert calibration.summary_row("Pitman", results)[-1] == "0 %"


def test_kinds_of_samples_by_where_the_truth_lies():
    def kind(dm, pitman):
        one = calibration.Calibration(10.0, 1.0, 0.1, 0.9, 5, 5, Counter())
        return {"DM": one._replace(ratio=dm), "Pitman": one._replace(ratio=pitman)}

    results = {
        "a": {0.1: kind(0.5, 2.0)},
        "b": {0.1: kind(1.2, 2.0)},
        "c": {0.1: kind(0.5, 0.89)},
        "d": {0.1: kind(0.95, 0.95)},
    }
    inside, below, above = calibration.between(results)
    assert (inside, below, above) == (["a, 10 %", "d, 10 %"], ["b, 10 %"], ["c, 10 %"])
    assert calibration.agreeing(results) == [0.95]
    assert calibration.span(results, "DM", "ab", (0.1,)) == "0.50 to 1.20"
