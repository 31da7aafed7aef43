"""Weights of people who took part by themselves, from a sample of the population."""

import json

import numpy as np
import polars
import pytest
from scipy import optimize, special

import riskcore
from riskcore.cli import main

KEYS = ["sex", "age", "area"]
CATEGORIES = {"sex": ["f", "m"], "age": [10, 20, 30, 40, 50], "area": list("ABCDEFGH")}


def people(rng, N=40_000):
    """Return a population whose keys depend on each other."""
    group = rng.integers(0, 3, N)
    columns = {}
    for key, values in CATEGORIES.items():
        shares = rng.dirichlet(np.full(len(values), 2.0), 3).cumsum(axis=1)
        codes = (rng.random(N)[:, None] > shares[group]).sum(axis=1)
        columns[key] = np.array(values)[np.minimum(codes, len(values) - 1)]
    return columns


def chances(population, rng, mean=0.05, sd=1.0):
    """Return the probability of each person to take part, logistic in the keys."""
    logit = np.zeros(len(population["sex"]))
    for values in population.values():
        codes = np.unique(values, return_inverse=True)[1]
        logit += rng.normal(0, sd / 3**0.5, codes.max() + 1)[codes]

    def off(level):
        return special.expit(logit + level).mean() - mean

    return special.expit(logit + optimize.brentq(off, -20, 20))


def some(population, rows):
    return {key: values[rows] for key, values in population.items()}


def drawn(population, rng, size, unequal=False):
    """Return a sample with the weights of its design."""
    N = len(population["sex"])
    p = np.full(N, size / N)
    if unequal:
        p = np.where(population["sex"] == "f", 1.6, 0.4) * p
        p *= np.where(population["age"] > 25, 0.5, 1.5)
    rows = np.flatnonzero(rng.random(N) < p)
    return {**some(population, rows), "w": 1 / p[rows]}


def weights(data, reference, weight="w", **settings):
    result = riskcore.assess(
        data, KEYS, weight, reference=reference, population="weights", **settings
    )
    return result.cells.record_weights


@pytest.fixture
def samples():
    """Return a population, volunteers, their chances, and a reference."""
    rng = np.random.default_rng(5)
    population = people(rng)
    chance = chances(population, rng)
    rows = np.flatnonzero(rng.random(len(chance)) < chance)
    return population, some(population, rows), chance[rows], drawn(population, rng, 800)


def test_large_samples_give_the_ratio_of_people_and_records():
    data = {"sex": np.repeat(["f", "m"], [30_000, 10_000])}
    reference = {"sex": np.repeat(["f", "m"], [4_000, 6_000]), "w": np.full(10_000, 50)}
    result = riskcore.assess(data, ["sex"], "w", reference=reference)
    mean = [result.cells.weight_sum[i] / (30_000, 10_000)[i] for i in (0, 1)]
    assert mean == pytest.approx([200_000 / 30_000, 300_000 / 10_000], rel=2e-3)
    assert result.individual_risk[0] == pytest.approx(1 / 200_000, rel=2e-3)


def test_large_samples_give_the_maximum_of_the_likelihood():
    rng = np.random.default_rng(1)
    population = people(rng, 400_000)
    chance = chances(population, rng, 0.3)
    data = some(population, rng.random(len(chance)) < chance)
    reference = drawn(population, rng, 100_000)
    s = 1 / reference["w"][0]
    columns = []
    for key, values in CATEGORIES.items():
        both = np.concatenate([data[key], reference[key]])
        columns += [both == value for value in values[1:]]
    X = np.column_stack([np.ones(len(both)), *columns])
    n = len(data["sex"])
    rows, inverse = np.unique(X, axis=0, return_inverse=True)
    A = np.bincount(inverse[:n], minlength=len(rows))
    B = np.bincount(inverse[n:], minlength=len(rows))

    def loss(effects):
        p = special.expit(rows @ effects)
        return -(A * np.log(p / (p + s)) + B * np.log(s / (p + s))).sum()

    best = optimize.minimize(loss, np.zeros(rows.shape[1]), tol=1e-9)
    expected = 1 / special.expit(rows @ best.x)[inverse[:n]]
    ratio = weights(data, reference) / expected
    assert ratio == pytest.approx(np.ones(n), abs=0.02)
    assert np.log(1 / chance).std() > 0.3  # equal weights would be far off


