"""Assessing and protecting with a model of the population in place of the weights."""

import itertools
import json
import math
from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import polars
import pytest

import riskcore
from riskcore.assessment import population
from riskcore.assessment.cell_risk import UNIQUE_COLUMN
from riskcore.assessment.reported_figures import text_of
from riskcore.models import CellTable, KnownPopulation, LatentClass, LogLinear
from riskcore.report.page import page
from riskcore.report.public_page import public_page
from riskcore.report.summary import summary
from riskcore.report.text import protection_text, text
from riskcore.simulate import microdata
from tests import needs
from tests.made_again import made_again

KEYS = ["region", "sex", "age"]
pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows"
)


@pytest.fixture(scope="module")
def people():
    """A population in which age depends on region."""
    rng = np.random.default_rng(7)
    region = rng.choice(6, 4000, p=[0.4, 0.3, 0.15, 0.1, 0.04, 0.01])
    age = np.minimum(rng.poisson(3 + 2 * region), 25)
    return {"region": region, "sex": rng.integers(0, 2, 4000), "age": age}


@pytest.fixture(scope="module")
def sample(people):
    rng = np.random.default_rng(8)
    taken = rng.random(4000) < 0.2
    data = {name: column[taken] for name, column in people.items()}
    return {**data, "w": np.full(taken.sum(), 5.0)}


@pytest.fixture(scope="module")
def truth(people):
    return KnownPopulation(people, KEYS)


def true_counts(people, sample):
    counts = {}
    for key in zip(*(people[name] for name in KEYS), strict=True):
        counts[key] = counts.get(key, 0) + 1
    return np.array([counts[k] for k in zip(*(sample[n] for n in KEYS), strict=True)])


# --- a known population ---


def test_the_risk_in_a_known_population_is_1_over_F(people, sample, truth):
    F = true_counts(people, sample)
    result = riskcore.assess(sample, KEYS, "w", population=truth)
    np.testing.assert_array_equal(result.individual_risk, 1.0 / F)
    unique = result.cells.sample_frequency[result.cells.inverse] == 1
    chances = np.where(unique, (F == 1).astype(float), 0.0)
    np.testing.assert_array_equal(result.population_unique_probability, chances)
    np.testing.assert_array_equal(result.records[UNIQUE_COLUMN], chances)
    assert result.expected_population_uniques == chances.sum()
    assert math.isclose(result.expected_reidentifications, math.fsum(1.0 / F))


@pytest.mark.parametrize("weight", ["w", None])
@pytest.mark.parametrize(
    "form", ["numpy", "polars", pytest.param("duckdb", marks=needs.engine("duckdb"))]
)
def test_F_is_the_registers_wherever_it_is_told(people, sample, truth, weight, form):
    F = true_counts(people, sample)
    f = true_counts(sample, sample)
    data = sample
    if form != "numpy":
        data = polars.DataFrame(sample)
    if form == "duckdb":
        data = import_module("duckdb").from_arrow(data.to_arrow())
    result = riskcore.assess(data, KEYS, weight, population=truth)
    records = result.records
    if form == "duckdb":
        records = records.pl()
        order = records.select(pl_key := [*KEYS]).to_dict(as_series=False)
        F = true_counts(people, {k: np.array(order[k]) for k in pl_key})
        counted = dict(
            zip(zip(*(sample[n] for n in KEYS), strict=True), f, strict=True)
        )
        f = np.array([counted[k] for k in zip(*order.values(), strict=True)])
    np.testing.assert_array_equal(np.asarray(records["population_frequency"]), F)
    np.testing.assert_array_equal(np.asarray(records["sampling_fraction"]), f / F)
    np.testing.assert_array_equal(np.asarray(records["individual_risk"]), 1 / F)
    cells = result.cells
    risk = 1 / cells.population_frequency
    np.testing.assert_array_equal(result.cell_risk, risk)
    told = cells.to_dict()["population_frequency"]
    np.testing.assert_array_equal(1 / told, result.cell_risk)
    row = result.riskiest(1)[0]
    share = row["sample_frequency"] * row["individual_risk"]
    assert math.isclose(row["sampling_fraction"], share)
    assert result.figures["population"] == 4000
    shown = text(summary(result), "title")
    assert "4,000, counted cell by cell" in shown
    assert "no weights" not in shown
    # By the weights alone all is as it was without the register.
    plain = riskcore.assess(data, KEYS, weight)
    expected = plain.expected_reidentifications
    assert result.by_weights.expected_reidentifications == expected


