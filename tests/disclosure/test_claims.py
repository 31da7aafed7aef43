"""Claims of identity: by hand, and by search through all pairs of records."""

import math

import numpy as np
import pytest

import riskcore
from riskcore.disclosure.audit import audit
from tests import needs

KEYS = ["a", "b", "c"]


def table(rows):
    return {name: [row[i] for row in rows] for i, name in enumerate(KEYS)}


def matches(record, other):
    """Return whether two records may be of one person: missing matches any value."""
    return all(
        x is None or y is None or x == y for x, y in zip(record, other, strict=True)
    )


def random_rows(rng, n, missing=0.0):
    rows = [tuple(rng.integers(0, 4, 3).tolist()) for _ in range(n)]
    return [
        tuple(None if rng.random() < missing else value for value in row)
        for row in rows
    ]


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_claims_by_search(seed, missing):
    rng = np.random.default_rng(seed)
    original = random_rows(rng, 40)
    made = random_rows(rng, 30, missing)
    weight = rng.uniform(2, 9, 40)
    found = audit(
        table(original) | {"w": weight}, table(made), KEYS, "w", population="weights"
    )
    identity = found.identity
    wanted = {}
    for i, record in enumerate(made):
        if sum(matches(record, other) for other in made) == 1:
            known = [k for k, other in enumerate(original) if matches(record, other)]
            f, F = len(known), math.fsum(weight[known].tolist())
            risk = riskcore.individual_risk_from_frequencies(f, F) if f else 0.0
            wanted[i] = f, float(risk)
    order = np.argsort(identity.rows)
    assert identity.rows[order].tolist() == [*wanted]
    assert identity.frequency[order].tolist() == [f for f, _ in wanted.values()]
    np.testing.assert_allclose(
        identity.right[order], [r for _, r in wanted.values()], rtol=1e-14
    )
    low, high = found.expected_right_claims_interval()
    assert low <= found.expected_right_claims <= high


def test_only_the_own_original_makes_a_claim_right():
    original = {"a": [1, 2, 3], "w": [4.0, 5.0, 6.0], "id": ["x", "y", "z"]}
    made = {"a": [2, 1, 3], "id": ["x", "y", "z"]}
    found = audit(original, made, ["a"], "w", record_by="id", population="weights")
    one = float(riskcore.individual_risk_from_frequencies(1, 6.0))
    assert found.claims == 3
    assert found.identity.right.tolist() == [0.0, 0.0, one]
    assert found.expected_right_claims == one


def test_a_released_record_with_a_new_id_is_nobodys():
    original = {"a": [1, 2], "w": [4.0, 5.0], "id": [7, 8]}
    made = {"a": [1, 2], "id": [8, 9]}
    found = audit(original, made, ["a"], "w", record_by="id", population="weights")
    assert found.identity.right.tolist() == [0.0, 0.0]
    # Also with the keys of any record of the original, be it the first or the last.
    made = {"a": [1, 2], "id": [9, 10]}
    found = audit(original, made, ["a"], "w", record_by="id", population="weights")
    assert found.identity.right.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("population", ["weights", "latent-class", "log-linear"])
@pytest.mark.parametrize("options", [{}, {"record_by": "id"}, {"holdout": {}}])
def test_a_new_category_that_a_missing_key_matches(population, options):
    """To a model it is any value, as the missing key of the record that matches it."""
    rng = np.random.default_rng(3)
    data = {"a": [*rng.integers(0, 4, 60).tolist(), 4], "b": [*rng.integers(0, 3, 60)],
            "w": [20.0] * 61, "id": [*range(61)]}  # fmt: skip
    data["b"] = [*map(int, data["b"]), None]
    made = {"a": [4, 9, 1], "b": [7, 7, 1], "id": [60, 5, 6]}
    if "holdout" in options:
        options = {"holdout": {"a": [4, 1], "b": [7, 1]}}
    found = audit(data, made, ["a", "b"], "w", population=population, **options)
    frequency = dict(
        zip(found.identity.rows.tolist(), found.identity.frequency, strict=True)
    )
    right = dict(zip(found.identity.rows.tolist(), found.identity.right, strict=True))
    assert (frequency[0], frequency[1], right[1]) == (0, 0, 0.0)
    assert right[0] > 0.0
    low, high = found.expected_right_claims_interval()
    assert low <= found.expected_right_claims <= high


def test_in_a_known_population_nobody_has_a_new_combination():
    data = {"a": [1, 2, 2], "b": [1, 2, None]}
    register = {"a": [1, 2, 2], "b": [1, 2, 1], "population_frequency": [3, 4, 5]}
    made = {"a": [1, 2, 2, 2], "b": [1, 2, 1, 9]}
    found = audit(data, made, ["a", "b"], population=register)
    right = dict(zip(found.identity.rows.tolist(), found.identity.right, strict=True))
    # Of the 9 with a = 2 there are 5 with b = 1.
    assert right == pytest.approx({0: 1 / 3, 1: 1 / 4, 2: 5 / 9 / 5, 3: 0.0})
    total = found.expected_right_claims
    assert found.expected_right_claims_interval() == (total, total)