@pytest.mark.thorough
@pytest.mark.parametrize("mean", [0.0125, 0.05, 0.2])
@pytest.mark.parametrize("unequal", [False, True])
def test_the_risk_is_that_of_the_true_chances(mean, unequal):
    def total(data, weight=None, **settings):
        result = riskcore.assess(data, KEYS, weight, population="weights", **settings)
        return np.log(result.expected_reidentifications)

    off, off_if_equal = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        population = people(rng)
        chance = chances(population, rng, mean, 1.5)
        rows = np.flatnonzero(rng.random(len(chance)) < chance)
        data = some(population, rows)
        reference = drawn(population, rng, 600, unequal)
        truth = total({**data, "w": 1 / chance[rows]}, "w")
        off.append(total(data, "w", reference=reference) - truth)
        off_if_equal.append(total(data, sampling_fraction=mean) - truth)
    assert np.mean(off) == pytest.approx(0, abs=0.1)
    assert np.linalg.norm(off) < 0.75 * np.linalg.norm(off_if_equal)


def test_the_order_of_records_changes_nothing(samples):
    _, data, _, reference = samples
    first = weights(data, reference)
    rng = np.random.default_rng(2)
    order = rng.permutation(len(first))
    mixed = some(reference, rng.permutation(len(reference["w"])))
    assert weights(some(data, order), mixed) == pytest.approx(first[order], rel=1e-9)


def test_a_share_who_took_part_stands_for_equal_weights(samples):
    population, data, _, reference = samples
    N, n = len(population["sex"]), len(data["sex"])
    reference["w"] = np.full(len(reference["w"]), N / len(reference["w"]))
    by_weights = weights(data, reference)
    del reference["w"]
    by_share = weights(data, reference, None, sampling_fraction=n / N)
    assert by_share == pytest.approx(by_weights, rel=1e-9)


def test_what_is_assumed_and_who_is_not_covered_is_said(samples):
    population, data, _, reference = samples
    data = some(data, data["area"] != "C")
    summary = riskcore.assess(data, KEYS, "w", reference=reference).summary()
    assert "nothing else decides who takes part" in " ".join(summary.split())
    share = reference["w"][reference["area"] == "C"].sum() / reference["w"].sum()
    assert f"{100 * share:.3g} % of the people are not covered" in " ".join(
        summary.split()
    )
    assert "no record has area 'C'." in " ".join(summary.split())
    covered = np.count_nonzero(population["area"] != "C")
    assert weights(data, reference).sum() == pytest.approx(covered, rel=0.15)
    result = riskcore.assess(
        data, KEYS, "w", reference=reference, sampling_fraction=0.9
    )
    assert "by the sampling fraction" not in result.summary()


def test_rare_values_that_the_reference_lacks_are_like_the_others(samples):
    _, data, _, reference = samples
    data["area"][:3] = "Z"
    result = riskcore.assess(data, KEYS, "w", reference=reference)
    share = 100 * 3 / len(data["area"])
    said = f"{share:.3g} % of the records have area 'Z', which the reference lacks"
    assert said in " ".join(result.summary().split())
    same = (data["sex"] == data["sex"][0]) & (data["age"] == data["age"][0])
    others = result.cells.record_weights[same]
    assert others.min() < result.cells.record_weights[0] < others.max()


@pytest.mark.parametrize("value", ["x", None])
def test_many_values_that_the_reference_lacks_stand_for_few_people(samples, value):
    # Steps of the fit went to and fro, and it did not settle.
    _, data, _, reference = samples
    data["sex"] = data["sex"].astype(object)
    data["sex"][:300] = value
    found = riskcore.assess(
        data, KEYS, "w", reference=reference, missing="category", population="weights"
    )
    assert found.cells.record_weights[:300].max() < 3
    assert found.cells.record_weights[300:].min() > 3
    said = f"have sex {value!r}, which the reference"
    assert said in " ".join(found.summary().split())


