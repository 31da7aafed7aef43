"""The noise of single weights is smoothed out; rates that depend on the keys stay."""

import math
from dataclasses import replace

import numpy as np
import pytest

import riskcore
from riskcore import tabulate
from riskcore.models import CellTable, LatentClass, LogLinear
from riskcore.models.cell_table import ANY
from riskcore.models.smoothed_weights import SmoothedWeights, Weights

SIZES = (6, 5, 4)
NOISE = 0.5


def columns(n=4000, seed=1):
    """Return codes of keys, common categories first."""
    rng = np.random.default_rng(seed)
    chance = [1.0 / np.arange(1, size + 1) for size in SIZES]
    return [rng.choice(len(p), n, p=p / p.sum()) for p in chance], rng


def effects(keys):
    a, b, _ = keys
    return (
        20.0 * np.linspace(0.5, 2.0, SIZES[0])[a] * np.linspace(1.3, 0.7, SIZES[1])[b]
    )


def noise(rng, n):
    """Return factors of mean 1 whose relative variance is exp(NOISE^2) - 1."""
    return np.exp(NOISE * rng.standard_normal(n) - NOISE**2 / 2.0)


def fitted(keys, weights):
    table = CellTable.of(keys, weight_sum=weights)
    return table, SmoothedWeights.of(table)


def test_weights_of_the_keys_are_found_in_noise():
    keys, rng = columns()
    weights = effects(keys) * noise(rng, len(keys[0]))
    table, smoothed = fitted(keys, weights)
    right = effects(table.codes)
    found = smoothed.mean_weight(table)
    own = table.weight_sum / table.records
    assert smoothed.within == pytest.approx(math.expm1(NOISE**2), rel=0.15)
    assert smoothed.between < 0.01
    assert np.abs(found / right - 1.0).max() < 0.15 < np.abs(own / right - 1.0).max()
    assert np.ptp(smoothed.factors[2]) < 0.1  # a key that says nothing of weights


def test_the_sums_of_weights_of_each_category_are_kept_where_there_is_no_noise():
    keys, rng = columns()
    weights = effects(keys) * (1.0 + 1e-3 * rng.standard_normal(len(keys[0])))
    table, smoothed = fitted(keys, weights)
    f = table.records
    expected = f * replace(smoothed, between=0.0).mean_weight(table)
    for code, size in zip(table.codes, table.levels, strict=True):
        ratio = np.bincount(code, expected, size) / np.bincount(
            code, table.weight_sum, size
        )
        assert np.abs(ratio - 1.0).max() < 1e-4


def test_rates_of_pairs_of_keys_are_kept_by_the_cells():
    keys, rng = columns(700)
    odd = (keys[0] + keys[1]) % 2
    weights = np.where(odd, 10.0, 40.0) * noise(rng, len(odd))
    table, smoothed = fitted(keys, weights)
    right = np.where((table.codes[0] + table.codes[1]) % 2, 10.0, 40.0)
    assert math.sqrt(smoothed.between) > 0.4

    def error(found):
        return ((found - right) ** 2).mean()

    shrunk = error(smoothed.mean_weight(table))
    assert shrunk < error(replace(smoothed, between=0.0).mean_weight(table)) / 2
    assert shrunk < error(table.weight_sum / table.records)


def test_variances_are_those_of_a_plain_count():
    """With all factors 1: the analysis of variance of one classification."""
    keys, rng = columns(300)
    weights = 10.0 * noise(rng, 300) * (1 + keys[0])
    table = CellTable.of(keys, weight_sum=weights)
    cell = np.ravel_multi_index(keys, SIZES)
    mean = weights.mean()
    groups = [weights[cell == one] / mean for one in np.unique(cell)]
    inside = sum(((one - one.mean()) ** 2).sum() for one in groups)
    within = inside / (300 - len(groups))
    far = sum(len(one) * (one.mean() - 1.0) ** 2 for one in groups)
    spare = 300 - sum(len(one) ** 2 for one in groups) / 300
    between = (far - (len(groups) - 1) * within) / spare
    found = Weights.of(table, table.records)
    assert found.variances(np.full(len(table), mean), 1.0) == pytest.approx(
        (within, between), rel=1e-12
    )
    residual = ((weights / mean - 1.0) ** 2).sum() / 299
    assert found.residual(np.full(len(table), mean), 1.0) == pytest.approx(residual)


def test_rare_categories_are_shrunk_more():
    keys, rng = columns()
    weights = effects(keys) * noise(rng, len(keys[0]))
    rare = [np.append(key, [0, 0]) for key in keys]
    rare[0][-2:] = SIZES[0]
    weights = np.append(weights, [150.0, 170.0])
    _, smoothed = fitted(rare, weights)
    mean = np.average(effects(keys))
    factor = smoothed.factors[0]
    # Two records of eight times the mean weight, of a factor that is at most 2.
    assert 2.0 < factor[-1] < 0.8 * 160.0 / mean
    raw = effects([np.arange(SIZES[0]), np.zeros(6, int), None]) / 26.0
    assert factor[:3] / factor[0] == pytest.approx(raw[:3] / raw[0], rel=0.1)