def test_no_more_claims_than_there_are_can_be_right():
    a = [*range(49), 0]
    data = {"a": a, "b": [10 * i % 7 for i in a], "w": [4.0] * 50}
    found = audit(data, data, ["a", "b"], "w", population="latent-class")
    low, high = found.expected_right_claims_interval()
    assert low < found.expected_right_claims < high == found.claims == 48


def test_without_weights_the_original_is_the_population():
    found = audit({"a": [1, 2, 2]}, {"a": [1, 2]}, ["a"])
    assert found.identity.right.tolist() == [1.0, 0.5]
    assert found.expected_right_claims_interval() == (1.5, 1.5)


def test_categories_that_the_original_lacks_are_wrong_claims():
    found = audit({"a": [1, 2]}, {"a": [3, 1]}, ["a"])
    right = dict(zip(found.identity.rows.tolist(), found.identity.right, strict=True))
    assert right == {0: 0.0, 1: 1.0}


def test_text_and_numbers_are_refused():
    with pytest.raises(
        TypeError, match="column 'a': numbers in one file and text in ano"
    ):
        audit({"a": [1, 2]}, {"a": ["1", "2"]}, ["a"])


def test_a_known_population_gives_its_shares():
    people = {"a": [1, 2], "population_frequency": [4, 1]}
    found = audit(
        {"a": [1, 2], "w": [2.0, 2.0]}, {"a": [1, 2]}, ["a"], "w", population=people
    )
    assert found.expected_right_claims == 1.25
    assert found.expected_right_claims_interval() == (1.25, 1.25)


# Records that correspond


def swapped(rng, original):
    """Return the records with one key swapped between pairs, in another order."""
    order = rng.permutation(len(original["id"]))
    made = {name: np.asarray(values)[order] for name, values in original.items()}
    first, second = np.arange(0, 20, 2), np.arange(1, 20, 2)
    a = made["a"].copy()
    a[first], a[second] = made["a"][second], made["a"][first]
    del made["w"]
    return {**made, "a": a}


@pytest.mark.parametrize("missing", ["wildcard", "category"])
@pytest.mark.parametrize("seed", range(4))
def test_the_own_original_by_search(seed, missing):
    """After a swap, in another order, with records left out and strangers added."""
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 60, 0.05)
    original = table(rows) | {
        "w": rng.uniform(2, 9, 60),
        "id": [f"p{i}" for i in rng.permutation(60)],
    }
    made = swapped(rng, original)
    made = {name: values[:30].tolist() for name, values in made.items()}
    made["id"][3] = "stranger"
    original["id"][
        int(np.flatnonzero(np.array(original["id"]) == made["id"][5])[0])
    ] = "x"
    found = audit(
        original, made, KEYS, "w", record_by="id", population="weights", missing=missing
    )
    free = audit(original, made, KEYS, "w", population="weights", missing=missing)
    probable = dict(
        zip(free.identity.rows.tolist(), free.identity.right.tolist(), strict=True)
    )
    place = {one: row for row, one in enumerate(original["id"])}
    released = [*zip(*(made[name] for name in KEYS), strict=True)]
    same = matches if missing == "wildcard" else (lambda one, other: one == other)
    wanted = {}
    for i, chance in probable.items():
        own = place.get(made["id"][i])
        right = own is not None and same(released[i], rows[own])
        wanted[i] = chance if right else 0.0
    result = dict(
        zip(found.identity.rows.tolist(), found.identity.right.tolist(), strict=True)
    )
    f = dict(zip(free.identity.rows.tolist(), free.identity.frequency, strict=True))
    for i, one in result.items():
        # Without a complete record of its keys, its own id makes a claim certain.
        assert one == wanted[i] or (f[i] == 0 and one > wanted[i] > 0.0)
    assert 0 < sum(one > 0 for one in wanted.values()) < len(wanted)
    assert found.identity.others is None  # no model says how often swaps hit
    low, high = found.expected_right_claims_interval()
    assert low <= found.expected_right_claims <= high
    assert high <= free.expected_right_claims_interval()[1]


def test_a_holdout_beside_records_that_correspond():
    original = {"a": [1, 2, 3, 4], "id": [1, 2, 3, 4]}
    made = {"a": [2, 1, 3, 5], "id": [1, 2, 3, 4]}
    found = audit(original, made, ["a"], record_by="id", holdout={"a": [1, 5]})
    assert found.expected_right_claims == 1.0
    assert found.identity.others.matched == 2 * 2


@needs.duckdb
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("which", [0, 1])
def test_an_engine_has_no_ids(engine, which):
    import duckdb
    import polars as pl

    frame = pl.DataFrame({"a": [1, 2], "id": [7, 8]})
    held = frame.lazy() if engine == "polars" else duckdb.sql("from frame")
    files = [frame, frame]
    files[which] = held
    with pytest.raises(TypeError, match=r"record_by.*single records"):
        audit(*files, ["a"], record_by="id")
    assert audit(*files, ["a"]).claims == 2