def test_keys_of_a_csv_file_are_numbers_beside_those_of_other_files(samples, tmp_path):
    _, data, _, reference = samples
    names = {"csv": "write_csv", "parquet": "write_parquet"}
    for ending, write in names.items():
        getattr(polars.DataFrame(data), write)(tmp_path / f"data.{ending}")
        getattr(polars.DataFrame(reference), write)(tmp_path / f"reference.{ending}")
    expected = weights(data, reference).tolist()
    for one in names:
        for other in names:
            files = tmp_path / f"data.{one}", tmp_path / f"reference.{other}"
            assert weights(*files).tolist() == expected


def test_dates_are_named_as_dates(samples):
    _, data, _, reference = samples
    dates = np.datetime64("2000-01-01") + data["age"].astype("m8[D]")
    with pytest.raises(ValueError, match=r"records have age .*2000-01-\d\d.* or age"):
        weights({**data, "age": dates}, reference)


def test_more_records_than_people_are_refused_or_said(samples):
    _, data, _, reference = samples
    n = len(data["sex"])
    few = {**reference, "w": np.full(len(reference["w"]), 1.0)}
    with pytest.raises(ValueError, match=f"people, fewer than the {n:,} records"):
        weights(data, few)
    del reference["w"]
    result = riskcore.assess(data, KEYS, reference=reference, sampling_fraction=1)
    assert f"those of the reference to {n:,}: of some keys" in " ".join(
        result.summary().split()
    )


def test_reports_say_what_is_assumed(samples, tmp_path):
    _, data, _, reference = samples
    result = riskcore.assess(data, KEYS, "w", reference=reference)
    for report in (result.report, result.public_report):
        report(tmp_path / "page.html", overwrite=True)
        page = (tmp_path / "page.html").read_text()
        assert "nothing else decides who takes part" in page


def test_a_missing_key_says_nothing_of_taking_part(samples):
    _, data, _, reference = samples
    sex = data["sex"].astype(object)
    sex[::2] = None
    found = weights({**data, "sex": sex}, reference)
    for age in CATEGORIES["age"]:
        for area in CATEGORIES["area"]:
            cell = (data["age"] == age) & (data["area"] == area)
            known = found[cell & (sex != None)]  # noqa: E711
            unknown = found[cell & (sex == None)]  # noqa: E711
            if len(unknown) and len({*known.tolist()}) == 2:
                assert known.min() < unknown.min() == unknown.max() < known.max()


def test_models_take_the_weights(samples):
    _, data, _, reference = samples
    found = riskcore.assess(
        data, KEYS, "w", reference=reference, population="latent-class"
    )
    given = {**data, "own": weights(data, reference)}
    again = riskcore.assess(given, KEYS, "own", population="latent-class")
    assert found.expected_reidentifications == again.expected_reidentifications


def test_households_are_weighed_by_households():
    rng = np.random.default_rng(3)
    data = {"size": np.repeat([1, 2], [300, 400]), "hh": np.arange(700)}
    data["hh"][300:] = 300 + np.arange(400) // 2
    reference = {"size": rng.choice([1, 2], 400), "w": np.full(400, 50.0)}
    result = riskcore.assess(
        data, ["size"], "w", "hh", level="household", reference=reference
    )
    rows = {"size": np.repeat([1, 2], [300, 200])}
    one_each = riskcore.assess(rows, ["size"], "w", reference=reference)
    assert result.individual_risk.tolist() == one_each.individual_risk.tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"data": {"w": [1.0] * 4}}, "data have weights"),
        ({"weight": None}, "sampling_fraction"),
        ({"reference": {"sex": ["1", "2"]}}, "100 %.*Code keys alike"),
        ({"person": "id", "wave": "year"}, "combined with reference"),
    ],
)
def test_refused(change, words):
    data = {"sex": ["f", "m", "f", "f"], "id": [1, 1, 2, 2], "year": [1, 2, 1, 2]}
    data |= change.pop("data", {})
    reference = {"sex": ["f", "m"], "w": [10.0, 20.0], **change.pop("reference", {})}
    settings = {"weight": "w", **change}
    with pytest.raises(ValueError, match=words):
        riskcore.assess(data, ["sex"], reference=reference, **settings)


