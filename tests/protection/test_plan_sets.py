"""Plans for several sets of keys, and for many: against all plans of tiny files."""

from itertools import combinations

import numpy as np
import pytest

from riskcore import protect, simulate
from riskcore.core.risk.individual import individual_risk_from_frequencies
from riskcore.protection.suppression import plan_parts

KEYS = ["a", "b", "c", "d"]
SETS = [["a", "b"], ["b", "c", "d"], ["d", "a"]]


pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows",
    "ignore::riskcore.protection.protect.HouseholdKeyDiffers",
    "ignore::riskcore.protection.suppression.certificate.CountsOnOthers",
)


def tiny(seed, n=5, keys=KEYS):
    """Return a small file with weights."""
    rng = np.random.default_rng(seed)
    data = {key: rng.integers(0, 2 + k % 2, n).tolist() for k, key in enumerate(keys)}
    data["w"] = rng.uniform(2, 9, n).round(1).tolist()
    return data


def is_safe(data, blanks, sets, keys, k, threshold):
    """Return which plans make a file safe, by definition: bool of shape (B,)."""
    codes = np.stack([data[key] for key in keys], axis=1)
    weights, safe = np.array(data["w"]), np.ones(len(blanks), bool)
    for one in sets:
        at = [keys.index(key) for key in one]
        kept = ~blanks[:, :, at]
        differ = codes[:, None, at] != codes[None, :, at]
        both = kept[:, :, None] & kept[:, None]
        match = ~np.any(both & differ, axis=3)
        full, some = kept.all(axis=2), kept.any(axis=2)
        if len(at) > 1:
            match &= ~(full[:, :, None] & ~some[:, None])
        f, F = match.sum(axis=2).astype(float), match @ weights
        if k is not None:
            safe &= np.all(f >= k, axis=1)
        if threshold is not None:
            found = individual_risk_from_frequencies(f, np.maximum(f, F))
            safe &= np.all(found < threshold, axis=1)
    return safe