def test_a_household_has_the_registers_F(sample, truth):
    data = {**sample, "hh": np.arange(len(sample["w"])) // 1}
    one = riskcore.assess(data, KEYS, "w", "hh", level="household", population=truth)
    other = riskcore.assess(data, KEYS, "w", population=truth)
    for name in ("population_frequency", "sampling_fraction", "individual_risk"):
        np.testing.assert_array_equal(one.records[name], other.records[name])


def test_cells_that_the_register_lacks_have_the_weights_F(people, sample):
    table = riskcore.tabulate(people, KEYS).to_dict()
    kept = np.asarray(table["region"]) > 0
    part = {name: np.asarray(table[name])[kept] for name in KEYS}
    part["people"] = np.asarray(table["sample_frequency"])[kept]
    fitted = LatentClass.fit(riskcore.tabulate(sample, KEYS, "w"))
    known = KnownPopulation(part, KEYS, "people", lacking=fitted)
    result = riskcore.assess(sample, KEYS, "w", population=known)
    weights = riskcore.tabulate(sample, KEYS, "w").population_frequency
    lacks = np.asarray(result.cells.to_dict()["region"]) == 0
    F = result.cells.population_frequency
    np.testing.assert_array_equal(F[lacks], weights[lacks])
    np.testing.assert_array_equal(1 / F[~lacks], result.cell_risk[~lacks])
    low, high = result.expected_reidentifications_interval()
    assert low < result.expected_reidentifications < high


def test_a_frame_of_counts_is_a_known_population(people, sample, truth):
    cells = riskcore.tabulate(people, KEYS)
    frame = cells.to_frame("pyarrow").drop_columns(
        ["sample_frequency", "sampling_fraction"]
    )
    want = riskcore.assess(sample, KEYS, "w", population=truth)
    found = riskcore.assess(sample, KEYS, "w", population=frame)
    np.testing.assert_array_equal(found.individual_risk, want.individual_risk)
    want = riskcore.protect(sample, KEYS, "w", threshold=0.3, population=truth)
    found = riskcore.protect(sample, KEYS, "w", threshold=0.3, population=frame)
    assert found.suppressed == want.suppressed
    with pytest.raises(KeyError, match="no column 'population_frequency'"):
        riskcore.assess(
            sample, KEYS, "w", population=frame.drop_columns(["population_frequency"])
        )


def test_protected_is_safe_in_truth(people, sample, truth):
    result = riskcore.protect(sample, KEYS, "w", threshold=0.3, population=truth)
    assert result.goals_met
    assert sum(result.suppressed.values())
    blanked = [np.ma.array(result.data[name]).tolist() for name in KEYS]
    everybody = list(zip(*(people[name] for name in KEYS), strict=True))
    for record in set(zip(*blanked, strict=True)):
        agree = sum(
            all(a in (None, b) for a, b in zip(record, one, strict=True))
            for one in everybody
        )
        assert 1.0 / agree < 0.3


# --- fitted models ---


@pytest.mark.parametrize("name", ["latent-class", "log-linear"])
def test_a_name_is_a_model_fitted_to_the_cells(sample, name):
    found = riskcore.assess(sample, KEYS, "w", population=name)
    model = population.FITTED[name].fit(sample, KEYS, weight="w")
    want = riskcore.assess(sample, KEYS, "w", population=model)
    np.testing.assert_array_equal(found.individual_risk, want.individual_risk)
    np.testing.assert_array_equal(found.cell_unique_probability, want.unique)
    assert found.model.label == name


def test_the_risk_is_the_mean_of_1_over_F(sample):
    model = LogLinear.fit(sample, KEYS, "all two-way", False, weight="w")
    model = replace(model, shares=None)
    result = riskcore.assess(sample, KEYS, "w", population=model)
    for k in range(0, len(result.cells), 37):
        f, mu = int(result.cells.sample_frequency[k]), model.prior().mu[k]
        terms, chance = [], math.exp(-mu)
        for x in range(400):
            terms.append(chance / (f + x))
            chance *= mu / (x + 1)
        assert math.isclose(result.cell_risk[k], math.fsum(terms), rel_tol=1e-12)
        alone = math.exp(-mu) if f == 1 else 0.0
        assert math.isclose(result.unique[k], alone, rel_tol=1e-14)


def test_overdispersion_is_a_negative_binomial(sample):
    model = LatentClass.fit(sample, KEYS, 1, "dirichlet-multinomial", weight="w")
    prior = model.prior()
    assert prior.shape is not None
    result = riskcore.assess(sample, KEYS, "w", population=model)
    for k in range(0, len(result.cells), 37):
        f, s, p = prior.records[k], prior.shape[k], prior.p[k]
        terms, chance = [], p**s
        for x in range(3000):
            terms.append(chance / (f + x))
            chance *= (s + x) / (x + 1) * (1.0 - p)
        assert math.isclose(result.cell_risk[k], math.fsum(terms), rel_tol=1e-10)


def test_the_model_finds_what_weights_do_not():
    """Many keys: by weights a fraction of the truth, by classes within a tenth."""
    rng = np.random.default_rng(3)
    everybody = microdata(40_000, rng, fraction=1.0)
    keys = ["REGION", "SEX", "AGE", "MARSTAT", "CITIZENSHIP"]
    everybody["REGION"] //= 100
    taken = rng.choice(40_000, 4_000, replace=False)
    data = {key: everybody[key][taken] for key in keys} | {"w": np.full(4_000, 10.0)}
    known = KnownPopulation(everybody, keys)
    weights, classes, truth = (
        riskcore.assess(data, keys, "w", population=one)
        for one in ("weights", "latent-class", known)
    )
    number = truth.expected_reidentifications
    assert weights.expected_reidentifications < 0.8 * number
    assert 0.9 < classes.expected_reidentifications / number < 1.1
    uniques = truth.expected_population_uniques
    assert 0.8 < classes.expected_population_uniques / uniques < 1.25


def test_households(sample):
    data = {**sample, "hh": np.arange(len(sample["w"])) // 2}
    found = riskcore.assess(data, KEYS, "w", "hh", population="latent-class")
    want = riskcore.household_risk(found.individual_risk, data["hh"])
    np.testing.assert_array_equal(np.unique(found.household_risk), np.unique(want))


# --- how sure ---


def test_intervals_by_weights_are_those_of_drawn_populations(sample):
    result = riskcore.assess(sample, KEYS, "w")
    rng = np.random.default_rng(12)
    f = result.cells.sample_frequency
    p = f / result.cells.population_frequency
    F = f + rng.negative_binomial(f, p, (20_000, len(f)))
    sums = (f / F).sum(axis=1)
    low, high = result.expected_reidentifications_interval(0.9)
    drawn = np.quantile(sums, [0.05, 0.95])
    assert abs(low - drawn[0]) < 0.05 * (high - low)
    assert abs(high - drawn[1]) < 0.05 * (high - low)
    alone = (F[:, f == 1] == 1).sum(axis=1)
    low, high = result.expected_population_uniques_interval(0.9)
    assert (alone < low).mean() <= 0.055
    assert (alone > high).mean() <= 0.055


def test_intervals_by_a_model_contain_the_error_of_the_fit(sample):
    result = riskcore.assess(sample, KEYS, "w", population="log-linear")
    low, high = result.expected_reidentifications_interval()
    assert low < result.expected_reidentifications < high
    given, least, most = result.model.interval(
        None, population.risk_by, deviation=population.deviation_by, groups=0
    )
    assert given == pytest.approx(result.expected_reidentifications, rel=1e-14)
    assert low < least < most < high
    low, high = result.expected_population_uniques_interval()
    assert low <= result.expected_population_uniques <= high


def test_in_a_known_population_nothing_is_unsure(sample, truth):
    result = riskcore.assess(sample, KEYS, "w", population=truth)
    total = pytest.approx(result.expected_reidentifications)
    assert result.expected_reidentifications_interval() == (total, total)
    uniques = result.expected_population_uniques
    assert result.expected_population_uniques_interval() == (uniques, uniques)


def test_no_interval_where_cells_share_records(sample):
    ages = [None, *sample["age"].tolist()[1:]]
    data = {**sample, "age": ages}
    result = riskcore.assess(data, KEYS, "w", missing="wildcard")
    with pytest.raises(ValueError, match="there cannot be an interval"):
        result.expected_reidentifications_interval()
    with pytest.raises(ValueError, match=r"level: need a number in \(0, 1\)|level="):
        riskcore.assess(sample, KEYS, "w").expected_population_uniques_interval(1.5)


# --- any value of a key ---


def models(sample):
    return [
        LatentClass.fit(sample, KEYS, 3, weight="w"),
        LogLinear.fit(sample, KEYS, "all two-way", weight="w"),
    ]


@pytest.mark.parametrize("kept", [(0,), (1, 2), (0, 2), ()])
def test_the_probability_of_some_keys_is_the_sum_over_the_others(sample, kept):
    for model in models(sample):
        levels = model.sample.levels
        codes = [np.array([1, 0]) if key in kept else None for key in range(3)]
        cells = riskcore.tabulate(sample, KEYS, "w")
        ones = np.ones(2)
        found = model.probability(CellTable.of_margins(cells, codes, ones, ones))
        for row in range(2):
            ranges = [
                [codes[key][row]] if key in kept else range(levels[key])
                for key in range(3)
            ]
            every = np.array(list(itertools.product(*ranges))).T
            table = CellTable.of_margins(
                cells, list(every), np.ones(every.shape[1]), np.ones(every.shape[1])
            )
            total = math.fsum(model.probability(table))
            assert math.isclose(found[row], total, rel_tol=1e-12)


def test_missing_keys_match_any_value(sample):
    model = LatentClass.fit(sample, KEYS, 2, weight="w")
    ages = [None if i % 9 == 0 else int(a) for i, a in enumerate(sample["age"])]
    data = {**sample, "age": ages}
    result = riskcore.assess(data, KEYS, "w", population=model, missing="wildcard")
    cells = result.cells
    k = int(cells.inverse[0])
    codes = [np.array([cells.codes[i][k]]) for i in range(2)] + [None]
    f, F = cells.sample_frequency[[k]], cells.population_frequency[[k]]
    want = population.risk_of_margins(model, cells, f, F, codes)
    assert result.individual_risk[0] == want[0]
    with pytest.raises(ValueError, match="a model needs each record in one cell"):
        LatentClass.fit(cells)
    # By name it is fitted to the records that have all keys.
    fitted = riskcore.assess(data, KEYS, "w", population="latent-class").model
    assert fitted.n == len(ages) - ages.count(None)


# --- protecting ---


@pytest.mark.parametrize("name", ["latent-class", "log-linear"])
def test_protected_is_safe_by_the_model(sample, name):
    result = riskcore.protect(sample, KEYS, "w", threshold=0.3, population=name)
    assert result.goals_met
    assert sum(result.suppressed.values())
    # The model of the file before suppression; a blank stands for any value.
    before, after = result.original.individual_risk, result.protected.individual_risk
    blanked = np.logical_or.reduce([*result.masks.values()])
    np.testing.assert_array_equal(after[~blanked], before[~blanked])
    assert (before[blanked] >= 0.3).all()
    assert (after < 0.3).all()


def test_a_recoded_file_has_a_model_of_its_own(sample):
    rule = riskcore.Recoding.intervals([5, 10, 15])
    result = riskcore.protect(
        sample, KEYS, "w", threshold=0.4, population="latent-class",
        recodings={"age": rule},
    )  # fmt: skip
    sizes = [one.model.sample.levels[2] for one in (result.original, result.recoded)]
    assert sizes[1] == 4 < sizes[0]
    assert result.protected.model is result.recoded.model


def test_a_record_holds_the_name_of_a_model(sample, tmp_path, run):
    source = tmp_path / "survey.csv"
    lines = [",".join([*KEYS, "w"])]
    columns = [sample[name] for name in [*KEYS, "w"]]
    lines += [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    source.write_text("\n".join(lines) + "\n")
    safe = tmp_path / "safe.csv"
    status, _, err = run(
        "protect", source, "--keys", *KEYS, "--weight", "w", "--threshold", "0.3",
        "--population", "log-linear", "--output", safe,
    )  # fmt: skip
    assert status == 0, err
    again = made_again(source, f"{safe}.private.json", tmp_path / "again.csv")
    assert again == safe.read_bytes()


def test_a_given_model_is_in_no_record(sample, truth, tmp_path):
    result = riskcore.protect(sample, KEYS, "w", threshold=0.3, population=truth)
    with pytest.raises(ValueError, match=r"population='given: KnownPopulation'"):
        riskcore.protection.settings.settings.Settings.from_dict(
            result.settings.to_dict()
        )


# --- reports ---


def test_reports_name_the_model(sample):
    result = riskcore.assess(sample, KEYS, "w", population="latent-class")
    figures = summary(result)
    json.dumps(figures, allow_nan=False)
    assert figures["population_model"] == "latent-class"
    by_weights = riskcore.assess(sample, KEYS, "w").expected_reidentifications
    assert figures["by_weights"] == by_weights
    said = text(figures, "survey")
    for words in (
        "population model", "latent-class", "expected population uniques",
    ):  # fmt: skip
        assert words in said
    assert "latent-class" in page({"original": result}, title="survey")
    assert "latent-class" in public_page(result)
    assert "latent-class" in result._repr_html_()


def test_the_table_of_a_protection_names_it(sample):
    result = riskcore.protect(
        sample, KEYS, "w", threshold=0.3, population="latent-class"
    )
    said = protection_text(result.to_dict(), "survey")
    for words in (
        "population model", "expected population uniques",
    ):  # fmt: skip
        assert words in said
    again = protection_text(
        riskcore.protect(
            sample, KEYS, "w", threshold=0.1, population="weights"
        ).to_dict(),
        "survey",
    )
    assert "population model" not in again


@pytest.mark.parametrize(
    ("by_weights", "shown"), [(3.21, ""), (3.2, "3.2"), (5.0, "5"), (4.99, "")]
)
def test_the_weights_are_shown_where_they_differ_by_a_quarter(by_weights, shown):
    figures = {"expected_reidentifications": 4.0, "by_weights": by_weights}
    assert text_of("by_weights", figures, "text") == shown


def test_by_weights_nothing_is_added(sample):
    result = riskcore.assess(sample, KEYS, "w")
    assert "population_model" not in result.figures
    assert UNIQUE_COLUMN not in result.records
    f = result.cells.sample_frequency
    p = f / result.cells.population_frequency
    np.testing.assert_array_equal(
        result.cell_unique_probability, np.where(f == 1, p, 0.0)
    )


def test_the_command(tmp_path, sample, people, run):
    for name, data in (("survey", sample), ("people", None)):
        if data is None:
            cells = riskcore.tabulate(people, KEYS)
            data = {key: cells.to_dict()[key] for key in KEYS}
            data["population_frequency"] = cells.sample_frequency
        riskcore.data.files.formats.write(tmp_path / f"{name}.csv", data)
    line = ["assess", tmp_path / "survey.csv", "--keys", *KEYS, "--weight", "w"]
    status, out, err = run(*line, "--population", "log-linear", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["population_model"] == "log-linear"
    output = tmp_path / "risk.csv"
    status, out, err = run(
        *line, "--population", tmp_path / "people.csv", "--output", output
    )
    assert status == 0
    assert "known-population" in out
    table = np.genfromtxt(output, delimiter=",", names=True)
    F = true_counts(people, sample)
    np.testing.assert_array_equal(table["population_frequency"], F)
    np.testing.assert_allclose(table["individual_risk"] * F, 1, rtol=1e-12)
    assert UNIQUE_COLUMN in output.read_text().partition("\n")[0]
    assert "latent-class" in run(*line, "--population", "latent")[2]
    lines = (tmp_path / "people.csv").read_text().splitlines(keepends=True)
    (tmp_path / "people.csv").write_text("".join(lines[:2]))
    status, _, err = run(*line, "--population", tmp_path / "people.csv")
    assert "code the keys of both in the same way\n" in err


# --- refusals ---


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ("census", ValueError, "population='census'"),
        (None, TypeError, "population: need a name, a fitted model"),
        (3, TypeError, "population: need a name, a fitted model"),
    ],
)
def test_what_is_no_population(sample, given, error, match):
    for function in (riskcore.assess, riskcore.protect):
        more = {"threshold": 0.1} if function is riskcore.protect else {}
        with pytest.raises(error, match=match):
            function(sample, KEYS, "w", population=given, **more)


def test_a_formula_for_weights_only(sample):
    how = {"population": "latent-class", "method": "franconi"}
    with pytest.raises(ValueError, match="formula is for weights only"):
        riskcore.assess(sample, KEYS, "w", **how)


def test_a_model_of_other_keys(sample):
    model = LatentClass.fit(sample, ["region", "age"], 1, weight="w")
    with pytest.raises(ValueError, match="the model has the keys region, age"):
        riskcore.assess(sample, KEYS, "w", population=model)


# --- cautions ---


def villages(many):
    """Return people of villages, drawn whole, and their villages."""
    rng = np.random.default_rng(many)
    village = np.repeat(np.arange(many), 20)
    data = {
        "VILLAGE": village,
        "AGE": rng.integers(0, 40, len(village)),
        "JOB": rng.integers(0, 8, len(village)),
        "WEIGHT": np.full(len(village), 10.0),
        "PSU": village,
    }
    return data


@pytest.mark.parametrize(
    ("many", "keys", "words"),
    [
        (2, ["AGE", "JOB"], "may be far from the estimate"),
        (7, ["AGE", "JOB"], "7 clusters cannot tell"),
        (7, ["VILLAGE", "AGE"], "7 clusters cannot tell"),
        (7, ["VILLAGE", "AGE"], "estimate. VILLAGE tells the cluster"),
        (40, ["VILLAGE", "AGE"], "VILLAGE tells the cluster"),
        (40, ["AGE", "JOB"], None),
    ],
)
def test_what_few_or_told_clusters_leave_open_is_said(many, keys, words):
    data = villages(many)
    found = riskcore.assess(data, keys, "WEIGHT", cluster="PSU")
    remarks = " ".join(summary(found)["weight_remarks"])
    assert words is None or words in remarks
    assert ("cluster" in remarks) is (words is not None)
    assert "cluster" not in " ".join(
        summary(riskcore.assess(data, keys, "WEIGHT"))["weight_remarks"]
    )


def test_villages_that_are_a_key_may_be_whole_or_not():
    keys = ["VILLAGE", "AGE"]
    assess = partial(riskcore.assess, villages(40), keys, "WEIGHT", cluster="PSU")
    cells = len(assess().cells)  # if villages are whole, F = f and each cell adds 1
    whole = assess().by_model.expected_reidentifications
    assert 0.9 * cells < whole < cells
    low, high = assess().by_model.expected_reidentifications_interval()
    part = assess(strata=["VILLAGE"]).by_model.expected_reidentifications
    assert low < part < 0.5 * whole
    assert high > cells


def test_copied_records_are_said():
    rng = np.random.default_rng(3)
    people = microdata(40_000, rng, fraction=1.0)
    rows = rng.choice(40_000, 1000, replace=False)
    donor = rng.choice(rows[:750], 250)
    keys = ["AGE", "SEX", "MARSTAT", "EDUCATION", "REGION", "HHSIZE"]

    def remarks(taken):
        data = {key: np.asarray(people[key])[taken] for key in keys}
        found = riskcore.assess(data, keys, sampling_fraction=0.025)
        return " ".join(summary(found)["weight_remarks"])

    copied = "More records have the same keys than the keys let expect"
    assert copied in remarks(np.append(rows[:750], donor))
    assert copied not in remarks(rows)