def test_other_refusals():
    data = {"sex": ["f", "m"] * 5}
    reference = {"sex": ["f", "m"], "w": [10.0, 20.0]}
    with pytest.raises(KeyError, match="sex"):
        riskcore.assess(data, ["sex"], "w", reference={"w": [10.0]})
    lazy = polars.LazyFrame(data)
    with pytest.raises(TypeError, match="reference: single records"):
        riskcore.assess(lazy, ["sex"], "w", reference=reference)
    with pytest.raises(TypeError, match="single records"):
        riskcore.assess(data, ["sex"], "w", reference=polars.LazyFrame(reference))
    with pytest.raises(TypeError, match="give it to assess"):
        riskcore.protect(data, ["sex"], reference=reference)
    many = {"id": np.arange(1200)}
    with pytest.raises(ValueError, match="values of keys"):
        riskcore.assess(many, ["id"], "w", reference={**many, "w": np.full(1200, 2.0)})


def test_the_command_reads_a_reference(samples, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, data, _, reference = samples
    polars.DataFrame(data).write_csv("panel.csv")
    polars.DataFrame(reference).write_csv("sample.csv", separator=";")
    words = ["assess", "panel.csv", "--keys", *KEYS, "--weight", "w"]
    words += ["--reference", "sample.csv", "--json", "--quiet"]
    assert main(words) == 0
    figures = json.loads(capsys.readouterr().out)
    expected = riskcore.assess(data, KEYS, "w", reference=reference)
    total = expected.expected_reidentifications
    assert figures["expected_reidentifications"] == total
    assert "reference" in figures["weight_remarks"][0]
    assert [column["column"] for column in figures["not_examined"]] == []
    beside = riskcore.assess("panel.csv", KEYS, "w", reference="sample.csv")
    assert beside.expected_reidentifications == total
    # The reference is read as the data are.
    reading = riskcore.Reading(missing_codes={"area": ["A"]}, weight_scale=0.5)
    both = {"reading": reading, "reference": "sample.csv", "population": "weights"}
    coded = riskcore.assess("panel.csv", KEYS, "w", **both).cells
    for columns in (data, reference):
        columns["area"] = np.where(columns["area"] == "A", None, columns["area"])
    reference["w"] = reference["w"] * 0.5
    assert coded.record_weights == pytest.approx(weights(data, reference), rel=1e-12)
    assert main([*words, "--output", "sample.csv", "--overwrite"]) == 2


# --- a table of how many people there are ---


def table_of(population, keys):
    frame = polars.DataFrame(population).group_by(keys).agg(polars.len().alias("w"))
    return frame.sort(keys)


def test_a_table_of_people_by_some_keys():
    """Its people are known: each value has as many people as it says."""
    rng = np.random.default_rng(8)
    population = people(rng)
    took_part = rng.random(len(population["sex"])) < chances(population, rng, 0.3)
    rows = np.flatnonzero(took_part)
    panel, table = some(population, rows), table_of(population, ["sex", "age"])
    found = riskcore.assess(panel, KEYS, "w", reference=table, population="weights")
    weights = found.cells.record_weights
    for key in ("sex", "age"):
        for value in CATEGORIES[key]:
            many = np.count_nonzero(population[key] == value)
            assert weights[panel[key] == value].sum() == pytest.approx(many, rel=0.03)
    assert "The reference lacks area, taken to decide nothing" in " ".join(
        found.summary().split()
    )


def test_a_reference_that_lacks_keys_is_a_table():
    population = people(np.random.default_rng(9), 2000)
    panel = some(population, np.arange(200))
    sample = {**some(population, np.arange(300, 700)), "w": np.full(400, 5.0)}
    del sample["age"]
    with pytest.raises(
        ValueError, match="lacks 'age'; give a sample with all keys, or"
    ):
        weights(panel, sample)
    table = table_of(population, ["sex", "area"]).drop("w")  # nobody is counted
    with pytest.raises(ValueError, match="lacks 'age'; give a sample with all keys"):
        weights(panel, table, None, sampling_fraction=0.1)
    with pytest.raises(KeyError, match="no column 'sex'"):
        weights(panel, {"w": [1.0, 2.0]})