@pytest.mark.parametrize(
    ("mine", "theirs", "message"),
    [
        ([1, 2, None], [1, 2, 3], "missing in 1 of 3 records of the original file"),
        ([1, 2, 3], [1, 2, 2], "another record in 1 of 3 records of the released file"),
        ([1, 2, 3], ["1", "2", "3"], "numbers in one file and text in another"),
    ],
)
def test_ids_that_tell_nothing_are_refused_before_any_work(
    monkeypatch, mine, theirs, message
):
    def work(*_, **__):
        pytest.fail("it was assessed")

    monkeypatch.setattr("riskcore.disclosure.audit.assess_coded", work)
    data = {"a": [1, 2, 3]}
    with pytest.raises((TypeError, ValueError), match=message):
        audit({**data, "id": mine}, {**data, "id": theirs}, ["a"], record_by="id")


def test_ids_are_equal_across_types():
    floats = {"a": [1, 2], "id": np.array([2.0, 1.0])}
    found = audit({"a": [1, 2], "id": [1, 2]}, floats, ["a"], record_by="id")
    assert found.identity.right.tolist() == [0.0, 0.0]
    days = [
        np.array(["2020-01-02", "2020-01-03"], kind) for kind in ("M8[s]", "M8[ns]")
    ]
    found = audit(
        {"a": [1, 2], "id": days[0]}, {"a": [1, 2], "id": days[1]}, ["a"],
        record_by="id",
    )  # fmt: skip
    assert found.identity.right.tolist() == [1.0, 1.0]


def test_by_a_model_of_the_population_each_claim_has_the_risk_of_its_record():
    """Copies of the original's own records have the risks that `assess` finds."""
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 5, 150) for name in KEYS} | {"w": [20.0] * 150}
    for population in ("latent-class", "log-linear", "weights"):
        found = audit(data, data, KEYS, "w", population=population)
        assessed = riskcore.assess(data, KEYS, "w", population=population)
        unique = assessed.records["sample_frequency"] == 1
        order = np.argsort(found.identity.rows)
        assert found.identity.rows[order].tolist() == np.flatnonzero(unique).tolist()
        np.testing.assert_allclose(
            found.identity.right[order], assessed.individual_risk[unique], rtol=1e-12
        )


def test_levels_are_checked():
    found = audit({"a": [1, 2], "w": [4.0, 5.0]}, {"a": [1, 2]}, ["a"], "w")
    for level in (0.0, 1.0, math.nan):
        for interval in (found.identity.excess_interval, found.identity.interval):
            with pytest.raises(ValueError, match="level"):
                interval(level)
    low, high = found.identity.interval(0.5)
    wide = found.identity.interval(0.99)
    assert wide[0] < low < found.expected_right_claims < high < wide[1]


def test_the_chance_of_a_holdout_widens_the_interval_and_that_of_a_model_does_not():
    found = audit(
        {"a": [1, 2, 3], "w": [4.0] * 3}, {"a": [1, 2, 3]}, ["a"], "w",
        holdout={"a": [1, 1, 2]}, population="weights",
    ).identity  # fmt: skip
    right = float(riskcore.individual_risk_from_frequencies(1, 4.0))
    two = float(riskcore.individual_risk_from_frequencies(2, 8.0))
    assert found.excess == pytest.approx(2 * right - two)
    error = 1.959963984540054 * math.sqrt(3 * right**2 + 3 * right**2)
    assert two < right  # few people are hit, and chance reaches as far as for three
    assert found.excess_interval() == pytest.approx(
        (found.excess - error, found.excess + error)
    )
    register = {"a": [1, 2, 3], "population_frequency": [4, 4, 4]}
    known = audit(
        {"a": [1, 2, 3]}, {"a": [1, 2, 3]}, ["a"], population=register
    ).identity
    error = 1.959963984540054 * math.sqrt(3 / 16)
    assert known.excess_interval() == pytest.approx(
        (known.excess - error, known.excess + error)
    )


def test_records_that_lack_keys_count_by_their_share():
    """Of the people who agree with a blank record, so many have the claim's keys."""
    register = {"a": [1, 1, 1, 2], "b": [1, 2, 3, 1],
                "population_frequency": [2, 3, 5, 4]}  # fmt: skip
    data = {"a": [2, 1, None], "b": [1, None, 3]}
    made = {"a": [1, 1, 1, 2], "b": [1, 2, 3, 1]}
    found = audit(data, made, ["a", "b"], population=register)
    right = dict(zip(found.identity.rows.tolist(), found.identity.right, strict=True))
    # The second record is one of the 10 with a = 1; the third is b = 3 for certain.
    assert right == pytest.approx(
        {0: 2 / 10 / 2, 1: 3 / 10 / 3, 2: 1 / 5, 3: 1 / 4}, rel=1e-12
    )
    assert found.identity.frequency.tolist().count(0) == 3
    # A file of blanks alone is as it was.
    nobody = audit({"a": [None, None]}, {"a": [1, 2]}, ["a"])
    assert nobody.claims == 2
