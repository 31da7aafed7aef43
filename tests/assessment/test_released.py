"""The risk of released records, counted among the records of the original."""

import numpy as np
import pytest

from riskcore import assess, protect, simulate
from riskcore.assessment.released import assess_released
from tests.assessment.test_margins import KEYS, RULES, file
from tests.fits import fits_of, risks_of


def blanks(seed, data, share=0.3):
    """Return values to blank, none that are missing already."""
    rng = np.random.default_rng(seed + 100)
    return {
        key: (rng.random(len(data["w"])) < share)
        & np.array([value is not None for value in data[key]])
        for key in KEYS
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("missing", RULES)
def test_each_record_has_the_risk_of_who_fits_it(seed, missing):
    data = file(seed)
    masks = blanks(seed, data)
    found = assess_released(assess(data, KEYS, "w", missing=missing), masks)
    whole, f, F = fits_of(data, KEYS, masks, data["w"], missing)
    _, _, risk = risks_of(data, KEYS, masks, data["w"], missing)
    cells = found.cells
    assert np.array_equal(cells.whole[cells.inverse], whole)
    assert cells.sample_frequency[cells.inverse] == pytest.approx(f, rel=1e-13)
    assert cells.population_frequency[cells.inverse] == pytest.approx(F, rel=1e-13)
    assert found.individual_risk == pytest.approx(risk, rel=1e-12)
    assert found.expected_reidentifications == pytest.approx(risk.sum(), rel=1e-12)
    assert found.k_anonymity == whole.min()
    assert found.below(3).records == np.count_nonzero(whole < 3)


def test_blanks_of_others_make_nobody_safer():
    data = {"key": ["R", "L", *"BBBB"]}
    original = assess(data, ["key"])
    alone = assess_released(original, {})
    assert alone.individual_risk.tolist() == original.individual_risk.tolist()
    after = assess_released(original, {"key": np.array([True] + [False] * 5)})
    assert after.individual_risk.tolist() == [1 / 6, 1, *[1 / 4] * 4]


def test_households_have_the_risks_of_their_released_members():
    data = file(4, missing=0.0)
    home = np.arange(30) // 3
    masks = blanks(4, data)
    original = assess({**data, "hh": home}, KEYS, "w", "hh")
    found = assess_released(original, masks)
    _, _, risk = risks_of(data, KEYS, masks, data["w"])
    expected = [1 - np.prod(1 - risk[home == one]) for one in range(10)]
    assert found.household_risk == pytest.approx(np.repeat(expected, 3), rel=1e-12)


def survey(n=1500):
    drawn = simulate.microdata(n, np.random.default_rng(7))
    keys = ["REGION", "SEX", "AGE", "MARSTAT"]
    drawn["REGION"], drawn["AGE"] = drawn["REGION"] // 100, drawn["AGE"] // 5
    return {name: drawn[name] for name in [*keys, "WEIGHT"]}, keys


@pytest.mark.parametrize("population", ["weights", "latent-class"])
def test_expected_reidentifications_have_an_interval(population):
    data, keys = survey()
    masks = {"AGE": np.random.default_rng(1).random(len(data["AGE"])) < 0.2}
    found = assess_released(assess(data, keys, "WEIGHT", population=population), masks)
    total = found.expected_reidentifications
    assert total == pytest.approx(found.individual_risk.sum(), rel=1e-12)
    narrow, wide = (
        found.expected_reidentifications_interval(level) for level in (0.5, 0.95)
    )
    assert 0 < wide[0] < narrow[0] < total < narrow[1] < wide[1] < found.cells.n
    low, high = found.expected_population_uniques_interval()
    assert 0 <= low <= high < found.cells.n


def test_the_interval_holds_that_missing_keys_may_not_fit():
    """In a file of all people nothing else is unknown."""
    rng = np.random.default_rng(5)
    people = {"a": rng.integers(0, 20, 3000), "b": rng.integers(0, 15, 3000)}
    data = {name: column.astype(object) for name, column in people.items()}
    for gone in (0.0, 0.1):
        for column in data.values():
            column[rng.random(3000) < gone] = None
        safe = protect(data, ["a", "b"], k=3, sampling_fraction=1.0).protected
        kept = [np.array([x is not None for x in safe.data[name]]) for name in data]
        truth = sum(
            1.0
            / np.count_nonzero(
                np.logical_and.reduce(
                    [
                        (column == column[i]) | ~there[i]
                        for column, there in zip(people.values(), kept, strict=True)
                    ]
                )
            )
            for i in range(3000)
        )
        low, high = safe.expected_reidentifications_interval()
        width = (high - low) / safe.expected_reidentifications
        assert width < 1e-9 if gone == 0.0 else 0.01 < width < 0.5
        assert low - 1e-6 <= truth <= high + 1e-6


def test_the_risk_of_a_model_never_rises_when_a_key_is_blanked():
    data, keys = survey()
    original = assess(data, keys, "WEIGHT", population="latent-class")
    n = len(data["AGE"])
    before, masks = original.individual_risk, {}
    for key in ("AGE", "REGION", "SEX"):
        masks[key] = np.ones(n, bool)
        after = assess_released(original, masks).individual_risk
        assert np.all(after <= before * (1 + 1e-9))
        assert after.sum() < before.sum()
        before = after


def test_sums_of_cells_are_not_pulled_to_one():
    """Keys without a favorite: twice the risk was shown where keys were blanked."""
    rng = np.random.default_rng(3)
    sizes = {"a": 30, "b": 30, "c": 12, "d": 2}
    people = {name: rng.integers(0, values, 30_000) for name, values in sizes.items()}
    data = {name: column[:6000] for name, column in people.items()}
    safe = protect(data, list(sizes), sampling_fraction=0.2, k=3)
    kept = {name: ~safe.masks[name] for name in sizes}
    truth = 0.0
    for i in range(6000):
        fits = np.ones(30_000, bool)
        for name in sizes:
            if kept[name][i]:
                fits &= people[name] == data[name][i]
        truth += 1.0 / np.count_nonzero(fits)
    shown = safe.protected.expected_reidentifications
    assert shown == pytest.approx(truth, rel=0.08)
