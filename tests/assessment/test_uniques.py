"""Population uniques by all models: the models' numbers, and failures by name."""

import itertools
import json
import math
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from math import nan
from pathlib import Path

import numpy as np
import pytest

from riskcore import estimate_simulated, estimate_uniques, simulate, suda
from riskcore.assessment.uniques import AGREE, Estimate, UniquesEstimates, fit_all
from riskcore.data.files import formats
from riskcore.models import Ewens, Lancaster, LatentClass, Pitman, SizeIndices
from riskcore.report.text import uniques_text

ROOT = Path(__file__).resolve().parents[2]
KEYS = ["REGION", "SEX", "AGE"]


@pytest.fixture(scope="module")
def survey():
    return simulate.microdata(1500, np.random.default_rng(8))


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    """Run ``riskcore uniques`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(run, "uniques")


def by_name(found):
    return {one.model: one for one in found.estimates}


def test_default_level(survey):
    assert estimate_uniques(survey, KEYS, "WEIGHT").level == 0.95


def test_the_numbers_are_those_of_the_models(survey):
    found = estimate_uniques(survey, KEYS, "WEIGHT", level=0.9)
    N = round(math.fsum(survey["WEIGHT"]))
    assert found.population == N
    assert found.cells == np.prod([len(np.unique(survey[key])) for key in KEYS])
    rows = zip(*(survey[key] for key in KEYS), strict=True)
    counts = np.unique(list(rows), axis=0, return_counts=True)[1]
    sizes = SizeIndices.from_frequencies(counts)
    assert found.sizes == sizes
    estimates = by_name(found)
    for name, model in {
        "Ewens": Ewens.fit(sizes),
        "Pitman": Pitman.fit(sizes),
        "Pitman, moments": Pitman.fit(sizes, "moments"),
    }.items():
        one = estimates[name]
        assert one.tau == model.tau(sizes, N)
        assert (one.low, one.high) == model.tau_interval(sizes, N, 0.9)
        assert one.population_uniques == model.population_uniques(N)
        assert (one.aic, one.converged) == (model.aic, True)
    aics = {name: one.aic for name, one in estimates.items() if one.aic == one.aic}
    assert found.best == min(aics, key=aics.get)


def test_lancaster_and_the_weights(survey):
    found = estimate_uniques(survey, KEYS, "WEIGHT", shrinkages=[0.25])
    codes = [np.unique(survey[key], return_inverse=True)[1] for key in KEYS]
    cell = np.unique(np.stack(codes), axis=1, return_inverse=True)[1].ravel()
    unique = np.bincount(cell)[cell] == 1
    model = Lancaster.fit(codes)
    estimates = by_name(found)
    tau = model.tau([column[unique] for column in codes], found.population, 0.25)
    assert estimates["Lancaster, lambda 0.25"].tau == pytest.approx(
        float(tau), rel=1e-9
    )
    assert math.isnan(estimates["Lancaster, lambda 0.25"].aic)
    expected = math.fsum(1.0 / survey["WEIGHT"][unique])
    assert estimates["weights, sum of f/F"].tau == pytest.approx(expected, rel=1e-13)
    assert "weights, sum of f/F" not in by_name(
        estimate_uniques(survey, KEYS, population=10**6)
    )


def test_all_unique_and_one_cell():
    unique = estimate_uniques({"a": list(range(30))}, ["a"], population=900)
    failed = {one.model: one.reason for one in unique.estimates if not one.converged}
    assert set(failed) == {"Ewens", "Ewens, moments", "Pitman", "Pitman, moments"}
    assert all(math.isnan(by_name(unique)[name].tau) for name in failed)
    single = estimate_uniques({"a": ["x"] * 30}, ["a"], population=900)
    assert all(not one.converged or one.tau == 0 for one in single.estimates)
    for found in (unique, single):
        text = uniques_text(found.to_dict(), "survey")
        assert "models that could not be fitted" in text
        json.dumps(found.to_dict(), allow_nan=False)


def test_few_clusters_are_a_doubt():
    data = {"a": [*range(40)] * 2, "w": [9.0] * 80, "psu": [*range(8)] * 10}
    found = estimate_uniques(data, ["a"], "w", cluster="psu")
    said = "8 clusters cannot tell how much clusters differ"
    assert said in by_name(found)["latent-class"].reason
    assert said in uniques_text(found.to_dict(), "survey")


def test_models_of_cells(survey):
    found = estimate_uniques(survey, KEYS, "WEIGHT", cell_models=["latent-class"])
    model = LatentClass.fit(survey, KEYS, weight="WEIGHT")
    one = by_name(found)["latent-class"]
    assert one.tau == model.tau()
    assert (one.low, one.high) == model.tau_interval(groups=0)
    assert (one.wide_low, one.wide_high) == model.tau_interval()
    assert (math.isnan(one.aic), one.converged) == (True, True)
    # The population that is given counts, a whole number, not what the weights add to.
    survey_2 = {**survey, "WEIGHT": survey["WEIGHT"] * 2}
    twice = estimate_uniques(survey_2, KEYS, "WEIGHT", population=found.population)
    assert by_name(twice)["latent-class"].tau == pytest.approx(one.tau, rel=1e-6)
    n = len(survey["WEIGHT"])
    flat = {key: survey[key] for key in KEYS}
    bare = estimate_uniques(flat, KEYS, population=20 * n)
    model = LatentClass.fit({**flat, "w": np.full(n, 20.0)}, KEYS, weight="w")
    assert by_name(bare)["latent-class"].tau == pytest.approx(model.tau(), rel=1e-9)


def test_which_models_of_cells(survey):
    found = estimate_uniques(survey, KEYS, "WEIGHT", cell_models=[])
    assert "latent-class" not in by_name(found)
    both = ["latent-class", "log-linear"]
    found = estimate_uniques(survey, KEYS, "WEIGHT", cell_models=both)
    assert [one.model for one in found.estimates][-2:] == both
    with pytest.raises(ValueError, match="cell_models='loglinear'"):
        estimate_uniques(survey, KEYS, "WEIGHT", cell_models=["loglinear"])
    with pytest.raises(TypeError, match="cell_models: need a list"):
        estimate_uniques(survey, KEYS, "WEIGHT", cell_models="log-linear")


def test_a_table_too_large_for_lancaster():
    data = {name: list(range(400)) for name in "abcdef"}
    found = estimate_uniques(data, list("abcdef"), population=10**6, cells=400**6)
    reasons = [one.reason for one in found.estimates if one.model.startswith("Lanc")]
    assert len(reasons) == 3
    assert all(f"{400**6} cells" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"population": None}, "give the size of the population"),
        ({"population": 10}, "population=10: below the 1500 records"),
        ({"missing": "wildcard"}, "each record in one cell"),
        ({"level": 1.0}, "level=1.0"),
        ({"cells": 5}, "cells=5: below the"),
    ],
)
def test_refusals(survey, change, message):
    data = {key: survey[key][:1500] for key in KEYS}
    with pytest.raises(ValueError, match=message):
        estimate_uniques(data, KEYS, **{"population": 10**6, **change})


def test_the_command(run, survey):
    formats.write("survey.csv", survey)
    arguments = ["survey.csv", "--keys", *KEYS, "--weight", "WEIGHT"]
    status, out, err = run(*arguments, "--report", "u.html")
    assert (status, err) == (0, "")
    found = estimate_uniques(survey, KEYS, "WEIGHT")
    assert f"Smallest AIC: {found.best}" in out
    assert f"{by_name(found)['Pitman'].tau:,.6g}" in out
    assert "The report is in u.html" in out
    status, out, _ = run(*arguments, "--json")
    assert json.loads(out)["estimates"][4]["tau"] == by_name(found)["Pitman"].tau
    status, _, err = run(*arguments, "--report", "u.html")
    assert status == 2
    assert "u.html: already exists" in err


def test_size_indices_alone(run):
    status, out, _ = run(
        "--sizes", "1=30", "2=10", "9=5", "--population", 5000, "--cells", 200, "--json"
    )
    assert status == 0
    sizes = SizeIndices({1: 30, 2: 10, 9: 5})
    expected = fit_all(sizes, 5000, 200, 0.95, lambda _: None)
    assert all(isinstance(one, Estimate) for one in expected)
    found = json.loads(out)["estimates"]
    assert [one["tau"] for one in found] == [one.tau for one in expected]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give FILE and --keys, or --sizes"),
        (["--sizes", "1=2"], "--sizes needs --population and --cells"),
        (["--sizes", "1=x"], "'x' is not a whole number"),
        (["--sizes", "1=5", "2"], "'2' is not SIZE=CELLS"),
        (
            ["--sizes", "1=2", "--weight", "w"],
            "--sizes cannot be combined with --weight",
        ),
        (["--sizes", "1=2", "--cell-models"], "--cell-models needs keys, so give FILE"),
        (
            ["--sizes", "1=9", "--population", "5", "--cells", "99"],
            "--population 5: below the 9 records",
        ),
        (
            ["--sizes", "1=2", "1=3", "--population", "9", "--cells", "9"],
            "1 appears twice",
        ),
        (["f.csv", "--sizes", "1=2"], "give --sizes, or FILE and --keys"),
        (["f.csv", "--keys", "a"], "f.csv: no such file"),
    ],
)
def test_refusals_of_the_command(run, arguments, message):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_zero_beside_more_is_said(run):
    estimates = (
        Estimate("a", {"alpha": math.inf}, {}, True, "", 1.0, 2.0, 3.0, 0.0),
        Estimate("b", {}, {}, True, "", math.nan, math.nan, math.nan, 2.5),
    )
    found = UniquesEstimates(SizeIndices({1: 5}), 50, 9, 0.95, estimates)
    figures = found.to_dict()
    assert (figures["disagreement"], figures["range"]) == ("infinite", (0.0, 2.5))
    assert figures["estimates"][0]["parameters"] == {"alpha": "infinite"}
    text = uniques_text(figures, "survey")
    assert "Some estimates are 0, others up to 2.5" in text
    assert "alpha infinite" in text


def test_one_model_without_an_estimate_does_not_stop_the_others(run):
    status, out, _ = run(
        "--sizes", "1=1", "1000000000=1", "--population", 10**10, "--cells", 1000
    )
    assert status == 0
    assert "Dirichlet-multinomial" in out


# Of a simulation, the truth beside; what the smallest AIC is worth


@pytest.fixture(scope="module")
def zipf():
    random = np.random.default_rng(2004)
    population = simulate.zipf_population(100_000, 10_000, 0.9, random)
    return population, simulate.sample(population, 30_000, random)


def test_the_truth_stands_beside_the_estimates(zipf):
    population, sampled = zipf
    found = estimate_simulated(population, sampled)
    assert found.truth == simulate.uniques(population, sampled).both == 413
    assert (found.population, found.cells) == (100_000, 10_000)
    sizes = SizeIndices.from_frequencies(sampled)
    assert found.sizes == sizes
    assert by_name(found)["Pitman"].tau == Pitman.fit(sizes).tau(sizes, 100_000)
    assert found.to_dict()["truth"] == 413
    assert re.search(r"^  truth +413 unique in both$", str(found.summary()), re.M)
    assert "truth 413" in found._repr_html_()
    with pytest.raises(ValueError, match="cells=5"):
        estimate_simulated(population, sampled, cells=5)
    with pytest.raises(ValueError, match="sample"):
        estimate_simulated(sampled, population)


def test_an_estimate_from_a_file_knows_no_truth(survey):
    found = estimate_uniques(survey, KEYS, "WEIGHT", cell_models=())
    assert found.truth is None
    assert "truth" not in found.to_dict()
    assert "truth" not in found.summary()
    assert "truth" not in found._repr_html_()


def test_the_smallest_aic_is_marked_where_it_misleads(zipf):
    found = estimate_simulated(*zipf)
    low, high = (by_name(found)[x].tau for x in ("Dirichlet-multinomial", "Pitman"))
    # What the model of the smallest AIC says is far off, with a narrow interval.
    assert found.best == "Pitman"
    assert high > 3 * found.truth
    assert f"{low:,.0f} to {high:,.0f}" in found.advice
    assert "may be far off" in found.advice
    said = " ".join(found.summary().split())
    assert f"Smallest AIC: Pitman; {found.advice}" in said
    assert found.advice in found._repr_html_()
    sentence = found.summary().partition("  Smallest AIC")[2]
    assert max(map(len, sentence.splitlines())) <= 88


def test_where_the_two_models_agree_the_advice_says_so():
    random = np.random.default_rng(3)
    F = simulate.dirichlet_multinomial_population(100_000, 100_000, 0.05, random)
    found = estimate_simulated(F, simulate.sample(F, 30_000, random))
    taus = [by_name(found)[x].tau for x in ("Dirichlet-multinomial", "Pitman")]
    assert max(taus) < AGREE * min(taus)
    assert "agree" in found.advice
    assert found.truth == pytest.approx(taus[0], rel=0.15)
    # A model that knows the keys and says something else is heard.
    other = Estimate("latent-class", {}, {}, True, "", nan, nan, nan, 2 * max(taus))
    heard = replace(found, estimates=(*found.estimates, other))
    assert "may be far off" in heard.advice
    low, high = (f"{x:,.0f}" for x in (min(taus), 2 * max(taus)))
    assert f"Pitman and latent-class for a range, {low} to {high};" in heard.advice
    alone = estimate_simulated([1, 2], [1, 1])
    assert alone.best is None or "do not both have an estimate" in alone.advice


def test_the_advice_is_that_of_the_calibration():
    page = (ROOT / "bench" / "results" / "calibration.md").read_text()
    section = page.partition("## Estimates over truth")[2]
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.partition("Lancaster")[0].splitlines()
        if line.startswith("|")
    ][:-1]
    at = {name: head.index(name) for name in ("DM", "Pitman", "lowest AIC")}
    seen = 0
    for row in rows:
        cells = {name: row[k].split(" ")[0] for name, k in at.items()}
        if "-" in cells.values():
            continue
        dm, pitman, lowest = map(float, cells.values())
        apart = max(dm, pitman) / min(dm, pitman)
        if apart < AGREE:
            seen += 1
            assert 1 / AGREE < lowest < AGREE, row
        if not 0.5 < lowest < 2:
            assert apart > AGREE, row
    assert seen > 5


def test_the_models_expect_sizes_of_cells(zipf):
    found = estimate_simulated(*zipf)
    sizes = found.fitted_sizes(4)
    assert sizes["observed"].tolist() == [found.sizes[j] for j in (1, 2, 3, 4)]
    model = Pitman.fit(found.sizes)
    assert sizes["Pitman"].tolist() == model.expected_sizes(30_000, 4).tolist()
    with pytest.raises(ValueError, match="most"):
        found.fitted_sizes(0)


def test_more_combinations_than_can_be_counted():
    """Thirty keys of four categories: 2^60 cells, more than a double counts."""
    table = np.random.default_rng(3).integers(0, 4, (30, 40))
    table[:, :10] = table[:, 10:20]
    data = {f"k{i}": column for i, column in enumerate(table)}
    found = estimate_uniques(data, list(data), population=4000, cell_models=[])
    assert found.cells == 2**53
    most = fit_all(found.sizes, 4000, 2**53, 0.95, lambda _: None)
    assert found.estimates[0].tau == most[0].tau > 0
    less = fit_all(found.sizes, 4000, 2**45, 0.95, lambda _: None)
    assert most[0].tau == pytest.approx(less[0].tau, rel=1e-9)


# Without a model: DIS, and a bound for the sum of 1/F


def bare(sizes, N, pair_weight=None):
    sizes = SizeIndices(sizes)
    return UniquesEstimates(sizes, N, N, 0.95, (), pair_weight=pair_weight)


def test_dis_counts_the_others_of_sample_uniques_right_on_average():
    """Over all samples of eight people, each drawn with a chance of its own."""
    cell = np.array([0, 1, 1, 2, 2, 2, 3, 3])
    chance = np.array([1.0, 0.2, 0.9, 0.5, 0.3, 0.7, 0.4, 0.4])
    F, weight = np.bincount(cell), 1.0 / chance
    true = estimated = 0.0
    for drawn in itertools.product([False, True], repeat=8):
        mask = np.array(drawn)
        probability = np.where(mask, chance, 1.0 - chance).prod()
        if not probability:
            continue
        f = np.bincount(cell[mask], minlength=4)
        true += probability * (F - 1)[f == 1].sum()
        pairs = weight[mask & (f[cell] == 2)].sum()
        found = bare(dict(Counter(f[f > 0].tolist())), 8, pairs)
        if not math.isnan(found.dis):
            estimated += probability * (found.sizes[1] / found.dis - found.sizes[1])
    assert estimated == pytest.approx(true, rel=1e-12)


POPULATIONS = {
    "zipf": lambda rng: simulate.zipf_population(100_000, 20_000, 0.9, rng),
    "even": lambda rng: simulate.dirichlet_multinomial_population(
        100_000, 50_000, 0.5, rng
    ),
    "uneven": lambda rng: simulate.dirichlet_multinomial_population(
        100_000, 50_000, 0.05, rng
    ),
    "long tail": lambda rng: simulate.pitman_population(100_000, 1000.0, 0.7, rng),
    "threes": lambda rng: np.full(33_000, 3),
}


@pytest.mark.parametrize("fraction", [0.05, 0.3])
@pytest.mark.parametrize("kind", POPULATIONS)
def test_dis_and_the_bound_hold_in_populations_of_any_kind(kind, fraction):
    rng = np.random.default_rng(6)
    F = POPULATIONS[kind](rng)
    f = simulate.sample(F, round(fraction * F.sum()), rng)
    found = bare(dict(Counter(f[f > 0].tolist())), int(F.sum()))
    alone, error = F[f == 1], 1.0 / math.sqrt(found.sizes[2])
    assert found.dis == pytest.approx(len(alone) / alone.sum(), rel=4 * error)
    assert found.right_matches < (1.0 + 4 * error) * (1.0 / alone).sum()
    assert found.right_matches > 0.2 * (1.0 / alone).sum()


def test_dis_of_unequal_weights():
    rng = np.random.default_rng(7)
    F = simulate.dirichlet_multinomial_population(100_000, 30_000, 0.3, rng)
    person = np.repeat(np.arange(len(F)), F)
    # In a third of the cells people are drawn eight times as often.
    chance = np.where(person % 3 == 0, 0.4, 0.05)
    drawn = rng.random(len(person)) < chance
    data = {"a": person[drawn] // 200, "b": person[drawn] % 200}
    data["w"] = 1.0 / chance[drawn]
    found = estimate_uniques(data, ["a", "b"], "w", cell_models=[], shrinkages=[])
    alone = F[np.bincount(person[drawn], minlength=len(F)) == 1]
    true = len(alone) / alone.sum()
    assert found.dis == pytest.approx(true, rel=0.1)
    assert found.dis == pytest.approx(suda(data, ["a", "b"], weight="w").dis, rel=1e-12)
    # By one fraction for all it is too high.
    assert replace(found, pair_weight=None).dis > 1.3 * true
    # A population that is given counts, not the sum of the weights.
    twice = estimate_uniques(
        {**data, "w": 2 * data["w"]}, ["a", "b"], "w", population=found.population,
        cell_models=[], shrinkages=[],
    )  # fmt: skip
    assert twice.dis == pytest.approx(found.dis, rel=1e-3)


def test_the_line_of_dis(run):
    sizes = ["--sizes", "1=30", "2=10", "--population", 500, "--cells", 200]
    _, out, _ = run(*sizes)
    # 30/(30 + 20 * 9) = 1/7
    assert re.search(
        r"^  DIS +0\.142857; without a model, 4\.28571 right matches or more$",
        out,
        re.M,
    )
    _, out, _ = run(*sizes, "--report", "u.html")
    assert "4.28571 or more matches are right" in Path("u.html").read_text()
    figures = json.loads(run(*sizes, "--json")[1])
    assert (figures["dis"], figures["right_matches"]) == (1 / 7, 30 / 7)
    # Without cells of two nothing tells how many others there are.
    sizes[2] = "3=10"
    _, out, _ = run(*sizes)
    assert "DIS" not in out
    assert json.loads(run(*sizes, "--json")[1])["dis"] is None
