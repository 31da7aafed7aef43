"""Households that are alone with the keys of their members."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskcore
from riskcore.common.progress import silent
from riskcore.disclosure.composition import records_by_composition, records_rebuilt
from riskcore.protection.release.writing import preview


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


# Without the ids


def shared(n=300, **more):
    """Return households of two whose members share a rent, and stand apart."""
    rng = np.random.default_rng(5)
    order = rng.permutation(2 * n)
    hh = np.repeat(np.arange(n), 2)
    rent = rng.permutation(n)[hh] * 7
    frame = {
        "sex": rng.choice(["f", "m"], 2 * n),
        "age": rng.integers(1, 30, 2 * n),
        "hh": hh,
        "rent": rent,
        **{name: one[hh] for name, one in more.items()},
    }
    return {name: one[order] for name, one in frame.items()}


def by_definition(data, result, names):
    """Return how many records are in households of two or more that are groups, alone.

    Groups have equal values in some columns; no other household has the same members.
    """
    groups, households = {}, {}
    keys = [np.array(result.data[name], object) for name in ("sex", "age")]
    for row, unit in enumerate(data["hh"]):
        groups.setdefault(tuple(data[name][row] for name in names), []).append(row)
        households.setdefault(unit, []).append(row)
    members = {
        unit: tuple(sorted(str([key[row] for key in keys]) for row in rows))
        for unit, rows in households.items()
    }
    kinds = Counter(members.values())
    return sum(
        len(rows)
        for unit, rows in households.items()
        if kinds[members[unit]] == 1
        and rows in groups.values()
        and len(rows) > 1
        and not any(key[row] is None for key in keys for row in rows)
    )


def rebuilt(result, left_out=("hh",), shuffled=True):
    columns = {
        name: np.unique(np.ma.filled(each, -1), return_inverse=True)[1]
        for name, each in result.data.items()
        if name not in left_out
    }
    return records_rebuilt(*released(result), columns, shuffled=shuffled)


def test_households_are_rebuilt_from_what_members_share():
    data = shared()
    result = protected(data)
    found = rebuilt(result)
    assert found.columns == ("rent",)
    assert found.records == by_definition(data, result, ["rent"]) > 100
    assert rebuilt(result, left_out=["hh", "rent"]).records == 0
    leaks = preview(result, silent, drop=["hh"], shuffle=True).leaks
    (leak,) = [one for one in leaks if one.kind == "composition"]
    assert leak.column == "hh"
    assert "left out, but rent shows who belongs together" in leak.text


def test_two_columns_together():
    rng = np.random.default_rng(6)
    area = {"area": rng.integers(0, 25, 300), "rooms": rng.integers(0, 25, 300)}
    data = {k: v for k, v in shared(**area).items() if k != "rent"}
    result = protected(data)
    found = rebuilt(result)
    assert found.columns == ("area", "rooms")
    assert found.records == by_definition(data, result, ["area", "rooms"]) > 20


def test_a_column_in_which_some_members_differ():
    data = shared()
    wrong = data["hh"] < 10  # these households are lost, the others are not
    data["rent"] = np.where(wrong, np.arange(600) * 7 + 1, data["rent"])
    result = protected(data)
    found = rebuilt(result)
    assert found.columns == ("rent",)
    assert found.records == by_definition(data, result, ["rent"]) > 100
    data["rent"] = np.where(data["hh"] < 20, np.arange(600) * 7 + 1, data["rent"])
    assert rebuilt(protected(data)).records == 0  # in more than 5 %


def test_members_that_stand_together():
    data = shared()
    order = np.argsort(data["hh"], kind="stable")
    data = {k: v[order] for k, v in data.items() if k != "rent"}
    result = protected(data)
    found = rebuilt(result, shuffled=False)
    assert found.columns == ()
    assert found.records == by_definition(data, result, ["hh"]) > 100
    assert rebuilt(result).records == 0
    (leak,) = preview(result, silent, drop=["hh"]).leaks
    assert leak.accepted == "a test"
    assert "left out, but members stand together" in leak.text


def test_households_that_are_left_out_as_identifiers(tmp_path):
    """A column that seems to be of households is taken for one."""
    data = {k: v.tolist() for k, v in shared().items()}
    settings = {"k": 2, "roles": {"hh": "identifier", "rent": "sensitive"}}
    result = riskcore.protect(data, ["sex", "age"], **settings)
    assert [one.kind for one in result.examination.open] == ["composition"]
    with pytest.raises(ValueError, match="rent shows who belongs together"):
        result.write(tmp_path / "a.parquet", shuffle=True)
    del data["rent"]
    settings["roles"] = {"hh": "identifier"}
    assert riskcore.protect(data, ["sex", "age"], **settings).safe
