"""Households that are rebuilt from what their members share."""

from collections import Counter

import numpy as np
import pytest

import riskcore
from riskcore.common.progress import silent
from riskcore.disclosure.rebuilt_households import records_rebuilt
from riskcore.protection.release.writing import preview


def attack(original, released, household, group):
    """Return who is found by trying every group and row, and their number by chance.

    Groups have at least as many rows as the household members, and for each member at
    least as many that fit as the household has members with the same keys.
    """
    rows = np.arange(len(household))
    fits = [
        np.all(
            [(y < 0) | (y == x[i]) for x, y in zip(original, released, strict=True)], 0
        )
        for i in rows
    ]
    found, chance = set(), 0.0
    for unit in set(household.tolist()):
        members = rows[household == unit]
        keys = [tuple(key[i] for key in original) for i in members]
        feasible = [
            one
            for one in set(group.tolist())
            if (group == one).sum() >= len(members)
            and all(
                (fits[i] & (group == one)).sum() >= keys.count(key)
                for i, key in zip(members, keys, strict=True)
            )
        ]
        if len(members) == 1 or len(feasible) != 1:
            continue
        for i in members:
            left = rows[fits[i] & (group == feasible[0])]
            if len(left) == 1 and fits[i].sum() > 1:
                chance += 1 / fits[i].sum()
                found |= {i} & set(left.tolist())
    return found, chance


def survey(seed, blanked, wrong, n=150):
    """Return keys, original and released, households, and a column that they share."""
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 3, 4], n, p=[0.2, 0.4, 0.3, 0.1])
    household = rng.permutation(np.repeat(np.arange(n), sizes)[:n])
    original = [rng.integers(0, levels, n) for levels in (2, 4, 3)]
    released = [np.where(rng.random(n) < blanked, -1, one) for one in original]
    shared = rng.integers(0, 40, n)[household]
    shared = np.where(rng.random(n) < wrong, rng.integers(0, 40, n), shared)
    return [(original, released)], household, shared


@pytest.mark.parametrize("seed", range(20))
def test_as_by_trying_all_groups_and_rows(seed):
    blanked, wrong = (0.0, 0.1)[seed % 2], (0.0, 0.02, 0.1, 0.15)[seed // 2 % 4]
    sets, household, shared = survey(seed, blanked, wrong)
    found, chance = attack(*sets[0], household, shared)
    result = records_rebuilt(sets, household, {"rent": shared}, shuffled=True)
    assert (result.records, result.columns) == (len(found), ("rent",))
    assert result.records > 2
    assert result.chance == pytest.approx(chance)


def test_columns_that_members_mostly_share():
    sets, household, _ = survey(1, 0.05, 0.0)
    rng = np.random.default_rng(2)
    columns = {name: rng.integers(0, 7, 150)[household] for name in ("area", "rooms")}
    clean = records_rebuilt(sets, household, columns, shuffled=True)
    for name, shared in columns.items():
        columns[name] = np.where(
            rng.random(150) < 0.02, rng.integers(0, 7, 150), shared
        )
    both = columns["area"] * 7 + columns["rooms"]
    found, chance = attack(*sets[0], household, both)
    result = records_rebuilt(sets, household, columns, shuffled=True)
    assert {*result.columns} == {"area", "rooms"}
    assert 0.7 * clean.records < len(found) == result.records
    assert result.chance == pytest.approx(chance)
    assert result.leaks(150)


def test_numbers_near_those_of_other_members():
    sets, household, _ = survey(3, 0.0, 0.0)
    rng = np.random.default_rng(4)
    weight = 40 * rng.permutation(150)[household] + rng.integers(0, 5, 150)
    result = records_rebuilt(sets, household, {"weight": weight}, shuffled=True)
    found, _ = attack(*sets[0], household, weight // 40)
    assert result.columns == ("weight",)
    assert 0.9 * len(found) <= result.records <= 1.1 * len(found)
    assert result.leaks(150)


@pytest.mark.parametrize("rare", [0.03, 0.1, 1.0])
def test_columns_of_persons_tell_no_household(rare):
    """Guesses by groups that have nothing to do with households are right by chance."""
    for seed in range(10):
        sets, household, _ = survey(seed, 0.02, 0.0, n=400)
        rng = np.random.default_rng(seed)
        columns = {
            each: np.where(rng.random(400) < rare, rng.integers(0, 9, 400), 0)
            for each in range(5)
        }
        assert not records_rebuilt(sets, household, columns, shuffled=True).leaks(400)


def shared(n=300, **more):
    """Return households whose members share a rent, and stand apart."""
    rng = np.random.default_rng(5)
    order = rng.permutation(2 * n)
    hh = np.repeat(np.arange(n), 2)
    hh[:20] = np.arange(n - 20, n)  # households of three, and of one
    hh[-20:] = np.arange(n, n + 20)
    frame = {
        "sex": rng.choice(["f", "m"], 2 * n),
        "age": rng.integers(1, 30, 2 * n),
        "hh": hh,
        "rent": rng.permutation(n + 20)[hh] * 7,
        **{name: one[hh] for name, one in more.items()},
    }
    return {name: one[order] for name, one in frame.items()}


def protected(data):
    return riskcore.protect(
        data,
        ["sex", "age"],
        household="hh",
        k=2,
        accept={"*": "a test"},
        roles={"*": "harmless:a test"},
    )


def codes(column):
    """Return the codes of a column, by rank, -1 for blank."""
    blank = np.array([one is None for one in column])
    filled = np.where(blank, column[np.flatnonzero(~blank)[0]], column)
    return np.where(blank, -1, np.unique(filled, return_inverse=True)[1])


def released(result):
    """Return the keys of a result, original and released, and the households."""
    keys = [
        codes(np.array(result.source.data[name], object)) for name in ("sex", "age")
    ]
    blanked = [
        np.array([one is None for one in result.data[name]]) for name in ("sex", "age")
    ]
    after = [np.where(b, -1, key) for b, key in zip(blanked, keys, strict=True)]
    return [(keys, after)], result.household_of.astype(np.int64)


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
    sets, household = released(result)
    people, chance = attack(*sets[0], household, data["rent"])
    assert found.records == len(people) > 100
    assert found.chance == pytest.approx(chance)
    assert rebuilt(result, left_out=["hh", "rent"]).records == 0
    leaks = preview(result, silent, drop=["hh"], shuffle=True).leaks
    (leak,) = [one for one in leaks if one.kind == "composition"]
    assert leak.column == "hh"
    assert "left out, but rent shows who belongs together" in leak.text
    assert f"finds {found.records} of 600 people although" in leak.text


def in_households_alone(data, result):
    """Return how many records are in complete households of several that are alone."""
    keys = [result.data[name] for name in ("sex", "age")]
    members = {}
    for row, unit in enumerate(data["hh"]):
        members.setdefault(unit, []).append(str([key[row] for key in keys]))
    kinds = Counter(tuple(sorted(rows)) for rows in members.values())
    return sum(
        len(kind)
        for kind, number in kinds.items()
        if number == 1 and len(kind) > 1 and "None" not in str(kind)
    )


def test_members_that_stand_together():
    data = shared()
    order = np.argsort(data["hh"], kind="stable")
    data = {k: v[order] for k, v in data.items() if k != "rent"}
    result = protected(data)
    found = rebuilt(result, shuffled=False)
    assert found.columns == ()
    assert found.records == in_households_alone(data, result) > 100
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
