"""What two releases tell together: by brute force, and by construction."""

import math
from collections import defaultdict

import numpy as np
import pytest

from riskcore import assess, protect
from riskcore.disclosure.two_releases import two_releases

KEYS = ["a", "b", "c"]


def agree(one, other):
    return all(
        x is None or y is None or x == y for x, y in zip(one, other, strict=True)
    )


def by_force(original, files, keys, columns):
    """Return the joined records and their sums of risks, by all pairs of records."""
    rows = [list(zip(*(f[c] for c in columns), strict=True)) for f in files]
    shown = [list(zip(*(f[c] for c in keys), strict=True)) for f in files]
    people = list(zip(*(original[c] for c in keys), strict=True))
    risk = defaultdict(float)
    joined = 0
    for i, mine in enumerate(rows[0]):
        there = {shown[1][j] for j, one in enumerate(rows[1]) if agree(mine, one)}
        if len(there) != 1:
            continue
        (other,) = there
        joined += 1
        both = tuple(
            x if x is not None else y for x, y in zip(shown[0][i], other, strict=True)
        )
        for what, pattern in (("mine", shown[0][i]), ("other", other), ("both", both)):
            fits = sum(agree(pattern, one) for one in people)
            risk[what] += 1.0 / fits if fits else 0.0
    return joined, risk


def blanked(random, data, share):
    return {
        name: [None if random.random() < share else one for one in column]
        for name, column in data.items()
    }


@pytest.mark.parametrize("seed", range(20))
def test_all_pairs_of_records_by_brute_force(seed):
    random = np.random.default_rng(seed)
    n = 25
    original = {k: [str(v) for v in random.integers(0, 3, n)] for k in KEYS}
    number = [str(v) for v in random.integers(0, 9, n)]
    files = [blanked(random, original, share) for share in (0.2, 0.4)]
    orders = [random.permutation(n), random.permutation(n)]
    files = [
        {k: [c[i] for i in order] for k, c in {**one, "x": number}.items()}
        for one, order in zip(files, orders, strict=True)
    ]
    people = assess(original, KEYS)  # a file that is its own population
    found = two_releases(people, *files, KEYS)
    assert set(found.columns) == {*KEYS, "x"}
    ways = [
        by_force(original, pair, KEYS, found.columns) for pair in (files[::-1], files)
    ]
    alone = sorted([found.joined_earlier, found.joined_later])
    sums = [*alone, found.together]
    # Either file may be joined to the other: the way that tells more is taken.
    assert max(risk["both"] for _, risk in ways) == pytest.approx(found.together)
    assert any(
        joined == found.joined
        and [*sorted([risk["mine"], risk["other"]]), risk["both"]]
        == pytest.approx(sums)
        for joined, risk in ways
    )
    assert found.together >= max(alone) - 1e-9


def survey(n=400):
    random = np.random.default_rng(4)
    data = {k: [str(v) for v in np.minimum(random.geometric(0.3, n), 7)] for k in KEYS}
    return {**data, "x": np.round(random.lognormal(8, 1, n)).tolist()}


def test_two_protections_of_one_file_tell_more_than_each():
    """Each file is safe by itself; income joins their records, so blanks come back."""
    data = survey()
    how = {"accept": {"*": "a test"}}
    first = protect(data, KEYS, k=3, cost={"a": 1, "b": 50, "c": 50}, **how)
    second = protect(data, KEYS, k=3, cost={"a": 50, "b": 1, "c": 50}, **how)
    found = two_releases(assess(data, KEYS), first.data, second.data, KEYS)
    assert "x" in found.columns
    assert found.joined > 380
    assert found.adds > 5.0
    assert found.implied < found.joined
    alone = math.fsum(
        1.0 / first.protected.cells.sample_frequency[first.protected.cells.rows]
    )
    assert found.expected[0] == pytest.approx(alone)


def test_a_file_made_from_the_released_one_adds_nothing():
    data = survey()
    how = {"accept": {"*": "a test"}}
    research = protect(data, KEYS, k=2, **how).data
    public = protect(research, KEYS, k=7, **how).data
    random = np.random.default_rng(1)
    order = random.permutation(400)
    public = {k: [column[i] for i in order] for k, column in public.items()}
    found = two_releases(assess(data, KEYS), research, public, KEYS)
    assert found.joined
    assert found.implied == found.joined
    assert found.adds == 0.0
    assert "adds nothing" in found.sentence


def test_new_ids_and_changed_numbers_do_not_join():
    data = survey()
    random = np.random.default_rng(2)
    first = {**data, "id": random.permutation(400).tolist()}
    second = {**data, "id": random.permutation(400).tolist()}
    second["x"] = [value + 7.0 for value in data["x"]]
    found = two_releases(assess(data, KEYS), first, second, KEYS)
    assert set(found.columns) == set(KEYS)
