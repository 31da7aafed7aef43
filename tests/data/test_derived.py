"""Columns that others determine: found where no record contradicts, nor chance."""

import math

import numpy as np
import pytest

from riskcore.data.columns import Records, code_column, code_keys
from riskcore.data.derived import (
    Derived,
    derived,
    log_chance,
    pairs_that_determine,
    related_columns,
)


def survey(n=3_000, seed=1):
    rng = np.random.default_rng(seed)
    home = np.sort(rng.integers(0, n // 3, n))
    age = rng.integers(0, 90, n)
    return {
        "home": home,
        "age": age,
        "sex": rng.integers(0, 2, n),
        "region": rng.integers(0, 7, n)[home],
        "income": rng.lognormal(9, 1, n),
    }


def found(data, household=None):
    return {(one.column, one.of): one.kind for one in derived(data, household)}


def test_a_survey_has_no_derived_columns():
    for seed in range(5):
        assert derived(survey(seed=seed), "home") == ()


def test_recodes_copies_and_squares_of_a_key_are_found():
    data = survey()
    names = np.array(["female", "male"])
    data |= {
        "group": data["age"] // 10,
        "called": names[data["sex"]],
        "squared": data["age"].astype(float) ** 2,
    }
    assert found(data, "home") == {
        ("group", ("age",)): "function",
        ("called", ("sex",)): "equal",
        ("squared", ("age",)): "square",
    }


def test_the_square_is_derived_wherever_it_stands():
    age = survey()["age"]
    assert found({"squared": age**2, "age": age}) == {("squared", ("age",)): "square"}
    signed = age - 45
    assert found({"squared": signed**2, "signed": signed}) == {
        ("squared", ("signed",)): "square"
    }


def test_of_two_equal_columns_only_the_first_determines_others():
    data = survey()
    data |= {"years": data["age"], "group": data["age"] // 10}
    assert found(data, "home") == {
        ("years", ("age",)): "equal",
        ("group", ("age",)): "function",
    }


@pytest.mark.parametrize("n", [3_000, 100_000])
def test_one_record_contradicts(n):
    data = survey(n)
    data["group"] = data["age"] // 10
    assert ("group", ("age",)) in found(data, "home")
    data["group"][n // 2 + 1] += 1
    assert not found(data, "home")


def test_the_household_size_counts_members():
    data = survey()
    size = np.bincount(data["home"])[data["home"]]
    data |= {"size": size, "coarse": np.minimum(size, 3)}
    assert found(data, "home") == {
        ("size", ("home",)): "household count",
        ("coarse", ("size",)): "function",
        ("coarse", ("home",)): "household count",
    }
    data["size"][0] += 1
    assert ("size", ("home",)) not in found(data, "home")


def test_two_columns_determine_a_hidden_one():
    data = survey()
    both = data["sex"] * 7 + data["region"]
    hidden = {"both": code_column(Records.of({"both": both}), "both")}
    columns = {one.name: one for one in code_keys(Records.of(data), [*data][1:])}
    (pair,) = pairs_that_determine(columns, hidden)
    assert (pair.column, set(pair.of)) == ("both", {"sex", "region"})
    # A column that determines it alone makes no pair.
    data["copy"] = both
    columns = {one.name: one for one in code_keys(Records.of(data), [*data][1:])}
    found = {pair.of for pair in pairs_that_determine(columns, hidden)}
    assert not any("copy" in of for of in found)


def test_an_identifier_determines_nothing():
    n = 2_000
    data = survey(n) | {"id": np.arange(n)}
    # Nearly one: two records of each of a few values agree by chance.
    data["near"] = np.where(np.arange(n) < 6, 0, np.arange(n))
    data["constant"] = np.ones(n)
    data["sex"][:6] = 1
    assert derived(data, "home") == ()


def test_few_households_are_not_many_records():
    home = np.repeat(np.arange(12), 100)
    data = {"home": home, "street": home // 2, "region": home // 6}
    assert ("region", ("street",)) in found(data)
    assert not found(data, "home")


def test_a_rare_value_is_not_lost_among_common_ones():
    data = survey()
    data["flag"] = data["age"] == 89
    assert found(data, "home")["flag", ("age",)] == "function"


def test_that_all_without_an_income_have_no_tax_does_not_list_the_tax():
    rng = np.random.default_rng(2)
    income = np.where(rng.random(3_000) < 0.7, 0.0, rng.lognormal(9, 1, 3_000))
    tax = np.where(income > 0, rng.random(3_000), 0.0)
    assert not found({"income": income, "tax": tax})


def test_records_with_a_missing_value_are_left_out():
    data = survey()
    group = (data["age"] // 10).astype(object)
    group[::5] = None
    age = data["age"].astype(object)
    age[1::5] = None
    assert found({"age": age, "group": group}) == {("group", ("age",)): "function"}


def test_the_order_of_the_records_does_not_matter():
    data = survey()
    data |= {"group": data["age"] // 10, "both": data["sex"] * 7 + data["region"]}
    order = np.random.default_rng(3).permutation(len(data["age"]))
    turned = {name: column[order] for name, column in data.items()}
    assert derived(turned) == derived(data)


def test_chance_is_the_product_of_shares_without_the_commonest_value():
    rng = np.random.default_rng(4)
    given = rng.integers(0, 3, 60)
    x = np.where(rng.random(60) < 0.2, -1, rng.integers(0, 6, 60))
    y = np.array([0, 1, 1, 2, 0, 0])[x]
    for within in (None, given):
        parts = np.zeros(60, int) if within is None else within
        use = [i for i in range(60) if x[i] >= 0]
        factors = []
        for value in range(6):
            rows = [i for i in use if x[i] == value]
            each = [
                sum(y[j] == y[i] for j in use if parts[j] == parts[i])
                / sum(parts[j] == parts[i] for j in use)
                for i in rows
            ]
            # the last record of a value is the one that the others agree with
            factors.append(math.fsum(map(math.log, each[:-1])))
        records = [sum(x == value) for value in range(6)]
        assert sorted(records)[-1] > sorted(records)[-2]
        expected = sum(factors) - factors[int(np.argmax(records))]
        assert log_chance(x, y, within) == pytest.approx(expected, rel=1e-12)


def test_frames_and_names_come_back():
    data = {"age": [15, 16, 31, 32] * 10, "young": [True, True, False, False] * 10}
    assert derived(data) == (Derived("young", ("age",), "function"),)
    with pytest.raises(KeyError, match="house"):
        derived(data, "house")


def test_columns_without_an_order_are_left_out():
    data = {"age": [15, 16, 31, 32] * 10, "young": [True, True, False, False] * 10}
    data["lists"] = [[1], [2]] * 20
    data["mixed"] = [{1: 2}, None] * 20
    assert derived(data) == (Derived("young", ("age",), "function"),)


def test_what_is_related_to_keys():
    found = [
        Derived("years", ("age",), "equal"),
        Derived("squared", ("age",), "square"),
        Derived("group", ("age",), "function"),
        Derived("size", ("home",), "household count"),
    ]
    every = {"years", "squared", "age", "group"}

    def related(*keys, without=()):
        found_of = related_columns(found, keys, without)
        return {key: set(others) for key, others in found_of.items()}

    for key in ("years", "squared", "age"):
        assert related(key, "sex") == {key: every - {key}}
    assert related("group") == {"group": every - {"group"}}
    # The group is known where the age is blanked, but not the other way round.
    assert related("group", "years") == {
        "years": {"age", "squared"},
        "group": {"age", "years", "squared"},
    }
    assert related("sex", "size", "home") == {}
    assert related("age", without=["years"]) == {"age": {"squared", "group"}}


@pytest.mark.parametrize("seed", range(12))
def test_all_pairs_are_judged_as_one_pair_is(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 120))
    home = np.sort(rng.integers(0, max(n // 3, 1), n))
    data = {}
    for i in range(24):
        column = rng.integers(0, rng.integers(2, n), n)
        if i % 3 == 1:  # a function of an earlier column, or nearly one
            column = data[f"c{rng.integers(0, i)}"] % rng.integers(2, 9)
            column[rng.random(n) < 0.01 * (seed % 3)] += 1
        if i % 4 == 3:
            column = np.where(rng.random(n) < 0.2, -1, column)
        data[f"c{i}"] = column
    masked = {name: np.ma.masked_less(column, 0) for name, column in data.items()}
    for household in (None, "home"):
        rows = np.arange(n)
        if household is not None:
            rows = np.unique(home, return_index=True)[1]
        by = {
            (x, y)
            for x in data
            for y in data
            if x != y and determines(data[x], data[y], rows)
        }
        place = list(data).index
        listed = {y for x, y in by if not ((y, x) in by and place(y) < place(x))}
        asked = masked if household is None else {"home": home, **masked}
        found = derived(asked, household)
        single = [one for one in found if one.kind != "household count"]
        assert {one.column for one in single} == listed
        assert {(one.of[0], one.column) for one in single} <= by


def determines(x, y, rows):
    """Return whether x determines y, by the definition."""
    seen = {}
    for a, b in zip(x, y, strict=True):
        if a >= 0 and b >= 0 and seen.setdefault(a, b) != b:
            return False
    return log_chance(x[rows], y[rows], None) < math.log(1e-6)
