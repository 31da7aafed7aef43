"""Plans for several sets of keys, and for many: against all plans of single records."""

from itertools import combinations

import numpy as np
import pytest

from riskcore import protect, simulate
from riskcore.core.risk.individual import individual_risk_from_frequencies
from tests.fits import least_of_rows

KEYS = ["a", "b", "c", "d"]
SETS = [["a", "b"], ["b", "c", "d"], ["d", "a"]]


pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows",
    "ignore::riskcore.protection.protect.HouseholdKeyDiffers",
)


def tiny(seed, n=5, keys=KEYS):
    """Return a small file with weights."""
    rng = np.random.default_rng(seed)
    data = {key: rng.integers(0, 2 + k % 2, n).tolist() for k, key in enumerate(keys)}
    data["w"] = rng.uniform(2, 9, n).round(1).tolist()
    return data


def by_record(data, sets, keys, k, threshold):
    """Return the fewest blanks of each record, trying all its plans."""
    return sum(
        next(
            size
            for size in range(len(keys) + 1)
            if any(
                _safe_of(i, data, one, sets, k, threshold)
                for one in combinations(keys, size)
            )
        )
        for i in range(len(data["w"]))
    )


def _safe_of(i, data, blank, sets, k, threshold):
    """Tell whether one record is safe with some keys blanked in it alone."""
    weights, safe = np.array(data["w"]), True
    for one in sets:
        kept = [np.array(data[key]) for key in one if key not in blank]
        alike = np.logical_and.reduce(
            [column == column[i] for column in kept] or [np.ones(len(weights), bool)]
        )
        f, F = float(alike.sum()), weights[alike].sum()
        safe &= k is None or f >= k
        if threshold is not None:
            risk = individual_risk_from_frequencies(f, max(f, F))
            safe &= bool(risk < threshold)
    return safe


def planned(data, sets, k, threshold, **asked):
    weight = "w" if threshold is not None else None
    how = {"k": k, "threshold": threshold, "population": "weights", **asked}
    return protect(data, sets, weight, **how)


GOALS = [(2, None), (None, 0.14), (2, 0.12)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("k", "threshold"), GOALS)
def test_tiny_files_from_several_sets_of_keys(seed, k, threshold):
    data = tiny(seed)
    result = planned(data, SETS, k, threshold)
    if result.goals_met:
        assert values(result) == by_record(data, SETS, KEYS, k, threshold)


def survey(n, seed=1):
    drawn = simulate.microdata(n, np.random.default_rng(seed))
    drawn["REGION"] = drawn["REGION"] // 100
    keys = ["REGION", "SEX", "AGE", "MARSTAT", "EDUCATION", "HHSIZE"]
    return {name: drawn[name] for name in [*keys, "WEIGHT", "HOUSEHOLD"]}, keys


def values(result):
    return sum(result.suppressed.values())


def test_no_order_of_records_keys_or_sets_matters():
    data, keys = survey(400, 5)
    order = np.random.default_rng(2).permutation(len(data["SEX"]))
    moved = {name: column[order] for name, column in data.items()}
    sets = [keys[:3], keys[2:5], [keys[5], keys[0], keys[4]]]
    turned = [one[::-1] for one in sets[::-1]]

    def rows(data, result):
        columns = [data[key] for key in [*keys, "WEIGHT"]]
        columns += [result.masks[key] for key in keys]
        return sorted(zip(*(column.tolist() for column in columns), strict=True))

    goals = {"k": 3, "threshold": 0.02, "population": "weights"}
    one = protect(data, sets, "WEIGHT", **goals)
    other = protect(moved, turned, "WEIGHT", **goals)
    assert rows(data, one) == rows(moved, other)


@pytest.mark.parametrize("seed", [0, 3, 9, 11])
def test_many_keys_of_a_tiny_file(seed):
    keys = [f"k{i}" for i in range(10)]
    data = tiny(seed, 5, keys)
    result = planned(data, [keys], 2, None)
    assert result.goals_met
    assert values(result) == by_record(data, [keys], keys, 2, None) > 3


def test_many_keys_of_a_survey():
    rng = np.random.default_rng(4)
    keys = [f"k{i}" for i in range(11)]
    data = {key: rng.integers(0, 2, 400) for key in keys}
    result = protect(data, keys, k=2)
    codes = np.stack([data[key] for key in keys], axis=1)
    least = least_of_rows(codes, np.ones(codes.shape), 2)
    assert result.goals_met
    lost = sum(result.masks[key].astype(int) for key in keys)
    assert lost.tolist() == least.tolist()
    assert least.sum() > 0


def test_more_keys_than_a_mask_has_bits_are_planned_set_by_set():
    data = {f"k{i}": [0, 1, 1] for i in range(64)}
    sets = [[f"k{i}" for i in range(at, at + 8)] for at in range(0, 64, 8)]
    result = protect(data, sets, k=2)
    assert values(result) == 64
    assert all(mask.tolist() == [True, False, False] for mask in result.masks.values())


def test_strata_of_a_file_are_planned_by_themselves():
    parts = [tiny(seed, 6, KEYS[:3]) for seed in range(60)]
    own = [planned(one, [KEYS[:3]], None, 0.1) for one in parts]
    parts = [one for one, result in zip(parts, own, strict=True) if result.goals_met]
    data = {key: [x for one in parts for x in one[key]] for key in [*KEYS[:3], "w"]}
    data["s"] = [number for number, one in enumerate(parts) for _ in one["w"]]
    result = planned(data, KEYS[:3], None, 0.1, strata=["s"])
    least = sum(by_record(one, [KEYS[:3]], KEYS[:3], None, 0.1) for one in parts)
    assert values(result) == least > 60


def test_related_and_household_keys_are_blanked_together():
    data, keys = survey(600, 3)
    shared = {
        "household": "HOUSEHOLD",
        "household_threshold": 0.3,
        "household_keys": ["REGION", "HHSIZE"],
    }
    sets = [keys[:4], [*keys[2:], "REGION"]]
    result = protect(
        data, sets, "WEIGHT", threshold=0.1, population="weights",
        related={"AGE": ["MARSTAT"], "MARSTAT": ["AGE"]}, **shared,
    )  # fmt: skip
    assert result.goals_met
    assert result.masks["AGE"].any()
    assert np.array_equal(result.masks["AGE"], result.masks["MARSTAT"])
    for key in shared["household_keys"]:
        home = data["HOUSEHOLD"][result.masks[key]]
        assert len(home)
        assert np.all(result.masks[key][np.isin(data["HOUSEHOLD"], home)])
