"""Households that are alone with the keys of their members."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskcore
from riskcore.protection.leaks.composition import records_by_composition


def protected(data, k=2, **settings):
    return riskcore.protect(
        data, ["sex", "age"], household="hh", k=k, accept={"*": "a test"}, **settings
    )


def by_hand(data, result):
    """Return the same count by multisets of tuples."""
    columns = [np.array(result.data[name], object) for name in ("sex", "age")]
    members = {}
    for row, unit in enumerate(data["hh"]):
        members.setdefault(unit, []).append(tuple(one[row] for one in columns))
    kinds = Counter(frozenset(Counter(each).items()) for each in members.values())
    return sum(
        len(each)
        for each in members.values()
        if kinds[frozenset(Counter(each).items())] == 1
        and not any(None in one for one in each)
    )


def test_two_members_make_a_household_that_is_alone():
    data = {
        "sex": list("fmfmffmm"),
        "age": [1, 1, 1, 1, 2, 2, 2, 2],
        "hh": [1, 1, 2, 2, 3, 4, 5, 5],
    }
    result = protected(data)
    assert result.masks["sex"].sum() == 0
    # Households 1 and 2 are alike, 3 and 4 too; 5 is alone.
    assert records_by_composition(result) == by_hand(data, result) == 2


@given(
    st.lists(
        st.tuples(st.sampled_from("fm"), st.sampled_from([1, 2]), st.integers(0, 6)),
        min_size=8,
        max_size=40,
    )
)
def test_as_by_hand(rows):
    sex, age, hh = map(list, zip(*rows, strict=True))
    data = {"sex": sex, "age": age, "hh": hh}
    result = protected(data)
    assert records_by_composition(result) == by_hand(data, result)


def test_it_is_a_leak_until_the_ids_are_dropped(tmp_path):
    rng = np.random.default_rng(1)
    n = 400
    frame = {
        "sex": rng.choice(["f", "m"], n).tolist(),
        "age": rng.integers(1, 4, n).tolist(),
        "hh": rng.integers(0, 100, n).tolist(),
    }
    keys = ["sex", "age"]
    result = riskcore.protect(frame, keys, household="hh", k=2)
    assert [one.kind for one in result.examination.open] == ["composition"]
    assert not result.safe
    assert result.goals_met
    with pytest.raises(ValueError, match="alone with the keys of all its members"):
        result.write(tmp_path / "a.parquet", shuffle=True)
    record = result.write(tmp_path / "b.parquet", shuffle=True, drop=["hh"])
    assert record["examined"]["safe"]
    accepted = riskcore.protect(
        frame, keys, household="hh", k=2, accept={"hh": "under contract"}
    )
    assert accepted.safe


def test_members_are_shuffled_apart_without_their_ids(tmp_path):
    n = 2_000
    frame = {"sex": ["f", "m"] * (n // 2), "hh": np.repeat(np.arange(n // 2), 2)}
    result = riskcore.protect(
        frame, ["sex"], household="hh", k=2, accept={"hh": "a test"}
    )
    orders = {}
    for drop in ([], ["hh"]):
        path = tmp_path / f"{len(drop)}.parquet"
        record = result.write(path, shuffle=True, drop=drop)
        assert record["output"]["shuffled"]
        written = riskcore.tabulate(path, ["sex"])
        orders[len(drop)] = written.codes[0][written.rows]
    pairs = {k: one.reshape(-1, 2) for k, one in orders.items()}
    together = {k: (one[:, 0] != one[:, 1]).mean() for k, one in pairs.items()}
    assert together[0] == 1.0
    assert 0.4 < together[1] < 0.6
