"""Restoring a plan by record: against all plans of tiny files, and its bound."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import optimize, sparse

from riskcore import protect, simulate
from riskcore.core.risk.individual import individual_risk_from_frequencies
from riskcore.protection.suppression import plan_exact
from riskcore.protection.suppression import plan_restore as restore
from riskcore.protection.suppression.certificate import (
    Certificate,
    CountsOnOthers,
    certificate_facts,
    leaning,
)
from riskcore.protection.suppression.plan_bound import (
    Bound,
    Unsafe,
    helpers_of,
    least_helpers,
    shares_of_count,
    shares_of_weight,
)

KEYS = ["a", "b", "c"]
HARD = 55


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def tiny(seed):
    """Return a file of six records, and the alpha and threshold for it."""
    rng = np.random.default_rng(seed)
    n = 6
    data = {key: rng.integers(0, 2 + k, n).tolist() for k, key in enumerate(KEYS)}
    weighted = seed % 3 == 0
    if weighted:
        data["w"] = rng.uniform(2, 9, n).round(1).tolist()
    threshold = 0.12 if weighted else (0.6, 0.4)[seed % 2]
    return data, weighted, threshold, (1.0, 1.0, 0.5, 0.0)[seed // 3 % 4]


def risks(data, blanks, alpha):
    """Return the risks by definition for many plans: bool of shape (B, n, 3)."""
    codes = np.stack([data[key] for key in KEYS], axis=1)
    weights = np.array(data.get("w", np.ones(len(codes))))
    kept = ~blanks
    both = kept[:, :, None] & kept[:, None]
    match = ~np.any(both & (codes[:, None] != codes[None]), axis=3)
    same = match & np.all(kept[:, :, None] == kept[:, None], axis=3)
    full, some = kept.all(axis=2), kept.any(axis=2)
    counts = np.where(match, alpha, 0.0)
    counts[full[:, :, None] & ~some[:, None]] = 0.0
    counts[same | (match & full[:, None]) | ~some[:, :, None]] = 1.0
    f, F = counts.sum(axis=2), counts @ weights
    return individual_risk_from_frequencies(f, np.maximum(f, F))


def fewest(data, threshold, alpha, within):
    """Return the fewest blanks that make a file safe, by trying all; None if none."""
    n = len(data["a"])
    places = np.argwhere(within)
    for size in range(len(places) + 1):
        chosen = np.array(list(combinations(range(len(places)), size)), np.intp)
        for part in np.array_split(chosen, 1 + len(chosen) // 20_000):
            blanks = np.zeros((len(part), n, 3), bool)
            at = places[part]
            blanks[np.arange(len(part))[:, None], at[..., 0], at[..., 1]] = True
            if np.any(np.all(risks(data, blanks, alpha) < threshold, axis=1)):
                return size
    return None


def planned(data, weighted, threshold, alpha, plan):
    weight = "w" if weighted else None
    return protect(data, KEYS, weight, threshold=threshold, alpha=alpha, plan=plan)


def blanks_of(result):
    return np.stack([result.masks[key] for key in KEYS], axis=1)


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_tiny_files_keep_all_they_can(start):
    fewer = 0
    for seed in range(start, start + 20):
        data, weighted, threshold, alpha = tiny(seed)
        by_record = planned(data, weighted, threshold, alpha, "record")
        if not by_record.goals_met or not by_record.rounds:
            continue
        result = planned(data, weighted, threshold, alpha, "restore")
        own = blanks_of(by_record)
        least = fewest(data, threshold, alpha, own)
        assert result.goals_met
        assert not np.any(blanks_of(result) & ~own), seed
        assert risks(data, blanks_of(result)[None], alpha).max() < threshold
        assert sum(result.suppressed.values()) == least, seed
        assert result.certificate.lower_bound <= least, seed
        fewer += least < own.sum()
    assert fewer


def test_an_exact_search_that_is_given_up_proves_nothing(monkeypatch):
    monkeypatch.setattr(restore, "_NODES", 10)
    data, weighted, threshold, alpha = tiny(HARD)
    own = blanks_of(planned(data, weighted, threshold, alpha, "record"))
    result = planned(data, weighted, threshold, alpha, "restore")
    least = fewest(data, threshold, alpha, own)
    assert not result.certificate.optimal
    assert result.certificate.lower_bound <= least <= sum(result.suppressed.values())


def survey(n, seed=1):
    drawn = simulate.microdata(n, np.random.default_rng(seed))
    drawn["REGION"] = drawn["REGION"] // 100
    keys = ["REGION", "SEX", "AGE", "MARSTAT", "EDUCATION", "HHSIZE"]
    return {name: drawn[name] for name in [*keys, "WEIGHT", "HOUSEHOLD"]}, keys


def test_figures_of_a_survey():
    data, keys = survey(1000)
    results = {
        plan: protect(data, keys, "WEIGHT", threshold=0.05, plan=plan)
        for plan in ("record", "restore")
    }
    assert all(result.goals_met for result in results.values())
    values = {plan: sum(one.suppressed.values()) for plan, one in results.items()}
    assert values["restore"] < values["record"]
    one = results["restore"]
    assert one.certificate.lower_bound < one.certificate.cost == values["restore"]
    assert 0 < one.certificate.gap < 0.06
    assert one.certificate.by_record == values["record"]
    for key in keys:
        assert not np.any(one.masks[key] & ~results["record"].masks[key])
    assert results["record"].certificate.optimal
    assert results["record"].certificate.lower_bound == values["record"]


def test_a_gap_in_words():
    one = Certificate("restore", 10.0, 9.0, False, 20, 15, 5)
    facts = dict(certificate_facts(one.to_dict()))
    assert facts["cost of the plan"] == (
        "10; putting values back from the plan by record can reach 9 at the least "
        "(gap 10 %)"
    )


def test_who_counts_on_others():
    data, keys = survey(400)
    for plan in ("record", "restore"):
        result = protect(data, keys, "WEIGHT", threshold=0.05, plan=plan)
        before, aim = result.recoded, result.sets[0].aim
        nobody = np.zeros(result.n, bool)
        found = leaning([before], [aim], result.masks, nobody)
        assert found == result.certificate.leaning
        # By definition: each record's own blanks in the file as it was.
        by_hand = 0
        for i in np.flatnonzero(aim.unsafe(before)):
            kept = [key for key in keys if not result.masks[key][i]]
            alike = np.all([data[key] == data[key][i] for key in kept], axis=0)
            F = max(data["WEIGHT"][alike].sum(), alike.sum())
            by_hand += individual_risk_from_frequencies(float(alike.sum()), F) >= 0.05
        assert found == by_hand
        assert (found == 0) == (plan == "record")


def test_no_order_matters():
    data, keys = survey(300, 5)
    order = np.random.default_rng(2).permutation(len(data["SEX"]))
    moved = {name: column[order] for name, column in data.items()}
    settings = {"threshold": 0.05, "plan": "restore"}
    one = protect(data, keys, "WEIGHT", **settings)
    other = protect(moved, keys[::-1], "WEIGHT", **settings)
    assert other.certificate == one.certificate

    def rows(result, of):
        columns = [*of.values(), *(result.masks[key] for key in keys)]
        return sorted(zip(*(c.tolist() for c in columns), strict=True))

    content = [*keys, "WEIGHT"]
    assert rows(one, {k: data[k] for k in content}) == rows(
        other, {k: moved[k] for k in content}
    )


def test_households_related_columns_and_several_sets_of_keys():
    data, keys = survey(600, 3)
    settings = {
        "household": "HOUSEHOLD", "threshold": 0.1, "household_threshold": 0.2,
        "household_keys": ["REGION", "HHSIZE"], "related": {"AGE": ["MARSTAT"]},
    }  # fmt: skip
    sets = [keys[:4], [*keys[2:], "REGION"]]
    by_record = protect(data, sets, "WEIGHT", **settings)
    result = protect(data, sets, "WEIGHT", plan="restore", **settings)
    assert result.goals_met
    assert sum(result.suppressed.values()) < sum(by_record.suppressed.values())
    assert result.certificate.lower_bound <= result.certificate.cost
    assert not np.any(result.masks["AGE"] & ~result.masks["MARSTAT"])
    for key in ("REGION", "HHSIZE"):
        home = data["HOUSEHOLD"][result.masks[key]]
        assert np.all(result.masks[key][np.isin(data["HOUSEHOLD"], home)])


def test_costs_decide():
    data, keys = survey(300)
    cost = {**dict.fromkeys(keys, 1.0), "AGE": 7.0, "SEX": np.inf}
    result = protect(data, keys, "WEIGHT", threshold=0.05, plan="restore", cost=cost)
    spent = sum(cost[key] * count for key, count in result.suppressed.items() if count)
    assert result.certificate.cost == spent
    assert result.certificate.lower_bound <= spent
    assert result.suppressed["SEX"] == 0


def test_missing_values_are_no_blanks():
    data, keys = survey(300)
    rng = np.random.default_rng(1)
    for key in keys:
        holes = rng.random(len(data["SEX"])) < 0.1
        data[key] = np.ma.MaskedArray(data[key], holes)
    result = protect(data, keys, "WEIGHT", threshold=0.05, plan="restore")
    assert result.goals_met
    for key in keys:
        assert not np.any(result.masks[key] & data[key].mask)
    assert result.certificate.lower_bound <= result.certificate.cost


def test_records_that_cannot_be_made_safe_keep_their_blanks():
    data = {"a": list("xxyz"), "b": list("pqrs")}
    by_record = protect(data, ["a", "b"], threshold=0.2)
    assert not by_record.goals_met
    result = protect(data, ["a", "b"], threshold=0.2, plan="restore")
    assert result.suppressed == by_record.suppressed


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"missing": "category"}, "a blanked value matches no other record"),
        ({"suppression": "argus"}, "plans record by record"),
        ({"population": "log-linear"}, "depend on the values of the keys"),
        ({"rounds": 1}, "leave rounds out"),
    ],
)
def test_refused(given, why):
    data = {"a": list("xxyz"), "b": list("pqrs")}
    with pytest.raises(ValueError, match=why):
        protect(data, ["a", "b"], threshold=0.6, plan="restore", **given)
    with pytest.raises(ValueError, match="plan"):
        protect(data, ["a", "b"], threshold=0.6, plan="best")


def test_data_on_an_engine_are_planned_by_record():
    import polars

    lazy = polars.LazyFrame({"a": list("xxyz"), "b": list("pqrs")})
    with pytest.raises(TypeError, match="plan='restore'"):
        protect(lazy, ["a", "b"], threshold=0.6, plan="restore")


def test_most_records_counting_on_others_is_a_warning():
    data, keys = survey(300)
    with pytest.warns(CountsOnOthers, match="only because values of other records"):
        result = protect(data, keys, "WEIGHT", threshold=0.05, plan="restore")
    assert "rely on values blanked in others" in result.verdict
    assert result.certificate.leaning > result.certificate.unsafe / 2
    assert "count on" not in result._public_verdict


def unsafe(codes, price, may, needs):
    """Return units of one record each that need matches of any weight."""
    ones, places = np.ones(len(codes), np.int64), tuple(range(len(price)))
    share = shares_of_count(needs)
    return Unsafe(codes, ones, price, may, needs, 0.0 * ones, share, places)


def test_what_units_need():
    f, w, n = np.array([1.0, 3.0]), np.ones(2), np.array([9, 9])
    limit = np.full(2, 0.3)
    needs = least_helpers(f, f, limit, w, n, 1.0, lambda f, F: 1 / f)
    assert needs.tolist() == [3, 1]
    shares = shares_of_count(np.array([2.0, np.inf, 0.0]))
    assert shares.tolist() == [[0.5, 0], [0, 0], [0, 0]]
    one, two = np.ones(1), np.array([2.0])
    by_weight = shares_of_weight(
        one, one, 0.1 * one, two, n[:1], 1.0, lambda f, F: 1 / F
    )
    assert by_weight == pytest.approx(np.array([[0, 1 / 9]]), abs=1e-6)
    codes = np.array([[0, 0], [0, 1], [1, 1]], np.int32)
    may = np.array([2, 0, 0], np.uint64)
    found = helpers_of(codes, may, np.ones(3, int), np.array([5.0, 6.0, 7.0]))
    assert [each.tolist() for each in found] == [[1, 1, 0], [5, 5, 0], [5, 5, 0]]
    # Three records of different sex and age need each a second one.
    codes = np.array([[0, 0], [0, 1], [1, 0]], np.int32)
    three = unsafe(codes, np.ones(2), np.full(3, 3, np.uint64), np.ones(3))
    assert Bound([three]).raised(2.0, 50) == 2


def of_edges(units):
    """Return the optimum of the linear program whose dual `Bound` solves."""
    codes, n, m = units.codes, *units.codes.shape
    columns = [
        (i, S)
        for i in range(n)
        for S in range(1, 1 << m)
        if S & ~int(units.may[i]) == 0
    ]
    cost = [sum(units.price[k] for k in range(m) if S >> k & 1) for _, S in columns]
    rows = np.zeros((n, len(columns)))
    for c, (i, S) in enumerate(columns):
        for j in range(n):
            differ = sum(1 << k for k in range(m) if codes[i, k] != codes[j, k])
            if i == j:
                rows[j, c] = 1.0
            elif differ and differ & ~S == 0:
                rows[j, c] = 1 / units.needs[j]
    one_each = np.zeros((n, len(columns)))
    one_each[[i for i, _ in columns], np.arange(len(columns))] = 1.0
    solved = optimize.linprog(
        cost,
        A_ub=sparse.csr_array(np.vstack([-rows, one_each])),
        b_ub=np.concatenate([-np.ones(n), np.ones(n)]),
    )
    return solved.fun


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_near_that_of_linear_programming(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (40, 3)).astype(np.int32)
    codes = np.unique(codes, axis=0)
    n = len(codes)
    price, may = rng.choice([1.0, 2.5], 3), rng.integers(1, 8, n).astype(np.uint64)
    units = unsafe(codes, price, may, rng.integers(1, 4, n).astype(float))
    best = of_edges(units)
    # The programme of all together; what is apart is rounded up by itself.
    bound = Bound([units]).raised(best * 1.1, 300)
    assert 0.9 * best < bound < best + n


def test_k_anonymity_by_every_plan():
    data, keys = survey(400)
    sets = [keys[:4], keys[3:]]
    values = {}
    for plan in ("record", "restore"):
        result = protect(data, sets, k=3, plan=plan)
        assert result.goals_met
        assert (
            min(one.protected.cells.sample_frequency.min() for one in result.sets) >= 3
        )
        assert result.certificate.lower_bound is None or (
            result.certificate.lower_bound <= result.certificate.cost
        )
        values[plan] = sum(result.suppressed.values())
    assert values["restore"] < values["record"]
    rows = {"household": "HOUSEHOLD", "level": "household"}
    with pytest.raises(ValueError, match="a row is a household"):
        protect(data, keys[:1], k=3, plan="restore", **rows)


def test_a_key_that_costs_nothing_does_not_hold_the_search_up(monkeypatch):
    calls = []

    def counted(*arguments, **options):
        calls.append(arguments[3])
        assert len(calls) <= 100, "the limit rises by next to nothing"
        return plan_exact.cheapest(*arguments, **options)

    monkeypatch.setattr(restore, "cheapest", counted)
    rng = np.random.default_rng(0)
    data = {key: rng.integers(0, 4 - (key > "a"), 18) for key in "abc"}
    free = {"a": 0.0, "b": 1.0, "c": 1.5}
    for k in (2, 3, 4):
        protect(data, list(free), k=k, cost=free, plan="restore")
    assert calls
