"""Claims of identity: by hand, and by search through all pairs of records."""

import math

import numpy as np
import pytest

import riskcore
from riskcore.auditing.audit import audit

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
    original = random_rows(rng, 40, missing)
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
