"""Ordered keys in latent classes: bands, windows and what a record adds to its own."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import riskcore
from riskcore.data.cells import tabulate
from riskcore.models import CellTable, KnownPopulation, LatentClass, LogLinear
from riskcore.models.bands import Bands, equal_bands, in_bands, merge_bands
from riskcore.models.latent_class import PSEUDO

KEYS = ["sex", "age", "job", "income"]
TOLERANCE = {"age": 2, "income": "10%"}


def people(n, seed):
    """Return people of two kinds, whose ages and incomes differ."""
    rng = np.random.default_rng(seed)
    kind = rng.random(n) < 0.4
    age = np.where(kind, rng.integers(15, 40, n), rng.integers(30, 80, n))
    income = np.exp(np.where(kind, 7.0, 8.0) + 0.4 * rng.standard_normal(n))
    return {
        "sex": rng.integers(0, 2, n),
        "age": age,
        "job": np.where(kind, rng.integers(0, 3, n), rng.integers(2, 6, n)),
        "income": np.round(income, -1),
    }


@pytest.fixture(scope="module")
def model():
    table = CellTable.of(people(900, 4), KEYS, tolerance=TOLERANCE)
    return LatentClass.fit(table, classes=3)


def single(sample):
    """Return bands of one number each."""
    band = [
        np.arange(size) if key in TOLERANCE else None
        for key, size in zip(sample.keys, sample.levels, strict=True)
    ]
    counts = [np.bincount(code, sample.records) for code in sample.codes]
    counts = tuple(n.astype(np.int64) for n in counts)
    return Bands(sample, tuple(band), *in_bands(sample, band), counts)


def thetas(bands, mixture):
    """Return theta of each number and category in each class, key by key."""
    found = []
    profiles = np.split(mixture.theta, bands.table.starts[1:-1])
    for theta, band, n in zip(profiles, bands.band, bands.counts, strict=True):
        if band is None:
            found.append(theta)
        else:
            found.append(theta[band] * (n / np.bincount(band, n)[band])[:, None])
    return found


def by_numbers(bands, mixture, share=None, theta=None):
    """Return pi of each window, as a sum over the numbers in it."""
    sample = bands.sample
    theta = thetas(bands, mixture) if theta is None else theta
    joint = np.tile(mixture.share if share is None else share, (len(sample), 1))
    windows = sample.matching.windows
    for key, code in enumerate(sample.codes):
        low = high = code
        if key in windows.key:
            at = windows.key.index(key)
            low, high = windows.low[at][code], windows.high[at][code]
        joint *= [theta[key][a : b + 1].sum(0) for a, b in zip(low, high, strict=True)]
    return joint.sum(1)


def test_windows_add_up_the_numbers_in_them(model):
    assert 1 < model.bands.table.levels[1] < 20
    np.testing.assert_allclose(
        model.probability(), by_numbers(model.bands, model.mixture), rtol=1e-12
    )
    none = model.bands.probability_without_own(
        model.mixture, np.arange(len(model.sample)), np.zeros(len(model.sample)),
        model.n, PSEUDO,
    )  # fmt: skip
    np.testing.assert_allclose(none, model.probability(), rtol=1e-12)


def test_bands_of_one_number_are_categories():
    table = CellTable.of(people(700, 2), KEYS, tolerance={"age": 0, "income": 0})
    plain = LatentClass.fit(people(700, 2), KEYS, classes=3)
    cells, part = np.arange(len(table)), np.full(len(table), 0.5)
    found = single(table).probability_without_own(
        plain.mixture, cells, part, table.n, PSEUDO
    )
    # Of categories, whose shares have laws, only what classes make of a record is out.
    sample, n = plain.sample, plain.n + 3  # with the records of the prior
    for start, code in zip(sample.starts, sample.codes, strict=False):
        share = sample.counts[start + code] / plain.n
        found = found * share / ((n * share - 0.5) / (n - 0.5))
    np.testing.assert_allclose(found, plain._prior_probability(sample), rtol=1e-12)


def test_a_record_is_taken_out_as_a_step_of_the_fit_would(model):
    """Without a small part of a record: its class, its band and its number."""
    bands, mixture, n = replace(model.bands), model.mixture, model.n
    bands.__dict__["_smooth"] = np.ones(model.sample.starts[-1])  # not of the step
    sample, part = model.sample, 1e-5
    joint = np.tile(mixture.share, (len(sample), 1))
    profiles = np.split(mixture.theta, bands.table.starts[1:-1])
    for code, theta in zip(bands.table.codes, profiles, strict=True):
        joint *= theta[code[bands.place]]
    chance = joint / joint.sum(1, keepdims=True)
    size = n * mixture.share
    full = by_numbers(bands, mixture)
    found = bands.probability_without_own(
        mixture, np.arange(len(sample)), np.full(len(sample), part), n, PSEUDO
    )
    for cell in range(0, len(sample), 37):
        gone = part * chance[cell]
        share = (size - gone) / (n - part)
        theta = []
        for key, of in enumerate(bands.band):
            here = bands.table.codes[key][bands.place[cell]]
            phi = profiles[key] * (size + PSEUDO)
            phi[here] -= gone
            phi /= size - gone + PSEUDO
            if of is not None:
                m = bands.counts[key].astype(float)
                m[sample.codes[key][cell]] -= part
                phi = phi[of] * (m / np.bincount(of, m)[of])[:, None]
            theta.append(phi)
        exact = by_numbers(bands, mixture, share, theta)[cell]
        change = (exact - full[cell]) / part
        assert (found[cell] - full[cell]) / part == pytest.approx(change, rel=1e-3)


def test_neighbors_merge_until_akaikes_criterion_rises():
    rng = np.random.default_rng(3)
    chance = np.repeat([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], 6, axis=0)
    tables = [
        np.array([rng.multinomial(200, p) for p in chance]).astype(float),
        np.array([rng.multinomial(200, [0.5, 0.5]) for _ in chance]).astype(float),
    ]
    n = np.full(12, 200.0)
    groups = merge_bands(n, tables, 3.0)
    # Step by step, by all pairs.
    rows, of = [np.hstack(row) for row in zip(*tables, strict=True)], list(range(12))

    def height(row):
        some = row[row > 0]
        return (some * np.log(some)).sum() - row.sum() * np.log(row.sum() / 2)

    while len(rows) > 1:
        losses = [height(a) + height(b) - height(a + b) for a, b in pairwise(rows)]
        i = int(np.argmin(losses))
        if losses[i] > 3.0:
            break
        rows[i : i + 2] = [rows[i] + rows[i + 1]]
        of = [g - (g > i) for g in of]
    assert groups.tolist() == of
    assert groups[5] < groups[6]  # where the chances change
    assert merge_bands(n, tables, np.inf).tolist() == [0] * 12
    assert merge_bands(n, tables, -1.0).tolist() == list(range(12))


def test_bands_of_equally_many_records():
    n = np.array([1, 1, 8, 1, 1, 4, 4, 4])
    band = equal_bands(n, 4)
    assert (np.diff(band) >= 0).all()
    assert band.max() + 1 <= 4
    assert equal_bands(n, 8).tolist() == list(range(8))


def test_missing_is_a_band_by_itself():
    data = people(500, 1)
    data["age"] = data["age"].astype(float)
    data["age"][:40] = np.nan
    cells = tabulate(data, KEYS, missing="category", tolerance=TOLERANCE)
    bands = Bands.of(CellTable.of(cells))
    assert (bands.band[1][:-1] < bands.band[1][-1]).all()
    fit = LatentClass.fit(cells, classes=2)
    np.testing.assert_allclose(
        fit.probability(), by_numbers(fit.bands, fit.mixture), rtol=1e-12
    )


def test_log_likelihood_is_of_the_cells():
    table = CellTable.of(people(700, 2), KEYS, tolerance={"age": 0, "income": 0})
    fit = LatentClass.fit(table, classes=2)
    assert fit.log_likelihood == pytest.approx(
        (table.records * np.log(fit.probability())).sum(), rel=1e-10
    )


def test_order_of_records_and_threads_change_no_bit():
    data, order = people(900, 4), np.random.default_rng(1).permutation(900)
    one = LatentClass.fit(CellTable.of(data, KEYS, tolerance=TOLERANCE), threads=1)
    data = {key: values[order] for key, values in data.items()}
    other = LatentClass.fit(CellTable.of(data, KEYS, tolerance=TOLERANCE), threads=2)
    assert np.array_equal(one.unique_probability(), other.unique_probability())


@pytest.mark.parametrize("keys", [["age"], ["age", "income"]])
def test_numbers_alone(keys):
    tolerance = {key: TOLERANCE[key] for key in keys}
    table = CellTable.of(people(400, 3), keys, tolerance=tolerance)
    fit = LatentClass.fit(table)
    assert fit.converged
    if keys == ["age"]:  # one band: pi is the share of the sample
        np.testing.assert_allclose(fit.probability(), table.frequency / table.n)


def population():
    """Return a census of 40,000 people."""
    rng = np.random.default_rng(8)
    data = riskcore.simulate.microdata(40_000, rng, fraction=1.0)
    data["province"] = data["REGION"] // 100
    return data


@pytest.mark.parametrize(
    "tolerance", [{"AGE": 0}, {"AGE": 2}, {"AGE": 2, "INCOME": "5%"}], ids=str
)
def test_risks_and_uniques_of_a_known_population(tolerance):
    everyone = population()
    keys = ["province", "SEX", "MARSTAT", "EDUCATION", *tolerance]
    F = tabulate(everyone, keys, tolerance=tolerance)
    rows = np.random.default_rng(2).choice(40_000, 4000, replace=False)
    F = F.sample_frequency[F.inverse][rows]
    sample = {key: everyone[key][rows] for key in keys}
    found = riskcore.assess(
        sample,
        keys,
        population="latent-class",
        sampling_fraction=0.1,
        tolerance=tolerance,
    )
    unique = found.cells.sample_frequency[found.cells.inverse] == 1
    assert found.expected_reidentifications == pytest.approx((1 / F).sum(), rel=0.05)
    tau = (unique & (F == 1)).sum()
    assert found.expected_population_uniques == pytest.approx(tau, rel=0.15)
    assert found.population_unique_probability[~unique].max() == 0.0


def test_intervals_need_cells_that_share_nothing():
    data = people(600, 6)
    wide = LatentClass.fit(CellTable.of(data, KEYS, tolerance=TOLERANCE), classes=2)
    exact = {"age": 0}
    narrow = LatentClass.fit(CellTable.of(data, KEYS[:3], tolerance=exact), classes=2)
    for call in (
        wide.tau_interval,
        lambda: wide.interval(None, lambda prior: prior.records),
    ):
        with pytest.raises(
            ValueError, match=r"age 2, income 10%.*cannot be an interval"
        ):
            call()
    low, high = narrow.tau_interval()
    assert low <= narrow.tau() <= high
    # Fits without a group lack numbers.
    table = CellTable.of(
        {**data, "w": np.full(600, 5.0)},
        ["sex", "income"],
        weight="w",
        tolerance={"income": 0},
    )
    sparse = LatentClass.fit(table, classes=2)
    low, high = sparse.tau_interval()
    assert 0 < low < sparse.tau() < high


def test_models_refuse_what_they_do_not_take(model):
    table = model.sample
    with pytest.raises(ValueError, match="LogLinear does not take the order"):
        LogLinear.fit(table)
    counts = {**people(900, 4), "population_frequency": np.full(900, 5)}
    cells = {key: values for key, values in people(900, 4).items() if key != "sex"}
    counts = {key: values for key, values in counts.items() if key != "sex"}
    known = KnownPopulation(counts, KEYS[1:], "population_frequency")
    with pytest.raises(ValueError, match="KnownPopulation does not take the order"):
        known.prior(CellTable.of(cells, KEYS[1:], tolerance=TOLERANCE))
    with pytest.raises(ValueError, match="that of the model is age 2, income 10%"):
        model.prior(CellTable.of(people(900, 4), KEYS))
    other = CellTable.of(people(900, 4), KEYS, tolerance={"age": 3, "income": "10%"})
    with pytest.raises(ValueError, match="that of the model is age 2"):
        model.prior(other)
    plain = LatentClass.fit(people(900, 4), KEYS, classes=2)
    with pytest.raises(ValueError, match="that of the model is none"):
        plain.prior(table)
    young = CellTable.of(people(500, 5), KEYS, tolerance=TOLERANCE)
    with pytest.raises(ValueError, match="other numbers than the sample"):
        model.prior(young)


def test_cells_of_the_sample_may_be_given_again(model):
    cells = tabulate(people(900, 4), KEYS, tolerance=TOLERANCE)
    assert np.array_equal(model.unique_probability(cells), model.unique_probability())


def test_weights_are_smoothed_by_bands():
    rng = np.random.default_rng(5)
    data = people(1500, 7)
    data["w"] = np.where(data["sex"] == 1, 30.0, 10.0) * rng.lognormal(0, 0.5, 1500)
    keys, tolerance = ["sex", "age", "job"], {"age": 2}
    table = CellTable.of(data, keys, weight="w", tolerance=tolerance)
    fit = LatentClass.fit(table, classes=2)
    mean = fit._mean_weight(table)
    sex = table.codes[0]
    for of in (0, 1):
        own = np.average(data["w"][data["sex"] == of])
        assert mean[sex == of] == pytest.approx(own, rel=0.25)
    raw = fit.with_smoothed_weights(False)._mean_weight(table)
    assert np.array_equal(raw, table.frequency_weight / table.frequency)
    assert mean.std() < raw.std()
    exact = CellTable.of(data, keys, weight="w", tolerance={"age": 0})
    fit = LatentClass.fit(exact, classes=2)  # has intervals, by fits without a group
    low, high = fit.tau_interval()
    assert low < fit.tau() < high


def test_clusters_leave_out_half_of_their_records():
    """With clusters of one record each, everything is as without."""
    data = people(900, 9)
    alone = CellTable.of({**data, "c": np.arange(900)}, KEYS, tolerance=TOLERANCE)
    of_one = CellTable.of(
        {**data, "c": np.arange(900)}, KEYS, cluster="c", tolerance=TOLERANCE
    )
    one, other = (LatentClass.fit(table, classes=3) for table in (alone, of_one))
    np.testing.assert_allclose(
        one.unique_probability(), other.unique_probability(), rtol=1e-6
    )
    twins = {key: np.repeat(values, 2) for key, values in data.items()}
    paired = CellTable.of(
        {**twins, "c": np.arange(1800) // 2}, KEYS, cluster="c", tolerance=TOLERANCE
    )
    of_pairs = LatentClass.fit(paired, classes=3)
    without = LatentClass.fit(CellTable.of(twins, KEYS, tolerance=TOLERANCE), classes=3)
    lower = of_pairs._prior_probability(paired) < without._prior_probability(paired)
    assert lower.all()