def fewest(data, sets, keys, k, threshold, within, most):
    """Return the fewest blanks that make a file safe, by trying all; None if none."""
    n = len(data["w"])
    places = np.argwhere(within)
    for size in range(min(most, len(places)) + 1):
        chosen = np.array(list(combinations(range(len(places)), size)), np.intp)
        for part in np.array_split(chosen, 1 + len(chosen) // 20_000):
            blanks = np.zeros((len(part), n, len(keys)), bool)
            at = places[part]
            blanks[np.arange(len(part))[:, None], at[..., 0], at[..., 1]] = True
            if np.any(is_safe(data, blanks, sets, keys, k, threshold)):
                return size
    return None


def by_record(data, sets, keys, k, threshold):
    """Return the fewest blanks of each record, if all others keep theirs."""
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


def planned(data, sets, k, threshold, plan):
    weight = "w" if threshold is not None else None
    return protect(data, sets, weight, k=k, threshold=threshold, plan=plan)


def blanks_of(result, keys=KEYS):
    return np.stack([result.masks[key] for key in keys], axis=1)


GOALS = [(2, None), (None, 0.14), (2, 0.12)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("k", "threshold"), GOALS)
def test_tiny_files_from_several_sets_of_keys(seed, k, threshold):
    data = tiny(seed)
    record = planned(data, SETS, k, threshold, "record")
    if not record.goals_met:
        return
    if len(record.rounds) == 1:
        assert values(record) == by_record(data, SETS, KEYS, k, threshold)
        assert record.certificate.optimal
    own = blanks_of(record)
    restored = planned(data, SETS, k, threshold, "restore")
    least = fewest(data, SETS, KEYS, k, threshold, own, most=20)
    assert restored.goals_met
    assert not np.any(blanks_of(restored) & ~own)
    assert restored.certificate.lower_bound <= least
    assert values(restored) == least
    assert is_safe(data, blanks_of(restored)[None], SETS, KEYS, k, threshold).all()


def survey(n, seed=1):
    drawn = simulate.microdata(n, np.random.default_rng(seed))
    drawn["REGION"] = drawn["REGION"] // 100
    keys = ["REGION", "SEX", "AGE", "MARSTAT", "EDUCATION", "HHSIZE"]
    return {name: drawn[name] for name in [*keys, "WEIGHT", "HOUSEHOLD"]}, keys


def values(result):
    return sum(result.suppressed.values())


@pytest.mark.slow
def test_a_survey_from_all_pairs_and_threes():
    data, keys = survey(1500)
    for subsets, k in ((2, 3), (3, 3)):
        results = {
            plan: protect(data, keys, k=k, subsets=subsets, plan=plan)
            for plan in ("record", "restore")
        }
        for result in results.values():
            assert result.goals_met
            for one in result.sets:
                assert one.protected.cells.sample_frequency.min() >= k
            assert result.certificate.lower_bound <= result.certificate.cost
        assert results["record"].certificate.optimal
        assert results["record"].certificate.leaning == 0
        assert values(results["restore"]) < values(results["record"])
        for key in keys:
            own = results["record"].masks[key]
            assert not np.any(results["restore"].masks[key] & ~own)


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

    for plan in ("record", "restore"):
        one = protect(data, sets, "WEIGHT", k=3, threshold=0.02, plan=plan)
        other = protect(moved, turned, "WEIGHT", k=3, threshold=0.02, plan=plan)
        assert one.certificate == other.certificate
        assert rows(data, one) == rows(moved, other)


@pytest.mark.parametrize("seed", [0, 3, 9, 11])  # others take long to try all plans
def test_many_keys_have_a_bound(seed):
    keys = [f"k{i}" for i in range(10)]
    data = tiny(seed, 5, keys)
    record = planned(data, [keys], 2, None, "record")
    assert record.goals_met
    assert values(record) > 3
    restored = planned(data, [keys], 2, None, "restore")
    least = fewest(data, [keys], keys, 2, None, blanks_of(record, keys), most=12)
    assert 0 < restored.certificate.lower_bound <= least
    assert restored.goals_met
    assert least <= values(restored)


def test_many_keys_of_a_survey():
    rng = np.random.default_rng(4)
    keys = [f"k{i}" for i in range(11)]
    data = {key: rng.integers(0, 2, 400) for key in keys}
    results = {
        plan: protect(data, keys, k=2, plan=plan) for plan in ("record", "restore")
    }
    assert values(results["restore"]) < values(results["record"])
    for result in results.values():
        assert result.goals_met
        assert 0 < result.certificate.lower_bound <= result.certificate.cost


def test_too_many_keys_for_a_mask_are_refused():
    data = {f"k{i}": [0, 1, 1] for i in range(64)}
    sets = [[f"k{i}" for i in range(at, at + 8)] for at in range(0, 64, 8)]
    assert protect(data, sets, k=2).rounds
    with pytest.raises(ValueError, match="64 keys: at most 63"):
        protect(data, sets, k=2, plan="restore")


def tiny_strata(seeds, threshold):
    """Return tiny files as strata of one file, each of 6 records."""
    parts = []
    for seed in seeds:
        data = tiny(seed, 6, KEYS[:3])
        own = planned(data, [KEYS[:3]], None, threshold, "record")
        if own.goals_met and own.rounds:
            parts.append(data)
    names = [*KEYS[:3], "w"]
    joined = {key: [x for one in parts for x in one[key]] for key in names}
    joined["s"] = [number for number, one in enumerate(parts) for _ in one["w"]]
    return joined, parts


def test_parts_of_a_file_are_planned_exactly():
    data, parts = tiny_strata(range(60), 0.1)
    asked = {"threshold": 0.1, "strata": ["s"]}
    by_record = protect(data, KEYS[:3], "w", **asked)
    keys = [*KEYS[:3], "s"]
    blanks = np.zeros((len(data["s"]), 4), bool)
    blanks[:, :3] = blanks_of(by_record, KEYS[:3])
    least = sum(
        fewest(
            {**one, "s": [0] * 6},
            [keys],
            keys,
            None,
            0.1,
            blanks[6 * i : 6 * i + 6],
            most=20,
        )
        for i, one in enumerate(parts)
    )
    result = protect(data, KEYS[:3], "w", plan="restore", **asked)
    # More than are searched as one.
    assert result.certificate.by_record > 63
    assert result.certificate.lower_bound == least == values(result)


def test_without_work_the_bound_is_that_of_prices(monkeypatch):
    data, keys = survey(1000)
    exact = protect(data, keys, "WEIGHT", threshold=0.05, plan="restore")
    monkeypatch.setattr(plan_parts, "_ALL_WORK", 0)
    less = protect(data, keys, "WEIGHT", threshold=0.05, plan="restore")
    assert less.goals_met
    assert less.certificate.lower_bound < exact.certificate.lower_bound
    assert exact.certificate.lower_bound <= values(exact) <= values(less)
    assert exact.certificate.gap < 0.01


def test_related_and_household_keys_are_restored_together():
    data, keys = survey(600, 3)
    related = {"related": {"AGE": ["MARSTAT"], "MARSTAT": ["AGE"]}}
    shared = {
        "household": "HOUSEHOLD",
        "household_threshold": 0.3,
        "household_keys": ["REGION", "HHSIZE"],
    }
    sets = [keys[:4], [*keys[2:], "REGION"]]
    for settings in (related, related | shared):
        given = {"threshold": 0.1, **settings}
        record = protect(data, sets, "WEIGHT", **given)
        result = protect(data, sets, "WEIGHT", plan="restore", **given)
        assert result.goals_met
        if "related" in settings:
            assert np.array_equal(result.masks["AGE"], result.masks["MARSTAT"])
        for key in settings.get("household_keys", []):
            home = data["HOUSEHOLD"][result.masks[key]]
            assert np.all(result.masks[key][np.isin(data["HOUSEHOLD"], home)])
        assert values(result) < values(record)


def test_who_loses_the_last_key_of_a_set_is_seen_to_harm_others():
    # Of sets of two keys a plan by record takes both of some records.
    rng = np.random.default_rng(3)
    data = {key: rng.integers(0, 9, 60).tolist() for key in KEYS}
    sets = [["a", "b"], ["b", "c"], ["c", "d"]]
    record = protect(data, sets, k=8)
    assert any(one.without_keys for one in record.sets)
    result = protect(data, sets, k=8, plan="restore")
    assert result.goals_met == record.goals_met
    assert values(result) < values(record)