def test_what_a_cell_keeps_of_its_own_mean():
    smoothed = SmoothedWeights(10.0, (np.array([1.0, 2.0]),), 0.3, 0.1)
    codes = (np.array([0, 1, 1]),)
    table = CellTable(codes, (2,), np.array([1, 1, 3]), np.array([18.0, 18, 90]), (0,))
    # B = 0.1/(0.1 + 0.3/f): a quarter, and for three records a half.
    assert smoothed.mean_weight(table).tolist() == pytest.approx([12.0, 19.5, 25.0])


@pytest.mark.parametrize("fit", [LatentClass.fit, LogLinear.fit])
def test_weights_that_are_constant_within_cells_change_nothing(fit):
    keys, _ = columns(600)
    weights = np.where((keys[0] + keys[1]) % 2, 0.1, 0.7) * 31.0
    model = fit(keys, weight_sum=weights)
    assert model.smoothing is None
    table = model.sample
    own = np.maximum(table.weight_sum / table.records - 1.0, 0.0)
    expected = model.n * model._prior_probability(table)
    bare = replace(model.with_overdispersion(False), shares=None)
    assert bare.prior().mu == pytest.approx(expected * own, rel=1e-15)
    assert "smoothed" not in model.fit_in_words


@pytest.mark.parametrize("fit", [LatentClass.fit, LogLinear.fit])
def test_one_word_switches_it_off(fit):
    keys, rng = columns(600)
    weights = effects(keys) * noise(rng, 600)
    how = {"weight_sum": weights, "overdispersion": False}
    model, off = (
        replace(fit(keys, **how, smooth_weights=smooth), shares=None)
        for smooth in (True, False)
    )
    assert off.smoothing is None
    assert off.prior().mu.tobytes() == (
        model.with_smoothed_weights(False).prior().mu.tobytes()
    )
    table, f = off.sample, off.sample.records.astype(float)
    ratio = (model.smoothing.mean_weight(table) - 1) / (table.weight_sum / f - 1)
    mu = model.prior().mu
    assert mu == pytest.approx(off.prior().mu * ratio, rel=1e-12)
    assert off.with_smoothed_weights().prior().mu.tobytes() == mu.tobytes()


def test_noise_makes_no_population_uniques():
    rng = np.random.default_rng(3)
    keys = [rng.integers(0, size, 1500) for size in (40, 30, 20)]
    right = np.full(1500, 20.0)
    noisy = right * noise(rng, 1500)
    fits = [
        replace(LatentClass.fit(keys, classes=1, weight_sum=w), shares=None)
        for w in (right, noisy)
    ]
    exact, smooth, own = (
        fits[0].tau(),
        fits[1].tau(),
        fits[1].with_smoothed_weights(False).tau(),
    )
    assert smooth == pytest.approx(exact, rel=0.05)
    assert own > 1.1 * exact


def test_cells_with_any_value_have_the_mean_of_the_records_that_match():
    keys, rng = columns(600)
    table, smoothed = fitted(keys, effects(keys) * noise(rng, 600))
    smoothed = replace(smoothed, between=0.0)
    each = smoothed.mean_weight(table)
    codes = (np.array([0, ANY, 5]), np.array([ANY, ANY, 4]), np.array([2, ANY, ANY]))
    few = CellTable(codes, table.levels, np.array([9, 600, 1]), np.ones(3), table.keys)
    match = (table.codes[0] == 0) & (table.codes[2] == 2)
    here = (table.codes[0] == 5) & (table.codes[1] == 4)
    found = smoothed.mean_weight(few, table)
    for one, mask in zip(found, (match, match | True, here), strict=True):
        if mask.any():
            assert one == pytest.approx(
                np.average(each[mask], weights=table.records[mask])
            )
    lost = replace(
        few, codes=(np.array([ANY] * 3), *codes[1:]), weight_sum=few.records * 3.0
    )
    alone = table.some(table.codes[1] != 4)
    assert smoothed.mean_weight(lost, alone)[2] == 3.0  # its own mean: nothing matches


def test_neither_order_nor_scale_of_weights_matters():
    keys, rng = columns(2000)
    weights = effects(keys) * noise(rng, 2000)
    table, smoothed = fitted(keys, weights)
    order = rng.permutation(2000)
    other, again = fitted([key[order] for key in keys], weights[order])
    assert other.weight_spread.tobytes() == table.weight_spread.tobytes()
    assert repr(again) == repr(smoothed)
    assert again.mean_weight(other).tobytes() == smoothed.mean_weight(table).tobytes()
    double = SmoothedWeights.of(table.scaled(2.0))
    assert double.base == 2.0 * smoothed.base
    assert double.within == smoothed.within
    assert double.between == smoothed.between


