"""Households that are alone with the keys of their members."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskcore
from riskcore.disclosure.rebuilt_households import records_by_composition


def protected(data, k=2, **settings):
    return riskcore.protect(
        data,
        ["sex", "age"],
        household="hh",
        k=k,
        accept={"*": "a test"},
        roles={"*": "harmless:a test"},
        **settings,
    )


def released(result):
    """Return the original and released codes of the keys, and the households."""
    before, after = (
        [[*file[name]] for name in ("sex", "age")]
        for file in (result.source.data, result.data)
    )
    known = [sorted({*one} - {None}) for one in before]
    codes = [
        [
            np.array([-1 if one is None else values.index(one) for one in each])
            for values, each in zip(known, file, strict=True)
        ]
        for file in (before, after)
    ]
    return [tuple(codes)], result.household_of.astype(np.int64)


def by_hand(data, result):
    """Return the same count by trying all orders of the members of all households."""
    before, after = (
        [*zip(file["sex"], file["age"], strict=True)] for file in (data, result.data)
    )
    members = {}
    for row, unit in enumerate(data["hh"]):
        members.setdefault(unit, []).append(row)

    def fit(rows, others):
        return len(rows) == len(others) and any(
            all(
                key is None or key == own
                for row, other in zip(rows, order, strict=True)
                for key, own in zip(after[row], before[other], strict=True)
            )
            for order in permutations(others)
        )

    return sum(
        len(rows)
        for rows in members.values()
        if sum(fit(rows, others) for others in members.values()) == 1
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
    assert records_by_composition(*released(result)) == by_hand(data, result) == 2


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
    assert records_by_composition(*released(result)) == by_hand(data, result)


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