def test_fits_without_records():
    keys, rng = columns(2000)
    table, smoothed = fitted(keys, effects(keys) * noise(rng, 2000))
    again = smoothed.without(table, table.records)
    assert again.within == pytest.approx(smoothed.within, rel=1e-3)
    assert again.mean_weight(table) == pytest.approx(
        smoothed.mean_weight(table), rel=1e-3
    )
    left = np.where(table.codes[0] == 0, table.records, 0)
    fewer = smoothed.without(table, left)
    assert fewer.factors[0].tolist() == [1.0] * SIZES[0]
    unique = np.minimum(table.records, 1)
    assert smoothed.without(table, unique) is smoothed  # no cell with two
    model = LatentClass.fit(table, classes=2)
    spreads = {one.smoothing.within for one in model._replicates(5)}
    assert len(spreads) == 5


def test_all_records_alone_say_nothing_of_noise():
    codes = [np.arange(9), np.arange(9) % 2]
    table, smoothed = fitted(codes, np.linspace(1.0, 9.0, 9))
    assert smoothed is None
    assert table.weight_spread.tolist() == [0.0] * 9


def test_assess_smooths_and_says_so():
    keys, rng = columns(500)
    names = ["a", "b", "c"]
    data = dict(zip(names, keys, strict=True))
    data["w"] = effects(keys) * noise(rng, 500)
    found = riskcore.assess(data, names, "w", population="latent-class")
    fit = LatentClass.fit(data, names, weight="w")
    same = LatentClass.fit(tabulate(data, names, "w"))
    assert found.model.smoothing.within == fit.smoothing.within == same.smoothing.within
    words = f"weights smoothed by the keys ({fit.smoothing.in_words})"
    assert words in " ".join(found.summary().split())
    assert "smoothed by the keys" in fit._repr_html_()
    assert (
        found.cell_risk == riskcore.assess(data, names, "w", population=fit).cell_risk
    ).all()


def test_rows_of_several_records_have_one_weight():
    table = CellTable.of([[0, 0, 1]], frequency=[2, 1, 3], weight_sum=[8.0, 10.0, 9.0])
    # Weights 4, 4 and 10 around 6.
    assert table.weight_spread.tolist() == pytest.approx([24.0 / 36.0, 0.0])
    assert CellTable.of([[0, 1]], frequency=[2, 3]).weight_spread.tolist() == [0.0, 0.0]
    assert table.some(table.unique).weight_spread is None
    assert table.scaled(0.5).weight_spread.tolist() == table.weight_spread.tolist()
    assert table.scaled(0.5).weight_sum.tolist() == [9.0, 4.5]


def test_weights_of_unknown_records_stay_as_they_are_and_it_is_said():
    keys, rng = columns(600)
    weights = effects(keys) * noise(rng, 600)
    table = CellTable.of(keys, weight_sum=weights)
    lost = replace(table, rows=None)
    model = LogLinear.fit(lost)
    assert model.smoothing is None
    words = "weights as they are: those of single records are not known"
    assert words in model.fit_in_words
    assert words not in LogLinear.fit(table).fit_in_words
    even = replace(lost, weight_sum=20.0 * lost.records)
    assert words not in LogLinear.fit(even).fit_in_words


def test_means_of_matching_records_are_those_of_a_plain_count():
    keys, rng = columns(200)
    table = CellTable.of(keys)
    values = rng.random(len(table))
    codes = [np.array([ANY, 0, 1, 5, ANY]), np.array([0, 0, ANY, 4, ANY])]
    last = np.array([ANY, 0, ANY, 3, ANY])
    few = CellTable((*codes, last), SIZES, np.ones(5, int), np.ones(5), table.keys)
    found = few.means_in(table, values)
    for one, *cell in zip(found, *few.codes, strict=True):
        match = np.ones(len(table), bool)
        for code, column in zip(cell, table.codes, strict=True):
            match &= (column == code) | (code == ANY)
        if match.any():
            right = np.average(values[match], weights=table.records[match])
            assert one == pytest.approx(right, rel=1e-12)
        else:
            assert math.isnan(one)
    assert few.matches_in(table)[-1] == 200


def test_protection_holds_by_the_smoothed_weights():
    keys, rng = columns(800)
    names = ["a", "b", "c", "d"]
    data = dict(zip(names, [*keys, rng.integers(0, 20, 800)], strict=True))
    data["w"] = effects(keys) * noise(rng, 800)
    model = LatentClass.fit(data, names, weight="w")
    assert model.smoothing is not None
    before = riskcore.assess(data, names, "w", population=model)
    safe = riskcore.protect(data, names, "w", threshold=0.2, population=model)
    after = riskcore.assess(safe.data, names, "w", population=model, missing="wildcard")
    assert before.unsafe_count(0.2) > 100
    assert after.unsafe_count(0.2) == 0


@pytest.mark.parametrize("unit", [1e-250, 1e250])
def test_squares_of_weights_do_not_overflow(unit):
    keys, rng = columns(600)
    weights = effects(keys) * noise(rng, 600)
    _, smoothed = fitted(keys, weights)
    table, far = fitted(keys, weights * unit)
    assert far.within == pytest.approx(smoothed.within, rel=1e-12)
    assert far.between == pytest.approx(smoothed.between, rel=1e-12)
    assert np.isfinite(far.mean_weight(table)).all()
    wide, odd = fitted([[0, 0, 1, 1, 2]], [1e-250, 3e-250, 5e249, 2e250, 1.0])
    assert np.isfinite(odd.mean_weight(wide)).all()
